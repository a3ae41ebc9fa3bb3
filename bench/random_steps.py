"""Random programs: steps that are chained by the numbers that a seed gives, each on what a system's space offers.

A step takes the space (program_worker.py), an array, the arrays so far, and six numbers that say what it does; what
does not fit the array gives None. The numbers are drawn before a program is captured: all systems run the same one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Numbers = Sequence[int]
Step = Callable[[Any, Any, Sequence[Any], Numbers], Any]
STEPS: dict[str, Step] = {}
LIMIT = 4_000_000  # elements of what a step may give


def step(f: Step) -> Step:
    STEPS[f.__name__] = f
    return f


def name_of(dtype: Any) -> str:
    return str(dtype).rsplit(".", maxsplit=1)[-1]


def size_of(x: Any) -> int:
    return int(np.prod(x.shape))


def floats(s: Any, x: Any) -> Any:
    return x if name_of(x.dtype) in ("float32", "float64") else s.xp.astype(x, s.xp.float32)


def table(s: Any, shape: Sequence[int], x: Any, n: int) -> Any:
    """Numbers between -1/2 and 1/2, of the dtype of x."""
    values = np.sin(np.arange(int(np.prod(shape))) * 12.9898 + n % 1000) * 43758.5453 % 1 - 0.5
    return s.xp.asarray(values.reshape(shape).astype(name_of(x.dtype)))


def places(s: Any, count: int, below: int, n: int) -> Any:
    return s.xp.asarray((np.arange(count) * 7919 + n) % below)


def along(x: Any, axis: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if i == axis else slice(None) for i in range(x.ndim))


def widths(x: Any, axis: int, low: int, high: int) -> list[tuple[int, int]]:
    return [(low, high) if i == axis else (0, 0) for i in range(x.ndim)]


def alike(x: Any, pool: Sequence[Any], n: int) -> Any:
    same = [y for y in pool if y.shape == x.shape and y.dtype == x.dtype]
    return same[n % len(same)]


def order(n: int, rank: int) -> tuple[int, ...]:
    left = list(range(rank))
    out = []
    while left:
        n, at = divmod(n, len(left))
        out.append(left.pop(at))
    return tuple(out)


@step
def product(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x = floats(s, x)
    if x.ndim < 2 or x.shape[-1] > 1024:
        return None
    return x @ table(s, (x.shape[-1], (4, 10, 16, 64, 100, 128)[n[0] % 6]), x, n[1]) * 0.1


@step
def layer(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    y = product(s, x, pool, n)
    if y is None:
        return None
    y = y + table(s, (y.shape[-1],), y, n[2])
    return (s.xp.maximum(y, 0), s.xp.tanh(y), s.sigmoid(y))[n[3] % 3]


@step
def gram(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x = floats(s, x)
    if x.ndim < 2 or max(x.shape[-2:]) > 512:
        return None
    return s.xp.tanh((x @ x.mT if n[0] % 2 else x.mT @ x) * 0.1)


@step
def contraction(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x, axis = floats(s, x), n[0] % x.ndim
    if x.ndim < 2 or x.shape[axis] > 512:
        return None
    axes = "abcd"[: x.ndim]
    kept = axes.replace(axes[axis], "z")
    out = kept if n[1] % 2 else "".join(kept[i] for i in order(n[2], x.ndim))
    w = table(s, (x.shape[axis], (4, 8, 16, 32)[n[3] % 4]), x, n[4])
    return s.xp.tanh(s.xp.einsum(f"{axes},{axes[axis]}z->{out}", x, w) * 0.25)


@step
def matrix_times_vector(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x = floats(s, x)
    return s.xp.tanh(x @ table(s, (x.shape[-1],), x, n[0])) if x.ndim > 1 else None


@step
def convolution(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x, taps = floats(s, x), (1, 3, 3)[n[0] % 3]
    if x.ndim not in (3, 4) or x.shape[1] > 64 or min(x.shape[2:]) < taps:
        return None
    w = table(s, ((3, 8, 16, 32)[n[1] % 4], x.shape[1], *(taps,) * (x.ndim - 2)), x, n[2])
    return s.xp.tanh(s.conv(x, w) * 0.25)


@step
def normalised(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x, axis = floats(s, x), n[0] % x.ndim
    return (x - s.xp.mean(x, axis=axis, keepdims=True)) / (s.xp.std(x, axis=axis, keepdims=True) + 1e-3)


@step
def softmax(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return s.softmax(floats(s, x), axis=n[0] % x.ndim)


@step
def log_of_sum(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x = floats(s, x)
    return x - s.logsumexp(x, axis=n[0] % x.ndim, keepdims=True)


@step
def less_the_least(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return x - s.xp.min(x, axis=n[0] % x.ndim, keepdims=True)


@step
def folded(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    if x.ndim < 3:
        return None
    fold = (s.xp.max, s.xp.min, s.xp.sum, lambda x, axis: s.xp.mean(floats(s, x), axis=axis))[n[0] % 4]
    return fold(x, axis=n[1] % x.ndim)


@step
def in_order(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    if size_of(x) > 100_000:
        return None
    axis = n[0] % x.ndim
    if n[1] % 2:
        return s.xp.sort(x, axis=axis)
    return s.xp.take_along_axis(x, s.xp.argsort(x, axis=axis), axis=axis)


@step
def greatest(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return s.top_k(x, (1, 5, 8)[n[0] % 3])[0] if x.shape[-1] >= 8 else None


@step
def taken(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    axis = n[0] % x.ndim
    return s.xp.take(x, places(s, x.shape[axis], x.shape[axis], n[1]), axis=axis)


@step
def pairs(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    count = min(20_000, x.shape[0] * 4)
    return x[places(s, count, x.shape[0], n[0]), places(s, count, x.shape[1], n[1])] if x.ndim > 1 else None


@step
def scattered(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return x.at[places(s, x.shape[0], x.shape[0], n[0])].add(x * 2)


@step
def segments(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return s.segment_sum(x, s.xp.asarray(np.arange(x.shape[0]) * 17 // x.shape[0]), 17)


@step
def recurrence(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x = floats(s, x)
    if x.ndim < 2 or x.shape[0] > 512:
        return None

    def smooth(c: Any, a: Any) -> Any:
        c = s.xp.tanh(c * 0.5 + a)
        return c, c

    def moved(c: Any, a: Any) -> Any:
        c = s.xp.roll(c, 1, axis=0) * 0.5 + a
        return c, s.xp.sum(c)

    return s.scan((smooth, moved)[n[0] % 2], s.xp.zeros_like(x[0]), x)[1]


@step
def repeated(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x, turns = floats(s, x), 2 + n[0] % 4
    state = (s.xp.asarray(0), x)
    return s.while_loop(lambda v: v[0] < turns, lambda v: (v[0] + 1, s.xp.sin(v[1]) + x * 0.1), state)[1]


@step
def reshaped(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    axis = n[0] % x.ndim
    if n[1] % 2 and axis + 1 < x.ndim:
        return s.xp.reshape(x, (*x.shape[:axis], -1, *x.shape[axis + 2 :]))
    parts = [p for p in (2, 3, 4, 8) if x.shape[axis] % p == 0 and x.shape[axis] > p]
    if not parts or x.ndim > 3:
        return None
    return s.xp.reshape(x, (*x.shape[:axis], parts[n[2] % len(parts)], -1, *x.shape[axis + 1 :]))


@step
def turned(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return s.xp.permute_dims(x, order(n[0], x.ndim))


@step
def combined(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    y = alike(x, pool, n[0])
    return (x + y, x * y, x - y, s.xp.maximum(x, y), s.xp.where(x > y, x, y * 2))[n[1] % 5]


@step
def function(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x, xp = floats(s, x), s.xp
    of_size = (xp.sqrt, xp.log1p, lambda v: xp.exp(-v))
    plain = (xp.tanh, xp.sin, s.sigmoid, s.erf, xp.cos, xp.square)
    return plain[n[1] % 6](x) if n[0] % 3 else of_size[n[1] % 3](xp.abs(x))


@step
def either(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x = floats(s, x)
    return s.xp.where(x > 0, s.xp.log(s.xp.abs(x) + 1), s.xp.exp(-s.xp.abs(x)))


@step
def converted(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    to = ("int32", "int16", "float64", "float32", "int64", "uint8")[n[0] % 6]
    return s.xp.astype(s.xp.clip(floats(s, x), 0, 100), to)


@step
def end_to_start(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return s.xp.flip(x, axis=n[0] % x.ndim)


@step
def rolled(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return s.xp.roll(x, n[0] % 11 - 5, axis=n[1] % x.ndim)


@step
def padded(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    axis = n[0] % x.ndim
    how = ("constant", "reflect", "edge", "wrap")[n[1] % 4]
    return s.xp.pad(x, widths(x, axis, n[2] % 3, n[3] % 4), mode=how) if x.shape[axis] > 4 else None


@step
def part(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    axis = n[0] % x.ndim
    return x[along(x, axis, slice(n[1] % 3, None, (1, 1, 2)[n[2] % 3]))] if x.shape[axis] > 4 else None


@step
def joined(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    y = alike(x, pool, n[0]) * 2
    join = s.xp.stack if n[1] % 2 and x.ndim < 4 else s.xp.concatenate
    return join([x, y], axis=n[2] % x.ndim)


@step
def added_up(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    axis = n[0] % x.ndim
    return s.xp.cumsum(x, axis=axis) if n[1] % 2 else s.cumulative_max(x, axis)


@step
def triangle(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return s.xp.triu(x, k=n[0] % 5 - 2) if x.ndim > 1 else None


@step
def updated(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    axis = n[0] % x.ndim
    if x.shape[axis] < 3:
        return None
    length = 1 + n[1] % (x.shape[axis] - 1)
    return x.at[along(x, axis, slice(0, length))].add(x[along(x, axis, slice(x.shape[axis] - length, None))])


@step
def spread(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    return s.xp.repeat(x, 2, axis=n[1] % x.ndim) if n[0] % 2 else s.xp.tile(x, (2,))


@step
def window(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    axis = n[0] % x.ndim
    if x.shape[axis] < 3:
        return None
    a, b, c = (x[along(x, axis, slice(i, x.shape[axis] - 2 + i))] for i in range(3))
    return a + b * 2 - c


@step
def laplacian(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    if x.ndim < 2:
        return None
    x, roll = floats(s, x), s.xp.roll
    return roll(x, 1, axis=-1) + roll(x, -1, axis=-1) + roll(x, 1, axis=-2) + roll(x, -1, axis=-2) - 4 * x


@step
def gated(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    if x.shape[-1] % 2:
        return None
    a, b = s.xp.split(floats(s, x), 2, axis=-1)
    return a * s.sigmoid(b)


@step
def rotated(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x = floats(s, x)
    if x.ndim < 2 or x.shape[-1] % 2:
        return None
    angle = table(s, (x.shape[-2], x.shape[-1] // 2), x, n[0])
    a, b = s.xp.split(x, 2, axis=-1)
    cos, sin = s.xp.cos(angle), s.xp.sin(angle)
    return s.xp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@step
def butterflies(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    if x.shape[-1] % 2:
        return None
    a, b = x[..., ::2], x[..., 1::2]
    return s.xp.reshape(s.xp.stack([a - b, a + b], axis=-1), x.shape)


@step
def attention(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x = floats(s, x)
    return s.softmax(x @ x.mT * 0.3, axis=-1) @ x if x.ndim in (2, 3) and x.shape[-2] <= 256 else None


@step
def gradient(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    losses = (
        lambda v: s.xp.sum(s.xp.tanh(v) * s.xp.flip(v, axis=0)),
        lambda v: s.xp.sum(s.softmax(v, axis=-1) ** 2),
        lambda v: s.xp.sum(s.xp.cumsum(v, axis=0) * v),
    )
    return s.grad(losses[n[0] % 3])(floats(s, x))


@step
def distances(s: Any, x: Any, pool: Sequence[Any], n: Numbers) -> Any:
    x = floats(s, x)
    if x.ndim != 2 or max(x.shape) > 128:
        return None
    return s.xp.sqrt(s.xp.sum((x[:, None] - x[None]) ** 2, axis=-1) + 1e-6)


SHAPES: dict[str, Sequence[Callable[[random.Random], tuple[int, ...]]]] = {
    "small": (
        lambda r: (r.choice([64, 100, 300]), r.choice([64, 128, 256, 333])),
        lambda r: (r.choice([4, 8, 16]), r.choice([3, 8, 16]), r.choice([16, 28, 32]), r.choice([16, 28, 32])),
        lambda r: (r.choice([20_000, 65_536, 100_003]),),
        lambda r: (r.choice([8, 32]), r.choice([32, 50, 64]), r.choice([32, 64, 96])),
        lambda r: (r.choice([1000, 5000, 20_000]), r.choice([2, 3, 4, 6, 8, 10])),
        lambda r: (r.choice([64, 100, 128]), r.choice([64, 90, 128]), r.choice([3, 4])),
    ),
    "large": (
        lambda r: (r.choice([512, 1000, 1024]), r.choice([512, 777, 1024])),
        lambda r: (r.choice([8, 16]), r.choice([3, 16, 32]), r.choice([56, 64]), r.choice([56, 64])),
        lambda r: (r.choice([500_000, 1_000_003]),),
        lambda r: (r.choice([32, 64]), r.choice([100, 128]), r.choice([64, 128])),
        lambda r: (r.choice([100_000, 200_000]), r.choice([2, 3, 4, 6, 8, 10])),
        lambda r: (r.choice([480, 512]), r.choice([512, 640]), r.choice([3, 4])),
    ),
}


def drawn(seed: int, number: int, shapes: str) -> tuple[np.ndarray, list[tuple[str, tuple[int, ...]]]]:
    """An array and the steps that are done to it."""
    r = random.Random(f"{seed}.{number}")
    shape = r.choice(SHAPES[shapes])(r)
    dtype = r.choice(["float32"] * 7 + ["float64", "int32", "uint8"])
    values = np.sin(np.arange(int(np.prod(shape))) * 12.9898).reshape(shape) * 43758.5453 % 1
    steps = [(r.choice(list(STEPS)), tuple(r.randrange(1 << 20) for _ in range(6))) for _ in range(r.randint(1, 4))]
    return (values * 9 if "int" in dtype else (values - 0.5) * 3).astype(dtype), steps


def run(s: Any, x: Any, steps: Sequence[tuple[str, tuple[int, ...]]]) -> tuple[Any, tuple[str, ...]]:
    """What the steps give, and the names of those that fitted."""
    pool, done = [x], ()
    for name, numbers in steps:
        y = STEPS[name](s, pool[-1], pool, numbers)
        if y is not None and 0 < size_of(y) <= LIMIT and 0 < y.ndim < 6:
            pool.append(y)
            done = (*done, name)
    return pool[-1], done


def program(
    s: Any, array: np.ndarray, steps: Sequence[tuple[str, tuple[int, ...]]], of: str
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[str, ...]]:
    """A function of what the steps give, its gradient or itself over a batch; its inputs; the steps that fitted."""
    x = floats(s, s.xp.asarray(array)) if of == "gradient" else s.xp.asarray(array)
    y, done = run(s, x, steps)
    if of == "value":
        return lambda x: run(s, x, steps)[0], (x,), done
    if of == "batch":
        return s.vmap(lambda x: run(s, x, steps)[0]), (s.xp.stack([x, x * 2, x + 1, x * x]),), done
    # The weights are an input: what is linear would have a constant gradient otherwise.
    loss = s.grad(lambda x, weights: s.xp.sum(s.xp.astype(run(s, x, steps)[0], x.dtype) * weights))
    return loss, (x, table(s, y.shape, x, 7)), done
