#!/usr/bin/env python3
# Runs all tests (GoogleTest, pytest, lit), shows progress as they go and failures in full, and ends with one
# line that sums them up. Exits non-zero where one failed, a runner broke down, or no test ran at all.
from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROCESSES = 2  # as many as the smallest machine has processors
PYTEST_FOLDERS = ["tests/ops", "tests/python", "tests/programs"]  # the longest files first: none is left at the end
GTEST_END = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] \S+\.\S+?(?:, where .*)? \(\d+ ms\)$")


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def broke(runner: str, code: int) -> Counts:
    print(f"{runner}: ended with status {code} without a failing test to show for it", flush=True)
    return Counts(failed=1)


def run_cpp(build: Path, extra: list[str]) -> Counts:
    """Runs the C++ tests, every other one by a second process; the output of a test is shown only if it fails."""
    binary = build / "bin" / "intaglio_tests"
    if not binary.exists():
        return Counts()
    with ThreadPoolExecutor(PROCESSES) as pool:
        return sum(pool.map(lambda shard: run_shard(binary, shard, extra), range(PROCESSES)), Counts())


def run_shard(binary: Path, shard: int, extra: list[str]) -> Counts:
    counts = Counts()
    output: list[str] = []
    current = ""
    suite = ""
    command = [str(binary), "--gtest_color=no", *extra]
    # GoogleTest's own way to share tests out.
    environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(PROCESSES), "GTEST_SHARD_INDEX": str(shard)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            line = line.rstrip("\n")
            if line.startswith("[ RUN "):
                current, output = line, []
                if line.split("] ")[1].split(".")[0] != suite:
                    suite = line.split("] ")[1].split(".")[0]
                    if not shard:
                        print(f"  {suite}", flush=True)
            elif line.startswith("[----------] Global test environment tear-down"):
                current, output = "", []
            elif current and (end := GTEST_END.match(line)):
                if end[1] == "OK":
                    counts.passed += 1
                elif end[1] == "SKIPPED":
                    counts.skipped += 1
                else:
                    counts.failed += 1
                    print("\n".join([current, *output, line]), flush=True)
                current, output = "", []
            else:
                output.append(line)
    if current:
        counts.failed += 1
        print(
            "\n".join([current, *output]),
            f"{binary.name}: died in this test, status {run.returncode}",
            sep="\n",
        )
    elif run.returncode and not counts.failed:
        print("\n".join(output[-40:]))
        counts += broke(binary.name, run.returncode)
    return counts


def run_pytest(reports: Path, extra: list[str]) -> Counts:
    """Runs the files by processes, each of which takes the next one when it is done with one."""
    folders = [folder for folder in PYTEST_FOLDERS if any((ROOT / folder).rglob("test_*.py"))]
    if not folders:
        return Counts()
    report = reports / "pytest.xml"
    report.unlink(missing_ok=True)
    processes = [f"--numprocesses={PROCESSES}", "--dist=loadfile", "--no-loadscope-reorder"]
    command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *processes]
    code = subprocess.run([*command, *folders, *extra], cwd=ROOT, check=False).returncode
    return counted(report, code)


def counted(report: Path, code: int) -> Counts:
    if not report.exists():
        return broke("pytest", code)
    counts = Counts()
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        counts += Counts(int(suite.get("tests", 0)) - failed - skipped, failed, skipped)
    # 5 says that nothing was collected, which the closing line will say too.
    return counts + broke("pytest", code) if code not in (0, 5) and not counts.failed else counts


def run_golden(build: Path, reports: Path, extra: list[str]) -> Counts:
    folder = ROOT / "tests" / "golden"
    if not any(folder.rglob("*.ig")):
        return Counts()
    report = reports / "lit.json"
    report.unlink(missing_ok=True)
    lit = Path(sys.executable).parent / "lit"
    command = [str(lit), "-sv", "--no-progress-bar", "--output", str(report), str(folder), *extra]
    code = subprocess.run(command, env={**os.environ, "INTAGLIO_BUILD": str(build)}, check=False).returncode
    if not report.exists():
        return broke("lit", code)
    counts = Counts()
    for test in json.loads(report.read_text())["tests"]:
        if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
            counts.passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            counts.skipped += 1
        else:
            counts.failed += 1
    return counts + broke("lit", code) if code and not counts.failed else counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--only", choices=["cpp", "python", "golden"])
    options, extra = parser.parse_known_args()
    if extra and not options.only:
        parser.error(f"{' '.join(extra)}: arguments for a runner need --only, to say for which")
    build = options.build.resolve()
    reports = ROOT / "build" / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    runners: dict[str, tuple[str, Callable[[], Counts]]] = {
        "cpp": ("C++ tests", lambda: run_cpp(build, extra)),
        "python": ("Python tests", lambda: run_pytest(reports, extra)),
        "golden": ("golden tests", lambda: run_golden(build, reports, extra)),
    }
    # No test depends on what the user's own cache of kernels holds, nor fills it.
    os.environ["INTAGLIO_CACHE"] = "0"
    total = Counts()
    for key, (title, runner) in runners.items():
        if options.only not in (None, key):
            continue
        print(f"== {title}", flush=True)
        start = time.monotonic()
        counts = runner()
        print(f"== {title}: {counts} in {time.monotonic() - start:.1f} s", flush=True)
        total += counts
    if total.passed + total.failed == 0:
        print("no test ran", flush=True)
    print(total, flush=True)
    return 1 if total.failed or total.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
