# docs/compatibility.md out of docs/compatibility.toml. A row that names a test or a public name which does not exist
# is refused, so the page cannot promise what nothing shows.
from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import intaglio as ig

ROOT = Path(__file__).resolve().parent.parent
STATES = ("yes", "partly", "no")


def check_test(name: str) -> None:
    path, _, function = name.partition("::")
    file = ROOT / path
    if not file.exists():
        raise ValueError(f"docs/compatibility.toml: there is no file {path}")
    if function and not re.search(rf"^(async )?def {re.escape(function)}\(", file.read_text(), re.MULTILINE):
        raise ValueError(f"docs/compatibility.toml: {path} has no test {function}")


def check_names(text: str) -> None:
    for name in re.findall(r"`ig\.([\w.]+)", text):
        value: Any = ig
        for part in name.split("."):
            if not hasattr(value, part):
                raise ValueError(f"docs/compatibility.toml: there is no ig.{name}")
            value = getattr(value, part)


def row_of(row: dict[str, Any]) -> str:
    state = row["state"]
    if state not in STATES or (state == "partly") != ("left" in row) or (state != "no" and not row["tests"]):
        raise ValueError(f"docs/compatibility.toml: the row of {row['feature']!r} is not whole")
    check_names(row["here"])
    for test in row["tests"]:
        check_test(test)
    here = row["here"] + (f"; {row['left']}" if "left" in row else "")
    shown = "<br>".join(f"[{Path(t).name}](../{t.partition('::')[0]})" for t in row["tests"])
    return f"| {row['feature']} | {state} | {here} | {shown} |".replace("  ", " ")


def page() -> dict[str, str]:
    table = tomllib.loads((ROOT / "docs" / "compatibility.toml").read_text())
    lines = [
        "<!-- Written by scripts/generate_docs.py out of docs/compatibility.toml: change that. -->",
        "# What users of other systems find here",
        "",
        "Each line is a feature that people rely on elsewhere, whether it stands here, under which name, and the test "
        "that shows it. `partly` says what is missing after the semicolon.",
    ]
    for system in table["system"]:
        lines += ["", f"## {system['title']}", "", "| feature | here | how | shown by |", "|---|---|---|---|"]
        lines += [row_of(row) for row in system["row"]]
    return {"docs/compatibility.md": "\n".join(lines) + "\n"}
