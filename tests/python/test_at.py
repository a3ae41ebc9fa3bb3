"""`x.at[key].set(v)` and its like, and `x[key] = v` by the same way: against NumPy, with derivatives, in captures, with
sizes that are not known, and with positions that an axis does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig

RNG = np.random.default_rng(0)
at = np.array
NUMPY = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}
KEYS: dict[str, tuple[tuple[int, ...], Any]] = {
    "integer": ((5, 6), (1,)),
    "slice": ((5, 6), (slice(1, 4),)),
    "steps": ((5, 6), (slice(None, None, 2), slice(4, 0, -2))),
    "backwards": ((5, 6), (slice(None, None, -1), 3)),
    "array": ((5, 6), (at([0, 2, 4]),)),
    "twice the same": ((5, 6), (at([1, 1, 3, 1]), at([2, 2, 0, 2]))),
    "slice and array": ((5, 6), (slice(1, 4), at([0, 3]))),
    "arrays": ((5, 6), (at([[0], [3]]), at([1, 2]))),
    "arrays apart": ((4, 5, 6), (at([0, 2]), slice(None), at([1, 3]))),
    "integer, steps, array": ((4, 5, 6), (2, slice(0, 5, 2), at([1, 3]))),
    "steps around an array": ((4, 5, 6), (slice(None, None, 2), at([4, 0]), slice(1, 5, 3))),
    "ellipsis": ((4, 5, 6), (..., at([5, -2]))),
    "new axis": ((4, 5, 6), (None, slice(1, 3), at([1, 2]))),
    "mask of rows": ((5, 6), (at([True, False, True, False, True]),)),
    "mask of columns": ((5, 6), (slice(None), at([True, False, True, False, True, True]))),
    "mask": ((5, 6), (RNG.random((5, 6)) > 0.5,)),
    "nothing there": ((0, 3), (slice(None),)),
    "nothing meant": ((5,), (at([], np.int64),)),
    "an array of one number": ((5, 6), (at(3), slice(2, 5))),
}


def expected(x: np.ndarray, key: Any, how: str, v: np.ndarray) -> np.ndarray:
    out = x.copy()
    if how == "set":
        out[key] = v
    else:
        NUMPY[how].at(out, key, v)
    return out


@pytest.mark.parametrize("how", ["set", *NUMPY])
@pytest.mark.parametrize("name", KEYS)
def test_as_numpy(name: str, how: str) -> None:
    shape, key = KEYS[name]
    x = RNG.normal(size=shape)
    v = RNG.normal(size=x[key].shape)
    if how == "set" and name == "twice the same":
        v[...] = v[0]
    mine = tuple(ig.asarray(k) if isinstance(k, np.ndarray) else k for k in key)
    wanted = expected(x, key, how, v)
    is_array = [isinstance(k, np.ndarray) and k.dtype != np.bool_ for k in key]
    arrays = [ig.asarray(k) for k, given in zip(key, is_array, strict=True) if given]

    def update(x: ig.Tensor, v: ig.Tensor, *arrays: ig.Tensor) -> ig.Tensor:
        left = iter(arrays)
        own = [
            next(left) if isinstance(k, np.ndarray) and k.dtype != np.bool_ else m
            for k, m in zip(key, mine, strict=True)
        ]
        return getattr(x.at[tuple(own)], how)(v)

    operands = [ig.asarray(x), ig.asarray(v), *arrays]
    for way in (update, ig.jit(update)):
        np.testing.assert_allclose(np.asarray(way(*operands)), wanted, rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(operands[0]), x)  # it stays as it is
    if how == "set":
        np.testing.assert_array_equal(np.asarray(update(*operands)[mine]), v)
        handle = ig.asarray(x)
        handle[mine] = operands[1]
        np.testing.assert_array_equal(np.asarray(handle), wanted)
    if how in ("set", "add") and wanted.size and v.size:
        by_x, by_v = ig.grad(lambda x, v: ig.sum(ig.sin(update(x, v, *arrays))), argnums=(0, 1))(*operands[:2])
        toward_x, toward_v = RNG.normal(size=x.shape), RNG.normal(size=v.shape)

        def moved(h: float) -> float:
            return float(np.sin(expected(x + h * toward_x, key, how, v + h * toward_v)).sum())

        slope = (np.asarray(by_x) * toward_x).sum() + (np.asarray(by_v) * toward_v).sum()
        assert abs(slope - (moved(1e-6) - moved(-1e-6)) / 2e-6) < 1e-6


def test_the_other_ways() -> None:
    x = ig.asarray([0.0, 1.0, 2.0, 3.0, 4.0])
    assert x.at[1:3].divide(2.0).tolist() == [0, 0.5, 1, 3, 4]
    assert x.at[ig.asarray([2, 2])].divide(ig.asarray([2.0, 4.0])).tolist() == [0, 1, 0.25, 3, 4]
    assert x.at[1:].power(2).tolist() == [0, 1, 4, 9, 16]
    assert x.at[1].subtract(5).tolist() == [0, -4, 2, 3, 4]
    assert x.at[::2].apply(lambda v: v * 10).tolist() == [0, 1, 20, 3, 40]
    assert x.at[x > 2].mul(0).tolist() == [0, 1, 2, 0, 0]
    assert x.at[x > 2].add(1).tolist() == [0, 1, 2, 4, 5]
    assert ig.asarray([1, 2, 3], dtype="int8").at[0].add(100).tolist() == [101, 2, 3]
    assert ig.asarray([True, False]).at[1].set(True).tolist() == [True, True]
    assert repr(x.at[1]) == f"Place({x!r}, 1)"


def test_what_is_not_there() -> None:
    x, i = ig.asarray([0.0, 1.0, 2.0, 3.0, 4.0]), ig.asarray([1, 9, -9, -1])

    def all_modes(x: ig.Tensor, i: ig.Tensor) -> tuple[ig.Tensor, ...]:
        return (
            x.at[i].get(mode="fill"),
            x.at[i].get(mode="fill", fill_value=-1.0),
            x.at[i].get(mode="clip"),
            x.at[i].add(1.0, mode="drop"),
            x.at[i].set(7.0, mode="clip"),
            x.at[i].apply(lambda v: v + 10, mode="drop"),
        )

    wanted = (
        [1, np.nan, np.nan, 4],
        [1, -1, -1, 4],
        [1, 4, 0, 4],
        [0, 2, 2, 3, 5],
        [7, 7, 2, 3, 7],
        [0, 11, 2, 3, 14],
    )
    for way in (all_modes, ig.jit(all_modes)):
        for got, want in zip(way(x, i), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.array(want, np.float32))
    rows = ig.reshape(ig.arange(6), (3, 2)).at[ig.asarray([5, 0])].get(mode="fill")
    assert rows.tolist() == [[-(2**63)] * 2, [0, 1]]


def test_sizes_that_are_not_known() -> None:
    n, k = ig.Dim("n", min=1), ig.Dim("k")
    put = ig.trace(
        lambda x, i, v: x.at[i].set(v),
        ig.ones((7, 3)),
        ig.asarray([1, 2]),
        ig.ones((2, 3)),
        dynamic_shapes=({0: n}, {0: k}, {0: k}),
    ).graph
    assert put(ig.zeros((3, 3)), ig.asarray([2]), ig.ones((1, 3))).tolist() == [[0] * 3, [0] * 3, [1] * 3]
    with pytest.raises(ig.IndexError, match="the index 3 is out of range for axis 0 of size 3"):
        put(ig.zeros((3, 3)), ig.asarray([3]), ig.ones((1, 3)))
    steps = ig.trace(lambda x, v: x.at[1::2].add(v), ig.ones((7, 3)), ig.ones(3), dynamic_shapes=({0: n}, None)).graph
    assert steps(ig.zeros((4, 3)), ig.ones(3)).tolist() == [[0] * 3, [1] * 3, [0] * 3, [1] * 3]
    last = ig.trace(lambda x: x.at[-1].set(5.0), ig.ones(7), dynamic_shapes=({0: n},)).graph
    assert last(ig.zeros(3)).tolist() == [0, 0, 5]


def test_in_transforms_and_loops() -> None:
    one_hot = ig.vmap(lambda x, i, v: x.at[i].add(v))(ig.zeros((3, 4)), ig.asarray([0, 1, 3]), ig.ones(3))
    assert one_hot.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    squares = ig.jit(lambda: ig.fori_loop(0, 5, lambda i, x: x.at[i].set(i * i), ig.zeros(5, dtype="int64")))
    assert squares().tolist() == [0, 1, 4, 9, 16]
    leaf = ig.ones(3).requires_grad_()
    ig.sum(leaf.at[ig.asarray([0, 0])].multiply(3.0)).backward()
    assert leaf.grad.tolist() == [9, 1, 1]


def test_a_large_table_is_not_counted() -> None:
    """The positions that are written take memory, the table itself does not once more."""
    rows = ig.asarray([1, 3])
    graph = ig.trace(lambda x, v: x.at[rows].set(v), ig.zeros((1000, 8)), ig.ones((2, 8)), lift=False).graph
    assert graph.report()["constant_bytes"] < 100


def test_segments() -> None:
    data, ids = RNG.normal(size=(7, 2)), at([3, 0, 3, -1, 5, 0, 3])
    for name, fold, empty in (
        ("sum", np.sum, 0.0),
        ("prod", np.prod, 1.0),
        ("max", np.max, -np.inf),
        ("min", np.min, np.inf),
    ):
        wanted = np.stack([fold(data[ids == s], axis=0) if (ids == s).any() else np.full(2, empty) for s in range(5)])
        function = getattr(ig, f"segment_{name}")
        for way in (function, ig.jit(function, static_argnums=2)):
            np.testing.assert_allclose(np.asarray(way(ig.asarray(data), ig.asarray(ids), 5)), wanted, rtol=1e-12)
    assert ig.segment_sum(ig.asarray([1, 2, 4]), ig.asarray([0, 2, 0])).tolist() == [5, 0, 2]
    assert ig.segment_max(ig.asarray([1, 2], dtype="int8"), ig.asarray([1, 1]), 2).tolist() == [-128, 2]
    assert ig.segment_sum(ig.zeros((0, 2)), ig.zeros(0, dtype="int64")).shape == (0, 2)
    slopes = ig.grad(lambda x: ig.sum(ig.segment_sum(x, ig.asarray(ids), 5) ** 2))(ig.asarray(data))
    sums = np.asarray(ig.segment_sum(ig.asarray(data), ig.asarray(ids), 5))
    inside = (ids >= 0) & (ids < 5)
    np.testing.assert_allclose(np.asarray(slopes), np.where(inside[:, None], 2 * sums[np.where(inside, ids, 0)], 0))


X = ig.asarray([1.0, 2.0, 3.0])
ERRORS: dict[str, Any] = {
    "position": lambda: X.at[ig.asarray([0, 7])].set(1.0),
    "position, captured": lambda: ig.jit(lambda x, i: x.at[i].add(1.0))(X, ig.asarray([7])),
    "integer": lambda: X.at[5].set(1.0),
    "mode": lambda: X.at[0].set(1.0, mode="wrap"),
    "shape": lambda: X.at[:2].set([1.0, 2.0, 3.0]),
    "complex number": lambda: X.at[0].set(1j),
    "float into integers": lambda: ig.arange(3).at[0].add(1.5),
    "segments": lambda: ig.segment_sum(X, ig.asarray([[0, 1, 2]])),
    "wider values": lambda: X.at[0].set(ig.asarray(1.0, dtype="float64")),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("at_errors.txt"))


def test_indices_of_32_bits() -> None:
    """They stay so in a graph, alone and beside others of 64 bits; what is out of range is refused all the same."""
    x = np.arange(40, dtype=np.float32).reshape(5, 8)
    short, long = np.array([4, -5, 0, -1], np.int32), np.array([3, -4, 2, 0], np.int64)
    arrays = [ig.asarray(a) for a in (x, short, long)]

    def both(x: ig.Tensor, i: ig.Tensor, j: ig.Tensor) -> tuple[ig.Tensor, ...]:
        return x[i], x[i, j], x[j, i - i], x.at[i, j].add(1.0), x.at[i].set(2.0)

    traced = ig.trace(both, *arrays)
    added, placed = x.copy(), x.copy()
    np.add.at(added, (short, long), 1)
    placed[short] = 2
    wanted = [x[short], x[short, long], x[long, short - short], added, placed]
    for one, other in zip(traced(*arrays), wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)
    taken = ig.trace(lambda x, i: x[i], arrays[0], arrays[1])
    for bad in (5, -6, 2**31 - 1, -(2**31)):
        with pytest.raises(ig.IndexError, match=f"the index {bad} is out of range for axis 0 of size 5"):
            taken(arrays[0], ig.asarray(np.array([0, bad, 1, 1], np.int32)))


def test_scattered_elements_far_outside_are_left_out() -> None:
    places = ig.asarray(np.array([2**62, -(2**62), -1, 3, 49, 50, -50, -51], np.int64))
    got = np.asarray(ig.jit(lambda n: ig.zeros(50).at[n].add(1.0, mode="drop"))(places))
    want = np.zeros(50, np.float32)
    want[[3, 0]] = 1
    want[49] = 2
    assert np.array_equal(got, want)
