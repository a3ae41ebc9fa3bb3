"""Rows of a few elements gathered and scattered at places that memory names: each row is moved in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded_memory import guarded

import intaglio as ig

rng = np.random.default_rng(4)


def compiled(f: Any, *args: Any) -> Any:
    """Not op by op, as small programs begin."""
    return ig.jit(f).lower(*args).compile()(*args)


@pytest.mark.parametrize("width", range(1, 14))
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16", "int64", "complex64", "bool", "float16"])
@pytest.mark.parametrize("at_end", [False, True])
def test_rows_come_whole(width: int, dtype: str, at_end: bool) -> None:
    """Places first and last too, on arrays between pages that may not be touched."""
    x = (rng.standard_normal((37, width)) * 50).astype(dtype)
    places = np.concatenate([[0, 36, -1, -37], rng.integers(-37, 37, 97)])

    def rows(x: Any, i: Any) -> Any:
        return x[i], x[i][:, ::-1], x[i, : max(1, width - 1)]

    with guarded(x, at_end=at_end) as lent:
        got = compiled(rows, ig.from_dlpack(lent), ig.asarray(places))
    for have, want in zip(got, rows(x, places), strict=True):
        np.testing.assert_array_equal(np.asarray(have), want)


@pytest.mark.parametrize("width", [2, 3, 4, 6])
def test_rows_named_by_computed_places(width: int) -> None:
    """What names a row is computed; two rows meet in one element; rows of several axes."""
    x, y = rng.standard_normal((50, width)).astype("float32"), rng.standard_normal((50, 5, width)).astype("float32")
    places = rng.integers(0, 49, 201)

    def f(x: Any, y: Any, i: Any) -> Any:
        return x[i] * 2 - x[i + 1], x[(i * 7 + 3) % 50], y[i], y[i, i % 5]

    got = compiled(f, *map(ig.asarray, (x, y, places)))
    for have, want in zip(got, f(x, y, places), strict=True):
        np.testing.assert_array_equal(np.asarray(have), want)


def meeting(how: str, count: int) -> np.ndarray:
    return {
        "never": np.arange(count) * 7919 % count,
        "now and then": np.sort(rng.integers(0, count, count)),
        "mostly": np.arange(count) * 5 // count % count,
        "first mostly, then never": np.where(np.arange(count) < count // 2, 0, np.arange(count)),
        "always": np.full(count, count - 1),
    }[how]


@pytest.mark.parametrize("how", ["never", "now and then", "mostly", "first mostly, then never", "always"])
@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 66, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_updates_that_meet(how: str, count: int, dtype: str) -> None:
    """Whether a number waits in a register changes no bit: updates are added one after the other."""
    places = meeting(how, count)
    x, y = ((rng.standard_normal(count) * 9).astype(dtype) for _ in range(2))
    added, least = x.copy(), x.copy()
    np.add.at(added, places, y)
    np.minimum.at(least, places, y)
    for i in (places, places.astype("int32"), places - count):
        got = compiled(lambda x, i, y: (x.at[i].add(y), x.at[i].min(y)), *map(ig.asarray, (x, i, y)))
        np.testing.assert_array_equal(np.asarray(got[0]), added)
        np.testing.assert_array_equal(np.asarray(got[1]), least)


@pytest.mark.parametrize("how", ["now and then", "mostly"])
def test_updates_of_pairs_that_meet(how: str) -> None:
    places = meeting(how, 300)
    x, y = rng.standard_normal((300, 4)).astype("float32"), rng.standard_normal(300).astype("float32")
    want = x.copy()
    np.add.at(want, (places, places % 4), y)
    got = compiled(lambda x, i, y: x.at[i, i % 4].add(y), *map(ig.asarray, (x, places, y)))
    np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("shape", [(7, 5, 6), (9, 3, 1), (6, 2, 3, 5), (4, 0, 3), (40, 513)])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex64"])
def test_windows_of_several_axes(shape: tuple[int, ...], dtype: str) -> None:
    """Whole ones, which lie in memory as one axis, and parts of them, which do not."""
    x, y = ((rng.standard_normal(shape) * 9).astype(dtype) for _ in range(2))
    places = rng.integers(0, shape[0], shape[0])
    want = [x.copy() for _ in range(3)]
    np.add.at(want[0], places, y)
    np.add.at(
        want[1],
        (places, slice(None), slice(1)) if x.ndim > 2 else (places, slice(1)),
        y[:, :, :1] if x.ndim > 2 else y[:, :1],
    )
    want[2][places] = y

    def f(x: Any, i: Any, y: Any) -> Any:
        part = x.at[i, :, :1].add(y[:, :, :1]) if x.ndim > 2 else x.at[i, :1].add(y[:, :1])
        return x.at[i].add(y), part, x.at[i].set(y)

    for have, wanted in zip(compiled(f, *map(ig.asarray, (x, places, y))), want, strict=True):
        np.testing.assert_array_equal(np.asarray(have), wanted)
