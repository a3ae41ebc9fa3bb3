"""The benchmarks: every workload on every system, each in a process of its own, interleaved round by round.

    make bench                       Intaglio against NumPy and the machine's limits
    make bench PEERS=1               against torch, JAX, ONNX Runtime, OpenVINO, TensorFlow too
    make bench ARGS="--workloads softmax,layer_norm --threads 1"

Writes bench/results/<time>.json with a Markdown table and a picture beside it, and the same as latest.*.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import systems  # noqa: E402
import weight  # noqa: E402
from machine import Limits, describe  # noqa: E402
from systems.numpy import reference  # noqa: E402
from workloads import Workload, all_workloads  # noqa: E402

PATIENCE = 600.0  # seconds for an answer of a worker
BATCH_ROUNDS = 3  # fresh processes for a workload that counts compiles


class Progress:
    """One line that is written over where a person waits at a terminal; elsewhere one line a workload."""

    def __init__(self, pieces: int) -> None:
        self.pieces, self.done, self.begin = pieces, 0, time.monotonic()
        self.live = sys.stderr.isatty()

    def say(self, what: str) -> None:
        if self.live:
            print(
                f"\r\x1b[K[{self.done + 1}/{self.pieces}] {what}{self.left()}",
                end="",
                file=sys.stderr,
                flush=True,
            )

    def left(self) -> str:
        if not self.done:
            return ""
        seconds = (time.monotonic() - self.begin) / self.done * (self.pieces - self.done)
        return f" · about {seconds / 60:.0f} min left" if seconds > 90 else f" · about {seconds:.0f} s left"

    def finish(self, what: str) -> None:
        self.done += 1
        start = "\r\x1b[K" if self.live else ""
        print(f"{start}[{self.done}/{self.pieces}] {what}", file=sys.stderr, flush=True)


class WorkerError(Exception):
    pass


class Worker:
    """A child process for one system, of bench/worker.py or one like it. It stands still while others have their
    turn: threads that wait for work by spinning, as most systems' do, would take a processor from them."""

    def __init__(self, name: str, threads: int, scratch: Path, script: str = "worker.py") -> None:
        self.name = name
        processors = sorted(os.sched_getaffinity(0))
        own = set(processors[-threads:])
        counts = {variable: str(threads) for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        environment = os.environ | counts | systems.get(name).environ(threads) | {"TMPDIR": str(scratch)}
        environment["INTAGLIO_CACHE"] = "0"  # the cold time is that of compiling
        self.log = scratch / f"{name}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [peers.python_of(name), HERE / script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                preexec_fn=lambda: os.sched_setaffinity(0, own),
            )

    def ask(self, **command: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(self._end()) from None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        if not ready:
            raise WorkerError(f"no answer in {PATIENCE:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise WorkerError(self._end())
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def _end(self) -> str:
        code = self.process.wait()
        last = self.log.read_text(errors="replace").strip().splitlines()
        return f"the process ended with {code}" + (f": {last[-1]}" if last else "")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.close()
            self.process.wait(5)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def largest_error(outputs: Path, exact: Sequence[np.ndarray]) -> float:
    """The largest difference from the reference over its largest magnitude; infinite where shapes differ."""
    with np.load(outputs) as file:
        got = [file[name] for name in file.files]
    if [a.shape for a in got] != [a.shape for a in exact]:
        return float("inf")
    worst = 0.0
    for mine, true in zip(got, exact, strict=True):
        difference = np.abs(mine.astype(np.float64) - true.astype(np.float64)).max(initial=0.0)
        share = float(difference / max(np.abs(true).max(initial=0), 1e-30))
        worst = max(worst, share if share == share else float("inf"))
    return worst


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.limits = Limits()
        self.budget = 0.004 if options.quick else 0.06
        self.rows: list[dict[str, Any]] = []

    def measure(
        self, workload: Workload, folder: Path, exact: Sequence[np.ndarray], threads: int, progress: Progress
    ) -> list[dict[str, Any]]:
        """One workload on all systems: a row each, in the place of an earlier one."""
        start = {
            "do": "start",
            "workload": workload.name,
            "threads": threads,
            "data": str(folder),
            "budget": self.budget,
        }
        rows: dict[str, dict[str, Any]] = {}
        workers: dict[str, Worker] = {}
        turns = min(BATCH_ROUNDS, self.options.rounds) if workload.batches else self.options.rounds
        for name in self.options.systems:
            rows[name] = {
                "workload": workload.name,
                "title": workload.title,
                "threads": threads,
                "system": name,
                "bound": workload.bound,
                "variant_of": workload.variant_of,
                "rounds": [],
                "processor_rounds": [],
                "best": None,
            }
        try:
            for name, row in rows.items():
                starts = turns if workload.batches else self.options.cold
                firsts = []
                for turn in range(starts):
                    progress.say(f"{workload.title}, {threads} threads: {systems.get(name).title} starts")
                    outputs = folder / f"{name}.npz"
                    workers[name] = Worker(name, threads, folder)
                    try:
                        answer = workers[name].ask(**start, system=name, outputs=str(outputs))
                        row["error"] = largest_error(outputs, exact)
                        outputs.unlink()
                        if not row["error"] <= workload.bound:
                            raise WorkerError(f"wrong: error {row['error']:.1e}, bound {workload.bound:.0e}")
                    except WorkerError as error:
                        row["problem"] = str(error)
                        workers.pop(name).close()
                        break
                    if workload.batches:
                        row["rounds"].append(answer["whole"])
                        row["best"] = min(row["rounds"])
                        row["processor_rounds"].append(answer["processor"])
                    if workload.batches or turn + 1 < starts:
                        workers.pop(name).close()
                    if turn == 0:
                        row |= {"peak_added": answer["peak_added"], "peak": answer["peak"]}
                    firsts.append(answer["first"])
                    row["first"] = statistics.median(firsts)
            if not workload.batches:
                self.interleave(workload, threads, rows, workers, progress)
        finally:
            for worker in workers.values():
                worker.close()
        for row in rows.values():
            self.finish(row)
        new = {(row["workload"], row["threads"], row["system"]) for row in rows.values()}
        kept = [row for row in self.rows if (row["workload"], row["threads"], row["system"]) not in new]
        order = list(all_workloads())
        self.rows[:] = sorted([*kept, *rows.values()], key=lambda row: order.index(row["workload"]))
        return list(rows.values())

    def interleave(
        self,
        workload: Workload,
        threads: int,
        rows: dict[str, dict[str, Any]],
        workers: dict[str, Worker],
        progress: Progress,
    ) -> list[dict[str, Any]]:
        if workload.limit is not None and self.limits.available:
            rows["limit"] = {
                "workload": workload.name,
                "title": workload.title,
                "threads": threads,
                "system": "limit",
                "variant_of": workload.variant_of,
                "rounds": [],
                "processor_rounds": [],
                "best": None,
            }
        for turn in range(self.options.rounds):
            names = [name for name in rows if name in workers or name == "limit"]
            shift = turn % max(1, len(names))
            for name in names[shift:] + names[:shift]:
                row = rows[name]
                title = "the limit" if name == "limit" else systems.get(name).title
                progress.say(f"{workload.title}, {threads} threads: {title}, round {turn + 1} of {self.options.rounds}")
                if name == "limit":
                    assert workload.limit is not None
                    answer = self.limits.seconds(workload.limit, threads, max(5, int(self.budget * 500)))
                else:
                    try:
                        answer = workers[name].ask(do="round")
                    except WorkerError as error:
                        row["problem"] = str(error)
                        workers.pop(name).close()
                        continue
                row["rounds"].append(answer["median"])
                if "processor" in answer:
                    row["processor_rounds"].append(answer["processor"])
                row["best"] = min(answer["best"], row["best"] or answer["best"])

    def finish(self, row: dict[str, Any]) -> None:
        """Medians and quartiles of the rounds; the cold time is the first call less a warm one."""
        if not row["rounds"] or "problem" in row:
            return
        row["median"] = statistics.median(row["rounds"])
        low, high = row["median"], row["median"]
        if len(row["rounds"]) > 1:
            low, _, high = statistics.quantiles(row["rounds"], n=4, method="inclusive")
        row["low"], row["high"] = low, high
        if row.get("processor_rounds"):
            row["processor"] = statistics.median(row["processor_rounds"])
        if "first" in row and not all_workloads()[row["workload"]].batches:
            row["cold"] = max(0.0, row["first"] - row["median"])


def listed(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--workloads", type=listed, metavar="A,B", help="only these ('weight' is import and bytes)")
    parser.add_argument("--systems", type=listed, metavar="A,B", help="only these")
    parser.add_argument("--peers", action="store_true", help="install the peers that are missing, and measure all")
    parser.add_argument("--threads", type=listed, metavar="1,2", help="numbers of threads (default: 1,2)")
    parser.add_argument("--rounds", type=int, help="rounds (default: 7)")
    parser.add_argument(
        "--cold", type=int, default=1, metavar="N", help="first calls, each of a new process (default: 1)"
    )
    parser.add_argument("--variants", action="store_true", help="the same work in other forms and sizes too")
    parser.add_argument("--quick", action="store_true", help="short rounds, two of them, one thread: a smoke test")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the results go (default: bench/results/)")
    parser.add_argument("--baseline", type=Path, metavar="OLD.json", help="compare with an earlier result")
    parser.add_argument("--update", type=Path, metavar="OLD.json", help="start from an earlier result's rows")
    parser.add_argument("--docs", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--list", action="store_true", help="print the names of workloads and systems")
    options = parser.parse_args(argv)

    def refuse(kind: str, wrong: str, known: Sequence[str]) -> None:
        parser.error(f"unknown {kind} {wrong!r}\n  known: {', '.join(known)}")

    workloads = all_workloads()
    for name in options.workloads or ():
        if name not in workloads and name != "weight":
            refuse("workload", name, [*workloads, "weight"])
    known = systems.names()
    for name in options.systems or ():
        if name not in known:
            refuse("system", name, known)
    if options.workloads is None:
        options.workloads = [name for name, w in workloads.items() if options.variants or not w.variant_of]
        if not options.quick:
            options.workloads.append("weight")
    available = len(os.sched_getaffinity(0))
    texts = options.threads or (["1"] if options.quick or available < 2 else ["1", "2"])
    for text in texts:
        if not text.isdecimal() or not 1 <= int(text) <= available:
            parser.error(f"--threads must be whole numbers from 1 to {available} (the processors here), not {text!r}")
    options.threads = [int(text) for text in texts]
    if options.rounds is None:
        options.rounds = 2 if options.quick else 7
    if options.cold < 1:
        parser.error("--cold counts first calls: at least 1")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    for option, file in (("--baseline", options.baseline), ("--update", options.update)):
        if file is not None and not file.exists():
            parser.error(f"{option}: there is no file {file}")
    return options


def choose_systems(options: argparse.Namespace) -> None:
    """Ours and NumPy, the peers with --peers, or those that were named."""
    named = options.systems
    wanted = named or [name for name in systems.names() if options.peers or systems.get(name).peer is None]
    if options.peers:
        peers.install(wanted)
    options.systems = [name for name in wanted if peers.installed(name)]
    for name in wanted:
        if not peers.installed(name) and named and not options.peers:
            sys.exit(f"bench: {name} is not installed\n  hint: --peers installs the peers into build/peers")


def start_from(old: dict[str, Any], result: dict[str, Any], measured: bool) -> None:
    """Takes an earlier result's rows over; what is measured again, if anything is, takes their place."""
    for part in ("versions", "titles"):
        result[part] = old[part] | result[part]
    again = result["settings"]["threads"] if measured else ()
    result["settings"] = old["settings"] | {"threads": sorted({*old["settings"]["threads"], *again})}
    result["limits"] = [row for row in old["limits"] if row["threads"] not in again]
    result["weight"] = old["weight"]
    result["rows"] += old["rows"]
    if not measured:
        result |= {part: old[part] for part in ("when", "machine", "load_after") if part in old}


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    workloads = all_workloads()
    if options.list:
        print("workloads:", *(f"  {w.name:22} {w.title}" for w in workloads.values()), "systems:", sep="\n")
        print(*(f"  {name:22} {systems.get(name).title}" for name in systems.names()), sep="\n")
        return 0
    choose_systems(options)
    bench = Bench(options)
    chosen = [workloads[name] for name in options.workloads if name != "weight"]
    weigh = "weight" in options.workloads
    progress = Progress(len(chosen) * len(options.threads) + weigh)
    result: dict[str, Any] = {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": describe(),
        "versions": {name: weight.version(name) for name in options.systems},
        "titles": {name: systems.get(name).title for name in options.systems},
        "settings": {"rounds": options.rounds, "budget": bench.budget, "threads": options.threads},
        "limits": [],
        "rows": bench.rows,
        "weight": [],
    }
    if options.update is not None:
        start_from(json.loads(options.update.read_text()), result, bool(chosen or weigh))
    if bench.limits.available and chosen:
        for threads in options.threads:
            result["limits"] += bench.limits.all(threads, 10 if options.quick else 300)
    when = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    target = options.json or HERE / "results" / f"{when}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    for workload in chosen:
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            folder = Path(name)
            progress.say(f"{workload.title}: inputs and the float64 reference")
            inputs, weights = workload.data()
            arrays = {f"input {i}": array for i, array in enumerate(inputs)}
            np.savez(folder / "data.npz", **arrays, **{f"weight {key}": value for key, value in weights.items()})
            exact = reference(workload)
            for threads in options.threads:
                rows = bench.measure(workload, folder, exact, threads, progress)
                progress.finish(report.one_line(rows, result["titles"]))
                target.write_text(json.dumps(result, indent=1))
    if weigh:
        result["weight"] = weight.measure(weight.distinct(options.systems), options.rounds, progress.say)
        progress.finish("import and bytes")
    if chosen or weigh:
        result["load_after"] = os.getloadavg()[0]
    target.write_text(json.dumps(result, indent=1))
    table, picture = report.markdown(result), report.picture(result)
    target.with_suffix(".md").write_text(table)
    target.with_suffix(".svg").write_text(picture)
    if options.json is None:
        for suffix in (".json", ".md", ".svg"):
            (target.parent / f"latest{suffix}").write_bytes(target.with_suffix(suffix).read_bytes())
    print(table)
    if options.baseline is not None:
        print(report.comparison(json.loads(options.baseline.read_text()), result))
    if options.docs:
        report.into_docs(table, picture)
    print(f"written: {target}, and beside it the table (.md) and the picture (.svg)", file=sys.stderr)
    wrong = [row for row in bench.rows if "problem" in row and row["system"].startswith("intaglio")]
    for row in wrong:
        print(f"bench: {row['workload']} on {row['system']}: {row['problem']}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
