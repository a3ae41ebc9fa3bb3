"""Folds over several axes of what moves elements about (a part of an image, a row spread over a matrix): the walk goes
row by row, with the bits of the same elements laid out first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

MOVED: dict[str, Callable[..., Any]] = {
    "part": lambda x, row, column: x[..., 1:-1, 2:-1],
    "differences": lambda x, row, column: x[..., 1:, 1:] - x[..., 1:, :-1],
    "spread row": lambda x, row, column: x - row,
    "spread column": lambda x, row, column: x * column,
    "turned": lambda x, row, column: x[..., ::-1] + x,
    "border": lambda x, row, column: ig.pad(x, [(0, 0)] * (len(x.shape) - 2) + [(1, 1), (0, 3)]),
    "rows below": lambda x, row, column: x[..., 1:, :] - x[..., :-1, :],
}
FOLDS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "sum": lambda x, axes: ig.sum(x, axis=axes),
    "greatest": lambda x, axes: ig.max(x, axis=axes),
    "spread": lambda x, axes: (
        ig.var(x, axis=axes),
        (x - ig.mean(x, axis=axes, keepdims=True)) * ig.max(x, axis=axes, keepdims=True),
    ),
    "shares": lambda x, axes: ig.exp(x * 0.1) / ig.sum(ig.exp(x * 0.1), axis=axes, keepdims=True),
}
SHAPES = [
    ((5, 64), (0, 1)),
    ((7, 131), (0, 1)),
    ((3, 20, 200), (1, 2)),
    ((2, 3, 9, 70), (1, 2, 3)),
    ((2, 3, 9, 256), (2, 3)),
    ((300, 1000), (0, 1)),  # several pieces, none of which ends at a row's end
    ((1, 66, 1025), (1, 2)),
    ((40, 5), (0, 1)),
]


def laid_out(value: Any) -> Any:
    return ig.asarray(value.numpy().copy())


@pytest.mark.parametrize("moved", MOVED)
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_bits_of_elements_laid_out(moved: str, fold: str, dtype: str) -> None:
    if dtype == "int32" and fold in {"spread", "shares"}:
        return  # of floats
    rng = np.random.default_rng(len(moved))
    threads = ig.get_num_threads()
    for shape, axes in SHAPES:
        x, row, column = (
            ig.asarray((rng.normal(size=size) * 9).astype(dtype)) for size in (shape, shape[-1:], (shape[-2], 1))
        )
        take, reduce = MOVED[moved], FOLDS[fold]
        want = ig.jit(lambda y, axes=axes, reduce=reduce: reduce(y, axes))(laid_out(take(x, row, column)))
        whole = ig.jit(lambda x, r, c, axes=axes, take=take, reduce=reduce: reduce(take(x, r, c), axes))
        try:
            for count in (1, 2, 3):
                ig.set_num_threads(count)
                found = whole(x, row, column)
                parts = zip(found, want, strict=True) if isinstance(want, tuple) else [(found, want)]
                for a, b in parts:
                    np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=f"{shape} {axes}")
        finally:
            ig.set_num_threads(threads)


def test_parts_of_any_size() -> None:
    """Rows whose number is a symbol, of a known length."""
    f = ig.jit(lambda x: (ig.sum(x[1:, 1:-1]), ig.max(x[:, 3:])))
    for rows in (2, 3, 50, 400, 9):
        x = np.random.default_rng(rows).normal(size=(rows, 300))
        total, greatest = f(ig.asarray(x))
        np.testing.assert_allclose(total.numpy(), x[1:, 1:-1].sum(), rtol=1e-12)
        assert greatest.item() == x[:, 3:].max()


def test_nothing_to_fold() -> None:
    x = ig.zeros((0, 300))
    assert ig.jit(lambda x: ig.sum(x[:, 1:] - x[:, :-1]))(x).item() == 0.0
    assert ig.jit(lambda x: ig.sum(x[:, 1:], axis=(1, 2)))(ig.zeros((3, 0, 300))).tolist() == [0.0, 0.0, 0.0]
