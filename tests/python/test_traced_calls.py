"""Calling what `ig.trace` gives, and what is compiled for a call: containers, values, what is refused."""

from __future__ import annotations

import dataclasses
import gc
import re
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import intaglio as ig

X = ig.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
OUTSIDE = ig.full((3,), 2.0)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any


def same(a: Any, b: Any) -> bool:
    left, right = ig.tree.leaves(a), ig.tree.leaves(b)
    return ig.tree.structure(a) == ig.tree.structure(b) and all(
        np.array_equal(np.asarray(x), np.asarray(y)) for x, y in zip(left, right, strict=True)
    )


def affine(x: Any, layer: Any, *, scale: Any = 1.0, extra: Any = None) -> Any:
    y = (x * layer.weight + layer.bias) * scale
    return y if extra is None else y + extra["shift"]


def text_of(error: pytest.ExceptionInfo[BaseException]) -> str:
    """Without this file's path and lines, which move."""
    return re.sub(r"at: .*/test_traced_calls.py:\d+ in \w+", "at:", str(error.value))


def test_containers_go_in_and_come_out() -> None:
    layer = Layer(ig.ones(3), OUTSIDE)
    function = lambda pair, layer: {"y": Pair(pair.first + layer.weight, [pair.second, "text", None, 3]), "n": 7}  # noqa: E731
    traced = ig.trace(function, Pair(X, X), layer)
    for pair in (Pair(X, X), Pair(X + 1, X * 2)):
        assert same(traced(pair, layer), function(pair, layer))
        assert same(traced.evaluate(pair, layer), function(pair, layer))


def test_keywords_come_in_any_order() -> None:
    layer, extra = Layer(ig.ones(3), OUTSIDE), {"shift": X}
    traced = ig.trace(affine, X, layer, scale=ig.asarray(3.0), extra=extra)
    wanted = affine(X, layer, scale=ig.asarray(3.0), extra=extra)
    assert same(traced(X, layer, scale=ig.asarray(3.0), extra=extra), wanted)
    assert same(traced(X, layer, extra=extra, scale=ig.asarray(3.0)), wanted)
    assert same(traced(X, layer, **{"extra": extra, "sca" + "le": ig.asarray(3.0)}), wanted)


def test_what_stands_for_an_array() -> None:
    """Numbers, NumPy's arrays and other shapes of a size that varies."""
    traced = ig.trace(lambda x, y: x * y + OUTSIDE, X, ig.asarray(2.0), dynamic_shapes={"x": {0: ig.Dim("n")}})
    for rows in (0, 1, 2, 5):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        assert np.array_equal(np.asarray(traced(x, 2)), x * 2 + 2)
        assert np.array_equal(np.asarray(traced(ig.asarray(x), np.float32(0.5))), x * np.float32(0.5) + 2)


def test_no_arguments_and_no_results() -> None:
    assert same(ig.trace(lambda: OUTSIDE + 1)(), OUTSIDE + 1)
    assert ig.trace(lambda x: None, X)(X) is None
    assert ig.trace(lambda x: (x.shape, "two"), X)(X) == ((2, 3), "two")
    assert ig.trace(lambda *arrays: sum(arrays), X, X, X)(X, X, X).shape == (2, 3)


def test_values_are_those_of_the_trace() -> None:
    traced = ig.trace(lambda x, mode, k: x + 1 if mode == "up" else x - k, X, "up", float("nan"))
    nan = float("nan")
    with pytest.raises(ig.ValueError):
        traced(X, "up", nan)  # which is equal to nothing, this object's own aside
    same_nan = ig.trace(lambda x, k: x + 1, X, nan)
    assert same(same_nan(X, nan), X + 1)
    counted = ig.trace(lambda x, k: x * k, X, 2)
    for other in (3, 2.0, True, "2", None, [2]):
        with pytest.raises(ig.Error):
            counted(X, other)
    with pytest.raises(ig.ValueError) as refused:
        counted(X, 3)
    assert text_of(refused) == (
        "<lambda>: traced with the value 2, called with 3\n"
        "  at::  counted(X, 3)\n"
        "  why: what is no array is part of the graph\n"
        "  hint: pass it as an array (ig.asarray), or trace again"
    )


def test_another_structure() -> None:
    layer = Layer(ig.ones(3), OUTSIDE)
    traced = ig.trace(affine, X, layer, scale=ig.asarray(3.0))
    scale = ig.asarray(3.0)
    for args, kwargs in (
        ((X,), {"scale": scale}),
        ((X, layer, scale), {}),
        ((X, layer), {}),
        ((X, layer), {"scale": scale, "extra": X}),
        ((X, layer), {"extra": scale}),
        ((X, (X, X)), {"scale": scale}),
        (([X], layer), {"scale": scale}),
        ((X, Layer(X, (X, X))), {"scale": scale}),
        ((), {}),
    ):
        with pytest.raises(ig.TypeError, match="another structure than the traced ones"):
            traced(*args, **kwargs)
        with pytest.raises(ig.TypeError, match="another structure than the traced ones"):
            traced.evaluate(*args, **kwargs)
    with pytest.raises(ig.TypeError) as refused:
        traced(X, [X], scale=scale)
    assert text_of(refused) == (
        "affine: the arguments have another structure than the traced ones\n"
        "  at::  traced(X, [X], scale=scale)\n"
        "  why: traced with TreeDef(((*, Layer('weight': *, 'bias': *)), {'scale': *})), called with "
        "TreeDef(((*, [*]), {'scale': *}))\n"
        "  hint: trace again, or use ig.jit, which traces for each structure"
    )


def test_within_another_capture() -> None:
    inner = ig.trace(lambda x, k: ig.sin(x) * k, X, 2)
    assert same(ig.jit(lambda x: inner(x, 2) + 1)(X), inner(X, 2) + 1)
    assert same(ig.trace(lambda x: inner(x, 2) + 1, X)(X), inner(X, 2) + 1)
    got = ig.grad(lambda x: ig.sum(inner(x, 2)))(X)
    assert np.allclose(np.asarray(got), 2 * np.cos(np.asarray(X)), atol=1e-6)


def test_the_tape_goes_through() -> None:
    x = ig.asarray(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), requires_grad=True)
    ig.sum(ig.trace(lambda x: x * x, X)(x)).backward()
    assert np.allclose(np.asarray(x.grad), 2 * np.asarray(x.detach()))


class Box:
    """No array, compared as an object."""

    call: Any = None


def test_circles_go_away() -> None:
    def of(make: Any) -> weakref.ref[Box]:
        box = Box()
        box.call = make(box)
        assert same(box.call(X, box), X + 1)
        return weakref.ref(box)

    for gone in (
        of(lambda box: ig.trace(lambda x, box: x + 1, X, box)),
        of(lambda box: ig.jit(lambda x, box: x + 1, static_argnums=1).lower(X, box).compile()),
    ):
        gc.collect()
        assert gone() is None


def test_threads_call_side_by_side() -> None:
    traced = ig.trace(lambda x, k: (ig.tanh(x) * k, {"k": k}), X, 3)
    compiled = ig.jit(lambda x: ig.tanh(x) * 3).lower(X).compile()
    wanted = np.asarray(traced(X, 3)[0])
    bad: list[Any] = []

    def work() -> None:
        for _ in range(500):
            y, rest = traced(X, 3)
            if not np.array_equal(np.asarray(y), wanted) or rest != {"k": 3}:
                bad.append(y)
            if not np.array_equal(np.asarray(compiled(X)), wanted):
                bad.append("compiled")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not bad


def test_a_compiled_call_checks_what_it_is_given() -> None:
    compiled = ig.jit(affine).lower(X, Layer(ig.ones(3), OUTSIDE), scale=2.0).compile()
    layer = Layer(ig.ones(3), OUTSIDE)
    for _ in range(3):
        assert same(compiled(X, layer, scale=2.0), affine(X, layer, scale=2.0))
        with pytest.raises(ig.TypeError, match="it is compiled for other arguments"):
            compiled(ig.ones((4, 3)), layer, scale=2.0)
        with pytest.raises(ig.TypeError, match="of the structure"):
            compiled(X, layer)
    assert same(compiled(np.asarray(X), layer, scale=3.0), affine(X, layer, scale=3.0))
