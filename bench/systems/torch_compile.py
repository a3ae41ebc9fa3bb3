"""torch.compile with its default back end. Its caches of compiled programs are off; its imports, and the
checks of the C++ compiler that it makes once in an installation, are done before the clock starts, by another
program.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from adapter import Adapter

from . import Call
from .torch import Torch, TorchAdapter


class CompileAdapter(TorchAdapter):
    def while_loop(self, condition: Any, body: Any, state: tuple) -> tuple:
        from torch._higher_order_ops import while_loop

        return while_loop(condition, body, state)

    backward = Adapter.backward  # what it compiles has none


class TorchCompile(Torch):
    title = "torch.compile"
    compiles = True

    @staticmethod
    def environ(threads: int) -> dict[str, str]:
        off = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
        return Torch.environ(threads) | off

    def load(self, threads: int) -> None:
        folder = Path(sys.prefix) / "inductor"
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
        super().load(threads)
        self.m = CompileAdapter()
        # What earlier programs left is removed: compiled kernels are found again by their text.
        listing = folder / "first-use.txt"
        if listing.exists():
            keep = set(listing.read_text().split("\n"))
            for file in folder.rglob("*"):
                if file.is_file() and file != listing and str(file.relative_to(folder)) not in keep:
                    file.unlink()
        with self.torch.inference_mode():
            self.torch.compile(lambda x: x.cos() * 0.75)(self.torch.ones(64))
        self.torch._dynamo.reset()
        if not listing.exists():
            made = (str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
            listing.write_text("\n".join(made))

    def build(self) -> Call:
        return self.inference(self.torch.compile(self.function()))


SYSTEM = TorchCompile
