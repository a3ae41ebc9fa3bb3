"""The child process: one system, one workload, one number of threads. JSON lines in, JSON lines out.

Commands: {"do": "start", …} builds, makes the first calls and reports cold time, memory and outputs;
{"do": "round"} measures once more. End of input ends the process.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ENOUGH = 3  # samples of a round, at least


def memory() -> dict[str, int]:
    """The resident bytes of this process and their highest, since it was last reset."""
    wanted = {"VmRSS": "resident", "VmHWM": "peak"}
    with open("/proc/self/status") as file:
        rows = (line.split() for line in file)
        return {wanted[row[0][:-1]]: int(row[1]) * 1024 for row in rows if row[0][:-1] in wanted}


def forget_peak() -> None:
    """Sets the highest resident bytes back to the present ones."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass  # a container may forbid it; then the peak includes the import


class Runner:
    settles = 0.0  # seconds of calls after which the system compiles no more

    def __init__(self, command: dict[str, Any]) -> None:
        import systems
        import workloads

        self.threads = command["threads"]
        self.workload = workloads.all_workloads()[command["workload"]]
        self.system = systems.get(command["system"])
        self.system.load(self.threads)
        self.settles = self.system.settles
        self.folder = Path(command["data"])
        self.budget = command["budget"]
        self.out = command["outputs"]

    def start(self) -> dict[str, Any]:
        import numpy as np

        data = dict(np.load(self.folder / "data.npz"))
        inputs = [data.pop(f"input {i}") for i in range(sum(name.startswith("input ") for name in data))]
        weights = {name.removeprefix("weight "): value for name, value in data.items()}
        data.clear()
        self.system.prepare(self.workload, inputs, weights)
        weights.clear()
        sets = []
        for size in self.workload.batches or (None,):
            cut = [
                array if size is None else np.ascontiguousarray(np.resize(array, (size, *array.shape[1:])))
                for array in inputs
            ]
            sets.append(tuple(self.system.to_native(array) for array in cut))
        self.inputs = sets[0]
        forget_peak()
        before = memory()["resident"]
        start, used = time.perf_counter(), time.process_time()
        self.call = self.system.build()
        outputs = self.arrays(self.call(*self.inputs))
        first = time.perf_counter() - start
        for further in sets[1:]:
            outputs += self.arrays(self.call(*further))
        whole, processor = time.perf_counter() - start, time.process_time() - used
        np.savez(self.out, *outputs)
        if not self.workload.batches:
            self.warm()  # some systems compile only then
        peak = memory()["peak"]
        return {"first": first, "peak_added": peak - before, "peak": peak, "whole": whole, "processor": processor}

    def arrays(self, outputs: Any) -> list[Any]:
        """Copies, since a system may use its outputs again."""
        parts = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        return [self.system.to_numpy(part).copy() for part in parts]

    def warm(self) -> None:
        """Calls until times have settled, and finds how many calls are worth reading a clock for."""
        self.times_of_calls(max(2 * self.budget, self.settles))
        self.settle()
        self.each = max(1, int(100e-6 / max(1e-7, min(self.times_of_calls(self.budget)))))

    def settle(self) -> None:
        self.system.settle()

    def times_of_calls(self, enough: float) -> list[float]:
        """Of so many seconds of calls, of two at least."""
        call, inputs, clock = self.call, self.inputs, time.perf_counter
        begin = clock()
        times: list[float] = []
        while len(times) < 2 or (clock() - begin < enough and len(times) < 50000):
            start = clock()
            call(*inputs)
            times.append(clock() - start)
        return times

    def round(self) -> dict[str, Any]:
        """The median seconds of a call in one more round, the least, and the mean of processor time.

        Processor time counts all threads; where others use the machine, it is what still can be compared. That of
        threads that run elsewhere is brought up to date a few hundred times a second, so that single calls would
        often show the calling thread alone: only the time of all calls says what one takes.
        """
        call, inputs, each, clock = self.call, self.inputs, range(self.each), time.perf_counter
        begin = clock()
        call(*inputs)  # other processes had the caches
        samples, used = [], time.process_time()
        while len(samples) < ENOUGH or clock() - begin < self.budget:
            start = clock()
            for _ in each:
                call(*inputs)
            samples.append((clock() - start) / self.each)
        processor = (time.process_time() - used) / (len(samples) * self.each)
        return {"median": statistics.median(samples), "best": min(samples), "processor": processor}


def main(kind: type[Runner] = Runner) -> int:
    """Answers commands until there are no more; `kind` is what is told to start."""
    # Replies have a descriptor of their own: what libraries print must not get between them.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    runner: Runner | None = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if command["do"] == "start":
                runner = kind(command)
                answer = runner.start()
            else:
                assert runner is not None
                answer = runner.round()
        except Exception as error:
            text = str(error).strip()
            answer = {"error": f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:300]}
        print(json.dumps(answer), file=replies, flush=True)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Some libraries crash or wait while they are taken down; everything has been said.
    os._exit(code)
