"""Points, boxes, small matrices."""

from __future__ import annotations

from typing import Any

from . import lines, normal, program, uniform

lines(
    """
    softmax_classes: m.softmax(a, 1)
    log_softmax_classes: m.log_softmax(a, 1)
    argmax_classes: m.xp.argmax(a, axis=1)
    sum_classes: m.xp.sum(a, axis=1)
    normalize_points: p / m.xp.sqrt(m.xp.sum(p * p, axis=1, keepdims=True))
    rotate_points: p @ r
    centre_points: p - m.xp.mean(p, axis=0)
    bounding_box: m.xp.max(p, axis=0) - m.xp.min(p, axis=0)
    small_matmul: m.xp.matmul(t, t)
    small_transform: m.xp.einsum("nij,nj->ni", t, p)
    small_determinant: m.xp.linalg.det(t)
    small_inverse: m.xp.linalg.inv(t + 3.0 * m.xp.eye(3, dtype=m.xp.float32))
    trace_batch: m.xp.einsum("nii->n", t)
    complex_magnitude: m.xp.sqrt(q[:, 0] ** 2 + q[:, 1] ** 2)
    """,
    a=normal(10_000, 10),
    p=normal(50_000, 3),
    q=normal(50_000, 2),
    r=normal(3, 3),
    t=normal(50_000, 3, 3),
)


@program(normal(20_000, 4), normal(20_000, 4))
def quaternion_product(m: Any, a: Any, b: Any) -> Any:
    aw, ax, ay, az = (a[:, i] for i in range(4))
    bw, bx, by, bz = (b[:, i] for i in range(4))
    return m.xp.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


@program(uniform(400, 4), uniform(300, 4))
def box_overlap(m: Any, a: Any, b: Any) -> Any:
    """Intersection over union of all pairs of boxes (two corners each)."""
    low, high = m.xp.minimum(a[:, :2], a[:, 2:]), m.xp.maximum(a[:, :2], a[:, 2:])
    low2, high2 = m.xp.minimum(b[:, :2], b[:, 2:]), m.xp.maximum(b[:, :2], b[:, 2:])
    top = m.xp.minimum(high[:, None, :], high2[None, :, :])
    both = m.xp.prod(m.xp.clip(top - m.xp.maximum(low[:, None, :], low2[None, :, :]), 0.0, None), axis=-1)
    area, area2 = m.xp.prod(high - low, axis=-1), m.xp.prod(high2 - low2, axis=-1)
    return both / (area[:, None] + area2[None, :] - both)


@program(normal(20_000, 3), normal(20_000, 3))
def ray_sphere(m: Any, origin: Any, way: Any) -> Any:
    way = way / m.xp.sqrt(m.xp.sum(way * way, axis=1, keepdims=True))
    b = m.xp.sum(origin * way, axis=1)
    inside = b * b - m.xp.sum(origin * origin, axis=1) + 4.0
    distance = -b - m.xp.sqrt(m.xp.maximum(inside, 0.0))
    hit = origin + distance[:, None] * way
    return m.xp.where((inside > 0.0)[:, None], hit * 0.5, 0.0)
