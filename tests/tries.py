"""How many programs, shapes and seeds a random test tries: few enough for each run of all tests, and more where
INTAGLIO_FUZZ says so (`INTAGLIO_FUZZ=300 make test ONLY=python`)."""

from __future__ import annotations

import os


def tries(usual: int) -> int:
    return max(usual, int(os.environ.get("INTAGLIO_FUZZ", "0")))
