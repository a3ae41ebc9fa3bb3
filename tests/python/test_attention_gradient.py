"""The derivative of attention, which is one blocked kernel: against NumPy in float64, with no matrix of scores in the
plan, and with bits that depend on neither threads nor the way to compile."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import intaglio as ig

Array = np.ndarray[Any, Any]


def oracle(q: Array, k: Array, v: Array, g: Array, mask: Array | None, causal: bool) -> list[Array]:
    """Gradients by queries, keys, values and, of an additive mask, by each score."""
    q, k, v, g = (x.astype(np.float64) for x in (q, k, v, g))
    scale = 1 / np.sqrt(max(q.shape[-1], 1))
    scores = q @ np.swapaxes(k, -1, -2) * scale
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
    weights = power / np.where(total == 0, 1, total)
    slope = g @ np.swapaxes(v, -1, -2)
    slope = weights * (slope - (weights * slope).sum(-1, keepdims=True))
    turned = np.swapaxes(slope, -1, -2)
    return [slope @ k * scale, turned @ q * scale, np.swapaxes(weights, -1, -2) @ g, slope]


def summed_to(x: Array, shape: tuple[int, ...]) -> Array:
    while x.ndim > len(shape):
        x = x.sum(0)
    return x.sum(tuple(i for i, n in enumerate(shape) if n != x.shape[i]), keepdims=True)


def arrays(seed: int, batch: tuple[int, ...], sizes: tuple[int, int, int, int], dtype: Any = np.float32) -> list[Array]:
    """Queries, keys, values and what the result is multiplied by."""
    queries, keys, features, columns = sizes
    rng = np.random.default_rng(seed)
    shapes = ((queries, features), (keys, features), (keys, columns), (queries, columns))
    return [rng.standard_normal((*batch, *shape)).astype(dtype) for shape in shapes]


def gradients(operands: list[Any], mask: Any = None, causal: bool = False, by_mask: bool = False) -> Any:
    q, k, v, g = operands

    def loss(q: Any, k: Any, v: Any, mask: Any, g: Any) -> Any:
        rest = () if mask is None else (mask,)
        return ig.sum(ig.scaled_dot_product_attention(q, k, v, *rest, causal=causal) * g)

    numbers = (0, 1, 2, 3) if by_mask else (0, 1, 2)
    return ig.jit(ig.grad(loss, argnums=numbers))(q, k, v, mask, g)


# Heads enough for a task each, and few heads, whose tasks are parts; less than a tile, and more than a block.
CASES = [
    ((2, 5), (70, 131, 12, 20)),
    ((9,), (49, 97, 33, 17)),
    ((2,), (203, 230, 16, 16)),
    ((), (48, 96, 64, 64)),
    ((1, 1), (100, 7, 5, 3)),
    ((3,), (5, 200, 8, 1)),
    ((2,), (0, 4, 3, 2)),
    ((9,), (3, 0, 4, 5)),
    ((0,), (30, 20, 4, 5)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("batch", "sizes"), CASES)
def test_against_numpy(batch: tuple[int, ...], sizes: tuple[int, int, int, int], dtype: Any) -> None:
    operands = arrays(1, batch, sizes, dtype)
    rng = np.random.default_rng(2)
    square = (sizes[0], sizes[1])
    masks: list[Array | None] = [
        None,
        rng.random(square) > 0.4,
        rng.random((*batch, *square)) > 0.5,
        rng.random((1, sizes[1])) > 0.5,
        np.arange(sizes[1]) < sizes[1] // 2,
        rng.standard_normal((*(1 for _ in batch), *square)).astype(dtype),
        rng.standard_normal((*batch[:1], *(1 for _ in batch[1:]), 1, sizes[1])).astype(dtype),
    ]
    bound = 2e-5 if dtype == np.float32 else 4e-14
    given = list(map(ig.asarray, operands))
    # Every other one for each dtype: what float32 leaves out, float64 has.
    pairs = list(itertools.product((False, True), masks))[dtype == np.float64 :: 2]
    for causal, mask in pairs:
        adds = mask is not None and mask.dtype != bool
        got = gradients(given, None if mask is None else ig.asarray(mask), causal, by_mask=adds)
        want = oracle(*operands, mask, causal)
        want = [*want[:3], summed_to(want[3], mask.shape)] if adds and mask is not None else want[:3]
        for one, other in zip(got, want, strict=True):
            size = float(np.max(np.abs(other), initial=1.0))
            np.testing.assert_allclose(one.numpy(), other, rtol=bound, atol=bound * size)


def test_no_matrix_of_scores_is_in_memory() -> None:
    heads, queries, keys, features = 12, 250, 300, 16
    operands = [ig.asarray(x) for x in arrays(3, (heads,), (queries, keys, features, features))]
    masks: list[Any] = [None, np.random.default_rng(4).random((heads, 1, keys)) > 0.3]
    shape = re.compile(rf"\[[^]]*\b{queries}, {keys}\b|\[[^]]*\b{keys}, {queries}\b")
    for mask, causal in itertools.product(masks, (False, True)):

        def loss(q: Any, k: Any, v: Any, mask: Any = mask, causal: bool = causal) -> Any:
            rest = () if mask is None else (ig.asarray(mask),)
            return ig.sum(ig.scaled_dot_product_attention(q, k, v, *rest, causal=causal) * operands[3])

        graph = ig.trace(ig.value_and_grad(loss, argnums=(0, 1, 2)), *operands[:3], lift=False).graph
        text = str(graph.optimised())
        assert text.count("attention_gradient(") == 1
        assert text.count("attention_with_sums(") == 1
        assert not shape.search(text)
        graph(*operands[:3])
        report = graph.report()
        # The forward kernel, the sum of the loss, the cotangent spread out, the backward kernel.
        assert report["kernels"] <= 5
        assert report["kernels_fallback"] == 0
        assert report["planned_peak"] < 8 * heads * (queries + keys) * features * 4
        assert report["planned_peak"] < heads * queries * keys * 4
        assert report["measured_peak"] == report["planned_peak"]


def test_the_gradient_of_a_mask_is_no_larger_than_the_mask() -> None:
    batch, heads, length, features = 6, 3, 130, 8
    operands = [ig.asarray(x) for x in arrays(5, (batch, heads), (length, length, features, features))]
    bias = ig.asarray(np.random.default_rng(6).standard_normal((heads, length, length)).astype(np.float32))

    def loss(bias: Any, q: Any, k: Any, v: Any) -> Any:
        return ig.sum(ig.scaled_dot_product_attention(q, k, v, bias) * operands[3])

    graph = ig.trace(ig.grad(loss, argnums=(0, 1, 2, 3)), bias, *operands[:3], lift=False).graph
    assert f"{batch}, {heads}, {length}, {length}" not in str(graph.optimised())
    by_bias = graph(bias, *operands[:3])[0].numpy()
    want = oracle(*(x.numpy() for x in operands), bias.numpy(), False)[3].sum(0)
    np.testing.assert_allclose(by_bias, want, rtol=1e-4, atol=1e-5)


def bits(results: Any) -> list[bytes]:
    return [x.numpy().tobytes() for x in results]


@pytest.mark.parametrize("batch", [(2,), (9,)])
@pytest.mark.parametrize("causal", [False, True])
def test_bits_depend_on_neither_threads_nor_the_way(batch: tuple[int, ...], causal: bool) -> None:
    operands = [ig.asarray(x) for x in arrays(7, batch, (210, 250, 24, 18))]
    keep = ig.asarray(np.random.default_rng(8).random((210, 250)) > 0.3)

    def loss(q: Any, k: Any, v: Any, g: Any) -> Any:
        return ig.sum(ig.scaled_dot_product_attention(q, k, v, keep, causal=causal) * g)

    gradient = ig.grad(loss, argnums=(0, 1, 2))
    fixed = ig.trace(gradient, *operands)
    b = ig.Dim("b", 1, 64)
    any_batch = ig.trace(gradient, *operands, dynamic_shapes={name: {0: b} for name in "qkvg"})
    threads = ig.get_num_threads()
    try:
        ig.set_num_threads(1)
        want = bits(fixed(*operands))
        for count in (2, 3, 8):
            ig.set_num_threads(count)
            assert bits(fixed(*operands)) == want
            assert bits(any_batch(*operands)) == want
    finally:
        ig.set_num_threads(threads)
    assert bits(gradient(*operands)) == want  # op by op
    # Each head by itself: few heads are cut into parts, many are not.
    one = fixed(*operands)
    alone = gradient(*(x[1] for x in operands))
    assert bits(alone) == bits(x[1] for x in one)


def test_a_query_and_a_key_depend_on_nothing_that_they_do_not_see() -> None:
    q, k, v, g = arrays(9, (2,), (150, 150, 16, 16))
    whole = gradients([ig.asarray(x) for x in (q, k, v, g)], causal=True)
    part = gradients([ig.asarray(x[:, :100]) for x in (q, k, v, g)], causal=True)
    assert part[0].numpy().tobytes() == np.ascontiguousarray(whole[0].numpy()[:, :100]).tobytes()
    keep = np.arange(150) < 97
    masked = gradients([ig.asarray(x) for x in (q, k, v, g)], ig.asarray(keep))
    cut = gradients([ig.asarray(x) for x in (q, k[:, :97], v[:, :97], g)])
    assert masked[0].numpy().tobytes() == cut[0].numpy().tobytes()
    for with_mask, without in zip(masked[1:], cut[1:], strict=True):
        assert (with_mask.numpy()[:, 97:] == 0).all()
        assert np.ascontiguousarray(with_mask.numpy()[:, :97]).tobytes() == without.numpy().tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_masked_gets_and_gives_nothing(bad: float) -> None:
    q, k, v, g = arrays(10, (9,), (60, 110, 8, 20))
    keep = np.random.default_rng(11).random((60, 110)) > 0.3
    keep[:, 13] = False  # a key that nobody looks at
    keep[5] = False  # a query without keys
    want = gradients([ig.asarray(x) for x in (q, k, v, g)], ig.asarray(keep))
    q[:, 5], k[:, 13], v[:, 13] = bad, bad, bad
    got = gradients([ig.asarray(x) for x in (q, k, v, g)], ig.asarray(keep))
    assert bits(got) == bits(want)
    assert (got[0].numpy()[:, 5] == 0).all()
    assert (got[1].numpy()[:, 13] == 0).all()
    assert (got[2].numpy()[:, 13] == 0).all()


def test_rows_that_are_wholly_masked_by_numbers() -> None:
    q, k, v, g = arrays(12, (2,), (40, 50, 4, 4))
    mask = np.zeros((40, 50), np.float32)
    mask[7] = -np.inf
    got = gradients([ig.asarray(x) for x in (q, k, v, g)], ig.asarray(mask), by_mask=True)
    assert all(np.isfinite(x.numpy()).all() for x in got)
    assert (got[0].numpy()[:, 7] == 0).all()
    assert (got[3].numpy()[7] == 0).all()


def test_what_does_not_matter_is_not_multiplied() -> None:
    """Of constants there is no gradient: results of the kernel that nobody reads are left out."""
    operands = [ig.asarray(x) for x in arrays(13, (2,), (60, 70, 8, 8))]
    q, k, v, g = operands
    want = oracle(*(x.numpy() for x in operands), None, False)
    for number, name in enumerate("qkv"):

        def loss(x: Any, number: int = number) -> Any:
            given = [q, k, v]
            given[number] = x
            return ig.sum(ig.scaled_dot_product_attention(*given) * g)

        got = ig.jit(ig.grad(loss))(operands[number])
        np.testing.assert_allclose(got.numpy(), want[number], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_types_are_computed_wide(dtype: str) -> None:
    kind = getattr(ig, dtype)
    narrow = [ig.astype(ig.asarray(x), kind) for x in arrays(14, (3,), (70, 110, 16, 9))]
    wide = [ig.astype(x, ig.float32) for x in narrow]
    for one, other in zip(gradients(narrow, causal=True), gradients(wide, causal=True), strict=True):
        assert one.dtype == kind
        np.testing.assert_allclose(
            ig.astype(one, ig.float32).numpy(), other.numpy(), rtol=2e-2, atol=2e-2 * float(ig.max(ig.abs(other)))
        )


def test_heads_as_views_and_heads_that_share_keys() -> None:
    """[batch, place, head, feature], turned over by views; and keys and values of which each serves four heads."""
    rng = np.random.default_rng(15)
    x = ig.asarray(rng.standard_normal((2, 50, 8, 16)).astype(np.float32))
    kv, w = (ig.asarray(rng.standard_normal((2, 50, n, 16)).astype(np.float32)) for n in (2, 8))

    def loss(x: Any, kv: Any, causal: bool = True) -> Any:
        turn = lambda a: ig.permute_dims(a, axes=(0, 2, 1, 3))  # noqa: E731
        shared = ig.reshape(ig.broadcast_to(turn(kv)[:, :, None], (2, 2, 4, 50, 16)), (2, 8, 50, 16))
        return ig.sum(turn(ig.scaled_dot_product_attention(turn(x), shared, shared * 0.5, causal=causal)) * w)

    by_x, by_kv = ig.jit(ig.grad(loss, argnums=(0, 1)))(x, kv)
    q, g = (np.transpose(a.numpy(), (0, 2, 1, 3)) for a in (x, w))
    k = np.repeat(np.transpose(kv.numpy(), (0, 2, 1, 3)), 4, axis=1)
    dq, dk, dv, _ = oracle(q, k, k * 0.5, g, None, True)
    np.testing.assert_allclose(by_x.numpy(), np.transpose(dq, (0, 2, 1, 3)), rtol=1e-4, atol=1e-5)
    want = (dk + 0.5 * dv).reshape(2, 2, 4, 50, 16).sum(2)
    np.testing.assert_allclose(by_kv.numpy(), np.transpose(want, (0, 2, 1, 3)), rtol=1e-4, atol=1e-4)


def test_batches_of_gradients() -> None:
    """vmap with a mask that is the same for all examples, whose gradient is each example's own."""
    q, k, v, g = (ig.asarray(x) for x in arrays(16, (5, 2), (60, 70, 8, 8), np.float64))
    mask = ig.asarray(np.random.default_rng(17).standard_normal((60, 70)))

    def loss(q: Any, k: Any, v: Any, mask: Any, g: Any) -> Any:
        return ig.sum(ig.scaled_dot_product_attention(q, k, v, mask) * g)

    gradient = ig.grad(loss, argnums=(0, 1, 2, 3))
    batched = ig.jit(ig.vmap(gradient, in_axes=(0, 0, 0, None, 0)))(q, k, v, mask, g)
    for i in range(5):
        for one, all_of in zip(gradient(q[i], k[i], v[i], mask, g[i]), batched, strict=True):
            np.testing.assert_allclose(all_of[i].numpy(), one.numpy(), rtol=1e-12, atol=1e-13)
    text = str(ig.trace(ig.vmap(gradient, in_axes=(0, 0, 0, None, 0)), q, k, v, mask, g).graph.optimised())
    assert text.count("attention_gradient(") == 1


def test_second_derivatives() -> None:
    q, k, v, g = (ig.asarray(x) for x in arrays(18, (2,), (20, 30, 4, 4), np.float64))
    t = [ig.asarray(x) for x in arrays(19, (2,), (20, 30, 4, 4), np.float64)[:3]]
    keep = ig.asarray(np.random.default_rng(20).random((20, 30)) > 0.3)

    def loss(q: Any, k: Any, v: Any) -> Any:
        return ig.sum(ig.scaled_dot_product_attention(q, k, v, keep) ** 2 * g)

    gradient = ig.grad(loss, argnums=(0, 1, 2))

    def along(q: Any, k: Any, v: Any) -> Any:
        return sum(ig.sum(a * b) for a, b in zip(gradient(q, k, v), t, strict=True))

    step = 1e-5
    there = gradient(*(x + step * d for x, d in zip((q, k, v), t, strict=True)))
    back = gradient(*(x - step * d for x, d in zip((q, k, v), t, strict=True)))
    slopes = [(a - b).numpy() / (2 * step) for a, b in zip(there, back, strict=True)]
    for second in (
        ig.jit(ig.grad(along, argnums=(0, 1, 2)))(q, k, v),
        ig.jvp(gradient, (q, k, v), tuple(t))[1],
    ):
        for one, slope in zip(second, slopes, strict=True):
            np.testing.assert_allclose(one.numpy(), slope, rtol=1e-6, atol=1e-8)


def test_on_the_tape() -> None:
    operands = arrays(21, (2,), (60, 70, 8, 8))
    leaves = [ig.asarray(x, requires_grad=True) for x in operands[:3]]
    (ig.scaled_dot_product_attention(*leaves, causal=True) * ig.asarray(operands[3])).sum().backward()
    want = gradients([ig.asarray(x) for x in operands], causal=True)
    for leaf, one in zip(leaves, want, strict=True):
        assert leaf.grad is not None
        assert leaf.grad.numpy().tobytes() == one.numpy().tobytes()
