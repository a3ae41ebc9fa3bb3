"""Convolutions, folds of windows and products whose own kernels are not at hand run by other ops' kernels: with the
bits of the op's definition, and nothing compiled. Each program is a process, where first calls go op by op."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

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


def run(program: str, folder: Path) -> str:
    environment = {
        **os.environ,
        "INTAGLIO_OP_BY_OP": "1",
        "INTAGLIO_CACHE": "1",
        "INTAGLIO_CACHE_DIR": str(folder / "cache"),
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
