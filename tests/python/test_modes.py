"""Modes of the user's own: what they see of each op, what they may give in its place, how they nest, and what they
leave as it is: bits, gradients, captures, threads."""

from __future__ import annotations

import gc
import runpy
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig
from intaglio import nn

X = ig.asarray([[1.0, 2.0], [3.0, 4.0]])
ROW = ig.ones(2)
HALF = ig.ones(2, dtype="float16")


class Log(ig.OpMode):
    """Notes the names of what it sees."""

    def __init__(self, into: list[str] | None = None, tag: str = "") -> None:
        self.seen = [] if into is None else into
        self.tag = tag

    def op(self, call: ig.OpCall) -> Any:
        self.seen.append(self.tag + (call.function or call.name))
        return call()


def names(function: Callable[[], Any]) -> list[str]:
    with Log() as log:
        function()
    return log.seen


def assigned(x: ig.Tensor) -> ig.Tensor:
    x = ig.asarray(x, copy=True)
    x[0] = 5.0
    x[:, 1] += 1
    return x


def test_each_op_is_seen_once() -> None:
    assert names(lambda: X + X) == ["add"]
    assert names(lambda: ig.add(X, X)) == ["add"]
    assert names(lambda: 2 * X - 1) == ["multiply", "subtract"]
    assert names(lambda: X + ROW) == ["add"]
    assert names(lambda: X**2) == ["pow"]
    assert names(lambda: X @ X) == ["matmul"]
    assert names(lambda: ig.softmax(X)) == ["softmax"]
    assert names(lambda: X + HALF) == ["astype", "add"]
    assert names(lambda: X.mT) == ["transpose"]
    assert names(lambda: X[0]) == ["slice", "reshape"]
    assert "dynamic_update_slice" in names(lambda: assigned(X))
    assert names(lambda: X.shape) == []


def test_what_a_call_says() -> None:
    calls: list[ig.OpCall] = []

    class Keep(ig.OpMode):
        def op(self, call: ig.OpCall) -> Any:
            calls.append(call)
            return call()

    with Keep():
        y = ig.sum(X, axis=-1, keepdims=True) * 3
    total, product = calls
    assert total.name == "reduce_sum" or total.name == "sum"
    assert total.attrs["axes"] == (1,)
    assert total.attrs["keepdims"] is True
    assert [operand.tolist() for operand in total.operands] == [X.tolist()]
    assert "test_modes.py" in total.where
    assert "ig.sum(X, axis=-1, keepdims=True) * 3" in total.where
    assert not total.captured
    assert [operand.tolist() for operand in product.operands] == [[[3.0], [7.0]], 3.0]
    assert repr(product).startswith("<call of `multiply` at ")
    assert y.tolist() == [[9.0], [21.0]]


def test_results_that_take_the_place_of_others() -> None:
    class Zeros(ig.OpMode):
        def op(self, call: ig.OpCall) -> Any:
            return ig.zeros(3) if call.function == "exp" else call()

    with Zeros():
        y = ig.exp(X) + 1
    assert y.tolist() == [1.0, 1.0, 1.0]
    assert ig.exp(ig.zeros(1)).tolist() == [1.0]


def test_other_operands_and_attributes() -> None:
    class Wide(ig.OpMode):
        """Products in float64, and sums along the first axis."""

        def op(self, call: ig.OpCall) -> Any:
            if call.name == "matmul":
                return ig.astype(call(*(ig.astype(x, ig.float64) for x in call.operands)), ig.float32)
            if call.name == "sum":
                return call(axes=(0,))
            if call.name == "add":
                return call(call.operands[0], 100)
            return call()

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((40, 40)).astype(np.float32) for _ in range(2))
    with Wide():
        product = ig.asarray(a) @ ig.asarray(b)
        assert ig.sum(X, axis=1).tolist() == [4.0, 6.0]
        assert (X + X).tolist() == [[101.0, 102.0], [103.0, 104.0]]
    np.testing.assert_array_equal(product, (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32))


def test_a_call_may_be_gone_on_with_many_times_or_never() -> None:
    class Twice(ig.OpMode):
        def op(self, call: ig.OpCall) -> Any:
            if call.name == "tanh":
                return call(call())
            return call.operands[0] if call.name == "negative" or call.name == "negate" else call()

    with Twice():
        y, z = ig.tanh(X), -X
    np.testing.assert_array_equal(y, ig.tanh(ig.tanh(X)))
    assert z.tolist() == X.tolist()


def test_ops_with_many_results() -> None:
    with Log() as log:
        q, r = ig.linalg.qr(X)
        w, v = ig.linalg.eigh(X + X.mT)
    assert log.seen
    np.testing.assert_allclose(q @ r, X, rtol=1e-5)
    np.testing.assert_allclose((v * w) @ v.mT, X + X.mT, rtol=1e-5)


def test_nesting_and_what_a_mode_does_itself() -> None:
    seen: list[str] = []

    class Doubles(Log):
        def op(self, call: ig.OpCall) -> Any:
            self.seen.append(self.tag + (call.function or call.name))
            return call() * 2 if call.function == "exp" else call()

    with Log(seen, "outer "), Doubles(seen, "inner "):
        y = ig.exp(X)
    assert seen == ["inner exp", "outer exp", "outer multiply"]
    np.testing.assert_array_equal(y, ig.exp(X) * 2)
    log = Log()
    with log, log:  # one object, entered twice
        ig.exp(X)
    assert log.seen == ["exp", "exp"]


def test_a_mode_entered_within_a_handler() -> None:
    seen: list[str] = []

    class Enters(ig.OpMode):
        def op(self, call: ig.OpCall) -> Any:
            with Log(seen, "within "):
                return call() + 1

    with Log(seen, "outer "), Enters():
        ig.exp(X)
    assert seen == ["within exp", "outer exp", "within add", "outer add"]
    assert names(lambda: ig.exp(X)) == ["exp"]


class Mine(Exception):
    pass


def test_an_error_in_a_handler_is_the_programs() -> None:
    class Raises(ig.OpMode):
        def op(self, call: ig.OpCall) -> Any:
            if call.function == "exp":
                raise Mine(call.where)
            return call()

    log = Log()
    for run in (lambda: ig.exp(X), lambda: ig.jit(ig.exp)(X), lambda: ig.trace(ig.exp, X)):
        with log, Raises():
            with pytest.raises(Mine, match=r"test_modes\.py"):
                run()
            X + X  # both modes are on again
        assert log.seen[-1] == "add"
    assert names(lambda: X + X) == ["add"]


def test_errors_of_an_op_name_the_line_that_called_it() -> None:
    with Log(), pytest.raises(ig.ShapeError) as caught:
        X @ ig.ones(3)
    assert "X @ ig.ones(3)" in caught.value.where


def test_nodes_keep_the_line_that_called_the_op() -> None:
    with Log():
        graph = ig.trace(lambda x: ig.exp(x), X).graph  # this line
    assert "test_nodes_keep_the_line" in graph.nodes[0]["location"]
    assert "Log.op" not in str(graph.nodes[0]["frames"])


PROGRAMS: dict[str, Callable[[ig.Tensor], Any]] = {
    "powers": lambda x: (x**2, x**0.5, 2**x, x**-1),
    "arithmetic": lambda x: (x // 2, x % 3, divmod(x, 2)[0], abs(-x), x + x[0], x == 1),
    "integers": lambda x: ig.astype(x, ig.int32) // 2 + 7,
    "indexing": lambda x: (x[0], x[:, ::-1], x[ig.asarray([1, 0])], x[..., None], x[1, 1]),
    "assigning": assigned,
    "folds": lambda x: (ig.mean(x), ig.std(x, axis=0), ig.cumulative_sum(x, axis=0), ig.argmax(x), ig.sort(x, axis=1)),
    "linalg": lambda x: (ig.linalg.inv(x), ig.linalg.det(x), ig.linalg.svd(x)[1], ig.linalg.solve(x, x[0])),
    "fft": lambda x: ig.fft.fft(x),
    "random": lambda x: ig.random.normal(ig.random.key(3), x.shape) * x,
    "special": lambda x: (ig.special.gammaln(x), ig.special.erfinv(x / 10)),
    "control": lambda x: ig.fori_loop(0, 3, lambda i, v: v * 2 + ig.astype(i, ig.float32), x),
    "branch": lambda x: ig.cond(ig.sum(x) > 0, lambda: x * 2, lambda: x),
    "scan": lambda x: ig.scan(lambda c, v: (c + v, c * v), ig.zeros(2), x),
    "grad": lambda x: ig.grad(lambda v: ig.sum(ig.tanh(v) ** 3))(x),
    "vmap": lambda x: ig.vmap(lambda v: v / ig.sum(v))(x),
    "numpy": lambda x: np.sin(x) + np.concatenate([x, x])[1],
    "autocast": lambda x: ig.astype(ig.autocast()(lambda: x @ x)(), ig.float32),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("how", ["eager", "jit", "trace"])
def test_watching_changes_no_bit(name: str, how: str) -> None:
    program = PROGRAMS[name]
    want = program(X)
    with Log() as log:
        got = program(X) if how == "eager" else ig.jit(program)(X) if how == "jit" else ig.trace(program, X)(X)
    assert log.seen
    for a, b in zip(ig.tree_flatten(got)[0], ig.tree_flatten(want)[0], strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_a_jitted_function_is_run_op_by_op() -> None:
    @ig.jit
    def f(x: ig.Tensor) -> ig.Tensor:
        return ig.exp(x) + 1

    class Values(ig.OpMode):
        def __init__(self) -> None:
            self.values: list[Any] = []

        def op(self, call: ig.OpCall) -> Any:
            self.values.append(call.operands[0].tolist())
            return call()

    f(X)
    for _ in range(2):
        with Values() as mode:
            f(X)
        assert mode.values == [X.tolist(), ig.exp(X).tolist()]
    assert len(ig.explain(f)["entries"]) == 1


def test_a_mode_within_a_captured_function_is_a_part_of_it() -> None:
    class Doubles(ig.OpMode):
        def op(self, call: ig.OpCall) -> Any:
            return call() * 2 if call.function == "exp" else call()

    @ig.jit
    def f(x: ig.Tensor) -> ig.Tensor:
        with Doubles():
            y = ig.exp(x)
        return y + ig.exp(x)

    for x in (X, X + 1):
        np.testing.assert_array_equal(f(x), ig.exp(x) * 2 + ig.exp(x))
    graph = ig.trace(f, X).graph
    assert str(graph).count("exponential(") == 2


def test_what_is_captured_says_so() -> None:
    flags: dict[str, bool] = {}

    class Flags(ig.OpMode):
        def op(self, call: ig.OpCall) -> Any:
            flags[call.function] = call.captured
            return call()

    with Flags():
        ig.trace(lambda x: ig.exp(x), X)
        ig.tanh(X)
    assert flags == {"exp": True, "tanh": False}


def test_the_tape_holds_what_the_mode_gave() -> None:
    class Straight(ig.OpMode):
        """Rounds, with the gradient of the identity."""

        def op(self, call: ig.OpCall) -> Any:
            if call.name not in ("round", "round_nearest_even"):
                return call()
            (x,) = call.operands
            return x + (call() - x).detach()

    w = ig.asarray([0.4, 1.6], requires_grad=True)
    with Straight(), Log() as log:
        loss = ig.sum(ig.round(w) * ig.asarray([3.0, 5.0]))
        loss.backward()
    assert w.grad.tolist() == [3.0, 5.0]
    assert float(loss.detach()) == 10.0
    seen = len(log.seen)
    loss = ig.sum(w * w)
    with log:
        loss.backward()  # no op that the program calls
    assert len(log.seen) == seen


def test_a_training_step() -> None:
    keys = ig.random.split(ig.random.key(0), 2)
    y = X[:, :1]

    def run(watched: bool) -> Any:
        model = nn.Sequential(nn.Linear(2, 3, key=keys[0]), nn.Tanh(), nn.Linear(3, 1, key=keys[1]))
        optimizer = ig.optim.Adam(model, lr=0.1)

        @ig.jit
        def step() -> ig.Tensor:
            loss, grads = nn.value_and_grad(model, lambda: nn.losses.mse_loss(model(X), y))()
            optimizer.step(grads)
            return loss

        losses = []
        for i in range(3):
            if watched and i == 1:
                with Log():
                    losses.append(float(step()))
            else:
                losses.append(float(step()))
        return losses

    assert run(True) == run(False)


def test_modes_belong_to_their_thread() -> None:
    logs = [Log() for _ in range(3)]
    barrier = threading.Barrier(3)

    def work(i: int) -> None:
        with logs[i]:
            barrier.wait()
            for _ in range(20 * (i + 1)):
                X + X
            barrier.wait()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    X * X
    for thread in threads:
        thread.join()
    assert [log.seen for log in logs] == [["add"] * 20, ["add"] * 40, ["add"] * 60]


def test_a_thread_that_ends_within_a_mode() -> None:
    def work() -> None:
        Log().__enter__()
        X + X

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert names(lambda: X + X) == ["add"]


def test_nothing_is_kept_alive() -> None:
    log = Log()
    alive = weakref.ref(log)
    with log:
        X + X
    del log
    gc.collect()
    assert alive() is None


def test_arrays_of_a_mode_in_a_captured_function_are_read_anew() -> None:
    class Adds(ig.OpMode):
        def __init__(self) -> None:
            self.bias = ig.ones(2)

        def op(self, call: ig.OpCall) -> Any:
            return self.bias if call.function == "exp" else call()

    mode = Adds()

    @ig.jit
    def f(x: ig.Tensor) -> ig.Tensor:
        with mode:
            return ig.exp(x) + x

    assert f(ig.zeros(2)).tolist() == [1.0, 1.0]
    mode.bias = ig.asarray([5.0, 6.0])
    assert f(ig.zeros(2)).tolist() == [5.0, 6.0]


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "modes.py"), run_name="__main__")
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["524,288", "hidden", "=", "self.wide(x)"]
    assert out[-1].startswith("the largest rounding error of one op is ")


# --- what is refused -------------------------------------------------------------------------------------------------


def answers(value: Any, run: Callable[[], Any] = lambda: ig.exp(X)) -> Callable[[], None]:
    class Answers(ig.OpMode):
        def op(self, call: ig.OpCall) -> Any:
            return value(call)

    def go() -> None:
        with Answers():
            run()

    return go


def late() -> None:
    calls: list[ig.OpCall] = []
    answers(lambda call: calls.append(call) or call())()
    calls[0]()


def in_another_thread() -> None:
    errors: list[BaseException] = []

    def work(call: ig.OpCall) -> None:
        try:
            call()
        except ig.Error as error:
            errors.append(error)

    def handle(call: ig.OpCall) -> Any:
        thread = threading.Thread(target=work, args=(call,))
        thread.start()
        thread.join()
        return call()

    answers(handle)()
    assert len(errors) == 1
    raise errors[0]


def crossed() -> None:
    a, b = Log(), Log()
    a.__enter__()
    b.__enter__()
    try:
        a.__exit__()
    finally:
        b.__exit__()
        a.__exit__()


ERRORS: dict[str, Callable[[], Any]] = {
    "no array": answers(lambda call: 3.0),
    "nothing": answers(lambda call: None),
    "two for one": answers(lambda call: (call(), call())),
    "one for two": answers(lambda call: call()[0] if call.name == "eigh" else call(), lambda: ig.linalg.eigh(X)),
    "operands": answers(lambda call: call(X, X)),
    "no operand": answers(lambda call: call("three")),
    "an attribute": answers(lambda call: call(axis=1)),
    "after its end": late,
    "another order": crossed,
    "shapes": answers(lambda call: call(), lambda: X @ ig.ones(3)),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("modes_errors.txt"))
    with pytest.raises(ig.ValueError, match="in another thread"):
        in_another_thread()
    assert names(lambda: X + X) == ["add"]
