"""NumPy, as its users write it; in float64 also the reference that every output is checked against."""

from __future__ import annotations

from typing import Any

import numpy as np
from adapter import Adapter
from workloads import Workload

from . import Call, System


class NumpyAdapter(Adapter):
    def __init__(self, dtype: Any = np.float32) -> None:
        self.dtype = dtype

    exp = staticmethod(np.exp)
    tanh = staticmethod(np.tanh)
    sqrt = staticmethod(np.sqrt)
    where = staticmethod(np.where)
    matmul = staticmethod(np.matmul)
    maximum = staticmethod(np.maximum)
    reshape = staticmethod(np.reshape)
    permute = staticmethod(np.transpose)

    def erf(self, x: Any) -> Any:
        from scipy.special import erf

        return erf(x)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return np.sum(x, axis, keepdims=keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return np.max(x, axis, keepdims=keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return np.mean(x, axis, keepdims=keepdims)

    def take(self, table: Any, indices: Any) -> Any:
        return table[indices]

    def concat(self, xs: Any, axis: int) -> Any:
        return np.concatenate(xs, axis)

    def slice(self, x: Any, axis: int, start: int, stop: int) -> Any:
        place = [slice(None)] * x.ndim
        place[axis] = slice(start, stop)
        return x[tuple(place)]

    def to_float(self, x: Any) -> Any:
        return x.astype(self.dtype)

    def _windows(self, x: Any, size: tuple[int, int], stride: int, padding: int, fill: float) -> Any:
        around = ((0, 0), (0, 0), (padding, padding), (padding, padding))
        padded = np.pad(x, around, constant_values=fill)
        return np.lib.stride_tricks.sliding_window_view(padded, size, (2, 3))[:, :, ::stride, ::stride]

    def conv(self, x: Any, weight: Any, stride: int = 1, padding: int = 0) -> Any:
        out, into, high, wide = weight.shape
        windows = self._windows(x, (high, wide), stride, padding, 0.0)
        b, _, h, w = windows.shape[:4]
        columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(b * h * w, into * high * wide)
        product = columns @ weight.reshape(out, -1).T
        return product.reshape(b, h, w, out).transpose(0, 3, 1, 2)

    def max_pool(self, x: Any, size: int, stride: int, padding: int) -> Any:
        return self._windows(x, (size, size), stride, padding, -np.inf).max((4, 5))

    def while_loop(self, condition: Any, body: Any, state: tuple) -> tuple:
        while condition(*state):
            state = body(*state)
        return state

    def scan(self, step: Any, carry: tuple, xs: Any) -> tuple:
        outputs = []
        for x in xs:
            carry, y = step(carry, x)
            outputs.append(y)
        return carry, np.stack(outputs)


def reference(workload: Workload) -> list[np.ndarray]:
    """The outputs in float64. Integers stay what they are: their arithmetic is exact."""
    inputs, weights = workload.data()

    def wide(array: np.ndarray) -> np.ndarray:
        return array.astype(np.float64) if array.dtype == np.float32 else array

    if workload.reference is not None:
        return workload.reference(*(wide(array) for array in inputs))
    wide_weights = {name: wide(value) for name, value in weights.items()}
    results = []
    for size in workload.batches or (None,):
        cut = [wide(array if size is None else resized(array, size)) for array in inputs]
        out = workload.program(NumpyAdapter(np.float64), wide_weights, *cut)
        results += [np.asarray(part) for part in (out if isinstance(out, tuple) else (out,))]
    return results


def resized(array: np.ndarray, size: int) -> np.ndarray:
    """The array with this size of its first axis, its rows repeated."""
    return np.ascontiguousarray(np.resize(array, (size, *array.shape[1:])))


class Numpy(System):
    title = "NumPy"
    distribution = "numpy"
    module = "numpy"

    @staticmethod
    def environ(threads: int) -> dict[str, str]:
        variables = {"OPENBLAS_NUM_THREADS": str(threads)}
        # OpenBLAS takes a new AMD processor for a Haswell and leaves half of its width unused.
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
        if "avx512f" in flags and "avx512vl" in flags:
            variables["OPENBLAS_CORETYPE"] = "SkylakeX"
        return variables

    def load(self, threads: int) -> None:
        pass

    def to_native(self, array: np.ndarray) -> Any:
        return array

    def build(self) -> Call:
        workload, weights = self.workload, self.weights
        float64 = any(array.dtype == np.float64 for array in self.example)
        m = NumpyAdapter(np.float64 if float64 else np.float32)
        return lambda *inputs: workload.program(m, weights, *inputs)


SYSTEM = Numpy
