"""A neural ordinary differential equation: learns how a damped pendulum moves from where it was seen.

    python examples/training/pendulum.py [--steps N] [--picture FILE.svg] [--json]

The model is the right-hand side of y' = f(y), a small MLP. Between two moments that were seen it is integrated by an
adaptive method (Bogacki and Shampine 1989, the one of `ode23`) in an `ig.while_loop`: how many steps it takes, the data
decide. The gradient goes back through that loop. The pendulum is the same problem solved finely by the equations of
physics, angle'' = -sin(angle) - angle' / 4; the figure at the end is the error on trajectories that it never saw.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from picture import draw

import intaglio as ig
from intaglio import nn

MOMENTS = 20  # of each trajectory that are seen, `APART` seconds from one to the next
APART = 0.25
TOLERANCE = 1e-5


def pendulum(y: np.ndarray) -> np.ndarray:
    return np.stack([y[..., 1], -np.sin(y[..., 0]) - y[..., 1] / 4], axis=-1)


def trajectories(count: int, seed: int) -> np.ndarray:
    """[count, MOMENTS + 1, 2]: angle and velocity, by the classical Runge–Kutta method in fine steps."""
    rng = np.random.default_rng(seed)
    y = rng.uniform((-2.0, -1.5), (2.0, 1.5), (count, 2))
    seen = [y]
    fine = 50
    h = APART / fine
    for _ in range(MOMENTS):
        for _ in range(fine):
            k1 = pendulum(y)
            k2 = pendulum(y + h / 2 * k1)
            k3 = pendulum(y + h / 2 * k2)
            k4 = pendulum(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        seen.append(y)
    return np.stack(seen, axis=1).astype(np.float32)


def field(key: ig.Tensor) -> nn.Module:
    keys = ig.random.split(key, 3)
    return nn.Sequential(
        nn.Linear(2, 32, key=keys[0]),
        nn.Tanh(),
        nn.Linear(32, 32, key=keys[1]),
        nn.Tanh(),
        nn.Linear(32, 2, key=keys[2]),
    )


def integrate(f: nn.Module, y: ig.Tensor, length: float) -> tuple[ig.Tensor, ig.Tensor]:
    """The state `length` later, and the number of steps. All trajectories share one step size; the largest error of
    the embedded method of second order decides on it."""

    def going(carry: Any) -> ig.Tensor:
        t, _, _, _ = carry
        return t < length

    def step(carry: Any) -> Any:
        t, h, y, count = carry
        h = ig.minimum(h, length - t)
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h * 3 / 4 * k2)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = f(new)
        error = ig.max(ig.abs(h * (-5 / 72 * k1 + k2 / 12 + k3 / 9 - k4 / 8))) / TOLERANCE
        # The step size is a choice of the method and no part of the solution: no derivative goes through it.
        error = ig.stop_gradient(error)
        good = error <= 1
        factor = ig.clip(0.9 * ig.maximum(error, 1e-8) ** (-1 / 3), 0.2, 5.0)
        return ig.where(good, t + h, t), h * factor, ig.where(good, new, y), count + 1

    start = (ig.asarray(0.0), ig.asarray(length / 4), y, ig.asarray(0, dtype=ig.int32))
    _, _, end, count = ig.while_loop(going, step, start)
    return end, count


def train(steps: int) -> dict[str, Any]:
    """The losses of all steps, the largest error of unseen trajectories over 5 seconds, and the seconds it took."""
    data, unseen = ig.asarray(trajectories(64, 0)), trajectories(32, 1)
    model = field(ig.random.key(0))
    optimizer = ig.optim.Adam(model, lr=ig.optim.warmup_cosine(1e-2, steps // 10, steps))
    before, after = data[:, :-1].reshape(-1, 2), data[:, 1:].reshape(-1, 2)

    def loss_of(y: ig.Tensor, wanted: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
        end, count = integrate(model, y, APART)
        return nn.losses.mse_loss(end, wanted), count

    @ig.jit
    def step(y: ig.Tensor, wanted: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
        (loss, count), grads = nn.value_and_grad(model, loss_of, has_aux=True)(y, wanted)
        optimizer.step(grads)
        return loss, count

    start, losses, counts = time.perf_counter(), [], []
    progress = ig.data.Progress(range(steps), "pendulum")
    for _ in progress:
        loss, count = step(before, after)
        losses.append(float(loss))
        counts.append(int(count))
        progress.show(loss=losses[-1])
    seconds = time.perf_counter() - start

    follow = ig.jit(lambda y: integrate(model, y, APART)[0])
    y, errors = ig.asarray(unseen[:, 0]), []
    for moment in range(1, MOMENTS + 1):
        y = follow(y)
        errors.append(float(np.sqrt(np.mean((np.asarray(y) - unseen[:, moment]) ** 2))))
    return {"losses": losses, "counts": counts, "errors": errors, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--picture", help="where to draw the losses")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    result = train(options.steps)
    if options.picture:
        draw(options.picture, "a pendulum's equation", {"loss": result["losses"]})
    if options.json:
        print(json.dumps(result))
        return
    losses, errors, counts = result["losses"], result["errors"], result["counts"]
    print(f"{options.steps} steps in {result['seconds']:.1f} s, loss {losses[0]:.2e} to {losses[-1]:.2e}")
    print(f"the loop ran {min(counts)} to {max(counts)} times")
    print(f"error where it never looked: {errors[0]:.4f} after {APART} s, {errors[-1]:.4f} after {MOMENTS * APART} s")


if __name__ == "__main__":
    main()
