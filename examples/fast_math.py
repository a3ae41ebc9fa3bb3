"""One function as it is by default and with `fast_math`: what each flag changed and where, how far the results move,
and that the function without the flags keeps its bits.

    .venv/bin/python examples/fast_math.py
"""

from __future__ import annotations

import numpy as np

import intaglio as ig


def scores(x: ig.Tensor) -> ig.Tensor:
    shifted = x - ig.max(x, axis=-1, keepdims=True)  # finite: nobody asks for NaN
    weights = ig.exp(shifted * 0.125 + 0.25)  # contract: one rounding for both
    return weights / ig.sum(weights, axis=-1, keepdims=True)  # reciprocal: one division a row


def main() -> None:
    x = ig.asarray(np.random.default_rng(0).standard_normal((256, 512)).astype(np.float32))
    usual = ig.jit(scores)
    before = usual(x)
    fast = ig.jit(scores, fast_math=True)
    got = fast(x)
    print(ig.explain(fast))
    apart = np.abs(np.asarray(got) / np.asarray(before) - 1).max()
    print(f"largest difference: {apart:.1e} of a result")
    print(f"without the flags the bits stay: {bool(ig.all(usual(x) == before))}")


if __name__ == "__main__":
    main()
