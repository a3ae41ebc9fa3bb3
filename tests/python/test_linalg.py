"""`ig.linalg` against NumPy: values, batches, derivatives, NumPy's own functions, and errors."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import linalg

RNG = np.random.default_rng(0)
SIZES = [1, 2, 5, 16, 33]


def matrices(*shape: int) -> np.ndarray:
    return RNG.standard_normal((*shape, shape[-1]))


def positive(*shape: int) -> np.ndarray:
    x = matrices(*shape)
    return x @ x.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])


def close(given: Any, wanted: Any, bound: float = 1e-9) -> None:
    wanted = np.asarray(wanted)
    assert given.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(given), wanted, rtol=bound, atol=bound)


@pytest.mark.parametrize("n", SIZES)
def test_factors_and_systems_are_numpy_s(n: int) -> None:
    a, s, b, column = matrices(3, n), positive(3, n), RNG.standard_normal((3, n, 4)), RNG.standard_normal(n)
    x, spd, y = (ig.asarray(v) for v in (a, s, b))
    low = np.linalg.cholesky(s)
    close(linalg.cholesky(spd), low)
    close(linalg.cholesky(spd, upper=True), low.swapaxes(-1, -2))
    close(linalg.cholesky(ig.asarray(np.tril(s)), symmetrize_input=False), low)
    close(linalg.solve(x, y), np.linalg.solve(a, b), 1e-7)
    close(linalg.solve(x[0], ig.asarray(column)), np.linalg.solve(a[0], column), 1e-7)
    close(linalg.solve(x[0], y), np.linalg.solve(a[0], b), 1e-7)  # the batch of one side broadcasts
    close(linalg.inv(x), np.linalg.inv(a), 1e-6)
    close(linalg.det(x), np.linalg.det(a), 1e-8)
    for given, wanted in zip(linalg.slogdet(x), np.linalg.slogdet(a), strict=True):
        close(given, wanted)
    order, lower, upper = linalg.lu(x)
    close(lower @ upper, np.take_along_axis(a, np.asarray(order)[..., None], -2))
    assert np.abs(np.asarray(lower)).max() <= 1
    for options in ({}, {"lower": False}, {"transpose_a": True}, {"lower": False, "transpose_a": True}):
        t = np.tril(s) if options.get("lower", True) else np.triu(s)
        t = t.swapaxes(-1, -2) if options.get("transpose_a") else t
        close(linalg.triangular_solve(spd, y, **options), np.linalg.solve(t, b))
    unit = np.tril(s / 10, -1) + np.eye(n)
    close(linalg.triangular_solve(spd / 10, y, unit_diagonal=True), np.linalg.solve(unit, b), 1e-6)
    for power in (0, 1, 5, -2):
        close(linalg.matrix_power(spd / n, power), np.linalg.matrix_power(s / n, power), 1e-6)


def test_float32_and_sizes_that_are_symbols() -> None:
    f = ig.jit(lambda a, b: linalg.solve(a, b))
    for n in (2, 3, 4, 7):
        s, b = positive(n).astype(np.float32), RNG.standard_normal((n, 2)).astype(np.float32)
        close(f(ig.asarray(s), ig.asarray(b)), np.linalg.solve(s, b), 1e-4)
    assert linalg.det(ig.asarray([[1, 2], [3, 4]])).dtype == ig.float32  # whole numbers become floats


def test_rows_are_exchanged_and_singular_matrices_have_determinant_0() -> None:
    close(linalg.det(ig.asarray([[0.0, 1.0], [1.0, 0.0]])), -1.0)
    close(linalg.det(ig.asarray(np.eye(4)[[1, 2, 3, 0]])), -1.0)
    assert float(linalg.det(ig.asarray([[0.0, 1.0], [0.0, 2.0]]))) == 0
    assert float(linalg.slogdet(ig.zeros((2, 2))).logabsdet) == float("-inf")
    assert np.isnan(np.asarray(linalg.cholesky(ig.asarray([[1.0, 2.0], [2.0, 1.0]])))).any()


def central(f: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    out = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][i] += step
        moved[1][i] -= step
        out[i] = (float(f(moved[0])) - float(f(moved[1]))) / (2 * step)
    return out


WEIGHT = RNG.standard_normal((4, 4))
FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "cholesky": (
        lambda x: ig.sum(linalg.cholesky(x) * WEIGHT),
        lambda x: (np.linalg.cholesky((x + x.T) / 2) * WEIGHT).sum(),
    ),
    "inv": (lambda x: ig.sum(linalg.inv(x) * WEIGHT), lambda x: (np.linalg.inv(x) * WEIGHT).sum()),
    "solve": (lambda x: ig.sum(linalg.solve(x, WEIGHT[0])), lambda x: np.linalg.solve(x, WEIGHT[0]).sum()),
    "det": (linalg.det, np.linalg.det),
    "slogdet": (lambda x: linalg.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1]),
    "power": (lambda x: ig.sum(linalg.matrix_power(x, -2)), lambda x: np.linalg.matrix_power(x, -2).sum()),
    "norm": (linalg.norm, np.linalg.norm),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_differences(name: str) -> None:
    ours, theirs = FUNCTIONS[name]
    for x in (positive(4), positive(4) + 0.2 * matrices(4)):
        wanted = central(theirs, x)
        size = np.abs(wanted).max()
        for gradient in (ig.grad(ours), ig.jit(ig.grad(ours)), ig.jacfwd(ours)):
            np.testing.assert_allclose(np.asarray(gradient(ig.asarray(x))), wanted, rtol=1e-5, atol=1e-6 * size)


def test_under_vmap_and_on_the_tape() -> None:
    s, b = positive(5, 3), RNG.standard_normal((5, 3))
    close(ig.vmap(linalg.solve)(ig.asarray(s), ig.asarray(b)), np.linalg.solve(s, b[..., None])[..., 0])
    close(
        ig.vmap(linalg.cholesky, in_axes=2, out_axes=2)(ig.asarray(np.moveaxis(s, 0, 2))),
        np.moveaxis(np.linalg.cholesky(s), 0, 2),
    )
    close(ig.vmap(linalg.solve, in_axes=(None, 0))(ig.asarray(s[0]), ig.asarray(b)), np.linalg.solve(s[0], b.T).T)
    rows = ig.jit(ig.vmap(ig.grad(lambda a: linalg.slogdet(a).logabsdet)))(ig.asarray(s))
    close(rows, np.linalg.inv(s).swapaxes(-1, -2))
    x = ig.asarray(s[0], requires_grad=True)
    linalg.slogdet(x).logabsdet.backward()
    close(x.grad, np.linalg.inv(s[0]).T)


def test_norms_are_numpy_s() -> None:
    x = RNG.standard_normal((2, 3, 4))
    ours = ig.asarray(x)
    for order in (2, 1, 0, np.inf, -np.inf, 3):
        close(linalg.vector_norm(ours, axis=1, ord=order), np.linalg.vector_norm(x, axis=1, ord=order))
    for order in ("fro", 1, -1, np.inf, -np.inf, 2, -2, "nuc"):
        for keep in (False, True):
            wanted = np.linalg.matrix_norm(x, ord=order, keepdims=keep)
            close(linalg.matrix_norm(ours, ord=order, keepdims=keep), wanted)
        close(
            linalg.norm(ours, order, axis=(0, 2), keepdims=True), np.linalg.norm(x, order, axis=(0, 2), keepdims=True)
        )
    close(linalg.norm(ours), np.linalg.norm(x))
    close(linalg.norm(ours, axis=-1), np.linalg.norm(x, axis=-1))
    close(linalg.norm(ours[0, 0], 1), np.linalg.norm(x[0, 0], 1))
    z = ig.asarray([3 + 4j, 0j])
    assert float(linalg.vector_norm(z)) == 5


def test_the_rest_of_the_extension() -> None:
    x = RNG.standard_normal((2, 3, 3))
    ours = ig.asarray(x)
    close(linalg.trace(ours), np.trace(x, axis1=1, axis2=2))
    close(linalg.trace(ours, offset=1), np.trace(x, 1, axis1=1, axis2=2))
    close(linalg.diagonal(ours, offset=-1), np.linalg.diagonal(x, offset=-1))
    close(linalg.tensordot(ours[0], ours[1], axes=1), np.tensordot(x[0], x[1], 1))
    close(linalg.tensordot(ours, ours, axes=((0, 1), (0, 2))), np.tensordot(x, x, ((0, 1), (0, 2))))
    close(linalg.outer(ours[0, 0], ours[0, 1]), np.outer(x[0, 0], x[0, 1]))
    close(linalg.cross(ours[0], ours[1]), np.cross(x[0], x[1]))
    close(linalg.matmul(ours, ours), x @ x)
    close(linalg.vecdot(ours, ours), (x * x).sum(-1))
    close(linalg.matrix_transpose(ours), x.swapaxes(1, 2))
    assert linalg.trace(ig.ones((2, 2), dtype="int8")).dtype == ig.int64


def test_numpy_s_functions_come_here() -> None:
    s, b = ig.asarray(positive(3)), ig.asarray(RNG.standard_normal(3))

    @ig.jit
    def f(s: Any, b: Any) -> Any:
        return np.linalg.solve(s, b) * np.linalg.det(s) + np.linalg.norm(b) + np.linalg.cholesky(s)[0]

    wanted = linalg.solve(s, b) * linalg.det(s) + linalg.norm(b) + linalg.cholesky(s)[0]
    close(f(s, b), np.asarray(wanted))
    assert isinstance(np.linalg.inv(s), ig.Tensor)
    assert isinstance(np.linalg.eigvals(s), ig.Tensor)


ERRORS: dict[str, Any] = {
    "no matrix": lambda: linalg.inv(ig.ones(3)),
    "not square": lambda: linalg.cholesky(ig.ones((2, 3)), symmetrize_input=False),
    "one row": lambda: linalg.cholesky(ig.ones((1, 3))),  # which its transpose would broadcast with
    "half": lambda: linalg.det(ig.ones((2, 2), dtype="float16")),
    "rows": lambda: linalg.solve(ig.ones((2, 2)), ig.ones((3, 1))),
    "batch": lambda: linalg.solve(ig.ones((2, 2, 2)), ig.ones((3, 2, 1))),
    "norm": lambda: linalg.matrix_norm(ig.ones((2, 2)), ord="two"),
    "axes": lambda: linalg.norm(ig.ones((2, 2, 2)), 1),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("linalg_errors.txt"))


def test_examples_of_the_docstrings() -> None:
    result = doctest.testmod(linalg, extraglobs={"ig": ig})
    assert result.attempted >= 20
    assert not result.failed
