"""Texts to arrays of token numbers, by the tokenizer that comes with the weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from model import model_folder

LONGEST = 256  # tokens: what the model was trained for


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()
    return tokenizer


def encode(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Token numbers (int64) and mask (bool), both [texts, longest]."""
    encodings = _tokenizer().encode_batch(texts)
    ids = np.array([e.ids for e in encodings], dtype=np.int64)
    mask = np.array([e.attention_mask for e in encodings], dtype=bool)
    return ids, mask
