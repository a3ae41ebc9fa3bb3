"""Convolution and pooling against an oracle that is not ours: sliding windows of NumPy, summed by einsum in
float64, and
scipy.signal where it has the case."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.signal

import intaglio as ig

Array = np.ndarray[Any, Any]


def windows(x: Array, taps: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Array:
    """[batch, channels, places..., taps...] of [batch, channels, space...]."""
    reach = tuple((t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True))
    axes = tuple(range(2, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
    index = (
        slice(None),
        slice(None),
        *(slice(None, None, s) for s in stride),
        *(slice(None, None, d) for d in dilation),
    )
    return view[index]


def conv(x: Array, w: Array, stride: int, padding: int, dilation: int, groups: int, zero: float = 0.0) -> Array:
    space = x.ndim - 2
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0)] + [(padding, padding)] * space, constant_values=zero)
    out = []
    for xs, ws in zip(np.split(wide, groups, 1), np.split(w.astype(np.float64), groups, 0), strict=True):
        view = windows(xs, w.shape[2:], (stride,) * space, (dilation,) * space)
        letters = "uvw"[:space]
        out.append(np.einsum(f"bc{letters.upper()}{letters},oc{letters}->bo{letters.upper()}", view, ws))
    return np.concatenate(out, 1)


CASES = [
    (space, stride, padding, dilation, groups)
    for space, stride, padding, dilation, groups in itertools.product((1, 2, 3), (1, 2), (0, 1), (1, 2), (1, 2))
    if space < 3 or (stride, dilation) in ((1, 1), (2, 2))
]


@pytest.mark.parametrize(("space", "stride", "padding", "dilation", "groups"), CASES)
def test_conv(space: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    rng = np.random.default_rng(space)
    sizes = (11, 9, 7)[:space]
    x = rng.standard_normal((2, 4, *sizes)).astype(np.float32)
    w = rng.standard_normal((6, 4 // groups, *(3, 2, 3)[:space])).astype(np.float32)
    options: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    want = conv(x, w, stride, padding, dilation, groups)
    got = ig.conv(ig.asarray(x), ig.asarray(w), **options)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=2e-5)
    program = ig.trace(lambda a, b: ig.conv(a, b, **options), ig.asarray(x), ig.asarray(w))
    assert program(x, w).numpy().tobytes() == got.numpy().tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_conv_dtypes(dtype: str) -> None:
    rng = np.random.default_rng(1)
    x, w = ((rng.standard_normal(shape) * 3).astype(dtype) for shape in ((1, 3, 8, 8), (5, 3, 3, 3)))
    got = ig._intaglio.op("convolution")(ig.asarray(x), ig.asarray(w)).numpy()
    want = conv(x, w, 1, 0, 1, 1)
    bound = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-13, "int32": 0}[dtype]
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=bound, atol=bound * 30)


def test_conv_against_scipy() -> None:
    rng = np.random.default_rng(2)
    x, w = rng.standard_normal((33, 21)), rng.standard_normal((5, 4))
    want = scipy.signal.correlate(x, w, mode="valid", method="direct")
    got = ig.conv(ig.asarray(x[None, None]), ig.asarray(w[None, None])).numpy()[0, 0]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    full = scipy.signal.convolve(x[0], w[0], mode="full", method="direct")
    got = ig.conv(ig.asarray(x[0][None, None]), ig.asarray(w[0][::-1].copy()[None, None]), padding=3).numpy()[0, 0]
    np.testing.assert_allclose(got, full, rtol=1e-12, atol=1e-12)


def test_bias_and_padding_of_infinities() -> None:
    x = np.full((1, 1, 3), np.inf, np.float32)
    got = ig.conv(ig.asarray(x), ig.ones((2, 1, 3)), ig.asarray([1.0, -1.0]), padding=1).numpy()
    assert np.isposinf(got).all(), "padding does not contribute: 0 times infinity is never formed"
    got = ig.conv(ig.zeros((1, 1, 4)), ig.ones((2, 1, 2)), ig.asarray([1.0, -1.0])).tolist()
    assert got == [[[1.0] * 3, [-1.0] * 3]]


POOLS = list(itertools.product((1, 2, 3), (2, 3), (1, 2, None), (0, 1)))


@pytest.mark.parametrize(("space", "size", "stride", "padding"), POOLS)
def test_pools(space: int, size: int, stride: int | None, padding: int) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 3, *(10, 7, 6)[:space])).astype(np.float32)
    options: dict[str, Any] = {"kernel_size": size, "padding": padding}
    if stride is not None:
        options["stride"] = stride
    steps = (stride or size,) * space
    pad = [(0, 0), (0, 0)] + [(padding, padding)] * space
    last = tuple(range(2 + space, 2 + 2 * space))
    top = windows(np.pad(x, pad, constant_values=-np.inf), (size,) * space, steps, (1,) * space).max(last)
    assert ig.max_pool(ig.asarray(x), **options).numpy().tobytes() == np.ascontiguousarray(top).tobytes()
    total = windows(np.pad(x.astype(np.float64), pad), (size,) * space, steps, (1,) * space).sum(last)
    count = windows(np.pad(np.ones_like(x), pad), (size,) * space, steps, (1,) * space).sum(last)
    np.testing.assert_allclose(ig.avg_pool(ig.asarray(x), **options).numpy(), total / size**space, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        ig.avg_pool(ig.asarray(x), **options, count_include_pad=False).numpy(),
        total / count,
        rtol=1e-5,
        atol=1e-6,
    )


def test_max_pool_of_nan_and_integers() -> None:
    x = np.array([[[1.0, np.nan, 2.0, 3.0]]], np.float32)
    np.testing.assert_array_equal(ig.max_pool(ig.asarray(x), kernel_size=2).numpy(), [[[np.nan, 3.0]]])
    whole = np.array([[[-5, -9, -2, -7]]], np.int8)
    assert ig.max_pool(ig.asarray(whole), kernel_size=2, padding=1).tolist() == [[[-5, -2, -7]]]
