"""A module as a function of its parameters: what gradients are taken of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .. import _errors, _intaglio
from ._module import Module

Tensor = _intaglio.Tensor


class _Followed(threading.local):
    """The handles that calls at work in this thread bind, and give back: by identity, the capture in which they do."""

    def __init__(self) -> None:
        self.captures: dict[int, int] = {}


_followed = _Followed()


@contextmanager
def _bound(handles: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> Iterator[None]:
    """The handles hold `values` for a while."""
    before = {name: _intaglio._held(handles[name]) for name in values}
    outer = _followed.captures
    _followed.captures = {**outer, **{id(handles[name]): _intaglio._capture() for name in values}}
    try:
        for name, value in values.items():
            _intaglio._bind(handles[name], value)
        yield
    finally:
        _followed.captures = outer
        for name, value in before.items():
            _intaglio._bind(handles[name], value)


def keeps(handle: Tensor) -> bool:
    """Whether somebody looks after what the handle is bound to here: eagerly, where `ig.jit` records, and where a
    function of this file bound the handle itself."""
    return _intaglio._writes_back() or _followed.captures.get(id(handle)) == _intaglio._capture()


def functional_call(module: Module, arrays: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
    """`module(*args, **kwargs)` with the parameters and buffers of `arrays` (by path) in place of its own.

    The module is afterwards as it was: buffers that the call bound anew are dropped.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> layer = nn.Linear(2, 1, key=ig.random.key(0))
    >>> nn.functional_call(layer, {"weight": ig.ones((1, 2)), "bias": ig.zeros(1)}, ig.asarray([3.0, 4.0]))
    Tensor([7.], dtype=float32)
    """
    handles = dict([*module.named_parameters(), *module.named_buffers()])
    unknown = [name for name in arrays if name not in handles]
    if unknown:
        raise _errors.ValueError(
            f"{type(module).__name__} has no parameter or buffer {', '.join(unknown)}",
            _intaglio._user_line(),
            why="arrays are put in by their paths in the module",
            hint="dict(module.named_parameters()) has the paths",
        )
    values = {name: v if isinstance(v, Tensor) else _intaglio.asarray(v) for name, v in arrays.items()}
    buffers = {name: handle for name, handle in module.named_buffers() if name not in values}
    with _bound(handles, {**buffers, **values}):
        return module(*args, **kwargs)


def value_and_grad(
    module: Module, function: Callable[..., Any], has_aux: bool = False
) -> Callable[..., tuple[Any, dict[str, Tensor]]]:
    """A function that gives `function(*args)` and its gradient by the module's trainable parameters, by path.

    `function` calls the module and gives a number (and with `has_aux`, something else beside it). Buffers that the
    call binds anew, such as running statistics and keys, are kept; so are the tables of embeddings with `max_norm`.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> layer = nn.Linear(2, 1, key=ig.random.key(0))
    >>> def loss(x, y):
    ...     return nn.losses.mse_loss(layer(x), y)
    >>> value, grads = nn.value_and_grad(layer, loss)(ig.ones((4, 2)), ig.zeros((4, 1)))
    >>> sorted(grads), grads["weight"].shape
    (['bias', 'weight'], (1, 2))
    """
    from .._transforms import value_and_grad as transform

    def valued(*args: Any, **kwargs: Any) -> tuple[Any, dict[str, Tensor]]:
        handles = module.trainable_parameters()
        state = dict(module.named_buffers())

        def of_parameters(values: dict[str, Tensor]) -> tuple[Any, Any]:
            with _bound(handles, values):
                kept = {name: _intaglio._held(handle) for name, handle in state.items()}
                try:
                    out = function(*args, **kwargs)
                    learned = {name: _intaglio._handle(handle) for name, handle in state.items()}
                    moved = {
                        name: _intaglio._handle(handle)
                        for name, handle in handles.items()
                        if not _intaglio._same_value(handle, values[name])
                    }
                finally:
                    for name, value in kept.items():
                        _intaglio._bind(state[name], value)
                value, aux = out if has_aux else (out, None)
                return value, (aux, learned, moved)

        values = {name: _intaglio._handle(handle) for name, handle in handles.items()}
        (value, (aux, learned, moved)), grads = transform(of_parameters, has_aux=True)(values)
        for name, handle in state.items():
            _intaglio._bind(handle, learned[name])
        for name, array in moved.items():
            _intaglio._set_value(handles[name], array)
        return ((value, aux) if has_aux else value), grads

    return valued


def grad(module: Module, function: Callable[..., Any]) -> Callable[..., dict[str, Tensor]]:
    """As `value_and_grad`, the gradient alone."""
    valued = value_and_grad(module, function)
    return lambda *args, **kwargs: valued(*args, **kwargs)[1]
