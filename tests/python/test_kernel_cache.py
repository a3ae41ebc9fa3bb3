"""The cache of compiled kernels on disk, as processes meet it: the second one compiles nothing, the bits are the same,
and whatever is wrong with folder or files, programs run. tests/cpp/kernel_cache_test.cpp goes through every byte."""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import intaglio as ig

# Prints what was compiled and where it came from, a hash of the results' bits, and what the cache did.
PROGRAM = """
import hashlib, json, numpy as np, intaglio as ig
x = ig.asarray(np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6))
w = ig.asarray(np.linspace(-1, 1, 48, dtype=np.float32).reshape(6, 8))
traced = ig.trace(lambda x, w: (ig.softmax(ig.gelu(x) @ w), ig.sum(ig.sin(x) * x, axis=0), ig.sort(x, axis=1)), x, w)
program = traced.graph.compile(disable=["join-kernels"])  # each small kernel by itself
bits = b"".join(np.asarray(part).tobytes() for part in program(x, w))
report = program.report()
info = ig.cache.info()
print(json.dumps({
    "bits": hashlib.sha256(bits).hexdigest(),
    "compiled": report["kernels_compiled"], "cached": report["kernels_cached"], "kernels": report["kernels"],
    "shared": report["kernels_shared"], "prebuilt": report["kernels_prebuilt"],
    **{name: getattr(info, name) for name in info.__dataclass_fields__},
}))
"""


def start(
    folder: Path | None,
    *options: str,
    program: str = PROGRAM,
    limits: Callable[[], None] | None = None,
    **env: str | None,
) -> subprocess.CompletedProcess[str]:
    settings: dict[str, str | None] = {
        "INTAGLIO_CACHE": None,
        "INTAGLIO_CACHE_DIR": str(folder) if folder else None,
        "INTAGLIO_PREBUILT": "0",
        **env,
    }
    merged = {**os.environ, **{k: v for k, v in settings.items() if v is not None}}
    for name, value in settings.items():
        if value is None:
            merged.pop(name, None)
    return subprocess.run(
        [sys.executable, *options, "-c", program], env=merged, capture_output=True, text=True, preexec_fn=limits
    )


def run(folder: Path | None, *options: str, warns: bool = False, **env: Any) -> dict[str, Any]:
    done = start(folder, *options, **env)
    assert done.returncode == 0, done.stderr
    if not warns:
        assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    if warns:
        found["warning"] = done.stderr
    return found


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """Without any cache."""
    found = run(None, INTAGLIO_CACHE="0")
    assert not found["enabled"]
    assert found["compiled"] > 3
    assert found["cached"] == found["hits"] == found["misses"] == 0
    return found


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, compiled: dict[str, Any]) -> Path:
    """A folder that one process filled."""
    folder = tmp_path_factory.mktemp("filled") / "deep" / "cache"
    first = run(folder)
    assert first["bits"] == compiled["bits"]
    assert first["compiled"] == compiled["compiled"]
    assert first["stored"] == first["misses"] == first["entries"] >= first["compiled"]
    assert first["hits"] == first["rejected"] == 0
    assert first["folder"] == str(folder)
    assert first["problem"] == ""
    assert first["bytes"] == sum(file.stat().st_size for file in entries(folder))
    return folder


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.kernel"))


def nothing_else_in(folder: Path) -> bool:
    return {file.name for file in folder.iterdir()} == {file.name for file in entries(folder)} | {"secret", "written"}


def copied(filled: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    shutil.copytree(filled, folder)
    folder.chmod(0o700)
    return folder


def test_the_second_process_compiles_nothing_and_gives_the_same_bits(filled: Path, compiled: dict[str, Any]) -> None:
    for _ in range(2):
        found = run(filled)
        assert found["bits"] == compiled["bits"]
        assert found["compiled"] == found["misses"] == found["stored"] == found["rejected"] == 0
        assert found["cached"] == compiled["compiled"]
        assert found["kernels"] == found["cached"] + found["shared"] + found["prebuilt"] == compiled["kernels"]
        assert found["hits"] == found["entries"]


def test_prebuilt_kernels_come_first(filled: Path, compiled: dict[str, Any]) -> None:
    found = run(filled, INTAGLIO_PREBUILT=None)
    assert found["bits"] == compiled["bits"]
    assert found["cached"] + found["prebuilt"] + found["shared"] == found["kernels"]
    assert found["hits"] <= len(entries(filled))


def test_another_target_finds_nothing_and_rejects_nothing(filled: Path, tmp_path: Path) -> None:
    folder = copied(filled, tmp_path)
    first, second = (run(folder, INTAGLIO_TARGET="x86-64-v2") for _ in range(2))
    assert first["hits"] == first["rejected"] == 0
    assert first["stored"] == first["misses"] > 0
    assert second["compiled"] == 0
    assert first["bits"] == second["bits"]
    assert first["entries"] == len(entries(filled)) + first["stored"]


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(data)


def link(file: Path) -> None:
    elsewhere = file.parent.parent / file.name
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def open_to_all(file: Path) -> None:
    file.chmod(0o666)


def other_version(file: Path) -> None:
    data = bytearray(file.read_bytes())
    assert data[:9] == b"IGKERNEL\x01"
    data[8] = 2
    file.write_bytes(data)


@pytest.mark.parametrize("damage", [cut, empty, flip, link, open_to_all, other_version])
def test_bad_files_are_compiled_anew_and_replaced(
    damage: Callable[[Path], None], filled: Path, compiled: dict[str, Any], tmp_path: Path
) -> None:
    folder = copied(filled, tmp_path)
    for file in entries(folder):
        damage(file)
    found = run(folder)
    assert found["bits"] == compiled["bits"]
    assert found["rejected"] == found["misses"] == found["stored"] == len(entries(filled))
    assert found["compiled"] == compiled["compiled"]
    assert found["problem"] == ""
    again = run(folder)
    assert again["compiled"] == again["rejected"] == 0
    assert again["bits"] == compiled["bits"]
    for file in entries(folder):
        assert stat.S_IMODE(file.lstat().st_mode) == 0o600
        assert not file.is_symlink()


def test_files_of_other_kernels_and_of_other_users_folders_are_refused(
    filled: Path, compiled: dict[str, Any], tmp_path: Path
) -> None:
    swapped = copied(filled, tmp_path)
    files = entries(swapped)
    contents = [file.read_bytes() for file in files]
    for file, other in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(other)
    found = run(swapped)
    assert found["bits"] == compiled["bits"]
    assert found["rejected"] == len(files)

    # As somebody who knows all but the secret would fill it.
    foreign = tmp_path / "foreign"
    assert run(foreign)["stored"] == len(files)
    for file in files:
        shutil.copy(file, foreign)
    found = run(foreign)
    assert found["bits"] == compiled["bits"]
    assert found["rejected"] == len(files)
    assert run(foreign)["compiled"] == 0


NOT_KEPT = "compiled kernels are not kept for other processes: the kernel cache cannot use the folder "
OTHER_FOLDER = "  hint: set INTAGLIO_CACHE_DIR to a folder of your own, or INTAGLIO_CACHE=0 to do without\n"


def warning_of(found: dict[str, Any]) -> str:
    """The text of the one Python warning, without the place and the line of source."""
    assert found["warning"].count("RuntimeWarning") == 1
    text = found["warning"].split("RuntimeWarning: ")[1]
    lines = text.splitlines(keepends=True)
    return "".join(lines[: next(i for i, line in enumerate(lines) if line.startswith("  hint:")) + 1])


def test_a_folder_that_others_may_write_to_is_not_used(filled: Path, compiled: dict[str, Any], tmp_path: Path) -> None:
    folder = copied(filled, tmp_path)
    for mode in (0o770, 0o702):
        folder.chmod(mode)
        found = run(folder, warns=True)
        assert found["bits"] == compiled["bits"]
        assert found["compiled"] == compiled["compiled"]
        assert found["hits"] == found["stored"] == 0
        assert warning_of(found) == (
            f"{NOT_KEPT}{folder}\n"
            "  why: other users may write to it, and its files are run as machine code\n"
            f"  hint: run chmod 700 {folder}, or set INTAGLIO_CACHE_DIR to another folder, or INTAGLIO_CACHE=0 to do "
            "without\n"
        )
        assert found["problem"].startswith(f"the kernel cache cannot use the folder {folder}")


def test_a_link_to_a_folder_is_not_used(filled: Path, compiled: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(copied(filled, tmp_path))
    found = run(tmp_path / "link", warns=True)
    assert found["bits"] == compiled["bits"]
    assert found["hits"] == found["stored"] == 0
    assert warning_of(found) == (
        f"{NOT_KEPT}{tmp_path}/link\n"
        "  why: it is a symbolic link, which another user may have laid\n"
        "  hint: set INTAGLIO_CACHE_DIR to the folder itself, or INTAGLIO_CACHE=0 to do without\n"
    )


def test_a_file_in_place_of_the_folder(compiled: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    for folder in (file, file / "below"):
        found = run(folder, warns=True)
        assert found["bits"] == compiled["bits"]
        assert found["compiled"] == compiled["compiled"]
        assert warning_of(found) == f"{NOT_KEPT}{folder}\n  why: Not a directory\n{OTHER_FOLDER}"
    assert file.read_text() == "not a folder"


def test_a_folder_that_cannot_be_written_is_still_read(filled: Path, compiled: dict[str, Any], tmp_path: Path) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    folder = copied(filled, tmp_path)
    gone = entries(folder)[0]
    gone.unlink()
    found = run(folder, "-B", warns=True, limits=no_room)
    assert found["bits"] == compiled["bits"]
    assert found["hits"] == len(entries(filled)) - 1
    assert found["misses"] == 1
    assert found["stored"] == 0
    assert warning_of(found) == f"{NOT_KEPT}{folder}\n  why: it cannot be written: File too large\n{OTHER_FOLDER}"
    assert nothing_else_in(folder)


def as_any_user() -> None:
    """The system's superuser may write where permissions say no; without this right it is refused as all others are."""
    if os.geteuid() == 0:
        for right in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            drop_from_what_a_program_may_get = 24
            if ctypes.CDLL(None, use_errno=True).prctl(drop_from_what_a_program_may_get, right, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "prctl")


@pytest.mark.parametrize(("mode", "readable"), [(0o500, True), (0o400, False)])
def test_a_folder_without_the_permission_to_write(
    mode: int, readable: bool, filled: Path, compiled: dict[str, Any], tmp_path: Path
) -> None:
    """Kernels in it are used, as far as they may be opened; none is stored, and the warning says why."""
    folder = copied(filled, tmp_path)
    entries(folder)[0].unlink()
    names = sorted(file.name for file in folder.iterdir())
    folder.chmod(mode)
    try:
        found = run(folder, "-B", warns=True, limits=as_any_user)
    finally:
        folder.chmod(0o700)
    assert found["bits"] == compiled["bits"]
    assert found["hits"] == (len(entries(folder)) if readable else 0)
    assert found["stored"] == found["rejected"] == 0
    assert warning_of(found) == f"{NOT_KEPT}{folder}\n  why: it cannot be written: Permission denied\n{OTHER_FOLDER}"
    assert sorted(file.name for file in folder.iterdir()) == names


def test_where_warnings_are_errors_the_program_runs_on(compiled: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = run(tmp_path / "file", "-W", "error", warns=True)
    assert found["bits"] == compiled["bits"]
    assert "Not a directory" in found["warning"]


def test_without_a_home_there_is_no_cache_and_no_warning(compiled: dict[str, Any]) -> None:
    for home in (None, "", "relative/path"):
        found = run(None, HOME=home, XDG_CACHE_HOME=home)
        assert found["bits"] == compiled["bits"]
        assert found["folder"] == ""
        assert found["problem"] == (
            "there is no folder for it: none of INTAGLIO_CACHE_DIR, XDG_CACHE_HOME and HOME is set"
        )


def test_where_it_lies(tmp_path: Path) -> None:
    where = "import intaglio as ig; print(ig.cache.info().folder)"
    home, caches = {"HOME": "/h"}, {"XDG_CACHE_HOME": "/c"}

    def folder(given: Path | None = None, **env: str | None) -> str:
        return start(given, program=where, **{"XDG_CACHE_HOME": None, **env}).stdout.strip()

    assert folder(**home) == "/h/.cache/intaglio"
    assert folder(**home, **caches) == "/c/intaglio"
    assert folder(Path("/own"), **home, **caches) == "/own"
    assert folder(Path("here"), **home) == f"{os.getcwd()}/here"
    assert folder(HOME="/h", XDG_CACHE_HOME="relative") == "/h/.cache/intaglio"


def test_settings_that_say_nothing_sensible(tmp_path: Path) -> None:
    def refused(**env: str) -> str:
        done = start(tmp_path / "cache", **env)
        assert done.returncode == 1
        return done.stderr[done.stderr.index("ValueError: ") :]

    assert refused(INTAGLIO_CACHE="yes") == (
        "ValueError: INTAGLIO_CACHE=yes is neither 0 nor 1\n"
        "  at: <string>:6 in <module>\n"
        "  why: 0 turns the cache of compiled kernels off, 1 (or nothing) on\n"
        "  hint: write INTAGLIO_CACHE=0, or unset it; INTAGLIO_CACHE_DIR names the folder\n"
    )
    for text in ("1G", "-1", "1e9", " 7", "99999999999999999999"):
        assert refused(INTAGLIO_CACHE_BYTES=text) == (
            f"ValueError: INTAGLIO_CACHE_BYTES={text} is not a number of bytes\n"
            "  at: <string>:6 in <module>\n"
            "  why: it bounds the files of the cache of compiled kernels\n"
            "  hint: write it in plain bytes, as INTAGLIO_CACHE_BYTES=268435456, or unset it\n"
        )
    with pytest.raises(ig.ValueError) as caught:
        ig.cache.configure(limit=-1)
    assert re.sub(r"at: .*test_kernel_cache.py:\d+ in .*", "at: HERE", str(caught.value)) == (
        "configure: limit is -1\n"
        "  at: HERE\n"
        "  why: it is the number of bytes that the files of the cache may have together\n"
        "  hint: give a number of at least 0, or enabled=False to turn the cache off"
    )


def test_sixteen_processes_at_once(compiled: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with ThreadPoolExecutor(16) as pool:
        all_found = list(pool.map(lambda _: run(folder), range(16)))
    for found in all_found:
        assert found["bits"] == compiled["bits"]
        assert found["rejected"] == 0
        assert found["compiled"] + found["cached"] == compiled["compiled"]
        assert found["problem"] == ""
    last = run(folder)
    assert last["compiled"] == 0
    assert nothing_else_in(folder)
    assert last["entries"] == last["hits"]


def test_the_limit(filled: Path, compiled: dict[str, Any], tmp_path: Path) -> None:
    whole = sum(file.stat().st_size for file in entries(filled))
    folder = tmp_path / "cache"
    for _ in range(2):
        found = run(folder, INTAGLIO_CACHE_BYTES=str(whole * 2 // 3))
        assert found["bits"] == compiled["bits"]
        assert found["limit"] == whole * 2 // 3
        assert 0 < found["bytes"] <= found["limit"]
    nothing = run(tmp_path / "none", INTAGLIO_CACHE_BYTES="0")
    assert nothing["bits"] == compiled["bits"]
    assert nothing["entries"] == nothing["stored"] == 0


def test_settings_of_a_process(filled: Path, tmp_path: Path) -> None:
    program = f"""
import intaglio as ig
ig.cache.configure(folder={str(tmp_path / "own")!r}, limit=10**6)
first = ig.trace(lambda x: ig.cos(x) * 3 - x, ig.ones(5))(ig.ones(5))
info = ig.cache.info()
assert (info.folder, info.limit, info.stored, info.entries) == ({str(tmp_path / "own")!r}, 10**6, 1, 1), info
assert ig.cache.clear() == 1
assert ig.cache.info().entries == 0
ig.cache.configure(enabled=False)
ig.trace(lambda x: ig.cos(x) * 7 - x, ig.ones(5))(ig.ones(5))
assert ig.cache.info().stored == 1 and ig.cache.info().entries == 0 and not ig.cache.info().enabled
"""
    done = start(None, program=program)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "own").iterdir()) == []


# --- the command --------------------------------------------------------------------------------------------------


def command(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "intaglio", *arguments],
        env={**os.environ, "INTAGLIO_CACHE": "1", "INTAGLIO_CACHE_DIR": str(folder), **env},
        capture_output=True,
        text=True,
    )


def test_the_command_shows_and_clears(filled: Path, tmp_path: Path) -> None:
    folder = copied(filled, tmp_path)
    count, size = len(entries(folder)), sum(file.stat().st_size for file in entries(folder))
    shown = command(folder, "cache", "info")
    assert shown.stdout == (
        f"folder      {folder}\nkernels     {count}\nbytes       {size} of at most 268435456\nin use      yes\n"
    )
    assert json.loads(command(folder, "cache", "info", "--json").stdout) == {
        "enabled": True,
        "folder": str(folder),
        "kernels": count,
        "bytes": size,
        "limit": 268435456,
        "problem": "",
    }
    (folder / "mine.txt").write_text("stays")
    assert command(folder, "cache", "clear").stdout == f"{count} kernels removed\n"
    assert [file.name for file in folder.iterdir()] == ["mine.txt"]
    assert command(folder, "cache", "clear").stdout == "0 kernels removed\n"
    assert command(tmp_path / "none", "cache", "clear").stdout == "0 kernels removed\n"
    assert "in use      no: INTAGLIO_CACHE=0\n" in command(folder, "cache", "info", INTAGLIO_CACHE="0").stdout

    folder.chmod(0o777)
    refused = command(folder, "cache", "clear")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"error: the kernel cache cannot use the folder {folder}\n  why: other users may")
    missing = command(folder, "cache")
    assert missing.returncode == 2
    assert "hint: `intaglio cache --help` lists what it takes" in missing.stderr


def test_the_command_loads_what_python_compiled_and_reports_it(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    graph = tmp_path / "graph.ig"
    graph.write_text("graph @g(%x: f32[7]) { %y = sine(%x) : f32[7] %z = add(%y, %x) : f32[7] return %z }")
    arguments = ("run", str(graph), "--inputs", "iota", "--report")
    first, second = (command(folder, *arguments, INTAGLIO_PREBUILT="0").stdout for _ in range(2))
    assert "kernels          1: 1 compiled, 0 cached, 0 prebuilt, 0 shared; 0 fallback" in first
    assert "kernels          1: 0 compiled, 1 cached, 0 prebuilt, 0 shared; 0 fallback" in second
    program = (
        f"import intaglio as ig; t = ig.Graph.parse(open({str(graph)!r}).read()); t(ig.ones(7)); print(t.report())"
    )
    assert "'kernels_cached': 1" in start(folder, program=program).stdout
    line = next(line for line in command(folder, "doctor").stdout.splitlines() if line.startswith("kernel cache"))
    assert re.fullmatch(rf"kernel cache +{folder}: \d+ kernels?, \d+ of at most 268435456 bytes", line)
