"""A pytest plugin that tries many faults with one collection. For each it asks, in order, until one notices: the C++
tests of the op by definition, or the golden tests of the pass; the op's own tests of tests/ops; all else that was
collected. The Python tests run in a fork in which the fault is planted, so what they spoil is gone with it.

run.py sends the faults, one a line, over the socket whose number is INTAGLIO_FAULTS, and reads an answer for each: a
line of JSON with "stage" and "test" (None where no test noticed), or "broken" with a test that fails without a fault
too."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["INTAGLIO_BUILD"])
LONGEST_SECONDS = 120  # a fault may make a loop endless: a test that takes longer has noticed it
LOWERING = "Ops2Lowering.*:ElementwiseCompiled.*Agree*:Elementwise.ReferencesAgree*"
DERIVATIVES = ("jvp", "transpose", "batch")
# The tests that have passed without a fault in this process: what they notice is the fault.
PROVEN: set[str] = set()


class Broken(Exception):
    """A test that fails without a fault."""


def commands(fault: str) -> list[tuple[str, list[str]]]:
    """The tests that are no Python: those of the op or the pass, in milliseconds; for ops then the derivatives of all
    ops, in a second, since some are what others' derivatives are made of."""
    of, kind = fault.split(":")[:2]
    if of == "pass":
        return [("near", [str(Path(sys.executable).parent / "lit"), "-q", str(ROOT / "tests" / "golden" / kind)])]
    run = [str(BUILD / "bin" / "intaglio_tests"), "--gtest_throw_on_failure"]
    tests = "Batch.*" if kind == "batch" else "OpDerivatives.*" if kind in DERIVATIVES else LOWERING
    near = ["env", f"INTAGLIO_TEST_OP={of}", *run, f"--gtest_filter={tests}"]
    return [("near", near), ("wide", [*run, "--gtest_filter=OpDerivatives.*"])]


def command_fails(fault: str, command: list[str]) -> bool:
    try:
        run = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "INTAGLIO_MUTANT": fault},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LONGEST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True
    return run.returncode != 0


def own_tests(fault: str, items: list[pytest.Item]) -> list[pytest.Item]:
    op, kind = fault.split(":")[:2]
    own = [item for item in items if item.path.parent.name == "ops" and item.name.endswith(f"[{op}]")]
    # The nearest first: values before derivatives, or the other way round.
    return sorted(own, key=lambda item: (item.path.name == "test_generated.py") == (kind in DERIVATIVES))


def first_that_fails(fault: str, items: list[pytest.Item]) -> str | None:
    """Runs tests in a fork with the fault ("" for none) until one fails, dies or takes too long."""
    if not items:
        return None
    at = mmap.mmap(-1, 4)  # the number of the running test, which outlives the fork
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            os.environ["INTAGLIO_MUTANT"] = fault
            if fault:
                from intaglio import _intaglio

                _intaglio._plant_mutant(fault)
            status = run_until_one_fails(items, at)
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what a test that was stopped has left behind
    return items[int.from_bytes(at[:4], "little")].nodeid if status else None


def run_until_one_fails(items: list[pytest.Item], at: mmap.mmap) -> int:
    session = items[0].session
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are started without one
    for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
        at[:4] = number.to_bytes(4, "little")
        signal.alarm(LONGEST_SECONDS)
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def noticing_command(fault: str, command: list[str]) -> str | None:
    if not command_fails(fault, command):
        return None
    name = " ".join(Path(word).name for word in command if word != "env")
    if name not in PROVEN and command_fails("", command):
        raise Broken(name)
    PROVEN.add(name)
    return name


def noticing_test(fault: str, items: list[pytest.Item]) -> str | None:
    test = first_that_fails(fault, items)
    if test is None:
        return None
    if test not in PROVEN and first_that_fails("", [item for item in items if item.nodeid == test]):
        raise Broken(test)
    PROVEN.add(test)
    return test


def verdict(fault: str, items: list[pytest.Item]) -> dict[str, str | None]:
    own = own_tests(fault, items)
    taken = set(own)
    (near, command), *more = commands(fault)
    stages: list[tuple[str, Callable[[], str | None]]] = [
        (near, lambda: noticing_command(fault, command)),
        ("near", lambda: noticing_test(fault, own)),
        *((stage, lambda wide=wide: noticing_command(fault, wide)) for stage, wide in more),
        ("wide", lambda: noticing_test(fault, [item for item in items if item not in taken])),
    ]
    for stage, ask in stages:
        if test := ask():
            return {"stage": stage, "test": test}
    return {"stage": "wide", "test": None}


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    with socket.socket(fileno=int(os.environ["INTAGLIO_FAULTS"])) as connection:
        channel = connection.makefile("rw")
        for fault in iter(channel.readline, ""):
            try:
                answer = verdict(fault.strip(), session.items)
            except Broken as broken:
                answer = {"broken": str(broken)}
            channel.write(json.dumps(answer) + "\n")
            channel.flush()
    return True
