"""Convolution and pooling against an oracle that is not ours: sliding windows of NumPy, summed by einsum in
float64, and
scipy.signal where it has the case."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.signal
from tries import tries

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


WIDE = [
    ((1, 3, 61, 63), (20, 3, 7, 7), 2, 3, 1, 1),  # a stem: several chunks of places
    ((2, 64, 19, 17), (24, 64, 3, 3), 1, 1, 1, 1),  # weights walked by rows of taps
    ((1, 33, 40, 9), (18, 33, 1, 1), 1, 0, 1, 1),
    ((1, 8, 30, 300), (8, 8, 3, 3), 1, 2, 2, 1),  # rows longer than a chunk
    ((1, 12, 30, 31), (16, 6, 5, 5), 3, 2, 1, 2),
    ((2, 5, 700), (9, 5, 4), 1, 3, 1, 1),
    ((1, 4, 9, 10, 11), (6, 4, 3, 3, 3), 2, 1, 1, 1),
    ((1, 7, 20, 90), (7, 1, 3, 3), 1, 1, 1, 7),  # depthwise
    ((1, 7, 21, 91), (14, 1, 3, 5), 2, 2, 1, 7),
]


@pytest.mark.parametrize(("image", "kernel", "stride", "padding", "dilation", "groups"), WIDE)
def test_sizes_that_fill_blocks(
    image: tuple[int, ...], kernel: tuple[int, ...], stride: int, padding: int, dilation: int, groups: int
) -> None:
    rng = np.random.default_rng(5)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in (image, kernel))
    options: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    want = conv(x, w, stride, padding, dilation, groups)
    bias = rng.standard_normal((kernel[0], *(1,) * (len(image) - 2))).astype(np.float32)
    other = rng.standard_normal(want.shape).astype(np.float32)
    eager = ig.conv(ig.asarray(x), ig.asarray(w), **options)
    np.testing.assert_allclose(eager.numpy(), want, rtol=1e-5, atol=2e-4)
    # Weights packed beforehand, and work fused behind: the same bits.
    weights, add = ig.asarray(w), ig.asarray(bias)
    program = ig.trace(
        lambda a, b: ig.relu(ig.conv(a, weights, **options) + add + b), ig.asarray(x), ig.asarray(other), lift=False
    )
    whole = ig.relu(eager + ig.asarray(bias) + ig.asarray(other))
    assert program(x, other).numpy().tobytes() == whole.numpy().tobytes()
    # Neither the batch nor the rows below change a bit.
    one = ig.conv(ig.asarray(x[-1:]), ig.asarray(w), **options).numpy()
    assert one.tobytes() == eager.numpy()[-1:].tobytes()


@pytest.mark.parametrize("weight", [np.inf, -np.inf, np.nan])
def test_weights_that_are_not_finite_do_not_reach_over_padding(weight: float) -> None:
    x = np.ones((1, 2, 9, 40), np.float32)
    w = np.ones((8, 2, 3, 3), np.float32)
    w[:, :, 0, 0] = weight
    got = ig.conv(ig.asarray(x), ig.asarray(w), padding=1).numpy()
    edge = np.zeros(got.shape, bool)
    edge[:, :, 0, :], edge[:, :, :, 0] = True, True
    assert np.isfinite(got[edge]).all()
    assert not np.isfinite(got[~edge]).any()


def test_symbolic_images() -> None:
    rng = np.random.default_rng(6)
    w = ig.asarray(rng.standard_normal((10, 3, 3, 3)).astype(np.float32))
    rows, columns = ig.Dim("rows", 1, 512), ig.Dim("columns", 1, 512)
    program = ig.trace(
        lambda x: ig.max_pool(ig.conv(x, w, stride=1, padding=2), kernel_size=3, stride=2, padding=1),
        ig.zeros((1, 3, 8, 8)),
        dynamic_shapes={"x": {2: rows, 3: columns}},
        lift=False,
    )
    for size in ((1, 1), (5, 7), (40, 33), (3, 301)):
        x = ig.asarray(rng.standard_normal((1, 3, *size)).astype(np.float32))
        want = ig.max_pool(ig.conv(x, w, stride=1, padding=2), kernel_size=3, stride=2, padding=1)
        assert program(x).numpy().tobytes() == want.numpy().tobytes()


@pytest.mark.parametrize(("width", "stride"), list(itertools.product((5, 33, 64, 131), (1, 2, 3))))
def test_pools_of_long_rows(width: int, stride: int) -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((1, 2, 9, width)).astype(np.float32)
    x[0, 0, 4, width // 2], x[0, 1, 2, 0], x[0, 1, 2, 1] = np.nan, -0.0, 0.0
    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    want = windows(wide, (3, 3), (stride, stride), (1, 1)).max((4, 5))
    got = ig.max_pool(ig.asarray(x), kernel_size=3, stride=stride, padding=1).numpy()
    np.testing.assert_array_equal(got, want)


# --- symbolic sizes --------------------------------------------------------------------------------------------------

GEOMETRIES: list[dict[str, Any]] = [
    {"padding": 1},
    {},
    {"stride": 2},
    {"stride": 2, "padding": 1},
    {"stride": (3, 2), "padding": (0, 2)},
    {"dilation": 2},
    {"stride": 2, "dilation": 2, "padding": 1},
    {"groups": 2, "stride": 2},
]
SHAPES = [(2, 9, 8), (3, 10, 7), (1, 12, 12), (2, 5, 11), (3, 8, 6)]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_gradients_of_symbolic_batch_and_image_sizes(geometry: dict[str, Any]) -> None:
    """One trace for all sizes, by strides that leave elements of the image out or not, beside fixed sizes."""
    rng = np.random.default_rng(0)
    weight = ig.asarray(rng.normal(size=(4, 4 // geometry.get("groups", 1), 3, 3)))

    def loss(x: ig.Tensor, w: ig.Tensor) -> ig.Tensor:
        return ig.sum(ig.conv(x, w, **geometry) ** 3)

    gradient = ig.grad(loss, argnums=(0, 1))
    sizes = {"x": {0: ig.Dim("b", 1, 64), 2: ig.Dim("h", 5, 64), 3: ig.Dim("w", 5, 64)}}
    symbolic = ig.trace(gradient, ig.ones((2, 4, 9, 8), dtype=ig.float64), weight, dynamic_shapes=sizes)
    jitted = ig.jit(gradient)
    for batch, height, width in SHAPES:
        x = ig.asarray(rng.normal(size=(batch, 4, height, width)))
        fixed = ig.trace(gradient, x, weight)(x, weight)
        for ours in (symbolic(x, weight), jitted(x, weight)):
            for a, b in zip(ours, fixed, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-9)
    # One trace for the first call, one for all sizes, one for an axis of size 1.
    assert jitted.cache_info()["traces"] <= 3


def test_a_convnet_is_trained_on_batches_and_images_of_any_size() -> None:
    keys = ig.random.split(ig.random.key(0), 3)
    model = ig.nn.Sequential(
        ig.nn.Conv2d(3, 8, 3, stride=2, padding=1, key=keys[0]),
        ig.nn.ReLU(),
        ig.nn.MaxPool2d(2),
        ig.nn.Conv2d(8, 8, 3, padding=1, key=keys[1]),
        ig.nn.AvgPool2d(2),
    )

    def loss(x: ig.Tensor) -> ig.Tensor:
        return ig.mean(model(x) ** 2)

    step = ig.jit(lambda x: ig.nn.value_and_grad(model, loss)(x))
    rng = np.random.default_rng(1)
    for shape in ((4, 3, 16, 16), (3, 3, 18, 20), (5, 3, 33, 17), (2, 3, 24, 16)):
        x = ig.asarray(rng.normal(size=shape).astype(np.float32))
        value, gradients = step(x)
        want, exact = ig.nn.value_and_grad(model, loss)(x)
        np.testing.assert_allclose(float(value), float(want), rtol=1e-5)
        for a, b in zip(ig._intaglio.tree_flatten(gradients)[0], ig._intaglio.tree_flatten(exact)[0], strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-6)
    assert step.cache_info()["traces"] == 2


def plain_convolution(x: Array, w: Array, options: dict[str, Any]) -> Array:
    """By shifted products in float64, of image bf01 and kernel oi01, with gaps in the image, strides, dilations."""
    gaps, steps, spread = options["lhs_dilation"], options["strides"], options["rhs_dilation"]
    groups, (low0, high0, low1, high1) = options["feature_group_count"], options["padding"]
    wide = np.zeros((*x.shape[:2], *((n - 1) * g + 1 for n, g in zip(x.shape[2:], gaps, strict=True))))
    wide[:, :, :: gaps[0], :: gaps[1]] = x
    wide = np.pad(wide, ((0, 0), (0, 0), (max(low0, 0), max(high0, 0)), (max(low1, 0), max(high1, 0))))
    wide = wide[:, :, max(-low0, 0) : wide.shape[2] - max(-high0, 0), max(-low1, 0) : wide.shape[3] - max(-high1, 0)]
    places = [
        max(0, (n - (t - 1) * d - 1) // s + 1)
        for n, t, d, s in zip(wide.shape[2:], w.shape[2:], spread, steps, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *places))
    if 0 in places:
        return out
    inputs, features = w.shape[1], w.shape[0] // groups
    for g, i, j in itertools.product(range(groups), range(w.shape[2]), range(w.shape[3])):
        rows = slice(i * spread[0], i * spread[0] + (places[0] - 1) * steps[0] + 1, steps[0])
        columns = slice(j * spread[1], j * spread[1] + (places[1] - 1) * steps[1] + 1, steps[1])
        part, of = wide[:, g * inputs : (g + 1) * inputs, rows, columns], slice(g * features, (g + 1) * features)
        out[:, of] += np.einsum("bcyx,oc->boyx", part, w[of, :, i, j].astype(np.float64))
    return out


LAYOUTS = ("bf01_oi01->bf01", "bf01_oi01->b01f", "b01f_oi01->b01f", "b01f_01io->bf01", "f01b_io01->fb01")


@pytest.mark.parametrize("seed", range(tries(12)))
def test_any_convolution(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def pick(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    inputs, features, groups = pick((1, 4, 1), (3, 17, 1), (37, 5, 1), (16, 35, 1), (2, 6, 3), (1, 16, 16), (1, 7, 7))
    image = (pick(1, 2, 7), groups * inputs, pick(1, 3, 8, 13), pick(1, 4, 9, 30))
    kernel = (features if groups > 3 else features * groups, inputs, pick(1, 2, 3, 5), pick(1, 3, 4))
    options: dict[str, Any] = {
        "strides": (pick(1, 2, 3), pick(1, 2)),
        "padding": tuple(pick(-1, 0, 1, 2, 3) for _ in range(4)),
        "lhs_dilation": (pick(1, 1, 2, 3), pick(1, 1, 2, 4)),
        "rhs_dilation": (pick(1, 1, 2, 3), pick(1, 2)),
        "feature_group_count": groups,
    }
    reach = [
        (n - 1) * g + 1 + options["padding"][2 * s] + options["padding"][2 * s + 1]
        for s, (n, g) in enumerate(zip(image[2:], options["lhs_dilation"], strict=True))
    ]
    for s in range(2):  # the kernel fits, with more padding where it would not
        short = (kernel[2 + s] - 1) * options["rhs_dilation"][s] + 1 - reach[s]
        if short > 0:
            padding = list(options["padding"])
            padding[2 * s] += short
            options["padding"] = tuple(padding)
    dtype = pick("float32", "float64")
    x, w = rng.standard_normal(image).astype(dtype), rng.standard_normal(kernel).astype(dtype)
    want = plain_convolution(x, w, options)
    op = ig._intaglio.op("convolution")
    bound = 2e-4 if dtype == "float32" else 1e-11
    for layout in LAYOUTS:
        (of_x, of_w), of_y = layout.split("->")[0].split("_"), layout.split("->")[1]
        a = ig.asarray(np.ascontiguousarray(x.transpose(["bf01".index(axis) for axis in of_x])))
        b = ig.asarray(np.ascontiguousarray(w.transpose(["oi01".index(axis) for axis in of_w])))
        eager = op(a, b, layout=layout, **options)
        got = eager.numpy().transpose([of_y.index(axis) for axis in "bf01"])
        np.testing.assert_allclose(got, want, rtol=bound, atol=bound)
        # Packed beforehand: the same bits, in every layout.
        program = ig.trace(lambda a, b=b, layout=layout: op(a, b, layout=layout, **options), a, lift=False)
        assert program(a).numpy().tobytes() == eager.numpy().tobytes()


# Of depthwise convolutions, then of those whose sums are short; (groups, features of each, sums of each).
ROWS = [(n, 1, 1) for n in (3, 8, 20, 32, 40)] + [(1, 3, 16), (1, 3, 40), (1, 1, 6), (1, 2, 33), (4, 8, 8), (3, 3, 20)]
WIDTHS = (*range(1, 15), 56, 113)


@pytest.mark.parametrize(("groups", "inputs", "outputs"), ROWS)
@pytest.mark.parametrize("seed", range(tries(3)))
def test_rows_in_tiles(groups: int, inputs: int, outputs: int, seed: int) -> None:
    """Rows of any width in tiles, and the same with features first, which walks otherwise; a third of the widths."""
    features = groups * outputs
    rng = np.random.default_rng(seed)
    op = ig._intaglio.op("convolution")
    for width in WIDTHS[seed % 3 :: 3]:
        taps = (int(rng.integers(1, 4)), int(rng.integers(1, 6)))
        spread = (int(rng.integers(1, 3)), int(rng.integers(1, 4)))
        low, high = (int(n) for n in rng.integers(0, taps[1] * spread[1], 2))
        reach = (taps[1] - 1) * spread[1] + 1
        options: dict[str, Any] = {
            "strides": (int(rng.integers(1, 3)), int(rng.integers(1, 4))),
            "padding": (1, taps[0] * spread[0], low, high + max(0, reach - width - low - high)),
            "lhs_dilation": (1, 1),
            "rhs_dilation": spread,
            "feature_group_count": groups,
        }
        dtype = "float64" if width % 5 == 0 else "float32"
        x = rng.standard_normal((2, groups * inputs, int(rng.integers(2, 12)), width)).astype(dtype)
        w = rng.standard_normal((features, inputs, *taps)).astype(dtype)
        bias = ig.asarray(rng.standard_normal(features).astype(dtype))
        w_last = ig.asarray(w)

        def rows(x: Any, w: Any = w_last, bias: Any = bias, options: Any = options) -> Any:
            return ig.maximum(op(x, w, layout="b01f_oi01->b01f", **options) + bias, 0.0)

        def noted(x: Any, w: Any = w_last, bias: Any = bias, options: Any = options) -> Any:
            return ig.maximum(op(x, w, layout="bf01_oi01->bf01", **options) + bias[:, None, None], 0.0)

        want = np.maximum(plain_convolution(x, w, options) + bias.numpy()[:, None, None], 0).transpose(0, 2, 3, 1)
        last = ig.asarray(np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
        bound = 2e-4 if dtype == "float32" else 1e-11
        first = ig.trace(noted, ig.asarray(x))(ig.asarray(x)).numpy().transpose(0, 2, 3, 1)
        for lift in (False, True):
            got = ig.trace(rows, last, lift=lift)(last).numpy()
            np.testing.assert_allclose(got, want, rtol=bound, atol=bound)
            assert got.tobytes() == first.tobytes()


@pytest.mark.parametrize(("inputs", "features"), [(4, 4), (2, 4), (3, 2), (1, 2), (4, 8), (5, 4)])
@pytest.mark.parametrize("seed", range(tries(3)))
def test_narrow_groups(inputs: int, features: int, seed: int) -> None:
    """Groups of a few features are taken together; each has the bits that it has as a convolution of its own.
    A third of the layouts."""
    rng = np.random.default_rng(seed)
    op = ig._intaglio.op("convolution")
    for groups, width in ((2, 5), (8, 14), (9, 13), (32, 7), (40, 30)):
        dtype = "float64" if groups == 9 else "float32"
        taps = (int(rng.integers(1, 4)), int(rng.integers(2, 4)))
        options: dict[str, Any] = {
            "strides": (int(rng.integers(1, 3)), int(rng.integers(1, 3))),
            "padding": tuple(int(n) for n in rng.integers(0, 3, 4)),
            "rhs_dilation": (int(rng.integers(1, 3)), 1),
        }
        x = rng.standard_normal((3, inputs * groups, int(rng.integers(6, 12)), width)).astype(dtype)
        w = rng.standard_normal((features * groups, inputs, *taps)).astype(dtype)
        parts = zip(np.split(x, groups, 1), np.split(w, groups, 0), strict=True)
        want = np.concatenate(
            [op(ig.asarray(a.copy()), ig.asarray(b.copy()), layout="bf01_oi01->bf01", **options) for a, b in parts], 1
        )
        plain = plain_convolution(x, w, {"lhs_dilation": (1, 1), "feature_group_count": groups, **options})
        bound = 2e-4 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(want, plain, rtol=bound, atol=bound)
        for layout in LAYOUTS[seed % 3 :: 3]:
            (of_x, of_w), of_y = layout.split("->")[0].split("_"), layout.split("->")[1]
            a = ig.asarray(np.ascontiguousarray(x.transpose(["bf01".index(axis) for axis in of_x])))
            b = ig.asarray(np.ascontiguousarray(w.transpose(["oi01".index(axis) for axis in of_w])))

            def conv(a: Any, b: Any = b, layout: str = layout, options: Any = options, groups: int = groups) -> Any:
                return op(a, b, layout=layout, feature_group_count=groups, **options)

            for got in (conv(a), ig.trace(conv, a, lift=False)(a)):
                assert np.array_equal(got.numpy().transpose([of_y.index(axis) for axis in "bf01"]), want)


def test_depthwise_volumes() -> None:
    """Two axes are walked row by row, the third in tiles; the bits are those of features first."""
    rng = np.random.default_rng(0)
    x, w = (
        rng.standard_normal((2, 5, 6, 9, 11)).astype(np.float32),
        rng.standard_normal((5, 1, 2, 3, 3)).astype(np.float32),
    )
    op = ig._intaglio.op("convolution")
    options = {"strides": (1, 2, 1), "padding": (1, 0, 1, 1, 0, 2), "feature_group_count": 5}
    last = ig.asarray(np.ascontiguousarray(x.transpose(0, 2, 3, 4, 1)))
    got = ig.trace(lambda x: op(x, ig.asarray(w), layout="b012f_oi012->b012f", **options), last)(last).numpy()
    first = op(ig.asarray(x), ig.asarray(w), layout="bf012_oi012->bf012", **options).numpy()
    assert got.tobytes() == np.ascontiguousarray(first.transpose(0, 2, 3, 4, 1)).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("groups", [1, 2, 12])
def test_a_network_has_the_bits_of_its_layers(groups: int, dtype: str) -> None:
    rng = np.random.default_rng(groups)
    arrays = {
        "stem": (12, 3, 5, 5),
        "one": (12, 12 // groups, 3, 3),
        "two": (24, 12, 1, 1),
        "skip": (24, 12, 3, 3),
        "mean": (24,),
        "scale": (24,),
    }
    w = {name: ig.asarray((rng.standard_normal(shape) * 0.4).astype(dtype)) for name, shape in arrays.items()}
    variance = ig.asarray((rng.random(24) + 0.5).astype(dtype))

    def network(x: ig.Tensor) -> ig.Tensor:
        h = ig.max_pool(ig.relu(ig.conv(x, w["stem"], stride=2, padding=2)), kernel_size=3, stride=2, padding=1)
        y = ig.relu(ig.conv(h, w["one"], padding=1, groups=groups))
        y = ig.batch_norm(ig.conv(y, w["two"]), w["mean"], variance, w["scale"], w["mean"])
        return ig.relu(y + ig.conv(h, w["skip"], padding=1))

    for batch, size in ((7, (23, 31)), (1, (9, 8))):
        x = ig.asarray(rng.standard_normal((batch, 3, *size)).astype(dtype))
        want = network(x).numpy()
        for lift in (False, True):
            program = ig.trace(network, x, lift=lift)
            assert program(x).numpy().tobytes() == want.tobytes()
        report = ig.trace(network, x, lift=False).graph.report()
        kinds = [line.split(":")[0] for line in report["fusion_log"] if " does not join " not in line]
        # Four convolutions and a window; the rest is arithmetic on one number a channel.
        assert kinds.count("contraction") == 4
        assert kinds.count("heavy") == 1
        assert not [line for line in report["fusion_log"] if line.startswith("loop: transpose")]


def test_gradients_of_strided_convolutions_form_no_zeros() -> None:
    rng = np.random.default_rng(9)
    x, w = rng.standard_normal((3, 5, 9, 10)), rng.standard_normal((6, 5, 3, 2))

    def loss(x: ig.Tensor, w: ig.Tensor) -> ig.Tensor:
        return ig.sum(ig.conv(x, w, stride=(2, 3), padding=1) ** 3)

    program = ig.trace(ig.grad(loss, argnums=(0, 1)), ig.asarray(x), ig.asarray(w))
    assert "pad(" not in program.graph.str()
    got = program(ig.asarray(x), ig.asarray(w))
    step = 1e-5
    for which, (array, gradient) in enumerate(zip((x, w), got, strict=True)):
        for _ in range(12):
            place = tuple(rng.integers(n) for n in array.shape)
            moved = [x.copy(), w.copy()]
            moved[which][place] += step
            above = float(loss(*map(ig.asarray, moved)))
            moved[which][place] -= 2 * step
            below = float(loss(*map(ig.asarray, moved)))
            np.testing.assert_allclose(gradient.numpy()[place], (above - below) / (2 * step), rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["b01f_oi01->b01f", "bf01_oi01->bf01", "b01f_oi01->bf01"])
@pytest.mark.parametrize("constant", [False, True])
def test_symbolic_batches(layout: str, constant: bool) -> None:
    rng = np.random.default_rng(8)
    image = (5, 7, 6) if layout.startswith("bf") else (7, 6, 5)
    w = ig.asarray(rng.standard_normal((9, 5, 3, 3)).astype(np.float32))
    op = ig._intaglio.op("convolution")
    options: dict[str, Any] = {"layout": layout, "padding": (1, 1, 1, 1), "strides": (1, 2)}
    sizes = {"x": {0: ig.Dim("batch", 1, 4096)}}
    example = ig.zeros((4, *image))
    if constant:
        known = ig.trace(lambda x: ig.relu(op(x, w, **options)), example, dynamic_shapes=sizes, lift=False)
    else:
        given = ig.trace(lambda x, w: ig.relu(op(x, w, **options)), example, w, dynamic_shapes=sizes)
    for batch in (1, 2, 3, 8, 33, 100):
        x = ig.asarray(rng.standard_normal((batch, *image)).astype(np.float32))
        got = known(x) if constant else given(x, w)
        assert got.numpy().tobytes() == ig.relu(op(x, w, **options)).numpy().tobytes()


def _trained(x: ig.Tensor, w: list[ig.Tensor]) -> ig.Tensor:
    """Two convolutions with batch norms of the batch's own statistics."""
    for kernel, scale, shift in zip(w[::3], w[1::3], w[2::3], strict=True):
        x = ig.conv(x, kernel, padding=1)
        x = ig.relu(ig.batch_norm(x, ig.mean(x, axis=(0, 2, 3)), ig.var(x, axis=(0, 2, 3)), scale, shift))
    return ig.sum(x * x)


def _training_arrays(dtype: str) -> list[ig.Tensor]:
    rng = np.random.default_rng(31)
    shapes = [(20, 3, 3, 3), (20,), (20,), (33, 20, 3, 3), (33,), (33,)]
    return [ig.asarray((rng.standard_normal(shape) * 0.3 + 0.1).astype(dtype)) for shape in shapes]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "float16"])
@pytest.mark.parametrize(("batch", "features", "out"), [(1, 64, 33), (3, 9, 40), (0, 4, 4), (2, 1, 1), (7, 100, 3)])
def test_one_tap_has_the_bits_of_the_convolution(
    batch: int, features: int, out: int, dtype: str, last: bool, threads: int
) -> None:
    rng = np.random.default_rng(batch)
    x = ig.asarray(rng.standard_normal((batch, features, 8, 8)) * 8).astype(getattr(ig, dtype))
    w = ig.asarray(rng.standard_normal((out, features, 1, 1)) * 8).astype(getattr(ig, dtype))
    b = ig.asarray(rng.standard_normal((out, 1, 1)) * 8).astype(getattr(ig, dtype))

    def program(x: ig.Tensor, w: ig.Tensor) -> ig.Tensor:
        if last:
            x = ig.permute_dims(x, (0, 2, 3, 1)) * 2
            x = ig.permute_dims(x, (0, 3, 1, 2))
        y = ig.conv(x, w) * 3 + b
        return ig.permute_dims(y, (0, 2, 3, 1)) if last else y

    graph = ig.trace(program, x, w, lift=False).graph
    product, convolution = graph.compile(), graph.compile(disable=["one-tap-products"])
    assert any(line.startswith("one-tap-products: 1 change") for line in product.report()["pass_log"])
    before = ig.get_num_threads()
    ig.set_num_threads(threads)
    try:
        assert np.asarray(product(x, w)).tobytes() == np.asarray(convolution(x, w)).tobytes()
    finally:
        ig.set_num_threads(before)


def test_one_tap_of_a_symbolic_batch() -> None:
    rng = np.random.default_rng(0)
    w = ig.asarray(rng.standard_normal((12, 20, 1), np.float32))
    program = ig.trace(
        lambda x: ig.relu(ig.conv(x, w)), ig.zeros((4, 20, 7)), dynamic_shapes={"x": {0: ig.Dim("b", 1, 64)}}
    )
    for batch in (1, 2, 9):
        x = ig.asarray(rng.standard_normal((batch, 20, 7), np.float32))
        want = np.maximum(np.einsum("bip,oi->bop", x.numpy().astype(np.float64), w.numpy()[:, :, 0]), 0)
        np.testing.assert_allclose(program(x).numpy(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_statistics_of_a_batch_are_no_end_of_a_chain(dtype: str) -> None:
    w = _training_arrays(dtype)
    x = ig.asarray(np.random.default_rng(32).standard_normal((5, 3, 9, 35)).astype(dtype))
    graph = ig.trace(_trained, x, w).graph
    turned, plain = graph.compile(), graph.compile(disable=["choose-layouts"])
    flat = [x, *w]
    assert turned(*flat).numpy().tobytes() == plain(*flat).numpy().tobytes()  # the order of sums is the op's
    assert [line for line in turned.report()["pass_log"] if line.startswith("choose-layouts: 1 changes")]
    kernels = [line for line in turned.report()["fusion_log"] if " does not join " not in line]
    # Means and variances are read from the turned arrays as they lie.
    assert not [line for line in kernels if line.startswith("loop: transpose (")]
    assert len([line for line in kernels if line.startswith("column: transpose reduce_sum")]) >= 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_gradients_by_weights_are_no_end_of_a_chain(dtype: str) -> None:
    w = _training_arrays(dtype)
    x = ig.asarray(np.random.default_rng(32).standard_normal((5, 3, 9, 35)).astype(dtype))
    graph = ig.trace(ig.value_and_grad(_trained, argnums=1), x, w).graph
    turned, plain = graph.compile(), graph.compile(disable=["choose-layouts"])
    assert [line for line in turned.report()["pass_log"] if line.startswith("choose-layouts: 2 changes")]
    for one, other in zip(turned(x, *w), plain(x, *w), strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()


def test_gradients_by_weights_of_groups_keep_the_order_of_a_chain() -> None:
    """Their kernel turns over what it reads, which costs more than it saves where the features lie last."""

    def loss(w: ig.Tensor, v: ig.Tensor, x: ig.Tensor) -> ig.Tensor:
        return ig.sum(ig.sin(ig.conv(ig.sin(ig.conv(x, v)), w, padding=1, groups=2)))

    graph = ig.trace(ig.grad(loss), ig.ones((8, 4, 3, 3)), ig.ones((8, 5, 1, 1)), ig.ones((2, 5, 9, 9))).graph
    by_weights = [line for line in str(graph.optimised()).splitlines() if "batch_group_count = 2" in line]
    assert len(by_weights) == 1
    assert 'layout = "fb01_' in by_weights[0]


@pytest.mark.parametrize("batch", [2, 31, 64])
def test_gradients_by_weights_with_a_symbolic_batch(batch: int) -> None:
    w = _training_arrays("float32")
    gradient = ig.grad(_trained, argnums=1)
    example = ig.asarray(np.zeros((4, 3, 10, 11), np.float32))
    b = ig.Dim("b", 2, 128)
    program = ig.trace(gradient, example, w, dynamic_shapes={"x": {0: b}})
    x = ig.asarray(np.random.default_rng(batch).standard_normal((batch, 3, 10, 11)).astype(np.float32))
    fixed = ig.trace(gradient, x, w)
    for one, other in zip(program(x, w), fixed(x, w), strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
def test_the_kernel_of_weight_gradients_takes_any_batch(stride: int, groups: int) -> None:
    rng = np.random.default_rng(33)
    w = ig.asarray(rng.standard_normal((18, 6 // groups, 3, 3)).astype(np.float32))
    b = ig.Dim("b", 1, 128)

    def loss(w: ig.Tensor, x: ig.Tensor) -> ig.Tensor:
        return ig.sum(ig.conv(x, w, stride=stride, padding=1, groups=groups) ** 2)

    example = ig.asarray(np.zeros((4, 6, 12, 12), np.float32))
    program = ig.trace(ig.grad(loss), w, example, dynamic_shapes={"x": {0: b}})
    for batch in (1, 3, 40):
        x = ig.asarray(rng.standard_normal((batch, 6, 12, 12)).astype(np.float32))
        assert program(w, x).numpy().tobytes() == ig.trace(ig.grad(loss), w, x)(w, x).numpy().tobytes()


@pytest.mark.parametrize("features", [5, 16, 40])
def test_each_number_of_places(features: int) -> None:
    """Tiles of places end wherever a row's inner part or its border does, and the bits are those of any width."""
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((2, 3, 4, 40)), rng.standard_normal((features, 3, 3, 3))
    x, w = x.astype(np.float32), w.astype(np.float32)
    run = ig.jit(lambda x, w: ig.conv(x, w, padding=1))
    whole = np.asarray(run(ig.asarray(x), ig.asarray(w)))
    for width in range(1, 41):
        got = np.asarray(run(ig.asarray(x[..., :width]), ig.asarray(w)))
        np.testing.assert_allclose(got, conv(x[..., :width], w, 1, 1, 1, 1), atol=2e-5)
        np.testing.assert_array_equal(got[..., : width - 1], whole[..., : width - 1])


@pytest.mark.parametrize("seed", range(tries(8)))
def test_taps_that_stand_far_apart(seed: int) -> None:
    """Borders of several places that miss the same taps; windows that reach over both ends; nothing times padding."""
    rng = np.random.default_rng(100 + seed)
    inputs, features, groups = [(5, 17, 1), (1, 16, 16), (3, 4, 2), (16, 33, 1)][seed % 4]
    image = (2, groups * inputs, int(rng.integers(1, 24)), int(rng.integers(1, 40)))
    kernel = (features if groups > 3 else features * groups, inputs, int(rng.integers(1, 5)), int(rng.integers(2, 5)))
    spread = (int(rng.integers(1, 8)), int(rng.integers(2, 13)))
    padding = []
    for size, taps, apart in zip(image[2:], kernel[2:], spread, strict=True):
        reach = (taps - 1) * apart + 1
        low = int(rng.integers(0, reach + 1))
        padding += [low, max(int(rng.integers(0, reach + 1)), reach - size - low)]
    options: dict[str, Any] = {
        "strides": (int(rng.integers(1, 3)), int(rng.integers(1, 3)) if seed % 3 == 0 else 1),
        "padding": tuple(padding),
        "lhs_dilation": (1, 2) if seed % 5 == 4 else (1, 1),
        "rhs_dilation": spread,
        "feature_group_count": groups,
    }
    x, w = rng.standard_normal(image).astype(np.float32), rng.standard_normal(kernel).astype(np.float32)
    op = ig._intaglio.op("convolution")
    got = op(ig.asarray(x), ig.asarray(w), **options).numpy()
    np.testing.assert_allclose(got, plain_convolution(x, w, options), rtol=2e-4, atol=2e-4)
    # A tap that is not finite is seen just where it falls on the image.
    w[:, :, 0, 1] = np.inf
    seen = np.zeros(kernel, np.float32)
    seen[:, :, 0, 1] = 1
    met = plain_convolution(np.ones_like(x), seen, options) > 0
    infinite = op(ig.asarray(x), ig.asarray(w), **options).numpy()
    assert (np.isfinite(infinite) == ~met).all()
    assert (
        infinite[~met].tobytes()
        == op(ig.asarray(x), ig.asarray(np.where(seen > 0, 0, w)), **options).numpy()[~met].tobytes()
    )


@pytest.mark.parametrize(
    ("view", "shape"),
    [
        (lambda x: ig.repeat(ig.repeat(x, 2, axis=2), 2, axis=3), (2, 8, 5, 6)),
        (lambda x: ig.tile(x, (1, 1, 2, 2)), (2, 8, 5, 6)),
        (
            lambda x: ig.reshape(ig.permute_dims(ig.reshape(x, (2, 2, 4, 10, 12)), (0, 2, 1, 3, 4)), (2, 8, 10, 12)),
            None,
        ),
        (lambda x: ig.reshape(ig.permute_dims(x, (1, 0, 2, 3)), (2, 8, 10, 12)), (8, 2, 10, 12)),
        (lambda x: ig.permute_dims(x, (0, 3, 1, 2)), (2, 10, 12, 8)),
        (lambda x: x[:, ::2, :, ::-1], (2, 16, 10, 12)),
    ],
    ids=["repeat", "tile", "shuffle", "merge", "turn", "slice"],
)
def test_views_of_images(view: Any, shape: tuple[int, ...] | None) -> None:
    """At even distances or not, the bits are those of the view written out (which kernel runs: golden uneven_image)."""
    rng = np.random.default_rng(11)
    x = ig.asarray(rng.standard_normal(shape or (2, 8, 10, 12)).astype(np.float32))
    w = ig.asarray(rng.standard_normal((18, 8, 3, 3)).astype(np.float32))
    want = ig.conv(ig.asarray(view(x).numpy()), w, padding=1).numpy()
    for lift in (False, True):
        program = ig.trace(lambda x: ig.conv(view(x), w, padding=1), x, lift=lift)
        program.graph.compile()
        assert program(x).numpy().tobytes() == want.tobytes()


@pytest.mark.parametrize("seed", range(tries(8)))
def test_groups_of_the_batch(seed: int) -> None:
    """What gradients by the weights of grouped convolutions are: each group of images has features of its own."""
    rng = np.random.default_rng(200 + seed)
    # groups, images of a group, features of a group, what is summed over
    groups, images, features, inputs = [
        (3, 2, 4, 5), (20, 1, 1, 1), (37, 1, 1, 3), (5, 4, 17, 1), (16, 1, 2, 2), (2, 9, 33, 6), (7, 2, 1, 2)
    ][seed % 7]  # fmt: skip
    image = (groups * images, inputs, int(rng.integers(3, 9)), int(rng.integers(3, 20)))
    kernel = (groups * features, inputs, int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    options: dict[str, Any] = {
        "strides": (1 + seed % 2, 1),
        "padding": tuple(int(p) for p in rng.integers(0, 3, 4)),
        "lhs_dilation": (1, 2 if seed % 5 == 0 else 1),
        "rhs_dilation": (1, 1 + seed % 3 // 2),
        "feature_group_count": 1,
    }
    x, w = rng.standard_normal(image).astype(np.float32), rng.standard_normal(kernel).astype(np.float32)
    want = np.concatenate(
        [
            plain_convolution(x[g * images : (g + 1) * images], w[g * features : (g + 1) * features], options)
            for g in range(groups)
        ],
        axis=1,
    )
    op = ig._intaglio.op("convolution")
    for layout in LAYOUTS:
        (of_x, of_w), of_y = layout.split("->")[0].split("_"), layout.split("->")[1]
        a = ig.asarray(np.ascontiguousarray(x.transpose(["bf01".index(axis) for axis in of_x])))
        b = ig.asarray(np.ascontiguousarray(w.transpose(["oi01".index(axis) for axis in of_w])))
        eager = op(a, b, layout=layout, batch_group_count=groups, **options)
        got = eager.numpy().transpose([of_y.index(axis) for axis in "bf01"])
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)
        for lift in (False, True):  # packed beforehand, or not: the same bits
            program = ig.trace(
                lambda a, b=b, layout=layout: op(a, b, layout=layout, batch_group_count=groups, **options), a, lift=lift
            )
            program.graph.compile()
            assert program(a).numpy().tobytes() == eager.numpy().tobytes()


@pytest.mark.parametrize(("groups", "inputs", "features"), [(12, 1, 12), (12, 1, 24), (3, 4, 6), (1, 5, 7)])
def test_gradients_by_the_weights_of_groups(groups: int, inputs: int, features: int) -> None:
    """Of batches of any size, one program; each against a sum over the examples' own gradients."""
    rng = np.random.default_rng(groups + features)
    w = ig.asarray(rng.standard_normal((features, inputs, 3, 3)).astype(np.float32))

    def gradient(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        return ig.vjp(lambda w: ig.conv(x, w, padding=1, groups=groups), w)[1](y)[0]

    batch = ig.Dim("b", 1, 64)
    shapes = [ig.ShapeDtypeStruct((batch, n, 6, 7), ig.float32) for n in (groups * inputs, features)]
    program = ig.trace(gradient, *shapes)
    program.graph.compile()
    for size in (1, 2, 5):
        x, y = (rng.standard_normal((size, n, 6, 7)).astype(np.float32) for n in (groups * inputs, features))
        wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
        want = np.zeros(w.shape)
        for o in range(features):
            g = o // (features // groups)
            for i, u, v in itertools.product(range(inputs), range(3), range(3)):
                want[o, i, u, v] = np.sum(y[:, o] * wide[:, g * inputs + i, u : u + 6, v : v + 7])
        got = program(ig.asarray(x), ig.asarray(y)).numpy()
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        assert gradient(ig.asarray(x), ig.asarray(y)).numpy().tobytes() == got.tobytes()


def test_a_very_wide_image_is_planned_at_once() -> None:
    """What is decided by the places at the borders does not go through all of two billion places."""
    w = ig.ones((1, 1, 3, 3))
    image = ig.ShapeDtypeStruct((1, 1, 3, 2_000_000_000), ig.float32)
    program = ig.trace(lambda x: ig.conv(x, w, padding=1), image, lift=False)
    program.graph.compile()
    assert program.graph.report()["kernels"] == 1
