#!/usr/bin/env python3
"""What a first call costs: of MiniLM with the cache of kernels off, empty and full, and of programs that grow.

python bench/cold.py [--rounds 5] [--threads 2] [--layers 10,100,1000,10000] [--only minilm,layers] [--json FILE]

Each measurement is a fresh process; processor time counts all threads, and is what can be compared while others use
the machine. A program of n layers is n times `x + gelu(x @ w + b)` on one set of weights; its time for each layer
should not depend on n.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

MINILM = """
import json, sys, time
sys.path.insert(0, {folder!r})
from embed import Embedder
from tokens import encode
traced = Embedder().traced
inputs = encode(["a text", "and another text"])
start, used = time.perf_counter(), time.process_time()
traced(*inputs)
seconds, processor = time.perf_counter() - start, time.process_time() - used
start = time.perf_counter()
traced(*inputs)
warm = time.perf_counter() - start
print(json.dumps({{"wall": seconds - warm, "processor": processor, "warm": warm, **{{
    name: value for name, value in traced.graph.report().items() if name.endswith("_ms") or name.startswith("kernels")
}}}}))
"""

LAYERS = """
import json, sys, time
import numpy as np, intaglio as ig
def program(x, w, b):
    for _ in range({layers}):
        x = x + ig.gelu(x @ w + b)
    return x
rng = np.random.default_rng(0)
arguments = [ig.asarray(rng.normal(size=shape).astype("float32") / 16) for shape in ((4, 64), (64, 64), (64,))]
used = time.process_time()
traced = ig.trace(program, *arguments)
capture = time.process_time() - used
used = time.process_time()
traced(*arguments)
first = time.process_time() - used
report = traced.graph.report()
print(json.dumps({{"capture_ms": capture * 1e3, "first_ms": first * 1e3, "nodes": report["nodes_captured"],
                  **{{name: report[name] for name in ("pass_ms", "lower_ms", "compile_ms", "plan_ms")}}}}))
"""


def measure(program: str, threads: int, **env: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "INTAGLIO_CACHE": "0",
            "INTAGLIO_OP_BY_OP": "0",
            "INTAGLIO_NUM_THREADS": str(threads),
            **env,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def middle(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}


def minilm(rounds: int, threads: int) -> dict[str, Any]:
    program = MINILM.format(folder=str(ROOT / "examples" / "minilm"))
    rows: dict[str, list[dict[str, float]]] = {"off": [], "empty": [], "full": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            use = {"INTAGLIO_CACHE": "1", "INTAGLIO_CACHE_DIR": folder}
            rows["off"].append(measure(program, threads))
            rows["empty"].append(measure(program, threads, **use))
            rows["full"].append(measure(program, threads, **use))
    found = {name: middle(each) for name, each in rows.items()}
    print(f"MiniLM, first call less a warm one, {threads} threads, median of {rounds} (ms)")
    print("cache    wall  processor  passes  lowering  machine code  plan  compiled  cached")
    for name, row in found.items():
        print(
            f"{name:6} {row['wall'] * 1e3:6.0f} {row['processor'] * 1e3:10.0f} {row['pass_ms']:7.1f} "
            f"{row['lower_ms']:9.1f} {row['compile_ms']:13.1f} {row['plan_ms']:5.1f} {row['kernels_compiled']:9.0f} "
            f"{row['kernels_cached']:7.0f}"
        )
    return found


def layers(sizes: list[int], threads: int) -> list[dict[str, Any]]:
    print("\nlayers  nodes  microseconds a layer: capture    passes  lowering  machine code      plan  first call")
    rows = []
    for size in sizes:
        row: dict[str, Any] = {"layers": size, **measure(LAYERS.format(layers=size), threads)}
        names = ("capture_ms", "pass_ms", "lower_ms", "compile_ms", "plan_ms", "first_ms")
        each = " ".join(f"{row[name] * 1e3 / size:9.1f}" for name in names)
        print(f"{size:6} {row['nodes']:6.0f} {'':20} {each}", flush=True)
        rows.append(row)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--layers", default="10,100,1000,10000", metavar="N,…")
    parser.add_argument("--only", default="minilm,layers", metavar="A,B")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    result: dict[str, Any] = {}
    if "minilm" in options.only:
        result["minilm"] = minilm(options.rounds, options.threads)
    if "layers" in options.only:
        result["layers"] = layers([int(size) for size in options.layers.split(",")], options.threads)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
