"""Every function of NumPy that takes our arrays means what NumPy means by it: with its defaults, and with its options.

Each function of `numpy`, `numpy.linalg` and `numpy.fft`, by NumPy's name and by ours, and each method of its arrays, is
called with arrays of several shapes and with every option below. What NumPy refuses is left out, and what we refuse is
no harm; but where both give something, it is the same. `DIFFERENT` says what is not, and why.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import intaglio as ig

RNG = np.random.default_rng(0)
SPACE, CUBE, SQUARE, ROW = (RNG.random(shape) for shape in ((2, 3, 4), (3, 3, 3), (3, 3), (5,)))
WHOLE, SMALL = RNG.integers(-9, 9, (2, 3, 4)), RNG.integers(0, 99, (3, 3)).astype("int8")
COUNTS, COMPLEX, NARROW = RNG.integers(0, 7, 9), SPACE + 1j * SPACE[::-1], SPACE.astype("float16")
GAPS = np.where(SPACE > 0.2, SPACE, np.nan)
PLAIN = (SPACE, CUBE, SQUARE, ROW, WHOLE, SMALL, COUNTS, COMPLEX)  # with options too
ONE = (*PLAIN, NARROW, GAPS, SPACE > 0.5, np.zeros((0, 3)), np.array(0.5))
ARGUMENTS: list[tuple[Any, ...]] = [
    *((x,) for x in ONE),
    *((x, x) for x in ONE[:-1]),
    (SPACE, CUBE[:1, :, :1]),
    (SQUARE, SPACE[:1, :, :3]),
    (SPACE, np.array(0.5)),
    (WHOLE, 2),
    (SPACE, 1),
    (CUBE, -1),
    (SPACE, 1, 2),
    (SPACE, -1, 0),
    (SPACE, SPACE + 1, SPACE),
]
OPTIONS: list[dict[str, Any]] = [
    *({"axis": axis} for axis in (0, 1, -1, None, (0, 2))),
    *({"axis": axis, "keepdims": True} for axis in (0, (0, 1))),
    *({name: True} for name in ("keepdims", "rowvar", "bias", "right", "increasing", "copy", "return_counts", "subok")),
    *({name: False} for name in ("rowvar", "full_matrices", "compute_uv", "endpoint")),
    *({name: 1} for name in ("ddof", "k", "offset", "decimals", "shift", "start", "kth", "deg", "edge_order")),
    *({name: 2} for name in ("n", "reps", "repeats")),
    *({"ord": order} for order in (1, 2, -1, np.inf, "nuc", "fro")),
    *({"dtype": dtype} for dtype in ("float32", "float64", "int16", "int32", "uint8")),
    *({"axis": 0, "dtype": dtype} for dtype in ("float32", "int32")),
    *({"norm": norm} for norm in ("ortho", "forward")),
    *({"q": q, **more} for q, more in ((0.3, {}), (0.3, {"axis": 1, "method": "lower"}), (30, {"axis": 0}))),
    {"axis1": 2, "axis2": 0},
    {"offset": 1, "axis1": -1, "axis2": 1},
    {"axes": (1, 0, 2)},
    {"axes": (0, 1)},
    {"k": 1, "axes": (1, 2)},
    {"n": 3, "axis": 0},
    {"s": (2, 2)},
    {"shift": (1, 2), "axis": (0, 1)},
    {"repeats": 2, "axis": 1},
    {"shape": (4, 6)},
    {"source": 0, "destination": 2},
    {"order": "F"},
    {"kind": "stable"},
    {"initial": 3.0},
    {"where": np.array([True, False, True, True])},
    {"mode": "r"},
    {"rcond": 1e-3},
    {"bins": 4},
    {"minlength": 12},
    {"N": 3},
    {"return_index": True, "return_inverse": True},
    {"axis": 0, "return_counts": True},
    {"nan": 1.0},
    {"prepend": 0.0},
    {"indices_or_sections": 3, "axis": 1},
    {"pad_width": ((1, 0), (0, 1), (2, 2)), "mode": "wrap"},
    {"a_min": 0.2, "a_max": 0.5},
    {"min": 0.2},
    {"dx": 0.5, "axis": 0},
    {"indexing": "ij"},
    {"sparse": True},
    {"fill_value": 0.5},
    {"fill_value": 0.5, "dtype": "float32"},
    {"weights": np.array([1.0, 2.0, 1.0, 1.0]), "axis": -1},
    {"indices": [1, 0], "axis": 0},
    {"indices": [1, 0]},
    {"condition": [True, False]},
    {"obj": 1, "axis": 0},
    {"obj": 1, "values": 9.0, "axis": 1},
]
# What does not compute, reads the machine, writes files or into its argument, or gives what is not defined.
NOT_ASKED = {
    *(
        "copyto",
        "fill_diagonal",
        "place",
        "put",
        "put_along_axis",
        "putmask",
        "save",
        "savetxt",
        "savez",
        "test",
        "load",
    ),
    *(
        "savez_compressed",
        "info",
        "show_config",
        "show_runtime",
        "source",
        "who",
        "lookfor",
        "set_printoptions",
        "seterr",
    ),
    *("seterrcall", "setbufsize", "printoptions", "errstate", "loadtxt", "fromfile", "empty", "empty_like", "nditer"),
    *("nested_iters", "may_share_memory", "shares_memory", "array_repr", "array_str", "array2string", "frompyfunc"),
    *("dump", "dumps", "tofile", "resize", "fill", "partition", "byteswap", "data", "ctypes", "setfield", "itemset"),
}
DIFFERENT = {
    "argpartition": "any order is right within a part",
    "argsort": "equal elements keep their order here",
    "bmat": "makes a matrix of NumPy's",
    "eig": "a vector's sign is free, as is the order of the values",
    "eigh": "a vector's sign is free",
    "ig.eigvalsh": "of matrices that are not symmetric the symmetric part is taken, as in JAX",
    "i0": "small integers are computed in float32, where NumPy has float64",
    "isscalar": "an array without axes is one number, as in JAX",
    "ldexp": "small integers are computed in float32, where NumPy has float16",
    "lstsq": "residuals have the same shape for every rank, as in JAX",
    "polydiv": "leading zeros stay, as in JAX: the shape does not depend on the values",
    "roots": "the order of the values is free",
    "searchsorted": "was told of what is not sorted",
    "spacing": "small integers are computed in float32, where NumPy has float16",
    "svd": "a vector's sign is free",
    "trapezoid": "NumPy adds bools and small integers in their own type",
    "trim_zeros": "of one axis",
    "unique_inverse": "each NaN is another one, in any order",
    "unique_values": "any order is right",
}
TYPES = "biufc"


def functions_of(module: Any) -> list[str]:
    return [
        name
        for name in sorted(dir(module))
        if name[0] != "_"
        and name not in NOT_ASKED
        and callable(getattr(module, name))
        and not isinstance(getattr(module, name), type)
    ]


def ours(x: Any) -> Any:
    return ig.asarray(x) if isinstance(x, np.ndarray) else x


def parts_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def difference(given: Any, wanted: Any) -> str | None:
    have, want = parts_of(given), parts_of(wanted)
    if len(have) != len(want):
        return f"{len(want)} results, here {len(have)}"
    for a, b in zip(have, want, strict=True):
        x, y = np.asarray(a.numpy() if isinstance(a, ig.Tensor) else a), np.asarray(b)
        if x.shape != y.shape:
            return f"shape {y.shape}, here {x.shape}"
        rough = 2e-2 if "float16" in (x.dtype, y.dtype) else 1e-3  # what both compute otherwise
        if y.dtype.kind in TYPES and not np.allclose(x, y, rtol=rough, atol=rough, equal_nan=True):
            return f"{y.tolist()}, here {x.tolist()}"
    return None


def with_options(arguments: tuple[Any, ...]) -> bool:
    return any(arguments[0] is x for x in PLAIN) and (len(arguments) < 2 or arguments[0] is arguments[1])


def check(name: str, theirs: Any, call: Any, by: str = "np.") -> int:
    """How many calls both answered, and alike."""
    if name in DIFFERENT or by + name in DIFFERENT:
        return 0
    wrong, asked = [], 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for arguments in ARGUMENTS:
            for options in ({}, *(OPTIONS if with_options(arguments) else ())):
                try:
                    wanted = theirs(*(x.copy() if isinstance(x, np.ndarray) else x for x in arguments), **options)
                except Exception:  # what NumPy refuses says nothing of us
                    continue
                try:
                    given = call(*(ours(x) for x in arguments), **options)
                except Exception:  # refused, aloud
                    continue
                asked += 1
                if (found := difference(given, wanted)) is not None:
                    shapes = [f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else x for x in arguments]
                    wrong.append(f"{name}(*{shapes}, **{options}) is {found}")
    assert not wrong, "\n".join(wrong[:5])
    return asked


MODULES = [*((np, ig, part, 8) for part in range(8)), (np.linalg, ig.linalg, 0, 1), (np.fft, ig.fft, 0, 1)]
NAMES = [f"{module.__name__}-{part}" for module, _, part, _ in MODULES]


@pytest.mark.parametrize(("module", "own", "part", "parts"), MODULES, ids=NAMES)
def test_by_numpy_s_name(module: Any, own: Any, part: int, parts: int) -> None:
    functions = [getattr(module, name) for name in functions_of(module)[part::parts]]
    assert sum(check(function.__name__, function, function) for function in functions) > 100


@pytest.mark.parametrize(("module", "own", "part", "parts"), MODULES, ids=NAMES)
def test_by_our_name(module: Any, own: Any, part: int, parts: int) -> None:
    names = [name for name in functions_of(module) if hasattr(own, name)][part::parts]
    assert sum(check(name, getattr(module, name), getattr(own, name), "ig.") for name in names) > 100


def test_methods() -> None:
    names = [name for name in functions_of(np.ndarray) if name != "sort" and hasattr(ig.Tensor, name)]
    assert sum(check(name, getattr(np.ndarray, name), getattr(ig.Tensor, name)) for name in names) > 500


def test_diagonals_of_other_axes() -> None:
    x = ig.asarray(SPACE)
    assert ig.diagonal(x).shape == (4, 2)
    assert ig.linalg.diagonal(x).shape == (2, 3)
    assert ig.linalg.trace(x, offset=1).shape == (2,)
    traced = ig.jit(lambda a: (ig.diagonal(a, 1, 0, 2), a.trace(axis1=1, axis2=0)))
    for given, wanted in zip(traced(x), (np.diagonal(SPACE, 1, 0, 2), np.trace(SPACE, axis1=1, axis2=0)), strict=True):
        np.testing.assert_allclose(given.numpy(), wanted, rtol=1e-12)
    gradient = ig.grad(lambda a: ig.sum(ig.diagonal(a, axis1=2, axis2=1) ** 2))(x)
    wanted = np.zeros_like(SPACE)
    for i in range(3):
        wanted[:, i, i] = 2 * SPACE[:, i, i]
    np.testing.assert_allclose(gradient.numpy(), wanted, rtol=1e-12)


def test_negative_numbers_have_the_bits_of_their_size() -> None:
    x = ig.asarray([-1, 3, -8])
    assert ig.bitwise_count(x).tolist() == [1, 2, 1]
    assert ig.population_count(x).tolist() == [64, 2, 61]


def test_sums_are_of_the_dtype_that_is_asked_for() -> None:
    x = ig.asarray(SMALL)
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "float32"):
        for name in ("sum", "prod"):
            given = getattr(ig, name)(x, dtype=dtype)
            assert given.dtype.name == dtype
            np.testing.assert_allclose(given.numpy(), getattr(np, name)(SMALL, dtype=dtype), rtol=1e-6)


def test_what_is_not_computed_in_a_dtype() -> None:
    with pytest.raises(ig.TypeError) as caught:
        np.add(ig.ones(2), 1, dtype="int32")
    first, where, *rest = str(caught.value).splitlines()
    assert first == "np.add: an array of float32 is not computed in int32"
    assert where.startswith("  at: ")
    assert "test_numpy_calls.py" in where
    assert rest == [
        "  why: with casting='same_kind' NumPy converts no float32 to int32",
        "  hint: convert it yourself where that is meant: x.astype(dtype)",
    ]
    assert np.add(ig.ones(2), 1, dtype="int32", casting="unsafe").dtype == ig.int32


@pytest.mark.parametrize("name", ["concat", "stack", "hstack", "vstack", "dstack", "column_stack"])
def test_one_number_is_no_sequence_of_arrays(name: str) -> None:
    with pytest.raises(ig.TypeError) as caught:
        getattr(ig, name)(3.0)
    first, where, *rest = str(caught.value).splitlines()
    assert first == f"{name}: 3.0 is no sequence of arrays"
    assert "test_numpy_calls.py" in where
    assert rest == [
        "  why: several arrays are joined, so they come as a list or a tuple",
        f"  hint: write ig.{name}([x, y])",
    ]


def test_powers_of_whole_numbers_are_exact() -> None:
    x = np.array([[3, 1], [1, 2**20]])
    for n in (1, 2, 3, 5):
        given = ig.linalg.matrix_power(ig.asarray(x), n)
        assert given.dtype == ig.int64
        np.testing.assert_array_equal(given.numpy(), np.linalg.matrix_power(x, n))
    assert ig.linalg.matrix_power(ig.asarray(x), -1).dtype.kind == "real floating"
    with pytest.raises(ig.ShapeError, match=r"linalg\.matrix_power"):
        ig.linalg.matrix_power(ig.ones((2, 3), dtype="int32"), 2)


def test_folds_of_ufuncs_convert_their_elements_first() -> None:
    x = np.array([1.5, 2.5, 100.0])
    for fold in (np.add.reduce, np.multiply.reduce, np.add.accumulate):
        np.testing.assert_array_equal(fold(ig.asarray(x), dtype="int32").numpy(), fold(x, dtype="int32"))
    small = np.array([100, 100], dtype="int8")
    assert np.add.reduce(ig.asarray(small), dtype="int16").tolist() == 200
    assert np.add.outer(ig.asarray(small), ig.asarray(small), dtype="int16").tolist() == [[200, 200]] * 2


@pytest.mark.parametrize("side", ["left", "right"])
def test_searches_of_what_is_not_sorted_answer_alike(side: str) -> None:
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 7, 8, 100):
        x, values = ig.asarray(rng.integers(0, 50, n)), ig.asarray(rng.integers(-5, 55, 40))
        graph = ig.trace(lambda x, values: ig.searchsorted(x, values, side=side), x, values).graph
        by_definition, compiled = graph.evaluate(x, values), graph.compile()(x, values)
        np.testing.assert_array_equal(np.asarray(by_definition), np.asarray(compiled))
