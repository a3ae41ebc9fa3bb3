"""What takes a function refuses everything else where it is given, in four parts."""

from __future__ import annotations

from typing import Any

import pytest
from refusals import refusal

import intaglio as ig

PURPOSES = {
    "jit": "compiled",
    "vmap": "mapped",
    "grad": "differentiated",
    "value_and_grad": "differentiated",
    "jacfwd": "differentiated",
    "jacrev": "differentiated",
    "hessian": "differentiated",
}


@pytest.mark.parametrize("name", PURPOSES)
@pytest.mark.parametrize("given", [3, "f", [abs], ig.ones(2)], ids=lambda given: type(given).__name__)
def test_transforms_take_functions(name: str, given: Any) -> None:
    assert refusal(lambda: getattr(ig, name)(given), __file__) == (
        f"TypeError: {name}: {type(given).__name__} is not callable\n"
        f"  why: it takes the function that is to be {PURPOSES[name]}\n"
        f"  hint: write ig.{name}(f)(x), or @ig.{name} above the function"
    )


def test_transforms_that_take_arguments_too() -> None:
    x = ig.ones(2)
    for name, call in {
        "vjp": lambda: ig.vjp(x, x),
        "jvp": lambda: ig.jvp(x, (x,), (x,)),
        "linearize": lambda: ig.linearize(x, x),
    }.items():
        assert refusal(call, __file__) == (
            f"TypeError: {name}: Tensor is not callable\n"
            "  why: it takes the function that is to be differentiated\n"
            "  hint: give the function first, and then its arguments"
        )


def test_the_trace_of_a_matrix_has_another_name() -> None:
    assert refusal(lambda: ig.trace(ig.eye(3)), __file__) == (
        "TypeError: trace: Tensor is not callable\n"
        "  why: it takes the function that is to be captured\n"
        "  hint: write ig.trace(f, x); the sum of a matrix's diagonal is ig.linalg.trace(x)"
    )
