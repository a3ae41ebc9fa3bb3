"""Random programs of views, joins, updates and folds: one kernel, or several, give the bits of op by op.

Each program is drawn from its number, so a failing one is found again; `INTAGLIO_FUZZ=5000` draws more.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guarded_memory import guarded
from tries import tries

import intaglio as ig

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 40, 64, 65, 77, 100]
OUTER = [1, 2, 3, 5, 8, 9]
PROGRAMS = tries(400)
BATCH = 50


def along(x: Any, axis: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if i == axis else slice(None) for i in range(x.ndim))


def padding(x: Any, axis: int, low: int, high: int) -> list[tuple[int, int]]:
    return [(low, high) if i == axis else (0, 0) for i in range(x.ndim)]


def spread(x: Any, axis: int) -> Any:
    """The numbers of an axis, for the others."""
    return ig.reshape(ig.arange(x.shape[axis], dtype=x.dtype), tuple(-1 if i == axis else 1 for i in range(x.ndim)))


def halves(x: Any, axis: int) -> Any:
    middle = x.shape[axis] // 2
    return ig.concat([x[along(x, axis, slice(middle, None))], x[along(x, axis, slice(0, middle))] * 3], axis=axis)


def updated(x: Any, axis: int, n: int) -> Any:
    size = x.shape[axis]
    if size < 3:
        return x
    first = n % (size - 2)
    return x.at[along(x, axis, slice(first, size - 1))].add(x[along(x, axis, slice(first + 1, size))] * 2)


def joined(x: Any, axis: int, n: int) -> Any:
    return x if x.size > 50_000 else ig.concat([ig.flip(x, axis=axis), x + 1], axis=axis)


def beside(x: Any, axis: int) -> Any:
    back = ig.pad(x[along(x, axis, slice(1, None))], padding(x, axis, 0, 1))
    return x + back - ig.roll(x, 1, axis=axis)


def butterflies(x: Any) -> Any:
    if x.shape[-1] % 2:
        return ig.flip(x, axis=-1)
    a, b = x[..., ::2], x[..., 1::2]
    return ig.reshape(ig.stack([a - b, a + b], axis=-1), x.shape)


STEPS: dict[str, Callable[[Any, int, int], Any]] = {
    "pad": lambda x, axis, n: ig.pad(x, padding(x, axis, n % 5, n // 5 % 4), constant_values=1),
    "roll": lambda x, axis, n: ig.roll(x, n % 11 - 5, axis=axis),
    "join": joined,
    "halves": lambda x, axis, n: halves(x, axis),
    "slice": lambda x, axis, n: x[along(x, axis, slice(n % (x.shape[axis] // 2 + 1), None))],
    "every second": lambda x, axis, n: x[along(x, axis, slice(None, None, 2))],
    "turn round": lambda x, axis, n: ig.flip(x, axis=axis) + x,
    "repeat": lambda x, axis, n: x if x.size > 50_000 else ig.repeat(x, 2, axis=axis),
    "update": updated,
    "transpose": lambda x, axis, n: x.mT if x.ndim > 1 else x,
    "turn the image": lambda x, axis, n: ig.permute_dims(x, (*range(x.ndim - 3), -2, -3, -1)) if x.ndim > 2 else x,
    "number": lambda x, axis, n: x * spread(x, axis) - spread(x, n % x.ndim),
    "tanh": lambda x, axis, n: ig.tanh(x) if x.dtype in (ig.float32, ig.float64) else x * 3,
    "centre": lambda x, axis, n: ig.astype(x, "float32") - ig.mean(ig.astype(x, "float32"), axis=axis, keepdims=True),
    "softmax": lambda x, axis, n: ig.softmax(ig.astype(x, "float32") * 0.1, axis=axis) + 1,
    "take": lambda x, axis, n: ig.take(x, ig.asarray(np.arange(x.shape[axis])[::-1].copy()), axis=axis),
    "choose": lambda x, axis, n: ig.where(ig.flip(x, axis=axis) > x, x, ig.roll(x, 1, axis=axis)),
    "add up": lambda x, axis, n: ig.cumulative_sum(x, axis=axis),
    "less the first": lambda x, axis, n: x - x[along(x, axis, slice(0, 1))],
    "beside": lambda x, axis, n: beside(x, axis),
    "butterflies": lambda x, axis, n: butterflies(x),
    "end to start": lambda x, axis, n: ig.flip(x, axis=axis),
    "computed places": lambda x, axis, n: ig.take(x, (ig.arange(x.shape[axis]) * 7 + n) % x.shape[axis], axis=axis),
}
FOLDS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda x: x,
    "sum of all but the first axis": lambda x: ig.sum(x, axis=tuple(range(1, x.ndim))),
    "sum of the last axis": lambda x: ig.sum(x, axis=-1),
    "sum of the first axis": lambda x: ig.sum(x, axis=0),
    "sum": ig.sum,
    "largest": lambda x: ig.max(x, axis=-1),
    "place of the largest": lambda x: ig.argmax(x, axis=-1),
    "mean of a middle axis": lambda x: ig.mean(ig.astype(x, "float32"), axis=x.ndim // 2),
    "variance": lambda x: ig.var(ig.astype(x, "float32"), axis=-1),
    "softmax": lambda x: ig.softmax(ig.astype(x, "float32"), axis=-1),
}


def drawn(number: int) -> tuple[Any, list[tuple[str, int, int]], str]:
    draw = random.Random(number)
    rank = draw.choice([1, 2, 2, 3, 3, 4])
    shape = [draw.choice(OUTER) for _ in range(rank - 1)] + [draw.choice(SIZES)]
    dtype = draw.choice(["float32", "float32", "float64", "int32", "uint8", "int16"])
    steps = [(draw.choice(list(STEPS)), draw.randrange(rank), draw.randrange(1000)) for _ in range(draw.randint(1, 6))]
    values = np.random.default_rng(number)
    x = values.integers(0, 9, shape) if "int" in dtype else values.standard_normal(shape)
    return ig.asarray(x.astype(dtype)), steps, draw.choice(list(FOLDS))


def run(x: Any, steps: list[tuple[str, int, int]], fold: str) -> Any:
    for name, axis, n in steps:
        x = STEPS[name](x, axis, n)
    return FOLDS[fold](x)


@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_random_programs(first: int) -> None:
    for number in range(first, first + BATCH):
        x, steps, fold = drawn(number)
        wanted = np.asarray(run(x, steps, fold))
        compiled = ig.jit(lambda x, steps=steps, fold=fold: run(x, steps, fold)).lower(x).compile()
        found = np.asarray(compiled(x))
        told = f"program {number} of {x.dtype}{list(x.shape)}: {steps}, {fold}"
        np.testing.assert_array_equal(found, wanted, err_msg=told)
        assert found.tobytes() == wanted.tobytes(), told


@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
def test_nothing_beside_an_array_is_read(at_end: bool) -> None:
    """Short rows, whose groups of lanes read what lies from the first to the last element that one of them wants."""
    for number in range(80):
        draw = random.Random(f"guarded {number}")
        columns, dtype = draw.choice([2, 3, 4, 5, 7, 8, 10, 13, 20, 28, 31, 44]), draw.choice(["float32", "uint8"])
        rows = 20_000 // (columns * np.dtype(dtype).itemsize) + draw.randrange(50)  # enough to be read where it lies
        x = np.random.default_rng(number).integers(0, 9, (rows, columns)).astype(dtype)
        steps = [(draw.choice(list(STEPS)), draw.randrange(2), draw.randrange(1000)) for _ in range(3)]
        fold = draw.choice(list(FOLDS))
        wanted = np.asarray(run(ig.asarray(x), steps, fold))
        program = ig.jit(lambda x, steps=steps, fold=fold: run(x, steps, fold))
        with guarded(x, at_end=at_end) as lent:
            program.lower(lent).compile()
            for _ in range(3):
                found = np.asarray(program(lent))
        assert found.tobytes() == wanted.tobytes(), f"program {number} of {dtype}{list(x.shape)}: {steps}, {fold}"


def test_a_row_that_is_read_by_another_one_is_not_kept_for_its_own() -> None:
    """The updated array is dear enough to be kept for a row's second pass, but `flip` reads it from another row."""

    def f(x: Any) -> Any:
        y = x.at[2:6].add(x[3:7] * 2)
        return ig.var(ig.flip(y, axis=0) + y, axis=-1)

    x = np.random.default_rng(0).standard_normal((8, 32)).astype(np.float32)
    y = x.copy()
    y[2:6] += x[3:7] * 2
    np.testing.assert_allclose(ig.jit(f)(x).numpy(), (y[::-1] + y).var(axis=-1), rtol=1e-5)


def test_what_is_taken_elsewhere_is_not_turned_over_by_tiles() -> None:
    """Tiles hold what is read at a kernel's own place; `take` reads another one."""
    order = np.array([1, 2, 0])
    x = np.random.default_rng(0).standard_normal((3, 40, 24)).astype(np.float32)
    found = ig.jit(lambda x: ig.take((x - x[:1]).mT, ig.asarray(order), axis=0))(x)
    np.testing.assert_array_equal(found.numpy(), (x - x[:1]).transpose(0, 2, 1)[order])
    flipped = ig.jit(lambda x: ig.where(ig.flip(x.mT, axis=1) > 0, x.mT, -x.mT * 2))(x)
    t = x.transpose(0, 2, 1)
    np.testing.assert_array_equal(flipped.numpy(), np.where(t[:, ::-1] > 0, t, -t * 2))
