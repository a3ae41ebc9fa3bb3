"""`fast_math`: what each flag changes and leaves, that it is told, and that nothing of it leaves its function."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig

FLAGS = ["contract", "finite", "reciprocal", "flush_denormals"]
# Targets whose code multiplies and adds in one instruction.
FUSES = os.environ.get("INTAGLIO_TARGET") != "x86-64-v2"


def compiled(f: Any, *args: Any, **options: Any) -> Any:
    return ig.jit(f, **options).lower(*args).compile()(*args)


def bits(x: Any) -> bytes:
    return np.asarray(x).tobytes()


def normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> ig.Tensor:
    return ig.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def body(x: Any, y: Any, c: Any) -> Any:
    return ig.maximum(x * y + c, x / c), ig.max(x * y - x, axis=-1), x / 7.0


def ulps(a: Any, b: Any) -> float:
    a, b = np.asarray(a, np.float64), np.asarray(b)
    return float(np.max(np.abs(a - b.astype(np.float64)) / np.spacing(np.abs(b)).astype(np.float64), initial=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_contract_rounds_once(dtype: Any) -> None:
    x, y, z = (normal(1000, seed=i, dtype=dtype) for i in range(3))
    f = lambda x, y, z: (x * y + z, x * y - z, z - x * y)  # noqa: E731
    got = compiled(f, x, y, z, fast_math="contract")
    a, b, c = (np.asarray(v, np.longdouble) for v in (x, y, z))
    for one, exact in zip(got, (a * b + c, a * b - c, c - a * b), strict=True):
        want = exact.astype(dtype)  # one rounding, where the wider type holds the product
        if dtype == np.float32:
            assert (np.asarray(one) == want).mean() > (0.999 if FUSES else 0.5)
        else:
            assert (np.asarray(one) == want).mean() > (0.95 if FUSES else 0.5)
    assert any(bits(g) != bits(w) for g, w in zip(got, f(x, y, z), strict=True)) == FUSES


def test_contract_fuses_sums_of_products() -> None:
    x, y = normal(8, 1000), normal(8, 1000, seed=1)
    f = lambda x, y: ig.sum(x * y, axis=1)  # noqa: E731
    got, want = compiled(f, x, y, fast_math=["contract"]), compiled(f, x, y)
    exact = np.sum(np.asarray(x, np.float64) * np.asarray(y, np.float64), axis=1)
    assert (bits(got) != bits(want)) == FUSES
    np.testing.assert_allclose(np.asarray(got), exact, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reciprocal_is_within_two_units(dtype: Any) -> None:
    x = normal(64, 300, dtype=dtype)
    rows = ig.abs(normal(64, 1, seed=1, dtype=dtype)) + 0.1
    for f in (
        lambda x, c: x / 3.0,
        lambda x, c: x / c,
        lambda x, c: x / ig.sum(ig.abs(x), axis=1, keepdims=True),
        lambda x, c: x / c[0, 0],
        lambda x, c: x / np.arange(1, 301, dtype=dtype),
    ):
        # Arrays from outside are constants.
        got, want = (compiled(f, x, rows, fast_math=flags, lift=False) for flags in ("reciprocal", False))
        assert bits(got) != bits(want)
        assert ulps(got, want) <= 2


def test_reciprocal_leaves_what_it_would_spoil() -> None:
    x, y = normal(16, 16), normal(16, 16, seed=1) + 9.0
    halves = ig.astype(x, "float16")
    whole = ig.astype(x * 100, "int32")
    for f, args in (
        (lambda x, y: x / y, (x, y)),
        (lambda x: x / 3.0, (halves,)),
        (lambda x: x // 7, (whole,)),
        (lambda x: x / 1e38, (x * 1e30,)),
        (lambda x: x / 1e-40, (x * 1e-30,)),
        (lambda x: x / 8.0, (x,)),
    ):
        assert bits(compiled(f, *args, fast_math="reciprocal")) == bits(compiled(f, *args))


def test_finite_is_the_same_for_numbers() -> None:
    x, y = normal(33, 77), normal(33, 77, seed=1)
    f = lambda x, y: (ig.maximum(x, y), ig.minimum(x, 0.5), ig.max(x, axis=1), ig.min(x, axis=0), ig.relu(y))  # noqa: E731
    for got, want in zip(compiled(f, x, y, fast_math="finite"), f(x, y), strict=True):
        assert bits(got) == bits(want)
    # Infinities are no danger to an order.
    x = ig.asarray(np.array([[1, -np.inf, 3], [-np.inf] * 3, [np.inf, 0, 1]], np.float32))
    np.testing.assert_array_equal(compiled(lambda x: ig.max(x, axis=1), x, fast_math="finite"), [3, -np.inf, np.inf])


@pytest.mark.parametrize("flags", [False, "contract", "reciprocal", ("contract", "reciprocal")])
def test_nan_goes_through_without_finite(flags: Any) -> None:
    x = np.ones((4, 50), np.float32)
    x[1, 7] = x[2, 49] = np.nan
    largest, least, both = compiled(
        lambda x: (ig.max(x, axis=1), ig.min(x, axis=1), ig.maximum(x, 0.0)), ig.asarray(x), fast_math=flags
    )
    for one in (largest, least):
        np.testing.assert_array_equal(np.isnan(np.asarray(one)), [False, True, True, False])
    np.testing.assert_array_equal(np.isnan(np.asarray(both)), np.isnan(x))
    zeros = ig.asarray(np.array([0.0, -0.0], np.float32))
    assert bits(compiled(lambda x: ig.maximum(x, -x), zeros, fast_math=flags)) == bits(np.zeros(2, np.float32))


def test_whole_numbers_are_as_ever() -> None:
    x = ig.arange(100, dtype="int32").reshape((10, 10))
    f = lambda x: (x * x + x, ig.max(x, axis=1), ig.maximum(x, 3), x // 7, x % 3)  # noqa: E731
    for got, want in zip(compiled(f, x, fast_math=True), f(x), strict=True):
        assert bits(got) == bits(want)


def test_empty_arrays() -> None:
    x = ig.zeros((0, 5))
    a, b, c = compiled(lambda x: (x * x + 1.0, x / 3.0, ig.sum(x / 3.0, axis=0)), x, fast_math=True)
    assert a.shape == b.shape == (0, 5)
    np.testing.assert_array_equal(c, np.zeros(5))


@pytest.mark.parametrize("first", [True, False])
def test_it_does_not_leak(first: bool) -> None:
    x, y, c = normal(40, 60), normal(40, 60, seed=1), ig.asarray(np.float32(0.3))
    before = [bits(r) for r in body(x, y, c)]
    order = [True, False] if first else [False, True]
    made = {flags: [bits(r) for r in compiled(body, x, y, c, fast_math=flags)] for flags in order}
    assert made[False] == before
    assert made[True] != before
    assert [bits(r) for r in body(x, y, c)] == before
    assert [bits(r) for r in compiled(body, x, y, c)] == before
    assert [bits(r) for r in compiled(body, x, y, c, fast_math=True)] == made[True]


PROCESS = """
import sys, hashlib
import numpy as np, intaglio as ig
rng = np.random.default_rng(0)
x, y = (ig.asarray(rng.standard_normal((40, 61)).astype(np.float32)) for _ in range(2))
def f(x, y, c):
    return ig.maximum(x * y + c, x / c), ig.max(x * y - x, axis=-1), x / 7.0
for flags in sys.argv[1].split():
    g = ig.jit(f, fast_math=flags == "fast").lower(x, y, 0.3).compile()
    print(flags, hashlib.sha1(b"".join(np.asarray(r).tobytes() for r in g(x, y, 0.3))).hexdigest())
"""


def test_it_does_not_leak_through_the_cache(tmp_path: Path) -> None:
    def process(order: str, cache: str) -> dict[str, str]:
        own = {**os.environ, "INTAGLIO_CACHE": cache, "INTAGLIO_CACHE_DIR": str(tmp_path / "cache")}
        run = subprocess.run(
            [sys.executable, "-c", PROCESS, order], env=own, capture_output=True, text=True, check=True
        )
        return dict(line.split() for line in run.stdout.splitlines())

    want = process("plain", "0") | process("fast", "0")
    assert want["plain"] != want["fast"]
    for order in ("fast plain", "plain fast", "fast", "plain"):
        got = process(order, "1")
        assert got == {name: want[name] for name in got}


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v2"])
def test_targets(target: str) -> None:
    x, y, c = normal(40, 60), normal(40, 60, seed=1), ig.asarray(np.float32(0.3))
    graph = ig.trace(body, x, y, c).graph
    plain, fast = graph.compile(target=target), graph.compile(target=target, fast_math=True)
    for got, want, usual in zip(fast(x, y, c), plain(x, y, c), body(x, y, c), strict=True):
        assert bits(want) == bits(usual)
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-6, atol=1e-6)
    if target == "x86-64-v3" and FUSES:
        f = lambda x, y: x * y + 1.0  # noqa: E731
        own = ig.trace(f, x, y).graph.compile(target=target, fast_math=["contract"])(x, y)
        assert bits(own) == bits(compiled(f, x, y, fast_math="contract"))


# The least normal number, half of it, and what exp makes denormal.
TINY = {np.float32: (2.0**-126, -95.0), np.float64: (2.0**-1022, -740.0)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [3, 100, 300_000])
def test_flush_denormals_makes_zeros_of_them(dtype: Any, size: int) -> None:
    least, low = TINY[dtype]
    x = ig.full(size, least, dtype=ig.asarray(dtype(0)).dtype)
    f = lambda x: (x * 0.5, x * -0.5, (x * 0.5) * 4.0, ig.exp(x + low), x)  # noqa: E731
    half, minus, again, power, same = (np.asarray(r) for r in compiled(f, x, fast_math="flush_denormals"))
    zeros = np.zeros(size, dtype)
    assert bits(half) == bits(again) == bits(power) == bits(zeros)
    assert bits(minus) == bits(-zeros)
    assert (same == dtype(least)).all()
    small = ig.asarray(np.full(size, dtype(least / 2)))
    assert bits(compiled(lambda x: x * 4.0, small, fast_math=["flush_denormals"])) == bits(zeros)
    # Of what is no denormal, and without the flag, not one bit changes.
    y = normal(size, dtype=dtype)
    g = lambda y: ig.tanh(ig.exp(y) * 0.1) + ig.sum(y)  # noqa: E731
    assert bits(compiled(g, y, fast_math="flush_denormals")) == bits(compiled(g, y))
    for one, want in zip(compiled(f, x), f(x), strict=True):
        assert bits(one) == bits(want)
    assert (np.asarray(compiled(lambda x: x * 0.5, x)) > 0).all()


def test_flush_denormals_never_leaks() -> None:
    x = ig.full(1000, 2.0**-126)
    seen = []

    def look(v: Any) -> Any:
        seen.append((float(np.float32(2.0**-126) * np.float32(0.5)), float((x * 0.5)[0]), float(plain(x)[0])))
        return v

    plain = ig.jit(lambda x: x * 0.5)
    spec = ig.ShapeDtypeStruct((1000,), "float32")
    f = ig.jit(lambda x: ig.pure_callback(look, spec, x) * 0.5, fast_math="flush_denormals")
    for _ in range(3):
        assert bits(f(x)) == bits(np.zeros(1000, np.float32))
        assert float((x * 0.5)[0]) == float(plain(x)[0]) == 2.0**-127
        assert float(np.float32(2.0**-126) * np.float32(0.5)) == 2.0**-127
    assert set(seen) == {(2.0**-127,) * 3}  # the callback's own arithmetic is as ever
    flushing = ig.jit(lambda x: x * 0.5, fast_math="flush_denormals")
    assert (np.asarray(compiled(lambda x: flushing(x), x)) > 0).all()  # the outer function decides
    assert (np.asarray(compiled(lambda x: plain(x), x, fast_math="flush_denormals")) == 0).all()


def test_flush_denormals_in_loops_and_branches() -> None:
    x = ig.full(40, 1.0)
    f = lambda x: ig.while_loop(lambda c: c[0] < 140, lambda c: (c[0] + 1, c[1] * 0.5), (0, x))[1]  # noqa: E731
    assert (np.asarray(compiled(f, x)) == 2.0**-140).all()
    assert (np.asarray(compiled(f, x, fast_math="flush_denormals")) == 0).all()
    g = lambda x: ig.cond(ig.sum(x) > 0, lambda v: v * 2.0**-130, lambda v: v, x)  # noqa: E731
    assert (np.asarray(compiled(g, x)) == 2.0**-130).all()
    assert (np.asarray(compiled(g, x, fast_math="flush_denormals")) == 0).all()


def test_results_do_not_change_from_call_to_call() -> None:
    x, y, c = normal(40, 60), normal(40, 60, seed=1), ig.asarray(np.float32(0.3))
    f = ig.jit(body, fast_math=True)
    calls = [[bits(r) for r in f(x, y, c)] for _ in range(4)]
    assert calls[0] == calls[1] == calls[2] == calls[3]
    assert calls[0] == [bits(r) for r in compiled(body, x, y, c, fast_math=True)]


def test_the_outer_function_decides() -> None:
    x, y, c = normal(40, 60), normal(40, 60, seed=1), ig.asarray(np.float32(0.3))
    strict, fast = ig.jit(body), ig.jit(body, fast_math=True)
    for got, want in zip(compiled(lambda *a: fast(*a), x, y, c), body(x, y, c), strict=True):
        assert bits(got) == bits(want)
    got = [bits(r) for r in compiled(lambda *a: strict(*a), x, y, c, fast_math=True)]
    assert got == [bits(r) for r in compiled(body, x, y, c, fast_math=True)]


def test_vmap_and_gradients() -> None:
    x, y = normal(12, 30), normal(12, 30, seed=1)
    f = lambda x, y: ig.sum(ig.maximum(x * y + 1.0, y / 3.0) / ig.sum(ig.abs(x)))  # noqa: E731
    for transformed in (ig.vmap(f), ig.grad(f, argnums=(0, 1)), ig.vmap(ig.grad(f))):
        got, want = compiled(transformed, x, y, fast_math=True), compiled(transformed, x, y)
        for a, b in zip(ig.tree.leaves(got), ig.tree.leaves(want), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=1e-6)


def test_threads() -> None:
    x, y, c = normal(200, 300), normal(200, 300, seed=1), ig.asarray(np.float32(0.3))
    functions = {flags: ig.jit(body, fast_math=flags) for flags in (False, True)}
    want = {flags: [bits(r) for r in compiled(body, x, y, c, fast_math=flags)] for flags in (False, True)}
    wrong: list[bool] = []

    def work(flags: bool) -> None:
        for _ in range(5):
            if [bits(r) for r in functions[flags](x, y, c)] != want[flags]:
                wrong.append(flags)

    threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_loops_and_sizes_that_vary() -> None:
    xs = normal(20, 16)
    f = lambda xs: ig.scan(lambda c, x: (ig.maximum(c * x + x, c) / 3.0, c), ig.zeros(16), xs)  # noqa: E731
    for a, b in zip(ig.tree.leaves(compiled(f, xs, fast_math=True)), ig.tree.leaves(f(xs)), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6)
    g = ig.jit(lambda x: ig.max(x * x + 1.0, axis=-1) / 3.0, fast_math=True)
    for n in (3, 5, 7, 9):
        x = normal(4, n)
        np.testing.assert_allclose(g(x), np.max(np.asarray(x) ** 2 + 1, axis=-1) / 3, rtol=1e-6)


def test_it_is_told() -> None:
    x, y = normal(40, 60), normal(40, 60, seed=1)

    def f(x: Any, y: Any) -> Any:
        return ig.maximum(x * y + 1.0, y) / ig.sum(y, axis=1, keepdims=True)

    quick = ig.jit(f, fast_math=("contract", "reciprocal"))
    quick(x, y)
    uses = ig.explain(quick)["entries"][0]["fast_math"]
    here = f"{Path(__file__).name}:{f.__code__.co_firstlineno + 1}"
    assert list(uses) == ["contract", "reciprocal"]
    assert uses["contract"]["changes"] == 1
    assert uses["reciprocal"]["changes"] == 1
    for flag, op in (("contract", "add"), ("reciprocal", "divide")):
        (place,) = uses[flag]["places"]
        assert place.startswith(f"{op} (")
        assert place.endswith(f"{here})")
    text = str(ig.explain(quick))
    assert "    fast_math contract: 1 node: add (" in text
    assert "    fast_math reciprocal: 1 node: divide (" in text
    assert "finite" not in text

    graph = ig.trace(f, x, y).graph
    assert "fast_math" not in graph.report()
    report = graph.compile(fast_math=True).report()["fast_math"]
    every = 6  # nodes that compute with floats; the quotient is a product, of rows' reciprocals
    assert {f: use["changes"] for f, use in report.items()} == dict.fromkeys(FLAGS, 1) | {"flush_denormals": every}
    assert "  fast_math finite: 1 node: maximum (" in str(ig.explain(graph.compile(fast_math=True)))

    plain = ig.jit(f)
    plain(x, y)
    assert ig.explain(plain)["entries"][0]["fast_math"] == {}
    assert "    fast_math " not in str(ig.explain(plain))
    none = ig.jit(lambda x: x + 1, fast_math=True)
    none(x)
    assert "    fast_math contract: 0 nodes\n" in str(ig.explain(none))


def test_the_pipeline_has_its_pass_only_where_it_is_asked_for() -> None:
    graph = ig.trace(lambda x: x / 3.0, normal(10)).graph
    names = [report["name"] for report in graph.optimised(fast_math="reciprocal").pass_reports]
    assert [name for name in names if name != "reciprocals"] == ig.default_pipeline()
    assert names.count("reciprocals") == 1
    for flags in (False, "contract", ["finite"]):
        assert "reciprocals" not in [r["name"] for r in graph.optimised(fast_math=flags).pass_reports]
    lowered = ig.jit(lambda x: x / 3.0, fast_math=True).lower(normal(10))
    assert "divide" not in lowered.as_text()
    assert "multiply" in lowered.as_text()


ERRORS = {
    "none": (
        {"fast_math": None},
        ig.TypeError,
        "jit: fast_math is None\n"
        "  why: it is False, True for all flags, or names flags\n"
        '  hint: write fast_math=True, or fast_math=("contract", "reciprocal")',
    ),
    "unknown": (
        {"fast_math": ["contract", "reassociate"]},
        ig.ValueError,
        "jit: fast_math names 'reassociate', which is no flag\n"
        "  why: each flag allows one kind of rewrite, and no other is made\n"
        "  hint: the flags are contract, finite, reciprocal, flush_denormals; True is all of them",
    ),
    "no flags": (
        {"fast_math": 1},
        ig.TypeError,
        "jit: fast_math is 1\n"
        "  why: it is False, True for all flags, or names flags\n"
        '  hint: write fast_math=True, or fast_math=("contract", "reciprocal")',
    ),
    "no name": (
        {"fast_math": ["contract", 3]},
        ig.TypeError,
        "jit: fast_math holds 3, which is no name\n"
        "  why: it is False, True for all flags, or names flags\n"
        '  hint: write fast_math=True, or fast_math=("contract", "reciprocal")',
    ),
    "exact": (
        {"fast_math": True, "exact": True},
        ig.ValueError,
        "jit: exact and fast_math are asked for together\n"
        "  why: the one wants the bits of the ops' definitions, the other gives them up for speed\n"
        "  hint: leave one of them out",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    options, kind, want = ERRORS[case]
    graph = ig.trace(lambda x: x + 1, ig.ones(3)).graph
    calls = {
        "jit": lambda: ig.jit(lambda x: x, **options),
        "compile": lambda: graph.compile(**options),
        "optimised": lambda: graph.optimised(**options),
    }
    for who, call in calls.items():
        with pytest.raises(kind) as error:
            call()
        text = str(error.value)
        where = next(line for line in text.splitlines() if line.startswith("  at: "))
        assert "test_fast_math.py" in where
        assert text.replace(where + "\n", "") == want.replace("jit:", f"{who}:", 1)


def test_an_iterable_that_fails_says_so_itself() -> None:
    def names() -> Any:
        yield "contract"
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        ig.jit(lambda x: x, fast_math=names())
    assert bits(ig.jit(lambda x: x * 2, fast_math=(n for n in FLAGS))(ig.ones(3))) == bits(ig.ones(3) * 2)
    assert bits(ig.jit(lambda x: x / 3.0, fast_math=())(ig.ones(3))) == bits(ig.ones(3) / 3.0)


def test_the_example() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "fast_math.py"
    said = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout
    for flag, node in zip(FLAGS[:3], ("add", "reduce_max", "divide"), strict=True):
        assert f"fast_math {flag}: 1 node: {node} ({path}:" in said
    assert said.endswith("without the flags the bits stay: True\n")
    assert float(said.split("largest difference: ")[1].split()[0]) < 1e-5
