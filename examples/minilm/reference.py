"""The same model in NumPy and any float type: in float64 the oracle that the embeddings are checked against."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from model import load_weights, model_folder


def _erf(x: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    return erf(x)


class Reference:
    def __init__(self, dtype: Any = np.float64) -> None:
        folder = model_folder()
        self.config = json.loads((folder / "config.json").read_text())
        self.w = {
            name: value.astype(dtype)
            for name, value in load_weights(folder / "model.safetensors").items()
            if value.dtype.kind == "f"
        }
        self.dtype = dtype

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.w[f"{name}.weight"].T + self.w[f"{name}.bias"]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        d = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((d * d).mean(-1, keepdims=True) + self.dtype(self.config["layer_norm_eps"]))
        return d / scale * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        b, s = ids.shape
        heads = self.config["num_attention_heads"]
        e = "embeddings"
        x = self.w[f"{e}.word_embeddings.weight"][ids] + self.w[f"{e}.position_embeddings.weight"][:s]
        x = self.norm(x + self.w[f"{e}.token_type_embeddings.weight"][0], f"{e}.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{i}"

            def split(v: np.ndarray) -> np.ndarray:
                return v.reshape(b, s, heads, -1).transpose(0, 2, 1, 3)

            q, k, v = (split(self.linear(x, f"{name}.attention.self.{p}")) for p in ("query", "key", "value"))
            scores = q @ k.transpose(0, 1, 3, 2) * self.dtype(1 / math.sqrt(q.shape[-1]))
            scores = np.where(mask[:, None, None, :], scores, -np.inf)
            power = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (power / power.sum(-1, keepdims=True)) @ v
            mixed = mixed.transpose(0, 2, 1, 3).reshape(b, s, -1)
            x = self.norm(
                self.linear(mixed, f"{name}.attention.output.dense") + x, f"{name}.attention.output.LayerNorm"
            )
            wide = self.linear(x, f"{name}.intermediate.dense")
            wide = (wide * self.dtype(0.5) * (1 + _erf(wide / self.dtype(math.sqrt(2))))).astype(self.dtype)
            x = self.norm(self.linear(wide, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
        share = mask[:, :, None].astype(self.dtype)
        mean = (x * share).sum(1) / np.maximum(share.sum(1), self.dtype(1e-9))
        return mean / np.linalg.norm(mean, axis=-1, keepdims=True)
