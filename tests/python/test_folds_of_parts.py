"""Folds of what was joined, padded or updated: the walk is cut where elements pass from part to part, and the order of
summation stays what it is for any array of that shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

WIDTHS = [(64, 64), (37, 64, 5), (3,) * 8, (1, 2, 3), (200, 56), (30,) * 20, (4000, 5000), (1, 95), (16, 32, 48)]
FOLDS: dict[str, Callable[..., Any]] = {
    "sum of rows": lambda x: ig.sum(x, axis=-1),
    "sum of columns": lambda x: ig.sum(x, axis=0),
    "sum of all": ig.sum,
    "largest of rows": lambda x: ig.max(x, axis=-1),
    "place of the largest": lambda x: ig.argmax(x, axis=-1),
    "softmax of rows": lambda x: ig.softmax(x, axis=-1),
    "softmax of columns": lambda x: ig.softmax(x, axis=0),
    "variance of rows": lambda x: ig.var(x, axis=-1),
    "normal rows": lambda x: (x - ig.mean(x, axis=-1, keepdims=True)) / ig.std(x, axis=-1, keepdims=True),
    "sum of three axes": lambda x: ig.sum(x.reshape(-1, 1, x.shape[-1]), axis=(0, 2)),
}


def same_bits(found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_joined_parts_fold_as_one_array(fold: str, widths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(widths))
    for rows in (1, 3, 40) if sum(widths) < 1000 else (2,):
        parts = [ig.asarray(rng.standard_normal((rows, width)).astype(np.float32)) for width in widths]
        f = FOLDS[fold]
        whole = ig.concat([ig.sqrt(ig.abs(p)) for p in parts], axis=1)  # in memory
        found = ig.jit(lambda *p, f=f: f(ig.concat([ig.sqrt(ig.abs(x)) for x in p], axis=1)))(*parts)
        same_bits(found, ig.jit(f)(whole))


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_what_was_padded_or_updated(fold: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = ig.asarray(rng.integers(-9, 9, (9, 150)).astype(dtype))
    f = FOLDS[fold]
    if dtype == "int32" and fold.startswith(("softmax", "variance", "normal")):
        f = lambda x: ig.cumulative_sum(x, axis=-1)  # noqa: E731

    def made(x: Any) -> Any:
        y = ig.pad(x[:, 1:-20], ((0, 0), (3, 50)), constant_values=1)
        return ig.roll(y.at[:, 40:90].add(x[:, :50]), 7, axis=1)

    found = ig.jit(lambda x: f(made(x)))(x)
    same_bits(found, ig.jit(f)(ig.jit(made)(x)))


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (1, 2)])
def test_images_of_channels_from_two_places(axis: Any) -> None:
    rng = np.random.default_rng(1)
    x, y = (ig.asarray(rng.standard_normal((6, 50, c)).astype(np.float32)) for c in (3, 21))

    def norm(z: Any) -> Any:
        return (z - ig.mean(z, axis=axis, keepdims=True)) / ig.std(z, axis=axis, keepdims=True)

    found = ig.jit(lambda x, y: norm(ig.concat([x, y * 2], axis=2)))(x, y)
    same_bits(found, ig.jit(norm)(ig.concat([x, y * 2], axis=2)))


def test_few_long_rows_by_pieces_and_threads() -> None:
    rng = np.random.default_rng(2)
    x, y = (ig.asarray(rng.standard_normal((2, n)).astype(np.float32)) for n in (70_000, 130_001))
    f = ig.jit(lambda x, y: ig.sum(ig.concat([x, ig.exp(y)], axis=1), axis=1))
    same_bits(f(x, y), ig.sum(ig.concat([x, ig.exp(y)], axis=1), axis=1))
