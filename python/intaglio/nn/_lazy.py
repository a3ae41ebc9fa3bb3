"""Layers that take a size from their first input, and are from then on as their plain counterparts.

>>> import intaglio as ig
>>> from intaglio import nn
>>> layer = nn.LazyLinear(2, key=ig.random.key(0))
>>> layer
LazyLinear(out_features=2)
>>> layer(ig.ones((4, 3))).shape
(4, 2)
>>> layer
Linear(in_features=3, out_features=2, bias=True)
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from .. import _errors, _functions, _intaglio
from . import _layers, _norms
from ._layers import _needs_key
from ._module import Module

Tensor = _intaglio.Tensor


class _Lazy(Module):
    """Keeps what the plain layer is made with beside the size, and becomes it when it is first called."""

    plain: ClassVar[type[Module]]
    needs_key = True

    def __init__(self, *args: Any, key: Tensor | None = None, **options: Any) -> None:
        if self.needs_key:
            self.key = _needs_key(key, type(self).__name__)
        elif key is not None:
            raise _errors.TypeError(
                f"{type(self).__name__} is given a key",
                _intaglio._user_line(),
                why="its parameters start as ones and zeros",
                hint="leave the key out",
            )
        # The size is not known yet; wrong arguments are Python's own error, here and not at the first call.
        bound = inspect.signature(self.plain.__init__).bind(self, None, *args, **options)
        self.options = dict([*bound.arguments.items()][2:])

    def _ranks(self) -> tuple[int, ...]:
        """The ranks of inputs that the plain layer takes, in the order of preference; none: any of 1 or more."""
        return ()

    def _size(self, x: Tensor) -> Any:
        """The number of features or channels of an input."""
        return x.shape[-1]

    def forward(self, x: Any) -> Any:
        who, name = type(self).__name__, self.plain.__name__
        if _intaglio.is_tracing():
            raise _errors.CaptureError(
                f"{who} is called for the first time while a function is captured",
                _intaglio._user_line(),
                why="its parameters are made from the first input, and what is made in a capture is no array to keep",
                hint="call it once before, eagerly: model(x) with an example x",
            )
        x = _functions._array(x)
        ranks = self._ranks()
        if x.ndim not in ranks if ranks else x.ndim < 1:
            raise _errors.ShapeError(
                f"{who} is given an array of rank {x.ndim}",
                _intaglio._user_line(),
                why=f"it becomes {name}, for arrays of rank {' or '.join(map(str, sorted(ranks))) or '1 and more'}",
                hint="reshape the array, or take the layer for its rank",
            )
        with_key = {"key": self.key} if self.needs_key else {}
        made = self.plain(int(self._size(x)), **self.options, **with_key)
        # What has been said about the layer before holds on; a hook or an optimiser finds the same object.
        kept = {name: self.__dict__[name] for name in ("training", "_frozen", "_label")}
        self.__dict__.clear()
        self.__dict__.update(made.__dict__)
        self.__dict__.update(kept)
        object.__setattr__(self, "__class__", self.plain)
        return self.forward(x)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())


class _LazyConv(_Lazy):
    def _ranks(self) -> tuple[int, ...]:
        rank: int = self.plain.rank  # type: ignore[attr-defined]
        return rank + 2, rank + 1

    def _size(self, x: Tensor) -> Any:
        return x.shape[1 - self._ranks()[0]]


class _LazyNorm(_Lazy):
    needs_key = False

    def _ranks(self) -> tuple[int, ...]:
        ranks: tuple[int, ...] = self.plain.ranks  # type: ignore[attr-defined]
        return ranks

    def _size(self, x: Tensor) -> Any:
        return x.shape[1]


def _lazy(base: type[_Lazy], plain: type[Module], size: str) -> type[Any]:
    name = f"Lazy{plain.__name__}"
    made = type(name, (base,), {"plain": plain, "__module__": "intaglio.nn"})
    given = "; and a `key`" if base.needs_key else ""
    made.__doc__ = (
        f"`nn.{plain.__name__}` that takes `{size}` from its first input; its other arguments follow{given}.\n\n"
        "That first call is eager: within `ig.jit` or `ig.trace` it is refused (`ig.CaptureError`). Before it there "
        "are no parameters."
    )
    return made


LazyLinear = _lazy(_Lazy, _layers.Linear, "in_features")
LazyConv1d = _lazy(_LazyConv, _layers.Conv1d, "in_channels")
LazyConv2d = _lazy(_LazyConv, _layers.Conv2d, "in_channels")
LazyConv3d = _lazy(_LazyConv, _layers.Conv3d, "in_channels")
LazyConvTranspose1d = _lazy(_LazyConv, _layers.ConvTranspose1d, "in_channels")
LazyConvTranspose2d = _lazy(_LazyConv, _layers.ConvTranspose2d, "in_channels")
LazyConvTranspose3d = _lazy(_LazyConv, _layers.ConvTranspose3d, "in_channels")
LazyBatchNorm1d = _lazy(_LazyNorm, _norms.BatchNorm1d, "num_features")
LazyBatchNorm2d = _lazy(_LazyNorm, _norms.BatchNorm2d, "num_features")
LazyBatchNorm3d = _lazy(_LazyNorm, _norms.BatchNorm3d, "num_features")
LazyInstanceNorm1d = _lazy(_LazyNorm, _norms.InstanceNorm1d, "num_features")
LazyInstanceNorm2d = _lazy(_LazyNorm, _norms.InstanceNorm2d, "num_features")
LazyInstanceNorm3d = _lazy(_LazyNorm, _norms.InstanceNorm3d, "num_features")
