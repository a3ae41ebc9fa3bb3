"""Functions of numbers as NumPy has them, put together of ops: bits of floats, divisors, polynomials, windows, folds
that leave NaN out, and histograms of several variables."""

from __future__ import annotations

import builtins
import operator
from typing import Any, Literal

from . import _errors, _functions, _intaglio
from ._control import while_loop
from ._functions import _array, _axes, _axis, _promoted, arange, astype, concat, ravel
from ._numpy_like import _floating, _shares, histogram_bin_edges

Tensor = _intaglio.Tensor
functions: dict[str, Any] = _intaglio.functions


# --- whole numbers ---------------------------------------------------------------------------------------------------


def _whole(x: Any, y: Any, who: str) -> list[Tensor]:
    parts = _promoted([x, y], who)
    if parts[0].dtype.kind not in ("signed integer", "unsigned integer"):
        raise _errors.TypeError(
            f"{who}: expected integers, got {parts[0].dtype.name}",
            _intaglio._user_line(),
            why="divisors are a matter of whole numbers",
            hint="convert them: ig.astype(x, 'int64')",
        )
    return [functions["abs"](part) for part in _functions.broadcast_arrays(*parts)]


def gcd(x: Any, y: Any, /) -> Tensor:
    """The greatest number that divides both; 0 where both are 0."""
    a, b = _whole(x, y, "gcd")

    def going(pair: Any) -> Tensor:
        return functions["any"](pair[1] != 0)

    def step(pair: Any) -> Any:
        a, b = pair
        more = b != 0
        rest = a % functions["where"](more, b, 1)
        return functions["where"](more, b, a), functions["where"](more, rest, b)

    out: Tensor = while_loop(going, step, (a, b))[0]
    return out


def lcm(x: Any, y: Any, /) -> Tensor:
    """The least number that both divide; 0 where one is 0."""
    a, b = _whole(x, y, "lcm")
    divisor = gcd(a, b)
    return a // functions["where"](divisor == 0, 1, divisor) * b


# --- floats and their bits -------------------------------------------------------------------------------------------

# Of each type: its integers, the bits of the fraction, the bias of the exponent.
_LAYOUT = {"float32": ("int32", 23, 127), "float64": ("int64", 52, 1023)}


def _wide(x: Tensor) -> Tensor:
    return astype(x, "float32") if x.dtype.name in ("float16", "bfloat16") else x


def ldexp(x: Any, n: Any, /) -> Tensor:
    """x times 2 to the power of the integer n, rounded once."""
    x, n = _floating(_array(x)), astype(_array(n), "int64")
    wide = _wide(x)
    integer, fraction, bias = _LAYOUT[wide.dtype.name]
    most, least, digits = bias, 1 - bias, fraction + 1

    def power(count: Any) -> Tensor:  # 2 ** count, of a normal number
        bits = (astype(_array(count), integer) + bias) << fraction
        return functions["bitcast"](bits, dtype=wide.dtype)

    for _ in range(2):
        beyond = n > most
        wide = functions["where"](beyond, wide * power(most), wide)
        n = functions["where"](beyond, n - most, n)
        # Down in steps that keep all digits, so that what becomes subnormal is rounded by the last step alone.
        below = n < least
        wide = functions["where"](below, wide * power(least + digits), wide)
        n = functions["where"](below, n - (least + digits), n)
    return astype(wide * power(functions["clip"](n, least, most)), x.dtype)


def frexp(x: Any, /) -> tuple[Tensor, Tensor]:
    """Each number as a fraction from 0.5 up to 1 (or its negative) and a power of 2, an int32: x = m * 2**e."""
    x = _floating(_array(x))
    wide = _wide(x)
    integer, fraction, bias = _LAYOUT[wide.dtype.name]
    tiny = functions["abs"](wide) < 2.0 ** (1 - bias)
    scaled = functions["where"](tiny, wide * 2.0 ** (fraction + 2), wide)
    bits = functions["bitcast"](functions["stop_gradient"](scaled), dtype=integer)
    exponent = (bits >> fraction) & (2 * bias + 1)
    power = exponent - (bias - 1) - functions["where"](tiny, fraction + 2, 0)
    ordinary = (wide != 0) & functions["isfinite"](wide)
    power = astype(functions["where"](ordinary, power, 0), "int32")
    return astype(functions["where"](ordinary, ldexp(wide, -power), wide), x.dtype), power


def spacing(x: Any, /) -> Tensor:
    """The distance to the next number away from 0, with the sign of x."""
    x = _floating(_array(x))
    size = functions["abs"](x)
    gap = functions["nextafter"](size, functions["where"](functions["isnan"](x), x, float("inf"))) - size
    return functions["copysign"](gap, x)


def float_power(x: Any, y: Any, /) -> Tensor:
    """x to the power of y, in float64 or complex128."""
    wide = []
    for part in (_array(x), _array(y)):
        wide.append(astype(part, "complex128" if part.dtype.kind == "complex floating" else "float64"))
    return functions["pow"](*_promoted(wide, "float_power"))


def isreal(x: Any, /) -> Tensor:
    """Whether an element has no imaginary part."""
    return ~iscomplex(x)


def iscomplex(x: Any, /) -> Tensor:
    """Whether an element has an imaginary part that is not 0."""
    x = _array(x)
    if x.dtype.kind != "complex floating":
        return _functions.zeros(x.shape, dtype="bool")
    return x.imag != 0


def i0(x: Any, /) -> Tensor:
    """The modified Bessel function of the first kind and order 0: `ig.special.i0`, of whole numbers too."""
    out: Tensor = functions["special.i0"](_floating(_array(x)))
    return out


def unwrap(p: Any, /, discont: float | None = None, axis: int = -1, *, period: float = 6.283185307179586) -> Tensor:
    """Angles along an axis without jumps: each is moved by whole periods to within half of one from the one before."""
    p = _array(p)
    if p.dtype.kind not in ("signed integer", "real floating") or isinstance(period, float):
        p = _floating(p)
    half = period / 2 if p.dtype.kind == "real floating" else period // 2
    step = functions["diff"](p, axis=axis)
    near = (step + half) % period - half
    if p.dtype.kind == "real floating" or period % 2 == 0:
        near = functions["where"]((near == -half) & (step > 0), half, near)
    moved = functions["where"](functions["abs"](step) < (half if discont is None else discont), 0, near - step)
    place = _axis(axis, p.ndim, "unwrap")
    index: tuple[Any, ...] = (slice(None),) * place
    rest = p[(*index, slice(1, None))] + astype(_functions.cumulative_sum(moved, axis=place), p.dtype)
    return concat([p[(*index, slice(0, 1))], rest], axis=place)


def matvec(x: Any, y: Any, /) -> Tensor:
    """Matrices [..., m, n] times vectors [..., n]."""
    x, y = _promoted([x, y], "matvec")
    return functions["squeeze"](functions["matmul"](x, _functions.expand_dims(y, axis=-1)), axis=-1)


def vecmat(x: Any, y: Any, /) -> Tensor:
    """Vectors [..., n], conjugated, times matrices [..., n, m]."""
    x, y = _promoted([x, y], "vecmat")
    if x.dtype.kind == "complex floating":
        x = functions["conj"](x)
    return functions["squeeze"](functions["matmul"](_functions.expand_dims(x, axis=-2), y), axis=-2)


# --- folds that leave NaN out ----------------------------------------------------------------------------------------


def nancumsum(x: Any, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The running sums along an axis (None: of all elements in one row), with 0 in place of NaN."""
    return _running(_functions.cumulative_sum, x, axis, dtype, 0)


def nancumprod(x: Any, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The running products along an axis (None: of all elements in one row), with 1 in place of NaN."""
    return _running(_functions.cumulative_prod, x, axis, dtype, 1)


def _without_nan(x: Tensor, other: Any) -> Tensor:
    if x.dtype.kind not in ("real floating", "complex floating"):
        return x
    return functions["where"](functions["isnan"](x), other, x)


def _running(fold: Any, x: Any, axis: int | None, dtype: Any, other: int) -> Tensor:
    x = _without_nan(_array(x), other)
    out: Tensor = fold(ravel(x) if axis is None else x, axis=0 if axis is None else axis, dtype=dtype)
    return out


def nanargmax(x: Any, /, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the greatest element along an axis stands, NaN left out; -1 where all are NaN."""
    return _nan_place("argmax", x, axis, keepdims, float("-inf"))


def nanargmin(x: Any, /, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the least element along an axis stands, NaN left out; -1 where all are NaN."""
    return _nan_place("argmin", x, axis, keepdims, float("inf"))


def _nan_place(name: str, x: Any, axis: int | None, keepdims: bool, other: float) -> Tensor:
    x = _array(x)
    if x.dtype.kind != "real floating":
        return functions[name](x, axis=axis, keepdims=keepdims)
    missing = functions["isnan"](x)
    number = astype(~missing, "uint8")
    first = functions["argmax"](number, axis=axis, keepdims=keepdims)
    place = functions[name](functions["where"](missing, other, x), axis=axis, keepdims=keepdims)
    # An infinity may be the extreme one: then a NaN in front of it looks alike.
    rows, along = (ravel(missing), 0) if axis is None else (missing, axis)
    at = place.reshape((1,)) if axis is None else place if keepdims else _functions.expand_dims(place, axis=axis)
    wrong = functions["take_along_axis"](rows, at, axis=along).reshape(place.shape)
    if axis is None:
        infinite = functions["argmax"](astype(ravel(x == other), "uint8"), axis=0).reshape(place.shape)
    else:
        infinite = functions["argmax"](astype(x == other, "uint8"), axis=axis, keepdims=keepdims)
    none = functions["all"](missing, axis=axis, keepdims=keepdims)
    some = functions["any"](x == other, axis=axis, keepdims=keepdims)
    place = functions["where"](wrong, functions["where"](some, infinite, first), place)
    return functions["where"](none, -1, place)


Method = Literal["linear", "lower", "higher", "midpoint", "nearest"]


def nanquantile(x: Any, q: Any, /, axis: Any = None, keepdims: bool = False, method: Method = "linear") -> Tensor:
    """As `quantile`, of the elements that are not NaN; NaN where there is none."""
    if method not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise _errors.ValueError(
            f"nanquantile: the method is {method!r}",
            _intaglio._user_line(),
            why="it says what lies between two elements",
            hint="choose 'linear', 'lower', 'higher', 'midpoint' or 'nearest'",
        )
    x, q = _floating(_array(x)), _shares(q)
    axes = tuple(range(x.ndim)) if axis is None else _axes(axis, x.ndim, "nanquantile")
    kept = [i for i in range(x.ndim) if i not in axes]
    rows = functions["permute_dims"](x, (*kept, *axes)) if x.ndim else x
    outer = tuple(x.shape[i] for i in kept)
    rows = _functions.sort(rows.reshape((*outer, -1)), axis=-1)  # NaN last
    count = _functions.sum(astype(~functions["isnan"](rows), "int64"), axis=-1)
    shares = q.reshape((*q.shape, *(1,) * len(outer)))
    place = shares * astype(functions["maximum"](count - 1, 0), "float64")
    low, high = functions["floor"](place), functions["ceil"](place)
    share = place - low
    if method == "lower":
        high = low
    elif method == "higher":
        low = high
    elif method == "nearest":
        low = high = functions["round"](place)
    elif method == "midpoint":
        share = functions["where"](low == high, 0.0, 0.5)

    def element(index: Tensor) -> Tensor:
        wide = functions["broadcast_to"](rows, shape=(*q.shape, *rows.shape))
        return functions["take_along_axis"](wide, astype(index, "int64")[..., None], axis=-1)[..., 0]

    below, above = element(low), element(high)
    share = astype(share, x.dtype)
    out = below if method in ("lower", "higher", "nearest") else below + (above - below) * share
    out = functions["where"](below == above, below, out)
    if keepdims:
        out = out.reshape((*q.shape, *(1 if i in axes else n for i, n in enumerate(x.shape))))
    return out


def nanpercentile(x: Any, q: Any, /, axis: Any = None, keepdims: bool = False, method: Method = "linear") -> Tensor:
    """As `nanquantile`, of percentages (0 to 100)."""
    return nanquantile(x, _shares(q) / 100, axis=axis, keepdims=keepdims, method=method)


def nanmedian(x: Any, /, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The median of the elements that are not NaN."""
    return nanquantile(x, 0.5, axis=axis, keepdims=keepdims)


# --- histograms of several variables ---------------------------------------------------------------------------------


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Tensor, list[Tensor]]:
    """How many rows of `sample` [n, variables] lie in each bin, and the edges of the bins of each variable.

    `bins` is a number for all, or a number or edges for each; `range` a pair for each, or None.
    """
    if isinstance(sample, (list, tuple)):
        columns = [ravel(_floating(_array(part))) for part in sample]
    else:
        table = _floating(_array(sample))
        table = table[:, None] if table.ndim == 1 else table
        columns = [table[:, i] for i in builtins.range(operator.index(table.shape[1]))]
    count = len(columns)
    each = list(bins) if isinstance(bins, (list, tuple)) else [bins] * count
    spans = list(range) if range is not None else [None] * count
    if len(each) != count or len(spans) != count:
        raise _errors.ValueError(
            f"histogramdd: {len(each)} bins and {len(spans)} ranges for {count} variables",
            _intaglio._user_line(),
            why="each variable has its own bins",
            hint="give one number for all, or a number or edges for each",
        )
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(columns, each, spans, strict=True)]
    index: Any = 0
    inside: Any = True
    sizes = []
    for x, edge in zip(columns, edges, strict=True):
        size = operator.index(edge.shape[0]) - 1
        place = functions["searchsorted"](edge, x, side="right") - 1
        place = functions["where"](x == edge[-1], size - 1, place)
        inside = (place >= 0) & (place < size) & inside
        index = index * size + place
        sizes.append(size)
    total = 1
    for size in sizes:
        total *= size
    index = functions["where"](inside, index, -1)
    given = None if weights is None else _array(weights)
    counts = functions["bincount"](index, given, length=total).reshape(tuple(sizes))
    if density:
        counts = astype(counts, edges[0].dtype)
        counts = counts / _functions.sum(counts)
        for axis, edge in enumerate(edges):
            shape = [1] * count
            shape[axis] = -1
            counts = counts / (edge[1:] - edge[:-1]).reshape(tuple(shape))
    return counts, edges


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """How many pairs (x, y) lie in each bin, and the edges of the bins of x and of y."""
    given = bins
    if isinstance(bins, Tensor) or (isinstance(bins, (list, tuple)) and len(bins) != 2):
        given = [bins, bins]  # the same edges for both
    counts, edges = histogramdd([x, y], given, range, density, weights)
    return counts, edges[0], edges[1]


# --- polynomials: coefficients, the highest power first --------------------------------------------------------------


def _row(p: Any) -> Tensor:
    p = _array(p)
    return p.reshape((1,)) if p.ndim == 0 else p


def _aligned(p: Any, q: Any, who: str) -> list[Tensor]:
    parts = _promoted([_row(p), _row(q)], who)
    sizes = [operator.index(part.shape[0]) for part in parts]
    return [functions["pad"](part, (max(sizes) - n, 0)) for part, n in zip(parts, sizes, strict=True)]


def polyadd(p: Any, q: Any, /) -> Tensor:
    """The coefficients of the sum of two polynomials, the highest power first."""
    a, b = _aligned(p, q, "polyadd")
    return a + b


def polysub(p: Any, q: Any, /) -> Tensor:
    """The coefficients of the difference of two polynomials, the highest power first."""
    a, b = _aligned(p, q, "polysub")
    return a - b


def polymul(p: Any, q: Any, /) -> Tensor:
    """The coefficients of the product of two polynomials, the highest power first; zeros in front stay."""
    a, b = _promoted([_row(p), _row(q)], "polymul")
    return functions["convolve"](a, b)


def polydiv(p: Any, q: Any, /) -> tuple[Tensor, Tensor]:
    """The quotient of two polynomials, and what is left. The highest power first; zeros in front of the rest stay."""
    u, v = (_floating(part) for part in _promoted([_row(p), _row(q)], "polydiv"))
    m, n = operator.index(u.shape[0]) - 1, operator.index(v.shape[0]) - 1
    scale = 1 / v[0]
    quotient = []
    for k in range(m - n + 1):
        factor = scale * u[k]
        quotient.append(factor)
        less = functions["pad"](factor * v, (k, m - n - k))
        u = u - less
    return (_functions.stack(quotient) if quotient else _functions.zeros(1, dtype=u.dtype)), u


def polyder(p: Any, /, m: int = 1) -> Tensor:
    """The coefficients of the m-th derivative of a polynomial, the highest power first."""
    p = _row(p)
    for _ in range(_order_of(m, "polyder")):
        n = operator.index(p.shape[0]) - 1
        p = p[:-1] * astype(arange(n, 0, -1), p.dtype) if n >= 1 else p[:0]
    return p


def polyint(p: Any, /, m: int = 1, k: Any = 0) -> Tensor:
    """The coefficients of the m-th integral of a polynomial, the highest power first; `k` are the constants."""
    p = _floating(_row(p))
    count = _order_of(m, "polyint")
    constants = ravel(astype(_array(k), p.dtype))
    if constants.shape[0] == 1:
        constants = functions["broadcast_to"](constants, shape=(count,))
    if constants.shape[0] != count:
        raise _errors.ValueError(
            f"polyint: {constants.shape[0]} constants for {count} integrals",
            _intaglio._user_line(),
            why="each integral has its own constant",
            hint="give one for all, or one for each",
        )
    for i in range(count):
        n = operator.index(p.shape[0])
        p = concat([p / astype(arange(n, 0, -1), p.dtype), constants[i : i + 1]])
    return p


def _order_of(m: int, who: str) -> int:
    if operator.index(m) < 0:
        raise _errors.ValueError(
            f"{who}: the order is {m}",
            _intaglio._user_line(),
            why="it says how often the polynomial is differentiated or integrated",
            hint="give 0 or more",
        )
    return m


def roots(p: Any, /, *, strip_zeros: bool = True) -> Tensor:
    """The complex roots of a polynomial with these coefficients, the highest first, by its companion matrix.

    How many there are depends on leading and trailing zeros, so a traced `p` needs `strip_zeros=False`, as in JAX: then
    the first coefficient must not be 0.

    >>> import intaglio as ig
    >>> sorted(round(z.real, 4) for z in ig.roots(ig.asarray([1.0, -3.0, 2.0])).tolist())
    [1.0, 2.0]
    """
    p = _floating(_array(p))
    if p.ndim != 1:
        raise _errors.ShapeError(
            f"roots: coefficients of shape {tuple(p.shape)}",
            _intaglio._user_line(),
            why="they are the numbers before the powers, in a row",
            hint="give an array of one axis, the coefficient of the highest power first",
        )
    behind = 0
    if strip_zeros:
        if p.is_symbolic:
            raise _errors.CaptureError(
                "roots: the number of roots of a traced polynomial",
                _intaglio._user_line(),
                why="leading and trailing zeros are left out, and which there are is not known while capturing",
                hint="write ig.roots(p, strip_zeros=False), where the first coefficient is not 0",
            )
        places = [i for i, c in enumerate(p.tolist()) if c != 0]
        first, last = (places[0], places[-1]) if places else (0, -1)
        behind = p.shape[0] - 1 - last if places else 0
        p = p[first : last + 1]
    wide = astype(p, {"float16": "float32", "bfloat16": "float32"}.get(p.dtype.name, p.dtype))
    size = wide.shape[0] - 1
    zeros = functions["zeros"](
        (behind,), dtype="complex128" if wide.dtype.name in ("float64", "complex128") else "complex64"
    )
    if size < 1:
        return zeros
    head = -wide[1:] / wide[0]
    below = functions["eye"](size - 1, size, dtype=wide.dtype)
    found: Tensor = _functions._op.eigvals(functions["concat"]([head[None], below], axis=0))
    return functions["concat"]([found, zeros], axis=0) if behind else found


def poly(zeros: Any, /) -> Tensor:
    """The coefficients of the polynomial with these zeros, the highest power first."""
    zeros = _floating(_row(zeros))
    if zeros.ndim != 1:
        raise _errors.ShapeError(
            f"poly: the zeros have {zeros.ndim} axes",
            _intaglio._user_line(),
            why="they are the numbers where the polynomial is 0",
            hint="give a row; of a matrix, take its eigenvalues first",
        )
    out = _functions.ones(1, dtype=zeros.dtype)
    for i in range(operator.index(zeros.shape[0])):
        # Times (x - zero).
        out = functions["pad"](out, (0, 1)) - functions["pad"](out * zeros[i], (1, 0))
    return out


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: Any = None,
    full: builtins.bool = False,
    w: Any = None,
    cov: builtins.bool | Literal["unscaled"] = False,
) -> Any:
    """The polynomial of degree `deg` that is nearest to points in the sum of squares.

    Parameters
    ----------
    x : array [n]
    y : array [n] or [n, k]
        The values of one set of points, or of k.
    deg : int
    rcond : number
        Singular values of the scaled powers of `x` below `rcond` times the largest count as 0; by default n times the
        distance of 1 to the next number.
    full : bool
        To give the sums of squares that are left, the rank, the singular values and `rcond` too.
    w : array [n]
        What each difference is multiplied by, before it is squared.
    cov : bool or "unscaled"
        To give the covariance of the coefficients too; "unscaled": not multiplied by chi-square over the degrees of
        freedom.

    Returns
    -------
    array [deg + 1] or [deg + 1, k]
        The coefficients, the highest power first.

    Raises
    ------
    ShapeError
        Where the points are no rows of one length, or too few for `cov`.
    ValueError
        Where the degree is negative.

    Examples
    --------
    >>> x = ig.asarray([0.0, 1.0, 2.0, 3.0])
    >>> bool(ig.allclose(ig.polyfit(x, x * x * 2 + 1, 2), ig.asarray([2.0, 0.0, 1.0]), atol=1e-4))
    True
    """
    from . import linalg

    if operator.index(deg) < 0:
        raise _errors.ValueError(
            f"polyfit: the degree is {deg}",
            _intaglio._user_line(),
            why="it is the highest power of x",
            hint="give 0 for the mean, 1 for a line",
        )
    x, y = (_floating(part) for part in _promoted([x, y], "polyfit"))
    if x.ndim != 1 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0]:
        raise _errors.ShapeError(
            f"polyfit: x has the shape {list(x.shape)} and y {list(y.shape)}",
            _intaglio._user_line(),
            why="each of n points has a place x and a value y, or a row of values",
            hint="give x as [n] and y as [n] or [n, k]",
        )
    powers, values = functions["vander"](x, deg + 1), y
    if w is not None:
        weight = astype(_array(w), x.dtype)
        powers = powers * weight[:, None]
        values = values * (weight if y.ndim == 1 else weight[:, None])
    # Columns of length 1: the powers of large x would drown the others.
    scale = functions["sqrt"](functions["sum"](powers * powers, axis=0))
    scale = functions["where"](scale == 0, 1.0, scale)
    powers = powers / scale
    if rcond is None:
        rcond = operator.index(x.shape[0]) * _functions.finfo(x.dtype).eps
    found = linalg.lstsq(powers, values, rcond, numpy_resid=full)
    out = found[0] / (scale if y.ndim == 1 else scale[:, None])
    if full:
        return out, found[1], found[2], found[3], rcond
    if not cov:
        return out
    inverse = linalg.inv(powers.mT @ powers) / (scale[:, None] * scale)
    if cov != "unscaled":
        left = operator.index(x.shape[0]) - (deg + 1)
        if left <= 0:
            raise _errors.ShapeError(
                f"polyfit: {x.shape[0]} points for {deg + 1} coefficients",
                _intaglio._user_line(),
                why="the covariance is scaled by what is left over the points beyond the coefficients",
                hint='give more points, or cov="unscaled"',
            )
        rest = values - powers @ found[0]
        spread = functions["sum"](rest * rest, axis=0) / left
        return out, (inverse if y.ndim == 1 else inverse[:, :, None]) * spread
    return out, (inverse if y.ndim == 1 else inverse[:, :, None])


# --- windows ---------------------------------------------------------------------------------------------------------


def _window(m: int, by: Any, dtype: Any) -> Tensor:
    """A symmetric window of `m` points as a function of the places from -1 to 1, made in float64 and rounded once."""
    if operator.index(m) < 1:
        return _functions.zeros((0,), dtype=dtype)
    if m == 1:
        return _functions.ones((1,), dtype=dtype)
    return astype(by(astype(arange(1 - m, m, 2), "float64") / (m - 1)), dtype)


def _waves(x: Tensor, *shares: float) -> Tensor:
    out: Any = shares[0]
    for i, share in enumerate(shares[1:]):
        out = out + share * functions["cos"](3.141592653589793 * (i + 1) * x)
    return _array(out)


def bartlett(m: int, /, *, dtype: Any = "float32") -> Tensor:
    """The window of `m` points that rises and falls in a straight line, from and to 0."""
    return _window(m, lambda x: 1 - functions["abs"](x), dtype)


def blackman(m: int, /, *, dtype: Any = "float32") -> Tensor:
    """Blackman's window of `m` points: three cosines."""
    return _window(m, lambda x: _waves(x, 0.42, 0.5, 0.08), dtype)


def hamming(m: int, /, *, dtype: Any = "float32") -> Tensor:
    """Hamming's window of `m` points: a cosine on a step."""
    return _window(m, lambda x: _waves(x, 0.54, 0.46), dtype)


def hanning(m: int, /, *, dtype: Any = "float32") -> Tensor:
    """Hann's window of `m` points: a cosine from and to 0."""
    return _window(m, lambda x: _waves(x, 0.5, 0.5), dtype)


def kaiser(m: int, beta: Any, /, *, dtype: Any = "float32") -> Tensor:
    """Kaiser's window of `m` points: nearly the most energy in the middle, the more narrow the greater `beta`."""
    beta = _shares(beta)
    return _window(m, lambda x: i0(beta * functions["sqrt"](functions["maximum"](1 - x * x, 0.0))) / i0(beta), dtype)


PUBLIC = [
    "bartlett",
    "blackman",
    "float_power",
    "frexp",
    "gcd",
    "hamming",
    "hanning",
    "histogram2d",
    "histogramdd",
    "i0",
    "iscomplex",
    "isreal",
    "kaiser",
    "lcm",
    "ldexp",
    "matvec",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "roots",
    "spacing",
    "unwrap",
    "vecmat",
]


def install() -> None:
    """Puts these functions among the public ones, before they become methods."""
    for name in PUBLIC:
        functions[name] = globals()[name]
    _functions.NOT_METHODS.update(PUBLIC)
