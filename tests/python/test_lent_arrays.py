"""Calls of jitted functions on other libraries' arrays: large ones of floats are read where they lie, for as long as
the call takes. Nobody can tell: what comes out is the caller's own, and what the tape keeps too."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import intaglio as ig

N = 20_000  # float32: more than is copied for being small


def floats(seed: int = 0, n: int = N) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(n).astype(np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: x.reshape(2, -1),
        lambda x: (x, x + 1, x[None]),
        lambda x: +x,
        lambda x: ig.flip(ig.flip(x)),
        lambda x: ig.where(ig.sum(x) > 1e9, 0.0, x),
    ],
)
def test_results_are_nobody_elses(function: Any) -> None:
    f = ig.jit(function)
    for call in range(30):
        x = floats(call)
        want = [np.array(part) for part in _parts(function(ig.asarray(x)))]
        got = f(x)
        x[:] = np.nan
        for a, b in zip(_parts(got), want, strict=True):
            np.testing.assert_array_equal(np.asarray(a), b)


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_memory_is_given_back_after_the_call() -> None:
    f = ig.jit(lambda x, y: x * y + 1)
    x, y = floats(1), floats(2)
    for _ in range(20):
        before = sys.getrefcount(x), sys.getrefcount(y)
        result = f(x, y)
        assert (sys.getrefcount(x), sys.getrefcount(y)) == before
        x.resize(N + 1)  # refused where anything still reads the memory
        x.resize(N)
    np.testing.assert_array_equal(np.asarray(result), x * y + 1)


def test_large_arrays_are_not_copied() -> None:
    """48 MiB, where all arrays together may take 32."""
    program = """
import numpy as np, intaglio as ig
f = ig.jit(ig.sum)
for n in (5000, 6000, 7000):
    f(np.ones(n, np.float32))
ig.explain(f)  # compiles, for any size
print(int(f(np.ones(12 << 20, np.float32))))
try:
    f(np.ones(12 << 20, np.int32))  # these are copied
except MemoryError:
    print("refused")
"""
    limits = os.environ | {"INTAGLIO_MEMORY_LIMIT": str(32 << 20)}
    ran = subprocess.run([sys.executable, "-c", program], env=limits, capture_output=True, text=True, check=False)
    assert ran.stdout.split() == [str(12 << 20), "refused"], ran.stderr


def test_a_callback_that_writes_to_an_argument() -> None:
    x = floats(5)

    def overwrite(part: Any) -> Any:
        x[:] = 0
        return np.asarray(part) + 1

    @ig.jit
    def f(a: Any) -> Any:
        one = ig.pure_callback(overwrite, ig.ShapeDtypeStruct((), ig.float32), a[0])
        return a * one

    for call in range(30):
        x[:] = floats(call)
        want = x * (x[0] + 1)
        np.testing.assert_array_equal(np.asarray(f(x)), want)


def test_the_tape_keeps_copies() -> None:
    f = ig.jit(lambda x, w: ig.sum(x * w * w))
    for call in range(20):
        x = floats(call)
        w = ig.asarray(floats(6), requires_grad=True)
        loss = f(x, w)
        want = 2 * x * np.asarray(w.detach())
        x[:] = np.nan
        loss.backward()
        assert w.grad is not None
        np.testing.assert_allclose(np.asarray(w.grad), want, rtol=1e-6)


def test_the_tape_keeps_copies_beside_weights_from_outside() -> None:
    layer = ig.nn.Linear(200, 3, key=ig.random.key(0)).requires_grad_()
    f = ig.jit(lambda x: ig.sum(layer(x) ** 2))
    for call in range(20):
        x = floats(call).reshape(100, 200)
        f(ig.asarray(x)).backward()
        want = [np.asarray(p.grad).copy() for p in layer.parameters()]
        for p in layer.parameters():
            p.grad = None
        loss = f(x)
        x[:] = np.nan
        loss.backward()
        for p, grad in zip(layer.parameters(), want, strict=True):
            np.testing.assert_array_equal(np.asarray(p.grad), grad)
            p.grad = None


def test_graphs_are_called_on_arrays_of_others() -> None:
    graph = ig.trace(lambda x, w: (x * w, x), floats(), floats()).graph
    for call in range(30):
        x, w = floats(call), floats(call + 1)
        want = x * w, x.copy()
        before = sys.getrefcount(x)
        got = graph(x, w)
        assert sys.getrefcount(x) == before
        x[:] = np.nan
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(np.asarray(a), b)
        if call == 20:
            graph.compile()
    x = floats(40)
    w_grad = ig.asarray(floats(41), requires_grad=True)
    loss = ig.sum(graph(x, w_grad)[0])
    want_grad = x.copy()
    x[:] = np.nan
    loss.backward()
    np.testing.assert_array_equal(np.asarray(w_grad.grad), want_grad)
    with pytest.raises(TypeError, match="compiled for float32"):
        graph(floats().astype(np.float64), floats())


def test_weights_given_as_arrays_of_numpys() -> None:
    f = ig.jit(lambda x, w: x @ w)
    x, w = floats(7).reshape(100, 200), floats(8).reshape(200, 100)
    for _ in range(30):
        got = f(x, w)
        np.testing.assert_allclose(np.asarray(got), x @ w, rtol=1e-4, atol=1e-4)
        w *= 1.01  # in place: the same memory holds other weights


@pytest.mark.parametrize(
    "array",
    [
        floats()[::2],
        floats().reshape(100, 200).T,
        np.frombuffer(b"\0" + floats().tobytes(), np.uint8)[1:].view(np.float32),  # between elements
        floats().astype(np.float64),
        floats().astype(np.float16),
        floats().astype(np.complex64),
        (floats() * 100).astype(np.int32),
        floats() > 0,
        floats(0, 3),
        floats(0, 0),
        np.float32(3),
        np.broadcast_to(np.float32(2), (N,)),
        memoryview(floats().tobytes()).cast("f"),
    ],
    ids=lambda array: type(array).__name__,
)
def test_arrays_of_all_kinds(array: Any) -> None:
    f = ig.jit(lambda x: ig.sum(x, dtype=ig.float64) if not ig.isdtype(x.dtype, "complex floating") else ig.sum(x))
    want = np.asarray(array).sum(dtype=None if np.asarray(array).dtype.kind == "c" else np.float64)
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(f(array)), want, rtol=1e-4)


def test_read_only_arrays_stay_what_they_are() -> None:
    x = floats(9)
    x.setflags(write=False)
    f = ig.jit(lambda a: a.at[0].set(1.0) + a, donate_argnums=0)
    want = x.copy()
    for _ in range(20):
        f(x)
    np.testing.assert_array_equal(x, want)


def test_in_place_updates_inside_do_not_reach_the_caller() -> None:
    def function(a: Any) -> Any:
        b = a + 0
        b[3] = 7.0
        b += 1
        return b

    x = floats(10)
    want = x.copy()
    f = ig.jit(function)
    for _ in range(20):
        result = f(x)
        np.testing.assert_array_equal(x, want)
    assert float(result[3]) == 8


def test_threads_share_an_array() -> None:
    x = floats(11, 200_000)
    f = ig.jit(lambda a: ig.sum(ig.tanh(a) * a))
    want = np.asarray(f(x))
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(50):
            if np.asarray(f(x)) != want:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
