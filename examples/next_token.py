"""Of a language model's logits only the last position's are read: only those are computed.

The model is written as one writes it for training: it gives logits for all positions. What takes the last ones moves in
front of the products (the pass `raise-slices`), with the same bits. The program without that pass is timed beside it.

Run it: python examples/next_token.py
"""

from __future__ import annotations

import time

import numpy as np

import intaglio as ig


def logits(states: ig.Tensor, gain: ig.Tensor, head: ig.Tensor) -> ig.Tensor:
    """Of all positions: the states, normed, times the head of a vocabulary."""
    centred = states - ig.mean(states, axis=-1, keepdims=True)
    deviation = ig.sqrt(ig.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    return (centred / deviation * gain) @ head


def next_token(states: ig.Tensor, gain: ig.Tensor, head: ig.Tensor) -> ig.Tensor:
    """The most likely token behind each text."""
    return ig.argmax(logits(states, gain, head)[:, -1], axis=-1)


def main() -> None:
    """Prints the milliseconds of a call, with the pass and without."""
    rng = np.random.default_rng(0)
    arrays = [ig.asarray(rng.standard_normal(shape, dtype="float32")) for shape in ((4, 128, 256), (256,), (256, 8000))]
    graph = ig.trace(next_token, *arrays).graph
    tokens = {}
    for left_out in ([], ["raise-slices"]):
        program = graph.compile(disable=left_out)
        times = []
        for _ in range(10):
            start = time.perf_counter()
            tokens[len(left_out)] = program(*arrays).numpy()
            times.append(time.perf_counter() - start)
        print(f"{'without' if left_out else 'with':8}the pass: {min(times) * 1e3:.2f} ms")
    assert np.array_equal(tokens[0], tokens[1])
    print("the same tokens:", tokens[0])


if __name__ == "__main__":
    main()
