"""Folds of rows by the segment that each belongs to: `segment_sum` and its like, with JAX's names."""

from __future__ import annotations

from typing import Any

from . import _errors, _functions, _intaglio

Tensor = _intaglio.Tensor
_fn = _functions.functions


def _folded(who: str, data: Tensor, segment_ids: Tensor, num_segments: int | None, start: Any, how: str) -> Tensor:
    ids = _intaglio.asarray(segment_ids)
    if ids.ndim != 1 or data.ndim < 1 or ids.shape[0] != data.shape[0]:
        raise _errors.ShapeError(
            f"{who}: rows of an array of shape {tuple(data.shape)}, and segments of shape {tuple(ids.shape)}",
            _intaglio._user_line(),
            why="there is one segment for each slice of the first axis",
            hint="give an array of one axis, as long as the first axis of the data",
        )
    if num_segments is None:  # a number that depends on values: in a jitted function it is guarded
        num_segments = int(_fn["max"](ids)) + 1 if ids.shape[0] else 0
    out = _functions.full((num_segments, *data.shape[1:]), start, dtype=data.dtype)
    beyond = _fn["where"](ids < 0, num_segments, ids)  # a negative one is no segment, not one from the end
    return _intaglio._updated(out, beyond, data, how, "drop")


def segment_sum(data: Tensor, segment_ids: Tensor, num_segments: int | None = None) -> Tensor:
    """The sums of the slices data[i] of each segment: [num_segments, ...]; of a segment without any, 0.

    `segment_ids` says for each slice of the first axis to which segment it belongs; those outside of
    [0, num_segments) belong to none. Without `num_segments` it is one more than the greatest.

    >>> import intaglio as ig
    >>> ig.segment_sum(ig.asarray([1.0, 2.0, 4.0]), ig.asarray([0, 2, 0]), 4)
    Tensor([5., 0., 2., 0.], dtype=float32)
    """
    return _folded("segment_sum", data, segment_ids, num_segments, 0, "add")


def segment_prod(data: Tensor, segment_ids: Tensor, num_segments: int | None = None) -> Tensor:
    """The products of the slices of each segment, as `segment_sum`; of a segment without any, 1."""
    return _folded("segment_prod", data, segment_ids, num_segments, 1, "multiply")


def segment_max(data: Tensor, segment_ids: Tensor, num_segments: int | None = None) -> Tensor:
    """The greatest of the slices of each segment, as `segment_sum`; of a segment without any, the least number."""
    return _folded("segment_max", data, segment_ids, num_segments, _bound(data.dtype, least=True), "max")


def segment_min(data: Tensor, segment_ids: Tensor, num_segments: int | None = None) -> Tensor:
    """The least of the slices of each segment, as `segment_sum`; of a segment without any, the greatest number."""
    return _folded("segment_min", data, segment_ids, num_segments, _bound(data.dtype, least=False), "min")


def _bound(dtype: Any, least: bool) -> Any:
    if dtype.kind == "real floating":
        return -float("inf") if least else float("inf")
    info = _functions.iinfo(dtype)
    return info.min if least else info.max
