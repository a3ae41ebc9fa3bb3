"""Linear algebra: the array API's extension `linalg`, and NumPy's functions of these names.

Matrices are the last two axes; the others are a batch, and broadcast. Float32 and float64, complex64 and complex128.
All of it is differentiable, and goes under `ig.vmap` and `ig.jit`.

>>> import intaglio as ig
>>> a = ig.asarray([[3.0, 1.0], [1.0, 2.0]])
>>> ig.linalg.solve(a, ig.asarray([9.0, 8.0]))
Tensor([2., 3.], dtype=float32)
>>> ig.grad(ig.linalg.det)(a)
Tensor([[ 2., -1.],
        [-1.,  3.]], dtype=float32)
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple, cast

from . import _errors, _functions, _intaglio
from ._factors import (
    EighResult,
    LstsqResult,
    QRResult,
    SVDResult,
    eigh,
    eigvalsh,
    lstsq,
    matrix_rank,
    pinv,
    qr,
    svd,
    svdvals,
)
from ._factors import adjoint as _adjoint
from ._factors import batched as _batched
from ._factors import hermitian_part as _hermitian_part
from ._factors import matrices as _matrices
from ._functions import _array, _op, astype
from ._matrix_functions import (
    EigResult,
    SchurResult,
    cho_factor,
    cho_solve,
    cholesky_solve,
    eig,
    eigvals,
    expm,
    householder_product,
    logm,
    lu_factor,
    lu_solve,
    matrix_exp,
    schur,
    solve_sylvester,
    solve_triangular,
    sqrtm,
    vander,
)

Tensor = _intaglio.Tensor
_fn = _functions.functions

__all__ = [
    "EigResult",
    "EighResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SchurResult",
    "SlogdetResult",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "householder_product",
    "inv",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "schur",
    "slogdet",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "triangular_solve",
    "vander",
    "vecdot",
    "vector_norm",
]


class SlogdetResult(NamedTuple):
    """The sign of a determinant (a number of size 1, where it is complex), and the logarithm of its size."""

    sign: Tensor
    logabsdet: Tensor


def cholesky(x: Any, /, *, upper: bool = False, symmetrize_input: bool = True) -> Tensor:
    """The lower triangular L with L Lᴴ = x, of positive definite matrices; or U with Uᴴ U = x.

    Parameters
    ----------
    x : array [..., n, n], float32, float64, complex64 or complex128
        Symmetric, or Hermitian where it is complex. By default that part of it is taken, as JAX does, so that gradients
        are so too.
    upper : bool
        Gives U, the (conjugate) transpose of L.
    symmetrize_input : bool
        False: the lower triangle alone is read.

    Returns
    -------
    array [..., n, n]
        NaN from the first column on that shows that the matrix is not positive definite.

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.cholesky(ig.asarray([[4.0, 2.0], [2.0, 5.0]]))
    Tensor([[2., 0.],
            [1., 2.]], dtype=float32)
    """
    x = _matrices(x, "cholesky")
    if symmetrize_input:
        x = _hermitian_part(x)
    out: Tensor = _op.cholesky(x)
    return _adjoint(out) if upper else out


def triangular_solve(
    a: Any,
    b: Any,
    /,
    *,
    lower: bool = True,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Tensor:
    """The x with a x = b (or aᵀ x = b) for triangular matrices a; their other triangle is not read.

    Parameters
    ----------
    a : array [..., n, n]
    b : array [..., n, m], or [n]
    lower, transpose_a, conjugate_a, unit_diagonal : bool
        Which triangle, whether it is transposed, whether it is conjugated, and whether its diagonal is taken as ones.

    Raises
    ------
    ShapeError, TypeError
        For shapes that do not fit, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.triangular_solve(ig.asarray([[2.0, 0.0], [1.0, 4.0]]), ig.asarray([2.0, 9.0]))
    Tensor([1., 2.], dtype=float32)
    """
    a, b = _matrices(a, "triangular_solve"), _array(b)
    column = b.ndim == 1
    a, b = _batched(a, b[:, None] if column else b, "triangular_solve")
    if conjugate_a and a.dtype.kind == "complex floating":
        a = _fn["conj"](a)
    out: Tensor = _op.triangular_solve(a, b, lower=lower, transpose_a=transpose_a, unit_diagonal=unit_diagonal)
    return out[..., 0] if column else out


def lu(x: Any, /) -> tuple[Tensor, Tensor, Tensor]:
    """The factors of square matrices: `x[order] = L @ U`, as the triple of order, L and U.

    Rows are exchanged so that no factor of L is above 1 in size (of complex ones: much above).

    Parameters
    ----------
    x : array [..., n, n]

    Returns
    -------
    order : int64 array [..., n]
    L, U : arrays [..., n, n]
        Lower triangular with ones on its diagonal, and upper triangular.

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> order, l, u = ig.linalg.lu(ig.asarray([[1.0, 2.0], [2.0, 2.0]]))
    >>> order.tolist(), (l @ u).tolist()
    ([1, 0], [[2.0, 2.0], [1.0, 2.0]])
    """
    factors, _, order = _op.lu(_matrices(x, "lu"))
    ones = _functions.eye(factors.shape[-1], dtype=factors.dtype)
    return order, _fn["tril"](factors, k=-1) + ones, _fn["triu"](factors)


def solve(x1: Any, x2: Any, /) -> Tensor:
    """The x with x1 x = x2, for each matrix; `x2` is a vector where it has one axis.

    Parameters
    ----------
    x1 : array [..., n, n]
    x2 : array [..., n, m], or [n]

    Returns
    -------
    array
        Infinities or NaN where a matrix is singular.

    Raises
    ------
    ShapeError, TypeError
        For shapes that do not fit, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.solve(ig.asarray([[0.0, 2.0], [4.0, 0.0]]), ig.asarray([[2.0], [8.0]]))
    Tensor([[2.],
            [1.]], dtype=float32)
    """
    a, b = _matrices(x1, "solve"), _array(x2)
    column = b.ndim == 1
    a, b = _batched(a, b[:, None] if column else b, "solve")
    out: Tensor = _op.solve(a, b)
    return out[..., 0] if column else out


def inv(x: Any, /) -> Tensor:
    """The inverse of each matrix. (For systems, `solve` is quicker and more exact.)

    Parameters
    ----------
    x : array [..., n, n]

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.inv(ig.asarray([[0.0, 2.0], [4.0, 0.0]]))
    Tensor([[  0., 0.25],
            [ 0.5,   0.]], dtype=float32)
    """
    out: Tensor = _op.inverse(_matrices(x, "inv"))
    return out


def det(x: Any, /) -> Tensor:
    """The determinant of each matrix; of a singular one 0, where its slope is NaN if it has more than three rows.

    Up to three rows are expanded (Laplace), more are factored (LU with partial pivoting).

    Parameters
    ----------
    x : array [..., n, n]

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.det(ig.asarray([[0.0, 2.0], [4.0, 0.0]]))
    Tensor(-8., dtype=float32)
    """
    x = _matrices(x, "det")
    rows = x.shape[-1]
    few = isinstance(rows, int) and 1 <= rows <= 3 and x.shape[-2] == rows
    out: Tensor = _op.determinant_by_expansion(x, rows=rows) if few else _op.determinant(x)
    return out


def slogdet(x: Any, /) -> SlogdetResult:
    """The sign of each determinant, and the logarithm of its size: without overflow.

    Parameters
    ----------
    x : array [..., n, n]

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> sign, log = ig.linalg.slogdet(ig.asarray([[0.0, 1.0], [1.0, 0.0]]))
    >>> float(sign), float(log)
    (-1.0, 0.0)
    """
    return SlogdetResult(*_op.sign_and_log_determinant(_matrices(x, "slogdet")))


def matrix_power(x: Any, n: int, /) -> Tensor:
    """The product of `n` factors x; of the inverse where `n` is negative, and the identity where it is 0.

    Integers stay integers, as in NumPy, but for an inverse, which is of floats.

    Parameters
    ----------
    x : array [..., m, m]
    n : int

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.matrix_power(ig.asarray([[1.0, 1.0], [0.0, 1.0]]), 5)
    Tensor([[1., 5.],
            [0., 1.]], dtype=float32)
    """
    n = operator.index(n)
    whole = _array(x)
    integers = whole.dtype.kind in ("signed integer", "unsigned integer")
    if n > 0 and integers and whole.ndim >= 2 and whole.shape[-1] == whole.shape[-2]:
        product: Any = None
        while True:
            if n & 1:
                product = whole if product is None else product @ whole
            n >>= 1
            if n == 0:
                return cast(Tensor, product)
            whole = whole @ whole
    x = _matrices(x, "matrix_power")
    out: Tensor = _op.matrix_power(x, n=n)
    return out


# --- norms -----------------------------------------------------------------------------------------------------------


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """The length of vectors along these axes (None: of all elements), by the norm `ord`.

    Parameters
    ----------
    x : array
    axis : int, or tuple of ints
    keepdims : bool
    ord : number, inf or -inf
        2 is the Euclidean length; inf the largest size; 0 the count of elements that are not 0; p the p-th root of the
        sum of the p-th powers.

    Examples
    --------
    >>> ig.linalg.vector_norm(ig.asarray([3.0, -4.0])), ig.linalg.vector_norm(ig.asarray([3.0, -4.0]), ord=1)
    (Tensor(5., dtype=float32), Tensor(7., dtype=float32))
    """
    x = _array(x)
    if x.dtype.kind not in ("real floating", "complex floating"):
        x = astype(x, "float32")
    if ord == 2 and x.dtype.kind == "real floating":
        if axis is None and not keepdims:  # one kernel, op by op too
            flat = _functions.ravel(x)
            return _fn["sqrt"](_fn["vecdot"](flat, flat))
        return _fn["sqrt"](_functions.sum(x * x, axis=axis, keepdims=keepdims))
    size = _fn["abs"](x)
    if ord == 2:
        return _fn["sqrt"](_functions.sum(size * size, axis=axis, keepdims=keepdims))
    if ord == math.inf:
        return _fn["max"](size, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return _fn["min"](size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return astype(_fn["count_nonzero"](size, axis=axis, keepdims=keepdims), size.dtype)
    if ord == 1:
        return _functions.sum(size, axis=axis, keepdims=keepdims)
    return _functions.sum(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of each matrix.

    Parameters
    ----------
    x : array [..., m, n]
    keepdims : bool
    ord : "fro", 1, -1, inf, -inf, 2, -2 or "nuc"
        "fro" is the length of all elements; 1 and -1 the largest and the smallest sum of a column's sizes, inf and -inf
        of a row's; 2 and -2 the largest and the smallest singular value, "nuc" the sum of all.

    Raises
    ------
    ValueError
        For other norms.

    Examples
    --------
    >>> a = ig.asarray([[3.0, 0.0], [4.0, 1.0]])
    >>> ig.linalg.matrix_norm(a, ord=1), ig.linalg.matrix_norm(a, ord=float("inf"))
    (Tensor(7., dtype=float32), Tensor(5., dtype=float32))
    """
    x = _matrices(x, "matrix_norm")
    if isinstance(ord, str):
        if ord == "fro":
            return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
        if ord == "nuc":
            return _spread(_functions.sum(svdvals(x), axis=-1), keepdims)
    elif abs(ord) == 2:
        return _spread(_fn["max" if ord > 0 else "min"](svdvals(x), axis=-1), keepdims)
    folded = {1: (-2, "max"), -1: (-2, "min"), math.inf: (-1, "max"), -math.inf: (-1, "min")}
    if ord not in folded:
        raise _errors.ValueError(
            f"linalg.matrix_norm: the norm {ord!r}",
            _intaglio._user_line(),
            why="there is no norm of that name",
            hint='choose "fro", "nuc", 1, -1, 2, -2, inf or -inf',
        )
    along, fold = folded[ord]
    sums = _functions.sum(_fn["abs"](x), axis=along, keepdims=True)
    out: Tensor = _fn[fold](sums, axis=(-2, -1), keepdims=keepdims)
    return out


def _spread(x: Tensor, keepdims: bool) -> Tensor:
    return x[..., None, None] if keepdims else x


def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """NumPy's norm: of vectors along one axis, of matrices in two; without `ord` and `axis`, of all elements.

    Parameters
    ----------
    x : array
    ord : as for `vector_norm` and `matrix_norm`
    axis : int, or a pair of ints
    keepdims : bool

    Raises
    ------
    ValueError
        As `matrix_norm`.

    Examples
    --------
    >>> ig.linalg.norm(ig.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    Tensor([ 5., 10.], dtype=float32)
    """
    x = _array(x)
    if ord is None:
        return vector_norm(x, axis=axis, keepdims=keepdims)
    axes = tuple(range(x.ndim)) if axis is None else _functions._axes(axis, x.ndim, "norm")
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)
    if len(axes) != 2:
        raise _errors.ValueError(
            f"linalg.norm: a norm {ord!r} over {len(axes)} axes",
            _intaglio._user_line(),
            why="a vector has one axis, a matrix two",
            hint="name one axis or two, or leave ord out for the length of all elements",
        )
    out = matrix_norm(_fn["moveaxis"](x, axes, (-2, -1)), ord=ord)
    return out if not keepdims else _functions.expand_dims(out, axis=tuple(sorted(axes)))


def cond(x: Any, /, p: Any = None) -> Tensor:
    """How much a system with each matrix makes of errors: the norm of x times that of its inverse.

    Parameters
    ----------
    x : array [..., m, n]; square for norms other than 2 and -2
    p : as `ord` of `matrix_norm`
        None: 2, the largest singular value over the smallest one.

    Returns
    -------
    array of the shape of the leading axes
        Infinity for singular matrices.

    Raises
    ------
    ValueError, ShapeError, TypeError
        For other norms, for matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.cond(ig.asarray([[4.0, 0.0], [0.0, 0.5]]))
    Tensor(8., dtype=float32)
    """
    x = _matrices(x, "cond")
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        s = svdvals(x)
        largest, smallest = _fn["max"](s, axis=-1), _fn["min"](s, axis=-1)
        out = smallest / largest if p == -2 else largest / smallest
    else:
        out = matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)
    known = ~_fn["any"](_fn["isnan"](x), axis=(-2, -1))
    result: Tensor = _fn["where"](_fn["isnan"](out) & known, math.inf, out)
    return result


# --- tensors as matrices ---------------------------------------------------------------------------------------------


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Tensor:
    """The x with a sum over all of its axes of a x = b: `tensordot(a, x, x.ndim) == b`.

    Parameters
    ----------
    a : array of shape (*b.shape, *x.shape), with as many elements in both parts
    b : array
    axes : ints
        Axes of `a` to move to its end first.

    Raises
    ------
    ShapeError
        For parts that differ in size.

    Examples
    --------
    >>> a = ig.eye(6).reshape(2, 3, 6) * 2.0
    >>> ig.linalg.tensorsolve(a, ig.ones((2, 3)))
    Tensor([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], dtype=float32)
    """
    a, b = _array(a), _array(b)
    if axes is not None:
        moved = _functions._axes(axes, a.ndim, "tensorsolve")
        kept = [axis for axis in range(a.ndim) if axis not in moved]
        a = _fn["transpose"](a, (*kept, *moved))
    shape = tuple(a.shape[b.ndim :])
    size = math.prod(shape)
    if math.prod(a.shape[: b.ndim]) != size:
        raise _errors.ShapeError(
            f"linalg.tensorsolve: an array {tuple(a.shape)} for a right side {tuple(b.shape)}",
            _intaglio._user_line(),
            why=f"its first {b.ndim} axes must hold as many elements as the others",
            hint="name the axes of the unknown in `axes`, or reshape the array",
        )
    return solve(a.reshape(size, size), b.reshape(size)).reshape(shape)


def tensorinv(a: Any, ind: int = 2) -> Tensor:
    """The inverse of an array as a map from its last axes to its first `ind`: `tensorsolve(a, b)` is
    `tensordot(tensorinv(a), b, ind)`.

    Parameters
    ----------
    a : array, with as many elements in its first `ind` axes as in the others
    ind : int, at least 1

    Raises
    ------
    ValueError, ShapeError
        For `ind` below 1, and for parts that differ in size.

    Examples
    --------
    >>> ig.linalg.tensorinv(ig.eye(6).reshape(2, 3, 6)).shape
    (6, 2, 3)
    """
    a, ind = _array(a), operator.index(ind)
    if ind <= 0:
        raise _errors.ValueError(
            f"linalg.tensorinv: ind is {ind}",
            _intaglio._user_line(),
            why="it counts the first axes, which are the rows",
            hint="give 1 or more",
        )
    rows, columns = tuple(a.shape[:ind]), tuple(a.shape[ind:])
    return inv(a.reshape(math.prod(rows), math.prod(columns))).reshape((*columns, *rows))


def multi_dot(arrays: Any, /) -> Tensor:
    """The product of matrices in the order that takes the fewest multiplications; the ends may be vectors.

    Parameters
    ----------
    arrays : two or more arrays [m, n], or [n] at both ends

    Raises
    ------
    ValueError, ShapeError
        For fewer than two, and for shapes that do not fit.

    Examples
    --------
    >>> ig.linalg.multi_dot([ig.ones((2, 30)), ig.ones((30, 4)), ig.ones(4)])
    Tensor([120., 120.], dtype=float32)
    """
    parts = [_array(x) for x in arrays]
    if len(parts) < 2 or any(x.ndim != 2 for x in parts[1:-1]) or any(x.ndim not in (1, 2) for x in parts):
        raise _errors.ValueError(
            f"linalg.multi_dot: arrays of {[x.ndim for x in parts]} axes",
            _intaglio._user_line(),
            why="it multiplies two or more matrices, of which the first and the last may be vectors",
            hint="give a list of matrices; batches are multiplied by ig.matmul",
        )
    first, last = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0] = parts[0][None] if first else parts[0]
    parts[-1] = parts[-1][:, None] if last else parts[-1]
    sizes = [x.shape[0] for x in parts] + [parts[-1].shape[1]]
    out = _product(parts, _splits(sizes), 0, len(parts) - 1)
    out = out[0] if first else out
    return out[..., 0] if last else out


def _splits(sizes: list[Any]) -> dict[tuple[int, int], int]:
    """Where each run of factors is best split; from the left where a size is not known."""
    count = len(sizes) - 1
    if not all(isinstance(size, int) for size in sizes):
        return {(i, j): j - 1 for i in range(count) for j in range(i + 1, count)}
    cost = {(i, i): 0 for i in range(count)}
    out = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], out[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return out


def _product(parts: list[Tensor], splits: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return parts[i]
    k = splits[i, j]
    return matmul(_product(parts, splits, i, k), _product(parts, splits, k + 1, j))


# --- what is known outside as well -----------------------------------------------------------------------------------


def outer(x1: Any, x2: Any, /) -> Tensor:
    """All products of an element of one vector with one of the other: `ig.outer`."""
    out: Tensor = _fn["outer"](x1, x2)
    return out


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """The vector product along an axis of size 3: `ig.cross`."""
    out: Tensor = _fn["cross"](x1, x2, axis=axis)
    return out


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The product of matrices: `ig.matmul`."""
    out: Tensor = _fn["matmul"](x1, x2)
    return out


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis: `ig.vecdot`."""
    out: Tensor = _fn["vecdot"](x1, x2, axis=axis)
    return out


def matrix_transpose(x: Any, /) -> Tensor:
    """The last two axes exchanged: `ig.matrix_transpose`."""
    return _functions.matrix_transpose(_array(x))


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """A diagonal of each matrix; above the main one where `offset` is positive."""
    out: Tensor = _fn["diagonal"](_array(x), offset=offset, axis1=-2, axis2=-1)
    return out


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of each matrix. Small integers are summed in 64 bits.

    Examples
    --------
    >>> ig.linalg.trace(ig.asarray([[1.0, 2.0], [3.0, 4.0]]))
    Tensor(5., dtype=float32)
    """
    return _functions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """Sums of products over pairs of axes: so many last of one and first of the other, or a pair of lists.

    Examples
    --------
    >>> ig.linalg.tensordot(ig.ones((2, 3, 4)), ig.ones((3, 4, 5))).shape
    (2, 5)
    """
    x1, x2 = _array(x1), _array(x2)
    if isinstance(axes, int):
        pairs = (tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes)))
    else:
        first, second = axes
        pairs = tuple((a,) if isinstance(a, int) else tuple(a) for a in (first, second))  # type: ignore[assignment]
    out: Tensor = _fn["tensordot"](x1, x2, x_axes=pairs[0], y_axes=pairs[1])
    return out
