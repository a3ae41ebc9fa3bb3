"""Writes jax_random.npz: what jax.random draws, for tests/python/test_distributions.py.

Run it where jax 0.10 is installed: python tests/data/record_jax_random.py
"""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
from jax import numpy as jnp
from jax import random


def main() -> None:
    key = random.key(11)
    a = jnp.array([0.05, 0.7, 1.0, 3.5, 400.0])
    drawn = {
        "gamma": random.gamma(key, a, (4, 5)),
        "loggamma": random.loggamma(key, a, (2, 5)),
        "beta": random.beta(key, a, 2.0, (3, 5)),
        "dirichlet": random.dirichlet(key, a[1:], (3,)),
        "chisquare": random.chisquare(key, a * 2, (2, 5)),
        "t": random.t(key, a + 1, (3, 5)),
        "poisson": random.poisson(key, jnp.array([0.0, 0.5, 9.5, 30.0, 1e4]), (6, 5)),
        "lognormal": random.lognormal(key, 0.5, (6,)),
        "pareto": random.pareto(key, 3.0, (6,)),
        "rayleigh": random.rayleigh(key, 2.0, (6,)),
        "weibull_min": random.weibull_min(key, 2.0, 1.5, (6,)),
        "geometric": random.geometric(key, 0.2, (8,)),
        "maxwell": random.maxwell(key, (6,)),
        "multivariate_normal": random.multivariate_normal(
            key, jnp.array([1.0, -1.0]), jnp.array([[2.0, 0.6], [0.6, 1.0]]), (4,)
        ),
        "orthogonal": random.orthogonal(key, 3, (2,)),
    }
    arrays = {name: np.asarray(value) for name, value in drawn.items()}
    np.savez_compressed(Path(__file__).with_name("jax_random.npz"), version=jax.__version__, **arrays)


if __name__ == "__main__":
    main()
