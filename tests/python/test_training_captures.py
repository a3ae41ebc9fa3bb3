"""Parts of a training step that torch does in place, within `ig.jit`: clipping, `.grad` and what `optimizer.step()` and
`zero_grad()` make of it, tables of embeddings with `max_norm`. All give the bits that eager steps give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import nn

KEYS = ig.random.split(ig.random.key(0), 5)
X = ig.random.normal(KEYS[3], (8, 3))
Y = X[:, :1] * 5 + X[:, 1:2]


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4, key=KEYS[0]), nn.Tanh(), nn.Linear(4, 1, key=KEYS[1])).requires_grad_()


def loss_of(model: nn.Module) -> ig.Tensor:
    return nn.losses.mse_loss(model(X), Y)


def values(model: nn.Module) -> list[Any]:
    return [np.asarray(p.detach()) for p in model.parameters()]


def equal(a: list[Any], b: list[Any]) -> None:
    for x, y in zip(a, b, strict=True):
        x, y = (one.detach() if isinstance(one, ig.Tensor) else one for one in (x, y))
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


CLIPS: dict[str, Callable[[Any], Any]] = {
    "two": lambda given: nn.utils.clip_grad_norm_(given, 0.5),
    "inf": lambda given: nn.utils.clip_grad_norm_(given, 0.25, float("inf")),
    "one": lambda given: nn.utils.clip_grad_norm_(given, 2.0, 1.0, error_if_nonfinite=True),
    "wide": lambda given: nn.utils.clip_grad_norm_(given, 1e6),
    "value": lambda given: nn.utils.clip_grad_value_(given, 0.1),
}


@pytest.mark.parametrize("name", CLIPS)
def test_gradients_by_name_are_clipped_as_on_the_tape(name: str) -> None:
    clip = CLIPS[name]

    def taped(model: nn.Module, optimizer: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        norm = clip(model.parameters())
        optimizer.step()
        return loss.detach(), norm

    def step(model: nn.Module, optimizer: Any) -> Any:
        loss, grads = nn.value_and_grad(model, lambda: loss_of(model))()
        norm = clip(grads)
        optimizer.step(grads)
        return loss, norm

    models = [net() for _ in range(3)]
    optimizers = [ig.optim.Adam(model, lr=0.1) for model in models]
    jitted = ig.jit(lambda: step(models[2], optimizers[2]))
    for _ in range(4):
        out = [taped(models[0], optimizers[0]), step(models[1], optimizers[1]), jitted()]
        for other in out[1:]:
            equal(ig.tree_flatten(other)[0], ig.tree_flatten(out[0])[0])
        equal(values(models[1]), values(models[0]))
        equal(values(models[2]), values(models[0]))


@pytest.mark.parametrize("name", CLIPS)
def test_a_jitted_update_reads_the_gradients_of_the_tape(name: str) -> None:
    def update(model: nn.Module, optimizer: Any) -> Any:
        norm = CLIPS[name](model.parameters())
        optimizer.step()
        optimizer.zero_grad()
        return norm

    plain, other = net(), net()
    optimizers = [ig.optim.AdamW(model, lr=0.1) for model in (plain, other)]
    jitted = ig.jit(lambda: update(other, optimizers[1]))
    for _ in range(5):
        loss_of(plain).backward()
        loss_of(other).backward()
        want, got = update(plain, optimizers[0]), jitted()
        equal(ig.tree_flatten(got)[0], ig.tree_flatten(want)[0])
        equal(values(other), values(plain))
        assert all(p.grad is None and p.is_leaf and p.requires_grad for p in other.parameters())
    assert len(ig.explain(jitted)["entries"]) == 1


def test_gradients_that_a_jitted_step_sets() -> None:
    plain, other = net(), net()
    optimizers = [ig.optim.SGD(model, lr=0.1, momentum=0.9) for model in (plain, other)]

    def step(model: nn.Module, optimizer: Any) -> ig.Tensor:
        loss, grads = nn.value_and_grad(model, lambda: loss_of(model))()
        for path, parameter in model.named_parameters():
            parameter.grad = grads[path] if parameter.grad is None else parameter.grad + grads[path]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    jitted = ig.jit(lambda: step(other, optimizers[1]))
    for _ in range(4):
        equal([jitted()], [step(plain, optimizers[0])])
        equal(values(other), values(plain))
        equal([p.grad for p in other.parameters()], [p.grad for p in plain.parameters()])
    optimizers[0].zero_grad()
    optimizers[1].zero_grad()
    equal([jitted()], [step(plain, optimizers[0])])
    equal(values(other), values(plain))


def graded(*numbers: float) -> ig.Tensor:
    w = ig.zeros(len(numbers)).requires_grad_()
    w.grad = ig.asarray(numbers)
    return w


def test_a_clipped_gradient_stays_one_object() -> None:
    w = graded(3.0, 4.0)
    held = w.grad
    clip = ig.jit(lambda: nn.utils.clip_grad_norm_(w, 1.0))
    for numbers in ([3.0, 4.0], [6.0, 8.0]):
        held[:] = ig.asarray(numbers)
        assert float(clip()) == numbers[0] / 0.6
        assert w.grad is held
        np.testing.assert_allclose(held, [0.6, 0.8], rtol=1e-5)
    w.grad = other = ig.asarray([30.0, 40.0])
    clip()
    assert w.grad is other
    np.testing.assert_allclose(other, [0.6, 0.8], rtol=1e-5)
    np.testing.assert_allclose(held, [0.6, 0.8], rtol=1e-5)
    grads = {"w": ig.asarray([3.0, 4.0])}
    alias = grads["w"]
    nn.utils.clip_grad_norm_(grads, 1.0)
    np.testing.assert_allclose(alias, [0.6, 0.8], rtol=1e-5)
    ig.jit(lambda g: nn.utils.clip_grad_value_(g, 0.7))(grads)
    np.testing.assert_allclose(alias, [0.6, 0.7], rtol=1e-5)


def test_what_a_gradient_is_on_each_call() -> None:
    w = graded(1.0, 2.0)
    double = ig.jit(lambda: None if w.grad is None else w.grad * 2)
    assert double().tolist() == [2.0, 4.0]
    w.grad = ig.asarray([5.0, 6.0])
    assert double().tolist() == [10.0, 12.0]
    w.grad += 1
    assert double().tolist() == [12.0, 14.0]
    w.grad = None
    assert double() is None
    w.requires_grad_(False)
    assert double() is None
    w.requires_grad_()
    (w * ig.asarray([3.0, 4.0])).sum().backward()
    assert double().tolist() == [6.0, 8.0]


def test_changes_and_reads_in_one_call() -> None:
    w = graded(1.0, 2.0)

    @ig.jit
    def f(x: ig.Tensor) -> Any:
        first = w.grad * 1
        w.grad *= x
        w.grad[0] = 7.0
        second = w.grad
        w.grad = second + 1
        return first, second, w.grad

    for start in ([1.0, 2.0], [3.0, 4.0]):
        w.grad = ig.asarray(start)
        first, second, third = f(ig.asarray(10.0))
        assert first.tolist() == start
        assert second.tolist() == [7.0, start[1] * 10]
        assert third.tolist() == w.grad.tolist() == [8.0, start[1] * 10 + 1]


def test_a_gradient_that_is_only_set() -> None:
    w = ig.zeros(2).requires_grad_()
    clear = ig.jit(lambda: w.__setattr__("grad", None))
    clear()
    w.grad = ig.ones(2)
    clear()
    assert w.grad is None
    put = ig.jit(lambda g: w.__setattr__("grad", g))
    for number in (1.0, 2.0):
        put(ig.asarray([number, number]))
        assert w.grad.tolist() == [number, number]
    w.requires_grad_(False)
    with pytest.raises(ig.ValueError, match="does not require grad"):
        put(ig.ones(2))


def test_one_object_as_the_gradient_of_two_arrays() -> None:
    shared = ig.asarray([3.0, 4.0])
    a, b = graded(0.0, 0.0), graded(0.0, 0.0)
    a.grad = b.grad = shared

    @ig.jit
    def f() -> Any:
        a.grad *= 2
        return b.grad + 1

    assert f().tolist() == [7.0, 9.0]
    assert shared.tolist() == [6.0, 8.0]
    b.grad = ig.asarray([1.0, 1.0])
    assert f().tolist() == [2.0, 2.0]
    assert a.grad.tolist() == [12.0, 16.0]
    assert b.grad.tolist() == [1.0, 1.0]


def test_a_parameter_that_was_replaced() -> None:
    layer = nn.Linear(2, 1, False, key=KEYS[0]).requires_grad_()
    layer.weight.grad = ig.ones((1, 2))
    read = ig.jit(lambda: layer.weight.grad * 1)
    read()
    layer.weight = nn.Parameter(ig.zeros((1, 2)))
    layer.weight.requires_grad_()
    layer.weight.grad = ig.asarray([[2.0, 3.0]])
    assert read().tolist() == [[2.0, 3.0]]


def test_nothing_is_set_where_the_call_fails() -> None:
    w = graded(1.0, 2.0)
    before = w.grad

    @ig.jit
    def f() -> None:
        w.grad *= 3
        w.grad = w.grad + 1
        raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            f()
        assert w.grad is before
        assert before.tolist() == [1.0, 2.0]


# --- tables with max_norm --------------------------------------------------------------------------------------------

INDICES = ig.asarray([[0, 2], [2, 5]])


def table(kind: str, **options: Any) -> nn.Module:
    layer = nn.Embedding if kind == "rows" else nn.EmbeddingBag
    return layer(6, 3, key=KEYS[2], max_norm=0.8, **options).requires_grad_()


@pytest.mark.parametrize("kind", ["rows", "bags"])
@pytest.mark.parametrize("options", [{}, {"norm_type": 1.0, "padding_idx": 2}])
@pytest.mark.parametrize("uses", [1, 2])
def test_tables_of_bounded_rows_in_captured_steps(kind: str, options: dict[str, Any], uses: int) -> None:
    def loss(layer: nn.Module) -> ig.Tensor:
        y = layer(INDICES)
        if uses == 2:
            y = y * layer(ig.asarray([[1, 1], [2, 3]]))
        return ig.sum(y * ig.arange(y.size, dtype="float32").reshape(y.shape))

    def taped(layer: nn.Module, optimizer: Any) -> Any:
        optimizer.zero_grad()
        value = loss(layer)
        value.backward()
        optimizer.step()
        return value.detach()

    def step(layer: nn.Module, optimizer: Any) -> Any:
        value, grads = nn.value_and_grad(layer, lambda: loss(layer))()
        optimizer.step(grads)
        return value

    layers = [table(kind, **options) for _ in range(3)]
    optimizers = [ig.optim.SGD(layer, lr=0.01) for layer in layers]
    jitted = ig.jit(lambda: step(layers[2], optimizers[2]))
    for _ in range(3):
        out = [taped(layers[0], optimizers[0]), step(layers[1], optimizers[1]), jitted()]
        equal(out[1:], [out[0]] * 2)
        equal(values(layers[1]), values(layers[0]))
        equal(values(layers[2]), values(layers[0]))
    assert all(layer.weight.is_leaf and layer.weight.requires_grad for layer in layers)


def test_a_jitted_table_shortens_its_rows() -> None:
    plain, other = table("rows"), table("rows")
    jitted = ig.jit(lambda i: other(i))
    y, z = plain(INDICES), jitted(INDICES)
    equal([z.detach()], [y.detach()])
    equal(values(other), values(plain))
    ig.sum(y * y).backward()
    ig.sum(z * z).backward()
    equal([other.weight.grad], [plain.weight.grad])
    given = ig.asarray([[3.0, 4.0], [0.1, 0.2]])
    ig.jit(lambda w: nn.functional.embedding(ig.asarray([0]), w, max_norm=1.0))(given)
    np.testing.assert_allclose(given, [[0.6, 0.8], [0.1, 0.2]], rtol=1e-5)


def test_other_parameters_for_one_call_are_dropped_with_their_rows() -> None:
    layer = table("rows")
    before = values(layer)
    w = ig.ones((6, 3)) * 5
    want = nn.functional_call(layer, {"weight": w}, INDICES)
    grad = ig.grad(lambda w: ig.sum(nn.functional_call(layer, {"weight": w}, INDICES)))(w)
    equal([ig.jit(lambda w: nn.functional_call(layer, {"weight": w}, INDICES))(w)], [want])
    assert grad.tolist() == [[1.0] * 3, [0.0] * 3, [2.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3]
    equal(values(layer), before)
    assert w.tolist() == [[5.0] * 3] * 6


# --- what is refused -------------------------------------------------------------------------------------------------


def in_jit(function: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: ig.jit(function)()


def clipped_infinity() -> None:
    w = graded(1.0, float("inf"))
    clip = ig.jit(lambda: nn.utils.clip_grad_norm_(w, 1.0, error_if_nonfinite=True))
    for _ in range(2):
        w.grad = ig.asarray([1.0, 2.0])
        clip()
    w.grad = ig.asarray([1.0, float("inf")])
    clip()


W = graded(3.0, 4.0)
TABLES = {kind: table(kind) for kind in ("rows", "bags")}
ERRORS: dict[str, Callable[[], Any]] = {
    "not finite": clipped_infinity,
    "of an argument": lambda: ig.jit(lambda w: nn.utils.clip_grad_norm_(w, 1.0))(W),
    "in trace": lambda: ig.trace(lambda: W.grad * 2),
    "in a gradient": in_jit(lambda: ig.grad(lambda x: ig.sum(x * W.grad))(ig.ones(2))),
    "in a loop": in_jit(lambda: ig.fori_loop(0, 3, lambda i, x: x + W.grad, ig.zeros(2))),
    "in vmap": lambda: ig.vmap(lambda x: x * W.grad)(ig.ones((3, 2))),
    "another shape": lambda: ig.jit(lambda g: setattr(W, "grad", g))(ig.ones(3)),
    "no leaf": lambda: ig.jit(lambda: setattr(X, "grad", ig.ones((8, 3))))(),
    "without gradients": in_jit(lambda: ig.optim.SGD([ig.zeros(2)], lr=0.1).step()),
    "table in trace": lambda: ig.trace(lambda: TABLES["rows"](INDICES)),
    "table in vmap": lambda: ig.vmap(TABLES["rows"])(INDICES),
    "table in grad": lambda: ig.grad(lambda w: ig.sum(nn.functional.embedding(INDICES, w, max_norm=1.0)))(X),
    "table in a branch": in_jit(lambda: ig.cond(ig.sum(X) > 0, lambda: TABLES["bags"](INDICES), lambda: X[:2])),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("training_captures_errors.txt"))
    assert W.grad.tolist() == [3.0, 4.0]
