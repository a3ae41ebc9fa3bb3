"""Products of few columns with long work behind them: several rows are finished by one vector. The bits are those of
the same ops one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig


def layer(x: Any, w: Any, b: Any, r: Any) -> Any:
    return ig.tanh(x @ w + b) * r + ig.exp(r * 0.25)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 8, 12, 16, 24])
@pytest.mark.parametrize("rows", [1, 2, 7, 13, 64, 1001])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits(columns: int, rows: int, dtype: str) -> None:
    rng = np.random.default_rng(columns)
    shapes = [(rows, 4), (4, columns), (columns,), (rows, columns)]
    given = [ig.asarray(rng.standard_normal(s).astype(dtype)) for s in shapes]
    want = np.asarray(layer(*given))
    np.testing.assert_array_equal(np.asarray(ig.trace(layer, *given).graph.compile()(*given)), want)
    weights = given[1:3]
    fixed = ig.trace(lambda x, r: layer(x, *weights, r), given[0], given[3], lift=False).graph.compile()
    np.testing.assert_array_equal(np.asarray(fixed(given[0], given[3])), want)


def test_rows_that_vary_and_batches() -> None:
    rng = np.random.default_rng(1)
    w, b = (ig.asarray(rng.standard_normal(s).astype(np.float32)) for s in [(5, 8), (8,)])
    rows = ig.Dim("rows", 0, 4096)
    x, r = ig.ones((3, 5)), ig.ones((3, 8))
    sizes = {"x": {0: rows}, "r": {0: rows}}
    f = ig.trace(lambda x, r: layer(x, w, b, r), x, r, dynamic_shapes=sizes, lift=False).graph.compile()
    for n in [0, 1, 9, 500]:
        x, r = (ig.asarray(rng.standard_normal((n, k)).astype(np.float32)) for k in (5, 8))
        np.testing.assert_array_equal(np.asarray(f(x, r)), np.asarray(layer(x, w, b, r)))
    x, r = (ig.asarray(rng.standard_normal((3, 21, k)).astype(np.float32)) for k in (5, 8))
    got = ig.trace(lambda x, r: layer(x, w, b, r), x, r, lift=False).graph.compile()(x, r)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(layer(x, w, b, r)))
