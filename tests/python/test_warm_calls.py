"""A warm call runs no Python of Intaglio's and takes no memory that it does not give back."""

from __future__ import annotations

import ctypes
import functools
import gc
import operator
import resource
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import intaglio as ig

X = ig.asarray(np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4))
Y = ig.asarray(np.linspace(1, 3, 12, dtype=np.float32).reshape(3, 4))
W = ig.asarray(np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4))


def fused(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
    return ig.softmax(ig.tanh(x + y) * 2.0)


def halved(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
    """A loop whose end depends on the data, and one of a known number of steps."""
    x = ig.while_loop(lambda x: ig.max(x) > 0.25, lambda x: x * 0.5, x)
    return ig.fori_loop(0, 5, lambda i, x: x + y, x)


def of_a_tree(parts: dict[str, Any]) -> dict[str, Any]:
    return {"sum": parts["x"] + parts["y"], "both": (parts["x"], [parts["y"] * 2.0])}


def with_a_closure(x: ig.Tensor) -> ig.Tensor:
    return x @ W


JITTED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a fused graph": (ig.jit(fused), (X, Y)),
    "loops": (ig.jit(halved), (X, Y)),
    "a tree": (ig.jit(of_a_tree), ({"x": X, "y": Y},)),
    "an array from outside": (ig.jit(with_a_closure), (X,)),
    "a number": (ig.jit(operator.mul), (X, 2.0)),
    "NumPy's array": (ig.jit(fused), (np.asarray(X), Y)),
    "a graph": (ig.trace(fused, X, Y).graph, (X, Y)),
    "a traced function": (ig.trace(fused, X, Y), (X, Y)),
    "a traced function of a tree": (ig.trace(of_a_tree, {"x": X, "y": Y}), ({"x": X, "y": Y},)),
    "a traced function of an array from outside": (ig.trace(with_a_closure, X), (X,)),
    "a traced function of a number": (ig.trace(operator.mul, X, 2.0), (X, 2.0)),
    "a call that is compiled": (ig.jit(fused).lower(X, Y).compile(), (X, Y)),
    "a call of a tree that is compiled": (ig.jit(of_a_tree).lower({"x": X, "y": Y}).compile(), ({"x": X, "y": Y},)),
}
EAGER: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "x + y": (operator.add, (X, Y)),
    "x * 2.0": (operator.mul, (X, 2.0)),
    "-x": (operator.neg, (X,)),
    "x @ w": (operator.matmul, (X, W)),
    "x > y": (operator.gt, (X, Y)),
    "ig.add": (ig.add, (X, Y)),
    "ig.tanh": (ig.tanh, (X,)),
    "ig.max": (ig.max, (X,)),
    "ig.softmax": (ig.softmax, (X,)),
    "ig.matmul": (ig.matmul, (X, W)),
    "x[1]": (operator.getitem, (X, 1)),
    "ig.sum": (ig.sum, (X,)),
    "ig.sum of an axis": (functools.partial(ig.sum, axis=1, keepdims=True), (X,)),
    "x.sum()": (operator.methodcaller("sum"), (X,)),
    "x.prod(0)": (operator.methodcaller("prod", 0), (X,)),
    "ig.concat": (ig.concat, ([X, Y],)),
    "ig.stack": (functools.partial(ig.stack, axis=1), ((X, Y),)),
    "ig.where": (ig.where, (X > 0, X, 0.0)),
    "ig.clip": (ig.clip, (X, -1.0, 1.0)),
    "ig.astype": (ig.astype, (X, "float64")),
    "x.astype": (operator.methodcaller("astype", ig.int32), (X,)),
    "ig.asarray of NumPy's": (ig.asarray, (np.asarray(X),)),
    "x + NumPy's": (operator.add, (X, np.asarray(Y))),
}


def warmed(call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    for _ in range(3):
        call(*arguments)
        ig.block_until_compiled()


def frames_of(call: Callable[..., Any], arguments: tuple[Any, ...]) -> list[str]:
    """The Python functions that a call enters."""
    seen: list[str] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.append(f"{frame.f_code.co_filename}: {frame.f_code.co_name}")

    sys.setprofile(watch)
    try:
        call(*arguments)
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("name", [*JITTED, *EAGER])
def test_a_warm_call_enters_no_python_function(name: str) -> None:
    call, arguments = (JITTED | EAGER)[name]
    warmed(call, arguments)
    assert frames_of(call, arguments) == []


def test_what_it_would_not_see_is_no_reason() -> None:
    """A first call runs the function itself; an unusual form is Python in front of the op."""
    jitted = ig.jit(fused)
    assert any(entered.endswith(": fused") for entered in frames_of(jitted, (X, Y)))
    whole = ig.astype(X, "int32")
    warmed(ig.sum, (whole,))
    assert [entered.split(": ")[1] for entered in frames_of(ig.sum, (whole,))] == ["sum", "_accumulated", "astype"]


# ---- memory ----------------------------------------------------------------------------------------------

LARGE = ig.ones((1024, 1024))
SORTED = ig.jit(lambda x, y: ig.sort(ig.sort(x) * 2.0) @ y)  # three kernels, whose arrays lie in the arena
STEADY = {
    name: (JITTED | EAGER)[name]
    for name in ("a fused graph", "loops", "a tree", "a graph", "a traced function", "x + y", "ig.tanh")
}
STEADY_LARGE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a fused graph": (ig.jit(fused), (LARGE, LARGE)),
    "a loop": (ig.jit(lambda x, y: ig.fori_loop(0, 3, lambda i, x: x * 0.5 + y, x)), (LARGE, LARGE)),
    "temporaries": (SORTED, (LARGE[:64], LARGE)),
    "x + y": (operator.add, (LARGE, LARGE)),
}


class MallocInfo(ctypes.Structure):
    """What mallinfo2 of the C library gives: `uordblks` bytes are taken of its heaps, `hblkhd` of maps of their own."""

    NAMES = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = tuple((name, ctypes.c_size_t) for name in NAMES)


def bytes_taken() -> int:
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = MallocInfo
    info = mallinfo()
    return int(info.uordblks + info.hblkhd)


def faults() -> int:
    """How often a page was touched for the first time, a large page as often as a small one."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def growth(counter: Callable[[], int], call: Callable[..., Any], arguments: tuple[Any, ...], count: int) -> int:
    """By how much so many warm calls, whose results are dropped, raise a counter."""
    warmed(call, arguments)
    for _ in range(50):
        call(*arguments)
    gc.collect()
    before = counter()
    for _ in range(count):
        call(*arguments)
    return counter() - before


@pytest.mark.parametrize("name", STEADY)
def test_a_thousand_calls_leave_nothing_behind(name: str) -> None:
    """The smallest piece of the C library's is 32 bytes: one a call would be 32,000."""
    assert growth(bytes_taken, *STEADY[name], count=1000) < 16_000


@pytest.mark.parametrize("name", STEADY_LARGE)
def test_large_arrays_lie_where_earlier_ones_lay(name: str) -> None:
    """Memory taken anew has a page that was not touched before, in every call."""
    assert growth(faults, *STEADY_LARGE[name], count=100) < 50


def test_what_is_taken_is_seen() -> None:
    kept: list[Any] = []
    assert growth(bytes_taken, lambda: kept.append(bytes(1000)), (), count=100) >= 100_000
    assert growth(faults, lambda: kept.append(np.ones(1 << 20)), (), count=20) >= 20


@pytest.mark.parametrize("name", STEADY)
def test_pythons_allocator_sees_the_results_alone(name: str) -> None:
    """What a call takes at its height, its results among it, and what a thousand calls leave."""
    call, arguments = STEADY[name]
    warmed(call, arguments)
    tracemalloc.start()
    try:
        call(*arguments)
        tracemalloc.clear_traces()
        for _ in range(1000):
            call(*arguments)
        left, height = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left <= 512
    assert height <= 2048


def test_the_memory_of_a_run_does_not_grow() -> None:
    graph = ig.trace(lambda x, y: ig.sort(ig.sort(x) * 2.0) @ y, X, W).graph
    graph(X, W)
    first = graph.report()
    for _ in range(1000):
        graph(X, W)
    report = graph.report()
    assert report["planned_peak"] == report["measured_peak"] == first["measured_peak"]
    assert report["constant_bytes"] == first["constant_bytes"] == 0


@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "vmap", "jacfwd", "hessian"])
def test_transforms_are_no_outside_reads(transform: str) -> None:
    """A jitted transform is guarded by what the user's function reads, not by how Python's own modules look at it."""

    def f(x):
        return ig.sum(x * x)

    g = ig.jit(getattr(ig, transform)(f))
    g(ig.ones((3, 4)))
    text = str(ig.explain(g))
    assert "inspect" not in text
    assert text.count("outside: ") <= 4, text


def test_names_of_arguments_are_those_of_the_signature() -> None:
    class Layer:
        def __call__(self, x, y=1.0):
            return x * y

        def method(self, a, b, *more):
            return a + b

    def keywords(a, /, b, *, c):
        return a * b + c

    layer = Layer()
    x = ig.ones((2,))
    for function, args, kwargs, names in [
        (lambda a, b: a + b, (x, x), {}, ["a", "b"]),
        (lambda *rest: rest[0] + rest[1], (x, x), {}, ["rest0", "rest1"]),
        (lambda a, *more: a + more[0] + more[1], (x, x, x), {}, ["a", "more0", "more1"]),
        (keywords, (x, x), {"c": x}, ["a", "b", "c"]),
        (layer, (x, x), {}, ["x", "y"]),
        (layer.method, (x, x, x), {}, ["a", "b", "more0"]),
        (functools.partial(keywords, x, c=x), (x,), {}, ["b"]),
    ]:
        assert [i["name"] for i in ig.trace(function, *args, **kwargs).graph.inputs][: len(names)] == names
