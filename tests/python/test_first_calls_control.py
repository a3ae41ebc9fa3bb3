"""First calls of functions with loops, branches and checks run op by op, too: with the bits and the errors of the
compiled program, and only as long as that does not take long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_first_calls import run, same

import intaglio as ig

rng = np.random.default_rng(7)
Function = Callable[..., Any]


def array(*shape: int, dtype: str = "float32") -> ig.Tensor:
    return ig.asarray((rng.standard_normal(shape) * 2).astype(dtype))


def leaves(result: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in ig.tree.leaves(result)]


def halve_until(x: Any) -> Any:
    return ig.while_loop(lambda s: ig.sum(ig.abs(s[0])) > 0.5, lambda s: (s[0] * 0.7, s[1] + 1), (x, 0))


def cumulated(x: Any) -> Any:
    def step(total: Any, row: Any) -> Any:
        total = total * 0.5 + ig.sin(row)
        return total, (total, row > 0)

    return ig.scan(step, x[0], x), ig.scan(step, x[0], x, reverse=True)


def branches(x: Any, i: Any) -> Any:
    chosen = ig.cond(ig.sum(x) > 0, lambda x: ig.exp(x), lambda x: x - 1, x)
    return chosen, ig.switch(i, [lambda x: x, lambda x: x * 3, lambda x: ig.tanh(x)], x)


def nested(x: Any) -> Any:
    def row(i: Any, y: Any) -> Any:
        y = ig.fori_loop(0, 3, lambda _, z: z * 0.9 + ig.astype(i, "float32"), y)
        return ig.cond(y[0] > 1, lambda y: y / 2, lambda y: y, y)

    return ig.fori_loop(0, 5, row, x)


def loss_of_steps(w: Any, x: Any) -> Any:
    return ig.sum(ig.scan(lambda h, v: (ig.tanh(h @ w + v), None), x[0], x)[0] ** 2)


@ig.custom_vjp
def clipped(x: Any) -> Any:
    return ig.sin(x) * x


clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (ig.clip(g * x, -1, 1),))


def with_rules(x: Any) -> Any:
    return ig.grad(lambda x: ig.sum(ig.checkpoint(lambda x: clipped(clipped(x)))(x)))(x)


def newton(x: Any) -> Any:
    def solve(a: Any) -> Any:
        return ig.while_loop(lambda s: ig.abs(s * s - a) > 1e-4, lambda s: 0.5 * (s + a / s), a)

    return ig.vmap(solve)(ig.abs(x[0]) + 1)


def insertion(x: Any) -> Any:
    return ig.fori_loop(1, x.shape[0], lambda i, o: o.at[i].set(ig.maximum(o[i], o[i - 1])).at[-i].add(o[i]), x[:, 0])


def windows(x: Any, i: Any) -> Any:
    def step(k: Any, x: Any) -> Any:
        piece = ig.dynamic_slice(x, i + k, k, slice_sizes=(3, 2))
        return ig.dynamic_update_slice(x, piece * 2, k - 2, i)

    return ig.fori_loop(0, 6, step, x)


def walk(x: Any) -> Any:
    def step(key: Any, row: Any) -> Any:
        key, own = ig.random.split(key)
        return key, row + ig.random.normal(own, row.shape)

    return ig.scan(step, ig.random.key(5), x)[1]


def nothing(x: Any) -> Any:
    return ig.scan(lambda c, row: (c + row, (row, c)), x[0], x[:0])


X = array(6, 4)
PROGRAMS: list[tuple[Function, tuple[Any, ...]]] = [
    (halve_until, (X,)),
    (cumulated, (X,)),
    *((branches, (x, ig.asarray(i))) for x, i in [(ig.abs(X), 1), (-ig.abs(X), 0), (X, 2), (X, -3), (X, 9)]),
    (nested, (X[0],)),
    (ig.grad(loss_of_steps), (array(4, 4), X)),
    (with_rules, (X,)),
    (newton, (X,)),
    (insertion, (X,)),
    (windows, (X, ig.asarray(1))),
    (walk, (X,)),
    (nothing, (X,)),
]


def counted(x: Any) -> Any:
    return ig.fori_loop(0, x.shape[0] + 1, lambda i, y: y * 0.5 + ig.astype(i, "float32"), ig.asarray([0.5, -3.0]))


def compare() -> None:
    """Prints what does not run op by op, or has other bits so."""
    for function, given in PROGRAMS:
        graph = ig.trace(function, *given).graph
        early = graph._run_op_by_op(*given)
        if early is None or leaves(early) != leaves(graph.compile()(*given)):
            print(function.__name__, early)
    sizes = ig.trace(counted, X, dynamic_shapes={"x": {0: ig.Dim("n", 0, 64)}}).graph
    for n in (6, 1, 0):
        early = sizes._run_op_by_op(X[:n])
        if early is None or leaves(early) != leaves(sizes.compile()(X[:n])):
            print("counted", n, early)
    print("done")


def test_bits_are_those_of_the_program(tmp_path: Path) -> None:
    folder = str(Path(__file__).parent)
    program = f"import sys; sys.path.insert(0, {folder!r}); import {Path(__file__).stem} as here; here.compare()"
    for target in ("", "x86-64-v3"):
        assert run(f"{program}\n", tmp_path, True, INTAGLIO_TARGET=target) == "done\n", target


def test_steps_as_many_as_a_size_are_searched_for_what_makes_a_nan() -> None:
    def f(x: Any) -> Any:
        return ig.log(counted(x) * 0 - 1)

    graph = ig.trace(f, X, dynamic_shapes={"x": {0: ig.Dim("n", 0, 64)}}).graph
    ig.debug_nans(True)
    try:
        with pytest.raises(ig.ValueError, match=r"^`log` makes NaN: 2 of 2 elements"):
            graph(X)
    finally:
        ig.debug_nans(False)


def test_a_loop_that_goes_on_for_long_is_compiled() -> None:
    def known(x: Any) -> Any:
        return ig.fori_loop(0, 1_000_000_000, lambda _, x: x + 1, x)

    def unknown(x: Any) -> Any:
        return ig.while_loop(lambda x: x < 1e9, lambda x: x + 1, x)

    for f in (known, unknown, lambda x: ig.cond(x > 0, unknown, known, x)):
        x = ig.asarray(np.float64(1))
        assert ig.trace(f, x).graph._run_op_by_op(x) is None


def test_what_is_seen_from_outside_is_compiled() -> None:
    def printed(x: Any) -> Any:
        return ig.fori_loop(0, 3, lambda i, x: (ig.debug.print("{}", i), x * 2)[1], x)

    def called(x: Any) -> Any:
        shape = ig.ShapeDtypeStruct((), "float32")
        return ig.cond(x > 0, lambda x: ig.pure_callback(lambda v: v, shape, x), lambda x: x, x)

    for f in (printed, called):
        x = ig.asarray(np.float32(1))
        assert ig.trace(f, x).graph._run_op_by_op(x) is None


def test_a_check_that_fails_is_told_by_the_program(tmp_path: Path) -> None:
    printed = same(
        """
        @ig.jit
        def f(x, i):
            return ig.fori_loop(0, 3, lambda k, s: s + x[i + k], ig.zeros(()))
        x = ig.arange(5, dtype="float32")
        for i in (0, 2, 3, -9, 1):
            try:
                print(f(x, ig.asarray(i)).item())
            except ig.Error as error:
                print(type(error).__name__, error)
        """,
        tmp_path,
    )
    assert printed.count("IndexError the index") == 2
    assert printed.count("program.py") == 2


def test_an_lstm_and_a_search_compile_nothing_at_first(tmp_path: Path) -> None:
    program = """
        w, r, b = array(4 * 96, 40), array(4 * 96, 96), array(4 * 96)
        def step(state, x):
            h, c = state
            i, f, o, g = ig.split(x @ w.T + h @ r.T + b, 4, axis=-1)
            c = ig.sigmoid(f) * c + ig.sigmoid(i) * ig.tanh(g)
            h = ig.sigmoid(o) * ig.tanh(c)
            return (h, c), h
        lstm = ig.jit(lambda x: ig.scan(step, (ig.zeros((8, 96)), ig.zeros((8, 96))), x))
        outputs = lstm(array(5, 8, 40))
        print([leaf.numpy().tobytes().hex() for leaf in ig.tree.leaves(outputs)])
        @ig.jit
        def search(table, wanted):
            def closer(s):
                low, high = s
                middle = (low + high) // 2
                return ig.where(table[middle] < wanted, middle + 1, low), ig.where(table[middle] < wanted, high, middle)
            return ig.while_loop(lambda s: s[0] < s[1], closer, (ig.asarray(0), ig.asarray(table.shape[0])))[0]
        table = ig.arange(1000, dtype="float32")
        print([search(table, ig.asarray(np.float32(v))).item() for v in (-1, 0, 412.5, 999, 2000)])
        print(KERNELS)
    """
    early = run(program.replace("KERNELS", "kernels()"), tmp_path, True).splitlines()
    compiled = run(program.replace("KERNELS", "0"), tmp_path, False).splitlines()
    assert early == compiled
    assert early[-2:] == ["[0, 0, 413, 999, 1000]", "0"]
