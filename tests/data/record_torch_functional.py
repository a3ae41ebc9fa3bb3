"""Writes torch_functional.npz: what torch.nn.functional gives for the calls of tests/functional_cases.py, gradients of
some, and its signatures, for tests/python/test_nn_functional.py.

Run it where torch 2.13 is installed: python tests/data/record_torch_functional.py
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from functional_cases import CASES, GRADIENTS, call_of

Out = dict[str, np.ndarray]


def as_torch(value: Any) -> Any:
    return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value


def calls(out: Out) -> None:
    for name in CASES:
        function, (args, options) = call_of(name)
        own = [as_torch(arg) for arg in args]
        if name in GRADIENTS:
            own[0].requires_grad_()
        y = getattr(functional, function)(*own, **{k: as_torch(v) for k, v in options.items()})
        for i, one in enumerate(y if isinstance(y, tuple) else (y,)):
            out[f"{name}/y{i}"] = one.detach().numpy()
        if name in GRADIENTS:
            first = y[0] if isinstance(y, tuple) else y
            weights = torch.cos(torch.arange(first.numel(), dtype=first.dtype)).reshape(first.shape)
            (first * weights).sum().backward()
            out[f"{name}/grad"] = own[0].grad.numpy()


def signatures(out: Out) -> None:
    found = {}
    for name in {function for function, _ in CASES.values()}:
        function = getattr(functional, f"{name}_with_indices", None) or getattr(functional, name)
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # one of C++
            continue
        found[name] = [[p.name, None if p.default is p.empty else repr(p.default)] for p in parameters]
    out["signatures"] = np.array(json.dumps(found, sort_keys=True))


def tables(out: Out) -> None:
    torch.manual_seed(1)
    start, indices = torch.randn(6, 3) * 2, torch.tensor([[1, 4, 1], [0, 4, 5]])
    out["tables/start"], out["tables/indices"] = start.numpy(), indices.numpy()
    for name, options in {"two": {"max_norm": 1.5}, "one": {"max_norm": 2.0, "norm_type": 1.0}}.items():
        for kind, layer in (("rows", nn.Embedding(6, 3, **options)), ("bags", nn.EmbeddingBag(6, 3, **options))):
            layer.load_state_dict({"weight": start})
            y = layer(indices)
            (y * torch.arange(y.numel()).reshape(y.shape)).sum().backward()
            out[f"tables/{kind}_{name}"], out[f"tables/{kind}_{name}_grad"] = (
                y.detach().numpy(),
                layer.weight.grad.numpy(),
            )
            out[f"tables/{kind}_{name}_after"] = layer.weight.detach().numpy().copy()


def utils(out: Out) -> None:
    torch.manual_seed(0)
    grads = [torch.randn(3, 2), torch.randn(4) * 2]
    for i, grad in enumerate(grads):
        out[f"utils/grad{i}"] = grad.numpy()
    for name, clip in {
        "two": lambda p: nn.utils.clip_grad_norm_(p, 1.5),
        "inf": lambda p: nn.utils.clip_grad_norm_(p, 0.5, float("inf")),
        "wide": lambda p: nn.utils.clip_grad_norm_(p, 100.0, 1.0),
        "value": lambda p: nn.utils.clip_grad_value_(p, 0.6),
    }.items():
        parameters = [nn.Parameter(torch.zeros_like(grad)) for grad in grads]
        for parameter, grad in zip(parameters, grads, strict=True):
            parameter.grad = grad.clone()
        norm = clip(parameters)
        if norm is not None:
            out[f"utils/{name}_norm"] = norm.numpy()
        for i, parameter in enumerate(parameters):
            out[f"utils/{name}{i}"] = parameter.grad.numpy()


def main() -> None:
    out: Out = {}
    for part in (calls, signatures, tables, utils):
        part(out)
    np.savez_compressed(Path(__file__).with_name("torch_functional.npz"), **out)


if __name__ == "__main__":
    main()
