"""NumPy's functions that are put together of ops, against NumPy: by either name, eager and captured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_texts, refusal

import intaglio as ig

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((3, 5)), RNG.standard_normal((3, 5))
ROW, WHOLE = RNG.standard_normal(6), RNG.integers(-40, 40, 7)
RISING = np.sort(RNG.standard_normal(6))

# What is called on NumPy's module, or on ours, with arrays of either.
CALLS: dict[str, Any] = {
    "pad number": lambda m, a: m.pad(a(X), 1),
    "pad pair": lambda m, a: m.pad(a(X), (1, 2), mode="symmetric"),
    "pad pairs": lambda m, a: m.pad(a(X), ((1, 2), (0, 3)), mode="constant", constant_values=((1, 2), (3, 4))),
    "pad value": lambda m, a: m.pad(a(X), ((1,), (2,)), constant_values=7),
    "round": lambda m, a: m.round(a(X), 2),
    "round tens": lambda m, a: m.round(a(WHOLE), -1),
    "around": lambda m, a: m.around(a(X * 100), -1),
    "diff": lambda m, a: m.diff(a(X), axis=0, prepend=0.0),
    "diff both": lambda m, a: m.diff(a(ROW), n=2, prepend=a(ROW[:2]), append=1.0),
    "average": lambda m, a: m.average(a(X), axis=0, weights=a(np.abs(Y[:, 0]))),
    "average returned": lambda m, a: m.average(a(X), axis=1, weights=a(np.abs(Y[0])), returned=True),
    "quantile": lambda m, a: m.quantile(a(X), [0.25, 0.5], axis=1, keepdims=True),
    "percentile": lambda m, a: m.percentile(a(X), 30),
    "median": lambda m, a: m.median(a(X), 0),
    "cov": lambda m, a: m.cov(a(X), a(Y)),
    "cov columns": lambda m, a: m.cov(a(X), rowvar=False, bias=True),
    "corrcoef": lambda m, a: m.corrcoef(a(ROW), a(RISING)),
    "interp": lambda m, a: m.interp(a(ROW), a(RISING), a(ROW), left=-1.0),
    "interp right": lambda m, a: m.interp(a(ROW), a(RISING), a(ROW), right=5.0),
    "interp period": lambda m, a: m.interp(a(ROW * 3), a(RISING), a(ROW), period=2.5),
    "bincount": lambda m, a: m.bincount(a(np.abs(WHOLE)), minlength=60),
    "histogram": lambda m, a: m.histogram(a(X), 4),
    "histogram edges": lambda m, a: m.histogram(a(X), a(np.array([-1.0, 0.0, 0.5, 2.0])), weights=a(np.abs(Y))),
    "histogram density": lambda m, a: m.histogram(a(X), 3, range=(-1.0, 1.5), density=True),
    "gradient": lambda m, a: m.gradient(a(X), 0.5, a(np.arange(5.0) ** 2)),
    "gradient row": lambda m, a: m.gradient(a(ROW), edge_order=2),
    "trapezoid": lambda m, a: m.trapezoid(a(X), a(RISING[:3]), axis=0),
    "divmod": lambda m, a: m.divmod(a(WHOLE), 7),
    "modf": lambda m, a: m.modf(a(np.array([1.5, -2.25, np.inf, -0.0]))),
    "atleast_1d": lambda m, a: m.atleast_1d(a(X[0, 0])),
    "atleast_2d": lambda m, a: m.atleast_2d(a(ROW)),
    "atleast_3d": lambda m, a: m.atleast_3d(a(ROW), a(X))[1],
    "append": lambda m, a: m.append(a(X), a(Y), axis=0),
    "append flat": lambda m, a: m.append(a(X), a(ROW)),
    "array_split": lambda m, a: m.array_split(a(ROW), 4),
    "hsplit": lambda m, a: m.hsplit(a(X), [1, 3]),
    "vsplit": lambda m, a: m.vsplit(a(X), 3),
    "apply_along_axis": lambda m, a: m.apply_along_axis(
        lambda row: m.cumsum(row)[:2], 0, a(X[..., None] * a(np.ones(2)))
    ),
    "vander": lambda m, a: m.vander(a(ROW), 3),
    "tensordot": lambda m, a: m.tensordot(a(X), a(Y.T), 1),
    "tensordot all": lambda m, a: m.tensordot(a(X), a(Y)),
    "tensordot pairs": lambda m, a: m.tensordot(a(X), a(Y), axes=(0, 0)),
    "ptp": lambda m, a: m.ptp(a(X), axis=1),
    "nanvar": lambda m, a: m.nanvar(a(np.where(X > -2, X, np.nan)), axis=1, ddof=1),
    "vdot": lambda m, a: m.vdot(a(X + 1j * Y), a(Y + 1j * X)),
    "dot": lambda m, a: m.dot(a(X), a(Y.T)),
    "column_stack": lambda m, a: m.column_stack((a(ROW), a(RISING))),
}


def same(given: Any, wanted: Any) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(given) == len(wanted)
        for a, b in zip(given, wanted, strict=True):
            same(a, b)
        return
    assert isinstance(given, ig.Tensor)
    assert given.shape == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(given), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name: str) -> None:
    call = CALLS[name]
    wanted = call(np, lambda x: x)
    own = ig if not (name == "nanvar" or name.startswith("histogram edges")) else np
    same(call(own, ig.asarray), wanted)  # by our name
    same(call(np, ig.asarray), wanted)  # by NumPy's


@pytest.mark.parametrize(
    "name", ["pad pairs", "quantile", "histogram", "interp period", "gradient", "cov", "divmod", "apply_along_axis"]
)
def test_captured(name: str) -> None:
    seen: list[Any] = []
    CALLS[name](ig, lambda x: seen.append(ig.asarray(x)) or seen[-1])

    @ig.jit
    def traced(*arrays: Any) -> Any:
        left = list(arrays)
        return CALLS[name](ig, lambda _: left.pop(0))

    same(traced(*seen), CALLS[name](np, lambda x: x))


def test_creation() -> None:
    close = {"rtol": 1e-6, "atol": 1e-7}
    np.testing.assert_allclose(np.asarray(ig.logspace(0, 3, 4)), np.logspace(0, 3, 4), **close)
    np.testing.assert_allclose(np.asarray(ig.geomspace(1, 1000, 4)), np.geomspace(1, 1000, 4), **close)
    np.testing.assert_array_equal(np.asarray(ig.tri(3, 4, 1)), np.tri(3, 4, 1))
    np.testing.assert_array_equal(np.asarray(ig.identity(3)), np.identity(3))
    np.testing.assert_array_equal(np.asarray(ig.indices((2, 3))), np.indices((2, 3)))
    for ours, theirs in ((ig.tril_indices, np.tril_indices), (ig.triu_indices, np.triu_indices)):
        same(ours(3, k=1, m=4), theirs(3, k=1, m=4))
    same(ig.diag_indices(3), np.diag_indices(3))
    x = ig.asarray([[0, 1], [2, 0]])
    assert ig.argwhere(x).tolist() == [[0, 1], [1, 0]]
    assert ig.flatnonzero(x).tolist() == [1, 2]


def test_choices() -> None:
    x = np.array([-2.0, -0.5, 0.5, 2.0])
    conditions = [x < -1, x > 1]
    ours = ig.asarray(x)
    same(ig.select([ours < -1, ours > 1], [ours, ours * 10], 7.0), np.select(conditions, [x, x * 10], 7.0))
    wanted = np.piecewise(x, conditions, [lambda v: v * v, 5.0, lambda v: -v])
    same(ig.piecewise(ours, [ours < -1, ours > 1], [lambda v: v * v, 5.0, lambda v: -v]), wanted)


def test_comparisons_by_numpy_s_name_are_truths() -> None:
    x = ig.asarray([1.0, 2.0])
    assert np.allclose(x, [1.0, 2.0]) is True
    assert np.array_equal(x, [1.0, 3.0]) is False
    assert bool(ig.jit(lambda a: ig.allclose(a, a + 1e-9))(x))
    assert ig.isclose(x, ig.asarray([1.0, 2.5])).tolist() == [True, False]


def test_what_depends_on_the_values_is_asked_of_them() -> None:
    f = ig.jit(lambda x: ig.bincount(x))
    assert f(ig.asarray([0, 2])).tolist() == [1, 0, 1]
    assert f(ig.asarray([1, 3])).tolist() == [0, 1, 0, 1]
    fixed = ig.jit(lambda x: ig.bincount(x, length=3))
    assert fixed(ig.asarray([0, 9])).tolist() == [1, 0, 0]


ERRORS: dict[str, Any] = {
    "pad widths": lambda: ig.pad(ig.ones((2, 2)), ((1, 2), (3, 4), (5, 6))),
    "pad floats": lambda: ig.pad(ig.ones(2), 1.5),
    "pad mode": lambda: ig.pad(ig.ones(2), 1, mode="mean"),
    "cov rank": lambda: ig.cov(ig.ones((2, 2, 2)), ig.ones(2)),
    "bins": lambda: ig.histogram(ig.ones(3), "auto"),
    "spacing": lambda: ig.gradient(ig.ones((3, 3, 3)), 1.0, 2.0),
    "pieces": lambda: ig.piecewise(ig.ones(2), [ig.ones(2) > 0], [1.0, 2.0, 3.0]),
    "select": lambda: ig.select([], []),
    "geomspace": lambda: ig.geomspace(-1, 1),
    "quantile": lambda: ig.quantile(ig.ones(3), [[0.5]]),
}


def test_errors_are_whole() -> None:
    texts = {name: refusal(wrong, __file__) for name, wrong in ERRORS.items()}
    check_texts(texts, Path(__file__).with_name("numpy_like_errors.txt"))
