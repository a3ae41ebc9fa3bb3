"""The training examples, short: what the slow tests run to the end."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig
from intaglio import nn

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "training"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module
    for name in ("alignment", "digits", "characters", "characters_text", "fitting", "pendulum", "picture"):
        sys.modules.pop(name, None)


def test_digits(example: Any, tmp_path: Path) -> None:
    result = example("digits").train("mlp", epochs=6)
    assert np.mean(result["losses"][-10:]) < 0.35
    assert result["accuracy"] > 0.9
    example("picture").draw(tmp_path / "loss.svg", "digits", {"loss": result["losses"]})
    assert (tmp_path / "loss.svg").read_text().count("polyline") == 1


def test_alignment(example: Any) -> None:
    result = example("alignment").train(60, autocast=True)
    assert np.mean(result["losses"][-5:]) < 0.5 * result["losses"][0]
    assert result["traces"] == 1


def test_characters_start_as_in_torch(example: Any) -> None:
    result, model, letters = example("characters").train(3)
    reference = json.loads((EXAMPLES / "characters_torch.json").read_text())["losses"]
    # The schedule of so few steps is another one; the first step's rate is 0 in both.
    assert abs(result["losses"][0] - reference[0]) < 1e-4
    assert abs(result["losses"][1] - reference[1]) < 1e-4
    assert len(model.write("The ", 3, letters, ig.random.key(1))) == 7


def test_fitting_finds_the_certified_parameters(example: Any) -> None:
    fitting = example("fitting")
    for start in fitting.STARTS:
        b, sums = fitting.fit(start)
        assert np.max(np.abs(np.asarray(b) / fitting.CERTIFIED - 1)) < 1e-9
        assert abs(sums[-1] / 1.2455138894e-01 - 1) < 1e-9  # NIST's residual sum of squares


def test_an_equation_is_learnt_through_an_adaptive_loop(example: Any) -> None:
    result = example("pendulum").train(40)
    assert result["losses"][-1] < result["losses"][0] / 5
    assert max(result["counts"]) > 2
    assert len(result["errors"]) == 20


def test_a_jitted_step_learns_as_an_eager_one() -> None:
    def make() -> tuple[nn.Module, ig.optim.Optimizer]:
        keys = ig.random.split(ig.random.key(3), 4)
        model = nn.Sequential(
            nn.Linear(3, 8, key=keys[0]),
            nn.BatchNorm1d(8),
            nn.ReLU(),
            nn.Dropout(0.5, key=keys[1]),
            nn.Linear(8, 1, key=keys[2]),
        )
        return model, ig.optim.Adam(model, lr=1e-2)

    x = ig.random.normal(ig.random.key(0), (16, 3))
    y = ig.sum(x, axis=1, keepdims=True)
    losses: list[list[float]] = []
    models = []
    for jitted in (False, True):
        model, optimizer = make()

        def step(x: ig.Tensor, y: ig.Tensor, model: Any = model, optimizer: Any = optimizer) -> ig.Tensor:
            loss, grads = nn.value_and_grad(model, lambda a, b: nn.losses.mse_loss(model(a), b))(x, y)
            optimizer.step(grads)
            return loss

        run = ig.jit(step) if jitted else step
        losses.append([float(run(x, y)) for _ in range(5)])
        models.append(model)
        if jitted:
            assert "1 traces" in str(run.cache_info())
    assert np.allclose(losses[0], losses[1], rtol=1e-5)
    for (name, a), (_, b) in zip(models[0].state_dict().items(), models[1].state_dict().items(), strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-6), name
    assert int(models[1][1].num_batches_tracked) == 5


def test_frozen_parameters_stay() -> None:
    keys = ig.random.split(ig.random.key(0), 2)
    model = nn.Sequential(nn.Linear(2, 3, key=keys[0]).freeze(), nn.Linear(3, 1, key=keys[1]))
    value, grads = nn.value_and_grad(model, lambda x: ig.sum(model(x)))(ig.ones((4, 2)))
    assert sorted(grads) == ["1.bias", "1.weight"]
    assert value.shape == ()


def test_auxiliary_results() -> None:
    model = nn.Linear(2, 1, key=ig.random.key(0))
    (value, guess), grads = nn.value_and_grad(model, lambda x: (ig.sum(model(x)), model(x)), has_aux=True)(
        ig.ones((4, 2))
    )
    assert guess.shape == (4, 1)
    assert float(value) == float(ig.sum(guess))
    assert grads["bias"].tolist() == [4.0]
    assert nn.grad(model, lambda x: ig.sum(model(x)))(ig.ones((4, 2)))["bias"].tolist() == [4.0]
