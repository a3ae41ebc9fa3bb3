"""Trees of containers: taken apart, put together, mapped, with paths."""

from __future__ import annotations

import collections
import dataclasses
import doctest
from typing import Any

import numpy as np
import pytest

import intaglio as ig

Pair = collections.namedtuple("Pair", ["left", "right"])


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any


TREE = {"layers": [Layer(1, 2), Layer(3, None)], "pair": Pair((4,), {}), "n": 5}
PATHS = [
    "['layers'][0].weight",
    "['layers'][0].bias",
    "['layers'][1].weight",
    "['pair'].left[0]",
    "['n']",
]


def test_examples_in_docstrings() -> None:
    result = doctest.testmod(ig.tree, globs={"ig": ig} | vars(ig.tree))
    assert result.attempted >= 10
    assert not result.failed


def test_apart_and_together() -> None:
    leaves, structure = ig.tree.flatten(TREE)
    assert leaves == [1, 2, 3, 4, 5]
    assert structure == ig.tree.structure(TREE) == ig.tree_structure(TREE)
    assert ig.tree.leaves(TREE) == ig.tree_leaves(TREE) == leaves
    assert ig.tree.unflatten(structure, leaves) == TREE
    assert structure.num_leaves == 5
    for nothing in (None, (), {}, [None, []]):
        assert ig.tree.leaves(nothing) == []
        assert ig.tree.unflatten(ig.tree.structure(nothing), []) == nothing


def test_paths() -> None:
    assert ig.tree.leaves_with_path(TREE) == list(zip(PATHS, [1, 2, 3, 4, 5], strict=True))
    assert ig.tree.leaves(ig.tree.map_with_path(lambda path, leaf: path, TREE)) == PATHS
    assert ig.tree.map_with_path(lambda path, a, b: (path, a, b), [1], [2]) == [("[0]", 1, 2)]


def test_what_is_a_leaf_may_be_said() -> None:
    assert ig.tree.leaves([1, (2, 3)], is_leaf=lambda node: isinstance(node, tuple)) == [1, (2, 3)]
    assert ig.tree.leaves([1, None], is_leaf=lambda node: node is None) == [1, None]
    assert ig.tree.map(lambda x: 0 if x is None else x, [1, None], is_leaf=lambda node: node is None) == [1, 0]
    assert ig.tree.leaves(TREE, is_leaf=lambda node: True) == [TREE]
    with pytest.raises(RuntimeError, match="no opinion"):
        ig.tree.leaves([1], is_leaf=no_opinion)


def no_opinion(node: Any) -> bool:
    raise RuntimeError("no opinion")


def test_further_trees_may_go_deeper() -> None:
    """As in JAX: where the first tree has a leaf, the others may have whole trees."""
    assert ig.tree.map(lambda axis, arrays: (axis, len(arrays)), {"a": 0, "b": 1}, {"a": [1, 2], "b": (3,)}) == {
        "a": (0, 2),
        "b": (1, 1),
    }


def test_maps_of_arrays_are_captured() -> None:
    params = {"w": ig.arange(6.0).reshape(2, 3), "b": [ig.ones(3)]}
    step = ig.jit(lambda p, g: ig.tree.map(lambda a, b: a - 0.5 * b, p, g))
    for got, expected in zip(ig.tree.leaves(step(params, params)), ig.tree.leaves(params), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(expected) * 0.5)


def test_reduce_all_transpose() -> None:
    assert ig.tree.reduce(lambda a, b: a + b, TREE) == 15
    assert ig.tree.reduce(lambda a, b: [*a, b], TREE, []) == [1, 2, 3, 4, 5]
    assert [ig.tree.all(tree) for tree in ([], [1, (True,)], {"a": [1, 0]})] == [True, True, False]
    inner = ig.tree.structure(Pair(0, [0]))
    outer = ig.tree.structure({"x": 0, "y": 0})
    tree = {"x": Pair(1, [2]), "y": Pair(3, [4])}
    turned = ig.tree.transpose(outer, inner, tree)
    assert turned == Pair({"x": 1, "y": 3}, [{"x": 2, "y": 4}])
    assert ig.tree.transpose(inner, outer, turned) == tree
