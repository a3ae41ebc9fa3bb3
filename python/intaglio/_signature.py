"""Signatures of the op functions, from their text, and the types that `infer` of a user's op works on."""

from __future__ import annotations

import ast
import inspect
from typing import Any, NamedTuple


class TensorType(NamedTuple):
    """The type of an array: its dtype and shape."""

    dtype: Any
    shape: tuple[Any, ...]


def from_text(text: str) -> inspect.Signature:
    """The signature that `(x, axis=None, keepdims=False)` stands for."""
    tree = ast.parse(f"def f{text}: pass").body[0]
    assert isinstance(tree, ast.FunctionDef)
    args = tree.args.args
    defaults: list[Any] = [inspect.Parameter.empty] * (len(args) - len(tree.args.defaults))
    for node in tree.args.defaults:
        try:
            defaults.append(ast.literal_eval(node))
        except ValueError:
            defaults.append(ast.unparse(node))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [inspect.Parameter(arg.arg, kind, default=default) for arg, default in zip(args, defaults, strict=True)]
    )
