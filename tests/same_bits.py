"""Whether two runs gave the same bits: trees of arrays, of keys, of None."""

from __future__ import annotations

from typing import Any

import numpy as np

import intaglio as ig

KEYS = ig.random.split(ig.random.key(0), 8)


def array(x: Any) -> Any:
    """The values; of a random key what it draws."""
    if isinstance(x, ig.Tensor) and x.dtype == KEYS.dtype:
        return np.asarray(ig.random.normal(x, (2,)))
    return np.asarray(x.detach() if isinstance(x, ig.Tensor) else x)


def same(a: Any, b: Any, within: float = 0) -> None:
    """Asserts it; `within` is a relative and an absolute bound for numbers that may differ in rounding."""
    a, b = ig.tree_flatten(a)[0], ig.tree_flatten(b)[0]
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_allclose(array(x), array(y), rtol=within, atol=within)
