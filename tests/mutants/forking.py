"""A pytest plugin that tests many faults of ops with one collection: for each, a fork plants it and runs the op's own
tests of tests/ops until one fails. INTAGLIO_FAULTS names a file with a fault a line; for each a line comes on the
inherited file descriptor INTAGLIO_VERDICTS: "noticed" or "green", the fault, and the seconds it took."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

LONGEST_SECONDS = 300


def tests_of(fault: str, items: list[pytest.Item]) -> list[pytest.Item]:
    op, kind = fault.split(":")
    own = [item for item in items if item.name.endswith(f"[{op}]")]
    # The nearest first: values before derivatives, or the other way round.
    derivatives = kind in ("jvp", "transpose", "batch")
    return sorted(own, key=lambda item: item.path.name.startswith("test_generated.py") == derivatives)


def noticed(fault: str, session: pytest.Session) -> bool:
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST_SECONDS)  # a fault may make a loop endless: that is noticed
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        status = 1
        try:
            from intaglio import _intaglio

            _intaglio._plant_mutant(fault)
            items = tests_of(fault, session.items)
            for item, following in zip(items, [*items[1:], None], strict=True):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed:
                    break
            status = 1 if session.testsfailed else 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] != 0


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    verdicts = int(os.environ["INTAGLIO_VERDICTS"])
    for fault in Path(os.environ["INTAGLIO_FAULTS"]).read_text().split():
        start = time.monotonic()
        word = "noticed" if noticed(fault, session) else "green"
        os.write(verdicts, f"{word} {fault} {time.monotonic() - start:.1f}\n".encode())
    sys.stdout.flush()
    return True
