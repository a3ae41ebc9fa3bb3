"""select_and_scatter_add, by vectors and window by window, against a loop over all windows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import intaglio as ig

# shape, window, strides, padding
CASES = [
    ((2, 3, 8, 8), (1, 1, 2, 2), (1, 1, 2, 2), (0,) * 8),
    ((1, 2, 9, 11), (1, 1, 3, 3), (1, 1, 2, 2), (0, 0, 0, 0, 1, 1, 1, 1)),
    ((1, 2, 40, 70), (1, 1, 3, 3), (1, 1, 2, 2), (0, 0, 0, 0, 1, 1, 1, 1)),
    ((2, 8, 9, 5), (1, 3, 2, 1), (1, 2, 2, 1), (0, 0, 1, 0, 0, 1, 0, 0)),
    ((1, 1, 20, 37), (1, 1, 3, 3), (1, 1, 1, 1), (0, 0, 0, 0, 1, 1, 1, 1)),
    ((40,), (3,), (2,), (0, 2)),
    ((129,), (2,), (4,), (0, 0)),  # elements that no window holds
    ((5,), (4,), (1,), (3, 3)),
    ((3, 70), (1, 3), (1, 3), (0, 0, 0, 0)),  # window by window
    ((3, 70), (2, 4), (1, 4), (1, 1, 2, 2)),
    ((2, 3, 4, 5, 6), (1, 1, 2, 2, 2), (1, 1, 2, 2, 2), (0,) * 10),
    ((1, 1, 1, 3), (1, 1, 1, 2), (1, 1, 1, 2), (0, 0, 0, 0, 0, 0, 2, 2)),  # windows on padding alone
    ((4, 33, 34), (1, 2, 2), (1, 1, 1), (0,) * 6),
]


def by_hand(x: np.ndarray, source: np.ndarray, window: tuple, strides: tuple, padding: tuple) -> np.ndarray:
    out = np.zeros_like(x)
    for index in itertools.product(*map(range, source.shape)):
        best = None
        for tap in itertools.product(*map(range, window)):
            at = tuple(i * s + t - low for i, s, t, low in zip(index, strides, tap, padding[::2], strict=True))
            if any(p < 0 or p >= n for p, n in zip(at, x.shape, strict=True)):
                continue
            if best is None or (not np.isnan(x[best]) and (np.isnan(x[at]) or x[at] > x[best])):
                best = at
        if best is not None:
            out[best] = out[best] + source[index]
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "int8", "uint8"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_window_by_window(case: tuple, dtype: str) -> None:
    shape, window, strides, padding = case
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, shape).astype(np.float64) if "int" in dtype else rng.standard_normal(shape).round(1)
    counts = [(n + padding[2 * i] + padding[2 * i + 1] - window[i]) // strides[i] + 1 for i, n in enumerate(shape)]
    source = rng.integers(-9, 10, counts).astype(np.float64)
    if dtype == "uint8":
        x, source = abs(x), abs(source)
    if "float" in dtype and x.size > 20:
        x.reshape(-1)[rng.integers(0, x.size, 9)] = np.repeat([np.nan, -np.inf, -0.0], 3)
    given = [ig.astype(ig.asarray(array), dtype) for array in (x, source)]

    def f(x: ig.Tensor, source: ig.Tensor) -> ig.Tensor:
        return ig.select_and_scatter_add(x, source, window_dimensions=window, window_strides=strides, padding=padding)

    found = ig.astype(ig.jit(f).lower(*given).compile()(*given), "float64").numpy()
    whole = [ig.astype(array, "float64").numpy() for array in given]
    np.testing.assert_array_equal(found, by_hand(*whole, window, strides, padding))
