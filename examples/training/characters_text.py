"""The text of characters.py, its batches, and the sizes of the model: for Intaglio and for torch alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

CONTEXT, FEATURES, HEADS, LAYERS, BATCH = 64, 96, 4, 2, 16


def load() -> tuple[np.ndarray, str]:
    """The text as numbers, and what each number stands for."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics))
    letters = "".join(chr(i) for i in (10, *range(32, 127)))
    known = {letter: i for i, letter in enumerate(letters)}
    return np.array([known[c] for c in text if c in known], np.int64), letters


def batches(text: np.ndarray, steps: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Windows of the text and the characters that follow each: x, y [BATCH, CONTEXT]."""
    random = np.random.default_rng(seed)
    for _ in range(steps):
        at = random.integers(0, len(text) - CONTEXT - 1, BATCH)
        windows = np.stack([text[i : i + CONTEXT + 1] for i in at])
        yield windows[:, :-1], windows[:, 1:]
