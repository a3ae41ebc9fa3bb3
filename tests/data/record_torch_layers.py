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
    "attention": (lambda: torch.nn.MultiheadAttention(8, 2, batch_first=True), [(2, 3, 8)] * 3),
    "conv": (lambda: torch.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), [(2, 4, 7, 8)]),
    "group_norm": (lambda: torch.nn.GroupNorm(2, 4), [(2, 4, 5)]),
}
OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.01),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1, momentum=0.5),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
}


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
    out.update({f"loss/{name}": value.numpy() for name, value in losses.items()})
    np.savez(Path(__file__).with_name("torch_layers.npz"), **out)


if __name__ == "__main__":
    main()
