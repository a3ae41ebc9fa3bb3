"""Writes a network of bench/network_list as an ONNX model, by torch's exporter, in torch's environment.

    python bench/network_export.py NETWORK FILE

ONNX Runtime and OpenVINO run the file: writing it is on no clock.
"""

from __future__ import annotations

import sys

from network_list import named
from network_worker import TorchLayers


def main(name: str, file: str) -> None:
    layers = TorchLayers(threads=1, compiles=False)
    network = named(name)
    model = layers.model(network, training=False)
    inputs = tuple(layers.torch.from_numpy(array) for array in network.inputs())
    with layers.torch.inference_mode():
        layers.torch.onnx.export(model, inputs, file, dynamo=True, external_data=False, verbose=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
