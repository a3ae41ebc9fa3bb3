"""Records what mpmath gives for the special functions: `python tests/data/record_special.py` writes special.npz.

Needs mpmath; the tests need the file alone. Points are drawn by NumPy's PCG64 with a seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 50
RNG = np.random.default_rng(20)
POINTS = 160


def even(low: float, high: float, count: int = POINTS) -> np.ndarray:
    return RNG.uniform(low, high, count)


def scaled(low: float, high: float, count: int = POINTS) -> np.ndarray:
    """Evenly spread logarithms."""
    return np.exp(RNG.uniform(np.log(low), np.log(high), count))


def near(x: np.ndarray, share: float) -> np.ndarray:
    return x * (1 + share * RNG.standard_normal(x.size))


def zeta(s: Any, q: Any) -> Any:
    """Euler's and Maclaurin's formula with many terms: mpmath's own loses digits for a large q."""
    first = max(40, int(2 * s))
    out = mp.fsum((q + k) ** -s for k in range(first))
    w = q + first
    out += w ** (1 - s) / (s - 1) + w**-s / 2
    term = s * w ** (-s - 1)
    for j in range(1, 30):
        out += mp.bernoulli(2 * j) / mp.factorial(2 * j) * term
        term *= (s + 2 * j - 1) * (s + 2 * j) / w**2
    return out


def erfc_inv(y: Any) -> Any:
    if y > 0.3:
        return mp.erfinv(1 - y)
    z = mp.sqrt(-mp.log(y * (2 - y)))
    for _ in range(80):
        share = mp.erfc(z) * mp.exp(z * z)
        step = (mp.log(share) - z * z - mp.log(y)) * mp.sqrt(mp.pi) * share / 2
        z += step
        if abs(step) < mp.mpf(10) ** -45:
            break
    return z


def lower(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def slope(a: Any, x: Any) -> Any:
    step = a * mp.mpf(10) ** -16
    return (lower(a + step, x) - lower(a - step, x)) / (2 * step)


def sample_slope(a: Any, log_x: Any) -> Any:
    x = mp.exp(log_x)
    return -slope(a, x) / mp.exp(a * log_x - x - mp.loggamma(a))


def polygamma(n: Any, x: Any) -> Any:
    n = int(n)
    if x > 0:
        return (-1) ** (n + 1) * mp.factorial(n) * zeta(mp.mpf(n + 1), x) if n else mp.digamma(x)
    return mp.psi(n, x)


def binom(n: Any, k: Any) -> Any:
    return mp.gammaprod([n + 1], [k + 1, n - k + 1])


def zeros(order: int) -> np.ndarray:
    return np.array([float(mp.besseljzero(order, k)) for k in (1, 2)])


def main() -> None:
    shapes = [scaled(1e-3, 1, 60), scaled(0.3, 30, 60), scaled(10, 130, 60), scaled(90, 1000, 40), scaled(1e3, 3e4, 20)]
    places = [
        scaled(1e-4, 10, 60),
        *(a * scaled(1 / w, w, a.size) for a, w in zip(shapes[1:], (3, 2, 1.4, 1.03), strict=True)),
    ]
    a, x = np.concatenate(shapes), np.concatenate(places)
    p, q = (np.concatenate([scaled(0.05, 3, 60), scaled(1, 50, 60), scaled(10, 300, 30)]) for _ in range(2))
    mean = p / (p + q)
    share = np.clip(mean + np.sqrt(mean * (1 - mean) / (p + q + 1)) * even(-4, 4, 150), 1e-3, 1 - 1e-6)
    most = scaled(1e-3, 1e3)
    few = a < 400
    cases: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
        "gamma": (mp.gamma, (np.concatenate([even(-30, 171), scaled(1e-8, 1), even(-170, -30)]),)),
        "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), (np.concatenate([even(-26, 30), scaled(1e-5, 300)]),)),
        "erfcinv": (erfc_inv, (np.concatenate([even(0, 2), scaled(1e-300, 0.5)]),)),
        "ndtr": (mp.ncdf, (even(-37, 8),)),
        "log_ndtr": (lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), (np.concatenate([even(-60, 8), even(-3, 3)]),)),
        "ndtri": (lambda p: -mp.sqrt(2) * erfc_inv(2 * p), (np.concatenate([even(0, 1), scaled(1e-300, 0.5)]),)),
        "logit": (
            lambda p: mp.log(p / (1 - p)),
            (np.concatenate([even(0, 1), near(np.full(POINTS, 0.5), 1e-3), scaled(1e-300, 0.5)]),),
        ),
        "entr": (lambda x: -x * mp.log(x), (scaled(1e-5, 1e5),)),
        "xlogy": (lambda x, y: x * mp.log(y), (even(-9, 9), scaled(1e-5, 1e5))),
        "xlog1py": (lambda x, y: x * mp.log1p(y), (even(-9, 9), scaled(1e-5, 1e5))),
        "rel_entr": (
            lambda x, y: x * mp.log(x / y),
            (np.concatenate([most, most]), np.concatenate([scaled(1e-3, 1e3), near(most, 1e-3)])),
        ),
        "kl_div": (
            lambda x, y: x * mp.log(x / y) - x + y,
            (np.concatenate([most, most]), np.concatenate([scaled(1e-3, 1e3), near(most, 1e-3)])),
        ),
        "betaln": (lambda a, b: mp.log(mp.beta(a, b)), (scaled(1e-3, 1e6), scaled(1e-3, 1e6))),
        "beta": (mp.beta, (scaled(1e-3, 100), scaled(1e-3, 100))),
        "binom": (binom, (even(0, 60), even(0, 60))),
        "gammainc": (lower, (a, x)),
        "gammaincc": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), (a, x)),
        "gammainc_slope": (slope, (a[few][::3], x[few][::3])),
        "log_gamma_sample_slope": (sample_slope, (a[few][::3], np.log(x[few][::3]))),
        "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), (p, q, share)),
        "zeta": (zeta, (scaled(1.001, 60), scaled(0.01, 100))),
        "polygamma": (polygamma, (np.floor(even(0, 9)), np.concatenate([scaled(1e-3, 1e3, 100), even(-20, 0, 60)]))),
        **{
            name + scale: (
                (lambda x, order=order: mp.besseli(order, x) * mp.exp(-abs(x)))
                if scale
                else (lambda x, order=order: mp.besseli(order, x)),
                (np.concatenate([even(-30, 30), scaled(1e-3, 700)]),),
            )
            for order, name in ((0, "i0"), (1, "i1"))
            for scale in ("", "e")
        },
        # Behind all others, so that their points stay.
        **{
            name: (
                lambda x, order=order: mp.besselj(order, x),
                (np.concatenate([even(-30, 30), scaled(1e-3, 1e4), near(np.repeat(zeros(order), 20), 1e-4)]),),
            )
            for order, name in ((0, "j0"), (1, "j1"))
        },
        "exp1": (mp.e1, (np.concatenate([even(0.01, 4), scaled(1e-300, 1e-3, 40), scaled(1e-3, 600)]),)),
        "expi": (
            mp.ei,
            (
                np.concatenate(
                    [even(-4, 40), scaled(1e-6, 700), -scaled(1e-6, 600), near(np.full(40, 0.3725074), 1e-3)]
                ),
            ),
        ),
    }
    out = {}
    for name, (truth, columns) in cases.items():
        for i, column in enumerate(columns):
            out[f"{name}.{i}"] = column
        values = [truth(*(mp.mpf(float(v)) for v in row)) for row in zip(*columns, strict=True)]
        # Two numbers, which hold more digits than one.
        out[f"{name}.high"] = np.array([float(v) for v in values])
        out[f"{name}.low"] = np.array([float(v - mp.mpf(float(v))) if mp.isfinite(float(v)) else 0.0 for v in values])
    np.savez_compressed(Path(__file__).with_name("special.npz"), **out)


if __name__ == "__main__":
    main()
