"""Calls from a captured program back into Python: `pure_callback`, `io_callback`, and what `ig.debug` is written on.

The graph's node names a host function; here is what stands behind the name: the user's function, and how its
arguments and results are put together from arrays. A `_Host` lives as long as a graph keeps it.
"""

from __future__ import annotations

import atexit
import builtins
import functools
import weakref
from collections.abc import Callable
from typing import Any

from . import _errors, _intaglio
from ._numpy import to_numpy
from ._record import is_array

_METHODS = ("sequential", "expand_dims", "broadcast_all")
_PLAIN = ""  # arguments by position, results one array, or a tuple of them
_IGNORED = "ignored"  # arguments by position, and what the function returns is of no interest


class _Host:
    """The object behind a name in the registry: the user's function, and trees that text cannot say."""

    __slots__ = ("__weakref__", "function", "name", "trees")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name: str | None = None
        self.trees: dict[str, tuple[Any, Any]] = {}


# By the function's id. No dictionary of the library's: what a captured function reads there would be guarded.
_hosts: dict[builtins.int, weakref.ref[_Host]] = {}
_registered: dict[str, _Host] = {}


def _host_of(function: Callable[..., Any]) -> _Host:
    """One host a function while a graph keeps it, so that equal calls are seen to be equal."""
    known = _hosts.get(id(function))
    host = known() if known is not None else None
    if host is None or host.function is not function:
        host = _Host(function)
        _hosts[id(function)] = weakref.ref(host, functools.partial(_forget, id(function)))
    return host


def _forget(place: builtins.int, gone: weakref.ref[_Host]) -> None:
    if _hosts.get(place) is gone:
        del _hosts[place]


def _label(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2].replace("@", "_")


# --- how containers hold the arrays -----------------------------------------------------------------------------------


class _NotPlainError(Exception):
    """A container that text cannot say: a named tuple, a class of the user's."""


def _encode(tree: Any) -> str:
    """Containers as JSON, with 0 for each leaf. (Written here: what the library's writer reads would be guarded.)"""
    if tree is None or type(tree) is builtins.int:
        return "null" if tree is None else "0"
    if type(tree) is list:
        return f"[{','.join([_encode(item) for item in tree])}]"
    if type(tree) is tuple:
        return f'{{"t":[{",".join([_encode(item) for item in tree])}]}}'
    if type(tree) is dict and all(type(key) is str for key in tree):
        import json  # here, as it takes part of the package's import

        items = [f"[{json.dumps(key)},{_encode(item)}]" for key, item in tree.items()]
        return f'{{"d":[{",".join(items)}]}}'
    raise _NotPlainError


def _decode(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return [_decode(item) for item in tree] if isinstance(tree, list) else tree
    if "t" in tree:
        return tuple(_decode(item) for item in tree["t"])
    return {key: _decode(item) for key, item in tree["d"]}


def _filled(tree: Any) -> Any:
    return _intaglio.tree_unflatten(tree, list(range(tree.num_leaves)))


def _is_positional(tree: Any) -> builtins.bool:
    """Whether arguments are arrays by position: `((array, ...), {})`."""
    args, kwargs = _filled(tree)
    return not kwargs and all(type(arg) is builtins.int for arg in args)


def _structure(host: _Host, in_tree: Any, out_tree: Any) -> str:
    """The text that tells a call how to put arguments and results together. `out_tree` is None: whatever."""
    if _is_positional(in_tree):
        if out_tree is None:
            return _IGNORED
        plain = 0 if out_tree.num_leaves == 1 else tuple(range(out_tree.num_leaves)) or None
        if out_tree == _intaglio.tree_flatten(plain)[1]:
            return _PLAIN
    try:
        result = '"ignored"' if out_tree is None else _encode(_filled(out_tree))
        return f"[{_encode(_filled(in_tree))},{result}]"
    except _NotPlainError:
        pass
    for text, known in host.trees.items():
        if known == (in_tree, out_tree):
            return text
    text = f"classes {len(host.trees)}"
    host.trees[text] = (in_tree, out_tree)
    return text


@functools.lru_cache(maxsize=512)
def _trees_of(structure: str) -> tuple[Any, Any]:
    import json

    in_text, out_text = json.loads(structure)
    out_tree = None if out_text == "ignored" else _intaglio.tree_flatten(_decode(out_text))[1]
    return _intaglio.tree_flatten(_decode(in_text))[1], out_tree


def _trees(host: _Host, structure: str) -> tuple[Any, Any]:
    known = host.trees.get(structure)
    if known is not None:
        return known
    if not structure.startswith("classes"):
        return _trees_of(structure)
    raise _errors.ValueError(
        f"the callback {_label(host.function)} has arguments in containers that the graph's text cannot say",
        _intaglio._host_place(),
        why="named tuples and classes are known to the process that captured the graph alone",
        hint="pass tuples, lists and dicts to the callback where the graph is to run elsewhere",
    )


# --- calling ----------------------------------------------------------------------------------------------------------


def _result_tree(structure: str, results: builtins.int) -> Any:
    return _intaglio.tree_flatten(0 if results == 1 else tuple(range(results)) or None)[1]


def _call(host: _Host, structure: str, arrays: list[Any], results: builtins.int) -> Any:
    """Calls the user's function; gives the leaves of what it returns. (The registry's function does this.)"""
    values = [to_numpy(array) for array in arrays]
    if structure in (_PLAIN, _IGNORED):
        out = host.function(*values)
        if structure == _IGNORED:
            return ()
        if results == 1 and type(out) is not tuple and type(out) is not list and type(out) is not dict:
            return (out,)
        wanted = _result_tree(structure, results)
    else:
        in_tree, wanted = _trees(host, structure)
        args, kwargs = _intaglio.tree_unflatten(in_tree, values)
        out = host.function(*args, **kwargs)
        if wanted is None:
            return ()
    leaves, tree = _intaglio.tree_flatten(out)
    if tree != wanted:
        raise _errors.TypeError(
            f"the callback {_label(host.function)} gave the structure {tree!r}, and {wanted!r} was declared",
            _intaglio._host_place(),
            why="what a callback gives is declared before it runs, with its containers",
            hint="return the same containers as result_shape_dtypes has, or declare the ones that it returns",
        )
    return leaves


def _result_path(host: _Host, structure: str, results: builtins.int, i: builtins.int) -> str:
    plain = structure in (_PLAIN, _IGNORED)
    tree = _result_tree(structure, results) if plain else _trees(host, structure)[1]
    return str(tree.paths()[i])


def _leaves(who: str, tree: Any, leaves: list[Any]) -> list[Any]:
    for leaf, path in zip(leaves, tree.paths(), strict=True):
        if not is_array(leaf) and type(leaf) not in (builtins.bool, builtins.int, builtins.float, builtins.complex):
            raise _errors.TypeError(
                f"{who}: an argument of the callback, {path}, is a {type(leaf).__name__}, which is no array",
                _intaglio._user_line(),
                why="the compiled program calls the function, and has arrays alone to give",
                hint="let the function read it from outside, as by functools.partial or a closure",
            )
    return [_intaglio.asarray(leaf) for leaf in leaves]


def _declared(who: str, specs: Any) -> tuple[list[tuple[Any, Any]], Any]:
    leaves, tree = _intaglio.tree_flatten(specs)
    for leaf, path in zip(leaves, tree.paths(), strict=True):
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise _errors.TypeError(
                f"{who}: result_shape_dtypes{path} is a {type(leaf).__name__}, which has no shape and dtype",
                _intaglio._user_line(),
                why="what a callback gives must be known before it runs",
                hint="give an ig.ShapeDtypeStruct(shape, dtype) or an array for each result, in any tree",
            )
    return [(leaf.dtype, tuple(leaf.shape)) for leaf in leaves], tree


def _callable(who: str, function: Any, form: str = "(f, ...)") -> None:
    if not callable(function):
        raise _errors.TypeError(
            f"{who}: the callback is a {type(function).__name__}, which cannot be called",
            _intaglio._user_line(),
            why="the compiled program calls it with arrays",
            hint=f"give the function itself: ig.{who}{form}",
        )


def _bind(
    who: str,
    function: Callable[..., Any],
    specs: tuple[list[tuple[Any, Any]], Any] | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    vmap_method: str | None,
    effect: builtins.bool,
) -> list[Any]:
    _callable(who, function)
    leaves, in_tree = _intaglio.tree_flatten((args, kwargs))
    arrays = _leaves(who, in_tree, leaves)
    types, out_tree = specs if specs is not None else ([], None)
    host = _host_of(function)
    structure = _structure(host, in_tree, out_tree)
    return _intaglio._host_call(host, _label(function), arrays, types, structure, vmap_method, effect)


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    /,
    *args: Any,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """`callback(*args, **kwargs)`, a function of NumPy arrays without effects, also from a captured function.

    A captured function calls it on each run, between its kernels. As it does nothing but give a result, a call whose
    result is not used may be left out, equal calls may be made once, and a derivative may repeat one.

    Parameters
    ----------
    callback : callable
        Takes NumPy arrays (read-only) in the place of arrays, and returns arrays and numbers, as declared. Arrays of
        bfloat16 need the package ml_dtypes.
    result_shape_dtypes : tree of ShapeDtypeStruct or array
        What it returns: the containers, and the shape and dtype of each array. Sizes may be those of traced arrays.
    *args, **kwargs : trees of arrays and numbers
        Of any shape and dtype.
    vmap_method : str, optional
        How `ig.vmap` computes a batch: `"sequential"`, a call for each element; `"broadcast_all"`, one call on arrays
        that have the batch axis in front; `"expand_dims"`, the same, with an axis of size 1 for arguments that have no
        batch. Without one `ig.vmap` refuses the call.

    Returns
    -------
    tree
        Arrays, in the containers of `result_shape_dtypes`.

    Raises
    ------
    TypeError, ShapeError
        Where the callback returns other containers, dtypes or shapes than declared; what is no array is passed.
    UnsupportedError
        Where its derivative is asked for: give one with `ig.custom_jvp` or `ig.custom_vjp`.

    What the callback itself raises reaches the caller of the compiled function as it is, with a note that has the line
    of the call.

    Examples
    --------
    >>> import numpy as np
    >>> @ig.jit
    ... def f(x):
    ...     y = ig.pure_callback(np.sort, ig.ShapeDtypeStruct(x.shape, x.dtype), x)
    ...     return y * 10
    >>> f(ig.asarray([3.0, 1.0, 2.0]))
    Tensor([10., 20., 30.], dtype=float32)
    """
    if vmap_method is not None and vmap_method not in _METHODS:
        raise _errors.ValueError(
            f"pure_callback: vmap_method is {vmap_method!r}",
            _intaglio._user_line(),
            why="it says how a batch is computed",
            hint='give "sequential", "expand_dims" or "broadcast_all", or None',
        )
    specs = _declared("pure_callback", result_shape_dtypes)
    return _intaglio.tree_unflatten(specs[1], _bind("pure_callback", callback, specs, args, kwargs, vmap_method, False))


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    /,
    *args: Any,
    ordered: builtins.bool = False,
    **kwargs: Any,
) -> Any:
    """`callback(*args, **kwargs)`, a function of NumPy arrays that does something, also from a captured function.

    Each run of the captured function calls it exactly once, where its path comes by; under `ig.vmap` once for each
    element, in their order. Calls, prints and checks keep the program's order.

    Parameters
    ----------
    callback : callable
        As for `pure_callback`.
    result_shape_dtypes : tree of ShapeDtypeStruct or array
        What it returns; None for nothing.
    *args, **kwargs : trees of arrays and numbers
        Of any shape and dtype.
    ordered : bool
        Accepted for programs written for JAX: calls always keep their order.

    Returns
    -------
    tree
        Arrays, in the containers of `result_shape_dtypes`.

    Raises
    ------
    TypeError, ShapeError
        As for `pure_callback`.
    UnsupportedError
        Where the derivative of a result is asked for, or a result is needed in a part of the program that a derivative
        runs again (in `ig.checkpoint`, in a `while_loop`).
    CaptureError
        Where a jitted function's Python code chooses by a result: choose with `ig.cond`.

    Examples
    --------
    >>> import numpy as np
    >>> seen = []
    >>> def next_number(x):
    ...     seen.append(float(x))
    ...     return np.float32(len(seen))
    >>> f = ig.jit(lambda x: ig.io_callback(next_number, ig.ShapeDtypeStruct((), ig.float32), x))
    >>> f(ig.asarray(7.0)), f(ig.asarray(8.0))
    (Tensor(1., dtype=float32), Tensor(2., dtype=float32))
    >>> seen
    [7.0, 8.0]
    """
    del ordered
    specs = _declared("io_callback", result_shape_dtypes)
    return _intaglio.tree_unflatten(specs[1], _bind("io_callback", callback, specs, args, kwargs, None, True))


def register_host_function(name: str, function: Callable[..., Any]) -> None:
    """Gives a function the name under which graphs call it, so that a graph can be stored and run elsewhere.

    A graph's text names the functions that it calls. Without this they have names that no other process knows. Register
    a function before it is captured, and under the same name where the graph is loaded; from then on graphs that name
    it call this one, also those that were captured with another.

    Parameters
    ----------
    name : str
        Any text without `@`, such as `"my_package.load"`.
    function : callable
        As for `pure_callback` and `io_callback`.

    Examples
    --------
    >>> def double(x):
    ...     return x * 2
    >>> ig.register_host_function("docs.double", double)
    >>> spec = ig.ShapeDtypeStruct((2,), ig.float32)
    >>> text = str(ig.trace(lambda x: ig.pure_callback(double, spec, x), ig.ones(2)).graph)
    >>> 'function = "docs.double"' in text
    True
    >>> ig.Graph.parse(text)(ig.ones(2))
    Tensor([2., 2.], dtype=float32)
    """
    _callable("register_host_function", function, '("name", f)')
    before = _registered.get(name)
    host = _host_of(function)
    _intaglio._register_host(name, host)
    if before is not None and before is not host:
        before.name = None
    _registered[name] = host


@atexit.register
def _end() -> None:
    """The registry keeps its hosts for the life of the process; what they hold goes before the interpreter ends."""
    for host in _registered.values():
        host.trees.clear()
        del host.function
    _registered.clear()
    _trees_of.cache_clear()
