"""The child process of bench/random_programs.py: it compiles and times the programs that it is asked for."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import random_steps
from program_worker import IntaglioSpace, JaxSpace

WARM = 0.2  # seconds of calls before the clock counts; what is slow op by op is compiled by then


def fastest(call: Callable[[], Any], budget: float = 0.06) -> float:
    """Seconds of a call: the least of several rounds of some milliseconds."""
    call()
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    calls, best, end = max(1, int(0.004 / max(once, 1e-7))), once, time.perf_counter() + budget
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def answer(space: Any, command: dict[str, Any]) -> dict[str, Any]:
    array, steps = random_steps.drawn(command["seed"], command["number"], command["shapes"])
    function, inputs, done = random_steps.program(space, array, steps, command["of"])
    call = space.finished(space.jit(function))
    start = time.perf_counter()
    found = space.to_numpy(call(*inputs))
    space.settle()
    first = time.perf_counter() - start
    # A function that is soon done op by op is compiled once it has been called for some time.
    while time.perf_counter() - start < first + WARM:
        call(*inputs)
    space.settle()
    return {
        "seconds": fastest(lambda: call(*inputs)),
        "first": first,
        "steps": done,
        "input": f"{array.dtype}{list(array.shape)}",
        "shape": list(found.shape),
        "sum": float(np.abs(np.nan_to_num(found.astype(np.float64))).sum()),
    }


def main() -> None:
    space = None
    for line in sys.stdin:
        command = json.loads(line)
        if space is None:
            space = {"intaglio": IntaglioSpace, "jax": JaxSpace}[command["system"]](command["threads"])
        try:
            told = answer(space, command)
        except Exception as error:  # one program that a system refuses does not end the run
            told = {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
