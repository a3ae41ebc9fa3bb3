"""The machine under the benchmarks: what it is, and what it reaches in this run."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from workloads import Limit

ROOT = Path(__file__).resolve().parent.parent


def describe() -> dict[str, Any]:
    cpuinfo = Path("/proc/cpuinfo").read_text()

    def field(name: str) -> str:
        found = re.search(rf"^{name}\s*: (.*)$", cpuinfo, re.MULTILINE)
        return found.group(1) if found else "unknown"

    flags = field("flags").split()
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    system = re.search(r'^PRETTY_NAME="(.*)"', release, re.MULTILINE)
    vectors = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "baseline")
    caches = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if (index / "type").read_text().strip() != "Instruction":
            caches[f"L{(index / 'level').read_text().strip()}"] = (index / "size").read_text().strip()
    return {
        "processor": field("model name"),
        "family": f"{field('cpu family')}/{field('model')}",
        "vectors": vectors,
        "processors": len(os.sched_getaffinity(0)),
        "caches": caches,
        "kernel": platform.release(),
        "system": system.group(1) if system else platform.system(),
        "load": os.getloadavg()[0],
    }


class Limits:
    """Runs build/…/bin/intaglio_limits; `available` is false where it was not built or cannot run here."""

    def __init__(self) -> None:
        found = sorted(ROOT.glob("build/*/bin/intaglio_limits"), key=lambda file: "release" not in str(file))
        self.program = found[0] if found else None
        self.available = self.program is not None and bool(self._run("fma", 1, 1, 1))

    def _run(self, kind: str, mib: float, threads: int, ms: int) -> list[dict[str, Any]]:
        assert self.program is not None
        command = [
            self.program,
            "--kind",
            kind,
            "--mib",
            str(round(mib)),
            "--threads",
            str(threads),
            "--ms",
            str(ms),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout)["limits"] if done.returncode == 0 else []

    def all(self, threads: int, ms: int) -> list[dict[str, Any]]:
        """Every measure at 16 MiB and the bandwidths at 256 MiB."""
        rows = self._run("all", 16, threads, ms)
        for kind in ("copy", "stream", "in_place", "read"):
            rows += self._run(kind, 256, threads, ms)
        return rows

    def seconds(self, limit: Limit, threads: int, ms: int) -> dict[str, float]:
        """What the machine needs at least for this amount, measured now."""
        rows = self._run(limit.kind, max(1, limit.mib), threads, ms)
        return {name: limit.amount / max(row[name] for row in rows) * 1e-9 for name in ("median", "best", "processor")}
