"""`ig.vmap`: the same as a loop over the examples, for every composition and with control flow; errors whole."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from refusals import refusal

import intaglio as ig


def normal(*shape: int, seed: int = 0) -> ig.Tensor:
    return ig.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def loop(f: Any, *arrays: Any, axes: Any = None) -> np.ndarray[Any, Any]:
    """f on each slice along `axes` (0 for all; None: whole), stacked in front."""
    axes = axes or (0,) * len(arrays)
    size = next(a.shape[axis] for a, axis in zip(arrays, axes, strict=True) if axis is not None)
    rows = [
        f(*(a if axis is None else ig.take(a, i, axis=axis) for a, axis in zip(arrays, axes, strict=True)))
        for i in range(size)
    ]
    return np.stack([np.asarray(row) for row in rows])


def same(have: Any, want: Any) -> None:
    np.testing.assert_array_equal(np.asarray(have), np.asarray(want))


def error_of(function: Any, *args: Any, **kwargs: Any) -> str:
    return refusal(lambda: function(*args, **kwargs), __file__)


# --- axes and trees ------------------------------------------------------------------------------------------------


def test_a_network_on_many_examples() -> None:
    w1, b1, w2 = normal(16, 8), normal(16, seed=1), normal(3, 16, seed=2)
    xs = normal(11, 8, seed=3)

    def predict(x: Any) -> Any:
        return ig.softmax(w2 @ ig.tanh(w1 @ x + b1))

    same(ig.vmap(predict)(xs), loop(predict, xs))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("out", [0, 1, 2, -1, -2])
def test_axes_in_and_out(axis: int, out: int) -> None:
    x = normal(3, 4, 5)

    def f(a: Any) -> Any:
        return ig.cumulative_sum(ig.exp(a), axis=0)

    want = np.moveaxis(loop(f, x, axes=(axis % 3,)), 0, out)
    same(ig.vmap(f, in_axes=axis, out_axes=out)(x), want)


def test_what_is_not_mapped_is_the_same_for_all() -> None:
    x, y = normal(5, 3), normal(3, seed=1)
    same(ig.vmap(lambda a, b: a * b, in_axes=(0, None))(x, y), np.asarray(x) * np.asarray(y))
    same(ig.vmap(lambda a, b: a * b, in_axes=(0, None))(x, 2.5), np.asarray(x) * np.float32(2.5))
    same(ig.vmap(lambda a: a + y)(x), np.asarray(x) + np.asarray(y))
    same(ig.vmap(lambda a: y, axis_size=4, in_axes=None)(1.0), np.stack([np.asarray(y)] * 4))
    same(ig.vmap(lambda a: (a, y), out_axes=(0, None))(x)[1], y)
    same(ig.vmap(lambda a: 3)(x), np.full(5, 3))


class Point(NamedTuple):
    x: Any
    y: Any


def test_trees_and_prefixes() -> None:
    params = {"w": normal(4, 3), "b": [normal(4, seed=1), Point(normal(4, seed=2), normal(2, seed=3))]}

    def f(p: Any, scale: Any = 1.0) -> Any:
        return {"s": ig.sum(p["w"]) + p["b"][0] * scale, "p": p["b"][1]}

    axes = ({"w": 0, "b": [0, Point(0, None)]},)
    have = ig.vmap(f, in_axes=axes, out_axes={"s": 0, "p": Point(0, None)})(params)
    same(have["s"], loop(lambda w, b: ig.sum(w) + b, params["w"], params["b"][0]))
    same(have["p"].x, params["b"][1].x)
    same(have["p"].y, params["b"][1].y)
    scaled = ig.vmap(f, in_axes=axes, out_axes={"s": 0, "p": Point(0, None)})(
        params, scale=ig.arange(4, dtype=ig.float32)
    )
    same(
        scaled["s"],
        loop(lambda w, b, k: ig.sum(w) + b * k, params["w"], params["b"][0], ig.arange(4, dtype=ig.float32)),
    )
    assert ig.vmap(lambda a: None)(normal(3)) is None


def test_sizes_none_and_one() -> None:
    def f(a: Any) -> Any:
        return ig.sort(a @ normal(3, 4), descending=True)

    for size in (0, 1, 2):
        have = ig.vmap(f)(normal(size, 3))
        assert have.shape == (size, 4)
        if size:
            same(have, loop(f, normal(size, 3)))


# --- composition ---------------------------------------------------------------------------------------------------


def test_inside_itself() -> None:
    x, y = normal(4, 3), normal(5, 3, seed=1)

    def f(a: Any, b: Any) -> Any:
        return ig.sum(ig.abs(a - b))

    pairs = ig.vmap(ig.vmap(f, in_axes=(None, 0)), in_axes=(0, None))
    want = np.stack([[np.asarray(f(x[i], y[j])) for j in range(5)] for i in range(4)])
    same(pairs(x, y), want)
    # The inner one reads a value of the outer.
    same(ig.vmap(lambda a: ig.vmap(lambda b: f(a, b))(y))(x), want)


def test_under_jit_and_trace_and_around_jit() -> None:
    w, x = normal(3, 4), normal(6, 4, seed=1)

    def f(a: Any) -> Any:
        return ig.tanh(w @ a)

    want = loop(f, x)
    same(ig.jit(ig.vmap(f))(x), want)
    same(ig.vmap(ig.jit(f))(x), want)
    traced = ig.trace(ig.vmap(f), x)
    same(traced(x), want)
    assert ig.Graph.parse(str(traced.graph)) == traced.graph
    same(ig.vmap(ig.trace(f, x[0]).graph)(x, ig.broadcast_to(w, (6, 3, 4))), want)
    same(ig.jit(lambda v: ig.vmap(lambda a: f(a) + ig.sum(v))(v))(x), loop(lambda a: f(a) + ig.sum(x), x))


def test_a_symbolic_number_of_examples() -> None:
    w = normal(3, 4)

    def f(a: Any) -> Any:
        return ig.softmax(w @ a) * ig.mean(a)

    traced = ig.trace(ig.vmap(f), normal(2, 4), dynamic_shapes={"a": {0: ig.Dim("n")}})
    for size in (0, 1, 3, 17):
        x = normal(size, 4, seed=size)
        assert traced(x).shape == (size, 3)
        if size:
            same(traced(x), loop(f, x))


def test_a_matrix_times_vectors_is_one_product() -> None:
    w, x = normal(30, 40), normal(50, 40, seed=1)
    graph = ig.trace(ig.vmap(lambda a: w @ a), x).graph
    products = [node for node in graph.nodes if node["op"] == "dot_general"]
    assert len(products) == 1
    assert products[0]["attrs"]["lhs_batching_dimensions"] == ()


# --- random numbers --------------------------------------------------------------------------------------------------


def test_random_bits_are_those_of_the_loop() -> None:
    keys = ig.random_split(ig.random_key(3), n=5)
    for f in (
        lambda k: ig.random_bits(k, shape=(7,), dtype=ig.uint32),
        lambda k: ig.random_uniform(k, shape=(3, 2)),
        lambda k: ig.random_normal(k, shape=(4,)),
        lambda k: ig.randint(k, shape=(6,), low=0, high=100),
        lambda k: ig.random_permutation(ig.random_fold_in(k, 7), n=9),
        lambda k: ig.random_uniform(ig.random_split(k, n=3)[1], shape=(2,)),
    ):
        same(ig.vmap(f)(keys), np.stack([np.asarray(f(keys[i])) for i in range(5)]))


# --- indexing --------------------------------------------------------------------------------------------------------


def test_indices_of_each_row() -> None:
    x, at = normal(6, 5), ig.asarray([0, 4, -1, 9, -9, 2])
    same(
        ig.vmap(lambda a, i: ig.take(a, ig.clip(i, 0, 4), axis=0))(x, at), loop(lambda a, i: a[ig.clip(i, 0, 4)], x, at)
    )

    def put(a: Any, i: Any) -> Any:
        b = a * 1
        b[ig.clip(i, 0, 4)] = 7.0
        return b

    same(ig.vmap(put)(x, at), loop(put, x, at))


# --- control flow ----------------------------------------------------------------------------------------------------


def test_cond_of_each_row_takes_both_branches() -> None:
    x = normal(7, 3)

    def f(a: Any) -> Any:
        return ig.cond(ig.sum(a) > 0, lambda v: ig.log(ig.sum(v)) * v, lambda v: v - 1, a)

    same(ig.vmap(f)(x), loop(f, x))
    flag = ig.asarray(True)
    g = ig.vmap(lambda a, p: ig.cond(p, lambda v: v * 2, lambda v: v, a), in_axes=(0, None))
    graph = ig.trace(g, x, flag).graph
    assert [node["op"] for node in graph.nodes] == ["cond"]
    same(g(x, flag), np.asarray(x) * 2)


def test_switch_of_each_row() -> None:
    x, which = normal(6, 3), ig.asarray([0, 1, 2, 5, -1, 1])

    def f(a: Any, i: Any) -> Any:
        return ig.switch(i, [lambda v: v, lambda v: v * 10, lambda v: ig.sum(v) + v], a)

    same(ig.vmap(f)(x, which), loop(f, x, which))
    same(ig.vmap(f, in_axes=(0, None))(x, ig.asarray(2)), loop(f, x, ig.asarray(2), axes=(0, None)))


def test_rows_leave_a_loop_on_their_own() -> None:
    x = ig.asarray([1, 100, 7, 0, 63], dtype=ig.int64)

    def steps(n: Any) -> Any:
        return ig.while_loop(
            lambda c: c[0] > 1, lambda c: (ig.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1), (n, 0)
        )

    have = ig.vmap(steps)(x)
    same(have[1], [int(steps(x[i])[1]) for i in range(5)])
    same(ig.jit(ig.vmap(steps))(x)[0], have[0])
    assert ig.vmap(steps)(x[:0])[1].shape == (0,)


def test_a_loop_of_a_common_length_stays_one() -> None:
    x = normal(4, 3)

    def f(a: Any, n: Any) -> Any:
        return ig.fori_loop(0, n, lambda i, v: ig.sin(v) + ig.astype(i, ig.float32), a)

    graph = ig.trace(ig.vmap(f, in_axes=(0, None)), x, ig.asarray(3)).graph
    (node,) = (node for node in graph.nodes if node["op"] == "while")
    assert "i64[]" in [result["type"] for result in node["results"]]  # the counter is still one number
    same(ig.vmap(f, in_axes=(0, None))(x, ig.asarray(3)), loop(f, x, ig.asarray(3), axes=(0, None)))


def test_a_branch_that_is_not_taken_never_keeps_a_loop_running() -> None:
    """cond(x >= 0, a loop that ends only where x >= 0, another one), over signs that differ."""

    def f(x: Any) -> Any:
        return ig.cond(
            x >= 0,
            lambda: ig.while_loop(lambda v: v != 0, lambda v: v - 1, x),
            lambda: ig.while_loop(lambda v: v < 3, lambda v: v + 1, x),
        )

    x = ig.asarray([3, -2, 0, -7], dtype=ig.int64)
    same(ig.vmap(f)(x), [0, 3, 0, 3])

    # Nor does one whose condition is common to all rows, where no row takes the branch.
    def g(x: Any, n: Any) -> Any:
        return ig.cond(x > 0, lambda: ig.while_loop(lambda v: v != 0, lambda v: v - 1, n) + x, lambda: x)

    same(ig.vmap(g, in_axes=(0, None))(-x * x - 1, ig.asarray(-1)), np.asarray(-x * x - 1))

    # Nor does the body of a loop for the rows that have left it.
    def h(x: Any) -> Any:
        inner = lambda v: ig.while_loop(lambda u: u % 5 != 0, lambda u: u - 1, v)  # noqa: E731
        return ig.while_loop(lambda v: v > 0, lambda v: inner(v - 1), x)

    y = ig.asarray([12, 3, 0, 40, 1], dtype=ig.int64)
    same(ig.vmap(h)(y), [int(h(y[i])) for i in range(5)])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axes", [(0, 0), (1, 0), (None, 0), (0, None), (-1, -1)])
def test_scan(axes: Any, reverse: bool) -> None:
    shape = {0: (5, 4, 3), 1: (4, 5, 3), -1: (4, 3, 5), None: (4, 3)}
    start = {0: (5, 3), -1: (3, 5), None: (3,)}
    xs, init = normal(*shape[axes[0]]), normal(*start[axes[1]], seed=1)

    def f(steps: Any, carry: Any) -> Any:
        return ig.scan(lambda c, x: (ig.tanh(c + x), ig.sum(c * x)), carry, steps, reverse=reverse)

    carry, ys = ig.vmap(f, in_axes=axes)(xs, init)
    where = tuple(None if a is None else a % 3 if i == 0 else a % 2 for i, a in enumerate(axes))
    same(carry, loop(lambda *a: f(*a)[0], xs, init, axes=where))
    same(ys, loop(lambda *a: f(*a)[1], xs, init, axes=where))


def test_what_a_loop_carries_becomes_batched_where_it_must() -> None:
    x = normal(4, 2)

    def f(a: Any) -> Any:  # c takes b's value a step later, d takes c's
        return ig.fori_loop(
            0, 3, lambda i, v: (v[0] + a, v[0], v[1], v[3] + 1), (ig.zeros(2), ig.zeros(2), ig.zeros(2), 0)
        )

    for k in range(4):
        same(ig.vmap(f)(x)[k], loop(lambda a, k=k: f(a)[k], x))


# --- named axes ------------------------------------------------------------------------------------------------------


def test_collectives() -> None:
    x = normal(5, 3)
    array = np.asarray(x)

    def named(f: Any, *args: Any, **options: Any) -> Any:
        return ig.vmap(f, axis_name="i", **options)(*args)

    total = np.asarray(ig.sum(x, axis=0))
    same(named(lambda a: ig.psum(a, "i"), x), np.stack([total] * 5))
    same(named(lambda a: ig.psum(a, "i"), x, out_axes=None), total)
    same(named(lambda a: ig.pmean({"a": a}, "i")["a"], x, out_axes=None), total / np.float32(5))
    same(named(lambda a: ig.pmax(a, "i") - ig.pmin(a, "i"), x, out_axes=None), array.max(0) - array.min(0))
    same(named(lambda a: ig.axis_index("i") * 2, x), np.arange(5) * 2)
    same(named(lambda a: ig.all_gather(a, "i"), x, out_axes=None), array)
    same(named(lambda a: ig.all_gather(a, "i", axis=-1), x, out_axes=None), array.T)
    same(named(lambda a: ig.all_gather(a, "i", tiled=True), x, out_axes=None), array.reshape(-1))
    moved = named(lambda a: ig.ppermute(a, "i", [(0, 1), (1, 4), (4, 0)]), x)
    same(moved, np.stack([array[4], array[0], 0 * array[0], 0 * array[0], array[1]]))
    same(named(lambda a: ig.psum(1.0, "i") + ig.axis_size("i"), x), np.full(5, 10.0))
    same(ig.jit(ig.vmap(lambda a: a / ig.psum(a, "i"), axis_name="i"))(x), array / total)


def test_collectives_over_one_of_two_axes() -> None:
    x = normal(4, 3, 2)
    array = np.asarray(x)

    def both(f: Any) -> Any:
        return ig.vmap(ig.vmap(f, axis_name="b"), axis_name="a")(x)

    same(both(lambda v: ig.psum(v, "a")), np.broadcast_to(np.asarray(ig.sum(x, axis=0)), (4, 3, 2)))
    same(both(lambda v: ig.pmax(v, ("a", "b"))), np.broadcast_to(array.max((0, 1)), (4, 3, 2)))
    same(both(lambda v: ig.all_gather(v, "a"))[1, 2], array[:, 2])
    same(both(lambda v: ig.axis_index("a") * 10 + ig.axis_index("b")), 10 * np.arange(4)[:, None] + np.arange(3))
    same(both(lambda v: ig.ppermute(v, "a", [(0, 3)]))[3], array[0])
    # In a loop, which stays one loop for all: its condition is the same for all examples.
    have = ig.vmap(
        lambda v: ig.while_loop(lambda c: ig.pmax(c, "a") < 9, lambda c: c + ig.axis_index("a") + 1, v), axis_name="a"
    )(ig.zeros(3, dtype=ig.int64))
    same(have, [3, 6, 9])


def test_named_axes_that_are_not_there() -> None:
    assert error_of(ig.vmap(lambda a: ig.psum(a, "j"), axis_name="i"), normal(3)) == (
        "ValueError: psum: there is no mapped axis named 'j'\n"
        "  why: the mapped axes around are 'i'\n"
        "  hint: name it: ig.vmap(f, axis_name='j')"
    )
    assert error_of(ig.axis_index, "i") == (
        "ValueError: axis_index: there is no mapped axis named 'i'\n"
        "  why: no vmap with an axis_name is around\n"
        "  hint: name it: ig.vmap(f, axis_name='i')"
    )
    assert error_of(ig.vmap(lambda a: ig.ppermute(a, "i", [(0, 3)]), axis_name="i"), normal(3)) == (
        "IndexError: ppermute: there is no example 3 along `i`\n"
        "  why: the axis has 3 examples\n  hint: number them from 0 to 2"
    )
    assert error_of(ig.vmap(lambda a: ig.ppermute(a, "i", [(0, 1), (2, 1)]), axis_name="i"), normal(3)) == (
        "ValueError: ppermute: example 1 receives twice\n"
        "  why: each example takes the array of one other\n"
        "  hint: name each target once"
    )
    assert error_of(ig.vmap, lambda a: a, axis_name=3) == (
        "TypeError: vmap: axis_name is 3, which is no name\n"
        "  why: collectives find the axis by it\n  hint: give a string"
    )


def test_a_graph_with_an_unbound_axis_is_not_run() -> None:
    graph = ig.Graph.parse('graph @g(%x: f32[2]) {\n  %y = axis_sum(%x) {axis_name = "i"} : f32[2]\n  return %y\n}\n')
    assert error_of(graph.evaluate, ig.ones(2)) == (
        "ValueError: the axis `i` is not bound\n"
        "  why: what an example sees of the others is known once the examples are batched\n"
        "  hint: batch the graph with ig.vmap(..., axis_name=...)"
    )
    same(ig.vmap(graph, axis_name="i")(ig.ones((3, 2))), np.full((3, 2), 3))


# --- errors ----------------------------------------------------------------------------------------------------------


def test_mismatched_sizes_are_all_listed() -> None:
    data = {"x": normal(3, 2), "y": [normal(4), normal(3)]}
    assert error_of(ig.vmap(lambda d, k: d, in_axes=(0, 1)), data, normal(2, 5)) == (
        "ShapeError: vmap: the mapped axes have different sizes:\n"
        "  size 3: axis 0 of d['x'] (float32[3, 2]), axis 0 of d['y'][1] (float32[3])\n"
        "  size 4: axis 0 of d['y'][0] (float32[4])\n"
        "  size 5: axis 1 of k (float32[2, 5])\n"
        "  why: each call takes one slice of every mapped array, so all have the same number of them\n"
        "  hint: name another axis in in_axes, or None where an array is the same for all examples"
    )
    assert error_of(ig.vmap(lambda a: a, axis_size=4), normal(3)).startswith(
        "ShapeError: vmap: the mapped axes have different sizes:\n"
        "  size 3: axis 0 of a (float32[3])\n  size 4: axis_size\n"
    )


def test_axes_out_of_range() -> None:
    assert error_of(ig.vmap(lambda a: a, in_axes=2), normal(3, 2)) == (
        "IndexError: vmap: axis 2 of a (float32[3, 2]) is out of range\n"
        "  why: it has 2 axes here\n"
        "  hint: axes count from 0 to 1, or from -2 to -1"
    )
    assert error_of(ig.vmap(lambda a, b: a), normal(3), 2.0) == (
        "IndexError: vmap: axis 0 of b (float) is wanted, and it has no axes\n"
        "  why: what is mapped is cut along an axis, and a scalar has none\n"
        "  hint: give None for it in in_axes: it is then the same for all examples"
    )
    assert error_of(ig.vmap(lambda a: {"r": ig.sum(a)}, out_axes=1), normal(3, 2)) == (
        "IndexError: vmap: axis 1 of the result['r'] (0 axes and the mapped one) is out of range\n"
        "  why: it has 1 axis here\n"
        "  hint: axes count from 0 to 0, or from -1 to -1"
    )


def test_trees_that_do_not_fit() -> None:
    assert error_of(ig.vmap(lambda a, b: a, in_axes=(0, [0, 1])), normal(3), (normal(3), normal(3))) == (
        "TypeError: vmap: in_axes does not fit the positional arguments: at [1] it has a list of 2, where the other "
        "has a tuple of 2\n"
        "  why: in_axes is laid over the positional arguments: each of its integers and Nones stands for a whole "
        "subtree\n"
        "  hint: give one integer or None, or the containers of the positional arguments down to the level where the "
        "axes differ"
    )
    assert error_of(ig.vmap(lambda a: (a, a), out_axes=(0, 0, 0)), normal(3)) == (
        "TypeError: vmap: out_axes does not fit the result: at its top it has a tuple of 3, where the other has "
        "a tuple of 2\n"
        "  why: out_axes is laid over the result: each of its integers and Nones stands for a whole subtree\n"
        "  hint: give one integer or None, or the containers of the result down to the level where the axes differ"
    )
    assert error_of(ig.vmap(lambda a: a, in_axes="x"), normal(3)) == (
        "TypeError: vmap: in_axes holds 'x', which is no axis\n"
        "  why: an axis is an integer, counted from the end where it is negative, or None for no axis\n"
        "  hint: give integers and None, in the containers of what they are for"
    )


def test_other_errors() -> None:
    assert error_of(ig.vmap(lambda a: {"r": a * 2}, out_axes=None), normal(3)) == (
        "ValueError: vmap: the result['r'] depends on the batch, and its out axis is None\n"
        "  why: it has one value for each entry of the batch, so it cannot be given without a batch axis\n"
        "  hint: give an integer in out_axes, or reduce over the batch axis first (ig.psum, with an axis_name)"
    )
    assert error_of(ig.vmap(lambda a: a, in_axes=None), normal(3)) == (
        "ValueError: vmap: no argument is mapped, so the number of examples is not known\n"
        "  why: in_axes is None for all arrays, or there is none\n"
        "  hint: give an axis in in_axes, or axis_size"
    )
    assert error_of(ig.vmap(lambda a: "text"), normal(3)) == (
        "TypeError: vmap: the result is a str, which is no array\n"
        "  why: results are stacked along the mapped axis, which arrays and numbers can be\n"
        "  hint: return arrays and numbers, in any tree of containers"
    )
    assert error_of(ig.vmap, 3) == (
        "TypeError: vmap: int is not callable\n"
        "  why: it takes the function that is to be mapped\n"
        "  hint: write ig.vmap(f)(x), or @ig.vmap above the function"
    )
    text = error_of(ig.vmap(lambda a: a if a > 0 else -a), normal(3))
    assert re.sub(r"made at FILE in .*", "made HERE", text) == (
        "CaptureError: the truth of a traced array is wanted, and a graph has none\n"
        "  why: the array (bool[]) has no values while the function is traced; it was made HERE\n"
        "  hint: write the branch with ig.cond or ig.where: loop bodies, branches, what vmap takes and rules of one's "
        "own are captured once for all values, under ig.jit too"
    )
    text = error_of(ig.jit(lambda x: ig.fori_loop(0, 2, lambda i, v: v[: int(i)], x)), normal(3))
    assert re.sub(r"; .*\n", "; …\n", text) == (
        "CaptureError: the integer value of a traced array is wanted, and a graph has none\n"
        "  why: the array (i64[]) has no values while the function is traced; …\n"
        "  hint: keep the number in an array (indexing takes one): loop bodies, branches, what vmap takes and rules of "
        "one's own are captured once for all values, under ig.jit too"
    )


def test_an_op_without_a_rule() -> None:
    double = ig.register_op("test_vmap_double", infer=lambda x: x, reference=lambda x: x * 2, numpy="x * 2")
    assert error_of(ig.vmap(lambda a: double(a)), ig.ones((3, 2))) == (
        "UnsupportedError: vmap: test_vmap_double cannot be batched\n"
        "  why: an op of the user's own, declared without it\n"
        "  hint: call it outside of the function that vmap takes, or on arrays that are not batched"
    )
    other = ig.register_op("test_vmap_other", body=lambda x: x / ig.sum(x), numpy="x / x.sum()")
    same(ig.vmap(lambda a: other(a))(ig.ones((3, 2))), np.full((3, 2), 0.5))


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "vmap" / "newton.py"), run_name="__main__")
    assert capsys.readouterr().out.startswith("6 steps at most, 3 most often; largest error ")
