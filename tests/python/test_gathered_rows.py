"""Rows that are taken at places which are known when the program runs: short ones one by one, those of several arrays
written first; and the gradients of what is added at known places, which looks for no place outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig

rng = np.random.default_rng(12)


def compiled(f: Any, *arrays: Any) -> Any:
    return ig.trace(f, *arrays).graph.compile()(*arrays)


def array(dtype: str, *shape: int) -> Any:
    x = rng.standard_normal(shape) * 40
    return ig.astype(ig.asarray(x), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int16", "complex64", "bool"])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 6, 7, 11, 12])
def test_short_rows(width: int, dtype: str) -> None:
    x = array(dtype, 40, width)
    for shape in ((70,), (9, 5), (1,), (0,)):
        i = ig.asarray(rng.integers(0, 40, shape))
        got = compiled(lambda x, i: x[i], x, i)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(x)[np.asarray(i)], strict=True)


@pytest.mark.parametrize("width", [3, 5, 7])
def test_work_around_short_rows(width: int) -> None:
    x, b, i = array("float32", 300, width), array("float32", width), ig.asarray(rng.integers(0, 300, 300))
    same, other = (np.asarray(v) for v in (x, b))
    at = np.asarray(i)
    f = lambda x, b, i: ((x - x[i]) * 2 + b, ig.exp(x[i] * 0.01), ig.max(x[i] - b, axis=1))  # noqa: E731
    moved, function, most = (np.asarray(v) for v in compiled(f, x, b, i))
    np.testing.assert_array_equal(moved, (same - same[at]) * 2 + other)
    np.testing.assert_allclose(function, np.exp(same[at] * np.float32(0.01)), rtol=3e-7)
    np.testing.assert_array_equal(most, (same[at] - other).max(1))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_have_no_part_in_it(threads: int) -> None:
    x, i = array("float32", 5000, 3), ig.asarray(rng.integers(0, 5000, 60_000))
    before = ig.get_num_threads()
    ig.set_num_threads(threads)
    try:
        got = compiled(lambda x, i: x[i] + 1, x, i)
    finally:
        ig.set_num_threads(before)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(x)[np.asarray(i)] + 1)


def test_rows_of_several_arrays_are_written_first() -> None:
    x, y, z = (array("float32", 60_000, 3) for _ in range(3))
    i = ig.asarray(rng.permutation(60_000))
    f = ig.trace(lambda x, y, z, i: (x * y + z)[i], x, y, z, i).graph.compile()
    want = np.asarray(x) * np.asarray(y) + np.asarray(z)
    np.testing.assert_array_equal(np.asarray(f(x, y, z, i)), want[np.asarray(i)])
    one = compiled(lambda x, i: (x * 2)[i], x, i)
    np.testing.assert_array_equal(np.asarray(one), np.asarray(x)[np.asarray(i)] * 2)


# Places within, at both ends of, and outside of nine rows; what falls outside is left out.
PLACES = {"inside": [0, 3, 8, 3, 5], "below": [0, -10, 8, 3], "above": [0, 9, 8, 3], "none": []}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("places", PLACES)
def test_gradients_of_what_is_added_at_places(places: str, known: bool) -> None:
    at = np.array(PLACES[places], np.int64)
    u, w = array("float32", len(at), 3), array("float32", 9, 3)

    def summed(u: Any, w: Any, i: Any) -> Any:
        return ig.sum(ig.segment_sum(u, i, 9) * w)

    if known:
        traced = ig.trace(lambda u, w: ig.grad(lambda u: summed(u, w, at))(u), u, w)
        assert ("pad(" in str(traced.graph)) == (places in ("below", "above"))
        got = traced.graph.compile()(u, w)
    else:
        got = compiled(lambda u, w, i: ig.grad(lambda u: summed(u, w, i))(u), u, w, ig.asarray(at))
    want = np.zeros(u.shape, np.float32)
    for row, place in enumerate(at):
        if 0 <= place < 9:
            want[row] = np.asarray(w)[place]
    np.testing.assert_array_equal(np.asarray(got), want, strict=True)
