"""Handwritten digits: an MLP, a small convolutional net, or a recurrent net, trained from nothing in seconds.

    python examples/training/digits.py [mlp | conv | lstm] [--epochs N] [--picture FILE.svg] [--json]

The 1,797 images of 8 × 8 are a file of the PyPI package scikit-learn, which is read and not imported. Every fifth image
is held back for the test. Ends with the share of those that the model names rightly.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from picture import draw

import intaglio as ig
from intaglio import nn


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images [n, 1, 8, 8] in [0, 1] and labels [n], for training and for the test."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise ig.IOError(
            "the digits are not installed",
            why="they are a file of the package scikit-learn",
            hint="pip install --no-deps scikit-learn",
        )
    with gzip.open(Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    images, labels = table[:, :-1].reshape(-1, 1, 8, 8) / 16, table[:, -1].astype(np.int64)
    held = np.arange(len(labels)) % 5 == 0
    return images[~held], labels[~held], images[held], labels[held]


def mlp(key: ig.Tensor) -> nn.Module:
    keys = ig.random.split(key, 4)
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 128, key=keys[0]),
        nn.ReLU(),
        nn.Dropout(0.2, key=keys[1]),
        nn.Linear(128, 64, key=keys[2]),
        nn.ReLU(),
        nn.Linear(64, 10, key=keys[3]),
    )


def conv(key: ig.Tensor) -> nn.Module:
    keys = ig.random.split(key, 5)
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1, bias=False, key=keys[0]),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1, bias=False, key=keys[1]),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1, key=keys[2]),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.3, key=keys[3]),
        nn.Linear(64 * 16, 10, key=keys[4]),
    )


class Rows(nn.Module):
    """Reads an image row by row with a long short-term memory, and judges by what it remembers at the end."""

    def __init__(self, key: ig.Tensor) -> None:
        keys = ig.random.split(key, 2)
        self.lstm = nn.LSTM(8, 64, batch_first=True, key=keys[0])
        self.head = nn.Linear(64, 10, key=keys[1])

    def forward(self, images: ig.Tensor) -> ig.Tensor:
        outputs, _ = self.lstm(images[:, 0])
        return self.head(outputs[:, -1])


MODELS: dict[str, Any] = {"mlp": mlp, "conv": conv, "lstm": Rows}


def train(name: str, epochs: int, seed: int = 0) -> dict[str, Any]:
    """Trains, and gives the losses of all steps, the accuracy on the test images, and the seconds."""
    images, labels, test_images, test_labels = load()
    model_key, order_key = ig.random.split(ig.random.key(seed))
    model = MODELS[name](model_key)
    loader = ig.data.DataLoader((images, labels), batch_size=64, shuffle=True, drop_last=True, key=order_key)
    steps = epochs * len(loader)
    optimizer = ig.optim.AdamW(model, lr=ig.optim.warmup_cosine(4e-3, steps // 10, steps), weight_decay=0.01)

    def loss_of(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        return nn.losses.cross_entropy(model(x), y)

    @ig.jit
    def step(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        loss, grads = nn.value_and_grad(model, loss_of)(x, y)
        grads, _ = ig.optim.clip_by_global_norm(grads, 1.0)
        optimizer.step(grads)
        return loss

    start, losses = time.perf_counter(), []
    progress = ig.data.Progress(range(epochs), name)
    for _ in progress:
        for x, y in loader:
            losses.append(float(step(x, y)))
        progress.show(loss=losses[-1], rate=float(optimizer.lr))
    seconds = time.perf_counter() - start
    model.eval()
    guessed = np.asarray(ig.argmax(ig.jit(model)(ig.asarray(test_images)), axis=-1))
    return {"losses": losses, "accuracy": float((guessed == test_labels).mean()), "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="mlp", choices=MODELS)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", help="where to draw the losses")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    result = train(options.model, options.epochs, options.seed)
    if options.picture:
        draw(options.picture, f"{options.model} on handwritten digits", {"loss": result["losses"]})
    if options.json:
        print(json.dumps(result))
        return
    print(f"{options.model}: {len(result['losses'])} steps in {result['seconds']:.1f} s")
    print(f"loss {result['losses'][0]:.3f} at first, {np.mean(result['losses'][-20:]):.4f} at last")
    print(f"{result['accuracy']:.2%} of the test images are named rightly")


if __name__ == "__main__":
    main()
