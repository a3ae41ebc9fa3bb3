"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import _intaglio
from ._module import Module

Tensor = _intaglio.Tensor


class Sequential(Module):
    """Calls each in turn on what the one before gave: modules, or any functions.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> k1, k2 = ig.random.split(ig.random.key(0))
    >>> model = nn.Sequential(nn.Linear(4, 8, key=k1), ig.relu, nn.Linear(8, 2, key=k2))
    >>> model(ig.ones((3, 4))).shape
    (3, 2)
    >>> [name for name, _ in model.named_parameters()]
    ['0.weight', '0.bias', '2.weight', '2.bias']
    """

    def __init__(self, *layers: Callable[..., Any]) -> None:
        self.layers = list(layers)
        for i, layer in enumerate(layers):
            if isinstance(layer, Module):
                layer.__dict__["_label"] = str(i)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((str(i), layer) for i, layer in enumerate(self.layers) if isinstance(layer, Module))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int) -> Any:
        return self.layers[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)


class ModuleList(Module):
    """A list of modules. A plain list in an attribute does as well; this one is a module itself."""

    def __init__(self, modules: Any = ()) -> None:
        self.layers = list(modules)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((str(i), layer) for i, layer in enumerate(self.layers))

    def append(self, module: Module) -> ModuleList:
        self.layers = [*self.layers, module]
        return self

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int) -> Module:
        module: Module = self.layers[index]
        return module

    def __iter__(self) -> Iterator[Module]:
        return iter(self.layers)


class ModuleDict(Module):
    """Modules by name. A plain dict in an attribute does as well; this one is a module itself."""

    def __init__(self, modules: Any = ()) -> None:
        self.layers = dict(modules)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return iter(self.layers.items())

    def __getitem__(self, name: str) -> Module:
        module: Module = self.layers[name]
        return module

    def __setitem__(self, name: str, module: Module) -> None:
        self.layers = {**self.layers, name: module}

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.layers)
