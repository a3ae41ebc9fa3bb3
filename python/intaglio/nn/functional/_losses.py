"""Losses by torch's names and in its order of arguments: `nn.losses`, with the classes on axis 1.

What stands in torch behind its deprecated `size_average` and `reduce`, which are not here, is given by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _functions, _intaglio
from .. import losses
from .._ctc import ctc_loss

Tensor = _intaglio.Tensor

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
_array = _functions._array


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative log-softmax of logits [classes] or [batch, classes, space...] at labels [] or [batch, space...].

    The target may also have the shape of the logits: floats, the share of each class. A `weight` [classes] weighs the
    losses of each class; the mean is then over the weights of the labels. Labels of `ignore_index` do not count.
    `label_smoothing` spreads that share of each label over all classes.

    Error: `ig.ShapeError` where shapes do not fit; `ig.ValueError` for an unknown reduction.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> logits = ig.asarray([[0.0, 0.0], [0.0, 100.0]])
    >>> F.cross_entropy(logits, ig.asarray([0, 1]), reduction="sum")
    Tensor(0.6931472, dtype=float32)
    >>> F.cross_entropy(logits, ig.asarray([[0.5, 0.5], [0.0, 1.0]]), reduction="sum")
    Tensor(0.6931472, dtype=float32)
    """
    logits, labels = losses._classes_last(_array(input)), _array(target)
    if labels.dtype.kind == "real floating":
        labels = losses._classes_last(labels)
    return losses.cross_entropy(logits, labels, reduction, ignore_index, label_smoothing, weight)


def nll_loss(
    input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """The negative of log-probabilities [classes] or [batch, classes, space...] at labels [] or [batch, space...].

    `weight` and `ignore_index` as in `cross_entropy`.
    """
    return losses.nll_loss(losses._classes_last(_array(input)), _array(target), reduction, ignore_index, weight)


def mse_loss(input: Any, target: Any, *, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The squared difference; with a weight of the same shape the mean is over the sum of the weights."""
    return losses.mse_loss(_array(input), target, reduction, weight)


def l1_loss(input: Any, target: Any, *, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The absolute difference; with a weight of the same shape the mean is over the sum of the weights."""
    return losses.l1_loss(_array(input), target, reduction, weight)


def smooth_l1_loss(input: Any, target: Any, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """The squared difference over 2 beta up to `beta`, and linear beyond; with a `beta` of 0 it is `l1_loss`."""
    return losses.smooth_l1_loss(_array(input), target, reduction, beta)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    """Half the squared difference up to `delta`, and linear beyond; times a weight of the same shape."""
    return losses.huber_loss(_array(input), target, reduction, delta, weight)


def binary_cross_entropy(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Tensor:
    """-(t log x + (1 - t) log(1 - x)) of probabilities x and targets t of one shape; the logarithms end at -100."""
    return losses.binary_cross_entropy(_array(input), target, reduction, weight)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(x), without overflow; `pos_weight` weighs the first term."""
    return losses.binary_cross_entropy_with_logits(_array(input), target, reduction, pos_weight, weight)


def kl_div(input: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target (log target - x) of log-probabilities x; "batchmean" is the sum over the size of the first axis."""
    return losses.kl_div(_array(input), target, reduction, log_target)


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    *,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - target x of the logarithms of rates x (of rates with `log_input=False`); `full` adds Stirling's term."""
    return losses.poisson_nll_loss(_array(input), target, log_input, full, eps, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """(log var + (x - target)² / var) / 2 with variances of at least `eps`; `full` adds the constant."""
    return losses.gaussian_nll_loss(_array(input), target, var, full, eps, reduction)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """1 - cos of rows that belong together (target 1); cos above `margin` of those that do not (target -1)."""
    return losses.cosine_embedding_loss(_array(input1), _array(input2), target, margin, reduction)


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """max(0, margin - target (x1 - x2)): x1 is to be the greater where the target is 1, x2 where it is -1."""
    return losses.margin_ranking_loss(_array(input1), _array(input2), target, margin, reduction)


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Tensor:
    """x where the target is 1; max(0, margin - x) where it is -1."""
    return losses.hinge_embedding_loss(_array(input), target, margin, reduction)


def soft_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target x)) of targets 1 and -1."""
    return losses.soft_margin_loss(_array(input), target, reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) of rows, by `pairwise_distance`.

    With `swap` the negative's distance is the lesser one of those from the anchor and from the positive.
    """
    rows = (_array(anchor), positive, negative)
    return losses.triplet_margin_loss(*rows, margin=margin, p=p, eps=eps, reduction=reduction, swap=swap)


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` by any distance of rows."""
    rows = (_array(anchor), _array(positive), _array(negative))
    return losses.triplet_margin_with_distance_loss(*rows, distance_function, margin, swap, reduction)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, *, reduction: str = "mean"
) -> Tensor:
    """The mean over the other classes of max(0, margin - x[label] + x[other]) ** p, for scores [batch, classes]."""
    return losses.multi_margin_loss(_array(input), target, p, margin, weight, reduction)


def multilabel_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Tensor:
    """max(0, 1 - x[label] + x[other]) for all labels of a row and all other classes, over the number of classes."""
    return losses.multilabel_margin_loss(_array(input), target, reduction)


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Tensor:
    """The mean over the last axis of the binary cross-entropy of logits x, times the `weight` [classes]."""
    return losses.multilabel_soft_margin_loss(_array(input), target, reduction, weight)
