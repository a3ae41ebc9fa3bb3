"""Optimisers that treat a matrix as one: Adafactor and Muon."""

from __future__ import annotations

import math
from typing import Any

from .. import _errors, _functions, _intaglio
from ._optimizers import Optimizer, Rate, Slots

Tensor = _intaglio.Tensor
_fn = _functions.functions


def _length(x: Tensor) -> Tensor:
    return _fn["sqrt"](_functions.sum(x * x))


class Adafactor(Optimizer):
    """Adam with the mean squares of a matrix kept as one number a row and one a column. Shazeer and Stern (2018).

    The rate is relative: it is taken times the root of the mean square of the parameter (at least `eps[1]`), and is at
    most one over the root of the step's number. An update whose root mean square is above `d` is scaled down to it.

    >>> import intaglio as ig
    >>> opt = ig.optim.Adafactor([ig.ones((300, 200))])
    >>> sum(v.size for name, v in opt.state_dict().items() if name != "step")
    500
    """

    slots = ("row_var", "col_var", "variance")

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
    ) -> None:
        self.beta2_decay, self.eps, self.d, self.decay = beta2_decay, eps, d, weight_decay
        super().__init__(params, lr)

    def start(self, param: Tensor) -> Slots:
        if param.ndim < 2:
            nothing = _functions.zeros((0,), dtype=param.dtype)
            other = _functions.zeros((0,), dtype=param.dtype)
            return {"row_var": nothing, "col_var": other, "variance": _functions.zeros_like(param)}
        shape = tuple(param.shape)
        sizes = {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1]), "variance": (0,)}
        return {name: _functions.zeros(size, dtype=param.dtype) for name, size in sizes.items()}

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        count = _functions.astype(step, "float64")
        share = _functions.astype(count**self.beta2_decay, param.dtype)
        rate = _fn["minimum"](lr, _functions.astype(1 / _fn["sqrt"](count), param.dtype))
        size = math.sqrt(param.size)
        alpha = _fn["maximum"](_length(param) / size, self.eps[1]) * rate
        eps = _functions.finfo(param.dtype).eps if self.eps[0] is None else self.eps[0]
        square = grad * grad
        kept = dict(slots)

        def moved(name: str, new: Tensor) -> Tensor:
            kept[name] = slots[name] + (new - slots[name]) * share
            return kept[name]

        if grad.ndim < 2:
            variance = moved("variance", square)
        else:
            rows = moved("row_var", _fn["mean"](square, axis=-1, keepdims=True))
            columns = moved("col_var", _fn["mean"](square, axis=-2, keepdims=True))
            variance = rows * columns / _fn["maximum"](_fn["mean"](rows, axis=-2, keepdims=True), eps)
        update = grad * _fn["rsqrt"](_fn["maximum"](variance, eps * eps))
        bound = _fn["maximum"](_length(update) / (size * self.d), 1.0)
        if self.decay:
            param = param * (1 - lr * self.decay)
        return param - alpha / bound * update, kept


class Muon(Optimizer):
    """Momentum whose matrix is made nearly orthogonal, by `ns_steps` of Newton's and Schulz's iteration. Jordan (2024).

    It is for the matrices of hidden layers; train the rest by another optimiser. The iteration computes in bfloat16,
    or in the dtype that the attribute `precision` names.
    `adjust_lr_fn` scales the rate by the matrix's shape: "original", or "match_rms_adamw" for rates as of AdamW.
    """

    slots = ("momentum_buffer",)
    decoupled = True
    precision = "bfloat16"

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise _errors.ValueError(
                f"Muon: adjust_lr_fn is {adjust_lr_fn!r}",
                _intaglio._user_line(),
                why="it says how the rate follows the shape of a matrix",
                hint="choose 'original' or 'match_rms_adamw'",
            )
        self.momentum, self.nesterov, self.eps = momentum, nesterov, eps
        self.ns_coefficients, self.ns_steps, self.adjust_lr_fn = ns_coefficients, ns_steps, adjust_lr_fn
        super().__init__(params, lr, weight_decay)

    def start(self, param: Tensor) -> Slots:
        if param.ndim != 2:
            raise _errors.ShapeError(
                f"Muon: a parameter has shape {tuple(param.shape)}",
                _intaglio._user_line(),
                why="its update is made orthogonal, and only matrices are",
                hint="train vectors and convolutions by ig.optim.AdamW",
            )
        return super().start(param)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        buffer = slots["momentum_buffer"] + (grad - slots["momentum_buffer"]) * (1 - self.momentum)
        update = grad + (buffer - grad) * self.momentum if self.nesterov else buffer
        rows, columns = param.shape
        if self.adjust_lr_fn == "match_rms_adamw":
            scale = 0.2 * math.sqrt(max(rows, columns))
        else:
            scale = math.sqrt(max(1.0, rows / columns))
        way = _functions.astype(self._orthogonal(update), param.dtype)
        return param - lr * scale * way, {"momentum_buffer": buffer}

    def _orthogonal(self, x: Tensor) -> Tensor:
        a, b, c = self.ns_coefficients
        tall = x.shape[0] > x.shape[1]
        x = _functions.astype(x.mT if tall else x, self.precision)
        length = _functions.astype(_length(_functions.astype(x, "float32")), self.precision)
        x = x / _fn["maximum"](length, self.eps)
        for _ in range(self.ns_steps):
            gram = x @ x.mT
            x = a * x + (b * gram + c * (gram @ gram)) @ x
        return x.mT if tall else x
