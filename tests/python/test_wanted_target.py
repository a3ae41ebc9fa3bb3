"""INTAGLIO_TARGET: no call gives a result by code that was not asked for; what cannot run is refused, eager or not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

import intaglio as ig

CALLS = {
    "elementwise": "x + 1",
    "product": "x @ x",
    "sum": "ig.sum(x)",
    "jitted": "ig.jit(lambda x: x + 1)(x)",
    "linalg": "ig.linalg.inv(x)",
}
SCRIPT = """
import sys
import numpy as np
import intaglio as ig
x = ig.asarray(np.eye(3, dtype=np.float32))
try:
    print(np.asarray({call}).tobytes().hex())
except ig.Error as error:
    print(error)
"""
CHOICES = """
  why: code is made for a level of the x86-64 ABI, or for the CPU this runs on
  hint: choose "x86-64-v2", "x86-64-v3", "x86-64-v4" or "native"
"""


def told(target: str, call: str) -> str:
    environment = {**os.environ, "INTAGLIO_TARGET": target}
    script = SCRIPT.format(call=CALLS[call])
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("target", ["z80", "x86-64-v1", "x86-64-v5", "x86-64-v40", "X86-64-V3"])
def test_no_target(target: str, call: str) -> None:
    text = told(target, call)
    assert text.startswith(f'INTAGLIO_TARGET: there is no target "{target}"\n')
    assert text.endswith(CHOICES)


def doctor() -> dict[str, object]:
    done = subprocess.run([f"{sys.prefix}/bin/intaglio", "doctor", "--json"], capture_output=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("call", CALLS)
def test_every_level_runs_or_is_refused(call: str) -> None:
    report = doctor()
    runs_here = report["targets that run here"]
    assert isinstance(runs_here, list)
    for target in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "native"):
        text = told(target, call)
        if target in runs_here:
            assert bytes.fromhex(text.strip())
            continue
        assert text == (
            f"INTAGLIO_TARGET asks for {target}, which this machine cannot run\n  at: <string>:7 in <module>\n"
            f"  why: its CPU ({report['processor']}) lacks instructions of that level\n"
            "  hint: unset INTAGLIO_TARGET, or choose a lower level\n"
        )


def test_a_program_for_no_target() -> None:
    graph = ig.trace(lambda x: x + 1, ig.ones(3)).graph
    with pytest.raises(ig.UnsupportedError) as refused:
        graph.compile(target="z80")
    what, at, *rest = str(refused.value).splitlines()
    assert what == 'there is no target "z80"'
    assert at.endswith(':  graph.compile(target="z80")')
    assert rest == CHOICES.strip("\n").splitlines()


def test_no_bytes_are_shuffled_by_instructions_of_the_old_encoding() -> None:
    """AMD's SSE4a, which LLVM takes for rows of three bytes, stands still between instructions of AVX."""
    x = ig.ones((1000, 3), dtype=ig.uint8)
    text = ig.trace(lambda x: ig.astype(ig.tile(x, (2,)), ig.float32), x).graph.compile().assembly()
    assert "cvt" in text
    assert not re.search(r"\b(insertq|extrq)\b", text)
