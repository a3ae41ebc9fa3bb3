"""Intaglio: arrays, and graphs captured from array programs, compiled in the process.

>>> import intaglio as ig
>>> x = ig.asarray([1.0, 2.0])
>>> x + 1
Tensor([2., 3.], dtype=float32)
"""

from __future__ import annotations

import os as _os
from importlib import import_module as _import_module

from . import _errors, _intaglio
from ._errors import (
    CaptureError,
    Error,
    FloatingPointError,
    IndexError,
    InternalError,
    IOError,
    MemoryError,
    ParseError,
    ShapeError,
    TypeError,
    UnsupportedError,
    ValueError,
    VerifyError,
    ZeroDivisionError,
)

_intaglio._set_package_folder(_os.path.dirname(_os.path.abspath(__file__)) + _os.sep)

from . import _at, _functions, _numpy, _numpy_like, _numpy_numbers, _numpy_places, _numpy_sets
from ._intaglio import (
    Dim,
    Graph,
    OpCall,
    Tensor,
    TreeDef,
    _counters,
    _observe,
    asarray,
    bfloat16,
    block_until_compiled,
    bool,
    compiler_available,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    from_dlpack,
    get_num_threads,
    int8,
    int16,
    int32,
    int64,
    is_tracing,
    op_table,
    register_pytree,
    result_type,
    set_num_threads,
    tree_flatten,
    tree_unflatten,
    uint8,
    uint16,
    uint32,
    uint64,
)

for _more in (_numpy_like, _numpy_sets, _numpy_places, _numpy_numbers):
    _more.install()
_names = _functions.install()
_numpy.install()
_at.install()
globals().update({name: f for name, f in _names.items() if "." not in name})  # the others are modules' own

from ._autocast import autocast, get_autocast_dtype, is_autocast_enabled
from ._callbacks import io_callback, pure_callback, register_host_function
from ._collectives import all_gather, axis_index, axis_size, pmax, pmean, pmin, ppermute, psum
from ._control import cond, fori_loop, map, scan, switch, while_loop
from ._custom_rules import checkpoint, checkpoint_policies, custom_jvp, custom_vjp
from ._effects import check, debug_print
from ._explain import explain
from ._functional import ShapeDtypeStruct, associative_scan, eval_shape, vectorize
from ._info import __array_namespace_info__
from ._jit import jit
from ._modes import OpMode
from ._passes import default_pipeline, passes
from ._profile import profile
from ._record import Traced, name_scope, register_op, trace
from ._segments import segment_max, segment_min, segment_prod, segment_sum
from ._signature import TensorType
from ._transforms import (
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    saved_residuals,
    value_and_grad,
    vjp,
)
from ._vmap import vmap
from ._watch import debug_infs, debug_nans
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

from . import autograd, debug, linalg, random, tree  # isort: skip  (they are written on all of these)

array = asarray
tree_leaves = tree.leaves
tree_map = tree.map
tree_structure = tree.structure
e = 2.718281828459045
euler_gamma = 0.5772156649015329
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793

__version__ = "0.1.0"
__array_api_version__ = "2024.12"


# Imported when they are first asked for: they take as long as all the rest, and many programs need none of them.
_LATER = frozenset({"cache", "data", "fft", "nn", "optim", "special"})


def __getattr__(name: str) -> object:
    if name in _LATER:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({name for name in globals() if not name.startswith("_") or name.startswith("__")} | _LATER)
