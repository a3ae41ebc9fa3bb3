"""Quotients and remainders of 64-bit integers beside NumPy's: by others, by one number, by a constant; small numbers
(which divide as float64), large ones, and both in one vector; on processors with short and with long vectors."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

DIVIDE = """
import numpy as np, intaglio as ig

rng = np.random.default_rng(0)
corners = [0, 1, 2, 3, 7, 10, 2**31 - 1, 2**31, 2**32 + 1, 2**49, 2**50 - 1, 2**50, 2**50 + 1, 2**52 - 1, 2**53 + 1]
corners += [2**62 + 12345, 2**63 - 1]
operators = {"//": lambda a, b: a // b, "%": lambda a, b: a % b}


def drawn(dtype, low):
    bits = rng.integers(1, 63, 2)
    n = rng.integers(1, 200)
    a, b = (rng.integers(-(2**k) if low < 0 else 0, 2**k, n).astype(dtype) for k in bits)
    if rng.random() < 0.4:  # next to multiples
        a = a // np.where(b == 0, 1, b).astype(dtype) * b + rng.integers(-1 if low < 0 else 0, 2, n).astype(dtype)
    return a, b


def compare(a, b, got, name):
    want = operators[name](a, b)
    wrong = np.flatnonzero(want != got)
    assert not wrong.size, (a[wrong[0]], name, b[wrong[0]], got[wrong[0]])


def check(a, b, others):
    b = np.where(b == 0, 1, b).astype(a.dtype)
    x = ig.asarray(a)
    for name, op in operators.items():
        compare(a, b, np.asarray(ig.jit(op)(x, ig.asarray(b))), name)
        if others:
            by = np.full_like(a, b[0])
            compare(a, by, np.asarray(ig.jit(op)(x, ig.asarray(b[0]))), name)
            compare(a, by, np.asarray(ig.jit(lambda a: op(a, int(b[0])))(x)), name)


np.seterr(over="ignore")
for dtype in ("int64", "uint64"):
    low = np.iinfo(dtype).min
    numbers = corners + ([-x for x in corners] + [-(2**63)] if low < 0 else [2**63, 2**64 - 1])
    a, b = np.meshgrid(*[np.array(numbers, dtype=dtype)] * 2)
    check(a.ravel(), b.ravel(), False)
    for k, number in enumerate(numbers):
        check(np.array(numbers, dtype=dtype), np.full(len(numbers), number, dtype=dtype), k % 4 == 0)
    for trial in range(60):
        check(*drawn(dtype, low), trial % 10 == 0)
print("done")
"""


@pytest.mark.parametrize("target", ["", "x86-64-v3", "x86-64-v2"])
def test_quotients_and_remainders_are_numpys(target: str) -> None:
    environment = {**os.environ, "INTAGLIO_TARGET": target, "INTAGLIO_OP_BY_OP": "0"}
    done = subprocess.run([sys.executable, "-c", DIVIDE], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
