"""Derivatives: `grad` and its kin, with JAX's signatures.

A function is captured on stand-ins for the arguments that are differentiated, its graph is transformed, and the new
graph runs at once, or becomes part of the capture that is going on. So all of it composes, and works under `ig.jit`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import _errors, _functions, _intaglio
from ._control import _is_number, _line, _type_text
from ._record import _argument_names, _identifier, is_array
from ._vmap import vmap
from ._wrap import require_function, wraps

Tensor = _intaglio.Tensor


def _moves(dtype: Any) -> builtins.bool:
    """Whether arrays of this dtype have tangents."""
    return builtins.bool(_functions.isdtype(dtype, ("real floating", "complex floating")))


def _positions(who: str, argnums: Any, args: tuple[Any, ...]) -> list[int]:
    positions = [argnums] if isinstance(argnums, int) else list(argnums)
    for position in positions:
        if not isinstance(position, int) or not -len(args) <= position < len(args):
            raise _errors.IndexError(
                f"{who}: argnums names argument {position!r}, but {len(args)} were given by position",
                _intaglio._user_line(),
                why="argnums counts positional arguments from 0, or from the end as negative numbers",
                hint="pass the argument by position, or change argnums",
            )
    return [position % len(args) for position in positions]


class _Function:
    """A function, captured on the leaves of some of its arguments. `finish` turns its result into arrays."""

    def __init__(
        self,
        who: str,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        positions: Sequence[int],
        finish: Callable[[Any], list[Tensor]],
        whole: builtins.bool = False,
    ) -> None:
        require_function(fun, who, "differentiated", "give the function first, and then its arguments")
        self.leaves, self.tree = _intaglio.tree_flatten([args[i] for i in positions])
        names = _argument_names(fun, args, {})
        paths = [names[i] + path for i in positions for path in _intaglio.tree_flatten(args[i])[1].paths()]
        self.arrays: list[Tensor] = []
        self.moves: list[builtins.bool] = []
        for leaf, path in zip(self.leaves, paths, strict=True):
            if not is_array(leaf) and not _is_number(leaf):
                raise _errors.TypeError(
                    f"{who}: argument {path} is a {type(leaf).__name__}, which has no derivative",
                    _intaglio._user_line(),
                    why="derivatives are taken by arrays and numbers, in any tree of containers",
                    hint="leave the argument out of argnums, or bind it with functools.partial",
                )
            array = _intaglio.asarray(leaf)
            moves = _moves(array.dtype)
            if not moves and not whole:
                raise _errors.TypeError(
                    f"{who}: argument {path} is {array.dtype}, and derivatives are taken by floats",
                    _intaglio._user_line(),
                    why="a whole number or a truth value does not vary continuously",
                    hint="convert it with ig.astype(x, ig.float32), or leave the argument out of argnums",
                )
            self.arrays.append(array)
            self.moves.append(moves)

        def run(stand_ins: list[Tensor]) -> list[Tensor]:
            filled = list(args)
            for i, part in zip(positions, _intaglio.tree_unflatten(self.tree, stand_ins), strict=True):
                filled[i] = part
            return finish(fun(*filled, **kwargs))

        self.graph, self.outer = _intaglio._capture_function(
            run, self.arrays, [_identifier(path) for path in paths], getattr(fun, "__name__", "function")
        )
        self.inputs = [*self.arrays, *self.outer]
        self.mask = self.moves + [False] * len(self.outer)


class _Result:
    """What a function gave, as arrays: `leaves` keeps what is none."""

    def __init__(self, who: str, value: Any, numbers: builtins.bool = True) -> None:
        raw, self.tree = _intaglio.tree_flatten(value)
        self.arrays: list[Tensor] = []
        self.leaves: list[Any] = []
        for leaf, path in zip(raw, self.tree.paths(), strict=True):
            if is_array(leaf) or (numbers and _is_number(leaf)):
                self.arrays.append(_intaglio.asarray(leaf))
                self.leaves.append(None)
            elif numbers:
                raise _errors.TypeError(
                    f"{who}: result{path} is a {type(leaf).__name__}, which is no array",
                    _intaglio._user_line(),
                    why="what is differentiated are arrays and numbers, in any tree of containers",
                    hint="return it beside the result, with has_aux=True",
                )
            else:
                self.leaves.append((leaf,))
        self.types = [(array.dtype, array.shape) for array in self.arrays]
        self.moves = [_moves(array.dtype) for array in self.arrays]

    def fill(self, arrays: Sequence[Any]) -> Any:
        rest = iter(arrays)
        return _intaglio.tree_unflatten(self.tree, [next(rest) if leaf is None else leaf[0] for leaf in self.leaves])


def _pair(who: str, fun: Callable[..., Any], value: Any) -> tuple[Any, Any]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise _errors.TypeError(
            f"{who}: with has_aux the function gives a pair, not a {type(value).__name__}",
            _intaglio._user_line(),
            why=f"the second of the pair is handed through, and not differentiated; the function is {_line(fun)}",
            hint="return value, aux; or leave has_aux out",
        )
    return value


def _gradients(
    who: str,
    fun: Callable[..., Any],
    argnums: Any,
    has_aux: builtins.bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Any, Any]:
    aux: list[_Result] = []

    def finish(value: Any) -> list[Tensor]:
        if has_aux:
            value, extra = _pair(who, fun, value)
            aux.append(_Result(who, extra, numbers=False))
        if not is_array(value) and not _is_number(value):
            raise _errors.TypeError(
                f"{who}: the function gives a {type(value).__name__}, but must give one number",
                _intaglio._user_line(),
                why=f"a gradient is of one number; the function is {_line(fun)}",
                hint="return the loss alone; with more to return: has_aux=True",
            )
        array = _intaglio.asarray(value)
        if len(array.shape) != 0:
            raise _errors.ShapeError(
                f"{who}: the function gives {_type_text(array)}, but must give one number",
                _intaglio._user_line(),
                why=f"a gradient is of one number; the function is {_line(fun)}",
                hint="reduce it with ig.sum or ig.mean, or use ig.jacrev or ig.jacfwd",
            )
        if not _functions.isdtype(array.dtype, "real floating"):
            raise _errors.TypeError(
                f"{who}: the function gives {array.dtype}, but must give a real float",
                _intaglio._user_line(),
                why=f"only a real number has a gradient; the function is {_line(fun)}",
                hint="convert it with ig.astype, take ig.real of a complex one, or use ig.vjp",
            )
        return [array] + (aux[0].arrays if has_aux else [])

    positions = _positions(who, argnums, args)
    function = _Function(who, fun, args, kwargs, positions, finish)
    graph = _intaglio._graph_value_and_grad(function.graph, function.mask)
    results = _intaglio._apply_graph(graph, function.inputs)
    extra = len(aux[0].arrays) if has_aux else 0
    gradients = _intaglio.tree_unflatten(function.tree, results[1 + extra :])
    return (
        results[0],
        gradients[0] if isinstance(argnums, int) else tuple(gradients),
        aux[0].fill(results[1 : 1 + extra]) if has_aux else None,
    )


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: builtins.bool = False
) -> Callable[..., Any]:
    """A function that gives the value of `fun` and its gradient.

    Parameters
    ----------
    fun : callable
        It gives one real number (an array of rank 0), or with `has_aux` a pair of that and anything else.
    argnums : int or sequence of ints
        The arguments to differentiate by: trees of float or complex arrays.

    Returns
    -------
    callable
        It gives `(value, gradient)`, or `((value, aux), gradient)`. The gradient has the structure, shapes and dtypes
        of the argument; for a sequence of argnums it is a tuple.

    Raises
    ------
    ShapeError, TypeError, IndexError
        Where the result is not one real number, an argument is no float, or argnums is out of range.

    Examples
    --------
    >>> ig.value_and_grad(lambda x: ig.sum(x * x))(ig.asarray([1.0, 2.0]))
    (Tensor(5., dtype=float32), Tensor([2., 4.], dtype=float32))
    """

    require_function(fun, "value_and_grad", "differentiated")

    @wraps(fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        value, gradient, aux = _gradients("value_and_grad", fun, argnums, has_aux, args, kwargs)
        return ((value, aux) if has_aux else value), gradient

    return wrapper


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: builtins.bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of `fun`, which gives one real number.

    Parameters and errors are those of `value_and_grad`; with `has_aux` the new function gives `(gradient, aux)`.

    Raises
    ------
    ShapeError, TypeError, IndexError
        Where the result is not one real number, an argument is no float, or argnums is out of range.

    Examples
    --------
    >>> ig.grad(lambda x: x**3)(2.0)
    Tensor(12., dtype=float32)
    """

    require_function(fun, "grad", "differentiated")

    @wraps(fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _, gradient, aux = _gradients("grad", fun, argnums, has_aux, args, kwargs)
        return (gradient, aux) if has_aux else gradient

    return wrapper


def _like(who: str, what: str, value: Any, tree: Any, types: list[Any]) -> list[Tensor]:
    """The leaves of a tangent or cotangent, which must have this structure and these types."""
    leaves, given = _intaglio.tree_flatten(value)
    if given != tree:
        raise _errors.TypeError(
            f"{who}: the {what} has the structure {given!r}, but {tree!r} is needed",
            _intaglio._user_line(),
            why=f"there is one {what} for each array, in the same containers",
            hint="build it with ig.tree_map over what it belongs to",
        )
    out = []
    for leaf, path, (dtype, shape) in zip(leaves, tree.paths(), types, strict=True):
        array = _intaglio.asarray(leaf, dtype=dtype) if _is_number(leaf) else leaf
        if not is_array(array):
            raise _errors.TypeError(
                f"{who}: the {what}{path} is a {type(leaf).__name__}, which is no array",
                _intaglio._user_line(),
                why=f"there is one {what} for each array, of its shape and dtype",
                hint="pass an array",
            )
        array = _intaglio.asarray(array)
        if array.dtype != dtype or tuple(array.shape) != tuple(shape):
            kind = _errors.TypeError if array.dtype != dtype else _errors.ShapeError
            sizes = ", ".join(str(size) for size in shape)
            raise kind(
                f"{who}: the {what}{path} is {_type_text(array)}, but {dtype}[{sizes}] is needed",
                _intaglio._user_line(),
                why=f"a {what} has the shape and dtype of what it belongs to; nothing is converted or broadcast",
                hint="convert it with ig.astype, or broadcast it with ig.broadcast_to",
            )
        out.append(array)
    return out


def _run_parts(parts: Any, inputs: list[Tensor], results: int) -> tuple[list[Tensor], Callable[..., list[Tensor]]]:
    """Runs the first part: its results, and the second part as a function."""
    known, linear, residuals, _ = parts
    given = _intaglio._apply_graph(known, inputs)
    rest = iter(given[results:])
    kept = [inputs[i] if i >= 0 else next(rest) for i in residuals]
    return given[:results], lambda arrays: _intaglio._apply_graph(linear, kept + arrays)


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: builtins.bool = False) -> Any:
    """The value of `fun`, and the function that pulls cotangents of it back to the arguments.

    Parameters
    ----------
    fun : callable
        It gives any tree of arrays, or with `has_aux` a pair of that and anything else.
    primals
        Trees of arrays. Arrays of integers and truth values do not move: their cotangent is None.

    Returns
    -------
    value, vjp_fun
        And `aux`. `vjp_fun` takes cotangents with the structure, shapes and dtypes of the value (None for what is no
        float), and gives a tuple with one for each of `primals`. It may be called many times.

    Raises
    ------
    TypeError, ShapeError
        Where the cotangent has not the value's structure, dtype or shape.

    Examples
    --------
    >>> value, pull = ig.vjp(lambda x: x * x, ig.asarray([1.0, 3.0]))
    >>> pull(ig.asarray([1.0, 10.0]))
    (Tensor([ 2., 60.], dtype=float32),)
    """
    kept: list[_Result] = []

    def finish(value: Any) -> list[Tensor]:
        extra = None
        if has_aux:
            value, extra = _pair("vjp", fun, value)
        kept.extend((_Result("vjp", value), _Result("vjp", extra, numbers=False)))
        return kept[0].arrays + kept[1].arrays

    function = _Function("vjp", fun, primals, {}, range(len(primals)), finish, whole=True)
    result, aux = kept
    given = result.moves + [False] * len(aux.arrays)
    parts = _intaglio._graph_vjp(function.graph, function.mask, given)
    values, run = _run_parts(parts, function.inputs, len(given))
    count = len(result.arrays)
    full = _intaglio.tree_flatten(result.fill([0.0 if moves else None for moves in result.moves]))[1]
    types = [each for each, moves in zip(result.types, result.moves, strict=True) if moves]

    def pull(cotangent: Any) -> Any:
        gradients = iter(run(_like("vjp", "cotangent", cotangent, full, types)))
        return tuple(
            _intaglio.tree_unflatten(function.tree, [next(gradients) if moves else None for moves in function.moves])
        )

    value = result.fill(values[:count])
    return (value, pull, aux.fill(values[count:])) if has_aux else (value, pull)


def _tangents(who: str, function: _Function, primals: Any, tangents: Any) -> list[Tensor]:
    types = [(array.dtype, array.shape) for array in function.arrays]
    _, tree = _intaglio.tree_flatten(tuple(primals))
    return _like(who, "tangent", tuple(tangents), tree, types)


def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: builtins.bool = False
) -> Any:
    """The value of `fun` at `primals`, and its derivative along `tangents`: forward mode.

    Parameters
    ----------
    primals, tangents : sequences of trees
        One for each argument, with equal structures, shapes and dtypes. Floats and complex numbers alone.

    Returns
    -------
    value, tangent
        And `aux`, where `has_aux` is true. The tangent of a result that is no float is None.

    Raises
    ------
    TypeError, ShapeError
        Where an argument is no float, or the tangents do not fit the primals.

    Examples
    --------
    >>> ig.jvp(lambda x: x * x, (ig.asarray(3.0),), (ig.asarray(1.0),))
    (Tensor(9., dtype=float32), Tensor(6., dtype=float32))
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise _errors.TypeError(
                f"jvp: the {what} are a {type(given).__name__}, but must be a tuple",
                _intaglio._user_line(),
                why="they hold one entry for each argument of the function",
                hint="write ig.jvp(f, (x,), (tangent,))",
            )
    kept: list[_Result] = []

    def finish(value: Any) -> list[Tensor]:
        extra = None
        if has_aux:
            value, extra = _pair("jvp", fun, value)
        kept.extend((_Result("jvp", value), _Result("jvp", extra, numbers=False)))
        return kept[0].arrays + kept[1].arrays

    function = _Function("jvp", fun, tuple(primals), {}, range(len(primals)), finish)
    arrays = _tangents("jvp", function, primals, tangents)
    result, aux = kept
    wanted = result.moves + [False] * len(aux.arrays)
    graph = _intaglio._graph_jvp(function.graph, function.mask, wanted)
    results = _intaglio._apply_graph(graph, function.inputs + arrays)
    count, all_count = len(result.arrays), len(wanted)
    moved = iter(results[all_count:])
    out = result.fill(results[:count]), result.fill([next(moved) if moves else None for moves in result.moves])
    return (*out, aux.fill(results[count:all_count])) if has_aux else out


def linearize(fun: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of `fun`, and its derivative there as a linear function of the tangents, which may be called often.

    Raises
    ------
    TypeError, ShapeError
        Where an argument is no float, or later the tangents do not fit the primals.

    Examples
    --------
    >>> value, push = ig.linearize(lambda x: x * x, ig.asarray(3.0))
    >>> push(ig.asarray(1.0)), push(ig.asarray(2.0))
    (Tensor(6., dtype=float32), Tensor(12., dtype=float32))
    """
    kept: list[_Result] = []

    def finish(value: Any) -> list[Tensor]:
        kept.append(_Result("linearize", value))
        return kept[0].arrays

    function = _Function("linearize", fun, primals, {}, range(len(primals)), finish)
    result = kept[0]
    parts = _intaglio._graph_linearize(function.graph, function.mask, result.moves)
    values, run = _run_parts(parts, function.inputs, len(result.arrays))

    def push(*tangents: Any) -> Any:
        moved = iter(run(_tangents("linearize", function, primals, tangents)))
        return result.fill([next(moved) if moves else None for moves in result.moves])

    return result.fill(values), push


def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[[Any], Any]:
    """The transpose of `fun`, which must be linear: from cotangents of its result to those of its arguments.

    Parameters
    ----------
    primals
        Trees of arrays; only their shapes and dtypes matter.

    Raises
    ------
    UnsupportedError
        Where `fun` is not linear, naming the op and its line.
    TypeError, ShapeError
        Where an argument is no float, or the cotangent does not fit the result.

    Examples
    --------
    >>> ig.linear_transpose(lambda x: 3 * x[1:], ig.zeros(3))(ig.asarray([1.0, 2.0]))
    (Tensor([0., 3., 6.], dtype=float32),)
    """
    kept: list[_Result] = []

    def finish(value: Any) -> list[Tensor]:
        kept.append(_Result("linear_transpose", value))
        return kept[0].arrays

    function = _Function("linear_transpose", fun, primals, {}, range(len(primals)), finish)
    result = kept[0]
    graph = _intaglio._graph_transpose(function.graph, function.mask, result.moves)

    def pull(cotangent: Any) -> Any:
        arrays = _like("linear_transpose", "cotangent", cotangent, result.tree, result.types)
        results = _intaglio._apply_graph(graph, function.outer + arrays)
        return tuple(_intaglio.tree_unflatten(function.tree, results))

    return pull


class Residual(NamedTuple):
    """An array that the forward pass keeps for the backward pass."""

    dtype: Any
    shape: tuple[Any, ...]
    bytes: Any
    source: str


def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Residual]:
    """What reverse mode of `fun` keeps between forward and backward pass: for each array its type, bytes and source.

    What is computed again is not among them: numbers, views, and element-wise work, where that keeps fewer bytes. An
    argument that is kept costs nothing of its own.

    Raises
    ------
    TypeError
        Where an argument is no array, or the result holds anything but arrays and numbers.

    Examples
    --------
    >>> for kept in ig.saved_residuals(lambda w, x: ig.sin(ig.exp(w @ x)), ig.ones((3, 3)), ig.ones(3)):
    ...     print(kept.bytes, kept.source.split(" at ")[0])
    12 exponential
    36 argument w
    12 argument x
    """
    kept: list[_Result] = []

    def finish(value: Any) -> list[Tensor]:
        kept.append(_Result("saved_residuals", value))
        return kept[0].arrays

    function = _Function("saved_residuals", fun, args, kwargs, range(len(args)), finish, whole=True)
    given = kept[0].moves
    known, linear, residuals, _ = _intaglio._graph_vjp(function.graph, function.mask, given)
    made = {result["key"]: node for node in known.nodes for result in node["results"]}
    extra = iter(known.outputs[len(given) :])
    out = []
    for residual, value in zip(residuals, linear.inputs, strict=False):
        if residual >= 0:
            source = f"argument {function.graph.inputs[residual]['name']}"
        else:
            node = made[next(extra)["key"]]
            source = f"{node['op']} at {node['location']}" if node["location"] else node["op"]
        size: Any = value["dtype"].itemsize
        for each in value["shape"]:
            size = size * each
        out.append(Residual(value["dtype"], value["shape"], size, source))
    return out


# --- whole matrices of derivatives ---------------------------------------------------------------------------------


def _basis(arrays: list[Tensor]) -> list[Tensor]:
    """For each array, one direction for every element of all of them: arrays of shape (all, *shape)."""
    names = _intaglio.functions
    sizes = [builtins.int(array.size) for array in arrays]
    total = builtins.sum(sizes)
    out = []
    before = 0
    for array, size in zip(arrays, sizes, strict=True):
        block = _functions.eye(total, size, k=-before, dtype=array.dtype)
        out.append(names["reshape"](block, (total, *array.shape)))
        before += size
    return out


def _blocks(columns: Tensor, parts: list[Tensor], first: builtins.bool) -> list[Tensor]:
    """Derivatives along the basis of `parts` (the first axis of `columns`), by part, that axis unfolded."""
    names = _intaglio.functions
    out = []
    before = 0
    rest = tuple(columns.shape[1:])
    for part in parts:
        size = builtins.int(part.size)
        block = columns[before : before + size]
        before += size
        if first:
            out.append(names["reshape"](block, (*part.shape, *rest)))
        else:
            turned = names["permute_dims"](block, (*range(1, len(rest) + 1), 0))
            out.append(names["reshape"](turned, (*rest, *part.shape)))
    return out


def _jacobian(
    who: str, fun: Callable[..., Any], argnums: Any, has_aux: builtins.bool, forward: builtins.bool
) -> Callable[..., Any]:
    require_function(fun, who, "differentiated")

    @wraps(fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        positions = _positions(who, argnums, args)
        kept: list[_Result] = []

        def finish(value: Any) -> list[Tensor]:
            extra = None
            if has_aux:
                value, extra = _pair(who, fun, value)
            kept.extend((_Result(who, value), _Result(who, extra, numbers=False)))
            for (dtype, _), path in zip(kept[0].types, kept[0].tree.paths(), strict=True):
                if not _moves(dtype):
                    raise _errors.TypeError(
                        f"{who}: result{path} is {dtype}, and has no derivative",
                        _intaglio._user_line(),
                        why="only floats and complex numbers vary continuously",
                        hint="convert it with ig.astype, or return it beside the result, with has_aux=True",
                    )
            return kept[0].arrays + kept[1].arrays

        function = _Function(who, fun, args, kwargs, positions, finish)
        result, aux = kept
        wanted = [True] * len(result.arrays) + [False] * len(aux.arrays)
        transform = _intaglio._graph_linearize if forward else _intaglio._graph_vjp
        parts = transform(function.graph, function.mask, wanted)
        values, run = _run_parts(parts, function.inputs, len(wanted))
        count = len(result.arrays)
        outputs = values[:count]
        along = _basis(function.arrays if forward else outputs)
        columns = vmap(lambda *directions: run(list(directions)))(*along) if along else []
        # table[output][input]
        if forward:
            table = [_blocks(column, function.arrays, False) for column in columns]
        else:
            by_input = [_blocks(column, outputs, True) for column in columns]
            table = [[row[k] for row in by_input] for k in range(count)]
        rows = []
        for row in table:
            filled = _intaglio.tree_unflatten(function.tree, row)
            rows.append(filled[0] if isinstance(argnums, int) else tuple(filled))
        jacobian = result.fill(rows)
        return (jacobian, aux.fill(values[count:])) if has_aux else jacobian

    return wrapper


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: builtins.bool = False
) -> Callable[..., Any]:
    """The Jacobian of `fun` by forward mode, all columns together (`vmap`): good where there are few inputs.

    For each array of the result there is the argument's tree, of arrays of shape `(*result.shape, *argument.shape)`.

    Raises
    ------
    TypeError, IndexError
        Where an argument or a result is no float, or argnums is out of range.

    Examples
    --------
    >>> ig.jacfwd(lambda x: x * x)(ig.asarray([1.0, 3.0]))
    Tensor([[2., 0.],
            [0., 6.]], dtype=float32)
    """
    return _jacobian("jacfwd", fun, argnums, has_aux, True)


def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: builtins.bool = False
) -> Callable[..., Any]:
    """The Jacobian of `fun` by reverse mode, all rows together (`vmap`): good where there are few results.

    For each array of the result there is the argument's tree, of arrays of shape `(*result.shape, *argument.shape)`.

    Raises
    ------
    TypeError, IndexError
        Where an argument or a result is no float, or argnums is out of range.

    Examples
    --------
    >>> ig.jacrev(lambda x: ig.sum(x * x))(ig.asarray([1.0, 3.0]))
    Tensor([2., 6.], dtype=float32)
    """
    return _jacobian("jacrev", fun, argnums, has_aux, False)


def hessian(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: builtins.bool = False
) -> Callable[..., Any]:
    """The second derivatives of `fun`: forward mode over reverse mode.

    Raises
    ------
    TypeError, IndexError
        Where an argument or a result is no float, or argnums is out of range.

    Examples
    --------
    >>> ig.hessian(lambda x: ig.sum(x**3))(ig.asarray([1.0, 2.0]))
    Tensor([[ 6.,  0.],
            [ 0., 12.]], dtype=float32)
    """
    inner = _jacobian("hessian", fun, argnums, has_aux, False)
    return _jacobian("hessian", inner, argnums, has_aux, True)
