"""Borders, joins and rolls that are walked together with other axes: groups between their bounds are loaded whole,
groups that meet one lane by lane. Checked against NumPy, exactly, for each level of the processor."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import intaglio as ig

DTYPES = ["float32", "float64", "int32", "int64", "uint8", "float16", "complex64", "bool"]


def compiled(f: Any, *args: np.ndarray) -> np.ndarray:
    given = [ig.asarray(a) for a in args]
    return np.asarray(ig.trace(f, *given).graph.compile()(*given))


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.arange(int(np.prod(shape))).reshape(shape) * 7 % 119).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("by", [0, 1, 4, 31, 32, 33, 64, 700, -5])
def test_a_roll_of_all_elements_read_as_rows(dtype: str, by: int) -> None:
    """The place of a row's element is that of the flat array, less what was rolled."""
    shape = (13, 57)
    x = numbers(shape, dtype)
    below = np.tril(np.ones(shape, bool))

    def rolled(x: Any, m: Any) -> Any:
        return m.where(m.asarray(below), m.reshape(m.roll(m.reshape(x, (-1,)), by), shape), m.zeros_like(x))

    np.testing.assert_array_equal(compiled(lambda x: rolled(x, ig), x), rolled(x, np))


@pytest.mark.parametrize(("low", "high"), [(0, 9), (4, 0), (40, 41), (1, 200), (300, 0)])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64"])
def test_a_border_read_as_rows(low: int, high: int, dtype: str) -> None:
    x = numbers((17 * 40 - low - high,), dtype)

    def spread(x: Any, m: Any) -> Any:
        rows = m.reshape(m.pad(x, (low, high), constant_values=3), (17, 40))
        return rows + m.flip(rows, axis=0)

    np.testing.assert_array_equal(compiled(lambda x: spread(x, ig), x), spread(x, np))


def test_parts_of_a_join_read_as_rows() -> None:
    parts = [numbers((n,), "float32") + i for i, n in enumerate([1, 70, 3, 500, 32, 34])]
    joined = np.concatenate(parts).reshape(20, 32)
    for f in (lambda *p: ig.reshape(ig.concat(p), (20, 32)) * ig.asarray(joined),):
        np.testing.assert_array_equal(compiled(f, *parts), joined * joined)


def test_gradients_of_rolls() -> None:
    w = numbers((31 * 45,), "float32")
    shape = (31, 45)
    x = np.ones(shape, np.float32)
    got = compiled(ig.grad(lambda x: ig.sum(ig.roll(ig.reshape(ig.tril(x), (-1,)), -4) * ig.asarray(w))), x)
    np.testing.assert_array_equal(got, np.tril(np.roll(w, 4).reshape(shape)))


def test_nothing_is_read_of_what_is_empty() -> None:
    empty = np.zeros((0,), np.float32)
    got = compiled(lambda x: ig.reshape(ig.pad(x, (40, 24), constant_values=2.0), (2, 32)) + 1.0, empty)
    np.testing.assert_array_equal(got, np.full((2, 32), 3.0))


@pytest.mark.parametrize("start", [-(2**63), -1, 0, 3, 40, 2**63 - 1])
def test_starts_far_outside(start: int) -> None:
    """A slice begins within the array, wherever it is asked to begin."""
    x = numbers((200,), "float32")
    at = min(max(start if start >= 0 else max(start, -(2**62)), 0), 200 - 96)
    begin = np.asarray(start, np.int64)
    got = compiled(lambda x, b: ig.reshape(ig.dynamic_slice(x, [b], [96]), (3, 32)) * 2.0, x, begin)
    np.testing.assert_array_equal(got, x[at : at + 96].reshape(3, 32) * 2)


@pytest.mark.parametrize("seed", range(int(os.environ.get("INTAGLIO_FUZZ", "40"))))
def test_random_chains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 30)), int(rng.choice([1, 3, 8, 17, 32, 40, 64]))
    n = rows * columns
    x = rng.integers(-9, 9, n).astype(rng.choice(["float32", "float64", "int32", "uint8"]))
    steps = [(str(rng.choice(["roll", "pad", "join", "flip"])), int(rng.integers(0, n + 1))) for _ in range(3)]

    def run(x: Any, m: Any) -> Any:
        for kind, k in steps:
            rows_of = m.reshape(x, (rows, columns))
            if kind == "roll":
                x = m.roll(x, k) + m.reshape(m.flip(rows_of, axis=0), (-1,))
            elif kind == "pad":
                x = m.pad(x, (k, 0), constant_values=2)[:n] * 3
            elif kind == "join":
                x = m.concat([x[k:], x[:k]]) - x
            else:
                x = m.reshape(m.flip(rows_of, axis=1), (-1,))
        return m.reshape(x, (rows, columns))

    np.testing.assert_array_equal(compiled(lambda x: run(x, ig), x), run(x, np))
