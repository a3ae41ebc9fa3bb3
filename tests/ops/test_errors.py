"""The whole errors of the bad samples, and of samples in dtypes that an op refuses, as errors.txt holds them.

`python tests/ops/test_errors.py --write` writes the file anew; read the difference before it is committed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cases
import pytest
from cases import RUNNABLE, TABLE

import intaglio as ig
from intaglio import _intaglio as core

GOLDEN = Path(__file__).with_name("errors.txt")


def text_of(error: ig.Error) -> str:
    """All but the line of the call, which is this file's."""
    lines = [f"{type(error).__name__}: {error.what}"]
    lines += [f"  why: {error.why}"] if error.why else []
    lines += [f"  hint: {error.hint}"] if error.hint else []
    return "\n".join(lines)


def caught(name: str, types: list[str], attrs: str) -> ig.Error:
    with pytest.raises(ig.Error) as error:
        core._infer(name, types, attrs)
    return error.value


def bad(name: str) -> list[tuple[str, str, ig.Error]]:
    """Each bad sample with what it raises: its call in words, the declared first line, and the error."""
    dtypes = cases.dtypes_of(name)
    short = cases.SHORT_NAMES["float32" if "float32" in dtypes else dtypes[0]]
    out = []
    for sample in TABLE[name]["bad_samples"]:
        types = []
        for text in cases.split(sample["operands"]):
            typed = text.replace("T[", f"{short}[", 1) if text.startswith("T[") else text
            types.append(typed.split("{")[0].strip())
        call = f"{name}({', '.join(types)}) {sample['attrs']}".strip()
        out.append((call, sample["error"], caught(name, types, sample["attrs"])))
    return out


def refused(name: str) -> list[tuple[str, ig.Error]]:
    """Samples in dtypes of the op's set that it refuses all the same: one for each error."""
    seen: dict[str, tuple[str, ig.Error]] = {}
    if name in RUNNABLE:
        for case in cases.cases(name):
            if case.refused is not None:
                call = f"{name}({', '.join(case.types)}) {case.attrs}".strip()
                seen.setdefault(text_of(case.refused), (call, case.refused))
    return list(seen.values())


def section(name: str) -> str:
    """What errors.txt says of an op; empty where it has no bad samples and refuses none."""
    entries = [f"{call}\n{text_of(error)}" for call, _, error in bad(name)]
    entries += [f"{call}\n{text_of(error)}" for call, error in refused(name)]
    return "\n\n".join(entries)


def golden() -> dict[str, str]:
    out: dict[str, str] = {}
    for part in GOLDEN.read_text().split("\n=== ")[1:]:
        name, _, body = part.partition(" ===\n")
        out[name] = body.strip("\n")
    return out


GOLDEN_TEXT = golden() if GOLDEN.exists() else {}


@pytest.mark.parametrize("name", list(TABLE))
def test_errors(name: str) -> None:
    for call, declared, error in bad(name):
        assert f"{type(error).__name__}: {error.what}" == declared, call
        assert error.where.startswith(__file__), f"{call}: names no line of the user's"
    assert section(name) == GOLDEN_TEXT.get(name, ""), "python tests/ops/test_errors.py --write, if this is right"


def test_file_names_known_ops() -> None:
    assert set(GOLDEN_TEXT) <= set(TABLE)


@pytest.mark.parametrize("name", list(TABLE))
def test_says_why_and_what_to_do(name: str) -> None:
    for call, _, error in bad(name):
        assert error.why, f"{call}\n{text_of(error)}: no reason"
        assert error.hint, f"{call}\n{text_of(error)}: no hint"


if __name__ == "__main__":
    assert sys.argv[1:] == ["--write"], "the only option is --write"
    parts = [f"\n=== {name} ===\n{section(name)}\n" for name in TABLE if section(name)]
    GOLDEN.write_text("The errors of the bad samples, written by test_errors.py --write.\n" + "".join(parts))
