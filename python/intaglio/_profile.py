"""`ig.profile`: where the time goes."""

from __future__ import annotations

import os
from pathlib import Path

from . import _intaglio


class profile(_intaglio.Profile):
    """Records what runs in a `with` block, in all threads, and tells it by kernel, with your lines.

    What compiled functions run is told kernel by kernel; ops that run by themselves, as in eager execution and in the
    first calls of a jitted function, op by op, with all that their call took; and capturing and compiling by phases.
    While nobody records, nothing is measured.

    Parameters
    ----------
    max_events
        How many events of the timeline are kept (24 bytes each). Tables count everything.

    Attributes
    ----------
    kernels : list of dict
        A dict for each kernel of a program, copy, call of the process and op that ran by itself, the longest first:
        `kind` ("kernel", "copy", "host", "op"), `name` (of the kernel's kind, or the op), `ops` (what it computes),
        `program`, `module`, `line` (of its result) and `lines` (all), `result` (its type), `calls`, `total_ns`,
        `least_ns` (one call), `busy_ns` (of all threads; 0 of ops), `bytes` (read and written) and `flops` (of
        products and convolutions of known sizes), by all calls.
    phases : list of dict
        The same of each phase of a program's compilation.
    calls : list of dict
        The same of each program as a whole.
    milliseconds : float
        From the beginning of the recording to its end.

    Raises
    ------
    ValueError
        Where another profile is recording, and where results are read before the block has ended.

    Examples
    --------
    >>> def model(x, w):
    ...     return ig.softmax(ig.relu(x @ w))
    >>> f = ig.jit(model).lower(ig.ones((8, 16)), ig.ones((16, 4))).compile()
    >>> with ig.profile() as p:
    ...     for _ in range(3):
    ...         _ = f(ig.ones((8, 16)), ig.ones((16, 4)))
    >>> sum(kernel["flops"] for kernel in p.kernels)  # 3 products of 8 by 16 by 4
    3072.0
    >>> sorted({kernel["calls"] for kernel in p.kernels})
    [3, 6]
    """

    def __init__(self, max_events: int = 200_000) -> None:
        super().__init__(max_events)

    def __enter__(self) -> profile:
        super().__enter__()
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the timeline as JSON that trace viewers open (https://ui.perfetto.dev, chrome://tracing)."""
        Path(path).write_text(self.chrome_trace(), encoding="utf-8")
