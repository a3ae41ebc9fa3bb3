"""ONNX Runtime on an ONNX model of the workload; writing the model is not timed, loading it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import Call, System


class OnnxRuntime(System):
    title = "ONNX Runtime"
    peer = "onnxruntime"
    packages = ("onnxruntime==1.31.1", "onnx", "numpy")
    distribution = "onnxruntime"
    module = "onnxruntime"
    compiles = True

    def load(self, threads: int) -> None:
        import onnxruntime

        self.ort = onnxruntime
        self.threads = threads

    def to_native(self, array: np.ndarray) -> Any:
        return array

    def prepare(self, workload: Any, inputs: Sequence[np.ndarray], weights: dict[str, np.ndarray]) -> None:
        from onnx_graph import record

        super().prepare(workload, inputs, {})
        self.model = record(workload, inputs, weights)

    def build(self) -> Call:
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        session = self.ort.InferenceSession(self.model, options, providers=["CPUExecutionProvider"])
        names = [item.name for item in session.get_inputs()]
        run = session.run

        def call(*inputs: Any) -> Any:
            return tuple(run(None, dict(zip(names, inputs, strict=True))))

        return call


SYSTEM = OnnxRuntime
