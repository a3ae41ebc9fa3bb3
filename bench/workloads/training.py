"""Steps of training: a loss, its gradient by every parameter, and the parameters moved against it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from . import Workload, add, floats

LAYERS, BATCH, RATE = (784, 512, 256, 10), 64, 0.1


def mlp_step(m: Any, w: Any, x: Any, goal: Any, *parameters: Any) -> Any:
    """The parameters w0, b0, w1, … after one step of gradient descent, and the loss before it."""

    def loss(parameters: tuple[Any, ...]) -> Any:
        h = x
        for i in range(0, len(parameters), 2):
            h = m.linear(h, parameters[i], parameters[i + 1])
            if i + 2 < len(parameters):
                h = m.relu(h)
        return m.sum(m.log_softmax(h, -1) * goal) * (-1.0 / BATCH)

    value, grads = m.value_and_grad(loss, tuple(parameters))
    return (value, *(p - RATE * g for p, g in zip(parameters, grads, strict=True)))


def mlp_step_data(rng: np.random.Generator) -> Any:
    goal = np.eye(LAYERS[-1], dtype=np.float32)[rng.integers(0, LAYERS[-1], BATCH)]
    parameters = []
    for into, out in itertools.pairwise(LAYERS):
        parameters += [floats(rng, out, into, scale=math.sqrt(2 / into)), floats(rng, out, scale=0.1)]
    return (floats(rng, BATCH, LAYERS[0]), goal, *parameters), {}


def mlp_step_reference(x: np.ndarray, goal: np.ndarray, *parameters: np.ndarray) -> list[np.ndarray]:
    """The same by the chain rule, written out."""
    inputs, h = [], x
    for i in range(0, len(parameters), 2):
        inputs.append(h)
        h = h @ parameters[i].T + parameters[i + 1]
        if i + 2 < len(parameters):
            h = np.maximum(h, 0)
    log_p = h - h.max(-1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(-1, keepdims=True))
    out = [np.asarray(-(log_p * goal).sum() / BATCH)]
    delta, moved = (np.exp(log_p) - goal) / BATCH, []
    for i in reversed(range(len(inputs))):
        moved = [parameters[2 * i] - RATE * delta.T @ inputs[i], parameters[2 * i + 1] - RATE * delta.sum(0), *moved]
        delta = delta @ parameters[2 * i] * (inputs[i] > 0)
    return out + moved


add(
    Workload(
        "train_mlp", "training step of an MLP, batch 64", mlp_step, mlp_step_data, 1e-4, reference=mlp_step_reference
    )
)
