"""What each call of a training step takes, from the very first on: none waits for the compiler.

The first call runs op by op, by kernels that are at hand. From the second on the program is compiled in the background,
and when it is there, calls run it; their bits are the same. (With INTAGLIO_OP_BY_OP=0 the first call compiles.)

Run it: INTAGLIO_CACHE=0 python examples/first_calls.py
"""

from __future__ import annotations

import time

import numpy as np

import intaglio as ig
from intaglio import nn


def network(key: ig.Tensor) -> nn.Module:
    """Four blocks of a depthwise and a pointwise convolution behind a stem."""
    keys = iter(ig.random.split(key, 10))
    layers: list[nn.Module] = [nn.Conv2d(3, 32, 3, stride=2, padding=1, key=next(keys))]
    width = 32
    for out in (64, 128, 128, 256):
        layers += [
            nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False, key=next(keys)),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, out, 1, bias=False, key=next(keys)),
            nn.BatchNorm2d(out),
            nn.ReLU(),
        ]
        width = out
    return nn.Sequential(*layers)


def main() -> None:
    """Prints the milliseconds of some calls."""
    model = network(ig.random.key(0))
    images = ig.asarray(np.random.default_rng(0).standard_normal((4, 3, 64, 64)).astype("float32"))

    def loss(images: ig.Tensor) -> ig.Tensor:
        return ig.mean(model(images) ** 2)

    def step(images: ig.Tensor) -> tuple:
        value, gradients = nn.value_and_grad(model, loss)(images)
        return value, *gradients.values()

    def timed(function) -> tuple[float, tuple]:
        start = time.perf_counter()
        out = function(images)
        return (time.perf_counter() - start) * 1e3, out

    model.eval()  # so that each call computes the same
    jitted = ig.jit(step)
    calls = [timed(jitted) for _ in range(4)]
    ig.block_until_compiled()
    calls.append(timed(jitted))
    print("calls of the jitted step:", "  ".join(f"{ms:.1f} ms" for ms, _ in calls), "(the last one compiled)")

    def bits(out: tuple) -> list[bytes]:
        return [np.asarray(part).tobytes() for part in out]

    print("the bits of all of them are the same:", all(bits(out) == bits(calls[0][1]) for _, out in calls))


if __name__ == "__main__":
    main()
