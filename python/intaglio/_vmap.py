"""`ig.vmap`: a function of one example becomes a function of many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _collectives as _axes
from . import _errors, _intaglio
from ._record import _argument_names, _identifier, is_array
from ._wrap import require_function

Tensor = _intaglio.Tensor


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _spread(what: str, prefix: Any, tree: Any, other: str) -> list[int | None]:
    """For each leaf of the tree its axis. The prefix may end above the leaves."""
    axes: list[int | None]
    axes, mismatch = _intaglio._spread_prefix(prefix, tree)
    if mismatch:
        raise _errors.TypeError(
            f"vmap: {what} does not fit {other}: {mismatch}",
            _intaglio._user_line(),
            why=f"{what} is laid over {other}: each of its integers and Nones stands for a whole subtree",
            hint=f"give one integer or None, or the containers of {other} down to the level where the axes differ",
        )
    for axis in axes:
        if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
            raise _errors.TypeError(
                f"vmap: {what} holds {axis!r}, which is no axis",
                _intaglio._user_line(),
                why="an axis is an integer, counted from the end where it is negative, or None for no axis",
                hint="give integers and None, in the containers of what they are for",
            )
    return axes


def _place(axis: int, rank: int, path: str, shown: str) -> int:
    """The axis counted from 0 among `rank`."""
    if -rank <= axis < rank:
        return axis % rank
    if rank == 0:
        raise _errors.IndexError(
            f"vmap: axis {axis} of {path} ({shown}) is wanted, and it has no axes",
            _intaglio._user_line(),
            why="what is mapped is cut along an axis, and a scalar has none",
            hint="give None for it in in_axes: it is then the same for all examples",
        )
    raise _errors.IndexError(
        f"vmap: axis {axis} of {path} ({shown}) is out of range",
        _intaglio._user_line(),
        why=f"it has {rank} ax{'is' if rank == 1 else 'es'} here",
        hint=f"axes count from 0 to {rank - 1}, or from -{rank} to -1",
    )


def _text(array: Tensor) -> str:
    return f"{array.dtype}[{', '.join(str(size) for size in array.shape)}]"


def _common_size(found: list[tuple[str, Any]], axis_size: Any) -> Any:
    """The size that all mapped axes have."""
    if axis_size is not None:
        found = [*found, ("axis_size", axis_size)]
    if not found:
        raise _errors.ValueError(
            "vmap: no argument is mapped, so the number of examples is not known",
            _intaglio._user_line(),
            why="in_axes is None for all arrays, or there is none",
            hint="give an axis in in_axes, or axis_size",
        )
    groups: list[tuple[Any, list[str]]] = []
    for path, size in found:
        for known, paths in groups:
            if known is size or known == size:
                paths.append(path)
                break
        else:
            groups.append((size, [path]))
    if len(groups) > 1:
        lines = "".join(f"\n  size {size}: {', '.join(paths)}" for size, paths in groups)
        raise _errors.ShapeError(
            f"vmap: the mapped axes have different sizes:{lines}",
            _intaglio._user_line(),
            why="each call takes one slice of every mapped array, so all have the same number of them",
            hint="name another axis in in_axes, or None where an array is the same for all examples",
        )
    return groups[0][0]


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: str | None = None,
    axis_size: Any = None,
) -> Callable[..., Any]:
    """`fun` for many examples at once: on arrays with one axis more, each op done for all of them together.

    The result computes what a loop over the mapped axes would, with results stacked. Arrays that are not mapped
    (`None` in `in_axes`, or read from around the function) are the same for all examples, and what depends on them
    alone is computed once. It works on concrete arrays, inside `ig.jit` and `ig.trace`, and inside itself; outside of
    a capture the batched program is compiled once for each graph, while `fun` runs at each call, so wrap it in
    `ig.jit` where it is called often.

    Parameters
    ----------
    fun : callable
        Of any trees of arrays. A loaded `ig.Graph` or an `ig.trace`d function is one too.
    in_axes : int, None, or a tree of them
        Which axis of each positional argument is mapped; a tree that may end above the leaves of the arguments. A
        negative axis counts from the end. Keyword arguments are mapped along axis 0.
    out_axes : int, None, or a tree of them
        Where the mapped axis goes in each result, likewise. None: the result does not depend on the mapped arguments.
    axis_name : str
        A name by which `ig.psum` and its like reduce over the mapped axis.
    axis_size : int
        The number of examples; needed where nothing is mapped.

    Returns
    -------
    callable
        With `fun`'s arguments.

    Raises
    ------
    ShapeError
        Where the mapped axes differ in size; all are listed.
    IndexError
        Where an axis is out of range.
    TypeError
        Where `in_axes` or `out_axes` do not fit the arguments or results.
    ValueError
        Where nothing is mapped, or a result that depends on the mapped arguments has None in `out_axes`.
    UnsupportedError
        Where an op cannot be batched.

    Examples
    --------
    >>> rows = ig.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> ig.vmap(lambda row: ig.sum(row * row))(rows)
    Tensor([ 5., 25.], dtype=float32)
    >>> ig.vmap(lambda x, y: x + y, in_axes=(1, None))(rows, 10.0)
    Tensor([[11., 13.],
            [12., 14.]], dtype=float32)
    """
    require_function(fun, "vmap", "mapped")
    if axis_name is not None and not isinstance(axis_name, str):
        raise _errors.TypeError(
            f"vmap: axis_name is {axis_name!r}, which is no name",
            _intaglio._user_line(),
            why="collectives find the axis by it",
            hint="give a string",
        )
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        return _call(fun, in_axes, out_axes, axis_name, axis_size, args, kwargs)

    # Not by functools.wraps, whose writing to a function `ig.jit` would see, and refuse as a side effect.
    mapped.__name__ = mapped.__qualname__ = _name(fun)
    mapped.__doc__ = fun.__doc__
    mapped.__wrapped__ = fun  # type: ignore[attr-defined]
    return mapped


def _call(
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    axis_name: str | None,
    axis_size: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    leaves, tree = _intaglio.tree_flatten((args, kwargs))
    args_tree = _intaglio.tree_flatten(args)[1]
    axes = _spread("in_axes", in_axes, args_tree, "the positional arguments")
    axes += [0] * (len(leaves) - len(axes))
    paths = []
    for name, value in zip(_argument_names(fun, args, kwargs), [*args, *kwargs.values()], strict=True):
        paths += [name + path for path in _intaglio.tree_flatten(value)[1].paths()]

    stand_ins: list[tuple[str, Any, tuple[Any, ...]]] = []
    mapped: list[Tensor] = []
    places: list[int] = []
    sizes: list[tuple[str, Any]] = []
    filled: list[Any] = []
    for leaf, axis, path in zip(leaves, axes, paths, strict=True):
        if axis is None:
            filled.append(_intaglio.asarray(leaf) if is_array(leaf) else leaf)
            continue
        if not is_array(leaf):
            _place(axis, 0, path, type(leaf).__name__)
        array = _intaglio.asarray(leaf)
        shape = array.shape
        place = _place(axis, len(shape), path, _text(array))
        sizes.append((f"axis {place} of {path} ({_text(array)})", shape[place]))
        stand_ins.append((_identifier(path), array.dtype, shape[:place] + shape[place + 1 :]))
        mapped.append(array)
        places.append(place)
        filled.append(_MAPPED)
    size = _common_size(sizes, axis_size)

    out_tree: Any = None

    def run(arrays: list[Tensor]) -> list[Tensor]:
        nonlocal out_tree
        each = iter(arrays)
        own_args, own_kwargs = _intaglio.tree_unflatten(
            tree, [next(each) if leaf is _MAPPED else leaf for leaf in filled]
        )
        with _axes.bound(axis_name, size):
            results, out_tree = _intaglio.tree_flatten(fun(*own_args, **own_kwargs))
        return [_result(result, i, out_tree) for i, result in enumerate(results)]

    region = _intaglio._capture_region(run, stand_ins, _identifier(_name(fun)))
    out_paths = ["the result" + path for path in out_tree.paths()]
    out_places = [
        -1 if axis is None else _place(axis, rank + 1, path, f"{rank} axes and the mapped one")
        for axis, rank, path in zip(
            _spread("out_axes", out_axes, out_tree, "the result"), region.ranks, out_paths, strict=True
        )
    ]
    results = _intaglio._call_batched(region, mapped, places, size, out_places, axis_name or "", out_paths)
    return _intaglio.tree_unflatten(out_tree, results)


_MAPPED: Any = object()


def _result(leaf: Any, i: int, tree: Any) -> Tensor:
    if is_array(leaf) or type(leaf) in (bool, int, float, complex):
        return _intaglio.asarray(leaf)
    raise _errors.TypeError(
        f"vmap: the result{tree.paths()[i]} is a {type(leaf).__name__}, which is no array",
        _intaglio._user_line(),
        why="results are stacked along the mapped axis, which arrays and numbers can be",
        hint="return arrays and numbers, in any tree of containers",
    )
