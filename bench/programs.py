"""Many usual programs, compiled by Intaglio and by jax.jit, side by side: is any of them slow?

    make bench-programs                            all of bench/program_list
    make bench-programs ARGS="--only sort --threads 2"
    make bench-programs ARGS="--alone"             Intaglio's times, without JAX

Each system has a process of its own for each program; they take turns, warm, and the results are compared. Writes
bench/results/programs.json and a Markdown table and a picture beside it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
from machine import describe  # noqa: E402
from program_list import PROGRAMS  # noqa: E402
from rows import by_workload, seconds, table, times  # noqa: E402
from run import Worker, WorkerError  # noqa: E402


@dataclass(frozen=True)
class Suite:
    """A list of small things that Intaglio and a peer do alike, each in a process of its own."""

    what: str  # "program": what one of them is called, and the file of results after it
    names: Sequence[str]
    worker: str  # the script of the child process
    peers: dict[str, str]  # by system, how it is called; the first is the usual one
    together: bool  # whether what is rounding in one output is told by the largest number of all of them
    # Where rounding grows on the way: told by the length of all differences, of which this share is allowed.
    amplify: dict[str, float] = field(default_factory=dict)
    asked: str = ""  # what has it in its name runs only where a text of `--only` has it too
    firsts: bool = False  # whether the table tells what the first call of a process takes, compiling included
    runs: Callable[[str, str], bool] = lambda item, system: True  # whether a peer can do it at all
    # What is made for a system before its clock starts, in a folder: what is added to its command.
    before: Callable[[str, str, Path], dict[str, str]] = lambda item, system, folder: {}

    @property
    def titles(self) -> dict[str, str]:
        return {"intaglio": "Intaglio", **self.peers}


SUITE = Suite("program", [p.name for p in PROGRAMS], "program_worker.py", {"jax": "jax.jit"}, together=False)


def difference(ours: Path, theirs: Path, suite: Suite, item: str) -> str:
    """What is unlike in the outputs of both; nothing if they agree as far as float32 can."""
    with np.load(ours) as a, np.load(theirs) as b:
        if item in suite.amplify:
            off, length = (
                math.sqrt(sum(float(np.sum(np.square(x, dtype=np.float64))) for x in parts))
                for parts in ((a[name] - b[name] for name in b.files), (b[name] for name in b.files))
            )
            return "" if off <= suite.amplify[item] * length else f"differ by {off:.3g} of a length of {length:.3g}"
        largest = [float(np.max(np.abs(b[name]), initial=0.0, where=np.isfinite(b[name]))) for name in b.files]
        for i, name in enumerate(a.files):
            x, y = a[name], b[name]
            if x.shape != y.shape:
                return f"shapes {x.shape} and {y.shape}"
            scale = max(largest) if suite.together else largest[i]
            if not np.allclose(x, y, rtol=2e-3, atol=2e-3 * scale, equal_nan=True):
                return f"differ by {np.max(np.abs(x - y)):.3g}, where {scale:.3g} is the largest"
    return ""


def measure(item: str, suite: Suite, given: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    """A row for each system."""
    rows: dict[str, dict[str, Any]] = {}
    workers: dict[str, Worker] = {}
    times: dict[str, list[float]] = {name: [] for name in given.systems}
    try:
        for name in given.systems:
            made = suite.before(item, name, scratch)
            workers[name] = Worker(name, given.threads, scratch, suite.worker)
            command = {"item": item, "system": name, "threads": given.threads, "budget": given.least} | made
            began = workers[name].ask(do="start", outputs=str(scratch / f"{name}.npz"), **command)
            rows[name] = {"workload": item, "title": item, "system": name, "threads": given.threads, **began}
        outputs = [scratch / f"{name}.npz" for name in given.systems]
        if len(outputs) == 2 and (found := difference(*outputs, suite, item)):
            raise WorkerError(f"the results are unlike: {found}")
        for turn in range(given.rounds):
            for name in sorted(given.systems, reverse=bool(turn % 2)):
                times[name].append(workers[name].ask(do="round")["median"])
    finally:
        for worker in workers.values():
            worker.close()
    for name, row in rows.items():
        low, middle, high = statistics.quantiles(times[name], n=4)
        row |= {"median": middle, "low": low, "high": high}
    return list(rows.values())


def ratio(rows: dict[str, dict[str, Any]]) -> float | None:
    """How many times faster than the peer, where that was measured."""
    own, *peers = rows.values()
    return peers[0]["median"] / own["median"] if peers else None


def markdown(result: dict[str, Any], suite: Suite) -> str:
    what = suite.what
    threads = result["settings"]["threads"][0]
    ratios, lines = [], []
    for name, rows in by_workload(result, threads).items():
        cells = [f"`{name}`", *(seconds(rows[system]["median"]) for system in result["titles"])]
        if (found := ratio(rows)) is not None:
            ratios.append(found)
            cells.append(times(found))
        if suite.firsts:
            cells += (seconds(rows[system]["first"]) for system in result["titles"])
        lines.append(cells)
    said = f"Measured {result['when']} on {result['machine']['processor']}, {threads} thread{'s' * (threads > 1)}."
    header = [what, *result["titles"].values()]
    if ratios:
        peer = header[-1]
        header.append(f"faster than {peer}")
        ahead = sum(found >= 1 for found in ratios)
        said += (
            f" {ahead} of {len(ratios)} {what}s are as fast as {peer}'s or faster; in the geometric mean Intaglio "
            f"is {times(statistics.geometric_mean(ratios))} as fast."
        )
    if suite.firsts:
        header += (f"first call of {title}" for title in result["titles"].values())
    return said + "\n\n" + table(header, lines)


def main(suite: Suite, doc: str | None) -> int:
    what = suite.what
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"{what}s whose names hold one of these texts, by commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.02, help="seconds a round takes at least")
    parser.add_argument(
        "--peer", choices=list(suite.peers), default=next(iter(suite.peers)), help="beside which system"
    )
    parser.add_argument("--alone", action="store_true", help="Intaglio only")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    given = parser.parse_args()
    if given.rounds < 2:
        parser.error("--rounds must be at least 2")
    if given.threads < 1:
        parser.error("--threads must be at least 1")
    given.systems = ["intaglio"] if given.alone else ["intaglio", given.peer]
    peers.install(given.systems)
    if missing := [name for name in given.systems if not peers.installed(name)]:
        sys.exit(f"bench: {', '.join(missing)} could not be installed\n  hint: --alone measures Intaglio only")
    texts = given.only.split(",")
    chosen = [
        name
        for name in suite.names
        if any(text in name and (suite.asked in text or suite.asked not in name) for text in texts)
    ]
    if not chosen:
        parser.error(f"no {what} has {given.only!r} in its name")
    chosen = [name for name in chosen if all(suite.runs(name, system) for system in given.systems)]
    if not chosen:
        parser.error(f"{suite.titles[given.peer]} runs no {what} with {given.only!r} in its name")
    result: dict[str, Any] = {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": describe(),
        "settings": {"threads": [given.threads], "rounds": given.rounds},
        "titles": {name: suite.titles[name] for name in given.systems},
        "rows": [],
    }
    failed = []
    for item in chosen:
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            try:
                rows = measure(item, suite, given, Path(scratch))
            except WorkerError as error:
                failed.append(f"{item}: {error}")
                print(f"{item:30} {error}", flush=True)
                continue
        result["rows"] += rows
        both = {row["system"]: row for row in rows}
        found = ratio(both)
        measured = "  ".join(f"{suite.titles[name]} {seconds(row['median']):>8}" for name, row in both.items())
        print(f"{item:30} {measured}  {'' if found is None else times(found)}", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / f"{what}s.json").write_text(json.dumps(result, indent=1))
    (given.out / f"{what}s.md").write_text(markdown(result, suite))
    (given.out / f"{what}s.svg").write_text(report.picture(result))
    print(f"\n{given.out / (what + 's.md')}: " + markdown(result, suite).splitlines()[0])
    for text in failed:
        print(f"bench: {text}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(SUITE, __doc__))
