"""Writes torch_layers.npz: what torch's layers, losses and optimisers give, for tests/python/test_nn.py.

Run it where torch 2.13 is installed: python tests/data/record_torch_layers.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

LAYERS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "lstm": (lambda: torch.nn.LSTM(3, 5, 2, bidirectional=True), [(7, 2, 3)]),
    "gru": (lambda: torch.nn.GRU(3, 5), [(7, 2, 3)]),
    "rnn": (lambda: torch.nn.RNN(3, 5), [(7, 2, 3)]),
    "batch_norm": (lambda: torch.nn.BatchNorm2d(3), [(4, 3, 5, 5)]),
    "conv": (lambda: torch.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), [(2, 4, 7, 8)]),
    "group_norm": (lambda: torch.nn.GroupNorm(2, 4), [(2, 4, 5)]),
    "instance_norm": (lambda: torch.nn.InstanceNorm1d(4, affine=True, track_running_stats=True), [(2, 4, 5)]),
    "conv_transpose1": (lambda: torch.nn.ConvTranspose1d(4, 6, 3, stride=2, groups=2), [(2, 4, 7)]),
    "conv_transpose2": (
        lambda: torch.nn.ConvTranspose2d(
            3, 2, (3, 2), stride=(2, 3), padding=1, output_padding=(1, 2), dilation=(1, 2)
        ),
        [(2, 3, 5, 4)],
    ),
    "bilinear": (lambda: torch.nn.Bilinear(3, 4, 2), [(5, 3), (5, 4)]),
    "prelu": (lambda: torch.nn.PReLU(3), [(2, 3, 4)]),
    "adaptive_avg": (lambda: torch.nn.AdaptiveAvgPool2d((3, 2)), [(2, 3, 7, 4)]),
    "adaptive_max": (lambda: torch.nn.AdaptiveMaxPool1d(4), [(2, 3, 9)]),
    "avg_pool": (lambda: torch.nn.AvgPool3d(2, 1, 1, count_include_pad=False), [(1, 2, 3, 4, 3)]),
    "max_pool": (lambda: torch.nn.MaxPool3d(2), [(1, 2, 4, 4, 5)]),
    "reflection": (lambda: torch.nn.ReflectionPad2d((1, 2, 0, 3)), [(1, 2, 5, 4)]),
    "replication": (lambda: torch.nn.ReplicationPad1d((2, 1)), [(1, 2, 5)]),
    "circular": (lambda: torch.nn.CircularPad1d((2, 1)), [(1, 2, 5)]),
    "constant": (lambda: torch.nn.ConstantPad2d((1, 0, 2, -1), 3.5), [(1, 2, 5, 4)]),
    "shuffle": (lambda: torch.nn.PixelShuffle(2), [(1, 8, 3, 2)]),
    "unshuffle": (lambda: torch.nn.PixelUnshuffle(2), [(1, 2, 4, 6)]),
    "nearest": (lambda: torch.nn.Upsample(size=(7, 4)), [(1, 2, 5, 3)]),
    "bilinear_up": (lambda: torch.nn.Upsample(scale_factor=2.5, mode="bilinear"), [(1, 2, 4, 3)]),
    "aligned_up": (lambda: torch.nn.Upsample(size=9, mode="linear", align_corners=True), [(1, 2, 4)]),
    "unflatten": (lambda: torch.nn.Unflatten(1, (2, -1)), [(3, 6, 2)]),
    "softplus": (lambda: torch.nn.Softplus(2.0, 3.0), [(20,)]),
    "hardtanh": (lambda: torch.nn.Hardtanh(-0.5, 0.75), [(20,)]),
    "celu": (lambda: torch.nn.CELU(0.7), [(20,)]),
    "selu": (lambda: torch.nn.SELU(), [(20,)]),
    "leaky": (lambda: torch.nn.LeakyReLU(0.2), [(20,)]),
    "softmin": (lambda: torch.nn.Softmin(dim=0), [(4, 3)]),
    "softsign": (lambda: torch.nn.Softsign(), [(20,)]),
    "tanhshrink": (lambda: torch.nn.Tanhshrink(), [(20,)]),
    "softshrink": (lambda: torch.nn.Softshrink(0.3), [(20,)]),
    "hardshrink": (lambda: torch.nn.Hardshrink(0.3), [(20,)]),
    "cosine": (lambda: torch.nn.CosineSimilarity(dim=1), [(3, 4), (3, 4)]),
    "distance": (lambda: torch.nn.PairwiseDistance(3.0), [(3, 4), (3, 4)]),
}
# Constructors of attention layers, and how each is called: kinds of arguments by name.
ATTENTION: dict[str, dict[str, Any]] = {
    "plain": {"batch_first": True},
    "length_first": {},
    "self": {"batch_first": True, "same": True},
    "unbatched": {"unbatched": True, "padding": "bool"},
    "bool_mask": {"batch_first": True, "mask": "bool", "padding": "bool"},
    "float_mask": {"mask": "float", "padding": "float"},
    "mask_of_heads": {"batch_first": True, "mask": "heads", "need_weights": False},
    "each_head": {"batch_first": True, "average_attn_weights": False},
    "causal": {"batch_first": True, "same": True, "causal": True, "need_weights": False},
    "other_sizes": {"batch_first": True, "kdim": 5, "vdim": 6},
    "biases": {"batch_first": True, "add_bias_kv": True, "add_zero_attn": True, "mask": "bool"},
    "no_bias": {"bias": False},
}
CALL = ("same", "unbatched", "mask", "padding", "causal", "need_weights", "average_attn_weights")
OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.01),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1, momentum=0.5),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "adamax": lambda p: torch.optim.Adamax(p, lr=0.1, weight_decay=0.1),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5),
    "nadam": lambda p: torch.optim.NAdam(p, lr=0.1),
    "nadamw": lambda p: torch.optim.NAdam(p, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: torch.optim.RAdam(p, lr=0.1, betas=(0.9, 0.6)),
}


def attention(name: str, options: dict[str, Any], out: dict[str, np.ndarray]) -> None:
    layer = torch.nn.MultiheadAttention(8, 2, **{k: v for k, v in options.items() if k not in CALL})
    if layer.bias_k is None and layer.in_proj_bias is not None:
        torch.nn.init.normal_(layer.in_proj_bias)
    batch, n, m = 2, 3, 3 if options.get("same") else 5
    shapes = [(batch, n, 8), (batch, m, options.get("kdim", 8)), (batch, m, options.get("vdim", 8))]
    arrays = [torch.randn(shape) for shape in shapes]
    if options.get("same"):
        arrays = [arrays[0]] * 3
    if options.get("unbatched"):
        arrays = [x[0] for x in arrays]
    elif not options.get("batch_first"):
        arrays = [x.transpose(0, 1) for x in arrays]
    call: dict[str, Any] = {k: options[k] for k in ("need_weights", "average_attn_weights") if k in options}
    if "mask" in options:
        shape = (batch * 2, n, m) if options["mask"] == "heads" else (n, m)
        mask = torch.rand(shape) > 0.6
        mask[..., 0] = False
        call["attn_mask"] = mask
        if options["mask"] == "float":
            call["attn_mask"] = torch.randn(shape).masked_fill(mask, float("-inf"))
    if "padding" in options:
        padding = torch.tensor([[False] * m, [False] * (m - 2) + [True] * 2])[: 1 if "unbatched" in options else 2]
        padding = padding.clone()
        padding[0, -1] = True
        call["key_padding_mask"] = padding[0] if "unbatched" in options else padding
        if options["padding"] == "float":
            call["key_padding_mask"] = torch.randn(padding.shape).masked_fill(padding, float("-inf"))
    if options.get("causal"):
        call |= {"attn_mask": torch.nn.Transformer.generate_square_subsequent_mask(n), "is_causal": True}
    y, weights = layer(*arrays, **call)
    out.update({f"attention.{name}/p/{n}": p.numpy().copy() for n, p in layer.state_dict().items()})
    out.update({f"attention.{name}/x{i}": x.numpy() for i, x in enumerate(arrays)})
    out.update({f"attention.{name}/call/{k}": v.numpy() for k, v in call.items() if isinstance(v, torch.Tensor)})
    out[f"attention.{name}/y"] = y.detach().numpy()
    if weights is not None:
        out[f"attention.{name}/weights"] = weights.detach().numpy()


def encoders(out: dict[str, np.ndarray]) -> None:
    for name, options in {
        "after": {},
        "before": {"norm_first": True, "batch_first": True, "activation": "gelu"},
    }.items():
        layer = torch.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, **options)
        encoder = torch.nn.TransformerEncoder(layer, 2, torch.nn.LayerNorm(8), enable_nested_tensor=False)
        for p in encoder.parameters():
            torch.nn.init.normal_(p, std=0.4)
        x = torch.randn(2, 3, 8)
        batch = x.shape[0] if options else x.shape[1]
        n = x.shape[1] if options else x.shape[0]
        padding = torch.zeros((batch, n), dtype=torch.bool)
        padding[0, -1] = True
        mask = torch.nn.Transformer.generate_square_subsequent_mask(n, dtype=torch.float32).isinf()
        out.update({f"encoder.{name}/p/{n}": p.detach().numpy().copy() for n, p in encoder.state_dict().items()})
        out[f"encoder.{name}/x"], out[f"encoder.{name}/padding"] = x.numpy(), padding.numpy()
        out[f"encoder.{name}/y"] = encoder(x, mask=mask, src_key_padding_mask=padding).detach().numpy()


def main() -> None:
    torch.manual_seed(0)
    out: dict[str, np.ndarray] = {}
    for name, (make, shapes) in LAYERS.items():
        layer, inputs = make(), [torch.randn(shape) for shape in shapes]
        out.update({f"{name}/p/{n}": p.numpy().copy() for n, p in layer.state_dict().items()})
        out.update({f"{name}/x{i}": x.numpy() for i, x in enumerate(inputs)})
        y = layer(*inputs)
        out[f"{name}/y"] = (y[0] if isinstance(y, tuple) else y).detach().numpy()
        out.update({f"{name}/after/{n}": b.numpy().copy() for n, b in layer.named_buffers()})
    start, grads = torch.randn(5), torch.randn(6, 5)
    out["optim/start"], out["optim/grads"] = start.numpy(), grads.numpy()
    for name, make in OPTIMIZERS.items():
        w = torch.nn.Parameter(start.clone())
        optimizer = make([w])
        for g in grads:
            w.grad = g.clone()
            optimizer.step()
        out[f"optim/{name}"] = w.detach().numpy()
    x, t = torch.randn(6, 4), torch.softmax(torch.randn(6, 4), -1)
    labels = torch.tensor([0, 1, -100, 3, 2, 1])
    out["loss/x"], out["loss/t"], out["loss/labels"] = x.numpy(), t.numpy(), labels.numpy()
    p, log_p = torch.sigmoid(x), functional.log_softmax(x, -1)
    losses = {
        "cross_entropy": functional.cross_entropy(x, labels, label_smoothing=0.1),
        "huber": functional.huber_loss(x, t, delta=0.5),
        "smooth_l1": functional.smooth_l1_loss(x, t, beta=0.5),
        "l1": functional.l1_loss(x, t),
        "mse": functional.mse_loss(x, t),
        "bce_logits": functional.binary_cross_entropy_with_logits(x, t, pos_weight=torch.tensor(2.0)),
        "bce": functional.binary_cross_entropy(p, t),
        "kl": functional.kl_div(log_p, t, reduction="sum"),
        "nll": functional.nll_loss(log_p, labels.clamp(min=0)),
    }
    signs, other, third = torch.sign(torch.randn(6, 4)), torch.randn(6, 4), torch.randn(6, 4)
    out["loss/signs"], out["loss/other"], out["loss/third"] = signs.numpy(), other.numpy(), third.numpy()
    images, places = torch.randn(2, 4, 3), torch.tensor([[0, 1, -100], [3, 2, 1]])
    out["loss/images"], out["loss/places"] = images.numpy(), places.numpy()
    losses |= {
        "cosine_embedding": functional.cosine_embedding_loss(x, other, signs[:, 0], margin=0.2),
        "margin_ranking": functional.margin_ranking_loss(x, other, signs, margin=0.3),
        "hinge_embedding": functional.hinge_embedding_loss(x, signs, margin=0.7),
        "soft_margin": functional.soft_margin_loss(x, signs),
        "triplet": functional.triplet_margin_loss(x, other, third, margin=0.5),
        "poisson": functional.poisson_nll_loss(x, 3 * t, full=True),
        "gaussian": functional.gaussian_nll_loss(x, t, torch.abs(other), full=True),
        "multilabel": functional.multilabel_soft_margin_loss(x, (t > 0.25).float()),
        "kl_batchmean": functional.kl_div(log_p, t, reduction="batchmean"),
        "nll_ignored": functional.nll_loss(log_p, labels),
        "of_images": functional.cross_entropy(images, places, label_smoothing=0.1),
        "nll_of_images": functional.nll_loss(images, places),
    }
    out.update({f"loss/{name}": value.numpy() for name, value in losses.items()})
    for name, options in ATTENTION.items():
        attention(name, options, out)
    encoders(out)
    w = torch.nn.Parameter(torch.zeros(1))
    plateau_of = torch.optim.SGD([w], lr=1.0)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(plateau_of, factor=0.5, patience=1, cooldown=1, threshold=0.1)
    measures, rates = [5.0, 4.0, 3.9, 3.8, 3.7, 3.65, 3.0, 2.99, 2.98, 2.97, 2.0], []
    for measure in measures:
        plateau.step(measure)
        rates.append(plateau_of.param_groups[0]["lr"])
    out["plateau/measures"], out["plateau/rates"] = np.array(measures), np.array(rates)
    restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(plateau_of, 3, 2, eta_min=0.1)
    plateau_of.param_groups[0]["initial_lr"] = 1.0
    restarts.base_lrs = [1.0]
    rates = []
    for step in range(16):
        restarts.step(step)
        rates.append(plateau_of.param_groups[0]["lr"])
    out["restarts/rates"] = np.array(rates)
    np.savez(Path(__file__).with_name("torch_layers.npz"), **out)


if __name__ == "__main__":
    main()
