"""What people compute in their fields: factors of larger matrices, text, images, physics, finance, statistics."""

from __future__ import annotations

from typing import Any

from . import bytes_of, double, lines, normal, positive, program, uniform, whole

lines(
    """
    cholesky_500: m.xp.linalg.cholesky(p)
    solve_500: m.xp.linalg.solve(a, b)
    inverse_300: m.xp.linalg.inv(a[:300, :300])
    qr_300: tuple(m.xp.linalg.qr(a[:300, :300]))
    triangle_300: m.xp.linalg.qr(a[:300, :300])[1]
    triangular_inverse: m.xp.linalg.inv(m.xp.linalg.cholesky(p[:200, :200]))
    log_determinant_300: m.xp.linalg.slogdet(p[:300, :300])[1]
    eigenvalues_100: m.xp.linalg.eigh(p[:100, :100])[0]
    singular_values_100: m.xp.linalg.svd(a[:100, :100], full_matrices=False)[1]
    ridge_solution: m.xp.linalg.solve(a.T @ a + 0.1 * m.xp.eye(500, dtype=m.xp.float32), a.T @ b)
    """,
    p=positive(500),
    a=normal(500, 500),
    b=normal(500, 8),
)

lines(
    """
    saturation: 1.0 - m.xp.min(c, axis=-1) / (m.xp.max(c, axis=-1) + 1e-6)
    gamma_correct: c ** (1.0 / 2.2)
    colour_matrix: c @ k
    sobel: m.xp.sqrt((g[1:-1, 2:] - g[1:-1, :-2]) ** 2 + (g[2:, 1:-1] - g[:-2, 1:-1]) ** 2)
    image_mean_by_channel: m.xp.mean(c, axis=(0, 1))
    channel_histogram: m.xp.sum(c[..., None] > m.xp.asarray([0.25, 0.5, 0.75], dtype=m.xp.float32), axis=(0, 1))
    alpha_blend: c * g[..., None] + (1.0 - g[..., None]) * 0.5
    crop_and_flip: c[16:-16, 16:-16][:, ::-1]
    downsample_by_two: 0.25 * (g[::2, ::2] + g[1::2, ::2] + g[::2, 1::2] + g[1::2, 1::2])
    quantize: m.xp.clip(m.xp.round(g * 255.0), 0.0, 255.0).astype(m.xp.uint8)
    dequantize: (u.astype(m.xp.float32) - 128.0) * 0.05
    bytes_mean: m.xp.mean(u.astype(m.xp.float32), axis=0)
    bytes_threshold_count: m.xp.sum((u > 100).astype(m.xp.int32))
    """,
    c=uniform(256, 384, 3),
    g=uniform(256, 384),
    k=normal(3, 3),
    u=bytes_of(1024, 1024),
)

lines(
    """
    moving_sum_by_cumsum: m.xp.cumsum(s)[50:] - m.xp.cumsum(s)[:-50]
    log_returns: m.xp.log(q[1:]) - m.xp.log(q[:-1])
    sharpe: m.xp.mean(s) / m.xp.std(s) * 15.87
    skewness: m.xp.mean(((s - m.xp.mean(s)) / m.xp.std(s)) ** 3)
    kernel_density: m.xp.mean(m.xp.exp(-0.5 * ((d[:, None] - s[None, :1000]) * 5.0) ** 2), axis=1)
    bootstrap: m.xp.mean(s[j], axis=1)
    z_scores: (x - m.xp.mean(x, axis=0)) / m.xp.std(x, axis=0)
    quantiles_columns: m.xp.quantile(x, 0.9, axis=0)
    huber: m.xp.mean(m.xp.where(m.xp.abs(s) < 1.0, 0.5 * s * s, m.xp.abs(s) - 0.5))
    softplus_sum: m.xp.sum(m.xp.logaddexp(s, m.xp.zeros_like(s)))
    gini: m.xp.sum((2.0 * m.xp.arange(1, 100001, dtype=m.xp.float32) - 100001.0) * m.xp.sort(q)) / m.xp.sum(q)
    pairs_within: m.xp.sum(m.xp.abs(d[:, None] - d[None, :]) < 0.1)
    moment_matrix: x.T @ x / 2000.0 - m.xp.mean(x, axis=0)[:, None] * m.xp.mean(x, axis=0)[None, :]
    """,
    s=normal(100000),
    q=uniform(100000),
    d=normal(1000),
    j=whole(100000, 100, 2000),
    x=normal(2000, 64),
)

lines(
    """
    f64_matvec: h @ v
    f64_sum_rows: m.xp.sum(h, axis=1)
    f64_sum_columns: m.xp.sum(h, axis=0)
    f64_cumsum: m.xp.cumsum(h, axis=1)
    f64_sort: m.xp.sort(h, axis=1)
    f64_sigmoid: 1.0 / (1.0 + m.xp.exp(-h))
    f64_sin_cos: m.xp.sin(h) + m.xp.cos(h)
    f64_stencil: h[1:-1, 1:-1] + 0.1 * (h[2:, 1:-1] + h[:-2, 1:-1] + h[1:-1, 2:] + h[1:-1, :-2] - 4.0 * h[1:-1, 1:-1])
    f64_norm: m.xp.sqrt(m.xp.sum(h * h))
    f64_transpose: h.T + 1.0
    f64_outer: v[:, None] * v[None, :]
    f64_argmax: m.xp.argmax(h, axis=1)
    """,
    h=double(700, 700),
    v=double(700),
)


@program(normal(500, 500))
def correlation(m: Any, x: Any) -> Any:
    rows = x / m.xp.sqrt(m.xp.sum(x * x, axis=1, keepdims=True))
    return rows @ rows.T


@program(uniform(256, 384, 3))
def to_hue(m: Any, c: Any) -> Any:
    top = m.xp.max(c, axis=-1)
    spread = top - m.xp.min(c, axis=-1) + 1e-6
    red, green, blue = c[..., 0], c[..., 1], c[..., 2]
    rest = m.xp.where(top == green, 2.0 + (blue - red) / spread, 4.0 + (red - green) / spread)
    return m.xp.where(top == red, (green - blue) / spread, rest) / 6.0


@program(uniform(256, 384))
def gaussian_blur(m: Any, g: Any) -> Any:
    rows = 0.25 * g[:-2] + 0.5 * g[1:-1] + 0.25 * g[2:]
    return 0.25 * rows[:, :-2] + 0.5 * rows[:, 1:-1] + 0.25 * rows[:, 2:]


@program(uniform(256, 384))
def dilate(m: Any, g: Any) -> Any:
    beside = m.xp.maximum(g[1:-1, :-2], g[1:-1, 2:])
    above = m.xp.maximum(g[:-2, 1:-1], g[2:, 1:-1])
    return m.xp.maximum(m.xp.maximum(beside, above), g[1:-1, 1:-1])


@program(normal(100, 1000))
def drawdown(m: Any, steps: Any) -> Any:
    wealth = m.xp.cumsum(steps, axis=1)
    return m.xp.min(wealth - m.cumulative_max(wealth, 1), axis=1)


@program(normal(10000), normal(10000))
def rank_correlation(m: Any, x: Any, y: Any) -> Any:
    ranks = (m.xp.argsort(m.xp.argsort(v)) - 5000 for v in (x, y))
    return m.xp.sum(next(ranks) * next(ranks))


@program(normal(1, 8, 64), normal(2048, 8, 64), normal(2048, 8, 64))
def decode_attention(m: Any, q: Any, k: Any, v: Any) -> Any:
    scores = m.xp.einsum("qhd,khd->hqk", q, k) * 0.125
    return m.xp.einsum("hqk,khd->qhd", m.softmax(scores, axis=-1), v)


@program(normal(4, 8, 128, 64), normal(4, 8, 128, 64), normal(4, 8, 128, 64))
def windowed_attention(m: Any, q: Any, k: Any, v: Any) -> Any:
    place = m.xp.arange(128)
    near = m.xp.abs(place[:, None] - place[None, :]) <= 16
    scores = m.xp.where(near, q @ m.xp.swapaxes(k, -1, -2) * 0.125, -1e9)
    return m.softmax(scores, axis=-1) @ v


@program(normal(512, 64), normal(64, 8), normal(8, 64, 128), normal(8, 128, 64))
def mixture_of_experts(m: Any, x: Any, gate: Any, w1: Any, w2: Any) -> Any:
    weights = m.softmax(x @ gate, axis=-1)
    hidden = m.xp.maximum(m.xp.einsum("td,edh->eth", x, w1), 0.0)
    return m.xp.einsum("eth,ehd,te->td", hidden, w2, weights)


@program(normal(10000, 64), whole(10000, 256, 20))
def embedding_bag(m: Any, table: Any, words: Any) -> Any:
    return m.xp.mean(table[words], axis=1)


@program(normal(8, 32000))
def nucleus(m: Any, logits: Any) -> Any:
    ordered = m.xp.flip(m.xp.sort(m.softmax(logits, axis=-1), axis=-1), axis=-1)
    return m.xp.sum(m.xp.cumsum(ordered, axis=-1) < 0.9, axis=-1)


@program(normal(1000000), normal(1000000), normal(1000000), uniform(1000000))
def clipped_adamw(m: Any, w: Any, g: Any, first: Any, second: Any) -> Any:
    g = g * m.xp.minimum(1.0, 1.0 / m.xp.sqrt(m.xp.sum(g * g)))
    first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
    return w - 0.001 * (first / (m.xp.sqrt(second) + 1e-8) + 0.01 * w), first, second


@program(normal(2000, 32), whole(2000, 16000), whole(2000, 16000))
def message_passing(m: Any, nodes: Any, sources: Any, targets: Any) -> Any:
    return nodes + m.segment_sum(nodes[sources], targets, 2000)


@program(normal(1000, 16), normal(2000, 16))
def nearest_neighbours(m: Any, queries: Any, points: Any) -> Any:
    squares = m.xp.sum(points * points, axis=1)[None, :] - 2.0 * (queries @ points.T)
    return m.top_k(-squares, 5)[1]


@program(normal(2000, 4), normal(8, 4), uniform(8, 4))
def mixture_of_gaussians(m: Any, x: Any, centres: Any, spreads: Any) -> Any:
    distance = m.xp.sum(((x[:, None] - centres[None]) / spreads[None]) ** 2, axis=-1)
    scores = -0.5 * distance - m.xp.sum(m.xp.log(spreads), axis=-1)[None]
    shares = m.softmax(scores, axis=-1)
    total = m.xp.sum(shares, axis=0)
    return (shares.T @ x) / total[:, None], total


@program(normal(64, 64, 9))
def lattice_boltzmann(m: Any, f: Any) -> Any:
    steps = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    xs = m.xp.asarray([0, 1, 0, -1, 0, 1, -1, -1, 1], dtype=m.xp.float32)
    ys = m.xp.asarray([0, 0, 1, 0, -1, 1, 1, -1, -1], dtype=m.xp.float32)
    weights = m.xp.asarray([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, dtype=m.xp.float32)

    def step(i: Any, f: Any) -> Any:
        moved = m.xp.stack(
            [m.xp.roll(f[..., d], step, axis=(0, 1)) for d, step in enumerate(steps)],
            axis=-1,
        )
        density = m.xp.sum(moved, axis=-1) + 10.0
        u, v = m.xp.sum(moved * xs, axis=-1) / density, m.xp.sum(moved * ys, axis=-1) / density
        along = u[..., None] * xs + v[..., None] * ys
        still = density[..., None] * weights * (1 + 3 * along + 4.5 * along**2 - 1.5 * (u * u + v * v)[..., None])
        return moved + 0.6 * (0.1 * still - moved)

    return m.fori_loop(0, 20, step, f)


@program(normal(128, 128), normal(128, 128))
def wave_equation(m: Any, now: Any, before: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        now, before = state
        inside = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4.0 * now[1:-1, 1:-1]
        return now + (now - before) + 0.1 * m.xp.pad(inside, ((1, 1), (1, 1))), now

    return m.fori_loop(0, 50, step, (now, before))[0]


@program(normal(512, 512))
def rolled_steps(m: Any, u: Any) -> Any:
    """Three steps written out, as a loop of Python's writes them."""
    for _ in range(3):
        around = sum(m.xp.roll(u, shift, axis=axis) for axis in (0, 1) for shift in (1, -1))
        u = 0.25 * around
    return u


@program(normal(512, 512))
def padded_steps(m: Any, u: Any) -> Any:
    for _ in range(4):
        wide = m.xp.pad(u, ((1, 1), (1, 1)))
        u = 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])
    return u


@program(normal(512, 512))
def differences_of_differences(m: Any, u: Any) -> Any:
    for _ in range(3):
        u = m.xp.tanh(u[1:] - u[:-1])
    return u


@program(uniform(64), uniform(64))
def binomial_options(m: Any, price: Any, strike: Any) -> Any:
    powers = m.xp.arange(-100, 101, 2, dtype=m.xp.float32)
    values = m.xp.maximum(strike[:, None] - price[:, None] * m.xp.exp(0.02 * powers), 0.0)

    def step(i: Any, values: Any) -> Any:
        shifted = m.xp.concatenate([values[:, 1:], values[:, -1:]], axis=1)
        return 0.9999 * (0.51 * values + 0.49 * shifted)

    return m.fori_loop(0, 100, step, values)[:, 0]


@program(normal(10000, 50))
def asian_option(m: Any, noise: Any) -> Any:
    paths = m.xp.exp(m.xp.cumsum(0.02 * noise - 0.0002, axis=1))
    return m.xp.mean(m.xp.maximum(m.xp.mean(paths, axis=1) - 1.0, 0.0))


@program(normal(60, 32), whole(31, 20))
def alignment_loss(m: Any, logits: Any, labels: Any) -> Any:
    scores = m.log_softmax(logits, axis=-1)
    low = -1e9
    start = m.xp.where(m.xp.arange(21) == 0, 0.0, low)

    def step(alpha: Any, row: Any) -> Any:
        taken = m.xp.concatenate([m.xp.full((1,), low, dtype=m.xp.float32), alpha[:-1] + row[labels]])
        return m.xp.logaddexp(alpha + row[31], taken), alpha[0]

    return m.scan(step, start, scores)[0][-1]


@program(normal(300, 8), normal(8, 8))
def exponential_smoothing(m: Any, xs: Any, a: Any) -> Any:
    def step(level: Any, x: Any) -> Any:
        level = 0.9 * level + 0.1 * x
        return level, level @ a

    return m.scan(step, m.xp.zeros(8, dtype=m.xp.float32), xs)[1]


@program(normal(16, 8, 32, 32), normal(16, 8, 3, 3), normal(8, 16))
def residual_block(m: Any, x: Any, w: Any, mix: Any) -> Any:
    hidden = m.xp.maximum(m.conv(m.xp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), w), 0.0)
    return m.xp.maximum(x + m.xp.einsum("nchw,kc->nkhw", hidden, mix), 0.0)


@program(normal(32, 64, 49))
def global_pool_and_norm(m: Any, x: Any) -> Any:
    pooled = m.xp.mean(x, axis=-1)
    return pooled / m.xp.sqrt(m.xp.sum(pooled * pooled, axis=-1, keepdims=True) + 1e-6)


@program(normal(400, 400))
def game_of_signs(m: Any, spins: Any) -> Any:
    spins = m.xp.sign(spins)

    def step(i: Any, spins: Any) -> Any:
        around = m.xp.roll(spins, 1, 0) + m.xp.roll(spins, -1, 0) + m.xp.roll(spins, 1, 1) + m.xp.roll(spins, -1, 1)
        return m.xp.where(around == 0.0, spins, m.xp.sign(around))

    return m.fori_loop(0, 10, step, spins)


@program(uniform(200, 200), uniform(200))
def markov_steps(m: Any, chain: Any, start: Any) -> Any:
    chain = chain / m.xp.sum(chain, axis=1, keepdims=True)
    return m.fori_loop(0, 100, lambda i, p: p @ chain, start / m.xp.sum(start))


@program(normal(512, 512))
def haar_wavelet(m: Any, x: Any) -> Any:
    for _ in range(3):
        even, odd = x[:, ::2], x[:, 1::2]
        x = m.xp.concat([(even + odd) * 0.5, (even - odd) * 0.5], axis=1)
        even, odd = x[::2], x[1::2]
        x = m.xp.concat([(even + odd) * 0.5, (even - odd) * 0.5], axis=0)
    return x


@program(uniform(256, 384, 3), normal(3))
def pixels_sharpened(m: Any, image: Any, tint: Any) -> Any:
    p = m.xp.pad(image, ((1, 1), (1, 1), (0, 0)))
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return m.xp.clip(image * 2.0 - 0.25 * around + 0.01 * tint, 0.0, 1.0)


@program(normal(64, 64, 3))
def cloth(m: Any, x: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        x, v = state
        force = m.xp.zeros((64, 64, 3), dtype=m.xp.float32)
        for axis in (0, 1):
            d = x[1:] - x[:-1] if axis == 0 else x[:, 1:] - x[:, :-1]
            pull = d * (1.0 - 0.1 / m.xp.sqrt(m.xp.sum(d * d, axis=-1, keepdims=True) + 1e-6))
            low, high = (slice(None),) * axis + (slice(None, -1),), (slice(None),) * axis + (slice(1, None),)
            force = force.at[low].add(pull).at[high].add(-pull)
        v = 0.99 * v + 0.01 * force
        return x + 0.01 * v, v

    return m.fori_loop(0, 10, step, (x, x * 0.0))[0]


@program(normal(256, 32, 3))
def radiance_along_rays(m: Any, p: Any) -> Any:
    waves = [f(p * 2.0**k) for f in (m.xp.sin, m.xp.cos) for k in range(4)]
    density = m.xp.maximum(m.xp.sum(m.xp.concat(waves, axis=-1), axis=-1), 0.0)
    alpha = 1.0 - m.xp.exp(-density / 32.0)
    left = m.xp.cumulative_prod(1.0 - alpha + 1e-10, axis=1)
    return m.xp.sum((alpha * left)[:, :, None] * p, axis=1)


@program(normal(8, 64, 96), normal(8, 64, 32))
def attention_with_memory(m: Any, scores: Any, memory: Any) -> Any:
    return m.softmax(m.xp.concat([memory, scores], axis=-1), axis=-1)


@program(positive(100), normal(100))
def evidence_gradient(m: Any, k: Any, y: Any) -> Any:
    def evidence(k: Any, y: Any) -> Any:
        half = m.xp.sum(m.xp.log(m.xp.linalg.diagonal(m.xp.linalg.cholesky(k))))
        return half + 0.5 * m.xp.sum(y * m.xp.linalg.solve(k, y))

    return m.grad(evidence, argnums=(0, 1))(k, y)


@program(normal(10, 8), normal(30))
def equilibrium_gradient(m: Any, w: Any, b: Any) -> Any:
    def found(w: Any) -> Any:
        a = m.xp.eye(30, dtype=m.xp.float32) + 0.01 * m.xp.ones((30, 30), dtype=m.xp.float32) * m.xp.sum(m.xp.tanh(w))

        def step(x: Any, _: Any) -> Any:
            slope = a + m.xp.eye(30, dtype=m.xp.float32) * (0.3 * x * x)[:, None]
            return x - m.xp.linalg.solve(slope, a @ x + 0.1 * x * x * x - b), x[0]

        return m.xp.sum(m.scan(step, b * 0.0, m.xp.zeros(5, dtype=m.xp.float32))[0] ** 2)

    return m.grad(found)(w)
