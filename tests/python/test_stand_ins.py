"""Convolutions, folds of windows and products whose own kernels are not at hand run by other ops' kernels: with the
bits of the op's definition, and nothing compiled. Each program is a process, where first calls go op by op."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tries import tries

PROLOGUE = """
import numpy as np, intaglio as ig
rng = np.random.default_rng(5)
def whole(high, count, low=1): return [int(v) for v in rng.integers(low, high, count)]
def array(shape, dtype="float32"): return ig.asarray((rng.standard_normal(shape) * 4).astype(dtype))
def kernels(): return ig.cache.info().entries
def check(f, *operands, compiled=False):
    try:
        graph, got = ig.trace(f, *operands).graph, np.asarray(f(*operands))
        defined = graph.compile()(*operands) if compiled else graph.evaluate(*operands)
    except ig.Error:
        return 0  # a window that does not fit, say
    defined = np.asarray(defined)
    where = f"{[o.shape for o in operands]} {operands[0].dtype}"
    assert got.dtype == defined.dtype and got.shape == defined.shape, where
    assert np.array_equal(np.isnan(got), np.isnan(defined)), where
    assert np.where(np.isnan(got), 0, got).tobytes() == np.where(np.isnan(defined), 0, defined).tobytes(), where
    return 1
"""


def run(program: str, folder: Path, **env: str) -> str:
    environment = {
        **os.environ,
        "INTAGLIO_OP_BY_OP": "always",
        "INTAGLIO_CACHE": "1",
        "INTAGLIO_CACHE_DIR": str(folder / "cache"),
        **env,
    }
    file = folder / "program.py"
    file.write_text(PROLOGUE + textwrap.dedent(program))
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_convolutions(tmp_path: Path) -> None:
    program = """
        ran = 0
        for space in (1, 2, 3):
            for trial in range(50):
                digits = "012"[:space]
                image, features, made = whole(4, 3)
                groups = dict(feature_group_count=1, batch_group_count=1)
                if trial % 4 == 1:
                    groups["feature_group_count"], = whole(4, 1)
                if trial % 4 == 2:
                    groups["batch_group_count"], = whole(4, 1)
                by = groups["feature_group_count"] * groups["batch_group_count"]
                layout = [f"bf{digits}_oi{digits}->bf{digits}", f"b{digits}f_{digits}io->b{digits}f",
                          f"fb{digits}_io{digits}->bf{digits}"][trial % 3]
                sides, taps = whole(12, space, 3), whole(4, space)
                x_axes, w_axes = layout.split("->")[0].split("_")
                x_sizes = {"b": image * groups["batch_group_count"], "f": features * groups["feature_group_count"]}
                w_sizes = {"o": made * by, "i": features}
                x = array([x_sizes[a] if a in "bf" else sides[int(a)] for a in x_axes], "f4" if trial < 30 else "f8")
                w = array([w_sizes[a] if a in "oi" else taps[int(a)] for a in w_axes], x.dtype.name)
                how = dict(layout=layout, strides=whole(4, space), padding=whole(4, 2 * space, -1), **groups,
                           lhs_dilation=[int(v) for v in rng.choice([1, 1, 2, 3], space)],
                           rhs_dilation=[int(v) for v in rng.choice([1, 1, 2], space)])
                ran += check(lambda x, w: ig.convolution(x, w, **how), x, w)
                assert trial >= 30 or kernels() == 0, (x.shape, w.shape, how)
            ig.cache.clear()
        # What is no number where a tap lies on padding: it does not contribute.
        w = np.full((2, 1, 3, 3), np.inf, "f4")
        check(lambda x, w: ig.conv(x, w, padding=(1, 1)), array((1, 1, 4, 5)), ig.asarray(w))
        print(ran > 100)
    """
    assert run(program, tmp_path) == "True\n"


@pytest.mark.parametrize("target", ["", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("prebuilt", ["1", "0"])
def test_convolutions_of_many_groups(target: str, prebuilt: str, tmp_path: Path) -> None:
    """Depthwise ones, with several features a group, and by groups of images, as gradients have them."""
    program = """
        ran = 0
        for trial in range(TRIES):
            space = trial % 3 + 1
            digits = "012"[:space]
            groups, = whole(40, 1, 9)
            image, features, made = whole(3, 3)
            by_images = trial % 2 == 1
            layout = [f"bf{digits}_oi{digits}->bf{digits}", f"b{digits}f_{digits}io->b{digits}f",
                      f"fb{digits}_io{digits}->bf{digits}", f"f{digits}b_{digits}oi->{digits}fb"][trial % 4]
            x_axes, w_axes = layout.split("->")[0].split("_")
            sides, taps = whole(9, space, 2), whole(4, space)
            x_sizes = {"b": image * (groups if by_images else 1), "f": features * (1 if by_images else groups)}
            w_sizes = {"o": made * groups, "i": features}
            x = array([x_sizes[a] if a in "bf" else sides[int(a)] for a in x_axes], ["f4", "f4", "f8"][trial % 3])
            w = array([w_sizes[a] if a in "oi" else taps[int(a)] for a in w_axes], x.dtype.name)
            if trial % 5 == 0:
                special = np.array(x)
                special.flat[::7] = np.inf
                special.flat[::11] = -0.0
                x = ig.asarray(special)
            how = dict(layout=layout, strides=whole(4, space), padding=whole(4, 2 * space, -1),
                       lhs_dilation=[int(v) for v in rng.choice([1, 1, 2, 3], space)],
                       rhs_dilation=[int(v) for v in rng.choice([1, 1, 2], space)])
            how["batch_group_count" if by_images else "feature_group_count"] = groups
            ran += check(lambda x, w: ig.convolution(x, w, **how), x, w, compiled=True)
        print(ran > TRIES * 2 // 3)
    """.replace("TRIES", str(tries(24)))
    environment = {"INTAGLIO_TARGET": target} if target else {}
    assert run(program, tmp_path, INTAGLIO_PREBUILT=prebuilt, **environment) == "True\n"


def test_a_depthwise_convolution_and_its_gradients_compile_nothing(tmp_path: Path) -> None:
    program = """
        x, w = array((2, 60, 17, 19)), array((60, 1, 3, 3))
        for stride, pad in [(1, 1), (2, 1), (2, 0)]:
            def loss(x, w): return ig.sum(ig.conv(x, w, stride=(stride, stride), padding=(pad, pad), groups=60) ** 2)
            step = ig.value_and_grad(loss, argnums=(0, 1))
            early = [np.asarray(a).tobytes() for a in ig.tree.leaves(step(x, w))]
            assert kernels() == 0
            compiled = ig.jit(step).lower(x, w).compile()(x, w)
            assert early == [np.asarray(a).tobytes() for a in ig.tree.leaves(compiled)]
            ig.cache.clear()
        print("same")
    """
    assert run(program, tmp_path) == "same\n"


def test_large_images_go_in_parts(tmp_path: Path) -> None:
    program = """
        images = [(2, 40, 60, 50), (40, 8, 30, 31), (1, 3, 300, 40)]
        weights = [(24, 40, 3, 3), (16, 8, 5, 4), (8, 3, 7, 7)]
        for image, weight in zip(images, weights):
            x, w = array(image), array(weight)
            how = dict(stride=(1, 2), padding=(2, 1))
            early = np.asarray(ig.conv(x, w, **how))
            assert kernels() == 0
            compiled = ig.jit(lambda x, w: ig.conv(x, w, **how)).lower(x, w).compile()
            assert early.tobytes() == np.asarray(compiled(x, w)).tobytes()
            ig.cache.clear()
        print("same")
    """
    assert run(program, tmp_path) == "same\n"


def test_folds_of_windows(tmp_path: Path) -> None:
    program = """
        ran = 0
        for trial in range(150):
            rank, = whole(5, 1)
            x = (rng.standard_normal(whole(9, rank)) * 20).astype(["f4", "f8", "i4", "u1", "i8"][trial % 5])
            if x.dtype.kind == "f":
                x.flat[0] = -0.0
                if trial % 2:
                    x.flat[-1], x.flat[x.size // 2] = np.nan, -np.inf
            op = [ig.reduce_window_max, ig.reduce_window_min, ig.reduce_window_sum][trial % 3]
            how = dict(window_dimensions=whole(4, rank), window_strides=whole(4, rank),
                       window_dilations=whole(3, rank), padding=whole(4, 2 * rank, -1))
            had = kernels()
            ran += check(lambda x: op(x, **how), ig.asarray(x))
            assert x.dtype != "f4" or kernels() == had, (x.shape, how)
        had, x = kernels(), array((2, 3, 20, 21))
        assert ig.max_pool(x, kernel_size=3, stride=2, padding=1).shape == (2, 3, 10, 11)
        assert ig.avg_pool(x, kernel_size=2).shape == (2, 3, 10, 10)
        print(ran > 100, kernels() == had)
    """
    assert run(program, tmp_path) == "True True\n"


def test_products_of_any_axes(tmp_path: Path) -> None:
    program = """
        ran = 0
        for trial in range(200):
            sizes = {"b": whole(4, int(rng.integers(0, 2))), "k": whole(6, int(rng.integers(0, 3))),
                     "m": whole(6, int(rng.integers(0, 3))), "n": whole(6, int(rng.integers(0, 3)))}
            def side(kinds):
                axes = [(kind, i) for kind in kinds for i in range(len(sizes[kind]))]
                return [axes[i] for i in rng.permutation(len(axes))]
            left, right = side("bkm"), side("bkn")
            a, b = (array([sizes[kind][i] for kind, i in axes]) for axes in (left, right))
            if trial % 7 == 0:
                a, b = a + 1j * array(a.shape), b - 1j * array(b.shape)
            how = {f"{name}_{what}_dimensions": [axes.index((kind, i)) for i in range(len(sizes[kind]))]
                   for name, axes in (("lhs", left), ("rhs", right))
                   for what, kind in (("batching", "b"), ("contracting", "k"))}
            sums = not sizes["m"] and not sizes["n"]  # without free axes: in the order of sums, which evaluate has not
            ran += check(lambda a, b: ig.dot_general(a, b, **how), a, b, compiled=sums)
        print(ran)
        outer = ig.matmul(array((50, 1)), array((1, 70)))
        assert outer.shape == (50, 70) and ig.matmul(array((1, 50)), array((50, 1))).shape == (1, 1)
    """
    assert run(program, tmp_path) == "200\n"


def test_attention_on_any_axes_of_examples(tmp_path: Path) -> None:
    """They are made one; a mask is aligned with the scores, though its sizes be those of the axes in front."""
    program = """
        ran = 0
        for trial in range(TRIES):
            front, l, s, d, e = whole(4, int(rng.integers(0, 4))), *whole(7, 4)
            if trial % 5 == 0:
                front = front[:-2] + [l, s]
            if trial % 11 == 0:
                front = front + [0]
            q, k, v = array((*front, l, d)), array((*front, s, d)), array((*front, s, e))
            masks = [None, array((l, s)) > 0, array((l, s)), array((s,)), array((*front, l, s)),
                     array((*front[:1], *[1] * max(0, len(front) - 1), 1, s)) > 0]
            mask = masks[trial % 6]
            attend = lambda q, k, v, *mask: ig.scaled_dot_product_attention(q, k, v, *mask, causal=trial % 4 == 1)
            def gradients(*operands):
                return ig.grad(lambda *x: ig.sum(attend(*x) ** 2), argnums=tuple(range(3)))(*operands)
            operands = [q, k, v] + ([] if mask is None else [mask])
            for f in (attend, gradients):
                early = [np.asarray(x).tobytes() for x in ig.tree.leaves(f(*operands))]
                compiled = ig.trace(f, *operands).graph.compile()(*operands)
                assert early == [np.asarray(x).tobytes() for x in ig.tree.leaves(compiled)], (trial, f)
                ran += 1
        print(ran)
    """.replace("TRIES", str(tries(24)))
    assert run(program, tmp_path) == f"{2 * tries(24)}\n"


def test_attention_of_usual_kinds_compiles_nothing(tmp_path: Path) -> None:
    program = """
        for front in [(2,), (1, 3), (2, 3), (1, 1, 3), (2, 1, 3, 2)]:
            q, k, v = array((*front, 5, 8)), array((*front, 6, 8)), array((*front, 6, 9))
            for more in [{}, {"causal": True}, {"mask": array((5, 6)) > 0}]:
                attend = lambda q, k, v: ig.sum(ig.scaled_dot_product_attention(q, k, v, **more) ** 2)
                attend(q, k, v), ig.grad(attend, argnums=(0, 1, 2))(q, k, v)
            ig.scaled_dot_product_attention(q, k, v, array((5, 6)))
            ig.scaled_dot_product_attention(array((*front, 1, 8)), k, v)
        print(kernels())
    """
    assert run(program, tmp_path) == "0\n"


def test_a_training_step_of_a_convnet_compiles_nothing_at_first(tmp_path: Path) -> None:
    program = """
        w1, w2, w3 = array((8, 1, 3, 3)), array((16, 8, 3, 3)), array((10, 256))
        def loss(ws, x, y):
            h = ig.relu(ig.conv(x, ws[0], padding=(1, 1)))
            h = ig.relu(ig.conv(h, ws[1], padding=(1, 1), stride=(2, 2)))
            h = ig.reshape(h, (x.shape[0], 256)) @ ws[2].T
            return -ig.sum(ig.log_softmax(h, axis=-1) * y)
        step = ig.jit(ig.value_and_grad(loss))
        x, y = array((5, 1, 8, 8)), ig.asarray(np.eye(10, dtype="f4")[[1, 2, 3, 4, 5]])
        value, grads = step((w1, w2, w3), x, y)
        print(kernels())
        again = step.lower((w1, w2, w3), x, y).compile()((w1, w2, w3), x, y)
        print(all(np.array_equal(a, b) for a, b in zip(ig.tree.leaves((value, grads)), ig.tree.leaves(again))))
    """
    assert run(program, tmp_path) == "0\nTrue\n"


def test_few_elements_are_picked_and_placed_without_kernels(tmp_path: Path) -> None:
    """Positions before the array and behind it; the same one twice; larger than any signed number."""
    program = """
        take, put = (ig._intaglio.op(name) for name in ("dynamic_slice", "dynamic_update_slice"))
        done = 0
        for dtype in ("float32", "float64", "bool", "float16", "complex64", "uint8"):
            for rows, columns in ((7, 5), (1, 5), (40, 1), (300, 200)):
                x, n = array((rows, columns), dtype), int(rng.integers(1, rows + 1))
                piece = array((n, columns), dtype)
                i, j = ig.asarray(rng.integers(0, rows, 6)), ig.asarray(rng.integers(-columns, columns, 6))
                done += check(lambda x: (x[i], x[i, j], x[3:, j], x[i[0]], x[i[0], j[1]])[2], x, compiled=True)
                done += check(lambda x, i, j: x[i, j], x, i, j, compiled=True)
                done += check(lambda x, i: x.at[i[0]].set(x[0]), x, i, compiled=True)
                done += check(lambda x, i, j: x.at[i, j].set(x[0, 0]), x, i, j, compiled=True)
                if dtype not in ("bool", "complex64"):
                    done += check(lambda x, i, j: x.at[i, j].add(x[i, 0]), x, i, j, compiled=True)
                    done += check(lambda x, i, j: x.at[i, j].multiply(x[i, 0]), x, i, j, compiled=True)
                    done += check(lambda x, i: x.at[i].max(x[0]), x, i, compiled=True)
                for at in (0, 1, -3, rows, 2**63 - 1, np.uint64(2**64 - 1), np.int8(-128), np.uint8(255)):
                    at, zero = ig.asarray(at), ig.asarray(0)
                    cut = lambda x, at, zero: take(x, at, zero, slice_sizes=(n, columns))
                    done += check(cut, x, at, zero) + check(put, x, piece, at, zero)
        print(done)
    """
    assert int(run(program, tmp_path)) > 400


def test_a_step_of_a_search_compiles_nothing(tmp_path: Path) -> None:
    program = """
        x = array((40,))
        for i in range(5):
            at = ig.asarray(i)
            x = x.at[at].set(x[at + 1]).at[-at].add(x[at])
            x = ig.dynamic_update_slice(x, ig.dynamic_slice(x, at, slice_sizes=(3,)), at + 7)
            ig.bincount(ig.astype(x > 0, "int32"), length=9)
        large = ig.zeros((1000, 1000))
        large = ig.dynamic_update_slice(large, ig.ones((900, 900)), ig.asarray(3), ig.asarray(5))
        assert ig.sum(large).item() == 900 * 900 and large[3, 5].item() == 1 and large[2, 5].item() == 0
        print(kernels())
    """
    assert run(program, tmp_path) == "0\n"
