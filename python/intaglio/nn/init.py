"""First values of parameters: functions of a key and a shape.

A weight's shape is (out, in, taps…), as in `nn.Linear` and `nn.Conv2d`: `in` times the taps is its fan in.

>>> import intaglio as ig
>>> from intaglio import nn
>>> nn.init.xavier_uniform(ig.random.key(0), (3, 5)).shape
(3, 5)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _errors, _functions, _intaglio, random

Tensor = _intaglio.Tensor

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}


def calculate_gain(nonlinearity: str, param: float = 0.01) -> float:
    """By how much a layer's weights are wider for the function behind it; `param` is leaky_relu's slope."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + param**2))
    if nonlinearity not in _GAINS:
        raise _errors.ValueError(
            f"calculate_gain: there is no gain for {nonlinearity!r}",
            _intaglio._user_line(),
            why="the gains are those of the usual functions",
            hint=f"choose one of {', '.join([*_GAINS, 'leaky_relu'])}, or pass gain= yourself",
        )
    return _GAINS[nonlinearity]


def zeros(key: Tensor | None, shape: Any, dtype: Any = "float32") -> Tensor:
    """All 0; the key is not used."""
    return _functions.zeros(shape, dtype=dtype)


def ones(key: Tensor | None, shape: Any, dtype: Any = "float32") -> Tensor:
    """All 1; the key is not used."""
    return _functions.ones(shape, dtype=dtype)


def constant(key: Tensor | None, shape: Any, value: float, dtype: Any = "float32") -> Tensor:
    """All `value`; the key is not used."""
    return _functions.full(shape, value, dtype=dtype)


def uniform(key: Tensor, shape: Any, low: float = 0.0, high: float = 1.0, dtype: Any = "float32") -> Tensor:
    """Evenly spread over [low, high)."""
    return random.uniform(key, shape, dtype, minval=low, maxval=high)


def normal(key: Tensor, shape: Any, mean: float = 0.0, std: float = 1.0, dtype: Any = "float32") -> Tensor:
    """Of the normal distribution."""
    return random.normal(key, shape, dtype) * std + mean


def trunc_normal(key: Tensor, shape: Any, std: float = 1.0, dtype: Any = "float32") -> Tensor:
    """Of the normal distribution, cut at two standard deviations."""
    return random.truncated_normal(key, -2.0, 2.0, shape, dtype) * std


def xavier_uniform(key: Tensor, shape: Any, gain: float = 1.0, dtype: Any = "float32") -> Tensor:
    """Glorot and Bengio (2010): the variance is 2 gain² / (fan in + fan out)."""
    fan_in, fan_out = fans(shape)
    bound = gain * math.sqrt(6 / max(fan_in + fan_out, 1))
    return uniform(key, shape, -bound, bound, dtype)


def xavier_normal(key: Tensor, shape: Any, gain: float = 1.0, dtype: Any = "float32") -> Tensor:
    """As xavier_uniform, of the normal distribution."""
    fan_in, fan_out = fans(shape)
    return normal(key, shape, 0.0, gain * math.sqrt(2 / max(fan_in + fan_out, 1)), dtype)


def kaiming_uniform(key: Tensor, shape: Any, gain: float = math.sqrt(2), dtype: Any = "float32") -> Tensor:
    """He et al. (2015): the variance is gain² / fan in."""
    bound = gain * math.sqrt(3 / max(fans(shape)[0], 1))
    return uniform(key, shape, -bound, bound, dtype)


def kaiming_normal(key: Tensor, shape: Any, gain: float = math.sqrt(2), dtype: Any = "float32") -> Tensor:
    """As kaiming_uniform, of the normal distribution."""
    return normal(key, shape, 0.0, gain / math.sqrt(max(fans(shape)[0], 1)), dtype)


def lecun_normal(key: Tensor, shape: Any, dtype: Any = "float32") -> Tensor:
    """Of the normal distribution with variance 1 / fan in."""
    return kaiming_normal(key, shape, 1.0, dtype)


def orthogonal(key: Tensor, shape: Any, gain: float = 1.0, dtype: Any = "float32") -> Tensor:
    """Rows (or columns, whichever are fewer) of length `gain`, each at right angles to the others: Saxe et al. (2014).

    Not under `ig.jit`: the decomposition is NumPy's.
    """
    sizes = _functions._sizes(shape)
    rows, columns = sizes[0], math.prod(sizes[1:])
    drawn = np.asarray(random.normal(key, (max(rows, columns), min(rows, columns)), "float64"))
    q, r = np.linalg.qr(drawn)
    q = q * np.sign(np.diagonal(r))  # so that every orthogonal matrix is as likely as any other
    return _intaglio.asarray((q if rows >= columns else q.T).reshape(sizes) * gain, dtype=dtype)


def fans(shape: Any) -> tuple[int, int]:
    """How many numbers each output reads, and how many outputs read each number, for a weight of this shape."""
    sizes = _functions._sizes(shape)
    if len(sizes) < 2:
        raise _errors.ShapeError(
            f"a parameter of shape {tuple(sizes)} has no fan in",
            _intaglio._user_line(),
            why="a weight has at least the axes (out, in)",
            hint="use nn.init.uniform or nn.init.normal, which take any shape",
        )
    taps = math.prod(sizes[2:])
    return sizes[1] * taps, sizes[0] * taps
