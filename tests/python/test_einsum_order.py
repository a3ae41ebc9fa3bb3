"""`ig.einsum` takes two factors in the order that leaves the least to transpose, whatever order they come in."""

from __future__ import annotations

import numpy as np
import pytest

import intaglio as ig

# The subscripts, the shapes, and whether anything is left to transpose.
CASES = [
    ("ij,jk->ik", (40, 3), (3, 50), False),
    ("ij,kj->ki", (40, 3), (50, 3), False),
    ("kj,ij->ki", (50, 3), (40, 3), False),
    ("ajk,bj->abk", (4, 3, 40), (5, 3), False),
    ("bj,ajk->abk", (5, 3), (4, 3, 40), False),
    ("nchw,oc->nohw", (2, 3, 6, 7), (5, 3), False),
    ("ijk,ai->ajk", (3, 8, 9), (5, 3), False),
    ("ajk,bj->bak", (4, 3, 40), (5, 3), False),
    ("bqd,bkd->bkq", (2, 40, 3), (2, 50, 3), False),
    ("ajk,bj->abk", (4, 3, 8), (5, 3), True),  # rows of 8 would be short ones
    ("ij,kj->ki", (0, 3), (5, 3), True),
    ("ajk,bj->akb", (4, 3, 40), (5, 3), False),
]


@pytest.mark.parametrize(("subscripts", "a", "b", "transposes"), CASES)
def test_orders(subscripts: str, a: tuple[int, ...], b: tuple[int, ...], transposes: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, shape).astype(np.float32) for shape in (a, b))
    jitted = ig.jit(lambda p, q: ig.einsum(subscripts, p, q))
    assert ("transpose(" in str(jitted.lower(x, y).graph)) == transposes
    for found in (jitted(x, y), ig.einsum(subscripts, x, y)):
        np.testing.assert_array_equal(found.numpy(), np.einsum(subscripts, x, y))
    gradients = ig.jit(ig.grad(lambda p, q: ig.sum(ig.einsum(subscripts, p, q)), argnums=(0, 1)))(x, y)
    ones = np.ones(np.einsum(subscripts, x, y).shape, np.float32)
    left, right, out = *subscripts.split("->")[0].split(","), subscripts.split("->")[1]
    np.testing.assert_array_equal(gradients[0].numpy(), np.einsum(f"{out},{right}->{left}", ones, y))
    np.testing.assert_array_equal(gradients[1].numpy(), np.einsum(f"{out},{left}->{right}", ones, x))
    rows = ig.vmap(lambda p: ig.einsum(subscripts, p, y))(np.stack([x, x + 1]))
    np.testing.assert_array_equal(rows[1].numpy(), np.einsum(subscripts, x + 1, y))


@pytest.mark.parametrize("subscripts", ["bi,ij,bj->b", "ij,bi,bj->b", "bi,ij,bj->", "bi,bj,ij->b"])
def test_a_product_has_the_order_of_what_it_is_multiplied_with(subscripts: str) -> None:
    """The rows b of the first product meet those of the array that has all of its axes, so none lies across."""
    rng = np.random.default_rng(1)
    sizes = {"b": 60, "i": 40, "j": 33}
    shapes = [tuple(sizes[name] for name in term) for term in subscripts.split("->")[0].split(",")]
    arrays = [ig.asarray(rng.integers(-9, 9, shape).astype(np.float32)) for shape in shapes]
    f = ig.jit(lambda *arrays: ig.einsum(subscripts, *arrays))
    text = str(f.lower(*arrays).graph)
    assert "transpose(" not in text
    assert "f32[33, 60]" not in text
    assert "f32[40, 60]" not in text
    for found in (f(*arrays), ig.einsum(subscripts, *arrays)):
        np.testing.assert_array_equal(np.asarray(found), np.einsum(subscripts, *(np.asarray(a) for a in arrays)))
