"""Fits a gamma distribution to numbers by the greatest likelihood, and says how far the shape may be trusted.

The shape is where log(a) - digamma(a) is the logarithm of the mean less the mean of the logarithms; Newton's steps take
their slope from `ig.grad`. The interval comes from Fisher's information; the share of the numbers below a limit from
the incomplete gamma function, with its derivative by the shape.
"""

from __future__ import annotations

import intaglio as ig

key = ig.random.key(3)
SHAPE, SCALE, COUNT = 2.5, 1.5, 4000


@ig.jit
def fit(x: ig.Tensor) -> ig.Tensor:
    gap = ig.log(ig.mean(x)) - ig.mean(ig.log(x))

    def off(a: ig.Tensor) -> ig.Tensor:
        return ig.log(a) - ig.special.digamma(a) - gap

    a = (3 - gap + ig.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)  # Minka's start
    for _ in range(4):
        a = a - off(a) / ig.grad(off)(a)
    return a


x = ig.random.gamma(key, SHAPE, (COUNT,), "float64") * SCALE
a = fit(x)
scale = ig.mean(x) / a
information = ig.special.polygamma(1, a) - 1 / a
deviation = 1 / ig.sqrt(COUNT * information)
below = ig.special.gammainc(a, 1.0 / scale)
by_shape = ig.grad(ig.special.gammainc)(a, 1.0 / scale)
print(f"shape {float(a):.3f} ± {float(deviation):.3f}, scale {float(scale):.3f}")
print(f"below 1: {float(below):.4f} of the numbers, {float(ig.mean((x < 1.0).astype('float64'))):.4f} counted")
print(f"one more unit of shape: {float(by_shape):+.4f}")
assert abs(float(a) - SHAPE) < 3 * float(deviation)
assert abs(float(ig.log(a) - ig.special.digamma(a) - ig.log(ig.mean(x)) + ig.mean(ig.log(x)))) < 1e-12
