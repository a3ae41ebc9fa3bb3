"""Many small problems at once: a solver written for one problem, mapped over ten thousand.

The solvers are those of a user of vmap: Gauss-Newton on three parameters with the normal equations solved by
elimination, for a number of steps that is fixed; the same with the damping of Levenberg and Marquardt, until the
step is small; and Kepler's equation by Newton's method, on single numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Workload, add

PROBLEMS, POINTS, STEPS = 10_000, 16, 8


def solve3(m: Any, a: Any, b: Any) -> Any:
    """x with a x = b, for a symmetric positive a [3, 3], by its LDLᵀ factors written out."""
    d0 = a[0, 0]
    l1, l2 = a[1, 0] / d0, a[2, 0] / d0
    d1 = a[1, 1] - l1 * a[1, 0]
    u = a[2, 1] - l2 * a[1, 0]
    l3 = u / d1
    d2 = a[2, 2] - l2 * a[2, 0] - l3 * u
    y1 = b[1] - l1 * b[0]
    y2 = b[2] - l2 * b[0] - l3 * y1
    x2 = y2 / d2
    x1 = y1 / d1 - l3 * x2
    x0 = b[0] / d0 - l1 * x1 - l2 * x2
    return m.stack((x0, x1, x2), 0)


def model(m: Any, p: Any, t: Any) -> tuple[Any, Any]:
    """The curve p0 · exp(-p1 t) + p2 at the points t, and its Jacobian [points, 3]."""
    power = m.exp(-p[1] * t)
    return p[0] * power + p[2], m.stack((power, -p[0] * t * power, power * 0.0 + 1.0), 1)


def gauss_newton(m: Any, w: Any, t: Any, y: Any, start: Any) -> Any:
    """The parameters [problems, 3] that fit the curves y [problems, points], after a fixed number of steps."""

    def one(y: Any, p: Any) -> Any:
        def step(i: Any, p: Any) -> Any:
            value, jacobian = model(m, p, t)
            transposed = m.permute(jacobian, (1, 0))
            return p + solve3(m, m.matmul(transposed, jacobian), m.matmul(transposed, y - value))

        return m.fori_loop(0, STEPS, step, p)

    return m.vmap(one)(y, start)


def levenberg(m: Any, w: Any, t: Any, y: Any, start: Any) -> Any:
    """The same, damped: a step is taken where it makes the error less, and the damping goes by that."""

    def one(y: Any, p: Any) -> Any:
        def error(p: Any) -> Any:
            difference = y - model(m, p, t)[0]
            return m.sum(difference * difference)

        def body(p: Any, now: Any, damping: Any, moved: Any, count: Any) -> tuple:
            value, jacobian = model(m, p, t)
            transposed = m.permute(jacobian, (1, 0))
            normal = m.matmul(transposed, jacobian) + damping * w["identity"]
            move = solve3(m, normal, m.matmul(transposed, y - value))
            then = error(p + move)
            better = then < now
            size = m.sqrt(m.sum(move * move))
            return (
                m.where(better, p + move, p),
                m.where(better, then, now),
                m.where(better, damping * 0.2, damping * 4.0),
                m.where(better, size, moved),
                count + 1.0,
            )

        def going(p: Any, now: Any, damping: Any, moved: Any, count: Any) -> Any:
            return (moved > 1e-4) & (count < 40.0)

        one, zero = w["one"], w["zero"]
        return m.while_loop(going, body, (p, error(p), 0.1 * one, one, zero))[0]

    return m.vmap(one)(y, start)


def kepler(m: Any, w: Any, mean: Any, eccentricity: Any) -> Any:
    """The eccentric anomaly E of each orbit, E - e sin E = M, by Newton's method to the last bits."""

    def one(mean: Any, e: Any) -> Any:
        def body(anomaly: Any, change: Any) -> tuple:
            change = (anomaly - e * m.sin(anomaly) - mean) / (1.0 - e * m.cos(anomaly))
            return anomaly - change, m.abs(change)

        return m.while_loop(lambda anomaly, change: change > 1e-5, body, (mean + 0.85 * e, e * 0.0 + 1.0))[0]

    return m.vmap(one)(mean, eccentricity)


def curves(rng: np.random.Generator) -> Any:
    t = np.linspace(0, 3, POINTS)
    true = rng.uniform((1.0, 0.5, -1.0), (3.0, 2.0, 1.0), (PROBLEMS, 3))
    y = true[:, :1] * np.exp(-true[:, 1:2] * t) + true[:, 2:] + 0.01 * rng.standard_normal((PROBLEMS, POINTS))
    start = true + rng.uniform(-0.2, 0.2, (PROBLEMS, 3))
    return tuple(a.astype(np.float32) for a in (t, y, start))


def curves_data(rng: np.random.Generator) -> Any:
    return curves(rng), {}


def damped_data(rng: np.random.Generator) -> Any:
    t, y, start = curves(rng)
    far = np.ones_like(start) * np.asarray([1.0, 1.0, 0.0], np.float32)
    weights = {"identity": np.eye(3), "one": np.ones(()), "zero": np.zeros(())}
    return (t, y, far), {name: value.astype(np.float32) for name, value in weights.items()}


def fitted(t: np.ndarray, y: np.ndarray, p: np.ndarray) -> list[np.ndarray]:
    """Where both solvers end: the least squares, by more steps of Gauss-Newton, each damped enough to help."""

    def differences(p: np.ndarray) -> np.ndarray:
        return y - p[:, :1] * np.exp(-p[:, 1:2] * t) - p[:, 2:]

    damping, now = np.full(len(p), 0.1), (differences(p) ** 2).sum(1)
    for _ in range(200):
        power = np.exp(-p[:, 1:2] * t)
        jacobian = np.stack((power, -p[:, :1] * t * power, np.ones_like(power)), 2)
        normal = jacobian.transpose(0, 2, 1) @ jacobian + damping[:, None, None] * np.eye(3)
        move = np.linalg.solve(normal, np.einsum("npk,np->nk", jacobian, differences(p))[..., None])[..., 0]
        then = (differences(p + move) ** 2).sum(1)
        better = then <= now
        p, now = np.where(better[:, None], p + move, p), np.where(better, then, now)
        damping = np.where(better, damping * 0.2, damping * 4.0)
    return [p]


def orbits_data(rng: np.random.Generator) -> Any:
    return tuple(rng.uniform(0, top, PROBLEMS).astype(np.float32) for top in (6.0, 0.9)), {}


def orbits(mean: np.ndarray, e: np.ndarray) -> list[np.ndarray]:
    """By halving: E - e sin E grows with E."""
    low, high = mean - 1.0, mean + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        above = middle - e * np.sin(middle) > mean
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return [(low + high) / 2]


add(
    Workload(
        "vmap_gauss_newton",
        f"vmap of a Gauss–Newton fit, {STEPS} steps, 10,000 curves",
        gauss_newton,
        curves_data,
        1e-4,
        reference=fitted,
    )
)
add(
    Workload(
        "vmap_levenberg",
        "vmap of a damped fit until it stands, 10,000 curves",
        levenberg,
        damped_data,
        1e-3,
        reference=fitted,
    )
)
add(
    Workload(
        "vmap_kepler",
        "vmap of Newton's method on 10,000 numbers",
        kepler,
        orbits_data,
        1e-5,
        reference=orbits,
    )
)
