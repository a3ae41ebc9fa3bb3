"""What is generated out of the op table is up to date, and every example runs and gives what the page
shows."""

from __future__ import annotations

import difflib
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import intaglio as ig

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
generate_docs: Any = importlib.import_module("generate_docs")
FILES: dict[str, str] = generate_docs.generated()
PUBLIC = [decl for decl in ig.op_table() if decl["python"] and not decl["name"].startswith("user.")]


@pytest.mark.parametrize("path", list(FILES))
def test_up_to_date(path: str) -> None:
    have = (ROOT / path).read_text() if (ROOT / path).exists() else ""
    difference = difflib.unified_diff(have.splitlines(), FILES[path].splitlines(), path, "generated", n=0, lineterm="")
    assert have == FILES[path], "python scripts/generate_docs.py\n" + "\n".join(list(difference)[:30])


def test_no_page_too_many() -> None:
    assert {str(p.relative_to(ROOT)) for p in (ROOT / "docs/ops").glob("*.md")} <= set(FILES)


@pytest.mark.parametrize("decl", PUBLIC, ids=[decl["python"] for decl in PUBLIC])
def test_example(decl: dict[str, Any]) -> None:
    """A public function has an example, which uses it and runs; its docstring shows it, with what goes in."""
    name = decl["python"]
    assert f"{name}(" in decl["example"], f"{name} has no example"
    eval(decl["example"], {"ig": ig})
    doc = ig.op(decl["name"]).__doc__ if hasattr(ig, "op") else ig._intaglio.op(decl["name"]).__doc__
    assert f">>> {decl['example']}" in doc
    assert doc.startswith(f"{name}(")
    assert decl["doc"].split("\n")[0] in doc
    for operand in decl["operands"]:
        assert f"\n{operand['name']} : " in doc
    for bad in decl["bad_samples"]:
        assert bad["error"].split(":")[0] in doc


def test_docstrings_of_the_namespace() -> None:
    missing = [
        name
        for name in dir(ig)
        if callable(getattr(ig, name)) and not name.startswith("_") and not (getattr(ig, name).__doc__ or "").strip()
    ]
    assert missing == []
