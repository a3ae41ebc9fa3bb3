"""What is slid over images, and linear maps: convolutions and pooling, by torch's names.

Arrays are [batch, channels, space...], or [channels, space...] for one example.
"""

from __future__ import annotations

from typing import Any

from ... import _errors, _functions, _intaglio
from .. import _pooling, _unpooling
from .._layers import _each, bilinear, convolved, spread

Tensor = _intaglio.Tensor
_fn = _functions.functions

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linear",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


def linear(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """x [..., n] times the weight [features, n], plus the bias [features]; of a weight [n], the products' sum."""
    weight = _functions._array(weight)
    if weight.ndim == 1:
        out = _fn["linear"](input, weight[None])[..., 0]
        return out if bias is None else out + bias
    return _fn["linear"](input, weight, bias)


def _conv(rank: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Tensor:
    who = f"conv{rank}d"
    x, weight = _functions._array(x), _functions._array(weight)
    if weight.ndim != rank + 2:
        raise _errors.ShapeError(
            f"{who}: the weight has {weight.ndim} axes",
            _intaglio._user_line(),
            why=f"it is [features, channels / groups, taps...], with {rank} axes of taps",
            hint="reshape the weight, or take the convolution for its rank",
        )
    stride, dilation = _each(stride, rank, who), _each(dilation, rank, who)
    if isinstance(padding, str) and padding != "valid" and (padding != "same" or any(s != 1 for s in stride)):
        raise _errors.ValueError(
            f"{who}: padding is {padding!r}, with a stride of {stride}",
            _intaglio._user_line(),
            why="'valid' is none, and 'same' keeps the sizes, which only a stride of 1 does",
            hint="give the padding as numbers",
        )
    if padding == "same":
        added = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
        # Where the two sides differ, the one behind has one more.
        x = _fn["pad"](x, ((0, 0),) * (x.ndim - rank) + tuple((0, n % 2) for n in added))
        padding = [n // 2 for n in added]
    padding = _each(0 if padding == "valid" else padding, rank, who)
    return convolved(rank, who, x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """A convolution of [batch, channels, length] with a weight [features, channels / groups, taps]."""
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """A convolution of [batch, channels, height, width] with a weight [features, channels / groups, rows, columns].

    `padding` is a number, one for each axis, "valid" (none) or, for a stride of 1, "same".

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> F.conv2d(ig.ones((1, 3, 3)), ig.ones((1, 1, 2, 2)), padding="same")[0].tolist()
    [[4.0, 4.0, 2.0], [4.0, 4.0, 2.0], [2.0, 2.0, 1.0]]
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """A convolution of [batch, channels, depth, height, width], as `conv2d`."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _transposed(rank: int, x: Any, weight: Any, bias: Any, groups: int, **numbers: Any) -> Tensor:
    who = f"conv_transpose{rank}d"
    options = {name: _each(value, rank, who) for name, value in numbers.items()}
    return spread(rank, who, x, _functions._array(weight), bias, groups=groups, **options)


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv1d`, with a weight [channels, features / groups, taps]."""
    numbers = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
    return _transposed(1, input, weight, bias, groups, **numbers)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv2d`, with a weight [channels, features / groups, rows, columns]."""
    numbers = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
    return _transposed(2, input, weight, bias, groups, **numbers)


def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv3d`, with a weight [channels, features / groups, depth, rows, columns]."""
    numbers = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
    return _transposed(3, input, weight, bias, groups, **numbers)


# --- pooling: the layers' own forward --------------------------------------------------------------------------------


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest element of each window of [batch, channels, length]; with `return_indices` also where it stands."""
    return _pooling.MaxPool1d(kernel_size, stride, padding, dilation, return_indices, ceil_mode)(input)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest element of each window of [batch, channels, height, width]; with `return_indices` the pair of them
    and of where they stand among the points of their channel, counted in one row.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> F.max_pool2d(ig.asarray([[[1.0, 5.0], [3.0, 2.0]]]), 2, return_indices=True)
    (Tensor([[[5.]]], dtype=float32), Tensor([[[1]]], dtype=int64))
    """
    return _pooling.MaxPool2d(kernel_size, stride, padding, dilation, return_indices, ceil_mode)(input)


def max_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """As `max_pool2d`, of [batch, channels, depth, height, width]."""
    return _pooling.MaxPool3d(kernel_size, stride, padding, dilation, return_indices, ceil_mode)(input)


def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of [batch, channels, length]."""
    return _pooling.AvgPool1d(kernel_size, stride, padding, ceil_mode, count_include_pad)(input)


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of [batch, channels, height, width]; or its sum over `divisor_override`."""
    options = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _pooling.AvgPool2d(*options)(input)


def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """As `avg_pool2d`, of [batch, channels, depth, height, width]."""
    options = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _pooling.AvgPool3d(*options)(input)


def lp_pool1d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-th root of the sum of the p-th powers of each window of [batch, channels, length]; of a sum below 0, 0."""
    return _pooling.LPPool1d(norm_type, kernel_size, stride, ceil_mode)(input)


def lp_pool2d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """As `lp_pool1d`, of [batch, channels, height, width]."""
    return _pooling.LPPool2d(norm_type, kernel_size, stride, ceil_mode)(input)


def lp_pool3d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """As `lp_pool1d`, of [batch, channels, depth, height, width]."""
    return _pooling.LPPool3d(norm_type, kernel_size, stride, ceil_mode)(input)


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """The means of as many windows as `output_size` says, of [batch, channels, length]."""
    return _pooling.AdaptiveAvgPool1d(output_size)(input)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """The means of as many windows as `output_size` says along each axis (None: as many as it has points)."""
    return _pooling.AdaptiveAvgPool2d(output_size)(input)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """As `adaptive_avg_pool2d`, of [batch, channels, depth, height, width]."""
    return _pooling.AdaptiveAvgPool3d(output_size)(input)


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The greatest elements of as many windows as `output_size` says; with `return_indices` also where they stand."""
    return _pooling.AdaptiveMaxPool1d(output_size, return_indices)(input)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """As `adaptive_max_pool1d`, of [batch, channels, height, width]."""
    return _pooling.AdaptiveMaxPool2d(output_size, return_indices)(input)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """As `adaptive_max_pool1d`, of [batch, channels, depth, height, width]."""
    return _pooling.AdaptiveMaxPool3d(output_size, return_indices)(input)


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The elements of `max_pool1d(return_indices=True)` at their places again, and zeros elsewhere."""
    return _unpooling.MaxUnpool1d(kernel_size, stride, padding)(input, indices, output_size)


def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The elements of `max_pool2d(return_indices=True)` at their places again, and zeros elsewhere."""
    return _unpooling.MaxUnpool2d(kernel_size, stride, padding)(input, indices, output_size)


def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The elements of `max_pool3d(return_indices=True)` at their places again, and zeros elsewhere."""
    return _unpooling.MaxUnpool3d(kernel_size, stride, padding)(input, indices, output_size)
