"""Derivatives from Python: eager and jitted against central differences and formulas, nested, with trees."""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig

RNG = np.random.default_rng(3)


def f64(*shape: int) -> ig.Tensor:
    return ig.asarray(RNG.normal(size=shape))


def differences(f: Any, x: Any, step: float = 1e-6) -> np.ndarray:
    """The gradient of f (one number) at x, by central differences in float64."""
    x = np.array(x, np.float64)
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        for sign in (1, -1):
            moved = x.copy()
            moved[i] += sign * step
            out[i] += sign * float(f(ig.asarray(moved))) / (2 * step)
    return out


def check(f: Any, x: ig.Tensor, tolerance: float = 1e-6) -> None:
    """grad, jitted grad, jvp and the Hessian of f at x against differences."""
    want = differences(f, x)
    got = ig.grad(f)(x)
    assert got.dtype == x.dtype
    assert got.shape == x.shape
    np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(np.asarray(ig.jit(ig.grad(f))(x)), want, rtol=tolerance, atol=tolerance)
    direction = f64(*x.shape)
    pushed = ig.jvp(f, (x,), (direction,))[1]
    np.testing.assert_allclose(float(pushed), (want * np.asarray(direction)).sum(), rtol=tolerance, atol=tolerance)
    second = np.asarray(ig.hessian(f)(x))
    rows = np.stack(
        [differences(lambda v, i=i: ig.grad(f)(v)[i], x) for i in np.ndindex(x.shape)]  # type: ignore[misc]
    ).reshape(second.shape)
    np.testing.assert_allclose(second, rows, rtol=1e-5, atol=1e-5)


def test_a_network_and_its_loss() -> None:
    params = {"w1": f64(4, 8), "b1": f64(8), "w2": f64(8, 3), "b2": f64(3)}
    x, y = f64(5, 4), ig.asarray(RNG.integers(0, 3, 5))

    def loss(p: Any, x: Any, y: Any) -> Any:
        h = ig.tanh(x @ p["w1"] + p["b1"])
        logits = h @ p["w2"] + p["b2"]
        picked = ig.take_along_axis(ig.log_softmax(logits, axis=-1), y[:, None], axis=1)
        return -ig.mean(picked) + 1e-2 * ig.sum(p["w1"] ** 2)

    eager = ig.grad(loss)(params, x, y)
    jitted = ig.jit(ig.grad(loss))(params, x, y)
    assert list(eager) == list(params)
    for key in params:
        want = differences(lambda v, key=key: loss({**params, key: v}, x, y), params[key])  # type: ignore[misc]
        np.testing.assert_allclose(np.asarray(eager[key]), want, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(np.asarray(jitted[key]), np.asarray(eager[key]), rtol=1e-12, atol=1e-14)


FUNCTIONS = {
    "products": lambda x: ig.sum(ig.sin(x) * x / (1 + x * x)),
    "powers": lambda x: ig.sum((x * x + 1) ** 1.5),
    "max": lambda x: ig.max(x) * ig.min(x),
    "prod": lambda x: ig.prod(x),
    "sort": lambda x: ig.sum(ig.sort(x) * ig.arange(1.0, 5.0, dtype=ig.float64)),
    "cumulative": lambda x: ig.sum(ig.cumulative_prod(x, axis=0) * ig.cumulative_max(x, axis=0)),
    "logsumexp": lambda x: ig.sum(ig.cumulative_logsumexp(x, axis=0) ** 2),
    "indexing": lambda x: ig.sum(x[ig.asarray([0, 2, 2])] ** 3) + x[1] * x[-1],
    "where": lambda x: ig.sum(ig.where(x > 0, x**3, ig.exp(x))),
    "softmax": lambda x: ig.sum(ig.softmax(x, axis=0) * x),
    "matrix": lambda x: ig.sum((x.reshape(2, 2) @ x.reshape(2, 2)) ** 2),
    "outer": lambda x: ig.sum(ig.cos(x[:, None] * x[None, :])),
    "concat": lambda x: ig.sum(ig.concat([x[1:], x * x, ig.flip(x)]) ** 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    check(FUNCTIONS[name], f64(4))


LOOPS = {
    "scan": lambda x: ig.sum(
        ig.scan(lambda c, t: (ig.sin(c * t) + x[0], c * x[1]), x[2], ig.asarray(np.array([1.0, 2.0, 3.0])))[1]
    ),
    "scan reversed": lambda x: ig.scan(lambda c, t: (c * t + x[0], None), x[1], x, reverse=True)[0],
    "scan over x": lambda x: ig.sum(ig.scan(lambda c, t: (ig.tanh(c + t * t), c * t), x[0], x)[1]),
    "scan with a matrix": lambda x: ig.sum(
        ig.scan(lambda h, t: (ig.tanh(x.reshape(2, 2) @ h + t), None), x[:2], ig.ones((5, 2), dtype=ig.float64))[0]
    ),
    "fori": lambda x: ig.sum(ig.fori_loop(0, 6, lambda i, v: ig.sin(v) + x * ig.astype(i, ig.float64), x)),
    "while": lambda x: ig.while_loop(
        lambda c: c[0] < 150, lambda c: (c[0] + 1, ig.sin(c[1]) * x[1] + x[0]), (ig.asarray(0), x[2])
    )[1],
    "while without a step": lambda x: ig.while_loop(lambda v: v > 1e9, lambda v: v * v, x[0] * x[1]),
    "cond": lambda x: ig.cond(x[0] > 0, lambda: ig.sin(x[1]) * x[0], lambda: ig.exp(x[1]) * x[2]),
    "switch": lambda x: ig.switch(1, [lambda: x[0] ** 2, lambda: x[1] ** 3, lambda: x[2]]),
    "cond in scan": lambda x: ig.scan(
        lambda c, t: (ig.cond(t > 1.5, lambda: ig.sin(c) * x[0], lambda: c * x[1]), None),
        x[2],
        ig.asarray(np.array([1.0, 2.0, 3.0])),
    )[0],
    "scan in scan": lambda x: ig.scan(
        lambda c, t: (ig.scan(lambda d, s: (ig.sin(d) * s + t, None), c, x)[0], None), x[0], x
    )[0],
    "while in scan": lambda x: ig.scan(
        lambda c, t: (
            ig.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, ig.sin(s[1]) * t), (ig.asarray(0), c))[1],
            None,
        ),
        x[0],
        x,
    )[0],
    "map": lambda x: ig.sum(ig.map(lambda t: ig.sin(t) * x[0], x)),
    "checkpoint": lambda x: ig.sum(ig.checkpoint(lambda v: ig.sin(ig.exp(v) * x[0]))(x)),
    "checkpoint of a scan": lambda x: ig.checkpoint(
        lambda v: ig.scan(lambda c, t: (ig.sin(c * t) + v[0], None), v[1], v)[0]
    )(x),
    "scan of a checkpoint": lambda x: ig.scan(ig.checkpoint(lambda c, t: (ig.sin(c * t) + x[0], None)), x[1], x)[0],
}


@pytest.mark.parametrize("name", LOOPS)
def test_control_flow(name: str) -> None:
    check(LOOPS[name], ig.asarray(np.array([0.6, 1.3, -0.4, 0.9])), 1e-5)


def test_a_branch_that_was_not_taken_puts_no_nan_anywhere() -> None:
    def f(x: Any) -> Any:
        return ig.cond(x > 0, lambda: ig.log(x), lambda: x * 2)

    assert float(ig.jit(ig.grad(f))(ig.asarray(-1.0))) == 2.0
    assert float(ig.grad(f)(0.0)) == 2.0
    safe = ig.grad(lambda x: ig.where(x > 0, ig.log(ig.where(x > 0, x, 1.0)), 0.0))
    assert float(safe(0.0)) == 0.0


ROWS = ig.asarray([0.0, 4.0, -1.0])
GUARDED: dict[str, tuple[Any, Any, list[float]]] = {
    "root": (lambda v: ig.where(v > 0, ig.sqrt(v), 0.0), ROWS, [0, 0.25, 0]),
    "root, by its place": (lambda v: ig.where(v <= 0, 1.0, ig.sqrt(v)), ROWS, [0, 0.25, 0]),
    "logarithm": (lambda v: ig.where(v > 0, v * ig.log(v), v), ROWS, [1, 1 + np.log(4), 1]),
    "several steps": (lambda v: ig.where(v > 0, ig.exp(ig.sqrt(v) * -2.0), 0.0), ROWS, [0, -np.exp(-4) / 2, 0]),
    "a value used twice": (
        lambda v: (lambda r: ig.where(v > 0, r + 2 * r * r, 0.0))(ig.sqrt(v)),
        ROWS,
        [0, 0.25 + 2, 0],
    ),
    "choices in choices": (
        lambda v: ig.where(v > 0, ig.where(v > 1, ig.sqrt(v), v / 0.0), 0.0),
        ROWS,
        [0, 0.25, 0],
    ),
    "both sides": (lambda v: ig.where(v > 0, ig.sqrt(v), ig.sqrt(-v)), ig.asarray([4.0, -4.0]), [0.25, -0.25]),
    "a length": (
        lambda v: (lambda n: ig.where(n > 0, n, 0.0))(ig.linalg.norm(v)),
        ig.zeros(3),
        [0, 0, 0],
    ),
}


@pytest.mark.parametrize("name", GUARDED)
def test_what_where_did_not_take_puts_no_nan_anywhere(name: str) -> None:
    f, x, wanted = GUARDED[name]

    def loss(v: ig.Tensor) -> ig.Tensor:
        return ig.sum(f(v))

    for gradient in (ig.grad(loss), ig.jit(ig.grad(loss)), ig.jit(ig.grad(ig.checkpoint(loss)))):
        np.testing.assert_allclose(np.asarray(gradient(x)), wanted, rtol=1e-6)
    leaf = ig.copy(x).requires_grad_()
    loss(leaf).backward()
    np.testing.assert_allclose(np.asarray(leaf.grad), wanted, rtol=1e-6)
    with ig.autograd.detect_anomaly():
        again = ig.copy(x).requires_grad_()
        (given,) = ig.autograd.grad(loss(again), [again], create_graph=True)
    np.testing.assert_allclose(np.asarray(given.detach()), wanted, rtol=1e-6)
    by_row = ig.vmap(ig.grad(loss))(ig.stack([x, x]))
    np.testing.assert_allclose(np.asarray(by_row), [wanted, wanted], rtol=1e-6)


def test_what_where_did_not_take_in_sums_and_second_derivatives() -> None:
    normed = ig.grad(lambda v: (lambda s: ig.sum(ig.where(s != 0, v / s, 0.0)))(ig.sum(v)))
    assert normed(ig.zeros(3)).tolist() == [0, 0, 0]
    twice = ig.grad(ig.grad(lambda a: ig.where(a > 0, ig.sqrt(a) * a, 0.0)))
    assert (float(twice(0.0)), float(twice(4.0))) == (0, 0.375)
    leaf = ig.copy(ROWS).requires_grad_()
    y = ig.sum(ig.where(leaf > 0, ig.sqrt(leaf) * leaf, 0.0))
    (first,) = ig.autograd.grad(y, [leaf], create_graph=True)
    ig.sum(first).backward()
    assert leaf.grad.tolist() == [0, 0.375, 0]
    seen: list[Any] = []
    watched = ig.copy(ROWS).requires_grad_()
    root = ig.sqrt(watched)
    root.register_hook(lambda gradient: seen.append(gradient.tolist()))
    ig.sum(ig.where(watched > 0, root, 0.0)).backward()
    assert seen == [[0, 1, 0]]  # who looks sees what the choice left


def test_kinks() -> None:
    g = ig.grad
    assert float(g(ig.abs)(0.0)) == 0
    two = g(lambda x, y: ig.maximum(x, y), argnums=(0, 1))(1.0, 1.0)
    assert [float(v) for v in two] == [0.5, 0.5]
    two = g(lambda x, y: ig.minimum(x, y), argnums=(0, 1))(1.0, 1.0)
    assert [float(v) for v in two] == [0.5, 0.5]
    np.testing.assert_array_equal(np.asarray(g(ig.max)(ig.asarray([3.0, 1.0, 3.0]))), [0.5, 0, 0.5])
    np.testing.assert_array_equal(np.asarray(g(ig.prod)(ig.asarray([2.0, 0.0, 5.0]))), [0, 10, 0])
    np.testing.assert_array_equal(np.asarray(g(ig.prod)(ig.asarray([0.0, 0.0, 5.0]))), [0, 0, 0])
    assert float(g(lambda x: ig.floor(x) * x)(2.5)) == 2
    assert float(g(lambda x: x**0)(0.0)) == 0
    assert float(g(lambda y: ig.asarray(0.0) ** y)(2.0)) == 0
    np.testing.assert_array_equal(
        np.asarray(g(lambda x: ig.sum(ig.cumulative_max(x, axis=0)))(ig.asarray([1.0, 1.0, 0.0]))), [3, 0, 0]
    )
    assert float(g(lambda x: x * ig.stop_gradient(x))(3.0)) == 3


def test_argnums_aux_and_keywords() -> None:
    def f(a: Any, b: Any, *, scale: float) -> Any:
        return scale * ig.sum(a["x"] * b), {"seen": a["x"] + 1, "name": "f"}

    a, b = {"x": ig.asarray([1.0, 2.0])}, ig.asarray([3.0, 4.0])
    (gradient, other), aux = ig.grad(f, argnums=(0, -1), has_aux=True)(a, b, scale=2.0)
    np.testing.assert_array_equal(np.asarray(gradient["x"]), [6, 8])
    np.testing.assert_array_equal(np.asarray(other), [2, 4])
    np.testing.assert_array_equal(np.asarray(aux["seen"]), [2, 3])
    assert aux["name"] == "f"
    (value, aux), gradient = ig.value_and_grad(f, has_aux=True)(a, b, scale=1.0)
    assert float(value) == 11
    assert aux["name"] == "f"
    np.testing.assert_array_equal(np.asarray(gradient["x"]), [3, 4])


def test_vjp_jvp_and_linearize_of_trees() -> None:
    x, y = f64(3), f64(3)
    n = ig.asarray([1, 2, 3])

    def f(x: Any, y: Any, n: Any) -> Any:
        return {"a": x * y, "n": n + 1, "s": ig.sum(ig.sin(x)) * ig.astype(n[0], ig.float64)}

    value, pull = ig.vjp(f, x, y, n)
    ones = ig.ones(3, dtype=ig.float64)
    dx, dy, dn = pull({"a": ones, "n": None, "s": 2.0})
    np.testing.assert_allclose(np.asarray(dx), np.asarray(y) + 2 * np.cos(np.asarray(x)))
    np.testing.assert_allclose(np.asarray(dy), np.asarray(x))
    assert dn is None
    np.testing.assert_array_equal(np.asarray(value["n"]), [2, 3, 4])
    _, tangent = ig.jvp(lambda x, y: (x * y, n), (x, y), (ones, 2 * ones))
    np.testing.assert_allclose(np.asarray(tangent[0]), np.asarray(y) + 2 * np.asarray(x))
    assert tangent[1] is None
    _out, push = ig.linearize(lambda x: ig.exp(x) * y, x)
    np.testing.assert_allclose(np.asarray(push(y)), np.exp(np.asarray(x)) * np.asarray(y) ** 2)
    _, pull, aux = ig.vjp(lambda x: (x * 2, "aux"), x, has_aux=True)
    assert aux == "aux"
    np.testing.assert_array_equal(np.asarray(pull(ones)[0]), [2, 2, 2])
    matrix = f64(3, 4)
    (back,) = ig.linear_transpose(lambda v: matrix @ v, ig.zeros(4, dtype=ig.float64))(x)
    np.testing.assert_allclose(np.asarray(back), np.asarray(matrix).T @ np.asarray(x))


def test_jacobians_and_their_order() -> None:
    def f(x: Any) -> Any:
        return ig.stack([x[0] * x[1], ig.sin(x[2]), x[0] ** 2])

    x = f64(3)
    a, b, c = np.asarray(x)
    want = [[b, a, 0], [0, 0, np.cos(c)], [2 * a, 0, 0]]
    for jacobian in (ig.jacfwd, ig.jacrev):
        np.testing.assert_allclose(np.asarray(jacobian(f)(x)), want, atol=1e-15)
        np.testing.assert_allclose(np.asarray(ig.jit(jacobian(f))(x)), want, atol=1e-15)
    inner = ig.jacrev(lambda p: {"y": p["m"] @ p["v"]})({"m": f64(2, 3), "v": x})
    assert inner["y"]["m"].shape == (2, 2, 3)
    assert inner["y"]["v"].shape == (2, 3)
    np.testing.assert_allclose(np.asarray(inner["y"]["m"])[0, 0], np.asarray(x))
    for second in (ig.jacfwd(ig.jacrev(FUNCTIONS["outer"])), ig.jacrev(ig.jacfwd(FUNCTIONS["outer"]))):
        np.testing.assert_allclose(np.asarray(second(x)), np.asarray(ig.hessian(FUNCTIONS["outer"])(x)), atol=1e-12)


def test_python_control_flow_is_followed() -> None:
    def f(x: Any) -> Any:
        total = x
        while total < 100:
            total = total * x if x > 2 else total * 3
        return total

    assert float(ig.grad(f)(3.0)) == 5 * 3**4
    assert float(ig.grad(f)(1.0)) == 3**5
    assert float(ig.grad(ig.grad(f))(3.0)) == 20 * 3**3
    jitted = ig.jit(ig.grad(f))
    for _ in range(2):
        assert float(jitted(ig.asarray(3.0))) == 5 * 3**4
        assert float(jitted(ig.asarray(1.0))) == 3**5
        assert float(jitted(ig.asarray(4.0))) == 4 * 4**3


def test_closures_over_the_capture_around() -> None:
    def outer(w: Any) -> Any:
        y = w * 2
        return ig.grad(lambda x: ig.sum(x * x * y))(w) + y

    w = ig.asarray([1.0, 3.0])
    want = 2 * np.asarray(w) * 2 * np.asarray(w) + 2 * np.asarray(w)
    np.testing.assert_array_equal(np.asarray(outer(w)), want)
    np.testing.assert_array_equal(np.asarray(ig.jit(outer)(w)), want)
    np.testing.assert_array_equal(np.asarray(ig.trace(outer, w)(w)), want)
    # The derivative of the closure's value is taken too.
    both = ig.grad(lambda w: ig.sum(outer(w)))(w)
    np.testing.assert_array_equal(np.asarray(both), 8 * np.asarray(w) + 2)


def test_graphs_and_traced_functions_are_functions() -> None:
    traced = ig.trace(lambda x: ig.sum(ig.sin(x)), ig.ones(3))
    x = ig.asarray([0.5, 1.0, 2.0])
    np.testing.assert_allclose(np.asarray(ig.grad(traced)(x)), np.cos(np.asarray(x)), rtol=1e-6)
    again = ig.Graph.parse(str(traced.graph))
    np.testing.assert_allclose(np.asarray(ig.grad(again)(x)), np.cos(np.asarray(x)), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(ig.grad(ig.jit(lambda x: ig.sum(x**2)))(x)), 2 * np.asarray(x), rtol=1e-6)


def test_symbolic_sizes() -> None:
    def f(x: Any, w: Any) -> Any:
        return ig.grad(lambda w: ig.mean(ig.tanh(x @ w) ** 2))(w)

    batch = ig.Dim("b", 1, 64)
    w = f64(3, 2)
    traced = ig.trace(f, f64(4, 3), w, dynamic_shapes={"x": {0: batch}})
    for size in (1, 7):
        x = f64(size, 3)
        np.testing.assert_allclose(np.asarray(traced(x, w)), np.asarray(f(x, w)), rtol=1e-12, atol=1e-14)


def test_the_gradient_graph_grows_with_the_graph() -> None:
    def chain(n: int) -> Any:
        def f(x: Any) -> Any:
            for _ in range(n):
                x = ig.sin(x) * 1.5
            return ig.sum(x)

        return len(ig.trace(ig.grad(f), ig.ones(3)).graph)

    small, large = chain(50), chain(100)
    assert large - small == chain(150) - large


def test_sixteen_bit_floats() -> None:
    for dtype in (ig.float16, ig.bfloat16):
        g = ig.grad(lambda x: ig.sum(x * x))(ig.astype(ig.asarray([1.0, 2.0]), dtype))
        assert g.dtype == dtype
        np.testing.assert_array_equal(np.asarray(ig.astype(g, ig.float32)), [2, 4])


DOCUMENTED = [
    *("grad", "value_and_grad", "vjp", "jvp", "linearize", "linear_transpose", "jacfwd", "jacrev", "hessian"),
    *("custom_jvp", "custom_vjp", "checkpoint"),
]


def test_the_examples_of_the_docstrings() -> None:
    for name in DOCUMENTED:
        finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
        (examples,) = finder.find(getattr(ig, name), name, globs={"ig": ig})
        assert examples.examples, name
        assert runner.run(examples).failed == 0, name


def test_newtons_method_converges_quadratically() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "gradients" / "newton.py"
    sizes = [runpy.run_path(str(path))["main"](steps) for steps in (5, 6)]
    assert sizes[0] < 2e-3
    assert sizes[1] < 10 * sizes[0] ** 2
