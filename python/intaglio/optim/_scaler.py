"""Gradients of float16 that neither vanish nor overflow: the loss is scaled, as torch's `GradScaler` does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _errors, _functions, _intaglio
from ..tree import map as tree_map
from ._optimizers import Optimizer

Tensor = _intaglio.Tensor
_fn = _functions.functions


class GradScaler:
    """Scales the loss so that small gradients stay within float16, and leaves out steps whose gradients overflowed.

    Micikevicius et al. (2018). The scale falls by `backoff_factor` when a gradient is infinite or NaN, and grows by
    `growth_factor` after `growth_interval` steps in a row without one. Nothing is asked of the host: the step is taken,
    and undone where a gradient was not finite, so that all of it may stand in a function under `ig.jit`.

    With `.grad` of the parameters: `scaler.scale(loss).backward()`, `scaler.step(opt)`, `scaler.update()`; and
    `scaler.unscale_(opt)` before the step to clip the gradients in their own size. With gradients as values:
    `scaler.step(opt, grads)`, of the scaled loss.

    Parameters
    ----------
    init_scale : float
        The scale at first.
    growth_factor, backoff_factor : float
        What the scale is multiplied by: above 1, and between 0 and 1.
    growth_interval : int
        After how many finite steps in a row it grows.
    enabled : bool
        With False the loss and the steps are as without a scaler.

    Raises
    ------
    ValueError
        A factor or the interval is not in its range; `unscale_` twice; a state of something else.

    Examples
    --------
    >>> import intaglio as ig
    >>> w = ig.asarray([1.0, 2.0]).requires_grad_()
    >>> opt = ig.optim.SGD([w], lr=0.5)
    >>> scaler = ig.optim.GradScaler(init_scale=8.0)
    >>> scaler.scale(ig.sum(w)).backward()
    >>> scaler.step(opt)
    >>> scaler.update()
    >>> w.detach(), scaler.get_scale()
    (Tensor([0.5, 1.5], dtype=float32), 8.0)
    >>> scaler.step(opt, [ig.asarray([1.0, ig.inf])])  # not taken
    >>> scaler.update()
    >>> w.detach(), scaler.get_scale()
    (Tensor([0.5, 1.5], dtype=float32), 4.0)
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        for said, holds, hint in (
            (f"init_scale is {init_scale}", init_scale > 0, "a number above 0, such as 65536.0"),
            (f"growth_factor is {growth_factor}", growth_factor > 1, "a number above 1, such as 2.0"),
            (f"backoff_factor is {backoff_factor}", 0 < backoff_factor < 1, "a number between 0 and 1, such as 0.5"),
            (f"growth_interval is {growth_interval}", growth_interval >= 1, "a number of steps, such as 2000"),
        ):
            if not holds:
                raise _errors.ValueError(
                    f"GradScaler: {said}",
                    _intaglio._user_line(),
                    why="the scale falls when gradients overflow, and grows when they have not for a while",
                    hint=f"give {hint}",
                )
        self.growth_factor, self.backoff_factor, self.growth_interval = growth_factor, backoff_factor, growth_interval
        self.enabled = enabled
        # Arrays that are bound to new values, so that a jitted step takes them in and gives them back.
        self._scale = _intaglio.asarray(float(init_scale), dtype="float32")
        self._growth = _intaglio.asarray(0, dtype="int32")
        self._seen = _intaglio.asarray(0, dtype="int32")  # of the gradients of this step: 1 all were finite, 2 some not
        # Those whose `.grad` is without the scale already; a tuple, so that a jitted step leaves the one that it found.
        self._divided: tuple[Optimizer, ...] = ()

    def scale(self, outputs: Any) -> Any:
        """The loss, or a tree of arrays, times the scale."""
        return tree_map(lambda x: x * _functions.astype(self._scale, x.dtype), outputs) if self.enabled else outputs

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides `.grad` of the optimiser's parameters by the scale, in place. Once for each step."""
        if not self.enabled:
            return
        if any(other is optimizer for other in self._divided):
            raise _errors.ValueError(
                "GradScaler: the gradients of this optimiser have been divided by the scale already",
                _intaglio._user_line(),
                why="the scale is in each gradient once",
                hint="call update() at the end of each step",
            )
        for param in optimizer.params.values():
            if param.grad is not None:
                param.grad = self._unscaled(param.grad)
        self._divided = (*self._divided, optimizer)

    def step(self, optimizer: Optimizer, grads: Any = None) -> None:
        """`optimizer.step()` by the gradients without their scale, where all are finite; else nothing moves.

        `grads`, by name or in order, are those of the scaled loss; without them it is `.grad` of each parameter, from
        which `unscale_` may have taken the scale before.
        """
        if not self.enabled:
            return optimizer.step(grads)
        if grads is not None:
            by_name = isinstance(grads, Mapping)
            named = dict(grads) if by_name else dict(enumerate(grads))
            seen = {name: self._unscaled(grad) for name, grad in named.items()}
            grads = seen if by_name else list(seen.values())
        else:
            if not any(other is optimizer for other in self._divided):
                self.unscale_(optimizer)
            seen = {name: param.grad for name, param in optimizer.params.items() if param.grad is not None}
        finite = _intaglio.asarray(True)
        for grad in seen.values():
            finite = _fn["logical_and"](finite, _fn["all"](_fn["isfinite"](grad)))
        handles = [*optimizer.params.values(), *_intaglio.tree_flatten(optimizer.state)[0]]
        before = [_intaglio._detached(_intaglio._handle(handle)) for handle in handles]
        optimizer.step(grads)
        for handle, old in zip(handles, before, strict=True):
            _intaglio._set_value(handle, _fn["where"](finite, _intaglio._detached(handle), old))
        _intaglio._bind(self._seen, _fn["maximum"](self._seen, 2 - _functions.astype(finite, "int32")))

    def update(self) -> None:
        """Sets the scale for the next step, by what the gradients of this one were; without a step, it stays."""
        if not self.enabled:
            return
        if self._divided:
            self._divided = ()
        finite = self._seen == 1
        grows = _fn["logical_and"](finite, self._growth + 1 >= self.growth_interval)
        risen = self._scale * self.growth_factor
        # A scale that overflows would make every further step one that is left out.
        risen = _fn["where"](_fn["logical_and"](grows, _fn["isfinite"](risen)), risen, self._scale)
        zero = _functions.zeros_like(self._growth)
        count = _fn["where"](finite, self._growth + 1, self._growth)
        lost = self._seen == 2
        _intaglio._bind(self._scale, _fn["where"](lost, self._scale * self.backoff_factor, risen))
        _intaglio._bind(self._growth, _fn["where"](_fn["logical_or"](lost, grows), zero, count))
        _intaglio._bind(self._seen, _functions.zeros_like(self._seen))

    def get_scale(self) -> float:
        """The scale of the next step."""
        return float(self._scale) if self.enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it scales at all."""
        return self.enabled

    def state_dict(self) -> dict[str, Tensor]:
        """The scale and the number of finite steps since it changed, as values of their own."""
        return {"scale": _intaglio._handle(self._scale), "growth_tracker": _intaglio._handle(self._growth)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes what `state_dict` gave."""
        own = {"scale": self._scale, "growth_tracker": self._growth}
        if set(own) != set(state):
            raise _errors.ValueError(
                f"GradScaler: the state has {', '.join(sorted(state)) or 'nothing'}",
                _intaglio._user_line(),
                why=f"it has the entries {', '.join(own)}",
                hint="give what state_dict() of a scaler returned",
            )
        for name, handle in own.items():
            _intaglio._bind(handle, _functions.astype(_intaglio.asarray(state[name]), handle.dtype))

    def _unscaled(self, grad: Tensor) -> Tensor:
        own = _functions.astype(grad, "float32" if grad.dtype.itemsize < 4 else grad.dtype)
        return own * _functions.astype(1 / self._scale, own.dtype)

    def __repr__(self) -> str:
        return f"GradScaler(growth_factor={self.growth_factor}, backoff_factor={self.backoff_factor})"
