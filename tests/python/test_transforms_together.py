"""Transforms of transforms: derivatives under `vmap` and `vmap` under derivatives, through rules of the user's own,
effects, collectives and complex numbers; on functions and on graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig

RNG = np.random.default_rng(11)


def f64(*shape: int) -> ig.Tensor:
    return ig.asarray(RNG.normal(size=shape))


def c128(*shape: int) -> ig.Tensor:
    return ig.asarray(RNG.normal(size=shape) + 1j * RNG.normal(size=shape))


def close(have: Any, want: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(np.asarray(have), np.asarray(want), rtol=tolerance, atol=tolerance)


def rows(f: Any, *arrays: Any) -> np.ndarray[Any, Any]:
    """f on each slice of the arrays' first axis, stacked."""
    return np.stack([np.asarray(f(*(a[i] for a in arrays))) for i in range(arrays[0].shape[0])])


# --- derivatives and vmap ------------------------------------------------------------------------------------------

M = f64(3, 3)


@ig.custom_jvp
def softened(x: Any) -> Any:
    return ig.log(1 + ig.exp(x))


@softened.defjvp
def softened_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return softened(x), 3 * t / (1 + ig.exp(-x))  # not the derivative, so that it shows which rule was followed


@ig.custom_vjp
def scaled(x: Any, w: Any) -> Any:
    return x * w


scaled.defvjp(lambda x, w: (x * w, (x, w)), lambda kept, ct: (5 * ct * kept[1], 7 * ct * kept[0]))

# A function in a graph.
CALLS = ig.Graph.parse("""graph @calls(%x: f64[3]) {
  %y = call(%x) : f64[3] {
    ^(%v: f64[3]) {
      %s = sine(%v) : f64[3]
      %t = multiply(%s, %v) : f64[3]
      return %t
    }
  }
  return %y
}
""")

SCALARS: dict[str, Any] = {
    "call": lambda x: CALLS(x)[0] + 2 * CALLS(x)[2],
    "products": lambda x: ig.sum(ig.tanh(M @ x) * x),
    "checkpoint": lambda x: ig.sum(ig.checkpoint(lambda v: ig.sin(M @ v) * v)(x)),
    "custom_jvp": lambda x: ig.sum(softened(M @ x)),
    "cond": lambda x: ig.cond(x[0] > 0, lambda: ig.sum(x**3), lambda: ig.sum(ig.exp(x))),
    "scan": lambda x: ig.scan(lambda c, v: (ig.sin(c) * v, None), x[0], x)[0],
    "while": lambda x: ig.sum(ig.while_loop(lambda c: ig.sum(c * c) > 0.5, lambda c: c * 0.7, x) ** 2),
    "fori": lambda x: ig.sum(ig.fori_loop(0, 3, lambda i, c: ig.cos(c) * ig.astype(i + 1, ig.float64), x)),
    "sort": lambda x: ig.sum(ig.sort(x) * ig.asarray([1.0, 2.0, 3.0], dtype=ig.float64)),
    "softmax": lambda x: ig.sum(ig.softmax(x) ** 2),
}


def on_its_own(graph: ig.Graph) -> Any:
    """The graph read back from its text, as a function of its first input; the matrix is the other one."""
    again = ig.Graph.parse(str(graph))
    return lambda x: again(x, *[M] * (len(again.inputs) - 1))


@pytest.mark.parametrize("name", [name for name in SCALARS if name != "custom_jvp"])
def test_gradients_are_those_of_differences(name: str) -> None:
    f, x, step = SCALARS[name], f64(3), 1e-6
    graph = on_its_own(ig.trace(f, x).graph)
    sides = [[float(f(x + sign * step * row)) for row in ig.eye(3, dtype=ig.float64)] for sign in (1, -1)]
    want = np.subtract(*sides) / (2 * step)
    close(ig.grad(f)(x), want, 1e-5)
    close(ig.grad(graph)(x), want, 1e-5)


def test_transposed_calls() -> None:
    """A call inside of what is linear is transposed as one."""
    sums = ig.Graph.parse("""graph @linear(%x: f64[3]) {
  %y = call(%x) : f64[3] {
    ^(%v: f64[3]) {
      %s = cumulative_sum(%v) {axis = 0, reverse = false} : f64[3]
      return %s
    }
  }
  return %y
}
""")
    (have,) = ig.linear_transpose(sums, f64(3))(ig.asarray([1.0, 10.0, 100.0], dtype=ig.float64))
    close(have, [111.0, 110.0, 100.0])


@pytest.mark.parametrize("name", SCALARS)
def test_grad_and_vmap(name: str) -> None:
    f, x = SCALARS[name], f64(4, 3)
    close(ig.vmap(f)(x), rows(f, x))
    per_row = rows(ig.grad(f), x)
    close(ig.vmap(ig.grad(f))(x), per_row)
    close(ig.jit(ig.vmap(ig.grad(f)))(x), per_row)
    close(ig.grad(lambda v: ig.sum(ig.vmap(f)(v)))(x), per_row)
    close(ig.jit(ig.grad(lambda v: ig.sum(ig.vmap(f)(v))))(x), per_row)
    direction = f64(4, 3)
    pushed = ig.vmap(lambda v, d: ig.jvp(f, (v,), (d,))[1])(x, direction)
    close(pushed, (per_row * np.asarray(direction)).sum(1))
    traced = ig.trace(f, x[0])
    graph = on_its_own(traced.graph)
    close(ig.vmap(ig.grad(graph))(x), per_row)
    close(ig.grad(lambda v: ig.sum(ig.vmap(graph)(v)))(x), per_row)
    batched = on_its_own(ig.trace(lambda v: ig.sum(ig.vmap(f)(v)), x).graph)
    close(ig.grad(batched)(x), per_row)


@pytest.mark.parametrize("name", SCALARS)
def test_whole_matrices_are_their_rows(name: str) -> None:
    f, x = SCALARS[name], f64(3)
    second = np.stack([np.asarray(ig.grad(lambda v, i=i: ig.grad(f)(v)[i])(x)) for i in range(3)])  # type: ignore[misc]
    close(ig.jacrev(ig.grad(f))(x), second)
    close(ig.jit(ig.jacrev(ig.grad(f)))(x), second)
    close(ig.jacfwd(ig.grad(f))(x), second)
    close(ig.hessian(f)(x), second)
    close(ig.vmap(ig.hessian(f))(ig.stack([x, x])), np.stack([second, second]))
    close(ig.jit(ig.hessian(f))(x), second)


def test_a_jacobian_is_one_batched_product() -> None:
    w = f64(20, 3)
    graph = ig.trace(ig.jacrev(lambda x: ig.tanh(w @ x)), f64(3)).graph
    assert not [node["op"] for node in graph.nodes if node["op"] == "scan"]
    x = f64(3)
    slope = 1 - np.tanh(np.asarray(w) @ np.asarray(x)) ** 2
    close(ig.jacrev(lambda x: ig.tanh(w @ x))(x), slope[:, None] * np.asarray(w))


def test_custom_vjp_of_many_examples() -> None:
    x, w = f64(4, 3), f64(3)
    both = ig.vmap(ig.grad(lambda x, w: ig.sum(scaled(x, w)), argnums=(0, 1)), in_axes=(0, None))(x, w)
    close(both[0], np.broadcast_to(5 * np.asarray(w), (4, 3)))
    close(both[1], 7 * np.asarray(x))
    # What is the same for all examples gets the sum over them.
    total = ig.grad(lambda w: ig.sum(ig.vmap(scaled, in_axes=(0, None))(x, w)))(w)
    close(total, 7 * np.asarray(x).sum(0))
    close(ig.jit(ig.grad(lambda w: ig.sum(ig.vmap(scaled, in_axes=(0, None))(x, w))))(w), 7 * np.asarray(x).sum(0))
    close(ig.vmap(scaled, in_axes=(0, None))(x, w), np.asarray(x) * np.asarray(w))
    close(ig.vmap(ig.vmap(scaled), in_axes=(0, None))(ig.stack([x, 2 * x]), x)[1], 2 * np.asarray(x) ** 2)


def test_a_rule_in_a_branch_that_a_row_does_not_take() -> None:
    @ig.custom_vjp
    def root(x: Any, w: Any) -> Any:
        return ig.sqrt(x) * w

    root.defvjp(lambda x, w: (ig.sqrt(x) * w, x), lambda x, ct: (ct / (2 * ig.sqrt(x)), ct * ig.sqrt(x)))

    def f(x: Any, w: Any) -> Any:
        return ig.cond(x > 0, lambda: root(x, w), lambda: x)

    x = ig.asarray([4.0, -1.0, 9.0])
    by_w = ig.grad(lambda w: ig.sum(ig.vmap(f, in_axes=(0, None))(x, w)))(ig.asarray(1.0))
    assert float(by_w) == 5
    by_x = ig.grad(lambda x: ig.sum(ig.vmap(f, in_axes=(0, None))(x, ig.asarray(1.0))))(x)
    close(by_x, [0.25, 1, 1 / 6], 1e-6)


BY_ROWS: dict[str, Any] = {
    "cond": lambda x, w: ig.cond(x > 0, lambda: w * ig.sqrt(x), lambda: x),
    "switch": lambda x, w: ig.switch(ig.astype(x > 0, ig.int32), [lambda: x, lambda: w * ig.sqrt(x)]),
    "cond in cond": lambda x, w: ig.cond(x > -5, lambda: ig.cond(x > 0, lambda: w * ig.sqrt(x), lambda: x), lambda: x),
    "while": lambda x, w: ig.while_loop(lambda c: (c > 0) & (c < 100), lambda c: 100 + w * ig.sqrt(c), x)[()],
}


@pytest.mark.parametrize("kind", BY_ROWS)
@pytest.mark.parametrize("rows", [[4.0, -1.0, 9.0], [-1.0, 0.0, -2.0], [4.0], []])
def test_no_nan_from_what_a_row_does_not_do(kind: str, rows: list[float]) -> None:
    f = BY_ROWS[kind]
    x, w = ig.asarray(rows, dtype=ig.float64), ig.asarray(2.0, dtype=ig.float64)
    ones = np.asarray(rows) > 0
    slope = np.where(ones, 1 / np.sqrt(np.where(ones, rows, 1)), 1)
    total = np.sum(np.sqrt(np.where(ones, rows, 0)))

    def whole(x: Any, w: Any) -> Any:
        return ig.sum(ig.vmap(f, in_axes=(0, None))(x, w))

    for transform in (lambda g: g, ig.jit):
        by_x, by_w = transform(ig.grad(whole, argnums=(0, 1)))(x, w)
        close(by_x, slope)
        close(by_w, total)
        if rows:
            close(transform(ig.vmap(ig.grad(f), in_axes=(0, None)))(x, w), slope)
            close(transform(ig.jacfwd(lambda x: ig.vmap(f, in_axes=(0, None))(x, w)))(x), np.diag(slope))


def test_checkpoint_stays_one_under_vmap() -> None:
    graph = ig.trace(ig.vmap(ig.checkpoint(lambda x: ig.sin(ig.sin(x)))), f64(4)).graph
    assert [node["op"] for node in graph.nodes] == ["checkpoint"]


# --- transposes ----------------------------------------------------------------------------------------------------


def test_what_a_loop_knows_is_no_part_of_the_transpose() -> None:
    def f(x: Any) -> Any:
        last, count = ig.fori_loop(0, 3, lambda i, c: (c[0] * 2, c[1] + 1), (x, ig.asarray(0.0)))
        known, _ = ig.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 2, c[1] * 1.0), (ig.asarray(0.0), x))
        return last * count + x * known * count

    (back,) = ig.linear_transpose(f, ig.zeros(2))(ig.asarray([1.0, 10.0]))
    close(back, [8 * 3 + 6 * 3, 10 * (8 * 3 + 6 * 3)])


def test_a_branch_that_gives_something_known() -> None:
    def f(x: Any, flag: Any) -> Any:
        value, known = ig.cond(flag, lambda: (x * 2, 3.0), lambda: (x * 5, 7.0))
        return value * known

    (back,) = ig.linear_transpose(lambda x: f(x, ig.asarray(True)), ig.zeros(2))(ig.asarray([1.0, 10.0]))
    close(back, [6, 60])


# --- effects -------------------------------------------------------------------------------------------------------


def printed(capsys: Any, run: Any) -> list[str]:
    capsys.readouterr()
    run()
    return str(capsys.readouterr().out).split("\n")[:-1]


def test_each_row_prints_on_its_own_path(capsys: Any) -> None:
    def f(x: Any) -> Any:
        def positive() -> Any:
            ig.debug_print("up {x}", x=x)
            return x * 2

        def other() -> Any:
            ig.debug_print("down")
            return x

        return ig.cond(x > 0, positive, other)

    x = ig.asarray([1, -2, 3])
    for function in (ig.vmap(f), ig.jit(ig.vmap(f))):
        assert sorted(printed(capsys, lambda function=function: function(x))) == ["down", "up 1", "up 3"]  # type: ignore[misc]


def test_each_row_prints_as_long_as_it_runs(capsys: Any) -> None:
    def f(x: Any) -> Any:
        def body(v: Any) -> Any:
            ig.debug_print("at {v}", v=v)
            return v - 1

        return ig.while_loop(lambda v: v > 0, body, x)

    assert printed(capsys, lambda: ig.vmap(f)(ig.asarray([1, 3, 0]))) == ["at 1", "at 3", "at 2", "at 1"]


def test_a_check_in_a_branch_that_a_row_does_not_take() -> None:
    def f(x: Any) -> Any:
        def safe() -> Any:
            ig.check(x < 10, "too large: {x}", x=x)
            return ig.sqrt(x)

        return ig.cond(x > 0, safe, lambda: x)

    close(ig.vmap(f)(ig.asarray([4.0, -20.0, 9.0])), [2, -20, 3])
    with pytest.raises(ig.ValueError, match="too large: 11"):
        ig.vmap(f)(ig.asarray([4.0, -20.0, 11.0]))
    # x < 10 is false for none of these that is asked
    close(ig.vmap(lambda x: f(-x))(ig.asarray([-4.0, 20.0])), [2, -20])


@pytest.mark.parametrize("kind", ["plain", "checkpoint", "scan", "while", "cond", "call"])
def test_a_derivative_prints_once(kind: str, capsys: Any) -> None:
    def noisy(x: Any) -> Any:
        ig.debug_print("here")
        ig.check(x > -100, "never")
        return ig.sin(x)

    functions: dict[str, Any] = {
        "plain": noisy,
        "checkpoint": ig.checkpoint(noisy),
        "scan": lambda x: ig.scan(lambda c, _: (noisy(c), None), x, None, length=2)[0],
        "while": lambda x: ig.while_loop(lambda c: c[1] < 2, lambda c: (noisy(c[0]), c[1] + 1), (x, 0))[0],
        "cond": lambda x: ig.cond(x > 0, noisy, lambda v: v, x),
        "call": ig.jit(noisy),
    }
    f = functions[kind]
    want = ["here"] * (2 if kind in ("scan", "while") else 1)
    x = ig.asarray(0.5)
    assert printed(capsys, lambda: ig.trace(f, x)(x)) == want
    assert printed(capsys, lambda: ig.grad(f)(x)) == want
    assert printed(capsys, lambda: ig.jit(ig.value_and_grad(f))(x)) == want
    assert printed(capsys, lambda: ig.jvp(f, (x,), (x,))) == want
    assert printed(capsys, lambda: ig.vjp(f, x)[1](x)) == want


# --- collectives ---------------------------------------------------------------------------------------------------

COLLECTIVES: dict[str, Any] = {
    "psum": (lambda x: x * ig.psum(x * x, "i"), lambda x: x * ig.sum(x * x, axis=0)),
    "pmean": (lambda x: ig.sin(x - ig.pmean(x, "i")), lambda x: ig.sin(x - ig.mean(x, axis=0))),
    "all_gather": (
        lambda x: ig.sum(ig.all_gather(x, "i") ** 2 * ig.asarray([1.0, 2.0, 3.0, 4.0])[:, None]) * x,
        lambda x: ig.sum(x**2 * ig.asarray([1.0, 2.0, 3.0, 4.0])[:, None]) * x,
    ),
    "ppermute": (
        lambda x: x * ig.ppermute(x, "i", [(0, 1), (1, 2), (3, 0)]),
        lambda x: x * ig.concat([x[3:], x[:2], 0 * x[:1]]),
    ),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_derivatives_of_collectives(name: str) -> None:
    own, whole = COLLECTIVES[name]
    x, weight = f64(4, 2), f64(4, 2)
    want = ig.grad(lambda x: ig.sum(whole(x) * weight))(x)
    close(ig.grad(lambda x: ig.sum(ig.vmap(own, axis_name="i")(x) * weight))(x), want)
    tangent = ig.jvp(whole, (x,), (weight,))[1]
    close(ig.jvp(ig.vmap(own, axis_name="i"), (x,), (weight,))[1], tangent)
    # Inside: the derivative of all examples' results together, by this example's argument.
    inside = ig.vmap(lambda x, w: ig.vjp(own, x)[1](w)[0], axis_name="i")(x, weight)
    close(inside, want)
    close(ig.vmap(lambda x, t: ig.jvp(own, (x,), (t,))[1], axis_name="i")(x, weight), tangent)


# --- complex numbers -----------------------------------------------------------------------------------------------

HOLOMORPHIC: dict[str, Any] = {
    "multiply": lambda z: z * z * (2 + 1j),
    "divide": lambda z: (z + 3) / (z * z + 4j),
    "exp": ig.exp,
    "log": ig.log,
    "sqrt": ig.sqrt,
    "power": lambda z: z**3,
    "sin": lambda z: (ig.exp(1j * z) - ig.exp(-1j * z)) / 2j,
    "product": lambda z: ig.asarray([[1 + 2j, 3], [1j, -1]], dtype=ig.complex128) @ z,
}


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_holomorphic_functions(name: str) -> None:
    f, z, t = HOLOMORPHIC[name], c128(2), c128(2)
    step = 1e-6
    value, tangent = ig.jvp(f, (z,), (t,))
    close(value, f(z))
    close(tangent, (np.asarray(f(z + step * t)) - np.asarray(f(z - step * t))) / (2 * step), 1e-7)
    # JAX's convention: the transpose is not conjugated.
    ct = c128(2)
    (back,) = ig.vjp(f, z)[1](ct)
    close((np.asarray(back) * np.asarray(t)).sum(), (np.asarray(ct) * np.asarray(tangent)).sum())
    close(ig.jit(lambda z, ct: ig.vjp(f, z)[1](ct)[0])(z, ct), back)
    close(ig.vmap(lambda z, t: ig.jvp(f, (z,), (t,))[1])(ig.stack([z]), ig.stack([t]))[0], tangent)


REAL_OF_COMPLEX: dict[str, Any] = {
    "abs": lambda z: ig.sum(ig.abs(z)),
    "real": lambda z: ig.sum(ig.real(z) ** 3),
    "imag": lambda z: ig.sum(ig.sin(ig.imag(z))),
    "conj": lambda z: ig.sum(ig.real(ig.conj(z) * z * (1 + 2j))),
    "exp": lambda z: ig.sum(ig.imag(ig.exp(z))),
    "log": lambda z: ig.sum(ig.real(ig.log(z) * (1 - 1j))),
    "sqrt": lambda z: ig.sum(ig.imag(ig.sqrt(z))),
    "divide": lambda z: ig.sum(ig.abs((z + 1) / (z - 4j)) ** 2),
    "dot": lambda z: ig.real(z @ ig.conj(z) + z @ z * 1j),
    "there and back": lambda z: ig.sum(ig.real(z) * ig.imag(z * z)),
}


@pytest.mark.parametrize("name", REAL_OF_COMPLEX)
def test_real_numbers_of_complex_ones(name: str) -> None:
    f, z, step = REAL_OF_COMPLEX[name], c128(3), 1e-6
    want = np.zeros(3, np.complex128)
    for i in range(3):
        unit = np.zeros(3)
        unit[i] = step
        along = [float(f(z + ig.asarray(d))) - float(f(z - ig.asarray(d))) for d in (unit, 1j * unit)]
        want[i] = (along[0] - 1j * along[1]) / (2 * step)  # JAX: df/dx - i df/dy
    close(ig.grad(f)(z), want, 1e-7)
    close(ig.jit(ig.grad(f))(z), want, 1e-7)
    close(ig.vmap(ig.grad(f))(ig.stack([z, z]))[1], want, 1e-7)
    t = c128(3)
    close(ig.jvp(f, (z,), (t,))[1], (want * np.asarray(t)).sum().real, 1e-7)


REAL_THROUGH_COMPLEX: dict[str, Any] = {
    "convert": lambda x: ig.sum(ig.abs(ig.astype(x, ig.complex128) * (1 + 2j)) ** 2),
    "rotate": lambda x: ig.real(ig.sum(ig.exp(1j * x) * (2 - 1j))),
    "parts": lambda x: ig.sum(ig.imag((x + 1j * x**2) ** 2)),
}


@pytest.mark.parametrize("name", REAL_THROUGH_COMPLEX)
def test_real_numbers_through_complex_ones(name: str) -> None:
    f, x, step = REAL_THROUGH_COMPLEX[name], f64(3), 1e-6
    units = step * np.eye(3)
    want = [(float(f(x + ig.asarray(u))) - float(f(x - ig.asarray(u)))) / (2 * step) for u in units]
    gradient = ig.grad(f)(x)
    assert gradient.dtype == ig.float64
    close(gradient, want, 1e-7)
    close(ig.jit(ig.grad(f))(x), want, 1e-7)
    close(np.asarray(ig.hessian(f)(x)), np.asarray(ig.hessian(f)(x)).T)


def test_bits_of_a_float_have_no_derivative() -> None:
    def f(x: Any) -> Any:
        bits = ig.bitcast(x, dtype=ig.int32)
        return ig.sum(x * x) + ig.sum(ig.astype(bits & 1, ig.float32))

    x = ig.asarray([1.5, -2.0])
    close(ig.grad(f)(x), [3, -4])
    close(ig.jit(ig.grad(f))(x), [3, -4])
    close(ig.jvp(f, (x,), (ig.ones(2),))[1], -1)


def test_functions_that_are_wrapped_where_they_are_used() -> None:
    """`jit` and all transforms may be made anew inside of a function that is captured."""

    def outer(x: Any) -> Any:
        double = ig.jit(lambda v: v * 2)

        @ig.jit(static_argnums=1)
        def power(v: Any, n: int) -> Any:
            return v**n

        slope = ig.vmap(ig.grad(ig.jit(lambda v: v * v)))
        return ig.sum(power(double(x), 3)) + ig.sum(slope(x))

    x = ig.asarray([1.0, 2.0])
    for f in (outer, ig.jit(outer)):
        assert float(f(x)) == 78.0
        assert np.asarray(ig.jit(ig.grad(f))(x)).tolist() == [26.0, 98.0]
    named = ig.jit(outer)
    assert (named.__name__, named.__wrapped__) == ("outer", outer)
