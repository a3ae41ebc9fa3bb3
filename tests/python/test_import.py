"""What `import intaglio` brings, and what it leaves until it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import intaglio as ig


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_networks_are_imported_when_they_are_asked_for() -> None:
    code = (
        "import sys, intaglio as ig\n"
        "later = ('intaglio.nn', 'intaglio.optim', 'intaglio.data')\n"
        "print([name in sys.modules for name in later], {'nn', 'optim', 'data'} <= set(dir(ig)))\n"
        "print(ig.nn.Linear.__name__, ig.optim.SGD.__name__, ig.data.__name__, 'nn' in vars(ig))\n"
    )
    assert run(code).splitlines() == ["[False, False, False] True", "Linear SGD intaglio.data True"]
    assert run("from intaglio import nn, optim; import intaglio.data; print(nn.Linear.__name__)") == "Linear"


def test_the_first_use_may_be_inside_of_a_captured_function() -> None:
    code = (
        "import numpy as np, intaglio as ig\n"
        "@ig.jit\n"
        "def f(x):\n"
        "    return ig.nn.losses.mse_loss(x, x + 1) + ig.sum(x)\n"
        "x = ig.ones(3)\n"
        "print(float(f(x)), float(f(x * 2)), f.cache_info()['traces'], f.cache_info()['given_up'])\n"
    )
    assert run(code) == "4.0 7.0 1 None"


def test_other_names_are_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match=r"^module 'intaglio' has no attribute 'nothing'$"):
        ig.nothing  # noqa: B018
    assert not hasattr(ig, "nothing")
