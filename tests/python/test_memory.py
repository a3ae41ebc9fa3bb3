"""What a program holds in memory: weights once where a call has many rows, and a peak that is as planned."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import intaglio as ig

WIDE, DEEP = 96, 48  # whole tiles of every level: the packed form is as large as the weights


def _product(
    rows: int, turned: bool, wide: int = WIDE, deep: int = DEEP
) -> tuple[ig.Graph, ig.Graph, tuple[ig.Tensor, ...]]:
    """The graph with its weights inside, the graph that takes them, and the arrays."""
    rng = np.random.default_rng(rows)
    x = ig.asarray(rng.standard_normal((rows, deep), dtype=np.float32))
    w = ig.asarray(rng.standard_normal((wide, deep) if turned else (deep, wide), dtype=np.float32))

    def f(x: ig.Tensor, w: ig.Tensor) -> ig.Tensor:
        return x @ (w.T if turned else w)

    inside = ig.trace(lambda x: f(x, w), x, lift=False).graph
    return inside, ig.trace(f, x, w).graph, (x, w)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("rows", "once"), [(16, False), (511, False), (512, True), (700, True)])
def test_weights_are_held_once_where_a_call_has_many_rows(rows: int, once: bool, turned: bool) -> None:
    inside, outside, (x, w) = _product(rows, turned)
    assert np.array_equal(np.asarray(inside(x)).view(np.uint32), np.asarray(outside(x, w)).view(np.uint32))
    report = inside.report()
    result, weights = rows * WIDE * 4, WIDE * DEEP * 4
    assert report["constant_bytes"] == (weights if once else 2 * weights)
    # The packed form is a temporary of the plan, and no more than the plan was taken.
    assert report["planned_peak"] == result + (weights if once else 0)
    assert report["measured_peak"] == report["planned_peak"]


def test_large_weights_are_packed_block_by_block() -> None:
    inside, outside, (x, w) = _product(512, True, wide=4104, deep=4096)
    assert w.nbytes > 64 << 20
    assert np.array_equal(np.asarray(inside(x)).view(np.uint32), np.asarray(outside(x, w)).view(np.uint32))
    report = inside.report()
    assert report["constant_bytes"] == w.nbytes
    assert report["planned_peak"] == x.shape[0] * w.shape[0] * 4


def test_packing_in_a_call_is_inside_of_loops_too() -> None:
    rng = np.random.default_rng(0)
    x = ig.asarray(rng.standard_normal((512, DEEP), dtype=np.float32))
    w = ig.asarray(rng.standard_normal((DEEP, DEEP), dtype=np.float32) / 8)

    def step(w: ig.Tensor, x: ig.Tensor) -> ig.Tensor:
        return ig.fori_loop(0, 3, lambda i, x: ig.tanh(x @ w), x)

    inside = ig.trace(lambda x: step(w, x), x, lift=False).graph
    outside = ig.trace(step, w, x).graph
    assert np.array_equal(np.asarray(inside(x)).view(np.uint32), np.asarray(outside(w, x)).view(np.uint32))


def test_a_loop_that_changes_elements_holds_one_array() -> None:
    def program(x: ig.Tensor, k: ig.Tensor) -> ig.Tensor:
        def step(i: ig.Tensor, x: ig.Tensor) -> ig.Tensor:
            x = x.at[k[i]].set(x[i] + 1)
            return ig.cond(k[i] > 1, lambda: x.at[k[i]].add(2), lambda: x.at[k[0]].set(0))

        return ig.fori_loop(0, 10, step, x)

    x, k = ig.arange(100_000, dtype=ig.float32), ig.asarray([5, 1, 0, 99_999, 7, 7, 2, 3, 1, 4])
    graph = ig.trace(program, x, k).graph.compile()
    report = graph.report()
    want = np.arange(100_000, dtype=np.float32)
    for i, at in enumerate(np.asarray(k)):
        want[at] = want[i] + 1
        want[at if at > 1 else 5] = want[at] + 2 if at > 1 else 0
    assert np.array_equal(np.asarray(graph(x, k)), want)
    assert 400_000 <= report["planned_peak"] < 401_000


def test_minilm_holds_its_weights_once_and_plans_little_beside_them() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "minilm"))
    from model import load

    model = load()
    ids = ig.asarray(np.ones((8, 128), np.int64))
    mask = ig.asarray(np.ones((8, 128), np.bool_))
    report = ig.trace(model.__call__, ids, mask, lift=False).graph.report()
    weights = sum(one.nbytes for one in _arrays(model))
    assert weights - 1e6 < report["constant_bytes"] <= weights
    # Of a layer: what goes in (8·128·384 floats), what the inner product gives (four times that), its result, and the
    # packed weights of the second product, which are as large as 1.5 of these.
    floats = 8 * 128 * 384 * 4
    assert report["planned_peak"] <= 7.6 * floats


def _arrays(model: object) -> list[ig.Tensor]:
    """Every array that hangs on the model."""
    if isinstance(model, ig.Tensor):
        return [model]
    if isinstance(model, (list, tuple)):
        return [array for one in model for array in _arrays(one)]
    return [array for one in getattr(model, "__dict__", {}).values() for array in _arrays(one)]


def test_memory_kernel_by_kernel() -> None:
    f = ig.jit(lambda x: ig.sort(ig.sort(x + 1) * 2))
    f(ig.ones(256))
    memory = ig.explain(f).memory
    assert [(step["ops"], step["bytes"]) for step in memory.steps] == [
        (["add"], 1024),
        (["sort"], 2048),
        (["multiply"], 2048),
        (["sort"], 2048),
    ]
    assert memory.peak == 2048
    assert str(memory) == repr(memory)
    assert str(memory).splitlines() == [
        f"4 kernels, at most 2.0 kB held; planned peak {memory.planned_peak / 1000:.1f} kB, constants 0 bytes",
        f"  {'█' * 20:<40}     1.0 kB  add",
        f"  {'█' * 40}     2.0 kB  sort",
        f"  {'█' * 40}     2.0 kB  multiply",
        f"  {'█' * 40}     2.0 kB  sort",
    ]


def test_memory_drawn() -> None:
    from xml.etree import ElementTree

    f = ig.jit(lambda x: ig.sort(ig.sort(x + 1) * 2))
    f(ig.ones(256))
    memory = ig.explain(f).memory
    space = "{http://www.w3.org/2000/svg}"
    columns = ElementTree.fromstring(memory.svg()).findall(f"{space}rect")
    assert len(columns) == len(memory.steps)
    heights = [float(column.get("height", "")) for column in columns]
    assert [round(h / max(heights), 2) for h in heights] == [0.5, 1, 1, 1]
    tips = [column.findtext(f"{space}title") for column in columns]
    assert str(tips[0]).startswith("add: 1.0 kB ")


def test_long_programs_are_shown_by_parts() -> None:
    def long(x: ig.Tensor) -> ig.Tensor:
        for _ in range(60):
            x = ig.sort(x) + 1
        return x

    f = ig.jit(long)
    f(ig.ones(64))
    memory = ig.explain(f).memory
    assert len(memory.steps) == 120
    assert len(str(memory).splitlines()) == 1 + 40


def test_memory_of_a_function_that_was_not_called() -> None:
    with pytest.raises(ig.ValueError) as caught:
        _ = ig.explain(ig.jit(lambda x: x)).memory
    head, place, *rest = str(caught.value).splitlines()
    assert head == "<lambda> has no plan of memory"
    assert place.endswith("_ = ig.explain(ig.jit(lambda x: x)).memory")
    assert rest == [
        "  why: the function has no trace: it was not called yet, or it runs op by op",
        "  hint: call it, then ask ig.explain",
    ]
