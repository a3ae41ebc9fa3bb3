"""Functions with derivatives of the user's own, and `checkpoint`: in a capture each is one node with regions."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _errors, _functions, _intaglio
from ._control import _arrays, _is_number, _line, _type_text
from ._record import is_array
from ._wrap import wraps

Tensor = _intaglio.Tensor


def _moves(dtype: Any) -> builtins.bool:
    return builtins.bool(_functions.isdtype(dtype, ("real floating", "complex floating")))


class _Region:
    """A function of arrays, captured on stand-ins of these types; `finish` turns its result into arrays."""

    def __init__(
        self,
        function: Callable[..., Any],
        types: Sequence[tuple[Any, Any]],
        call: Callable[[list[Tensor]], list[Tensor]],
    ) -> None:
        self.types: list[tuple[Any, Any]] = []

        def run(stand_ins: list[Tensor]) -> list[Tensor]:
            out = call(stand_ins)
            self.types = [(array.dtype, tuple(array.shape)) for array in out]
            return out

        arguments = [(f"x{i}", dtype, shape) for i, (dtype, shape) in enumerate(types)]
        self.region = _intaglio._capture_region(run, arguments, getattr(function, "__name__", "function"))


def _leaves(who: str, what: str, value: Any) -> tuple[list[Tensor], Any]:
    leaves, tree = _intaglio.tree_flatten(value)
    for leaf, path in zip(leaves, tree.paths(), strict=True):
        if not is_array(leaf) and not _is_number(leaf):
            raise _errors.TypeError(
                f"{who}: {what}{path} is a {type(leaf).__name__}, which is no array",
                _intaglio._user_line(),
                why="a derivative rule is about arrays and numbers, in any tree of containers",
                hint="name the argument in nondiff_argnums, or bind it with functools.partial",
            )
    return [_intaglio.asarray(leaf) for leaf in leaves], tree


def _check(who: str, what: str, array: Any, wanted: tuple[Any, Any], rule: Callable[..., Any]) -> Tensor:
    dtype, shape = wanted
    if _is_number(array):
        array = _intaglio.asarray(array, dtype=dtype)
    array = _intaglio.asarray(array)
    if array.dtype != dtype or tuple(array.shape) != tuple(shape):
        kind = _errors.TypeError if array.dtype != dtype else _errors.ShapeError
        sizes = ", ".join(str(size) for size in shape)
        raise kind(
            f"{who}: {what} is {_type_text(array)}, but {dtype}[{sizes}] is needed",
            _intaglio._user_line(),
            why=f"derivatives have the shape and dtype of what they belong to; the rule is {_line(rule)}",
            hint="convert with ig.astype, or reduce or broadcast, in the rule",
        )
    return array


def _same_tree(who: str, what: str, tree: Any, wanted: Any, rule: Callable[..., Any]) -> None:
    if tree != wanted:
        raise _errors.TypeError(
            f"{who}: {what} has the structure {tree!r}, but {wanted!r} is needed",
            _intaglio._user_line(),
            why=f"a rule gives one derivative for each array, in the same containers; the rule is {_line(rule)}",
            hint="return the containers that the function takes and gives",
        )


def _pair(who: str, what: str, value: Any, rule: Callable[..., Any]) -> tuple[Any, Any]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise _errors.TypeError(
            f"{who}: the rule gives a {type(value).__name__}, but must give a pair",
            _intaglio._user_line(),
            why=f"it gives {what}; the rule is {_line(rule)}",
            hint="return the two as a tuple",
        )
    return value


def _on_tape(who: str, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`call(*args, **kwargs)` by way of a graph, so that its rule and not its body goes on the tape."""
    leaves, tree = _intaglio.tree_flatten((args, kwargs))
    arrays = [_intaglio.asarray(leaf) for leaf in leaves if is_array(leaf)]
    kept: list[Any] = []

    def run(stand_ins: list[Tensor]) -> list[Tensor]:
        given = iter(stand_ins)
        filled = [next(given) if is_array(leaf) else leaf for leaf in leaves]
        own_args, own_kwargs = _intaglio.tree_unflatten(tree, filled)
        results, out_tree = _leaves(who, "result", call(*own_args, **own_kwargs))
        kept.append(out_tree)
        return results

    names = [f"x{i}" for i in range(len(arrays))]
    graph, outer = _intaglio._capture_function(run, arrays, names, getattr(call, "__name__", "function"))
    return _intaglio.tree_unflatten(kept[0], _intaglio._apply_graph(graph, [*arrays, *outer]))


def _ending(function: _Region, arrays: list[Tensor], why: str) -> list[Tensor]:
    """A call whose value is right, and of which a derivative is refused: `why` is the node's `ends`."""
    return list(_intaglio._record_control("custom_jvp", [], [function.region], [arrays], {"ends": why}))


_DEEPEST = 4  # how many times a rule is followed into the calls of its own function


class _Custom:
    """What both kinds share: the arguments that are differentiated, and the function itself as a region."""

    who = ""

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()) -> None:
        wraps(fun)(self)
        self.fun = fun
        self.local = threading.local()
        self.nondiff = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)

    def _no_rule(self, how: str) -> Exception:
        return _errors.ValueError(
            f"{self.who}: the function has no rule yet",
            _intaglio._user_line(),
            why=f"the decorator alone says nothing about the derivative; the function is {_line(self.fun)}",
            hint=f"call {how} before the function is used",
        )

    @contextlib.contextmanager
    def _deeper(self) -> Iterator[None]:
        """While rules are captured: they may call their own function, and each such call has rules again."""
        self.local.depth = self._depth() + 1
        try:
            yield
        finally:
            self.local.depth -= 1

    def _depth(self) -> int:
        return getattr(self.local, "depth", 0)

    def _last(self, function: _Region, arrays: list[Tensor], out_tree: Any) -> Any:
        return _intaglio.tree_unflatten(out_tree, _ending(function, arrays, f"followed:{self.who}"))

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if not kwargs:
            return args
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args

    def _parts(self, args: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
        fixed = {i % len(args) if args else i for i in self.nondiff}
        return [args[i] for i in sorted(fixed)], [arg for i, arg in enumerate(args) if i not in fixed]

    def _whole(self, fixed: list[Any], parts: Sequence[Any]) -> list[Any]:
        count = len(fixed) + len(parts)
        places = {i % count for i in self.nondiff}
        nondiff, rest = iter(fixed), iter(parts)
        return [next(nondiff) if i in places else next(rest) for i in range(count)]

    def _function(self, fixed: list[Any], tree: Any, types: list[tuple[Any, Any]]) -> tuple[_Region, Any]:
        kept: list[Any] = []

        def call(stand_ins: list[Tensor]) -> list[Tensor]:
            value = self.fun(*self._whole(fixed, _intaglio.tree_unflatten(tree, stand_ins)))
            arrays, out_tree = _leaves(self.who, "result", value)
            kept.append(out_tree)
            return arrays

        region = _Region(self.fun, types, call)
        return region, kept[0]


class custom_jvp(_Custom):
    """A function whose derivative is a rule of your own, for forward and reverse mode.

    `@ig.custom_jvp` on the function, then `f.defjvp(rule)` with `rule(primals, tangents)` giving the value and its
    tangent, which must be linear in the tangents. `nondiff_argnums` names arguments that are handed to the rule first,
    as they are: `rule(nondiff..., primals, tangents)`.

    Raises
    ------
    TypeError, ShapeError
        Where the rule gives other structures, shapes or dtypes than the function.
    ValueError
        Where there is no rule.

    Examples
    --------
    >>> @ig.custom_jvp
    ... def f(x):
    ...     return ig.sin(x)
    >>> @f.defjvp
    ... def rule(primals, tangents):
    ...     return f(*primals), 10 * tangents[0]
    >>> ig.grad(f)(0.5)
    Tensor(10., dtype=float32)
    """

    who = "custom_jvp"
    rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Gives the rule; usable as a decorator."""
        self.rule = rule
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Gives a rule for each argument: `rule(tangent, value, *primals)`; None is zero. Their sum is the tangent."""

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            value = self(*primals)
            given = [each(t, value, *primals) for each, t in zip(rules, tangents, strict=True) if each is not None]
            if not given:
                return value, _functions.zeros(value.shape, dtype=value.dtype)
            total = given[0]
            for each in given[1:]:
                total = total + each
            return value, total

        self.rule = rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _intaglio.is_tracing():
            if _intaglio._may_record():
                return _on_tape(self.who, self, args, kwargs)
            return self.fun(*args, **kwargs)
        rule = self.rule
        if rule is None:
            raise self._no_rule("defjvp")
        fixed, parts = self._parts(self._arguments(args, kwargs))
        arrays, tree = _leaves(self.who, "argument ", parts)
        types = [(array.dtype, array.shape) for array in arrays]
        function, out_tree = self._function(fixed, tree, types)
        if self._depth() == _DEEPEST:
            return self._last(function, arrays, out_tree)
        moves = [_moves(dtype) for dtype, _ in types]

        def call(stand_ins: list[Tensor]) -> list[Tensor]:
            primals = stand_ins[: len(types)]
            moved = iter(stand_ins[len(types) :])
            tangents = [
                next(moved) if m else _functions.zeros(x.shape, dtype=x.dtype)
                for x, m in zip(primals, moves, strict=True)
            ]
            value, tangent = _pair(
                self.who,
                "the value and its tangent",
                rule(
                    *fixed,
                    tuple(_intaglio.tree_unflatten(tree, primals)),
                    tuple(_intaglio.tree_unflatten(tree, tangents)),
                ),
                rule,
            )
            results, value_tree = _leaves(self.who, "the value", value)
            _same_tree(self.who, "the value of the rule", value_tree, out_tree, rule)
            given, tangent_tree = _leaves(self.who, "the tangent", tangent)
            _same_tree(self.who, "the tangent", tangent_tree, out_tree, rule)
            paths = out_tree.paths()
            out = [
                _check(self.who, f"the value of the rule{path}", x, want, rule)
                for x, path, want in zip(results, paths, function.types, strict=True)
            ]
            for x, path, want in zip(given, paths, function.types, strict=True):
                if _moves(want[0]):
                    out.append(_check(self.who, f"the tangent{path}", x, want, rule))
            return out

        with self._deeper():
            both = _Region(rule, types + [t for t, m in zip(types, moves, strict=True) if m], call)
        results = _intaglio._record_control("custom_jvp", [], [function.region, both.region], [arrays], {})
        return _intaglio.tree_unflatten(out_tree, results)


class custom_vjp(_Custom):
    """A function whose derivative in reverse mode is a rule of your own.

    `@ig.custom_vjp` on the function, then `f.defvjp(forward, backward)`: `forward` takes the function's arguments and
    gives its value and residuals; `backward(residuals, cotangent)` gives a tuple with a cotangent for each argument
    (None is zero). `nondiff_argnums` names arguments that are handed to `backward` first, as they are.

    Raises
    ------
    TypeError, ShapeError
        Where a rule gives other structures, shapes or dtypes than the function and its arguments.
    UnsupportedError
        Where it is differentiated in forward mode.
    ValueError
        Where there is no rule.

    Examples
    --------
    >>> @ig.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (ig.clip(ct, -1.0, 1.0),))
    >>> ig.grad(lambda x: 5 * clipped(x))(2.0)
    Tensor(1., dtype=float32)
    """

    who = "custom_vjp"
    forward: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Gives both rules."""
        self.forward, self.backward = forward, backward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _intaglio.is_tracing():
            if _intaglio._may_record():
                return _on_tape(self.who, self, args, kwargs)
            return self.fun(*args, **kwargs)
        forward, backward = self.forward, self.backward
        if forward is None or backward is None:
            raise self._no_rule("defvjp")
        fixed, parts = self._parts(self._arguments(args, kwargs))
        arrays, tree = _leaves(self.who, "argument ", parts)
        types = [(array.dtype, array.shape) for array in arrays]
        function, out_tree = self._function(fixed, tree, types)
        if self._depth() == _DEEPEST:
            return self._last(function, arrays, out_tree)
        kept: list[Any] = []

        def run_forward(stand_ins: list[Tensor]) -> list[Tensor]:
            value, residuals = _pair(
                self.who,
                "the value and residuals",
                forward(*self._whole(fixed, _intaglio.tree_unflatten(tree, stand_ins))),
                forward,
            )
            results, value_tree = _leaves(self.who, "the value", value)
            _same_tree(self.who, "the value of the forward rule", value_tree, out_tree, forward)
            out = [
                _check(self.who, f"the value of the forward rule{path}", x, want, forward)
                for x, path, want in zip(results, out_tree.paths(), function.types, strict=True)
            ]
            leaves, residual_tree = _intaglio.tree_flatten(residuals)
            saved = [_intaglio.asarray(leaf) for leaf in leaves if is_array(leaf)]
            kept.append((leaves, residual_tree))
            return out + saved

        with self._deeper():
            first = _Region(forward, types, run_forward)
        residual_types = first.types[len(function.types) :]

        def run_backward(stand_ins: list[Tensor]) -> list[Tensor]:
            leaves, residual_tree = kept[0]
            saved = iter(stand_ins[: len(residual_types)])
            residuals = _intaglio.tree_unflatten(
                residual_tree, [next(saved) if is_array(leaf) else leaf for leaf in leaves]
            )
            moved = iter(stand_ins[len(residual_types) :])
            cotangent = _intaglio.tree_unflatten(
                out_tree,
                [
                    next(moved) if _moves(dtype) else _functions.zeros(shape, dtype=dtype)
                    for dtype, shape in function.types
                ],
            )
            given = backward(*fixed, residuals, cotangent)
            if not isinstance(given, tuple) or len(given) != len(parts):
                got = f"{len(given)} values" if isinstance(given, tuple) else f"a {type(given).__name__}"
                raise _errors.TypeError(
                    f"{self.who}: the backward rule gives {got}, but there are {len(parts)} arguments",
                    _intaglio._user_line(),
                    why=f"it gives a tuple with one cotangent for each argument; the rule is {_line(backward)}",
                    hint="return a tuple, with None where there is no derivative",
                )
            out = []
            for i, (part, one) in enumerate(zip(parts, given, strict=True)):
                own, own_tree = _leaves(self.who, f"argument {i}", part)
                wanted = [(x.dtype, x.shape) for x in own]
                if one is None:
                    out += [_functions.zeros(shape, dtype=dtype) for dtype, shape in wanted if _moves(dtype)]
                    continue
                cts, ct_tree = _intaglio.tree_flatten(one)
                _same_tree(self.who, f"the cotangent of argument {i}", ct_tree, own_tree, backward)
                for ct, path, want in zip(cts, own_tree.paths(), wanted, strict=True):
                    if _moves(want[0]):
                        out.append(_check(self.who, f"the cotangent of argument {i}{path}", ct, want, backward))
            return [_intaglio.asarray(x) for x in out]

        with self._deeper():
            second = _Region(backward, residual_types + [t for t in function.types if _moves(t[0])], run_backward)
        results = _intaglio._record_control(
            "custom_vjp", [], [function.region, first.region, second.region], [arrays], {}
        )
        return _intaglio.tree_unflatten(out_tree, results)


class Policy:
    """What a `checkpoint` keeps for the backward pass; `ig.checkpoint_policies` has them."""

    __slots__ = ("saves",)

    def __init__(self, saves: str) -> None:
        self.saves = saves

    def __repr__(self) -> str:
        return f"<policy {self.saves}>"


def _named(kind: str, names: tuple[Any, ...]) -> Policy:
    for name in names:
        if not isinstance(name, str) or not name or "," in name:
            raise _errors.ValueError(
                f"checkpoint_policies: {name!r} is no name",
                _intaglio._user_line(),
                why="names are those of ig.checkpoint_name: text without commas",
                hint='write ig.checkpoint_policies.save_only_these_names("a", "b")',
            )
    return Policy(f"{kind}:{','.join(names)}")


class checkpoint_policies:
    """What `ig.checkpoint` keeps of the values that its function computes on the way; all else is computed again.

    Examples
    --------
    >>> f = lambda x: ig.sin(ig.checkpoint_name(ig.exp(x), name="e"))
    >>> only = ig.checkpoint_policies.save_only_these_names("e")
    >>> len(ig.saved_residuals(ig.checkpoint(f, policy=only), ig.ones(3)))
    2
    """

    everything_saveable = Policy("everything")
    nothing_saveable = Policy("nothing")
    dots_saveable = Policy("dots")
    checkpoint_dots = Policy("dots")
    dots_with_no_batch_dims_saveable = Policy("dots_without_batch")
    checkpoint_dots_with_no_batch_dims = Policy("dots_without_batch")

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Keeps what `ig.checkpoint_name` gave one of these names."""
        return _named("names", names)

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        """Keeps all but what `ig.checkpoint_name` gave one of these names."""
        return _named("all_but", names)


def checkpoint(
    fun: Callable[..., Any], *, policy: Policy | None = None, budget: int | None = None
) -> Callable[..., Any]:
    """`fun`, whose derivative in reverse mode keeps its arguments alone, and computes all else once more.

    Less memory for more time: what `fun` computes on the way is not kept for the backward pass. With a budget, what is
    kept is chosen by a minimum cut: as few bytes as can be without computing a product, a long fold or random numbers
    again; where those are more than the budget, so much more is computed again that they fit, by what is saved for an
    operation.

    Parameters
    ----------
    fun : callable
        Of any trees of arrays.
    policy : Policy
        What is kept all the same: one of `ig.checkpoint_policies`. With a budget: what may be kept.
    budget : int
        The most bytes that are kept besides the arguments. A size that varies counts as 64, or as what of its range is
        next to that.

    Raises
    ------
    TypeError
        Where the result holds anything but arrays and numbers, the policy is none, or the budget is no integer.
    ValueError
        Where the budget is negative.

    Examples
    --------
    >>> ig.grad(ig.checkpoint(lambda x: ig.sin(ig.sin(x))))(0.0)
    Tensor(1., dtype=float32)
    >>> block = ig.checkpoint(lambda w, x: ig.tanh(w @ ig.tanh(w @ x)), budget=24)
    >>> [kept.source.startswith("arg") for kept in ig.saved_residuals(block, ig.ones((3, 3)), ig.ones(3))]
    [True, True, False, False]
    """

    if policy is not None and not isinstance(policy, Policy):
        raise _errors.TypeError(
            f"checkpoint: policy is a {type(policy).__name__}, which is no policy",
            _intaglio._user_line(),
            why="it says which values are kept for the backward pass",
            hint="use one of ig.checkpoint_policies, such as dots_saveable",
        )
    saves = "nothing" if policy is None else policy.saves
    if budget is not None:
        if isinstance(budget, builtins.bool) or not hasattr(budget, "__index__"):
            raise _errors.TypeError(
                f"checkpoint: budget is a {type(budget).__name__}, which is no integer",
                _intaglio._user_line(),
                why="it is the most bytes that are kept for the backward pass",
                hint="give a number of bytes, such as 1 << 20, or None for no budget",
            )
        limit = operator.index(budget)
        if limit < 0:
            raise _errors.ValueError(
                f"checkpoint: budget is {limit}, which is negative",
                _intaglio._user_line(),
                why="it is the most bytes that are kept for the backward pass",
                hint="give 0 to keep nothing but the arguments, or None for no budget",
            )
        saves = f"budget:{builtins.min(limit, 10**15 - 1)}/{'everything' if policy is None else saves}"

    @wraps(fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not _intaglio.is_tracing():
            if _intaglio._may_record():
                return _on_tape("checkpoint", wrapper, args, kwargs)
            return _arrays(fun(*args, **kwargs))
        leaves, tree = _intaglio.tree_flatten((args, kwargs))
        leaves = [_intaglio.asarray(leaf) if is_array(leaf) else leaf for leaf in leaves]
        arrays = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        kept: list[Any] = []

        def call(stand_ins: list[Tensor]) -> list[Tensor]:
            given = iter(stand_ins)
            filled = [next(given) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            own_args, own_kwargs = _intaglio.tree_unflatten(tree, filled)
            results, out_tree = _leaves("checkpoint", "result", fun(*own_args, **own_kwargs))
            kept.append(out_tree)
            return results

        region = _Region(fun, [(array.dtype, array.shape) for array in arrays], call)
        results = _intaglio._record_control("checkpoint", [], [region.region], [arrays], {"saves": saves})
        return _intaglio.tree_unflatten(kept[0], results)

    return wrapper
