"""The networks of bench/networks.py: models that everyone knows and blocks of them, built of two systems' layers alike.

A network gets `m`, the namespace of a system (`bench/network_worker.py` says what is in it: `m.nn` holds its layers),
and gives a module. All weights are set afterwards, by their names. They are of many kinds on purpose: what is measured
is whether any of them is slow, forwards and with the gradients of all weights.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

GRADIENT = ".gradient"  # what the name of a network's gradients ends in


@dataclass(frozen=True)
class Network:
    name: str
    build: Callable[[Any], Any]
    shapes: tuple[tuple[int, ...], ...]  # of its float32 inputs
    whole: bool = False  # a network as users have it, not a block of one

    def inputs(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        return [rng.standard_normal(shape).astype(np.float32) for shape in self.shapes]

    @staticmethod
    def weights(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
        """Of each name; variances are positive, and what is summed over stays as large as it was."""
        rng = np.random.default_rng(1)
        out = {}
        for name, shape in sorted(shapes.items()):
            values = rng.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))
            out[name] = (np.abs(values) + 1 if name.endswith("running_var") else values).astype(np.float32)
        return out


NETWORKS: list[Network] = []
BATCH = "@8"  # behind a network's name: of eight images at once


def named(name: str) -> Network:
    one = next(network for network in NETWORKS if network.name == name.removesuffix(BATCH))
    if not name.endswith(BATCH):
        return one
    batch = int(BATCH[1:])
    return replace(one, name=name, shapes=tuple((batch * first, *rest) for first, *rest in one.shapes))


def batches() -> list[str]:
    """The networks of one image, by name, that are written for any number of them."""
    one_only = ("shufflenet_28", "vit_tiny")  # their reshapes and embeddings tell how many there are
    return [
        network.name + BATCH
        for network in NETWORKS
        if len(network.shapes[0]) == 4 and network.shapes[0][0] == 1 and network.name not in one_only
    ]


def network(*shapes: tuple[int, ...], whole: bool = False) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Adds the function as a network of inputs of these shapes."""

    def add(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        NETWORKS.append(Network(build.__name__, build, shapes, whole))
        return build

    return add


for _part in ("images", "sequences", "whole"):
    importlib.import_module(f".{_part}", __name__)
