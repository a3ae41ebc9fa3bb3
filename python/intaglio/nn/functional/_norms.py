"""Normalising, dropout, embeddings, distances and attention, by torch's names.

What draws random numbers takes a `key`, which is needed where it draws at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _errors, _functions, _intaglio, linalg
from .._attention import multi_head_attention_forward
from .._bags import embedding_bag
from .._layers import embedding
from .._norms import (
    alpha_dropped,
    batch_norm,
    check_share,
    drop_channels,
    instance_norm,
    key_to_draw,
    local_response_norm,
)
from ..losses import cosine_similarity, pairwise_distance

Tensor = _intaglio.Tensor
_fn = _functions.functions

__all__ = [
    "alpha_dropout",
    "batch_norm",
    "cosine_similarity",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "multi_head_attention_forward",
    "normalize",
    "one_hot",
    "pairwise_distance",
    "pdist",
    "rms_norm",
    "scaled_dot_product_attention",
]


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x over its p-norm along `dim`, or over eps where that is greater.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> F.normalize(ig.asarray([[3.0, 4.0]]))
    Tensor([[0.6, 0.8]], dtype=float32)
    """
    x = _functions._array(input)
    if p == 2:
        return _fn["normalize"](x, axis=dim, eps=eps)
    return x / _fn["maximum"](linalg.vector_norm(x, axis=dim, keepdims=True, ord=p), eps)


def _rank_of(x: Tensor, normalized_shape: Any, who: str) -> int:
    shape = _functions._sizes(normalized_shape)
    if tuple(x.shape[x.ndim - len(shape) :]) != shape or not shape:
        raise _errors.ShapeError(
            f"{who}: normalized_shape is {shape} for an array of shape {tuple(x.shape)}",
            _intaglio._user_line(),
            why="it has the sizes of the last axes, over which the array is normalised",
            hint="give x.shape[-1:] to normalise the last axis",
        )
    return len(shape)


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Normalises the last axes, of the sizes `normalized_shape`, to mean 0 and variance 1; then a weight and a bias."""
    x = _functions._array(input)
    rank = _rank_of(x, normalized_shape, "layer_norm")
    return _fn["layer_norm"](x, weight, bias, normalized_rank=rank, eps=eps)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    """Divides the last axes, of the sizes `normalized_shape`, by the root of their mean square plus `eps`.

    Without an `eps` it is that of the dtype. Then a weight.
    """
    x = _functions._array(input)
    rank = _rank_of(x, normalized_shape, "rms_norm")
    eps = _functions.finfo(x.dtype).eps if eps is None else eps
    return _fn["rms_norm"](x, weight, normalized_rank=rank, eps=eps)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Normalises groups of channels of [batch, channels, space...]; then a weight and a bias for each channel."""
    return _fn["group_norm"](input, weight, bias, num_groups=num_groups, eps=eps)


# --- dropout ---------------------------------------------------------------------------------------------------------


def _drawn(
    input: Any, p: float, training: bool, key: Tensor | None, who: str, draw: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    x = _functions._array(input)
    check_share(p, who)
    return draw(x, key_to_draw(key, who)) if training and p else x


def dropout(input: Any, p: float = 0.5, training: bool = True, *, key: Tensor | None = None) -> Tensor:
    """Makes each element 0 with probability `p` and divides the others by 1 - p; without `training` it gives x.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> sorted(set(F.dropout(ig.ones(50), 0.75, key=ig.random.key(0)).tolist()))
    [0.0, 4.0]
    """
    return _drawn(input, p, training, key, "dropout", lambda x, k: _fn["dropout"](x, k, p=p))


def _channels(input: Any, rank: int, p: float, training: bool, key: Tensor | None) -> Tensor:
    def draw(x: Tensor, key: Tensor) -> Tensor:
        # An image without a batch is [channels, space...]; torch takes three axes for a batch of rows in dropout2d too.
        alone = x.ndim == rank + 1 and rank != 2
        return drop_channels(x[None], key, p)[0] if alone else drop_channels(x, key, p)

    return _drawn(input, p, training, key, f"dropout{rank}d", draw)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, *, key: Tensor | None = None) -> Tensor:
    """As `dropout`, of whole channels of [batch, channels, length]."""
    return _channels(input, 1, p, training, key)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, *, key: Tensor | None = None) -> Tensor:
    """As `dropout`, of whole channels of [batch, channels, height, width]."""
    return _channels(input, 2, p, training, key)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, *, key: Tensor | None = None) -> Tensor:
    """As `dropout`, of whole channels of [batch, channels, depth, height, width]."""
    return _channels(input, 3, p, training, key)


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, *, key: Tensor | None = None) -> Tensor:
    """Dropout that keeps mean and variance of what `selu` gives: dropped elements take the value it tends to."""
    return _drawn(input, p, training, key, "alpha_dropout", lambda x, k: alpha_dropped(x, k, p, whole=False))


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, *, key: Tensor | None = None) -> Tensor:
    """As `alpha_dropout`, of whole channels of [batch, channels, space...]."""
    return _drawn(input, p, training, key, "feature_alpha_dropout", lambda x, k: alpha_dropped(x, k, p, whole=True))


# --- tables, distances -----------------------------------------------------------------------------------------------


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """A new last axis that is 1 where its position is the element, else 0, in int64.

    Without `num_classes` it is one more than the greatest element, whose value is asked for: not within `ig.jit`.

    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> F.one_hot(ig.asarray([2, 0])).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    x = _functions._array(tensor)
    if num_classes < 0:
        num_classes = int(_fn["max"](x)) + 1
    return _fn["one_hot"](x, num_classes, dtype="int64")


def pdist(input: Any, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of all pairs of rows of [n, features], in one row [n (n - 1) / 2]."""
    x = _functions._array(input)
    n = int(x.shape[0])
    first = [i for i in range(n) for _ in range(i + 1, n)]
    second = [j for i in range(n) for j in range(i + 1, n)]
    if not first:
        return _functions.zeros((0,), dtype=x.dtype)
    rows = _functions.take(x, first, axis=0) - _functions.take(x, second, axis=0)
    return linalg.vector_norm(rows, axis=1, ord=p)


# --- attention -------------------------------------------------------------------------------------------------------


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    dropout_key: Tensor | None = None,
) -> Tensor:
    """softmax(query keyᵀ scale) value over the last two axes: of [..., n, d], [..., m, d] and [..., m, e], [..., n, e].

    Parameters
    ----------
    attn_mask : [..., n, m]
        Of booleans, True says what **may** be attended to (as in torch, and unlike the masks of
        `nn.MultiheadAttention`); of floats, they are added to the scores.
    dropout_p : float
        The share of the weights that become 0, drawn from `dropout_key`. It is applied whenever it is above 0.
    is_causal : bool
        Whether each query sees the keys up to its own place alone; not beside an `attn_mask`.
    scale : float
        1 / sqrt(d) unless it is given.
    enable_gqa : bool
        Whether the heads (the third axis from the end) of keys and values serve several heads of queries each.

    Raises
    ------
    ValueError
        Where `is_causal` and a mask are both given, or `dropout_p` without a key.
    ShapeError
        Where the heads do not divide, or the arrays do not fit.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio.nn import functional as F
    >>> x = ig.asarray([[1.0], [3.0]])
    >>> F.scaled_dot_product_attention(ig.zeros((2, 1)), x, x, is_causal=True).tolist()
    [[1.0], [2.0]]
    """
    q, k, v = (_functions._array(x) for x in (query, key, value))
    check_share(dropout_p, "scaled_dot_product_attention")
    if is_causal and attn_mask is not None:
        raise _errors.ValueError(
            "scaled_dot_product_attention: is_causal beside an attn_mask",
            _intaglio._user_line(),
            why="each of the two says what may be attended to",
            hint="put both into the mask: mask & ig.tril(ig.ones((n, m), dtype='bool'))",
        )
    if enable_gqa:
        if q.shape[-3] % k.shape[-3] or q.shape[-3] % v.shape[-3]:
            raise _errors.ShapeError(
                f"scaled_dot_product_attention: {k.shape[-3]} heads of keys for {q.shape[-3]} of queries",
                _intaglio._user_line(),
                why="each head of keys and values serves as many heads of queries as any other",
                hint="choose a number of heads of keys that divides that of queries",
            )
        k, v = (_functions.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    mask = None if attn_mask is None else _functions._array(attn_mask)
    if not dropout_p and scale != 0:  # the op's scale of 0 stands for 1 / sqrt(d)
        return _fn["scaled_dot_product_attention"](q, k, v, mask, causal=is_causal, scale=scale or 0.0)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = _fn["matmul"](q * scale, k.mT)
    if is_causal:
        n, m = scores.shape[-2:]
        mask = _functions.arange(m)[None, :] <= _functions.arange(n)[:, None]
    if mask is not None and mask.dtype.kind == "bool":
        weights = _fn["softmax"](_fn["where"](mask, scores, _functions.finfo(scores.dtype).min), axis=-1)
        weights = _fn["where"](mask, weights, 0.0)
    else:
        weights = _fn["softmax"](scores if mask is None else scores + mask, axis=-1)
    if dropout_p:
        own = key_to_draw(dropout_key, "scaled_dot_product_attention", "dropout_key")
        weights = _fn["dropout"](weights, own, p=dropout_p)
    return _fn["matmul"](weights, v)
