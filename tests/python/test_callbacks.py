"""Calls from programs into Python: `pure_callback`, `io_callback`, `ig.debug`, eager, captured and transformed."""

from __future__ import annotations

import gc
import re
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from refusals import check_texts, text_of

import intaglio as ig

X = ig.asarray([3.0, 1.0, 2.0])
VECTOR = ig.ShapeDtypeStruct((3,), ig.float32)
NUMBER = ig.ShapeDtypeStruct((), ig.float32)


def like(x: Any) -> Any:
    return ig.ShapeDtypeStruct(x.shape, x.dtype)


def both(f: Callable[..., Any], *args: Any) -> Any:
    """What f gives, eager, jitted (twice), traced and by the definitions."""
    out = f(*args)
    jitted, traced = ig.jit(f), ig.trace(f, *args)
    for other in (jitted(*args), jitted(*args), traced(*args), traced.evaluate(*args)):
        for one, two in zip(ig.tree_leaves(out), ig.tree_leaves(other), strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(two))
    return out


# --- what is passed and given -----------------------------------------------------------------------------------------


def test_a_callback_takes_and_gives_numpy_arrays() -> None:
    def host(x: Any) -> Any:
        assert type(x) is np.ndarray
        assert not x.flags.writeable
        return np.sort(x)

    out = both(lambda x: ig.pure_callback(host, like(x), x) * 10, X)
    assert out.tolist() == [10.0, 20.0, 30.0]


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.parametrize(
    "spec",
    [
        VECTOR,
        (VECTOR,),
        [VECTOR, NUMBER],
        {"a": VECTOR, "b": (NUMBER, None)},
        Pair(VECTOR, {"x": NUMBER}),
        None,
        (),
    ],
    ids=repr,
)
@pytest.mark.parametrize("effect", [False, True])
def test_trees(spec: Any, effect: bool) -> None:
    call = ig.io_callback if effect else ig.pure_callback
    want = ig.tree_map(lambda one: np.full(one.shape, 7, one.dtype.name), spec)
    seen = []

    def host(pair: Any, *, scale: Any) -> Any:
        seen.append((type(pair), pair.second["k"].tolist(), scale.tolist()))
        return want

    def f(x: Any) -> Any:
        return call(host, spec, Pair(x, {"k": x + 1}), scale=2)

    out = both(f, X)
    assert ig.tree_structure(out) == ig.tree_structure(spec)
    assert all((np.asarray(leaf) == 7).all() for leaf in ig.tree_leaves(out))
    assert set(map(str, seen)) <= {str((Pair, [4.0, 2.0, 3.0], 2))}
    assert len(seen) == 5 or not effect


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "uint16",
        "int64",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3)])
def test_every_dtype_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = ig.astype(ig.asarray(np.arange(int(np.prod(shape))).reshape(shape) % 2), getattr(ig, dtype))
    seen = []

    def host(v: Any) -> Any:
        seen.append((v.shape, v.dtype.name))
        return v

    out = both(lambda v: ig.pure_callback(host, like(v), v), x)
    assert out.dtype == x.dtype
    assert np.array_equal(np.asarray(ig.astype(out, ig.complex128)), np.asarray(ig.astype(x, ig.complex128)))
    assert set(seen) == {(shape, dtype)}


def test_numbers_take_the_declared_dtype_where_that_loses_nothing() -> None:
    def f(x: Any) -> Any:
        return (
            ig.pure_callback(lambda v: float(v.sum()), NUMBER, x),
            ig.pure_callback(lambda v: len(v), ig.ShapeDtypeStruct((), ig.float64), x),
            ig.pure_callback(lambda v: bool(v[0] > 1), ig.ShapeDtypeStruct((), ig.bool), x),
        )

    total, length, large = both(f, X)
    assert (total.dtype, length.dtype, large.dtype) == (ig.float32, ig.float64, ig.bool)
    assert (float(total), float(length), bool(large)) == (6.0, 3.0, True)


def test_results_may_have_the_sizes_of_arguments() -> None:
    def f(x: Any, y: Any) -> Any:
        n, m = x.shape[0], y.shape[0]
        return ig.pure_callback(lambda a, b: np.outer(a, b).ravel(), ig.ShapeDtypeStruct((n * m,), ig.float32), x, y)

    sizes = {"x": {0: ig.Dim("n")}, "y": {0: ig.Dim("m")}}
    traced = ig.trace(f, ig.ones(2), ig.ones(3), dynamic_shapes=sizes)
    for n, m in ((2, 3), (4, 1), (0, 2)):
        assert traced(ig.arange(n, dtype=ig.float32), ig.ones(m)).tolist() == np.repeat(np.arange(n), m).tolist()
        assert traced.evaluate(ig.arange(n, dtype=ig.float32), ig.ones(m)).shape == (n * m,)
    jitted = ig.jit(f)
    for n in (2, 3, 4, 5):
        assert jitted(ig.ones(n), ig.ones(2)).shape == (2 * n,)


def test_a_callback_of_constants_is_called_by_runs_alone() -> None:
    calls = []
    f = ig.jit(lambda x: x + ig.pure_callback(lambda: calls.append(1) or 1.0, NUMBER))
    assert f(X).tolist() == [4.0, 2.0, 3.0]
    assert f(X).tolist() == [4.0, 2.0, 3.0]
    assert len(calls) == 2


# --- what may be done with calls --------------------------------------------------------------------------------------


def test_pure_calls_are_dropped_and_shared_and_effects_are_not() -> None:
    pure: list[str] = []
    effects: list[str] = []

    def one(x: Any) -> Any:
        pure.append("one")
        return x

    def other(x: Any) -> Any:
        pure.append("other")
        return x

    @ig.jit
    def f(x: Any) -> Any:
        ig.pure_callback(one, like(x), x * 3)
        ig.io_callback(effects.append, None, x)
        ig.io_callback(effects.append, None, x)
        return (
            ig.pure_callback(one, like(x), x) + ig.pure_callback(one, like(x), x) + ig.pure_callback(other, like(x), x)
        )

    assert f(X).tolist() == [9.0, 3.0, 6.0]
    assert pure == ["one", "other"]
    assert len(effects) == 2


def test_branches_and_loops_call_on_the_path_taken() -> None:
    seen: list[Any] = []

    def note(x: Any) -> Any:
        seen.append(float(x))
        return x * 2

    def f(x: Any) -> Any:
        doubled = ig.cond(x > 1, lambda v: ig.pure_callback(note, NUMBER, v), lambda v: v + 3, x)
        total, each = ig.scan(lambda c, i: ((n := ig.io_callback(note, NUMBER, c)), n + i), doubled, ig.arange(3.0))
        return ig.while_loop(lambda c: c < 100, lambda c: ig.pure_callback(note, NUMBER, c), total), each

    jitted = ig.jit(f)
    for function in (f, jitted, jitted):
        seen.clear()
        last, each = function(ig.asarray(2.0))
        assert (float(last), each.tolist()) == (128.0, [8.0, 17.0, 34.0])
        assert seen == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
        seen.clear()
        function(ig.asarray(1.0))
        assert seen == [4.0, 8.0, 16.0, 32.0, 64.0]  # the branch calls nothing


def test_loops_with_callbacks_are_run_step_by_step() -> None:
    def f(x: Any) -> Any:
        return ig.fori_loop(0, 3, lambda i, v: ig.pure_callback(lambda a: a, like(v), v) + 1, x)

    traced = ig.trace(f, X)
    log = "\n".join(traced.graph.compile().report()["fusion_log"])
    assert "pure_callback is not a kernel" in log
    assert traced(X).tolist() == [6.0, 4.0, 5.0]


def test_a_call_in_a_loop_is_not_taken_out_of_it() -> None:
    calls: list[int] = []

    def f(x: Any, n: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            return c + ig.pure_callback(lambda v: calls.append(1) or v, like(x), ig.exp(x)), None

        return ig.scan(step, x, ig.zeros(4))[0]

    ig.jit(f)(X, 1)
    assert len(calls) == 4


def test_order_with_prints_and_checks(capsys: pytest.CaptureFixture[str]) -> None:
    @ig.jit
    def f(x: Any) -> Any:
        ig.debug.print("before")
        ig.debug.callback(lambda v: print(f"callback {v}"), x)
        ig.check(x > 0, "not positive")
        ig.debug.callback(lambda v: print("behind"), x)
        return x

    f(ig.asarray(1.0))
    assert capsys.readouterr().out == "before\ncallback 1.0\nbehind\n"
    with pytest.raises(ig.ValueError):
        f(ig.asarray(-1.0))
    assert capsys.readouterr().out == "before\ncallback -1.0\n"


# --- derivatives ------------------------------------------------------------------------------------------------------


@ig.custom_jvp
def host_sin(x: Any) -> Any:
    return ig.pure_callback(np.sin, like(x), x, vmap_method="expand_dims")


@host_sin.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return host_sin(x), t * ig.pure_callback(np.cos, like(x), x, vmap_method="expand_dims")


def test_a_custom_rule_is_the_derivative() -> None:
    def loss(x: Any) -> Any:
        return (host_sin(x) * x).sum()

    want = np.cos(np.asarray(X)) * np.asarray(X) + np.sin(np.asarray(X))
    for f in (ig.grad(loss), ig.jit(ig.grad(loss)), ig.grad(ig.checkpoint(loss)), ig.jacrev(loss), ig.jacfwd(loss)):
        assert np.allclose(np.asarray(f(X)), want, rtol=1e-6)
    rows = ig.stack([X, X + 1])
    assert np.allclose(np.asarray(ig.vmap(ig.grad(loss))(rows)[0]), want, rtol=1e-6)
    x = ig.asarray([3.0, 1.0, 2.0], requires_grad=True)
    loss(x).backward()
    assert np.allclose(np.asarray(x.grad), want, rtol=1e-6)
    x.grad = None
    ig.jit(loss)(x).backward()
    assert np.allclose(np.asarray(x.grad), want, rtol=1e-6)

    def looped(x: Any) -> Any:
        return ig.scan(lambda c, _: (host_sin(c), c), x, ig.zeros(3))[0].sum()

    x64 = np.asarray(X)
    s1, s2 = np.sin(x64), np.sin(np.sin(x64))
    assert np.allclose(np.asarray(ig.jit(ig.grad(looped))(X)), np.cos(s2) * np.cos(s1) * np.cos(x64), rtol=1e-5)


def test_a_custom_vjp_may_call_the_host() -> None:
    @ig.custom_vjp
    def f(x: Any) -> Any:
        return ig.pure_callback(np.square, like(x), x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (ig.pure_callback(lambda a, b: 2 * a * b, like(x), x, g),))
    assert ig.grad(lambda x: f(x).sum())(X).tolist() == [6.0, 2.0, 4.0]
    assert ig.jit(ig.grad(lambda x: f(x).sum()))(X).tolist() == [6.0, 2.0, 4.0]


def test_a_stopped_gradient_needs_no_rule() -> None:
    def loss(x: Any) -> Any:
        kept = ig.pure_callback(np.sort, like(x), ig.stop_gradient(x))
        index = ig.pure_callback(lambda v: np.argsort(v), ig.ShapeDtypeStruct((3,), ig.int64), x)
        return (kept * x[index]).sum()

    assert ig.grad(loss)(X).tolist() == [3.0, 1.0, 2.0]


def test_debug_callbacks_see_the_values_once() -> None:
    seen: list[Any] = []

    def loss(x: Any) -> Any:
        y = x * x
        ig.debug.callback(lambda v: seen.append(v.tolist()), y)
        return y.sum()

    def steps(x: Any) -> Any:
        return ig.scan(lambda c, _: (c + loss(c) * 0 + c, None), x, ig.zeros(2))[0].sum()

    def repeated(x: Any) -> Any:
        return ig.while_loop(lambda v: v[1] < 2, lambda v: (v[0] + loss(v[0]) * 0, v[1] + 1), (x, 0))[0].sum()

    for f in (loss, ig.checkpoint(loss), steps, repeated):
        seen.clear()
        f(X)
        wanted = list(seen)
        for transformed in (
            ig.grad(f),
            ig.jit(ig.grad(f)),
            lambda x, f=f: ig.vjp(f, x)[1](ig.asarray(1.0)),
            ig.value_and_grad(f),
        ):
            seen.clear()
            transformed(X)
            assert seen == wanted
    x = ig.asarray([3.0, 1.0, 2.0], requires_grad=True)
    seen.clear()
    ig.jit(loss)(x).backward()
    assert seen == [[9.0, 1.0, 4.0]]
    assert x.grad.tolist() == [6.0, 2.0, 4.0]


def test_an_effect_s_results_pass_through_derivatives_as_constants() -> None:
    calls: list[int] = []

    def load() -> Any:
        calls.append(1)
        return np.float32(len(calls))

    def step(c: Any, _: Any) -> Any:
        return c * ig.io_callback(load, NUMBER), None

    def loss(x: Any) -> Any:
        return ig.scan(step, x, ig.zeros(3))[0].sum() + (x * ig.io_callback(load, NUMBER)).sum()

    for f in (ig.grad(loss), ig.jit(ig.grad(loss)), lambda x: ig.vjp(loss, x)[1](ig.asarray(1.0))[0]):
        calls.clear()
        assert f(X).tolist() == [10.0] * 3
        assert len(calls) == 4


# --- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("method", "shapes"),
    [("sequential", [((3,), (3,))] * 2), ("expand_dims", [((2, 3), (1, 3))]), ("broadcast_all", [((2, 3), (2, 3))])],
)
def test_vmap_methods(method: str, shapes: list[Any], compiled: bool) -> None:
    seen: list[Any] = []

    def host(a: Any, b: Any) -> Any:
        seen.append((a.shape, b.shape))
        return a + b

    def f(a: Any, b: Any) -> Any:
        return ig.pure_callback(host, like(a), a, b, vmap_method=method)

    mapped = ig.vmap(f, in_axes=(1, None))
    rows = ig.asarray([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    out = (ig.jit(mapped) if compiled else mapped)(rows, X)
    assert out.tolist() == [[4.0, 3.0, 5.0], [13.0, 21.0, 32.0]]
    assert seen == shapes


def test_vmap_of_effects_goes_element_by_element_in_order() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        ig.debug.callback(lambda v: seen.append(("debug", float(v))), x)
        return ig.io_callback(lambda v: (seen.append(("io", float(v))), np.float32(len(seen)))[1], NUMBER, x)

    for mapped in (ig.vmap(f), ig.jit(ig.vmap(f))):
        seen.clear()
        assert mapped(X).tolist() == [4.0, 5.0, 6.0]
        assert seen == [("debug", 3.0), ("debug", 1.0), ("debug", 2.0), ("io", 3.0), ("io", 1.0), ("io", 2.0)]


def test_vmap_leaves_out_rows_that_do_not_count() -> None:
    seen: list[float] = []

    def halve(x: Any) -> Any:
        def body(v: Any) -> Any:
            ig.debug.callback(lambda a: seen.append(float(a)), v)
            return ig.pure_callback(lambda a: a / 2, NUMBER, v, vmap_method="sequential")

        return ig.while_loop(lambda v: v > 1, body, x)

    out = ig.jit(ig.vmap(halve))(ig.asarray([4.0, 0.5, 2.0]))
    assert out.tolist() == [1.0, 0.5, 1.0]
    assert sorted(seen) == [2.0, 2.0, 4.0]


# --- errors -----------------------------------------------------------------------------------------------------------


class OwnError(Exception):
    pass


def test_an_exception_reaches_the_caller_as_it_is() -> None:
    fail = [True]

    def sometimes(x: Any) -> Any:
        if fail[0]:
            raise OwnError("not today")
        return x

    def f(x: Any) -> Any:
        return ig.pure_callback(sometimes, like(x), x + 1) * 2  # the line of the call

    def looped(x: Any) -> Any:
        return ig.fori_loop(0, 2, lambda i, v: f(v), x)

    for function in (
        ig.jit(f),
        ig.trace(f, X),
        ig.jit(looped),
        ig.jit(ig.vmap(lambda x: ig.io_callback(sometimes, like(x), x))),
    ):
        for _ in range(3):
            fail[0] = True
            with pytest.raises(OwnError, match=r"^not today") as caught:
                function(X)
            frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
            assert frames[-1] == "sometimes"
            assert "test_an_exception_reaches_the_caller_as_it_is" in frames
            (note,) = caught.value.__notes__
            assert note.startswith("in the callback ")
            assert f"sometimes of {__file__}:" in note
            fail[0] = False
            function(X)
    note = ""
    fail[0] = True
    with pytest.raises(OwnError) as caught:
        ig.jit(f)(X)
    assert caught.value.__notes__[0].endswith("# the line of the call")


def test_exceptions_leak_nothing() -> None:
    def fails(x: Any) -> Any:
        raise OwnError

    f = ig.jit(lambda x: ig.pure_callback(fails, like(x), x))
    big = ig.zeros(1000)

    def call() -> None:
        with pytest.raises(OwnError):
            f(big)

    call()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        call()
    gc.collect()
    assert len(gc.get_objects()) - before < 50


def test_keyboard_interrupts_pass() -> None:
    def stop(x: Any) -> Any:
        raise KeyboardInterrupt

    f = ig.jit(lambda x: ig.pure_callback(stop, like(x), x))
    with pytest.raises(KeyboardInterrupt):
        f(X)


def test_texts() -> None:
    texts: dict[str, str] = {}

    def add(name: str, call: Callable[[], Any]) -> None:
        with pytest.raises(ig.Error) as caught:
            call()
        where = caught.value.where
        assert where.startswith(f"{__file__}:"), (name, where)
        text = re.sub(r"@[0-9a-f]+\.\d+", "@MARK", text_of(caught.value, __file__))
        texts[name] = text.replace("test_texts.<locals>.", "")

    def gives(value: Any, spec: Any = VECTOR) -> Callable[[], Any]:
        def host(x: Any) -> Any:
            return value

        return lambda: ig.jit(lambda x: ig.tree_leaves(ig.pure_callback(host, spec, x))[0] + 1)(X)

    add("dtype", gives(np.zeros(3)))
    add("shape", gives(np.zeros((3, 1), "float32")))
    add(
        "a shape in a tree",
        gives(
            {"a": np.zeros(3, "float32"), "b": [np.float32(1), np.zeros(2, "float32")]},
            {"a": VECTOR, "b": [NUMBER, VECTOR]},
        ),
    )
    add("tree", gives([np.zeros(3, "float32")]))
    add("tree, eager", lambda: ig.pure_callback(lambda x: (x, x), VECTOR, X))
    add("dtype, eager", lambda: ig.pure_callback(lambda x: x > 0, VECTOR, X))
    add("a float for an integer", gives(1.5, ig.ShapeDtypeStruct((), ig.int64)))
    add("nothing for something", gives(None))
    add("something for nothing", lambda: ig.jit(lambda x: (ig.io_callback(lambda v: v, None, x), x)[1])(X))
    add("no array", gives("text"))
    add("argument", lambda: ig.pure_callback(np.sin, VECTOR, {"x": ["text"]}))
    add("spec", lambda: ig.io_callback(np.sin, {"y": 3}, X))
    add("no function", lambda: ig.debug.callback(3, X))
    add("vmap_method", lambda: ig.pure_callback(np.sin, VECTOR, X, vmap_method="legacy"))
    add("vmap", lambda: ig.vmap(lambda x: ig.pure_callback(np.sin, like(x), x))(ig.stack([X, X])))
    add("derivative", lambda: ig.grad(lambda x: ig.pure_callback(np.sin, like(x), x).sum())(X))
    add("derivative of an effect", lambda: ig.grad(lambda x: ig.io_callback(np.sin, like(x), x).sum())(X))
    add(
        "tape",
        lambda: ig.pure_callback(np.sin, VECTOR, ig.asarray([3.0, 1.0, 2.0], requires_grad=True)).sum().backward(),
    )
    add(
        "tape of an effect",
        lambda: ig.io_callback(np.sin, VECTOR, ig.asarray([3.0, 1.0, 2.0], requires_grad=True)).sum().backward(),
    )

    def chooses(x: Any) -> Any:
        return x if ig.io_callback(lambda: True, ig.ShapeDtypeStruct((), ig.bool)) else -x

    add("a choice by an effect", lambda: ig.jit(chooses)(X))

    def again(x: Any) -> Any:
        return ig.checkpoint(lambda v: (v * v * ig.io_callback(lambda: np.float32(2), NUMBER)).sum())(x)

    add("a traced array in the result", lambda: ig.jit(lambda x: ig.pure_callback(lambda v: x, VECTOR, x) + 1)(X))
    add("an effect in a checkpoint", lambda: ig.grad(again)(X))
    loaded = ig.jit(lambda x: (x * ig.io_callback(lambda: np.float32(2), NUMBER)).sum())
    add("an effect of a jitted function, on the tape", lambda: loaded(ig.ones(3).requires_grad_()).backward())
    add("registered name", lambda: ig.register_host_function("a@b", np.sin))
    add("registered object", lambda: ig.register_host_function("ab", 3))
    for name, sizes in {
        "sizes: a number": 3,
        "sizes: a short tuple": (),
        "sizes: another name": {"y": None},
        "sizes: an entry": ({"x"},),
        "sizes: an axis": {"x": {"n": ig.Dim("n")}},
        "sizes: a size": ((3,),),
        "sizes: a further axis": ((None, ig.Dim("n")),),
    }.items():
        add(name, lambda sizes=sizes: ig.trace(lambda x: x + 1, X, dynamic_shapes=sizes))
    check_texts(texts, Path(__file__).with_name("callbacks_errors.txt"))


def test_sizes_by_position() -> None:
    n = ig.Dim("n")
    by_name = ig.trace(lambda x, y: x + y.sum(), X, X, dynamic_shapes={"x": {0: n}})
    for sizes in (({0: n}, None), [(n,), None]):
        by_position = ig.trace(lambda x, y: x + y.sum(), X, X, dynamic_shapes=sizes)
        assert str(by_position.graph) == str(by_name.graph)


def test_a_guard_by_a_pure_call_holds() -> None:
    def f(x: Any) -> Any:
        return x * 2 if ig.pure_callback(lambda v: bool(v.sum() > 0), ig.ShapeDtypeStruct((), ig.bool), x) else x

    jitted = ig.jit(f)
    for _ in range(2):
        assert jitted(X).tolist() == [6.0, 2.0, 4.0]
        assert jitted(-X).tolist() == [-3.0, -1.0, -2.0]


def test_the_watch_for_nan_does_no_effect_again() -> None:
    calls: list[int] = []

    def load() -> Any:
        calls.append(1)
        return np.float32(-1)

    f = ig.jit(lambda x: ig.sqrt(x * ig.io_callback(load, NUMBER)))
    with ig.debug_nans(True), pytest.raises(ig.FloatingPointError, match="`sqrt` makes NaN"):
        f(X)
    assert len(calls) == 1


# --- breakpoints ------------------------------------------------------------------------------------------------------


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "callbacks.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("still far: 2.")
    assert lines[-1] == "roots [2.0, 3.0] after 100 targets"


@pytest.mark.parametrize("compiled", [False, True])
def test_breakpoint_calls_the_hook_with_the_values(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    stops: list[Any] = []

    def hook() -> None:
        frame = sys._getframe(1)
        stops.append(({name: v.tolist() for name, v in frame.f_locals.items()}, frame.f_code.co_filename))

    monkeypatch.setattr(sys, "breakpointhook", hook)

    def f(x: Any) -> Any:
        y = x + 1
        ig.debug.breakpoint(x, y=y)
        return ig.cond(y.sum() > 100, lambda: (ig.debug.breakpoint(), y)[1], lambda: y)

    assert (ig.jit(f) if compiled else f)(X).tolist() == [4.0, 2.0, 3.0]
    ((values, place),) = stops
    assert values == {"arg0": [3.0, 1.0, 2.0], "y": [4.0, 2.0, 3.0]}
    assert place.startswith(f"<ig.debug.breakpoint at {__file__}:")
