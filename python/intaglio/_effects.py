"""Effects: `debug_print` and `check`, done at once when eager, and on every run where they were captured."""

from __future__ import annotations

import builtins
import string
from typing import Any

from . import _errors, _intaglio
from ._record import is_array

_FORMATTER = string.Formatter()


def _escape(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _prepare(who: str, text: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[str, list[Any]]:
    """The text with its fields numbered by array, and those arrays; what is no array is filled in now."""
    out: list[str] = []
    values: list[Any] = []
    automatic = numbered = 0
    try:
        for literal, field, spec, conversion in _FORMATTER.parse(text):
            out.append(_escape(literal))
            if field is None:
                continue
            if field == "" or field[0] in ".[":
                field = f"{automatic}{field}"
                automatic += 1
            elif field[0].isdigit():
                numbered += 1
            if automatic and numbered:
                raise builtins.ValueError("fields are numbered by hand, as {0}, or all left to be counted, as {}")
            value, _ = _FORMATTER.get_field(field, args, named)
            spec = _FORMATTER.vformat(spec or "", args, named)
            if not is_array(value):
                out.append(_escape(format(_FORMATTER.convert_field(value, conversion), spec)))
                continue
            if conversion:
                raise builtins.ValueError(f"an array has no !{conversion}: its values are shown as they are")
            place = next((i for i, known in enumerate(values) if known is value), len(values))
            if place == len(values):
                values.append(value)
            out.append("{" + str(place) + (":" + spec if spec else "") + "}")
    except (builtins.IndexError, KeyError) as error:
        raise _errors.ValueError(
            f"{who}: the text {text!r} names a value that was not given",
            _intaglio._user_line(),
            why=f"{error}; given are {len(args)} by position, and by name {', '.join(named) or 'none'}",
            hint='pass it: ig.debug_print("x = {x}", x=x)',
        ) from None
    except builtins.ValueError as error:
        raise _errors.ValueError(
            f"{who}: the text {text!r} cannot be filled in",
            _intaglio._user_line(),
            why=str(error),
            hint="fields are {}, {0}, {name} and {name:.2f}; write {{ and }} for braces",
        ) from None
    return "".join(out), values


class _Shown:
    """An array as a text shows it: a format is applied to each element."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __format__(self, spec: str) -> str:
        numbers = self.array.__array__()
        if not spec:
            return str(numbers)
        if numbers.shape == ():
            return format(numbers.item(), spec)
        import numpy

        formatter: Any = {"all": lambda number: format(number.item(), spec)}
        return numpy.array2string(numbers, formatter=formatter)


def _fill(text: str, arrays: list[Any]) -> str:
    return text.format(*[_Shown(array) for array in arrays])


def debug_print(text: str, /, *args: Any, ordered: builtins.bool = True, **kwargs: Any) -> None:
    """Prints a line with the arrays' values, also from a captured function: on each run, where its path comes by.

    The lines of a program come in its order, eager and captured. What is no array is filled in when the function is
    captured. Nothing is printed on a path that is not taken, and no pass drops or moves a print.

    Parameters
    ----------
    text : str
        As for `str.format`: fields are `{}`, `{0}`, `{name}`, and with a format `{name:.2f}`, which is applied to
        each element of an array.
    *args, **kwargs
        Arrays of any shape and dtype, numbers, and other objects.
    ordered : bool
        Accepted for programs written for JAX: prints always keep their order.

    Raises
    ------
    ValueError
        Where the text names a value that was not given, or a format does not fit.

    Examples
    --------
    >>> @ig.jit
    ... def f(x):
    ...     ig.debug_print("the sum is {s:.1f}", s=x.sum())
    ...     return x * 2
    >>> f(ig.ones(3))
    the sum is 3.0
    Tensor([2., 2., 2.], dtype=float32)
    """
    del ordered
    _intaglio._effect_print(*_prepare("debug_print", text, args, kwargs))


def check(condition: Any, message: str = "a check failed", /, *args: Any, **kwargs: Any) -> None:
    """Raises `ValueError` with the message where `condition` is false, also from a captured function.

    A captured check runs on every call, on the path that the call takes: what comes before it in the program has
    happened then, what comes behind it has not. No pass drops or moves it.

    Parameters
    ----------
    condition : array of any shape, or a truth value
        All elements must be true; a number is true where it is not 0.
    message : str
        As for `debug_print`. Arrays of the condition's shape are shown at the first element that fails, others whole.
    *args, **kwargs
        Values for the message.

    Raises
    ------
    ValueError
        Where the condition is false in any element; it names the line of the check.

    Examples
    --------
    >>> ig.check(ig.asarray([1.0, 2.0]) > 0, "x must be positive")
    """
    text, values = _prepare("check", message, args, kwargs)
    if not is_array(condition):
        condition = builtins.bool(condition)
    array = _intaglio.asarray(condition)
    if array.dtype != _intaglio.bool:
        array = array != 0
    _intaglio._effect_check(
        array,
        text,
        "the condition of ig.check is false",
        "look at what leads to these values, or drop the check where they may occur",
        values,
    )
