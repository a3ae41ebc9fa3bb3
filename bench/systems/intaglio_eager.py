"""Intaglio without capture: each op runs when it is called."""

from __future__ import annotations

from . import Call
from .intaglio import Intaglio


class IntaglioEager(Intaglio):
    title = "Intaglio eager"
    compiles = False

    def build(self) -> Call:
        return self.function()


SYSTEM = IntaglioEager
