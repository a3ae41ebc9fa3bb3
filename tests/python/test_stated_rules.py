"""Derivatives that composites state in their declarations: as exact as float64 says where the steps of the body are
not, nothing that the body alone would need, and rules like all others (jvp, second order, vmap, 16-bit floats)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

RNG = np.random.default_rng(0)


def worst(f: Callable[..., Any], *arrays: np.ndarray, argnums: tuple[int, ...] = (0,)) -> float:
    """The largest error of the gradients in float32, beside those in float64 of the same numbers."""
    single = [x.astype(np.float32) for x in arrays]
    ours = ig.grad(f, argnums=argnums)(*map(ig.asarray, single))
    exact = ig.grad(f, argnums=argnums)(*(ig.asarray(x.astype(np.float64)) for x in single))
    errors = []
    for a, b in zip(ours, exact, strict=True):
        want = b.numpy()
        assert np.isfinite(want).all()
        errors.append(float(np.max(np.abs(a.numpy() - want)) / np.max(np.abs(want))))
    return max(errors)


def two_axes(x: ig.Tensor, g: ig.Tensor, b: ig.Tensor) -> ig.Tensor:
    return ig.layer_norm(x, ig.reshape(g, (4, 8)), ig.reshape(b, (4, 8)), normalized_rank=2)


NORMS: dict[str, tuple[Callable[..., Any], tuple[int, ...], int]] = {
    "layer_norm": (lambda x, g, b: ig.layer_norm(x, g, b), (6, 96), 96),
    "two axes": (two_axes, (5, 4, 8), 32),
    "group_norm": (lambda x, g, b: ig.group_norm(x, g, b, num_groups=2), (3, 4, 40), 4),
    "rms_norm": (lambda x, g, b: ig.rms_norm(x, g) + b, (6, 96), 96),
}


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
@pytest.mark.parametrize("name", NORMS)
def test_normalisations_far_from_zero(name: str, offset: float) -> None:
    norm, shape, weights = NORMS[name]
    x, w = RNG.normal(size=shape) + offset, RNG.normal(size=shape)
    g, b = RNG.normal(size=weights), RNG.normal(size=weights)
    # The mean square of a row far from 0 leaves nothing of the row's own: its gradient by x is all cancellation.
    argnums = (1, 2) if name == "rms_norm" and offset else (0, 1, 2)
    assert worst(lambda x, g, b, w: ig.sum(norm(x, g, b) * w), x, g, b, w, argnums=argnums) < 2e-6


@pytest.mark.parametrize("name", NORMS)
def test_values_far_from_zero(name: str) -> None:
    norm, shape, weights = NORMS[name]
    x = (RNG.normal(size=shape) + 1e4).astype(np.float32)
    g, b = np.ones(weights), np.zeros(weights)
    ours = norm(ig.asarray(x), ig.asarray(g.astype(np.float32)), ig.asarray(b.astype(np.float32))).numpy()
    exact = norm(ig.asarray(x.astype(np.float64)), ig.asarray(g), ig.asarray(b)).numpy()
    assert np.max(np.abs(ours - exact)) < 3e-6


@pytest.mark.parametrize("x", [np.full((2, 8), 1e10), np.zeros((2, 8)), np.full((2, 8), 0.1)])
def test_constant_rows_have_no_variance(x: np.ndarray) -> None:
    array = ig.asarray(x.astype(np.float32))
    w = ig.asarray(RNG.normal(size=x.shape).astype(np.float32))
    value, gradient = ig.value_and_grad(lambda x: ig.sum(ig.layer_norm(x) * w))(array)
    assert value == 0
    centred = w.numpy() - w.numpy().mean(-1, keepdims=True)
    np.testing.assert_allclose(gradient.numpy(), centred / np.sqrt(1e-5), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("offset", [0.0, 300.0, -1e4])
def test_shares_of_a_row_do_not_feel_its_size(offset: float) -> None:
    x, w = RNG.normal(size=(6, 64)) + offset, RNG.normal(size=6)
    assert worst(lambda x, w: ig.sum(ig.logsumexp(x, axis=-1) * w), x, w) < 1e-6
    labels = ig.asarray(RNG.integers(0, 64, size=6))
    assert worst(lambda x: ig.cross_entropy(x, labels), x) < 1e-6


def test_logsumexp_of_nothing_has_no_shares() -> None:
    x = ig.asarray([[-np.inf, -np.inf], [-np.inf, 0.0]])
    gradient = ig.grad(lambda x: ig.sum(ig.logsumexp(x, axis=1)[1:]))(x)
    assert gradient.tolist() == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("x", [-1e4, -60.0, -20.0, -1.0, 1e-3, 2.0])
def test_powers_less_one_keep_their_slope(x: float) -> None:
    for f in (ig.expm1, ig.elu):
        want = np.exp(x) if f is ig.expm1 or x < 0 else 1.0
        np.testing.assert_allclose(float(ig.grad(f)(ig.asarray(x, dtype=ig.float32))), want, rtol=1e-5)


def test_normalize_at_zero() -> None:
    w = np.array([[1.0, -2.0, 3.0]], np.float32)
    gradient = ig.grad(lambda x: ig.sum(ig.normalize(x, eps=0.5) * ig.asarray(w)))(ig.zeros((1, 3)))
    assert gradient.tolist() == (w / 0.5).tolist()
    # Below eps it is x / eps, above it the length counts.
    assert worst(lambda x: ig.sum(ig.normalize(x, eps=100.0)[:, 0]), RNG.normal(size=(4, 5))) < 1e-6
    assert worst(lambda x, w: ig.sum(ig.normalize(x) * w), RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5))) < 1e-6


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_cross_entropy_is_share_less_label(reduction: str) -> None:
    x = RNG.normal(size=(5, 7)).astype(np.float32) * 4
    labels = np.array([0, 6, -100, 3, 3])
    scale = RNG.normal(size=5).astype(np.float32)

    def loss(x: ig.Tensor) -> ig.Tensor:
        out = ig.cross_entropy(x, ig.asarray(labels), reduction=reduction)
        return ig.sum(out * ig.asarray(scale)) if reduction == "none" else out

    share = np.exp(x.astype(np.float64))
    share /= share.sum(-1, keepdims=True)
    counts = (labels != -100).astype(np.float64)
    want = (share - np.eye(7)[np.clip(labels, 0, 6)]) * counts[:, None]
    want *= {"none": scale[:, None], "sum": 1.0, "mean": 1 / counts.sum()}[reduction]
    np.testing.assert_allclose(ig.grad(loss)(ig.asarray(x)).numpy(), want, rtol=1e-5, atol=1e-7)
    text = str(ig.trace(ig.grad(loss), ig.asarray(x)).graph.optimised())
    assert "scatter" not in text
    assert "gather" not in text


def test_labels_out_of_range_are_clamped_in_both_directions() -> None:
    x = ig.asarray([[1.0, 2.0, 3.0]])
    for label, same in ((-5, 0), (9, 2)):
        by = [ig.grad(lambda x, i=i: ig.cross_entropy(x, ig.asarray([i])))(x) for i in (label, same)]
        assert by[0].tolist() == by[1].tolist()


def test_rows_that_do_not_count_give_nothing_whatever_they_hold() -> None:
    x = np.array([[1.0, 2.0], [np.nan, 0.0], [-np.inf, -np.inf], [np.inf, 0.0]], np.float32)
    labels = ig.asarray([1, -100, -100, -100])
    value, gradient = ig.value_and_grad(lambda x: ig.cross_entropy(x, labels))(ig.asarray(x))
    np.testing.assert_allclose(float(value), np.log1p(np.exp(-1)), rtol=1e-6)
    assert gradient[1:].tolist() == [[0.0, 0.0]] * 3
    # Scores of -inf are classes that cannot be; logits of 1e4 leave a share of 0 and no NaN.
    far = ig.asarray([[-np.inf, 1e4, -1e4], [0.0, -np.inf, 1e4]])
    gradient = ig.grad(lambda x: ig.cross_entropy(x, ig.asarray([2, 0]), reduction="sum"))(far)
    assert gradient.tolist() == [[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "layer_norm": lambda x, w: ig.sum(ig.layer_norm(x, w[0], w[1]) ** 3 * w),
    "rms_norm": lambda x, w: ig.sum(ig.rms_norm(x, w[0]) ** 3 * w),
    "group_norm": lambda x, w: ig.sum(ig.group_norm(x, w[0], w[1], num_groups=2) ** 3 * w),
    "normalize": lambda x, w: ig.sum(ig.normalize(x) ** 3 * w),
    "cross_entropy": lambda x, w: ig.sum(ig.cross_entropy(x * w, ig.asarray([1, 0, 3]), reduction="none") ** 2),
    "logsumexp": lambda x, w: ig.sum(ig.logsumexp(x * w, axis=0) ** 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rules_are_rules(name: str) -> None:
    """Second order against differences, forward over reverse and over forward, and a batch against a loop."""
    f = FUNCTIONS[name]
    x, w, t, u = (ig.asarray(RNG.normal(size=(3, 4))) for _ in range(4))
    gradient = ig.grad(f)

    def push(x: ig.Tensor) -> ig.Tensor:
        return ig.sum(gradient(x, w) * t)

    step = 1e-5
    slope = (gradient(x + step * t, w) - gradient(x - step * t, w)) / (2 * step)
    for second in (
        ig.jvp(lambda x: gradient(x, w), (x,), (t,))[1],  # forward over reverse
        ig.grad(push)(x),  # reverse over reverse
    ):
        np.testing.assert_allclose(second.numpy(), slope.numpy(), rtol=1e-6, atol=1e-7)

    def forward(x: ig.Tensor) -> Any:
        return ig.jvp(lambda x: f(x, w), (x,), (t,))[1]

    twice = ig.jvp(forward, (x,), (u,))[1]
    np.testing.assert_allclose(float(twice), float(ig.sum(slope * u)), rtol=1e-5, atol=1e-7)
    xs = ig.asarray(RNG.normal(size=(5, 3, 4)))
    batched = ig.jit(ig.vmap(lambda x: gradient(x, w)))(xs)
    np.testing.assert_allclose(batched.numpy(), np.stack([gradient(one, w).numpy() for one in xs]), rtol=1e-10)
    half = gradient(x.astype(ig.bfloat16), w.astype(ig.bfloat16))
    assert half.dtype == ig.bfloat16
    assert np.isfinite(half.astype(ig.float32).numpy()).all()
    # On the tape too.
    leaf = ig.asarray(x.numpy(), requires_grad=True)
    f(leaf, w).backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), gradient(x, w).numpy(), rtol=1e-10)


# --- attention -------------------------------------------------------------------------------------------------------


def attend(q: ig.Tensor, k: ig.Tensor, v: ig.Tensor, mask: Any = None, causal: bool = False) -> ig.Tensor:
    """Attention in plain steps, whose derivatives are those of the steps."""
    scores = ig.matmul(q, ig.matrix_transpose(k)) / float(np.sqrt(q.shape[-1]))
    taken = ig.ones(scores.shape[-2:], dtype=ig.bool)
    if mask is not None and mask.dtype == ig.bool:
        taken = ig.logical_and(taken, mask)
    elif mask is not None:
        scores = scores + mask
    if causal:
        taken = ig.logical_and(taken, ig.tril(ig.ones(scores.shape[-2:], dtype=ig.bool)))
    weights = ig.where(taken, ig.softmax(ig.where(taken, scores, -1e30)), 0.0)
    return ig.matmul(weights, v)


# Few positions: the weights are kept. Many: they are made again.
SIZES = [((2, 3), 7, 9, 4, 5), ((2,), 40, 40, 3, 2), ((), 1, 1, 2, 2)]


@pytest.mark.parametrize("mask", ["none", "bool", "float", "causal"])
@pytest.mark.parametrize("sizes", SIZES)
def test_attention_against_its_steps(sizes: tuple[tuple[int, ...], int, int, int, int], mask: str) -> None:
    batch, queries, keys, features, columns = sizes
    rng = np.random.default_rng(3)
    q, k, v, w = (
        ig.asarray(rng.normal(size=(*batch, *shape)))
        for shape in ((queries, features), (keys, features), (keys, columns), (queries, columns))
    )
    given: Any = None
    if mask == "bool":
        given = ig.asarray((rng.random((queries, keys)) > 0.3) | np.eye(queries, keys, dtype=bool))
    elif mask == "float":  # broadcasts over the first batch axis and the queries
        given = ig.asarray(rng.normal(size=(*(1 for _ in batch), 1, keys)))
    arguments = (q, k, v, given) if mask == "float" else (q, k, v)
    numbers = tuple(range(len(arguments)))

    def loss(attention: Callable[..., Any]) -> Callable[..., Any]:
        return lambda q, k, v, m=given: ig.sum(attention(q, k, v, m, causal=mask == "causal") ** 2 * w)

    def whole(q: ig.Tensor, k: ig.Tensor, v: ig.Tensor, m: Any, causal: bool) -> ig.Tensor:
        rest = () if m is None else (m,)
        return ig.scaled_dot_product_attention(q, k, v, *rest, causal=causal)

    tangents = tuple(ig.asarray(rng.normal(size=x.shape)) for x in arguments)

    def all_of(attention: Callable[..., Any]) -> list[Any]:
        f = loss(attention)
        gradient = ig.grad(f, argnums=numbers)
        slope = lambda *a: sum(ig.sum(g * t) for g, t in zip(gradient(*a), tangents, strict=True))  # noqa: E731
        push = ig.jvp(f, arguments, tangents)[1]
        linear = ig.linearize(f, *arguments)[1](*tangents)
        twice = ig.grad(slope, argnums=numbers)(*arguments)
        return [*ig.jit(gradient)(*arguments), push, linear, *twice, ig.jvp(slope, arguments, tangents)[1]]

    for ours, steps in zip(all_of(whole), all_of(attend), strict=True):
        size = max(1.0, float(ig.max(ig.abs(steps))))
        np.testing.assert_allclose(ours.numpy(), steps.numpy(), rtol=1e-9, atol=1e-11 * size)


def test_weights_of_long_attention_are_not_kept() -> None:
    q, k, v, w = (ig.asarray(RNG.normal(size=(2, 128, 8)).astype(np.float32)) for _ in range(4))

    def loss(q: ig.Tensor, k: ig.Tensor, v: ig.Tensor) -> ig.Tensor:
        for _ in range(4):
            q = ig.scaled_dot_product_attention(q, k, v, causal=True)
        return ig.sum(q * w)

    def steps(q: ig.Tensor, k: ig.Tensor, v: ig.Tensor) -> ig.Tensor:
        for _ in range(4):
            q = attend(q, k, v, causal=True)
        return ig.sum(q * w)

    assert all(tuple(kept.shape) != (2, 128, 128) for kept in ig.saved_residuals(loss, q, k, v))
    peaks = [ig.trace(ig.grad(f, argnums=(0, 1, 2)), q, k, v).graph.report()["planned_peak"] for f in (loss, steps)]
    assert peaks[0] < 0.75 * peaks[1]
    for a, b in zip(ig.grad(loss, argnums=(0, 1, 2))(q, k, v), ig.grad(steps, argnums=(0, 1, 2))(q, k, v), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-4)
    # The value is that of the forward pass, bit by bit.
    assert float(ig.jit(ig.value_and_grad(loss))(q, k, v)[0]) == float(ig.jit(loss)(q, k, v))


@pytest.mark.parametrize("length", [4, 64])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masked_rows_and_keys_give_no_nan(length: int, kind: str) -> None:
    rng = np.random.default_rng(4)
    q, k, v, w = (rng.normal(size=(length, 2)).astype(np.float32) for _ in range(4))
    taken = np.ones((length, length), bool)
    taken[1] = False  # a query without a key
    taken[:, 2] = False  # a key that nobody looks at, with a value that must not be looked at
    v[2] = np.nan
    mask = ig.asarray(taken if kind == "bool" else np.where(taken, 0.0, -np.inf).astype(np.float32))
    arrays = tuple(map(ig.asarray, (q, k, v)))

    def loss(q: ig.Tensor, k: ig.Tensor, v: ig.Tensor) -> ig.Tensor:
        return ig.sum(ig.scaled_dot_product_attention(q, k, v, mask) * ig.asarray(w))

    value, gradients = ig.jit(ig.value_and_grad(loss, argnums=(0, 1, 2)))(*arrays)
    clean = np.where(np.isnan(v), 0, v)
    want = ig.grad(loss, argnums=(0, 1, 2))(arrays[0], arrays[1], ig.asarray(clean))
    assert np.isfinite(float(value))
    for gradient, one in zip(gradients, want, strict=True):
        assert np.isfinite(gradient.numpy()).all()
        np.testing.assert_allclose(gradient.numpy(), one.numpy(), rtol=1e-4, atol=1e-5)
    assert gradients[0][1].tolist() == [0.0, 0.0]
    assert gradients[1][2].tolist() == gradients[2][2].tolist() == [0.0, 0.0]


def test_attention_of_symbolic_lengths_and_batches() -> None:
    gradient = ig.jit(ig.grad(lambda q, k, v: ig.sum(ig.scaled_dot_product_attention(q, k, v, causal=True) ** 2)))
    one = ig.vmap(ig.grad(lambda q, k, v: ig.sum(ig.scaled_dot_product_attention(q, k, v) ** 2)))
    for length in (3, 5, 70, 33):
        q, k, v = (ig.asarray(RNG.normal(size=(2, length, 4))) for _ in range(3))
        want = ig.grad(lambda q, k, v: ig.sum(attend(q, k, v, causal=True) ** 2))(q, k, v)
        np.testing.assert_allclose(gradient(q, k, v).numpy(), want.numpy(), rtol=1e-9, atol=1e-11)
        want = ig.grad(lambda q, k, v: ig.sum(attend(q, k, v) ** 2))(q, k, v)
        np.testing.assert_allclose(one(q, k, v).numpy(), want.numpy(), rtol=1e-9, atol=1e-11)


# --- max-pooling -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "pool"),
    [
        ((2, 3, 8, 6), {"kernel_size": 2}),
        ((2, 3, 9, 7), {"kernel_size": 3, "stride": 2, "padding": 1}),
        ((2, 2, 7), {"kernel_size": 3, "stride": 1}),
        ((1, 2, 11, 11), {"kernel_size": 5, "stride": 2}),  # more taps than are written out
        ((1, 2, 4, 5, 6), {"kernel_size": (2, 1, 3), "stride": (1, 2, 1)}),
    ],
    ids=str,
)
def test_max_pooling_sends_each_gradient_to_one_element(shape: tuple[int, ...], pool: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    # Few different numbers: windows with several greatest elements, of which the first in row-major order is taken.
    x = ig.asarray(rng.integers(0, 3, size=shape).astype(np.float64))
    y = ig.max_pool(x, **pool)
    w = ig.asarray(rng.integers(1, 9, size=y.shape).astype(np.float64))
    gradient = ig.jit(ig.grad(lambda x: ig.sum(ig.max_pool(x, **pool) * w)))(x).numpy()

    space = len(shape) - 2
    each = lambda name, default: (lambda v: (v,) * space if isinstance(v, int) else v)(pool.get(name, default))  # noqa: E731
    window, padding = each("kernel_size", 1), each("padding", 0)
    step = each("stride", window)
    want = np.zeros(shape)
    for place in np.ndindex(*y.shape):
        best, chosen = -np.inf, None
        for tap in np.ndindex(*window):
            at = tuple(p * s + t - low for p, s, t, low in zip(place[2:], step, tap, padding, strict=True))
            if all(0 <= a < n for a, n in zip(at, shape[2:], strict=True)) and x.numpy()[place[:2] + at] > best:
                best, chosen = x.numpy()[place[:2] + at], place[:2] + at
        want[chosen] += w.numpy()[place]
    assert gradient.tolist() == want.tolist()

    # Forward mode is its adjoint, and the linear part may be differentiated again, and batched.
    t = ig.asarray(rng.normal(size=shape))
    push = ig.jvp(lambda x: ig.max_pool(x, **pool), (x,), (t,))[1]
    np.testing.assert_allclose(float(ig.sum(push * w)), float(np.sum(gradient * t.numpy())), rtol=1e-12)
    square = lambda x: ig.sum(ig.max_pool(x, **pool) ** 2 * w)  # noqa: E731
    second = ig.jvp(ig.grad(square), (x,), (t,))[1]
    np.testing.assert_allclose(second.numpy(), ig.grad(lambda x: ig.jvp(square, (x,), (t,))[1])(x).numpy(), rtol=1e-12)
    batched = ig.vmap(ig.grad(square))(ig.stack([x, -x]))
    np.testing.assert_allclose(batched[1].numpy(), ig.grad(square)(-x).numpy(), rtol=1e-12)


def test_max_pooling_of_nan_and_of_nothing_but_padding() -> None:
    x = ig.asarray([[[1.0, np.nan, 3.0, np.nan, -np.inf, -np.inf]]])
    gradient = ig.grad(lambda x: ig.sum(ig.max_pool(x, kernel_size=2) * ig.asarray([1.0, 2.0, 4.0])))(x)
    assert gradient.tolist() == [[[0.0, 1.0, 0.0, 2.0, 4.0, 0.0]]]
    text = str(ig.trace(ig.grad(lambda x: ig.sum(ig.max_pool(x, kernel_size=2) ** 2)), ig.ones((1, 1, 6))).graph)
    assert text.count("select_and_scatter_add(") == 1
    assert "slice(" not in text
