"""Square matrix products."""

from __future__ import annotations

from typing import Any

from . import Limit, Workload, add, floats


def matmul(m: Any, w: Any, x: Any, y: Any) -> Any:
    return m.matmul(x, y)


def square(n: int) -> Any:
    return lambda rng: ((floats(rng, n, n), floats(rng, n, n)), {})


for n in (64, 128, 256, 512, 1024, 2048):
    add(Workload(f"matmul_{n}", f"matmul {n}²", matmul, square(n), 1e-5, Limit("fma", 2.0 * n**3)))
