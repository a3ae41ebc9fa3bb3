"""Programs that are made in the background while calls go on without them: no call waits, the bits are the same before
and after, and forks, threads, the end of the process and functions that are dropped find it in order."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import intaglio as ig

PROLOGUE = """
import gc, os, sys, threading, numpy as np, intaglio as ig
rng = np.random.default_rng(0)
def array(*shape, dtype="float32"): return ig.asarray(rng.standard_normal(shape).astype(dtype))
def kernels(): return ig.cache.info().entries
def long(x, own=0.0, steps=130):
    for step in range(steps):
        x = ig.tanh(x * (1 + step / 1000) + (step + own))
    return x
def bits(x): return np.asarray(x).tobytes()
"""


def run(program: str, folder: Path, code: int = 0) -> str:
    environment = {
        **os.environ,
        "INTAGLIO_OP_BY_OP": "1",
        "INTAGLIO_CACHE": "1",
        "INTAGLIO_CACHE_DIR": str(folder / "cache"),
    }
    file = folder / "program.py"
    file.write_text(PROLOGUE + textwrap.dedent(program))
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout


def test_no_call_waits_and_the_bits_stay(tmp_path: Path) -> None:
    program = """
        f, x = ig.jit(long), array(6, 7)
        found = [bits(f(x))]
        ig.block_until_compiled()
        print(kernels())  # who calls it once has nothing compiled
        found.append(bits(f(x)))
        ig.block_until_compiled()
        print(kernels() > 0)
        found.append(bits(f(x)))
        print(len(set(found)), found[0] == bits(long(x)))
    """
    assert run(program, tmp_path) == "0\nTrue\n1 True\n"


def test_what_holds_its_weights_is_made_from_the_second_call_on(tmp_path: Path) -> None:
    program = """
        w, x = array(2048, 2048) / 50, array(3, 2048)
        f = ig.trace(lambda x: ig.relu(x @ w) @ w, x, lift=False)
        found = [bits(f(x))]
        for _ in range(2):
            ig.block_until_compiled()
            print(kernels() > 0)
            found.append(bits(f(x)))
        print(len(set(found)))
    """
    assert run(program, tmp_path) == "False\nTrue\n1\n"


@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "os._exit(0)", "del f; gc.collect()", "f.lower(x).compile()"])
def test_a_process_may_end_while_it_compiles(ending: str, tmp_path: Path) -> None:
    program = f"""
        f, x = ig.jit(long), array(6, 7)
        f(x), f(x)
        print("called", flush=True)
        {ending}
    """
    assert run(program, tmp_path) == "called\n"


def test_forks_and_threads(tmp_path: Path) -> None:
    program = """
        f, x = ig.jit(long), array(6, 7)
        want = bits(f(x))
        f(x)
        children = []
        for trial in range(4):
            pid = os.fork()
            if pid == 0:
                good = bits(f(x)) == want
                ig.block_until_compiled()
                os._exit(0 if good and bits(f(x)) == want else 1)
            children.append(pid)
        wrong = []
        def call():
            for _ in range(30):
                if bits(f(x)) != want:
                    wrong.append(1)
        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(wrong, [os.waitpid(pid, 0)[1] for pid in children])
    """
    assert run(program, tmp_path) == "[] [0, 0, 0, 0]\n"


def test_ops_that_are_written_in_python(tmp_path: Path) -> None:
    """The compiler asks for their bodies, and needs the interpreter, which may be forking, dropping the function or
    ending meanwhile."""
    program = """
        swish = ig.register_op("swish_of_mine", body=lambda x: x * ig.sigmoid(x))
        def longer(x):
            for step in range(130):
                x = swish(x) + step
            return x
        x = array(6, 7)
        for trial in range(6):
            f = ig.jit(longer)
            want = bits(f(x))
            f(x)
            if trial % 3 == 0:
                pid = os.fork()
                if pid == 0:
                    os._exit(0 if bits(f(x)) == want else 1)
                print(os.waitpid(pid, 0)[1], end=" ")
            if trial % 3 == 1:
                ig.block_until_compiled()
            assert bits(f(x)) == want
            del f
        print("done")
    """
    assert run(program, tmp_path) == "0 0 done\n"


def test_it_waits_for_nothing_where_nothing_is_made() -> None:
    assert ig.block_until_compiled() is None
