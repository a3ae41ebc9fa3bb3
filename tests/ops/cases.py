"""Test cases out of the op table: the words of a sample as arrays and attributes, and the comparison of results."""

from __future__ import annotations

import math
import re
from typing import Any

import intaglio as ig
import ml_dtypes
import numpy as np
import scipy.special
from intaglio import _intaglio as core

TEXT_NAMES = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "c64": "complex64", "c128": "complex128", "key": "key",
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


def operand(text: str, dtype: str, low: float, high: float, random: np.random.Generator) -> Any:
    """One operand of a sample: a NumPy array, or random keys as an Intaglio array."""
    match = re.fullmatch(r"(\w+)\[([^\]]*)\]\s*(?:\{(.*)\})?", text)
    assert match, text
    name = dtype if match[1] == "T" else TEXT_NAMES[match[1]]
    shape = tuple(int(size) for size in match[2].split(",") if size.strip())
    if name == "key":
        count = math.prod(shape)
        return core._from_bytes("key", list(shape), random.bytes(8 * count))
    kind = numpy_dtype(name)
    if match[3] is not None:
        words = [word.strip() for word in match[3].split(",") if word.strip()]
        values = [{"true": 1.0, "false": 0.0}.get(word) for word in words]
        numbers = [
            (float.fromhex(word) if "0x" in word else float(word)) if value is None else value
            for word, value in zip(words, values, strict=True)
        ]
        return np.array(numbers, dtype=np.float64).astype(kind).reshape(shape)
    if name == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if name.startswith("complex"):
        return (random.uniform(low, high, shape) + 1j * random.uniform(low, high, shape)).astype(kind)
    drawn = random.uniform(low, high, shape)
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


# --- distances ----------------------------------------------------------------------------------------------------------

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
    lines = [f"at {index}: got {got[index]!r}, want {want[index]!r}"]
    for number, array in enumerate(inputs):
        if isinstance(array, np.ndarray) and array.shape == got.shape:
            lines.append(f"  operand {number}: {array[index]!r}")
    return "\n".join(lines)


def worst(distance: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), distance.shape))


# --- the oracle that is not ours ----------------------------------------------------------------------------------------

# Expressions about the representation itself; all others may be computed with more digits and rounded once.
BY_REPRESENTATION = ("nextafter", ".view(", "spacing", "astype(dtype)")


def oracle(decl: dict[str, Any], arrays: list[Any], attr_text: str) -> list[np.ndarray[Any, Any]] | None:
    """The results by NumPy and SciPy, or None where the declaration says that they have no such function."""
    expression = decl["numpy"]
    if not expression or expression.startswith("none") or any(isinstance(a, ig.Tensor) for a in arrays):
        return None
    wide = not any(word in expression for word in BY_REPRESENTATION)
    values = [
        a.astype(np.float64) if wide and a.dtype.name in ("float16", "bfloat16", "float32") else a for a in arrays
    ]
    scope: dict[str, Any] = {"np": np, "scipy": scipy, "ml_dtypes": ml_dtypes}
    names = decl["operands"]
    for number, spec in enumerate(names):
        scope[spec["name"]] = values[number:] if spec["variadic"] else values[number] if number < len(values) else None
    for name, value in core._parse_attrs(decl["name"], attr_text).items():
        scope[name] = numpy_dtype(value.name) if isinstance(value, ig.dtype) and value.name != "key" else value
    with np.errstate(all="ignore"):
        result = eval(expression, scope)  # noqa: S307: the op's own declaration
    return [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else (result,))]
