"""Arrays whose axes were put in another order, eager: laid out when somebody reads them, and not for products. Each
result has the bits of that of an array which was laid out before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import intaglio as ig

rng = np.random.default_rng(44)


def random(*shape: int, dtype: Any = np.float32) -> Any:
    x = rng.standard_normal(shape) * 4
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def laid_out(x: Any) -> Any:
    return ig.asarray(np.array(np.asarray(x)))


def same(f: Callable[..., Any], *views: Callable[[], Any]) -> None:
    got, wanted = np.asarray(f(*[view() for view in views])), np.asarray(f(*[laid_out(view()) for view in views]))
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert got.tobytes() == wanted.tobytes()


DTYPES = [np.float32, np.float64, np.float16, np.int8, np.int32, np.complex64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices(dtype: Any) -> None:
    x, w, s = (ig.asarray(random(*shape, dtype=dtype)) for shape in ((7, 517), (300, 517), (517, 517)))
    v = ig.asarray(random(517, dtype=dtype))
    same(lambda a, b: a @ b, lambda: x, lambda: w.T)
    same(lambda a, b: a @ b, lambda: w.T, lambda: w)
    same(lambda a, b: a @ b, lambda: w, lambda: w.T)
    same(lambda a, b: a @ b, lambda: s.T, lambda: s.T)
    same(lambda a, b: a @ b, lambda: s.T, lambda: v)
    same(lambda a, b: a @ b, lambda: v, lambda: s.T)
    same(lambda a, b: ig.dot(a, b), lambda: x, lambda: w.T)
    same(lambda a, b: ig.linear(a, b), lambda: x, lambda: s.T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches(dtype: Any) -> None:
    b, c = ig.asarray(random(3, 128, 200, dtype=dtype)), ig.asarray(random(3, 128, 96, dtype=dtype))
    q = ig.asarray(random(4, 64, 8, 32, dtype=dtype))
    w = ig.asarray(random(5, 32, dtype=dtype))
    same(lambda a, b: a @ b, lambda: b.mT, lambda: c)
    same(lambda a, b: a @ b, lambda: c.mT, lambda: b)
    heads, turned_heads = (0, 2, 1, 3), (0, 2, 3, 1)
    same(lambda a, b: a @ b, lambda: ig.permute_dims(q, heads), lambda: ig.permute_dims(q, turned_heads))
    # Entries of the batch lie side by side.
    same(lambda a, b: a @ b, lambda: ig.permute_dims(q, (3, 0, 1, 2)), lambda: ig.permute_dims(q, (3, 0, 2, 1)))
    # The free axes come in another order than they lie.
    same(lambda a, b: ig.tensordot(a, b, ((3,), (1,))), lambda: ig.permute_dims(q, (2, 1, 0, 3)), lambda: w)
    first, second = (2, 3, 0, 1), (3, 2, 1, 0)
    same(
        lambda a, b: ig.tensordot(a, b, ((0, 1), (1, 0))),
        lambda: ig.permute_dims(q, first),
        lambda: ig.permute_dims(q, second),
    )
    same(lambda a, b: ig.tensordot(a, b, 4), lambda: ig.permute_dims(q, first), lambda: ig.permute_dims(q, first))


@pytest.mark.parametrize("dtype", DTYPES)
def test_everything_else(dtype: Any) -> None:
    s = ig.asarray(random(300, 517, dtype=dtype))
    t = ig.asarray(random(517, 300, dtype=dtype))
    same(lambda a, b: a + b, lambda: s.T, lambda: t)
    same(lambda a: ig.sum(a, axis=0), lambda: s.T)
    same(lambda a: a.reshape(-1), lambda: s.T)
    same(lambda a: a.T, lambda: s.T)
    same(lambda a: a[3:9, ::2], lambda: s.T)
    same(lambda a, b: ig.vecdot(a, b), lambda: s.T, lambda: t)
    same(lambda a, b: ig.einsum("ij,ij->i", a, b), lambda: s.T, lambda: t)
    same(lambda a: ig.jit(lambda x: x @ x.T)(a), lambda: s.T)
    assert np.array_equal(np.asarray(s.T), np.asarray(s).T)
    assert s.T.tolist() == np.asarray(s).T.tolist()


def test_values_not_views() -> None:
    a = random(400, 300)
    x = ig.asarray(a)
    y, z = x.T, x.T
    x[3:5, :] = 0.0
    assert np.array_equal(np.asarray(y), a.T)
    y[0, 0] = 99.0
    assert np.asarray(y)[0, 0] == 99
    assert np.array_equal(np.asarray(z), a.T)
    assert np.asarray(x)[0, 0] == a[0, 0]


def test_donated_memory() -> None:
    double = ig.jit(lambda v: v * 2, donate_argnums=(0,))
    a = random(400, 300)
    x = ig.asarray(a)
    y = x.T
    double(x)
    assert np.array_equal(np.asarray(y), a.T)
    x = ig.asarray(a)
    assert np.array_equal(np.asarray(double(x.T)), a.T * 2)
    assert np.array_equal(np.asarray(x), a)


def test_borrowed_memory() -> None:
    a = random(400, 300)
    before = a.copy()
    y = ig.from_dlpack(a).T
    a[:] = 0
    assert np.array_equal(np.asarray(y), before.T)


def test_gradients() -> None:
    w, x = ig.asarray(random(300, 517)), ig.asarray(random(64, 517))

    def loss(w: Any, x: Any) -> Any:
        return ig.sum((x @ w.T) ** 2)

    eager, compiled = ig.grad(loss)(w, x), ig.jit(ig.grad(loss))(w, x)
    assert np.array_equal(np.asarray(eager), np.asarray(compiled))
    p = laid_out(w).requires_grad_()
    ig.sum((x @ p.T) ** 2).backward()
    assert np.array_equal(np.asarray(p.grad), np.asarray(compiled))


def test_threads() -> None:
    x = ig.asarray(random(512, 512))
    for _ in range(5):
        y = x.T
        out: list[bytes] = [b""] * 6

        def read(i: int, y: Any = y, out: list[bytes] = out) -> None:
            out[i] = (np.asarray(y) if i % 2 else np.asarray(x @ y)).tobytes()

        threads = [threading.Thread(target=read, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(out)) == 2


def test_an_error_names_the_shape_that_was_asked_for() -> None:
    x, w = ig.asarray(random(7, 300)), ig.asarray(random(300, 517))
    with pytest.raises(ig.ShapeError, match=r"shapes \[7, 300\] and \[517, 300\] do not fit"):
        x @ w.T


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex64", "bool"])
def test_what_was_put_together_is_turned_over(dtype: str) -> None:
    """Arrays side by side and borders, turned over behind that, alone and with work around and folds behind."""
    x, y = (np.random.default_rng(n).integers(-90, 90, (3, 150, 130)).astype(dtype) for n in (3, 4))
    a, b = ig.asarray(x), ig.asarray(y)
    borders = [(0, 0), (2, 1), (1, 3)]
    for join, numpys in (
        (lambda a, b: ig.concat([a, b], axis=1), np.concatenate([x, y], axis=1)),
        (lambda a, b: ig.concat([a, b], axis=2), np.concatenate([x, y], axis=2)),
        (lambda a, b: ig.pad(a, borders), np.pad(x, borders)),
    ):
        for order in ((0, 2, 1), (2, 0, 1), (2, 1, 0)):
            f = lambda a, b, join=join, order=order: ig.permute_dims(join(a, b), order)  # noqa: E731
            got = ig.trace(f, a, b).graph.compile()(a, b)
            np.testing.assert_array_equal(np.asarray(got), np.transpose(numpys, order), strict=True)
            if dtype in ("float32", "int16"):
                g = lambda a, b, f=f: (ig.abs(f(a, b)) + 1, ig.max(f(a, b), axis=-1))  # noqa: E731
                whole, fold = ig.trace(g, a, b).graph.compile()(a, b)
                want = np.transpose(numpys, order)
                np.testing.assert_array_equal(np.asarray(whole), np.abs(want) + want.dtype.type(1), strict=True)
                np.testing.assert_array_equal(np.asarray(fold), want.max(-1), strict=True)
