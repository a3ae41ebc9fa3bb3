"""tf.function, compiled by XLA."""

from __future__ import annotations

from typing import Any

import numpy as np
from adapter import Adapter

from . import Call, System


class TensorFlowAdapter(Adapter):
    def __init__(self) -> None:
        import tensorflow as tf

        self.tf = tf
        self.exp, self.tanh, self.erf, self.sqrt = tf.exp, tf.tanh, tf.math.erf, tf.sqrt
        self.sigmoid, self.relu, self.maximum, self.matmul = tf.sigmoid, tf.nn.relu, tf.maximum, tf.matmul
        self.reshape, self.permute, self.concat, self.take = tf.reshape, tf.transpose, tf.concat, tf.gather

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        return self.tf.where(condition, x, y)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.tf.reduce_sum(x, axis, keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.tf.reduce_max(x, axis, keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.tf.reduce_mean(x, axis, keepdims)

    def softmax(self, x: Any, axis: int) -> Any:
        return self.tf.nn.softmax(x, axis)

    def log_softmax(self, x: Any, axis: int) -> Any:
        return self.tf.nn.log_softmax(x, axis)

    def value_and_grad(self, loss: Any, parameters: tuple) -> tuple:
        with self.tf.GradientTape() as tape:
            tape.watch(parameters)
            value = loss(parameters)
        return value, tape.gradient(value, parameters)

    def gelu(self, x: Any, approximate: bool = False) -> Any:
        return self.tf.nn.gelu(x, approximate)

    def slice(self, x: Any, axis: int, start: int, stop: int) -> Any:
        place = [slice(None)] * len(x.shape)
        place[axis] = slice(start, stop)
        return x[tuple(place)]

    def to_float(self, x: Any) -> Any:
        return self.tf.cast(x, self.tf.float32)

    def conv(self, x: Any, weight: Any, stride: int = 1, padding: int = 0) -> Any:
        # The library's own layout on a CPU is channels last.
        around = [[0, 0], [padding, padding], [padding, padding], [0, 0]]
        last = self.tf.transpose(x, (0, 2, 3, 1))
        out = self.tf.nn.conv2d(last, self.tf.transpose(weight, (2, 3, 1, 0)), stride, around)
        return self.tf.transpose(out, (0, 3, 1, 2))

    def max_pool(self, x: Any, size: int, stride: int, padding: int) -> Any:
        around = [[0, 0], [0, 0], [padding, padding], [padding, padding]]
        padded = self.tf.pad(x, around, constant_values=float("-inf"))
        last = self.tf.transpose(padded, (0, 2, 3, 1))
        return self.tf.transpose(self.tf.nn.max_pool2d(last, size, stride, "VALID"), (0, 3, 1, 2))

    def while_loop(self, condition: Any, body: Any, state: tuple) -> tuple:
        return tuple(self.tf.while_loop(condition, body, state))

    def scan(self, step: Any, carry: tuple, xs: Any) -> tuple:
        tf = self.tf
        steps = xs.shape[0]
        outputs = tf.TensorArray(xs.dtype, steps, element_shape=carry[0].shape)

        def body(i: Any, carry: tuple, outputs: Any) -> tuple:
            carry, y = step(carry, xs[i])
            return i + 1, carry, outputs.write(i, y)

        _, carry, outputs = tf.while_loop(lambda i, *_: i < steps, body, (0, tuple(carry), outputs))
        return carry, outputs.stack()


class TensorFlow(System):
    title = "tf.function, XLA"
    peer = "tensorflow"
    packages = ("tensorflow-cpu==2.21.0", "numpy")
    distribution = "tensorflow_cpu"
    module = "tensorflow"
    compiles = True

    @staticmethod
    def environ(threads: int) -> dict[str, str]:
        return {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

    def load(self, threads: int) -> None:
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.tf = tf
        self.m = TensorFlowAdapter()

    def to_native(self, array: np.ndarray) -> Any:
        return self.tf.constant(array)

    def to_numpy(self, native: Any) -> np.ndarray:
        return native.numpy()

    def build(self) -> Call:
        program, m, weights = self.workload.program, self.m, self.weights
        # A CPU call is finished when it returns.
        return self.tf.function(lambda *inputs: program(m, weights, *inputs), jit_compile=True)


SYSTEM = TensorFlow
