"""Places in arrays as NumPy names them: choosing and putting by index, grids and index objects.

Arrays are values: what writes into its argument in NumPy gives a new array here (`ig.put`, `ig.place`), and binds the
handle to it where it is called by NumPy's name (`np.put`).
"""

from __future__ import annotations

import builtins
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

from . import _errors, _functions, _intaglio
from ._functions import _array, _axis, _promoted, _sizes, arange, astype, concat, ravel
from ._numpy_sets import _truth, nonzero

Tensor = _intaglio.Tensor
functions: dict[str, Any] = _intaglio.functions


def _by_mode(index: Tensor, size: Any, mode: str, who: str) -> Tensor:
    if mode == "wrap":
        return index % size
    if mode == "clip":
        return functions["clip"](index, 0, size - 1)
    if mode != "raise":
        raise _errors.ValueError(
            f"{who}: the mode is {mode!r}",
            _intaglio._user_line(),
            why="it says what becomes of an index out of range",
            hint="choose 'raise', 'wrap' or 'clip'",
        )
    return index


def choose(x: Any, choices: Any, /, mode: str = "raise") -> Tensor:
    """At each place the element of that choice whose number stands in `x`; all broadcast together."""
    parts = [choices[i] for i in range(len(choices))] if isinstance(choices, Tensor) else list(choices)
    wide = _functions.broadcast_arrays(_array(x), *_promoted(parts, "choose"))
    index = _by_mode(wide[0], len(parts), mode, "choose")
    grid = [_functions._op.iota(shape=index.shape, dtype="int64", axis=axis) for axis in range(index.ndim)]
    return _functions.stack(list(wide[1:]), axis=0)[(index, *grid)]


def _repeated(values: Any, count: Any, dtype: Any) -> Tensor:
    """So many values, from the front again where there are fewer."""
    row = astype(ravel(_array(values)), dtype)
    return functions["take"](row, arange(count) % row.shape[0], axis=0)


def put(x: Any, indices: Any, values: Any, /, mode: str = "raise") -> Tensor:
    """The array with `values` at these places, all elements counted in one row; they repeat where they are too few."""
    x = _array(x)
    index = _by_mode(ravel(_array(indices)), x.size, mode, "put")
    flat = _intaglio._handle(ravel(x))
    if not (isinstance(index.shape[0], int) and index.shape[0] == 0):
        flat[index] = _repeated(values, index.shape[0], x.dtype)
    return flat.reshape(x.shape)


def place(x: Any, mask: Any, values: Any, /) -> Tensor:
    """The array with `values`, one after another, where the mask is true; they repeat where they are too few."""
    x, chosen = _array(x), ravel(astype(_array(mask), "bool"))
    row = astype(ravel(_array(values)), x.dtype)
    if isinstance(row.shape[0], int) and row.shape[0] == 0:
        raise _errors.ValueError(
            "place: there are no values",
            _intaglio._user_line(),
            why="an element where the mask is true takes the next one",
            hint="give one value or more",
        )
    count = _functions.cumulative_sum(astype(chosen, "int64"), axis=0) - 1
    new = functions["take"](row, count % row.shape[0], axis=0)  # before the first it is the last one, which is not used
    return functions["where"](chosen, new, ravel(x)).reshape(x.shape)


def putmask(x: Any, mask: Any, values: Any, /) -> Tensor:
    """The array with the values of the same places where the mask is true; they repeat where they are too few."""
    x = _array(x)
    return functions["where"](astype(_array(mask), "bool"), _repeated(values, x.size, x.dtype).reshape(x.shape), x)


def copyto(x: Any, source: Any, /, where: Any = True) -> Tensor:
    """The array with the elements of `source`, which is broadcast, where `where` is true."""
    x = _array(x)
    new = functions["broadcast_to"](astype(_array(source), x.dtype), shape=x.shape)
    return functions["where"](astype(_array(where), "bool"), new, x)


def put_along_axis(x: Any, indices: Any, values: Any, /, axis: int) -> Tensor:
    """The array with `values` at these places along an axis; what `take_along_axis` reads."""
    x, index = _array(x), _array(indices)
    place = _axis(axis, x.ndim, "put_along_axis")
    if index.ndim == x.ndim:  # other axes of one element stand for any number
        sizes = zip(index.shape, x.shape, strict=True)
        shape = tuple(n if a == place or m == 1 else m for a, (n, m) in enumerate(sizes))
        index = functions["broadcast_to"](index, shape=shape)
    iota = _functions._op.iota
    grid: list[Any] = [
        index if a == place else 0 if size == 1 else iota(shape=index.shape, dtype="int64", axis=a)
        for a, size in enumerate(x.shape)
    ]
    out = _intaglio._handle(x)
    out[tuple(grid)] = astype(_array(values), x.dtype)
    return out


def _check_range(index: Tensor, size: Any, who: str) -> None:
    """Raises where an index is out of range, captured too: then on each call."""
    _intaglio._effect_check(
        (index >= 0) & (index < size),
        f"{who}: the index {{0}} is out of range for a size of {size}",
        "positions count from 0",
        f"give indices from 0 to {size} - 1",
        [index],
    )


def unravel_index(indices: Any, shape: Any, /) -> tuple[Tensor, ...]:
    """Places that are counted in one row as one index for each axis of this shape."""
    sizes = _sizes(shape)
    index, total = _array(indices), math.prod(sizes)
    _check_range(index, total, "unravel_index")
    out: list[Tensor] = []
    for size in reversed(sizes):
        out.insert(0, index % max(size, 1))
        index = index // max(size, 1)
    return tuple(out)


def ravel_multi_index(multi_index: Sequence[Any], dims: Any, /, mode: str = "raise", order: str = "C") -> Tensor:
    """One index for each axis as places that are counted in one row; `mode` is that of `choose`."""
    sizes = _sizes(dims)
    out: Any = None
    pairs = list(zip(multi_index, sizes, strict=True))
    for index, size in pairs if order == "C" else pairs[::-1]:
        index = _by_mode(_array(index), size, mode, "ravel_multi_index")
        if mode == "raise":
            _check_range(index, size, "ravel_multi_index")
        out = index if out is None else out * size + index
    return _array(out)


# --- grids and places ------------------------------------------------------------------------------------------------


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Rows of indices (or bools) that together index the grid of all their combinations."""
    out = []
    for position, arg in enumerate(args):
        row = _array(arg)
        if row.ndim != 1:
            raise _errors.ShapeError(
                f"ix_: argument {position} has {row.ndim} axes",
                _intaglio._user_line(),
                why="each is the indices along one axis",
                hint="flatten it, or give a list",
            )
        if row.dtype == _intaglio.bool:
            (row,) = nonzero(row)
        elif row.shape[0] == 0:
            row = astype(row, "int64")
        out.append(row.reshape((1,) * position + (-1,) + (1,) * (len(args) - position - 1)) if row.size else row)
    return tuple(out)


def mask_indices(n: int, mask_func: Callable[..., Any], k: int = 0) -> tuple[Tensor, ...]:
    """The places of a square that `mask_func(square, k)` keeps, such as `ig.triu`."""
    return nonzero(mask_func(_functions.ones((n, n)), k) != 0)


def _square(x: Any, who: str) -> Tensor:
    x = _array(x)
    if x.ndim != 2:
        raise _errors.ShapeError(
            f"{who}: the array has {x.ndim} axes",
            _intaglio._user_line(),
            why="a triangle is one of rows and columns",
            hint="give an array of two axes",
        )
    return x


def tril_indices_from(x: Any, /, k: int = 0) -> tuple[Tensor, ...]:
    """The places on and below the k-th diagonal of this array."""
    rows, columns = _square(x, "tril_indices_from").shape
    return functions["tril_indices"](rows, k=k, m=columns)


def triu_indices_from(x: Any, /, k: int = 0) -> tuple[Tensor, ...]:
    """The places on and above the k-th diagonal of this array."""
    rows, columns = _square(x, "triu_indices_from").shape
    return functions["triu_indices"](rows, k=k, m=columns)


def diag_indices_from(x: Any, /) -> tuple[Tensor, ...]:
    """The places of the diagonal of this array, whose axes are all of one size."""
    x = _array(x)
    if x.ndim < 2 or len(set(x.shape)) != 1:
        raise _errors.ShapeError(
            f"diag_indices_from: the array has shape {tuple(x.shape)}",
            _intaglio._user_line(),
            why="the diagonal goes through axes of one size, two or more",
            hint="give a square array, or use ig.diag_indices(n)",
        )
    return functions["diag_indices"](x.shape[0], x.ndim)


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = "float32", **kwargs: Any) -> Any:
    """`function(i, j, …)` of the arrays of the places of this shape, one for each axis."""
    sizes = _sizes(shape)
    return function(*(_functions._op.iota(shape=sizes, dtype=dtype, axis=a) for a in range(len(sizes))), **kwargs)


def apply_over_axes(func: Callable[..., Any], x: Any, axes: Any) -> Tensor:
    """`func(x, axis)` for each of the axes in turn, which stay as axes of size 1."""
    out = _array(x)
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        place = _axis(axis, out.ndim, "apply_over_axes")
        folded = _array(func(out, place))
        out = folded if folded.ndim == out.ndim else _functions.expand_dims(folded, axis=place)
    return out


def diagflat(x: Any, /, k: int = 0) -> Tensor:
    """A square with the elements, all in one row, on its k-th diagonal."""
    return functions["diag"](ravel(_array(x)), k=k)


def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """An axis brought before the place `start`. NumPy's older form of `moveaxis`."""
    x = _array(x)
    place = _axis(axis, x.ndim, "rollaxis")
    before = start + x.ndim if start < 0 else start
    return functions["moveaxis"](x, (place,), (before - 1 if place < before else before,))


class _IndexObject:
    """`ig.s_[1:, ::2]` is the index itself, to be kept and used."""

    def __init__(self, always_tuple: bool) -> None:
        self._always_tuple = always_tuple

    def __getitem__(self, index: Any) -> Any:
        return (index,) if self._always_tuple and not isinstance(index, tuple) else index


def _row_of(part: slice) -> Tensor:
    """The numbers of a slice; with an imaginary step so many of them, the end among them."""
    start, stop, step = part.start or 0, part.stop, 1 if part.step is None else part.step
    if stop is None:
        raise _errors.ValueError(
            f"the slice {part.start}:{part.stop} has no end",
            _intaglio._user_line(),
            why="it stands for the numbers from its start up to its end",
            hint="write start:stop, start:stop:step, or start:stop:5j for five numbers",
        )
    if isinstance(step, builtins.complex):
        return _functions.linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


class _Grid:
    """`ig.mgrid[0:2, 0:3]`: the coordinates of a grid, in full or, `ig.ogrid`, as rows that broadcast."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, tuple):
            return _row_of(index)
        rows = _promoted([_row_of(part) for part in index], "mgrid")
        shapes = [(1,) * i + (-1,) + (1,) * (len(rows) - i - 1) for i in range(len(rows))]
        rows = [row.reshape(shape) for row, shape in zip(rows, shapes, strict=True)]
        return tuple(rows) if self._sparse else _functions.stack(list(_functions.broadcast_arrays(*rows)), axis=0)


class _Joined:
    """`ig.r_[0:3, 5, x]`: numbers, slices and arrays joined along an axis; `ig.c_`: as columns.

    A first item "axis", "axis,rank" or "axis,rank,place" says along which axis, of how many axes at least, and where
    the axes of an array with fewer of them come.
    """

    def __init__(self, axis: int, rank: int, place: int) -> None:
        self._defaults = (axis, rank, place)

    def __getitem__(self, index: Any) -> Tensor:
        items = list(index) if isinstance(index, tuple) else [index]
        axis, rank, place = self._defaults
        if items and isinstance(items[0], str):
            try:
                given = [int(word) for word in items.pop(0).split(",")]
            except builtins.ValueError:
                given = []
            if not 1 <= len(given) <= 3:
                raise _errors.ValueError(
                    "r_: the directive is not one of numbers",
                    _intaglio._user_line(),
                    why="it says the axis, the least number of axes, and the place of an array's own",
                    hint="write '0', '0,2' or '0,2,1'; matrices ('r', 'c') are not here",
                )
            axis, rank, place = (*given, *self._defaults[len(given) :])
        parts = []
        for item in items:
            part = _row_of(item) if isinstance(item, slice) else _array(item)
            own = max(part.ndim, 1)
            part = part.reshape((1,) * (own - part.ndim) + tuple(part.shape))
            more = max(rank - own, 0)
            front = (more if place == -1 else min(place, more)) if more else 0
            parts.append(part.reshape((1,) * front + tuple(part.shape) + (1,) * (more - front)))
        return concat(parts, axis=axis)


s_ = _IndexObject(False)
index_exp = _IndexObject(True)
mgrid = _Grid(False)
ogrid = _Grid(True)
r_ = _Joined(0, 1, -1)
c_ = _Joined(-1, 2, 0)


# --- bits ------------------------------------------------------------------------------------------------------------


def _bit_weights(bitorder: str, who: str) -> Tensor:
    if bitorder not in ("big", "little"):
        raise _errors.ValueError(
            f"{who}: the order of bits is {bitorder!r}",
            _intaglio._user_line(),
            why="it says whether the first bit is the highest or the lowest of its byte",
            hint="choose 'big' or 'little'",
        )
    places = arange(8, dtype="uint8")
    return 7 - places if bitorder == "big" else places


def packbits(x: Any, /, axis: int | None = None, bitorder: Literal["big", "little"] = "big") -> Tensor:
    """Eight elements along an axis as the bits of one uint8; zeros fill the last. With None all elements in one row."""
    x = _array(x)
    x, place = (ravel(x), 0) if axis is None else (x, _axis(axis, x.ndim, "packbits"))
    shift = _bit_weights(bitorder, "packbits")
    bits = functions["moveaxis"](astype(_truth(x), "uint8"), (place,), (-1,))
    n = operator.index(bits.shape[-1])
    padded = functions["pad"](bits, ((0, 0),) * (bits.ndim - 1) + ((0, -n % 8),))
    eights = padded.reshape((*bits.shape[:-1], (n + 7) // 8, 8))
    bytes_ = astype(_functions.sum(eights << shift, axis=-1), "uint8")
    return functions["moveaxis"](bytes_, (-1,), (place,))


def unpackbits(
    x: Any, /, axis: int | None = None, count: int | None = None, bitorder: Literal["big", "little"] = "big"
) -> Tensor:
    """The bits of uint8 elements along an axis; `count` of them (more are zeros), or all but so many where negative."""
    x = _array(x)
    if x.dtype != _intaglio.uint8:
        raise _errors.TypeError(
            f"unpackbits: expected uint8, got {x.dtype.name}",
            _intaglio._user_line(),
            why="each element is eight bits",
            hint="convert it: ig.astype(x, 'uint8'), or look at its bytes with ig.bitcast",
        )
    x, place = (ravel(x), 0) if axis is None else (x, _axis(axis, x.ndim, "unpackbits"))
    shift = _bit_weights(bitorder, "unpackbits")
    bits = (functions["moveaxis"](x, (place,), (-1,))[..., None] >> shift) & 1
    n = 8 * operator.index(x.shape[place])
    bits = bits.reshape((*bits.shape[:-2], n))
    wanted = n if count is None else count if count >= 0 else max(n + count, 0)
    bits = bits[..., :wanted]
    if wanted > n:
        bits = functions["pad"](bits, ((0, 0),) * (bits.ndim - 1) + ((0, wanted - n),))
    return functions["moveaxis"](bits, (-1,), (place,))


# --- what an array is ------------------------------------------------------------------------------------------------


def ndim(x: Any, /) -> int:
    """How many axes it has."""
    return _array(x).ndim


def shape(x: Any, /) -> tuple[Any, ...]:
    """Its sizes along the axes."""
    return tuple(_array(x).shape)


def size(x: Any, /, axis: int | None = None) -> Any:
    """How many elements it has, or its size along an axis."""
    x = _array(x)
    return x.size if axis is None else x.shape[_axis(axis, x.ndim, "size")]


def copy(x: Any, /) -> Tensor:
    """A handle of its own for the same value: a change of either leaves the other as it is."""
    return _intaglio._handle(_array(x))


def iscomplexobj(x: Any, /) -> bool:
    """Whether it is of a complex dtype, whatever its values."""
    return _array(x).dtype.kind == "complex floating"


def isrealobj(x: Any, /) -> bool:
    """Whether it is of a dtype without an imaginary part."""
    return not iscomplexobj(x)


def isscalar(x: Any, /) -> bool:
    """Whether it is a number, or an array of rank 0."""
    return isinstance(x, (bool, int, float, builtins.complex)) or (isinstance(x, Tensor) and x.ndim == 0)


def iterable(x: Any, /) -> bool:
    """Whether one can walk over it."""
    if isinstance(x, Tensor):
        return x.ndim > 0
    return hasattr(x, "__iter__") or hasattr(x, "__getitem__")


def promote_types(x: Any, y: Any, /) -> Any:
    """The dtype that arrays of these two meet in."""
    return _intaglio.result_type(_intaglio.dtype(x), _intaglio.dtype(y))


def einsum_path(subscripts: str, /, *arrays: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """The order of products that NumPy would choose for `einsum`, and its costs as text. It computes nothing.

    `ig.einsum` has an order of its own, which depends on the names alone.
    """
    import numpy

    dummies = [numpy.broadcast_to(numpy.float32(0), tuple(operator.index(n) for n in _array(a).shape)) for a in arrays]
    path, text = numpy.einsum_path(subscripts, *dummies, optimize=optimize)
    return list(path), str(text)


def _broadcast_together(x: Any, y: Any) -> bool:
    """Whether two shapes broadcast together."""
    return all(m == n or 1 in (m, n) for m, n in itertools.zip_longest(x[::-1], y[::-1], fillvalue=1))


def array_equiv(x: Any, y: Any, /) -> Tensor:
    """Whether all elements are equal once both are broadcast together; False where they do not."""
    a, b = _array(x), _array(y)
    if not _broadcast_together(tuple(a.shape), tuple(b.shape)):
        return _functions.zeros((), dtype="bool")
    return functions["all"](a == b)


PUBLIC = [
    "apply_over_axes",
    "array_equiv",
    "c_",
    "choose",
    "copy",
    "copyto",
    "diag_indices_from",
    "diagflat",
    "einsum_path",
    "fromfunction",
    "index_exp",
    "iscomplexobj",
    "isrealobj",
    "isscalar",
    "iterable",
    "ix_",
    "mask_indices",
    "mgrid",
    "ndim",
    "ogrid",
    "packbits",
    "place",
    "promote_types",
    "put",
    "put_along_axis",
    "putmask",
    "r_",
    "ravel_multi_index",
    "rollaxis",
    "s_",
    "shape",
    "size",
    "tril_indices_from",
    "triu_indices_from",
    "unpackbits",
    "unravel_index",
]
METHODS = {"choose", "copy"}


def install() -> None:
    """Puts these functions among the public ones, before they become methods."""
    for name in PUBLIC:
        functions[name] = globals()[name]
    _functions.NOT_METHODS.update(set(PUBLIC) - METHODS)
