"""Loops over many small problems with their batch last in memory: what the pass takes, and that no bit changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> ig.Tensor:
    values = ig.asarray(np.random.default_rng(seed).normal(size=shape))
    return ig.astype(values, dtype)


def both_ways(function: Callable[..., Any], *args: Any, taken: bool | None = True, **options: Any) -> Any:
    """The results as compiled with and without the pass; they must have the same bits."""
    traced = ig.trace(function, *args, **options)
    log = "\n".join(traced.graph.compile().report()["pass_log"])
    assert taken is None or ("batch-last:" in log) == taken, log
    arrays = ig.tree_flatten(args)[0]
    have = traced.graph.compile()(*arrays)
    want = traced.graph.compile(disable=["batch-last"])(*arrays)
    for mine, other in zip(ig.tree_flatten(have)[0], ig.tree_flatten(want)[0], strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(other).tobytes()
    return have


def solve(a: ig.Tensor, b: ig.Tensor) -> ig.Tensor:
    """2 x 2, by Cramer's rule."""
    det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    return ig.stack((a[1, 1] * b[0] - a[0, 1] * b[1], a[0, 0] * b[1] - a[1, 0] * b[0])) / det


def newton(y: ig.Tensor, p: ig.Tensor) -> ig.Tensor:
    """A fit of p[0] · exp(p[1] · t), until the step is small."""
    t = ig.linspace(0.0, 1.0, y.shape[0], dtype=y.dtype)

    def body(state: Any) -> Any:
        p, _, count = state
        power = ig.exp(p[1] * t)
        jacobian = ig.stack((power, p[0] * t * power), axis=1)
        step = solve(jacobian.T @ jacobian + 0.1 * ig.eye(2, dtype=y.dtype), jacobian.T @ (y - p[0] * power))
        return p + step, ig.sum(step * step), count + 1

    start = (p, ig.asarray(1.0, dtype=y.dtype), ig.asarray(0))
    return ig.while_loop(lambda s: (s[1] > 1e-6) & (s[2] < 20), body, start)[0]


@pytest.mark.parametrize("dtype", [ig.float32, ig.float64, ig.float16])
@pytest.mark.parametrize("batch", [33, 200])
def test_a_solver_keeps_its_bits(dtype: Any, batch: int) -> None:
    y, p = numbers(batch, 5, dtype=dtype), numbers(batch, 2, seed=1, dtype=dtype)
    have = both_ways(ig.vmap(newton), y, p)
    rows = np.stack([np.asarray(newton(y[i], p[i])) for i in range(8)])
    np.testing.assert_array_equal(np.asarray(have)[:8], rows)


def test_a_symbolic_number_of_problems() -> None:
    y, p = numbers(100, 5), numbers(100, 2, seed=1)
    sizes = {"y": {0: ig.Dim("n")}, "p": {0: ig.Dim("n")}}
    both_ways(ig.vmap(newton), y, p, dynamic_shapes=sizes)


@pytest.mark.parametrize(
    "step",
    [
        lambda x, m, w: ig.sum(m * x[:, None], axis=0) * 0.1,  # a fold over rows, in order
        lambda x, m, w: ig.sum(m @ m.T, axis=1) * 0.1 + x,  # a fold by lanes
        lambda x, m, w: x * ig.sum(m, axis=(0, 1)) * 0.1,
        lambda x, m, w: ig.max(m, axis=1) * x[::-1],
        lambda x, m, w: ig.tanh(w @ x) + x[ig.asarray([2, 0, 1])],
        lambda x, m, w: ig.tanh(x @ w) * ig.cumulative_sum(x),
        lambda x, m, w: ig.concat((x[1:], ig.mean(m.T @ x, keepdims=True))),
        lambda x, m, w: ig.where(x > 0, x, ig.reshape(m, shape=(9,))[3:6]),
        lambda x, m, w: ig.sort(x) + ig.permute_dims(m, (1, 0))[0],
        lambda x, m, w: ig.sum(ig.reshape(m[None] * x[:, None, None], shape=(3, 9)), axis=1),
    ],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_every_op_on_the_way(step: Callable[..., Any], axis: int) -> None:
    """Whatever the loop holds, with the batch in front and behind: the same bits, taken or not."""
    x, m, w = numbers(40, 3), numbers(40, 3, 3, seed=1), numbers(3, 3, seed=2)

    def run(x: ig.Tensor, m: ig.Tensor, w: ig.Tensor) -> ig.Tensor:
        return ig.scan(lambda c, _: (step(c, m, w), c[0]), x, length=4)

    mapped = ig.vmap(run, in_axes=(axis, 0, None), out_axes=(axis, 0))
    both_ways(mapped, x if axis == 0 else x.T, m, w, taken=None)


def test_gradients_of_many_scans() -> None:
    """The residuals of all steps lie with the batch last, too."""
    x, m = numbers(64, 3), numbers(64, 3, 3, seed=1)

    def loss(m: ig.Tensor, x: ig.Tensor) -> ig.Tensor:
        return ig.sum(ig.fori_loop(0, 6, lambda i, v: ig.tanh(m @ v), x) ** 2)

    have = both_ways(ig.vmap(ig.grad(loss)), m, x)
    rows = np.stack([np.asarray(ig.grad(loss)(m[i], x[i])) for i in range(64)])
    np.testing.assert_allclose(np.asarray(have), rows, rtol=2e-5, atol=1e-6)


def put(x: ig.Tensor, i: ig.Tensor, value: ig.Tensor) -> ig.Tensor:
    x[i] = value
    return x


@pytest.mark.parametrize(
    "step",
    [
        lambda i, m: m - m[i] * m[:, i][:, None] / m[i, i],
        lambda i, m: m * 0.5 + m[i, 1],
        lambda i, m: (
            ig.dynamic_slice(m, (i, i), slice_sizes=(2, 3)).T @ ig.dynamic_slice(m, (0, i), slice_sizes=(2, 3))
        ),
        lambda i, m: ig.dynamic_update_slice(m, m[:2, :2] * 0.5, (i, 0)),
        lambda i, m: put(m, i, m[i] * 0.5),
        lambda i, m: put(m, i, m[i, 0]) + ig.take(m, ig.asarray([1, 0, 2]), axis=1),
    ],
)
def test_elements_at_computed_places(step: Callable[..., Any]) -> None:
    m = numbers(40, 3, 3)
    run = lambda m: ig.fori_loop(0, 3, lambda i, v: ig.tanh(step(i, v)), m)  # noqa: E731
    have = both_ways(ig.vmap(run), m, taken=None)
    rows = np.stack([np.asarray(run(m[k])) for k in range(40)])
    np.testing.assert_array_equal(np.asarray(have), rows)


def test_elimination_is_taken() -> None:
    """Rows and columns at the place of the step: as systems are solved."""

    def solve(a: ig.Tensor, b: ig.Tensor) -> ig.Tensor:
        def step(i: ig.Tensor, m: ig.Tensor) -> ig.Tensor:
            row = m[i] / m[i, i]
            own = (ig.arange(4) == i)[:, None]
            return ig.where(own, row[None], m - m[:, i][:, None] * row[None])

        return ig.fori_loop(0, 4, step, ig.concat((a, b[:, None]), axis=1))[:, 4]

    a, b = numbers(50, 4, 4) + 5 * ig.eye(4), numbers(50, 4, seed=1)
    have = both_ways(ig.vmap(solve), a, b)
    np.testing.assert_allclose(np.asarray(have), np.linalg.solve(a.numpy(), b.numpy()[..., None])[..., 0], atol=1e-5)


def test_what_stays() -> None:
    """Few examples, large examples, and loops of element-wise work alone keep their order."""
    turn = lambda x: ig.fori_loop(0, 3, lambda i, v: ig.concat((v[1:], v[:1])), x)  # noqa: E731
    both_ways(ig.vmap(turn), numbers(8, 3), taken=False)
    both_ways(ig.vmap(turn), numbers(40, 300), taken=False)
    both_ways(ig.vmap(lambda x: ig.fori_loop(0, 3, lambda i, v: ig.tanh(v), x)), numbers(40, 3), taken=False)
    both_ways(ig.vmap(turn), numbers(40, 3))
