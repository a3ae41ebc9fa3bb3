"""Fits a curve to measurements by the Gauss–Newton method: derivatives of all residuals at once, by `ig.jacfwd`.

    python examples/training/fitting.py

The measurements are NIST's Misra1a (monomolecular adsorption), whose best parameters NIST publishes to eleven digits:
https://www.itl.nist.gov/div898/strd/nls/data/misra1a.shtml. A step that does not improve the fit is shortened
(Levenberg and Marquardt), and the small system of equations is solved on the array library's own operations.
"""

from __future__ import annotations

import json
import sys

import numpy as np

import intaglio as ig

X = [77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0]
Y = [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78]
CERTIFIED = (2.3894212918e2, 5.5015643181e-4)
STARTS = ((500.0, 1e-4), (250.0, 5e-4))  # NIST's two


def residuals(b: ig.Tensor) -> ig.Tensor:
    x, y = ig.asarray(X, dtype=ig.float64), ig.asarray(Y, dtype=ig.float64)
    return b[0] * -ig.expm1(-b[1] * x) - y


@ig.jit
def step(b: ig.Tensor, damping: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
    """The next parameters, and the sum of squares there."""
    r, j = residuals(b), ig.jacfwd(residuals)(b)
    a, g = j.T @ j, j.T @ r
    scale = ig.sqrt(ig.diagonal(a))  # the parameters differ by six orders of magnitude
    a = a / (scale[:, None] * scale[None, :]) + damping * ig.eye(2, dtype=ig.float64)
    g = g / scale
    det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    move = ig.stack([a[1, 1] * g[0] - a[0, 1] * g[1], a[0, 0] * g[1] - a[1, 0] * g[0]]) / det
    moved = b - move / scale
    return moved, ig.sum(residuals(moved) ** 2)


def fit(start: tuple[float, ...]) -> tuple[ig.Tensor, list[float]]:
    """The best parameters, and the sum of squares after each step."""
    b, damping = ig.asarray(start, dtype=ig.float64), 1e-3
    sums = [float(ig.sum(residuals(b) ** 2))]
    for _ in range(100):
        moved, total = step(b, ig.asarray(damping, dtype=ig.float64))
        if float(total) <= sums[-1]:
            done = sums[-1] - float(total) <= 1e-15 * sums[-1]
            b, damping = moved, damping / 10
            sums.append(float(total))
            if done:
                break
        elif damping > 1e8:
            break
        else:
            damping *= 10
    return b, sums


def main() -> None:
    fits = [fit(start) for start in STARTS]
    errors = [float(np.max(np.abs(np.asarray(b) / CERTIFIED - 1))) for b, _ in fits]
    if "--json" in sys.argv:
        print(json.dumps({"errors": errors, "steps": [len(sums) - 1 for _, sums in fits]}))
        return
    for start, (b, sums), error in zip(STARTS, fits, errors, strict=True):
        print(f"from {start}: {b.tolist()} after {len(sums) - 1} steps, sum of squares {sums[-1]:.10f}")
        print(f"  NIST's {CERTIFIED}, differing by a share of {error:.1e}")


if __name__ == "__main__":
    main()
