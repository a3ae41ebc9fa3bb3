"""Trains a small model as torch programs do: loss.backward(), optimizer.step().

    python examples/training/eager.py
    python examples/training/eager.py --jit

Two interleaved spirals, which no straight line parts, and a network of two hidden layers. The steps run op by op; with
`--jit` the same function is one compiled program, and prints the same losses. The last line is the share of points on
the right side.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import intaglio as ig
from intaglio import nn


def spirals(count: int, seed: int = 0) -> tuple[ig.Tensor, ig.Tensor]:
    """Points, float32[2 * count, 2], and the spiral of each, int64[2 * count]."""
    random = np.random.default_rng(seed)
    turn = np.linspace(0.25, 1.5, count) * 2 * np.pi
    arm = np.stack([turn * np.cos(turn), turn * np.sin(turn)], axis=1) / 10
    points = np.concatenate([arm, -arm]) + random.normal(0, 0.02, (2 * count, 2))
    return ig.asarray(points.astype(np.float32)), ig.asarray(np.repeat([0, 1], count))


def train(steps: int = 400, jit: bool = False) -> tuple[list[float], float]:
    """The losses, and the share of points that the model puts on their own spiral."""
    keys = [ig.random.key(i) for i in range(3)]
    model = nn.Sequential(
        nn.Linear(2, 32, key=keys[0]),
        nn.Tanh(),
        nn.Linear(32, 32, key=keys[1]),
        nn.Tanh(),
        nn.Linear(32, 2, key=keys[2]),
    ).requires_grad_()
    optimizer = ig.optim.Adam(model, lr=1e-2)
    points, labels = spirals(100)

    def step(points: ig.Tensor, labels: ig.Tensor) -> ig.Tensor:
        loss = nn.losses.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss

    run = ig.jit(step) if jit else step
    losses = [float(run(points, labels)) for _ in range(steps)]
    with ig.no_grad():
        right = ig.argmax(model(points), axis=1) == labels
    return losses, float(ig.mean(ig.astype(right, ig.float32)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jit", action="store_true", help="compile the step")
    start = time.perf_counter()
    losses, share = train(jit=parser.parse_args().jit)
    seconds = time.perf_counter() - start
    for step in range(0, len(losses), 100):
        print(f"step {step:4d}  loss {losses[step]:.4f}")
    print(f"{share:.1%} of the points are on the right side, after {seconds:.1f} s")


if __name__ == "__main__":
    main()
