"""What kernels do in ways of their own for certain sizes and values: rows in order, places of extremes, whole-number
division by one number, dots, and the direct calls of element-wise ops. Each against NumPy, or against the usual way."""

from __future__ import annotations

import numpy as np
import pytest

import intaglio as ig

REALS = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ROWS = (0, 1, 2, 31, 127, 128, 129, 130, 1000)


def row(dtype: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of the whole range, few different ones, and what has an order of its own."""
    if dtype.startswith("float"):
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-7, -1e-7, 3.0]
        values = np.concatenate([rng.normal(size=n), rng.integers(-3, 3, n), rng.choice(special, n)])
    else:
        ends = np.iinfo(dtype)
        values = np.concatenate(
            [
                rng.integers(ends.min, ends.max, n, dtype=dtype, endpoint=True),
                rng.integers(0, 5, n).astype(dtype),
                rng.choice(np.array([ends.min, ends.max, 0, 1], dtype), n),
            ]
        )
    return rng.choice(values, n).astype(dtype) if n else np.zeros(0, dtype)


@pytest.mark.parametrize("dtype", REALS)
def test_rows_of_all_lengths_are_ordered_as_a_stable_sort_orders_them(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for n in ROWS:
        x = np.stack([row(dtype, n, rng) for _ in range(3)])
        order = np.argsort(x, axis=1, kind="stable")
        np.testing.assert_array_equal(ig.argsort(ig.asarray(x), axis=1).numpy(), order)
        ours = ig.sort(ig.asarray(x), axis=1).numpy()
        assert ours.tobytes() == np.take_along_axis(x, order, 1).tobytes()  # signs of zeros and NaNs too
        down = ig.argsort(ig.asarray(x), axis=1, descending=True).numpy()
        for given, found in zip(x, down, strict=True):
            keys = [((not np.isnan(v) and 1) or 0, v) if given.dtype.kind == "f" else (1, int(v)) for v in given]
            expected = sorted(range(n), key=lambda i: (-keys[i][0], 0 if keys[i][0] == 0 else -keys[i][1], i))
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [*REALS, "bool"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes_are_the_first_ones(dtype: str, name: str) -> None:
    rng = np.random.default_rng(2)
    for shape in ((1, 1), (5, 3), (3, 31), (2, 300), (300, 2), (7, 1000)):
        if dtype == "bool":
            x = rng.random(shape) > 0.9
        else:
            x = row(dtype, shape[0] * shape[1], rng).reshape(shape)
        for case in (x, np.full_like(x, -np.inf if x.dtype.kind == "f" else x.min()), np.full_like(x, x.max())):
            if dtype == "bool":
                continue
            for axis in (0, 1, None):
                ours = getattr(ig, name)(ig.asarray(case), axis=axis).numpy()
                np.testing.assert_array_equal(ours, getattr(np, name)(case, axis=axis), err_msg=f"{shape} {axis}")


@pytest.mark.parametrize("dtype", [d for d in REALS if "int" in d])
def test_whole_numbers_divided_by_one_number(dtype: str) -> None:
    rng = np.random.default_rng(3)
    ends = np.iinfo(dtype)
    divisors = [1, 2, 3, 7, 10, 100, ends.max, ends.max - 1, *rng.integers(ends.min, ends.max, 20, dtype=dtype)]
    divisors += [-1, -2, -3, ends.min, ends.min + 1] if ends.min < 0 else []
    for divisor in {int(d) for d in divisors if d}:
        near = [int(q) * divisor + r for q in rng.integers(-1000, 1000, 300) for r in (-1, 0, 1)]
        x = np.array([v for v in near if ends.min <= v <= ends.max] + [ends.min, ends.max, 0, 1], dtype)
        x = np.concatenate([x, rng.integers(ends.min, ends.max, 2000, dtype=dtype, endpoint=True)])
        number = np.array(divisor, dtype)
        with np.errstate(over="ignore"):
            quotient, rest = x // number, x % number
        a, b = ig.asarray(x), ig.asarray(number)
        np.testing.assert_array_equal((a // b).numpy(), quotient, err_msg=f"by {divisor}")
        np.testing.assert_array_equal((a % b).numpy(), rest, err_msg=f"by {divisor}")
    constant = ig.trace(lambda x: (x // 7, x % 7), ig.asarray(x)).graph.compile()
    np.testing.assert_array_equal(constant(ig.asarray(x))[0].numpy(), x // np.array(7, dtype))
    np.testing.assert_array_equal(constant(ig.asarray(x))[1].numpy(), x % np.array(7, dtype))


DOTS = [
    ("i,i->", (1000,), (1000,)), ("ij,ij->i", (40, 300), (40, 300)), ("ij,ji->ij", (4, 5), (5, 4)),
    ("ijk,kji->ki", (4, 5, 6), (6, 5, 4)), ("ijk,jik->", (4, 5, 6), (5, 4, 6)), ("i,i->", (0,), (0,)),
    ("bi,bi->b", (3, 0), (3, 0)), ("ji,ji->i", (3, 700), (3, 700)), ("ji,ji->i", (70, 33), (70, 33)),
]  # fmt: skip


@pytest.mark.parametrize(("names", "one", "other"), DOTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "float16"])
def test_dots_without_a_free_axis_are_the_same_bits_op_by_op_and_compiled(
    names: str, one: tuple[int, ...], other: tuple[int, ...], dtype: str
) -> None:
    rng = np.random.default_rng(4)
    x, y = ((rng.normal(size=shape) * 2).astype(dtype) for shape in (one, other))
    wide = {"float16": "float64", "float32": "float64", "complex64": "complex128"}.get(dtype, dtype)
    ours = ig.einsum(names, ig.asarray(x), ig.asarray(y))
    graph = ig.trace(lambda a, b: ig.einsum(names, a, b), ig.asarray(x), ig.asarray(y)).graph
    assert graph.compile()(ig.asarray(x), ig.asarray(y)).numpy().tobytes() == ours.numpy().tobytes()
    bound = {"float16": 2e-3, "float64": 1e-12}.get(dtype, 1e-5)
    expected = np.einsum(names, x.astype(wide), y.astype(wide))
    most = np.einsum(names, np.abs(x).astype("float64"), np.abs(y).astype("float64")) + 1
    assert ours.shape == expected.shape
    assert str(ours.dtype) == dtype
    assert np.all(np.abs(ours.numpy().astype(wide) - expected) <= bound * most)


OPERATORS = {"add": "__add__", "subtract": "__sub__", "multiply": "__mul__", "less": "__lt__", "equal": "__eq__"}


def test_direct_calls_are_those_of_the_public_functions() -> None:
    rng = np.random.default_rng(5)
    for dtype in REALS:
        x = ig.asarray((rng.normal(size=(3, 5)) * 20).astype(dtype))
        for number in (2, 3.5, 0) if "float" in dtype else (2, 0):
            for name, operator in OPERATORS.items():
                direct, usual = getattr(x, operator)(number), getattr(ig, name)(x, number)
                where = f"{name}, {dtype}, {number}"
                assert direct.dtype == usual.dtype, where
                assert direct.numpy().tobytes() == usual.numpy().tobytes(), where
        turned = ig.subtract(7, x)
        assert (7 - x).dtype == turned.dtype
        assert (7 - x).numpy().tobytes() == turned.numpy().tobytes()
        assert (-x).dtype == x.dtype
        assert abs(x).dtype == x.dtype
    for way in (lambda x: x + 300, lambda x: ig.add(x, 300)):
        with pytest.raises(ig.ValueError, match="300 does not fit in int8"):
            way(ig.asarray([1], dtype="int8"))
    with pytest.raises(ig.TypeError, match="a Python float does not go with int8 arrays"):
        ig.asarray([1, 2], dtype="int8") > 1.5  # noqa: B015
    line = ig.asarray([1.0, 2.0], requires_grad=True)
    (3 * (-line)).sum().backward()
    assert line.grad.tolist() == [-3.0, -3.0]


def test_filled_arrays_are_the_same_by_the_short_way_and_by_the_long_one() -> None:
    for value in (0, 1, 2.5, True, -1):
        for dtype in (None, "float32", "int64", "bool", "complex64", "float16"):
            short, long = ig.full((3, 2), value, dtype=dtype), ig.full([3, 2], value, dtype=dtype)
            assert short.dtype == long.dtype
            assert short.numpy().tobytes() == long.numpy().tobytes()
    assert ig.zeros(()).shape == ()
    assert ig.ones(4).tolist() == [1.0] * 4
    assert ig.zeros((0, 3)).shape == (0, 3)
    assert ig.trace(lambda x: x + ig.zeros((2,)), ig.ones(2)).graph.compile()(ig.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(ig.ShapeError, match="negative size"):
        ig.zeros((2, -1))


def test_powers_are_the_same_bits_before_and_after_their_form_is_compiled() -> None:
    x = ig.asarray(np.random.default_rng(6).normal(size=200_000).astype("float32"))
    for power in (3, 0.5, -1, 1.5):
        first = (x**power).numpy()
        for _ in range(100):
            last = x**power
        assert last.numpy().tobytes() == first.tobytes()
