"""Layers without memory: linear maps, embeddings, convolutions, pooling, activations."""

from __future__ import annotations

import math
from typing import Any

from .. import _errors, _functions, _intaglio, random
from . import init
from ._module import Module, Parameter

Tensor = _intaglio.Tensor
_fn = _functions.functions


def _needs_key(key: Tensor | None, who: str) -> Tensor:
    if key is None:
        raise _errors.ValueError(
            f"{who}: there is no key to draw the first values from",
            _intaglio._user_line(),
            why="random numbers come from explicit keys, so that a program gives the same numbers each time",
            hint="pass key=ig.random.key(seed), or one of ig.random.split(key, n) for each layer",
        )
    return key


def torch_like(key: Tensor, shape: Any, fan_in: int, dtype: Any) -> Tensor:
    """Evenly spread over ±1/sqrt(fan in): what torch's layers start with."""
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    return init.uniform(key, shape, -bound, bound, dtype)


class Identity(Module):
    """Gives what it is given."""

    def forward(self, x: Any) -> Any:
        return x


class Linear(Module):
    """x [..., in_features] times the weight [out_features, in_features], plus the bias [out_features].

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> layer = nn.Linear(3, 2, key=ig.random.key(0))
    >>> layer(ig.ones((5, 3))).shape
    (5, 2)
    """

    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        weight_key, bias_key = random.split(_needs_key(key, "Linear"))
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch_like(weight_key, (out_features, in_features), in_features, dtype))
        self.register_parameter("bias", torch_like(bias_key, (out_features,), in_features, dtype) if bias else None)

    def forward(self, x: Tensor) -> Tensor:
        return _fn["linear"](x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Embedding(Module):
    """Rows of a table [num_embeddings, embedding_dim] by integer index; the row `padding_idx` starts as zeros."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        table = random.normal(_needs_key(key, "Embedding"), (num_embeddings, embedding_dim), dtype)
        if padding_idx is not None:
            table[padding_idx] = 0.0
        self.weight = Parameter(table)

    def forward(self, indices: Tensor) -> Tensor:
        rows = _fn["embedding"](indices, self.weight)
        if self.padding_idx is None:
            return rows
        # The padding's row gets no gradient, so it stays as it is.
        padding = _fn["expand_dims"](indices == self.padding_idx % self.num_embeddings, axis=-1)
        return _fn["where"](padding, _fn["stop_gradient"](rows), rows)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


def _each(value: Any, rank: int, who: str) -> tuple[int, ...]:
    sizes = (value,) * rank if isinstance(value, int) else tuple(value)
    if len(sizes) != rank:
        raise _errors.ValueError(
            f"{who}: {len(sizes)} numbers are given for {rank} spatial axes",
            _intaglio._user_line(),
            why="there is one for each spatial axis",
            hint=f"give {rank} numbers, or one for all",
        )
    return sizes


class _Conv(Module):
    rank = 0
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        who, rank = type(self).__name__, self.rank
        weight_key, bias_key = random.split(_needs_key(key, who))
        if in_channels % groups or out_channels % groups:
            raise _errors.ValueError(
                f"{who}: {in_channels} channels in and {out_channels} out do not fall into {groups} groups",
                _intaglio._user_line(),
                why="each group has as many channels as any other",
                hint="choose groups that divide both",
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _each(kernel_size, rank, who), _each(stride, rank, who)
        self.dilation = _each(dilation, rank, who)
        if padding == "same":
            added = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            if any(s != 1 for s in self.stride) or any(n % 2 for n in added):
                raise _errors.ValueError(
                    f"{who}: padding='same' is for a stride of 1 and kernels of odd size",
                    _intaglio._user_line(),
                    why="otherwise the two sides would need different padding",
                    hint="give the padding as numbers",
                )
            padding = tuple(n // 2 for n in added)
        self.padding = _each(0 if padding == "valid" else padding, rank, who)
        fan_in = in_channels // groups * math.prod(self.kernel_size)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(torch_like(weight_key, shape, fan_in, dtype))
        self.register_parameter("bias", torch_like(bias_key, (out_channels,), fan_in, dtype) if bias else None)

    def forward(self, x: Tensor) -> Tensor:
        return _fn["conv"](
            x,
            self.weight,
            self.bias,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
        )

    def extra_repr(self) -> str:
        said = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        return said + (f", padding={self.padding}" if any(self.padding) else "")


class Conv1d(_Conv):
    """A convolution of [batch, in_channels, length]."""

    rank = 1


class Conv2d(_Conv):
    """A convolution of [batch, in_channels, height, width].

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> nn.Conv2d(3, 8, 3, padding=1, key=ig.random.key(0))(ig.ones((2, 3, 5, 7))).shape
    (2, 8, 5, 7)
    """

    rank = 2


class Conv3d(_Conv):
    """A convolution of [batch, in_channels, depth, height, width]."""

    rank = 3


class _Pool(Module):
    rank = 0
    function = ""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        who = type(self).__name__
        self.kernel_size = _each(kernel_size, self.rank, who)
        self.stride = self.kernel_size if stride is None else _each(stride, self.rank, who)
        self.padding = _each(padding, self.rank, who)

    def forward(self, x: Tensor) -> Tensor:
        return _fn[self.function](x, kernel_size=self.kernel_size, stride=self.stride, padding=self.padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool1d(_Pool):
    """The greatest element of each window of [batch, channels, length]."""

    rank, function = 1, "max_pool"


class MaxPool2d(_Pool):
    """The greatest element of each window of [batch, channels, height, width]."""

    rank, function = 2, "max_pool"


class AvgPool1d(_Pool):
    """The mean of each window of [batch, channels, length]."""

    rank, function = 1, "avg_pool"


class AvgPool2d(_Pool):
    """The mean of each window of [batch, channels, height, width]."""

    rank, function = 2, "avg_pool"


class GlobalAvgPool(Module):
    """The mean over all spatial axes of [batch, channels, space...]: [batch, channels]."""

    def forward(self, x: Tensor) -> Tensor:
        return _fn["mean"](x, axis=tuple(range(2, x.ndim)))


class Flatten(Module):
    """The axes from `start_dim` to `end_dim` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return _functions.flatten(x, self.start_dim, self.end_dim)


class Activation(Module):
    """A function of the op table, with its options, as a module."""

    function = ""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def forward(self, x: Tensor) -> Tensor:
        return _fn[self.function](x, **self.options)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())


def _activation(name: str, function: str) -> type[Activation]:
    made = type(name, (Activation,), {"function": function, "__module__": "intaglio.nn"})
    made.__doc__ = f"`ig.{function}` as a module; takes its options as keywords."
    return made


ReLU = _activation("ReLU", "relu")
ReLU6 = _activation("ReLU6", "relu6")
LeakyReLU = _activation("LeakyReLU", "leaky_relu")
ELU = _activation("ELU", "elu")
GELU = _activation("GELU", "gelu")
SiLU = _activation("SiLU", "silu")
Mish = _activation("Mish", "mish")
Hardsigmoid = _activation("Hardsigmoid", "hard_sigmoid")
Hardswish = _activation("Hardswish", "hard_swish")
Softplus = _activation("Softplus", "softplus")
LogSigmoid = _activation("LogSigmoid", "log_sigmoid")
Sigmoid = _activation("Sigmoid", "sigmoid")
Tanh = _activation("Tanh", "tanh")
GLU = _activation("GLU", "glu")
Softmax = _activation("Softmax", "softmax")
LogSoftmax = _activation("LogSoftmax", "log_softmax")
