"""The whole errors of the bad samples, and of samples in dtypes that an op refuses, as errors.txt holds them."""

from __future__ import annotations

from pathlib import Path

import cases
import pytest
from cases import RUNNABLE, TABLE
from refusals import check_texts, text_of

import intaglio as ig
from intaglio import _intaglio as core


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


@pytest.mark.parametrize("name", list(TABLE))
def test_errors(name: str) -> None:
    for call, declared, error in bad(name):
        assert f"{type(error).__name__}: {error.what}" == declared, call
        assert error.where.startswith(__file__), f"{call}: names no line of the user's"


def test_whole_texts() -> None:
    check_texts({name: section(name) for name in TABLE if section(name)}, Path(__file__).with_name("errors.txt"))
