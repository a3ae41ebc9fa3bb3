"""The same work in other ways and at other sizes: no compiler may be shaped like the list of workloads."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Limit, Workload, add, floats
from .matmul import matmul
from .memory import chain_ops, gelu_bias, layer_norm, plain, rows, softmax, sum_over
from .networks import attention, attention_data, flops_of_mlp, mlp, mlp_data


def softmax_five(m: Any, w: Any, x: Any) -> Any:
    """Softmax in five ops, as people write it."""
    top = m.max(x, -1, True)
    power = m.exp(x - top)
    return power / m.sum(power, -1, True)


def layer_norm_spelled(m: Any, w: Any, x: Any) -> Any:
    centre = m.mean(x, -1, True)
    spread = m.mean((x - centre) * (x - centre), -1, True)
    return (x - centre) / m.sqrt(spread + 1e-5) * w["weight"] + w["bias"]


def softmax_middle(m: Any, w: Any, x: Any) -> Any:
    return m.softmax(x, 1)


def double(make: Any) -> Any:
    """The same data in float64."""

    def made(rng: np.random.Generator) -> Any:
        inputs, weights = make(rng)
        wide = lambda a: a.astype(np.float64) if a.dtype == np.float32 else a  # noqa: E731
        return tuple(wide(a) for a in inputs), {name: wide(a) for name, a in weights.items()}

    return made


odd = 4097 * 1023 * 8.0
variants = [
    Workload(
        "chain_odd",
        "chain of 5, 4097×1023",
        chain_ops,
        plain(4097, 1023),
        1e-6,
        Limit("copy", odd),
        variant_of="chain_2048",
    ),
    Workload(
        "chain_f64",
        "chain of 5, 2048², float64",
        chain_ops,
        double(plain(2048, 2048)),
        1e-14,
        Limit("copy", 64 << 20, 32),
        variant_of="chain_2048",
    ),
    Workload(
        "softmax_five",
        "softmax in five ops 4096×1024",
        softmax_five,
        plain(4096, 1024),
        1e-6,
        Limit("copy", 32 << 20),
        variant_of="softmax",
    ),
    Workload(
        "softmax_odd",
        "softmax 4097×1023",
        softmax,
        plain(4097, 1023),
        1e-6,
        Limit("copy", odd),
        variant_of="softmax",
    ),
    Workload(
        "softmax_middle",
        "softmax 64×1024×64, axis 1",
        softmax_middle,
        plain(64, 1024, 64),
        1e-6,
        Limit("copy", 32 << 20),
        variant_of="softmax",
    ),
    Workload(
        "layer_norm_odd",
        "layer norm 4097×1023",
        layer_norm,
        rows(4097, 1023),
        2e-6,
        Limit("copy", odd),
        variant_of="layer_norm",
    ),
    Workload(
        "layer_norm_spelled",
        "layer norm spelled out 4096×1024",
        layer_norm_spelled,
        rows(4096, 1024),
        2e-6,
        Limit("copy", 32 << 20),
        variant_of="layer_norm",
    ),
    Workload(
        "gelu_bias_odd",
        "gelu(tanh) + bias 4097×1023",
        gelu_bias,
        rows(4097, 1023),
        2e-6,
        Limit("copy", odd),
        variant_of="gelu_bias",
    ),
    Workload(
        "gelu_bias_f64",
        "gelu(tanh) + bias 4096×1024, float64",
        gelu_bias,
        double(rows(4096, 1024)),
        1e-14,
        Limit("copy", 64 << 20, 32),
        variant_of="gelu_bias",
    ),
    Workload(
        "sum_middle",
        "sum of 64×1024×256, axis 1",
        sum_over(1),
        plain(64, 1024, 256),
        2e-5,
        Limit("read", 64 << 20, 64),
        variant_of="sum_axis0",
    ),
    Workload(
        "sum_odd",
        "sum of 4097×4095, axis 0",
        sum_over(0),
        plain(4097, 4095),
        2e-5,
        Limit("read", 4097 * 4095 * 4.0, 64),
        variant_of="sum_axis0",
    ),
    Workload(
        "matmul_odd",
        "matmul 511×769×1023",
        matmul,
        lambda rng: ((floats(rng, 511, 769), floats(rng, 769, 1023)), {}),
        1e-5,
        Limit("fma", 2.0 * 511 * 769 * 1023),
        variant_of="matmul_512",
    ),
    Workload(
        "matmul_transposed",
        "matmul of a transposed 512²",
        lambda m, w, x, y: m.matmul(m.permute(x, (1, 0)), y),
        lambda rng: ((floats(rng, 512, 512), floats(rng, 512, 512)), {}),
        1e-5,
        Limit("fma", 2.0 * 512**3),
        variant_of="matmul_512",
    ),
    Workload(
        "matmul_1",
        "matmul 1×1024 by 1024²",
        matmul,
        lambda rng: ((floats(rng, 1, 1024), floats(rng, 1024, 1024)), {}),
        1e-5,
        Limit("read", 4 << 20, 4),
        variant_of="matmul_1024",
    ),
    Workload(
        "matmul_1_transposed",
        "matmul 1×2048 by a transposed 2048²",
        lambda m, w, x, y: m.matmul(x, m.permute(y, (1, 0))),
        lambda rng: ((floats(rng, 1, 2048), floats(rng, 2048, 2048)), {}),
        1e-5,
        Limit("read", 16 << 20),
        variant_of="matmul_2048",
    ),
    Workload(
        "matrix_vector",
        "matrix times vector 2048²",
        matmul,
        lambda rng: ((floats(rng, 2048, 2048), floats(rng, 2048)), {}),
        1e-5,
        Limit("read", 16 << 20),
        variant_of="matmul_2048",
    ),
    Workload(
        "sum_transposed",
        "sum of a transposed 2048², axis 1",
        lambda m, w, x: m.sum(m.permute(x, (1, 0)), 1),
        plain(2048, 2048),
        2e-5,
        Limit("read", 16 << 20),
        variant_of="sum_axis0",
    ),
    Workload(
        "image_normalize",
        "(image - mean) / deviation 8×512×512×3",
        lambda m, w, x: (x - w["bias"]) / w["weight"],
        rows(8, 512, 512, 3),
        2e-6,
        Limit("copy", 48 << 20, 24),
        variant_of="chain_2048",
    ),
    Workload(
        "mlp_7",
        "MLP forward, batch 7",
        mlp,
        mlp_data(7),
        5e-6,
        Limit("fma", flops_of_mlp(7)),
        variant_of="mlp",
    ),
    Workload(
        "attention_odd",
        "masked attention 7×5×193×48",
        attention,
        attention_data(7, 5, 193, 48),
        5e-6,
        Limit("fma", 4.0 * 35 * 193 * 193 * 48),
        variant_of="attention",
    ),
]
for workload in variants:
    add(workload)
