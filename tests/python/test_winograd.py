"""Convolutions of 3 x 3 taps by minimal filtering: within the bound that docs/numerics.md states of the sum over the
taps, of the same bits in every way to run them, and what is infinite, no number or huge spoils no more than it does in
that sum."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tries import tries

import intaglio as ig

ROUNDS = tries(8)
LAYOUTS = [
    "b01f_01io->b01f",
    "bf01_oi01->bf01",
    "b01f_oi01->bf01",
    "bf01_oi01->b01f",
    "fb10_io10->f01b",
    "b10f_10io->b01f",
]
PADDINGS = [(1, 1, 1, 1), (0, 0, 0, 0), (2, 1, 0, 2), (-1, 1, 1, 0)]
ODD = [np.inf, -np.inf, np.nan, 3e38, -0.0, 1e-40, 1e9]
UNIT = {np.float32: 2.0**-24, np.float64: 2.0**-53}
STEPS = 10  # roundings of a result beside one for each input feature

HALF = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0, 0, 1]])  # |G|
PAIRS = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]])  # |B|
THREE = np.array([[1, 1, 1, 0], [0, 1, 1, 1]])  # |A|


class Case:
    """A random convolution that minimal filtering suits, with its layout, border and numbers."""

    def __init__(self, seed: int, odd: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.layout = LAYOUTS[seed % len(LAYOUTS)]
        self.padding = PADDINGS[int(rng.integers(len(PADDINGS)))]
        self.type: Any = [np.float32, np.float64][int(rng.integers(4)) // 3]
        self.inputs, self.features = (int(rng.choice([16, 17, 32, 40, 64])) for _ in range(2))
        sizes = {"b": int(rng.integers(1, 4)), "f": self.inputs, "0": int(rng.integers(12, 20)), "o": self.features}
        sizes |= {"1": int(rng.integers(12, 27)), "i": self.inputs}
        image, kernel, self.order = self.layout.replace("->", "_").split("_")
        self.image, self.kernel = image, kernel
        self.x = rng.standard_normal([sizes[c] for c in image]).astype(self.type)
        taps = rng.standard_normal([3 if c in "01" else sizes[c] for c in kernel])
        self.w = (taps / np.sqrt(9 * self.inputs)).astype(self.type)
        if odd:
            self.x.reshape(-1)[: self.x.size // 5] = 0
            for array in (self.x, self.w):
                for _ in range(int(rng.integers(0, 4))):
                    array.reshape(-1)[int(rng.integers(array.size))] = rng.choice(ODD)

    def __call__(self, x: Any, w: Any) -> Any:
        return ig.convolution(x, w, layout=self.layout, padding=list(self.padding))

    def arrays(self) -> tuple[Any, Any]:
        return ig.asarray(self.x), ig.asarray(self.w)

    def sums(self) -> Any:
        """Sums over the taps in float64; taps on the border left out."""
        x = np.transpose(self.x, [self.image.index(c) for c in "b01f"]).astype(np.float64)
        w = np.transpose(self.w, [self.kernel.index(c) for c in "01io"]).astype(np.float64)
        top, bottom, left, right = self.padding
        rows, columns = x.shape[1] + top + bottom - 2, x.shape[2] + left + right - 2
        out = np.zeros((x.shape[0], rows, columns, w.shape[3]))
        for u in range(3):
            for v in range(3):
                a, b = max(0, top - u), min(rows, x.shape[1] + top - u)
                c, d = max(0, left - v), min(columns, x.shape[2] + left - v)
                part = x[:, a + u - top : b + u - top, c + v - left : d + v - left]
                out[:, a:b, c:d] += np.einsum("bhwi,io->bhwo", part, w[u, v])
        return np.transpose(out, ["b01f".index(c) for c in self.order])

    def bound(self) -> Any:
        """What an error may be: a unit for each rounding, of what the sizes of all terms come to."""
        x = np.abs(np.transpose(self.x, [self.image.index(c) for c in "b01f"]).astype(np.float64))
        w = np.abs(np.transpose(self.w, [self.kernel.index(c) for c in "01io"]).astype(np.float64))
        terms = np.einsum("ru,uvio,cv->rcio", HALF, w, HALF)
        top, bottom, left, right = self.padding
        rows, columns = x.shape[1] + top + bottom - 2, x.shape[2] + left + right - 2
        wide = np.pad(x, ((0, 0), (max(top, 0), max(bottom, 0) + 1), (max(left, 0), max(right, 0) + 1), (0, 0)))
        wide = wide[:, max(0, -top) :, max(0, -left) :]
        out = np.zeros((x.shape[0], rows + rows % 2, columns + columns % 2, w.shape[3]))
        for y in range(0, rows, 2):
            for z in range(0, columns, 2):
                image = np.einsum("rp,bpqi,cq->brci", PAIRS, wide[:, y : y + 4, z : z + 4], PAIRS)
                sums = np.einsum("brci,rcio->brco", image, terms)
                out[:, y : y + 2, z : z + 2] = np.einsum("yr,brco,zc->byzo", THREE, sums, THREE)
        units = (self.inputs + STEPS) * UNIT[self.type] * 1.01
        return units * np.transpose(out[:, :rows, :columns], ["b01f".index(c) for c in self.order])


GRADIENT_LAYOUTS = ["fb01_io01->fb01", "f01b_i01o->01bf", "bf01_oi01->bf01", "b01f_01io->b01f", "f10b_i10o->f01b"]


class GradientCase(Case):
    """The same of a gradient by the taps: the kernel has as many places as the image it was made from."""

    def __init__(self, seed: int, odd: bool = False) -> None:
        super().__init__(seed, odd)
        rng = np.random.default_rng(seed)
        self.layout = GRADIENT_LAYOUTS[seed % len(GRADIENT_LAYOUTS)]
        self.image, self.kernel, self.order = self.layout.replace("->", "_").split("_")
        self.examples, rows, columns = (int(rng.integers(*ends)) for ends in ((1, 4), (9, 20), (9, 27)))
        top, bottom, left, right = self.padding
        sizes = {"b": self.inputs, "f": self.examples, "0": rows + 2 - top - bottom, "1": columns + 2 - left - right}
        of_kernel = {"i": self.examples, "o": self.features, "0": rows, "1": columns}
        self.x = rng.standard_normal([sizes[c] for c in self.image]).astype(self.type)
        self.w = rng.standard_normal([of_kernel[c] for c in self.kernel]).astype(self.type)
        if odd:
            self.x.reshape(-1)[: self.x.size // 5] = 0
            for array in (self.x, self.w):
                for _ in range(int(rng.integers(0, 4))):
                    array.reshape(-1)[int(rng.integers(array.size))] = rng.choice(ODD)

    def operands(self) -> tuple[Any, Any]:
        """Images with their border, and cotangents, in float64."""
        x = np.transpose(self.x, [self.image.index(c) for c in "f01b"]).astype(np.float64)
        y = np.transpose(self.w, [self.kernel.index(c) for c in "i01o"]).astype(np.float64)
        top, bottom, left, right = (max(p, 0) for p in self.padding)
        x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
        return x[:, max(0, -self.padding[0]) :, max(0, -self.padding[2]) :], y

    def sums(self) -> Any:
        x, y = self.operands()
        rows, columns = y.shape[1:3]
        parts = [np.einsum("nyxc,nyxk->ck", x[:, u : u + rows, v : v + columns], y) for u in range(3) for v in range(3)]
        return np.transpose(
            np.reshape(parts, (3, 3, self.inputs, self.features)), ["01bf".index(c) for c in self.order]
        )

    def bound(self) -> Any:
        x, y = self.operands()
        x, y = np.abs(np.pad(x, ((0, 0), (0, 1), (0, 1), (0, 0)))), np.abs(y)
        rows, columns = y.shape[1:3]
        y = np.pad(y, ((0, 0), (0, rows % 2), (0, columns % 2), (0, 0)))
        terms, squares = np.zeros((4, 4, self.inputs, self.features)), 0
        for a in range(0, rows, 2):
            for b in range(0, columns, 2):
                image = np.einsum("rp,npqi,cq->nrci", PAIRS, x[:, a : a + 4, b : b + 4], PAIRS)
                cotangent = np.einsum("yr,nyxo,xc->nrco", THREE, y[:, a : a + 2, b : b + 2], THREE)
                terms += np.einsum("nrci,nrco->rcio", image, cotangent)
                squares += self.examples
        taps = np.einsum("ru,rcio,cv->uvio", HALF, terms, HALF)
        units = (squares + STEPS) * UNIT[self.type] * 1.01
        return units * np.transpose(taps, ["01bf".index(c) for c in self.order])


CASES = [Case, GradientCase]


def compiled(f: Any, *args: Any, **options: Any) -> Any:
    """The results of the program itself, not of what runs before it is made."""
    return ig.jit(f, **options).lower(*args).compile()(*args)


def same_bits(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)])


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("kind", CASES)
def test_within_the_bound(kind: type[Case], seed: int) -> None:
    case = kind(seed)
    got = np.asarray(compiled(case, *case.arrays())).astype(np.float64)
    want = case.sums()
    assert got.shape == want.shape
    assert (np.abs(got - want) <= case.bound()).all()
    exact = np.asarray(compiled(case, *case.arrays(), exact=True)).astype(np.float64)
    assert (exact != got).any()
    # Chains are a ninth as long, or a quarter, so most errors are no larger than those of the definition.
    if case.type is np.float32 and case.inputs >= 32:
        most = {Case: 1, GradientCase: 1.5}[kind]
        assert np.square(got - want).mean() < most * np.square(exact - want).mean()


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("kind", CASES)
def test_every_way_gives_the_same_bits(kind: type[Case], seed: int, odd: bool) -> None:
    case = kind(100 + seed, odd)
    x, w = case.arrays()
    want = compiled(case, x, w)
    same_bits(case(x, w), want)  # by ops that stand in
    same_bits(compiled(lambda x: case(x, w), x, lift=False), want)  # weights transformed once
    same_bits(compiled(lambda x: case(x, w), x), want)
    if kind is Case:
        batch, last = case.image.index("b"), case.x.shape[case.image.index("b")] - 1
        one = ig.asarray(np.take(case.x, [last], axis=batch))
        same_bits(compiled(case, one, w), np.take(np.asarray(want), [last], axis=case.order.index("b")))
    threads = ig.get_num_threads()
    try:
        ig.set_num_threads(3 if threads == 1 else 1)
        same_bits(ig.jit(lambda x, w: case(x, w)).lower(x, w).compile()(x, w), want)
    finally:
        ig.set_num_threads(threads)


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("kind", CASES)
def test_definition_where_exact_or_not_finite(kind: type[Case], seed: int) -> None:
    case = kind(200 + seed, odd=True)
    x, w = case.arrays()
    want = np.asarray(ig.jit(case).trace(x, w).graph.evaluate(x, w))
    same_bits(compiled(case, x, w, exact=True), want)
    got = np.asarray(compiled(case, x, w))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isposinf(got), np.isposinf(want))
    np.testing.assert_array_equal(np.isneginf(got), np.isneginf(want))


def test_a_huge_element_spoils_its_own_windows_alone() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1, 16, 16, 32)).astype(np.float32)
    w = ig.asarray((rng.standard_normal((3, 3, 32, 32)) / 17).astype(np.float32))

    def f(x: Any) -> Any:
        return ig.convolution(x, w, layout="b01f_01io->b01f", padding=[1, 1, 1, 1])

    x[0, 8, 8, 5] = -1e9
    blank = x.copy()
    blank[0, 8, 8, 5] = 0
    got, exact = (np.asarray(compiled(f, ig.asarray(x), exact=exact)) for exact in (False, True))
    plain = np.asarray(compiled(f, ig.asarray(blank), exact=True))
    beside = np.ones((16, 16), bool)
    beside[7:10, 7:10] = False  # its windows
    np.testing.assert_array_equal(exact[0, beside], plain[0, beside])
    assert np.abs(got - plain)[0, beside].max() < 1e-5
    np.testing.assert_allclose(got[0, ~beside], exact[0, ~beside], rtol=1e-6, atol=8 * 1e9 * 2.0**-24)


def test_places_without_an_element_are_zero() -> None:
    x = np.zeros((1, 20, 20, 32), np.float32)
    x[0, 3, 4] = x[0, 14, 9] = 0.1
    w = ig.asarray(np.random.default_rng(2).standard_normal((32, 32, 3, 3)).astype(np.float32))
    got = np.asarray(compiled(lambda x: ig.convolution(x, w, layout="b01f_oi01->b01f"), ig.asarray(x)))
    seen = np.zeros((18, 18), bool)
    seen[1:4, 2:5] = seen[12:15, 7:10] = True
    assert (got[0, ~seen] == 0).all()
    assert not np.signbit(got[0, ~seen]).any()
    assert (got[0, seen] != 0).all()


EPILOGUES: list[Callable[[Any, Any], Any]] = [
    lambda y, r: ig.maximum(y + r, 0.0),
    lambda y, r: ig.permute_dims(y, (0, 3, 1, 2)),
    lambda y, r: ig.permute_dims(ig.maximum(y * r, -1.0), (0, 3, 1, 2)),
    lambda y, r: ig.permute_dims(y * 2.0, (3, 2, 0, 1)),
    lambda y, r: (y, y + r, ig.sum(y, axis=(0, 1, 2))),
    lambda y, r: ig.astype(y, ig.float16),
]


@pytest.mark.parametrize("after", range(len(EPILOGUES)))
@pytest.mark.parametrize("seed", range(len(LAYOUTS)))
@pytest.mark.parametrize("kind", CASES)
def test_work_behind(kind: type[Case], after: int, seed: int) -> None:
    case = kind(300 + seed)
    x, w = case.arrays()
    r = ig.asarray(np.random.default_rng(seed).standard_normal(case(x, w).shape).astype(case.type))
    got = compiled(lambda x, w, r: EPILOGUES[after](case(x, w), r), x, w, r)
    want = compiled(lambda y, r: EPILOGUES[after](y, r), case(x, w), r)
    for a, b in zip(ig.tree_flatten(got)[0], ig.tree_flatten(want)[0], strict=True):
        same_bits(a, b)


def test_a_batch_of_any_size() -> None:
    w = ig.asarray(np.random.default_rng(3).standard_normal((24, 20, 3, 3)).astype(np.float32))
    f = ig.jit(lambda x: ig.maximum(ig.conv(x, w, padding=1), 0.0))
    x = np.random.default_rng(4).standard_normal((7, 20, 13, 11)).astype(np.float32)
    whole = np.asarray(compiled(lambda x: ig.maximum(ig.conv(x, w, padding=1), 0.0), ig.asarray(x)))
    for count in (3, 7, 1, 0, 5, 2):
        got = np.asarray(f(ig.asarray(x[:count])))
        assert got.shape == (count, 24, 13, 11)
        same_bits(got, whole[:count])


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("kind", CASES)
def test_targets(kind: type[Case], target: str) -> None:
    case = kind(401)
    x, w = case.arrays()
    graph = ig.jit(case).trace(x, w).graph
    try:
        got = np.asarray(graph.compile(target=target)(x, w))
    except ig.UnsupportedError:
        return  # the machine has no such instructions
    if target == "x86-64-v4":  # v2 is without fused multiply-add
        same_bits(got, graph.compile(target="x86-64-v3")(x, w))
    want = case.sums()
    assert (np.abs(got - want) <= 2 * case.bound()).all()


def test_under_transforms() -> None:
    rng = np.random.default_rng(5)
    x = ig.asarray(rng.standard_normal((3, 2, 18, 12, 14)))
    w = ig.asarray(rng.standard_normal((16, 18, 3, 3)))

    def loss(x: Any, w: Any) -> Any:
        return ig.sum(ig.tanh(ig.conv(x, w, padding=1)))

    many = compiled(lambda x: ig.vmap(lambda one: ig.conv(one, w, padding=1))(x), x)
    for i in range(3):
        same_bits(many[i], compiled(lambda x: ig.conv(x, w, padding=1), x[i]))
    got, want = (compiled(ig.grad(loss, argnums=(0, 1)), x[0], w, exact=exact) for exact in (False, True))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-11)


def convolve(x: Any, w: Any) -> Any:
    return ig.convolution(x, w, layout="b01f_01io->b01f", padding=[1, 1, 1, 1])


def test_inside_of_loops_and_of_weights_that_are_computed() -> None:
    rng = np.random.default_rng(6)
    x = ig.asarray(rng.standard_normal((1, 10, 10, 16)).astype(np.float32))
    ws = ig.asarray((rng.standard_normal((4, 3, 3, 16, 16)) / 12).astype(np.float32))
    each = [x]
    for i in range(4):
        each.append(ig.tanh(convolve(each[-1], ws[i])))
    last, sums = compiled(lambda x, ws: ig.scan(lambda x, w: (ig.tanh(convolve(x, w)), ig.sum(x)), x, ws), x, ws)
    same_bits(last, each[4])
    same_bits(sums, ig.stack([ig.sum(one) for one in each[:4]]))
    many = x
    for _ in range(3):
        many = ig.tanh(convolve(many, ws[0]))
    same_bits(compiled(lambda x, w: ig.fori_loop(0, 3, lambda i, x: ig.tanh(convolve(x, w)), x), x, ws[0]), many)
    same_bits(compiled(lambda x, w: convolve(x, ig.tanh(w) * 0.5), x, ws[0]), convolve(x, ig.tanh(ws[0]) * 0.5))


def test_an_image_and_taps_of_one_array() -> None:
    x = ig.asarray(np.random.default_rng(7).standard_normal((2, 12, 12, 16)).astype(np.float32))

    def f(x: Any) -> Any:
        return convolve(x, ig.reshape(ig.reshape(x, (-1,))[:2304], (3, 3, 16, 16)))

    same_bits(compiled(f, x), f(x))


def test_exact_is_true_or_false() -> None:
    with pytest.raises(ig.TypeError) as error:
        ig.jit(lambda x: x, exact="yes")
    text = str(error.value)
    where = next(line for line in text.splitlines() if line.startswith("  at: "))
    assert "test_winograd.py" in where
    assert text.replace(where + "\n", "") == (
        "jit: exact is 'yes'\n"
        "  why: it says whether every op is to have the bits of its definition\n"
        "  hint: write exact=True, or leave it out"
    )


NOT_SUITED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 32, 16, 16), (32, 32, 3, 3), {"stride": 2, "padding": 1}),
    ((1, 32, 16, 16), (32, 32, 3, 3), {"dilation": 2, "padding": 2}),
    ((1, 32, 16, 16), (32, 16, 3, 3), {"groups": 2, "padding": 1}),
    ((1, 32, 16, 16), (32, 32, 5, 5), {"padding": 2}),
    ((1, 32, 16, 16), (32, 32, 3, 1), {}),
    ((1, 15, 16, 16), (32, 15, 3, 3), {"padding": 1}),
    ((1, 32, 16, 16), (15, 32, 3, 3), {"padding": 1}),
    ((1, 32, 8, 8), (32, 32, 3, 3), {"padding": 1}),
    ((1, 32, 100), (32, 32, 3), {"padding": 1}),
]


@pytest.mark.parametrize("number", range(len(NOT_SUITED)))
def test_others_are_sums_over_the_taps(number: int) -> None:
    image, kernel, options = NOT_SUITED[number]
    rng = np.random.default_rng(number)
    x, w = (ig.asarray(rng.standard_normal(shape).astype(np.float32)) for shape in (image, kernel))
    got, exact = (compiled(lambda x, w: ig.conv(x, w, **options), x, w, exact=exact) for exact in (False, True))
    same_bits(got, exact)


def test_the_example() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "exact_convolution.py"
    lines = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["exact=False", "exact=True"]
    for line in lines:
        assert float(line.split()[-5]) < 5e-6
