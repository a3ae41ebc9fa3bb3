"""Random programs of products, convolutions, loops, sorts, gathers, updates and folds: compiled, and their first
calls, beside eager ones.

Each program is drawn from its number alone, so a failing one is found again; `INTAGLIO_FUZZ=5000` draws
more. Its values go into a pool, from which later steps choose; several of them are given out. Views have a file of
their own (test_view_programs.py).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest
from tries import tries

import intaglio as ig

PROGRAMS = tries(300)
BATCH = 50
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 40, 64, 65, 77, 100]
OUTER = [1, 2, 3, 5, 8, 9, 16, 20]
T = TypeVar("T")


class Draw:
    """Numbers from a name, the same in every run of a program (capture refuses what reads `random`)."""

    def __init__(self, name: str) -> None:
        self.state = zlib.crc32(name.encode()) * 2654435761 % (1 << 32) or 1

    def below(self, n: int) -> int:
        for shift in (13, -17, 5):
            self.state ^= (self.state << shift if shift > 0 else self.state >> -shift) & 0xFFFFFFFF
        return self.state % n

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def shuffled(self, n: int) -> list[int]:
        left = list(range(n))
        return [left.pop(self.below(len(left))) for _ in range(n)]

    def array(self, shape: Sequence[int], dtype: Any) -> Any:
        """Numbers between -1 and 1."""
        n = int(np.prod(shape))
        return ig.asarray(
            (np.sin(np.arange(n) * 12.9898 + self.below(1000)) * 43758.5453 % 2 - 1).reshape(shape), dtype=dtype
        )

    def places(self, n: int, below: int) -> Any:
        return ig.asarray((np.arange(n) * 7919 + self.below(10007)) % below)


def is_float(x: Any) -> bool:
    return x.dtype in (ig.float32, ig.float64)


def number(x: Any) -> Any:
    return x if is_float(x) else ig.astype(x, "float32")


def calm(x: Any) -> Any:
    """Keeps what products give near 1."""
    return ig.tanh(x * 0.25)


def along(x: Any, axis: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if i == axis else slice(None) for i in range(x.ndim))


def axis_of(d: Draw, x: Any) -> int:
    return d.below(x.ndim)


def alike(d: Draw, pool: list[Any], x: Any) -> Any:
    return d.one_of([y for y in pool if y.dtype == x.dtype and y.shape == x.shape])


def product(d: Draw, x: Any) -> Any:
    x = number(x)
    return calm(x @ d.array((x.shape[-1], d.one_of(SIZES)), x.dtype))


def product_from_left(d: Draw, x: Any) -> Any:
    x = number(x)
    return x if x.ndim < 2 else calm(d.array((d.one_of(SIZES), x.shape[-2]), x.dtype) @ x)


def layer(d: Draw, x: Any) -> Any:
    x = number(x)
    n = d.one_of(SIZES)
    y = x @ d.array((x.shape[-1], n), x.dtype) + d.array((n,), x.dtype)
    return d.one_of([ig.relu, ig.gelu, ig.tanh, ig.sigmoid])(y)


def gram(d: Draw, x: Any) -> Any:
    x = number(x)
    if x.ndim < 2:
        return x
    return calm(d.one_of([lambda: x @ x.mT, lambda: x.mT @ x, lambda: ig.flip(x, axis=0).mT @ x])())


def contraction(d: Draw, x: Any) -> Any:
    x = number(x)
    if x.ndim < 2:
        return x
    axes = "abcd"[: x.ndim]
    axis = d.one_of(axes)
    kept = axes.replace(axis, "z")
    out = "".join(kept[i] for i in d.shuffled(x.ndim))
    return calm(ig.einsum(f"{axes},{axis}z->{out}", x, d.array((x.shape[axes.index(axis)], d.one_of(OUTER)), x.dtype)))


def convolution(d: Draw, x: Any) -> Any:
    x = number(x)
    kernel = [d.one_of([1, 2, 3]) for _ in x.shape[2:]]
    if x.ndim < 3 or any(n < k for n, k in zip(x.shape[2:], kernel, strict=True)):
        return x
    weight = d.array((d.one_of([1, 3, 8, 16]), x.shape[1], *kernel), x.dtype)
    return calm(ig.conv(x, weight, padding=d.below(2), stride=d.one_of([1, 1, 2])))


def pooling(d: Draw, x: Any) -> Any:
    if x.ndim < 3 or min(x.shape[2:]) < 2:
        return x
    return d.one_of([ig.max_pool, ig.avg_pool])(number(x), 2)


def attention(d: Draw, x: Any) -> Any:
    x = number(x)
    return x if x.ndim < 2 else ig.softmax(x @ x.mT * 0.3, axis=-1) @ x


def solution(d: Draw, x: Any) -> Any:
    x = number(x)
    if x.ndim < 2 or x.shape[-1] > 20:
        return x
    n = x.shape[-1]
    return ig.linalg.solve(x.mT @ x + ig.eye(n, dtype=x.dtype) * (n + 1), ig.flip(x.mT, axis=-1))


def chosen_by_data(d: Draw, x: Any) -> Any:
    axis = axis_of(d, x)
    at = ig.astype(ig.abs(number(x)) * 3, "int32") % x.shape[axis]
    return ig.take(x, ig.reshape(at, (-1,))[: d.one_of(OUTER)], axis=axis)


def pairs(d: Draw, x: Any) -> Any:
    n = d.one_of(OUTER)
    return x if x.ndim < 2 else x[d.places(n, x.shape[0]), d.places(n, x.shape[1])]


def scattered(d: Draw, x: Any) -> Any:
    at = x.at[d.places(d.one_of(OUTER), x.shape[0])]
    return d.one_of([at.add, at.max, at.min, at.multiply])(2)


def segments(d: Draw, x: Any) -> Any:
    return ig.segment_sum(x, ig.asarray(np.arange(x.shape[0]) * 5 // x.shape[0]), 5)


def sorted_along(d: Draw, x: Any) -> Any:
    axis = axis_of(d, x)
    order = ig.argsort(x, axis=axis)
    return d.one_of(
        [
            lambda: ig.sort(x, axis=axis, descending=True),
            lambda: ig.take_along_axis(x, order, axis=axis),
            lambda: ig.astype(order, x.dtype),
            lambda: ig.top_k(x, 1 + d.below(x.shape[-1]))[d.below(2)],
        ]
    )()


def scanned(d: Draw, x: Any) -> Any:
    x = number(x)

    def smooth(c: Any, a: Any) -> Any:
        c = ig.tanh(c * 0.5 + a)
        return c, c

    def largest(c: Any, a: Any) -> Any:
        c = ig.maximum(c, ig.flip(a, axis=0) if a.ndim else a)
        return c, c + a

    def moved(c: Any, a: Any) -> Any:
        c = ig.roll(c, 1, axis=0) * 0.5 + a if a.ndim else c + a
        return c, ig.sum(c)

    return d.one_of(ig.scan(d.one_of([smooth, largest, moved]), ig.zeros_like(x[0]), x))


def recurrence(d: Draw, x: Any) -> Any:
    x = number(x)
    if x.ndim < 2:
        return x
    n = d.one_of([1, 3, 8, 17])
    w, u = d.array((x.shape[-1], n), x.dtype), d.array((n, n), x.dtype)

    def step(h: Any, a: Any) -> Any:
        h = ig.tanh(a @ w + h @ u)
        return h, h

    return d.one_of(ig.scan(step, ig.zeros((*x.shape[1:-1], n), dtype=x.dtype), x))


def repeated(d: Draw, x: Any) -> Any:
    x = number(x)
    n = 1 + d.below(6)
    return ig.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, ig.sin(s[1]) + x * 0.1), (ig.asarray(0), x))[1]


def halved_until_small(d: Draw, x: Any) -> Any:
    return ig.while_loop(lambda s: ig.sum(ig.abs(s)) > 1, lambda s: s * 0.5, number(x))


def by_rows(d: Draw, x: Any) -> Any:
    x = number(x)
    return ig.fori_loop(0, x.shape[0], lambda i, a: a.at[i].set(a[i] * 0.5 + ig.flip(a, axis=0)[i]), x)


def branch(d: Draw, x: Any) -> Any:
    x = number(x)
    ways = [lambda x: x + 1, lambda x: ig.roll(x, 1, axis=0), lambda x: ig.cumulative_sum(x, axis=-1)]
    return ig.switch(ig.astype(ig.abs(ig.sum(x)), "int32") % 3, ways, x)


def gradient(d: Draw, x: Any) -> Any:
    losses = [
        lambda v: ig.sum(ig.tanh(v) * ig.flip(v, axis=0)),
        lambda v: ig.sum(ig.softmax(v, axis=-1) ** 2),
        lambda v: ig.sum(ig.cumulative_sum(v, axis=0) * v),
        lambda v: ig.logsumexp(v) + ig.max(v),
    ]
    return ig.grad(d.one_of(losses))(number(x))


def for_each(d: Draw, x: Any) -> Any:
    x = number(x)
    if x.ndim < 2:
        return x
    each = [lambda v: v - ig.mean(v), lambda v: ig.sort(ig.reshape(v, (-1,))), lambda v: ig.softmax(v, axis=-1)]
    return ig.vmap(d.one_of(each), in_axes=axis_of(d, x))(x)


def folded(d: Draw, x: Any) -> Any:
    if x.ndim < 2:
        return x
    axis, keeps = axis_of(d, x), d.below(2) == 1
    return d.one_of([ig.sum, ig.max, ig.min, lambda x, **how: ig.mean(number(x), **how)])(x, axis=axis, keepdims=keeps)


def normalised(d: Draw, x: Any) -> Any:
    x = number(x)
    axis = axis_of(d, x)
    return (x - ig.mean(x, axis=axis, keepdims=True)) / (ig.std(x, axis=axis, keepdims=True) + 0.1)


def layer_norm(d: Draw, x: Any) -> Any:
    x = number(x)
    return ig.layer_norm(x, d.array((x.shape[-1],), x.dtype))


def both_widths(d: Draw, x: Any) -> Any:
    """Sums of two widths of the same rows, whose orders of summation differ."""
    x = number(x) * 1.1
    wide = ig.sum(ig.astype(x, "float64"), axis=-1, keepdims=True)
    return x + ig.astype(wide, x.dtype) - ig.sum(x, axis=-1, keepdims=True)


def reshaped(d: Draw, x: Any) -> Any:
    axis = axis_of(d, x)
    parts = [n for n in (2, 3, 4, 8) if x.shape[axis] % n == 0]
    if not parts or x.ndim > 3:
        return ig.reshape(x, (-1,))
    return ig.reshape(x, (*x.shape[:axis], d.one_of(parts), -1, *x.shape[axis + 1 :]))


def combined(d: Draw, pool: list[Any], x: Any) -> Any:
    y = alike(d, pool, x)
    return d.one_of([lambda: x + y, lambda: x - y * 2, lambda: ig.maximum(x, y), lambda: ig.where(x > y, x, y * 2)])()


def joined(d: Draw, pool: list[Any], x: Any) -> Any:
    y, axis = alike(d, pool, x), axis_of(d, x)
    return ig.concat([x, y], axis=axis) if x.ndim > 3 or d.below(2) else ig.stack([x, y], axis=axis)


def differences(d: Draw, pool: list[Any], x: Any) -> Any:
    small = [y for y in pool if y.dtype == x.dtype and y.ndim + x.ndim < 5 and y.size * x.size < 20_000]
    return ig.reshape(x, x.shape + (1,) * len(small[0].shape)) - small[0] if small else x


STEPS: dict[str, Callable[[Draw, Any], Any]] = {
    "product": product,
    "product from the left": product_from_left,
    "layer": layer,
    "gram": gram,
    "contraction": contraction,
    "matrix times vector": lambda d, x: calm(number(x) @ d.array((x.shape[-1],), number(x).dtype)),
    "convolution": convolution,
    "pooling": pooling,
    "attention": attention,
    "solution": solution,
    "chosen by data": chosen_by_data,
    "pairs": pairs,
    "scattered": scattered,
    "segments": segments,
    "sorted": sorted_along,
    "scanned": scanned,
    "recurrence": recurrence,
    "repeated": repeated,
    "halved until small": halved_until_small,
    "by rows": by_rows,
    "branch": branch,
    "gradient": gradient,
    "for each": for_each,
    "folded": folded,
    "normalised": normalised,
    "layer norm": layer_norm,
    "both widths": both_widths,
    "softmax": lambda d, x: ig.softmax(number(x), axis=axis_of(d, x)),
    "added up": lambda d, x: ig.cumulative_sum(x, axis=axis_of(d, x)),
    "largest so far": lambda d, x: ig.cumulative_max(x, axis=axis_of(d, x)),
    "triangle": lambda d, x: ig.tril(x, k=d.below(5) - 2) if x.ndim > 1 else x,
    "reshaped": reshaped,
    "turned": lambda d, x: ig.permute_dims(x, tuple(d.shuffled(x.ndim))),
    "window": lambda d, x: x[..., 2:] + x[..., 1:-1] * 2 - x[..., :-2] if x.shape[-1] > 2 else x,
    "every second": lambda d, x: x[along(x, axis_of(d, x), slice(d.below(2), None, 2))] if min(x.shape) > 1 else x,
    "padded": lambda d, x: ig.pad(x, [(d.below(3), d.below(4)) for _ in x.shape]),
    "function": lambda d, x: d.one_of([ig.tanh, ig.sin, ig.sigmoid, ig.gelu, ig.erf, ig.square])(number(x)),
    "other type": lambda d, x: ig.astype(
        ig.clip(number(x), -100, 100), d.one_of(["int32", "int16", "float64", "int8"])
    ),
    "halves": lambda d, x: ig.astype(ig.astype(x, d.one_of(["bfloat16", "float16"])), x.dtype),
}
OF_SEVERAL: dict[str, Callable[[Draw, list[Any], Any], Any]] = {
    "combined": combined,
    "joined": joined,
    "differences": differences,
}
NAMES = [*STEPS, *OF_SEVERAL]


def drawn(number: int) -> tuple[list[Any], list[str]]:
    d = Draw(f"program {number}")
    inputs = []
    for _ in range(1 + d.below(2)):
        rank = d.one_of([1, 2, 2, 3, 3, 4])
        shape = [d.one_of(OUTER) for _ in range(rank - 1)] + [d.one_of(SIZES)]
        while np.prod(shape) > 20_000:
            shape = [max(1, n // 2) for n in shape]
        dtype = d.one_of(["float32", "float32", "float32", "float64", "int32", "uint8", "int16"])
        x = d.array(shape, "float64") * 2
        inputs.append(ig.astype(x if "float" in dtype else ig.abs(x) * 4, dtype))
    return inputs, [d.one_of(NAMES) for _ in range(1 + d.below(10))]


def run(number: int, steps: list[str], inputs: Sequence[Any]) -> tuple[Any, ...]:
    pool, given = list(inputs), []
    for place, name in enumerate(steps):
        d = Draw(f"step {place} of {number}")
        x = d.one_of(pool) if d.below(3) == 0 else pool[-1]
        if x.size > 30_000:
            continue
        y = STEPS[name](d, x) if name in STEPS else OF_SEVERAL[name](d, pool, x)
        if y.size == 0 or y.size > 200_000 or y.ndim > 5:
            continue
        pool.append(y if y.ndim else ig.reshape(y, (1,)))
        if d.below(5) == 0:
            given.append(y)
    return (*given, pool[-1])


@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_random_programs(first: int) -> None:
    for program in range(first, first + BATCH):
        inputs, steps = drawn(program)
        wanted = run(program, steps, inputs)
        compiled = ig.jit(lambda *inputs, program=program, steps=steps: run(program, steps, inputs))
        early, again = compiled(*inputs), compiled(*inputs)  # op by op, where kernels are at hand
        found = compiled.lower(*inputs).compile()(*inputs)
        for place, (a, *others) in enumerate(zip(wanted, early, again, found, strict=True)):
            told = f"result {place} of program {program} of {[f'{x.dtype}{list(x.shape)}' for x in inputs]}: {steps}"
            for b in others:
                np.testing.assert_array_equal(np.asarray(b), np.asarray(a), err_msg=told)
                assert a.dtype == b.dtype, told


@pytest.mark.parametrize("wide", ["float64", "int64", "complex64"])
@pytest.mark.parametrize("n", [16, 64, 100, 1000])
def test_sums_of_two_widths_keep_their_orders(wide: str, n: int) -> None:
    """Eager calls add up by lanes of their own type; so does a kernel that folds the same rows twice."""
    x = ig.asarray(np.random.default_rng(0).standard_normal((37, n)).astype(np.float32) * 7)

    def both(x: Any) -> Any:
        other = ig.astype(x, wide)
        return ig.sum(other, axis=1), ig.sum(x * 1.1, axis=1), ig.max(ig.abs(other), axis=1)

    for found, wanted in zip(ig.jit(both).lower(x).compile()(x), both(x), strict=True):
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()
