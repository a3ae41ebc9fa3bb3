"""Attention, with torch's arguments and names of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _errors, _functions, _intaglio, random
from . import init
from ._layers import Linear, _needs_key
from ._module import Module, Parameter
from ._norms import Dropout, key_to_draw

Tensor = _intaglio.Tensor
_fn = _functions.functions


def _projected(arrays: tuple[Tensor, ...], n: int, weight: Any, bias: Tensor | None) -> list[Tensor]:
    """Queries, keys and values of `n` features, by one weight of all three or by a list of three."""
    query, key, value = arrays
    parts = [None] * 3 if bias is None else [bias[i * n : (i + 1) * n] for i in range(3)]
    if isinstance(weight, list):
        weights = weight
    elif query is key and key is value:  # one product for all three
        joined = _fn["linear"](query, weight, bias)
        return [joined[..., i * n : (i + 1) * n] for i in range(3)]
    else:
        weights = [weight[i * n : (i + 1) * n] for i in range(3)]
    return [_fn["linear"](x, w, b) for x, w, b in zip(arrays, weights, parts, strict=True)]


def _heads(x: Tensor, heads: int) -> Tensor:
    batch, length, features = x.shape
    split = x.reshape((batch, length, heads, features // heads))
    return _fn["permute_dims"](split, axes=(0, 2, 1, 3))


def _extended(keys: Tensor, values: Tensor, last: tuple[Any, Any], zero: bool) -> tuple[Tensor, Tensor, int]:
    """With what is put behind the keys and values, and how many that is."""
    parts: list[list[Tensor]] = [[keys], [values]]
    row = (keys.shape[0], 1, keys.shape[2])
    if last[0] is not None and last[1] is not None:
        for part, own in zip(parts, last, strict=True):
            part.append(_fn["broadcast_to"](own, shape=row))
    if zero:
        for part in parts:
            part.append(_functions.zeros(row, dtype=keys.dtype))
    return _functions.concat(parts[0], axis=1), _functions.concat(parts[1], axis=1), len(parts[0]) - 1


def _attended(
    arrays: tuple[Tensor, ...],
    num_heads: int,
    weight: Any,
    bias: Tensor | None,
    last: tuple[Any, Any],
    zero: bool,
    drop: Callable[[Tensor], Tensor] | None,
    project_out: Callable[[Tensor], Tensor],
    key_padding_mask: Any,
    need_weights: bool,
    attn_mask: Any,
    average_attn_weights: bool,
    is_causal: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor | None]:
    """What `MultiheadAttention` computes; `last` are a key and a value behind the others, `zero` puts zeros there."""
    query, key, value = arrays
    rank = query.ndim
    if rank not in (2, 3) or key.ndim != rank or value.ndim != rank:
        raise _errors.ShapeError(
            f"MultiheadAttention: query, key and value have {rank}, {key.ndim} and {value.ndim} axes",
            _intaglio._user_line(),
            why="all three have the axes [length, batch, features], or all [length, features]",
            hint="add a batch axis with x[:, None], or with x[None] where batch_first is set",
        )
    features = query.shape[-1]
    q, k, v = _projected(arrays, features, weight, bias)
    if rank == 2:
        q, k, v = (x[None] for x in (q, k, v))
        if key_padding_mask is not None:
            key_padding_mask = _functions._array(key_padding_mask)[None]
    elif not batch_first:
        q, k, v = (_fn["swapaxes"](x, 0, 1) for x in (q, k, v))
    batch, n, m = q.shape[0], q.shape[1], k.shape[1]
    k, v, more = _extended(k, v, last, zero)
    mask = _Mask(batch, num_heads, n, m, more, q.dtype)
    mask.add(attn_mask, "attn_mask", ((n, m), (batch * num_heads, n, m)))
    mask.add(key_padding_mask, "key_padding_mask", ((batch, m),))
    q, k, v = (_heads(x, num_heads) for x in (q, k, v))
    weights: Tensor | None = None
    if need_weights or drop is not None:
        if is_causal:
            mask.close_behind()
        weights = mask.weights(_fn["matmul"](q * (q.shape[-1] ** -0.5), k.mT))
        weights = weights if drop is None else drop(weights)
        mixed = _fn["matmul"](weights, v)
    else:
        causal = is_causal and not more
        if is_causal and not causal:
            mask.close_behind()
        mixed = _fn["scaled_dot_product_attention"](q, k, v, mask.joined(), causal=causal)
    joined = _fn["permute_dims"](mixed, axes=(0, 2, 1, 3)).reshape((batch, n, features))
    out = project_out(joined)
    out = out[0] if rank == 2 else out if batch_first else _fn["swapaxes"](out, 0, 1)
    if weights is None or not need_weights:
        return out, None
    if average_attn_weights:
        weights = _fn["mean"](weights, axis=1)
    return out, weights[0] if rank == 2 else weights


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    *,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    dropout_key: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """What `nn.MultiheadAttention` computes, of its parameters: [length, batch, features] or [length, features].

    Masks are those of the layer. The weights are dropped while `training`, by `dropout_p`, from `dropout_key`.

    Error: `ig.ShapeError` where arrays or masks do not fit; `ig.ValueError` where the heads do not divide the features,
    or a key to draw from is lacking.
    """
    arrays = tuple(_functions._array(x) for x in (query, key, value))
    features = arrays[0].shape[-1]
    if features != embed_dim_to_check or features % num_heads:
        raise _errors.ValueError(
            f"multi_head_attention_forward: {features} features of the query, for {embed_dim_to_check} in {num_heads} "
            "heads",
            _intaglio._user_line(),
            why="the features are those that the weights were made for, as many in each head as in any other",
            hint="pass the layer's embed_dim and num_heads",
        )
    drop = None
    if training and dropout_p:
        own = key_to_draw(dropout_key, "multi_head_attention_forward", "dropout_key")

        def drop(x: Tensor) -> Tensor:
            return _fn["dropout"](x, own, p=dropout_p)

    return _attended(
        arrays,
        num_heads,
        [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else in_proj_weight,
        in_proj_bias,
        (bias_k, bias_v),
        add_zero_attn,
        drop,
        lambda x: _fn["linear"](x, out_proj_weight, out_proj_bias),
        key_padding_mask,
        need_weights,
        attn_mask,
        average_attn_weights,
        is_causal,
        batch_first=False,
    )


class MultiheadAttention(Module):
    """Attention of queries over keys and values in `num_heads` heads, as `torch.nn.MultiheadAttention`.

    Arrays are [length, batch, features], or [batch, length, features] with `batch_first`, or [length, features] without
    a batch. The result is the pair of the attention's output and its weights: the mean over the heads, [batch, n, m],
    or those of each head with `average_attn_weights=False`, or None with `need_weights=False`, which is quicker: then
    the weights are never held.

    Masks are torch's: of booleans, True says what may **not** be attended to; of floats, they are added to the scores.
    `attn_mask` is [n, m] or [batch * num_heads, n, m], `key_padding_mask` [batch, m]. `is_causal` masks all keys behind
    their query, with or without an `attn_mask`. A query that may attend to nothing gets zeros (in torch NaN).

    Parameters
    ----------
    embed_dim, num_heads : int
        The features of queries and results, and in how many heads they fall.
    dropout : float
        The share of the weights that become 0 while training; drawn from the layer's own key.
    bias, add_bias_kv, add_zero_attn : bool
        Biases of the projections; a learned key and value behind the others; a zero key and value behind them.
    kdim, vdim : int
        The features of keys and values, where they differ from `embed_dim`.
    batch_first : bool
        Whether the batch is the first axis.

    Raises
    ------
    ValueError, ShapeError
        Where the heads do not divide the features, or arrays or masks do not fit.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> attention = nn.MultiheadAttention(8, 2, batch_first=True, key=ig.random.key(0))
    >>> x = ig.ones((1, 3, 8))
    >>> y, weights = attention(x, x, x, is_causal=True)
    >>> y.shape, ig.round(weights[0], 2).tolist()[1]
    ((1, 3, 8), [0.5, 0.5, 0.0])
    """

    in_proj_weight: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
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
        keys = random.split(_needs_key(key, "MultiheadAttention"), 7)
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.add_zero_attn = add_zero_attn
        self.dropout = dropout
        one = self.kdim == self.vdim == embed_dim

        def drawn(key: Tensor, *shape: int) -> Tensor:
            return init.xavier_uniform(key, shape, dtype=dtype)

        self.register_parameter("in_proj_weight", drawn(keys[0], 3 * embed_dim, embed_dim) if one else None)
        for i, (name, size) in enumerate(zip("qkv", (embed_dim, self.kdim, self.vdim), strict=True)):
            self.register_parameter(f"{name}_proj_weight", None if one else drawn(keys[1 + i], embed_dim, size))
        self.register_parameter("in_proj_bias", _functions.zeros(3 * embed_dim, dtype=dtype) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, key=keys[4], dtype=dtype)
        if bias:
            self.out_proj.bias = Parameter(_functions.zeros(embed_dim, dtype=dtype))
        for name, k in (("bias_k", keys[5]), ("bias_v", keys[6])):
            drawn_bias = init.xavier_normal(k, (1, 1, embed_dim), dtype=dtype) if add_bias_kv else None
            self.register_parameter(name, drawn_bias)
        self.drop = Dropout(dropout, key=random.fold_in(keys[0], 1) if dropout else None)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        one = self.in_proj_weight
        return _attended(
            (query, key, value),
            self.num_heads,
            [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight] if one is None else one,
            self.in_proj_bias,
            (self.bias_k, self.bias_v),
            self.add_zero_attn,
            self.drop if self.training and self.dropout > 0 else None,
            self.out_proj,
            key_padding_mask,
            need_weights,
            attn_mask,
            average_attn_weights,
            is_causal,
            self.batch_first,
        )

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, num_heads={self.num_heads}" + (", batch_first=True" if self.batch_first else "")


class _Mask:
    """What may be attended to, [batch, heads, n, m], and what is added to the scores; either may be None."""

    def __init__(self, batch: Any, heads: int, n: Any, m: Any, more: int, dtype: Any) -> None:
        self.batch, self.heads, self.n, self.m, self.more, self.dtype = batch, heads, n, m, more, dtype
        self.allowed: Tensor | None = None
        self.added: Tensor | None = None

    def add(self, mask: Any, name: str, shapes: tuple[tuple[Any, ...], ...]) -> None:
        if mask is None:
            return
        mask = _functions._array(mask)
        if tuple(mask.shape) not in shapes:
            wanted = " or ".join(str(shape) for shape in shapes)
            raise _errors.ShapeError(
                f"MultiheadAttention: {name} has shape {tuple(mask.shape)}, not {wanted}",
                _intaglio._user_line(),
                why="it says of each key, or of each query and key, whether or how much it counts",
                hint="broadcast or reshape the mask",
            )
        if mask.dtype.kind not in ("bool", "real floating"):
            raise _errors.TypeError(
                f"MultiheadAttention: {name} is {mask.dtype.name}",
                _intaglio._user_line(),
                why="a mask is of booleans, True for what is not attended to, or of floats that are added",
                hint="convert it: mask.astype(ig.bool)",
            )
        if name == "key_padding_mask":
            mask = mask[:, None, None, :]
        elif mask.ndim == 3:
            mask = mask.reshape((self.batch, self.heads, self.n, self.m))
        else:
            mask = mask[None, None]
        if self.more:
            open_end = _functions.zeros((*mask.shape[:-1], self.more), dtype=mask.dtype)
            mask = _functions.concat([mask, open_end], axis=-1)
        if mask.dtype.kind == "bool":
            self._allow(~mask)
            return
        mask = _functions.astype(mask, self.dtype)
        # Minus infinity closes, as False does: no weight of such a row is NaN.
        open_here = mask > float("-inf")
        self._allow(open_here)
        mask = _fn["where"](open_here, mask, 0.0)
        self.added = mask if self.added is None else self.added + mask

    def close_behind(self) -> None:
        """Closes the keys that stand behind their query."""
        m = self.m + self.more
        keys, queries = _functions.arange(m)[None, :], _functions.arange(self.n)[:, None]
        self._allow(((keys <= queries) | (keys >= self.m))[None, None])

    def _allow(self, allowed: Tensor) -> None:
        self.allowed = allowed if self.allowed is None else self.allowed & allowed

    def joined(self) -> Tensor | None:
        """As scaled_dot_product_attention takes it."""
        if self.added is None or self.allowed is None:
            return self.allowed
        return _fn["where"](self.allowed, self.added, float("-inf"))

    def weights(self, scores: Tensor) -> Tensor:
        if self.added is not None:
            scores = scores + self.added
        if self.allowed is None:
            return _fn["softmax"](scores, axis=-1)
        lowest = _functions.finfo(scores.dtype).min
        weights = _fn["softmax"](_fn["where"](self.allowed, scores, lowest), axis=-1)
        return _fn["where"](self.allowed, weights, 0.0)
