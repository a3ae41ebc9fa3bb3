"""The benchmark harness runs and writes what it promises. Nothing here depends on how long anything takes."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, BENCH / "run.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_eager_calls_are_measured_beside_numpys(tmp_path: Path) -> None:
    command = [
        sys.executable,
        BENCH / "eager.py",
        "--only",
        "xp.sum(x",
        "--least",
        "1e-5",
        "--out",
        tmp_path,
        "--sizes",
    ]
    done = subprocess.run([*command, "small"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "eager.json").read_text())
    assert {row["system"] for row in result["rows"]} == {"numpy", "intaglio"}
    assert all(row["low"] <= row["median"] <= row["high"] for row in result["rows"])
    assert "| `xp.sum(x, axis=0)` |" in (tmp_path / "eager.md").read_text()
    ElementTree.parse(tmp_path / "eager.svg")
    wrong = subprocess.run([*command, "huge"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "no sizes huge: there are small, middle, large" in wrong.stderr


QUICK = ("--quick", "--workloads", "add_4x4,while_1000", "--systems", "intaglio,numpy")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("bench") / "small.json"
    done = run(*QUICK, "--json", file)
    assert done.returncode == 0, done.stderr
    return file, done


def test_a_quick_run_measures_every_row_against_the_reference(result: Any) -> None:
    file, _ = result
    found = json.loads(file.read_text())
    rows = {(row["workload"], row["system"]): row for row in found["rows"]}
    assert set(rows) == {(w, s) for w in ("add_4x4", "while_1000") for s in ("intaglio", "numpy")}
    for row in rows.values():
        assert "problem" not in row
        assert len(row["rounds"]) == 2
        assert 0 < row["best"] <= row["low"] <= row["median"] <= row["high"]
        assert row["error"] <= row["bound"]
        assert row["first"] > 0
    assert found["machine"]["processors"] >= 1
    assert set(found["versions"]) == {"intaglio", "numpy"}


def test_it_writes_a_table_and_a_picture(result: Any) -> None:
    file, done = result
    table = file.with_suffix(".md").read_text()
    assert table.strip() == done.stdout.strip()
    lines = [line for line in table.splitlines() if line.startswith("| x + y, 4×4 |")]
    assert len(lines) == 2  # steady and cold
    assert "| NumPy |" in table
    assert "float64" in table
    picture = ElementTree.fromstring(file.with_suffix(".svg").read_text())
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    labels = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "x + y, 4×4" in labels
    assert "Intaglio" in labels


def test_rounds_on_fewer_processors_are_told() -> None:
    """Two threads that share a core have the multiply-adds of one."""

    def row(threads: int, rounds: list[float]) -> dict[str, Any]:
        median = sorted(rounds)[len(rounds) // 2]
        return {
            "workload": "mlp",
            "threads": threads,
            "system": "limit",
            "title": "MLP",
            "rounds": rounds,
            "median": median,
        }

    import report

    settings = {"threads": [1, 2]}
    shared = {"settings": settings, "rows": [row(1, [4e-4, 4e-4]), row(2, [2e-4, 4e-4, 3.9e-4])]}
    assert report.lost_processors(shared) == (
        "- MLP, 2 threads: in 2 of 3 rounds 1.00× the multiply-adds of one thread\n"
    )
    own = {"settings": settings, "rows": [row(1, [4e-4, 4e-4]), row(2, [2e-4, 2.1e-4])]}
    assert report.lost_processors(own) == ""


def test_a_result_is_compared_with_and_continues_an_earlier_one(result: Any, tmp_path: Path) -> None:
    file, _ = result
    again = tmp_path / "again.json"
    options = ("--quick", "--workloads", "add_4x4", "--systems", "numpy,intaglio", "--rounds", "1")
    done = run(*options, "--json", again, "--baseline", file, "--update", file)
    assert done.returncode == 0, done.stderr
    assert "### Against" in done.stdout
    rows = json.loads(again.read_text())["rows"]
    assert [len(row["rounds"]) for row in rows if row["workload"] == "add_4x4"] == [1, 1]
    assert [len(row["rounds"]) for row in rows if row["workload"] == "while_1000"] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--workloads", "softmaxx"), "unknown workload 'softmaxx'\n  known: chain_2048, softmax,"),
        (("--systems", "nunpy"), "unknown system 'nunpy'\n  known: intaglio, intaglio_eager, numpy, jax,"),
        (("--threads", "0"), "--threads must be whole numbers from 1 to"),
        (("--threads", "two"), "(the processors here), not 'two'"),
        (("--rounds", "0"), "--rounds must be at least 1"),
        (("--cold", "0"), "--cold counts first calls: at least 1"),
        (("--baseline", "/nowhere.json"), "--baseline: there is no file /nowhere.json"),
    ],
)
def test_what_it_does_not_know_is_refused(arguments: tuple[str, ...], text: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_an_output_that_is_wrong_is_found(tmp_path: Path) -> None:
    from run import largest_error

    exact = [np.array([1.0, -4.0]), np.ones((2, 2))]

    def error(*arrays: Any) -> float:
        np.savez(tmp_path / "out.npz", *arrays)
        return largest_error(tmp_path / "out.npz", exact)

    assert error(np.array([1.0, -4.0], np.float32), np.ones((2, 2), np.float32)) == 0
    assert error(np.array([1.0, -3.0]), np.ones((2, 2))) == 0.25
    assert error(np.array([1.0, -4.0]), np.ones((2, 1))) == float("inf")
    assert error(np.array([1.0, np.nan]), np.ones((2, 2))) == float("inf")


def test_every_workload_runs_in_float64_and_keeps_its_reference() -> None:
    """The program itself, on NumPy in float32, is within the bound that every system must keep."""
    from systems.numpy import NumpyAdapter, reference
    from workloads import all_workloads

    for name in ("chain_64", "power_int32", "power_float32", "while_1000", "lstm", "mlp"):
        workload = all_workloads()[name]
        inputs, weights = workload.data()
        out = workload.program(NumpyAdapter(), weights, *inputs)
        exact = reference(workload)
        for mine, true in zip(out if isinstance(out, tuple) else (out,), exact, strict=True):
            assert np.abs(mine - true).max() <= workload.bound * np.abs(true).max(), name
    count = reference(all_workloads()["while_1000"])[1]
    assert count == 1000


def test_a_tape_is_measured_where_there_is_one(tmp_path: Path) -> None:
    file = tmp_path / "tape.json"
    done = run("--quick", "--workloads", "eager_backward", "--systems", "intaglio,numpy", "--json", file)
    assert done.returncode == 0, done.stderr
    rows = {row["system"]: row for row in json.loads(file.read_text())["rows"]}
    assert rows["intaglio"]["error"] <= rows["intaglio"]["bound"]
    assert rows["numpy"]["problem"] == "NotImplementedError: it has no tape"


def test_cold_calls_with_the_cache_off_empty_and_full(tmp_path: Path) -> None:
    file = tmp_path / "cold.json"
    done = subprocess.run(
        [sys.executable, BENCH / "cold.py", "--rounds", "1", "--threads", "1", "--layers", "2,4", "--json", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    off, empty, full = (found["minilm"][name] for name in ("off", "empty", "full"))
    assert off["kernels_compiled"] == empty["kernels_compiled"] == full["kernels_cached"] > 0
    assert full["kernels_compiled"] == empty["kernels_cached"] == off["kernels_cached"] == 0
    assert [(row["layers"], row["nodes"]) for row in found["layers"]] == [(2, 10), (4, 20)]


def test_the_page_keeps_its_place_for_the_table() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "performance.md").read_text()
    assert page.index("<!-- measured -->\n") < page.index("<!-- end of measured -->")
    assert "NotImplementedError" not in page  # what a system does not have is no row that does not count
