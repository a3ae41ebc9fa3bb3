"""Control flow: eager, captured and by the ops' definitions give the same; what cannot be captured says why."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from refusals import refusal

import intaglio as ig


def agree(function: Any, *args: Any, **options: Any) -> Any:
    """The function's result, the same eagerly, compiled, by definition (within rounding), after a trip through text."""
    traced = ig.trace(function, *args, **options)
    eager, tree = ig.tree_flatten(function(*args))
    compiled = traced(*args)
    for other in (compiled, traced.evaluate(*args)):
        leaves, other_tree = ig.tree_flatten(other)
        assert other_tree == tree
        for have, want in zip(leaves, eager, strict=True):
            assert have.dtype == want.dtype
            if other is compiled:
                np.testing.assert_array_equal(np.asarray(have), np.asarray(want))
            else:
                np.testing.assert_allclose(np.asarray(have), np.asarray(want), rtol=1e-6, atol=1e-7)
    assert ig.Graph.parse(str(traced.graph)) == traced.graph
    assert ig.Graph.from_binary(traced.graph.to_binary()) == traced.graph
    return eager[0] if len(eager) == 1 else eager


def normal(*shape: int) -> ig.Tensor:
    return ig.asarray(np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32))


# --- branches ----------------------------------------------------------------------------------------------------


def test_cond_takes_the_branch_of_its_predicate() -> None:
    def risky(x: Any) -> Any:
        return ig.cond(ig.sum(x) > 0, lambda x: x * 2, lambda x: x - 1, x)

    traced = ig.trace(risky, ig.ones(4))
    for x in (ig.ones(4), -ig.ones(4), ig.full(4, float("nan"))):
        want = np.asarray(x) * 2 if np.asarray(x).sum() > 0 else np.asarray(x) - 1
        np.testing.assert_array_equal(np.asarray(traced(x)), want)
        np.testing.assert_array_equal(np.asarray(risky(x)), want)


def test_branches_read_what_is_around_them() -> None:
    weight = normal(3)

    def f(x: Any, flag: Any) -> Any:
        y = x * 2
        return ig.cond(flag, lambda: y + weight, lambda: weight - x)

    for flag in (True, False):
        agree(f, normal(3), ig.asarray(flag))


def test_a_python_number_takes_the_other_branchs_dtype() -> None:
    def f(x: Any) -> Any:
        return ig.cond(x > 0, lambda: 1, lambda: x)

    assert ig.trace(f, ig.asarray(2, dtype=ig.int16))(ig.asarray(-5, dtype=ig.int16)).dtype == ig.int16
    assert ig.trace(f, ig.asarray(2.0))(ig.asarray(1.0)).dtype == ig.float32


def test_static_operands_and_trees_pass_through() -> None:
    def f(x: Any) -> Any:
        return ig.cond(
            x["go"],
            lambda t, k: {"a": t["v"] * k, "b": None},
            lambda t, k: {"a": t["v"] - k, "b": None},
            x,
            3,
        )

    agree(f, {"go": ig.asarray(True), "v": normal(2, 2)})


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_switch_clamps_its_index(index: int) -> None:
    def f(i: Any, x: Any) -> Any:
        return ig.switch(i, [lambda x: x + 1, lambda x: x * 10, lambda x: -x], x)

    x = np.asarray([1, 2])
    want = [x + 1, x * 10, -x][min(max(index, 0), 2)]
    np.testing.assert_array_equal(np.asarray(agree(f, ig.asarray(index), ig.asarray(x))), want)


# --- loops --------------------------------------------------------------------------------------------------------


def test_while_carries_a_tree_and_reads_values_around_it() -> None:
    scale = ig.asarray([1.0, 2.0])

    def f(x: Any) -> Any:
        step = x * 3
        return ig.while_loop(
            lambda c: ig.sum(c["v"]) < 100,
            lambda c: {"v": c["v"] * scale + step, "n": c["n"] + 1},
            {"v": x, "n": 0},
        )

    value, count = agree(f, ig.ones(2))
    x, steps = np.ones(2, np.float32), 0
    while x.sum() < 100:
        x, steps = x * np.asarray([1, 2], np.float32) + 3, steps + 1
    np.testing.assert_array_equal(np.asarray(value), x)
    assert int(count) == steps


def test_a_loop_that_never_runs_gives_its_start() -> None:
    assert int(agree(lambda x: ig.while_loop(lambda v: v < 0, lambda v: v + 1, x), ig.asarray(3))) == 3
    assert int(agree(lambda x: ig.fori_loop(5, 2, lambda i, v: v + i, x), ig.asarray(3))) == 3


@pytest.mark.parametrize("dtype", [ig.float16, ig.float32, ig.float64, ig.int8])
def test_a_python_scalar_takes_the_dtype_that_the_body_settles_on(dtype: Any) -> None:
    def f(x: Any) -> Any:
        return ig.fori_loop(0, 4, lambda i, total: total + x, 0)

    assert agree(f, ig.asarray(2, dtype=dtype)).dtype == dtype
    mixed = ig.trace(lambda x: ig.fori_loop(0, 4, lambda i, total: total + 0.5, 0), ig.asarray(1.0))
    assert float(mixed(ig.asarray(1.0))) == 2.0


def test_fori_with_bounds_that_are_arrays() -> None:
    def f(low: Any, high: Any) -> Any:
        return ig.fori_loop(low, high, lambda i, total: total * 2 + i, ig.asarray(1))

    want = 1
    for i in range(3, 9):
        want = want * 2 + i
    assert int(agree(f, ig.asarray(3), ig.asarray(9, dtype=ig.int32))) == want


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_scan_is_a_loop_over_slices(steps: int, reverse: bool) -> None:
    weight = normal(3, 3)

    def f(x: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = ig.tanh(x["a"] + h @ weight)
            return h, {"h": h, "twice": x["b"] * 2}

        return ig.scan(step, ig.zeros(3), x, reverse=reverse)

    x = {"a": normal(steps, 3), "b": ig.arange(steps)}
    last, hs, twice = agree(f, x)
    h, want = np.zeros(3, np.float32), np.zeros((steps, 3), np.float32)
    for i in reversed(range(steps)) if reverse else range(steps):
        h = np.tanh(np.asarray(x["a"])[i] + h @ np.asarray(weight))
        want[i] = h
    np.testing.assert_allclose(np.asarray(last), h, atol=1e-6)
    np.testing.assert_allclose(np.asarray(hs), want, atol=1e-6)
    np.testing.assert_array_equal(np.asarray(twice), np.arange(steps) * 2)


def test_scan_over_a_symbolic_number_of_steps_is_one_graph() -> None:
    def f(x: Any) -> Any:
        return ig.scan(lambda total, row: (total + row, ig.sum(total)), ig.zeros(2), x)

    traced = ig.trace(f, ig.ones((3, 2)), dynamic_shapes={"x": {0: ig.Dim("n")}})
    for n in (0, 1, 5, 33):
        total, sums = traced(ig.ones((n, 2)))
        np.testing.assert_array_equal(np.asarray(total), np.full(2, n, np.float32))
        np.testing.assert_array_equal(np.asarray(sums), 2 * np.arange(n, dtype=np.float32))


def test_the_graph_does_not_grow_with_the_number_of_steps() -> None:
    def nodes(steps: int) -> int:
        return len(ig.trace(lambda x: ig.fori_loop(0, steps, lambda i, v: ig.sin(v) + 1, x), ig.ones(3)).graph)

    assert nodes(10) == nodes(10_000)


def test_map_stacks_what_the_function_gives() -> None:
    x = normal(4, 3)
    np.testing.assert_allclose(
        np.asarray(agree(lambda x: ig.map(lambda row: row @ row, x), x)),
        (np.asarray(x) ** 2).sum(1),
        rtol=1e-6,
    )


def test_regions_nest() -> None:
    def f(x: Any) -> Any:
        def body(carry: Any) -> Any:
            i, v = carry
            return i + 1, ig.cond(i % 2 == 0, lambda: ig.fori_loop(0, 2, lambda _, u: u + x, v), lambda: v * 2)

        return ig.while_loop(lambda carry: carry[0] < 6, body, (0, x))

    agree(f, ig.ones(3))


def test_threads_capture_side_by_side() -> None:
    failures: list[BaseException] = []

    def work(k: int) -> None:
        try:
            traced = ig.trace(lambda x: ig.fori_loop(0, k, lambda i, v: v + k, x), ig.asarray(0))
            assert int(traced(ig.asarray(1))) == 1 + k * k
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- refusals -----------------------------------------------------------------------------------------------------


def small(x: Any) -> Any:
    return x[:2]


def same(x: Any) -> Any:
    return x


def paired(x: Any) -> Any:
    return x, x


def widened(x: Any) -> Any:
    return ig.astype(x, ig.float64)


def short(function: Any) -> str:
    return f"{function.__name__} (FILE)"


CASES: dict[str, tuple[Any, type[Exception], str, str, str]] = {
    "predicate of rank 1": (
        lambda: ig.cond(ig.ones(3) > 0, same, same, 1),
        ig.ShapeError,
        "cond: the predicate has shape (3,), but one value decides",
        "a branch is taken as a whole; there is no branch for each element",
        "reduce it with ig.any or ig.all, or choose element by element with ig.where",
    ),
    "branches of different shapes": (
        lambda: ig.trace(lambda x: ig.cond(x[0] > 0, same, small, x), ig.ones(3)),
        ig.ShapeError,
        "cond: the branches give different types for result: float32[3] and float32[2]",
        f"nothing is converted or broadcast between branches; they are {short(same)} and {short(small)}",
        "convert with ig.astype, or broadcast with ig.broadcast_to, in one of them",
    ),
    "branches of different trees": (
        lambda: ig.trace(lambda x: ig.cond(x[0] > 0, same, paired, x), ig.ones(3)),
        ig.TypeError,
        "cond: the branches give different structures: TreeDef(*) and TreeDef((*, *))",
        f"which branch runs is known only when the graph runs; they are {short(same)} and {short(paired)}",
        "return the same containers from all branches",
    ),
    "a carry that changes its dtype, captured": (
        lambda: ig.trace(lambda x: ig.while_loop(lambda v: v[0] < 3, widened, x), ig.ones(3)),
        ig.TypeError,
        "while_loop: carry comes in as float32[3], and the body gives float64[3]",
        f"each step begins with what the one before gave; the body is {short(widened)}",
        "start with that type, or convert in the body (ig.astype, ig.broadcast_to)",
    ),
    "a carry that changes its dtype, eager": (
        lambda: ig.while_loop(lambda v: v[0] < 3, widened, ig.ones(3)),
        ig.TypeError,
        "while_loop: carry comes in as float32[3], and the body gives float64[3]",
        f"each step begins with what the one before gave; the body is {short(widened)}",
        "start with that type, or convert in the body (ig.astype, ig.broadcast_to)",
    ),
    "a carry that changes its tree": (
        lambda: ig.trace(lambda x: ig.while_loop(lambda v: v[0] < 3, paired, x), ig.ones(3)),
        ig.TypeError,
        "while_loop: carry comes in as TreeDef(*), and the body gives TreeDef((*, *))",
        f"each step begins with what the one before gave; the body is {short(paired)}",
        "return the structure that it came with",
    ),
    "a switch without branches": (
        lambda: ig.switch(0, []),
        ig.ValueError,
        "switch: there is no branch",
        "branches is empty",
        "give at least one function",
    ),
    "a switch by a float": (
        lambda: ig.switch(0.5, [same, same], 1),
        ig.TypeError,
        "switch: the index is float32, but must be an integer",
        "it counts the branches from 0",
        "convert it with ig.astype, or use ig.cond",
    ),
    "a scan of unequal sizes": (
        lambda: ig.scan(lambda c, x: (c, None), 0, (ig.ones(3), ig.ones(4))),
        ig.ShapeError,
        "scan: the first sizes differ: 3 and 4",
        "each step takes one slice of each array",
        "all arrays of xs, and length, must agree",
    ),
    "a scan over a scalar": (
        lambda: ig.scan(lambda c, x: (c, None), 0, {"a": ig.asarray(1)}),
        ig.ShapeError,
        "scan: xs['a'] is a scalar, and has no axis to scan over",
        "each step takes a slice of the first axis",
        "read it in the body instead, or give it an axis",
    ),
    "a scan over nothing": (
        lambda: ig.scan(lambda c, x: (c, None), 0),
        ig.ValueError,
        "scan: the number of steps is not known",
        "there is nothing to scan over, and no length",
        "give length",
    ),
    "a scan body that gives no pair": (
        lambda: ig.scan(same_pair, ig.asarray(0), ig.ones(3)),
        ig.TypeError,
        "scan: the body gives a int, but must give a pair",
        "it gives the carry, and what is stacked; it is {same_pair}",
        "return carry, y; with nothing to stack: return carry, None",
    ),
    "a carry that is no array": (
        lambda: ig.while_loop(lambda v: True, same, {"k": "text"}),
        ig.TypeError,
        "while_loop: init['k'] is a str, which is no array",
        "what passes through control flow are arrays and numbers, in any tree of containers",
        "read it in the function's body instead, from a closure or by functools.partial",
    ),
}


def same_pair(carry: Any, x: Any) -> Any:
    return 7


@pytest.mark.parametrize("case", CASES)
def test_refusals_have_four_parts(case: str) -> None:
    call, kind, what, why, hint = CASES[case]
    assert refusal(call, __file__) == f"{kind.__name__}: {what}\n  why: {why}\n  hint: {hint}".format(
        same_pair=short(same_pair)
    )


def test_an_array_of_a_region_cannot_leave_it() -> None:
    kept = []

    def leaky(x: Any) -> Any:
        ig.cond(x > 0, lambda: kept.append(x * 2) or x, lambda: x)
        return kept[0] + 1

    with pytest.raises(ig.CaptureError, match="used outside of the trace that made it"):
        ig.trace(leaky, ig.asarray(1.0))
