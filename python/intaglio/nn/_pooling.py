"""Layers that fold or place the points of images [batch, channels, space...]: pooling, padding, shuffling."""

from __future__ import annotations

import math
from typing import Any

from .. import _errors, _functions, _intaglio
from ._layers import _each, in_a_batch
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

    def forward(self, x: Tensor) -> Any:
        return in_a_batch(x, self.rank, type(self).__name__, self._pooled)

    def _pooled(self, x: Tensor) -> Any:
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

    def _pooled(self, x: Tensor) -> Any:
        return max_pool_with_indices(x, **self.windows()) if self.return_indices else super()._pooled(x)


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

    def _pooled(self, x: Tensor) -> Any:
        if math.isinf(self.norm_type):
            sign = 1 if self.norm_type > 0 else -1
            return _fn["max_pool"](_fn["abs"](x) * sign, **self.windows()) * sign
        p = int(self.norm_type) if self.norm_type == int(self.norm_type) else self.norm_type
        mean = super()._pooled(x**p)
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

    def forward(self, x: Tensor) -> Any:
        return in_a_batch(x, self.rank, type(self).__name__, self._pooled)

    def _pooled(self, x: Tensor) -> Any:
        # Axes of which one place is left are folded at once: one walk over the image.
        whole = tuple(axis for axis, size in enumerate(self.output_size, start=2) if size == 1)
        if whole:
            x = _fn[self.fold](x, axis=whole, keepdims=True)
        for axis, size in enumerate(self.output_size, start=2):
            if size not in (None, 1):
                x = self._folded(x, axis, size)
        return x

    def _folded(self, x: Tensor, axis: int, size: int) -> Tensor:
        """Place i is folded of the elements from floor(i n / size) up to ceil((i + 1) n / size)."""
        n = int(x.shape[axis])
        if n == size:
            return x
        if n % size == 0:
            return _fn[self.fold](x.reshape((*x.shape[:axis], size, n // size, *x.shape[axis + 1 :])), axis=axis + 1)
        front = (slice(None),) * axis
        parts = [x[(*front, slice(i * n // size, -(-(i + 1) * n // size)))] for i in range(size)]
        return _functions.concat([_fn[self.fold](part, axis=axis, keepdims=True) for part in parts], axis=axis)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(_AdaptivePool):
    """With `return_indices` the pair of the elements and their places among the points of their channel."""

    fold = "max"

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def _pooled(self, x: Tensor) -> Any:
        if not self.return_indices:
            return super()._pooled(x)
        space = tuple(x.shape[2:])
        at = _fn["broadcast_to"](_functions.arange(math.prod(space)).reshape(space), shape=tuple(x.shape))
        # The last axis first, so that of equal elements the first one in the order of places is found.
        for axis, size in reversed([*enumerate(self.output_size, start=2)]):
            if size is not None:
                n = int(x.shape[axis])
                front = (slice(None),) * axis
                found = [(*front, slice(i * n // size, -(-(i + 1) * n // size))) for i in range(size)]
                best = [_fn["expand_dims"](_fn["argmax"](x[part], axis=axis), axis=axis) for part in found]
                x, at = (
                    _functions.concat(
                        [_fn["take_along_axis"](y[part], b, axis=axis) for part, b in zip(found, best, strict=True)],
                        axis=axis,
                    )
                    for y in (x, at)
                )
        return x, at


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


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The greatest elements of as many windows as `output_size` says, over [batch, channels, length]."""

    rank = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The greatest elements of as many windows as `output_size` says along each axis."""

    rank = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """As AdaptiveMaxPool2d, over [batch, channels, depth, height, width]."""

    rank = 3


def padded(x: Any, pairs: tuple[int, ...], mode: str, value: float) -> Tensor:
    """With elements in front of and behind the last axes: the pair of the last one comes first. Below 0 it cuts off."""
    x = _functions._array(x)
    width = [(0, 0)] * (x.ndim - len(pairs) // 2) + [pairs[i : i + 2] for i in range(len(pairs) - 2, -1, -2)]
    if mode == "constant":
        return _fn["pad"](x, tuple(width), constant_values=value)
    around = tuple((max(low, 0), max(high, 0)) for low, high in width)
    if min(pairs, default=0) >= 0:
        return _fn["pad"](x, around, mode=mode)

    def cut(x: Tensor) -> Tensor:
        ends = zip(x.shape, width, strict=True)
        return x[tuple(slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in ends)]

    # As in torch: what goes round is what is left, while a mirror and an edge are those of the whole array.
    return _fn["pad"](cut(x), around, mode=mode) if mode == "wrap" else cut(_fn["pad"](x, around, mode=mode))


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
        return padded(x, self.padding, self.mode, self.value)

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


def _check_squares(who: str, what: str, factor: int, rest: Any) -> None:
    if rest:
        raise _errors.ShapeError(
            f"{who}: {what} do not fall into squares of {factor} by {factor} points",
            _intaglio._user_line(),
            why="as many channels as a square has points are one channel of the larger image",
            hint="choose a factor that divides them",
        )


class PixelShuffle(Module):
    """[..., channels * r², height, width] to [..., channels, height * r, width * r]. Shi et al. (2016)."""

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        *front, channels, height, width = x.shape
        r, n = self.upscale_factor, len(front)
        _check_squares("PixelShuffle", f"{channels} channels", r, channels % (r * r))
        split = x.reshape((*front, channels // (r * r), r, r, height, width))
        moved = _fn["permute_dims"](split, axes=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
        return moved.reshape((*front, channels // (r * r), height * r, width * r))

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The inverse of PixelShuffle: each square of r² points becomes as many channels."""

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = downscale_factor

    def forward(self, x: Tensor) -> Tensor:
        *front, channels, height, width = x.shape
        r, n = self.downscale_factor, len(front)
        _check_squares("PixelUnshuffle", f"{height} rows and {width} columns", r, height % r or width % r)
        split = x.reshape((*front, channels, height // r, r, width // r, r))
        moved = _fn["permute_dims"](split, axes=(*range(n), n, n + 2, n + 4, n + 1, n + 3))
        return moved.reshape((*front, channels * r * r, height // r, width // r))

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
