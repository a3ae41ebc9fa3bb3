"""What places the points of images elsewhere: padding, other sizes, blocks, and grids; by torch's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _errors, _functions, _intaglio
from .. import _bags, _pooling
from .._resizing import affine_grid, grid_sample, interpolate

Tensor = _intaglio.Tensor

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "fold",
    "grid_sample",
    "interpolate",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "unfold",
    "upsample",
]

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements in front of and behind the last axes: `pad` has two numbers for each, the last axis first.

    Numbers below 0 cut elements off. `mode` "constant" puts `value` there (0 unless it is said), "reflect" the elements
    mirrored at the edge, "replicate" the one at the edge, "circular" those of the other end.

    Error: `ig.ValueError` for an unknown mode, or for numbers that are no pairs of the array's axes.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> F.pad(ig.asarray([[1.0, 2.0, 3.0]]), (-1, 2, 0, 1)).tolist()
    [[2.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    x, pairs = _functions._array(input), tuple(pad)
    if mode not in _MODES:
        raise _errors.ValueError(
            f"pad: mode is {mode!r}",
            _intaglio._user_line(),
            why="it says what stands around the elements",
            hint=f"choose one of {', '.join(map(repr, _MODES))}",
        )
    if len(pairs) % 2 or len(pairs) > 2 * x.ndim:
        raise _errors.ValueError(
            f"pad: {len(pairs)} numbers are given for an array of {x.ndim} axes",
            _intaglio._user_line(),
            why="there are two for each axis, in front and behind; the last axis comes first",
            hint="give (left, right), (left, right, top, bottom), and so on",
        )
    if mode != "constant" and value:
        raise _errors.ValueError(
            f"pad: a value of {value} with mode={mode!r}",
            _intaglio._user_line(),
            why="the elements around are then those of the array",
            hint="leave the value out, or choose mode='constant'",
        )
    return _pooling.padded(x, pairs, _MODES[mode], 0.0 if value is None else value)


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate` by its older name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The blocks of images [batch, channels, height, width] as columns [batch, channels * block, places]."""
    return _bags.Unfold(kernel_size, dilation, padding, stride)(_functions._array(input))


def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns of `unfold` back at their places in images, added up where blocks overlap."""
    return _bags.Fold(output_size, kernel_size, dilation, padding, stride)(_functions._array(input))


def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """[..., channels * r², height, width] to [..., channels, height * r, width * r]."""
    return _pooling.PixelShuffle(upscale_factor)(_functions._array(input))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`: each square of r² points becomes as many channels."""
    return _pooling.PixelUnshuffle(downscale_factor)(_functions._array(input))


def channel_shuffle(input: Any, groups: int) -> Tensor:
    """The channels of [batch, channels, space...] in another order: of each of `groups` groups one in turn."""
    return _pooling.ChannelShuffle(groups)(_functions._array(input))
