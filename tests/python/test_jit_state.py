"""`ig.jit` on functions that store: attributes, globals, closure variables and elements are written back as running
the function would do; what cannot be is refused with its line. Names of weights, and what the collector may free."""

from __future__ import annotations

import gc
import operator
import weakref

import numpy as np
import pytest

import intaglio as ig


class Cell:
    """A recurrent cell that keeps its state in attributes."""

    label = "cell"

    def __init__(self) -> None:
        self.h = ig.zeros(2)
        self.count = 0
        self.rate = 0.5
        self.parts = {"w": ig.ones(2), "b": ig.zeros(2)}
        self.items = [ig.ones(2), 3]
        self.seen: list[object] = []

    def step(self, x):
        self.h = ig.tanh(self.h * 0.5 + x)
        return self.h * 2


def same_as_eager(make, call, inputs):
    """Runs `call(object, x)` on one object plainly and on another jitted, and compares results and attributes."""
    plain, other = make(), make()
    jitted = ig.jit(call)
    for x in inputs:
        want, got = call(plain, x), jitted(other, x)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
        for name, value in vars(plain).items():
            mine = getattr(other, name)
            assert type(mine) is type(value), name
            for a, b in zip(ig.tree_flatten(mine)[0], ig.tree_flatten(value)[0], strict=True):
                assert type(a) is type(b), name
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=name)
    return jitted


INPUTS = [ig.asarray([float(i), 1.0]) for i in range(5)]


def test_an_array_attribute_is_written_back_by_one_trace():
    jitted = same_as_eager(Cell, Cell.step, INPUTS)
    assert len(ig.explain(jitted)["entries"]) == 1


def test_a_jitted_method():
    cell, plain = Cell(), Cell()
    step = ig.jit(cell.step)
    for x in INPUTS:
        np.testing.assert_array_equal(np.asarray(step(x)), np.asarray(plain.step(x)))
    np.testing.assert_array_equal(np.asarray(cell.h), np.asarray(plain.h))


def test_numbers_take_two_traces_and_stay_python_numbers():
    def call(cell, x):
        cell.count = cell.count + 1
        cell.rate = cell.rate * 0.5
        return x * cell.count + cell.rate

    jitted = same_as_eager(Cell, call, INPUTS)
    assert len(ig.explain(jitted)["entries"]) == 2


def test_a_count_that_decides_is_asked_each_time():
    def call(cell, x):
        cell.count += 1
        return x * 2 if cell.count % 2 == 0 else x - 1

    same_as_eager(Cell, call, INPUTS)


def test_new_attributes_text_none_and_class_defaults():
    def call(cell, x):
        cell.last = x + 1
        cell.label = "used"
        cell.nothing = None
        cell.flag = True
        return x

    same_as_eager(Cell, call, INPUTS)


def test_elements_of_dicts_and_lists():
    def call(cell, x):
        for name in cell.parts:
            cell.parts[name] = cell.parts[name] - 0.1 * x
        cell.items[0] = cell.items[0] * 2
        cell.items[-1] = cell.items[1] + 1
        return x + cell.parts["w"]

    jitted = same_as_eager(Cell, call, INPUTS)
    assert len(ig.explain(jitted)["entries"]) == 2


def test_the_argument_itself_is_stored():
    cell = Cell()

    @ig.jit
    def call(x):
        cell.last = x
        return x + 1

    x = ig.ones(2)
    call(x)
    assert cell.last is x


TOTAL = ig.zeros(2)
CALLS = 0


def test_globals_and_closure_variables():
    global TOTAL, CALLS
    TOTAL, CALLS = ig.zeros(2), 0
    inside = ig.ones(2)

    @ig.jit
    def call(x):
        global TOTAL, CALLS
        nonlocal inside
        TOTAL = TOTAL + x
        CALLS += 1
        inside = inside * 2
        return x

    for x in INPUTS:
        call(x)
    assert np.asarray(TOTAL).tolist() == [10.0, 5.0]
    assert CALLS == 5
    assert np.asarray(inside).tolist() == [32.0, 32.0]


def test_a_change_from_outside_between_calls_is_seen():
    cell = Cell()
    step = ig.jit(cell.step)
    step(INPUTS[0])
    cell.h = ig.ones(2)
    got = step(INPUTS[1])
    other = Cell()
    other.h = ig.ones(2)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(other.step(INPUTS[1])))


def test_nothing_is_stored_where_the_call_fails_or_is_only_traced():
    cell = Cell()
    before = cell.h

    @ig.jit
    def call(x):
        cell.h = cell.h + x[:2]
        cell.fresh = x
        if x.shape[0] == 3:
            raise KeyError("no")
        return x

    call.trace(ig.ones(2))
    with pytest.raises(KeyError):
        call(ig.ones(3))
    assert cell.h is before
    assert not hasattr(cell, "fresh")


def test_containers_are_refused_with_the_line():
    cell = Cell()

    @ig.jit
    def call(x):
        cell.state = (x, x + 1)
        return x

    with pytest.raises(ig.CaptureError) as caught:
        call(ig.ones(2))
    error = caught.value
    assert (
        error.what == "a captured function changes what lies outside of it: state of closure variable cell "
        "is bound to a tuple"
    )
    assert "cell.state = (x, x + 1)" in error.where
    assert error.why == (
        "arrays, numbers and text are stored anew on each call; another object would be the same one in every call"
    )
    assert error.hint == (
        "store its arrays in attributes of their own, or return it and store it where the function is called"
    )
    assert not hasattr(cell, "state")


def test_growing_a_list_is_refused_with_the_line():
    cell = Cell()

    @ig.jit
    def call(x):
        cell.seen.append(x)
        return x

    with pytest.raises(ig.CaptureError, match="seen of closure variable cell is changed by append") as caught:
        call(ig.ones(2))
    assert "cell.seen.append(x)" in caught.value.where
    assert cell.seen == []


class Checked:
    @property
    def rate(self):
        return self._rate

    @rate.setter
    def rate(self, value):
        self._rate = value * 2


def test_a_property_stores_by_its_setter():
    def call(checked, x):
        checked.rate = x
        return x

    same_as_eager(Checked, call, INPUTS)


# --- names ---------------------------------------------------------------------------------------------------------


class Linear:
    def __init__(self, n):
        self.weight = ig.ones((n, n))
        self.bias = ig.zeros(n)

    def __call__(self, x):
        return x @ self.weight + self.bias


class Encoder:
    def __init__(self):
        self.layer = [Linear(2), Linear(2)]

    def __call__(self, x):
        for layer in self.layer:
            x = layer(x)
        return x


class Model:
    def __init__(self):
        self.encoder = Encoder()
        self.head = {"scale": ig.asarray(2.0)}

    def __call__(self, x):
        return self.encoder(x) * self.head["scale"]


def input_names(graph):
    return [value["name"] for value in graph.inputs]


def test_weights_are_inputs_named_by_their_path():
    model = Model()
    graph = ig.jit(model).trace(ig.ones((1, 2))).graph
    assert input_names(graph) == [
        "x",
        "encoder.layer.0.weight",
        "encoder.layer.0.bias",
        "encoder.layer.1.weight",
        "encoder.layer.1.bias",
        "head.scale",
    ]
    assert "%encoder.layer.0.weight: f32[2, 2]" in str(graph)
    assert str(ig.Graph.parse(str(graph))) == str(graph)
    by_global = ig.jit(lambda x: model(x)).trace(ig.ones((1, 2))).graph
    assert input_names(by_global)[1] == "model.encoder.layer.0.weight"


def test_weights_as_constants():
    model = Model()
    jitted = ig.jit(model, lift=False)
    x = ig.ones((1, 2))
    assert input_names(jitted.trace(x).graph) == ["x"]
    np.testing.assert_array_equal(np.asarray(jitted(x)), np.asarray(model(x)))
    model.encoder.layer[0].weight = model.encoder.layer[0].weight * 3
    np.testing.assert_array_equal(np.asarray(jitted(x)), np.asarray(model(x)))
    model.head["scale"] += 1
    np.testing.assert_array_equal(np.asarray(jitted(x)), np.asarray(model(x)))
    assert len(ig.explain(jitted)["entries"]) == 3


# --- the collector -------------------------------------------------------------------------------------------------


def test_a_jitted_function_in_a_circle_is_freed():
    class Holder:
        pass

    def make():
        holder = Holder()
        holder.w = ig.ones(2)
        holder.count = 0
        table = {"holder": holder}

        def f(x):
            holder.count = holder.count + 1
            return x * holder.w + len(table) if jitted is not None else x

        jitted = ig.jit(f)
        holder.jitted = jitted
        for _ in range(3):
            jitted(ig.ones(2))
        return weakref.ref(holder), weakref.ref(jitted)

    holder, jitted = make()
    gc.collect()
    assert jitted() is None
    assert holder() is None


def test_reads_that_cannot_be_followed_are_shown(capfd, monkeypatch):
    monkeypatch.setenv("IG_LOG", "recompiles")

    class Options:
        def __init__(self):
            self.scale = 2.0

    options = Options()
    read_scale = operator.attrgetter("scale")

    @ig.jit
    def f(x):
        return x * read_scale(options)

    for _ in range(3):
        assert float(f(ig.asarray(1.0))) == 2.0
    options.scale = 3.0
    assert float(f(ig.asarray(1.0))) == 3.0
    shown = [entry["unknown"] for entry in ig.explain(f)["entries"]]
    assert len(shown) == 2
    assert all("options was handed to " in lines[0] for lines in shown)
    assert "its attributes are compared whole" in shown[0][0]
    assert "return x * read_scale(options)" in shown[0][0]
    assert str(ig.explain(f)).count("    not followed: ") == 2
    assert capfd.readouterr().err.count("cannot be followed") == 1
