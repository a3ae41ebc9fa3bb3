"""How long functions live that graphs call, graphs of them in other processes, and threads."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import intaglio as ig

X = ig.asarray([3.0, 1.0, 2.0])
VECTOR = ig.ShapeDtypeStruct((3,), ig.float32)
NUMBER = ig.ShapeDtypeStruct((), ig.float32)


def like(x: Any) -> Any:
    return ig.ShapeDtypeStruct(x.shape, x.dtype)


class Pair(NamedTuple):
    first: Any
    second: Any


# --- life -------------------------------------------------------------------------------------------------------------


class Host:
    def __call__(self, x: Any) -> Any:
        return x + 1


def keepers(host: Any) -> Iterator[tuple[str, Any]]:
    def f(x: Any) -> Any:
        return ig.pure_callback(host, like(x), x) * 2

    def scanned(x: Any) -> Any:
        return ig.scan(lambda c, _: (f(c), None), x, ig.zeros(2))[0].sum()

    jitted = ig.jit(f)
    jitted(X)
    yield "jit", jitted
    traced = ig.trace(f, X)
    yield "graph", traced.graph
    yield "program", traced.graph.compile()
    yield "parsed", ig.Graph.parse(str(traced.graph))
    yield "bytes", ig.Graph.from_binary(traced.graph.to_binary())
    vmapped = ig.jit(ig.vmap(lambda x: ig.pure_callback(host, like(x), x, vmap_method="sequential")))
    vmapped(ig.stack([X, X]))
    yield "vmap", vmapped
    effect = ig.jit(lambda x: ig.io_callback(host, like(x), x))
    effect(X)
    yield "effect", effect
    scan = ig.jit(scanned)
    scan(X)
    yield "scan", scan


def test_a_function_lives_as_long_as_a_graph_that_names_it() -> None:
    for i, (name, _) in enumerate(keepers(Host())):
        host = Host()
        alive = weakref.ref(host)
        keeper = next(one for k, (_, one) in enumerate(keepers(host)) if k == i)
        del host
        gc.collect()
        assert alive() is not None, name
        del keeper
        gc.collect()
        assert alive() is None, name


def test_eager_calls_and_vmap_keep_nothing() -> None:
    host: Any = Host()
    alive = weakref.ref(host)
    for _ in range(3):
        ig.pure_callback(host, VECTOR, X)
        ig.io_callback(host, VECTOR, X)
        ig.vmap(lambda x: ig.pure_callback(host, like(x), x, vmap_method="sequential"))(ig.stack([X, X]))
        ig.scan(lambda c, _: (ig.pure_callback(host, like(c), c), None), X, ig.zeros(2))
    host = None
    gc.collect()
    assert alive() is None


def test_the_tape_keeps_what_its_way_back_calls() -> None:
    host: Any = Host()
    alive = weakref.ref(host)

    @ig.custom_vjp
    def f(x: Any) -> Any:
        return x * 1

    def backward(x: Any, g: Any, host: Any = host) -> Any:
        return (g * ig.pure_callback(host, like(x), x),)

    f.defvjp(lambda x: (f(x), x), backward)
    jitted = ig.jit(lambda x: f(x).sum())
    for _ in range(2):
        x = ig.asarray([3.0, 1.0, 2.0], requires_grad=True)
        y = jitted(x)
    y.backward()
    assert x.grad.tolist() == [4.0, 2.0, 3.0]
    x = ig.asarray([3.0, 1.0, 2.0], requires_grad=True)
    y = jitted(x)
    jitted = f = backward = host = None
    gc.collect()
    assert alive() is not None
    y.backward()
    assert x.grad.tolist() == [4.0, 2.0, 3.0]
    x = y = None
    gc.collect()
    assert alive() is None


def test_the_tape_keeps_no_effect() -> None:
    host: Any = Host()
    alive = weakref.ref(host)

    def f(x: Any) -> Any:
        ig.debug.callback(host, x)
        return (x * x + ig.io_callback(host, like(x), ig.stop_gradient(x))).sum()

    jitted = ig.jit(f)
    for function in (f, jitted, jitted):
        x = ig.asarray([3.0, 1.0, 2.0], requires_grad=True)
        function(x).backward()
        assert x.grad.tolist() == [6.0, 2.0, 4.0]
    f = function = jitted = host = x = None
    gc.collect()
    assert alive() is None


def test_an_object_with_a_state_of_its_own_is_traced_once() -> None:
    class Source:
        def __init__(self) -> None:
            self.given = 0

        def __call__(self) -> Any:
            self.given += 1
            return np.float32(self.given)

    source = Source()
    f = ig.jit(lambda x: x + ig.io_callback(source, NUMBER))
    assert [float(f(ig.asarray(0.0))) for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert len(ig.explain(f)["entries"]) == 1


def test_two_functions_of_one_name_are_two() -> None:
    def made(k: int) -> Any:
        return lambda x: x + np.float32(k)

    def calling(f: Any) -> Any:
        return lambda x: ig.pure_callback(f, like(x), x)

    functions = [calling(made(k)) for k in range(3)]
    jitted = [ig.jit(f) for f in functions]
    assert [float(f(X)[0]) for f in jitted] == [3.0, 4.0, 5.0]
    assert len({str(ig.trace(f, X).graph) for f in functions}) == 3


def test_an_equal_call_of_one_function_is_the_same_text() -> None:
    def f(x: Any) -> Any:
        return ig.pure_callback(np.sort, like(x), x)

    first = ig.trace(f, X)
    assert str(first.graph) == str(ig.trace(f, X).graph)


# --- other processes --------------------------------------------------------------------------------------------------


def run_elsewhere(graph: str, lines: str) -> str:
    program = textwrap.dedent(
        """
        import sys
        import numpy as np
        import intaglio as ig
        graph = ig.Graph.parse(sys.stdin.read())
        def call():
            try:
                print([leaf.tolist() for leaf in ig.tree_leaves(graph(ig.asarray([3.0, 1.0])))])
            except ig.Error as error:
                print(type(error).__name__, error.what, error.why, error.hint, sep=" | ")
        """
    ) + textwrap.dedent(lines)
    done = subprocess.run([sys.executable, "-c", program], input=graph, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_stored_graph_asks_for_its_functions() -> None:
    def ratio(pair: Any, *, scale: Any) -> Any:
        return {"ratio": pair[0] / pair[1] * scale}

    ig.register_host_function("test_callbacks.ratio", ratio)

    def f(x: Any) -> Any:
        return ig.pure_callback(ratio, {"ratio": NUMBER}, (x[0], x[1]), scale=x[0])

    text = str(ig.trace(f, ig.ones(2)).graph)
    assert re.search(r'function = "test_callbacks.ratio".*structure = "\[', text)
    assert run_elsewhere(text, "call()").strip() == (
        "ValueError | the host function 'test_callbacks.ratio' is not there | the graph names it and does not hold it: "
        "it was read from text or from a file, and this process has registered no function of that name | register it "
        'before the run: register_host_function("test_callbacks.ratio", f)'
    )
    lines = """
    def ratio(pair, *, scale):
        return {"ratio": pair[0] / pair[1] * scale}
    ig.register_host_function("test_callbacks.ratio", ratio)
    call()
    ig.register_host_function("test_callbacks.ratio", lambda pair, scale: {"ratio": np.float32(7)})
    call()
    """
    assert run_elsewhere(text, lines) == "[9.0]\n[7.0]\n"


def test_a_graph_of_unregistered_functions_is_refused_elsewhere() -> None:
    text = str(ig.trace(lambda x: ig.pure_callback(lambda v: v, like(x), x), ig.ones(2)).graph)
    out = run_elsewhere(text, "call()")
    assert re.fullmatch(
        r"ValueError \| the host function '<lambda>@[0-9a-f]+\.\d+' is not there \| the graph names it and does not "
        r"hold it: it was read from text or from a file, and this process has registered no function of that name \| "
        r"register the function under a name of its own before the graph is captured, and here under the same one, "
        r"with register_host_function\(name, f\)\n",
        out,
    )


def test_containers_that_text_cannot_say_stay_in_the_process() -> None:
    def host(pair: Pair) -> Any:
        return pair.first

    ig.register_host_function("test_callbacks.pair", host)
    text = str(ig.trace(lambda x: ig.pure_callback(host, like(x), Pair(x, x)), ig.ones(2)).graph)
    assert ig.Graph.parse(text)(ig.ones(2)).tolist() == [1.0, 1.0]
    out = run_elsewhere(text, 'ig.register_host_function("test_callbacks.pair", lambda pair: pair)\ncall()')
    assert "has arguments in containers that the graph's text cannot say" in out


# --- threads ----------------------------------------------------------------------------------------------------------


def test_many_threads_and_calls_within_calls() -> None:
    inner = ig.jit(lambda x: ig.sin(x) * 2)

    def host(x: Any) -> Any:
        return np.asarray(inner(ig.asarray(x))) + np.asarray(ig.pure_callback(np.cos, like(x), ig.asarray(x)))

    big = ig.linspace(0, 1, 100_000)
    want = np.asarray(inner(big)) + np.cos(np.asarray(big)) + np.exp(np.asarray(big))
    f = ig.jit(lambda x: ig.pure_callback(host, like(x), x) + ig.exp(x))
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(10):
            if not np.allclose(np.asarray(f(big)), want, atol=1e-5):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive()
    assert not wrong


def test_a_callback_may_wait_for_another_thread_in_the_same_function() -> None:
    met = threading.Barrier(2, timeout=60)

    def host(x: Any) -> Any:
        met.wait()
        return x

    f = ig.jit(lambda x: ig.pure_callback(host, like(x), x) + 1)
    out: list[Any] = []
    threads = [threading.Thread(target=lambda: out.append(f(X).tolist())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=180)
        assert not thread.is_alive()
    assert out == [[4.0, 2.0, 3.0]] * 2


def test_a_function_may_call_itself_through_a_callback() -> None:
    def host(n: Any) -> Any:
        return np.int64(1) if n <= 1 else np.int64(int(n) * int(factorial(ig.asarray(int(n) - 1))))

    factorial = ig.jit(lambda n: ig.pure_callback(host, like(n), n))
    assert int(factorial(ig.asarray(10))) == 3628800


def test_a_callback_may_call_its_function_for_other_shapes() -> None:
    def count(x: Any) -> Any:
        return np.float32(0 if x.size == 0 else 1 + float(f(ig.asarray(x[1:]))))

    f = ig.jit(lambda x: ig.pure_callback(count, NUMBER, x))
    assert float(f(X)) == 3.0
