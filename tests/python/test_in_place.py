"""Loops and branches that change an array in a few places do it where the array lies, and give what the same program
gives that copies: random programs against NumPy, which copies each time."""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig

Array = Any
Turn = Callable[[Array, list[Array]], list[Array]]


class Captured:
    """What the random programs ask for, of Intaglio's arrays."""

    flip: Callable[[Array], Array] = staticmethod(ig.flip)

    def set(self, x: Array, at: Array, v: Array) -> Array:
        return x.at[at].set(v)

    def add(self, x: Array, at: Array, v: Array) -> Array:
        return x.at[at].add(v)

    def window(self, x: Array, start: Array, v: Array) -> Array:
        return ig.dynamic_update_slice(x, v, ig.asarray(start))

    def loop(self, steps: int, turn: Turn, start: list[Array]) -> list[Array]:
        return list(ig.fori_loop(0, steps, lambda i, c: tuple(turn(i, list(c))), tuple(start)))

    def until(self, steps: int, turn: Turn, start: list[Array]) -> list[Array]:
        def step(c: tuple[Array, ...]) -> tuple[Array, ...]:
            return (c[0] + 1, *turn(c[0], list(c[1:])))

        return list(ig.while_loop(lambda c: c[0] < steps, step, (ig.asarray(0), *start)))[1:]

    def branch(self, value: Array, even: Callable[[], list[Array]], odd: Callable[[], list[Array]]) -> list[Array]:
        return list(ig.cond(value % 2 == 0, lambda: tuple(even()), lambda: tuple(odd())))


class StepByStep(Captured):
    """The same of NumPy's arrays, and nothing in place."""

    flip = staticmethod(np.flip)

    def set(self, x: Array, at: Array, v: Array) -> Array:
        out = x.copy()
        out[at] = v
        return out

    def add(self, x: Array, at: Array, v: Array) -> Array:
        out = x.copy()
        np.add.at(out, at, v)
        return out

    def window(self, x: Array, start: Array, v: Array) -> Array:
        out = x.copy()
        first = min(max(int(start), 0), len(x) - len(v))
        out[first : first + len(v)] = v
        return out

    def loop(self, steps: int, turn: Turn, start: list[Array]) -> list[Array]:
        for i in range(steps):
            start = turn(np.int64(i), start)
        return start

    until = loop

    def branch(self, value: Array, even: Callable[[], list[Array]], odd: Callable[[], list[Array]]) -> list[Array]:
        return even() if value % 2 == 0 else odd()


KINDS = [
    "set",
    "window",
    "window",
    "add",
    "rows",
    "rows",
    "sum",
    "swap",
    "keep",
    "flip",
    "scale",
    "loop",
    "until",
    "branch",
]
KEPT = 2  # arrays that are read besides those that are carried


def random_steps(r: random.Random, arrays: int, depth: int) -> list[tuple[Any, ...]]:
    out: list[tuple[Any, ...]] = []
    for _ in range(r.randint(1, 5)):
        kind = r.choice(KINDS if depth else KINDS[:-3])
        numbers = [r.randrange(arrays + KEPT) for _ in range(3)] + [r.randrange(5000), r.randrange(4)]
        inside = [random_steps(r, arrays, depth - 1) for _ in range(2)] if kind in KINDS[-3:] else []
        out.append((kind, *numbers, *inside))
    return out


def run(world: Captured, steps: list[tuple[Any, ...]], i: Array, carried: list[Array], at: Array) -> list[Array]:
    n, size = len(carried), carried[0].shape[0]
    v = [*carried, carried[0], carried[-1]]
    for kind, a, b, c, p, q, *inside in steps:
        match kind:
            case "set":
                v[a] = world.set(v[a], (i * q + p) % size, v[b][p % size] + i)
            case "add":
                v[a] = world.add(v[a], p % size, v[b][(p + i) % size])
            case "rows":
                v[a] = world.add(v[a], at, v[b])
            case "window":
                v[a] = world.window(v[a], i * (c - 1) + p % size - 1, v[b][q : q + 1 + p % 3])
            case "sum":
                v[a] = v[b] % 1000 + v[c]
            case "swap":
                v[a], v[b] = v[b], v[a]
            case "keep":
                v[a] = v[b]
            case "flip":
                v[a] = world.flip(v[b])
            case "scale":
                v[a] = v[a] * q % 100_003
            case "loop" | "until":
                loop = world.loop if kind == "loop" else world.until
                v[:n] = loop(q, lambda j, u, inner=inside[0]: run(world, inner, j, u, at), v[:n])  # type: ignore[misc]
            case "branch":
                even, odd = (lambda inner=inner, u=v[:n]: run(world, inner, i, u, at) for inner in inside)
                v[:n] = world.branch(v[a][p % size], even, odd)
    return v[:n]


@pytest.mark.parametrize("seed", range(100))
def test_random_loops(seed: int) -> None:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    size, arrays = r.choice([3, 16, 5000]), r.randint(2, 4)
    steps: list[tuple[Any, ...]] = [
        (r.choice(["loop", "until"]), 0, 0, 0, 0, r.randint(0, 5), random_steps(r, arrays, 2), [])
    ]
    at = rng.integers(0, size, size)
    start = [rng.integers(0, 1000, size) for _ in range(arrays)]
    wanted = run(StepByStep(), steps, np.int64(0), start, at)

    def program(at: Array, *start: Array) -> tuple[Array, ...]:
        return tuple(run(Captured(), steps, ig.asarray(0), list(start), at))

    given = [ig.asarray(v) for v in (at, *start)]
    compiled = ig.trace(program, *given).graph.compile()
    donating = ig.jit(program, donate_argnums=tuple(range(1, arrays + 1)))
    for way in (compiled, compiled, donating):
        for mine, theirs in zip(way(*given), wanted, strict=True):
            assert np.array_equal(np.asarray(mine), theirs)


def test_the_example_counts_edits() -> None:
    example = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "edit_distance.py"))
    for a, b in (("kitten", "sitting"), ("a", "a"), ("flaw", "lawn"), ("intention", "execution")):
        x, y = example["letters"](a), example["letters"](b)
        graph = ig.trace(example["distance"], x, y).graph
        assert int(graph.compile()(x, y)) == example["in_python"](a, b)
        assert "= check(" not in str(graph.compile().optimised())
    example["main"]()
