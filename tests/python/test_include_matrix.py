# Holds the include graph of src/ to tests/include_matrix.txt, and LLVM's headers to their one folder.
from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def read_matrix() -> dict[str, set[str]]:
    matrix = {}
    for line in (ROOT / "tests" / "include_matrix.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            folder, allowed = line.split(":")
            matrix[folder.strip()] = set(allowed.split())
    return matrix


def sources() -> list[Path]:
    return sorted(p for p in SRC.rglob("*") if p.suffix in (".h", ".cpp"))


def violations(path: Path, text: str, matrix: dict[str, set[str]]) -> list[str]:
    """The includes of a file (by its path below src/) that the matrix or the LLVM rule forbids."""
    folder = path.parts[0]
    if folder not in matrix:
        return [f"src/{path}: the folder {folder} is not in tests/include_matrix.txt"]
    found = []
    for quote, header in INCLUDE.findall(text):
        target = header.split("/")[0]
        if target in ("llvm", "llvm-c") and path.parts[:2] != ("codegen", "llvm"):
            found.append(f"src/{path}: {header} may be included in src/codegen/llvm/ only")
        if quote == "<":
            continue
        if target not in matrix and not header.startswith("intaglio/"):
            found.append(f'src/{path}: "{header}" is not a path from src/')
        elif target in matrix and target != folder:
            allowed = matrix[folder]
            if not allowed & {target, header, "*"}:
                found.append(f'src/{path}: {folder} may not include "{header}"')
    return found


def test_every_include_is_in_the_matrix() -> None:
    matrix = read_matrix()
    found = [v for p in sources() for v in violations(p.relative_to(SRC), p.read_text(), matrix)]
    assert not found, "\n".join(found)


def test_included_headers_exist() -> None:
    missing = [
        f'{p.relative_to(ROOT)}: "{header}"'
        for p in sources()
        for quote, header in INCLUDE.findall(p.read_text())
        if quote == '"' and not (SRC / header).exists() and not (ROOT / "include" / header).exists()
    ]
    assert not missing, "\n".join(missing)


def test_the_matrix_has_no_rings() -> None:
    folders = set(read_matrix())
    matrix = {folder: allowed & folders for folder, allowed in read_matrix().items()}
    del matrix["bindings"], matrix["tools"]  # on top of everything, each other included
    while matrix:
        leaves = [folder for folder, allowed in matrix.items() if not allowed & set(matrix)]
        assert leaves, f"these include each other: {sorted(matrix)}"
        for leaf in leaves:
            del matrix[leaf]


@pytest.mark.parametrize(
    ("path", "line", "allowed"),
    [
        ("ir/graph.cpp", '#include "support/error.h"', True),
        ("ir/graph.cpp", '#include "ops/table.h"', False),
        ("runtime/a.cpp", '#include "ir/graph.h"', False),
        ("codegen/a.cpp", '#include "runtime/kernel_abi.h"', True),
        ("codegen/a.cpp", '#include "runtime/thread_pool.h"', False),
        ("codegen/a.cpp", "#include <llvm/IR/Module.h>", False),
        ("codegen/llvm/a.cpp", "#include <llvm/IR/Module.h>", True),
        ("tools/main.cpp", '#include "plan/plan.h"', True),
        ("passes/a.cpp", '#include "sibling.h"', False),
        ("elsewhere/a.cpp", "", False),
    ],
)
def test_the_check_itself(path: str, line: str, allowed: bool) -> None:
    assert (violations(Path(path), line, read_matrix()) == []) == allowed
