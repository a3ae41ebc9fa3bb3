"""The main job, shown: real sentences through a real trained transformer, captured, compiled in the process, and run.

Prints the sentences with their nearest neighbours, the graph before and after, times, speed against Intaglio's own
eager execution, NumPy, and (where they are installed) torch and ONNX Runtime, and the largest error against a float64
reference, which is asserted. Writes a picture of the graph where Graphviz is installed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import numpy as np
from embed import BATCH, Embedder
from model import load
from reference import Reference
from tokens import encode

import intaglio as ig

SENTENCES = [
    "The new movie is awesome.",
    "I went to the opera and loved it.",
    "A film that everybody should see.",
    "C++ templates are resolved at compile time.",
    "The compiler turns a graph into machine code.",
    "Python is a language that reads well.",
    "My cat sleeps on the warm radiator.",
    "The dog barked at the postman all morning.",
]
BOUND = 1e-5  # largest difference of an embedding's element from the float64 reference
ROUNDS = 7


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Median and spread (largest less smallest) of a warm call, in milliseconds."""
    run()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times), max(times) - min(times)


def peers(ids: Any, mask: Any) -> Iterator[tuple[str, Callable[[], Any] | None]]:
    """The same model on other systems, as the benchmarks write it for them; None for one that is not installed."""
    sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
    import systems
    import workloads

    workload = workloads.all_workloads()["minilm_8x128"]
    weights = workload.data()[1]
    for name in ("torch", "torch_compile", "onnxruntime"):
        system = systems.get(name)
        if not all(find_spec(module) for module in ([system.module, "onnx"] if name == "onnxruntime" else ["torch"])):
            yield system.title, None
            continue
        system.load(2)
        system.prepare(workload, (ids, mask), weights)
        inputs = [system.to_native(array) for array in (ids, mask)]
        call = system.build()
        yield system.title, partial(call, *inputs)


def picture(graph: Any) -> str:
    """Draws the compiled graph; gives the file, or why there is none."""
    target = Path("build/minilm.svg")
    target.parent.mkdir(exist_ok=True)
    command = [Path(sys.executable).parent / "intaglio", "show", "--svg", target, "-"]
    done = subprocess.run(command, input=graph.to_binary(), capture_output=True)
    return str(target) if done.returncode == 0 else "not drawn: " + done.stderr.decode().split("\n")[0]


def main() -> int:
    ids, mask = encode(SENTENCES)
    print(f"MiniLM: {len(SENTENCES)} sentences, {ids.shape[1]} tokens at most (batches of up to {BATCH})\n")

    start = time.perf_counter()
    embedder = Embedder()
    captured = time.perf_counter()
    embeddings = embedder(SENTENCES)
    first = time.perf_counter()

    print("nearest neighbours")
    likeness = embeddings @ embeddings.T - 2 * np.eye(len(SENTENCES))
    for i, text in enumerate(SENTENCES):
        j = int(likeness[i].argmax())
        print(f"  {text:45}  {likeness[i, j]:.3f}  {SENTENCES[j]}")

    report = embedder.traced.graph.report()
    print("\nthe graph, for any number and length of sentences")
    print(f"  captured {report['nodes_captured']} nodes; compiled to {report['kernels']} kernels,")
    distinct = report["kernels"] - report["kernels_shared"]
    print(f"  {distinct} of them distinct, {report['fused_groups']} of several nodes fused;")
    origins = ", ".join(
        f"{report[f'kernels_{origin}']} {origin}" for origin in ("compiled", "cached", "prebuilt", "shared", "fallback")
    )
    print(f"  kernels by origin: {origins}")
    print(f"  peak bytes of a call: planned {report['planned_peak']:,}, measured {report['measured_peak']:,}")
    print(f"  picture: {picture(embedder.traced.graph.optimised())}")

    print("\ntimes")
    print(f"  load weights and capture {captured - start:.3f} s; first call with compile {first - captured:.3f} s")
    print(
        f"  (passes {report['pass_ms']:.0f} ms, lowering {report['lower_ms']:.0f}, machine code "
        f"{report['compile_ms']:.0f}, packing weights and planning {report['plan_ms']:.0f})"
    )

    model, numpy32 = load(), Reference(np.float32)
    arrays = ig.asarray(ids), ig.asarray(mask)
    ours, spread = timed(lambda: embedder.traced(*arrays))
    print(f"\nspeed, median of {ROUNDS} warm calls, this batch")
    print(f"  {'Intaglio compiled':20} {ours:8.2f} ms  (spread {spread:.2f})")
    rows: list[tuple[str, Callable[[], Any] | None]] = [
        ("Intaglio eager", lambda: model(*arrays)),
        ("NumPy float32", lambda: numpy32(ids, mask)),
        *peers(ids, mask),
    ]
    missing = [name for name, run in rows if run is None]
    for name, run in rows:
        if run is not None:
            other, spread = timed(run)
            print(f"  {name:20} {other:8.2f} ms  (spread {spread:.2f})  {other / ours:.2f} x")
    if missing:
        print(f"  not installed: {', '.join(missing)} (`make demo PEERS=1` installs them)")

    exact = Reference(np.float64)(ids, mask)
    error = float(np.abs(embeddings - exact).max())
    print(f"\nlargest error against float64: {error:.1e} (bound {BOUND:.0e})")
    if not error <= BOUND or report["kernels_fallback"]:
        print("demo: the embeddings are wrong, or an op ran without a kernel", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
