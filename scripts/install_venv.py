#!/usr/bin/env python3
# Installs a finished CMake build into the virtual environment that runs this script, as pip would install the
# wheel: the package in site-packages with its metadata and record (so that pip can replace or remove it), the
# command in bin/. Files of an earlier install that are gone from the tree are removed.
#   .venv/bin/python scripts/install_venv.py build/release
from __future__ import annotations

import base64
import compileall
import csv
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path


def same(a: Path, b: Path) -> bool:
    if not b.exists() or b.is_symlink() or a.stat().st_size != b.stat().st_size:
        return False
    return a.stat().st_mode == b.stat().st_mode and a.read_bytes() == b.read_bytes()


def digest(path: Path) -> str:
    raw = hashlib.sha256(path.read_bytes()).digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def recorded_files(site: Path, info: Path) -> set[Path]:
    record = info / "RECORD"
    if not record.exists():
        return set()
    with record.open(newline="") as file:
        return {Path(os.path.normpath(site / row[0])) for row in csv.reader(file) if row}


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    source = Path(__file__).resolve().parent.parent
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    site = Path(sysconfig.get_path("platlib"))
    scripts = Path(sysconfig.get_path("scripts"))
    info = site / f"{project['name']}-{project['version']}.dist-info"
    cmake = shutil.which("cmake", path=f"{scripts}:{os.environ['PATH']}")
    if cmake is None:
        print("install_venv.py: no cmake: run scripts/setup.sh first", file=sys.stderr)
        return 1

    with tempfile.TemporaryDirectory() as staging:
        root = Path(staging)
        subprocess.run([cmake, "--install", build, "--prefix", root, "--strip"], check=True, stdout=subprocess.DEVNULL)
        places = {site: root / project["name"], scripts: root / "bin"}
        installed: list[Path] = []
        for target, staged in places.items():
            base = root if target == site else staged
            for file in sorted(p for p in staged.rglob("*") if p.is_file()):
                to = target / file.relative_to(base)
                installed.append(to)
                if same(file, to):
                    continue
                to.parent.mkdir(parents=True, exist_ok=True)
                # A new file in the old one's place: whoever has the old one mapped goes on undisturbed.
                temporary = to.with_name(to.name + ".new")
                shutil.copy2(file, temporary)
                os.replace(temporary, to)
        # As pip does: compiling at each import where bytecode may not be written costs as much again as NumPy's.
        sources = [file for file in installed if file.suffix == ".py"]
        for file in sources:
            compileall.compile_file(file, quiet=1)
        installed += [Path(importlib.util.cache_from_source(file)) for file in sources]

    for old in site.glob(f"{project['name']}-*.dist-info"):
        for file in recorded_files(site, old) - set(installed):
            file.unlink(missing_ok=True)
        shutil.rmtree(old)
    info.mkdir()
    requires = "".join(f"Requires-Dist: {need}\n" for need in project.get("dependencies", []))
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        f"Summary: {project['description']}\nRequires-Python: {project['requires-python']}\n{requires}"
    )
    (info / "INSTALLER").write_text("install_venv\n")
    record = [*installed, info / "METADATA", info / "INSTALLER"]
    with (info / "RECORD").open("w", newline="") as file:
        writer = csv.writer(file)
        for path in record:
            writer.writerow([os.path.relpath(path, site), digest(path), path.stat().st_size])
        writer.writerow([os.path.relpath(info / "RECORD", site), "", ""])
    return 0


if __name__ == "__main__":
    sys.exit(main())
