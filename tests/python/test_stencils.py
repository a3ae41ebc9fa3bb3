"""Element-wise kernels that read an array at several places through borders: padded arrays and rolled ones, sliced, of
one another. The walk along the last axis is cut where a border begins for any of them; every bit is NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tries import tries

import intaglio as ig

ROUNDS = tries(40)


class Stencil:
    """A random sum of shifted reads, the same steps for NumPy and for Intaglio."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.shape = (int(rng.integers(2, 9)), int(rng.choice([2, 3, 31, 33, 40, 64, 70, 129])))
        self.steps: list[tuple[str, list[tuple[int, int]], float]] = []
        for _ in range(int(rng.integers(1, 4))):
            kind = str(rng.choice(["pad", "roll", "edge"]))
            shifts = [(int(rng.integers(-2, 3)), int(rng.integers(-2, 3))) for _ in range(int(rng.integers(1, 5)))]
            self.steps.append((kind, shifts, float(rng.choice([0.25, -1.5, 2.0]))))
        self.x = rng.standard_normal(self.shape).astype(np.float32)

    def read(self, m: Any, u: Any, kind: str, shift: tuple[int, int]) -> Any:
        rows, columns = self.shape
        down, right = shift
        if kind == "roll":
            return m.roll(u, shift, axis=(0, 1))
        if kind == "pad":
            wide = m.pad(u, ((2, 2), (2, 2)))
        else:  # an edge repeated, by joining
            wide = m.concat([u[:1], u[:1], u, u[-1:], u[-1:]], axis=0)
            wide = m.concat([wide[:, :1], wide[:, :1], wide, wide[:, -1:], wide[:, -1:]], axis=1)
        return wide[2 + down : 2 + down + rows, 2 + right : 2 + right + columns]

    def __call__(self, m: Any, u: Any) -> Any:
        for kind, shifts, factor in self.steps:
            total = u * np.float32(factor)
            for shift in shifts:
                total = total + self.read(m, u, kind, shift)
            u = total
        return u


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_shifted_reads_through_borders(seed: int) -> None:
    stencil = Stencil(seed)
    want = stencil(np, stencil.x)
    x = ig.asarray(stencil.x)
    got = ig.jit(lambda u: stencil(ig, u)).lower(x).compile()(x)
    np.testing.assert_array_equal(np.asarray(got), want)
    np.testing.assert_array_equal(np.asarray(stencil(ig, x)), want)


def test_sweeps_with_a_border_of_zeros() -> None:
    b = np.random.default_rng(5).standard_normal((37, 53)).astype(np.float32)

    def step(m: Any, u: Any, b: Any) -> Any:
        p = m.pad(u, ((1, 1), (1, 1)))
        return 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - b)

    want = b * np.float32(0)
    for _ in range(6):
        want = step(np, want, b)
    got = ig.jit(lambda b: ig.fori_loop(0, 6, lambda i, u: step(ig, u, b), b * 0.0))(ig.asarray(b))
    np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize(
    "parts", [[(0, 3), (3, 9)], [(6, 9), (0, 6)], [(2, 5), (2, 5), (0, 9)], [(8, 9), (0, 0), (1, 4)]]
)
@pytest.mark.parametrize("columns", [1, 7, 40])
def test_runs_of_one_array_are_joined_by_their_index(parts: list[tuple[int, int]], columns: int) -> None:
    x = np.random.default_rng(6).standard_normal((9, columns)).astype(np.float32)

    def f(m: Any, u: Any) -> Any:
        u = u * 2 + 1
        return m.concat([u[a:b] for a, b in parts], axis=0) - 0.5

    np.testing.assert_array_equal(np.asarray(ig.jit(lambda u: f(ig, u)).lower(x).compile()(x)), f(np, x))
