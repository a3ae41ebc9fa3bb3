"""The child process of bench/networks.py: one system, one network of bench/network_list, forwards or with gradients.

It is asked and answers as bench/worker.py is.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import systems
import worker
from network_list import GRADIENT, Network, named
from program_worker import ProgramRunner


def composed(base: type) -> Callable[..., Any]:
    """Makes modules of parts and of a function of them."""

    class Composed(base):  # type: ignore[misc, valid-type]
        def __init__(self, way: Callable[..., Any], parts: dict[str, Any]) -> None:
            super().__init__()
            self.way = way
            for name, part in parts.items():
                setattr(self, name, part)

        def forward(self, *inputs: Any) -> Any:
            return self.way(self, *inputs)

    return lambda way, **parts: Composed(way, parts)


def first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


class IntaglioLayers:
    """What a network may use of Intaglio."""

    def __init__(self, threads: int) -> None:
        import intaglio as ig

        ig.set_num_threads(threads)
        self.ig, self.nn = ig, self
        self.compose = composed(ig.nn.Module)
        self.permute, self.tanh, self.sigmoid = ig.permute_dims, ig.tanh, ig.sigmoid
        self.key = ig.random.key(0)

    def __getattr__(self, name: str) -> Any:
        """A layer; what draws its weights takes a key. They are all set afterwards."""
        layer = getattr(self.ig.nn, name)
        if "key" not in inspect.signature(layer.__init__).parameters:
            return layer
        return lambda *given, **options: layer(*given, key=self.key, **options)

    def concat(self, parts: list[Any], axis: int) -> Any:
        return self.ig.concat(parts, axis=axis)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        return self.ig.scaled_dot_product_attention(q, k, v, causal=causal)

    def prepare(self, network: Network, gradient: bool) -> tuple[Callable[..., Any], list[Any]]:
        """A function of the inputs, and these."""
        model = network.build(self)
        model.train(gradient)
        weights = network.weights({name: value.shape for name, value in model.state_dict().items()})
        model.load_state_dict({name: self.ig.asarray(value) for name, value in weights.items()})

        def loss(*inputs: Any) -> Any:
            return self.ig.mean(first(model(*inputs)) ** 3)

        def gradients(*inputs: Any) -> Any:
            value, found = self.ig.nn.value_and_grad(model, loss)(*inputs)
            return (value, *(found[name] for name in sorted(found)))

        return gradients if gradient else model, [self.ig.asarray(array) for array in network.inputs()]

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.ig.jit(function)

    def settle(self) -> None:
        self.ig.block_until_compiled()

    def to_numpy(self, value: Any) -> np.ndarray:
        return value.numpy()


class TorchLayers:
    """The same of torch, eager or compiled."""

    def __init__(self, threads: int, compiles: bool) -> None:
        import torch

        torch.set_num_threads(threads)
        self.torch, self.nn, self.compiles = torch, torch.nn, compiles
        self.compose = composed(torch.nn.Module)
        self.permute, self.concat = torch.permute, torch.concat
        self.tanh, self.sigmoid = torch.tanh, torch.sigmoid

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        return self.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def model(self, network: Network, training: bool) -> Any:
        model = network.build(self)
        model.train(training)
        weights = network.weights({name: tuple(value.shape) for name, value in model.state_dict().items()})
        model.load_state_dict({name: self.torch.from_numpy(np.asarray(value)) for name, value in weights.items()})
        return model

    def prepare(self, network: Network, gradient: bool) -> tuple[Callable[..., Any], list[Any]]:
        model = self.model(network, training=gradient)
        run = self.torch.compile(model) if self.compiles else model
        parameters = [value for _, value in sorted(model.named_parameters())]

        def forward(*inputs: Any) -> Any:
            with self.torch.inference_mode():
                return run(*inputs)

        def gradients(*inputs: Any) -> Any:
            loss = self.torch.mean(first(run(*inputs)) ** 3)
            return (loss.detach(), *self.torch.autograd.grad(loss, parameters))

        return gradients if gradient else forward, [self.torch.from_numpy(array) for array in network.inputs()]

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def settle(self) -> None:
        """It compiles in the first calls, if at all."""

    def to_numpy(self, value: Any) -> np.ndarray:
        return value.numpy()


class OnnxModel:
    """A file of bench/network_export.py on a system that runs such; loading it belongs to the first call."""

    def __init__(self, system: str, file: str, threads: int) -> None:
        self.system = systems.get(system)
        self.system.load(threads)
        self.system.model = file
        self.to_numpy = self.system.to_numpy

    def prepare(self, network: Network, gradient: bool) -> tuple[Callable[..., Any], list[Any]]:
        assert not gradient
        self.system.example = tuple(network.inputs())
        loaded: list[Callable[..., Any]] = []

        def call(*inputs: Any) -> Any:
            if not loaded:
                loaded.append(self.system.build())
            return loaded[0](*inputs)

        return call, list(self.system.example)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def settle(self) -> None:
        """It compiles as it loads."""


class NetworkRunner(ProgramRunner):
    """A network of the list in the place of a program."""

    def __init__(self, command: dict[str, Any]) -> None:
        name, system, threads = command["item"], command["system"], command["threads"]
        layers: Any
        if system == "intaglio":
            layers = IntaglioLayers(threads)
        elif "model" in command:
            layers = OnnxModel(system, command["model"], threads)
        else:
            layers = TorchLayers(threads, compiles=system == "torch_compile")
        function, self.inputs = layers.prepare(named(name.removesuffix(GRADIENT)), name.endswith(GRADIENT))
        self.call = layers.compiled(function)
        self.space, self.budget, self.out = layers, command["budget"], command["outputs"]


if __name__ == "__main__":
    code = worker.main(NetworkRunner)
    sys.stderr.flush()
    os._exit(code)  # as the workers of workloads end
