"""Vectors divided by one number go by its reciprocal (src/codegen/llvm/emit_divide.cpp): the quotients are those of
a division, bit for bit, whatever is divided by whatever."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig

SPECIAL = (
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    3.0,
    255.0,
    -10.0,
    0.1,
    2.0**30,
    2.0**31,
    2.0**-31,
    1e-38,
    3e38,
)
WORDS: dict[Any, Any] = {np.float32: np.uint32, np.float64: np.uint64}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("constant", [False, True])
def test_by_one_number(dtype: Any, constant: bool) -> None:
    word = WORDS[dtype]
    rng = np.random.default_rng(20261124)
    tiny, smallest = np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal
    rows = [
        rng.integers(0, np.iinfo(word).max, 4099, dtype=word).view(dtype),  # any bits
        (rng.normal(size=65536 + 7) * np.exp(rng.normal(size=65536 + 7) * 8)).astype(dtype),
        np.zeros(640, dtype),
        -np.zeros(640, dtype),
        np.tile(np.array([*SPECIAL, tiny, -tiny, smallest, -smallest], dtype), 32),
    ]
    divisors = [*SPECIAL, *rng.normal(size=10), *rng.integers(0, np.iinfo(word).max, 10, dtype=word).view(dtype)]
    for x in rows:
        given = ig.asarray(x)
        by_argument = ig.trace(lambda x, by: x / by, given, ig.asarray(np.ones((), dtype))).graph.compile()
        for by in divisors[::4] if constant else divisors:
            number = dtype(by)
            with np.errstate(all="ignore"):
                want = x / number
            if constant:
                graph = ig.trace(lambda x, by=number: x / by, given).graph
                got = graph.compile()(given).numpy()
            else:
                got = by_argument(given, ig.asarray(np.array(number))).numpy()
            same = (got.view(word) == want.view(word)) | (np.isnan(got) & np.isnan(want))
            assert same.all(), f"{x[~same][0]!r} / {number!r} gives {got[~same][0]!r}, not {want[~same][0]!r}"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("whole", [np.uint8, np.int16, np.int32, np.int64, np.uint64])
def test_whole_numbers_by_a_constant(whole: Any, dtype: Any) -> None:
    info = np.iinfo(whole)
    rng = np.random.default_rng(20261126)
    x = np.concatenate(
        [
            np.zeros(64, whole),
            np.array([info.min, info.max, 1], whole),
            rng.integers(info.min, info.max, 4099, dtype=whole),
        ]
    )
    kind = ig.float32 if dtype == np.float32 else ig.float64
    for by in (255.0, -255.0, 0.3, -0.1, 3e-30, 1e30, np.inf, 0.0):
        number = dtype(by)
        graph = ig.trace(lambda x, by=number: x.astype(kind) / by, ig.asarray(x)).graph
        with np.errstate(all="ignore"):
            want = x.astype(dtype) / number
        got = graph.compile()(ig.asarray(x)).numpy()
        same = (got.view(WORDS[dtype]) == want.view(WORDS[dtype])) | (np.isnan(got) & np.isnan(want))
        assert same.all(), f"{x[~same][0]!r} / {by!r} gives {got[~same][0]!r}, not {want[~same][0]!r}"
