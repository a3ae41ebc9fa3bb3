"""Products that are read in parts (gates, gated units) are one kernel with what brings the parts together; no bit
depends on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig

rng = np.random.default_rng(15)


def random(*shape: int, dtype: str = "float32") -> ig.Array:
    return ig.astype(ig.asarray(rng.standard_normal(shape) * 2), dtype)


def kernels(f: Any) -> list[str]:
    """The kinds of kernels of the function's one trace, and the ops of each."""
    lines = str(ig.explain(f).fusion).splitlines()
    return [line.strip() for line in lines if line.startswith("  ") and not line.startswith("   ") and ": " in line]


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(
        np.asarray(ig.astype(got, "float64")), np.asarray(ig.astype(want, "float64")), strict=True
    )


def gated(x: Any, w: Any, c: Any, parts: int) -> Any:
    """All parts multiplied, each by a function of its own: no part may be taken for another."""
    y = x @ w + c
    width = y.shape[-1] // parts
    functions = (ig.tanh, ig.sin, ig.cos, ig.sigmoid, ig.abs, ig.negative, ig.relu, lambda v: v + 3)
    total = 0.5
    for p in range(parts):
        total = total * functions[p](y[..., p * width : (p + 1) * width])
    return total


# Multiples of 24 and 48 are cut into strips of three registers, where rows are few.
WIDTHS = [(1, 2), (3, 8), (16, 4), (31, 2), (33, 3), (100, 4), (128, 2), (24, 3), (96, 4), (144, 2)]
ROWS = [
    ("argument", 3),
    ("argument", 130),
    ("weight", 1),
    ("weight", 4),
    ("weight", 5),
    ("weight", 13),
    ("turned weight", 8),
]


@pytest.mark.parametrize(("width", "parts"), WIDTHS)
@pytest.mark.parametrize(("held", "rows"), ROWS)
def test_widths_parts_and_rows(width: int, parts: int, rows: int, held: str) -> None:
    x, c = random(rows, 70), random(parts * width)
    w = random(parts * width, 70).T if held == "turned weight" else random(70, parts * width)
    f = ig.jit((lambda x, w, c: gated(x, w, c, parts)) if held == "argument" else lambda x: gated(x, w, c, parts))
    got = f(x, w, c) if held == "argument" else f(x)
    same(got, gated(x, w, c, parts))
    assert sum(line.startswith("contraction: dot_general") for line in kernels(f)) == 1
    assert not any(line.startswith("loop") and "slice" in line for line in kernels(f)), kernels(f)


@pytest.mark.parametrize("k", [1, 5, 700, 3001])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("held", ["argument", "weight"])
def test_terms_and_types(k: int, dtype: str, held: str) -> None:
    x, w, c = random(21, k, dtype=dtype) / k, random(k, 3 * 45, dtype=dtype), random(3 * 45, dtype=dtype)
    f = ig.jit((lambda x, w, c: gated(x, w, c, 3)) if held == "argument" else lambda x: gated(x, w, c, 3))
    same(f(x, w, c) if held == "argument" else f(x), gated(x, w, c, 3))
    assert not any(line.startswith("loop") and "slice" in line for line in kernels(f)), kernels(f)


def test_integers() -> None:
    x, w = (ig.asarray(rng.integers(-9, 9, shape), dtype="int32") for shape in ((7, 12), (12, 2 * 19)))
    f = ig.jit(lambda x, w: (x @ w)[:, :19] * (x @ w)[:, 19:])
    same(f(x, w), (x @ w)[:, :19] * (x @ w)[:, 19:])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_and_threads_have_no_part_in_the_bits(threads: int) -> None:
    x, w, c = random(600, 96), random(96, 2 * 300), random(600)
    f = ig.jit(lambda x: gated(x, w, c, 2))
    before = ig.get_num_threads()
    ig.set_num_threads(threads)
    try:
        whole = f(x)
        for begin in (0, 1, 593):
            same(f(x[begin : begin + 7]), whole[begin : begin + 7])
    finally:
        ig.set_num_threads(before)
    same(whole, gated(x, w, c, 2))


def test_a_number_of_rows_that_is_not_known() -> None:
    w, c = random(40, 4 * 50), random(200)
    f = ig.jit(lambda x: gated(x, w, c, 4))
    for rows in (1, 2, 12, 13, 64, 0):
        x = random(rows, 40)
        same(f(x), gated(x, w, c, 4))


def test_batches_of_products() -> None:
    x, w, c = random(5, 9, 24), random(5, 24, 2 * 40), random(80)
    f = ig.jit(lambda x, w: gated(x, w, c, 2))
    same(f(x, w), gated(x, w, c, 2))
    assert len(kernels(f)) == 1


def test_several_results_and_readers_of_a_part() -> None:
    x, w = random(9, 32), random(32, 2 * 48)

    def f(x: Any, w: Any) -> Any:
        y = x @ w
        a, b = y[:, :48], y[:, 48:]
        return a * ig.sigmoid(b), a + b, a

    g = ig.jit(f)
    for mine, eager in zip(g(x, w), f(x, w), strict=True):
        same(mine, eager)
    assert len(kernels(g)) == 1


def test_parts_told_apart_by_a_reshape_or_split() -> None:
    x, w = random(9, 32), random(32, 3 * 40)

    def by_reshape(x: Any, w: Any) -> Any:
        y = ig.reshape(x @ w, (9, 3, 40))
        return y[:, 0] * ig.sigmoid(y[:, 1]) + y[:, 2]

    def by_split(x: Any, w: Any) -> Any:
        a, b, c = ig.split(x @ w, 3, axis=1)
        return a * ig.sigmoid(b) + c

    for f in (by_reshape, by_split):
        g = ig.jit(f)
        same(g(x, w), f(x, w))
        assert len(kernels(g)) == 1


def whole_read_too(y: Any) -> Any:
    return y[:, :24] * y[:, 24:], y


def unequal(y: Any) -> Any:
    return ig.tanh(y[:, :20]) + ig.sin(y[:, 20:40]), y[:, 40:]


def turned(y: Any) -> Any:
    return ig.tanh(y[:24, :24]) * y[:24, 24:].T


def shifted(y: Any) -> Any:
    return y[:, 1:25] * y[:, 23:47]


def every_second(y: Any) -> Any:
    return y[:, ::2] * y[:, 1::2]


def some_rows(y: Any) -> Any:
    return y[3:9, :24] * y[3:9, 24:]


def folded(y: Any) -> Any:
    return ig.sum(y[:, :24] * y[:, 24:], axis=1)


def one_part(y: Any) -> Any:
    return ig.tanh(y[:, 24:])


@pytest.mark.parametrize(
    "read",
    [whole_read_too, unequal, turned, shifted, every_second, some_rows, folded, one_part],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("rows", [24, 40])
def test_other_ways_to_read(read: Any, rows: int) -> None:
    x, w = random(rows, 30), random(30, 48)
    got, want = ig.jit(lambda x, w: read(x @ w))(x, w), read(x @ w)
    for mine, eager in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        same(mine, eager)


def lstm(x: Any, w: Any, h: Any, c: Any) -> Any:
    size = h.shape[-1]

    def step(carry: Any, part: Any) -> Any:
        h, c = carry
        gates = part + h @ w
        i, f, g, o = (gates[:, n * size : (n + 1) * size] for n in range(4))
        c = ig.sigmoid(f) * c + ig.sigmoid(i) * ig.tanh(g)
        h = ig.sigmoid(o) * ig.tanh(c)
        return (h, c), h

    return ig.scan(step, (h, c), x)


def gru(x: Any, w: Any, h: Any) -> Any:
    size = h.shape[-1]

    def step(h: Any, part: Any) -> Any:
        mine = h @ w
        r, z = (ig.sigmoid(part[:, n * size : (n + 1) * size] + mine[:, n * size : (n + 1) * size]) for n in range(2))
        new = ig.tanh(part[:, 2 * size :] + r * mine[:, 2 * size :])
        h = (1 - z) * new + z * h
        return h, h

    return ig.scan(step, h, x)


@pytest.mark.parametrize("size", [5, 64, 150])
@pytest.mark.parametrize("batch", [1, 8, 11])
@pytest.mark.parametrize("held", ["argument", "weight"])
def test_recurrent_cells(size: int, batch: int, held: str) -> None:
    h, c = random(batch, size), random(batch, size)
    for cell, gates, state in ((lstm, 4, (h, c)), (gru, 3, (h,))):
        x, w = random(6, batch, gates * size), random(size, gates * size) / 8
        f = ig.jit(cell if held == "argument" else lambda x, _, *state, cell=cell, w=w: cell(x, w, *state))
        for mine, eager in zip(
            ig.tree.flatten(f(x, w, *state))[0], ig.tree.flatten(cell(x, w, *state))[0], strict=True
        ):
            same(mine, eager)


def twice(f: Any, *shapes: tuple[int, ...]) -> Any:
    return pytest.param(f, shapes, id=f.__name__)


def sums_of_columns(x: Any) -> Any:
    return ig.sum(x, axis=0)


def sums_of_rows(x: Any) -> Any:
    return ig.sum(x, axis=1)


def scaled_softmax(x: Any) -> Any:
    return ig.softmax(x * 2, axis=-1)


def softmax_of_columns(x: Any) -> Any:
    return ig.softmax(x, axis=0)


def products_relu(x: Any, y: Any) -> Any:
    return ig.relu(x @ y)


def turned_over(x: Any) -> Any:
    return ig.permute_dims(x, (1, 0))


def convolved(x: Any, w: Any) -> Any:
    return ig.relu(ig.conv(x, w, padding=1))


def attended(q: Any, k: Any, v: Any) -> Any:
    return ig.scaled_dot_product_attention(q, k, v)


def largest_window(x: Any) -> Any:
    return ig.max_pool(x, kernel_size=2)


def sorted_rows(x: Any) -> Any:
    return ig.sort(x)


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        twice(sums_of_columns, (40, 70)),
        twice(sums_of_rows, (40, 70)),
        twice(scaled_softmax, (9, 70)),
        twice(softmax_of_columns, (70, 64)),
        twice(products_relu, (9, 30), (30, 50)),
        twice(turned_over, (30, 50)),
        twice(convolved, (2, 8, 9, 9), (16, 8, 3, 3)),
        twice(attended, (2, 2, 9, 16), (2, 2, 11, 16), (2, 2, 11, 16)),
        twice(largest_window, (2, 3, 8, 8)),
        twice(sorted_rows, (4, 30)),
    ],
)
def test_what_a_function_gives_twice_are_two_arrays(f: Any, shapes: Any) -> None:
    arrays = [random(*shape) for shape in shapes]
    one, again, both = ig.jit(lambda *a: (f(*a), f(*a), f(*a) + 1))(*arrays)
    same(one, f(*arrays))
    same(again, f(*arrays))
    same(both, f(*arrays) + 1)
    assert np.asarray(one).ctypes.data != np.asarray(again).ctypes.data


def test_what_is_carried_and_stacked_is_written_to_both_places() -> None:
    x = random(5, 3, 17)
    f = ig.jit(lambda x: ig.scan(lambda s, v: (ig.tanh(s + v),) * 2, ig.zeros((3, 17)), x))
    state, all_states = f(x)
    same(state, all_states[-1])
    g = ig.jit(lambda v: (ig.tanh(v),) * 3)
    for result in g(x):
        same(result, ig.tanh(x))
    a, b, c = g(x)
    assert len({np.asarray(v).ctypes.data for v in (a, b, c)}) == 3


def test_what_only_bears_another_shape_is_given_twice() -> None:
    x = random(3, 4)
    f = ig.jit(lambda x: (ig.reshape(x, (12,)), ig.reshape(x, (12,)), ig.reshape(x, (2, 6))))
    for got in f(x):
        same(ig.reshape(got, (3, 4)), x)
    state, states = ig.jit(lambda x: ig.scan(lambda s, v: (ig.reshape(v, (2, 2)),) * 2, ig.zeros((2, 2)), x))(x)
    same(state, states[-1])
    same(states, ig.reshape(x, (3, 2, 2)))


def test_a_long_chain_behind_a_product() -> None:
    def f(x: Any, w: Any) -> Any:
        y = x @ w
        for _ in range(200):
            y = ig.sin(y)
        return y[:, :8] * y[:, 8:]

    x, w = random(3, 5), random(5, 16)
    same(ig.jit(f)(x, w), f(x, w))
