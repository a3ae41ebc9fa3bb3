"""`ig.jit` and what lies outside of the function: between calls one thing in a random world is changed, and
every result is compared with plain Python's."""

from __future__ import annotations

import logging
import random
import sys
import warnings
from typing import Any

import numpy as np
import outside_worlds
import pytest

import intaglio as ig

HERE = sys.modules[__name__]
RATE = 0.5
WEIGHT = ig.asarray([1.0, 2.0])
TABLE = np.asarray([1.0, 2.0], dtype=np.float32)
LAYERS = [ig.asarray([1.0, 1.0]), ig.asarray([2.0, 2.0])]
LOG: list[Any] = []


def numbers(x: Any) -> list[float]:
    return np.asarray(x).tolist()


def test_a_global_number() -> None:
    global RATE
    f = ig.jit(lambda x: x * RATE)
    x = ig.asarray([2.0, 4.0])
    try:
        for RATE in (0.5, 2.0, 3, 0.5):
            assert numbers(f(x)) == [2.0 * RATE, 4.0 * RATE]
    finally:
        RATE = 0.5


def test_a_weight_that_is_rebound_needs_no_new_trace() -> None:
    global WEIGHT
    f = ig.jit(lambda x: x * WEIGHT + LAYERS[1])
    x = ig.asarray([1.0, 1.0])
    old = WEIGHT
    assert numbers(f(x)) == [3.0, 4.0]
    try:
        for k in range(5):
            WEIGHT = WEIGHT + 1
            LAYERS[1] = LAYERS[1] * 2
            assert numbers(f(x)) == numbers(x * WEIGHT + LAYERS[1])
            assert len(ig._intaglio._jit_traces(f)) == 1, k
    finally:
        WEIGHT = old
        LAYERS[1] = ig.asarray([2.0, 2.0])


def test_a_numpy_array_that_changes_in_place_or_is_replaced() -> None:
    global TABLE
    f = ig.jit(lambda x: x + TABLE)
    x = ig.asarray([1.0, 1.0])
    old = TABLE.copy()
    try:
        assert numbers(f(x)) == [2.0, 3.0]
        TABLE[0] = 9
        assert numbers(f(x)) == [10.0, 3.0]
        TABLE = np.asarray([5.0, 5.0], dtype=np.float32)
        assert numbers(f(x)) == [6.0, 6.0]
    finally:
        TABLE = old


def test_a_store_to_the_outside_is_refused() -> None:
    def f(x: Any) -> Any:
        LOG.append(1)
        return x + 1

    with pytest.raises(ig.CaptureError) as info:
        ig.jit(f)(ig.asarray([1.0]))
    assert info.value.what == ("a captured function changes what lies outside of it: global LOG is changed by append")
    assert info.value.where.endswith("LOG.append(1)")
    assert LOG == []


def test_messages_to_a_log_and_warnings_are_effects_of_the_recording(caplog: Any) -> None:
    log = logging.getLogger("intaglio.test")

    @ig.jit
    def f(x: Any) -> Any:
        log.warning("shape %s", x.shape)
        log.debug("not shown")
        warnings.warn("careful", stacklevel=1)
        return x * 2

    x = ig.asarray([1.0, 2.0])
    with pytest.warns(UserWarning, match="careful"):
        assert numbers(f(x)) == [2.0, 4.0]
    assert [record.getMessage() for record in caplog.records] == ["shape (2,)"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numbers(f(x)) == [2.0, 4.0]
    assert len(caplog.records) == 1


def test_generated_changes() -> None:
    x = ig.asarray([1.0, 2.0])
    made = different = 0
    for seed in range(120):
        rng = random.Random(seed)
        space = outside_worlds.make_world(rng)
        text, program = outside_worlds.make_program(rng, space)

        def whole(x: Any, program: Any = program) -> Any:
            return x * 2, program()

        def plain(program: Any = program) -> str:
            return outside_worlds.outcome(program)

        compiled = ig.jit(whole)

        def run(compiled: Any = compiled) -> Any:
            doubled, rest = compiled(x)
            assert numbers(doubled) == [2.0, 4.0]
            return rest

        before = plain()
        assert outside_worlds.outcome(run) == before, (seed, text)
        for label, apply, undo in rng.sample(outside_worlds.changes(rng, space), 12):
            try:
                apply()
            except TypeError:
                continue
            made += 1
            expected, got = plain(), outside_worlds.outcome(run)
            undo()
            different += expected != before
            assert got == expected, f"seed {seed}: {label} in {text}"
            assert outside_worlds.outcome(run) == before, (seed, label, text)
    assert made > 1000
    assert different > 40
