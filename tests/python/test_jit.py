"""`ig.jit`: what recompiles and what does not, guards on sizes, values and numbers, writes to what was
passed, donation, static arguments, containers, threads, stages, and the whole text of its errors."""

from __future__ import annotations

import collections
import dataclasses
import gc
import os
import subprocess
import sys
import threading
import warnings
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

import intaglio as ig


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def traces(f: Any) -> int:
    return int(f.cache_info()["traces"])


def same(a: Any, b: Any) -> None:
    assert np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


# --- what may be jitted ---


def test_functions_lambdas_partials_methods_and_callable_objects() -> None:
    class Scale:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, x: Any) -> Any:
            return x * self.by

        @ig.jit
        def twice(self, x: Any) -> Any:
            return x * self.by * 2

    @ig.jit
    def decorated(x: Any, y: Any = 2.0) -> Any:
        """Adds."""
        return x + y

    x = ig.asarray([1.0, 2.0])
    same(decorated(x), [3, 4])
    same(decorated(x, y=5.0), [6, 7])
    assert decorated.__doc__ == "Adds."
    assert decorated.__name__ == "decorated"
    assert decorated.__wrapped__(1, 2) == 3
    same(ig.jit(lambda x: x - 1)(x), [0, 1])
    same(ig.jit(partial(lambda a, b: a - b, b=x))(x), [0, 0])
    same(ig.jit(Scale(3.0))(x), [3, 6])
    same(Scale(3.0).twice(x), [6, 12])
    same(Scale(4.0).twice(x), [8, 16])
    same(ig.jit(static_argnums=1)(lambda x, n: x * n)(x, 3), [3, 6])


def test_a_jitted_function_inside_of_another_is_a_part_of_it() -> None:
    inner = ig.jit(lambda x: x * 2)
    outer = ig.jit(lambda x: inner(x) + inner(x))
    same(outer(ig.asarray([1.0])), [4])
    assert traces(inner) == 0
    assert len(ig.trace(outer, ig.asarray([1.0])).graph) > 0


# --- recompiling ---


def test_a_varying_size_costs_two_compiles() -> None:
    f = ig.jit(lambda x: (x * 2).sum(axis=0) / x.shape[0])
    for n in [5, 7, 9, 11, 50, 5]:
        x = floats(n, 3, seed=n)
        np.testing.assert_allclose(np.asarray(f(x)), x.sum(axis=0) * 2 / n, rtol=1e-5, atol=1e-6)
    assert traces(f) == 2
    same(f(floats(1, 3)), floats(1, 3)[0] * 2)
    assert traces(f) == 3


def test_fifty_batches_and_two_axes() -> None:
    f = ig.jit(lambda x: ig.relu(x) + 1)
    for i in range(2, 52):
        x = floats(i, 2 * i + 1)
        same(f(x), np.maximum(x, 0) + 1)
    assert traces(f) == 2


def test_equal_sizes_that_come_to_differ() -> None:
    f = ig.jit(lambda x, y: x.sum() + y.sum())
    for n, m in [(3, 3), (4, 4), (5, 6), (6, 6), (9, 2)]:
        assert float(f(np.ones(n, np.float32), np.ones(m, np.float32))) == n + m
    assert traces(f) == 3


def test_sizes_that_python_compares_are_guards() -> None:
    f = ig.jit(lambda x: x + 1 if x.shape[0] > 4 else x - 1)
    for n, expected in [(2, -1), (8, 1), (3, -1), (6, 1), (4, -1), (5, 1)]:
        same(f(np.zeros(n, np.float32)), np.full(n, expected))
    assert traces(f) <= 3


def test_len_and_range_take_the_size_itself() -> None:
    f = ig.jit(lambda x: ig.ones((len(x),)))
    for n in [3, 5, 4, 3]:
        assert f(np.zeros(n)).shape == (n,)
    assert any("the length" in line for e in f.cache_info()["entries"] for line in e["specialised"])


def test_a_python_float_costs_two_compiles_and_keeps_the_dtype_of_the_array() -> None:
    f = ig.jit(lambda x, k: ig.minimum(x, k) + k * 2)
    x = np.array([0.5, 5.0], np.float32)
    for k in (1.0, 2.0, 3.0, 0.1, float("inf")):
        y = f(x, k)
        assert y.dtype == ig.float32
        same(y, np.minimum(x, np.float32(k)) + np.float32(k * 2))
    assert traces(f) == 2
    half = ig.asarray(x, dtype=ig.float16)
    assert f(half, 2.0).dtype == ig.float16


def test_a_python_int_is_a_number_and_a_count() -> None:
    scale = ig.jit(lambda x, n: x * n + n // 2)
    for n in (1, 2, 3, 7):
        same(scale(np.ones(2, np.float32), n), np.full(2, n + n // 2))
    stack = ig.jit(lambda x, n: [x * i for i in range(n)])
    for n in (1, 2, 3, 2):
        assert len(stack(ig.asarray([1.0]), n)) == n
    assert traces(stack) == 3


def test_numbers_among_themselves_are_pythons() -> None:
    def f(n: Any, r: Any) -> Any:
        return n + 1, n * r, n / 4, -n, n > 2, n**2, n % 3, isinstance(n, int), f"{n}:{r:.1f}"

    g = ig.jit(f)
    for n, r in [(1, 0.5), (2, 1.5), (3, 2.5), (7, -1.0)]:
        assert g(n, r) == f(n, r)
        assert [type(a) for a in g(n, r)] == [type(a) for a in f(n, r)]


def test_division_by_a_number_that_becomes_zero_is_pythons_error() -> None:
    f = ig.jit(lambda x, n: x * (1 / n))
    for n in (1, 2, 4):
        same(f(ig.asarray([4.0]), n), [4 / n])
    with pytest.raises(ZeroDivisionError):
        f(ig.asarray([4.0]), 0)


def test_bools_strings_and_none_are_fixed_by_value_and_type() -> None:
    f = ig.jit(lambda x, mode: {"double": 2, True: 3, None: 4}[mode] * x)
    x = ig.asarray([1.0])
    assert [float(f(x, m)[0]) for m in ("double", True, None, "double")] == [2, 3, 4, 2]
    assert traces(f) == 3


def test_dtypes_and_ranks_have_traces_of_their_own() -> None:
    f = ig.jit(lambda x: x + x)
    for dtype in ("float32", "float64", "int32", "float32"):
        x = np.ones((2, 2), dtype)
        assert f(x).dtype == ig.asarray(x).dtype
    same(f(np.ones(2, np.float32)), [2, 2])
    assert traces(f) == 4


def test_keywords_in_any_order() -> None:
    f = ig.jit(lambda *, a, b: a - b)
    x, y = ig.asarray([3.0]), ig.asarray([1.0])
    same(f(a=x, b=y), [2])
    same(f(b=y, a=x), [2])
    assert traces(f) == 1


# --- values that Python asks for ---


def test_coercions_are_guards() -> None:
    cases = {
        "bool": lambda x: x * 2 if x.sum() > 0 else x - 1,
        "int": lambda x: x * int(x.sum()),
        "float": lambda x: x * float(x[0]),
        "index": lambda x: x * [1, 2, 3, 4][ig.astype(ig.abs(x[0]), ig.int64) % 4],
        "item": lambda x: x + x.max().item(),
        "tolist": lambda x: x + sum(x.tolist()),
        "numpy": lambda x: x + np.asarray(x)[::-1].copy(),
        "buffer": lambda x: buffered(x),
        "format": lambda x: x * len(f"{x[0]:.3f}"),
        "loop": lambda x: loop(x),
    }

    def buffered(x: Any) -> Any:
        buffer = np.zeros(2, np.float32)
        y = x + buffer
        buffer[0] = 5
        return y * (x + buffer)

    def loop(x: Any) -> Any:
        while abs(x).sum() < 50 and abs(x).sum() > 0:
            x = x * 2
        return x

    for name, function in cases.items():
        f = ig.jit(function)
        for value in ([1.0, 2.0], [-1.0, -2.0], [1.0, 2.0], [3.0, 4.0], [-1.0, -2.0]):
            x = ig.asarray(value)
            same(f(x), function(x)), name


def test_an_assertion_that_fails_leaves_the_other_path_whole() -> None:
    def f(x: Any) -> Any:
        if not x.sum() > 0:
            raise AssertionError("not positive")
        return x

    g = ig.jit(f)
    same(g(ig.asarray([1.0])), [1])
    for _ in range(12):
        with pytest.raises(AssertionError, match="not positive"):
            g(ig.asarray([-1.0]))
    same(g(ig.asarray([1.0])), [1])


def test_after_eight_outcomes_it_runs_op_by_op_and_says_so_once() -> None:
    def scaled(x: Any) -> Any:
        return x * float(x.sum())

    f = ig.jit(scaled)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(12):
            same(f(ig.asarray([float(i)])), [float(i * i)])
    assert traces(f) == 8
    assert len(caught) == 1
    line = scaled.__code__.co_firstlineno + 1
    assert str(caught[0].message) == (
        "scaled runs op by op from now on: a traced value had more than 8 outcomes at one place\n"
        f"  at: {__file__}:{line} in {scaled.__qualname__}:  return x * float(x.sum())\n"
        "  why: each outcome of a traced value that Python asks for is a trace of its own\n"
        "  hint: keep the value in the graph: ig.where(condition, x, y) for a choice of values, ig.cond for "
        "a branch, ig.while_loop for a loop; or raise max_traces"
    )
    with pytest.raises(ig.CaptureError) as error:
        f.trace(ig.asarray([1.0]))
    assert error.value.what == "scaled runs op by op, so it has no trace"


def test_max_traces_bounds_what_is_kept() -> None:
    f = ig.jit(lambda x: ig.ones((len(x),)), max_traces=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(2, 9):
            assert f(np.zeros(n)).shape == (n,)
    assert traces(f) == 3
    assert len(caught) == 1


# --- what was passed is written to ---


def test_a_handle_that_the_function_rebinds_is_rebound() -> None:
    def f(x: Any, y: Any) -> Any:
        x += y
        x[0] = 7
        return x, y

    g = ig.jit(f)
    for _ in range(3):
        a, b, c = ig.asarray([1.0, 2.0]), ig.asarray([10.0, 20.0]), ig.asarray([1.0, 2.0])
        first, second = g(a, b)
        f(c, b)
        same(a, c)
        assert first is a
        assert second is b
    same(g(a, a)[0], [7, 44])  # one handle twice is run as it stands


def test_containers_that_the_function_changes_are_changed() -> None:
    def step(state: dict[str, Any], grads: list[Any]) -> None:
        state["w"] = state["w"] - 0.5 * grads[0]
        state["n"] = state["n"] + 1
        state["m"]["v"] += 1
        grads[0] = grads[0] * 0

    g = ig.jit(step)
    a = {"w": ig.asarray([1.0]), "n": 0, "m": {"v": ig.asarray([0])}}
    b = {"w": ig.asarray([1.0]), "n": 0, "m": {"v": ig.asarray([0])}}
    for _ in range(4):
        ga, gb = [ig.asarray([2.0])], [ig.asarray([2.0])]
        g(a, ga)
        step(b, gb)
        same(a["w"], b["w"])
        same(a["m"]["v"], b["m"]["v"])
        same(ga[0], gb[0])
        assert a["n"] == b["n"]
    assert traces(g) == 2


def test_attributes_that_are_written_in_place() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = ig.asarray([0.0])

        @ig.jit
        def add(self, x: Any) -> Any:
            total = self.total
            total += x
            return total * 2

    counter = Counter()
    assert [float(counter.add(ig.asarray([1.0]))[0]) for _ in range(3)] == [2, 4, 6]
    same(counter.total, [3])


def test_writing_to_a_numpy_argument_is_refused() -> None:
    def f(x: Any) -> Any:
        x += 1
        return x

    with pytest.raises(ig.CaptureError) as error:
        ig.jit(f)(np.zeros(2, np.float32))
    assert str(error.value) == (
        "the argument `x`, an array of another library (numpy.ndarray), is written to\n"
        f"  at: {__file__}:{f.__code__.co_firstlineno + 1} in {f.__qualname__}:  x += 1\n"
        "  why: arrays of other libraries are copied in, so the write would not be seen outside\n"
        "  hint: write x = x + y in place of x += y, or pass ig.asarray(x)"
    )


def test_a_container_of_another_structure_is_refused() -> None:
    def f(state: dict[str, Any]) -> None:
        state["new"] = state["w"] * 2

    with pytest.raises(ig.CaptureError) as error:
        ig.jit(f)({"w": ig.asarray([1.0])})
    assert error.value.what == "an argument, a container, has another structure after the call"
    assert error.value.why == "it was {'w': *} and became {'w': *, 'new': *}, and a trace writes back leaves alone"
    assert error.value.hint == "return the new container in place of changing the one that was passed"
    assert "test_jit.py" in error.value.where


# --- arrays from outside ---


def test_arrays_from_outside_are_read_again() -> None:
    weight = ig.asarray([1.0, 2.0])
    table = np.array([1.0, 2.0], np.float32)
    flag = ig.asarray(True)

    @ig.jit
    def f(x: Any) -> Any:
        y = x * weight + table
        return y if flag else -y

    x = ig.asarray([1.0, 1.0])
    same(f(x), [2, 4])
    weight += 1
    same(f(x), [3, 5])
    table[0] = 10
    same(f(x), [12, 5])
    flag[...] = False
    same(f(x), [-12, -5])
    assert traces(f) == 2


# --- static and donated arguments ---


def test_static_arguments() -> None:
    f = ig.jit(lambda x, axis, kind="sum": getattr(x, kind)(axis=axis), static_argnums=1, static_argnames="kind")
    x = ig.asarray(floats(3, 4))
    same(f(x, (0,)), np.asarray(x.sum(axis=0)))
    same(f(x, (1,), kind="max"), np.asarray(x).max(axis=1))
    same(f(x, (0,)), np.asarray(x.sum(axis=0)))
    assert traces(f) == 2
    with pytest.raises(ig.TypeError) as error:
        f(x, [0])
    assert error.value.what == "<lambda>: the static argument `axis` (list) is not hashable"
    assert (
        error.value.why
        == "what is no array is compared with the value of the call that was traced, so it must not change"
    )
    assert (
        error.value.hint == "pass a tuple in place of a list, or a frozen dataclass; or leave it out of static_argnums"
    )
    assert "test_jit.py" in error.value.where


def test_an_argument_that_is_neither_array_nor_hashable() -> None:
    with pytest.raises(ig.TypeError) as error:
        ig.jit(lambda x, options: x)(ig.asarray([1.0]), {1, 2})
    assert error.value.what == "<lambda>: the argument `options` (set) is not hashable"
    assert error.value.hint == (
        "pass an array, a container of arrays, or a hashable value; ig.register_pytree makes a class a container"
    )


def test_wrong_options() -> None:
    with pytest.raises(ig.ValueError, match="static_argnums names the position 3, and the function takes 1"):
        ig.jit(lambda x: x, static_argnums=3)
    with pytest.raises(ig.ValueError, match="donate_argnames names `z`, which is no parameter"):
        ig.jit(lambda x: x, donate_argnames=["z"])
    with pytest.raises(ig.TypeError, match="static_argnums holds 'x', which is no position"):
        ig.jit(lambda x: x, static_argnums=["x"])
    with pytest.raises(ig.TypeError, match="jit: int is not callable"):
        ig.jit(3)


def test_donated_arrays_cannot_be_used_again() -> None:
    f = ig.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = ig.asarray(floats(64)), ig.asarray(floats(64))
    expected = np.asarray(x) + np.asarray(y)
    line = sys._getframe().f_lineno + 1
    same(f(x, y), expected)
    where = sys._getframe().f_lineno + 2
    with pytest.raises(ig.ValueError) as error:
        x + y
    assert str(error.value) == (
        "an array (f32[64]) is used after it was donated\n"
        f"  at: {__file__}:{where} in test_donated_arrays_cannot_be_used_again:  x + y\n"
        f"  why: its memory was given to the call at {__file__}:{line} in "
        "test_donated_arrays_cannot_be_used_again:  same(f(x, y), expected)\n"
        "  hint: use the result of that call, or leave the argument out of donate_argnums and donate_argnames"
    )
    with pytest.raises(ig.ValueError, match="used after it was donated"):
        f(x, y)
    with pytest.raises(ig.ValueError, match="used after it was donated"):
        ig.jit(lambda z: z + x)(y)
    same(f(y, floats(64)), expected)


def test_donating_one_array_twice_is_refused() -> None:
    f = ig.jit(lambda x, y: x + y, donate_argnames=("x", "y"))
    x = ig.asarray([1.0])
    with pytest.raises(ig.ValueError) as error:
        f(x, x)
    assert error.value.what == "<lambda>: one array is donated twice, as `x` and as `y`"
    assert error.value.why == "its memory can become one result only"
    assert error.value.hint == "pass a copy for one of them: copy.copy(x), or x + 0"
    same(x, [1])


def test_donation_with_a_branch_keeps_the_argument_until_the_path_is_known() -> None:
    f = ig.jit(lambda x: x * 2 if x.sum() > 0 else x - 1, donate_argnums=0)
    for value in (1.0, -1.0, 1.0, -1.0):
        x = ig.asarray([value])
        same(f(x), [value * 2 if value > 0 else value - 1])
        with pytest.raises(ig.ValueError, match="used after it was donated"):
            x.sum()


# --- containers, odd arrays, wrong calls ---


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Params:
    w: Any
    name: str = "p"


class Custom:
    def __init__(self, a: Any, tag: str) -> None:
        self.a, self.tag = a, tag


ig.register_pytree(Custom, lambda c: ((c.a,), c.tag), lambda tag, children: Custom(children[0], tag))


def test_containers_in_and_out() -> None:
    def f(tree: Any) -> Any:
        point, params, custom, none, pair = tree
        assert none is None
        return {
            "point": Point(point.y, point.x),
            "params": Params(params.w * 2, params.name + "!"),
            "custom": Custom(custom.a + 1, custom.tag),
            "rest": [none, pair[0] - pair[1], 5, "text", ()],
        }

    g = ig.jit(f)
    one = ig.asarray([1.0])
    for tag in ("a", "b", "a"):
        out = g((Point(one, one + 1), Params(one), Custom(one, tag), None, (one, one)))
        assert out["custom"].tag == tag
        assert out["params"].name == "p!"
        same(out["point"].x, [2])
        same(out["params"].w, [2])
        assert out["rest"][0] is None
        assert out["rest"][2:] == [5, "text", ()]
    assert traces(g) == 2
    assert ig.jit(lambda: 3)() == 3
    assert ig.jit(lambda x: None)(one) is None


def test_empty_and_odd_arrays() -> None:
    f = ig.jit(lambda x, y: ig.concat([x * 2, y]).sum())
    for n, m in [(0, 0), (0, 3), (3, 0), (1, 1), (2, 5), (7, 1)]:
        assert float(f(np.ones(n, np.float32), np.ones(m, np.float32))) == 2 * n + m
    same(ig.jit(lambda x: x + 1)(np.float32(2)), 3)
    same(ig.jit(lambda x: x + 1)(np.ones((2, 3), np.float32).T), np.full((3, 2), 2))
    high = np.ones((2, 1, 3, 1, 2, 1, 2), np.float32)
    same(ig.jit(lambda x: x * 3)(high), high * 3)


def test_errors_of_the_function_name_its_line_and_change_nothing() -> None:
    def f(x: Any, y: Any) -> Any:
        return x @ y

    g = ig.jit(f)
    with pytest.raises(ig.ShapeError) as error:
        g(floats(2, 3), floats(2, 3))
    assert f"test_jit.py:{f.__code__.co_firstlineno + 1} in" in error.value.where
    assert traces(g) == 0
    assert g(floats(2, 3), floats(3, 2)).shape == (2, 2)
    with pytest.raises(TypeError):
        g(floats(2, 3))


def test_an_error_in_a_file_that_nobody_has_read_yet(tmp_path: Any) -> None:
    """Reading the line for the error is nothing that the captured function reads from outside."""
    script = tmp_path / "script.py"
    script.write_text(
        "import intaglio as ig\n"
        "w = ig.ones((3, 2), dtype=ig.bool)\n"
        "try:\n"
        "    ig.jit(lambda x: x @ w)(w.mT)\n"
        "except ig.Error as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == (
        "matmul: expected a numeric type, but x is bool\n"
        f"  at: {script}:4 in <lambda>:  ig.jit(lambda x: x @ w)(w.mT)\n"
        "  why: matmul is defined for a numeric type alone; types are never converted unasked\n"
        "  hint: convert with astype\n"
    )


def test_a_leaked_value_is_refused() -> None:
    kept = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x

    try:
        ig.jit(f)(ig.asarray([1.0]))
    except ig.CaptureError:
        return  # the store itself was refused
    with pytest.raises(ig.CaptureError) as error:
        kept[0] + 1
    assert error.value.what == "a traced array (f32[1]) was used outside of the trace that made it"


# --- stages, reports ---


def test_stages() -> None:
    f = ig.jit(lambda x: ig.relu(x * 2) + 1)
    x = ig.asarray(floats(8))
    traced = f.trace(x)
    assert "f32[8]" in str(traced.graph)
    assert traced.guards[0] == "x: float32[8]"
    lowered = traced.lower()
    assert lowered.as_text() == str(lowered.graph)
    compiled = lowered.compile()
    same(compiled(x), f(x))
    assert compiled.report()["kernels"] == 1
    assert compiled.memory_analysis()["planned_peak_bytes"] >= 32
    assert compiled.cost_analysis()["kernels"] == 1
    assert isinstance(compiled.as_text(), str)
    assert str(f.lower(x).graph) == lowered.as_text()
    assert traces(f) == 1


def test_stages_without_arrays() -> None:
    f = ig.jit(lambda x, k=2: (x * k).sum() if x.sum() > -1 else -x)
    x = ig.asarray(floats(8, 3))
    lowered = f.lower(ig.ShapeDtypeStruct((8, 3), ig.float32))
    assert lowered.as_text() == ig.jit(f.__wrapped__).lower(ig.zeros((8, 3))).as_text()
    compiled = lowered.compile()
    same(compiled(abs(x)), (abs(x) * 2).sum())
    assert traces(f) == 1
    same(compiled(-abs(x)), abs(x))  # the branch was a condition of the trace
    assert traces(f) == 2
    with pytest.raises(ig.TypeError) as caught:
        f.lower(ig.ShapeDtypeStruct((ig.Dim("n"), 3), ig.float32))
    assert [line for line in str(caught.value).split("\n") if not line.startswith("  at: ")] == [
        "a jitted function is traced for arrays of known sizes, and n is none",
        "  why: it traces anew where sizes vary, and finds out itself which do",
        "  hint: give a number, or use ig.trace, which takes an ig.Dim",
    ]


def test_a_compiled_call_takes_what_it_was_compiled_for() -> None:
    def f(x: Any, scale: float, opts: dict[str, Any]) -> Any:
        return x * scale + opts["b"]

    compiled = ig.jit(f).lower(ig.ones(3), 2.0, {"b": ig.ones(())}).compile()
    # Those after the first one are only compared with it.
    for k in range(4):
        same(compiled(ig.zeros(3), 5.0 + k, {"b": ig.ones(())}), [1, 1, 1])
        same(compiled(ig.ones(3), k, {"b": ig.ones(())}), [1 + k] * 3)
        same(compiled(np.zeros(3, "float32"), 5.0, {"b": ig.ones(())}), [1, 1, 1])

    def text_of(*args: Any) -> list[str]:
        with pytest.raises(ig.TypeError) as caught:
            compiled(*args)
        assert "test_jit.py" in str(caught.value)
        return [line for line in str(caught.value).split("\n") if not line.startswith("  at: ")]

    assert text_of(ig.zeros(4), 2.0, {"b": ig.asarray(1)}) == [
        "f: it is compiled for other arguments",
        "    x: float32[3], and now float32[4]",
        "    opts['b']: float32[], and now int64[]",
        "  why: a compiled call is of one structure, and of one dtype and size for each array",
        "  hint: call the jitted function itself, which compiles what is new",
    ]
    assert text_of(ig.zeros(3), 2.0)[0] == (
        "f: it is compiled for other arguments: of the structure TreeDef(((*, *, {'b': *}), {})), "
        "and now TreeDef(((*, *), {}))"
    )
    same(compiled(ig.zeros(3), 5.0, {"b": ig.ones(())}), [1, 1, 1])
    assert text_of(ig.zeros(3, dtype="float64"), 5.0, {"b": ig.ones(())})[1:2] == [
        "    x: float32[3], and now float64[3]"
    ]


def test_a_compiled_call_keeps_nothing_alive() -> None:
    class Options:
        compiled: Any = None

    def f(x: Any, options: Options) -> Any:
        return x + 1

    options = Options()
    options.compiled = ig.jit(f, static_argnames="options").lower(ig.ones(3), options).compile()
    for _ in range(2):
        same(options.compiled(ig.ones(3), options), [2, 2, 2])
    gone = weakref.ref(options)
    del options
    gc.collect()
    assert gone() is None


def test_a_trace_of_a_call_changes_nothing() -> None:
    f = ig.jit(lambda x: x + 1, donate_argnums=0)
    x = ig.asarray([1.0])
    f.lower(x)
    same(x, [1])
    same(f(x), [2])


def test_a_trace_of_a_call_runs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    asked: list[float] = []

    def f(x: Any) -> Any:
        ig.check(x[0] > 0, "not {x}", x=x)
        ig.debug_print("x is {x}", x=x)
        y = ig.pure_callback(lambda a: asked.append(float(a[0])) or a, x, x)
        return y + 1 if x[1] > 0 else y - 1

    g = ig.jit(f)
    zeros = ig.ShapeDtypeStruct((2,), ig.float32)
    compiled = g.lower(zeros).compile()
    g.lower(ig.asarray([0.0, 5.0]))  # the other branch; and both again, which are known
    g.lower(zeros)
    g.lower(ig.asarray([0.0, 5.0]))
    assert traces(g) == 2
    assert (capfd.readouterr().out, asked) == ("", [])
    same(compiled(ig.asarray([2.0, -1.0])), [1, -2])
    same(compiled(ig.asarray([2.0, 1.0])), [3, 2])
    assert (capfd.readouterr().out, asked) == ("x is [ 2. -1.]\nx is [2. 1.]\n", [2, 2])
    with pytest.raises(ig.ValueError, match="not"):
        compiled(ig.asarray([0.0, 1.0]))


def test_cache_info_says_why() -> None:
    f = ig.jit(lambda x: x + 1)
    f(floats(3))
    f(floats(4))
    f(floats(4).astype(np.float64))
    info = ig.explain(f)
    reasons = [entry["reason"] for entry in info["entries"]]
    assert reasons == ["the first call", "axis 0 of `x` was 3, is 4", "`x` was float32, is float64"]
    assert info["entries"][1]["signature"] == "x: float32[s0]"
    assert "axis 0 of `x` was 3, is 4" in str(info)
    f.clear_cache()
    assert traces(f) == 0
    with pytest.raises(ig.TypeError) as caught:
        ig.explain(3)
    text = str(caught.value)
    assert text[: text.index("  at: ")] + text[text.index("  why: ") :] == (
        "explain: int is neither a jitted or traced function nor a graph\n"
        "  why: only what is compiled can be explained\n"
        "  hint: write f = ig.jit(f), call it, then ig.explain(f)"
    )


def test_graphs_are_explained() -> None:
    w = ig.asarray(floats(64, 64))
    traced = ig.trace(lambda x: ig.softmax(ig.tanh(x @ w) @ w), ig.ones((64, 64)), lift=False)
    info = ig.explain(traced)
    assert info == ig.explain(traced.graph)
    assert info["kernels"] == len(info.fusion.kernels) == len(info.memory.steps)
    assert "tanh is in the kernel" in info.fusion.why("tanh")
    assert info.kept["planned_peak"] == info["planned_peak"] == traced.graph.report()["planned_peak"]
    assert f"planned peak: {info['planned_peak']:,} bytes" in str(info)
    n = ig.Dim("n", 1, 64)
    assert "planned peak: goes by n" in str(ig.explain(ig.trace(lambda x: x + 1, ig.ShapeDtypeStruct((n,), "float32"))))


def test_recompiles_are_logged() -> None:
    program = (
        "import intaglio as ig\n"
        "f = ig.jit(lambda x: x + 1)\n"
        "f(ig.asarray([1.0, 2.0])); f(ig.asarray([1.0, 2.0, 3.0]))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "IG_LOG": "recompiles"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stderr == "[intaglio] recompiling <lambda> (trace 1): axis 0 of `x` was 2, is 3\n"


# --- threads ---


def test_many_threads_compile_once() -> None:
    g = ig.jit(lambda x: ig.relu(x) * 2)
    x = ig.asarray(floats(16))
    expected = np.maximum(np.asarray(x), 0) * 2
    wrong = []

    def work() -> None:
        for _ in range(50):
            if not np.array_equal(np.asarray(g(x)), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert traces(g) == 1


def test_it_may_be_collected() -> None:
    import gc
    import weakref

    def make() -> Any:
        f = ig.jit(lambda x: x + 1)
        f(ig.asarray([1.0]))
        f.me = f
        return weakref.ref(f)

    ref = make()
    gc.collect()
    assert ref() is None
