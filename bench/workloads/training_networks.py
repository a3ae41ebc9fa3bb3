"""Training steps of a small convolutional net and of a transformer block, with their gradients by the chain rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import Workload, add, floats

RATE = 0.1


def moved(m: Any, loss: Any, parameters: tuple[Any, ...]) -> Any:
    """The loss, and the parameters after one step of gradient descent."""
    value, grads = m.value_and_grad(loss, parameters)
    return (value, *(p - RATE * g for p, g in zip(parameters, grads, strict=True)))


# --- a convolutional net ------------------------------------------------------------------------------------

IMAGES, SIDE, FIRST, SECOND, CLASSES = 64, 8, 32, 64, 10


def conv_step(m: Any, w: Any, x: Any, goal: Any, *parameters: Any) -> Any:
    """Two convolutions of 3 × 3, the second with stride 2, a linear layer, cross entropy."""

    def loss(parameters: tuple[Any, ...]) -> Any:
        one, two, weight, bias = parameters
        h = m.relu(m.conv(x, one, 1, 1))
        h = m.relu(m.conv(h, two, 2, 1))
        h = m.linear(m.reshape(h, (IMAGES, SECOND * SIDE * SIDE // 4)), weight, bias)
        return m.sum(m.log_softmax(h, -1) * goal) * (-1.0 / IMAGES)

    return moved(m, loss, parameters)


def conv_step_data(rng: np.random.Generator) -> Any:
    goal = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, IMAGES)]
    inner = SECOND * SIDE * SIDE // 4
    parameters = [
        floats(rng, FIRST, 1, 3, 3, scale=0.4),
        floats(rng, SECOND, FIRST, 3, 3, scale=0.08),
        floats(rng, CLASSES, inner, scale=1 / math.sqrt(inner)),
        floats(rng, CLASSES, scale=0.1),
    ]
    return (floats(rng, IMAGES, 1, SIDE, SIDE), goal, *parameters), {}


def windows(x: np.ndarray, stride: int) -> np.ndarray:
    """[n, c, y, x, 3, 3]: what a convolution of 3 × 3 with one row and column of zeros around it sees."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]


def conv_by_input(delta: np.ndarray, weight: np.ndarray, stride: int, side: int) -> np.ndarray:
    out = np.zeros((delta.shape[0], weight.shape[1], side + 2, side + 2))
    for i in range(3):
        for j in range(3):
            part = np.einsum("nohw,oc->nchw", delta, weight[:, :, i, j])
            out[:, :, i : i + stride * delta.shape[2] : stride, j : j + stride * delta.shape[3] : stride] += part
    return out[:, :, 1:-1, 1:-1]


def softmax_loss(h: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    log_p = h - h.max(-1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(-1, keepdims=True))
    return np.asarray(-(log_p * goal).sum() / len(h)), (np.exp(log_p) - goal) / len(h)


def conv_step_reference(x: np.ndarray, goal: np.ndarray, *parameters: np.ndarray) -> list[np.ndarray]:
    one, two, weight, bias = parameters
    seen_one = windows(x, 1)
    a = np.maximum(np.einsum("nchwij,ocij->nohw", seen_one, one, optimize=True), 0)
    seen_two = windows(a, 2)
    b = np.maximum(np.einsum("nchwij,ocij->nohw", seen_two, two, optimize=True), 0)
    flat = b.reshape(len(x), -1)
    value, delta = softmax_loss(flat @ weight.T + bias, goal)
    by_b = (delta @ weight).reshape(b.shape) * (b > 0)
    by_a = conv_by_input(by_b, two, 2, SIDE) * (a > 0)
    by_one = np.einsum("nchwij,nohw->ocij", seen_one, by_a, optimize=True)
    by_two = np.einsum("nchwij,nohw->ocij", seen_two, by_b, optimize=True)
    grads = (by_one, by_two, delta.T @ flat, delta.sum(0))
    return [value, *(p - RATE * g for p, g in zip(parameters, grads, strict=True))]


add(
    Workload(
        "train_conv",
        "training step of a convnet, batch 64",
        conv_step,
        conv_step_data,
        1e-4,
        reference=conv_step_reference,
    )
)


# --- a transformer block ------------------------------------------------------------------------------------

TEXTS, LENGTH, WIDTH, HEADS = 8, 64, 128, 4
EPSILON = 1e-5


def block_step(m: Any, w: Any, x: Any, goal: Any, keep: Any, *parameters: Any) -> Any:
    """A block that normalises first (attention, then two layers with gelu's tanh form), and the mean square error."""
    split = (TEXTS, LENGTH, HEADS, WIDTH // HEADS)

    def loss(parameters: tuple[Any, ...]) -> Any:
        n1, c1, wq, wk, wv, wo, n2, c2, w1, b1, w2, b2 = parameters
        h = m.reshape(m.layer_norm(x, n1, c1, EPSILON), (TEXTS * LENGTH, WIDTH))
        heads = [m.permute(m.reshape(m.matmul(h, weight), split), (0, 2, 1, 3)) for weight in (wq, wk, wv)]
        seen = m.reshape(m.permute(m.attention(*heads, keep), (0, 2, 1, 3)), (TEXTS, LENGTH, WIDTH))
        y = x + m.matmul(seen, wo)
        h = m.gelu(m.matmul(m.layer_norm(y, n2, c2, EPSILON), w1) + b1, True)
        difference = y + m.matmul(h, w2) + b2 - goal
        return m.mean(difference * difference)

    return moved(m, loss, parameters)


def block_step_data(rng: np.random.Generator) -> Any:
    scale = 1 / math.sqrt(WIDTH)
    parameters = [1 + floats(rng, WIDTH, scale=0.1), floats(rng, WIDTH, scale=0.1)]
    parameters += [floats(rng, WIDTH, WIDTH, scale=scale) for _ in range(4)]
    parameters += [1 + floats(rng, WIDTH, scale=0.1), floats(rng, WIDTH, scale=0.1)]
    parameters += [floats(rng, WIDTH, 4 * WIDTH, scale=scale), floats(rng, 4 * WIDTH, scale=0.1)]
    parameters += [floats(rng, 4 * WIDTH, WIDTH, scale=scale / 2), floats(rng, WIDTH, scale=0.1)]
    keep = np.tril(np.ones((1, 1, LENGTH, LENGTH), dtype=bool))
    return (floats(rng, TEXTS, LENGTH, WIDTH), floats(rng, TEXTS, LENGTH, WIDTH), keep, *parameters), {}


def normalise(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, Any]:
    spread = np.sqrt(x.var(-1, keepdims=True) + EPSILON)
    unit = (x - x.mean(-1, keepdims=True)) / spread

    def back(delta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inner = delta * weight
        centred = inner - inner.mean(-1, keepdims=True) - unit * (inner * unit).mean(-1, keepdims=True)
        return centred / spread, (delta * unit).sum((0, 1)), delta.sum((0, 1))

    return unit * weight + bias, back


def block_step_reference(
    x: np.ndarray, goal: np.ndarray, keep: np.ndarray, *parameters: np.ndarray
) -> list[np.ndarray]:
    n1, c1, wq, wk, wv, wo, n2, c2, w1, b1, w2, b2 = parameters

    def cut(h: np.ndarray) -> np.ndarray:
        return h.reshape(TEXTS, LENGTH, HEADS, -1).transpose(0, 2, 1, 3)

    def join(h: np.ndarray) -> np.ndarray:
        return h.transpose(0, 2, 1, 3).reshape(TEXTS, LENGTH, WIDTH)

    def by_weight(inputs: np.ndarray, delta: np.ndarray) -> np.ndarray:
        return np.einsum("bti,bto->io", inputs, delta)

    h, back_first = normalise(x, n1, c1)
    q, k, v = cut(h @ wq), cut(h @ wk), cut(h @ wv)
    root = math.sqrt(WIDTH // HEADS)
    scores = np.where(keep, q @ k.swapaxes(-1, -2) / root, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    seen = join(p @ v)
    y = x + seen @ wo
    g, back_second = normalise(y, n2, c2)
    u = g @ w1 + b1
    c = math.sqrt(2 / math.pi)
    t = np.tanh(c * (u + 0.044715 * u**3))
    bent = u * (1 + t) / 2
    difference = y + bent @ w2 + b2 - goal
    value = np.asarray((difference**2).mean())

    delta = 2 * difference / difference.size
    by_u = delta @ w2.T * ((1 + t) / 2 + u / 2 * (1 - t * t) * c * (1 + 3 * 0.044715 * u * u))
    through, by_n2, by_c2 = back_second(by_u @ w1.T)
    by_y = delta + through
    by_seen = cut(by_y @ wo.T)
    by_p = by_seen @ v.swapaxes(-1, -2)
    by_scores = p * (by_p - (by_p * p).sum(-1, keepdims=True)) / root
    by_q, by_k, by_v = join(by_scores @ k), join(by_scores.swapaxes(-1, -2) @ q), join(p.swapaxes(-1, -2) @ by_seen)
    _, by_n1, by_c1 = back_first(by_q @ wq.T + by_k @ wk.T + by_v @ wv.T)
    grads = (
        *(by_n1, by_c1, by_weight(h, by_q), by_weight(h, by_k), by_weight(h, by_v), by_weight(seen, by_y)),
        *(by_n2, by_c2, by_weight(g, by_u), by_u.sum((0, 1)), by_weight(bent, delta), delta.sum((0, 1))),
    )
    return [value, *(p - RATE * g for p, g in zip(parameters, grads, strict=True))]


add(
    Workload(
        "train_block",
        "training step of a transformer block, 8×64×128",
        block_step,
        block_step_data,
        1e-4,
        reference=block_step_reference,
    )
)
