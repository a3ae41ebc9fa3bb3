"""Layers that fold or place the points of images [batch, channels, space...]: pooling, padding, scaling up."""

from __future__ import annotations

import math
from typing import Any

from .. import _errors, _functions, _intaglio
from ._layers import _each
from ._module import Module
from ._unpooling import max_pool_with_indices

Tensor = _intaglio.Tensor
_fn = _functions.functions


class _Pool(Module):
    rank = 0
    op = "max_pool"

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> None:
        who = type(self).__name__
        self.kernel_size = _each(kernel_size, self.rank, who)
        self.stride = self.kernel_size if stride is None else _each(stride, self.rank, who)
        self.padding = _each(padding, self.rank, who)
        self.dilation = _each(dilation, self.rank, who)
        self.ceil_mode = ceil_mode

    def windows(self) -> dict[str, Any]:
        """What the ops of pooling ask, by its name there."""
        names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
        return {name: getattr(self, name) for name in names}

    def forward(self, x: Tensor) -> Tensor:
        return _fn[self.op](x, **self.windows())

    def extra_repr(self) -> str:
        more = "".join(
            f", {name}={getattr(self, name)}"
            for name, usual in (("dilation", (1,) * self.rank), ("ceil_mode", False))
            if getattr(self, name) != usual
        )
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}{more}"


class _MaxPool(_Pool):
    """With `return_indices` the pair of the elements and their places, which `nn.MaxUnpool` takes."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, padding, dilation, ceil_mode)
        self.return_indices = return_indices

    def forward(self, x: Tensor) -> Any:
        return max_pool_with_indices(x, **self.windows()) if self.return_indices else super().forward(x)


class _AvgPool(_Pool):
    op = "avg_pool"

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode=ceil_mode)
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override
        if divisor_override == 0:
            raise _errors.ValueError(
                f"{type(self).__name__}: divisor_override is 0",
                _intaglio._user_line(),
                why="the sum of each window is divided by it",
                hint="give another number, or None for the size of the window",
            )

    def windows(self) -> dict[str, Any]:
        return {
            **super().windows(),
            "count_include_pad": self.count_include_pad,
            "divisor_override": self.divisor_override or 0,
        }


class MaxPool1d(_MaxPool):
    """The greatest element of each window of [batch, channels, length]."""

    rank = 1


class MaxPool2d(_MaxPool):
    """The greatest element of each window of [batch, channels, height, width]."""

    rank = 2


class MaxPool3d(_MaxPool):
    """The greatest element of each window of [batch, channels, depth, height, width]."""

    rank = 3


class AvgPool1d(_AvgPool):
    """The mean of each window of [batch, channels, length]."""

    rank = 1


class AvgPool2d(_AvgPool):
    """The mean of each window of [batch, channels, height, width]."""

    rank = 2


class AvgPool3d(_AvgPool):
    """The mean of each window of [batch, channels, depth, height, width]."""

    rank = 3


class _LPPool(_Pool):
    op = "avg_pool"

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__(kernel_size, stride, ceil_mode=ceil_mode)
        self.norm_type = norm_type

    def forward(self, x: Tensor) -> Tensor:
        p = int(self.norm_type) if self.norm_type == int(self.norm_type) else self.norm_type
        mean = super().forward(x**p)
        total = _fn["maximum"](mean, 0.0) * float(math.prod(self.kernel_size))
        if p == 1:
            return total
        # The root has no slope at 0: there the gradient is 0.
        some = total > 0
        safe = _fn["where"](some, total, 1.0)
        return _fn["where"](some, _fn["sqrt"](safe) if p == 2 else safe ** (1 / p), 0.0)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, {super().extra_repr()}"


class LPPool1d(_LPPool):
    """The p-th root of the sum of the p-th powers of each window of [batch, channels, length]; of a sum below 0, 0."""

    rank = 1


class LPPool2d(_LPPool):
    """The p-th root of the sum of the p-th powers of each window of [batch, channels, height, width]."""

    rank = 2


class LPPool3d(_LPPool):
    """The p-th root of the sum of the p-th powers of each window of [batch, channels, depth, height, width]."""

    rank = 3


class GlobalAvgPool(Module):
    """The mean over all spatial axes of [batch, channels, space...]: [batch, channels]."""

    def forward(self, x: Tensor) -> Tensor:
        return _fn["mean"](x, axis=tuple(range(2, x.ndim)))


class _AdaptivePool(Module):
    rank = 0
    fold = "mean"

    def __init__(self, output_size: Any) -> None:
        given = (output_size,) * self.rank if output_size is None or isinstance(output_size, int) else output_size
        self.output_size = tuple(given)
        _each([0 if size is None else size for size in self.output_size], self.rank, type(self).__name__)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim != self.rank + 2:
            raise _errors.ShapeError(
                f"{type(self).__name__} is given an array of rank {x.ndim}",
                _intaglio._user_line(),
                why=f"it folds the last {self.rank} axes of [batch, channels, space...]",
                hint="add a batch axis in front: x[None]",
            )
        for axis, size in enumerate(self.output_size, start=2):
            if size is not None:
                x = self._folded(x, axis, size)
        return x

    def _folded(self, x: Tensor, axis: int, size: int) -> Tensor:
        """Place i is folded of the elements from floor(i n / size) up to ceil((i + 1) n / size)."""
        if size == 1:
            return _fn[self.fold](x, axis=axis, keepdims=True)
        n = int(x.shape[axis])
        if n % size == 0:
            return _fn[self.fold](x.reshape((*x.shape[:axis], size, n // size, *x.shape[axis + 1 :])), axis=axis + 1)
        front = (slice(None),) * axis
        parts = [x[(*front, slice(i * n // size, -(-(i + 1) * n // size)))] for i in range(size)]
        return _functions.concat([_fn[self.fold](part, axis=axis, keepdims=True) for part in parts], axis=axis)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptivePool):
    """The means of as many windows as `output_size` says, over [batch, channels, length]."""

    rank = 1


class AdaptiveAvgPool2d(_AdaptivePool):
    """The means of as many windows as `output_size` says along each axis (None: as many as it has).

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> nn.AdaptiveAvgPool2d((3, None))(ig.ones((2, 4, 7, 5))).shape
    (2, 4, 3, 5)
    """

    rank = 2


class AdaptiveAvgPool3d(_AdaptivePool):
    """As AdaptiveAvgPool2d, over [batch, channels, depth, height, width]."""

    rank = 3


class AdaptiveMaxPool1d(_AdaptivePool):
    """The greatest elements of as many windows as `output_size` says, over [batch, channels, length]."""

    rank, fold = 1, "max"


class AdaptiveMaxPool2d(_AdaptivePool):
    """The greatest elements of as many windows as `output_size` says along each axis."""

    rank, fold = 2, "max"


class AdaptiveMaxPool3d(_AdaptivePool):
    """As AdaptiveMaxPool2d, over [batch, channels, depth, height, width]."""

    rank, fold = 3, "max"


class _Padding(Module):
    rank = 0
    mode = "constant"
    value = 0.0

    def __init__(self, padding: Any) -> None:
        count = 2 * self.rank
        self.padding = (padding,) * count if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != count:
            raise _errors.ValueError(
                f"{type(self).__name__}: {len(self.padding)} numbers are given for {self.rank} spatial axes",
                _intaglio._user_line(),
                why="there are two for each, in front and behind; the last axis comes first, as in torch",
                hint=f"give {count} numbers, or one for all",
            )

    def forward(self, x: Tensor) -> Tensor:
        pairs = [self.padding[2 * i : 2 * i + 2] for i in reversed(range(self.rank))]
        width = [(0, 0)] * (x.ndim - self.rank) + [tuple(pair) for pair in pairs]
        if self.mode == "constant":
            return _fn["pad"](x, width, constant_values=self.value)
        return _fn["pad"](x, width, mode=self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Padding):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value


def _padding(name: str, base: type[_Padding], rank: int, mode: str, what: str) -> type[Any]:
    made = type(name, (base,), {"rank": rank, "mode": mode, "__module__": "intaglio.nn"})
    made.__doc__ = f"{what} around the last {rank} axes; `padding` is (left, right, top, bottom, …), or one number."
    return made


ConstantPad1d, ConstantPad2d, ConstantPad3d = (
    _padding(f"ConstantPad{r}d", _ConstantPad, r, "constant", "A value") for r in (1, 2, 3)
)
ZeroPad1d, ZeroPad2d, ZeroPad3d = (_padding(f"ZeroPad{r}d", _Padding, r, "constant", "Zeros") for r in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (
    _padding(f"ReflectionPad{r}d", _Padding, r, "reflect", "The elements mirrored at the edge") for r in (1, 2, 3)
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (
    _padding(f"ReplicationPad{r}d", _Padding, r, "edge", "The elements at the edge, repeated,") for r in (1, 2, 3)
)
CircularPad1d, CircularPad2d, CircularPad3d = (
    _padding(f"CircularPad{r}d", _Padding, r, "wrap", "The elements of the other end") for r in (1, 2, 3)
)


class ChannelShuffle(Module):
    """The channels of [batch, channels, space...] in another order: of each of `groups` groups one in turn."""

    def __init__(self, groups: int) -> None:
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        batch, channels = x.shape[:2]
        if channels % self.groups:
            raise _errors.ShapeError(
                f"ChannelShuffle: {channels} channels do not fall into {self.groups} groups",
                _intaglio._user_line(),
                why="each group has as many channels as any other",
                hint="choose a number of groups that divides the channels",
            )
        split = x.reshape((batch, self.groups, channels // self.groups, *x.shape[2:]))
        return _fn["swapaxes"](split, 1, 2).reshape(x.shape)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class PixelShuffle(Module):
    """[batch, channels * r², height, width] to [batch, channels, height * r, width * r]. Shi et al. (2016)."""

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        r = self.upscale_factor
        split = x.reshape((batch, channels // (r * r), r, r, height, width))
        moved = _fn["permute_dims"](split, axes=(0, 1, 4, 2, 5, 3))
        return moved.reshape((batch, channels // (r * r), height * r, width * r))

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The inverse of PixelShuffle: each square of r² points becomes as many channels."""

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = downscale_factor

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        r = self.downscale_factor
        split = x.reshape((batch, channels, height // r, r, width // r, r))
        moved = _fn["permute_dims"](split, axes=(0, 1, 3, 5, 2, 4))
        return moved.reshape((batch, channels * r * r, height // r, width // r))

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class Upsample(Module):
    """The image with other spatial sizes: those of `size`, or its own times `scale_factor`. As in torch.

    `mode` "nearest" repeats elements; "linear", "bilinear" and "trilinear" interpolate along each axis, between centres
    of points, or with `align_corners` between the outermost points.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> nn.Upsample(scale_factor=2)(ig.asarray([[[1.0, 2.0]]]))
    Tensor([[[1., 1., 2., 2.]]], dtype=float32)
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool = False
    ) -> None:
        if (size is None) == (scale_factor is None):
            raise _errors.ValueError(
                "Upsample takes either size or scale_factor",
                _intaglio._user_line(),
                why="each of the two says how large the result is",
                hint="give one of them",
            )
        if mode not in ("nearest", "linear", "bilinear", "trilinear"):
            raise _errors.ValueError(
                f"Upsample: mode is {mode!r}",
                _intaglio._user_line(),
                why="it says what stands between the points",
                hint="choose 'nearest', 'linear', 'bilinear' or 'trilinear'",
            )
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners

    def forward(self, x: Tensor) -> Tensor:
        rank = x.ndim - 2
        scales: list[float | None]
        if self.scale_factor is None:
            sizes = [self.size] * rank if isinstance(self.size, int) else list(self.size)
            scales = [None] * rank
        else:
            one = isinstance(self.scale_factor, (int, float))
            factors = [self.scale_factor] * rank if one else list(self.scale_factor)
            sizes = [int(int(n) * factor) for n, factor in zip(x.shape[2:], factors, strict=True)]
            scales = [1 / factor for factor in factors]
        for axis, (size, scale) in enumerate(zip(sizes, scales, strict=True), start=2):
            n = int(x.shape[axis])
            step = n / size if scale is None else scale
            x = (
                self._nearest(x, axis, n, size, step)
                if self.mode == "nearest"
                else self._linear(x, axis, n, size, step)
            )
        return x

    def _nearest(self, x: Tensor, axis: int, n: int, size: int, step: float) -> Tensor:
        if size % n == 0 and step == n / size:
            return _functions.repeat(x, size // n, axis=axis)
        return _functions.take(x, [min(int(i * step), n - 1) for i in range(size)], axis=axis)

    def _linear(self, x: Tensor, axis: int, n: int, size: int, step: float) -> Tensor:
        if self.align_corners:
            step = (n - 1) / (size - 1) if size > 1 else 0.0
            at = [i * step for i in range(size)]
        else:
            at = [max((i + 0.5) * step - 0.5, 0.0) for i in range(size)]
        low = [min(int(a), n - 1) for a in at]
        high = [min(i + 1, n - 1) for i in low]
        shape = (size,) + (1,) * (x.ndim - axis - 1)
        share = _intaglio.asarray([a - i for a, i in zip(at, low, strict=True)], dtype=x.dtype).reshape(shape)
        return _functions.take(x, low, axis=axis) * (1 - share) + _functions.take(x, high, axis=axis) * share

    def extra_repr(self) -> str:
        given = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images by the nearest point."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images between the points, the corners of both images on one another."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)
