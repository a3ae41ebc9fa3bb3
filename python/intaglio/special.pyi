# Written by scripts/generate_docs.py out of the op table and the module.
import builtins
from collections.abc import Sequence

from typing import Any
from ._intaglio import ArrayLike as ArrayLike, Tensor as Tensor

def beta(a: ArrayLike, b: ArrayLike) -> Tensor:
    """The beta function, gamma(a) gamma(b) / gamma(a + b); NaN of whole numbers below 0."""

def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Tensor:
    """The regularised incomplete beta function I_x(a, b): the share of the beta distribution below x."""

def betaln(a: ArrayLike, b: ArrayLike) -> Tensor:
    """The logarithm of the absolute value of the beta function; NaN of whole numbers below 0."""

def binom(n: ArrayLike, k: ArrayLike) -> Tensor:
    """The binomial coefficient n over k, of real numbers too."""

def cbrt(x: ArrayLike) -> Tensor:
    """The real cube root."""

def comb(N: Any, k: Any, *, exact: builtins.bool = False, repetition: builtins.bool = False) -> Tensor:
    """How many ways there are to choose `k` of `N`; 0 where k is negative or above N."""

def digamma(x: ArrayLike) -> Tensor:
    """The derivative of the logarithm of the gamma function."""

def entr(x: ArrayLike) -> Tensor:
    """-x log(x): the terms of an entropy. 0 at 0, -inf of negatives."""

def erf(x: ArrayLike) -> Tensor:
    """The error function."""

def erfc(x: ArrayLike) -> Tensor:
    """1 - erf(x), exact where it is small."""

def erfcinv(x: ArrayLike) -> Tensor:
    """The inverse of erfc; infinite at 0 and 2, NaN outside."""

def erfcx(x: ArrayLike) -> Tensor:
    """exp(x²) erfc(x), which keeps its digits where erfc is 0."""

def erfinv(x: ArrayLike) -> Tensor:
    """The inverse of erf; infinite at -1 and 1, NaN outside."""

def exp1(x: ArrayLike) -> Tensor:
    """The exponential integral E1, the integral of exp(-t) / t from x on; infinite at 0, NaN of negatives."""

def exp2(x: ArrayLike) -> Tensor:
    """2 to the power of each element."""

def expi(x: ArrayLike) -> Tensor:
    """The exponential integral Ei, the principal value of that of exp(t) / t up to x; -inf at 0."""

def expit(x: ArrayLike) -> Tensor:
    """1 / (1 + exp(-x))."""

def expm1(x: ArrayLike) -> Tensor:
    """e to the power of each element, less 1; exact near 0."""

def factorial(n: Any, /, exact: builtins.bool = False) -> Tensor:
    """The factorial gamma(n + 1), and 0 for negative `n`; exact up to 22! in float64."""

def gamma(x: ArrayLike) -> Tensor:
    """The gamma function, of which gamma(n + 1) is n factorial."""

def gammainc(a: ArrayLike, x: ArrayLike) -> Tensor:
    """The regularised lower incomplete gamma function P(a, x): the gamma distribution's share below x."""

def gammainc_slope(a: ArrayLike, x: ArrayLike) -> Tensor:
    """The derivative of P(a, x) by a, by the slopes of its series."""

def gammaincc(a: ArrayLike, x: ArrayLike) -> Tensor:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), which keeps its digits where it is small."""

def gammaln(x: ArrayLike) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""

def gammasgn(x: ArrayLike) -> Tensor:
    """The sign of the gamma function: NaN at the poles left of 0; at 0 the zero's own."""

def i0(x: ArrayLike) -> Tensor:
    """The modified Bessel function of the first kind and order 0."""

def i0e(x: ArrayLike) -> Tensor:
    """exp(-|x|) i0(x), which does not overflow."""

def i1(x: ArrayLike) -> Tensor:
    """The modified Bessel function of the first kind and order 1."""

def i1e(x: ArrayLike) -> Tensor:
    """exp(-|x|) i1(x), which does not overflow."""

def j0(x: ArrayLike) -> Tensor:
    """The Bessel function of the first kind and order 0; 0 at infinity."""

def j1(x: ArrayLike) -> Tensor:
    """The Bessel function of the first kind and order 1; 0 at infinity."""

def kl_div(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x log(x / y) - x + y: the terms of Kullback's and Leibler's divergence, none of them negative."""

def log1p(x: ArrayLike) -> Tensor:
    """The natural logarithm of 1 + x; exact near 0."""

def log_expit(x: ArrayLike) -> Tensor:
    """The logarithm of the logistic function."""

def log_gamma_sample_slope(a: ArrayLike, log_x: ArrayLike) -> Tensor:
    """The derivative of log(x) by a where P(a, x) stays: what a number drawn from the gamma distribution does as its shape changes."""

def log_ndtr(x: ArrayLike) -> Tensor:
    """The logarithm of the normal distribution's share below x, which keeps its digits in both tails."""

def log_softmax(x: Any, /, axis: Any = None) -> Tensor:
    """The logarithm of `softmax`, with its parameters and errors."""

def logit(x: ArrayLike) -> Tensor:
    """log(x / (1 - x)), the inverse of expit; infinite at 0 and 1, NaN outside."""

def logsumexp(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """log(sum(exp(x))) over the axes, without overflow on the way."""

def multigammaln(a: ArrayLike, d: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension d; NaN where a is not above (d - 1) / 2."""

def ndtr(x: ArrayLike) -> Tensor:
    """The normal distribution's share below x."""

def ndtri(x: ArrayLike) -> Tensor:
    """The inverse of ndtr: the normal distribution's quantiles."""

def polygamma(n: Any, x: Any, /) -> Tensor:
    """The derivative of order `n` of digamma, which is that of order 0."""

def psi(x: ArrayLike) -> Tensor:
    """The derivative of the logarithm of the gamma function."""

def rel_entr(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x log(x / y): the terms of a relative entropy. 0 where x is 0 and y is not negative, else infinity where one is not positive."""

from ._numpy_like import round as round

def sinc(x: ArrayLike) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0; 0 at the other whole numbers."""

def softmax(x: Any, /, axis: Any = None) -> Tensor:
    """The elements' exponentials over their sum along an axis or several; None, as in SciPy: over all of them."""

def xlog1py(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x log(1 + y), exact for small y, and 0 where x is 0, unless y is NaN."""

def xlogy(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x log(y), and 0 where x is 0, unless y is NaN."""

def zeta(s: ArrayLike, q: ArrayLike) -> Tensor:
    """Hurwitz' zeta function: the sum of 1 / (q + k)^s over k = 0, 1, 2 …; Riemann's where q is 1."""
