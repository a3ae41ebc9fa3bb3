"""Intaglio, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from adapter import Adapter

from . import Call, System


class IntaglioAdapter(Adapter):
    """Intaglio's public functions."""

    def __init__(self) -> None:
        import intaglio as ig

        self.ig = ig
        self.exp, self.tanh, self.erf, self.sqrt = ig.exp, ig.tanh, ig.erf, ig.sqrt
        self.sin, self.cos, self.abs, self.vmap = ig.sin, ig.cos, ig.abs, ig.vmap
        self.fori_loop = ig.fori_loop
        self.sigmoid, self.relu, self.maximum = ig.sigmoid, ig.relu, ig.maximum
        self.where, self.matmul, self.linear = ig.where, ig.matmul, ig.linear

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.ig.sum(x, axis=axis, keepdims=keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.ig.max(x, axis=axis, keepdims=keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.ig.mean(x, axis=axis, keepdims=keepdims)

    def softmax(self, x: Any, axis: int) -> Any:
        return self.ig.softmax(x, axis=axis)

    def log_softmax(self, x: Any, axis: int) -> Any:
        return self.ig.log_softmax(x, axis=axis)

    def value_and_grad(self, loss: Any, parameters: tuple) -> tuple:
        return self.ig.value_and_grad(loss)(parameters)

    def backward(self, loss: Any, parameters: tuple) -> tuple:
        own = tuple(p.detach().requires_grad_() for p in parameters)
        value = loss(own)
        return value.detach(), self.ig.autograd.grad(value, own)

    def layer_norm(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        return self.ig.layer_norm(x, weight, bias, eps=eps)

    def gelu(self, x: Any, approximate: bool = False) -> Any:
        return self.ig.gelu(x, approximate="tanh" if approximate else "none")

    def take(self, table: Any, indices: Any) -> Any:
        return self.ig.embedding(indices, table)

    def reshape(self, x: Any, shape: Any) -> Any:
        return self.ig.reshape(x, shape=tuple(shape))

    def permute(self, x: Any, axes: Any) -> Any:
        return self.ig.permute_dims(x, axes=tuple(axes))

    def concat(self, xs: Any, axis: int) -> Any:
        return self.ig.concat(tuple(xs), axis=axis)

    def stack(self, xs: Any, axis: int) -> Any:
        return self.ig.stack(tuple(xs), axis=axis)

    def slice(self, x: Any, axis: int, start: int, stop: int) -> Any:
        place = [slice(None)] * len(x.shape)
        place[axis] = slice(start, stop)
        return x[tuple(place)]

    def to_float(self, x: Any) -> Any:
        return self.ig.astype(x, self.ig.float32)

    def conv(self, x: Any, weight: Any, stride: int = 1, padding: int = 0) -> Any:
        return self.ig.conv(x, weight, stride=(stride, stride), padding=(padding, padding))

    def max_pool(self, x: Any, size: int, stride: int, padding: int) -> Any:
        return self.ig.max_pool(x, kernel_size=(size, size), stride=(stride, stride), padding=(padding, padding))

    def batch_norm(self, x: Any, scale: Any, shift: Any, mean: Any, variance: Any, eps: float) -> Any:
        return self.ig.batch_norm(x, mean, variance, scale, shift, eps=eps)

    def attention(self, q: Any, k: Any, v: Any, keep: Any) -> Any:
        return self.ig.scaled_dot_product_attention(q, k, v, keep)

    def while_loop(self, condition: Any, body: Any, state: tuple) -> tuple:
        return self.ig.while_loop(lambda s: condition(*s), lambda s: body(*s), state)

    def scan(self, step: Any, carry: tuple, xs: Any) -> tuple:
        return self.ig.scan(step, carry, xs)


class Intaglio(System):
    title = "Intaglio"
    distribution = "intaglio"
    module = "intaglio"
    compiles = True
    settles = 0.9  # first calls run op by op until compiling pays

    @staticmethod
    def environ(threads: int) -> dict[str, str]:
        return {"INTAGLIO_NUM_THREADS": str(threads)}

    def load(self, threads: int) -> None:
        import intaglio

        self.ig = intaglio
        self.m = IntaglioAdapter()

    def to_native(self, array: np.ndarray) -> Any:
        return self.ig.asarray(array)

    def settle(self) -> None:
        self.ig.block_until_compiled()

    def function(self) -> Call:
        program, m, weights = self.workload.program, self.m, self.weights
        return lambda *inputs: program(m, weights, *inputs)

    def build(self) -> Call:
        if self.workload.eager:
            return self.function()
        if not self.weights and not self.workload.batches:
            return self.ig.jit(self.function())
        # One capture for every batch: the first axis of each input varies together.
        sizes = None
        if self.workload.batches:
            batch = self.ig.Dim("batch", 1, 4096)
            sizes = {f"inputs{i}": {0: batch} for i in range(len(self.example))}
        # Weights are constants, as the initialisers of the ONNX models are.
        return self.ig.trace(self.function(), *self.example, dynamic_shapes=sizes, lift=False)


SYSTEM = Intaglio
