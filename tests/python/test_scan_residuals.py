"""What reverse mode keeps of each step of a scan, and what `ig.vjp` keeps: chosen by a minimum cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig

RNG = np.random.default_rng(5)
BATCH, WIDTH = 3, 8


def f32(*shape: int) -> Any:
    return ig.asarray((RNG.normal(size=shape) * 0.4).astype(np.float32))


def lstm(w: Any, r: Any, b: Any, h: Any, c: Any, xs: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        gates = x @ w + h @ r + b
        i, f, g, o = (gates[:, n * WIDTH : (n + 1) * WIDTH] for n in range(4))
        c = ig.sigmoid(f) * c + ig.sigmoid(i) * ig.tanh(g)
        h = ig.sigmoid(o) * ig.tanh(c)
        return (h, c), h

    return ig.scan(step, (h, c), xs)[1]


def unrolled(w: Any, r: Any, b: Any, h: Any, c: Any, xs: Any) -> Any:
    outs = []
    for t in range(xs.shape[0]):
        outs.append(lstm(w, r, b, h, c, xs[t : t + 1])[0])
        gates = xs[t] @ w + h @ r + b
        i, f, g, _ = (gates[:, n * WIDTH : (n + 1) * WIDTH] for n in range(4))
        h, c = outs[-1], ig.sigmoid(f) * c + ig.sigmoid(i) * ig.tanh(g)
    return ig.stack(outs)


def operands(steps: int) -> tuple[Any, ...]:
    state = BATCH, WIDTH
    return (
        f32(WIDTH, 4 * WIDTH),
        f32(WIDTH, 4 * WIDTH),
        f32(4 * WIDTH),
        f32(*state),
        f32(*state),
        f32(steps, *state),
    )


def kept(f: Any, *args: Any) -> list[Any]:
    return [each for each in ig.saved_residuals(f, *args) if not each.source.startswith("argument")]


def test_a_step_of_an_lstm_keeps_its_gates_and_its_state() -> None:
    steps = 7
    arrays = kept(lstm, *operands(steps))
    assert all(each.shape[:2] == (steps, BATCH) for each in arrays)
    # Four gates, the state in front of the step in both parts: nothing of what is made of them.
    assert sum(each.shape[-1] for each in arrays) <= 6 * WIDTH
    assert sum(each.bytes for each in arrays) <= 6 * WIDTH * BATCH * steps * 4


@pytest.mark.parametrize("way", ["grad", "jit", "vjp", "tape", "linearize"])
def test_gradients_of_an_lstm(way: str) -> None:
    args = operands(5)
    weight = f32(5, BATCH, WIDTH)
    numbers = tuple(range(6))

    def loss(f: Any) -> Any:
        return lambda *a: ig.sum(f(*a) * weight)

    want = ig.grad(loss(unrolled), argnums=numbers)(*args)
    if way == "grad":
        got = ig.grad(loss(lstm), argnums=numbers)(*args)
    elif way == "jit":
        got = ig.jit(ig.grad(loss(lstm), argnums=numbers))(*args)
    elif way == "vjp":
        got = ig.vjp(lstm, *args)[1](weight)
    elif way == "tape":
        leaves = [ig.asarray(x.numpy(), requires_grad=True) for x in args]
        loss(lstm)(*leaves).backward()
        got = [leaf.grad for leaf in leaves]
    else:
        tangents = [f32(*x.shape) for x in args]
        slope = float(ig.linearize(loss(lstm), *args)[1](*tangents))
        expected = sum(float(ig.sum(a * t)) for a, t in zip(want, tangents, strict=True))
        np.testing.assert_allclose(slope, expected, rtol=1e-4)
        return
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=2e-4, atol=1e-5)


def test_what_is_stacked_as_a_result_is_stacked_once() -> None:
    def f(w: Any, h: Any) -> Any:
        def step(h: Any, _: Any) -> Any:
            y = ig.tanh(h @ w)
            return y + h, y

        return ig.scan(step, h, length=9)[1]

    w, h = f32(WIDTH, WIDTH), f32(BATCH, WIDTH)
    sources = [(each.shape, each.source.split(" at ")[0]) for each in kept(f, w, h)]
    assert sources == [((9, BATCH, WIDTH), "scan")] * 2  # y, and h in front of the step
    known = ig._intaglio._graph_vjp(ig.trace(f, w, h).graph, [True, True], [True])[0]
    (scan,) = (node for node in known.nodes if node["op"] == "scan")
    stacks = [result for result in scan["results"] if tuple(result["shape"])[:1] == (9,)]
    assert len(stacks) == 2  # not three


def test_what_depends_on_constants_is_made_once() -> None:
    def f(w: Any, h: Any) -> Any:
        def step(h: Any, _: Any) -> Any:
            return ig.sin(h * ig.exp(w)), None

        return ig.scan(step, h, length=6)[0]

    w, h = f32(WIDTH), f32(WIDTH)
    shapes = [each.shape for each in kept(f, w, h)]
    assert [shape for shape in shapes if len(shape) == 2] == [(6, WIDTH)]  # the state
    assert all(shape in ((6, WIDTH), (WIDTH,)) for shape in shapes)
    got = ig.jit(ig.grad(lambda w, h: ig.sum(f(w, h)), argnums=(0, 1)))(w, h)

    def plain(w: Any, h: Any) -> Any:
        for _ in range(6):
            h = ig.sin(h * ig.exp(w))
        return ig.sum(h)

    for one, other in zip(got, ig.grad(plain, argnums=(0, 1))(w, h), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)


def test_cheap_work_is_not_kept_by_vjp() -> None:
    """An array in front of a chain of element-wise work is kept, not each step of the chain."""
    x, w = f32(16, 8), f32(8, 32)

    def f(x: Any, w: Any) -> Any:
        y = x @ w
        return ig.sum(0.5 * y * (1 + ig.tanh(0.8 * (y + 0.04 * y * y * y))))

    arrays = kept(f, x, w)
    assert [each.shape for each in arrays] == [(16, 32)]
    assert arrays[0].source.split(" at ")[0] == "dot_general"
    value, pull = ig.vjp(f, x, w)
    want = ig.grad(f, argnums=(0, 1))(x, w)
    assert [a.numpy().tobytes() for a in pull(ig.ones(()))] == [a.numpy().tobytes() for a in want]
    assert float(value) == float(f(x, w))


def test_products_and_random_numbers_are_not_computed_again() -> None:
    key = ig.random.key(0)
    x, w = f32(16, 8), f32(8, 8)

    def f(x: Any, w: Any) -> Any:
        y = ig.sin(x @ w)
        keep = ig.random.bernoulli(key, 0.5, (16, 8))
        return ig.sum(ig.where(keep, y * y, 0.0))

    linear = ig._intaglio._graph_vjp(ig.trace(f, x, w, lift=False).graph, [True, True], [True])[1]
    ops = [node["op"] for node in linear.nodes]
    assert ops.count("dot_general") == 2  # those of the derivative
    assert not [op for op in ops if "random" in op or "threefry" in op]
    # Of the random numbers one byte an element is kept: whether it is taken.
    drawn = [each for each in kept(f, x, w) if each.dtype == ig.bool]
    assert [each.bytes for each in drawn] == [16 * 8]


def test_long_chains_are_no_deep_recursion() -> None:
    def f(x: Any) -> Any:
        for _ in range(3000):
            x = x * (1 + 1e-4 * x)
        return x

    x = f32(4)
    graph = ig.trace(f, x).graph
    known, linear, residuals, _ = ig._intaglio._graph_vjp(graph, [True], [True])
    assert list(residuals) == [0]
    assert len(known.nodes) <= len(linear.nodes)
