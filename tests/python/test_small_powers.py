"""Powers of few products and at most one root: the same bits whether the exponent is a number in the program, one that
is passed, or an element of an array, alone or among others; and what C's `pow` says of zeros, infinities and NaN."""

from __future__ import annotations

import numpy as np
import pytest

import intaglio as ig

SMALL = [4, 5, 6, 8, 12, 16, -2, -3, -6, -16, -0.5, 1.5, -1.5, 2.5, -4.5, 15.5]
OTHERS = [0, 0.5, 1, 2, 3, -1, 17, 2.2, -0.7, 1 / 3, 16.5, float("inf"), float("-inf"), float("nan")]
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, float("inf"), float("-inf"), float("nan"), 1e-40, -1e-40, 1e30, -1e30]


def bases(dtype: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(count)
    return np.concatenate([EDGES, rng.standard_normal(count) * 10.0 ** rng.integers(-8, 8, count)]).astype(dtype)


def same_bits(a: ig.Tensor, b: ig.Tensor) -> None:
    x, y = a.numpy(), b.numpy()
    np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
    kept = ~np.isnan(x)
    np.testing.assert_array_equal(x[kept].view(f"u{x.itemsize}"), y[kept].view(f"u{y.itemsize}"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", SMALL + OTHERS)
def test_known_and_unknown_exponents_agree(dtype: str, exponent: float) -> None:
    x = ig.asarray(bases(dtype, 70))
    known = ig.jit(lambda v: v**exponent)(x)
    passed = ig.asarray(exponent, dtype=x.dtype)
    filled = ig.full(x.shape, exponent, dtype=x.dtype)
    power = ig.jit(lambda v, e: v**e)
    for other in (x**exponent, ig.pow(x, passed), power(x, passed), power(x, filled), ig.pow(x, filled)):
        same_bits(known, other)
    with np.errstate(all="ignore"):
        exact = np.power(x.numpy().astype(np.longdouble), np.longdouble(passed.numpy())).astype(dtype)
    np.testing.assert_allclose(
        known.numpy(), exact, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).smallest_subnormal
    )
    zero = exact == 0
    np.testing.assert_array_equal(np.signbit(known.numpy()[zero]), np.signbit(exact[zero]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 7, 500])
def test_exponents_of_all_kinds_in_one_array(dtype: str, count: int) -> None:
    x = bases(dtype, 20)[:, None]
    exponents = np.array((SMALL + OTHERS) * 20, dtype=dtype)
    exponents = np.random.default_rng(3).permutation(exponents)[:count]
    together = ig.jit(lambda v, e: v**e)(x, exponents)
    assert together.shape == (x.shape[0], count)
    for k in range(count):
        same_bits(together[:, k], ig.asarray(x[:, 0]) ** float(exponents[k]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("exponent", SMALL)
def test_16_bit_powers_are_rounded_once(dtype: str, exponent: float) -> None:
    x = ig.asarray(bases("float32", 40)).astype(getattr(ig, dtype))
    wide = ig.jit(lambda v: v**exponent)(x.astype(ig.float32)).astype(x.dtype).astype(ig.float32)
    same_bits(ig.jit(lambda v: v**exponent)(x).astype(ig.float32), wide)
    same_bits((x**exponent).astype(ig.float32), wide)


@pytest.mark.parametrize("exponent", [4, -2, -0.5, 1.5, 6])
def test_derivatives(exponent: float) -> None:
    x = np.abs(bases("float64", 30)[len(EDGES) :])
    x = np.clip(x, 0.1, 10)
    found = ig.jit(ig.grad(lambda v: ig.sum(v**exponent)))(x).numpy()
    np.testing.assert_allclose(found, exponent * x ** (exponent - 1), rtol=1e-14)
    both = ig.jit(ig.vmap(ig.grad(lambda v, e: v**e, argnums=(0, 1))))(x, np.full_like(x, exponent))
    np.testing.assert_allclose(both[0].numpy(), found, rtol=1e-14)
    np.testing.assert_allclose(both[1].numpy(), x**exponent * np.log(x), rtol=1e-13, atol=1e-15)
