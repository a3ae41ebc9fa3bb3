"""Arrays between two pages that may not be touched: what reads or writes a byte beside them ends the process."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def guarded(values: np.ndarray, *, at_end: bool) -> Iterator[np.ndarray]:
    """A copy that ends where such a page begins, or begins where one ends."""
    page = mmap.PAGESIZE
    inside = max(1, -(-values.nbytes // page)) * page
    pages = mmap.mmap(-1, inside + 2 * page)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    offset = page + inside - values.nbytes if at_end else page
    x = np.frombuffer(pages, values.dtype, values.size, offset).reshape(values.shape)
    x[...] = values
    for edge in (begin, begin + page + inside):
        assert protect(edge, page, 0) == 0
    try:
        yield x
    finally:
        for edge in (begin, begin + page + inside):
            assert protect(edge, page, mmap.PROT_READ | mmap.PROT_WRITE) == 0
