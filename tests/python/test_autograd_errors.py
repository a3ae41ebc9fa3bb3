"""What eager autograd refuses: each error whole, its line this file's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig

TEXTS = Path(__file__).with_name("autograd_errors.txt")


def leaf(values: Any, dtype: str = "float32") -> ig.Tensor:
    return ig.asarray(values, dtype=dtype, requires_grad=True)


def in_place(change: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: change(leaf([1.0, 2.0]))


def add_in_place(x: Any) -> None:
    x += 1


def assign(x: Any) -> None:
    x[0] = 5.0


def twice() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward()
    y.backward()


def nan_inside() -> None:
    x = leaf(0.0)
    y = ig.sqrt(x) * 0
    with ig.autograd.detect_anomaly():
        y.backward()


def hooked(hook: Any) -> Callable[[], None]:
    def run() -> None:
        x = leaf([1.0, 2.0])
        x.register_hook(hook)
        ig.sum(x).backward()

    return run


def set_false() -> None:
    y = leaf(1.0) * 2
    y.requires_grad = False


def in_inference() -> None:
    with ig.inference_mode():
        ig.ones(2).requires_grad_()


def set_gradient(value: Any) -> Callable[[], None]:
    def run() -> None:
        leaf([1.0, 2.0]).grad = value

    return run


def set_in_trace(x: Any) -> Any:
    x.grad = None
    return x * 2


def own_gradient() -> None:
    x = leaf([1.0, 2.0])
    x.grad = x


OUTSIDE = leaf([1.0, 2.0])
STEPPED = ig.optim.SGD([OUTSIDE], lr=0.1)

CASES: dict[str, Callable[[], Any]] = {
    "in place on a leaf": in_place(add_in_place),
    "assignment to a leaf": in_place(assign),
    "a second backward": twice,
    "backward of an array without a gradient": lambda: (leaf([1.0, 2.0]) * 2).backward(),
    "backward of a complex number": lambda: (leaf(1 + 2j, "complex64") * 2).backward(),
    "backward of what does not require grad": lambda: ig.ones(()).backward(),
    "a gradient of another shape": lambda: (leaf([1.0, 2.0]) * 2).backward(ig.ones(3)),
    "a gradient of another dtype": lambda: (leaf([1.0, 2.0]) * 2).backward(ig.ones(2, dtype="float64")),
    "too many gradients": lambda: ig.autograd.backward(leaf(1.0) * 2, [None, None]),
    "backward of a number": lambda: ig.autograd.backward(3.0),
    "grad by what does not require grad": lambda: ig.autograd.grad(leaf(1.0) * 2, ig.ones(())),
    "grad by an unused input": lambda: ig.autograd.grad(leaf(1.0) * 2, leaf(1.0)),
    "grad by a list of numbers": lambda: ig.autograd.grad(leaf(1.0) * 2, [2.0]),
    "integers require grad": lambda: ig.asarray([1, 2]).requires_grad_(),
    "a list of integers requires grad": lambda: ig.asarray([1, 2], requires_grad=True),
    "a computed array does not": set_false,
    "requires_grad in inference mode": in_inference,
    "NaN in a backward pass": nan_inside,
    "an op without a derivative": lambda: ig.sum(ig.nextafter(leaf([1.0]), ig.zeros(1))).backward(),
    "a hook of another shape": hooked(lambda g: g[:1]),
    "a hook that gives a number": hooked(lambda g: 3.0),
    "a hook that is no function": lambda: leaf(1.0).register_hook(3),
    "a hook on what does not require grad": lambda: ig.ones(2).register_hook(lambda g: g),
    "retain_grad of what does not require grad": lambda: ig.ones(2).retain_grad(),
    "grad set to a number": set_gradient(3.0),
    "grad set to another shape": set_gradient(ig.ones(3)),
    "backward in a trace": lambda: ig.jit(lambda x: ig.sum(x * 2).backward())(leaf([1.0])),
    "requires_grad in a trace": lambda: ig.jit(lambda x: x.requires_grad_())(ig.ones(2)),
    "a leaf as a constant of a trace": lambda: ig.trace(lambda x: x * OUTSIDE, ig.ones(2), lift=False),
    "gradients read in a trace": lambda: ig.trace(lambda x: x * OUTSIDE.grad, ig.ones(2)),
    "gradients set in a trace": lambda: ig.jit(set_in_trace)(leaf([1.0, 2.0])),
    "requires_grad asked in a trace": lambda: ig.trace(lambda x: x * 2 if x.requires_grad else x, ig.ones(2)),
    "the mode asked in a trace": lambda: ig.trace(lambda x: x * 2 if ig.is_grad_enabled() else x, ig.ones(2)),
    "step without gradients in a trace": lambda: ig.trace(lambda: STEPPED.step()),
    "in place on a leaf in a trace": lambda: ig.jit(add_in_place)(leaf([1.0, 2.0])),
    "its own gradient": own_gradient,
    "as a NumPy array": lambda: np.asarray(leaf([1.0, 2.0])),
    "by numpy()": lambda: (leaf([1.0, 2.0]) * 2).numpy(),
    "by its buffer": lambda: memoryview(leaf([1.0, 2.0])),
    "by DLPack": lambda: np.from_dlpack(leaf([1.0, 2.0])),
    "a NumPy function that is not known": lambda: np.real_if_close(leaf([1.0, 2.0, 1.0])),
    "backward into nothing": lambda: (leaf(1.0) * 2).backward(inputs=[]),
    "step without gradients": lambda: ig.optim.SGD([leaf([1.0])], lr=0.1).step(),
}


def test_errors() -> None:
    check_texts({name: refusal(case, __file__) for name, case in CASES.items()}, TEXTS)


def test_errors_name_the_forward_line() -> None:
    for case in (twice, nan_inside):
        with pytest.raises(ig.Error) as caught:
            case()
        line = case.__code__.co_firstlineno + 2  # of y
        assert f"test_autograd_errors.py:{line}" in caught.value.why
