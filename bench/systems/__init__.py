"""The systems that are measured, one file each; the file's name is the system's name.

A file defines one subclass of `System` called `SYSTEM`. Its class attributes are read without importing the
library; only `load` imports it, in the worker process.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from adapter import Adapter
from workloads import Arrays, Workload

Call = Callable[..., Any]  # native inputs to native outputs, finished when it returns


class System:
    title = ""
    peer: str | None = None  # its environment under build/peers; None: the environment of the build
    packages: tuple[str, ...] = ()  # what pip installs there
    distribution = ""  # the package that its weight is taken from
    module = ""  # what `import` is measured of
    compiles = False  # whether the first call of a program does more than a later one
    settles = 0.0  # seconds of calls after which none begins to compile any more

    @staticmethod
    def environ(threads: int) -> dict[str, str]:
        """Variables of the worker process."""
        return {}

    def load(self, threads: int) -> None:
        """Imports the library and sets its number of threads."""
        raise NotImplementedError

    def adapter(self, workload: Workload) -> Adapter:
        raise NotImplementedError

    def to_native(self, array: np.ndarray) -> Any:
        raise NotImplementedError

    def to_numpy(self, native: Any) -> np.ndarray:
        return np.asarray(native)

    def prepare(self, workload: Workload, inputs: Sequence[np.ndarray], weights: Arrays) -> None:
        """What comes before the clock of the first call: a saved model, native weights."""
        self.workload = workload
        self.example = tuple(inputs)
        self.weights = {name: self.to_native(value) for name, value in weights.items()}

    def settle(self) -> None:
        """Waits for what is still being compiled beside the calls."""

    def build(self) -> Call:
        """The program, ready to be called; belongs to the cold time."""
        raise NotImplementedError


def names() -> list[str]:
    """Of all systems, ours first."""
    found = sorted(file.stem for file in Path(__file__).parent.glob("*.py") if file.stem != "__init__")
    first = [name for name in ("intaglio", "intaglio_eager", "numpy") if name in found]
    return [*first, *(name for name in found if name not in first)]


def get(name: str) -> System:
    return importlib.import_module(f"{__name__}.{name}").SYSTEM()
