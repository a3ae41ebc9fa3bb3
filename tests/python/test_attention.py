"""Scaled dot-product attention, which is one kernel with bits of its own: against NumPy in float64, and what
its results promise not to depend on."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import intaglio as ig

Array = np.ndarray[Any, Any]


def oracle(q: Array, k: Array, v: Array, mask: Array | None, causal: bool, scale: float = 0.0) -> Array:
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (scale or 1 / np.sqrt(max(q.shape[-1], 1)))
    taken = np.ones(scores.shape, bool)
    if mask is not None and mask.dtype == bool:
        taken = taken & mask
    elif mask is not None:
        scores = scores + mask
    if causal:
        taken = taken & np.tri(*scores.shape[-2:], dtype=bool)
    scores = np.where(taken, scores, -np.inf)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    power = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = power.sum(-1, keepdims=True)
    out: Array = (power / np.where(total == 0, 1, total)) @ v
    return out


def arrays(seed: int, batch: tuple[int, ...], sizes: tuple[int, int, int, int], dtype: Any = np.float32) -> list[Array]:
    queries, keys, features, columns = sizes
    rng = np.random.default_rng(seed)
    shapes = ((*batch, queries, features), (*batch, keys, features), (*batch, keys, columns))
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


CASES = [
    ((), (1, 1, 1, 1)),
    ((2,), (3, 5, 4, 2)),
    ((2, 3), (7, 129, 33, 17)),
    ((1, 2), (50, 300, 64, 64)),
    ((3,), (97, 97, 32, 40)),
    ((1,), (200, 256, 8, 24)),
    ((2,), (0, 4, 3, 2)),
    ((2,), (3, 0, 4, 5)),
    ((0,), (3, 2, 4, 5)),
    ((2,), (3, 4, 0, 5)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("batch", "sizes"), CASES)
def test_against_numpy(batch: tuple[int, ...], sizes: tuple[int, int, int, int], dtype: Any) -> None:
    q, k, v = arrays(1, batch, sizes, dtype)
    rng = np.random.default_rng(2)
    square = (sizes[0], sizes[1])
    masks: list[Array | None] = [
        None,
        rng.random(square) > 0.4,
        rng.random((*batch, *square)) > 0.7,
        rng.random((1, sizes[1])) > 0.5,
        rng.random(sizes[1]) > 0.5,
        rng.standard_normal(square).astype(dtype),
    ]
    bound = 2e-6 if dtype == np.float32 else 4e-15
    for mask, causal in itertools.product(masks, (False, True)):
        operands = [ig.asarray(x) for x in (q, k, v) + (() if mask is None else (mask,))]
        got = ig.scaled_dot_product_attention(*operands, causal=causal)
        np.testing.assert_allclose(got.numpy(), oracle(q, k, v, mask, causal), rtol=bound, atol=bound)
        program = ig.trace(lambda *a, causal=causal: ig.scaled_dot_product_attention(*a, causal=causal), *operands)
        assert program(*operands).numpy().tobytes() == got.numpy().tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_types_are_computed_wide_and_rounded_once(dtype: str) -> None:
    kind = getattr(ig, dtype)
    narrow = [ig.astype(ig.asarray(x), kind) for x in arrays(3, (2,), (5, 140, 16, 9))]
    wide = [ig.astype(x, ig.float32) for x in narrow]
    got = ig.scaled_dot_product_attention(*narrow)
    want = ig.astype(ig.scaled_dot_product_attention(*wide), kind)
    assert ig.astype(got, ig.float32).numpy().tobytes() == ig.astype(want, ig.float32).numpy().tobytes()


def test_a_query_depends_on_nothing_else() -> None:
    q, k, v = arrays(4, (3, 2), (260, 150, 32, 48))
    for causal in (False, True):
        whole = ig.scaled_dot_product_attention(*map(ig.asarray, (q, k, v)), causal=causal).numpy()
        for rows in (1, 2, 5, 7, 47, 49, 193):
            part = ig.scaled_dot_product_attention(*map(ig.asarray, (q[..., :rows, :], k, v)), causal=causal).numpy()
            assert part.tobytes() == np.ascontiguousarray(whole[..., :rows, :]).tobytes()
        one = ig.scaled_dot_product_attention(*map(ig.asarray, (q[1, 1], k[1, 1], v[1, 1])), causal=causal).numpy()
        assert one.tobytes() == whole[1, 1].tobytes()


def test_masked_keys_behind_the_last_one_change_no_bit() -> None:
    q, k, v = arrays(5, (2,), (20, 300, 16, 16))
    for left in (0, 1, 127, 128, 129, 200):
        keep = np.arange(300) < left
        masked = ig.scaled_dot_product_attention(*map(ig.asarray, (q, k, v, keep))).numpy()
        cut = ig.scaled_dot_product_attention(*map(ig.asarray, (q, k[:, :left], v[:, :left]))).numpy()
        assert masked.tobytes() == cut.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_masked_keys_do_not_contribute_whatever_their_values(bad: float) -> None:
    q, k, v = arrays(6, (2,), (9, 40, 8, 20))
    keep = np.random.default_rng(7).random((9, 40)) > 0.3
    keep[:, 13] = False
    want = ig.scaled_dot_product_attention(*map(ig.asarray, (q, k, v, keep))).numpy()
    k[:, 13], v[:, 13] = bad, bad
    got = ig.scaled_dot_product_attention(*map(ig.asarray, (q, k, v, keep))).numpy()
    assert got.tobytes() == want.tobytes()
    v[:, 39] = bad  # the last key, which none but the last query reaches
    causal = ig.scaled_dot_product_attention(*map(ig.asarray, (q[:, :9], k[:, 31:], v[:, 31:])), causal=True).numpy()
    assert np.isfinite(causal[:, :8]).all()
    assert not np.isfinite(causal[:, 8]).any()


def test_a_query_without_keys_gives_zero() -> None:
    q, k, v = arrays(8, (2,), (5, 130, 8, 3))
    keep = np.ones((5, 130), bool)
    keep[2] = False
    got = ig.scaled_dot_product_attention(*map(ig.asarray, (q, k, v, keep))).numpy()
    assert (got[:, 2] == 0).all()
    assert (got[:, [0, 1, 3, 4]] != 0).all()


def test_transposed_operands_and_work_behind() -> None:
    q, k, v = (
        ig.asarray(np.random.default_rng(9).standard_normal((2, 20, 3, 16)).astype(np.float32)) for _ in range(3)
    )

    def heads(x: Any) -> Any:
        return ig.permute_dims(x, axes=(0, 2, 1, 3))

    def attend(q: Any, k: Any, v: Any) -> Any:
        return ig.scaled_dot_product_attention(heads(q), heads(k), heads(v)) * 2.0

    program = ig.trace(attend, q, k, v)
    assert program(q, k, v).numpy().tobytes() == attend(q, k, v).numpy().tobytes()


def test_symbolic_sizes() -> None:
    b, s = ig.Dim("b", 1, 64), ig.Dim("s", 1, 1024)
    example = [ig.asarray(x) for x in arrays(10, (2,), (6, 6, 8, 8))]
    sizes = {name: {0: b, 1: s} for name in ("q", "k", "v")}
    program = ig.trace(
        lambda q, k, v: ig.scaled_dot_product_attention(q, k, v, causal=True), *example, dynamic_shapes=sizes
    )
    for batch, length in ((1, 1), (3, 47), (2, 200), (9, 129)):
        operands = [ig.asarray(x) for x in arrays(11, (batch,), (length, length, 8, 8))]
        want = ig.scaled_dot_product_attention(*operands, causal=True)
        assert program(*operands).numpy().tobytes() == want.numpy().tobytes()


def test_each_number_of_queries_and_keys() -> None:
    """Tiles of queries and strips of keys end wherever there is an end; a query's bits know nothing of either."""
    q, k, v = arrays(11, (2,), (61, 75, 40, 37))
    attend = ig.jit(ig.scaled_dot_product_attention)
    for queries in range(1, 62):
        keys = 1 + queries * 7 % 75
        some = q[:, :queries], k[:, :keys], v[:, :keys]
        got = np.asarray(attend(*map(ig.asarray, some)))
        np.testing.assert_allclose(got, oracle(*some, None, False), atol=1e-5)
        all_queries = np.asarray(attend(ig.asarray(q), *map(ig.asarray, some[1:])))
        np.testing.assert_array_equal(got, all_queries[:, :queries])
