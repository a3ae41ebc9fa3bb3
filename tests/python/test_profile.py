"""`ig.profile`: what is recorded, of what, with which lines; and that recording changes nothing."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import nn

X = ig.reshape(ig.arange(96 * 64, dtype=ig.float32), (96, 64)) / 1000


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = ig.get_num_threads()
    ig.set_num_threads(count)
    try:
        yield
    finally:
        ig.set_num_threads(before)


def compiled(f: Any, *args: Any) -> Any:
    return ig.jit(f).lower(*args).compile()


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(64, 32, key=ig.random.key(0))

    def forward(self, x: ig.Tensor) -> ig.Tensor:
        return ig.relu(self.up(x))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: ig.Tensor) -> ig.Tensor:
        return ig.sum(self.block(x), axis=0)


def test_kernels_of_a_model_have_their_modules_lines_and_work() -> None:
    f = compiled(Model(), X)
    with ig.profile() as p:
        for _ in range(3):
            f(X)
    (call,) = p.calls
    assert (call["program"], call["calls"]) == ("Model", 3)
    assert {k["kind"] for k in p.kernels} == {"kernel"}
    (product,) = (k for k in p.kernels if k["flops"])
    assert product["ops"].startswith("dot_general")
    assert product["flops"] == 3 * 2 * 96 * 64 * 32
    assert product["calls"] == 3
    assert product["module"].startswith("block")
    assert any("in Block.forward:  return ig.relu(self.up(x))" in line for line in product["lines"])
    (total,) = (k for k in p.kernels if k["result"] == "f32[32]")
    assert total["line"].startswith(f"{__file__}:")
    assert "in Model.forward:  return ig.sum(self.block(x), axis=0)" in total["line"]
    # Each kernel is within the call, and what a call took is at least what its kernels took.
    assert sum(k["total_ns"] for k in p.kernels) <= call["total_ns"] <= p.milliseconds * 1e6
    for k in p.kernels:
        assert 0 < k["least_ns"] * k["calls"] <= k["total_ns"]
    assert p.by("program") == {"Model": sum(k["total_ns"] for k in p.kernels)}
    assert set(p.by("module")) == {k["module"] for k in p.kernels}
    assert list(p.by("op").values()) == sorted(p.by("op").values(), reverse=True)
    assert sum(p.by("line").values()) == sum(p.by("op").values())


def test_bytes_are_those_that_are_read_and_written() -> None:
    f = compiled(lambda x, y: x * y + 1, X, X)
    with ig.profile() as p:
        f(X, X)
        f(X, X)
    (kernel,) = p.kernels
    assert kernel["ops"] == "multiply add"
    assert kernel["bytes"] == 2 * 3 * X.nbytes
    assert kernel["result"] == "f32[96, 64]"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_recording_changes_no_bit(count: int) -> None:
    def program(x: ig.Tensor) -> tuple[ig.Tensor, ...]:
        y = ig.softmax(x @ x.T)
        s, ys = ig.scan(lambda c, row: (ig.tanh(c + row), ig.sum(row)), x[0], x)
        return y, s, ys, ig.sort(x, axis=0), ig.cond(s[0] > 0, lambda: s, lambda: -s)

    with threads(count):
        small = compiled(lambda x: x[0, 0] + 1, X)
        for f in (program, compiled(program, X), small):
            plain = ig.tree.leaves(f(X))
            with ig.profile():
                recorded = ig.tree.leaves(f(X))
            for a, b in zip(plain, recorded, strict=True):
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_work_that_is_shared_tells_all_threads() -> None:
    x = ig.ones((600, 600))
    f = compiled(lambda x: x @ x, x)
    with threads(2), ig.profile() as p:
        for _ in range(5):
            f(x)
    (kernel,) = (k for k in p.kernels if k["flops"])
    assert 0 < kernel["busy_ns"] <= 2 * kernel["total_ns"]
    events = [e for e in json.loads(p.chrome_trace())["traceEvents"] if e["ph"] == "X"]
    lanes = {e["tid"] for e in events}
    assert 1 <= len(lanes) <= 2  # a worker that comes too late has done nothing


def test_eager_ops_are_told_with_all_that_they_took() -> None:
    x = ig.asarray(np.ones((8, 8), np.float32))
    ig.softmax(x * 2)  # so that nothing is compiled below
    with ig.profile() as p:
        for _ in range(4):
            y = x * 2
            ig.softmax(y)
        x + y
        x + y
    told = {(k["ops"], k["calls"]): k for k in p.kernels}
    assert sorted(told) == [("add", 1), ("multiply", 4), ("softmax", 4)]
    assert [k["calls"] for k in p.kernels if k["ops"] == "add"] == [1, 1]  # two lines
    assert {k["kind"] for k in p.kernels} == {"op"}
    assert "y = x * 2" in told[("multiply", 4)]["line"]
    assert told[("multiply", 4)]["result"] == "f32[8, 8]"
    assert told[("multiply", 4)]["bytes"] == 4 * (2 * 256 + 4)  # an array, a number, an array
    assert not p.calls


def test_the_same_line_is_told_by_result_type() -> None:
    with ig.profile() as p:
        for n in (2, 3, 3):
            ig.ones(n) + 1
    assert sorted((k["result"], k["calls"]) for k in p.kernels if k["ops"] == "add") == [("f32[2]", 1), ("f32[3]", 2)]


def test_first_calls_have_the_lines_of_the_function() -> None:
    program = """if True:
        import intaglio as ig
        x = ig.ones((8, 8))
        @ig.jit
        def f(x):
            return ig.tanh(x) + 3
        with ig.profile() as p:
            f(x)
        for k in p.kernels:
            print(k["kind"], k["ops"], k["line"].split(" ")[2].rstrip(":"))
        print("capture" in {phase["name"] for phase in p.phases})
    """
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "INTAGLIO_OP_BY_OP": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.split("\n")[:-1]
    assert {"op tanh f", "op add f", "True"} <= set(lines)
    assert all(line.endswith(" f") for line in lines[:-1])


def test_compiling_is_told_by_phases() -> None:
    with ig.profile() as p:
        compiled(lambda x: ig.tanh(x) @ x.T, X)
    assert {"capture", "passes", "lower", "machine code", "plan"} <= {phase["name"] for phase in p.phases}
    assert {phase["program"] for phase in p.phases} == {"<lambda>"}
    assert not p.kernels


def test_loops_tell_the_kernels_of_their_steps() -> None:
    def program(x: ig.Tensor) -> ig.Tensor:
        return ig.fori_loop(0, 7, lambda i, c: ig.tanh(c @ c.T @ c) / 64, x)

    f = compiled(program, X)
    with ig.profile() as p:
        f(X)
    products = [k for k in p.kernels if k["flops"]]
    assert [k["calls"] for k in products] == [7, 7]
    assert sum(k["flops"] for k in products) == 7 * 2 * 2 * 96 * 96 * 64
    # What only prepares an operand is told apart, and multiplies nothing.
    for k in p.kernels:
        if k["name"] == "pack":
            assert k["ops"].startswith("for dot_general")
            assert k["flops"] == 0


def test_convolutions_count_their_taps() -> None:
    x, w = ig.ones((2, 6, 9, 9)), ig.ones((4, 3, 3, 3))
    f = compiled(lambda x, w: ig.conv(x, w, groups=2, stride=2, padding=1), x, w)
    with ig.profile() as p:
        f(x, w)
    assert sum(k["flops"] for k in p.kernels) == 2 * (2 * 4 * 5 * 5) * (3 * 3 * 3)


def test_calls_of_python_are_told() -> None:
    f = compiled(lambda x: ig.pure_callback(lambda a: a + 1, x, x) * 2, X)
    with ig.profile() as p:
        f(X)
    (host,) = (k for k in p.kernels if k["kind"] == "host")
    assert host["ops"] == "pure_callback"
    assert "pure_callback" in host["line"]


def test_the_timeline() -> None:
    f = compiled(Model(), X)
    with ig.profile() as p:
        f(X)
        f(X)
    trace = json.loads(p.chrome_trace())
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    calls = [e for e in events if e["cat"] == "call"]
    kernels = [e for e in events if e["cat"] == "kernel" and e["tid"] == calls[0]["tid"]]
    assert len(calls) == 2
    assert len(kernels) == 2 * len(p.kernels)
    for kernel in kernels:
        assert any(
            call["ts"] - 0.002 <= kernel["ts"] and kernel["ts"] + kernel["dur"] <= call["ts"] + call["dur"] + 0.002
            for call in calls
        )
        assert kernel["args"]["line"].startswith(f"{__file__}:")
    names = {e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert any(name.startswith("caller ") for name in names)


def test_a_long_timeline_is_cut_and_says_so(tmp_path: Path) -> None:
    with ig.profile(max_events=5) as p:
        for _ in range(20):
            X + 1
    p.save(tmp_path / "cut.json")
    trace = json.loads((tmp_path / "cut.json").read_text(encoding="utf-8"))
    assert len([e for e in trace["traceEvents"] if e["ph"] == "X"]) == 5
    assert trace["otherData"]["spans_left_out"] >= 15
    assert sum(k["calls"] for k in p.kernels if k["ops"] == "add") == 20


def test_text_of_any_kind_is_json() -> None:
    f = ig.trace(lambda x: x + 1, X).graph
    f.name = 'a "name"\twith\\ all é'
    f = f.compile()
    with ig.profile() as p:
        f(X)
    assert p.calls[0]["program"] == f.name
    assert f.name in {e["name"] for e in json.loads(p.chrome_trace())["traceEvents"]}


def test_all_threads_are_recorded() -> None:
    f = compiled(lambda x: ig.tanh(x) * 2, X)

    def work() -> None:
        for _ in range(50):
            f(X)

    with ig.profile() as p:
        workers = [threading.Thread(target=work) for _ in range(4)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
    assert p.calls[0]["calls"] == 200
    assert sum(k["calls"] for k in p.kernels) == 200 * len(p.kernels)


def test_one_that_runs_on_while_recordings_come_and_go() -> None:
    f = compiled(lambda x: ig.tanh(x) * 2, X)
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            f(X)
            X + 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(200):
            with ig.profile(max_events=10) as p:
                pass
            assert all(k["calls"] > 0 for k in p.kernels)
    finally:
        done.set()
        worker.join()


def test_a_profile_outlives_its_programs() -> None:
    def record() -> Any:
        f = compiled(lambda x: ig.tanh(x) * 3, X)
        with ig.profile() as p:
            f(X)
            del f
            gc.collect()
        return p

    p = record()
    gc.collect()
    assert "lambda x: ig.tanh(x) * 3" in p.kernels[0]["line"]


def test_nothing_is_recorded_outside() -> None:
    f = compiled(lambda x: ig.tanh(x) * 3, X)
    with ig.profile() as p:
        pass
    f(X)
    X + 1
    assert not p.kernels
    assert not p.calls
    assert str(p).endswith(": 0 ns in kernels and ops; 0 calls of 0 programs\n")

    def again() -> None:
        with p:  # from the beginning
            f(X)
            raise KeyError

    with pytest.raises(KeyError):
        again()
    assert p.calls[0]["calls"] == 1
    with ig.profile():  # the block has ended by the error
        pass


def test_the_table() -> None:
    f = compiled(Model(), X)
    with ig.profile() as p:
        f(X)
    lines = str(p).splitlines()
    assert "in kernels and ops" in lines[0]
    assert lines[0].endswith("; 1 call of 1 program")
    assert lines[1].split() == ["total", "share", "calls", "mean", "threads", "GB/s", "GFLOP/s", "kernel", "or", "op"]
    assert sum("contraction: dot_general" in line for line in lines) == 1
    assert sum("return ig.sum(self.block(x), axis=0)" in line for line in lines) == 1
    if len(p.kernels) > 1:
        assert f"{len(p.kernels) - 1} more" in p.str(most=1)
    one, other = compiled(lambda x: x + 1, X), compiled(lambda x: x * 2, X)  # of one name
    with ig.profile() as p:
        one(X)
        other(X)
    assert str(p).splitlines()[0].endswith("; 2 calls of 2 programs")
    with ig.profile() as p:
        assert str(p) == "a profile that is still recording\n"
        assert repr(p) == "<Profile: recording>"
    assert repr(ig.profile()) == "<Profile: empty>"


def test_a_child_process_records_for_itself() -> None:
    read, write = os.pipe()
    with ig.profile() as p:
        child = os.fork()
        if child == 0:
            X + 1
            p.__exit__(None, None, None)
            os.write(write, b"%d" % sum(k["calls"] for k in p.kernels))
            os._exit(0)
        os.waitpid(child, 0)
    assert os.read(read, 8) == b"1"
    assert not p.kernels


def test_every_error() -> None:
    p = ig.profile()
    with ig.profile() as done:
        X + 1
    texts = {"nothing recorded": refusal(lambda: p.kernels, __file__)}
    with p:
        texts["still recording"] = refusal(lambda: p.by("op"), __file__)
        texts["another one"] = refusal(lambda: ig.profile().__enter__(), __file__)
        texts["entered twice"] = refusal(lambda: p.__enter__(), __file__)
    texts["negative"] = refusal(lambda: ig.profile(max_events=-1), __file__)
    texts["no whole number"] = refusal(lambda: ig.profile(max_events=2.5), __file__)  # type: ignore[arg-type]
    texts["lines"] = refusal(lambda: done.str(most="all"), __file__)  # type: ignore[arg-type]
    texts["by what"] = refusal(lambda: done.by("colour"), __file__)
    texts["by a number"] = refusal(lambda: done.by(3), __file__)  # type: ignore[arg-type]
    assert done.str(most=10**30) == str(done)
    check_texts(texts, Path(__file__).with_name("profile_errors.txt"))
