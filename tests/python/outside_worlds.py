"""Random worlds and programs for the tests of what a captured function reads from outside.

A world is a module of globals, nests of containers, classes, instances, closures and defaults; a program is a
few expressions that read from it; a change is of one thing in it, and can be undone.
"""

from __future__ import annotations

import collections
import dataclasses
import random
import types
from collections.abc import Callable
from typing import Any

SOURCE = """
import collections, dataclasses, functools, types

class A:
    k = {k}
    t = [{t}, {t1}]
    def __init__(self, v):
        self.v = v
        self.nest = {{'a': v, 'b': [v, v + 1]}}
        self.fn = lambda x: x + v
    def m(self, x={mx}, *, y={my}):
        return self.v + self.k + x + y
    @property
    def p(self):
        return self.v * G1
    @classmethod
    def c(cls, x):
        return cls.k + x
    @staticmethod
    def s(x, y={sx}):
        return x + y
    def __len__(self):
        return abs(int(self.v)) % 7
    def __getitem__(self, i):
        return self.nest['b'][i] + self.k
    def __call__(self, x):
        return x + self.t[0]
    def __add__(self, other):
        return self.v + other

class B(A):
    def m(self, x={mx}, *, y={my}):
        return super().m(x) * 2 + y

class S:
    __slots__ = ('q', 'r')
    def __init__(self):
        self.q = {k}
        self.r = [{t}]

@dataclasses.dataclass
class Config:
    width: int = {k}
    names: list = dataclasses.field(default_factory=lambda: [{t}])

def twice(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return 2 * f(*args, **kwargs)
    return inner

def make(c0, c1):
    def inner(x, y={mx}, *, z={my}):
        return x + y + z + c0 + c1[0]
    return inner

def gen(n):
    for i in range(2):
        yield n + G2 + i

G0, G1, G2 = {g0}, {g1}, {g2}
NAME = 'a'
L0 = [{t}, {t1}, {k}]
L1 = [[{t}], [{t1}, {k}]]
D0 = {{'a': {k}, 'b': {{'c': {t}, 'd': [{g0}, {g1}]}}}}
D1 = {{'x': {t1}, 'y': {k}}}
T0 = ({t}, [{t1}])
Q0 = collections.deque([{t}, {k}])
S0 = {{'a', 'b'}}
o0, o1, s0, cfg = A({g0}), B({g1}), S(), Config()
h0, h1 = make({t}, [{k}]), twice(make({t1}, [{g0}]))
mod = types.ModuleType('mod')
mod.k, mod.cfg = {k}, {{'x': {t}}}
part = functools.partial(h0, y={t})
"""

READS_TEXT = """
G0|G1 + G2|D0['a']|D0['b']['c']|D0['b']['d'][1]|D0.get('zz', G1)|'zz' in D0|len(D0)|list(D0)|str(D0)
sum(L0)|L0[0]|L0[-1]|L0[1:]|len(L0)|[x + 1 for x in L0]|sorted(L0)[0]|max(L0)|L1[1][0]
[len(x) for x in L1]|L1 == [[G0]]|L0 + [G2]|o0.v|o0.k|o0.t[0]|o0.nest['a']|o0.nest['b'][0]|o0.m()
o0.m(1, y=2)|o0.p|len(o0)|o0[1]|o0(3)|o0.c(1)|o0.s(1)|o0.fn(1)|o1.v|o1.m()|o1.k|o1.p|o1[0]
isinstance(o0, B)|type(o0).__name__|bool(o1)|1 if o0 else 2|A.k|B.k|A.t[1]|B.m(o1, 2)|getattr(o0, 'w', 3)
hasattr(o1, 'w')|getattr(o0, NAME, G1)|vars(o0)['v']|o0.__dict__['v']|s0.q|s0.r[0]|cfg.width|cfg.names[0]
cfg == Config()|h0(1)|h0(1, z=G0)|h1(2)|list(map(h0, L0))|mod.k|mod.cfg['x']|part(1)|[*gen(G0)]|T0[0]
T0[1][0]|[*T0[1]]|{**D1}|[*L0]|dict(D1)|tuple(L0)|S0|'a' in S0|len(S0)|list(Q0)|Q0[0]|sum(Q0)
next(iter(D1))|f'{D1}'|globals()['G1']|(lambda: G2)()|any(L0)|not D1|[k for k in D1]|list(D1.items())
[v for _, v in D1.items()]|min(D1.values())|o0.m.__name__|o0 + G1|first(*L0)|attempt(D0, 'zz')
attempt(D1, NAME)|nested(2)|h0.__defaults__|zip_(L0, D1)|matched(D1)|h0.__kwdefaults__['z']|A(G2).m()
B(1).p|repr(cfg)|D1 == {'x': G1}|D0|L1|Q0|T0|L1[0] * 2|unpack(T0)|D0['b'].keys() & {'c'}
list(reversed(L0))
"""
READS = READS_TEXT.strip().replace("\n", "|").split("|")

HELPERS = """
def first(a=0, *rest):
    return a, len(rest)

def attempt(d, key):
    try:
        return d[key]
    except KeyError:
        return G0

def nested(n):
    return G1 if n == 0 else nested(n - 1) + L0[0]

def zip_(a, b):
    return [(x, y) for x, y in zip(a, b)]

def matched(d):
    match d:
        case {'x': x, 'zz': z}:
            return x, z
        case {'x': x}:
            return x
        case _:
            return None

def unpack(t):
    a, (*b,) = t
    return a, b
"""

Change = tuple[str, Callable[[], None], Callable[[], None]]
MISSING = object()


def make_world(rng: random.Random) -> dict[str, Any]:
    names = ("k", "t", "t1", "mx", "my", "sx", "g0", "g1", "g2")
    space: dict[str, Any] = {"__name__": "world"}
    values = {name: rng.choice([rng.randint(-3, 9), rng.randint(300, 900), rng.random()]) for name in names}
    exec(compile(SOURCE.format(**values) + HELPERS, "world.py", "exec", dont_inherit=True), space)
    return space


def make_program(rng: random.Random, space: dict[str, Any]) -> tuple[str, Callable[[], Any]]:
    reads = rng.sample(READS, rng.randint(1, 5))
    text = "def program():\n    return (" + ", ".join(reads) + ",)\n"
    exec(compile(text, "program.py", "exec", dont_inherit=True), space)
    return ", ".join(reads), space["program"]


def _set(holder: Any, key: Any, value: Any, item: bool) -> None:
    if value is MISSING:
        if item:
            del holder[key]
        else:
            delattr(holder, key)
    elif item:
        holder[key] = value
    else:
        setattr(holder, key, value)


def _change(label: str, holder: Any, key: Any, value: Any, item: bool = True) -> Change:
    if item:
        old = holder[key] if not isinstance(holder, dict) or key in holder else MISSING
    elif isinstance(holder, type) or (hasattr(holder, "__dict__") and not key.startswith("__")):
        old = vars(holder).get(key, MISSING)
    else:
        old = getattr(holder, key)
    return label, lambda: _set(holder, key, value, item), lambda: _set(holder, key, old, item)


def _whole(label: str, holder: Any, new: list[Any]) -> Change:
    # A set that is filled again element by element may get another order, where hashes collide; from a copy of
    # itself it gets the same table.
    old = list(holder.items()) if isinstance(holder, dict) else holder.copy()

    def put(items: Any) -> None:
        holder.clear()
        (holder.update if isinstance(holder, dict | set) else holder.extend)(items)

    return label, lambda: put(new), lambda: put(old)


def changes(rng: random.Random, space: dict[str, Any]) -> list[Change]:
    """One change for everything in the world that can be changed."""
    out: list[Change] = []
    seen: set[int] = set()

    def other(value: Any) -> Any:
        if isinstance(value, bool | str | int | float):
            return rng.choice([value + 1, float(value), -value]) if not isinstance(value, str) else value + "!"
        return rng.choice([7, [7, 8, 9]])

    def visit(value: Any, path: str) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, dict):
            for key in list(value):
                out.append(_change(f"{path}[{key!r}]", value, key, other(value[key])))
                visit(value[key], f"{path}[{key!r}]")
            out.append(_change(f"{path}['zz']", value, "zz", 5))
            out.append(_whole(f"{path} reordered", value, list(value.items())[::-1]))
            out.append(_whole(f"{path} emptied", value, []))
        elif isinstance(value, list | collections.deque):
            for i, item in enumerate(list(value)):
                out.append(_change(f"{path}[{i}]", value, i, other(item)))
                visit(item, f"{path}[{i}]")
            out.append(_whole(f"{path} longer", value, [*value, 1]))
            out.append(_whole(f"{path} shorter", value, list(value)[:-1]))
            out.append(_whole(f"{path} reversed", value, list(value)[::-1]))
        elif isinstance(value, set):
            out.append(_whole(f"{path} grown", value, [*value, "new"]))
            out.append(_whole(f"{path} emptied", value, []))
        elif isinstance(value, tuple):
            for i, item in enumerate(value):
                visit(item, f"{path}[{i}]")
        elif isinstance(value, types.FunctionType):
            function(value, path)
        elif isinstance(value, type) and value.__module__ == "world":
            klass(value, path)
        elif isinstance(value, types.ModuleType) and value.__name__ == "mod":
            for key in ("k", "cfg"):
                out.append(_change(f"{path}.{key}", value, key, other(getattr(value, key)), item=False))
                visit(getattr(value, key), f"{path}.{key}")
        elif type(value).__module__ == "world":
            instance(value, path)

    def function(value: Any, path: str) -> None:
        defaults = value.__defaults__
        if defaults:
            out.append(_change(f"{path}.__defaults__", value, "__defaults__", tuple(map(other, defaults)), item=False))
        if value.__kwdefaults__:
            new = {key: other(item) for key, item in value.__kwdefaults__.items()}
            out.append(_change(f"{path}.__kwdefaults__", value, "__kwdefaults__", new, item=False))
            visit(value.__kwdefaults__, f"{path}.__kwdefaults__")
        if not value.__closure__:
            out.append(_change(f"{path}.__code__", value, "__code__", (lambda *a, **k: 77).__code__, item=False))
        for i, cell in enumerate(value.__closure__ or ()):
            out.append(_change(f"{path} cell {i}", cell, "cell_contents", other(cell.cell_contents), item=False))
            visit(cell.cell_contents, f"{path} cell {i}")

    def klass(value: Any, path: str) -> None:
        for key in ("k", "t"):
            out.append(_change(f"{path}.{key}", value, key, other(getattr(value, key, 0)), item=False))
            visit(getattr(value, key, 0), f"{path}.{key}")
        for key in (
            "m",
            "__len__",
            "__getitem__",
            "__bool__",
            "__call__",
            "__eq__",
            "__init__",
            "__repr__",
            "__add__",
        ):
            new: Any = (lambda *a, **k: None) if key == "__init__" else lambda *a, **k: 3
            if key in ("__eq__", "__bool__"):
                new = lambda *a: False  # noqa: E731
            if key == "__repr__":
                new = lambda *a: "changed"  # noqa: E731
            out.append(_change(f"{path}.{key}", value, key, new, item=False))
        out.append(_change(f"{path}.p", value, "p", property(lambda self: 4), item=False))
        out.append(_change(f"{path}.c", value, "c", classmethod(lambda cls, x: 4), item=False))
        out.append(_change(f"{path}.v", value, "v", property(lambda self: 9), item=False))
        for key in ("m", "s", "p"):
            found = vars(value).get(key)
            found = getattr(found, "fget", getattr(found, "__func__", found))
            if isinstance(found, types.FunctionType):
                visit(found, f"{path}.{key}")

    def instance(value: Any, path: str) -> None:
        own = vars(value) if hasattr(value, "__dict__") else {key: getattr(value, key) for key in value.__slots__}
        for key in list(own):
            out.append(_change(f"{path}.{key}", value, key, other(own[key]), item=False))
            visit(own[key], f"{path}.{key}")
        if hasattr(value, "__dict__"):
            for key in ("k", "w", "m", "a"):
                out.append(_change(f"{path}.{key}", value, key, (lambda *a, **k: 1) if key == "m" else 4, item=False))
            out.append(_change(f"{path} dict", value, "__dict__", {**vars(value), "v": 1234}, item=False))
        if isinstance(value, space["A"]):
            to = space["A"] if type(value) is space["B"] else space["B"]
            out.append(_change(f"{path}.__class__", value, "__class__", to, item=False))

    for name in [
        n for n in space if not n.startswith("__") and n not in ("program", "collections", "types", "functools")
    ]:
        out.append(_change(f"global {name}", space, name, other(space[name])))
        visit(space[name], name)
    out.append(_change("global len", space, "len", lambda x: 99))
    out.append(_change("global getattr", space, "getattr", lambda *x: 98))
    return out


def outcome(program: Callable[[], Any]) -> str:
    """What a run gives, or how it fails, as text that tells types and signs apart."""

    def text(value: Any) -> str:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return repr(value)
        if isinstance(value, list | tuple):
            return type(value).__name__ + "(" + ", ".join(map(text, value)) + ")"
        if callable(value):
            return "callable"
        return repr(value)

    try:
        return text(program())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
