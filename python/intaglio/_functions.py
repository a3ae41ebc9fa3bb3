"""Public functions that are written on ops: creation, shapes, and what the array API asks for beside the op table.

A function of the same name in the op table comes first; these fill the rest.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

from . import _errors, _intaglio

Tensor = _intaglio.Tensor
Dim = _intaglio.Dim
functions: dict[str, Any] = _intaglio.functions


class _Ops:
    """The functions of any op by name, made when first used."""

    def __getattr__(self, name: str) -> Any:
        function = _intaglio.op(name)
        setattr(self, name, function)
        return function


_op = _Ops()


def _sizes(shape: Any) -> tuple[Any, ...]:
    if isinstance(shape, Dim):
        return (shape,)
    if isinstance(shape, (tuple, list)):
        return tuple(s if isinstance(s, Dim) else operator.index(s) for s in shape)
    try:
        return (operator.index(shape),)
    except builtins.TypeError:
        raise _errors.TypeError(
            f"a shape must be an integer or a tuple of integers, not {type(shape).__name__}",
            _intaglio._user_line(),
        ) from None


def _axis(axis: int, rank: int, who: str) -> int:
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        raise _errors.IndexError(
            f"{who}: the axis {axis} is out of range for an array of rank {rank}",
            _intaglio._user_line(),
            hint=f"axes go from {-rank} to {rank - 1}" if rank else "an array of rank 0 has no axes",
        )
    return axis % rank


def _axes(axis: Any, rank: int, who: str) -> tuple[int, ...]:
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    out = tuple(_axis(a, rank, who) for a in given)
    if len(set(out)) != len(out):
        raise _errors.ValueError(f"{who}: an axis is named twice in {tuple(given)}", _intaglio._user_line())
    return out


def _array(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else _intaglio.asarray(x)


def _fixed(size: Any, who: str) -> int:
    if isinstance(size, Dim):
        return operator.index(size)
    return size


# --- creation ---------------------------------------------------------------------------------------------------------


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of this shape, all elements `fill_value`."""
    value = _intaglio.asarray(fill_value, dtype=dtype, device=device)
    return broadcast_to(value, _sizes(shape))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of zeros; float32 unless `dtype` says otherwise."""
    return full(shape, False, dtype="float32" if dtype is None else dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of ones; float32 unless `dtype` says otherwise."""
    return full(shape, True, dtype="float32" if dtype is None else dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of zeros: what is not written yet has a value too."""
    return zeros(shape, dtype=dtype, device=device)


def full_like(x: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of the shape and dtype of `x`, all elements `fill_value`."""
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros in the shape and dtype of `x`."""
    return zeros(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def ones_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones in the shape and dtype of `x`."""
    return ones(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def empty_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros in the shape and dtype of `x`."""
    return zeros_like(x, dtype=dtype, device=device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Evenly spaced numbers from `start` (or 0) up to and without `stop`."""
    if stop is None:
        start, stop = 0, start
    whole = all(isinstance(v, (int, Dim)) for v in (start, stop, step))
    if dtype is None:
        dtype = "int64" if whole else "float32"
    if step == 0:
        raise _errors.ValueError("arange: the step is 0", _intaglio._user_line())
    if any(isinstance(v, Dim) for v in (start, stop, step)):
        if isinstance(step, Dim) or isinstance(start, Dim):
            raise _errors.UnsupportedError(
                "arange: only the end may be a symbolic size", _intaglio._user_line(), hint="add the start afterwards"
            )
        count = _intaglio._dim_max((stop - start + step - 1) // step, 0)
        counted = _op.iota(shape=(count,), dtype="int64", axis=0)
        return astype(counted * step + start, dtype)
    return _intaglio._arange(start, stop, step, dtype)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`."""
    if operator.index(num) < 0:
        raise _errors.ValueError(f"linspace: the number of elements is {num}", _intaglio._user_line())
    return _intaglio._linspace(start, stop, num, endpoint, "float32" if dtype is None else dtype)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    mask = arange(n_rows)[:, None] + k == arange(columns)[None, :]
    return astype(mask, "float32" if dtype is None else dtype)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The lower triangle of the last two axes, the rest zero."""
    rows, columns = x.shape[-2:]
    keep = arange(rows)[:, None] + k >= arange(columns)[None, :]
    return functions["where"](keep, x, zeros((), dtype=x.dtype))


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The upper triangle of the last two axes, the rest zero."""
    rows, columns = x.shape[-2:]
    keep = arange(rows)[:, None] + k <= arange(columns)[None, :]
    return functions["where"](keep, x, zeros((), dtype=x.dtype))


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate arrays of a grid."""
    if indexing not in ("xy", "ij"):
        raise _errors.ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}", _intaglio._user_line())
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[0], order[1] = 1, 0
    shape = [0] * len(arrays)
    for position, array in zip(order, arrays, strict=True):
        shape[position] = array.shape[0]
    out = []
    for position, array in zip(order, arrays, strict=True):
        out.append(_op.broadcast_in_dim(array, shape=tuple(shape), broadcast_dimensions=(position,)))
    return tuple(out)


# --- dtypes ------------------------------------------------------------------------------------------------------------


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The array converted to `dtype`: floats to integers saturate, NaN becomes 0."""
    wanted = _intaglio.dtype(dtype)
    return x if x.dtype == wanted else _op.convert(x, dtype=wanted)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether the promotion rules take `from_` to `to`."""
    source = from_.dtype if isinstance(from_, Tensor) else _intaglio.dtype(from_)
    return _intaglio._promote(source, to) == _intaglio.dtype(to)


_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float16", "bfloat16", "float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is of a kind: "real floating", "integral", …, a dtype, or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return _intaglio.dtype(dtype).name in _KINDS[kind]
    return _intaglio.dtype(dtype) == _intaglio.dtype(kind)


class finfo:
    """The limits of a floating-point dtype."""

    _table = {
        "float16": (16, 2.0**-10, 65504.0, 2.0**-14),
        "bfloat16": (16, 2.0**-7, float.fromhex("0x1.fep+127"), 2.0**-126),
        "float32": (32, 2.0**-23, float.fromhex("0x1.fffffep+127"), 2.0**-126),
        "float64": (64, 2.0**-52, float.fromhex("0x1.fffffffffffffp+1023"), 2.0**-1022),
    }

    def __init__(self, type: Any) -> None:
        dtype = type.dtype if isinstance(type, Tensor) else _intaglio.dtype(type)
        real = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
        if real not in self._table:
            raise _errors.TypeError(f"finfo: {dtype.name} is no floating-point dtype", _intaglio._user_line())
        self.dtype = _intaglio.dtype(real)
        self.bits, self.eps, self.max, self.smallest_normal = self._table[real]
        self.min = -self.max

    def __repr__(self) -> str:
        return f"finfo({self.dtype}, min={self.min}, max={self.max}, eps={self.eps})"


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type: Any) -> None:
        dtype = type.dtype if isinstance(type, Tensor) else _intaglio.dtype(type)
        if not isdtype(dtype, "integral"):
            raise _errors.TypeError(f"iinfo: {dtype.name} is no integer dtype", _intaglio._user_line())
        self.dtype = dtype
        self.bits = dtype.itemsize * 8
        signed = isdtype(dtype, "signed integer")
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1

    def __repr__(self) -> str:
        return f"iinfo({self.dtype}, min={self.min}, max={self.max})"


# --- shapes ------------------------------------------------------------------------------------------------------------


def reshape(x: Tensor, /, shape: Any, *more: Any, copy: bool | None = None) -> Tensor:
    """The elements in the same order in another shape; one size may be -1, for what is left."""
    sizes = list(_sizes((shape, *more) if more else shape))
    unknown = [i for i, s in enumerate(sizes) if not isinstance(s, Dim) and s == -1]
    if len(unknown) > 1:
        raise _errors.ValueError("reshape: more than one size is -1", _intaglio._user_line())
    if unknown:
        known: Any = 1
        for i, s in enumerate(sizes):
            if i != unknown[0]:
                known = known * s
        total = x.size
        if not isinstance(known, Dim) and known == 0:
            raise _errors.ShapeError(
                "reshape: what -1 stands for is open beside a size of 0", _intaglio._user_line(), hint="write the size"
            )
        if not isinstance(known, Dim) and not isinstance(total, Dim) and total % known:
            raise _errors.ShapeError(
                f"reshape: an array of shape {list(x.shape)} has {total} elements, which {known} does not divide",
                _intaglio._user_line(),
                hint="the sizes of the new shape must have the product of the old",
            )
        sizes[unknown[0]] = total // known
    return _op.reshape(x, shape=tuple(sizes))


def flatten(x: Tensor, /, start_axis: int = 0, end_axis: int = -1) -> Tensor:
    """The axes from `start_axis` to `end_axis` as one."""
    if x.ndim == 0:
        return reshape(x, (1,))
    first, last = _axis(start_axis, x.ndim, "flatten"), _axis(end_axis, x.ndim, "flatten")
    return reshape(x, (*x.shape[:first], -1, *x.shape[last + 1 :]) if 0 not in x.shape else (
        *x.shape[:first], _product(x.shape[first : last + 1]), *x.shape[last + 1 :]))


def _product(sizes: Sequence[Any]) -> Any:
    out: Any = 1
    for size in sizes:
        out = out * size
    return out


def ravel(x: Tensor, /) -> Tensor:
    """All elements in one axis."""
    return reshape(x, (x.size,))


def permute_dims(x: Tensor, /, axes: Any, *more: int) -> Tensor:
    """The axes in another order: axis i of the result was axis axes[i]."""
    order = (axes, *more) if more or not isinstance(axes, (tuple, list)) else axes
    order = _axes(tuple(order), x.ndim, "permute_dims")
    if len(order) != x.ndim:
        raise _errors.ValueError(
            f"permute_dims: {len(order)} axes for an array of rank {x.ndim}", _intaglio._user_line()
        )
    return x if order == tuple(range(x.ndim)) else _op.transpose(x, permutation=order)


def transpose(x: Tensor, /, axes: Any = None, *more: int) -> Tensor:
    """The axes reversed, or in the order `axes`."""
    return transpose_all(x) if axes is None else permute_dims(x, axes, *more)


def transpose_all(x: Tensor, /) -> Tensor:
    """The axes in reverse order."""
    return permute_dims(x, tuple(range(x.ndim - 1, -1, -1)))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise _errors.ShapeError(
            f"matrix_transpose: an array of rank {x.ndim} holds no matrices", _intaglio._user_line()
        )
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Some axes at other places, the rest in order."""
    old, new = _axes(source, x.ndim, "moveaxis"), _axes(destination, x.ndim, "moveaxis")
    if len(old) != len(new):
        raise _errors.ValueError("moveaxis: there are more sources or more destinations", _intaglio._user_line())
    order = [a for a in range(x.ndim) if a not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, tuple(order))


def swapaxes(x: Tensor, axis1: int, axis2: int, /) -> Tensor:
    """Two axes exchanged."""
    a, b = _axis(axis1, x.ndim, "swapaxes"), _axis(axis2, x.ndim, "swapaxes")
    order = list(range(x.ndim))
    order[a], order[b] = b, a
    return permute_dims(x, tuple(order))


def expand_dims(x: Tensor, /, axis: Any = 0) -> Tensor:
    """New axes of size 1 at these places of the result."""
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    places = _axes(axis, x.ndim + count, "expand_dims")
    sizes = list(x.shape)
    for place in sorted(places):
        sizes.insert(place, 1)
    return _op.reshape(x, shape=tuple(sizes))


def squeeze(x: Tensor, /, axis: Any = None) -> Tensor:
    """The array without these axes, which have size 1 (NumPy's default: all such axes)."""
    if axis is None:
        gone: tuple[int, ...] = tuple(i for i, s in enumerate(x.shape) if not isinstance(s, Dim) and s == 1)
    else:
        gone = _axes(axis, x.ndim, "squeeze")
        for a in gone:
            if x.shape[a] != 1:
                raise _errors.ValueError(
                    f"squeeze: axis {a} has size {x.shape[a]}, not 1", _intaglio._user_line()
                )
    return _op.reshape(x, shape=tuple(s for i, s in enumerate(x.shape) if i not in gone))


def broadcast_to(x: Tensor, /, shape: Any) -> Tensor:
    """The array repeated along axes of size 1, and along new axes in front, to this shape."""
    sizes = _sizes(shape)
    lead = len(sizes) - x.ndim
    if lead >= 0 and x.shape == sizes:
        return x
    if lead < 0:
        raise _errors.ShapeError(
            f"broadcast_to: an array of shape {list(x.shape)} does not broadcast to {list(sizes)}",
            _intaglio._user_line(),
        )
    for own, wanted in zip(x.shape, sizes[lead:], strict=True):
        if not (own == 1 or own == wanted):
            raise _errors.ShapeError(
                f"broadcast_to: an array of shape {list(x.shape)} does not broadcast to {list(sizes)}",
                _intaglio._user_line(),
                why=f"the size {own} is neither 1 nor {wanted}",
            )
    return _op.broadcast_in_dim(x, shape=sizes, broadcast_dimensions=tuple(range(lead, len(sizes))))


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape that arrays of these shapes broadcast to."""
    out: list[Any] = []
    for shape in map(_sizes, shapes):
        size = max(len(out), len(shape))
        a = [1] * (size - len(out)) + out
        b = [1] * (size - len(shape)) + list(shape)
        out = []
        for m, n in zip(a, b, strict=True):
            if not isinstance(m, Dim) and m == 1:
                out.append(n)
            elif (not isinstance(n, Dim) and n == 1) or m == n:
                out.append(m)
            else:
                raise _errors.ShapeError(f"broadcast_shapes: {a} and {b} do not broadcast", _intaglio._user_line())
    return tuple(out)


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """The arrays broadcast against one another."""
    shape = broadcast_shapes(*(a.shape for a in arrays))
    return tuple(broadcast_to(a, shape) for a in arrays)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The arrays joined along an axis that they have; None joins their flattened elements."""
    parts = [_array(a) for a in arrays]
    if not parts:
        raise _errors.ValueError("concat: there is no array to join", _intaglio._user_line())
    if axis is None:
        parts, axis = [ravel(a) for a in parts], 0
    wanted = _intaglio.result_type(*parts)
    parts = [astype(a, wanted) for a in parts]
    if len(parts) == 1:
        return parts[0]
    return _op.concatenate(parts, axis=_axis(axis, parts[0].ndim, "concat"))


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """The arrays, all of one shape, along a new axis."""
    parts = [_array(a) for a in arrays]
    if not parts:
        raise _errors.ValueError("stack: there is no array to join", _intaglio._user_line())
    for a in parts[1:]:
        if a.shape != parts[0].shape:
            raise _errors.ShapeError(
                f"stack: the shapes {list(parts[0].shape)} and {list(a.shape)} differ", _intaglio._user_line()
            )
    place = _axis(axis, parts[0].ndim + 1, "stack")
    return concat([expand_dims(a, place) for a in parts], axis=place)


def stack_nested(tree: Any, /) -> Tensor:
    """Arrays and numbers in nested lists as one array."""
    if isinstance(tree, (list, tuple)):
        return stack([stack_nested(item) for item in tree])
    return _array(tree)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of an array along an axis."""
    place = _axis(axis, x.ndim, "unstack")
    index: tuple[Any, ...] = (slice(None),) * place
    return tuple(x[(*index, i)] for i in range(_fixed(x.shape[place], "unstack")))


def split(x: Tensor, parts: int | Sequence[int], /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The array cut along an axis: into equal parts, or before each index of a sequence."""
    place = _axis(axis, x.ndim, "split")
    size = _fixed(x.shape[place], "split")
    if isinstance(parts, (tuple, list)):
        bounds = [0, *parts, size]
    else:
        if size % parts:
            raise _errors.ValueError(
                f"split: {parts} equal parts of an axis of size {size}", _intaglio._user_line()
            )
        bounds = list(range(0, size + 1, size // parts)) if size else [0] * (parts + 1)
    index: tuple[Any, ...] = (slice(None),) * place
    return tuple(x[(*index, slice(a, b))] for a, b in zip(bounds[:-1], bounds[1:], strict=True))


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The array with the order of elements reversed along these axes; None: along all."""
    axes = tuple(range(x.ndim)) if axis is None else _axes(axis, x.ndim, "flip")
    return _op.reverse(x, dimensions=tuple(sorted(axes)))


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """The elements moved along axes; what leaves at one end comes in at the other."""
    if axis is None:
        return reshape(roll(ravel(x), shift, axis=0), x.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    for by, a in zip(shifts, axes, strict=True):
        place = _axis(a, x.ndim, "roll")
        size = _fixed(x.shape[place], "roll")
        if size == 0 or by % size == 0:
            continue
        index: tuple[Any, ...] = (slice(None),) * place
        cut = size - by % size
        x = concat([x[(*index, slice(cut, None))], x[(*index, slice(None, cut))]], axis=place)
    return x


def repeat(x: Tensor, repeats: int, /, *, axis: int | None = None) -> Tensor:
    """Each element `repeats` times, next to itself."""
    if axis is None:
        x, axis = ravel(x), 0
    place = _axis(axis, x.ndim, "repeat")
    if isinstance(repeats, Tensor):
        counts = repeats.tolist()
        counts = counts if isinstance(counts, list) else [counts] * _fixed(x.shape[place], "repeat")
        return take(x, _intaglio.asarray([i for i, n in enumerate(counts) for _ in range(n)], dtype="int64"), axis=place)
    wide = expand_dims(x, place + 1)
    sizes = (*x.shape[: place + 1], operator.index(repeats), *x.shape[place + 1 :])
    out = broadcast_to(wide, sizes)
    return reshape(out, (*x.shape[:place], x.shape[place] * repeats, *x.shape[place + 1 :]))


def tile(x: Tensor, repetitions: Any, /) -> Tensor:
    """The array laid side by side."""
    counts = repetitions if isinstance(repetitions, (tuple, list)) else (repetitions,)
    counts = (1,) * (x.ndim - len(counts)) + tuple(counts)
    x = reshape(x, (1,) * (len(counts) - x.ndim) + tuple(x.shape))
    for axis, count in enumerate(counts):
        if count != 1:
            x = concat([x] * count, axis=axis) if count else x[(slice(None),) * axis + (slice(0, 0),)]
    return x


def take(x: Tensor, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """The elements (slices) of an axis at these indices."""
    if axis is None:
        if x.ndim != 1:
            raise _errors.ValueError(
                f"take: an array of rank {x.ndim} needs an axis", _intaglio._user_line(), hint="say axis=0"
            )
        axis = 0
    return x[(slice(None),) * _axis(axis, x.ndim, "take") + (_array(indices),)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """x[..., indices[..., j, ...], ...] along an axis, the other axes matched."""
    place = _axis(axis, x.ndim, "take_along_axis")
    indices = _array(indices)
    shape = broadcast_shapes(*(tuple(1 if i == place else s for i, s in enumerate(a.shape)) for a in (x, indices)))
    x = broadcast_to(x, tuple(x.shape[i] if i == place else s for i, s in enumerate(shape)))
    indices = broadcast_to(indices, tuple(indices.shape[i] if i == place else s for i, s in enumerate(shape)))
    key = []
    for i in range(x.ndim):
        if i == place:
            key.append(indices)
        else:
            key.append(reshape(arange(x.shape[i]), (1,) * i + (-1,) + (1,) * (x.ndim - i - 1)))
    return x[tuple(key)]


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The positions of the elements that are not zero, one array an axis. The size of the result is in the values, so
    the array must be concrete."""
    import numpy

    return tuple(_intaglio.asarray(part) for part in numpy.nonzero(x.numpy()))


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements, ascending. The array must be concrete."""
    import numpy

    return _intaglio.asarray(numpy.unique_values(x.numpy()))


def dim_min(a: Any, b: Any, /) -> Any:
    """The smaller of two sizes, symbolic ones included."""
    return _intaglio._dim_min(a, b)


def dim_max(a: Any, b: Any, /) -> Any:
    """The larger of two sizes, symbolic ones included."""
    return _intaglio._dim_max(a, b)


# NumPy's and torch's names for what has another name in the standard.
ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "concatenate": "concat",
    "power": "pow",
    "true_divide": "divide",
    "conjugate": "conj",
    "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod",
    "invert": "bitwise_invert",
    "bitwise_not": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "mod": "remainder",
    "rint": "round",
}

# Names that are functions of the module alone, since a method of the name would mean something else.
NOT_METHODS = {"full", "zeros", "ones", "empty", "arange", "linspace", "eye", "meshgrid", "can_cast", "isdtype",
               "broadcast_shapes", "broadcast_arrays", "stack_nested", "dim_min", "dim_max", "concat", "stack",
               "finfo", "iinfo", "where"}

PUBLIC = [
    "full", "zeros", "ones", "empty", "full_like", "zeros_like", "ones_like", "empty_like", "arange", "linspace",
    "eye", "tril", "triu", "meshgrid", "astype", "can_cast", "isdtype", "finfo", "iinfo", "reshape", "flatten",
    "ravel", "permute_dims", "transpose", "transpose_all", "matrix_transpose", "moveaxis", "swapaxes", "expand_dims",
    "squeeze", "broadcast_to", "broadcast_shapes", "broadcast_arrays", "concat", "stack", "stack_nested", "unstack",
    "split", "flip", "roll", "repeat", "tile", "take", "take_along_axis", "nonzero", "unique_values", "dim_min",
    "dim_max",
]


def install() -> dict[str, Any]:
    """Puts these functions where the op table has none of the name, makes methods, and gives all public names."""
    for name in PUBLIC:
        functions.setdefault(name, globals()[name])
    for alias, name in ALIASES.items():
        if name in functions:
            functions.setdefault(alias, functions[name])
    table = {decl["python"]: decl for decl in _intaglio.op_table() if decl["python"]}
    for name, function in functions.items():
        takes_array = not isinstance(function, type) and (name not in table or bool(table[name]["operands"]))
        if name in NOT_METHODS or not takes_array or name in Tensor.__dict__:
            continue
        if name in table and table[name]["operands"][0]["variadic"]:
            continue
        setattr(Tensor, name, function)
    return functions
