"""Optimisers, learning-rate schedules, clipping: what moves parameters by their gradients.

>>> import intaglio as ig
>>> w = ig.asarray([3.0])
>>> opt = ig.optim.Adam([w], lr=0.1)
>>> opt.step([2 * w])
>>> w
Tensor([2.9], dtype=float32)
"""

from ._adaptive import Adadelta, Adamax, NAdam, RAdam
from ._optimizers import (
    SGD,
    Accumulate,
    Adagrad,
    Adam,
    AdamW,
    Lion,
    Optimizer,
    RMSprop,
    clip_by_global_norm,
    clip_by_value,
    global_norm,
)
from ._plateau import ReduceOnPlateau
from .schedules import (
    constant,
    cosine,
    cosine_restarts,
    exponential,
    inverse_sqrt,
    join,
    linear,
    multi_step,
    one_cycle,
    polynomial,
    step_decay,
    warmup_cosine,
)

__all__ = [
    "SGD",
    "Accumulate",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "ReduceOnPlateau",
    "clip_by_global_norm",
    "clip_by_value",
    "constant",
    "cosine",
    "cosine_restarts",
    "exponential",
    "global_norm",
    "inverse_sqrt",
    "join",
    "linear",
    "multi_step",
    "one_cycle",
    "polynomial",
    "step_decay",
    "warmup_cosine",
]
