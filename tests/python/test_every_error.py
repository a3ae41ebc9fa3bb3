"""Every error that is made anywhere says why and what to write instead: read off the sources. Faults of ours
(InternalError) excepted; what a helper returns, its callers complete."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def statements(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, kind and whole statement of each error that a C++ source makes."""
    # Quoted text may hold a semicolon; its length is kept.
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: '"' + "_" * (len(m.group()) - 2) + '"', text)
    for made in re.finditer(r"\b(?:make_error|Error)\(\s*ErrorKind::(\w+)", bare):
        yield bare.count("\n", 0, made.start()) + 1, made.group(1), bare[made.start() : bare.index(";", made.start())]


def test_cpp() -> None:
    lacking = []
    found = 0
    for path in sorted((ROOT / "src").rglob("*.cpp")) + sorted((ROOT / "src").rglob("*.h")):
        text = path.read_text()
        lines = text.splitlines()
        for line, kind, statement in statements(text):
            found += 1
            returned = "return" in lines[line - 1] or "auto" in lines[line - 1]
            whole = ".why(" in statement and ".hint(" in statement
            if kind != "Internal" and not whole and not returned:
                lacking.append(f"{path.relative_to(ROOT)}:{line}")
    assert found > 200
    assert lacking == []


def test_python() -> None:
    lacking = []
    found = 0
    for path in sorted((ROOT / "python").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="_errors"), attr=name)) if name.endswith("Error"):
                    found += 1
                    if len(node.args) + len(node.keywords) != 4:
                        lacking.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found > 100
    assert lacking == []
