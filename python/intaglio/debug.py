"""Looking into captured programs while they run: `ig.debug.print`, `ig.debug.callback` and `ig.debug.breakpoint`.

They happen on each run of a captured function, where its path comes by, in the program's order. Derivatives leave them
where they are, on the values; `ig.vmap` does them once for each element.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

from . import _intaglio
from ._callbacks import _bind, _callable
from ._effects import debug_print as print

__all__ = ["breakpoint", "callback", "print"]


def callback(callback: Callable[..., Any], /, *args: Any, ordered: builtins.bool = False, **kwargs: Any) -> None:
    """Calls `callback(*args, **kwargs)` with the arrays' values, on each run of a captured function.

    What it returns is of no interest. It has no part in derivatives: it is called with the values, as often as without
    `ig.grad`.

    Parameters
    ----------
    callback : callable
        Takes NumPy arrays (read-only) in the place of arrays.
    *args, **kwargs : trees of arrays and numbers
        Of any shape and dtype.
    ordered : bool
        Accepted for programs written for JAX: calls always keep their order.

    Raises
    ------
    TypeError
        Where an argument is no array, or `callback` cannot be called.

    Examples
    --------
    >>> seen = []
    >>> def loss(w):
    ...     ig.debug.callback(lambda w: seen.append(w.tolist()), w)
    ...     return (w * w).sum()
    >>> ig.jit(ig.grad(loss))(ig.asarray([1.0, 2.0]))
    Tensor([2., 4.], dtype=float32)
    >>> seen
    [[1.0, 2.0]]
    """
    del ordered
    _callable("debug.callback", callback)
    _bind("debug.callback", callback, None, args, kwargs, None, True)


def _stop(where: str, positional: builtins.int, *args: Any, **kwargs: Any) -> None:
    names: dict[str, Any] = {f"arg{i}": value for i, value in enumerate(args[:positional])} | kwargs
    exec(compile("breakpoint()", f"<ig.debug.breakpoint at {where}>", "exec"), {"__name__": __name__}, names)


def breakpoint(*args: Any, **kwargs: Any) -> None:
    """Stops in the debugger when a run comes by, with the arrays' values as its local variables.

    It calls Python's own `breakpoint()`: PYTHONBREAKPOINT and `sys.breakpointhook` say which debugger that is, or none.

    Parameters
    ----------
    *args, **kwargs : trees of arrays and numbers
        Those by keyword have their names in the debugger, others are `arg0`, `arg1` and so on. They are NumPy arrays.

    Examples
    --------
    >>> import sys
    >>> def hook():
    ...     print(sorted(sys._getframe(1).f_locals))
    >>> @ig.jit
    ... def f(x):
    ...     y = x * 2
    ...     ig.debug.breakpoint(x=x, y=y)
    ...     return y
    >>> before, sys.breakpointhook = sys.breakpointhook, hook
    >>> f(ig.ones(2))
    ['x', 'y']
    Tensor([2., 2.], dtype=float32)
    >>> sys.breakpointhook = before
    """
    stop = functools.partial(_stop, _intaglio._user_line().split("\n")[0], len(args))
    _bind("debug.breakpoint", stop, None, args, kwargs, None, True)
