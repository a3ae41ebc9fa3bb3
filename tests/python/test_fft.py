"""`ig.fft` against NumPy: lengths of all kinds, axes, norms, padding; round trips; derivatives; batches, captures and
threads; errors."""

from __future__ import annotations

import doctest
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import fft

RNG = np.random.default_rng(11)
KIND = {"complex64": "float32", "complex128": "float64"}
NORMS = ["backward", "ortho", "forward"]


def draw(*shape: int, dtype: str = "complex128") -> np.ndarray:
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if dtype in KIND else x).astype(dtype)


def near(given: Any, wanted: np.ndarray, dtype: str, bound: float = 16) -> None:
    """Within so many rounding errors of the largest number, and of that type."""
    given = np.asarray(given)
    assert given.dtype == dtype
    assert given.shape == wanted.shape
    gap = np.abs(given - wanted).max(initial=0)
    unit = np.finfo(dtype).eps * max(np.abs(wanted).max(initial=0), 1e-300)
    assert gap <= bound * unit, f"{gap / unit} rounding errors"


def check_four(n: int, *, complex_name: str, shape: tuple[int, ...] = (3, -1), axis: int = -1) -> None:
    """fft, ifft, rfft and irfft of this length."""
    real_name = KIND[complex_name]
    sizes = [n if size == -1 else size for size in shape]
    z, x = draw(*sizes, dtype=complex_name), draw(*sizes, dtype=real_name)
    half = np.take(z, np.arange(n // 2 + 1), axis)
    wide, narrow = z.astype(complex), x.astype(float)
    near(fft.fft(z, axis=axis), np.fft.fft(wide, axis=axis), complex_name)
    near(fft.ifft(z, axis=axis), np.fft.ifft(wide, axis=axis), complex_name)
    near(fft.rfft(x, axis=axis), np.fft.rfft(narrow, axis=axis), complex_name)
    near(fft.irfft(half, n, axis=axis), np.fft.irfft(half.astype(complex), n, axis=axis), real_name)


@pytest.mark.parametrize("n", range(1, 71))
def test_every_small_length(n: int) -> None:
    check_four(n, complex_name="complex64" if n % 2 else "complex128")


@pytest.mark.parametrize("complex_name", list(KIND))
@pytest.mark.parametrize("n", [97, 128, 256, 260, 1000, 1009, 1024, 2187, 4099])
def test_longer_lengths(n: int, complex_name: str) -> None:
    check_four(n, complex_name=complex_name)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((-1,), 0),
        ((-1, 2), 0),
        ((2, -1, 3), 1),
        ((-1, 19), 0),
        ((2, -1, 4, 5), 1),
        ((40, -1), 1),
        ((0, -1), 1),
        ((-1, 0), 0),
    ],
)
@pytest.mark.parametrize("n", [6, 16, 17])
def test_axes_and_batches(n: int, shape: tuple[int, ...], axis: int) -> None:
    check_four(n, complex_name="complex64" if n == 16 else "complex128", shape=shape, axis=axis)


@pytest.mark.parametrize("n", [1 << 16, 3 * 5**6, 100003])
def test_lengths_of_several_kernels(n: int) -> None:
    z = draw(n, dtype="complex64")
    near(fft.fft(z), np.fft.fft(z.astype(complex)), "complex64")
    near(fft.ifft(z), np.fft.ifft(z.astype(complex)), "complex64")


def test_long_columns() -> None:
    z = draw(8192, 9, dtype="complex64")
    near(fft.fft(z, axis=0), np.fft.fft(z.astype(complex), axis=0), "complex64")


@pytest.mark.parametrize("norm", NORMS)
def test_norms_and_lengths_that_are_given(norm: str) -> None:
    z, x = draw(4, 9), draw(4, 9, dtype="float64")
    for n in (None, 1, 6, 9, 13, 16):
        for name in ("fft", "ifft", "hfft", "irfft"):
            wanted = getattr(np.fft, name)(z, n, axis=0, norm=norm)
            near(getattr(fft, name)(z, n, axis=0, norm=norm), wanted, str(wanted.dtype))
        for name in ("fft", "ifft", "rfft", "ihfft"):
            near(getattr(fft, name)(x, n, norm=norm), getattr(np.fft, name)(x, n, norm=norm), "complex128")


@pytest.mark.parametrize("norm", NORMS)
def test_several_axes(norm: str) -> None:
    z, x = draw(3, 4, 5), draw(3, 4, 5, dtype="float64")
    for s, axes in [
        (None, None),
        (None, (0, 2)),
        ((2, 6), (1, 0)),
        ((4, 4), (-2, -1)),
        ((-1, 7), (0, 1)),
        (None, (1,)),
    ]:
        filled = s if s is None else tuple(z.shape[a] if n == -1 else n for n, a in zip(s, axes or (), strict=True))
        for name in ("fftn", "ifftn", "irfftn"):
            wanted = getattr(np.fft, name)(z, filled, axes, norm=norm)
            near(getattr(fft, name)(z, s, axes, norm=norm), wanted, str(wanted.dtype))
        near(fft.rfftn(x, s, axes, norm=norm), np.fft.rfftn(x, filled, axes, norm=norm), "complex128")
    for name in ("fft2", "ifft2", "irfft2"):
        wanted = getattr(np.fft, name)(z, (4, 6), norm=norm)
        near(getattr(fft, name)(z, (4, 6), norm=norm), wanted, str(wanted.dtype))
    near(fft.rfft2(x, norm=norm), np.fft.rfft2(x, norm=norm), "complex128")
    near(fft.fftn(x, s=(3, 4)), np.fft.fftn(x, s=(3, 4), axes=(-2, -1)), "complex128")
    for whole in (z, x):
        near(fft.fftn(whole, axes=()), whole.astype(complex), "complex128", 0)


def test_frequencies_and_shifts() -> None:
    for n in (1, 2, 7, 8):
        near(fft.fftfreq(n, 0.1, dtype="float64"), np.fft.fftfreq(n, 0.1), "float64", 1)
        near(fft.rfftfreq(n, 0.1), np.fft.rfftfreq(n, 0.1), "float32", 1)
    x = np.arange(60).reshape(3, 4, 5)
    for axes in (None, 1, -1, (0, 2)):
        assert np.array_equal(np.asarray(fft.fftshift(x, axes)), np.fft.fftshift(x, axes))
        assert np.array_equal(np.asarray(fft.ifftshift(x, axes)), np.fft.ifftshift(x, axes))


def test_round_trips_and_energy() -> None:
    for n in (12, 31, 97):
        x, z = draw(2, n, dtype="float64"), draw(2, n)
        near(fft.ifft(fft.fft(z)), z, "complex128")
        near(fft.irfft(fft.rfft(x), n), x, "float64")
        near(fft.hfft(fft.ihfft(x), n), x, "float64")
        energy = np.sum(np.abs(np.asarray(fft.fft(z, norm="ortho"))) ** 2)
        assert abs(energy / np.sum(np.abs(z) ** 2) - 1) < 1e-13


def test_what_is_not_finite_stays_in_its_row() -> None:
    x = np.ones((20, 8))
    x[3, 2] = np.nan
    lost = np.isnan(np.asarray(fft.rfft(x))).any(1)
    assert lost.tolist() == [i == 3 for i in range(20)]


# --- derivatives -----------------------------------------------------------------------------------------------------


def matrix(f: Callable[[Any], Any], n: int, dtype: str) -> np.ndarray:
    return np.stack([np.asarray(f(row)) for row in np.eye(n, dtype=dtype)], -1)


@pytest.mark.parametrize("n", [5, 8, 17])
@pytest.mark.parametrize("norm", NORMS)
def test_derivatives_are_those_of_the_matrix(n: int, norm: str) -> None:
    # The cotangent of y = F x is xᵀ F: the pairing has no conjugate.
    for f, count in ((fft.fft, n), (fft.ifft, n)):
        x, t, ct = draw(count), draw(count), draw(n)
        run = lambda z, f=f: f(z, norm=norm)  # noqa: E731
        m = matrix(run, count, "complex128")
        y, tangent = ig.jvp(run, (x,), (t,))
        near(y, m @ x, "complex128", 64)
        near(tangent, m @ t, "complex128", 64)
        near(ig.vjp(run, x)[1](ig.asarray(ct))[0], ct @ m, "complex128", 64)
    x, ct = draw(n, dtype="float64"), draw(n // 2 + 1)
    run = lambda x: fft.rfft(x, norm=norm)  # noqa: E731
    near(ig.vjp(run, x)[1](ig.asarray(ct))[0], (ct @ matrix(run, n, "float64")).real, "float64", 64)
    z, ct = draw(n // 2 + 1), draw(n, dtype="float64")
    back = lambda z: fft.irfft(z, n, norm=norm)  # noqa: E731
    parts = matrix(back, n // 2 + 1, "complex128"), matrix(lambda z: back(1j * z), n // 2 + 1, "complex128")
    near(ig.vjp(back, z)[1](ig.asarray(ct))[0], ct @ parts[0] - 1j * (ct @ parts[1]), "complex128", 64)


def test_a_loss_through_both_ways() -> None:
    x, filters = draw(2, 10, dtype="float64"), draw(2, 7)

    def loss(x: Any, re: Any, im: Any) -> Any:
        smooth = fft.irfft(fft.rfft(x, 12) * ig.complex(re, im), 12)[..., :10]
        return ig.sum(ig.tanh(smooth) * x) + ig.sum(ig.abs(fft.fft2(smooth)) ** 2)

    values = [x, filters.real.copy(), filters.imag.copy()]
    found = ig.jit(ig.grad(loss, argnums=(0, 1, 2)))(*values)
    for i, value in enumerate(values):
        step = RNG.standard_normal(value.shape)
        ends = []
        for h in (1e-5, -1e-5):
            moved = list(values)
            moved[i] = value + h * step
            ends.append(float(loss(*moved)))
        slope = float(np.sum(np.asarray(found[i]) * step))
        assert abs((ends[0] - ends[1]) / 2e-5 - slope) < 1e-6 * max(abs(slope), 1)
    curved = ig.grad(lambda x: ig.sum(ig.grad(lambda x: ig.sum(ig.abs(fft.rfft(x)) ** 4))(x)))(x[0])
    assert np.isfinite(np.asarray(curved)).all()


# --- captures, batches, threads --------------------------------------------------------------------------------------


def test_batches_along_every_axis() -> None:
    z = draw(4, 6, 5)
    for axis in range(3):
        for inner in (0, 1):
            rest = [a for a in range(3) if a != axis]
            wanted = np.fft.fft(z, axis=rest[inner])
            run = ig.vmap(lambda z, inner=inner: fft.fft(z, axis=inner), in_axes=axis, out_axes=axis)
            near(run(z), wanted, "complex128")
            near(ig.jit(run)(z), wanted, "complex128")
    x = draw(3, 4, 6, dtype="float64")
    near(ig.vmap(ig.vmap(fft.rfft))(x), np.fft.rfft(x), "complex128")


def test_captures() -> None:
    x = draw(3, 30, dtype="float64")
    run = ig.jit(lambda x: fft.irfft(fft.rfft(x) * 2.0, 30) + 1.0)
    near(run(x), 2 * x + 1, "float64")
    b = ig.Dim("b", 1, 64)
    traced = ig.trace(lambda x: fft.fft(x, axis=1), ig.asarray(draw(2, 24)), dynamic_shapes={"x": {0: b}})
    columns = ig.trace(lambda x: fft.fft(x, axis=0), ig.asarray(draw(24, 2)), dynamic_shapes={"x": {1: b}})
    shifted = ig.trace(fft.fftshift, ig.asarray(draw(2, 3)), dynamic_shapes={"x": {0: b}})
    for size in (1, 5, 33):
        z = draw(size, 24)
        near(traced(ig.asarray(z)), np.fft.fft(z), "complex128")
        near(columns(ig.asarray(z.T.copy())), np.fft.fft(z.T, axis=0), "complex128")
        near(shifted(ig.asarray(z[:, :3].copy())), np.fft.fftshift(z[:, :3]), "complex128")


@pytest.mark.parametrize(("shape", "axis"), [((5000, 8), 1), ((8, 700), 0), ((40, 1024), 1), ((3, 1024), 1)])
def test_rows_of_several_blocks_with_work_around_them(shape: tuple[int, ...], axis: int) -> None:
    z = draw(*shape)
    run = ig.jit(lambda z: ig.exp(fft.fft(ig.sin(z) * 0.5, axis=axis) * 0.001) + z)
    near(run(z), np.exp(np.fft.fft(np.sin(z) * 0.5, axis=axis) * 0.001) + z, "complex128")
    x = z.real.copy()
    near(fft.irfft(fft.rfft(x, axis=axis), shape[axis], axis=axis), x, "float64")


def test_a_jitted_function_fixes_the_length_alone() -> None:
    run = ig.jit(fft.rfft)
    sizes = [(2, 8), (3, 8), (4, 8), (4, 16), (5, 16), (6, 16), (7, 8)]
    for size in sizes:
        x = draw(*size, dtype="float64")
        near(run(x), np.fft.rfft(x), "complex128")
    assert " 3 traces," in str(run.cache_info())  # of 2 rows, and of any rows of either length


def test_rows_have_the_bits_of_the_batch_with_any_threads() -> None:
    before = ig.get_num_threads()
    try:
        for shape, axis in [((300, 64), 1), ((64, 300), 0), ((40, 1024), 1)]:
            z = ig.asarray(draw(*shape, dtype="complex64"))
            found = []
            for threads in (1, 2):
                ig.set_num_threads(threads)
                found.append(np.asarray(fft.fft(z, axis=axis)))
            assert np.array_equal(*found)
    finally:
        ig.set_num_threads(before)


def test_numpy_s_functions_come_here() -> None:
    x = ig.asarray(draw(4, 6, dtype="float64"))

    @ig.jit
    def f(x: Any) -> Any:
        return np.fft.rfft(x, 8, axis=0, norm="ortho"), np.fft.fftshift(x, axes=1), np.fft.ifftn(x, axes=(0,))

    wanted = np.fft.rfft(np.asarray(x), 8, axis=0, norm="ortho")
    assert all(isinstance(part, ig.Tensor) for part in f(x))
    near(f(x)[0], wanted, "complex128")
    assert isinstance(np.fft.fft2(x), ig.Tensor)


# --- errors ----------------------------------------------------------------------------------------------------------

ERRORS: dict[str, Any] = {
    "whole numbers": lambda: fft.fft(ig.arange(4)),
    "half": lambda: fft.rfft(ig.ones(4, dtype="float16")),
    "complex": lambda: fft.rfft(ig.ones(4, dtype="complex64")),
    "complex, inverse": lambda: fft.ihfft(ig.ones(4, dtype="complex64")),
    "complex, axes": lambda: fft.rfft2(ig.ones((4, 4), dtype="complex64")),
    "norm": lambda: fft.fft(ig.ones(4), norm="none"),
    "length": lambda: fft.fft(ig.ones(4), 0),
    "a length that is none": lambda: fft.fft(ig.ones(4), 2.5),  # type: ignore[arg-type]
    "empty": lambda: fft.ifft(ig.ones((2, 0))),
    "one number": lambda: fft.irfft(ig.ones(1)),
    "axis": lambda: fft.fft(ig.ones(4), axis=1),
    "axis twice": lambda: fft.fftn(ig.ones((4, 4)), axes=(0, -2)),
    "lengths": lambda: fft.fftn(ig.ones((4, 4)), s=(4,), axes=(0, 1)),
    "no axes": lambda: fft.irfftn(ig.ones(4), axes=()),
    "frequencies": lambda: fft.fftfreq(0),
    "frequencies of no count": lambda: fft.rfftfreq(2.5),  # type: ignore[arg-type]
    "symbolic": lambda: ig.trace(lambda x: fft.fft(x), ig.ones((2, 8)), dynamic_shapes={"x": {1: ig.Dim("n", 2, 64)}}),
    "symbolic length": lambda: ig.trace(
        lambda x: fft.fft(x, x.shape[0]), ig.ones((2, 8)), dynamic_shapes={"x": {0: ig.Dim("n", 2, 64)}}
    ),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("fft_errors.txt"))


def test_the_example_finds_the_conductivity() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "heat.py"
    found: float = runpy.run_path(str(path))["find"]()
    assert abs(found - 0.8) < 0.02


def test_examples_of_the_docstrings() -> None:
    result = doctest.testmod(fft, extraglobs={"ig": ig})
    assert result.attempted >= 15
    assert not result.failed
