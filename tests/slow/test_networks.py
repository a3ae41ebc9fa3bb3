"""Whole networks give the same compiled as op by op, forwards and with the gradients of all weights."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent / "bench"), str(TESTS / "python")]

from network_list import NETWORKS, Network  # noqa: E402
from test_bench_networks import check_compiled  # noqa: E402


@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
@pytest.mark.parametrize("network", [n for n in NETWORKS if n.whole], ids=lambda network: network.name)
def test_compiled_as_op_by_op(network: Network, gradient: bool) -> None:
    check_compiled(network, gradient)
