"""What a workload may use: the functions of the adapter `m`.

A workload is written once, against this class, and every system passes its own subclass. Tensors are the
system's own; the operators + - * / < > on them are used as they are. A subclass must give the functions that
raise NotImplementedError here, and gives any other one where the system has a better form of its own (an
LSTM, an attention): each system is measured in the form that its users would write.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Array = Any
Axis = int | tuple[int, ...] | None


class Adapter:
    # ---- each system's own -------------------------------------------------------------------------------
    def exp(self, x: Array) -> Array:
        raise NotImplementedError

    def tanh(self, x: Array) -> Array:
        raise NotImplementedError

    def erf(self, x: Array) -> Array:
        raise NotImplementedError

    def sqrt(self, x: Array) -> Array:
        raise NotImplementedError

    def sin(self, x: Array) -> Array:
        raise NotImplementedError

    def cos(self, x: Array) -> Array:
        raise NotImplementedError

    def abs(self, x: Array) -> Array:
        raise NotImplementedError

    def maximum(self, x: Array, y: Array | float) -> Array:
        raise NotImplementedError

    def where(self, condition: Array, x: Array, y: Array | float) -> Array:
        raise NotImplementedError

    def matmul(self, x: Array, y: Array) -> Array:
        raise NotImplementedError

    def sum(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        raise NotImplementedError

    def max(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        raise NotImplementedError

    def mean(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        raise NotImplementedError

    def take(self, table: Array, indices: Array) -> Array:
        """The rows of the table [rows, features] that the indices name."""
        raise NotImplementedError

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        raise NotImplementedError

    def permute(self, x: Array, axes: Sequence[int]) -> Array:
        raise NotImplementedError

    def concat(self, xs: Sequence[Array], axis: int) -> Array:
        raise NotImplementedError

    def stack(self, xs: Sequence[Array], axis: int) -> Array:
        raise NotImplementedError

    def slice(self, x: Array, axis: int, start: int, stop: int) -> Array:
        raise NotImplementedError

    def to_float(self, x: Array) -> Array:
        """A boolean array as ones and zeros of the workload's float type."""
        raise NotImplementedError

    def conv(self, x: Array, weight: Array, stride: int = 1, padding: int = 0) -> Array:
        """[batch, in, h, w] with the taps [out, in, kh, kw]."""
        raise NotImplementedError

    def max_pool(self, x: Array, size: int, stride: int, padding: int) -> Array:
        raise NotImplementedError

    def while_loop(self, condition: Callable[..., Array], body: Callable[..., tuple], state: tuple) -> tuple:
        """Applies `body` to the state (a tuple of arrays) while `condition` of it holds."""
        raise NotImplementedError

    def fori_loop(self, start: int, stop: int, body: Callable[[Any, Array], Array], value: Array) -> Array:
        """`body(i, value)` for each i, each time on what it gave."""
        raise NotImplementedError

    def vmap(self, function: Callable[..., Array]) -> Callable[..., Array]:
        """The function of one example, on the examples of the first axes of its arguments."""
        raise NotImplementedError("it maps no functions")

    def scan(self, step: Callable[..., tuple[tuple, Array]], carry: tuple, xs: Array) -> tuple[tuple, Array]:
        """`step(carry, x)` gives the next carry and an output, over the first axis of `xs`."""
        raise NotImplementedError

    def value_and_grad(self, loss: Callable[[tuple], Array], parameters: tuple) -> tuple[Array, tuple]:
        """The loss of the parameters, and its gradient by each of them."""
        raise NotImplementedError("it takes no derivatives")

    def backward(self, loss: Callable[[tuple], Array], parameters: tuple) -> tuple[Array, tuple]:
        """The same by a tape: the loss runs op by op, and then a backward pass does."""
        raise NotImplementedError("it has no tape")

    # ---- written on the above, unless a system has its own form ------------------------------------------
    def sigmoid(self, x: Array) -> Array:
        return 1.0 / (1.0 + self.exp(-x))

    def relu(self, x: Array) -> Array:
        return self.maximum(x, 0.0)

    def softmax(self, x: Array, axis: int) -> Array:
        power = self.exp(x - self.max(x, axis, True))
        return power / self.sum(power, axis, True)

    def log_softmax(self, x: Array, axis: int) -> Array:
        raise NotImplementedError

    def layer_norm(self, x: Array, weight: Array, bias: Array, eps: float) -> Array:
        """Over the last axis."""
        centred = x - self.mean(x, -1, True)
        return centred / self.sqrt(self.mean(centred * centred, -1, True) + eps) * weight + bias

    def gelu(self, x: Array, approximate: bool = False) -> Array:
        if approximate:
            inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
            return 0.5 * x * (1.0 + self.tanh(inner))
        return 0.5 * x * (1.0 + self.erf(x * math.sqrt(0.5)))

    def linear(self, x: Array, weight: Array, bias: Array) -> Array:
        """x [..., in] with the weight [out, in]."""
        return self.matmul(x, self.permute(weight, (1, 0))) + bias

    def batch_norm(self, x: Array, scale: Array, shift: Array, mean: Array, variance: Array, eps: float) -> Array:
        """Over the channels of [batch, channels, h, w], with given statistics."""
        factor = scale / self.sqrt(variance + eps)
        offset = shift - mean * factor
        return x * self.reshape(factor, (-1, 1, 1)) + self.reshape(offset, (-1, 1, 1))

    def attention(self, q: Array, k: Array, v: Array, keep: Array) -> Array:
        """q, k, v [batch, heads, length, features]; `keep` is boolean and broadcasts to the scores."""
        axes = (0, 1, 3, 2)
        scores = self.matmul(q, self.permute(k, axes)) * (1.0 / math.sqrt(q.shape[-1]))
        return self.matmul(self.softmax(self.where(keep, scores, -1e30), -1), v)

    def lstm(self, x: Array, w: Array, r: Array, bias: Array, h: Array, c: Array) -> Array:
        """All outputs [steps, batch, hidden] of a layer over x [steps, batch, in]; gates i, f, g, o.

        w [4 hidden, in], r [4 hidden, hidden], bias [4 hidden]; h, c [batch, hidden].
        """
        size = h.shape[-1]
        projected = self.linear(x, w, bias)
        recurrent = self.permute(r, (1, 0))

        def step(carry: tuple, part: Array) -> tuple[tuple, Array]:
            h, c = carry
            gates = part + self.matmul(h, recurrent)
            i, f, g, o = (self.slice(gates, -1, n * size, (n + 1) * size) for n in range(4))
            c = self.sigmoid(f) * c + self.sigmoid(i) * self.tanh(g)
            h = self.sigmoid(o) * self.tanh(c)
            return (h, c), h

        return self.scan(step, (h, c), projected)[1]
