"""What the array API standard asks a library to say about itself."""

from __future__ import annotations

from typing import Any

from . import _functions, _intaglio


class __array_namespace_info__:
    """The capabilities, devices and dtypes of this library."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return "cpu"

    def devices(self) -> list[str]:
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        return {
            "real floating": _intaglio.float32,
            "complex floating": _intaglio.complex64,
            "integral": _intaglio.int64,
            "indexing": _intaglio.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        names = ("bool", *_functions._KINDS["numeric"])
        found = {name: getattr(_intaglio, name) for name in names if name != "bfloat16"}
        if kind is None:
            return found
        return {name: dtype for name, dtype in found.items() if _functions.isdtype(dtype, kind)}
