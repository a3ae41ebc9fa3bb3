"""The main job: MiniLM's embeddings against the same model in float64, from any number and length of texts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "minilm"
sys.path.insert(0, str(FOLDER))


@pytest.fixture(scope="module")
def embedder() -> Any:
    from embed import Embedder

    return Embedder()


@pytest.fixture(scope="module")
def reference() -> Any:
    from reference import Reference

    return Reference(np.float64)


@pytest.mark.parametrize(
    "texts",
    [["a cat"], ["", "x"], ["The new movie is awesome", "C++", "I like the opera " * 60], ["word"] * 5, ["many"] * 40],
)
def test_embeddings_are_within_the_bound(embedder: Any, reference: Any, texts: list[str]) -> None:
    from tokens import encode

    out = embedder(texts)
    assert out.shape == (len(texts), 384)
    assert np.abs(out - reference(*encode(texts))).max() <= 1e-5
    assert embedder.traced.graph.report()["kernels_fallback"] == 0


def test_the_planned_peak_is_the_measured_one() -> None:
    from embed import Embedder

    fresh = Embedder()
    fresh(["a text", "and another text"])
    report = fresh.traced.graph.report()
    assert report["planned_peak"] == report["measured_peak"] > 0


def test_padding_does_not_change_an_embedding(embedder: Any) -> None:
    alone = embedder(["a short text"])[0]
    beside = embedder(["a short text", "a much longer text that makes the other one be padded, and by quite a lot"])[0]
    assert np.abs(alone - beside).max() <= 1e-6


def test_the_command_prints_json() -> None:
    for texts in ([], ["one text"], ["two", "texts of another length"]):
        done = subprocess.run(
            [sys.executable, FOLDER / "embed.py", "--json", *texts], capture_output=True, text=True, check=True
        )
        rows = json.loads(done.stdout)
        assert [len(row) for row in rows] == [384] * len(texts)


def test_a_truncated_weights_file_is_refused(tmp_path: Path) -> None:
    from model import load_weights, model_folder

    torn = tmp_path / "torn.safetensors"
    torn.write_bytes((model_folder() / "model.safetensors").read_bytes()[:100_000])
    for file in (torn, tmp_path / "missing.safetensors"):
        with pytest.raises(ig.IOError, match="cannot be read") as caught:
            load_weights(file)
        assert caught.value.hint == "the file is missing, truncated or damaged: install its package again"
