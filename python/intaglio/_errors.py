"""The errors of Intaglio: each has four parts, what happened, where in the user's program, why, and what to write.

Every class derives from `Error` and, where Python has an exception of that meaning, from that one too, so programs may
catch either.
"""

from __future__ import annotations

import builtins


class Error(Exception):
    """The base of all errors of Intaglio."""

    def __init__(self, what: str = "", where: str = "", why: str = "", hint: str = "") -> None:
        super().__init__(what, where, why, hint)
        self.what = what
        self.where = where
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  at: {self.where}")
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class TypeError(Error, builtins.TypeError):
    """A dtype or an object of the wrong type."""


class ValueError(Error, builtins.ValueError):
    """An argument outside its range."""


class ShapeError(Error, builtins.ValueError):
    """Ranks or sizes that do not fit."""


class IndexError(Error, builtins.IndexError):
    """An index or axis out of range."""


class CaptureError(Error, builtins.RuntimeError):
    """What cannot be captured faithfully."""


class ParseError(Error, builtins.ValueError):
    """Text or bytes that do not follow the grammar."""


class VerifyError(Error, builtins.ValueError):
    """A graph that breaks the laws of the IR."""


class IOError(Error, builtins.OSError):
    """A file that is missing, truncated or corrupt."""


class MemoryError(Error, builtins.MemoryError):
    """A plan or an array that does not fit."""


class UnsupportedError(Error, builtins.NotImplementedError):
    """A thing that this build or machine lacks."""


class InternalError(Error, builtins.RuntimeError):
    """A fault in Intaglio itself."""


class ZeroDivisionError(ValueError, builtins.ZeroDivisionError):
    """A division of integers by zero."""


class FloatingPointError(ValueError, builtins.FloatingPointError):
    """A NaN or an infinity that an op makes, where the program watches for them."""
