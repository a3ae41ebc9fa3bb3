"""Loops: recurrences, solvers, simulations, dynamic programs."""

from __future__ import annotations

from typing import Any

from . import normal, positive, program, uniform, whole


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
