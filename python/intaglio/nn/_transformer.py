"""Transformers: encoders, decoders and both together, with torch's arguments and names of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _errors, _functions, _intaglio, random
from . import init
from ._attention import MultiheadAttention
from ._containers import ModuleList
from ._layers import Linear, _needs_key
from ._module import Module
from ._norms import Dropout, LayerNorm

Tensor = _intaglio.Tensor
_fn = _functions.functions


def _activation(activation: Any, who: str) -> Callable[[Tensor], Tensor]:
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise _errors.ValueError(
            f"{who}: the activation is {activation!r}",
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
        self.activation = _activation(activation, "TransformerEncoderLayer")
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


class TransformerDecoderLayer(Module):
    """Self-attention, attention over a memory, then two linear layers, each added to what it read, as in torch.

    Arrays are [length, batch, d_model], or [batch, length, d_model] with `batch_first`, or [length, d_model]; masks are
    those of `nn.MultiheadAttention`. `norm_first` normalises before each of the three, else after. While training,
    dropout draws from keys of the layer's own.

    Parameters
    ----------
    d_model, nhead, dim_feedforward : int
        The features, the heads, and the features between the two linear layers.
    dropout : float
        The share of zeros after each attention, between and after the linear layers, and of the attentions' weights.
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
    >>> layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, key=ig.random.key(0)).eval()
    >>> layer(ig.ones((1, 3, 8)), ig.ones((1, 5, 8)), tgt_is_causal=True).shape
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
        keys = random.split(_needs_key(key, "TransformerDecoderLayer"), 8)
        self.self_attn, self.multihead_attn = (
            MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, key=k, dtype=dtype)
            for k in (keys[0], keys[1])
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, key=keys[2], dtype=dtype)
        self.dropout = Dropout(dropout, key=keys[3])
        self.linear2 = Linear(dim_feedforward, d_model, bias, key=keys[4], dtype=dtype)
        self.norm1, self.norm2, self.norm3 = (
            LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype) for _ in range(3)
        )
        self.dropout1, self.dropout2, self.dropout3 = (Dropout(dropout, key=k) for k in (keys[5], keys[6], keys[7]))
        self.activation = _activation(activation, "TransformerDecoderLayer")
        self.norm_first = norm_first

    def _self(self, x: Tensor, mask: Any, padding: Any, causal: bool) -> Tensor:
        mixed, _ = self.self_attn(
            x, x, x, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=causal
        )
        return self.dropout1(mixed)

    def _read(self, x: Tensor, memory: Tensor, mask: Any, padding: Any, causal: bool) -> Tensor:
        mixed, _ = self.multihead_attn(
            x, memory, memory, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=causal
        )
        return self.dropout2(mixed)

    def _mix(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            tgt = tgt + self._self(self.norm1(tgt), *own)
            tgt = tgt + self._read(self.norm2(tgt), memory, *other)
            return tgt + self._mix(self.norm3(tgt))
        tgt = self.norm1(tgt + self._self(tgt, *own))
        tgt = self.norm2(tgt + self._read(tgt, memory, *other))
        return self.norm3(tgt + self._mix(tgt))


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder layer, one after another; then `norm` where it is given. As in torch.

    The copies start with the layer's parameters, each draws dropout from keys of its own, and they are trained apart.

    Parameters
    ----------
    decoder_layer : TransformerDecoderLayer
        What is copied.
    num_layers : int
        How many copies.
    norm : Module
        What the result goes through at the end.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, key=ig.random.key(0))
    >>> decoder = nn.TransformerDecoder(layer, 2, nn.LayerNorm(8))
    >>> decoder(ig.ones((3, 1, 8)), ig.ones((5, 1, 8))).shape
    (3, 1, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        self.layers = ModuleList([_copied(decoder_layer, i) for i in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that attends to what it gives. Vaswani et al. (2017), with torch's arguments.

    Both end in a `LayerNorm`; matrices start as `nn.init.xavier_uniform`. Arrays and masks are those of the layers.

    Parameters
    ----------
    d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward : int
        The features, the heads, how many layers there are, and the features between their linear layers.
    dropout, activation, layer_norm_eps, batch_first, norm_first, bias
        As in the layers.
    custom_encoder, custom_decoder : Module
        What stands in their place, called as `TransformerEncoder` and `TransformerDecoder` are.

    Raises
    ------
    ValueError, ShapeError
        As the layers; where the features of `src` or `tgt` are not `d_model`, or their batches differ.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True, key=ig.random.key(0)).eval()
    >>> mask = nn.Transformer.generate_square_subsequent_mask(3)
    >>> model(ig.ones((2, 5, 8)), ig.ones((2, 3, 8)), tgt_mask=mask).shape
    (2, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        keys = random.split(_needs_key(key, "Transformer"), 3)
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norms = [LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype) for _ in range(2)]
        self.encoder: Module = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*layer, key=keys[0], dtype=dtype), num_encoder_layers, norms[0]
        )
        self.decoder: Module = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*layer, key=keys[1], dtype=dtype), num_decoder_layers, norms[1]
        )
        for i, parameter in enumerate(self.parameters()):
            if parameter.ndim > 1:
                drawn = init.xavier_uniform(random.fold_in(keys[2], i), tuple(parameter.shape), dtype=parameter.dtype)
                _intaglio._set_value(parameter, drawn)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise _errors.ShapeError(
                f"Transformer: src and tgt have {src.shape[-1]} and {tgt.shape[-1]} features",
                _intaglio._user_line(),
                why=f"the model was made for {self.d_model}, and what the decoder gives is added to what it reads",
                hint="embed both in d_model features",
            )
        if src.ndim == tgt.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise _errors.ShapeError(
                f"Transformer: src has {src.shape[batch]} sequences, tgt {tgt.shape[batch]}",
                _intaglio._user_line(),
                why="each target is made of the source at its own place in the batch",
                hint=f"the batch is axis {batch}: batch_first is {self.batch_first}",
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, dtype: Any = "float32") -> Tensor:
        """What is added to the scores [sz, sz] so that nothing attends to what stands behind it: 0 or -infinity."""
        places = _functions.arange(sz)
        return _functions.astype(_fn["where"](places[None, :] > places[:, None], float("-inf"), 0.0), dtype)


def _copied(layer: Module, number: int) -> Module:
    """A module of the same values in arrays of its own; keys are other ones for each number."""
    leaves, tree = _intaglio.tree_flatten(layer)
    fresh = [random.fold_in(x, number) if x.dtype.name == "key" else _intaglio._handle(x) for x in leaves]
    copy: Module = _intaglio.tree_unflatten(tree, fresh)
    return copy
