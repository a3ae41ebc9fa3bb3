"""Index checks that are proved away are those that cannot fail: random programs of loops, branches and indices end
with NumPy's numbers, or with an IndexError where NumPy ends with one; and what is always inside has no check left."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

Array = Any
Numbers = list[Any]
UNARY: list[Callable[[Any], Any]] = [lambda a: a + 1, lambda a: a - 1, lambda a: -a, lambda a: a * 2, abs]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a % (abs(b) + 1),
    lambda a, b: a // (abs(b) + 1),
]


class Captured:
    where: Callable[..., Array] = staticmethod(ig.where)
    minimum: Callable[..., Array] = staticmethod(ig.minimum)
    maximum: Callable[..., Array] = staticmethod(ig.maximum)

    def number(self, n: int, dtype: str) -> Array:
        return ig.asarray(n, dtype=getattr(ig, dtype))

    def loop(self, steps: int, turn: Callable[[Numbers], Numbers], start: Numbers) -> Numbers:
        return list(ig.fori_loop(0, steps, lambda i, c: tuple(turn([i.astype(c[0].dtype), *c])), tuple(start)))

    def until(self, least: int, turn: Callable[[Numbers], Numbers], start: Numbers) -> Numbers:
        def step(c: tuple[Array, ...]) -> tuple[Array, ...]:
            return (c[0] + 1, *turn(list(c)))

        first = self.number(-least, start[0].dtype.name)
        return list(ig.while_loop(lambda c: c[0] < 3, step, (first, *start)))[1:]

    def branch(self, yes: Array, then: Callable[[], Numbers], other: Callable[[], Numbers]) -> Numbers:
        return list(ig.cond(yes, lambda: tuple(then()), lambda: tuple(other())))


class StepByStep(Captured):
    where = staticmethod(np.where)
    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)

    def number(self, n: int, dtype: str) -> Array:
        return np.dtype(dtype).type(n)

    def loop(self, steps: int, turn: Callable[[Numbers], Numbers], start: Numbers) -> Numbers:
        for i in range(steps):
            start = turn([start[0].dtype.type(i), *start])
        return start

    def until(self, least: int, turn: Callable[[Numbers], Numbers], start: Numbers) -> Numbers:
        for i in range(-least, 3):
            start = turn([start[0].dtype.type(i), *start])
        return start

    def branch(self, yes: Array, then: Callable[[], Numbers], other: Callable[[], Numbers]) -> Numbers:
        return then() if yes else other()


def random_steps(r: random.Random, depth: int) -> list[tuple[Any, ...]]:
    out: list[tuple[Any, ...]] = []
    for _ in range(r.randint(2, 6)):
        kinds = ["unary", "unary", "binary", "wrap", "read", "read", "write", "where", "clip", "keep"]
        kind = r.choice([*kinds, "loop", "until", "branch"] if depth else kinds)
        inside = [random_steps(r, depth - 1) for _ in range(2)] if kind in ("loop", "until", "branch") else []
        out.append((kind, [r.randrange(100) for _ in range(3)], r.randint(0, 6), inside))
    return out


CARRIED = 3


def run(world: Captured, steps: list[tuple[Any, ...]], given: Numbers, x: Array, dtype: str) -> Numbers:
    v = list(given)
    for kind, (p, q, k), n, inside in steps:
        a, b, c = v[p % len(v)], v[q % len(v)], k % CARRIED + len(v) - CARRIED
        match kind:
            case "unary":
                v[c] = UNARY[q % len(UNARY)](a)
            case "binary":
                v[c] = BINARY[n % len(BINARY)](a, b)
            case "wrap":
                v[c] = a % world.number(n + 1, dtype)
            case "read":
                v[c] = x[a]
            case "write":
                v[c] = (x.at[a].set(b) if isinstance(world.number(0, dtype), ig.Tensor) else written(x, a, b))[n]
            case "where":
                v[c] = world.where(a < b, a, world.number(n, dtype))
            case "clip":
                v[c] = world.minimum(world.maximum(a, world.number(q % 3, dtype)), world.number(n, dtype))
            case "keep":
                v[c] = a
            case "loop" | "until":
                way = world.loop if kind == "loop" else world.until
                v[-CARRIED:] = way(
                    n,
                    lambda u, inner=inside[0]: run(world, inner, u, x, dtype)[-CARRIED:],  # type: ignore[misc]
                    v[-CARRIED:],
                )
            case "branch":
                then, other = (
                    lambda inner=inner, u=v[:]: run(world, inner, u, x, dtype)[-CARRIED:] for inner in inside
                )
                v[-CARRIED:] = world.branch(a < b, then, other)
    return v


def written(x: Array, at: Array, v: Array) -> Array:
    out = x.copy()
    out[at] = v
    return out


@pytest.mark.parametrize("seed", range(300))
def test_random_programs(seed: int) -> None:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    dtype = r.choice(["int64", "int64", "int32", "int8"])
    steps = random_steps(r, 2)
    start = [np.dtype(dtype).type(r.randint(-3, 8)) for _ in range(CARRIED)]
    x = rng.integers(-3, 9, r.choice([7, 9, 20])).astype(dtype)
    with np.errstate(over="ignore"):
        try:
            wanted = run(StepByStep(), steps, start, x, dtype)[-CARRIED:]
        except IndexError:
            wanted = None

    def program(x: Array, *start: Array) -> tuple[Array, ...]:
        return tuple(run(Captured(), steps, list(start), x, dtype)[-CARRIED:])

    def of_constants(x: Array) -> tuple[Array, ...]:
        return program(x, *map(ig.asarray, start))

    given = [ig.asarray(v) for v in (x, *start)]
    for way, operands in ((program, given), (of_constants, given[:1])):
        try:
            out = ig.trace(way, *operands).graph.compile()(*operands)
        except IndexError:
            assert wanted is None
            continue
        assert wanted is not None
        assert [np.asarray(mine) for mine in out] == wanted


def checks(program: Callable[..., Any], *operands: Array) -> int:
    return str(ig.trace(program, *operands).graph.compile().optimised()).count("= check(")


X = ig.arange(24, dtype=ig.float32)
KEYS = ig.asarray([3, 1, 2])
# Programs whose positions are in range by the way they are made, and the same with one that is not.
INSIDE: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "counter": (
        lambda x: ig.fori_loop(0, 24, lambda i, s: s + x[i], x[0]),
        lambda x: ig.fori_loop(0, 25, lambda i, s: s + x[i], x[0]),
    ),
    "written": (
        lambda x: ig.fori_loop(0, 23, lambda i, x: x.at[i + 1].set(x[i]), x),
        lambda x: ig.fori_loop(0, 24, lambda i, x: x.at[i + 1].set(x[i]), x),
    ),
    "from the end": (
        lambda x: ig.fori_loop(0, 24, lambda i, s: s + x[-1 - i] + x[23 - i], x[0]),
        lambda x: ig.fori_loop(0, 24, lambda i, s: s + x[-2 - i], x[0]),
    ),
    "neighbours around": (
        lambda x: ig.fori_loop(0, 24, lambda i, s: s + x[(i - 1) % 24] - x[(i + 1) % 24], x[0]),
        lambda x: ig.fori_loop(0, 24, lambda i, s: s + x[(i - 1) % 25], x[0]),
    ),
    "two axes": (
        lambda x: ig.fori_loop(0, 4, lambda i, s: ig.fori_loop(0, 6, lambda j, s: s + x[i * 6 + j], s), x[0]),
        lambda x: ig.fori_loop(0, 4, lambda i, s: ig.fori_loop(0, 7, lambda j, s: s + x[i * 6 + j], s), x[0]),
    ),
    "greatest": (
        lambda x: ig.fori_loop(0, 9, lambda i, x: x.at[ig.argmax(x)].set(0), x),
        lambda x: ig.fori_loop(0, 9, lambda i, x: x.at[ig.argmax(x) + i - 8].set(0), x),
    ),
    "while": (
        lambda x: ig.while_loop(lambda c: c[0] < 24, lambda c: (c[0] + 2, c[1] + x[c[0]]), (ig.asarray(0), x[0])),
        lambda x: ig.while_loop(lambda c: c[0] < 25, lambda c: (c[0] + 2, c[1] + x[c[0]]), (ig.asarray(0), x[0])),
    ),
    "while, in 32 bits": (
        lambda x: ig.while_loop(
            lambda c: c[0] < 24, lambda c: (c[0] + 2, c[1] + x[c[0]]), (ig.asarray(0, dtype=ig.int32), x[0])
        ),
        lambda x: ig.while_loop(
            lambda c: c[0] < 25, lambda c: (c[0] + 2, c[1] + x[c[0]]), (ig.asarray(0, dtype=ig.int32), x[0])
        ),
    ),
    "while, around": (
        lambda x: ig.while_loop(lambda c: x[c] < 9, lambda c: (c + 1) % 24, ig.asarray(0, dtype=ig.int32)),
        lambda x: ig.while_loop(lambda c: x[c] < 9, lambda c: (c + 1) % 25, ig.asarray(0, dtype=ig.int32)),
    ),
    "branch": (
        lambda x: ig.fori_loop(0, 30, lambda i, s: ig.cond(i < 24, lambda: s + x[i], lambda: s), x[0]),
        lambda x: ig.fori_loop(0, 30, lambda i, s: ig.cond(i < 25, lambda: s + x[i], lambda: s), x[0]),
    ),
    "clipped": (
        lambda x: x[ig.clip(ig.sum(x).astype(ig.int64), 0, 23)],
        lambda x: x[ig.clip(ig.sum(x).astype(ig.int64), 0, 24)],
    ),
    "order": (lambda x: x[ig.argsort(x)], lambda x: x[ig.argsort(x) + 1]),
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_is_inside_is_not_checked(name: str) -> None:
    inside, outside = INSIDE[name]
    assert checks(inside, X) == 0
    assert checks(outside, X) > 0


def test_what_was_checked_is_not_checked_again() -> None:
    def program(x: Array, keys: Array) -> Array:
        return ig.fori_loop(0, 3, lambda i, x: x.at[keys[i]].set(x[keys[i]]), x)

    assert checks(program, X, KEYS) == 1
    with pytest.raises(IndexError, match="the index 24 is out of range for axis 0 of size 24"):
        ig.jit(program)(X, ig.asarray([3, 24, 2]))


FAILING: dict[str, Callable[[Array, Array], Array]] = {
    "read": lambda x, keys: ig.fori_loop(0, 5, lambda i, s: s + x[keys[i]], x[0]),
    "written": lambda x, keys: ig.fori_loop(0, 5, lambda i, x: x.at[keys[i]].add(1), x),
    "branch": lambda x, keys: ig.fori_loop(
        0, 5, lambda i, s: ig.cond(keys[i] > 3, lambda: s + x[keys[i]], lambda: s - x[keys[i] - 30]), x[0]
    ),
    "inner": lambda x, keys: ig.fori_loop(
        0, 2, lambda j, s: ig.fori_loop(0, 5, lambda i, s: s + x[keys[i] * j], s), x[0]
    ),
    "while": lambda x, keys: ig.while_loop(
        lambda c: x[keys[c[0]]] < 50, lambda c: (c[0] + 1, c[1] + x[keys[c[0]] - 1]), (ig.asarray(0), x[0])
    )[1],
    "rows": lambda x, keys: ig.fori_loop(0, 5, lambda i, s: s + ig.sum(x.reshape(6, 4)[keys[i] // 2]), x[0]),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8"])
def test_a_failing_check_of_a_loop_that_is_one_kernel(name: str, dtype: str) -> None:
    keys = ig.asarray([3, 1, 5, 77, 2], dtype=getattr(ig, dtype))
    graph = ig.trace(FAILING[name], X, keys).graph
    joined, steps = graph.compile(), graph.compile(disable=["join-loops"])
    assert any(line.startswith("program: ") for line in joined.report()["fusion_log"])
    texts = []
    for way in (joined, steps, joined):
        with pytest.raises(IndexError) as failure:
            way(X, keys)
        texts.append(str(failure.value))
    assert texts[0] == texts[1] == texts[2]
    assert "is out of range for axis 0 of size" in texts[0]
    assert "test_bounds.py" in texts[0]
    if name != "while":  # which ends by a failing check alone
        inside = ig.asarray([4, 5, 6, 7, 8], dtype=getattr(ig, dtype))
        assert np.array_equal(np.asarray(joined(X, inside)), np.asarray(steps(X, inside)))


def test_loops_that_fail_leave_donated_arrays_and_the_next_run_alone() -> None:
    donating = ig.jit(FAILING["written"], donate_argnums=0)
    good, bad = ig.asarray([3, 1, 5, 7, 2]), ig.asarray([3, 1, 5, 77, 2])
    for _ in range(4):
        x = ig.arange(24, dtype=ig.float32)
        with pytest.raises(IndexError, match="the index 77 is out of range for axis 0 of size 24"):
            donating(x, bad)
        assert np.array_equal(np.asarray(x), np.arange(24))
        wanted = np.arange(24)
        wanted[np.asarray(good)] += 1
        assert np.array_equal(np.asarray(donating(x, good)), wanted)


@pytest.mark.parametrize(("shift", "axis"), [(1, 0), (-3, 1), (5, None), ((2, -1), (0, 1))])
def test_a_roll_of_sizes_that_vary(shift: int | tuple[int, int], axis: int | tuple[int, int] | None) -> None:
    """A shift is less than the size that it goes round in, whatever that is: none is refused, or a case of its own."""
    rows, columns = ig.Dim("n"), ig.Dim("m")
    roll = lambda u: ig.roll(u, shift, axis=axis)  # noqa: E731
    traced = ig.trace(roll, ig.ones((8, 9)), dynamic_shapes={"u": {0: rows, 1: columns}})
    jitted = ig.jit(roll)
    for shape in ((4, 5), (7, 4), (9, 30), (2, 2), (5, 6)):
        x = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
        np.testing.assert_array_equal(np.asarray(traced(x)), np.roll(x, shift, axis))
        np.testing.assert_array_equal(np.asarray(jitted(x)), np.roll(x, shift, axis))
    assert all(not entry["size_guards"] for entry in jitted.cache_info()["entries"])
