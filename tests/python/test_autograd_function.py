"""`ig.autograd.Function`: torch's form of a gradient of one's own, on the tape and in every transform."""

from __future__ import annotations

import doctest
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusal

import intaglio as ig


class Exp(ig.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        result = ig.exp(x)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (result,) = ctx.saved_tensors
        return 10 * grad * result  # ten times the truth, to be told from it


class Line(ig.autograd.Function):
    """Two arrays, a number, a name; with setup_context, and two results of which one has no gradient."""

    @staticmethod
    def forward(x: Any, w: Any, power: int, name: str) -> Any:
        return x * w**power, x > 0

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, w, ctx.power, ctx.name = inputs
        ctx.save_for_backward(x, w)
        ctx.kept = {"of the output": output[0]}
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, grad: Any, _: Any) -> Any:
        _x, w = ctx.saved_tensors
        assert ctx.name == "line"
        by_x = grad * w**ctx.power if ctx.needs_input_grad[0] else None
        by_w = ctx.power * grad * ctx.kept["of the output"] / w if ctx.needs_input_grad[1] else None
        return by_x, by_w, None, None


def leaf(values: Any) -> ig.Tensor:
    return ig.asarray(values, dtype="float32", requires_grad=True)


def test_on_the_tape() -> None:
    x = leaf([0.0, 1.0])
    y = Exp.apply(x)
    assert y.requires_grad
    ig.sum(y).backward()
    np.testing.assert_allclose(x.grad.numpy(), 10 * np.exp([0, 1]), rtol=1e-6)
    with ig.no_grad():
        assert not Exp.apply(x).requires_grad
    assert Exp.apply(ig.asarray(0.0)) == 1.0
    assert Exp.apply(0.0) == 1.0


def test_in_every_transform() -> None:
    x = ig.asarray([0.0, 0.5])
    want = 10 * np.exp([0, 0.5])
    total = lambda x: ig.sum(Exp.apply(x))  # noqa: E731
    for gradient in (
        ig.grad(total),
        ig.jit(ig.grad(total)),
        ig.grad(ig.jit(total)),
        ig.vmap(ig.grad(Exp.apply)),
        ig.jit(ig.vmap(ig.grad(Exp.apply))),
        lambda x: ig.vjp(Exp.apply, x)[1](ig.ones(2))[0],
        ig.grad(lambda x: ig.sum(ig.vmap(Exp.apply)(x))),
        ig.grad(lambda x: ig.sum(ig.scan(lambda c, x: (c, Exp.apply(x)), 0.0, x)[1])),
    ):
        np.testing.assert_allclose(gradient(x).numpy(), want, rtol=1e-6)
    np.testing.assert_allclose(ig.jit(Exp.apply)(x).numpy(), np.exp([0, 0.5]), rtol=1e-6)


class Cube(ig.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * grad * x * x


def test_what_backward_computes_is_differentiated_again() -> None:
    assert ig.grad(ig.grad(Cube.apply))(0.5) == 3.0
    assert ig.jit(ig.grad(ig.grad(ig.grad(Cube.apply))))(0.5) == 6.0
    x = leaf(0.5)
    (slope,) = ig.autograd.grad(Cube.apply(x), x, create_graph=True)
    assert ig.autograd.grad(slope, x)[0] == 3.0


def test_arguments_of_all_kinds() -> None:
    x, w = leaf([1.0, -2.0]), leaf([3.0, 4.0])
    y, positive = Line.apply(x, w, 2, "line")
    assert positive.tolist() == [True, False]
    assert not positive.requires_grad
    ig.sum(y).backward()
    assert x.grad.tolist() == [9.0, 16.0]
    assert w.grad.tolist() == [6.0, -16.0]
    by_w = ig.jit(ig.grad(lambda w: ig.sum(Line.apply(ig.asarray([1.0, -2.0]), w, 2, "line")[0])))
    assert by_w(ig.asarray([3.0, 4.0])).tolist() == [6.0, -16.0]


def test_marked_results_send_nothing_back() -> None:
    class Both(ig.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            twice, thrice = 2 * x, 3 * x
            ctx.mark_non_differentiable(thrice)
            return twice, thrice

        @staticmethod
        def backward(ctx: Any, by_twice: Any, by_thrice: Any) -> Any:
            return 2 * by_twice + 100 * by_thrice

    assert ig.grad(lambda x: sum(Both.apply(x)))(1.0) == 2.0
    x = leaf(1.0)
    twice, thrice = Both.apply(x)
    (twice + thrice).backward()
    assert x.grad == 2.0


def test_needs_input_grad_on_the_tape() -> None:
    seen: list[Any] = []

    class Product(ig.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, n: int) -> Any:
            ctx.save_for_backward(x, y)
            return x * y * n

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            _x, y = ctx.saved_tensors
            return grad * y * 3, None, None

    x = leaf(2.0)
    Product.apply(x, ig.asarray(5.0), 3).backward()
    assert x.grad == 15.0
    assert seen == [(True, False, False)]


def test_gradients_fit_their_arguments() -> None:
    class Spread(ig.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return ig.broadcast_to(x, (4, 3, 2))

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.astype(ig.float64), None, None  # as torch: more than there are, if they are None

    x = ig.ones((3, 1))
    gradient = ig.grad(lambda x: ig.sum(Spread.apply(x)))(x)
    assert gradient.dtype == ig.float32
    assert gradient.tolist() == [[8.0]] * 3


class Grow(ig.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return ig.exp(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * Grow.apply(ctx.saved_tensors[0])


def test_a_function_that_calls_itself_in_backward() -> None:
    third = ig.grad(ig.grad(ig.grad(Grow.apply)))
    np.testing.assert_allclose(float(third(0.5)), np.exp(0.5), rtol=1e-6)


def fifth_derivative() -> Any:
    derivative = Grow.apply
    for _ in range(5):
        derivative = ig.grad(derivative)
    return derivative(0.5)


class Empty(ig.autograd.Function):
    pass


class Once(Exp):
    @staticmethod
    @ig.autograd.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0]


class Forwards(ig.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * x


def test_once_is_enough_for_one() -> None:
    np.testing.assert_allclose(float(ig.grad(Once.apply)(0.5)), np.exp(0.5), rtol=1e-6)
    np.testing.assert_allclose(float(ig.jit(ig.grad(Once.apply))(0.5)), np.exp(0.5), rtol=1e-6)
    x = leaf(0.5)
    Once.apply(x).backward()
    np.testing.assert_allclose(float(x.grad), np.exp(0.5), rtol=1e-6)
    # Without a backward there is a value.
    assert ig.jit(Forwards.apply)(ig.asarray(3.0)) == 9.0
    assert Forwards.apply(3.0) == 9.0


def test_a_network_of_steps_is_trained() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "gradients" / "straight_through.py"
    assert runpy.run_path(str(path))["train"](60) > 0.95


@pytest.mark.parametrize("name", ["Function", "once_differentiable"])
def test_examples_of_the_docs(name: str) -> None:
    (examples,) = doctest.DocTestFinder(recurse=False).find(getattr(ig.autograd, name), name, globs={"ig": ig})
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


def made(backward: Callable[..., Any], forward: Callable[..., Any] = lambda ctx, x: x * 2) -> Any:
    return type("Made", (ig.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def two(ctx: Any, x: Any, n: Any) -> Any:
    return x * n


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "too few": (
        lambda: ig.grad(lambda x: made(lambda ctx, g: g, two).apply(x, 3))(1.0),
        "TypeError: Made: backward gives 1 gradient, but forward takes 2 arguments\n"
        "  why: it gives a gradient for each argument, ctx not counted; the rule is <lambda> (FILE)\n"
        "  hint: return a tuple, with None for arguments that have no gradient",
    ),
    "too many": (
        lambda: ig.grad(made(lambda ctx, g: (g, g)).apply)(1.0),
        "TypeError: Made: backward gives 2 gradients, but forward takes 1 argument\n"
        "  why: it gives a gradient for each argument, ctx not counted; the rule is <lambda> (FILE)\n"
        "  hint: return a tuple, with None for arguments that have no gradient",
    ),
    "another shape": (
        lambda: ig.grad(lambda x: ig.sum(made(lambda ctx, g: g[:1]).apply(x)))(ig.ones(3)),
        "ShapeError: Made: backward gives float32[1] for argument 0, which is float32[3]\n"
        "  why: a gradient has the shape of its argument, or one that the argument broadcasts to, and is a float or "
        "complex; the rule is <lambda> (FILE)\n"
        "  hint: reduce or broadcast it in backward",
    ),
    "an integer": (
        lambda: ig.grad(made(lambda ctx, g: g.astype(ig.int32)).apply)(1.0),
        "TypeError: Made: backward gives int32[] for argument 0, which is float32[]\n"
        "  why: a gradient has the shape of its argument, or one that the argument broadcasts to, and is a float or "
        "complex; the rule is <lambda> (FILE)\n"
        "  hint: reduce or broadcast it in backward",
    ),
    "for a number": (
        lambda: ig.grad(lambda x: made(lambda ctx, g: (g, g), two).apply(x, 3))(1.0),
        "TypeError: Made: backward gives a gradient for argument 1, which is of type int\n"
        "  why: only arrays have gradients; the rule is <lambda> (FILE)\n"
        "  hint: return None in its place, or pass an array",
    ),
    "nothing saved": (
        lambda: ig.grad(made(lambda ctx, g: g * ctx.saved_tensors[0]).apply)(1.0),
        "ValueError: Made: saved_tensors is read, but nothing was saved\n"
        "  why: forward (or setup_context) did not call ctx.save_for_backward\n"
        "  hint: call ctx.save_for_backward(x, y) there with the arrays that backward reads",
    ),
    "a number saved": (
        lambda: ig.grad(made(lambda ctx, g: g, lambda ctx, x: ctx.save_for_backward(x, 3)).apply)(1.0),
        "TypeError: Made: save_for_backward keeps arrays, but argument 1 is of type int\n"
        "  why: what it keeps is part of the graph\n"
        "  hint: set an attribute of ctx for values that are no arrays: ctx.size = 3",
    ),
    "dirty": (
        lambda: made(lambda ctx, g: g, lambda ctx, x: ctx.mark_dirty(x)).apply(1.0),
        "UnsupportedError: Made: mark_dirty\n"
        "  why: arrays are values, so forward cannot change its argument in place\n"
        "  hint: return the new value as a result, and leave mark_dirty out",
    ),
    "an instance": (
        lambda: Exp(),
        "TypeError: Exp: an autograd.Function is not instantiated\n"
        "  why: forward and backward are static methods, and ctx holds what belongs to one call\n"
        "  hint: call Exp.apply(...)",
    ),
    "twice": (
        lambda: ig.grad(ig.grad(Once.apply))(1.0),
        "UnsupportedError: Once: a derivative of its backward, which is marked once_differentiable\n"
        "  why: the mark says that what backward computes is not to be differentiated\n"
        "  hint: leave the mark out where all steps of backward have derivatives",
    ),
    "no forward": (
        lambda: Empty.apply(ig.ones(2)),
        "UnsupportedError: Empty: it has no forward\n"
        "  why: an autograd.Function computes its value by a static method of that name\n"
        "  hint: write one in the class: @staticmethod, def forward(ctx, x): ...",
    ),
    "no backward": (
        lambda: ig.grad(Forwards.apply)(1.0),
        "UnsupportedError: Forwards: it has no backward\n"
        "  why: an autograd.Function goes back by a static method of that name\n"
        "  hint: write one in the class: @staticmethod, def backward(ctx, grad): ...",
    ),
    "no backward, on the tape": (
        lambda: Forwards.apply(leaf(1.0)).backward(),
        "UnsupportedError: the gradient of `region` is wanted, and there is none\n"
        "  why: Forwards: it has no backward: an autograd.Function goes back by a static method of that name\n"
        "  hint: `region` ran at FILE in <lambda>:  lambda: Forwards.apply(leaf(1.0)).backward(),; "
        "take the value out of the tape with x.detach() where no gradient is meant",
    ),
    "no backward, in a batch": (
        lambda: ig.grad(lambda x: ig.sum(ig.vmap(Forwards.apply)(x)))(ig.ones(2)),
        "UnsupportedError: Forwards: it has no backward\n"
        "  why: an autograd.Function goes back by a static method of that name\n"
        "  hint: write one in the class: @staticmethod, def backward(ctx, grad): ...",
    ),
    "a rule that calls its own function, five times over": (
        lambda: fifth_derivative(),
        "UnsupportedError: Grow: no derivative of this order\n"
        "  why: its rule calls the function again, and was followed into these calls four times\n"
        "  hint: write the value out in the rule, in place of a call of its own function",
    ),
    "forward of the base": (
        lambda: ig.autograd.Function.forward(None, 1.0),
        "UnsupportedError: autograd.Function: it has no forward\n"
        "  why: an autograd.Function computes its value by a static method of that name\n"
        "  hint: write one in the class: @staticmethod, def forward(ctx, x): ...",
    ),
    "setup_context of the base": (
        lambda: ig.autograd.Function.setup_context(None, (1.0,), 2.0),
        "UnsupportedError: autograd.Function: it has no setup_context\n"
        "  why: an autograd.Function says what is left for backward by a static method of that name\n"
        "  hint: write one in the class: @staticmethod, def setup_context(ctx, inputs, output): ...",
    ),
    "backward of the base": (
        lambda: ig.grad(made(lambda ctx, g: ig.autograd.Function.backward(ctx, g)).apply)(1.0),
        "UnsupportedError: autograd.Function: it has no backward\n"
        "  why: an autograd.Function goes back by a static method of that name\n"
        "  hint: write one in the class: @staticmethod, def backward(ctx, grad): ...",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, text = REFUSED[name]
    assert refusal(call, __file__) == text
