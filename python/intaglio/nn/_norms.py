"""Layers that normalise, and dropout: those that behave otherwise while a model is trained."""

from __future__ import annotations

import math
from typing import Any

from .. import _errors, _functions, _intaglio, random
from ._module import Buffer, Module, Parameter

Tensor = _intaglio.Tensor
_fn = _functions.functions


class LayerNorm(Module):
    """Normalises the last axes, those of `normalized_shape`, to mean 0 and variance 1; then a weight and a bias."""

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: Any = "float32",
    ) -> None:
        self.normalized_shape = _functions._sizes(normalized_shape)
        self.eps = eps
        self.register_parameter(
            "weight", _functions.ones(normalized_shape, dtype=dtype) if elementwise_affine else None
        )
        both = elementwise_affine and bias
        self.register_parameter("bias", _functions.zeros(normalized_shape, dtype=dtype) if both else None)

    def forward(self, x: Tensor) -> Tensor:
        rank = len(self.normalized_shape)
        return _fn["layer_norm"](x, self.weight, self.bias, normalized_rank=rank, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class RMSNorm(Module):
    """Divides the last axes by the root of their mean square; then a weight. Zhang and Sennrich (2019)."""

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, *, dtype: Any = "float32") -> None:
        self.normalized_shape = _functions._sizes(normalized_shape)
        self.eps = eps
        self.weight = Parameter(_functions.ones(normalized_shape, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        return _fn["rms_norm"](x, self.weight, normalized_rank=len(self.normalized_shape), eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class GroupNorm(Module):
    """Normalises groups of channels of [batch, channels, space...]; then a weight and a bias for each channel."""

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, *, dtype: Any = "float32"
    ) -> None:
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.register_parameter("weight", _functions.ones(num_channels, dtype=dtype) if affine else None)
        self.register_parameter("bias", _functions.zeros(num_channels, dtype=dtype) if affine else None)

    def forward(self, x: Tensor) -> Tensor:
        return _fn["group_norm"](x, self.weight, self.bias, num_groups=self.num_groups, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


def _move(running_mean: Tensor, running_var: Tensor, count: Any, mean: Tensor, variance: Tensor, share: Any) -> None:
    """The running statistics go towards those of a batch, of `count` elements for each channel."""
    mean, variance = _fn["stop_gradient"](mean), _fn["stop_gradient"](variance)
    unbiased = variance * (count / max(count - 1, 1)) if isinstance(count, int) else variance * count / (count - 1)
    _intaglio._bind(running_mean, running_mean + (mean - running_mean) * share)
    _intaglio._bind(running_var, running_var + (unbiased - running_var) * share)


def _known(who: str, mean: Tensor | None, variance: Tensor | None) -> tuple[Tensor, Tensor]:
    if mean is None or variance is None:
        raise _errors.ValueError(
            f"{who}: there are no running statistics",
            _intaglio._user_line(),
            why="they take the place of the batch's own while a model is not trained",
            hint="pass running_mean and running_var, or normalise by the batch's own statistics",
        )
    return mean, variance


def batch_norm(
    input: Any,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel of [batch, channels, space...] over all other axes; then a weight and a bias [channels].

    With `training` by the batch's own statistics, towards which the running ones, where there are any, are bound anew
    by the share `momentum`; else by the running ones.
    """
    x = _functions._array(input)
    if not training:
        mean, variance = _known("batch_norm", running_mean, running_var)
        return _fn["batch_norm"](x, mean, variance, weight, bias, eps=eps)
    axes = (0, *range(2, x.ndim))
    mean, variance = _fn["mean"](x, axis=axes), _fn["var"](x, axis=axes)
    if running_mean is not None and running_var is not None:
        _move(running_mean, running_var, math.prod([x.shape[0], *x.shape[2:]]), mean, variance, momentum)
    return _fn["batch_norm"](x, mean, variance, weight, bias, eps=eps)


def instance_norm(
    input: Any,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel of each example of [batch, channels, space...] over its space; then a weight and a bias.

    With `use_input_stats=False` by the running statistics; else these, where there are any, learn as in `batch_norm`.
    """
    x = _functions._array(input)
    if not use_input_stats:
        mean, variance = _known("instance_norm", running_mean, running_var)
        return _fn["batch_norm"](x, mean, variance, weight, bias, eps=eps)
    if running_mean is not None and running_var is not None:
        space = tuple(range(2, x.ndim))
        # The statistics of the single images, averaged over the batch.
        variance = _fn["mean"](_fn["var"](x, axis=space), axis=0)
        mean = _fn["mean"](x, axis=(0, *space))
        _move(running_mean, running_var, math.prod(x.shape[2:]), mean, variance, momentum)
    return _fn["group_norm"](x, weight, bias, num_groups=x.shape[1], eps=eps)


class _BatchNorm(Module):
    ranks: tuple[int, ...] = ()
    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        dtype: Any = "float32",
    ) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.track_running_stats = track_running_stats
        self.register_parameter("weight", _functions.ones(num_features, dtype=dtype) if affine else None)
        self.register_parameter("bias", _functions.zeros(num_features, dtype=dtype) if affine else None)
        if track_running_stats:
            self.running_mean = Buffer(_functions.zeros(num_features, dtype=dtype))
            self.running_var = Buffer(_functions.ones(num_features, dtype=dtype))
            self.num_batches_tracked = Buffer(_functions.zeros((), dtype="int64"))

    def _check_rank(self, x: Tensor) -> None:
        if x.ndim not in self.ranks:
            raise _errors.ShapeError(
                f"{type(self).__name__} is given an array of rank {x.ndim}",
                _intaglio._user_line(),
                why=f"it normalises the channels (axis 1) of arrays of rank {' or '.join(map(str, self.ranks))}",
                hint="reshape the array, or take the layer for its rank",
            )

    def forward(self, x: Tensor) -> Tensor:
        self._check_rank(x)
        share: Any = self.momentum
        if self.training and self.track_running_stats:
            tracked = self.num_batches_tracked
            _intaglio._bind(tracked, tracked + 1)
            if share is None:  # the plain average of all batches
                share = 1 / _functions.astype(tracked, self.running_mean.dtype)
        own = self.training or not self.track_running_stats
        return batch_norm(x, *self._running(), self.weight, self.bias, own, share, self.eps)

    def _running(self) -> tuple[Tensor | None, Tensor | None]:
        return (self.running_mean, self.running_var) if self.track_running_stats else (None, None)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    """Normalises each channel over the batch, of [batch, channels] or [batch, channels, length].

    While training by the batch's own statistics, which a running mean and variance learn; in `eval()` by those.
    Ioffe and Szegedy (2015).
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """As BatchNorm1d, of [batch, channels, height, width]."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """As BatchNorm1d, of [batch, channels, depth, height, width]."""

    ranks = (5,)


class _InstanceNorm(_BatchNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        self._check_rank(x)
        share = 0.0 if self.momentum is None else self.momentum  # as in torch, which does not count batches here
        own = self.training or not self.track_running_stats
        return instance_norm(x, *self._running(), self.weight, self.bias, own, share, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each example over its length, of [batch, channels, length].

    With `track_running_stats` a running mean and variance are learned, and take their place in `eval()`. Ulyanov et al.
    (2016).
    """

    ranks = (3,)


class InstanceNorm2d(_InstanceNorm):
    """As InstanceNorm1d, of [batch, channels, height, width]."""

    ranks = (4,)


class InstanceNorm3d(_InstanceNorm):
    """As InstanceNorm1d, of [batch, channels, depth, height, width]."""

    ranks = (5,)


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x over (k + alpha * mean of the squares of `size` channels around each) ** beta, of [batch, channels, ...]."""
    x = _functions._array(input)
    channels = x.shape[1]
    around = [(0, 0)] * x.ndim
    around[1] = (size // 2, (size - 1) // 2)
    squares = _fn["pad"](x * x, tuple(around))
    total: Any = 0.0
    for i in range(size):
        total = total + squares[:, i : i + channels]
    return x / (k + alpha / size * total) ** beta


class LocalResponseNorm(Module):
    """Divides by (k + alpha * mean of the squares of `size` channels around each) ** beta. Krizhevsky et al. (2012)."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, x: Tensor) -> Tensor:
        return local_response_norm(x, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


def key_to_draw(key: Tensor | None, who: str, name: str = "key") -> Tensor:
    if key is None:
        raise _errors.ValueError(
            f"{who}: there is no key to draw from",
            _intaglio._user_line(),
            why="random numbers come from explicit keys, so that a program gives the same numbers each time",
            hint=f"pass {name}=ig.random.key(seed), another one in each step",
        )
    return key


def check_share(p: float, who: str) -> None:
    if not 0 <= p <= 1:
        raise _errors.ValueError(
            f"{who}: p is {p}, but a probability lies in [0, 1]",
            _intaglio._user_line(),
            why="it is the share of the elements that become 0",
            hint="give a number such as 0.1",
        )


class Dropout(Module):
    """While training, makes each element 0 with probability `p` and divides the others by 1 - p; else gives x.

    It draws from the key passed to the call, or else from its own, which it replaces by a new one each time: a state
    of the module, kept under `ig.jit` too.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> drop = nn.Dropout(0.5, key=ig.random.key(1))
    >>> bool(ig.all(drop(ig.ones(50)) == drop(ig.ones(50))))
    False
    >>> drop.eval()(ig.ones(2))
    Tensor([1., 1.], dtype=float32)
    """

    def __init__(self, p: float = 0.5, *, key: Tensor | None = None) -> None:
        check_share(p, "Dropout")
        self.p = p
        self.key: Tensor | None
        self.key = None if key is None else Buffer(key, persistent=False)

    def forward(self, x: Tensor, key: Tensor | None = None) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if key is None:
            own = self.key
            if own is None:
                raise _errors.ValueError(
                    "Dropout: there is no key to draw from",
                    _intaglio._user_line(),
                    why="random numbers come from explicit keys, and neither the layer nor the call has one",
                    hint="make it by nn.Dropout(p, key=...), or call it with key=; model.eval() turns it off",
                )
            pair = random.split(own)
            _intaglio._bind(own, pair[0])
            key = pair[1]
        return self._dropped(x, key)

    def _dropped(self, x: Tensor, key: Tensor) -> Tensor:
        return _fn["dropout"](x, key, p=self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def drop_channels(x: Tensor, key: Tensor, p: float) -> Tensor:
    return x * _fn["dropout"](_functions.ones((*x.shape[:2], *(1,) * (x.ndim - 2)), dtype=x.dtype), key, p=p)


class _DropChannels(Dropout):
    def _dropped(self, x: Tensor, key: Tensor) -> Tensor:
        return drop_channels(x, key, self.p)


class Dropout1d(_DropChannels):
    """As Dropout, of whole channels of [batch, channels, length]."""


class Dropout2d(_DropChannels):
    """As Dropout, of whole channels of [batch, channels, height, width]."""


class Dropout3d(_DropChannels):
    """As Dropout, of whole channels of [batch, channels, depth, height, width]."""


# What SELU tends to, negated: the value that dropped elements take.
_SATURATED = -1.7580993408473766


def alpha_dropped(x: Tensor, key: Tensor, p: float, whole: bool) -> Tensor:
    """Of single elements, or of whole channels."""
    if p == 1:
        return _functions.zeros_like(x)
    kept = random.bernoulli(key, 1 - p, (*x.shape[:2], *(1,) * (x.ndim - 2)) if whole else x.shape)
    scale = ((1 - p) * (1 + p * _SATURATED**2)) ** -0.5
    return _fn["where"](kept, x, _SATURATED) * scale - scale * _SATURATED * p


class AlphaDropout(Dropout):
    """Dropout that keeps mean and variance of what `nn.SELU` gives: dropped elements take the value it tends to.

    Klambauer et al. (2017).
    """

    def _dropped(self, x: Tensor, key: Tensor) -> Tensor:
        return alpha_dropped(x, key, self.p, whole=False)


class FeatureAlphaDropout(AlphaDropout):
    """As AlphaDropout, of whole channels of [batch, channels, space...]."""

    def _dropped(self, x: Tensor, key: Tensor) -> Tensor:
        return alpha_dropped(x, key, self.p, whole=True)


def leaky(x: Tensor, lower: float, upper: float, key: Tensor | None) -> Tensor:
    """x, and below 0 a slope times x: the mean of both bounds, or, with a key, drawn between them."""
    slope: Any = (lower + upper) / 2
    if key is not None:
        slope = random.uniform(key, x.shape, x.dtype, minval=lower, maxval=upper)
    return _fn["where"](x < 0, x * slope, x)


class RReLU(Dropout):
    """x, and below 0 a slope times x: drawn between `lower` and `upper` while training, else the mean of both."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, *, key: Tensor | None = None) -> None:
        super().__init__(1.0, key=key)
        self.lower, self.upper = lower, upper

    def forward(self, x: Tensor, key: Tensor | None = None) -> Tensor:
        if self.training:
            return super().forward(x, key)
        return leaky(x, self.lower, self.upper, None)

    def _dropped(self, x: Tensor, key: Tensor) -> Tensor:
        return leaky(x, self.lower, self.upper, key)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"
