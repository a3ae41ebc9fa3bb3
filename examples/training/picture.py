"""A picture of falling losses, as SVG, by these lines alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

COLOURS = ("#1f5fa8", "#c2501f", "#3c8a3c", "#7a4ea3")
LEFT, TOP, WIDE, HIGH = 70, 40, 640, 320


def draw(file: str | Path, title: str, curves: Mapping[str, Sequence[float]], what: str = "step") -> None:
    """Each curve's values over their number, on a logarithmic axis."""
    values = [v for curve in curves.values() for v in curve if v > 0]
    low, high = math.log10(min(values)), math.log10(max(values))
    high = max(high, low + 1e-3)
    longest = max(len(curve) for curve in curves.values())

    def x(i: int) -> float:
        return LEFT + WIDE * i / max(longest - 1, 1)

    def y(v: float) -> float:
        return TOP + HIGH * (high - math.log10(max(v, 10**low))) / (high - low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDE + 30}" height="{TOP + HIGH + 60}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>',
    ]
    for i in range(5):
        v = 10 ** (low + (high - low) * i / 4)
        out.append(f'<line x1="{LEFT}" y1="{y(v):.1f}" x2="{LEFT + WIDE}" y2="{y(v):.1f}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{v:.3g}</text>')
    for i in range(5):
        n = round((longest - 1) * i / 4)
        out.append(f'<text x="{x(n):.1f}" y="{TOP + HIGH + 18}" text-anchor="middle">{n}</text>')
    out.append(f'<text x="{LEFT + WIDE / 2}" y="{TOP + HIGH + 36}" text-anchor="middle">{escape(what)}</text>')
    for k, (label, curve) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(curve))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        across = LEFT + WIDE - 150
        out.append(f'<rect x="{across}" y="{TOP + 8 + 18 * k}" width="12" height="3" fill="{colour}"/>')
        out.append(f'<text x="{across + 18}" y="{TOP + 14 + 18 * k}">{escape(label)}</text>')
    Path(file).write_text("\n".join([*out, "</svg>\n"]))
