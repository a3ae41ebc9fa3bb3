"""What a jitted function makes with NumPy: a constant where none but the function ever held it, else read anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

X = np.arange(12, dtype=np.float32).reshape(3, 4)
TABLE = np.array([3, 2, 1, 0])


def made_at_once(x: Any) -> Any:
    return ig.take(x, ig.asarray(np.array([3, 2, 1, 0])), axis=1)


def made_in_steps(x: Any) -> Any:
    order = np.arange(4)[::-1]
    chosen = ig.asarray(order)
    return ig.take(x, chosen, axis=1)


def as_an_operand(x: Any) -> Any:
    return x * np.hanning(4).astype(np.float32)


def as_an_index(x: Any) -> Any:
    return x[:, np.array([0, 2])]


def view_of_its_own(x: Any) -> Any:
    return x * np.arange(8, dtype=np.float32).reshape(2, 4)[1]


def from_outside(x: Any) -> Any:
    return ig.take(x, ig.asarray(TABLE), axis=1)


def view_of_outside(x: Any) -> Any:
    return ig.take(x, ig.asarray(TABLE[:]), axis=1)


def asked_for(x: Any) -> Any:
    return x + 1 if ig.asarray(np.array(True)) else x


def inputs_of(f: Callable[..., Any]) -> int:
    return len(ig.jit(f).lower(ig.asarray(X)).graph.inputs)


@pytest.mark.parametrize("f", [made_at_once, made_in_steps, as_an_operand, as_an_index, view_of_its_own])
def test_what_it_made_is_a_constant(f: Callable[..., Any]) -> None:
    assert inputs_of(f) == 1
    np.testing.assert_array_equal(np.asarray(ig.jit(f)(X)), np.asarray(f(ig.asarray(X))))


@pytest.mark.parametrize("f", [from_outside, view_of_outside])
def test_what_others_hold_is_read_anew(f: Callable[..., Any]) -> None:
    assert inputs_of(f) == 2
    jitted, kept = ig.jit(f), TABLE.copy()
    try:
        np.testing.assert_array_equal(np.asarray(jitted(X)), X[:, TABLE])
        TABLE[:] = [1, 1, 2, 0]
        np.testing.assert_array_equal(np.asarray(jitted(X)), X[:, TABLE])
    finally:
        TABLE[:] = kept


def test_what_is_handed_out_is_read_anew() -> None:
    held = []

    def f(x: Any, keep: Any) -> Any:
        table = np.zeros(4, np.float32)
        keep(table)
        return x + table

    jitted = ig.jit(f)
    np.testing.assert_array_equal(np.asarray(jitted(X, held.append)), X)
    held[-1][:] = 5
    np.testing.assert_array_equal(np.asarray(jitted(X, held.append)), X + 5)


def test_what_was_asked_for_stays_an_input() -> None:
    np.testing.assert_array_equal(np.asarray(ig.jit(asked_for)(X)), X + 1)


def test_large_tables_stay_inputs() -> None:
    def f(x: Any) -> Any:
        return x + ig.sum(ig.asarray(np.ones(300_000, np.float32)))

    assert inputs_of(f) == 2
    jitted = ig.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(jitted(X)), X + 300_000)


def test_large_indices_are_constants() -> None:
    places = np.arange(300_000)[::-1]

    def f(x: Any) -> Any:
        return x[ig.asarray(np.arange(300_000)[::-1].copy())]

    x = np.arange(300_000, dtype=np.float32)
    lowered = ig.jit(f).lower(ig.asarray(x))
    assert len(lowered.graph.inputs) == 1
    assert " check(" not in str(lowered.graph.compile().optimised())
    np.testing.assert_array_equal(np.asarray(ig.jit(f)(x)), x[places])


def test_a_large_table_is_not_looked_at_again() -> None:
    """Whoever made it has let go of it; a table that someone holds is copied for every call."""
    held = []

    def alone(x: Any) -> Any:
        return x * np.full(300_000, 3, np.float32)

    def shared(x: Any, keep: Any) -> Any:
        table = np.full(300_000, 3, np.float32)
        keep(table)
        return x * table

    x = ig.ones(300_000)
    jitted = ig.jit(alone)
    assert [float(jitted(x)[-1]) for _ in range(3)] == [3, 3, 3]
    jitted = ig.jit(shared)
    assert float(jitted(x, held.append)[-1]) == 3
    held[-1][:] = 5
    assert float(jitted(x, held.append)[-1]) == 5


def test_gradients_and_maps() -> None:
    weights = np.linspace(1, 2, 4, dtype=np.float32)

    def loss(x: Any) -> Any:
        return ig.sum(x * x * np.linspace(1, 2, 4, dtype=np.float32))

    found = ig.jit(ig.grad(loss))(X)
    np.testing.assert_allclose(np.asarray(found), 2 * X * weights, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(ig.jit(ig.vmap(loss))(X)), (X * X * weights).sum(1), rtol=1e-6)
