"""A linear fit that is hard in floating point, and what else the factors of its matrix tell.

J. Longley's data (1967) are seven figures a year of an economy that grew, so the columns are nearly dependent: the
condition of the matrix is 5e9, and programs of the time got no digit right. NIST certifies the coefficients
(www.itl.nist.gov/div898/strd/lls/data/Longley.shtml). Here they come from least squares by singular values, and by QR;
how far each year decides about them from Q; what each would be without a year by a batch of fits, one a year; and the
main directions of the data from their singular values.

    python examples/linear_algebra/longley.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

import intaglio as ig

# Employed people; the deflator of prices, the gross national product, the unemployed, the armed forces, the population
# above 14, and the year.
DATA = np.array(
    [
        [60323, 83.0, 234289, 2356, 1590, 107608, 1947],
        [61122, 88.5, 259426, 2325, 1456, 108632, 1948],
        [60171, 88.2, 258054, 3682, 1616, 109773, 1949],
        [61187, 89.5, 284599, 3351, 1650, 110929, 1950],
        [63221, 96.2, 328975, 2099, 3099, 112075, 1951],
        [63639, 98.1, 346999, 1932, 3594, 113270, 1952],
        [64989, 99.0, 365385, 1870, 3547, 115094, 1953],
        [63761, 100.0, 363112, 3578, 3350, 116219, 1954],
        [66019, 101.2, 397469, 2904, 3048, 117388, 1955],
        [67857, 104.6, 419180, 2822, 2857, 118734, 1956],
        [68169, 108.4, 442769, 2936, 2798, 120445, 1957],
        [66513, 110.8, 444546, 4681, 2637, 121950, 1958],
        [68655, 112.6, 482704, 3813, 2552, 123366, 1959],
        [69564, 114.2, 502601, 3931, 2514, 125368, 1960],
        [69331, 115.7, 518173, 4806, 2572, 127852, 1961],
        [70551, 116.9, 554894, 4007, 2827, 130081, 1962],
    ]
)
CERTIFIED = np.array(
    [
        -3482258.63459582,
        15.0618722713733,
        -0.0358191792925910,
        -2.02022980381683,
        -1.03322686717359,
        -0.0511041056535807,
        1829.15146461355,
    ]
)
CERTIFIED_DEVIATION = 304.854073561965  # of what is left, with nine degrees of freedom


@ig.jit
def by_least_squares(a: ig.Tensor, y: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
    """The coefficients and the sum of squares that is left. Columns of one length make the best of the digits."""
    lengths = ig.linalg.vector_norm(a, axis=0)
    fit = ig.linalg.lstsq(a / lengths, y)
    return fit.solution / lengths, fit.residuals[0]


@ig.jit
def by_qr(a: ig.Tensor, y: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
    """The coefficients, and how far each row decides about them: between 0 and 1, in all as much as columns."""
    q, r = ig.linalg.qr(a)
    return ig.linalg.triangular_solve(r, q.mT @ y, lower=False), ig.sum(q * q, axis=1)


def without_each(a: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
    """The coefficients without the first row, without the second, and so on: a batch of fits."""

    def fit(left_out: ig.Tensor) -> ig.Tensor:
        kept = ig.astype(ig.arange(a.shape[0]) != left_out, a.dtype)
        return by_least_squares(a * kept[:, None], y * kept)[0]

    return ig.jit(ig.vmap(fit))(ig.arange(a.shape[0]))


@ig.jit
def directions(x: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
    """Principal components of standardised columns: the share of each in the variance, and the components."""
    centred = x - ig.mean(x, axis=0)
    _, s, vh = ig.linalg.svd(centred / ig.std(centred, axis=0), full_matrices=False)
    return s**2 / ig.sum(s**2), vh


def fit() -> dict[str, Any]:
    """All figures."""
    y, x = ig.asarray(DATA[:, 0]), ig.asarray(DATA[:, 1:])
    a = ig.concat([ig.ones((len(DATA), 1), dtype="float64"), x], axis=1)
    coefficients, left = by_least_squares(a, y)
    other, influence = by_qr(a, y)
    shares, _ = directions(x)
    return {
        "condition": float(ig.linalg.cond(a)),
        "coefficients": np.asarray(coefficients),
        "by QR": np.asarray(other),
        "deviation": float(left / (len(DATA) - len(CERTIFIED))) ** 0.5,
        "influence": np.asarray(influence),
        "without each": np.asarray(without_each(a, y)),
        "shares": np.asarray(shares),
    }


def main() -> None:
    result = fit()
    print(f"condition of the matrix: {result['condition']:.2e}")
    print("coefficient          by singular values     by QR: certified digits")
    for mine, other, exact in zip(result["coefficients"], result["by QR"], CERTIFIED, strict=True):
        digits = [-np.log10(max(abs(value / exact - 1), 1e-15)) for value in (mine, other)]
        print(f"{mine:20.10g} {digits[0]:18.1f} {digits[1]:23.1f}")
    print(f"deviation of what is left: {result['deviation']:.6f} (certified: {CERTIFIED_DEVIATION:.6f})")
    year = int(np.argmax(result["influence"]))
    print(f"the year with most influence: {DATA[year, 6]:.0f} ({result['influence'][year]:.2f})")
    moved = np.abs(result["without each"][:, 1] - CERTIFIED[1])
    print(f"without {DATA[int(np.argmax(moved)), 6]:.0f}, the deflator's coefficient is off by {moved.max():.0f}")
    print("shares of the variance:", ", ".join(f"{share:.4f}" for share in result["shares"]))


if __name__ == "__main__":
    main()
