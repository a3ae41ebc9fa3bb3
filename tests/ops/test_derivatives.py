"""The derivative of every op on a sample, compiled: what machine code gives is what the ops' definitions give, in both
modes. (That those are the derivatives, OpDerivatives in tests/cpp checks on every sample, against differences.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import RUNNABLE, TABLE, Case

import intaglio as ig
from intaglio import _intaglio as core

# The operands by which there is none.
REFUSED = {
    "gammainc_slope": (0, 1),
    "log_gamma_sample_slope": (0, 1),
    "nextafter": (0, 1),
    "polygamma": (0,),
    "regularized_incomplete_beta": (0, 1),
    "schur": (0,),
    "zeta": (0,),
}


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
        with pytest.raises(ig.UnsupportedError, match="has no derivative"):
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


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_refused_by_one_operand_has_derivatives_by_the_others(name: str) -> None:
    """Each operand alone, in float64, on the sample with the most elements: the rule refuses, or agrees with
    differences."""
    samples = [i for i, sample in enumerate(TABLE[name]["samples"]) if "T[" in sample["operands"]]
    case = max((Case(name, i, "float64") for i in samples), key=lambda case: sum(x.size for x in case.arrays))
    graph = core._graph_of("derivative", [(name, case.types, case.attrs)], {})
    wanted = [True] * len(graph.outputs)
    given = [x.numpy() for x in case.given()]
    refused = []
    for number in range(len(given)):
        moves = [i == number for i in range(len(given))]
        try:
            forward = core._graph_jvp(graph, moves, wanted)
        except ig.UnsupportedError:
            refused.append(number)
            continue
        step = 1e-5
        ahead, behind = (
            graph.evaluate(*(ig.asarray(x + sign * step * m) for x, m in zip(given, moves, strict=True))).numpy()
            for sign in (1, -1)
        )
        got = forward.evaluate(*case.given(), ig.ones_like(case.given()[number]))[-1].numpy()
        want = (ahead - behind) / (2 * step)
        assert np.isfinite(got).any()
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7 * max(1.0, np.abs(want).max()))
    assert tuple(refused) == REFUSED[name]


# Branch cuts and kinks of the other ops lie outside of where their samples are drawn.
UNMOVED = {"stop_gradient"}  # its rule is not its derivative: that is what it is for


def complex_cases(name: str) -> list[Case]:
    """Samples with a complex operand or result."""
    kinds = {dtype.name for dtype in TABLE[name]["dtypes"]} & {"complex128", "float64"}
    samples = [i for i, sample in enumerate(TABLE[name]["samples"]) if "T[" in sample["operands"]]
    cases = [Case(name, i, kind) for i in samples for kind in sorted(kinds)]
    return [
        case
        for case in cases
        if case.refused is None
        and any(text.startswith("c") for text in [*case.types, *core._infer(name, case.types, case.attrs)])
    ]


@pytest.mark.parametrize("name", [name for name in RUNNABLE if name not in UNMOVED and complex_cases(name)])
def test_complex_derivatives_agree_with_differences(name: str) -> None:
    """Forward mode is the derivative along any direction of the plane; reverse mode is its adjoint, in the pairing
    without a conjugate."""
    for case in complex_cases(name):
        graph = core._graph_of("derivative", [(name, case.types, case.attrs)], {})
        kinds = ("complex floating", "real floating")
        moves = [entry["dtype"].kind in kinds for entry in graph.inputs]
        wanted = [entry["dtype"].kind in kinds for entry in graph.outputs]
        if not any(wanted):
            continue
        if name in REFUSED:
            with pytest.raises(ig.UnsupportedError, match="has no derivative"):
                core._graph_jvp(graph, moves, wanted)
            continue
        forward = core._graph_jvp(graph, moves, wanted)
        known, backward, residuals, _ = core._graph_vjp(graph, moves, wanted)
        random = np.random.default_rng(7)
        given = [x.numpy() for x in case.given()]

        def like(x: Any, random: np.random.Generator = random) -> Any:
            drawn = random.uniform(-1, 1, x.shape)
            return (drawn + 1j * random.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else drawn).astype(x.dtype)

        def run(graph: Any, inputs: list[Any]) -> list[Any]:
            out = graph.evaluate(*(ig.asarray(x) for x in inputs))
            return [x.numpy() for x in (out if isinstance(out, tuple) else (out,))]

        moved = [x for x, m in zip(given, moves, strict=True) if m]
        tangents = [like(x) for x in moved]
        step = 1e-6
        sides = []
        for sign in (1, -1):
            along = iter(tangents)
            sides.append(
                run(graph, [x + sign * step * next(along) if m else x for x, m in zip(given, moves, strict=True)])
            )
        ahead, behind = ([x for x, w in zip(side, wanted, strict=True) if w] for side in sides)
        results = run(forward, given + tangents)
        pushed = results[len(wanted) :] if len(results) > sum(wanted) else results
        assert len(pushed) == len(ahead)
        if not all(np.isfinite(x).all() for x in pushed):
            continue  # a kink: the deviation of one number
        for have, a, b in zip(pushed, ahead, behind, strict=True):
            want = (a - b) / (2 * step)
            size = max(1.0, float(np.max(np.abs(want), initial=0)))
            rounding = float(np.finfo(a.dtype).eps * np.max(np.abs(a), initial=1)) / step
            np.testing.assert_allclose(have, want, rtol=0, atol=(1e-6 + rounding) * size)
        values = run(known, given)
        cotangents = [like(x) for x, w in zip(values, wanted, strict=False) if w]
        rest = iter(values[len(wanted) :])
        pulled = run(backward, [given[i] if i >= 0 else next(rest) for i in residuals] + cotangents)
        left = sum(np.sum(c * p).real for c, p in zip(cotangents, pushed, strict=True))
        right = sum(np.sum(c * t).real for c, t in zip(pulled, tangents, strict=True))
        single = any(np.finfo(x.dtype).bits == 32 for x in ahead)
        np.testing.assert_allclose(left, right, rtol=1e-5 if single else 1e-9, atol=1e-5 if single else 1e-9)
