"""What modules do beside computing: hooks, other dtypes; and steps with scaled losses, as torch takes them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig
from intaglio import nn

TORCH = np.load(Path(__file__).resolve().parents[1] / "data" / "torch_more.npz")
KEY = ig.random.key(0)


def close(given: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(given), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "make"),
    [("sgd", lambda w: ig.optim.SGD([w], 0.1, 0.9)), ("adam", lambda w: ig.optim.Adam([w], 0.1))],
)
@pytest.mark.parametrize("way", ["tape", "unscaled before", "jit"])
def test_scaled_steps_are_torch_s(name: str, make: Any, way: str) -> None:
    w = ig.asarray([1.0, -2.0, 0.5])
    optimizer, scaler = make(w), ig.optim.GradScaler(init_scale=64.0, growth_interval=3)

    def loss(w: ig.Tensor, share: ig.Tensor) -> ig.Tensor:
        return scaler.scale(ig.sum(w * w * share))

    @ig.jit
    def jitted(share: ig.Tensor) -> None:
        scaler.step(optimizer, [ig.grad(loss)(w, share)])
        scaler.update()

    if way != "jit":
        w.requires_grad_()
    for step in range(12):
        share = ig.asarray([1.0, 0.5, ig.inf if step in (1, 2, 7) else 0.25])
        if way == "jit":
            jitted(share)
        else:
            optimizer.zero_grad()
            loss(w, share).backward()
            if way == "unscaled before":
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        close(w.detach(), TORCH[f"scaler/{name}"][step])
        assert scaler.get_scale() == TORCH[f"scaler/{name}_scales"][step]
    if way == "jit":
        assert "1 trace" in str(jitted.cache_info())
    scaler.update()  # without a step nothing changes
    again = ig.optim.GradScaler()
    again.load_state_dict(scaler.state_dict())
    assert again.get_scale() == scaler.get_scale()
    plain = ig.optim.GradScaler(enabled=False)
    assert plain.scale(w) is w
    assert (plain.get_scale(), plain.is_enabled()) == (1.0, False)


def test_scaled_training_in_float16() -> None:
    """Gradients of 1e-6 are below what float16 can tell from 0; scaled they are not."""
    x, y = ig.random.normal(KEY, (16, 4)), ig.random.normal(KEY, (16, 2))
    model = nn.Linear(4, 2, key=KEY)
    scaler = ig.optim.GradScaler(init_scale=2.0**16)

    def loss(scale: Any) -> Any:
        def inner() -> ig.Tensor:
            with ig.autocast("float16"):
                return scale(nn.losses.mse_loss(model(x), y) * 1e-7)

        return nn.value_and_grad(model, inner)()[1]["weight"]

    exact = ig.grad(lambda w: nn.losses.mse_loss(x @ w.mT + model.bias, y) * 1e-7)(model.weight)
    scaled = np.asarray(loss(scaler.scale)) / 2.0**16
    lost = np.asarray(loss(lambda x: x))
    assert np.abs(scaled - exact).max() < 0.02 * np.abs(exact).max()
    assert np.abs(lost - exact).max() > 0.05 * np.abs(exact).max()


def test_hooks_of_modules() -> None:
    model, x = nn.Sequential(nn.Linear(2, 3, key=KEY), nn.ReLU()), ig.ones((1, 2))
    closed, given = ig.jit(lambda x: model(x)), ig.jit(lambda model, x: model(x))
    calls: list[Any] = [lambda: model(x), lambda: closed(x), lambda: given(model, x)]
    plain = [call().tolist() for call in calls]
    after = model[0].register_forward_hook(lambda module, args, output: output * 0 + 5)
    assert [call().tolist() for call in calls] == [[[5.0] * 3]] * 3
    assert copy.deepcopy(model)(x).tolist() == [[5.0] * 3]
    after.remove()
    after.remove()
    assert [call().tolist() for call in calls] == plain
    with model.register_forward_pre_hook(lambda module, args: args[0] * 2):
        doubled = nn.ReLU()(model[0](x * 2))
        assert [call().tolist() for call in calls] == [doubled.tolist()] * 3
    seen: list[Any] = []
    model.register_forward_hook(lambda module, args, output: seen.append((type(module).__name__, output.shape)))
    assert model(x).tolist() == plain[0]
    assert seen == [("Sequential", (1, 3))]


def test_modules_of_another_type() -> None:
    shared = nn.Linear(2, 2, key=KEY)
    model = nn.Sequential(shared, nn.BatchNorm1d(2), nn.Linear(2, 2, key=KEY))
    model[2].weight = shared.weight
    jitted = ig.jit(lambda x: model(x))
    wide = ig.ones((3, 2), dtype="float64")
    assert jitted(ig.ones((3, 2))).dtype == ig.float32
    assert model.double() is model
    assert jitted(wide).dtype == model(wide).dtype == ig.float64
    assert model[2].weight is model[0].weight
    assert {b.dtype.name for b in model.buffers()} == {"float64", "int64"}
    assert model.half().bfloat16().to("cpu").float()[0].weight.dtype == ig.float32
    model.requires_grad_()
    ig.sum(model.double()(wide)).backward()
    assert model[0].weight.grad.dtype == ig.float64
