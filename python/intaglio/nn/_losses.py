"""The losses of `nn.losses` as modules, with torch's names and arguments.

>>> import intaglio as ig
>>> from intaglio import nn
>>> nn.MSELoss()(ig.asarray([1.0, 2.0]), ig.asarray([1.0, 4.0]))
Tensor(2., dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .. import _intaglio
from . import losses
from ._module import Module
from .functional import _losses as functional_losses

Tensor = _intaglio.Tensor


class Loss(Module):
    """A function of `nn.losses` with its options."""

    function: Callable[..., Tensor]
    defaults: ClassVar[dict[str, Any]]

    def __init__(self, **options: Any) -> None:
        self.options = {**self.defaults, **options}

    def forward(self, *arrays: Any) -> Tensor:
        return type(self).function(*arrays, **self.options)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())


def _loss(name: str, function: str, **defaults: Any) -> type[Loss]:
    members = {
        "function": staticmethod(getattr(losses, function)),
        "defaults": {**defaults, "reduction": "mean"},
        "__module__": "intaglio.nn",
    }
    made = type(name, (Loss,), members)
    made.__doc__ = f"`nn.losses.{function}` as a module; its options are keywords."
    return made


L1Loss = _loss("L1Loss", "l1_loss")
MSELoss = _loss("MSELoss", "mse_loss")
HuberLoss = _loss("HuberLoss", "huber_loss", delta=1.0)
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", beta=1.0)
BCELoss = _loss("BCELoss", "binary_cross_entropy", weight=None)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", weight=None, pos_weight=None)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", margin=0.0)
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", margin=0.0)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", margin=1.0)
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss")
TripletMarginLoss = _loss("TripletMarginLoss", "triplet_margin_loss", margin=1.0, p=2.0, eps=1e-6, swap=False)
PoissonNLLLoss = _loss("PoissonNLLLoss", "poisson_nll_loss", log_input=True, full=False, eps=1e-8)
GaussianNLLLoss = _loss("GaussianNLLLoss", "gaussian_nll_loss", full=False, eps=1e-6)
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", weight=None)

MultiMarginLoss = _loss("MultiMarginLoss", "multi_margin_loss", p=1, margin=1.0, weight=None)
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", "multilabel_margin_loss")
TripletMarginWithDistanceLoss = _loss(
    "TripletMarginWithDistanceLoss",
    "triplet_margin_with_distance_loss",
    distance_function=None,
    margin=1.0,
    swap=False,
)
CTCLoss = _loss("CTCLoss", "ctc_loss", blank=0, zero_infinity=False)


KLDivLoss = _loss("KLDivLoss", "kl_div", log_target=False)


class CrossEntropyLoss(Loss):
    """`nn.functional.cross_entropy` as a module, of logits [batch, classes, space...] and labels [batch, space...]."""

    function = staticmethod(functional_losses.cross_entropy)
    defaults: ClassVar[dict[str, Any]] = {
        "weight": None,
        "ignore_index": -100,
        "reduction": "mean",
        "label_smoothing": 0.0,
    }


class NLLLoss(Loss):
    """`nn.functional.nll_loss` as a module, of log-probabilities [batch, classes, space...] and labels."""

    function = staticmethod(functional_losses.nll_loss)
    defaults: ClassVar[dict[str, Any]] = {"weight": None, "ignore_index": -100, "reduction": "mean"}


class CosineSimilarity(Module):
    """`nn.losses.cosine_similarity` as a module."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return losses.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """`nn.losses.pairwise_distance` as a module."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return losses.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)
