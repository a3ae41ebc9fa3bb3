"""`ig.special`: its errors against recorded values of mpmath, edges, derivatives, batches, captures, refusals.

(The table's own tests compare each op with SciPy and with its definition, in every dtype.)"""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import _intaglio as core
from intaglio import special

RECORDED = np.load(Path(__file__).parents[1] / "data/special.npz")
EPS = 2.0**-52

# The largest error in float64, in units of 2^-52 of the result, or of 1 where it is smaller and crosses zero (*): what
# docs/special.md publishes.
BOUNDS = {
    "beta": 64,
    "betainc": 32,
    "betaln*": 16,
    "binom*": 64,
    "entr": 2,
    "erfcinv": 4,
    "erfcx": 4,
    "exp1": 4,
    "expi": 4,
    "gamma": 4,
    "gammainc": 32,
    "gammainc_slope": 64,
    "gammaincc": 64,
    "i0": 4,
    "i0e": 4,
    "i1": 4,
    "i1e": 4,
    "j0*": 4,
    "j1*": 4,
    "kl_div": 8,
    "log_gamma_sample_slope": 16,
    "log_ndtr": 4,
    "logit": 4,
    "ndtr": 4,
    "ndtri": 4,
    "polygamma": 16,
    "rel_entr": 4,
    "xlog1py": 4,
    "xlogy": 4,
    "zeta": 8,
}


IN_FLOAT32 = ("entr", "log_ndtr", "logit", "ndtr", "ndtri", "rel_entr", "xlog1py", "xlogy")  # the others: float64


def function(name: str) -> Any:
    return core.op(name) if name in ("gammainc_slope", "log_gamma_sample_slope") else getattr(special, name)


def columns(name: str) -> list[np.ndarray]:
    return [RECORDED[f"{name}.{i}"] for i in range(3) if f"{name}.{i}" in RECORDED]


@pytest.mark.parametrize("bound", BOUNDS)
def test_against_mpmath(bound: str) -> None:
    name = bound.removesuffix("*")
    high, low = RECORDED[f"{name}.high"], RECORDED[f"{name}.low"]
    got = np.asarray(function(name)(*map(ig.asarray, columns(name))))
    usual = np.isfinite(high) & (np.abs(high) > 1e-300)
    assert usual.sum() > 60
    size = np.abs(high[usual])
    error = np.abs((got - high) - low)[usual] / (np.maximum(size, 1) if bound.endswith("*") else size) / EPS
    assert error.max() <= BOUNDS[bound], f"{error.max()} at {[c[usual][error.argmax()] for c in columns(name)]}"


@pytest.mark.parametrize("name", [name.removesuffix("*") for name in BOUNDS])
def test_float32_is_rounded_once(name: str) -> None:
    """What double precision gives of the same arguments, to the last place."""
    narrow = [c.astype(np.float32) for c in columns(name)]
    got = np.asarray(function(name)(*map(ig.asarray, narrow)))
    want = np.asarray(function(name)(*(ig.asarray(c.astype(np.float64)) for c in narrow)))
    assert got.dtype == np.float32
    usual = np.isfinite(want) & (np.abs(want) > 1e-37) & (np.abs(want) < 1e38)
    bound = 2.5 if name in IN_FLOAT32 else 0.6
    error = np.abs(got[usual].astype(np.float64) - want[usual]) / np.spacing(np.abs(want[usual]).astype(np.float32))
    assert error.max() <= bound


# (SciPy takes denormals for 0 in some, and gives NaN for the Bessel functions of infinity.)
EDGES = np.array([0.0, -0.0, 1.0, 2.0, 0.5, -1.0, -2.5, 1e-300, 1e300, np.inf, -np.inf, np.nan])
ONE = [
    "gammasgn",
    "erfcx",
    "erfcinv",
    "ndtr",
    "log_ndtr",
    "ndtri",
    "logit",
    "entr",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "exp1",
    "expi",
    "gammaln",
]
TWO = ["xlogy", "xlog1py", "rel_entr", "kl_div", "gammainc", "gammaincc"]


def same(name: str, got: Any, want: Any, *arguments: np.ndarray) -> None:
    got, want = np.asarray(got), np.asarray(want)
    alike = (got == want) | (np.isnan(got) & np.isnan(want)) | np.isclose(got, want, rtol=1e-12, atol=0)
    assert alike.all(), f"{name}: {[(*(a[i] for a in arguments), got[i], want[i]) for i in np.flatnonzero(~alike)]}"


@pytest.mark.parametrize("name", ONE)
def test_edges_of_one(name: str) -> None:
    x = EDGES[~np.isinf(EDGES)] if name in ("i0", "i1", "j0", "j1", "gammaln") else EDGES
    if name in ("j0", "j1"):  # whose angle SciPy reduces with fewer digits
        x = x[x != 1e300]
    with np.errstate(all="ignore"):
        same(name, function(name)(ig.asarray(x)), getattr(scipy.special, name)(x), x)


@pytest.mark.parametrize("name", TWO)
def test_edges_of_two(name: str) -> None:
    x, y = (a.ravel() for a in np.meshgrid(EDGES, EDGES))
    if name in ("kl_div", "rel_entr"):  # whose quotient overflows in SciPy
        usual = ~np.isinf(y) & ~np.isinf(x) & ~((x >= 1e300) & (y <= 1e-300)) & ~((x <= 1e-300) & (y >= 1e300))
        x, y = x[usual], y[usual]
    with np.errstate(all="ignore"):
        same(name, function(name)(ig.asarray(x), ig.asarray(y)), getattr(scipy.special, name)(x, y), x, y)


def test_digits_around_zeros() -> None:
    """The first two zeros of j0 and j1, and that of expi, are factors: the error is one of the result."""
    for name in ("j0", "j1", "expi"):
        (x,), high, low = columns(name), RECORDED[f"{name}.high"], RECORDED[f"{name}.low"]
        near = np.flatnonzero((np.abs(high) < 1e-2) & (np.abs(x) < 8) & (np.abs(x) > 0.1))
        assert near.size >= 20
        error = np.abs((np.asarray(function(name)(ig.asarray(x))) - high) - low)[near] / np.abs(high[near]) / EPS
        assert error.max() <= 8


def test_edges_that_are_stated() -> None:
    inf, nan = np.inf, np.nan
    x = np.array([0.0, -0.0, -1.0, -2.0, inf, -inf, nan, 171.7, -200.5])
    same("gamma", special.gamma(ig.asarray(x)), [inf, -inf, nan, nan, inf, nan, nan, inf, -0.0], x)
    whole = np.arange(23.0)
    exact = [float(np.prod(np.arange(1.0, n + 1))) for n in range(23)]
    assert np.asarray(special.factorial(ig.asarray(whole))).tolist() == exact
    assert special.factorial(5).tolist() == 120.0
    assert special.comb(
        ig.asarray([40.0, 5.0, 5.0, -1.0], dtype="float64"), ig.asarray([20.0, 6.0, -1.0, 0.0])
    ).tolist() == [
        137846528820.0,
        0.0,
        0.0,
        0.0,
    ]
    s, q = np.array([1.0, 0.5, 2.0, 2.0, 2.0, inf, 2.0]), np.array([2.0, 2.0, 0.0, -1.0, -1.5, 2.0, inf])
    same("zeta", special.zeta(ig.asarray(s), ig.asarray(q)), [inf, nan, inf, inf, nan, 0.0, 0.0], s, q)
    a, b = np.array([0.0, inf, -1.0, -0.5, -0.5, -2.5]), np.array([2.0, 2.0, 2.5, 2.0, 0.25, -1.25])
    want = np.array([inf, 0.0, nan, *scipy.special.beta(a[3:], b[3:])])
    assert np.isinf(np.asarray(special.i0(ig.asarray([inf, -inf])))).all()
    assert special.j0(ig.asarray([inf, -inf])).tolist() == special.j1(ig.asarray([inf, -inf])).tolist() == [0, 0]
    same("beta", special.beta(ig.asarray(a), ig.asarray(b)), want, a, b)
    same(
        "betaln",
        special.betaln(ig.asarray(a), ig.asarray(b)),
        np.log(np.abs(want), where=want != 0, out=np.full(6, -inf)),
        a,
        b,
    )
    x = ig.asarray([0.0, 1.0, -0.5, 1.5, nan], dtype="float64")
    assert np.asarray(special.betainc(2.0, 3.0, x))[:2].tolist() == [0.0, 1.0]
    assert np.isnan(np.asarray(special.betainc(2.0, 3.0, x))[2:]).all()
    assert np.isnan(float(special.betainc(ig.asarray(1e6, dtype="float64"), 2.0, 0.5)))  # beyond the fraction's reach


@pytest.mark.parametrize(
    "name", [name for name in special.__all__ if name not in ("softmax", "log_softmax", "logsumexp")]
)
def test_empty_arrays(name: str) -> None:
    count = len(columns(name)) if name in BOUNDS or f"{name}*" in BOUNDS else 2 if name == "comb" else 1
    x = ig.zeros((0, 3))
    out = special.multigammaln(x, 2) if name == "multigammaln" else function(name)(*[x] * count)
    assert out.shape == (0, 3)
    assert out.dtype == ig.float32


# Arguments, and which of them there is a derivative by.
SLOPES: dict[str, tuple[tuple[Any, ...], tuple[int, ...]]] = {
    "betainc": (([2.0, 0.5, 30.0], [3.0, 4.0, 20.0], [0.25, 0.5, 0.6]), (2,)),
    "zeta": (([2.0, 3.5, 1.5], [0.5, 4.0, 30.0]), (1,)),
    "polygamma": (([0.0, 1.0, 3.0], [0.5, -1.75, 6.0]), (1,)),
    "gammainc": (([0.25, 3.0, 150.0], [0.125, 5.0, 145.0]), (0, 1)),
    "gammaincc": (([0.25, 3.0, 150.0], [2.5, 2.0, 160.0]), (0, 1)),
    "comb": (([5.0, 6.5, 9.0], [2.0, 1.25, 4.0]), (0, 1)),
    "log_ndtr": (([-30.0, -1.0, 2.0],), (0,)),
    "j0": (([-3.0, 2.5, 11.0],), (0,)),
    "j1": (([-3.0, 2.5, 11.0],), (0,)),
    "exp1": (([0.25, 2.5, 11.0],), (0,)),
    "expi": (([-3.0, 0.375, 11.0],), (0,)),
    "digamma": (([0.5, -1.75, 6.0],), (0,)),
    "multigammaln": (([2.5, 3.0, 6.0],), (0,)),
}


def slopes(name: str, which: int) -> tuple[Any, Any, list[Any]]:
    arguments = [np.array(a) for a in SLOPES[name][0]]
    f = (lambda a: special.multigammaln(a, 3)) if name == "multigammaln" else function(name)

    def of(x: Any) -> Any:
        given = [ig.asarray(a) for a in arguments]
        given[which] = x
        return f(*given)

    return of, arguments[which], arguments


@pytest.mark.parametrize(("name", "which"), [(name, which) for name in SLOPES for which in SLOPES[name][1]])
def test_derivatives(name: str, which: int) -> None:
    of, x, _ = slopes(name, which)
    step = 1e-6 * np.maximum(np.abs(x), 0.25)
    want = (np.asarray(of(ig.asarray(x + step))) - np.asarray(of(ig.asarray(x - step)))) / (2 * step)
    gradient = ig.grad(lambda x: ig.sum(of(x)))
    for run in (gradient, ig.jit(gradient)):
        np.testing.assert_allclose(np.asarray(run(ig.asarray(x))), want, rtol=2e-7, atol=1e-10)
    _, forward = ig.jvp(of, (ig.asarray(x),), (ig.ones_like(ig.asarray(x)),))
    np.testing.assert_allclose(np.asarray(forward), want, rtol=2e-7, atol=1e-10)


def test_derivatives_at_edges() -> None:
    zero = ig.asarray(0.0)
    assert float(ig.grad(special.xlogy, argnums=0)(zero, zero)) == 0.0
    assert float(ig.grad(special.xlogy, argnums=1)(zero, zero)) == 0.0
    assert float(ig.grad(special.xlog1py, argnums=1)(zero, ig.asarray(-1.0))) == 0.0
    assert float(ig.grad(special.i1)(zero)) == 0.5
    assert float(ig.grad(special.i1e)(zero)) == 0.5
    assert float(ig.grad(special.j1)(zero)) == 0.5
    assert float(ig.grad(special.log_ndtr)(ig.asarray(-1e4, dtype="float64"))) == pytest.approx(1e4, rel=1e-7)
    assert float(ig.grad(special.log_ndtr)(ig.asarray(60.0))) == 0.0
    second = ig.grad(ig.grad(special.digamma))(ig.asarray(2.0, dtype="float64"))
    assert float(second) == pytest.approx(scipy.special.polygamma(2, 2.0))


@pytest.mark.parametrize("name", [name.removesuffix("*") for name in BOUNDS if "slope" not in name])
def test_batches_and_captures(name: str) -> None:
    given = [ig.asarray(c[:6].reshape(2, 3)) for c in columns(name)]
    f = function(name)
    want = np.asarray(f(*given))
    np.testing.assert_array_equal(np.asarray(ig.vmap(f)(*given)), want)
    np.testing.assert_array_equal(np.asarray(ig.jit(f)(*given)), want)
    np.testing.assert_array_equal(np.asarray(ig.jit(ig.vmap(f, in_axes=1, out_axes=1))(*given)), want)
    # Fused with a fold, where the loops of the formula stand inside of the fold's.
    np.testing.assert_allclose(np.asarray(ig.jit(lambda *a: ig.sum(f(*a), axis=1))(*given)), want.sum(1), rtol=1e-12)


def test_whole_numbers() -> None:
    assert special.polygamma(1, ig.asarray([1.0])).dtype == ig.float32
    assert special.polygamma(ig.asarray([1, 2]), ig.asarray([1.0, 2.0], dtype="float64")).dtype == ig.float64
    assert special.comb(ig.asarray([5, 10]), 2).tolist() == [10.0, 45.0]
    assert special.comb(3, 2, repetition=True).tolist() == 6.0
    assert ig.i0(ig.asarray([0, 1])).dtype == ig.float32


def refusals() -> dict[str, Any]:
    x = ig.asarray([1.0, 2.0])
    return {
        "whole numbers": lambda: special.gamma(ig.asarray([1, 2])),
        "complex numbers": lambda: special.gammainc(ig.asarray([1j]), ig.asarray([1j])),
        "shapes": lambda: special.xlogy(x, ig.ones((3,))),
        "exact": lambda: special.factorial(5, exact=True),
        "exact comb": lambda: special.comb(5, 2, exact=True),
        "dimension": lambda: special.multigammaln(x, 0),
        "slope by the exponent": lambda: ig.grad(lambda s: ig.sum(special.zeta(s, x)))(x + 1),
        "slope by the order": lambda: ig.grad(lambda n: ig.sum(special.polygamma(n, x)))(x),
        "slope by a": lambda: ig.grad(lambda a: ig.sum(special.betainc(a, x, 0.5)))(x),
        "slope by b": lambda: ig.grad(lambda b: ig.sum(special.betainc(x, b, 0.5)))(x),
        "second slope by a": lambda: ig.grad(ig.grad(lambda a: special.gammainc(a, 0.5)))(x[0]),
    }


def test_refusals() -> None:
    texts = {what: refusal(run, __file__) for what, run in refusals().items()}
    check_texts(texts, Path(__file__).with_name("special_errors.txt"))


def test_examples() -> None:
    assert doctest.testmod(special, extraglobs={"ig": ig}).failed == 0


def test_example_of_a_fit(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples/gamma_fit.py"))
    assert capsys.readouterr().out.startswith("shape 2.")


def test_namespace() -> None:
    """All that JAX and PyTorch share with SciPy, and each name's docstring."""
    names = (
        "beta betainc betaln digamma entr erf erfc erfcinv erfcx erfinv exp2 expit expm1 factorial gamma "
        "gammainc gammaincc gammaln gammasgn i0 i0e i1 i1e kl_div log1p log_ndtr log_softmax logit logsumexp "
        "multigammaln ndtr ndtri polygamma psi rel_entr round sinc softmax xlog1py xlogy zeta comb binom "
        "log_expit exp1 expi j0 j1"
    )
    wanted = names.split()
    assert set(wanted) <= set(special.__all__)
    assert all(getattr(special, name).__doc__ for name in special.__all__)


def test_softmax_is_over_all_axes_by_default() -> None:
    x = np.random.default_rng(0).random((2, 3, 4))
    for axis in (None, 0, -1, (0, 2), (2, 0), (1,), (0, 1, 2)):
        powers = np.exp(x - x.max(axis=axis, keepdims=True))
        wanted = powers / powers.sum(axis=axis, keepdims=True)
        for function, of in ((ig.special.softmax, wanted), (ig.special.log_softmax, np.log(wanted))):
            np.testing.assert_allclose(function(ig.asarray(x), axis=axis).numpy(), of, rtol=1e-12)
            np.testing.assert_allclose(ig.jit(function)(ig.asarray(x), axis=axis).numpy(), of, rtol=1e-12)
    assert ig.special.softmax(ig.asarray(2.0)).tolist() == 1.0
    assert ig.special.softmax(ig.zeros((0, 3)), axis=None).shape == (0, 3)
    with pytest.raises(ig.IndexError, match="axis 3 is out of range"):
        ig.special.softmax(ig.asarray(x), axis=(0, 3))


def test_logarithms_of_powers_and_complements_of_zero_are_exact() -> None:
    exponents = np.arange(-149, 128)
    powers = np.ldexp(np.float32(1), exponents).astype(np.float32)
    assert np.array_equal(np.asarray(ig.log2(ig.asarray(powers))), exponents)
    tens = np.arange(11)
    assert np.array_equal(np.asarray(ig.log10(ig.asarray((10.0**tens).astype(np.float32)))), tens)
    assert float(ig.log(ig.asarray(1.0))) == 0
    assert float(ig.log1p(ig.asarray(1.0))) == np.float32(np.log(2))
    assert float(ig.erfc(ig.asarray(0.0))) == 1
    assert float(ig.erf(ig.asarray(4.0))) == 1
