"""Activations by torch's names. Those that torch does in place are not here: arrays are values."""

from __future__ import annotations

from typing import Any

from ... import _functions, _intaglio, random
from .._layers import prelu, softplus, threshold
from .._norms import key_to_draw, leaky

Tensor = _intaglio.Tensor
_fn = _functions.functions

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]


def relu(input: Any) -> Tensor:
    """max(x, 0)."""
    return _fn["relu"](input)


def relu6(input: Any) -> Tensor:
    """x bounded to [0, 6]."""
    return _fn["relu6"](input)


def elu(input: Any, alpha: float = 1.0) -> Tensor:
    """x, and alpha (exp(x) - 1) below 0."""
    return _fn["elu"](input, alpha=alpha)


def selu(input: Any) -> Tensor:
    """elu with the scale and slope that keep mean 0 and variance 1."""
    return _fn["selu"](input)


def celu(input: Any, alpha: float = 1.0) -> Tensor:
    """x, and alpha (exp(x / alpha) - 1) below 0."""
    return _fn["celu"](input, alpha=alpha)


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Tensor:
    """x, and negative_slope times x below 0."""
    return _fn["leaky_relu"](input, negative_slope=negative_slope)


def rrelu(
    input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *, key: Tensor | None = None
) -> Tensor:
    """x, and below 0 a slope times x: drawn between both bounds with `training`, else their mean."""
    return leaky(_functions._array(input), lower, upper, key_to_draw(key, "rrelu") if training else None)


def gelu(input: Any, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x; `approximate` "tanh" takes the usual approximation of it."""
    return _fn["gelu"](input, approximate=approximate)


def silu(input: Any) -> Tensor:
    """x times the logistic function of x."""
    return _fn["silu"](input)


def mish(input: Any) -> Tensor:
    """x times tanh(log(1 + exp(x)))."""
    return _fn["mish"](input)


def glu(input: Any, dim: int = -1) -> Tensor:
    """The first half along `dim` times the logistic function of the second: half as large there."""
    return _fn["glu"](input, axis=dim)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x bounded to [min_val, max_val]."""
    return _fn["hard_tanh"](input, min_val=min_val, max_val=max_val)


def hardswish(input: Any) -> Tensor:
    """x times `hardsigmoid` of x."""
    return _fn["hard_swish"](input)


def hardsigmoid(input: Any) -> Tensor:
    """(x + 3) / 6, bounded to [0, 1]."""
    return _fn["hard_sigmoid"](input)


def hardshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x, and 0 where it is no further than lambd from 0."""
    return _fn["hardshrink"](input, lambd=lambd)


def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd; 0 where it is no further from it."""
    return _fn["softshrink"](input, lambd=lambd)


def tanhshrink(input: Any) -> Tensor:
    """x - tanh(x)."""
    return _fn["tanh_shrink"](input)


def softsign(input: Any) -> Tensor:
    """x / (1 + |x|)."""
    return _fn["soft_sign"](input)


def logsigmoid(input: Any) -> Tensor:
    """The logarithm of the logistic function."""
    return _fn["log_sigmoid"](input)


def sigmoid(input: Any) -> Tensor:
    """The logistic function."""
    return _fn["sigmoid"](input)


def tanh(input: Any) -> Tensor:
    """The hyperbolic tangent."""
    return _fn["tanh"](input)


def _along(input: Any, dim: int | None, dtype: Any) -> tuple[Tensor, int]:
    x = _functions._array(input)
    if dim is None:  # torch's choice
        dim = 0 if x.ndim in (0, 1, 3) else 1
    return (x if dtype is None else _functions.astype(x, dtype)), dim


def softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """exp(x) over its sum along `dim`; of the elements in another dtype, with `dtype`.

    Without a `dim` it is, as in torch, axis 0 of arrays with 0, 1 and 3 axes, and axis 1 of others: better name it.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> F.softmax(ig.zeros((1, 4)), dim=1)
    Tensor([[0.25, 0.25, 0.25, 0.25]], dtype=float32)
    """
    x, axis = _along(input, dim, dtype)
    return _fn["softmax"](x, axis=axis)


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, without underflow."""
    x, axis = _along(input, dim, dtype)
    return _fn["log_softmax"](x, axis=axis)


def softmin(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """The `softmax` of -x."""
    x, axis = _along(input, dim, dtype)
    return _fn["softmax"](-x, axis=axis)


def gumbel_softmax(
    logits: Any, tau: float = 1.0, hard: bool = False, *, dim: int = -1, key: Tensor | None = None
) -> Tensor:
    """A sample of classes along `dim`, by Gumbel's noise: the softmax of (logits + noise) / tau. Jang et al. (2017).

    With `hard` it is one-hot, with the gradient of the soft one.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> float(ig.sum(F.gumbel_softmax(ig.zeros(5), hard=True, key=ig.random.key(0))))
    1.0
    """
    x = _functions._array(logits)
    noise = random.gumbel(key_to_draw(key, "gumbel_softmax"), x.shape, x.dtype)
    soft = _fn["softmax"]((x + noise) / tau, axis=dim)
    if not hard:
        return soft
    best = _fn["expand_dims"](_fn["argmax"](soft, axis=dim), axis=dim)
    places = _functions.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - 1 - dim % x.ndim))
    return _functions.astype(places == best, x.dtype) + (soft - _fn["stop_gradient"](soft))
