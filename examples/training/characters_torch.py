"""The model of characters.py in torch, from the same first weights and on the same batches; writes its curve.

    python examples/training/characters_torch.py weights.safetensors

where characters.py's first weights were saved; needs torch 2.13 and safetensors.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch
from characters_text import CONTEXT, FEATURES, HEADS, LAYERS, batches, load
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

STEPS = 1000


def layer_of(weights: dict[str, torch.Tensor], name: str) -> nn.Module:
    layer = nn.TransformerEncoderLayer(FEATURES, HEADS, 4 * FEATURES, 0.0, "gelu", batch_first=True, norm_first=True)
    layer.load_state_dict({k.removeprefix(name + "."): v for k, v in weights.items() if k.startswith(name + ".")})
    return layer


def main() -> None:
    text, _ = load()
    w = load_file(sys.argv[1])
    layers = nn.ModuleList(layer_of(w, f"layers.{i}") for i in range(LAYERS))
    names = ("letters.weight", "places.weight", "norm.weight", "norm.bias", "head.weight", "head.bias")
    rest = nn.ParameterDict({n.replace(".", "_"): nn.Parameter(w[n]) for n in names})
    parameters = [*layers.parameters(), *rest.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.0)

    def rate(step: int) -> float:
        if step < 50:
            return step / 50
        return 0.5 * (1 + float(torch.cos(torch.tensor(torch.pi * min((step - 50) / (STEPS - 50), 1)))))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    behind = nn.Transformer.generate_square_subsequent_mask(CONTEXT)
    losses, start = [], time.perf_counter()
    for x, y in batches(text, STEPS):
        h = functional.embedding(torch.from_numpy(x), rest["letters_weight"]) * 0.1 + rest["places_weight"] * 0.1
        for layer in layers:
            h = layer(h, src_mask=behind, is_causal=True)
        h = functional.layer_norm(h, (FEATURES,), rest["norm_weight"], rest["norm_bias"])
        logits = functional.linear(h, rest["head_weight"], rest["head_bias"])
        loss = functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(y).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(round(loss.item(), 5))
    print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr)
    final = round(sum(losses[-50:]) / 50, 4)
    out = {"torch": torch.__version__, "final": final, "losses": losses}
    Path(__file__).with_name("characters_torch.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main()
