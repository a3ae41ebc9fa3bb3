"""Eigenvalues of any square matrix, functions of matrices, and SciPy's solvers from factors; public as `ig.linalg`."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _errors, _functions, _intaglio
from ._control import fori_loop
from ._factors import adjoint, batched, is_complex, matrices
from ._functions import _array, _op, astype
from ._vmap import vmap

Tensor = _intaglio.Tensor
_fn = _functions.functions


class EigResult(NamedTuple):
    """The results of `eig`: complex values [..., n] in no order, and vectors as columns [..., n, n]."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def eig(x: Any, /) -> EigResult:
    """The eigenvalues of square matrices that need not be symmetric, and unit vectors of them, as columns.

    By Hessenberg's form and QR steps with Wilkinson's shifts (Golub and Van Loan, "Matrix Computations", 7.5), in
    complex arithmetic. Of a vector's elements that are within a hundredth of the largest in size, the first is
    positive; derivatives of the vectors are those of eigenvalues that differ (NaN or infinite else).

    Parameters
    ----------
    x : array [..., n, n], float32, float64, complex64 or complex128; whole numbers become float32

    Returns
    -------
    EigResult (eigenvalues, eigenvectors)
        Complex. NaN for matrices that hold NaN or infinity. Of a real matrix, values whose imaginary part is within
        n rounding errors of 0 are real; pairs of conjugates are so to rounding.

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> w, v = ig.linalg.eig(ig.asarray([[0.0, 1.0], [-1.0, 0.0]]))
    >>> sorted(round(z.imag, 5) for z in w.tolist())
    [-1.0, 1.0]
    """
    return EigResult(*_op.eig(matrices(x, "eig")))


def eigvals(x: Any, /) -> Tensor:
    """The eigenvalues of square matrices that need not be symmetric, in no order: those of `eig`, for less.

    Parameters
    ----------
    x : array [..., n, n], float32, float64, complex64 or complex128

    Returns
    -------
    complex array [..., n]

    Raises
    ------
    ShapeError, TypeError
        As `eig`.

    Examples
    --------
    >>> sorted(round(z.real, 5) for z in ig.linalg.eigvals(ig.asarray([[1.0, 2.0], [0.0, 3.0]])).tolist())
    [1.0, 3.0]
    """
    out: Tensor = _op.eigvals(matrices(x, "eigvals"))
    return out


def expm(a: Any, /) -> Tensor:
    """The exponential of each square matrix: 1 + a + a²/2 + …

    Padé's approximant of degree 13, scaling and squaring (N. Higham, 2005).

    Parameters
    ----------
    a : array [..., n, n], float32, float64, complex64 or complex128

    Returns
    -------
    array [..., n, n]
        NaN for a 1-norm above 350000, which would need more than 16 squarings, as in JAX.

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.expm(ig.asarray([[0.0, 1.0], [0.0, 0.0]]))
    Tensor([[1., 1.],
            [0., 1.]], dtype=float32)
    """
    out: Tensor = _op.matrix_exponential(matrices(a, "expm"))
    return out


matrix_exp = expm


def sqrtm(A: Any, /) -> Tensor:
    """The principal square root of each square matrix: that whose eigenvalues have no negative real part.

    By Schur's form (Å. Björck and S. Hammarling, 1983). The derivative is that of Sylvester's equation.

    Parameters
    ----------
    A : array [..., n, n], float32, float64, complex64 or complex128; whole numbers become float32

    Returns
    -------
    complex array [..., n, n]
        Complex for real matrices too, as in JAX. Infinities or NaN where there is no root.

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> ig.real(ig.linalg.sqrtm(ig.asarray([[1.0, 3.0], [0.0, 4.0]])))
    Tensor([[1., 1.],
            [0., 2.]], dtype=float32)
    """
    out: Tensor = _op.matrix_square_root(matrices(A, "sqrtm"))
    return out


def logm(A: Any, /) -> Tensor:
    """The principal logarithm of each square matrix: the x with expm(x) = A whose eigenvalues have angles within pi.

    Square roots until the matrix is near to 1, and Gauss' rule (A. Al-Mohy and N. Higham, 2012). The derivative is that
    of these steps.

    Parameters
    ----------
    A : array [..., n, n], float32, float64, complex64 or complex128; whole numbers become float32

    Returns
    -------
    complex array [..., n, n]
        Complex for real matrices too. Infinities or NaN of singular matrices.

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> ig.round(ig.real(ig.linalg.logm(ig.asarray([[1.0, 2.0], [0.0, 1.0]]))), 5).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    out: Tensor = _op.matrix_logarithm(matrices(A, "logm"))
    return out


class SchurResult(NamedTuple):
    """The factors of `schur`: an upper triangle, and a unitary basis as columns."""

    T: Tensor
    Z: Tensor


def schur(a: Any, output: str = "complex") -> SchurResult:
    """Schur's form a = Z T Zᴴ of square matrices: T is upper triangular, with the eigenvalues on its diagonal.

    Of a vector's elements that are within a hundredth of the largest in size, the first is positive. Without
    derivatives: the order of the eigenvalues is open.

    Parameters
    ----------
    a : array [..., n, n], float32, float64, complex64 or complex128; whole numbers become float32
    output : "complex"
        The form with blocks of real numbers is not here.

    Returns
    -------
    SchurResult (T, Z)
        Complex. NaN for matrices that hold NaN or infinity.

    Raises
    ------
    ValueError, ShapeError, TypeError
        For another form, for matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> t, z = ig.linalg.schur(ig.asarray([[1.0, 2.0], [0.0, 3.0]]))
    >>> ig.real(t).tolist(), ig.real(z).tolist()
    ([[1.0, 2.0], [0.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]])
    """
    if output != "complex":
        raise _errors.ValueError(
            f"linalg.schur: output is {output!r}",
            _intaglio._user_line(),
            why="the triangle is computed in complex numbers, and blocks of real ones are not made of it",
            hint='write output="complex", and take the blocks of a pair of conjugates from that',
        )
    return SchurResult(*_op.schur(matrices(a, "schur")))


def solve_sylvester(a: Any, b: Any, q: Any) -> Tensor:
    """The x with a x + x b = q, by the forms of Schur of a and b (R. Bartels and G. Stewart, 1972).

    Parameters
    ----------
    a : array [..., n, n], float32, float64, complex64 or complex128
    b : array [..., m, m]
    q : array [..., n, m]

    Returns
    -------
    array [..., n, m]
        Infinities or NaN where an eigenvalue of a is one of -b.

    Raises
    ------
    ShapeError, TypeError
        For shapes that do not fit, and for 16-bit floats.

    Examples
    --------
    >>> one = ig.eye(2)
    >>> ig.linalg.solve_sylvester(one, one * 3.0, ig.asarray([[4.0, 8.0], [0.0, 4.0]]))
    Tensor([[1., 2.],
            [0., 1.]], dtype=float32)
    """
    parts = [matrices(x, "solve_sylvester") for x in (a, b, q)]
    dtype = _intaglio._result_type("solve_sylvester", *parts)
    batch = _functions.broadcast_shapes(*(tuple(x.shape[:-2]) for x in parts))
    whole = (_fn["broadcast_to"](astype(x, dtype), shape=(*batch, *x.shape[-2:])) for x in parts)
    out: Tensor = _op.sylvester(*whole)
    return out


def vander(x: Any, /, N: int | None = None, *, increasing: bool = False) -> Tensor:
    """The powers of each number as a row: x^(N-1), …, x, 1; or from 1 on with `increasing`.

    Parameters
    ----------
    x : array [..., n]
    N : int
        How many columns; by default n.
    increasing : bool

    Returns
    -------
    array [..., n, N]

    Raises
    ------
    ShapeError, ValueError
        For an array without axes, and a negative N.

    Examples
    --------
    >>> ig.linalg.vander(ig.asarray([2.0, 3.0]), 3, increasing=True)
    Tensor([[1., 2., 4.],
            [1., 3., 9.]], dtype=float32)
    """
    x = _array(x)
    if x.ndim < 1:
        raise _errors.ShapeError(
            "linalg.vander: an array without axes",
            _intaglio._user_line(),
            why="each number of the last axis becomes a row of its powers",
            hint="give it one axis or more, as with x[None]",
        )
    count = x.shape[-1] if N is None else N
    if not isinstance(count, _intaglio.Dim) and count < 0:
        raise _errors.ValueError(
            f"linalg.vander: N is {count}",
            _intaglio._user_line(),
            why="it counts columns",
            hint="give 0 or more",
        )
    # Products one after the other: each power is rounded once more than the one before, and 0 to the power 0 is 1.
    ones = _functions.ones((*x.shape, 1), dtype=x.dtype)
    if not isinstance(count, _intaglio.Dim) and count <= 1:
        return ones[..., :count]
    repeated = _fn["broadcast_to"](x[..., None], shape=(*x.shape, count - 1))
    powers = _functions.concat([ones, _functions.cumulative_prod(repeated, axis=-1)], axis=-1)
    return powers if increasing else _fn["flip"](powers, axis=-1)


def householder_product(a: Any, tau: Any, /) -> Tensor:
    """The first columns of a product of Householder's reflectors, as PyTorch and LAPACK's `orgqr` have it.

    Parameters
    ----------
    a : array [..., m, n], m at least n, float32, float64, complex64 or complex128
        The vectors stand below the diagonal, with a 1 on it.
    tau : array [..., k], k at most n
        Their factors.

    Returns
    -------
    array [..., m, n]

    Raises
    ------
    ShapeError, TypeError
        For sizes that do not fit, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.householder_product(ig.asarray([[1.0], [1.0]]), ig.asarray([1.0]))
    Tensor([[ 0.],
            [-1.]], dtype=float32)
    """
    a, tau = matrices(a, "householder_product"), _array(tau)
    out: Tensor = _op.householder_product(a, tau)
    return out


# --- SciPy's solvers -------------------------------------------------------------------------------------------------


def solve_triangular(a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Tensor:
    """SciPy's name for a triangular system: a x = b, or aᵀ x = b; the other triangle is not read.

    Parameters
    ----------
    a : array [..., n, n], float32, float64, complex64 or complex128
    b : array [..., n, m], or [n]
    trans : 0, 1, 2, "N", "T" or "C"
        Whether a is transposed (1, "T"), and conjugated too (2, "C").
    lower, unit_diagonal : bool

    Raises
    ------
    ValueError, ShapeError, TypeError
        For another `trans`, for shapes that do not fit, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.solve_triangular(ig.asarray([[2.0, 1.0], [0.0, 4.0]]), ig.asarray([4.0, 8.0]))
    Tensor([1., 2.], dtype=float32)
    """
    a, b = matrices(a, "solve_triangular"), _array(b)
    column = b.ndim == 1
    a, b = batched(a, b[:, None] if column else b, "solve_triangular")
    turned = _transposed(trans, "solve_triangular")
    if _conjugated(trans) and is_complex(a):
        a = _fn["conj"](a)
    out: Tensor = _op.triangular_solve(a, b, lower=lower, transpose_a=turned, unit_diagonal=unit_diagonal)
    return out[..., 0] if column else out


def _transposed(trans: Any, who: str) -> bool:
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise _errors.ValueError(
            f"linalg.{who}: trans is {trans!r}",
            _intaglio._user_line(),
            why="it says whether the matrix is transposed",
            hint='write 0 or "N" for the matrix itself, 1 or "T" for its transpose, 2 or "C" for the conjugate of that',
        )
    return trans not in (0, "N")


def _conjugated(trans: Any) -> bool:
    return trans in (2, "C")


def cho_factor(a: Any, lower: bool = False) -> tuple[Tensor, bool]:
    """Cholesky's factor of symmetric (Hermitian) positive definite matrices for `cho_solve`, and which triangle it is.

    Parameters
    ----------
    a : array [..., n, n], float32, float64, complex64 or complex128
        The triangle that `lower` names is read.
    lower : bool

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> c, lower = ig.linalg.cho_factor(ig.asarray([[4.0, 2.0], [2.0, 5.0]]))
    >>> c.tolist(), lower
    ([[2.0, 1.0], [0.0, 2.0]], False)
    """
    a = matrices(a, "cho_factor")
    factor: Tensor = _op.cholesky(a if lower else adjoint(a))
    return (factor if lower else adjoint(factor)), bool(lower)


def cho_solve(c_and_lower: tuple[Any, bool], b: Any) -> Tensor:
    """The x with a x = b, of the factor that `cho_factor` gives.

    Parameters
    ----------
    c_and_lower : (array [..., n, n], bool)
    b : array [..., n, m], or [n]

    Raises
    ------
    ShapeError, TypeError
        For shapes that do not fit, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.cho_solve(ig.linalg.cho_factor(ig.asarray([[4.0, 2.0], [2.0, 5.0]])), ig.asarray([8.0, 12.0]))
    Tensor([1., 2.], dtype=float32)
    """
    c, lower = c_and_lower
    half = solve_triangular(c, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(c, half, trans=2 if lower else 0, lower=lower)


def cholesky_solve(B: Any, L: Any, /, upper: bool = False) -> Tensor:
    """PyTorch's order of `cho_solve`: the x with L Lᴴ x = B, or Uᴴ U x = B with `upper`.

    Parameters
    ----------
    B : array [..., n, m]
    L : array [..., n, n]
    upper : bool

    Raises
    ------
    ShapeError, TypeError
        As `cho_solve`.

    Examples
    --------
    >>> ig.linalg.cholesky_solve(ig.asarray([[8.0], [12.0]]), ig.asarray([[2.0, 0.0], [1.0, 2.0]]))
    Tensor([[1.],
            [2.]], dtype=float32)
    """
    return cho_solve((L, not upper), B)


def lu_factor(a: Any, /) -> tuple[Tensor, Tensor]:
    """The factors of LU in one matrix, and the row that each step took, for `lu_solve`.

    Parameters
    ----------
    a : array [..., n, n], float32, float64, complex64 or complex128

    Returns
    -------
    lu : array [..., n, n]
        L below the diagonal, its ones left out, and U.
    piv : int64 array [..., n]
        Row i was exchanged with row piv[i].

    Raises
    ------
    ShapeError, TypeError
        For matrices that are not square, and for 16-bit floats.

    Examples
    --------
    >>> lu, piv = ig.linalg.lu_factor(ig.asarray([[1.0, 2.0], [2.0, 2.0]]))
    >>> lu.tolist(), piv.tolist()
    ([[2.0, 2.0], [0.5, 1.0]], [1, 1])
    """
    lu, piv, _ = _op.lu(matrices(a, "lu_factor"))
    return lu, piv


def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: Any = 0) -> Tensor:
    """The x with a x = b, or aᵀ x = b, of what `lu_factor` gives.

    Parameters
    ----------
    lu_and_piv : (array [..., n, n], int64 array [..., n])
    b : array [..., n, m], or [n]
    trans : 0, 1, 2, "N", "T" or "C"

    Raises
    ------
    ValueError, ShapeError, TypeError
        For another `trans`, for shapes that do not fit, and for 16-bit floats.

    Examples
    --------
    >>> ig.linalg.lu_solve(ig.linalg.lu_factor(ig.asarray([[1.0, 2.0], [2.0, 2.0]])), ig.asarray([5.0, 6.0]))
    Tensor([1., 2.], dtype=float32)
    """
    lu, piv = matrices(lu_and_piv[0], "lu_solve"), _array(lu_and_piv[1])
    b = _array(b)
    column = b.ndim == 1
    lu, b = batched(lu, b[:, None] if column else b, "lu_solve")
    order = _order(astype(piv, "int64"))
    if _transposed(trans, "lu_solve"):
        half = solve_triangular(lu, b, trans=trans)
        moved = solve_triangular(lu, half, trans=trans, lower=True, unit_diagonal=True)
        out = _rows(moved, _functions.argsort(order, axis=-1))
    else:
        half = solve_triangular(lu, _rows(b, order), lower=True, unit_diagonal=True)
        out = solve_triangular(lu, half)
    return out[..., 0] if column else out


def _rows(b: Tensor, order: Tensor) -> Tensor:
    shape = (*b.shape[:-2], order.shape[-1], 1)
    wide = _fn["broadcast_to"](_fn["broadcast_to"](order[..., None], shape=shape), shape=tuple(b.shape))
    out: Tensor = _fn["take_along_axis"](b, wide, axis=-2)
    return out


def _order(piv: Tensor) -> Tensor:
    """The order of the rows after all exchanges, one after the other."""
    if piv.ndim > 1:
        return vmap(_order)(piv)
    n = piv.shape[0]

    def exchange(i: Any, order: Tensor) -> Tensor:
        other = piv[i]
        mine, his = order[i], order[other]
        return order.at[i].set(his).at[other].set(mine)

    out: Tensor = fori_loop(0, n, exchange, _functions.arange(n))
    return out
