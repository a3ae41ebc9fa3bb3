"""The peers' environments: one virtual environment each under build/peers, so that their needs never meet."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import systems

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "build" / "peers"


def python_of(name: str) -> Path:
    """The interpreter that a system's worker runs in. For a peer it need not be there."""
    peer = systems.get(name).peer
    return Path(sys.executable) if peer is None else PEERS / peer / "bin" / "python"


def stamp_of(name: str) -> tuple[Path, str]:
    """The file that says what an environment holds, and what it should say."""
    system = systems.get(name)
    return PEERS / (system.peer or "") / ".stamp", "\n".join(system.packages)


def installed(name: str) -> bool:
    if systems.get(name).peer is None:
        return True
    stamp, wanted = stamp_of(name)
    return stamp.exists() and stamp.read_text() == wanted


def install(names: Iterable[str]) -> None:
    """Makes the environments that are missing. A peer that cannot be installed is said so, and left out."""
    for name in names:
        system = systems.get(name)
        if installed(name):
            continue
        folder = PEERS / (system.peer or "")
        print(f"installing {', '.join(system.packages)} into {folder.relative_to(ROOT)} …", file=sys.stderr)
        steps = [
            [sys.executable, "-m", "venv", folder],
            [folder / "bin" / "python", "-m", "pip", "install", "-q", *system.packages],
        ]
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, check=False)
            if done.returncode:
                said = (done.stderr or done.stdout).strip().splitlines()
                print(
                    f"  {system.title} is left out: not installable ({said[-1] if said else 'no word'})",
                    file=sys.stderr,
                )
                break
        else:
            stamp, wanted = stamp_of(name)
            stamp.write_text(wanted)
