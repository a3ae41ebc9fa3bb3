"""Eager calls beside NumPy's: the same lines of array-API code on both, op by op, at three sizes.

    make bench-eager                       all of them
    make bench-eager ARGS="--sizes large --only sort"

Both run in this process with one thread, by turns, warm; the results are compared. Writes bench/results/eager.json
and a Markdown table and a picture beside it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "INTAGLIO_NUM_THREADS"), "1"))

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
import report  # noqa: E402
from machine import describe  # noqa: E402
from rows import by_workload, seconds, table, times  # noqa: E402

import intaglio as ig  # noqa: E402

SIZES = {"small": (8, 16), "middle": (256, 300), "large": (1000, 1024)}

# x, y: float32; i: int32; b: bool by row; k, l: places of rows and of columns; v, w: a row and a column.
CALLS = """
x + y; x * 2; x / y; -x; abs(x); xp.exp(x); xp.log(abs(x) + 1); xp.tanh(x); xp.sqrt(abs(x)); xp.floor(x); x**2
x**0.5; xp.pow(abs(x), 1.7); xp.maximum(x, y); xp.where(x > 0, x, y); xp.clip(x, -1, 1); xp.isnan(x)
xp.logical_and(x > 0, y > 0); x.astype(xp.float64); i.astype(xp.float32); i + 1; i // 3; i % 7; i & 255; i >> 1
xp.sum(x); xp.sum(x, axis=0); xp.sum(x, axis=1); xp.mean(x, axis=0); xp.std(x, axis=1); xp.max(x, axis=0); xp.min(x)
xp.argmax(x, axis=0); xp.argmax(x, axis=1); xp.argmin(x); xp.sum(x > 0); xp.any(x > 3); xp.all(x > -30)
xp.sum((x - y) ** 2); x - xp.mean(x, axis=0); x - xp.mean(x, axis=1, keepdims=True); xp.cumulative_sum(x, axis=0)
xp.cumulative_sum(x, axis=1); x @ x.T; x.T @ y; x @ v; w @ x; xp.vecdot(x, y); xp.vecdot(v, v); xp.outer(w, v)
xp.linalg.norm(x); x.T + y.T; x.T * 2; xp.sum(x.T, axis=0); xp.reshape(x.T, (-1,)); x[::2] + 1; x[:, ::2] + 1
x[:, ::-1] * 2; x[1:] - x[:-1]; x[:, 1:] - x[:, :-1]; x[2:5, 1:9] * 2; x[:, 0]; x[0]; xp.flip(x, axis=1)
xp.roll(x, 1, axis=0); xp.roll(x, 3, axis=1); xp.concat([x, y], axis=0); xp.concat([x, y], axis=1)
xp.stack([x, y], axis=0); xp.stack([x, y], axis=-1); xp.repeat(x, 2, axis=0); xp.repeat(x, 2, axis=1)
xp.tile(x, (2, 2)); xp.tril(x); xp.triu(x); xp.broadcast_to(v, x.shape) + 1; xp.sort(x, axis=1); xp.sort(x, axis=0)
xp.argsort(x, axis=1, stable=True); xp.sort(xp.unique_values(i)); xp.searchsorted(xp.sort(v), x); xp.take(x, k, axis=0)
xp.take(x, l, axis=1); x[k]; x[b]; xp.count_nonzero(x); xp.diff(x); xp.zeros(x.shape); xp.ones_like(x)
xp.arange(x.shape[0] * x.shape[1]); xp.eye(200)
"""


def calls() -> list[str]:
    return [call.strip() for line in CALLS.strip().splitlines() for call in line.split(";")]


def arrays(size: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    rows, columns = SIZES[size]
    x, y = rng.standard_normal((2, rows, columns)).astype(np.float32)
    return {
        "x": x, "y": y, "i": rng.integers(-1000, 1000, (rows, columns)).astype(np.int32), "b": x[:, 0] > 0,
        "k": rng.integers(0, rows, rows), "l": rng.integers(0, columns, columns), "v": x[0].copy(), "w": y[:, 0].copy(),
    }  # fmt: skip


def as_numpy(value: Any) -> Any:
    return value.numpy() if isinstance(value, ig.Tensor) else np.asarray(value)


def agree(ours: Any, theirs: Any) -> bool:
    a, b = as_numpy(ours), as_numpy(theirs)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-4, atol=1e-3, equal_nan=True))


def once(call: Callable[[], Any], turns: int) -> float:
    begin = time.perf_counter()
    for _ in range(turns):
        call()
    return (time.perf_counter() - begin) / turns


def measure(systems: dict[str, Callable[[], Any]], rounds: int, least: float) -> dict[str, dict[str, float]]:
    """Each system's median and quartiles: a round is as many calls as take `least` seconds, by turns."""
    turns = {}
    for name, call in systems.items():
        begin = time.perf_counter()  # as long as Intaglio may take until it compiles what is called often
        while time.perf_counter() - begin < 0.06:
            call()
        turns[name] = max(1, int(least / once(call, 3)))
    times: dict[str, list[float]] = {name: [] for name in systems}
    for i in range(rounds):
        for name in sorted(systems, reverse=bool(i % 2)):
            times[name].append(once(systems[name], turns[name]))
    out = {}
    for name, found in times.items():
        low, middle, high = statistics.quantiles(found, n=4)
        out[name] = {"median": middle, "low": low, "high": high}
    return out


def run(sizes: list[str], only: str, rounds: int, least: float) -> list[dict[str, Any]]:
    rows = []
    for size in sizes:
        own = arrays(size)
        spaces = {
            "numpy": {**own, "xp": np},
            "intaglio": {**{name: ig.asarray(value) for name, value in own.items()}, "xp": ig},
        }
        for text in calls():
            if only not in text:
                continue
            code = compile(f"lambda: {text}", "<call>", "eval")
            systems = {name: eval(code, space) for name, space in spaces.items()}
            if not agree(systems["intaglio"](), systems["numpy"]()):
                raise SystemExit(f"{text}, {size}: the results differ")
            for name, found in measure(systems, rounds, least).items():
                rows.append(
                    {"workload": f"{text} {size}", "title": f"{text}, {size}", "system": name, "threads": 1, **found}
                )
            theirs, own_time = rows[-2]["median"], rows[-1]["median"]
            both = f"NumPy {seconds(theirs):>8}  Intaglio {seconds(own_time):>8}"
            print(f"{size:7} {text:44} {both}  {times(theirs / own_time)}", flush=True)
    return rows


def markdown(result: dict[str, Any]) -> str:
    calls: dict[str, dict[str, tuple[float, float]]] = {}
    for row in by_workload(result, 1).values():
        text, size = row["numpy"]["title"].rsplit(", ", 1)
        calls.setdefault(text, {})[size] = (row["numpy"]["median"], row["intaglio"]["median"])
    lines = []
    for text, found in calls.items():
        cells = [f"`{text}`"]
        for numpy, own in found.values():
            cells += [seconds(own), times(numpy / own)]
        lines.append(cells)
    header = ["call"]
    for size in result["settings"]["sizes"]:
        header += [f"{size} {'×'.join(map(str, SIZES[size]))}", "faster than NumPy"]
    ratios = [r["numpy"]["median"] / r["intaglio"]["median"] for r in by_workload(result, 1).values()]
    ahead = sum(ratio >= 1 for ratio in ratios)
    return (
        f"Measured {result['when']} on {result['machine']['processor']}; Intaglio {ig.__version__}, "
        f"NumPy {np.__version__}, one thread each. {ahead} of {len(ratios)} calls are as fast as NumPy's or faster; "
        f"in the geometric mean Intaglio is {times(statistics.geometric_mean(ratios))} as fast.\n\n"
        + table(header, lines)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(SIZES), help="of small, middle and large")
    parser.add_argument("--only", default="", help="calls that hold this text")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--least", type=float, default=0.004, help="seconds a round takes at least")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    given = parser.parse_args()
    sizes = given.sizes.split(",")
    if unknown := set(sizes) - set(SIZES):
        parser.error(f"no sizes {', '.join(sorted(unknown))}: there are {', '.join(SIZES)}")
    ig.set_num_threads(1)
    result = {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": describe(),
        "settings": {"threads": [1], "sizes": sizes, "rounds": given.rounds},
        "titles": {"intaglio": "Intaglio, eager", "numpy": "NumPy"},
        "rows": run(sizes, given.only, given.rounds, given.least),
    }
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "eager.json").write_text(json.dumps(result, indent=1))
    (given.out / "eager.md").write_text(markdown(result))
    (given.out / "eager.svg").write_text(report.picture(result))
    print(f"\n{given.out / 'eager.md'}: " + markdown(result).splitlines()[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
