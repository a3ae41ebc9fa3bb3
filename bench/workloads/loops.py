"""A loop whose end depends on the data: a thousand steps of almost no arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Workload, add


def decay(m: Any, w: Any, x: Any, count: Any) -> Any:
    """Halves the distance to the goal slowly until it is small; gives the vector and the steps taken."""

    def condition(x: Any, count: Any) -> Any:
        return m.max(x) > 1.0

    def body(x: Any, count: Any) -> tuple[Any, Any]:
        return x * 0.99 + 0.001, count + 1.0

    return m.while_loop(condition, body, (x, count))


def decay_data(rng: np.random.Generator) -> Any:
    """x falls towards 0.1; from 0.1 + 0.9 · 0.99^-999.5 it is above 1 for exactly a thousand steps."""
    top = 0.1 + 0.9 * 0.99**-999.5
    return (np.linspace(1, top, 8).astype(np.float32), np.zeros((), np.float32)), {}


add(Workload("while_1000", "while, 1000 small steps", decay, decay_data, 1e-4))
