"""jax.jit on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from adapter import Adapter

from . import Call, System


class JaxAdapter(Adapter):
    def __init__(self) -> None:
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp = jax, jnp
        self.exp, self.tanh, self.sqrt = jnp.exp, jnp.tanh, jnp.sqrt
        self.sin, self.cos, self.abs, self.stack = jnp.sin, jnp.cos, jnp.abs, jnp.stack
        self.erf, self.sigmoid, self.relu = jax.scipy.special.erf, jax.nn.sigmoid, jax.nn.relu
        self.maximum, self.where, self.matmul = jnp.maximum, jnp.where, jnp.matmul
        self.reshape, self.permute = jnp.reshape, jnp.transpose
        self.scan, self.fori_loop, self.vmap = jax.lax.scan, jax.lax.fori_loop, jax.vmap

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.jnp.sum(x, axis, keepdims=keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.jnp.max(x, axis, keepdims=keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.jnp.mean(x, axis, keepdims=keepdims)

    def softmax(self, x: Any, axis: int) -> Any:
        return self.jax.nn.softmax(x, axis)

    def log_softmax(self, x: Any, axis: int) -> Any:
        return self.jax.nn.log_softmax(x, axis)

    def value_and_grad(self, loss: Any, parameters: tuple) -> tuple:
        return self.jax.value_and_grad(loss)(parameters)

    def gelu(self, x: Any, approximate: bool = False) -> Any:
        return self.jax.nn.gelu(x, approximate=approximate)

    def take(self, table: Any, indices: Any) -> Any:
        return table[indices]

    def concat(self, xs: Any, axis: int) -> Any:
        return self.jnp.concatenate(xs, axis)

    def slice(self, x: Any, axis: int, start: int, stop: int) -> Any:
        return self.jax.lax.slice_in_dim(x, start, stop, axis=axis % x.ndim)

    def to_float(self, x: Any) -> Any:
        return x.astype(self.jnp.float32)

    def conv(self, x: Any, weight: Any, stride: int = 1, padding: int = 0) -> Any:
        around = [(padding, padding)] * 2
        return self.jax.lax.conv_general_dilated(x, weight, (stride, stride), around)

    def max_pool(self, x: Any, size: int, stride: int, padding: int) -> Any:
        around = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
        window = (1, 1, size, size), (1, 1, stride, stride)
        return self.jax.lax.reduce_window(x, -np.inf, self.jax.lax.max, *window, around)

    def while_loop(self, condition: Any, body: Any, state: tuple) -> tuple:
        return self.jax.lax.while_loop(lambda s: condition(*s), lambda s: body(*s), state)


class Jax(System):
    title = "jax.jit"
    peer = "jax"
    packages = ("jax==0.10.2", "numpy")
    distribution = "jax"
    module = "jax"
    compiles = True

    @staticmethod
    def environ(threads: int) -> dict[str, str]:
        # The pool of XLA takes its size from the processors that the process may use.
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1" if threads == 1 else ""
        return {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false"}

    def load(self, threads: int) -> None:
        import jax

        self.jax = jax
        self.m = JaxAdapter()

    def prepare(self, workload: Any, inputs: Any, weights: Any) -> None:
        if any(array.dtype == np.float64 for array in inputs):
            self.jax.config.update("jax_enable_x64", True)
        super().prepare(workload, inputs, weights)

    def to_native(self, array: np.ndarray) -> Any:
        return self.jax.numpy.asarray(array)

    def build(self) -> Call:
        # Weights are arguments: as constants they would be folded and copied into the program.
        program, m, weights = self.workload.program, self.m, self.weights
        jitted = self.jax.jit(lambda weights, *inputs: program(m, weights, *inputs))
        ready = self.jax.block_until_ready
        return lambda *inputs: ready(jitted(weights, *inputs))


SYSTEM = Jax
