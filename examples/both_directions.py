"""A recurrent network that reads a text from both ends: its two loops need nothing of each other, so that two threads
run them at once where that is quicker.

    .venv/bin/python examples/both_directions.py
"""

from __future__ import annotations

import statistics
import time

import numpy as np

import intaglio as ig

STEPS, BATCH, UNITS = 64, 8, 64
Weights = tuple[ig.Tensor, ig.Tensor]


def lstm(x: ig.Tensor, weights: Weights, reverse: bool) -> ig.Tensor:
    inputs, states = weights

    def step(state: tuple[ig.Tensor, ig.Tensor], row: ig.Tensor) -> tuple[tuple[ig.Tensor, ig.Tensor], ig.Tensor]:
        hidden, cell = state
        take, forget, give, new = ig.split(row + hidden @ states, 4, axis=-1)
        cell = ig.sigmoid(forget) * cell + ig.sigmoid(take) * ig.tanh(new)
        hidden = ig.sigmoid(give) * ig.tanh(cell)
        return (hidden, cell), hidden

    zero = ig.zeros((x.shape[1], UNITS))
    return ig.scan(step, (zero, zero), x @ inputs, reverse=reverse)[1]


def both(x: ig.Tensor, onwards: Weights, back: Weights) -> ig.Tensor:
    return ig.concat([lstm(x, onwards, False), lstm(x, back, True)], axis=-1)


def main() -> None:
    rng = np.random.default_rng(0)

    def array(*shape: int) -> ig.Tensor:
        return ig.asarray((rng.standard_normal(shape) / 8).astype(np.float32))

    operands = array(STEPS, BATCH, UNITS), *((array(UNITS, 4 * UNITS), array(UNITS, 4 * UNITS)) for _ in range(2))
    program = ig.trace(both, *operands).graph.compile()
    arrays = ig.tree.leaves(operands)
    print("loops side by side:", program.report()["side_by_side"])
    results = []
    for threads in (1, 2):
        ig.set_num_threads(threads)
        times = []
        for _ in range(50):
            start = time.perf_counter()
            results.append(program(*arrays))
            times.append(time.perf_counter() - start)
        print(f"threads {threads}: {1e3 * statistics.median(times):.2f} ms")
    print("the same bits:", all(np.array_equal(results[0], result) for result in results))


if __name__ == "__main__":
    main()
