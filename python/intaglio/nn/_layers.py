"""Layers without memory: linear maps, embeddings, convolutions, activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _errors, _functions, _intaglio, linalg, random
from .._custom_rules import custom_jvp
from . import init
from ._functional import keeps
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


@custom_jvp
def _put(old: Tensor, new: Tensor) -> Tensor:
    """`new`, whose gradient is that of `old`: what an assignment off the tape is to a derivative."""
    return new


_put.defjvp(lambda values, directions: (values[1], directions[0]))


def shorten(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float, who: str) -> None:
    """The rows that the indices name are scaled down to a norm of `max_norm` at most, in place, as torch does it."""
    if not keeps(weight):
        raise _errors.CaptureError(
            f"{who}: a table with max_norm is used while a function is captured that does not keep it",
            _intaglio._user_line(),
            why="its rows are scaled down in place before they are read, and here the new rows would be lost",
            hint="jit the whole step, and take the gradient by nn.value_and_grad(module, f), which keeps the table",
        )
    table = _fn["stop_gradient"](weight) if weight.is_symbolic else _intaglio._detached(weight)
    norms = linalg.vector_norm(table, axis=1, keepdims=True, ord=norm_type)
    used = _fn["bincount"](indices.reshape((-1,)), length=int(table.shape[0])) > 0
    scale = _fn["where"](used[:, None] & (norms > max_norm), max_norm / (norms + 1e-7), 1.0)
    short = table * scale
    _intaglio._set_value(weight, _put(weight, short) if _intaglio.is_tracing() else short)


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0
) -> Tensor:
    """The rows of `weight` [rows, features] that the integers of `input` [...] name: [..., features].

    The row `padding_idx` gets no gradient, so it stays as it is. With `max_norm` the rows that are read are first
    scaled down in place to that `norm_type`-norm at most, as torch does it: eagerly, within `ig.jit` and
    `nn.value_and_grad`. Other captures would lose the new rows, and refuse it (`ig.CaptureError`).
    """
    input, weight = _functions._array(input), _functions._array(weight)
    if max_norm is not None:
        shorten(weight, input, max_norm, norm_type, "embedding")
    rows = _fn["embedding"](input, weight)
    if padding_idx is None:
        return rows
    padding = _fn["expand_dims"](input == padding_idx % weight.shape[0], axis=-1)
    return _fn["where"](padding, _fn["stop_gradient"](rows), rows)


class Embedding(Module):
    """Rows of a table [num_embeddings, embedding_dim] by integer index; the row `padding_idx` starts as zeros.

    With `max_norm` the rows that are read are first scaled down in place, as in `nn.functional.embedding`.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        table = random.normal(_needs_key(key, "Embedding"), (num_embeddings, embedding_dim), dtype)
        if padding_idx is not None:
            table[padding_idx] = 0.0
        self.weight = Parameter(table)

    def forward(self, indices: Tensor) -> Tensor:
        return embedding(indices, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def extra_repr(self) -> str:
        said = f"{self.num_embeddings}, {self.embedding_dim}"
        return said if self.max_norm is None else f"{said}, max_norm={self.max_norm}"


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


def _check_groups(who: str, channels_in: int, channels_out: int, groups: int) -> None:
    if channels_in % groups or channels_out % groups:
        raise _errors.ValueError(
            f"{who}: {channels_in} channels in and {channels_out} out do not fall into {groups} groups",
            _intaglio._user_line(),
            why="each group has as many channels as any other",
            hint="choose groups that divide both",
        )


def in_a_batch(x: Any, rank: int, who: str, function: Callable[[Tensor], Any]) -> Any:
    """The function of [batch, channels, space...] with `rank` spatial axes; one example is a batch of its own."""
    x = _functions._array(x)
    if x.ndim == rank + 2:
        return function(x)
    if x.ndim != rank + 1:
        raise _errors.ShapeError(
            f"{who} is given an array of rank {x.ndim}",
            _intaglio._user_line(),
            why=f"it works on [batch, channels, space...] or [channels, space...], with {rank} spatial axes",
            hint="reshape the array, or take the one for its rank",
        )
    out = function(x[None])
    return tuple(one[0] for one in out) if isinstance(out, tuple) else out[0]


def convolved(rank: int, who: str, x: Any, weight: Tensor, bias: Tensor | None, **options: Any) -> Tensor:
    return in_a_batch(x, rank, who, lambda x: _fn["conv"](x, weight, bias, **options))


def spread(rank: int, who: str, x: Any, weight: Tensor, bias: Tensor | None, **options: Any) -> Tensor:
    return in_a_batch(x, rank, who, lambda x: _fn["conv_transpose"](x, weight, bias, **options))


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
        _check_groups(who, in_channels, out_channels, groups)
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
        return convolved(
            self.rank,
            type(self).__name__,
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


class _ConvTranspose(Module):
    rank = 0
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        who, rank = type(self).__name__, self.rank
        weight_key, bias_key = random.split(_needs_key(key, who))
        _check_groups(who, in_channels, out_channels, groups)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _each(kernel_size, rank, who), _each(stride, rank, who)
        self.padding, self.output_padding = _each(padding, rank, who), _each(output_padding, rank, who)
        self.dilation = _each(dilation, rank, who)
        fan_in = out_channels // groups * math.prod(self.kernel_size)
        shape = (in_channels, out_channels // groups, *self.kernel_size)
        self.weight = Parameter(torch_like(weight_key, shape, fan_in, dtype))
        self.register_parameter("bias", torch_like(bias_key, (out_channels,), fan_in, dtype) if bias else None)

    def forward(self, x: Tensor) -> Tensor:
        return spread(
            self.rank,
            type(self).__name__,
            x,
            self.weight,
            self.bias,
            stride=self.stride,
            padding=self.padding,
            output_padding=self.output_padding,
            dilation=self.dilation,
            groups=self.groups,
        )

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"


class ConvTranspose1d(_ConvTranspose):
    """The transpose of a convolution: [batch, in_channels, length] to a longer one."""

    rank = 1


class ConvTranspose2d(_ConvTranspose):
    """The transpose of a convolution: [batch, in_channels, height, width] to a larger image.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> nn.ConvTranspose2d(3, 8, 4, stride=2, padding=1, key=ig.random.key(0))(ig.ones((2, 3, 5, 7))).shape
    (2, 8, 10, 14)
    """

    rank = 2


class ConvTranspose3d(_ConvTranspose):
    """The transpose of a convolution: [batch, in_channels, depth, height, width] to a larger volume."""

    rank = 3


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """input1ᵀ W input2 + b: of [..., m] and [..., n] with a weight [features, m, n] to [..., features]."""
    out = _functions.einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias


class Bilinear(Module):
    """x1ᵀ W x2 + b: of [..., in1_features] and [..., in2_features] to [..., out_features]."""

    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        weight_key, bias_key = random.split(_needs_key(key, "Bilinear"))
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(torch_like(weight_key, shape, in1_features, dtype))
        self.register_parameter("bias", torch_like(bias_key, (out_features,), in1_features, dtype) if bias else None)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in1_features}, {self.in2_features}, {self.out_features}, bias={self.bias is not None}"


class Unflatten(Module):
    """The axis `dim` as several of the sizes `unflattened_size`, one of which may be -1."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        axis = _functions._axis(self.dim, x.ndim, "Unflatten")
        sizes = list(self.unflattened_size)
        if -1 in sizes:
            known = math.prod(size for size in sizes if size != -1)
            sizes[sizes.index(-1)] = x.shape[axis] // max(known, 1)
        return x.reshape((*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Flatten(Module):
    """The axes from `start_dim` to `end_dim` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return _functions.flatten(x, self.start_dim, self.end_dim)


class Activation(Module):
    """A function of the op table, with its options, as a module. Options have torch's names and order."""

    function = ""
    names: tuple[str, ...] = ()  # of options that are given by position

    def __init__(self, *values: Any, **options: Any) -> None:
        if len(values) > len(self.names):
            raise _errors.TypeError(
                f"{type(self).__name__} is given {len(values)} options by position",
                _intaglio._user_line(),
                why=f"it has {len(self.names)}: {', '.join(self.names) or 'none'}",
                hint="give further ones by name",
            )
        options = {**dict(zip(self.names, values, strict=False)), **options}
        options.pop("inplace", None)  # arrays are values
        if "dim" in options:
            options["axis"] = options.pop("dim")
        self.options = options

    def forward(self, x: Tensor) -> Tensor:
        return _fn[self.function](x, **self.options)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())


def _activation(name: str, function: str, *names: str) -> type[Activation]:
    made = type(name, (Activation,), {"function": function, "names": names, "__module__": "intaglio.nn"})
    made.__doc__ = f"`ig.{function}` as a module; takes its options, by position in the order of torch's."
    return made


ReLU = _activation("ReLU", "relu", "inplace")
ReLU6 = _activation("ReLU6", "relu6", "inplace")
LeakyReLU = _activation("LeakyReLU", "leaky_relu", "negative_slope", "inplace")
ELU = _activation("ELU", "elu", "alpha", "inplace")
CELU = _activation("CELU", "celu", "alpha", "inplace")
SELU = _activation("SELU", "selu", "inplace")
GELU = _activation("GELU", "gelu", "approximate")
SiLU = _activation("SiLU", "silu", "inplace")
Mish = _activation("Mish", "mish", "inplace")
Hardsigmoid = _activation("Hardsigmoid", "hard_sigmoid", "inplace")
Hardswish = _activation("Hardswish", "hard_swish", "inplace")
Hardtanh = _activation("Hardtanh", "hard_tanh", "min_val", "max_val", "inplace")
Hardshrink = _activation("Hardshrink", "hardshrink", "lambd")
Softshrink = _activation("Softshrink", "softshrink", "lambd")
Softsign = _activation("Softsign", "soft_sign")
Tanhshrink = _activation("Tanhshrink", "tanh_shrink")
LogSigmoid = _activation("LogSigmoid", "log_sigmoid")
Sigmoid = _activation("Sigmoid", "sigmoid")
Tanh = _activation("Tanh", "tanh")
GLU = _activation("GLU", "glu", "dim")
Softmax = _activation("Softmax", "softmax", "dim")
LogSoftmax = _activation("LogSoftmax", "log_softmax", "dim")


class Softmin(Activation):
    """The softmax of -x."""

    names = ("dim",)

    def forward(self, x: Tensor) -> Tensor:
        return _fn["softmax"](-x, **self.options)


class Softmax2d(Module):
    """The softmax over the channels of [batch, channels, height, width], or of one image, at each place."""

    def forward(self, x: Tensor) -> Tensor:
        return _fn["softmax"](x, axis=-3)


def threshold(input: Any, threshold: float, value: float) -> Tensor:
    """The elements above `threshold`, and `value` in place of the others."""
    x = _functions._array(input)
    return _fn["where"](x <= threshold, value, x)  # NaN stays


class Threshold(Module):
    """x where it is above `threshold`, else `value`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        self.threshold, self.value = threshold, value

    def forward(self, x: Tensor) -> Tensor:
        return threshold(x, self.threshold, self.value)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}"


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above `threshold`."""
    x = _functions._array(input)
    scaled = x * beta
    return _fn["where"](scaled > threshold, x, _fn["softplus"](scaled) / beta)


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above `threshold`, as in torch."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        return softplus(x, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


def prelu(input: Any, weight: Any) -> Tensor:
    """x, and below 0 a slope times x: one slope [1] for all, or one for each channel (axis 1) [channels]."""
    x, slope = _functions._array(input), _functions._array(weight)
    if x.ndim > 2 and slope.ndim and slope.shape[0] != 1:
        slope = slope.reshape((-1,) + (1,) * (x.ndim - 2))
    return _fn["where"](x < 0, slope * x, x)


class PReLU(Module):
    """x, and a learned slope times x below 0: one slope, or one for each channel (axis 1)."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, *, dtype: Any = "float32") -> None:
        self.slopes = num_parameters
        self.weight = Parameter(_functions.full(num_parameters, init, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        return prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.slopes}"
