"""Logistic regression by Newton's method: the gradient and the Hessian of the loss, and a linear solve.

    python examples/gradients/newton.py

On two clouds of points; it prints the loss and the size of the gradient after each step, which falls quadratically.
"""

from __future__ import annotations

import numpy as np

import intaglio as ig


def clouds(count: int = 200) -> tuple[ig.Tensor, ig.Tensor]:
    """Points in the plane with a constant third feature, and the cloud (0 or 1) that each belongs to."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, count)
    points = rng.normal(size=(count, 2)) + 1.5 * label[:, None]
    return ig.asarray(np.hstack([points, np.ones((count, 1))])), ig.asarray(label.astype(np.float64))


def loss(weights: ig.Tensor, x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
    """The mean negative log likelihood, and a little of the weights' square."""
    logits = x @ weights
    return ig.mean(ig.logaddexp(ig.zeros_like(logits), logits) - y * logits) + 1e-3 * ig.sum(weights * weights)


@ig.jit
def derivatives(weights: ig.Tensor, x: ig.Tensor, y: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor, ig.Tensor]:
    """The loss, its gradient and its Hessian."""
    value, gradient = ig.value_and_grad(loss)(weights, x, y)
    return value, gradient, ig.hessian(loss)(weights, x, y)


def main(steps: int = 6) -> float:
    """Runs Newton's method; gives the size of the last gradient."""
    x, y = clouds()
    weights = ig.zeros(3, dtype=ig.float64)
    size = float("inf")
    for step in range(steps):
        value, gradient, hessian = derivatives(weights, x, y)
        size = float(ig.sqrt(ig.sum(gradient * gradient)))
        print(f"step {step}: loss {float(value):.6f}, gradient {size:.1e}")
        weights = weights - ig.asarray(np.linalg.solve(np.asarray(hessian), np.asarray(gradient)))
    return size


if __name__ == "__main__":
    main()
