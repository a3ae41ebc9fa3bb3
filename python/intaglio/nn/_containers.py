"""Modules made of modules, and of parameters by number or name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import _intaglio
from ._module import Module, Parameter

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


class ParameterList(Module):
    """A list of parameters, named by their places.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> weights = nn.ParameterList([ig.ones(2), ig.zeros(3)])
    >>> [(name, p.shape) for name, p in weights.named_parameters()]
    [('0', (2,)), ('1', (3,))]
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.size = 0
        self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Puts a parameter behind the others. Returns the list."""
        setattr(self, str(self.size), Parameter(value))
        self.size += 1
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Puts several behind the others. Returns the list."""
        for value in values:
            self.append(value)
        return self

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Tensor:
        parameter: Tensor = getattr(self, str(range(self.size)[index]))
        return parameter

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(range(self.size)[index]), Parameter(value))
        self.__dict__["_parameters"] = {str(i): None for i in range(self.size)}

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(self.size))


class ParameterDict(Module):
    """Parameters by name, which stand in its paths.

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> weights = nn.ParameterDict({"left": ig.ones(2)})
    >>> weights["right"] = ig.zeros(2)
    >>> [name for name, _ in weights.named_parameters()]
    ['left', 'right']
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        for name, value in (values or {}).items():
            self[name] = value

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._parameters:
            raise KeyError(name)
        parameter: Tensor = self.__dict__[name]
        return parameter

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, Parameter(value))

    def __delitem__(self, name: str) -> None:
        delattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._parameters))

    def keys(self) -> list[str]:
        """The names."""
        return list(self)

    def values(self) -> list[Tensor]:
        """The parameters."""
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, Tensor]]:
        """Names and parameters."""
        return [(name, self[name]) for name in self]
