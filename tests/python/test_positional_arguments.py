"""Arguments that NumPy and PyTorch take by place: the axis of what joins and sorts, the dtype of what is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

X = np.arange(12, dtype=np.float32).reshape(3, 4) % 5
AXES: dict[str, Callable[[Any, Any], Any]] = {
    "concatenate": lambda m, x: m.concatenate((x, x), 1),
    "stack": lambda m, x: m.stack((x, x), 1),
    "take": lambda m, x: m.take(x, m.asarray([1, 0]), 1),
    "repeat": lambda m, x: m.repeat(x, 2, 0),
    "sort": lambda m, x: m.sort(x, 0),
    "argsort": lambda m, x: m.argsort(x[0], 0),
    "split": lambda m, x: m.split(x, 2, 1)[1],
    "array_split": lambda m, x: m.array_split(x, 3, 1)[0],
    "diff": lambda m, x: m.diff(x, 2, 0),
}
MADE: dict[str, Callable[[Any], Any]] = {
    "asarray": lambda m: m.asarray([1, 2], "float64"),
    "array": lambda m: m.array([1.5, 2.5], "int16"),
    "zeros": lambda m: m.zeros((2, 3), "int32"),
    "ones": lambda m: m.ones(3, "float64"),
    "full": lambda m: m.full((2,), 7, "uint8"),
    "zeros_like": lambda m: m.zeros_like(m.zeros(3, "int8"), "int32"),
    "ones_like": lambda m: m.ones_like(m.zeros(3, "int8"), "float32"),
    "full_like": lambda m: m.full_like(m.zeros(3, "int8"), 2, "float32"),
    "arange": lambda m: m.arange(0, 6, 2, "float64"),
    "eye": lambda m: m.eye(3, 4, 1, "int32"),
    "tri": lambda m: m.tri(3, 4, 1, "int32"),
    "identity": lambda m: m.identity(2, "int64"),
}


@pytest.mark.parametrize("name", AXES)
def test_axes(name: str) -> None:
    np.testing.assert_array_equal(np.asarray(AXES[name](ig, ig.asarray(X))), AXES[name](np, X))


@pytest.mark.parametrize("name", MADE)
def test_dtypes(name: str) -> None:
    found, wanted = np.asarray(MADE[name](ig)), MADE[name](np)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype


@pytest.mark.parametrize("make", [ig.zeros, ig.ones, ig.empty])
@pytest.mark.parametrize("size", [3, 1 << 90])
def test_a_size_is_no_dtype(make: Callable[..., Any], size: int) -> None:
    """`zeros(2, 3)` is the way of others: a shape is one argument here."""
    with pytest.raises(ig.TypeError) as caught:
        make(2, size)
    first, where, *rest = str(caught.value).splitlines()
    assert first == f"{size} is no dtype of an array"
    assert where.startswith("  at: ")
    assert "test_positional_arguments.py" in where
    assert rest == [
        "  why: the sizes of a shape are one argument; what stands behind it is the dtype",
        "  hint: give all sizes as one: ig.zeros((2, 3))",
    ]
