"""The `intaglio` command as a user calls it: a process of its own, with good input and bad."""

from __future__ import annotations

import json
import os
import pty
import random
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

COMMAND = Path(sys.executable).parent / "intaglio"

CHAIN = """\
graph @chain(%x: f32[n, 3], %y: f32[n, 3]) where n {
  %s = add(%x, %y) : f32[n, 3] scope("block") loc("model.py":3 in "forward")
  %t = tanh(%s) : f32[n, 3]
  return %s, %t
}
"""
SQUARE = """\
graph @square(%x: f32[2, 2]) {
  %y = multiply(%x, %x) : f32[2, 2]
  return %y
}
"""


def call(*words: Any, stdin: str | bytes = "", **options: Any) -> subprocess.CompletedProcess[str]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run([COMMAND, *map(str, words)], input=data, capture_output=True, timeout=120, **options)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def good(*words: Any, stdin: str | bytes = "", **options: Any) -> str:
    done = call(*words, stdin=stdin, **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def fails(text: str, *words: Any, stdin: str | bytes = "", status: int = 1, **options: Any) -> None:
    done = call(*words, stdin=stdin, **options)
    assert done.stderr == text
    assert done.returncode == status
    assert done.stdout == ""


def error(what: str, why: str, hint: str) -> str:
    return f"error: {what}\n  why: {why}\n  hint: {hint}\n"


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "chain.ig"
    path.write_text(CHAIN)
    return path


# --- the command itself -------------------------------------------------------------------------------------


def test_is_installed_beside_python_and_needs_no_python() -> None:
    assert COMMAND.exists()
    linked = subprocess.run(["ldd", COMMAND], capture_output=True, text=True, check=True).stdout
    assert "libintaglio_runtime" in linked
    assert "not found" not in linked
    assert "python3" not in Path(linked.split("libintaglio_runtime.so => ")[1].split()[0]).name
    assert "libpython" not in linked
    environment = {"PATH": "/nonexistent"}
    assert good("show", "-", stdin=SQUARE, env=environment) == SQUARE


def test_runs_from_any_folder_and_as_a_second_process(tmp_path: Path) -> None:
    first = subprocess.Popen([COMMAND, "show", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    assert good("show", "-", stdin=SQUARE, cwd="/") == SQUARE  # while the first one waits
    out, _ = first.communicate(SQUARE.encode(), timeout=60)
    assert out.decode() == SQUARE


def test_version_and_help() -> None:
    import intaglio

    assert good("--version") == f"intaglio {intaglio.__version__}\n"
    text = good("--help")
    for command in ("show", "opt", "run", "bench", "doctor"):
        assert f"\n  {command} " in text
        assert f"intaglio {command} [OPTIONS]" in good(command, "--help")


def test_usage_errors() -> None:
    hint = "`intaglio --help` lists what it takes"
    fits = "the command line does not fit `intaglio`"
    fails(error("there is no command", fits, hint), status=2)
    fails(error("there is no command 'shov'", fits, f"did you mean show? {hint}"), "shov", "x.ig", status=2)
    fails(
        error(
            "FILE is required",
            "the command line does not fit `intaglio show`",
            "`intaglio show --help` lists what it takes",
        ),
        "show",
        status=2,
    )
    fails(
        error(
            "The following argument was not expected: --tolerence",
            "the command line does not fit `intaglio run`",
            "did you mean --tolerance? `intaglio run --help` lists what it takes",
        ),
        "run",
        "x.ig",
        "--tolerence",
        status=2,
    )
    done = call("run", "x.ig", "--target", "sparc")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --target: sparc not in {")
    for command in ("run", "bench"):
        for threads in ("0", "-1", "1025", "2.5", "two"):
            fails(
                error(
                    f"--threads: Value {threads} not in range 1 to 1024",
                    f"the command line does not fit `intaglio {command}`",
                    f"`intaglio {command} --help` lists what it takes",
                ),
                command,
                "x.ig",
                "--threads",
                threads,
                status=2,
            )


# --- files --------------------------------------------------------------------------------------------------


def test_missing_file_and_folder(tmp_path: Path) -> None:
    hint = "give the path of a file, or - for standard input"
    fails(error("cannot read no/such.ig", "No such file or directory", hint), "show", "no/such.ig")
    fails(error(f"cannot read {tmp_path}", "Is a directory", hint), "show", tmp_path)


def test_empty_file() -> None:
    text = error(
        "<stdin>:1:1: expected 'graph'",
        "the text does not follow the grammar here:\n    \n    ^",
        "a graph starts with: graph @name(%x: f32[2]) {",
    )
    fails(text, "show", "-", stdin="")


def binary_of(text: str) -> bytes:
    done = subprocess.run(
        [COMMAND, "opt", "--pipeline", "none", "--binary", "-"],
        input=text.encode(),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0
    return done.stdout


def test_binary_form_is_read(tmp_path: Path) -> None:
    path = tmp_path / "chain.bin"
    path.write_bytes(binary_of(CHAIN))
    assert good("show", "--locations", path) == CHAIN


def test_truncated_binary_is_refused_at_every_length() -> None:
    whole = binary_of(CHAIN)
    for size in range(0, len(whole), max(1, len(whole) // 40)):
        done = call("show", "-", stdin=whole[:size])
        assert done.returncode == 1
        assert done.stderr.startswith("error: <stdin>:")
        assert "\n  why: " in done.stderr
        assert "\n  hint: " in done.stderr


def test_changed_binary_is_refused() -> None:
    whole = bytearray(binary_of(CHAIN))
    whole[len(whole) // 2] ^= 0x10
    done = call("show", "-", stdin=bytes(whole))
    assert done.returncode == 1
    assert "checksum" in done.stderr


def test_random_bytes_never_crash() -> None:
    draw = random.Random(7)
    good_bytes = CHAIN.encode()
    for round in range(60):
        if round % 2:
            data = bytearray(good_bytes)
            for _ in range(draw.randint(1, 6)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            data = bytes(data)
        else:
            data = draw.choice([b"", b"IGIR", b"graph @a("]) + draw.randbytes(draw.randint(0, 400))
        done = subprocess.run([COMMAND, "show", "-"], input=data, capture_output=True, timeout=60)
        assert done.returncode in (0, 1), (data, done)
        if done.returncode:
            assert done.stderr.startswith(b"error: ")
            assert b"fault in Intaglio" not in done.stderr, (data, done.stderr)


def test_errors_are_printable() -> None:
    done = subprocess.run(
        [COMMAND, "show", "-"], input=b"graph @a \x1b[31m\xff\xc3\xa9 {", capture_output=True, timeout=60
    )
    assert done.returncode == 1
    assert "    graph @a \\x1b[31m\\xffé {\n" in done.stderr.decode()


def test_deep_and_long_text_is_refused_quickly() -> None:
    deep = "graph @a(%x: f32[" + "(" * 100_000 + ") {"
    done = call("show", "-", stdin=deep)
    assert done.returncode == 1
    assert "too deeply" in done.stderr
    sizes = "graph @a(%x: f32[" + "*".join(["(a+b+c+d+e+f+g+h)"] * 20) + "]) { return %x }"
    assert call("show", "-", stdin=sizes).returncode == 1


# --- show ---------------------------------------------------------------------------------------------------


def test_show_text(chain: Path) -> None:
    assert good("show", chain) == CHAIN.replace(' loc("model.py":3 in "forward")', "")
    assert good("show", "--locations", chain) == CHAIN


def test_show_stats(chain: Path) -> None:
    lines = good("show", "--stats", chain).splitlines()
    assert lines[:7] == [
        "graph       chain",
        "inputs      x: f32[n, 3], y: f32[n, 3]",
        "outputs     s: f32[n, 3], t: f32[n, 3]",
        "sizes       n in [0, inf]",
        "nodes       2, of these 0 composites; 0 regions",
        "constants   0, 0 bytes",
        "ops         1 add, 1 tanh",
    ]
    # Names do not count; the order of a commutative op's operands does not for the canonical hash.
    renamed = good("show", "--stats", "-", stdin=CHAIN.replace("%s", "%sum")).splitlines()
    assert renamed[7:] == lines[7:]
    swapped = good("show", "--stats", "-", stdin=CHAIN.replace("add(%x, %y)", "add(%y, %x)")).splitlines()
    assert swapped[7] != lines[7]
    assert swapped[8] == lines[8]


def test_show_dot(chain: Path, tmp_path: Path) -> None:
    dot = good("show", "--dot", "-", "--types", "--locations", chain)
    assert dot.startswith('digraph "chain" {\n')
    assert 'label="f32[n, 3]"' in dot
    assert 'tooltip="block\\nmodel.py:3 in forward"' in dot
    assert good("show", "--dot", tmp_path / "a.dot", chain) == ""
    assert "tooltip" in (tmp_path / "a.dot").read_text()
    assert 'f32[n, 3]"]' not in (tmp_path / "a.dot").read_text().split("->", 1)[1].split("\n")[0]


def test_show_svg(chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    if shutil.which("dot") is None:
        return test_svg_without_graphviz(chain, tmp_path)
    assert good("show", "--svg", out, chain) == ""
    texts = [e.text for e in ElementTree.parse(out).iter("{http://www.w3.org/2000/svg}text")]
    assert {"add", "tanh", "x", "result 0"} <= set(texts)
    fused = subprocess.run([COMMAND, "opt", chain], capture_output=True, check=True).stdout
    assert "loop kernel" in good("show", "--svg", "-", "-", stdin=fused)


def test_svg_without_graphviz(chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    text = error(
        f"cannot draw {out}: there is no `dot`",
        "SVG pictures are laid out by Graphviz, which is not installed or not in PATH",
        "apt-get install graphviz, or write the picture's source with --dot",
    )
    fails(text, "show", "--svg", out, chain, env={"PATH": str(tmp_path)})
    assert not out.exists()


def test_results_that_cannot_be_written(chain: Path) -> None:
    hint = "give a path in a folder that exists and may be written"
    text = error("cannot write /no/such/a.dot", "No such file or directory", hint)
    fails(text, "show", "--dot", "/no/such/a.dot", chain)
    fails(error("cannot write /dev/full", "No space left on device", hint), "opt", chain, "-o", "/dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([COMMAND, "show", chain], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert done.stderr.decode() == error("cannot write standard output", "No space left on device", hint)


# --- opt ----------------------------------------------------------------------------------------------------


def pass_names() -> list[str]:
    lines = good("opt", "--list-passes").splitlines()
    return [line.split()[0] for line in lines[: lines.index("")]]


def test_opt_lists_its_passes() -> None:
    text = good("opt", "--list-passes")
    names = pass_names()
    assert names == sorted(names)
    assert {"canonicalize", "cse", "dce", "expand-composites", "fold", "fuse", "refine-shapes", "sink-views"} <= set(
        names
    )
    assert text.splitlines()[-1].startswith("pipeline default: refine-shapes, drop-stops, canonicalize, ")


def test_opt_errors(chain: Path) -> None:
    names = "the passes are " + ", ".join(pass_names())
    text = error("unknown pass 'fus'", "no pass has that name", f"did you mean 'fuse'? {names}")
    fails(text, "opt", "--passes=cse,fus", chain)
    fails(error("unknown pass 'vectorise'", "no pass has that name", names), "opt", "--disable=vectorise", chain)
    fails(
        error(
            "opt: no graph is given",
            "passes rewrite a graph",
            "write `intaglio opt FILE`, or - for standard input; `intaglio opt --list-passes` needs none",
        ),
        "opt",
    )
    done = call("opt", "--passes=cse", "--pipeline", "default", chain)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --passes excludes --pipeline\n")


def test_opt_tells_what_it_did(chain: Path) -> None:
    done = call("opt", "--passes=dce,fuse", "--print-changes", "--print-after-all", "--verify", chain)
    assert done.returncode == 0
    assert done.stderr.startswith("dce: unchanged\n// after dce\ngraph @chain(")
    cost = "reads 24*n bytes, writes 24*n, keeps 12*n out of memory"
    assert f"fuse: 1 change, 2 to 3 nodes\n  loop: add tanh ({cost})\n// after fuse\n" in done.stderr
    assert done.stderr.endswith(done.stdout)
    assert good("opt", "--disable=fuse", chain) == good("show", chain)
    assert good("opt", "--pipeline", "none", chain) == good("show", chain)


def test_opt_reads_what_it_writes(chain: Path, tmp_path: Path) -> None:
    once = good("opt", chain)
    assert 'kind = "loop"' in once
    assert good("show", "-", stdin=once) == once
    out = tmp_path / "fused.bin"
    assert good("opt", chain, "--binary", "-o", out) == ""
    assert out.read_bytes()[:4] == b"IGIR"
    assert good("show", out) == once


# --- run ----------------------------------------------------------------------------------------------------


def test_run_on_lists_and_numbers() -> None:
    assert good("run", "-", "--input", "x=[[1, 2], [3, -4.5]]", stdin=SQUARE) == (
        "y: f32[2, 2]\n[[1, 4],\n [9, 20.25]]\n"
    )
    scalar = "graph @s(%a: i32[], %b: bool[], %c: c64[]) { return %a, %b, %c }"
    assert good("run", "-", "-i", "a=-7", "-i", "b=true", "-i", "c=1-2j", stdin=scalar) == (
        "a: i32[]\n-7\nb: bool[]\ntrue\nc: c64[]\n1-2i\n"
    )
    special = "graph @s(%a: f64[4]) { return %a }"
    assert good("run", "-", "-i", "a=[nan, -inf, -0.0, 0x1p-3]", stdin=special) == (
        "a: f64[4]\n[nan, -inf, -0, 0.125]\n"
    )


def test_run_on_files(chain: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    y = np.asfortranarray(x * 2)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    arguments = ["-i", f"x={tmp_path}/x.npy", "-i", f"y={tmp_path}/y.npy"]
    out = ["-o", f"s={tmp_path}/s.npy", "-o", f"1={tmp_path}/t.npy"]
    assert good("run", chain, *arguments, *out) == ""
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), x + y)
    np.testing.assert_allclose(np.load(tmp_path / "t.npy"), np.tanh(x + y), rtol=3e-7)


@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">f4", ">i8", ">c8"],
)
def test_every_element_type_passes_through_files(dtype: str, tmp_path: Path) -> None:
    names = {"?": "bool", "f": "f", "i": "i", "u": "u", "c": "c"}
    plain = np.dtype(dtype.lstrip(">"))
    word = "bool" if dtype == "?" else names[plain.kind] + str(plain.itemsize * 8)
    array = (np.arange(12).reshape(3, 4) % 2 if dtype == "?" else np.arange(12).reshape(3, 4)).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    text = f"graph @g(%x: {word}[3, 4]) {{ return %x }}"
    assert good("run", "-", "-i", f"x={tmp_path}/x.npy", "-o", f"x={tmp_path}/o.npy", stdin=text) == ""
    result = np.load(tmp_path / "o.npy")
    assert result.dtype == plain
    np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), (7,), (1, 33), (33, 1), (1, 1, 1, 1, 1, 1, 1, 1)])
def test_odd_shapes(shape: tuple[int, ...], tmp_path: Path) -> None:
    dims = ", ".join(map(str, shape))
    text = f"graph @g(%x: f32[{dims}]) {{ %y = tanh(%x) : f32[{dims}] return %y }}"
    good("run", "-", "--inputs", "random:3", "--compare", stdin=text)
    good("run", "-", "--inputs", "iota", "-o", f"y={tmp_path}/y.npy", stdin=text)
    want = np.broadcast_to(np.arange(np.prod(shape)).reshape(shape), shape)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), np.tanh(want), rtol=3e-7)


def test_recipes() -> None:
    text = "graph @g(%x: f32[n]) where n { return %x }"
    size = ["--size", "n=4"]
    assert good("run", "-", "-i", "x=zeros", *size, stdin=text) == "x: f32[n]\n[0, 0, 0, 0]\n".replace("[n]", "[4]")
    assert good("run", "-", "-i", "x=ones", *size, stdin=text) == "x: f32[4]\n[1, 1, 1, 1]\n"
    assert good("run", "-", "-i", "x=iota", *size, stdin=text) == "x: f32[4]\n[0, 1, 2, 3]\n"
    assert good("run", "-", "-i", "x=full:-2.5", *size, stdin=text) == "x: f32[4]\n[-2.5, -2.5, -2.5, -2.5]\n"
    first = good("run", "-", "-i", "x=random", *size, stdin=text)
    assert first == good("run", "-", "-i", "x=random:0", *size, stdin=text)
    assert first != good("run", "-", "-i", "x=random:1", *size, stdin=text)
    many = good("run", "-", "-i", "x=special:1", "--size", "n=200", stdin=text)
    for word in ("nan", "inf", "-inf", "-0,", "3.4028235e+38", "1e-45"):
        assert word in many
    bounded = good("run", "-", "-i", "x=random:1:5:6", *size, stdin=text).split("[")[2]
    assert all(5 <= float(word) < 6 for word in bounded.rstrip("]\n").split(","))


def test_long_results_are_shortened() -> None:
    text = "graph @g() { %x = iota() {shape = <2000>, axis = 0, dtype = i64} : i64[2000] return %x }"
    assert good("run", "-", stdin=text) == "x: i64[2000]\n[0, 1, 2, ..., 1997, 1998, 1999]\n"


def test_input_errors(chain: Path, tmp_path: Path) -> None:
    recipes = (
        "a file that ends in .npy, a number or list as [[1, 2], [3, 4]], random:SEED, random:SEED:LOW:HIGH, "
        "special:SEED, zeros, ones, iota, or full:NUMBER"
    )
    text = error(
        "input x is not given",
        "the graph takes x: f32[2, 2]",
        f"add --input x=VALUE, or --inputs=VALUE for all that are not named; VALUE is {recipes}",
    )
    fails(text, "run", "-", stdin=SQUARE)
    text = error("the graph has no input z", "its inputs are x", "`intaglio show` prints them in the first line")
    fails(text, "run", "-", "-i", "z=ones", stdin=SQUARE)
    text = error(
        "input x: 'onse' is no array",
        "it is neither a file, nor a list, nor a recipe",
        f"an input is {recipes}",
    )
    fails(text, "run", "-", "-i", "x=onse", stdin=SQUARE)
    text = error("--input ones: there is no name", "the option assigns something to a name", "write --input NAME=VALUE")
    fails(text, "run", "-", "-i", "ones", stdin=SQUARE)
    shape = "write numbers in brackets, as [[1, 2], [3, 4]]"
    text = error(
        "input x: '[[1, 2], [3]]' is no list of float32",
        "along axis 1 there are 2 elements here and 1 there",
        shape,
    )
    fails(text, "run", "-", "-i", "x=[[1, 2], [3]]", stdin=SQUARE)
    text = error("input x: '[1, [2]]' is no list of float32", "numbers stand at different depths", shape)
    fails(text, "run", "-", "-i", "x=[1, [2]]", stdin=SQUARE)
    text = error("input x: the array is f32[3], but the graph takes f32[2, 2]", "the ranks differ", "reshape the array")
    fails(text, "run", "-", "-i", "x=[1, 2, 3]", stdin=SQUARE)
    text = error(
        "input x: the array is f32[], but the graph takes f32[2, 2]",
        "the ranks differ",
        "full:NUMBER fills an array with one number",
    )
    fails(text, "run", "-", "-i", "x=3", stdin=SQUARE)
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))
    text = error(
        "input x: the array is f64[2, 2], but the graph takes f32[2, 2]",
        "types are never converted unasked",
        "save it as float32",
    )
    fails(text, "run", "-", "-i", f"x={tmp_path}/x.npy", stdin=SQUARE)
    text = error("the size n is not given", "input x is f32[n, 3]", "add --size n=4")
    fails(text, "run", chain, "--inputs", "ones")
    text = error("--size n=-1: '-1' is not a size", "sizes are whole numbers from 0 on", "write --size b=4")
    fails(text, "run", chain, "--inputs", "ones", "--size", "n=-1")
    text = error("the graph has no size m", "the sizes of its inputs are n", "`intaglio show --stats` prints them")
    fails(text, "run", chain, "--inputs", "ones", "--size", "m=1")
    text = error("the graph has no size n", "all sizes of its inputs are fixed", "`intaglio show --stats` prints them")
    fails(text, "run", "-", "--inputs", "ones", "--size", "n=1", stdin=SQUARE)
    done = call("run", chain, "--inputs", "ones", "--size", "n=9000000000000000000")
    assert done.returncode == 1
    assert done.stderr.startswith("error: input x: f32[n, 3] does not fit the memory\n  why: its sizes are 9000000000")
    text = error("the graph has no result q", "its results are s, t", "name one of them, or give its position from 0")
    fails(text, "run", chain, "--inputs", "ones", "--size", "n=2", "-o", "q=q.npy")


def test_bad_npy_files(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"

    def refused(what: str, why: str = "the file does not follow NumPy's .npy format", hint: str = "") -> None:
        hint = hint or "write it with numpy.save"
        fails(error(f"{path}: {what}", why, hint), "run", "-", "-i", f"x={path}", stdin=SQUARE)

    np.save(path, np.zeros((2, 2), np.float32))
    whole = path.read_bytes()
    path.write_bytes(b"")
    refused("it is not an .npy file")
    path.write_bytes(whole[:40])
    refused("its header is cut off")
    path.write_bytes(whole[:-4])
    refused("it has 12 bytes of elements, its header says 16")
    path.write_bytes(whole.replace(b"(2, 2)", b"(-2,2)"))
    refused("its shape is not of whole numbers")
    path.write_bytes(whole.replace(b"'shape': (2, 2)", b"'shape': (9**9)"))
    refused("its shape is not a tuple")
    path.write_bytes(whole.replace(b"<f4", b"|O8"))
    refused(
        "it holds elements of type '|O8'",
        "there is no such element type here",
        "convert it with astype before it is saved",
    )
    draw = random.Random(3)
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(bytes(data))
        assert call("run", "-", "-i", f"x={path}", stdin=SQUARE).returncode in (0, 1)


def test_compare_passes_and_fails(chain: Path, tmp_path: Path) -> None:
    lines = good("run", chain, "--inputs", "random:1", "--size", "n=50", "--compare").splitlines()
    assert lines[0] == "s: all 150 elements have the same bits as the reference"
    assert lines[1].startswith("t: ")
    other = tmp_path / "other.ig"
    other.write_text(CHAIN.replace("tanh", "sine"))
    done = call("run", chain, "--inputs", "full:1", "--size", "n=1", "--compare-with", other)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == f"s: all 3 elements have the same bits as {other}"
    assert done.stderr == error(
        f"result t differs from {other} in 3 of 3 elements",
        "the bound is 64 ULP, or 64 roundings of 1; the worst is element 0: 0.9640276 instead of 0.9092974",
        "give a wider --tolerance or --atol if rounding explains it; else please report it with the graph",
    )
    assert call("run", chain, "--inputs=full:1", "--size=n=1", "--compare-with", other, "--atol=1").returncode == 0
    other.write_text(SQUARE)
    text = error(
        f"{other} cannot be compared: the graphs' types differ",
        "one is (f32[n, 3], f32[n, 3]) -> (f32[n, 3], f32[n, 3]), the other (f32[2, 2]) -> (f32[2, 2])",
        "compare graphs that take and give the same",
    )
    fails(text, "run", chain, "--inputs", "ones", "--size", "n=1", "--compare-with", other)


def test_compare_sees_signed_zeros_and_whole_numbers(tmp_path: Path) -> None:
    a, b = tmp_path / "a.ig", tmp_path / "b.ig"
    a.write_text("graph @a() { %x = constant() {value = f32[1] {-0x0p+0}} : f32[1] return %x }")
    b.write_text("graph @a() { %x = constant() {value = f32[1] {0x0p+0}} : f32[1] return %x }")
    assert call("run", a, "--compare-with", b).returncode == 0
    assert call("run", a, "--compare-with", b, "--tolerance", "exact").returncode == 1
    a.write_text("graph @a() { %x = constant() {value = i32[1] {7}} : i32[1] return %x }")
    b.write_text("graph @a() { %x = constant() {value = i32[1] {8}} : i32[1] return %x }")
    done = call("run", a, "--compare-with", b, "--tolerance", "1000000")
    assert done.returncode == 1
    assert done.stdout == f"x: 1 of 1 elements differ from {b}, at most by 1\n"
    text = error(
        "--tolerance lots: 'lots' is no bound",
        "a bound is a number of units in the last place, 0 or more",
        "write --tolerance 4, or --tolerance exact for the same bits",
    )
    fails(text, "run", a, "--tolerance", "lots")


def test_targets_threads_and_passes_agree(chain: Path) -> None:
    arguments = ["run", chain, "--inputs", "random:5", "--size", "n=1000"]
    want = good(*arguments)
    assert good(*arguments, "--threads", "1") == want
    assert good(*arguments, "--threads", "4") == want
    assert good(*arguments, "--disable-passes", "canonicalize,cse", "--disable-passes", "dce") == want
    for target in ("host", "native", "x86-64-v3"):
        done = call(*arguments, "--target", target)
        if done.returncode:  # the machine lacks the level, and says so
            assert done.stderr.startswith(f"error: code for {target} does not run on this machine\n")
        else:
            assert done.stdout == want
    good(*arguments, "--target", "x86-64-v2", "--compare")
    done = call(*arguments, "--disable-passes", "fuze")
    assert done.returncode == 1
    assert done.stderr.startswith("error: unknown pass 'fuze'\n")


def test_report(chain: Path) -> None:
    text = good("run", chain, "--inputs", "random:5", "--size", "n=1000", "--quiet", "--report")
    lines = dict(line.strip().split("  ", 1) for line in text.splitlines()[1:])
    assert lines["nodes"].strip() == "2 captured, 3 after passes"
    assert lines["kernels"].strip().startswith("1: ")
    assert lines["kernels"].strip().endswith("; 0 fallback")
    assert lines["fused groups"].strip() == "1"
    # Two results of 12000 bytes, and nothing else.
    assert lines["peak memory"].strip() == "24000 bytes planned, 24000 measured"
    assert lines["fuse"] == "loop: add tanh (reads 24*n bytes, writes 24*n, keeps 12*n out of memory)"
    text = error(
        "there is no report of a run by reference",
        "the report is about compiled code",
        "leave out --reference",
    )
    done = call("run", chain, "--inputs", "ones", "--size", "n=1", "--reference", "--report", "--quiet")
    assert (done.returncode, done.stderr) == (1, text)


# --- bench and doctor ---------------------------------------------------------------------------------------


def test_bench(chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    text = good("bench", chain, "--size", "n=1000", "--threads", "1,2", "--rounds", "3", "--json", out)
    assert text.startswith("chain: 1 kernels, 1 fused groups, compiled in ")
    assert "inputs, constants and results are 48000 bytes\n" in text
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["threads", "1", "2"]
    data = json.loads(out.read_text())
    assert (data["graph"], data["bytes"], data["rounds"]) == ("chain", 48000, 3)
    assert [row["threads"] for row in data["rows"]] == [1, 2]
    for row in data["rows"]:
        assert 0 < row["low_us"] <= row["median_us"] <= row["high_us"]
        assert row["ratio"] > 0
    timeline = tmp_path / "timeline.json"
    told = good(
        "bench", chain, "--size", "n=1000", "--threads", "1", "--rounds", "1", "--kernels", "--timeline", timeline
    )
    assert "calls of 1 program\n" in told
    events = [e for e in json.loads(timeline.read_text())["traceEvents"] if e["ph"] == "X"]
    assert {e["cat"] for e in events} == {"call", "kernel"}
    arguments = ("--size", "n=1000", "--threads", "1", "--rounds", "1", "--kernels", "--json", "-")
    kernels = json.loads(good("bench", chain, *arguments))["by_kernel"]
    assert [(k["result"], k["bytes"]) for k in kernels] == [("f32[n, 3], f32[n, 3]", kernels[0]["calls"] * 48000)]
    only = json.loads(good("bench", "-", "--rounds", "1", "--threads", "1", "--json", "-", stdin=SQUARE))
    assert only["file"] == "-"


def test_progress_is_for_terminals_only() -> None:
    main, side = pty.openpty()
    done = subprocess.run(
        [COMMAND, "run", "-", "--inputs", "ones"],
        input=SQUARE.encode(),
        stdout=subprocess.PIPE,
        stderr=side,
        timeout=60,
    )
    os.close(side)
    shown = os.read(main, 65536).decode()
    os.close(main)
    assert done.returncode == 0
    assert "compiling …" in shown
    assert shown.endswith("\r\x1b[K")  # and nothing stays
    assert done.stdout == b"y: f32[2, 2]\n[[1, 1],\n [1, 1]]\n"


def test_doctor() -> None:
    import intaglio

    report = json.loads(good("doctor", "--json"))
    assert report["version"] == intaglio.__version__
    assert report["compiler"].startswith("LLVM 19.")
    assert report["runtime library size"] == Path(report["runtime library"]).stat().st_size
    assert report["ops"] > 100
    assert report["passes"] == len(pass_names())
    assert "x86-64-v2" in report["targets that run here"]
    assert 1 <= report["processors after quota"] <= report["processors allowed"] <= report["processors online"]
    assert report["copy bandwidth"] > 0
    assert report["self-test"].startswith("passed: ")
    text = good("doctor", env={"INTAGLIO_NUM_THREADS": "3", "INTAGLIO_TARGET": "x86-64-v2"})
    lines = dict(line.split("  ", 1) for line in text.splitlines() if "  " in line)
    assert lines["pool threads"].strip() == "3"
    assert lines["target"].strip() == "x86-64-v2"
    assert "INTAGLIO_NUM_THREADS=3" in lines["settings"]


def test_bad_environment(chain: Path) -> None:
    done = call("run", chain, "--inputs=ones", "--size=n=1", env={"INTAGLIO_TARGET": "z80"})
    assert done.returncode == 1
    assert done.stderr.startswith('error: INTAGLIO_TARGET: there is no target "z80"\n')
