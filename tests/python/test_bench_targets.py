"""The harness judges its own targets: on results that are made up, one that meets all of them and others that miss."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import targets  # noqa: E402
from workloads import all_workloads  # noqa: E402

Result = dict[str, Any]
TITLES = {
    "intaglio": "Intaglio",
    "intaglio_eager": "Intaglio eager",
    "numpy": "NumPy",
    "jax": "jax.jit",
    "torch_compile": "torch.compile",
}


def met() -> Result:
    """Every workload on every system, as the targets want it."""
    rows = []
    for name, workload in all_workloads().items():
        for threads in (1, 2):
            own = (0.4e-6 if name == "add_4x4" else 1e-3) / threads
            medians = {"intaglio": own, "intaglio_eager": 2 * own, **dict.fromkeys(("numpy", "jax"), 5 * own)}
            medians |= {"torch_compile": 6 * own} | ({"limit": own / 1.05} if workload.limit else {})
            for system, median in medians.items():
                row = {"workload": name, "title": workload.title, "threads": threads, "system": system}
                row |= {"median": median, "low": 0.99 * median, "high": 1.01 * median, "processor": median}
                if (cold := {"intaglio": 0.1, "jax": 0.6, "torch_compile": 6.0}.get(system)) and not workload.batches:
                    row["cold"] = cold
                rows.append(row | {"peak_added": 40 << 20})
    weight = [
        {"system": "intaglio", "import": 0.04, "resident": 22_000_000, "packed": 16_000_000},
        {"system": "numpy", "import": 0.05, "resident": 25_000_000, "packed": None},
    ]
    return {"settings": {"threads": [1, 2]}, "titles": TITLES, "rows": rows, "weight": weight}


MET = met()


def row(result: Result, workload: str, system: str, threads: int = 1) -> dict[str, Any]:
    """To be changed."""
    wanted = (workload, system, threads)
    found: dict[str, Any] = next(r for r in result["rows"] if (r["workload"], r["system"], r["threads"]) == wanted)
    return found


def test_a_result_that_meets_every_target() -> None:
    assert targets.short(MET) == "None.\n"
    assert targets.summary(MET) == SUMMARY


SUMMARY = """\
| target | asked | measured | met |
| --- | ---: | ---: | ---: |
| chain of 5, 2048² | ≥ 1.80× | 5.00× of jax.jit, 1 thread | yes |
| chain of 5, 64² | ≥ 2.50× | 5.00× of jax.jit, 1 thread | yes |
| softmax 4096×1024 | ≥ 1.50× | 5.00× of jax.jit, 1 thread | yes |
| layer norm 4096×1024 | ≥ 1.40× | 5.00× of jax.jit, 1 thread | yes |
| gelu(tanh) + bias 4096×1024 | ≥ 2.20× | 5.00× of jax.jit, 1 thread | yes |
| sum of 4096², axis 0 · sum of 4096², axis 1 | ≥ 1.00× | 5.00× of jax.jit, sum of 4096², axis 0, 1 thread | yes |
| x.T + y, 2048² | ≥ 1.50× | 5.00× of jax.jit, 1 thread | yes |
| power 100, int32 · power 100, float32 | ≥ 4.00× | 5.00× of jax.jit, power 100, int32, 1 thread | yes |
| matmul 64² | ≥ 1.50× | 5.00× of jax.jit, 1 thread | yes |
| matmul 256² · matmul 512² · matmul 1024² · matmul 2048² | ≥ 1.05× | 5.00× of jax.jit, matmul 256², 1 thread | yes |
| MLP forward, batch 64 | ≥ 1.10× | 5.00× of jax.jit, 1 thread | yes |
| masked attention 8×8×256×64 | ≥ 1.30× | 5.00× of jax.jit, 1 thread | yes |
| ResNet-18 stem and stage | ≥ 1.15× | 5.00× of jax.jit, 1 thread | yes |
| LSTM 128, 64 steps, batch 8 | ≥ 1.15× | 5.00× of jax.jit, 1 thread | yes |
| MiniLM 1×16 | ≥ 1.25× | 5.00× of jax.jit, 1 thread | yes |
| MiniLM 8×128 | ≥ 1.10× | 5.00× of jax.jit, 1 thread | yes |
| while, 1000 small steps | ≥ 1.50× | 5.00× of jax.jit, 1 thread | yes |
| every other workload | ≥ 1.00× | 5.00× of jax.jit, sum of 4096², all, 1 thread | yes |
| matmul 256² and more: of the peak | ≥ 93% | 95% of the peak, matmul 256², 1 thread | yes |
| 20 batch sizes with compiles | ≤ 3.00× | 0.20× of NumPy's time, MLP, 20 batch sizes with compiles, 1 thread | yes |
| x + y, 4×4: compiled | ≤ 0.50 µs | 0.40 µs, x + y, 4×4, 1 thread | yes |
| x + y, 4×4: eager | ≤ 1.00× | 0.40× of NumPy's time, eager x + y, 4×4, 1 thread | yes |
| cold start: jax.jit's over ours | ≥ 3.00× | 6.00× of jax.jit, cold start of chain of 5, 2048², 2 threads | yes |
| cold start: torch.compile's over ours | ≥ 30.0× | 60.0× of torch.compile, cold start of chain of 5, 2048², 2 threads | yes |
| cold start of MiniLM | ≤ 150 ms | 100 ms, cold start of MiniLM 1×16, 2 threads | yes |
| import, above NumPy's | ≤ 30.0 ms | -10.0 ms | yes |
| memory after import | ≤ 40.0 MB | 22.0 MB | yes |
| wheel | ≤ 17.0 MB | 16.0 MB | yes |
| peak memory of MiniLM 8×128 over the weights | ≤ 45.0 MiB | 40.0 MiB, peak memory of MiniLM 8×128, 1 thread | yes |
| more threads: of the time with 1 thread | ≤ 1.000× | 0.500× of the time with 1 thread, x + y, 4×4, 2 threads | yes |
| variants beside the rows they belong to | ≤ 1.30× | 1.00× as far from its limit as chain of 5, 2048², chain of 5, 4097×1023, 1 thread | yes |
"""  # noqa: E501


def peer(workload: str, threads: int, ratio: float, system: str = "jax") -> Callable[[Result], None]:
    """So many times as slow as Intaglio."""

    def change(result: Result) -> None:
        row(result, workload, system, threads)["median"] = ratio * row(result, workload, "intaglio", threads)["median"]

    return change


def put(workload: str, system: str, threads: int, **fields: Any) -> Callable[[Result], None]:
    return lambda result: row(result, workload, system, threads).update(fields)


def weigh(**fields: Any) -> Callable[[Result], None]:
    return lambda result: result["weight"][0].update(fields)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            peer("softmax", 1, 1.2),
            "softmax 4096×1024, 1 thread: 1.20× of jax.jit (by processor time 5.00×), the target is ≥ 1.50×",
        ),
        (
            peer("matmul_512", 2, 1.04, "torch_compile"),
            "matmul 512², 2 threads: 1.04× of torch.compile (by processor time 5.00×), the target is ≥ 1.05×",
        ),
        (
            peer("sum_all", 1, 0.5, "numpy"),
            "sum of 4096², all, 1 thread: 0.50× of NumPy (by processor time 5.00×), the target is ≥ 1.00×",
        ),
        (
            put("matmul_1024", "limit", 1, processor=0.92e-3),
            "matmul 1024², 1 thread: 92% of the peak, the target is ≥ 93%",
        ),
        (
            put("matmul_1024", "limit", 2, median=0.92e-3 / 2),
            "matmul 1024², 2 threads: 92% of the peak, the target is ≥ 93%",
        ),
        (
            peer("mlp_20_batches", 1, 0.25, "numpy"),
            "MLP, 20 batch sizes with compiles, 1 thread: 4.00× of NumPy's time, the target is ≤ 3.00×",
        ),
        (
            put("add_4x4", "intaglio", 1, median=0.61e-6),
            "x + y, 4×4, 1 thread: 0.61 µs, the target is ≤ 0.50 µs",
        ),
        (
            put("minilm_1x16", "intaglio", 2, cold=0.16),
            "cold start of MiniLM 1×16, 2 threads: 160 ms, the target is ≤ 150 ms",
        ),
        (
            put("add_4x4", "intaglio_eager", 1, median=2.5e-6),
            "eager x + y, 4×4, 1 thread: 1.25× of NumPy's time, the target is ≤ 1.00×",
        ),
        (
            put("lstm", "jax", 2, cold=0.25),
            "cold start of LSTM 128, 64 steps, batch 8, 2 threads: 2.50× of jax.jit, the target is ≥ 3.00×",
        ),
        (
            put("lstm", "torch_compile", 2, cold=2.5),
            "cold start of LSTM 128, 64 steps, batch 8, 2 threads: 25.0× of torch.compile, the target is ≥ 30.0×",
        ),
        (weigh(**{"import": 0.081}), "import, above NumPy's: 31.0 ms, the target is ≤ 30.0 ms"),
        (weigh(resident=41_000_000), "memory after import: 41.0 MB, the target is ≤ 40.0 MB"),
        (weigh(packed=17_500_000), "wheel: 17.5 MB, the target is ≤ 17.0 MB"),
        (
            put("minilm_8x128", "intaglio", 2, peak_added=46 << 20),
            "peak memory of MiniLM 8×128, 2 threads: 46.0 MiB, the target is ≤ 45.0 MiB",
        ),
        (
            put("while_1000", "intaglio", 2, median=1.03e-3),
            "while, 1000 small steps, 2 threads: 1.030× of the time with 1 thread, the target is ≤ 1.000×",
        ),
        (
            put("softmax_five", "intaglio", 1, processor=1.4e-3),
            "softmax in five ops 4096×1024, 1 thread: 1.40× as far from its limit as softmax 4096×1024, "
            "the target is ≤ 1.30×",
        ),
    ],
)
def test_what_misses_a_target_is_told_by_name(change: Callable[[Result], None], text: str) -> None:
    result = copy.deepcopy(MET)
    change(result)
    assert targets.short(result) == f"- {text}\n"
    (line,) = [line for line in targets.summary(result).splitlines() if "**no**" in line]
    assert text.split("the target is ")[1] in line


def test_the_worst_comes_first() -> None:
    result = copy.deepcopy(MET)
    peer("softmax", 1, 1.2)(result)
    weigh(packed=34_000_000)(result)
    problem = row(result, "lstm", "intaglio", 2)
    del problem["median"]
    problem["problem"] = "wrong: error 1.0e+00, bound 1e-05"
    lines = targets.short(result).splitlines()
    assert lines[0] == "- LSTM 128, 64 steps, batch 8, 2 threads: not measured: wrong: error 1.0e+00, bound 1e-05"
    assert [line.split(":")[0] for line in lines[1:]] == ["- wheel", "- softmax 4096×1024, 1 thread"]


def test_slower_with_more_threads_is_what_no_scatter_explains() -> None:
    """The medians are 3 % apart, the quartiles of one of the two 4 %."""
    result = copy.deepcopy(MET)
    put("while_1000", "intaglio", 2, median=1.03e-3)(result)
    assert "while, 1000 small steps, 2 threads" in targets.short(result)
    put("while_1000", "intaglio", 1, low=0.98e-3, high=1.02e-3)(result)
    assert targets.short(result) == "None.\n"


def test_what_a_result_lacks_is_not_judged() -> None:
    """A peer without a cold time, and files of before some fields were there."""
    result = copy.deepcopy(MET)
    result["weight"] = [{"system": "intaglio", "import": 9.0, "packed": None}]
    for each in result["rows"]:
        for name in ("cold", "processor", "peak_added"):
            each.pop(name, None)
    assert targets.short(result) == "None.\n"
    judged = [line.split(" | ")[0].removeprefix("| ") for line in targets.summary(result).splitlines()]
    everything = [line.split(" | ")[0].removeprefix("| ") for line in SUMMARY.splitlines()]
    gone = ("cold start", "import", "memory after import", "wheel", "peak memory")
    assert judged == [name for name in everything if not name.startswith(gone)]
    assert targets.summary({"settings": {"threads": [1]}, "titles": {}, "rows": [], "weight": []}) == ""


def test_variants_stand_beside_the_rows_they_belong_to() -> None:
    result = copy.deepcopy(MET)
    names = ("softmax", "softmax_five", "matmul_1")
    result["rows"] = [each for each in result["rows"] if each["workload"] in names and each["threads"] == 1]
    put("softmax_five", "limit", 1, processor=0.8e-3)(result)
    assert targets.variants(result) == (
        "| variant | threads | of the limit | belongs to | of the limit | quotient |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| softmax in five ops 4096×1024 | 1 | 1.25× | softmax 4096×1024 | 1.05× | 1.19× |\n"
        "| matmul 1×1024 by 1024² | 1 | 1.05× | matmul 1024² | – | – |\n"
    )
    result["rows"] = [each for each in result["rows"] if each["workload"] == "softmax"]
    assert targets.variants(result) == ""


def test_every_variant_knows_a_listed_row_with_a_limit() -> None:
    workloads = all_workloads()
    variants = [workload for workload in workloads.values() if workload.variant_of]
    assert len(variants) >= 20
    for variant in variants:
        assert variant.limit, variant.name
        listed = workloads[variant.variant_of]
        assert listed.limit, variant.name
        assert not listed.variant_of, variant.name
