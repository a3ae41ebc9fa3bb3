"""torch's learning-rate schedulers: objects that set the rates of an optimiser's groups, one `step()` an epoch.

They change the rate outside of `ig.jit`, and compile nothing again. `ig.optim.schedules` has such curves as functions
of the step's number, which are part of a jitted step.

>>> import intaglio as ig
>>> opt = ig.optim.SGD([ig.asarray([1.0])], lr=0.5)
>>> scheduler = ig.optim.lr_scheduler.StepLR(opt, step_size=2)
>>> for _ in range(3):
...     scheduler.step()
>>> scheduler.get_last_lr()
[0.05]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from .. import _errors, _intaglio
from ._optimizers import Optimizer
from ._plateau import ReduceOnPlateau

Rates = list[float]


class LRScheduler:
    """The base: `last_epoch` counts from 0, and `get_lr` says the rates of that epoch.

    A class of your own writes `get_lr(self)`, of `self.last_epoch`, `self.base_lrs` and the groups' rates as they are.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        groups = optimizer.param_groups
        if not groups or any(callable(group["lr"]) for group in groups):
            raise _errors.ValueError(
                f"{type(self).__name__}: the optimiser has "
                + ("a schedule" if groups else "no parameters, so no group of them"),
                _intaglio._user_line(),
                why="it sets a number that is the rate of each group",
                hint="make the optimiser of its parameters, with a number for its lr",
            )
        self.optimizer = optimizer
        for group in groups:
            group.setdefault("initial_lr", group["lr"])  # of the first scheduler
        self.base_lrs: Rates = [group["initial_lr"] for group in groups]
        self.last_epoch = last_epoch
        self._last_lr: Rates = []
        self.step()

    def rates(self) -> Rates:
        """The rates of the groups, as they are."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_lr(self) -> Rates:
        """The rates of the epoch `last_epoch`, one for each group."""
        raise _errors.UnsupportedError(
            f"{type(self).__name__} does not say the rates",
            _intaglio._user_line(),
            why="a scheduler gives them by its method `get_lr`",
            hint="write `def get_lr(self): return [...]`, a number for each group",
        )

    def get_last_lr(self) -> Rates:
        """The rates that were set last."""
        return list(self._last_lr)

    def step(self) -> None:
        """Goes to the next epoch, and sets its rates."""
        self.last_epoch += 1
        self._set(self.get_lr())

    def _set(self, rates: Rates) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = self.rates()

    def _begin_again(self) -> None:
        """Back before the first epoch, with the rates that the optimiser was made with."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self.last_epoch = -1
        self.step()

    def state_dict(self) -> dict[str, Any]:
        """What it remembers, functions and the optimiser apart."""
        return {name: value for name, value in vars(self).items() if _is_plain(value)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes what `state_dict` gave. The optimiser's rates are set to those that were set last."""
        vars(self).update(state)
        for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
            group["lr"] = rate


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(_is_plain(item) for item in value.values())
    return value is None or isinstance(value, (bool, int, float, str))


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch (one for all groups, or one for each)."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _functions_of(optimizer, lr_lambda, "LambdaLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(LRScheduler):
    """The rate of the epoch before times a function of the epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _functions_of(optimizer, lr_lambda, "MultiplicativeLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        if self.last_epoch == 0:
            return self.rates()
        return [rate * f(self.last_epoch) for rate, f in zip(self.rates(), self.lr_lambdas, strict=True)]


def _functions_of(optimizer: Optimizer, given: Any, who: str) -> list[Callable[[int], float]]:
    count = len(optimizer.param_groups)
    functions = list(given) if isinstance(given, (list, tuple)) else [given] * count
    if len(functions) != count:
        raise _errors.ValueError(
            f"{who}: {len(functions)} functions for {count} groups of parameters",
            _intaglio._user_line(),
            why="each group has its own rate",
            hint="give one function for all, or one for each group",
        )
    return functions


class _Factor(LRScheduler):
    """The rate as it is times a factor of the epoch: so several of them may be chained."""

    def factor(self) -> float:
        raise NotImplementedError

    def get_lr(self) -> Rates:
        factor = self.factor()
        return [rate * factor for rate in self.rates()]


class StepLR(_Factor):
    """The rate times `gamma` after each `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self) -> float:
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0


class MultiStepLR(_Factor):
    """The rate times `gamma` at each of the `milestones`."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self) -> float:
        return self.gamma ** Counter(self.milestones)[self.last_epoch]


class ConstantLR(_Factor):
    """The rate times `factor` for the first `total_iters` epochs."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.first_factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self) -> float:
        if self.last_epoch == 0:
            return self.first_factor
        return 1 / self.first_factor if self.last_epoch == self.total_iters else 1.0


class LinearLR(_Factor):
    """The rate times a factor from `start_factor` to `end_factor` in equal steps over `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self.last_epoch > self.total_iters:
            return 1.0
        each = self.end_factor - self.start_factor
        return 1 + each / (self.total_iters * self.start_factor + (self.last_epoch - 1) * each)


class ExponentialLR(_Factor):
    """The rate times `gamma` each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self) -> float:
        return self.gamma if self.last_epoch else 1.0


class PolynomialLR(_Factor):
    """The rate times (1 - epoch / total_iters) ** power, 0 from there on."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self) -> float:
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return 1.0
        now, before = (1 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return (now / before) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine wave from the first rate to `eta_min` over `T_max` epochs, and back up again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        epoch, low = self.last_epoch, self.eta_min
        if epoch == 0:
            return self.rates()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            up = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - low) * up for base, rate in zip(self.base_lrs, self.rates(), strict=True)]
        ratio = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return [ratio * (rate - low) + low for rate in self.rates()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine wave from the first rate to `eta_min` over `T_0` epochs, again and again, each period `T_mult`
    times as long as the one before. `step(epoch)` may go to any epoch, also between two."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: float | None = None) -> None:
        self._at = float(self.last_epoch + 1 if epoch is None else epoch)
        self.last_epoch = math.floor(self._at)
        self._set(self.get_lr())

    def get_lr(self) -> Rates:
        done, length = self._at, float(self.T_0)
        if self.T_mult == 1:
            done %= length
        while done >= length:
            done, length = done - length, length * self.T_mult
        share = (1 + math.cos(math.pi * done / length)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` in `step_size_up` steps and down again in `step_size_down`, again and again.

    `mode` "triangular2" halves the height each time, "exp_range" takes it times `gamma` to the power of the step.
    Momenta stay as they are.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        if mode not in ("triangular", "triangular2", "exp_range"):
            raise _errors.ValueError(
                f"CyclicLR: the mode is {mode!r}",
                _intaglio._user_line(),
                why="it says how the height of the cycles changes",
                hint="choose 'triangular', 'triangular2' or 'exp_range'",
            )
        count = len(optimizer.param_groups)
        self.low, self.high = (
            [float(v) for v in rates] if isinstance(rates, (list, tuple)) else [float(rates)] * count
            for rates in (base_lr, max_lr)
        )
        self.up, self.down = step_size_up, step_size_up if step_size_down is None else step_size_down
        self.mode, self.gamma = mode, gamma
        for group, rate in zip(optimizer.param_groups, self.low, strict=True):
            group["lr"] = rate
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        total = self.up + self.down
        cycle = math.floor(1 + self.last_epoch / total)
        share, rise = 1 + self.last_epoch / total - cycle, self.up / total
        height = share / rise if share <= rise else (share - 1) / (rise - 1)
        if self.mode == "triangular2":
            height /= 2.0 ** (cycle - 1)
        elif self.mode == "exp_range":
            height *= self.gamma**self.last_epoch
        return [low + (high - low) * height for low, high in zip(self.low, self.high, strict=True)]


class OneCycleLR(LRScheduler):
    """Up from max_lr / div_factor to `max_lr` over the share `pct_start` of the steps, then down to that over
    `final_div_factor`. Smith (2018). Momenta stay as they are."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise _errors.ValueError(
                "OneCycleLR: how many steps there are is not said",
                _intaglio._user_line(),
                why="the cycle ends with the last step",
                hint="give total_steps, or both epochs and steps_per_epoch",
            )
        if anneal_strategy not in ("cos", "linear"):
            raise _errors.ValueError(
                f"OneCycleLR: the strategy is {anneal_strategy!r}",
                _intaglio._user_line(),
                why="it says how the rate goes from one end of a phase to the other",
                hint="choose 'cos' or 'linear'",
            )
        self.total_steps = total_steps or (epochs or 0) * (steps_per_epoch or 0)
        self.strategy = anneal_strategy
        count = len(optimizer.param_groups)
        self.high = [float(v) for v in max_lr] if isinstance(max_lr, (list, tuple)) else [float(max_lr)] * count
        self.first = [rate / div_factor for rate in self.high]
        self.last = [rate / final_div_factor for rate in self.first]
        rise = float(pct_start * self.total_steps) - 1
        self.ends = [rise, float(2 * pct_start * self.total_steps) - 2] if three_phase else [rise]
        self.ends.append(float(self.total_steps - 1))
        for group, rate in zip(optimizer.param_groups, self.first, strict=True):
            group["lr"] = rate
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        if self.last_epoch > self.total_steps - 1:
            raise _errors.ValueError(
                f"OneCycleLR: step {self.last_epoch + 1} of {self.total_steps}",
                _intaglio._user_line(),
                why="the cycle has ended",
                hint="give as many steps as the training has",
            )
        places = [self.first, self.high, *([self.first] if len(self.ends) == 3 else []), self.last]
        start = 0.0
        for phase, end in enumerate(self.ends):
            if self.last_epoch <= end or phase == len(self.ends) - 1:
                share = (self.last_epoch - start) / (end - start)
                return [self._between(a, b, share) for a, b in zip(places[phase], places[phase + 1], strict=True)]
            start = end
        return self.rates()

    def _between(self, start: float, end: float, share: float) -> float:
        if self.strategy == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


class SequentialLR(LRScheduler):
    """One scheduler after another: the next one begins at each of the `milestones`."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        if len(milestones) != len(schedulers) - 1 or any(s.optimizer is not optimizer for s in schedulers):
            raise _errors.ValueError(
                f"SequentialLR: {len(schedulers)} schedulers and {len(milestones)} milestones, or other optimisers",
                _intaglio._user_line(),
                why="between two schedulers of one optimiser there is one milestone",
                hint="give one milestone fewer than schedulers, all made of this optimiser",
            )
        self.optimizer, self.milestones = optimizer, list(milestones)
        self.schedulers = list(schedulers)
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch + 1
        # Each has set its first rate when it was made: only the first one's counts.
        self.schedulers[0]._begin_again()
        self._last_lr = self.schedulers[0].get_last_lr()

    def step(self) -> None:
        self.last_epoch += 1
        place = sum(milestone <= self.last_epoch for milestone in self.milestones)
        if place and self.milestones[place - 1] == self.last_epoch:
            self.schedulers[place]._begin_again()
        else:
            self.schedulers[place].step()
        self._last_lr = self.schedulers[place].get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        own = super().state_dict()
        return {**own, "schedulers": [scheduler.state_dict() for scheduler in self.schedulers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for scheduler, part in zip(self.schedulers, state["schedulers"], strict=True):
            scheduler.load_state_dict(part)
        super().load_state_dict({name: value for name, value in state.items() if name != "schedulers"})


class ChainedScheduler:
    """Schedulers that each change what the one before left, all at every step."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if not schedulers or any(s.optimizer is not (optimizer or schedulers[0].optimizer) for s in schedulers):
            raise _errors.ValueError(
                f"ChainedScheduler: {len(schedulers)} schedulers, of one optimiser or of several",
                _intaglio._user_line(),
                why="each changes the rate that the one before has set",
                hint="give one scheduler or more, all made of the same optimiser",
            )
        self.schedulers = list(schedulers)
        self.optimizer = schedulers[0].optimizer

    def step(self) -> None:
        """Goes to the next epoch."""
        for scheduler in self.schedulers:
            scheduler.step()

    def get_last_lr(self) -> Rates:
        """The rates that were set last."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What the schedulers remember."""
        return {"schedulers": [scheduler.state_dict() for scheduler in self.schedulers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes what `state_dict` gave."""
        for scheduler, part in zip(self.schedulers, state["schedulers"], strict=True):
            scheduler.load_state_dict(part)


ReduceLROnPlateau = ReduceOnPlateau
