"""Optimisers, learning-rate schedules, clipping: what moves parameters by their gradients.

>>> import intaglio as ig
>>> w = ig.asarray([3.0])
>>> opt = ig.optim.Adam([w], lr=0.1)
>>> opt.step([2 * w])
>>> w
Tensor([2.9], dtype=float32)
"""

from . import lr_scheduler, schedules
from ._adaptive import ASGD, Adadelta, Adamax, NAdam, RAdam, Rprop
from ._groups import ParamGroup
from ._lbfgs import LBFGS
from ._matrices import Adafactor, Muon
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
from ._scaler import GradScaler
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
    "ASGD",
    "LBFGS",
    "SGD",
    "Accumulate",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "GradScaler",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "ParamGroup",
    "RAdam",
    "RMSprop",
    "ReduceOnPlateau",
    "Rprop",
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
    "lr_scheduler",
    "multi_step",
    "one_cycle",
    "polynomial",
    "schedules",
    "step_decay",
    "warmup_cosine",
]
