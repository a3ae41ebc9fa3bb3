"""Where the time of a model goes: by kernel and by module, and as a timeline for a trace viewer.

Run it: python examples/profiling.py [OUT.json]
"""

from __future__ import annotations

import sys

import intaglio as ig
from intaglio import nn


class Block(nn.Module):
    """A layer of a transformer without its attention."""

    def __init__(self, width: int, key: ig.Tensor) -> None:
        super().__init__()
        up, down = ig.random.split(key, 2)
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width, key=up)
        self.down = nn.Linear(4 * width, width, key=down)

    def forward(self, x: ig.Tensor) -> ig.Tensor:
        return x + self.down(ig.gelu(self.up(self.norm(x))))


def main(out: str | None = None) -> None:
    model = nn.Sequential(*(Block(192, key) for key in ig.random.split(ig.random.key(0), 3)))
    x = ig.random.normal(ig.random.key(1), (128, 192))
    f = ig.jit(model).lower(x).compile()
    f(x)
    with ig.profile() as p:
        for _ in range(20):
            f(x)
    print(p)
    total = sum(p.by("module").values())
    for module, ns in p.by("module").items():
        print(f"{100 * ns / total:5.1f} %  {module or 'the model itself'}")
    products = [kernel for kernel in p.kernels if kernel["flops"]]
    print(f"{sum(k['flops'] for k in products) / sum(k['total_ns'] for k in products):.0f} GFLOP/s in products")
    if out:
        p.save(out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
