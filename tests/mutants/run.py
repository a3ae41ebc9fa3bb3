#!/usr/bin/env python3
# Tests the tests: plants one fault at a time (a wrong dtype or shape from an op's `infer`, wrong elements from its
# `lower`, wrong derivatives or batches from its `jvp`, `transpose` or `batch`, a pass that does nothing or something
# wrong), runs the tests that should notice, and reports every fault that stays green. Needs a build with
# INTAGLIO_MUTANTS, which `make test-mutants` makes. Ends with status 1 where one survives.
#   tests/mutants/run.py [--only PATTERN] [--jobs N] [--list]
from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutants"
# What is asked after a fault's own tests, in this order: those that notice the most in the least time come first.
WIDE = (
    "control effects callbacks transforms_together vmap transforms_rules transforms loops attention convolution nn "
    "properties passes arrays at complex stated_rules rematerialize autograd jit linalg_factors "
    "nn_more nn_modules autocast cli"
)
# All but the test of the written files, which a build with faults in its table differs from in any case.
OPS = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "tests/ops").glob("test_*.py") if path.name != "test_docs.py"
)
TESTS = [*(f"tests/python/test_{name}.py" for name in WIDE.split()), *OPS, "tests/programs"]


def output_of(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment()).stdout


def faults() -> list[str]:
    """All that can be planted: "OP:" with infer-dtype, infer-shape, lower, jvp, transpose, batch; "pass:PASS:skip" and
    "pass:PASS:wrong"."""
    code = "import json; from intaglio import _intaglio as core; print(json.dumps(core._mutants()))"
    of_ops = [f"{op}:{fault}" for op, *own in json.loads(output_of([sys.executable, "-c", code])) for fault in own]
    listed = output_of([str(BUILD / "bin" / "intaglio"), "opt", "--list-passes"]).split("\n\n")[0]
    passes = [line.split()[0] for line in listed.splitlines()]
    return of_ops + [f"pass:{name}:{fault}" for name in passes for fault in ("skip", "wrong")]


def environment() -> dict[str, str]:
    # Prebuilt kernels were made without the fault, so all is compiled.
    return {
        **os.environ,
        "PYTHONPATH": f"{BUILD / 'python'}:{Path(__file__).parent}",
        "INTAGLIO_BUILD": str(BUILD),
        "INTAGLIO_CACHE": "0",
        "INTAGLIO_PREBUILT": "0",
    }


def try_faults(next_fault: Callable[[], str | None], say: Callable[[str, dict[str, str | None], float], None]) -> None:
    """Gives one process that has collected the tests (forking.py) a fault at a time, and passes on what it answers."""
    mine, theirs = socket.socketpair()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "forking", *TESTS]
    worker = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**environment(), "INTAGLIO_FAULTS": str(theirs.fileno())},
        pass_fds=[theirs.fileno()],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    theirs.close()
    with mine, mine.makefile("rw") as channel:
        for fault in iter(next_fault, None):
            start = time.monotonic()
            channel.write(fault + "\n")
            channel.flush()
            answer = channel.readline()
            if not answer:
                raise RuntimeError(f"the tests could not be collected, or died at {fault}:\n{worker.communicate()[0]}")
            say(fault, json.loads(answer), time.monotonic() - start)
    worker.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(description="Plants faults and reports those that no test notices.")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only faults in whose name this pattern is found")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="print the faults and stop")
    options = parser.parse_args()
    mutants = [mutant for mutant in faults() if re.search(options.only, mutant)]
    if options.list:
        print("\n".join(mutants))
        return 0
    if not mutants:
        print(f"in no fault's name '{options.only}' is found")
        return 2
    began = time.monotonic()
    left = collections.deque(reversed(mutants))  # the last ones, of control flow and passes, take longest
    noticed: collections.Counter[str] = collections.Counter()
    green: list[str] = []
    broken: list[str] = []
    lock = threading.Lock()

    def next_fault() -> str | None:
        with lock:
            return left.popleft() if left and not broken else None

    def say(mutant: str, answer: dict[str, str | None], seconds: float) -> None:
        with lock:
            if "broken" in answer:
                broken.append(str(answer["broken"]))
                return
            if answer["test"] is None:
                green.append(mutant)
            else:
                noticed[str(answer["stage"])] += 1
            done = f"[{noticed.total() + len(green):4}/{len(mutants)}]"
            words = "SURVIVED" if answer["test"] is None else "noticed "
            by = f"  {answer['stage']}: {answer['test']}" if answer["test"] else ""
            print(f"{done} {words} {mutant}  {seconds:.1f} s{by}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda _: try_faults(next_fault, say), range(options.jobs)))
    if broken:
        print(f"{broken[0]} fails without a fault: mend that first")
        return 2
    print(
        f"{noticed.total()} of {len(mutants)} faults were noticed: {noticed['near']} by the tests of their own op or "
        f"pass, {noticed['wide']} by others, in {(time.monotonic() - began) / 60:.1f} minutes"
    )
    for mutant in sorted(green):
        print(f"  no test notices {mutant}")
    return 1 if green else 0


if __name__ == "__main__":
    sys.exit(main())
