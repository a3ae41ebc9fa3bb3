"""Products whose sums have one term are computed element by element, with the bits of products, and fuse with what
stands around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig

rng = np.random.default_rng(21)

# Both zeros, what arithmetic does not get past, and what becomes too small.
SPECIAL = [0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, 1e-20, -1e-20]


def array(*shape: int, dtype: str = "float32") -> ig.Array:
    return ig.astype(ig.asarray(rng.standard_normal(shape) * 4), dtype)


def same(got: Any, want: Any) -> None:
    got, want = (np.asarray(ig.astype(v, "float32") if v.dtype == ig.bfloat16 else v) for v in (got, want))
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    nan = got != got
    assert np.array_equal(nan, want != want)
    assert np.where(nan, 0, got).tobytes() == np.where(nan, 0, want).tobytes()


def as_kernel(f: Any, *arrays: Any) -> Any:
    """What the product's own kernel computes."""
    return ig.trace(f, *arrays).graph.compile(disable=["one-term-products"])(*arrays)


def function(x: ig.Array) -> ig.Array:
    return x * x + 1 if x.dtype in (ig.int32, ig.uint8) else ig.tanh(x)


FORMS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "column by row": (lambda x, y: x @ y, [(37, 1), (1, 53)]),
    "batches": (lambda x, y: x @ y, [(3, 5, 1), (3, 1, 17)]),
    "a batch of ones": (lambda x, y: x @ y, [(4, 1, 1), (4, 1, 9)]),
    "one by one": (lambda x, y: x @ y, [(1, 1), (1, 1)]),
    "no axis to sum over": (lambda x, y: ig.tensordot(x, y, axes=0), [(6, 3), (2, 5)]),
    "outer": (lambda x, y: ig.outer(x, y), [(19,), (33,)]),
    "turned over": (lambda x, y: ig.transpose(x @ y) * 2, [(40, 1), (1, 24)]),
    "summed at once": (lambda x, y: ig.sum(ig.abs(x @ y), axis=1), [(40, 1), (1, 24)]),
    "dear operands": (lambda x, y: function(x) @ function(y), [(40, 1), (1, 24)]),
    "in an einsum": (lambda x, y: ig.einsum("bik,bkj->jbi", x, y), [(3, 5, 1), (3, 1, 7)]),
    "into a product": (lambda x, y: (x @ y) @ ig.transpose(x @ y), [(9, 1), (1, 30)]),
    "no rows": (lambda x, y: x @ y, [(0, 1), (1, 5)]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8", "complex64"])
@pytest.mark.parametrize("form", FORMS)
def test_bits_are_those_of_the_kernel(form: str, dtype: str) -> None:
    f, shapes = FORMS[form]
    arrays = [array(*shape, dtype=dtype) for shape in shapes]
    same(ig.trace(f, *arrays).graph.compile()(*arrays), as_kernel(f, *arrays))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_special_values(dtype: str) -> None:
    """A sum begins with +0: what a zero gives is +0, and what is too small for the type keeps its sign."""
    x = ig.astype(ig.asarray(np.array(SPECIAL)), dtype)
    f = lambda x, y: x[:, None] @ y[None]  # noqa: E731
    got = ig.trace(f, x, x).graph.compile()(x, x)
    same(got, as_kernel(f, x, x))
    zero = np.asarray(x) == 0
    of_zero = np.asarray(got)[zero | zero[:, None]]
    assert not np.signbit(of_zero[of_zero == 0]).any()


def test_a_gradient_by_a_matrix_is_one_kernel() -> None:
    """What multiplies a vector's gradient with the vector is computed where it is used."""

    def step(w: Any, x: Any) -> Any:
        return w - 0.1 * ig.grad(lambda w: ig.sum(ig.tanh(w @ x)))(w)

    w, x = array(70, 50), array(50)
    f = ig.jit(step)
    for _ in range(2):
        got = f(w, x)
    same(got, as_kernel(step, w, x))
    kernels = ig.explain(f).fusion.kernels
    assert [any(node["op"] == "dot_general" for node in kernel["nodes"]) for kernel in kernels] == [True, False]


def test_batches_have_the_bits_of_their_parts() -> None:
    x, y = array(6, 31), array(6, 29)
    got = ig.jit(ig.vmap(ig.outer))(x, y)
    for n in range(6):
        same(got[n], ig.outer(x[n], y[n]))


def test_sizes_that_are_not_known() -> None:
    rows, columns = ig.Dim("rows"), ig.Dim("columns")
    vectors = (ig.ShapeDtypeStruct((size,), ig.float32) for size in (rows, columns))
    f = ig.trace(lambda x, y: ig.outer(x, y) + 1, *vectors).graph.compile()
    for sizes in ((5, 7), (64, 1), (0, 3), (1, 130)):
        x, y = array(sizes[0]), array(sizes[1])
        same(f(x, y), ig.outer(x, y) + 1)
