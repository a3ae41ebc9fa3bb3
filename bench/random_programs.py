"""Random programs, compiled by Intaglio and by jax.jit, side by side: what is slow that nobody thought of?

    make bench-random                                        200 programs of seed 0
    make bench-random ARGS="--seed 7 --programs 400 --shapes large"
    make bench-random ARGS="--seed 7 --only 12,381"          some of them again
    make bench-random ARGS="--of gradient"                   their gradients; --of batch: vmap over four inputs
    make bench-random ARGS="--alone"                         Intaglio's times, without JAX

Programs are chained steps of bench/random_steps.py. Each system has one process for all of them; they take turns at
each program, and one stands still while the other one runs. Prints what Intaglio takes longer for, what the two do not
agree on, and what one of them refuses; writes bench/results/random.json.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import peers  # noqa: E402
import random_steps  # noqa: E402
from machine import describe  # noqa: E402
from run import Worker, WorkerError  # noqa: E402


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=200, help="how many (200)")
    parser.add_argument("--only", help="numbers of programs, with commas between them")
    parser.add_argument("--shapes", choices=list(random_steps.SHAPES), default="small")
    parser.add_argument("--of", choices=["value", "gradient", "batch"], default="value", help="what is timed (value)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--alone", action="store_true", help="Intaglio's times, without JAX")
    parser.add_argument("--slow", type=float, default=0.95, help="the ratio below which a program is told (0.95)")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "random.json")
    return parser.parse_args()


def agree(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a["shape"] == b["shape"] and math.isclose(a["sum"], b["sum"], rel_tol=1e-3, abs_tol=1)


def ratio_of(row: dict[str, Any]) -> float:
    return row["jax"]["seconds"] / row["intaglio"]["seconds"]


def told(row: dict[str, Any]) -> str:
    ours = row["intaglio"]
    what = f"{ours['input']} {' · '.join(ours['steps'])} → {ours['shape']}"
    if "jax" not in row:
        return f"#{row['number']}: {ours['seconds'] * 1e6:.1f} µs  {what}"
    times = f"{ours['seconds'] * 1e6:.1f} µs, jax.jit {row['jax']['seconds'] * 1e6:.1f}"
    return f"{ratio_of(row):.2f}× #{row['number']}: {times}  {what}"


def measure(o: argparse.Namespace, systems: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """What each system said of each program that all of them run, and what was refused."""
    rows: list[dict[str, Any]] = []
    refused: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        workers = {name: Worker(name, o.threads, Path(scratch), "random_worker.py") for name in systems}
        for number in [int(n) for n in o.only.split(",")] if o.only else range(o.programs):
            row: dict[str, Any] = {"number": number}
            for name, worker in workers.items():
                command = {"seed": o.seed, "number": number, "shapes": o.shapes, "of": o.of, "threads": o.threads}
                try:
                    row[name] = worker.ask(system=name, **command)
                except WorkerError as error:
                    refused.append(f"#{number}: {name}: {error}")
            if all(name in row for name in systems):
                rows.append(row)
        for worker in workers.values():
            worker.close()
    return rows, refused


def main() -> None:
    o = options()
    systems = ("intaglio",) if o.alone else ("intaglio", "jax")
    peers.install(systems)
    rows, refused = measure(o, systems)
    for line in refused:
        print(f"refused: {line}")
    if o.alone:
        print(*map(told, rows), sep="\n")
    else:
        rows.sort(key=ratio_of)
        slower = [row for row in rows if ratio_of(row) < o.slow]
        print(*[told(row) for row in slower], sep="\n")
        for row in rows:
            if not agree(row["intaglio"], row["jax"]):
                print(f"other values: {told(row)}")
        middle = math.exp(sum(math.log(ratio_of(row)) for row in rows) / max(1, len(rows)))
        print(f"{len(rows)} programs of seed {o.seed}: {middle:.2f}× as fast as jax.jit, {len(slower)} below {o.slow}×")
    o.out.parent.mkdir(parents=True, exist_ok=True)
    setting = {"seed": o.seed, "shapes": o.shapes, "of": o.of, "threads": o.threads, "machine": describe()}
    o.out.write_text(json.dumps(setting | {"programs": rows, "refused": refused}, indent=1) + "\n")


if __name__ == "__main__":
    main()
