"""Small kernels that follow each other as one kernel: the bits of kernels one by one, of eager and by definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import intaglio as ig

FILE = __file__
WITHOUT = ["join-loops", "join-kernels", "hoist-scan"]


def normal(*shape: int, seed: int = 0) -> ig.Tensor:
    return ig.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def lines(traced: Any) -> int:
    """How many kernels of the graph hold others."""
    return str(traced.graph.optimised()).count('kind = "program"')


def arrays(results: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in ig.tree_flatten(results)[0]]


def agree(function: Any, *args: Any, kernels: int | None = None, apart: int | None = None) -> Any:
    """One result compiled with and without the pass, eagerly and by definition; the graph, traced.

    `kernels`: how many the program has; `apart`: without the pass.
    """
    traced = ig.trace(function, *args)
    flat = ig.tree_flatten(args)[0]
    joined, single = traced.graph.compile(), traced.graph.compile(disable=WITHOUT)
    if kernels is not None:
        assert joined.report()["kernels"] == kernels, str(traced.graph.optimised())
    if apart is not None:
        assert single.report()["kernels"] == apart, str(traced.graph.optimised())
    have, want = arrays(joined(*flat)), arrays(single(*flat))
    for one, other, eager in zip(have, want, arrays(function(*args)), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, eager)
    for one, other in zip(
        arrays(traced.graph.compile(target="x86-64-v2")(*flat)),
        arrays(traced.graph.compile(target="x86-64-v2", disable=WITHOUT)(*flat)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    for one, defined in zip(have, arrays(traced.evaluate(*args)), strict=True):
        if one.dtype.kind in "fc":  # its functions are the C library's, its sums in another order
            np.testing.assert_allclose(one.astype(complex), defined.astype(complex), rtol=2e-3, atol=2e-3)
        else:
            np.testing.assert_array_equal(one, defined)
    return traced


def test_ten_kernels_are_one() -> None:
    def f(x: Any) -> Any:
        rows, columns, total = x.sum(1), ig.max(x, axis=0), ig.sum(x)
        y = ig.exp(x - columns) / total
        return y.sum(0), ig.sqrt(ig.abs(rows)) + total, y.T @ x

    traced = agree(f, normal(8, 8), kernels=1)
    assert traced.graph.compile(disable=WITHOUT).report()["kernels"] > 4


def test_a_perceptron() -> None:
    def f(x: Any, w: Any, b: Any, v: Any, c: Any) -> Any:
        return ig.tanh(x @ w + b) @ v + c

    args = normal(1, 16), normal(16, 16, seed=1), normal(16, seed=2), normal(16, 16, seed=3), normal(16, seed=4)
    agree(f, *args, kernels=1, apart=2)


def test_a_small_training_step() -> None:
    def loss(w: Any, x: Any, y: Any) -> Any:
        return ig.mean((ig.tanh(x @ w["a"] + w["b"]) @ w["c"] - y) ** 2)

    def step(w: Any, x: Any, y: Any) -> Any:
        value, slopes = ig.value_and_grad(loss)(w, x, y)
        return value, {name: w[name] - ig.asarray(0.1, dtype=ig.float32) * slopes[name] for name in w}

    w = {"a": normal(6, 8), "b": normal(8, seed=1), "c": normal(8, 3, seed=2)}
    agree(step, w, normal(4, 6, seed=3), normal(4, 3, seed=4), kernels=1)


def test_what_repeats_is_compiled_once() -> None:
    def layers(x: Any, w: Any, b: Any) -> Any:
        for _ in range(6):
            x = x + ig.gelu(x @ w + b)
        return ig.sum(x, axis=1)

    traced = agree(layers, normal(4, 8), normal(8, 8, seed=1), normal(8, seed=2))
    report = traced.graph.compile().report()
    assert lines(traced) == 0
    assert (report["kernels"], report["kernels_shared"]) == (7, 5)
    told = traced.graph.fusion().why("add")
    assert "add does not join the program kernel of reduce_sum: it stands 6 times in the graph" in told


def test_numbers_that_repeat_are_little_code_and_join() -> None:
    def f(x: Any, y: Any) -> Any:
        n = ig.sum(x)
        for _ in range(2):
            n = n / ig.max(y * n)
        return n, y - n

    agree(f, normal(3, 4), normal(5, seed=1))


def test_large_kernels_stay_apart_with_the_reason() -> None:
    def f(x: Any, y: Any) -> Any:
        return ig.sum(x * 2), ig.sum(y), ig.max(y)

    traced = agree(f, normal(8), normal(300, 300, seed=1))
    (told,) = [line for line in traced.graph.compile().report()["fusion_log"] if "the way to it" in line]
    assert told.startswith("reduce_max does not join the program kernel of reduce_sum: it takes some ")
    assert told.endswith(" ns, beside which the way to it (20) is little")


def test_symbolic_sizes_stay_apart() -> None:
    traced = ig.trace(
        lambda x, y: (ig.sum(x), ig.sum(y), ig.max(y * 2)),
        normal(4),
        normal(5),
        dynamic_shapes={"x": {0: ig.Dim("n")}},
    )
    assert lines(traced) == 0
    assert "f32[n] has a size that is a symbol" in traced.graph.fusion().why("reduce_sum")


def test_effects_end_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        y = ig.sum(x * 2, axis=0)
        z = ig.exp(y.sum() + x)
        ig.debug_print("{}", z.sum())
        w = ig.max(z, axis=1)
        return w - w.sum()

    traced = ig.trace(f, normal(4, 4))
    assert lines(traced) == 2
    for one, other in zip(
        arrays(traced(normal(4, 4))), arrays(traced.graph.compile(disable=WITHOUT)(normal(4, 4))), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    printed = capfd.readouterr().out.splitlines()
    assert len(printed) == 2
    assert printed[0] == printed[1]


def test_the_body_of_a_loop_that_is_no_kernel() -> None:
    def f(x: Any, big: Any) -> Any:
        def step(carry: Any) -> Any:
            v, total, n = carry
            v = v - v.sum(0)
            return ig.exp(v.max(1)[:, None] - v), total + ig.matmul(big, big).sum(), n + 1

        return ig.while_loop(lambda c: c[2] < 3, step, (x, ig.asarray(0.0, dtype=ig.float32), ig.asarray(0)))

    traced = ig.trace(f, normal(4, 4), normal(90, 90, seed=1))
    text = str(traced.graph.optimised())
    assert text.count('kind = "program"') >= 1
    assert text.index("while(") < text.index('kind = "program"')
    flat = [normal(4, 4), normal(90, 90, seed=1)]
    for one, other in zip(arrays(traced(*flat)), arrays(traced.graph.compile(disable=WITHOUT)(*flat)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_shapes_of_one_value() -> None:
    def f(x: Any) -> Any:
        y = ig.exp(x.sum(0) - 1)  # (6,)
        a = ig.reshape(y, (2, 3))
        b = ig.reshape(a, (3, 2))
        return a, b.sum(1), y, ig.reshape(x, (6, 4)), ig.reshape(a.T @ a, (9,))

    agree(f, normal(4, 6))


def test_a_result_that_is_an_argument_or_given_twice() -> None:
    def f(x: Any) -> Any:
        y = x.sum(0)
        z = ig.exp(y + x).sum(1)
        return x, z, y, z, ig.reshape(z, (2, 2))

    agree(f, normal(4, 4))


def test_donated_arguments_become_results() -> None:
    def f(x: Any, y: Any) -> Any:
        total = ig.sum(x)
        z = ig.exp(y.sum(0) - total)
        return x * z.sum() + 1, total

    jitted = ig.jit(f, donate_argnums=0)
    want = arrays(f(normal(8, 8), normal(8, 8, seed=1)))
    for _ in range(3):
        x = normal(8, 8)
        have = jitted(x, normal(8, 8, seed=1))
        for one, other in zip(arrays(have), want, strict=True):
            np.testing.assert_array_equal(one, other)
        with pytest.raises(ig.Error):
            x.sum()  # its memory is a result's now


def test_a_donated_argument_that_is_read_later_is_not_overwritten() -> None:
    def f(x: Any) -> Any:
        first = x * 2  # could stand where x does, were x not read below
        total = first.sum(0)
        return first, (x - total).max(1), x[::-1] + total

    jitted = ig.jit(f, donate_argnums=0)
    for one, other in zip(arrays(jitted(normal(5, 5))), arrays(f(normal(5, 5))), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [ig.float16, ig.bfloat16, ig.float64, ig.int8, ig.uint64, ig.complex64])
def test_dtypes(dtype: Any) -> None:
    def f(x: Any) -> Any:
        total = x.sum()
        rows = x.sum(1) * total
        return rows, rows.sum(), (x + rows).T @ x

    agree(f, ig.asarray([[1, 0, 2], [3, 1, 0], [0, 0, 1]]).astype(dtype), kernels=None if dtype is ig.complex64 else 1)


def test_keys() -> None:
    def f(key: Any) -> Any:
        one, two = ig.random.split(key)
        return ig.random.normal(one, (5,)).sum() + ig.random.uniform(two, (3,)), one

    traced = ig.trace(f, ig.random.key(7))
    joined = traced(ig.random.key(7))
    single = traced.graph.compile(disable=WITHOUT)(ig.random.key(7))
    np.testing.assert_array_equal(np.asarray(joined[0]), np.asarray(single[0]))
    assert str(joined[1]) == str(single[1])


def test_constant_weights_are_packed_for_kernels_inside() -> None:
    w, v = normal(24, 40, seed=1), normal(40, 24, seed=2)

    def f(x: Any) -> Any:
        return ig.tanh(x @ w.T) @ v.T

    def g(x: Any, w: Any, v: Any) -> Any:
        return ig.tanh(x @ w.T) @ v.T

    x = normal(2, 40)
    jitted = ig.jit(f)
    for _ in range(4):
        np.testing.assert_array_equal(np.asarray(jitted(x)), np.asarray(f(x)))
    agree(g, x, w, v)


def test_short_folds_have_the_order_of_long_vectors() -> None:
    """The compiled sums of short rows use narrow vectors, the eager ones wide: the same bits."""
    for n in (*range(20), 31, 32, 33, 40, 48, 63, 64, 65, 100):
        for dtype in (ig.float32, ig.float64, ig.float16, ig.int8):
            x = (normal(3, n, seed=n) * 10).astype(dtype)

            def f(x: Any) -> Any:
                return x.sum(1), ig.prod(x, axis=1), ig.sum(x, axis=(0, 1)), x + x * 3

            have = arrays(ig.trace(f, x)(x))
            for one, other in zip(have, arrays(f(x)), strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{n} of {dtype}")
            if n == 0:
                continue
            for fold in (ig.max, ig.min, ig.argmax, ig.var):
                if fold is ig.var and dtype is ig.int8:
                    continue
                one = np.asarray(ig.trace(lambda x, fold=fold: fold(x, axis=1), x)(x))
                np.testing.assert_array_equal(one, np.asarray(fold(x, axis=1)), err_msg=f"{fold} {n} of {dtype}")


def test_special_values_in_short_folds() -> None:
    rows = [[-0.0, -0.0, -0.0], [np.nan, 1, -np.inf], [np.inf, -np.inf, 0], [-np.inf, -np.inf, -np.inf]]
    x = ig.asarray(np.array(rows, np.float32))

    def f(x: Any) -> Any:
        return x.sum(1), ig.max(x, axis=1), ig.min(x, axis=1), ig.prod(x, axis=1), ig.sum(x)

    for one, other in zip(arrays(ig.trace(f, x)(x)), arrays(f(x)), strict=True):
        assert one.tobytes() == other.tobytes()


def _small(x: ig.Tensor, w: ig.Tensor) -> ig.Tensor:
    e = ig.exp(w)
    return x + e


LINE = _small.__code__.co_firstlineno

WHY = f"""\
exponential is in the kernel
  loop: exponential
    at {FILE}:{LINE + 1} in _small:  e = ig.exp(w)
    alone: 64 bytes, 192 operations, some 26 ns
exponential is in the kernel
  program: exponential, broadcast_in_dim, add
    at {FILE}:{LINE + 1} in _small:  e = ig.exp(w)
    at {FILE}:{LINE + 2} in _small:  return x + e
    together: 4192 bytes, 1216 operations, some 155 ns
    apart:    4192 bytes, 1216 operations, some 175 ns
exponential does not join the loop kernel of add: 8 values would be computed 512 times, which costs more than to \
write and read 64 bytes
  at {FILE}:{LINE + 1} in _small:  e = ig.exp(w)
  together: 4128 bytes, 13312 operations, some 456 ns
  apart:    4192 bytes, 1216 operations, some 175 ns"""


def test_what_is_said_of_it() -> None:
    f = ig.jit(_small)
    f(ig.ones((64, 8)), ig.ones(8))
    assert ig.explain(f).fusion.why("exponential") == WHY
    details = ig.trace(_small, ig.ones((64, 8)), ig.ones(8)).graph.optimised().pass_reports[-1]
    assert (details["name"], details["changes"]) == ("join-kernels", 1)
    assert details["details"] == ["program: 2 kernels, some 155 ns, 175 one by one"]
    assert [step["ops"] for step in ig.explain(f).memory.steps] == [["exponential", "add"]]


def test_long_lines_are_several_functions() -> None:
    def f(x: Any) -> Any:
        for n in range(1, 60):
            x = x[: 61 - n].sum() + x[:n] * x[0]
            x = ig.concat([x, x, x])[: 61 - n]
        return x

    traced = agree(f, normal(61))
    assert lines(traced) > 1


# --- random programs ----------------------------------------------------------------------------------------

SIDES = (1, 2, 3, 5, 8)


@st.composite
def programs(draw: st.DrawFn) -> tuple[tuple[int, int], list[tuple[int, int, int, int]], int]:
    shape = draw(st.sampled_from(SIDES)), draw(st.sampled_from(SIDES))
    steps = draw(st.lists(st.tuples(*[st.integers(0, 63)] * 4), min_size=2, max_size=14))
    return shape, steps, draw(st.integers(1, 3))


def run(program: Any, x: Any, y: Any) -> Any:
    """A straight line of small ops of all kinds, each on values that are there already."""
    _, steps, kept = program
    values = [x, y]

    def matrix(v: Any) -> Any:
        return v if v.ndim == 2 else ig.reshape(v, (1, -1))

    for which, a, b, extra in steps:
        u, v = values[a % len(values)], values[b % len(values)]
        kind = which % 12
        if kind == 0:
            out = ig.sum(u, axis=extra % u.ndim) if u.ndim else u
        elif kind == 1:
            out = ig.max(u)
        elif kind == 2:
            out = ig.tanh(u)
        elif kind == 3:
            m, n = matrix(u), matrix(v)
            out = m.T @ n if m.shape[0] == n.shape[0] else m @ m.T
        elif kind == 4:
            out = u + v if u.shape == v.shape else u - ig.sum(v)
        elif kind == 5:
            out = ig.reshape(u, (-1,))
        elif kind == 6:
            out = matrix(u).T
        elif kind == 7:
            out = u[::-1] if u.ndim else u * 2
        elif kind == 8:
            out = ig.sort(ig.reshape(u, (-1,))[:16])
        elif kind == 9:
            out = ig.where(u > 0, u, ig.asarray(0.25, dtype=ig.float32))
        elif kind == 10:
            out = ig.softmax(u, axis=-1) if u.ndim else ig.exp(-u * u)
        else:
            out = ig.concat([ig.reshape(u, (-1,)), ig.reshape(v, (-1,))])[:40]
        scale = ig.max(ig.abs(out)) + ig.asarray(1.0, dtype=ig.float32)
        values.append(out / scale)
    return values[-kept:]


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(programs())
def test_random_lines(program: Any) -> None:
    x, y = normal(*program[0]), normal(*program[0], seed=1)
    traced = ig.trace(lambda x, y: run(program, x, y), x, y)
    have = arrays(traced(x, y))
    for one, other in zip(have, arrays(traced.graph.compile(disable=WITHOUT)(x, y)), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, eager in zip(have, arrays(run(program, x, y)), strict=True):
        np.testing.assert_array_equal(one, eager)
    for one, defined in zip(have, arrays(traced.evaluate(x, y)), strict=True):
        np.testing.assert_allclose(one, defined, rtol=1e-4, atol=1e-5)
