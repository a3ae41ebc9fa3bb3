"""Rows of a table folded by bags, and the blocks of images as columns: EmbeddingBag, Unfold, Fold."""

from __future__ import annotations

import math
from typing import Any

from .. import _errors, _functions, _intaglio, random
from ._layers import _each, _needs_key, shorten
from ._module import Module, Parameter

Tensor = _intaglio.Tensor
_fn = _functions.functions


def _check_mode(mode: str, who: str) -> None:
    if mode not in ("sum", "mean", "max"):
        raise _errors.ValueError(
            f"{who}: the mode is {mode!r}",
            _intaglio._user_line(),
            why="it says what becomes of the rows of a bag",
            hint="choose 'sum', 'mean' or 'max'",
        )


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    *,
    mode: str = "mean",
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Rows of `weight` [rows, features] by integer index, folded by bags: [bags, features]; see `nn.EmbeddingBag`.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> F.embedding_bag(ig.asarray([[0, 1], [1, 1]]), ig.asarray([[1.0], [3.0]])).tolist()
    [[2.0], [3.0]]
    """
    _check_mode(mode, "embedding_bag")
    input, weight = _functions._array(input), _functions._array(weight)
    if per_sample_weights is not None:
        shape = tuple(_functions._array(per_sample_weights).shape)
        if mode != "sum" or shape != tuple(input.shape):
            raise _errors.ValueError(
                f"EmbeddingBag: per_sample_weights of shape {shape} for indices of shape {tuple(input.shape)}, "
                f"mode {mode!r}",
                _intaglio._user_line(),
                why="each row is multiplied by its own weight and added up",
                hint="give weights of the indices' shape, with mode='sum'",
            )
    in_rows = input.ndim == 2 and offsets is None
    if not in_rows and (input.ndim != 1 or offsets is None):
        raise _errors.ShapeError(
            f"EmbeddingBag: indices of {input.ndim} axes {'without' if offsets is None else 'with'} offsets",
            _intaglio._user_line(),
            why="a bag is a row of indices [bags, length], or what lies between two offsets of one row",
            hint="give two axes, or one axis and offsets",
        )
    if max_norm is not None:
        shorten(weight, input, max_norm, norm_type, "embedding_bag")
    rows = _fn["embedding"](input, weight)
    if per_sample_weights is not None:
        rows = rows * _functions.astype(_functions._array(per_sample_weights), rows.dtype)[..., None]
    if padding_idx is None:
        counts = _functions.ones(input.shape, dtype="bool")
    else:
        counts = input != padding_idx % weight.shape[0]
    if in_rows:
        return _folded(mode, rows, counts)
    starts = _functions.astype(_functions._array(offsets), "int64")
    bags = starts.shape[0] - 1 if include_last_offset else starts.shape[0]
    bag = _fn["searchsorted"](starts[:bags], _functions.arange(input.shape[0]), side="right") - 1
    return _scattered(mode, rows, counts, bag, bags)


def _shares(counts: Tensor, total: Tensor, dtype: Any) -> Tensor:
    return total / _functions.astype(_fn["maximum"](counts, 1), dtype)[..., None]


def _folded(mode: str, rows: Tensor, counts: Tensor) -> Tensor:
    """Of rows [bags, length, features]."""
    there = counts[..., None]
    if mode == "max":
        some = _fn["any"](there, axis=1)
        if isinstance(rows.shape[1], int) and rows.shape[1] == 0:
            return _functions.zeros((rows.shape[0], rows.shape[2]), dtype=rows.dtype)
        greatest = _fn["max"](_fn["where"](there, rows, _functions.finfo(rows.dtype).min), axis=1)
        return _fn["where"](some, greatest, 0.0)
    total = _functions.sum(_fn["where"](there, rows, 0.0), axis=1)
    if mode == "sum":
        return total
    return _shares(_fn["count_nonzero"](counts, axis=1), total, rows.dtype)


def _scattered(mode: str, rows: Tensor, counts: Tensor, bag: Tensor, bags: Any) -> Tensor:
    """Of rows [indices, features], each of which belongs to a bag; what stands before the first to none."""
    counts = counts & (bag >= 0)
    there = counts[:, None]
    place = _fn["where"](counts, bag, bags)[:, None]  # one bag more for those that do not count
    fold = {
        "update_window_dims": [1],
        "inserted_window_dims": [0],
        "scatter_dims_to_operand_dims": [0],
        "index_vector_dim": 1,
    }
    many = (bags + 1, rows.shape[1])
    if mode == "max":
        # The first of the greatest elements of each bag alone gets the gradient.
        least = _functions.finfo(rows.dtype).min
        known = _fn["stop_gradient"](rows)
        room = _functions.full(many, least, dtype=rows.dtype)
        greatest = _functions._op.scatter(room, place, known, update="max", **fold)
        best = (known == _fn["embedding"](place[:, 0], greatest)) & there
        n = rows.shape[0]
        number = _fn["where"](best, _functions.arange(n)[:, None], n)
        first = _functions.full(many, n, dtype="int64")
        first = _functions._op.scatter(first, place, number, update="min", **fold)
        chosen = _fn["embedding"](place[:, 0], first) == _functions.arange(n)[:, None]
        rows = _fn["where"](chosen & there, rows, 0.0)
    room = _functions.zeros(many, dtype=rows.dtype)
    total = _functions._op.scatter(room, place, _fn["where"](there, rows, 0.0), update="add", **fold)[:-1]
    if mode != "mean":
        return total
    return _shares(_fn["bincount"](place[:, 0], length=bags), total, rows.dtype)


class EmbeddingBag(Module):
    """Rows of a table by integer index, folded by bags: their sum, mean or greatest elements, as in torch.

    Indices are [bags, length], or one row that `offsets` cuts: bag i begins at offsets[i] and ends where the next one
    begins. An empty bag gives zeros. Rows of the index `padding_idx` belong to no bag and get no gradient.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The sizes of the table.
    mode : "mean", "sum" or "max"
        What becomes of the rows of a bag.
    include_last_offset : bool
        Whether `offsets` ends with the number of indices.
    padding_idx : int
        The index that does not count; its row starts as zeros.
    max_norm, norm_type : float
        The rows that are read are first scaled down in place to this norm at most, as in `nn.functional.embedding`.

    Raises
    ------
    ValueError, ShapeError
        For an unknown mode; for offsets beside indices of two axes, or none beside one; for weights (of the indices'
        shape, for "sum" alone) that do not fit.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> bag = nn.EmbeddingBag(4, 2, mode="sum", key=ig.random.key(0)).load_state_dict({"weight": ig.ones((4, 2))})
    >>> bag(ig.asarray([0, 1, 2, 3]), ig.asarray([0, 3]))
    Tensor([[3., 3.],
            [1., 1.]], dtype=float32)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        *,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        _check_mode(mode, "EmbeddingBag")
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.include_last_offset, self.padding_idx = include_last_offset, padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        table = random.normal(_needs_key(key, "EmbeddingBag"), (num_embeddings, embedding_dim), dtype)
        if padding_idx is not None:
            table[padding_idx] = 0.0
        self.weight = Parameter(table)

    def forward(self, input: Tensor, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        return embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


class _Blocks(Module):
    """The geometry that Unfold and Fold share."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        who = type(self).__name__
        self.kernel_size, self.dilation = _each(kernel_size, 2, who), _each(dilation, 2, who)
        self.padding, self.stride = _each(padding, 2, who), _each(stride, 2, who)

    def _steps(self, sizes: Any) -> tuple[int, int]:
        """How many places a block takes along each axis of an image of these sizes."""
        steps = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, p, d, k, s in zip(sizes, self.padding, self.dilation, self.kernel_size, self.stride, strict=True)
        ]
        if any(n < 1 for n in steps):
            raise _errors.ShapeError(
                f"{type(self).__name__}: a block of {self.kernel_size} does not fit into an image of {tuple(sizes)}",
                _intaglio._user_line(),
                why=f"with the padding {self.padding} and the dilation {self.dilation} it takes more room",
                hint="choose a smaller kernel_size, or more padding",
            )
        return steps[0], steps[1]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Unfold(_Blocks):
    """The blocks of images [batch, channels, height, width] as columns [batch, channels * block, places], as in torch.

    Parameters
    ----------
    kernel_size, dilation, padding, stride : int or pair
        The sizes of a block, the distance of its points, the zeros around the image, and the distance of blocks.

    Raises
    ------
    ShapeError, ValueError
        Where the array has not three or four axes, a block does not fit, or a pair is none.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> nn.Unfold((2, 3))(ig.ones((1, 2, 3, 4))).shape
    (1, 12, 4)
    """

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (3, 4):
            raise _errors.ShapeError(
                f"Unfold: needs [batch, channels, height, width] or no batch, got an array of {x.ndim} axes",
                _intaglio._user_line(),
                why="blocks lie on the last two axes, the channels before them",
                hint="add the axes with x[None]",
            )
        if x.ndim == 3:
            return self.forward(x[None])[0]
        batch, channels = x.shape[:2]
        rows, columns = self._steps(x.shape[2:])
        x = _fn["pad"](x, ((0, 0), (0, 0), *((p, p) for p in self.padding)))
        (a, b), (c, d) = self.dilation, self.stride
        parts = [
            x[:, :, i * a : i * a + (rows - 1) * c + 1 : c, j * b : j * b + (columns - 1) * d + 1 : d]
            for i in range(self.kernel_size[0])
            for j in range(self.kernel_size[1])
        ]
        return _functions.stack(parts, axis=2).reshape((batch, channels * len(parts), rows * columns))


class Fold(_Blocks):
    """Columns [batch, channels * block, places] back at their places in images, added up where blocks overlap.

    It is the transpose of `Unfold`, as in torch.

    Parameters
    ----------
    output_size : int or pair
        The sizes of the images.
    kernel_size, dilation, padding, stride : int or pair
        Those of `Unfold`.

    Raises
    ------
    ShapeError, ValueError
        Where the columns are not those of such an image, or a pair is none.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> nn.Fold((3, 3), 2)(ig.ones((1, 4, 4)))[0, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = _each(output_size, 2, "Fold")

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 2:
            return self.forward(x[None])[0]
        rows, columns = self._steps(self.output_size)
        block = math.prod(self.kernel_size)
        if x.ndim != 3 or x.shape[1] % block or x.shape[2] != rows * columns:
            raise _errors.ShapeError(
                f"Fold: the columns have shape {tuple(x.shape)}, not [batch, {block} * channels, {rows * columns}]",
                _intaglio._user_line(),
                why=f"an image of {self.output_size} has {rows} times {columns} blocks of {block} points",
                hint="give what nn.Unfold with the same numbers gives",
            )
        channels = x.shape[1] // block
        x = x.reshape((x.shape[0], channels, *self.kernel_size, rows, columns))
        zero = _functions.zeros((), dtype=x.dtype)
        out: Any = None
        for i in range(self.kernel_size[0]):
            for j in range(self.kernel_size[1]):
                low, high, interior = [0, 0], [0, 0], [0, 0]
                for at, n, p, d, s, size in zip(
                    (i, j), (rows, columns), self.padding, self.dilation, self.stride, self.output_size, strict=True
                ):
                    low.append(at * d - p)
                    high.append(size - ((n - 1) * s + 1) - (at * d - p))
                    interior.append(s - 1)
                part = _functions._op.pad(x[:, :, i, j], zero, low=low, high=high, interior=interior)
                out = part if out is None else out + part
        result: Tensor = out
        return result

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
