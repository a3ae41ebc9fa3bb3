"""Wrappers that look like what they wrap, and what can be wrapped.

`functools.wraps` is no code of this package: where a function is wrapped while it is captured, `ig.jit` would take what
it does for a change of the user's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import _errors, _intaglio

F = TypeVar("F")


def wraps(function: Callable[..., Any]) -> Callable[[F], F]:
    """Gives the wrapper the name, doc and signature of `function`."""

    def named(wrapper: F) -> F:
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            value = getattr(function, name, None)
            if value is not None:
                setattr(wrapper, name, value)
        wrapper.__wrapped__ = function  # type: ignore[attr-defined]
        return wrapper

    return named


def require_function(function: Any, who: str, purpose: str, hint: str = "") -> None:
    """Refuses what cannot be called, where it is given."""
    if not callable(function):
        raise _errors.TypeError(
            f"{who}: {type(function).__name__} is not callable",
            _intaglio._user_line(),
            why=f"it takes the function that is to be {purpose}",
            hint=hint or f"write ig.{who}(f)(x), or @ig.{who} above the function",
        )
