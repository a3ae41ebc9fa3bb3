"""NumPy: `np.sin(x)` and `np.concatenate([x, y])` on Intaglio's arrays, and the passage of values there and back."""

from __future__ import annotations

from typing import Any

from . import _errors, _intaglio

Tensor = _intaglio.Tensor
functions: dict[str, Any] = _intaglio.functions

_UFUNCS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "power": "pow",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
}
_REDUCE = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_ACCUMULATE = {"add": "cumulative_sum", "multiply": "cumulative_prod"}
# Folds, whose arguments that were left out come as a value of NumPy's own.
_FOLDS = {
    *("sum", "prod", "mean", "std", "var", "max", "min", "amax", "amin", "all", "any", "average", "median", "ptp"),
    *("nanmedian", "nanquantile", "nanpercentile", "nanargmax", "nanargmin"),
    *("nansum", "nanprod", "nanmean", "nanstd", "nanvar", "nanmax", "nanmin", "quantile", "percentile", "diff"),
}
# Those that compute in the dtype that is asked for: their elements are converted first.
_COMPUTED_IN_DTYPE = {
    *("sum", "prod", "cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "mean", "std", "var", "trace", "einsum"),
    *("nansum", "nanprod", "nancumsum", "nancumprod", "nanmean", "nanstd", "nanvar"),
}
# Functions that give a bool of Python's, where the arrays have values.
_TRUTHS = ("allclose", "array_equal")
# Functions that write into their first argument: the handle is bound to what ours give.
_WRITES = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
_FUNCTIONS = {
    "concatenate": "concat",
    "amax": "max",
    "amin": "min",
    "around": "round",
    "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod",
    "transpose": "transpose",
    "absolute": "abs",
}


def to_numpy(x: Tensor) -> Any:
    """The values as a NumPy array that shares them and cannot be written."""
    import numpy

    if x.dtype == _intaglio.bfloat16:
        try:
            import ml_dtypes
        except ImportError:
            raise _errors.TypeError(
                "NumPy itself has no bfloat16",
                _intaglio._user_line(),
                why="the type comes with the package ml_dtypes, which is not installed",
                hint="install ml_dtypes, or convert with ig.astype(x, ig.float32) first",
            ) from None
        return numpy.asarray(memoryview(_intaglio._bits(x))).view(ml_dtypes.bfloat16)
    return numpy.asarray(memoryview(_intaglio._concrete(x)))


def numpy_method(self: Tensor) -> Any:
    """The values as a NumPy array that shares them and cannot be written."""
    return to_numpy(self)


def array_method(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    values = to_numpy(self)
    if dtype is not None and values.dtype != dtype:
        if copy is False:
            raise _errors.ValueError(
                "__array__: another dtype needs a copy",
                _intaglio._user_line(),
                why="copy=False asks for the array's own bytes",
                hint="leave `copy` out, or convert first: x.astype(dtype)",
            )
        return values.astype(dtype)
    return values.copy() if copy else values


def _find(name: str) -> Any:
    return functions.get(name)


def _finish(result: Any, out: Any, dtype: Any) -> Any:
    if dtype is not None and isinstance(result, Tensor):
        result = functions["astype"](result, dtype)
    if out is None:
        return result
    target = out[0] if isinstance(out, tuple) else out
    if isinstance(target, Tensor):
        target[...] = result
        return target
    import numpy

    numpy.copyto(target, result.numpy())
    return target


def _is_ours(value: Any) -> bool:
    import numpy

    return isinstance(value, (Tensor, numpy.ndarray, numpy.generic, int, float, complex, bool, list, tuple))


def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    out, dtype, where = options.pop("out", None), options.pop("dtype", None), options.pop("where", True)
    casting = options.pop("casting", "same_kind") if method in ("__call__", "outer") else "unsafe"  # as NumPy's folds
    for ignored in ("order", "subok"):
        options.pop(ignored, None)
    if not all(_is_ours(value) for value in inputs):
        return NotImplemented
    # NumPy's own scalars count as Python's: they take the dtype of the array.
    arrays = [functions_asarray(value) if isinstance(value, (list, tuple)) else value for value in inputs]
    name = ufunc.__name__
    if dtype is not None and any(not kinds.endswith("?") for kinds in ufunc.types):
        computed = 1 if name == "ldexp" else len(arrays)  # whose second operand stays an integer
        arrays[:computed] = [_converted(a, dtype, casting, name) for a in arrays[:computed]]
    if method == "__call__" and not options:
        function = _find(_UFUNCS.get(name, name))
        if function is None:
            return NotImplemented
        result = function(*arrays)
        if where is not True:
            if out is None:
                raise _errors.ValueError(
                    f"np.{name}: `where` needs `out`",
                    _intaglio._user_line(),
                    why="NumPy leaves the other elements of a new array undefined",
                    hint="use ig.where(condition, result, other), or give `out`",
                )
            result = functions["where"](where, result, out[0] if isinstance(out, tuple) else out)
        return _finish(result, out, dtype)
    if where is not True:
        return NotImplemented
    if method == "reduce" and name in _REDUCE:
        axis, keepdims = options.pop("axis", 0), options.pop("keepdims", False)
        if options:
            return NotImplemented
        return _finish(functions[_REDUCE[name]](arrays[0], axis=axis, keepdims=keepdims), out, dtype)
    if method == "accumulate" and name in _ACCUMULATE:
        axis = options.pop("axis", 0)
        if options:
            return NotImplemented
        return _finish(functions[_ACCUMULATE[name]](arrays[0], axis=axis), out, dtype)
    if method == "outer" and not options:
        a, b = (functions_asarray(v) for v in arrays)
        wide = functions["reshape"](a, tuple(a.shape) + (1,) * b.ndim)
        return _finish(_find(_UFUNCS.get(name, name))(wide, b), out, dtype)
    return NotImplemented


# An operand of a ufunc that computes in this dtype, as NumPy converts it: an error where that would lose more than
# precision, unless the caller allows it.
def _converted(value: Any, dtype: Any, casting: Any, name: str) -> Any:
    import numpy

    if isinstance(value, numpy.ndarray):
        value = functions_asarray(value)
    if not isinstance(value, Tensor):
        return value
    asked = _intaglio.dtype(dtype)
    given, wanted = ("float32" if d == "bfloat16" else d for d in (value.dtype.name, asked.name))
    if not numpy.can_cast(given, wanted, casting):
        raise _errors.TypeError(
            f"np.{name}: an array of {value.dtype.name} is not computed in {asked.name}",
            _intaglio._user_line(),
            why=f"with casting={casting!r} NumPy converts no {value.dtype.name} to {asked.name}",
            hint="convert it yourself where that is meant: x.astype(dtype)",
        )
    return functions["astype"](value, dtype)


def functions_asarray(value: Any) -> Tensor:
    return _intaglio.asarray(value)


def array_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    name = func.__name__
    function = _find(_FUNCTIONS.get(name, name))
    if func.__module__ == "numpy.linalg":
        from . import linalg

        function = getattr(linalg, name, None) if name in linalg.__all__ else None
        if name in ("eigh", "eigvalsh") and len(args) == 1:
            kwargs = {"UPLO": "L", **kwargs}  # which ours reads only if told
    if func.__module__ == "numpy.fft":
        from . import fft

        function = getattr(fft, name, None) if name in fft.__all__ else None
    if function is None or (name in _TRUTHS and not any(_is_symbolic(arg) for arg in args)):
        # Arrays with values are NumPy's as well; the result is NumPy's then.
        return func(*_to_numpy(args, name), **_to_numpy(kwargs, name))
    if name in _WRITES:
        args[0][...] = function(*args, **kwargs)
        return None
    out, dtype = kwargs.pop("out", None), kwargs.pop("dtype", None)
    if dtype is not None:
        if name in _COMPUTED_IN_DTYPE:
            args = [functions["astype"](a, dtype) if isinstance(a, Tensor) else a for a in args]
        import inspect

        if "dtype" in inspect.signature(function).parameters:
            kwargs["dtype"] = dtype
    if "ddof" in kwargs and name in ("std", "var", "nanstd", "nanvar"):
        kwargs["correction"] = kwargs.pop("ddof")
    if name in _FOLDS:
        kwargs = {key: value for key, value in kwargs.items() if type(value).__name__ != "_NoValueType"}
    return _finish(function(*args, **kwargs), out, dtype)


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_symbolic


def _to_numpy(value: Any, name: str) -> Any:
    if isinstance(value, Tensor):
        if value.is_symbolic:
            raise _errors.TypeError(
                f"np.{name} has no counterpart here, so it cannot be captured",
                _intaglio._user_line(),
                why="it computes on NumPy's arrays, and a traced array has no values yet",
                hint="write it with functions of this library, or call it outside of the captured function",
            )
        return numpy_method(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_to_numpy(item, name) for item in value)
    if isinstance(value, dict):
        return {key: _to_numpy(item, name) for key, item in value.items()}
    return value


def array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    import intaglio

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise _errors.ValueError(
            f"the array API version {api_version!r} is not implemented",
            _intaglio._user_line(),
            why="the functions follow one version of the standard",
            hint="the newest one here is '2024.12'",
        )
    return intaglio


def rebuild(dtype: str, shape: tuple[int, ...], data: bytes, requires_grad: bool = False) -> Tensor:
    """Unpickling."""
    out = _intaglio._from_bytes(dtype, shape, data)
    if requires_grad and not _intaglio._grad_mode()[1]:  # in inference mode nothing begins to require grad
        _intaglio._set_requires_grad(out, True)
    return out


def rebuild_graph(data: bytes) -> Any:
    """Unpickling."""
    return _intaglio.Graph.from_binary(data)


def format_method(self: Tensor, spec: str) -> str:
    """As Python formats the one element; with no format, as `str`."""
    if not spec:
        return str(self)
    if self.shape:
        raise _errors.TypeError(
            f"a format ({spec!r}) needs an array of one element without axes, not of shape {self.shape}",
            _intaglio._user_line(),
            why="a format is for one number",
            hint="format x.item(), or each of x.tolist()",
        )
    return format(self.item(), spec)


def reduce(self: Tensor) -> Any:
    values = _intaglio._concrete(self)
    # A leaf comes back as one; a computed array as its value.
    leaf = _intaglio._on_tape(self) and not _intaglio.is_tracing() and self.is_leaf
    return rebuild, (values.dtype.name, values.shape, _intaglio._to_bytes(values), leaf)


def install() -> None:
    methods = {
        "numpy": numpy_method,
        "__array__": array_method,
        "__array_ufunc__": array_ufunc,
        "__array_function__": array_function,
        "__array_namespace__": array_namespace,
        "__reduce__": reduce,
        "__format__": format_method,
    }
    for name, method in methods.items():
        setattr(Tensor, name, method)
