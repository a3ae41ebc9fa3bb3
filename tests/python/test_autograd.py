"""Eager autograd: the tape against formulas, against ig.grad on the same functions, and its rules of life."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig
from intaglio import _intaglio as core
from intaglio import nn

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "training"


def leaf(values: Any, dtype: str = "float32") -> ig.Tensor:
    return ig.asarray(values, dtype=dtype, requires_grad=True)


def as_list(x: Any) -> Any:
    return x.tolist()


# --- leaves and nodes ------------------------------------------------------------------------------------------------


def test_leaves_and_what_is_made_of_them() -> None:
    x = leaf([1.0, 2.0])
    assert (x.requires_grad, x.is_leaf, x.grad, x.grad_fn) == (True, True, None, None)
    y = x * 3
    assert (y.requires_grad, y.is_leaf) == (True, False)
    assert y.grad_fn.name == "multiply"
    (node, result), (other, _) = y.grad_fn.next_functions
    assert (node.name, result, other) == ("leaf", 0, None)
    assert node == (x + 1).grad_fn.next_functions[0][0]
    assert "test_autograd.py" in y.grad_fn.location
    plain = ig.asarray([1.0])
    assert (plain.requires_grad, plain.is_leaf, (plain * 2).requires_grad) == (False, True, False)
    assert not (x > 1).requires_grad
    assert not ig.argmax(x).requires_grad


def test_requires_grad_can_be_set_and_taken_back() -> None:
    x = ig.asarray([1.0])
    assert x.requires_grad_() is x
    assert x.requires_grad
    x.requires_grad = False
    assert not (x * 2).requires_grad
    x.requires_grad = True
    assert (x * 2).requires_grad


def test_asarray_makes_a_leaf_of_its_own() -> None:
    x = leaf([1.0])
    y = ig.asarray(x * 2, requires_grad=True)
    assert y.is_leaf
    ig.sum(y * 3).backward()
    assert x.grad is None
    assert as_list(y.grad) == [3]


# --- gradients -------------------------------------------------------------------------------------------------------


def test_gradients_add_up() -> None:
    x = leaf([1.0, 2.0])
    for want in ([2, 4], [4, 8]):
        ig.sum(x * x).backward()
        assert as_list(x.grad) == want
    x.grad = None
    ig.sum(x).backward()
    assert as_list(x.grad) == [1, 1]
    x.grad = ig.asarray([5.0, 5.0])
    ig.sum(x).backward()
    assert as_list(x.grad) == [6, 6]
    del x.grad
    assert x.grad is None


def test_an_array_that_is_used_many_times() -> None:
    x = leaf(3.0)
    y = x * x
    (y * y + y * x + x).backward()
    assert float(x.grad) == 4 * 27 + 3 * 9 + 1


def test_a_gradient_to_begin_with() -> None:
    x = leaf([1.0, 2.0])
    (x * x).backward(ig.asarray([1.0, 10.0]))
    assert as_list(x.grad) == [2, 40]
    y = leaf([1.0, 2.0])
    (y * y).backward([1.0, 10.0])
    assert as_list(y.grad) == [2, 40]


def test_several_outputs() -> None:
    x, y = leaf(2.0), leaf(3.0)
    ig.autograd.backward([x * y, x * x], [None, ig.asarray(10.0)])
    assert (float(x.grad), float(y.grad)) == (3 + 40, 2)
    gx, gy = ig.autograd.grad([x * y, x * x], [x, y])
    assert (float(gx), float(gy)) == (3 + 4, 2)
    assert float(x.grad) == 43


def test_gradients_by_computed_arrays_stop_there() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * y
    seen: list[float] = []
    x.register_hook(lambda g: seen.append(float(g)))
    assert [float(g) for g in ig.autograd.grad(z, [y], retain_graph=True)] == [8]
    assert seen == []
    assert [float(g) for g in ig.autograd.grad(z, [y, x])] == [8, 32]
    assert seen == [32]


def test_unused_inputs() -> None:
    x, y = leaf(2.0), leaf(3.0)
    assert ig.autograd.grad(x * 2, [x, y], allow_unused=True)[1] is None


def test_ops_with_several_results() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    first, second = ig.split(x, 2) if hasattr(ig, "split") else ig.unstack(ig.reshape(x, (2, 2)))
    ig.sum(second * 5).backward()
    assert as_list(x.grad) == [0, 0, 5, 5]
    assert first.requires_grad


def test_broadcasting_and_conversions() -> None:
    x, y = leaf([[1.0], [2.0]]), leaf([10.0, 20.0, 30.0], "float64")
    z = x * y
    assert z.dtype == ig.float64
    ig.sum(z).backward()
    assert (x.grad.dtype, y.grad.dtype) == (ig.float32, ig.float64)
    assert as_list(x.grad) == [[60], [60]]
    assert as_list(y.grad) == [3, 3, 3]


def test_complex_gradients_follow_ig_grad() -> None:
    def f(z: Any) -> Any:
        return ig.sum(ig.real(z * z * (1 + 2j)))

    z = leaf([1 + 2j, 3 - 1j], "complex64")
    f(z).backward()
    np.testing.assert_allclose(np.asarray(z.grad), np.asarray(ig.grad(f)(z.detach())), rtol=1e-6)


def test_indexing_and_assignment() -> None:
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    parts = [
        x[0, 1],
        x[:, ::-1][0, 0],
        x[1][None, 2][0],
        x[ig.asarray([0, 0]), ig.asarray([2, 2])].sum(),
        x[x > 4].sum(),
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    total.backward()
    assert as_list(x.grad) == [[0, 1, 3], [0, 1, 2]]
    v = leaf([1.0, 2.0])
    buffer = ig.zeros(4)
    buffer[1:3] = v * v
    buffer[0] = v[1]
    buffer[ig.asarray([3])] = v[:1] * 7
    assert buffer.requires_grad
    buffer *= 2
    ig.sum(buffer).backward()
    assert as_list(v.grad) == [4 + 14, 8 + 2]


def test_arrays_in_lists_are_joined_on_the_tape() -> None:
    x = leaf(2.0)
    ig.sum(ig.asarray([x, x * x])).backward()
    assert float(x.grad) == 5


def test_double_backward() -> None:
    x = leaf(2.0)
    (slope,) = ig.autograd.grad(x**4, x, create_graph=True)
    assert slope.requires_grad
    (curve,) = ig.autograd.grad(slope, x, create_graph=True)
    (third,) = ig.autograd.grad(curve, x)
    assert (float(slope), float(curve), float(third)) == (32, 48, 48)
    y = leaf([0.5, -1.0])
    ig.sum(ig.exp(y) * ig.tanh(y)).backward(create_graph=True)
    ig.sum(y.grad).backward()
    want = ig.grad(lambda y: ig.sum(ig.grad(lambda y: ig.sum(ig.exp(y) * ig.tanh(y)))(y)))(y.detach())
    first = ig.grad(lambda y: ig.sum(ig.exp(y) * ig.tanh(y)))(y.detach())
    np.testing.assert_allclose(np.asarray(y.grad), np.asarray(want) + np.asarray(first), rtol=1e-5)


def test_ig_grad_of_arrays_that_require_grad_is_on_the_tape() -> None:
    x = leaf(3.0)
    ig.grad(lambda v: v**3)(x).backward()
    assert float(x.grad) == 18


# --- every op --------------------------------------------------------------------------------------------------------


def _cases() -> Iterator[Any]:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ops"))
    cases = importlib.import_module("cases")
    for name in cases.RUNNABLE:
        for sample in range(len(cases.TABLE[name]["samples"])):
            for dtype in ("float32", "complex64"):
                if dtype in cases.dtypes_of(name) and "T[" in cases.TABLE[name]["samples"][sample]["operands"]:
                    yield pytest.param(cases, name, sample, dtype, id=f"{name}-{sample}-{dtype}")


def _moves(x: Any) -> bool:
    return x.dtype.kind in ("real floating", "complex floating")


@pytest.mark.parametrize(("cases", "name", "sample", "dtype"), list(_cases()))
def test_every_op_goes_back_as_ig_vjp(cases: Any, name: str, sample: int, dtype: str) -> None:
    case = cases.Case(name, sample, dtype)
    if case.refused or name == "stop_gradient":
        return
    given = case.given()
    moving = [i for i, x in enumerate(given) if _moves(x)]
    if not moving:
        return

    graph = core._graph_of("forward", [(name, case.types, case.attrs)], {})

    def function(run: Callable[[list[Any]], Any], parts: tuple[Any, ...]) -> list[Any]:
        arrays = list(given)
        for i, part in zip(moving, parts, strict=True):
            arrays[i] = part
        return [x for x in run(arrays) if _moves(x)]

    def captured(*parts: Any) -> list[Any]:
        return function(lambda arrays: core._apply_graph(graph, arrays), parts)

    leaves = [ig.asarray(given[i], requires_grad=True) for i in moving]
    outputs = function(lambda arrays: core._apply(name, arrays, case.attrs), tuple(leaves))
    if not outputs:
        return
    random = np.random.default_rng(7)
    cotangents = [
        ig.asarray(np.asarray(random.standard_normal(tuple(x.shape))), dtype="float64").astype(x.dtype) for x in outputs
    ]
    try:
        _, pull = ig.vjp(captured, *[given[i] for i in moving])
        want = pull(cotangents)
    except ig.UnsupportedError:
        with pytest.raises(ig.UnsupportedError, match="is wanted, and there is none"):
            ig.autograd.grad(outputs, leaves, cotangents, allow_unused=True)
        return
    got = ig.autograd.grad(outputs, leaves, cotangents, allow_unused=True)
    for one, other in zip(got, want, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=2e-4, atol=2e-5)


def test_the_cases_are_many() -> None:
    assert sum(1 for _ in _cases()) > 150


# --- hooks and gradients on the way ----------------------------------------------------------------------------------


def test_hooks_run_in_order_and_replace() -> None:
    x = leaf(2.0)
    seen: list[tuple[str, float]] = []

    def hook(name: str, factor: float | None) -> Callable[[Any], Any]:
        def call(g: Any) -> Any:
            seen.append((name, float(g)))
            return None if factor is None else g * factor

        return call

    y = x * 3
    y.register_hook(hook("y", 10.0))
    x.register_hook(hook("first", 2.0))
    with x.register_hook(hook("second", None)):
        (y * 1).backward(retain_graph=True)
    assert seen == [("y", 1), ("first", 30), ("second", 60)]
    assert float(x.grad) == 60
    seen.clear()
    (y * 1).backward()
    assert [name for name, _ in seen] == ["y", "first"]


def test_a_hook_sees_the_whole_gradient_once() -> None:
    x = leaf(2.0)
    seen: list[float] = []
    x.register_hook(lambda g: seen.append(float(g)))
    (x * x + x).backward()
    assert seen == [5]


def test_retained_gradients() -> None:
    x = leaf(2.0)
    y = x * 3
    assert not y.retains_grad
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    (y * y).backward()
    assert y.retains_grad
    assert (float(y.grad), float(x.grad)) == (24, 72)


# --- modes -----------------------------------------------------------------------------------------------------------


def test_modes() -> None:
    x = leaf(2.0)
    assert ig.is_grad_enabled()
    with ig.no_grad():
        assert not ig.is_grad_enabled()
        assert not (x * 2).requires_grad
        assert not x.reshape((1,)).requires_grad
        with ig.enable_grad():
            assert (x * 2).requires_grad
    with ig.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    with ig.inference_mode(), ig.enable_grad():
        assert ig.is_inference_mode_enabled()
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    mode = ig.no_grad()
    with mode, mode:
        pass
    assert ig.is_grad_enabled()


def test_modes_as_decorators() -> None:
    x = leaf(2.0)

    @ig.no_grad()
    def plain(v: Any) -> Any:
        """Doc."""
        return v * 2

    @ig.no_grad
    def bare(v: Any) -> Any:
        return v * 2

    @ig.inference_mode()
    def inferred(v: Any) -> Any:
        return v * 2

    @ig.no_grad()
    def each() -> Iterator[Any]:
        for _ in range(2):
            yield x * 2

    assert [f(x).requires_grad for f in (plain, bare, inferred)] == [False] * 3
    assert (plain.__name__, plain.__doc__) == ("plain", "Doc.")
    for y in each():
        assert not y.requires_grad
        assert (x * 2).requires_grad
    with pytest.raises(RuntimeError, match="from within"):
        ig.no_grad(lambda: (_ for _ in ()).throw(RuntimeError("from within")).__next__())()
    assert ig.is_grad_enabled()


def test_a_mode_belongs_to_its_thread() -> None:
    found: list[bool] = []
    with ig.no_grad():
        thread = threading.Thread(target=lambda: found.append(ig.is_grad_enabled()))
        thread.start()
        thread.join()
    assert found == [True]


def test_detached_values() -> None:
    x = leaf(2.0)
    y = x * x
    (y * y.detach()).backward()
    assert float(x.grad) == 16
    assert float(ig.grad(lambda v: v * v.detach())(3.0)) == 3
    assert not ig.stop_gradient(y).requires_grad


def test_a_leaf_keeps_its_place_under_no_grad() -> None:
    w = leaf([1.0, 2.0])
    ig.sum(w * w).backward()
    before = w.grad
    with ig.no_grad():
        w -= 0.5 * w.grad
        w[0] = 7.0
    assert w.is_leaf
    assert w.requires_grad
    assert as_list(w) == [7, 0]
    assert as_list(w.grad) == as_list(before)
    ig.sum(w).backward()
    assert as_list(w.grad) == [3, 5]


def test_copies_are_leaves_of_their_own() -> None:
    x = leaf(2.0)
    (x * x).backward()
    for y in (copy.copy(x), copy.deepcopy(x)):
        assert y.requires_grad
        assert y.grad is None
        (y * 5).backward()
        assert float(y.grad) == 5
    assert float(x.grad) == 4


# --- captures --------------------------------------------------------------------------------------------------------


def test_a_jitted_function_is_one_node() -> None:
    w = leaf([1.0, 2.0])

    @ig.jit
    def f(x: Any, y: Any) -> Any:
        return ig.sum(ig.tanh(x) * y * w), x + 1

    for n in (2, 2):
        x, y = leaf([0.5] * n), ig.asarray([3.0] * n)
        w.grad = None
        value, other = f(x, y)
        assert other.requires_grad
        assert value.grad_fn == other.grad_fn
        value.backward()
        gx, gw = ig.grad(lambda x, w, y=y: ig.sum(ig.tanh(x) * y * w), argnums=(0, 1))(x.detach(), w.detach())
        np.testing.assert_allclose(np.asarray(x.grad), np.asarray(gx), rtol=1e-6)
        np.testing.assert_allclose(np.asarray(w.grad), np.asarray(gw), rtol=1e-6)
    with ig.no_grad():
        assert not f(x, y)[0].requires_grad


def test_a_jitted_function_of_sizes_that_vary() -> None:
    f = ig.jit(lambda x: ig.sum(ig.exp(x) * x.shape[0]))
    for n in (2, 3, 5):
        x = leaf(np.linspace(0, 1, n))
        f(x).backward()
        np.testing.assert_allclose(np.asarray(x.grad), n * np.exp(np.linspace(0, 1, n)), rtol=1e-6)


def test_second_derivatives_through_a_jitted_function() -> None:
    f = ig.jit(lambda x: x**3)
    x = leaf(2.0)
    (slope,) = ig.autograd.grad(f(x), x, create_graph=True)
    (curve,) = ig.autograd.grad(slope, x)
    assert (float(slope), float(curve)) == (12, 12)


def test_a_graph_is_one_node() -> None:
    graph = ig.trace(lambda x: ig.sin(x) * x, ig.ones(2)).graph
    x = leaf([0.5, 1.0])
    ig.sum(graph(x)).backward()
    want = np.cos([0.5, 1.0]) * [0.5, 1.0] + np.sin([0.5, 1.0])
    np.testing.assert_allclose(np.asarray(x.grad), want, rtol=1e-6)


def test_control_flow() -> None:
    x = leaf(1.5)
    y = ig.cond(x > 1, lambda v: v * v, lambda v: -v, x)
    y = ig.fori_loop(0, 3, lambda _, v: v * x, y)
    y, ys = ig.scan(lambda c, t: (c * t, c), y, ig.asarray([1.0, 2.0]))
    (y + ig.sum(ys)).backward()
    # y = 2 x**5, ys = x**5, x**5
    assert float(x.grad) == pytest.approx(4 * 5 * 1.5**4, rel=1e-5)


def test_vmap() -> None:
    x = leaf([1.0, 2.0, 3.0])
    ig.sum(ig.vmap(lambda v: v * v * v)(x)).backward()
    assert as_list(x.grad) == [3, 12, 27]


def test_custom_rules_go_on_the_tape() -> None:
    twice = ig.custom_vjp(lambda x: x * 2)
    twice.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct * 100,))
    ten = ig.custom_jvp(lambda x: ig.sin(x))
    ten.defjvp(lambda primals, tangents: (ten(*primals), 10 * tangents[0]))
    x = leaf(3.0)
    (twice(x) + ten(x)).backward()
    assert float(x.grad) == 110
    w = leaf(2.0)
    ig.checkpoint(lambda x: ig.sin(x) * w)(x).backward()
    assert float(w.grad) == pytest.approx(np.sin(3.0), rel=1e-6)
    assert float(twice(ig.asarray(1.0))) == 2


# --- as torch --------------------------------------------------------------------------------------------------------


def test_a_gradient_is_one_object_that_can_be_changed() -> None:
    x = leaf([1.0, 2.0])
    ig.sum(x * x).backward()
    grad = x.grad
    assert x.grad is grad
    x.grad[0] = 100.0
    x.grad *= 2.0
    assert as_list(x.grad) == [200, 8]
    ig.sum(x).backward()
    assert x.grad is grad
    assert as_list(grad) == [201, 9]
    x.grad = None
    ig.sum(x).backward()
    assert as_list(grad) == [201, 9]
    assert as_list(x.grad) == [1, 1]
    given = ig.asarray([5.0, 5.0])
    x.grad = given
    assert x.grad is given
    ig.sum(x).backward()
    assert as_list(given) == [6, 6]


def test_gradients_of_create_graph_are_added_into_a_new_array() -> None:
    x = leaf(2.0)
    (x**3).backward(create_graph=True)
    first = x.grad
    (x**3).backward()
    assert x.grad is not first
    assert (float(first), float(x.grad)) == (12, 24)
    (second,) = ig.autograd.grad(first, x)
    assert float(second) == 12
    x.grad = None


def test_retained_gradients_add_up() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    z = y * y
    z.backward(retain_graph=True)
    z.backward()
    assert float(y.grad) == 24


def test_an_array_keeps_its_place_when_it_is_changed_under_no_grad() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    with ig.no_grad():
        y += 10
        y[0] = 0.0
    assert as_list(y) == [0, 16]
    assert y.grad_fn.name == "multiply"
    ig.sum(y).backward()
    assert as_list(x.grad) == [3, 3]


def test_what_was_saved_does_not_change_with_the_handle() -> None:
    x = leaf([0.0, 1.0])
    y = ig.exp(x)
    z = ig.sum(y * y)
    y[0] = 100.0  # torch refuses the backward pass here
    z.backward()
    np.testing.assert_allclose(x.grad, 2 * np.exp([0.0, 2.0]), rtol=1e-6)


def test_indexed_arrays_are_no_views() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    part = y[1:]
    y += 1
    part[0] = 0.0
    (ig.sum(part * part) + ig.sum(y)).backward()
    assert as_list(x.grad) == [2, 2, 2 + 4 * 6]


def test_a_leaf_is_its_own_output() -> None:
    x = leaf(2.0)
    x.backward()
    assert float(x.grad) == 1
    (g,) = ig.autograd.grad(x, x)
    assert float(g) == 1


def test_ops_with_a_gradient_of_zero_stay_on_the_tape() -> None:
    x = leaf([1.5, 2.5])
    for y in (ig.floor(x), ig.sign(x), ig.round(x), ig.jit(lambda v: ig.floor(v))(x)):
        assert y.requires_grad
        x.grad = None
        ig.sum(y).backward()
        assert as_list(x.grad) == [0, 0]


def test_backward_into_some_inputs() -> None:
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    (z * z).backward(inputs=[y], retain_graph=True)
    assert (x.grad, float(y.grad)) == (None, 2 * 6 * 2)
    ig.autograd.backward(z, inputs=x)
    assert (float(x.grad), float(y.grad)) == (3, 24)


def test_zeros_for_unused_inputs() -> None:
    x, y = leaf(2.0), leaf([3.0, 4.0])
    found = ig.autograd.grad(x * 2, [x, y], materialize_grads=True)
    assert [as_list(g) for g in found] == [2, [0, 0]]
    assert not found[1].requires_grad


def test_leaves_pickle_as_leaves() -> None:
    x = leaf([1.0, 2.0])
    y = pickle.loads(pickle.dumps(x))
    assert (y.requires_grad, y.is_leaf, as_list(y)) == (True, True, [1, 2])
    assert not pickle.loads(pickle.dumps(ig.ones(2))).requires_grad


def test_numpy_functions_stay_on_the_tape() -> None:
    x = leaf([0.5, 1.0])
    y = np.sin(x) * np.asarray([2.0, 3.0], np.float32)
    np.sum(y).backward()
    np.testing.assert_allclose(x.grad, np.cos([0.5, 1.0]) * [2, 3], rtol=1e-6)
    with ig.no_grad():
        assert np.asarray(x).tolist() == [0.5, 1]
    assert x.detach().numpy().tolist() == [0.5, 1]
    assert (float(x[0]), x.tolist(), x[1].item()) == (0.5, [0.5, 1], 1)


# --- life of the tape ------------------------------------------------------------------------------------------------


def test_deep_chains() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    y.backward(retain_graph=True)
    assert float(x.grad) == 1
    del y
    gc.collect()


def test_what_was_saved_is_freed() -> None:
    class Watched:
        pass

    x = leaf([1.0, 2.0])
    watched = Watched()
    alive = weakref.ref(watched)
    y = x * x
    y.register_hook(lambda g, held=watched: None)
    del watched
    gc.collect()
    assert alive() is not None
    z = ig.sum(y)
    node = weakref.ref(watched := Watched())
    z.register_hook(lambda g, held=watched: None)
    del watched, y
    z.backward()
    assert alive() is not None
    del z
    gc.collect()
    assert alive() is None
    assert node() is None


def test_only_what_is_needed_is_kept() -> None:
    x = leaf(np.ones(1000))
    y = ig.exp(x)
    assert len(y.grad_fn.next_functions) == 1
    z = y + 1.0
    del y
    ig.sum(z).backward()
    np.testing.assert_allclose(np.asarray(x.grad), np.e * np.ones(1000), rtol=1e-6)


def test_threads_share_a_tape() -> None:
    x = leaf(np.linspace(0, 1, 50))
    total = ig.sum(ig.sin(x) * x)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                (g,) = ig.autograd.grad(total, x, retain_graph=True)
                assert g.shape == (50,)
                ig.sum(x * 1.0).backward()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert as_list(x.grad) == [80] * 50


# --- modules and optimisers ------------------------------------------------------------------------------------------


def test_a_model_learns_by_backward_and_step() -> None:
    def make() -> tuple[nn.Module, ig.optim.Optimizer]:
        keys = ig.random.split(ig.random.key(3), 2)
        model = nn.Sequential(
            nn.Linear(3, 4, bias=False, key=keys[0]), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1, key=keys[1])
        )
        return model, ig.optim.Adam(model, lr=0.05)

    random = np.random.default_rng(0)
    x = ig.asarray(random.standard_normal((16, 3)).astype(np.float32))
    y = ig.sum(x, axis=1, keepdims=True)
    (taped, own), (plain, other) = make(), make()
    taped.requires_grad_()
    for _ in range(5):
        loss = nn.losses.mse_loss(taped(x), y)
        own.zero_grad()
        loss.backward()
        own.step()
        value, grads = nn.value_and_grad(plain, lambda: nn.losses.mse_loss(plain(x), y))()
        other.step(grads)
        assert float(loss) == pytest.approx(float(value), rel=1e-5)
    for (name, a), b in zip(taped.named_parameters(), plain.parameters(), strict=True):
        assert a.is_leaf
        assert a.requires_grad
        np.testing.assert_allclose(a.detach(), b, rtol=1e-4, atol=1e-5, err_msg=name)
    for buffer in taped.buffers():
        assert not buffer.requires_grad
    state = taped.state_dict()
    assert not any(value.requires_grad for value in state.values())
    taped.load_state_dict(plain.state_dict())
    assert all(p.requires_grad and p.is_leaf for p in taped.parameters())
    taped.zero_grad()
    assert all(p.grad is None for p in taped.parameters())
    taped.requires_grad_(False)
    assert not taped(x).requires_grad


def test_parameters_require_grad_when_asked_alone() -> None:
    layer = nn.Linear(2, 1, key=ig.random.key(0))
    assert not layer(ig.ones((1, 2))).requires_grad
    frozen = nn.Linear(2, 1, key=ig.random.key(0)).freeze()
    nn.Sequential(frozen, layer).requires_grad_()
    assert [p.requires_grad for p in (layer.weight, frozen.weight)] == [True, False]


def test_the_example_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    losses, share = importlib.import_module("eager").train(steps=150)
    sys.modules.pop("eager", None)
    assert losses[-1] < 0.5 * losses[0]
    assert share > 0.8
