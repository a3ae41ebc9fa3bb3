"""Recurrent layers: a cell's step, and whole sequences by `ig.scan`, one compiled loop whatever the length."""

from __future__ import annotations

from typing import Any

from .. import _errors, _functions, _intaglio, random
from .._control import scan
from ._layers import _needs_key, torch_like
from ._module import Module, Parameter
from ._norms import Dropout

Tensor = _intaglio.Tensor
_fn = _functions.functions


class _Cell(Module):
    """One step. The weights' rows lie gate by gate, as in torch."""

    gates = 1
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, key: Tensor | None = None, dtype: Any = "float32"
    ) -> None:
        keys = random.split(_needs_key(key, type(self).__name__), 4)
        rows = self.gates * hidden_size
        self.input_size, self.hidden_size = input_size, hidden_size
        self.weight_ih = Parameter(torch_like(keys[0], (rows, input_size), hidden_size, dtype))
        self.weight_hh = Parameter(torch_like(keys[1], (rows, hidden_size), hidden_size, dtype))
        self.register_parameter("bias_ih", torch_like(keys[2], (rows,), hidden_size, dtype) if bias else None)
        self.register_parameter("bias_hh", torch_like(keys[3], (rows,), hidden_size, dtype) if bias else None)

    def start(self, batch: Any) -> Any:
        """The state before the first step: zeros [batch, hidden_size]."""
        return _functions.zeros((batch, self.hidden_size), dtype=self.weight_hh.dtype)

    def output(self, state: Any) -> Tensor:
        """What of the state the layer gives out."""
        out: Tensor = state
        return out

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh)."""

    def forward(self, x: Tensor, state: Tensor | None = None) -> Tensor:
        h = self.start(x.shape[0]) if state is None else state
        return _fn["tanh"](
            _fn["linear"](x, self.weight_ih, self.bias_ih) + _fn["linear"](h, self.weight_hh, self.bias_hh)
        )


class GRUCell(_Cell):
    """A gated recurrent unit's step; gates lie as reset, update, new. Cho et al. (2014)."""

    gates = 3

    def forward(self, x: Tensor, state: Tensor | None = None) -> Tensor:
        h = self.start(x.shape[0]) if state is None else state
        return _fn["gru_cell"](x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)


class LSTMCell(_Cell):
    """A long short-term memory's step: (h', c'); gates lie as input, forget, cell, output. Hochreiter (1997)."""

    gates = 4

    def start(self, batch: Any) -> Any:
        zeros = super().start(batch)
        return zeros, zeros

    def output(self, state: Any) -> Tensor:
        out: Tensor = state[0]
        return out

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = self.start(x.shape[0]) if state is None else state
        return _fn["lstm_cell"](x, h, c, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)


class _Recurrent(Module):
    cell: type[_Cell] = _Cell

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        key: Tensor | None = None,
        dtype: Any = "float32",
    ) -> None:
        ways = 2 if bidirectional else 1
        keys = random.split(_needs_key(key, type(self).__name__), num_layers * ways + 1)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.batch_first, self.bidirectional = batch_first, bidirectional
        self.cells = [
            self.cell(input_size if i < ways else hidden_size * ways, hidden_size, bias, key=keys[i], dtype=dtype)
            for i in range(num_layers * ways)
        ]
        self.dropout = Dropout(dropout, key=keys[-1])

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """x [length, batch, input_size], or [batch, length, input_size] with `batch_first`.

        Gives the outputs of the last layer, [length, batch, hidden_size] (or batch first; twice the size where
        bidirectional), and a list of the last states, one a layer and direction. `state` is such a list to start from.
        """
        if x.ndim != 3:
            raise _errors.ShapeError(
                f"{type(self).__name__} is given an array of rank {x.ndim}",
                _intaglio._user_line(),
                why="it reads a batch of sequences of vectors: three axes",
                hint="give one sequence as a batch of one: x[:, None, :], or x[None] with batch_first",
            )
        ways = 2 if self.bidirectional else 1
        if self.batch_first:
            x = _fn["permute_dims"](x, axes=(1, 0, 2))
        last = []
        for layer in range(self.num_layers):
            outputs = []
            for way in range(ways):
                i = layer * ways + way
                cell = self.cells[i]
                first = cell.start(x.shape[1]) if state is None else state[i]

                def step(carry: Any, row: Tensor, cell: _Cell = cell) -> tuple[Any, Tensor]:
                    carry = cell(row, carry)
                    return carry, cell.output(carry)

                final, out = scan(step, first, x, reverse=way == 1)
                last.append(final)
                outputs.append(out)
            x = outputs[0] if ways == 1 else _functions.concat(outputs, axis=-1)
            if layer + 1 < self.num_layers:
                x = self.dropout(x)
        return (_fn["permute_dims"](x, axes=(1, 0, 2)) if self.batch_first else x), last

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"


class RNN(_Recurrent):
    """Layers of `RNNCell` over sequences."""

    cell = RNNCell


class GRU(_Recurrent):
    """Layers of `GRUCell` over sequences."""

    cell = GRUCell


class LSTM(_Recurrent):
    """Layers of `LSTMCell` over sequences.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> lstm = nn.LSTM(3, 5, num_layers=2, key=ig.random.key(0))
    >>> outputs, states = lstm(ig.ones((7, 2, 3)))
    >>> outputs.shape, len(states), states[0][0].shape
    ((7, 2, 5), 2, (2, 5))
    """

    cell = LSTMCell
