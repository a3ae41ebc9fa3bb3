"""Images with other sizes, and images seen at other places: interpolation, and sampling by a grid of coordinates."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from .. import _errors, _functions, _intaglio
from ._module import Module
from ._pooling import AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d

Tensor = _intaglio.Tensor
_fn = _functions.functions

# How many spatial axes a mode is for; None: one to three.
_MODES = {
    "nearest": None,
    "nearest-exact": None,
    "area": None,
    "linear": 1,
    "bilinear": 2,
    "bicubic": 2,
    "trilinear": 3,
}


def _check(size: Any, scale_factor: Any, mode: str, who: str) -> None:
    if (size is None) == (scale_factor is None):
        raise _errors.ValueError(
            f"{who} takes either size or scale_factor",
            _intaglio._user_line(),
            why="each of the two says how large the result is",
            hint="give one of them",
        )
    if mode not in _MODES:
        raise _errors.ValueError(
            f"{who}: mode is {mode!r}",
            _intaglio._user_line(),
            why="it says what stands between the points",
            hint=f"choose one of {', '.join(map(repr, _MODES))}",
        )


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """[batch, channels, space...] with other spatial sizes: those of `size`, or its own times `scale_factor`.

    `mode` "nearest" repeats elements ("nearest-exact" counts from the centres of points); "linear", "bilinear",
    "trilinear" and "bicubic" interpolate along each axis, between centres of points, or with `align_corners` between
    the outermost points; "area" takes means. With `antialias`, "bilinear" and "bicubic" take in all points under an
    output's point where they make an image smaller. `recompute_scale_factor` takes the scale from the sizes.

    Error: `ig.ValueError` for an unknown mode or for options that it has not; `ig.ShapeError` for another rank than
    the mode's.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> F.interpolate(ig.asarray([[[1.0, 2.0]]]), scale_factor=2, mode="linear")
    Tensor([[[  1., 1.25, 1.75,   2.]]], dtype=float32)
    """
    x = _functions._array(input)
    _check(size, scale_factor, mode, "interpolate")
    rank, wanted = x.ndim - 2, _MODES[mode]
    if not 1 <= rank <= 3 or wanted not in (None, rank):
        raise _errors.ShapeError(
            f"interpolate: an array of {x.ndim} axes for the mode {mode!r}",
            _intaglio._user_line(),
            why=f"it is for {wanted or '1 to 3'} spatial axes behind [batch, channels]",
            hint="choose the mode for the rank: 'linear', 'bilinear' or 'trilinear'; or add axes with x[None]",
        )
    if (wanted is None and align_corners is not None) or (antialias and mode not in ("bilinear", "bicubic")):
        raise _errors.ValueError(
            f"interpolate: {'antialias' if antialias else 'align_corners'} is no option of the mode {mode!r}",
            _intaglio._user_line(),
            why="align_corners is one of the linear and cubic modes, antialias of 'bilinear' and 'bicubic'",
            hint="leave it out, or choose another mode",
        )
    sizes, scales = _sizes(x, size, scale_factor, bool(recompute_scale_factor))
    if min(*sizes, *(int(n) for n in x.shape[2:])) < 1:
        raise _errors.ShapeError(
            f"interpolate: from the sizes {tuple(x.shape[2:])} to {tuple(sizes)}",
            _intaglio._user_line(),
            why="each point of the result is seen at a place among the points that are there",
            hint="give sizes, or factors, that leave one point or more",
        )
    if mode == "area":
        return (AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d)[rank - 1](sizes)(x)
    for axis, (wide, scale) in enumerate(zip(sizes, scales, strict=True), start=2):
        n = int(x.shape[axis])
        step = n / wide if scale is None else scale
        if mode.startswith("nearest"):
            x = _nearest(x, axis, n, wide, step, 0.5 if mode == "nearest-exact" else 0.0)
            continue
        if align_corners:
            step = (n - 1) / (wide - 1) if wide > 1 else 0.0
        if wide == n and (antialias or mode != "bicubic"):
            continue  # as in torch, also where a factor would set the points elsewhere
        if antialias:
            x = _folded(x, axis, n, wide, step, mode == "bicubic")
        elif mode == "bicubic":
            x = _cubic(x, axis, n, wide, step, bool(align_corners))
        else:
            x = _linear(x, axis, n, wide, step, bool(align_corners))
    return x


def _sizes(x: Tensor, size: Any, scale_factor: Any, anew: bool) -> tuple[list[int], list[float | None]]:
    """The sizes of the result, and how far apart its points are in the given image, where a factor says it."""
    rank = x.ndim - 2
    given = size if scale_factor is None else scale_factor
    listed = list(given) if isinstance(given, Iterable) else [given] * rank
    if len(listed) != rank:
        raise _errors.ValueError(
            f"interpolate: {len(listed)} numbers are given for {rank} spatial axes",
            _intaglio._user_line(),
            why="there is one for each spatial axis",
            hint=f"give {rank} numbers, or one for all",
        )
    if scale_factor is None:
        return [int(n) for n in listed], [None] * rank
    factors = [float(factor) for factor in listed]
    sizes = [int(int(n) * factor) for n, factor in zip(x.shape[2:], factors, strict=True)]
    return sizes, [None if anew else 1 / factor for factor in factors]


def _single(value: float) -> float:
    """Rounded to float32, in which torch finds the nearest points: where two are as near, the rounding chooses."""
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


def _nearest(x: Tensor, axis: int, n: int, size: int, step: float, shift: float) -> Tensor:
    if size % n == 0 and step == n / size:
        return _functions.repeat(x, size // n, axis=axis)
    step = _single(step)
    return _functions.take(x, [min(int(_single((i + shift) * step)), n - 1) for i in range(size)], axis=axis)


def _mixed(x: Tensor, axis: int, places: list[list[int]], shares: list[list[float]]) -> Tensor:
    """The sum over the taps of the elements at their places, times their shares."""
    shape = (len(places[0]),) + (1,) * (x.ndim - axis - 1)
    out: Any = None
    for place, share in zip(places, shares, strict=True):
        part = _functions.take(x, place, axis=axis) * _intaglio.asarray(share, dtype=x.dtype).reshape(shape)
        out = part if out is None else out + part
    result: Tensor = out
    return result


def _linear(x: Tensor, axis: int, n: int, size: int, step: float, aligned: bool) -> Tensor:
    at = [i * step if aligned else max((i + 0.5) * step - 0.5, 0.0) for i in range(size)]
    low = [min(int(a), n - 1) for a in at]
    high = [min(i + 1, n - 1) for i in low]
    share = [a - i for a, i in zip(at, low, strict=True)]
    return _mixed(x, axis, [low, high], [[1 - s for s in share], share])


def _cubic_shares(t: Any, a: float = -0.75) -> list[Any]:
    """Of the four points around a place that is `t` behind the second one. Keys (1981)."""

    def near(d: Any) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(x: Tensor, axis: int, n: int, size: int, step: float, aligned: bool) -> Tensor:
    at = [i * step if aligned else (i + 0.5) * step - 0.5 for i in range(size)]
    shares = [_cubic_shares(a - math.floor(a)) for a in at]
    places = [[min(max(math.floor(a) + tap - 1, 0), n - 1) for a in at] for tap in range(4)]
    return _mixed(x, axis, places, [[share[tap] for share in shares] for tap in range(4)])


def _folded(x: Tensor, axis: int, n: int, size: int, step: float, cubic: bool) -> Tensor:
    """By a matrix whose rows weigh the points under each of the new ones."""

    def weight(d: float) -> float:
        d = abs(d)
        if not cubic:
            return max(1 - d, 0.0)
        shares = _cubic_shares(d % 1, -0.5)
        return float(shares[1] if d < 1 else shares[0] if d < 2 else 0.0)

    wide = max(step, 1.0)
    rows = []
    for i in range(size):
        centre, reach = step * (i + 0.5), (2 if cubic else 1) * wide
        low, high = max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), n)
        row = [weight((j - centre + 0.5) / wide) if low <= j < high else 0.0 for j in range(n)]
        rows.append([w / sum(row) for w in row])
    matrix = _intaglio.asarray(rows, dtype=x.dtype)
    return _fn["moveaxis"](_fn["linear"](_fn["moveaxis"](x, (axis,), (-1,)), matrix), (-1,), (axis,))


class Upsample(Module):
    """`nn.functional.interpolate` as a module: images with other spatial sizes.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> nn.Upsample(scale_factor=2)(ig.asarray([[[1.0, 2.0]]]))
    Tensor([[[1., 1., 2., 2.]]], dtype=float32)
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        _check(size, scale_factor, mode, "Upsample")
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, x: Tensor) -> Tensor:
        options = (self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)
        return interpolate(x, *options)

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


# --- by a grid -------------------------------------------------------------------------------------------------------


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Where the points of images of `size` lie under affine maps: what `grid_sample` takes.

    `theta` is [batch, 2, 3] for images of the size (batch, channels, height, width): [batch, height, width, 2]; or
    [batch, 3, 4] for volumes. Coordinates go from -1 to 1, x first: between the outer edges of the image, or with
    `align_corners` between the centres of its outermost points.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> F.affine_grid(ig.asarray([[[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2))
    Tensor([[[[-1.,  0.],
              [ 1.,  0.]]]], dtype=float32)
    """
    theta = _functions._array(theta)
    space = tuple(size)[2:]
    rank = len(space)
    if rank not in (2, 3) or tuple(theta.shape) != (size[0], rank, rank + 1):
        raise _errors.ShapeError(
            f"affine_grid: theta of shape {tuple(theta.shape)} for images of the size {tuple(size)}",
            _intaglio._user_line(),
            why="each image has a matrix of its own, [2, 3] for two spatial axes and [3, 4] for three",
            hint="give theta as [batch, 2, 3], and the size as (batch, channels, height, width)",
        )
    axes: list[Tensor] = []
    for n in space:
        edge = 0.0 if n <= 1 else 1.0 if align_corners else (n - 1) / n
        axes.append(_functions.linspace(-edge, edge, n, dtype=theta.dtype))
    points = [_fn["broadcast_to"](p, shape=space) for p in _functions.meshgrid(*axes, indexing="ij")]
    base = _functions.stack([*reversed(points), _functions.ones(space, dtype=theta.dtype)], axis=-1)
    flat = _fn["matmul"](base.reshape((1, math.prod(space), rank + 1)), theta.mT)
    return flat.reshape((size[0], *space, rank))


_PADS = ("zeros", "border", "reflection")


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Images [batch, channels, height, width] seen at the places of `grid` [batch, rows, columns, 2]; or volumes.

    Coordinates are those of `affine_grid`: x first, from -1 to 1. `mode` "bilinear" mixes the points around a place,
    "nearest" takes one, and "bicubic" (of images alone) mixes sixteen. Outside of the image stand zeros, with the
    padding mode "border" its outermost points, with "reflection" the image mirrored.

    Error: `ig.ValueError` for an unknown mode; `ig.ShapeError` where image and grid do not fit.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> image = ig.asarray([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> F.grid_sample(image, ig.asarray([[[[0.0, 0.0], [1.0, -1.0]]]]), align_corners=True)
    Tensor([[[[2.5,  2.]]]], dtype=float32)
    """
    x, grid = _functions._array(input), _functions._array(grid)
    rank = x.ndim - 2
    modes = ("bilinear", "nearest", "bicubic") if rank == 2 else ("bilinear", "nearest")
    for name, given, known in (("mode", mode, modes), ("padding_mode", padding_mode, _PADS)):
        if given not in known:
            raise _errors.ValueError(
                f"grid_sample: {name} is {given!r}, for {rank} spatial axes",
                _intaglio._user_line(),
                why="it says how an image is seen between its points, and outside of it",
                hint=f"choose one of {', '.join(map(repr, known))}",
            )
    if rank not in (2, 3) or grid.ndim != rank + 2 or grid.shape[-1] != rank or grid.shape[0] != x.shape[0]:
        raise _errors.ShapeError(
            f"grid_sample: a grid of shape {tuple(grid.shape)} for images of shape {tuple(x.shape)}",
            _intaglio._user_line(),
            why="the grid has a pair of coordinates for each place in each image, or three in each volume",
            hint="give [batch, channels, height, width] and [batch, rows, columns, 2]",
        )
    aligned, space = bool(align_corners), [int(n) for n in x.shape[2:]]
    places = []
    for i, n in enumerate(space):
        c = grid[..., rank - 1 - i].reshape((grid.shape[0], -1))
        places.append((c + 1) * (0.5 * (n - 1)) if aligned else ((c + 1) * n - 1) * 0.5)
    if mode != "bicubic":
        places = [_inside(at, n, padding_mode, aligned) for at, n in zip(places, space, strict=True)]
    taps: list[list[tuple[Tensor, Any]]] = []  # for each axis the places along it, with their shares
    for at in places:
        if mode == "nearest":
            taps.append([(_fn["round"](at), 1.0)])
            continue
        low = _fn["stop_gradient"](_fn["floor"](at))
        shares = [1 - (at - low), at - low] if mode == "bilinear" else _cubic_shares(at - low)
        first = 0 if mode == "bilinear" else -1
        taps.append([(low + (first + k), share) for k, share in enumerate(shares)])
    if mode == "bicubic":
        taps = [
            [(_inside(at, n, padding_mode, aligned), share) for at, share in own]
            for own, n in zip(taps, space, strict=True)
        ]
    flat = x.reshape((*x.shape[:2], math.prod(space)))
    out: Any = None
    for chosen in itertools.product(*taps):
        index: Any = 0
        share: Any = 1.0
        for (at, part), n in zip(chosen, space, strict=True):
            at = _fn["stop_gradient"](at)
            share = share * part
            if padding_mode == "zeros":
                share = _fn["where"]((at >= 0) & (at <= n - 1), share, 0.0)
            index = index * n + _functions.astype(_fn["clip"](at, 0, n - 1), "int64")
        wide = _fn["broadcast_to"](index[:, None], shape=(*x.shape[:2], index.shape[1]))
        seen = _fn["take_along_axis"](flat, wide, axis=2)
        if isinstance(share, Tensor):  # not the one point of "nearest", which is inside
            seen = seen * _functions.astype(share, x.dtype)[:, None]
        out = seen if out is None else out + seen
    return out.reshape((*x.shape[:2], *grid.shape[1:-1]))


def _inside(at: Tensor, n: int, padding_mode: str, aligned: bool) -> Tensor:
    """Places brought back into an axis of `n` points."""
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if aligned else (-0.5, float(n))
        if not span:
            return _functions.zeros_like(at)
        beyond = _fn["abs"](at - low)
        turns = _fn["stop_gradient"](_fn["floor"](beyond / span))
        rest = beyond - turns * span
        at = _fn["where"](turns % 2 == 0, rest, span - rest) + low
    return _fn["clip"](at, 0, n - 1)
