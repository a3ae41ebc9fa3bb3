"""What must stand: every target of the harness with its bound, and where a result has the figures for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rows import (
    Result,
    Systems,
    best_peer,
    by_workload,
    megabytes,
    mib,
    on,
    over_limit,
    percent,
    seconds,
    table,
    times,
    title,
)
from workloads import all_workloads


@dataclass(frozen=True)
class Figure:
    """One measurement that a target judges."""

    where: str
    value: float
    of: str = ""  # the words behind the value: what it is a part of
    note: str = ""  # what else a reader wants to know where it misses
    scatter: float = 0  # how far it may be off the bound by chance


@dataclass(frozen=True)
class Target:
    """A figure is to be `bound` at most, or at least; what a result has not measured is not judged."""

    name: str
    bound: float
    written: Callable[[float], str]
    figures: Callable[[Result], Iterable[Figure]]
    at_least: bool = False

    def missed_by(self, figure: Figure) -> float:
        """How many times as good it would have to be; what is above 1 misses."""
        if self.at_least:
            return self.bound / max(figure.value + figure.scatter, 1e-12)
        return (figure.value - figure.scatter) / self.bound

    def asked(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.written(self.bound)}"

    def measured(self, figure: Figure) -> str:
        return " ".join(filter(None, (self.written(figure.value), figure.of)))


def finely(value: float) -> str:
    """A ratio near 1, with the digit in which it differs from it."""
    return f"{value:.3f}×"


# ---- where the figures are -------------------------------------------------------------------------------


def rows_of(result: Result, names: Iterable[str] | None = None) -> Iterator[tuple[str, int, str, Systems]]:
    """Workload, number of threads, where that is in words, and the systems' rows; of all workloads, or of some."""
    wanted = None if names is None else set(names)
    for threads in result["settings"]["threads"]:
        for workload, row in by_workload(result, threads).items():
            if wanted is None or workload in wanted:
                yield workload, threads, f"{title(row)}, {on(threads)}", row


def without_a_named_ratio(result: Result) -> list[str]:
    """The workloads for which no ratio is named: level with the best other system is what is asked of them."""
    named = {name for names, _ in RATIOS for name in names} | {AGAINST_NUMPY}
    return [row["workload"] for row in result["rows"] if row["workload"] not in named]


def faster(names: Callable[[Result], Iterable[str]]) -> Callable[[Result], Iterator[Figure]]:
    """The best other system's time over Intaglio's."""

    def figures(result: Result) -> Iterator[Figure]:
        for _, _, where, row in rows_of(result, names(result)):
            own, peer = row.get("intaglio", {}), best_peer(row)
            if peer is None or "median" not in own:
                continue
            leanest, note = best_peer(row, "processor"), ""
            if leanest and "processor" in own:
                note = f" (by processor time {times(leanest[1] / own['processor'])})"
            yield Figure(where, peer[1] / own["median"], f"of {result['titles'][peer[0]]}", note)

    return figures


def share_of_peak(*names: str) -> Callable[[Result], Iterator[Figure]]:
    def figures(result: Result) -> Iterator[Figure]:
        for _, threads, where, row in rows_of(result, names):
            if ratio := over_limit(row, threads):
                yield Figure(where, 1 / ratio, "of the peak")

    return figures


def over_numpy(workload: str, system: str, what: str = "") -> Callable[[Result], Iterator[Figure]]:
    def figures(result: Result) -> Iterator[Figure]:
        for _, _, where, row in rows_of(result, (workload,)):
            own, numpy = (row.get(name, {}).get("median") for name in (system, "numpy"))
            if own and numpy:
                yield Figure(what + where, own / numpy, "of NumPy's time")

    return figures


def field(key: str, *names: str, what: str = "", threads: int | None = None) -> Callable[[Result], Iterator[Figure]]:
    """What Intaglio's rows have under a name; `what` it is, where that is not their time."""

    def figures(result: Result) -> Iterator[Figure]:
        for _, count, where, row in rows_of(result, names):
            value = row.get("intaglio", {}).get(key)
            if value is not None and threads in (None, count):
                yield Figure(what + where, value)

    return figures


def starts_faster(system: str) -> Callable[[Result], Iterator[Figure]]:
    """Its cold time over Intaglio's, with all threads, as the table of cold times has them. A warm call that took
    longer than the first one says nothing about a compile."""

    def figures(result: Result) -> Iterator[Figure]:
        most = max(result["settings"]["threads"])
        for _, threads, where, row in rows_of(result):
            own, other = (row.get(name, {}).get("cold") for name in ("intaglio", system))
            if own and other and threads == most:
                yield Figure(COLD + where, other / own, f"of {result['titles'][system]}")

    return figures


def weighs(value: Callable[[dict[str, dict[str, Any]]], float | None]) -> Callable[[Result], Iterator[Figure]]:
    """A figure of the rows of import and bytes, by system."""

    def figures(result: Result) -> Iterator[Figure]:
        try:
            found = value({row["system"]: row for row in result["weight"]})
        except KeyError:  # a system or a field that this result does not have
            return
        if found is not None:
            yield Figure("", found)

    return figures


def against_one_thread(result: Result) -> Iterator[Figure]:
    one = by_workload(result, 1)
    for workload, threads, where, row in rows_of(result):
        alone, own = one.get(workload, {}).get("intaglio", {}), row.get("intaglio", {})
        if threads > 1 and "median" in alone and "median" in own:
            scatter = max(each["high"] - each["low"] for each in (alone, own)) / alone["median"]
            yield Figure(where, own["median"] / alone["median"], "of the time with 1 thread", scatter=scatter)


@dataclass(frozen=True)
class Variant:
    """The same work in another form: how far each of the two is from the machine's limit."""

    title: str
    threads: int
    over_limit: float | None
    listed: str
    listed_over_limit: float | None

    @property
    def quotient(self) -> float | None:
        own, listed = self.over_limit, self.listed_over_limit
        return own / listed if own and listed else None


def variants_of(result: Result) -> Iterator[Variant]:
    workloads = all_workloads()
    for workload, threads, _, row in rows_of(result):
        if workload in workloads and (listed := workloads[workload].variant_of):
            beside = by_workload(result, threads).get(listed, {})
            ratios = (over_limit(row, threads), over_limit(beside, threads))
            yield Variant(title(row), threads, ratios[0], workloads[listed].title, ratios[1])


def beside_the_listed(result: Result) -> Iterator[Figure]:
    for variant in variants_of(result):
        if variant.quotient:
            where = f"{variant.title}, {on(variant.threads)}"
            yield Figure(where, variant.quotient, f"as far from its limit as {variant.listed}")


# ---- the targets -----------------------------------------------------------------------------------------

LARGE_PRODUCTS = ("matmul_256", "matmul_512", "matmul_1024", "matmul_2048")
MINILM = ("minilm_1x16", "minilm_8x128")
COLD = "cold start of "
AGAINST_NUMPY = "mlp_20_batches"  # compiles included; whoever else is faster

# How many times faster than the best other system Intaglio is to be, with each number of threads.
RATIOS: list[tuple[tuple[str, ...], float]] = [
    (("chain_2048",), 1.8),
    (("chain_64",), 2.5),
    (("softmax",), 1.5),
    (("layer_norm",), 1.4),
    (("gelu_bias",), 2.2),
    (("sum_axis0", "sum_axis1"), 1.0),
    (("transpose_add",), 1.5),
    (("power_int32", "power_float32"), 4.0),
    (("matmul_64",), 1.5),
    (LARGE_PRODUCTS, 1.05),
    (("mlp",), 1.1),
    (("attention",), 1.3),
    (("resnet_stage",), 1.15),
    (("lstm",), 1.15),
    (("minilm_1x16",), 1.25),
    (("minilm_8x128",), 1.1),
    (("while_1000",), 1.5),
]


def best_others(names: tuple[str, ...], bound: float) -> Target:
    titles = " · ".join(all_workloads()[name].title for name in names)
    return Target(titles, bound, times, faster(lambda result: names), at_least=True)


def targets() -> list[Target]:
    return [
        *(best_others(names, bound) for names, bound in RATIOS),
        Target("every other workload", 1.0, times, faster(without_a_named_ratio), at_least=True),
        Target("matmul 256² and more: of the peak", 0.93, percent, share_of_peak(*LARGE_PRODUCTS), at_least=True),
        Target("20 batch sizes with compiles", 3.0, times, over_numpy(AGAINST_NUMPY, "intaglio")),
        Target("x + y, 4×4: compiled", 0.5e-6, seconds, field("median", "add_4x4")),
        Target("x + y, 4×4: eager", 1.0, times, over_numpy("add_4x4", "intaglio_eager", "eager ")),
        Target("cold start: jax.jit's over ours", 3.0, times, starts_faster("jax"), at_least=True),
        Target("cold start: torch.compile's over ours", 30.0, times, starts_faster("torch_compile"), at_least=True),
        Target("cold start of MiniLM", 0.15, seconds, field("cold", *MINILM, what=COLD, threads=2)),
        Target(
            "import, above NumPy's", 0.03, seconds, weighs(lambda w: w["intaglio"]["import"] - w["numpy"]["import"])
        ),
        Target("memory after import", 40e6, megabytes, weighs(lambda w: w["intaglio"]["resident"])),
        Target("wheel", 17e6, megabytes, weighs(lambda w: w["intaglio"]["packed"])),
        Target(
            "peak memory of MiniLM 8×128 over the weights",
            45 << 20,
            mib,
            field("peak_added", "minilm_8x128", what="peak memory of "),
        ),
        Target("more threads: of the time with 1 thread", 1.0, finely, against_one_thread),
        Target("variants beside the rows they belong to", 1.3, times, beside_the_listed),
    ]


LEGEND = """The measured figure is the worst of all that a target judges: of each workload and number of threads. A
workload is slower with more threads where its median is above that with one thread by more than either's quartiles
lie apart. A cold start is judged beside the systems that have one. Variants are held, as multiples of the limit, to
the row that they are another form of.
"""


def summary(result: Result) -> str:
    """A line a target: what is asked, the worst that was measured, and whether all of it stands."""
    lines = []
    for target in targets():
        figures = list(target.figures(result))
        if not figures:
            continue
        worst = max(figures, key=target.missed_by)
        missed = sum(target.missed_by(figure) > 1 for figure in figures)
        place = worst.where.removeprefix(f"{target.name}, ")  # one workload: the threads say all
        met = "yes" if not missed else "**no**" if len(figures) == 1 else f"**no**: {missed} of {len(figures)}"
        lines.append([target.name, target.asked(), ", ".join(filter(None, (target.measured(worst), place))), met])
    return table(["target", "asked", "measured", "met"], lines) if lines else ""


def short(result: Result) -> str:
    """What misses its target, by name, worst first; and what of ours could not be measured."""
    found = []
    for _, _, where, row in rows_of(result):
        own = row.get("intaglio")
        if own is not None and "median" not in own:
            found.append((float("inf"), f"- {where}: not measured: {own.get('problem', 'no round')}"))
    for target in targets():
        for figure in target.figures(result):
            if (by := target.missed_by(figure)) > 1:
                place = figure.where or target.name
                found.append((by, f"- {place}: {target.measured(figure)}{figure.note}, the target is {target.asked()}"))
    return "\n".join(text for _, text in sorted(found, key=lambda one: -one[0])) + "\n" if found else "None.\n"


def variants(result: Result) -> str:
    """Each variant beside the row it belongs to."""

    def written(value: float | None) -> str:
        return times(value) if value else "–"

    lines = [
        [v.title, str(v.threads), written(v.over_limit), v.listed, written(v.listed_over_limit), written(v.quotient)]
        for v in variants_of(result)
    ]
    header = ["variant", "threads", "of the limit", "belongs to", "of the limit", "quotient"]
    return table(header, lines) if lines else ""
