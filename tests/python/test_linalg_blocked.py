"""Matrices that are factored by blocks: where a block or a tile ends does not show in the bits of `cholesky`, of LU and
of triangular systems, nor does what the target's registers hold; QR by blocks of reflectors is as exact as by one."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import intaglio as ig
from intaglio import linalg
from intaglio._functions import _op

DTYPES = ["float32", "float64", "complex64", "complex128"]
SIZES = [13, 31, 32, 33, 63, 64, 65, 70, 97, 130]


def draw(*shape: int, dtype: str = "float64") -> np.ndarray:
    rng = np.random.default_rng(3 + sum(shape))
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def positive(n: int, dtype: str) -> np.ndarray:
    # Of eighths, whose products and sums are exact: the bits do not depend on how NumPy's BLAS shares its work.
    x = np.round(8 * draw(n, n, dtype=dtype)) / 8
    x = x.astype(dtype)
    return x @ x.conj().T / n + np.eye(n, dtype=dtype)


def behind(x: np.ndarray, shift: int) -> np.ndarray:
    """x below and to the right of ones, so that blocks and tiles end elsewhere in it."""
    wide = np.eye(len(x) + shift, dtype=x.dtype)
    wide[shift:, shift:] = x
    return wide


def same(given: Any, wanted: Any) -> None:
    """The same bits, but for signs of zeros, which a matrix of ones around it may turn."""
    np.testing.assert_array_equal(np.asarray(given), np.asarray(wanted))


def unit(dtype: str) -> float:
    return float(np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_factors_are_those_of_the_same_matrix_elsewhere(n: int, dtype: str) -> None:
    x, whole = draw(n, n, dtype=dtype), positive(n, dtype)
    lu, _, order = (np.asarray(part) for part in _op.lu(ig.asarray(x)))
    lower = np.tril(lu, -1) + np.eye(n)
    error = np.abs(lower @ np.triu(lu) - x[order]).max()
    assert error <= 4 * n * unit(dtype) * np.abs(lu).max()
    factor = np.asarray(linalg.cholesky(ig.asarray(whole)))
    assert np.abs(factor @ factor.conj().T - whole).max() <= 4 * n * unit(dtype)
    assert (np.triu(factor, 1) == 0).all()
    for shift in (1, 7, 32):
        moved, _, places = _op.lu(ig.asarray(behind(x, shift)))
        same(np.asarray(moved)[shift:, shift:], lu)
        same(np.asarray(places)[shift:] - shift, order)
        same(np.asarray(linalg.cholesky(ig.asarray(behind(whole, shift))))[shift:, shift:], factor)
    pair = np.stack([whole, whole.T])
    same(linalg.cholesky(ig.asarray(pair))[0], factor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("unit_diagonal", [True, False])
def test_systems_are_those_of_the_same_triangle_elsewhere(
    dtype: str, lower: bool, transposed: bool, unit_diagonal: bool
) -> None:
    for n, columns in [(13, 1), (32, 3), (33, 40), (65, 1), (97, 17), (130, 70), (64, 0)]:
        a = draw(n, n, dtype=dtype) / n + 2 * np.eye(n, dtype=dtype)
        b = draw(n, columns, dtype=dtype)

        def solved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            options = {"lower": lower, "transpose_a": transposed, "unit_diagonal": unit_diagonal}
            return np.asarray(_op.triangular_solve(ig.asarray(a), ig.asarray(b), **options))

        triangle = np.tril(a) if lower else np.triu(a)
        if unit_diagonal:
            triangle = triangle - np.diag(np.diag(triangle)) + np.eye(n)
        x = solved(a, b)
        error = np.abs((triangle.T if transposed else triangle) @ x - b).max(initial=0)
        assert error <= 16 * n * unit(dtype) * np.abs(x).max(initial=1)
        for shift in (1, 19):
            wide = np.concatenate([np.ones((shift, columns), dtype), b])
            same(solved(behind(a, shift), wide)[shift:], x)
        for j in range(min(columns, 3)):
            same(solved(a, b[:, j : j + 1]), x[:, j : j + 1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("m", "n"),
    [
        (40, 40),
        (127, 127),
        (128, 128),
        (129, 129),
        (160, 160),
        (193, 193),
        (300, 130),
        (140, 230),
        (128, 300),
        (200, 70),
    ],
)
def test_reflectors_in_blocks(m: int, n: int, dtype: str) -> None:
    x = draw(m, n, dtype=dtype)
    size = (m + n) * unit(dtype)
    for mode in ("reduced", "complete"):
        q, r = (np.asarray(part) for part in linalg.qr(ig.asarray(x), mode=mode))
        assert np.abs(q @ r - x).max() <= 4 * size
        assert np.abs(q.conj().T @ q - np.eye(q.shape[1])).max() <= size
        assert (np.tril(r, -1) == 0).all()
    wide = x.astype("complex128" if np.dtype(dtype).kind == "c" else "float64")
    wanted = np.linalg.qr(wide, mode="r")
    np.testing.assert_allclose(np.abs(np.diag(r)), np.abs(np.diag(wanted)), rtol=100 * size)
    assert (np.real(np.diag(r))[:-1] * np.real(np.diag(wanted))[:-1] > 0).all()
    same(_op.qr_triangle(ig.asarray(x)), r[: min(m, n)])
    both = linalg.qr(ig.asarray(np.stack([x, x[::-1]])))
    same(both[0][0], linalg.qr(ig.asarray(x))[0])


@pytest.mark.parametrize("n", [20, 64, 127, 128, 150])
def test_sizes_that_are_not_known_have_the_same_bits(n: int) -> None:
    def all_of(x: Any, whole: Any, right: Any) -> Any:
        return (*linalg.qr(x), linalg.cholesky(whole), linalg.solve(x, right), linalg.inv(x))

    size = ig.Dim("n", 1, 256)
    shapes = [ig.ShapeDtypeStruct((size, columns), ig.float32) for columns in (size, size, 5)]
    given = [ig.asarray(x) for x in (draw(n, n, dtype="float32"), positive(n, "float32"), draw(n, 5, dtype="float32"))]
    for a, b in zip(ig.trace(all_of, *shapes)(*given), all_of(*given), strict=True):
        same(a, b)


def test_nan_stays_where_it_belongs() -> None:
    n = 80
    whole = positive(n, "float64")
    whole[50, 50] = -1.0
    factor = np.asarray(linalg.cholesky(ig.asarray(whole)))
    assert np.isfinite(factor[:, :50]).all()
    assert np.isnan(np.diag(factor)[50:]).all()
    x = draw(n, n)
    x[:, 40] = 0.0  # a pivot of 0: the column is left as it is
    lu, _, order = (np.asarray(part) for part in _op.lu(ig.asarray(x)))
    assert np.isfinite(lu).all()
    assert np.abs((np.tril(lu, -1) + np.eye(n)) @ np.triu(lu) - x[order]).max() < 1e-11
    broken = draw(n, n)
    broken[70, 3] = np.nan
    good = draw(n, n)
    both = np.asarray(linalg.qr(ig.asarray(np.stack([broken, good])))[1])
    assert np.isnan(both[0]).any()
    same(both[1], linalg.qr(ig.asarray(good))[1])


def digest() -> str:
    """Of the bits of all factors of some matrices of all types."""
    found = hashlib.sha256()
    for dtype in DTYPES:
        for n in (45, 140):
            x, whole = ig.asarray(draw(n, n, dtype=dtype)), ig.asarray(positive(n, dtype))
            for part in (*_op.lu(x), *linalg.qr(x), linalg.cholesky(whole), linalg.inv(x)):
                found.update(np.ascontiguousarray(np.asarray(part)).tobytes())
    return found.hexdigest()


def targets_here() -> list[str]:
    told = subprocess.run([f"{sys.prefix}/bin/intaglio", "doctor"], capture_output=True, text=True, check=True).stdout
    line = next(line for line in told.splitlines() if line.startswith("targets that run here"))
    return [target for target in line.split()[4:] if target != "x86-64-v2"]  # which rounds products before it adds


def test_no_register_shows_in_the_bits() -> None:
    found = set()
    targets = targets_here()
    assert "native" in targets
    for target in targets:
        environment = {**os.environ, "INTAGLIO_TARGET": target, "PYTHONPATH": os.path.dirname(__file__)}
        script = "import test_linalg_blocked as t; print(t.digest())"
        found.add(
            subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True).stdout
        )
    assert len(found) == 1
