"""`loss.backward()` and its like within captured functions: the loss, `.grad` and the parameters have the bits of the
eager program; what depends on the tape outside is asked on each call; what cannot be followed is refused."""

from __future__ import annotations

import runpy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import check_texts, refusal
from same_bits import KEYS, array, same

import intaglio as ig
from intaglio import nn

X = ig.random.normal(KEYS[3], (8, 3))
Y = X[:, :1] * 5 + X[:, 1:2]


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
    "dropout": lambda: nn.Sequential(
        nn.Linear(3, 8, key=KEYS[0]), nn.Dropout(0.5, key=KEYS[2]), nn.Linear(8, 1, key=KEYS[1])
    ),
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
    # A bias of attention's keys has no gradient but rounding, which a smaller epsilon would make steps of any sign.
    "adam": lambda m: ig.optim.Adam(m, lr=0.1, eps=1e-3),
}


def loss_of(model: nn.Module, x: Any) -> ig.Tensor:
    out = model(x)
    return ig.mean(
        (out - ig.reshape(Y[: out.shape[0] if out.ndim == 2 else 8], (-1, 1))) ** 2 if out.ndim == 2 else out**2
    )


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
    within = 1e-4 if name == "attention" else 0
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


def test_two_models_against_each_other() -> None:
    """One makes, the other tells; with a penalty on a gradient, which is gone back through in turn."""
    pairs = [(mlp().requires_grad_(), nn.Linear(3, 3, key=KEYS[5]).requires_grad_()) for _ in range(2)]
    optimizers = [[ig.optim.Adam(model, lr=0.01) for model in pair] for pair in pairs]

    def step(i: int, x: Any) -> Any:
        (critic, maker), (tells, makes) = pairs[i], optimizers[i]
        fake = maker(x)
        tells.zero_grad()
        mixed = (x * 0.3 + fake.detach() * 0.7).requires_grad_()
        (slope,) = ig.autograd.grad(ig.sum(critic(mixed)), mixed, create_graph=True)
        penalty = ig.mean((ig.sqrt(ig.sum(slope * slope, axis=1)) - 1) ** 2)
        loss = ig.mean(critic(fake.detach())) - ig.mean(critic(x)) + 10 * penalty
        loss.backward()
        tells.step()
        makes.zero_grad()
        other = -ig.mean(critic(fake))
        other.backward()
        makes.step()
        return loss, other

    jitted = ig.jit(lambda x: step(1, x))
    for _ in range(4):
        same(jitted(X), step(0, X))
        for one, two in zip(*pairs, strict=True):
            same(state(two), state(one))
    assert traces(jitted) == 1


def test_a_step_that_raises_leaves_the_gradients() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    @ig.jit
    def step() -> None:
        ig.sum(w * w).backward()
        raise KeyError("no more")

    for held in (None, ig.asarray([5.0, 5.0])):
        w.grad = held
        with pytest.raises(KeyError):
            step()
        assert w.grad is held
    assert w.grad.tolist() == [5, 5]


def test_functions_that_go_back_call_each_other() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    def step(k: Any) -> Any:
        ig.sum(w * w * k).backward()
        return w.grad + 0

    inner = ig.jit(step)
    for f in (step, inner):
        w.grad = None
        both = (lambda k, f=f: (f(k), f(k * 2))) if f is step else ig.jit(lambda k: (inner(k), inner(k * 2)))
        got = [[x.tolist() for x in both(k)] for k in (1.0, 2.0)]
        assert got == [[[2, 4], [6, 12]], [[10, 20], [18, 36]]]


def test_what_is_asked_of_values_before_and_after_a_pass() -> None:
    for make in (mlp, Recurrent, Branches):
        models = [make().requires_grad_() for _ in range(2)]

        def step(i: int, x: Any, models: Any = models) -> Any:
            for p in models[i].parameters():
                p.grad = None
            loss = loss_of(models[i], x)
            large = bool(loss > 1)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(models[i].parameters(), 1.0)
            return loss * 2 if float(norm) > 0.5 else loss, large

        jitted = ig.jit(lambda x, step=step: step(1, x))
        for k in (1, 1, 3, 0.1, 1):
            same(jitted(X * k), step(0, X * k))
            same(state(models[1]), state(models[0]))


def test_the_example_gives_the_same_losses() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "training" / "eager.py"
    train = runpy.run_path(str(path))["train"]
    assert train(20) == train(20, jit=True)


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


def test_retained_gradients_are_returned_with_their_arrays() -> None:
    w = ig.asarray([1.0, 2.0], requires_grad=True)

    def step() -> Any:
        one, two = w * 3, w * 5
        one.retain_grad()
        two.retain_grad()
        ig.sum(one * one).backward()
        return one, two

    for f in (step, ig.jit(step)):
        one, two = f()
        assert (one.retains_grad, two.retains_grad) == (True, True)
        assert one.grad.tolist() == [6, 12]
        assert two.grad is None
        ig.sum(two * two).backward()
        assert two.grad.tolist() == [10, 20]


def test_arrays_of_the_functions_own_are_returned() -> None:
    def f() -> Any:
        one = ig.asarray([1.0, 2.0], requires_grad=True)
        two = ig.asarray([3.0, 4.0], requires_grad=True)
        ig.sum(one * two).backward()
        return one, one.grad

    for g in (f, ig.jit(f)):
        leaf, gradient = g()
        assert leaf.is_leaf
        assert leaf.grad.tolist() == gradient.tolist() == [3, 4]
        ig.sum(leaf * 2).backward()
        assert leaf.grad.tolist() == [5, 6]
    w = ig.asarray([1.0, 2.0], requires_grad=True)
    fixed = ig.jit(lambda: ig.sum(w * w), lift=False)
    for _ in range(2):
        w.grad = None
        fixed().backward()
        assert w.grad.tolist() == [2, 4]


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


def hooked_inside() -> Any:
    def step() -> Any:
        y = W * 2
        y.register_hook(lambda g: g * 2)
        return ig.sum(y)

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


def left_behind() -> None:
    ig.trace(lambda x: LEAKED.append(ig.asarray(2.0, requires_grad=True) * 2) or x, P)
    LEAKED.pop().backward()


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
    "unfreezing in a branch": lambda: ig.jit(lambda x: ig.cond(ig.sum(x) > 0, lambda: x.requires_grad_(), lambda: x))(
        P
    ),
    "a hook outside": jitted(lambda: W.register_hook(lambda g: g)),
    "a hook of an argument": lambda: ig.jit(lambda x: x.register_hook(lambda g: g))(W),
    "a hook of another shape": jitted(lambda: (lambda y: (y.register_hook(lambda g: g[:1]), back(y)))(own(P))),
    "retaining outside": jitted(lambda: H.retain_grad()),
    "requires_grad asked in trace": lambda: ig.trace(lambda x: x.requires_grad, P),
    "requires_grad asked in a branch": lambda: ig.jit(
        lambda x: ig.cond(ig.sum(x) > 0, lambda: x * x.requires_grad, lambda: x)
    )(P),
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
    "hooked inside": hooked_inside,
    "after a step": after_a_step,
    "leaked": leak,
    "leaked gradient": leaked_gradient,
    "left behind": left_behind,
    "returned from inside": lambda: (ig.jit(lambda: ig.asarray(2.0, requires_grad=True) * 2)()).backward(),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("backward_captures_errors.txt"))
    assert W.grad is None
    assert (W.tolist(), V.tolist(), P.tolist()) == ([1, 2], [3, 4], [1, 2])
    assert not P.requires_grad
