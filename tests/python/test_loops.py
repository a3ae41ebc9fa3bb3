"""Loops as one kernel, and what is taken out of them: the bits of the executor's loop, of eager and by definition."""

from __future__ import annotations

import random
import signal
import threading
from typing import Any

import numpy as np
import pytest

import intaglio as ig

WITHOUT = ["join-loops", "join-kernels", "hoist-scan"]


def programs(traced: Any) -> int:
    """How many loops of the graph became one kernel."""
    return int(sum(r["changes"] for r in traced.graph.optimised().pass_reports if r["name"] == "join-loops"))


def agree(function: Any, *args: Any, joined: int | None = None, fused: bool = False) -> Any:
    """One result eagerly, compiled with and without the passes, for the least target, and by definition.

    `fused`: its products are fused multiply-adds, which the least target does not have; it then agrees with itself.
    """
    traced = ig.trace(function, *args)
    if joined is not None:
        assert programs(traced) == joined, str(traced.graph.optimised())
    flat = ig.tree_flatten(args)[0]
    want = [np.asarray(leaf) for leaf in ig.tree_flatten(function(*args))[0]]
    runs = {
        "compiled": traced.graph.compile()(*flat),
        "by the executor": traced.graph.compile(disable=WITHOUT)(*flat),
        "x86-64-v2": traced.graph.compile(target="x86-64-v2")(*flat),
        "defined": ig.tree_flatten(traced.evaluate(*args))[0],
    }
    for name, results in runs.items():
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        wanted = want
        if fused and name == "x86-64-v2":
            wanted = list(ig.tree_flatten(traced.graph.compile(target=name, disable=WITHOUT)(*flat))[0])
        for have, value in zip(results, wanted, strict=True):
            expected = np.asarray(value)
            if name == "defined" and expected.dtype.kind in "fc":  # its functions are the C library's
                np.testing.assert_allclose(np.asarray(have), expected, rtol=1e-5, atol=1e-6, err_msg=name)
            else:
                np.testing.assert_array_equal(np.asarray(have), expected, err_msg=name)
    return want


def normal(*shape: int, seed: int = 0) -> ig.Tensor:
    return ig.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 600])
def test_while_with_so_many_steps(steps: int) -> None:
    def f(x: Any, n: Any) -> Any:
        return ig.while_loop(
            lambda c: c[1] < n, lambda c: (c[0] * ig.asarray(0.5, dtype=ig.float32) + 1, c[1] + 1), (x, n * 0)
        )

    out = agree(f, normal(8), ig.asarray(steps), joined=1)
    assert out[1] == steps


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 2, 5, 300])
def test_scan_with_so_many_steps(steps: int, reverse: bool) -> None:
    def f(x: Any, xs: Any) -> Any:
        def step(carry: Any, item: Any) -> Any:
            a, b = carry
            return (b, a + item), (a, item * b)

        return ig.scan(step, (x, x * 2), xs, reverse=reverse)

    agree(f, normal(3), normal(steps, 3, seed=1), joined=int(steps != 1))  # one step is no loop


def test_scan_over_a_symbolic_number_of_steps() -> None:
    def f(x: Any, xs: Any) -> Any:
        return ig.scan(lambda c, v: (c * v, c + v), x, xs)

    traced = ig.trace(f, normal(3), normal(4, 3), dynamic_shapes={"xs": {0: ig.Dim("n")}})
    assert programs(traced) == 1
    for n in (0, 1, 2, 9, 1000):
        x, xs = normal(3, seed=n), normal(n, 3, seed=n + 1)
        for have, want in zip(ig.tree_flatten(traced(x, xs))[0], ig.tree_flatten(f(x, xs))[0], strict=True):
            np.testing.assert_array_equal(np.asarray(have), np.asarray(want))


def test_an_argument_that_is_carried_and_read_is_not_overwritten() -> None:
    def f(x: Any) -> Any:
        return ig.fori_loop(0, 4, lambda i, c: c + x, x)

    x = normal(5)
    agree(f, x, joined=1)
    jitted = ig.jit(f, donate_argnums=0)
    np.testing.assert_array_equal(np.asarray(jitted(x + 0)), np.asarray(f(x)))


def test_an_argument_seen_in_two_shapes_is_not_overwritten() -> None:
    def f(x: Any) -> Any:
        other = ig.reshape(x, (4,))
        return ig.fori_loop(0, 3, lambda i, c: c + ig.reshape(ig.flip(other), (2, 2)), x)

    x = normal(2, 2)
    jitted = ig.jit(f, donate_argnums=0)
    np.testing.assert_array_equal(np.asarray(jitted(x + 0)), np.asarray(f(x)))


def test_loops_inside_of_loops() -> None:
    def f(x: Any) -> Any:
        def outer(i: Any, value: Any) -> Any:
            inner = ig.fori_loop(0, 3, lambda j, v: v * ig.asarray(0.5, dtype=ig.float32) + value, value)
            return ig.cond(ig.sum(inner) > 0, lambda: inner - 1, lambda: value)

        return ig.fori_loop(0, 5, outer, x)

    agree(f, normal(6), joined=1)


def test_branches_inside_of_loops() -> None:
    def f(n: Any) -> Any:
        def step(carry: Any) -> Any:
            n, count = carry
            return ig.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), count + 1

        def turn(carry: Any) -> Any:
            n, count = carry
            return ig.switch(
                count % 5,
                [lambda: n + 1, lambda: n - 3, lambda: n * 2],
            ), count + 1

        first = ig.while_loop(lambda c: c[0] != 1, step, (n, n * 0))[1]
        return first, ig.while_loop(lambda c: c[1] < 12, turn, (n, n * 0))[0]

    agree(f, ig.asarray(27), joined=2)


def test_products_inside_of_loops() -> None:
    def f(w: Any, x: Any) -> Any:
        return ig.fori_loop(0, 10, lambda i, v: ig.tanh(ig.matmul(w, v)), x)

    agree(f, normal(7, 7), normal(7, 5, seed=1), joined=1, fused=True)


@pytest.mark.parametrize("dtype", [ig.float16, ig.bfloat16, ig.float64, ig.int8, ig.uint64, ig.complex64, ig.bool])
def test_carries_of_each_dtype(dtype: Any) -> None:
    def f(x: Any, xs: Any) -> Any:
        def step(carry: Any, v: Any) -> Any:
            return ig.where(ig.equal(v, v), v, carry), carry

        return ig.scan(step, x, xs)

    numbers = ig.asarray([[1, 0, 2], [3, 1, 0], [0, 0, 1], [5, 2, 2]]).astype(dtype)
    agree(f, numbers[0], numbers, joined=1)
    agree(f, numbers[0, 0], numbers[:, 0], joined=1)


def test_keys_are_carried() -> None:
    def f(key: Any) -> Any:
        def step(i: Any, carry: Any) -> Any:
            key, total = carry
            key, use = ig.random.split(key)
            return key, total + ig.random.uniform(use, (4,))

        return ig.fori_loop(0, 5, step, (key, ig.zeros(4)))[1]

    agree(f, ig.random.key(3))


def test_effects_and_long_steps_stay_with_the_executor() -> None:
    def printing(x: Any) -> Any:
        def body(i: Any, v: Any) -> Any:
            ig.debug_print("{}", v)
            return v + 1

        return ig.fori_loop(0, 2, body, x)

    assert programs(ig.trace(printing, normal(2))) == 0
    agree(lambda x: ig.fori_loop(0, 2, lambda i, v: v * v, x), normal(300, 300), joined=0)
    agree(lambda x: ig.fori_loop(0, 2, lambda i, v: ig.matmul(v, v), x), normal(60, 60), joined=0, fused=True)


def test_the_passes_can_be_switched_off_and_say_what_they_did() -> None:
    traced = ig.trace(lambda x: ig.fori_loop(0, 3, lambda i, v: v * v, x), normal(4))
    details = traced.graph.optimised().pass_reports[-2]
    assert details["name"] == "join-loops"
    assert details["changes"] == 1
    assert details["details"][0].startswith("program: scan of 2 kernels, some ")
    assert traced.graph.compile().report()["kernels"] == 1
    assert traced.graph.compile(disable=["join-loops"]).report()["kernels"] == 1
    assert traced.graph.compile(disable=["join-loops", "join-kernels"]).report()["kernels"] == 2


def test_an_interrupt_ends_a_loop_that_is_one_kernel() -> None:
    def forever(x: Any) -> Any:
        return ig.while_loop(lambda v: v < 2, lambda v: v * ig.asarray(0.5, dtype=ig.float32), x)

    traced = ig.trace(forever, ig.asarray(np.float32(1)))
    assert programs(traced) == 1
    ended = threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has none

    def press() -> None:  # again and again: on a busy machine the first may meet the compile, not the loop
        while not ended.wait(0.3):
            signal.raise_signal(signal.SIGINT)

    keys = threading.Thread(target=press)
    keys.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            traced(ig.asarray(np.float32(1)))
    finally:
        ended.set()
        keys.join()
        signal.signal(signal.SIGINT, before)
    assert float(traced(ig.asarray(np.float32(4)))) == 4


def test_products_of_slices_are_taken_out_of_a_scan() -> None:
    def f(w: Any, r: Any, h: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = ig.tanh(ig.matmul(x, w.T) + ig.matmul(h, r.T))
            return h, h

        return ig.scan(step, h, xs)

    args = normal(6, 4), normal(6, 6, seed=1), normal(2, 6, seed=2), normal(9, 2, 4, seed=3)
    traced = ig.trace(f, *args)
    hoisted = str(traced.graph.optimised(passes=["expand-composites", "canonicalize", "hoist-scan", "dce"]))
    outer, inner = hoisted.split("scan(", 1)
    assert outer.count("dot_general") == 1
    assert inner.count("dot_general") == 1
    assert outer.count("transpose") == 2
    assert inner.count("transpose") == 0
    for have, want in zip(ig.tree_flatten(traced(*args))[0], traced.graph.compile(disable=WITHOUT)(*args), strict=True):
        np.testing.assert_array_equal(np.asarray(have), np.asarray(want))


def same_bits(traced: Any, *args: Any) -> None:
    """The compiled graph, against itself without the passes for loops."""
    flat = ig.tree_flatten(args)[0]
    joined, plain = traced.graph.compile()(*flat), traced.graph.compile(disable=WITHOUT)(*flat)
    for one, other in zip(ig.tree_flatten(joined)[0], ig.tree_flatten(plain)[0], strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def scan_changes(traced: Any) -> int:
    """What hoist-scan changed in the graph."""
    reports = traced.graph.optimised().pass_reports
    return int(sum(r["changes"] for r in reports if r["name"] == "hoist-scan"))


@pytest.mark.parametrize("batch", [1, 2, 3, 8, 17])
def test_a_recurrent_layer_gives_the_bits_of_its_steps(batch: int) -> None:
    layer = ig.nn.LSTM(12, 20, key=ig.random.key(0))
    xs = normal(11, batch, 12)
    traced = ig.trace(lambda x: layer(x)[0], xs, lift=False)
    assert scan_changes(traced) > 0
    same_bits(traced, xs)


# Rows of a step, folded length, columns: thin products, ones of one column, lengths in several chunks.
PRODUCTS = [
    (1, 3, 1),
    (1, 129, 1),
    (1, 40, 5),
    (1, 700, 33),
    (2, 900, 70),
    (3, 17, 64),
    (5, 520, 1),
    (8, 128, 512),
    (9, 31, 130),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "complex64"])
@pytest.mark.parametrize(("m", "k", "n"), PRODUCTS)
def test_a_product_over_all_steps_has_the_bits_of_its_steps(m: int, k: int, n: int, dtype: str) -> None:
    def f(w: Any, h: Any, xs: Any) -> Any:
        return ig.scan(lambda h, x: (h + ig.matmul(x, w), h), h, xs)

    scale = 4 if dtype == "int32" else 1
    args = [ig.astype(scale * v, getattr(ig, dtype)) for v in (normal(k, n), normal(m, n), normal(7, m, k, seed=1))]
    traced = ig.trace(f, *args)
    assert scan_changes(traced) >= 1  # of complex numbers: a product for each pair of parts
    same_bits(traced, *args)


@pytest.mark.parametrize("k", [1, 5, 33, 300, 1000])
def test_folds_of_slices_over_all_steps_have_the_bits_of_their_steps(k: int) -> None:
    def f(w: Any, a: Any, h: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            vector = ig.matmul(a, x) + ig.matmul(x, a.T)  # both ways round
            return h + ig.vecdot(x, w) + ig.sum(vector), vector

        return ig.scan(step, h, xs)

    args = [normal(k), normal(6, k), ig.asarray(np.float32(0.5)), normal(9, k, seed=2)]
    traced = ig.trace(f, *args)
    assert scan_changes(traced) >= 2
    same_bits(traced, *args)


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_constant_weights_are_read_packed(rows: int, dtype: str) -> None:
    wide = getattr(ig, dtype)
    r = ig.astype(0.1 * normal(48, 100), wide)  # more than 16 KiB, and the last strip is not full
    back = ig.astype(0.1 * normal(100, 48, seed=1), wide)

    def once(h: Any, xs: Any) -> Any:
        return ig.scan(lambda h, x: (ig.tanh(x + ig.matmul(ig.matmul(h, r), back)), h), h, xs)

    def twice(h: Any, xs: Any) -> Any:  # read in another way too: it stays as it lies
        return ig.scan(lambda h, x: (ig.tanh(x + ig.matmul(ig.matmul(h, r), back) + r[0, :48]), h), h, xs)

    def inner(h: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            return ig.fori_loop(0, 3, lambda i, v: ig.tanh(x + ig.matmul(ig.matmul(v, r), back)), h), h

        return ig.scan(step, h, xs)

    def both(h: Any, xs: Any) -> Any:  # by the condition and by the body
        def body(c: Any) -> Any:
            return c[0] + 1, ig.tanh(xs[0] + ig.matmul(ig.matmul(c[1], r), back))

        return ig.while_loop(lambda c: (ig.sum(ig.matmul(c[1], r)) < 1e9) & (c[0] < 4), body, (ig.asarray(0), h))

    args = [ig.astype(v, wide) for v in (normal(rows, 48), normal(6, rows, 48, seed=1))]
    for function in (once, twice, inner, both):
        traced = ig.trace(function, *args, lift=False)
        assert programs(traced) == 1, (function.__name__, str(traced.graph.optimised())[:4000])
        same_bits(traced, *args)


def test_derivatives_of_loops_are_loops_of_one_kernel() -> None:
    def cell(h: Any, x: Any, w: Any) -> Any:
        return ig.tanh(ig.matmul(w, h) + x)

    def scanned(w: Any, h: Any, xs: Any) -> Any:
        last, all_of = ig.scan(lambda h, x: (cell(h, x, w), ig.sin(h)), h, xs)
        return ig.sum(last) + ig.sum(all_of * all_of)

    def repeated(w: Any, h: Any, xs: Any) -> Any:
        return ig.sum(ig.fori_loop(0, 5, lambda i, v: cell(v, xs[0], w), h))

    args = normal(5, 5), normal(5, seed=1), normal(7, 5, seed=2)
    for function in (scanned, repeated):
        traced = ig.trace(ig.value_and_grad(function, argnums=(0, 1, 2)), *args)
        assert programs(traced) == 2  # there and back
        same_bits(traced, *args)
        agree(ig.jacfwd(function), *args, fused=True)


def test_mapped_loops_are_loops_of_one_kernel() -> None:
    def scanned(h: Any, xs: Any) -> Any:
        return ig.scan(lambda h, x: (h * x, ig.cumsum(h + x)), h, xs)

    def until(x: Any, xs: Any) -> Any:  # examples end at different steps
        return ig.while_loop(lambda c: ig.sum(c[0]) < 20, lambda c: (c[0] * 2 + 1, c[1] + 1), (x, ig.asarray(0)))

    args = ig.abs(normal(4, 3)), normal(4, 6, 3, seed=1)
    agree(ig.vmap(scanned), *args, joined=1)
    steps = agree(ig.vmap(until), *args, joined=1)[1]
    assert len(set(steps.tolist())) > 1
    agree(ig.vmap(ig.grad(lambda h, xs: ig.sum(ig.sin(scanned(h, xs)[1])))), *args, joined=2)


UNARY = [ig.sin, ig.tanh, ig.abs, ig.negative, ig.sqrt, ig.floor, lambda v: ig.cumsum(v, axis=0), ig.flip]
BINARY = [ig.add, ig.subtract, ig.multiply, ig.minimum, ig.maximum, ig.divide]


def random_step(rng: random.Random, size: int) -> Any:
    """A function of some carries and slices, each float32[size], to as many carries and a few outputs."""
    moves = []
    for _ in range(rng.randint(1, 6)):
        moves.append(
            (rng.choice(["unary", "binary", "fold", "pick", "product"]), rng.random(), rng.random(), rng.random())
        )
    picks = [rng.random() for _ in range(5)]

    def step(carries: list[Any], slices: list[Any], weight: Any) -> Any:
        values = [*carries, *slices]

        def choose(at: float) -> Any:
            return values[int(at * len(values))]

        for kind, a, b, c in moves:
            x, y = choose(a), choose(b)
            if kind == "unary":
                values.append(UNARY[int(c * len(UNARY))](x))
            elif kind == "binary":
                values.append(BINARY[int(c * len(BINARY))](x, y))
            elif kind == "fold":
                values.append(x - ig.max(y))
            elif kind == "product":
                values.append(ig.matmul(weight, x))
            else:
                values.append(ig.where(x < y, x, y))
        return [choose(p) for p in picks[: len(carries)]], [choose(p) for p in picks[3:]]

    return step


@pytest.mark.parametrize("seed", range(24))
def test_random_loops(seed: int) -> None:
    rng = random.Random(seed)
    size, trips, count = rng.choice([1, 2, 5, 8, 33]), rng.choice([1, 2, 3, 6]), rng.randint(1, 3)
    step, reverse, kind = random_step(rng, size), rng.random() < 0.5, rng.choice(["scan", "while"])
    weight = normal(size, size, seed=seed + 100)
    start = [normal(size, seed=seed + i) for i in range(count)]
    xs = normal(trips, size, seed=seed + 50)

    def scanned(weight: Any, xs: Any, *start: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            after, out = step(list(carry), [x], weight)
            return tuple(after), tuple(out)

        return ig.scan(body, tuple(start), xs, reverse=reverse)

    def looped(weight: Any, xs: Any, *start: Any) -> Any:
        def body(state: Any) -> Any:
            i, carry = state
            return i + 1, tuple(step(list(carry), [xs[0]], weight)[0])

        return ig.while_loop(lambda s: s[0] < trips, body, (ig.asarray(0), tuple(start)))

    traced = ig.trace(scanned if kind == "scan" else looped, weight, xs, *start)
    args = [weight, xs, *start]
    joined, plain = traced.graph.compile()(*args), traced.graph.compile(disable=WITHOUT)(*args)
    least = traced.graph.compile(target="x86-64-v2")(*args)
    slow = traced.graph.compile(target="x86-64-v2", disable=WITHOUT)(*args)
    for one, other in zip(joined, plain, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    for one, other in zip(least, slow, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
