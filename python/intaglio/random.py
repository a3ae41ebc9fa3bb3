"""Random numbers from explicit keys: the same key gives the same numbers, eager, jitted, batched, on any machine.

A key is drawn from once; `split` makes new ones:

>>> import intaglio as ig
>>> key = ig.random.key(7)
>>> first, second = ig.random.split(key)
>>> ig.random.uniform(first, (2,))
Tensor([ 0.8673705, 0.55631435], dtype=float32)
>>> bool(ig.all(ig.random.uniform(first, (2,)) == ig.random.uniform(second, (2,))))
False

The bits are threefry-2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) and the distributions
are JAX's, so the same seeds give the same numbers there.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from typing import Any

from . import _errors, _functions, _intaglio

Tensor = _intaglio.Tensor
_op = _functions._op
_fn = _functions.functions

__all__ = [
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "check_reuse",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "fold_in",
    "gamma",
    "geometric",
    "gumbel",
    "key",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "truncated_normal",
    "uniform",
    "weibull_min",
]


def key(seed: Any) -> Tensor:
    """A key made of an integer seed, or a key for each of an array of seeds."""
    return _op.random_key(seed)


class _Used(threading.local):
    """The keys that were used, in the innermost `check_reuse` of this thread; each with who used it and where."""

    values: dict[bytes, tuple[str, str]] | None = None
    handles: list[tuple[Tensor, tuple[str, str]]]


_used = _Used()


@contextlib.contextmanager
def check_reuse() -> Iterator[None]:
    """Inside of it a key that is used twice (drawn from or split) is refused, with both lines.

    Eagerly keys are compared by their bits. In a capture each is known by its handle, so a function that uses one
    argument twice is found, and keys that two expressions compute alike are not. `fold_in` does not use its key up:
    that with one number twice does what it should.

    Raises
    ------
    ValueError
        At the second use.

    Examples
    --------
    >>> import intaglio as ig
    >>> key = ig.random.key(0)
    >>> with ig.random.check_reuse():
    ...     x = ig.random.normal(key, (3,))
    ...     try:
    ...         y = ig.random.uniform(key, (3,))
    ...     except ig.ValueError as error:
    ...         print(error.what)
    uniform: the key was used before, by normal
    """
    before = _used.values, getattr(_used, "handles", [])
    _used.values, _used.handles = {}, []
    try:
        yield
    finally:
        _used.values, _used.handles = before


def _use(key: Any, who: str) -> None:
    """Notes that the key is used up, where somebody asked for it."""
    values = _used.values
    if values is None or not isinstance(key, Tensor):
        return
    mine = who, _intaglio._user_line()
    first: tuple[str, str] | None = None
    if _intaglio.is_tracing():
        first = next((use for known, use in _used.handles if known is key), None)
        _used.handles.append((key, mine))
    else:
        bits = _op.random_bits(key, shape=(2,), dtype=_intaglio.uint32).__array__().tobytes()
        first = values.get(bits)
        values[bits] = mine
    if first is not None:
        raise _errors.ValueError(
            f"{who}: the key was used before, by {first[0]}",
            mine[1],
            why=f"the same key gives the same bits, so what is drawn is not independent; it was used at {first[1]}",
            hint="make new keys first: key, own = ig.random.split(key)",
        )


def split(key: Tensor, num: int = 2) -> Tensor:
    """`num` new keys from one, an array of shape (*key.shape, num): independent of each other and of the old one."""
    _use(key, "split")
    return _op.random_split(key, n=num)


def fold_in(key: Tensor, data: Any) -> Tensor:
    """A new key from a key and an integer, such as the number of a step or a layer."""
    return _op.random_fold_in(key, data)


def bits(key: Tensor, shape: Any = (), dtype: Any = "uint32") -> Tensor:
    """Uniform random bits as unsigned integers."""
    _use(key, "bits")
    return _op.random_bits(key, shape=_functions._sizes(shape), dtype=_intaglio.dtype(dtype))


def uniform(key: Tensor, shape: Any = (), dtype: Any = "float32", minval: Any = 0.0, maxval: Any = 1.0) -> Tensor:
    """Numbers evenly spread over [minval, maxval); bounds that are arrays broadcast to `shape`."""
    _use(key, "uniform")
    sizes, kind = _functions._sizes(shape), _intaglio.dtype(dtype)
    if isinstance(minval, Tensor) or isinstance(maxval, Tensor):
        unit = _op.random_uniform(key, shape=sizes, dtype=kind)
        low, high = _as(minval, kind), _as(maxval, kind)
        return _fn["maximum"](low, unit * (high - low) + low)
    return _op.random_uniform(key, shape=sizes, dtype=kind, low=float(minval), high=float(maxval))


def normal(key: Tensor, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Numbers of the standard normal distribution."""
    _use(key, "normal")
    return _op.random_normal(key, shape=_functions._sizes(shape), dtype=_intaglio.dtype(dtype))


def truncated_normal(key: Tensor, lower: float, upper: float, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Numbers of the standard normal distribution where it lies in (lower, upper), by the inverse of its integral."""
    if not lower < upper:
        raise _errors.ValueError(
            f"truncated_normal: the bounds are {lower} and {upper}",
            _intaglio._user_line(),
            why="numbers are drawn between the lower bound and the upper one",
            hint="give the lower bound first",
        )
    low, high = math.erf(lower / math.sqrt(2)), math.erf(upper / math.sqrt(2))
    u = uniform(key, shape, dtype, minval=low, maxval=high)
    drawn = _fn["erfinv"](u) * math.sqrt(2)
    # erfinv may round to a bound, which is not part of the interval.
    inside = _intaglio.asarray([lower, upper], dtype=drawn.dtype)
    return _fn["clip"](drawn, _fn["nextafter"](inside[0], inside[1]), _fn["nextafter"](inside[1], inside[0]))


def bernoulli(key: Tensor, p: Any = 0.5, shape: Any = None) -> Tensor:
    """True with probability `p`, a number, or an array whose shape the result has unless `shape` is given."""
    if isinstance(p, Tensor):
        sizes = p.shape if shape is None else _functions._sizes(shape)
        return uniform(key, sizes, p.dtype) < p
    _use(key, "bernoulli")
    return _op.random_bernoulli(key, shape=() if shape is None else _functions._sizes(shape), p=float(p))


def rademacher(key: Tensor, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """-1 or 1, each with probability 1/2."""
    return _op.convert(bernoulli(key, 0.5, shape), dtype=_intaglio.dtype(dtype)) * 2 - 1


def randint(key: Tensor, shape: Any, minval: int, maxval: int, dtype: Any = "int64") -> Tensor:
    """Whole numbers evenly spread over [minval, maxval)."""
    _use(key, "randint")
    return _op.randint(key, shape=_functions._sizes(shape), low=minval, high=maxval, dtype=_intaglio.dtype(dtype))


def exponential(key: Tensor, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Numbers of the exponential distribution with mean 1."""
    return -_fn["log1p"](-uniform(key, shape, dtype))


def gumbel(key: Tensor, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Numbers of the standard Gumbel distribution: -log(-log(u))."""
    return -_fn["log"](-_fn["log"](_open_uniform(key, shape, dtype)))


def laplace(key: Tensor, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Numbers of the standard Laplace distribution."""
    u = _open_uniform(key, shape, dtype, minval=-1.0)
    return _fn["sign"](u) * _fn["log1p"](-_fn["abs"](u))


def logistic(key: Tensor, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Numbers of the standard logistic distribution: log(u / (1 - u))."""
    u = _open_uniform(key, shape, dtype)
    return _fn["log"](u) - _fn["log1p"](-u)


def cauchy(key: Tensor, shape: Any = (), dtype: Any = "float32") -> Tensor:
    """Numbers of the standard Cauchy distribution."""
    return _fn["tan"]((_open_uniform(key, shape, dtype) - 0.5) * math.pi)


def categorical(key: Tensor, logits: Tensor, axis: int = -1, shape: Any = None) -> Tensor:
    """An index along `axis` of `logits` (unnormalised log-probabilities) for each other position, as int64.

    `shape` may put more axes in front: each is drawn on its own. Drawn by the Gumbel-max trick.
    """
    axis = _functions._axis(axis, logits.ndim, "categorical")
    rest = (*logits.shape[:axis], *logits.shape[axis + 1 :])
    front = () if shape is None else _functions._sizes(shape)[: len(_functions._sizes(shape)) - len(rest)]
    if shape is not None and tuple(_functions._sizes(shape))[len(front) :] != tuple(rest):
        raise _errors.ShapeError(
            f"categorical: the shape {tuple(_functions._sizes(shape))} does not end with {tuple(rest)}",
            _intaglio._user_line(),
            why="an index is drawn for each position of the logits beside the axis of the choices",
            hint="put the number of draws in front of the logits' own sizes",
        )
    drawn = gumbel(key, (*front, *logits.shape), logits.dtype)
    return _fn["argmax"](drawn + logits, axis=axis + len(front))


def permutation(key: Tensor, x: Any, axis: int = 0) -> Tensor:
    """The numbers 0 … x - 1 in random order; or the slices of an array along `axis` in random order."""
    _use(key, "permutation")
    if not isinstance(x, Tensor):
        return _op.random_permutation(key, n=x)
    axis = _functions._axis(axis, x.ndim, "permutation")
    return _functions.take(x, _op.random_permutation(key, n=x.shape[axis]), axis=axis)


def choice(key: Tensor, a: Any, shape: Any = (), replace: bool = True, p: Tensor | None = None) -> Tensor:
    """Elements of `a` (or of 0 … a - 1), evenly, or with the probabilities `p`; without `replace` each at most once."""
    n = a.shape[0] if isinstance(a, Tensor) else a
    sizes = _functions._sizes(shape)
    count = math.prod(sizes)
    if not replace and count > n:
        raise _errors.ValueError(
            f"choice: {count} elements are wanted of {n}",
            _intaglio._user_line(),
            why="without replacement each is taken at most once",
            hint="ask for fewer, or pass replace=True",
        )
    if p is None:
        index = randint(key, sizes, 0, n) if replace else permutation(key, n)[:count].reshape(sizes)
    elif replace:
        index = categorical(key, _fn["log"](p), shape=sizes)
    else:
        drawn = gumbel(key, (n,), p.dtype) + _fn["log"](p)
        index = _functions.argsort(drawn, descending=True)[:count].reshape(sizes)
    return _functions.take(a, index, axis=0) if isinstance(a, Tensor) else index


def _open_uniform(key: Tensor, shape: Any, dtype: Any, minval: float = 0.0) -> Tensor:
    """Evenly spread over (minval, 1): never the bound itself, where a logarithm would be infinite."""
    tiny = _functions.finfo(dtype).smallest_normal
    return uniform(key, shape, dtype, minval=minval + tiny if minval == 0 else minval + _functions.finfo(dtype).eps)


def _as(value: Any, dtype: Any) -> Tensor:
    return _functions.astype(value, dtype) if isinstance(value, Tensor) else _intaglio.asarray(value, dtype=dtype)


from ._distributions import (  # noqa: E402  (they are made of these)
    ball,
    beta,
    binomial,
    chisquare,
    dirichlet,
    gamma,
    geometric,
    loggamma,
    lognormal,
    maxwell,
    multinomial,
    multivariate_normal,
    orthogonal,
    pareto,
    poisson,
    rayleigh,
    t,
    weibull_min,
)
