"""`ig.autograd.Function`: torch's form of a function with a derivative of its own, on the rules of `ig.custom_vjp`."""

from __future__ import annotations

import builtins
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from . import _errors, _functions, _intaglio
from ._control import _line, _type_text
from ._custom_rules import _ending, _moves, _on_tape, _Region, custom_vjp
from ._wrap import wraps

Tensor = _intaglio.Tensor
F = TypeVar("F", bound=Callable[..., Any])

_LOCALS: weakref.WeakKeyDictionary[type, threading.local] = weakref.WeakKeyDictionary()


class FunctionCtx:
    """What `forward` leaves for `backward`: saved arrays, marks, and attributes of any kind."""

    def __init__(self, name: str, needs: tuple[builtins.bool, ...]) -> None:
        self._name = name
        self._saved: tuple[Tensor | None, ...] | None = None
        self._marked: tuple[Tensor, ...] = ()
        self.needs_input_grad = needs

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps arrays (or None) for `backward`, which finds them in `ctx.saved_tensors`."""
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise _errors.TypeError(
                    f"{self._name}: save_for_backward keeps arrays, but argument {i} is of type "
                    f"{type(tensor).__name__}",
                    _intaglio._user_line(),
                    why="what it keeps is part of the graph",
                    hint="set an attribute of ctx for values that are no arrays: ctx.size = 3",
                )
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept, in its order."""
        if self._saved is None:
            raise _errors.ValueError(
                f"{self._name}: saved_tensors is read, but nothing was saved",
                _intaglio._user_line(),
                why="forward (or setup_context) did not call ctx.save_for_backward",
                hint="call ctx.save_for_backward(x, y) there with the arrays that backward reads",
            )
        return self._saved

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Results that no gradient goes back from; `backward` gets zeros for them."""
        self._marked = tensors

    def set_materialize_grads(self, value: builtins.bool) -> None:
        """Takes torch's call. Gradients that nothing asks for are zeros here, never None."""

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Refused: arrays are values."""
        raise _errors.UnsupportedError(
            f"{self._name}: mark_dirty",
            _intaglio._user_line(),
            why="arrays are values, so forward cannot change its argument in place",
            hint="return the new value as a result, and leave mark_dirty out",
        )


# What a subclass writes, what it is for, and how it begins.
_METHODS = {
    "forward": ("computes its value", "forward(ctx, x)"),
    "setup_context": ("says what is left for backward", "setup_context(ctx, inputs, output)"),
    "backward": ("goes back", "backward(ctx, grad)"),
}


def _unwritten(method: str, who: str = "autograd.Function") -> Exception:
    purpose, signature = _METHODS[method]
    return _errors.UnsupportedError(
        f"{who}: it has no {method}",
        _intaglio._user_line(),
        why=f"an autograd.Function {purpose} by a static method of that name",
        hint=f"write one in the class: @staticmethod, def {signature}: ...",
    )


class Function:
    """A function with a gradient of your own, written as in torch; called by `.apply(...)`.

    `forward(ctx, *args)` gives an array or a tuple of arrays; `backward(ctx, *grads)` takes a gradient for each result
    and gives one for each argument of `forward`, with None where there is none. Or `forward(*args)` without ctx, and
    `setup_context(ctx, inputs, output)` beside it. Both are captured, as the rules of `ig.custom_vjp` are: they work
    on the tape, in `ig.jit`, `ig.grad` and `ig.vmap`, and what `backward` computes can be differentiated again.

    Raises
    ------
    TypeError, ShapeError
        Where `backward` gives another number of gradients than `forward` has arguments, or other shapes.
    UnsupportedError
        Where it is differentiated in forward mode, or has no `backward`.

    Examples
    --------
    >>> class Double(ig.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 20 * grad * x
    >>> ig.grad(Double.apply)(3.0)
    Tensor(60., dtype=float32)
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The value; written in the subclass."""
        raise _unwritten("forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """What `forward` without ctx leaves for `backward`; written in the subclass."""
        raise _unwritten("setup_context")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients by the arguments; written in the subclass."""
        raise _unwritten("backward")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        raise _errors.TypeError(
            f"{name}: an autograd.Function is not instantiated",
            _intaglio._user_line(),
            why="forward and backward are static methods, and ctx holds what belongs to one call",
            hint=f"call {name}.apply(...)",
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls `forward`, with `backward` as its gradient."""
        if cls.forward is Function.forward:
            raise _unwritten("forward", cls.__name__)
        return _Call(cls, args).run()


class _Rule(custom_vjp):
    """The rules of one call; how deep they are followed is counted for the class."""

    def __init__(self, cls: type[Function], fun: Callable[..., Any]) -> None:
        super().__init__(fun)
        self.who = cls.__name__
        self.local = _LOCALS.setdefault(cls, threading.local())


class _Call:
    def __init__(self, cls: type[Function], args: tuple[Any, ...]) -> None:
        self.cls, self.args, self.name = cls, args, cls.__name__
        self.places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        self.arrays = [args[i] for i in self.places]
        recording = not _intaglio.is_tracing() and _intaglio._may_record()
        self.needs = tuple(
            isinstance(arg, Tensor)
            and _moves(arg.dtype)
            and (_intaglio.is_tracing() or (recording and _intaglio._requires_grad(arg)))
            for arg in args
        )
        self.recording = recording
        self.single = True  # forward gives one array, not a tuple
        self.marked: list[int] = []

    def run(self) -> Any:
        if self.recording and self.arrays:
            return _on_tape(self.name, self._captured, tuple(self.arrays), {})
        if _intaglio.is_tracing() and self.arrays:
            return self._captured(*self.arrays)
        return self._forward(self.arrays)[0]

    def _forward(self, arrays: list[Tensor]) -> tuple[Any, FunctionCtx]:
        args = list(self.args)
        for i, array in zip(self.places, arrays, strict=True):
            args[i] = array
        ctx = FunctionCtx(self.name, self.needs)
        if self.cls.setup_context is Function.setup_context:
            return self.cls.forward(ctx, *args), ctx
        output = self.cls.forward(*args)
        self.cls.setup_context(ctx, tuple(args), output)
        return output, ctx

    def _captured(self, *arrays: Tensor) -> Any:
        rule = _Rule(self.cls, self._value)
        if self.cls.backward is Function.backward:
            function, tree = rule._function([], _tree_of(arrays), [(x.dtype, x.shape) for x in arrays])
            out = _intaglio.tree_unflatten(tree, _ending(function, list(arrays), f"backward:{self.name}"))
        else:
            rule.defvjp(self._with_residuals, self._backward)
            out = rule(*arrays)
        if not self.marked:
            return out
        if self.single:
            return _intaglio.functions["stop_gradient"](out)
        return tuple(_intaglio.functions["stop_gradient"](x) if i in self.marked else x for i, x in enumerate(out))

    def _value(self, *arrays: Tensor) -> Any:
        output, ctx = self._forward(list(arrays))
        self.single = not isinstance(output, (tuple, list))
        results = [output] if self.single else list(output)
        self.marked = [i for i, x in enumerate(results) if builtins.any(x is marked for marked in ctx._marked)]
        return output if self.single else tuple(results)

    def _with_residuals(self, *arrays: Tensor) -> tuple[Any, Any]:
        output, ctx = self._forward(list(arrays))
        kept = {name: value for name, value in vars(ctx).items() if name not in ("_marked", "needs_input_grad")}
        # Arrays in attributes (trees of them too) come along as saved arrays do; all else goes round the graph.
        residuals: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for name, value in kept.items():
            (residuals if builtins.any(isinstance(x, Tensor) for x in _leaves_of(value)) else rest)[name] = value
        self.rest = rest
        return (output if self.single else tuple(output)), residuals

    def _backward(self, residuals: dict[str, Any], cotangent: Any) -> tuple[Any, ...]:
        ctx = FunctionCtx(self.name, self.needs)
        vars(ctx).update(self.rest)
        vars(ctx).update(residuals)
        given = self.cls.backward(ctx, *([cotangent] if self.single else cotangent))
        return self._checked(list(given) if isinstance(given, (tuple, list)) else [given])

    def _checked(self, given: list[Any]) -> tuple[Any, ...]:
        extra = given[len(self.args) :]
        if len(given) < len(self.args) or builtins.any(one is not None for one in extra):
            counts = [
                f"{n} {what}{'' if n == 1 else 's'}"
                for n, what in ((len(given), "gradient"), (len(self.args), "argument"))
            ]
            raise _errors.TypeError(
                f"{self.name}: backward gives {counts[0]}, but forward takes {counts[1]}",
                _intaglio._user_line(),
                why=f"it gives a gradient for each argument, ctx not counted; the rule is {_line(self.cls.backward)}",
                hint="return a tuple, with None for arguments that have no gradient",
            )
        for i, one in enumerate(given[: len(self.args)]):
            if one is not None and i not in self.places:
                raise _errors.TypeError(
                    f"{self.name}: backward gives a gradient for argument {i}, which is of type "
                    f"{type(self.args[i]).__name__}",
                    _intaglio._user_line(),
                    why=f"only arrays have gradients; the rule is {_line(self.cls.backward)}",
                    hint="return None in its place, or pass an array",
                )
        return tuple(self._fitted(i, given[i]) for i in self.places)

    def _fitted(self, i: int, one: Any) -> Any:
        """A gradient in the dtype of its argument, summed where the argument would be broadcast to it."""
        argument = self.args[i]
        if one is None or not _moves(argument.dtype):
            return None
        one = _intaglio.asarray(one)
        shape = tuple(argument.shape)
        axes = _broadcast_axes(shape, tuple(one.shape))
        if axes is None or not _moves(one.dtype):
            kind = _errors.ShapeError if axes is None else _errors.TypeError
            raise kind(
                f"{self.name}: backward gives {_type_text(one)} for argument {i}, which is {_type_text(argument)}",
                _intaglio._user_line(),
                why="a gradient has the shape of its argument, or one that the argument broadcasts to, and is a "
                f"float or complex; the rule is {_line(self.cls.backward)}",
                hint="reduce or broadcast it in backward",
            )
        if axes:
            one = _intaglio.functions["reshape"](_intaglio.functions["sum"](one, axis=axes), shape)
        if one.dtype == argument.dtype:
            return one
        if _functions.isdtype(one.dtype, "complex floating") and not _functions.isdtype(
            argument.dtype, "complex floating"
        ):
            one = _intaglio.functions["real"](one)
        return one.astype(argument.dtype)


def _tree_of(value: Any) -> Any:
    return _intaglio.tree_flatten(value)[1]


def _leaves_of(value: Any) -> list[Any]:
    return [value] if isinstance(value, Tensor) else list(_intaglio.tree_flatten(value)[0])


def _broadcast_axes(shape: tuple[Any, ...], wide: tuple[Any, ...]) -> tuple[int, ...] | None:
    """The axes to sum so that `wide` becomes `shape`; None where `shape` does not broadcast to it."""
    in_front = len(wide) - len(shape)
    if in_front < 0:
        return None
    axes = list(range(in_front))
    for i, (own, size) in enumerate(zip(shape, wide[in_front:], strict=True)):
        if own is size or own == size:
            continue
        if not isinstance(own, int) or own != 1:
            return None
        axes.append(in_front + i)
    return tuple(axes)


def once_differentiable(backward: F) -> F:
    """For a `backward` whose own derivative is not to be taken: a second derivative is refused, and not wrong.

    Examples
    --------
    >>> class Square(ig.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @ig.autograd.once_differentiable
    ...     def backward(ctx, grad):
    ...         return 2 * grad * ctx.saved_tensors[0]
    >>> ig.grad(Square.apply)(3.0)
    Tensor(6., dtype=float32)
    """

    def once(ctx: FunctionCtx, *grads: Any) -> Any:
        given = backward(ctx, *grads)
        listed = list(given) if isinstance(given, (tuple, list)) else [given]
        places = [i for i, one in enumerate(listed) if isinstance(one, Tensor)]
        if not _intaglio.is_tracing() or not places:
            return given
        arrays = [listed[i] for i in places]
        same = _Region(backward, [(x.dtype, x.shape) for x in arrays], lambda stand_ins: stand_ins)
        for i, one in zip(places, _ending(same, arrays, f"once:{ctx._name}"), strict=True):
            listed[i] = one
        return tuple(listed)

    return wraps(backward)(once)  # type: ignore[return-value]
