"""Connectionist temporal classification: the likelihood of labels under every way to spread them over time."""

from __future__ import annotations

from typing import Any

from .. import _errors, _functions, _intaglio
from .._control import scan

Tensor = _intaglio.Tensor
_fn = _functions.functions


def ctc_loss(
    log_probs: Tensor,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability of label sequences, summed over all their alignments with time. Graves et al. (2006).

    An alignment has a label or a blank for each step of time; repeated labels that no blank parts are one. It is
    computed by a `scan` over time, in the logarithms. Where no alignment exists (the labels need more steps than there
    are), the loss is infinite, or 0 with `zero_infinity`, and its gradient is 0. Steps behind the input's length and
    labels behind the target's count for nothing, whatever they hold.

    Parameters
    ----------
    log_probs : [time, batch, classes] or [time, classes]
        Log-probabilities, such as `ig.log_softmax` gives.
    targets : integers [batch, length], or all labels in one row, one sequence behind the other
        The labels, none of them `blank`.
    input_lengths, target_lengths : integers [batch]
        How many steps, and how many labels, each sequence has: arrays, tuples, or numbers without a batch.
    blank : int
        The class that is no label.
    reduction : "mean", "sum" or "none"
        "mean" divides each loss by the number of its labels (at least 1) first.

    Raises
    ------
    ValueError, ShapeError
        Where the arrays do not fit, the blank is no class, or the reduction is unknown.

    Examples
    --------
    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> even = ig.log(ig.full((3, 1, 2), 0.5))  # three steps, a blank and a label, all equally likely
    >>> loss = nn.losses.ctc_loss(even, ig.asarray([[1]]), (3,), (1,))
    >>> float(ig.round(ig.exp(-loss) * 8))  # of 8 paths, 6 are one label: a run of it among blanks
    6.0
    """
    if log_probs.ndim not in (2, 3):
        raise _errors.ShapeError(
            f"ctc_loss: the log-probabilities have {log_probs.ndim} axes",
            _intaglio._user_line(),
            why="they are [time, batch, classes], or [time, classes] without a batch",
            hint="put the axes in this order, e.g. by ig.moveaxis",
        )
    if reduction not in ("mean", "sum", "none"):
        raise _errors.ValueError(
            f"ctc_loss: reduction is {reduction!r}",
            _intaglio._user_line(),
            why="it says what becomes of the single losses",
            hint="choose 'mean', 'sum' or 'none'",
        )
    classes = log_probs.shape[-1]
    if not 0 <= blank < classes:
        raise _errors.ValueError(
            f"ctc_loss: the blank is {blank}, of {classes} classes",
            _intaglio._user_line(),
            why="it is the class that stands for no label",
            hint=f"give a number from 0 to {classes - 1}",
        )
    given = log_probs.dtype
    if given.name in ("float16", "bfloat16"):
        log_probs = _functions.astype(log_probs, "float32")
    lengths, counts = (
        _functions.astype(_functions._array(v), "int64").reshape((-1,)) for v in (input_lengths, target_lengths)
    )
    labels = _functions.astype(_functions._array(targets), "int64")
    alone = log_probs.ndim == 2
    if alone:
        log_probs = log_probs[:, None]
        labels = labels.reshape((1, -1))
    batch = log_probs.shape[1]
    if lengths.shape[0] != batch or counts.shape[0] != batch:
        raise _errors.ShapeError(
            f"ctc_loss: {lengths.shape[0]} input lengths and {counts.shape[0]} target lengths for {batch} sequences",
            _intaglio._user_line(),
            why="each sequence has one of both",
            hint="give one number for each entry of the batch",
        )
    if labels.ndim == 1:
        labels = _cut(labels, counts)
    if labels.ndim != 2 or labels.shape[0] != batch:
        raise _errors.ShapeError(
            f"ctc_loss: the targets have shape {tuple(labels.shape)} for {batch} sequences",
            _intaglio._user_line(),
            why="they are [batch, length], or one row with the sequences one behind the other",
            hint="pad the sequences to one length; what stands behind their lengths does not count",
        )
    losses = _losses(log_probs, labels, lengths, counts, blank)
    if zero_infinity:
        losses = _fn["where"](losses == float("inf"), 0.0, losses)
    if reduction == "sum":
        losses = _functions.sum(losses)
    elif reduction == "mean":
        losses = _fn["mean"](losses / _functions.astype(_fn["maximum"](counts, 1), losses.dtype))
    elif alone:
        losses = losses[0]
    return _functions.astype(losses, given)


def _cut(labels: Tensor, counts: Tensor) -> Tensor:
    """Sequences that stand one behind the other, as rows; the longest is asked of the lengths."""
    if isinstance(labels.shape[0], int) and labels.shape[0] == 0:
        return _functions.zeros((counts.shape[0], 0), dtype="int64")
    longest = int(_fn["max"](counts))
    starts = _functions.cumulative_sum(counts, axis=0) - counts
    place = starts[:, None] + _functions.arange(longest)[None, :]
    return _functions._op.take(labels, place.reshape((-1,)), axis=0).reshape((-1, longest))


def _log_sum(*parts: Tensor) -> Tensor:
    """log(sum of exp), without NaN in value or gradient where all are minus infinity."""
    top = parts[0]
    for part in parts[1:]:
        top = _fn["maximum"](top, part)
    top = _fn["stop_gradient"](top)
    none = top == float("-inf")
    base = _fn["where"](none, 0.0, top)
    total: Any = 0.0
    for part in parts:
        total = total + _fn["exp"](part - base)
    return _fn["where"](none, float("-inf"), base + _fn["log"](_fn["where"](none, 1.0, total)))


def _losses(log_probs: Tensor, labels: Tensor, lengths: Tensor, counts: Tensor, blank: int) -> Tensor:
    time, batch, classes = log_probs.shape
    size = labels.shape[1]
    inside = _functions.arange(size)[None, :] < counts[:, None]
    labels = _fn["clip"](_fn["where"](inside, labels, blank), 0, classes - 1)
    # Blanks before, between and behind the labels: 2 * size + 1 states, of which each step goes on by 0, 1 or, over a
    # blank between two different labels, by 2.
    blanks = _functions.full((batch, size + 1), blank, dtype="int64")
    pairs = _functions.stack([blanks[:, :size], labels], axis=2).reshape((batch, 2 * size))
    states = _functions.concat([pairs, blanks[:, :1]], axis=1)
    width = 2 * size + 1
    index = _fn["broadcast_to"](states[None], shape=(time, batch, width))
    seen = _fn["take_along_axis"](log_probs, index, axis=2)
    low = float("-inf")
    places = _functions.arange(width)[None, :]
    if size:
        closed = _functions.zeros((batch, 2), dtype="bool")
        skips = _functions.concat([closed, (states[:, 2:] != states[:, :-2]) & (states[:, 2:] != blank)], axis=1)
    else:
        skips = _functions.zeros((batch, width), dtype="bool")
    one = _functions.full((batch, 1), low, dtype=seen.dtype)

    def shifted(x: Tensor, by: int) -> Tensor:
        return _functions.concat([one] * min(by, width) + ([x[:, :-by]] if width > by else []), axis=1)

    # Before the first step all stands in a state before the first one, from which the first two are reached.
    def step(carry: Any, at: Any) -> Any:
        alpha, count = carry
        scores = at
        first = _fn["where"](places < 2, scores, low)
        reached = _log_sum(alpha, shifted(alpha, 1), _fn["where"](skips, shifted(alpha, 2), low))
        # A step that cannot be reached has no part in the sum, whatever its own score is.
        on = _fn["where"](reached == low, low, _fn["where"](reached == low, 0.0, reached) + scores)
        new = _fn["where"](count == 0, first, on)
        alpha = _fn["where"]((count < lengths)[:, None], new, alpha)
        return (alpha, count + 1), None

    start = (_functions.full((batch, width), low, dtype=seen.dtype), _functions.zeros((), dtype="int64"))
    (alpha, _), _ = scan(step, start, seen)
    # It ends in the last label or in the blank behind it; without a label in the blank, and without time nowhere.
    ends = _fn["take_along_axis"](alpha, (2 * counts)[:, None], axis=1)[:, 0]
    before = _fn["take_along_axis"](alpha, _fn["maximum"](2 * counts - 1, 0)[:, None], axis=1)[:, 0]
    total = _log_sum(ends, _fn["where"](counts > 0, before, low))
    nothing = (lengths == 0) & (counts == 0)  # an empty sequence of an empty time: the one way there is
    return _fn["where"](nothing, 0.0, -total)
