"""A user's program that type-checks under mypy --strict: test_typing.py runs the checker on it."""

from collections.abc import Sequence
from typing import Any

import intaglio as ig
from intaglio.nn import functional as F


def attention(q: ig.Tensor, k: ig.Tensor, v: ig.Tensor) -> ig.Tensor:
    scores = ig.matmul(q, ig.matrix_transpose(k)) / 8.0
    return ig.softmax(scores, axis=-1) @ v


def mlp(x: ig.Tensor, weights: Sequence[ig.Tensor]) -> ig.Tensor:
    for w in weights:
        x = ig.gelu(x @ w, approximate="tanh")
    return x


def shapes(x: ig.Tensor) -> tuple[Any, ...]:
    y = x.reshape(2, -1).sum(axis=0, keepdims=True).astype(ig.float64)
    values, places = ig.top_k(y, k=1)
    y[0] = values[0] + places[0]
    y += 1
    total: float = float(y.max())
    whole: int = int(ig.count_nonzero(y))
    return (*y.shape, total, whole, y.dtype.name, y.tolist())


def networks(x: ig.Tensor, labels: ig.Tensor) -> ig.Tensor:
    model = ig.nn.Sequential(ig.nn.LazyLinear(4, key=ig.random.key(0)))
    logits: ig.Tensor = F.layer_norm(F.relu(model(x)), (4,))
    norm: ig.Tensor = ig.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return F.cross_entropy(logits, labels, label_smoothing=0.1) + norm


def traced(x: ig.Tensor) -> ig.Graph:
    program = ig.trace(mlp, x, [x])
    graph: ig.Graph = program.graph
    return ig.Graph.parse(str(graph))


try:
    ig.zeros((2, 3)) @ ig.zeros((2, 3))
except ig.ShapeError as error:
    message: str = error.what + error.hint
