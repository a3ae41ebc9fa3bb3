"""What depends on constants and on arrays that stay is computed once: always of the arrays of the call."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig

rng = np.random.default_rng(7)


def random(*shape: int, dtype: Any = np.float32) -> ig.Tensor:
    return ig.asarray(rng.standard_normal(shape).astype(dtype))


def once(f: Any) -> list[str]:
    """The ops whose results are kept, of the last trace."""
    return [line.split(" ")[0] for line in ig.explain(f)["entries"][-1]["computed_once"]]


class Rotary:
    """Pairs of features turned by angles that a table holds."""

    def __init__(self, length: int, half: int, dtype: Any = np.float32) -> None:
        self.angles = random(length, half, dtype=dtype)

    def __call__(self, x: Any) -> Any:
        a, b = ig.split(x, 2, axis=-1)
        cos, sin = ig.cos(self.angles * 2), ig.sin(self.angles * 2)
        return ig.concat([a * cos - b * sin, a * sin + b * cos], axis=-1)


class Normed:
    """A layer whose weights are normed by columns."""

    def __init__(self) -> None:
        self.weight = random(48, 40)
        self.scale = random(40)

    def __call__(self, x: Any) -> Any:
        w = self.weight
        return x @ (w * (self.scale / ig.sqrt(ig.sum(w * w, axis=0))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 64, 32), (64, 32), (1, 33, 34), (2, 512, 128)])
def test_a_table_of_angles(shape: tuple[int, ...], dtype: Any) -> None:
    turn = Rotary(shape[-2], shape[-1] // 2, dtype)
    f = ig.jit(lambda x: turn(x))
    for _ in range(3):
        x = random(*shape, dtype=dtype)
        np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(turn(x)))
    assert once(f) == ["cosine", "sine"]
    assert "computed once, not in each call: cosine" in str(ig.explain(f))
    size = turn.angles.size * np.dtype(dtype).itemsize
    assert ig.explain(f)["entries"][0]["computed_bytes"] == 2 * size
    assert "cosine" not in str(ig.explain(f).fusion)


def test_weights_that_are_normed_are_laid_out_once() -> None:
    layer = Normed()
    f = ig.jit(lambda x: layer(x))
    for rows in (16, 16, 16):
        x = random(rows, 48)
        np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(layer(x)))
    (entry,) = ig.explain(f)["entries"]
    assert once(f) == ["multiply"]
    assert len(ig.explain(f).fusion.kernels) == 1
    # Only the product reads them, in its own form: they are not kept beside that.
    assert entry["computed_bytes"] == 0
    assert entry["prepared_bytes"] >= 48 * 40 * 4


def test_another_array_in_its_place_is_found() -> None:
    layer, turn = Normed(), Rotary(16, 24)
    f = ig.jit(lambda x: layer(turn(x)))
    x = random(16, 48)

    def check() -> None:
        np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(layer(turn(x))))

    check()
    layer.scale = random(40)
    check()
    turn.angles = random(16, 24)
    check()
    layer.weight += 1
    check()
    turn.angles *= 2
    check()
    first = layer.weight
    for _ in range(40):  # as often as it takes to run without
        layer.weight = random(48, 40)
        check()
    layer.weight = first
    check()
    assert len(ig.explain(f)["entries"]) == 1


def test_memory_of_another_library_is_read_anew() -> None:
    memory = rng.standard_normal((64, 48), dtype=np.float32)
    table = ig.from_dlpack(memory)
    f = ig.jit(lambda x: x * ig.cos(table))
    x = random(64, 48)
    for factor in (1, 3, -2):
        memory *= factor
        np.testing.assert_allclose(np.asarray(f(x)), np.asarray(x) * np.cos(memory), rtol=1e-5, atol=1e-5)
    assert once(f) == []

    turn = Rotary(64, 24)
    g = ig.jit(lambda x: turn(x))
    g(x)
    turn.angles = ig.from_dlpack(np.ascontiguousarray(memory[:, :24]))
    np.testing.assert_array_equal(np.asarray(g(x)), np.asarray(turn(x)))
    again = np.ascontiguousarray(memory[:, :24])
    turn.angles = ig.from_dlpack(again)
    for _ in range(3):
        again += 1
        np.testing.assert_array_equal(np.asarray(g(x)), np.asarray(turn(x)))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_numpy_array_that_is_written_to_is_seen(order: str) -> None:
    table = np.asarray(rng.standard_normal((64, 48)).astype(np.float32), order=order)  # type: ignore[call-overload]
    f = ig.jit(lambda x: (x * ig.cos(table)).mT @ table)
    x = random(64, 48)

    def check() -> None:
        expected = (np.asarray(x) * np.cos(table)).T @ table
        np.testing.assert_allclose(np.asarray(f(x)), expected, rtol=1e-4, atol=1e-4)

    for _ in range(3):
        check()
    (entry,) = ig.explain(f)["entries"]
    assert once(f) == ["cosine"]
    assert entry["prepared_bytes"] > 0
    for _ in range(2):
        table += 1
        check()
        check()
    table[3, 5] = np.nan
    assert np.isnan(np.asarray(f(x))[:, 5]).all()
    table[3, 5] = 0.0
    check()
    table[3, 5] = -0.0
    check()
    for _ in range(40):  # as often as it takes to run without
        table += 0.1
        check()
    assert len(ig.explain(f)["entries"]) == 1


def test_a_numpy_array_whose_place_another_one_takes() -> None:
    class Holder:
        table = np.linspace(0, 1, 48 * 64, dtype=np.float32).reshape(64, 48)

    holder = Holder()
    f = ig.jit(lambda x: x * ig.cos(holder.table))
    x = random(64, 48)
    f(x)
    for table in (holder.table * 2, holder.table.astype(np.float64), holder.table[:1], holder.table[:, ::-1]):
        holder.table = table
        for _ in range(2):
            expected = np.asarray(x * ig.cos(ig.asarray(table)))
            np.testing.assert_array_equal(np.asarray(f(x)), expected)


def test_arrays_that_are_trained_or_written_are_not_kept() -> None:
    turn = Rotary(64, 24)

    def step(x: Any) -> Any:
        y = turn(x)
        turn.angles = turn.angles * 0.5
        return y

    f, x = ig.jit(step), random(64, 48)
    for _ in range(3):
        before = turn(x)
        np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(before))
    assert once(f) == []

    tuned = Rotary(64, 24)
    tuned.angles.requires_grad = True
    g = ig.jit(lambda x: tuned(x))
    ig.sum(g(x)).backward()
    assert tuned.angles.grad is not None
    assert once(g) == []


def test_a_donated_array_that_something_was_computed_of() -> None:
    turn = Rotary(64, 24)
    f, x = ig.jit(lambda x: turn(x)), random(64, 48)
    f(x)
    turn.angles = ig.jit(lambda w: w * 2, donate_argnums=0)(turn.angles)
    np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(turn(x)))


def test_what_is_computed_once_may_be_a_result() -> None:
    table = random(64, 48)
    f = ig.jit(lambda x: (ig.cos(table), x + ig.cos(table), ig.reshape(ig.cos(table), (48, 64))))
    x = random(64, 48)
    c = np.asarray(ig.cos(table))
    for _ in range(3):
        first, second, third = f(x)
        np.testing.assert_array_equal(np.asarray(first), c)
        np.testing.assert_array_equal(np.asarray(second), np.asarray(x + ig.cos(table)))
        np.testing.assert_array_equal(np.asarray(third), c.reshape(48, 64))
        first += 1  # a value of the caller's own
    assert once(f) == ["cosine"]


def test_gathered_biases_loops_and_gradients() -> None:
    table, places = random(500, 8), ig.asarray(rng.integers(0, 500, (32, 32)))

    def scores(x: Any) -> Any:
        bias = ig.permute_dims(ig.exp(table)[places], (2, 0, 1))
        return ig.softmax(x + bias, axis=-1)

    f, x = ig.jit(scores), random(8, 32, 32)
    np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(scores(x)))
    assert "gather" in once(f)

    gradient = ig.grad(lambda x: ig.sum(scores(x) ** 2))
    g = ig.jit(gradient)
    np.testing.assert_array_equal(np.asarray(g(x)), np.asarray(gradient(x)))
    assert "gather" in once(g)

    cell = random(24, 24)

    def recurrence(x: Any) -> Any:
        return ig.scan(lambda c, x: ((c := ig.tanh(x + c @ ig.tanh(cell))), c), ig.zeros(24), x)[1]

    h, x = ig.jit(recurrence), random(12, 24)
    np.testing.assert_allclose(np.asarray(h(x)), np.asarray(recurrence(x)), rtol=1e-5, atol=1e-6)
    assert once(h) == ["tanh"]


def test_sizes_that_vary_and_empty_arrays() -> None:
    table = random(64, 48)
    f = ig.jit(lambda x: x * ig.cos(table))
    for n in (3, 5, 7, 0, 9, 1):
        x = random(n, 64, 48)
        np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(x * ig.cos(table)))
    assert once(f) == ["cosine"]

    nothing = random(0, 48)
    g = ig.jit(lambda x: x * ig.cos(nothing))
    assert g(random(0, 48)).shape == (0, 48)


def test_what_would_take_more_memory_than_it_may_stays() -> None:
    """No more than constants and weights take, or 16 MiB."""
    rows, columns = random(3000, 1), random(1, 3000)
    f = ig.jit(lambda x: x * ig.cos(rows * columns))
    x = random(3000, 3000)
    np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(x * ig.cos(rows * columns)))
    assert once(f) == []
    g = ig.jit(lambda x: x[:1000, :1000] * ig.cos(rows[:1000] * columns[:, :1000]))
    g(x)
    assert once(g) == ["cosine"]


def test_threads_that_call_while_an_array_changes() -> None:
    turn = Rotary(64, 24)
    tables = [random(64, 24) for _ in range(3)]
    f, x = ig.jit(lambda x: turn(x)), random(64, 48)
    expected = []
    for turn.angles in tables:
        expected.append(np.asarray(turn(x)))
    f(x)
    wrong = []

    def call() -> None:
        for _ in range(200):
            y = np.asarray(f(x))
            if not any(np.array_equal(y, one) for one in expected):
                wrong.append(y)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(60):
        turn.angles = tables[i % 3]
    for thread in threads:
        thread.join()
    assert not wrong


GRAPH = """graph @main(%x: f32[64, 128]) {
  %i = iota() {shape = <64, 128>, axis = 0, dtype = f32} : f32[64, 128]
  %s = sine(%i) : f32[64, 128]
  %y = multiply(%x, %s) : f32[64, 128]
  return %y
}
"""


@pytest.mark.parametrize("options", [{}, {"exact": True}, {"target": "x86-64-v2"}, {"fast_math": True}])
def test_functions_of_constants_become_constants(options: dict[str, Any]) -> None:
    graph = ig.Graph.parse(GRAPH)
    program = graph.compile(**options)
    x = random(64, 128)
    (y,) = program(x) if isinstance(program(x), (list, tuple)) else (program(x),)
    table = np.sin(np.arange(64, dtype=np.float32))[:, None]
    np.testing.assert_allclose(np.asarray(y), np.asarray(x) * table, rtol=1e-5, atol=1e-6)
    report = program.report()
    assert report["kernels"] == 1
    assert [line.split(" ")[0] for line in report["computed_once"]] == ["sine"]
    assert report["constant_bytes"] >= 64 * 128 * 4
    without = graph.compile(disable=["compute-once"], **options)
    (z,) = without(x) if isinstance(without(x), (list, tuple)) else (without(x),)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(z))
    assert without.report()["computed_once"] == []


def test_the_example() -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "rotary.py"), run_name="__main__")


def test_a_second_process_that_finds_kernels_on_disk(tmp_path: Any) -> None:
    program = (
        "import intaglio as ig, numpy as np\n"
        "table = ig.asarray(np.linspace(0, 9, 64 * 48, dtype='float32').reshape(64, 48))\n"
        "f = ig.jit(lambda x: ig.sum(x * ig.cos(table), axis=-1))\n"
        "x = ig.ones((64, 48))\n"
        "for _ in range(3): y = f(x); ig.block_until_compiled()\n"
        "print(np.asarray(y).tobytes().hex())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "INTAGLIO_CACHE": "1", "INTAGLIO_CACHE_DIR": str(tmp_path), "INTAGLIO_OP_BY_OP": ways},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for ways in ("0", "1", "0")
    }
    assert len(outputs) == 1


def test_a_node_that_reads_what_is_no_input() -> None:
    text = """graph @main(%x: f32[4]) {
  %y = negate(%x) : f32[4]
  %z = once(%y) : f32[4] {
    ^(%a: f32[4]) {
      %b = sine(%a) : f32[4]
      return %b
    }
  }
  return %z
}
"""
    with pytest.raises(ig.Error) as error:
        ig.Graph.parse(text).compile()
    lines = [line for line in str(error.value).splitlines() if not line.startswith("  at: ")]
    assert "\n".join(lines) == (
        "a node `once` reads what is no input of fixed sizes\n"
        "  why: what is computed once is known before the rest of the graph runs\n"
        "  hint: leave it to the pass compute-once to make such nodes"
    )
    fine = ig.Graph.parse(text.replace("once(%y)", "once(%x)"))
    x = random(4)
    for _ in range(3):
        x = x + 1
        y = fine(x)
        np.testing.assert_array_equal(np.asarray(y), np.asarray(ig.sin(x)))
