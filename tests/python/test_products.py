"""Products of many rows, whose right side is put into strips once a call: no bit depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import intaglio as ig

rng = np.random.default_rng(8)


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        *[(192, 97, 83), (256, 256, 256), (517, 401, 130), (1000, 700, 33), (385, 1, 6200), (400, 0, 70)],
        (800, 401, 1100),
        # eager execution, whose kernels are for any sizes, cuts these into blocks of other shapes
        *[(1, 300, 140), (95, 769, 65), (97, 385, 257), (193, 1153, 49), (49, 40, 10), (500, 9, 64), (2, 5, 1025)],
    ],
)
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_have_the_bits_of_a_product_of_few_rows(m: int, k: int, n: int, turned: str, dtype: Any) -> None:
    a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
    x = ig.asarray(a.T.copy() if "a" in turned else a)
    y = ig.asarray(b.T.copy() if "b" in turned else b)

    def product(x: Any, y: Any) -> Any:
        return (x.T if "a" in turned else x) @ (y.T if "b" in turned else y)

    f = ig.jit(product)
    whole = np.asarray(f(x, y))
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-11}
    np.testing.assert_allclose(whole, a.astype(np.float64) @ b.astype(np.float64), **tolerance)
    np.testing.assert_array_equal(whole, np.asarray(product(x, y)))
    for begin in range(0, m, 100):
        rows = x[:, begin : begin + 100] if "a" in turned else x[begin : begin + 100]
        np.testing.assert_array_equal(np.asarray(f(rows, y)), whole[begin : begin + 100])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_strips_of_a_side_that_the_program_makes(threads: int) -> None:
    """The right side is a temporary, then an argument that is read twice; work is fused behind both products."""
    x, w, c = (ig.asarray(random(*shape)) for shape in ((320, 210), (210, 150), (150,)))

    def f(x: Any, w: Any, c: Any) -> Any:
        made = ig.tanh(w) * 2
        return ig.relu(x @ made + c), (x @ w).sum(axis=0), w + 1

    before = ig.get_num_threads()
    ig.set_num_threads(threads)
    try:
        got = ig.jit(f)(x, w, c)
    finally:
        ig.set_num_threads(before)
    for mine, eager in zip(got, f(x, w, c), strict=True):
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(eager))


def test_a_right_side_too_large_for_strips_is_cut_block_by_block() -> None:
    x, w = ig.asarray(random(200, 1500)), ig.asarray(random(1500, 1500))
    f = ig.jit(lambda x, w: x @ w)
    np.testing.assert_array_equal(np.asarray(f(x, w)), np.asarray(x @ w))
    f = ig.jit(lambda x, w: x @ w)
    np.testing.assert_allclose(np.asarray(f(x, w)), np.asarray(x) @ np.asarray(w), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_that_only_a_call_tells(threads: int) -> None:
    """One program for all sizes: few rows pack the right side as they go, many have it packed before."""
    w, c = ig.asarray(random(130, 75)), ig.asarray(random(75))

    def f(x: Any, w: Any, c: Any) -> Any:
        y = x @ w
        return ig.relu(y + c), y.sum(axis=0), (w * 2).T @ x.T

    any_size = ig.trace(f, ig.asarray(random(3, 130)), w, c, dynamic_shapes={"x": {0: ig.Dim("n")}})
    before = ig.get_num_threads()
    ig.set_num_threads(threads)
    try:
        for rows in (1, 319, 0, 320, 321, 1500, 2):
            x = ig.asarray(random(rows, 130))
            own = ig.jit(f)(x, w, c)
            for mine, theirs in zip(any_size(x, w, c), own, strict=True):
                np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))
    finally:
        ig.set_num_threads(before)


def test_a_right_side_of_any_size_that_is_too_large_to_be_packed() -> None:
    """A copy of it would be as large as itself: it is packed block by block, whatever the number of rows."""
    w = ig.asarray(random(4200, 4200))
    x = ig.asarray(random(330, 4200))
    many = np.asarray(x @ w)
    np.testing.assert_array_equal(many[100:103], np.asarray(x[100:103] @ w))


def test_gelu_by_tanh_keeps_its_digits_far_below_zero() -> None:
    """1 + tanh(z) has none left there; x / (1 + exp(-2 z)) has them all."""
    x = np.linspace(-8, 8, 4001, dtype=np.float32)
    wide = x.astype(np.float64)
    exact = wide / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))
    for f in (ig.gelu, ig.jit(ig.gelu, static_argnames=["approximate"])):
        got = np.asarray(f(ig.asarray(x), approximate="tanh")).astype(np.float64)
        np.testing.assert_allclose(got, exact, rtol=2e-5, atol=0)


def heads_side_by_side(x: Any) -> Any:
    return ig.reshape(ig.permute_dims(x, (0, 2, 1, 3)), (x.shape[0], x.shape[2], x.shape[1] * x.shape[3]))


VIEWS = {
    "heads": ((2, 3, 25, 32), heads_side_by_side),
    "short heads": ((3, 5, 17, 7), heads_side_by_side),
    "one head": ((3, 1, 17, 7), heads_side_by_side),
    "long": ((2, 6, 30, 250), heads_side_by_side),  # in chunks
    "cut": ((4, 60, 6), lambda x: ig.reshape(ig.permute_dims(x, (1, 0, 2)), (3, 40, 12))),
    "turned back": ((4, 5, 6, 8), lambda x: ig.reshape(ig.flip(ig.permute_dims(x, (2, 0, 1, 3)), axis=2), (3, 8, 40))),
    "part": ((4, 9, 33, 8), lambda x: heads_side_by_side(x[:, 1:7:2, 3:, :])),
    "spread": ((3, 1, 20, 8), lambda x: heads_side_by_side(ig.broadcast_to(x, (3, 4, 20, 8)))),
    "spread rows": ((3, 4, 1, 8), lambda x: heads_side_by_side(ig.broadcast_to(x, (3, 4, 20, 8)))),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_sides_that_lie_in_runs(name: str, dtype: str) -> None:
    """A reshape after a transposition merges axes that memory does not have side by side; no copy is made of it."""
    shape, view = VIEWS[name]
    x = ig.asarray(rng.integers(-4, 5, shape).astype(dtype))
    whole = np.asarray(view(x))
    w = ig.asarray(rng.integers(-4, 5, (whole.shape[2], 33)).astype(dtype))
    g = ig.asarray(rng.integers(-4, 5, (*whole.shape[:2], 19)).astype(dtype))
    axes = {"lhs_contracting_dimensions": (0, 1), "rhs_contracting_dimensions": (0, 1)}

    def left(x: Any, w: Any) -> Any:
        return view(x) @ w

    def right(x: Any, g: Any) -> Any:
        return ig.dot_general(g, view(x), **axes)

    def both(x: Any, g: Any) -> Any:
        return ig.dot_general(view(x), view(x), **axes) + g[0, 0, 0]

    exact = whole.astype(np.int64)  # sums of small integers are exact in all of these
    for f, other, expected in (
        (left, w, exact @ np.asarray(w).astype(np.int64)),
        (right, g, np.einsum("abi,abj->ij", np.asarray(g).astype(np.int64), exact)),
        (both, g, np.einsum("abi,abj->ij", exact, exact) + int(np.asarray(g)[0, 0, 0])),
    ):
        if dtype == "float16" and np.abs(expected).max() > 2048:
            continue
        compiled = ig.jit(f).lower(x, other).compile()
        np.testing.assert_array_equal(np.asarray(compiled(x, other)), expected.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_number_of_rows(dtype: Any) -> None:
    """Kernels of any sizes take rows in tall tiles and low ones."""
    a, b = random(61, 90, dtype=dtype), random(90, 70, dtype=dtype)
    y = ig.asarray(b)
    whole = np.asarray(ig.asarray(a) @ y)
    np.testing.assert_allclose(whole, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-4)
    for rows in range(62):
        np.testing.assert_array_equal(np.asarray(ig.asarray(a[:rows]) @ y), whole[:rows])


# Rows of the right side that lie so many bytes apart share places in the first cache, and are read whole.
APART = """
import numpy as np, intaglio as ig
rng = np.random.default_rng(3)
for dtype in ("float32", "float64", "int32", "int64"):
    for k in (512, 1024, 1000):
        for n in (1, 2, 15, 16, 33, 50):
            w = (rng.standard_normal((n, k)) * 9).astype(dtype)
            x = (rng.standard_normal((9, k)) * 9).astype(dtype)
            strips, y = ig.asarray(w.T.copy()), ig.asarray(w)  # the one is read in rows, the other turned over
            for rows in (1, 2, 3, 4, 5):
                a = ig.asarray(x[:rows])
                got = ig.jit(lambda a, y: a @ y.T).lower(a, y).compile()(a, y)
                want = ig.asarray(x) @ strips
                assert np.asarray(got).tobytes() == np.asarray(want)[:rows].tobytes(), (dtype, k, n, rows)
            got = ig.jit(lambda y, v: y @ v).lower(y, a[0]).compile()(y, a[0])
            assert np.asarray(got).tobytes() == np.asarray(want)[0].tobytes(), (dtype, k, n)
print("done")
"""


@pytest.mark.parametrize("target", ["", "x86-64-v3", "x86-64-v2"])
def test_rows_that_share_places_in_the_cache(target: str) -> None:
    environment = {**os.environ, "INTAGLIO_TARGET": target}
    done = subprocess.run([sys.executable, "-c", APART], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
