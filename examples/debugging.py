"""Looking into a compiled function: prints and checks that run with it, state in attributes, and its conditions.

Run it: python examples/debugging.py
"""

from __future__ import annotations

import intaglio as ig


class Smoother:
    """An exponential average that keeps its state in attributes, as plain Python would."""

    def __init__(self, n: int) -> None:
        self.mean = ig.zeros(n)
        self.seen = 0

    @ig.jit
    def add(self, x: ig.Tensor) -> ig.Tensor:
        ig.check(ig.isfinite(x), "a sample holds {x} after {n} samples", x=x, n=self.seen)
        self.seen += 1
        self.mean = self.mean + (x - self.mean) / self.seen
        ig.cond(
            ig.max(ig.abs(x - self.mean)) > 2,
            lambda: ig.debug_print("far away: {x:.1f}, the mean is {mean:.2f}", x=x, mean=self.mean),
            lambda: None,
        )
        return self.mean


def main() -> None:
    smoother = Smoother(2)
    for i in range(6):
        smoother.add(ig.asarray([float(i), 8.0 if i == 4 else 1.0]))
    print("mean", smoother.mean.tolist(), "of", smoother.seen)
    print("traces:", len(ig.explain(Smoother.add)["entries"]))
    try:
        smoother.add(ig.asarray([1.0, float("nan")]))
    except ig.ValueError as error:
        print(error.what)


if __name__ == "__main__":
    main()
