"""Borders, joins and rolls along axes in front of the last one: the rows of a walk are cut where an op takes another
way, and each part has code of its own. Checked against NumPy, exactly."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import intaglio as ig

SHAPES = [(7, 5, 40), (3, 4, 3), (16, 33), (9, 2), (2, 3, 4, 24), (40, 1, 9), (64, 70, 3)]


def compiled(f: Any, *args: np.ndarray) -> np.ndarray:
    given = [ig.asarray(a) for a in args]
    return np.asarray(ig.trace(f, *given).graph.compile()(*given))


def along(axis: int, low: int, high: int, rank: int) -> list[tuple[int, int]]:
    return [(low, high) if a == axis else (0, 0) for a in range(rank)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_gradients_of_windows(shape: tuple[int, ...], threads: int) -> None:
    """What each of three neighbours gives, along each axis."""
    before = ig.get_num_threads()
    ig.set_num_threads(threads)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 251 - 100
    for axis in range(len(shape)):

        def spread(x: Any, m: Any, axis: int = axis) -> Any:
            parts = [(x, 0, 2), (x * 2, 1, 1), (0 - x, 2, 0)]
            return sum(m.pad(p, along(axis, low, high, len(shape))) for p, low, high in parts)

        np.testing.assert_array_equal(compiled(lambda x: spread(x, ig), x), spread(x, np))
    ig.set_num_threads(before)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rolls_and_their_gradients(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 127
    for axis, n in enumerate(shape):
        for by in {1, n // 2, n - 1}:
            got = compiled(lambda x, by=by, axis=axis: ig.roll(x, by, axis=axis) * 3 + x, x)
            np.testing.assert_array_equal(got, np.roll(x, by, axis) * 3 + x)

            def loss(x: Any, by: int = by, axis: int = axis) -> Any:
                return ig.sum(ig.roll(ig.flip(x, axis=-1), by, axis=axis) ** 2) / 2

            np.testing.assert_array_equal(compiled(ig.grad(loss), x), x)


def test_both_axes_and_many_parts() -> None:
    x = np.arange(13 * 50, dtype=np.float64).reshape(13, 50)
    y = compiled(lambda x: ig.pad(x, [(1, 2), (3, 4)]) + ig.pad(x * 2, [(3, 0), (0, 7)]), x)
    np.testing.assert_array_equal(y, np.pad(x, [(1, 2), (3, 4)]) + np.pad(x * 2, [(3, 0), (0, 7)]))
    pieces = [x[i : i + 2] * i for i in range(0, 12, 2)]
    got = compiled(lambda x: ig.concat([x[i : i + 2] * i for i in range(0, 12, 2)]) + 1, x)
    np.testing.assert_array_equal(got, np.concatenate(pieces) + 1)
    empty = compiled(lambda x: ig.pad(x[:0], [(2, 1), (0, 0)], constant_values=5.0), x)
    np.testing.assert_array_equal(empty, np.full((3, 50), 5.0))


@pytest.mark.parametrize("seed", range(int(os.environ.get("INTAGLIO_FUZZ", "40"))))
def test_random_chains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(2, 5))
    shape = (*map(int, rng.integers(1, 9, rank - 1)), int(rng.choice([1, 3, 4, 8, 17, 40])))
    x = rng.integers(-9, 9, shape).astype(rng.choice(["float32", "float64", "int32", "uint8"]))
    steps = []
    for _ in range(rng.integers(1, 4)):
        kind, axis, k = rng.choice(["pad", "roll", "part", "join"]), int(rng.integers(rank)), int(rng.integers(1, 4))
        steps.append((str(kind), axis, k))

    def run(x: Any, m: Any) -> Any:
        for kind, axis, k in steps:
            if kind == "pad":
                x = m.pad(x, along(axis, k, 4 - k, rank)) + m.pad(x, along(axis, 4 - k, k, rank))
            elif kind == "roll":
                x = m.roll(x, k, axis=axis) + x
            elif kind == "part" and x.shape[axis] > k:
                x = x[tuple(slice(k, None) if a == axis else slice(None) for a in range(rank))]
            elif kind == "join":
                x = (m.concat if m is ig else m.concatenate)([x, x * 2, x], axis=axis)
        return x

    np.testing.assert_array_equal(compiled(lambda x: run(x, ig), x), run(x, np))
