"""Last axes of a few elements: what is spread from some axes over the others is read at its own places, whatever the
lengths, in element-wise kernels and in folds of all axes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import intaglio as ig

SHAPES = [
    (32, 8, 5, 7),
    (16, 8, 8, 5),
    (2, 3, 5, 7, 9),
    (64, 9, 3),
    (50, 10),
    (7, 5),
    (3, 4, 2, 2),
    (5, 1, 6),
    (40, 11),
    (6, 33, 12),
]


def spreads(rank: int) -> list[tuple[int, ...]]:
    """The axes that are kept, of each way to keep some."""
    return [kept for n in range(1, rank) for kept in itertools.combinations(range(rank), n)]


def part_of(shape: tuple[int, ...], kept: tuple[int, ...], rng: np.random.Generator, dtype: Any) -> np.ndarray:
    return rng.integers(-9, 9, [n if i in kept else 1 for i, n in enumerate(shape)]).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_what_is_spread_from_any_axes(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, shape).astype(dtype)
    for kept in spreads(len(shape)):
        part, last = part_of(shape, kept, rng, dtype), part_of(shape, (len(shape) - 1,), rng, dtype)
        found = ig.jit(lambda x, p, q: x * p + q)(x, part, last)
        np.testing.assert_array_equal(found.numpy(), x * part + last, err_msg=str(kept))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_of_all_that_is_spread(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x = ig.asarray(rng.standard_normal(shape).astype(np.float32))
    for kept in spreads(len(shape)):
        part = ig.asarray(part_of(shape, kept, rng, "float32"))
        whole = ig.jit(lambda x, p: (x - p) * (x - p))(x, part)
        found = ig.jit(lambda x, p: ig.sum((x - p) ** 2))(x, part)
        assert np.asarray(found).tobytes() == np.asarray(ig.sum(whole)).tobytes(), kept
        several = tuple(range(1, len(shape)))
        rows = ig.jit(lambda x, p, axes=several: ig.sum((x - p) ** 2, axis=axes))(x, part)
        np.testing.assert_array_equal(rows.numpy(), ig.sum(whole, axis=several).numpy(), err_msg=str(kept))


@pytest.mark.parametrize("shape", [(64, 9, 3), (40, 77), (8, 32, 32), (9, 7, 5, 3)], ids=str)
def test_sums_of_all_that_is_moved(shape: tuple[int, ...]) -> None:
    x = ig.asarray(np.random.default_rng(2).standard_normal(shape).astype(np.float32))
    moves = {
        "differences of the first axis": lambda x: x[1:] - x[:-1],
        "differences of the last axis": lambda x: x[..., 1:] - x[..., :-1],
        "turned round": lambda x: ig.flip(x, axis=-1) * x,
        "every second": lambda x: x[..., ::2, :] * 2,
        "repeated": lambda x: ig.repeat(x, 2, axis=-1) + 1,
        "repeated before": lambda x: ig.repeat(x, 2, axis=-2) + 1,
        "tiled": lambda x: ig.tile(x, (1,) * (x.ndim - 1) + (2,)) * 2,
        "rolled": lambda x: ig.roll(x, 1, axis=-1) - x,
        "transposed": lambda x: x.mT * 2,
        "numbered": lambda x: x * ig.arange(x.shape[-1], dtype="float32"),
    }
    for name, move in moves.items():
        found = ig.jit(lambda x, move=move: ig.sum(move(x)))(x)
        assert np.asarray(found).tobytes() == np.asarray(ig.sum(ig.jit(move)(x))).tobytes(), name
