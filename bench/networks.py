"""Models that everyone knows, and blocks of them, in Intaglio and in torch, side by side: is any of them slow?

    make bench-networks                                  all of bench/network_list, forwards and with gradients
    make bench-networks ARGS="--only lstm --threads 2"
    make bench-networks ARGS="--peer torch_compile"      beside torch.compile, which takes its time to compile
    make bench-networks ARGS="--only @8"                 of eight images at once, forwards
    make bench-networks ARGS="--peer openvino"           forwards, beside OpenVINO (or onnxruntime) on an exported model

Each system has a process of its own for each network; they take turns, warm, and the results are compared: what the
module gives, or (`.gradient`) a loss and its gradients by all weights, in training mode. Writes
bench/results/networks.json and a Markdown table and a picture beside it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import peers
import programs
from network_list import BATCH, GRADIENT, NETWORKS, batches

ONNX = ("onnxruntime", "openvino")  # peers that run a model that torch exports, which has no gradients


def exported(item: str, system: str, folder: Path) -> dict[str, str]:
    """The model that a peer of ONNX runs, written before any clock starts."""
    if system not in ONNX:
        return {}
    peers.install(["torch"])
    if not peers.installed("torch"):
        raise programs.WorkerError("torch, which would export it, could not be installed")
    file = folder / "model.onnx"
    script = Path(__file__).with_name("network_export.py")
    done = subprocess.run([peers.python_of("torch"), script, item, file], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise programs.WorkerError(f"torch does not export it: {last}")
    return {"model": str(file)}


SUITE = programs.Suite(
    "network",
    [name + of for name in [network.name for network in NETWORKS] + batches() for of in ("", GRADIENT)],
    "network_worker.py",
    {
        "torch": "torch eager",
        "torch_compile": "torch.compile",
        "onnxruntime": "ONNX Runtime",
        "openvino": "OpenVINO",
    },
    together=True,
    # Dozens of batch norms of one image: in float32 gradients are off by percents. Those of MobileNetV2 are 4.9 % from
    # float64's in torch, 0.8 here.
    amplify={
        network.name + of + GRADIENT: 0.1 if network.name == "mobilenet_v2" else 0.03
        for network in NETWORKS
        if network.whole
        for of in ("", BATCH)
    },
    firsts=True,
    asked=BATCH,
    runs=lambda item, system: not (system in ONNX and item.endswith(GRADIENT)),
    before=exported,
)

if __name__ == "__main__":
    sys.exit(programs.main(SUITE, __doc__))
