"""Writes torch_more.npz: what more of torch's layers, losses, optimisers and schedulers give, for
tests/python/test_nn_more.py.

Run it where torch 2.13 is installed: python tests/data/record_torch_more.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.optim import lr_scheduler

Out = dict[str, np.ndarray]

LAYERS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "unfold": (lambda: nn.Unfold((2, 3), dilation=(1, 2), padding=(1, 0), stride=(2, 1)), [(2, 3, 5, 7)]),
    "unfold_alone": (lambda: nn.Unfold(2), [(3, 4, 4)]),
    "fold": (lambda: nn.Fold((5, 7), (2, 3), dilation=(1, 2), padding=(1, 0), stride=(2, 1)), [(2, 18, 9)]),
    "fold_alone": (lambda: nn.Fold(4, 2, stride=2), [(8, 4)]),
    "lrn": (lambda: nn.LocalResponseNorm(3, 0.5, 0.6, 2.0), [(2, 5, 4)]),
    "lrn_even": (lambda: nn.LocalResponseNorm(4), [(2, 5, 3, 2)]),
    "lp1": (lambda: nn.LPPool1d(3, 2), [(2, 3, 7)]),
    "lp2": (lambda: nn.LPPool2d(2, (2, 3), stride=1), [(2, 3, 5, 6)]),
    "lp3": (lambda: nn.LPPool3d(1.0, 2), [(1, 2, 4, 4, 5)]),
    "channel_shuffle": (lambda: nn.ChannelShuffle(3), [(2, 6, 2, 2)]),
    "nearest2d": (lambda: nn.UpsamplingNearest2d(scale_factor=2), [(1, 2, 3, 2)]),
    "bilinear2d": (lambda: nn.UpsamplingBilinear2d(size=(5, 7)), [(1, 2, 3, 4)]),
    "threshold": (lambda: nn.Threshold(0.2, -3.0), [(20,)]),
    "softmax2d": (lambda: nn.Softmax2d(), [(2, 3, 2, 2)]),
    "rrelu": (lambda: nn.RReLU(0.1, 0.4).eval(), [(20,)]),
}
WINDOWS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "max1": (lambda: nn.MaxPool1d(3, 2, 1, 2, False, True), (2, 3, 10)),
    "max2": (lambda: nn.MaxPool2d((3, 2), (2, 3), (1, 0), (1, 2), ceil_mode=True), (2, 2, 8, 9)),
    "max_beyond": (lambda: nn.MaxPool2d(1, 3, ceil_mode=True), (1, 2, 8, 7)),
    "avg1": (lambda: nn.AvgPool1d(3, 2, 1, True), (2, 3, 10)),
    "avg2": (lambda: nn.AvgPool2d((3, 2), (2, 3), (1, 1), True, False), (2, 2, 8, 6)),
    "avg2_divisor": (lambda: nn.AvgPool2d(2, 2, 0, True, True, 3), (2, 2, 5, 4)),
    "avg3": (lambda: nn.AvgPool3d(3, 2, 1, True), (1, 2, 4, 6, 5)),
    "lp": (lambda: nn.LPPool2d(2, 3, 2, True), (1, 2, 6, 8)),
    "indices": (lambda: nn.MaxPool2d(3, 2, 1, 2, True, True), (2, 2, 8, 9)),
}
# The steps that are not taken, as a gradient overflows.
OVERFLOWS = (1, 2, 7)
BAGS: dict[str, dict[str, Any]] = {
    "sum": {"mode": "sum"},
    "mean": {"mode": "mean"},
    "max": {"mode": "max"},
    "sum_padded": {"mode": "sum", "padding_idx": 2},
    "mean_padded": {"mode": "mean", "padding_idx": -4},
    "max_padded": {"mode": "max", "padding_idx": 2},
    "last_offset": {"mode": "mean", "include_last_offset": True},
}
OPTIMIZERS: dict[str, Any] = {
    "rprop": lambda p: torch.optim.Rprop(p, lr=0.1, etas=(0.4, 1.3), step_sizes=(1e-3, 0.25)),
    "asgd": lambda p: torch.optim.ASGD(p, lr=0.1, lambd=0.02, t0=2.0, weight_decay=0.1),
    "groups": lambda p: torch.optim.SGD(
        [{"params": p[:1]}, {"params": p[1:], "lr": 0.3, "momentum": 0.5, "weight_decay": 0.2}], lr=0.1, momentum=0.9
    ),
    "adam_groups": lambda p: torch.optim.Adam(
        [{"params": p[:1], "betas": (0.5, 0.6)}, {"params": p[1:], "lr": 0.3}], lr=0.1, weight_decay=0.01
    ),
}
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
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.8, 2, 3, "triangular2", cycle_momentum=False),
    "CyclicLR_exp": lambda o: lr_scheduler.CyclicLR(
        o, [0.1, 0.2], [0.8, 0.9], 3, mode="exp_range", gamma=0.9, cycle_momentum=False
    ),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, [1.0, 2.0], 14, cycle_momentum=False),
    "OneCycleLR_three": lambda o: lr_scheduler.OneCycleLR(
        o, 1.0, epochs=2, steps_per_epoch=7, anneal_strategy="linear", three_phase=True, cycle_momentum=False
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


def arrays_of(module: nn.Module, name: str, out: Out) -> None:
    out.update({f"{name}/p/{n}": p.detach().numpy().copy() for n, p in module.state_dict().items()})


def layers(out: Out) -> None:
    for name, (make, shapes) in LAYERS.items():
        inputs = [torch.randn(shape) for shape in shapes]
        if name.startswith("lp"):
            inputs = [x.abs() for x in inputs]
        out.update({f"{name}/x{i}": x.numpy() for i, x in enumerate(inputs)})
        out[f"{name}/y"] = make()(*inputs).numpy()


def pools(out: Out) -> None:
    for name, pool, unpool, shape in (
        ("1", nn.MaxPool1d(3, 2, 1, return_indices=True), nn.MaxUnpool1d(3, 2, 1), (2, 3, 9)),
        ("2", nn.MaxPool2d((2, 3), (2, 3), return_indices=True), nn.MaxUnpool2d((2, 3), (2, 3)), (2, 2, 4, 6)),
        ("3", nn.MaxPool3d(2, return_indices=True), nn.MaxUnpool3d(2), (1, 2, 4, 2, 4)),
    ):
        x = torch.randn(shape)
        y, indices = pool(x)
        out[f"pools/x{name}"], out[f"pools/y{name}"], out[f"pools/i{name}"] = x.numpy(), y.numpy(), indices.numpy()
        out[f"pools/back{name}"] = unpool(y, indices).numpy()
    x = torch.randn(1, 2, 5, 5)
    y, indices = nn.functional.max_pool2d(x, 2, return_indices=True)
    out["pools/xs"], out["pools/backs"] = x.numpy(), nn.MaxUnpool2d(2)(y, indices, output_size=(5, 5)).numpy()


def adaptive(out: Out) -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, head_bias=True)
    x, target = torch.randn(6, 8), torch.tensor([0, 3, 4, 9, 10, 19])
    arrays_of(layer, "adaptive", out)
    out["adaptive/x"], out["adaptive/target"] = x.numpy(), target.numpy()
    result = layer(x, target)
    out["adaptive/output"], out["adaptive/loss"] = result.output.detach().numpy(), result.loss.detach().numpy()
    out["adaptive/all"], out["adaptive/best"] = layer.log_prob(x).detach().numpy(), layer.predict(x).numpy()


def transformers(out: Out) -> None:
    for name, options in {
        "after": {},
        "before": {"norm_first": True, "batch_first": True, "activation": "gelu", "bias": False},
    }.items():
        model = nn.Transformer(8, 2, 2, 2, 12, dropout=0.0, **options)
        for p in model.parameters():
            nn.init.normal_(p, std=0.4)
        first = "batch_first" in options
        src, tgt = torch.randn(2, 5, 8), torch.randn(2, 3, 8)
        if not first:
            src, tgt = src.transpose(0, 1), tgt.transpose(0, 1)
        masks = {
            "tgt_mask": torch.triu(torch.ones(3, 3, dtype=torch.bool), 1),
            "memory_mask": torch.rand(3, 5) > 0.8,
            "src_key_padding_mask": torch.tensor([[False] * 5, [False] * 3 + [True] * 2]),
            "tgt_key_padding_mask": torch.tensor([[False] * 3, [False, False, True]]),
        }
        masks["memory_mask"][:, 0] = False
        masks["memory_key_padding_mask"] = masks["src_key_padding_mask"]
        arrays_of(model, f"transformer.{name}", out)
        out[f"transformer.{name}/src"], out[f"transformer.{name}/tgt"] = src.numpy(), tgt.numpy()
        out.update({f"transformer.{name}/call/{k}": v.numpy() for k, v in masks.items()})
        out[f"transformer.{name}/y"] = model(src, tgt, **masks).detach().numpy()


def bags(out: Out) -> None:
    indices, offsets = torch.tensor([1, 2, 4, 5, 4, 3, 2, 0, 1]), torch.tensor([0, 4, 4, 6])
    weights = torch.randn(9)
    out["bags/indices"], out["bags/offsets"], out["bags/weights"] = indices.numpy(), offsets.numpy(), weights.numpy()
    for name, options in BAGS.items():
        bag = nn.EmbeddingBag(6, 3, **options)
        nn.init.normal_(bag.weight)
        out[f"bags.{name}/start"] = bag.weight.detach().numpy().copy()
        calls = {
            "row": (indices, torch.cat([offsets, torch.tensor([9])]) if "include_last_offset" in options else offsets),
            "table": (indices.reshape(3, 3),),
        }
        if name == "sum":
            calls["weighted"] = (indices, offsets, weights)
        for call, args in calls.items():
            bag.weight.grad = None
            y = bag(*args)
            (y * torch.arange(y.numel()).reshape(y.shape)).sum().backward()
            out[f"bags.{name}/{call}"], out[f"bags.{name}/{call}_grad"] = y.detach().numpy(), bag.weight.grad.numpy()


def ctc(out: Out) -> None:
    logits = torch.randn(7, 4, 5, dtype=torch.float64)
    targets = torch.tensor([[1, 2, 2, 4], [3, 3, 3, 3], [4, 1, 0, 0], [1, 1, 1, 1]])
    lengths, counts = (7, 7, 5, 6), (4, 2, 2, 0)
    impossible = (7, 3, 5, 6)
    out["ctc/logits"], out["ctc/targets"] = logits.numpy(), targets.numpy()

    def run(name: str, x: torch.Tensor, *args: Any, **options: Any) -> None:
        x = x.clone().requires_grad_()
        y = functional.ctc_loss(functional.log_softmax(x, -1), *args, **options)
        out[f"ctc/{name}"] = y.detach().numpy()
        y.sum().backward()
        out[f"ctc/{name}_grad"] = x.grad.numpy()

    for reduction in ("none", "mean", "sum"):
        run(reduction, logits, targets, lengths, counts, reduction=reduction)
    run("blank", logits, (targets + 4) % 5, lengths, counts, blank=4)
    row = torch.cat([targets[i, :n] for i, n in enumerate(counts)])
    out["ctc/row"] = row.numpy()
    run("in_a_row", logits, row, lengths, counts)
    run("alone", logits[:, 0], targets[0], (7,), (4,), reduction="none")
    run("zeroed", logits, targets, impossible, (4, 4, 2, 0), reduction="none", zero_infinity=True)
    with torch.no_grad():
        log_p = functional.log_softmax(logits, -1)
        y = functional.ctc_loss(log_p, targets, impossible, (4, 4, 2, 0), reduction="none")
    out["ctc/infinite"] = y.numpy()


def losses(out: Out) -> None:
    x, other, third = torch.randn(6, 4), torch.randn(6, 4), torch.randn(6, 4)
    labels, many = torch.tensor([0, 1, 3, 3, 2, 1]), torch.tensor([[3, 0, -1, 1], [-1, 0, 0, 0], [1, 2, 3, 0]])
    weight = torch.rand(4)
    given = {"x": x, "other": other, "third": third, "labels": labels, "many": many, "weight": weight}
    out.update({f"losses/{name}": value.numpy() for name, value in given.items()})
    results = {
        "multi_margin": functional.multi_margin_loss(x, labels),
        "multi_margin_2": functional.multi_margin_loss(x, labels, p=2, margin=0.7, weight=weight, reduction="sum"),
        "multilabel_margin": functional.multilabel_margin_loss(x[:3], many),
        "multilabel_margin_none": functional.multilabel_margin_loss(x[:3], many, reduction="none"),
        "triplet": functional.triplet_margin_with_distance_loss(x, other, third, margin=0.5, swap=True),
    }
    out.update({f"losses/{name}": value.numpy() for name, value in results.items()})


def optimizers(out: Out) -> None:
    start, grads = torch.randn(2, 5), torch.randn(6, 2, 5)
    out["optim/start"], out["optim/grads"] = start.numpy(), grads.numpy()
    for name, make in OPTIMIZERS.items():
        params = [nn.Parameter(row.clone()) for row in start]
        optimizer = make(params)
        for g in grads:
            for p, row in zip(params, g, strict=True):
                p.grad = row.clone()
            optimizer.step()
        out[f"optim/{name}"] = torch.stack(params).detach().numpy()
        if name == "asgd":
            out["optim/asgd_mean"] = torch.stack([optimizer.state[p]["ax"] for p in params]).numpy()


def matrices(out: Out) -> None:
    shapes = [(4, 3), (3, 5), (6,), (2, 3, 4)]
    starts, grads = [torch.randn(s) for s in shapes], [[torch.randn(s) for s in shapes] for _ in range(4)]
    for i, start in enumerate(starts):
        out[f"matrices/start{i}"] = start.numpy()
        out[f"matrices/grads{i}"] = torch.stack([g[i] for g in grads]).numpy()
    for name, make, count in (
        ("adafactor", lambda p: torch.optim.Adafactor(p, lr=0.3, weight_decay=0.1), 4),
        ("adafactor_eps", lambda p: torch.optim.Adafactor(p, lr=0.3, beta2_decay=-0.5, eps=(1e-3, 0.5), d=1.5), 4),
        ("muon", lambda p: torch.optim.Muon(p, lr=0.1), 2),
        ("muon_rms", lambda p: torch.optim.Muon(p, 0.1, nesterov=False, adjust_lr_fn="match_rms_adamw"), 2),
    ):
        params = [nn.Parameter(start.clone()) for start in starts[:count]]
        optimizer = make(params)
        for step in grads:
            for p, g in zip(params, step, strict=False):
                p.grad = g.clone()
            optimizer.step()
        out.update({f"matrices/{name}{i}": p.detach().numpy() for i, p in enumerate(params)})


def in_float32(out: Out) -> None:
    """Muon's steps without the noise of bfloat16."""
    narrow = torch.Tensor.bfloat16
    torch.Tensor.bfloat16 = torch.Tensor.clone
    try:
        wide: Out = {}
        torch.manual_seed(1)
        matrices(wide)
    finally:
        torch.Tensor.bfloat16 = narrow
    out.update(wide)


def lbfgs(out: Out) -> None:
    for search in ("strong_wolfe", None):
        w = nn.Parameter(torch.tensor([-1.5, 2.0, 0.5], dtype=torch.float64))
        options = {"lr": 1.0 if search else 1e-3, "max_iter": 5, "history_size": 3, "line_search_fn": search}
        optimizer, values = torch.optim.LBFGS([w], **options), []

        def closure(optimizer: Any = optimizer, w: Any = w) -> torch.Tensor:
            optimizer.zero_grad()
            loss = (1 - w[:-1]).square().sum() + 100 * (w[1:] - w[:-1].square()).square().sum()
            loss.backward()
            return loss

        for _ in range(6):
            optimizer.step(closure)
            values.append(w.detach().numpy().copy())
        state = optimizer.state[w]
        out[f"lbfgs/{search}"] = np.stack(values)
        out[f"lbfgs/{search}_counts"] = np.array([state["n_iter"], state["func_evals"]])


def schedulers(out: Out) -> None:
    for name, make in SCHEDULERS.items():
        params = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
        optimizer = torch.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.2}], lr=0.5)
        scheduler, rates = make(optimizer), []
        for _ in range(13):
            rates.append([group["lr"] for group in optimizer.param_groups])
            optimizer.step()
            scheduler.step()
        out[f"schedulers/{name}"] = np.array(rates)


def windows(out: Out) -> None:
    for name, (make, shape) in WINDOWS.items():
        x = torch.randn(shape)
        given = make()(x)
        results = given if isinstance(given, tuple) else (given,)
        out[f"windows/{name}/x"] = x.numpy()
        out.update({f"windows/{name}/y{i}": y.numpy() for i, y in enumerate(results)})


def scaler(out: Out) -> None:
    for name, make in (
        ("sgd", lambda w: torch.optim.SGD([w], 0.1, 0.9)),
        ("adam", lambda w: torch.optim.Adam([w], 0.1)),
    ):
        w = nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
        optimizer, scale = make(w), torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
        values, scales = [], []
        for step in range(12):
            optimizer.zero_grad()
            share = torch.tensor([1.0, 0.5, torch.inf if step in OVERFLOWS else 0.25])
            scale.scale((w * w * share).sum()).backward()
            scale.step(optimizer)
            scale.update()
            values.append(w.detach().numpy().copy())
            scales.append(scale.get_scale())
        out[f"scaler/{name}"], out[f"scaler/{name}_scales"] = np.stack(values), np.array(scales)


def main() -> None:
    torch.manual_seed(0)
    out: Out = {}
    parts = (
        layers,
        transformers,
        bags,
        ctc,
        losses,
        optimizers,
        lbfgs,
        schedulers,
        in_float32,
        pools,
        adaptive,
        windows,
    )
    for part in (*parts, scaler):
        part(out)
    np.savez_compressed(Path(__file__).with_name("torch_more.npz"), **out)


if __name__ == "__main__":
    main()
