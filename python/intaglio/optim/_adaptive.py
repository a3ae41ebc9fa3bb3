"""More optimisers of torch's: Adamax, Adadelta, NAdam, RAdam, Rprop, ASGD."""

from __future__ import annotations

from typing import Any

from .. import _functions, _intaglio
from ._optimizers import Optimizer, Rate, Slots, _power

Tensor = _intaglio.Tensor
_fn = _functions.functions


class Adamax(Optimizer):
    """Adam with the greatest gradient of late in place of the root of the mean square. Kingma and Ba (2015).

    >>> import intaglio as ig
    >>> w = ig.asarray([1.0, -2.0])
    >>> opt = ig.optim.Adamax([w], lr=0.5)
    >>> opt.step([2 * w])
    >>> w
    Tensor([ 0.5, -1.5], dtype=float32)
    """

    slots = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.betas, self.eps = betas, eps
        super().__init__(params, lr, weight_decay)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        b1, b2 = self.betas
        mean = b1 * slots["exp_avg"] + (1 - b1) * grad
        greatest = _fn["maximum"](b2 * slots["exp_inf"], _fn["abs"](grad) + self.eps)
        share = _functions.astype(1 - _power(b1, step), param.dtype)
        return param - (lr / share) * (mean / greatest), {"exp_avg": mean, "exp_inf": greatest}


class Adadelta(Optimizer):
    """Steps by the root of the mean square of the steps of late over that of the gradients. Zeiler (2012)."""

    slots = ("square_avg", "acc_delta")

    def __init__(
        self, params: Any = None, lr: Rate = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0
    ) -> None:
        self.rho, self.eps = rho, eps
        super().__init__(params, lr, weight_decay)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        square = self.rho * slots["square_avg"] + (1 - self.rho) * (grad * grad)
        way = _fn["sqrt"](slots["acc_delta"] + self.eps) / _fn["sqrt"](square + self.eps) * grad
        delta = self.rho * slots["acc_delta"] + (1 - self.rho) * (way * way)
        return param - lr * way, {"square_avg": square, "acc_delta": delta}


class NAdam(Optimizer):
    """Adam with Nesterov's momentum. Dozat (2016)."""

    slots = ("exp_avg", "exp_avg_sq", "mu_product")

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
    ) -> None:
        self.betas, self.eps, self.momentum_decay = betas, eps, momentum_decay
        self.decoupled = decoupled_weight_decay
        super().__init__(params, lr, weight_decay)

    def start(self, param: Tensor) -> Slots:
        # Each has a handle of its own, which a step binds anew.
        slots = {name: _functions.zeros_like(param) for name in ("exp_avg", "exp_avg_sq")}
        return {**slots, "mu_product": _functions.ones((), dtype="float32")}

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        b1, b2 = self.betas
        dtype = param.dtype

        def momentum(count: Tensor) -> Tensor:
            falling = _power(0.96, _functions.astype(count, "float64") * self.momentum_decay)
            return b1 * (1 - 0.5 * falling)

        now, coming = momentum(step), momentum(step + 1)
        product = _functions.astype(slots["mu_product"], "float64") * now
        mean = b1 * slots["exp_avg"] + (1 - b1) * grad
        square = b2 * slots["exp_avg_sq"] + (1 - b2) * (grad * grad)
        length = _fn["sqrt"](square / _functions.astype(1 - _power(b2, step), dtype)) + self.eps
        by_grad = _functions.astype((1 - now) / (1 - product), dtype)
        by_mean = _functions.astype(coming / (1 - product * coming), dtype)
        moved = param - lr * by_grad * (grad / length) - lr * by_mean * (mean / length)
        kept = {"exp_avg": mean, "exp_avg_sq": square, "mu_product": _functions.astype(product, "float32")}
        return moved, kept


class RAdam(Optimizer):
    """Adam that steps by the mean gradient alone until its mean square is well known. Liu et al. (2020)."""

    slots = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
    ) -> None:
        self.betas, self.eps = betas, eps
        self.decoupled = decoupled_weight_decay
        super().__init__(params, lr, weight_decay)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        b1, b2 = self.betas
        mean = b1 * slots["exp_avg"] + (1 - b1) * grad
        square = b2 * slots["exp_avg_sq"] + (1 - b2) * (grad * grad)
        power, count = _power(b2, step), _functions.astype(step, "float64")
        longest = 2 / (1 - b2) - 1
        length = longest - 2 * count * power / (1 - power)
        known = length > 5
        safe = _fn["where"](known, length, 6.0)
        part = (safe - 4) * (safe - 2) * longest / ((longest - 4) * (longest - 2) * safe)
        factor = _functions.astype(_fn["sqrt"](part * (1 - power)), param.dtype)
        adaptive = factor / (_fn["sqrt"](square) + self.eps)
        corrected = mean / _functions.astype(1 - _power(b1, step), param.dtype)
        return param - lr * corrected * _fn["where"](known, adaptive, 1.0), {"exp_avg": mean, "exp_avg_sq": square}


class Rprop(Optimizer):
    """Steps of each element's own size, which grows while its gradient keeps its sign. Riedmiller and Braun (1993).

    `etas` are what the size is multiplied by where the sign changed and where it did not, `step_sizes` its bounds. It
    is for gradients of all examples at once.
    """

    slots = ("prev", "step_size")

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
    ) -> None:
        self.etas, self.step_sizes = etas, step_sizes
        super().__init__(params, lr)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        where = _fn["where"]
        # No size is 0 once it has begun.
        size = where(slots["step_size"] == 0, lr, slots["step_size"])
        turn = grad * slots["prev"]
        factor = where(turn > 0, self.etas[1], where(turn < 0, self.etas[0], _functions.ones_like(turn)))
        size = _fn["clip"](size * factor, *self.step_sizes)
        grad = where(turn < 0, 0.0, grad)
        return param - _fn["sign"](grad) * size, {"prev": grad, "step_size": size}


class ASGD(Optimizer):
    """Gradient descent that also keeps the mean of the parameters from the step `t0` on. Polyak and Juditsky (1992).

    The mean is the state "ax". The rate falls as lr / (1 + lambd * lr * step) ** alpha.
    """

    slots = ("ax",)

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
    ) -> None:
        self.lambd, self.alpha, self.t0 = lambd, alpha, t0
        super().__init__(params, lr, weight_decay)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        count = _functions.astype(step, "float64") - 1
        wide = _functions.astype(_functions._array(lr), "float64")
        eta = _functions.astype(wide / (1 + self.lambd * wide * count) ** self.alpha, param.dtype)
        share = _functions.astype(1 / _fn["maximum"](count - self.t0, 1.0), param.dtype)
        moved = param * (1 - self.lambd * eta) - eta * grad
        mean = _fn["where"](share == 1, moved, slots["ax"] + (moved - slots["ax"]) * share)
        return moved, {"ax": mean}
