"""Derivatives of systems, inverses and determinants are systems with the same factors: the matrix is factored once,
whatever is asked for, and a loop's backward pass is given the factors of its forward pass."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig


def matrix(*shape: int, seed: int = 0, dtype: Any = np.float64) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return a.astype(dtype)


def factorings(function: Callable[..., Any], *args: Any) -> int:
    """How many nodes of the optimised graph factor a matrix."""
    text = str(ig.jit(function).lower(*args).graph)
    return text.count(" = lu(")


def squares(x: Any) -> Any:
    return ig.sum(x * x)


A, Y, B = matrix(5, 5) + 3 * np.eye(5), matrix(5, seed=1), matrix(5, 3, seed=2)
SCALARS = {
    "solve": lambda a: squares(ig.linalg.solve(a, ig.asarray(Y))),
    "solve with a matrix": lambda a: squares(ig.linalg.solve(a, ig.asarray(B))),
    "solve of what depends on it": lambda a: squares(ig.linalg.solve(a, a[0])),
    "inv": lambda a: squares(ig.linalg.inv(a)),
    "det": ig.linalg.det,
    "slogdet": lambda a: ig.linalg.slogdet(a)[1],
}


@pytest.mark.parametrize("name", SCALARS)
def test_the_matrix_is_factored_once(name: str) -> None:
    f, a = SCALARS[name], ig.asarray(A)
    assert factorings(ig.value_and_grad(f), a) == 1
    assert factorings(ig.grad(lambda a: squares(ig.grad(f)(a))), a) == 1
    assert factorings(lambda a: ig.jvp(f, (a,), (a,)), a) == 1
    assert factorings(ig.hessian(f), a) == 1


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("run", [lambda f: f, ig.jit], ids=["eager", "jit"])
def test_first_and_second_derivatives_agree_with_differences(name: str, run: Callable[..., Any]) -> None:
    f, step = SCALARS[name], 1e-5
    along = matrix(5, 5, seed=3)

    def slope(g: Callable[..., Any], at: np.ndarray) -> np.ndarray:
        up, down = g(ig.asarray(at + step * along)), g(ig.asarray(at - step * along))
        return (np.asarray(up) - np.asarray(down)) / (2 * step)

    first = run(ig.grad(f))
    np.testing.assert_allclose(np.sum(np.asarray(first(ig.asarray(A))) * along), slope(f, A), rtol=1e-6)
    again = run(lambda a: ig.jvp(ig.grad(f), (a,), (ig.asarray(along),))[1])
    np.testing.assert_allclose(np.asarray(again(ig.asarray(A))), slope(first, A), rtol=1e-5, atol=1e-6)
    reverse = run(ig.grad(lambda a: ig.sum(ig.grad(f)(a) * ig.asarray(along))))
    np.testing.assert_allclose(
        np.asarray(reverse(ig.asarray(A))), np.asarray(again(ig.asarray(A))), rtol=1e-9, atol=1e-12
    )


def test_gradients_of_a_system_by_its_right_side() -> None:
    """Aᵀ g = ct, whose unknowns come in the order of the pivots."""
    a = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [4.0, 1.0, 0.0]])  # every row changes its place
    w = np.array([1.0, -2.0, 0.5])
    grad = ig.jit(ig.grad(lambda y: ig.sum(ig.linalg.solve(ig.asarray(a), y) * ig.asarray(w))))(
        ig.ones(3, dtype="float64")
    )
    np.testing.assert_allclose(np.asarray(grad), np.linalg.solve(a.T, w), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_systems(dtype: Any) -> None:
    a, y, w = matrix(4, 4, dtype=dtype), matrix(4, 2, seed=1, dtype=dtype), matrix(4, 2, seed=2, dtype=dtype)
    f = ig.jit(ig.grad(lambda a, y: ig.sum(ig.real(ig.linalg.solve(a, y) * ig.asarray(w))), argnums=(0, 1)))
    by_a, by_y = (np.asarray(g) for g in f(ig.asarray(a), ig.asarray(y)))
    x, pulled = np.linalg.solve(a, y), np.linalg.solve(a.T, w)
    # As JAX has it: of a real function the gradient is ∂/∂re - i ∂/∂im.
    tolerance = {"rtol": 2e-4, "atol": 1e-4} if dtype == np.complex64 else {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(by_y, pulled, **tolerance)
    np.testing.assert_allclose(by_a, -pulled @ x.T, **tolerance)
    sign, size = ig.jit(lambda a, t: ig.jvp(ig.linalg.slogdet, (a,), (t,))[1])(ig.asarray(a), ig.asarray(a * 0.5j))
    np.testing.assert_allclose(np.asarray(size), 0, atol=1e-5)  # i a / 2 turns the determinant, by 4 / 2
    np.testing.assert_allclose(np.asarray(sign), 2j * np.linalg.slogdet(a)[0], rtol=1e-4)


def test_batches_and_empty_matrices() -> None:
    a, y = matrix(2, 3, 4, 4) + 3 * np.eye(4), matrix(2, 3, 4, 1, seed=1)
    grad = ig.jit(ig.grad(lambda a: squares(ig.linalg.solve(a, ig.asarray(y)))))
    one = ig.grad(lambda a, y: squares(ig.linalg.solve(a, y)))
    mapped = ig.vmap(ig.vmap(one))(ig.asarray(a), ig.asarray(y))
    np.testing.assert_allclose(np.asarray(grad(ig.asarray(a))), np.asarray(mapped), rtol=1e-12)
    singly = [[np.asarray(one(ig.asarray(a[i, j]), ig.asarray(y[i, j]))) for j in range(3)] for i in range(2)]
    np.testing.assert_allclose(np.asarray(mapped), singly, rtol=1e-12)
    for shape in ((0, 4, 4), (3, 0, 0), (0, 0)):
        for f in (ig.linalg.inv, ig.linalg.det, lambda a: ig.linalg.slogdet(a)[1]):
            assert ig.jit(ig.grad(lambda a, f=f: ig.sum(f(a))))(ig.zeros(shape)).shape == shape


def solving_loop(a: Any, y: Any) -> Any:
    def step(x: Any, row: Any) -> Any:
        x = ig.linalg.solve(a + ig.eye(5, dtype="float64") * ig.sum(x * x), x + row)
        return x, ig.sum(x)

    last, sums = ig.scan(step, y[0], y)
    return squares(last) + squares(sums)


def test_the_backward_pass_of_a_loop_is_given_the_factors() -> None:
    y = ig.asarray(matrix(6, 5, seed=4))
    assert factorings(ig.grad(solving_loop), ig.asarray(A), y) == 1
    grad = np.asarray(ig.jit(ig.grad(solving_loop))(ig.asarray(A), y))
    along, step = matrix(5, 5, seed=3), 1e-6
    up, down = (float(solving_loop(ig.asarray(A + s * step * along), y)) for s in (1, -1))
    np.testing.assert_allclose(np.sum(grad * along), (up - down) / (2 * step), rtol=1e-6)


def test_a_pullback_is_given_the_factors() -> None:
    value, pull = ig.vjp(lambda a: ig.linalg.solve(a, ig.asarray(Y)), ig.asarray(A))
    np.testing.assert_allclose(np.asarray(value), np.linalg.solve(A, Y), rtol=1e-12)
    pulled = np.linalg.solve(A.T, np.ones(5))
    (grad,) = pull(ig.ones(5, dtype="float64"))
    np.testing.assert_allclose(np.asarray(grad), -np.outer(pulled, np.linalg.solve(A, Y)), rtol=1e-12)


def test_the_example_has_both_gradients() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "linear_algebra" / "equilibrium.py"
    result = runpy.run_path(str(path))["main"]()
    assert result["left"] < 1e-14
    assert result["apart"] < 1e-13
    assert result["off"] < 1e-8
