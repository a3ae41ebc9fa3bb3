"""What one example of `ig.vmap` sees of all the others: reductions and exchanges along a mapped axis, by its name."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from . import _errors, _intaglio

Tensor = _intaglio.Tensor


class _Around(threading.local):
    """The named axes of the calls of vmap that are going on in this thread, the outermost first."""

    def __init__(self) -> None:
        self.axes: list[tuple[str, Any]] = []


_around = _Around()


class bound:
    """Makes the axis known to the collectives that are called inside.

    A class, since what `contextlib` does would be watched where a function is captured.
    """

    def __init__(self, name: str | None, size: Any) -> None:
        self.axes = [] if name is None else [(name, size)]

    def __enter__(self) -> None:
        self.before = _around.axes
        _around.axes = [*self.before, *self.axes]

    def __exit__(self, *error: object) -> None:
        _around.axes = self.before


def _size(who: str, axis_name: str) -> Any:
    for name, size in reversed(_around.axes):
        if name == axis_name:
            return size
    names = ", ".join(repr(name) for name, _ in _around.axes)
    raise _errors.ValueError(
        f"{who}: there is no mapped axis named {axis_name!r}",
        _intaglio._user_line(),
        why=f"the mapped axes around are {names}" if names else "no vmap with an axis_name is around",
        hint=f"name it: ig.vmap(f, axis_name={axis_name!r})",
    )


def _record(op: str, operands: list[Tensor], **attrs: Any) -> Tensor:
    result: Tensor = _intaglio._record_control(op, operands, [], [], attrs)[0]
    return result


def _names(axis_name: str | Sequence[str]) -> list[str]:
    return [axis_name] if isinstance(axis_name, str) else list(axis_name)


def _each(who: str, op: str, x: Any, axis_name: str | Sequence[str], **attrs: Any) -> Any:
    leaves, tree = _intaglio.tree_flatten(x)
    out = []
    for leaf in leaves:
        array = _intaglio.asarray(leaf)
        for name in _names(axis_name):
            _size(who, name)
            array = _record(op, [array], axis_name=name, **attrs)
        out.append(array)
    return _intaglio.tree_unflatten(tree, out)


def psum(x: Any, axis_name: str | Sequence[str]) -> Any:
    """The sum over all examples along a mapped axis, the same for each of them.

    Parameters
    ----------
    x : tree of arrays or numbers
        The example's own. What is the same for all counts once for each example.
    axis_name : str, or a sequence of them
        As given to `ig.vmap`; of several, the sum over all of these axes.

    Raises
    ------
    ValueError
        Where no mapped axis has the name.

    Examples
    --------
    >>> ig.vmap(lambda x: x / ig.psum(x, "i"), axis_name="i")(ig.asarray([1.0, 3.0]))
    Tensor([0.25, 0.75], dtype=float32)
    """
    return _each("psum", "axis_sum", x, axis_name)


def pmean(x: Any, axis_name: str | Sequence[str]) -> Any:
    """The mean over all examples along a mapped axis; as `psum`, divided by their number.

    >>> ig.vmap(lambda x: x - ig.pmean(x, "i"), axis_name="i")(ig.asarray([1.0, 3.0]))
    Tensor([-1.,  1.], dtype=float32)
    """
    leaves, tree = _intaglio.tree_flatten(_each("pmean", "axis_sum", x, axis_name))
    count = _intaglio.asarray(1.0)
    for name in _names(axis_name):
        count = count * _size("pmean", name)
    return _intaglio.tree_unflatten(tree, [leaf / _intaglio.functions["astype"](count, leaf.dtype) for leaf in leaves])


def pmax(x: Any, axis_name: str | Sequence[str]) -> Any:
    """The greatest over all examples along a mapped axis, element by element; NaN where one is.

    >>> ig.vmap(lambda x: x == ig.pmax(x, "i"), axis_name="i")(ig.asarray([1.0, 3.0]))
    Tensor([False,  True], dtype=bool)
    """
    return _each("pmax", "axis_max", x, axis_name)


def pmin(x: Any, axis_name: str | Sequence[str]) -> Any:
    """The least over all examples along a mapped axis, element by element; NaN where one is.

    >>> ig.vmap(lambda x: x - ig.pmin(x, "i"), axis_name="i")(ig.asarray([1.0, 3.0]))
    Tensor([0., 2.], dtype=float32)
    """
    return _each("pmin", "axis_min", x, axis_name)


def axis_index(axis_name: str) -> Tensor:
    """Which example along a mapped axis this is, from 0: an int64 scalar.

    >>> ig.vmap(lambda x: x * ig.axis_index("i"), axis_name="i")(ig.asarray([5, 5, 5]))
    Tensor([ 0,  5, 10], dtype=int64)
    """
    _size("axis_index", axis_name)
    return _record("axis_index", [], axis_name=axis_name)


def axis_size(axis_name: str) -> Any:
    """How many examples there are along a mapped axis: an int, or an `ig.Dim` where the size is symbolic.

    >>> ig.vmap(lambda x: x * ig.axis_size("i"), axis_name="i")(ig.asarray([5, 6]))
    Tensor([10, 12], dtype=int64)
    """
    return _size("axis_size", axis_name)


def all_gather(x: Any, axis_name: str, *, axis: int = 0, tiled: bool = False) -> Any:
    """The arrays of all examples along a mapped axis, stacked along a new axis, or with `tiled` joined along `axis`.

    >>> ig.vmap(lambda x: ig.sum(x > ig.all_gather(x, "i")), axis_name="i")(ig.asarray([2.0, 9.0, 5.0]))
    Tensor([0, 2, 1], dtype=int64)
    """
    leaves, tree = _intaglio.tree_flatten(x)
    functions = _intaglio.functions
    out = []
    for leaf in leaves:
        size = _size("all_gather", axis_name)
        every = _record("axis_gather", [_intaglio.asarray(leaf)], axis_name=axis_name, axis_size=[size])
        every = functions["moveaxis"](every, 0, axis)
        if tiled:
            at = axis % len(every.shape) if axis >= 0 else axis % (len(every.shape) - 1)
            shape = every.shape
            every = functions["reshape"](every, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))
        out.append(every)
    return _intaglio.tree_unflatten(tree, out)


def ppermute(x: Any, axis_name: str, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends arrays between examples: for each pair `(source, target)` the target takes the source's; others take zeros.

    Parameters
    ----------
    perm : sequence of pairs of ints
        Numbers of examples; each target once.

    Raises
    ------
    ValueError
        Where no mapped axis has the name, or a target stands twice.
    IndexError
        Where there is no example of a number.

    Examples
    --------
    >>> ig.vmap(lambda x: ig.ppermute(x, "i", [(0, 1), (1, 0)]), axis_name="i")(ig.asarray([4, 5, 6]))
    Tensor([5, 4, 0], dtype=int64)
    """
    sources, targets = [int(pair[0]) for pair in perm], [int(pair[1]) for pair in perm]
    for i, target in enumerate(targets):
        if target in targets[:i]:
            raise _errors.ValueError(
                f"ppermute: example {target} receives twice",
                _intaglio._user_line(),
                why="each example takes the array of one other",
                hint="name each target once",
            )
    return _each("ppermute", "axis_permute", x, axis_name, sources=sources, targets=targets)
