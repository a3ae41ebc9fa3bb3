"""Where an economy of several markets clears, and how its prices move when its tastes do.

Prices p of n goods satisfy f(p) = exp(a @ log(p)) + p - b = 0. Newton's steps find them, each a system with the
Jacobian of f. The gradient of their sum by the n*n elasticities in `a` comes in two ways: through all the steps, which
a loop's backward pass goes back with the factors that its forward pass had; and from the last point alone, where the
derivative of the equation is one more system (the implicit function theorem). Both agree, and with differences.

    python examples/linear_algebra/equilibrium.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

import intaglio as ig

GOODS, STEPS = 40, 8


def excess(a: Any, b: Any, p: Any) -> Any:
    """What is supplied beyond what is asked for: [n] of prices [n], elasticities [n, n] and needs [n]."""
    return ig.exp(a @ ig.log(p)) + p - b


def prices(a: Any, b: Any) -> Any:
    """By Newton's steps from ones."""

    def step(p: Any, _: Any) -> tuple[Any, None]:
        slope = ig.jacrev(lambda p: excess(a, b, p))(p)
        return ig.maximum(p - ig.linalg.solve(slope, excess(a, b, p)), 0.1 * p), None

    return ig.scan(step, ig.ones(b.shape[0], dtype=b.dtype), None, length=STEPS)[0]


def gradient_at_the_end(a: Any, b: Any) -> Any:
    """Of the sum of prices by `a`: f(a, p(a)) = 0, so dp = -(∂f/∂p)⁻¹ ∂f/∂a."""
    p = prices(a, b)
    slope = ig.jacrev(lambda p: excess(a, b, p))(p)
    weights = ig.linalg.solve(slope.T, ig.ones(GOODS, dtype=a.dtype))
    return ig.grad(lambda a: -ig.sum(weights * excess(a, b, ig.stop_gradient(p))))(a)


def main() -> dict[str, float]:
    rng = np.random.default_rng(0)
    a = ig.asarray(rng.uniform(-0.3, 0.3, (GOODS, GOODS)) / np.sqrt(GOODS))
    b = ig.asarray(rng.uniform(1.5, 3.0, GOODS))
    found = ig.jit(prices)(a, b)
    left = float(ig.max(ig.abs(excess(a, b, found))))
    through = ig.jit(ig.grad(lambda a: ig.sum(prices(a, b))))
    at_end = ig.jit(lambda a: gradient_at_the_end(a, b))
    one, other = through(a), at_end(a)
    apart = float(ig.max(ig.abs(one - other)) / ig.max(ig.abs(other)))
    along = ig.asarray(rng.standard_normal((GOODS, GOODS)))
    step = 1e-6
    slope = (ig.sum(ig.jit(prices)(a + step * along, b)) - ig.sum(ig.jit(prices)(a - step * along, b))) / (2 * step)
    off = abs(float(ig.sum(one * along) / slope) - 1)
    low, high = float(ig.min(found)), float(ig.max(found))
    print(f"{GOODS} prices from {low:.3f} to {high:.3f}; {left:.1e} is left of the equations")
    print(f"both gradients differ by {apart:.1e}, and by {off:.1e} from differences")
    return {"left": left, "apart": apart, "off": off}


if __name__ == "__main__":
    main()
