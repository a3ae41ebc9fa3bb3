"""Transformer encoders, with torch's arguments and names of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _errors, _functions, _intaglio, random
from ._attention import MultiheadAttention
from ._containers import ModuleList
from ._layers import Linear, _needs_key
from ._module import Module
from ._norms import Dropout, LayerNorm

Tensor = _intaglio.Tensor
_fn = _functions.functions


def _activation(activation: Any) -> Callable[[Tensor], Tensor]:
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise _errors.ValueError(
            f"TransformerEncoderLayer: the activation is {activation!r}",
            _intaglio._user_line(),
            why="it stands between the two linear layers",
            hint="choose 'relu' or 'gelu', or pass a function such as ig.silu",
        )
    return _fn[activation]


class TransformerEncoderLayer(Module):
    """Self-attention, then a perceptron of two layers, each added to what it read, as in torch.

    Arrays are [length, batch, d_model], or [batch, length, d_model] with `batch_first`, or [length, d_model].
    `norm_first` normalises before each of the two (which trains more steadily), else after. The masks are those of
    `nn.MultiheadAttention`. While training, dropout draws from keys of the layer's own.

    Parameters
    ----------
    d_model, nhead, dim_feedforward : int
        The features, the heads, and the features between the two linear layers.
    dropout : float
        The share of zeros after attention, between and after the linear layers, and of the attention's weights.
    activation : "relu", "gelu" or a function
        What stands between the linear layers.
    layer_norm_eps, batch_first, norm_first, bias
        As in torch.

    Raises
    ------
    ValueError, ShapeError
        As `nn.MultiheadAttention`; for an unknown activation.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, key=ig.random.key(0)).eval()
    >>> layer(ig.ones((1, 3, 8)), is_causal=True).shape
    (1, 3, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        keys = random.split(_needs_key(key, "TransformerEncoderLayer"), 6)
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, key=keys[0], dtype=dtype
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, key=keys[1], dtype=dtype)
        self.dropout = Dropout(dropout, key=keys[3])
        self.linear2 = Linear(dim_feedforward, d_model, bias, key=keys[2], dtype=dtype)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(dropout, key=keys[4]), Dropout(dropout, key=keys[5])
        self.activation = _activation(activation)
        self.norm_first = norm_first

    def _attend(self, x: Tensor, mask: Any, padding: Any, causal: bool) -> Tensor:
        mixed, _ = self.self_attn(
            x, x, x, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=causal
        )
        return self.dropout1(mixed)

    def _mix(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(
        self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Tensor:
        if self.norm_first:
            src = src + self._attend(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return src + self._mix(self.norm2(src))
        src = self.norm1(src + self._attend(src, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(src + self._mix(src))


class TransformerEncoder(Module):
    """`num_layers` copies of an encoder layer, one after another; then `norm` where it is given. As in torch.

    The copies start with the layer's parameters, each draws dropout from keys of its own, and they are trained apart.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer
        What is copied.
    num_layers : int
        How many copies.
    norm : Module
        What the result goes through at the end.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, key=ig.random.key(0))
    >>> encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))
    >>> encoder(ig.ones((3, 1, 8))).shape
    (3, 1, 8)
    >>> [name for name, _ in encoder.named_parameters() if name.endswith("linear1.bias")]
    ['layers.0.linear1.bias', 'layers.1.linear1.bias']
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        self.layers = ModuleList([_copied(encoder_layer, i) for i in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self, src: Tensor, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal)
        return src if self.norm is None else self.norm(src)


def _copied(layer: Module, number: int) -> Module:
    """A module of the same values in arrays of its own; keys are other ones for each number."""
    leaves, tree = _intaglio.tree_flatten(layer)
    fresh = [random.fold_in(x, number) if x.dtype.name == "key" else _intaglio._handle(x) for x in leaves]
    copy: Module = _intaglio.tree_unflatten(tree, fresh)
    return copy
