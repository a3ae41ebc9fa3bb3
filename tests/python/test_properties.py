"""Laws that hold for all arrays: broadcasting, promotion, indexing, shapes, and random programs by every way
to run
them. Examples are drawn by hypothesis, the same ones in each run; a failure prints the smallest one and how
to repeat
it."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tries import tries

import intaglio as ig
from intaglio import _intaglio as core

# INTAGLIO_FUZZ=1000 looks further, with a new seed each time, which hypothesis prints with a failure.
FUZZ = int(os.environ.get("INTAGLIO_FUZZ", "0"))
settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=60,
    print_blob=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=max(FUZZ, 1),
    print_blob=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fuzz" if FUZZ else "fixed")

Array = np.ndarray[Any, Any]
sizes = st.integers(0, 4)
shapes = st.lists(sizes, max_size=4).map(tuple)


def counting(shape: tuple[int, ...], dtype: str = "int64") -> Array:
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


# --- broadcasting -------------------------------------------------------------------------------------------


@st.composite
def broadcastable(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    whole = draw(st.lists(sizes, max_size=4))
    out = []
    for _ in range(2):
        own = [1 if draw(st.booleans()) and draw(st.booleans()) else n for n in whole]
        out.append(tuple(own[draw(st.integers(0, len(own))) :]))
    return out[0], out[1]


@given(broadcastable())
def test_broadcasting(pair: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = counting(pair[0]), counting(pair[1]) + 3
    x, y = ig.asarray(a), ig.asarray(b)
    np.testing.assert_array_equal((x * 2 + y).numpy(), a * 2 + b)
    np.testing.assert_array_equal((y - x).numpy(), b - a)
    assert ig.broadcast_shapes(*pair) == np.broadcast_shapes(*pair)
    for mine, theirs in zip(ig.broadcast_arrays(x, y), np.broadcast_arrays(a, b), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs)
    np.testing.assert_array_equal(ig.where(x > y, x, y).numpy(), np.where(a > b, a, b))


@given(shapes, shapes)
def test_shapes_that_do_not_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        want = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ig.ShapeError):
            ig.broadcast_shapes(a, b)
        with pytest.raises(ig.ShapeError):
            ig.zeros(a) + ig.zeros(b)
    else:
        assert (ig.zeros(a) + ig.zeros(b)).shape == want


# --- promotion: the array API's table, which is in its specification under "Type Promotion Rules" -----------

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
FLOATS, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
ALL = ["bool", *SIGNED, *UNSIGNED, "float16", "bfloat16", *FLOATS, *COMPLEX]


def standard(a: str, b: str) -> str | None:
    """The specification's table; None where it leaves the pair undefined."""
    if a == b:
        return a
    for kind in (SIGNED, UNSIGNED):
        if a in kind and b in kind:
            return max(a, b, key=kind.index)
    if (a in SIGNED and b in UNSIGNED) or (a in UNSIGNED and b in SIGNED):
        s, u = (a, b) if a in SIGNED else (b, a)
        wide = max(SIGNED.index(s), UNSIGNED.index(u) + 1)
        return SIGNED[wide] if wide < 4 else None
    if a in FLOATS + COMPLEX and b in FLOATS + COMPLEX:
        double = "float64" in (a, b) or "complex128" in (a, b)
        return ("complex" if a in COMPLEX or b in COMPLEX else "float") + str(
            (64 if double else 32) * (2 if a in COMPLEX or b in COMPLEX else 1)
        )
    return None


@pytest.mark.parametrize(("a", "b"), list(itertools.product(ALL, ALL)))
def test_promotion(a: str, b: str) -> None:
    extended = {"float16", "bfloat16"} & {a, b}
    want = standard(a, b)
    if extended and a != b:
        # Beside the standard: a 16-bit float meets wider floats at their width, and the other 16-bit float
        # at float32.
        other = b if a in extended else a
        want = "float32" if len(extended) == 2 else other if other in FLOATS + COMPLEX else None
    if want is None:
        with pytest.raises(ig.TypeError, match="no common dtype"):
            ig.result_type(a, b)
        return
    assert ig.result_type(a, b).name == want
    assert ig.result_type(b, a).name == want
    assert core._promote(a, b).name == want
    assert ig.can_cast(a, b) == (want == b)
    x, y = ig.astype(ig.asarray([1, 0]), a), ig.astype(ig.asarray([1, 1]), b)
    assert ig.where(ig.asarray([True, False]), x, y).dtype.name == want
    assert (x == y).tolist() == [True, False]


@given(st.sampled_from(ALL), st.sampled_from([True, 3, 2.5, 1j]))
def test_python_numbers_take_the_arrays_dtype(name: str, number: Any) -> None:
    x = ig.ones((2,), dtype=name)
    order = [bool, int, float, complex].index(type(number))
    kind = 0 if name == "bool" else 1 if "int" in name else 2 if "float" in name else 3
    # A bool goes with bools alone, an integer with all but bools, and fractions with floats.
    if (order == 0 and kind != 0) or (order == 1 and kind == 0) or (order >= 2 and kind < 2):
        with pytest.raises(ig.TypeError, match="does not go with"):
            ig.result_type(x, number)
        return
    wider = {"float64": "complex128", "complex128": "complex128"}.get(name, "complex64")
    assert ig.result_type(x, number).name == (wider if order == 3 else name)


# --- indexing -----------------------------------------------------------------------------------------------


@st.composite
def indexed(draw: st.DrawFn, arrays: bool) -> tuple[tuple[int, ...], Any]:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    key: list[Any] = []
    used_array = False
    axis = 0
    while axis < len(shape):
        n = shape[axis]
        kind = draw(st.sampled_from(["int", "slice", "slice", "none", "ellipsis", "stop", "array", "mask"]))
        if kind == "int":
            key.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            bound = st.one_of(st.none(), st.integers(-n - 2, n + 2))
            key.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2, 3]))))
        elif kind == "none":
            key.append(None)
            continue
        elif kind == "ellipsis" and not any(part is Ellipsis for part in key):
            key.append(Ellipsis)
            break
        elif kind == "array" and arrays and not used_array:
            used_array = True
            where = draw(st.lists(st.integers(-n, n - 1), min_size=0, max_size=4))
            key.append(np.array(where, np.int64).reshape(draw(st.sampled_from([(-1,), (1, -1)])) if where else (0,)))
        elif kind == "mask" and arrays and not used_array:
            used_array = True
            key.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))))
        elif kind == "stop":
            break
        else:
            continue
        axis += 1
    return shape, tuple(key) if len(key) != 1 or draw(st.booleans()) else key[0]


def ours(key: Any) -> Any:
    """The key with Intaglio's arrays for NumPy's."""
    if isinstance(key, tuple):
        return tuple(ours(part) for part in key)
    return ig.asarray(key) if isinstance(key, np.ndarray) else key


@given(indexed(arrays=False))
def test_basic_indexing(case: tuple[tuple[int, ...], Any]) -> None:
    shape, key = case
    a = counting(shape)
    np.testing.assert_array_equal(ig.asarray(a)[key].numpy(), a[key])
    traced = ig.trace(lambda x: x[key], ig.asarray(a))
    np.testing.assert_array_equal(traced(a).numpy(), a[key])


@given(indexed(arrays=True))
def test_array_indexing(case: tuple[tuple[int, ...], Any]) -> None:
    shape, key = case
    a = counting(shape)
    np.testing.assert_array_equal(ig.asarray(a)[ours(key)].numpy(), a[key])


@given(indexed(arrays=True), st.booleans())
def test_assignment(case: tuple[tuple[int, ...], Any], whole: bool) -> None:
    shape, key = case
    a = counting(shape)
    x = ig.asarray(a)
    selected = a[key]
    value = counting(selected.shape) + 100 if whole and not has_duplicates(shape, key) else np.int64(-1)
    x[ours(key)] = ig.asarray(value) if whole else -1
    a = a.copy()
    a[key] = value if whole else -1
    np.testing.assert_array_equal(x.numpy(), a)


def has_duplicates(shape: tuple[int, ...], key: Any) -> bool:
    selected = counting(shape)[key]
    return len(np.unique(selected)) != selected.size


# --- shapes -------------------------------------------------------------------------------------------------


@given(shapes, st.randoms(use_true_random=False))
def test_moves_of_axes(shape: tuple[int, ...], random: Any) -> None:
    a = counting(shape)
    x = ig.asarray(a)
    order = list(range(a.ndim))
    random.shuffle(order)
    np.testing.assert_array_equal(ig.permute_dims(x, order).numpy(), a.transpose(order))
    back = [order.index(i) for i in range(a.ndim)]
    np.testing.assert_array_equal(ig.permute_dims(ig.permute_dims(x, order), back).numpy(), a)
    np.testing.assert_array_equal(ig.reshape(x, (-1,) if a.size else (0,)).numpy(), a.reshape(-1))
    np.testing.assert_array_equal(ig.reshape(ig.ravel(x), shape).numpy(), a)
    np.testing.assert_array_equal(ig.flip(x).numpy(), np.flip(a))
    if a.ndim:
        axis = random.randrange(-a.ndim, a.ndim)
        np.testing.assert_array_equal(ig.flip(x, axis=axis).numpy(), np.flip(a, axis))
        np.testing.assert_array_equal(ig.roll(x, 2, axis=axis).numpy(), np.roll(a, 2, axis))
        np.testing.assert_array_equal(ig.expand_dims(x, axis=axis).numpy(), np.expand_dims(a, axis))
        np.testing.assert_array_equal(ig.squeeze(ig.expand_dims(x, axis=axis), axis).numpy(), a)
        np.testing.assert_array_equal(ig.concat([x, x], axis=axis).numpy(), np.concatenate([a, a], axis))
        np.testing.assert_array_equal(ig.stack([x, x], axis=axis).numpy(), np.stack([a, a], axis))
        np.testing.assert_array_equal(ig.sum(x, axis=axis).numpy(), a.sum(axis))
        np.testing.assert_array_equal(ig.cumulative_sum(x, axis=axis).numpy(), np.cumsum(a, axis))


# --- random programs ----------------------------------------------------------------------------------------

ELEMENTWISE = ["exp", "tanh", "negative", "abs", "sigmoid", "square", "sin", "relu"]
BINARY = ["add", "multiply", "subtract", "maximum", "minimum", "where"]
# Without `fuse` the reference rules run, whose functions are rounded otherwise.
PASSES = ["batch-last", "canonicalize", "choose-layouts", "cse", "dce", "fold", "one-tap-products", "sink-views"]


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Steps of a program on a growing list of values, which it starts with two arrays of one shape."""
    steps: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(2, 9))):
        kind = draw(
            st.sampled_from(["one", "one", "two", "two", "fold", "spread", "move", "product", "number", "take"])
        )
        a, b = draw(st.integers(0, 30)), draw(st.integers(0, 30))
        word = draw(st.sampled_from(ELEMENTWISE if kind == "one" else BINARY))
        steps.append((kind, a, b, word, draw(st.integers(0, 5)), draw(st.sampled_from([0.5, -1.0, 0.0, 3.0]))))
    return steps


def run(steps: list[tuple[Any, ...]], x: Any, y: Any) -> list[Any]:
    values = [x, y]
    for kind, i, j, word, number, factor in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        axis = number % a.ndim if a.ndim else None
        if kind == "one":
            values.append(getattr(ig, word)(a))
        elif kind == "two" and a.shape == b.shape:
            values.append(ig.where(a > b, b, a * 2.0) if word == "where" else getattr(ig, word)(a, b))
        elif kind == "fold" and axis is not None:
            values.append([ig.sum, ig.max, ig.mean, ig.min][number % 4](a, axis=axis, keepdims=number % 2 == 0))
        elif kind == "spread" and axis is not None:
            values.append(a - ig.max(a, axis=axis, keepdims=True))
        elif kind == "move" and a.ndim == 2:
            values.append(
                [
                    lambda v: v.T,
                    lambda v: v[::-1],
                    lambda v: v[:, :1] + v,
                    ig.ravel,
                    lambda v: ig.concat([v, v]),
                    lambda v: ig.softmax(v, axis=-1),
                ][number](a)
            )
        elif kind == "product" and a.ndim == 2 and b.ndim == 2:
            values.append(ig.matmul(a, b.T) if a.shape[1] == b.shape[1] else ig.matmul(a, a.T))
        elif kind == "take" and a.ndim and a.shape[0] > 0:
            values.append(a[ig.asarray([0, -1, 0])])
        else:
            values.append(a * factor + 0.25)
    return values[2:]


def same(a: ig.Tensor, b: ig.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a.numpy(), b.numpy(), equal_nan=True)


def close(a: ig.Tensor, b: ig.Tensor) -> bool:
    x, y = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
    scale = max(1.0, float(np.max(np.abs(y[np.isfinite(y)]), initial=1.0)))
    both = np.isfinite(x) & np.isfinite(y)
    return x.shape == y.shape and bool(
        np.all(
            np.where(
                both,
                np.abs(np.where(both, x, 0) - np.where(both, y, 0)) <= 1e-4 * scale,
                (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x) > 1e30) | (np.abs(y) > 1e30),
            )
        )
    )


@given(programs(), st.sampled_from([(3, 4), (1, 5), (2, 17), (33, 3)]))
@settings(max_examples=tries(40))
def test_random_programs(steps: list[tuple[Any, ...]], shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[1])
    x, y = (ig.asarray(rng.uniform(-1, 1, shape).astype(np.float32)) for _ in range(2))
    eager = run(steps, x, y)
    program = ig.trace(lambda a, b: tuple(run(steps, a, b)), x, y)
    text = str(program.graph)
    assert str(ig.Graph.parse(text)) == text
    assert str(ig.Graph.from_binary(program.graph.to_binary())) == text
    compiled, evaluated = program(x, y), program.evaluate(x, y)
    for number, (e, c, v) in enumerate(zip(eager, compiled, evaluated, strict=True)):
        assert same(e, c), f"value {number}: compiled and eager differ\n{text}"
        assert close(e, v), f"value {number}: far from the definition\n{text}"


@given(programs(), st.sets(st.sampled_from(PASSES)))
@settings(max_examples=tries(25))
def test_any_passes_left_out(steps: list[tuple[Any, ...]], without: set[str]) -> None:
    rng = np.random.default_rng(7)
    x, y = (ig.asarray(rng.uniform(-1, 1, (3, 17)).astype(np.float32)) for _ in range(2))
    graph = ig.trace(lambda a, b: tuple(run(steps, a, b)), x, y).graph
    whole, partial = graph(x, y), graph.compile(disable=sorted(without))(x, y)
    for a, b in zip(
        whole if isinstance(whole, tuple) else (whole,),
        partial if isinstance(partial, tuple) else (partial,),
        strict=True,
    ):
        assert same(a, b), f"without {sorted(without)}\n{graph}"
