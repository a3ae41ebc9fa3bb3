"""Functions of functions beside derivatives: types without running, broadcasting of a function, prefix sums.

All are written on captures, slices and `vmap`, so they are differentiated, batched and compiled as those are.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Collection
from typing import Any

from . import _errors, _intaglio
from ._control import _is_number, _leaves_as_arrays, _line, _Passed, _same_types, _type_text
from ._record import ShapeDtypeStruct, has_type, is_array
from ._vmap import vmap
from ._wrap import wraps

Tensor = _intaglio.Tensor


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `fun(*args, **kwargs)`, without computing it.

    Parameters
    ----------
    args, kwargs
        Trees of arrays, or of `ShapeDtypeStruct` in their place; anything else is passed as it is.

    Returns
    -------
    tree
        The result's, with a `ShapeDtypeStruct` for each array and number.

    Raises
    ------
    TypeError
        Where the result holds anything but arrays and numbers.
    CaptureError
        Where the function needs a value that is not there.

    Examples
    --------
    >>> ig.eval_shape(lambda x: x @ x.T, ig.ShapeDtypeStruct((1000, 20), ig.float32))
    ShapeDtypeStruct(shape=(1000, 1000), dtype=float32)
    """
    leaves, tree = _intaglio.tree_flatten((args, kwargs))
    types = [(f"x{i}", leaf.dtype, tuple(leaf.shape)) for i, leaf in enumerate(leaves) if has_type(leaf)]
    kept: list[Any] = []

    def run(stand_ins: list[Tensor]) -> list[Tensor]:
        given = iter(stand_ins)
        filled = [next(given) if has_type(leaf) else leaf for leaf in leaves]
        own_args, own_kwargs = _intaglio.tree_unflatten(tree, filled)
        results, out_tree = _intaglio.tree_flatten(fun(*own_args, **own_kwargs))
        for leaf, path in zip(results, out_tree.paths(), strict=True):
            if not is_array(leaf) and not _is_number(leaf):
                raise _errors.TypeError(
                    f"eval_shape: the result{path} is a {type(leaf).__name__}, which is no array",
                    _intaglio._user_line(),
                    why="only arrays and numbers have a shape and a dtype",
                    hint="return arrays and numbers, in any tree of containers",
                )
        arrays = [_intaglio.asarray(leaf) for leaf in results]
        kept.extend((out_tree, [ShapeDtypeStruct(array.shape, array.dtype) for array in arrays]))
        return arrays

    _intaglio._capture_region(run, types, getattr(fun, "__name__", "function"))
    return _intaglio.tree_unflatten(kept[0], kept[1])


# --- a function of small arrays on larger ones ---------------------------------------------------------------------

_CORE = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*)?\)"
_SIGNATURE = re.compile(rf"^\s*(?:{_CORE}\s*(?:,\s*{_CORE}\s*)*)?->\s*{_CORE}\s*(?:,\s*{_CORE}\s*)*$")


def _core_axes(signature: str) -> tuple[list[list[str]], list[list[str]]]:
    if not _SIGNATURE.match(signature):
        raise _errors.ValueError(
            f"vectorize: {signature!r} is no signature",
            _intaglio._user_line(),
            why="it names the core axes of each argument and of each result",
            hint="write it as NumPy does: '(m,n),(n)->(m)'",
        )
    sides = [[re.findall(r"\w+", one) for one in re.findall(_CORE, side)] for side in signature.split("->")]
    return sides[0], sides[1]


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[builtins.int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of arrays with few axes, made a function that broadcasts over all axes in front of them, by `vmap`.

    Parameters
    ----------
    pyfunc : callable
        Of positional arrays. Keyword arguments are passed as they are.
    excluded : collection of int
        Positions of arguments that are passed as they are. Names of keyword arguments may stand there too.
    signature : str
        The core axes that `pyfunc` sees, as NumPy writes them: `"(m,n),(n)->(m)"`. Without one it sees scalars.

    Raises
    ------
    ValueError, TypeError
        Where the signature cannot be read, or has another number of arguments or results.
    ShapeError
        Where an argument has fewer axes than the signature names, core axes of one name differ in size, the others do
        not broadcast, or a result has other axes than it says.

    Examples
    --------
    >>> dot = ig.vectorize(lambda a, b: ig.sum(a * b), signature="(n),(n)->()")
    >>> dot(ig.ones((4, 1, 3)), ig.ones((5, 3))).shape
    (4, 5)
    """
    core = None if signature is None else _core_axes(signature)

    @wraps(pyfunc)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        places = [i for i in range(len(args)) if i not in excluded]
        arrays = [_intaglio.asarray(args[i]) for i in places]
        if core is not None and len(core[0]) != len(places):
            raise _errors.TypeError(
                f"vectorize: the signature {signature!r} has {len(core[0])} arguments, but {len(places)} were given",
                _intaglio._user_line(),
                why=f"it names the core axes of each positional argument; the function is {_line(pyfunc)}",
                hint="give one list of axes for each argument that is not excluded",
            )
        sizes: dict[str, tuple[Any, builtins.int]] = {}
        loops: list[tuple[Any, ...]] = []
        for k, array in enumerate(arrays):
            names = core[0][k] if core is not None else []
            shape = tuple(array.shape)
            if len(shape) < len(names):
                raise _errors.ShapeError(
                    f"vectorize: argument {places[k]} is {_type_text(array)}, but has the core axes "
                    f"({', '.join(names)})",
                    _intaglio._user_line(),
                    why=f"the signature is {signature!r}",
                    hint="give it the axes that the signature names",
                )
            loops.append(shape[: len(shape) - len(names)])
            for name, size in zip(names, shape[len(shape) - len(names) :], strict=True):
                known, where = sizes.setdefault(name, (size, places[k]))
                if known != size:
                    raise _errors.ShapeError(
                        f"vectorize: the core axis {name} is {known} in argument {where}, and {size} in "
                        f"argument {places[k]}",
                        _intaglio._user_line(),
                        why=f"axes of one name have one size; the signature is {signature!r}",
                        hint="core axes are not broadcast: give arrays of that size",
                    )
        rank = builtins.max((len(loop) for loop in loops), default=0)
        padded = [(1,) * (rank - len(loop)) + loop for loop in loops]
        whole: list[Any] = []
        for axis in range(rank):
            found = [loop[axis] for loop in padded if loop[axis] != 1]
            if any(size != found[0] for size in found):
                raise _errors.ShapeError(
                    f"vectorize: the axes in front do not broadcast: {', '.join(str(loop) for loop in loops)}",
                    _intaglio._user_line(),
                    why=f"aligned at the end they have the sizes {', '.join(str(size) for size in found)} in one place",
                    hint="sizes must be equal, or 1",
                )
            whole.append(found[0] if found else 1)

        def call(*own: Any) -> Any:
            filled = list(args)
            for place, array in zip(places, own, strict=True):
                filled[place] = array
            result = pyfunc(*filled, **kwargs)
            if core is not None:
                _require_core(pyfunc, signature or "", core[1], result, sizes)
            return result

        mapped: Callable[..., Any] = call
        for axis in range(rank - 1, -1, -1):
            own = tuple(
                0 if axis >= rank - len(loop) and (whole[axis] == 1 or full[axis] != 1) else None
                for loop, full in zip(loops, padded, strict=True)
            )
            mapped = vmap(mapped, in_axes=own)
        reshape = _intaglio.functions["reshape"]
        cut = []
        for array, loop, full in zip(arrays, loops, padded, strict=True):
            shape = tuple(array.shape)
            axes = range(rank - len(loop), rank)
            kept = tuple(full[axis] for axis in axes if whole[axis] == 1 or full[axis] != 1)
            cut.append(array if len(kept) == len(loop) else reshape(array, kept + shape[len(loop) :]))
        return mapped(*cut)

    return wrapper


def _require_core(
    function: Callable[..., Any], signature: str, core: list[list[str]], result: Any, sizes: dict[str, Any]
) -> None:
    results = list(result) if isinstance(result, tuple) else [result]
    if len(results) != len(core):
        raise _errors.TypeError(
            f"vectorize: the function gives {len(results)} results, but the signature {signature!r} has {len(core)}",
            _intaglio._user_line(),
            why=f"it names the core axes of each result; the function is {_line(function)}",
            hint="return a tuple of arrays, one for each list of axes",
        )
    for i, (one, names) in enumerate(zip(results, core, strict=True)):
        shape = tuple(_intaglio.asarray(one).shape)
        known = [sizes.setdefault(name, (size, -1))[0] for name, size in zip(names, shape, strict=False)]
        if len(shape) != len(names) or any(size != want for size, want in zip(shape, known, strict=True)):
            raise _errors.ShapeError(
                f"vectorize: result {i} has the shape {shape}, but the signature {signature!r} has "
                f"({', '.join(names)}) there",
                _intaglio._user_line(),
                why=f"the function is {_line(function)}",
                hint="return the core axes alone, or change the signature",
            )


# --- prefix sums ---------------------------------------------------------------------------------------------------


_FOLDED = _Passed("elems", "the function", "its results are folded again")


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: builtins.bool = False, axis: builtins.int = 0
) -> Any:
    """All prefixes of `elems` along an axis, folded by an associative function: `log2(n)` rounds of whole slices.

    Parameters
    ----------
    fn : callable
        From two trees like `elems` (slices with any size along the axis) to one, element by element along the axis,
        with `fn(fn(a, b), c) == fn(a, fn(b, c))`.
    elems
        A tree of arrays with one common size along the axis.
    reverse : bool
        Suffixes instead: from the last element to the first.
    axis : int
        It may count from the end.

    Returns
    -------
    tree
        Of the shapes and dtypes of `elems`; what stands at `i` is `fn` of the elements 0 to `i`, in order.

    Raises
    ------
    ShapeError, TypeError, IndexError, ValueError
        Where sizes differ or are not fixed, the axis is out of range, or `fn` gives another tree, shape or dtype.

    Examples
    --------
    >>> ig.associative_scan(ig.add, ig.asarray([1, 2, 3, 4]))
    Tensor([ 1,  3,  6, 10], dtype=int64)
    """
    leaves, tree = _intaglio.tree_flatten(elems)
    arrays = _leaves_as_arrays("associative_scan", "elems", leaves, tree)
    places: list[builtins.int] = []
    for array, path in zip(arrays, tree.paths(), strict=True):
        rank = len(array.shape)
        if not -rank <= axis < rank:
            raise _errors.IndexError(
                f"associative_scan: axis {axis} of elems{path} ({_type_text(array)}) is out of range",
                _intaglio._user_line(),
                why=f"it has {rank} ax{'is' if rank == 1 else 'es'}",
                hint="name an axis that all arrays have",
            )
        places.append(axis % rank)
    sizes = [array.shape[place] for array, place in zip(arrays, places, strict=True)]
    for size in sizes:
        if size != sizes[0]:
            raise _errors.ShapeError(
                f"associative_scan: the sizes along the axis differ: {sizes[0]} and {size}",
                _intaglio._user_line(),
                why="one element of each array is folded at a time",
                hint="all arrays of elems have one size there",
            )
        if type(size) is not builtins.int:
            raise _errors.ValueError(
                f"associative_scan: the size along the axis is {size}, and must be fixed",
                _intaglio._user_line(),
                why="the rounds are written out, and how many there are follows from the size",
                hint="trace with a fixed size, or use ig.scan",
            )
    names = _intaglio.functions

    def cut(array: Tensor, place: builtins.int, start: Any, stop: Any, step: Any = None) -> Tensor:
        taken: Tensor = array[(slice(None),) * place + (slice(start, stop, step),)]
        return taken

    def each(items: list[Tensor], start: Any, stop: Any, step: Any = None) -> list[Tensor]:
        return [cut(item, place, start, stop, step) for item, place in zip(items, places, strict=True)]

    def combine(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
        if reverse:
            a, b = b, a
        given, given_tree = _intaglio.tree_flatten(
            fn(_intaglio.tree_unflatten(tree, a), _intaglio.tree_unflatten(tree, b))
        )
        out = _leaves_as_arrays("associative_scan", "the result", given, given_tree, [x.dtype for x in a])
        types = [(x.dtype, tuple(x.shape)) for x in out]
        _same_types("associative_scan", tree, a, given_tree, types, fn, _FOLDED)
        return out

    def interleaved(even: Tensor, odd: Tensor, place: builtins.int) -> Tensor:
        count = odd.shape[place]
        shape = (*odd.shape[:place], 2 * count, *odd.shape[place + 1 :])
        pairs = names["stack"]([cut(even, place, 0, count), odd], axis=place + 1)
        both = names["reshape"](pairs, shape)
        return (
            both if even.shape[place] == count else names["concat"]([both, cut(even, place, count, None)], axis=place)
        )

    def prefixes(items: list[Tensor]) -> list[Tensor]:
        size = items[0].shape[places[0]]
        if size < 2:
            return items
        odd = prefixes(combine(each(items, 0, size - 1, 2), each(items, 1, None, 2)))
        later = each(items, 2, None, 2)
        if size > 2:
            later = combine(each(odd, 0, -1) if size % 2 == 0 else odd, later)
        even = [
            names["concat"]([cut(item, place, 0, 1), one], axis=place)
            for item, one, place in zip(items, later, places, strict=True)
        ]
        return [interleaved(a, b, place) for a, b, place in zip(even, odd, places, strict=True)]

    if not arrays:
        return elems
    if reverse:
        arrays = each(arrays, None, None, -1)
    out = prefixes(arrays)
    if reverse:
        out = each(out, None, None, -1)
    return _intaglio.tree_unflatten(tree, out)
