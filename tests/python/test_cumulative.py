"""Running folds of rows, which go some rows side by side, and the gradients of their extremes: against NumPy, and with
the bits of one row alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

FOLDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (ig.cumulative_sum, np.add.accumulate),
    "prod": (ig.cumulative_prod, np.multiply.accumulate),
    "max": (ig.cumulative_max, np.maximum.accumulate),
    "min": (ig.cumulative_min, np.minimum.accumulate),
}


def compiled(f: Callable[..., Any], *inputs: Any) -> Any:
    return np.asarray(ig.trace(f, *inputs).graph.compile()(*inputs))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8", "uint16"])
@pytest.mark.parametrize("shape", [(16, 64), (17, 65), (4, 1), (5, 200), (33, 3), (2, 3, 129), (4, 0), (0, 4)])
@pytest.mark.parametrize("name", list(FOLDS))
def test_rows_side_by_side(name: str, shape: tuple[int, ...], dtype: str, reverse: bool) -> None:
    fold, numpys = FOLDS[name]
    random = np.random.default_rng(3)
    x = (random.uniform(0.9, 1.1, shape) if name == "prod" else random.standard_normal(shape) * 9).astype(dtype)
    options = {"reverse": reverse} if name in ("max", "min") else {}
    turns = reverse and not options

    def f(x: Any) -> Any:
        y = fold(ig.flip(x, axis=-1) if turns else x, axis=-1, **options)
        return ig.astype(ig.flip(y, axis=-1) if turns else y, x.dtype)

    have = compiled(f, ig.asarray(x))
    lines = np.flip(x, -1) if reverse else x
    want = numpys(lines, -1, dtype=x.dtype) if name in ("sum", "prod") else numpys(lines, -1)
    want = np.flip(want, -1) if reverse else want
    if dtype == "float16" and name in ("sum", "prod"):  # sums are kept in float32, and NumPy's in float16
        np.testing.assert_allclose(have, want, rtol=2e-2, atol=2e-1)
    else:
        np.testing.assert_array_equal(have, want)
    for row in list(np.ndindex(shape[:-1]))[-1:]:
        np.testing.assert_array_equal(have[row], compiled(f, ig.asarray(x[row])))


def test_rows_of_any_number_and_length() -> None:
    for shape in ((1, 5), (3, 70), (19, 130), (40, 1)):
        x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
        rows, columns = ig.Dim("rows"), ig.Dim("columns")
        f = ig.trace(lambda x: ig.cumulative_logsumexp(x, axis=1), ig.ShapeDtypeStruct((rows, columns), ig.float32))
        want = np.logaddexp.accumulate(x.astype(np.float64), 1)
        np.testing.assert_allclose(np.asarray(f.graph.compile()(ig.asarray(x))), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["max", "min"])
def test_gradients_go_to_the_first_of_equal_ones(name: str, axis: int, reverse: bool) -> None:
    fold, numpys = FOLDS[name]
    x = np.random.default_rng(5).integers(0, 6, (9, 40)).astype(np.float32)
    w = np.random.default_rng(6).integers(1, 9, x.shape).astype(np.float32)
    got = compiled(ig.grad(lambda x, w: ig.sum(fold(x, axis=axis, reverse=reverse) * w)), ig.asarray(x), ig.asarray(w))
    xs, ws = (np.moveaxis(np.flip(v, axis) if reverse else v, axis, 0) for v in (x, w))
    want = np.zeros_like(xs)
    for column in range(xs.shape[1]):
        best = 0
        reached = numpys(xs[:, column])
        for i in range(xs.shape[0]):
            if i > 0 and reached[i] != reached[i - 1]:
                best = i
            want[best, column] += ws[i, column]
    want = np.moveaxis(want, 0, axis)
    np.testing.assert_array_equal(got, np.flip(want, axis) if reverse else want)


def test_gradients_of_no_elements() -> None:
    x = ig.zeros((3, 0))
    assert compiled(ig.grad(lambda x: ig.sum(ig.cumulative_max(x, axis=1))), x).shape == (3, 0)
