"""Schur's form, Sylvester's equation, and the square root and the logarithm of matrices: by what they are, against
SciPy, under derivatives, batches and captures, and in their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import linalg

RNG = np.random.default_rng(23)
DTYPES = ["float32", "float64", "complex64", "complex128"]
SIZES = [1, 2, 3, 8, 17, 40]


def draw(*shape: int, dtype: str = "float64") -> np.ndarray:
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def adjoint(x: Any) -> np.ndarray:
    return np.conj(np.asarray(x)).swapaxes(-1, -2)


def regular(n: int, dtype: str = "float64") -> np.ndarray:
    """A matrix whose eigenvalues are far from 0 and from the negative numbers."""
    return (draw(n, n, dtype=dtype) / (2 * n**0.5) + 2 * np.eye(n)).astype(dtype)


def wide(x: Any) -> np.ndarray:
    x = np.asarray(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def near(given: Any, wanted: Any, bound: float, size: float, dtype: str = "float64") -> None:
    """Within `bound` rounding errors of this type, of numbers of this size."""
    given, wanted = np.asarray(given), np.asarray(wanted)
    assert given.shape == wanted.shape
    gap = np.abs(given.astype(np.complex128) - wanted).max(initial=0)
    unit = np.finfo(dtype).eps * size
    assert gap <= bound * unit, f"{gap / unit} rounding errors"


def size_of(x: Any) -> float:
    return float(np.linalg.norm(np.asarray(x), axis=(-2, -1)).max(initial=0)) + 1e-300


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_schur_s_form(n: int, dtype: str) -> None:
    for x in (draw(n, n, dtype=dtype), draw(2, 3, n, n, dtype=dtype), draw(n, n, dtype=dtype) * np.float32(1e30)):
        t, z = (np.asarray(part) for part in linalg.schur(ig.asarray(x)))
        assert t.dtype == z.dtype == np.result_type(x.dtype, np.complex64)
        assert (np.tril(t, -1) == 0).all()
        near(adjoint(z) @ z, np.broadcast_to(np.eye(n), z.shape), 2 * (n + 2), 1, dtype)
        near(wide(z) @ wide(t) @ adjoint(wide(z)), x, 8 * (n + 2) ** 0.5, size_of(wide(x)), dtype)
        first = (np.abs(z) >= 0.9901 * np.abs(z).max(-2, keepdims=True)).argmax(-2)
        places = np.arange(n)[:, None] <= first[..., None, :]
        positive = (np.abs(z.imag) <= 8 * np.finfo(z.dtype).eps) & (z.real > 0)
        assert (positive & places & (np.abs(z) >= 0.9899 * np.abs(z).max(-2, keepdims=True))).any(-2).all()


def test_hard_forms_of_schur() -> None:
    for x in (np.zeros((4, 4)), np.eye(5), np.eye(6, k=1), np.eye(6, k=-1), np.roll(np.eye(7), 1, 0), np.ones((9, 9))):
        t, z = (np.asarray(part) for part in linalg.schur(ig.asarray(x)))
        near(z @ t @ adjoint(z), x, 8 * (len(x) + 2), max(size_of(x), 1))
    upper = np.triu(draw(6, 6))
    np.testing.assert_array_equal(np.asarray(linalg.schur(ig.asarray(upper)).T), upper)
    bad = draw(3, 4, 4)
    bad[1, 2, 0] = np.inf
    for part in linalg.schur(ig.asarray(bad)):
        assert np.isnan(np.asarray(part)[1]).all()
        assert np.isfinite(np.asarray(part)[[0, 2]]).all()
    assert linalg.schur(ig.zeros((2, 0, 0))).Z.shape == (2, 0, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (3, 2), (7, 7), (20, 9)])
def test_sylvester_s_equation(n: int, m: int, dtype: str) -> None:
    a, b, q = regular(n, dtype), regular(m, dtype), draw(n, m, dtype=dtype)
    x = linalg.solve_sylvester(ig.asarray(a), ig.asarray(b), ig.asarray(q))
    assert x.dtype == q.dtype
    near(wide(a) @ wide(x) + wide(x) @ wide(b), q, 60 * (n + m), size_of(x), dtype)
    np.testing.assert_allclose(
        np.asarray(x), scipy.linalg.solve_sylvester(a, b, q), rtol=0, atol=1e3 * np.finfo(dtype).eps * size_of(x)
    )
    many = linalg.solve_sylvester(ig.asarray(np.stack([a, 2 * a])), ig.asarray(b), ig.asarray(q))
    np.testing.assert_array_equal(np.asarray(many[0]), np.asarray(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_square_roots_and_logarithms(n: int, dtype: str) -> None:
    x = regular(n, dtype)
    root, log = linalg.sqrtm(ig.asarray(x)), linalg.logm(ig.asarray(x))
    assert root.dtype == log.dtype == np.result_type(x.dtype, np.complex64)
    near(wide(root) @ wide(root), x, 10 * (n + 2), size_of(x), dtype)
    exact = x.astype(np.complex128)
    near(root, scipy.linalg.sqrtm(exact), 20 * (n + 2), size_of(x), dtype)
    near(log, scipy.linalg.logm(exact), 40 * (n + 2), size_of(x), dtype)
    near(scipy.linalg.expm(wide(log)), x, 100 * (n + 2), size_of(x), dtype)


MATRICES = {
    "rotation": np.array([[0.0, 1.0], [-1.0, 0.0]]),
    "negative": np.array([[-4.0, 1.0], [0.0, -9.0]]),
    "far apart": np.array([[1e-8, 1.0], [0.0, 1e8]]),
    "no basis": np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]]),
    "1": np.eye(4),
    "huge": 1e200 * (np.eye(3) + np.eye(3, k=1)),
    "tiny": 1e-200 * (np.eye(3) + np.eye(3, k=1)),
    "near to the cut": np.array([[-1.0 + 1e-6j, 2.0], [0.0, 3.0j]]),
}


@pytest.mark.filterwarnings("ignore:The logm input matrix may be nearly singular")  # SciPy's, of tiny numbers
@pytest.mark.parametrize("name", MATRICES)
def test_hard_square_roots_and_logarithms(name: str) -> None:
    x = MATRICES[name]
    root = np.asarray(linalg.sqrtm(ig.asarray(x)))
    scale = np.abs(x).max()
    near(root @ (root / scale), x / scale, 200, 1)
    log, wanted = np.asarray(linalg.logm(ig.asarray(x))), scipy.linalg.logm(x.astype(np.complex128))
    near(log, wanted, 2000, size_of(wanted))


def test_logarithms_near_to_1_keep_their_digits() -> None:
    x = np.eye(3) + 1e-9 * np.arange(9.0).reshape(3, 3)
    y = x - np.eye(3)
    np.testing.assert_allclose(np.asarray(linalg.logm(ig.asarray(x))), y - y @ y / 2 + y @ y @ y / 3, rtol=1e-14)


def test_where_there_is_none() -> None:
    """A singular matrix has a root where its zeros have a basis, and no logarithm."""
    assert np.asarray(linalg.sqrtm(ig.zeros((2, 2)))).tolist() == [[0, 0], [0, 0]]
    np.testing.assert_allclose(np.asarray(linalg.sqrtm(ig.asarray(np.diag([4.0, 0.0])))), np.diag([2.0, 0.0]))
    assert not np.isfinite(np.asarray(linalg.sqrtm(ig.asarray(np.eye(2, k=1))))).all()
    assert not np.isfinite(np.asarray(linalg.logm(ig.asarray(np.diag([4.0, 0.0]))))).all()
    assert linalg.logm(ig.zeros((3, 0, 0))).shape == linalg.sqrtm(ig.zeros((3, 0, 0))).shape == (3, 0, 0)
    assert np.isnan(np.asarray(linalg.logm(ig.asarray([[np.nan, 1.0], [0.0, 1.0]])))).any()


# --- derivatives -----------------------------------------------------------------------------------------------------


def differences(f: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """JAX's gradient of a real number."""
    out = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        for unit in (1, 1j) if np.iscomplexobj(x) else (1,):
            move = np.zeros_like(x)
            move[place] = unit * step
            slope = (float(f(ig.asarray(x + move))) - float(f(ig.asarray(x - move)))) / (2 * step)
            out[place] += slope * (np.conj(unit) if np.iscomplexobj(x) else 1)
    return out


WEIGHT, RIGHT, LEFT = draw(3, 3, dtype="complex128"), regular(2, "complex128"), regular(3)
SIDE = draw(3, 2)


def number(x: ig.Tensor) -> ig.Tensor:
    weight = WEIGHT[: x.shape[0], : x.shape[1]]
    if x.dtype.kind == "real floating":
        return ig.sum(x * ig.asarray(weight.real)) + ig.sum(x * x * x)
    return ig.sum(ig.real(x * ig.asarray(weight))) + ig.sum(ig.real(x * x * x))


GRADIENTS: dict[str, Any] = {
    "sqrtm": lambda x: number(linalg.sqrtm(x)),
    "logm": lambda x: number(linalg.logm(x)),
    "a": lambda x: number(linalg.solve_sylvester(x, RIGHT.real, SIDE)),
    "b": lambda x: number(linalg.solve_sylvester(RIGHT.real, x, SIDE.T)),
    "complex b": lambda x: number(linalg.solve_sylvester(RIGHT, x, SIDE.T)),
    "q": lambda x: number(linalg.solve_sylvester(LEFT, RIGHT, x[:, :2])),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(name: str, dtype: str) -> None:
    f, x = GRADIENTS[name], regular(3, dtype)
    wanted = differences(f, x)
    size = max(1.0, float(np.abs(wanted).max()))
    for gradient in (ig.grad(f), ig.jit(ig.grad(f))):
        np.testing.assert_allclose(np.asarray(gradient(ig.asarray(x))), wanted, rtol=1e-5, atol=2e-6 * size)
    move = draw(3, 3, dtype=dtype)
    _, slope = ig.jvp(f, (ig.asarray(x),), (ig.asarray(move),))
    np.testing.assert_allclose(float(slope), np.sum(wanted * move).real, rtol=1e-5, atol=1e-5 * size)


def test_derivatives_where_eigenvalues_are_equal() -> None:
    """Of a multiple of 1, and of a matrix without a basis of eigenvectors."""
    slope = ig.jvp(linalg.sqrtm, (ig.eye(3, dtype="float64") * 4,), (ig.asarray(LEFT),))[1]
    np.testing.assert_allclose(np.asarray(slope), LEFT / 4, rtol=1e-12)
    slope = ig.jvp(linalg.logm, (ig.eye(3, dtype="float64") * 4,), (ig.asarray(LEFT),))[1]
    np.testing.assert_allclose(np.asarray(slope), LEFT / 4, rtol=1e-12)
    block = MATRICES["no basis"]
    for f in (GRADIENTS["sqrtm"], GRADIENTS["logm"]):
        np.testing.assert_allclose(
            np.asarray(ig.grad(f)(ig.asarray(block))), differences(f, block), rtol=1e-5, atol=1e-6
        )


def test_second_derivatives() -> None:
    """The root's square and the logarithm's exponential are the matrix: so are all derivatives."""
    weight, x, move = (
        ig.asarray(WEIGHT),
        ig.asarray(regular(3, "complex128")),
        ig.asarray(draw(3, 3, dtype="complex128")),
    )

    def plain(y: ig.Tensor) -> ig.Tensor:
        return ig.sum(ig.real(y * y * weight))

    def squared(y: ig.Tensor) -> ig.Tensor:
        root = linalg.sqrtm(y)
        return plain(root @ root)

    def raised(y: ig.Tensor) -> ig.Tensor:
        return plain(linalg.expm(linalg.logm(y)))

    want = np.asarray(ig.jvp(ig.grad(plain), (x,), (move,))[1])
    for ours in (squared, raised):
        got = ig.jvp(ig.grad(ours), (x,), (move,))[1]
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-8, atol=1e-8 * np.abs(want).max())


def test_batches_and_captures() -> None:
    x = ig.asarray(np.stack([regular(4) for _ in range(5)]))
    for f in (linalg.sqrtm, linalg.logm, lambda x: linalg.schur(x).T, lambda x: linalg.solve_sylvester(x, x, x)):
        wanted = np.stack([np.asarray(f(x[i])) for i in range(5)])
        for run in (f, ig.vmap(f), ig.jit(f), ig.jit(ig.vmap(f))):
            np.testing.assert_allclose(np.asarray(run(x)), wanted, rtol=1e-12, atol=1e-12)
    slopes = np.stack([np.asarray(ig.grad(GRADIENTS["sqrtm"])(x[i, :3, :3])) for i in range(5)])
    np.testing.assert_allclose(np.asarray(ig.vmap(ig.grad(GRADIENTS["sqrtm"]))(x[:, :3, :3])), slopes, rtol=1e-10)
    sized = ig.jit(linalg.sqrtm)
    for n in (2, 3, 5, 9):
        y = regular(n)
        np.testing.assert_allclose(np.asarray(sized(ig.asarray(y))), scipy.linalg.sqrtm(y), rtol=1e-9, atol=1e-9)


# --- errors ----------------------------------------------------------------------------------------------------------

ERRORS: dict[str, Any] = {
    "root of a high matrix": lambda: linalg.sqrtm(ig.ones((3, 2))),
    "logarithm of 16 bits": lambda: linalg.logm(ig.ones((2, 2), dtype="float16")),
    "schur of real blocks": lambda: linalg.schur(ig.eye(2), output="real"),
    "schur of a vector": lambda: linalg.schur(ig.ones(3)),
    "slope of schur": lambda: ig.grad(lambda x: ig.sum(ig.real(linalg.schur(x).T)))(ig.eye(2)),
    "sylvester of other rows": lambda: linalg.solve_sylvester(ig.eye(2), ig.eye(3), ig.ones((3, 2))),
    "sylvester of other columns": lambda: linalg.solve_sylvester(ig.eye(2), ig.eye(3), ig.ones((2, 2))),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("linalg_roots_errors.txt"))
