"""Learning rates as functions of the step's number, which starts at 0: numbers and arrays alike.

>>> import intaglio as ig
>>> rate = ig.optim.warmup_cosine(0.1, warmup=10, steps=100)
>>> [round(float(rate(i)), 4) for i in (0, 5, 10, 100)]
[0.0, 0.05, 0.1, 0.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import _functions, _intaglio

Tensor = _intaglio.Tensor
Schedule = Callable[[Any], Tensor]
_fn = _functions.functions


def _count(step: Any) -> Tensor:
    return _functions.astype(_functions._array(step), "float32")


def constant(rate: float) -> Schedule:
    """Always `rate`."""
    return lambda step: _functions.full((), rate, dtype="float32")


def linear(start: float, end: float, steps: int) -> Schedule:
    """From `start` to `end` over `steps` steps, then `end`."""
    return lambda step: start + (end - start) * _fn["minimum"](_count(step) / steps, 1.0)


def polynomial(start: float, end: float, steps: int, power: float) -> Schedule:
    """From `start` to `end`, by (1 - step / steps) ** power."""
    return lambda step: end + (start - end) * (1 - _fn["minimum"](_count(step) / steps, 1.0)) ** power


def exponential(rate: float, decay: float, every: int = 1) -> Schedule:
    """`rate` times `decay` to the power of step / every."""
    return lambda step: rate * _fn["exp"](_count(step) * (math.log(decay) / every))


def step_decay(rate: float, decay: float, every: int) -> Schedule:
    """`rate`, times `decay` after each `every` steps."""
    return lambda step: rate * _fn["exp"](_fn["floor"](_count(step) / every) * math.log(decay))


def multi_step(rate: float, milestones: Sequence[int], decay: float = 0.1) -> Schedule:
    """`rate`, times `decay` from each milestone on."""

    def at(step: Any) -> Tensor:
        count, passed = _count(step), _functions.zeros((), dtype="float32")
        for milestone in milestones:
            passed = passed + _functions.astype(count >= milestone, "float32")
        return rate * _fn["exp"](passed * math.log(decay))

    return at


def cosine(rate: float, steps: int, end: float = 0.0) -> Schedule:
    """Half a cosine wave from `rate` down to `end` over `steps` steps, then `end`. Loshchilov and Hutter (2017)."""
    return lambda step: end + (rate - end) * 0.5 * (1 + _fn["cos"](math.pi * _fn["minimum"](_count(step) / steps, 1.0)))


def cosine_restarts(rate: float, steps: int, times: int = 1, end: float = 0.0) -> Schedule:
    """Half a cosine wave from `rate` to `end` over `steps` steps, again and again; each period `times` as long as the
    one before. Loshchilov and Hutter (2017)."""

    def at(step: Any) -> Tensor:
        count = _count(step)
        if times == 1:
            share = count / steps - _fn["floor"](count / steps)
        else:
            # The period n begins at steps (timesⁿ - 1) / (times - 1).
            n = _fn["floor"](_fn["log"](count * ((times - 1) / steps) + 1) / math.log(times) + 1e-6)
            length = steps * _fn["exp"](n * math.log(times))
            share = (count - (length - steps) / (times - 1)) / length
        return end + (rate - end) * 0.5 * (1 + _fn["cos"](math.pi * share))

    return at


def inverse_sqrt(rate: float, warmup: int) -> Schedule:
    """Linearly from 0 to `rate` over `warmup` steps, then by one over the root of the step. Vaswani et al. (2017)."""

    def at(step: Any) -> Tensor:
        count = _count(step)
        return rate * _fn["minimum"](count / warmup, _fn["rsqrt"](_fn["maximum"](count, 1.0) / warmup))

    return at


def warmup_cosine(rate: float, warmup: int, steps: int, end: float = 0.0) -> Schedule:
    """Linearly from 0 to `rate` over `warmup` steps, then by a cosine to `end` at `steps`."""
    return join([linear(0.0, rate, warmup), cosine(rate, steps - warmup, end)], [warmup])


def one_cycle(rate: float, steps: int, rise: float = 0.3, start: float = 1 / 25, end: float = 1e-4) -> Schedule:
    """By half cosines from rate * start up to `rate` at the share `rise`, then down to rate * end. Smith (2018)."""
    up = max(int(steps * rise), 1)
    return join(
        [lambda step: rate * (1 + start) - cosine(rate, up, rate * start)(step), cosine(rate, steps - up, rate * end)],
        [up],
    )


def join(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after another: the i-th ends before step boundaries[i], and the next counts from there."""

    def at(step: Any) -> Tensor:
        count = _functions._array(step)
        out = schedules[0](count)
        for schedule, boundary in zip(schedules[1:], boundaries, strict=True):
            later = schedule(_fn["maximum"](count - boundary, 0))
            out = _fn["where"](count >= boundary, later, out)
        return out

    return at
