"""A small transformer that learns to write, character by character, from the help texts that Python ships.

    python examples/training/characters.py [--steps N] [--picture FILE.svg] [--json]

The text is `pydoc_data.topics`: what `help("for")` and its like print. The same model, from the same first weights and
on the same batches, was trained in torch 2.13 beforehand (characters_torch.py, curve in characters_torch.json): the
loss to reach is stated there, and the picture lays the two curves over one another.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from characters_text import CONTEXT, FEATURES, HEADS, LAYERS, batches, load
from picture import draw

import intaglio as ig
from intaglio import nn

REFERENCE = Path(__file__).with_name("characters_torch.json")


def started(layer: nn.TransformerEncoderLayer, key: ig.Tensor) -> nn.TransformerEncoderLayer:
    """The layer with the first weights of the recorded run, in which each projection starts as a linear layer does."""
    keys = ig.random.split(key, 4)
    own = ig.random.split(keys[0], 5)
    q, k, v, out = (nn.Linear(FEATURES, FEATURES, key=own[i]) for i in range(4))
    parts = {
        "self_attn.out_proj": out,
        "linear1": nn.Linear(FEATURES, 4 * FEATURES, key=keys[1]),
        "linear2": nn.Linear(4 * FEATURES, FEATURES, key=keys[2]),
    }
    state = {f"{name}.{n}": p for name, part in parts.items() for n, p in part.named_parameters()}
    for n in ("weight", "bias"):
        state[f"self_attn.in_proj_{n}"] = ig.concat([getattr(part, n) for part in (q, k, v)], axis=0)
    return layer.load_state_dict(state, strict=False)


class Writer(nn.Module):
    """Characters [batch, n] to the logits of the next character at each place, [batch, n, letters]."""

    def __init__(self, letters: int, key: ig.Tensor) -> None:
        keys = ig.random.split(key, LAYERS + 3)
        self.letters = nn.Embedding(letters, FEATURES, key=keys[0])
        self.places = nn.Embedding(CONTEXT, FEATURES, key=keys[1])
        self.layers = [
            started(
                nn.TransformerEncoderLayer(
                    FEATURES, HEADS, 4 * FEATURES, 0.0, "gelu", batch_first=True, norm_first=True, key=k
                ),
                k,
            )
            for k in keys[2:-1]
        ]
        self.norm = nn.LayerNorm(FEATURES)
        self.head = nn.Linear(FEATURES, letters, key=keys[-1])

    def forward(self, x: ig.Tensor) -> ig.Tensor:
        h = self.letters(x) * 0.1 + self.places(ig.arange(x.shape[1])) * 0.1
        for layer in self.layers:
            h = layer(h, is_causal=True)
        return self.head(self.norm(h))

    def write(self, start: str, count: int, letters: str, key: ig.Tensor) -> str:
        """`start`, and `count` characters that the model draws behind it."""
        text = [letters.index(c) for c in start]
        logits_at = ig.jit(lambda x: self(x))
        for i in range(count):
            last = text[-CONTEXT:]
            window = np.array(last + [0] * (CONTEXT - len(last)))[None]
            logits = logits_at(ig.asarray(window))[0, len(last) - 1]
            text.append(int(ig.random.categorical(ig.random.fold_in(key, i), logits * 1.3)))
        return "".join(letters[i] for i in text)


def train(steps: int) -> tuple[dict[str, Any], Writer, str]:
    text, letters = load()
    model = Writer(len(letters), ig.random.key(0))
    optimizer = ig.optim.AdamW(model, lr=ig.optim.warmup_cosine(3e-3, 50, steps), weight_decay=0.0)

    def loss_of(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        return nn.losses.cross_entropy(model(x), y)

    @ig.jit
    def step(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        loss, grads = nn.value_and_grad(model, loss_of)(x, y)
        optimizer.step(grads)
        return loss

    start, losses = time.perf_counter(), []
    progress = ig.data.Progress(batches(text, steps), "characters", total=steps)
    for x, y in progress:
        losses.append(float(step(ig.asarray(x), ig.asarray(y))))
        progress.show(loss=losses[-1])
    result = {"losses": losses, "seconds": time.perf_counter() - start, "final": float(np.mean(losses[-50:]))}
    return result, model, letters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--picture", help="where to draw the losses")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    result, model, letters = train(options.steps)
    reference = json.loads(REFERENCE.read_text())
    if options.picture:
        curves = {"Intaglio": result["losses"], "torch 2.13": reference["losses"]}
        draw(options.picture, "a character transformer on Python's help texts", curves)
    if options.json:
        print(json.dumps(result))
        return
    print(f"{options.steps} steps in {result['seconds']:.1f} s")
    print(f"loss of the last 50 steps {result['final']:.4f}; torch {reference['final']:.4f}")
    print(model.write("The ", 200, letters, ig.random.key(1)))


if __name__ == "__main__":
    main()
