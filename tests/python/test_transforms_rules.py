"""custom_jvp, custom_vjp and checkpoint: eagerly, jitted, through text, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig


@ig.custom_jvp
def ten_sin(x: Any) -> Any:
    return ig.sin(x)


@ten_sin.defjvp
def ten_sin_jvp(primals: Any, tangents: Any) -> Any:
    return ten_sin(*primals), 10 * ig.cos(primals[0]) * tangents[0]


@ig.custom_vjp
def halved(x: Any, y: Any) -> Any:
    return x * y


halved.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, ct: (ct * kept[1] / 2, None))


def test_custom_jvp_in_both_modes_and_again() -> None:
    x = ig.asarray(0.5)
    want = 10 * np.cos(0.5)
    assert float(ten_sin(x)) == pytest.approx(np.sin(0.5))
    for derivative in (ig.grad(ten_sin), ig.jit(ig.grad(ten_sin)), lambda x: ig.jvp(ten_sin, (x,), (1.0,))[1]):
        assert float(derivative(x)) == pytest.approx(want, rel=1e-6)
    assert float(ig.grad(ig.grad(ten_sin))(x)) == pytest.approx(-10 * np.sin(0.5), rel=1e-6)
    inside = ig.grad(lambda x: ig.fori_loop(0, 2, lambda _, v: ten_sin(v), x))(x)
    assert float(inside) == pytest.approx(100 * np.cos(0.5) * np.cos(np.sin(0.5)), rel=1e-5)


def test_a_rule_that_calls_its_own_function_keeps_its_rule() -> None:
    @ig.custom_jvp
    def f(x: Any) -> Any:
        return ig.exp(x)

    f.defjvp(lambda primals, tangents: (f(*primals), 2 * f(*primals) * tangents[0]))
    g, value = f, 1.0
    for _ in range(3):
        g, value = ig.grad(g), value * 2
        assert float(g(0.0)) == value
    assert float(ig.jvp(lambda x: ig.jvp(f, (x,), (1.0,))[0], (0.0,), (1.0,))[1]) == 2


def test_defjvps() -> None:
    @ig.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y

    f.defjvps(lambda t, value, x, y: 3 * t, None)
    assert [float(g) for g in ig.grad(f, argnums=(0, 1))(2.0, 5.0)] == [3, 0]


def test_custom_vjp_survives_text_and_jit() -> None:
    x, y = ig.asarray(3.0), ig.asarray(4.0)
    assert [float(g) for g in ig.grad(halved, argnums=(0, 1))(x, y)] == [2, 0]
    assert [float(g) for g in ig.jit(ig.grad(halved, argnums=(0, 1)))(x, y)] == [2, 0]
    traced = ig.trace(lambda x, y: halved(x, y) + 1, x, y)
    graph = ig.Graph.parse(str(traced.graph))
    assert float(graph(x, y)) == 13
    assert float(ig.grad(graph)(x, y)) == 2
    assert float(ig.grad(lambda x: ig.scan(lambda c, _: (halved(c, y), None), x, None, length=3)[0])(x)) == 8


def test_nondiff_argnums_and_static_residuals() -> None:
    @ig.custom_vjp
    def scaled(how: str, x: Any) -> Any:
        return x * 2

    scaled = ig.custom_vjp(scaled.fun, nondiff_argnums=0)
    seen: list[Any] = []

    def backward(how: str, kept: Any, ct: Any) -> Any:
        seen.append((how, kept[0]))
        return (ct * 7,)

    scaled.defvjp(lambda how, x: (x * 2, ("static", x)), backward)
    assert float(ig.grad(lambda x: scaled("fast", x))(1.0)) == 7
    assert seen == [("fast", "static")]


def test_checkpoint_keeps_the_arguments_alone() -> None:
    def f(x: Any) -> Any:
        for _ in range(3):
            x = ig.sin(ig.sum(x) * x)  # sums are not computed again for their own sake
        return x

    x = ig.ones(128)
    plain, kept = ig._intaglio._graph_vjp, []
    for function in (f, ig.checkpoint(f)):
        graph = ig.trace(lambda x, function=function: function(x), x).graph  # type: ignore[misc]
        kept.append(len(plain(graph, [True], [True])[2]))
    assert kept[0] == 4  # the argument and three sums
    assert kept[1] == 1
    want = np.asarray(ig.grad(lambda x: ig.sum(f(x)))(x))
    np.testing.assert_array_equal(np.asarray(ig.grad(lambda x: ig.sum(ig.checkpoint(f)(x)))(x)), want)
    np.testing.assert_array_equal(np.asarray(ig.jit(ig.grad(lambda x: ig.sum(ig.checkpoint(f)(x))))(x)), want)
