# The three shared objects as installed: their sizes, what they need, and what they keep to themselves.
from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

MB = 1 << 20
BASE = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"} | {
    "libintaglio.so",
    "libintaglio_runtime.so",
}


def package() -> Path:
    spec = importlib.util.find_spec("intaglio")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


def libraries() -> list[Path]:
    return sorted(package().glob("libintaglio*.so"))


def readelf(option: str, library: Path) -> str:
    return subprocess.run(["readelf", option, "-W", library], check=True, capture_output=True, text=True).stdout


def test_the_libraries_are_installed() -> None:
    assert {"libintaglio_runtime.so", "libintaglio.so", "libintaglio_compiler.so"} <= {p.name for p in libraries()}


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("libintaglio_runtime.so", 2),
        ("libintaglio.so", 6),
        ("libintaglio_kernels.so", 4.5),
        ("libintaglio_compiler.so", 28),
    ],
)
def test_sizes_in_mb(name: str, limit: int) -> None:
    sizes = [p.stat().st_size for p in libraries() if p.name == name]
    assert all(size <= limit * MB for size in sizes), f"{name} has {sizes[0] / MB:.1f} MB"


def test_only_the_basic_libraries_are_needed() -> None:
    for library in libraries():
        needed = {line.split("[")[1].rstrip("]") for line in readelf("-d", library).splitlines() if "(NEEDED)" in line}
        assert needed <= BASE, library.name


def test_llvm_stays_inside_the_compiler() -> None:
    for library in libraries():
        symbols = readelf("--dyn-syms", library)
        assert "_ZN4llvm" not in symbols, library.name
        if library.name != "libintaglio_compiler.so":
            assert b"LLVM" not in library.read_bytes(), library.name


def test_pass_builder_is_not_linked() -> None:
    # Text of its pipeline parser.
    for library in libraries():
        assert b"invalid pipeline '{0}'" not in library.read_bytes(), library.name
