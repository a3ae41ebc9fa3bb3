"""Eager autograd: gradients of what ran, by `y.backward()` and `ig.autograd.grad`.

Ops on arrays that require grad leave nodes on a tape; a backward pass goes through them from the last to the first. The
derivatives are those of `ig.grad`, from the same rules. See docs/autograd.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from . import _errors, _functions, _intaglio
from ._autograd_function import Function, FunctionCtx, once_differentiable
from ._intaglio import GradNode, is_anomaly_enabled, is_grad_enabled, is_inference_mode_enabled
from ._wrap import wraps

__all__ = [
    "Function",
    "FunctionCtx",
    "GradNode",
    "RemovableHandle",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_grad_enabled",
]

Tensor = _intaglio.Tensor
F = TypeVar("F", bound=Callable[..., Any])


# --- modes -----------------------------------------------------------------------------------------------------------


class _Mode:
    """A context manager that is a decorator too; one object may be entered many times, also within itself."""

    def __init__(self) -> None:
        self._before: list[Any] = []

    def _set(self) -> Any:
        """Sets the mode; gives what `_restore` takes."""
        raise NotImplementedError

    def _restore(self, before: Any) -> None:
        _intaglio._enter_grad_mode(*before)

    def _again(self) -> _Mode:
        """One for a call of its own: calls of a decorated function may run in many threads."""
        return type(self)()

    def __enter__(self) -> None:
        self._before.append(self._set())

    def __exit__(self, *error: object) -> None:
        self._restore(self._before.pop())

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            # The mode holds while the generator runs, not while its caller does.
            def generate(*args: Any, **kwargs: Any) -> Iterator[Any]:
                generator = function(*args, **kwargs)
                sent: Any = None
                try:
                    while True:
                        with self._again():
                            try:
                                value = generator.send(sent)
                            except StopIteration as end:
                                return end.value
                        sent = yield value
                finally:
                    with self._again():
                        generator.close()

            wrapper: Any = generate
        else:

            def call(*args: Any, **kwargs: Any) -> Any:
                with self._again():
                    return function(*args, **kwargs)

            wrapper = call
        return wraps(function)(wrapper)


class no_grad(_Mode):
    """Nothing that is computed here goes on the tape. `with ig.no_grad():` or `@ig.no_grad()`.

    Arrays that were made here do not require grad. A leaf may be changed in place here, and stays a leaf. In a function
    that is captured, no derivative of the graph goes through what is computed here either.

    Examples
    --------
    >>> x = ig.asarray(2.0, requires_grad=True)
    >>> with ig.no_grad():
    ...     y = x * 3
    >>> y.requires_grad
    False
    """

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        _Mode.__init__(made)  # @ig.no_grad, without brackets
        return made(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__()

    def _set(self) -> Any:
        return _intaglio._enter_grad_mode(False, _intaglio._grad_mode()[1], True)


class enable_grad(_Mode):
    """What is computed here goes on the tape, also within `no_grad`.

    Examples
    --------
    >>> x = ig.asarray(2.0, requires_grad=True)
    >>> with ig.no_grad(), ig.enable_grad():
    ...     y = x * 3
    >>> y.requires_grad
    True
    """

    def _set(self) -> Any:
        inference = _intaglio._grad_mode()[1]
        return _intaglio._enter_grad_mode(not inference, inference, None if inference else False)


class set_grad_enabled(_Mode):
    """`enable_grad` or `no_grad`, by a truth value.

    Examples
    --------
    >>> with ig.set_grad_enabled(False):
    ...     ig.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)

    def _again(self) -> _Mode:
        return set_grad_enabled(self.mode)

    def _set(self) -> Any:
        inference = _intaglio._grad_mode()[1]
        stop = None if self.mode and inference else not self.mode
        return _intaglio._enter_grad_mode(self.mode and not inference, inference, stop)


class inference_mode(_Mode):
    """As `no_grad`, for code that is never trained: no array may begin to require grad here either.

    `enable_grad` does not bring the tape back within it.

    Examples
    --------
    >>> with ig.inference_mode():
    ...     ig.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = bool(mode)

    def _again(self) -> _Mode:
        return inference_mode(self.mode)

    def _set(self) -> Any:
        return _intaglio._enter_grad_mode(not self.mode, self.mode, self.mode)


class detect_anomaly(_Mode):
    """Backward passes of this thread stop at the first NaN, naming the op and the line at which it ran.

    `check_nan=False` leaves out the looking for NaN.

    Examples
    --------
    >>> x = ig.asarray(0.0, requires_grad=True)
    >>> with ig.autograd.detect_anomaly():
    ...     try:
    ...         (ig.sqrt(x) * 0).backward()
    ...     except ig.ValueError as error:
    ...         print(str(error).splitlines()[0])
    the backward pass of `sqrt` gives NaN by its operand 0
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self.check_nan = check_nan

    def _again(self) -> _Mode:
        return detect_anomaly(self.check_nan)

    def _set(self) -> Any:
        return _intaglio._set_anomaly(True, self.check_nan)

    def _restore(self, before: Any) -> None:
        _intaglio._set_anomaly(*before)


# --- backward passes -------------------------------------------------------------------------------------------------


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _arrays(who: str, what: str, values: list[Any]) -> list[Tensor]:
    for value in values:
        if not isinstance(value, Tensor):
            raise _errors.TypeError(
                f"{who}: {what} holds a {type(value).__name__}, which is no array of Intaglio",
                _intaglio._user_line(),
                why="only these are on the tape",
                hint="make an array of it with ig.asarray",
            )
    return values


def _gradients(who: str, outputs: list[Tensor], given: Any) -> list[Tensor | None]:
    gradients = [None] * len(outputs) if given is None else _listed(given)
    if len(gradients) != len(outputs):
        raise _errors.ValueError(
            f"{who}: {len(gradients)} gradients are given for {len(outputs)} arrays",
            _intaglio._user_line(),
            why="each array that the pass begins at has its own gradient",
            hint="give one for each, with None for 1",
        )
    # A number, or an array of another library, takes the dtype of its output.
    return [
        gradient
        if gradient is None or isinstance(gradient, Tensor)
        else _intaglio.asarray(gradient, dtype=output.dtype)
        for gradient, output in zip(gradients, outputs, strict=True)
    ]


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds the gradients of `tensors` to `.grad` of all leaves that they were computed from.

    Parameters
    ----------
    tensors : array, or sequence of arrays
        Where the pass begins.
    grad_tensors : array, or sequence of arrays, of their shapes and dtypes
        What it begins with; None is 1, for an array of one element.
    retain_graph : bool
        Keeps what the nodes saved, for another pass. By default as `create_graph`.
    create_graph : bool
        Puts the pass itself on the tape, for derivatives of gradients.
    inputs : array, or sequence of arrays
        The arrays whose `.grad` is wanted, leaves or computed; all other leaves stay as they are.

    Raises
    ------
    ValueError
        Where an array does not require grad, one of more elements has no gradient, or the tape was freed.
    TypeError, ShapeError
        Where a gradient is not as its array.

    Examples
    --------
    >>> x = ig.asarray([1.0, 2.0], requires_grad=True)
    >>> ig.autograd.backward(ig.sum(x * x))
    >>> x.grad
    Tensor([2., 4.], dtype=float32)
    """
    outputs = _arrays("backward", "tensors", _listed(tensors))
    gradients = _gradients("backward", outputs, grad_tensors)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        _intaglio._backward(outputs, gradients, retain, create_graph)
        return
    targets = _arrays("backward", "inputs", _listed(inputs))
    if not targets:
        raise _errors.ValueError(
            "backward: inputs is empty",
            _intaglio._user_line(),
            why="the pass would give no gradient to anything",
            hint="name the arrays whose .grad is wanted, or leave inputs out for all leaves",
        )
    for target, found in zip(
        targets, _intaglio._tape_grad(outputs, targets, gradients, retain, create_graph), strict=True
    ):
        if found is not None:
            _intaglio._add_grad(target, found)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` by `inputs`, as a tuple. No `.grad` changes.

    Parameters
    ----------
    outputs : array, or sequence of arrays
        Where the pass begins; the gradients of several are added.
    inputs : array, or sequence of arrays
        Arrays that require grad: leaves, or computed ones.
    grad_outputs : array, or sequence of arrays, of the outputs' shapes and dtypes
        What the pass begins with; None is 1, for an array of one element.
    retain_graph, create_graph : bool
        As for `backward`.
    allow_unused : bool
        Gives None for an input that the outputs do not depend on, instead of an error. By default as
        `materialize_grads`.
    materialize_grads : bool
        Gives zeros in place of None.

    Raises
    ------
    ValueError
        As `backward`, and for an input that does not require grad or is not used.

    Examples
    --------
    >>> x = ig.asarray(3.0, requires_grad=True)
    >>> (dy,) = ig.autograd.grad(x**3, x, create_graph=True)
    >>> ig.autograd.grad(dy, x)
    (Tensor(18., dtype=float32),)
    """
    begin = _arrays("grad", "outputs", _listed(outputs))
    end = _arrays("grad", "inputs", _listed(inputs))
    gradients = _gradients("grad", begin, grad_outputs)
    retain = create_graph if retain_graph is None else retain_graph
    out = tuple(_intaglio._tape_grad(begin, end, gradients, retain, create_graph))
    if materialize_grads:
        out = tuple(
            _functions.zeros(x.shape, dtype=x.dtype) if one is None else one for one, x in zip(out, end, strict=True)
        )
    if not allow_unused and any(one is None for one in out):
        which = next(i for i, one in enumerate(out) if one is None)
        raise _errors.ValueError(
            f"grad: the outputs do not depend on input {which}",
            _intaglio._user_line(),
            why="no path of the tape leads from them to it, so there is no gradient",
            hint="leave it out, or pass allow_unused=True to get None for it",
        )
    return out


# --- methods of arrays -----------------------------------------------------------------------------------------------


class RemovableHandle:
    """What `register_hook` gives: `remove()` takes the hook off, and so does the end of a `with` block."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove = remove

    def remove(self) -> None:
        """Takes the hook off. Once it is off, nothing."""
        self._remove()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def _backward_method(self: Tensor, gradient: Any = None, *options: Any, **named: Any) -> None:
    """Adds the gradients of this array to `.grad` of all leaves that it was computed from.

    `gradient` is what the pass begins with; None is 1, for an array of one element. What follows is as for
    `ig.autograd.backward`: retain_graph, create_graph, inputs.

    Examples
    --------
    >>> x = ig.asarray(3.0, requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    Tensor(6., dtype=float32)
    """
    backward(self, None if gradient is None else [gradient], *options, **named)


def _method_signature() -> inspect.Signature:
    own = list(inspect.signature(_backward_method).parameters.values())[:2]
    return inspect.Signature([*own, *list(inspect.signature(backward).parameters.values())[2:]], return_annotation=None)


_backward_method.__signature__ = _method_signature()  # type: ignore[attr-defined]


def _requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Makes this array a leaf whose gradient is wanted, or an array that is none; gives the array.

    Raises
    ------
    TypeError
        Where the dtype has no derivative.
    ValueError
        Where it is to be False for an array that was computed.

    Examples
    --------
    >>> ig.ones(2).requires_grad_().requires_grad
    True
    """
    _intaglio._set_requires_grad(self, bool(requires_grad))
    return self


def _detach(self: Tensor) -> Tensor:
    """The same value without its place on the tape; no bytes are copied. In a trace, `ig.stop_gradient`.

    Examples
    --------
    >>> ig.asarray(1.0, requires_grad=True).detach().requires_grad
    False
    """
    if self.is_symbolic or _intaglio.is_tracing():
        return _intaglio.functions["stop_gradient"](self)
    return _intaglio._detached(self)


def _retain_grad(self: Tensor) -> None:
    """Keeps the gradient of a computed array in `.grad`, as that of a leaf is. Of a leaf: nothing.

    Examples
    --------
    >>> y = ig.asarray(3.0, requires_grad=True) * 2
    >>> y.retain_grad()
    >>> (y * y).backward()
    >>> y.grad
    Tensor(12., dtype=float32)
    """
    _intaglio._retain_grad(self)


def _register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Calls `hook(gradient)` whenever a gradient of this array is complete; what it returns takes its place.

    Hooks run in the order in which they were registered; None leaves the gradient as it is.

    Examples
    --------
    >>> x = ig.asarray(1.0, requires_grad=True)
    >>> handle = x.register_hook(lambda g: g * 10)
    >>> (x * 2).backward()
    >>> x.grad
    Tensor(20., dtype=float32)
    """
    if not callable(hook):
        raise _errors.TypeError(
            f"register_hook: an object of type {type(hook).__name__} is no function",
            _intaglio._user_line(),
            why="it is called with the gradient",
            hint="pass a function of one array",
        )
    return RemovableHandle(_intaglio._add_hook(self, hook))


def _property(name: str, doc: str, get: Callable[[Any], Any], put: Callable[[Any, Any], None] | None = None) -> None:
    setattr(Tensor, name, property(get, put, (lambda self: put(self, None)) if put and name == "grad" else None, doc))


def _install() -> None:
    methods: dict[str, Callable[..., Any]] = {
        "backward": _backward_method,
        "requires_grad_": _requires_grad_,
        "detach": _detach,
        "retain_grad": _retain_grad,
        "register_hook": _register_hook,
    }
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"Tensor.{name}"
        setattr(Tensor, name, method)
    _property(
        "requires_grad",
        "Whether ops on this array go on the tape of eager autograd.",
        lambda self: _intaglio._requires_grad(self),
        lambda self, wanted: _intaglio._set_requires_grad(self, bool(wanted)),
    )
    _property(
        "grad",
        "The gradient that backward passes add up, one object; None before the first.",
        lambda self: _intaglio._get_grad(self),
        lambda self, value: _intaglio._set_grad(self, value),
    )
    _property("is_leaf", "Whether no op on the tape made this array.", lambda self: _intaglio._is_leaf(self))
    _property(
        "grad_fn", "The node of the tape that made this array; None of a leaf.", lambda self: _intaglio._grad_fn(self)
    )
    _property(
        "retains_grad",
        "Whether a computed array keeps its gradient.",
        lambda self: _intaglio._retains_grad(self),
    )


_install()
