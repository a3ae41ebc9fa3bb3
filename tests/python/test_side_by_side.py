"""What goes side by side in vectors, each lane a row or a matrix of its own: rows of few elements that are folded,
many small matrices, and elements a small distance apart. The bits are those of one row or matrix at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

Function = Callable[[Any], Any]


def parts_of(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def bits(value: Any, rows: slice = slice(None)) -> tuple[bytes, ...]:
    """Of all results, whose NaN are alike."""
    found = []
    for part in parts_of(value):
        wide = part.astype(ig.float32) if part.dtype == ig.bfloat16 else part  # NumPy has none
        array = (wide[rows] if part.shape else wide).numpy().copy()
        array[array != array] = np.nan if array.dtype.kind in "fc" else 0
        found.append(array.tobytes())
    return tuple(found)


def by_threads(function: Callable[..., Any], *given: Any) -> Any:
    """The results, after they were seen to have the same bits with one, two and three threads."""
    threads = ig.get_num_threads()
    try:
        found = []
        for count in (1, 2, 3):
            ig.set_num_threads(count)
            found.append(function(*given))
    finally:
        ig.set_num_threads(threads)
    assert bits(found[0]) == bits(found[1]) == bits(found[2])
    return found[0]


# ---- rows ------------------------------------------------------------------------------------------------------
FOLDS: dict[str, Function] = {
    "sum": lambda x: ig.sum(x, axis=-1),
    "product": lambda x: ig.prod(x, axis=-1),
    "least": lambda x: ig.min(x, axis=-1),
    "place": lambda x: ig.argmax(x, axis=-1),
    "last place": lambda x: ig.argmin(x, axis=-1, keepdims=True),
    "softmax": lambda x: ig.softmax(x, axis=-1),
    "log softmax": lambda x: (ig.log_softmax(x, axis=-1), ig.logsumexp(x, axis=-1)),
    "unit": lambda x: x / ig.sqrt(ig.sum(x * x, axis=-1, keepdims=True)),
    "power": lambda x: ig.sum(x * x, axis=-1, keepdims=True) ** 1.5 - x,
    "spread": lambda x: (x - ig.mean(x, axis=-1, keepdims=True)) / ig.std(x, axis=-1, keepdims=True),
    "joined": lambda x: ig.sum(ig.concat([x, x * x], axis=-1), axis=-1),
    "turned": lambda x: x[..., ::-1] - ig.max(x, axis=-1, keepdims=True),
}


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "int8", "uint16"])
def test_rows_side_by_side_have_the_bits_of_rows_alone(name: str, dtype: str) -> None:
    floats = dtype.endswith(("16", "32", "64")) and "int" not in dtype
    if not floats and name in {"softmax", "log softmax", "unit", "power", "spread"}:
        return  # of floats alone
    rng = np.random.default_rng(len(name))
    function = FOLDS[name]
    for columns in (2, 3, 4, 5, 8, 10, 16) if dtype == "float32" else (3, 7, 16):
        x = rng.normal(size=(131, columns)) * 3
        if floats:
            x[5, 1], x[6, 0], x[7, :], x[8, :2], x[9, 0] = np.nan, np.inf, 0.0, (-0.0, 0.0), -np.inf
        else:
            x = np.abs(x)
        given = ig.asarray(x.astype("float32")).astype(getattr(ig, dtype))
        together = by_threads(ig.jit(function), given)
        one = ig.jit(function)  # a row alone is folded by itself
        for i in (0, 5, 6, 7, 8, 9, 64, 130):
            assert bits(together, slice(i, i + 1)) == bits(one(given[i : i + 1])), (columns, i)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (8, 3), (3, 70, 3), (2, 5, 64, 2), (65, 4, 2), (9, 3, 2, 2)])
def test_shapes_of_short_rows(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).normal(size=shape)
    given = ig.asarray(x.astype(np.float32))
    found = by_threads(ig.jit(lambda x: (FOLDS["unit"](x), ig.sum(x, axis=-1))), given)
    np.testing.assert_allclose(found[0].numpy(), x / np.sqrt((x * x).sum(-1, keepdims=True)), rtol=1e-5)
    np.testing.assert_allclose(found[1].numpy(), x.sum(-1), rtol=1e-4, atol=1e-6)


def test_forces_of_all_pairs() -> None:
    """The rows are three coordinates of differences; a root of each row is read by all its elements."""
    x = np.random.default_rng(2).normal(size=(70, 3))

    def forces(m: Any, x: Any) -> Any:
        apart = x[None, :, :] - x[:, None, :]
        square = m.sum(apart * apart, axis=-1) + 0.01
        return m.sum(apart / (square**1.5)[:, :, None], axis=1)

    found = by_threads(ig.jit(lambda x: forces(ig, x)), ig.asarray(x))
    np.testing.assert_allclose(found.numpy(), forces(np, x), rtol=1e-11)


def test_short_rows_of_any_number() -> None:
    """The number of rows is a symbol, and so is what no vector is full of."""
    f = ig.jit(FOLDS["softmax"])
    for rows in (1, 7, 8, 64, 65, 200, 3):
        x = np.random.default_rng(rows).normal(size=(rows, 5)).astype(np.float32)
        want = np.exp(x - x.max(-1, keepdims=True))
        np.testing.assert_allclose(f(ig.asarray(x)).numpy(), want / want.sum(-1, keepdims=True), rtol=1e-6)


# ---- small matrices --------------------------------------------------------------------------------------------
def matrices(n: int, dtype: str, count: int, columns: int | None = None) -> Any:
    rng = np.random.default_rng(n)
    return rng.normal(size=(count, n, columns or n)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12, 13])
def test_small_matrices_have_the_bits_of_one_alone(n: int, dtype: str) -> None:
    a = matrices(n, dtype, 131)
    a[3] = 0  # no pivot
    a[4, :, 0] = 0
    a[5, 0, 0] = np.nan
    a[6] = np.eye(n)[::-1]  # rows change places
    a[7] = np.inf
    a[8] = 1  # ties of pivots, and singular
    with np.errstate(invalid="ignore"):
        positive = a @ a.transpose(0, 2, 1) + np.eye(n, dtype=dtype)
    functions: list[tuple[Callable[..., Any], list[Any]]] = [
        (lambda a: ig.linalg.lu_factor(a), [a]),
        (ig.linalg.det, [a]),
        (ig.linalg.inv, [a]),
        (ig.linalg.slogdet, [a]),
        (ig.linalg.cholesky, [positive]),
        *(
            (lambda a, b, **how: ig.linalg.solve_triangular(a, b, **how), [a, matrices(n, dtype, 131, m)])
            for m in (1, 3, 12, 13)
        ),
        *((ig.linalg.solve, [a, matrices(n, dtype, 131, m)]) for m in (1, 4)),
    ]
    for function, given in functions:
        own = [ig.asarray(array) for array in given]
        together = by_threads(ig.jit(function), *own)
        alone = ig.jit(function)
        for i in (*range(9), 63, 64, 130):
            want = bits(alone(*(array[i : i + 1] for array in own)))
            assert bits(together, slice(i, i + 1)) == want, (function, i)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("unit", [False, True])
def test_small_triangles(lower: bool, trans: int, unit: bool) -> None:
    a, b = matrices(3, "float64", 20), matrices(3, "float64", 20, 2)
    solve = ig.jit(lambda a, b: ig.linalg.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit))
    found = solve(ig.asarray(a), ig.asarray(b)).numpy()
    triangle = np.tril(a) if lower else np.triu(a)
    if unit:
        triangle[:, range(3), range(3)] = 1
    if trans:
        triangle = triangle.transpose(0, 2, 1)
    np.testing.assert_allclose(triangle @ found, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("batch", [(0,), (7,), (8,), (3, 5), (2, 2, 33)])
def test_batches_of_small_matrices(batch: tuple[int, ...]) -> None:
    a = np.random.default_rng(0).normal(size=(*batch, 3, 3))
    own = ig.asarray(a)
    np.testing.assert_allclose(ig.linalg.det(own).numpy(), np.linalg.det(a), rtol=1e-10)
    np.testing.assert_allclose(ig.jit(ig.linalg.inv)(own).numpy(), np.linalg.inv(a), rtol=1e-8)
    slope = ig.grad(lambda a: ig.sum(ig.linalg.det(a)))(own).numpy()
    cofactors = np.linalg.det(a)[..., None, None] * np.linalg.inv(a).swapaxes(-1, -2)
    np.testing.assert_allclose(slope, cofactors, rtol=1e-7, atol=1e-9)
    again = ig.jit(ig.vmap(ig.linalg.det))(own) if len(batch) == 1 else ig.linalg.det(own)
    assert bits(again) == bits(ig.linalg.det(own))


# ---- products with vectors ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "complex64"])
@pytest.mark.parametrize(
    ("equation", "a", "b"),
    [
        ("nij,nj->ni", (131, 3, 3), (131, 3)),
        ("nij,nj->ni", (131, 1, 5), (131, 5)),
        ("nij,nj->ni", (131, 2, 8), (131, 8)),
        ("nij,nj->ni", (131, 16, 1), (131, 1)),
        ("nj,nji->ni", (131, 4), (131, 4, 4)),
        ("nijk,njk->ni", (131, 2, 2, 3), (131, 2, 3)),
        ("bnij,bnj->bni", (3, 40, 3, 3), (3, 40, 3)),
        ("nbij,nbj->nbi", (20, 2, 3, 3), (20, 2, 3)),
        ("nij,nj->in", (131, 3, 3), (131, 3)),
        ("nij,nj->ni", (0, 3, 3), (0, 3)),
    ],
)
def test_small_products(equation: str, a: tuple[int, ...], b: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(7)
    x, y = ((rng.normal(size=shape) * 4).astype(dtype) for shape in (a, b))
    own = ig.asarray(x), ig.asarray(y)
    found = by_threads(ig.jit(lambda x, y: ig.einsum(equation, x, y)), *own)
    wide = "complex128" if dtype == "complex64" else "float64"
    want = np.einsum(equation, x.astype(wide), y.astype(wide))
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-2 if dtype == "float16" else 2e-5, atol=1e-3)
    if equation.endswith("->ni") and a[0]:
        one = ig.jit(lambda x, y: ig.einsum(equation, x, y))
        for i in (0, 64, 130):
            assert bits(found, slice(i, i + 1)) == bits(one(own[0][i : i + 1], own[1][i : i + 1]))


def test_small_products_with_more_work() -> None:
    rng = np.random.default_rng(8)
    turn, x, shift = rng.normal(size=(300, 3, 3)), rng.normal(size=(300, 3)), rng.normal(size=3)

    def moved(m: Any, turn: Any, x: Any, shift: Any) -> Any:
        return m.maximum(m.einsum("nij,nj->ni", turn, x) + shift, 0.0)

    own = [ig.asarray(array) for array in (turn, x, shift)]
    found = by_threads(ig.jit(lambda *given: moved(ig, *given)), *own)
    np.testing.assert_allclose(found.numpy(), moved(np, turn, x, shift), rtol=1e-12, atol=1e-14)
    slope = ig.jit(ig.grad(lambda turn: ig.sum(moved(ig, turn, *own[1:]))))(own[0]).numpy()
    open_ = (moved(np, turn, x, shift) > 0)[:, :, None]
    np.testing.assert_allclose(slope, open_ * x[:, None, :], rtol=1e-12)


# ---- elements a small distance apart -----------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int16", "int64", "bool", "complex64"])
def test_steps(dtype: str) -> None:
    """Slices by all small steps, forwards and back, of lengths around those of vectors, up to the array's end."""
    rng = np.random.default_rng(3)
    for step in (*range(2, 20), -1, -2, -3, -5, -9, -17):
        for count in (1, 2, 15, 16, 17, 63, 64, 65, 300):
            x = (rng.normal(size=(count - 1) * abs(step) + 1) * 50).astype(dtype)
            own = ig.asarray(x)
            found = ig.jit(lambda x, step=step: ig.where(x[::step] == x[::step], x[::step], x[::step]))(own)
            np.testing.assert_array_equal(found.numpy(), x[::step], err_msg=f"{step} {count}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int8", "complex128"])
def test_matrices_turned_over(dtype: str) -> None:
    rng = np.random.default_rng(4)
    for rows in (1, 2, 3, 4, 5, 7, 9, 16, 17, 31, 33, 70):
        for columns in (2, 3, 4, 5, 8, 9, 10, 15, 16, 17, 35, 66):
            x = (rng.normal(size=(rows, columns)) * 50).astype(dtype)
            found = by_threads(ig.jit(lambda x: x.T + x.T), ig.asarray(x))
            np.testing.assert_array_equal(found.numpy(), x.T + x.T)


def test_last_axes_of_one_element() -> None:
    """A walk goes along the last axis that has more."""
    x = np.random.default_rng(5).normal(size=(37, 41, 3)).astype(np.float32)
    single = ig.jit(lambda i: (i[..., :1] * 2.0 + i[..., 1:2], i[..., ::2][..., :1] - i[..., 2:]))
    first, second = by_threads(single, ig.asarray(x))
    np.testing.assert_allclose(first.numpy(), x[..., :1] * 2 + x[..., 1:2], rtol=1e-6)
    np.testing.assert_allclose(second.numpy(), x[..., :1] - x[..., 2:], rtol=1e-6)
    grey = ig.jit(lambda i: 0.25 * i[..., 0] + 0.5 * i[..., 1] + 0.25 * i[..., 2])
    want = 0.25 * x[..., 0] + 0.5 * x[..., 1] + 0.25 * x[..., 2]
    np.testing.assert_allclose(by_threads(grey, ig.asarray(x)).numpy(), want, rtol=1e-5, atol=1e-6)
    turned = ig.jit(lambda a, b: a.T[:, :, None] + b[:, :, None])
    a, b = x[..., 0], x[..., 1].T.copy()
    np.testing.assert_array_equal(turned(ig.asarray(a), ig.asarray(b)).numpy(), (a.T + b)[:, :, None])


def test_windows_that_a_loop_writes() -> None:
    """A window of known ends in the midst of rows, of what the array itself holds."""
    x = np.random.default_rng(6).normal(size=(20, 70)).astype(np.float32)
    for first, last in ((1, -1), (0, 40), (33, 70), (5, 6), (0, 70), (16, 64)):
        window = (slice(1, -1), slice(first, last))

        def smooth(u: Any, window: Any = window) -> Any:
            inner = u[window]
            return u.at[window].set(inner + 0.25 * (u[:-2, window[1]] + u[2:, window[1]] - 2.0 * inner))

        want = x.copy()
        want[window] = x[window] + np.float32(0.25) * (x[:-2, window[1]] + x[2:, window[1]] - np.float32(2) * x[window])
        found = by_threads(ig.jit(smooth), ig.asarray(x))
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-5, atol=1e-6)
        many = ig.jit(lambda u, smooth=smooth: ig.fori_loop(0, 3, lambda i, u: smooth(u), u))(ig.asarray(x))
        step = ig.asarray(x)
        for _ in range(3):
            step = ig.jit(smooth)(step)
        assert bits(many) == bits(step)
