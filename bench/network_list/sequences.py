"""Networks of sequences and of single rows: attention, recurrence, perceptrons."""

from __future__ import annotations

import itertools
from typing import Any

from . import network


def transformer(m: Any, features: int, heads: int, causal: bool = False) -> Any:
    """A block with norms in front, as GPT-2 and ViT have them."""
    nn = m.nn

    def forward(s: Any, x: Any) -> Any:
        batch, length, _ = x.shape
        shape = (batch, length, 3, heads, features // heads)
        q, k, v = (m.permute(s.into(s.norm1(x)).reshape(shape), (2, 0, 3, 1, 4))[i] for i in range(3))
        y = m.permute(m.attention(q, k, v, causal), (0, 2, 1, 3)).reshape((batch, length, features))
        x = x + s.out(y)
        return x + s.mlp(s.norm2(x))

    return m.compose(
        forward,
        norm1=nn.LayerNorm(features),
        into=nn.Linear(features, 3 * features),
        out=nn.Linear(features, features),
        norm2=nn.LayerNorm(features),
        mlp=nn.Sequential(nn.Linear(features, 4 * features), nn.GELU(), nn.Linear(4 * features, features)),
    )


@network((1, 197, 384))
def vit_small(m: Any) -> Any:
    return transformer(m, 384, 6)


@network((1, 128, 768))
def gpt2_block(m: Any) -> Any:
    return transformer(m, 768, 12, causal=True)


@network((1, 1, 768))
def gpt2_block_of_one(m: Any) -> Any:
    return transformer(m, 768, 12)


@network((4, 32, 256))
def small_transformer(m: Any) -> Any:
    return transformer(m, 256, 4)


@network((1, 1, 512), (1, 8, 256, 64), (1, 8, 256, 64))
def decode_with_cache(m: Any) -> Any:
    def forward(s: Any, x: Any, k: Any, v: Any) -> Any:
        q = m.permute(s.into(x).reshape((1, 1, 3, 8, 64)), (2, 0, 3, 1, 4))
        k, v = m.concat([k[:, :, 1:], q[1]], 2), m.concat([v[:, :, 1:], q[2]], 2)
        y = s.out(m.permute(m.attention(q[0], k, v, False), (0, 2, 1, 3)).reshape((1, 1, 512)))
        return y, k, v

    return m.compose(forward, into=m.nn.Linear(512, 1536), out=m.nn.Linear(512, 512))


@network((2, 100, 256))
def multihead_attention(m: Any) -> Any:
    return m.compose(
        lambda s, x: s.attend(x, x, x, need_weights=False)[0],
        attend=m.nn.MultiheadAttention(256, 8, batch_first=True),
    )


@network((8, 20, 128))
def encoder_layer(m: Any) -> Any:
    return m.nn.TransformerEncoderLayer(128, 4, 256, 0.0, batch_first=True)


@network((1, 196, 512))
def mixer(m: Any) -> Any:
    nn = m.nn
    return m.compose(
        lambda s, x: x + m.permute(s.mix(m.permute(s.norm(x), (0, 2, 1))), (0, 2, 1)),
        norm=nn.LayerNorm(512),
        mix=nn.Sequential(nn.Linear(196, 392), nn.GELU(), nn.Linear(392, 196)),
    )


def recurrent(m: Any, kind: str, into: int, hidden: int) -> Any:
    return m.compose(lambda s, x: s.cells(x)[0], cells=getattr(m.nn, kind)(into, hidden))


@network((64, 8, 128))
def gru(m: Any) -> Any:
    return recurrent(m, "GRU", 128, 128)


@network((64, 1, 128))
def lstm_of_one(m: Any) -> Any:
    return recurrent(m, "LSTM", 128, 128)


@network((32, 16, 256))
def lstm_of_16(m: Any) -> Any:
    return recurrent(m, "LSTM", 256, 256)


@network((100, 16, 64))
def rnn(m: Any) -> Any:
    return recurrent(m, "RNN", 64, 64)


def perceptron(m: Any, sizes: tuple[int, ...], act: str) -> Any:
    layers: list[Any] = []
    for into, out in itertools.pairwise(sizes):
        layers += [m.nn.Linear(into, out), getattr(m.nn, act)()]
    return m.nn.Sequential(*layers[:-1])


@network((256, 13))
def housing_perceptron(m: Any) -> Any:
    return perceptron(m, (13, 64, 64, 64, 1), "ReLU")


@network((1, 8))
def policy_of_one(m: Any) -> Any:
    return perceptron(m, (8, 64, 64, 2), "Tanh")


@network((1000, 2))
def coordinates_to_colour(m: Any) -> Any:
    return perceptron(m, (2, 128, 128, 3), "Tanh")
