"""Trees of containers, as `jax.tree`: dicts, lists, tuples, named tuples, dataclasses, `None` (a container of nothing)
and registered classes (`ig.register_pytree`); all else is a leaf. The order of leaves is that of the containers.

A path is the text that leads to a leaf, as `['encoder'][0].weight`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import _errors, _intaglio
from ._intaglio import TreeDef

__all__ = [
    "TreeDef",
    "all",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "structure",
    "transpose",
    "unflatten",
]

IsLeaf = Callable[[Any], bool]
_NONE = object()


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree, and its structure.

    `is_leaf(node)` makes a leaf of a container of which it is true.

    Example:
        >>> ig.tree.flatten({"w": 1, "b": (2, None)})
        ([1, 2], TreeDef({'w': *, 'b': (*, None)}))
    """
    found, treedef = _intaglio.tree_flatten(tree, is_leaf)
    return found, treedef


def unflatten(treedef: TreeDef, leaves: Any) -> Any:
    """The tree of this structure with these leaves.

    Raises:
        ValueError: there are more leaves than places, or fewer.

    Example:
        >>> ig.tree.unflatten(ig.tree.structure({"w": 0, "b": 0}), [1, 2])
        {'w': 1, 'b': 2}
    """
    return _intaglio.tree_unflatten(treedef, leaves)


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree, in order.

    Example:
        >>> ig.tree.leaves({"w": 1, "b": (2, 3)})
        [1, 2, 3]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> TreeDef:
    """The structure of a tree: its containers and their keys, with `*` for each leaf.

    Example:
        >>> ig.tree.structure([1, {"a": 2}])
        TreeDef([*, {'a': *}])
    """
    return flatten(tree, is_leaf)[1]


def flatten_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[tuple[str, Any]], TreeDef]:
    """Pairs of path and leaf, and the structure.

    Example:
        >>> ig.tree.flatten_with_path({"w": 1, "b": (2, 3)})[0]
        [("['w']", 1), ("['b'][0]", 2), ("['b'][1]", 3)]
    """
    found, treedef = flatten(tree, is_leaf)
    return list(zip(treedef.paths(), found, strict=True)), treedef


def leaves_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> list[tuple[str, Any]]:
    """Pairs of path and leaf.

    Example:
        >>> ig.tree.leaves_with_path([1, [2]])
        [('[0]', 1), ('[1][0]', 2)]
    """
    return flatten_with_path(tree, is_leaf)[0]


def _parts(name: str, treedef: TreeDef, others: dict[str, Any]) -> list[list[Any]]:
    """What each further tree, by its name in messages, has where the first has its leaves."""
    out = []
    for which, other in others.items():
        found, mismatch = treedef._parts(other)
        if mismatch:
            raise _errors.ValueError(
                f"{name}: {which} does not fit the first: {mismatch}",
                _intaglio._user_line(),
                "leaves go together by their place, so all trees need the containers and keys of the first",
                "give trees of one structure; where the first has a leaf, the others may have whole trees",
            )
        out.append(found)
    return out


def _numbered(rest: tuple[Any, ...]) -> dict[str, Any]:
    return {f"tree {position}": tree for position, tree in enumerate(rest, 2)}


def map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree with `function` applied to each leaf, and to what stands at its place in each further tree.

    Args:
        function: takes a leaf of `tree` and as many further values as there are trees in `rest`.
        rest: trees of the structure of `tree`, or of more levels: where `tree` has a leaf, they may have whole trees.
        is_leaf: makes a leaf of a container of which it is true.

    Raises:
        ValueError: a further tree does not have a container of the first; the message names the place.

    Example:
        >>> ig.tree.map(lambda a, b: a + b, {"w": 1, "b": 2}, {"w": 10, "b": 20})
        {'w': 11, 'b': 22}
    """
    found, treedef = flatten(tree, is_leaf)
    columns = _parts("tree.map", treedef, _numbered(rest))
    return unflatten(treedef, [function(*items) for items in zip(found, *columns, strict=True)])


def map_with_path(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """As `map`, with the path of the leaf as the first argument.

    Example:
        >>> ig.tree.map_with_path(lambda path, x: f"{path} = {x}", {"w": 1})
        {'w': "['w'] = 1"}
    """
    found, treedef = flatten(tree, is_leaf)
    columns = _parts("tree.map_with_path", treedef, _numbered(rest))
    return unflatten(treedef, [function(*items) for items in zip(treedef.paths(), found, *columns, strict=True)])


def reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _NONE, is_leaf: IsLeaf | None = None
) -> Any:
    """The leaves put together from the left by `function(so_far, leaf)`, from `initializer` on.

    Raises:
        ValueError: there is neither a leaf nor an initializer.

    Example:
        >>> ig.tree.reduce(lambda total, x: total + x, {"w": 1, "b": (2, 3)}, 0)
        6
    """
    found = leaves(tree, is_leaf)
    if initializer is not _NONE:
        return functools.reduce(function, found, initializer)
    if not found:
        raise _errors.ValueError(
            "tree.reduce: a tree without leaves, and no initializer",
            _intaglio._user_line(),
            "there is no value to give back",
            "give one: ig.tree.reduce(function, tree, 0)",
        )
    return functools.reduce(function, found)


def all(tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether every leaf is true.

    Example:
        >>> ig.tree.all({"a": True, "b": [1, 0]})
        False
    """
    return functools.reduce(lambda so_far, leaf: so_far and bool(leaf), leaves(tree, is_leaf), True)


def transpose(outer: TreeDef, inner: TreeDef, tree: Any) -> Any:
    """A tree of `outer` whose leaves are trees of `inner`, turned inside out.

    Raises:
        ValueError: the tree is not made of `outer` with `inner` at its leaves.

    Example:
        >>> rows = [{"x": 1, "y": 2}, {"x": 3, "y": 4}]
        >>> ig.tree.transpose(ig.tree.structure([0, 0]), ig.tree.structure({"x": 0, "y": 0}), rows)
        {'x': [1, 3], 'y': [2, 4]}
    """
    (parts,) = _parts("tree.transpose", outer, {"the tree": tree})
    inside = {
        f"what the tree has at {path or 'its top'}": part for path, part in zip(outer.paths(), parts, strict=True)
    }
    columns = _parts("tree.transpose", inner, inside)
    return unflatten(inner, [unflatten(outer, list(row)) for row in zip(*columns, strict=True)])
