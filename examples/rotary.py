"""A layer whose angles are computed once: rotary embeddings, as language models have them.

The layer computes cosines and sines of its table in each call, as one writes it down. A jitted function computes them
once, and anew when the table is another array; `ig.explain` tells what is kept.

Run it: python examples/rotary.py
"""

from __future__ import annotations

import time

import numpy as np

import intaglio as ig


class Rotary:
    """Turns pairs of features by angles that grow with the position."""

    def __init__(self, length: int, width: int, base: float = 10_000.0) -> None:
        frequencies = base ** (-np.arange(0, width, 2) / width)
        self.angles = ig.asarray(np.outer(np.arange(length), frequencies).astype("float32"))

    def __call__(self, x: ig.Tensor) -> ig.Tensor:
        a, b = ig.split(x, 2, axis=-1)
        cos, sin = ig.cos(self.angles), ig.sin(self.angles)
        return ig.concat([a * cos - b * sin, a * sin + b * cos], axis=-1)


def main() -> None:
    """Prints what is kept, and that another table is found in its place."""
    rotary = Rotary(512, 64)
    turn = ig.jit(lambda x: rotary(x))
    x = ig.asarray(np.random.default_rng(0).standard_normal((8, 512, 64)).astype("float32"))
    assert np.array_equal(turn(x).numpy(), rotary(x).numpy())
    ig.block_until_compiled()
    turn(x)
    (entry,) = ig.explain(turn)["entries"]
    print("computed once:", ", ".join(entry["computed_once"]))
    print(f"kept: {entry['computed_bytes']:,} bytes")

    times = []
    for _ in range(50):
        start = time.perf_counter()
        turn(x)
        times.append(time.perf_counter() - start)
    print(f"a call takes {min(times) * 1e6:.0f} µs")

    rotary.angles = Rotary(512, 64, base=500_000.0).angles
    assert np.array_equal(turn(x).numpy(), rotary(x).numpy())
    print("another table, other results: as eager calls have them")


if __name__ == "__main__":
    main()
