"""`Module`: an object with named parameters, buffers and modules below it, and what trains and saves it.

A module is an ordinary Python object: parameters are arrays in its attributes, in lists and dicts too. It is a pytree,
so `ig.jit`, `ig.grad` and `ig.vmap` take it as an argument; and its arrays are handles, so an optimiser, or a layer
that keeps running statistics, binds them to new values in place, eagerly and under `ig.jit` alike.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from .. import _errors, _intaglio
from .._record import name_scope

Tensor = _intaglio.Tensor
M = TypeVar("M", bound="Module")


class _Mark:
    def __init__(self, data: Any, kind: str, persistent: bool) -> None:
        # A handle of the module's own: training binds it anew, and leaves the one that was passed as it is.
        # Of a leaf it is a leaf of its own.
        self.data = _intaglio._handle(data) if isinstance(data, Tensor) else _intaglio.asarray(data)
        if isinstance(data, Tensor) and not data.is_symbolic and _intaglio._on_tape(data):
            self.data = _intaglio._detached(data)
            if kind == "_parameters" and not _intaglio.is_tracing() and data.is_leaf:
                self.data.requires_grad_()
        self.kind, self.persistent = kind, persistent


def Parameter(data: Any) -> Tensor:
    """Marks an array as a parameter where it is assigned to a module: `self.weight = nn.Parameter(x)`.

    The attribute is then the array itself. Arrays that are assigned without a mark are constants of the module.
    """
    mark: Any = _Mark(data, "_parameters", True)
    return mark  # typed as what the attribute becomes


def Buffer(data: Any, persistent: bool = True) -> Tensor:
    """Marks an array as state that is saved with a module and is no parameter: running statistics, keys.

    `persistent=False` keeps it out of `state_dict`.
    """
    mark: Any = _Mark(data, "_buffers", persistent)
    return mark


_OWN = ("_parameters", "_buffers", "_transient", "_frozen", "_label", "_pre_hooks", "_hooks", "training")


class RemovableHook:
    """A hook of a module, which `remove()` takes away; as a context, at its end."""

    def __init__(self, module: Module, kind: str, hook: Callable[..., Any]) -> None:
        if not callable(hook):
            raise _errors.TypeError(
                f"a hook of a module is a function, not '{type(hook).__name__}'",
                _intaglio._user_line(),
                why="it is called whenever the module is",
                hint="pass a function of the module and its arguments",
            )
        self._module, self._kind = module, kind
        module.__dict__[kind] = (*module.__dict__[kind], (self, hook))

    def remove(self) -> None:
        """Takes the hook away; a second time it does nothing."""
        left = tuple(pair for pair in self._module.__dict__[self._kind] if pair[0] is not self)
        self._module.__dict__[self._kind] = left

    def __enter__(self) -> RemovableHook:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Module:
    """The base of all layers and models.

    A class of your own assigns its parameters and the modules that it is made of in `__init__`, and says what it
    computes in `forward` (or in `__call__`):

    >>> import intaglio as ig
    >>> from intaglio import nn
    >>> class Affine(nn.Module):
    ...     def __init__(self, n):
    ...         self.scale = nn.Parameter(ig.ones(n))
    ...         self.shift = nn.Parameter(ig.zeros(n))
    ...     def forward(self, x):
    ...         return x * self.scale + self.shift
    >>> model = Affine(2)
    >>> model(ig.asarray([1.0, 2.0]))
    Tensor([1., 2.], dtype=float32)
    >>> [(name, p.shape) for name, p in model.named_parameters()]
    [('scale', (2,)), ('shift', (2,))]
    """

    training: bool
    _parameters: dict[str, None]  # the names of attributes, in order
    _buffers: dict[str, None]
    _transient: set[str]  # buffers that are not saved
    _frozen: bool
    _label: str  # the path from the module that holds this one
    _pre_hooks: tuple[tuple[object, Callable[..., Any]], ...]  # each with the token that takes it away
    _hooks: tuple[tuple[object, Callable[..., Any]], ...]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        # Here and not in __init__, so that a class that forgets super().__init__() works.
        self.__dict__.update(_parameters={}, _buffers={}, _transient=set(), _frozen=False, _label="", training=True)
        self.__dict__.update(_pre_hooks=(), _hooks=())
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _intaglio.register_pytree(cls, _flatten, lambda aux, children: _unflatten(cls, aux, children))

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, _Mark):
            own["_parameters"].pop(name, None)
            own["_buffers"].pop(name, None)
            own["_transient"].discard(name)
            own[value.kind][name] = None
            if not value.persistent:
                own["_transient"].add(name)
            value = value.data
        elif not isinstance(value, Tensor) and (name in own["_parameters"] or name in own["_buffers"]):
            own["_parameters"].pop(name, None)
            own["_buffers"].pop(name, None)
        elif isinstance(value, Module):
            value.__dict__["_label"] = name
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                if isinstance(item, Module):
                    item.__dict__["_label"] = f"{name}.{i}"
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self.__dict__["_parameters"].pop(name, None)
        self.__dict__["_buffers"].pop(name, None)
        object.__delattr__(self, name)

    def register_parameter(self, name: str, data: Any) -> None:
        """As `self.name = nn.Parameter(data)`; None leaves the parameter out."""
        setattr(self, name, None if data is None else Parameter(data))

    def register_buffer(self, name: str, data: Any, persistent: bool = True) -> None:
        """As `self.name = nn.Buffer(data, persistent)`; None leaves the buffer out."""
        setattr(self, name, None if data is None else Buffer(data, persistent))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. A class of your own says it."""
        raise _errors.UnsupportedError(
            f"{type(self).__name__} does not say what it computes",
            _intaglio._user_line(),
            why="a module is called by its method `forward`, and the class has none",
            hint="write `def forward(self, x): ...` in the class",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._pre_hooks or self._hooks:
            return self._hooked(args, kwargs)
        if self._label and _intaglio.is_tracing():
            with name_scope(self._label):
                return self.forward(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with name_scope(self._label) if self._label and _intaglio.is_tracing() else contextlib.nullcontext():
            for _, before in self._pre_hooks:
                given = before(self, args)
                if given is not None:
                    args = given if isinstance(given, tuple) else (given,)
            output = self.forward(*args, **kwargs)
            for _, after in self._hooks:
                given = after(self, args, output)
                output = output if given is None else given
        return output

    # --- what it is made of ------------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below this one, in lists and dicts too, with their names ("layers.0")."""
        for name, value in self.__dict__.items():
            if name not in _OWN:
                yield from _modules_in(name, value)

    def children(self) -> Iterator[Module]:
        """The modules right below this one."""
        return (module for _, module in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, each once, with their paths ("encoder.layer.0"); its own is `prefix`."""
        seen: set[int] = set()

        def walk(path: str, module: Module) -> Iterator[tuple[str, Module]]:
            if id(module) in seen:
                return
            seen.add(id(module))
            yield path, module
            for name, child in module.named_children():
                yield from walk(f"{path}.{name}" if path else name, child)

        return walk(prefix, self)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The parameters with their paths ("encoder.weight"); one that is shared comes once."""
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """The parameters, each once."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths."""
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def _named(self, kind: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name in module.__dict__[kind]:
                value = module.__dict__[name]
                if id(value) not in seen:
                    seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def trainable_parameters(self) -> dict[str, Tensor]:
        """The parameters that are not frozen, by path."""
        seen: set[int] = set()
        out: dict[str, Tensor] = {}
        for path, module in self.named_modules():
            if module._frozen:
                continue
            for name in module._parameters:
                value = module.__dict__[name]
                if id(value) not in seen:
                    seen.add(id(value))
                    out[f"{path}.{name}" if path else name] = value
        return out

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Makes the parameters here and below leaves of eager autograd, for `loss.backward()`. Returns the module.

        They are not from the start, so that calling a model alone records nothing. Frozen modules keep theirs as they
        are where it is True.
        """
        for module in self.modules():
            for name in module._parameters:
                value = module.__dict__[name]
                if isinstance(value, Tensor) and not (requires_grad and module._frozen):
                    value.requires_grad_(requires_grad)
        return self

    def zero_grad(self) -> None:
        """Drops the gradients of the parameters, so that the next `backward()` begins anew."""
        for parameter in self.parameters():
            parameter.grad = None

    def num_parameters(self) -> int:
        """How many numbers the parameters hold."""
        return sum(p.size for p in self.parameters())

    def apply(self: M, function: Callable[[Module], Any]) -> M:
        """Calls `function` on all modules below this one, then on itself; for initialising. Returns the module."""
        for module in reversed(list(self.modules())):
            function(module)
        return self

    # --- modes -------------------------------------------------------------------------------------------------------

    def train(self: M, mode: bool = True) -> M:
        """Sets whether dropout drops and batch norm learns its statistics, here and below. Returns the module."""
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self: M) -> M:
        """As `train(False)`."""
        return self.train(False)

    def freeze(self: M, frozen: bool = True) -> M:
        """Keeps the parameters here and below as they are while the rest is trained. Returns the module."""
        for module in self.modules():
            object.__setattr__(module, "_frozen", frozen)
        return self

    def astype(self: M, dtype: Any) -> M:
        """Converts the floating-point parameters and buffers. Returns the module.

        A handle keeps its dtype, so the attributes are new arrays (one that is shared stays shared): make optimisers of
        the model after it, as in torch.
        """
        wanted = _intaglio.dtype(dtype)
        if wanted.kind != "real floating":
            raise _errors.TypeError(
                f"a module's parameters cannot be {wanted.name}",
                _intaglio._user_line(),
                why="those that are floating-point are converted to another floating-point type",
                hint="choose ig.float32, ig.float64, ig.bfloat16 or ig.float16",
            )
        made: dict[int, tuple[Tensor, Tensor]] = {}  # the old ones are held, so that their ids stay theirs
        for module in self.modules():
            for name in (*module._parameters, *module._buffers):
                old = module.__dict__[name]
                if not isinstance(old, Tensor) or old.dtype.kind != "real floating" or old.dtype == wanted:
                    continue
                if id(old) not in made:
                    new = _intaglio.op("convert")(_intaglio._detached(old), dtype=wanted)
                    made[id(old)] = old, new.requires_grad_() if old.requires_grad else new
                module.__dict__[name] = made[id(old)][1]
        return self

    def to(self: M, dtype: Any) -> M:
        """As `astype`; "cpu", the only device, leaves the module as it is."""
        return self if dtype == "cpu" else self.astype(dtype)

    def float(self: M) -> M:
        """As `astype("float32")`."""
        return self.astype("float32")

    def double(self: M) -> M:
        """As `astype("float64")`."""
        return self.astype("float64")

    def half(self: M) -> M:
        """As `astype("float16")`."""
        return self.astype("float16")

    def bfloat16(self: M) -> M:
        """As `astype("bfloat16")`."""
        return self.astype("bfloat16")

    # --- hooks -------------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Callable[[Module, tuple[Any, ...]], Any]) -> RemovableHook:
        """Calls `hook(module, args)` before `forward`; what it gives, if not None, are the arguments instead."""
        return RemovableHook(self, "_pre_hooks", hook)

    def register_forward_hook(self, hook: Callable[[Module, tuple[Any, ...], Any], Any]) -> RemovableHook:
        """Calls `hook(module, args, output)` after `forward`; what it gives, if not None, is the output instead.

        Returns what takes it away again, by `remove()`.

        >>> import intaglio as ig
        >>> from intaglio import nn
        >>> layer = nn.Linear(2, 3, key=ig.random.key(0))
        >>> seen = []
        >>> hook = layer.register_forward_hook(lambda module, args, output: seen.append(output.shape))
        >>> _ = layer(ig.ones((4, 2)))
        >>> hook.remove()
        >>> seen
        [(4, 3)]
        """
        return RemovableHook(self, "_hooks", hook)

    # --- saving ------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """All parameters and persistent buffers by path, as values of their own: later training leaves them alone."""
        out: dict[str, Tensor] = {}
        for path, module in self.named_modules():
            for name in (*module._parameters, *module._buffers):
                if name not in module._transient:
                    out[f"{path}.{name}" if path else name] = module.__dict__[name].detach()
        return out

    def load_state_dict(self: M, state: Mapping[str, Any], strict: bool = True) -> M:
        """Takes the arrays of `state` (Intaglio's, NumPy's, or any with DLPack) as parameters and buffers.

        Error: `ig.ValueError` where `strict` and a name is missing or unknown; `ig.ShapeError` for another shape. All
        is checked before anything changes. Returns the module.
        """
        own = {
            f"{path}.{name}" if path else name: module.__dict__[name]
            for path, module in self.named_modules()
            for name in (*module._parameters, *module._buffers)
            if name not in module._transient
        }
        missing, unknown = [n for n in own if n not in state], [n for n in state if n not in own]
        if strict and (missing or unknown):
            said = [
                f"{what}: {', '.join(names)}" for what, names in (("missing", missing), ("unknown", unknown)) if names
            ]
            raise _errors.ValueError(
                f"the state does not fit {type(self).__name__}: {'; '.join(said)}",
                _intaglio._user_line(),
                why="each parameter and buffer takes the array of its own path",
                hint="make the model as it was when it was saved, or pass strict=False to take what fits",
            )
        ready: list[tuple[Tensor, Tensor]] = []
        for name, handle in own.items():
            if name not in state:
                continue
            value = state[name]
            value = value if isinstance(value, Tensor) else _intaglio.asarray(value)
            if tuple(value.shape) != tuple(handle.shape):
                raise _errors.ShapeError(
                    f"the state has {name} of shape {tuple(value.shape)}, but the model's is {tuple(handle.shape)}",
                    _intaglio._user_line(),
                    why="an array is taken as it is, never broadcast",
                    hint="make the model with the sizes that it was saved with",
                )
            if value.dtype != handle.dtype:
                value = _intaglio.op("convert")(value, dtype=handle.dtype)
            ready.append((handle, value))
        for handle, value in ready:
            _intaglio._set_value(handle, value)
        return self

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes `state_dict` to a safetensors file, which every framework reads."""
        from ._files import save_arrays

        save_arrays(file, self.state_dict())

    def load(self: M, file: str | os.PathLike[str], strict: bool = True) -> M:
        """Takes a safetensors file's arrays, as `load_state_dict` does. Error: `ig.IOError` for a damaged file."""
        from ._files import load_arrays

        return self.load_state_dict(load_arrays(file), strict)

    # --- looking at it -----------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the brackets of the module's own line in `repr`."""
        return ""

    def __repr__(self) -> str:
        lines = [f"  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in self.named_children()]
        own = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({own})"
        return "\n".join([f"{type(self).__name__}({own}", *lines, ")"])


def _modules_in(name: str, value: Any) -> Iterator[tuple[str, Module]]:
    if isinstance(value, Module):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _modules_in(f"{name}.{i}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _modules_in(f"{name}.{key}", item)


# --- a module as a tree: attributes that hold arrays are its children, all others say what it is --------------------


def _holds_arrays(value: Any) -> bool:
    if isinstance(value, (Tensor, Module)):
        return True
    if isinstance(value, (list, tuple)):
        return any(_holds_arrays(v) for v in value)
    return isinstance(value, dict) and any(_holds_arrays(v) for v in value.values())


class _Kind:
    """What a module is beside its arrays; two are equal where all attributes are."""

    def __init__(self, names: tuple[str, ...], rest: dict[str, Any]) -> None:
        self.names, self.rest = names, rest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and self.names == other.names and self.rest == other.rest

    def __hash__(self) -> int:
        return hash((self.names, tuple(self.rest)))

    def __repr__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.rest.items() if not name.startswith("_"))


def _flatten(module: Module) -> tuple[list[Any], _Kind]:
    held = {name: value for name, value in module.__dict__.items() if _holds_arrays(value)}
    rest = {name: value for name, value in module.__dict__.items() if name not in held}
    return list(held.values()), _Kind(tuple(held), rest)


def _unflatten(cls: type[Module], kind: _Kind, children: Any) -> Module:
    module = object.__new__(cls)
    rest = {name: dict(v) if name in ("_parameters", "_buffers") else v for name, v in kind.rest.items()}
    module.__dict__.update(rest)
    module.__dict__.update(zip(kind.names, children, strict=True))
    return module
