"""Public functions that are written on ops: creation, shapes, and what the array API asks for beside the op table.

Functions that are ops of the table alone are not here: they are made from their declarations.
"""

from __future__ import annotations

import builtins
import itertools
import operator
from collections.abc import Sequence
from typing import Any, ClassVar

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
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        sizes = tuple(s if isinstance(s, Dim) else operator.index(s) for s in given)
    except builtins.TypeError:
        raise _errors.TypeError(
            f"a shape must be an integer or a tuple of integers, not {shape!r}",
            _intaglio._user_line(),
            why="each size counts the elements along an axis",
            hint="write (2, 3) for two rows of three",
        ) from None
    for size in sizes:
        if not isinstance(size, Dim) and size < 0:
            raise _errors.ShapeError(
                f"the shape {sizes} has a negative size",
                _intaglio._user_line(),
                why="each size counts the elements along an axis",
                hint="only ig.reshape takes -1, for the size that follows from the others",
            )
    return sizes


def _axis(axis: int, rank: int, who: str) -> int:
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        raise _errors.IndexError(
            f"{who}: the axis {axis} is out of range for an array of rank {rank}",
            _intaglio._user_line(),
            why="an axis is named by its position, or by its distance from the end as a negative number",
            hint=f"axes go from {-rank} to {rank - 1}" if rank else "an array of rank 0 has no axes",
        )
    return axis % rank


def _axes(axis: Any, rank: int, who: str) -> tuple[int, ...]:
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    out = tuple(_axis(a, rank, who) for a in given)
    if len(set(out)) != len(out):
        raise _errors.ValueError(
            f"{who}: an axis is named twice in {tuple(given)}",
            _intaglio._user_line(),
            why="each axis can be meant once",
            hint="name it once; a negative axis counts from the end",
        )
    return out


def _array(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else _intaglio.asarray(x)


# --- creation ------------------------------------------------------------------------------------------------------


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """An array of this shape, all elements `fill_value`."""
    if device is None and (made := _intaglio._filled(shape, fill_value, dtype)) is not None:
        return made
    value = _intaglio.asarray(fill_value, dtype=dtype, device=device)
    return functions["broadcast_to"](value, shape=_sizes(shape))


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """An array of zeros; float32 unless `dtype` says otherwise."""
    return full(shape, False, dtype="float32" if dtype is None else dtype, device=device)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """An array of ones; float32 unless `dtype` says otherwise."""
    return full(shape, True, dtype="float32" if dtype is None else dtype, device=device)


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """An array of zeros: what is not written yet has a value too."""
    return zeros(shape, dtype=dtype, device=device)


def full_like(x: Tensor, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """An array of the shape and dtype of `x`, all elements `fill_value`."""
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros_like(x: Tensor, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Zeros in the shape and dtype of `x`."""
    return zeros(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def ones_like(x: Tensor, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Ones in the shape and dtype of `x`."""
    return ones(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def empty_like(x: Tensor, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Zeros in the shape and dtype of `x`."""
    return zeros_like(x, dtype=dtype, device=device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Evenly spaced numbers from `start` (or 0) up to and without `stop`."""
    if stop is None:
        start, stop = 0, start
    whole = all(isinstance(v, (int, Dim)) for v in (start, stop, step))
    if dtype is None:
        dtype = "int64" if whole else "float32"
    if step == 0:
        raise _errors.ValueError(
            "arange: the step is 0",
            _intaglio._user_line(),
            why="the numbers would never reach the end",
            hint="use a step of 1 or -1, or ig.full for equal numbers",
        )
    if any(isinstance(v, Dim) for v in (start, stop, step)):
        if isinstance(step, Dim) or isinstance(start, Dim):
            raise _errors.UnsupportedError(
                "arange: only the end may be a symbolic size",
                _intaglio._user_line(),
                why="the number of elements must be one formula of the sizes",
                hint="add the start afterwards, as in ig.arange(n) + start",
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
        raise _errors.ValueError(
            f"linspace: the number of elements is {num}",
            _intaglio._user_line(),
            why="there is no negative number of elements",
            hint="give 0 or more",
        )
    return _intaglio._linspace(start, stop, num, endpoint, "float32" if dtype is None else dtype)


def eye(n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    mask = arange(n_rows)[:, None] + k == arange(columns)[None, :]
    return astype(mask, "float32" if dtype is None else dtype)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate arrays of a grid."""
    if indexing not in ("xy", "ij"):
        raise _errors.ValueError(
            f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}",
            _intaglio._user_line(),
            why="'ij' puts the axes in the order of the arrays, 'xy' swaps the first two",
            hint="choose one of the two",
        )
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


# --- what the standard adds to ops of the table ----------------------------------------------------------------------


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The array converted to `dtype`: floats to integers saturate, NaN becomes 0."""
    return _intaglio._convert(x, dtype)


def concat(arrays: Sequence[Tensor], /, axis: int | None = 0) -> Tensor:
    """The arrays joined along an axis that they have; None joins their flattened elements."""
    parts = _promoted(arrays, "concat")
    if axis is None:
        parts, axis = [ravel(a) for a in parts], 0
    return parts[0] if len(parts) == 1 else _op.concat(parts, axis=axis)


def stack(arrays: Sequence[Tensor], /, axis: int = 0) -> Tensor:
    """The arrays, all of one shape, along a new axis."""
    return _op.stack(_promoted(arrays, "stack"), axis=axis)


def hstack(arrays: Sequence[Tensor], /) -> Tensor:
    """The arrays side by side: along the second axis, or the only one. One array is a sequence of its rows."""
    return _op.hstack(_promoted(arrays, "hstack"))


def vstack(arrays: Sequence[Tensor], /) -> Tensor:
    """The arrays one below the other, each as a row or as rows. One array is a sequence of its rows."""
    return _op.vstack(_promoted(arrays, "vstack"))


def dstack(arrays: Sequence[Tensor], /) -> Tensor:
    """The arrays behind one another: along the third axis. One array is a sequence of its rows."""
    return _op.dstack(_promoted(arrays, "dstack"))


def column_stack(arrays: Sequence[Tensor], /) -> Tensor:
    """The arrays as columns of a matrix; one of two axes is several. One array is a sequence of its rows."""
    return _op.column_stack(_promoted(arrays, "column_stack"))


def einsum(subscripts: str, /, *arrays: Tensor) -> Tensor:
    """Sums of products by names of axes, as in `einsum("bij,bjk->bik", x, y)`.

    An axis that the result does not name is summed over; a name twice in one array takes the diagonal; `...` stands for
    any axes, which broadcast. Without `->` the result has the names that stand once, in alphabetical order.
    """
    return _op.einsum(_promoted(arrays, "einsum"), subscripts=subscripts)


def expand_dims(x: Tensor, /, axis: Any = 0) -> Tensor:
    """New axes of size 1 at these places of the result."""
    if not isinstance(axis, (tuple, list)):
        return _op.expand_dims(x, axis=axis)
    for place in sorted(_axes(axis, x.ndim + len(axis), "expand_dims")):
        x = _op.expand_dims(x, axis=place)
    return x


def sort(
    x: Tensor, /, axis: int | None = -1, *, kind: str | None = None, descending: bool = False, stable: bool = True
) -> Tensor:
    """The array sorted along an axis, NaN last; None sorts its flattened elements. It is stable, whatever the kind."""
    if axis is None:
        x, axis = ravel(x), 0
    return _op.sort_array(x, axis=axis, descending=descending)


def argsort(
    x: Tensor, /, axis: int | None = -1, *, kind: str | None = None, descending: bool = False, stable: bool = True
) -> Tensor:
    """The indices that sort the array along an axis (None: its flattened elements); equal elements keep their order."""
    if axis is None:
        x, axis = ravel(x), 0
    return _op.argsort(x, axis=axis, descending=descending)


def sum(x: Tensor, /, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements along these axes; None: of all. Small integers and bools are summed in 64 bits.

    With `dtype` the elements are converted first, and the sum is of that type.
    """
    if dtype is None and x.dtype.kind == "bool":  # converts and adds in one kernel
        return _op.count_nonzero(x, axis=axis, keepdims=keepdims)
    out = _op.sum(_accumulated(x, dtype), axis=axis, keepdims=keepdims)
    return out if dtype is None else astype(out, dtype)  # 64 bits cut off are those of a sum in fewer


def prod(x: Tensor, /, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product of the elements along these axes; None: of all. Small integers are multiplied in 64 bits.

    With `dtype` the elements are converted first, and the product is of that type.
    """
    out = _op.prod(_accumulated(x, dtype), axis=axis, keepdims=keepdims)
    return out if dtype is None else astype(out, dtype)


def cumulative_sum(x: Tensor, /, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """The running sums along an axis; with `include_initial` they start with 0."""
    return _cumulative(_op.cumulative_sum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x: Tensor, /, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """The running products along an axis; with `include_initial` they start with 1."""
    return _cumulative(_op.cumulative_prod, 1, x, axis, dtype, include_initial)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Each element, but no less than min and no more than max, where they are given; NaN where any of them is."""
    if min is not None and max is not None:
        return _op.clip(x, min, max)
    if min is not None:
        return functions["maximum"](x, min)
    return x if max is None else functions["minimum"](x, max)


def repeat(x: Tensor, repeats: Any, /, axis: int | None = None) -> Tensor:
    """Each element `repeats` times, next to itself; an array of counts must be concrete."""
    if axis is None:
        x, axis = ravel(x), 0
    if not isinstance(repeats, (Tensor, tuple, list)):
        return _op.repeat(x, repeats=repeats, axis=axis)
    counts = repeats.tolist() if isinstance(repeats, Tensor) else list(repeats)
    if not isinstance(counts, list):
        return _op.repeat(x, repeats=counts, axis=axis)
    index = [i for i, n in enumerate(counts) for _ in range(n)]
    return functions["take"](x, _intaglio.asarray(index, dtype="int64"), axis=axis)


def take(x: Tensor, indices: Any, /, axis: int | None = None) -> Tensor:
    """The slices of an axis at these indices; a negative one counts from the end."""
    if axis is None and x.ndim != 1:
        raise _errors.ValueError(
            f"take: an array of rank {x.ndim} needs an axis",
            _intaglio._user_line(),
            why="the elements have no one order over several axes",
            hint="say axis=0",
        )
    place = _axis(axis or 0, x.ndim, "take")
    index = _array(indices)
    if isinstance(indices, (list, tuple)) and not index.size:  # a list without elements has the dtype of floats
        index = astype(index, "int64")
    return x[(slice(None),) * place + (index,)]


def _promoted(arrays: Sequence[Any], who: str) -> list[Tensor]:
    try:
        given = iter(arrays)
    except builtins.TypeError:
        raise _errors.TypeError(
            f"{who}: {arrays!r} is no sequence of arrays",
            _intaglio._user_line(),
            why="several arrays are joined, so they come as a list or a tuple",
            hint=f"write ig.{who}([x, y])",
        ) from None
    parts = [_array(a) for a in given]
    if not parts:
        raise _errors.ValueError(
            f"{who}: there is no array to join",
            _intaglio._user_line(),
            why="the dtype and the shape of the result come from the arrays",
            hint="pass a list of one array or more",
        )
    first = parts[0].dtype
    if builtins.all(a.dtype is first for a in parts):
        return parts
    wanted = _intaglio._result_type(who, *parts)
    return [astype(a, wanted) for a in parts]


def _accumulated(x: Tensor, dtype: Any) -> Tensor:
    if dtype is not None:
        return astype(x, dtype)
    kind = x.dtype.kind
    if kind == "bool" or kind == "signed integer":
        return astype(x, "int64")
    return astype(x, "uint64") if kind == "unsigned integer" else x


def _cumulative(op: Any, start: int, x: Tensor, axis: int | None, dtype: Any, include_initial: bool) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise _errors.ValueError(
                f"a running fold of an array of rank {x.ndim} needs an axis",
                _intaglio._user_line(),
                why="the elements have no one order over several axes",
                hint="say axis=0",
            )
        axis = 0
    out = op(_accumulated(x, dtype), axis=axis)
    if not include_initial:
        return out
    place = _axis(axis, x.ndim, "cumulative")
    first = full((*x.shape[:place], 1, *x.shape[place + 1 :]), start, dtype=out.dtype)
    return concat([first, out], axis=place)


# --- dtypes --------------------------------------------------------------------------------------------------------


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

    _table: ClassVar[dict[str, tuple[int, float, float, float]]] = {
        "float16": (16, 2.0**-10, 65504.0, 2.0**-14),
        "bfloat16": (16, 2.0**-7, float.fromhex("0x1.fep+127"), 2.0**-126),
        "float32": (32, 2.0**-23, float.fromhex("0x1.fffffep+127"), 2.0**-126),
        "float64": (64, 2.0**-52, float.fromhex("0x1.fffffffffffffp+1023"), 2.0**-1022),
    }

    def __init__(self, type: Any) -> None:
        dtype = type.dtype if isinstance(type, Tensor) else _intaglio.dtype(type)
        real = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
        if real not in self._table:
            raise _errors.TypeError(
                f"finfo: {dtype.name} is no floating-point dtype",
                _intaglio._user_line(),
                why="integers have no precision to tell of",
                hint="use ig.iinfo for integers",
            )
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
            raise _errors.TypeError(
                f"iinfo: {dtype.name} is no integer dtype",
                _intaglio._user_line(),
                why="the limits of floats are described by more numbers",
                hint="use ig.finfo for floats",
            )
        self.dtype = dtype
        self.bits = dtype.itemsize * 8
        signed = isdtype(dtype, "signed integer")
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1

    def __repr__(self) -> str:
        return f"iinfo({self.dtype}, min={self.min}, max={self.max})"


# --- shapes --------------------------------------------------------------------------------------------------------


def flatten(x: Tensor, /, start_axis: int = 0, end_axis: int = -1) -> Tensor:
    """The axes from `start_axis` to `end_axis` as one."""
    if x.ndim == 0:
        return _op.reshape(x, shape=(1,))
    first, last = _axis(start_axis, x.ndim, "flatten"), _axis(end_axis, x.ndim, "flatten")
    joined: Any = 1
    for size in x.shape[first : last + 1]:
        joined = joined * size
    return _op.reshape(x, shape=(*x.shape[:first], joined, *x.shape[last + 1 :]))


def ravel(x: Tensor, /) -> Tensor:
    """All elements in one axis."""
    return _op.reshape(x, shape=(x.size,))


def transpose(x: Tensor, /, axes: Any = None, *more: int) -> Tensor:
    """The axes reversed, or in the order `axes`."""
    return transpose_all(x) if axes is None else functions["permute_dims"](x, axes, *more)


def transpose_all(x: Tensor, /) -> Tensor:
    """The axes in reverse order."""
    return functions["permute_dims"](x, tuple(range(x.ndim - 1, -1, -1)))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise _errors.ShapeError(
            f"matrix_transpose: an array of rank {x.ndim} holds no matrices",
            _intaglio._user_line(),
            why="a matrix has two axes",
            hint="add axes with x[None]",
        )
    return functions["permute_dims"](x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def swapaxes(x: Tensor, axis1: int, axis2: int, /) -> Tensor:
    """Two axes exchanged."""
    a, b = _axis(axis1, x.ndim, "swapaxes"), _axis(axis2, x.ndim, "swapaxes")
    order = list(range(x.ndim))
    order[a], order[b] = b, a
    return functions["permute_dims"](x, tuple(order))


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
                raise _errors.ShapeError(
                    f"broadcast_shapes: {a} and {b} do not broadcast",
                    _intaglio._user_line(),
                    why="axes are aligned at the end; sizes must be equal, or one of them 1",
                    hint="reshape one of the arrays",
                )
    return tuple(out)


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """The arrays broadcast against one another."""
    shape = broadcast_shapes(*(a.shape for a in arrays))
    return tuple(functions["broadcast_to"](a, shape=shape) for a in arrays)


def stack_nested(tree: Any, /) -> Tensor:
    """Arrays and numbers in nested lists as one array."""
    if isinstance(tree, (list, tuple)):
        return stack([stack_nested(item) for item in tree])
    return _array(tree)


def split(x: Tensor, parts: int | Sequence[int], /, axis: int = 0) -> tuple[Tensor, ...]:
    """The array cut along an axis: into equal parts, or before each index of a sequence."""
    place = _axis(axis, x.ndim, "split")
    size = operator.index(x.shape[place])
    if isinstance(parts, Sequence):
        bounds = [0, *parts, size]
    else:
        if size % parts:
            raise _errors.ValueError(
                f"split: {parts} equal parts of an axis of size {size}",
                _intaglio._user_line(),
                why="equal parts need a size that the number divides",
                hint="give the places to cut at as a list",
            )
        bounds = list(range(0, size + 1, size // parts)) if size else [0] * (parts + 1)
    index: tuple[Any, ...] = (slice(None),) * place
    return tuple(x[(*index, slice(a, b))] for a, b in itertools.pairwise(bounds))


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
NOT_METHODS = {
    "full",
    "zeros",
    "ones",
    "empty",
    "arange",
    "linspace",
    "eye",
    "meshgrid",
    "can_cast",
    "isdtype",
    "broadcast_shapes",
    "broadcast_arrays",
    "stack_nested",
    "dim_min",
    "dim_max",
    "concat",
    "stack",
    "hstack",
    "vstack",
    "dstack",
    "column_stack",
    "einsum",
    "finfo",
    "iinfo",
    "where",
    "complex",
}

PUBLIC = [
    "full",
    "zeros",
    "ones",
    "empty",
    "full_like",
    "zeros_like",
    "ones_like",
    "empty_like",
    "arange",
    "linspace",
    "eye",
    "meshgrid",
    "can_cast",
    "isdtype",
    "finfo",
    "iinfo",
    "flatten",
    "ravel",
    "transpose",
    "transpose_all",
    "matrix_transpose",
    "swapaxes",
    "broadcast_shapes",
    "broadcast_arrays",
    "stack_nested",
    "split",
    "dim_min",
    "dim_max",
]

# Public functions of the table whose standard signature says more than the op's attributes.
WRAPPERS = [
    "astype",
    "concat",
    "stack",
    "hstack",
    "vstack",
    "dstack",
    "column_stack",
    "einsum",
    "expand_dims",
    "sort",
    "argsort",
    "sum",
    "prod",
    "cumulative_sum",
    "cumulative_prod",
    "clip",
    "repeat",
    "take",
]


def install() -> dict[str, Any]:
    """Puts these functions where the op table has none of the name, makes methods, and gives all public names.

    The usual forms of those that are called most go to the op without Python.
    """
    for name in PUBLIC:
        functions.setdefault(name, globals()[name])
    for name in WRAPPERS:
        functions[name] = globals()[name]
    for name in ("sum", "prod"):
        functions[name] = _intaglio._fold_form(functions[name], getattr(_op, name))
    for name in ("concat", "stack"):
        functions[name] = _intaglio._join_form(functions[name], getattr(_op, name))
    for name, direct, count in (("where", _op.select, 3), ("clip", _op.clip, 3), ("astype", _intaglio._convert, 2)):
        functions[name] = _intaglio._count_form(functions[name], direct, count)
    for alias, name in ALIASES.items():
        if name in functions:
            functions.setdefault(alias, functions[name])
    table = {decl["python"]: decl for decl in _intaglio.op_table() if decl["python"]}
    for name, function in functions.items():
        operands = table[name]["operands"] if name in table else [{"variadic": False}]
        if "." in name or name in NOT_METHODS or name in Tensor.__dict__ or not operands or operands[0]["variadic"]:
            continue
        setattr(Tensor, name, function)
    return functions
