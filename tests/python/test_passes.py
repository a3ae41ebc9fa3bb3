"""The passes from Python: their names, running them, reports, refined graphs, and programs compiled without some."""

from __future__ import annotations

import numpy as np
import pytest

import intaglio as ig


def graph_of(function, *args, **dims):
    return ig.trace(function, *args, dynamic_shapes=dims or None).graph


def test_names_and_pipeline():
    assert set(ig.default_pipeline()) <= set(ig.passes())
    assert ig.default_pipeline()[0] == "refine-shapes"
    last = ["fuse", "depth-first", "raise-views", "merge-axes", "write-turned", "join-loops", "join-kernels"]
    assert ig.default_pipeline()[-7:] == last
    assert all(doc.endswith(".") for doc in ig.passes().values())


def test_chosen_passes_run_in_order_and_report():
    graph = graph_of(lambda x: (x * 1 + x * 1) * (x + x), ig.arange(4))
    text = str(graph)
    out = graph.optimised(passes=["canonicalize", "cse"], verify=True)
    assert [(r["name"], r["changes"] > 0) for r in out.pass_reports] == [("canonicalize", True), ("cse", True)]
    assert all(r["nodes_after"] <= r["nodes_before"] and r["details"] for r in out.pass_reports)
    assert str(graph) == text
    assert graph.pass_reports == []
    x = ig.asarray([1, 2, 3, 4])
    np.testing.assert_array_equal(np.asarray(out(x)), np.asarray(graph(x)))
    assert [r["name"] for r in graph.optimised().pass_reports] == ig.default_pipeline()
    assert "fuse" not in [r["name"] for r in graph.optimised(disable=["fuse"]).pass_reports]
    assert str(graph.optimised(passes=[])) == text


def test_unknown_passes_are_refused():
    graph = graph_of(lambda x: x + 1, ig.ones(2))
    for run in (
        lambda: graph.optimised(passes=["fold", "nope"]),
        lambda: graph.optimised(disable=["nope"]),
        lambda: graph.compile(disable=["nope"]),
    ):
        with pytest.raises(ig.ValueError) as caught:
            run()
        assert caught.value.what == "unknown pass 'nope'"
        assert caught.value.why == "no pass has that name"
        assert caught.value.hint == "the passes are " + ", ".join(sorted(ig.passes()))
        assert "test_passes.py" in caught.value.where


def test_compile_without_a_pass():
    graph = graph_of(lambda x: ig.exp(x) * 2 + 1, ig.ones(4))
    # Without fusion no kernel is made: each op runs by its definition, and the report says so.
    whole, parts = graph.compile(), graph.compile(disable=["fuse"])
    assert whole.report()["kernels"] == 1
    assert parts.report()["kernels"] == 0
    assert parts.report()["kernels_fallback"] > 0
    np.testing.assert_allclose(np.asarray(whole(ig.ones(4))), np.asarray(parts(ig.ones(4))), rtol=1e-6)
    with pytest.raises(ig.UnsupportedError, match="mips"):
        graph.compile(target="mips")


def test_refined_sizes_become_constants_everywhere():
    def f(x, y):
        rows = x.shape[0]
        return ig.reshape(x, (-1,)) / rows + ig.sum(y), ig.cond(x.sum() > 0, lambda: x * 2, lambda: x)

    n = ig.Dim("n", 1, 64)
    graph = graph_of(f, ig.ones((3, 4)), ig.ones(3), x={0: n}, y={0: n})
    fixed = graph.refined({"n": 8})
    fixed.verify()
    assert "n" in graph.symbols
    assert fixed.symbols == {}
    assert [value["type"] for value in fixed.inputs] == ["f32[8, 4]", "f32[8]"]
    assert "dimension_size" in str(graph)
    assert "dimension_size" not in str(fixed)
    assert fixed.pass_reports[0]["details"] == ["the size n is 8"]
    x, y = ig.arange(32, dtype="float32").reshape((8, 4)), ig.ones(8)
    for a, b in zip(fixed(x, y), graph(x, y), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    with pytest.raises(ig.ShapeError):
        fixed(ig.ones((3, 4)), ig.ones(3))


def test_refused_refinements():
    graph = graph_of(lambda x: x + 1, ig.ones(3), x={0: ig.Dim("n", 2, 64)})
    with pytest.raises(ig.ValueError) as caught:
        graph.refined({"m": 8})
    assert (caught.value.what, caught.value.why, caught.value.hint) == (
        "refined: the graph has no size `m`",
        "its sizes are n",
        "name one of the graph's symbols: graph.symbols",
    )
    with pytest.raises(ig.ValueError) as caught:
        graph.refined({"n": 65})
    assert (caught.value.what, caught.value.why, caught.value.hint) == (
        "refined: n cannot be 65",
        "it lies in [2, 64]",
        "give a size within its range",
    )


def test_large_constants_are_one_only_where_all_their_bytes_are():
    """Tables of constants look at a few places first; what differs elsewhere stays apart."""
    base = np.arange(100_000, dtype=np.float32)
    copies = [base.copy() for _ in range(40)]
    for i, copy in enumerate(copies[2:]):
        copy[1000 + 37 * i] = -1
    graph = ig.trace(lambda x: sum((x * ig.asarray(copy) for copy in copies), x), ig.ones(100_000), lift=False).graph
    merged = graph.optimised(passes=["cse"])

    def constants(graph):
        return sum(node["op"] == "constant" and "100000" in str(node["results"]) for node in graph.nodes)

    assert constants(graph) == 40
    assert constants(merged) == 39
    x = ig.asarray(np.arange(100_000, dtype=np.float32))
    np.testing.assert_array_equal(np.asarray(merged(x)), np.asarray(graph(x)))


def test_weights_of_many_shapes_are_packed_by_one_function():
    rng = np.random.default_rng(3)
    shapes = [(40, 33), (33, 70), (70, 16), (16, 17), (17, 64)]
    weights = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    x = rng.normal(size=(9, 40)).astype(np.float32)
    for turned in (False, True):  # lying by rows, and by columns
        given = [np.ascontiguousarray(w.T) if turned else w for w in weights]

        def program(x, given=given, turned=turned):
            for w in given:
                w = ig.asarray(w)
                x = x @ (w.T if turned else w)
            return x

        traced = ig.trace(program, ig.asarray(x), lift=False)
        want = x.astype(np.float64)
        for w in weights:
            want = want @ w
        np.testing.assert_allclose(np.asarray(traced(x)), want, rtol=1e-4, atol=1e-3)
        text = traced.graph.compile().assembly()
        assert "pack" not in text  # kernels alone; packing is no part of a call


def test_assembly_shows_all_kernels_of_a_fold_in_pieces() -> None:
    text = ig.trace(lambda x: ig.sum(x, axis=0), ig.zeros((40000, 100))).graph.compile().assembly()
    assert "column_1_first:" in text
    assert "column_1:" in text
