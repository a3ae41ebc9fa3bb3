"""Products of which only a part is read: that part is computed alone, with the same bits."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig

rng = np.random.default_rng(11)


def random(*shape: int, dtype: Any = np.float32) -> ig.Tensor:
    return ig.asarray(rng.standard_normal(shape).astype(dtype))


def raised(graph: Any) -> bool:
    return any(line.startswith("raise-slices") for line in graph.report()["pass_log"])


def check(f: Any, *args: Any, expected: bool = True) -> None:
    """Bit for bit what the program without the pass gives, and the ops one by one."""
    graph = ig.trace(f, *args).graph
    assert raised(graph) is expected
    got = np.asarray(graph.compile()(*args))
    np.testing.assert_array_equal(got, np.asarray(graph.compile(disable=["raise-slices"])(*args)))
    np.testing.assert_array_equal(got, np.asarray(f(*args)))


def logits(h: Any, w: Any) -> Any:
    m = ig.mean(h, axis=-1, keepdims=True)
    v = ig.mean((h - m) ** 2, axis=-1, keepdims=True)
    return ((h - m) / ig.sqrt(v + 1e-5)) @ w


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "part",
    [
        np.s_[:, -1],
        np.s_[:, -1:],
        np.s_[:, :3],
        np.s_[:, ::4],
        np.s_[:, 2:9:3, 5:10],
        np.s_[..., :7],
        np.s_[1],
        np.s_[1:, 3, 4],
    ],
)
def test_of_logits_what_is_read(part: Any, dtype: Any) -> None:
    check(lambda h, w: logits(h, w)[part], random(2, 13, 16, dtype=dtype), random(16, 21, dtype=dtype))


def test_what_is_computed_of_them_comes_along() -> None:
    x, w, b = random(9, 16), random(16, 32), random(32)
    check(lambda x, w, b: ig.softmax(ig.tanh(x @ w + b) * 2, axis=-1)[4], x, w, b)
    check(lambda x, w: ((x @ w) @ w.mT)[:3], x, w)
    check(lambda x, w: ig.permute_dims(x @ w, (1, 0))[:, 2], x, w)
    check(lambda x, w: ig.sum(x @ w, axis=1)[:2], x, w)


def test_batches_of_products() -> None:
    a, b = random(6, 5, 8), random(6, 8, 7)
    check(lambda a, b: (a @ b)[2], a, b)
    check(lambda a, b: (a @ b)[::3, 1:2, :2], a, b)


def test_what_else_is_read_is_computed() -> None:
    x, w = random(9, 16), random(16, 32)
    check(lambda x, w: ig.sum(x @ w) + (x @ w)[0], x, w, expected=False)
    check(lambda x, w: (x @ w)[:8], x, w, expected=False)
    check(lambda x, w: ig.split(x @ w, 2, axis=1)[0] * ig.split(x @ w, 2, axis=1)[1], x, w, expected=False)
    check(lambda x, w: ig.sum(x @ w, axis=0)[:5], x, w)
    check(lambda x, w: ig.cumulative_sum(x @ w, axis=0)[:2], x, w, expected=False)


def test_infinities_elsewhere_do_not_matter() -> None:
    x, w = np.asarray(random(9, 16)), random(16, 32)
    x = x.copy()
    x[3] = np.inf
    x[5, 2] = np.nan
    for row in (2, 3, 5):
        check(lambda x, w, row=row: ig.tanh(x @ w)[row], ig.asarray(x), w)


def test_gradients_and_batches() -> None:
    h, w = random(2, 8, 16), random(16, 24)
    loss = ig.grad(lambda h, w: ig.sum(logits(h, w)[:, -1] ** 2), argnums=(0, 1))
    for got, expected in zip(ig.jit(loss)(h, w), loss(h, w), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-5, atol=1e-6)
    f = ig.vmap(lambda h: logits(h, w)[-1])
    np.testing.assert_array_equal(np.asarray(ig.jit(f)(h)), np.asarray(f(h)))


def test_the_example() -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "next_token.py"), run_name="__main__")


def test_a_batch_of_any_size() -> None:
    traced = ig.trace(
        lambda h, w: logits(h, w)[:, -1],
        random(2, 8, 16),
        random(16, 24),
        dynamic_shapes={"h": {0: ig.Dim("b")}},
    )
    assert raised(traced.graph)
    program, w = traced.graph.compile(), random(16, 24)
    for n in (1, 5):
        h = random(n, 8, 16)
        np.testing.assert_array_equal(np.asarray(program(h, w)), np.asarray(logits(h, w)[:, -1]))


def test_sizes_that_vary() -> None:
    w = random(16, 24)
    f = ig.jit(lambda h: logits(h, w)[-1])
    for n in (3, 7, 12, 1):
        h = random(n, 16)
        np.testing.assert_array_equal(np.asarray(f(h)), np.asarray(logits(h, w)[-1]))
