"""Tests out of the op table, one an op: each dtype and sample by the reference rule, by NumPy, as eager
execution runs
it, and in a compiled graph; text, binary form and symbolic sizes of those graphs; edge values of
element-wise ops."""

from __future__ import annotations

import itertools
import re
from typing import Any

import cases
import numpy as np
import pytest
from cases import RUNNABLE, TABLE, check_close

import intaglio as ig
from intaglio import _intaglio as core


def compared(name: str) -> list[cases.Case]:
    """The op's cases: every dtype with every sample."""
    return [case for case in cases.cases(name) if case.refused is None]


def thinned(name: str, rounds: int) -> list[cases.Case]:
    """Every sample in `rounds` dtypes and every dtype with a sample, in turn: a compile is slow."""
    dtypes = cases.dtypes_of(name)
    samples = len(TABLE[name]["samples"])
    out = []
    for case in compared(name):
        i, j = case.sample, dtypes.index(case.dtype)
        if any(j == (i + 5 * turn) % len(dtypes) for turn in range(rounds)) or i == j % samples or len(dtypes) == 1:
            out.append(case)
    return out or compared(name)


@pytest.mark.parametrize("name", RUNNABLE)
def test_reference_against_numpy(name: str) -> None:
    decl = TABLE[name]
    checked = False
    for case in compared(name):
        want = cases.oracle(decl, case.arrays, case.attrs)
        if want is None:
            continue
        got = case.reference()
        assert len(got) == len(want), case
        for a, b in zip(got, want, strict=True):
            check_close(
                decl,
                f"{case}: reference against NumPy",
                case.arrays,
                a.numpy(),
                b,
                cases.oracle_bound(decl, case, a.dtype.name),
            )
        checked = True
    assert checked or decl["numpy"].startswith("none: "), f"{name} has no oracle"


@pytest.mark.parametrize("name", RUNNABLE)
def test_eager_against_reference(name: str) -> None:
    decl = TABLE[name]
    # Element-wise programs do not depend on the shape, so all cases are a few programs.
    elementwise = "elementwise" in decl["traits"] and "composite" not in decl["traits"]
    for case in compared(name) if elementwise else thinned(name, 2):
        got, want = case.eager(), case.reference()
        assert len(got) == len(want), case
        for a, b in zip(got, want, strict=True):
            assert a.dtype == b.dtype, f"{case}: {a.dtype}, not {b.dtype}"
            assert a.shape == b.shape, f"{case}: {a.shape}, not {b.shape}"
            if a.dtype.name == "key":
                assert cases.bits(a) == cases.bits(b), case
            else:
                check_close(
                    decl,
                    f"{case}: eager against reference",
                    case.arrays,
                    a.numpy(),
                    b.numpy(),
                    cases.own_bound(decl, case, a.dtype.name),
                )


@pytest.mark.parametrize("name", RUNNABLE)
def test_graph(name: str) -> None:
    """All cases as one graph: text and binary form read back the same, and the compiled program gives eager
    execution's bits, the evaluated graph the reference rule's."""
    chosen = thinned(name, 1)
    graph = core._graph_of("samples", [(name, case.types, case.attrs) for case in chosen], {})
    text = str(graph)
    again = ig.Graph.parse(text)
    assert str(again) == text
    assert again.hash() == graph.hash()
    binary = graph.to_binary()
    assert str(ig.Graph.from_binary(binary)) == text
    assert ig.Graph.from_binary(binary).to_binary() == binary
    inputs = [x for case in chosen for x in case.given()]
    # What its own algebra removes everywhere would never run: that is compiled without.
    algebra = ["canonicalize", "fold"]
    stays = re.search(rf"= {name}\(", str(graph.optimised(passes=algebra)))
    results = (graph if stays else graph.compile(disable=algebra))(*inputs)
    evaluated = graph.evaluate(*inputs)
    got = iter(results if isinstance(results, tuple) else (results,))
    slow = iter(evaluated if isinstance(evaluated, tuple) else (evaluated,))
    for case in chosen:
        for eager, reference in zip(case.eager(), case.reference(), strict=True):
            one, other = next(got), next(slow)
            assert one.dtype == eager.dtype, case
            assert one.shape == eager.shape, case
            assert cases.same_values(one, eager), cases.difference(f"{case}: compiled against eager", one, eager)
            assert cases.same_values(other, reference), cases.difference(f"{case}: evaluated", other, reference)


@pytest.mark.parametrize("name", RUNNABLE)
def test_symbolic_sizes(name: str) -> None:
    """Where inference takes symbols for the sizes, the program for all sizes gives the bits of the one for
    these."""
    dtypes = cases.dtypes_of(name)
    main = "float32" if "float32" in dtypes else dtypes[0]
    tried = set()
    steps, chosen = [], []
    for case in compared(name):
        if case.dtype != main or any(0 in x.shape for x in case.given()):
            continue
        types = case.symbolic_types()
        pattern = (case.dtype, tuple(types), case.attrs)
        if types == case.types or pattern in tried or len(steps) == 3:
            continue
        tried.add(pattern)
        steps.append((name, [re.sub(r"n(\d)", rf"m{len(steps)}_\1", t) for t in types], case.attrs))
        try:
            core._graph_of("symbolic", steps[-1:], cases.symbols_in(steps[-1:]))
        except ig.Error:
            steps.pop()  # sizes that the attributes or a check must know
            continue
        chosen.append(case)
    if not steps:
        return
    graph = core._graph_of("symbolic", steps, cases.symbols_in(steps))
    assert str(ig.Graph.parse(str(graph))) == str(graph)
    results = graph(*[x for case in chosen for x in case.given()])
    got = iter(results if isinstance(results, tuple) else (results,))
    for case in chosen:
        for eager in case.eager():
            one = next(got)
            assert one.shape == eager.shape, case
            assert cases.same_values(one, eager), cases.difference(f"{case}: symbolic against fixed", one, eager)


def test_wide_sums_are_wide() -> None:
    """A product that asks for sums in float64 gets them, in every dtype."""
    seen = 0
    for name in ("dot_general", "convolution"):
        for case in compared(name):
            if "accumulate = f64" in case.attrs:
                for a, b in zip(case.eager(), case.reference(), strict=True):
                    assert cases.same_values(a, b), cases.difference(str(case), a, b)
                seen += 1
    assert seen


NEGATIVE = [
    decl["name"]
    for decl in TABLE.values()
    if decl["python"]
    and decl["front"] == "direct"
    and decl["operands"]
    and decl["name"] in RUNNABLE
    and any(a["name"] in ("axis", "axes") or a["name"].endswith(("_axis", "_axes")) for a in decl["attrs"])
]


@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_axes(name: str) -> None:
    """An axis counted from the end is the same one: of the operand, or of the result where it is new
    there."""
    decl = TABLE[name]
    function = core.op(name)
    done = 0
    for case in compared(name):
        if case.dtype not in ("float32", "key", "bool") or not case.arrays or not case.arrays[0].ndim:
            continue
        attrs = core._parse_attrs(name, case.attrs)
        given = case.given() if not decl["operands"][0]["variadic"] else [case.given()]
        rank = case.arrays[0].ndim + (name in ("expand_dims", "stack"))
        turned = {}
        for key, value in attrs.items():
            if key.split("_")[-1] in ("axis", "axes") and isinstance(value, (int, tuple)):
                own = case.arrays[1].ndim if key == "y_axes" else rank
                flip = lambda v, own=own: v - own if v >= 0 else v + own  # noqa: E731
                turned[key] = flip(value) if isinstance(value, int) else tuple(flip(v) for v in value)
        want, got = function(*given, **attrs), function(*given, **{**attrs, **turned})
        for a, b in zip(
            want if isinstance(want, tuple) else (want,),
            got if isinstance(got, tuple) else (got,),
            strict=True,
        ):
            assert a.shape == b.shape, f"{case} with {turned}"
            assert cases.bits(a) == cases.bits(b), f"{case} with {turned}"
        done += 1
    assert done, name


# --- edges --------------------------------------------------------------------------------------------------


def edges(dtype: str, few: bool = False) -> np.ndarray[Any, Any]:
    kind = cases.numpy_dtype(dtype)
    if dtype.startswith("complex"):
        part = edges("float32" if dtype == "complex64" else "float64")
        part = part[:14] if few else part
        re, im = np.meshgrid(part, part)
        out = np.empty(re.size, kind)
        out.real, out.imag = re.ravel(), im.ravel()
        return out
    if dtype == "bool":
        return np.array([False, True])
    if "int" in dtype:
        info = np.iinfo(kind)
        values = {
            info.min,
            info.max,
            0,
            1,
            2,
            7,
            info.max // 2,
            max(info.min, -1),
            max(info.min, -7),
            info.min + 1,
        }
        return np.array(sorted(values), dtype=kind)
    limits = ig.finfo(dtype)
    tiny = np.array([1], cases.INTEGER_OF[kind.itemsize]).view(kind)[0]
    values = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        limits.max,
        limits.min,
        limits.smallest_normal,
        -limits.smallest_normal,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        1e-3,
        -1e-3,
        88.0,
        -88.0,
        1e4,
        -1e4,
    ]
    with np.errstate(all="ignore"):
        out = np.array(values, np.float64).astype(kind)
    return np.concatenate([out, np.array([tiny, -tiny], kind)])


EDGE_OPS = [name for name in RUNNABLE if "elementwise" in TABLE[name]["traits"] and not TABLE[name]["attrs"]]
# Fewer values where three operands meet, and the sizes whose tails differ.
SIZES = (1, 7, 33, 1025)


@pytest.mark.parametrize("name", EDGE_OPS)
def test_edges(name: str) -> None:
    """NaN, infinities, both zeros, extremes and denormals in all combinations: compiled code gives the same
    NaNs,
    infinities and signs of zero as the definition; and an element's bits do not depend on where it stands."""
    decl = TABLE[name]
    kinds = [text.split("[")[0] for text in cases.split(decl["samples"][0]["operands"])]
    for dtype in cases.dtypes_of(name):
        if dtype == "key" or cases.refusal(name, dtype):
            continue
        axes = [edges(dtype if kind == "T" else cases.TEXT_NAMES[kind], len(kinds) > 1) for kind in kinds]
        if len(axes) > 2:
            axes = [axis[:12] for axis in axes]
        grid = np.array(list(itertools.product(*[range(len(axis)) for axis in axes])))
        arrays = [axis[grid[:, i]] for i, axis in enumerate(axes)]
        of_power = name == "power" and dtype.startswith("complex")
        if of_power:  # exp(y log x): the error grows with |y log x|, as docs/numerics.md says
            keep = ~(np.isfinite(arrays[1]) & (np.abs(arrays[1]) > 2))
            grid, arrays = grid[keep], [a[keep] for a in arrays]
        given = cases.tensors(arrays)
        whole, reference = core._apply(name, given, "")[0], core._reference(name, given, "")[0]
        got, want = whole.numpy(), reference.numpy()
        what = f"{name} on edges of {dtype}"
        bound = cases.bound_of(decl, got.dtype.name, dtype.startswith("complex"))
        bound += 2 * 750 if of_power and dtype == "complex128" else 0
        check_close(decl, what, arrays, got, want, bound)
        if cases.float_of(got) or got.dtype.kind == "c":
            got, want = cases.parts(got), cases.parts(want)
            zeros = (got == 0) & (want == 0)
            wrong = zeros & (np.signbit(got.astype(np.float64)) != np.signbit(want.astype(np.float64)))
            assert not wrong.any(), f"{what}: the sign of zero\n" + cases.describe(
                cases.worst(wrong), arrays, got, want
            )
        for size in SIZES:
            index = np.arange(size) * 13 % len(grid)
            part = core._apply(name, cases.tensors([a[index] for a in arrays]), "")[0]
            assert cases.same_values(part, ig.asarray(whole.numpy()[index])), f"{what}: {size} elements give other bits"


# --- threads ------------------------------------------------------------------------------------------------


def test_threads() -> None:
    """One and two threads give the same bits, on arrays that are large enough to be shared out."""
    rng = np.random.default_rng(5)
    x = ig.asarray(rng.standard_normal((700, 513), dtype=np.float32))
    y = ig.asarray(rng.standard_normal((513, 300), dtype=np.float32))
    big = ig.asarray(rng.standard_normal((2, 8, 60, 60), dtype=np.float32))
    kernel = ig.asarray(rng.standard_normal((16, 8, 3, 3), dtype=np.float32))

    def program(x: Any, y: Any, big: Any, kernel: Any) -> Any:
        z = ig.tanh(x) * 2 + ig.sum(x, axis=0)
        return (
            z,
            ig.matmul(z, y),
            ig.softmax(z, axis=1),
            ig.sum(z),
            ig.mean(z, axis=0),
            ig.cumulative_sum(z, axis=1),
            ig.argsort(z, axis=1),
            ig.max(z, axis=1),
            ig.conv(big, kernel),
            ig.max_pool(big, kernel_size=(3, 3)),
            ig.layer_norm(z),
        )

    before = core.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            core.set_num_threads(count)
            results.append(
                [cases.bits(r) for r in ig.trace(program, x, y, big, kernel)(x, y, big, kernel)]
                + [cases.bits(r) for r in program(x, y, big, kernel)]
            )
    finally:
        core.set_num_threads(before)
    assert results[0] == results[1]
    assert results[0] == results[2]
    half = len(results[0]) // 2
    assert results[0][:half] == results[0][half:], "compiled and eager differ"


def test_no_fallbacks() -> None:
    """What has a lowering is run by compiled code."""
    assert core.compiler_available()
    before = core._counters()["fallbacks"]
    for name in RUNNABLE:
        cases_of = compared(name)
        of_complex = [c for c in cases_of if c.dtype.startswith("complex")]
        for case in [next(c for c in cases_of if c not in of_complex), *of_complex[:1]]:
            case.eager()
            assert core._counters()["fallbacks"] == before, f"{case} ran by its reference rule"
