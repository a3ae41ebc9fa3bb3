"""Records a workload as an ONNX model: tensors are proxies that know their name, dtype and shape.

Sizes may be names (a batch that varies). Weights are initialisers; where an operator wants another
arrangement of them (a transposed matrix, the gate order of LSTM), they are rearranged in advance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from adapter import Adapter
from onnx import TensorProto, helper, numpy_helper

Size = int | str
OPSET = 20


class Proxy:
    """A value of the graph that is being written."""

    def __init__(self, graph: Recorder, name: str, dtype: Any, shape: Sequence[Size], value: Any = None) -> None:
        self.graph, self.name, self.value = graph, name, value
        self.dtype, self.shape = np.dtype(dtype), tuple(shape)

    def _binary(self, op: str, x: Any, y: Any, dtype: Any = None) -> Proxy:
        return self.graph.binary(op, x, y, dtype)

    def __add__(self, y: Any) -> Proxy:
        return self._binary("Add", self, y)

    def __radd__(self, y: Any) -> Proxy:
        return self._binary("Add", y, self)

    def __sub__(self, y: Any) -> Proxy:
        return self._binary("Sub", self, y)

    def __rsub__(self, y: Any) -> Proxy:
        return self._binary("Sub", y, self)

    def __mul__(self, y: Any) -> Proxy:
        return self._binary("Mul", self, y)

    def __rmul__(self, y: Any) -> Proxy:
        return self._binary("Mul", y, self)

    def __truediv__(self, y: Any) -> Proxy:
        return self._binary("Div", self, y)

    def __rtruediv__(self, y: Any) -> Proxy:
        return self._binary("Div", y, self)

    def __gt__(self, y: Any) -> Proxy:
        return self._binary("Greater", self, y, bool)

    def __lt__(self, y: Any) -> Proxy:
        return self._binary("Less", self, y, bool)

    def __neg__(self) -> Proxy:
        return self.graph.node("Neg", [self], self.dtype, self.shape)


def broadcast(*shapes: Sequence[Size]) -> tuple[Size, ...]:
    """NumPy's rule, with named sizes: a name stands against 1 and itself."""
    rank = max(len(shape) for shape in shapes)
    out: list[Size] = []
    for column in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        sizes = {size for size in column if size != 1} or {1}
        if len(sizes) > 1:
            raise ValueError(f"the shapes {shapes} do not broadcast")
        out.append(sizes.pop())
    return tuple(out)


class Recorder(Adapter):
    def __init__(self, float_type: Any) -> None:
        self.float_type = np.dtype(float_type)
        self.nodes: list[list[Any]] = [[]]  # the graph, and the bodies of loops that are open
        self.initializers: dict[str, np.ndarray] = {}
        self.inputs: list[Any] = []
        self.count = 0

    # ---- writing -----------------------------------------------------------------------------------------
    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"

    def info(self, name: str, dtype: Any, shape: Sequence[Size]) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape))

    def input(self, name: str, dtype: Any, shape: Sequence[Size]) -> Proxy:
        self.inputs.append(self.info(name, dtype, shape))
        return Proxy(self, name, dtype, shape)

    def constant(self, value: np.ndarray, stem: str = "const") -> Proxy:
        name = self.fresh(stem)
        self.initializers[name] = np.array(value, order="C")
        return Proxy(self, name, value.dtype, value.shape, value)

    def node(self, op: str, inputs: Sequence[Proxy | None], dtype: Any, shape: Sequence[Size], **attrs: Any) -> Proxy:
        name = self.fresh(op.lower())
        names = ["" if proxy is None else proxy.name for proxy in inputs]
        self.nodes[-1].append(helper.make_node(op, names, [name], name=name, **attrs))
        return Proxy(self, name, dtype, shape)

    def proxy(self, x: Any, dtype: Any) -> Proxy:
        return x if isinstance(x, Proxy) else self.constant(np.asarray(x, dtype))

    def binary(self, op: str, x: Any, y: Any, dtype: Any = None) -> Proxy:
        common = (x if isinstance(x, Proxy) else y).dtype
        x, y = self.proxy(x, common), self.proxy(y, common)
        return self.node(op, [x, y], dtype or common, broadcast(x.shape, y.shape))

    def model(self, outputs: Sequence[Proxy]) -> Any:
        graph = helper.make_graph(
            self.nodes[0],
            "workload",
            self.inputs,
            [self.info(out.name, out.dtype, out.shape) for out in outputs],
            [numpy_helper.from_array(value, name) for name, value in self.initializers.items()],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        onnx.checker.check_model(made)
        return made

    # ---- the adapter -------------------------------------------------------------------------------------
    def unary(self, op: str, x: Proxy) -> Proxy:
        return self.node(op, [x], x.dtype, x.shape)

    def exp(self, x: Any) -> Any:
        return self.unary("Exp", x)

    def tanh(self, x: Any) -> Any:
        return self.unary("Tanh", x)

    def erf(self, x: Any) -> Any:
        return self.unary("Erf", x)

    def sqrt(self, x: Any) -> Any:
        return self.unary("Sqrt", x)

    def sigmoid(self, x: Any) -> Any:
        return self.unary("Sigmoid", x)

    def relu(self, x: Any) -> Any:
        return self.unary("Relu", x)

    def maximum(self, x: Any, y: Any) -> Any:
        return self.binary("Max", x, y)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        x = self.proxy(x, self.float_type)
        y = self.proxy(y, x.dtype)
        return self.node("Where", [condition, x, y], x.dtype, broadcast(condition.shape, x.shape, y.shape))

    def matmul(self, x: Any, y: Any) -> Any:
        shape = (*broadcast(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
        return self.node("MatMul", [x, y], x.dtype, shape)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        if len(x.shape) == 2:
            return self.node("Gemm", [x, weight, bias], x.dtype, (x.shape[0], weight.shape[0]), transB=1)
        return self.matmul(x, self.constant(weight.value.T, weight.name)) + bias

    def reduce(self, op: str, x: Proxy, axis: Any, keepdims: bool) -> Proxy:
        rank = len(x.shape)
        if axis is None:
            return self.node(op, [x], x.dtype, (1,) * rank if keepdims else (), keepdims=int(keepdims))
        axes = [a % rank for a in (axis if isinstance(axis, tuple) else (axis,))]
        shape = [1 if i in axes else size for i, size in enumerate(x.shape) if keepdims or i not in axes]
        return self.node(op, [x, self.constant(np.array(axes))], x.dtype, shape, keepdims=int(keepdims))

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduce("ReduceSum", x, axis, keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduce("ReduceMax", x, axis, keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduce("ReduceMean", x, axis, keepdims)

    def softmax(self, x: Any, axis: int) -> Any:
        return self.node("Softmax", [x], x.dtype, x.shape, axis=axis)

    def layer_norm(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        return self.node("LayerNormalization", [x, weight, bias], x.dtype, x.shape, axis=-1, epsilon=eps)

    def gelu(self, x: Any, approximate: bool = False) -> Any:
        return self.node("Gelu", [x], x.dtype, x.shape, approximate="tanh" if approximate else "none")

    def take(self, table: Any, indices: Any) -> Any:
        return self.node("Gather", [table, indices], table.dtype, (*indices.shape, *table.shape[1:]), axis=0)

    def reshape(self, x: Any, shape: Any) -> Any:
        shape = list(shape)
        if -1 in shape:
            shape[shape.index(-1)] = math.prod(x.shape) // -math.prod(shape)
        return self.node("Reshape", [x, self.constant(np.array(shape, np.int64))], x.dtype, shape)

    def permute(self, x: Any, axes: Any) -> Any:
        return self.node("Transpose", [x], x.dtype, [x.shape[a] for a in axes], perm=list(axes))

    def concat(self, xs: Any, axis: int) -> Any:
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        return self.node("Concat", xs, xs[0].dtype, shape, axis=axis)

    def slice(self, x: Any, axis: int, start: int, stop: int) -> Any:
        shape = list(x.shape)
        shape[axis] = stop - start
        parts = [self.constant(np.array([value])) for value in (start, stop, axis)]
        return self.node("Slice", [x, *parts], x.dtype, shape)

    def to_float(self, x: Any) -> Any:
        return self.node("Cast", [x], self.float_type, x.shape, to=helper.np_dtype_to_tensor_dtype(self.float_type))

    def conv(self, x: Any, weight: Any, stride: int = 1, padding: int = 0) -> Any:
        b, _, h, w = x.shape
        out, _, high, wide = weight.shape
        sizes = ((h + 2 * padding - high) // stride + 1, (w + 2 * padding - wide) // stride + 1)
        return self.node(
            "Conv",
            [x, weight],
            x.dtype,
            (b, out, *sizes),
            kernel_shape=[high, wide],
            strides=[stride] * 2,
            pads=[padding] * 4,
        )

    def max_pool(self, x: Any, size: int, stride: int, padding: int) -> Any:
        b, c, h, w = x.shape
        sizes = ((h + 2 * padding - size) // stride + 1, (w + 2 * padding - size) // stride + 1)
        return self.node(
            "MaxPool",
            [x],
            x.dtype,
            (b, c, *sizes),
            kernel_shape=[size] * 2,
            strides=[stride] * 2,
            pads=[padding] * 4,
        )

    def batch_norm(self, x: Any, scale: Any, shift: Any, mean: Any, variance: Any, eps: float) -> Any:
        return self.node("BatchNormalization", [x, scale, shift, mean, variance], x.dtype, x.shape, epsilon=eps)

    def lstm(self, x: Any, w: Any, r: Any, bias: Any, h: Any, c: Any) -> Any:
        size = h.shape[-1]

        def gates(weight: Proxy) -> np.ndarray:
            i, f, g, o = np.split(weight.value, 4)
            return np.concatenate([i, o, f, g])[None]

        both = np.concatenate([gates(bias), np.zeros((1, 4 * size), bias.dtype)], 1)
        inputs = [
            x,
            *(self.constant(a) for a in (gates(w), gates(r), both)),
            None,
            self.constant(h.value[None]),
            self.constant(c.value[None]),
        ]
        steps, batch, _ = x.shape
        out = self.node("LSTM", inputs, x.dtype, (steps, 1, batch, size), hidden_size=size)
        return self.reshape(out, (steps, batch, size))

    def while_loop(self, condition: Callable[..., Any], body: Callable[..., tuple], state: tuple) -> tuple:
        first = condition(*state)
        turn, go = self.fresh("turn"), self.fresh("go")
        carried = [Proxy(self, self.fresh("state"), s.dtype, s.shape) for s in state]
        self.nodes.append([])
        after = body(*carried)
        again = condition(*after)
        # An output must be a node's own, not one of the body's inputs passed on.
        results = [self.unary("Identity", p) for p in (again, *after)]
        nodes = self.nodes.pop()
        graph = helper.make_graph(
            nodes,
            "body",
            [
                helper.make_tensor_value_info(turn, TensorProto.INT64, []),
                helper.make_tensor_value_info(go, TensorProto.BOOL, []),
                *(self.info(p.name, p.dtype, p.shape) for p in carried),
            ],
            [self.info(p.name, p.dtype, p.shape) for p in results],
        )
        outs = [Proxy(self, self.fresh("loop"), s.dtype, s.shape) for s in state]
        self.nodes[-1].append(
            helper.make_node("Loop", ["", first.name, *(s.name for s in state)], [p.name for p in outs], body=graph)
        )
        return tuple(outs)


def record(workload: Any, inputs: Sequence[np.ndarray], weights: dict[str, np.ndarray]) -> bytes:
    """The workload as the bytes of an ONNX model. With several batches the first axis of inputs is named."""
    float64 = any(array.dtype == np.float64 for array in inputs)
    m = Recorder(np.float64 if float64 else np.float32)
    proxies = []
    for i, array in enumerate(inputs):
        shape = ("batch", *array.shape[1:]) if workload.batches else array.shape
        proxies.append(m.input(f"input{i}", array.dtype, shape))
    constants = {name: m.constant(value, name) for name, value in weights.items()}
    out = workload.program(m, constants, *proxies)
    return m.model(out if isinstance(out, tuple) else (out,)).SerializeToString()
