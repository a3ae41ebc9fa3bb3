"""What became one kernel in the traces of a jitted function, for `ig.explain`."""

from __future__ import annotations

from typing import Any

from . import _errors, _intaglio


class Fusion:
    """The decisions about kernels, of every trace. `print` it to read it, or ask it about a node.

    Examples
    --------
    >>> f = ig.jit(lambda x: ig.sum(ig.exp(x), axis=1))
    >>> _ = f(ig.ones((4, 8)))
    >>> print(ig.explain(f).fusion.why("reduce_sum").splitlines()[0])
    reduce_sum is in the kernel
    """

    def __init__(self, traces: list[tuple[str, Any]]) -> None:
        self._traces = traces

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """A dict a kernel, of all traces in turn: kind, nodes, and its costs together and apart."""
        return [kernel for _, report in self._traces for kernel in report.kernels]

    @property
    def refused(self) -> list[dict[str, Any]]:
        """A dict for each node that did not join a kernel beside it: node, kernel_of, kind, reason, together, apart."""
        return [refusal for _, report in self._traces for refusal in report.refused]

    def why(self, node: str) -> str:
        """What was decided about the nodes of this op, result's name, module, or part of a line.

        Raises
        ------
        ValueError
            Where no kernel holds such a node.
        """
        parts, problem = [], None
        for signature, report in self._traces:
            try:
                parts.append((signature, report.why(node)))
            except _errors.ValueError as error:
                problem = error
        if not parts and problem is not None:
            raise problem
        if not parts:
            raise _errors.ValueError(
                f"no kernel holds a node `{node}`",
                _intaglio._user_line(),
                why="the function has no trace: it was not called yet",
                hint="call it, then ask ig.explain",
            )
        return self._text(parts)

    def __str__(self) -> str:
        return self._text([(signature, str(report)) for signature, report in self._traces])

    __repr__ = __str__

    def _text(self, parts: list[tuple[str, str]]) -> str:
        """The parts, each under its trace where there are several traces."""
        if len(self._traces) == 1:
            return "".join(text for _, text in parts).rstrip("\n")
        return "\n".join(f"{signature}\n{text}".rstrip("\n") for signature, text in parts)
