"""Bad input, kind by kind: what a user may hand over by mistake, eagerly, to a jitted function, to a graph. The whole
texts stand in bad_input_errors.txt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, text_of

import intaglio as ig

EXPECTED = Path(__file__).with_name("bad_input_errors.txt")

X = ig.asarray(np.arange(12, dtype=np.float32).reshape(3, 4))
I = ig.asarray([1, 2, 3])


def plus(a: Any, b: Any) -> Any:
    return a + b


traced = ig.trace(plus, X, X)
GRAPH = traced.graph
TEXT = str(GRAPH)
BYTES = GRAPH.to_binary()
JITTED = ig.jit(plus)


def sorted_rows(n: Any) -> Any:
    table = ig.broadcast_to(n, (1 << 19, 1 << 18))
    return ig.sort(ig.sort(table, axis=0) * 2.0, axis=1).sum()


# What is handed over, by the kind of mistake.
WRONG: dict[str, list[str]] = {
    "dtype": [
        "ig.exp('a')",
        "ig.exp(object())",
        "ig.asarray([1]) & ig.asarray([1.5])",
        "ig.asarray(['a', 'b'])",
        "ig.zeros((2,), dtype='float33')",
        "GRAPH(X, ig.asarray(np.ones((3, 4))))",
        "ig.jit(lambda a: a << 1)(X)",
    ],
    "rank": [
        "ig.matmul(ig.asarray(1.0), X)",
        "ig.sum(X, axis=2)",
        "ig.jit(lambda a: ig.sum(a, axis=2))(X)",
        "ig.concat([X, ig.ones((3,))])",
        "GRAPH(X, X[0])",
    ],
    "size": [
        "X + ig.ones((5,))",
        "JITTED(X, ig.ones((5,)))",
        "X @ X",
        "ig.jit(lambda a: a @ a)(X)",
        "ig.reshape(X, (5, 2))",
        "ig.zeros((-1,))",
        "ig.zeros((1 << 40, 1 << 40))",
        "GRAPH(X, ig.ones((3, 5)))",
    ],
    "device": ["ig.asarray([1.0], device='cuda')", "ig.zeros((2,), device='gpu:0')"],
    "tree": [
        "GRAPH(X)",
        "GRAPH(X, X, X)",
        "traced({'a': X}, X)",
        "ig.tree_map(plus, {'a': 1, 'b': 2}, {'a': 1})",
        "ig.tree.map(plus, {'a': [1, (2,)]}, {'a': [1, 2]})",
        "ig.tree.map_with_path(plus, [1, None], [1, 2])",
        "ig.tree.transpose(ig.tree.structure([0, 0]), ig.tree.structure({'x': 0}), [{'x': 1}, {'y': 1}])",
        "ig.tree.reduce(plus, [None, ()])",
        "ig.tree.unflatten(ig.tree.structure([0, 0]), [1])",
    ],
    "text of a graph": [
        "ig.Graph.parse('')",
        "ig.Graph.parse('graph @f(%x: f32[3] {\\n}')",
        "ig.Graph.parse(TEXT.replace('add', 'ad'))",
        "ig.Graph.parse(TEXT.replace('f32[3, 4]', 'f32[3, 5]', 1))",
        "ig.Graph.parse(TEXT.replace('f32', 'f33', 1))",
    ],
    "bytes of a graph": [
        "ig.Graph.from_binary(b'')",
        "ig.Graph.from_binary(b'hello')",
        "ig.Graph.from_binary(BYTES[:-7])",
        "ig.Graph.from_binary(BYTES[:20] + b'x' + BYTES[21:])",
    ],
    "index": [
        "X[7]",
        "X[0, -5]",
        "ig.take(X, ig.asarray([9]), axis=0)",
        "ig.jit(lambda a, i: ig.take(a, i, axis=0))(X, ig.asarray([9]))",
        "ig.jit(lambda a, i: a[i])(X, ig.asarray(-4))",
    ],
    "division by integer zero": [
        "I // 0",
        "I % ig.asarray([1, 0, 2])",
        "ig.jit(lambda a, b: a // b)(I, ig.asarray([1, 0, 2]))",
        "ig.remainder(I, 0)",
    ],
    "memory": ["ig.zeros((1 << 41,))", "ig.jit(sorted_rows)(ig.asarray(1.0))"],
    "threads": [f"ig.set_num_threads({count})" for count in ("0", "-1", "1025", "False", "1 << 31")],
    "no number of threads": [f"ig.set_num_threads({count})" for count in ("2.0", "'2'", "None", "X", "1 << 70")],
}


def text(source: str) -> str:
    with pytest.raises(ig.Error) as caught:
        eval(source, globals())
    assert caught.value.where, source
    # How much memory there is, and is taken already, differs from machine to machine.
    memory = r"arrays hold [\d.]+ \w+ now, and may hold at most [\d.]+ \w+"
    return re.sub(memory, "arrays hold … of at most …", text_of(caught.value, __file__))


def texts() -> dict[str, str]:
    return {source: text(source) for sources in WRONG.values() for source in sources}


def test_bad_input() -> None:
    check_texts(texts(), EXPECTED)


def test_nothing_is_lost_by_a_refused_call() -> None:
    """After each of them the arrays and the compiled functions are as they were."""
    texts()
    assert np.array_equal(X, np.arange(12, dtype=np.float32).reshape(3, 4))
    assert np.array_equal(JITTED(X, X), 2 * np.arange(12, dtype=np.float32).reshape(3, 4))
    assert np.array_equal(traced(X, X), JITTED(X, X))


def test_any_whole_number_counts_threads() -> None:
    before = ig.get_num_threads()
    try:
        ig.set_num_threads(np.int64(2))
        assert ig.get_num_threads() == 2
    finally:
        ig.set_num_threads(before)


def test_true_is_one_thread_as_it_is_the_number_one() -> None:
    before = ig.get_num_threads()
    try:
        ig.set_num_threads(True)
        assert ig.get_num_threads() == 1
    finally:
        ig.set_num_threads(before)
