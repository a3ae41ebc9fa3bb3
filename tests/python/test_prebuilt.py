"""Prebuilt kernels: the first eager calls of common ops compile nothing, and give the bits that compiled ones give."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FIRST_CALLS = """
import json, intaglio as ig
x, n = ig.ones((3, 5)), ig.arange(7)
out = [x + x, x * 2.0, 1 - x, x / x, ig.exp(x), ig.tanh(x), ig.sqrt(x), -x, ig.maximum(x, 0.0), ig.relu(x),
       ig.sigmoid(x), x < x, x >= 1, ig.where(x > 0, x, 0.0), ig.astype(x, ig.float64), ig.clip(x, 0.0, 1.0),
       n + n, n * 3, n == 2, ig.astype(n, ig.float32), ig.logical_and(n > 2, n < 5), ig.abs(x), x**2]
compiler = any("libintaglio_compiler" in line for line in open("/proc/self/maps"))
print(json.dumps({"compiler": compiler, **ig._counters()}))
"""

# Element-wise ops over a tail that fills no vector, on numbers with NaN, infinities, signed zeros and denormals.
BITS = """
import sys, numpy as np, intaglio as ig

def bits(value):
    value = np.array(value, ndmin=1)
    if value.dtype.kind == "f":
        value[np.isnan(value)] = np.nan  # which of the NaNs it is, is left to the processor
    return value.view(np.uint8)

rng = np.random.default_rng(7)
edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38, 1.0, -1.0]
out = {}
for dtype in ("float32", "float64", "int64", "int32", "bool"):
    x = rng.normal(size=1037).astype(dtype) if dtype[0] == "f" else rng.integers(-9, 9, 1037).astype(dtype)
    if dtype[0] == "f":
        x[:10] = np.array(edges, dtype)
    y = rng.permutation(x)
    if dtype[0] == "i":
        y[y == 0] = 3  # division by zero is refused
    for op in ig.op_table():
        if "elementwise" not in op["traits"] or not op["python"] or "." in op["python"] or len(op["operands"]) > 2:
            continue
        function = getattr(ig, op["python"])
        for name, args in {"array": (y,), "scalar": (y[17],)}.items():
            if op["python"] == "pow" and dtype[0] == "i":
                args = (abs(args[0]),)  # so is a negative power
            operands = [ig.asarray(x), *map(ig.asarray, args)][: len(op["operands"])]
            try:
                result = function(*operands)
            except (TypeError, ZeroDivisionError):  # bools, which are divided as integers
                continue
            out[f"{op['python']} {dtype} {name}"] = bits(result)
for n in (0, 1, 5, 200):
    m = ig.asarray(rng.normal(size=(n, 9)).astype("float32"))
    w = ig.asarray(rng.normal(size=(9, 33)).astype("float32"))
    for name, value in {"sum": ig.sum(m, axis=1), "all": ig.sum(m), "mean": ig.mean(m, axis=0), "matmul": m @ w,
                        "softmax": ig.softmax(m)}.items():
        out[f"{name} {n}"] = bits(value)
np.savez(sys.argv[1], **out)
print(ig._counters()["prebuilt"], len(out))
"""


def run(code: str, *args: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *args],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_first_calls_of_common_ops_compile_nothing_and_open_no_compiler() -> None:
    first = json.loads(run(FIRST_CALLS))
    assert first["programs"] == 0
    assert first["fallbacks"] == 0
    assert first["prebuilt"] > 20
    assert first["compiler"] is False


# Products and attention as networks have them, the first ones in a process, forwards and with gradients.
NETWORKS = """
import sys, numpy as np, intaglio as ig
rng = np.random.default_rng(1)
def normal(*shape): return ig.asarray(rng.standard_normal(shape).astype("float32"))
out = [ig.linear(normal(rows, 70), normal(30, 70), normal(30)) for rows in (1, 2, 9)]
out += [normal(rows, 70) @ normal(70, 30) for rows in (9, 330)]
out += [normal(rows, 70) @ normal(30, 70).T for rows in (1, 330)]
out.append(ig.linear(normal(4, 90, 70), normal(30, 70)))
x = normal(2, 3, 4, 5, 6)
for axis in (0, 2, 4, (1, 2), (3, 4), (0, 1, 4), None):
    out += [ig.mean(x, axis=axis), ig.max(x, axis=axis, keepdims=True), ig.std(x, axis=axis)]
weights = normal(8, 128, 1)  # the mean of sequences
out.append(ig.sum(normal(8, 128, 24) * weights, 1) / ig.sum(weights, 1))
q, k, v = normal(2, 3, 20, 8), normal(2, 3, 24, 8), normal(2, 3, 24, 8)
keep = ig.asarray(rng.random((20, 24)) > 0.3)
masks = [None, keep, keep[None, None], ig.asarray(rng.random((2, 1, 1, 24)) > 0.3), normal(2, 1, 1, 24)]
for mask in masks:
    def loss(q, k, v): return ig.sum(ig.scaled_dot_product_attention(q, k, v, mask) ** 2)
    out.append(ig.scaled_dot_product_attention(q, k, v, mask))
    out += ig.grad(loss, argnums=(0, 1, 2))(q, k, v)
    out += ig.jit(ig.grad(loss, argnums=(0, 1, 2)))(q, k, v)
np.savez(sys.argv[1], *map(np.asarray, out))
print(any("libintaglio_compiler" in line for line in open("/proc/self/maps")))
"""


def test_first_calls_of_networks_open_no_compiler(tmp_path: Path) -> None:
    for prebuilt, opened in {"1": "False", "0": "True"}.items():
        told = run(NETWORKS, str(tmp_path / prebuilt), INTAGLIO_PREBUILT=prebuilt, INTAGLIO_OP_BY_OP="1")
        assert told.strip() == opened
    with np.load(tmp_path / "1.npz") as ready, np.load(tmp_path / "0.npz") as compiled:
        assert len(ready) == 65
        for name in ready:
            np.testing.assert_array_equal(ready[name], compiled[name])


def test_without_them_everything_is_compiled() -> None:
    first = json.loads(run(FIRST_CALLS, INTAGLIO_PREBUILT="0"))
    assert first["prebuilt"] == 0
    assert first["programs"] > 20
    assert first["compiler"] is True


def bits(path: Path, **env: str) -> tuple[int, dict[str, np.ndarray]]:
    served, count = run(BITS, str(path), **env).split()
    results = dict(np.load(path))
    assert len(results) == int(count)
    return int(served), results


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    served, results = bits(tmp_path_factory.mktemp("bits") / "compiled.npz", INTAGLIO_PREBUILT="0")
    assert served == 0
    return results


@pytest.mark.parametrize("level", ["", "x86-64-v3"])
def test_the_bits_are_those_of_compiled_kernels(compiled: dict[str, np.ndarray], level: str, tmp_path: Path) -> None:
    served, prebuilt = bits(tmp_path / "prebuilt.npz", INTAGLIO_TARGET=level)
    assert served > 150
    assert prebuilt.keys() == compiled.keys()
    assert not [name for name in compiled if not np.array_equal(prebuilt[name], compiled[name])]


def test_the_baseline_has_its_own(tmp_path: Path) -> None:
    """Without fma the vector maths rounds elsewhere, so the baseline's bits are compared with its own compiled ones."""
    served, prebuilt = bits(tmp_path / "prebuilt.npz", INTAGLIO_TARGET="x86-64-v2")
    none, compiled = bits(tmp_path / "compiled.npz", INTAGLIO_TARGET="x86-64-v2", INTAGLIO_PREBUILT="0")
    assert (served > 60, none) == (True, 0)
    assert not [name for name in compiled if not np.array_equal(prebuilt[name], compiled[name])]
