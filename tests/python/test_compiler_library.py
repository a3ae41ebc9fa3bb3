"""LLVM's library is opened when a kernel must be compiled, and not before; without it, what is prebuilt runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import intaglio as ig

PROLOGUE = """
import threading, numpy as np, intaglio as ig
rng = np.random.default_rng(0)
def array(*shape): return ig.asarray(rng.standard_normal(shape).astype("float32"))
def is_open(): return any("libintaglio_compiler" in line for line in open("/proc/self/maps"))
x, y, b = array(64, 48), array(48, 32), array(32)
softmax = ig.Graph.parse(
    "graph @g(%x: f32[n, m]) where n, m { %y = softmax(%x) {axis = 1} : f32[n, m] return %y }")
"""


def run(program: str, **env: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + textwrap.dedent(program)],
        env={**os.environ, "INTAGLIO_CACHE": "0", "INTAGLIO_OP_BY_OP": "1", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("first", ["ig.jit(lambda x, y: x @ y)", "ig.matmul", "ig.trace(ig.matmul, x, y).graph"])
def test_first_calls_of_prebuilt_kernels_do_not_open_it(first: str) -> None:
    program = """
    product = FIRST(x, y)
    assert np.allclose(np.asarray(product), np.asarray(x) @ np.asarray(y), rtol=1e-4, atol=1e-4)
    graph = softmax.compile()
    print(graph.report()["kernels_prebuilt"], ig.sum(graph(x)).shape, ig.linear(x, y.T, b).shape, is_open())
    """
    assert run(program.replace("FIRST", first)) == ["1 () (64, 32) False"]


def test_a_kernel_that_must_be_compiled_opens_it_and_so_does_reading_one() -> None:
    program = """
    print(is_open())
    graph = ig.trace(lambda x: ig.softmax(ig.sin(x) * 3.25), x).graph.compile()
    print(graph.report()["kernels_compiled"], is_open())
    """
    assert run(program) == ["False", "1 True"]
    program = """
    graph = softmax.compile()
    print(is_open(), "ret" in graph.assembly(), is_open())
    """
    assert run(program) == ["False True True"]


def test_two_threads_may_open_it_at_once() -> None:
    program = """
    barrier, out = threading.Barrier(4), {}
    def work(i):
        f = ig.jit(lambda x: ig.tanh(x * (i + 0.25)) - x)
        barrier.wait()
        out[i] = np.asarray(f(x))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(all(np.allclose(out[i], np.tanh(np.asarray(x) * (i + 0.25)) - np.asarray(x), atol=1e-5) for i in range(4)),
          is_open())
    """
    assert run(program, INTAGLIO_OP_BY_OP="0") == ["True True"]


def test_what_is_in_the_cache_does_not_open_it(tmp_path: Path) -> None:
    program = """
    graph = ig.trace(lambda x: ig.softmax(ig.sin(x) * 3.25), x).graph.compile()
    report = graph.report()
    print(report["kernels_compiled"], report["kernels_cached"], is_open(), float(ig.sum(graph(x))))
    """
    settings = {"INTAGLIO_CACHE": "1", "INTAGLIO_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (run(program, **settings)[0].split() for _ in range(2))
    assert first[:3] == ["1", "0", "True"]
    assert second[:3] == ["0", "1", "False"]
    assert first[3] == second[3]


# --- an installation without it


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of processes that import a copy of the package without the library."""
    folder = tmp_path_factory.mktemp("bare")
    source = Path(ig.__file__).parent
    shutil.copytree(
        source, folder / "intaglio", ignore=shutil.ignore_patterns("libintaglio_compiler.so", "__pycache__")
    )
    return {"PYTHONPATH": str(folder)}


def test_without_it_prebuilt_programs_run(bare: dict[str, str]) -> None:
    program = """
    product = ig.jit(lambda x, y: x @ y)(x, y)
    assert np.allclose(np.asarray(product), np.asarray(x) @ np.asarray(y), rtol=1e-4, atol=1e-4)
    print(ig.sum(ig.softmax(x)).shape, ig.exp(x).shape, softmax.compile()(x).shape, ig.compiler_available())
    """
    assert run(program, **bare) == ["() (64, 48) (64, 48) False"]


def test_without_it_other_programs_are_refused(bare: dict[str, str]) -> None:
    program = """
    for _ in range(2):
        try:
            ig.trace(lambda x: ig.softmax(ig.sin(x) * 3.25), x).graph.compile()
        except ig.UnsupportedError as error:
            print(error.what, error.why, error.hint, error.where[:9], sep="\\n")
    """
    path = f"{bare['PYTHONPATH']}/intaglio/libintaglio_compiler.so"
    text = [
        "this installation has no compiler",
        f"{path}: cannot open shared object file: No such file or directory",
        "install the whole package; without it run only what is prebuilt, and graphs, slowly, by graph.evaluate(...)",
        "<string>:",
    ]
    assert run(program, **bare) == [*text, *text]


def test_without_it_eager_calls_go_by_parts_or_by_definition(bare: dict[str, str]) -> None:
    program = """
    z = ig.asarray(np.asarray(x)[:3, :5].astype("float16"))
    print(np.array_equal(np.asarray(ig.erf(z)), np.asarray(ig.erf(z))), ig._counters()["fallbacks"] > 0)
    """
    assert run(program, **bare) == ["True True"]


def test_without_it_functions_go_on_op_by_op(bare: dict[str, str]) -> None:
    """However often they are called: no program takes over."""
    program = """
    import time

    x, y = array(256, 256), array(256, 256)
    f = ig.jit(lambda x, y, b: ig.tanh(ig.exp(x @ y * 0.01) - x) * 0.5)
    first, start = np.asarray(f(x, y, b)), time.perf_counter()
    while time.perf_counter() - start < 0.2:
        assert np.array_equal(np.asarray(f(x, y, b)), first)
    print(ig._counters()["fallbacks"])
    """
    assert run(program, **bare) == ["0"]


def test_without_it_composites_go_on_by_parts(bare: dict[str, str]) -> None:
    """Where the composite's own kernel is not at hand and those of its parts are."""
    program = """
    import time

    key, bound = ig.random.key(0), 0.7
    draw = lambda: np.asarray(ig.random.uniform(key, (512, 512), minval=-bound, maxval=bound))
    first, start, before = draw(), time.perf_counter(), ig._counters()["fallbacks"]
    while time.perf_counter() - start < 0.3:
        assert np.array_equal(draw(), first)
    print(ig._counters()["fallbacks"] - before)
    """
    assert run(program, **bare) == ["0"]


@pytest.mark.parametrize(("op_by_op", "by_definition"), [("0", 1), ("1", 0)])
def test_without_it_products_of_turned_arrays_use_prebuilt_ones(
    bare: dict[str, str], op_by_op: str, by_definition: int
) -> None:
    """At most the array is laid out by definition, where nothing may stand in for that."""
    program = """
    import time

    w, g = array(300, 256), array(300, 200)
    wanted, start, calls = np.asarray(w).T @ np.asarray(g), time.perf_counter(), 0
    while time.perf_counter() - start < 0.2:
        assert np.allclose(np.asarray(w.T @ g), wanted, rtol=1e-4, atol=1e-4)
        calls += 1
    counters = ig._counters()
    print(counters["fallbacks"] / calls, counters["runs"] >= calls)
    """
    assert run(program, **bare | {"INTAGLIO_OP_BY_OP": op_by_op}) == [f"{by_definition:.1f} True"]
