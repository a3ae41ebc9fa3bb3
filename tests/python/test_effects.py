"""Effects: `debug_print` and `check`, eager and captured, in control flow, in order, and never dropped."""

from __future__ import annotations

import numpy as np
import pytest

import intaglio as ig


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def both_ways(function, *args):
    """The function eager, as one graph, by the definitions, and jitted (twice: the second call is warm)."""
    jitted = ig.jit(function)
    traced = ig.trace(function, *args)
    return {
        "eager": lambda: function(*args),
        "traced": lambda: traced(*args),
        "evaluated": lambda: traced.evaluate(*args),
        "jitted": lambda: jitted(*args),
        "warm": lambda: jitted(*args),
    }


# --- print ---------------------------------------------------------------------------------------------------------


def test_print_fills_in_values(capsys):
    def f(x, n):
        ig.debug_print("x = {x}, first {0:.2f}, {}: {{{name}}} {n:>4d}|{x:.1f}", x[0], name="text", x=x, n=n)
        return x * 2

    with pytest.raises(ig.ValueError, match="cannot be filled in"):
        f(ig.ones(2), ig.asarray(3))  # automatic and numbered fields do not go together

    def g(x, n):
        ig.debug_print("x = {x}, first {0:.2f}: {{{name}}} {n:>4d}|{x:.1f}", x[0], name="text", x=x, n=n)
        return x * 2

    for how, run in both_ways(g, ig.asarray([1.0, 2.5]), ig.asarray(3)).items():
        run()
        assert lines(capsys) == ["x = [1.  2.5], first 1.00: {text}    3|[1.0 2.5]"], how


def test_print_runs_on_each_call_and_without_results(capsys):
    @ig.jit
    def f(x):
        ig.debug_print("called with {}", x)

    for i in range(3):
        assert f(ig.asarray(i)) is None
    assert lines(capsys) == ["called with 0", "called with 1", "called with 2"]


def test_prints_keep_their_order_among_kernels(capsys):
    def f(x):
        ig.debug_print("a {}", (x + 1).sum())
        y = ig.exp(x)
        ig.debug_print("b")
        ig.debug_print("b")
        z = (y * 2).sum()
        ig.debug_print("c {:.0f}", z)
        return z

    for how, run in both_ways(f, ig.zeros(3)).items():
        run()
        assert lines(capsys) == ["a 3.0", "b", "b", "c 6"], how


def test_print_in_branches_and_loops(capsys):
    def f(n):
        ig.debug_print("begin")
        ig.cond(n > 2, lambda: ig.debug_print("more than two"), lambda: ig.debug_print("two or less"))

        def step(i, total):
            ig.debug_print("step {i}", i=i)
            ig.cond(i == 1, lambda: ig.debug_print("one") or 0, lambda: 0)
            return total + i

        total = ig.fori_loop(0, n, step, 0)

        def body(carry, x):
            ig.debug_print("scan {}", x)
            return carry + x, carry

        last, _ = ig.scan(body, ig.asarray(0), ig.arange(2))

        def goes_on(v):
            ig.debug_print("test {}", v)
            return v < 2

        ig.while_loop(goes_on, lambda v: v + 1, ig.asarray(1))
        ig.debug_print("end {} {}", total, last)
        return total

    expected = ["begin", "more than two", "step 0", "step 1", "one", "step 2", "scan 0", "scan 1"]
    expected += ["test 1", "test 2", "end 3 1"]
    for how, run in both_ways(f, ig.asarray(3)).items():
        run()
        assert lines(capsys) == expected, how


def test_nothing_is_printed_where_a_trace_proves_wrong(capsys):
    @ig.jit
    def f(x):
        ig.debug_print("at {}", x)
        if x > 0:
            ig.debug_print("positive")
            return x * 2
        ig.debug_print("not positive")
        return x - 1

    for value in (1, -1, 2, -2, 3):
        f(ig.asarray(value))
        assert lines(capsys) == [f"at {value}", "positive" if value > 0 else "not positive"]
    assert len(ig.explain(f)["entries"]) == 2


def test_nothing_is_printed_while_recording_asks_for_values(capsys):
    @ig.jit
    def f(x):
        def step(v):
            ig.debug_print("step {}", v)
            return v * 2

        y = ig.while_loop(lambda v: v < 10, step, x)
        return y + 1 if y > 15 else y - 1

    f(ig.asarray(3))
    assert lines(capsys) == ["step 3", "step 6"]


def test_no_pass_drops_moves_or_merges_effects():
    def f(x):
        ig.debug_print("same {}", x)
        ig.debug_print("same {}", x)
        ig.cond(x.sum() > 0, lambda: ig.debug_print("in a branch"), lambda: None)
        ig.check(x.sum() < 9, "too much")
        return x

    graph = ig.trace(f, ig.ones(2)).graph
    for one in (graph, graph.optimised()):
        one.verify()
        text = str(one)
        assert text.count("same {0}") == 2
        assert text.count("in a branch") == 1
        assert text.count("too much") == 1
        assert text.index("same {0}") < text.index("in a branch") < text.index("too much")
        assert str(ig.Graph.parse(text)) == text


def test_a_print_without_its_value_is_refused_with_the_line():
    with pytest.raises(ig.ValueError) as caught:
        ig.debug_print("x = {x}, y = {y}", x=1)
    assert caught.value.what == "debug_print: the text 'x = {x}, y = {y}' names a value that was not given"
    assert "test_effects.py" in caught.value.where
    assert caught.value.why == "'y'; given are 0 by position, and by name x"
    assert caught.value.hint == 'pass it: ig.debug_print("x = {x}", x=x)'


def test_a_format_that_does_not_fit_an_array_is_refused():
    with pytest.raises(ig.ValueError) as caught:
        ig.debug_print("{x!r}", x=ig.ones(2))
    assert caught.value.what == "debug_print: the text '{x!r}' cannot be filled in"
    assert caught.value.why == "an array has no !r: its values are shown as they are"
    assert caught.value.hint == "fields are {}, {0}, {name} and {name:.2f}; write {{ and }} for braces"


# --- check ---------------------------------------------------------------------------------------------------------


def test_check_raises_with_the_line_of_the_check():
    def f(x, scale):
        y = x * scale
        ig.check(scale > 0, "scale must be positive, got {scale} for {x}", scale=scale, x=x)
        return y

    good, bad = ig.asarray(2.0), ig.asarray(-2.0)
    jitted, traced = ig.jit(f), ig.trace(f, ig.ones(2), good)
    ways = {"eager": f, "traced": traced, "evaluated": traced.evaluate, "jitted": jitted, "warm": jitted}
    for how, run in ways.items():
        assert np.asarray(run(ig.ones(2), good)).tolist() == [2.0, 2.0], how
        with pytest.raises(ig.ValueError) as caught:
            run(ig.ones(2), bad)
        error = caught.value
        assert error.what == "scale must be positive, got -2.0 for [1. 1.]", how
        assert 'ig.check(scale > 0, "scale' in error.where, how
        assert "test_effects.py" in error.where, how
        assert error.why == "the condition of ig.check is false", how
        assert error.hint == "look at what leads to these values, or drop the check where they may occur", how
        assert np.asarray(run(ig.ones(2), good)).tolist() == [2.0, 2.0], how


def test_check_of_an_array_names_the_first_element_that_fails():
    def f(x):
        ig.check(x >= 0, "x must not be negative, got {x:.1f} of {n} numbers", x=x, n=6)
        return ig.sqrt(x)

    x = ig.asarray([[1.0, 2.0, 3.0], [4.0, -5.0, -6.0]])
    for how, run in both_ways(f, x).items():
        with pytest.raises(ig.ValueError) as caught:
            run()
        assert caught.value.what == "x must not be negative, got -5.0 of 6 numbers", how
        assert caught.value.why.endswith("at element [1, 1], the first of those that fail"), how


def test_check_guards_only_its_path():
    def f(x, safe):
        def risky(v):
            ig.check(v > 0, "log of {}", v)
            return ig.log(v)

        return ig.cond(safe, lambda v: v * 0, risky, x)

    jitted = ig.jit(f)
    assert float(jitted(ig.asarray(-1.0), ig.asarray(True))) == 0
    with pytest.raises(ig.ValueError, match=r"log of -1\.0"):
        jitted(ig.asarray(-1.0), ig.asarray(False))


def test_effects_before_a_failing_check_happen_and_those_behind_do_not(capsys):
    def f(x):
        ig.debug_print("before")
        ig.check(x.sum() > 100, "stop")
        ig.debug_print("behind")
        return x

    for how, run in both_ways(f, ig.ones(2)).items():
        with pytest.raises(ig.ValueError, match="stop"):
            run()
        assert lines(capsys) == ["before"], how


def test_check_with_a_python_truth_value():
    ig.check(True, "fine")
    with pytest.raises(ig.ValueError, match="not fine"):
        ig.check(1 > 2, "not fine")
    with pytest.raises(ig.ValueError, match="at once"):
        ig.jit(lambda x: ig.check(False, "at once") or x)(ig.ones(1))


def test_a_failing_check_leaves_donated_arguments_alone():
    @ig.jit
    def f(x):
        ig.check(x.sum() < 0, "no")
        return x + 1

    donating = ig.jit(lambda x: f(x), donate_argnums=0)
    x = ig.ones(4)
    with pytest.raises(ig.ValueError, match="no"):
        donating(x)
    assert np.asarray(x).tolist() == [1, 1, 1, 1]


def test_effects_with_symbolic_sizes(capsys):
    @ig.jit
    def f(x):
        ig.debug_print("{}", x)
        ig.check(x < 5, "{} is too large", x)
        return x + 1

    for n in (2, 3, 4):
        f(ig.arange(n))
    assert lines(capsys) == ["[0 1]", "[0 1 2]", "[0 1 2 3]"]
    with pytest.raises(ig.ValueError, match="5 is too large"):
        f(ig.arange(7))
    assert len(ig.explain(f)["entries"]) == 2


# --- paths by turns ------------------------------------------------------------------------------------------------


def test_alternating_paths_run_the_right_trace_only():
    @ig.jit
    def f(x):
        return ig.exp(x) if x[0] > 0 else ig.sin(x)

    positive, negative = ig.ones(4), -ig.ones(4)
    for _ in range(12):
        np.testing.assert_allclose(f(positive), np.exp(np.ones(4)), rtol=1e-6)
        np.testing.assert_allclose(f(negative), np.sin(-np.ones(4)), rtol=1e-6)
    # Each call's own trace, and a wrong one only until the function is known to go its paths by turns.
    assert sum(entry["calls"] for entry in ig.explain(f)["entries"]) <= 24 + 6
    for _ in range(20):
        f(positive)
    before = {e["reason"]: e["calls"] for e in ig.explain(f)["entries"]}
    for _ in range(20):
        f(positive)
    after = {e["reason"]: e["calls"] for e in ig.explain(f)["entries"]}
    assert sum(after.values()) - sum(before.values()) == 20


# --- what Python promises ------------------------------------------------------------------------------------------


def fails_alike(function, *args, like=None):
    """The eager error, and that a graph and a warm jitted call give the same one."""
    good = like if like is not None else args
    with pytest.raises(ig.Error) as eager:
        function(*args)
    traced, jitted = ig.trace(function, *good), ig.jit(function)
    for run in (traced, traced.evaluate, jitted, jitted):
        run(*good)
        with pytest.raises(type(eager.value)) as caught:
            run(*args)
        assert caught.value.what == eager.value.what
        assert caught.value.hint == eager.value.hint
        assert caught.value.where
        assert "test_effects.py" in caught.value.where
    return eager.value


def test_an_index_out_of_range_raises_in_captured_functions_too():
    x = ig.arange(3)
    error = fails_alike(lambda x, i: x[i], x, ig.asarray(7), like=(x, ig.asarray(-3)))
    assert isinstance(error, IndexError)
    assert error.what == "the index 7 is out of range for axis 0 of size 3"
    fails_alike(lambda x, i: x[i], x, ig.asarray([0, -4, 9]), like=(x, ig.asarray([0, 1, 2])))
    fails_alike(lambda x, i: ig.take(x, i), x, ig.asarray([3]), like=(x, ig.asarray([-1])))


def test_a_negative_index_over_a_symbolic_size():
    traced = ig.trace(lambda x, i: x[i], ig.arange(4), ig.asarray([0]), dynamic_shapes={"x": {0: ig.Dim("n", 1, 64)}})
    assert np.asarray(traced(ig.arange(6), ig.asarray([-1]))).tolist() == [5]
    with pytest.raises(ig.IndexError, match="the index -7 is out of range for axis 0 of size 6"):
        traced(ig.arange(6), ig.asarray([-7]))


def test_an_index_in_a_branch_that_is_not_taken():
    def f(x, i):
        return ig.cond(i < 3, lambda: x[i], lambda: ig.asarray(-1))

    for run in both_ways(f, ig.arange(3), ig.asarray(5)).values():
        assert int(run()) == -1


def test_integers_divided_by_zero():
    one, zero = ig.asarray([4, 5]), ig.asarray([1, 0])
    for function in (lambda a, b: a // b, lambda a, b: a % b, lambda a, b: ig.floor_divide(a, b)):
        error = fails_alike(function, one, zero, like=(one, ig.asarray([2, 3])))
        assert isinstance(error, ZeroDivisionError)
        assert error.why.startswith("integers have no infinity and no NaN")
        assert error.hint == "put another divisor there first, ig.where(d == 0, 1, d), or divide floats"
    assert error.what == "floor_divide: an integer is divided by zero"
    for divide in (lambda: one // 0, lambda: 7 % zero, lambda: ig.jit(lambda a: a // 0)(one)):
        with pytest.raises(ZeroDivisionError):
            divide()
    assert np.isinf(np.asarray(ig.asarray([1.0]) // 0.0)).all()
    assert "check" not in str(ig.trace(lambda a: a // 3, one).graph)
    # A path that is not taken divides nothing.
    guarded = ig.jit(lambda a, n: ig.cond(n == 0, lambda: a, lambda: a // n))
    assert np.asarray(guarded(one, ig.asarray(0))).tolist() == [4, 5]


def test_the_example(capsys):
    import runpy
    from pathlib import Path

    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "debugging.py"), run_name="__main__")
    assert lines(capsys) == [
        "far away: [4.0 8.0], the mean is [2.00 2.40]",
        "far away: [5.0 1.0], the mean is [2.50 2.17]",
        "mean [2.5, 2.1666667461395264] of 6",
        "traces: 2",
        "a sample holds nan after 6 samples",
    ]
