"""A kernel with the same formula many times calls it: the bits are those of the formula written out, and its code is
there once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": ig.exp,
    "expm1": ig.expm1,
    "log1p": lambda x: ig.log1p(ig.abs(x)),
    "sin": ig.sin,
    "cos_of_large": lambda x: ig.cos(x * 20000.0),
    "tan": ig.tan,
    "tanh": ig.tanh,
    "sinh": lambda x: ig.sinh(x) * 0.1,
    "asin": lambda x: ig.asin(ig.clip(x, -1.0, 1.0)),
    "atan": ig.atan,
    "power": lambda x: ig.abs(x) ** 1.7,
    "power_of_two": lambda x: (ig.abs(x) + 0.1) ** x,
    "logaddexp": lambda x: ig.logaddexp(x, x * 0.3),
    "logistic": lambda x: 1 / (1 + ig.exp(-x)),
    "sine_and_cosine": lambda x: ig.sin(x) * ig.cos(x),
    "remainder": lambda x: ig.remainder(x, 0.7),
}


def chain(op: Callable[[Any], Any], times: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(times):
            x = op(x) + x * 0.25
        return x

    return f


def numbers(size: int, dtype: Any) -> ig.Array:
    rng = np.random.default_rng(size)
    return ig.asarray(rng.uniform(-1.5, 1.5, size), dtype=dtype)


def same_bits(a: Any, b: Any) -> None:
    assert a.dtype == b.dtype
    x, y = (np.asarray(ig.astype(v, ig.float64).numpy()) for v in (a, b))
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [ig.float32, ig.float64, ig.bfloat16], ids=str)
@pytest.mark.parametrize("size", [1, 5, 77, 1000])
def test_calls_give_the_bits_of_what_they_are(name: str, dtype: Any, size: int) -> None:
    f = chain(UNARY[name], 24)
    x = numbers(size, dtype)
    same_bits(ig.jit(f).lower(x).compile()(x), f(x))


@pytest.mark.parametrize("name", ["sin", "power", "tanh", "sine_and_cosine"])
def test_of_gradients_and_batches(name: str) -> None:
    f = chain(UNARY[name], 24)
    x = numbers(77, ig.float32)
    gradient = ig.grad(lambda x: ig.sum(f(x)))
    same_bits(ig.jit(gradient).lower(x).compile()(x), gradient(x))
    rows = ig.reshape(numbers(6 * 13, ig.float32), (6, 13))
    same_bits(ig.jit(ig.vmap(f)).lower(rows).compile()(rows), f(rows))


def test_of_numbers_beside_arrays() -> None:
    """Operands that are the same in all lanes, and formulas of these alone."""

    def f(x: Any, s: Any) -> Any:
        for _ in range(16):
            s = ig.sin(s) * 1.1
            x = (ig.abs(x) + 0.1) ** s + (ig.abs(s) + 0.1) ** x
        return x, s

    x, s = numbers(37, ig.float32), ig.asarray(0.7, dtype=ig.float32)
    for got, want in zip(ig.jit(f).lower(x, s).compile()(x, s), f(x, s), strict=True):
        same_bits(got, want)


def test_lanes_that_are_not_there_do_no_harm() -> None:
    """Whole numbers are divided: the last group's idle lanes hold zeros."""

    def f(n: Any, d: Any) -> Any:
        for _ in range(16):
            n = n // d + n % d + n * n // (d + 1) + 12345
        return n

    n = ig.asarray(np.arange(37), dtype=ig.int32)
    d = ig.asarray(np.arange(37) + 1, dtype=ig.int32)
    same_bits(ig.jit(f).lower(n, d).compile()(n, d), f(n, d))


@pytest.mark.parametrize("name", ["sin", "power", "tan"])
def test_the_code_is_there_once(name: str) -> None:
    x = numbers(64, ig.float32)

    def lines(times: int) -> int:
        text = ig.jit(chain(UNARY[name], times)).lower(x).compile().as_text()
        return len(re.findall(r"^\t[a-z]", text, re.MULTILINE))

    assert (lines(48) - lines(24)) / 24 < lines(1) / 4


def test_results_of_one_kernel_share_what_they_stand_on() -> None:
    """A chain of which many values are results: each has the way to it once, not again for every result."""
    x = numbers(64, ig.float32)

    def lines(times: int) -> int:
        def f(x: Any) -> Any:
            out = []
            for _ in range(times):
                x = ig.exp(x) * 0.1 + x
                out.append(x)
            return out

        return len(ig.jit(f).lower(x).compile().as_text().splitlines())

    assert lines(8) < 2.5 * lines(4)


def test_some_are_many_and_some_are_few() -> None:
    """Formulas of several kinds, those that are called beside those that are written out, in any order."""

    def f(x: Any) -> Any:
        for k in range(9):
            x = ig.sin(x) + x * 0.25
            if k in (2, 7):
                x = ig.tanh(x) + ig.special.erf(x)
            if k == 4:
                x = ig.atan(x) - ig.expm1(x * 0.1)
            if k % 2:
                x = ig.log1p(ig.abs(x)) + x
        return x

    x = numbers(77, ig.float32)
    same_bits(ig.jit(f).lower(x).compile()(x), f(x))
