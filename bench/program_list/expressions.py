"""One expression each: element-wise formulas, folds, indexing, products, linear algebra, other types."""

from __future__ import annotations

import numpy as np

from . import bytes_of, double, lines, long, normal, positive, positives, uniform, whole

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
    error_inverse: m.erfinv(m.xp.clip(x * 0.3, -0.999, 0.999))
    bessel: m.i0e(x)
    sinc: m.xp.sinc(x)
    arctan: m.xp.atan(x)
    arcsin: m.xp.asin(m.xp.clip(x * 0.3, -1.0, 1.0))
    tangent: m.xp.tan(x)
    hyperbolic_sine: m.xp.sinh(x)
    hyperbolic_cosine: m.xp.cosh(x)
    area_sine: m.xp.asinh(x)
    area_cosine: m.xp.acosh(m.xp.abs(x) + 1.0)
    area_tangent: m.xp.atanh(m.xp.clip(x * 0.3, -0.999, 0.999))
    powers: m.xp.abs(x) ** (x * 0.5 + 2.0)
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
