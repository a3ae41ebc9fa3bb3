"""Decoders, bags, blocks, CTC, groups of parameters, L-BFGS and schedulers: what torch gives (recorded), under jit and
vmap, their gradients, states and errors."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import nn
from intaglio.optim import lr_scheduler

TORCH = np.load(Path(__file__).resolve().parents[1] / "data" / "torch_more.npz")
KEY = ig.random.key(0)


@pytest.mark.parametrize(
    "name",
    [
        "_autocast",
        "nn._bags",
        "nn._containers",
        "nn._ctc",
        "nn._unpooling",
        "optim._lbfgs",
        "optim._matrices",
        "optim._optimizers",
        "optim.lr_scheduler",
    ],
)
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"intaglio.{name}"))
    assert result.attempted
    assert not result.failed


def close(a: Any, b: np.ndarray, bound: float = 1e-6) -> None:
    assert np.shape(a) == b.shape
    np.testing.assert_allclose(np.asarray(a, np.float64), b, rtol=0, atol=bound)


def recorded(name: str, part: str) -> dict[str, np.ndarray]:
    return {k.split(f"/{part}/")[1]: TORCH[k] for k in TORCH if k.startswith(f"{name}/{part}/")}


# --- layers ----------------------------------------------------------------------------------------------------------

LAYERS: dict[str, Any] = {
    "unfold": lambda: nn.Unfold((2, 3), dilation=(1, 2), padding=(1, 0), stride=(2, 1)),
    "unfold_alone": lambda: nn.Unfold(2),
    "fold": lambda: nn.Fold((5, 7), (2, 3), dilation=(1, 2), padding=(1, 0), stride=(2, 1)),
    "fold_alone": lambda: nn.Fold(4, 2, stride=2),
    "lrn": lambda: nn.LocalResponseNorm(3, 0.5, 0.6, 2.0),
    "lrn_even": lambda: nn.LocalResponseNorm(4),
    "lp1": lambda: nn.LPPool1d(3, 2),
    "lp2": lambda: nn.LPPool2d(2, (2, 3), stride=1),
    "lp3": lambda: nn.LPPool3d(1.0, 2),
    "channel_shuffle": lambda: nn.ChannelShuffle(3),
    "nearest2d": lambda: nn.UpsamplingNearest2d(scale_factor=2),
    "bilinear2d": lambda: nn.UpsamplingBilinear2d(size=(5, 7)),
    "threshold": lambda: nn.Threshold(0.2, -3.0),
    "softmax2d": lambda: nn.Softmax2d(),
    "rrelu": lambda: nn.RReLU(0.1, 0.4).eval(),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_give_what_torch_gives(name: str) -> None:
    layer, x = LAYERS[name](), ig.asarray(TORCH[f"{name}/x0"])
    y = layer(x)
    close(y, TORCH[f"{name}/y"], 3e-6)
    assert np.array_equal(ig.jit(layer)(x), y)


def test_fold_is_the_transpose_of_unfold() -> None:
    unfold, fold = LAYERS["unfold"](), LAYERS["fold"]()
    x, y = ig.asarray(TORCH["unfold/x0"]), ig.asarray(TORCH["fold/x0"])
    _, back = ig.vjp(unfold, x)
    close(fold(y), np.asarray(back(y)[0], np.float64), 2e-6)
    _, back = ig.vjp(fold, y)
    close(back(x)[0], np.asarray(unfold(x), np.float64), 2e-6)


@pytest.mark.parametrize(
    ("name", "pool", "unpool"),
    [
        ("1", lambda: nn.MaxPool1d(3, 2, 1, return_indices=True), lambda: nn.MaxUnpool1d(3, 2, 1)),
        ("2", lambda: nn.MaxPool2d((2, 3), (2, 3), return_indices=True), lambda: nn.MaxUnpool2d((2, 3), (2, 3))),
        ("3", lambda: nn.MaxPool3d(2, return_indices=True), lambda: nn.MaxUnpool3d(2)),
    ],
)
def test_pooling_there_and_back(name: str, pool: Any, unpool: Any) -> None:
    x = ig.asarray(TORCH[f"pools/x{name}"])
    for way in (lambda f: f, ig.jit):
        y, indices = way(pool())(x)
        close(y, TORCH[f"pools/y{name}"])
        assert np.array_equal(indices, TORCH[f"pools/i{name}"])
        close(way(unpool())(y, indices), TORCH[f"pools/back{name}"])
    plain = pool()
    plain.return_indices = False
    assert np.array_equal(plain(x), y)
    both = ig.grad(lambda x: ig.sum(unpool()(*pool()(x)) ** 2))(x)
    # Windows may share their greatest element, which then stands there once.
    inside = np.asarray(both) != 0
    places = TORCH[f"pools/i{name}"].reshape((x.shape[0] * x.shape[1], -1))
    assert inside.sum() == sum(np.unique(row).size for row in places)
    np.testing.assert_allclose(np.asarray(both)[inside], 2 * TORCH[f"pools/x{name}"][inside], rtol=1e-6)
    if name == "2":
        given = nn.MaxPool2d(2, return_indices=True)(ig.asarray(TORCH["pools/xs"]))
        close(nn.MaxUnpool2d(2)(*given, output_size=(5, 5)), TORCH["pools/backs"])


WINDOWS: dict[str, Any] = {
    "max1": lambda: nn.MaxPool1d(3, 2, 1, 2, False, True),
    "max2": lambda: nn.MaxPool2d((3, 2), (2, 3), (1, 0), (1, 2), ceil_mode=True),
    "max_beyond": lambda: nn.MaxPool2d(1, 3, ceil_mode=True),
    "avg1": lambda: nn.AvgPool1d(3, 2, 1, True),
    "avg2": lambda: nn.AvgPool2d((3, 2), (2, 3), (1, 1), True, False),
    "avg2_divisor": lambda: nn.AvgPool2d(2, 2, 0, True, True, 3),
    "avg3": lambda: nn.AvgPool3d(3, 2, 1, True),
    "lp": lambda: nn.LPPool2d(2, 3, 2, True),
    "indices": lambda: nn.MaxPool2d(3, 2, 1, 2, True, True),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_give_what_torch_gives(name: str) -> None:
    layer, x = WINDOWS[name](), ig.asarray(TORCH[f"windows/{name}/x"])
    for way in (lambda f: f, ig.jit):
        given = way(layer)(x)
        for i, y in enumerate(given if isinstance(given, tuple) else (given,)):
            close(y, TORCH[f"windows/{name}/y{i}"])
    # Of sizes that are not known when it is compiled.
    sizes = [None if axis < 2 else ig.Dim(f"n{axis}", min=2) for axis in range(x.ndim)]
    if name != "indices":
        traced = ig.trace(layer, x, dynamic_shapes=(dict(enumerate(sizes)),))
        close(traced.graph(x), TORCH[f"windows/{name}/y0"])


def test_adaptive_softmax_gives_what_torch_gives() -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, head_bias=True, key=KEY)
    state = recorded("adaptive", "p")
    assert {n: v.shape for n, v in layer.state_dict().items()} == {n: v.shape for n, v in state.items()}
    layer.load_state_dict(state)
    x, target = ig.asarray(TORCH["adaptive/x"]), ig.asarray(TORCH["adaptive/target"])
    for result in (layer(x, target), ig.jit(layer)(x, target)):
        close(result.output, TORCH["adaptive/output"])
        close(result.loss, TORCH["adaptive/loss"])
    close(layer.log_prob(x), TORCH["adaptive/all"])
    assert np.array_equal(layer.predict(x), TORCH["adaptive/best"])


def test_dropout_of_selu_keeps_mean_and_variance() -> None:
    x = ig.random.normal(KEY, (4000, 8, 2))
    for layer in (nn.AlphaDropout(0.3, key=KEY), nn.FeatureAlphaDropout(0.3, key=KEY)):
        y = np.asarray(layer(x), np.float64)
        assert abs(y.mean()) < 0.02
        assert abs(y.var() - 1) < 0.03
        low, scale = -1.7580993408473766, (0.7 * (1 + 0.3 * 1.7580993408473766**2)) ** -0.5
        dropped = np.isclose(y, low * scale * 0.7)
        assert (dropped[..., 0] == dropped[..., 1]).all() == isinstance(layer, nn.FeatureAlphaDropout)
        assert abs(dropped.mean() - 0.3) < 0.02
        assert np.array_equal(layer.eval()(x), x)
    y = np.asarray(nn.RReLU(0.1, 0.4, key=KEY)(x)) / np.asarray(x)
    assert y[np.asarray(x) < 0].min() >= 0.1 - 1e-6
    assert y[np.asarray(x) < 0].max() <= 0.4 + 1e-6
    assert (y[np.asarray(x) > 0] == 1).all()


def test_parameters_in_lists_and_dicts() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            self.rows = nn.ParameterList([ig.ones(2)])
            self.by_name = nn.ParameterDict({"a": ig.ones(3)})

    model = Both()
    model.rows.append(ig.zeros(1))
    model.by_name["b"] = ig.zeros(4)
    assert [name for name, _ in model.named_parameters()] == ["rows.0", "rows.1", "by_name.a", "by_name.b"]
    assert [p.shape for p in model.rows] == [(2,), (1,)]
    assert model.rows[-1].shape == (1,)
    model.rows[0] = ig.ones(5)
    assert model.rows[0].shape == (5,)
    assert [(name, p.shape) for name, p in model.by_name.items()] == [("a", (3,)), ("b", (4,))]
    assert ("a" in model.by_name, len(model.by_name), model.by_name.keys()) == (True, 2, ["a", "b"])
    del model.by_name["a"]
    assert list(model.state_dict()) == ["rows.0", "rows.1", "by_name.b"]
    with pytest.raises(KeyError):
        model.by_name["a"]
    assert [p.shape for p in model.by_name.values()] == [(4,)]
    grads = nn.grad(model, lambda: ig.sum(model.rows[0] ** 2))()
    assert grads["rows.0"].tolist() == [2.0] * 5


# --- transformers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [("after", {}), ("before", {"norm_first": True, "batch_first": True, "activation": "gelu", "bias": False})],
)
def test_transformers_give_what_torch_gives(name: str, options: dict[str, Any]) -> None:
    model = nn.Transformer(8, 2, 2, 2, 12, 0.0, **options, key=KEY)
    state = recorded(f"transformer.{name}", "p")
    assert {n: v.shape for n, v in model.state_dict().items()} == {n: v.shape for n, v in state.items()}
    model.load_state_dict(state)
    src, tgt = (ig.asarray(TORCH[f"transformer.{name}/{part}"]) for part in ("src", "tgt"))
    masks = {n: ig.asarray(v) for n, v in recorded(f"transformer.{name}", "call").items()}
    wanted = TORCH[f"transformer.{name}/y"]
    close(model(src, tgt, **masks), wanted, 4e-6)
    close(ig.jit(lambda s, t: model(s, t, **masks))(src, tgt), wanted, 4e-6)
    behind = {n: mask for n, mask in masks.items() if n != "tgt_mask"}
    close(model(src, tgt, **behind, tgt_is_causal=True), wanted, 4e-6)
    added = nn.Transformer.generate_square_subsequent_mask(3)
    close(model(src, tgt, **behind, tgt_mask=added), wanted, 4e-6)
    first = 0 if "batch_first" in options else 1
    one = [ig.take(x, ig.asarray([1]), axis=first) for x in (src, tgt)]
    alone = [ig.squeeze(x, axis=first) for x in one]
    close(model(*alone), np.asarray(ig.squeeze(model(*one), axis=first), np.float64), 2e-6)


def test_layers_of_a_decoder_are_their_own_and_are_trained() -> None:
    layer = nn.TransformerDecoderLayer(8, 2, 12, 0.5, key=KEY)
    decoder = nn.TransformerDecoder(layer, 2, nn.LayerNorm(8))
    x, memory = ig.random.normal(KEY, (3, 1, 8)), ig.random.normal(KEY, (5, 1, 8))
    assert not np.array_equal(decoder.layers[0].dropout1(x), decoder.layers[1].dropout1(x))
    assert not np.array_equal(decoder(x, memory), decoder(x, memory))
    decoder.eval()
    grads = nn.grad(decoder, lambda: ig.sum(decoder(x, memory) * memory[:3]))()
    assert set(grads) == set(decoder.trainable_parameters())
    assert all(float(ig.sum(ig.abs(g))) > 0 for name, g in grads.items() if "in_proj_bias" not in name)
    model = nn.Transformer(8, 2, 1, 1, 16, key=KEY)
    assert float(ig.max(ig.abs(model.encoder.layers[0].linear1.weight))) <= np.sqrt(6 / 24)
    custom = nn.Transformer(8, 2, custom_encoder=nn.Identity(), num_decoder_layers=1, dim_feedforward=4, key=KEY)
    assert isinstance(custom.encoder, nn.Identity)


# --- bags ------------------------------------------------------------------------------------------------------------

BAGS: dict[str, dict[str, Any]] = {
    "sum": {"mode": "sum"},
    "mean": {"mode": "mean"},
    "max": {"mode": "max"},
    "sum_padded": {"mode": "sum", "padding_idx": 2},
    "mean_padded": {"mode": "mean", "padding_idx": -4},
    "max_padded": {"mode": "max", "padding_idx": 2},
    "last_offset": {"mode": "mean", "include_last_offset": True},
}


@pytest.mark.parametrize("name", BAGS)
def test_bags_give_what_torch_gives(name: str) -> None:
    bag = nn.EmbeddingBag(6, 3, **BAGS[name], key=KEY).load_state_dict({"weight": TORCH[f"bags.{name}/start"]})
    indices, offsets, weights = (ig.asarray(TORCH[f"bags/{part}"]) for part in ("indices", "offsets", "weights"))
    if name == "last_offset":
        offsets = ig.append(offsets, [9])
    calls: dict[str, tuple[Any, ...]] = {"row": (indices, offsets), "table": (indices.reshape((3, 3)),)}
    if name == "sum":
        calls["weighted"] = (indices, offsets, weights)
    for call, args in calls.items():
        wanted = TORCH[f"bags.{name}/{call}"]
        close(bag(*args), wanted, 2e-6)
        close(ig.jit(bag)(*args), wanted, 2e-6)

        def loss(args: Any = args) -> ig.Tensor:
            y = bag(*args)
            return ig.sum(y * ig.astype(ig.arange(y.size), ig.float32).reshape(y.shape))

        close(nn.grad(bag, loss)()["weight"], TORCH[f"bags.{name}/{call}_grad"], 1e-5)
    assert bag(ig.zeros((2, 0), dtype="int64")).tolist() == [[0.0] * 3] * 2


# --- CTC -------------------------------------------------------------------------------------------------------------

CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "none": ((7, 7, 5, 6), {"reduction": "none"}),
    "mean": ((7, 7, 5, 6), {}),
    "sum": ((7, 7, 5, 6), {"reduction": "sum"}),
    "blank": ((7, 7, 5, 6), {"blank": 4}),
    "in_a_row": ((7, 7, 5, 6), {}),
    "zeroed": ((7, 3, 5, 6), {"reduction": "none", "zero_infinity": True}),
}


@pytest.mark.parametrize("name", CALLS)
def test_ctc_gives_what_torch_gives(name: str) -> None:
    lengths, options = CALLS[name]
    counts = (4, 4, 2, 0) if name == "zeroed" else (4, 2, 2, 0)
    logits = ig.asarray(TORCH["ctc/logits"])
    targets = ig.asarray(TORCH["ctc/row" if name == "in_a_row" else "ctc/targets"])
    if name == "blank":
        targets = (targets + 4) % 5

    def loss(x: ig.Tensor) -> ig.Tensor:
        return nn.losses.ctc_loss(ig.log_softmax(x, axis=-1), targets, lengths, counts, **options)

    close(loss(logits), TORCH[f"ctc/{name}"], 1e-12)
    close(ig.jit(loss)(logits), TORCH[f"ctc/{name}"], 1e-12)
    close(nn.CTCLoss(**options)(ig.log_softmax(logits, axis=-1), targets, lengths, counts), TORCH[f"ctc/{name}"], 1e-12)
    gradient = ig.jit(ig.grad(lambda x: ig.sum(loss(x))))
    close(gradient(logits), TORCH[f"ctc/{name}_grad"], 1e-12)
    # What stands behind the lengths counts for nothing, whatever it holds.
    spoilt = np.array(TORCH["ctc/logits"])
    for i, length in enumerate(lengths):
        spoilt[length:, i] = np.nan
    close(loss(ig.asarray(spoilt)), TORCH[f"ctc/{name}"], 1e-12)
    assert np.isfinite(np.asarray(ig.grad(lambda x: ig.sum(loss(x)))(logits))).all()


def test_ctc_of_one_sequence_and_of_impossible_alignments() -> None:
    logits, targets = ig.asarray(TORCH["ctc/logits"]), ig.asarray(TORCH["ctc/targets"])
    log_p = ig.log_softmax(logits, axis=-1)
    ctc = nn.losses.ctc_loss
    close(ctc(log_p[:, 0], targets[0], 7, 4, reduction="none"), TORCH["ctc/alone"], 1e-12)
    gradient = ig.grad(lambda x: ctc(ig.log_softmax(x, axis=-1), targets[0], 7, 4, reduction="sum"))(logits[:, 0])
    close(gradient, TORCH["ctc/alone_grad"], 1e-12)
    given = np.asarray(ctc(log_p, targets, (7, 3, 5, 6), (4, 4, 2, 0), reduction="none"))
    np.testing.assert_allclose(given, TORCH["ctc/infinite"], rtol=1e-12)
    assert np.isinf(given).tolist() == [False, True, False, False]
    lost = ig.grad(lambda x: ig.sum(ctc(x, targets, (7, 3, 5, 6), (4, 4, 2, 0), reduction="none")))(log_p)
    assert np.isfinite(np.asarray(lost)).all()
    assert not np.asarray(lost)[:, 1].any()
    # Classes that cannot come, on the way and beside it.
    hard = np.array(TORCH["ctc/logits"][:3, :1])
    hard[:, :, 3] = -np.inf
    hard[0, :, 0] = -np.inf
    for label, finite in ((1, True), (3, False)):
        one = ig.asarray([[label]])

        def hard_loss(x: ig.Tensor, one: Any = one) -> ig.Tensor:
            return ctc(x, one, (3,), (1,), reduction="sum")

        assert bool(ig.isfinite(hard_loss(ig.asarray(hard)))) is finite
        assert np.isfinite(np.asarray(ig.grad(hard_loss)(ig.asarray(hard)))).all()
    assert ctc(log_p[:0], targets[:, :0], (0,) * 4, (0,) * 4, reduction="none").tolist() == [0.0] * 4
    assert float(ctc(log_p[:, :1], targets[:1], (0,), (1,), reduction="sum")) == np.inf
    assert ctc(ig.astype(log_p, ig.bfloat16), targets, (7,) * 4, (1,) * 4).dtype == ig.bfloat16


def test_ctc_is_the_sum_over_all_paths() -> None:
    import itertools

    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 5)
    for labels in ([1], [1, 1], [2, 1], [1, 2, 1]):
        total = 0.0
        for path in itertools.product(range(3), repeat=5):
            if [k for k, _ in itertools.groupby(path) if k] == labels:
                total += np.prod([p[t, k] for t, k in enumerate(path)])
        loss = nn.losses.ctc_loss(ig.asarray(np.log(p)), ig.asarray(labels), 5, len(labels), reduction="sum")
        assert abs(float(ig.exp(-loss)) - total) < 1e-12
    # One example at a time, as all together.
    log_p = ig.asarray(np.log(rng.dirichlet(np.ones(4), (6, 3))))
    targets, lengths, counts = ig.asarray([[1, 2], [3, 3], [2, 1]]), ig.asarray([6, 5, 4]), ig.asarray([2, 2, 1])

    def one(x: ig.Tensor, t: ig.Tensor, n: ig.Tensor, m: ig.Tensor) -> ig.Tensor:
        return nn.losses.ctc_loss(x, t, n, m, reduction="sum")

    together = nn.losses.ctc_loss(log_p, targets, lengths, counts, reduction="none")
    close(ig.vmap(one, in_axes=(1, 0, 0, 0))(log_p, targets, lengths, counts), np.asarray(together), 1e-12)


def test_further_losses_give_what_torch_gives() -> None:
    x, other, third, labels, many, weight = (
        ig.asarray(TORCH[f"losses/{n}"]) for n in ("x", "other", "third", "labels", "many", "weight")
    )
    given = {
        "multi_margin": nn.MultiMarginLoss()(x, labels),
        "multi_margin_2": nn.MultiMarginLoss(p=2, margin=0.7, weight=weight, reduction="sum")(x, labels),
        "multilabel_margin": nn.MultiLabelMarginLoss()(x[:3], many),
        "multilabel_margin_none": nn.MultiLabelMarginLoss(reduction="none")(x[:3], many),
        "triplet": nn.TripletMarginWithDistanceLoss(margin=0.5, swap=True)(x, other, third),
    }
    for name, value in given.items():
        close(value, TORCH[f"losses/{name}"])
    by_sum = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: ig.sum(ig.abs(a - b), axis=-1))
    assert float(by_sum(x, x, other)) >= 0


# --- optimisers ------------------------------------------------------------------------------------------------------

OPTIMIZERS: dict[str, Any] = {
    "rprop": lambda p: ig.optim.Rprop(p, lr=0.1, etas=(0.4, 1.3), step_sizes=(1e-3, 0.25)),
    "asgd": lambda p: ig.optim.ASGD(p, lr=0.1, lambd=0.02, t0=2.0, weight_decay=0.1),
    "groups": lambda p: ig.optim.SGD(
        [{"params": p[:1]}, {"params": p[1:], "lr": 0.3, "momentum": 0.5, "weight_decay": 0.2}], lr=0.1, momentum=0.9
    ),
    "adam_groups": lambda p: ig.optim.Adam(
        [{"params": p[:1], "betas": (0.5, 0.6)}, {"params": p[1:], "lr": 0.3}], lr=0.1, weight_decay=0.01
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_give_what_torch_gives(name: str) -> None:
    start, grads, wanted = TORCH["optim/start"], TORCH["optim/grads"], TORCH[f"optim/{name}"]
    eager, jitted = ([ig.asarray(row) for row in start] for _ in range(2))
    optimizer, compiled = OPTIMIZERS[name](eager), OPTIMIZERS[name](jitted)

    @ig.jit
    def step(a: ig.Tensor, b: ig.Tensor) -> None:
        compiled.step([a, b])

    for i, g in enumerate(grads):
        rows = [ig.asarray(row) for row in g]
        if i == 3:  # on with another one of the same kind
            state = {n: np.asarray(v) for n, v in optimizer.state_dict().items()}
            optimizer = OPTIMIZERS[name](eager)
            optimizer.load_state_dict(state)
        optimizer.step(rows)
        step(*rows)
    close(np.stack(eager), wanted, 2e-6)
    close(np.stack(jitted), wanted, 2e-6)
    assert "1 traces" in str(step.cache_info())
    if name == "asgd":
        close(np.stack([optimizer.state["ax"][str(i)] for i in range(2)]), TORCH["optim/asgd_mean"], 2e-6)
    if "groups" in name:
        return
    rule, params = OPTIMIZERS[name](None), [ig.asarray(row) for row in start]
    tree = rule.init(params)
    for g in grads:
        params, tree = rule.update([ig.asarray(row) for row in g], tree, params)
    close(np.stack(params), wanted, 2e-6)


MATRICES: dict[str, Any] = {
    "adafactor": (lambda p: ig.optim.Adafactor(p, lr=0.3, weight_decay=0.1), 4, 2e-6),
    "adafactor_eps": (lambda p: ig.optim.Adafactor(p, lr=0.3, beta2_decay=-0.5, eps=(1e-3, 0.5), d=1.5), 4, 2e-6),
    "muon": (lambda p: ig.optim.Muon(p, lr=0.1), 2, 2e-6),
    "muon_rms": (lambda p: ig.optim.Muon(p, 0.1, nesterov=False, adjust_lr_fn="match_rms_adamw"), 2, 2e-6),
}


@pytest.mark.parametrize("name", MATRICES)
def test_optimizers_of_matrices_give_what_torch_gives(name: str) -> None:
    make, count, bound = MATRICES[name]
    starts = [TORCH[f"matrices/start{i}"] for i in range(count)]
    grads = [TORCH[f"matrices/grads{i}"] for i in range(count)]
    eager, jitted, tree = ([ig.asarray(start) for start in starts] for _ in range(3))
    optimizer, compiled, rule = make(eager), make(jitted), make(None)
    narrow = [ig.asarray(start) for start in starts]
    by_default = make(narrow)
    if isinstance(rule, ig.optim.Muon):
        for one in (optimizer, compiled, rule):
            one.precision = "float32"  # recorded so: bfloat16 rounds at each of its steps
    state = rule.init(tree)
    step = ig.jit(lambda *grads: compiled.step(list(grads)))
    for k in range(len(grads[0])):
        now = [ig.asarray(g[k]) for g in grads]
        optimizer.step(now)
        by_default.step(now)
        step(*now)
        tree, state = rule.update(now, state, tree)
    for i in range(count):
        for given in (eager, jitted, tree):
            close(given[i], TORCH[f"matrices/{name}{i}"], bound)
        assert np.abs(np.asarray(narrow[i]) - np.asarray(eager[i])).max() < 0.05
    other = make(eager)
    other.load_state_dict({n: np.asarray(v) for n, v in optimizer.state_dict().items()})
    assert np.array_equal(other.state[other.slots[0]]["0"], optimizer.state[other.slots[0]]["0"])


def test_groups_of_a_model() -> None:
    model = nn.Sequential(nn.Linear(2, 3, key=KEY), nn.Linear(3, 1, key=KEY))
    optimizer = ig.optim.SGD(
        [{"params": model[0].named_parameters("0")}, {"params": model[1].named_parameters("1"), "lr": 0.0}], lr=0.1
    )
    before = {n: np.asarray(v) for n, v in model.state_dict().items()}
    x = ig.ones((4, 2))

    @ig.jit
    def step() -> None:
        _, grads = nn.value_and_grad(model, lambda: ig.mean((model(x) - 1) ** 2))()
        optimizer.step(grads)

    step()
    after = {n: np.asarray(v) for n, v in model.state_dict().items()}
    assert not np.array_equal(before["0.weight"], after["0.weight"])
    assert np.array_equal(before["1.weight"], after["1.weight"])
    optimizer.param_groups[1]["lr"] = 0.1
    step()
    assert "1 traces" in str(step.cache_info())
    assert not np.array_equal(after["1.weight"], model[1].weight)
    optimizer.param_groups[0]["weight_decay"] = 0.5
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.5, 0.0]
    step()
    assert "2 traces" in str(step.cache_info())
    optimizer.lr = 0.25
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]
    assert repr(optimizer.param_groups[1]) == (
        "ParamGroup(2 parameters, lr=0.25, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)"
    )
    group = optimizer.param_groups[0]
    group["note"] = "first"
    assert (group["note"], list(group)[-1], len(group)) == ("first", "note", 7)
    del group["note"]
    assert "note" not in group
    assert len(group["params"]) == 2


def test_a_group_that_comes_later_counts_its_own_steps() -> None:
    a, b, c = ig.asarray([1.0]), ig.asarray([1.0]), ig.asarray([1.0])
    optimizer, alone = ig.optim.Adam([a], lr=0.1), ig.optim.Adam([c], lr=0.2)
    optimizer.step([ig.asarray([0.5])])
    optimizer.add_param_group({"params": b, "lr": 0.2})
    for g in (0.3, -0.1):
        optimizer.step([ig.asarray([0.5]), ig.asarray([g])])
        alone.step([ig.asarray([g])])
    assert np.array_equal(b, c)
    state = optimizer.state_dict()
    assert (int(state["step"]), int(state["step.1"])) == (3, 2)
    other = ig.optim.Adam([ig.asarray(a)], lr=0.1)
    other.add_param_group({"params": [ig.asarray(b)], "lr": 0.2})
    other.load_state_dict(state)
    for which in (optimizer, other):
        which.step([ig.asarray([0.5]), ig.asarray([0.5])])
    assert np.array_equal(other.params["1"], b)
    late = ig.optim.SGD(lr=0.5)
    late.add_param_group({"params": [a]})
    held = float(a[0])
    late.step([ig.ones(1)])
    assert float(a[0]) == np.float32(held) - np.float32(0.5)
    scheduled = ig.optim.SGD([{"params": [b], "lr": ig.optim.exponential(0.5, 0.5)}, {"params": [c]}], lr=0.25)
    held = float(b[0])
    for _ in range(2):
        scheduled.step([ig.ones(1), ig.zeros(1)])
    assert abs(float(b[0]) - (held - 0.75)) < 1e-6


def test_backward_and_groups() -> None:
    a, b = ig.asarray([1.0]).requires_grad_(), ig.asarray([2.0]).requires_grad_()
    optimizer = ig.optim.SGD([{"params": [a]}, {"params": [b], "lr": 1.0}], lr=0.5)
    ig.sum(a * b).backward()
    optimizer.step()
    assert (float(a[0]), float(b[0])) == (0.0, 1.0)
    optimizer.zero_grad()
    assert a.grad is None


def rosenbrock(w: ig.Tensor) -> ig.Tensor:
    return ig.sum((1 - w[:-1]) ** 2) + 100 * ig.sum((w[1:] - w[:-1] ** 2) ** 2)


@pytest.mark.parametrize("search", ["strong_wolfe", None])
def test_lbfgs_takes_torch_s_steps(search: str | None) -> None:
    options = {"lr": 1.0 if search else 1e-3, "max_iter": 5, "history_size": 3, "line_search_fn": search}
    w = ig.asarray(np.array([-1.5, 2.0, 0.5])).requires_grad_()
    pure = [ig.asarray(np.array(part)) for part in ([-1.5], [2.0, 0.5])]
    optimizer, other = ig.optim.LBFGS([w], **options), ig.optim.LBFGS(pure, **options)
    jitted = ig.jit(ig.value_and_grad(lambda w: rosenbrock(ig.concat(w))))

    def by_tape() -> ig.Tensor:
        optimizer.zero_grad()
        loss = rosenbrock(w)
        loss.backward()
        return loss

    for i, wanted in enumerate(TORCH[f"lbfgs/{search}"]):
        if i == 3:  # on with another one
            state = {n: np.asarray(v) for n, v in optimizer.state_dict().items()}
            optimizer = ig.optim.LBFGS([w], **options)
            optimizer.load_state_dict(state)
        first = float(rosenbrock(w.detach()))
        assert abs(float(optimizer.step(by_tape)) - first) <= 1e-12 * first
        other.step(lambda: jitted(pure))
        close(w.detach(), wanted, 1e-7)
        close(ig.concat(pure), wanted, 1e-7)
    count = optimizer.n_iter
    optimizer.param_groups[0]["max_iter"] = 7
    assert (optimizer.max_iter, optimizer.n_iter, len(optimizer.changes)) == (
        7,
        count,
        3 if search else len(other.changes),
    )
    assert [optimizer.n_iter, optimizer.func_evals] == TORCH[f"lbfgs/{search}_counts"].tolist()


# --- schedulers ------------------------------------------------------------------------------------------------------

SCHEDULERS: dict[str, Any] = {
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 1 - 0.1 * (e % 2)),
    "StepLR": lambda o: lr_scheduler.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 5, 9], 0.5),
    "ConstantLR": lambda o: lr_scheduler.ConstantLR(o, 0.25, 4),
    "LinearLR": lambda o: lr_scheduler.LinearLR(o, 0.2, 0.9, 6),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.8),
    "PolynomialLR": lambda o: lr_scheduler.PolynomialLR(o, 7, 2.0),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 4, 0.01),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.8, 2, 3, "triangular2"),
    "CyclicLR_exp": lambda o: lr_scheduler.CyclicLR(o, [0.1, 0.2], [0.8, 0.9], 3, mode="exp_range", gamma=0.9),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, [1.0, 2.0], 14),
    "OneCycleLR_three": lambda o: lr_scheduler.OneCycleLR(
        o, 1.0, epochs=2, steps_per_epoch=7, anneal_strategy="linear", three_phase=True
    ),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o,
        [
            lr_scheduler.LinearLR(o, 0.1, 1.0, 3),
            lr_scheduler.CosineAnnealingLR(o, 5),
            lr_scheduler.ExponentialLR(o, 0.5),
        ],
        [3, 8],
    ),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o, 0.1, 3), lr_scheduler.ExponentialLR(o, 0.9), lr_scheduler.StepLR(o, 4)]
    ),
}


def two_groups() -> ig.optim.Optimizer:
    return ig.optim.SGD([{"params": [ig.ones(1)]}, {"params": [ig.ones(1)], "lr": 0.2}], lr=0.5)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_give_what_torch_gives(name: str) -> None:
    optimizer = two_groups()
    scheduler, rates = SCHEDULERS[name](optimizer), []
    for i in range(len(TORCH[f"schedulers/{name}"])):
        if i == 6:  # on with another one
            state = scheduler.state_dict()
            optimizer = two_groups()
            scheduler = SCHEDULERS[name](optimizer)
            scheduler.load_state_dict(state)
            assert scheduler.get_last_lr() == [group["lr"] for group in optimizer.param_groups]
        rates.append([group["lr"] for group in optimizer.param_groups])
        assert scheduler.get_last_lr() == rates[-1]
        scheduler.step()
    close(rates, TORCH[f"schedulers/{name}"], 1e-12)


def test_schedulers_compile_nothing_again() -> None:
    w = ig.asarray([1.0])
    optimizer = ig.optim.SGD([w], lr=1.0)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    step = ig.jit(lambda g: optimizer.step([g]))
    for _ in range(3):
        step(ig.asarray([0.25]))
        scheduler.step()
    assert float(w[0]) == 1 - 0.25 * 1.75
    assert "1 traces" in str(step.cache_info())


def test_plateaus_lower_each_group() -> None:
    optimizer = two_groups()
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.0, 0.1])
    for _ in range(3):
        plateau.step(1.0)
    np.testing.assert_allclose([group["lr"] for group in optimizer.param_groups], [0.005, 0.1])


# --- errors ----------------------------------------------------------------------------------------------------------


def base() -> None:
    lr_scheduler.LRScheduler(two_groups())


def over() -> None:
    scheduler = lr_scheduler.OneCycleLR(two_groups(), 1.0, 2)
    for _ in range(3):
        scheduler.step()


def in_jit() -> None:
    optimizer = ig.optim.LBFGS([ig.ones(1)])
    ig.jit(lambda: optimizer.step(lambda: 0.0))()


P = ig.ones((3, 2, 4))


def scaled_twice() -> None:
    w = ig.asarray([1.0])
    optimizer, scaler = ig.optim.SGD([w], 0.1), ig.optim.GradScaler()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


ERRORS: dict[str, Any] = {
    "decoder key": lambda: nn.TransformerDecoderLayer(4, 2),
    "decoder activation": lambda: nn.TransformerDecoderLayer(4, 2, activation="tanh", key=KEY),
    "transformer features": lambda: nn.Transformer(4, 2, 1, 1, 4, key=KEY)(ig.ones((3, 1, 5)), ig.ones((3, 1, 4))),
    "transformer batch": lambda: nn.Transformer(4, 2, 1, 1, 4, key=KEY)(ig.ones((3, 1, 4)), ig.ones((3, 2, 4))),
    "bag mode": lambda: nn.EmbeddingBag(3, 2, mode="min", key=KEY),
    "bag offsets": lambda: nn.EmbeddingBag(3, 2, key=KEY)(ig.asarray([1, 2])),
    "bag table": lambda: nn.EmbeddingBag(3, 2, key=KEY)(ig.asarray([[1, 2]]), ig.asarray([0])),
    "bag weights": lambda: nn.EmbeddingBag(3, 2, key=KEY)(ig.asarray([[1, 2]]), None, ig.ones((1, 2))),
    "unfold axes": lambda: nn.Unfold(2)(ig.ones((2, 2))),
    "unfold size": lambda: nn.Unfold(5)(ig.ones((1, 1, 4, 4))),
    "fold": lambda: nn.Fold(4, 2)(ig.ones((1, 4, 4))),
    "hook": lambda: nn.ReLU().register_forward_hook(3),
    "module of integers": lambda: nn.Linear(2, 2, key=KEY).to("int32"),
    "pool divisor": lambda: nn.AvgPool2d(2, divisor_override=0),
    "scaler factor": lambda: ig.optim.GradScaler(growth_factor=1.0),
    "scaler interval": lambda: ig.optim.GradScaler(growth_interval=0),
    "scaler twice": lambda: scaled_twice(),
    "scaler state": lambda: ig.optim.GradScaler().load_state_dict({"scale": 1.0}),
    "unpool": lambda: nn.MaxUnpool1d(2)(ig.ones((1, 1, 3)), ig.zeros((1, 1, 2), dtype="int64")),
    "cutoffs": lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 20], key=KEY),
    "shuffle": lambda: nn.ChannelShuffle(3)(ig.ones((1, 4, 2))),
    "ctc axes": lambda: nn.losses.ctc_loss(ig.ones(3), ig.asarray([1]), 1, 1),
    "ctc reduction": lambda: nn.losses.ctc_loss(P, ig.ones((2, 1)), (3, 3), (1, 1), reduction="average"),
    "ctc blank": lambda: nn.losses.ctc_loss(P, ig.ones((2, 1)), (3, 3), (1, 1), blank=4),
    "ctc lengths": lambda: nn.losses.ctc_loss(P, ig.ones((2, 1)), (3,), (1, 1)),
    "ctc targets": lambda: nn.losses.ctc_loss(P, ig.ones((3, 1)), (3, 3), (1, 1)),
    "group options": lambda: ig.optim.SGD([{"params": [ig.ones(1)], "beta": 1}]),
    "group without": lambda: ig.optim.SGD([ig.ones(1)]).add_param_group({"lr": 1.0}),
    "group twice": lambda: ig.optim.SGD([{"params": [P]}, {"params": {"w": P}}]),
    "group name": lambda: ig.optim.SGD([{"params": {"w": ig.ones(1)}}, {"params": {"w": ig.ones(2)}}]),
    "group slots": lambda: ig.optim.SGD([{"params": [P], "momentum": 0.5}]),
    "muon shape": lambda: ig.optim.Muon([ig.ones(3)]),
    "muon rate": lambda: ig.optim.Muon([P[0]], adjust_lr_fn="none"),
    "lbfgs search": lambda: ig.optim.LBFGS([P], line_search_fn="armijo"),
    "lbfgs closure": lambda: ig.optim.LBFGS([P]).step([P]),
    "lbfgs gradients": lambda: ig.optim.LBFGS([P]).step(lambda: 0.0),
    "lbfgs groups": lambda: ig.optim.LBFGS([P]).add_param_group({"params": [P]}),
    "lbfgs rule": lambda: ig.optim.LBFGS().update([P], {"step": ig.asarray(0)}, [P]),
    "lbfgs state": lambda: ig.optim.LBFGS([P]).load_state_dict({"step": 0}),
    "lbfgs in jit": in_jit,
    "scheduler of a schedule": lambda: lr_scheduler.StepLR(ig.optim.SGD([P], lr=ig.optim.constant(1.0)), 1),
    "scheduler of nothing": lambda: lr_scheduler.StepLR(ig.optim.SGD(), 1),
    "scheduler base": base,
    "scheduler functions": lambda: lr_scheduler.LambdaLR(two_groups(), [lambda e: 1.0]),
    "cyclic": lambda: lr_scheduler.CyclicLR(two_groups(), 0.1, 0.2, mode="square"),
    "one cycle": lambda: lr_scheduler.OneCycleLR(two_groups(), 1.0),
    "one cycle strategy": lambda: lr_scheduler.OneCycleLR(two_groups(), 1.0, 5, anneal_strategy="sine"),
    "one cycle over": over,
    "sequence": lambda: lr_scheduler.SequentialLR(two_groups(), [lr_scheduler.StepLR(two_groups(), 1)], []),
    "chain": lambda: lr_scheduler.ChainedScheduler([]),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("nn_more_errors.txt"))
