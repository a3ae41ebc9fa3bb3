"""`eval_shape`, `vectorize`, `associative_scan`, loops that are unrolled or batched, and policies of `checkpoint`."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusal

import intaglio as ig

RNG = np.random.default_rng(5)


def f64(*shape: int) -> ig.Tensor:
    return ig.asarray(RNG.normal(size=shape))


def close(have: Any, want: Any) -> None:
    np.testing.assert_allclose(np.asarray(have), np.asarray(want), rtol=1e-10, atol=1e-10)


def ops_of(graph: Any) -> list[str]:
    return [node["op"] for node in graph.nodes]


# --- eval_shape ----------------------------------------------------------------------------------------------------


def test_shapes_without_values() -> None:
    struct = ig.ShapeDtypeStruct

    def f(p: Any, scale: float) -> Any:
        return {"y": p["w"] @ p["x"] * scale, "n": 3, "i": ig.argmax(p["x"])}

    have = ig.eval_shape(f, {"w": struct((5, 2), ig.float32), "x": ig.ones(2)}, 2.0)
    assert have == {
        "y": struct((5,), ig.float32),
        "n": struct((), ig.int64),
        "i": struct((), ig.int64),
    }
    assert ig.eval_shape(ig.grad(lambda x: ig.sum(x * x)), struct((10**6, 10**6), "float64")).size == 10**12
    assert ig.eval_shape(ig.vmap(lambda x: x[:2]), struct((7, 3), ig.int8)) == struct((7, 2), ig.int8)
    assert repr(struct((2,), ig.float16)) == "ShapeDtypeStruct(shape=(2,), dtype=float16)"
    assert struct((2, 3), ig.float16).ndim == 2
    assert len({struct((2,), "float32"), struct((2,), ig.float32), struct((3,), ig.float32)}) == 2


def test_graphs_of_arrays_that_are_not_there() -> None:
    struct, n = ig.ShapeDtypeStruct, ig.Dim("n", 1, 64)
    w = ig.ones((4, 2))
    traced = ig.trace(lambda d, k: d["x"] @ d["w"] * k, {"x": struct((n, 4), ig.float32), "w": w}, 3.0)
    like = ig.trace(lambda d, k: d["x"] @ d["w"] * k, {"x": ig.ones((5, 4)), "w": w}, 3.0)
    assert traced.graph.refined({"n": 5}).str() == like.graph.str()
    assert np.array_equal(traced({"x": ig.ones((3, 4)), "w": w}, 3.0), np.full((3, 2), 12, "float32"))
    both = ig.trace(lambda x, y: x + y[::2], struct((n,), "int64"), struct((n * 2,), "int64")).graph
    assert "where n in [1, 64] {" in both.str()
    assert "%y: i64[2*n]" in both.str()
    assert ig.trace(lambda x: x + 1, struct((0, 3), ig.float32))(ig.ones((0, 3))).shape == (0, 3)
    with pytest.raises(ig.ShapeError, match=r"the shape \(-1, 3\) has a negative size\n  at: "):
        struct((-1, 3), ig.float32)
    with pytest.raises(ig.TypeError, match=r"a shape must be .* not \(2\.5,\)\n  at: "):
        struct((2.5,), ig.float32)


# --- vectorize -----------------------------------------------------------------------------------------------------


def test_vectorize_broadcasts_as_numpy() -> None:
    def product(m: Any, v: Any) -> Any:
        assert (len(m.shape), len(v.shape)) == (2, 1)
        return m @ v

    have = ig.vectorize(product, signature="(m,n),(n)->(m)")
    for left, right in (
        ((3, 4), (4,)),
        ((5, 3, 4), (4,)),
        ((1, 3, 4), (5, 4)),
        ((2, 1, 3, 4), (5, 4)),
        ((3, 4), (2, 5, 4)),
    ):
        a, b = f64(*left), f64(*right)
        want = np.vectorize(lambda m, v: m @ v, signature="(m,n),(n)->(m)")(np.asarray(a), np.asarray(b))
        close(have(a, b), want)
        close(ig.jit(have)(a, b), want)
    x, y = f64(3, 1), f64(4)
    close(
        ig.vectorize(lambda a, b: ig.cond(a > b, lambda: a, lambda: b))(x, y), np.maximum(np.asarray(x), np.asarray(y))
    )
    two = ig.vectorize(lambda v: (ig.sum(v), v[::-1]), signature="(n)->(),(n)")(f64(6, 3))
    assert [part.shape for part in two] == [(6,), (6, 3)]
    power = ig.vectorize(lambda x, how, k=1: x * k if how == "plain" else x**k, excluded={1})
    close(power(y, "plain", k=3), 3 * np.asarray(y))
    gradient = ig.vectorize(ig.grad(lambda v: ig.sum(v**3)), signature="(n)->(n)")
    z = f64(2, 3, 4)
    close(gradient(z), 3 * np.asarray(z) ** 2)


# --- associative_scan ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 8, 13])
def test_prefixes(size: int) -> None:
    x = f64(2, size)
    close(ig.associative_scan(ig.add, x, axis=1), np.cumsum(np.asarray(x), axis=1))
    back = np.cumsum(np.asarray(x)[:, ::-1], axis=1)[:, ::-1]
    close(ig.associative_scan(ig.add, x, reverse=True, axis=-1), back)
    close(ig.jit(lambda x: ig.associative_scan(ig.maximum, x, axis=1))(x), np.maximum.accumulate(np.asarray(x), axis=1))


def test_a_recurrence_by_prefixes() -> None:
    """h[t] = a[t] h[t-1] + b[t]: not commutative, on a tree, differentiated and batched."""

    def fold(left: Any, right: Any) -> Any:
        return {"a": left["a"] * right["a"], "b": left["b"] * right["a"] + right["b"]}

    def by_prefixes(a: Any, b: Any) -> Any:
        return ig.associative_scan(fold, {"a": a, "b": b})["b"]

    def by_steps(a: Any, b: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = x[0] * h + x[1]
            return h, h

        return ig.scan(step, ig.asarray(0.0, dtype=ig.float64), (a, b))[1]

    a, b = f64(11), f64(11)
    close(by_prefixes(a, b), by_steps(a, b))
    weight = f64(11)
    for k in range(2):
        have, want = (
            ig.grad(lambda a, b, f=f: ig.sum(f(a, b) * weight), argnums=k)(a, b)  # type: ignore[misc]
            for f in (by_prefixes, by_steps)
        )
        close(have, want)
    many = f64(3, 11)
    close(ig.vmap(by_prefixes, in_axes=(0, None))(many, b), ig.vmap(by_steps, in_axes=(0, None))(many, b))

    def suffix(left: Any, right: Any) -> Any:  # keeps the order of its operands under reverse
        return {"a": left["a"] * right["a"], "b": left["a"] * right["b"] + left["b"]}

    turned = ig.associative_scan(suffix, {"a": a, "b": b}, reverse=True)["b"]
    close(turned, np.asarray(by_steps(a[::-1], b[::-1]))[::-1])


# --- loops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, 7, 20, True, False])
def test_unrolled_scans_are_the_scan(unroll: Any, reverse: bool) -> None:
    def step(carry: Any, x: Any) -> Any:
        carry = ig.sin(carry * x["a"]) + 1
        return carry, {"y": carry * 2, "x": x["a"]}

    xs, init = {"a": f64(7)}, ig.asarray(0.3, dtype=ig.float64)

    def f(init: Any, xs: Any) -> Any:
        return ig.scan(step, init, xs, reverse=reverse, unroll=unroll)

    want = ig.scan(step, init, xs, reverse=reverse)
    traced = ig.trace(f, init, xs)
    for have in (f(init, xs), traced(init, xs)):
        for a, b in zip(ig.tree_flatten(have)[0], ig.tree_flatten(want)[0], strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    loops = ops_of(traced.graph).count("scan")
    assert loops == (0 if unroll in (7, 20) or unroll is True else 1)
    gradient = ig.jit(ig.grad(lambda init, xs: f(init, xs)[0]))(init, xs)
    close(gradient, ig.grad(lambda init, xs: ig.scan(step, init, xs, reverse=reverse)[0])(init, xs))


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 10])
def test_map_in_batches(batch_size: int) -> None:
    x = f64(7, 3)

    def f(row: Any) -> Any:
        return {"s": ig.sum(row), "r": row * 2}

    want = ig.map(f, x)
    for have in (ig.map(f, x, batch_size=batch_size), ig.jit(lambda x: ig.map(f, x, batch_size=batch_size))(x)):
        close(have["s"], want["s"])
        close(have["r"], want["r"])
    assert ig.map(f, x[:0], batch_size=2)["r"].shape == (0, 3)
    close(ig.grad(lambda x: ig.sum(ig.map(lambda r: ig.sum(r**2), x, batch_size=batch_size)))(x), 2 * np.asarray(x))


# --- policies of checkpoint ----------------------------------------------------------------------------------------

W = ig.asarray(RNG.normal(size=(3, 3)).astype(np.float32))


def block(x: Any) -> Any:
    a = ig.checkpoint_name(ig.sin(W @ x), name="a")
    b = ig.checkpoint_name(ig.exp(a), name="b")
    return ig.sum(ig.cos(b) * a)


POLICIES = ig.checkpoint_policies
KEPT: dict[str, tuple[Any, list[str]]] = {
    "none": (None, []),
    "nothing": (POLICIES.nothing_saveable, []),
    "dots": (POLICIES.dots_saveable, ["dot_general"]),
    "dots without batch": (POLICIES.dots_with_no_batch_dims_saveable, ["dot_general"]),
    "one name": (POLICIES.save_only_these_names("b"), ["checkpoint_name"]),
    "two names": (POLICIES.save_only_these_names("a", "b"), ["checkpoint_name", "checkpoint_name"]),
    "no such name": (POLICIES.save_only_these_names("c"), []),
}


@pytest.mark.parametrize("name", KEPT)
def test_policies(name: str) -> None:
    policy, ops = KEPT[name]
    f = ig.checkpoint(block, policy=policy)
    x = ig.asarray([0.5, -1.0, 2.0])
    want = np.asarray(ig.grad(block)(x))
    np.testing.assert_array_equal(np.asarray(ig.grad(f)(x)), want)
    np.testing.assert_array_equal(np.asarray(ig.jit(ig.grad(f))(x)), want)
    np.testing.assert_array_equal(np.asarray(ig.vmap(ig.grad(f))(ig.stack([x, x]))[1]), want)
    np.testing.assert_allclose(np.asarray(ig.hessian(f)(x)), np.asarray(ig.hessian(block)(x)), rtol=1e-4, atol=1e-4)
    graph = ig.Graph.parse(str(ig.trace(f, x).graph))
    np.testing.assert_array_equal(np.asarray(ig.grad(lambda v: graph(v, W))(x)), want)
    kept = [each for each in ig.saved_residuals(f, x) if not each.source.startswith("argument")]
    assert len(kept) == len(ops)
    assert all(each.bytes == 12 and each.shape == (3,) and each.dtype == ig.float32 for each in kept)
    known = ig._intaglio._graph_vjp(ig.trace(f, x).graph, [True, False], [True])[0]
    (region,) = (node for node in known.nodes if node["op"] == "checkpoint")
    made = {result["key"]: node["op"] for node in region["regions"][0] for result in node["results"]}
    assert sorted(op for op in made.values() if op in set(ops)) >= sorted(ops)


def test_all_but_a_name_and_everything() -> None:
    x = ig.asarray([0.5, -1.0, 2.0])
    want = np.asarray(ig.grad(block)(x))

    def recomputed(policy: Any) -> list[str]:
        f = ig.checkpoint(block, policy=policy)
        np.testing.assert_array_equal(np.asarray(ig.grad(f)(x)), want)
        linear = ig._intaglio._graph_vjp(ig.trace(f, x).graph, [True, False], [True])[1]
        (node,) = (node for node in linear.nodes if node["op"] == "checkpoint")
        return [inner["op"] for inner in node["regions"][0]]

    # The derivative of the cosine is a sine too.
    nothing, everything = recomputed(POLICIES.nothing_saveable), recomputed(POLICIES.everything_saveable)
    assert [nothing.count(op) for op in ("dot_general", "sine", "exponential")] == [2, 2, 1]
    assert [everything.count(op) for op in ("dot_general", "sine", "exponential")] == [1, 1, 0]
    all_but = recomputed(POLICIES.save_anything_except_these_names("a"))
    assert [all_but.count(op) for op in ("dot_general", "sine", "exponential")] == [1, 2, 0]
    assert repr(POLICIES.save_only_these_names("a", "b")) == "<policy names:a,b>"


def test_what_is_kept_is_reported() -> None:
    def f(w: Any, x: Any, y: Any) -> Any:
        return ig.sin(w @ x) * y

    # Sine and cosine are computed again from the product, which is not.
    kept = ig.saved_residuals(f, ig.ones((3, 2)), ig.ones((2, 3)), ig.ones((3, 3)))
    assert sorted((each.bytes, each.source.split(" at ")[0]) for each in kept) == [
        (24, "argument w"),
        (24, "argument x"),
        (36, "argument y"),
        (36, "dot_general"),
    ]
    assert all("test_functional.py" in each.source for each in kept if " at " in each.source)


# --- errors --------------------------------------------------------------------------------------------------------

X = ig.ones(4)
ERRORS: dict[str, tuple[Any, type[Exception], str, str, str]] = {
    "eval_shape of a string": (
        lambda: ig.eval_shape(lambda x: {"a": "text"}, X),
        ig.TypeError,
        "eval_shape: the result['a'] is a str, which is no array",
        "only arrays and numbers have a shape and a dtype",
        "return arrays and numbers, in any tree of containers",
    ),
    "unroll of zero": (
        lambda: ig.scan(lambda c, x: (c, x), 0.0, X, unroll=0),
        ig.ValueError,
        "scan: unroll is 0, but is a number of steps",
        "each turn of the loop writes out so many steps",
        "give an integer from 1 on, or True for all steps",
    ),
    "batch of nothing": (
        lambda: ig.map(lambda x: x, X, batch_size=0),
        ig.ValueError,
        "map: batch_size is 0, but is a number of slices",
        "so many slices are done together",
        "give an integer from 1 on, or None to do one after the other",
    ),
    "batches of two sizes": (
        lambda: ig.map(lambda x: x[0], (X, X[1:]), batch_size=2),
        ig.ShapeError,
        "map: the first sizes of xs are 4, 3, but one fixed size is cut into batches",
        "all arrays are cut along their first axis, at the same places",
        "give arrays with one first size; with a symbolic size leave batch_size out",
    ),
    "signature": (
        lambda: ig.vectorize(lambda x: x, signature="(n)->"),
        ig.ValueError,
        "vectorize: '(n)->' is no signature",
        "it names the core axes of each argument and of each result",
        "write it as NumPy does: '(m,n),(n)->(m)'",
    ),
    "core axes": (
        lambda: ig.vectorize(lambda x, y: x @ y, signature="(n),(n)->()")(X, X[1:]),
        ig.ShapeError,
        "vectorize: the core axis n is 4 in argument 0, and 3 in argument 1",
        "axes of one name have one size; the signature is '(n),(n)->()'",
        "core axes are not broadcast: give arrays of that size",
    ),
    "too few axes": (
        lambda: ig.vectorize(lambda x: x, signature="(m,n)->(m)")(X),
        ig.ShapeError,
        "vectorize: argument 0 is float32[4], but has the core axes (m, n)",
        "the signature is '(m,n)->(m)'",
        "give it the axes that the signature names",
    ),
    "axes in front": (
        lambda: ig.vectorize(lambda x, y: x + y)(X, ig.ones((2, 3))),
        ig.ShapeError,
        "vectorize: the axes in front do not broadcast: (4,), (2, 3)",
        "aligned at the end they have the sizes 4, 3 in one place",
        "sizes must be equal, or 1",
    ),
    "axis of a prefix": (
        lambda: ig.associative_scan(ig.add, X, axis=1),
        ig.IndexError,
        "associative_scan: axis 1 of elems (float32[4]) is out of range",
        "it has 1 axis",
        "name an axis that all arrays have",
    ),
    "sizes of prefixes": (
        lambda: ig.associative_scan(lambda a, b: a, (X, X[1:])),
        ig.ShapeError,
        "associative_scan: the sizes along the axis differ: 4 and 3",
        "one element of each array is folded at a time",
        "all arrays of elems have one size there",
    ),
    "policy": (
        lambda: ig.checkpoint(lambda x: x, policy="dots"),
        ig.TypeError,
        "checkpoint: policy is a str, which is no policy",
        "it says which values are kept for the backward pass",
        "use one of ig.checkpoint_policies, such as dots_saveable",
    ),
    "name of a policy": (
        lambda: ig.checkpoint_policies.save_only_these_names("a,b"),
        ig.ValueError,
        "checkpoint_policies: 'a,b' is no name",
        "names are those of ig.checkpoint_name: text without commas",
        'write ig.checkpoint_policies.save_only_these_names("a", "b")',
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    run, kind, what, why, hint = ERRORS[name]
    assert refusal(run, __file__) == f"{kind.__name__}: {what}\n  why: {why}\n  hint: {hint}"


def test_errors_that_name_the_function() -> None:
    def both(a: Any, b: Any) -> Any:
        return ig.astype(a + b, ig.float64)

    assert refusal(lambda: ig.associative_scan(both, X), __file__) == (
        "TypeError: associative_scan: elems comes in as float32[2], and the function gives float64[2]\n"
        "  why: its results are folded again; the function is both (FILE)\n"
        "  hint: start with that type, or convert in the function (ig.astype, ig.broadcast_to)"
    )
    assert refusal(lambda: ig.associative_scan(lambda a, b: (a, b), X), __file__) == (
        "TypeError: associative_scan: elems comes in as TreeDef(*), and the function gives TreeDef((*, *))\n"
        "  why: its results are folded again; the function is <lambda> (FILE)\n"
        "  hint: return the structure that it came with"
    )
    with pytest.raises(ig.ShapeError) as caught:
        ig.vectorize(lambda x: x, signature="(n)->()")(X)
    assert caught.value.what == "vectorize: result 0 has the shape (4,), but the signature '(n)->()' has () there"
    with pytest.raises(ig.TypeError) as caught:
        ig.vectorize(lambda x: (x, x), signature="(n)->(n)")(X)
    assert caught.value.what == "vectorize: the function gives 2 results, but the signature '(n)->(n)' has 1"
    with pytest.raises(ig.TypeError) as caught:
        ig.vectorize(lambda x, y: x, signature="(n)->(n)")(X, X)
    assert caught.value.what == "vectorize: the signature '(n)->(n)' has 1 arguments, but 2 were given"


def test_the_examples_of_the_docstrings() -> None:
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for name in (
        "eval_shape",
        "vectorize",
        "associative_scan",
        "checkpoint_policies",
        "saved_residuals",
        "scan",
        "map",
    ):
        for example in finder.find(getattr(ig, name), name, globs={"ig": ig}):
            assert runner.run(example).failed == 0


# --- keys that are used twice --------------------------------------------------------------------------------------


def drawn_twice(key: Any) -> Any:
    return ig.random.normal(key, (2,)) + ig.random.uniform(key, (2,))


def line_of(text: str) -> str:
    """The one line of this file that holds the text, as errors name it."""
    lines = Path(__file__).read_text(encoding="utf-8").split("\n")
    (number,) = (i for i, line in enumerate(lines, 1) if text in line and "line_of" not in line)
    return f"{__file__}:{number}"


def test_a_key_that_is_used_twice() -> None:
    for run in (drawn_twice, lambda key: ig.jit(drawn_twice)(key), lambda key: ig.trace(drawn_twice, key)):
        run(ig.random.key(3))  # nobody asked
        with ig.random.check_reuse(), pytest.raises(ig.ValueError) as caught:
            run(ig.random.key(3))
        where = line_of("return ig.random.normal(key, (2,)) + ig.random.uniform(key, (2,))")
        text = str(caught.value)
        assert text.startswith(f"uniform: the key was used before, by normal\n  at: {where}")
        assert (
            "\n  why: the same key gives the same bits, so what is drawn is not independent; it was used at "
            f"{where} in drawn_twice" in text
        )
        assert text.endswith("\n  hint: make new keys first: key, own = ig.random.split(key)")


def test_what_is_no_reuse_of_a_key() -> None:
    random = ig.random
    with random.check_reuse():
        key, own = random.split(random.key(1))
        random.choice(own, 10, (3,), replace=False)
        for step in range(3):
            random.categorical(random.fold_in(key, step), ig.zeros(4))
        with random.check_reuse():
            random.truncated_normal(key, -1.0, 1.0)  # its own list
        random.bits(key)
        for use in (random.split, random.bernoulli, lambda key: random.permutation(key, 3)):
            with pytest.raises(ig.ValueError, match="the key was used before, by"):
                use(key)  # type: ignore[operator]
        with pytest.raises(ig.ValueError, match="randint: the key was used before, by split"):
            random.randint(random.key(1), (), 0, 5)  # the same bits, made anew
    random.bits(key)
    random.bits(key)
