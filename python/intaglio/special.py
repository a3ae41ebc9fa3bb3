"""Special functions, with SciPy's names (`scipy.special`, as in JAX and PyTorch), element by element.

All of it is differentiable where a derivative exists, and goes under `ig.vmap` and `ig.jit`. What is written out
here prepares its arguments; all else are ops: docs/special.md has the list, and the errors that were measured.

>>> import intaglio as ig
>>> ig.special.gammainc(2.0, ig.asarray([1.0, 3.0]))
Tensor([0.26424113,  0.8008517], dtype=float32)
>>> ig.grad(ig.special.gammaln)(ig.asarray(4.0))
Tensor(1.2561177, dtype=float32)
"""

from __future__ import annotations

import math
from typing import Any, cast

from . import _errors, _functions, _intaglio
from ._functions import _array, astype

Tensor = _intaglio.Tensor
_fn = _functions.functions

# The table's ops of this module, and functions of the whole namespace under SciPy's names.
_OWN = {name.removeprefix("special."): f for name, f in _fn.items() if name.startswith("special.")}
_ALIASES = {
    "cbrt": "cbrt",
    "digamma": "digamma",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expit": "sigmoid",
    "expm1": "expm1",
    "gammaln": "lgamma",
    "log1p": "log1p",
    "log_expit": "log_sigmoid",
    "logsumexp": "logsumexp",
    "psi": "digamma",
    "round": "round",
    "sinc": "sinc",
}
globals().update(_OWN)
globals().update({name: _fn[own] for name, own in _ALIASES.items()})

__all__ = sorted([*_OWN, *_ALIASES, "log_softmax", "softmax"])  # pyright: ignore[reportUnsupportedDunderAll]


def _number(x: Any) -> Any:
    """Whole numbers as float32: counts are given as such."""
    if isinstance(x, (bool, int, float)):
        return float(x)
    x = _array(x)
    return x if x.dtype.kind == "real floating" else astype(x, "float32")


def polygamma(n: Any, x: Any, /) -> Tensor:
    """The derivative of order `n` of digamma, which is that of order 0.

    By Hurwitz' zeta function; left of 0 by the sum over all whole numbers.

    Parameters
    ----------
    n : int, or array of whole numbers
        Broadcast with `x`. NaN where it is negative or not whole.
    x : array, float16, bfloat16, float32 or float64

    Raises
    ------
    TypeError
        For an `x` of whole numbers.
    UnsupportedError
        Where a derivative by `n` is asked for.

    Examples
    --------
    >>> ig.special.polygamma(1, ig.asarray([1.0, 2.0]))
    Tensor([  1.644934, 0.64493406], dtype=float32)
    """
    out: Tensor = _OWN["polygamma"](_number(n), x)
    return out


def factorial(n: Any, /, exact: bool = False) -> Tensor:
    """The factorial gamma(n + 1), and 0 for negative `n`; exact up to 22! in float64.

    Parameters
    ----------
    n : array or number; whole numbers become float32
    exact : bool
        SciPy's integers of any length, which no array holds: False alone.

    Raises
    ------
    UnsupportedError
        For `exact=True`.

    Examples
    --------
    >>> ig.special.factorial(ig.asarray([0, 3, 5]))
    Tensor([  1.,   6., 120.], dtype=float32)
    """
    _inexact("factorial", exact)
    out: Tensor = _OWN["factorial"](_number(n))
    return out


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Tensor:
    """How many ways there are to choose `k` of `N`; 0 where k is negative or above N.

    Parameters
    ----------
    N, k : arrays or numbers, which broadcast; whole numbers become float32
    exact : bool
        SciPy's integers of any length, which no array holds: False alone.
    repetition : bool
        One may be chosen again: `comb(N + k - 1, k)`.

    Raises
    ------
    UnsupportedError
        For `exact=True`.

    Examples
    --------
    >>> ig.special.comb(ig.asarray([5, 10]), 2), ig.special.comb(3, 2, repetition=True)
    (Tensor([10., 45.], dtype=float32), Tensor(6., dtype=float32))
    """
    _inexact("comb", exact)
    n, k = _number(N), _number(k)
    if repetition:
        n = n + k - 1
    out: Tensor = _OWN["comb"](n, k)
    return out


def softmax(x: Any, /, axis: Any = None) -> Tensor:
    """The elements' exponentials over their sum along an axis or several; None, as in SciPy: over all of them.

    `ig.softmax` has the last axis by default.

    Parameters
    ----------
    x : array of floats
    axis : int, tuple of int, or None

    Raises
    ------
    TypeError, IndexError
        For whole numbers, and for an axis that there is not.

    Examples
    --------
    >>> ig.special.softmax(ig.zeros((2, 2)))
    Tensor([[0.25, 0.25],
            [0.25, 0.25]], dtype=float32)
    """
    return _over(_fn["softmax"], x, axis)


def log_softmax(x: Any, /, axis: Any = None) -> Tensor:
    """The logarithm of `softmax`, with its parameters and errors.

    Examples
    --------
    >>> ig.special.log_softmax(ig.zeros((1, 2)))
    Tensor([[-0.6931472, -0.6931472]], dtype=float32)
    """
    return _over(_fn["log_softmax"], x, axis)


def _over(function: Any, x: Any, axis: Any) -> Tensor:
    """Of one axis, or of several as one at the end."""
    x = _array(x)
    if isinstance(axis, int):
        return cast(Tensor, function(x, axis=axis))
    axes = _functions._axes(tuple(range(x.ndim)) if axis is None else tuple(axis), x.ndim, function.__name__)
    rest = [a for a in range(x.ndim) if a not in axes]
    moved = _fn["permute_dims"](x, (*rest, *axes))
    flat = function(_fn["reshape"](moved, (*(x.shape[a] for a in rest), math.prod(x.shape[a] for a in axes))), axis=-1)
    back = sorted(range(x.ndim), key=(*rest, *axes).__getitem__)
    return cast(Tensor, _fn["permute_dims"](_fn["reshape"](flat, moved.shape), tuple(back)))


def _inexact(who: str, exact: bool) -> None:
    if exact:
        raise _errors.UnsupportedError(
            f"special.{who}: exact=True",
            _intaglio._user_line(),
            why="it asks for integers of any length, and arrays hold 64 bits at most",
            hint=f"use Python's own math.{who}, or leave it out for floating-point numbers",
        )
