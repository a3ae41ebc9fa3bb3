"""Gradients cut to size and parameters as one vector, by torch's names and semantics.

Clipping works on `.grad` of parameters, or on gradients by name, such as `nn.value_and_grad` gives; eagerly and within
`ig.jit`, with the same bits. It is in place, and nothing of it goes on the tape: whoever holds a gradient sees the
clipped one. The vectors are of handles, eagerly and within `ig.jit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .. import _errors, _functions, _intaglio, linalg

Tensor = _intaglio.Tensor
_fn = _functions.functions


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(given: Tensor | Iterable[Tensor] | Mapping[str, Tensor]) -> list[Tensor]:
    """`.grad` of parameters, where they have one; of a mapping its values."""
    if isinstance(given, Mapping):
        return list(given.values())
    return [grad for grad in (parameter.grad for parameter in _listed(given)) if grad is not None]


@contextmanager
def _off_tape() -> Iterator[None]:
    before = _intaglio._set_grad_mode(False, _intaglio._grad_mode()[1])
    try:
        yield
    finally:
        _intaglio._set_grad_mode(*before)


def _scaled(grads: list[Tensor], max_norm: float, total_norm: Tensor) -> None:
    scale = _fn["minimum"](float(max_norm) / (total_norm + 1e-6), 1.0)
    for grad in grads:
        _intaglio._set_value(grad, grad * _functions.astype(scale, grad.dtype))


def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The norm of all arrays as if they were one vector; 0 where there are none.

    Error: `ig.ValueError` where it is not finite and `error_if_nonfinite` is set.
    """
    norms = [linalg.vector_norm(tensor, ord=norm_type) for tensor in _listed(tensors)]
    if not norms:
        return _functions.zeros(())
    total = linalg.vector_norm(_functions.stack(norms), ord=norm_type)
    if error_if_nonfinite and not bool(_fn["isfinite"](total)):
        raise _errors.ValueError(
            f"the norm of the gradients is {float(total)}",
            _intaglio._user_line(),
            why="gradients cannot be scaled down to a norm when theirs is not finite",
            hint="leave the step out, or error_if_nonfinite=False",
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor] | Mapping[str, Tensor], max_norm: float, total_norm: Tensor
) -> None:
    """Multiplies the gradients by max_norm / (total_norm + 1e-6) where that is below 1, in place.

    They are those of `clip_grad_norm_`.
    """
    with _off_tape():
        _scaled(_gradients(parameters), max_norm, total_norm)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor] | Mapping[str, Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scales gradients down together, in place, to a norm of `max_norm` at most. Gives the norm before.

    They are `.grad` of the parameters; or, of a mapping, the gradients by name that it holds.

    Error: as `get_total_norm`.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> w = ig.zeros(2).requires_grad_()
    >>> ig.sum(w * ig.asarray([3.0, 4.0])).backward()
    >>> nn.utils.clip_grad_norm_([w], 1.0)
    Tensor(5., dtype=float32)
    >>> ig.round(w.grad, 4)
    Tensor([0.6, 0.8], dtype=float32)

    A captured step clips the gradients that it took:

    >>> layer = nn.Linear(2, 1, key=ig.random.key(0))
    >>> optimizer = ig.optim.SGD(layer, lr=0.1)
    >>> @ig.jit
    ... def step(x, y):
    ...     loss, grads = nn.value_and_grad(layer, lambda: nn.losses.mse_loss(layer(x), y))()
    ...     norm = nn.utils.clip_grad_norm_(grads, 1.0)
    ...     optimizer.step(grads)
    ...     return loss, norm
    >>> loss, norm = step(ig.ones((4, 2)), 10 * ig.ones((4, 1)))
    >>> bool(norm > 1)
    True
    """
    with _off_tape():
        grads = _gradients(parameters)
        total = get_total_norm(grads, norm_type, error_if_nonfinite)
        _scaled(grads, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor] | Mapping[str, Tensor], clip_value: float) -> None:
    """Bounds each element of the gradients to ±`clip_value`, in place. They are those of `clip_grad_norm_`."""
    limit = float(clip_value)
    with _off_tape():
        for grad in _gradients(parameters):
            _intaglio._set_value(grad, _fn["clip"](grad, -limit, limit))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters in one row, one behind the other; gradients go back to each.

    Error: `ig.ValueError` where there are none.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> nn.utils.parameters_to_vector([ig.ones((2, 1)), ig.zeros(1)]).tolist()
    [1.0, 1.0, 0.0]
    """
    return _functions.concat([_functions.ravel(parameter) for parameter in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Tensor]) -> None:
    """Gives the parameters the values of the vector's elements in order, in place; their dtypes stay.

    Error: `ig.ShapeError` where the vector has another number of elements than they have.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> layer = nn.Linear(2, 1, key=ig.random.key(0))
    >>> nn.utils.vector_to_parameters(ig.asarray([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.bias
    Tensor([3.], dtype=float32)
    """
    given, vector = list(parameters), _functions._array(vec)
    total = sum(parameter.size for parameter in given)
    if tuple(vector.shape) != (total,):
        raise _errors.ShapeError(
            f"vector_to_parameters: the vector has shape {tuple(vector.shape)}, the parameters {total} elements",
            _intaglio._user_line(),
            why="each element of the vector is one of a parameter",
            hint="give what parameters_to_vector gave for these parameters",
        )
    vector, start = _intaglio._detached(vector), 0
    for parameter in given:
        part = vector[start : start + parameter.size].reshape(tuple(parameter.shape))
        _intaglio._set_value(parameter, _functions.astype(part, parameter.dtype))
        start += parameter.size
