"""Updates of an array at places, where what names the places and what is put there is computed: in the kernel
that changes the array, as it takes them."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guarded_memory import guarded

import intaglio as ig

Program = Callable[..., Any]

rng = np.random.default_rng(11)
N, E, F = 37, 211, 19


def compiled(f: Program, *args: Any) -> Any:
    """Not op by op, as small programs begin."""
    return ig.jit(f).lower(*args).compile()(*args)


def kernels(f: Program, *args: Any) -> list[str]:
    function = ig.jit(f)
    function.lower(*args).compile()(*args)
    lines = str(ig.explain(function).fusion).splitlines()
    return [line.strip() for line in lines if line.startswith("  ") and line[2] != " " and ": " in line]


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 20).astype(dtype)


def places(dtype: str = "int64") -> np.ndarray:
    low = 0 if dtype.startswith("u") else -N
    return rng.integers(low, N, E).astype(dtype)


def added(x: np.ndarray, to: np.ndarray, values: np.ndarray) -> np.ndarray:
    """One after the other, each sum rounded as it is."""
    out = x.copy()
    with np.errstate(over="ignore"):
        for i, value in zip(to, values, strict=True):
            out[i] = out[i] + value
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8", "int64", "complex64"])
@pytest.mark.parametrize("index", ["int64", "int32", "uint32", "int8"])
def test_messages_along_edges(dtype: str, index: str) -> None:
    x, w = numbers(dtype, N, F), numbers(dtype, E)
    source, target = places(index), places(index)

    def rows(x: Any, w: Any, s: Any, t: Any) -> Any:
        return ig.zeros((N, F), dtype=getattr(ig, dtype)).at[t].add(x[s] * w[:, None])

    def single(x: Any, w: Any, s: Any, t: Any) -> Any:
        return ig.zeros((N,), dtype=getattr(ig, dtype)).at[t].add(x[s, 3] * w + w)

    args = [ig.asarray(a) for a in (x, w, source, target)]
    np.testing.assert_array_equal(
        np.asarray(compiled(rows, *args)), added(np.zeros((N, F), dtype), target, x[source] * w[:, None])
    )
    np.testing.assert_array_equal(
        np.asarray(compiled(single, *args)), added(np.zeros(N, dtype), target, x[source, 3] * w + w)
    )


FORMS: dict[str, tuple[Program, Program]] = {
    "count": (lambda x, v, i: x.at[i].add(1), lambda x, v, i: added(x, i, np.ones(E, x.dtype))),
    "set": (lambda x, v, i: x.at[i].set(v * v - 3), lambda x, v, i: put(x, i, v * v - 3)),
    "set one": (lambda x, v, i: x.at[i].set(v[0] * 2), lambda x, v, i: put(x, i, np.repeat(v[:1] * 2, E))),
    "computed places": (
        lambda x, v, i: x.at[(i * 5 + 1) % N].add(-v),
        lambda x, v, i: added(x, (i * 5 + 1) % N, -v),
    ),
    "least": (lambda x, v, i: x.at[i].min(v + 1), lambda x, v, i: least(x, i, v + 1)),
    "turned round": (lambda x, v, i: x.at[i[::-1]].add(v[::-1] * 2), lambda x, v, i: added(x, i[::-1], v[::-1] * 2)),
    "joined": (
        lambda x, v, i: x.at[ig.concat([i[:50], i[50:]])].add(ig.concat([v[:7] * 2, v[7:]])),
        lambda x, v, i: added(x, i, np.concatenate([v[:7] * 2, v[7:]])),
    ),
    "read elsewhere too": (
        lambda x, v, i: (x.at[i].add(v * 2), ig.sum(v * 2), i + 1),
        lambda x, v, i: (added(x, i, v * 2), None, i + 1),
    ),
    "of itself": (lambda x, v, i: x.at[i].add(x[i] - v), lambda x, v, i: added(x, i, x[i] - v)),
    "of itself, then gone": (
        lambda x, v, i: ((x := x + 1), x.at[i].add(x[i - 1] * v))[1],
        lambda x, v, i: added(x + 1, i, (x + 1)[i - 1] * v),
    ),
    "of itself, relabelled": (
        lambda x, v, i: ((x := x + 1), x.at[i].add(ig.reshape(x, (1, N))[0, i - 1] * v))[1],
        lambda x, v, i: added(x + 1, i, (x + 1)[i - 1] * v),
    ),
    "one after the other": (
        lambda x, v, i: x.at[i].add(v * 2).at[i + 1 - 1].add(v * v).at[0].set(1),
        lambda x, v, i: put(added(added(x, i, v * 2), i, v * v), np.array([0]), np.array([1])),
    ),
    "dear": (lambda x, v, i: x.at[i].add(ig.astype(ig.exp(v / 100), v.dtype)), None),  # type: ignore[dict-item]
}


def put(x: np.ndarray, to: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = x.copy()
    for i, value in zip(to, values, strict=True):
        out[i] = value
    return out


def least(x: np.ndarray, to: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = x.copy()
    np.minimum.at(out, to, values)
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("at_end", [False, True])
def test_forms(form: str, dtype: str, at_end: bool) -> None:
    """Beside NumPy, and op by op; on arrays between pages that may not be touched."""
    f, reference = FORMS[form]
    if form == "dear" and dtype == "int32":
        dtype = "float32"
    x, v, i = numbers(dtype, N), numbers(dtype, E), rng.integers(0, N, E)
    with guarded(x, at_end=at_end) as a, guarded(v, at_end=at_end) as b, guarded(i, at_end=at_end) as c:
        args = [ig.from_dlpack(lent) for lent in (a, b, c)]
        got, eager = compiled(f, *args), f(*args)
        got, eager = (out if isinstance(out, tuple) else (out,) for out in (got, eager))
        for have, same in zip(got, eager, strict=True):
            np.testing.assert_array_equal(np.asarray(have), np.asarray(same))
        if reference is not None:
            want = reference(x, v, i)
            for have, expected in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
                if expected is not None:
                    np.testing.assert_array_equal(np.asarray(have), expected)


def test_what_is_taken_is_not_written() -> None:
    """Places are wrapped, and messages made, where the sums are; what is dear is computed in lanes before."""
    x, w, s = ig.zeros((100, 64)), ig.zeros(100_000), ig.zeros(100_000, dtype=ig.int64)

    def messages(x: Any, w: Any, s: Any, t: Any) -> Any:
        return ig.zeros((100, 64)).at[t].add(x[s] * w[:, None])

    def dear(w: Any, t: Any) -> Any:
        return ig.zeros(100).at[t].add(ig.exp(w))

    told = [k for k in kernels(messages, x, w, s, s) if k.startswith("nest")]
    assert told == ["nest: reshape, gather, broadcast_in_dim, multiply, add, less, select, reshape, scatter"]
    assert "loop: exponential" in kernels(dear, w, s)


@pytest.mark.parametrize("edges", [0, 1, 2])
def test_few_edges(edges: int) -> None:
    i = np.arange(edges)
    args = [ig.asarray(a) for a in (np.ones(3, "float32"), np.ones(edges, "float32"), i)]
    got = compiled(lambda x, v, i: x.at[i].add(v * 2), *args)
    np.testing.assert_array_equal(np.asarray(got), added(np.ones(3, "float32"), i, np.full(edges, 2, "float32")))


def test_what_is_made_of_the_changed_array_and_read_twice() -> None:
    """So that it is worked out again by each of its readers, but not by the one that changes the array."""
    x, i = numbers("float32", 300_000), rng.permutation(300_000)

    def f(x: Any, i: Any) -> Any:
        x = x + 1
        twice = x * 2
        return x.at[i].add(twice), ig.exp(twice / 100)

    want = x + 1
    want[i] += (x + 1) * 2
    np.testing.assert_array_equal(np.asarray(compiled(f, ig.asarray(x), ig.asarray(i))[0]), want)


def test_swaps_in_a_loop_copy_nothing() -> None:
    """What was read before an array is changed is not read again behind that, for which it would be copied."""
    count = 10_000

    def swap(k: Any, carried: tuple[Any, Any]) -> tuple[Any, Any]:
        x, places = carried
        there = places[k]
        first = x[k]
        return x.at[k].set(x[there]).at[there].set(first), places

    def shuffled(x: Any, places: Any) -> Any:
        return ig.fori_loop(0, count, swap, (x, places))[0]

    x, places = numbers("float32", count), rng.integers(0, count, count)
    graph = ig.trace(shuffled, ig.asarray(x), ig.asarray(places)).graph.compile()
    assert graph.report()["kernels"] == 1
    want = x.copy()
    for k, there in enumerate(places):
        want[[k, there]] = want[[there, k]]
    np.testing.assert_array_equal(np.asarray(graph(ig.asarray(x), ig.asarray(places))), want)


def test_wrong_places_are_told() -> None:
    f = ig.jit(lambda x, v, i: x.at[i].add(v * 2))
    args = ig.zeros(N), ig.ones(4), ig.asarray([0, 1, N, 2])
    with pytest.raises(IndexError, match="the index 37 is out of range for axis 0 of size 37"):
        f.lower(*args).compile()(*args)


def test_sizes_that_are_symbols() -> None:
    edges, nodes = ig.Dim("edges"), ig.Dim("nodes", min=1)
    f = ig.trace(
        lambda x, v, i: x.at[i].add(v * 2),
        ig.ones(N),
        ig.ones(3),
        ig.asarray([0, 1, 2]),
        dynamic_shapes=({0: nodes}, {0: edges}, {0: edges}),
    ).graph.compile()
    for count in (0, 3, 50, 1000):
        i, v, x = rng.integers(0, N, count), numbers("float32", count), numbers("float32", N)
        np.testing.assert_array_equal(np.asarray(f(*map(ig.asarray, (x, v, i)))), added(x, i, v * 2))


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "message_passing.py"
    runpy.run_path(str(example))["main"]()
    told = capsys.readouterr().out
    assert "to the last bit" in told
    assert "multiply" in told
