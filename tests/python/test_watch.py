"""`ig.debug_nans` and `ig.debug_infs`: the op that makes a NaN or an infinity, eager, compiled and going back."""

from __future__ import annotations

import doctest
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, text_of

import intaglio as ig
from intaglio import _intaglio, nn

X = ig.asarray([4.0, 0.0, -1.0])


def caught(call: Callable[[], Any], comment: str = "", infs: bool = False) -> str:
    """The text of the error while the watch is on. Its line ends with the comment, or is that of the call itself."""
    with (ig.debug_infs if infs else ig.debug_nans)(True), pytest.raises(ig.FloatingPointError) as found:
        call()
    where = found.value.where
    assert where.startswith(f"{__file__}:"), where
    assert where.endswith(f"  # {comment}") if comment else "caught(lambda: " in where, where
    assert isinstance(found.value, FloatingPointError)
    assert isinstance(found.value, ig.ValueError)
    return text_of(found.value)


def fused(x: Any) -> Any:
    y = x * 2 + 1
    root = ig.sqrt(y - 2)  # the root of the kernel
    return ig.exp(root) * 3 + y


def branching(x: Any) -> Any:
    def negative(v: Any) -> Any:
        return ig.log(v) + 1  # the logarithm of the branch

    return ig.cond(ig.sum(x) < 0, negative, lambda v: v, x)


def looping(x: Any) -> Any:
    def step(i: Any, v: Any) -> Any:
        shifted = v - 1
        return ig.sqrt(shifted)  # the root of the loop

    return ig.fori_loop(0, 3, step, x)


def quotient(x: Any) -> Any:
    norm = ig.sqrt(ig.sum(x * x))  # whose way back is 0/0
    return norm * 2


def model_of_logs() -> Any:
    class Logs(nn.Module):
        def forward(self, x: Any) -> Any:
            return ig.log(x - 1)  # the layer

    return nn.Sequential(nn.Identity(), Logs())


def test_texts() -> None:
    two = ig.asarray([[1.0, 0.0], [0.0, 2.0]])
    kernel, backward = "the root of the kernel", "whose way back is 0/0"
    texts = {
        "eager": caught(lambda: ig.log(X)),
        "operator": caught(lambda: (X - X) / (X - X)),
        "scalar": caught(lambda: ig.sqrt(ig.asarray(-1.0))),
        "infinity": caught(lambda: 1 / two, infs=True),
        "overflow": caught(lambda: ig.matmul(two * 1e30, two * 1e30), infs=True),
        "composite": caught(lambda: ig.mean(ig.zeros(0))),
        "complex": caught(lambda: ig.asarray([0j, 1j]) / ig.asarray([0j, 1j])),
        "vmap": caught(lambda: ig.vmap(lambda x: ig.log(x))(X)),
        "fused": caught(lambda: ig.jit(fused)(X), kernel),
        "traced": caught(lambda: ig.trace(fused, X)(X), kernel),
        "branch": caught(lambda: ig.jit(branching)(ig.asarray([-1.0, 0.5])), "the logarithm of the branch"),
        "loop": caught(lambda: ig.jit(looping)(ig.asarray(3.0)), "the root of the loop"),
        "module": caught(lambda: ig.jit(model_of_logs())(ig.asarray([0.5])), "the layer"),
        "gradient": caught(lambda: ig.grad(quotient)(ig.zeros(2)), backward),
        "jitted gradient": caught(lambda: ig.jit(ig.grad(quotient))(ig.zeros(2)), backward),
        "tape": caught(lambda: quotient(leaf()).backward(), backward),
        "tape of a jitted function": caught(lambda: ig.jit(quotient)(leaf()).backward(), backward),
    }
    with pytest.raises(ig.CaptureError) as found:
        ig.trace(lambda x: ig.debug_nans(True) and x, X)
    texts["in a trace"] = text_of(found.value)
    check_texts(texts, Path(__file__).with_name("watch_errors.txt"))


def leaf() -> ig.Tensor:
    return ig.asarray([0.0, 0.0], requires_grad=True)


def test_off_by_default_and_after_the_context() -> None:
    assert np.isnan(ig.log(X).numpy()[2])
    with ig.debug_nans(True):
        with ig.debug_nans(False):
            ig.log(X)
        with pytest.raises(ig.FloatingPointError):
            ig.log(X)
    ig.log(X)
    assert _intaglio._watched_everywhere() == 0


def test_as_a_setting_it_is_the_process_s() -> None:
    seen: list[Any] = []

    def other() -> None:
        try:
            ig.log(X)
        except ig.FloatingPointError as error:
            seen.append(error.what)

    setting = ig.debug_nans(True)
    assert repr(setting) == "ig.debug_nans(True)"
    try:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    finally:
        ig.debug_nans(False)
    assert seen == ["`log` makes NaN: 1 of 3 elements, the first at [2]"]
    # As a context manager it is the thread's.
    with ig.debug_nans(True):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(seen) == 1


def test_what_came_in_is_no_error() -> None:
    held = ig.asarray([1.0, float("nan")])
    with ig.debug_nans(True), ig.debug_infs(True):
        ig.exp(held) + 1
        ig.jit(fused)(held)
        ig.trace(branching, held)(held)
        ig.full((2,), float("inf")) * 2
        ig.jit(lambda x: ig.where(x > 0, x, float("inf")))(X)
        assert ig.isnan(ig.asarray(float("nan")))


def test_what_a_choice_leaves_out_is_no_error_in_a_compiled_program() -> None:
    def safe(x: Any) -> Any:
        return ig.where(x > 0, ig.log(x), 0.0)

    with ig.debug_nans(True), ig.debug_infs(True):
        ig.jit(safe)(X)
        with pytest.raises(ig.FloatingPointError, match="`log` makes NaN"):
            safe(X)


def test_the_program_s_own_error_behind_a_choice_that_hides_another() -> None:
    """The search follows the value that reaches a result, not the first that is met."""

    def f(x: Any) -> Any:
        hidden = ig.where(x > 0, ig.log(x), 0.0)
        return hidden + ig.sqrt(x - 1)  # the one that counts

    caught(lambda: ig.jit(f)(X), "the one that counts")


def test_attributes_and_donated_arrays_stay_where_the_call_fails() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = ig.zeros(3)

        def add(self, x: Any) -> Any:
            self.total = self.total + ig.log(x)
            return self.total

    counter = Counter()
    add = ig.jit(counter.add)
    add(ig.ones(3))
    before = counter.total.numpy().copy()
    with ig.debug_nans(True), pytest.raises(ig.FloatingPointError):
        add(X)
    np.testing.assert_array_equal(counter.total.numpy(), before)
    given = ig.asarray([1.0, -2.0])
    root = ig.jit(lambda x: ig.sqrt(x), donate_argnums=0)
    root(ig.asarray([1.0, 2.0]))
    with ig.debug_nans(True), pytest.raises(ig.FloatingPointError, match="the first at"):
        root(given)
    np.testing.assert_array_equal(given.numpy(), [1.0, -2.0])


def test_prints_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    @ig.jit
    def f(x: Any) -> Any:
        ig.debug_print("x {x}", x=x)
        return ig.log(x)

    with ig.debug_nans(True), pytest.raises(ig.FloatingPointError):
        f(ig.asarray(-1.0))
    assert capsys.readouterr().out == "x -1.0\n"


def test_sizes_that_are_symbols() -> None:
    f = ig.jit(lambda x: ig.sqrt(ig.reshape(x, (-1,)) - 1) * x.shape[0])
    for n in (2, 3, 4):
        f(ig.ones((n, 2)))
    with ig.debug_nans(True), pytest.raises(ig.FloatingPointError, match="10 of 10 elements"):
        f(ig.zeros((5, 2)))


def test_examples_of_the_docstrings() -> None:
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for name in ("debug_nans", "debug_infs"):
        (examples,) = finder.find(getattr(ig, name), name, globs={"ig": ig})
        assert examples.examples
        assert runner.run(examples).failed == 0
