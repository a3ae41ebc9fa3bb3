"""Losses and their gradients, layers, signals, models."""

from __future__ import annotations

from typing import Any

from . import normal, program, uniform, whole


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


@program(normal(50_000))
def monte_carlo_mean(m: Any, x: Any) -> Any:
    paths = m.xp.exp(0.01 * m.xp.cumulative_sum(m.xp.reshape(x, (500, 100)), axis=1))
    return m.xp.mean(m.xp.maximum(paths[:, -1] - 1.0, 0.0)), m.xp.max(paths, axis=1)
