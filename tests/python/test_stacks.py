"""Arrays stacked along a short last axis: the elements of each are computed as a row, and turned over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import intaglio as ig


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = ig.get_num_threads()
    yield
    ig.set_num_threads(before)


def both(f: Any, *arrays: np.ndarray) -> None:
    want = f(np, *arrays)
    given = [ig.asarray(a) for a in arrays]
    compiled = ig.jit(lambda *a: f(ig, *a)).lower(*given).compile()
    for threads in (1, 3):
        ig.set_num_threads(threads)
        got = compiled(*given)
        for g, w in zip(
            got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True
        ):
            assert g.numpy().dtype == w.dtype
            np.testing.assert_array_equal(g.numpy(), w)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64", "float16", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("ways", [2, 3, 4, 5])
@pytest.mark.parametrize("shape", [(1,), (7,), (513,), (5000,), (3, 1), (2, 40), (4, 5, 33), (3, 1100), (0,), (2, 0)])
def test_stacked_last(dtype: str, ways: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(ways)
    parts = [(rng.standard_normal(shape) * 3).astype(np.int64).astype(dtype) for _ in range(ways)]
    both(lambda m, *p: m.stack([*p], axis=-1), *parts)


def test_what_is_stacked_is_computed() -> None:
    x = np.random.default_rng(1).standard_normal((37, 65)).astype(np.float32)

    def upsampled(m: Any, x: Any) -> Any:
        rows = m.reshape(m.stack([x[:-1], 0.5 * (x[:-1] + x[1:])], axis=1), (72, 65))
        return m.reshape(m.stack([rows[:, :-1], 0.5 * (rows[:, :-1] + rows[:, 1:])], axis=2), (72, 128))

    both(upsampled, x)
    both(lambda m, x: m.reshape(m.stack([-x, x[:, ::-1], x * x], axis=-1), (-1,)), x)
    both(lambda m, x: (m.stack([x, -x], axis=-1), m.stack([x + 1, x - 1], axis=-1) * 2), x)
    both(lambda m, x: m.concat([x[..., None], m.stack([x, x + x], axis=-1)], axis=-1), x)


def test_of_any_length_and_into_its_operand() -> None:
    def f(x: Any, y: Any) -> Any:
        return ig.stack([x * 2, y - x], axis=-1)

    n = ig.Dim("n", 1, 4096)
    sizes = {"x": {0: n}, "y": {0: n}}
    graph = ig.trace(f, ig.ones((4,)), ig.ones((4,)), dynamic_shapes=sizes)
    for count in (3, 600, 1025):
        x, y = (np.random.default_rng(count + k).standard_normal(count).astype(np.float32) for k in range(2))
        np.testing.assert_array_equal(np.asarray(graph(x, y)), np.stack([x * 2, y - x], axis=-1))

    def turned(x: Any) -> Any:  # may stand in the memory of what it reads
        y = ig.exp(x)
        return ig.stack([y[:, 0] + 1, y[:, 1] * 2], axis=-1)

    z = np.random.default_rng(2).standard_normal((700, 2)).astype(np.float32)
    got = ig.jit(turned).lower(z).compile()(z).numpy()
    e = ig.exp(ig.asarray(z)).numpy()
    np.testing.assert_array_equal(got, np.stack([e[:, 0] + 1, e[:, 1] * 2], axis=-1))
