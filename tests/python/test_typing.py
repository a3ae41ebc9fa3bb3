"""The stubs: a typed program passes mypy, wrong ones are refused, and the stubs name what the package has."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import intaglio as ig

HERE = Path(__file__).resolve().parent / "typed"


def mypy(file: str, cache: Path) -> list[str]:
    # The installed package is checked, so from a folder that has no other of the name.
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--no-error-summary",
        "--no-pretty",
        f"--cache-dir={cache}",
        str(HERE / file),
    ]
    run = subprocess.run(command, cwd=cache, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return run.stdout.splitlines()


def test_typed_program(tmp_path: Path) -> None:
    assert mypy("program.py", tmp_path) == []


def test_wrong_programs(tmp_path: Path) -> None:
    lines = mypy("wrong.py", tmp_path)
    found = {int(m[1]) for line in lines if (m := re.match(r".*wrong\.py:(\d+): error:", line))}
    source = (HERE / "wrong.py").read_text().splitlines()
    assert found == {i + 1 for i, line in enumerate(source) if "  # " in line}, "\n".join(lines)


def test_stub_names_the_namespace() -> None:
    stub = (Path(ig.__file__).parent / "__init__.pyi").read_text()
    for name in dir(ig):
        if not name.startswith("_") and name not in ("annotations",):
            assert re.search(rf"(def {name}\(|as {name}\b|^{name}: )", stub, re.M), name
