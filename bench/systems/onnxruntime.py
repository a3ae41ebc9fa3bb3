"""ONNX Runtime on an ONNX model of the workload; writing the model is not timed, loading it is."""

from __future__ import annotations

from typing import Any

from onnx_system import OnnxSystem

from . import Call


class OnnxRuntime(OnnxSystem):
    title = "ONNX Runtime"
    peer = "onnxruntime"
    packages = ("onnxruntime==1.31.1", "onnx", "numpy")
    distribution = "onnxruntime"
    module = "onnxruntime"

    def load(self, threads: int) -> None:
        import onnxruntime

        self.ort = onnxruntime
        self.threads = threads

    def build(self) -> Call:
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors alone: not each weight that its optimiser folds away
        session = self.ort.InferenceSession(self.model, options, providers=["CPUExecutionProvider"])
        names = [item.name for item in session.get_inputs()]
        run = session.run

        def call(*inputs: Any) -> Any:
            return tuple(run(None, dict(zip(names, inputs, strict=True))))

        return call


SYSTEM = OnnxRuntime
