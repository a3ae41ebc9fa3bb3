"""The memory of a compiled graph, kernel by kernel, as text and as a picture, for `ig.explain`."""

from __future__ import annotations

from typing import Any

from ._kept import _inside, _made_by, _moves_nothing, _size, lifetimes

_ROWS = 40  # of the text; longer programs show the fullest kernel of each part
_BAR = 40


class Memory:
    """What is held while each kernel runs: temporaries and results, without inputs and weights.

    `steps` has a dict a kernel: its ops, its line and the bytes; `peak` is the most of these. Results that take their
    operand's place are counted beside it, so that the plan (`planned_peak`) may need less. `print` it to read it;
    `svg()` draws it.

    Examples
    --------
    >>> f = ig.jit(lambda x: ig.sort(ig.sort(x + 1) * 2))
    >>> _ = f(ig.ones(256))
    >>> [step["bytes"] for step in ig.explain(f).memory.steps]
    [1024, 2048, 2048, 2048]
    """

    def __init__(self, graph: Any) -> None:
        compiled, report = graph.optimised(), graph.report()
        values = lifetimes(compiled)
        self.planned_peak: int = report["planned_peak"]
        self.constants: int = report["constant_bytes"]
        self.steps: list[dict[str, Any]] = []
        for place, node in enumerate(compiled.nodes):
            if node["op"] in ("constant", "create_token") or _moves_nothing(node):
                continue
            made = _made_by(node, 0)
            held = [v for v in values if v["first"] <= place and (v["given"] or place <= v["last"])]
            inner = _inside(node)
            free = ("constant", "broadcast_in_dim", "reshape")
            self.steps.append(
                {
                    "ops": [op for op in inner if op not in free] or inner,
                    "location": made["location"] or node["location"],
                    "bytes": sum(v["bytes"] for v in held),
                }
            )
        self.peak: int = max((step["bytes"] for step in self.steps), default=0)

    def __str__(self) -> str:
        lines = [
            f"{len(self.steps)} kernels, at most {_size(self.peak)} held; planned peak {_size(self.planned_peak)}, "
            f"constants {_size(self.constants)}"
        ]
        part = max(1, -(-len(self.steps) // _ROWS))
        for start in range(0, len(self.steps), part):
            step = max(self.steps[start : start + part], key=lambda one: one["bytes"])
            bar = "█" * round(_BAR * step["bytes"] / max(self.peak, 1))
            ops = " ".join(step["ops"])
            lines.append(f"  {bar:<{_BAR}} {_size(step['bytes']):>10}  {ops if len(ops) < 50 else ops[:47] + '...'}")
        return "\n".join(lines)

    __repr__ = __str__

    def svg(self) -> str:
        """The picture as SVG: a column a kernel, its ops, line and bytes as tooltip, the planned peak as a line."""
        wide, high, top = 800, 240, max(self.peak, self.planned_peak, 1)
        step = wide / max(len(self.steps), 1)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high + 40}" font-family="sans-serif" '
            'font-size="12">'
        ]
        for i, one in enumerate(self.steps):
            tall = high * one["bytes"] / top
            tip = _escaped(f"{' '.join(one['ops'])}: {_size(one['bytes'])} {one['location']}".rstrip())
            parts.append(
                f'<rect x="{i * step:.2f}" y="{20 + high - tall:.2f}" width="{step:.2f}" height="{tall:.2f}" '
                f'fill="#4878a8"><title>{tip}</title></rect>'
            )
        level = 20 + high * (1 - self.planned_peak / top)
        parts.append(f'<path d="M0 {level:.2f}H{wide}" stroke="#b04030" fill="none"/>')
        parts.append(f'<text x="4" y="14">planned peak {_size(self.planned_peak)}, most held {_size(self.peak)}</text>')
        parts.append(f'<text x="4" y="{high + 36}">{len(self.steps)} kernels, in order</text></svg>')
        return "\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
