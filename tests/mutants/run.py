#!/usr/bin/env python3
# Tests the tests: plants one fault at a time (a wrong dtype or shape from an op's `infer`, wrong elements from its
# `lower`, wrong derivatives or batches from its `jvp`, `transpose` or `batch`, a pass that does nothing or something
# wrong), runs the tests that should notice, and reports every fault that stays green. Needs a build with
# INTAGLIO_MUTANTS, which `make test-mutants` makes. Ends with status 1 where one survives.
#   tests/mutants/run.py [--only TEXT] [--jobs N] [--list]
from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutants"
LOWERING = "Ops2Lowering.*:ElementwiseCompiled.*Agree*:Elementwise.ReferencesAgree*"


def output_of(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment("")).stdout


def faults() -> list[str]:
    """All that can be planted: "OP:" with infer-dtype, infer-shape, lower, jvp, transpose, batch; "pass:PASS:skip" and
    "pass:PASS:wrong"."""
    code = "import json; from intaglio import _intaglio as core; print(json.dumps(core._mutants()))"
    of_ops = [f"{op}:{fault}" for op, *own in json.loads(output_of([sys.executable, "-c", code])) for fault in own]
    listed = output_of([str(BUILD / "bin" / "intaglio"), "opt", "--list-passes"]).split("\n\n")[0]
    passes = [line.split()[0] for line in listed.splitlines()]
    return of_ops + [f"pass:{name}:{fault}" for name in passes for fault in ("skip", "wrong")]


def environment(mutant: str) -> dict[str, str]:
    # Prebuilt kernels were made without the fault, so all is compiled.
    return {
        **os.environ,
        "PYTHONPATH": str(BUILD / "python"),
        "INTAGLIO_BUILD": str(BUILD),
        "INTAGLIO_PREBUILT": "0",
        "INTAGLIO_MUTANT": mutant,
    }


def commands(mutant: str) -> list[list[str]]:
    """The tests that should notice, the nearest first."""
    python = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    if not mutant:
        return [[*python, "tests/ops", "-k", "[add] or [sum] or [matmul]"]]
    kind, name = mutant.split(":")[:2]
    golden = ROOT / "tests" / "golden"
    lit = [str(Path(sys.executable).parent / "lit"), "-q", str(golden)]
    if kind == "pass":
        own = [[*lit[:-1], str(golden / name)]] if (golden / name).is_dir() else []
        return [*own, lit, [*python, "tests/programs"]]
    own = [*python, "tests/ops", "-k", f"[{kind}]"]
    if name in ("jvp", "transpose", "batch"):
        together = ["test_transforms", "test_transforms_rules", "test_transforms_together", "test_vmap"]
        definitions = "Batch.*" if name == "batch" else "OpDerivatives.*"
        tests = [str(BUILD / "bin" / "intaglio_tests"), f"--gtest_filter={definitions}", "--gtest_throw_on_failure"]
        near = ["env", f"INTAGLIO_TEST_OP={kind}", *tests]
        return [near, own, tests, [*python, *(f"tests/python/{one}.py" for one in together)]]
    tests = [str(BUILD / "bin" / "intaglio_tests"), "--gtest_throw_on_failure"]
    near = ["env", f"INTAGLIO_TEST_OP={kind}", *tests, f"--gtest_filter={LOWERING}"]
    return [near, own, *([*python, file] for file in mentioning(kind)), lit, [*python, "tests/ops"]]


@functools.cache
def public_names() -> dict[str, str]:
    code = "import json, intaglio._intaglio as c; print(json.dumps({d['name']: d['python'] for d in c.op_table()}))"
    names: dict[str, str] = json.loads(output_of([sys.executable, "-c", code]))
    return names


def mentioning(op: str) -> list[str]:
    """The three test files of the public functions that speak of the op the most."""
    word = re.compile(rf"\b(ig|core|lax)\.({public_names().get(op) or op}|{op})\b|\b{op}\(")
    texts = {str(path): path.read_text() for path in (ROOT / "tests" / "python").glob("test_*.py")}
    counts = {path: len(word.findall(text)) for path, text in texts.items()}
    return sorted((path for path in counts if counts[path]), key=lambda path: -counts[path])[:3]


def survives(mutant: str) -> bool:
    for command in commands(mutant):
        done = subprocess.run(command, cwd=ROOT, env=environment(mutant), capture_output=True, text=True)
        if done.returncode not in (0, 5):  # 5: no test of that name
            return False
    return True


def try_by_forks(mutants: list[str], said: Callable[[str, bool, float], None]) -> None:
    """Each fault against its op's own tests, which are collected once; see forking.py."""
    if not mutants:
        return
    reading, writing = os.pipe()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed, os.fdopen(reading) as verdicts:
        listed.write("\n".join(mutants))
        listed.flush()
        own = {
            "INTAGLIO_FAULTS": listed.name,
            "INTAGLIO_VERDICTS": str(writing),
            "PYTHONPATH": f"{BUILD / 'python'}:{Path(__file__).parent}",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "forking", "tests/ops"]
        worker = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**environment(""), **own},
            pass_fds=[writing],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        os.close(writing)
        heard = 0
        for line in verdicts:
            word, mutant, seconds = line.split()
            said(mutant, word == "green", float(seconds))
            heard += 1
        output = worker.communicate()[0]
        if heard != len(mutants):
            raise RuntimeError(f"the worker stopped after {heard} of {len(mutants)} faults:\n{output}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Plants faults and reports those that no test notices.")
    parser.add_argument("--only", default="", help="only faults whose name holds this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="print the faults and stop")
    options = parser.parse_args()
    mutants = [mutant for mutant in faults() if options.only in mutant]
    if options.list:
        print("\n".join(mutants))
        return 0
    if not mutants:
        print(f"no fault has '{options.only}' in its name")
        return 2
    if not survives(""):
        print("the tests fail without a fault: mend that first")
        return 2
    lock = threading.Lock()
    done = 0

    def say(mutant: str, word: str, seconds: float) -> None:
        nonlocal done
        with lock:
            done += 1
            print(f"[{done:4}/{len(mutants)}] {word} {mutant}  {seconds:.1f} s", flush=True)

    # The op's own tests first; what they let pass, and the passes, by whole suites.
    wide = [mutant for mutant in mutants if mutant.startswith("pass:")]
    near = [mutant for mutant in mutants if not mutant.startswith("pass:")]

    def said_near(mutant: str, green: bool, seconds: float) -> None:
        if green:
            with lock:
                wide.append(mutant)
        else:
            say(mutant, "noticed ", seconds)

    def widely(mutant: str) -> str | None:
        start = time.monotonic()
        survived = survives(mutant)
        say(mutant, "SURVIVED" if survived else "noticed ", time.monotonic() - start)
        return mutant if survived else None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(
            pool.map(lambda part: try_by_forks(part, said_near), [near[i :: options.jobs] for i in range(options.jobs)])
        )
        green = [mutant for mutant in pool.map(widely, sorted(wide)) if mutant]
    print(f"{len(mutants) - len(green)} of {len(mutants)} faults were noticed")
    for mutant in green:
        print(f"  no test notices {mutant}")
    return 1 if green else 0


if __name__ == "__main__":
    sys.exit(main())
