"""Every so many elements of what was joined: the walk is cut where they pass from one part to the next."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import intaglio as ig


def wavelet(xp: Any, x: Any) -> Any:
    """Three levels of Haar's wavelet, each along both axes."""
    for _ in range(3):
        for axis in (1, 0):
            pick = (slice(None),) * axis
            even, odd = x[(*pick, slice(None, None, 2))], x[(*pick, slice(1, None, 2))]
            x = xp.concat([(even + odd) * np.float32(0.5), (even - odd) * np.float32(0.5)], axis=axis)
    return x


def exchange(xp: Any, x: Any) -> Any:
    """Neighbours in order, the smaller ones first, five times."""
    for _ in range(5):
        even, odd = x[:, ::2], x[:, 1::2]
        x = xp.concat([xp.minimum(even, odd), xp.maximum(even, odd)], axis=1)
    return x


@pytest.mark.parametrize("program", [wavelet, exchange])
@pytest.mark.parametrize("shape", [(2, 2), (8, 48), (16, 130), (34, 256), (0, 64)])
def test_programs_of_halves(program: Any, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    if program is wavelet:  # halves of halves of halves
        x = x[: shape[0] // 8 * 8, : shape[1] // 8 * 8]
    np.testing.assert_array_equal(ig.jit(lambda a: program(ig, a))(x).numpy(), program(np, x))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool"])
def test_strides_over_uneven_parts(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for widths, step, start in itertools.product([(37, 64, 5), (1, 90), (50, 50), (0, 70)], (2, 3, 7, -2), (0, 1, -3)):
        parts = [rng.integers(0, 2, (3, width)).astype(dtype) for width in widths]
        start_at = start if step > 0 else -1 - abs(start)

        def program(xp: Any, *parts: Any, step: int = step, start_at: int = start_at) -> Any:
            x = xp.concat(parts, axis=1)[:, start_at::step]
            return xp.concat([x, x[:, ::-1], x[:, ::3]], axis=1)

        found = ig.jit(lambda *p, program=program: program(ig, *p))(*parts)
        np.testing.assert_array_equal(found.numpy(), program(np, *parts))
