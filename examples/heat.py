"""Heat on a ring: each wave of the temperature decays by itself, so a step of any length is two Fourier transforms.

How well the ring conducts is found again from two noisy measurements, by gradients through the transforms.

Run it: python examples/heat.py
"""

from __future__ import annotations

import intaglio as ig

POINTS, TIME, TRUTH = 256, 0.05, 0.8
WAVES = ig.fft.rfftfreq(POINTS, 1.0 / POINTS, dtype="float64")


def later(temperature: ig.Tensor, conductivity: ig.Tensor | float, time: float) -> ig.Tensor:
    """The temperature after this time: the wave k has decayed by exp(-c (2πk)² time / 100)."""
    decay = ig.exp(-conductivity * (2 * ig.pi * WAVES) ** 2 * (time / 100))
    return ig.fft.irfft(ig.fft.rfft(temperature) * decay, POINTS)


def loss(conductivity: ig.Tensor, before: ig.Tensor, after: ig.Tensor) -> ig.Tensor:
    return ig.mean((later(before, conductivity, TIME) - after) ** 2)


def find() -> float:
    places = ig.arange(POINTS, dtype="float64") / POINTS
    before = ig.where(ig.abs(places - 0.4) < 0.1, 1.0, 0.0) + 0.5 * ig.sin(6 * ig.pi * places)
    noise = ig.random.normal(ig.random.key(0), (POINTS,), dtype="float64") * 0.01
    after = later(before, TRUTH, TIME) + noise
    # Newton's method: a slope and a curvature a step.
    slope = ig.grad(loss)
    step = ig.jit(lambda c: c - slope(c, before, after) / ig.abs(ig.grad(slope)(c, before, after)))
    conductivity = ig.asarray(0.2, dtype="float64")
    for _ in range(8):
        conductivity = step(conductivity)
    return float(conductivity)


if __name__ == "__main__":
    print(f"conductivity {find():.3f}, {TRUTH} in truth")
