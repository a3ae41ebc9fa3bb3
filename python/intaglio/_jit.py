"""`ig.jit`: a function captured as it is called, as a tree of traces with their conditions."""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import _errors, _functions, _intaglio
from ._control import _type_text
from ._fusion import Fusion
from ._memory import Memory
from ._record import ShapeDtypeStruct, _argument_names
from ._wrap import require_function, wraps

# Programs are compiled in the background, which may need the interpreter (ops that are written in Python): it
# rests while the process forks, and ends before the interpreter does.
os.register_at_fork(before=_intaglio._pause_background, after_in_parent=_intaglio._resume_background)
atexit.register(_intaglio._end_background)

Jit: Any = _intaglio.Jit  # type: ignore[attr-defined]  # a raw type, which the stubs leave out


def _numbers(value: int | Sequence[int], what: str, parameters: list[str] | None) -> list[int]:
    items = [value] if isinstance(value, int) else list(value)
    out = []
    for item in items:
        if not isinstance(item, int):
            raise _errors.TypeError(
                f"jit: {what} holds {item!r}, which is no position",
                _intaglio._user_line(),
                why="positions of parameters are integers, counted from 0",
                hint=f"name parameters in {what.replace('nums', 'names')} instead",
            )
        if parameters is not None:
            if not -len(parameters) <= item < len(parameters):
                raise _errors.ValueError(
                    f"jit: {what} names the position {item}, and the function takes {len(parameters)}",
                    _intaglio._user_line(),
                    why=f"its parameters are {', '.join(parameters) or 'none'}",
                    hint="count from 0",
                )
            item %= max(len(parameters), 1)
        out.append(item)
    return out


def _names(value: str | Sequence[str], what: str, known: list[str] | None) -> list[str]:
    names = [value] if isinstance(value, str) else list(value)
    for name in names:
        if known is not None and name not in known:
            raise _errors.ValueError(
                f"jit: {what} names `{name}`, which is no parameter",
                _intaglio._user_line(),
                why=f"its parameters are {', '.join(known) or 'none'}",
                hint="spell it as in the function's definition",
            )
    return names


def _parameters(function: Callable[..., Any]) -> tuple[list[str] | None, list[str] | None]:
    """Names of the positional parameters, and of all; None where any may be given."""
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None, None
    kinds = {p.kind for p in parameters}
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    everything = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return (
        None if inspect.Parameter.VAR_POSITIONAL in kinds else positional,
        None if inspect.Parameter.VAR_KEYWORD in kinds else everything,
    )


def _log_recompiles() -> bool:
    return "recompiles" in os.environ.get("IG_LOG", "").split(",")


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    inline: bool = False,
    keep_unused: bool = False,
    max_traces: int = 64,
    lift: bool = True,
    exact: bool = False,
    fast_math: bool | str | Iterable[str] = False,
) -> Any:
    """`function`, captured and compiled as it is called.

    The first call records what the function does to its arrays and compiles that. Later calls run the
    compiled program where its conditions hold: the structure of the arguments, dtypes, sizes, values of what
    is no array, outcomes of the questions that the function asked of its arrays, and what it read from
    outside. Otherwise another trace is recorded. A size or number that takes a second value is symbolic from
    then on.

    Python's own effects (print, appending to a list) happen while the function is recorded, and only then.

    Parameters
    ----------
    static_argnums, static_argnames
        Parameters that are compared by type and value, and handed over as they are; they must be hashable.
    donate_argnums, donate_argnames
        Parameters whose arrays may give their memory to the results; they cannot be used afterwards.
    inline, keep_unused
        Accepted for programs written for JAX: a jitted function inside of another is always a part of it, and an
        argument that is not used costs nothing.
    max_traces
        The most traces of one structure of arguments, before the function runs op by op.
    lift
        Arrays that the function reads from outside are inputs of the graph, named by the way to them
        (`encoder.layer.0.weight`), and may change their values from call to call. With `lift=False` they are
        constants, which the compiler may fold and lay out anew; another value is another trace.
    exact
        Every op is computed to the bits of its definition: nothing that only keeps a stated bound
        (`docs/numerics.md`: Winograd's minimal filtering of convolutions). Of a jitted function inside of another
        the outer one decides.
    fast_math
        What may go beyond the bits and bounds of `docs/numerics.md`, in this function alone: True for all flags, or
        names of them. "contract": a product and the sum that takes it are rounded once. "finite": maxima and minima
        need tell neither NaN nor the sign of zero. "reciprocal": what divides many elements divides 1, once.
        "flush_denormals": numbers below the least normal one (1.2e-38 of float32) are zeros.
        `ig.explain` tells what each did. Of a jitted function inside of another the outer one decides.
    """
    if function is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            inline=inline,
            keep_unused=keep_unused,
            max_traces=max_traces,
            lift=lift,
            exact=exact,
            fast_math=fast_math,
        )
    require_function(function, "jit", "compiled")
    if not isinstance(exact, bool):
        raise _errors.TypeError(
            f"jit: exact is {exact!r}",
            _intaglio._user_line(),
            why="it says whether every op is to have the bits of its definition",
            hint="write exact=True, or leave it out",
        )
    positional, everything = _parameters(function)
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__name__", type(inner).__name__)
    out = _intaglio._jit_make(
        function,
        name,
        _numbers(static_argnums, "static_argnums", positional),
        _names(static_argnames, "static_argnames", everything),
        _numbers(donate_argnums, "donate_argnums", positional),
        _names(donate_argnames, "donate_argnames", everything),
        max_traces,
        _log_recompiles(),
        lift,
        exact,
        fast_math,
    )
    # Not by functools.update_wrapper: in a function that is captured, its writing would be a change of the user's own.
    for key, value in getattr(function, "__dict__", {}).items():
        setattr(out, key, value)
    wraps(function)(out)
    out.__name__ = name  # of a callable object, its class's
    return out


def _given(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    """The structure of a call's arguments, and the type of each leaf by its name: of what is no array, its value."""
    names = _argument_names(function, args, kwargs)
    types = {}
    for name, part in zip(names, (*args, *kwargs.values()), strict=True):
        leaves, tree = _intaglio.tree_flatten(part)
        for path, leaf in zip(tree.paths(), leaves, strict=True):
            array = leaf if hasattr(leaf, "dtype") and hasattr(leaf, "shape") else None
            number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
            kind = "a number" if number else repr(leaf)
            types[name + path] = kind if array is None else _type_text(_intaglio.asarray(array))
    return _intaglio.tree_flatten((args, kwargs))[1], types


class Compiled(_intaglio._CompiledFunction):
    """A compiled call: run it with arguments of the same structure, dtypes and sizes."""

    def __init__(self, jitted: Any, info: dict[str, Any]) -> None:
        super().__init__(jitted)
        self._jitted = jitted
        self._info = info
        exact, fast_math = info["exact"], info["fast_math"]
        own = exact or fast_math  # the graph's own program is of neither
        self.graph = info["graph"].compile(exact=exact, fast_math=fast_math) if own else info["graph"]
        info["compile"]()

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tree, types = self._info["given"]
        now, given = _given(self._jitted, args, kwargs)
        wrong = [
            f"\n    {name}: {kind}, and now {given[name]}"
            for name, kind in types.items()
            if given.get(name, kind) != kind
        ]
        if now != tree or wrong:
            raise _errors.TypeError(
                f"{self._jitted.__name__}: it is compiled for other arguments"
                + ("".join(wrong) if now == tree else f": of the structure {tree!r}, and now {now!r}"),
                _intaglio._user_line(),
                why="a compiled call is of one structure, and of one dtype and size for each array",
                hint="call the jitted function itself, which compiles what is new",
            )

    def report(self) -> dict[str, Any]:
        """Nodes, kernels, times, bytes, and the compiler's logs."""
        return dict(self.graph.report())

    def as_text(self) -> str:
        """The machine code."""
        return str(self.graph.assembly())

    def memory_analysis(self) -> dict[str, int]:
        report = self.graph.report()
        return {
            "constant_bytes": report["constant_bytes"],
            "code_bytes": report["code_bytes"],
            "planned_peak_bytes": report["planned_peak"],
            "measured_peak_bytes": report["measured_peak"],
        }

    def cost_analysis(self) -> dict[str, float]:
        report = self.graph.report()
        return {
            "nodes": report["nodes"],
            "kernels": report["kernels"],
            "compile_ms": report["compile_ms"],
            "pass_ms": report["pass_ms"],
        }


class Lowered:
    """A traced call after the optimiser: its graph, ready to be compiled."""

    def __init__(self, jitted: Any, info: dict[str, Any]) -> None:
        self._jitted = jitted
        self._info = info
        self.graph = info["graph"].optimised(exact=info["exact"], fast_math=info["fast_math"])

    def as_text(self) -> str:
        return str(self.graph)

    def compile(self) -> Compiled:
        return Compiled(self._jitted, self._info)


class TracedCall:
    """A traced call: the graph as the function was recorded, and the conditions under which it holds."""

    def __init__(self, jitted: Any, info: dict[str, Any]) -> None:
        self._jitted = jitted
        self._info = info
        self.graph = info["graph"]

    @property
    def guards(self) -> list[str]:
        info = self._info
        return [info["signature"], *info["size_guards"], *info["outcomes"], *info["guards"]]

    def lower(self) -> Lowered:
        return Lowered(self._jitted, self._info)

    def __repr__(self) -> str:
        return f"<traced call of {self._jitted.__name__}: {self._info['signature']}>"


def _zeros(leaf: Any) -> Any:
    """What stands for an array of which the shape and dtype alone are given."""
    if not isinstance(leaf, ShapeDtypeStruct):
        return leaf
    for size in leaf.shape:
        if isinstance(size, _intaglio.Dim):
            raise _errors.TypeError(
                f"a jitted function is traced for arrays of known sizes, and {size} is none",
                _intaglio._user_line(),
                why="it traces anew where sizes vary, and finds out itself which do",
                hint="give a number, or use ig.trace, which takes an ig.Dim",
            )
    return _functions.zeros(leaf.shape, dtype=leaf.dtype)


def _trace(self: Any, *args: Any, **kwargs: Any) -> TracedCall:
    """The trace of this call, recorded where there is none; nothing is run, written back or given away.

    A `ShapeDtypeStruct` stands for an array of zeros; what depends on values is a condition of the trace, as ever.
    """
    leaves, tree = _intaglio.tree_flatten((args, kwargs))
    args, kwargs = _intaglio.tree_unflatten(tree, [_zeros(leaf) for leaf in leaves])
    info = _intaglio._jit_run(self, *args, **kwargs)
    if info is None:
        why, where = _intaglio._jit_given_up(self)
        raise _errors.CaptureError(
            f"{self.__name__} runs op by op, so it has no trace",
            where,
            why=why,
            hint="keep the value in the graph: ig.where for a choice of values, ig.cond for a branch",
        )
    return TracedCall(self, {**info, "given": _given(self, args, kwargs)})


def _lower(self: Any, *args: Any, **kwargs: Any) -> Lowered:
    """`trace(...)` and the optimiser."""
    return _trace(self, *args, **kwargs).lower()


def _clear_cache(self: Any) -> None:
    """Forgets all traces."""
    _intaglio._jit_clear(self)


def _fast_math_lines(uses: dict[str, dict[str, Any]]) -> list[str]:
    """What each flag of fast_math did: how many nodes it changed, and which."""
    lines = []
    for flag, use in uses.items():
        places = use["places"]
        more = ", …" if use["changes"] > len(places) else ""
        nodes = f"{use['changes']} node{'' if use['changes'] == 1 else 's'}"
        lines.append(f"fast_math {flag}: {nodes}{': ' if places else ''}{', '.join(dict.fromkeys(places))}{more}")
    return lines


class CacheInfo(dict):  # type: ignore[type-arg]
    """What a jitted function holds: counts, and each trace with its conditions."""

    @property
    def memory(self) -> Memory:
        """What is held while each kernel of the last trace runs; of `ig.explain` alone.

        Raises
        ------
        ValueError
            Where there is no trace.
        """
        for entry in reversed(self["entries"]):
            if "memory" in entry:
                return entry["memory"]
        raise _errors.ValueError(
            f"{self['name']} has no plan of memory",
            _intaglio._user_line(),
            why="the function has no trace: it was not called yet, or it runs op by op",
            hint="call it, then ask ig.explain",
        )

    @property
    def fusion(self) -> Fusion:
        """Of each trace, what became one kernel and what did not, with the costs; of `ig.explain` alone."""
        return Fusion([(entry["signature"], entry["fusion"]) for entry in self["entries"] if "fusion" in entry])

    def __str__(self) -> str:
        lines = [f"{self['name']}: {self['traces']} traces, {self['hits']} hits"]
        if self["given_up"]:
            why, where = self["given_up"]
            lines.append(f"  runs op by op: {why} ({where})")
        for i, trace in enumerate(self["entries"]):
            lines.append(f"  trace {i}: {trace['signature']}")
            lines.append(f"    recorded because: {trace['reason']}")
            lines.append(
                f"    {trace['nodes']} nodes, traced in {trace['trace_ms']:.1f} ms, compiled in "
                f"{trace['compile_ms']:.1f} ms, run {trace['calls']} times"
            )
            if trace["prepared_bytes"]:
                lines.append(f"    weights laid out for its kernels: {trace['prepared_bytes']:,} bytes")
            if trace["computed_once"]:
                nodes = ", ".join(trace["computed_once"])
                lines.append(f"    computed once, not in each call: {nodes}; kept: {trace['computed_bytes']:,} bytes")
            lines += [f"    {line}" for line in _fast_math_lines(trace["fast_math"])]
            lines += [f"    fixed: {name} = {value!r}" for name, value in trace["static"].items()]
            for title, key in (
                ("size", "size_guards"),
                ("outcome", "outcomes"),
                ("outside", "guards"),
                ("not followed", "unknown"),
                ("specialised", "specialised"),
            ):
                lines += [f"    {title}: {line}" for line in trace[key]]
            lines += [f"    {line}" for line in trace["kept"].lines()] if "kept" in trace else []
        return "\n".join(lines)


def _cache_info(self: Any) -> CacheInfo:
    """Its traces: signatures, guards, outcomes, times, and why each was recorded."""
    entries = _intaglio._jit_traces(self)
    return CacheInfo(
        name=self.__name__,
        traces=len(entries),
        hits=_intaglio._jit_hits(self),
        given_up=_intaglio._jit_given_up(self),
        entries=entries,
    )


Jit.trace = _trace
Jit.lower = _lower
Jit.clear_cache = _clear_cache
Jit.cache_info = _cache_info
