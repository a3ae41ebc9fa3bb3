"""Arrays as Python objects: exchange with NumPy, value semantics, coercions, printing, copying, threads,
errors."""

from __future__ import annotations

import builtins
import copy
import gc
import pickle
import threading
import weakref
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from refusals import check_texts, text_of

import intaglio as ig

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def sample(dtype: str, shape: tuple[int, ...] = (3, 4)) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("complex"):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return (
        (rng.standard_normal(shape) * 5).astype(dtype) if "float" in dtype else rng.integers(0, 9, shape).astype(dtype)
    )


# --- NumPy --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4), (2, 0, 3)])
def test_round_trip(dtype: str, shape: tuple[int, ...]) -> None:
    x = sample(dtype, shape)
    y = ig.asarray(x)
    assert (y.shape, y.dtype.name, y.size, y.nbytes, y.ndim) == (shape, dtype, x.size, x.nbytes, x.ndim)
    for back in (y.numpy(), np.asarray(y), np.from_dlpack(y)):
        assert back.dtype == x.dtype
        assert back.shape == x.shape
        np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::-1],
        lambda x: x[:, ::2],
        lambda x: x[1:],
        np.asfortranarray,
        lambda x: np.broadcast_to(x[0], (5, 4)),
    ],
)
def test_numpy_views_come_in(view: Any) -> None:
    x = view(sample("float32"))
    np.testing.assert_array_equal(ig.asarray(x).numpy(), x)


def test_bfloat16_round_trip() -> None:
    x = np.array([1.5, -2.0, np.inf], ml_dtypes.bfloat16)
    y = ig.asarray(x)
    assert y.dtype == ig.bfloat16
    assert y.numpy().dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(y.numpy(), x)


def test_numpy_arrays_are_copied_in() -> None:
    x = np.arange(3)
    y = ig.asarray(x)
    x[0] = 7
    assert y.tolist() == [0, 1, 2]


def test_exports_are_read_only_and_keep_their_values() -> None:
    y = ig.asarray([1, 2, 3])
    out = y.numpy()
    with pytest.raises(ValueError, match="read-only"):
        out[0] = 7
    y[0] = 9
    assert out.tolist() == [1, 2, 3]
    assert y.tolist() == [9, 2, 3]


def test_buffer_protocol() -> None:
    y = ig.asarray([[1, 2], [3, 4]], dtype=ig.int16)
    view = memoryview(y)
    assert (view.shape, view.format, view.readonly, view.tolist()) == ((2, 2), "h", True, [[1, 2], [3, 4]])


def test_array_method_options() -> None:
    y = ig.asarray([1.5, 2.5])
    assert np.asarray(y, dtype=np.float64).dtype == np.float64
    assert np.array(y, copy=True).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        np.asarray(y, dtype=np.int32, copy=False)


def test_numpy_scalars_keep_their_dtype() -> None:
    assert ig.asarray(np.float64(1.5)).dtype == ig.float64
    assert ig.asarray(np.complex128(1j)).dtype == ig.complex128
    assert ig.asarray(np.int8(3)).dtype == ig.int8
    assert ig.asarray(np.bool_(True)).dtype == ig.bool
    assert (ig.asarray([1.0]) + np.float64(1)).dtype == ig.float32, "as an operand it counts as a Python number"


UFUNCS: list[tuple[Any, int]] = [
    (np.sin, 1),
    (np.exp, 1),
    (np.negative, 1),
    (np.absolute, 1),
    (np.sqrt, 1),
    (np.isnan, 1),
    (np.floor, 1),
    (np.rint, 1),
    (np.add, 2),
    (np.subtract, 2),
    (np.multiply, 2),
    (np.divide, 2),
    (np.power, 2),
    (np.maximum, 2),
    (np.arctan2, 2),
    (np.less, 2),
    (np.equal, 2),
    (np.logaddexp, 2),
    (np.hypot, 2),
    (np.copysign, 2),
    (np.floor_divide, 2),
    (np.remainder, 2),
]


@pytest.mark.parametrize(("ufunc", "arity"), UFUNCS, ids=[u.__name__ for u, _ in UFUNCS])
def test_ufuncs(ufunc: Any, arity: int) -> None:
    arrays = [np.array([0.5, 1.25, 3.0], np.float32), np.array([2.0, 0.75, 1.5], np.float32)][:arity]
    got = ufunc(*[ig.asarray(a) for a in arrays])
    assert isinstance(got, ig.Tensor)
    np.testing.assert_allclose(got.numpy(), ufunc(*arrays), rtol=1e-6)
    if arity == 2:
        for mixed in (ufunc(ig.asarray(arrays[0]), arrays[1]), ufunc(arrays[0], ig.asarray(arrays[1]))):
            assert isinstance(mixed, ig.Tensor)
            np.testing.assert_array_equal(mixed.numpy(), got.numpy())


def test_integer_ufuncs() -> None:
    x = np.array([1, 7, 255], np.uint8)
    np.testing.assert_array_equal(np.bitwise_count(ig.asarray(x)).numpy(), np.bitwise_count(x))
    np.testing.assert_array_equal(np.invert(ig.asarray(x)).numpy(), np.invert(x))
    np.testing.assert_array_equal(np.left_shift(ig.asarray(x), ig.asarray(x)).numpy(), np.left_shift(x, x))


def test_ufunc_methods_and_out() -> None:
    x = ig.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert np.add.reduce(x, axis=1).tolist() == [3.0, 7.0]
    assert np.maximum.reduce(x, axis=0).tolist() == [3.0, 4.0]
    assert np.add.accumulate(x, axis=1).tolist() == [[1.0, 3.0], [3.0, 7.0]]
    assert np.multiply.outer(ig.asarray([1, 2]), ig.asarray([3, 4])).tolist() == [[3, 4], [6, 8]]
    out = np.empty((2, 2), np.float32)
    np.sin(x, out=out)
    np.testing.assert_allclose(out, np.sin(x.numpy()), rtol=1e-6)


def test_array_functions() -> None:
    x = ig.asarray([[3.0, 1.0], [2.0, 4.0]])
    y = x.numpy()
    for function, args in [
        (np.sum, {"axis": 0}),
        (np.mean, {"axis": 1, "keepdims": True}),
        (np.max, {}),
        (np.argsort, {"axis": 1}),
        (np.transpose, {}),
        (np.squeeze, {}),
        (np.flip, {"axis": 0}),
        (np.cumsum, {"axis": 1}),
        (np.tril, {}),
        (np.var, {"axis": 0}),
    ]:
        got = function(x, **args)
        assert isinstance(got, ig.Tensor), function
        np.testing.assert_allclose(got.numpy(), function(y, **args), rtol=1e-6)
    assert np.concatenate([x, x], axis=1).shape == (2, 4)
    assert np.stack([x, x]).shape == (2, 2, 2)
    assert np.where(x > 2, x, 0).tolist() == [[3.0, 0.0], [0.0, 4.0]]


def test_np_dot_by_ranks() -> None:
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((), (3,)), ((2, 3), (4, 3, 2))]
    shapes += [((2, 4, 3), (3,)), ((2, 4, 3), (5, 3, 2))]
    for left, right in shapes:
        a, b = np.arange(1.0, 1 + np.prod(left)).reshape(left), np.arange(2.0, 2 + np.prod(right)).reshape(right)
        for dot in (np.dot, ig.jit(np.dot) if left and right else np.dot):
            got = dot(ig.asarray(a), ig.asarray(b))
            assert isinstance(got, ig.Tensor)
            np.testing.assert_array_equal(np.asarray(got), np.dot(a, b))


# --- DLPack -------------------------------------------------------------------------------------------------


def test_dlpack_shares_memory() -> None:
    y = ig.asarray([1.0, 2.0, 3.0])
    a, b = np.from_dlpack(y), y.numpy()
    assert a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    y[0] = 5.0
    assert a.tolist() == [1.0, 2.0, 3.0], "an export keeps its values"


def test_dlpack_outlives_the_array() -> None:
    view = np.from_dlpack(ig.asarray(np.arange(100000)))
    gc.collect()
    fill = [ig.asarray(np.zeros(100000, np.int64)) for _ in range(4)]
    assert len(fill) == 4
    np.testing.assert_array_equal(view, np.arange(100000))


def test_dlpack_in_keeps_the_owner() -> None:
    class Owner(np.ndarray[Any, Any]):
        pass

    x = np.arange(6).view(Owner)
    alive = weakref.ref(x)
    y = ig.from_dlpack(x)
    del x
    gc.collect()
    assert y.tolist() == [0, 1, 2, 3, 4, 5]
    del y
    gc.collect()
    assert alive() is None, "the owner is let go with the array"


# --- values -------------------------------------------------------------------------------------------------


def test_assignment_makes_new_values() -> None:
    x = ig.asarray([1, 2, 3])
    y = x
    z = x + 0
    row = x[1:]
    x[0] = 10
    assert y is x
    assert (x.tolist(), z.tolist(), row.tolist()) == ([10, 2, 3], [1, 2, 3], [2, 3])
    row += 1
    assert (x.tolist(), row.tolist()) == ([10, 2, 3], [3, 4])


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        slice(1, 3),
        slice(None, None, -1),
        (0, 1),
        (slice(None), 2),
        ...,
        (..., 0),
        np.array([True, False, True]),
        [2, 0],
        (slice(None), [0, 2]),
        None,
    ],
)
def test_setitem_like_numpy(key: Any) -> None:
    a = np.arange(12).reshape(3, 4)
    x = ig.asarray(a)
    a, x[key] = a.copy(), 7
    a[key] = 7
    np.testing.assert_array_equal(x.numpy(), a)


@pytest.mark.parametrize("op", ["+=", "-=", "*=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>="])
def test_in_place_operators(op: str) -> None:
    a, b = np.array([5, 6, 7]), np.array([1, 2, 3])
    scope = {"x": ig.asarray(a), "y": ig.asarray(b), "a": a.copy(), "b": b}
    scope["kept"] = scope["x"] + 0
    exec(f"x {op} y; a {op} b", scope)
    np.testing.assert_array_equal(scope["x"].numpy(), scope["a"])
    np.testing.assert_array_equal(scope["kept"].numpy(), a)


def test_scalars() -> None:
    x = ig.asarray(2.5)
    assert (float(x), int(x), bool(x), complex(x), x.item()) == (2.5, 2, True, 2.5 + 0j, 2.5)
    assert range(5)[ig.asarray(3)] == 3
    assert f"{ig.asarray(1.25):.1f}" == "1.2"
    assert f"{ig.asarray([1.5])}" == str(ig.asarray([1.5]))
    assert [type(v) for v in ig.asarray([True]).tolist()] == [bool]


def test_iteration_and_len() -> None:
    x = ig.asarray([[1, 2], [3, 4]])
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    a, b = x
    assert (a.tolist(), b.tolist()) == ([1, 2], [3, 4])


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (ig.asarray(1.5), "Tensor(1.5, dtype=float32)"),
        (ig.asarray([]), "Tensor([], dtype=float32)"),
        (ig.zeros((2, 0)), "Tensor([], shape=(2, 0), dtype=float32)"),
        (ig.asarray([True, False]), "Tensor([ True, False], dtype=bool)"),
        (ig.asarray([1, -20]), "Tensor([  1, -20], dtype=int64)"),
        (ig.asarray([float("nan"), float("inf"), -0.0]), "Tensor([nan, inf, -0.], dtype=float32)"),
        (ig.asarray([1 + 2j]), "Tensor([1.+2.j], dtype=complex64)"),
        (ig.asarray([[1, 2], [3, 4]], dtype="uint8"), "Tensor([[1, 2],\n        [3, 4]], dtype=uint8)"),
    ],
)
def test_repr(array: Any, text: str) -> None:
    assert repr(array) == text


def test_long_arrays_are_shortened() -> None:
    text = repr(ig.arange(100000))
    assert len(text) < 200
    assert "..." in text


def test_hash_is_by_identity() -> None:
    x, y = ig.asarray([1.0]), ig.asarray([1.0])
    assert hash(x) == hash(x)
    assert {id(x): 1, id(y): 2}[id(y)] == 2
    assert len({x, y}) == 2


def test_products_promote() -> None:
    a, b = ig.asarray([[1, 2]], dtype=ig.int32), ig.asarray([[3], [4]], dtype=ig.int64)
    assert (a @ b).dtype == ig.int64
    assert ig.vecdot(ig.asarray([1.0]), ig.asarray([2.0], dtype=ig.float64)).dtype == ig.float64


# --- copying ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(dtype: str, protocol: int) -> None:
    x = ig.astype(ig.asarray([[1, 0, 3]]), dtype)
    y = pickle.loads(pickle.dumps(x, protocol))
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    assert ig._intaglio._to_bytes(y) == ig._intaglio._to_bytes(x)


def test_pickled_keys_draw_the_same() -> None:
    key = ig.random_key(5)
    again = pickle.loads(pickle.dumps(key))
    assert ig.random_uniform(again, shape=(3,)).tolist() == ig.random_uniform(key, shape=(3,)).tolist()


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_copies_are_their_own(copier: Any) -> None:
    x = ig.asarray([1, 2, 3])
    y = copier(x)
    y[0] = 9
    assert (x.tolist(), y.tolist()) == ([1, 2, 3], [9, 2, 3])
    tree = {"w": [x, x]}
    other = copier(tree)
    assert other["w"][1].tolist() == [1, 2, 3]


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_graphs_are_copied(copier: Any) -> None:
    graph = ig.trace(lambda x: ig.exp(x) + 1, ig.asarray([1.0, 2.0])).graph
    other = copier(graph)
    assert str(other) == str(graph)
    other.name = "other"
    assert graph.name != "other"
    np.testing.assert_array_equal(other(ig.asarray([1.0, 2.0])).numpy(), graph(ig.asarray([1.0, 2.0])).numpy())


def test_functions_and_dtypes_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(ig.exp)) is ig.exp
    assert pickle.loads(pickle.dumps(ig.float32)) is ig.float32
    assert copy.deepcopy(ig.bfloat16) is ig.bfloat16
    assert {ig.float32: 1}[pickle.loads(pickle.dumps(ig.float32))] == 1


# --- threads ------------------------------------------------------------------------------------------------


def test_threads_share_arrays_and_programs() -> None:
    x = ig.asarray(np.linspace(-1, 1, 50000, dtype=np.float32))
    program = ig.trace(lambda v: ig.softmax(ig.tanh(v) * 3, axis=0), x)
    want = program(x).tolist()
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(5):
            mine = ig.asarray([number])
            mine[0] = number + 1
            if program(x).tolist() != want or (mine + 1).tolist() != [number + 2]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_numbers_in_a_given_dtype() -> None:
    """As NumPy has them: of a float that becomes an integer what is behind the point is cut off."""
    for dtype in ("int8", "uint8", "int32", "int64", "uint64"):
        given = [0.3, 1.5, 100.99] if dtype[0] == "u" else [-2.7, -0.5, 0.3, 1.5, 100.99]
        assert ig.asarray(given, dtype=dtype).tolist() == np.asarray(given, dtype=dtype).tolist()
        assert ig.asarray(given[-1], dtype=dtype).tolist() == 100
        assert ig.full((2,), 2.7, dtype=dtype).tolist() == [2, 2]
    assert ig.asarray(1.8e19, dtype="uint64").tolist() == 18_000_000_000_000_000_000
    assert ig.asarray([0.3, 0.0, 2j, 0], dtype="bool").tolist() == [True, False, True, False]
    assert ig.jit(lambda x: x + ig.asarray([1.5, 2.5], dtype="int64"))(ig.asarray([1, 2])).tolist() == [2, 4]


def test_clip_with_one_bound_or_none() -> None:
    x = ig.asarray([-2.0, 0.5, 3.0])
    assert ig.clip(x, None, 1.0).tolist() == ig.clip(x, max=1.0).tolist() == [-2, 0.5, 1]
    assert ig.clip(x, 0.0).tolist() == x.clip(min=0.0).tolist() == [0, 0.5, 3]
    assert ig.clip(x).tolist() == np.clip(x, None, None).tolist() == x.tolist()
    assert np.clip(x, 0.0, 1.0).tolist() == [0, 0.5, 1]


# --- what is refused ----------------------------------------------------------------------------------------

X = ig.asarray([1.0, 2.0, 3.0])
I = ig.asarray([1, 2, 3])
WRONG: list[tuple[str, str]] = [
    ("X + 'a'", "builtin"),
    ("X + None", "builtin"),
    ("ig.exp('a')", ""),
    ("ig.exp()", ""),
    ("ig.exp(X, X)", ""),
    ("ig.exp(X, axis=1)", ""),
    ("ig.exp(I > 1)", ""),
    ("X + I", ""),
    ("I + 1.5", ""),
    ("I + 2**40 * 2**40", ""),
    ("ig.asarray(['a'])", ""),
    ("ig.asarray([[1], [2, 3]])", ""),
    ("ig.asarray(object())", ""),
    ("ig.asarray(1, dtype='int3')", ""),
    ("ig.asarray(1j, dtype='float32')", ""),
    ("ig.asarray([1, 2j], dtype='int32')", ""),
    ("ig.asarray([300.5], dtype='int8')", ""),
    ("ig.full((2,), float('nan'), dtype='int64')", ""),
    ("ig.asarray(1, device='gpu')", ""),
    ("bool(X)", ""),
    ("float(X)", ""),
    ("int(X)", ""),
    ("range(3)[X]", ""),
    ("X[5]", ""),
    ("X[0, 0]", ""),
    ("X['a']", ""),
    ("X[1.5]", ""),
    ("X.reshape(2, 2)", ""),
    ("ig.concat([])", ""),
    ("ig.sum(X, axis=1)", ""),
    ("ig.sum(X, axis=(0, 0))", ""),
    ("ig.max(X, axis='a')", ""),
    ("ig.asarray([1, 2]) @ X", ""),
    ("ig.concat([X, ig.zeros(2, dtype=ig.int64)])", ""),
    ("ig.zeros(-1)", ""),
    ("ig.zeros('a')", ""),
    ("ig.arange(0, 3, 0)", ""),
    ("ig.take(X, [0], axis=1)", ""),
    ("len(ig.asarray(1))", ""),
    ("iter(ig.asarray(1))", ""),
    ("ig.max(ig.zeros((0,)))", ""),
    ("ig.Graph.parse('nonsense')", ""),
    ("ig.can_cast(1, 2)", ""),
    ("f'{X:.2f}'", ""),
    ("ig.finfo(I)", ""),
    ("ig.split(X, 2)", ""),
    ("X[::0]", ""),
    ("X['a':]", ""),
    ("X[..., ...]", ""),
    ("X[ig.asarray([True, False])]", ""),
    ("X[True]", ""),
    ("ig.asarray([1, 2]) // 0", ""),
    ("ig.asarray([1, 2]) ** -1", ""),
    ("I ** ig.asarray([1, -2, 0])", ""),
    ("2 ** ig.asarray([3, -2])", ""),
    ("ig.jit(lambda x, y: x**y)(I, ig.asarray([1, -2, 0]))", ""),
    ("ig.ones((2, 2, 2)).T", ""),
    ("ig.asarray(1).mT", ""),
    ("ig.from_dlpack(1)", ""),
    ("ig.asarray([X, 1])", ""),
    ("int(ig.asarray(1j))", ""),
    ("float(ig.asarray(1j))", ""),
    ("ig.Tensor()", ""),
    ("ig.Graph.parse('graph @g(%x: f32[2]) {\\n  return %x\\n}')()", ""),
    ("ig.check(False, 'stop at {}', 3)", ""),
    ("I[0] = 1.5", "statement"),
    ("X += ig.ones((2, 3))", "statement"),
    ("del X[0]", "statement"),
    ("X[0] = 'a'", "statement"),
    ("X[0] = [1, 2]", "statement"),
]


def raised(source: str) -> str:
    scope = {"ig": ig, "X": X + 0, "I": I + 0}
    with pytest.raises(Exception) as caught:
        exec(source, scope)
    error = caught.value
    return text_of(error) if isinstance(error, ig.Error) else f"{type(error).__name__}: {error}"


def test_wrong_uses() -> None:
    check_texts({source: raised(source) for source, _ in WRONG}, Path(__file__).with_name("array_errors.txt"))


def test_errors_name_the_line() -> None:
    with pytest.raises(ig.TypeError) as caught:
        ig.exp("a")
    assert "test_arrays.py" in caught.value.where
    assert "ig.exp(" in caught.value.where


def test_divmod_round_and_in() -> None:
    x = ig.asarray([5.55, -7.25, 2.0])
    a = np.asarray(x)
    for f in (divmod, ig.jit(lambda x, y: divmod(x, y))):
        for got, expected in zip(f(x, 2.0), divmod(a, np.float32(2)), strict=True):
            np.testing.assert_array_equal(np.asarray(got), expected)
    assert [int(part[0]) for part in divmod(7, ig.asarray([2]))] == [3, 1]
    with pytest.raises(builtins.TypeError, match="unsupported operand"):
        divmod(x, "two")
    for digits in (None, 0, 1):
        np.testing.assert_array_equal(np.asarray(round(x, digits)), np.round(a, digits or 0))
    assert round(ig.asarray([127]), -1).tolist() == [130]
    assert round(ig.asarray([7]), 2).tolist() == [7]
    assert ig.jit(lambda n: ig.ones(2) * round(n, 1))(2.345).tolist() == pytest.approx([2.3, 2.3])
    assert 2.0 in x
    assert 3 not in x
    assert None not in x
    assert ig.jit(lambda x: ig.ones(1) if 2.0 in x else ig.zeros(1))(x).tolist() == [1.0]
    assert ig.jit(lambda x: ig.ones(1) if 2.0 in x else ig.zeros(1))(x + 1).tolist() == [0.0]
