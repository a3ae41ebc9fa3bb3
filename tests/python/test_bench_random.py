"""The random programs of the benchmark: each step has its turn, compiled as op by op, and the benchmark writes them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import intaglio as ig

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import random_steps  # noqa: E402
from program_worker import IntaglioSpace  # noqa: E402


def test_each_step_is_compiled_as_op_by_op() -> None:
    space = IntaglioSpace(ig.get_num_threads())
    met: set[str] = set()
    for number in range(160):
        array, steps = random_steps.drawn(11, number, "small")
        if {name for name, _ in steps} <= met:
            continue
        x = ig.asarray(array)
        wanted, done = random_steps.run(space, x, steps)
        met.update(done)
        found = ig.jit(lambda x, steps=steps: random_steps.run(space, x, steps)[0]).lower(x).compile()(x)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.numpy(), wanted.numpy(), err_msg=f"program {number}: {done}")
    assert met == set(random_steps.STEPS)


@pytest.mark.parametrize("of", ["value", "gradient", "batch"])
def test_the_benchmark_writes_what_it_promises(tmp_path: Path, of: str) -> None:
    out = tmp_path / "random.json"
    command = [sys.executable, BENCH / "random_programs.py", "--alone", "--of", of]
    command += ["--seed", "3", "--only", "1,4", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(out.read_text())
    assert [row["number"] for row in told["programs"]] == [1, 4]
    assert all(row["intaglio"]["seconds"] > 0 for row in told["programs"])
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["#1", "#4"]
