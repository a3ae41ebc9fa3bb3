"""The list of networks: each gives the same compiled as op by op, forwards and with gradients."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intaglio as ig

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import networks  # noqa: E402
from network_list import NETWORKS, Network, named  # noqa: E402
from network_worker import IntaglioLayers  # noqa: E402


def results(network: Network, gradient: bool, compiled: bool) -> list[np.ndarray]:
    """Of a model of its own, since training mode moves the averages of batch norms."""
    function, inputs = IntaglioLayers(ig.get_num_threads()).prepare(network, gradient)
    if compiled:
        function = ig.jit(function).lower(*inputs).compile()
    found: Any = function(*inputs)
    return [part.numpy() for part in (found if isinstance(found, tuple) else (found,))]


def check_compiled(network: Network, gradient: bool) -> None:
    compiled, single = results(network, gradient, True), results(network, gradient, False)
    assert len(compiled) == len(single)
    # A bias in front of a batch norm has rounding for its gradient, so all are held against the largest.
    scale = max(float(np.abs(y).max(initial=0)) for y in single)
    assert scale > 0
    for x, y in zip(compiled, single, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert np.isfinite(y).all()
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4 * scale)


# Whole networks take longer: tests/slow.
@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
@pytest.mark.parametrize("network", [n for n in NETWORKS if not n.whole], ids=lambda network: network.name)
def test_compiled_as_op_by_op(network: Network, gradient: bool) -> None:
    check_compiled(network, gradient)


def test_peers_of_onnx_run_forwards_alone() -> None:
    runs = networks.SUITE.runs
    assert all(runs("resnet18", peer) for peer in networks.SUITE.peers)
    assert [peer for peer in networks.SUITE.peers if not runs("resnet18.gradient", peer)] == list(networks.ONNX)
    assert networks.exported("resnet18", "torch", Path()) == {}
    assert named("resnet18").whole


def test_batches_run_where_they_are_asked_for() -> None:
    assert "resnet18@8" in networks.SUITE.names
    assert networks.SUITE.asked in "resnet18@8"
    assert networks.SUITE.asked not in "resnet18"
    assert named("resnet18@8").shapes == ((8, 3, 224, 224),)
    assert named("resnet18@8").build is named("resnet18").build


def test_the_benchmark_writes_what_it_promises(tmp_path: Path) -> None:
    command = [sys.executable, BENCH / "networks.py", "--alone", "--rounds", "2", "--least", "1e-4"]
    command += ["--only", "policy_of_one", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "networks.json").read_text())["rows"]
    assert [row["workload"] for row in rows] == ["policy_of_one", "policy_of_one.gradient"]
    assert all(row["low"] <= row["median"] <= row["high"] for row in rows)
    assert "| `policy_of_one.gradient` |" in (tmp_path / "networks.md").read_text()
    ElementTree.parse(tmp_path / "networks.svg")
