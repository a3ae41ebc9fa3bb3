"""`ig.jit` on places outside that hold other arrays than when the function was recorded: a handle that was replaced,
two places that held one array and no longer do, places that are stored to and never read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig
from intaglio import nn


class Places:
    def __init__(self) -> None:
        self.a, self.b = ig.ones(2), ig.asarray([3.0, 4.0])
        self.parts = {"a": ig.ones(2)}
        self.items = [ig.ones(2), ig.zeros(2)]
        self.flag: Any = 1


def in_place(p: Places, x: ig.Tensor) -> ig.Tensor:
    p.a += x
    return p.a * 2


def element(p: Places, x: ig.Tensor) -> ig.Tensor:
    p.a[0] = x[1]
    return p.a + x


def in_dict(p: Places, x: ig.Tensor) -> ig.Tensor:
    p.parts["a"] *= x
    p.items[1] -= x
    return p.parts["a"]


def both(p: Places, x: ig.Tensor) -> ig.Tensor:
    p.a += 1
    return x + p.a * 2 + p.b


def gives(p: Places, x: ig.Tensor) -> Any:
    return x, p.a, [p.items[0]]


def swaps(p: Places, x: ig.Tensor) -> Any:
    p.a, p.b = p.b, p.a
    return p.a + x, p.b


def stores(p: Places, x: ig.Tensor) -> ig.Tensor:
    p.flag = 1
    p.items[0] = p.b
    return x


def replaced(p: Places) -> None:
    p.a = ig.asarray([7.0, 9.0])
    p.parts["a"] = p.items[1] = ig.asarray([5.0, 6.0])


def joined(p: Places) -> None:
    p.a = p.b


def parted(p: Places) -> None:
    p.b = ig.asarray([0.5, 0.25])


def other_flag(p: Places) -> None:
    p.flag, p.items[0] = None, ig.zeros(2)


CHANGES: list[Callable[[Places], None]] = [replaced, joined, parted, other_flag, replaced, joined]


def seen(p: Places) -> Any:
    """What the places hold, and which of them hold one object."""
    handles = [p.a, p.b, p.parts["a"], *p.items]
    return [h.tolist() for h in handles], [[a is b for a in handles] for b in handles], p.flag


@pytest.mark.parametrize("function", [in_place, element, in_dict, both, gives, swaps, stores])
@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_what_a_place_holds_now_counts(function: Callable[[Places, ig.Tensor], Any], first: int) -> None:
    plain, other = Places(), Places()
    jitted = ig.jit(function)
    x = ig.asarray([2.0, 3.0])
    for change in [*CHANGES[first:], *CHANGES[:first]]:
        for _ in range(2):
            want, got = function(plain, x), jitted(other, x)
            for a, b in zip(ig.tree_flatten(got)[0], ig.tree_flatten(want)[0], strict=True):
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
            assert seen(other) == seen(plain)
        change(plain)
        change(other)


def test_a_handle_put_anew_before_each_call_needs_no_other_trace() -> None:
    p = Places()
    jitted = ig.jit(in_place)
    for i in range(6):
        p.a = ig.asarray([float(i), 1.0])
        assert jitted(p, ig.ones(2)).tolist() == [2.0 * i + 2, 4.0]
        assert p.a.tolist() == [i + 1.0, 2.0]
    assert len(ig.explain(jitted)["entries"]) == 1


def test_tied_weights_that_are_parted() -> None:
    keys = ig.random.split(ig.random.key(0), 2)
    model = nn.Sequential(nn.Linear(2, 2, key=keys[0]), nn.Linear(2, 2, key=keys[1]))
    model[1].weight = model[0].weight
    jitted = ig.jit(lambda x: model(x))
    x = ig.ones((1, 2))
    np.testing.assert_array_equal(jitted(x), model(x))
    model[1].weight = nn.Parameter(ig.zeros((2, 2)))
    np.testing.assert_array_equal(jitted(x), model(x))
    model[0].weight = model[1].weight
    np.testing.assert_array_equal(jitted(x), model(x))


def test_a_buffer_that_was_replaced_is_updated() -> None:
    plain, other = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    jitted = ig.jit(lambda x: other(x))
    x = ig.asarray([[1.0, 2.0], [3.0, 5.0]])
    for _ in range(2):
        np.testing.assert_array_equal(jitted(x), plain(x))
        for norm in (plain, other):
            norm.running_mean = nn.Buffer(ig.asarray([7.0, 8.0]))
    jitted(x), plain(x)
    assert other.running_mean.tolist() == plain.running_mean.tolist() != [7.0, 8.0]


def test_another_object_stored_where_the_same_one_was() -> None:
    p, child = Places(), Places()
    p.flag = child

    @ig.jit
    def store(x: ig.Tensor) -> ig.Tensor:
        p.flag = child
        return x * child.a

    assert store(ig.ones(2)).tolist() == [1.0, 1.0]
    p.flag = None
    with pytest.raises(ig.CaptureError, match="bound to a Places"):
        store(ig.ones(2))


def test_a_place_that_is_emptied_while_the_call_runs() -> None:
    """The write goes to the handle that the call found, as the function's own would."""
    p = Places()
    found = p.a

    def empty(x: Any) -> Any:
        del p.a
        return x

    @ig.jit
    def step(x: ig.Tensor) -> ig.Tensor:
        p.a += ig.io_callback(lambda v: v if first else empty(v), x, x)
        return x

    first = [True]
    step(ig.ones(2))
    first.clear()
    step(ig.ones(2))
    assert found.tolist() == [3.0, 3.0]
    assert not hasattr(p, "a")


def test_threads_that_replace_handles() -> None:
    """No order is promised, but no call crashes, and each result is of some state that was there."""
    p = Places()
    jitted = ig.jit(lambda x: x + p.a)
    jitted(ig.zeros(2))
    done = threading.Event()

    def replace() -> None:
        while not done.is_set():
            p.a = ig.ones(2) * 2
            p.a = ig.ones(2)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(2000):
            assert jitted(ig.zeros(2)).tolist() in ([1.0, 1.0], [2.0, 2.0])
    finally:
        done.set()
        thread.join()
