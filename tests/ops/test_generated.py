"""Tests out of the op table, one an op: each dtype and sample by the reference rule, as eager execution runs it (by the
compiler), and by NumPy; edge values of element-wise ops; and the errors of the bad samples."""

from __future__ import annotations

import itertools
from typing import Any

import cases
import intaglio as ig
import numpy as np
import pytest
from intaglio import _intaglio as core

TABLE = {decl["name"]: decl for decl in core.op_table()}
RUNNABLE = [
    name
    for name, decl in TABLE.items()
    if decl["samples"] and not {"control", "effect"} & set(decl["traits"])
]


def float_of(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def parts(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Complex numbers as pairs of floats."""
    if array.dtype.kind != "c":
        return array
    return np.ascontiguousarray(array).view(np.float32 if array.dtype.itemsize == 8 else np.float64)


def check_close(decl: dict[str, Any], what: str, arrays: list[Any], got: Any, want: Any, bound: float) -> None:
    """Floats within `bound` units in the last place (of the largest element, where elements meet in sums), the same
    NaNs and infinities; all else equal."""
    got, want = parts(got), parts(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
    if got.size == 0:
        return
    if not float_of(got):
        different = got != want.astype(got.dtype)
        assert not different.any(), f"{what}\n{cases.describe(cases.worst(different), arrays, got, want)}"
        return
    want = want.astype(got.dtype)
    distance = cases.ulps(got, want)
    wrong = distance > bound
    if "elementwise" not in decl["traits"] and wrong.any():
        # Sums may cancel: the error is measured against the largest element.
        wide, exact = got.astype(np.float64), want.astype(np.float64)
        finite = np.isfinite(wide) & np.isfinite(exact)
        largest = np.max(np.abs(exact[finite]), initial=1.0)
        unit = float(np.spacing(np.asarray(largest, np.float64).astype(np.float32))) if got.dtype.itemsize == 4 else (
            float(np.spacing(largest)) if got.dtype.itemsize == 8 else
            largest * (2.0**-10 if got.dtype.name == "float16" else 2.0**-7))
        wrong &= ~(finite & (np.abs(np.where(finite, wide - exact, 0)) <= bound * unit))
    assert not wrong.any(), (
        f"{what}: {distance[cases.worst(np.where(wrong, distance, 0))]} ulp, bound {bound}\n"
        + cases.describe(cases.worst(np.where(wrong, distance, 0)), arrays, got, want)
    )


def bound_of(decl: dict[str, Any], dtype: str) -> float:
    """The stated bound is of float32; the narrow types round that once more, and float64 has twice the length of
    polynomial to err in."""
    return float(decl["ulp"]) * (2 if dtype in ("float64", "complex128") else 1) + (
        1 if dtype in ("float16", "bfloat16") and decl["ulp"] else 0)


def oracle_bound(decl: dict[str, Any], dtype: str) -> float:
    """NumPy computes float64 in float64, and where we round at every step its rounding once differs by a little."""
    own = bound_of(decl, dtype)
    if dtype in ("float64", "complex64", "complex128"):
        return own + 4
    return own + 1


def as_numpy(tensor: ig.Tensor) -> Any:
    return tensor.numpy()


@pytest.mark.parametrize("name", RUNNABLE)
def test_samples(name: str) -> None:
    decl = TABLE[name]
    dtypes = [dtype.name for dtype in decl["dtypes"]]
    seen = set()
    for number, sample in enumerate(decl["samples"]):
        for dtype in dtypes:
            if "T[" not in sample["operands"] and dtype != dtypes[0]:
                continue
            arrays = cases.operands(sample, dtype, seed=number)
            given = cases.tensors(arrays)
            what = f"{name}({sample['operands']}) {sample['attrs']} T={dtype}"
            want = core._reference(name, given, sample["attrs"])
            got = core._apply(name, given, sample["attrs"])
            assert len(got) == len(want), what
            checked = cases.oracle(decl, arrays, sample["attrs"])
            for i, (a, b) in enumerate(zip(got, want, strict=True)):
                assert a.dtype == b.dtype, f"{what}: {a.dtype}, not {b.dtype}"
                if a.dtype.name == "key":
                    assert cases.bits(a) == cases.bits(b), what
                    continue
                check_close(decl, f"{what}: compiled against reference", arrays, as_numpy(a), as_numpy(b),
                            bound_of(decl, a.dtype.name))
                if checked is not None and i < len(checked):
                    seen.add("numpy")
                    check_close(decl, f"{what}: reference against NumPy", arrays, as_numpy(b), checked[i],
                                oracle_bound(decl, b.dtype.name))
    assert "numpy" in seen or decl["numpy"].startswith("none") or "key" in dtypes, f"{name} has no oracle"


def edges(dtype: str) -> np.ndarray[Any, Any]:
    kind = cases.numpy_dtype(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if "int" in dtype:
        info = np.iinfo(kind)
        values = {info.min, info.max, 0, 1, 2, 7, info.max // 2, max(info.min, -1), max(info.min, -7), info.min + 1}
        return np.array(sorted(values), dtype=kind)
    limits = ig.finfo(dtype)
    tiny = np.array([1], cases.INTEGER_OF[kind.itemsize]).view(kind)[0]
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, limits.max, limits.min, limits.smallest_normal,
              -limits.smallest_normal, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-3, -1e-3, 88.0, -88.0, 1e4, -1e4]
    with np.errstate(all="ignore"):
        out = np.array(values, np.float64).astype(kind)
    return np.concatenate([out, np.array([tiny, -tiny], kind)])


EDGE_OPS = [
    name for name in RUNNABLE if "elementwise" in TABLE[name]["traits"] and not TABLE[name]["attrs"]
]


@pytest.mark.parametrize("name", EDGE_OPS)
def test_edges(name: str) -> None:
    """NaN, infinities, both zeros, extremes and denormals in all combinations: compiled code gives the same NaNs,
    infinities and signs of zero as the definition, in the vector body and in its tail."""
    decl = TABLE[name]
    kinds = [text.split("[")[0] for text in cases.split(decl["samples"][0]["operands"])]
    for dtype in (d.name for d in decl["dtypes"]):
        if dtype.startswith("complex") or dtype == "key":
            continue
        axes = [edges(dtype if kind == "T" else cases.TEXT_NAMES[kind]) for kind in kinds]
        grid = list(itertools.product(*[range(len(axis)) for axis in axes]))
        arrays = [axis[[index[i] for index in grid]] for i, axis in enumerate(axes)]
        given = cases.tensors(arrays)
        got, want = core._apply(name, given, "")[0].numpy(), core._reference(name, given, "")[0].numpy()
        what = f"{name} on edges of {dtype}"
        check_close(decl, what, arrays, got, want, bound_of(decl, got.dtype.name))
        if float_of(got):
            zeros = (got == 0) & (want == 0)
            signs = np.signbit(got.astype(np.float64)) != np.signbit(want.astype(np.float64))
            wrong = zeros & signs
            assert not wrong.any(), f"{what}: the sign of zero\n" + cases.describe(
                cases.worst(wrong), arrays, got, want)


@pytest.mark.parametrize("name", [name for name, decl in TABLE.items() if decl["bad_samples"]])
def test_bad_samples(name: str) -> None:
    """The whole first line of the error, class included."""
    decl = TABLE[name]
    for bad in decl["bad_samples"]:
        types = []
        for text in cases.split(bad["operands"]):
            short = cases.SHORT_NAMES[decl["dtypes"][0].name]
            types.append((text.replace("T[", f"{short}[", 1) if text.startswith("T[") else text).split("{")[0].strip())
        with pytest.raises(ig.Error) as caught:
            core._infer(name, types, bad["attrs"])
        error = caught.value
        assert f"{type(error).__name__}: {error.what}" == bad["error"], f"{name}({bad['operands']}) {bad['attrs']}"


def test_no_fallbacks() -> None:
    """What has a lowering was run by compiled code above; fallbacks are counted and are none."""
    assert core.compiler_available()
    without = [n for n, d in TABLE.items() if d["rules"]["lower"]["kind"] == "none" and d["samples"]]
    assert core._counters()["fallbacks"] == 0 or without, core._counters()
