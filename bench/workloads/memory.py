"""Programs bound by memory: element-wise chains, rows, sums, and a transpose."""

from __future__ import annotations

from typing import Any

from . import Limit, Workload, add, floats

MiB = 1 << 20


def chain_ops(m: Any, w: Any, x: Any) -> Any:
    return m.sigmoid(m.relu((x + 1.0) * 2.0) - 0.5)


def softmax(m: Any, w: Any, x: Any) -> Any:
    return m.softmax(x, -1)


def layer_norm(m: Any, w: Any, x: Any) -> Any:
    return m.layer_norm(x, w["weight"], w["bias"], 1e-5)


def gelu_bias(m: Any, w: Any, x: Any) -> Any:
    return m.gelu(x + w["bias"], approximate=True)


def sum_over(axis: int | None) -> Any:
    return lambda m, w, x: m.sum(x, axis)


def transpose_add(m: Any, w: Any, x: Any, y: Any) -> Any:
    return m.permute(x, (1, 0)) + y


def rows(*shape: int) -> Any:
    """An array to be normalised by rows, and the vectors that go with it."""
    return lambda rng: (
        (floats(rng, *shape),),
        {"weight": floats(rng, shape[-1], scale=0.1) + 1, "bias": floats(rng, shape[-1])},
    )


def plain(*shape: int) -> Any:
    return lambda rng: ((floats(rng, *shape),), {})


copy_16 = Limit("copy", 32 * MiB)
read_64 = Limit("read", 64 * MiB, 64)
add(Workload("chain_2048", "chain of 5, 2048²", chain_ops, plain(2048, 2048), 1e-6, copy_16))
add(Workload("softmax", "softmax 4096×1024", softmax, plain(4096, 1024), 1e-6, copy_16))
add(Workload("layer_norm", "layer norm 4096×1024", layer_norm, rows(4096, 1024), 2e-6, copy_16))
add(Workload("gelu_bias", "gelu(tanh) + bias 4096×1024", gelu_bias, rows(4096, 1024), 2e-6, copy_16))
add(Workload("sum_axis0", "sum of 4096², axis 0", sum_over(0), plain(4096, 4096), 2e-5, read_64))
add(Workload("sum_axis1", "sum of 4096², axis 1", sum_over(1), plain(4096, 4096), 2e-5, read_64))
add(Workload("sum_all", "sum of 4096², all", sum_over(None), plain(4096, 4096), 1e-3, read_64))
add(
    Workload(
        "transpose_add",
        "x.T + y, 2048²",
        transpose_add,
        lambda rng: ((floats(rng, 2048, 2048), floats(rng, 2048, 2048)), {}),
        1e-7,
        Limit("copy", 48 * MiB),
    )
)
