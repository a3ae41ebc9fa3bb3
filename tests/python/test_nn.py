"""Layers, losses and optimisers: what torch gives (recorded), their trees and states, under jit, and their errors."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import _intaglio, nn

TORCH = np.load(Path(__file__).resolve().parents[1] / "data" / "torch_layers.npz")
KEY = ig.random.key(0)
MODULES = [
    "data",
    "nn",
    "nn._attention",
    "nn._containers",
    "nn._functional",
    "nn._layers",
    "nn._losses",
    "nn._module",
    "nn._norms",
    "nn._pooling",
    "nn._recurrent",
    "nn._transformer",
    "nn.init",
    "nn.losses",
    "optim",
    "optim._adaptive",
    "optim._optimizers",
    "optim._plateau",
    "optim.schedules",
    "random",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"intaglio.{name}"))
    assert result.attempted
    assert not result.failed


def close(a: Any, b: np.ndarray, bound: float = 1e-6) -> None:
    assert np.abs(np.asarray(a, np.float64) - b).max() <= bound


def recorded(name: str, part: str = "p") -> dict[str, np.ndarray]:
    return {k.split(f"/{part}/")[1]: TORCH[k] for k in TORCH if k.startswith(f"{name}/{part}/")}


# --- what torch gives -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "layer", "layers", "both_ways"),
    [("lstm", nn.LSTM, 2, True), ("gru", nn.GRU, 1, False), ("rnn", nn.RNN, 1, False)],
)
def test_recurrent_layers_give_what_torch_gives(name: str, layer: Any, layers: int, both_ways: bool) -> None:
    model = layer(3, 5, layers, bidirectional=both_ways, key=KEY)
    state = recorded(name)
    assert set(model.state_dict()) == set(state)
    model.load_state_dict(state)
    x = TORCH[f"{name}/x0"]
    close(model(ig.asarray(x))[0], TORCH[f"{name}/y"])
    close(ig.jit(model)(ig.asarray(x))[0], TORCH[f"{name}/y"])
    model.batch_first = True
    close(model(ig.asarray(x.swapaxes(0, 1)))[0], TORCH[f"{name}/y"].swapaxes(0, 1))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("batch_norm", lambda: nn.BatchNorm2d(3)),
        ("conv", lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2, key=KEY)),
        ("group_norm", lambda: nn.GroupNorm(2, 4)),
    ],
)
def test_layers_give_what_torch_gives(name: str, make: Any) -> None:
    layer = make().load_state_dict(recorded(name))
    close(layer(ig.asarray(TORCH[f"{name}/x0"])), TORCH[f"{name}/y"])
    for path, value in recorded(name, "after").items():
        close(dict(layer.named_buffers())[path], value)


LAYERS: dict[str, Any] = {
    "instance_norm": lambda: nn.InstanceNorm1d(4, affine=True, track_running_stats=True),
    "conv_transpose1": lambda: nn.ConvTranspose1d(4, 6, 3, stride=2, groups=2, key=KEY),
    "conv_transpose2": lambda: nn.ConvTranspose2d(
        3, 2, (3, 2), stride=(2, 3), padding=1, output_padding=(1, 2), dilation=(1, 2), key=KEY
    ),
    "bilinear": lambda: nn.Bilinear(3, 4, 2, key=KEY),
    "prelu": lambda: nn.PReLU(3),
    "adaptive_avg": lambda: nn.AdaptiveAvgPool2d((3, 2)),
    "adaptive_max": lambda: nn.AdaptiveMaxPool1d(4),
    "avg_pool": lambda: nn.AvgPool3d(2, 1, 1, count_include_pad=False),
    "max_pool": lambda: nn.MaxPool3d(2),
    "reflection": lambda: nn.ReflectionPad2d((1, 2, 0, 3)),
    "replication": lambda: nn.ReplicationPad1d((2, 1)),
    "circular": lambda: nn.CircularPad1d((2, 1)),
    "constant": lambda: nn.ConstantPad2d((1, 0, 2, -1), 3.5),
    "shuffle": lambda: nn.PixelShuffle(2),
    "unshuffle": lambda: nn.PixelUnshuffle(2),
    "nearest": lambda: nn.Upsample(size=(7, 4)),
    "bilinear_up": lambda: nn.Upsample(scale_factor=2.5, mode="bilinear"),
    "aligned_up": lambda: nn.Upsample(size=9, mode="linear", align_corners=True),
    "unflatten": lambda: nn.Unflatten(1, (2, -1)),
    "softplus": lambda: nn.Softplus(2.0, 3.0),
    "hardtanh": lambda: nn.Hardtanh(-0.5, 0.75),
    "celu": lambda: nn.CELU(0.7),
    "selu": lambda: nn.SELU(),
    "leaky": lambda: nn.LeakyReLU(0.2, True),
    "softmin": lambda: nn.Softmin(dim=0),
    "softsign": lambda: nn.Softsign(),
    "tanhshrink": lambda: nn.Tanhshrink(),
    "softshrink": lambda: nn.Softshrink(0.3),
    "hardshrink": lambda: nn.Hardshrink(0.3),
    "cosine": lambda: nn.CosineSimilarity(dim=1),
    "distance": lambda: nn.PairwiseDistance(3.0),
}


@pytest.mark.parametrize("name", LAYERS)
def test_more_layers_give_what_torch_gives(name: str) -> None:
    layer = LAYERS[name]()
    state = recorded(name)
    assert set(layer.state_dict()) == set(state)
    layer.load_state_dict(state)
    arrays = [ig.asarray(TORCH[f"{name}/x{i}"]) for i in range(2) if f"{name}/x{i}" in TORCH]
    wanted = TORCH[f"{name}/y"]
    given = layer(*arrays)
    assert given.shape == wanted.shape
    close(given, wanted, 2e-6)
    for path, value in recorded(name, "after").items():
        close(dict(layer.named_buffers())[path], value)
    if not recorded(name, "after"):
        assert np.array_equal(ig.jit(layer)(*arrays), given)


def test_whole_channels_are_dropped() -> None:
    x = np.asarray(nn.Dropout2d(0.5, key=KEY)(ig.ones((8, 16, 3, 2))))
    assert set(np.unique(x)) == {0.0, 2.0}
    assert (x == x[:, :, :1, :1]).all()


# How the recorded attention layers are made and called (tests/data/record_torch_layers.py).
ATTENTION: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({"batch_first": True}, {}),
    "length_first": ({}, {}),
    "self": ({"batch_first": True}, {}),
    "unbatched": ({}, {}),
    "bool_mask": ({"batch_first": True}, {}),
    "float_mask": ({}, {}),
    "mask_of_heads": ({"batch_first": True}, {"need_weights": False}),
    "each_head": ({"batch_first": True}, {"average_attn_weights": False}),
    "causal": ({"batch_first": True}, {"need_weights": False, "is_causal": True}),
    "other_sizes": ({"batch_first": True, "kdim": 5, "vdim": 6}, {}),
    "biases": ({"batch_first": True, "add_bias_kv": True, "add_zero_attn": True}, {}),
    "no_bias": ({"bias": False}, {}),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_gives_what_torch_gives(name: str) -> None:
    made, call = ATTENTION[name]
    layer = nn.MultiheadAttention(8, 2, **made, key=KEY)
    state = recorded(f"attention.{name}")
    assert {n: v.shape for n, v in layer.state_dict().items()} == {n: v.shape for n, v in state.items()}
    layer.load_state_dict(state)
    arrays = [ig.asarray(TORCH[f"attention.{name}/x{i}"]) for i in range(3)]
    if name in ("self", "causal"):
        arrays = [arrays[0]] * 3
    masks = {n: ig.asarray(v) for n, v in recorded(f"attention.{name}", "call").items()}
    y, weights = layer(*arrays, **masks, **call)
    close(y, TORCH[f"attention.{name}/y"])
    # The way without weights gives the same, and so does a compiled call.
    other, none = layer(*arrays, **masks, **{**call, "need_weights": False})
    assert none is None
    close(other, TORCH[f"attention.{name}/y"])
    close(ig.jit(lambda *a: layer(*a, **masks, **call)[0])(*arrays), TORCH[f"attention.{name}/y"])
    if call.get("need_weights", True):
        close(weights, TORCH[f"attention.{name}/weights"])
    else:
        assert weights is None


def test_causal_attention_needs_no_mask_and_closed_rows_give_zeros() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True, key=KEY)
    x = ig.random.normal(KEY, (2, 4, 8))
    behind = ig.triu(ig.ones((4, 4)), k=1) > 0
    for need in (True, False):
        a, _ = layer(x, x, x, is_causal=True, need_weights=need)
        b, _ = layer(x, x, x, attn_mask=behind, need_weights=need)
        close(a, np.asarray(b, np.float64))
        closed, _ = layer(x, x, x, key_padding_mask=ig.ones((2, 4)) > 0, need_weights=need)
        assert np.array_equal(closed, np.zeros((2, 4, 8)))


def test_attention_drops_weights_while_training() -> None:
    layer = nn.MultiheadAttention(8, 2, 0.5, batch_first=True, key=KEY)
    x = ig.random.normal(KEY, (2, 4, 8))
    _, weights = layer(x, x, x, average_attn_weights=False)
    kept = layer.eval()(x, x, x, average_attn_weights=False)[1]
    dropped = np.asarray(weights) == 0
    assert 0.2 < dropped.mean() < 0.8
    close(np.asarray(weights)[~dropped], 2 * np.asarray(kept)[~dropped])
    assert not np.array_equal(layer.train()(x, x, x)[0], layer(x, x, x)[0])


@pytest.mark.parametrize(
    ("name", "options"),
    [("after", {}), ("before", {"norm_first": True, "batch_first": True, "activation": "gelu"})],
)
def test_encoders_give_what_torch_gives(name: str, options: dict[str, Any]) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 12, 0.0, **options, key=KEY)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))
    state = recorded(f"encoder.{name}")
    assert set(encoder.state_dict()) == set(state)
    encoder.load_state_dict(state)
    x, padding = TORCH[f"encoder.{name}/x"], ig.asarray(TORCH[f"encoder.{name}/padding"])
    n = x.shape[1] if options else x.shape[0]
    behind = ig.triu(ig.ones((n, n)), k=1) > 0
    y = encoder(ig.asarray(x), mask=behind, src_key_padding_mask=padding)
    close(y, TORCH[f"encoder.{name}/y"], 3e-6)
    close(encoder(ig.asarray(x), src_key_padding_mask=padding, is_causal=True), TORCH[f"encoder.{name}/y"], 3e-6)


def test_layers_of_an_encoder_are_their_own() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 12, 0.5, key=KEY)
    encoder = nn.TransformerEncoder(layer, 2)
    first, second = encoder.layers[0], encoder.layers[1]
    assert np.array_equal(first.linear1.weight, second.linear1.weight)
    first.linear1.weight[0, 0] = 7.0
    assert float(second.linear1.weight[0, 0]) != 7.0
    x = ig.ones((3, 1, 8))
    assert not np.array_equal(first.dropout1(x), second.dropout1(x))


OPTIMIZERS = {
    "sgd": lambda p: ig.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.01),
    "nesterov": lambda p: ig.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: ig.optim.Adam(p, lr=0.1, weight_decay=0.1),
    "adamw": lambda p: ig.optim.AdamW(p, lr=0.1),
    "rmsprop": lambda p: ig.optim.RMSprop(p, lr=0.1, momentum=0.5),
    "adagrad": lambda p: ig.optim.Adagrad(p, lr=0.1),
    "adamax": lambda p: ig.optim.Adamax(p, lr=0.1, weight_decay=0.1),
    "adadelta": lambda p: ig.optim.Adadelta(p, lr=0.5),
    "nadam": lambda p: ig.optim.NAdam(p, lr=0.1),
    "nadamw": lambda p: ig.optim.NAdam(p, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: ig.optim.RAdam(p, lr=0.1, betas=(0.9, 0.6)),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_give_what_torch_gives(name: str) -> None:
    start, grads, wanted = TORCH["optim/start"], TORCH["optim/grads"], TORCH[f"optim/{name}"]
    by_handle, jitted = ig.asarray(start), ig.asarray(start)
    optimizer, compiled = OPTIMIZERS[name]([by_handle]), OPTIMIZERS[name]([jitted])
    params: Any = {"w": ig.asarray(start)}
    rule = OPTIMIZERS[name](None)
    state = rule.init(params)

    @ig.jit
    def step(g: ig.Tensor) -> None:
        compiled.step([g])

    for g in grads:
        optimizer.step([ig.asarray(g)])
        step(ig.asarray(g))
        params, state = rule.update({"w": ig.asarray(g)}, state, params)
    close(by_handle, wanted)
    close(jitted, wanted)
    close(params["w"], wanted)
    assert int(optimizer.state["step"]) == int(compiled.state["step"]) == int(state["step"]) == len(grads)


def test_losses_give_what_torch_gives() -> None:
    x, t, labels = (ig.asarray(TORCH[f"loss/{name}"]) for name in ("x", "t", "labels"))
    loss, log_p = nn.losses, ig.log_softmax(x)
    given = {
        "cross_entropy": loss.cross_entropy(x, labels, label_smoothing=0.1),
        "huber": loss.huber_loss(x, t, delta=0.5),
        "smooth_l1": loss.smooth_l1_loss(x, t, beta=0.5),
        "l1": loss.l1_loss(x, t),
        "mse": loss.mse_loss(x, t),
        "bce_logits": loss.binary_cross_entropy_with_logits(x, t, pos_weight=2.0),
        "bce": loss.binary_cross_entropy(ig.sigmoid(x), t),
        "kl": loss.kl_div(log_p, t, "sum"),
        "nll": loss.nll_loss(log_p, ig.maximum(labels, 0)),
    }
    signs, other, third, images, places = (
        ig.asarray(TORCH[f"loss/{name}"]) for name in ("signs", "other", "third", "images", "places")
    )
    given |= {
        "cosine_embedding": nn.CosineEmbeddingLoss(margin=0.2)(x, other, signs[:, 0]),
        "margin_ranking": nn.MarginRankingLoss(margin=0.3)(x, other, signs),
        "hinge_embedding": nn.HingeEmbeddingLoss(margin=0.7)(x, signs),
        "soft_margin": nn.SoftMarginLoss()(x, signs),
        "triplet": nn.TripletMarginLoss(margin=0.5)(x, other, third),
        "poisson": nn.PoissonNLLLoss(full=True)(x, 3 * t),
        "gaussian": nn.GaussianNLLLoss(full=True)(x, t, ig.abs(other)),
        "multilabel": nn.MultiLabelSoftMarginLoss()(x, ig.astype(t > 0.25, ig.float32)),
        "kl_batchmean": nn.KLDivLoss(reduction="batchmean")(log_p, t),
        "nll_ignored": nn.NLLLoss()(log_p, labels),
        "of_images": nn.CrossEntropyLoss(label_smoothing=0.1)(images, places),
        "nll_of_images": nn.NLLLoss()(images, places),
    }
    assert {f"loss/{name}" for name in given} | {
        f"loss/{name}" for name in ("x", "t", "labels", "signs", "other", "third", "images", "places")
    } == {name for name in TORCH if name.startswith("loss/")}
    for name, value in given.items():
        close(value, TORCH[f"loss/{name}"])


# --- a module as an object and as a tree ----------------------------------------------------------------------------


class Small(nn.Module):
    def __init__(self, key: ig.Tensor) -> None:
        keys = ig.random.split(key, 4)
        self.layers = [nn.Linear(3, 4, key=keys[0]), nn.Linear(4, 4, key=keys[1])]
        self.norm = nn.BatchNorm1d(4)
        self.heads = {"a": nn.Linear(4, 2, key=keys[2]), "b": nn.Linear(4, 1, key=keys[3])}
        self.scale = nn.Parameter(ig.ones(()))
        self.offset = ig.zeros(())  # a constant: no parameter

    def forward(self, x: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
        for layer in self.layers:
            x = ig.relu(layer(x))
        x = self.norm(x) * self.scale + self.offset
        return self.heads["a"](x), self.heads["b"](x)


def test_names_of_parameters_and_buffers() -> None:
    model = Small(KEY)
    assert [n for n, _ in model.named_parameters()] == [
        "scale",
        "layers.0.weight",
        "layers.0.bias",
        "layers.1.weight",
        "layers.1.bias",
        "norm.weight",
        "norm.bias",
        "heads.a.weight",
        "heads.a.bias",
        "heads.b.weight",
        "heads.b.bias",
    ]
    assert [n for n, _ in model.named_buffers()] == [
        "norm.running_mean",
        "norm.running_var",
        "norm.num_batches_tracked",
    ]
    assert model.num_parameters() == sum(p.size for p in model.parameters()) == 60
    model.heads["a"].freeze()
    assert "heads.a.weight" not in model.trainable_parameters()
    assert "heads.b.weight" in model.trainable_parameters()


def test_a_shared_module_counts_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            self.a = nn.Linear(2, 2, key=KEY)
            self.b = self.a

    assert [n for n, _ in Tied().named_parameters()] == ["a.weight", "a.bias"]


def test_state_dict_is_saved_and_loaded(tmp_path: Path) -> None:
    model, other = Small(KEY), Small(ig.random.key(1))
    x = ig.random.normal(KEY, (5, 3))
    model(x)
    model.save(tmp_path / "model.safetensors")
    other.load(tmp_path / "model.safetensors")
    for (name, a), (_, b) in zip(model.state_dict().items(), other.state_dict().items(), strict=True):
        assert np.array_equal(a, b), name
    before = model.state_dict()
    model.scale += 1
    assert float(before["scale"]) == 1


def test_a_module_is_a_tree_for_jit() -> None:
    model = Small(KEY)
    x = ig.random.normal(KEY, (5, 3))
    step = ig.jit(lambda m, x: m(x))
    eager, jitted = Small(KEY), model
    for i in range(3):
        wanted, given = eager(x), step(jitted, x)
        assert all(np.array_equal(a, b) for a, b in zip(wanted, given, strict=True))
        assert int(jitted.norm.num_batches_tracked) == i + 1
        assert np.array_equal(eager.norm.running_var, jitted.norm.running_var)
    assert all(np.array_equal(a, b) for a, b in zip(eager.eval()(x), step(jitted.eval(), x), strict=True))
    leaves, tree = ig.tree_flatten(model)
    rebuilt = ig.tree_unflatten(tree, leaves)
    assert type(rebuilt) is Small
    assert rebuilt.state_dict().keys() == model.state_dict().keys()


def test_what_layers_read_is_guarded() -> None:
    # A layer's own code lies in the package; what it reads of the model still decides.
    model = nn.Sequential(nn.Linear(3, 3, key=KEY), nn.LayerNorm(3), nn.Dropout(0.5, key=KEY))
    x = ig.random.normal(KEY, (4, 3))
    jitted = ig.jit(lambda x: model(x))
    jitted(x)
    model.eval()
    assert np.array_equal(jitted(x), model(x))
    model[1].eps = 1.0
    assert np.array_equal(jitted(x), model(x))
    model.layers.append(ig.relu)
    assert np.array_equal(jitted(x), model(x))
    model[0].bias = None
    assert np.array_equal(jitted(x), model(x))
    model[0].weight[0, 0] = 7.0
    assert np.array_equal(jitted(x), model(x))


def test_dropout_draws_anew_under_jit_as_eagerly() -> None:
    eager, compiled = nn.Dropout(0.5, key=KEY), nn.Dropout(0.5, key=KEY)
    jitted = ig.jit(compiled)
    x = ig.ones(64)
    drawn = [(np.asarray(eager(x)), np.asarray(jitted(x))) for _ in range(3)]
    for a, b in drawn:
        assert np.array_equal(a, b)
    assert not np.array_equal(drawn[0][0], drawn[1][0])


def test_scopes_carry_the_paths_of_modules() -> None:
    model = Small(KEY)
    text = ig.trace(lambda x: model.eval()(x), ig.ones((2, 3))).graph.str(locations=True)
    assert ("layers.1" in text and "heads.a" in text) or "norm" in text


def test_padding_and_embedding() -> None:
    table = nn.Embedding(4, 3, padding_idx=1, key=KEY)
    assert np.array_equal(table(ig.asarray([1])), np.zeros((1, 3)))
    assert table(ig.asarray([[0, 2]])).shape == (1, 2, 3)


def test_functional_call_leaves_the_module_alone() -> None:
    model = Small(KEY)
    before = {n: np.asarray(v) for n, v in model.state_dict().items()}
    out = nn.functional_call(model, {"scale": ig.zeros(())}, ig.ones((2, 3)))
    assert np.array_equal(out[0], np.broadcast_to(np.asarray(model.heads["a"].bias), (2, 2)))
    for name, value in model.state_dict().items():
        assert np.array_equal(value, before[name])


def test_convolution_padding_same() -> None:
    assert nn.Conv1d(2, 3, 5, padding="same", dilation=2, key=KEY)(ig.ones((1, 2, 9))).shape == (1, 3, 9)


# --- optimisers -----------------------------------------------------------------------------------------------------


def test_another_rate_compiles_nothing_again() -> None:
    w = ig.asarray([1.0])
    optimizer = ig.optim.SGD([w], lr=1.0)
    step = ig.jit(lambda g: optimizer.step([g]))
    step(ig.asarray([0.5]))
    optimizer.lr = 0.1
    step(ig.asarray([1.0]))
    close(w, np.array([0.4]))
    assert "1 traces" in str(step.cache_info())


def test_optimizer_state_is_saved_and_loaded() -> None:
    first, second = ig.asarray([1.0, 2.0]), ig.asarray([1.0, 2.0])
    a, b = ig.optim.Adam({"w": first}, lr=0.1), ig.optim.Adam({"w": second}, lr=0.1)
    a.step({"w": ig.asarray([1.0, -1.0])})
    b.load_state_dict({n: np.asarray(v) for n, v in a.state_dict().items()})
    second[...] = first
    a.step({"w": ig.asarray([0.5, 0.5])})
    b.step({"w": ig.asarray([0.5, 0.5])})
    assert np.array_equal(first, second)
    assert sorted(a.state_dict()) == ["exp_avg.w", "exp_avg_sq.w", "step"]


def test_schedules() -> None:
    optim = ig.optim
    steps = [0, 2, 5, 10, 20]
    expected = {
        optim.constant(0.5): [0.5] * 5,
        optim.linear(0.0, 1.0, 10): [0, 0.2, 0.5, 1, 1],
        optim.cosine(1.0, 10): [1, 0.5 + 0.5 * np.cos(0.2 * np.pi), 0.5, 0, 0],
        optim.exponential(1.0, 0.5, 2): [1, 0.5, 0.5**2.5, 0.5**5, 0.5**10],
        optim.step_decay(1.0, 0.5, 4): [1, 1, 0.5, 0.25, 0.5**5],
        optim.multi_step(1.0, [5, 15]): [1, 1, 0.1, 0.1, 0.01],
        optim.polynomial(1.0, 0.0, 10, 2.0): [1, 0.64, 0.25, 0, 0],
        optim.warmup_cosine(1.0, 5, 15): [0, 0.4, 1, 0.5, 0],
        optim.cosine_restarts(1.0, 10): [1, 0.5 + 0.5 * np.cos(0.2 * np.pi), 0.5, 1, 1],
        optim.inverse_sqrt(1.0, 5): [0, 0.4, 1, np.sqrt(0.5), 0.5],
        optim.one_cycle(1.0, 20, 0.25, 0.1, 0.0): [0.1, 1.1 - (0.1 + 0.45 * (1 + np.cos(0.4 * np.pi))), 1, 0.75, 0],
    }
    for schedule, values in expected.items():
        assert np.allclose([float(schedule(s)) for s in steps], values, atol=1e-6)
        assert np.allclose(np.asarray(ig.jit(schedule)(ig.asarray(5))), values[2], atol=1e-6)


def test_restarts_and_plateaus_follow_torch() -> None:
    schedule = ig.optim.cosine_restarts(1.0, 3, 2, end=0.1)
    close([float(schedule(i)) for i in range(16)], TORCH["restarts/rates"], 1e-5)
    optimizer = ig.optim.SGD([ig.asarray([1.0])], lr=1.0)
    plateau = ig.optim.ReduceOnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, threshold=0.1)
    rates = []
    for i, measure in enumerate(TORCH["plateau/measures"]):
        if i == 5:
            state = plateau.state_dict()
            plateau = ig.optim.ReduceOnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, threshold=0.1)
            plateau.load_state_dict(state)
        plateau.step(measure)
        rates.append(float(optimizer.lr))
    close(rates, TORCH["plateau/rates"])


def test_clipping() -> None:
    tree = {"a": ig.asarray([3.0]), "b": [ig.asarray([[4.0]])]}
    clipped, norm = ig.optim.clip_by_global_norm(tree, 10.0)
    assert [float(norm), float(clipped["a"][0])] == [5, 3]
    clipped, _ = ig.optim.clip_by_global_norm(tree, 2.5)
    assert float(clipped["b"][0][0, 0]) == 2
    assert ig.optim.clip_by_value(tree, 3.5)["b"][0].tolist() == [[3.5]]


# --- first values, and random numbers -------------------------------------------------------------------------------


def test_initialisers() -> None:
    init, shape = nn.init, (40, 30, 3, 3)
    fan_in, fan_out = 30 * 9, 40 * 9
    deviations = {
        "xavier_uniform": np.sqrt(2 / (fan_in + fan_out)),
        "xavier_normal": np.sqrt(2 / (fan_in + fan_out)),
        "kaiming_uniform": np.sqrt(2 / fan_in),
        "kaiming_normal": np.sqrt(2 / fan_in),
        "lecun_normal": np.sqrt(1 / fan_in),
        "normal": 1.0,
        "uniform": np.sqrt(1 / 12),
    }
    for name, deviation in deviations.items():
        assert abs(float(ig.std(getattr(init, name)(KEY, shape))) / deviation - 1) < 0.03, name
    assert float(ig.max(ig.abs(init.trunc_normal(KEY, (1000,))))) <= 2
    for shape in [(3, 5), (5, 3)]:
        q = np.asarray(init.orthogonal(KEY, shape, 2.0), np.float64)
        product = q @ q.T if shape[0] < shape[1] else q.T @ q
        assert np.abs(product - 4 * np.eye(3)).max() < 1e-5
    assert init.constant(None, (2,), 3.0).tolist() == [3, 3]
    assert init.calculate_gain("leaky_relu", 1.0) == 1


def test_random_numbers_are_those_of_jax() -> None:
    # jax 0.10.2, jax.random.key(7)
    r, key = ig.random, ig.random.key(7)
    first, _ = r.split(key)
    near = {"rtol": 2e-6, "atol": 0}
    assert np.allclose(r.uniform(first, (2,)), [0.8673705, 0.55631435], **near)
    assert np.allclose(r.gumbel(key, (2,)), [0.9304105, 3.6608431], **near)
    assert np.allclose(r.laplace(key, (2,)), [-0.42798662, -2.980525], **near)
    assert np.allclose(r.exponential(key, (2,)), [1.1211338, 3.673671], **near)
    assert np.allclose(r.truncated_normal(key, -1, 2, (2,)), [0.55473375, 1.7111288], **near)
    logits = ig.log(ig.asarray([0.1, 0.2, 0.7]))
    assert r.categorical(key, logits, shape=(5,)).tolist() == [1, 2, 2, 2, 2]


def test_distributions() -> None:
    r, n = ig.random, (100_000,)
    moments = {  # mean, standard deviation
        "normal": (0, 1),
        "exponential": (1, 1),
        "gumbel": (0.5772, np.pi / np.sqrt(6)),
        "laplace": (0, np.sqrt(2)),
        "logistic": (0, np.pi / np.sqrt(3)),
        "rademacher": (0, 1),
        "uniform": (0.5, np.sqrt(1 / 12)),
    }
    for name, (mean, deviation) in moments.items():
        x = np.asarray(getattr(r, name)(KEY, n), np.float64)
        assert max(abs(x.mean() - mean), abs(x.std() - deviation)) < 0.02, name
    assert abs(float(np.median(r.cauchy(KEY, n)))) < 0.02
    p = ig.asarray([0.1, 0.2, 0.7])
    for drawn in (r.categorical(KEY, ig.log(p), shape=n), r.choice(KEY, 3, n, p=p)):
        assert np.abs(np.bincount(np.asarray(drawn)) / n[0] - p).max() < 0.01
    assert sorted(r.choice(KEY, 6, (6,), replace=False).tolist()) == list(range(6))
    assert sorted(r.choice(KEY, 6, (4,), replace=False, p=ig.ones(6) / 6).tolist()) != [0, 0, 0, 0]
    assert sorted(r.permutation(KEY, ig.arange(5) * 2).tolist()) == [0, 2, 4, 6, 8]
    assert abs(float(ig.mean(ig.astype(r.bernoulli(KEY, ig.full(n, 0.3)), ig.float32))) - 0.3) < 0.01
    low = r.uniform(KEY, (1000,), minval=ig.asarray(2.0), maxval=ig.asarray(3.0))
    assert float(ig.min(low)) >= 2
    assert float(ig.max(low)) < 3
    assert r.randint(KEY, (5,), 0, 3, dtype="int32").dtype == ig.int32
    assert r.bits(KEY, (2,)).dtype == ig.uint32


# --- batches --------------------------------------------------------------------------------------------------------


def test_data_loader() -> None:
    x = np.arange(20, dtype=np.float32).reshape(10, 2)
    loader = ig.data.DataLoader({"x": x, "y": np.arange(10)}, batch_size=4, shuffle=True, key=KEY)
    assert len(loader) == 3
    rounds = [list(loader), list(loader)]
    for batches in rounds:
        order = np.concatenate([np.asarray(b["y"]) for b in batches])
        assert sorted(order) == list(range(10))
        assert np.array_equal(np.concatenate([np.asarray(b["x"]) for b in batches]), x[order])
    assert [b["y"].tolist() for b in rounds[0]] != [b["y"].tolist() for b in rounds[1]]
    again = ig.data.DataLoader({"x": x, "y": np.arange(10)}, batch_size=4, shuffle=True, key=KEY)
    assert [b["y"].tolist() for b in again] == [b["y"].tolist() for b in rounds[0]]
    assert [len(b) for b in ig.data.DataLoader(x, 4, drop_last=True)] == [4, 4]
    assert list(ig.data.DataLoader(np.zeros((0, 3)), 4)) == []


def test_progress_line() -> None:
    import io

    out = io.StringIO()
    progress = ig.data.Progress(range(3), "train", file=out, every=0.0)
    for i in progress:
        progress.show(loss=ig.asarray(0.5 / (i + 1)), rate=0.1)
    lines = out.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith("train: 3/3, ")
    assert lines[-1].endswith("loss 0.1667, rate 0.1")
    assert progress.line(0.0).startswith("train: 3/3, 0.0 s, 0.0/s")
    progress.done = 1
    assert "4.0 s each" in progress.line(4.0)


# --- errors, whole --------------------------------------------------------------------------------------------------


def no_rule() -> None:
    ig.optim.Optimizer([ig.ones(1)]).step([ig.ones(1)])


def no_forward() -> None:
    nn.Module()(1)


ERRORS = {
    "Linear: there is no key": lambda: nn.Linear(2, 3),
    "Conv2d groups": lambda: nn.Conv2d(3, 4, 3, groups=2, key=KEY),
    "Conv2d axes": lambda: nn.Conv2d(3, 4, (3, 3, 3), key=KEY),
    "Conv2d same": lambda: nn.Conv2d(3, 4, 2, padding="same", key=KEY),
    "BatchNorm2d rank": lambda: nn.BatchNorm2d(3)(ig.ones((2, 3))),
    "Dropout p": lambda: nn.Dropout(1.5),
    "Dropout key": lambda: nn.Dropout(0.5)(ig.ones(3)),
    "heads": lambda: nn.MultiheadAttention(7, 2, key=KEY),
    "attention ranks": lambda: nn.MultiheadAttention(4, 2, key=KEY)(
        ig.ones((3, 1, 4)), ig.ones((3, 4)), ig.ones((3, 4))
    ),
    "mask shape": lambda: nn.MultiheadAttention(4, 2, key=KEY)(
        *[ig.ones((3, 1, 4))] * 3, attn_mask=ig.ones((2, 2)) > 0
    ),
    "mask dtype": lambda: nn.MultiheadAttention(4, 2, key=KEY)(
        *[ig.ones((3, 1, 4))] * 3, key_padding_mask=ig.ones((1, 3), dtype="int32")
    ),
    "encoder activation": lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh", key=KEY),
    "padding": lambda: nn.ZeroPad2d((1, 2)),
    "upsample": lambda: nn.Upsample(3, 2.0),
    "upsample mode": lambda: nn.Upsample(3, mode="cubic"),
    "adaptive rank": lambda: nn.AdaptiveAvgPool2d(2)(ig.ones((2, 3))),
    "activation options": lambda: nn.ELU(1.0, True, 3),
    "plateau mode": lambda: ig.optim.ReduceOnPlateau(ig.optim.SGD([ig.ones(1)]), "least"),
    "plateau factor": lambda: ig.optim.ReduceOnPlateau(ig.optim.SGD([ig.ones(1)]), factor=2.0),
    "plateau schedule": lambda: ig.optim.ReduceOnPlateau(ig.optim.SGD([ig.ones(1)], lr=ig.optim.constant(1.0))),
    "LSTM rank": lambda: nn.LSTM(2, 3, key=KEY)(ig.ones((2, 2))),
    "forward": no_forward,
    "state names": lambda: nn.Linear(2, 3, key=KEY).load_state_dict({"weight": ig.ones((3, 2)), "other": ig.ones(1)}),
    "state shape": lambda: nn.Linear(2, 3, key=KEY).load_state_dict({"weight": ig.ones((2, 3)), "bias": ig.ones(3)}),
    "functional_call": lambda: nn.functional_call(nn.Linear(2, 3, key=KEY), {"wait": ig.ones(1)}, ig.ones(2)),
    "file": lambda: nn.load_arrays("/nonexistent/file.safetensors"),
    "save": lambda: nn.save_arrays("/nonexistent/file.safetensors", {}),
    "bind dtype": lambda: _intaglio._bind(ig.ones(2), ig.ones(2, dtype="float64")),
    "bind shape": lambda: _intaglio._bind(ig.ones(2), ig.ones(3)),
    "bind number": lambda: _intaglio._bind(ig.ones(2), 3),
    "loss shapes": lambda: nn.losses.mse_loss(ig.ones((3, 1)), ig.ones(3)),
    "loss reduction": lambda: nn.losses.mse_loss(ig.ones(3), ig.ones(3), "average"),
    "fan": lambda: nn.init.kaiming_normal(KEY, (3,)),
    "gain": lambda: nn.init.calculate_gain("sine"),
    "rate": lambda: ig.optim.SGD([ig.ones(1)], lr=-1.0),
    "no parameters": lambda: ig.optim.SGD(None).step([]),
    "of what": lambda: ig.optim.SGD(3.0),
    "gradient names": lambda: ig.optim.SGD({"w": ig.ones(1)}).step({"v": ig.ones(1)}),
    "gradient count": lambda: ig.optim.SGD([ig.ones(1)]).step([ig.ones(1), ig.ones(1)]),
    "gradient shape": lambda: ig.optim.SGD([ig.ones(1)]).step([ig.ones(2)]),
    "gradient tree": lambda: ig.optim.SGD().update([ig.ones(1)], {"step": ig.asarray(0)}, {"w": ig.ones(1)}),
    "optimizer state": lambda: ig.optim.Adam([ig.ones(1)]).load_state_dict({"step": ig.asarray(0)}),
    "rule": no_rule,
    "accumulate": lambda: [opt.step({n: ig.ones(1)}) for opt in [ig.optim.Accumulate(ig.optim.SGD(), 3)] for n in "ab"],
    "loader sizes": lambda: ig.data.DataLoader((np.zeros(3), np.zeros(4))),
    "loader batch": lambda: ig.data.DataLoader(np.zeros(3), 0),
    "loader key": lambda: ig.data.DataLoader(np.zeros(3), 2, shuffle=True),
    "truncated": lambda: ig.random.truncated_normal(KEY, 2.0, 1.0),
    "categorical": lambda: ig.random.categorical(KEY, ig.ones((2, 3)), shape=(3,)),
    "choice": lambda: ig.random.choice(KEY, 3, (4,), replace=False),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("nn_errors.txt"))
