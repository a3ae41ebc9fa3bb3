"""A learning rate that falls where a measure no longer gets better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _errors, _intaglio
from ._optimizers import Optimizer


class ReduceOnPlateau:
    """Lowers the optimiser's rate where a measure has not become better for a while; torch's `ReduceLROnPlateau`.

    Call `step(measure)` after each epoch, outside of `ig.jit`. Another rate compiles nothing again.

    Parameters
    ----------
    optimizer : Optimizer
        Whose rate is a number, not a schedule.
    mode : "min" or "max"
        Whether less or more is better.
    factor, min_lr : float
        What the rate of each group is multiplied by, and where it ends (one for all, or one for each group).
    patience, cooldown : int
        How many measures may be no better before it falls, and how many are passed over after that.
    threshold, threshold_mode : float, "rel" or "abs"
        By how much a measure must be better, as a share of the best one or as it is.
    eps : float
        A smaller change of the rate is left out.

    Raises
    ------
    ValueError
        For an unknown mode, a factor of 1 or more, or an optimiser with a schedule.

    Examples
    --------
    >>> import intaglio as ig
    >>> w = ig.asarray([1.0])
    >>> opt = ig.optim.SGD([w], lr=0.5)
    >>> plateau = ig.optim.ReduceOnPlateau(opt, patience=1)
    >>> for loss in (1.0, 0.9, 0.9, 0.9):
    ...     plateau.step(loss)
    >>> float(opt.lr)
    0.05000000074505806
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        for name, value, choices in (
            ("mode", mode, ("min", "max")),
            ("threshold_mode", threshold_mode, ("rel", "abs")),
        ):
            if value not in choices:
                raise _errors.ValueError(
                    f"ReduceOnPlateau: {name} is {value!r}",
                    _intaglio._user_line(),
                    why="it says when a measure is better than the best one",
                    hint=f"choose {choices[0]!r} or {choices[1]!r}",
                )
        if factor >= 1:
            raise _errors.ValueError(
                f"ReduceOnPlateau: the factor is {factor}",
                _intaglio._user_line(),
                why="the rate is to fall",
                hint="give a number below 1, such as 0.1",
            )
        if callable(optimizer.rate) or any(callable(group["lr"]) for group in optimizer.param_groups):
            raise _errors.ValueError(
                "ReduceOnPlateau: the optimiser has a schedule",
                _intaglio._user_line(),
                why="the rate would have two masters",
                hint="make the optimiser with a number for its lr",
            )
        self.optimizer, self.mode, self.factor = optimizer, mode, factor
        self.patience, self.cooldown = patience, cooldown
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.min_lr, self.eps = min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0

    def _is_better(self, measure: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            return sign * measure > sign * self.best * (1 + sign * self.threshold)
        return sign * measure > sign * self.best + self.threshold

    def step(self, measure: Any) -> None:
        """Takes note of a measure (a number, or an array of one), and lowers the rate where it is time to."""
        now = float(measure)
        if self._is_better(now):
            self.best, self.num_bad_epochs = now, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self._least(), strict=True):
                before = group["lr"]
                after = max(before * self.factor, least)
                if before - after > self.eps:
                    group["lr"] = after
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def _least(self) -> Sequence[float]:
        count = len(self.optimizer.param_groups)
        return self.min_lr if isinstance(self.min_lr, Sequence) else [self.min_lr] * count

    def state_dict(self) -> dict[str, float]:
        """What it remembers."""
        return {name: getattr(self, name) for name in ("best", "num_bad_epochs", "cooldown_counter")}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Takes what `state_dict` gave."""
        for name in ("best", "num_bad_epochs", "cooldown_counter"):
            setattr(self, name, state[name])
