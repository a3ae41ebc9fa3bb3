"""Control flow on arrays: `cond`, `switch`, `while_loop`, `fori_loop`, `scan` and `map`, with JAX's signatures.

In a capture each is one node with regions: branches and bodies are run once, on stand-ins. Eagerly they are Python's
own `if` and loops, so they can be stepped through, with the same results.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import _errors, _functions, _intaglio
from ._record import is_array

Tensor = _intaglio.Tensor
_NUMBERS = (builtins.bool, builtins.int, builtins.float, builtins.complex)


def _is_number(leaf: Any) -> builtins.bool:
    return type(leaf) in _NUMBERS


def _line(function: Callable[..., Any]) -> str:
    """Where a function was written, for messages that name two of them."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", type(function).__name__)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name


def _type_text(leaf: Any) -> str:
    return f"{leaf.dtype}[{', '.join(str(size) for size in leaf.shape)}]"


def _leaves_as_arrays(
    who: str, part: str, leaves: list[Any], tree: Any, dtypes: list[Any] | None = None
) -> list[Tensor]:
    """The leaves as arrays; Python numbers take the dtype that is wanted in their place."""
    out = []
    for i, leaf in enumerate(leaves):
        if not is_array(leaf) and not _is_number(leaf):
            raise _errors.TypeError(
                f"{who}: {part}{tree.paths()[i]} is a {type(leaf).__name__}, which is no array",
                _intaglio._user_line(),
                why="what passes through control flow are arrays and numbers, in any tree of containers",
                hint="read it in the function's body instead, from a closure or by functools.partial",
            )
        wanted = dtypes[i] if dtypes is not None and i < len(dtypes) and _is_number(leaf) else None
        out.append(_intaglio.asarray(leaf, dtype=wanted) if wanted is not None else _intaglio.asarray(leaf))
    return out


class _Captured:
    """A function captured as a region on some of its leaves: arrays by stand-ins, everything else as it is."""

    def __init__(
        self,
        who: str,
        part: str,
        function: Callable[..., Any],
        tree: Any,
        leaves: list[Any],
        types: list[tuple[Any, tuple[Any, ...]]],
        dtypes: list[Any] | None = None,
    ) -> None:
        self.function = function
        arguments = [(f"x{i}", dtype, shape) for i, (dtype, shape) in enumerate(types)]

        def run(stand_ins: list[Tensor]) -> list[Tensor]:
            arrays = iter(stand_ins)
            filled = [next(arrays) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            result = function(*_intaglio.tree_unflatten(tree, filled))
            self.raw, self.tree = _intaglio.tree_flatten(result)
            out = _leaves_as_arrays(who, part, self.raw, self.tree, dtypes)
            self.types = [(array.dtype, array.shape) for array in out]
            return out

        self.region = _intaglio._capture_region(run, arguments, getattr(function, "__name__", "body"))
        self.numbers = [_is_number(leaf) for leaf in self.raw]


def _types_of(leaves: list[Any]) -> list[tuple[Any, tuple[Any, ...]]]:
    return [(leaf.dtype, leaf.shape) for leaf in leaves if isinstance(leaf, Tensor)]


def _arrays(tree: Any) -> Any:
    leaves, structure = _intaglio.tree_flatten(tree)
    return _intaglio.tree_unflatten(structure, _leaves_as_arrays("control flow", "the result", leaves, structure))


# --- branches ------------------------------------------------------------------------------------------------------


def _same_results(who: str, branches: list[_Captured]) -> None:
    """Refuses branches that give different trees or types, naming both with their lines."""
    first = branches[0]
    for other in branches[1:]:
        if other.tree != first.tree:
            raise _errors.TypeError(
                f"{who}: the branches give different structures: {first.tree!r} and {other.tree!r}",
                _intaglio._user_line(),
                why=f"which branch runs is known only when the graph runs; they are {_line(first.function)} and "
                f"{_line(other.function)}",
                hint="return the same containers from all branches",
            )
        for path, (dtype, shape), (other_dtype, other_shape) in zip(
            first.tree.paths(), first.types, other.types, strict=True
        ):
            if (dtype, shape) == (other_dtype, other_shape):
                continue
            kind = _errors.TypeError if dtype != other_dtype else _errors.ShapeError
            raise kind(
                f"{who}: the branches give different types for result{path}: "
                f"{dtype}{list(shape)} and {other_dtype}{list(other_shape)}",
                _intaglio._user_line(),
                why=f"nothing is converted or broadcast between branches; they are {_line(first.function)} and "
                f"{_line(other.function)}",
                hint="convert with ig.astype, or broadcast with ig.broadcast_to, in one of them",
            )


def _capture_branches(who: str, functions: Sequence[Callable[..., Any]], operands: tuple[Any, ...]) -> Any:
    leaves, tree = _intaglio.tree_flatten(operands)
    leaves = [_intaglio.asarray(leaf) if is_array(leaf) else leaf for leaf in leaves]
    types = _types_of(leaves)

    def capture(function: Callable[..., Any], dtypes: list[Any] | None = None) -> _Captured:
        return _Captured(who, "the result", function, tree, leaves, types, dtypes)

    branches = [capture(function) for function in functions]
    if all(branch.tree == branches[0].tree for branch in branches):
        # Where one branch gives a Python number and another an array, the number takes the array's dtype.
        wanted: list[Any] = []
        for i in range(len(branches[0].raw)):
            settled = [branch.types[i][0] for branch in branches if not branch.numbers[i]]
            numbers = [branch.raw[i] for branch in branches if branch.numbers[i]]
            wanted.append(settled[0] if settled else _intaglio.result_type(*numbers) if numbers else None)
        for i, branch in enumerate(branches):
            if any(
                number and dtype is not None and branch.types[k][0] != dtype
                for k, (number, dtype) in enumerate(zip(branch.numbers, wanted, strict=True))
            ):
                branches[i] = capture(branch.function, wanted)
    _same_results(who, branches)
    return branches, [leaf for leaf in leaves if isinstance(leaf, Tensor)]


def _scalar(who: str, what: str, value: Any) -> Tensor:
    if isinstance(value, _functions.Dim):
        return _intaglio.functions["add"](_intaglio.asarray(0, dtype=_intaglio.int64), value)
    array = _intaglio.asarray(value)
    if len(array.shape) != 0:
        raise _errors.ShapeError(
            f"{who}: {what} has shape {tuple(array.shape)}, but one value decides",
            _intaglio._user_line(),
            why="a branch is taken as a whole; there is no branch for each element",
            hint="reduce it with ig.any or ig.all, or choose element by element with ig.where",
        )
    return array


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """`true_fun(*operands)` where `pred` is true, else `false_fun(*operands)`; only that one runs.

    Parameters
    ----------
    pred : array of rank 0, or a number
        A number is true where it is not 0.
    true_fun, false_fun : callable
        They give the same tree of arrays, with equal shapes and dtypes; a Python number takes the other's dtype.
    operands
        Any trees; arrays in them are passed, all else is part of the branch. Branches may also read arrays around them.

    Raises
    ------
    ShapeError, TypeError
        Where the predicate is no scalar, or the branches differ in what they give.

    Examples
    --------
    >>> ig.cond(ig.asarray(3.0) > 0, lambda x: x * 2, lambda x: x - 1, ig.asarray(3.0))
    Tensor(6., dtype=float32)
    """
    predicate = _scalar("cond", "the predicate", pred)
    if not _intaglio.is_tracing():
        return _arrays((true_fun if builtins.bool(predicate) else false_fun)(*operands))
    if predicate.dtype != _intaglio.bool:
        predicate = predicate != 0
    branches, arrays = _capture_branches("cond", (true_fun, false_fun), operands)
    results = _intaglio._record_control("cond", [predicate], [b.region for b in branches], [arrays], {})
    return _intaglio.tree_unflatten(branches[0].tree, results)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`; an index out of range is clamped. Only that branch runs.

    Parameters
    ----------
    index : integer array of rank 0, or an int
    branches : sequence of callables
        They give the same tree of arrays, with equal shapes and dtypes.

    Raises
    ------
    ValueError, ShapeError, TypeError
        Where there is no branch, the index is no integer scalar, or the branches differ in what they give.

    Examples
    --------
    >>> ig.switch(1, [lambda x: x, lambda x: x * 10], ig.asarray(2))
    Tensor(20, dtype=int64)
    """
    branches = list(branches)
    if not branches:
        raise _errors.ValueError(
            "switch: there is no branch",
            _intaglio._user_line(),
            why="branches is empty",
            hint="give at least one function",
        )
    which = _scalar("switch", "the index", index)
    if not _functions.isdtype(which.dtype, "integral"):
        raise _errors.TypeError(
            f"switch: the index is {which.dtype}, but must be an integer",
            _intaglio._user_line(),
            why="it counts the branches from 0",
            hint="convert it with ig.astype, or use ig.cond",
        )
    if not _intaglio.is_tracing():
        return _arrays(branches[builtins.min(builtins.max(builtins.int(which), 0), len(branches) - 1)](*operands))
    names = _intaglio.functions
    which = names["clip"](names["astype"](which, _intaglio.int64), 0, len(branches) - 1)
    captured, arrays = _capture_branches("switch", branches, operands)
    results = _intaglio._record_control("switch", [which], [b.region for b in captured], [arrays], {})
    return _intaglio.tree_unflatten(captured[0].tree, results)


# --- loops ---------------------------------------------------------------------------------------------------------


def _settle(
    who: str, probe: Callable[[list[Any]], tuple[list[Any], Any]], leaves: list[Any], tree: Any
) -> list[Tensor]:
    """What is carried, as arrays. A Python number takes the dtype that one run of the body gives it."""
    if any(_is_number(leaf) for leaf in leaves):
        results, result_tree = probe(leaves)
        if result_tree == tree:
            leaves = [
                _intaglio.asarray(leaf, dtype=result.dtype)
                if _is_number(leaf) and is_array(result)
                else _intaglio.asarray(leaf, dtype=_intaglio.result_type(leaf, result))
                if _is_number(leaf) and _is_number(result)
                else leaf
                for leaf, result in zip(leaves, results, strict=True)
            ]
    return _leaves_as_arrays(who, "init", leaves, tree)


class _Passed(NamedTuple):
    """What a function takes and gives alike, in the words of errors."""

    part: str
    function: str
    why: str


_CARRY = _Passed("carry", "the body", "each step begins with what the one before gave")


def _same_types(
    who: str,
    tree: Any,
    arrays: list[Tensor],
    given_tree: Any,
    given: list[tuple[Any, tuple[Any, ...]]],
    function: Callable[..., Any],
    passed: _Passed = _CARRY,
) -> None:
    """Refuses a function that gives another tree than it takes, or other types."""
    why = f"{passed.why}; {passed.function} is {_line(function)}"
    if given_tree != tree:
        raise _errors.TypeError(
            f"{who}: {passed.part} comes in as {tree!r}, and {passed.function} gives {given_tree!r}",
            _intaglio._user_line(),
            why=why,
            hint="return the structure that it came with",
        )
    for path, array, (dtype, shape) in zip(tree.paths(), arrays, given, strict=True):
        if array.dtype == dtype and array.shape == shape:
            continue
        kind = _errors.TypeError if array.dtype != dtype else _errors.ShapeError
        raise kind(
            f"{who}: {passed.part}{path} comes in as {_type_text(array)}, and {passed.function} gives "
            f"{dtype}[{', '.join(str(size) for size in shape)}]",
            _intaglio._user_line(),
            why=why,
            hint=f"start with that type, or convert in {passed.function} (ig.astype, ig.broadcast_to)",
        )


def _probe(who: str, function: Callable[..., Any], tree: Any, leaves: list[Any]) -> _Captured:
    """The function captured for its results' types alone."""
    return _Captured(who, "the result", function, tree, leaves, _types_of(leaves))


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """`val = init_val; while cond_fun(val): val = body_fun(val)`, and then `val`.

    Parameters
    ----------
    cond_fun : callable
        From what is carried to a truth value of rank 0.
    body_fun : callable
        From what is carried to the same tree of arrays, with the same shapes and dtypes.
    init_val
        A tree of arrays and numbers. A Python number takes the dtype that the body settles on.

    Raises
    ------
    ShapeError, TypeError
        Where the body changes the type of what is carried, or the condition is no scalar.

    Examples
    --------
    >>> ig.while_loop(lambda x: x < 100, lambda x: x * 2, 3)
    Tensor(192, dtype=int64)
    """
    raw, inner = _intaglio.tree_flatten(init_val)
    _, tree = _intaglio.tree_flatten((init_val,))
    raw = [_intaglio.asarray(leaf) if is_array(leaf) else leaf for leaf in raw]

    def probe(leaves: list[Any]) -> tuple[list[Any], Any]:
        result = _probe("while_loop", body_fun, tree, leaves)
        return result.raw, result.tree

    carry = _settle("while_loop", probe, raw, inner)
    dtypes = [array.dtype for array in carry]
    if not _intaglio.is_tracing():
        value = _intaglio.tree_unflatten(inner, carry)
        while builtins.bool(_scalar("while_loop", "the condition", cond_fun(value))):
            leaves, given_tree = _intaglio.tree_flatten(body_fun(value))
            given = _leaves_as_arrays("while_loop", "the body's result", leaves, given_tree, dtypes)
            _same_types("while_loop", inner, carry, given_tree, [(g.dtype, g.shape) for g in given], body_fun)
            value = _intaglio.tree_unflatten(inner, given)
        return value
    types = _types_of(carry)

    def condition(value: Any) -> Tensor:
        truth = _scalar("while_loop", "the condition", cond_fun(value))
        return truth if truth.dtype == _intaglio.bool else truth != 0

    test = _Captured("while_loop", "the condition", condition, tree, list(carry), types)
    body = _Captured("while_loop", "the body's result", body_fun, tree, list(carry), types, dtypes)
    _same_types("while_loop", inner, carry, body.tree, body.types, body_fun)
    results = _intaglio._record_control("while", [], [test.region, body.region], [carry], {})
    return _intaglio.tree_unflatten(inner, results)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """`val = init_val; for i in range(lower, upper): val = body_fun(i, val)`, and then `val`.

    Parameters
    ----------
    lower, upper : int or Dim, or integer arrays of rank 0
        With two ints or sizes it is a `scan`, whose number of steps the graph knows; else a `while_loop`.
    body_fun : callable
        From the counter (int64) and what is carried to the same tree of arrays, with the same shapes and dtypes.

    Raises
    ------
    ShapeError, TypeError
        Where the body changes the type of what is carried.

    Examples
    --------
    >>> ig.fori_loop(0, 5, lambda i, total: total + i, 0)
    Tensor(10, dtype=int64)
    """
    if all(type(bound) is builtins.int or isinstance(bound, _functions.Dim) for bound in (lower, upper)):

        def step(carry: Any, _: Any) -> tuple[Any, None]:
            i, value = carry
            return (i + 1, body_fun(i, value)), None

        start = _scalar("fori_loop", "lower", lower)
        return scan(step, (start, init_val), None, length=_functions.dim_max(upper - lower, 0))[0][1]
    first = _intaglio.functions["astype"](_scalar("fori_loop", "lower", lower), _intaglio.int64)
    last = _intaglio.functions["astype"](_scalar("fori_loop", "upper", upper), _intaglio.int64)
    return while_loop(
        lambda carry: carry[0] < last,
        lambda carry: (carry[0] + 1, body_fun(carry[0], carry[1])),
        (first, init_val),
    )[1]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: builtins.int | None = None,
    reverse: builtins.bool = False,
    unroll: builtins.int | builtins.bool = 1,
) -> tuple[Any, Any]:
    """Runs `carry, y = f(carry, x)` for each slice `x` of `xs` along its first axis: the last carry, the stacked ys.

    Parameters
    ----------
    f : callable
        From what is carried and a slice to a pair: the carry (same tree, shapes and dtypes), and any tree of arrays.
    init
        A tree of arrays and numbers. A Python number takes the dtype that the body settles on.
    xs
        A tree of arrays with one common first size, or None.
    length : int
        The number of steps; needed where `xs` is None.
    reverse : bool
        From the last slice to the first; the ys stand in the slices' order.
    unroll : int or bool
        In a capture, how many steps each turn of the loop writes out; True: all of them, without a loop. The results
        are the same. A number of steps that is a symbol is not unrolled.

    Raises
    ------
    ShapeError, TypeError, ValueError
        Where first sizes differ, the number of steps is not known, or the body changes the type of what is carried.

    Examples
    --------
    >>> ig.scan(lambda total, x: (total + x, total), 0, ig.asarray([1, 2, 3]))
    (Tensor(6, dtype=int64), Tensor([0, 1, 3], dtype=int64))
    """
    slices, xs_tree = _intaglio.tree_flatten(xs)
    slices = _leaves_as_arrays("scan", "xs", slices, xs_tree)
    for path, array in zip(xs_tree.paths(), slices, strict=True):
        if len(array.shape) == 0:
            raise _errors.ShapeError(
                f"scan: xs{path} is a scalar, and has no axis to scan over",
                _intaglio._user_line(),
                why="each step takes a slice of the first axis",
                hint="read it in the body instead, or give it an axis",
            )
    sizes = [array.shape[0] for array in slices] + ([] if length is None else [length])
    if not sizes:
        raise _errors.ValueError(
            "scan: the number of steps is not known",
            _intaglio._user_line(),
            why="there is nothing to scan over, and no length",
            hint="give length",
        )
    for size in sizes[1:]:
        if size != sizes[0]:
            raise _errors.ShapeError(
                f"scan: the first sizes differ: {sizes[0]} and {size}",
                _intaglio._user_line(),
                why="each step takes one slice of each array",
                hint="all arrays of xs, and length, must agree",
            )
    raw, inner = _intaglio.tree_flatten(init)
    _, tree = _intaglio.tree_flatten((init, xs))
    raw = [_intaglio.asarray(leaf) if is_array(leaf) else leaf for leaf in raw]
    slice_types = [(array.dtype, array.shape[1:]) for array in slices]

    def pair(carry: Any, x: Any) -> tuple[Any, Any]:
        result = f(carry, x)
        if not isinstance(result, tuple) or len(result) != 2:
            raise _errors.TypeError(
                f"scan: the body gives a {type(result).__name__}, but must give a pair",
                _intaglio._user_line(),
                why=f"it gives the carry, and what is stacked; it is {_line(f)}",
                hint="return carry, y; with nothing to stack: return carry, None",
            )
        return result

    def capture(leaves: list[Any], dtypes: list[Any] | None = None) -> _Captured:
        return _Captured(
            "scan", "the body's result", pair, tree, leaves + slices, _types_of(leaves) + slice_types, dtypes
        )

    def split(results: list[Any], whole: Any) -> tuple[Any, Any, builtins.int]:
        """The trees of the carry and of the ys, and how many leaves the first has."""
        carried_part, ys_part = _intaglio.tree_unflatten(whole, results)
        given, carry_tree = _intaglio.tree_flatten(carried_part)
        return carry_tree, _intaglio.tree_flatten(ys_part)[1], len(given)

    def probe(leaves: list[Any]) -> tuple[list[Any], Any]:
        body = capture(leaves)
        carry_tree, _, count = split(body.raw, body.tree)
        return body.raw[:count], carry_tree

    carry = _settle("scan", probe, raw, inner)
    dtypes = [array.dtype for array in carry]
    eager = not _intaglio.is_tracing()
    turn = _steps_a_turn(unroll, sizes[0])

    def steps(value: Any, own: list[Tensor], count: builtins.int) -> tuple[Any, Any]:
        """So many steps, one after the other, on the slices of `own`."""
        stacked, ys_tree = [], xs_tree
        for i in range(count - 1, -1, -1) if reverse else range(count):
            value, y = pair(value, _intaglio.tree_unflatten(xs_tree, [array[i] for array in own]))
            leaves, given_tree = _intaglio.tree_flatten(value)
            given = _leaves_as_arrays("scan", "the body's carry", leaves, given_tree, dtypes)
            _same_types("scan", inner, carry, given_tree, [(g.dtype, g.shape) for g in given], f)
            value = _intaglio.tree_unflatten(inner, given)
            ys, ys_tree = _intaglio.tree_flatten(y)
            stacked.append(_leaves_as_arrays("scan", "the body's y", ys, ys_tree))
        if reverse:
            stacked.reverse()
        stack = _intaglio.functions["stack"]
        return value, _intaglio.tree_unflatten(
            ys_tree, [stack(list(items), axis=0) for items in zip(*stacked, strict=True)]
        )

    value = _intaglio.tree_unflatten(inner, carry)
    whole = isinstance(sizes[0], builtins.int) and turn == sizes[0]
    if (eager or whole) and sizes[0] > 0:
        return steps(value, slices, sizes[0])
    if turn > 1:
        return _in_turns(steps, value, slices, sizes[0], turn, builtins.bool(reverse))
    body = capture(list(carry), dtypes)
    carry_tree, ys_tree, count = split(body.raw, body.tree)
    _same_types("scan", inner, carry, carry_tree, body.types[:count], f)
    if eager:
        empty = [_intaglio.asarray(_functions.zeros((0, *shape), dtype=dtype)) for dtype, shape in body.types[count:]]
        return _intaglio.tree_unflatten(inner, carry), _intaglio.tree_unflatten(ys_tree, empty)
    results = _intaglio._record_control(
        "scan", [], [body.region], [carry, slices], {"length": (sizes[0],), "reverse": builtins.bool(reverse)}
    )
    return (
        _intaglio.tree_unflatten(inner, results[:count]),
        _intaglio.tree_unflatten(ys_tree, results[count:]),
    )


def _steps_a_turn(unroll: Any, size: Any) -> builtins.int:
    if not isinstance(unroll, builtins.int) or (unroll < 1 and unroll is not False):
        raise _errors.ValueError(
            f"scan: unroll is {unroll!r}, but is a number of steps",
            _intaglio._user_line(),
            why="each turn of the loop writes out so many steps",
            hint="give an integer from 1 on, or True for all steps",
        )
    if type(size) is not builtins.int:
        return 1
    return size if unroll is True else builtins.min(builtins.max(unroll, 1), builtins.max(size, 1))


def _in_turns(
    steps: Callable[[Any, list[Tensor], builtins.int], tuple[Any, Any]],
    carry: Any,
    slices: list[Tensor],
    size: builtins.int,
    turn: builtins.int,
    reverse: builtins.bool,
) -> tuple[Any, Any]:
    """A scan whose body is `turn` steps; those that are left over come behind it."""
    names = _intaglio.functions
    turns, rest = divmod(size, turn)
    first, last = (rest, size) if reverse else (0, size - rest)
    blocks = [names["reshape"](x[first:last], (turns, turn, *x.shape[1:])) for x in slices]
    carry, ys = scan(lambda c, block: steps(c, block, turn), carry, blocks, length=turns, reverse=reverse)
    leaves, tree = _intaglio.tree_flatten(ys)
    leaves = [names["reshape"](y, (turns * turn, *y.shape[2:])) for y in leaves]
    if rest:
        carry, more = steps(carry, [x[:rest] if reverse else x[last:] for x in slices], rest)
        pairs = zip(leaves, _intaglio.tree_flatten(more)[0], strict=True)
        leaves = [names["concat"]([b, a] if reverse else [a, b], axis=0) for a, b in pairs]
    return carry, _intaglio.tree_unflatten(tree, leaves)


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: builtins.int | None = None) -> Any:
    """`f` of each slice of `xs` along its first axis, stacked: a `scan` that carries nothing.

    Parameters
    ----------
    batch_size : int
        So many slices are done together, by `vmap`: between `map` and `vmap` in memory and time.

    Raises
    ------
    ShapeError, ValueError
        Where the arrays of `xs` differ in their first size, or the batch size is no number of slices.

    Examples
    --------
    >>> ig.map(lambda row: ig.sum(row), ig.asarray([[1, 2], [3, 4]]))
    Tensor([3, 7], dtype=int64)
    """
    if batch_size is None:
        return scan(lambda carry, x: (carry, f(x)), (), xs)[1]
    leaves, tree = _intaglio.tree_flatten(xs)
    slices = _leaves_as_arrays("map", "xs", leaves, tree)
    sizes = [array.shape[0] if len(array.shape) else None for array in slices]
    if type(batch_size) is not builtins.int or batch_size < 1:
        raise _errors.ValueError(
            f"map: batch_size is {batch_size!r}, but is a number of slices",
            _intaglio._user_line(),
            why="so many slices are done together",
            hint="give an integer from 1 on, or None to do one after the other",
        )
    if not sizes or any(type(size) is not builtins.int or size != sizes[0] for size in sizes):
        raise _errors.ShapeError(
            f"map: the first sizes of xs are {', '.join(str(size) for size in sizes) or 'not there'}, "
            "but one fixed size is cut into batches",
            _intaglio._user_line(),
            why="all arrays are cut along their first axis, at the same places",
            hint="give arrays with one first size; with a symbolic size leave batch_size out",
        )
    from ._vmap import vmap  # which is written on this module

    count: builtins.int = slices[0].shape[0]
    turns, rest = divmod(count, batch_size)
    names, many, parts = _intaglio.functions, vmap(f), []
    whole = turns * batch_size
    if turns:
        blocks = [names["reshape"](x[:whole], (turns, batch_size, *x.shape[1:])) for x in slices]
        done = scan(lambda carry, x: (carry, many(x)), (), _intaglio.tree_unflatten(tree, blocks))[1]
        ys, out_tree = _intaglio.tree_flatten(done)
        parts.append([names["reshape"](y, (whole, *y.shape[2:])) for y in ys])
    if rest or not turns:
        ys, out_tree = _intaglio.tree_flatten(many(_intaglio.tree_unflatten(tree, [x[whole:] for x in slices])))
        parts.append(ys)
    stacked = parts[0] if len(parts) == 1 else [names["concat"](list(two), axis=0) for two in zip(*parts, strict=True)]
    return _intaglio.tree_unflatten(out_tree, stacked)
