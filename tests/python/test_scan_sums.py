"""Sums of products that a scan adds up, as those of the gradients by its weights, are added up behind it: same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig
from intaglio import nn

N, B, T = 66, 1, 5  # a matrix of N x N is large enough to be added up behind, where a step has one term
RNG = np.random.default_rng(11)
Step = Callable[..., tuple[Any, Any]]


def f32(*shape: int) -> Any:
    return ig.asarray((RNG.normal(size=shape) * 0.4).astype(np.float32))


def dense(h: Any, x: Any, w: Any, u: Any, b: Any) -> tuple[Any, Any]:
    h = ig.tanh(x @ w + h @ u + b)
    return h, h


def shared(h: Any, x: Any, w: Any) -> tuple[Any, Any]:
    h = ig.tanh(x @ w + h @ w)
    return h, x


def turned(h: Any, x: Any, w: Any, u: Any) -> tuple[Any, Any]:
    h = ig.tanh(x @ w.T + h @ ig.reshape(u, (N, N)))
    return h, h * 2.0


def joined(h: Any, x: Any, w: Any) -> tuple[Any, Any]:
    h = ig.tanh(ig.concat([x, h], axis=1) @ w)
    return h, h


def scaled(h: Any, x: Any, w: Any) -> tuple[Any, Any]:
    # What a step adds to the gradient of w is a product and something else.
    h = ig.tanh(x @ w + h * ig.sum(w, axis=0))
    return h, h


def halved(h: Any, x: Any, w: Any) -> tuple[Any, Any]:
    h = ig.tanh(x @ ig.astype(ig.astype(w, "bfloat16"), "float32"))
    return h, h


def heads(h: Any, x: Any, w: Any) -> tuple[Any, Any]:
    h = ig.tanh(ig.einsum("bgi,gij->bgj", ig.reshape(x + h, (B, 2, N // 2)), w))
    return ig.reshape(h, (B, N)), h


def vectors(h: Any, x: Any, w: Any, u: Any, b: Any) -> tuple[Any, Any]:
    h = ig.tanh(w @ x + u @ h + b)
    return h, h


def images(h: Any, x: Any, w: Any, u: Any) -> tuple[Any, Any]:
    h = ig.tanh(nn.functional.conv2d(x, w, padding=1) + nn.functional.conv2d(h, u, padding=1, groups=2))
    return h, h


def deep(h: Any, x: Any, w: Any, u: Any) -> tuple[Any, Any]:
    def inner(g: Any, y: Any) -> tuple[Any, Any]:
        g = ig.tanh(y @ w + g @ u)
        return g, g

    h, ys = ig.scan(inner, h, ig.stack([x, x * 0.5, h]))
    return h, ys[1]


CASES: dict[str, tuple[Step, tuple[int, ...], list[tuple[int, ...]], int]] = {
    # step, a state's shape, the weights', how many sums are made behind the scan
    "dense": (dense, (B, N), [(N, N), (N, N), (N,)], 2),
    "shared": (shared, (B, N), [(N, N)], 0),
    "turned": (turned, (B, N), [(N, N), (N * N,)], 1),
    "joined": (joined, (B, N), [(2 * N, N)], 0),
    "scaled": (scaled, (B, N), [(N, N)], 0),
    "halved": (halved, (B, N), [(N, N)], 0),
    "heads": (heads, (B, N), [(2, N // 2, N // 2)], 0),
    "vectors": (vectors, (N,), [(N, N), (N, N), (N,)], 2),
    "images": (images, (B, 4, 5, 3), [(4, 4, 3, 3), (4, 2, 3, 3)], 0),
    "deep": (deep, (B, N), [(N, N), (N, N)], 2),
    # More terms are, where the sum is larger than the second cache.
    "wide": (dense, (3, 20), [(20, 20), (20, 20), (20,)], 0),
}


def by_scan(step: Step, steps: int, reverse: bool) -> Callable[..., Any]:
    def loss(h: Any, xs: Any, *weights: Any) -> Any:
        h, ys = ig.scan(lambda h, x: step(h, x, *weights), h, xs, reverse=reverse)
        return ig.sum(h * h) + ig.sum(ig.sin(ys))

    return loss


def by_loop(step: Step, steps: int, reverse: bool) -> Callable[..., Any]:
    def loss(h: Any, xs: Any, *weights: Any) -> Any:
        total = ig.asarray(np.float32(0))
        for t in reversed(range(steps)) if reverse else range(steps):
            h, y = step(h, xs[t], *weights)
            total = total + ig.sum(ig.sin(y))
        return ig.sum(h * h) + total

    return loss


def given(name: str, steps: int = T) -> tuple[Step, list[Any]]:
    step, state, weights, _ = CASES[name]
    return step, [f32(*state), f32(steps, *state), *(f32(*shape) for shape in weights)]


def close(one: Any, other: Any, bound: float = 3e-6) -> None:
    for a, b in zip(one, other, strict=True):
        scale = float(np.abs(b.numpy()).max(initial=1.0))
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=bound * scale)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_steps_one_by_one(name: str, reverse: bool) -> None:
    step, args = given(name)
    numbers = tuple(range(len(args)))
    want = ig.grad(by_loop(step, T, reverse), argnums=numbers)(*args)
    eager = ig.grad(by_scan(step, T, reverse), argnums=numbers)(*args)
    compiled = ig.jit(ig.grad(by_scan(step, T, reverse), argnums=numbers))(*args)
    # One by one, gradients of bfloat16 are rounded in every step.
    close(eager, want, 1e-2 if name == "halved" else 3e-6)
    for a, b in zip(eager, compiled, strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("name", CASES)
def test_the_bits_are_those_of_sums_within_the_scan(name: str) -> None:
    step, args = given(name)
    numbers = tuple(range(2, len(args)))
    graph = ig.trace(ig.grad(by_scan(step, T, False), argnums=numbers), *args).graph
    assert str(graph.optimised()).count("add_products") == CASES[name][3], graph.optimised()
    got = graph.compile()(*args)
    for a, b in zip(got, graph.compile(disable=["hoist-scan"])(*args), strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("terms", [1, 3, 9, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_large_sums_of_several_terms(terms: int, dtype: str) -> None:
    rows, columns = 1030, 807

    def f(start: Any, g: Any, x: Any) -> Any:
        return ig.scan(lambda c, gx: (c + gx[0].T @ gx[1], None), start, (g, x), reverse=True)[0]

    args = [ig.astype(f32(*shape), dtype) for shape in [(rows, columns), (4, terms, rows), (4, terms, columns)]]
    graph = ig.trace(f, *args).graph
    assert str(graph.optimised()).count("add_products") == (0 if terms == 40 else 1)
    got, want = graph.compile()(*args), graph.compile(disable=["hoist-scan"])(*args)
    wide = "float64" if dtype == "float64" else "float32"
    assert ig.astype(got, wide).numpy().tobytes() == ig.astype(want, wide).numpy().tobytes()


@pytest.mark.parametrize("name", ["dense", "joined", "vectors", "images"])
@pytest.mark.parametrize("steps", [0, 1])
def test_no_step_and_one(name: str, steps: int) -> None:
    step, args = given(name, steps)
    numbers = tuple(range(len(args)))
    want = ig.grad(by_loop(step, steps, False), argnums=numbers)(*args)
    close(ig.jit(ig.grad(by_scan(step, steps, False), argnums=numbers))(*args), want)


@pytest.mark.parametrize("name", ["dense", "shared", "scaled", "joined", "vectors"])
def test_second_derivatives(name: str) -> None:
    step, args = given(name)

    def slope(loss: Any) -> Any:
        return lambda w: ig.sum(ig.grad(lambda w: loss(args[0], args[1], w, *args[3:]))(w) ** 2)

    want = ig.grad(slope(by_loop(step, T, False)))(args[2])
    close([ig.jit(ig.grad(slope(by_scan(step, T, False))))(args[2])], [want])


def test_a_weight_for_each_example() -> None:
    step, (h, xs, w, u, b) = given("dense")
    many = [ig.stack([x, x * 0.5]) for x in (w, u, b)]
    numbers = (2, 3, 4)
    of_one = ig.grad(by_scan(step, T, False), argnums=numbers)
    got = ig.jit(ig.vmap(of_one, in_axes=(None, None, 0, 0, 0)))(h, xs, *many)
    for i in range(2):
        close([g[i] for g in got], of_one(h, xs, *(m[i] for m in many)))


def test_a_number_of_steps_that_is_a_symbol() -> None:
    step, args = given("dense")
    slopes = ig.grad(by_scan(step, T, False), argnums=(2, 3, 4))
    f = ig.trace(slopes, *args, dynamic_shapes={"xs": {0: ig.Dim("steps")}})
    for steps in (5, 2, 9):
        xs = f32(steps, B, N)
        want = ig.grad(by_loop(step, steps, False), argnums=(2, 3, 4))(args[0], xs, *args[2:])
        close(f(args[0], xs, *args[2:]), want)
