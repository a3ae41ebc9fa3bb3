"""Batches of arrays for training, and a line on the terminal that shows how it goes.

>>> import numpy as np
>>> import intaglio as ig
>>> x, y = np.arange(10.0, dtype=np.float32), np.arange(10)
>>> loader = ig.data.DataLoader((x, y), batch_size=4, shuffle=True, key=ig.random.key(0))
>>> [len(labels) for values, labels in loader]
[4, 4, 2]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TextIO

import numpy as np

from . import _errors, _intaglio, random
from .tree import map as tree_map

Tensor = _intaglio.Tensor

__all__ = ["DataLoader", "Progress"]


class DataLoader:
    """Goes through a tree of arrays in batches along their first axis, again for each `for`.

    `arrays` are NumPy's or Intaglio's, in any tree; a batch is the same tree, of Intaglio's. With `shuffle` each round
    has an order of its own, which follows from `key` and the number of the round alone. `drop_last` leaves out a last
    batch that is smaller, so that all have one size.
    """

    def __init__(
        self,
        arrays: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        *,
        key: Tensor | None = None,
    ) -> None:
        leaves, _ = _intaglio.tree_flatten(arrays)
        sizes = [leaf.shape[0] if getattr(leaf, "ndim", 0) else None for leaf in leaves]
        if not sizes or None in sizes or len(set(sizes)) != 1:
            raise _errors.ShapeError(
                f"DataLoader: the arrays have {', '.join('no axis' if s is None else str(s) for s in sizes) or 'none'}"
                " along the first axis",
                _intaglio._user_line(),
                why="each batch takes the same examples of all arrays",
                hint="give arrays whose first axes are equal",
            )
        if batch_size < 1:
            raise _errors.ValueError(
                f"DataLoader: batch_size is {batch_size}",
                _intaglio._user_line(),
                why="each batch has one example or more",
                hint="give a positive number such as 64",
            )
        if shuffle and key is None:
            raise _errors.ValueError(
                "DataLoader: there is no key to shuffle by",
                _intaglio._user_line(),
                why="random numbers come from explicit keys, so that a program gives the same numbers each time",
                hint="pass key=ig.random.key(seed)",
            )
        self.arrays = tree_map(lambda leaf: np.asarray(leaf), arrays)
        self.count: int = leaves[0].shape[0]
        self.batch_size, self.drop_last = batch_size, drop_last
        self.key = key if shuffle else None
        self.round = 0

    def __len__(self) -> int:
        """How many batches a round has."""
        return self.count // self.batch_size if self.drop_last else -(-self.count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        order = None
        if self.key is not None:
            order = np.asarray(random.permutation(random.fold_in(self.key, self.round), self.count))
        self.round += 1
        for i in range(len(self)):
            part = slice(i * self.batch_size, (i + 1) * self.batch_size)
            chosen = part if order is None else order[part]
            yield tree_map(lambda leaf, chosen=chosen: _intaglio.asarray(leaf[chosen]), self.arrays)


class Progress:
    """A line on the terminal, written again and again: what is done, how fast, and figures such as the loss.

    Goes through `items` as they are; `show(loss=…)` sets the figures. Where the output is no terminal, a line is
    written each ten seconds, and one at the end. An array that is shown is only read when the line is written.
    """

    def __init__(
        self,
        items: Iterable[Any],
        label: str = "",
        total: int | None = None,
        file: TextIO | None = None,
        every: float | None = None,
    ) -> None:
        self.items, self.label = items, label
        self.total = len(items) if total is None and isinstance(items, Sized) else total
        self.file = sys.stderr if file is None else file
        self.live = self.file.isatty()
        self.every = every if every is not None else 0.1 if self.live else 10.0
        self.figures: dict[str, Any] = {}
        self.done = 0

    def __iter__(self) -> Iterator[Any]:
        self.done, start = 0, time.perf_counter()
        shown = start
        for item in self.items:
            yield item
            self.done += 1
            now = time.perf_counter()
            if now - shown >= self.every:
                shown = now
                self._write(now - start, last=False)
        self._write(time.perf_counter() - start, last=True)

    def show(self, **figures: Any) -> None:
        """Sets what is written behind the rate."""
        self.figures.update(figures)

    def line(self, seconds: float) -> str:
        """What stands on the line after so many seconds."""
        rate = self.done / seconds if seconds > 0 else 0.0
        speed = f"{rate:.1f}/s" if rate >= 1 or not rate else f"{1 / rate:.1f} s each"
        parts = [f"{self.done}/{self.total}" if self.total is not None else str(self.done), f"{seconds:.1f} s", speed]
        parts += [f"{name} {_figure(value)}" for name, value in self.figures.items()]
        return (f"{self.label}: " if self.label else "") + ", ".join(parts)

    def _write(self, seconds: float, last: bool) -> None:
        text = self.line(seconds)
        self.file.write(f"\r\x1b[K{text}" + ("\n" if last else "") if self.live else text + "\n")
        self.file.flush()


def _figure(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.4g}" if isinstance(value, float) else str(value)
