"""The passes of the optimiser, as Python sees them."""

from __future__ import annotations

from . import _intaglio


def passes() -> dict[str, str]:
    """The passes by name, with what each does; `default_pipeline()` gives their order.

    Examples
    --------
    >>> ig.passes()["dce"]
    'Removes nodes without effects whose results nobody uses.'
    """
    return dict(_intaglio._passes()[0])


def default_pipeline() -> list[str]:
    """The names of the passes that a compile runs, in order; a pass may stand there more than once.

    Examples
    --------
    >>> ig.default_pipeline()[-1]
    'fuse'
    """
    return list(_intaglio._passes()[1])
