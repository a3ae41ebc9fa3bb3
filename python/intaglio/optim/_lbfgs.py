"""L-BFGS: Newton's method with an inverse Hessian made of the last steps. It calls the loss itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .. import _errors, _functions, _intaglio
from ._groups import ParamGroup
from ._optimizers import Optimizer, Slots

Tensor = _intaglio.Tensor
_fn = _functions.functions
Closure = Callable[[], Any]


def _dot(x: Tensor, y: Tensor) -> float:
    return float(_fn["vecdot"](x, y))


def _greatest(x: Tensor) -> float:
    return float(_fn["max"](_fn["abs"](x)))


class LBFGS(Optimizer):
    """Steps by an approximate inverse Hessian of the last `history_size` steps. Liu and Nocedal (1989); as in torch.

    `step(closure)` calls the closure, as often as it needs, for the loss and its gradients: the closure calls
    `zero_grad()` and `loss.backward()` and returns the loss; or it returns the pair of the loss and its gradients, as
    `nn.value_and_grad` gives them. Its decisions are Python's, so `step` stays outside of `ig.jit`; the closure may
    call a jitted function. There is one group of parameters, and no form as functions of trees.

    Parameters
    ----------
    params
        As of every optimiser.
    lr : float
        The length of a step, where no search finds it.
    max_iter, max_eval : int
        How many steps, and how many calls of the closure (by default 5 / 4 of the steps), one `step` makes at most.
    tolerance_grad, tolerance_change : float
        Where it ends early: no element of the gradient is greater, or neither a parameter nor the loss changes more.
    history_size : int
        How many steps it remembers.
    line_search_fn : None or "strong_wolfe"
        How the length of a step is found.

    Raises
    ------
    ValueError
        For another search, groups, or a closure without gradients.
    CaptureError
        Where `step` is called in a captured function.

    Examples
    --------
    >>> import intaglio as ig
    >>> w = ig.asarray([-1.5, 2.0])
    >>> opt = ig.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> rosenbrock = ig.jit(ig.value_and_grad(lambda w: (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2))
    >>> def closure():
    ...     loss, grad = rosenbrock(w)
    ...     return loss, [grad]
    >>> for _ in range(3):
    ...     _ = opt.step(closure)
    >>> ig.round(w, 3)
    Tensor([1., 1.], dtype=float32)
    """

    def __init__(
        self,
        params: Any = None,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise _errors.ValueError(
                f"LBFGS: the line search is {line_search_fn!r}",
                _intaglio._user_line(),
                why="it finds the length of each step",
                hint="choose 'strong_wolfe', or None for steps of the length lr",
            )
        self.max_iter, self.max_eval = max_iter, max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
        self.history_size, self.line_search_fn = history_size, line_search_fn
        super().__init__(params, lr)
        self.n_iter = self.func_evals = 0
        self.direction: Tensor | None = None
        self.before: Tensor | None = None  # the gradient before the last step
        self.length, self.scale = 0.0, 1.0
        self.changes: list[Tensor] = []  # of the gradient, and of the parameters
        self.steps: list[Tensor] = []
        self.weights: list[float] = []

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, Slots]:
        raise _errors.UnsupportedError(
            "LBFGS has no rule for one parameter and its gradient",
            _intaglio._user_line(),
            why="it calls the loss at places of its own choice",
            hint="call step(closure) of an optimiser that was made of the parameters",
        )

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        self._alone(2)

    def _alone(self, count: int) -> None:
        if count != 1:
            raise _errors.ValueError(
                f"LBFGS: {count} groups of parameters",
                _intaglio._user_line(),
                why="its step is one of all parameters together, by options of one",
                hint="make it of all parameters in one group",
            )

    # --- the parameters as one vector --------------------------------------------------------------------------------

    def _evaluate(self, closure: Closure) -> tuple[float, Tensor, Any]:
        """The loss, its gradient as one vector, and what the closure gave."""
        self.func_evals += 1
        mode = _intaglio._set_grad_mode(True, _intaglio._grad_mode()[1])
        try:
            given = closure()
        finally:
            _intaglio._set_grad_mode(*mode)
        loss = given
        if isinstance(given, tuple):
            loss, grads = given
            named = dict(grads) if isinstance(grads, Mapping) else dict(zip(self.params, grads, strict=True))
        else:
            named = {name: param.grad for name, param in self.params.items()}
            if all(grad is None for grad in named.values()):
                raise _errors.ValueError(
                    "LBFGS: the closure gave no gradients",
                    _intaglio._user_line(),
                    why="each call is for the loss and its gradients",
                    hint="call loss.backward() in it, or return (loss, gradients)",
                )
        parts = []
        for name, param in self.params.items():
            grad = named.get(name)
            parts.append(_functions.zeros_like(param).detach() if grad is None else grad.detach())
        return float(loss), _functions.concat([_functions.ravel(part) for part in parts]), loss

    def _place(self) -> list[Tensor]:
        return [_intaglio._handle(param.detach()) for param in self.params.values()]

    def _go(self, start: list[Tensor], length: float, direction: Tensor) -> None:
        """Sets the parameters to `start` and so much of the direction."""
        offset = 0
        for param, held in zip(self.params.values(), start, strict=True):
            part = direction[offset : offset + param.size].reshape(param.shape)
            _intaglio._set_value(param, held + _functions.astype(length * part, param.dtype))
            offset += param.size

    # --- a step ------------------------------------------------------------------------------------------------------

    def step(self, closure: Any = None) -> Any:
        """Moves the parameters by up to `max_iter` steps. Returns the loss before the first one."""
        self._alone(len(self.groups))
        if _intaglio.is_tracing():
            raise _errors.CaptureError(
                "LBFGS: step is called in a captured function",
                _intaglio._user_line(),
                why="how often it calls the loss, and where it ends, follows from values",
                hint="call step outside, with a closure that calls the jitted function",
            )
        if not callable(closure):
            raise _errors.TypeError(
                "LBFGS: step takes a closure",
                _intaglio._user_line(),
                why="it asks for the loss and its gradients at several places",
                hint="write def closure(): opt.zero_grad(); loss = ...; loss.backward(); return loss",
            )
        mode = _intaglio._set_grad_mode(False, _intaglio._grad_mode()[1])
        try:
            return self._steps(closure)
        finally:
            _intaglio._set_grad_mode(*mode)

    def _steps(self, closure: Closure) -> Any:
        group: ParamGroup = self.groups[0]
        count = self.func_evals
        loss, grad, first = self._evaluate(closure)
        if _greatest(grad) <= self.tolerance_grad:
            return first
        rate = float(group["lr"](int(group.count)) if callable(group["lr"]) else group["lr"])
        _intaglio._bind(group.count, group.count + 1)
        for i in range(1, self.max_iter + 1):
            self.n_iter += 1
            direction = self._direction_from(grad)
            self.direction, self.before, previous = direction, grad, loss
            length = min(1.0, 1.0 / float(_functions.sum(_fn["abs"](grad)))) * rate if self.n_iter == 1 else rate
            self.length = length
            slope = _dot(grad, direction)
            if slope > -self.tolerance_change:
                break
            start = self._place()
            if self.line_search_fn is not None:
                search = _Search(self, closure, start, direction)
                most = self.max_eval - (self.func_evals - count)
                loss, grad, length = search.run(length, loss, grad, slope, self.tolerance_change, most)
                self.length = length
                self._go(start, length, direction)
            else:
                self._go(start, length, direction)
                if i != self.max_iter:
                    loss, grad, _ = self._evaluate(closure)
            if i == self.max_iter or self.func_evals - count >= self.max_eval:
                break
            if _greatest(grad) <= self.tolerance_grad or _greatest(direction) * abs(length) <= self.tolerance_change:
                break
            if abs(loss - previous) < self.tolerance_change:
                break
        return first

    def _direction_from(self, grad: Tensor) -> Tensor:
        """The gradient times the approximate inverse Hessian, negated: the two loops over the steps remembered."""
        if self.before is None or self.direction is None:
            return -grad
        change, step = grad - self.before, self.direction * self.length
        product = _dot(change, step)
        if product > 1e-10:
            if len(self.changes) == self.history_size:
                for kept in (self.changes, self.steps, self.weights):
                    kept.pop(0)
            self.changes.append(change)
            self.steps.append(step)
            self.weights.append(1.0 / product)
            self.scale = product / _dot(change, change)
        q = -grad
        shares = []
        for change, step, weight in zip(self.changes[::-1], self.steps[::-1], self.weights[::-1], strict=True):
            shares.append(_dot(step, q) * weight)
            q = q - shares[-1] * change
        out = q * self.scale
        for change, step, weight, share in zip(self.changes, self.steps, self.weights, shares[::-1], strict=True):
            out = out + (share - _dot(change, out) * weight) * step
        return out

    # --- state -------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """The steps remembered, stacked, and the counts, as values of their own."""
        numbers = {"length": self.length, "scale": self.scale}
        counts = {"step": self.state["step"], "n_iter": self.n_iter, "func_evals": self.func_evals}
        out = {name: _intaglio.asarray(value, dtype="float64") for name, value in numbers.items()}
        out |= {name: _intaglio.asarray(value, dtype="int64") for name, value in counts.items()}
        if self.direction is not None and self.before is not None:
            out |= {"direction": self.direction, "before": self.before}
        if self.changes:
            out |= {"changes": _functions.stack(self.changes), "steps": _functions.stack(self.steps)}
            out["weights"] = _intaglio.asarray(self.weights, dtype="float64")
        return out

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes what `state_dict` gave. Error: `ig.ValueError` where it is of another optimiser."""
        needed = {"length", "scale", "step", "n_iter", "func_evals"}
        known = needed | {"direction", "before", "changes", "steps", "weights"}
        size = sum(param.size for param in self.params.values())
        vectors = {name: _functions._array(state[name]) for name in known - needed - {"weights"} if name in state}
        wrong = sorted((needed - set(state)) | (set(state) - known))
        wrong += [name for name, value in vectors.items() if value.shape[-1] != size]
        if wrong:
            raise _errors.ValueError(
                f"the state is not one of this LBFGS: {', '.join(wrong)}",
                _intaglio._user_line(),
                why="it has counts, and vectors as long as all parameters together",
                hint="make the optimiser of the same parameters and kind as when it was saved",
            )
        self.length, self.scale = float(state["length"]), float(state["scale"])
        self.n_iter, self.func_evals = int(state["n_iter"]), int(state["func_evals"])
        _intaglio._bind(self.state["step"], _intaglio.asarray(int(state["step"]), dtype="int64"))
        self.direction, self.before = vectors.get("direction"), vectors.get("before")
        self.changes = list(vectors["changes"]) if "changes" in vectors else []
        self.steps = list(vectors["steps"]) if "steps" in vectors else []
        self.weights = _functions._array(state["weights"]).tolist() if "weights" in state else []


def _cubic(x1: float, f1: float, g1: float, x2: float, f2: float, g2: float, bounds: Any = None) -> float:
    """Where the cubic through two places with these values and slopes is least, within bounds."""
    low, high = bounds or (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    if x1 <= x2:
        least = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        least = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(least, low), high)


class _Search:
    """A step's length by the strong Wolfe conditions: the loss falls enough, and its slope is nearly flat there."""

    def __init__(self, optimizer: LBFGS, closure: Closure, start: list[Tensor], direction: Tensor) -> None:
        self.optimizer, self.closure, self.start, self.direction = optimizer, closure, start, direction

    def at(self, t: float) -> tuple[float, Tensor, float]:
        """The loss, its gradient, and its slope along the direction, a length of t away."""
        self.optimizer._go(self.start, t, self.direction)
        loss, grad, _ = self.optimizer._evaluate(self.closure)
        self.optimizer._go(self.start, 0.0, self.direction)
        return loss, grad, _dot(grad, self.direction)

    def run(
        self, t: float, f: float, g: Tensor, slope: float, tolerance: float, most: int
    ) -> tuple[float, Tensor, float]:
        c1, c2 = 1e-4, 0.9
        reach = _greatest(self.direction)
        before = (0.0, f, g, slope)
        now = (t, *self.at(t))
        tries, done = 0, False
        # First a bracket: two lengths with a good one between them, or the good one itself.
        bracket: list[tuple[float, float, Tensor, float]] = [(0.0, f, g, slope), now]
        while tries < most:
            if now[1] > f + c1 * now[0] * slope or (tries > 1 and now[1] >= before[1]):
                bracket = [before, now]
                break
            if abs(now[3]) <= -c2 * slope:
                bracket, done = [now], True
                break
            if now[3] >= 0:
                bracket = [before, now]
                break
            bounds = (now[0] + 0.01 * (now[0] - before[0]), now[0] * 10)
            further = _cubic(before[0], before[1], before[3], now[0], now[1], now[3], bounds)
            before, now = now, (further, *self.at(further))
            tries += 1
        else:
            bracket = [(0.0, f, g, slope), now]
        # Then it is drawn together.
        stuck = False
        low, high = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
        while not done and tries < most:
            a, b = bracket
            left, right = min(a[0], b[0]), max(a[0], b[0])
            if (right - left) * reach < tolerance:
                break
            t = _cubic(a[0], a[1], a[3], b[0], b[1], b[3])
            edge = 0.1 * (right - left)
            if min(right - t, t - left) < edge:
                if stuck or t >= right or t <= left:
                    t = right - edge if abs(t - right) < abs(t - left) else left + edge
                    stuck = False
                else:
                    stuck = True
            else:
                stuck = False
            now = (t, *self.at(t))
            tries += 1
            if now[1] > f + c1 * t * slope or now[1] >= bracket[low][1]:
                bracket[high] = now
                low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
            else:
                if abs(now[3]) <= -c2 * slope:
                    done = True
                elif now[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                    bracket[high] = bracket[low]
                bracket[low] = now
        best = bracket[low]
        return best[1], best[2], best[0]
