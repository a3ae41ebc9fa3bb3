"""A recurrent net that learns to spell from frames without being told which frame belongs to which letter (CTC).

Each letter of a word lasts some frames, each a noisy picture of it; sequences have their own lengths. The head trains
in a group of its own with a greater rate, both rates follow a schedule, and products may be in bfloat16.

    python examples/training/alignment.py [--steps 300] [--autocast] [--json]
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

import intaglio as ig
from intaglio import nn

LETTERS, WORD, FRAMES, FEATURES = 6, 4, 20, 8


def words(seed: int, count: int) -> dict[str, np.ndarray[Any, Any]]:
    """Frames [FRAMES, count, FEATURES], the letters (from 1 on; 0 is the blank), and how many frames count."""
    random = np.random.default_rng(seed)
    pictures = np.random.default_rng(0).standard_normal((LETTERS, FEATURES))
    frames = random.standard_normal((FRAMES, count, FEATURES)) * 0.6
    # Neighbours differ: what two equal letters look like, one long one does too.
    steps = random.integers(1, LETTERS, (count, WORD))
    letters = np.cumsum(steps, axis=1) % LETTERS + 1
    lasts = random.integers(2, 6, (count, WORD))
    lengths = lasts.sum(axis=1)
    for i in range(count):
        frames[: lengths[i], i] += pictures[np.repeat(letters[i] - 1, lasts[i])]
    return {"frames": frames.astype(np.float32), "letters": letters, "lengths": lengths}


class Speller(nn.Module):
    """Log-probabilities of the letters and of the blank at each frame."""

    def __init__(self, key: ig.Tensor) -> None:
        keys = ig.random.split(key)
        self.read = nn.LSTM(FEATURES, 24, bidirectional=True, key=keys[0])
        self.head = nn.Linear(48, LETTERS + 1, key=keys[1])

    def forward(self, frames: ig.Tensor) -> ig.Tensor:
        return ig.log_softmax(self.head(self.read(frames)[0]), axis=-1)


def spelt(model: Speller, batch: dict[str, Any]) -> list[list[int]]:
    """The likeliest letter of each frame, runs as one, without blanks."""
    best = np.asarray(ig.argmax(model(ig.asarray(batch["frames"])), axis=-1))
    out = []
    for i, length in enumerate(batch["lengths"]):
        row = best[:length, i]
        starts = np.append(True, row[1:] != row[:-1])
        out.append([int(letter) for letter in row[starts] if letter])
    return out


def train(steps: int = 300, autocast: bool = False) -> dict[str, Any]:
    model = Speller(ig.random.key(0))
    optimizer = ig.optim.Adam(
        [
            {"params": model.read.named_parameters("read")},
            {"params": model.head.named_parameters("head"), "lr": 2e-2},
        ],
        lr=1e-2,
    )
    schedule = ig.optim.lr_scheduler
    scheduler = schedule.SequentialLR(
        optimizer,
        [
            schedule.LinearLR(optimizer, 0.1, total_iters=steps // 10),
            schedule.CosineAnnealingLR(optimizer, steps - steps // 10),
        ],
        [steps // 10],
    )

    @ig.jit
    def step(frames: ig.Tensor, letters: ig.Tensor, lengths: ig.Tensor) -> ig.Tensor:
        def loss() -> ig.Tensor:
            with ig.autocast(enabled=autocast):
                counts = ig.full(lengths.shape, WORD, dtype="int64")
                return nn.losses.ctc_loss(model(frames), letters, lengths, counts, zero_infinity=True)

        value, grads = nn.value_and_grad(model, loss)()
        optimizer.step(grads)
        return value

    losses = []
    for i in range(steps):
        batch = words(i + 1, 32)
        losses.append(float(step(batch["frames"], batch["letters"], batch["lengths"])))
        scheduler.step()
    test = words(10**6, 200)
    right = [a == b for a, b in zip(spelt(model, test), test["letters"].tolist(), strict=True)]
    return {"losses": losses, "accuracy": float(np.mean(right)), "traces": len(ig.explain(step)["entries"])}


def main() -> None:
    parser = argparse.ArgumentParser(description="Learns to spell from unaligned frames.")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--autocast", action="store_true", help="products in bfloat16")
    parser.add_argument("--json", action="store_true", help="prints the results as one line of JSON")
    options = parser.parse_args()
    result = train(options.steps, options.autocast)
    if options.json:
        print(json.dumps(result))
        return
    print(f"loss {result['losses'][0]:.3f} -> {result['losses'][-1]:.3f}")
    print(f"words of the test set that are spelt right: {result['accuracy']:.1%}")


if __name__ == "__main__":
    main()
