"""`loss.backward()` and its like within captured functions: the loss, `.grad` and the parameters have the bits of the
eager program; what depends on the tape outside is asked on each call; what cannot be followed is refused."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import nn

KEYS = ig.random.split(ig.random.key(0), 8)
X = ig.random.normal(KEYS[3], (8, 3))
Y = X[:, :1] * 5 + X[:, 1:2]


def array(x: Any) -> Any:
    if isinstance(x, ig.Tensor) and x.dtype == KEYS.dtype:
        return np.asarray(ig.random.normal(x, (2,)))
    return np.asarray(x.detach() if isinstance(x, ig.Tensor) else x)


def same(a: Any, b: Any, within: float = 0) -> None:
    """Trees of equal bits; None is None."""
    a, b = ig.tree_flatten(a)[0], ig.tree_flatten(b)[0]
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_allclose(array(x), array(y), rtol=within, atol=within)


def state(model: nn.Module) -> list[Any]:
    """Parameters, buffers and gradients."""
    return [
        *map(array, model.parameters()),
        *map(array, model.buffers()),
        *(None if p.grad is None else array(p.grad) for p in model.parameters()),
    ]


def traces(f: Any) -> int:
    return sum(len(entry.get("traces", [entry])) for entry in ig.explain(f)["entries"])


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4, key=KEYS[0]), nn.Tanh(), nn.Linear(4, 1, key=KEYS[1]))


class Tied(nn.Module):
    """One array in two places, a parameter that nothing uses, and an integer table."""

    def __init__(self) -> None:
        self.w = nn.Parameter(ig.random.normal(KEYS[4], (3, 3)))
        self.again = self.w
        self.unused = nn.Parameter(ig.ones(2))
        self.table = nn.Buffer(ig.asarray([2, 0, 1]))

    def forward(self, x: Any) -> Any:
        return ig.tanh(x @ self.w)[:, self.table] @ self.again.T


class Recurrent(nn.Module):
    def __init__(self) -> None:
        self.cell = nn.LSTM(3, 4, batch_first=True, key=KEYS[5])
        self.out = nn.Linear(4, 1, key=KEYS[6])

    def forward(self, x: Any) -> Any:
        return self.out(self.cell(ig.stack([x, x * 2, x - 1], axis=1))[0][:, -1])


class Branches(nn.Module):
    """Control flow of the library: a loop and a branch."""

    def __init__(self) -> None:
        self.w = nn.Parameter(ig.random.normal(KEYS[4], (3, 3)) / 3)

    def forward(self, x: Any) -> Any:
        x = ig.fori_loop(0, 3, lambda i, v: ig.tanh(v @ self.w), x)
        return ig.cond(ig.sum(x) > 0, lambda v: v * 2, lambda v: ig.exp(v), x)


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        self.inner = mlp()

    def forward(self, x: Any) -> Any:
        return ig.checkpoint(lambda v: self.inner(v))(x)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": mlp,
    "norms": lambda: nn.Sequential(nn.Linear(3, 4, key=KEYS[0]), nn.BatchNorm1d(4), nn.GELU(), nn.LayerNorm(4)),
    "dropout": lambda: nn.Sequential(nn.Linear(3, 8, key=KEYS[0]), nn.Dropout(0.5, key=KEYS[2]), nn.Linear(8, 1, key=KEYS[1])),
    "attention": lambda: nn.Sequential(
        nn.Unflatten(0, (2, 4)),
        nn.Linear(3, 4, key=KEYS[0]),
        nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, key=KEYS[1]),
    ),
    "convolution": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 3)), nn.Conv1d(1, 2, 2, key=KEYS[0]), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten()
    ),
    "tied": Tied,
    "recurrent": Recurrent,
    "branches": Branches,
    "checkpoint": Checkpointed,
}
OPTIMIZERS: dict[str, Callable[[nn.Module], Any]] = {
    "sgd": lambda m: ig.optim.SGD(m, lr=0.1, momentum=0.9),
    "adam": lambda m: ig.optim.Adam(m, lr=0.1),
}


def loss_of(model: nn.Module, x: Any) -> ig.Tensor:
    out = model(x)
    return ig.mean((out - ig.reshape(Y[: out.shape[0] if out.ndim == 2 else 8], (-1, 1))) ** 2 if out.ndim == 2 else out**2)


def compare(
    make: Callable[[], nn.Module],
    step: Callable[[nn.Module, Any, Any], Any],
    calls: int = 4,
    opt: str = "adam",
    within: float = 0,
) -> Any:
    """The same steps eagerly and jitted; gives the jitted function."""
    models = [make().requires_grad_() for _ in range(2)]
    optimizers = [OPTIMIZERS[opt](model) for model in models]
    jitted = ig.jit(lambda x: step(models[1], optimizers[1], x))
    for i in range(calls):
        want = step(models[0], optimizers[0], X * (i + 1))
        got = jitted(X * (i + 1))
        same(got, want, within)
        for a, b in zip(ig.tree_flatten(got)[0], ig.tree_flatten(want)[0], strict=True):
            assert a.requires_grad == b.requires_grad
            assert a.is_leaf == b.is_leaf
        same(state(models[1]), state(models[0]), within)
        assert all(p.is_leaf and p.requires_grad for p in models[1].parameters())
    return jitted


# --- steps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opt", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_a_step_has_the_bits_of_the_eager_one(name: str, opt: str) -> None:
    def step(model: nn.Module, optimizer: Any, x: Any) -> ig.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model, x)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    # Attention that keeps something for its way back is another kernel than the one of an eager forward pass.
    within = 2e-2 if name == "attention" else 0
    assert traces(compare(MODELS[name], step, opt=opt, within=within)) == 1


@pytest.mark.parametrize("name", MODELS)
def test_a_step_has_the_bits_of_value_and_grad(name: str) -> None:
    models = [MODELS[name]() for _ in range(2)]
    optimizers = [ig.optim.SGD(model, lr=0.05) for model in models]
    # Of an array that is read three times the gradients are added in another order.
    within = 1e-5 if name == "norms" else 0
    models[1].requires_grad_()

    def functional(x: Any) -> Any:
        loss, grads = nn.value_and_grad(models[0], lambda: loss_of(models[0], x))()
        norm = nn.utils.clip_grad_norm_(grads, 1.0)
        optimizers[0].step(grads)
        return loss, norm

    def imperative(x: Any) -> Any:
        optimizers[1].zero_grad()
        loss = loss_of(models[1], x)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(models[1].parameters(), 1.0)
        optimizers[1].step()
        return loss, norm

    one, two = ig.jit(functional), ig.jit(imperative)
    for i in range(3):
        same(two(X * (i + 1)), one(X * (i + 1)), within)
        same(list(models[1].parameters()), list(models[0].parameters()), within)


def test_gradients_add_up_over_calls() -> None:
    def step(model: nn.Module, optimizer: Any, x: Any) -> ig.Tensor:
        loss = loss_of(model, x)
        loss.backward()
        return loss

    assert traces(compare(Tied, step)) == 2  # without a gradient, and with one


def test_a_gradient_stays_the_object_that_it_is() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)
    step = ig.jit(lambda: ig.sum(w * w).backward())
    step()
    held = w.grad
    step()
    assert w.grad is held
    assert held.tolist() == [4, 8]
    w.grad = None
    step()
    assert w.grad is not held
    assert (w.grad.tolist(), held.tolist()) == ([2, 4], [4, 8])


def test_many_steps_in_one_call() -> None:
    def step(model: nn.Module, optimizer: Any, x: Any) -> list[ig.Tensor]:
        losses = []
        for i in range(3):
            optimizer.zero_grad()
            loss = loss_of(model, x + i)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses

    compare(mlp, step)


def test_steps_by_hand_under_no_grad() -> None:
    def step(model: nn.Module, optimizer: Any, x: Any) -> ig.Tensor:
        loss = loss_of(model, x)
        loss.backward()
        with ig.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
                p.grad = None
        return loss

    assert traces(compare(mlp, step)) == 1


def test_gradients_set_and_taken_away_inside() -> None:
    def step(model: nn.Module, optimizer: Any, x: Any) -> Any:
        loss_of(model, x).backward()
        first = next(iter(model.parameters()))
        kept = first.grad
        first.grad = None
        loss = loss_of(model, x)
        loss.backward(retain_graph=True)
        loss.backward()
        return kept, first.grad, loss

    compare(mlp, step)


def test_scaled_steps_with_automatic_casting() -> None:
    models = [mlp().requires_grad_() for _ in range(2)]
    optimizers = [ig.optim.Adam(model, lr=0.1) for model in models]
    scalers = [ig.optim.GradScaler() for _ in models]

    def step(i: int, x: Any) -> Any:
        optimizers[i].zero_grad()
        with ig.autocast("float16"):
            loss = loss_of(models[i], x)
        scalers[i].scale(loss).backward()
        scalers[i].step(optimizers[i])
        scalers[i].update()
        return loss.detach()

    jitted = ig.jit(lambda x: step(1, x))
    for _ in range(3):
        same(jitted(X), step(0, X))
        same(state(models[1]), state(models[0]))


def test_other_shapes_are_recorded_anew_and_then_serve_all() -> None:
    model = [mlp().requires_grad_() for _ in range(2)]

    def step(i: int, x: Any) -> Any:
        loss = ig.mean(model[i](x) ** 2)
        for p in model[i].parameters():
            p.grad = None
        loss.backward()
        return loss.detach(), [p.grad for p in model[i].parameters()]

    jitted = ig.jit(lambda x: step(1, x))
    for n in (8, 5, 7, 3, 8):
        same(jitted(X[:n]), step(0, X[:n]))
    assert traces(jitted) == 2


# --- what is asked of the tape outside -------------------------------------------------------------------------------


def test_frozen_parameters_are_asked_on_each_call() -> None:
    models = [mlp().requires_grad_() for _ in range(2)]

    def step(model: nn.Module) -> Any:
        for p in model.parameters():
            p.grad = None
        loss = loss_of(model, X)
        loss.backward()
        return [p.requires_grad for p in model.parameters()]

    jitted = ig.jit(lambda: step(models[1]))
    for frozen in (None, 0, 0, 2, None):
        for model in models:
            for i, p in enumerate(model.parameters()):
                p.requires_grad_(i != frozen)
        assert jitted() == step(models[0])
        same(state(models[1]), state(models[0]))
    assert traces(jitted) == 3


def test_the_mode_and_arguments_are_asked_on_each_call() -> None:
    f = ig.jit(lambda x: (x.requires_grad, x.is_leaf, ig.is_grad_enabled(), ig.is_inference_mode_enabled()))
    x, leaf = ig.ones(2), ig.ones(2).requires_grad_()
    for _ in range(2):
        assert f(x) == (False, True, True, False)
        assert f(leaf) == (True, True, True, False)
        assert f(leaf * 1) == (True, False, True, False)
        with ig.no_grad():
            assert f(leaf) == (True, True, False, False)
        with ig.inference_mode():
            assert f(x) == (False, True, False, True)
    assert traces(f) == 5


def test_a_call_under_no_grad_has_nothing_to_go_back_by() -> None:
    w = ig.ones(2).requires_grad_()
    step = ig.jit(lambda: ig.sum(w * 2).backward())
    step()
    with ig.no_grad(), pytest.raises(ig.ValueError, match="does not require grad"):
        step()
    with ig.no_grad():
        with_grad = ig.jit(ig.enable_grad()(lambda: ig.sum(w * 2)))()
    assert with_grad.requires_grad
    with_grad.backward()
    assert w.grad.tolist() == [4, 4]


def test_hooks() -> None:
    seen: list[Any] = []
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    def step() -> Any:
        h = w * 3
        h.register_hook(lambda g: g * 10)
        h.retain_grad()
        w.grad = None
        ig.sum(h * h).backward()
        return h.grad, w.grad

    jitted = ig.jit(step)
    same(jitted(), step())
    handle = w.register_hook(lambda g: g + 1)
    want = step()
    same(jitted(), want)
    same(w.grad, want[1])
    handle.remove()
    same(jitted(), step())
    assert seen == []


def test_a_model_without_gradients_begins_to_want_them() -> None:
    model = mlp()
    step = ig.jit(lambda: loss_of(model, X).backward() if model[0].weight.requires_grad else None)
    step()
    assert model[0].weight.grad is None
    model.requires_grad_()
    step()
    assert all(p.grad is not None for p in model.parameters())


def test_threads() -> None:
    models = [mlp().requires_grad_() for _ in range(5)]

    def step(model: nn.Module, x: Any) -> Any:
        for p in model.parameters():
            p.grad = None
        loss_of(model, x).backward()
        return [p.grad for p in model.parameters()]

    want = step(models[0], X)
    jitted = [ig.jit(lambda x, m=model: step(m, x)) for model in models]
    got: list[Any] = [None] * 5

    def work(i: int) -> None:
        for _ in range(5):
            got[i] = jitted[i](X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in got:
        same(each, want)


# --- gradients by arrays that the function makes ---------------------------------------------------------------------


def saliency(x: Any) -> Any:
    x = x.detach().requires_grad_()
    ig.sum(ig.sin(x) * x).backward()
    return x.grad


def second(x: Any) -> Any:
    x = x.detach().requires_grad_()
    y = ig.sum(x * x * x + ig.exp(x))
    (g,) = ig.autograd.grad(y, x, create_graph=True)
    (h,) = ig.autograd.grad(ig.sum(g * g), x)
    return y.detach(), g.detach(), h


def through_backward(x: Any) -> Any:
    x = x.detach().requires_grad_()
    ig.sum(x * x * x).backward(create_graph=True)
    first = x.grad
    x.grad = None
    ig.sum(first**2).backward()
    return first.detach(), x.grad


def with_gradient(x: Any) -> Any:
    x = x.detach().requires_grad_()
    y = x * x
    y.backward(x.detach(), inputs=[x])
    return x.grad


def unused(x: Any) -> Any:
    x = x.detach().requires_grad_()
    z = (x * 2).detach().requires_grad_()
    return ig.autograd.grad(ig.sum(x * 2), [x, z], allow_unused=True, materialize_grads=True)


def looped(x: Any) -> Any:
    x = x.detach().requires_grad_()
    carry, ys = ig.scan(lambda c, v: (ig.tanh(c + v), c * v), ig.asarray(0.1), x)
    (g,) = ig.autograd.grad(carry + ig.sum(ys * ys), x, create_graph=True)
    (h,) = ig.autograd.grad(ig.sum(g * g), x)
    return g.detach(), h


def looped_twice(x: Any) -> Any:
    x = x.detach().requires_grad_()
    carry, ys = ig.scan(lambda c, v: (ig.tanh(c + v), c * v), ig.asarray(0.1), x)
    (a,) = ig.autograd.grad(carry, x, retain_graph=True)
    (b,) = ig.autograd.grad(ig.sum(ys), x, create_graph=True)
    return a, b.detach(), ig.autograd.grad(ig.sum(b * b), x)[0], carry.detach(), ys.detach()


def made_inside(x: Any) -> Any:
    w = ig.asarray([1.0, 2.0, 3.0], requires_grad=True)
    v = w * 2
    ig.sum(v * x).backward()
    return w.grad


def masked(x: Any) -> Any:
    x = x.detach().requires_grad_()
    y = ig.where(x > 1, ig.log(ig.abs(x) + 1), ig.maximum(x, 0.5) * 3)
    ig.sum(y * y + ig.clip(x, 0, 2)).backward()
    return x.grad


class Squared(ig.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return ctx.factor * grad * ctx.saved_tensors[0], None


def own_rule(x: Any) -> Any:
    x = x.detach().requires_grad_()
    (g,) = ig.autograd.grad(ig.sum(Squared.apply(x, 5.0)), x, create_graph=True)
    return g.detach(), ig.autograd.grad(ig.sum(g * x), x)[0]


INSIDE = (saliency, second, through_backward, with_gradient, unused, looped, looped_twice, made_inside, masked, own_rule)


@pytest.mark.parametrize("f", INSIDE)
def test_gradients_by_what_the_function_makes(f: Callable[[Any], Any]) -> None:
    x = ig.asarray([0.5, -1.0, 2.0])
    want = f(x)
    within = 1e-6 if f in (looped, looped_twice) else 0  # a loop's second derivative: ig.grad of ig.grad has these bits
    jitted = ig.jit(f)
    for _ in range(2):
        got = jitted(x)
        same(got, want, within)
        assert not any(one.requires_grad for one in ig.tree_flatten(got)[0])
    same(ig.trace(f, x)(x), got)
    same(ig.jit(lambda x: jitted(x))(x), got)


@pytest.mark.parametrize("f", INSIDE)
def test_the_same_in_loops_branches_and_batches(f: Callable[[Any], Any]) -> None:
    x = ig.asarray([0.5, -1.0, 2.0])
    first = lambda x: ig.tree_flatten(f(x))[0][0]  # noqa: E731
    want = first(x)
    for around in (
        ig.jit(lambda x: ig.cond(ig.sum(x) > 0, first, lambda v: first(v), x)),
        ig.jit(lambda x: ig.scan(lambda c, v: (c, first(v)), 0.0, x[None])[1][0]),
        lambda x: ig.vmap(first)(x[None])[0],
        ig.jit(lambda x: ig.vmap(first)(x[None])[0]),
    ):
        np.testing.assert_allclose(array(around(x)), array(want), rtol=2e-6, atol=1e-6)


def test_a_derivative_around_takes_inner_gradients_for_constants() -> None:
    def f(x: Any) -> Any:
        y = x.detach().requires_grad_()
        (g,) = ig.autograd.grad(ig.sum(y**3), y)
        with ig.no_grad():
            aside = x * 100
        return ig.sum(x * g + aside)

    x = ig.asarray([1.0, 2.0])
    for around in (ig.grad(f), ig.jit(ig.grad(f)), ig.grad(ig.jit(f))):
        assert around(x).tolist() == [3, 12]
    leaf = x.detach().requires_grad_()
    for g in (f, ig.jit(f)):
        leaf.grad = None
        g(leaf).backward()
        assert leaf.grad.tolist() == [3, 12]


def test_one_array_as_an_argument_and_from_outside() -> None:
    w, other = ig.asarray([1.0, 2.0], requires_grad=True), ig.asarray([3.0, 4.0], requires_grad=True)

    def by_outside(x: Any) -> Any:
        return ig.autograd.grad(ig.sum(x * w), w)[0]

    def by_both(x: Any, y: Any) -> Any:
        return ig.autograd.grad(ig.sum(x * x * y), [x, y])

    def step(x: Any) -> Any:
        w.grad = None
        ig.sum(x * w).backward()
        return w.grad

    for f in (by_outside, ig.jit(by_outside)):
        assert [f(w).tolist(), f(other).tolist(), f(w).tolist()] == [[2, 4], [3, 4], [2, 4]]
    for g in (by_both, ig.jit(by_both)):
        assert [a.tolist() for a in g(w, w)] == [[3, 12], [3, 12]]
        assert [a.tolist() for a in g(w, other)] == [[6, 16], [1, 4]]
    for f in (step, ig.jit(step)):
        assert f(w).tolist() == [2, 4]
        assert f(other.detach()).tolist() == [3, 4]


def test_copies_inside_are_leaves_of_their_own() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    def step() -> Any:
        own = copy.copy(w)
        w.grad = None
        loss = ig.sum(own * own * w)
        loss.backward(retain_graph=True)
        return own.grad, w.grad, loss

    for f in (step, ig.jit(step)):
        own, outside, loss = f()
        assert (own.tolist(), outside.tolist()) == ([2, 8], [1, 4])
        loss.backward()
        assert w.grad.tolist() == [2, 8]


def test_arguments_that_require_grad() -> None:
    def f(x: Any) -> Any:
        (g,) = ig.autograd.grad(ig.sum(x**3), x, create_graph=True)
        return g

    x = ig.asarray([1.0, 2.0], requires_grad=True)
    for g in (f, ig.jit(f)):
        x.grad = None
        out = g(x)
        assert out.tolist() == [3, 12]
        ig.sum(out).backward()
        assert x.grad.tolist() == [6, 12]


# --- modes -----------------------------------------------------------------------------------------------------------


def test_modes_inside() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    @ig.no_grad()
    def aside(x: Any) -> Any:
        with ig.enable_grad():
            on = x * 2
        return on, x * 3, (x * 4).requires_grad

    def f() -> Any:
        on, off, _ = aside(w)
        with ig.set_grad_enabled(False):
            more = ig.exp(w)
        with ig.inference_mode():
            less = w + 1
        return on + off + more * less

    for g in (f, ig.jit(f)):
        w.grad = None
        ig.sum(g()).backward()
        assert w.grad.tolist() == [2, 2]
    for g in (lambda: aside(w), ig.jit(lambda: aside(w))):
        on, off, asked = g()
        assert (on.requires_grad, off.requires_grad, asked) == (True, False, False)


def test_a_mode_around_a_transform_does_not_reach_into_it() -> None:
    def f(x: Any) -> Any:
        with ig.no_grad():
            return ig.grad(lambda v: ig.sum(v**2))(x)

    assert ig.jit(f)(ig.asarray([1.0, 2.0])).tolist() == [2, 4]
    assert f(ig.asarray([1.0, 2.0])).tolist() == [2, 4]


def test_what_is_computed_under_no_grad_is_off_the_tape_of_the_call() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    def f(x: Any) -> Any:
        with ig.no_grad():
            scale = ig.sum(w * w)
        return ig.sum(w * x) * scale, scale

    for g in (f, ig.jit(f)):
        w.grad = None
        out, _ = g(ig.ones(2))
        out.backward()
        assert w.grad.tolist() == [5, 5]


# --- results ---------------------------------------------------------------------------------------------------------


def test_a_loss_that_was_gone_back_through() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    def step() -> Any:
        loss = ig.sum(w * w)
        loss.backward()
        return loss, loss * 2, w * 3

    for f in (step, ig.jit(step)):
        loss, more, other = f()
        assert loss.requires_grad
        assert not loss.is_leaf
        for one in (loss, more, loss + 1.0):
            with pytest.raises(ig.ValueError, match="a second backward pass"):
                one.backward()
        w.grad = None
        ig.sum(other).backward()
        assert w.grad.tolist() == [3, 3]
        w.grad = None


def test_a_loss_that_is_retained() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    def step() -> Any:
        loss = ig.sum(w * w)
        loss.backward(retain_graph=True)
        return loss

    for f in (step, ig.jit(step)):
        w.grad = None
        f().backward()
        assert w.grad.tolist() == [4, 8]


def test_leaves_that_are_returned() -> None:
    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        ig.sum(x * x).backward()
        return x, x.detach().requires_grad_(), x * 2

    for g in (f, ig.jit(f)):
        one, two, three = g(ig.asarray([1.0, 2.0]))
        assert (one.is_leaf, two.is_leaf, three.is_leaf) == (True, True, False)
        assert one.requires_grad
        assert two.requires_grad
        assert one.grad.tolist() == [2, 4]
        assert two.grad is None
        ig.sum(two * 3).backward()
        assert two.grad.tolist() == [3, 3]


def test_gradients_that_lead_on() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    def step() -> Any:
        (g,) = ig.autograd.grad(ig.sum(w**3), w, create_graph=True)
        return g, ig.autograd.grad(ig.sum(w**2), w)[0]

    for f in (step, ig.jit(step)):
        g, plain = f()
        assert (g.requires_grad, plain.requires_grad) == (True, False)
        w.grad = None
        ig.sum(g).backward()
        assert w.grad.tolist() == [6, 12]


# --- costs -----------------------------------------------------------------------------------------------------------


def kernels(f: Any, *args: Any) -> Any:
    f(*args)
    f(*args)
    report = ig.explain(f)["entries"][-1]["graph"].report()
    return report


@pytest.mark.parametrize("name", ["mlp", "recurrent", "norms", "attention", "checkpoint"])
def test_a_step_costs_what_value_and_grad_costs(name: str) -> None:
    model = MODELS[name]()
    optimizer = ig.optim.Adam(model, lr=0.1)

    def functional(x: Any) -> Any:
        loss, grads = nn.value_and_grad(model, lambda: loss_of(model, x))()
        optimizer.step(grads)
        return loss

    def imperative(x: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(model, x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    one = kernels(ig.jit(functional), X)
    model.requires_grad_()
    two = kernels(ig.jit(imperative), X)
    assert two["kernels"] <= one["kernels"]
    assert two["planned_peak"] <= 1.1 * one["planned_peak"]


# --- programs at large -----------------------------------------------------------------------------------------------

UNARY: list[Callable[[Any], Any]] = [
    ig.sin, ig.tanh, ig.exp, lambda v: v * v, lambda v: ig.maximum(v, 0.1), lambda v: v.T @ v, lambda v: ig.sum(v, axis=0),
    lambda v: v[1:], lambda v: ig.where(v > 0, v, v * 0.5), lambda v: ig.softmax(v, axis=-1), lambda v: ig.concat([v, v]),
    lambda v: v.detach() * v, ig.stop_gradient, lambda v: ig.cumsum(v, axis=0), lambda v: ig.floor(v) + v,
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + ig.sum(b), lambda a, b: a * ig.mean(b), lambda a, b: a - ig.max(b), lambda a, b: a / (2 + ig.sum(b * b)),
]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=8), st.integers(0, 3))
def test_random_programs(steps: list[tuple[int, int, int]], kind: int) -> None:
    w = ig.random.normal(KEYS[7], (3, 3)) * 0.5

    def f(x: Any) -> Any:
        values = [x]
        for op, a, b in steps:
            left, right = values[a % len(values)], values[b % len(values)]
            with ig.set_grad_enabled(not (kind == 1 and op % 5 == 0)):
                if op % 3 == 0:
                    made = BINARY[op % len(BINARY)](left, right)
                elif left.ndim == 2:
                    made = UNARY[op % len(UNARY)](left)
                else:
                    made = ig.sin(left)
            values.append(ig.clip(made, -3, 3) if op % 7 == 0 else made)
        return values

    def program() -> Any:
        x = w.detach().requires_grad_()
        loss = sum((ig.mean(v * 0.3) for v in f(x)), start=ig.asarray(0.0))
        grads = []
        if kind == 2:
            grads = list(ig.autograd.grad(loss, x, retain_graph=True))
        loss.backward(create_graph=kind == 3)
        if kind == 3:
            first, x.grad = x.grad, None
            grads.append(first.detach())
            if first.requires_grad:
                grads += ig.autograd.grad(ig.sum(first * first), x, allow_unused=True, materialize_grads=True)
        return loss.detach(), x.grad, grads

    same(ig.jit(program)(), program())


# --- what is refused -------------------------------------------------------------------------------------------------


class Outside:
    """Arrays that the functions below read; none of them may change."""

    leaf = ig.asarray([1.0, 2.0], requires_grad=True)
    other = ig.asarray([3.0, 4.0], requires_grad=True)
    plain = ig.asarray([1.0, 2.0])


W, V, P = Outside.leaf, Outside.other, Outside.plain
H = W * 2
LEAKED: list[Any] = []


def own(x: Any) -> Any:
    return x.detach().requires_grad_()


def back(x: Any) -> Any:
    ig.sum(x * x).backward()
    return x


def jitted(f: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: ig.jit(f)()


def in_a_branch() -> Any:
    y = own(P)
    z = y * 2
    return ig.cond(ig.sum(P) > 0, lambda: back(z), lambda: z)


def by_what_is_around() -> Any:
    y = own(P)
    return ig.cond(ig.sum(P) > 0, lambda: ig.autograd.grad(ig.sum(y * y), y)[0], lambda: y)


def twice() -> Any:
    loss = ig.sum(W * W)
    loss.backward()
    loss.backward()


def in_place() -> Any:
    y = own(P)
    y += 1


def leads_inside() -> Any:
    ig.sum(ig.jit(lambda x: own(x) * 2)(P)).backward()


def returned_loss() -> Any:
    def step() -> Any:
        loss = ig.sum(W * W)
        ig.autograd.grad(loss, W)
        return loss

    ig.jit(step)().backward()


def after_a_step() -> Any:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    def step() -> Any:
        with ig.no_grad():
            w.__imul__(0.5)
        return ig.sum(w * w)

    ig.jit(step)().backward()


def anomaly() -> Any:
    with ig.autograd.detect_anomaly():
        ig.jit(lambda: back(W))()


def leak() -> Any:
    ig.trace(lambda x: LEAKED.append(ig.sum(own(x) * 2)) or x, P)
    LEAKED.pop().backward()


def leaked_gradient() -> Any:
    ig.trace(lambda x: LEAKED.append(own(x)) or x, P)
    return LEAKED.pop().grad


ERRORS: dict[str, Callable[[], Any]] = {
    "to an argument": lambda: ig.jit(back)(W),
    "to a computed argument": lambda: ig.jit(back)(H),
    "to what was computed outside": jitted(lambda: back(H)),
    "by what lies behind what was computed outside": jitted(lambda: ig.autograd.grad(ig.sum(H * H), W)),
    "from a loss outside": jitted(lambda: H.backward(ig.ones(2))),
    "in trace": lambda: ig.trace(lambda: back(W)),
    "in a branch, to a leaf outside": jitted(lambda: ig.cond(ig.sum(P) > 0, lambda: back(W), lambda: P)),
    "in a branch, to a leaf around": jitted(in_a_branch),
    "in a branch, by a leaf around": jitted(by_what_is_around),
    "in a loop": jitted(lambda: ig.fori_loop(0, 2, lambda i, x: back(W) + x, P)),
    "in vmap": lambda: ig.vmap(ig.jit(lambda x: back(W * x)))(ig.ones((3, 2))),
    "in grad": lambda: ig.grad(lambda x: ig.sum(back(W * x)))(P),
    "in grad of jit": lambda: ig.grad(ig.jit(lambda x: ig.sum(back(W * x))))(P),
    "with anomalies": anomaly,
    "freezing outside": jitted(lambda: W.requires_grad_(False)),
    "unfreezing outside": jitted(lambda: P.requires_grad_()),
    "unfreezing an argument": lambda: ig.jit(lambda x: x.requires_grad_())(P),
    "unfreezing in a branch": lambda: ig.jit(lambda x: ig.cond(ig.sum(x) > 0, lambda: x.requires_grad_(), lambda: x))(P),
    "a hook outside": jitted(lambda: W.register_hook(lambda g: g)),
    "a hook of an argument": lambda: ig.jit(lambda x: x.register_hook(lambda g: g))(W),
    "a hook of another shape": jitted(lambda: (lambda y: (y.register_hook(lambda g: g[:1]), back(y)))(own(P))),
    "retaining outside": jitted(lambda: H.retain_grad()),
    "requires_grad asked in trace": lambda: ig.trace(lambda x: x.requires_grad, P),
    "requires_grad asked in a branch": lambda: ig.jit(lambda x: ig.cond(ig.sum(x) > 0, lambda: x * x.requires_grad, lambda: x))(P),
    "integers": jitted(lambda: ig.asarray([1, 2]).requires_grad_()),
    "no leaf": jitted(lambda: back(P)),
    "not one number": jitted(lambda: (W * 2).backward()),
    "a gradient of another shape": jitted(lambda: (W * 2).backward(ig.ones(3))),
    "unused": jitted(lambda: ig.autograd.grad(ig.sum(own(P)), own(P))),
    "twice": jitted(twice),
    "in place": jitted(in_place),
    "in place on a leaf outside": jitted(lambda: W.__iadd__(1)),
    "gone back through": returned_loss,
    "leads inside": leads_inside,
    "after a step": after_a_step,
    "leaked": leak,
    "leaked gradient": leaked_gradient,
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("backward_captures_errors.txt"))
    assert W.grad is None
    assert (W.tolist(), V.tolist(), P.tolist()) == ([1, 2], [3, 4], [1, 2])
    assert not P.requires_grad
