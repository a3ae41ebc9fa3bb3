"""A layer of a graph network: each node adds up what its neighbours send along weighted edges.

`x[source] * weight` is as large as all edges times all features, but it is never in memory: the kernel that adds up
makes each message where it takes it. The gradient goes the same way, from targets to sources.

Run it: python examples/message_passing.py
"""

from __future__ import annotations

import time

import numpy as np

import intaglio as ig

NODES, EDGES, FEATURES = 5_000, 100_000, 64


def layer(x: ig.Tensor, weight: ig.Tensor, source: ig.Tensor, target: ig.Tensor) -> ig.Tensor:
    """The sum of the messages that reach each node; (nodes, features)."""
    return ig.zeros_like(x).at[target].add(x[source] * weight[:, None])


def loss(x: ig.Tensor, weight: ig.Tensor, source: ig.Tensor, target: ig.Tensor) -> ig.Tensor:
    return ig.sum(layer(x, weight, source, target) ** 2)


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((NODES, FEATURES)).astype("float32")
    weight = rng.random(EDGES).astype("float32")
    source, target = rng.integers(0, NODES, (2, EDGES))
    args = [ig.asarray(a) for a in (x, weight, source, target)]

    start = time.perf_counter()
    wanted = np.zeros_like(x)
    np.add.at(wanted, target, x[source] * weight[:, None])
    in_numpy = time.perf_counter() - start

    compiled = ig.jit(layer)
    compiled(*args)
    start = time.perf_counter()
    sums = compiled(*args)
    took = time.perf_counter() - start
    assert np.array_equal(np.asarray(sums), wanted)
    slope = ig.jit(ig.grad(loss))(*args)
    assert np.allclose(np.asarray(slope), backwards(wanted, weight, source, target), rtol=1e-4, atol=1e-3)
    print(f"{EDGES} messages of {FEATURES} features: {in_numpy / took:.0f} times as fast as NumPy, to the last bit")
    kernels = str(ig.explain(compiled).fusion).splitlines()
    print(next(kernel for kernel in kernels if "scatter" in kernel).strip())


def backwards(sums: np.ndarray, weight: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    slope = np.zeros_like(sums)
    np.add.at(slope, source, 2 * sums[target] * weight[:, None])
    return slope


if __name__ == "__main__":
    main()
