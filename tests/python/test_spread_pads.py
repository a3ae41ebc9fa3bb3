"""Borders with elements between elements, compiled: where the first one lies, and what is cut off, is known when the
kernel is made, so that no lane's index goes below zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig


def padded(x: Any, low: int, high: int, interior: int) -> Any:
    """The last axis with ones around and between its elements."""
    rest = (0,) * (x.ndim - 1)
    pad = ig._intaglio.op("pad")
    return pad(x, ig.ones((), dtype=x.dtype), low=(*rest, low), high=(*rest, high), interior=(*rest, interior))


def expected(x: np.ndarray[Any, Any], low: int, high: int, interior: int) -> np.ndarray[Any, Any]:
    size = x.shape[-1]
    out = np.ones((*x.shape[:-1], size + max(size - 1, 0) * interior), x.dtype)
    out[..., :: interior + 1] = x
    out = np.pad(out, [(0, 0)] * (x.ndim - 1) + [(max(low, 0), max(high, 0))], constant_values=1)
    return out[..., max(-low, 0) : out.shape[-1] - max(-high, 0)]


@pytest.mark.parametrize("interior", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 7, 32])
def test_any_borders(size: int, interior: int) -> None:
    x = np.random.default_rng(size).standard_normal((3, size)).astype(np.float32)
    a = ig.asarray(x)
    for low in (-3, -1, 0, 1, 2, 5, 9):
        for high in (-2, 0, 1, 4):
            if size + (size - 1) * interior + low + high < 0:
                continue
            f = ig.trace(lambda x, low=low, high=high: padded(x, low, high, interior) * 2, a).graph.compile()
            np.testing.assert_array_equal(np.asarray(f(a)), expected(x, low, high, interior) * 2, strict=True)


def test_a_number_of_elements_that_is_not_known() -> None:
    columns = ig.Dim("columns")
    f = ig.trace(lambda x: padded(x, 3, 1, 1) + 1, ig.ShapeDtypeStruct((4, columns), ig.float32)).graph.compile()
    for size in (1, 2, 8, 33, 0):
        x = np.random.default_rng(size).standard_normal((4, size)).astype(np.float32)
        np.testing.assert_array_equal(np.asarray(f(ig.asarray(x))), expected(x, 3, 1, 1) + 1, strict=True)


@pytest.mark.parametrize("columns", [2, 6, 32, 64, 70])
@pytest.mark.parametrize("step", [2, 3])
def test_gradients_of_columns_taken_apart(step: int, columns: int) -> None:
    """Each of the columns' parts goes back between those of the others."""
    rng = np.random.default_rng(columns)
    x, w = (ig.asarray(rng.standard_normal((5, columns * step)).astype(np.float32)) for _ in range(2))

    def rotated(x: Any, w: Any) -> Any:
        parts = [x[:, n::step] for n in range(step)]
        return ig.sum(
            ig.reshape(
                ig.stack([a - 2 * b for a, b in zip(parts, parts[1:] + parts[:1], strict=True)], axis=-1), x.shape
            )
            * w
        )

    got = ig.trace(ig.grad(rotated), x, w).graph.compile()(x, w)
    ws = np.asarray(w).reshape(5, columns, step)
    want = (ws - 2 * np.roll(ws, 1, axis=-1)).reshape(5, -1)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(ig.grad(rotated)(x, w)))
