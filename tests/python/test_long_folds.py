"""Folds longer than a piece of the order of summation (65,536 elements of a row, 1024 of a column): the order itself,
bit by bit; the same bits eager, compiled, in one kernel and by several threads; few rows, many rows, all columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from guarded_memory import guarded

import intaglio as ig

ROW, COLUMN = 65536, 1024


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = ig.get_num_threads()
    yield
    ig.set_num_threads(before)


def row_sum(row: np.ndarray, lanes: int) -> Any:
    """Lane l of a piece takes its columns l, l + lanes, …; lanes fold as a tree, pieces in order."""
    total = row.dtype.type(0)
    for start in range(0, len(row), ROW):
        piece = row[start : start + ROW]
        filled = np.concatenate([piece, np.zeros(-len(piece) % lanes, row.dtype)]).reshape(-1, lanes)
        state = functools.reduce(np.add, filled, np.zeros(lanes, row.dtype))
        while len(state) > 1:
            state = state[: len(state) // 2] + state[len(state) // 2 :]
        total = total + state[0]
    return total


def column_sums(x: np.ndarray) -> Any:
    total = np.zeros(x.shape[1:], x.dtype)
    for start in range(0, len(x), COLUMN):
        total = total + functools.reduce(np.add, x[start : start + COLUMN], np.zeros(x.shape[1:], x.dtype))
    return total


def every_way(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """The result, which is the same bits eager, compiled, and with one to four threads."""
    array = ig.asarray(x)
    compiled = ig.jit(f).lower(array).compile()
    results = []
    for threads in (1, 2, 4):
        ig.set_num_threads(threads)
        results += [np.asarray(f(array)), np.asarray(compiled(array))]
    for other in results[1:]:
        np.testing.assert_array_equal(np.atleast_1d(results[0]).view(np.uint8), np.atleast_1d(other).view(np.uint8))
    return results[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(ROW,), (ROW + 1,), (3 * ROW + 777,), (2, 2 * ROW), (70, ROW + 33), (3, 5, ROW // 4 + 9, 5)]
)
def test_rows_are_summed_by_pieces(dtype: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    axes = (2, 3) if len(shape) == 4 else -1
    rows = x.reshape(-1, x.shape[-1] * x.shape[-2] if len(shape) == 4 else x.shape[-1])
    want = np.array([row_sum(row, 32 if dtype == np.float32 else 16) for row in rows])
    got = every_way(lambda a: ig.sum(a, axis=axes), x)
    np.testing.assert_array_equal(got.reshape(-1), want)


@pytest.mark.parametrize("columns", [1, 65, 100, 255, 257, 1500, 4097])
@pytest.mark.parametrize("rows", [0, 1, 3, 7, 8, 9, 17, COLUMN - 1, COLUMN + 5, 2 * COLUMN + 12])
def test_rows_taken_together_are_summed_in_order(rows: int, columns: int) -> None:
    x = np.random.default_rng(3).standard_normal((rows, columns)).astype(np.float32)
    bodies: list[Callable[[Any], Any]] = [lambda a: a, lambda a: a * a, lambda a: (a - 1) * ig.exp(-a)]
    for body in bodies:
        got = every_way(lambda a, body=body: ig.sum(body(a), axis=0), x)
        np.testing.assert_array_equal(got, column_sums(np.asarray(body(ig.asarray(x)))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(COLUMN, 7), (COLUMN + 1, 7), (5 * COLUMN + 3, 64), (2 * COLUMN, 65), (3000, 1500), (9000, 1)]
)
def test_columns_are_summed_by_pieces(dtype: Any, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(2).standard_normal(shape).astype(dtype)
    got = every_way(lambda a: ig.sum(a, axis=0), x)
    if shape[1] > 1:  # one column is a row
        np.testing.assert_array_equal(got, column_sums(x))
    np.testing.assert_allclose(got, x.astype(np.float64).sum(axis=0), rtol=1e-4, atol=1e-3)


def test_columns_in_the_middle() -> None:
    x = np.random.default_rng(3).standard_normal((3, 2500, 40)).astype(np.float32)
    got = every_way(lambda a: ig.sum(a * 2.0, axis=1), x)
    np.testing.assert_array_equal(got, np.stack([column_sums(part * np.float32(2)) for part in x]))


FOLDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda m, x, axis: m.sum(x, axis=axis),
    "mean of squares": lambda m, x, axis: m.mean(x * x, axis=axis),
    "max": lambda m, x, axis: m.max(x, axis=axis),
    "min": lambda m, x, axis: m.min(x, axis=axis),
    "prod": lambda m, x, axis: m.prod(1 + x / 4096, axis=axis),
    "argmax": lambda m, x, axis: m.argmax(x, axis=axis),
    "argmin": lambda m, x, axis: m.argmin(x, axis=axis),
    "all": lambda m, x, axis: m.all(x < 4, axis=axis),
    "any": lambda m, x, axis: m.any(x > 4, axis=axis),
    "count": lambda m, x, axis: m.count_nonzero(x > 1, axis=axis),
    "var": lambda m, x, axis: m.var(x, axis=axis),
    "centred": lambda m, x, axis: x - m.mean(x, axis=axis, keepdims=True),
    "softmax": lambda m, x, axis: (
        m.exp(x - m.max(x, axis=axis, keepdims=True))
        / m.sum(m.exp(x - m.max(x, axis=axis, keepdims=True)), axis=axis, keepdims=True)
    ),
    "norm": lambda m, x, axis: x / m.sqrt(m.sum(x * x, axis=axis, keepdims=True)),
}


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((300_001,), 0), ((3, 100_003), 1), ((100, ROW + 1), 1), ((5001, 3), 0), ((2, 3001, 70), 1)],
)
def test_long_folds_are_numpys(name: str, shape: tuple[int, ...], axis: int) -> None:
    fold = FOLDS[name]
    x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    want = np.asarray(fold(np, x.astype(np.float64), axis))
    got = every_way(lambda a: fold(ig, a, axis), x)
    assert got.shape == want.shape
    if want.dtype.kind in "bi":
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4 if name == "sum" else 1e-6)


@pytest.mark.parametrize("name", ["sum", "prod", "all", "any", "count"])
@pytest.mark.parametrize(("shape", "axis"), [((4, 0), 1), ((0, 4), 0), ((0,), 0)])
def test_folds_of_nothing(name: str, shape: tuple[int, ...], axis: int) -> None:
    got = every_way(lambda a: FOLDS[name](ig, a, axis), np.zeros(shape, np.float32))
    np.testing.assert_array_equal(got, FOLDS[name](np, np.zeros(shape, np.float32), axis))


@pytest.mark.parametrize("dtype", ["int32", "float16", "complex64"])
def test_other_types(dtype: str) -> None:
    x = (np.random.default_rng(5).standard_normal(200_000) * 3).astype(dtype)
    got = every_way(lambda a: ig.sum(a), x)
    wide = x.astype(np.complex128)
    assert abs(complex(got) - wide.sum()) <= (1e-3 if dtype == "float16" else 1e-7) * np.abs(wide).sum()


def test_nan_and_the_first_of_equals() -> None:
    x = np.zeros(3 * ROW, np.float32)
    x[[ROW - 1, ROW, 2 * ROW + 5]] = 7
    assert every_way(lambda a: ig.argmax(a), x) == ROW - 1
    x[2 * ROW + 9] = np.nan
    assert every_way(lambda a: ig.argmax(a), x) == 2 * ROW + 9
    assert np.isnan(every_way(lambda a: ig.max(a), x))
    zeros = np.full(2 * ROW, -0.0, np.float32)
    assert not np.signbit(every_way(lambda a: ig.sum(a), zeros))  # 0 + -0, as of short rows


def test_sizes_that_are_not_known() -> None:
    f = ig.jit(lambda a: (ig.sum(a), ig.sum(a, axis=1), ig.sum(a, axis=0), ig.softmax(a, axis=1)))
    for shape in [(2, 70_000), (2, 3), (2000, 50), (1, 200_000), (3, 0), (2, 70_001)]:
        x = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
        a = ig.asarray(x)
        alone = [ig.sum(a), ig.sum(a, axis=1), ig.sum(a, axis=0), ig.softmax(a, axis=1)]
        for got, want in zip(f(a), alone, strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_few_long_rows_leave_work_for_all_threads() -> None:
    x = ig.asarray(np.random.default_rng(7).standard_normal((2, 400_000)).astype(np.float32))
    apart = ig.jit(lambda a: a - ig.mean(a, axis=1, keepdims=True)).lower(x).compile()
    assert apart.report()["kernels"] == 2  # the fold, whose pieces threads share, and the difference
    short = x[:, :50_000]
    together = ig.jit(lambda a: a - ig.mean(a, axis=1, keepdims=True)).lower(short).compile()
    assert together.report()["kernels"] == 1


def test_memory_is_as_planned() -> None:
    x = ig.asarray(np.ones((4, 500_000), np.float32))
    graph = ig.trace(lambda a: ig.sum(a * a, axis=1) + ig.max(a, axis=1), x).graph
    graph.compile()
    graph(x)
    report = graph.report()
    assert report["measured_peak"] == report["planned_peak"] > 4 * 8 * 4  # what eight pieces of four rows come to


@pytest.mark.parametrize("shape", [(2 * ROW + 13,), (70, ROW + 5), (3000, 7), (2050, 70), (2, 3001, 33), (3, 300_001)])
def test_nothing_is_read_past_the_end(shape: tuple[int, ...]) -> None:
    """A jitted call reads an array of NumPy's where it lies."""
    values = np.random.default_rng(9).standard_normal(shape).astype(np.float32)
    axis = 1 if len(shape) == 3 else 0
    functions: list[Callable[[Any], Any]] = [
        lambda a: (ig.sum(a, axis=axis), ig.argmax(a)),
        lambda a: (ig.sum(a, axis=-1), ig.max(a * a)),
    ]
    with guarded(values, at_end=True) as x:
        for f in functions:
            program = ig.jit(f)
            program.lower(ig.asarray(x)).compile()
            want = f(ig.asarray(x))
            for _ in range(30):
                got = program(x)
            for a, b in zip(got, want, strict=True):
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_gradients_of_a_long_mean() -> None:
    x = np.random.default_rng(8).standard_normal((150_000,)).astype(np.float32)
    slope = ig.jit(ig.grad(lambda a: ig.mean(a * a)))(ig.asarray(x))
    np.testing.assert_allclose(np.asarray(slope), 2 * x / x.size, rtol=1e-6)
