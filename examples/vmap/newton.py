"""Newton's method on 10,000 equations at once: a solver written for one, batched by ig.vmap.

Kepler's equation m = e - k sin(e) gives the place e of a planet on its orbit (of eccentricity k) from the time m. The
solver is a while loop that ends when its own step is small; batched, it runs until the last equation is solved, and
those that are done keep their solution.

    python examples/vmap/newton.py
"""

from __future__ import annotations

import time

import numpy as np

import intaglio as ig


def solve(m: ig.Tensor, k: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
    """The place on one orbit, and how many steps it took."""

    def step(state: tuple[ig.Tensor, ig.Tensor, ig.Tensor]) -> tuple[ig.Tensor, ig.Tensor, ig.Tensor]:
        e, _, steps = state
        change = (e - k * ig.sin(e) - m) / (1.0 - k * ig.cos(e))
        return e - change, ig.abs(change), steps + 1

    start = (m + k * ig.sin(m), m * 0 + 1.0, 0)
    e, _, steps = ig.while_loop(lambda state: (state[1] > 1e-6) & (state[2] < 50), step, start)
    return e, steps


def main() -> None:
    random = np.random.default_rng(0)
    m = ig.asarray(random.uniform(0, np.pi, 10_000))
    k = ig.asarray(random.uniform(0, 0.9, 10_000))
    solver = ig.jit(ig.vmap(solve))
    solver(m, k)  # compiles
    begin = time.perf_counter()
    e, steps = solver(m, k)
    took = time.perf_counter() - begin
    wrong = float(ig.max(ig.abs(e - k * ig.sin(e) - m)))
    counts = np.bincount(np.asarray(steps))
    print(f"{len(counts) - 1} steps at most, {int(np.argmax(counts))} most often; largest error {wrong:.1e}")
    print(f"10,000 equations in {took * 1e3:.2f} ms")
    assert wrong < 1e-9
    assert np.array_equal(np.asarray(e)[:20], [np.asarray(solve(m[i], k[i])[0]) for i in range(20)])


if __name__ == "__main__":
    main()
