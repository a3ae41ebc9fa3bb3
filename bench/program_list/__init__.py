"""The programs of bench/programs.py: what people write in array code, each a few lines that two systems run alike.

A program gets `m`, the namespace of a system (`bench/program_worker.py` says what is in it: `m.xp` is the array API),
and its arrays. They are of many kinds on purpose, and no larger than such programs usually are: what is measured is
whether any of them is slow, not how fast the best one is.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], np.ndarray]


def normal(*shape: int) -> Make:
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


def double(*shape: int) -> Make:
    return lambda rng: rng.standard_normal(shape)


def uniform(*shape: int) -> Make:
    return lambda rng: rng.uniform(0.1, 1.0, shape).astype(np.float32)


def whole(top: int, *shape: int) -> Make:
    return lambda rng: rng.integers(0, top, shape).astype(np.int32)


def positive(size: int) -> Make:
    """A symmetric positive definite matrix."""

    def make(rng: np.random.Generator) -> np.ndarray:
        a = rng.standard_normal((size, size))
        return (a @ a.T / size + np.eye(size)).astype(np.float32)

    return make


def bytes_of(*shape: int) -> Make:
    return lambda rng: rng.integers(0, 256, shape).astype(np.uint8)


def long(top: int, *shape: int) -> Make:
    return lambda rng: rng.integers(0, top, shape)


def positives(count: int, size: int) -> Make:
    def make(rng: np.random.Generator) -> np.ndarray:
        a = rng.standard_normal((count, size, size))
        return (a @ a.transpose(0, 2, 1) / size + np.eye(size)).astype(np.float32)

    return make


@dataclass(frozen=True)
class Program:
    name: str
    run: Callable[..., Any]  # (m, *arrays) to an array or a tuple of arrays
    make: tuple[Make, ...]


PROGRAMS: list[Program] = []


def program(*make: Make) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function, named as it is."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(function.__name__, function, make))
        return function

    return add


def lines(text: str, **make: Make) -> None:
    """Adds expressions, one a line: the name, a colon, and what to compute of the arrays that it names."""
    for line in text.strip().splitlines():
        name, _, expression = (part.strip() for part in line.partition(":"))
        names = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
        used = [key for key in make if key in names]
        run = eval(f"lambda m, {', '.join(used)}: {expression}")
        PROGRAMS.append(Program(name, run, tuple(make[key] for key in used)))


for _name in ("expressions", "losses", "loops", "points", "fields"):
    importlib.import_module(f"{__name__}.{_name}")
