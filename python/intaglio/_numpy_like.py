"""NumPy's functions whose arguments say more than the attributes of an op: they are put together of ops here."""

from __future__ import annotations

import builtins
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from . import _errors, _functions, _intaglio
from ._functions import _array, _axis, _op, _sizes, arange, astype, concat, full

Tensor = _intaglio.Tensor
functions: dict[str, Any] = _intaglio.functions


# --- what NumPy adds to ops of the table -----------------------------------------------------------------------------


def _pairs(value: Any, rank: int, who: str) -> list[tuple[Any, Any]]:
    """NumPy's ways to give two numbers for each axis: one for all, a pair for all, or a pair each."""
    if not isinstance(value, (tuple, list)):
        return [(value, value)] * rank
    items = list(value)
    if items and all(isinstance(item, (tuple, list)) and len(item) in (1, 2) for item in items):
        pairs = [(item[0], item[-1]) for item in items]
        if len(pairs) in (1, rank):
            return pairs * rank if len(pairs) == 1 else pairs
    elif len(items) in (1, 2) and not any(isinstance(item, (tuple, list)) for item in items):
        return [(items[0], items[-1])] * rank
    raise _errors.ValueError(
        f"{who}: {value!r} is given for an array of {rank} axes",
        _intaglio._user_line(),
        why="there is one pair for each axis: what comes before it, and what behind",
        hint="write ((1, 2), (0, 0)) for two axes, a pair for all axes, or a number",
    )


def pad(x: Tensor, pad_width: Any, /, mode: str = "constant", *, constant_values: Any = 0) -> Tensor:
    """The array with elements around it.

    `pad_width` is a number, a pair (before, after) for all axes, or a pair for each. `mode` is "constant" (with
    `constant_values`, given likewise), "edge", "reflect", "symmetric" or "wrap".
    """
    x = _array(x)
    if isinstance(pad_width, dict):  # by axis
        given = {_axis(axis, x.ndim, "pad"): width for axis, width in pad_width.items()}
        pad_width = [given.get(axis, (0, 0)) for axis in range(x.ndim)]
        pad_width = [width if isinstance(width, (tuple, list)) else (width, width) for width in pad_width]
    try:
        widths = [(operator.index(a), operator.index(b)) for a, b in _pairs(pad_width, x.ndim, "pad")]
    except builtins.TypeError:
        raise _errors.TypeError(
            f"pad: the widths {pad_width!r} are no integers",
            _intaglio._user_line(),
            why="a width counts the elements that are put there",
            hint="give integers, such as ((1, 2), (0, 0))",
        ) from None
    low, high = [a for a, _ in widths], [b for _, b in widths]
    if mode != "constant":
        return _op.pad_array(x, low=low, high=high, mode=mode)
    values = _pairs(constant_values, x.ndim, "pad")
    if len({id(value) if isinstance(value, Tensor) else value for pair in values for value in pair}) <= 1:
        value = values[0][0] if values else 0
        return _op.pad_array(x, _intaglio.asarray(value, dtype=x.dtype), low=low, high=high)
    for axis, pair in enumerate(values):
        for side, value in enumerate(pair):
            sizes = [[0] * x.ndim, [0] * x.ndim]
            sizes[side][axis] = widths[axis][side]
            x = _op.pad_array(x, _intaglio.asarray(value, dtype=x.dtype), low=sizes[0], high=sizes[1])
    return x


def round(x: Tensor, /, decimals: int = 0) -> Tensor:
    """The nearest whole number, of two equally near the even one; or the nearest with so many decimals."""
    if not decimals:
        return _op.round_nearest_even(x)
    if _array(x).dtype.kind not in ("real floating", "complex floating"):
        return x if decimals > 0 else _rounded_integers(x, 10**-decimals)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return _op.round_nearest_even(x * scale) / scale
    return _op.round_nearest_even(x / scale) * scale


def _rounded_integers(x: Tensor, scale: int) -> Tensor:
    low = x // scale * scale
    rest = x - low
    up = (rest * 2 > scale) | ((rest * 2 == scale) & (low // scale % 2 == 1))
    return functions["where"](up, low + scale, low)


def diff(x: Tensor, /, n: int = 1, axis: int = -1, *, prepend: Any = None, append: Any = None) -> Tensor:
    """The differences of neighbours along an axis, taken n times; `prepend` and `append` are joined to it first."""
    x = _array(x)
    parts = [x]
    for in_front, more in ((True, prepend), (False, append)):
        if more is None:
            continue
        more = _array(more)
        if more.ndim == 0:
            shape = list(x.shape)
            shape[_axis(axis, x.ndim, "diff")] = 1
            more = functions["broadcast_to"](more, shape=tuple(shape))
        parts.insert(0 if in_front else len(parts), more)
    return _op.diff(concat(parts, axis=axis) if len(parts) > 1 else x, axis=axis, n=n)


def average(
    x: Tensor,
    /,
    axis: Any = None,
    weights: Any = None,
    returned: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Any:
    """The mean of the elements along these axes, each times its weight; with `returned`, and the sum of the weights."""
    x = _array(x)
    weights = None if weights is None else astype(_array(weights), x.dtype)
    out = _op.average(x, weights, axis=axis, keepdims=keepdims)
    if not returned:
        return out
    if weights is None:
        weights = _functions.ones_like(x)
    elif weights.ndim == 1 and x.ndim > 1:
        shape = [1] * x.ndim
        shape[_axis(axis, x.ndim, "average")] = weights.shape[0]
        weights = functions["broadcast_to"](weights.reshape(tuple(shape)), shape=x.shape)
    return out, _functions.sum(weights, axis=axis, keepdims=keepdims)


def _shares(q: Any) -> Tensor:
    return astype(q, "float64") if isinstance(q, Tensor) else _intaglio.asarray(q, dtype="float64")


def quantile(x: Tensor, q: Any, /, axis: Any = None, keepdims: builtins.bool = False, method: str = "linear") -> Tensor:
    """What the share `q` (0 to 1; one, or an axis of them) of the elements along these axes is not above."""
    return _op.quantile(x, _shares(q), axis=axis, keepdims=keepdims, method=method)


def percentile(
    x: Tensor, q: Any, /, axis: Any = None, keepdims: builtins.bool = False, method: str = "linear"
) -> Tensor:
    """As `quantile`, of percentages (0 to 100)."""
    return _op.percentile(x, _shares(q), axis=axis, keepdims=keepdims, method=method)


def cov(
    x: Tensor,
    y: Any = None,
    /,
    rowvar: builtins.bool = True,
    bias: builtins.bool = False,
    ddof: int | None = None,
) -> Tensor:
    """The covariances of variables in rows (or columns, with `rowvar=False`); those of `y` come behind.

    Divided by the number of observations less `ddof`: by default 1, and 0 with `bias`.
    """
    less = float(ddof if ddof is not None else 0 if bias else 1)
    return _op.cov(_with_variables(x, y, rowvar, "cov"), rowvar=rowvar or y is not None, ddof=less)


def corrcoef(x: Tensor, y: Any = None, /, rowvar: builtins.bool = True) -> Tensor:
    """The correlations of variables in rows (or columns, with `rowvar=False`); those of `y` come behind."""
    return _op.corrcoef(_with_variables(x, y, rowvar, "corrcoef"), rowvar=rowvar or y is not None)


def _with_variables(x: Any, y: Any, rowvar: builtins.bool, who: str) -> Tensor:
    x = _array(x)
    if y is None:
        return x
    rows = [_rows(_array(part), rowvar, who) for part in (x, y)]
    return concat(rows, axis=0)


def _rows(x: Tensor, rowvar: builtins.bool, who: str) -> Tensor:
    if x.ndim > 2:
        raise _errors.ShapeError(
            f"{who}: needs [variables, observations], got an array of {x.ndim} axes",
            _intaglio._user_line(),
            why="one axis holds the variables, the other one their observations",
            hint="reshape the array to two axes",
        )
    x = x[None] if x.ndim == 1 else x if rowvar else functions["matrix_transpose"](x)
    return x


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Tensor:
    """The piecewise linear curve through the points (xp, fp) at x; xp ascends.

    Outside of the points it is `left` and `right`, or the value of the nearest one. With a `period`, the points may
    stand in any order, and the curve repeats.
    """
    x, xp, fp = (_floating(_array(v)) for v in (x, xp, fp))
    if period is None:
        given = [None if v is None else _intaglio.asarray(v, dtype=fp.dtype) for v in (left, right)]
        if given[0] is None and given[1] is not None:
            given[0] = fp[0]
        return _op.interp(x, xp, fp, *given)
    x, xp = x % period, xp % period
    order = functions["argsort"](xp)
    xp, fp = functions["take"](xp, order, axis=0), functions["take"](fp, order, axis=0)
    xp = concat([xp[-1:] - period, xp, xp[:1] + period], axis=0)
    return _op.interp(x, xp, concat([fp[-1:], fp, fp[:1]], axis=0))


def _floating(x: Tensor) -> Tensor:
    return x if x.dtype.kind in ("real floating", "complex floating") else astype(x, "float32")


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Tensor:
    """How often each of the numbers 0, 1, … stands in `x`, or the sums of their weights.

    The result holds the numbers below `length`. Without it, it holds all, and at least `minlength`: the greatest is
    read off, so in a jitted function another one records it anew.
    """
    x = _array(x)
    if length is None:
        greatest = int(functions["max"](x)) + 1 if x.size else 0
        length = builtins.max(greatest, minlength)
    return _op.bincount(x, None if weights is None else _array(weights), length=length)


def histogram_bin_edges(x: Any, bins: Any = 10, range: Any = None) -> Tensor:
    """The edges of `bins` equal bins from the least element to the greatest, or over `range`; edges stay."""
    x = _floating(_array(x))
    if isinstance(bins, (Tensor, Sequence)) and not isinstance(bins, str):
        return astype(_array(bins), x.dtype)
    try:
        count = operator.index(bins)
    except builtins.TypeError:
        count = 0
    if count < 1:
        raise _errors.ValueError(
            f"histogram: bins is {bins!r}",
            _intaglio._user_line(),
            why="it is how many bins there are, or an array of their edges",
            hint="give a number of 1 or more; rules by name, such as 'auto', are not here",
        )
    if range is not None:
        low, high = (_intaglio.asarray(float(v), dtype=x.dtype) for v in range)
    elif isinstance(x.size, int) and x.size == 0:
        low, high = _functions.zeros((), dtype=x.dtype), _functions.ones((), dtype=x.dtype)
    else:
        low, high = functions["min"](x), functions["max"](x)
    same = low == high
    low, high = functions["where"](same, low - 0.5, low), functions["where"](same, high + 0.5, high)
    steps = astype(arange(count + 1), x.dtype) / count
    edges = low + (high - low) * steps
    return functions["where"](arange(count + 1) == count, high, edges)


def histogram(
    x: Any, bins: Any = 10, range: Any = None, density: builtins.bool | None = None, weights: Any = None
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each bin, and the bins' edges.

    `bins` is a number of equal bins over `range` (by default from the least element to the greatest), or an array of
    edges. With `density` the counts are divided by their sum and the widths.
    """
    x = _floating(_array(x))
    edges = histogram_bin_edges(x, bins, range)
    weights = None if weights is None else _array(weights)
    counts = _op.histogram_counts(x, edges, weights)
    if not density:
        return counts, edges
    counts = astype(counts, edges.dtype)
    return counts / (edges[1:] - edges[:-1]) / _functions.sum(counts), edges


def gradient(f: Any, /, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slopes of the samples `f` along each axis: an array, or a tuple of one for each.

    `spacing` is the distance of the samples, or one for each axis, or where they were taken along it.
    """
    f = _floating(_array(f))
    axes = tuple(builtins.range(f.ndim)) if axis is None else _functions._axes(axis, f.ndim, "gradient")
    if len(spacing) not in (0, 1, len(axes)):
        raise _errors.TypeError(
            f"gradient: {len(spacing)} distances are given for {len(axes)} axes",
            _intaglio._user_line(),
            why="there is one for all axes, or one for each",
            hint="give one number, or a number or array for each axis",
        )
    steps: Any = spacing if len(spacing) == len(axes) else spacing * len(axes) or (None,) * len(axes)
    out = [
        _op.gradient_along(
            f, None if step is None else _intaglio.asarray(step, dtype=f.dtype), axis=a, edge_order=edge_order
        )
        for a, step in zip(axes, steps, strict=True)
    ]
    return out[0] if len(out) == 1 else tuple(out)


def tensordot(x: Any, y: Any, /, axes: Any = 2, *, x_axes: Any = None, y_axes: Any = None) -> Tensor:
    """Sums of products over pairs of axes.

    `axes` is how many of the last axes of x go with the first ones of y, or the pair of the axes of x and of y.
    """
    x, y = _array(x), _array(y)
    if x_axes is None and y_axes is None:
        if isinstance(axes, int):
            x_axes, y_axes = tuple(builtins.range(x.ndim - axes, x.ndim)), tuple(builtins.range(axes))
        else:
            x_axes, y_axes = ((a,) if isinstance(a, int) else tuple(a) for a in axes)
    return _op.tensordot(x, y, x_axes=x_axes, y_axes=y_axes)


def trapezoid(y: Any, /, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The area under the samples `y` along an axis, by trapezes; they were taken at `x`, or `dx` apart."""
    y = _floating(_array(y))
    return _op.trapezoid(y, None if x is None else astype(_array(x), y.dtype), dx=float(dx), axis=axis)


# --- functions of functions ------------------------------------------------------------------------------------------


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`func1d(row, *args, **kwargs)` for each row along an axis, all together; its result takes the axis's place."""
    from ._vmap import vmap

    x = _array(arr)
    place = _axis(axis, x.ndim, "apply_along_axis")
    function: Any = lambda row: func1d(row, *args, **kwargs)  # noqa: E731
    # The axes behind the row's go in last and come out behind its result; those in front come out in front.
    for _ in builtins.range(x.ndim - place - 1):
        function = vmap(function, in_axes=-1, out_axes=-1)
    for _ in builtins.range(place):
        function = vmap(function)
    return function(x)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kwargs: Any) -> Tensor:
    """The functions (or numbers) of `funclist`, each where its condition holds, the last one that does counting; one
    more is for where none does."""
    x = _array(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    values = [f(x, *args, **kwargs) if callable(f) else f for f in funclist]
    if len(values) not in (len(conditions), len(conditions) + 1):
        raise _errors.ValueError(
            f"piecewise: {len(values)} functions for {len(conditions)} conditions",
            _intaglio._user_line(),
            why="there is one for each condition, and perhaps one for all other places",
            hint="give as many functions as conditions, or one more",
        )
    out = astype(_array(values.pop() if len(values) > len(conditions) else 0), x.dtype)
    out = functions["broadcast_to"](out, shape=x.shape)
    for condition, value in zip(conditions, values, strict=True):
        out = functions["where"](condition, astype(_array(value), x.dtype), out)
    return out


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """At each place the choice whose condition is the first that holds there; else `default`."""
    if len(condlist) != len(choicelist) or not condlist:
        raise _errors.ValueError(
            f"select: {len(choicelist)} choices for {len(condlist)} conditions",
            _intaglio._user_line(),
            why="each choice has its condition",
            hint="give as many of both, at least one",
        )
    out = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        out = functions["where"](condition, choice, out)
    return _array(out)


# --- pairs, ranks, parts ---------------------------------------------------------------------------------------------


def divmod(x: Any, y: Any, /) -> tuple[Tensor, Tensor]:
    """The quotient rounded down, and what is left."""
    return functions["floor_divide"](x, y), functions["remainder"](x, y)


def modf(x: Any, /) -> tuple[Tensor, Tensor]:
    """What stands behind the point, and the whole part, both with the number's sign."""
    x = _array(x)
    whole = functions["trunc"](x)
    rest = functions["where"](functions["isinf"](x), 0.0, x - whole)
    return functions["copysign"](rest, x), whole


def _of_rank(arrays: Sequence[Any], shape: Callable[[Tensor], tuple[Any, ...]]) -> Any:
    out = [_op.reshape(a, shape=shape(a)) for a in map(_array, arrays)]
    return out[0] if len(out) == 1 else tuple(out)


def atleast_1d(*arrays: Any) -> Any:
    """The arrays with at least one axis."""
    return _of_rank(arrays, lambda a: tuple(a.shape) or (1,))


def atleast_2d(*arrays: Any) -> Any:
    """The arrays with at least two axes; one of one axis is a row."""
    return _of_rank(arrays, lambda a: (1,) * builtins.max(2 - a.ndim, 0) + tuple(a.shape))


def atleast_3d(*arrays: Any) -> Any:
    """The arrays with at least three axes: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1]."""

    def shape(a: Tensor) -> tuple[Any, ...]:
        front = (1,) * builtins.max(2 - a.ndim, 0) + tuple(a.shape)
        return front + (1,) * builtins.max(3 - len(front), 0)

    return _of_rank(arrays, shape)


def array_split(x: Tensor, parts: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
    """As `split`, into parts whose sizes differ by one at most."""
    if isinstance(parts, (tuple, list)):
        return _functions.split(x, parts, axis=axis)
    size = operator.index(x.shape[_axis(axis, x.ndim, "array_split")])
    each, more = builtins.divmod(size, operator.index(parts))
    bounds = list(itertools.accumulate([each + 1] * more + [each] * (parts - more)))
    return _functions.split(x, bounds[:-1], axis=axis)


def hsplit(x: Tensor, parts: Any, /) -> tuple[Tensor, ...]:
    """`split` along the second axis, or the only one."""
    return _functions.split(x, parts, axis=0 if x.ndim == 1 else 1)


def vsplit(x: Tensor, parts: Any, /) -> tuple[Tensor, ...]:
    """`split` along the first axis."""
    return _functions.split(x, parts, axis=0)


def dsplit(x: Tensor, parts: Any, /) -> tuple[Tensor, ...]:
    """`split` along the third axis."""
    return _functions.split(x, parts, axis=2)


# --- creation --------------------------------------------------------------------------------------------------------


def tri(n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype: Any = None) -> Tensor:
    """Ones on and below the k-th diagonal, zeros above."""
    columns = n_rows if n_cols is None else n_cols
    return astype(arange(n_rows)[:, None] + k >= arange(columns)[None, :], "float32" if dtype is None else dtype)


def identity(n: int, /, dtype: Any = None) -> Tensor:
    """Ones on the diagonal of a square, zeros elsewhere."""
    return _functions.eye(n, dtype=dtype)


def logspace(
    start: Any, stop: Any, /, num: int = 50, *, endpoint: builtins.bool = True, base: float = 10.0, dtype: Any = None
) -> Tensor:
    """`num` numbers from base ** start to base ** stop, evenly spaced by their logarithms."""
    powers = _functions.linspace(start, stop, num, endpoint=endpoint, dtype="float64")
    out = functions["pow"](full((), base, dtype="float64"), powers)
    return astype(out, "float32" if dtype is None else dtype)


def geomspace(start: Any, stop: Any, /, num: int = 50, *, endpoint: builtins.bool = True, dtype: Any = None) -> Tensor:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before."""
    first, last = float(start), float(stop)
    if first * last <= 0:
        raise _errors.ValueError(
            f"geomspace: from {first} to {last}",
            _intaglio._user_line(),
            why="numbers of one sign, none of them 0, have multiples between them",
            hint="give two numbers of one sign",
        )
    ratios = _functions.linspace(0.0, 1.0, num, endpoint=endpoint, dtype="float64")
    out = functions["pow"](full((), last / first, dtype="float64"), ratios) * first
    if endpoint and num > 1:
        out = functions["where"](arange(num) == num - 1, last, out)
    return astype(out, "float32" if dtype is None else dtype)


def vander(x: Any, /, n: int | None = None, *, increasing: builtins.bool = False) -> Tensor:
    """The powers of a row's elements as columns, the highest first; `n` of them, by default as many as elements."""
    x = _array(x)
    count = operator.index(x.shape[0]) if n is None else n
    columns = [_functions.ones_like(x)]
    for _ in builtins.range(count - 1):
        columns.append(columns[-1] * x)
    if not count:
        return _functions.zeros((x.shape[0], 0), dtype=x.dtype)
    return _functions.stack(columns if increasing else columns[::-1], axis=1)


def indices(dimensions: Any, /, dtype: Any = "int64") -> Tensor:
    """The places of an array of these sizes: along each axis, one array in front."""
    sizes = _sizes(dimensions)
    return _functions.stack([_op.iota(shape=sizes, dtype=dtype, axis=axis) for axis in builtins.range(len(sizes))])


def diag_indices(n: int, ndim: int = 2, /) -> tuple[Tensor, ...]:
    """The places of the diagonal of an array with `ndim` axes of size `n`."""
    return (arange(n),) * ndim


def _triangle(n: int, k: int, m: int | None, lower: builtins.bool) -> tuple[Tensor, Tensor]:
    columns = n if m is None else m
    places = [
        (i, j) for i in builtins.range(n) for j in builtins.range(columns) if (j <= i + k if lower else j >= i + k)
    ]
    return tuple(_intaglio.asarray([p[axis] for p in places], dtype="int64") for axis in (0, 1))  # type: ignore[return-value]


def tril_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The places on and below the k-th diagonal of an array [n, m]."""
    return _triangle(n, k, m, True)


def triu_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The places on and above the k-th diagonal of an array [n, m]."""
    return _triangle(n, k, m, False)


def bitwise_count(x: Any, /) -> Tensor:
    """How many bits of each integer's size (of -3: of 3) are set, as uint8."""
    return astype(functions["population_count"](functions["abs"](_array(x))), "uint8")


def fabs(x: Any, /) -> Tensor:
    """The size of each element, as a float."""
    return functions["abs"](_floating(_array(x)))


ALIASES = {
    "amax": "max",
    "amin": "min",
    "around": "round",
    "degrees": "rad2deg",
    "fix": "trunc",
    "radians": "deg2rad",
}

# Functions of the module alone, since the first argument is no array or a method would mean something else.
NOT_METHODS = {
    "apply_along_axis",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "diag_indices",
    "divmod",
    "geomspace",
    "gradient",
    "identity",
    "indices",
    "interp",
    "logspace",
    "piecewise",
    "select",
    "tri",
    "tril_indices",
    "triu_indices",
    "vander",
}

# Of the table, with more to say than its declaration; and of this file alone.
WRAPPERS = [
    "average",
    "bincount",
    "corrcoef",
    "cov",
    "diff",
    "interp",
    "pad",
    "percentile",
    "quantile",
    "round",
    "tensordot",
    "trapezoid",
]
PUBLIC = [
    "apply_along_axis",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "bitwise_count",
    "diag_indices",
    "divmod",
    "dsplit",
    "fabs",
    "geomspace",
    "gradient",
    "histogram",
    "histogram_bin_edges",
    "hsplit",
    "identity",
    "indices",
    "logspace",
    "modf",
    "piecewise",
    "select",
    "tri",
    "tril_indices",
    "triu_indices",
    "vander",
    "vsplit",
]


def install() -> None:
    """Puts these functions among the public ones, before they become methods."""
    for name in (*WRAPPERS, *PUBLIC):
        functions[name] = globals()[name]
    _functions.ALIASES.update(ALIASES)
    _functions.NOT_METHODS.update(NOT_METHODS)
