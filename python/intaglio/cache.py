"""The cache of compiled kernels on disk: what one process compiled, the next one loads.

It needs no setting. `INTAGLIO_CACHE_DIR` says where it lies (else `~/.cache/intaglio`), `INTAGLIO_CACHE_BYTES` how
large it may grow, and `INTAGLIO_CACHE=0` turns it off.

>>> import tempfile
>>> import intaglio as ig
>>> with tempfile.TemporaryDirectory() as folder:
...     ig.cache.configure(enabled=True, folder=folder)
...     traced = ig.trace(lambda x: ig.sin(x) * 3.75 - x, ig.ones(5))
...     _ = traced(ig.ones(5))
...     ig.cache.info().entries, ig.cache.clear()
(1, 1)
>>> ig.cache.configure(enabled=False)
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import _errors, _intaglio

__all__ = ["Info", "clear", "configure", "info"]


@dataclass(frozen=True)
class Info:
    """What the cache is, and what this process did with it."""

    enabled: bool
    """Whether kernels are looked for and kept."""
    folder: str
    """Where it lies, or will; empty where there is no place for one."""
    limit: int
    """Bytes that all its files may have together. Kernels used longest ago go first."""
    problem: str
    """Why it is not used, or not written to; empty where all is well."""
    entries: int
    """Kernels in the folder."""
    bytes: int
    """Bytes of all files in the folder."""
    hits: int
    """Kernels that this process loaded."""
    misses: int
    """Kernels that this process did not find, and compiled."""
    rejected: int
    """Of the misses, those whose file was damaged, not this user's, or not signed with this user's secret."""
    stored: int
    """Kernels that this process wrote."""
    removed: int
    """Kernels that this process removed to keep the limit."""


def info() -> Info:
    """What the cache is, and what this process did with it.

    Raises `ig.ValueError` where `INTAGLIO_CACHE` or `INTAGLIO_CACHE_BYTES` says nothing sensible.

    >>> import intaglio as ig
    >>> ig.cache.info().limit
    268435456
    """
    return Info(**_intaglio._cache_info())


def clear() -> int:
    """Removes all kernels from the folder, for all processes; gives how many there were.

    Programs that run keep what they loaded. Files that are not the cache's stay. Raises `ig.IOError` where the folder
    cannot be used: `info().problem` says why.
    """
    return int(_intaglio._cache_clear())


def configure(
    *, enabled: bool | None = None, folder: str | os.PathLike[str] | None = None, limit: int | None = None
) -> None:
    """Changes the settings of this process, those that are given. What is loaded stays loaded.

    `folder` is made, readable by this user alone, when the first kernel is looked for; it must belong to this user, and
    others must not be able to write to it. Raises `ig.ValueError` where `limit` is negative.
    """
    now = info()
    if limit is not None and not 0 <= limit < 1 << 64:
        raise _errors.ValueError(
            f"configure: limit is {limit}",
            _intaglio._user_line(),
            "it is the number of bytes that the files of the cache may have together",
            "give a number of at least 0, or enabled=False to turn the cache off",
        )
    _intaglio._cache_configure(
        now.enabled if enabled is None else enabled,
        now.folder if folder is None else os.fspath(folder),
        now.limit if limit is None else limit,
    )
