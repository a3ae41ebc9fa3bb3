"""Recurrent layers: a cell's step, and whole sequences by `ig.scan`, one compiled loop whatever the length."""

from __future__ import annotations

from typing import Any

from .. import _errors, _functions, _intaglio, random
from .._control import scan
from ..tree import map as tree_map
from ._layers import _needs_key, torch_like
from ._module import Module, Parameter
from ._norms import Dropout

Tensor = _intaglio.Tensor
_fn = _functions.functions


Weights = tuple[Tensor, Tensor, Tensor | None, Tensor | None]
_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


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

    @staticmethod
    def start(batch: Any, hidden_size: int, dtype: Any) -> Any:
        """The state before the first step: zeros [batch, hidden_size]."""
        return _functions.zeros((batch, hidden_size), dtype=dtype)

    @staticmethod
    def step(x: Tensor, state: Any, weights: Weights) -> Any:
        """The next state; the weights are weight_ih, weight_hh, bias_ih, bias_hh."""
        raise NotImplementedError

    @staticmethod
    def output(state: Any) -> Tensor:
        """What of the state the layer gives out."""
        out: Tensor = state
        return out

    def forward(self, x: Tensor, state: Any = None) -> Any:
        """The state after x [batch, input_size]; without a state from zeros."""
        if state is None:
            state = self.start(x.shape[0], self.hidden_size, self.weight_hh.dtype)
        return self.step(x, state, (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh))

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh)."""

    @staticmethod
    def step(x: Tensor, state: Any, weights: Weights) -> Any:
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        return _fn["tanh"](_fn["linear"](x, weight_ih, bias_ih) + _fn["linear"](state, weight_hh, bias_hh))


class GRUCell(_Cell):
    """A gated recurrent unit's step; gates lie as reset, update, new. Cho et al. (2014)."""

    gates = 3

    @staticmethod
    def step(x: Tensor, state: Any, weights: Weights) -> Any:
        return _fn["gru_cell"](x, state, *weights)


class LSTMCell(_Cell):
    """A long short-term memory's step: (h', c'); gates lie as input, forget, cell, output. Hochreiter (1997)."""

    gates = 4

    @staticmethod
    def start(batch: Any, hidden_size: int, dtype: Any) -> Any:
        zeros = _Cell.start(batch, hidden_size, dtype)
        return zeros, zeros

    @staticmethod
    def step(x: Tensor, state: Any, weights: Weights) -> Any:
        return _fn["lstm_cell"](x, *state, *weights)

    @staticmethod
    def output(state: Any) -> Tensor:
        out: Tensor = state[0]
        return out


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
        for i in range(num_layers * ways):
            rows = input_size if i < ways else hidden_size * ways
            cell = self.cell(rows, hidden_size, bias, key=keys[i], dtype=dtype)
            for part in _PARTS:
                self.register_parameter(self._name(part, i // ways, i % ways), getattr(cell, part))
        self.dropout = Dropout(dropout, key=keys[-1])

    @staticmethod
    def _name(part: str, layer: int, way: int) -> str:
        """The parameter's name, as torch has it."""
        return f"{part}_l{layer}{'_reverse' if way else ''}"

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
                weights: Any = tuple(getattr(self, self._name(part, layer, way)) for part in _PARTS)
                first = (
                    self.cell.start(x.shape[1], self.hidden_size, weights[1].dtype)
                    if state is None
                    else state[layer * ways + way]
                )

                def step(carry: Any, row: Tensor, weights: Any = weights) -> tuple[Any, Tensor]:
                    now = self.cell.step(row, carry, weights)
                    # A state keeps its dtype also where automatic casting computes the step in another one.
                    carry = tree_map(lambda new, old: _functions.astype(new, old.dtype), now, carry)
                    return carry, self.cell.output(carry)

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
