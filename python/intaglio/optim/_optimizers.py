"""Optimisers. Each is a rule, from a parameter, its gradient and its state to the new parameter and state.

The rule is used in two ways, which give the same numbers:

* with handles: made of a model's parameters, `step(grads)` binds them to their new values in place; `step()` takes the
  gradients of `loss.backward()`;
* as functions of trees: `state = opt.init(params)`, then `params, state = opt.update(grads, state, params)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import _errors, _functions, _intaglio
from ..tree import map as tree_map
from ._groups import ParamGroup, are_groups, made_of, named, options_of, own_count

Tensor = _intaglio.Tensor
_fn = _functions.functions
Slots = dict[str, Tensor]
Rate = float | Callable[[Tensor], Any]


class Optimizer:
    """The base of all: learning rate (a number, or a schedule of the step's number), weight decay, the two ways.

    `params` are the arrays to train: a module, a dict by name, or any iterable of arrays or of pairs (name, array).
    Without them the optimiser is used by `init` and `update` alone. A list of dicts makes groups: each has "params" and
    any of the optimiser's options, which else are those of the optimiser.

    >>> import intaglio as ig
    >>> a, b = ig.asarray([1.0]), ig.asarray([1.0])
    >>> opt = ig.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.25)
    >>> opt.step([ig.ones(1), ig.ones(1)])
    >>> float(a[0]), float(b[0]), [group["lr"] for group in opt.param_groups]
    (0.75, 0.5, [0.25, 0.5])
    """

    slots: tuple[str, ...] = ()  # the names of the arrays that are kept for each parameter
    decoupled = False  # whether weight decay is apart from the gradient, and takes its share of the parameter
    rate: Any  # the learning rate, an array of rank 0, or a schedule
    groups: list[ParamGroup]
    _options: dict[str, Any]  # what it was made with beside the parameters
    _exact: float  # the rate, as it was given

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        self._options = options_of(cls, args, kwargs)
        return self

    def __init__(self, params: Any = None, lr: Rate = 1e-3, weight_decay: float = 0.0) -> None:
        if not callable(lr) and not lr >= 0:
            raise _errors.ValueError(
                f"{type(self).__name__}: the learning rate is {lr}",
                _intaglio._user_line(),
                why="a step goes against the gradient, by the learning rate times it",
                hint="give a number such as 1e-3, or a schedule such as ig.optim.cosine(1e-3, 1000)",
            )
        self.weight_decay = weight_decay
        # An array, so that another rate is no reason to compile a jitted step again.
        self.rate = lr if callable(lr) else _intaglio.asarray(float(lr), dtype="float32")
        self._exact = 0.0 if callable(lr) else float(lr)
        self.groups = []
        self.params: dict[str, Tensor] = {}
        self.state: dict[str, Any] = {}
        if are_groups(params):
            count = own_count()
            for group in params:
                self.groups.append(made_of(self, group, count))
                self.params.update(self.groups[-1].params)
            self.state = {**self.init(self.params), "step": count}
        elif params is not None:
            self.params = named(params)
            if self.params:
                self.state = self.init(self.params)
                self.groups.append(ParamGroup(self, self.params, self.state["step"]))

    # --- the rule, of one parameter ----------------------------------------------------------------------------------

    def start(self, param: Tensor) -> Slots:
        """The state of a parameter before the first step."""
        return {name: _functions.zeros_like(param) for name in self.slots}

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The new value of `param` and its new state; `step` counts from 1. Weight decay has been applied."""
        raise _errors.UnsupportedError(
            f"{type(self).__name__} has no rule",
            _intaglio._user_line(),
            why="an optimiser says how a parameter changes by its method `rule`",
            hint="write `def rule(self, grad, slots, param, lr, step)` in the class",
        )

    # --- as functions of trees ---------------------------------------------------------------------------------------

    def init(self, params: Any) -> dict[str, Any]:
        """The state before the first step, for a tree of parameters."""
        leaves, tree = _intaglio.tree_flatten(params)
        starts = [self.start(_intaglio._detached(p) if isinstance(p, Tensor) else p) for p in leaves]
        slots = {name: _intaglio.tree_unflatten(tree, [s[name] for s in starts]) for name in self.slots}
        return {"step": _functions.zeros((), dtype="int64"), **slots}

    def update(self, grads: Any, state: Mapping[str, Any], params: Any) -> tuple[Any, dict[str, Any]]:
        """The new parameters and the new state, all as new values, for trees of one structure."""
        leaves, tree = _intaglio.tree_flatten(params)
        given, other = _intaglio.tree_flatten(grads)
        if tree != other:
            raise _errors.ValueError(
                f"the gradients {other} do not have the structure of the parameters {tree}",
                _intaglio._user_line(),
                why="each parameter moves by its own gradient",
                hint="take the gradient by the same tree that is passed as params",
            )
        step = state["step"] + 1
        kept = [_intaglio.tree_flatten(state[name])[0] for name in self.slots]
        moved = self._move(given, kept, leaves, step)
        slots = {name: _intaglio.tree_unflatten(tree, [m[1][name] for m in moved]) for name in self.slots}
        return _intaglio.tree_unflatten(tree, [m[0] for m in moved]), {"step": step, **slots}

    # --- groups ------------------------------------------------------------------------------------------------------

    @property
    def param_groups(self) -> list[ParamGroup]:
        """The groups: of each its parameters and options, which may be set (`param_groups[1]["lr"] = 1e-4`)."""
        return self.groups

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Trains more parameters, in a group of their own whose steps are counted from here on.

        >>> import intaglio as ig
        >>> a, b = ig.asarray([1.0]), ig.asarray([1.0])
        >>> opt = ig.optim.SGD([a], lr=0.5)
        >>> opt.add_param_group({"params": [b], "lr": 0.25})
        >>> opt.step([ig.ones(1), ig.ones(1)])
        >>> float(a[0]), float(b[0])
        (0.5, 0.75)
        """
        made = made_of(self, group, own_count())
        fresh = self.init(made.params)
        if not self.state:
            self.state = {**fresh, "step": made.count}
        else:
            self.state[f"step.{len(self.groups)}"] = made.count
            for slot in self.slots:
                self.state[slot].update(fresh[slot])
        self.params = {**self.params, **made.params}
        self.groups.append(made)

    # --- with handles ------------------------------------------------------------------------------------------------

    def zero_grad(self) -> None:
        """Drops the gradients of `loss.backward()`, so that the next pass begins anew."""
        for param in self.params.values():
            param.grad = None

    def step(self, grads: Any = None) -> None:
        """Moves the parameters by their gradients, in place.

        `grads` has the form of `params`: by name, or in the same order. A parameter whose name is left out stays.
        Without `grads` it is `.grad` of each parameter, and those that have none stay. Nothing goes on the tape.
        """
        before = _intaglio._set_grad_mode(False, _intaglio._grad_mode()[1])
        try:
            self._step(grads)
        finally:
            _intaglio._set_grad_mode(*before)

    def _step(self, grads: Any) -> None:
        if not self.params:
            raise _errors.ValueError(
                f"{type(self).__name__} was made without parameters",
                _intaglio._user_line(),
                why="step moves the arrays that the optimiser was made of",
                hint="make it of them: ig.optim.Adam(model, lr=1e-3); or use opt.update(grads, state, params)",
            )
        if grads is None:
            grads = {name: param.grad for name, param in self.params.items() if param.grad is not None}
            if not grads:
                raise _errors.ValueError(
                    "no parameter has a gradient",
                    _intaglio._user_line(),
                    why="step() without gradients takes .grad of the parameters, and no backward pass set one",
                    hint="call model.requires_grad_() once and loss.backward() before it, or pass the gradients",
                )
        given = dict(grads) if isinstance(grads, Mapping) else {str(i): g for i, g in enumerate(grads)}
        unknown = [name for name in given if name not in self.params]
        in_order = not isinstance(grads, Mapping)
        if unknown or (in_order and len(given) != len(self.params)):
            said = f"{len(given)} for {len(self.params)}" if in_order else f"no parameter is named {', '.join(unknown)}"
            raise _errors.ValueError(
                f"the gradients do not fit the parameters: {said}",
                _intaglio._user_line(),
                why="each parameter moves by its own gradient",
                hint="nn.value_and_grad gives the gradients by the names of the parameters",
            )
        for name in self._counts():
            _intaglio._bind(self.state[name], self.state[name] + 1)
        for group in self.groups:
            names = [name for name in group.params if name in given]
            kept = [[self.state[slot][n] for n in names] for slot in self.slots]
            params = [group.params[n] for n in names]
            moved = group.rule._move([given[n] for n in names], kept, params, group.count)
            for i, (value, slots) in enumerate(moved):
                _intaglio._set_value(params[i], value)
                for handles, slot in zip(kept, self.slots, strict=True):
                    _intaglio._bind(handles[i], slots[slot])

    def _move(self, grads: Any, kept: Any, params: Any, step: Tensor) -> list[tuple[Tensor, Slots]]:
        lr = self.rate(step - 1) if callable(self.rate) else self.rate
        out = []
        for i, (grad, param) in enumerate(zip(grads, params, strict=True)):
            if tuple(grad.shape) != tuple(param.shape):
                raise _errors.ShapeError(
                    f"a gradient has shape {tuple(grad.shape)}, its parameter {tuple(param.shape)}",
                    _intaglio._user_line(),
                    why="each number moves by its own derivative",
                    hint="pass the gradients as they come, in the order of the parameters",
                )
            slots = {name: kept[k][i] for k, name in enumerate(self.slots)}
            rate = _functions.astype(lr, param.dtype) if isinstance(lr, Tensor) else lr
            own_grad = _functions.astype(grad, param.dtype)
            if self.weight_decay and self.decoupled:
                param = param * (1 - rate * self.weight_decay)
            elif self.weight_decay:
                own_grad = own_grad + self.weight_decay * param
            out.append(self.rule(own_grad, slots, param, rate, step))
        return out

    @property
    def lr(self) -> Any:
        """The learning rate of the next step, that of the first group. Setting it (of all) compiles nothing again."""
        rule = self.groups[0].rule if self.groups else self
        return rule.rate(self.groups[0].count if self.groups else 0) if callable(rule.rate) else rule.rate

    @lr.setter
    def lr(self, value: float) -> None:
        for rule in [self, *(group.rule for group in self.groups if group.rule is not self)]:
            rule._set_rate(value)

    def _set_rate(self, value: Any) -> None:
        self._options["lr"] = value
        if callable(value):
            self.rate = value
            return
        self._exact = float(value)
        if callable(self.rate):
            self.rate = _intaglio.asarray(float(value), dtype="float32")
        else:
            _intaglio._bind(self.rate, _intaglio.asarray(float(value), dtype="float32"))

    def _counts(self) -> list[str]:
        return [name for name in self.state if name.partition(".")[0] == "step"]

    def state_dict(self) -> dict[str, Tensor]:
        """The state by name ("step", "momentum.0.weight"), as values of their own."""
        out = {name: _intaglio._handle(self.state[name]) for name in self._counts()}
        for slot in self.slots:
            out.update({f"{slot}.{name}": _intaglio._handle(value) for name, value in self.state[slot].items()})
        return out

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes what `state_dict` gave. Error: `ig.ValueError` where it is of another optimiser."""
        own = {name: self.state[name] for name in self._counts()}
        for slot in self.slots:
            own.update({f"{slot}.{name}": value for name, value in self.state[slot].items()})
        if set(own) != set(state):
            differing = sorted(set(own) ^ set(state))
            raise _errors.ValueError(
                f"the state is not one of this {type(self).__name__}: {', '.join(differing[:5])}",
                _intaglio._user_line(),
                why="it has an array for each parameter and slot, and a count of steps",
                hint="make the optimiser of the same parameters and kind as when it was saved",
            )
        for name, handle in own.items():
            value = state[name] if isinstance(state[name], Tensor) else _intaglio.asarray(state[name])
            _intaglio._bind(handle, _functions.astype(value, handle.dtype))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.params)} parameters, slots {', '.join(self.slots) or 'none'})"


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum (plain or Nesterov's), as in torch.

    >>> import intaglio as ig
    >>> w = ig.asarray([1.0, -2.0])
    >>> opt = ig.optim.SGD([w], lr=0.5)
    >>> opt.step([2 * w])
    >>> w
    Tensor([0., 0.], dtype=float32)
    """

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        self.momentum, self.dampening, self.nesterov = momentum, dampening, nesterov
        self.slots = ("momentum_buffer",) if momentum else ()
        super().__init__(params, lr, weight_decay)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        if not self.momentum:
            return param - lr * grad, {}
        # The first gradient is taken whole, as in torch.
        share = _fn["where"](step == 1, _one(grad), _one(grad) * (1 - self.dampening)) if self.dampening else 1
        buffer = self.momentum * slots["momentum_buffer"] + share * grad
        way = grad + self.momentum * buffer if self.nesterov else buffer
        return param - lr * way, {"momentum_buffer": buffer}


class Adam(Optimizer):
    """Kingma and Ba (2015): steps by the running mean of the gradient over the root of that of its square."""

    slots = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-3,
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
        square = b2 * slots["exp_avg_sq"] + (1 - b2) * (grad * grad)
        mean_share, square_share = (_functions.astype(1 - _power(b, step), param.dtype) for b in (b1, b2))
        way = (mean / mean_share) / (_fn["sqrt"](square / square_share) + self.eps)
        return param - lr * way, {"exp_avg": mean, "exp_avg_sq": square}


class AdamW(Adam):
    """Adam with weight decay apart from the gradient. Loshchilov and Hutter (2019)."""

    decoupled = True

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)


class RMSprop(Optimizer):
    """Divides the gradient by the root of the running mean of its square. Hinton (2012)."""

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
    ) -> None:
        self.alpha, self.eps, self.momentum = alpha, eps, momentum
        self.slots = ("square_avg", "momentum_buffer") if momentum else ("square_avg",)
        super().__init__(params, lr, weight_decay)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        square = self.alpha * slots["square_avg"] + (1 - self.alpha) * (grad * grad)
        way = grad / (_fn["sqrt"](square) + self.eps)
        if not self.momentum:
            return param - lr * way, {"square_avg": square}
        buffer = self.momentum * slots["momentum_buffer"] + way
        return param - lr * buffer, {"square_avg": square, "momentum_buffer": buffer}


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of all its squares. Duchi, Hazan and Singer (2011)."""

    slots = ("sum",)

    def __init__(self, params: Any = None, lr: Rate = 1e-2, eps: float = 1e-10, weight_decay: float = 0.0) -> None:
        self.eps = eps
        super().__init__(params, lr, weight_decay)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        total = slots["sum"] + grad * grad
        return param - lr * grad / (_fn["sqrt"](total) + self.eps), {"sum": total}


class Lion(Optimizer):
    """Steps by the sign of a running mean of the gradient. Chen et al. (2023)."""

    slots = ("exp_avg",)
    decoupled = True

    def __init__(
        self,
        params: Any = None,
        lr: Rate = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
    ) -> None:
        self.betas = betas
        super().__init__(params, lr, weight_decay)

    def rule(
        self, grad: Tensor, slots: dict[str, Tensor], param: Tensor, lr: Any, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        b1, b2 = self.betas
        way = _fn["sign"](b1 * slots["exp_avg"] + (1 - b1) * grad)
        return param - lr * way, {"exp_avg": b2 * slots["exp_avg"] + (1 - b2) * grad}


class Accumulate:
    """Adds up the gradients of `every` calls and steps by their mean: a large batch in small parts.

    >>> import intaglio as ig
    >>> w = ig.asarray([1.0])
    >>> opt = ig.optim.Accumulate(ig.optim.SGD([w], lr=1.0), every=2)
    >>> opt.step([ig.asarray([0.2])])
    >>> w
    Tensor([1.], dtype=float32)
    >>> opt.step([ig.asarray([0.4])])
    >>> w
    Tensor([0.7], dtype=float32)
    """

    def __init__(self, optimizer: Optimizer, every: int) -> None:
        self.optimizer, self.every, self.count = optimizer, every, 0
        self.sums: list[Tensor] = []
        self.names: list[str] = []

    def step(self, grads: Any) -> None:
        """Adds the gradients; each `every`-th call steps. Call it outside of `ig.jit`, on a jitted step's gradients."""
        named = dict(grads) if isinstance(grads, Mapping) else {str(i): g for i, g in enumerate(grads)}
        if self.sums and self.names != list(named):
            raise _errors.ValueError(
                "the gradients are not those of the calls before",
                _intaglio._user_line(),
                why="gradients are added up parameter by parameter",
                hint="pass the gradients of the same parameters each time",
            )
        values = list(named.values())
        self.names = list(named)
        self.sums = [s + g for s, g in zip(self.sums, values, strict=True)] if self.sums else values
        self.count += 1
        if self.count == self.every:
            self.optimizer.step({n: s / self.every for n, s in zip(self.names, self.sums, strict=True)})
            self.sums, self.count = [], 0


def global_norm(tree: Any) -> Tensor:
    """The length of all the tree's arrays taken as one vector, in float32 at least."""
    total: Any = 0.0
    for leaf in _intaglio.tree_flatten(tree)[0]:
        wide = leaf if leaf.dtype.name == "float64" else _functions.astype(leaf, "float32")
        total = _functions.sum(wide * wide) + total
    return _fn["sqrt"](_functions._array(total))


def clip_by_global_norm(tree: Any, max_norm: float) -> tuple[Any, Tensor]:
    """The arrays, scaled down together where their `global_norm` is above `max_norm`; and that norm.

    >>> import intaglio as ig
    >>> ig.optim.clip_by_global_norm([ig.asarray([3.0, 4.0])], 1.0)
    ([Tensor([0.6, 0.8], dtype=float32)], Tensor(5., dtype=float32))
    """
    norm = global_norm(tree)
    scale = _fn["minimum"](max_norm / _fn["maximum"](norm, 1e-30), 1.0)
    return tree_map(lambda leaf: leaf * _functions.astype(scale, leaf.dtype), tree), norm


def clip_by_value(tree: Any, limit: float) -> Any:
    """The arrays with each element bounded to ±`limit`."""
    return tree_map(lambda leaf: _fn["clip"](leaf, -limit, limit), tree)


def _one(like: Tensor) -> Tensor:
    return _functions.ones((), dtype=like.dtype)


def _power(base: float, step: Tensor) -> Tensor:
    # In float64: one minus a power near one would lose half of its digits.
    return _fn["pow"](_functions.full((), base, dtype="float64"), _functions.astype(step, "float64"))
