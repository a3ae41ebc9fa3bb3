"""Pooling that says where its elements stood, and its way back; and a softmax over very many classes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _errors, _functions, _intaglio, random
from ._containers import ModuleList, Sequential
from ._layers import Linear, _each, _needs_key
from ._module import Module

Tensor = _intaglio.Tensor
_fn = _functions.functions


def max_pool_with_indices(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> tuple[Tensor, Tensor]:
    """The greatest element of each window, and where it stands among the points of its channel, counted in one row."""
    rank = len(kernel_size)
    front, space = tuple(x.shape[: x.ndim - rank]), tuple(x.shape[x.ndim - rank :])
    around = tuple((p, p + (s - 1 if ceil_mode else 0)) for p, s in zip(padding, stride, strict=True))
    least = _functions.finfo(x.dtype).min if x.dtype.kind == "real floating" else _functions.iinfo(x.dtype).min
    wide = _fn["pad"](x, ((0, 0),) * len(front) + around, constant_values=least)
    places = _fn["pad"](_functions.arange(math.prod(space)).reshape(space), around)
    # A window of padding alone has no place of its own; torch refuses it, and so does _fn["max_pool"].
    steps = []
    for n, p, k, s, d in zip(space, padding, kernel_size, stride, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        # As in the op: windows beyond the padding begin before it.
        steps.append(min(-(-room // s) + 1, -(-(n + p) // s)) if ceil_mode else room // s + 1)
    elements, numbers = [], []
    for offset in itertools.product(*(range(k) for k in kernel_size)):
        window = tuple(
            slice(o * d, o * d + (n - 1) * s + 1, s) for o, n, s, d in zip(offset, steps, stride, dilation, strict=True)
        )
        elements.append(wide[(slice(None),) * len(front) + window])
        numbers.append(places[window])
    stacked, at = _functions.stack(elements, axis=-1), _functions.stack(numbers, axis=-1)
    best = _functions.expand_dims(_fn["argmax"](stacked, axis=-1), axis=-1)
    at = _fn["broadcast_to"](at, shape=tuple(stacked.shape))
    return (
        _fn["take_along_axis"](stacked, best, axis=-1)[..., 0],
        _fn["take_along_axis"](at, best, axis=-1)[..., 0],
    )


class _MaxUnpool(Module):
    rank = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        who = type(self).__name__
        self.kernel_size = _each(kernel_size, self.rank, who)
        self.stride = self.kernel_size if stride is None else _each(stride, self.rank, who)
        self.padding = _each(padding, self.rank, who)

    def forward(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        if tuple(x.shape) != tuple(indices.shape) or x.ndim not in (self.rank + 1, self.rank + 2):
            raise _errors.ShapeError(
                f"{type(self).__name__}: the array has shape {tuple(x.shape)}, its indices {tuple(indices.shape)}",
                _intaglio._user_line(),
                why=f"each of the {self.rank} spatial axes comes behind the channels, and each element has its place",
                hint="give both results of the pooling with return_indices=True",
            )
        front, space = tuple(x.shape[: -self.rank]), tuple(x.shape[-self.rank :])
        if output_size is None:
            sizes = tuple(
                (n - 1) * s - 2 * p + k
                for n, s, p, k in zip(space, self.stride, self.padding, self.kernel_size, strict=True)
            )
        else:
            sizes = tuple(output_size)[-self.rank :]
        rows = math.prod(front)
        room = _functions.zeros((rows, math.prod(sizes)), dtype=x.dtype)
        out = _fn["put_along_axis"](room, indices.reshape((rows, -1)), x.reshape((rows, -1)), axis=1)
        return out.reshape((*front, *sizes))

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The elements of `MaxPool1d(return_indices=True)` at their places again, and zeros elsewhere.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> x = ig.asarray([[1.0, 3.0, 2.0, 0.0]])
    >>> nn.MaxUnpool1d(2)(*nn.MaxPool1d(2, return_indices=True)(x))
    Tensor([[0., 3., 2., 0.]], dtype=float32)
    """

    rank = 1


class MaxUnpool2d(_MaxUnpool):
    """The elements of `MaxPool2d(return_indices=True)` at their places again, and zeros elsewhere."""

    rank = 2


class MaxUnpool3d(_MaxUnpool):
    """The elements of `MaxPool3d(return_indices=True)` at their places again, and zeros elsewhere."""

    rank = 3


class Classified(NamedTuple):
    """What `AdaptiveLogSoftmaxWithLoss` gives: the log-probabilities of the labels, and their mean, negated."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """A log-softmax over classes in clusters, the frequent ones first. Grave et al. (2017); names are torch's.

    The head knows the first `cutoffs[0]` classes and one entry for each further cluster; the cluster i is seen through
    `in_features / div_value ** (i + 1)` features. All clusters are computed, so that the program does not depend on the
    labels.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, key=ig.random.key(0))
    >>> x = ig.ones((3, 8))
    >>> output, loss = layer(x, ig.asarray([1, 5, 19]))
    >>> bool(ig.allclose(ig.sum(ig.exp(layer.log_prob(x)), axis=1), ig.ones(3)))
    True
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        ends = [int(end) for end in cutoffs]
        if not ends or ends != sorted(set(ends)) or ends[0] < 1 or ends[-1] >= n_classes:
            raise _errors.ValueError(
                f"AdaptiveLogSoftmaxWithLoss: the cutoffs {list(cutoffs)} of {n_classes} classes",
                _intaglio._user_line(),
                why="each is where a cluster of classes ends, the last one being n_classes",
                hint="give ascending numbers from 1 to n_classes - 1",
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*ends, n_classes]
        self.div_value = div_value
        clusters = len(ends)
        keys = random.split(_needs_key(key, "AdaptiveLogSoftmaxWithLoss"), 1 + 2 * clusters)
        self.head = Linear(in_features, ends[0] + clusters, head_bias, key=keys[0], dtype=dtype)
        tail = []
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            features = int(in_features // div_value ** (i + 1))
            first = Linear(in_features, features, False, key=keys[1 + 2 * i], dtype=dtype)
            tail.append(Sequential(first, Linear(features, high - low, False, key=keys[2 + 2 * i], dtype=dtype)))
        self.tail = ModuleList(tail)

    def log_prob(self, x: Tensor) -> Tensor:
        """The log-probabilities of all classes."""
        head = _fn["log_softmax"](self.head(x), axis=-1)
        short = self.cutoffs[0]
        parts = [head[..., :short]]
        for i, cluster in enumerate(self.tail):
            parts.append(_fn["log_softmax"](cluster(x), axis=-1) + head[..., short + i : short + i + 1])
        return _functions.concat(parts, axis=-1)

    def predict(self, x: Tensor) -> Tensor:
        """The likeliest class."""
        return _fn["argmax"](self.log_prob(x), axis=-1)

    def forward(self, x: Tensor, target: Tensor) -> Classified:
        index = _functions.expand_dims(target, axis=-1)
        output = _fn["take_along_axis"](self.log_prob(x), index, axis=-1)[..., 0]
        return Classified(output, -_fn["mean"](output))

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.n_classes}, cutoffs={self.cutoffs[:-1]}"
