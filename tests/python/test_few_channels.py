"""Images whose channels come last: what shifts, joins or updates pixels walks rows of pixels as one axis, cut where the
pixels take another way, whatever the number of channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

CHANNELS = [1, 2, 3, 4, 5, 7, 8, 11, 12, 24, 32, 33]


def padded(xp: Any, x: Any, low: int, high: int) -> Any:
    return xp.pad(x, ((0, 0), (low, high), (0, 0)))


def laplacian(xp: Any, x: Any, y: Any, b: Any) -> Any:
    p = padded(xp, x, 1, 1)
    return p[:, 2:] + p[:, :-2] - 2 * p[:, 1:-1] + b


def shifted_both_ways(xp: Any, x: Any, y: Any, b: Any) -> Any:
    p = xp.pad(x, ((1, 1), (1, 1), (0, 0)))
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * p[1:-1, 1:-1]


def joined(xp: Any, x: Any, y: Any, b: Any) -> Any:
    return xp.concat([x * 2, y[:, ::-1], x[:, 1:3] - b], axis=1)


def rolled(xp: Any, x: Any, y: Any, b: Any) -> Any:
    return x * b + xp.roll(y, 2, axis=1) - xp.roll(x, -1, axis=1)


def masked(xp: Any, x: Any, y: Any, b: Any) -> Any:
    place = xp.arange(x.shape[1])[:, None]
    return xp.where((place > 2) & (place < 7), x, y) + xp.where(place == 5, b, padded(xp, x, 3, 0)[:, :-3])


def of_every_second(xp: Any, x: Any, y: Any, b: Any) -> Any:
    return xp.concat([x[:, ::2], y[:, 1::2]], axis=1) + xp.concat([y, x], axis=1)[:, ::2]


def updated(xp: Any, x: Any, y: Any, b: Any) -> Any:
    if xp is ig:
        return y.at[:, :-1].add(x[:, 1:] * 2).at[:, 1:].add(-x[:, 1:]).at[1:, 2:-1].set(x[1:, 2:-1])
    y = y.copy()
    y[:, :-1] += x[:, 1:] * 2
    y[:, 1:] += -x[:, 1:]
    y[1:, 2:-1] = x[1:, 2:-1]
    return y


PROGRAMS = [laplacian, shifted_both_ways, joined, rolled, masked, of_every_second, updated]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("channels", CHANNELS)
def test_every_number_of_channels(program: Callable[..., Any], channels: int) -> None:
    rng = np.random.default_rng(channels)
    for rows, columns in ((3, 64), (2, 9), (1, 8), (5, 34)):
        x, y = rng.integers(-9, 9, (2, rows, columns, channels)).astype(np.float32)
        b = rng.integers(-9, 9, channels).astype(np.float32)
        found = ig.jit(lambda x, y, b: program(ig, x, y, b))(x, y, b)
        np.testing.assert_array_equal(found.numpy(), program(np, x, y, b), err_msg=str((rows, columns)))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float64", "complex64", "bool"])
@pytest.mark.parametrize("channels", [3, 4, 24])
def test_every_kind_of_element(dtype: str, channels: int) -> None:
    x, y = np.random.default_rng(0).integers(0, 2, (2, 4, 50, channels)).astype(dtype)

    def program(xp: Any, x: Any, y: Any) -> Any:
        return xp.concat([xp.where(padded(xp, x, 2, 0)[:, :-2] == y, x, y), xp.roll(x, 3, axis=1)], axis=1)

    found = ig.jit(lambda x, y: program(ig, x, y))(x, y)
    np.testing.assert_array_equal(found.numpy(), program(np, x, y))


def test_nothing_in_an_axis() -> None:
    for shape in ((0, 8, 3), (4, 0, 3), (4, 8, 0)):
        x = np.zeros(shape, np.float32)
        for program in (joined, rolled):
            if shape[1] or program is rolled:
                found = ig.jit(lambda x, program=program: program(ig, x, x, x[0, 0] if x.size else 1.0))(x)
                assert found.shape == program(np, x, x, 1.0).shape


def test_sizes_that_vary() -> None:
    rows, columns = ig.Dim("rows", min=1), ig.Dim("columns", min=4)
    spec = ig.ShapeDtypeStruct((rows, columns, 3), ig.float32)
    f = ig.trace(lambda x: padded(ig, x, 1, 1)[:, 2:] - padded(ig, x, 1, 1)[:, :-2], spec)
    for shape in ((2, 40, 3), (5, 4, 3), (1, 9, 3)):
        x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
        p = padded(np, x, 1, 1)
        np.testing.assert_array_equal(f(x).numpy(), p[:, 2:] - p[:, :-2])
