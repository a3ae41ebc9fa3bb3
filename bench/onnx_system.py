"""What the systems share that run an ONNX model of the workload: writing it is not timed, loading it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from systems import System


class OnnxSystem(System):
    compiles = True

    def to_native(self, array: np.ndarray) -> Any:
        return array

    def prepare(self, workload: Any, inputs: Sequence[np.ndarray], weights: dict[str, np.ndarray]) -> None:
        from onnx_graph import record  # the system's own environment has onnx

        super().prepare(workload, inputs, {})
        self.model = record(workload, inputs, weights)
