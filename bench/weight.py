"""What a system weighs: time of import and memory after it, in fresh processes, and bytes on disk."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import peers
import systems

IMPORT = """
import time
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
with open("/proc/self/status") as file:
    rows = [line.split() for line in file]
resident = next(int(row[1]) for row in rows if row[0] == "VmRSS:") * 1024
print(seconds, resident)
"""

# The files of a distribution, alone and with all that it needs, and their bytes compressed as in a wheel.
DISK = """
import importlib.metadata, json, re, sys, zlib
def files(name):
    return [f for f in importlib.metadata.files(name) or () if ".pyc" not in f.name and f.locate().is_file()]
def needs(name, seen):
    key = re.sub("[-_.]+", "-", name).lower()
    if key in seen:
        return seen
    try:
        requires = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return seen
    seen.add(key)
    for need in requires:
        if "extra ==" not in need:
            needs(re.match("[A-Za-z0-9._-]+", need).group(0), seen)
    return seen
def size(name):
    return sum(f.locate().stat().st_size for f in files(name))
own = size({name!r})
packed = sum(len(zlib.compress(f.locate().read_bytes(), 6)) for f in files({name!r})) if own < 3e8 else None
version = importlib.metadata.version({name!r})
print(json.dumps({{"version": version, "own": own, "with_needs": sum(map(size, needs({name!r}, set()))),
                  "packed": packed}}))
"""


def run(name: str, script: str) -> str:
    done = subprocess.run([peers.python_of(name), "-I", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout


def version(name: str) -> str:
    script = f"import importlib.metadata; print(importlib.metadata.version({systems.get(name).distribution!r}))"
    return run(name, script).strip()


def measure(names: Sequence[str], rounds: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """One row a system, imports interleaved round by round. The first round only warms the file cache."""
    times: dict[str, list[float]] = {name: [] for name in names}
    resident: dict[str, list[int]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        for name in names:
            say(f"import of {systems.get(name).title}, round {turn} of {rounds}")
            seconds, after = run(name, IMPORT.format(module=systems.get(name).module)).split()
            if turn:
                times[name].append(float(seconds))
                resident[name].append(int(after))
    rows = []
    for name in names:
        say(f"bytes of {systems.get(name).title}")
        disk = json.loads(run(name, DISK.format(name=systems.get(name).distribution)))
        rows.append(
            {
                "system": name,
                "import": statistics.median(times[name]),
                "import_best": min(times[name]),
                "resident": int(statistics.median(resident[name])),
                **disk,
            }
        )
    return rows


def distinct(names: Sequence[str]) -> list[str]:
    """One system a module: eager and compiled weigh the same."""
    seen: dict[str, str] = {}
    for name in names:
        seen.setdefault(systems.get(name).module, name)
    return list(seen.values())
