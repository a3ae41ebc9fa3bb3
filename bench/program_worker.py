"""The child process of bench/programs.py: one system, one program of bench/program_list.

It is asked and answers as bench/worker.py is.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import systems
import worker
from program_list import PROGRAMS


class IntaglioSpace:
    """What a program may use of Intaglio."""

    def __init__(self, threads: int) -> None:
        import intaglio as ig

        ig.set_num_threads(threads)
        self.xp = ig
        self.jit, self.grad, self.hessian, self.vmap = ig.jit, ig.grad, ig.hessian, ig.vmap
        self.scan, self.fori_loop = ig.scan, ig.fori_loop
        self.softmax, self.log_softmax, self.sigmoid, self.erf = ig.softmax, ig.log_softmax, ig.sigmoid, ig.erf
        self.logsumexp, self.erfc, self.lgamma, self.i0e = ig.logsumexp, ig.erfc, ig.lgamma, ig.special.i0e
        self.erfinv = ig.erfinv
        self.exp2, self.cbrt, self.jacrev = ig.exp2, ig.cbrt, ig.jacrev

    def top_k(self, x: Any, k: int) -> Any:
        return self.xp.top_k(x, k)

    def cumulative_max(self, x: Any, axis: int) -> Any:
        return self.xp.cumulative_max(x, axis=axis)

    def while_loop(self, going: Callable[[Any], Any], step: Callable[[Any], Any], state: Any) -> Any:
        return self.xp.while_loop(going, step, state)

    def one_hot(self, x: Any, size: int) -> Any:
        return self.xp.one_hot(x, size)

    def segment_sum(self, x: Any, segments: Any, size: int) -> Any:
        return self.xp.segment_sum(x, segments, size)

    def conv(self, x: Any, w: Any) -> Any:
        return self.xp.conv(x, w)

    def to_numpy(self, value: Any) -> np.ndarray:
        return value.numpy()

    def finished(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def settle(self) -> None:
        self.xp.block_until_compiled()


class JaxSpace:
    """The same of JAX."""

    def __init__(self, threads: int) -> None:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        self.module, self.xp = jax, jnp
        self.jit, self.grad, self.hessian, self.vmap = jax.jit, jax.grad, jax.hessian, jax.vmap
        self.scan, self.fori_loop, self.while_loop = jax.lax.scan, jax.lax.fori_loop, jax.lax.while_loop
        self.softmax, self.log_softmax, self.sigmoid = jax.nn.softmax, jax.nn.log_softmax, jax.nn.sigmoid
        special = jax.scipy.special
        self.erf, self.erfc, self.lgamma, self.i0e = special.erf, special.erfc, special.gammaln, special.i0e
        self.erfinv = special.erfinv
        self.logsumexp, self.exp2, self.cbrt, self.jacrev = jax.nn.logsumexp, jnp.exp2, jnp.cbrt, jax.jacrev

    def top_k(self, x: Any, k: int) -> Any:
        return self.module.lax.top_k(x, k)

    def cumulative_max(self, x: Any, axis: int) -> Any:
        return self.module.lax.cummax(x, axis)

    def one_hot(self, x: Any, size: int) -> Any:
        return self.module.nn.one_hot(x, size, dtype=self.xp.float32)

    def segment_sum(self, x: Any, segments: Any, size: int) -> Any:
        return self.module.ops.segment_sum(x, segments, size)

    def conv(self, x: Any, w: Any) -> Any:
        return self.module.lax.conv(x, w, (1,) * (x.ndim - 2), "VALID")

    def to_numpy(self, value: Any) -> np.ndarray:
        return np.asarray(value)

    def finished(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arrays: self.module.block_until_ready(function(*arrays))

    def settle(self) -> None:
        """It has compiled in the first call."""


class ProgramRunner(worker.Runner):
    """A program of the list in the place of a workload."""

    settles = systems.get("intaglio").settles

    def __init__(self, command: dict[str, Any]) -> None:
        space = {"intaglio": IntaglioSpace, "jax": JaxSpace}[command["system"]](command["threads"])
        program = next(p for p in PROGRAMS if p.name == command["item"])
        rng = np.random.default_rng(0)
        self.inputs = tuple(space.xp.asarray(make(rng)) for make in program.make)
        self.call = space.finished(space.jit(lambda *arrays: program.run(space, *arrays)))
        self.space, self.budget, self.out = space, command["budget"], command["outputs"]

    def settle(self) -> None:
        self.space.settle()

    def start(self) -> dict[str, Any]:
        start = time.perf_counter()
        found = self.call(*self.inputs)
        first = time.perf_counter() - start
        parts = found if isinstance(found, (tuple, list)) else (found,)
        np.savez(self.out, *(self.space.to_numpy(part) for part in parts))
        self.warm()
        return {"first": first, "peak": worker.memory()["peak"]}


if __name__ == "__main__":
    code = worker.main(ProgramRunner)
    sys.stderr.flush()
    os._exit(code)  # as the workers of workloads end
