"""The pages of docs/ and the README are run: what they print is what they show, and their links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

import intaglio as ig

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if ">>>" in p.read_text()], ids=named)
def test_a_page_prints_what_it_shows(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {"ig": ig, "np": np}, named(page), str(page), 0)
    assert examples.examples
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{named(page)} links to {target}"


def test_the_readme_program_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text()
    program, output = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", text, re.S).groups()
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out == output
