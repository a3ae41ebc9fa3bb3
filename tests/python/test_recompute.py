"""Kernels that compute again what others would write: random programs of folds and element-wise work keep every bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tries import tries

import intaglio as ig

SEEDS = range(tries(40))
SHAPES = [(4, 8, 6, 5), (1, 3, 17, 16), (2, 40, 7, 7), (130, 33), (64, 3, 8)]


def program(draws: list[int], x: Any, y: Any, c: Any, filters: Any) -> tuple[Any, ...]:
    """Arrays of one shape, each made of some before it; what is folded is spread over the array again."""
    left = iter(draws)

    def draw(count: int) -> int:
        return next(left) % count

    shape = tuple(x.shape)
    made, folded = [x, y], []
    per_channel = ig.reshape(c, (1, -1, *(1,) * (len(shape) - 2)))
    turned = tuple(reversed(range(len(shape))))
    for _ in range(6 + draw(20)):
        a, b, kind = made[draw(len(made))], made[draw(len(made))], draw(12)
        if kind == 0:
            made.append(a + b)
        elif kind == 1:
            made.append(a * b)
        elif kind == 2:
            made.append(a - b)
        elif kind == 3:
            made.append(ig.maximum(a, b * 0.5))
        elif kind == 4:
            made.append(ig.where(a > 0, b, -a))
        elif kind == 5:
            made.append(a * per_channel)
        elif kind == 6:
            made.append(ig.tanh(a))
        elif kind == 7 and len(shape) == 4:
            w = filters[draw(2)]
            made.append(ig.conv(a, w, padding=w.shape[-1] // 2))
        elif kind == 8:
            made.append(ig.permute_dims(ig.permute_dims(a, turned) * 2.0, turned))
        else:
            axes = tuple(axis for axis in range(len(shape)) if draw(2)) or (0,)
            value = (ig.sum, ig.mean, ig.max)[draw(3)](a, axis=axes, keepdims=True)
            folded.append(value)
            made.append(b - value * 0.25)
    last = (made[-1], *(made[2 + draw(len(made) - 2)] for _ in range(1 + draw(2))))
    return (*last, *folded[-3:])


@pytest.mark.parametrize("seed", SEEDS)
def test_bits_of_random_programs(seed: int) -> None:
    shape = SHAPES[seed % len(SHAPES)]
    numbers = np.random.default_rng(seed)
    x, y = (ig.asarray(numbers.standard_normal(shape).astype(np.float32)) for _ in range(2))
    channels = shape[1]
    c = ig.asarray(numbers.standard_normal(channels).astype(np.float32))
    filters = [
        ig.asarray((numbers.standard_normal((channels, channels, size, size)) / channels).astype(np.float32))
        for size in (3, 1)
    ]

    draws = [int(i) for i in numbers.integers(0, 1 << 30, 300)]

    def f(*given: Any) -> Any:
        return program(draws, *given[:3], given[3:])

    given = (x, y, c, *filters)
    compiled, single = ig.jit(f).lower(*given).compile()(*given), f(*given)
    assert len(compiled) == len(single)
    for i, (one, other) in enumerate(zip(compiled, single, strict=True)):
        np.testing.assert_array_equal(one.numpy(), other.numpy(), err_msg=f"result {i}")


def test_a_batch_norm_writes_its_image_once() -> None:
    """The planned peak of a training step: what it keeps is the image, not what is made of it."""
    norm = ig.nn.BatchNorm2d(8)
    image = ig.asarray(np.random.default_rng(0).standard_normal((4, 8, 64, 64)).astype(np.float32))

    def loss(x: Any) -> Any:
        return ig.sum(ig.relu(norm(x * 2.0)) ** 2)

    graph = ig.trace(lambda x: ig.nn.value_and_grad(norm, loss)(x), image).graph
    report = graph.compile(disable=["rematerialize"]).report()
    assert report["planned_peak"] < 2.2 * image.nbytes
