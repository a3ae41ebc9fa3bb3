"""The orthogonal factors of `ig.linalg` (QR, symmetric eigenvalues, singular values) and what is made of them: by what
they are, against NumPy, on matrices that are hard, under derivatives, batches and captures, and in their errors."""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import _factors, linalg

RNG = np.random.default_rng(7)
DTYPES = ["float32", "float64"]
SIZES = [1, 2, 3, 7, 16, 33, 70]


def draw(*shape: int, dtype: str = "float64") -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def symmetric(*shape: int, dtype: str = "float64") -> np.ndarray:
    x = draw(*shape, shape[-1], dtype=dtype)
    return x + x.swapaxes(-1, -2)


def near(given: Any, wanted: Any, bound: float, size: float = 1) -> None:
    """Within `bound` rounding errors of numbers of this size."""
    given, wanted = np.asarray(given), np.asarray(wanted)
    assert given.shape == wanted.shape
    assert np.isfinite(given).all()
    unit = np.finfo(given.dtype).eps * size
    gap = np.abs(given.astype(np.float64) - wanted).max(initial=0)
    assert gap <= bound * unit, f"{gap / unit} rounding errors"


def close(given: Any, wanted: Any, bound: float = 1e-9) -> None:
    wanted = np.asarray(wanted)
    assert given.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(given), wanted, rtol=bound, atol=bound)


def turned(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(-1, -2)


def unit_columns(x: Any) -> None:
    x = np.asarray(x)
    near(turned(x) @ x, np.broadcast_to(np.eye(x.shape[-1]), (*x.shape[:-2], x.shape[-1], x.shape[-1])), 2 * size_of(x))


def size_of(x: np.ndarray) -> float:
    return float(max(x.shape[-2:], default=1) + 2)


def check_eigh(s: np.ndarray) -> None:
    w, v = linalg.eigh(ig.asarray(s))
    scale = float(np.abs(s).max(initial=0)) or 1.0
    unit, w, v = s / s.dtype.type(scale), np.asarray(w) / s.dtype.type(scale), np.asarray(v)
    unit_columns(v)
    near(unit @ v, v * w[..., None, :], 2 * size_of(s), np.linalg.norm(unit, axis=(-2, -1)).max(initial=1))
    assert (np.diff(w) >= 0).all()
    near(w, np.linalg.eigvalsh(unit.astype(np.float64)), 2 * size_of(s), np.abs(w).max(initial=1))
    near(np.asarray(linalg.eigvalsh(ig.asarray(s))) / s.dtype.type(scale), w, 0)
    signs_are_ours(turned(v))


def signs_are_ours(rows: np.ndarray) -> None:
    sizes = np.abs(rows)
    first = (sizes >= 0.99 * sizes.max(-1, keepdims=True)).argmax(-1)
    assert (np.take_along_axis(rows, first[..., None], -1) > 0).all()


def check_svd(x: np.ndarray) -> None:
    scale = x.dtype.type(float(np.abs(x).max(initial=0)) or 1.0)
    unit = x / scale
    for full in (False, True):
        u, s, vh = (np.asarray(part) for part in linalg.svd(ig.asarray(x), full_matrices=full))
        k, s = min(x.shape[-2:]), s / scale
        assert u.shape[-1] == (x.shape[-2] if full else k)
        assert vh.shape[-2] == (x.shape[-1] if full else k)
        unit_columns(u)
        unit_columns(turned(vh))
        near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], unit, 2 * size_of(x), np.linalg.norm(unit))
        assert (np.diff(s) <= 0).all()
        assert (s >= 0).all()
        near(s, np.linalg.svd(unit.astype(np.float64), compute_uv=False), 2 * size_of(x), s.max(initial=1))
        signs_are_ours(turned(u)[..., :k, :] if x.shape[-2] < x.shape[-1] else vh[..., :k, :])
    near(np.asarray(linalg.svdvals(ig.asarray(x))) / scale, s, 0)
    near(np.asarray(linalg.svd(ig.asarray(x), compute_uv=False)) / scale, s, 0)


def check_qr(x: np.ndarray) -> None:
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(ig.asarray(x), mode=mode)
        wanted = np.linalg.qr(x.astype(np.float64), mode=mode)
        assert q.shape == wanted.Q.shape
        near(r, wanted.R, 4 * size_of(x), np.linalg.norm(x))
        unit_columns(q)
        near(np.asarray(q) @ np.asarray(r), x, 2 * size_of(x), np.linalg.norm(x))
        assert (np.tril(np.asarray(r), -1) == 0).all()
    near(linalg.qr(ig.asarray(x), "r"), linalg.qr(ig.asarray(x)).R, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_symmetric_eigenvalues(n: int, dtype: str) -> None:
    check_eigh(symmetric(n, dtype=dtype))
    check_eigh(symmetric(2, 3, n, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 1), (1, 4), (5, 5), (9, 4), (4, 9), (2, 3, 17, 5), (40, 40), (3, 70), (70, 33)]
)
def test_singular_values_and_qr(shape: tuple[int, ...], dtype: str) -> None:
    check_svd(draw(*shape, dtype=dtype))
    check_qr(draw(*shape, dtype=dtype))


def hilbert(n: int) -> np.ndarray:
    return 1 / (np.arange(n)[:, None] + np.arange(n) + 1.0)


def orthogonal(n: int) -> np.ndarray:
    return np.linalg.qr(draw(n, n))[0]


def hard() -> dict[str, np.ndarray]:
    """Matrices with equal, tiny, huge or no eigenvalues, and such as iterations are known to be slow on."""
    q = orthogonal(12)
    clustered = (q * np.where(np.arange(12) < 9, 1.0, 1 + 1e-14)) @ q.T
    wilkinson = np.diag(np.abs(np.arange(21) - 10.0)) + np.eye(21, k=1) + np.eye(21, k=-1)
    graded = draw(10, 10) * 10.0 ** -np.arange(10)[:, None] * 10.0 ** -np.arange(10)
    return {
        "zeros": np.zeros((6, 6)),
        "identity": np.eye(7),
        "ones": np.ones((30, 30)),
        "diagonal": np.diag([3.0, -1, 0, 1e-12, 3]),
        "clustered": (clustered + clustered.T) / 2,
        "wilkinson": wilkinson,
        "hilbert": hilbert(12),
        "second differences": 2 * np.eye(50) - np.eye(50, k=1) - np.eye(50, k=-1),
        "no diagonal": np.eye(9, k=1) + np.eye(9, k=-1),
        "reversed": np.fliplr(np.eye(8)),
        "graded": (graded + graded.T) / 2,
        "graded the other way": np.flip((graded + graded.T) / 2),
        "huge": symmetric(5) * 1e300,
        "tiny": symmetric(5) * 1e-290,
        "one row": np.outer(np.arange(5) == 2, np.ones(5)) + np.outer(np.ones(5), np.arange(5) == 2),
    }


@pytest.mark.parametrize("name", hard())
def test_hard_matrices(name: str) -> None:
    x = hard()[name]
    check_eigh(x)
    check_svd(x)
    if name not in ("huge", "tiny"):
        check_eigh(x.astype(np.float32))
        check_svd(x.astype(np.float32))
        check_qr(x)


def test_matrices_without_full_rank() -> None:
    low = draw(20, 3) @ draw(3, 12)
    check_svd(low)
    check_svd(low.T.copy())
    check_qr(low)
    check_svd(np.eye(9, k=1))  # nothing on the diagonal
    check_svd(np.eye(9, k=2) + np.eye(9, k=1))
    check_svd(np.hstack([np.zeros((8, 3)), draw(8, 2)]))
    check_svd(np.triu(np.ones((15, 15))))
    assert int(linalg.matrix_rank(ig.asarray(low))) == 3
    assert linalg.matrix_rank(ig.asarray(np.stack([low, draw(20, 12)]))).tolist() == [3, 12]
    assert int(linalg.matrix_rank(ig.asarray(np.diag([1.0, 1e-3, 1e-9])), rtol=1e-6)) == 2
    assert int(linalg.matrix_rank(ig.asarray(np.diag([1e4, 1.0, 1e-9])), tol=10.0)) == 1
    assert int(linalg.matrix_rank(ig.asarray(-np.eye(4)), hermitian=True)) == 4
    assert int(linalg.matrix_rank(ig.zeros((3, 3)))) == 0


def test_columns_of_any_size_keep_their_own_precision_in_qr() -> None:
    scales = 10.0 ** np.array([-280.0, 0, 150, -20])
    x = draw(9, 4)
    q, r = linalg.qr(ig.asarray(x * scales))
    near(np.asarray(r) / scales, np.linalg.qr(x).R, 100, 4)
    unit_columns(q)


def test_empty_matrices() -> None:
    for shape in ((0, 0), (3, 0), (0, 3), (2, 0, 0), (0, 4, 3)):
        x = ig.zeros(shape, dtype="float64")
        for ours, theirs in zip(linalg.qr(x), np.linalg.qr(np.zeros(shape)), strict=True):
            assert ours.shape == theirs.shape
        for full in (False, True):
            for ours, theirs in zip(linalg.svd(x, full), np.linalg.svd(np.zeros(shape), full), strict=True):
                assert ours.shape == theirs.shape
                close(ours, theirs)
        assert linalg.pinv(x).shape == (*shape[:-2], shape[-1], shape[-2])
    w, v = linalg.eigh(ig.zeros((2, 0, 0)))
    assert (w.shape, v.shape) == ((2, 0), (2, 0, 0))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_give_nan_in_their_own_matrix_alone(bad: float) -> None:
    s = symmetric(3, 40)
    s[1, 7, 3] = s[1, 3, 7] = bad
    x = ig.asarray(s)
    for parts in (linalg.eigh(x), linalg.svd(x), (linalg.eigvalsh(x), linalg.svdvals(x)), (linalg.pinv(x),)):
        for part in parts:
            assert np.isnan(np.asarray(part)[1]).all()
            assert np.isfinite(np.asarray(part)[[0, 2]]).all()
    q = np.asarray(linalg.qr(x).Q)
    assert np.isnan(q[1]).any()
    assert np.isfinite(q[[0, 2]]).all()
    one = linalg.eigh(ig.asarray([[bad]]))
    assert np.isnan(float(one.eigenvalues[0]))
    assert np.isnan(float(linalg.svdvals(ig.asarray([[bad]]))[0]))


def test_the_triangle_that_is_read() -> None:
    x = draw(3, 6, 6)
    ours = ig.asarray(x)
    for triangle in ("L", "U"):
        close(linalg.eigvalsh(ours, triangle), np.linalg.eigvalsh(x, triangle))
        close(linalg.eigh(ours, UPLO=triangle).eigenvalues, np.linalg.eigh(x, triangle).eigenvalues)
    close(linalg.eigvalsh(ours), np.linalg.eigvalsh((x + turned(x)) / 2))
    close(linalg.eigvalsh(ours, symmetrize_input=False), np.linalg.eigvalsh(x))
    low = np.tril(x) + turned(np.tril(x, -1))
    close(linalg.pinv(ours, hermitian=True), np.linalg.inv(low), 1e-7)
    u, s, vh = linalg.svd(ours, hermitian=True)
    close(s, np.linalg.svd(low, compute_uv=False))
    close((u * s[:, None, :]) @ vh, low)
    close(linalg.svd(ours, compute_uv=False, hermitian=True), np.linalg.svd(low, compute_uv=False))


# --- what is made of them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (9, 4), (4, 9)])
def test_pseudo_inverses_and_least_squares_are_numpy_s(shape: tuple[int, int], dtype: str) -> None:
    bound = 1e-9 if dtype == "float64" else 2e-4
    a, b = draw(*shape, dtype=dtype), draw(shape[0], 3, dtype=dtype)
    close(linalg.pinv(ig.asarray(a)), np.linalg.pinv(a), bound)
    low = (draw(shape[0], 2) @ draw(2, shape[1])).astype(dtype)
    close(linalg.pinv(ig.asarray(low), rtol=1e-4), np.linalg.pinv(low, rtol=1e-4), 10 * bound)
    close(linalg.pinv(ig.asarray(low), 1e-4), np.linalg.pinv(low, 1e-4), 10 * bound)
    for matrix in (a, low):
        ours = linalg.lstsq(ig.asarray(matrix), ig.asarray(b), rcond=1e-4)
        theirs = np.linalg.lstsq(matrix, b, rcond=1e-4)
        close(ours.solution, theirs[0], 10 * bound)
        close(ours.residuals, ((matrix @ theirs[0] - b) ** 2).sum(0), 100 * bound)
        assert int(ours.rank) == theirs[2]
        close(ours.singular_values, theirs[3], 10 * bound)
        like_numpy = linalg.lstsq(ig.asarray(matrix), ig.asarray(b), rcond=1e-4, numpy_resid=True)
        assert like_numpy.residuals.shape == theirs[1].shape
    vector = linalg.lstsq(ig.asarray(a), ig.asarray(b[:, 0]))
    close(vector.solution, np.linalg.lstsq(a, b[:, 0])[0], 10 * bound)
    assert vector.residuals.shape == (1,)
    assert int(linalg.lstsq(ig.asarray(np.diag([1.0, 1e-10])), ig.ones(2, dtype="float64"), rcond=-1).rank) == 2


def test_batches_of_systems_broadcast() -> None:
    a, b = draw(3, 6, 2), draw(6, 4)
    ours = linalg.lstsq(ig.asarray(a), ig.asarray(b), rcond=ig.asarray([1e-6, 1e-5, 1e-4]))
    for i in range(3):
        wanted = np.linalg.lstsq(a[i], b)
        close(ours.solution[i], wanted[0])
        close(ours.residuals[i], wanted[1])
    assert ours.rank.tolist() == [2, 2, 2]


def test_conditions() -> None:
    x = draw(2, 5, 5)
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
        close(linalg.cond(ig.asarray(x), p), np.linalg.cond(x, p), 1e-7)
    close(linalg.cond(ig.asarray(x[:, :, :3])), np.linalg.cond(x[:, :, :3]))
    assert float(linalg.cond(ig.asarray(np.diag([1.0, 0.0])))) == np.inf
    assert float(linalg.cond(ig.zeros((2, 2)))) == np.inf
    assert np.isnan(float(linalg.cond(ig.asarray([[np.nan, 1.0], [0.0, 1.0]]))))


def test_tensors_as_matrices() -> None:
    a, b = draw(2, 3, 6), draw(2, 3)
    close(linalg.tensorsolve(ig.asarray(a), ig.asarray(b)), np.linalg.tensorsolve(a, b), 1e-7)
    moved = a.transpose(2, 0, 1)
    close(linalg.tensorsolve(ig.asarray(moved), ig.asarray(b), axes=(0,)), np.linalg.tensorsolve(a, b), 1e-7)
    square = draw(4, 6, 8, 3)
    close(linalg.tensorinv(ig.asarray(square)), np.linalg.tensorinv(square), 1e-7)
    flat = draw(24, 8, 3)
    close(linalg.tensorinv(ig.asarray(flat), ind=1), np.linalg.tensorinv(flat, 1), 1e-7)


def test_products_of_many() -> None:
    parts = [draw(10, 30), draw(30, 5), draw(5, 60), draw(60, 2)]
    close(linalg.multi_dot([ig.asarray(x) for x in parts]), np.linalg.multi_dot(parts))
    ends = [draw(10), draw(10, 3), draw(3, 4), draw(4)]
    for chosen in (ends, ends[:3], ends[1:], ends[:2], ends[1:3]):
        close(linalg.multi_dot([ig.asarray(x) for x in chosen]), np.linalg.multi_dot(chosen))
    # a (b c) takes fewer multiplications than (a b) c: the order is seen in the graph.
    graph = str(ig.trace(linalg.multi_dot, [ig.ones((100, 2)), ig.ones((2, 100)), ig.ones((100, 3))]).graph)
    assert "f32[2, 3]" in graph
    assert "f32[100, 100]" not in graph


# --- derivatives -----------------------------------------------------------------------------------------------------


def central(f: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    out = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][i] += step
        moved[1][i] -= step
        out[i] = (float(f(moved[0])) - float(f(moved[1]))) / (2 * step)
    return out


C = draw(9, 9)


def weighted(x: Any) -> Any:
    rows, columns = x.shape[-2:]
    return ig.sum(x * C[:rows, :columns])


SQUARE, TALL, WIDE = draw(4, 4), draw(6, 3), draw(3, 5)
GRADIENTS: dict[str, tuple[Any, list[np.ndarray]]] = {
    "q": (lambda x: weighted(linalg.qr(x).Q), [SQUARE, TALL, WIDE]),
    "r": (lambda x: weighted(linalg.qr(x).R), [SQUARE, TALL, WIDE]),
    "r alone": (lambda x: weighted(linalg.qr(x, "r")), [SQUARE, TALL, WIDE]),
    "complete": (lambda x: weighted(linalg.qr(x, "complete").Q), [SQUARE, WIDE]),
    "eigenvalues": (lambda x: ig.sum(linalg.eigvalsh(x) * C[0, :4]), [SQUARE]),
    "eigenvalues with vectors": (lambda x: ig.sum(linalg.eigh(x)[0] * C[0, :4]), [SQUARE]),
    "eigenvectors": (lambda x: weighted(linalg.eigh(x).eigenvectors), [SQUARE]),
    "lower": (lambda x: weighted(linalg.eigh(x, "L").eigenvectors), [SQUARE]),
    "singular values": (lambda x: ig.sum(linalg.svdvals(x) * C[0, : min(x.shape)]), [SQUARE, TALL, WIDE]),
    "u": (lambda x: weighted(linalg.svd(x, False).U), [SQUARE, TALL, WIDE]),
    "vh": (lambda x: weighted(linalg.svd(x, full_matrices=False).Vh), [SQUARE, TALL, WIDE]),
    "pinv": (lambda x: weighted(linalg.pinv(x)), [SQUARE, TALL, WIDE]),
    "lstsq": (lambda x: ig.sum(linalg.lstsq(x, ig.asarray(C[: x.shape[0], 0])).solution ** 2), [SQUARE, TALL, WIDE]),
    "residuals": (lambda x: ig.sum(linalg.lstsq(x, ig.asarray(C[: x.shape[0], :2])).residuals), [TALL]),
    "nuclear": (lambda x: linalg.norm(x, "nuc"), [SQUARE, TALL, WIDE]),
    "spectral": (lambda x: linalg.matrix_norm(x, ord=2), [SQUARE, TALL, WIDE]),
    "cond": (linalg.cond, [SQUARE, TALL]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(name: str) -> None:
    f, points = GRADIENTS[name]
    for x in points:
        wanted = central(lambda y: f(ig.asarray(y)), x)
        size = max(1.0, float(np.abs(wanted).max()))
        for gradient in (ig.grad(f), ig.jit(ig.grad(f)), ig.jacfwd(f)):
            np.testing.assert_allclose(np.asarray(gradient(ig.asarray(x))), wanted, rtol=2e-5, atol=2e-6 * size)


def test_by_the_right_side() -> None:
    a, b = ig.asarray(TALL), ig.asarray(draw(6))
    slope = ig.grad(lambda y: ig.sum(linalg.lstsq(a, y).solution))(b)
    close(slope, np.linalg.pinv(TALL).sum(0))


def test_where_singular_values_are_equal_or_0() -> None:
    weight = ig.asarray(C[:4, :4])
    got = ig.grad(lambda x: ig.sum(linalg.pinv(x) * weight))(ig.eye(4, dtype="float64"))
    close(got, -C[:4, :4])
    # Along directions that keep the rank, the slope is that of differences.
    left, right, l2, r2 = draw(5, 2), draw(2, 4), draw(5, 2), draw(2, 4)
    low = left @ right

    def along(t: float) -> np.ndarray:
        return np.linalg.pinv((left + t * l2) @ (right + t * r2), rtol=1e-9)

    wanted = (along(1e-6) - along(-1e-6)) / 2e-6
    direction = l2 @ right + left @ r2
    for x, t, w in ((low, direction, wanted), (low.T, direction.T, wanted.T)):
        _, got = ig.jvp(lambda a: linalg.pinv(a, rtol=1e-9), (ig.asarray(x),), (ig.asarray(t),))
        close(got, w, 1e-6)
    y = draw(5)
    _, got = ig.jvp(
        lambda a: linalg.lstsq(a, ig.asarray(y), rcond=1e-9).solution, (ig.asarray(low),), (ig.asarray(direction),)
    )
    close(got, wanted @ y, 1e-6)
    close(ig.grad(lambda x: ig.sum(linalg.eigvalsh(x)))(ig.eye(3, dtype="float64")), np.eye(3))


def test_second_derivatives_of_what_has_no_choice_of_signs() -> None:
    """V diag(w²) Vᵀ is a², U S Vᵀ is a, Q R is a, pinv(a) of a regular a is its inverse: so are all derivatives."""
    weight, a = ig.asarray(C[:3, :3]), ig.asarray(SQUARE[:3, :3])

    def squared(x: ig.Tensor) -> ig.Tensor:
        w, v = linalg.eigh(x)
        return ig.sum((v * w**2) @ v.mT * weight)

    def plain(x: ig.Tensor) -> ig.Tensor:
        s = (x + x.mT) * 0.5
        return ig.sum(s @ s * weight)

    def polar(x: ig.Tensor) -> ig.Tensor:
        u, s, vh = linalg.svd(x, full_matrices=False)
        return ig.sum(((u * s) @ vh) ** 3 * weight)

    def triangles(x: ig.Tensor) -> ig.Tensor:
        q, r = linalg.qr(x)
        return ig.sum((q @ r) ** 3 * weight)

    pairs = [
        (squared, plain),
        (polar, lambda x: ig.sum(x**3 * weight)),
        (triangles, lambda x: ig.sum(x**3 * weight)),
        (lambda x: ig.sum(linalg.pinv(x) * weight), lambda x: ig.sum(linalg.inv(x) * weight)),
        (lambda x: ig.sum(linalg.svdvals(x) ** 2), lambda x: ig.sum(x**2)),
    ]
    for ours, wanted in pairs:
        exact = np.asarray(ig.hessian(wanted)(a))
        for second in (
            ig.hessian(ours),
            ig.jit(ig.hessian(ours)),
            ig.jacrev(ig.grad(ours)),
            ig.jacfwd(ig.jacfwd(ours)),
        ):
            close(second(a), exact, 1e-7 * max(1.0, float(np.abs(exact).max())))


# --- batches, captures -----------------------------------------------------------------------------------------------

CALLS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "qr": (linalg.qr, (5, 3)),
    "complete": (lambda x: linalg.qr(x, mode="complete"), (5, 3)),
    "r": (lambda x: (linalg.qr(x, mode="r"),), (3, 5)),
    "eigh": (linalg.eigh, (4, 4)),
    "eigvalsh": (lambda x: (linalg.eigvalsh(x),), (4, 4)),
    "svd": (linalg.svd, (5, 3)),
    "thin": (lambda x: linalg.svd(x, full_matrices=False), (3, 5)),
    "svdvals": (lambda x: (linalg.svdvals(x),), (5, 3)),
    "pinv": (lambda x: (linalg.pinv(x),), (5, 3)),
    "lstsq": (lambda x: linalg.lstsq(x, ig.ones((5, 2), dtype="float64")), (5, 3)),
    "rank": (lambda x: (linalg.matrix_rank(x), linalg.cond(x)), (5, 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_batches_and_captures_give_the_bits_of_the_loop(name: str) -> None:
    f, shape = CALLS[name]
    x = ig.asarray(draw(6, *shape))
    rows = [f(x[i]) for i in range(6)]
    wanted = [np.stack([np.asarray(row[k]) for row in rows]) for k in range(len(rows[0]))]
    for run in (f, ig.jit(f)) if name != "lstsq" else ():
        for got, want in zip(run(x), wanted, strict=True):
            close(got, want, 1e-12)
    last = ig.moveaxis(x, 0, 2)
    for run, given in ((ig.vmap(f), x), (ig.jit(ig.vmap(f)), x), (ig.vmap(ig.jit(f), in_axes=2), last)):
        for got, want in zip(run(given), wanted, strict=True):
            close(got, want, 1e-12)
    for got, want in zip(ig.trace(f, x[0])(x[0]), rows[0], strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_transforms_in_any_order() -> None:
    f = lambda x: ig.sum(linalg.svdvals(x)[:2]) + linalg.eigvalsh(x.mT @ x)[0]  # noqa: E731
    x = ig.asarray(draw(4, 5, 3))
    wanted = np.stack([np.asarray(ig.grad(f)(x[i])) for i in range(4)])
    close(ig.vmap(ig.grad(f))(x), wanted)
    close(ig.jit(ig.vmap(ig.grad(f)))(x), wanted)
    close(ig.vmap(ig.jit(ig.grad(f)))(x), wanted)
    close(ig.grad(lambda y: ig.sum(ig.vmap(f)(y)))(x), wanted)
    leaf = ig.asarray(np.asarray(x[0]), requires_grad=True)
    f(leaf).backward()
    close(leaf.grad, wanted[0])


def test_sizes_that_are_symbols() -> None:
    svd = ig.jit(lambda x: linalg.svd(x, full_matrices=False))
    full, eigh, qr = ig.jit(lambda x: linalg.svd(x)), ig.jit(linalg.eigh), ig.jit(lambda x: linalg.qr(x, "r"))
    solve, inverse = ig.jit(lambda a, b: linalg.lstsq(a, b).solution), ig.jit(linalg.pinv)
    slope = ig.jit(ig.grad(lambda x: ig.sum(linalg.svd(x, full_matrices=False).U[0]) + ig.sum(linalg.qr(x).R)))
    for m, n in ((2, 3), (7, 3), (9, 4), (3, 11), (5, 5), (6, 6), (20, 2), (4, 6)):
        x, b = draw(m, n), draw(m)
        ours = ig.asarray(x)
        for got, want in zip(svd(ours), linalg.svd(ours, False), strict=True):
            close(got, want)
        u, s, vh = full(ours)
        close((u[:, : min(m, n)] * s) @ vh[: min(m, n)], x)
        unit_columns(u)
        unit_columns(np.asarray(vh).T)
        close(eigh(ig.asarray(x @ x.T)).eigenvalues, np.linalg.eigvalsh(x @ x.T))
        close(qr(ours), np.linalg.qr(x, "r"))
        close(solve(ours, ig.asarray(b)), np.linalg.lstsq(x, b)[0])
        close(inverse(ours), np.linalg.pinv(x))
        wanted = central(
            lambda y: ig.sum(linalg.svd(ig.asarray(y), False).U[0]) + ig.sum(linalg.qr(ig.asarray(y)).R), x
        )
        np.testing.assert_allclose(np.asarray(slope(ours)), wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())
    n = ig.Dim("n", 2, 64)
    traced = ig.trace(lambda x: linalg.eigvalsh(x), ig.asarray(symmetric(5)), dynamic_shapes={"x": {0: n, 1: n}})
    m = ig.Dim("m", 2, 64)
    both = ig.trace(lambda x: linalg.pinv(x), ig.asarray(draw(5, 3)), dynamic_shapes={"x": {0: m, 1: n}})
    for size in (2, 9, 40):
        s, x = symmetric(size), draw(size, 11)
        close(traced(ig.asarray(s)), np.linalg.eigvalsh(s))
        close(both(ig.asarray(x)), np.linalg.pinv(x))


def test_numpy_s_functions_come_here() -> None:
    x, s = ig.asarray(draw(5, 3)), ig.asarray(symmetric(4))

    @ig.jit
    def f(x: Any, s: Any) -> Any:
        values = np.linalg.eigh(s, "L").eigenvalues, np.linalg.eigvalsh(s), np.linalg.svd(x, full_matrices=False).S
        solved = np.linalg.lstsq(x, x[:, 0])[0], np.linalg.pinv(x), np.linalg.qr(x, mode="r")
        return (*values, *solved, np.linalg.matrix_rank(x), np.linalg.cond(x), np.linalg.multi_dot([x, x.mT, x]))

    assert all(isinstance(part, ig.Tensor) for part in f(x, s))
    close(f(x, s)[3], [1, 0, 0])
    assert isinstance(np.linalg.svdvals(x), ig.Tensor)
    assert isinstance(np.linalg.tensorinv(ig.eye(6).reshape(2, 3, 6)), ig.Tensor)


# --- the example ------------------------------------------------------------------------------------------------------


def test_the_example_has_the_certified_figures() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "linear_algebra" / "longley.py"
    example = runpy.run_path(str(path))
    result, data = example["fit"](), example["DATA"]
    for name in ("coefficients", "by QR"):
        assert np.abs(result[name] / example["CERTIFIED"] - 1).max() < 1e-9
    assert abs(result["deviation"] / example["CERTIFIED_DEVIATION"] - 1) < 1e-10
    a = np.column_stack([np.ones(16), data[:, 1:]])
    close(result["condition"] / np.linalg.cond(a), 1.0, 1e-6)
    q = np.linalg.qr(a).Q
    close(result["influence"], (q**2).sum(1), 1e-6)
    for left_out in (0, 7, 15):
        kept = np.arange(16) != left_out
        lengths = np.linalg.norm(a[kept], axis=0)
        wanted = np.linalg.lstsq(a[kept] / lengths, data[kept, 0])[0] / lengths
        close(result["without each"][left_out] / wanted, np.ones(7), 1e-6)
    z = (data[:, 1:] - data[:, 1:].mean(0)) / data[:, 1:].std(0)
    close(result["shares"], np.linalg.svd(z, compute_uv=False) ** 2 / z.size)


# --- errors ----------------------------------------------------------------------------------------------------------

ERRORS: dict[str, Any] = {
    "no matrix": lambda: linalg.svd(ig.ones(3)),
    "no square": lambda: linalg.eigh(ig.ones((2, 3))),
    "half": lambda: linalg.qr(ig.ones((2, 2), dtype="float16")),
    "mode": lambda: linalg.qr(ig.ones((2, 2)), mode="raw"),
    "triangle": lambda: linalg.eigvalsh(ig.ones((2, 2)), UPLO="lower"),
    "slope of complete factors": lambda: ig.grad(lambda x: ig.sum(linalg.qr(x, "complete").R))(ig.ones((3, 2))),
    "slope of full factors": lambda: ig.grad(lambda x: ig.sum(linalg.svd(x).S))(ig.ones((3, 2))),
    "limits": lambda: linalg.pinv(ig.ones((2, 2)), rtol=ig.ones(2)),
    "rows": lambda: linalg.lstsq(ig.ones((3, 2)), ig.ones(2)),
    "parts": lambda: linalg.tensorsolve(ig.ones((2, 3)), ig.ones(2)),
    "ind": lambda: linalg.tensorinv(ig.ones((2, 2)), ind=0),
    "few": lambda: linalg.multi_dot([ig.ones((2, 2))]),
    "residuals": lambda: ig.trace(lambda a: linalg.lstsq(a, a, numpy_resid=True), ig.ones((3, 2))),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("linalg_factors_errors.txt"))


def test_examples_of_the_docstrings() -> None:
    result = doctest.testmod(_factors, extraglobs={"ig": ig})
    assert result.attempted >= 10
    assert not result.failed
