"""`ig.trace`: one closed graph of a function, by running it once on stand-ins for its arguments, which are arrays
or say which arrays would stand there."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _errors, _intaglio
from ._functions import _sizes
from ._wrap import require_function

Tensor = _intaglio.Tensor
Dim = _intaglio.Dim


def is_array(leaf: Any) -> bool:
    """Whether a leaf of the arguments becomes an input of the graph."""
    return isinstance(leaf, Tensor) or (
        hasattr(leaf, "__array__") and hasattr(leaf, "dtype") and hasattr(leaf, "shape")
    )


class ShapeDtypeStruct:
    """The shape and dtype of an array that is not there: what `eval_shape` gives, and takes in the place of arrays.

    `trace` takes it too, and there an `ig.Dim` among the sizes is one that varies.

    Examples
    --------
    >>> batch = ig.Dim("batch", 1, 1024)
    >>> traced = ig.trace(lambda x: x.sum(axis=0), ig.ShapeDtypeStruct((batch, 3), ig.float32))
    >>> traced(ig.ones((5, 3)))
    Tensor([5., 5., 5.], dtype=float32)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = _sizes(shape)
        self.dtype = _intaglio.dtype(dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        total: Any = 1
        for size in self.shape:
            total = total * size
        return total

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, str(self.dtype)))


def has_type(leaf: Any) -> bool:
    """Whether a leaf of example arguments is an array, or says which array would stand there."""
    return is_array(leaf) or isinstance(leaf, ShapeDtypeStruct)


def _positional(function: Callable[..., Any]) -> tuple[list[str], str]:
    """The names of the parameters that take positional arguments, and of the one that takes the rest."""
    # Of what a plain function is, without `inspect`: its own Python would be run at each call of a transform, and
    # watched where one is captured.
    method = isinstance(function, types.MethodType)
    plain: Any = function.__func__ if isinstance(function, types.MethodType) else function
    for _ in range(64):  # decorators, one around the other
        if type(plain) is not types.FunctionType or "__signature__" in plain.__dict__:
            break
        if "__wrapped__" in plain.__dict__:
            plain = plain.__dict__["__wrapped__"]
            continue
        code = plain.__code__
        names = list(code.co_varnames[: code.co_argcount])
        more = code.co_flags & inspect.CO_VARARGS
        if names or not method:
            rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if more else "arg"
            return names[1:] if method else names, rest
        break
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [], "arg"
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return positional, next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "arg")


def _argument_names(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The name of the parameter that each argument goes to."""
    positional, rest = _positional(function)
    names = positional[: len(args)]
    return [*names, *(f"{rest}{i}" for i in range(len(args) - len(names))), *kwargs]


def _identifier(path: str) -> str:
    """A leaf's path as a name in graph text: "x['w'][0]" becomes "x_w_0"."""
    out = "".join(c if c.isalnum() else "_" for c in path)
    while "__" in out:
        out = out.replace("__", "_")
    return out.strip("_") or "x"


class Traced(_intaglio._TracedFunction):
    """A traced function: its closed `graph`, and what is needed to call it like the function."""

    def __init__(
        self,
        graph: Any,
        lifted: list[tuple[str, Tensor]],
        in_tree: Any,
        statics: list[Any],
        out_tree: Any,
        out_leaves: list[Any],
        name: str,
    ) -> None:
        super().__init__(graph, lifted, in_tree, statics, out_tree, out_leaves, name)
        self.lifted = lifted
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<Traced {self.__name__}: {len(self.graph)} nodes>"


def _shapes_by_name(given: Any, names: list[str]) -> dict[str, list[tuple[int, Any]]]:
    """Pairs of axis and size for each argument, of any form that `dynamic_shapes` may have."""
    if given is None:
        return {}
    if isinstance(given, (tuple, list)):
        if len(given) != len(names):
            raise _errors.ValueError(
                f"trace: dynamic_shapes has {len(given)} entries, for {len(names)} arguments",
                _intaglio._user_line(),
                why="in a tuple or list there is one for each argument, in their order",
                hint="put None where no size varies, or give a dict by the arguments' names",
            )
        given = dict(zip(names, given, strict=True))
    if not isinstance(given, dict):
        raise _errors.TypeError(
            f"trace: dynamic_shapes is a {type(given).__name__}",
            _intaglio._user_line(),
            why="it says for each argument which of its sizes vary",
            hint='give a dict by the arguments\' names, {"x": {0: ig.Dim("n")}}, or a tuple in their order',
        )
    unknown = [name for name in given if name not in names]
    if unknown:
        raise _errors.ValueError(
            f"trace: dynamic_shapes names {unknown[0]!r}, which is no argument",
            _intaglio._user_line(),
            why="sizes are given by the argument's name",
            hint=f"the arguments are {', '.join(names)}",
        )
    out = {}
    for name, entry in given.items():
        if entry is None:
            continue
        if not isinstance(entry, (dict, tuple, list)):
            raise _errors.TypeError(
                f"trace: dynamic_shapes has a {type(entry).__name__} for `{name}`",
                _intaglio._user_line(),
                why="an argument has one size for each of its axes",
                hint='give {0: ig.Dim("n")}, or a tuple with a Dim or None for each axis, or None',
            )
        out[name] = list(entry.items() if isinstance(entry, dict) else enumerate(entry))
        for axis, dim in out[name]:
            if type(axis) is not int or not (dim is None or isinstance(dim, Dim)):
                raise _errors.TypeError(
                    f"trace: dynamic_shapes has {dim!r} for axis {axis!r} of `{name}`",
                    _intaglio._user_line(),
                    why="an axis is a whole number, and its size an ig.Dim where it varies and None where not",
                    hint='write {0: ig.Dim("n")}; fixed sizes are those of the example',
                )
    return out


def trace(
    function: Callable[..., Any],
    /,
    *args: Any,
    dynamic_shapes: dict[str, Any] | Sequence[Any] | None = None,
    lift: bool = True,
    **kwargs: Any,
) -> Traced:
    """One closed graph of `function`, run once on stand-ins for these example arguments.

    Arrays in the arguments (in any tree of containers), and `ShapeDtypeStruct` in their place, become inputs;
    everything else is part of the graph. Arrays that the function reads from outside become inputs behind the
    arguments (with `lift=False`: constants). Whatever a graph cannot say, such as the truth of a traced array, is
    refused with its line.

    Parameters
    ----------
    dynamic_shapes
        Sizes that vary: for a parameter's name a dict from axis to `ig.Dim`, or a tuple with None for fixed sizes.
        In the place of a dict by name a tuple or list with an entry for each argument, None for those without.
    """
    require_function(
        function, "trace", "captured", "write ig.trace(f, x); the sum of a matrix's diagonal is ig.linalg.trace(x)"
    )
    leaves, in_tree = _intaglio.tree_flatten((args, kwargs))
    names = _argument_names(function, args, kwargs)
    owners: list[str] = []
    paths: list[str] = []
    for name, value in zip(names, [*args, *kwargs.values()], strict=True):
        own, tree = _intaglio.tree_flatten(value)
        owners += [name] * len(own)
        paths += [name + path for path in tree.paths()]
    shapes = _shapes_by_name(dynamic_shapes, names)
    statics: list[Any] = []
    arguments = []
    ranges: dict[str, tuple[int, int | None]] = {}
    for leaf, owner, path in zip(leaves, owners, paths, strict=True):
        if not has_type(leaf):
            statics.append((True, leaf))
            continue
        statics.append((False, None))
        array = leaf if isinstance(leaf, ShapeDtypeStruct) else _intaglio.asarray(leaf)
        shape = list(array.shape)
        for axis, dim in shapes.get(owner, ()):
            if dim is None:
                continue
            if not -len(shape) <= axis < len(shape):
                raise _errors.IndexError(
                    f"trace: dynamic_shapes names axis {axis} of {path}, which has rank {len(shape)}",
                    _intaglio._user_line(),
                    why="axes count from 0",
                    hint="name an axis that the argument has",
                )
            shape[axis] = dim
        ranges.update((size.name, (size.min, size.max)) for size in shape if isinstance(size, Dim) and size.declared)
        arguments.append((_identifier(path), array.dtype, tuple(shape)))
    out_leaves: list[Any] = []
    out_tree: list[Any] = []

    def run(stand_ins: list[Tensor]) -> list[Tensor]:
        arrays = iter(stand_ins)
        filled = [value if is_static else next(arrays) for is_static, value in statics]
        own_args, own_kwargs = _intaglio.tree_unflatten(in_tree, filled)
        results, tree = _intaglio.tree_flatten(function(*own_args, **own_kwargs))
        out_tree.append(tree)
        arrays_out = []
        for leaf in results:
            if is_array(leaf):
                out_leaves.append((None, None))
                arrays_out.append(_intaglio.asarray(leaf))
            else:
                out_leaves.append((True, leaf))
        return arrays_out

    name = getattr(function, "__name__", type(function).__name__)
    graph, lifted = _intaglio._trace(run, arguments, list(ranges.items()), [], _identifier(name), lift)
    return Traced(graph, lifted, in_tree, statics, out_tree[0], out_leaves, name)


@contextlib.contextmanager
def name_scope(name: str) -> Iterator[None]:
    """Nodes that are captured inside carry this name as (a part of) their module path."""
    _intaglio._push_scope(name)
    try:
        yield
    finally:
        _intaglio._pop_scope()


def register_op(
    name: str,
    *,
    doc: str = "",
    operands: tuple[str, ...] = ("x",),
    attrs: dict[str, Any] | None = None,
    infer: Any = None,
    reference: Any = None,
    body: Any = None,
    elementwise: bool = False,
    results: int = 1,
    numpy: str = "",
) -> Any:
    """Adds an op of the user's own to the table and gives its function.

    With `body`, a function on arrays, it is a composite: kept whole by name, expanded when compiled. Without one it is
    a primitive with `infer` (from `TensorType`s to one) and `reference` (on NumPy arrays). `attrs` gives the
    attributes with their defaults.
    """
    return _intaglio._register_op(
        name,
        doc or f"{name}, an op of the user's own.",
        operands,
        attrs or {},
        infer,
        reference,
        body,
        elementwise,
        results,
        numpy,
    )
