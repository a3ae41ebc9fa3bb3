"""Test cases out of the op table: the words of a sample as arrays and attributes, and the comparison of
results."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import ml_dtypes
import numpy as np
import scipy.signal
import scipy.special

import intaglio as ig
from intaglio import _intaglio as core

TEXT_NAMES = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    "key": "key",
}
SHORT_NAMES = {long: short for short, long in TEXT_NAMES.items()}


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def split(text: str) -> list[str]:
    """Splits at the commas outside of brackets."""
    out, depth, item = [], 0, ""
    for c in text:
        depth += (c in "[{(<") - (c in "]})>")
        if c == "," and depth == 0:
            out.append(item.strip())
            item = ""
        else:
            item += c
    return [*out, item.strip()] if item.strip() else out


def number(word: str) -> complex:
    if word.startswith("("):
        return complex(*(number(part).real for part in split(word[1:-1])))
    if word in ("true", "false"):
        return complex(word == "true")
    return complex(float.fromhex(word) if "0x" in word else float(word))


def operand(text: str, dtype: str, low: float, high: float, random: np.random.Generator) -> Any:
    """One operand of a sample: a NumPy array, or random keys as an Intaglio array. `R` is the type of the parts of `T`,
    and (re, im) a complex number; of a real type its real part."""
    match = re.fullmatch(r"(\w+)\[([^\]]*)\]\s*(?:\{(.*)\})?", text)
    assert match, text
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    name = {"T": dtype, "R": part}.get(match[1]) or TEXT_NAMES[match[1]]
    shape = tuple(int(size) for size in match[2].split(",") if size.strip())
    if name == "key":
        count = math.prod(shape)
        return core._from_bytes("key", list(shape), random.bytes(8 * count))
    kind = numpy_dtype(name)
    if match[3] is not None:
        words = split(match[3])
        if name.startswith(("int", "uint")):
            return np.array([int(word) for word in words], dtype=kind).reshape(shape)
        numbers = np.array([number(word) for word in words], dtype=np.complex128)
        return (numbers if kind.kind == "c" else numbers.real).astype(kind).reshape(shape)
    if name == "bool":
        return np.asarray(random.integers(0, 2, shape)).astype(bool)
    if name.startswith("complex"):
        return np.asarray(random.uniform(low, high, shape) + 1j * random.uniform(low, high, shape)).astype(kind)
    drawn = np.asarray(random.uniform(low, high, shape))
    if name.startswith("uint"):
        drawn = np.abs(drawn)
    return np.trunc(drawn).astype(kind) if "int" in name else drawn.astype(kind)


def operands(sample: dict[str, Any], dtype: str, seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [operand(text, dtype, sample["low"], sample["high"], random) for text in split(sample["operands"])]


def tensors(arrays: list[Any]) -> list[ig.Tensor]:
    return [array if isinstance(array, ig.Tensor) else ig.asarray(array) for array in arrays]


def bits(tensor: ig.Tensor) -> bytes:
    return core._to_bytes(tensor)


# --- the cases of an op -------------------------------------------------------------------------------------

TABLE = {decl["name"]: decl for decl in core.op_table()}
RUNNABLE = [name for name, decl in TABLE.items() if decl["samples"] and not {"control", "effect"} & set(decl["traits"])]


def dtypes_of(name: str) -> list[str]:
    return [dtype.name for dtype in TABLE[name]["dtypes"]]


def short_type(array: Any) -> str:
    return f"{SHORT_NAMES[array.dtype.name]}[{', '.join(map(str, array.shape))}]"


def symbols_in(steps: list[Any]) -> dict[str, int]:
    """The symbols of the operand types, none of them 0 or 1."""
    return {word: 2 for _, types, _ in steps for word in re.findall(r"\bm\d+_\d+\b", " ".join(types))}


class Case:
    """One sample in one dtype: its operands, and its results in each way to run it, computed once."""

    def __init__(self, name: str, sample: int, dtype: str) -> None:
        self.name, self.sample, self.dtype = name, sample, dtype
        declared = TABLE[name]["samples"][sample]
        self.attrs: str = declared["attrs"]
        self.words: str = declared["operands"]
        self.arrays = operands(declared, dtype, seed=sample)
        self.types = [short_type(array) for array in self.arrays]
        self.refused = self._refused()
        self._results: dict[str, Any] = {}

    def _refused(self) -> ig.Error | None:
        try:
            core._infer(self.name, self.types, self.attrs)
        except ig.Error as error:
            return error
        return None

    def given(self) -> list[ig.Tensor]:
        if "given" not in self._results:
            self._results["given"] = tensors(self.arrays)
        return self._results["given"]

    def reference(self) -> tuple[ig.Tensor, ...]:
        if "reference" not in self._results:
            self._results["reference"] = core._reference(self.name, self.given(), self.attrs)
        return self._results["reference"]

    def eager(self) -> tuple[ig.Tensor, ...]:
        if "eager" not in self._results:
            self._results["eager"] = core._apply(self.name, self.given(), self.attrs)
        return self._results["eager"]

    def symbolic_types(self) -> list[str]:
        """The operand types with symbols for sizes: equal ones the same, 1 stays."""
        names: dict[int, str] = {}
        out = []
        for array in self.arrays:
            sizes = [str(n) if n < 2 else names.setdefault(n, f"n{len(names)}") for n in array.shape]
            out.append(f"{SHORT_NAMES[array.dtype.name]}[{', '.join(sizes)}]")
        return out

    def __str__(self) -> str:
        return f"{self.name}({self.words}) {self.attrs} T={self.dtype}"


@functools.cache
def cases(name: str) -> list[Case]:
    """Each sample in each dtype of the op; a sample without T once."""
    out = []
    for number, sample in enumerate(TABLE[name]["samples"]):
        for dtype in dtypes_of(name):
            if "T[" in sample["operands"] or dtype == dtypes_of(name)[0]:
                out.append(Case(name, number, dtype))
    return out


def refusal(name: str, dtype: str) -> ig.Error | None:
    return next((case.refused for case in cases(name) if case.dtype == dtype), None)


def same_values(a: ig.Tensor, b: ig.Tensor) -> bool:
    """The same bits, but that a NaN is any NaN: which of two operands' NaN comes out is not stated."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if bits(a) == bits(b):
        return True
    if a.dtype.name not in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        return False
    x, y = parts(a.numpy()), parts(b.numpy())
    nan = np.isnan(x) & np.isnan(y)
    kind = INTEGER_OF[x.dtype.itemsize]
    return bool(np.all(nan | (np.ascontiguousarray(x).view(kind) == np.ascontiguousarray(y).view(kind))))


def difference(what: str, a: ig.Tensor, b: ig.Tensor) -> str:
    if a.dtype.name == "key" or a.shape != b.shape:
        return what
    x, y = a.numpy(), b.numpy()
    where = np.argwhere(~((x == y) | ((x != x) & (y != y))))
    at = tuple(int(i) for i in where[0]) if len(where) else ()
    return f"{what}: {len(where)} of {x.size} elements; at {at} {x[at]!r} and {y[at]!r}"


# --- distances ----------------------------------------------------------------------------------------------

INTEGER_OF = {2: np.int16, 4: np.int32, 8: np.int64}


def ordered(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Floats as integers in the same order, neighbours one apart; both zeros are 0."""
    whole = np.ascontiguousarray(values).view(INTEGER_OF[values.dtype.itemsize]).astype(object)
    low = -(1 << (8 * values.dtype.itemsize - 1))
    return np.where(whole < 0, low - whole, whole)


def ulps(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How many floats lie between; 0 where both are NaN."""
    if got.size == 0:
        return np.zeros(got.shape)
    gap = np.abs(ordered(got) - ordered(want)).astype(np.float64)
    return np.where(np.isnan(got) & np.isnan(want), 0.0, np.where(np.isnan(got) | np.isnan(want), np.inf, gap))


def describe(index: Any, inputs: list[Any], got: Any, want: Any) -> str:
    got, want = np.atleast_1d(got), np.atleast_1d(want)
    lines = [f"at {index}: got {got[index]!r}, want {want[index]!r}"]
    for number, array in enumerate(inputs):
        if isinstance(array, np.ndarray) and array.shape == got.shape:
            lines.append(f"  operand {number}: {array[index]!r}")
    return "\n".join(lines)


def worst(distance: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), distance.shape))


def float_of(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def parts(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Complex numbers as pairs of floats, along a new last axis."""
    if array.dtype.kind != "c":
        return array
    return np.stack([array.real, array.imag], axis=-1)


def unit_of(array: np.ndarray[Any, Any], size: float) -> float:
    """The distance of neighbouring floats at a size."""
    digits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[array.dtype.name]
    return 2.0 ** (math.floor(math.log2(size)) - digits) if size > 0 else 0.0


# Functions with zeros of their own: near them the error is measured against 1.
WITH_ZEROS = (
    "lgamma",
    "digamma",
    "betaln",
    "binomial_coefficient",
    "logaddexp",
    "logsumexp",
    "bessel_j0",
    "bessel_j1",
    "expi",
)


def check_close(decl: dict[str, Any], what: str, arrays: list[Any], got: Any, want: Any, bound: float) -> None:
    """Floats within `bound` units in the last place (of the largest element, where elements meet in sums),
    the same
    NaNs and infinities; complex numbers within as many units of their magnitude; all else equal."""
    if got.dtype.kind == "c":
        return check_close_complex(decl, what, arrays, got, want, bound)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
    if got.size == 0:
        return
    if not float_of(got):
        different = got != want.astype(got.dtype)
        assert not different.any(), f"{what}\n{describe(worst(different), arrays, got, want)}"
        return
    with np.errstate(all="ignore"):
        want = want.astype(got.dtype)
    distance = ulps(got, want)
    wrong = distance > bound
    if wrong.any() and (
        "elementwise" not in decl["traits"] or decl["name"] in WITH_ZEROS or "composite" in decl["traits"]
    ):
        wide, exact = got.astype(np.float64), want.astype(np.float64)
        finite = np.isfinite(wide) & np.isfinite(exact)
        largest = 1.0 if "elementwise" in decl["traits"] else float(np.max(np.abs(exact[finite]), initial=1.0))
        gap = np.abs(np.where(finite, wide, 0) - np.where(finite, exact, 0))
        wrong &= ~(finite & (gap <= bound * unit_of(got, largest)))
    at = worst(np.where(wrong, distance, 0))
    assert not wrong.any(), f"{what}: {distance[at]} ulp, bound {bound}\n{describe(at, arrays, got, want)}"


def check_close_complex(decl: dict[str, Any], what: str, arrays: list[Any], got: Any, want: Any, bound: float) -> None:
    """Both parts within `bound` units in the last place of the magnitude (of the largest one, where elements
    meet in sums); a part that is NaN or infinite the same."""
    assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
    if got.size == 0:
        return
    with np.errstate(all="ignore"):
        a, b = parts(got), parts(want.astype(got.dtype))
        finite = np.isfinite(b)
        gap = np.where(finite, np.abs(a - b), np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.inf))
        size = np.max(np.where(finite, np.abs(b), 0), axis=-1, keepdims=True)
        if "elementwise" not in decl["traits"] or "composite" in decl["traits"]:
            size = np.maximum(size, max(1.0, float(np.max(size))))
        distance = np.where(gap == 0, 0, gap / np.spacing(size))
    wrong = ~(distance <= bound)
    at = worst(np.where(wrong, np.nan_to_num(distance, nan=np.inf), 0))
    assert not wrong.any(), f"{what}: {distance[at]} ulp, bound {bound}\n{describe(at[:-1], arrays, got, want)}"


def complex_operands(case: Case) -> bool:
    return any(isinstance(a, np.ndarray) and a.dtype.kind == "c" for a in case.arrays)


def bound_of(decl: dict[str, Any], dtype: str, of_complex: bool = False) -> float:
    """The stated bound is of float32; the narrow types round that once more, and float64 has twice the
    length of
    polynomial to err in. Complex operands have a bound of their own."""
    if of_complex:
        return float(decl["complex_ulp"])
    return float(decl["ulp"]) * (2 if dtype in ("float64", "complex128") else 1) + (
        1 if dtype in ("float16", "bfloat16") and decl["ulp"] else 0
    )


def terms(decl: dict[str, Any], case: Case) -> int:
    """How many numbers at most meet in one sum, where the op sums."""
    if "elementwise" in decl["traits"] or "view" in decl["traits"]:
        return 0
    return max((n for a in case.arrays for n in a.shape), default=0)


def is_dot(decl: dict[str, Any], case: Case) -> bool:
    """Whether it is a product without a free axis, which is a sum by its definition."""
    ranks = [array.ndim for array in case.arrays]
    if decl["name"] == "dot_general":
        given = core._parse_attrs("dot_general", case.attrs)
        bound = [
            len(given.get(f"{side}_batching_dimensions", ())) + len(given.get(f"{side}_contracting_dimensions", ()))
            for side in ("lhs", "rhs")
        ]
        return bound == ranks
    return decl["name"] in ("vecdot", "vdot") or (decl["name"] in ("matmul", "dot", "inner") and ranks == [1, 1])


def own_bound(decl: dict[str, Any], case: Case, dtype: str) -> float:
    """Compiled code against the definition: the functions' bounds, and sums in another order."""
    own = bound_of(TABLE["reduce_sum"] if is_dot(decl, case) else decl, dtype, complex_operands(case))
    return own + (0 if own == 0 else terms(decl, case) / 4)


def oracle_bound(decl: dict[str, Any], case: Case, dtype: str) -> float:
    """Against NumPy in float64: rounding at every step instead of once."""
    own = bound_of(decl, dtype, complex_operands(case)) + terms(decl, case) / 2
    return own + (4 if dtype in ("float64", "complex64", "complex128") else 1)


# --- the oracle that is not ours ----------------------------------------------------------------------------

# Expressions about the representation itself; all others may be computed with more digits and rounded once.
BY_REPRESENTATION = ("nextafter", ".view(", "spacing", "astype(dtype)")


WIDE: dict[str, Any] = {
    "float16": np.float64,
    "bfloat16": np.float64,
    "float32": np.float64,
    "complex64": np.complex128,
    "complex128": np.clongdouble,
}


def oracle(decl: dict[str, Any], arrays: list[Any], attr_text: str) -> list[np.ndarray[Any, Any]] | None:
    """The results by NumPy and SciPy, or None where the declaration says that they have no such function."""
    expression = decl["numpy"]
    if not expression or expression.startswith("none") or any(isinstance(a, ig.Tensor) for a in arrays):
        return None
    wide = not any(word in expression for word in BY_REPRESENTATION)
    values = [a.astype(WIDE.get(a.dtype.name, a.dtype)) if wide else a for a in arrays]
    scope: dict[str, Any] = {"np": np, "scipy": scipy, "ml_dtypes": ml_dtypes}
    names = decl["operands"]
    for number, spec in enumerate(names):
        scope[spec["name"]] = values[number:] if spec["variadic"] else values[number] if number < len(values) else None
    for name, value in core._parse_attrs(decl["name"], attr_text).items():
        scope[name] = numpy_dtype(value.name) if isinstance(value, ig.dtype) and value.name != "key" else value
    with np.errstate(all="ignore"):
        result = eval(expression, scope)  # the op's own declaration
    return [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else (result,))]
