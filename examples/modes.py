"""Two modes: the work of a model line by line, and where its rounding errors come from.

Run it: python examples/modes.py
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import intaglio as ig
from intaglio import nn


class Work(ig.OpMode):
    """Counts multiply-adds of products and elements of all else, by the line of the program."""

    def __init__(self) -> None:
        self.by_line: Counter[str] = Counter()

    def op(self, call: ig.OpCall) -> Any:
        out = call()
        first = out[0] if isinstance(out, tuple) else out
        work = math.prod(first.shape)
        if call.name in ("matmul", "linear"):
            work *= call.operands[0].shape[-1]
        self.by_line[call.where.partition(":  ")[2] or call.where] += work
        return out


class Rounding(ig.OpMode):
    """Does each op in float64 as well, on the same operands, and keeps how far float32 is off."""

    def __init__(self) -> None:
        self.errors: list[tuple[float, str]] = []

    def op(self, call: ig.OpCall) -> Any:
        out = call()
        floats = [x.dtype == ig.float32 for x in call.operands]
        if isinstance(out, tuple) or out.dtype != ig.float32 or not all(floats) or not floats:
            return out
        exact = call(*(ig.astype(x, ig.float64) for x in call.operands))
        size = float(ig.max(ig.abs(exact)))
        if size > 0:
            error = float(ig.max(ig.abs(ig.astype(out, ig.float64) - exact))) / size
            self.errors.append((error, f"{call.name} at {call.where.partition(':  ')[2]}"))
        return out


class Model(nn.Module):
    def __init__(self) -> None:
        keys = ig.random.split(ig.random.key(0))
        self.wide = nn.Linear(64, 256, key=keys[0])
        self.narrow = nn.Linear(256, 8, key=keys[1])

    def forward(self, x: ig.Tensor) -> ig.Tensor:
        hidden = self.wide(x)
        hidden = ig.gelu(hidden)
        logits = self.narrow(hidden)
        return logits - ig.log(ig.sum(ig.exp(logits), axis=-1, keepdims=True))


def main() -> None:
    model, x = Model(), ig.random.normal(ig.random.key(1), (32, 64))
    with Work() as work:
        model(x)
    for line, count in work.by_line.most_common():
        print(f"{count:>9,}  {line}")
    with Rounding() as rounding:
        model(x)
    worst, where = max(rounding.errors)
    print(f"the largest rounding error of one op is {worst:.1e}: {where}")


if __name__ == "__main__":
    main()
