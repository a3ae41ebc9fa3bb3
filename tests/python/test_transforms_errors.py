"""What cannot be differentiated is refused: each error whole, its line this file's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from refusals import check_texts, refusal

import intaglio as ig

TEXTS = Path(__file__).with_name("transforms_errors.txt")
X = ig.asarray([1.0, 2.0, 3.0])


def bad_jvp_rule(rule: Any) -> Any:
    f = ig.custom_jvp(lambda x: x * 2)
    f.defjvp(rule)
    return lambda: ig.grad(lambda x: ig.sum(f(x)))(X)


def bad_vjp_rule(forward: Any, backward: Any) -> Any:
    f = ig.custom_vjp(lambda x: x * 2)
    f.defvjp(forward, backward)
    return lambda: ig.grad(lambda x: ig.sum(f(x)))(X)


def closing_over(kind: Any, define: Any) -> Any:
    def outer(x: Any) -> Any:
        f = kind(lambda y: x[0] * y)
        define(f)
        return ig.sum(f(x))

    return lambda: ig.grad(outer)(X)


def doubled() -> Any:
    f = ig.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct * 2,))
    return f


def fifth_derivative() -> Any:
    f = ig.custom_jvp(lambda x: ig.exp(x))
    f.defjvp(lambda primals, tangents: (f(*primals), f(*primals) * tangents[0]))
    g = f
    for _ in range(5):
        g = ig.grad(g)
    return g(0.0)


CASES: dict[str, Callable[[], Any]] = {
    "grad of an array": lambda: ig.grad(lambda x: x * 2)(X),
    "grad of a tree": lambda: ig.grad(lambda x: {"loss": ig.sum(x)})(X),
    "grad of an integer": lambda: ig.grad(lambda x: ig.argmax(x))(X),
    "grad by an integer": lambda: ig.grad(lambda x: ig.sum(x * 1.5))(ig.asarray([1, 2])),
    "grad by a Python integer": lambda: ig.grad(lambda p: p["n"] * 1.5)({"n": 2}),
    "grad by a string": lambda: ig.grad(lambda s, x: ig.sum(x))("s", X),
    "argnums out of range": lambda: ig.grad(lambda x: ig.sum(x), argnums=1)(X),
    "argnums of a keyword": lambda: ig.value_and_grad(lambda x: ig.sum(x))(x=X),
    "has_aux without a pair": lambda: ig.grad(lambda x: ig.sum(x), has_aux=True)(X),
    "cotangent of another structure": lambda: ig.vjp(lambda x: (x, x), X)[1](X),
    "cotangent of another shape": lambda: ig.vjp(lambda x: x * 2, X)[1](X[:2]),
    "cotangent of another dtype": lambda: ig.vjp(lambda x: x * 2, X)[1](ig.astype(X, ig.float64)),
    "cotangent that is no array": lambda: ig.vjp(lambda x: x * 2, X)[1]("one"),
    "vjp of a string": lambda: ig.vjp(lambda x: (x, "text"), X),
    "tangents missing": lambda: ig.jvp(lambda x, y: x * y, (X, X), (X,)),
    "tangent of another shape": lambda: ig.jvp(lambda x: x * 2, (X,), (X[:1],)),
    "jvp of arrays in no tuple": lambda: ig.jvp(lambda x: x * 2, X, X),
    "jvp by an integer": lambda: ig.jvp(lambda x: x * 2, (ig.asarray(1),), (ig.asarray(1),)),
    "hessian by an integer": lambda: ig.hessian(lambda x: x * x)(1),
    "jacobian of an integer": lambda: ig.jacrev(lambda x: {"i": ig.argsort(x)})(X),
    "transpose of a square": lambda: ig.linear_transpose(lambda x: x * x, X)(X),
    "transpose of a sine": lambda: ig.linear_transpose(lambda x: ig.sin(x), X)(X),
    "transpose of a comparison": lambda: ig.linear_transpose(lambda x: ig.where(x > 0, x, 0.0), X)(X),
    "no derivative": lambda: ig.grad(lambda x: ig.sum(ig.nextafter(x, 2 * x)))(X),
    "no second derivative": lambda: ig.grad(ig.grad(lambda a: ig.special.gammainc(a, 1.0)))(2.0),
    "no derivative of so high an order": fifth_derivative,
    "no jvp rule": lambda: ig.grad(ig.custom_jvp(lambda x: x))(1.0),
    "no vjp rule": lambda: ig.grad(ig.custom_vjp(lambda x: x))(1.0),
    "jvp rule without a pair": bad_jvp_rule(lambda primals, tangents: primals[0] * 2),
    "jvp rule of another structure": bad_jvp_rule(lambda primals, tangents: (primals[0] * 2, (tangents[0], 1.0))),
    "jvp rule of another shape": bad_jvp_rule(lambda primals, tangents: (primals[0] * 2, ig.sum(tangents[0]))),
    "jvp rule of another value": bad_jvp_rule(lambda primals, tangents: (ig.sum(primals[0]), tangents[0])),
    "jvp rule that is not linear": bad_jvp_rule(lambda primals, tangents: (primals[0], tangents[0] * tangents[0])),
    "forward rule without a pair": bad_vjp_rule(lambda x: x * 2, lambda kept, ct: (ct,)),
    "forward rule of another structure": bad_vjp_rule(lambda x: ((x, x), None), lambda kept, ct: (ct,)),
    "backward rule without a tuple": bad_vjp_rule(lambda x: (x * 2, None), lambda kept, ct: ct),
    "backward rule of too many": bad_vjp_rule(lambda x: (x * 2, None), lambda kept, ct: (ct, ct)),
    "backward rule of another shape": bad_vjp_rule(lambda x: (x * 2, None), lambda kept, ct: (ct[:1],)),
    "backward rule of another structure": bad_vjp_rule(lambda x: (x * 2, None), lambda kept, ct: ({"x": ct},)),
    "custom_jvp over a closure": closing_over(
        ig.custom_jvp, lambda f: f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    ),
    "custom_vjp over a closure": closing_over(
        ig.custom_vjp, lambda f: f.defvjp(lambda y: (y, None), lambda kept, ct: (ct,))
    ),
    "custom_vjp forwards": lambda: ig.jvp(doubled(), (X,), (X,)),
    "custom_vjp linearized": lambda: ig.linearize(doubled(), X),
    "custom argument that is no array": lambda: ig.jit(lambda x: doubled()("text"))(X),
    "checkpoint of a string": lambda: ig.grad(lambda x: ig.checkpoint(lambda y: (ig.sum(y), "text"))(x)[0])(X),
    "graph for another shape": lambda: ig.grad(ig.trace(lambda x: ig.sum(x), X).graph)(X[:2]),
}


def test_errors() -> None:
    check_texts({name: refusal(case, __file__) for name, case in CASES.items()}, TEXTS)
