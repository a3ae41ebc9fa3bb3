"""Parts of networks: a perceptron, masked attention, the first stage of ResNet-18, an LSTM."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from . import Arrays, Limit, Workload, add, floats

LAYERS = (784, 512, 256, 10)
BATCHES = (1, 2, 3, 5, 8, 13, 16, 21, 32, 33, 40, 48, 55, 64, 77, 89, 96, 100, 120, 128)


def mlp(m: Any, w: Any, x: Any) -> Any:
    for i in range(len(LAYERS) - 1):
        x = m.linear(x, w[f"w{i}"], w[f"b{i}"])
        if i < len(LAYERS) - 2:
            x = m.relu(x)
    return x


def mlp_data(batch: int) -> Any:
    def make(rng: np.random.Generator) -> tuple[tuple[np.ndarray, ...], Arrays]:
        weights: Arrays = {}
        for i, (into, out) in enumerate(itertools.pairwise(LAYERS)):
            weights[f"w{i}"] = floats(rng, out, into, scale=math.sqrt(2 / into))
            weights[f"b{i}"] = floats(rng, out, scale=0.1)
        return (floats(rng, batch, LAYERS[0]),), weights

    return make


def attention(m: Any, w: Any, q: Any, k: Any, v: Any, keep: Any) -> Any:
    return m.attention(q, k, v, keep)


def attention_data(batch: int, heads: int, length: int, features: int) -> Any:
    def make(rng: np.random.Generator) -> tuple[tuple[np.ndarray, ...], Arrays]:
        q, k, v = (floats(rng, batch, heads, length, features) for _ in range(3))
        lengths = rng.integers(length // 2, length + 1, batch)
        keep = np.arange(length)[None, :] < lengths[:, None]
        return (q, k, v, keep[:, None, None, :]), {}

    return make


def resnet_stage(m: Any, w: Any, x: Any) -> Any:
    """7×7 convolution, pooling, and two blocks of two 3×3 convolutions at 56², each with batch norm."""

    def norm(x: Any, name: str) -> Any:
        return m.batch_norm(x, *(w[f"{name}.{part}"] for part in ("scale", "shift", "mean", "variance")), 1e-5)

    x = m.relu(norm(m.conv(x, w["stem"], 2, 3), "stem"))
    x = m.max_pool(x, 3, 2, 1)
    for block in range(2):
        y = m.relu(norm(m.conv(x, w[f"c{block}.0"], 1, 1), f"c{block}.0"))
        y = norm(m.conv(y, w[f"c{block}.1"], 1, 1), f"c{block}.1")
        x = m.relu(x + y)
    return x


def resnet_data(rng: np.random.Generator) -> tuple[tuple[np.ndarray, ...], Arrays]:
    weights: Arrays = {}
    taps = {"stem": (64, 3, 7, 7)} | {f"c{b}.{i}": (64, 64, 3, 3) for b in range(2) for i in range(2)}
    for name, shape in taps.items():
        weights[name] = floats(rng, *shape, scale=math.sqrt(2 / math.prod(shape[1:])))
        weights[f"{name}.scale"] = floats(rng, 64, scale=0.1) + 1
        weights[f"{name}.shift"] = floats(rng, 64, scale=0.1)
        weights[f"{name}.mean"] = floats(rng, 64, scale=0.1)
        weights[f"{name}.variance"] = np.abs(floats(rng, 64, scale=0.1)) + 1
    return (floats(rng, 1, 3, 224, 224),), weights


def lstm(m: Any, w: Any, x: Any) -> Any:
    return m.lstm(x, w["w"], w["r"], w["bias"], w["h"], w["c"])


def lstm_data(hidden: int, steps: int, batch: int) -> Any:
    def make(rng: np.random.Generator) -> tuple[tuple[np.ndarray, ...], Arrays]:
        scale = 1 / math.sqrt(hidden)
        state = np.zeros((batch, hidden), np.float32)
        return (floats(rng, steps, batch, hidden),), {
            "w": floats(rng, 4 * hidden, hidden, scale=scale),
            "r": floats(rng, 4 * hidden, hidden, scale=scale),
            "bias": floats(rng, 4 * hidden, scale=0.1),
            "h": state,
            "c": state.copy(),
        }

    return make


def flops_of_mlp(batch: int) -> float:
    return 2.0 * batch * sum(a * b for a, b in itertools.pairwise(LAYERS))


resnet_flops = 2.0 * (64 * 3 * 49 * 112**2 + 4 * 64 * 64 * 9 * 56**2)
add(Workload("mlp", "MLP forward, batch 64", mlp, mlp_data(64), 5e-6, Limit("fma", flops_of_mlp(64))))
add(Workload("mlp_20_batches", "MLP, 20 batch sizes with compiles", mlp, mlp_data(64), 5e-6, batches=BATCHES))
add(
    Workload(
        "attention",
        "masked attention 8×8×256×64",
        attention,
        attention_data(8, 8, 256, 64),
        5e-6,
        Limit("fma", 4.0 * 64 * 256 * 256 * 64),
    )
)
add(
    Workload(
        "resnet_stage",
        "ResNet-18 stem and stage",
        resnet_stage,
        resnet_data,
        1e-5,
        Limit("fma", resnet_flops),
    )
)
add(
    Workload(
        "lstm",
        "LSTM 128, 64 steps, batch 8",
        lstm,
        lstm_data(128, 64, 8),
        1e-5,
        Limit("fma", 2.0 * 64 * 8 * 128 * 512 * 2),
    )
)
