"""Programs whose arithmetic is nothing: what is measured is the way to the kernel and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Limit, Workload, add, floats
from .memory import chain_ops


def add_4x4(m: Any, w: Any, x: Any, y: Any) -> Any:
    return x + y


def power(m: Any, w: Any, x: Any) -> Any:
    """The 100th power by a Python loop: 99 products of 10×10 matrices."""
    out = x
    for _ in range(99):
        out = m.matmul(out, x)
    return out


def rotation(rng: np.random.Generator) -> np.ndarray:
    """Orthogonal, so that its powers neither grow nor vanish."""
    return np.linalg.qr(rng.standard_normal((10, 10)))[0].astype(np.float32)


add(Workload("add_4x4", "x + y, 4×4", add_4x4, lambda rng: ((floats(rng, 4, 4), floats(rng, 4, 4)), {}), 1e-7))
add(Workload("chain_64", "chain of 5, 64²", chain_ops, lambda rng: ((floats(rng, 64, 64),), {}), 1e-6))
add(
    Workload(
        "power_int32",
        "power 100, int32",
        power,
        lambda rng: ((rng.integers(0, 100, (10, 10)).astype(np.int32),), {}),
        0,
        Limit("fma", 2 * 99 * 1000),
    )
)
add(
    Workload(
        "power_float32",
        "power 100, float32",
        power,
        lambda rng: ((rotation(rng),), {}),
        2e-5,
        Limit("fma", 2 * 99 * 1000),
    )
)
