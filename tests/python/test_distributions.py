"""Distributions of `ig.random` that are drawn by trying, and those made of them: JAX's numbers from the same keys,
moments, captures and batches, derivatives by the parameters, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
from refusals import check_texts, refusal

import intaglio as ig

JAX = np.load(Path(__file__).resolve().parents[1] / "data" / "jax_random.npz")
KEY = ig.random.key(11)
A = ig.asarray([0.05, 0.7, 1.0, 3.5, 400.0])
DRAWS: dict[str, Any] = {
    "gamma": lambda key: ig.random.gamma(key, A, (4, 5)),
    "loggamma": lambda key: ig.random.loggamma(key, A, (2, 5)),
    "beta": lambda key: ig.random.beta(key, A, 2.0, (3, 5)),
    "dirichlet": lambda key: ig.random.dirichlet(key, A[1:], (3,)),
    "chisquare": lambda key: ig.random.chisquare(key, A * 2, (2, 5)),
    "t": lambda key: ig.random.t(key, A + 1, (3, 5)),
    "poisson": lambda key: ig.random.poisson(key, ig.asarray([0.0, 0.5, 9.5, 30.0, 1e4]), (6, 5)),
    "lognormal": lambda key: ig.random.lognormal(key, 0.5, (6,)),
    "pareto": lambda key: ig.random.pareto(key, 3.0, (6,)),
    "rayleigh": lambda key: ig.random.rayleigh(key, 2.0, (6,)),
    "weibull_min": lambda key: ig.random.weibull_min(key, 2.0, 1.5, (6,)),
    "geometric": lambda key: ig.random.geometric(key, 0.2, (8,)),
    "maxwell": lambda key: ig.random.maxwell(key, (6,)),
    "multivariate_normal": lambda key: ig.random.multivariate_normal(
        key, ig.asarray([1.0, -1.0]), ig.asarray([[2.0, 0.6], [0.6, 1.0]]), (4,)
    ),
    "orthogonal": lambda key: ig.random.orthogonal(key, 3, (2,)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_are_jax_s(name: str) -> None:
    drawn = DRAWS[name](KEY)
    jitted = ig.jit(DRAWS[name])(KEY)
    assert np.array_equal(np.asarray(drawn), np.asarray(jitted))
    np.testing.assert_allclose(np.asarray(drawn), JAX[name], rtol=2e-4, atol=2e-6)


N = (20000,)
MOMENTS: dict[str, tuple[Any, float, float]] = {
    "gamma": (lambda key: ig.random.gamma(key, 2.5, N), 2.5, 2.5),
    "gamma below 1": (lambda key: ig.random.gamma(key, 0.3, N), 0.3, 0.3),
    "beta": (lambda key: ig.random.beta(key, 2.0, 3.0, N), 0.4, 0.04),
    "chisquare": (lambda key: ig.random.chisquare(key, 3.0, N), 3.0, 6.0),
    "t": (lambda key: ig.random.t(key, 8.0, N), 0.0, 8 / 6),
    "poisson": (lambda key: ig.random.poisson(key, 4.0, N), 4.0, 4.0),
    "poisson from 10 on": (lambda key: ig.random.poisson(key, 40.0, N), 40.0, 40.0),
    "pareto": (lambda key: ig.random.pareto(key, 6.0, N), 1.2, 6 / (25 * 4)),
    "rayleigh": (lambda key: ig.random.rayleigh(key, 2.0, N), 2 * np.sqrt(np.pi / 2), 4 * (2 - np.pi / 2)),
    "geometric": (lambda key: ig.random.geometric(key, 0.25, N), 4.0, 12.0),
    "binomial": (lambda key: ig.random.binomial(key, 10, 0.3, N), 3.0, 2.1),
    "multinomial": (lambda key: ig.random.multinomial(key, 10, ig.asarray([0.3, 0.7]), N)[:, 0], 3.0, 2.1),
    "ball": (lambda key: ig.random.ball(key, 3, N)[:, 0], 0.0, 0.2),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name: str) -> None:
    draw, mean, variance = MOMENTS[name]
    x = np.asarray(draw(ig.random.key(5)), np.float64)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / N[0])
    assert abs(x.var() / variance - 1) < 0.1


def test_shapes_and_types() -> None:
    assert ig.random.gamma(KEY, 2.0).shape == ()
    assert ig.random.gamma(KEY, 2.0, (0, 3)).shape == (0, 3)
    assert ig.random.gamma(KEY, A, dtype="float64").dtype == ig.float64
    assert ig.random.poisson(KEY, A, dtype="int32").dtype == ig.int32
    assert ig.random.poisson(KEY, ig.asarray([ig.nan, 0.0])).tolist() == [-1, 0]
    assert ig.random.multinomial(KEY, 7, ig.asarray([0.2, 0.3, 0.5]), (2, 4)).sum(axis=-1).tolist() == [[7] * 4] * 2
    assert (ig.linalg.vector_norm(ig.random.ball(KEY, 4, (50,)), axis=-1) <= 1).all()
    q = ig.random.orthogonal(KEY, 5)
    np.testing.assert_allclose(np.asarray(q @ q.mT), np.eye(5), atol=1e-5)


def test_batches_of_keys() -> None:
    keys = ig.random.split(KEY, 3)
    for draw in (lambda key: ig.random.gamma(key, 1.5, (2,)), lambda key: ig.random.poisson(key, 12.0, (2,))):
        batched = ig.vmap(draw)(keys)
        assert batched.tolist() == [draw(keys[i]).tolist() for i in range(3)]


def test_derivatives_where_there_are_some() -> None:
    slope = ig.grad(lambda s: ig.sum(ig.random.rayleigh(KEY, s, (4,))))(2.0)
    np.testing.assert_allclose(float(slope), float(ig.sum(ig.random.rayleigh(KEY, 1.0, (4,)))), rtol=1e-5)
    score = ig.grad(lambda a: ig.sum(ig.random.gamma(KEY, ig.stop_gradient(a), (4,))) * a)(2.0)
    assert float(score) > 0


def along_the_quantile(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """What a gamma-distributed number does as its shape changes: differences of the share below, over the density."""
    step = 1e-5 * a
    moved = (scipy.special.gammainc(a + step, x) - scipy.special.gammainc(a - step, x)) / (2 * step)
    return -moved / np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("a", [0.2, 0.7, 1.0, 3.5, 40.0, 300.0])
def test_slopes_of_gamma_are_those_of_the_quantiles(a: float, dtype: str) -> None:
    shape = ig.full((50,), a, dtype=dtype)

    def draw(a: ig.Tensor) -> ig.Tensor:
        return ig.random.gamma(KEY, a, dtype=dtype)

    x = np.asarray(draw(shape)).astype(np.float64)
    want = along_the_quantile(np.asarray(shape).astype(np.float64), x)
    gradient = ig.grad(lambda a: ig.sum(draw(a)))
    for run in (gradient, ig.jit(gradient)):
        np.testing.assert_allclose(np.asarray(run(shape)), want, rtol=2e-4 if dtype == "float32" else 2e-6)
    _, slope = ig.jvp(lambda a: ig.random.loggamma(KEY, a, dtype=dtype), (shape,), (ig.ones_like(shape),))
    np.testing.assert_allclose(np.asarray(slope), want / x, rtol=2e-4 if dtype == "float32" else 2e-6)


def test_slopes_of_what_is_made_of_gamma() -> None:
    """Means of slopes are slopes of means, of enough numbers; and the tape gives what the gradient gives."""
    count = (20000,)
    of = {
        "gamma": (lambda a: ig.mean(ig.random.gamma(KEY, a, count)), 2.5, 1.0),
        "chisquare": (lambda a: ig.mean(ig.random.chisquare(KEY, a, count)), 3.0, 1.0),
        "beta by a": (lambda a: ig.mean(ig.random.beta(KEY, a, 3.0, count)), 2.0, 3 / 25),
        "beta by b": (lambda b: ig.mean(ig.random.beta(KEY, 2.0, b, count)), 3.0, -2 / 25),
        # By df, of 2 sqrt(df) gamma((df + 1) / 2) / (sqrt(pi) gamma(df / 2) (df - 1)).
        "size of t": (lambda df: ig.mean(ig.abs(ig.random.t(KEY, df, count))), 4.0, -0.06814718),
    }
    for name, (mean, at, want) in of.items():
        assert float(ig.grad(mean)(at)) == pytest.approx(want, rel=0.05), name
    alpha = np.array([1.0, 2.0, 3.0])
    rows = ig.jacrev(lambda a: ig.mean(ig.random.dirichlet(KEY, a, count), axis=0))(ig.asarray(alpha, dtype="float32"))
    total = alpha.sum()
    np.testing.assert_allclose(np.asarray(rows), np.eye(3) / total - alpha[:, None] / total**2, atol=5e-3)
    tiny = ig.jvp(lambda a: ig.random.loggamma(KEY, a), (ig.asarray(1e-3),), (ig.asarray(1.0),))
    assert np.isfinite(float(tiny[1]))  # where the number itself is 0
    x = ig.asarray(3.0).requires_grad_()
    ig.sum(ig.random.t(KEY, x, (5,))).backward()
    assert float(x.grad) == pytest.approx(float(ig.grad(lambda df: ig.sum(ig.random.t(KEY, df, (5,))))(3.0)), rel=1e-6)
    many = ig.vmap(ig.grad(lambda a: ig.random.gamma(KEY, a)))(ig.asarray([0.5, 2.0]))
    assert many.tolist() == [float(ig.grad(lambda a: ig.random.gamma(KEY, a))(a)) for a in (0.5, 2.0)]


ERRORS: dict[str, Any] = {
    "second derivative": lambda: ig.grad(ig.grad(lambda a: ig.random.gamma(KEY, a)))(2.0),
    "negative": lambda: ig.random.gamma(KEY, -1.0),
    "nothing": lambda: ig.random.beta(KEY, 0, 1),
    "shape": lambda: ig.random.gamma(KEY, ig.ones(3), (1,)),
    "dirichlet": lambda: ig.random.dirichlet(KEY, 1.0),
    "covariance": lambda: ig.random.multivariate_normal(KEY, ig.zeros(3), ig.eye(2)),
    "events": lambda: ig.random.multinomial(KEY, 3, ig.ones((2, 2))),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("distributions_errors.txt"))
