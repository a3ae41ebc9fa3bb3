"""Programs that everyone in this field knows, under `ig.jit`: the same as plain Python on every path, and as
few traces as promised; and the programs that users of other systems reported as going wrong."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import intaglio as ig


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def same(a: Any, b: Any) -> None:
    assert np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True), (a, b)


def traces(f: Any) -> int:
    return int(f.cache_info()["traces"])


def like_eager(function: Any, *args: Any) -> Any:
    arrays = [ig.asarray(a) for a in args]
    jitted = ig.jit(function)
    same(jitted(*arrays), function(*arrays))
    same(jitted(*arrays), function(*arrays))
    assert traces(jitted) == 1
    return jitted


def kernels(jitted: Any, *args: Any) -> int:
    return int(jitted.lower(*(ig.asarray(a) for a in args)).compile().report()["kernels"])


def test_1_relu_of_a_product_and_a_sum() -> None:
    args = floats(17, 33), floats(17, 33, seed=1), floats(33)
    assert kernels(like_eager(lambda x, y, b: ig.relu(x * y + b), *args), *args) == 1


class Linear:
    def __init__(self, into: int, out: int) -> None:
        self.weight = ig.asarray(floats(out, into))
        self.bias = ig.asarray(floats(out))

    def __call__(self, x: Any) -> Any:
        return ig.relu(ig.linear(x, self.weight, self.bias))


def test_2_linear_and_relu() -> None:
    like_eager(Linear(10, 10), floats(1, 10))


def test_3_linear_784_256_serves_any_batch() -> None:
    model = Linear(784, 256)
    f = ig.jit(model)
    for batch in (4, 7, 32, 3, 1, 64):
        x = floats(batch, 784, seed=batch)
        same(f(x), model(ig.asarray(x)))
    assert traces(f) == 3


def test_4_risky() -> None:
    def risky(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    f = ig.jit(risky)
    for sign in (1, -1, 1, -1, -1):
        x = ig.asarray(np.ones(4, np.float32) * sign)
        same(f(x), risky(x))
    assert traces(f) == 2


def test_5_conditional_with_a_threshold() -> None:
    def conditional_op(x: Any, threshold: Any) -> Any:
        if x.sum() > threshold:
            return x * 2
        return x + 1

    f = ig.jit(conditional_op)
    for threshold in (0.0, 10.0, 3.0, 5.0, 4.0):
        x = ig.asarray(np.ones(4, np.float32))
        same(f(x, threshold), conditional_op(x, threshold))
    assert traces(f) <= 4


def test_6_conditional_model() -> None:
    class ConditionalModel:
        def forward(self, x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x * -1

    model = ConditionalModel()
    f = ig.jit(model.forward)
    same(f(ig.asarray(np.ones(4, np.float32))), np.full(4, 2))
    same(f(ig.asarray(-np.ones(4, np.float32))), np.full(4, 1))


def test_9_three_steps_are_one_kernel() -> None:
    x, y = floats(64, 64), floats(64, 64, seed=1)
    f = like_eager(lambda x, y: ig.relu((x + y) * 2), x, y)
    assert kernels(f, x, y) == 1


def test_13_chain_of_five() -> None:
    x = floats(128, 128)
    f = like_eager(lambda x: ig.sigmoid(ig.relu((x + 1) * 2) - 0.5), x)
    assert kernels(f, x) == 1


def test_16_scalars_as_tensors() -> None:
    def f(a: Any, b: Any) -> Any:
        c = a + b
        return c * 2

    jitted = like_eager(f, np.float32(1), np.float32(2))
    a, b = ig.asarray(1.0), ig.asarray(2.0)
    assert jitted.trace(a, b).graph.canonical_hash() == ig.trace(f, a, b).graph.canonical_hash()


def test_18_add_multiply_reduce_is_one_kernel() -> None:
    x, y = floats(64, 64), floats(64, 64, seed=1)
    assert kernels(like_eager(lambda x, y: ((x + y) * x).sum(axis=-1), x, y), x, y) == 1


def test_21_shapes_dtypes_and_numbers_are_symbolic_from_the_second_value_on() -> None:
    f = ig.jit(lambda x, k: x * k + 1)
    for n in (4, 5, 6, 7):
        f(np.ones(n, np.float32), 2)
    assert traces(f) == 2
    for k in (3, 4, 5):
        same(f(np.ones(7, np.float32), k), np.full(7, k + 1))
    assert traces(f) == 3
    f(np.ones(7, np.int32), 9)
    assert traces(f) == 4


def test_22_the_three_stages() -> None:
    x = ig.asarray(floats(8))
    stages = ig.jit(lambda x: ig.relu(x) + 1).trace(x)
    assert "relu" in str(stages.graph) or "maximum" in str(stages.graph)
    lowered = stages.lower()
    assert "f32[8]" in lowered.as_text()
    assert lowered.compile().cost_analysis()["kernels"] == 1


# --- what users suffer from ---


def test_pain_1_the_other_sign() -> None:
    f = ig.jit(lambda x: x + 1 if x.sum() > 0 else x - 1)
    assert float(f(ig.asarray(1.0))) == 2
    assert float(f(ig.asarray(-1.0))) == -2


def test_pain_2_an_attribute_that_is_rebound() -> None:
    class Model:
        def __init__(self) -> None:
            self.a = ig.asarray(0.0)

        def step(self, x: Any) -> Any:
            self.a += x
            o = self.a * 2
            self.a[...] = self.a * self.a
            return o

        def store(self, x: Any) -> Any:
            self.a = self.a + x
            return self.a

    f = ig.jit(Model().step)
    assert [float(f(ig.asarray(1.0))) for _ in range(3)] == [2, 4, 10]
    g = ig.jit(Model().store)
    assert [float(g(ig.asarray(1.0))) for _ in range(3)] == [1, 2, 3]


def test_pain_3_sizes_are_not_baked() -> None:
    for make in (lambda x: ig.ones((len(x),)), lambda x: ig.ones((x.size,)), lambda x: ig.ones(x.shape)):
        f = ig.jit(make)
        for n in (3, 5, 4):
            assert f(np.zeros(n, np.float32)).shape == (n,)


def test_pain_4_a_list_of_one_number() -> None:
    f = ig.jit(lambda t: t[0] + 1)
    assert [float(f([ig.asarray(float(i))])) for i in range(5)] == [1, 2, 3, 4, 5]
    assert [f([i]) for i in range(5)] == [1, 2, 3, 4, 5]


def test_pain_8_arrays_of_others_are_copied_in() -> None:
    x = np.arange(100.0)
    d = ig.jit(lambda a: a * 1)(x)
    x[0] = -1
    assert float(d[0]) == 0


def test_pain_14_clamp_costs_two_compiles() -> None:
    f = ig.jit(lambda x, limit: ig.clip(x, -10.0, limit))
    x = floats(16) * 3
    for limit in (1.0, 2.0, 3.0, 0.5):
        same(f(x, limit), np.minimum(x, np.float32(limit)))
    assert traces(f) <= 2


def test_pain_15_fifty_batch_sizes() -> None:
    model = Linear(6, 4)
    f = ig.jit(model)
    for batch in range(2, 52):
        x = floats(batch, 6, seed=batch)
        same(f(x), model(ig.asarray(x)))
    assert traces(f) == 2


def test_pain_17_the_same_array_twice() -> None:
    f = ig.jit(lambda a, b: (a + 1, b * 2))
    one = ig.asarray(np.ones(2, np.float32))
    f(one, one)
    out = f(ig.asarray(np.zeros(2, np.float32)), one)
    same(out[0], [1, 1])
    same(out[1], [2, 2])


def test_pain_19_an_assertion_on_shapes() -> None:
    def f(x: Any) -> Any:
        height, width = x.shape
        if (height, width) != (2, 3):
            raise AssertionError(f"{height} by {width}")
        return x * 2

    g = ig.jit(f)
    same(g(np.ones((2, 3), np.float32)), np.full((2, 3), 2))
    for shape in ((3, 2), (2, 4)):
        try:
            g(np.ones(shape, np.float32))
        except AssertionError:
            continue
        raise RuntimeError(f"{shape} was taken")
    same(g(np.ones((2, 3), np.float32)), np.full((2, 3), 2))


def test_pain_20_a_branch_on_the_size() -> None:
    f = ig.jit(lambda x: x[1] if x.size == 2 else x[0])
    for n in (1, 2, 3, 2, 1):
        x = np.arange(n, dtype=np.float32)
        assert float(f(x)) == (1 if n == 2 else 0)


def test_pain_23_nan_and_infinity() -> None:
    f = ig.jit(lambda x: x * 0.0)
    same(f(np.array([1, np.inf, np.nan], np.float32)), [0, np.nan, np.nan])
    assert bool(ig.jit(lambda a, b: ig.isnan(a / b))(np.float32(0), np.float32(0)))


def test_pain_25_threads_that_call_first() -> None:
    f = ig.jit(lambda x: ig.softmax(x, axis=-1) * 2)
    x = ig.asarray(floats(8, 16))
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(np.asarray(f(x)))) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 32
    for one in results:
        same(one, results[0])
    assert traces(f) == 1


def helper(x: Any) -> Any:
    return ig.sin(x) + 20


def test_pain_9_a_global_helper_that_is_rebound(monkeypatch: pytest.MonkeyPatch) -> None:
    f = ig.jit(lambda x, y: helper(x) + y)
    one = ig.asarray(1.0)
    np.testing.assert_allclose(float(f(one, one)), np.sin(1) + 21, rtol=1e-6)
    monkeypatch.setitem(globals(), "helper", ig.cos)
    np.testing.assert_allclose(float(f(one, one)), np.cos(1) + 1, rtol=1e-6)
    assert "helper" in f.cache_info()["entries"][1]["reason"]


def test_pain_10_an_attribute_that_changes() -> None:
    class Adder:
        def __init__(self) -> None:
            self.a = 1

        def method(self) -> Any:
            return self.a + ig.asarray(1.0)

    adder = Adder()
    f = ig.jit(adder.method)
    assert float(f()) == 2
    adder.a = 2
    assert float(f()) == 3


def test_pain_12_a_list_of_a_class_is_not_changed_once() -> None:
    class Model:
        items: list[int] = []  # noqa: RUF012

        def step(self, x: Any) -> Any:
            Model.items.append(1)
            return x

    with pytest.raises(ig.CaptureError, match=r"Model\.items\.append"):
        ig.jit(Model().step)(ig.asarray(1.0))
