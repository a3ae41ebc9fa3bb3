"""How the rows of a result are found, and how its figures are written."""

from __future__ import annotations

from typing import Any

OWN = ("intaglio", "intaglio_eager")

Result = dict[str, Any]
Rows = list[dict[str, Any]]
Systems = dict[str, dict[str, Any]]  # the rows of one workload and number of threads, by system


def seconds(value: float | None) -> str:
    """A time with three digits and its unit."""
    if value is None:
        return "–"
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if abs(value) * factor < 1000:
            return f"{digits(value * factor)} {unit}"
    return f"{digits(value)} s"


def digits(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"


def times(value: float) -> str:
    return f"{digits(value)}×"


def percent(value: float) -> str:
    return f"{value:.0%}"


def mib(count: float | None) -> str:
    return "–" if count is None else f"{digits(count / (1 << 20))} MiB"


def megabytes(count: float) -> str:
    return f"{digits(count / 1e6)} MB"


def on(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"


def by_workload(result: Result, threads: int) -> dict[str, Systems]:
    """Rows of one number of threads: workload, then system."""
    out: dict[str, Systems] = {}
    for row in result["rows"]:
        if row["threads"] == threads:
            out.setdefault(row["workload"], {})[row["system"]] = row
    return out


def title(row: Systems) -> str:
    return str(next(iter(row.values()))["title"])


def best_peer(row: Systems, key: str = "median") -> tuple[str, float] | None:
    found = [(r[key], name) for name, r in row.items() if name not in (*OWN, "limit") and key in r]
    return (min(found)[1], min(found)[0]) if found else None


def over_limit(row: Systems, threads: int) -> float | None:
    """Intaglio's time over the machine's own for the work; with one thread, by processor time."""
    clock = "processor" if threads == 1 else "median"
    own, limit = row.get("intaglio", {}), row.get("limit", {})
    return own[clock] / limit[clock] if "median" in own and clock in own and clock in limit else None


def table(header: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *lines]) + "\n"
