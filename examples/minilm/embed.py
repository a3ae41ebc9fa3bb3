"""Sentence embeddings from the command line.

python embed.py --json "a text" "another"      a JSON list: for each text a list of 384 numbers
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np
from model import load
from tokens import encode

import intaglio as ig

BATCH = 32  # texts at once: longer lists go in parts, so that memory stays bounded


class Embedder:
    """The model, captured once for any number and length of sentences, and compiled."""

    def __init__(self) -> None:
        model = load()
        ids, mask = encode(["an example", "and a second, longer one"])
        b, s = ig.Dim("b", 1, BATCH), ig.Dim("s", 1, 256)
        self.traced = ig.trace(model.__call__, ids, mask, dynamic_shapes={"ids": (b, s), "mask": (b, s)}, lift=False)
        self.model = model

    def __call__(self, texts: list[str]) -> np.ndarray:
        """[texts, 384], each of length 1."""
        parts: list[Any] = [np.zeros((0, 384), np.float32)]
        for at in range(0, len(texts), BATCH):
            parts.append(np.asarray(self.traced(*encode(texts[at : at + BATCH]))))
        return np.concatenate(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description="Sentence embeddings by MiniLM on Intaglio.")
    parser.add_argument("--json", action="store_true", help="print a JSON list of 384 numbers for each text")
    parser.add_argument("texts", nargs="*", metavar="TEXT")
    options = parser.parse_args()
    try:
        embeddings = Embedder()(options.texts) if options.texts else np.zeros((0, 384), np.float32)
    except ig.Error as error:
        print(f"embed.py: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps([[float(v) for v in row] for row in embeddings]))
    else:
        for text, row in zip(options.texts, embeddings, strict=True):
            print(f"{text!r}: {' '.join(f'{v:.4f}' for v in row[:6])} … ({len(row)} numbers)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
