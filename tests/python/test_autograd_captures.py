"""What captured functions know of the tape: aliases, leaves, buffers, donated arrays."""

from __future__ import annotations

from typing import Any

import intaglio as ig
from intaglio import nn


def leaf(values: Any, dtype: str = "float32") -> ig.Tensor:
    return ig.asarray(values, dtype=dtype, requires_grad=True)


def test_a_handle_and_its_detached_value_are_two_inputs() -> None:
    w = leaf([2.0, 3.0])
    aside = w.detach()
    for f in (
        ig.jit(lambda x: ig.sum(x * w * aside)),
        ig.jit(lambda x: ig.sum(x * w * w.detach())),
        lambda x: ig.jit(lambda x, a, b: ig.sum(x * a * b))(x, w, aside),
        ig.trace(lambda x: ig.sum(x * w * aside), ig.ones(2)),
        lambda x: ig.sum(ig.vmap(lambda v, a, b: v * a * b)(x, w, aside)),
    ):
        for _ in range(2):
            w.grad = None
            f(ig.ones(2)).backward()
            assert w.grad.tolist() == [2, 3]


def test_an_alias_that_begins_to_require_grad_is_traced_anew() -> None:
    w = ig.asarray([2.0, 3.0])
    aside = w.detach()
    f = ig.jit(lambda x: ig.sum(x * w * aside))
    assert not f(ig.ones(2)).requires_grad
    w.requires_grad_()
    f(ig.ones(2)).backward()
    assert w.grad.tolist() == [2, 3]


def test_buffers_that_a_jitted_model_updates_stay_off_the_tape() -> None:
    model = nn.Sequential(nn.Linear(3, 4, key=ig.random.key(0)), nn.BatchNorm1d(4)).requires_grad_()
    f = ig.jit(lambda x: ig.sum(model(x) ** 2))
    x = ig.random.normal(ig.random.key(1), (5, 3))
    before = [b.tolist() for b in model.buffers()]
    for _ in range(2):
        loss = f(x)
    loss.backward()
    assert [b.tolist() for b in model.buffers()] != before
    assert not any(b.requires_grad for b in model.buffers())
    assert all(p.grad is not None for p in model.parameters())


def test_a_jitted_step_moves_parameters_that_require_grad() -> None:
    x = ig.random.normal(ig.random.key(1), (5, 3))
    losses = []
    for wanted in (True, False):
        model = nn.Linear(3, 1, key=ig.random.key(0)).requires_grad_(wanted)
        optimizer = ig.optim.Adam(model, lr=0.1)

        @ig.jit
        def step(x: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            loss, grads = nn.value_and_grad(model, lambda: ig.sum(model(x) ** 2))()
            optimizer.step(grads)
            return loss

        losses.append([float(step(x)) for _ in range(3)])
        assert [p.requires_grad for p in model.parameters()] == [wanted] * 2
        assert all(p.is_leaf for p in model.parameters())
    assert losses[0] == losses[1]
    assert losses[0][2] < losses[0][0]


def test_vmap_and_grad_of_functions_that_read_a_leaf() -> None:
    x = leaf(2.0)
    ig.sum(ig.vmap(lambda v: v * x)(ig.asarray([0.0, 1.0, 2.0]))).backward()
    assert float(x.grad) == 3
    x.grad = None
    ig.grad(lambda v: v * v * x)(3.0).backward()
    assert float(x.grad) == 6
    x.grad = None
    ig.sum(ig.vmap(ig.grad(lambda v: v * v * x))(ig.asarray([1.0, 2.0]))).backward()
    assert float(x.grad) == 6


def test_a_donated_array_is_kept_for_the_backward_pass() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    z = ig.sum(y * y)
    ig.jit(lambda v: v * 2, donate_argnums=0)(y)
    z.backward()
    assert x.grad.tolist() == [18, 36]
