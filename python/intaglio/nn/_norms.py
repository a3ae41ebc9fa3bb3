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
        if not self.training and self.track_running_stats:
            return _fn["batch_norm"](x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        axes = (0, *range(2, x.ndim))
        mean = _fn["mean"](x, axis=axes)
        variance = _fn["var"](x, axis=axes)
        if self.track_running_stats:
            self._learn(math.prod([x.shape[0], *x.shape[2:]]), mean, variance)
        return _fn["batch_norm"](x, mean, variance, self.weight, self.bias, eps=self.eps)

    def _learn(self, count: Any, mean: Tensor, variance: Tensor) -> None:
        tracked = self.num_batches_tracked
        _intaglio._bind(tracked, tracked + 1)
        # Without a momentum, the plain average of all batches.
        self._move(
            count,
            mean,
            variance,
            1 / _functions.astype(tracked, mean.dtype) if self.momentum is None else self.momentum,
        )

    def _move(self, count: Any, mean: Tensor, variance: Tensor, share: Any) -> None:
        mean, variance = _fn["stop_gradient"](mean), _fn["stop_gradient"](variance)
        unbiased = variance * (count / max(count - 1, 1)) if isinstance(count, int) else variance * count / (count - 1)
        old_mean, old_var = self.running_mean, self.running_var
        _intaglio._bind(old_mean, old_mean + (mean - old_mean) * share)
        _intaglio._bind(old_var, old_var + (unbiased - old_var) * share)

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
        if not self.training and self.track_running_stats:
            return _fn["batch_norm"](x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        if self.track_running_stats:
            space = tuple(range(2, x.ndim))
            # The statistics of the single images, averaged over the batch.
            variance = _fn["mean"](_fn["var"](x, axis=space), axis=0)
            share = 0.0 if self.momentum is None else self.momentum  # as in torch, which does not count batches here
            self._move(math.prod(x.shape[2:]), _fn["mean"](x, axis=(0, *space)), variance, share)
        return _fn["group_norm"](x, self.weight, self.bias, num_groups=self.num_features, eps=self.eps)


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


class LocalResponseNorm(Module):
    """Divides by (k + alpha * mean of the squares of `size` channels around each) ** beta. Krizhevsky et al. (2012)."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, x: Tensor) -> Tensor:
        channels = x.shape[1]
        around = [(0, 0)] * x.ndim
        around[1] = (self.size // 2, (self.size - 1) // 2)
        squares = _fn["pad"](x * x, tuple(around))
        total: Any = 0.0
        for i in range(self.size):
            total = total + squares[:, i : i + channels]
        return x / (self.k + self.alpha / self.size * total) ** self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


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
        if not 0 <= p <= 1:
            raise _errors.ValueError(
                f"Dropout: p is {p}, but a probability lies in [0, 1]",
                _intaglio._user_line(),
                why="it is the share of the elements that become 0",
                hint="give a number such as 0.1",
            )
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


class _DropChannels(Dropout):
    def _dropped(self, x: Tensor, key: Tensor) -> Tensor:
        kept = _fn["dropout"](_functions.ones((*x.shape[:2], *(1,) * (x.ndim - 2)), dtype=x.dtype), key, p=self.p)
        return x * kept


class Dropout1d(_DropChannels):
    """As Dropout, of whole channels of [batch, channels, length]."""


class Dropout2d(_DropChannels):
    """As Dropout, of whole channels of [batch, channels, height, width]."""


class Dropout3d(_DropChannels):
    """As Dropout, of whole channels of [batch, channels, depth, height, width]."""


# What SELU tends to, negated: the value that dropped elements take.
_SATURATED = -1.7580993408473766


class AlphaDropout(Dropout):
    """Dropout that keeps mean and variance of what `nn.SELU` gives: dropped elements take the value it tends to.

    Klambauer et al. (2017).
    """

    def _dropped(self, x: Tensor, key: Tensor) -> Tensor:
        return self._kept(x, random.bernoulli(key, 1 - self.p, x.shape))

    def _kept(self, x: Tensor, kept: Tensor) -> Tensor:
        if self.p == 1:
            return _functions.zeros_like(x)
        scale = ((1 - self.p) * (1 + self.p * _SATURATED**2)) ** -0.5
        return _fn["where"](kept, x, _SATURATED) * scale - scale * _SATURATED * self.p


class FeatureAlphaDropout(AlphaDropout):
    """As AlphaDropout, of whole channels of [batch, channels, space...]."""

    def _dropped(self, x: Tensor, key: Tensor) -> Tensor:
        shape = (*x.shape[:2], *(1,) * (x.ndim - 2))
        return self._kept(x, random.bernoulli(key, 1 - self.p, shape))


class RReLU(Dropout):
    """x, and below 0 a slope times x: drawn between `lower` and `upper` while training, else the mean of both."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, *, key: Tensor | None = None) -> None:
        super().__init__(1.0, key=key)
        self.lower, self.upper = lower, upper

    def forward(self, x: Tensor, key: Tensor | None = None) -> Tensor:
        if self.training:
            return super().forward(x, key)
        return _fn["where"](x < 0, x * ((self.lower + self.upper) / 2), x)

    def _dropped(self, x: Tensor, key: Tensor) -> Tensor:
        slopes = random.uniform(key, x.shape, x.dtype, minval=self.lower, maxval=self.upper)
        return _fn["where"](x < 0, x * slopes, x)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"
