"""`ig.explain`: what became of a function or a graph when it was compiled."""

from __future__ import annotations

from typing import Any

from . import _errors, _intaglio
from ._jit import CacheInfo, Jit, _cache_info, _fast_math_lines
from ._kept import Kept, kept
from ._memory import Memory
from ._record import Traced


class GraphInfo(dict):  # type: ignore[type-arg]
    """What is known of a compiled graph: its `report()`, and what became one kernel, what is kept, and the memory."""

    def __init__(self, graph: Any) -> None:
        super().__init__(graph.report(), name=graph.name)
        self._graph = graph

    @property
    def fusion(self) -> Any:
        """What became one kernel and what did not, with the costs."""
        return self._graph.fusion()

    @property
    def kept(self) -> Kept:
        """What is held where the graph is at its fullest, and what is computed again behind that place."""
        return kept(self._graph)

    @property
    def memory(self) -> Memory:
        """What is held while each kernel runs."""
        return Memory(self._graph)

    def __str__(self) -> str:
        took = sum(self[phase] for phase in ("pass_ms", "lower_ms", "compile_ms", "plan_ms"))
        symbols = self._graph.symbols
        peak = f"goes by {', '.join(symbols)}" if symbols else f"{self['planned_peak']:,} bytes"
        lines = [
            f"{self['name']}: {self['nodes_captured']} nodes, {self['kernels']} kernels, compiled in {took:.1f} ms",
            f"  kernels compiled: {self['kernels_compiled']}, cached: {self['kernels_cached']}, "
            f"prebuilt: {self['kernels_prebuilt']}, the same as others: {self['kernels_shared']}",
            f"  constants: {self['constant_bytes']:,} bytes, planned peak: {peak}",
        ]
        lines += [f"  {line}" for line in _fast_math_lines(self.get("fast_math", {}))]
        return "\n".join(lines + [f"  {line}" for line in self.kept.lines()])


def explain(function: Any) -> CacheInfo | GraphInfo:
    """What is known of a jitted function's traces, or of a traced function or a graph; `print` it to read it.

    Of a jitted function, beside what `cache_info` gives, `entries[i]["kept"]` holds what the compiled graph keeps where
    it is at its fullest: of a training step, what the forward part leaves for the backward part (its bytes, each array
    with its op, module and line), and the ops that are computed again behind that place. `fusion` says what became one
    kernel, what did not, and the costs that were compared; `fusion.why(node)` says it of the nodes of that op, name,
    module or line. `entries[i]["memory"]` tells what is held while each kernel runs, as text (`print` it) and as a
    picture (`svg()`); `memory` is that of the last trace.

    Of what `ig.trace` gives, and of a graph, which are compiled if they were not, it is the `report()` with `fusion`,
    `kept` and `memory`.

    Raises
    ------
    TypeError
        Where it is none of these.

    Examples
    --------
    >>> f = ig.jit(ig.grad(lambda x: ig.sum(ig.tanh(ig.sin(x)))))
    >>> _ = f(ig.ones(4))
    >>> ig.explain(f)["entries"][0]["kept"]["bytes"]
    0
    >>> len(ig.explain(f).fusion.kernels)
    1
    >>> ig.explain(ig.trace(lambda x: ig.sort(ig.sort(x + 1) * 2), ig.ones(256)))["kernels"]
    4
    """
    if isinstance(function, Traced):
        return GraphInfo(function.graph)
    if isinstance(function, _intaglio.Graph):
        return GraphInfo(function)
    if not isinstance(function, Jit):
        raise _errors.TypeError(
            f"explain: {type(function).__name__} is neither a jitted or traced function nor a graph",
            _intaglio._user_line(),
            why="only what is compiled can be explained",
            hint="write f = ig.jit(f), call it, then ig.explain(f)",
        )
    info = _cache_info(function)
    for entry in info["entries"]:
        entry["kept"] = kept(entry["graph"])
        if "fusion" not in entry:  # a trace that runs nothing has no program
            entry["fusion"] = entry["graph"].fusion()
        entry["memory"] = Memory(entry["graph"])
    return info
