"""First calls run op by op, by kernels that are at hand, until compiling pays: with the same bits, the same errors and
no kernel compiled. (All other tests compile at the first call; see `tests/conftest.py`.)"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import intaglio as ig

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ops"))
import cases

PROLOGUE = """
import os, threading, numpy as np, intaglio as ig
rng = np.random.default_rng(0)
def array(*shape, dtype="float32"): return ig.asarray(rng.standard_normal(shape).astype(dtype))
def kernels(): return ig.cache.info().entries
layers = [(array(a, b), array(b)) for a, b in [(48, 32), (32, 16), (16, 4)]]
def mlp(x):
    for w, b in layers[:-1]:
        x = ig.relu(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]
"""


def run(program: str, folder: Path, op_by_op: bool, **more: str) -> str:
    """What the program prints; what runs op by op does so however long it takes, unless `more` says otherwise."""
    environment = {
        **os.environ,
        "INTAGLIO_OP_BY_OP": "always" if op_by_op else "0",
        "INTAGLIO_CACHE": "1",
        "INTAGLIO_CACHE_DIR": str(folder / str(op_by_op)),
        **more,
    }
    file = folder / "program.py"  # errors name its lines
    file.write_text(PROLOGUE + textwrap.dedent(program))
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def same(program: str, folder: Path) -> str:
    """What the program prints, which is the same where its first calls compile."""
    early, compiled = run(program, folder, True), run(program, folder, False)
    assert early == compiled
    return early


def sample(name: str) -> cases.Case | None:
    found = [cases.Case(name, i, "float32") for i in range(len(cases.TABLE[name]["samples"]))]
    return next((case for case in found if case.refused is None), None)


def test_every_op_that_needs_no_compiler_has_the_bits_of_its_program() -> None:
    ran = 0
    for name in cases.RUNNABLE:
        case = sample(name) if "float32" in {dtype.name for dtype in cases.TABLE[name]["dtypes"]} else None
        if case is None:
            continue
        graph = cases.core._graph_of("first_call", [(name, case.types, case.attrs)], {})
        early = graph._run_op_by_op(*case.given())
        if early is None:
            continue
        ran += 1
        want = graph.compile()(*case.given())
        for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (early, want)), strict=True):
            assert cases.bits(a) == cases.bits(b), case
    assert ran > 100


def test_composites_by_their_parts_have_the_bits_of_their_kernels(tmp_path: Path) -> None:
    """Eager calls: where a composite's own kernel is not at hand, its parts run."""
    program = f"""
        import hashlib, sys
        sys.path.insert(0, {str(Path(cases.__file__).parent)!r})
        import cases
        for name in cases.RUNNABLE:
            if "composite" not in cases.TABLE[name]["traits"]:
                continue
            for i in range(min(2, len(cases.TABLE[name]["samples"]))):
                dtypes = cases.dtypes_of(name)
                case = cases.Case(name, i, "float32" if "float32" in dtypes else dtypes[0])
                if case.refused is None:
                    print(case, [hashlib.sha256(cases.bits(x)).hexdigest() for x in case.eager()])
    """
    assert len(same(program, tmp_path).splitlines()) > 300


def test_what_is_usual_compiles_nothing(tmp_path: Path) -> None:
    program = """
        F, nn, key = ig.nn.functional, ig.nn, ig.random.key(0)
        for shape in [(5, 32), (3, 5, 32), (2, 1, 5, 32)]:
            x, w, b = array(*shape), array(16, 32), array(16)
            F.linear(x, w, b), F.softmax(x, -1), F.log_softmax(x, -1), F.layer_norm(x, (32,), array(32), array(32))
            F.rms_norm(x, (32,), array(32)), F.gelu(x, approximate="tanh"), x @ w.mT
            ig.sum(x, axis=-1), ig.max(x, axis=-1), ig.mean(x), ig.argmax(x, axis=-1), ig.std(x, axis=-1)
            ig.random.normal(key, shape), ig.random.uniform(key, shape)
            ig.random.uniform(key, shape, minval=-2.0, maxval=3.0)
            ig.random.bernoulli(key, shape=shape)
        for dtype in ["float64", "int32", "int64"]:
            array(4, 5, dtype=dtype) @ array(5, 6, dtype=dtype)
        array(3, 4, 5) @ array(3, 5, 6), array(2, 3, 4, 5) @ array(2, 3, 5, 6)
        x = array(6, 7)
        x + x[0], x * x[:, :1], x[:, :1] - x[0], x / array(7, dtype="float32")
        ig.sum(array(3, 4, 5), axis=0), ig.sum(array(3, 4, 5), axis=1), ig.mean(array(3, 4, 5), axis=(0, 2))
        F.embedding(ig.asarray([1, 2]), x), ig.cumsum(x, axis=-1)
        for batch in (1, 2):
            q, k, v = array(batch, 3, 5, 8), array(batch, 3, 9, 8), array(batch, 3, 9, 8)
            for mask in (None, array(5, 9), array(5, 9) > 0, array(batch, 1, 1, 9), array(batch, 1, 1, 9) > 0):
                F.scaled_dot_product_attention(q, k, v, mask)
            F.scaled_dot_product_attention(q, k, v, is_causal=True)
        nn.Linear(32, 16, key=key), nn.Linear(16, 8, key=key), nn.Embedding(20, 8, key=key), nn.LayerNorm(8)
        print(kernels())
    """
    assert run(program, tmp_path, True) == "0\n"


def test_factors_orders_and_places_compile_nothing(tmp_path: Path) -> None:
    """Of matrices of both precisions and any size; sorts; what is gathered, and what is added at places."""
    program = """
        la = ig.linalg
        def show(*results):
            for x in results:
                print(np.asarray(x).tobytes().hex()[:400])
        for dtype in ("float32", "float64"):
            for n in (3, 21):
                x, tall, b = array(n, n, dtype=dtype), array(2 * n, n, dtype=dtype), array(n, 2, dtype=dtype)
                positive = x @ x.mT + n * ig.eye(n, dtype=x.dtype)
                show(la.cholesky(positive), la.solve(x, b), la.solve(x, b[:, 0]), la.inv(x), la.det(x), *la.slogdet(x))
                show(*la.qr(x), *la.qr(tall), *la.svd(x), *la.svd(tall, full_matrices=False), la.svdvals(tall))
                show(*la.eigh(positive), la.eigvalsh(positive), *la.eig(x))
                show(la.solve_triangular(positive, b, lower=True))
            show(ig.sort(x), ig.argsort(x), ig.sort(x[0]), ig.argsort(x[0]))
        many, vectors = array(6, 4, 4), array(6, 4, 2)
        positive = many @ many.mT + ig.eye(4)
        show(la.cholesky(positive), la.solve(many, vectors), la.inv(many), la.det(many))
        show(*ig.grad(lambda a, b: ig.sum(la.solve(a, b) ** 2), argnums=(0, 1))(positive[0], vectors[0, :, 0]))
        show(ig.grad(lambda a: la.slogdet(a)[1] + ig.sum(la.cholesky(a)))(positive[0]))
        x, y, i, j = array(9, 7), array(5, 7), ig.asarray([3, 1, 3, 8, 0]), ig.asarray([6, 0, 2, 2, 1])
        words = ig.asarray([[3, 1], [3, 0], [4, 4]])
        for narrow in (ig.int32, ig.uint8):
            k = ig.astype(i, narrow)
            show(ig.take(x, k, axis=0), x.at[k].add(y), x[k, ig.astype(j, narrow)], ig.segment_sum(y, k, 9))
        k = ig.asarray(np.asarray(i).astype("int16"))  # which no kernel converts: few are as the reference says
        show(ig.take(x, k, axis=0), x.at[k].add(y), x[k])
        show(ig.iota(shape=[70, 80], axis=0, dtype=ig.int64), ig.iota(shape=[70, 80], axis=1, dtype=ig.int64))
        show(ig.take(x, i, axis=0), ig.take(x, j, axis=1), x[i, j], ig.take_along_axis(x, ig.argsort(x), axis=1))
        show(x.at[i].add(y), x.at[i].set(0.0), x.at[i, j].add(y[:, 0]), x[0].at[j].add(1.0), ig.segment_sum(y, i, 9))
        show(ig.grad(lambda x: ig.sum(ig.tanh(x[words]) ** 2))(x))
        labels = ig.asarray([1, 6, 0, 2, 2, 5, 3, 3, 4])
        show(ig.grad(lambda x: ig.sum(ig.take_along_axis(ig.log_softmax(x), labels[:, None], axis=1)))(x))
        show(ig.sort(x, axis=0), ig.cumulative_prod(x, axis=1), ig.cumulative_max(x, axis=1))
        show(ig.searchsorted(ig.sort(x[0]), y[0]), ig.histogram_counts(x[0], ig.asarray([-2.0, -1.0, 0.0, 1.0])))
        show(ig.random.randint(ig.random.key(1), (9,), 0, 10))
        for dtype in (ig.float16, ig.bfloat16, ig.uint8, ig.uint32, ig.int32):
            show(ig.astype(ig.abs(x) * 9, dtype) + ig.astype(ig.abs(x), dtype))
        z = ig.astype(x, ig.complex64) * 2j + x
        show(z * z, z + z, abs(z), ig.conj(z), ig.real(z), ig.imag(z), z == z)
        show(ig.astype(x, ig.bfloat16) @ ig.astype(x.mT, ig.bfloat16))
    """
    same(program, tmp_path)
    assert run(program + "    print(kernels())\n", tmp_path / ".", True).endswith("\n0\n")


def test_spread_operands_are_laid_out(tmp_path: Path) -> None:
    """Where there is a kernel for arrays of one shape alone: with its bits, of numbers, rows, columns and more axes."""
    program = """
        x, y, i = array(9, 7), array(5, 7), ig.asarray(rng.integers(-9, 9, (9, 7)))
        results = [x[:, None] - y[None], x[:, None, :, None] * y[None, :, None]]
        results += [i // 3, i % ig.asarray(-4), 7 // (i * 2 + 1)]
        results += [i[:, :1] == i[0], ig.where(x[:, None] > 0, y[None], 0.5), x[:0, None] - y[None]]
        results += [ig.astype(i * i, ig.uint8) * 3, ig.equal(x[:, None], y)]
        for result in results:
            print(result.shape, result.dtype, np.asarray(result).tobytes().hex())
    """
    same(program, tmp_path)
    assert run(program + "    print(kernels())\n", tmp_path / ".", True).endswith("\n0\n")


def test_who_spreads_often_gets_a_kernel(tmp_path: Path) -> None:
    program = """
        import time
        x, y = array(60, 70), array(50, 70)
        first, start = (x[:, None] - y[None]).numpy(), time.monotonic()
        while kernels() == 0 and time.monotonic() < start + 60:
            again = x[:, None] - y[None]
        print(kernels() > 0, (x[:, None] - y[None]).numpy().tobytes() == first.tobytes())
    """
    assert run(program, tmp_path, True, INTAGLIO_OP_BY_OP="1") == "True True\n"


def test_twenty_sizes_compile_nothing(tmp_path: Path) -> None:
    program = """
        f, g = ig.jit(mlp), ig.trace(mlp, array(8, 48), dynamic_shapes={"x": {0: ig.Dim("b", 1, 99)}}, lift=False)
        for batch in range(1, 21):
            x = array(batch, 48)
            print(f(x).numpy().tobytes().hex()[:200], g(x).numpy().tobytes().hex()[:200])
    """
    same(program, tmp_path)
    assert run(program + "        print('kernels', kernels())\n", tmp_path / ".", True).endswith("kernels 0\n")


@pytest.mark.parametrize("function", ["ig.jit(mlp)", "ig.trace(mlp, array(64, 48), lift=False)"])
def test_who_calls_it_often_gets_the_compiled_program(function: str, tmp_path: Path) -> None:
    program = f"""
        f, x = {function}, array(64, 48)
        first = f(x).numpy().tobytes()
        assert kernels() == 0
        for calls in range(1_000_000):
            assert f(x).numpy().tobytes() == first
            if calls % 100 == 0 and kernels() > 0:
                break
        assert kernels() > 0
        for _ in range(10):
            assert f(x).numpy().tobytes() == first
        print("compiled")
    """
    assert run(program, tmp_path, True, INTAGLIO_OP_BY_OP="1") == "compiled\n"


def test_asking_for_the_program_compiles_it(tmp_path: Path) -> None:
    program = """
        x = array(8, 48)
        g = ig.trace(mlp, x, lift=False).graph
        g.compile()
        assert kernels() > 0
        f = ig.jit(mlp)
        f(x)
        print(ig.explain(f).fusion is not None)
    """
    assert same(program, tmp_path) == "True\n"


def test_tracing_and_lowering_compile_nothing(tmp_path: Path) -> None:
    program = """
        x, f = array(8, 48), ig.jit(mlp)
        graph, lowered = f.trace(x).graph, f.lower(x)
        print(len(graph.nodes) > 0, kernels())
        compiled = lowered.compile()
        print(kernels() > 0)
        made = kernels()
        f(x), compiled(x)
        print(kernels() == made)
    """
    assert run(program, tmp_path, True) == run(program, tmp_path, False) == "True 0\nTrue\nTrue\n"


def test_gradients_donation_outcomes_and_numbers_are_as_they_are_compiled(tmp_path: Path) -> None:
    same(
        """
        x = array(4, 48)
        f = ig.jit(lambda x: ig.sum(mlp(x) ** 2))
        print(ig.grad(f)(x).numpy().tobytes().hex()[:80])
        leaf = array(4, 48).requires_grad_()
        f(leaf).backward()
        print(leaf.grad.numpy().tobytes().hex()[:80])
        def step(x, y):
            return x * 2 + y, ig.sum(x)
        donating = ig.jit(step, donate_argnums=0)
        given = array(3, 3)
        out = donating(given, array(3, 3))
        print([o.shape for o in out])
        try:
            print(given + 1)
        except ig.Error as error:
            print(error)
        @ig.jit
        def choose(x):
            return x + 1 if float(x[0]) > 0 else x - 1
        print(choose(ig.asarray([1.0])).item(), choose(ig.asarray([-1.0])).item())
        with ig.debug_nans(True):
            try:
                print(ig.jit(lambda x: ig.log(x) * 2)(ig.asarray([-1.0, 1.0])))
            except ig.Error as error:
                print(error)
        print(ig.jit(lambda x: ig.log(x) * 2)(ig.zeros((0, 3))).shape)
        """,
        tmp_path,
    )


def test_errors_are_those_of_the_program(tmp_path: Path) -> None:
    printed = same(
        """
        f = ig.jit(lambda x, i: x[i] + 1)
        g = ig.trace(lambda x: x + 1, ig.ones((3,)), dynamic_shapes={"x": {0: ig.Dim("n", 2, 5)}}).graph
        for call in (
            lambda: g(ig.ones((9,))),
            lambda: g(ig.ones((3, 3))),
            lambda: g(ig.ones((3,), dtype="float64")),
            lambda: ig.jit(lambda a, b: a // b)(ig.asarray([1, 2]), ig.asarray([1, 0])),
            lambda: ig.jit(lambda x: x @ x)(ig.ones((2, 3))),
        ):
            try:
                print(call())
            except ig.Error as error:
                print(type(error).__name__, error)
        """,
        tmp_path,
    )
    assert printed.count("hint:") >= 3


def test_threads_share_first_calls(tmp_path: Path) -> None:
    same(
        """
        f, x = ig.jit(mlp), array(16, 48)
        want, wrong = mlp(x).numpy().tobytes(), []
        def work():
            for _ in range(400):
                if f(x).numpy().tobytes() != want:
                    wrong.append(1)
        threads = [threading.Thread(target=work) for _ in range(8)]
        [t.start() for t in threads], [t.join() for t in threads]
        print(len(wrong))
        """,
        tmp_path,
    )


@pytest.mark.parametrize("wide", [False, True])
def test_memory_that_fusion_saves_is_not_taken(wide: bool) -> None:
    n = 4096 if wide else 16
    x, y = ig.ones((n, 1)), ig.ones((1, n))
    graph = ig.trace(lambda x, y: ig.sum(ig.abs(x - y)), x, y).graph
    assert (graph._run_op_by_op(x, y) is None) == wide


@pytest.mark.parametrize(("limit", "early"), [(8 << 30, True), (1 << 30, False)])
def test_graphs_that_take_long_to_compile_may_take_a_part_of_the_memory(limit: int, early: bool) -> None:
    n = 4096  # three arrays of 64 MiB between x, y and the sum
    x, y = ig.ones((n, 1)), ig.ones((1, n))

    def program(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        for _ in range(50):
            x = x + 1
        return ig.sum(x - y)

    code = f"import intaglio as ig; x, y = ig.ones(({n}, 1)), ig.ones((1, {n}))\n"
    code += f"graph = ig.Graph.parse({str(ig.trace(program, x, y).graph)!r})\n"
    code += "print(graph._run_op_by_op(x, y) is not None)"
    environment = {**os.environ, "INTAGLIO_MEMORY_LIMIT": str(limit)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == f"{early}\n", done.stderr


@pytest.mark.parametrize(("n", "rows", "early"), [(2048, 16, True), (2048, 256, False), (512, 256, True)])
def test_what_holds_its_weights_takes_little_memory_beside_them(n: int, rows: int, early: bool) -> None:
    x, w = ig.ones((rows, n)), ig.asarray(np.eye(n, dtype=np.float32))
    graph = ig.trace(lambda x: ig.relu(x @ w), x, lift=False).graph
    assert (graph._run_op_by_op(x) is not None) == early


def test_a_setting_that_says_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    call = "ig.jit(lambda x: x + 1)(ig.ones(2))"
    file.write_text(f"import intaglio as ig\ntry:\n    {call}\nexcept ig.ValueError as error:\n    print(error)\n")
    environment = {**os.environ, "INTAGLIO_OP_BY_OP": "off"}
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == (
        "INTAGLIO_OP_BY_OP=off is neither 0, 1 nor always\n"
        f"  at: {file}:3 in <module>:  {call}\n"
        "  why: 0 has first calls compile, 1 (or nothing) lets them run op by op as long as that pays, "
        "always as long as it goes\n"
        "  hint: write INTAGLIO_OP_BY_OP=0, or unset it\n"
    ), done.stdout + done.stderr


def test_long_eager_calls_get_a_program_for_their_sizes(tmp_path: Path) -> None:
    program = """
        ig.set_num_threads(1)
        x, y = array(1500, 1300, dtype="float64"), array(1300, 1100, dtype="float64")
        first = (x @ y).numpy().tobytes()
        programs = ig._counters()["programs"]
        for _ in range(200):
            assert (x @ y).numpy().tobytes() == first
            if ig._counters()["programs"] > programs:
                break
        print(ig._counters()["programs"] - programs)
        for _ in range(3):
            assert (x @ y).numpy().tobytes() == first
        small = array(3, 4) @ array(4, 5)
        print(ig._counters()["programs"] - programs)
    """
    assert same(program, tmp_path) == "1\n2\n"


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_eager_indexing_makes_no_program_for_each_size(dtype: str) -> None:
    """What was called with some sizes compiles nothing for others, and gives what NumPy gives."""
    rng = np.random.default_rng(3)

    def check(rows: int, columns: int, n: int) -> None:
        x = (rng.standard_normal((rows, columns)) * 9).astype(dtype)
        i, j = rng.integers(0, rows, n), rng.integers(0, columns, n)
        mask = rng.random((rows, columns)) < 0.3
        a, p, q, m = ig.asarray(x), ig.asarray(i), ig.asarray(j), ig.asarray(mask)
        for got, want in (
            (a[p], x[i]),
            (a[:, q], x[:, j]),
            (a[p, q], x[i, j]),
            (a[p[:, None], q[None]], x[i[:, None], j[None]]),
            (a[m], x[mask]),
            (a[-p - 1], x[-i - 1]),
        ):
            np.testing.assert_array_equal(np.asarray(got), want, strict=True)
        placed, added = x.copy(), x.copy()
        placed[i] = 5
        np.add.at(added, (i, j), x[i, j])
        np.testing.assert_array_equal(np.asarray(a.at[p].set(5)), placed, strict=True)
        np.testing.assert_allclose(np.asarray(a.at[p, q].add(a[p, q])), added, rtol=1e-5)

    check(13, 7, 11)
    programs = ig._counters()["programs"]
    for sizes in ((14, 8, 11), (13, 7, 5), (31, 9, 12), (40, 50, 33), (9, 19, 3)):
        check(*sizes)
    assert ig._counters()["programs"] == programs


@pytest.mark.parametrize("size", [2, 3])
def test_sizes_of_attributes_that_are_all_of_an_axis_are_told_from_numbers(size: int) -> None:
    """A pad by as much as there is, by nothing, by less than nothing: none is taken for another."""
    x = np.arange(1, size + 1, dtype=np.float32)
    for low in (-1, size, -2, 0, size, 1, size + 1):
        attributes = f"{{low = <{low}>, high = <3>, interior = [0]}}"
        (got,) = ig._intaglio._apply("pad", [ig.asarray(x), ig.asarray(np.float32(0))], attributes)
        np.testing.assert_array_equal(np.asarray(got), np.pad(x[max(-low, 0) :], (max(low, 0), 3)))


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128"])
def test_eager_updates_of_ranges_make_no_program_for_each_length(dtype: str) -> None:
    rng = np.random.default_rng(5)

    def check(rows: int, columns: int, n: int, start: int) -> None:
        x, y = ((rng.standard_normal(shape) * 9).astype(dtype) for shape in ((rows, columns), (n, columns)))
        a, b = ig.asarray(x), ig.asarray(y)
        part, added = x.copy(), x.copy()
        part[start : start + n] = y
        added[start : start + n] += y
        np.testing.assert_array_equal(np.asarray(a.at[start : start + n].set(b)), part, strict=True)
        np.testing.assert_array_equal(np.asarray(a.at[start : start + n].add(b)), added, strict=True)
        np.testing.assert_array_equal(np.asarray(a), x)

    check(20, 7, 3, 2)
    programs = ig._counters()["programs"]
    for sizes in ((20, 7, 4, 0), (20, 7, 19, 1), (33, 9, 5, 28), (8, 6, 7, 1)):
        check(*sizes)
    assert ig._counters()["programs"] == programs
    for sizes in (
        (20, 7, 20, 0),
        (20, 7, 0, 3),
        (20, 7, 1, 19),
        (7, 7, 7, 0),
        (9, 2, 2, 4),
        (5, 1, 2, 0),
        (1, 3, 1, 0),
    ):
        check(*sizes)  # equal sizes, 0 and 1 are other patterns


def test_an_update_larger_than_the_array_is_refused_after_one_that_fits() -> None:
    update = ig._intaglio.op("dynamic_update_slice")
    zero = ig.asarray(np.int64(0))
    for size in (3, 4):
        assert update(ig.zeros((9, 8)), ig.ones((size, 5)), zero, zero).numpy().sum() == size * 5
    for shape in ((10, 5), (3, 9), (11, 12)):
        with pytest.raises(ig.ShapeError, match=r"^dynamic_update_slice: "):
            update(ig.zeros((9, 8)), ig.ones(shape), zero, zero)


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex128", "float16"])
def test_borders_of_any_width_compile_nothing(dtype: str, tmp_path: Path) -> None:
    """Wider than the array, cut off, between elements, on nothing."""
    program = """
        from itertools import product
        def pad(x, low, high, interior):
            low, high = (", ".join(map(str, v)) for v in (low, high))
            attributes = f"{{low = <{low}>, high = <{high}>, interior = {list(interior)}}}"
            return ig._intaglio._apply("pad", [ig.asarray(x), ig.asarray(np.ones((), x.dtype))], attributes)[0]
        def spread(x, axis, low, high, between):
            x = np.moveaxis(x, axis, 0)
            out = np.ones((len(x) + max(len(x) - 1, 0) * between, *x.shape[1:]), x.dtype)
            out[::between + 1] = x
            rest = [(0, 0)] * (x.ndim - 1)
            out = np.pad(out, [(max(low, 0), max(high, 0)), *rest], constant_values=1)
            return np.moveaxis(out[max(-low, 0):len(out) - max(-high, 0)], 0, axis)
        for sizes in ((5,), (1,), (0,), (4, 3), (2, 0)):
            x = (rng.standard_normal(sizes) * 3).astype(DTYPE)
            for low, high, interior in product((-2, -1, 0, 3), (-1, 0, 2, 7), (0, 1, 2)):
                given = [(v, w)[:len(sizes)] for v, w in ((low, 1), (high, -1), (interior, 1))]
                if any(n + max(n - 1, 0) * i + l + h < 0 for n, l, h, i in zip(sizes, *given)):
                    continue
                want = x
                for axis in range(x.ndim):
                    want = spread(want, axis, *(v[axis] for v in given))
                np.testing.assert_array_equal(pad(x, *given).numpy(), want, strict=True)
        print(kernels())
    """
    assert run(program.replace("DTYPE", repr(dtype)), tmp_path, True) == "0\n"


def test_other_numbers_in_attributes_run_by_parts_that_are_made_once(tmp_path: Path) -> None:
    program = """
        key, made = ig.random_key(3), []
        for n in (21, 50, 7, 3000, 1, 12):
            order = ig.random.permutation(key, n).numpy()
            assert sorted(order.tolist()) == list(range(n))
            made.append(kernels())
            print(order.tobytes().hex())
    """
    early = run(program + "    assert len(set(made[1:4])) == 1, made\n", tmp_path, True)
    assert early == run(program, tmp_path, False)


def test_ranges_of_any_length_share_a_program() -> None:
    ig.arange(5, dtype="int16")
    programs = ig._counters()["programs"]
    for n in (3, 4, 17, 1000, 70000):
        got = ig._intaglio._apply("iota", [], f"{{shape = <{n}>, axis = 0, dtype = i16}}")[0]
        np.testing.assert_array_equal(got.numpy(), np.arange(n).astype("int16"))
    assert ig._counters()["programs"] <= programs + 1
