"""The Mandelbrot set on a grid of complex numbers, and a Fourier transform as a complex matrix product.

Run it: python examples/mandelbrot.py
"""

from __future__ import annotations

import numpy as np

import intaglio as ig


@ig.jit
def escape_times(c: ig.Tensor, limit: int) -> ig.Tensor:
    """After how many steps of z -> z² + c each point leaves the circle of radius 2; `limit` where it does not."""

    def step(_: ig.Tensor, state: tuple[ig.Tensor, ig.Tensor]) -> tuple[ig.Tensor, ig.Tensor]:
        z, steps = state
        inside = ig.abs(z) <= 2
        # Points outside stay where they are: their squares would overflow.
        return ig.where(inside, z * z + c, z), steps + ig.astype(inside, ig.int32)

    start = (ig.zeros_like(c), ig.zeros(c.shape, dtype=ig.int32))
    return ig.fori_loop(0, limit, step, start)[1]


@ig.jit
def fourier(x: ig.Tensor) -> ig.Tensor:
    """The discrete Fourier transform along the last axis, by its definition."""
    n = x.shape[-1]
    k = ig.astype(ig.arange(n), ig.float64)
    turns = k[:, None] * k / n
    return ig.matmul(x, ig.exp(-2j * ig.pi * ig.astype(turns, ig.complex128)))


def main() -> None:
    re, im = np.meshgrid(np.linspace(-2.2, 0.8, 72), np.linspace(-1.2, 1.2, 28))
    times = escape_times(ig.complex(ig.asarray(re), ig.asarray(im)), 60).numpy()
    for row in times:
        print("".join(" .:-=+*#%@"[min(int(t) * 10 // 61, 9)] for t in row))

    random = np.random.default_rng(0)
    signal = random.standard_normal((4, 48)) + 1j * random.standard_normal((4, 48))
    error = np.max(np.abs(fourier(signal).numpy() - np.fft.fft(signal)))
    print("largest difference from numpy.fft:", f"{error:.1e}", "below 1e-12:", bool(error < 1e-12))


if __name__ == "__main__":
    main()
