"""A network on batches of images, depth first and kernel by kernel: the time of an image, and the memory it takes.

Where a batch is larger than the caches, a chain of kernels runs for a few images at a time: through all of them, before
the next images come. The bits are the same.

Run it: python examples/batches.py
"""

from __future__ import annotations

import time

import numpy as np

import intaglio as ig
from intaglio import nn


def network(key: ig.Tensor) -> nn.Module:
    """Inverted residuals without the residuals, as MobileNetV2 begins: wide in between, narrow at the ends."""
    keys = iter(ig.random.split(key, 10))
    layers: list[nn.Module] = [nn.Conv2d(3, 16, 3, stride=2, padding=1, key=next(keys))]
    width = 16
    for out, stride in ((24, 2), (24, 1), (32, 2)):
        wide = 6 * width
        layers += [
            nn.Conv2d(width, wide, 1, key=next(keys)),
            nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, stride=stride, padding=1, groups=wide, key=next(keys)),
            nn.ReLU6(),
            nn.Conv2d(wide, out, 1, key=next(keys)),
        ]
        width = out
    return nn.Sequential(*layers)


def best_of(program: ig.Graph, arrays: list[ig.Tensor], calls: int = 20) -> float:
    """Milliseconds of the quickest call."""
    best = float("inf")
    for _ in range(calls):
        start = time.perf_counter()
        program(*arrays)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def main() -> None:
    """Prints the time of an image and the planned memory, both ways, for batches of several sizes."""
    model = network(ig.random.key(0)).eval()
    for batch in (1, 4, 16):
        images = ig.asarray(np.random.default_rng(0).standard_normal((batch, 3, 224, 224)).astype("float32"))
        traced = ig.trace(model, images)
        arrays = [images, *(weight for _, weight in traced.lifted)]
        ways = {"depth first": traced.graph, "kernel by kernel": traced.graph.compile(disable=["depth-first"])}
        results = [program(*arrays) for program in ways.values()]
        for name, program in ways.items():
            megabytes = program.report()["planned_peak"] / 1e6
            print(
                f"{batch:3} images, {name:16}: {best_of(program, arrays) / batch:5.2f} ms an image, {megabytes:6.1f} MB"
            )
        print("    the same bits:", all(np.array_equal(results[0].numpy(), other.numpy()) for other in results[1:]))


if __name__ == "__main__":
    main()
