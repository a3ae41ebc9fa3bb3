"""Compiled batches against the loop, one test an op: the same samples as tests/cpp/batch_test.cpp has by definition,
here as machine code: all operands batched together, and each alone along an axis that changes from sample to sample."""

from __future__ import annotations

from typing import Any

import cases
import numpy as np
import pytest
from cases import RUNNABLE, TABLE

import intaglio as ig
from intaglio import _intaglio as core

SIZE = 3
KINDS = ("float32", "int32", "bool", "key", "uint64")


def variant(array: Any, row: int) -> Any:
    """What an operand is in another example: its elements moved on; of a lone number, another one; and truths turned
    round, as what is folded of all of them is the same however they are moved."""
    if isinstance(array, ig.Tensor):
        keys = np.frombuffer(cases.bits(array), np.uint64)
        keys = keys + np.uint64(row) if keys.size == 1 else np.roll(keys, row)
        return core._from_bytes("key", list(array.shape), keys.tobytes())
    with np.errstate(over="ignore"):  # samples hold the largest numbers, too
        if array.size == 1 and array.dtype.kind in "iu":
            return (array + row).astype(array.dtype)
        if array.size == 1 and array.dtype.kind in "fc":
            return (array * (1 + row / 8)).astype(array.dtype)
    moved = np.roll(array.reshape(-1), row).reshape(array.shape)
    return ~moved if array.dtype.kind == "b" and row == SIZE - 1 else moved


def stack(arrays: list[Any], axis: int) -> ig.Tensor:
    return ig.stack([array if isinstance(array, ig.Tensor) else ig.asarray(array) for array in arrays], axis=axis)


def kinds_of(name: str) -> list[str]:
    dtypes = cases.dtypes_of(name)
    kinds = [dtype for dtype in dtypes if dtype in KINDS][:1] or dtypes[:1]
    return [*kinds, *(dtype for dtype in dtypes if dtype == "float32" and dtype not in kinds)]


def is_of(case: cases.Case, dtype: str) -> bool:
    """Whether a case is one of this dtype. Samples that name their types are cases of the op's first dtype alone: they
    are of their first operand's, too."""
    named = "T[" not in case.words and case.types[0].startswith(cases.SHORT_NAMES[dtype] + "[")
    return case.dtype == dtype or named


def batches_are_the_loop(name: str, dtype: str) -> bool:
    """Compares all cases of a dtype. True where some last row is another than the first: a wrong order would show."""
    differ = False
    for case in cases.cases(name):
        if case.refused is not None or not is_of(case, dtype):
            continue
        one = core._graph_of("one", [(name, case.types, case.attrs)], {})
        ranks = [len(array.shape) for array in case.arrays]
        n = len(ranks)
        alone = case.sample % n
        for axes in ([0] * n, [case.sample % (ranks[i] + 1) if i == alone else None for i in range(n)]):
            rows = [
                [array if axis is None else variant(array, row) for array, axis in zip(case.arrays, axes, strict=True)]
                for row in range(SIZE)
            ]
            batched = [
                cases.tensors([case.arrays[i]])[0] if axis is None else stack([row[i] for row in rows], axis)
                for i, axis in enumerate(axes)
            ]
            have = ig.vmap(lambda *args, one=one: one(*args), in_axes=tuple(axes))(*batched)
            want = [core._apply(name, cases.tensors(row), case.attrs) for row in rows]
            for r, result in enumerate(have if isinstance(have, tuple) else (have,)):
                for row in range(SIZE):
                    mine = result[row]
                    assert cases.same_values(mine, want[row][r]), cases.difference(
                        f"{case} along {axes}, result {r}, row {row}", mine, want[row][r]
                    )
                differ |= cases.bits(want[0][r]) != cases.bits(want[-1][r])
    return differ


@pytest.mark.parametrize("name", [name for name in RUNNABLE if TABLE[name]["operands"]])
def test_compiled_batches_are_the_loop(name: str) -> None:
    shown = [batches_are_the_loop(name, kind) for kind in kinds_of(name)]
    if not any(shown) and "complex64" in cases.dtypes_of(name):
        shown.append(batches_are_the_loop(name, "complex64"))
    assert any(shown), f"{name}: all rows are the same"
