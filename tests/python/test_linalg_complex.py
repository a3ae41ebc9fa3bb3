"""The factors of complex matrices in `ig.linalg`, and what is made of them: by what they are, against NumPy and SciPy,
on odd shapes and on matrices that are hard, under derivatives (JAX's convention), batches and captures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import intaglio as ig
from intaglio import linalg

RNG = np.random.default_rng(17)
DTYPES = ["complex64", "complex128"]
SIZES = [1, 2, 3, 7, 16, 33, 70]
SHAPES = [(1, 1), (3, 1), (1, 4), (5, 5), (9, 4), (4, 9), (2, 3, 17, 5), (40, 40), (3, 70), (70, 33)]


def draw(*shape: int, dtype: str = "complex128") -> np.ndarray:
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


def adjoint(x: Any) -> np.ndarray:
    return np.conj(np.asarray(x)).swapaxes(-1, -2)


def hermitian(*shape: int, dtype: str = "complex128") -> np.ndarray:
    x = draw(*shape, shape[-1], dtype=dtype)
    return x + adjoint(x)


def positive(*shape: int, dtype: str = "complex128") -> np.ndarray:
    x = draw(*shape, shape[-1], dtype=dtype)
    return (x @ adjoint(x) + np.eye(shape[-1])).astype(dtype)


def near(given: Any, wanted: Any, bound: float, size: float = 1) -> None:
    """Within `bound` rounding errors of numbers of this size."""
    given, wanted = np.asarray(given), np.asarray(wanted)
    assert given.shape == wanted.shape
    assert np.isfinite(given).all()
    unit = np.finfo(given.dtype).eps * size
    gap = np.abs(given.astype(np.complex128) - wanted).max(initial=0)
    assert gap <= bound * unit, f"{gap / unit} rounding errors"


def close(given: Any, wanted: Any, bound: float = 1e-9) -> None:
    wanted = np.asarray(wanted)
    assert given.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(given), wanted, rtol=bound, atol=bound)


def size_of(x: np.ndarray) -> float:
    return float(max(x.shape[-2:], default=1) + 2)


def unit_columns(x: Any) -> None:
    x = np.asarray(x)
    one = np.broadcast_to(np.eye(x.shape[-1]), (*x.shape[:-2], x.shape[-1], x.shape[-1]))
    near(adjoint(x) @ x, one, 2 * size_of(x))


def signs_are_ours(rows: np.ndarray) -> None:
    """Of the elements within a hundredth of the largest one is positive: the first, but for rounding at the limit."""
    sizes = np.abs(rows)
    clearly = sizes >= 0.9901 * sizes.max(-1, keepdims=True)
    first = clearly.argmax(-1)[..., None]
    rounding = 8 * np.finfo(rows.dtype).eps
    positive = (np.abs(rows.imag) <= rounding) & (rows.real > 0) & (sizes >= 0.9899 * sizes.max(-1, keepdims=True))
    assert (positive & (np.arange(rows.shape[-1]) <= first)).any(-1).all()


def check_eigh(s: np.ndarray) -> None:
    w, v = (np.asarray(part) for part in linalg.eigh(ig.asarray(s)))
    assert w.dtype == s.real.dtype
    assert v.dtype == s.dtype
    scale = s.real.dtype.type(float(np.abs(s).max(initial=0)) or 1.0)
    unit, w = s / scale, w / scale
    unit_columns(v)
    near(unit @ v, v * w[..., None, :], 2 * size_of(s), np.linalg.norm(unit, axis=(-2, -1)).max(initial=1))
    assert (np.diff(w) >= 0).all()
    near(w, np.linalg.eigvalsh(unit.astype(np.complex128)), 2 * size_of(s), np.abs(w).max(initial=1))
    near(np.asarray(linalg.eigvalsh(ig.asarray(s))) / scale, w, 0)
    signs_are_ours(v.swapaxes(-1, -2))


def check_svd(x: np.ndarray) -> None:
    scale = x.real.dtype.type(float(np.abs(x).max(initial=0)) or 1.0)
    unit = x / scale
    for full in (False, True):
        u, s, vh = (np.asarray(part) for part in linalg.svd(ig.asarray(x), full_matrices=full))
        assert s.dtype == x.real.dtype
        assert u.dtype == vh.dtype == x.dtype
        k, s = min(x.shape[-2:]), s / scale
        assert u.shape[-1] == (x.shape[-2] if full else k)
        assert vh.shape[-2] == (x.shape[-1] if full else k)
        unit_columns(u)
        unit_columns(adjoint(vh))
        near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], unit, 2 * size_of(x), np.linalg.norm(unit))
        assert (np.diff(s) <= 0).all()
        assert (s >= 0).all()
        near(s, np.linalg.svd(unit.astype(np.complex128), compute_uv=False), 2 * size_of(x), s.max(initial=1))
        signs_are_ours(u.swapaxes(-1, -2)[..., :k, :] if x.shape[-2] < x.shape[-1] else vh[..., :k, :])
    near(np.asarray(linalg.svdvals(ig.asarray(x))) / scale, s, 0)


def check_qr(x: np.ndarray) -> None:
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(ig.asarray(x), mode=mode)
        wanted = np.linalg.qr(x.astype(np.complex128), mode=mode)
        assert q.shape == wanted.Q.shape
        near(r, wanted.R, 4 * size_of(x), np.linalg.norm(x))
        unit_columns(q)
        near(np.asarray(q) @ np.asarray(r), x, 2 * size_of(x), np.linalg.norm(x))
        assert (np.tril(np.asarray(r), -1) == 0).all()
        assert (np.diagonal(np.asarray(r), axis1=-2, axis2=-1).imag == 0).all()
    near(linalg.qr(ig.asarray(x), "r"), linalg.qr(ig.asarray(x)).R, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_hermitian_eigenvalues(n: int, dtype: str) -> None:
    check_eigh(hermitian(n, dtype=dtype))
    check_eigh(hermitian(2, 3, n, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_and_qr(shape: tuple[int, ...], dtype: str) -> None:
    check_svd(draw(*shape, dtype=dtype))
    check_qr(draw(*shape, dtype=dtype))


def hard() -> dict[str, np.ndarray]:
    """Hermitian matrices with equal, tiny, huge or no eigenvalues; real ones, and some without a real element."""
    q = np.linalg.qr(draw(12, 12)).Q
    clustered = (q * np.where(np.arange(12) < 9, 1.0, 1 + 1e-14)) @ adjoint(q)
    steps = 1j * np.eye(9, k=1)
    return {
        "zeros": np.zeros((6, 6), "complex128"),
        "identity": np.eye(7, dtype="complex128"),
        "ones": np.ones((30, 30), "complex128"),
        "real": hermitian(8).real.astype("complex128"),
        "imaginary": 1j * hermitian(9).imag,
        "clustered": (clustered + adjoint(clustered)) / 2,
        "momentum": steps + adjoint(steps),
        "reversed": np.fliplr(np.diag([1j, 2j, -2j, -1j])),
        "huge": hermitian(5) * 1e300,
        "tiny": hermitian(5) * 1e-290,
    }


@pytest.mark.parametrize("name", hard())
def test_hard_matrices(name: str) -> None:
    x = hard()[name]
    check_eigh(x)
    check_svd(x)
    check_svd(x[:, : (len(x) + 1) // 2])
    if name not in ("huge", "tiny"):
        check_eigh(x.astype(np.complex64))
        check_svd(x.astype(np.complex64))
        check_qr(x)


def test_real_matrices_have_their_own_factors() -> None:
    x = draw(6, 4).real
    wide = ig.asarray(x.astype("complex128"))
    for ours, real in zip(linalg.svd(wide, False), linalg.svd(ig.asarray(x), False), strict=True):
        close(ours, real)
    for ours, real in zip(linalg.qr(wide), linalg.qr(ig.asarray(x)), strict=True):
        close(ours, real)
    s = x.T @ x
    for ours, real in zip(linalg.eigh(ig.asarray(s.astype("complex128"))), linalg.eigh(ig.asarray(s)), strict=True):
        close(ours, real)


def test_matrices_without_full_rank() -> None:
    low = draw(20, 3) @ draw(3, 12)
    for x in (low, adjoint(low), np.eye(9, k=1) * 1j, np.hstack([np.zeros((8, 3)), draw(8, 2)])):
        check_svd(np.ascontiguousarray(x))
        check_qr(np.ascontiguousarray(x))
    assert int(linalg.matrix_rank(ig.asarray(low))) == 3
    assert linalg.matrix_rank(ig.asarray(np.stack([low, draw(20, 12)]))).tolist() == [3, 12]
    assert int(linalg.matrix_rank(ig.asarray(np.diag([1e4, 1j, 1e-9])), tol=10.0)) == 1
    assert int(linalg.matrix_rank(ig.asarray(np.diag([-1, 1, 1e-9]) + 0j), hermitian=True, rtol=1e-6)) == 2


def test_empty_matrices() -> None:
    for shape in ((0, 0), (3, 0), (0, 3), (2, 0, 0), (0, 4, 3)):
        x, theirs = ig.zeros(shape, dtype="complex128"), np.zeros(shape, "complex128")
        for ours, want in zip(linalg.qr(x), np.linalg.qr(theirs), strict=True):
            assert (ours.shape, ours.dtype) == (want.shape, want.dtype)
        for full in (False, True):
            for ours, want in zip(linalg.svd(x, full), np.linalg.svd(theirs, full), strict=True):
                assert (ours.shape, ours.dtype) == (want.shape, want.dtype)
                close(ours, want)
        assert linalg.pinv(x).shape == (*shape[:-2], shape[-1], shape[-2])
    none = ig.zeros((2, 0, 0), dtype="complex64")
    w, v = linalg.eigh(none)
    assert (w.shape, v.shape) == ((2, 0), (2, 0, 0))
    assert linalg.cholesky(none).shape == linalg.lu(none)[1].shape == (2, 0, 0)
    assert linalg.det(none).tolist() == [1, 1]
    assert linalg.slogdet(none).logabsdet.tolist() == [0, 0]


@pytest.mark.parametrize("bad", [complex(np.nan, 0), complex(0, np.nan), complex(1, np.inf), complex(-np.inf, 1)])
def test_nan_and_infinity_give_nan_in_their_own_matrix_alone(bad: complex) -> None:
    s = hermitian(3, 20)
    s[1, 7, 3] = bad
    s[1, 3, 7] = np.conj(bad)
    x = ig.asarray(s)
    for parts in (linalg.eigh(x), linalg.svd(x), (linalg.eigvalsh(x), linalg.svdvals(x)), (linalg.pinv(x),)):
        for part in parts:
            assert np.isnan(np.asarray(part)[1]).all()
            assert np.isfinite(np.asarray(part)[[0, 2]]).all()


def test_what_is_read() -> None:
    """Triangles, and the real part of a diagonal, as in NumPy; arrays that are not contiguous, and their batches."""
    x = draw(3, 6, 6)
    ours = ig.asarray(x)
    for triangle in ("L", "U"):
        close(linalg.eigvalsh(ours, triangle), np.linalg.eigvalsh(x, triangle))
        close(linalg.eigh(ours, UPLO=triangle).eigenvalues, np.linalg.eigh(x, triangle).eigenvalues)
    close(linalg.eigvalsh(ours), np.linalg.eigvalsh((x + adjoint(x)) / 2))
    below = np.tril(x, -1)
    low = below + adjoint(below) + x.real * np.eye(6)
    close(linalg.pinv(ours, hermitian=True), np.linalg.inv(low), 1e-7)
    u, s, vh = linalg.svd(ours, hermitian=True)
    close(s, np.linalg.svd(low, compute_uv=False))
    close((u * s[:, None, :]) @ vh, low)
    spd = positive(5)
    turned = spd + 1j * np.eye(5)
    close(linalg.cholesky(ig.asarray(turned), symmetrize_input=False), np.linalg.cholesky(turned))
    close(linalg.cholesky(ig.asarray(np.tril(spd)), symmetrize_input=False), np.linalg.cholesky(spd))
    strided = draw(12, 10)[::2, ::2]
    close(linalg.svdvals(ig.asarray(strided)), np.linalg.svd(strided, compute_uv=False))
    close(linalg.qr(ours.mT).R, np.linalg.qr(x.swapaxes(-1, -2)).R)
    close(linalg.det(ig.moveaxis(ours, 0, 2)[:3, :3, :3]), np.linalg.det(np.moveaxis(x, 0, 2)[:3, :3, :3]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 17, 40])
def test_factors_and_systems_are_numpy_s_and_scipy_s(n: int, dtype: str) -> None:
    bound = 2e3 * np.finfo(dtype).eps
    a, spd, b = draw(n, n, dtype=dtype), positive(n, dtype=dtype), draw(n, 3, dtype=dtype)
    spd, a = (spd / np.linalg.norm(spd)).astype(dtype), (a + n * np.eye(n)).astype(dtype)
    x, s, y = ig.asarray(a), ig.asarray(spd), ig.asarray(b)
    factor = linalg.cholesky(s)
    close(factor, np.linalg.cholesky(spd), bound)
    assert (np.diagonal(np.asarray(factor)).imag == 0).all()
    close(linalg.cholesky(s, upper=True), adjoint(np.linalg.cholesky(spd)), bound)
    solved = np.linalg.solve(spd.astype("complex128"), b)
    size = float(np.abs(solved).max())
    for lower in (False, True):
        ours, theirs = linalg.cho_factor(s, lower), scipy.linalg.cho_factor(spd, lower)
        half = np.tril if lower else np.triu
        close(ours[0], half(theirs[0]), bound)
        np.testing.assert_allclose(np.asarray(linalg.cho_solve(ours, y)), solved, rtol=0, atol=10 * bound * size)
        got = linalg.cholesky_solve(y, ours[0], not lower)
        np.testing.assert_allclose(np.asarray(got), solved, rtol=0, atol=10 * bound * size)
        for trans in (0, 1, 2, "N", "T", "C"):
            for unit in (False, True):
                small = (np.eye(n) * 4 + a / (4 * n)).astype(dtype)
                want = scipy.linalg.solve_triangular(small, b, trans=trans, lower=lower, unit_diagonal=unit)
                close(linalg.solve_triangular(ig.asarray(small), y, trans, lower, unit), want, bound)
        small = ig.asarray(small)
        close(
            linalg.triangular_solve(small, y, lower=lower, conjugate_a=True),
            scipy.linalg.solve_triangular(np.conj(np.asarray(small)), b, lower=lower),
            bound,
        )
    lu, piv = linalg.lu_factor(x)
    theirs = scipy.linalg.lu_factor(a)
    assert piv.tolist() == theirs[1].tolist()
    close(lu, theirs[0], bound)
    for trans in (0, 1, 2):
        close(linalg.lu_solve((lu, piv), y, trans), scipy.linalg.lu_solve(theirs, b, trans), bound)
    order, lower_part, upper_part = linalg.lu(x)
    close(lower_part @ upper_part, a[np.asarray(order)], bound * n)
    close(linalg.solve(x, y), np.linalg.solve(a, b), bound)
    close(linalg.inv(x), np.linalg.inv(a), bound)


def test_pivots_are_lapack_s() -> None:
    """The size of a pivot is the sum of its parts' sizes, so 3+3i goes before 5."""
    a = np.array([[5.0, 1.0], [3 + 3j, 2.0]])
    lu, piv = linalg.lu_factor(ig.asarray(a))
    theirs = scipy.linalg.lu_factor(a)
    assert piv.tolist() == theirs[1].tolist() == [1, 1]
    close(lu, theirs[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_determinants(dtype: str) -> None:
    x = draw(2, 3, 6, 6, dtype=dtype)
    bound = 1e3 * np.finfo(dtype).eps
    ours, theirs = linalg.det(ig.asarray(x)), np.linalg.det(x)
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=bound)
    sign, log = linalg.slogdet(ig.asarray(x))
    assert (sign.dtype, log.dtype) == (x.dtype, x.real.dtype)
    close(sign, np.linalg.slogdet(x).sign, bound)
    close(log, np.linalg.slogdet(x).logabsdet, bound)
    singular = ig.asarray(np.array([[1, 1j], [1j, -1]], dtype))
    assert complex(linalg.det(singular)) == 0
    assert complex(linalg.slogdet(singular).sign) == 0
    assert float(linalg.slogdet(singular).logabsdet) == -np.inf


def test_matrices_that_are_not_positive_definite() -> None:
    bad = np.array([[1.0, 2j], [-2j, 1.0]])
    assert np.isnan(np.asarray(linalg.cholesky(ig.asarray(bad)))[1, 1])
    assert np.asarray(linalg.cholesky(ig.asarray(bad)))[0, 0] == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (9, 4), (4, 9)])
def test_pseudo_inverses_and_least_squares_are_numpy_s(shape: tuple[int, int], dtype: str) -> None:
    bound = 1e-9 if dtype == "complex128" else 5e-4
    a, b = draw(*shape, dtype=dtype), draw(shape[0], 3, dtype=dtype)
    close(linalg.pinv(ig.asarray(a)), np.linalg.pinv(a), bound)
    low = (draw(shape[0], 2) @ draw(2, shape[1])).astype(dtype)
    close(linalg.pinv(ig.asarray(low), rtol=1e-4), np.linalg.pinv(low, rtol=1e-4), 10 * bound)
    for matrix in (a, low):
        ours = linalg.lstsq(ig.asarray(matrix), ig.asarray(b), rcond=1e-4)
        theirs = np.linalg.lstsq(matrix, b, rcond=1e-4)
        close(ours.solution, theirs[0], 10 * bound)
        close(ours.residuals, (np.abs(matrix @ theirs[0] - b) ** 2).sum(0), 100 * bound)
        assert ours.residuals.dtype == ours.singular_values.dtype == a.real.dtype
        assert int(ours.rank) == theirs[2]
        close(ours.singular_values, theirs[3], 10 * bound)
        like_numpy = linalg.lstsq(ig.asarray(matrix), ig.asarray(b), rcond=1e-4, numpy_resid=True)
        assert like_numpy.residuals.shape == theirs[1].shape
    real = linalg.lstsq(ig.asarray(a), ig.asarray(b.real))
    close(real.solution, np.linalg.lstsq(a, b.real)[0], 10 * bound)


def test_norms_and_conditions() -> None:
    x = draw(2, 5, 5)
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
        close(linalg.cond(ig.asarray(x), p), np.linalg.cond(x, p), 1e-7)
    for p in (2, -2, "nuc"):
        close(linalg.matrix_norm(ig.asarray(x[0]), ord=p), np.linalg.norm(x[0], p))
    assert np.isnan(float(linalg.cond(ig.asarray(np.array([[np.nan * 1j, 1], [0, 1]])))))


def test_products_of_reflectors() -> None:
    x = draw(7, 4)
    (factors, tau), _ = scipy.linalg.qr(x, mode="raw")
    q = linalg.householder_product(ig.asarray(np.ascontiguousarray(factors)), ig.asarray(tau))
    close(q, np.linalg.qr(x).Q)


# --- derivatives -----------------------------------------------------------------------------------------------------


def differences(f: Callable[[ig.Tensor], ig.Tensor], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """JAX's gradient of a real number: its slope by each real part, less i times that by each imaginary one."""
    out = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        for unit in (1, 1j):
            move = np.zeros_like(x)
            move[place] = unit * step
            slope = (float(f(ig.asarray(x + move))) - float(f(ig.asarray(x - move)))) / (2 * step)
            out[place] += slope * np.conj(unit)
    return out


C = draw(9, 9)
Y = draw(9, 2)


def weighted(x: Any) -> Any:
    """A real number in which both parts of every element count, each for itself and once with its square."""
    rows, columns = x.shape[-2:]
    weight = ig.asarray(C[:rows, :columns])
    if x.dtype.kind == "real floating":
        return ig.sum(x * ig.real(weight)) + ig.sum(x * x * ig.imag(weight))
    return ig.sum(ig.real(x * weight)) + ig.sum(ig.real(x * x * weight))


def row(x: Any) -> Any:
    return weighted(x[None])


SQUARE, TALL, WIDE = draw(4, 4), draw(6, 3), draw(3, 5)
REGULAR = SQUARE + 4 * np.eye(4)
GRADIENTS: dict[str, tuple[Any, list[np.ndarray]]] = {
    "cholesky": (lambda x: weighted(linalg.cholesky(x)), [positive(4)]),
    "lower cholesky": (lambda x: weighted(linalg.cholesky(x, symmetrize_input=False, upper=True)), [positive(3)]),
    "cho_solve": (lambda x: weighted(linalg.cho_solve(linalg.cho_factor(x), Y[:3])), [positive(3)]),
    "triangle": (lambda x: weighted(linalg.solve_triangular(x, Y[:4], trans=2)), [REGULAR]),
    "lower triangle": (lambda x: weighted(linalg.triangular_solve(x, Y[:4], conjugate_a=True)), [REGULAR]),
    "right side": (lambda y: weighted(linalg.solve_triangular(REGULAR, y, trans="C")), [Y[:4]]),
    "lu": (lambda x: weighted(linalg.lu_factor(x)[0]), [SQUARE]),
    "lu_solve": (lambda x: weighted(linalg.lu_solve(linalg.lu_factor(x), Y[:4], trans=2)), [REGULAR]),
    "det": (lambda x: row(linalg.det(x)[None]), [SQUARE]),
    "sign": (lambda x: row(linalg.slogdet(x).sign[None]), [SQUARE]),
    "logarithm": (lambda x: linalg.slogdet(x).logabsdet, [SQUARE]),
    "solve": (lambda x: weighted(linalg.solve(x, Y[:4])), [REGULAR]),
    "q": (lambda x: weighted(linalg.qr(x).Q), [SQUARE, TALL, WIDE]),
    "r": (lambda x: weighted(linalg.qr(x).R), [SQUARE, TALL, WIDE]),
    "r alone": (lambda x: weighted(linalg.qr(x, "r")), [SQUARE, TALL, WIDE]),
    "eigenvalues": (lambda x: row(linalg.eigvalsh(x)), [SQUARE]),
    "eigenvalues with vectors": (lambda x: row(linalg.eigh(x)[0]), [SQUARE]),
    "eigenvectors": (lambda x: weighted(linalg.eigh(x).eigenvectors), [SQUARE]),
    "upper": (lambda x: weighted(linalg.eigh(x, "U").eigenvectors), [SQUARE]),
    "singular values": (lambda x: row(linalg.svdvals(x)), [SQUARE, TALL, WIDE]),
    "s": (lambda x: row(linalg.svd(x, False).S), [SQUARE, TALL, WIDE]),
    "u": (lambda x: weighted(linalg.svd(x, False).U), [SQUARE, TALL, WIDE]),
    "vh": (lambda x: weighted(linalg.svd(x, full_matrices=False).Vh), [SQUARE, TALL, WIDE]),
    "hermitian": (lambda x: weighted(linalg.svd(x, hermitian=True).Vh), [SQUARE]),
    "pinv": (lambda x: weighted(linalg.pinv(x)), [SQUARE, TALL, WIDE]),
    "lstsq": (lambda x: weighted(linalg.lstsq(x, Y[: x.shape[0]]).solution), [SQUARE, TALL, WIDE]),
    "residuals": (lambda x: row(linalg.lstsq(x, Y[: x.shape[0]]).residuals), [TALL]),
    "by the right side": (lambda y: weighted(linalg.lstsq(ig.asarray(TALL), y).solution), [Y[:6]]),
    "reflectors": (lambda x: weighted(linalg.householder_product(x, C[0, : x.shape[1]])), [TALL]),
    "nuclear": (lambda x: linalg.norm(x, "nuc"), [SQUARE, TALL]),
    "cond": (linalg.cond, [SQUARE, TALL]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(name: str) -> None:
    f, points = GRADIENTS[name]
    for x in points:
        wanted = differences(f, x)
        size = max(1.0, float(np.abs(wanted).max()))
        for gradient in (ig.grad(f), ig.jit(ig.grad(f))):
            np.testing.assert_allclose(np.asarray(gradient(ig.asarray(x))), wanted, rtol=2e-5, atol=3e-6 * size)
        move = draw(*x.shape)
        _, slope = ig.jvp(f, (ig.asarray(x),), (ig.asarray(move),))
        np.testing.assert_allclose(float(slope), np.sum(wanted * move).real, rtol=2e-5, atol=1e-5 * size)


def test_gradients_where_there_is_no_choice_of_vectors() -> None:
    """Of what does not depend on the phases of the vectors: JAX's rules, which leave those open, give the same."""
    weight, a = ig.asarray(C[:3, :3]), ig.asarray(SQUARE[:3, :3])

    def number(x: ig.Tensor) -> ig.Tensor:
        return ig.sum(ig.real(x * weight))

    def squared(x: ig.Tensor) -> ig.Tensor:
        w, v = linalg.eigh(x)
        return number((v * (w**2).astype("complex128")) @ ig.conj(v).mT)

    def plain(x: ig.Tensor) -> ig.Tensor:
        s = (x + ig.conj(x).mT) * 0.5
        return number(s @ s)

    def whole(x: ig.Tensor) -> ig.Tensor:
        u, s, vh = linalg.svd(x, full_matrices=False)
        return number(((u * s.astype("complex128")) @ vh) ** 3)

    def triangles(x: ig.Tensor) -> ig.Tensor:
        q, r = linalg.qr(x)
        return number((q @ r) ** 3)

    def root(x: ig.Tensor) -> ig.Tensor:
        s = x @ ig.conj(x).mT
        low = linalg.cholesky(s)
        return number(low @ ig.conj(low).mT)

    cube = lambda x: number(x**3)  # noqa: E731
    pairs = [
        (squared, plain),
        (whole, cube),
        (triangles, cube),
        (root, lambda x: number(x @ ig.conj(x).mT)),
        (lambda x: number(linalg.pinv(x)), lambda x: number(linalg.inv(x))),
        (lambda x: ig.sum(linalg.svdvals(x) ** 2), lambda x: ig.sum(ig.abs(x) ** 2)),
        (lambda x: linalg.slogdet(x).logabsdet * 2, lambda x: ig.log(ig.abs(linalg.det(x)) ** 2)),
    ]
    tangent = ig.asarray(draw(3, 3))
    for ours, wanted in pairs:
        first, want = ig.grad(ours), ig.grad(wanted)
        close(first(a), want(a), 1e-8)
        close(ig.jvp(first, (a,), (tangent,))[1], ig.jvp(want, (a,), (tangent,))[1], 1e-6)


# --- batches, captures -----------------------------------------------------------------------------------------------

CALLS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "cholesky": (lambda x: (linalg.cholesky(x @ ig.conj(x).mT),), (4, 4)),
    "lu": (linalg.lu_factor, (4, 4)),
    "slogdet": (linalg.slogdet, (4, 4)),
    "triangle": (lambda x: (linalg.solve_triangular(x, x, trans=2),), (4, 4)),
    "qr": (linalg.qr, (5, 3)),
    "r": (lambda x: (linalg.qr(x, mode="r"),), (3, 5)),
    "eigh": (linalg.eigh, (4, 4)),
    "eigvalsh": (lambda x: (linalg.eigvalsh(x),), (4, 4)),
    "svd": (linalg.svd, (5, 3)),
    "thin": (lambda x: linalg.svd(x, full_matrices=False), (3, 5)),
    "svdvals": (lambda x: (linalg.svdvals(x),), (5, 3)),
    "pinv": (lambda x: (linalg.pinv(x),), (5, 3)),
    "lstsq": (lambda x: linalg.lstsq(x, ig.ones((5, 2), dtype="complex128")), (5, 3)),
    "rank": (lambda x: (linalg.matrix_rank(x), linalg.cond(x)), (5, 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_batches_and_captures_are_the_loop(name: str) -> None:
    f, shape = CALLS[name]
    x = ig.asarray(draw(6, *shape))
    rows = [f(x[i]) for i in range(6)]
    wanted = [np.stack([np.asarray(part[k]) for part in rows]) for k in range(len(rows[0]))]
    last = ig.moveaxis(x, 0, 2)
    for run, given in ((ig.vmap(f), x), (ig.jit(ig.vmap(f)), x), (ig.vmap(ig.jit(f), in_axes=2), last)):
        for got, want in zip(run(given), wanted, strict=True):
            close(got, want, 1e-12)
    for got, want in zip(ig.trace(f, x[0])(x[0]), rows[0], strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_gradients_of_batches() -> None:
    f = lambda x: weighted(linalg.svd(x, False).U) + row(linalg.eigvalsh(ig.conj(x).mT @ x))  # noqa: E731
    x = ig.asarray(draw(4, 5, 3))
    wanted = np.stack([np.asarray(ig.grad(f)(x[i])) for i in range(4)])
    close(ig.vmap(ig.grad(f))(x), wanted)
    close(ig.jit(ig.vmap(ig.grad(f)))(x), wanted)
    close(ig.grad(lambda y: ig.sum(ig.vmap(f)(y)))(x), wanted)


def test_sizes_that_are_symbols() -> None:
    svd = ig.jit(lambda x: linalg.svd(x, full_matrices=False))
    eigh, solve = ig.jit(linalg.eigh), ig.jit(linalg.solve)
    slope = ig.jit(ig.grad(lambda x: ig.sum(ig.real(linalg.svd(x, full_matrices=False).U[0]))))
    for m, n in ((2, 3), (7, 3), (9, 4), (3, 11), (5, 5), (6, 6), (4, 6)):
        x = draw(m, n)
        ours = ig.asarray(x)
        for got, want in zip(svd(ours), linalg.svd(ours, False), strict=True):
            close(got, want)
        s = x @ adjoint(x) + np.eye(m)
        close(eigh(ig.asarray(s)).eigenvalues, np.linalg.eigvalsh(s))
        close(solve(ig.asarray(s), ours), np.linalg.solve(s, x))
        wanted = differences(lambda y: ig.sum(ig.real(linalg.svd(y, False).U[0])), x)
        np.testing.assert_allclose(np.asarray(slope(ours)), wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


def test_numpy_s_functions_come_here() -> None:
    x, s = ig.asarray(draw(5, 3)), ig.asarray(positive(4))

    @ig.jit
    def f(x: Any, s: Any) -> Any:
        values = np.linalg.eigh(s).eigenvalues, np.linalg.eigvalsh(s), np.linalg.svd(x, full_matrices=False).S
        solved = np.linalg.lstsq(x, x[:, 0])[0], np.linalg.pinv(x), np.linalg.qr(x, mode="r"), np.linalg.cholesky(s)
        return (*values, *solved, np.linalg.det(s), *np.linalg.slogdet(s), np.linalg.matrix_rank(x))

    assert all(isinstance(part, ig.Tensor) for part in f(x, s))
    close(f(x, s)[3], [1, 0, 0])
