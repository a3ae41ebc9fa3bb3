"""Fourier transforms: the array API's extension `fft`, with NumPy's names and meanings.

Float32 goes with complex64, float64 with complex128. Any length takes O(n log n); all of it is differentiable, and goes
under `ig.vmap` and `ig.jit`.

>>> import intaglio as ig
>>> ig.fft.fft(ig.asarray([1.0, 2.0, 0.0, 2.0]))
Tensor([ 5.+0.j,  1.+0.j, -3.+0.j,  1.+0.j], dtype=complex64)
>>> ig.fft.irfft(ig.fft.rfft(ig.asarray([1.0, 2.0, 0.0, 2.0])))
Tensor([1., 2., 0., 2.], dtype=float32)
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from . import _errors, _functions, _intaglio
from ._functions import _array, _axes, _axis, _op

Tensor = _intaglio.Tensor
_fn = _functions.functions

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

# The division goes with the other direction.
_OTHER = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _norm(norm: str | None, who: str) -> str:
    if norm is None:
        return "backward"
    if norm not in _OTHER:
        raise _errors.ValueError(
            f"fft.{who}: norm is {norm!r}",
            _intaglio._user_line(),
            why="it says which way is divided by the length",
            hint='choose "backward", "ortho" or "forward"',
        )
    return norm


def _numbers(x: Any, who: str, real: bool = False) -> Tensor:
    """An array of floating-point or complex numbers, or of real ones alone."""
    x = _array(x)
    name = x.dtype.name
    if real and x.dtype.kind == "complex floating":
        raise _errors.TypeError(
            f"fft.{who}: x is {name}, but real numbers are transformed",
            _intaglio._user_line(),
            why="half of the result is left out, as that of real numbers mirrors it",
            hint=f"use ig.fft.{'ifft' if who.startswith('ih') else who.removeprefix('r')}, or give it ig.real(x)",
        )
    if x.dtype.kind not in ("real floating", "complex floating"):
        raise _errors.TypeError(
            f"fft.{who}: expected a floating-point or complex type, but x is {name}",
            _intaglio._user_line(),
            why="types are never converted unasked",
            hint="convert first, e.g. x.astype(ig.float32)",
        )
    if x.dtype.kind == "real floating" and name not in ("float32", "float64"):
        raise _errors.TypeError(
            f"fft.{who}: x is {name}, which has no complex numbers",
            _intaglio._user_line(),
            why="transforms are complex64, of float32, and complex128, of float64",
            hint="convert first, e.g. x.astype(ig.float32)",
        )
    return x


def _known(size: Any, what: str, who: str) -> int:
    """A size as a number: a jitted function is traced for it."""
    try:
        return operator.index(size)
    except _errors.CaptureError:
        # A jitted function that starts again remembers so itself.
        raise _errors.ShapeError(
            f"fft.{who}: {what} is the symbolic size {size}",
            _intaglio._user_line(),
            why="the passes of a transform are made for one length",
            hint="give the transformed axis a constant size; all other axes may be symbolic",
        ) from None
    except TypeError:
        raise _errors.TypeError(
            f"fft.{who}: {what} is {size!r}",
            _intaglio._user_line(),
            why="it counts numbers",
            hint="give an int of 1 or more",
        ) from None


def _length(x: Tensor, n: Any, axis: int, who: str) -> int:
    """How many numbers are asked for, or stand along the axis."""
    length = _known(x.shape[axis], f"axis {axis}", who) if n is None else _known(n, "n", who)
    if length < 1:
        raise _errors.ValueError(
            f"fft.{who}: a transform of {length} numbers",
            _intaglio._user_line(),
            why="it is of one number or more",
            hint="give n, which fills up with zeros" if n is None else "give an n of 1 or more",
        )
    return length


def _fitted(x: Tensor, size: int, axis: int, who: str) -> Tensor:
    """So many numbers along the axis: cut, or with zeros behind."""
    have = _known(x.shape[axis], f"axis {axis}", who)
    if have == size:
        return x
    if have > size:
        return x[(*(slice(None),) * axis, slice(0, size))]
    none = (0,) * x.ndim
    high = (*none[:axis], size - have, *none[axis + 1 :])
    out: Tensor = _op.pad(x, _intaglio.asarray(0, dtype=x.dtype), low=none, high=high, interior=none)
    return out


def _along(x: Any, kind: str, n: Any, axis: int, norm: str | None, who: str) -> Tensor:
    """One transform along one axis."""
    norm = _norm(norm, who)
    x = _numbers(x, who, kind == "RFFT")
    axis = _axis(axis, x.ndim, f"fft.{who}")
    if kind == "IRFFT" and n is None:
        n = 2 * (_length(x, None, axis, who) - 1)
    length = _length(x, n, axis, who)
    x = _fitted(x, length // 2 + 1 if kind == "IRFFT" else length, axis, who)
    out: Tensor = _op.fft(x, fft_type=kind, fft_length=length, axis=axis, norm=norm)
    return out


def _several(x: Tensor, s: Any, axes: Any, who: str) -> tuple[tuple[int, ...], list[Any]]:
    """The axes, and the length along each (None: that of the axis)."""
    if s is not None:
        s = [None if n is None or (isinstance(n, int) and n == -1) else n for n in s]
    if axes is None:
        count = x.ndim if s is None else len(s)
        named = tuple(range(-count, 0))
    else:
        named = (axes,) if isinstance(axes, int) else tuple(axes)
    out = _axes(named, x.ndim, f"fft.{who}")
    if s is not None and len(s) != len(out):
        raise _errors.ValueError(
            f"fft.{who}: {len(s)} lengths for {len(out)} axes",
            _intaglio._user_line(),
            why="each axis has one length",
            hint="give s and axes of one size; -1 in s takes an axis as it is",
        )
    return out, [None] * len(out) if s is None else s


def _every(x: Any, kind: str, s: Any, axes: Any, norm: str | None, who: str) -> Tensor:
    """Transforms along several axes: that of real numbers along the last one, before or after the others."""
    x = _numbers(x, who, kind == "RFFT")
    norm = _norm(norm, who)
    along, lengths = _several(x, s, axes, who)
    if kind in ("RFFT", "IRFFT") and not along:
        raise _errors.ValueError(
            f"fft.{who}: no axis to transform",
            _intaglio._user_line(),
            why="the last axis is that of the real numbers",
            hint="name one axis or more",
        )
    steps = list(zip(along, lengths, strict=True))
    if kind == "RFFT":
        x = _along(x, "RFFT", steps[-1][1], steps[-1][0], norm, who)
    inner = "IFFT" if kind in ("IFFT", "IRFFT") else "FFT"
    if not steps and x.dtype.kind == "real floating":  # no axis at all: the numbers themselves
        x = _fn["complex"](x, _fn["zeros_like"](x))
    for axis, n in reversed(steps if kind == inner else steps[:-1]):
        x = _along(x, inner, n, axis, norm, who)
    return _along(x, "IRFFT", steps[-1][1], steps[-1][0], norm, who) if kind == "IRFFT" else x


# --- along one axis --------------------------------------------------------------------------------------------------


def fft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along an axis: `y[k]` is the sum of `x[j] exp(-2πi j k / n)`.

    Parameters
    ----------
    x : array, real or complex
    n : int
        The length: `x` is cut, or filled up with zeros. None: the size of the axis.
    axis : int
    norm : "backward", "ortho" or "forward"
        Nothing is divided, the result is divided by the root of n, or by n.

    Returns
    -------
    complex array

    Raises
    ------
    TypeError, ValueError, ShapeError, IndexError
        For whole numbers and 16-bit floats, for lengths below 1 and other norms, for an axis of symbolic size, and for
        an axis that is not there.

    Examples
    --------
    >>> ig.fft.fft(ig.asarray([1.0, 1.0, 0.0, 0.0]))
    Tensor([2.+0.j, 1.-1.j, 0.+0.j, 1.+1.j], dtype=complex64)
    """
    return _along(x, "FFT", n, axis, norm, "fft")


def ifft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`: `y[j]` is the sum of `x[k] exp(2πi j k / n)`, divided by n.

    Parameters and errors are those of `fft`; `norm="forward"` divides nothing.

    Examples
    --------
    >>> ig.fft.ifft(ig.asarray([4.0, 0.0, 0.0, 0.0]))
    Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _along(x, "IFFT", n, axis, norm, "ifft")


def rfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform of real numbers: the first `n // 2 + 1` numbers of `fft`; the others are conjugates of these.

    Parameters and errors are those of `fft`; complex numbers are refused as well.

    Examples
    --------
    >>> ig.fft.rfft(ig.asarray([1.0, 2.0, 3.0, 4.0]))
    Tensor([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    return _along(x, "RFFT", n, axis, norm, "rfft")


def irfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: `n` real numbers.

    Parameters and errors are those of `fft`. Without `n` it is `2 (m - 1)`, of `m` numbers: an odd length must be
    named. Imaginary parts of the first number, and of the last one where `n` is even, are not read.

    Examples
    --------
    >>> ig.fft.irfft(ig.asarray([10, -2 + 2j, -2]))
    Tensor([1., 2., 3., 4.], dtype=float32)
    """
    return _along(x, "IRFFT", n, axis, norm, "irfft")


def hfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform of numbers whose second half mirrors the first, which is given: `n` real numbers.

    Parameters and errors are those of `irfft`.

    Examples
    --------
    >>> ig.fft.hfft(ig.asarray([1.0, 2.0, 3.0]))
    Tensor([ 8., -2.,  0., -2.], dtype=float32)
    """
    return _along(_fn["conj"](_numbers(x, "hfft")), "IRFFT", n, axis, _OTHER[_norm(norm, "hfft")], "hfft")


def ihfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`: the first `n // 2 + 1` numbers of the inverse transform of real ones.

    Parameters and errors are those of `rfft`.

    Examples
    --------
    >>> ig.real(ig.fft.ihfft(ig.asarray([8.0, -2.0, 0.0, -2.0])))
    Tensor([1., 2., 3.], dtype=float32)
    """
    out: Tensor = _fn["conj"](_along(x, "RFFT", n, axis, _OTHER[_norm(norm, "ihfft")], "ihfft"))
    return out


# --- along several axes ----------------------------------------------------------------------------------------------


def fftn(x: Any, /, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The transform along several axes, one after the other.

    Parameters
    ----------
    x : array, real or complex
    s : ints
        The length along each axis, as `n` of `fft`; -1: the size of the axis.
    axes : ints
        None: the last ones, as many as `s` has, or all.
    norm : as for `fft`

    Raises
    ------
    TypeError, ValueError, ShapeError, IndexError
        As `fft`, and where `s` and `axes` differ in size or an axis is named twice.

    Examples
    --------
    >>> ig.fft.fftn(ig.ones((2, 2)))
    Tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _every(x, "FFT", s, axes, norm, "fftn")


def ifftn(x: Any, /, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`, with the same parameters.

    Examples
    --------
    >>> ig.fft.ifftn(ig.fft.fftn(ig.eye(2)))
    Tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _every(x, "IFFT", s, axes, norm, "ifftn")


def rfftn(x: Any, /, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The transform of real numbers along several axes: `rfft` along the last of them, then `fft`.

    Parameters and errors are those of `fftn`; complex numbers are refused as well.

    Examples
    --------
    >>> ig.fft.rfftn(ig.ones((2, 4))).shape
    (2, 3)
    """
    return _every(x, "RFFT", s, axes, norm, "rfftn")


def irfftn(x: Any, /, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`, with the same parameters: an odd length of the last axis must be named.

    Examples
    --------
    >>> ig.fft.irfftn(ig.fft.rfftn(ig.ones((2, 4)))).shape
    (2, 4)
    """
    return _every(x, "IRFFT", s, axes, norm, "irfftn")


def fft2(x: Any, /, s: Sequence[int] | None = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`fftn` along the last two axes.

    Examples
    --------
    >>> ig.fft.fft2(ig.ones((3, 2, 2)))[0, 0]
    Tensor([4.+0.j, 0.+0.j], dtype=complex64)
    """
    return _every(x, "FFT", s, axes, norm, "fft2")


def ifft2(x: Any, /, s: Sequence[int] | None = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`ifftn` along the last two axes."""
    return _every(x, "IFFT", s, axes, norm, "ifft2")


def rfft2(x: Any, /, s: Sequence[int] | None = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfftn` along the last two axes."""
    return _every(x, "RFFT", s, axes, norm, "rfft2")


def irfft2(x: Any, /, s: Sequence[int] | None = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`irfftn` along the last two axes."""
    return _every(x, "IRFFT", s, axes, norm, "irfft2")


# --- frequencies and their order -------------------------------------------------------------------------------------


def _count(n: Any, who: str) -> int:
    try:
        count = operator.index(n)
    except TypeError:
        count = 0
    if count < 1:
        raise _errors.ValueError(
            f"fft.{who}: n is {n!r}",
            _intaglio._user_line(),
            why="it is the length of a transform, a whole number of 1 or more",
            hint="give the size of the transformed axis",
        )
    return count


def fftfreq(n: int, /, d: Any = 1.0, *, dtype: Any = "float32", device: Any = None) -> Tensor:
    """The frequency of each number of `fft`, in cycles per unit: 0, 1, …, then the negative ones, each over `n d`.

    Parameters
    ----------
    n : int
        The length of the transform.
    d : number
        The distance of two samples.
    dtype : float32 (the default) or another floating-point type

    Raises
    ------
    ValueError
        For an `n` that is not a whole number of 1 or more.

    Examples
    --------
    >>> ig.fft.fftfreq(4, 0.5)
    Tensor([  0.,  0.5,  -1., -0.5], dtype=float32)
    """
    n = _count(n, "fftfreq")
    k = _functions.arange(n, dtype=dtype, device=device)
    out: Tensor = _fn["where"](k < (n + 1) // 2, k, k - n) * (1.0 / (n * d))
    return out


def rfftfreq(n: int, /, d: Any = 1.0, *, dtype: Any = "float32", device: Any = None) -> Tensor:
    """The frequency of each number of `rfft`: 0 to `n // 2`, each over `n d`; with the parameters of `fftfreq`.

    Examples
    --------
    >>> ig.fft.rfftfreq(4, 0.5)
    Tensor([ 0., 0.5,  1.], dtype=float32)
    """
    n = _count(n, "rfftfreq")
    return _functions.arange(n // 2 + 1, dtype=dtype, device=device) * (1.0 / (n * d))


def _shifted(x: Any, axes: Any, back: bool, who: str) -> Tensor:
    x = _array(x)
    along = tuple(range(x.ndim)) if axes is None else _axes(axes, x.ndim, f"fft.{who}")
    for axis in along:
        size = x.shape[axis]
        middle = size // 2 if back else (size + 1) // 2
        before = (slice(None),) * axis
        x = _fn["concat"]((x[(*before, slice(middle, None))], x[(*before, slice(None, middle))]), axis=axis)
    return x


def fftshift(x: Any, /, axes: Any = None) -> Tensor:
    """The frequency 0 moved to the middle: the halves of these axes (None: of all) change places.

    Parameters
    ----------
    x : array
    axes : int, or ints

    Raises
    ------
    IndexError, ValueError
        For axes that are not there, or named twice.

    Examples
    --------
    >>> ig.fft.fftshift(ig.fft.fftfreq(5) * 5)
    Tensor([-2., -1.,  0.,  1.,  2.], dtype=float32)
    """
    return _shifted(x, axes, False, "fftshift")


def ifftshift(x: Any, /, axes: Any = None) -> Tensor:
    """The inverse of `fftshift`, with the same parameters.

    Examples
    --------
    >>> ig.fft.ifftshift(ig.asarray([-2, -1, 0, 1, 2]))
    Tensor([ 0,  1,  2, -2, -1], dtype=int64)
    """
    return _shifted(x, axes, True, "ifftshift")
