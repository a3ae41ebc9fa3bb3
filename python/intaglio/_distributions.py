"""Distributions whose numbers are drawn by trying until one is accepted, and those made of them; part of `ig.random`.

The draws are made in JAX's order, so the same keys give the same numbers as there, but for rounding.
"""

from __future__ import annotations

import math
from typing import Any

from . import _errors, _functions, _intaglio, linalg
from ._control import while_loop
from ._custom_rules import custom_jvp
from ._vmap import vmap

Tensor = _intaglio.Tensor
_op = _functions._op
_fn = _functions.functions


def _drawn(name: str) -> Any:
    from . import random

    return getattr(random, name)


def _parameters(who: str, shape: Any, dtype: Any, *given: Any) -> tuple[tuple[Any, ...], list[Tensor]]:
    """The shape of the result, to which the parameters broadcast, and the parameters as arrays of it."""
    kind = _intaglio.dtype(dtype)
    arrays = [_functions.astype(p, kind) if isinstance(p, Tensor) else _intaglio.asarray(p, dtype=kind) for p in given]
    own = _functions.broadcast_shapes(*(tuple(a.shape) for a in arrays))
    sizes = tuple(own) if shape is None else tuple(_functions._sizes(shape))
    if _functions.broadcast_shapes(own, sizes) != sizes:
        raise _errors.ShapeError(
            f"{who}: the parameters of shape {tuple(own)} do not broadcast to the shape {sizes}",
            _intaglio._user_line(),
            why="a number is drawn for each element of the result, by parameters of its own",
            hint="put the number of draws in front of the parameters' own sizes, or leave the shape out",
        )
    return sizes, [_fn["broadcast_to"](a, shape=sizes) for a in arrays]


def _positive(who: str, **parameters: Any) -> None:
    for name, value in parameters.items():
        if not isinstance(value, Tensor) and not value > 0:
            raise _errors.ValueError(
                f"{who}: {name} is {value}",
                _intaglio._user_line(),
                why="the distribution has a density for positive parameters alone",
                hint="give a number above 0",
            )


def _one_loggamma(key: Tensor, a: Tensor) -> Tensor:
    """The logarithm of one number. Marsaglia and Tsang (2000): a cubed normal number is accepted nearly always."""
    dtype = a.dtype
    split, normal, uniform = _op.random_split, _op.random_normal, _op.random_uniform
    zero, one = _functions.zeros((), dtype=dtype), _functions.ones((), dtype=dtype)
    whole = a >= 1  # below 1 by way of a + 1, and the power of an even number
    d = _fn["where"](whole, a, a + 1) - 1 / 3
    c = (1 / 3) / _fn["sqrt"](d)

    def refused(state: Any) -> Tensor:
        _, x2, v, u = state
        quickly = u >= 1 - 0.0331 * (x2 * x2)
        return _fn["logical_and"](quickly, _fn["log"](u) >= x2 * 0.5 + d * ((1 - v) + _fn["log"](v)))

    def again(state: Any) -> Any:
        key, for_x, for_u = _three(split(state[0], n=3))

        def another(inner: Any) -> Any:
            key, own = _two(split(inner[0], n=2))
            x = normal(own, shape=(), dtype=dtype)
            return key, x, 1 + x * c

        _, x, v = while_loop(lambda inner: inner[2] <= 0, another, (for_x, zero, -one))
        return key, x * x, (v * v) * v, uniform(for_u, shape=(), dtype=dtype, low=0.0, high=1.0)

    key, boost = _two(split(key, n=2))
    _, _, v, _ = while_loop(refused, again, (key, zero, one, one + one))
    logs = _fn["log1p"](-uniform(boost, shape=(), dtype=dtype, low=0.0, high=1.0))
    lift = _fn["where"](_fn["logical_or"](whole, logs == 0), zero, logs * (1 / a))
    return (_fn["log"](d) + _fn["log"](v)) + lift


def _two(keys: Tensor) -> tuple[Tensor, Tensor]:
    return keys[0], keys[1]


def _three(keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return keys[0], keys[1], keys[2]


@custom_jvp
def _loggamma(key: Tensor, a: Tensor) -> Tensor:
    keys = _op.random_split(key, n=a.size)
    return vmap(_one_loggamma)(keys, a.reshape((a.size,))).reshape(a.shape)


@_loggamma.defjvp
def _loggamma_jvp(primals: Any, tangents: Any) -> Any:
    """What was accepted has no slope that is the distribution's; the number at the same share of a moved distribution
    has: implicit reparameterisation, Figurnov, Mohamed and Mnih (2018), as in JAX."""
    key, a = primals
    out = _loggamma(key, a)
    return out, tangents[1] * _op.log_gamma_sample_slope(a, out)


def loggamma(key: Tensor, a: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """The logarithms of numbers of the gamma distribution of shape parameter `a` and scale 1: exact for small `a` too.

    The derivative by `a` is that of the number at the same share of the distribution. Error: `ig.UnsupportedError`
    where the second one is asked for.
    """
    _positive("loggamma", a=a)
    sizes, (own,) = _parameters("loggamma", shape, dtype, a)
    _drawn("_use")(key, "loggamma")
    return _loggamma(key, own).reshape(sizes)


def gamma(key: Tensor, a: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Numbers of the gamma distribution of shape parameter `a` (a number, or an array) and scale 1.

    >>> import intaglio as ig
    >>> x = ig.random.gamma(ig.random.key(0), 2.5, (1000,))
    >>> abs(float(ig.mean(x)) - 2.5) < 0.2
    True
    """
    _positive("gamma", a=a)
    return _fn["exp"](loggamma(key, a, shape, dtype))


def beta(key: Tensor, a: Any, b: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Numbers of the beta distribution of parameters `a` and `b`: in [0, 1]."""
    _positive("beta", a=a, b=b)
    sizes, (own_a, own_b) = _parameters("beta", shape, dtype, a, b)
    key_a, key_b = _two(_drawn("split")(key))
    log_a, log_b = loggamma(key_a, own_a, sizes, dtype), loggamma(key_b, own_b, sizes, dtype)
    most = _fn["maximum"](log_a, log_b)
    of_a, of_b = _fn["exp"](log_a - most), _fn["exp"](log_b - most)
    return of_a / (of_a + of_b)


def dirichlet(key: Tensor, alpha: Tensor, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Points of the Dirichlet distribution of `alpha` [..., k]: [*shape, k], whose last axis sums to 1."""
    own = _functions.astype(alpha, dtype) if isinstance(alpha, Tensor) else _intaglio.asarray(alpha, dtype=dtype)
    if own.ndim < 1:
        raise _errors.ShapeError(
            "dirichlet: alpha has no axis",
            _intaglio._user_line(),
            why="its last axis holds a parameter for each part of the whole",
            hint="give an array of at least one axis",
        )
    sizes = None if shape is None else (*_functions._sizes(shape), own.shape[-1])
    return _fn["softmax"](loggamma(key, own, sizes, dtype), axis=-1)


def chisquare(key: Tensor, df: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Numbers of the chi-square distribution of `df` degrees of freedom."""
    _positive("chisquare", df=df)
    return 2 * gamma(key, df / 2, shape, dtype)


def t(key: Tensor, df: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Numbers of Student's t distribution of `df` degrees of freedom."""
    _positive("t", df=df)
    sizes, (own,) = _parameters("t", shape, dtype, df)
    key_n, key_g = _two(_drawn("split")(key))
    half = own / 2
    return _drawn("normal")(key_n, sizes, dtype) * _fn["sqrt"](half / gamma(key_g, half, sizes, dtype))


def poisson(key: Tensor, lam: Any, shape: Any = None, dtype: Any = "int64") -> Tensor:
    """Whole numbers of the Poisson distribution of mean `lam`; of NaN, -1.

    Below 10 by products of even numbers (Knuth), else by Hörmann's transformed rejection (1993).
    """
    sizes, (own,) = _parameters("poisson", shape, "float32", lam)
    _drawn("_use")(key, "poisson")
    small = _fn["logical_or"](_fn["isnan"](own), own < 10)
    kind = _intaglio.dtype(dtype)
    few = _knuth(key, _fn["where"](small, own, 0.0), sizes, kind)
    many = _hoermann(key, _fn["where"](small, 1e5, own), sizes, kind)
    drawn = _fn["where"](small, few, many)
    return _fn["where"](own == 0, _functions.zeros_like(drawn), drawn)


def _knuth(key: Tensor, lam: Tensor, sizes: Any, kind: Any) -> Tensor:
    def more(state: Any) -> Tensor:
        return _fn["any"](state[2] > -lam)

    def step(state: Any) -> Any:
        count, key, logs = state
        key, own = _two(_op.random_split(key, n=2))
        count = _fn["where"](logs > -lam, count + 1, count)
        return count, key, logs + _fn["log"](_op.random_uniform(own, shape=sizes, dtype=lam.dtype, low=0.0, high=1.0))

    start = (_functions.zeros(sizes, dtype=kind), key, _functions.zeros(sizes, dtype=lam.dtype))
    return while_loop(more, step, start)[0] - 1


def _hoermann(key: Tensor, lam: Tensor, sizes: Any, kind: Any) -> Tensor:
    b = 0.931 + 2.53 * _fn["sqrt"](lam)
    a = -0.059 + 0.02483 * b
    inverse, limit = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    log_lam = _fn["log"](lam)

    def step(state: Any) -> Any:
        out, done, key = state
        key, for_u, for_v = _three(_op.random_split(key, n=3))
        u = _op.random_uniform(for_u, shape=sizes, dtype=lam.dtype, low=0.0, high=1.0) - 0.5
        v = _op.random_uniform(for_v, shape=sizes, dtype=lam.dtype, low=0.0, high=1.0)
        shifted = 0.5 - _fn["abs"](u)
        k = _fn["floor"]((2 * a / shifted + b) * u + lam + 0.43)
        s = _fn["log"](v * inverse / (a / (shifted * shifted) + b))
        exact = s <= -lam + k * log_lam - _fn["lgamma"](k + 1)
        at_once = _fn["logical_and"](shifted >= 0.07, v <= limit)
        refused = _fn["logical_or"](k < 0, _fn["logical_and"](shifted < 0.013, v > shifted))
        taken = _fn["logical_or"](at_once, _fn["logical_and"](_fn["logical_not"](refused), exact))
        return _fn["where"](taken, k, out), _fn["logical_or"](done, taken), key

    start = (_functions.full(sizes, -1.0, dtype=lam.dtype), _functions.zeros(sizes, dtype="bool"), key)
    out = while_loop(lambda state: _fn["logical_not"](_fn["all"](state[1])), step, start)[0]
    return _functions.astype(out, kind)


def lognormal(key: Tensor, sigma: Any = 1.0, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """The exponentials of normal numbers of mean 0 and deviation `sigma`."""
    sizes, (own,) = _parameters("lognormal", shape, dtype, sigma)
    return _fn["exp"](_drawn("normal")(key, sizes, dtype) * own)


def pareto(key: Tensor, b: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Numbers of the Pareto distribution of shape parameter `b`: from 1 upwards."""
    _positive("pareto", b=b)
    sizes, (own,) = _parameters("pareto", shape, dtype, b)
    return _fn["exp"](_drawn("exponential")(key, sizes, dtype) / own)


def rayleigh(key: Tensor, scale: Any = 1.0, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Numbers of the Rayleigh distribution: the length of two normal numbers of deviation `scale`."""
    sizes, (own,) = _parameters("rayleigh", shape, dtype, scale)
    return own * _fn["sqrt"](_fn["log"](_drawn("_open_uniform")(key, sizes, dtype)) * -2)


def weibull_min(key: Tensor, scale: Any, concentration: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Numbers of the Weibull distribution."""
    _positive("weibull_min", scale=scale, concentration=concentration)
    sizes, (own, power) = _parameters("weibull_min", shape, dtype, scale, concentration)
    return _drawn("exponential")(key, sizes, dtype) ** (1 / power) * own


def geometric(key: Tensor, p: Any, shape: Any = None, dtype: Any = "int64") -> Tensor:
    """How many trials it takes until one succeeds, each with probability `p`: from 1 upwards."""
    sizes, (own,) = _parameters("geometric", shape, "float32", p)
    u = _drawn("uniform")(key, sizes)
    u = _fn["where"](u == 0, 1.0, u)
    return _functions.astype(_fn["floor"](_fn["log"](u) / _fn["log1p"](-own)) + 1, dtype)


def maxwell(key: Tensor, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Numbers of the Maxwell distribution of scale 1: the length of three normal numbers."""
    return linalg.vector_norm(_drawn("normal")(key, (*_functions._sizes(shape), 3), dtype), axis=-1)


def multivariate_normal(key: Tensor, mean: Tensor, cov: Tensor, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Points of the normal distribution of mean [..., n] and covariance [..., n, n]: [*shape, n], by Cholesky's factor.

    Error: `ig.ShapeError` where the sizes do not fit; of a covariance that is not positive definite NaN, as from
    `ig.linalg.cholesky`.
    """
    centre, spread = (_functions.astype(_intaglio.asarray(x), dtype) for x in (mean, cov))
    if centre.ndim < 1 or spread.ndim < 2 or tuple(spread.shape[-2:]) != (centre.shape[-1],) * 2:
        raise _errors.ShapeError(
            f"multivariate_normal: a mean of shape {tuple(centre.shape)} and a covariance of {tuple(spread.shape)}",
            _intaglio._user_line(),
            why="the mean is [..., n], and the covariance [..., n, n]",
            hint="give a row and a column of the covariance for each number of the mean",
        )
    own = _functions.broadcast_shapes(tuple(centre.shape[:-1]), tuple(spread.shape[:-2]))
    sizes = own if shape is None else tuple(_functions._sizes(shape))
    drawn = _drawn("normal")(key, (*sizes, centre.shape[-1]), dtype)
    return centre + (linalg.cholesky(spread) @ drawn[..., None])[..., 0]


def orthogonal(key: Tensor, n: int, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Orthogonal matrices [*shape, n, n], evenly spread: the factor q of normal numbers, with the signs of r."""
    q, r = linalg.qr(_drawn("normal")(key, (*_functions._sizes(shape), n, n), dtype))
    return q * _fn["sign"](linalg.diagonal(r))[..., None, :]


def multinomial(key: Tensor, n: int, p: Tensor, shape: Any = (), dtype: Any = "int64") -> Tensor:
    """How often each of the k events of probabilities `p` [k] happens in `n` trials: [*shape, k].

    Each trial is drawn by itself, so the memory is that of `n` times the results.
    """
    own = p if isinstance(p, Tensor) else _intaglio.asarray(p, dtype="float32")
    if own.ndim != 1:
        raise _errors.ShapeError(
            f"multinomial: the probabilities have shape {tuple(own.shape)}",
            _intaglio._user_line(),
            why="there is one for each event, in a row",
            hint="give an array of one axis, and the number of draws as shape",
        )
    events = _drawn("categorical")(key, _fn["log"](own), shape=(*_functions._sizes(shape), n))
    counted = events[..., None] == _functions.arange(int(own.shape[0]))
    return _fn["sum"](_functions.astype(counted, dtype), axis=-2)


def binomial(key: Tensor, n: int, p: Any, shape: Any = None, dtype: Any = "int64") -> Tensor:
    """How many of `n` trials succeed, each with probability `p`. Each trial is drawn by itself."""
    sizes, (own,) = _parameters("binomial", shape, "float32", p)
    hits = _drawn("uniform")(key, (*sizes, n)) < own[..., None]
    return _fn["sum"](_functions.astype(hits, dtype), axis=-1)


def ball(key: Tensor, d: int, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Points evenly spread over the unit ball of `d` dimensions: [*shape, d]. Barthe et al. (2005)."""
    key_n, key_e = _two(_drawn("split")(key))
    sizes = tuple(_functions._sizes(shape))
    drawn = _drawn("normal")(key_n, (*sizes, d), dtype) / math.sqrt(2)
    length = _fn["sqrt"](_fn["sum"](drawn * drawn, axis=-1) + _drawn("exponential")(key_e, sizes, dtype))
    return drawn / length[..., None]
