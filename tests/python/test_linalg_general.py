"""Eigenvalues of any square matrix, functions of matrices, complex systems and SciPy's solvers of `ig.linalg`: by what
they are, against NumPy and SciPy, on matrices that are hard, under derivatives, batches and captures, and in errors."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import _matrix_functions, linalg

RNG = np.random.default_rng(11)
DTYPES = ["float32", "float64", "complex64", "complex128"]


def draw(*shape: int, dtype: str = "float64") -> np.ndarray:
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def apart(found: Any, wanted: Any) -> float:
    """The largest distance of two sets of numbers, each to the nearest that is left."""
    left, worst = list(np.asarray(found)), 0.0
    assert len(left) == len(wanted)
    for z in wanted:
        nearest = int(np.argmin(np.abs(np.array(left) - z)))
        worst = max(worst, abs(left.pop(nearest) - z))
    return worst


def check_eig(x: np.ndarray) -> None:
    w, v = (np.asarray(part) for part in linalg.eig(ig.asarray(x)))
    scale = float(np.abs(x).max(initial=0)) or 1.0
    unit = x / x.dtype.type(scale)
    bound = 8 * (x.shape[-1] + 2) ** 0.5 * np.finfo(x.dtype).eps * max(np.linalg.norm(unit), 1)
    assert w.dtype == v.dtype == np.result_type(x.dtype, np.complex64)
    assert np.abs(unit @ v - v * (w / scale)).max(initial=0) <= bound
    assert np.abs(np.linalg.norm(v, axis=0) - 1).max(initial=0) <= 16 * np.finfo(x.dtype).eps
    sizes = np.abs(v)
    first = (sizes >= 0.99 * sizes.max(0)).argmax(0)
    large = np.take_along_axis(v, first[None], 0)
    assert (large.real > 0).all()
    assert np.abs(large.imag).max(initial=0) <= 4 * np.finfo(x.dtype).eps
    values = np.asarray(linalg.eigvals(ig.asarray(x)))
    assert apart(values, w) <= bound * scale


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 33, 60])
def test_eigenvalues_of_any_matrix(n: int, dtype: str) -> None:
    x = draw(n, n, dtype=dtype)
    check_eig(x)
    wide = x.astype(np.complex128 if dtype.startswith("complex") else np.float64)
    wanted = np.linalg.eigvals(wide)
    condition = np.linalg.cond(np.linalg.eig(wide)[1])
    assert apart(linalg.eigvals(ig.asarray(x)), wanted) <= 30 * np.finfo(dtype).eps * np.linalg.norm(wide) * condition


def hard() -> dict[str, np.ndarray]:
    """Matrices with equal, tiny, huge or no eigenvalues, without a basis of vectors, and cycles of shifts."""
    grcar = np.eye(30) - np.eye(30, k=-1) + sum(np.eye(30, k=k) for k in (1, 2, 3))
    return {
        "zeros": np.zeros((5, 5)),
        "identity": np.eye(6),
        "one block of Jordan's": 2 * np.eye(8) + np.eye(8, k=1),
        "nilpotent": np.eye(12, k=1),
        "a cycle": np.roll(np.eye(9), 1, axis=0),
        "two cycles": np.kron(np.eye(2), np.roll(np.eye(4), 1, axis=0)),
        "rotations": np.kron(np.eye(3), np.array([[0.0, 1.0], [-1.0, 0.0]])),
        "grcar": grcar,
        "huge": draw(6, 6) * 1e300,
        "tiny": draw(6, 6) * 1e-300,
        "graded": draw(8, 8) * 10.0 ** -np.arange(8),
        "symmetric": (lambda a: a + a.T)(draw(12, 12)),
        "triangle": np.triu(draw(9, 9)),
        "companion": np.vstack([-np.poly(np.arange(1.0, 11))[1:], np.eye(9, 10)]),
    }


@pytest.mark.parametrize("name", hard())
def test_hard_matrices(name: str) -> None:
    check_eig(hard()[name])


def test_real_values_of_real_matrices_are_real() -> None:
    values = np.asarray(linalg.eigvals(ig.asarray([[4.0, 1.0, 0.0], [2.0, 3.0, 0.0], [1.0, 1.0, -1.0]])))
    assert (values.imag == 0).all()
    assert (np.asarray(linalg.eig(ig.asarray(np.triu(draw(6, 6)))).eigenvectors).imag == 0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_stay_in_their_matrix(bad: float) -> None:
    x = draw(3, 4, 4)
    x[1, 2, 3] = bad
    w, v = (np.asarray(part) for part in linalg.eig(ig.asarray(x)))
    assert np.isnan(w[1].real).all()
    assert np.isnan(v[1].real).all()
    for i in (0, 2):
        np.testing.assert_array_equal(w[i], np.asarray(linalg.eig(ig.asarray(x[i])).eigenvalues))
    assert linalg.eigvals(ig.zeros((0, 0))).shape == (0,)
    assert linalg.eig(ig.zeros((2, 0, 0))).eigenvectors.shape == (2, 0, 0)
    assert linalg.eigvals(ig.zeros((0, 3, 3))).shape == (0, 3)


def test_batches_and_captures() -> None:
    x = ig.asarray(draw(4, 5, 5))
    want = [np.asarray(linalg.eig(x[i]).eigenvectors) for i in range(4)]
    for run in (linalg.eig, ig.vmap(linalg.eig), ig.jit(linalg.eig), ig.jit(ig.vmap(linalg.eig, in_axes=0))):
        np.testing.assert_array_equal(np.asarray(run(x)[1]), np.stack(want))
    np.testing.assert_array_equal(np.asarray(np.linalg.eigvals(x)), np.asarray(linalg.eigvals(x)))


# --- derivatives -----------------------------------------------------------------------------------------------------


def differences(f: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The gradient of a real number by each real part, and by each imaginary one times i."""
    out = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        for unit in (1, 1j) if np.iscomplexobj(x) else (1,):
            move = np.zeros_like(x)
            move[place] = unit * step
            slope = (float(f(ig.asarray(x + move))) - float(f(ig.asarray(x - move)))) / (2 * step)
            out[place] += slope * (np.conj(unit) if np.iscomplexobj(x) else 1)
    return out


def values_of(x: ig.Tensor) -> ig.Tensor:
    w = linalg.eigvals(x)
    return ig.sum(ig.real(w * w * w)) + ig.sum(ig.real(w) * ig.real(w)) + ig.sum(ig.abs(w))


def vectors_of(x: ig.Tensor) -> ig.Tensor:
    w, v = linalg.eig(x)
    weights = ig.asarray(np.arange(1.0, 1 + v.shape[-1])[:, None])
    return ig.sum(ig.real(v) * weights * ig.real(w)) + ig.sum(ig.imag(v) * ig.imag(v) * weights * weights)


@pytest.mark.parametrize("f", [values_of, vectors_of])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_eigenvalues_and_vectors(f: Any, dtype: str) -> None:
    x = np.random.default_rng(5).standard_normal((4, 4)).astype(dtype)
    if dtype == "complex128":
        x = x + 1j * np.random.default_rng(6).standard_normal((4, 4))
    for run in (ig.grad(f), ig.jit(ig.grad(f))):
        np.testing.assert_allclose(np.asarray(run(ig.asarray(x))), differences(f, x), rtol=2e-6, atol=2e-7)
    if dtype == "float64":
        t = np.random.default_rng(7).standard_normal((4, 4))
        _, slope = ig.jvp(f, (ig.asarray(x),), (ig.asarray(t),))
        assert float(slope) == pytest.approx(float((np.asarray(ig.grad(f)(ig.asarray(x))) * t).sum()), rel=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_systems_and_exponentials(dtype: str) -> None:
    x, y = draw(3, 3, dtype=dtype), ig.asarray(draw(3, 2, dtype=dtype))
    for f in (
        lambda a: ig.sum(ig.abs(linalg.solve(a, y)) ** 2),
        lambda a: ig.sum(ig.abs(linalg.inv(a)) ** 2),
        lambda a: ig.sum(ig.abs(linalg.expm(a)) ** 2),
        lambda a: ig.sum(ig.abs(linalg.expm(a * 4)) ** 2) * 1e-3,
    ):
        want = differences(f, x)
        np.testing.assert_allclose(
            np.asarray(ig.grad(f)(ig.asarray(x))), want, rtol=1e-5, atol=1e-6 * np.abs(want).max()
        )
    assert (np.asarray(ig.grad(lambda a: ig.sum(linalg.expm(a)))(ig.zeros((2, 2)))) == 1).all()


# --- the others ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_systems(dtype: str) -> None:
    a, b = draw(2, 6, 6, dtype=dtype), draw(6, 3, dtype=dtype)
    bound = 1e3 * np.finfo(dtype).eps
    np.testing.assert_allclose(
        np.asarray(linalg.solve(ig.asarray(a), ig.asarray(b))), np.linalg.solve(a, b), rtol=bound
    )
    np.testing.assert_allclose(np.asarray(linalg.inv(ig.asarray(a))), np.linalg.inv(a), rtol=bound, atol=bound)
    np.testing.assert_array_equal(
        np.asarray(ig.jit(ig.vmap(linalg.inv))(ig.asarray(a))), np.asarray(linalg.inv(ig.asarray(a)))
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("norm", [0.0, 1e-3, 0.5, 3.0, 20.0])
def test_exponentials(norm: float, dtype: str) -> None:
    x = draw(3, 5, 5, dtype=dtype)
    x = (x * norm / np.abs(x).sum(-2, keepdims=True).max()).astype(dtype)
    wide = x.astype(np.complex128) if dtype.startswith("complex") else x.astype(np.float64)
    want = np.stack([scipy.linalg.expm(one) for one in wide])
    got = np.asarray(linalg.expm(ig.asarray(x)))
    assert np.abs(got - want).max() <= 60 * max(norm, 1) * np.finfo(dtype).eps * np.abs(want).max()
    np.testing.assert_array_equal(np.asarray(ig.jit(linalg.matrix_exp)(ig.asarray(x))), got)


def test_exponentials_at_edges() -> None:
    assert linalg.expm(ig.zeros((0, 0))).shape == (0, 0)
    decays = np.asarray(linalg.expm(ig.asarray([[-1e5, 1.0], [0.0, -1.0]], dtype="float64")))
    np.testing.assert_allclose(decays, scipy.linalg.expm(np.array([[-1e5, 1.0], [0.0, -1.0]])), rtol=1e-10, atol=1e-16)
    for bad in (np.nan, np.inf, 1e7):
        x = np.stack([np.eye(2), np.array([[bad, 0.0], [0.0, 0.0]])])
        got = np.asarray(linalg.expm(ig.asarray(x)))
        assert np.isnan(got[1]).all()
        np.testing.assert_allclose(got[0], np.eye(2) * np.e, rtol=1e-14)


def test_roots() -> None:
    for p in ([1.0, -6.0, 11.0, -6.0], [0.0, 0.0, 2.0, 4.0, 0.0, 0.0], [3.0], [0.0, 0.0], [1.0, 0.0, 1.0], [2, -8]):
        assert apart(ig.roots(ig.asarray(p, dtype="float64")), np.roots(p)) < 1e-12
    assert apart(np.roots(ig.asarray([1.0, 0.0, 4.0])), [2j, -2j]) < 1e-6
    fixed = ig.jit(lambda p: ig.roots(p, strip_zeros=False))
    assert apart(fixed(ig.asarray([1.0, -3.0, 2.0])), [1, 2]) < 1e-6
    slope = ig.grad(lambda p: ig.sum(ig.real(ig.roots(p, strip_zeros=False)) ** 2))(ig.asarray([1.0, -3.0, 2.0]))
    np.testing.assert_allclose(np.asarray(slope)[1:], [-6.0, -2.0], rtol=1e-5)  # (b/a)^2 - 2 c/a


def test_powers() -> None:
    x = draw(2, 4)
    for count in (None, 0, 1, 3, 6):
        for increasing in (False, True):
            want = np.stack([np.vander(row, count, increasing) for row in x])
            np.testing.assert_allclose(
                np.asarray(linalg.vander(ig.asarray(x), count, increasing=increasing)), want, 1e-14
            )
    assert linalg.vander(ig.asarray([0.0])).tolist() == [[1.0]]


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (2, 5, 2)])
def test_products_of_reflectors(shape: tuple[int, ...]) -> None:
    x = draw(*shape).reshape(-1, *shape[-2:])
    (raw, tau) = zip(*(scipy.linalg.qr(one, mode="raw")[0] for one in x), strict=True)
    want = np.stack([scipy.linalg.qr(one, mode="economic")[0] for one in x]).reshape(shape)
    a, t = np.stack(raw).reshape(shape), np.stack(tau).reshape(*shape[:-2], -1)
    np.testing.assert_allclose(np.asarray(linalg.householder_product(ig.asarray(a), ig.asarray(t))), want, atol=1e-13)
    few = np.asarray(linalg.householder_product(ig.asarray(a), ig.asarray(t * 0)))
    np.testing.assert_array_equal(few, np.broadcast_to(np.eye(*shape[-2:]), shape))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scipy_s_solvers(dtype: str) -> None:
    a, b = draw(5, 5, dtype=dtype), draw(5, 2, dtype=dtype)
    spd = (a @ a.T + 5 * np.eye(5)).astype(dtype)
    bound = 2e3 * np.finfo(dtype).eps
    x, y, s = ig.asarray(a), ig.asarray(b), ig.asarray(spd)
    for trans in (0, 1, 2, "N", "T", "C"):
        for lower in (False, True):
            want = scipy.linalg.solve_triangular(spd, b, trans, lower)
            np.testing.assert_allclose(np.asarray(linalg.solve_triangular(s, y, trans, lower)), want, bound, bound)
        want = np.linalg.solve(a if trans in (0, "N") else a.T, b)
        lu, piv = linalg.lu_factor(x)
        np.testing.assert_array_equal(np.asarray(piv), scipy.linalg.lu_factor(a)[1])
        np.testing.assert_allclose(np.asarray(linalg.lu_solve((lu, piv), y, trans)), want, bound, bound)
        np.testing.assert_allclose(
            np.asarray(ig.jit(lambda p, trans=trans: linalg.lu_solve(p, y[:, 0], trans))((lu, piv))),
            want[:, 0],
            bound,
            bound,
        )
    want = np.linalg.solve(spd, b)
    for lower in (False, True):
        factor = linalg.cho_factor(s, lower)
        np.testing.assert_allclose(np.asarray(factor[0]), np.linalg.cholesky(spd, upper=not lower), bound, bound)
        np.testing.assert_allclose(np.asarray(linalg.cho_solve(factor, y)), want, bound, bound)
        np.testing.assert_allclose(np.asarray(linalg.cholesky_solve(y, factor[0], not lower)), want, bound, bound)
    many = ig.stack([x, x.mT])
    got = linalg.lu_solve(linalg.lu_factor(many), ig.stack([y, y]))
    np.testing.assert_allclose(np.asarray(got), np.linalg.solve(np.stack([a, a.T]), np.stack([b, b])), bound, bound)
    slope = ig.grad(lambda a: ig.sum(linalg.lu_solve(linalg.lu_factor(a), y)))(x)
    np.testing.assert_allclose(
        np.asarray(slope), np.asarray(ig.grad(lambda a: ig.sum(linalg.solve(a, y)))(x)), bound * 10, bound * 10
    )


# --- errors ----------------------------------------------------------------------------------------------------------


def refusals() -> dict[str, Any]:
    square, high = ig.eye(2), ig.ones((2, 3))
    return {
        "eig of a vector": lambda: linalg.eig(ig.ones((3,))),
        "eig of a high matrix": lambda: linalg.eig(high),
        "eigvals of 16 bits": lambda: linalg.eigvals(square.astype("float16")),
        "eigvals of a complex high matrix": lambda: linalg.eigvals(high.astype("complex64")),
        "expm of a high matrix": lambda: linalg.expm(high),
        "expm of 16 bits": lambda: linalg.expm(square.astype("bfloat16")),
        "roots of a matrix": lambda: ig.roots(square),
        "roots of a traced polynomial": lambda: ig.trace(ig.roots, ig.ones((3,))),
        "vander of a number": lambda: linalg.vander(ig.asarray(1.0)),
        "vander of a negative N": lambda: linalg.vander(ig.ones((2,)), -1),
        "reflectors of a wide matrix": lambda: linalg.householder_product(high, ig.ones((2,))),
        "more factors than columns": lambda: linalg.householder_product(square, ig.ones((3,))),
        "trans": lambda: linalg.solve_triangular(square, square, trans="H"),
        "lu_solve of other sizes": lambda: linalg.lu_solve(linalg.lu_factor(square), ig.ones((3,))),
        "slope of full factors of complex numbers": lambda: ig.grad(lambda x: ig.sum(linalg.svd(x).S))(
            high.astype("complex64")
        ),
    }


def test_refusals() -> None:
    texts = {what: refusal(run, __file__) for what, run in refusals().items()}
    check_texts(texts, Path(__file__).with_name("linalg_general_errors.txt"))


def test_examples() -> None:
    assert doctest.testmod(_matrix_functions, extraglobs={"ig": ig}).failed == 0
