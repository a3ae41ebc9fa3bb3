"""A network whose hidden units are 0 or 1, trained by a gradient of one's own: `ig.autograd.Function`, as in torch.

    python examples/gradients/straight_through.py

A step has the derivative 0 everywhere, so nothing would be learnt. Its backward passes gradients on where the unit is
near its threshold (the straight-through estimator). The task is the parity of two bits with noise, which no network
without hidden units can do. The last line is the share of points that are named rightly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import intaglio as ig
from intaglio import nn


class Step(ig.autograd.Function):
    """1 above 0 and 0 below; gradients go through within `width` of 0."""

    @staticmethod
    def forward(ctx: Any, x: ig.Tensor, width: float) -> ig.Tensor:
        ctx.width = width
        ctx.save_for_backward(x)
        return ig.where(x > 0, 1.0, 0.0)

    @staticmethod
    def backward(ctx: Any, grad: ig.Tensor) -> tuple[ig.Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        return ig.where(ig.abs(x) < ctx.width, grad, 0.0), None


class Binary(nn.Module):
    """Two layers with steps between them."""

    def __init__(self, key: ig.Tensor) -> None:
        keys = ig.random.split(key, 2)
        self.first = nn.Linear(2, 16, key=keys[0])
        self.second = nn.Linear(16, 1, key=keys[1])

    def forward(self, x: ig.Tensor) -> ig.Tensor:
        return self.second(Step.apply(self.first(x), 1.0))[:, 0]


def parity(count: int = 256) -> tuple[ig.Tensor, ig.Tensor]:
    """Points around the corners of a square, and whether their bits differ."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (count, 2))
    points = 2.0 * bits - 1 + rng.normal(0, 0.2, (count, 2))
    return ig.asarray(points.astype(np.float32)), ig.asarray((bits[:, 0] ^ bits[:, 1]).astype(np.float32))


def train(steps: int = 200) -> float:
    """The share of points that are named rightly at the end."""
    model = Binary(ig.random.key(0))
    optimizer = ig.optim.Adam(model, lr=0.02)
    x, y = parity()

    @ig.jit
    def step(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        loss, grads = nn.value_and_grad(model, lambda x, y: ig.mean((model(x) - y) ** 2))(x, y)
        optimizer.step(grads)
        return loss

    for i in range(steps):
        loss = float(step(x, y))
        if i % 50 == 0 or i + 1 == steps:
            print(f"step {i + 1:3}: loss {loss:.4f}")
    return float(ig.mean(((model(x) > 0.5) == (y > 0.5)).astype(ig.float32)))


if __name__ == "__main__":
    print(f"{train():.1%} of the points are named rightly")
