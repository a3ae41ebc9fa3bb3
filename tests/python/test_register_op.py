"""Ops of a user's own: each has its own functions, eager and compiled; what they do wrong is told with its line."""

from __future__ import annotations

from typing import Any

import numpy as np
from refusals import refusal

import intaglio as ig


def test_each_op_has_its_own_functions() -> None:
    ops = [
        ig.register_op(f"own_body_{k}", operands=["x"], body=lambda x, k=k: x * float(k) + ig.sum(x)) for k in range(3)
    ]
    square = ig.register_op(
        "own_reference",
        operands=["x"],
        infer=lambda x: ig.TensorType(x.dtype, x.shape),
        reference=lambda x: x * x,
    )
    for x in (np.arange(5, dtype=np.float32), np.zeros(0, np.float32)):
        for k, op in enumerate(ops):
            for run in (op, ig.jit(lambda v, op=op: op(v))):
                np.testing.assert_array_equal(np.asarray(run(ig.asarray(x))), x * k + x.sum())
        np.testing.assert_array_equal(np.asarray(square(ig.asarray(x))), x * x)


def test_what_an_op_does_wrong_is_told() -> None:
    def infer(x: Any) -> Any:
        return ig.TensorType(x.dtype, (2.5,))

    op = ig.register_op("own_half_size", operands=["x"], infer=infer, reference=lambda x: x)
    assert refusal(lambda: op(ig.ones(3)), __file__) == (
        "TypeError: own_half_size: infer gave a size of type float\n"
        "  why: sizes are integers, or sizes of the operands\n"
        "  hint: give ig.TensorType(dtype, shape) with whole numbers and sizes in its shape"
    )
