"""nn.functional, nn.utils and the lazy layers: what torch gives (recorded), eager and jitted, gradients, and errors."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from functional_cases import CASES, GRADIENTS, MASK, call_of
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import nn
from intaglio.nn import functional as F

TORCH = np.load(Path(__file__).resolve().parents[1] / "data" / "torch_functional.npz")
KEY = ig.random.key(0)


@pytest.mark.parametrize(
    "name",
    [
        "_bags",
        "_lazy",
        "_resizing",
        "functional",
        "functional._activations",
        "functional._images",
        "functional._losses",
        "functional._norms",
        "functional._windows",
        "utils",
    ],
)
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"intaglio.nn.{name}"))
    assert result.attempted
    assert not result.failed


def close(a: Any, b: np.ndarray) -> None:
    assert np.shape(a) == b.shape
    np.testing.assert_allclose(np.asarray(a, np.float64), b, rtol=1e-5, atol=3e-6)


def ours(name: str) -> tuple[Callable[..., Any], list[Any]]:
    """The call as a function of its arrays, and these."""
    function, (args, options) = call_of(name)
    arrays = [ig.asarray(value) for value in (*args, *options.values()) if isinstance(value, np.ndarray)]

    def call(*given: Any) -> Any:
        rest = iter(given)
        own = [next(rest) if isinstance(value, np.ndarray) else value for value in args]
        named = {key: next(rest) if isinstance(value, np.ndarray) else value for key, value in options.items()}
        return getattr(F, function)(*own, **named)

    return call, arrays


@pytest.mark.parametrize("name", CASES)
def test_functions_give_what_torch_gives(name: str) -> None:
    call, arrays = ours(name)
    y = call(*arrays)
    jitted = y if name == "one_hot" else ig.jit(call)(*arrays)  # it asks for the number of classes
    for given in (y, jitted):
        for i, one in enumerate(given if isinstance(given, tuple) else (given,)):
            recorded = TORCH[f"{name}/y{i}"]
            close(one, recorded)
            assert one.dtype.name == recorded.dtype.name


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_torch_s(name: str) -> None:
    call, arrays = ours(name)

    def total(x: Any) -> Any:
        y = call(x, *arrays[1:])
        y = y[0] if isinstance(y, tuple) else y
        return ig.sum(y * ig.cos(ig.arange(y.size, dtype=y.dtype)).reshape(y.shape))

    close(ig.grad(total)(arrays[0]), TORCH[f"{name}/grad"])
    x = ig.asarray(np.asarray(arrays[0])).requires_grad_()
    total(x).backward()
    close(x.grad, TORCH[f"{name}/grad"])


# What torch's functions take beside: in place, deprecated, or of its memory layouts.
LEFT_OUT = {"inplace", "size_average", "reduce", "_stacklevel", "out", "sparse", "scale_grad_by_freq"}
LEFT_OUT |= {"static_k", "static_v"}


def test_arguments_are_torch_s() -> None:
    recorded = json.loads(str(TORCH["signatures"]))
    assert len(recorded) > 60
    for name, parameters in recorded.items():
        theirs = {key: default for key, default in parameters if key not in LEFT_OUT}
        own = inspect.signature(getattr(F, name)).parameters
        assert [key for key in own if key in theirs or key not in ("key", "dropout_key")] == list(theirs), name
        for key, default in theirs.items():
            if default is None:
                assert own[key].default is inspect.Parameter.empty, (name, key)
            else:
                assert own[key].default == eval(default), (name, key)  # a literal that was recorded


def test_every_public_function_has_a_docstring() -> None:
    assert len(F.__all__) == len(set(F.__all__)) > 100
    for name in (*F.__all__, *(n for n in dir(nn.utils) if n.endswith(("_norm", "_")))):
        if not name.startswith("_"):
            assert (getattr(F, name, None) or getattr(nn.utils, name)).__doc__, name


# --- random numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "dropout3d"])
def test_dropout_draws_from_its_key(name: str) -> None:
    drop, x = getattr(F, name), ig.ones((4, 50, 3, 3)[: 3 if name == "dropout1d" else 4])
    if name == "dropout3d":
        x = x[..., None]
    y = np.asarray(drop(x, 0.2, key=KEY))
    assert set(np.unique(y)) == {0.0, np.float32(1.25)}
    assert 0.7 < (y > 0).mean() < 0.9
    if name != "dropout":  # whole channels
        flat = y.reshape(4 * 50, -1)
        assert (flat == flat[:, :1]).all()
    assert np.array_equal(ig.jit(lambda x, key: drop(x, 0.2, key=key))(x, KEY), y)
    assert np.array_equal(drop(x, 0.2, training=False), x)
    assert np.array_equal(drop(x, 0.0), x)
    layer = {"dropout": nn.Dropout, "dropout1d": nn.Dropout1d, "dropout2d": nn.Dropout2d, "dropout3d": nn.Dropout3d}
    assert np.array_equal(layer[name](0.2)(x, KEY), y)


def test_dropout_of_an_example_without_a_batch() -> None:
    y = np.asarray(F.dropout1d(ig.ones((60, 4)), key=KEY))
    assert (y == y[:, :1]).all()
    assert 0 < (y > 0).mean() < 1


def test_alpha_dropout_and_rrelu() -> None:
    x = ig.random.normal(ig.random.key(1), (200, 100))
    y = np.asarray(F.alpha_dropout(x, 0.3, training=True, key=KEY))
    assert abs(y.mean()) < 0.02
    assert abs(y.std() - 1) < 0.02
    assert np.array_equal(nn.AlphaDropout(0.3)(x, KEY), y)
    z = np.asarray(F.feature_alpha_dropout(x, 0.3, training=True, key=KEY))
    assert abs(z.std() - 1) < 0.05
    slopes = np.asarray(F.rrelu(-ig.ones(1000), 0.1, 0.4, training=True, key=KEY))
    assert -0.4 <= slopes.min() < slopes.max() <= -0.1
    assert F.alpha_dropout(x) is x


def test_gumbel_softmax() -> None:
    logits = ig.log(ig.asarray([0.1, 0.6, 0.3]))
    many = ig.broadcast_to(logits, shape=(4000, 3))
    hard = np.asarray(F.gumbel_softmax(many, hard=True, key=KEY))
    assert set(np.unique(hard)) <= {0.0, 1.0}
    np.testing.assert_allclose(hard.mean(0), [0.1, 0.6, 0.3], atol=0.03)
    soft = F.gumbel_softmax(many, 0.5, key=KEY)
    np.testing.assert_allclose(np.asarray(soft).sum(1), 1, rtol=1e-5)
    assert np.array_equal(np.asarray(soft).argmax(1), hard.argmax(1))

    def weighed(hard: bool) -> Any:
        places = ig.asarray([0.0, 1.0, 2.0])
        return ig.grad(lambda x: ig.sum(F.gumbel_softmax(x, hard=hard, dim=0, key=KEY) * places))(logits)

    np.testing.assert_allclose(weighed(True), weighed(False), rtol=1e-6)


def test_attention_drops_weights() -> None:
    q, k, v = (ig.random.normal(key, (2, 3, 4)) for key in ig.random.split(KEY, 3))
    plain = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    none = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=1e-9, dropout_key=KEY)
    np.testing.assert_allclose(plain, none, rtol=1e-5, atol=1e-6)
    dropped = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, dropout_key=KEY)
    assert not np.allclose(dropped, F.scaled_dot_product_attention(q, k, v))
    even = F.scaled_dot_product_attention(q, k, v, scale=0.0)
    np.testing.assert_allclose(even, np.asarray(v).mean(1, keepdims=True).repeat(3, 1), rtol=1e-5)


def test_dropout_of_the_weights_of_heads() -> None:
    layer = nn.MultiheadAttention(4, 2, dropout=0.5, key=KEY)
    x = ig.random.normal(KEY, (5, 1, 4))
    parameters = (layer.in_proj_weight, layer.in_proj_bias, None, None, False)
    out = (layer.out_proj.weight, layer.out_proj.bias)
    y, weights = F.multi_head_attention_forward(x, x, x, 4, 2, *parameters, 0.5, *out, dropout_key=ig.random.key(4))
    assert (np.asarray(weights) == 0).any()
    assert y.shape == x.shape
    plain = F.multi_head_attention_forward(x, x, x, 4, 2, *parameters, 0.5, *out, training=False)
    for a, b in zip(plain, layer.eval()(x, x, x), strict=True):
        assert np.array_equal(a, b)


def test_norms_move_running_statistics_as_the_layers_do() -> None:
    x = ig.random.normal(KEY, (4, 3, 5))
    for layer, function in ((nn.BatchNorm1d(3), F.batch_norm), (nn.InstanceNorm1d(3), F.instance_norm)):
        own = type(layer)(3, affine=False, track_running_stats=True)
        mean, variance = ig.zeros(3), ig.ones(3)
        y = function(x, mean, variance, **{"batch_norm": {"training": True}}.get(function.__name__, {}))
        assert np.array_equal(own(x), y)
        assert np.array_equal(own.running_mean, mean)
        assert np.array_equal(own.running_var, variance)

        @ig.jit
        def step(x: Any, mean: Any, variance: Any) -> Any:
            return function(x, mean, variance, **{"batch_norm": {"training": True}}.get(function.__name__, {}))  # noqa: B023

        again, spread = ig.zeros(3), ig.ones(3)
        np.testing.assert_allclose(step(x, again, spread), y, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(again, mean, rtol=1e-6)
        np.testing.assert_allclose(spread, variance, rtol=1e-6)


@pytest.mark.parametrize("name", ["two", "one"])
@pytest.mark.parametrize("kind", ["rows", "bags"])
def test_tables_of_bounded_rows_are_torch_s(kind: str, name: str) -> None:
    options: dict[str, Any] = {"two": {"max_norm": 1.5}, "one": {"max_norm": 2.0, "norm_type": 1.0}}[name]
    layer = (nn.Embedding if kind == "rows" else nn.EmbeddingBag)(6, 3, key=KEY, **options)
    layer.load_state_dict({"weight": TORCH["tables/start"]}).requires_grad_()
    y = layer(ig.asarray(TORCH["tables/indices"]))
    ig.sum(y * ig.arange(y.size, dtype="float32").reshape(y.shape)).backward()
    close(y.detach(), TORCH[f"tables/{kind}_{name}"])
    close(layer.weight.grad, TORCH[f"tables/{kind}_{name}_grad"])
    close(layer.weight.detach(), TORCH[f"tables/{kind}_{name}_after"])
    assert layer.weight.is_leaf


# --- utils -----------------------------------------------------------------------------------------------------------


def clipped(clip: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    parameters = [ig.zeros(TORCH[f"utils/grad{i}"].shape).requires_grad_() for i in range(2)]
    for i, parameter in enumerate(parameters):
        parameter.grad = ig.asarray(TORCH[f"utils/grad{i}"])
    silent = ig.zeros(3).requires_grad_()  # without a gradient
    return clip([*parameters, silent]), [parameter.grad for parameter in parameters]


@pytest.mark.parametrize(
    ("name", "clip"),
    [
        ("two", lambda p: nn.utils.clip_grad_norm_(p, 1.5)),
        ("inf", lambda p: nn.utils.clip_grad_norm_(iter(p), 0.5, float("inf"))),
        ("wide", lambda p: nn.utils.clip_grad_norm_(p, 100.0, 1.0, error_if_nonfinite=True)),
        ("value", lambda p: nn.utils.clip_grad_value_(p, 0.6)),
    ],
)
def test_clipping_is_torch_s(name: str, clip: Callable[[Any], Any]) -> None:
    norm, grads = clipped(clip)
    if name != "value":
        close(norm, TORCH[f"utils/{name}_norm"])
    for i, grad in enumerate(grads):
        close(grad, TORCH[f"utils/{name}{i}"])


def test_clipping_before_a_step() -> None:
    layer = nn.Linear(3, 2, key=KEY).requires_grad_()
    start = [np.array(value) for value in layer.state_dict().values()]
    opt = ig.optim.SGD(layer, lr=1.0)
    F.mse_loss(layer(ig.random.normal(ig.random.key(1), (8, 3))), ig.ones((8, 2)) * 10.0).backward()
    assert float(nn.utils.clip_grad_norm_(layer.parameters(), 0.5)) > 1
    opt.step()
    moved = zip(layer.state_dict().values(), start, strict=True)
    np.testing.assert_allclose(sum(((np.asarray(a) - b) ** 2).sum() for a, b in moved) ** 0.5, 0.5, rtol=1e-4)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_parameters_as_a_vector() -> None:
    model = nn.Sequential(nn.Linear(3, 2, key=KEY), nn.Linear(2, 1, key=KEY, dtype="float64"))
    vector = nn.utils.parameters_to_vector(model.parameters())
    assert vector.shape == (model.num_parameters(),)
    before = {name: np.array(value) for name, value in model.state_dict().items()}
    nn.utils.vector_to_parameters(vector * 2, model.parameters())
    for name, value in model.state_dict().items():
        assert value.dtype.name == before[name].dtype.name
        np.testing.assert_allclose(value, before[name] * 2, rtol=1e-6)
    w = ig.asarray([[1.0, 2.0]]).requires_grad_()
    ig.sum(nn.utils.parameters_to_vector([w]) * ig.asarray([3.0, 4.0])).backward()
    assert w.grad is not None
    assert w.grad.tolist() == [[3.0, 4.0]]
    nn.utils.vector_to_parameters(ig.asarray([5.0, 6.0]), [w])
    assert w.requires_grad
    assert w.is_leaf
    assert w.detach().tolist() == [[5.0, 6.0]]
    w = ig.zeros((1, 2))
    ig.jit(lambda v: nn.utils.vector_to_parameters(v, [w]))(ig.asarray([7.0, 8.0]))
    assert w.tolist() == [[7.0, 8.0]]


# --- lazy layers -----------------------------------------------------------------------------------------------------

LAZY: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "linear": (lambda: nn.LazyLinear(4, False, key=KEY), lambda: nn.Linear(3, 4, False, key=KEY), (2, 3)),
    "conv1": (lambda: nn.LazyConv1d(4, 3, key=KEY), lambda: nn.Conv1d(2, 4, 3, key=KEY), (1, 2, 5)),
    "conv2": (
        lambda: nn.LazyConv2d(4, (3, 2), padding=1, groups=2, key=KEY),
        lambda: nn.Conv2d(2, 4, (3, 2), padding=1, groups=2, key=KEY),
        (1, 2, 5, 4),
    ),
    "conv3": (lambda: nn.LazyConv3d(1, 2, key=KEY), lambda: nn.Conv3d(2, 1, 2, key=KEY), (2, 3, 3, 3)),
    "transpose1": (
        lambda: nn.LazyConvTranspose1d(4, 3, key=KEY),
        lambda: nn.ConvTranspose1d(2, 4, 3, key=KEY),
        (1, 2, 5),
    ),
    "transpose2": (
        lambda: nn.LazyConvTranspose2d(4, 3, 2, key=KEY),
        lambda: nn.ConvTranspose2d(2, 4, 3, 2, key=KEY),
        (1, 2, 5, 4),
    ),
    "transpose3": (
        lambda: nn.LazyConvTranspose3d(1, 2, key=KEY),
        lambda: nn.ConvTranspose3d(2, 1, 2, key=KEY),
        (1, 2, 2, 2, 2),
    ),
    "batch1": (lambda: nn.LazyBatchNorm1d(1e-3), lambda: nn.BatchNorm1d(3, 1e-3), (4, 3)),
    "batch2": (lambda: nn.LazyBatchNorm2d(), lambda: nn.BatchNorm2d(3), (4, 3, 2, 2)),
    "batch3": (lambda: nn.LazyBatchNorm3d(momentum=None), lambda: nn.BatchNorm3d(3, momentum=None), (4, 3, 2, 1, 2)),
    "instance1": (lambda: nn.LazyInstanceNorm1d(affine=True), lambda: nn.InstanceNorm1d(3, affine=True), (4, 3, 5)),
    "instance2": (
        lambda: nn.LazyInstanceNorm2d(track_running_stats=True),
        lambda: nn.InstanceNorm2d(3, track_running_stats=True),
        (4, 3, 2, 2),
    ),
    "instance3": (lambda: nn.LazyInstanceNorm3d(), lambda: nn.InstanceNorm3d(3), (4, 3, 2, 2, 2)),
}


@pytest.mark.parametrize("name", LAZY)
def test_lazy_layers_become_their_plain_counterparts(name: str) -> None:
    lazy, plain, shape = LAZY[name]
    layer, wanted, x = lazy(), plain(), ig.random.normal(ig.random.key(3), shape)
    assert list(layer.parameters()) == []
    assert repr(layer).startswith(f"Lazy{type(wanted).__name__}(")
    assert np.array_equal(layer(x), wanted(x))
    assert type(layer) is type(wanted)
    assert repr(layer) == repr(wanted)
    state, own = wanted.state_dict(), layer.state_dict()
    assert list(state) == list(own)
    assert all(np.array_equal(own[key], state[key]) for key in state)
    assert [key for key, _ in layer.named_parameters()] == [key for key, _ in wanted.named_parameters()]
    np.testing.assert_allclose(ig.jit(layer)(x), wanted(x), rtol=1e-5, atol=1e-6)
    assert nn.functional_call(layer, own, x).shape == wanted(x).shape


def test_lazy_layers_in_a_model() -> None:
    keys = ig.random.split(KEY, 3)
    model = nn.Sequential(
        nn.LazyConv2d(4, 3, key=keys[0]),
        nn.LazyBatchNorm2d(),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(5, key=keys[1]),
    ).eval()
    x = ig.random.normal(keys[2], (2, 3, 6, 6))
    y = model(x)
    assert y.shape == (2, 5)
    assert not any(module.training for module in model.modules())
    assert model[4].in_features == 64
    assert [name for name, _ in model.named_parameters()] == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "4.weight",
        "4.bias",
    ]
    np.testing.assert_allclose(ig.jit(model)(x), y, rtol=1e-5, atol=1e-6)
    _, grads = nn.value_and_grad(model, lambda x: ig.sum(model(x) ** 2))(x)
    assert grads["4.weight"].shape == (5, 64)
    # What it is trained by after its first call.
    opt = ig.optim.SGD(model, lr=0.1)
    before = np.array(model[4].weight)
    opt.step(grads)
    assert not np.array_equal(before, model[4].weight)
    with pytest.raises(TypeError, match="missing a required argument: 'out_features'"):
        nn.LazyLinear(key=KEY)
    with pytest.raises(TypeError, match="unexpected keyword argument 'wide'"):
        nn.LazyLinear(3, wide=4, key=KEY)


# --- more than torch's numbers ---------------------------------------------------------------------------------------


def test_symbolic_sizes() -> None:
    x = ig.random.normal(KEY, (5, 4))
    labels = ig.asarray([0, 1, 2, 3, 1])

    def loss(x: Any, labels: Any) -> Any:
        y = F.layer_norm(F.gelu(x), (4,))
        return F.cross_entropy(y, labels, ig.ones(4), label_smoothing=0.1)

    n = ig.Dim("n")
    traced = ig.trace(loss, x, labels, dynamic_shapes=({0: n}, {0: n}))
    for count in (5, 3):
        np.testing.assert_allclose(traced(x[:count], labels[:count]), loss(x[:count], labels[:count]), rtol=1e-6)


def test_under_vmap() -> None:
    x, w = ig.random.normal(KEY, (3, 2, 4, 6, 6)), ig.random.normal(KEY, (3, 5, 4, 3, 3))
    y = ig.vmap(lambda x, w: F.max_pool2d(F.relu(F.conv2d(x, w)), 2))(x, w)
    for i in range(3):
        np.testing.assert_allclose(y[i], F.max_pool2d(F.relu(F.conv2d(x[i], w[i])), 2), rtol=1e-5, atol=1e-6)


def test_adaptive_pools_find_the_first_of_equal_elements() -> None:
    y, at = F.adaptive_max_pool2d(ig.ones((1, 5, 5)), 2, return_indices=True)
    assert at.tolist() == [[[0, 2], [10, 12]]]
    assert y.tolist() == [[[1.0, 1.0], [1.0, 1.0]]]


# --- errors ----------------------------------------------------------------------------------------------------------

IMAGE, P = ig.ones((1, 2, 4, 4)), ig.ones((3, 2))


def lazy_in_jit() -> None:
    model = nn.Sequential(nn.LazyLinear(2, key=KEY))
    ig.jit(lambda x: model(x))(ig.ones((3, 4)))


ERRORS: dict[str, Callable[[], Any]] = {
    "dropout share": lambda: F.dropout(IMAGE, 1.5, key=KEY),
    "dropout key": lambda: F.dropout2d(IMAGE, 0.5),
    "rrelu key": lambda: F.rrelu(IMAGE, training=True),
    "gumbel key": lambda: F.gumbel_softmax(IMAGE),
    "attention key": lambda: F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, dropout_p=0.5),
    "attention masks": lambda: F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, ig.asarray(MASK), is_causal=True),
    "attention heads": lambda: F.scaled_dot_product_attention(
        ig.ones((3, 2, 2)), IMAGE[0, :, :2, :2], IMAGE[0, :, :2, :2], enable_gqa=True
    ),
    "heads": lambda: F.multi_head_attention_forward(
        *[ig.ones((3, 4))] * 3, 4, 3, ig.ones((12, 4)), None, None, None, False, 0.0, ig.ones((4, 4)), None
    ),
    "heads key": lambda: F.multi_head_attention_forward(
        *[ig.ones((3, 4))] * 3, 4, 2, ig.ones((12, 4)), None, None, None, False, 0.1, ig.ones((4, 4)), None
    ),
    "conv rank": lambda: F.conv2d(ig.ones((2, 4)), ig.ones((2, 2, 3, 3))),
    "conv numbers": lambda: F.conv1d(ig.ones((1, 2, 4)), ig.ones((2, 2, 3)), stride=(1, 1)),
    "conv padding": lambda: F.conv1d(ig.ones((1, 2, 4)), ig.ones((2, 2, 3)), stride=2, padding="same"),
    "conv weight": lambda: F.conv2d(IMAGE, ig.ones((2, 2, 3)), padding="same"),
    "pool rank": lambda: F.avg_pool3d(ig.ones((2, 4)), 2),
    "pad mode": lambda: F.pad(IMAGE, (1, 1), mode="symmetric"),
    "pad numbers": lambda: F.pad(IMAGE, (1, 1, 1)),
    "pad value": lambda: F.pad(IMAGE, (1, 1), mode="circular", value=1.0),
    "resize mode": lambda: F.interpolate(IMAGE, 3, mode="cubic"),
    "resize rank": lambda: F.interpolate(IMAGE, 3, mode="linear"),
    "resize corners": lambda: F.interpolate(IMAGE, 3, align_corners=True),
    "resize smooth": lambda: F.interpolate(IMAGE, 3, mode="area", antialias=True),
    "resize numbers": lambda: F.interpolate(IMAGE, (3, 3, 3)),
    "resize to nothing": lambda: F.interpolate(IMAGE, scale_factor=0.1),
    "shuffle": lambda: F.pixel_shuffle(IMAGE, 2),
    "unshuffle": lambda: F.pixel_unshuffle(IMAGE, 3),
    "resize sizes": lambda: F.interpolate(IMAGE),
    "grid mode": lambda: F.grid_sample(ig.ones((1, 2, 3, 3, 3)), ig.ones((1, 2, 2, 2, 3)), mode="bicubic"),
    "grid padding": lambda: F.grid_sample(IMAGE, ig.ones((1, 2, 2, 2)), padding_mode="edge"),
    "grid shape": lambda: F.grid_sample(IMAGE, ig.ones((2, 2, 2, 2))),
    "theta": lambda: F.affine_grid(ig.ones((1, 3, 3)), (1, 1, 4, 4)),
    "layer norm": lambda: F.layer_norm(IMAGE, (2,)),
    "rms norm": lambda: F.rms_norm(IMAGE, (2, 4)),
    "batch norm": lambda: F.batch_norm(IMAGE, None, None),
    "instance norm": lambda: F.instance_norm(IMAGE, use_input_stats=False),
    "table in grad": lambda: ig.grad(lambda w: ig.sum(F.embedding_bag(ig.asarray([[1]]), w, max_norm=1.0)))(P),
    "bag mode": lambda: F.embedding_bag(ig.asarray([[1]]), IMAGE[0, 0], mode="median"),
    "bag offsets": lambda: F.embedding_bag(ig.asarray([1]), IMAGE[0, 0]),
    "bag weights": lambda: F.embedding_bag(ig.asarray([[1]]), IMAGE[0, 0], per_sample_weights=ig.ones(1)),
    "loss shapes": lambda: F.mse_loss(IMAGE, ig.ones(3)),
    "loss weights": lambda: F.l1_loss(IMAGE, IMAGE, weight=ig.ones(4)),
    "loss reduction": lambda: F.cross_entropy(IMAGE[0, 0], IMAGE[0, 0], reduction="average"),
    "loss shares": lambda: F.cross_entropy(IMAGE[0, 0], ig.ones(4)),
    "norm not finite": lambda: clipped_infinity(),
    "vector": lambda: nn.utils.vector_to_parameters(ig.ones(3), [ig.ones(2)]),
    "lazy key": lambda: nn.LazyConv2d(3, 3),
    "lazy norm key": lambda: nn.LazyBatchNorm1d(key=KEY),
    "lazy rank": lambda: nn.LazyConv2d(3, 3, key=KEY)(ig.ones((2, 2))),
    "lazy in jit": lazy_in_jit,
    "lazy in grad": lambda: ig.grad(lambda x: ig.sum(nn.LazyLinear(3, key=KEY)(x)))(ig.ones(2)),
}


def clipped_infinity() -> None:
    w = ig.ones(2).requires_grad_()
    w.grad = ig.asarray([1.0, ig.inf])
    nn.utils.clip_grad_norm_(w, 1.0, error_if_nonfinite=True)


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("nn_functional_errors.txt"))
