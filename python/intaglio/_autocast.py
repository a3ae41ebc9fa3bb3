"""Automatic casting to a 16-bit type, as torch's `autocast`: products in it, folds in float32."""

from __future__ import annotations

import functools
import re
from typing import Any

from . import _errors, _intaglio
from .autograd import _Mode


def _types(words: str, short: str) -> list[str]:
    """The operand types of a sample, without their values."""
    return [word.replace("T[", f"{short}[") for word in re.findall(r"\w+\[[^\]]*\]", words)]


@functools.cache
def _tell_work() -> None:
    """Says of each op whether its work is sums of products, or a fold that rounds: by the traits of what it is made of.

    An op that refuses 16-bit arrays (a factor of a matrix) is neither.
    """
    table = {decl["name"]: decl for decl in _intaglio.op_table() if not decl["name"].startswith("user.")}

    def work(decl: dict[str, Any]) -> set[str]:
        traits = set(decl["traits"])
        kinds = {"contraction"} & traits
        if "reduction" in traits and decl["ulp"]:
            kinds.add("reduction")
        return kinds

    products, folds = [], []
    for name, decl in table.items():
        kinds = work(decl)
        if "composite" in decl["traits"]:
            for sample in decl["samples"][:2]:
                steps = [(name, _types(sample["operands"], "f32"), sample["attrs"])]
                try:
                    body = str(_intaglio._graph_of("work", steps, {}).optimised(passes=["expand-composites"]))
                except _errors.Error:  # of integers alone, say: nothing to cast
                    continue
                for inner in set(re.findall(r"= (\w+)\(", body)):
                    kinds |= work(table[inner]) if inner in table else set()
        if "contraction" in kinds:
            if _takes_short(decl):
                products.append(name)
        elif kinds:
            folds.append(name)
    _intaglio._set_work(products, folds)


def _takes_short(decl: dict[str, Any]) -> bool:
    sample = decl["samples"][0]
    try:
        _intaglio._infer(decl["name"], _types(sample["operands"], "bf16"), sample["attrs"])
    except _errors.Error:
        return False
    return True


class autocast(_Mode):
    """Matrix products, convolutions and attention in a 16-bit type, where the arrays are float32; a context, or a
    decorator.

    What is made of sums of products takes its float32 arrays in `dtype`, and so gives it. What folds (sums, means,
    softmax, norms, losses) takes arrays of `dtype` in float32. Everything else is as its arrays are, and where both
    types meet, float32. Parameters stay float32, and so do their gradients. float64, complex numbers and integers are
    left alone, and so is whatever stands beside float64 in one call.

    It is a mode of the thread, at work where functions are called or recorded, eagerly and in captures; a function
    under `ig.jit` that is called within it and without it has a trace for each. As in torch, the loss is computed
    within it, and the backward pass stands outside.

    Parameters
    ----------
    dtype : "bfloat16" or "float16"
        The 16-bit type. float16 has a small range: small gradients become 0 in it.
    enabled : bool
        Whether it is on; with False, a part of what is within another one is computed as usual.

    Raises
    ------
    ValueError
        For another dtype.

    Examples
    --------
    >>> import intaglio as ig
    >>> x, w = ig.ones((2, 3)), ig.ones((3, 2))
    >>> with ig.autocast():
    ...     y = x @ w
    ...     total = ig.sum(y)
    >>> y.dtype, total.dtype, (x @ w).dtype
    (intaglio.bfloat16, intaglio.float32, intaglio.float32)
    """

    def __init__(self, dtype: Any = "bfloat16", enabled: bool = True) -> None:
        super().__init__()
        wanted = _intaglio.dtype(dtype)
        if wanted.name not in ("bfloat16", "float16"):
            raise _errors.ValueError(
                f"autocast: the dtype is {wanted.name}",
                _intaglio._user_line(),
                why="it casts float32 down to a type of 16 bits",
                hint="choose ig.bfloat16 or ig.float16",
            )
        self.dtype, self.enabled = wanted, enabled

    def _set(self) -> Any:
        _tell_work()
        return _intaglio._set_autocast(self.dtype if self.enabled else None)

    def _restore(self, before: Any) -> None:
        _intaglio._set_autocast(before)

    def _again(self) -> autocast:
        return type(self)(self.dtype, self.enabled)


def is_autocast_enabled() -> bool:
    """Whether automatic casting is on in this thread."""
    return _intaglio._autocast() is not None


def get_autocast_dtype() -> Any:
    """The 16-bit type of automatic casting in this thread, None where it is off."""
    return _intaglio._autocast()
