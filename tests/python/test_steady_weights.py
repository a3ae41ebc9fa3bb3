"""Weights that a jitted function reads from outside, in the form that kernels want: always those of the call."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import intaglio as ig

rng = np.random.default_rng(5)


def random(*shape: int) -> ig.Tensor:
    return ig.asarray(rng.standard_normal(shape, dtype=np.float32))


class Layer:
    def __init__(self) -> None:
        self.weight = random(48, 40)

    def __call__(self, x: Any) -> Any:
        return x @ self.weight


def prepared(f: Any) -> int:
    return sum(entry["prepared_bytes"] for entry in ig.explain(f)["entries"])


def same(got: Any, x: Any, w: Any) -> None:
    """Bit for bit what a product of arguments gives."""
    expected = ig.jit(lambda x, w: x @ w)(x, w)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))


@pytest.mark.parametrize("rows", [1, 4, 13, 64])
def test_weights_are_laid_out_once_and_change_no_bit(rows: int) -> None:
    layer = Layer()
    f = ig.jit(lambda x: layer(x))
    for _ in range(3):
        x = random(rows, 48)
        same(f(x), x, layer.weight)
    assert prepared(f) >= 48 * 40 * 4
    assert "weights laid out for its kernels" in str(ig.explain(f))
    assert len(ig.explain(f)["entries"]) == 1


@pytest.mark.parametrize(("rows", "k", "n"), [(5, 300, 310), (16, 384, 1536), (25, 1030, 101), (33, 517, 260)])
def test_large_weights_of_few_rows(rows: int, k: int, n: int) -> None:
    """The kernels ask the caches for strips of weights ahead, also behind the last one."""
    w, x = random(k, n), random(rows, k)
    f = ig.jit(lambda x: x @ w)
    for _ in range(2):
        same(f(x), x, w)
    assert prepared(f) >= k * n * 4


def test_another_array_in_its_place_is_found() -> None:
    layer = Layer()
    f = ig.jit(lambda x: layer(x))
    x = random(16, 48)
    same(f(x), x, layer.weight)
    layer.weight = random(48, 40)
    same(f(x), x, layer.weight)
    layer.weight += 1
    same(f(x), x, layer.weight)
    first = layer.weight
    for _ in range(40):  # as often as it takes to compile it without
        layer.weight = random(48, 40)
        same(f(x), x, layer.weight)
    layer.weight = first
    for _ in range(3):
        same(f(x), x, first)
    assert len(ig.explain(f)["entries"]) == 1


def test_memory_of_another_library_is_read_anew() -> None:
    memory = rng.standard_normal((48, 40), dtype=np.float32)
    weight = ig.from_dlpack(memory)
    f = ig.jit(lambda x: x @ weight)
    x = random(16, 48)
    f(x)
    memory *= 2
    np.testing.assert_allclose(np.asarray(f(x)), np.asarray(x) @ memory, rtol=1e-4, atol=1e-4)
    assert prepared(f) == 0


def test_an_array_that_becomes_another_librarys_is_read_anew() -> None:
    layer = Layer()
    f = ig.jit(lambda x: layer(x))
    x = random(16, 48)
    same(f(x), x, layer.weight)
    memory = rng.standard_normal((48, 40), dtype=np.float32)
    layer.weight = ig.from_dlpack(memory)
    for factor in (1, 3, -2):
        memory *= factor
        np.testing.assert_allclose(np.asarray(f(x)), np.asarray(x) @ memory, rtol=1e-4, atol=1e-4)


def test_weights_that_are_trained_are_no_weights_that_stay() -> None:
    layer = Layer()

    def step(x: Any) -> Any:
        y = layer(x)
        layer.weight = layer.weight - 0.01 * (x.mT @ y)
        return ig.sum(y)

    f = ig.jit(step)
    x = random(16, 48)
    for _ in range(3):
        before = layer.weight
        y = x @ before
        np.testing.assert_allclose(float(f(x)), float(ig.sum(y)), rtol=1e-4)
        np.testing.assert_allclose(
            np.asarray(layer.weight), np.asarray(before - 0.01 * (x.mT @ y)), rtol=1e-4, atol=1e-5
        )
    assert prepared(f) == 0

    tuned = Layer()
    tuned.weight.requires_grad = True
    g = ig.jit(lambda x: tuned(x))
    ig.sum(g(x)).backward()
    assert prepared(g) == 0


def test_a_donated_array_that_was_a_weight() -> None:
    layer = Layer()
    f = ig.jit(lambda x: layer(x))
    x = random(16, 48)
    same(f(x), x, layer.weight)
    double = ig.jit(lambda w: w * 2, donate_argnums=0)
    expected = np.asarray(layer.weight) * 2
    layer.weight = double(layer.weight)
    np.testing.assert_array_equal(np.asarray(layer.weight), expected)
    same(f(x), x, layer.weight)


def test_a_convolution_and_a_loop_read_weights_from_outside() -> None:
    kernel, recurrent = random(16, 3, 3, 3), random(32, 32)
    image, start = random(2, 3, 12, 12), random(4, 32)

    def f(image: Any, h: Any) -> Any:
        return ig.conv(image, kernel), ig.fori_loop(0, 5, lambda i, h: ig.tanh(h @ recurrent), h)

    lifted, constant = ig.jit(f), ig.jit(f, lift=False)
    for _ in range(2):
        for a, b in zip(lifted(image, start), constant(image, start), strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        kernel, recurrent = kernel * 2, recurrent * 0.5


def test_loops_of_large_steps_read_weights_laid_out_once() -> None:
    """Their steps are kernels of their own, in blocks inside of blocks."""
    recurrent, back = random(128, 512) * 0.1, random(512, 128) * 0.1

    def scanned(h: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            return ig.tanh((h @ recurrent) @ back + x), h

        return ig.scan(step, h, xs)

    def nested(h: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            return ig.fori_loop(0, 3, lambda i, h: ig.tanh((h @ recurrent) @ back + x), h), h

        return ig.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, ig.scan(step, c[1], xs)[0]), (0, h))

    h, xs = random(24, 128), random(5, 24, 128)
    for f in (scanned, nested):
        lifted, constant = ig.jit(f), ig.jit(f, lift=False)
        for a, b in zip(ig.tree_flatten(lifted(h, xs))[0], ig.tree_flatten(constant(h, xs))[0], strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        assert prepared(lifted) >= 2 * 128 * 512 * 4
        recurrent = recurrent * 0.5
        for a, b in zip(ig.tree_flatten(lifted(h, xs))[0], ig.tree_flatten(ig.jit(f)(h, xs))[0], strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_threads_that_share_a_function_and_change_its_weight() -> None:
    layer = Layer()
    weights = [random(48, 40) for _ in range(3)]
    x = random(16, 48)
    expected = [np.asarray(ig.jit(lambda x, w: x @ w)(x, w)).tobytes() for w in weights]
    f = ig.jit(lambda x: layer(x))
    failures: list[str] = []

    def work(seed: int) -> None:
        for i in range(60):
            layer.weight = weights[(i + seed) % 3]
            if np.asarray(f(x)).tobytes() not in expected:
                failures.append("a result of no weight")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("lift", [True, False])
@pytest.mark.parametrize(("rows", "k", "n"), [(3, 7, 0), (1, 7, 0), (0, 7, 5), (3, 0, 5), (0, 0, 0), (600, 7, 0)])
def test_weights_of_nothing(rows: int, k: int, n: int, lift: bool) -> None:
    w, bias = random(k, n), random(n)
    x = random(rows, k)
    got = ig.jit(lambda x: ig.maximum(x @ w + bias, 0), lift=lift)(x)
    np.testing.assert_array_equal(np.asarray(got), np.maximum(np.asarray(x) @ np.asarray(w) + np.asarray(bias), 0))
