"""Automatic casting: which functions compute in which type, eagerly and captured, what jitted functions keep apart, and
training with it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import nn

KEY = ig.random.key(0)
X, W = ig.random.normal(KEY, (4, 6)), ig.random.normal(ig.random.key(1), (6, 6))
IMAGE, KERNEL = ig.random.normal(KEY, (1, 2, 5, 5)), ig.random.normal(KEY, (3, 2, 3, 3))
SHORT = ig.astype(X, "bfloat16")

# The call, and the dtype of its result within ig.autocast("bfloat16").
CALLS: dict[str, tuple[Any, str]] = {
    "matmul": (lambda: X @ W, "bfloat16"),
    "linear": (lambda: ig.linear(X, W, W[0]), "bfloat16"),
    "einsum": (lambda: ig.einsum("ij,jk->ik", X, W), "bfloat16"),
    "tensordot": (lambda: ig.tensordot(X, W, axes=1), "bfloat16"),
    "conv": (lambda: ig.conv(IMAGE, KERNEL), "bfloat16"),
    "attention": (lambda: ig.scaled_dot_product_attention(X[None, None], X[None, None], X[None, None]), "bfloat16"),
    "mixed product": (lambda: SHORT @ W, "bfloat16"),
    "sum": (lambda: ig.sum(SHORT), "float32"),
    "softmax": (lambda: ig.softmax(SHORT), "float32"),
    "layer_norm": (lambda: ig.layer_norm(SHORT, W[0], W[0]), "float32"),
    "loss": (lambda: nn.losses.mse_loss(SHORT, X), "float32"),
    "cross_entropy": (lambda: nn.losses.cross_entropy(SHORT, ig.zeros(4, dtype="int64")), "float32"),
    "cumulative_sum": (lambda: ig.sum(ig.mean(SHORT, axis=0)), "float32"),
    "max": (lambda: ig.max(SHORT), "bfloat16"),
    "relu": (lambda: ig.relu(SHORT), "bfloat16"),
    "gelu": (lambda: ig.gelu(X), "float32"),
    "add": (lambda: SHORT + X, "float32"),
    "batch_norm": (lambda: nn.BatchNorm1d(6).eval()(SHORT), "float32"),
    "double": (lambda: ig.astype(X, "float64") @ ig.astype(W, "float64"), "float64"),
    "double beside": (lambda: ig.linear(ig.astype(X, "float64"), ig.astype(W, "float64")), "float64"),
    "integers": (lambda: ig.ones((2, 2), dtype="int64") @ ig.ones((2, 2), dtype="int64"), "int64"),
    "complex": (lambda: (X + 1j) @ (W + 0j), "complex64"),
    "factor": (lambda: ig.linalg.det(W), "float32"),
}


def numbers(x: ig.Tensor) -> Any:
    return np.asarray(ig.astype(x, "complex128"))


@pytest.mark.parametrize("name", CALLS)
def test_what_computes_in_which_type(name: str) -> None:
    call, dtype = CALLS[name]
    with ig.autocast():
        eager = call()
    assert eager.dtype == dtype
    given = [X, W, IMAGE, KERNEL, SHORT]

    def traced() -> Any:
        with ig.autocast("bfloat16"):
            return call()

    # The arrays from outside are inputs of the graph.
    jitted = ig.jit(traced)()
    assert jitted.dtype == dtype
    np.testing.assert_allclose(numbers(jitted), numbers(eager), rtol=1e-2, atol=1e-2)
    with ig.autocast(enabled=False):
        plain = call()
    np.testing.assert_allclose(numbers(eager), numbers(plain), rtol=0.05, atol=0.05)
    assert [x.dtype.name for x in given] == ["float32"] * 4 + ["bfloat16"]


def test_it_is_the_cast_written_out() -> None:
    with ig.autocast("float16"):
        y = X @ W
    wanted = ig.astype(X, "float16") @ ig.astype(W, "float16")
    assert y.dtype == ig.float16
    assert np.array_equal(y, wanted)
    text = ig.trace(ig.autocast("float16")(lambda x: x @ W), X).graph.str()
    assert "convert" in text
    assert "f16[4, 6]" in text


def test_nested_disabled_and_left() -> None:
    assert not ig.is_autocast_enabled()
    assert ig.get_autocast_dtype() is None
    with ig.autocast():
        assert ig.get_autocast_dtype() == ig.bfloat16
        with ig.autocast("float16"):
            assert (X @ W).dtype == ig.float16
            with ig.autocast(enabled=False):
                assert (X @ W).dtype == ig.float32
        assert (X @ W).dtype == ig.bfloat16
        seen: list[bool] = []
        thread = threading.Thread(target=lambda: seen.append(ig.is_autocast_enabled()))
        thread.start()
        thread.join()
        assert seen == [False]  # it is the thread's own
    with pytest.raises(KeyError), ig.autocast():
        raise KeyError
    assert not ig.is_autocast_enabled()


def test_a_jitted_function_has_a_trace_for_each() -> None:
    f = ig.jit(lambda x, w: x @ w)
    for _ in range(2):
        assert f(X, W).dtype == ig.float32
        with ig.autocast():
            assert f(X, W).dtype == ig.bfloat16
        with ig.autocast("float16"):
            assert f(X, W).dtype == ig.float16
    info = str(f.cache_info())
    assert "3 traces" in info
    assert "automatic casting was off, is to bfloat16" in info


def test_derivatives_keep_the_types_of_what_they_are_of() -> None:
    def loss(w: ig.Tensor) -> ig.Tensor:
        with ig.autocast():
            return ig.sum(ig.tanh(X @ w) ** 2)

    wanted = ig.grad(lambda w: ig.sum(ig.tanh(X @ w) ** 2))(W)
    for gradient in (ig.grad(loss)(W), ig.jit(ig.grad(loss))(W)):
        assert gradient.dtype == ig.float32
        np.testing.assert_allclose(np.asarray(gradient), np.asarray(wanted), rtol=0.1, atol=0.1)
    leaf = ig.copy(W).requires_grad_()
    loss(leaf).backward()
    assert leaf.grad.dtype == ig.float32
    np.testing.assert_allclose(np.asarray(leaf.grad), np.asarray(wanted), rtol=0.1, atol=0.1)
    batched = ig.vmap(lambda x: ig.autocast()(lambda: x @ W)())(X)
    assert batched.dtype == ig.bfloat16


@pytest.mark.parametrize(
    "model",
    [
        lambda: nn.Sequential(nn.Linear(6, 8, key=KEY), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 6, key=KEY)),
        lambda: nn.TransformerEncoderLayer(6, 2, 12, 0.0, key=KEY),
    ],
)
def test_models_are_trained(model: Any) -> None:
    made = model()
    optimizer = ig.optim.Adam(made, lr=1e-2)

    @ig.jit
    def step() -> ig.Tensor:
        def loss() -> ig.Tensor:
            with ig.autocast():
                return nn.losses.mse_loss(made(X), X)

        value, grads = nn.value_and_grad(made, loss)()
        optimizer.step(grads)
        return value

    losses = [float(step()) for _ in range(60)]
    assert losses[-1] < 0.7 * losses[0]
    assert {p.dtype.name for p in made.parameters()} == {"float32"}


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_states_of_recurrent_layers_keep_their_type(layer: Any) -> None:
    model, x = layer(6, 5, key=KEY), X[:, None]
    wanted, _ = model(x)
    with ig.autocast():
        out, states = model(x)
        jitted, _ = ig.jit(model)(x)
    assert out.dtype == jitted.dtype == ig.float32
    assert {s.dtype.name for s in ig.tree.leaves(states)} == {"float32"}
    np.testing.assert_allclose(np.asarray(out), np.asarray(wanted), atol=0.05)
    np.testing.assert_allclose(np.asarray(out), np.asarray(jitted), atol=0.02)


def test_control_flow() -> None:
    with ig.autocast():
        y = ig.jit(lambda x: ig.cond(x[0, 0] > 9, lambda x: x @ W, lambda x: (x @ W) * 2, x))(X)
    assert y.dtype == ig.bfloat16


ERRORS: dict[str, Any] = {"dtype": lambda: ig.autocast("float64")}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("autocast_errors.txt"))
