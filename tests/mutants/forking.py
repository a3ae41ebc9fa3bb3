"""A pytest plugin that tries many faults with one collection. For each it asks, in order, until one notices: the C++
tests of the op by definition, or the golden tests of the pass; the op's own tests of tests/ops; the derivatives of all
ops by definition; all else that was collected. Python tests run in a fork in which the fault is planted, so what they
spoil is gone with it.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["INTAGLIO_BUILD"])
LONGEST_SECONDS = 120  # a fault may make a loop endless: a test that takes longer has noticed it
LOWERING = "Ops2Lowering.*:ElementwiseCompiled.*Agree*:Elementwise.ReferencesAgree*"
# The tests that have passed without a fault in this process: what they notice is the fault.
PROVEN: set[str] = set()
# Collected tests that have noticed a fault of another's, the last one last: they are near to the next fault too.
WATCHFUL: list[str] = []


class Broken(Exception):
    """A test that fails without a fault."""


class Tests(Protocol):
    def failing(self, fault: str) -> str | None:
        """Runs the tests with the fault ("" for none): one that fails."""

    def only(self, test: str) -> Tests:
        """Of these tests that one."""


@dataclass(frozen=True)
class Command:
    """Tests that are no Python."""

    words: tuple[str, ...]
    op: str = ""  # C++ tests of this op alone

    def failing(self, fault: str) -> str | None:
        narrow = {"INTAGLIO_TEST_OP": self.op} if self.op else {}
        with contextlib.suppress(subprocess.TimeoutExpired):
            run = subprocess.run(
                self.words,
                cwd=ROOT,
                env={**os.environ, **narrow, "INTAGLIO_MUTANT": fault},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=LONGEST_SECONDS,
            )
            if run.returncode == 0:
                return None
        return f"{Path(self.words[0]).name} {self.words[-1]}" + (f" of {self.op}" if self.op else "")

    def only(self, test: str) -> Command:
        return self


@dataclass(frozen=True)
class Items:
    """Tests that were collected."""

    items: list[pytest.Item]

    def failing(self, fault: str) -> str | None:
        """Runs them in a fork until one fails, dies or takes too long."""
        if not self.items:
            return None
        at = mmap.mmap(-1, 4)  # the number of the running test, which outlives the fork
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = self.run_here(fault, at)
            finally:
                os._exit(status)
        status = os.waitpid(child, 0)[1]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what a test that was stopped has left behind
        return self.items[int.from_bytes(at[:4], "little")].nodeid if status else None

    def run_here(self, fault: str, at: mmap.mmap) -> int:
        os.setsid()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are started without one
        os.environ["INTAGLIO_MUTANT"] = fault  # for processes that tests start
        if fault:
            from intaglio import _intaglio

            _intaglio._plant_mutant(fault)
        session = self.items[0].session
        for number, (item, following) in enumerate(zip(self.items, [*self.items[1:], None], strict=True)):
            at[:4] = number.to_bytes(4, "little")
            signal.alarm(LONGEST_SECONDS)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return 1
        return 0

    def only(self, test: str) -> Items:
        return Items([item for item in self.items if item.nodeid == test])


def asked(fault: str, items: list[pytest.Item]) -> list[tuple[str, Tests]]:
    """Who should notice, the nearest first, and the stage that this counts as."""
    of, kind = fault.split(":")[:2]
    if of == "pass":
        golden = (str(Path(sys.executable).parent / "lit"), "-q", f"tests/golden/{kind}")
        return [("near", Command(golden)), ("wide", Items(watchful_first(items)))]
    run = (str(BUILD / "bin" / "intaglio_tests"), "--gtest_throw_on_failure")
    derivatives = "--gtest_filter=OpDerivatives.*"
    by_definition = {"batch": "--gtest_filter=Batch.*", "jvp": derivatives, "transpose": derivatives}
    own = [item for item in items if item.path.parent.name == "ops" and item.name.endswith(f"[{of}]")]
    # The nearest first: values before derivatives, or the other way round.
    own.sort(key=lambda item: (item.path.name == "test_generated.py") == (kind in by_definition))
    return [
        ("near", Command((*run, by_definition.get(kind, f"--gtest_filter={LOWERING}")), op=of)),
        ("near", Items(own)),
        ("wide", Command((*run, derivatives))),  # the op may be what another's derivative is made of
        ("wide", Items(watchful_first([item for item in items if item not in own]))),
    ]


def watchful_first(items: list[pytest.Item]) -> list[pytest.Item]:
    return sorted(items, key=lambda item: -WATCHFUL.index(item.nodeid) - 1 if item.nodeid in WATCHFUL else 0)


def verdict(fault: str, items: list[pytest.Item]) -> dict[str, str | None]:
    for stage, tests in asked(fault, items):
        test = tests.failing(fault)
        if test is None:
            continue
        if test not in PROVEN and tests.only(test).failing(""):
            raise Broken(test)
        PROVEN.add(test)
        if stage == "wide" and isinstance(tests, Items):
            WATCHFUL[:] = [*(other for other in WATCHFUL if other != test), test]
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
