"""Transforms of transforms: derivatives under `vmap` and `vmap` under derivatives, collectives and complex numbers; on
functions and on graphs."""

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


SCALARS: dict[str, Any] = {
    "products": lambda x: ig.sum(ig.tanh(M @ x) * x),
    "checkpoint": lambda x: ig.sum(ig.checkpoint(lambda v: ig.sin(M @ v) * v)(x)),
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


@pytest.mark.parametrize("name", SCALARS)
def test_grad_and_vmap(name: str) -> None:
    f, x = SCALARS[name], f64(4, 3)
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


def test_checkpoint_stays_one_under_vmap() -> None:
    graph = ig.trace(ig.vmap(ig.checkpoint(lambda x: ig.sin(ig.sin(x)))), f64(4)).graph
    assert [node["op"] for node in graph.nodes] == ["checkpoint"]


# --- collectives ---------------------------------------------------------------------------------------------------

COLLECTIVES: dict[str, Any] = {
    "psum": (lambda x: x * ig.psum(x * x, "i"), lambda x: x * ig.sum(x * x, axis=0)),
    "pmean": (lambda x: ig.sin(x - ig.pmean(x, "i")), lambda x: ig.sin(x - ig.mean(x, axis=0))),
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
