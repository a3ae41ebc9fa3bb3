"""What JAX 0.10.2 draws from `jax.random.key(7)`: ops of random numbers have no function of NumPy's to be held to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

R, KEY = ig.random, ig.random.key(7)
DRAWN: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "random_uniform": (
        lambda: R.uniform(KEY, (3,), minval=-2, maxval=6),
        [3.392719268798828, 5.796935081481934, 0.4227485656738281],
    ),
    "random_normal": (
        lambda: R.normal(KEY, (4,)),
        [0.4512351453304291, 1.9534509181976318, -0.5162394642829895, -0.14094029366970062],
    ),
    "random_bernoulli": (
        lambda: R.bernoulli(KEY, 0.7, (8,)),
        [True, False, True, True, False, True, True, True],
    ),
    "randint": (lambda: R.randint(KEY, (6,), -5, 100, dtype="int32"), [44, 12, 85, 17, 52, 36]),
    "random_permutation": (lambda: R.permutation(KEY, 7), [4, 2, 3, 5, 0, 6, 1]),
}


@pytest.mark.parametrize("name", DRAWN)
def test_random_numbers_are_those_of_jax(name: str) -> None:
    draw, want = DRAWN[name]
    np.testing.assert_allclose(np.asarray(draw()), want, rtol=2e-6)
