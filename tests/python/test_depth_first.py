"""Chains of kernels that run for a few examples of a batch at a time: the bits, the memory and what is told of them."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import intaglio as ig


def network(x, first, depth, one):
    """Convolutions with what stands between them: a window, groups, a residual, an image's mean."""
    y = ig.relu(ig.conv(x, first, padding=1))
    z = ig.relu(ig.conv(y, depth, padding=1, groups=24))
    y = y + ig.conv(z, one)
    scale = ig.sigmoid(ig.mean(y, axis=(2, 3), keepdims=True))
    return ig.max_pool(y * scale, 2), ig.mean(y)


def inputs(batch, size=96):
    rng = np.random.default_rng(batch)
    shapes = [(batch, 3, size, size), (24, 3, 3, 3), (24, 1, 3, 3), (24, 24, 1, 1)]
    return [ig.asarray(rng.standard_normal(shape, dtype=np.float32) / 5) for shape in shapes]


def compiled(arrays, function=network, **options):
    return ig.trace(function, *arrays).graph.compile(**options)


def kernel_by_kernel(arrays, function=network):
    return compiled(arrays, function, disable=["depth-first"])


def told(graph):
    return [line for line in str(graph.fusion()).splitlines() if "at a time" in line]


@pytest.fixture
def threads():
    before = ig.get_num_threads()
    yield ig.set_num_threads
    ig.set_num_threads(before)


def same(have, want):
    return all(np.array_equal(one.numpy(), other.numpy()) for one, other in zip(have, want, strict=True))


@pytest.mark.parametrize("batch", [2, 7, 16])
def test_the_bits_are_those_of_kernel_by_kernel(batch, threads):
    arrays = inputs(batch)
    want = kernel_by_kernel(arrays)(*arrays)
    for count in (1, 2, 3):
        threads(count)
        graph = compiled(arrays)
        for _ in range(10):  # steps one by one and at once are tried by turns
            assert same(graph(*arrays), want)


def test_a_batch_takes_the_memory_of_a_few_examples(threads):
    threads(1)
    arrays = inputs(32)
    plain, graph = kernel_by_kernel(arrays), compiled(arrays)
    peaks = []
    for one in (plain, graph):
        one(*arrays)
        report = one.report()
        assert report["measured_peak"] == report["planned_peak"]
        peaks.append(report["planned_peak"])
    assert not told(plain)
    assert told(graph)
    assert peaks[1] < peaks[0] / 2


def test_what_it_did_is_told(threads):
    threads(1)
    graph = compiled(inputs(16))
    line = told(graph)[0]
    assert re.fullmatch(r"\d+ kernels run for \d+ of 16 examples at a time: spares \d+ bytes from the last cache", line)
    assert line in graph.fusion().why("convolution")
    assert any(entry.startswith("depth-first") for entry in graph.report()["pass_log"])


def test_a_batch_that_is_near_is_left_alone():
    assert told(compiled(inputs(4, size=8))) == []


def test_many_threads_call_it_at_once(threads):
    threads(2)
    arrays = inputs(16)
    graph = compiled(arrays)
    want = graph(*arrays)
    right = []

    def call():
        right.extend(same(graph(*arrays), want) for _ in range(6))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert right == [True] * 24


def test_gradients_of_a_batch():
    def loss(*arrays):
        pooled, mean = network(*arrays)
        return ig.sum(pooled * pooled) + mean

    arrays = inputs(7, size=64)
    gradients = ig.grad(loss, argnums=(0, 1, 2, 3))
    assert same(compiled(arrays, gradients)(*arrays), kernel_by_kernel(arrays, gradients)(*arrays))


def test_steps_that_carry_nothing_give_the_same_on_any_threads(threads):
    rng = np.random.default_rng(6)
    matrices = ig.asarray(rng.standard_normal((9, 60, 60)))
    seen = []
    for count in (1, 2, 3):
        threads(count)
        f = ig.jit(lambda stack: ig.map(lambda matrix: ig.linalg.svd(matrix)[1], stack))
        for _ in range(12):
            seen.append(f(matrices).numpy())
    assert all(np.array_equal(seen[0], other) for other in seen)
    np.testing.assert_allclose(seen[0], np.linalg.svd(matrices.numpy())[1], rtol=1e-10)


def test_what_is_the_same_in_every_step_is_packed_once():
    rng = np.random.default_rng(7)
    w, x = (ig.asarray(rng.standard_normal(shape, dtype=np.float32)) for shape in ((96, 96), (5, 400, 96)))
    program = ig.trace(lambda w, x: ig.map(lambda rows: ig.tanh(rows @ w), x), w, x).graph.compile()
    want = program(w, x)
    with ig.profile() as p:
        assert np.array_equal(program(w, x).numpy(), want.numpy())
    packs = [kernel["calls"] for kernel in p.kernels if kernel["name"] == "pack"]
    assert packs == [1]


def test_the_example():
    path = Path(__file__).resolve().parents[2] / "examples" / "batches.py"
    lines = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == 9
    assert lines[2::3] == ["    the same bits: True"] * 3
