"""Losses: of predictions and targets of one shape, or of logits and labels; folded by `reduction`.

`reduction` is "mean", "sum", or "none" for the single losses.

>>> import intaglio as ig
>>> from intaglio import nn
>>> nn.losses.mse_loss(ig.asarray([1.0, 2.0]), ig.asarray([1.0, 4.0]))
Tensor(2., dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _errors, _functions, _intaglio
from ._ctc import ctc_loss as ctc_loss

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


def _same(x: Tensor, target: Any, who: str, what: str = "targets") -> Tensor:
    target = target if isinstance(target, Tensor) else _intaglio.asarray(target)
    if tuple(x.shape) != tuple(target.shape):
        raise _errors.ShapeError(
            f"{who}: the predictions have shape {tuple(x.shape)}, the {what} {tuple(target.shape)}",
            _intaglio._user_line(),
            why=f"each prediction has its own {what[:-1]}; broadcasting them would compare all with all",
            hint="reshape one of them, e.g. by ig.squeeze or x[:, 0]",
        )
    return target


def _weighed(losses: Tensor, weight: Any, reduction: str, who: str) -> Tensor:
    """Folded, each times its weight; their mean is over the sum of the weights."""
    if weight is None:
        return _fold(losses, reduction, who)
    weight = _same(losses, weight, who, "weights")
    if reduction == "mean":
        return _functions.sum(losses * weight) / _functions.sum(weight)
    return _fold(losses * weight, reduction, who)


def _classes_last(x: Tensor) -> Tensor:
    """Of [batch, classes, space...], as torch has them."""
    return x if x.ndim < 3 else _fn["moveaxis"](x, (1,), (-1,))


def mse_loss(x: Tensor, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The squared difference, times a weight of the same shape."""
    d = x - _same(x, target, "mse_loss")
    return _weighed(d * d, weight, reduction, "mse_loss")


def l1_loss(x: Tensor, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The absolute difference, times a weight of the same shape."""
    return _weighed(_fn["abs"](x - _same(x, target, "l1_loss")), weight, reduction, "l1_loss")


def huber_loss(x: Tensor, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    """Half the squared difference up to `delta`, and linear beyond; times a weight of the same shape. Huber (1964)."""
    d = _fn["abs"](x - _same(x, target, "huber_loss"))
    near = _fn["minimum"](d, delta)
    losses = near * (d - 0.5 * near)
    # As in torch the mean is here over the number of losses.
    losses = losses if weight is None else losses * _same(x, weight, "huber_loss", "weights")
    return _fold(losses, reduction, "huber_loss")


def smooth_l1_loss(x: Tensor, target: Any, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """`huber_loss` over `beta`; with a `beta` of 0 it is `l1_loss`."""
    return l1_loss(x, target, reduction) if beta == 0 else huber_loss(x, target, reduction, beta) / beta


def binary_cross_entropy_with_logits(
    x: Tensor, target: Any, reduction: str = "mean", pos_weight: Any = None, weight: Any = None
) -> Tensor:
    """-(t log p + (1 - t) log(1 - p)) of p = sigmoid(x), without overflow; `pos_weight` weighs the first term.

    `weight`, which broadcasts against x, weighs the whole loss.
    """
    t = _same(x, target, "binary_cross_entropy_with_logits")
    if pos_weight is None:
        losses = _fn["softplus"](x) - x * t
    else:
        losses = (1 - t) * _fn["softplus"](x) + pos_weight * t * _fn["softplus"](-x)
    return _fold(losses if weight is None else losses * weight, reduction, "binary_cross_entropy_with_logits")


def binary_cross_entropy(x: Tensor, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """-(t log x + (1 - t) log(1 - x)) of probabilities x; the logarithms end at -100, as in torch.

    `weight`, which broadcasts against x, weighs the losses.
    """
    t = _same(x, target, "binary_cross_entropy")
    log, low = _fn["log"], -100.0
    losses = -(t * _fn["maximum"](log(x), low) + (1 - t) * _fn["maximum"](_fn["log1p"](-x), low))
    return _fold(losses if weight is None else losses * weight, reduction, "binary_cross_entropy")


def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    weight: Any = None,
) -> Tensor:
    """The negative log-softmax of `logits` [..., classes] at integer `labels` [...], or by shares [..., classes].

    `label_smoothing` takes that share of each label and spreads it over all classes (Szegedy et al., 2016). A `weight`
    [classes] weighs the losses of each class; their mean is over the weights of the labels.
    """
    if labels.dtype.kind == "real floating":
        logs = _fn["log_softmax"](logits)
        shares = _same(logits, labels, "cross_entropy")
        if label_smoothing:
            shares = shares * (1 - label_smoothing) + label_smoothing / logits.shape[-1]
        losses = -_functions.sum(logs * shares if weight is None else logs * shares * weight, axis=-1)
        return _fold(losses, reduction, "cross_entropy")
    if not label_smoothing and weight is None:
        return _fn["cross_entropy"](logits, labels, reduction=reduction, ignore_index=ignore_index)
    losses = _fn["cross_entropy"](logits, labels, reduction="none", ignore_index=ignore_index)
    counts, weights = _class_weights(labels, ignore_index, weight, losses.dtype)
    if weight is not None:
        losses = losses * weights
    if label_smoothing:
        logs = _fn["log_softmax"](logits)
        even = -_fn["mean"](logs if weight is None else logs * weight, axis=-1)
        losses = _fn["where"](counts, losses * (1 - label_smoothing) + even * label_smoothing, 0.0)
    if reduction == "mean":
        return _functions.sum(losses) / _functions.sum(weights)
    return _fold(losses, reduction, "cross_entropy")


def _class_weights(labels: Tensor, ignore_index: int, weight: Any, dtype: Any) -> tuple[Tensor, Tensor]:
    """Which labels count, and how much."""
    counts = labels != ignore_index
    if weight is None:
        return counts, _functions.astype(counts, dtype)
    own = _functions._op.take(_functions._array(weight), _fn["where"](counts, labels, 0).reshape((-1,)), axis=0)
    return counts, _fn["where"](counts, _functions.astype(own, dtype).reshape(tuple(labels.shape)), 0.0)


def nll_loss(
    log_probabilities: Tensor, labels: Tensor, reduction: str = "mean", ignore_index: int = -100, weight: Any = None
) -> Tensor:
    """The negative of `log_probabilities` [..., classes] at integer `labels` [...].

    Labels of `ignore_index` do not count. A `weight` [classes] weighs each; the mean is over the weights of the labels.
    """
    counts, weights = _class_weights(labels, ignore_index, weight, log_probabilities.dtype)
    safe = _fn["expand_dims"](_fn["where"](counts, labels, 0), axis=-1)
    picked = _fn["squeeze"](_fn["take_along_axis"](log_probabilities, safe, axis=-1), axis=-1)
    losses = _fn["where"](counts, -picked, 0.0)
    losses = losses if weight is None else losses * weights
    if reduction == "mean":
        return _functions.sum(losses) / _functions.sum(weights)
    return _fold(losses, reduction, "nll_loss")


def kl_div(x: Tensor, target: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target (log target - x) of log-probabilities x: the relative entropy when summed; 0 where the target is 0.

    The reduction "batchmean" is the sum over the size of the first axis.
    """
    if reduction == "batchmean":
        return kl_div(x, target, "sum", log_target) / x.shape[0]
    t = _same(x, target, "kl_div")
    if log_target:
        return _fold(_fn["exp"](t) * (t - x), reduction, "kl_div")
    there = t > 0
    safe = _fn["where"](there, t, _functions.ones_like(t))
    return _fold(_fn["where"](there, t * (_fn["log"](safe) - x), _functions.zeros_like(t)), reduction, "kl_div")


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between the rows of `x1` and `x2` along `dim`; lengths are at least `eps`."""
    lengths = [_fn["sqrt"](_fn["maximum"](_functions.sum(x * x, axis=dim), eps * eps)) for x in (x1, x2)]
    return _functions.sum(x1 * x2, axis=dim) / (lengths[0] * lengths[1])


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis."""
    d = _fn["abs"](x1 - x2 + eps)
    if p == float("inf"):
        return _fn["max"](d, axis=-1, keepdims=keepdim)
    if p == 1:
        return _functions.sum(d, axis=-1, keepdims=keepdim)
    if p == 2:
        return _fn["sqrt"](_functions.sum(d * d, axis=-1, keepdims=keepdim))
    return _functions.sum(d**p, axis=-1, keepdims=keepdim) ** (1 / p)


def cosine_embedding_loss(x1: Tensor, x2: Tensor, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """1 - cos of rows that belong together (target 1); cos above `margin` of those that do not (target -1)."""
    cosine = cosine_similarity(x1, x2, dim=-1)
    t = _same(cosine, target, "cosine_embedding_loss")
    losses = _fn["where"](t > 0, 1 - cosine, _fn["maximum"](cosine - margin, 0.0))
    return _fold(losses, reduction, "cosine_embedding_loss")


def margin_ranking_loss(x1: Tensor, x2: Tensor, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """max(0, margin - target (x1 - x2)): x1 is to be the greater where the target is 1, x2 where it is -1."""
    t = _same(x1, target, "margin_ranking_loss")
    losses = _fn["maximum"](margin - t * (x1 - _same(x1, x2, "margin_ranking_loss")), 0.0)
    return _fold(losses, reduction, "margin_ranking_loss")


def hinge_embedding_loss(x: Tensor, target: Any, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """x where the target is 1; max(0, margin - x) where it is -1."""
    t = _same(x, target, "hinge_embedding_loss")
    return _fold(_fn["where"](t > 0, x, _fn["maximum"](margin - x, 0.0)), reduction, "hinge_embedding_loss")


def soft_margin_loss(x: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target x)) of targets 1 and -1."""
    return _fold(_fn["softplus"](-_same(x, target, "soft_margin_loss") * x), reduction, "soft_margin_loss")


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    reduction: str = "mean",
    swap: bool = False,
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), by `pairwise_distance`.

    With `swap` the negative's distance is the lesser one of those from the anchor and from the positive.
    """
    positive, negative = (_same(anchor, other, "triplet_margin_loss") for other in (positive, negative))
    near, far = (pairwise_distance(anchor, other, p, eps) for other in (positive, negative))
    if swap:
        far = _fn["minimum"](far, pairwise_distance(positive, negative, p, eps))
    return _fold(_fn["maximum"](near - far + margin, 0.0), reduction, "triplet_margin_loss")


def poisson_nll_loss(
    x: Tensor, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Tensor:
    """exp(x) - target x of the logarithms of rates x (of rates with `log_input=False`); `full` adds Stirling's term."""
    t = _same(x, target, "poisson_nll_loss")
    losses = _fn["exp"](x) - t * x if log_input else x - t * _fn["log"](x + eps)
    if full:
        many = _fn["where"](t > 1, t, 1.0)
        term = many * _fn["log"](many) - many + 0.5 * _fn["log"](6.283185307179586 * many)
        losses = losses + _fn["where"](t > 1, term, 0.0)
    return _fold(losses, reduction, "poisson_nll_loss")


def gaussian_nll_loss(
    x: Tensor, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """(log var + (x - target)² / var) / 2 with variances of at least `eps`, which get no gradient from the bound."""
    t = _same(x, target, "gaussian_nll_loss")
    var = var if isinstance(var, Tensor) else _intaglio.asarray(var)
    if var.ndim == x.ndim - 1:
        var = _fn["expand_dims"](var, axis=-1)
    var = var + _fn["stop_gradient"](_fn["maximum"](var, eps) - var)
    losses = 0.5 * (_fn["log"](var) + (x - t) ** 2 / var)
    return _fold(losses + 0.9189385332046727 if full else losses, reduction, "gaussian_nll_loss")


def multilabel_soft_margin_loss(x: Tensor, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The mean over the last axis of the binary cross-entropy of logits x, times the `weight` [classes]."""
    losses = binary_cross_entropy_with_logits(x, target, "none", weight=weight)
    return _fold(_fn["mean"](losses, axis=-1), reduction, "multilabel_soft_margin_loss")


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` by any distance of rows (by default `pairwise_distance`).

    With `swap` the negative's distance is the lesser one of those from the anchor and from the positive.
    """
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _fn["minimum"](far, distance(positive, negative))
    return _fold(_fn["maximum"](near - far + margin, 0.0), reduction, "triplet_margin_with_distance_loss")


def multi_margin_loss(
    x: Tensor, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean over the other classes of max(0, margin - x[label] + x[other]) ** p, for scores x [..., classes]."""
    labels = _functions._array(target)
    own = _fn["take_along_axis"](x, labels[..., None], axis=-1)
    over = _fn["maximum"](margin - own + x, 0.0)
    over = over * over if p == 2 else over if p == 1 else over**p
    if weight is not None:
        over = over * _functions._op.take(_functions._array(weight), labels.reshape((-1,)), axis=0).reshape(own.shape)
    other = _functions.arange(x.shape[-1]) != labels[..., None]
    return _fold(_fn["mean"](_fn["where"](other, over, 0.0), axis=-1), reduction, "multi_margin_loss")


def multilabel_margin_loss(x: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """max(0, 1 - x[label] + x[other]) for all labels of a row and all other classes, over the number of classes.

    The labels of a row (of the shape of x) end before its first negative number.
    """
    t = _same(x, target, "multilabel_margin_loss")
    counts = _fn["cumulative_min"](_functions.astype(t >= 0, "int32"), axis=-1) > 0
    classes = _functions.arange(x.shape[-1])
    chosen = (t[..., None] == classes) & counts[..., None]
    own = _fn["take_along_axis"](x, _fn["where"](counts, t, 0), axis=-1)
    over = _fn["maximum"](1 - own[..., None] + x[..., None, :], 0.0)
    other = ~_fn["any"](chosen, axis=-2)
    over = _fn["where"](counts[..., None] & other[..., None, :], over, 0.0)
    return _fold(_functions.sum(over, axis=(-2, -1)) / x.shape[-1], reduction, "multilabel_margin_loss")
