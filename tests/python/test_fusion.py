"""What `ig.explain(f).fusion` says of kernels: whole texts, and the figures in them."""

from __future__ import annotations

import pytest

import intaglio as ig


def _f(x: ig.Tensor, w: ig.Tensor) -> ig.Tensor:
    e = ig.exp(w)
    return x + e


def _called() -> object:
    f = ig.jit(_f)
    f(ig.ones((64, 8)), ig.ones(8))
    return f


FILE = __file__
LINE = _f.__code__.co_firstlineno

WHY = f"""\
exponential is in the kernel
  loop: exponential
    at {FILE}:{LINE + 1} in _f:  e = ig.exp(w)
    alone: 64 bytes, 192 operations, some 26 ns
exponential is in the kernel
  program: exponential, broadcast_in_dim, add
    at {FILE}:{LINE + 1} in _f:  e = ig.exp(w)
    at {FILE}:{LINE + 2} in _f:  return x + e
    together: 4192 bytes, 1216 operations, some 155 ns
    apart:    4192 bytes, 1216 operations, some 175 ns
exponential does not join the loop kernel of add: 8 values would be computed 512 times, which costs more than to \
write and read 64 bytes
  at {FILE}:{LINE + 1} in _f:  e = ig.exp(w)
  together: 4128 bytes, 13312 operations, some 456 ns
  apart:    4192 bytes, 1216 operations, some 175 ns"""

ALL = f"""\
3 kernels
  loop: exponential
    at {FILE}:{LINE + 1} in _f:  e = ig.exp(w)
    alone: 64 bytes, 192 operations, some 26 ns
  loop: broadcast_in_dim, add
    at {FILE}:{LINE + 2} in _f:  return x + e
    together: 4128 bytes, 1024 operations, some 149 ns
    apart:    8224 bytes, 1024 operations, some 271 ns
  program: exponential, broadcast_in_dim, add
    at {FILE}:{LINE + 1} in _f:  e = ig.exp(w)
    at {FILE}:{LINE + 2} in _f:  return x + e
    together: 4192 bytes, 1216 operations, some 155 ns
    apart:    4192 bytes, 1216 operations, some 175 ns
1 refused
  exponential does not join the loop kernel of add: 8 values would be computed 512 times, which costs more than to \
write and read 64 bytes
    at {FILE}:{LINE + 1} in _f:  e = ig.exp(w)
    together: 4128 bytes, 13312 operations, some 456 ns
    apart:    4192 bytes, 1216 operations, some 175 ns"""


@pytest.mark.parametrize("query", ["exponential", f"test_fusion.py:{LINE + 1}", "ig.exp(w)"])
def test_why_is_asked_by_op_line_and_text(query: str) -> None:
    assert ig.explain(_called()).fusion.why(query) == WHY


def test_the_whole_report() -> None:
    fusion = ig.explain(_called()).fusion
    assert str(fusion) == repr(fusion) == ALL


def test_figures() -> None:
    fusion = ig.explain(_called()).fusion
    alone, loop, both = fusion.kernels
    assert [node["op"] for node in loop["nodes"]] == ["broadcast_in_dim", "add"]
    assert both["together"]["ns"] == pytest.approx(both["apart"]["ns"] - 20)
    assert alone["together"] == {"bytes": 64.0, "operations": 192.0, "ns": pytest.approx(26.4)}
    (refused,) = fusion.refused
    assert (refused["node"]["op"], refused["kernel_of"]["op"], refused["kind"]) == ("exponential", "add", "loop")
    assert refused["together"]["ns"] > refused["apart"]["ns"]


def test_traces_are_told_apart() -> None:
    f = ig.jit(lambda x: ig.tanh(x))
    f(ig.ones((4, 4)))
    f(ig.ones((4, 4), dtype=ig.float64))
    text = str(ig.explain(f).fusion)
    first, second = (entry["signature"] for entry in ig.explain(f)["entries"])
    assert text == (
        f"{first}\n1 kernel\n  loop: tanh\n    at {FILE}:{_line('f = ig.jit(lambda x: ig.tanh')}\n"
        "    alone: 128 bytes, 384 operations, some 33 ns\n"
        f"{second}\n1 kernel\n  loop: tanh\n    at {FILE}:{_line('f = ig.jit(lambda x: ig.tanh')}\n"
        "    alone: 256 bytes, 768 operations, some 46 ns"
    )


def _line(start: str) -> str:
    with open(FILE) as file:
        number, text = next((i, line) for i, line in enumerate(file, 1) if line.strip().startswith(start))
    return f"{number} in test_traces_are_told_apart.<locals>.<lambda>:  {text.strip()}"


def test_modules_are_asked_by_name() -> None:
    class Block(ig.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = ig.nn.Tanh()

        def forward(self, x: ig.Tensor) -> ig.Tensor:
            return ig.sort(self.inner(x))

    f = ig.jit(Block())
    f(ig.ones((4, 4)))
    assert ig.explain(f).fusion.why("inner").startswith("tanh is in the kernel\n  loop: tanh\n    at [inner] ")


def test_a_loop_in_one_kernel() -> None:
    f = ig.jit(lambda x: ig.fori_loop(0, 100, lambda i, x: x * 0.5 + 1.0, x))
    f(ig.ones(4))
    text = str(ig.explain(f).fusion).splitlines()
    assert text[-3] == "  program: scan"
    assert text[-1] == "    a step of the loop: 20 operations"


def test_a_node_that_no_kernel_holds() -> None:
    with pytest.raises(ig.ValueError) as caught:
        ig.explain(_called()).fusion.why("relu")
    head, place, *rest = str(caught.value).splitlines()
    assert head == "no kernel holds a node `relu`"
    assert place.endswith('ig.explain(_called()).fusion.why("relu")')
    assert rest == [
        "  why: nodes are meant by their op, their result's name, their module, or a part of their line, as they are "
        "after the passes in front of fusion",
        "  hint: the kernels hold add, broadcast_in_dim, exponential",
    ]


def test_a_function_that_was_not_called() -> None:
    with pytest.raises(ig.ValueError) as caught:
        ig.explain(ig.jit(_f)).fusion.why("add")
    head, place, *rest = str(caught.value).splitlines()
    assert head == "no kernel holds a node `add`"
    assert place.endswith('ig.explain(ig.jit(_f)).fusion.why("add")')
    assert rest == [
        "  why: the function has no trace: it was not called yet",
        "  hint: call it, then ask ig.explain",
    ]
