"""Products of few columns: turned over, row by row or lane by lane, with the bits of single rows; on arrays that
end where memory does."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from guarded_memory import guarded

import intaglio as ig

FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda a, b: a @ b,
    "right turned over": lambda a, b: a @ b.mT,
    "left turned over": lambda a, b: a.mT @ b,
    "both turned over": lambda a, b: a.mT @ b.mT,
    "part of a row": lambda a, b: a[:, 2:-1] @ b[1:],
    "work behind": lambda a, b: ig.tanh(ig.minimum(a @ b, 1)) * 2 + ig.exp(-ig.abs(a @ b)),
    "batches": lambda a, b: (a @ b)[1],
}


def sides(form: str, m: int, k: int, n: int, draw: np.random.Generator, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    a, b = ((draw.standard_normal(shape) * 3).astype(dtype) for shape in ((m, k), (k, n)))
    if form in ("left turned over", "both turned over"):
        a = a.T.copy()
    if form in ("right turned over", "both turned over"):
        b = b.T.copy()
    if form == "part of a row":
        a, b = np.pad(a, ((0, 0), (2, 1))), np.pad(b, ((1, 0), (0, 0)))
    if form == "batches":
        a, b = np.stack([a * 2, a, a]), np.stack([b, b, b * 2])
    return a, b


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint16", "int8"])
@pytest.mark.parametrize("number", range(12))
def test_few_columns_have_the_bits_of_single_rows(form: str, dtype: str, number: int) -> None:
    if "int" in dtype and form == "work behind":
        form = "plain"
    draw = random.Random(f"{form} {dtype} {number}")
    m = draw.choice([1, 3, 8, 15, 16, 17, 31, 40, 65, 127, 128, 130, 300])
    k = draw.choice([0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 32, 33, 64, 65, 257, 1024])
    n = draw.choice([1, 2, 2, 3, 3, 4, 4, 5, 8, 9])
    a, b = sides(form, m, k, n, np.random.default_rng(number), dtype)
    f = FORMS[form]
    with ExitStack() as pages:
        x, y = (ig.from_dlpack(pages.enter_context(guarded(side, at_end=number % 2 == 0))) for side in (a, b))
        whole = np.asarray(ig.jit(f).lower(x, y).compile()(x, y))
    a, b = ig.asarray(a), ig.asarray(b)
    np.testing.assert_array_equal(whole, np.asarray(f(a, b)))
    one = ig.jit(f)
    for row in {0, m // 2, m - 1}:
        at = slice(row, row + 1)
        left = (
            a[:, at] if form == "batches" else a[..., at] if form in ("left turned over", "both turned over") else a[at]
        )
        np.testing.assert_array_equal(np.asarray(one(left, b)), whole[at])


@pytest.mark.parametrize("threads", [1, 2])
def test_points_and_a_matrix(threads: int) -> None:
    """Lanes of rows, in several blocks; from the second number of points on it is a symbol."""
    draw = np.random.default_rng(3)
    before = ig.get_num_threads()
    ig.set_num_threads(threads)
    try:
        f = ig.jit(lambda p, m, t: p @ m.T + t)
        for count in (0, 1, 100, 128, 5000, 100_003):
            p, m, t = (draw.standard_normal(shape).astype("float32") for shape in ((count, 3), (3, 3), (3,)))
            np.testing.assert_allclose(np.asarray(f(p, m, t)), p @ m.T + t, rtol=1e-4, atol=1e-5)
    finally:
        ig.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_points_and_a_vector(size: int, dtype: str) -> None:
    """So short a sum is taken of elements that are shuffled out of what lies side by side: one, a few, and several
    blocks of points, of which the last ends where memory does."""
    draw = np.random.default_rng(size)
    v = ig.asarray((draw.standard_normal(size) * 3).astype(dtype))
    rows = ig.asarray((draw.standard_normal((2, size)) * 3).astype(dtype))
    forms: list[Callable[[Any], Any]] = [lambda p: p @ v, lambda p: ig.abs(p @ v) + 1, lambda p: rows @ p.T]
    for count in (0, 1, 5, 8, 17, 1000, 100_003):
        points = (draw.standard_normal((count, size)) * 3).astype(dtype)
        with ExitStack() as pages:
            p = ig.from_dlpack(pages.enter_context(guarded(points, at_end=True)))
            for form in forms:
                found = np.asarray(ig.jit(form).lower(p).compile()(p))
                np.testing.assert_array_equal(found, np.asarray(form(p)))
                if count == 0:
                    continue
                at = count // 2
                np.testing.assert_array_equal(found[..., at], np.asarray(form(p[at : at + 1]))[..., 0])
        if dtype.startswith("float") and dtype != "float16":
            np.testing.assert_allclose(found, np.asarray(rows) @ points.T, rtol=1e-4, atol=1e-5)
