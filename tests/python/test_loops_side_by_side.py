"""Loops that need nothing of each other may run at once, each on a thread of its own: with the same bits, memory as
planned, and errors and effects as if one came after the other."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig

rng = np.random.default_rng(3)
RUNS = 100  # the first ones try both ways, and so does one now and then


def array(*shape: int) -> ig.Tensor:
    return ig.asarray((rng.standard_normal(shape) / 4).astype("float32"))


@pytest.fixture
def threads() -> Any:
    before = ig.get_num_threads()
    yield ig.set_num_threads
    ig.set_num_threads(before)


def recurrent(x: Any, w: Any, reverse: bool = False) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = ig.tanh(row + h @ w)
        return h, h

    return ig.scan(step, ig.zeros(x.shape[1:]), x, reverse=reverse)[1]


def both_ways(x: Any, w: Any, v: Any) -> Any:
    return ig.concat([recurrent(x @ w, w), recurrent(x @ v, v, True)], axis=-1)


def bits(result: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in ig.tree.leaves(result)]


def check(function: Callable[..., Any], *operands: Any, set_threads: Any, beside: int) -> None:
    """So many of its steps may run at once; the bits are those of one thread in every run."""
    program = ig.trace(function, *operands, lift=False).graph.compile()
    assert program.report()["side_by_side"] == beside
    set_threads(1)
    want = bits(program(*operands))
    set_threads(2)
    for _ in range(RUNS):
        assert bits(program(*operands)) == want
    report = program.report()
    assert report["planned_peak"] == report["measured_peak"]


@pytest.mark.parametrize(("batch", "hidden"), [(1, 16), (3, 33), (8, 96), (16, 160)])
def test_both_directions_of_a_recurrence(batch: int, hidden: int, threads: Any) -> None:
    x, w, v = array(20, batch, hidden), array(hidden, hidden), array(hidden, hidden)
    check(both_ways, x, w, v, set_threads=threads, beside=2)


def test_its_gradient(threads: Any) -> None:
    def loss(w: Any, v: Any, x: Any) -> Any:
        return ig.sum(both_ways(x, w, v) ** 2)

    x, w, v = array(12, 4, 24), array(24, 24), array(24, 24)
    check(ig.value_and_grad(loss, argnums=(0, 1)), w, v, x, set_threads=threads, beside=2)


def test_three_and_what_follows_them(threads: Any) -> None:
    def three(x: Any, w: Any) -> Any:
        a, b = recurrent(x, w), recurrent(x * 2, w)
        c = recurrent(a + 1, w)  # waits for the first
        return a + c, b

    check(three, array(9, 2, 8), array(8, 8), set_threads=threads, beside=2)
    check(
        lambda x, w: [recurrent(x * k, w) for k in range(1, 4)],
        array(9, 2, 8),
        array(8, 8),
        set_threads=threads,
        beside=3,
    )


def test_of_any_size(threads: Any) -> None:
    dims = {"x": {0: ig.Dim("steps", 0, 64), 1: ig.Dim("batch", 1, 64)}}
    w, v = array(24, 24), array(24, 24)
    graph = ig.trace(both_ways, array(5, 2, 24), w, v, dynamic_shapes=dims, lift=False).graph
    program = graph.compile()
    for steps, batch in ((5, 2), (0, 3), (31, 9), (1, 1)):
        x = array(steps, batch, 24)
        threads(1)
        want = bits(program(x, w, v))
        threads(2)
        for _ in range(20):
            assert bits(program(x, w, v)) == want


def test_loops_whose_end_is_not_known_stay_on_the_calling_thread() -> None:
    def until(x: Any) -> Any:
        return ig.while_loop(lambda x: ig.sum(x) < 100, lambda x: x + 1, x)

    program = ig.trace(lambda x: (until(x), until(x * 2)), array(4)).graph.compile()
    assert program.report()["side_by_side"] == 0


def test_effects_keep_their_order(capfd: pytest.CaptureFixture[str], threads: Any) -> None:
    def shown(x: Any, name: str) -> Any:
        def step(h: Any, row: Any) -> Any:
            ig.debug.print(name + " {}", row[0])
            return h + row, None

        return ig.scan(step, ig.zeros(x.shape[1:]), x)[0]

    x = ig.asarray(np.arange(6, dtype="float32").reshape(3, 2))
    program = ig.trace(lambda x: (shown(x, "a"), shown(x, "b")), x).graph.compile()
    assert program.report()["side_by_side"] == 0
    threads(2)
    for _ in range(12):
        program(x)
        assert capfd.readouterr().out.split("\n") == [f"{name} {row}" for name in "ab" for row in (0.0, 2.0, 4.0)] + [
            ""
        ]


def test_checks_are_told_in_order(threads: Any) -> None:
    def picked(x: Any, i: Any) -> Any:
        return ig.fori_loop(0, 3, lambda k, s: s + x[i + k], ig.zeros(()))

    x, inside, outside = array(8), ig.asarray(2), ig.asarray(7)

    def both(x: Any, i: Any, j: Any) -> Any:
        return picked(x, i), picked(x, j)

    assert ig.trace(both, x, inside, outside).graph.compile().report()["side_by_side"] == 0
    f = ig.jit(both)
    threads(2)
    for _ in range(20):
        f(x, inside, inside)
        with pytest.raises(ig.IndexError, match="the index"):
            f(x, inside, outside)


def test_donated_memory(threads: Any) -> None:
    w, v, data = array(16, 16), array(16, 16), rng.standard_normal((7, 2, 16)).astype("float32")
    f = ig.jit(lambda x, y: (recurrent(x, w), recurrent(y, v)), donate_argnums=(0, 1))
    threads(1)
    want = bits(f(ig.asarray(data.copy()), ig.asarray(data * 2)))
    threads(2)
    for _ in range(RUNS):
        assert bits(f(ig.asarray(data.copy()), ig.asarray(data * 2))) == want


def test_several_callers(threads: Any) -> None:
    x, w, v = array(20, 4, 48), array(48, 48), array(48, 48)
    f = ig.jit(both_ways)
    threads(2)
    want, wrong = bits(f(x, w, v)), []

    def call() -> None:
        for _ in range(60):
            if bits(f(x, w, v)) != want:
                wrong.append(1)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_a_profile_sees_each_step(threads: Any) -> None:
    x, w, v = array(20, 4, 48), array(48, 48), array(48, 48)
    program = ig.trace(both_ways, x, w, v, lift=False).graph.compile()
    threads(2)
    for _ in range(20):
        program(x, w, v)
    with ig.profile() as p:
        program(x, w, v)
    assert sum("tanh" in kernel["ops"] for kernel in p.kernels if kernel["ops"]) >= 2


def test_the_example() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "both_directions.py"
    lines = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["loops side by side", "threads 1", "threads 2", "the same bits"]
    assert (lines[0].split()[-1], lines[-1].split()[-1]) == ("2", "True")
