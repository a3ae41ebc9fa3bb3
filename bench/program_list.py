"""The programs of bench/programs.py: what people write in array code, each a few lines that two systems run alike.

A program gets `m`, the namespace of a system (`bench/program_worker.py` says what is in it: `m.xp` is the array API),
and its arrays. They are of many kinds on purpose, and no larger than such programs usually are: what is measured is
whether any of them is slow, not how fast the best one is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], np.ndarray]


def normal(*shape: int) -> Make:
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


def double(*shape: int) -> Make:
    return lambda rng: rng.standard_normal(shape)


def uniform(*shape: int) -> Make:
    return lambda rng: rng.uniform(0.1, 1.0, shape).astype(np.float32)


def whole(top: int, *shape: int) -> Make:
    return lambda rng: rng.integers(0, top, shape).astype(np.int32)


def positive(size: int) -> Make:
    """A symmetric positive definite matrix."""

    def make(rng: np.random.Generator) -> np.ndarray:
        a = rng.standard_normal((size, size))
        return (a @ a.T / size + np.eye(size)).astype(np.float32)

    return make


@dataclass(frozen=True)
class Program:
    name: str
    run: Callable[..., Any]  # (m, *arrays) to an array or a tuple of arrays
    make: tuple[Make, ...]


PROGRAMS: list[Program] = []


def program(*make: Make) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function, named as it is."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(function.__name__, function, make))
        return function

    return add


def lines(text: str, **make: Make) -> None:
    """Adds expressions, one a line: the name, a colon, and what to compute of the arrays that it names."""
    for line in text.strip().splitlines():
        name, _, expression = (part.strip() for part in line.partition(":"))
        names = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
        used = [key for key in make if key in names]
        run = eval(f"lambda m, {', '.join(used)}: {expression}")
        PROGRAMS.append(Program(name, run, tuple(make[key] for key in used)))


# ---- one expression each -------------------------------------------------------------------------------------
lines(
    """
    polynomial: ((x * 0.3 + 0.1) * x - 0.7) * x + 1.0
    hypot: m.xp.hypot(x, y)
    atan2: m.xp.atan2(x, y)
    logaddexp: m.xp.logaddexp(x, y)
    log1p_exp: m.xp.log1p(m.xp.exp(-m.xp.abs(x))) + m.xp.maximum(x, 0.0)
    power_1_7: m.xp.abs(x) ** 1.7
    power_1_5: m.xp.abs(x) ** 1.5
    tanh: m.xp.tanh(x)
    tanh_f64: m.xp.tanh(d)
    exp_f64: m.xp.exp(d)
    sin_cos: m.xp.sin(x) * m.xp.cos(y)
    sigmoid: 1.0 / (1.0 + m.xp.exp(-x))
    erf: m.erf(x)
    clip_round: m.xp.clip(m.xp.round(x * 10.0), -20.0, 20.0)
    where_nan: m.xp.where(m.xp.isnan(x), 0.0, x)
    mean_std_columns: (x - m.xp.mean(x, axis=0)) / m.xp.std(x, axis=0)
    mean_std_rows: (x - m.xp.mean(x, axis=1, keepdims=True)) / m.xp.std(x, axis=1, keepdims=True)
    min_max_scale: (x - m.xp.min(x, axis=0)) / (m.xp.max(x, axis=0) - m.xp.min(x, axis=0))
    norm_rows: x / m.xp.sqrt(m.xp.sum(x * x, axis=1, keepdims=True))
    cosine_similarity: m.xp.sum(x * y, axis=1) / m.xp.sqrt(m.xp.sum(x * x, axis=1) * m.xp.sum(y * y, axis=1))
    logsumexp_rows: m.logsumexp(x, 1)
    logsumexp_columns: m.logsumexp(x, 0)
    softmax_rows: m.softmax(x, 1)
    softmax_columns: m.softmax(x, 0)
    variance_all: m.xp.var(x)
    argmax_rows: m.xp.argmax(x, axis=1)
    argmax_columns: m.xp.argmax(x, axis=0)
    any_all: m.xp.any(x > 3.0, axis=1) & m.xp.all(y > -3.0, axis=1)
    count_positive: m.xp.sum((x > 0).astype(m.xp.int32), axis=0)
    cumulative_sum_rows: m.xp.cumulative_sum(x, axis=1)
    cumulative_sum_columns: m.xp.cumulative_sum(x, axis=0)
    cumulative_prod: m.xp.cumulative_prod(1.0 + 0.001 * x, axis=1)
    diff_rows: m.xp.diff(x, axis=1)
    roll_sum: x + m.xp.roll(x, 1, axis=0) + m.xp.roll(x, -1, axis=1)
    flip_both: m.xp.flip(x) - x
    transpose_scale: x.T * 2.0 + 1.0
    symmetric: s + s.T
    outer_difference: v[:, None] - v[None, :]
    every_second: x[::2, ::2] + x[1::2, 1::2]
    every_third: v3[::3] + v3[1::3] * v3[2::3]
    interleave: m.xp.reshape(m.xp.stack([x, y], axis=-1), (x.shape[0], -1))
    concat_rows: m.xp.concat([x, y, x + y], axis=1)
    pad_edges: m.xp.pad(x, ((1, 1), (2, 2)))
    repeat_rows: m.xp.repeat(x, 3, axis=0)
    tile_columns: m.xp.tile(x, (1, 3))
    tril_sum: m.xp.sum(m.xp.tril(s), axis=1)
    take_rows: m.xp.take(x, k, axis=0)
    take_columns: m.xp.take(x, l, axis=1)
    take_along: m.xp.take_along_axis(x, j, axis=1)
    one_hot: m.one_hot(k, 1000)
    sort_rows: m.xp.sort(x, axis=1)
    sort_columns: m.xp.sort(x, axis=0)
    argsort_rows: m.xp.argsort(x, axis=1)
    median_rows: m.xp.median(x, axis=1)
    quantile_rows: m.xp.quantile(x, 0.9, axis=1)
    searchsorted: m.xp.searchsorted(m.xp.sort(v), v2)
    interpolate: m.xp.interp(v2, m.xp.sort(v), v)
    matvec: s @ v
    vecmat: v @ s
    matmul_square: s @ s
    gram: x @ x.T
    normal_equations: x.T @ x
    batched_matvec: m.xp.einsum("bij,bj->bi", c, e)
    batched_matmul: m.xp.matmul(c, c)
    bilinear_form: m.xp.einsum("bi,ij,bj->b", e, g, e)
    outer_batch: m.xp.einsum("bi,bj->bij", e, e)
    trace_of_product: m.xp.einsum("ij,ji->", s, s)
    tensordot: m.xp.tensordot(c, g, axes=([2], [0]))
    kron_small: m.xp.kron(g, g[:8, :8])
    pairwise_distance: m.xp.sqrt(m.xp.sum((p[:, None, :] - p[None, :, :]) ** 2, axis=-1) + 1e-6)
    pairwise_by_product: m.xp.sum(x * x, axis=1)[:, None] + m.xp.sum(y * y, axis=1)[None, :] - 2.0 * (x @ y.T)
    rbf_kernel: m.xp.exp(-0.5 * m.xp.sum((p[:, None, :] - p[None, :, :]) ** 2, axis=-1))
    laplacian: h[:-2, 1:-1] + h[2:, 1:-1] + h[1:-1, :-2] + h[1:-1, 2:] - 4.0 * h[1:-1, 1:-1]
    box_blur: sum(h[a : a + 1022, b : b + 1022] for a in range(3) for b in range(3)) / 9.0
    luminance: 0.2126 * i[..., 0] + 0.7152 * i[..., 1] + 0.0722 * i[..., 2]
    normalize_image: (i - m.xp.mean(i, axis=(0, 1))) / m.xp.std(i, axis=(0, 1))
    channels_first: m.xp.permute_dims(i, (2, 0, 1)) * (1.0 / 255.0)
    average_pool: m.xp.mean(m.xp.reshape(h, (512, 2, 512, 2)), axis=(1, 3))
    histogram: m.xp.histogram(v2, bins=64, range=(-4.0, 4.0))[0]
    bincount: m.xp.bincount(n, length=1000)
    segment_sum: m.segment_sum(v2, n, 1000)
    scatter_add: m.xp.zeros(1000, dtype=m.xp.float32).at[n].add(v2)
    update_rows: x.at[k].set(y)
    update_window: x.at[10:20, 5:50].add(1.0)
    integer_hash: (n * 1103515245 + 12345) // 65536 % 32768
    popcount: m.xp.sum(m.xp.bitwise_xor(n, n >> 1) & 1)
    fft_power: m.xp.abs(m.xp.fft.rfft(x, axis=1)) ** 2
    cholesky: m.xp.linalg.cholesky(q)
    solve: m.xp.linalg.solve(q, v4)
    inverse: m.xp.linalg.inv(q)
    determinant: m.xp.linalg.slogdet(q)[1]
    small_solves: m.xp.linalg.solve(c[:, :4, :4] + 4.0 * m.xp.eye(4), e[:, :4, None])
    complex_rotation: m.xp.real((x + 1j * y) * m.xp.exp(1j * x))
    """,
    x=normal(1000, 1024),
    y=normal(1000, 1024),
    d=double(500, 512),
    v=normal(1000),
    v2=normal(100_000),
    v3=normal(300_000),
    v4=normal(200),
    s=normal(1000, 1000),
    k=whole(1000, 1000),
    l=whole(1024, 1024),
    j=whole(1024, 1000, 64),
    n=whole(1000, 100_000),
    c=normal(256, 32, 32),
    e=normal(256, 32),
    g=normal(32, 32),
    p=normal(500, 3),
    h=normal(1024, 1024),
    i=uniform(512, 512, 3),
    q=positive(200),
)


# ---- losses and their gradients ------------------------------------------------------------------------------
@program(normal(64, 10), whole(10, 64))
def cross_entropy_small(m: Any, x: Any, t: Any) -> Any:
    return m.grad(lambda x: -m.xp.mean(m.xp.take_along_axis(m.log_softmax(x, 1), t[:, None], axis=1)))(x)


@program(normal(512, 1000), whole(1000, 512))
def cross_entropy_gradient(m: Any, x: Any, t: Any) -> Any:
    return m.grad(lambda x: -m.xp.mean(m.xp.take_along_axis(m.log_softmax(x, 1), t[:, None], axis=1)))(x)


@program(normal(2000, 50), normal(50), whole(2, 2000))
def logistic_gradient(m: Any, x: Any, w: Any, t: Any) -> Any:
    def loss(w: Any) -> Any:
        z = x @ w
        return m.xp.mean(m.xp.maximum(z, 0.0) - z * t.astype(m.xp.float32) + m.xp.log1p(m.xp.exp(-m.xp.abs(z))))

    return m.grad(loss)(w)


@program(normal(256, 512), normal(512), normal(512))
def layer_norm_gradient(m: Any, x: Any, w: Any, b: Any) -> Any:
    def loss(x: Any, w: Any, b: Any) -> Any:
        centred = x - m.xp.mean(x, axis=-1, keepdims=True)
        scaled = centred / m.xp.sqrt(m.xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)
        return m.xp.sum(m.xp.tanh(scaled * w + b))

    return m.grad(loss, (0, 1, 2))(x, w, b)


@program(normal(1000, 256), normal(256), normal(256))
def batch_norm_gradient(m: Any, x: Any, w: Any, b: Any) -> Any:
    def loss(x: Any, w: Any, b: Any) -> Any:
        centred = x - m.xp.mean(x, axis=0)
        scaled = centred / m.xp.sqrt(m.xp.mean(centred * centred, axis=0) + 1e-5)
        return m.xp.sum(m.xp.tanh(scaled * w + b))

    return m.grad(loss, (0, 1, 2))(x, w, b)


@program(normal(8, 64, 64), normal(64, 64), normal(64, 64), normal(64, 64))
def attention_gradient(m: Any, x: Any, wq: Any, wk: Any, wv: Any) -> Any:
    def loss(wq: Any, wk: Any, wv: Any) -> Any:
        q, k, v = x @ wq * 0.1, x @ wk * 0.1, x @ wv
        scores = m.xp.matmul(q, m.xp.permute_dims(k, (0, 2, 1))) * 0.125
        return m.xp.mean(m.xp.matmul(m.softmax(scores, -1), v) ** 2)

    return m.grad(loss, (0, 1, 2))(wq, wk, wv)


@program(whole(5000, 256, 20), normal(5000, 64))
def embedding_gradient(m: Any, t: Any, table: Any) -> Any:
    return m.grad(lambda table: m.xp.sum(m.xp.mean(m.xp.take(table, t, axis=0), axis=1) ** 2))(table)


@program(normal(64, 32), normal(32, 64), normal(64, 1), normal(64, 1))
def mlp_gradient(m: Any, x: Any, a: Any, b: Any, y: Any) -> Any:
    return m.grad(lambda a, b: m.xp.mean((m.xp.tanh(x @ a) @ b - y) ** 2), (0, 1))(a, b)


@program(normal(20))
def rosenbrock_hessian(m: Any, x: Any) -> Any:
    def f(x: Any) -> Any:
        return m.xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return m.hessian(f)(x)


@program(normal(1000, 8), normal(8, 16), normal(16))
def per_example_gradients(m: Any, x: Any, a: Any, b: Any) -> Any:
    def loss(a: Any, x: Any) -> Any:
        return m.xp.sum(m.xp.tanh(x @ a) * b)

    return m.vmap(m.grad(loss), in_axes=(None, 0))(a, x)


@program(*(normal(256, 256) for _ in range(4)))
def adam_update(m: Any, p: Any, g: Any, mean: Any, square: Any) -> Any:
    mean = 0.9 * mean + 0.1 * g
    square = 0.999 * m.xp.abs(square) + 0.001 * g * g
    return p - 1e-3 * (mean / 0.1) / (m.xp.sqrt(square / 0.001) + 1e-8), mean, square


# ---- loops ---------------------------------------------------------------------------------------------------
@program(normal(100, 16, 64), normal(64, 64), normal(64, 64))
def rnn(m: Any, xs: Any, w: Any, u: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = m.xp.tanh(x @ w * 0.1 + h @ u * 0.1)
        return h, h

    return m.scan(step, m.xp.zeros((16, 64), dtype=m.xp.float32), xs)


@program(normal(50, 8, 32), normal(32, 96), normal(32, 96))
def gru(m: Any, xs: Any, w: Any, u: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        a, b = x @ w * 0.1, h @ u * 0.1
        r, z = m.sigmoid(a[:, :32] + b[:, :32]), m.sigmoid(a[:, 32:64] + b[:, 32:64])
        h = (1.0 - z) * m.xp.tanh(a[:, 64:] + r * b[:, 64:]) + z * h
        return h, h

    return m.scan(step, m.xp.zeros((8, 32), dtype=m.xp.float32), xs)


@program(normal(100, 16, 64), normal(64, 64), normal(64, 64))
def rnn_gradient(m: Any, xs: Any, w: Any, u: Any) -> Any:
    def loss(w: Any, u: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = m.xp.tanh(x @ w * 0.1 + h @ u * 0.1)
            return h, m.xp.sum(h)

        return m.xp.mean(m.scan(step, m.xp.zeros((16, 64), dtype=m.xp.float32), xs)[1])

    return m.grad(loss, (0, 1))(w, u)


@program(positive(300), normal(300))
def power_iteration(m: Any, a: Any, v: Any) -> Any:
    def step(i: Any, v: Any) -> Any:
        v = a @ v
        return v / m.xp.sqrt(m.xp.sum(v * v))

    return m.fori_loop(0, 50, step, v)


@program(positive(200), normal(200))
def conjugate_gradients(m: Any, a: Any, b: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        x, r, p, rr = state
        ap = a @ p
        alpha = rr / m.xp.sum(p * ap)
        x, r = x + alpha * p, r - alpha * ap
        new = m.xp.sum(r * r)
        return x, r, r + (new / rr) * p, new

    return m.fori_loop(0, 15, step, (b * 0.0, b, b, m.xp.sum(b * b)))[0]


@program(uniform(256, 256))
def sinkhorn(m: Any, cost: Any) -> Any:
    kernel = m.xp.exp(-cost / 0.1)

    def step(i: Any, state: Any) -> Any:
        u, v = state
        u = 1.0 / (kernel @ v)
        return u, 1.0 / (kernel.T @ u)

    one = m.xp.ones(256, dtype=m.xp.float32)
    return m.fori_loop(0, 20, step, (one, one))


@program(normal(2000, 50), whole(2, 2000))
def logistic_regression(m: Any, x: Any, t: Any) -> Any:
    def loss(w: Any) -> Any:
        z = x @ w
        return m.xp.mean(m.xp.maximum(z, 0.0) - z * t.astype(m.xp.float32) + m.xp.log1p(m.xp.exp(-m.xp.abs(z))))

    return m.fori_loop(0, 50, lambda i, w: w - 0.5 * m.grad(loss)(w), m.xp.zeros(50, dtype=m.xp.float32))


@program(normal(2000, 2), normal(8, 2))
def kmeans(m: Any, x: Any, centres: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        nearest = m.xp.argmin(m.xp.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=-1), axis=1)
        member = m.one_hot(nearest, 8)
        return (member.T @ x) / m.xp.maximum(m.xp.sum(member, axis=0), 1.0)[:, None]

    return m.fori_loop(0, 10, step, centres)


@program(normal(64, 3), normal(64, 3))
def nbody(m: Any, x: Any, v: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        x, v = state
        d = x[None, :, :] - x[:, None, :]
        r2 = m.xp.sum(d * d, axis=-1) + 0.01
        v = v + 0.001 * m.xp.sum(d / (r2**1.5)[:, :, None], axis=1)
        return x + 0.001 * v, v

    return m.fori_loop(0, 10, step, (x, v))


@program(uniform(256, 256))
def heat(m: Any, u: Any) -> Any:
    def step(i: Any, u: Any) -> Any:
        inner = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner
        return u.at[1:-1, 1:-1].set(inner + 0.2 * around)

    return m.fori_loop(0, 50, step, u)


@program(whole(2, 256, 256))
def life(m: Any, u: Any) -> Any:
    def step(i: Any, u: Any) -> Any:
        rows = m.xp.roll(u, 1, axis=0) + u + m.xp.roll(u, -1, axis=0)
        near = m.xp.roll(rows, 1, axis=1) + rows + m.xp.roll(rows, -1, axis=1) - u
        return ((near == 3) | ((u == 1) & (near == 2))).astype(m.xp.int32)

    return m.fori_loop(0, 20, step, u)


@program(uniform(300), uniform(300))
def mandelbrot(m: Any, re: Any, im: Any) -> Any:
    a, b = (re * 3.0 - 2.0)[None, :], (im * 2.0 - 1.0)[:, None]

    def step(i: Any, state: Any) -> Any:
        x, y, count = state
        inside = x * x + y * y < 4.0
        new = m.xp.where(inside, x * x - y * y + a, x), m.xp.where(inside, 2.0 * x * y + b, y)
        return *new, count + inside.astype(m.xp.int32)

    zero = a * b * 0.0
    return m.fori_loop(0, 30, step, (zero, zero, zero.astype(m.xp.int32)))[2]


@program(normal(10_000))
def newton_until(m: Any, x: Any) -> Any:
    a = m.xp.abs(x) + 1.0

    def going(state: Any) -> Any:
        return (state[2] < 50) & (state[1] > 1e-5)

    def step(state: Any) -> Any:
        new = 0.5 * (state[0] + a / state[0])
        return new, m.xp.max(m.xp.abs(new - state[0]) / new), state[2] + 1

    return m.while_loop(going, step, (a, m.xp.max(a), m.xp.asarray(0, dtype=m.xp.int32)))[0]


@program(uniform(3))
def runge_kutta(m: Any, y: Any) -> Any:
    def f(y: Any) -> Any:
        return m.xp.stack([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 2.6667 * y[2]])

    def step(y: Any, _: Any) -> Any:
        k1 = f(y)
        k2 = f(y + 0.0005 * k1)
        k3 = f(y + 0.0005 * k2)
        k4 = f(y + 0.001 * k3)
        y = y + (0.001 / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return y, y

    return m.scan(step, y, m.xp.zeros(1000, dtype=m.xp.float32))[1]


@program(uniform(200, 20), uniform(20, 20), uniform(20))
def viterbi(m: Any, emission: Any, transition: Any, start: Any) -> Any:
    def step(score: Any, e: Any) -> Any:
        through = score[:, None] + transition
        return m.xp.max(through, axis=0) + e, m.xp.argmax(through, axis=0).astype(m.xp.int32)

    return m.scan(step, start, emission)


@program(normal(1000, 4))
def kalman(m: Any, zs: Any) -> Any:
    eye = m.xp.eye(4, dtype=m.xp.float32)

    def step(state: Any, z: Any) -> Any:
        x, p = state
        p = p + 0.01 * eye
        gain = p / (p + 0.1)
        x = x + m.xp.diagonal(gain) * (z - x)
        return (x, (eye - gain) @ p), x

    return m.scan(step, (zs[0], eye), zs)[1]


@program(normal(10_000))
def moving_average(m: Any, x: Any) -> Any:
    def step(s: Any, v: Any) -> Any:
        s = 0.9 * s + 0.1 * v
        return s, s

    return m.scan(step, m.xp.zeros((), dtype=m.xp.float32), x)[1]


@program(normal(1000))
def insertion(m: Any, x: Any) -> Any:
    """Running maxima, written one element at a time."""

    def step(i: Any, out: Any) -> Any:
        return out.at[i].set(m.xp.maximum(out[i], out[i - 1]))

    return m.fori_loop(1, 1000, step, x)


@program(uniform(10_000))
def sieve(m: Any, x: Any) -> Any:
    size = x.shape[0]
    place = m.xp.arange(size)

    def step(i: Any, prime: Any) -> Any:
        return prime & ~((place % i == 0) & (place > i))

    return m.fori_loop(2, 100, step, place > 1)


@program(normal(10_000, 3), uniform(10_000, 3))
def vmap_norms(m: Any, x: Any, y: Any) -> Any:
    def one(a: Any, b: Any) -> Any:
        c = m.xp.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
        return m.xp.sqrt(m.xp.sum(c * c) + 1e-6) / (m.xp.sum(a * b) ** 2 + 1.0)

    return m.vmap(one)(x, y)


@program(uniform(2000))
def vmap_bisection(m: Any, target: Any) -> Any:
    def one(t: Any) -> Any:
        def step(i: Any, ends: Any) -> Any:
            low, high = ends
            middle = 0.5 * (low + high)
            above = middle**3 + middle > t
            return m.xp.where(above, low, middle), m.xp.where(above, middle, high)

        return m.fori_loop(0, 30, step, (t * 0.0, t * 0.0 + 1.0))[0]

    return m.vmap(one)(target)


@program(normal(32, 3, 64, 64), normal(16, 3, 3, 3))
def convolution(m: Any, x: Any, w: Any) -> Any:
    return m.xp.maximum(m.conv(x, w), 0.0)


@program(normal(500, 500))
def lu_solve_loop(m: Any, a: Any) -> Any:
    """Jacobi's method on a matrix that is diagonally dominant."""
    b, d = a[:, 0], 600.0
    return m.fori_loop(0, 30, lambda i, x: (b - a @ x) / d, b * 0.0)


# ---- points, boxes, small matrices ---------------------------------------------------------------------------
lines(
    """
    softmax_classes: m.softmax(a, 1)
    log_softmax_classes: m.log_softmax(a, 1)
    argmax_classes: m.xp.argmax(a, axis=1)
    sum_classes: m.xp.sum(a, axis=1)
    normalize_points: p / m.xp.sqrt(m.xp.sum(p * p, axis=1, keepdims=True))
    rotate_points: p @ r
    centre_points: p - m.xp.mean(p, axis=0)
    bounding_box: m.xp.max(p, axis=0) - m.xp.min(p, axis=0)
    small_matmul: m.xp.matmul(t, t)
    small_transform: m.xp.einsum("nij,nj->ni", t, p)
    small_determinant: m.xp.linalg.det(t)
    small_inverse: m.xp.linalg.inv(t + 3.0 * m.xp.eye(3, dtype=m.xp.float32))
    trace_batch: m.xp.einsum("nii->n", t)
    complex_magnitude: m.xp.sqrt(q[:, 0] ** 2 + q[:, 1] ** 2)
    """,
    a=normal(10_000, 10),
    p=normal(50_000, 3),
    q=normal(50_000, 2),
    r=normal(3, 3),
    t=normal(50_000, 3, 3),
)


@program(normal(20_000, 4), normal(20_000, 4))
def quaternion_product(m: Any, a: Any, b: Any) -> Any:
    aw, ax, ay, az = (a[:, i] for i in range(4))
    bw, bx, by, bz = (b[:, i] for i in range(4))
    return m.xp.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


@program(uniform(400, 4), uniform(300, 4))
def box_overlap(m: Any, a: Any, b: Any) -> Any:
    """Intersection over union of all pairs of boxes (two corners each)."""
    low, high = m.xp.minimum(a[:, :2], a[:, 2:]), m.xp.maximum(a[:, :2], a[:, 2:])
    low2, high2 = m.xp.minimum(b[:, :2], b[:, 2:]), m.xp.maximum(b[:, :2], b[:, 2:])
    top = m.xp.minimum(high[:, None, :], high2[None, :, :])
    both = m.xp.prod(m.xp.clip(top - m.xp.maximum(low[:, None, :], low2[None, :, :]), 0.0, None), axis=-1)
    area, area2 = m.xp.prod(high - low, axis=-1), m.xp.prod(high2 - low2, axis=-1)
    return both / (area[:, None] + area2[None, :] - both)


@program(normal(20_000, 3), normal(20_000, 3))
def ray_sphere(m: Any, origin: Any, way: Any) -> Any:
    way = way / m.xp.sqrt(m.xp.sum(way * way, axis=1, keepdims=True))
    b = m.xp.sum(origin * way, axis=1)
    inside = b * b - m.xp.sum(origin * origin, axis=1) + 4.0
    distance = -b - m.xp.sqrt(m.xp.maximum(inside, 0.0))
    hit = origin + distance[:, None] * way
    return m.xp.where((inside > 0.0)[:, None], hit * 0.5, 0.0)


# ---- layers and signals --------------------------------------------------------------------------------------
@program(normal(8, 32, 32, 32), normal(32), normal(32))
def group_norm(m: Any, x: Any, w: Any, b: Any) -> Any:
    g = m.xp.reshape(x, (8, 8, 4, 32, 32))
    mean = m.xp.mean(g, axis=(2, 3, 4), keepdims=True)
    spread = m.xp.mean((g - mean) ** 2, axis=(2, 3, 4), keepdims=True)
    g = m.xp.reshape((g - mean) / m.xp.sqrt(spread + 1e-5), (8, 32, 32, 32))
    return g * w[:, None, None] + b[:, None, None]


@program(normal(8, 32, 32, 32))
def batch_norm_images(m: Any, x: Any) -> Any:
    mean = m.xp.mean(x, axis=(0, 2, 3), keepdims=True)
    spread = m.xp.mean((x - mean) ** 2, axis=(0, 2, 3), keepdims=True)
    return m.xp.maximum((x - mean) / m.xp.sqrt(spread + 1e-5), 0.0)


@program(normal(512, 512), uniform(512))
def rms_norm(m: Any, x: Any, w: Any) -> Any:
    return x / m.xp.sqrt(m.xp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * w


@program(normal(8, 128, 64), normal(128, 32), normal(128, 32))
def rotary(m: Any, x: Any, c: Any, s: Any) -> Any:
    even, odd = x[..., 0::2], x[..., 1::2]
    return m.xp.reshape(m.xp.stack([even * c - odd * s, even * s + odd * c], axis=-1), x.shape)


@program(normal(16, 128, 128))
def causal_softmax(m: Any, x: Any) -> Any:
    place = m.xp.arange(128)
    return m.softmax(m.xp.where(place[:, None] >= place[None, :], x, -1e30), -1)


@program(normal(256, 1024), normal(256, 1024))
def swiglu(m: Any, a: Any, b: Any) -> Any:
    return a * m.sigmoid(a) * b


@program(normal(64, 64, 32))
def upsample_nearest(m: Any, x: Any) -> Any:
    return m.xp.repeat(m.xp.repeat(x, 2, axis=0), 2, axis=1)


@program(normal(256, 256))
def upsample_bilinear(m: Any, x: Any) -> Any:
    rows = m.xp.reshape(m.xp.stack([x[:-1], 0.5 * (x[:-1] + x[1:])], axis=1), (510, 256))
    return m.xp.reshape(m.xp.stack([rows[:, :-1], 0.5 * (rows[:, :-1] + rows[:, 1:])], axis=2), (510, 510))


@program(normal(100_000), normal(16))
def fir_filter(m: Any, x: Any, taps: Any) -> Any:
    return sum(taps[i] * x[i : x.shape[0] - 15 + i] for i in range(16))


@program(normal(4096))
def autocorrelation(m: Any, x: Any) -> Any:
    return m.xp.stack([m.xp.sum(x[: 4096 - i] * x[i:]) for i in range(20)])


@program(normal(2000, 64))
def covariance(m: Any, x: Any) -> Any:
    centred = x - m.xp.mean(x, axis=0)
    return centred.T @ centred / (x.shape[0] - 1)


@program(normal(1000, 50))
def standardize_and_clip(m: Any, x: Any) -> Any:
    z = (x - m.xp.mean(x, axis=0)) / (m.xp.std(x, axis=0) + 1e-6)
    return m.xp.clip(z, -3.0, 3.0)


@program(normal(1000), normal(1000), uniform(1000))
def black_scholes(m: Any, s: Any, k: Any, t: Any) -> Any:
    s, k = m.xp.abs(s) + 1.0, m.xp.abs(k) + 1.0
    root = 0.2 * m.xp.sqrt(t)
    d1 = (m.xp.log(s / k) + 0.03 * t) / root
    normal_cdf = lambda z: 0.5 * (1.0 + m.erf(z * 0.70710678))  # noqa: E731
    return s * normal_cdf(d1) - k * m.xp.exp(-0.01 * t) * normal_cdf(d1 - root)


@program(normal(100_000))
def running_maximum(m: Any, x: Any) -> Any:
    def step(top: Any, v: Any) -> Any:
        top = m.xp.maximum(top, v)
        return top, top

    return m.scan(step, x[0], x)[1]


@program(whole(26, 100), whole(26, 100))
def edit_distance(m: Any, a: Any, b: Any) -> Any:
    n = b.shape[0]

    def row(i: Any, above: Any) -> Any:
        def cell(j: Any, line: Any) -> Any:
            change = above[j] + (a[i] != b[j]).astype(m.xp.int32)
            return line.at[j + 1].set(m.xp.minimum(m.xp.minimum(above[j + 1] + 1, line[j] + 1), change))

        return m.fori_loop(0, n, cell, m.xp.zeros(n + 1, dtype=m.xp.int32).at[0].set(i.astype(m.xp.int32) + 1))

    return m.fori_loop(0, a.shape[0], row, m.xp.arange(n + 1).astype(m.xp.int32))


@program(normal(64))
def bubble_sort(m: Any, x: Any) -> Any:
    def swap(j: Any, v: Any) -> Any:
        low, high = m.xp.minimum(v[j], v[j + 1]), m.xp.maximum(v[j], v[j + 1])
        return v.at[j].set(low).at[j + 1].set(high)

    return m.fori_loop(0, 63, lambda i, v: m.fori_loop(0, 63 - i, swap, v), x)


@program(normal(512, 8, 64), normal(100, 8, 64))
def fill_cache(m: Any, cache: Any, xs: Any) -> Any:
    return m.fori_loop(0, 100, lambda i, c: c.at[i].set(xs[i]), cache)


@program(uniform(2000, 10), normal(10))
def momentum_descent(m: Any, x: Any, target: Any) -> Any:
    y = x @ target

    def step(i: Any, state: Any) -> Any:
        w, speed = state
        speed = 0.9 * speed - 0.01 * (x.T @ (x @ w - y)) / 2000.0
        return w + speed, speed

    return m.fori_loop(0, 100, step, (target * 0.0, target * 0.0))[0]


# ---- other types, and batches of matrices --------------------------------------------------------------------
def bytes_of(*shape: int) -> Make:
    return lambda rng: rng.integers(0, 256, shape).astype(np.uint8)


def long(top: int, *shape: int) -> Make:
    return lambda rng: rng.integers(0, top, shape)


def positives(count: int, size: int) -> Make:
    def make(rng: np.random.Generator) -> np.ndarray:
        a = rng.standard_normal((count, size, size))
        return (a @ a.transpose(0, 2, 1) / size + np.eye(size)).astype(np.float32)

    return make


lines(
    """
    image_to_float: i.astype(m.xp.float32) / 255.0
    image_threshold: m.xp.where(i > 128, i, 0)
    image_flip: i[:, ::-1]
    image_grey: m.xp.mean(i.astype(m.xp.float32), axis=2)
    image_difference: m.xp.sum(m.xp.abs(i[1:].astype(m.xp.int32) - i[:-1].astype(m.xp.int32)))
    float64_normalize: (d - m.xp.mean(d, axis=0)) / m.xp.std(d, axis=0)
    float64_softmax: m.softmax(d, 1)
    float64_matmul: d @ d.T
    float64_log: m.xp.log(m.xp.abs(d) + 1.0)
    float64_power: m.xp.abs(d) ** 0.3
    int64_sum: m.xp.sum(l, axis=0)
    int64_divide: l // 7 + l % 5
    int64_sort: m.xp.sort(l, axis=1)
    int64_unique_flags: m.xp.concat([m.xp.ones((500, 1), dtype=m.xp.bool), l[:, 1:] != l[:, :-1]], axis=1)
    boolean_logic: (b > 0.0) & ((b < 1.0) | (b > 2.0))
    boolean_count: m.xp.sum(((b > 0.0) & (b < 1.0)).astype(m.xp.int32))
    half_multiply_add: (h * 2.0 + 1.0) * h
    half_softmax: m.softmax(h, 1)
    cholesky_8: m.xp.linalg.cholesky(p)
    inverse_8: m.xp.linalg.inv(p)
    determinant_8: m.xp.linalg.det(p)
    solve_8: m.xp.linalg.solve(p, r)
    eigen_8: m.xp.linalg.eigvalsh(p)
    qr_8: m.xp.abs(m.xp.linalg.qr(p)[1])
    cholesky_32: m.xp.linalg.cholesky(q)
    matmul_8: m.xp.matmul(p, p)
    matmul_transposed_32: m.xp.matmul(q, m.xp.permute_dims(q, (0, 2, 1)))
    fft_1024: m.xp.abs(m.xp.fft.fft(f, axis=1))
    fft_1000: m.xp.abs(m.xp.fft.fft(f[:, :1000], axis=1))
    fft_image: m.xp.abs(m.xp.fft.fft2(f[:256, :256]))
    einsum_three: m.xp.einsum("ij,jk,kl->il", f, f.T, f)
    einsum_attention: m.xp.einsum("bqd,bkd->bqk", a, a)
    einsum_weights: m.xp.einsum("bqk,bkd->bqd", m.softmax(m.xp.einsum("bqd,bkd->bqk", a, a) * 0.1, -1), a)
    einsum_outer_sum: m.xp.einsum("bi,bj->ij", f, f)
    """,
    i=bytes_of(480, 640, 3),
    d=double(500, 512),
    l=long(10_000, 500, 512),
    b=normal(1000, 1000),
    h=lambda rng: rng.standard_normal((500, 512)).astype(np.float16),
    p=positives(2000, 8),
    r=normal(2000, 8, 1),
    q=positives(200, 32),
    f=normal(300, 1024),
    a=normal(8, 128, 64),
)


# ---- more layers ---------------------------------------------------------------------------------------------
@program(normal(16, 16, 256), normal(32, 16, 5))
def convolution_1d(m: Any, x: Any, w: Any) -> Any:
    return m.conv(x, w)


@program(normal(8, 32, 32, 32), normal(32, 32, 3, 3))
def convolution_gradient(m: Any, x: Any, w: Any) -> Any:
    return m.grad(lambda w: m.xp.sum(m.xp.maximum(m.conv(x, w), 0.0) ** 2))(w)


@program(normal(16, 32, 32, 32))
def pool_by_reshape(m: Any, x: Any) -> Any:
    return m.xp.max(m.xp.reshape(x, (16, 32, 16, 2, 16, 2)), axis=(3, 5))


@program(normal(32, 100, 40), normal(32, 100))
def masked_mean(m: Any, x: Any, weight: Any) -> Any:
    keep = (weight > 0.0).astype(m.xp.float32)
    return m.xp.sum(x * keep[:, :, None], axis=1) / m.xp.maximum(m.xp.sum(keep, axis=1), 1.0)[:, None]


@program(normal(128, 1000))
def entropy(m: Any, x: Any) -> Any:
    logs = m.log_softmax(x, 1)
    return -m.xp.sum(m.xp.exp(logs) * logs, axis=1)


@program(normal(128, 512), normal(128, 512))
def contrastive_loss(m: Any, a: Any, b: Any) -> Any:
    a = a / m.xp.sqrt(m.xp.sum(a * a, axis=1, keepdims=True))
    b = b / m.xp.sqrt(m.xp.sum(b * b, axis=1, keepdims=True))
    return -m.xp.mean(m.xp.diagonal(m.log_softmax(a @ b.T / 0.07, 1)))


@program(normal(64, 128), normal(128, 512), normal(512, 128))
def feed_forward_gradient(m: Any, x: Any, a: Any, b: Any) -> Any:
    def loss(a: Any, b: Any) -> Any:
        y = x @ a * 0.1
        return m.xp.mean((x + (0.5 * y * (1.0 + m.erf(y * 0.70710678))) @ b * 0.05) ** 2)

    return m.grad(loss, (0, 1))(a, b)


@program(normal(50, 4), normal(4, 4))
def hessian_of_network(m: Any, x: Any, w: Any) -> Any:
    return m.hessian(lambda w: m.xp.mean(m.xp.tanh(x @ w) ** 2))(w)


@program(normal(200, 100), normal(100))
def lasso_by_proximal_steps(m: Any, x: Any, target: Any) -> Any:
    y = x @ target

    def step(i: Any, w: Any) -> Any:
        w = w - 0.001 * (x.T @ (x @ w - y))
        return m.xp.sign(w) * m.xp.maximum(m.xp.abs(w) - 0.0005, 0.0)

    return m.fori_loop(0, 60, step, target * 0.0)


@program(uniform(64, 64))
def page_rank(m: Any, links: Any) -> Any:
    links = links / m.xp.sum(links, axis=0)
    return m.fori_loop(0, 40, lambda i, r: 0.15 / 64 + 0.85 * (links @ r), m.xp.ones(64, dtype=m.xp.float32) / 64)


@program(uniform(60, 60))
def floyd_warshall(m: Any, d: Any) -> Any:
    return m.fori_loop(0, 60, lambda k, d: m.xp.minimum(d, d[:, k][:, None] + d[k][None, :]), d)


@program(normal(2000))
def fixed_random_walk(m: Any, x: Any) -> Any:
    def step(place: Any, dx: Any) -> Any:
        place = m.xp.clip(place + dx, -3.0, 3.0)
        return place, place

    return m.scan(step, x[0], x)[1]


@program(normal(512), normal(512))
def dynamic_time_warp(m: Any, a: Any, b: Any) -> Any:
    """By rows; a row is a scan over its cells."""
    b = b[:64]

    def row(above: Any, x: Any) -> Any:
        cost = m.xp.abs(b - x)

        def cell(left: Any, given: Any) -> Any:
            best = given[0] + m.xp.minimum(m.xp.minimum(left, given[1]), given[2])
            return best, best

        before = m.xp.concat([above[:1] + 1e3, above[:-1]])
        line = m.scan(cell, above[0] + 1e3, (cost, above, before))[1]
        return line, line[-1]

    return m.scan(row, m.xp.cumulative_sum(m.xp.abs(b - a[0])), a[:128])[1]


# ---- stencils, scatters, special functions -------------------------------------------------------------------
lines(
    """
    gradient_magnitude: m.xp.sqrt((x[1:-1, 2:] - x[1:-1, :-2]) ** 2 + (x[2:, 1:-1] - x[:-2, 1:-1]) ** 2)
    integral_image: m.xp.cumulative_sum(m.xp.cumulative_sum(x, axis=0), axis=1)
    total_variation: m.xp.sum(m.xp.abs(x[1:] - x[:-1])) + m.xp.sum(m.xp.abs(x[:, 1:] - x[:, :-1]))
    rotate_quarter: m.xp.flip(x.T, axis=0) + 0.0
    mirror_rows: x[:, ::-1] + x
    block_sums: m.xp.sum(m.xp.reshape(x, (125, 8, 128, 8)), axis=(1, 3))
    patches: m.xp.reshape(m.xp.permute_dims(m.xp.reshape(x, (125, 8, 128, 8)), (0, 2, 1, 3)), (16000, 64)) * 2.0
    checkerboard: m.xp.where((m.xp.arange(1000)[:, None] + m.xp.arange(1024)[None, :]) % 2 == 0, x, 0.0)
    distance_to_centre: m.xp.sqrt((r1[:, None] - 500.0) ** 2 + (r2[None, :] - 512.0) ** 2)
    scatter_max: m.xp.zeros(1000, dtype=m.xp.float32).at[k].max(w)
    scatter_rows: m.xp.zeros((1000, 64), dtype=m.xp.float32).at[r].add(t)
    gather_pairs: x[r, r]
    gather_then_sum: m.xp.sum(m.xp.take(t, r, axis=0), axis=0)
    nearest_index: m.xp.argmin(m.xp.abs(w[:1000, None] - w[None, :500]), axis=1)
    rank_of_each: m.xp.argsort(m.xp.argsort(w[:20000]))
    top_values: m.top_k(x, 10)[0]
    cumulative_maximum: m.cumulative_max(x, 1)
    gamma_log: m.lgamma(m.xp.abs(x) + 0.5)
    error_complement: m.erfc(x)
    bessel: m.i0e(x)
    sinc: m.xp.sinc(x)
    arctan: m.xp.atan(x)
    arcsin: m.xp.asin(m.xp.clip(x * 0.3, -1.0, 1.0))
    tangent: m.xp.tan(x)
    log2_exp2: m.xp.log2(m.xp.abs(x) + 1.0) + m.exp2(x)
    cube_root: m.cbrt(x)
    floor_mod: m.xp.remainder(x, 0.7)
    divide_round: m.xp.round(x / 0.3) * 0.3
    sign_copy: m.xp.copysign(m.xp.abs(x), x * -1.0)
    nan_mean: m.xp.nanmean(x, axis=1)
    standard_error: m.xp.std(x, axis=0, correction=1) / 31.6
    weighted_average: m.xp.sum(x * u[:, None], axis=0) / m.xp.sum(u)
    sum_of_outer: (u[:, None] * u[None, :]) @ u
    polynomial_features: m.xp.concat([t, t * t, t * t * t], axis=1)
    quadratic_form: m.xp.sum((t @ s) * t, axis=1)
    mahalanobis: m.xp.sqrt(m.xp.abs(m.xp.einsum("bi,ij,bj->b", t, s, t)))
    """,
    x=normal(1000, 1024),
    k=whole(1000, 50_000),
    w=normal(50_000),
    r=whole(1000, 5000),
    t=normal(5000, 64),
    u=uniform(1000),
    r1=uniform(1000),
    r2=uniform(1024),
    s=normal(64, 64),
)


@program(normal(64, 64, 64))
def laplacian_3d(m: Any, v: Any) -> Any:
    inner = (slice(1, -1),) * 3
    ends = (slice(2, None), slice(None, -2))
    return v[inner] * -6.0 + sum(v[(*inner[:axis], end, *inner[axis + 1 :])] for axis in range(3) for end in ends)


@program(normal(64, 64, 64))
def jacobian_of_rows(m: Any, x: Any) -> Any:
    return m.vmap(m.grad(lambda row: m.xp.sum(m.xp.tanh(row) ** 2)))(x[0])


@program(normal(40), normal(40, 40))
def jacobian(m: Any, x: Any, a: Any) -> Any:
    return m.jacrev(lambda x: m.xp.tanh(a @ x))(x)


@program(normal(16, 16), normal(100, 16))
def nested_vmap(m: Any, a: Any, x: Any) -> Any:
    kernel = lambda p, q: m.xp.exp(-0.5 * m.xp.sum((p - q) ** 2))  # noqa: E731
    return m.vmap(lambda p: m.vmap(lambda q: kernel(p, q))(x))(a)


@program(normal(128, 128), normal(128))
def log_determinant_gradient(m: Any, a: Any, v: Any) -> Any:
    def f(v: Any) -> Any:
        k = a @ a.T / 128.0 + m.xp.eye(128, dtype=m.xp.float32) * (1.0 + m.xp.sum(v * v))
        return m.xp.linalg.slogdet(k)[1]

    return m.grad(f)(v)


@program(normal(500, 2), normal(500))
def gaussian_process(m: Any, x: Any, y: Any) -> Any:
    apart = m.xp.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
    k = m.xp.exp(-apart) + 0.1 * m.xp.eye(500, dtype=m.xp.float32)
    return m.xp.linalg.solve(k, y[:, None])[:, 0]


@program(normal(200, 30), normal(200))
def least_squares(m: Any, x: Any, y: Any) -> Any:
    return m.xp.linalg.solve(x.T @ x, (x.T @ y)[:, None])[:, 0]


@program(normal(32, 10, 10))
def matrix_power_batch(m: Any, a: Any) -> Any:
    a = a * 0.2
    for _ in range(5):
        a = m.xp.matmul(a, a) * 0.5
    return a


@program(normal(1000, 8), normal(8, 8), normal(1000, 3))
def linear_state_space(m: Any, xs: Any, a: Any, u: Any) -> Any:
    a = a * 0.1

    def step(s: Any, given: Any) -> Any:
        s = a @ s + given
        return s, m.xp.sum(s)

    return m.scan(step, xs[0], xs)[1]


@program(normal(256), normal(256, 256))
def hopfield(m: Any, x: Any, w: Any) -> Any:
    w = w + w.T
    return m.fori_loop(0, 20, lambda i, s: m.xp.where(w @ s > 0.0, 1.0, -1.0).astype(m.xp.float32), m.xp.sign(x))


@program(uniform(128, 128), uniform(128, 128))
def gray_scott(m: Any, u: Any, v: Any) -> Any:
    def spread(a: Any) -> Any:
        return (
            m.xp.roll(a, 1, axis=0) + m.xp.roll(a, -1, axis=0) + m.xp.roll(a, 1, axis=1) + m.xp.roll(a, -1, axis=1)
        ) - 4.0 * a

    def step(i: Any, state: Any) -> Any:
        u, v = state
        both = u * v * v
        return u + 0.16 * spread(u) - both + 0.035 * (1.0 - u), v + 0.08 * spread(v) + both - 0.1 * v

    return m.fori_loop(0, 20, step, (u, v))


@program(normal(3, 200), normal(200, 3))
def damped_oscillators(m: Any, state: Any, k: Any) -> Any:
    def step(i: Any, s: Any) -> Any:
        x, speed = s
        speed = speed - 0.01 * (x * k[:, 0] + 0.1 * speed)
        return x + 0.01 * speed, speed

    return m.fori_loop(0, 1000, step, (state[0], state[1]))


@program(normal(300, 300))
def jacobi_sweeps(m: Any, b: Any) -> Any:
    def step(i: Any, u: Any) -> Any:
        padded = m.xp.pad(u, ((1, 1), (1, 1)))
        return 0.25 * (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - b)

    return m.fori_loop(0, 20, step, b * 0.0)


@program(whole(100, 1000))
def collatz(m: Any, n: Any) -> Any:
    def going(state: Any) -> Any:
        return m.xp.any(state[0] > 1) & (state[2] < 200)

    def step(state: Any) -> Any:
        n, count, turns = state
        more = n > 1
        n = m.xp.where(more, m.xp.where(n % 2 == 0, n // 2, 3 * n + 1), n)
        return n, count + more.astype(m.xp.int32), turns + 1

    return m.while_loop(going, step, (n, n * 0, m.xp.asarray(0, dtype=m.xp.int32)))[1]


@program(normal(50_000))
def monte_carlo_mean(m: Any, x: Any) -> Any:
    paths = m.xp.exp(0.01 * m.xp.cumulative_sum(m.xp.reshape(x, (500, 100)), axis=1))
    return m.xp.mean(m.xp.maximum(paths[:, -1] - 1.0, 0.0)), m.xp.max(paths, axis=1)
