"""Calls from compiled programs into Python: a root finder of NumPy's with a derivative, a data source, a progress line.

Run it: python examples/callbacks.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

import intaglio as ig


def largest_root(coefficients: Any) -> Any:
    """The largest real root of each polynomial (rows of coefficients), which NumPy finds by eigenvalues."""
    rows = np.atleast_2d(coefficients)
    roots = [max(r.real for r in np.roots(row) if abs(r.imag) < 1e-9) for row in rows]
    return np.asarray(roots, coefficients.dtype).reshape(coefficients.shape[:-1])


@ig.custom_jvp
def root(coefficients: Any) -> Any:
    spec = ig.ShapeDtypeStruct(coefficients.shape[:-1], coefficients.dtype)
    return ig.pure_callback(largest_root, spec, coefficients, vmap_method="broadcast_all")


@root.defjvp
def root_jvp(primals: Any, tangents: Any) -> Any:
    """By the implicit function theorem: p(x; c) = 0, so dx = -(dp/dc . dc) / (dp/dx)."""
    (c,), (dc,) = primals, tangents
    x = root(c)
    powers = ig.stack([x**3, x**2, x, ig.ones_like(x)])
    slope = 3 * c[0] * x**2 + 2 * c[1] * x + c[2]
    return x, -(powers * dc).sum() / slope


class Targets:
    """A source of data that has a state of its own."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self) -> Any:
        self.given += 1
        return np.asarray([2.0, 3.0])


def main() -> None:
    targets = Targets()

    @ig.jit
    def step(c: Any) -> Any:
        wanted = ig.io_callback(targets, ig.ShapeDtypeStruct((2,), ig.float64))

        def loss(c: Any) -> Any:
            error = ig.vmap(root)(c) - wanted
            return (error * error).sum()

        value, slope = ig.value_and_grad(loss)(c)
        ig.cond(
            value > 0.1,
            lambda: ig.debug.callback(lambda v: print(f"still far: {v:.3f}"), value),
            lambda: None,
        )
        return c - 0.05 * slope

    c = ig.asarray([[1.0, 0.0, -1.0, 0.0], [1.0, 0.0, 0.0, -8.0]], dtype=ig.float64)
    for _ in range(100):
        c = step(c)
    print("roots", np.round(np.asarray(ig.vmap(root)(c)), 3).tolist(), "after", targets.given, "targets")


if __name__ == "__main__":
    main()
