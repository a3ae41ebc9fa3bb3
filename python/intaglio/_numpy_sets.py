"""Sets, places and order: NumPy's functions whose results have as many elements as the values say.

In a jitted function that number is asked of the values, as `int(...)` of a traced array is: another number records the
function anew, and the values themselves stay traced. With `size` the number is fixed: what is more is left out, and
what is missing is `fill_value`, as in JAX.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any, NamedTuple, overload

from . import _errors, _functions, _intaglio
from ._functions import _array, _axis, _promoted, arange, astype, concat, full, ravel

Tensor = _intaglio.Tensor
functions: dict[str, Any] = _intaglio.functions


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


# --- places of what is true ------------------------------------------------------------------------------------------


def _places(mask: Tensor, size: Any) -> Tensor:
    """Where the first `size` true elements of a row stand; the row's length where there are fewer."""
    running = _functions.cumulative_sum(astype(mask, "int64"), axis=0)
    return functions["searchsorted"](running, arange(1, size + 1))


def _truth(x: Tensor) -> Tensor:
    return x if x.dtype == _intaglio.bool else x != 0


def _size(mask: Tensor, size: Any, who: str) -> int:
    """How many places are wanted: as many as are true, or `size`."""
    if size is None:
        try:
            return int(functions["count_nonzero"](mask))
        except _errors.CaptureError:
            # A jitted function that starts again remembers so itself.
            raise _errors.CaptureError(
                f"{who}: how many elements the result has follows from values that are traced",
                _intaglio._user_line(),
                why="the sizes of this graph do not depend on the values of its arrays",
                hint=f"say how many: ig.{who}(..., size=n); ig.jit guards the number, but not in vmap or in the body "
                "of a loop",
            ) from None
    try:
        count = operator.index(size)
    except builtins.TypeError:
        count = -1
    if count < 0:
        raise _errors.ValueError(
            f"{who}: the size is {size!r}",
            _intaglio._user_line(),
            why="it is how many elements the result has, whatever the values",
            hint="give an integer of 0 or more, or leave it out",
        )
    return count


def nonzero(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> tuple[Tensor, ...]:
    """The positions of the elements that are not zero, one array an axis.

    With `size` there are so many: the first ones, and `fill_value` (0, a number, or one for each axis) behind them.
    """
    x = _array(x)
    if x.ndim == 0:
        raise _errors.ValueError(
            "nonzero: an array of rank 0 has no positions",
            _intaglio._user_line(),
            why="a position is one index for each axis",
            hint="add an axis with x[None], or ask whether x != 0",
        )
    if size is None and not x.is_symbolic and not _intaglio.is_tracing():
        import numpy

        return tuple(_intaglio.asarray(part) for part in numpy.nonzero(x.numpy()))
    mask = ravel(_truth(x))
    fixed = size is not None
    places = _places(mask, _size(mask, size, "nonzero"))
    missing = places == mask.shape[0]
    out: list[Tensor] = []
    for length in reversed(x.shape):
        length = _functions.dim_max(length, 1)
        out.insert(0, places % length)
        places = places // length
    if not fixed:
        return tuple(out)
    fills = fill_value if isinstance(fill_value, (tuple, list)) else (fill_value,) * x.ndim
    return tuple(
        functions["where"](missing, 0 if fill is None else fill, part) for part, fill in zip(out, fills, strict=True)
    )


def flatnonzero(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The places of the elements that are not zero, all elements in one row."""
    return nonzero(ravel(_array(x)), size=size, fill_value=fill_value)[0]


def argwhere(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The places of the elements that are not zero, one row each."""
    return _functions.stack(list(nonzero(x, size=size, fill_value=fill_value)), axis=1)


@overload
def where(condition: Any, x: Any, y: Any) -> Tensor: ...
@overload
def where(condition: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Tensor, ...]: ...
def where(condition: Any, x: Any = None, y: Any = None, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The elements of x where the condition is true, those of y elsewhere.

    Without x and y it is `nonzero(condition)`.
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise _errors.TypeError(
            "where: one of x and y is missing",
            _intaglio._user_line(),
            why="an element comes from x or from y",
            hint="give both, or none of them for the positions of what is true",
        )
    if size is not None or fill_value is not None:
        raise _errors.TypeError(
            "where: size and fill_value are given beside x and y",
            _intaglio._user_line(),
            why="the result has the shape that the three arrays broadcast to",
            hint="leave them out; they are for ig.where(condition)",
        )
    return _functions._op.select(condition, x, y)


def compress(
    condition: Any, x: Any, /, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0
) -> Tensor:
    """The slices along an axis where the condition (one axis) is true; with None of the flattened elements."""
    x, mask = _array(x), _array(condition)
    if mask.ndim != 1:
        raise _errors.ShapeError(
            f"compress: the condition has shape {tuple(mask.shape)}",
            _intaglio._user_line(),
            why="it has one bool for each place along the axis",
            hint="flatten it, or index with it: x[condition]",
        )
    if axis is None:
        x, axis = ravel(x), 0
    axis = _axis(axis, x.ndim, "compress")
    if not isinstance(mask.shape[0], _intaglio.Dim) and mask.shape[0] > x.shape[axis]:
        raise _errors.ShapeError(
            f"compress: {mask.shape[0]} conditions for {x.shape[axis]} places",
            _intaglio._user_line(),
            why="each condition is about one place along the axis",
            hint="give at most as many as the axis has places",
        )
    (places,) = nonzero(mask, size=size, fill_value=mask.shape[0])
    out = functions["take"](x, functions["minimum"](places, _functions.dim_max(mask.shape[0] - 1, 0)), axis=axis)
    if size is None:
        return out
    missing = (places == mask.shape[0]).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    return functions["where"](missing, _intaglio.asarray(fill_value, dtype=x.dtype), out)


def extract(condition: Any, x: Any, /, *, size: int | None = None, fill_value: Any = 0) -> Tensor:
    """The elements where the condition is true, in one row."""
    return compress(ravel(_array(condition)), _array(x), size=size, fill_value=fill_value)


# --- order -----------------------------------------------------------------------------------------------------------


def _sortable(x: Tensor) -> Tensor:
    return astype(x, "uint8") if x.dtype == _intaglio.bool else x


def _order(x: Tensor) -> Tensor:
    """What sorts a row, stably; complex numbers by their real parts, then the imaginary ones."""
    if x.dtype.kind == "complex floating":
        return lexsort((x.imag, x.real))
    return _functions.argsort(_sortable(x))


def lexsort(keys: Any, /, axis: int = -1) -> Tensor:
    """The indices that sort along an axis by several keys: by the last, where that is equal by the one before it."""
    rows = [_sortable(_array(key)) for key in keys]
    if not rows:
        raise _errors.ValueError(
            "lexsort: there is no key",
            _intaglio._user_line(),
            why="the keys say what comes first",
            hint="pass a list of one array or more",
        )
    along = functions["take_along_axis"]
    order = _functions.argsort(rows[0], axis=axis)
    for row in rows[1:]:
        order = along(order, _functions.argsort(along(row, order, axis=axis), axis=axis), axis=axis)
    return order


def sort_complex(x: Any, /) -> Tensor:
    """The elements along the last axis as complex numbers, sorted by the real part, then the imaginary one."""
    x = _array(x)
    z = x if x.dtype.kind == "complex floating" else astype(x, "complex64" if x.dtype != "float64" else "complex128")
    return functions["take_along_axis"](z, lexsort((z.imag, z.real)), axis=-1)


def _check_kth(x: Tensor, kth: Any, axis: int, who: str) -> None:
    size = x.shape[axis]
    for k in kth if isinstance(kth, (tuple, list)) else (kth,):
        if not isinstance(size, _intaglio.Dim) and not -size <= operator.index(k) < size:
            raise _errors.IndexError(
                f"{who}: there is no {k}-th element of {size}",
                _intaglio._user_line(),
                why="the element that it names comes to its place in the sorted order",
                hint="count from 0, or from the end as a negative number",
            )


def partition(x: Any, kth: Any, /, axis: int | None = -1) -> Tensor:
    """The array with the kth element of an axis where sorting puts it, no greater ones before it, no lesser behind.

    It is sorted altogether, which is one such order.
    """
    x = _array(x)
    x, axis = (ravel(x), 0) if axis is None else (x, axis)
    _check_kth(x, kth, _axis(axis, x.ndim, "partition"), "partition")
    return _functions.sort(x, axis=axis)


def argpartition(x: Any, kth: Any, /, axis: int | None = -1) -> Tensor:
    """The indices that put an array into the order of `partition`."""
    x = _array(x)
    x, axis = (ravel(x), 0) if axis is None else (x, axis)
    _check_kth(x, kth, _axis(axis, x.ndim, "argpartition"), "argpartition")
    return _functions.argsort(x, axis=axis)


# --- distinct elements -----------------------------------------------------------------------------------------------


def _differs(x: Tensor, equal_nan: bool) -> Tensor:
    """Of sorted elements or rows, whether each differs from the one before it; the first does."""
    apart = x[1:] != x[:-1]
    if equal_nan and x.dtype.kind in ("real floating", "complex floating"):
        apart = apart & ~(functions["isnan"](x[1:]) & functions["isnan"](x[:-1]))
    if x.ndim > 1:
        apart = functions["any"](apart, axis=tuple(range(1, x.ndim)))
    return concat([_functions.ones((_functions.dim_min(x.shape[0], 1),), dtype="bool"), apart])


def _filled(values: Tensor, missing: Tensor, fill: Any) -> Tensor:
    """Values with `fill` where they are missing, or where that is None with the first of them."""
    missing = missing.reshape((-1,) + (1,) * (values.ndim - 1))
    filling = values[:1] if fill is None else _intaglio.asarray(fill, dtype=values.dtype)
    return functions["where"](missing, filling, values)


def unique(
    x: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements, ascending; along an axis, the distinct slices in lexicographic order.

    On demand a tuple, with where each stands first, for each element which one it is, and how often each stands there.
    NaN are one element, or with `equal_nan=False` each its own. With `size` there are so many: where they are fewer,
    `fill_value` (by default the first of them) stands behind them with the count 0.
    """
    return _unique(x, (return_index, return_inverse, return_counts), axis, equal_nan, size, fill_value, "unique")


def _unique(
    x: Any, wanted: tuple[bool, bool, bool], axis: int | None, equal_nan: bool, size: Any, fill_value: Any, who: str
) -> Any:
    x = _array(x)
    rows = ravel(x)
    if axis is not None:
        place = _axis(axis, x.ndim, who)
        front = functions["moveaxis"](x, (place,), (0,))
        rows = front.reshape((x.shape[place], -1)) if x.size else front.reshape((x.shape[place], 0))
    n = rows.shape[0]
    order = _order(rows) if axis is None else _order_of_rows(rows)
    ascending = functions["take"](rows, order, axis=0)
    new = _differs(ascending, equal_nan)
    count = _size(new, size, who)
    bounds = _places(new, count + 1)  # n for those that are not there
    starts = bounds[:-1]
    missing = starts == n
    if isinstance(n, int) and n == 0:  # nothing to take: what is asked for is all filling
        values = full((count, *rows.shape[1:]), 0 if fill_value is None else fill_value, dtype=x.dtype)
        first = _functions.zeros((count,), dtype="int64")
    else:
        known = functions["where"](missing, 0, starts)
        values, first = functions["take"](ascending, known, axis=0), functions["take"](order, known, axis=0)
        if size is not None and count:
            values = _filled(values, missing, fill_value)
    if axis is not None:
        values = functions["moveaxis"](values.reshape((count, *front.shape[1:])), (0,), (place,))
    out: list[Tensor] = [values]
    if wanted[0]:
        out.append(first)
    if wanted[1]:
        rank = _functions.cumulative_sum(astype(new, "int64"), axis=0) - 1
        if size is not None:
            rank = functions["minimum"](rank, max(count - 1, 0))
        inverse = functions["take"](rank, _functions.argsort(order), axis=0)
        out.append(inverse.reshape(x.shape) if axis is None else inverse)
    if wanted[2]:
        out.append(bounds[1:] - starts)
    return out[0] if len(out) == 1 else tuple(out)


def _order_of_rows(rows: Tensor) -> Tensor:
    columns = [rows[:, i] for i in range(rows.shape[1])]
    if not columns:
        return arange(rows.shape[0])
    if rows.dtype.kind == "complex floating":
        columns = [part for column in columns for part in (column.real, column.imag)]
    return lexsort(columns[::-1])


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """The distinct elements, where each stands first, which one each element is, and how often each stands there."""
    return UniqueAll(*_unique(x, (True, True, True), None, False, size, fill_value, "unique_all"))


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """The distinct elements, and how often each stands there."""
    return UniqueCounts(*_unique(x, (False, False, True), None, False, size, fill_value, "unique_counts"))


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """The distinct elements, and for each element which one it is."""
    return UniqueInverse(*_unique(x, (False, True, False), None, False, size, fill_value, "unique_inverse"))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The distinct elements, ascending; each NaN is one of its own."""
    out: Tensor = _unique(x, (False, False, False), None, False, size, fill_value, "unique_values")
    return out


# --- sets ------------------------------------------------------------------------------------------------------------


def isin(
    element: Any, test_elements: Any, /, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Tensor:
    """Whether each element is one of `test_elements`; NaN is none. `assume_unique` and `kind` change nothing."""
    x, test = _promoted([element, test_elements], "isin")
    return ~_isin(x, ravel(test)) if invert else _isin(x, ravel(test))


def _isin(x: Tensor, test: Tensor) -> Tensor:
    if isinstance(test.shape[0], int) and test.shape[0] == 0:
        return _functions.zeros(x.shape, dtype="bool")
    if x.dtype.kind == "complex floating":
        return functions["any"](x[..., None] == test, axis=-1)
    x, test = _sortable(x), _functions.sort(_sortable(test))
    place = functions["searchsorted"](test, x)
    return functions["take"](test, functions["minimum"](place, test.shape[0] - 1), axis=0) == x


def _kept(x: Tensor, keep: Tensor, size: Any, fill: Any, who: str) -> tuple[Tensor, Tensor, Tensor]:
    """The elements of a row to keep, where they stand, and which of the places are filling."""
    count, n = _size(keep, size, who), x.shape[0]
    places = _places(keep, count)
    missing = places == n
    if isinstance(n, int) and n == 0:
        return full((count,), 0 if fill is None else fill, dtype=x.dtype), places, missing
    values = functions["take"](x, functions["where"](missing, 0, places), axis=0)
    if size is not None and count:
        there = functions["any"](keep)
        filling = functions["where"](there, values[:1], _functions.zeros((1,), dtype=x.dtype)) if fill is None else fill
        values = functions["where"](missing, _intaglio.asarray(filling, dtype=x.dtype), values)
    return values, places, missing


def _two_rows(x: Any, y: Any, who: str) -> tuple[Tensor, Tensor]:
    a, b = _promoted([x, y], who)
    return ravel(a), ravel(b)


def union1d(x: Any, y: Any, /, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The distinct elements of both, ascending."""
    both = concat(_two_rows(x, y, "union1d"))
    out: Tensor = _unique(both, (False, False, False), None, True, size, fill_value, "union1d")
    return out


def intersect1d(
    x: Any,
    y: Any,
    /,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements that stand in both, ascending; on demand with where each stands first in x and in y."""
    a, b = _two_rows(x, y, "intersect1d")
    order = _order(a)
    ascending = functions["take"](a, order, axis=0)
    keep = _differs(ascending, True) & _isin(ascending, b)
    values, places, missing = _kept(ascending, keep, size, fill_value, "intersect1d")
    if not return_indices:
        return values
    if 0 in (a.shape[0], b.shape[0]):
        nowhere = functions["where"](missing, 0, places)
        return values, nowhere, nowhere
    in_y = _order(b)
    others = functions["take"](b, in_y, axis=0)
    if b.dtype.kind == "complex floating":
        found = functions["argmax"](values[:, None] == others[None, :], axis=1)
    else:
        found = functions["searchsorted"](_sortable(others), _sortable(values))
    found = functions["where"](missing, 0, functions["minimum"](found, b.shape[0] - 1))
    in_x = functions["take"](order, functions["where"](missing, 0, places), axis=0)
    return values, in_x, functions["take"](in_y, found, axis=0)


def setdiff1d(
    x: Any, y: Any, /, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Tensor:
    """The distinct elements of x that do not stand in y, ascending; with `assume_unique` in the order of x."""
    a, b = _two_rows(x, y, "setdiff1d")
    if assume_unique:
        return _kept(a, ~_isin(a, b), size, fill_value, "setdiff1d")[0]
    ascending = functions["take"](a, _order(a), axis=0)
    return _kept(ascending, _differs(ascending, True) & ~_isin(ascending, b), size, fill_value, "setdiff1d")[0]


def setxor1d(
    x: Any, y: Any, /, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Tensor:
    """The distinct elements that stand in one of the two alone, ascending."""
    a, b = _two_rows(x, y, "setxor1d")
    both = concat([a, b])
    ascending = functions["take"](both, _order(both), axis=0)
    keep = _differs(ascending, True) & (_isin(ascending, a) != _isin(ascending, b))
    if both.dtype.kind in ("real floating", "complex floating"):  # a NaN equals nothing: there is one of each array's
        nan, has = functions["isnan"], functions["any"]
        arrays_with = astype(has(nan(a)), "int64") + astype(has(nan(b)), "int64")
        keep = keep | (nan(ascending) & (functions["cumulative_sum"](astype(nan(ascending), "int64")) <= arrays_with))
    return _kept(ascending, keep, size, fill_value, "setxor1d")[0]


# --- parts put in and taken out --------------------------------------------------------------------------------------


def _indices(index: Any, size: Any, who: str, last: int) -> tuple[list[int], bool]:
    """Indices as Python's, from the front, each at most `size - 1 + last`; and whether it was a single one."""
    n = operator.index(size)
    if isinstance(index, slice):
        return list(range(*index.indices(n))), False
    given = index.tolist() if hasattr(index, "tolist") else index
    single = not isinstance(given, (list, tuple))
    items = [given] if single else list(given)
    if items and all(isinstance(item, bool) for item in items) and not single:
        return [i for i, item in enumerate(items) if item], False
    out = []
    for item in items:
        place = operator.index(item)
        if not -n <= place < n + last:
            raise _errors.IndexError(
                f"{who}: the index {place} is out of range for an axis of size {n}",
                _intaglio._user_line(),
                why="positions count from 0, or from the end as negative numbers",
                hint=f"give positions from {-n} to {n - 1 + last}",
            )
        out.append(place + n if place < 0 else place)
    return out, single


def delete(x: Any, obj: Any, /, axis: int | None = None) -> Tensor:
    """The array without the slices at these places (an integer, several, a slice, or bools) along an axis.

    With None its flattened elements. Which places they are is part of a recorded program.
    """
    x = _array(x)
    x, axis = (ravel(x), 0) if axis is None else (x, _axis(axis, x.ndim, "delete"))
    gone = set(_indices(obj, x.shape[axis], "delete", 0)[0])
    kept = [i for i in range(operator.index(x.shape[axis])) if i not in gone]
    return functions["take"](x, _intaglio.asarray(kept, dtype="int64"), axis=axis)


def insert(x: Any, obj: Any, values: Any, /, axis: int | None = None) -> Tensor:
    """The array with `values` put before these places (an integer, several, or a slice) along an axis.

    With None its flattened elements. The places are those of `x`, and part of a recorded program.
    """
    x = _array(x)
    x, axis = (ravel(x), 0) if axis is None else (x, _axis(axis, x.ndim, "insert"))
    places, single = _indices(obj, x.shape[axis], "insert", 1)
    put = astype(_array(values), x.dtype)
    put = put.reshape((1,) * max(x.ndim - put.ndim, 0) + tuple(put.shape))
    if single:
        put = functions["moveaxis"](put, (0,), (axis,))
    count = put.shape[axis] if len(places) == 1 else len(places)
    shape = list(x.shape)
    shape[axis] = count
    put = functions["broadcast_to"](put, shape=tuple(shape))
    places = places * count if len(places) == 1 else places
    n = operator.index(x.shape[axis])
    # What is put before place i comes before the element i, in the order it was given in.
    keys = [(place, 0, k, n + k) for k, place in enumerate(places)] + [(i, 1, 0, i) for i in range(n)]
    order = [entry[3] for entry in sorted(keys)]
    return functions["take"](concat([x, put], axis=axis), _intaglio.asarray(order, dtype="int64"), axis=axis)


def trim_zeros(x: Any, /, trim: str = "fb") -> Tensor:
    """A row without the zeros at its front ("f") and at its end ("b")."""
    x = _array(x)
    there = _truth(x)
    n = operator.index(x.shape[0])
    if not n:
        return x
    any_there = functions["any"](there)
    front = functions["argmax"](astype(there, "uint8"), axis=0)
    back = functions["argmax"](astype(functions["flip"](there), "uint8"), axis=0)
    low = int(functions["where"](any_there, front, n)) if "f" in trim.lower() else 0
    high = n - int(functions["where"](any_there, back, n)) if "b" in trim.lower() else n
    return x[low : max(high, low)]


def append(x: Any, values: Any, /, axis: int | None = None) -> Tensor:
    """`values` behind `x` along an axis; with None both flattened."""
    return concat([_array(x), _array(values)], axis=axis)


def resize(x: Any, new_shape: Any, /) -> Tensor:
    """The elements in a new shape, from the front again where it has more places."""
    x, shape = ravel(_array(x)), _functions._sizes(new_shape)
    count: Any = 1
    for size in shape:
        count = count * size
    if isinstance(x.shape[0], int) and x.shape[0] == 0:
        return _functions.zeros(shape, dtype=x.dtype)
    return functions["take"](x, arange(count) % x.shape[0], axis=0).reshape(shape)


def block(arrays: Any, /) -> Tensor:
    """An array of blocks: nested lists are joined, the innermost along the last axis, those around it along the axis
    before, and so on."""

    def depth(item: Any) -> int:
        if not isinstance(item, list):
            return 0
        if not item:
            raise _errors.ValueError(
                "block: a list is empty",
                _intaglio._user_line(),
                why="the shape of a block comes from its arrays",
                hint="leave the list out",
            )
        depths = {depth(part) for part in item}
        if len(depths) > 1:
            raise _errors.ValueError(
                f"block: lists of depths {sorted(depths)} stand side by side",
                _intaglio._user_line(),
                why="each level of lists is joined along one axis",
                hint="nest all blocks equally deep",
            )
        return depths.pop() + 1

    def leaves(item: Any) -> list[Tensor]:
        return [leaf for part in item for leaf in leaves(part)] if isinstance(item, list) else [_array(item)]

    levels = depth(arrays)
    rank = max(levels, *(leaf.ndim for leaf in leaves(arrays)), 0)

    def joined(item: Any, level: int) -> Tensor:
        if isinstance(item, list):
            return concat([joined(part, level + 1) for part in item], axis=level - levels)
        leaf = _array(item)
        return leaf.reshape((1,) * (rank - leaf.ndim) + tuple(leaf.shape))

    return joined(arrays, 0)


PUBLIC = [
    "append",
    "argpartition",
    "argwhere",
    "block",
    "compress",
    "delete",
    "extract",
    "flatnonzero",
    "insert",
    "intersect1d",
    "isin",
    "lexsort",
    "nonzero",
    "partition",
    "resize",
    "setdiff1d",
    "setxor1d",
    "sort_complex",
    "trim_zeros",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]
METHODS = {"argpartition", "argwhere", "flatnonzero", "nonzero", "partition", "unique_values"}


def install() -> None:
    """Puts these functions among the public ones, before they become methods."""
    for name in PUBLIC:
        functions[name] = globals()[name]
    _functions.NOT_METHODS.update(set(PUBLIC) - METHODS)
