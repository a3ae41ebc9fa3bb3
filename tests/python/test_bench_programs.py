"""The list of usual programs: each runs, compiled as op by op, and the benchmark of them writes what it promises."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from program_list import PROGRAMS, Program  # noqa: E402
from program_worker import IntaglioSpace  # noqa: E402


def parts_of(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_compiled_as_op_by_op(program: Program) -> None:
    space = IntaglioSpace(ig.get_num_threads())
    rng = np.random.default_rng(0)
    given = [ig.asarray(make(rng)) for make in program.make]
    compiled = parts_of(ig.jit(lambda *arrays: program.run(space, *arrays))(*given))
    single = parts_of(program.run(space, *given))
    assert len(compiled) == len(single)
    for a, b in zip(compiled, single, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        x, y = a.numpy(), b.numpy()
        assert np.isfinite(y).all()
        scale = np.abs(y).max(initial=0)
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4 * scale)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, BENCH / "programs.py", "--alone", "--rounds", "2", "--least", "1e-4", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_benchmark_writes_what_it_promises(tmp_path: Path) -> None:
    done = run("--only", "logaddexp,popcount", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "programs.json").read_text())["rows"]
    assert [(row["workload"], row["system"]) for row in rows] == [("logaddexp", "intaglio"), ("popcount", "intaglio")]
    assert all(row["low"] <= row["median"] <= row["high"] for row in rows)
    assert "| `popcount` |" in (tmp_path / "programs.md").read_text()
    ElementTree.parse(tmp_path / "programs.svg")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "nothing of the kind"), "no program has 'nothing of the kind' in its name"),
        (("--rounds", "1"), "--rounds must be at least 2"),
        (("--threads", "0"), "--threads must be at least 1"),
    ],
)
def test_wrong_options(arguments: tuple[str, ...], said: str) -> None:
    wrong = run(*arguments)
    assert wrong.returncode == 2
    assert said in wrong.stderr
