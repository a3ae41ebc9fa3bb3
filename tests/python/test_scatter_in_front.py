"""Updates of places in each of several rows, columns or images: the axes in front of the places are walked outermost,
with all places for each, in their order. Checked against loops in NumPy, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig

HOW = {
    "add": lambda old, new: old + new,
    "set": lambda old, new: new,
    "multiply": lambda old, new: old * new,
    "max": np.maximum,
    "min": np.minimum,
}


def by_hand(x: np.ndarray, places: np.ndarray, updates: np.ndarray, how: str) -> np.ndarray:
    out = x.copy()
    for i, p in enumerate(places):
        p = p + x.shape[1] if p < 0 else p
        if 0 <= p < x.shape[1]:
            out[:, p] = HOW[how](out[:, p], updates[:, i])
    return out


def compiled(f: Any, *args: np.ndarray) -> np.ndarray:
    given = [ig.asarray(a) for a in args]
    return np.asarray(ig.trace(f, *given).graph.compile()(*given))


@pytest.mark.parametrize("how", list(HOW))
@pytest.mark.parametrize("shape", [(4, 50), (3, 1), (1, 40), (2, 30, 3), (5, 7, 2, 17), (0, 8)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_places_along_the_second_axis(how: str, shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(-9, 9, shape).astype(dtype)
    places = rng.integers(-shape[1], shape[1], 33)
    updates = rng.integers(-3, 4, (shape[0], 33, *shape[2:])).astype(dtype)
    got = compiled(lambda x, u: getattr(x.at[:, ig.asarray(places)], how)(u), x, updates)
    np.testing.assert_array_equal(got, by_hand(x, places, updates, how))


@pytest.mark.parametrize("meets", [False, True], ids=["apart", "sorted"])
def test_batches_of_sums_by_segments(meets: bool) -> None:
    """Sorted places that meet keep their sum in a register; the sums of the next example begin anew."""
    rng = np.random.default_rng(3)
    x = rng.integers(-9, 9, (4, 100)).astype(np.float32)
    places = rng.integers(0, 100 if not meets else 6, 300)
    places = np.sort(places) if meets else places
    updates = rng.integers(-3, 4, (4, 300)).astype(np.float32)
    one = ig.vmap(lambda x, u: x.at[ig.asarray(places)].add(u))
    np.testing.assert_array_equal(compiled(one, x, updates), by_hand(x, places, updates, "add"))


def test_columns_of_images_and_both_axes() -> None:
    x = np.arange(2 * 3 * 5 * 4, dtype=np.float32).reshape(2, 3, 5, 4)
    i, j = np.array([4, 0, 4, 2]), np.array([1, 3, 1, 0])
    updates = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    want = x.copy()
    for n in range(4):
        want[:, :, i[n], j[n]] += updates[:, :, n]
    got = compiled(lambda x, u: x.at[:, :, ig.asarray(i), ig.asarray(j)].add(u), x, updates)
    np.testing.assert_array_equal(got, want)


def test_sizes_that_vary() -> None:
    f = ig.jit(lambda x, p, u: x.at[:, p].add(u))
    rng = np.random.default_rng(5)
    for rows, columns, count in [(3, 9, 4), (1, 1, 1), (6, 40, 100), (2, 5, 0)]:
        x = rng.integers(-9, 9, (rows, columns)).astype(np.float32)
        places, updates = rng.integers(0, columns, count), np.ones((rows, count), np.float32)
        got = np.asarray(f(ig.asarray(x), ig.asarray(places), ig.asarray(updates)))
        np.testing.assert_array_equal(got, by_hand(x, places, updates, "add"))
