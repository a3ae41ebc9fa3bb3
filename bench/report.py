"""What a result says to a reader: tables in Markdown, a picture in SVG, a comparison with an earlier one."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import targets
from rows import OWN, Rows, best_peer, by_workload, mib, on, over_limit, seconds, table, times, title
from workloads import all_workloads

DOCS = Path(__file__).resolve().parent.parent / "docs"

LEGEND = """"By processor time": the ratio of the times that all threads of a process ran; where others
use the machine, it is the one to trust with 1 thread. "Of the limit": the time over that of a copy, a read or
the FMA peak, measured in the same rounds (with 1 thread: by processor time). The columns at the right: each
system's time as a multiple of Intaglio's.
"""


def one_line(rows: Rows, titles: dict[str, str]) -> str:
    parts = []
    for row in rows:
        name = titles.get(row["system"], row["system"])
        parts.append(f"{name} {seconds(row['median']) if 'median' in row else 'failed'}")
    return f"{rows[0]['title']}, {on(rows[0]['threads'])}: " + ", ".join(parts) if rows else ""


def steady(result: dict[str, Any], threads: int) -> str:
    titles = result["titles"]
    others = [name for name in titles if name not in OWN]
    header = ["workload", "Intaglio", "± quartiles", "of the limit", "eager", "best other", "faster than it"]
    header += ["by processor time", *(titles[name] for name in others)]
    lines = []
    for row in by_workload(result, threads).values():
        own = row.get("intaglio")
        if own is None:
            continue
        time = own.get("median")
        limit = over_limit(row, threads)
        peer, eager = best_peer(row), row.get("intaglio_eager", {})
        ratio = peer[1] / time if peer and time else None
        leanest = best_peer(row, "processor")
        cells = [own["title"], seconds(time)]
        cells.append(f"{(own['high'] - own['low']) / 2 / time:.0%}" if time else own.get("problem", "–"))
        cells.append(times(limit) if limit else "–")
        cells.append(seconds(eager.get("median")))
        cells.append(f"{titles[peer[0]]} {seconds(peer[1])}" if peer else "–")
        cells.append("–" if ratio is None else f"**{times(ratio)}**" if ratio >= 1 else f"{times(ratio)} (behind)")
        cells.append(times(leanest[1] / own["processor"]) if leanest and "processor" in own else "–")
        for name in others:
            median = row.get(name, {}).get("median")
            cells.append(times(median / time) if median and time else "–" if median is None else seconds(median))
        lines.append(cells)
    return table(header, lines)


def cold(result: dict[str, Any], threads: int) -> str:
    titles = [name for name in result["titles"] if name not in ("numpy", "torch", "intaglio_eager")]
    lines = []
    for row in by_workload(result, threads).values():
        if any("cold" in row.get(name, {}) for name in titles):
            first = next(iter(row.values()))
            # A warm call that took longer than the first one says nothing about a compile.
            lines.append([first["title"], *(seconds(row.get(name, {}).get("cold") or None) for name in titles)])
    return table(["workload", *(result["titles"][name] for name in titles)], lines)


# What a program adds, its libraries' code among it where they are opened late; and with all that was opened before.
PEAKS = {
    "peak_added": "above what the process had with inputs and weights loaded",
    "peak": "of the whole process",
}


def peaks(result: dict[str, Any], what: str) -> str:
    names = list(result["titles"])
    lines = []
    for threads in result["settings"]["threads"]:
        for workload, row in by_workload(result, threads).items():
            if workload.startswith(("minilm", "train")):
                cells = [mib(row.get(name, {}).get(what)) for name in names]
                lines.append([f"{title(row)}, {on(threads)}", *cells])
    return table(["workload", *(result["titles"][name] for name in names)], lines) if lines else ""


def weights(result: dict[str, Any]) -> str:
    lines = []
    for row in result["weight"]:
        name = result["titles"][row["system"]].removesuffix(" eager")
        packed = "–" if row["packed"] is None else mib(row["packed"])
        sizes = [mib(row["resident"]), packed, mib(row["own"]), mib(row["with_needs"])]
        lines.append([f"{name} {row['version']}", seconds(row["import"]), *sizes])
    header = ["", "import", "memory after import", "own, compressed", "own, installed", "with all it needs"]
    return table(header, lines) if lines else ""


def left_out(result: dict[str, Any]) -> str:
    """Other systems' rows that do not count, with the reason; what a system does not have is no such row."""
    lines = [
        f"- {row['title']}, {on(row['threads'])}, {result['titles'][row['system']]}: {row['problem']}"
        for row in result["rows"]
        if "problem" in row and row["system"] not in OWN and not row["problem"].startswith("NotImplementedError")
    ]
    return "\n".join(lines) + "\n" if lines else ""


def lost_processors(result: dict[str, Any]) -> str:
    """Rounds in which the machine did not have the processors of all threads: their multiply-adds show it."""
    kinds = {name: workload.limit.kind for name, workload in all_workloads().items() if workload.limit}
    one = {name: row["limit"] for name, row in by_workload(result, 1).items() if "limit" in row}
    lines = []
    for threads in (t for t in result["settings"]["threads"] if t > 1):
        for workload, row in by_workload(result, threads).items():
            rounds = row.get("limit", {}).get("rounds", [])
            if kinds.get(workload) != "fma" or not rounds or "median" not in one.get(workload, {}):
                continue
            gains = [one[workload]["median"] / seconds for seconds in rounds]
            if lost := [gain for gain in gains if gain < 0.75 * threads]:
                where = f"{row['limit']['title']}, {on(threads)}: in {len(lost)} of {len(rounds)} rounds"
                lines.append(f"- {where} {times(min(lost))} the multiply-adds of one thread")
    return "\n".join(lines) + "\n" if lines else ""


def limits(result: dict[str, Any]) -> str:
    lines = []
    for row in result["limits"]:
        name = row["kind"].replace("_", " ") + (f", {row['mib']} MiB" if row["mib"] else "")
        lines.append([name, str(row["threads"]), f"{row['median']:.0f} {row['unit']}", f"{row['best']:.0f}"])
    return table(["limit", "threads", "median", "best"], lines) if lines else ""


def markdown(result: dict[str, Any]) -> str:
    machine, settings = result["machine"], result["settings"]
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    versions = ", ".join(
        f"{result['titles'][name]} {v}" for name, v in result["versions"].items() if name not in OWN[1:]
    )
    parts = [
        f"Measured {result['when']} on {machine['processor']} (family {machine['family']}, "
        f"{machine['vectors']}, {machine['processors']} processors, {caches}), {machine['system']}, "
        f"kernel {machine['kernel']}; "
        f"load average {machine['load']:.1f} when the run began"
        + (f", {result['load_after']:.1f} when it ended" if "load_after" in result else "")
        + f". {versions}. Median of {settings['rounds']} rounds; every output checked against float64.\n",
        limits(result),
    ]
    for threads in settings["threads"]:
        if any(row["threads"] == threads for row in result["rows"]):
            parts += [
                f"### Steady state, {on(threads)}\n",
                LEGEND,
                steady(result, threads),
            ]
    if result["rows"]:
        threads = max(row["threads"] for row in result["rows"])
        parts += [f"### Cold: the first call less a warm one, fresh process, {on(threads)}, caches off\n",
                  cold(result, threads)]  # fmt: skip
    for what, said in PEAKS.items():
        if text := peaks(result, what):
            parts += [f"### Peak memory {said}\n", text]
    if result["weight"]:
        parts += ["### Weight\n", weights(result)]
    if result["rows"]:
        parts += ["### Targets\n", targets.LEGEND, targets.summary(result)]
    if text := targets.variants(result):
        parts += ["### Variants, and the rows they belong to\n", text]
    if result["rows"]:
        parts += ["### Short of the target\n", targets.short(result)]
    if text := lost_processors(result):
        parts += ["### Fewer processors than threads\n", text]
    if left_out(result):
        parts += ["### Rows that do not count\n", left_out(result)]
    return "\n".join(parts)


def comparison(old: dict[str, Any], new: dict[str, Any]) -> str:
    """How many times faster the new result is, for Intaglio and, as a check on the machine, for its limit."""
    before, after = (
        {(r["workload"], r["threads"], r["system"]): r["median"] for r in result["rows"] if "median" in r}
        for result in (old, new)
    )
    lines = []
    for row in new["rows"]:
        key = (row["workload"], row["threads"], row["system"])
        if row["system"] not in OWN or "median" not in row or key not in before:
            continue
        faster = before[key] / row["median"]
        own_limit, old_limit = (medians.get((*key[:2], "limit")) for medians in (after, before))
        machine = times(old_limit / own_limit) if old_limit and own_limit else "–"
        cells = [row["title"], str(row["threads"]), new["titles"][row["system"]], seconds(before[key])]
        lines.append([*cells, seconds(row["median"]), times(faster), machine])
    header = ["workload", "threads", "system", f"before ({old['when']})", "now", "faster", "the machine"]
    return f"### Against {old['when']}\n\n" + table(header, lines)


# ---- the picture -----------------------------------------------------------------------------------------

COLOURS = {
    "intaglio": "#b3261e", "intaglio_eager": "#e79a94", "numpy": "#4a7fb5", "torch": "#e08a2e",
    "torch_compile": "#8a5a1c", "jax": "#5b8f3a", "onnxruntime": "#7a5cb0", "openvino": "#2a9d9a",
    "tensorflow": "#9b9b2a", "limit": "#000000",
}  # fmt: skip
ROW, LEFT, WIDE = 22, 250, 620


def picture(result: dict[str, Any]) -> str:
    """Each workload a line, each system a dot on a logarithmic axis: time over the best other's."""
    threads = min(result["settings"]["threads"])
    rows = [(w, r) for w, r in by_workload(result, threads).items() if best_peer(r)]
    low, high = 0.1, 32.0
    names = [*result["titles"], "limit"]

    def x(ratio: float) -> float:
        return LEFT + WIDE * math.log(min(max(ratio, low), high) / low) / math.log(high / low)

    top = 66
    height = top + ROW * len(rows) + 40
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDE + 40}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="12" y="20" font-size="14">Time over the best other system\'s, {threads} thread'
        f"{'s' * (threads > 1)} (left is faster)</text>",
    ]
    place = 12.0
    for name in names:
        title = result["titles"].get(name, "the machine's limit")
        out.append(f'<circle cx="{place}" cy="38" r="4.5" fill="{COLOURS.get(name, "#777777")}"/>')
        out.append(f'<text x="{place + 8}" y="42">{escape(title)}</text>')
        place += 24 + 6.6 * len(title)
    bottom = top + ROW * len(rows)
    for mark in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20):
        colour = "#888888" if mark == 1 else "#e4e4e4"
        out.append(f'<line x1="{x(mark):.1f}" y1="{top - 8}" x2="{x(mark):.1f}" y2="{bottom}" stroke="{colour}"/>')
        out.append(f'<text x="{x(mark):.1f}" y="{bottom + 16}" text-anchor="middle">{mark:g}×</text>')
    for i, (_, row) in enumerate(rows):
        y = top + ROW * i + ROW / 2
        peer = best_peer(row)
        assert peer is not None
        title = escape(next(iter(row.values()))["title"])
        out.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{title}</text>')
        for name in reversed(names):
            if "median" in row.get(name, {}):
                ratio = row[name]["median"] / peer[1]
                radius = 6 if name == "intaglio" else 4
                tip = f"{result['titles'].get(name, 'limit')}: {seconds(row[name]['median'])}, {times(ratio)}"
                colour = COLOURS.get(name, "#777777")
                dot = f'<circle cx="{x(ratio):.1f}" cy="{y}" r="{radius}" fill="{colour}">'
                out.append(f"{dot}<title>{escape(tip)}</title></circle>")
    return "\n".join([*out, "</svg>\n"])


def into_docs(text: str, drawing: str) -> None:
    """Puts the table between the markers of docs/performance.md, and the picture beside it."""
    page = DOCS / "performance.md"
    old = page.read_text()
    marked = re.compile(r"(<!-- measured -->\n).*(<!-- end of measured -->)", re.DOTALL)
    if not marked.search(old):
        raise ValueError(f"{page} has lost its markers <!-- measured --> and <!-- end of measured -->")
    page.write_text(marked.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", old))
    (DOCS / "performance.svg").write_text(drawing)
