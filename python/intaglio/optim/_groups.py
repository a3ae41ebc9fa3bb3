"""Groups of an optimiser's parameters, each with options of its own."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from .. import _errors, _functions, _intaglio

Tensor = _intaglio.Tensor


def named(params: Any, start: int = 0) -> dict[str, Tensor]:
    """Parameters by name; those that have none are counted from `start` on."""
    if hasattr(params, "trainable_parameters"):
        return dict(params.trainable_parameters())
    if isinstance(params, Mapping):
        return dict(params)
    if isinstance(params, Iterable) and not isinstance(params, Tensor):
        items = list(params)
        if items and all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in items):
            return dict(items)
        return {str(start + i): p for i, p in enumerate(items)}
    raise _errors.TypeError(
        f"an optimiser is made of parameters, not of {type(params).__name__}",
        _intaglio._user_line(),
        why="it moves each array that it was made of",
        hint="pass the model, model.parameters(), or a dict of arrays by name",
    )


def are_groups(params: Any) -> bool:
    """Whether these are dicts with "params" in a list, and no arrays."""
    return isinstance(params, (list, tuple)) and any(isinstance(p, Mapping) and "params" in p for p in params)


def options_of(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What an optimiser is made with beside its parameters, by name."""
    try:
        bound = inspect.signature(cls).bind(*args, **kwargs)
    except TypeError:
        return {}  # the constructor says what is wrong
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name != "params"}


class ParamGroup(MutableMapping[str, Any]):
    """The parameters of a group and its options, as an entry of `optimizer.param_groups`.

    `group["lr"]` is a number, or a schedule; setting it compiles nothing again. Other options are part of a compiled
    step: setting one records it anew.
    """

    def __init__(self, rule: Any, params: dict[str, Tensor], count: Tensor) -> None:
        self.rule, self.params, self.count = rule, params, count
        self.extra: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name == "params":
            return list(self.params.values())
        if name == "lr":
            return self.rule.rate if callable(self.rule.rate) else self.rule._exact
        return self.extra[name] if name in self.extra else self.rule._options[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "lr":
            self.rule._set_rate(value)
        elif name in self.rule._options and name != "params":
            fresh = type(self.rule)(None, **{**self.rule._options, "lr": self["lr"], name: value})
            _same_slots(self.rule, fresh, name)
            # What an optimiser remembers stays: set is what follows from the option alone.
            kept = ("rate", "params", "state", "groups")
            before = vars(type(self.rule)(None, **{**self.rule._options, "lr": self["lr"]}))
            changed = {k: v for k, v in vars(fresh).items() if k not in kept and v != before[k]}
            self.rule.__dict__.update(changed)
        else:
            self.extra[name] = value

    def __delitem__(self, name: str) -> None:
        del self.extra[name]

    def __iter__(self) -> Iterator[str]:
        return iter(["params", "lr", *(name for name in self.rule._options if name != "lr"), *self.extra])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={self[name]!r}" for name in self if name != "params")
        return f"ParamGroup({len(self.params)} parameters, {options})"


def _same_slots(base: Any, rule: Any, what: str) -> None:
    if rule.slots != base.slots:
        raise _errors.ValueError(
            f"{type(base).__name__}: {what} changes what is kept for each parameter, from "
            f"{', '.join(base.slots) or 'nothing'} to {', '.join(rule.slots) or 'nothing'}",
            _intaglio._user_line(),
            why="all groups keep the same state, as the optimiser was made with",
            hint="make the optimiser itself with that option, and give the other groups a small value of it",
        )


def made_of(optimizer: Any, given: Mapping[str, Any], count: Tensor) -> ParamGroup:
    """A group of these parameters and options; what it does not say is the optimiser's own."""
    options = {name: value for name, value in given.items() if name != "params"}
    unknown = [name for name in options if name not in optimizer._options]
    if unknown or "params" not in given:
        raise _errors.ValueError(
            f"{type(optimizer).__name__}: a group "
            + (f"has the unknown options {', '.join(unknown)}" if unknown else "has no params"),
            _intaglio._user_line(),
            why='a group is a dict of "params" and of the options that the optimiser takes',
            hint=f"options are {', '.join(optimizer._options)}",
        )
    known = {id(p): name for group in optimizer.groups for name, p in group.params.items()}
    single = isinstance(given["params"], Tensor)
    params = named([given["params"]] if single else given["params"], len(optimizer.params))
    for name, param in params.items():
        if name in optimizer.params or id(param) in known:
            raise _errors.ValueError(
                f"{type(optimizer).__name__}: the parameter {name} stands in two groups",
                _intaglio._user_line(),
                why="a parameter moves by the options of one group, and its name stands for its gradient and state",
                hint="leave it out of one of them; named_parameters(prefix) gives the parts of a model names of their "
                "own",
            )
    rule = type(optimizer)(None, **{**optimizer._options, **options})
    _same_slots(optimizer, rule, ", ".join(options))
    return ParamGroup(rule, params, count)


def own_count() -> Tensor:
    """A count of steps that starts now."""
    return _functions.zeros((), dtype="int64")
