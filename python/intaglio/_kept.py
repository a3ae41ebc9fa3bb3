"""What a compiled graph holds where it is at its fullest, for `ig.explain`: of a training step, what the forward part
keeps for the backward part, and what that computes again."""

from __future__ import annotations

import collections
from typing import Any

_SYMBOLIC = 64  # what a symbolic size is taken for
_SHOWN = 5


class Kept(dict):  # type: ignore[type-arg]
    """Bytes and arrays that are alive between the kernels where most are, and what is computed again behind them."""

    def lines(self) -> list[str]:
        """The report, line by line; nothing where next to nothing is kept."""
        if not self["arrays"]:
            return []
        lines = [f"kept at the fullest place: {len(self['arrays'])} arrays, {_size(self['bytes'])}"]
        lines[0] += f" (planned peak {_size(self['planned_peak'])})"
        for one in self["arrays"][:_SHOWN]:
            place = " ".join(part for part in (f"[{one['scope']}]" if one["scope"] else "", one["location"]) if part)
            lines.append(f"  {_size(one['bytes'])} {one['type']} {one['op']} {place}".rstrip())
        if len(self["arrays"]) > _SHOWN:
            rest = self["arrays"][_SHOWN:]
            lines.append(f"  and {len(rest)} more, {_size(sum(one['bytes'] for one in rest))}")
        if self["again"]:
            ops = ", ".join(f"{op} {count}×" for op, count in self["again"].items())
            lines.append(f"computed again behind it: {ops}")
        return lines


def _size(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def _bytes(result: dict[str, Any]) -> int:
    out = getattr(result["dtype"], "itemsize", 0)
    for size in result["shape"]:
        out *= size if isinstance(size, int) else _SYMBOLIC
    return int(out)


def _moves_nothing(node: dict[str, Any]) -> bool:
    return node["op"] == "after" or node["attrs"].get("kind") == "relabel"


def _made_by(node: dict[str, Any], index: int) -> dict[str, Any]:
    """The op inside a kernel or a loop's body that gives its result; the node itself where there is none, as in an
    effect."""
    if not node["regions"] or not node["results"]:
        return node
    wanted = node["region_results"][-1][index]  # a `while` has its condition in front of its body
    for inner in node["regions"][-1]:
        for place, result in enumerate(inner["results"]):
            if result["key"] == wanted:
                return _made_by(inner, place) if inner["op"] == "fusion" else dict(inner)
    return node


def _inside(node: dict[str, Any]) -> list[str]:
    """The ops of a kernel, be it one of kernels; the op itself of what is no kernel."""
    if node["op"] != "fusion":
        return [node["op"]]
    return [op for one in node["regions"][0] for op in _inside(one)]


def lifetimes(compiled: Any) -> list[dict[str, Any]]:
    """Of an optimised graph: each array that a kernel gives, with the places of the first and the last node that touch
    it. Constants and tokens are left out; a result of the graph is marked as `given`."""
    nodes = compiled.nodes
    given = {output["key"] for output in compiled.outputs}
    alive: dict[str, dict[str, Any]] = {}
    root: dict[str, str] = {}
    for place, node in enumerate(nodes):
        for operand in node["operands"]:
            value = alive.get(root.get(operand, operand))
            if value is not None:
                value["last"] = place
        for i, result in enumerate(node["results"]):
            key = result["key"]
            if _moves_nothing(node):
                root[key] = root.get(node["operands"][0], node["operands"][0])
            elif node["op"] != "constant" and "shape" in result:  # not a token
                made = _made_by(node, i)
                alive[key] = {
                    "bytes": _bytes(result),
                    "type": result["type"],
                    "op": made["op"],
                    "scope": made["scope"] or node["scope"],
                    "location": made["location"] or node["location"],
                    "first": place,
                    "last": place,
                    "given": key in given,
                }
    for key in given:
        if root.get(key, key) in alive:
            alive[root.get(key, key)]["given"] = True
    return list(alive.values())


def kept(graph: Any) -> Kept:
    """Of a graph as it was captured."""
    compiled = graph.optimised()
    nodes = compiled.nodes
    alive = [value for value in lifetimes(compiled) if not value["given"]]
    fullest, most = 0, -1
    for place in range(len(nodes)):
        held = sum(value["bytes"] for value in alive if value["first"] <= place < value["last"])
        if held >= most and held > 0:
            fullest, most = place, held
    arrays = [value for value in alive if value["first"] <= fullest < value["last"]]
    arrays.sort(key=lambda value: -value["bytes"])
    return Kept(
        bytes=sum(value["bytes"] for value in arrays),
        arrays=[{k: v for k, v in value.items() if k not in ("first", "last", "given")} for value in arrays],
        again=_computed_again(nodes),
        planned_peak=graph.report()["planned_peak"],
    )


def _computed_again(nodes: list[dict[str, Any]]) -> dict[str, int]:
    """The ops that are made of nothing but what is kept: they have been computed before."""
    behind = {result["key"] for node in nodes if node["op"] == "after" for result in node["results"]}
    counts: collections.Counter[str] = collections.Counter()
    for node in nodes:
        if node["op"] == "after" or not node["regions"]:
            continue
        again = {f"a{i}" for i, operand in enumerate(node["operands"]) if operand in behind}
        for inner in node["regions"][0]:
            free = inner["op"] in ("constant", "broadcast_in_dim", "reshape")
            if not all(operand in again for operand in inner["operands"]):
                continue
            again.update(result["key"] for result in inner["results"])
            if inner["operands"] and not free:
                counts[inner["op"]] += 1
    return dict(counts.most_common())
