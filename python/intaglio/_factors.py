"""Orthogonal factors of matrices, and what they are good for: QR, symmetric eigenvalues, singular values,
pseudo-inverses, least squares, ranks. They are public as `ig.linalg`."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _errors, _functions, _intaglio
from ._functions import _array, _op, astype

Tensor = _intaglio.Tensor
_fn = _functions.functions


class QRResult(NamedTuple):
    """The factors of `qr`."""

    Q: Tensor
    R: Tensor


class EighResult(NamedTuple):
    """The results of `eigh`: values [..., n] in ascending order, and vectors as columns [..., n, n]."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """The factors of `svd`: columns, singular values in descending order, and rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class LstsqResult(NamedTuple):
    """The four results of `lstsq`."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def matrices(x: Any, who: str) -> Tensor:
    """An array of matrices; whole numbers become float32."""
    x = _array(x)
    if x.ndim < 2:
        raise _errors.ShapeError(
            f"linalg.{who}: an array of {x.ndim} axes holds no matrix",
            _intaglio._user_line(),
            why="the last two axes are the matrix, all others a batch",
            hint="give it two axes or more, as with x[None] for a matrix of one row",
        )
    return x if x.dtype.kind in ("real floating", "complex floating") else astype(x, "float32")


def is_complex(x: Tensor) -> bool:
    return bool(x.dtype.kind == "complex floating")


def adjoint(x: Tensor) -> Tensor:
    """The matrices transposed, and conjugated where they are complex."""
    out: Tensor = (_fn["conj"](x) if is_complex(x) else x).mT
    return out


def hermitian_part(x: Tensor) -> Tensor:
    """Of matrices that are not square x itself, which the factorisation refuses (one row would broadcast)."""
    return (x + adjoint(x)) * 0.5 if x.shape[-1] == x.shape[-2] else x


def real_dtype(x: Tensor) -> Any:
    """The dtype of singular values of x."""
    return _functions.finfo(x.dtype).dtype


def _from_lower(x: Tensor) -> Tensor:
    """The symmetric (Hermitian) matrix of which this is the lower triangle."""
    half = (_fn["tril"](x) + _fn["tril"](x, k=-1)) * 0.5
    return half + adjoint(half)


def batched(a: Tensor, b: Tensor, who: str, rows: bool = False) -> tuple[Tensor, Tensor]:
    """Both of one dtype, with their leading axes broadcast; b has as many rows as a has columns (or `rows`)."""
    wanted = a.shape[-2] if rows else a.shape[-1]
    if wanted != b.shape[-2]:
        raise _errors.ShapeError(
            f"linalg.{who}: matrices of {wanted} {'rows' if rows else 'columns'}, and a right side of "
            f"{b.shape[-2]} rows",
            _intaglio._user_line(),
            why="each column of the matrix has one unknown, and each row one number on the right",
            hint="give a right side [..., n, m], or [n] for one vector",
        )
    if a.dtype == b.dtype and a.ndim == b.ndim == 2:
        return a, b
    dtype = _intaglio._result_type("solve", a, b)
    a, b = astype(a, dtype), astype(b, dtype)
    batch = _functions.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    return tuple(_fn["broadcast_to"](x, shape=(*batch, *x.shape[-2:])) for x in (a, b))


def _triangle(x: Tensor, UPLO: str, who: str) -> Tensor:
    """The matrix whose lower triangle is the one that is meant."""
    if UPLO not in ("L", "U", "l", "u"):
        raise _errors.ValueError(
            f"linalg.{who}: UPLO is {UPLO!r}",
            _intaglio._user_line(),
            why="a symmetric or Hermitian matrix is given by its lower triangle or by its upper one",
            hint='write "L" or "U", or leave it out for the symmetric part of the matrix',
        )
    return x if UPLO in ("L", "l") else adjoint(x)


def _symmetric(x: Any, UPLO: str | None, symmetrize_input: bool, who: str) -> Tensor:
    x = matrices(x, who)
    if UPLO is None and symmetrize_input:
        return hermitian_part(x)
    return _triangle(x, "L" if UPLO is None else UPLO, who)


# --- QR --------------------------------------------------------------------------------------------------------------


def qr(x: Any, /, mode: str = "reduced") -> Any:
    """The factors x = Q R: Q has unit columns at right angles, R is upper triangular, with a real diagonal.

    By Householder's reflectors; signs are LAPACK's. The derivative is that of matrices whose first columns, as many as
    the shorter side, are independent.

    Parameters
    ----------
    x : array [..., m, n], float32, float64, complex64 or complex128
    mode : "reduced", "complete" or "r"
        "reduced": Q [..., m, k] and R [..., k, n], where k is the smaller of m and n. "complete": Q [..., m, m] and
        R [..., m, n]; without a derivative where m is more than n. "r": R alone, [..., k, n].

    Returns
    -------
    QRResult (Q, R), or the array R

    Raises
    ------
    ValueError, ShapeError, TypeError
        For another mode, for arrays without matrices, and for 16-bit floats.

    Examples
    --------
    >>> q, r = ig.linalg.qr(ig.asarray([[3.0, 5.0], [4.0, 0.0]]))
    >>> ig.round(r, 5).tolist(), ig.round(q @ r, 5).tolist()
    ([[-5.0, -3.0], [0.0, -4.0]], [[3.0, 5.0], [4.0, 0.0]])
    """
    x = matrices(x, "qr")
    if mode == "r":
        return _op.qr_triangle(x)
    if mode not in ("reduced", "complete"):
        raise _errors.ValueError(
            f"linalg.qr: the mode {mode!r}",
            _intaglio._user_line(),
            why="the factors come in two sizes, and R alone",
            hint='write "reduced", "complete" or "r"',
        )
    return QRResult(*_op.qr(x, complete=mode == "complete"))


# --- symmetric eigenvalues -------------------------------------------------------------------------------------------


def eigh(x: Any, /, UPLO: str | None = None, *, symmetrize_input: bool = True) -> EighResult:
    """The eigenvalues of symmetric (Hermitian) matrices in ascending order, and unit vectors of them, as columns.

    Of a vector's elements that are within a hundredth of the largest in size, the first is positive. Derivatives of the
    vectors are those of eigenvalues that differ (NaN or infinite else, as in JAX), with that element kept real; of the
    values they always hold.

    Parameters
    ----------
    x : array [..., n, n], float32, float64, complex64 or complex128
    UPLO : None, "L" or "U"
        The triangle that is read, as in NumPy, and of the diagonal the real part. None: the symmetric (Hermitian) part
        of x, as in JAX, so that gradients are so too.
    symmetrize_input : bool
        False: the lower triangle is read where `UPLO` does not say otherwise.

    Returns
    -------
    EighResult (eigenvalues, eigenvectors)
        The values are real. NaN for matrices that hold NaN or infinity.

    Raises
    ------
    ValueError, ShapeError, TypeError
        For another triangle, for matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> w, v = ig.linalg.eigh(ig.asarray([[1.0, 0.0], [0.0, -2.0]]))
    >>> w.tolist(), v.tolist()
    ([-2.0, 1.0], [[0.0, 1.0], [1.0, 0.0]])
    """
    return EighResult(*_op.eigh(_symmetric(x, UPLO, symmetrize_input, "eigh")))


def eigvalsh(x: Any, /, UPLO: str | None = None, *, symmetrize_input: bool = True) -> Tensor:
    """The eigenvalues of symmetric (Hermitian) matrices, in ascending order: those of `eigh`, for less.

    Parameters
    ----------
    x : array [..., n, n], float32, float64, complex64 or complex128
    UPLO, symmetrize_input
        As for `eigh`.

    Raises
    ------
    ValueError, ShapeError, TypeError
        As `eigh`.

    Examples
    --------
    >>> ig.linalg.eigvalsh(ig.asarray([[1.0, 0.0], [0.0, -2.0]]))
    Tensor([-2.,  1.], dtype=float32)
    """
    out: Tensor = _op.eigvalsh(_symmetric(x, UPLO, symmetrize_input, "eigvalsh"))
    return out


# --- singular values -------------------------------------------------------------------------------------------------


def _svd_of_symmetric(x: Tensor) -> SVDResult:
    w, v = _op.eigh(x)
    order = _functions.argsort(_fn["abs"](w), axis=-1, descending=True)
    w = _fn["take_along_axis"](w, order, axis=-1)
    v = _fn["take_along_axis"](v, _fn["broadcast_to"](order[..., None, :], shape=tuple(v.shape)), axis=-1)
    turned = _fn["where"](w < 0, -1.0, 1.0)
    return SVDResult(v, _fn["abs"](w), adjoint(v * astype(turned, v.dtype)[..., None, :]))


def svd(x: Any, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """The factors x = U diag(S) Vh: U's columns and Vh's rows are unit vectors at right angles, S is descending.

    Of the elements of a row of Vh (where x is wider than high: of a column of U) that are within a hundredth of the
    largest in size, the first is positive. Derivatives of U and Vh are those of singular values that differ and are not
    0 (NaN or infinite else, as in JAX), with that element kept real; of S they always hold.

    Parameters
    ----------
    x : array [..., m, n], float32, float64, complex64 or complex128
    full_matrices : bool
        U is [..., m, m] and Vh [..., n, n]: without a derivative where m and n differ. Else U is [..., m, k] and Vh
        [..., k, n], where k is the smaller of m and n.
    compute_uv : bool
        False: S alone.
    hermitian : bool
        x is symmetric (Hermitian); its lower triangle is read. Quicker.

    Returns
    -------
    SVDResult (U, S, Vh), or the array S [..., k]
        NaN for matrices that hold NaN or infinity.

    Raises
    ------
    ShapeError, TypeError
        For arrays without matrices, and for 16-bit floats.

    Examples
    --------
    >>> u, s, vh = ig.linalg.svd(ig.asarray([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]), full_matrices=False)
    >>> s.tolist(), vh.tolist()
    ([3.0, 2.0], [[1.0, 0.0], [0.0, 1.0]])
    """
    x = matrices(x, "svd")
    if hermitian:
        if compute_uv:
            return _svd_of_symmetric(x)
        return _functions.sort(_fn["abs"](_op.eigvalsh(x)), axis=-1, descending=True)
    if not compute_uv:
        return svdvals(x)
    return SVDResult(*_op.svd(x, full_matrices=full_matrices))


def svdvals(x: Any, /) -> Tensor:
    """The singular values of matrices in descending order: those of `svd`, for less.

    Parameters
    ----------
    x : array [..., m, n], float32, float64, complex64 or complex128

    Raises
    ------
    ShapeError, TypeError
        As `svd`.

    Examples
    --------
    >>> ig.linalg.svdvals(ig.asarray([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]))
    Tensor([3., 2.], dtype=float32)
    """
    out: Tensor = _op.svdvals(matrices(x, "svdvals"))
    return out


# --- what they are good for ------------------------------------------------------------------------------------------


def _limits(x: Tensor, rtol: Any, who: str) -> Tensor:
    """What is small beside the largest singular value, one number a matrix. None: the longer side's rounding errors."""
    batch = tuple(x.shape[:-2])
    if rtol is None:
        rows, columns = x.shape[-2:]
        epsilon = _functions.finfo(x.dtype).eps
        if isinstance(rows, int) and isinstance(columns, int):
            rtol = max(rows, columns) * epsilon
        else:
            sizes = (_op.dimension_size(size=(size,)) for size in (rows, columns))
            rtol = astype(_fn["maximum"](*sizes), real_dtype(x)) * epsilon
    rtol = astype(_array(rtol), real_dtype(x))
    if rtol.ndim > len(batch):
        raise _errors.ShapeError(
            f"linalg.{who}: rtol of shape {tuple(rtol.shape)} for matrices {tuple(x.shape)}",
            _intaglio._user_line(),
            why="there is one number for each matrix, or one for all",
            hint="give a number, or an array of the shape of the leading axes",
        )
    out: Tensor = _fn["broadcast_to"](rtol, shape=batch)
    return out


def pinv(x: Any, /, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse of each matrix, by singular values: where x is regular, its inverse.

    The derivative is that of matrices whose rank stays; equal singular values do no harm.

    Parameters
    ----------
    x : array [..., m, n], float32, float64, complex64 or complex128
    rtol : number, or array of the shape of the leading axes
        Singular values that are not above `rtol` times the largest count as 0. By default the longer side of x times
        the distance of 1 from the next float. `rcond` is NumPy's older name.
    hermitian : bool
        x is symmetric (Hermitian); its lower triangle is read.

    Returns
    -------
    array [..., n, m]

    Raises
    ------
    ShapeError, TypeError
        For arrays without matrices, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.pinv(ig.asarray([[2.0, 0.0], [0.0, 0.0]]))
    Tensor([[0.5,  0.],
            [ 0.,  0.]], dtype=float32)
    """
    x = matrices(x, "pinv")
    if hermitian:
        x = _from_lower(x)
    out: Tensor = _op.pseudo_inverse(x, _limits(x, rcond if rtol is None else rtol, "pinv"))
    return out


def lstsq(a: Any, b: Any, /, rcond: Any = None, *, numpy_resid: bool = False) -> LstsqResult:
    """The x with the least |a x - b|, for each column of b; of several the shortest.

    The derivative is that of matrices whose rank stays.

    Parameters
    ----------
    a : array [..., m, n], float32, float64, complex64 or complex128
    b : array [..., m, k], or [m]
    rcond : number, or array of the shape of the leading axes
        Singular values that are not above `rcond` times the largest count as 0. By default the longer side of a times
        the distance of 1 from the next float; below 0, that distance itself.
    numpy_resid : bool
        Gives no residuals (an array of shape (0,)) where the rank is below n or m is not above n, as NumPy. It asks for
        the rank, so it cannot be captured by `ig.trace`.

    Returns
    -------
    LstsqResult (solution, residuals, rank, singular_values)
        The solution is [..., n, k] or [n]; the residuals are the sums of squares of |a x - b|, [..., k] or [1], as in
        JAX always there.

    Raises
    ------
    ShapeError, TypeError
        For shapes that do not fit, and for 16-bit floats.

    Examples
    --------
    >>> x = ig.asarray([0.0, 1.0, 2.0, 3.0], dtype="float64")
    >>> line = ig.linalg.lstsq(ig.stack([x, ig.ones_like(x)], axis=1), x * 2 + 1)
    >>> ig.round(line.solution, 9), int(line.rank)
    (Tensor([2., 1.], dtype=float64), 2)
    """
    a, b = matrices(a, "lstsq"), _array(b)
    column = b.ndim == 1
    a, b = batched(a, b[:, None] if column else b, "lstsq", rows=True)
    if isinstance(rcond, (int, float)) and rcond < 0:
        rcond = _functions.finfo(a.dtype).eps
    x, rank, s = _op.least_squares(a, b, _limits(a, rcond, "lstsq"))
    rest = b - a @ x
    squares = _fn["real"](_fn["conj"](rest) * rest) if is_complex(rest) else rest * rest
    residuals = _functions.sum(squares, axis=-2)
    if numpy_resid and a.ndim == 2 and (a.shape[0] <= a.shape[1] or int(rank) < a.shape[1]):
        residuals = _functions.zeros((0,), dtype=real_dtype(a))
    return LstsqResult(x[..., 0] if column else x, residuals, rank, s)


def matrix_rank(x: Any, /, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """How many singular values of each matrix are above a limit.

    Parameters
    ----------
    x : array [..., m, n], float32, float64, complex64 or complex128
    tol : number or array
        The limit itself, as in NumPy.
    hermitian : bool
        x is symmetric (Hermitian); its lower triangle is read. Quicker.
    rtol : number or array
        The limit as a part of the largest singular value. By default as for `pinv`.

    Returns
    -------
    int64 array of the shape of the leading axes

    Raises
    ------
    ShapeError, TypeError
        For arrays without matrices, and for 16-bit floats.

    Examples
    --------
    >>> int(ig.linalg.matrix_rank(ig.ones((3, 3))))
    1
    """
    x = matrices(x, "matrix_rank")
    s = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is None:
        limit = _fn["max"](s, axis=-1) * _limits(x, rtol, "matrix_rank")
    else:
        limit = _fn["broadcast_to"](astype(_array(tol), real_dtype(x)), shape=tuple(x.shape[:-2]))
    out: Tensor = _functions.sum(astype(s > limit[..., None], "int64"), axis=-1)
    return out
