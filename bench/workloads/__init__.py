"""The workloads, each defined once: inputs, weights, a program on the adapter, and the error that is allowed.

A module of this folder adds its workloads at import; `all_workloads()` imports every module and gives them by
name, in the order of `MODULES` and then of definition.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Limit:
    """What the machine itself needs for the work: `kind` is a measure of bench/cpp/limits.cpp, `amount` the
    bytes read and written or the flops, `mib` the size of the array that is copied or read."""

    kind: str
    amount: float
    mib: float = 16


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    program: Callable[..., Any]  # (m, weights, *inputs) to an array or a tuple of arrays
    make: Callable[[np.random.Generator], tuple[tuple[np.ndarray, ...], Arrays]]  # inputs and weights
    bound: float  # allowed: largest difference from the float64 reference over the largest magnitude in it
    limit: Limit | None = None
    # The workload that this is another form of, and keeps up with; it is measured with --variants alone.
    variant_of: str = ""
    # The float64 outputs, where the program cannot be run in NumPy: what takes derivatives.
    reference: Callable[..., list[np.ndarray]] | None = None
    eager: bool = False  # it is the running op by op that is measured
    batches: tuple[int, ...] = ()  # sizes of the first axis, called in a row in a fresh process, compiles included

    def data(self) -> tuple[tuple[np.ndarray, ...], Arrays]:
        """The same inputs and weights in every process."""
        return self.make(np.random.default_rng(20261121))


_registered: dict[str, Workload] = {}


def add(workload: Workload) -> Workload:
    if workload.name in _registered:
        raise ValueError(f"two workloads are called {workload.name}")
    _registered[workload.name] = workload
    return workload


MODULES = (
    "memory",
    "small",
    "matmul",
    "networks",
    "training",
    "training_networks",
    "loops",
    "solvers",
    "minilm",
    "variants",
)


def all_workloads() -> dict[str, Workload]:
    found = [module.name for module in pkgutil.iter_modules(__path__)]
    for name in [*MODULES, *(name for name in found if name not in MODULES)]:
        importlib.import_module(f"{__name__}.{name}")
    return _registered


def floats(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (rng.standard_normal(shape) * scale).astype(np.float32)
