"""Attention and transformer layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _errors, _functions, _intaglio, random
from ._layers import Linear, _needs_key
from ._module import Module
from ._norms import Dropout, LayerNorm

Tensor = _intaglio.Tensor
_fn = _functions.functions


class MultiheadAttention(Module):
    """Attention of queries [batch, n, embed_dim] over keys and values [batch, m, …], in `num_heads` heads.

    `mask` is boolean (True: may be attended to) or is added to the scores; it broadcasts to [batch, heads, n, m].
    Vaswani et al. (2017).

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> attention = nn.MultiheadAttention(8, 2, key=ig.random.key(0))
    >>> x = ig.ones((1, 3, 8))
    >>> attention(x, causal=True).shape
    (1, 3, 8)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        if embed_dim % num_heads:
            raise _errors.ValueError(
                f"MultiheadAttention: {embed_dim} features do not fall into {num_heads} heads",
                _intaglio._user_line(),
                why="each head has as many features as any other",
                hint="choose a number of heads that divides embed_dim",
            )
        keys = random.split(_needs_key(key, "MultiheadAttention"), 5)
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.q_proj = Linear(embed_dim, embed_dim, bias, key=keys[0], dtype=dtype)
        self.k_proj = Linear(kdim or embed_dim, embed_dim, bias, key=keys[1], dtype=dtype)
        self.v_proj = Linear(vdim or embed_dim, embed_dim, bias, key=keys[2], dtype=dtype)
        self.out_proj = Linear(embed_dim, embed_dim, bias, key=keys[3], dtype=dtype)
        self.dropout = Dropout(dropout, key=keys[4])

    def _heads(self, x: Tensor) -> Tensor:
        batch, length, features = x.shape
        split = x.reshape((batch, length, self.num_heads, features // self.num_heads))
        return _fn["permute_dims"](split, axes=(0, 2, 1, 3))

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = self._heads(self.q_proj(query)), self._heads(self.k_proj(key)), self._heads(self.v_proj(value))
        mixed = _fn["scaled_dot_product_attention"](q, k, v, mask, causal=causal)
        batch, length, features = query.shape
        joined = _fn["permute_dims"](mixed, axes=(0, 2, 1, 3)).reshape((batch, length, features))
        return self.dropout(self.out_proj(joined))

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, num_heads={self.num_heads}"


class TransformerEncoderLayer(Module):
    """Self-attention, then a perceptron of two layers, each added to what it read; [batch, length, d_model].

    `norm_first` normalises before each of the two (which trains more steadily), else after.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.0,
        activation: Callable[[Tensor], Tensor] | None = None,
        layer_norm_eps: float = 1e-5,
        norm_first: bool = False,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        keys = random.split(_needs_key(key, "TransformerEncoderLayer"), 4)
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, key=keys[0], dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, key=keys[1], dtype=dtype)
        self.linear2 = Linear(dim_feedforward, d_model, key=keys[2], dtype=dtype)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, dtype=dtype)
        self.dropout = Dropout(dropout, key=keys[3])
        self.activation = _fn["relu"] if activation is None else activation
        self.norm_first = norm_first

    def _mix(self, x: Tensor) -> Tensor:
        return self.dropout(self.linear2(self.activation(self.linear1(x))))

    def forward(self, x: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        if self.norm_first:
            x = x + self.self_attn(self.norm1(x), mask=mask, causal=causal)
            return x + self._mix(self.norm2(x))
        x = self.norm1(x + self.self_attn(x, mask=mask, causal=causal))
        return self.norm2(x + self._mix(x))
