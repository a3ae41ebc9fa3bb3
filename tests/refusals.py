"""The whole texts of errors, for the tests that pin them.

Texts of many stand in a file beside their test: `INTAGLIO_WRITE_EXPECTED=1 pytest tests/python/test_nn.py` writes it
anew; read the difference before it is committed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import intaglio as ig


def text_of(error: ig.Error, file: str = "") -> str:
    """ "Kind: what", why and hint, each on its line. Lines of `file` are FILE, as they move."""
    assert error.why, error.what
    assert error.hint, error.what
    text = f"{type(error).__name__}: {error.what}\n  why: {error.why}\n  hint: {error.hint}"
    return re.sub(rf"{re.escape(file)}:\d+", "FILE", text) if file else text


def refusal(call: Callable[[], Any], file: str) -> str:
    """The text of the error that a call in this file raises, and names a line of."""
    with pytest.raises(ig.Error) as caught:
        call()
    error = caught.value
    assert error.where.startswith(f"{file}:"), f"{error.what}: {error.where!r}"
    return text_of(error, file)


def check_texts(texts: Mapping[str, str], path: Path) -> None:
    """Texts by name are those of the file, each below `== NAME`."""
    if os.environ.get("INTAGLIO_WRITE_EXPECTED"):
        path.write_text("\n\n".join(f"== {name}\n{text}" for name, text in texts.items()) + "\n")
    parts = re.split(r"^== (.*)\n", path.read_text(), flags=re.MULTILINE)[1:]
    assert dict(texts) == {name: text.strip("\n") for name, text in zip(parts[::2], parts[1::2], strict=True)}
