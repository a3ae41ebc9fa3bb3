"""torch.compile with its default back end, caches off."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from . import Call
from .torch import Torch, TorchAdapter


class CompileAdapter(TorchAdapter):
    def while_loop(self, condition: Any, body: Any, state: tuple) -> tuple:
        from torch._higher_order_ops import while_loop

        return while_loop(condition, body, state)


class TorchCompile(Torch):
    title = "torch.compile"
    compiles = True

    @staticmethod
    def environ(threads: int) -> dict[str, str]:
        return Torch.environ(threads) | {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}

    def load(self, threads: int) -> None:
        # In the scratch folder of the run (TMPDIR), which the driver removes.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="inductor-")
        super().load(threads)
        self.m = CompileAdapter()

    def build(self) -> Call:
        return self.inference(self.torch.compile(self.function()))


SYSTEM = TorchCompile
