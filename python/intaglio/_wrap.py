"""Wrappers that look like what they wrap.

`functools.wraps` is no code of this package: where a function is wrapped while it is captured, `ig.jit` would take what
it does for a change of the user's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

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
