"""Folds over axes in the middle that are walked several times (`panel` kernels): against NumPy in float64, and with the
same bits on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig


def spread(m: Any, x: Any, axis: int) -> tuple[Any, Any]:
    """What is left of the mean, over the root of its mean square; and the largest of each column."""
    off = x - m.mean(x, axis=axis, keepdims=True)
    return off / m.sqrt(m.mean(off * off, axis=axis, keepdims=True) + 1e-3), m.max(x, axis=axis)


def beside(m: Any, x: Any, axis: int) -> tuple[Any, Any]:
    """The array is read at other columns as well, which may be those of another panel."""
    off = x - m.mean(x, axis=axis, keepdims=True)
    return off * m.flip(x, axis=-1) + m.roll(x, 3, axis=-1), m.max(off, axis=axis)


def softmax(m: Any, x: Any, axis: int) -> tuple[Any, Any]:
    powers = m.exp(x - m.max(x, axis=axis, keepdims=True))
    total = m.sum(powers, axis=axis, keepdims=True)
    return powers / total, total


@pytest.mark.parametrize("function", [spread, softmax, beside])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((2, 5, 16), 1),
        ((1, 1, 40), 1),
        ((3, 64, 33), 1),
        ((257, 130), 0),
        ((4, 3, 7, 9), 1),
        ((2, 3, 4, 50), 2),
        ((1000, 4, 20), 0),
        ((300, 1024), 0),  # rows a power of two apart: what is read again is kept
        ((2, 200, 2048), 1),
        ((4, 50, 33), 1),  # panels to share, each of whole rows
        ((5, 60, 700), 1),
        ((4, 1100, 240), 1),  # a megabyte of float32, which is whole, and two of float64, which are not
        ((700, 1000), 0),  # wide panels, as few columns fit the second cache
        ((3, 900, 500), 1),
        ((0, 5, 32), 1),
        ((2, 5, 0), 1),
    ],
)
def test_against_numpy(function: Callable[..., tuple[Any, Any]], shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    want = function(np, x, axis) if x.size else None
    for dtype, bound in (("float32", 1e-5), ("float64", 1e-13)):
        f = ig.jit(lambda a: function(ig, a, axis))
        given = ig.asarray(x.astype(dtype))
        threads = ig.get_num_threads()
        try:
            got = []
            for count in (1, 2, 3):
                ig.set_num_threads(count)
                got.append([y.numpy() for y in f(given)])
        finally:
            ig.set_num_threads(threads)
        for i, y in enumerate(got[0]):
            assert all(y.tobytes() == other[i].tobytes() for other in got)
            if want is not None:
                np.testing.assert_allclose(y, want[i], rtol=bound, atol=bound)
        eager = [y.numpy() for y in function(ig, given, axis)]
        assert [y.tobytes() for y in eager] == [y.tobytes() for y in got[0]]


def test_it_is_one_kernel_where_the_panel_fits() -> None:
    def kinds(*shape: int) -> list[str]:
        f = ig.jit(lambda x: ig.softmax(x, axis=1))
        f(ig.ones(shape))
        return [kernel["kind"] for kernel in ig.explain(f).fusion.kernels]

    assert kinds(2, 1024, 64) == ["panel"]
    assert "panel" not in kinds(2, 4096, 64)  # 32 columns of it are half a megabyte
    assert "panel" not in kinds(2, 64, 8)  # no vectors


@pytest.mark.parametrize("shape", [(4, 8, 9, 56), (2, 5, 7, 33), (3, 40, 2, 100), (2, 6, 3, 4, 50), (1, 9, 17, 65)])
def test_arrays_joined_within_their_last_axis(shape: tuple[int, ...]) -> None:
    """Columns are those of the last axis alone, cut where it passes from part to part: with eager calls' bits."""
    x = ig.asarray(np.random.default_rng(6).standard_normal(shape).astype(np.float32))
    moved: list[Callable[[Any], Any]] = [
        lambda x: ig.roll(x, -3, axis=-1),
        lambda x: ig.roll(x, 1, axis=-1) + ig.roll(x, 2, axis=-2),
        lambda x: ig.pad(x, [(0, 0)] * (len(shape) - 1) + [(1, 2)]),
        lambda x: ig.flip(ig.concat([x, x[..., :5]], axis=-1), axis=-2),
    ]
    for axis in range(1, len(shape) - 1):
        for move in moved:
            for fold in (spread, softmax):
                f = lambda x, move=move, fold=fold, axis=axis: fold(ig, move(x), axis)  # noqa: E731
                compiled = ig.jit(f).lower(x).compile()(x)
                for got, want in zip(compiled, f(x), strict=True):
                    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(3, 33000), (9, 8, 5000), (2050, 4100), (1, 9000)])
def test_sums_along_wide_rows(shape: tuple[int, ...], dtype: str) -> None:
    """Of so many columns that a block takes more of them at a time: the order of each column's sum stays."""
    x = (np.random.default_rng(4).standard_normal(shape) * 9).astype(dtype)
    have = np.asarray(ig.trace(lambda x: ig.sum(x, axis=0, dtype=x.dtype), ig.asarray(x)).graph.compile()(x))
    narrow = np.concatenate(
        [
            np.asarray(ig.sum(ig.asarray(x[..., i : i + 100]), axis=0, dtype=ig.asarray(x).dtype))
            for i in range(0, shape[-1], 100)
        ],
        axis=-1,
    )
    np.testing.assert_array_equal(have, narrow)


def butterflies(x: Any) -> Any:
    a, b = x[..., ::2], x[..., 1::2]
    return ig.reshape(ig.stack([a - b, a + b], axis=-1), x.shape)


@pytest.mark.parametrize("columns", [4, 6, 16, 64, 66, 96, 128])
def test_rows_that_turn_from_column_to_column(columns: int) -> None:
    """Panels over what has another formula in each second column, and over borders on both of the last axes."""
    x = ig.asarray(np.random.default_rng(8).standard_normal((3, 5, 6, columns)).astype(np.float32))
    moved: list[Callable[[Any], Any]] = [
        butterflies,
        lambda x: butterflies(x)[..., 1:],
        lambda x: butterflies(ig.permute_dims(x, (0, 2, 1, 3)))[..., 1:],
        lambda x: ig.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)]),
        lambda x: ig.concat([x, butterflies(x)], axis=-1),
    ]
    for move in moved:
        for fold in (spread, softmax):
            f = lambda x, move=move, fold=fold: fold(ig, move(x), 1)  # noqa: E731
            compiled = ig.jit(f).lower(x).compile()(x)
            for got, want in zip(compiled, f(x), strict=True):
                np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
