"""`debug_nans` and `debug_infs`: programs that stop at the op that makes a NaN or an infinity."""

from __future__ import annotations

import builtins

from . import _errors, _intaglio


class _Watch:
    """A setting from the moment it is made; as a context manager one of this thread alone, until the end."""

    _bit = 0
    _name = ""

    def __init__(self, enabled: builtins.bool = True) -> None:
        if _intaglio.is_tracing():
            raise _errors.CaptureError(
                f"{self._name} is set while a function is traced",
                _intaglio._user_line(),
                why="a graph holds what is computed and no settings, so its calls would not be watched",
                hint="set it around the call of the traced function",
            )
        self.enabled = builtins.bool(enabled)
        self._process = _intaglio._watched_everywhere()
        self._outer: list[int] = []
        _intaglio._watch_everywhere(self._changed(self._process))

    def _changed(self, bits: int) -> int:
        return bits | self._bit if self.enabled else bits & ~self._bit

    def __enter__(self) -> None:
        if not self._outer:
            _intaglio._watch_everywhere(self._process)
        self._outer.append(_intaglio._watch_here(self._changed(_intaglio._watched())))

    def __exit__(self, *error: object) -> None:
        _intaglio._watch_here(self._outer.pop())

    def __repr__(self) -> str:
        return f"{self._name}({self.enabled})"


class debug_nans(_Watch):
    """Stops the program at the op that makes a NaN from operands without one.

    `ig.debug_nans(True)` sets it for the process, `with ig.debug_nans(True):` for the thread while it is inside. Eager
    ops are looked at one by one. Of a compiled program the results are looked at; where they hold a NaN that its
    arguments do not explain, it is run once more op by op, and the error names the op, its line and its operands, also
    where the op is a part of a fused kernel. Backward passes are watched too. What a choice leaves out (the branch of
    an `ig.where` that is not taken) is no error in a compiled program.

    Parameters
    ----------
    enabled : bool
        Whether to watch.

    Raises
    ------
    FloatingPointError
        At the op; by the program that is watched.
    CaptureError
        Where it is set while a function is traced.

    Examples
    --------
    >>> @ig.jit
    ... def f(x):
    ...     return ig.sum(ig.log(x - 1) * 2)
    >>> with ig.debug_nans(True):
    ...     try:
    ...         f(ig.asarray([2.0, 0.5]))
    ...     except ig.FloatingPointError as error:
    ...         print(error.what)
    ...         print(error.why)
    `log` makes NaN: 1 of 2 elements, the first at [1]
    no operand holds one; there x is -0.5
    """

    _bit = 1
    _name = "ig.debug_nans"


class debug_infs(_Watch):
    """Stops the program at the op that makes an infinity from operands without one; as `ig.debug_nans` does.

    Parameters
    ----------
    enabled : bool
        Whether to watch.

    Raises
    ------
    FloatingPointError
        At the op; by the program that is watched.
    CaptureError
        Where it is set while a function is traced.

    Examples
    --------
    >>> with ig.debug_infs(True):
    ...     try:
    ...         ig.exp(ig.asarray([1.0, 100.0]))
    ...     except ig.FloatingPointError as error:
    ...         print(error.what)
    `exp` makes an infinity: 1 of 2 elements, the first at [1]
    """

    _bit = 2
    _name = "ig.debug_infs"
