"""`take_along_axis` and `put_along_axis` where axes of one element stand for any number, as NumPy has it."""

from __future__ import annotations

import numpy as np
import pytest

import intaglio as ig

SHAPES = [
    ((4, 6, 3), (4, 2, 1), 1),
    ((4, 6, 3), (1, 2, 3), 1),
    ((4, 6, 3), (1, 2, 1), -2),
    ((4, 6, 3), (1, 1, 2), 2),
    ((4, 6, 3), (5, 6, 1), 0),
    ((1, 6, 3), (4, 2, 3), 1),
    ((1, 6, 1), (4, 2, 3), 1),
    ((4, 1, 3), (4, 1, 1), 1),
    ((4, 6, 3), (4, 0, 1), 1),
    ((0, 6), (1, 2), 1),
    ((7,), (3,), 0),
]


@pytest.mark.parametrize(("shape", "places", "axis"), SHAPES)
def test_axes_of_one_element(shape: tuple[int, ...], places: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    i = rng.integers(0, shape[axis], places)
    taken = np.take_along_axis(x, i, axis)
    for found in (ig.take_along_axis(x, i, axis=axis), ig.jit(lambda a, b: ig.take_along_axis(a, b, axis=axis))(x, i)):
        np.testing.assert_array_equal(found.numpy(), taken)
    counts = ig.grad(lambda a: ig.sum(ig.take_along_axis(a, i, axis=axis)))(ig.asarray(x)).numpy()
    assert counts.sum() == taken.size
    put = x.copy()
    np.put_along_axis(put, i, np.float32(2), axis)
    np.testing.assert_array_equal(ig.put_along_axis(x, i, 2.0, axis).numpy(), put)


def test_axes_that_do_not_fit() -> None:
    x, i = ig.zeros((4, 6, 3)), ig.zeros((3, 2, 3), dtype="int64")
    with pytest.raises(ig.ShapeError) as error:
        ig.take_along_axis(x, i, axis=1)
    assert str(error.value).splitlines()[0] == (
        "take_along_axis: the axes of the array and of the indices: 4 and 3 differ"
    )
    with pytest.raises(ig.ShapeError, match="3 and 4 differ"):
        ig.put_along_axis(x, i, 1.0, 1)
