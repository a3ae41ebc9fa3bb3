"""A training step under `ig.jit`: state in a dict that the function updates, and batches of any size.

Run it: python examples/jit_training.py
"""

from __future__ import annotations

import numpy as np

import intaglio as ig


@ig.jit
def step(state: dict, x: ig.Tensor, y: ig.Tensor, rate: float) -> ig.Tensor:
    """Linear regression by gradient descent; the new weights are written back into `state`."""
    error = x @ state["w"] + state["b"] - y
    state["w"] = state["w"] - rate * (x.mT @ error) / x.shape[0]
    state["b"] = state["b"] - rate * ig.mean(error, axis=0)
    return ig.mean(error * error)


def main() -> None:
    random = np.random.default_rng(0)
    truth = np.array([[1.0], [-2.0], [0.5]], np.float32)
    state = {"w": ig.zeros((3, 1)), "b": ig.zeros((1,))}
    for i in range(200):
        x = random.standard_normal((int(random.integers(16, 64)), 3)).astype(np.float32)
        loss = step(state, x, x @ truth + 3, 0.1 if i < 100 else 0.05)
    print("loss", float(loss))
    print("weights", state["w"].tolist(), "bias", state["b"].tolist())
    print(step.cache_info())


if __name__ == "__main__":
    main()
