"""Modes of the user's own: `ig.OpMode` sees, changes or replaces each op as the program calls it."""

from __future__ import annotations

from typing import Any

from . import _intaglio


class OpMode:
    """Hands each op that this thread calls within `with mode:` to the mode's method `op`, which says what it gives.

    Override `op(call)`. `call()` goes on with the op and gives its result; other arrays and attributes may be passed to
    it; an array that is returned instead takes the result's place. `call.name`, `call.operands`, `call.attrs` and
    `call.where` say what is called and by which line; in a capture (`call.captured`) the arrays may have no values.

    Modes nest: what is called in `op` is seen by the modes around, not by this one. They belong to a thread. Functions
    under `ig.jit` are run op by op within a mode; what a traced graph or a backward pass computes is not seen. See
    docs/modes.md.

    Examples
    --------
    >>> import intaglio as ig
    >>> class Count(ig.OpMode):
    ...     def __init__(self):
    ...         self.calls = {}
    ...     def op(self, call):
    ...         self.calls[call.name] = self.calls.get(call.name, 0) + 1
    ...         return call()
    >>> x = ig.ones((2, 2))
    >>> with Count() as count:
    ...     y = ig.tanh(x @ x + 1) + 1
    >>> count.calls
    {'dot_general': 1, 'add': 2, 'tanh': 1}
    """

    def op(self, call: _intaglio.OpCall) -> Any:
        """What the op gives: an array, or a tuple of them. As it is written here: what it would give anyway."""
        return call()

    def __enter__(self) -> Any:
        _intaglio._enter_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        _intaglio._leave_mode(self)
