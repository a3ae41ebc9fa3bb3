"""Convolutions of all kinds of steps, gaps, groups and orders of axes: the compiled kernel gives the reference's bits.

Features stay below those from which 3 x 3 taps go by minimal filtering, which keeps a bound alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import intaglio as ig


@dataclass(frozen=True)
class Axis:
    """One axis of a convolution: places of the image, taps, and how these go over those."""

    image: int
    taps: int
    stride: int
    gaps: int
    dilation: int
    low: int
    high: int

    @property
    def places(self) -> int:
        reach = (self.image - 1) * self.gaps + 1 + self.low + self.high
        return (reach - (self.taps - 1) * self.dilation - 1) // self.stride + 1


AXES = st.builds(
    Axis,
    image=st.integers(1, 11),
    taps=st.integers(1, 5),
    stride=st.integers(1, 3),
    gaps=st.integers(1, 3),
    dilation=st.integers(1, 2),
    low=st.integers(0, 4),
    high=st.integers(0, 4),
).filter(lambda axis: axis.places >= 1)


def check(
    letters: tuple[str, str, str], sizes: dict[str, dict[str, int]], axes: list[Axis], groups: tuple[int, int]
) -> None:
    """Compiles the convolution of these layouts and compares it with the reference."""
    image, kernel, result = (
        ", ".join(str(sizes[which][letter]) for letter in order)
        for which, order in zip(("image", "kernel", "result"), letters, strict=True)
    )
    listed = {
        name: ", ".join(str(value) for axis in axes for value in values(axis))
        for name, values in {
            "strides": lambda a: [a.stride],
            "padding": lambda a: [a.low, a.high],
            "lhs_dilation": lambda a: [a.gaps],
            "rhs_dilation": lambda a: [a.dilation],
        }.items()
    }
    attributes = ", ".join(f"{name} = [{values}]" for name, values in listed.items())
    text = (
        f"graph @main(%x: f32[{image}], %w: f32[{kernel}]) {{\n"
        f'  %y = convolution(%x, %w) {{layout = "{letters[0]}_{letters[1]}->{letters[2]}", {attributes}, '
        f"feature_group_count = {groups[0]}, batch_group_count = {groups[1]}, accumulate = f32}} : f32[{result}]\n"
        "  return %y\n}"
    )
    graph = ig.Graph.parse(text)
    rng = np.random.default_rng(len(text))
    inputs = [
        ig.asarray(rng.standard_normal([int(n) for n in shape.split(", ")]).astype(np.float32))
        for shape in (image, kernel)
    ]
    found, wanted = np.asarray(graph.compile()(*inputs)), np.asarray(graph.evaluate(*inputs))
    np.testing.assert_array_equal(found, wanted, err_msg=text)


LAYOUTS = st.tuples(*[st.sampled_from(["bf01", "b01f", "f01b", "fb01"])] * 2, st.sampled_from(["oi01", "01io", "i01o"]))


@settings(max_examples=60, deadline=None)
@given(LAYOUTS, AXES, AXES, st.integers(1, 3), st.integers(1, 4), st.sampled_from([1, 2, 5, 13, 19]), st.booleans())
@example(("b01f", "b01f", "01io"), Axis(7, 3, 1, 2, 1, 1, 2), Axis(9, 3, 1, 2, 1, 1, 2), 2, 1, 13, True)
def test_convolutions(
    layouts: tuple[str, str, str], first: Axis, second: Axis, batch: int, inputs: int, features: int, depthwise: bool
) -> None:
    image, result, kernel = layouts
    groups = features if depthwise else 1
    sizes = {
        "image": {"b": batch, "f": inputs * groups, "0": first.image, "1": second.image},
        "kernel": {"o": features, "i": inputs, "0": first.taps, "1": second.taps},
        "result": {"b": batch, "f": features, "0": first.places, "1": second.places},
    }
    check((image, kernel, result), sizes, [first, second], (groups, 1))


@settings(max_examples=60, deadline=None)
@given(
    LAYOUTS,
    AXES,
    AXES,
    st.integers(1, 3),
    st.sampled_from([2, 5, 8, 13, 37]),
    st.sampled_from([1, 4, 9]),
    st.booleans(),
)
@example(("f01b", "fb01", "i01o"), Axis(9, 3, 1, 1, 1, 1, 1), Axis(7, 3, 1, 1, 1, 1, 1), 3, 37, 1, True)
def test_gradients_by_weights(
    layouts: tuple[str, str, str],
    first: Axis,
    second: Axis,
    examples: int,
    features: int,
    outputs: int,
    depthwise: bool,
) -> None:
    """The places of the result are the taps of a kernel, the features of the image are the examples."""
    image, result, kernel = layouts
    axes = [  # as the gradient has them: taps and places in each other's place, steps and distances too
        Axis(axis.image, axis.places, axis.dilation, axis.gaps, axis.stride, axis.low, axis.high)
        for axis in (first, second)
    ]
    if any(axis.places < 1 for axis in axes):
        return
    sizes = {
        "image": {"b": features, "f": examples, "0": first.image, "1": second.image},
        "kernel": {"o": features if depthwise else outputs, "i": examples, "0": axes[0].taps, "1": axes[1].taps},
        "result": {
            "b": 1 if depthwise else features,
            "f": features if depthwise else outputs,
            "0": axes[0].places,
            "1": axes[1].places,
        },
    }
    check((image, kernel, result), sizes, axes, (1, features if depthwise else 1))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_share_the_features_of_a_gradient(threads: int) -> None:
    axes = [Axis(11, 9, 1, 1, 2, 1, 6), Axis(8, 5, 1, 1, 1, 0, 0)]
    sizes = {
        "image": {"b": 70, "f": 3, "0": 11, "1": 8},
        "kernel": {"o": 70, "i": 3, "0": 9, "1": 5},
        "result": {"b": 1, "f": 70, "0": axes[0].places, "1": axes[1].places},
    }
    before = ig.get_num_threads()
    ig.set_num_threads(threads)
    try:
        check(("f01b", "i01o", "fb01"), sizes, axes, (1, 70))
    finally:
        ig.set_num_threads(before)


@pytest.mark.parametrize("order", ["nchw", "nhwc"])
@pytest.mark.parametrize("shape", [(7, 24, 40), (3, 200, 16), (1, 5, 70), (4, 33, 129)])
def test_products_of_one_tap(order: str, shape: tuple[int, int, int]) -> None:
    """Gradients by the weights of one tap are products that sum over the places of all images."""
    examples, inputs, outputs = shape
    side = 19  # sums longer than a chunk of a product's
    rng = np.random.default_rng(0)
    x, ct = (rng.standard_normal((examples, n, side, side)).astype(np.float32) for n in (inputs, outputs))
    axes = (0, 2, 3)
    left, right = x, ct
    if order == "nhwc":
        axes = (0, 1, 2)
        left, right = x.transpose(0, 2, 3, 1).copy(), ct.transpose(0, 2, 3, 1).copy()
    product = ig.jit(lambda a, b: ig.tensordot(a, b, axes=(axes, axes)))
    found = np.asarray(product(ig.asarray(left), ig.asarray(right)))
    wanted = np.einsum("nihw,nohw->io", x.astype(np.float64), ct.astype(np.float64))
    np.testing.assert_allclose(found, wanted, atol=2e-4 * np.sqrt(examples * side * side))
    mixed = ig.jit(lambda a, b: ig.tensordot(a, b, axes=((0, 2, 3), (0, 1, 2))))
    same = np.asarray(mixed(ig.asarray(x), ig.asarray(ct.transpose(0, 2, 3, 1).copy())))
    np.testing.assert_array_equal(found, same)  # one order of summation, however the operands lie
