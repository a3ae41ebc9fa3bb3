"""Programs that everyone in this field knows, captured by `ig.trace`: the same bits as eager, one graph, the expected
number of kernels, and a refusal with the user's line where one graph cannot say it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import intaglio as ig


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return rng().standard_normal(shape).astype(np.float32)


def traced_like_eager(function: Any, *args: Any) -> Any:
    """Traces, compares compiled with eager bit for bit and with the reference, and gives the trace."""
    arrays = [ig.asarray(a) for a in args]
    traced = ig.trace(function, *arrays)
    traced.graph.verify()
    assert str(ig.Graph.parse(str(traced.graph))) == str(traced.graph)
    compiled = np.asarray(traced(*arrays))
    assert np.array_equal(compiled, np.asarray(function(*arrays)), equal_nan=True)
    np.testing.assert_allclose(compiled, np.asarray(traced.evaluate(*arrays)), rtol=2e-5, atol=2e-5)
    return traced


def kernels(traced: Any) -> int:
    report = traced.graph.report()
    assert report["kernels_fallback"] == 0
    return report["kernels"]


def test_1_relu_of_a_product_and_a_sum_is_one_kernel() -> None:
    x, y, b = floats(17, 33), floats(17, 33), floats(33)
    traced = traced_like_eager(lambda x, y, b: ig.relu(x * y + b), x, y, b)
    assert kernels(traced) == 1
    expected = np.maximum(x * y + b, 0)
    np.testing.assert_allclose(np.asarray(traced(x, y, b)), expected, rtol=1e-6, atol=1e-6)


class Linear:
    def __init__(self, into: int, out: int) -> None:
        self.weight = ig.asarray(floats(out, into))
        self.bias = ig.asarray(floats(out))

    def __call__(self, x: Any) -> Any:
        return ig.relu(ig.linear(x, self.weight, self.bias))


def test_2_linear_and_relu_is_one_kernel() -> None:
    traced = traced_like_eager(Linear(10, 10).__call__, floats(1, 10))
    assert kernels(traced) == 1


def test_3_one_capture_serves_any_batch() -> None:
    model = Linear(784, 256)
    batch = ig.Dim("batch", 1, 4096)
    traced = ig.trace(model.__call__, floats(2, 784), dynamic_shapes={"x": (batch, None)})
    for n in (1, 3, 64):
        x = floats(n, 784)
        assert np.array_equal(np.asarray(traced(x)), np.asarray(model(ig.asarray(x))))


@pytest.mark.parametrize("sign", [1, -1])
def test_4_a_branch_on_an_array_is_refused_with_its_line(sign: int) -> None:
    def risky(x: Any) -> Any:
        if ig.sum(x) > 0:  # the line
            return x * 2
        return x - 1

    with pytest.raises(ig.CaptureError) as caught:
        ig.trace(risky, sign * np.ones(4, np.float32))
    text = str(caught.value)
    assert "test_trace.py" in text
    assert "if ig.sum(x) > 0" in text
    assert "why:" in text
    assert "hint:" in text
    x = ig.asarray(sign * np.ones(4, np.float32))
    assert np.array_equal(np.asarray(risky(x)), [2, 2, 2, 2] if sign > 0 else [-2, -2, -2, -2])


def test_9_add_double_relu_is_one_kernel() -> None:
    assert kernels(traced_like_eager(lambda x, y: ig.relu((x + y) * 2), floats(64, 64), floats(64, 64))) == 1


def test_13_chain_ops_is_one_kernel() -> None:
    def chain_ops(x: Any) -> Any:
        return ig.sigmoid(ig.relu((x + 1) * 2) - 0.5)

    x = floats(33, 129)
    traced = traced_like_eager(chain_ops, x)
    assert kernels(traced) == 1
    exact = 1 / (1 + np.exp(-(np.maximum((x.astype(np.float64) + 1) * 2, 0) - 0.5)))
    np.testing.assert_allclose(np.asarray(traced(x)), exact, rtol=1e-6)


def test_16_scalars_as_arrays() -> None:
    traced = ig.trace(lambda a, b: (a + b) * 2, ig.asarray(1.0), ig.asarray(2.0))
    assert float(traced(ig.asarray(1.0), ig.asarray(2.0))) == 6.0


def test_18_add_multiply_reduce_is_one_kernel() -> None:
    assert kernels(traced_like_eager(lambda x, y: ig.sum((x + y) * x, axis=1), floats(40, 70), floats(40, 70))) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w, b: ig.softmax(x, axis=-1),
        lambda x, w, b: ig.log_softmax(x, axis=-1),
        lambda x, w, b: ig.layer_norm(x, w, b),
        lambda x, w, b: (
            ig.exp(x - ig.max(x, axis=-1, keepdims=True))
            / ig.sum(ig.exp(x - ig.max(x, axis=-1, keepdims=True)), axis=-1, keepdims=True)
        ),
    ],
)
def test_row_programs_are_one_kernel(function: Any) -> None:
    assert kernels(traced_like_eager(function, floats(9, 131), floats(131), floats(131))) == 1


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 7, 5), (6, 16, 16), (13, 64, 33), (64, 513, 48), (130, 700, 270), (5, 0, 4), (0, 3, 4)]
)
def test_matrix_products_with_bias_and_activation_are_one_kernel(m: int, k: int, n: int) -> None:
    a, b, bias = floats(m, k), floats(k, n), floats(n)
    traced = ig.trace(lambda a, b, c: ig.gelu(ig.matmul(a, b) + c), a, b, bias)
    out = np.asarray(traced(a, b, bias))
    from scipy.special import erf

    z = a.astype(np.float64) @ b + bias
    np.testing.assert_allclose(out, z * 0.5 * (1 + erf(z / np.sqrt(2))), rtol=1e-4, atol=1e-4)
    assert kernels(traced) == 1


def test_a_rows_bits_do_not_depend_on_the_batch() -> None:
    a, b = floats(65, 300), floats(300, 77)
    whole = np.asarray(ig.matmul(ig.asarray(a), ig.asarray(b)))
    for i in (0, 5, 64):
        assert np.array_equal(np.asarray(ig.matmul(ig.asarray(a[i : i + 1]), ig.asarray(b)))[0], whole[i])


def test_results_do_not_change_between_runs() -> None:
    x = floats(64, 1024)
    traced = ig.trace(lambda x: ig.softmax(ig.matmul(x, ig.permute_dims(x, axes=(1, 0))), axis=-1), x)
    first = np.asarray(traced(x))
    assert all(np.array_equal(first, np.asarray(traced(x))) for _ in range(50))


def test_an_export_refuses_sizes_outside_its_range() -> None:
    batch = ig.Dim("batch", 1, 256)
    traced = ig.trace(lambda x: ig.relu(x) + 1, floats(4, 8), dynamic_shapes={"x": (batch, None)})
    for n in (1, 256):
        assert np.asarray(traced(floats(n, 8))).shape == (n, 8)
    for n in (0, 257):
        with pytest.raises(ig.ShapeError, match=r"batch lies in \[1, 256\]"):
            traced(floats(n, 8))


def test_in_place_writes_rebind_the_handle_alone() -> None:
    x = np.arange(100.0)
    d = ig.asarray(x)
    x[0] = -1
    assert float(d[0]) == 0.0


def test_nan_and_infinity_survive_the_optimiser() -> None:
    x = np.array([1, np.inf, np.nan], np.float32)
    out = np.asarray(ig.trace(lambda x: x * 0.0, x)(x))
    assert out[0] == 0
    assert np.isnan(out[1])
    assert np.isnan(out[2])


def test_a_result_stands_in_no_memory_that_is_still_read_crosswise() -> None:
    # The product `s` dies in the sum, which reads it transposed: the sum must not be written over it.
    def f(w: ig.Tensor, t: ig.Tensor, q: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        s = (w @ t) * 2
        return (y + (q[:, None] * s).T) @ w

    def g(w: ig.Tensor, y: ig.Tensor) -> ig.Tensor:  # likewise along a row that is folded
        s = w @ y
        return ig.softmax(s + ig.flip(s * 2, axis=1), axis=1) @ w

    rng = np.random.default_rng(0)
    w, t, y = (ig.asarray(rng.normal(size=(37, 37))) for _ in range(3))
    q = ig.asarray(rng.normal(size=37))
    for function, arrays in ((f, (w, t, q, y)), (g, (w, y))):
        traced = ig.trace(function, *arrays)
        np.testing.assert_allclose(
            np.asarray(traced(*arrays)), np.asarray(traced.evaluate(*arrays)), rtol=1e-9, atol=1e-9
        )
