"""A few 3 × 3 convolutions as they are by default, by Winograd's minimal filtering, and with `exact=True`, as sums over
the taps: how far each is from float64, and how long it takes.

    .venv/bin/python examples/exact_convolution.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import intaglio as ig

LAYERS, FEATURES, SIZE = 4, 64, 56


def network(x: ig.Tensor, taps: list[ig.Tensor]) -> ig.Tensor:
    for one in taps:
        x = ig.maximum(ig.conv(x, one, padding=1), 0.0)
    return x


def milliseconds(f: Callable[[ig.Tensor], ig.Tensor], x: ig.Tensor) -> float:
    times = []
    for _ in range(15):
        start = time.perf_counter()
        f(x)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, FEATURES, SIZE, SIZE))
    taps = [rng.standard_normal((FEATURES, FEATURES, 3, 3)) * np.sqrt(2 / (9 * FEATURES)) for _ in range(LAYERS)]
    wide = ig.jit(network, exact=True)(ig.asarray(x), [ig.asarray(t) for t in taps])
    image, weights = ig.asarray(x.astype(np.float32)), [ig.asarray(t.astype(np.float32)) for t in taps]
    largest = np.abs(np.asarray(wide)).max()
    for exact in (False, True):
        f = ig.jit(lambda x: network(x, weights), exact=exact).lower(image).compile()
        error = np.abs(np.asarray(f(image)).astype(np.float64) - np.asarray(wide)).max() / largest
        print(f"exact={exact!s:5}  {milliseconds(f, image):6.2f} ms, largest error {error:.1e} of the largest value")


if __name__ == "__main__":
    main()
