"""Many usual programs, compiled by Intaglio and by jax.jit, side by side: is any of them slow?

    make bench-programs                            all of bench/program_list.py
    make bench-programs ARGS="--only sort --threads 2"

Each system has a process of its own for each program; they take turns, warm, and the results are compared. Writes
bench/results/programs.json and a Markdown table and a picture beside it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
from machine import describe  # noqa: E402
from program_list import PROGRAMS, Program  # noqa: E402
from run import Worker, WorkerError  # noqa: E402

SYSTEMS = {"intaglio": "Intaglio", "jax": "jax.jit"}


def difference(ours: Path, theirs: Path) -> str:
    """What is unlike in the outputs of both; nothing if they agree as far as float32 can."""
    with np.load(ours) as a, np.load(theirs) as b:
        for name in a.files:
            x, y = a[name], b[name]
            if x.shape != y.shape:
                return f"shapes {x.shape} and {y.shape}"
            scale = float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y)))
            if not np.allclose(x, y, rtol=2e-3, atol=2e-3 * scale, equal_nan=True):
                return f"differ by {np.max(np.abs(x - y)):.3g}, where {scale:.3g} is the largest"
    return ""


def measure(program: Program, given: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    rows, workers = {}, {}
    try:
        for name in SYSTEMS:
            workers[name] = Worker(name, given.threads, scratch, "program_worker.py")
            command = {"program": program.name, "system": name, "threads": given.threads, "budget": given.least}
            workers[name].ask(do="start", outputs=str(scratch / f"{name}.npz"), **command)
            rows[name] = {"workload": program.name, "title": program.name, "system": name, "threads": given.threads}
        if found := difference(scratch / "intaglio.npz", scratch / "jax.npz"):
            raise WorkerError(f"the results are unlike: {found}")
        times: dict[str, list[float]] = {name: [] for name in SYSTEMS}
        for turn in range(given.rounds):
            for name in sorted(SYSTEMS, reverse=bool(turn % 2)):
                times[name].append(workers[name].ask(do="round")["median"])
    finally:
        for worker in workers.values():
            worker.close()
    for name, row in rows.items():
        low, middle, high = statistics.quantiles(times[name], n=4)
        row |= {"median": middle, "low": low, "high": high}
    return list(rows.values())


def markdown(result: dict[str, Any]) -> str:
    ratios, lines = {}, []
    for name, row in report.by_workload(result, result["settings"]["threads"][0]).items():
        ratios[name] = row["jax"]["median"] / row["intaglio"]["median"]
        times = (report.seconds(row[system]["median"]) for system in SYSTEMS)
        lines.append([f"`{name}`", *times, report.times(ratios[name])])
    ahead = sum(ratio >= 1 for ratio in ratios.values())
    return (
        f"Measured {result['when']} on {result['machine']['processor']}, {result['settings']['threads'][0]} thread(s). "
        f"{ahead} of {len(ratios)} programs are as fast as jax.jit's or faster; in the geometric mean Intaglio is "
        f"{report.times(statistics.geometric_mean(ratios.values()))} as fast.\n\n"
        + report.table(["program", *SYSTEMS.values(), "faster than jax.jit"], lines)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs whose names hold one of these texts, by commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.02, help="seconds a round takes at least")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    given = parser.parse_args()
    peers.install(["jax"])
    if not peers.installed("jax"):
        sys.exit("bench: jax is not installed")
    chosen = [p for p in PROGRAMS if any(text in p.name for text in given.only.split(","))]
    result: dict[str, Any] = {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": describe(),
        "settings": {"threads": [given.threads], "rounds": given.rounds},
        "titles": SYSTEMS,
        "rows": [],
    }
    failed = []
    for program in chosen:
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            try:
                rows = measure(program, given, Path(scratch))
            except WorkerError as error:
                failed.append(f"{program.name}: {error}")
                print(f"{program.name:26} {error}", flush=True)
                continue
        result["rows"] += rows
        own, theirs = (row["median"] for row in rows)
        both = f"jax {report.seconds(theirs):>8}  Intaglio {report.seconds(own):>8}"
        print(f"{program.name:26} {both}  {report.times(theirs / own)}", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "programs.json").write_text(json.dumps(result, indent=1))
    (given.out / "programs.md").write_text(markdown(result))
    (given.out / "programs.svg").write_text(report.picture(result))
    print(f"\n{given.out / 'programs.md'}: " + markdown(result).splitlines()[0])
    for text in failed:
        print(f"bench: {text}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
