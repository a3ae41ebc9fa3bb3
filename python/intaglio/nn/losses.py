"""Losses: of predictions and targets of one shape, or of logits and labels; folded by `reduction`.

`reduction` is "mean", "sum", or "none" for the single losses.

>>> import intaglio as ig
>>> from intaglio import nn
>>> nn.losses.mse_loss(ig.asarray([1.0, 2.0]), ig.asarray([1.0, 4.0]))
Tensor(2., dtype=float32)
"""

from __future__ import annotations

from typing import Any

from .. import _errors, _functions, _intaglio

Tensor = _intaglio.Tensor
_fn = _functions.functions


def _fold(losses: Tensor, reduction: str, who: str) -> Tensor:
    if reduction == "mean":
        return _fn["mean"](losses)
    if reduction == "sum":
        return _functions.sum(losses)
    if reduction != "none":
        raise _errors.ValueError(
            f"{who}: reduction is {reduction!r}",
            _intaglio._user_line(),
            why="it says what becomes of the single losses",
            hint="choose 'mean', 'sum' or 'none'",
        )
    return losses


def _same(x: Tensor, target: Any, who: str) -> Tensor:
    target = target if isinstance(target, Tensor) else _intaglio.asarray(target)
    if tuple(x.shape) != tuple(target.shape):
        raise _errors.ShapeError(
            f"{who}: the predictions have shape {tuple(x.shape)}, the targets {tuple(target.shape)}",
            _intaglio._user_line(),
            why="each prediction has its own target; broadcasting them would compare all with all",
            hint="reshape one of them, e.g. by ig.squeeze or x[:, 0]",
        )
    return target


def mse_loss(x: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """The squared difference."""
    d = x - _same(x, target, "mse_loss")
    return _fold(d * d, reduction, "mse_loss")


def l1_loss(x: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """The absolute difference."""
    return _fold(_fn["abs"](x - _same(x, target, "l1_loss")), reduction, "l1_loss")


def huber_loss(x: Tensor, target: Any, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Half the squared difference up to `delta`, and linear beyond. Huber (1964)."""
    d = _fn["abs"](x - _same(x, target, "huber_loss"))
    near = _fn["minimum"](d, delta)
    return _fold(near * (d - 0.5 * near), reduction, "huber_loss")


def smooth_l1_loss(x: Tensor, target: Any, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """`huber_loss` over `beta`."""
    return huber_loss(x, target, reduction, beta) / beta


def binary_cross_entropy_with_logits(x: Tensor, target: Any, reduction: str = "mean", pos_weight: Any = None) -> Tensor:
    """-(t log p + (1 - t) log(1 - p)) of p = sigmoid(x), without overflow; `pos_weight` weighs the first term."""
    t = _same(x, target, "binary_cross_entropy_with_logits")
    if pos_weight is None:
        losses = _fn["softplus"](x) - x * t
    else:
        losses = (1 - t) * _fn["softplus"](x) + pos_weight * t * _fn["softplus"](-x)
    return _fold(losses, reduction, "binary_cross_entropy_with_logits")


def binary_cross_entropy(x: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """-(t log x + (1 - t) log(1 - x)) of probabilities x; the logarithms end at -100, as in torch."""
    t = _same(x, target, "binary_cross_entropy")
    log, low = _fn["log"], -100.0
    losses = -(t * _fn["maximum"](log(x), low) + (1 - t) * _fn["maximum"](_fn["log1p"](-x), low))
    return _fold(losses, reduction, "binary_cross_entropy")


def cross_entropy(
    logits: Tensor, labels: Tensor, reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0
) -> Tensor:
    """The negative log-softmax of `logits` [..., classes] at integer `labels` [...].

    `label_smoothing` takes that share of each label and spreads it over all classes (Szegedy et al., 2016).
    """
    if not label_smoothing:
        return _fn["cross_entropy"](logits, labels, reduction=reduction, ignore_index=ignore_index)
    own = _fn["cross_entropy"](logits, labels, reduction="none", ignore_index=ignore_index)
    even = -_fn["mean"](_fn["log_softmax"](logits), axis=-1)
    counts = labels != ignore_index
    losses = _fn["where"](counts, own * (1 - label_smoothing) + even * label_smoothing, _functions.zeros_like(own))
    if reduction == "mean":
        return _functions.sum(losses) / _functions.astype(_fn["count_nonzero"](counts), losses.dtype)
    return _fold(losses, reduction, "cross_entropy")


def nll_loss(log_probabilities: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
    """The negative of `log_probabilities` [..., classes] at integer `labels` [...]."""
    picked = _functions.functions["take_along_axis"](log_probabilities, _fn["expand_dims"](labels, axis=-1), axis=-1)
    return _fold(-_fn["squeeze"](picked, axis=-1), reduction, "nll_loss")


def kl_div(x: Tensor, target: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target (log target - x) of log-probabilities x: the relative entropy when summed; 0 where the target is 0."""
    t = _same(x, target, "kl_div")
    if log_target:
        return _fold(_fn["exp"](t) * (t - x), reduction, "kl_div")
    there = t > 0
    safe = _fn["where"](there, t, _functions.ones_like(t))
    return _fold(_fn["where"](there, t * (_fn["log"](safe) - x), _functions.zeros_like(t)), reduction, "kl_div")
