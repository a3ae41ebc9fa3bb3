"""Complex arrays from Python: special values as NumPy's, accuracy, promotion, attributes, products, statistics,
NumPy's functions, what is refused, and graphs."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig

INFINITE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0]
# Ours, NumPy's.
FUNCTIONS = {
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}


def joined(re: Any, im: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Without the arithmetic of `re + 1j * im`, which makes NaN of infinities."""
    out = np.empty(np.shape(re), dtype)
    out.real, out.imag = re, im
    return out


def grid(dtype: Any) -> np.ndarray[Any, Any]:
    pairs = np.array(list(itertools.product(INFINITE, INFINITE)))
    return joined(pairs[:, 0], pairs[:, 1], dtype)


def same_kind(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where NaN, infinities and signed zeros of both parts agree, and finite parts nearly."""
    ok = np.ones(got.shape, bool)
    size = np.maximum(
        np.abs(np.nan_to_num(want.real, posinf=0, neginf=0)), np.abs(np.nan_to_num(want.imag, posinf=0, neginf=0))
    )
    for a, b in ((got.real, want.real), (got.imag, want.imag)):
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= 16 * np.spacing(size)
        zero = (b != 0) | (a != 0) | (np.signbit(a) == np.signbit(b))
        ok &= ((np.isnan(a) & np.isnan(b)) | (a == b) | near) & zero
    return ok


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_numpys(name: str, dtype: str) -> None:
    z = grid(dtype)
    with np.errstate(all="ignore"):
        # In double for both: NumPy's complex64 functions differ among themselves in the sign of zero.
        want = getattr(np, FUNCTIONS[name])(z.astype(np.complex128)).astype(dtype)
    got = getattr(ig, name)(ig.asarray(z)).numpy()
    wrong = np.flatnonzero(~same_kind(got, want))
    assert not wrong.size, [(z[i], got[i], want[i]) for i in wrong[:5]]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_arithmetic_is_numpys(name: str, dtype: str) -> None:
    """NaN, infinities and rounding: both take the same formulas. (NumPy's products are fused on some machines.)"""
    values = grid(dtype)
    random = np.random.default_rng(1)
    draws = [random.standard_normal(5000) * np.exp(random.uniform(-30, 30, 5000)) for _ in range(4)]
    x = np.concatenate([np.repeat(values, len(values)), joined(draws[0], draws[1], dtype)])
    y = np.concatenate([np.tile(values, len(values)), joined(draws[2], draws[3], dtype)])
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    got = getattr(ig, name)(ig.asarray(x), ig.asarray(y)).numpy()
    for a, b in ((got.real, want.real), (got.imag, want.imag)):
        same = (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))
        if name == "multiply":
            with np.errstate(all="ignore"):
                same[len(values) ** 2 :] |= (np.abs(a - b) <= 2 * np.spacing(np.abs(want)))[len(values) ** 2 :]
        wrong = np.flatnonzero(~same)
        assert not wrong.size, [(x[i], y[i], got[i], want[i]) for i in wrong[:5]]


def points(count: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Of all sizes, near the axes, the unit circle, and the branch points."""
    random = np.random.default_rng(7)
    wide = random.standard_normal((2, count)) * np.exp(random.uniform(-12, 4, (2, count)))
    turn = np.exp(2j * np.pi * random.uniform(0, 1, count)) * (1 + random.standard_normal(count) * 1e-7)
    near = random.choice([1, -1, 1j, -1j], count) + 1e-5 * (
        random.standard_normal(count) + 1j * random.standard_normal(count)
    )
    return np.concatenate([wide[0] + 1j * wide[1], turn, near]).astype(dtype)


# Units in the last place of the magnitude, against a wider type; docs/numerics.md has them.
MEASURED = {
    "exp": (1, 3),
    "expm1": (1, 4),
    "log": (1, 4),
    "log2": (1, 4),
    "log10": (1, 4),
    "log1p": (1, 4),
    "sqrt": (1, 3),
    "sin": (1, 5),
    "cos": (1, 5),
    "tan": (1, 8),
    "asin": (1, 6),
    "acos": (1, 6),
    "atan": (1, 6),
    "sinh": (1, 5),
    "cosh": (1, 5),
    "tanh": (1, 8),
    "asinh": (1, 6),
    "acosh": (1, 6),
    "atanh": (1, 6),
    "abs": (1, 2),
}


def error_of(name: str, dtype: str) -> float:
    z = points(20000, dtype)
    wide = z.astype(np.clongdouble)
    if name == "expm1":
        x, y = wide.real, wide.imag
        exact = np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2 + 1j * np.exp(x) * np.sin(y)
    elif name == "log1p":
        x, y = wide.real, wide.imag
        exact = np.log1p(x * (x + 2) + y * y) / 2 + 1j * np.arctan2(y, x + 1)
        exact = np.where(np.abs(wide) < 0.5, exact, np.log(wide + 1))
    else:
        exact = getattr(np, FUNCTIONS.get(name, name))(wide)
    got = getattr(ig, name)(ig.asarray(z)).numpy()
    part = np.float32 if dtype == "complex64" else np.float64
    with np.errstate(all="ignore"):
        gap = np.maximum(np.abs(got.real - exact.real), np.abs(got.imag - exact.imag))
        unit = np.spacing(np.maximum(np.abs(exact.real), np.abs(exact.imag)).astype(part)).astype(np.longdouble)
        ratio = gap / unit
    return float(np.max(ratio[np.isfinite(exact.real) & np.isfinite(exact.imag) & np.isfinite(unit)]))


@pytest.mark.parametrize("name", MEASURED)
def test_accuracy(name: str) -> None:
    narrow, wide = MEASURED[name]
    assert error_of(name, "complex64") <= narrow
    assert error_of(name, "complex128") <= wide


# --- Python ---------------------------------------------------------------------------------------------------


def test_promotion_with_python_numbers() -> None:
    x, y = ig.ones(2, dtype=ig.float32), ig.ones(2, dtype=ig.float64)
    z = ig.asarray([1 + 2j])
    assert ig.asarray(1 + 2j).dtype == ig.complex64
    assert (x * 1j).dtype == ig.complex64
    assert (1j - y).dtype == ig.complex128
    assert (z + 1).dtype == (z + 1.5).dtype == (z * 2j).dtype == ig.complex64
    assert (z + y[:1]).dtype == ig.complex128
    assert ig.result_type(ig.complex64, ig.float64) == ig.complex128
    assert (x * 1j).tolist() == [1j, 1j]
    assert ((x + 2j) ** 2).tolist() == [-3 + 4j, -3 + 4j]
    assert (2 / ig.asarray([1j])).tolist() == [-2j]
    assert abs(ig.asarray([3 + 4j])).tolist() == [5.0]
    assert (-ig.asarray([3 + 4j])).tolist() == [-3 - 4j]


def test_parts() -> None:
    z = ig.asarray([[1 + 2j, -3j]])
    assert z.real.tolist() == [[1.0, 0.0]]
    assert z.imag.tolist() == [[2.0, -3.0]]
    assert z.real.dtype == ig.float32
    assert ig.astype(z, ig.complex128).imag.dtype == ig.float64
    assert z.conj().tolist() == ig.conj(z).tolist() == [[1 - 2j, 3j]]
    assert ig.complex(z.real, z.imag).tolist() == z.tolist()
    assert ig.complex(ig.asarray([1.0, 2.0]), 3).tolist() == [1 + 3j, 2 + 3j]
    x = ig.asarray([1.0, -2.0])
    assert x.real.tolist() == [1.0, -2.0]
    assert x.imag.tolist() == [0.0, 0.0]
    assert ig.conj(ig.asarray([3])).tolist() == [3]
    np.testing.assert_allclose(ig.angle(z).numpy(), np.angle(z.numpy()), rtol=1e-6)
    assert ig.angle(x).tolist() == pytest.approx([0.0, np.pi])


def test_powers() -> None:
    z = ig.asarray([1 + 1j, 2 - 1j, 0, 3], dtype="complex128")
    assert (z**2).tolist() == [2j, 3 - 4j, 0, 9]
    assert (z**0).tolist() == [1, 1, 1, 1]
    assert (z[:2] ** -1).tolist() == (1 / z[:2]).tolist()
    power = np.array([0.5, 2 + 1j, 2.5, -1.5])
    np.testing.assert_allclose((z**power).numpy(), z.numpy() ** power, rtol=1e-13)
    nothing = (ig.asarray([0j]) ** ig.asarray([1j])).numpy()
    assert np.isnan(nothing.real).all()
    assert np.isnan(nothing.imag).all()


def test_predicates_and_choice() -> None:
    z = ig.asarray(joined([1, np.nan, np.inf, 2], [0, 1, np.nan, np.inf], np.complex64))
    assert ig.isnan(z).tolist() == [False, True, True, False]
    assert ig.isinf(z).tolist() == [False, False, True, True]
    assert ig.isfinite(z).tolist() == [True, False, False, False]
    w = ig.asarray([1 + 1j, 2j])
    assert (w == ig.asarray([1 + 1j, 2])).tolist() == [True, False]
    assert (w != 2j).tolist() == [True, False]
    assert ig.where(ig.asarray([True, False]), w, -w).tolist() == [1 + 1j, -2j]
    assert ig.sign(ig.asarray([3 + 4j, 0])).tolist() == pytest.approx([0.6 + 0.8j, 0])
    assert ig.any(w)
    assert ig.all(w)
    assert ig.count_nonzero(ig.asarray([0, 1j, 1])).tolist() == 2


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_folds(dtype: str) -> None:
    random = np.random.default_rng(3)
    x = (random.standard_normal((37, 130)) + 1j * random.standard_normal((37, 130))).astype(dtype)
    z, near = ig.asarray(x), {"rtol": 3e-5 if dtype == "complex64" else 1e-12}
    for axis in (None, 0, 1, (0, 1)):
        np.testing.assert_allclose(ig.sum(z, axis=axis).numpy(), x.sum(axis), **near)
        np.testing.assert_allclose(ig.mean(z, axis=axis).numpy(), x.mean(axis), **near)
        np.testing.assert_allclose(ig.var(z, axis=axis).numpy(), x.var(axis), **near)
        np.testing.assert_allclose(ig.std(z, axis=axis).numpy(), x.std(axis), **near)
    assert ig.std(z).dtype.name == ("float32" if dtype == "complex64" else "float64")
    turn = np.exp(1j * x.real).astype(dtype)
    for axis in (0, 1):
        np.testing.assert_allclose(
            ig.prod(ig.asarray(turn), axis=axis).numpy(), turn.prod(axis), rtol=1e-3 if dtype == "complex64" else 1e-12
        )
        np.testing.assert_allclose(
            ig.cumulative_sum(z, axis=axis).numpy(), x.cumsum(axis), rtol=1e-3 if dtype == "complex64" else 1e-11
        )
        np.testing.assert_allclose(
            ig.cumulative_prod(ig.asarray(turn), axis=axis).numpy(),
            turn.cumprod(axis),
            rtol=1e-3 if dtype == "complex64" else 1e-12,
        )


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products(dtype: str) -> None:
    random = np.random.default_rng(4)
    draw = lambda *shape: (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)  # noqa: E731
    tolerance = 1e-4 if dtype == "complex64" else 1e-11
    near = {"rtol": tolerance, "atol": tolerance}
    a, b, v, stack = draw(33, 47), draw(47, 21), draw(47), draw(3, 47, 5)
    np.testing.assert_allclose((ig.asarray(a) @ b).numpy(), a @ b, **near)
    np.testing.assert_allclose((ig.asarray(a) @ v).numpy(), a @ v, **near)
    np.testing.assert_allclose(ig.matmul(ig.asarray(a), stack).numpy(), a @ stack, **near)
    np.testing.assert_allclose(ig.vecdot(ig.asarray(a), v).numpy(), (a.conj() * v).sum(-1), **near)
    np.testing.assert_allclose(
        ig.tensordot(ig.asarray(a), ig.asarray(b), x_axes=(1,), y_axes=(0,)).numpy(), a @ b, **near
    )
    np.testing.assert_allclose(ig.outer(ig.asarray(v), v).numpy(), np.outer(v, v), **near)
    np.testing.assert_allclose(ig.diff(ig.asarray(v)).numpy(), np.diff(v), **near)
    # A real matrix with a complex one.
    real = a.real.copy()
    np.testing.assert_allclose((ig.asarray(real) @ ig.asarray(b)).numpy(), real @ b, **near)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_without_free_axes_are_one_sum_by_every_name(dtype: str) -> None:
    random = np.random.default_rng(5)
    a, b = (
        ig.asarray((random.standard_normal((30, 517)) + 1j * random.standard_normal((30, 517))).astype(dtype))
        for _ in "ab"
    )

    def dot(x: Any, y: Any) -> Any:
        return ig.dot_general(x, y, lhs_contracting_dimensions=(0, 1), rhs_contracting_dimensions=(0, 1))

    def rows(x: Any, y: Any) -> Any:
        return ig.dot_general(
            x,
            y,
            lhs_contracting_dimensions=(1,),
            rhs_contracting_dimensions=(1,),
            lhs_batching_dimensions=(0,),
            rhs_batching_dimensions=(0,),
        )

    names: list[tuple[Any, ...]] = [
        (
            dot,
            lambda x, y: ig.tensordot(x, y, 2),
            lambda x, y: ig.einsum("ij,ij->", x, y),
            lambda x, y: ig.vdot(ig.conj(x), y),
        ),
        (rows, lambda x, y: ig.einsum("ij,ij->i", x, y), lambda x, y: ig.vecdot(ig.conj(x), y)),
    ]
    for functions in names:
        results = [np.asarray(run(f)(a, b)) for f in functions for run in (lambda f: f, ig.jit)]
        assert all(np.array_equal(result, results[0]) for result in results)


def test_numpys_functions() -> None:
    x = np.array([1 + 2j, -3j, 0.5], np.complex64)
    z = ig.asarray(x)
    for name in (
        "abs",
        "exp",
        "conj",
        "conjugate",
        "sqrt",
        "negative",
        "square",
        "isnan",
        "angle",
        "real",
        "imag",
        "sign",
    ):
        got = getattr(np, name)(z)
        assert isinstance(got, ig.Tensor), name
        np.testing.assert_allclose(got.numpy(), getattr(np, name)(x), rtol=1e-6)
    assert np.add(z, x).dtype == ig.complex64
    assert np.asarray(z).dtype == np.complex64
    assert repr(ig.asarray([1 + 2j, -0.5j])) == "Tensor([  1.+2.j, -0.-0.5j], dtype=complex64)"


def test_eager_is_compiled() -> None:
    """One program, eager and traced: the same bits, with symbolic sizes too; nothing by its slow definition."""

    def program(z: Any, w: Any) -> Any:
        y = ig.exp(z * 1j) / (w + 2) - ig.conj(w) ** 2
        centred = y - ig.mean(y, axis=1, keepdims=True)
        return (
            centred,
            ig.abs(centred),
            ig.sum(ig.sqrt(centred) * w, axis=1),
            ig.cumulative_prod(w, axis=1),
            centred @ w.mT,
        )

    random = np.random.default_rng(5)
    for dtype in ("complex64", "complex128"):
        z, w = (
            ig.asarray((random.standard_normal((9, 53)) + 1j * random.standard_normal((9, 53))).astype(dtype))
            for _ in range(2)
        )
        graph = ig.trace(program, z, w)
        assert str(ig.Graph.parse(str(graph.graph))) == str(graph.graph)
        for a, b in zip(graph(z, w), program(z, w), strict=True):
            assert a.dtype == b.dtype
            assert np.array_equal(a.numpy(), b.numpy())


def test_constants_are_folded_and_printed() -> None:
    graph = ig.trace(lambda z: z * (ig.asarray([1 + 2j]) * 2j), ig.asarray([1 + 0j]))
    assert "{(-0x1p+2, 0x1p+1)}" in str(graph.graph)
    assert graph(ig.asarray([1 + 0j])).tolist() == [-4 + 2j]


REFUSED = [
    ("z < z", lambda z: z < z),
    ("ig.maximum(z, z)", lambda z: ig.maximum(z, z)),
    ("ig.max(z)", lambda z: ig.max(z)),
    ("ig.sort(z)", lambda z: ig.sort(z)),
    ("ig.argmin(z)", lambda z: ig.argmin(z)),
    ("ig.floor(z)", lambda z: ig.floor(z)),
    ("ig.atan2(z, z)", lambda z: ig.atan2(z, z)),
    ("z // z", lambda z: z // z),
    ("z % z", lambda z: z % z),
    ("ig.astype(z, 'float32')", lambda z: ig.astype(z, "float32")),
    ("ig.complex(z, z)", lambda z: ig.complex(z, z)),
    ("ig.clip(z, 0, 1)", lambda z: ig.clip(z, 0, 1)),
    ("ig.cbrt(z)", lambda z: ig.cbrt(z)),
    ("z & z", lambda z: z & z),
    ("float(z)", lambda z: float(z[0])),
]
GOLDEN = Path(__file__).with_name("complex_errors.txt")


def test_what_has_no_meaning_is_refused() -> None:
    z = ig.asarray([1 + 2j, 3j])
    check_texts({text: refusal(lambda call=call: call(z), __file__) for text, call in REFUSED}, GOLDEN)


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "mandelbrot.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "below 1e-12: True" in printed
    assert "@" in printed
