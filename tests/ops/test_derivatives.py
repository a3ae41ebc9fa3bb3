"""The derivative of every op on a sample, compiled: what machine code gives is what the ops' definitions give, in both
modes. (That those are the derivatives, OpDerivatives in tests/cpp checks on every sample, against differences.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import RUNNABLE, TABLE, Case

import intaglio as ig
from intaglio import _intaglio as core

REFUSED = {"digamma", "nextafter"}


def largest(name: str) -> Case | None:
    """The sample with the most elements that is a valid call."""
    found = [Case(name, i, "float32") for i, sample in enumerate(TABLE[name]["samples"]) if "T[" in sample["operands"]]
    valid = [case for case in found if case.refused is None]
    return max(valid, key=lambda case: sum(array.size for array in case.arrays), default=None)


def is_differentiable(name: str) -> bool:
    case = largest(name) if "float32" in {dtype.name for dtype in TABLE[name]["dtypes"]} else None
    if case is None or not any(array.dtype.name == "float32" for array in case.arrays):
        return False
    return any(text.startswith("f32[") for text in core._infer(name, case.types, case.attrs))


DIFFERENTIABLE = [name for name in RUNNABLE if is_differentiable(name)]


def random_like(values: list[Any], seed: int) -> list[ig.Tensor]:
    random = np.random.default_rng(seed)
    return [ig.asarray(random.uniform(-1, 1, value.shape).astype(np.float32)) for value in values]


def test_most_ops_are_differentiable() -> None:
    assert len(DIFFERENTIABLE) > 150


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_compiled_derivatives_are_those_of_the_definitions(name: str) -> None:
    case = largest(name)
    assert case is not None
    graph = core._graph_of("derivative", [(name, case.types, case.attrs)], {})
    moves = [entry["dtype"] == ig.float32 for entry in graph.inputs]
    wanted = [entry["dtype"] == ig.float32 for entry in graph.outputs]
    given = case.given()
    if name in REFUSED:
        with pytest.raises(ig.UnsupportedError, match="it has no derivative"):
            core._graph_jvp(graph, moves, wanted)
        return
    forward = core._graph_jvp(graph, moves, wanted)
    tangents = random_like([x for x, m in zip(given, moves, strict=True) if m], 1)
    known, backward, residuals, _ = core._graph_vjp(graph, moves, wanted)
    results = known.evaluate(*given)
    results = results if isinstance(results, tuple) else (results,)
    rest = iter(results[len(wanted) :])
    kept = [given[i] if i >= 0 else next(rest) for i in residuals]
    cotangents = random_like([x for x, w in zip(results, wanted, strict=False) if w], 2)
    for transformed, inputs in ((forward, given + tangents), (backward, kept + cotangents)):
        want, have = transformed.evaluate(*inputs), transformed(*inputs)
        for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (want, have)), strict=True):
            if a.dtype == ig.float32 and a.size:
                size = max(1.0, float(np.nanmax(np.where(np.isfinite(a.numpy()), np.abs(a.numpy()), 0))))
                np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=2e-4, atol=2e-5 * size)
