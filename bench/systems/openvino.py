"""OpenVINO's CPU plug-in on an ONNX model of the workload, in its precision, tuned for one call's time."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx_system import OnnxSystem

from . import Call


class OpenVino(OnnxSystem):
    title = "OpenVINO"
    peer = "openvino"
    packages = ("openvino==2026.4.1", "onnx", "numpy")
    distribution = "openvino"
    module = "openvino"

    def load(self, threads: int) -> None:
        import openvino

        self.ov = openvino
        self.threads = threads

    def build(self) -> Call:
        core = self.ov.Core()
        settings = {
            "INFERENCE_NUM_THREADS": self.threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f64" if self.example[0].dtype == np.float64 else "f32",
        }
        request = core.compile_model(core.read_model(self.model), "CPU", settings).create_infer_request()

        def call(*inputs: Any) -> Any:
            # Shared: neither inputs nor outputs are copied.
            return tuple(request.infer(list(inputs), share_inputs=True, share_outputs=True).values())

        return call

    def to_numpy(self, native: Any) -> np.ndarray:
        return np.array(native)


SYSTEM = OpenVino
