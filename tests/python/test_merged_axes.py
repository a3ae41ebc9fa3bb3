"""Folds of eager arrays, whose neighbouring axes are made one: the bits are those of compiled programs, which fold the
axes as they are."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import pytest

import intaglio as ig

FOLDS = ["sum", "mean", "prod", "max", "min", "var", "std", "any", "all", "argmax", "argmin", "logsumexp"]
CASES = int(os.environ.get("INTAGLIO_FUZZ", "40"))


def check(name: str, x: np.ndarray, axis: Any, keepdims: bool) -> None:
    fold = getattr(ig, name)

    def f(x: Any) -> Any:
        return fold(x, axis=axis, keepdims=keepdims)

    a = ig.asarray(x)
    eager, compiled = np.asarray(f(a)), np.asarray(ig.jit(f)(a))
    assert eager.shape == compiled.shape
    np.testing.assert_array_equal(eager, compiled, err_msg=f"{name} of {x.shape} along {axis}")
    if name != "logsumexp" and not (name.startswith("arg") and isinstance(axis, tuple)):
        theirs = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        assert eager.shape == theirs.shape
        np.testing.assert_allclose(eager, theirs, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", FOLDS)
def test_random_shapes_and_axes(name: str) -> None:
    rng = np.random.default_rng(FOLDS.index(name))
    for _ in range(CASES):
        rank = int(rng.integers(1, 7))
        sizes = [1, 1, 2, 3, 4, 7] if rank > 4 else [1, 2, 3, 5, 17, 40]
        shape = tuple(int(n) for n in rng.choice(sizes, rank))
        axes = tuple(int(a) for a in np.flatnonzero(rng.random(rank) < 0.5))
        axis = axes[0] if len(axes) == 1 else axes or None
        x = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
        if name in ("any", "all"):
            x = np.asarray(x > (1.2 if name == "any" else -1.2))
        check(name, np.asarray(x, x.dtype if x.dtype == bool else np.float32), axis, bool(rng.integers(2)))


@pytest.mark.parametrize("shape", [(3, 0, 2), (0, 4, 5), (2, 3, 0)])
def test_empty_arrays(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    for count in (1, 2, 3):
        for axis in itertools.combinations(range(3), count):
            check("sum", x, axis, False)
            check("any", x > 0, axis, True)


def test_a_fold_of_a_transposed_array() -> None:
    x = np.random.default_rng(0).standard_normal((4, 5, 6, 7)).astype(np.float32)
    turned = ig.permute_dims(ig.asarray(x), (2, 0, 3, 1))
    for axis in ((0, 1), (1, 2), (2, 3), (0, 3)):
        np.testing.assert_array_equal(
            np.asarray(ig.sum(turned, axis=axis)),
            np.asarray(ig.jit(lambda a, axis=axis: ig.sum(ig.permute_dims(a, (2, 0, 3, 1)), axis=axis))(ig.asarray(x))),
        )


def test_errors_speak_of_the_array_that_was_given() -> None:
    with pytest.raises(IndexError, match="axis 4"):
        ig.sum(ig.ones((2, 3, 4, 5)), axis=4)
