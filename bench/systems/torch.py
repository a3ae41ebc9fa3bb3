"""torch, eager."""

from __future__ import annotations

from typing import Any

import numpy as np
from adapter import Adapter

from . import Call, System


class TorchAdapter(Adapter):
    def __init__(self) -> None:
        import torch

        self.t = torch
        self.f = torch.nn.functional
        self.exp, self.tanh, self.erf, self.sqrt = torch.exp, torch.tanh, torch.erf, torch.sqrt
        self.sigmoid, self.relu, self.matmul, self.linear = (
            torch.sigmoid,
            torch.relu,
            torch.matmul,
            self.f.linear,
        )
        self.reshape, self.permute, self.stack = torch.reshape, torch.permute, torch.stack
        self.sin, self.cos, self.abs, self.vmap = torch.sin, torch.cos, torch.abs, torch.vmap

    def maximum(self, x: Any, y: Any) -> Any:
        return x.clamp(min=y) if isinstance(y, float) else self.t.maximum(x, y)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        return self.t.where(condition, x, y)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.t.sum(x) if axis is None else self.t.sum(x, axis, keepdim=keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.t.amax(x) if axis is None else self.t.amax(x, axis, keepdim=keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.t.mean(x) if axis is None else self.t.mean(x, axis, keepdim=keepdims)

    def softmax(self, x: Any, axis: int) -> Any:
        return self.t.softmax(x, axis)

    def log_softmax(self, x: Any, axis: int) -> Any:
        return self.t.log_softmax(x, axis)

    def value_and_grad(self, loss: Any, parameters: tuple) -> tuple:
        own = tuple(p.detach().requires_grad_() for p in parameters)
        value = loss(own)
        return value.detach(), self.t.autograd.grad(value, own)

    backward = value_and_grad

    def layer_norm(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        return self.f.layer_norm(x, (x.shape[-1],), weight, bias, eps)

    def gelu(self, x: Any, approximate: bool = False) -> Any:
        return self.f.gelu(x, approximate="tanh" if approximate else "none")

    def take(self, table: Any, indices: Any) -> Any:
        return self.f.embedding(indices, table)

    def concat(self, xs: Any, axis: int) -> Any:
        return self.t.cat(xs, axis)

    def slice(self, x: Any, axis: int, start: int, stop: int) -> Any:
        return x.narrow(axis, start, stop - start)

    def to_float(self, x: Any) -> Any:
        return x.float()

    def conv(self, x: Any, weight: Any, stride: int = 1, padding: int = 0) -> Any:
        return self.f.conv2d(x, weight, None, stride, padding)

    def max_pool(self, x: Any, size: int, stride: int, padding: int) -> Any:
        return self.f.max_pool2d(x, size, stride, padding)

    def batch_norm(self, x: Any, scale: Any, shift: Any, mean: Any, variance: Any, eps: float) -> Any:
        return self.f.batch_norm(x, mean, variance, scale, shift, False, 0.0, eps)

    def attention(self, q: Any, k: Any, v: Any, keep: Any) -> Any:
        return self.f.scaled_dot_product_attention(q, k, v, keep)

    def lstm(self, x: Any, w: Any, r: Any, bias: Any, h: Any, c: Any) -> Any:
        state = (h.unsqueeze(0), c.unsqueeze(0))
        return self.t.lstm(x, state, (w, r, bias, self.t.zeros_like(bias)), True, 1, 0.0, False, False, False)[0]

    def fori_loop(self, start: int, stop: int, body: Any, value: Any) -> Any:
        for i in range(start, stop):
            value = body(i, value)
        return value

    def while_loop(self, condition: Any, body: Any, state: tuple) -> tuple:
        while condition(*state):
            state = body(*state)
        return state


class Torch(System):
    title = "torch eager"
    peer = "torch"
    packages = ("torch==2.13.0", "numpy", "onnx", "onnxscript")  # the last two to export what peers of ONNX run
    distribution = "torch"
    module = "torch"

    @staticmethod
    def environ(threads: int) -> dict[str, str]:
        return {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}

    def load(self, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.m = TorchAdapter()

    def to_native(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(np.array(array))

    def to_numpy(self, native: Any) -> np.ndarray:
        return native.detach().numpy()

    def function(self) -> Call:
        program, m, weights = self.workload.program, self.m, self.weights
        return lambda *inputs: program(m, weights, *inputs)

    def inference(self, function: Call) -> Call:
        if self.workload.reference is not None:  # it takes derivatives
            return function
        mode = self.torch.inference_mode

        def call(*inputs: Any) -> Any:
            with mode():
                return function(*inputs)

        return call

    def build(self) -> Call:
        return self.inference(self.function())


SYSTEM = Torch
