"""What the pages say of graphs and of the command is run: no example there may rot."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import intaglio as ig

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = DOCS / "examples"
COMMAND = Path(sys.executable).parent / "intaglio"
BLOCK = re.compile(r"^```(ig|console)\n(.*?)^```$", re.M | re.S)


def blocks(kind: str) -> list[object]:
    found = []
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text()
        for match in BLOCK.finditer(text):
            if match[1] == kind:
                line = text.count("\n", 0, match.start()) + 1
                found.append(pytest.param(match[2], id=f"{page.name}:{line}"))
    return found


def commands() -> list[object]:
    found = []
    for block in blocks("console"):
        text = block.values[0]  # type: ignore[attr-defined]
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append(pytest.param(command, output, id=command))
    return found


def test_there_are_examples() -> None:
    assert len(blocks("ig")) >= 8
    assert len(commands()) >= 10
    assert len(list(EXAMPLES.glob("*.ig"))) >= 2


@pytest.mark.parametrize("text", blocks("ig"))
def test_graph_of_a_page_is_as_printed(text: str) -> None:
    graph = ig.Graph.parse(text)
    graph.verify()
    bare = re.sub(r"^ *//.*\n", "", text, flags=re.M)
    assert graph.str(locations=True) == bare
    assert ig.Graph.from_binary(graph.to_binary()).str(locations=True) == bare
    done = subprocess.run([COMMAND, "opt", "--verify", "-"], input=text.encode(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(("command", "output"), commands())
def test_command_of_a_page_prints_what_stands_there(command: str, output: str) -> None:
    path = f"{COMMAND.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=EXAMPLES,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    pattern = ".*".join(map(re.escape, output.split("…")))
    assert re.fullmatch(pattern, done.stdout, re.S), done.stdout
