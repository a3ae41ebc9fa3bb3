"""The observer: what a function read from outside itself is guarded, nothing else is, and stores to the
outside are refused with their line. The generated test at the end changes one thing at a time in random
programs."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import gc
import math
import operator
import os
import random
import sys
import threading
import time
import types
import weakref
from typing import Any

import numpy as np
import outside_worlds
import pytest

import intaglio as ig

SCALE = 2.0
TABLE: dict[str, Any] = {"a": 1, "b": [1, 2, 3], "deep": {"x": {"y": 5}}}
ITEMS: list[Any] = [1, 2.5, "three", [4, 5]]
COUNT = 0
CACHE: dict[Any, Any] = {}
LETTERS = {"a", "b"}
ARRAY = np.arange(4.0)
WEIGHT = ig.asarray([1.0, 2.0])
WEIGHTS = [ig.asarray([1.0]), ig.asarray([2.0])]
DEFAULTS: Any = collections.defaultdict(int, a=1)
STREAM = iter([1, 2, 3])
HERE = sys.modules[__name__]


def observe(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The guards, all of which hold."""
    before = sys.gettrace()
    _, guards = ig._observe(function, *args, **kwargs)
    assert sys.gettrace() is before
    assert guards.hold(), guards.failed()
    return guards


@contextlib.contextmanager
def changed(holder: Any, key: Any, value: Any, item: bool = False) -> Any:
    """With `holder.key` (or holder[key]) set to another value."""
    get, put = (operator.getitem, operator.setitem) if item else (getattr, setattr)
    old = vars(holder)[key] if isinstance(holder, type) and key in vars(holder) else get(holder, key)
    put(holder, key, value)
    try:
        yield
    finally:
        put(holder, key, old)


def fails_when(guards: Any, holder: Any, key: Any, value: Any, item: bool = False) -> None:
    with changed(holder, key, value, item):
        assert not guards.hold()
    assert guards.hold(), guards.failed()


def test_globals_by_value_and_type() -> None:
    guards = observe(lambda: SCALE * 2)
    fails_when(guards, HERE, "SCALE", 3.0)
    fails_when(guards, HERE, "SCALE", 2)
    with changed(HERE, "SCALE", float("2.0")):
        assert guards.hold()
    assert "global SCALE == 2.0 (read at " in "\n".join(g.describe() for g in guards)


def test_a_builtin_that_a_global_comes_to_hide() -> None:
    guards = observe(lambda: len("abc"))
    HERE.len = lambda x: 7  # type: ignore[attr-defined]
    try:
        assert not guards.hold()
    finally:
        del HERE.len  # type: ignore[attr-defined]
    assert guards.hold()


def test_zeros_of_both_signs_and_nan() -> None:
    space: dict[str, Any] = {"Z": 0.0, "N": math.nan}
    exec("def f(): return Z, N", space)
    guards = observe(space["f"])
    fails_when(guards, space, "Z", -0.0, item=True)
    with changed(space, "N", float("nan"), item=True):
        assert guards.hold()


def test_cells_defaults_and_code() -> None:
    k = 3

    def set_k(value: int) -> None:
        nonlocal k
        k = value

    def helper(x: int, y: int = 4, *, z: int = 5) -> int:
        return x + y + z + k

    guards = observe(lambda: helper(1))
    set_k(9)
    assert not guards.hold()
    set_k(3)
    fails_when(guards, helper, "__defaults__", (6,))
    fails_when(guards, helper, "__kwdefaults__", {"z": 6})

    def other(x: int, y: int = 4, *, z: int = 5) -> int:
        return k

    fails_when(guards, helper, "__code__", other.__code__)
    helper.__kwdefaults__["z"] = 6
    assert not guards.hold()


class Base:
    rate = 1

    def area(self) -> Any:
        return self.size * self.rate


class Shape(Base):
    __slots__ = ("slot",)

    def __init__(self, size: int) -> None:
        self.size = size
        self.slot = 10

    @property
    def double(self) -> int:
        return self.size * 2

    def area(self) -> Any:
        return super().area() + self.slot

    @classmethod
    def make(cls) -> Shape:
        return cls(3)

    @staticmethod
    def fixed() -> int:
        return 8

    def __len__(self) -> int:
        return self.size

    def __getattr__(self, name: str) -> int:
        if name == "ghost":
            return 1
        raise AttributeError(name)


SHAPE = Shape(5)


def test_attributes_methods_super_properties_slots() -> None:
    guards = observe(lambda: SHAPE.area() + SHAPE.double)
    fails_when(guards, SHAPE, "size", 6)
    fails_when(guards, SHAPE, "slot", 6)
    fails_when(guards, Base, "rate", 6)
    fails_when(guards, Base, "area", lambda self: 0)
    fails_when(guards, Shape, "area", lambda self: 0)
    fails_when(guards, Shape, "double", property(lambda self: 0))
    fails_when(guards, SHAPE, "__class__", type("Other", (Shape,), {"__slots__": ()}))
    SHAPE.rate = 7  # type: ignore[misc]
    assert not guards.hold()
    del SHAPE.rate
    assert guards.hold()
    Shape.rate = 7
    assert not guards.hold()
    del Shape.rate
    assert guards.hold()


def test_class_methods_and_special_methods() -> None:
    guards = observe(lambda: Shape.make().size + Shape.fixed() + len(SHAPE) + bool(SHAPE))
    fails_when(guards, Shape, "__len__", lambda self: 1)
    fails_when(guards, Shape, "__init__", lambda self, size: setattr(self, "size", 0))
    fails_when(guards, Shape, "fixed", staticmethod(lambda: 1))
    Shape.__bool__ = lambda self: False  # type: ignore[attr-defined]
    assert not guards.hold()
    del Shape.__bool__  # type: ignore[attr-defined]
    assert guards.hold()


def test_getattr_hook_and_hasattr() -> None:
    guards = observe(lambda: SHAPE.ghost + hasattr(SHAPE, "nothing") + getattr(SHAPE, "size", 0))
    fails_when(guards, SHAPE, "size", 1)
    for name in ("ghost", "nothing"):
        setattr(SHAPE, name, 1)
        assert not guards.hold()
        delattr(SHAPE, name)
        assert guards.hold()


def test_containers() -> None:
    def f() -> Any:
        a = TABLE["deep"]["x"]["y"] + TABLE.get("a") + TABLE.get("none", 0)
        total = 0
        for i in TABLE["b"]:
            total += i
        first, *_ = ITEMS
        return a, total, first, ITEMS[-1][0], "a" in LETTERS, len(LETTERS), "q" in TABLE

    guards = observe(f)
    fails_when(guards, TABLE["deep"]["x"], "y", 6, item=True)
    fails_when(guards, TABLE["deep"], "x", {"y": 6}, item=True)
    fails_when(guards, TABLE["b"], 1, 6, item=True)
    fails_when(guards, ITEMS[3], 0, 6, item=True)
    fails_when(guards, ITEMS, 2, 6, item=True)
    for name in ("none", "q"):
        TABLE[name] = 1
        assert not guards.hold()
        del TABLE[name]
    LETTERS.add("z")
    assert not guards.hold()
    LETTERS.discard("z")
    TABLE["b"].append(4)
    assert not guards.hold()
    TABLE["b"].pop()
    assert guards.hold()
    TABLE["unread"] = 1
    assert guards.hold()
    del TABLE["unread"]


def test_order_of_a_dict() -> None:
    d = {"a": 1, "b": 2}
    guards = observe(lambda: list(d))
    d["a"] = d.pop("a")
    assert not guards.hold()


def test_functions_of_builtins_read_deeply() -> None:
    nest = [[1, 2], [3, [4]]]
    for reader in (
        str,
        lambda n: n == [1],
        repr,
        lambda n: sorted(map(len, n)),
        lambda n: f"{n}",
        lambda n: [*n[1][1]],
    ):
        guards = observe(lambda reader=reader: reader(nest))
        if reader in (str, repr):
            nest[1][1].append(5)  # type: ignore[union-attr]
            assert not guards.hold()
            nest[1][1].pop()  # type: ignore[union-attr]
            assert guards.hold()
        nest.append([1])
        assert (reader(nest) != reader(nest[:-1])) <= (not guards.hold())
        nest.pop()


@dataclasses.dataclass
class Config:
    width: int = 3
    names: list[str] = dataclasses.field(default_factory=lambda: ["a"])


class Color(enum.Enum):
    RED = 1
    BLUE = 2


CONFIG = Config()
COLOR = Color.RED
Point = collections.namedtuple("Point", "x y")
POINT = Point(1, [2])


def test_dataclasses_enums_namedtuples() -> None:
    guards = observe(lambda: (CONFIG.width, CONFIG.names[0], COLOR is Color.RED, COLOR.value, POINT.x, POINT.y[0]))
    fails_when(guards, CONFIG, "width", 4)
    fails_when(guards, CONFIG.names, 0, "b", item=True)
    fails_when(guards, HERE, "COLOR", Color.BLUE)
    fails_when(guards, POINT.y, 0, 3, item=True)
    made = observe(lambda: dataclasses.replace(Config(4), width=SCALE).width)
    fails_when(made, HERE, "SCALE", 1.0)


def test_vars_dict_globals_environ() -> None:
    def f() -> Any:
        return vars(CONFIG)["width"], CONFIG.__dict__["names"][0], globals()["SCALE"]

    guards = observe(f)
    fails_when(guards, CONFIG, "width", 4)
    fails_when(guards, CONFIG.names, 0, "b", item=True)
    fails_when(guards, HERE, "SCALE", 4.0)
    for read in (lambda: os.environ.get("IG_X"), lambda: os.getenv("IG_X"), lambda: "IG_X" in os.environ):
        guards = observe(read)
        os.environ["IG_X"] = "1"
        assert not guards.hold()
        del os.environ["IG_X"]
        assert guards.hold()


def test_module_attributes() -> None:
    module = types.ModuleType("m")
    module.k = 1  # type: ignore[attr-defined]
    guards = observe(lambda: module.k + math.pi)  # type: ignore[attr-defined]
    fails_when(guards, module, "k", 2)
    fails_when(guards, math, "pi", 3)


def test_partial_and_decorators() -> None:
    options = {"y": 1}

    def add(x: int, y: list[int], z: dict[str, int]) -> int:
        return x + y[0] + z["y"]

    y = [5]
    bound = functools.partial(add, y=y, z=options)

    def twice(f: Any) -> Any:
        @functools.wraps(f)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return 2 * f(*args, **kwargs)

        return inner

    guards = observe(twice(bound.func), 1, y, options)
    guards = observe(lambda: twice(bound)(1) if False else bound(1))
    fails_when(guards, y, 0, 6, item=True)
    fails_when(guards, options, "y", 6, item=True)


def test_generators_comprehensions_recursion_with_try() -> None:
    def down(n: int) -> Any:
        if n:
            yield n * SCALE
            yield from down(n - 1)

    def fact(n: int) -> Any:
        return SCALE if n == 0 else n * fact(n - 1)

    @contextlib.contextmanager
    def scope() -> Any:
        yield TABLE["a"]

    def f() -> Any:
        try:
            with scope() as a:
                return [x + a for x in down(3)] + [fact(3)] + [TABLE["absent"]]
        except KeyError:
            return sum({k: 2 * v for k, v in zip("ab", ITEMS, strict=False)}.values()) + SCALE

    guards = observe(f)
    fails_when(guards, HERE, "SCALE", 4.0)
    fails_when(guards, TABLE, "a", 4, item=True)
    TABLE["absent"] = [1]
    assert not guards.hold()
    del TABLE["absent"]
    assert len(guards) < 40


def test_what_is_made_inside_needs_no_guard() -> None:
    def f() -> Any:
        class Local:
            shared = [1]  # noqa: RUF012

            def __init__(self) -> None:
                self.x = {}

            def put(self) -> int:
                self.x["k"] = len(self.shared)
                self.shared.append(2)
                return self.x["k"]

        local = Local()
        items = [3]
        items.append(local.put())
        n = 0

        def bump() -> None:
            nonlocal n
            n += 1

        bump()
        copy = ITEMS.copy()
        copy[0] = 9
        copy.sort(key=str)
        return items, n

    guards = observe(f)
    places = [g.describe().split(" (read at ")[0] for g in guards]
    assert not any(".Local" in place or "bump" in place for place in places), places
    assert len(guards) <= 8


def test_objects_that_are_arguments() -> None:
    def f(shape: Shape) -> Any:
        return shape.area()

    shape = Shape(2)
    guards = observe(f, shape)
    fails_when(guards, shape, "size", 9)
    guards = observe(shape.area)
    fails_when(guards, shape, "size", 9)


def test_arrays_are_read_again_and_never_baked() -> None:
    guards = observe(lambda: WEIGHT.shape)
    arrays = [g.array() for g in guards if g.array() is not None]
    assert len(arrays) == 1
    with changed(HERE, "WEIGHT", ig.asarray([5.0, 6.0])):
        assert guards.hold()
        assert np.asarray(next(g.array() for g in guards if g.array() is not None)).tolist() == [5.0, 6.0]
    fails_when(guards, HERE, "WEIGHT", ig.asarray([5.0]))
    guards = observe(lambda: [w.dtype for w in WEIGHTS])
    assert sum(g.array() is not None for g in guards) == 2
    for read in (
        lambda: float(ARRAY[1]),
        lambda: ARRAY.sum(),
        lambda: np.sum(ARRAY),
        lambda: 2 + ARRAY,
        lambda: [*ARRAY],
    ):
        guards = observe(read)
        ARRAY[1] += 1
        assert not guards.hold()
        ARRAY[1] -= 1
        assert guards.hold()
    guards = observe(lambda: ARRAY.shape)
    fails_when(guards, HERE, "ARRAY", np.zeros(4))
    guards = observe(lambda: WEIGHT.tolist())
    fails_when(guards, HERE, "WEIGHT", ig.asarray([5.0, 6.0]))


def test_what_is_compared_whole_is_reported() -> None:
    big = np.zeros(200_000)
    guards = observe(lambda: big.sum())
    what, where = guards.unknown[0]
    assert what == (
        "the 1600000 bytes of closure variable big are compared on every call; an ig.Tensor in its place is not"
    )
    assert "test_observer.py:" in where
    guards = observe(lambda: operator.attrgetter("width")(CONFIG))
    assert guards.unknown[0][0] == (
        "global CONFIG was handed to operator.attrgetter, which cannot be followed: its attributes are compared whole"
    )
    fails_when(guards, CONFIG, "width", 4)


def test_arrays_made_inside_may_be_changed() -> None:
    def f() -> Any:
        y = np.exp(np.zeros(3))
        y[0] = 5
        return float(y[0]) + abs(WEIGHT).shape[0]

    guards = observe(f)
    with changed(HERE, "WEIGHT", ig.asarray([7.0, 8.0])):
        assert guards.hold()


def test_a_view_of_an_outside_array_that_is_written() -> None:
    def f() -> None:
        view = ARRAY[1:]
        view[0] = 9

    try:
        with pytest.raises(ig.CaptureError) as info:
            ig._observe(f)
    finally:
        ARRAY[1] = 1.0
    assert info.value.what.startswith(
        "what a captured function read changed while it ran: global ARRAY has its 32 bytes"
    )


def test_guards_in_a_circle_are_collected() -> None:
    class Owner:
        pass

    def circle() -> Any:
        owner = Owner()
        owner.guards = observe(lambda: owner)  # type: ignore[attr-defined]
        return weakref.ref(owner)

    gone = circle()
    gc.collect()
    assert gone() is None


def store_global() -> None:
    global COUNT
    COUNT = COUNT + 1


def in_place(x: Any) -> Any:
    x += [1]
    return x


REFUSED = [
    (store_global, "global COUNT is stored"),
    (lambda: CACHE.__setitem__("k", 1), "global CACHE is changed by __setitem__"),
    (lambda: CACHE.update(k=1), "global CACHE is changed by update"),
    (lambda: ITEMS.append(1), "global ITEMS is changed by append"),
    (lambda: TABLE["b"].pop(), "global TABLE['b'] is changed by pop"),
    (lambda: LETTERS.add("q"), "global LETTERS is changed by add"),
    (lambda: in_place(ITEMS), "global ITEMS is changed in place by an operator"),
    (lambda: setattr(CONFIG, "width", 1), "global CONFIG is changed by setattr"),
    (
        lambda: DEFAULTS["new"],
        "global DEFAULTS['new'] is stored, because reading a missing key of a defaultdict adds it",
    ),
    (lambda: next(STREAM), "global STREAM is advanced"),
    (lambda: list(STREAM), "global STREAM is advanced"),
    (lambda: [x + 1 for x in STREAM], "global STREAM is advanced"),
]


@pytest.mark.parametrize(("function", "what"), REFUSED, ids=[what for _, what in REFUSED])
def test_stores_to_the_outside_are_refused(function: Any, what: str) -> None:
    with pytest.raises(ig.CaptureError) as info:
        ig._observe(function)
    assert info.value.what == "a captured function changes what lies outside of it: " + what
    assert "test_observer.py:" in info.value.where
    assert info.value.why == "the change would happen once, when the function is captured, and not on later calls"
    assert info.value.hint == "return the new value, and store it where the function is called"
    assert sys.gettrace() is None


def test_a_refusal_has_the_line_of_the_store_and_cannot_be_swallowed() -> None:
    def f() -> int:
        try:
            CONFIG.width = 8
        except Exception:
            return 1
        return 2

    with pytest.raises(ig.CaptureError) as info:
        ig._observe(f)
    assert str(info.value).splitlines()[0] == (
        "a captured function changes what lies outside of it: attribute width of global CONFIG is stored"
    )
    assert info.value.where.endswith("CONFIG.width = 8")
    assert CONFIG.width == 3


def test_stores_to_closures_attributes_and_subscripts() -> None:
    n = 0
    total = [0]

    def cell() -> None:
        nonlocal n
        n += 1

    def subscript() -> None:
        total[0] += 1

    def delete() -> None:
        del TABLE["a"]

    def klass() -> None:
        Shape.rate = 2

    for function, what in [
        (cell, "closure variable n is stored"),
        (subscript, "closure variable total[0] is stored"),
        (delete, "global TABLE['a'] is deleted"),
        (klass, "attribute rate of global Shape is stored"),
    ]:
        with pytest.raises(ig.CaptureError, match="changes what lies outside") as info:
            ig._observe(function)
        assert info.value.what.endswith(what)
    assert n == 0
    assert total == [0]


WORLD = [
    (lambda: time.time(), "the time: time"),
    (lambda: random.random(), "a random number: random"),
    (lambda: random.randint(1, 2), "a random number: randint"),
    (lambda: np.random.rand(2), "a random number: rand"),
    (lambda: np.random.default_rng(1).normal(), "a random number: normal"),
    (lambda: __import__("datetime").datetime.now(), "the time: now"),
    (lambda: open(__file__), "what lies outside of the program: open"),  # noqa: SIM115
    (lambda: os.urandom(1), "a random number: urandom"),
]


@pytest.mark.parametrize(("function", "what"), WORLD, ids=[what for _, what in WORLD])
def test_reads_of_the_world_are_refused(function: Any, what: str) -> None:
    with pytest.raises(ig.CaptureError) as info:
        ig._observe(function)
    assert info.value.what == "a captured function reads " + what
    assert "test_observer.py:" in info.value.where
    assert (
        info.value.why
        == "it would be read once, when the function is captured, and every later call would see that value"
    )
    assert info.value.hint


def test_an_assertion_that_pytest_rewrites_may_fail() -> None:
    def f() -> None:
        assert SCALE == [1]

    with pytest.raises(AssertionError):
        ig._observe(f)


def test_an_exception_restores_the_trace_function() -> None:
    def f() -> None:
        raise ValueError(SCALE)

    with pytest.raises(ValueError, match=r"2\.0"):
        ig._observe(f)
    assert sys.gettrace() is None


def test_a_debugger_keeps_its_events() -> None:
    def f() -> float:
        y = SCALE
        return y + 1

    def events(run: Any) -> list[Any]:
        seen: list[Any] = []

        def trace(frame: Any, event: str, arg: Any) -> Any:
            if frame.f_code is f.__code__:
                seen.append((event, frame.f_lineno))
            return trace

        sys.settrace(trace)
        try:
            run()
            assert sys.gettrace() is trace
        finally:
            sys.settrace(None)
        return seen

    assert events(f) == events(lambda: ig._observe(f))
    assert len(events(f)) == 4


def test_a_trace_function_set_inside_ends_the_watch_with_an_error() -> None:
    def f() -> float:
        sys.settrace(None)
        return SCALE

    with pytest.raises(ig.CaptureError, match="ended by another trace function"):
        ig._observe(f)
    assert sys.gettrace() is None


def test_threads_are_watched_alone() -> None:
    results: list[Any] = []

    def work() -> None:
        for _ in range(20):
            results.append(observe(lambda: SCALE + len(ITEMS)).hold())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80


def test_observers_nest() -> None:
    inner: list[Any] = []

    def f() -> Any:
        def g() -> float:
            return SCALE

        result, guards = ig._observe(g)
        return result, guards

    (result, inner_guards), guards = ig._observe(f)
    assert result == SCALE
    assert not inner
    for g in (guards, inner_guards):
        assert g.hold()
        with changed(HERE, "SCALE", 9.0):
            assert not g.hold()


def test_reads_of_one_scope_are_few_guards() -> None:
    names = [f"G{i}" for i in range(20)]
    space: dict[str, Any] = {name: float(i) for i, name in enumerate(names)}
    exec("def f(): return " + " + ".join(names), space)
    guards = observe(space["f"])
    assert len(guards) <= 23
    assert guards.hold()


def test_generated_changes() -> None:
    made = caught = 0
    most = 0
    for seed in range(250):
        rng = random.Random(seed)
        space = outside_worlds.make_world(rng)
        text, program = outside_worlds.make_program(rng, space)
        before = outside_worlds.outcome(program)
        try:
            _, guards = ig._observe(program)
        except ig.Error:
            raise
        except Exception:
            continue
        assert guards.hold(), (seed, text, guards.failed())
        most = max(most, len(guards))
        possible = outside_worlds.changes(rng, space)
        for label, apply, undo in rng.sample(possible, min(len(possible), 60)):
            try:
                apply()
            except TypeError:
                continue
            made += 1
            after = outside_worlds.outcome(program)
            held = guards.hold()
            undo()
            if after != before:
                caught += 1
                assert not held, f"seed {seed}: {label} changes {text}: {before}, {after}; all guards hold"
            assert guards.hold(), (seed, label, text, guards.failed())
    assert made > 5000
    assert caught > 300
    assert most < 120


def test_the_collectors_callbacks_are_no_part_of_the_function() -> None:
    """They run in the midst of whatever allocates; what they read (here the time) must not be laid to the function."""
    seen = []

    def callback(phase: str, info: Any) -> None:
        seen.append((phase, time.perf_counter()))

    def allocate(x: Any) -> Any:
        return x + len([[] for _ in range(5000)])

    gc.callbacks.append(callback)
    try:
        assert gc.isenabled()
        result, _guards = ig._observe(allocate, 1)
    finally:
        gc.callbacks.remove(callback)
    assert result == 5001
    assert gc.isenabled()
    gc.disable()
    try:
        ig._observe(allocate, 1)
        assert not gc.isenabled()
    finally:
        gc.enable()
