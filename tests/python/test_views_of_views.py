"""Long chains of views and element-wise operations: however many paths lead from a result to an input, what is computed
is what each operation by itself gives, and compiling ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig


def step(choice: list[int], x: Any, seen: list[Any]) -> Any:
    """One more operation on `x` (of shape (12, 12)) and perhaps something seen before."""
    other, axis = seen[choice[0] % len(seen)], choice[1] % 2
    views = [
        lambda v: ig.flip(v, axis=axis),
        lambda v: ig.permute_dims(v, (1, 0)),
        lambda v: ig.roll(v, 3, axis=axis),
        lambda v: ig.reshape(ig.permute_dims(ig.reshape(v, (3, 4, 12)), (1, 0, 2)), (12, 12)),
        lambda v: ig.pad(v[1:-1, :], ((1, 1), (0, 0))),
        lambda v: ig.concat([v[:, 6:], v[:, :6]], axis=1),
        lambda v: ig.concat([v, other], axis=0)[5:17, :],
        lambda v: ig.pad(v, ((2, 2), (2, 2)))[3:15, 2:14],
    ]
    view = views[choice[2] % len(views)]
    return [
        lambda: view(x) * 0.5 + x,
        lambda: view(x) - other,
        lambda: ig.abs(view(x)) + view(other) * 0.25,
        lambda: ig.where(view(x) > 0, x, other),
        lambda: view(x),
    ][choice[3] % 5]()


def program(seed: int, length: int) -> Any:
    choices = np.random.default_rng(seed).integers(1000, size=(length, 4)).tolist()

    def f(x: Any) -> Any:
        seen = [x]
        for choice in choices:
            x = step(choice, x, seen)
            seen.append(x)
        return x, seen[length // 2]

    return f


@pytest.mark.parametrize("seed", range(60))
def test_compiled_is_step_by_step(seed: int) -> None:
    x = ig.asarray(np.random.default_rng(seed).standard_normal((12, 12), dtype=np.float32))
    f = program(seed, 4 + seed % 11)
    for got, want in zip(ig.jit(f).lower(x).compile()(x), f(x), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.parametrize("length", [1, 12, 60])
def test_of_flips(length: int) -> None:
    def f(x: Any) -> Any:
        for k in range(length):
            x = ig.flip(x, axis=k % 2) * 0.5 + x * 0.5
        return x

    x = ig.asarray(np.random.default_rng(1).standard_normal((9, 33), dtype=np.float32))
    np.testing.assert_array_equal(ig.jit(f).lower(x).compile()(x).numpy(), f(x).numpy())
    gradient = ig.grad(lambda x: ig.sum(f(x) * f(x)))
    np.testing.assert_allclose(ig.jit(gradient)(x).numpy(), gradient(x).numpy(), rtol=1e-5, atol=1e-6)


def test_arrays_that_are_joined_again_and_again() -> None:
    def f(x: Any, w: Any) -> Any:
        parts = [x]
        for _ in range(24):
            parts.append(ig.tanh(ig.concat(parts, axis=1)[:, -8:] @ w))
        return ig.concat(parts, axis=1)

    rng = np.random.default_rng(2)
    x, w = (ig.asarray(rng.standard_normal(s, dtype=np.float32)) for s in ((3, 8), (8, 8)))
    compiled = ig.jit(f).lower(x, w).compile()
    np.testing.assert_array_equal(compiled(x, w).numpy(), f(x, w).numpy())
    kernels = [line for line in compiled.report()["fusion_log"] if line.startswith("loop: concatenate")]
    assert len(kernels) == 1, kernels  # of the 25 that are written
