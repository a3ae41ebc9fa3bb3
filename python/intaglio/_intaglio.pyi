# Written by scripts/generate_docs.py out of the op table and, for what is no op, out of the extension module.
import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, Self

from ._at import At
from ._errors import Error as Error
from .autograd import RemovableHandle

class _SupportsArray(Protocol):
    def __array__(self) -> Any: ...

# Numbers, nested sequences of them, and arrays of any library. (int and float are complex to a type checker.)
ArrayLike = Tensor | builtins.complex | _SupportsArray | Sequence[Any]
DTypeLike = dtype | str | type[Any]

class dtype:
    """An element type. Equal to its name and to NumPy's dtype of that name."""

    def __init__(self, name: DTypeLike, /) -> None: ...
    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def itemsize(self) -> int: ...

_DType = dtype

class OpFunction:
    """A function of the op table."""

    op: str
    __name__: str
    def __call__(self, *args: Any, **options: Any) -> Any: ...

def _set_package_folder(arg: str, /) -> None: ...

def compiler_available() -> builtins.bool: ...

def set_num_threads(count: int) -> None: ...

def get_num_threads() -> int: ...

def block_until_compiled() -> None: ...

def _pause_background() -> None: ...

def _resume_background() -> None: ...

def _end_background() -> None: ...

bool: dtype = ...

int8: dtype = ...

int16: dtype = ...

int32: dtype = ...

int64: dtype = ...

uint8: dtype = ...

uint16: dtype = ...

uint32: dtype = ...

uint64: dtype = ...

float16: dtype = ...

bfloat16: dtype = ...

float32: dtype = ...

float64: dtype = ...

complex64: dtype = ...

complex128: dtype = ...

key: dtype = ...

def _bind(handle: Any, value: Any) -> None: ...

def _same_value(arg0: Any, arg1: Any, /) -> builtins.bool: ...

def _held(x: Any) -> Any: ...

def _handle(x: Any) -> Any: ...

def _updated(x: Any, key: Any, value: Any, way: str, mode: str | None) -> Any: ...

def _taken(x: Any, key: Any, mode: str | None, fill: Any) -> Any: ...

class Dim:
    def __init__(self, name: str, min: int = 0, max: int | None = None) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def min(self) -> int: ...

    @property
    def max(self) -> int | None: ...

    @property
    def declared(self) -> builtins.bool: ...

    def __repr__(self) -> str: ...

    def __str__(self) -> str: ...

    def __hash__(self) -> int: ...

    def __int__(self) -> int: ...

    def __index__(self) -> int: ...

    def __float__(self) -> float: ...

    def __bool__(self) -> builtins.bool: ...

    def __add__(self, arg: Any, /) -> Any: ...

    def __radd__(self, arg: Any, /) -> Any: ...

    def __sub__(self, arg: Any, /) -> Any: ...

    def __rsub__(self, arg: Any, /) -> Any: ...

    def __mul__(self, arg: Any, /) -> Any: ...

    def __rmul__(self, arg: Any, /) -> Any: ...

    def __floordiv__(self, arg: Any, /) -> Any: ...

    def __rfloordiv__(self, arg: Any, /) -> Any: ...

    def __mod__(self, arg: Any, /) -> Any: ...

    def __rmod__(self, arg: Any, /) -> Any: ...

    def __neg__(self) -> Any: ...

    def __eq__(self, arg: object, /) -> Any: ...

    def __ne__(self, arg: object, /) -> Any: ...

    def __le__(self, arg: Any, /) -> builtins.bool: ...

    def __ge__(self, arg: Any, /) -> builtins.bool: ...

    def __lt__(self, arg: Any, /) -> builtins.bool: ...

    def __gt__(self, arg: Any, /) -> builtins.bool: ...

def _dim_min(arg0: Any, arg1: Any, /) -> Any: ...

def _dim_max(arg0: Any, arg1: Any, /) -> Any: ...

def _dim_parse(arg: str, /) -> Any: ...

functions: dict[str, Any] = ...

def op(name: str) -> Any: ...

def has_op(name: str) -> builtins.bool: ...

def _count_form(general: Any, direct: Any, count: int) -> Any: ...

def _fold_form(general: Any, direct: Any) -> Any: ...

def _join_form(general: Any, direct: Any) -> Any: ...

class OpCall:
    @property
    def name(self) -> str: ...

    @property
    def function(self) -> str: ...

    @property
    def operands(self) -> tuple[Any, ...]: ...

    @property
    def attrs(self) -> dict[str, Any]: ...

    @property
    def where(self) -> str: ...

    @property
    def captured(self) -> builtins.bool: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __repr__(self) -> str: ...

def _enter_mode(arg: Any, /) -> None: ...

def _leave_mode(arg: Any, /) -> None: ...

def op_table() -> list[Any]: ...

def _reference(arg0: str, arg1: Any, arg2: str, /) -> Any: ...

def _apply(arg0: str, arg1: Any, arg2: str, /) -> Any: ...

def _infer(arg0: str, arg1: Sequence[str], arg2: str, /) -> list[str]: ...

def _graph_of(arg0: str, arg1: Sequence[tuple[str, Sequence[str], str]], arg2: Mapping[str, int], /) -> Any: ...

def _parse_attrs(arg0: str, arg1: str, /) -> dict[str, Any]: ...

def result_type(*args: Any) -> Any: ...

def _result_type(arg0: str, /, *args: Any) -> Any: ...

def _promote(arg0: Any, arg1: Any, /) -> Any: ...

def _counters() -> dict[str, Any]: ...

def _register_op(name: str, doc: str, operands: Any, attrs: Any, infer: Any, reference: Any, body: Any, elementwise: builtins.bool, results: int, numpy: str) -> Any: ...

def asarray(data: ArrayLike, dtype: DTypeLike | None = None, *, device: str | None = None, copy: builtins.bool | None = None, requires_grad: builtins.bool = False) -> Tensor: ...

def from_dlpack(x: Any, /, *, device: str | None = None, copy: builtins.bool | None = None) -> Tensor: ...

def _arange(arg0: Any, arg1: Any, arg2: Any, arg3: Any, /) -> Any: ...

def _linspace(arg0: float, arg1: float, arg2: int, arg3: builtins.bool, arg4: Any, /) -> Any: ...

def _filled(shape: Any, value: Any, dtype: Any) -> Any: ...

def _convert(arg0: Any, arg1: Any, /) -> Any: ...

def _user_line() -> str: ...

def _concrete(arg: Any, /) -> Any: ...

def _bits(arg: Any, /) -> Any: ...

def _to_bytes(arg: Any, /) -> bytes: ...

def _from_bytes(arg0: str, arg1: Sequence[int], arg2: bytes, /) -> Any: ...

class FusionReport:
    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    @property
    def kernels(self) -> list[Any]: ...

    @property
    def refused(self) -> list[Any]: ...

    def why(self, node: str) -> str: ...

class Graph:
    @staticmethod
    def parse(text: builtins.str, file: builtins.str = '<text>') -> Graph: ...

    @staticmethod
    def from_binary(data: bytes) -> Graph: ...

    def to_binary(self) -> bytes: ...

    def __str__(self) -> builtins.str: ...

    def str(self, locations: builtins.bool = False) -> builtins.str: ...

    def __repr__(self) -> builtins.str: ...

    def __reduce__(self) -> tuple[Any, ...]: ...

    @property
    def name(self) -> builtins.str: ...

    @name.setter
    def name(self, arg: builtins.str, /) -> None: ...

    def verify(self) -> None: ...

    def hash(self) -> builtins.str: ...

    def canonical_hash(self) -> builtins.str: ...

    def __eq__(self, other: Any) -> builtins.bool: ...

    def __hash__(self) -> int: ...

    def __len__(self) -> int: ...

    @property
    def inputs(self) -> list[Any]: ...

    @property
    def outputs(self) -> list[Any]: ...

    @property
    def nodes(self) -> list[Any]: ...

    @property
    def symbols(self) -> dict[builtins.str, Any]: ...

    def evaluate(self, *args: Any) -> Any: ...

    def compile(self, disable: Sequence[builtins.str] = [], target: builtins.str = '', exact: builtins.bool = False, fast_math: Any = False) -> Graph: ...

    def report(self) -> dict[builtins.str, Any]: ...

    def fusion(self) -> FusionReport: ...

    def optimised(self, passes: Sequence[builtins.str] | None = None, disable: Sequence[builtins.str] = [], exact: builtins.bool = False, verify: builtins.bool = False, fast_math: Any = False) -> Graph: ...

    def refined(self, sizes: Mapping[builtins.str, int]) -> Graph: ...

    @property
    def pass_reports(self) -> list[Any]: ...

    def assembly(self) -> builtins.str: ...

    def _run_op_by_op(self, *args: Any) -> Any: ...

    def __call__(self, *args: Any) -> Any: ...

def _passes() -> tuple[Any, ...]: ...

class TreeDef:
    def __repr__(self) -> builtins.str: ...

    def __eq__(self, arg: object, /) -> builtins.bool: ...

    def __hash__(self) -> int: ...

    @property
    def num_leaves(self) -> int: ...

    def paths(self) -> list[builtins.str]: ...

    def _parts(self, tree: Any) -> tuple[Any, ...]: ...

def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[Any, ...]: ...

def tree_unflatten(treedef: TreeDef, leaves: Any) -> Any: ...

def _spread_prefix(prefix: Any, tree: TreeDef) -> tuple[Any, ...]: ...

def register_pytree(type: Any, flatten: Any, unflatten: Any) -> None: ...

def _trace(arg0: Callable[..., Any], arg1: Any, arg2: Any, arg3: Any, arg4: builtins.str, arg5: builtins.bool, /) -> tuple[Any, ...]: ...

class _Region:
    @property
    def ranks(self) -> list[Any]: ...

def _capture_region(arg0: Callable[..., Any], arg1: Any, arg2: builtins.str, /) -> _Region: ...

def _record_control(arg0: builtins.str, arg1: Any, arg2: Any, arg3: Any, arg4: dict[builtins.str, Any], /) -> list[Any]: ...

def _call_batched(arg0: Any, arg1: Any, arg2: Sequence[int], arg3: Any, arg4: Sequence[int], arg5: builtins.str, arg6: Sequence[builtins.str], /) -> list[Any]: ...

def is_tracing() -> builtins.bool: ...

def _capture() -> int: ...

def _push_scope(arg: builtins.str, /) -> None: ...

def _pop_scope() -> None: ...

def _capture_function(arg0: Callable[..., Any], arg1: Any, arg2: Sequence[builtins.str], arg3: builtins.str, /) -> tuple[Any, ...]: ...

def _apply_graph(arg0: Any, arg1: Any, /) -> list[Any]: ...

def _graph_value_and_grad(arg0: Any, arg1: Any, /) -> Any: ...

def _graph_jvp(arg0: Any, arg1: Any, arg2: Any, /) -> Any: ...

def _graph_linearize(arg0: Any, arg1: Any, arg2: Any, /) -> tuple[Any, ...]: ...

def _graph_vjp(arg0: Any, arg1: Any, arg2: Any, /) -> tuple[Any, ...]: ...

def _graph_transpose(arg0: Any, arg1: Any, arg2: Any, /) -> Any: ...

def _effect_print(arg0: builtins.str, arg1: Any, /) -> None: ...

def _effect_check(arg0: Any, arg1: builtins.str, arg2: builtins.str, arg3: builtins.str, arg4: Any, /) -> None: ...

def _watched_everywhere() -> int: ...

def _watch_everywhere(bits: int) -> None: ...

def _watched() -> int: ...

def _watch_here(bits: int) -> int: ...

def _host_call(host: Any, label: builtins.str, arguments: Any, results: Any, structure: builtins.str, vmap_method: builtins.str | None, effect: builtins.bool) -> list[Any]: ...

def _register_host(name: builtins.str, host: Any) -> None: ...

def _host_place() -> builtins.str: ...

class GradNode:
    @property
    def name(self) -> builtins.str: ...

    @property
    def next_functions(self) -> tuple[Any, ...]: ...

    @property
    def location(self) -> builtins.str: ...

    def __eq__(self, arg: object, /) -> builtins.bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> builtins.str: ...

def _on_tape(arg: Any, /) -> builtins.bool: ...

def _requires_grad(arg: Any, /) -> builtins.bool: ...

def _set_requires_grad(arg0: Any, arg1: builtins.bool, /) -> None: ...

def _is_leaf(arg: Any, /) -> builtins.bool: ...

def _grad_fn(arg: Any, /) -> Any: ...

def _writes_back() -> builtins.bool: ...

def _get_grad(arg: Any, /) -> Any: ...

def _set_grad(x: Any, value: Any) -> None: ...

def _detached(arg: Any, /) -> Any: ...

def _set_value(arg0: Any, arg1: Any, /) -> None: ...

def _add_grad(arg0: Any, arg1: Any, /) -> None: ...

def _retain_grad(arg: Any, /) -> None: ...

def _retains_grad(arg: Any, /) -> builtins.bool: ...

def _add_hook(arg0: Any, arg1: Any, /) -> Any: ...

def _backward(outputs: Any, gradients: Any, retain_graph: builtins.bool, create_graph: builtins.bool) -> None: ...

def _tape_grad(outputs: Any, inputs: Any, gradients: Any, retain_graph: builtins.bool, create_graph: builtins.bool) -> list[Any]: ...

def _grad_mode() -> tuple[Any, ...]: ...

def is_grad_enabled() -> builtins.bool: ...

def is_inference_mode_enabled() -> builtins.bool: ...

def is_anomaly_enabled() -> builtins.bool: ...

def _set_grad_mode(arg0: builtins.bool, arg1: builtins.bool, /) -> tuple[Any, ...]: ...

def _enter_grad_mode(grad: builtins.bool, inference: builtins.bool, stop: builtins.bool | None) -> tuple[Any, ...]: ...

def _autocast() -> Any: ...

def _set_autocast(dtype: Any) -> Any: ...

def _set_work(arg0: Sequence[builtins.str], arg1: Sequence[builtins.str], /) -> None: ...

def _set_anomaly(arg0: builtins.bool, arg1: builtins.bool, /) -> tuple[Any, ...]: ...

def _may_record() -> builtins.bool: ...

class _TracedFunction:
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...

    def __init__(self, graph: Any, lifted: Any, in_tree: TreeDef, statics: Any, out_tree: TreeDef, out_leaves: Any, name: builtins.str) -> None: ...

    @property
    def graph(self) -> Any: ...

    def evaluate(self, *args: Any, **kwargs: Any) -> Any: ...

def _jit_make(arg0: Any, arg1: builtins.str, arg2: Any, arg3: Any, arg4: Any, arg5: Any, arg6: int, arg7: builtins.bool, arg8: builtins.bool, arg9: builtins.bool, arg10: Any, /) -> Any: ...

def _jit_function(arg: Any, /) -> Any: ...

def _jit_clear(arg: Any, /) -> None: ...

def _jit_traces(arg: Any, /) -> list[Any]: ...

def _jit_hits(arg: Any, /) -> int: ...

def _jit_given_up(arg: Any, /) -> Any: ...

def _jit_run(arg0: Any, /, *args: Any, **kwargs: Any) -> Any: ...

class _CompiledFunction:
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...

    def __init__(self, jitted: Any) -> None: ...

class OutsideGuard:
    def holds(self) -> builtins.bool: ...

    def describe(self) -> builtins.str: ...

    def array(self) -> Any: ...

class OutsideGuards:
    def __len__(self) -> int: ...

    def __getitem__(self, arg: int, /) -> OutsideGuard: ...

    def hold(self) -> builtins.bool: ...

    def failed(self) -> list[builtins.str]: ...

    @property
    def unknown(self) -> list[Any]: ...

def _observe(*args: Any, **kwargs: Any) -> Any: ...

def _cache_info() -> dict[builtins.str, Any]: ...

def _cache_clear() -> int: ...

def _cache_configure(enabled: builtins.bool, folder: builtins.str, limit: int) -> None: ...

class Profile:
    def __init__(self, max_events: Any = 200000) -> None: ...

    def __enter__(self) -> Any: ...

    def __exit__(self, arg0: Any, arg1: Any, arg2: Any, /) -> None: ...

    def __str__(self) -> builtins.str: ...

    def __repr__(self) -> builtins.str: ...

    def str(self, most: Any = 30) -> builtins.str: ...

    @property
    def milliseconds(self) -> float: ...

    @property
    def kernels(self) -> list[Any]: ...

    @property
    def phases(self) -> list[Any]: ...

    @property
    def calls(self) -> list[Any]: ...

    def by(self, what: Any) -> dict[builtins.str, Any]: ...

    def chrome_trace(self) -> builtins.str: ...

class Tensor:
    """An array: concrete, or a value of a graph that is being captured."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes: ints, and Dim objects where they are symbolic."""

    @property
    def dtype(self) -> _DType:
        """The element type."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    @property
    def size(self) -> Any:
        """The number of elements."""

    @property
    def nbytes(self) -> Any:
        """The number of bytes of all elements."""

    @property
    def device(self) -> str:
        """The device that holds the array."""

    @property
    def is_symbolic(self) -> builtins.bool:
        """Whether the array is a value of a graph being captured."""

    @property
    def T(self) -> Tensor:
        """The transposed matrix."""

    @property
    def real(self) -> Tensor:
        """The real parts; of a real array, the array itself."""

    @property
    def imag(self) -> Tensor:
        """The imaginary parts; of a real array, zeros."""

    @property
    def mT(self) -> Tensor:
        """The array with its last two axes exchanged."""

    @property
    def at(self) -> At:
        """Updates as values: `x.at[key].set(v)`, `add`, `multiply`, `min`, `max` and so on give new arrays."""

    @property
    def requires_grad(self) -> builtins.bool:
        """Whether ops on this array go on the tape of eager autograd."""

    @requires_grad.setter
    def requires_grad(self, value: Any) -> None: ...
    @property
    def grad(self) -> Any:
        """The gradient that backward passes add up, one object; None before the first."""

    @grad.setter
    def grad(self, value: Any) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def is_leaf(self) -> builtins.bool:
        """Whether no op on the tape made this array."""

    @property
    def grad_fn(self) -> GradNode | None:
        """The node of the tape that made this array; None of a leaf."""

    @property
    def retains_grad(self) -> builtins.bool:
        """Whether a computed array keeps its gradient."""

    def __add__(self, other: ArrayLike, /) -> Tensor: ...
    def __radd__(self, other: ArrayLike, /) -> Tensor: ...
    def __iadd__(self, other: ArrayLike, /) -> Self: ...
    def __sub__(self, other: ArrayLike, /) -> Tensor: ...
    def __rsub__(self, other: ArrayLike, /) -> Tensor: ...
    def __isub__(self, other: ArrayLike, /) -> Self: ...
    def __mul__(self, other: ArrayLike, /) -> Tensor: ...
    def __rmul__(self, other: ArrayLike, /) -> Tensor: ...
    def __imul__(self, other: ArrayLike, /) -> Self: ...
    def __truediv__(self, other: ArrayLike, /) -> Tensor: ...
    def __rtruediv__(self, other: ArrayLike, /) -> Tensor: ...
    def __itruediv__(self, other: ArrayLike, /) -> Self: ...
    def __floordiv__(self, other: ArrayLike, /) -> Tensor: ...
    def __rfloordiv__(self, other: ArrayLike, /) -> Tensor: ...
    def __ifloordiv__(self, other: ArrayLike, /) -> Self: ...
    def __mod__(self, other: ArrayLike, /) -> Tensor: ...
    def __rmod__(self, other: ArrayLike, /) -> Tensor: ...
    def __imod__(self, other: ArrayLike, /) -> Self: ...
    def __pow__(self, other: ArrayLike, /) -> Tensor: ...
    def __rpow__(self, other: ArrayLike, /) -> Tensor: ...
    def __ipow__(self, other: ArrayLike, /) -> Self: ...
    def __matmul__(self, other: ArrayLike, /) -> Tensor: ...
    def __rmatmul__(self, other: ArrayLike, /) -> Tensor: ...
    def __imatmul__(self, other: ArrayLike, /) -> Self: ...
    def __and__(self, other: ArrayLike, /) -> Tensor: ...
    def __rand__(self, other: ArrayLike, /) -> Tensor: ...
    def __iand__(self, other: ArrayLike, /) -> Self: ...
    def __or__(self, other: ArrayLike, /) -> Tensor: ...
    def __ror__(self, other: ArrayLike, /) -> Tensor: ...
    def __ior__(self, other: ArrayLike, /) -> Self: ...
    def __xor__(self, other: ArrayLike, /) -> Tensor: ...
    def __rxor__(self, other: ArrayLike, /) -> Tensor: ...
    def __ixor__(self, other: ArrayLike, /) -> Self: ...
    def __lshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __rlshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __ilshift__(self, other: ArrayLike, /) -> Self: ...
    def __rshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __rrshift__(self, other: ArrayLike, /) -> Tensor: ...
    def __irshift__(self, other: ArrayLike, /) -> Self: ...
    def __lt__(self, other: ArrayLike, /) -> Tensor: ...
    def __le__(self, other: ArrayLike, /) -> Tensor: ...
    def __gt__(self, other: ArrayLike, /) -> Tensor: ...
    def __ge__(self, other: ArrayLike, /) -> Tensor: ...
    def __eq__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> builtins.complex: ...
    def __index__(self) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __getitem__(self, key: Any, /) -> Tensor: ...
    def __setitem__(self, key: Any, value: ArrayLike, /) -> None: ...
    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> Any: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def item(self) -> Any: ...
    def tolist(self) -> Any: ...
    def numpy(self) -> Any: ...
    def to_device(self, device: str, /, *, stream: Any = None) -> Tensor: ...
    def abs(self) -> Tensor:
        """The absolute value of each element; that of the least integer wraps to itself. Of complex numbers, their distance from 0, which is real."""

    def absolute(self) -> Tensor:
        """The absolute value of each element; that of the least integer wraps to itself. Of complex numbers, their distance from 0, which is real."""

    def acos(self) -> Tensor:
        """The angle in [0, π] whose cosine is x; NaN outside [-1, 1]."""

    def acosh(self) -> Tensor:
        """The inverse of cosh; NaN below 1."""

    def add(self, y: ArrayLike) -> Tensor:
        """The sum of two arrays, element by element."""

    def all(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """Whether every element over the axes is not zero."""

    def allclose(self, y: ArrayLike, rtol: float | None = 1e-05, atol: float | None = 1e-08, equal_nan: builtins.bool | None = False) -> Tensor:
        """Whether all elements are equal within a tolerance, as `isclose` has it; the arrays broadcast."""

    def amax(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The largest element over the axes; NaN where there is one. Axes without elements are refused; where a size is a symbol that turns out 0, the result is the least value of the dtype."""

    def amin(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The smallest element over the axes; NaN where there is one. Axes without elements are refused; where a size is a symbol that turns out 0, the result is the greatest value of the dtype."""

    def angle(self) -> Tensor:
        """The angle of each element in the complex plane, in radians, in [-π, π]; of a real element 0 or π, by its sign."""

    def any(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """Whether any element over the axes is not zero."""

    def arccos(self) -> Tensor:
        """The angle in [0, π] whose cosine is x; NaN outside [-1, 1]."""

    def arccosh(self) -> Tensor:
        """The inverse of cosh; NaN below 1."""

    def arcsin(self) -> Tensor:
        """The angle in [-π/2, π/2] whose sine is x; NaN outside [-1, 1]."""

    def arcsinh(self) -> Tensor:
        """The inverse of sinh."""

    def arctan(self) -> Tensor:
        """The angle in [-π/2, π/2] whose tangent is x."""

    def arctan2(self, y: ArrayLike) -> Tensor:
        """The angle of the point (y, x), in [-π, π]."""

    def arctanh(self) -> Tensor:
        """The inverse of tanh; NaN outside [-1, 1]."""

    def argmax(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The position of the first largest element: along the axis, or in row-major order over several."""

    def argmin(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The position of the first smallest element: along the axis, or in row-major order over several."""

    def argpartition(self, kth: Any, /, axis: int | None = -1) -> Tensor:
        """The indices that put an array into the order of `partition`."""

    def argsort(self, axis: int | None = -1, *, kind: str | None = None, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
        """The indices that sort the array along an axis (None: its flattened elements); equal elements keep their order."""

    def argwhere(self, *, size: int | None = None, fill_value: Any = None) -> Tensor:
        """The places of the elements that are not zero, one row each."""

    def around(self, decimals: int = 0) -> Tensor:
        """The nearest whole number, of two equally near the even one; or the nearest with so many decimals."""

    def array_equal(self, y: ArrayLike, equal_nan: builtins.bool | None = False) -> Tensor:
        """Whether both have one shape, and all elements are equal; NaN equals NaN with `equal_nan`."""

    def array_split(self, parts: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
        """As `split`, into parts whose sizes differ by one at most."""

    def asin(self) -> Tensor:
        """The angle in [-π/2, π/2] whose sine is x; NaN outside [-1, 1]."""

    def asinh(self) -> Tensor:
        """The inverse of sinh."""

    def astype(self, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Tensor:
        """The array converted to `dtype`: floats to integers saturate, NaN becomes 0."""

    def atan(self) -> Tensor:
        """The angle in [-π/2, π/2] whose tangent is x."""

    def atan2(self, y: ArrayLike) -> Tensor:
        """The angle of the point (y, x), in [-π, π]."""

    def atanh(self) -> Tensor:
        """The inverse of tanh; NaN outside [-1, 1]."""

    def average(self, axis: Any = None, weights: Any = None, returned: builtins.bool = False, keepdims: builtins.bool = False) -> Any:
        """The mean of the elements along these axes, each times its weight; with `returned`, and the sum of the weights."""

    def avg_pool(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., dilation: int | Sequence[int] | None = ..., ceil_mode: builtins.bool | None = False, count_include_pad: builtins.bool | None = True, divisor_override: int | None = 0) -> Tensor:
        """The mean of each window over the spatial axes of [batch, channels, space...]."""

    def backward(self, gradient: Any = None, retain_graph: builtins.bool | None = None, create_graph: builtins.bool = False, inputs: Any = None) -> None:
        """Adds the gradients of this array to `.grad` of all leaves that it was computed from."""

    def batch_norm(self, mean: ArrayLike, variance: ArrayLike, weight: ArrayLike | None = None, bias: ArrayLike | None = None, eps: float | None = 1e-05) -> Tensor:
        """(x - mean) / sqrt(variance + eps), times weight, plus bias, for each channel (axis 1)."""

    def bincount(self, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Tensor:
        """How often each of the numbers 0, 1, … stands in `x`, or the sums of their weights."""

    def bitcast(self, dtype: DTypeLike) -> Tensor:
        """The same bits as elements of another type of the same width."""

    def bitwise_and(self, y: ArrayLike) -> Tensor:
        """The bits set in both elements; of bool, the logical and."""

    def bitwise_count(self) -> Tensor:
        """How many bits of each integer's size (of -3: of 3) are set, as uint8."""

    def bitwise_invert(self) -> Tensor:
        """Each bit inverted; of bool, the logical not."""

    def bitwise_left_shift(self, y: ArrayLike) -> Tensor:
        """x with its bits moved up by y; 0 where y is the width or more."""

    def bitwise_not(self) -> Tensor:
        """Each bit inverted; of bool, the logical not."""

    def bitwise_or(self, y: ArrayLike) -> Tensor:
        """The bits set in either element; of bool, the logical or."""

    def bitwise_right_shift(self, y: ArrayLike) -> Tensor:
        """x with its bits moved down by y, the sign kept."""

    def bitwise_xor(self, y: ArrayLike) -> Tensor:
        """The bits set in one of the elements alone."""

    def broadcast_in_dim(self, shape: int | Dim | Sequence[int | Dim], broadcast_dimensions: int | Sequence[int]) -> Tensor:
        """The array stretched to `shape`: its axis i becomes the axis broadcast_dimensions[i] of the result, and repeats where its size is 1."""

    def broadcast_to(self, shape: int | Dim | Sequence[int | Dim], *more: int | Dim) -> Tensor:
        """The array repeated along its axes of size 1, and new axes in front, to `shape`."""

    def cbrt(self) -> Tensor:
        """The real cube root."""

    def ceil(self) -> Tensor:
        """The least whole number that is not below each element; of integers the element."""

    def celu(self, alpha: float | None = 1.0) -> Tensor:
        """x, and alpha (exp(x / alpha) - 1) below 0. Barron (2017)."""

    def checkpoint_name(self, name: str) -> Tensor:
        """The array itself, by a name that the policies of ig.checkpoint know."""

    def choose(self, choices: Any, /, mode: str = "raise") -> Tensor:
        """At each place the element of that choice whose number stands in `x`; all broadcast together."""

    def clip(self, min: Any = None, max: Any = None) -> Tensor:
        """Each element, but no less than min and no more than max, where they are given; NaN where any of them is."""

    def concatenate(self, axis: int | None = 0) -> Tensor:
        """The arrays joined along an axis that they have; None joins their flattened elements."""

    def conj(self) -> Tensor:
        """The complex conjugate: each element with its imaginary part negated; a real element itself."""

    def conjugate(self) -> Tensor:
        """The complex conjugate: each element with its imaginary part negated; a real element itself."""

    def conv(self, weight: ArrayLike, bias: ArrayLike | None = None, stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., dilation: int | Sequence[int] | None = ..., groups: int | None = 1) -> Tensor:
        """A convolution over the spatial axes of [batch, channels, space...]."""

    def conv_transpose(self, weight: ArrayLike, bias: ArrayLike | None = None, stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., output_padding: int | Sequence[int] | None = ..., dilation: int | Sequence[int] | None = ..., groups: int | None = 1) -> Tensor:
        """The transpose of a convolution over the spatial axes of [batch, channels, space...]."""

    def convolution(self, kernel: ArrayLike, layout: str | None = 'bf01_oi01->bf01', strides: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., lhs_dilation: int | Sequence[int] | None = ..., rhs_dilation: int | Sequence[int] | None = ..., feature_group_count: int | None = 1, batch_group_count: int | None = 1, accumulate: DTypeLike | None = ...) -> Tensor:
        """A window slid over an image: for each place and output feature, the sum of products of the kernel's taps with the image under them."""

    def convolve(self, y: ArrayLike, mode: Literal["full", "same", "valid"] | None = 'full') -> Tensor:
        """The convolution of two rows: sums of products of elements whose places add up."""

    def copy(self) -> Tensor:
        """A handle of its own for the same value: a change of either leaves the other as it is."""

    def copysign(self, y: ArrayLike) -> Tensor:
        """The magnitude of x with the sign of y."""

    def corrcoef(self, y: Any = None, /, rowvar: builtins.bool = True) -> Tensor:
        """The correlations of variables in rows (or columns, with `rowvar=False`); those of `y` come behind."""

    def correlate(self, y: ArrayLike, mode: Literal["full", "same", "valid"] | None = 'valid') -> Tensor:
        """The correlation of two rows: sums of products of x and of y moved along."""

    def cos(self) -> Tensor:
        """The cosine of an angle in radians."""

    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""

    def count_leading_zeros(self) -> Tensor:
        """How many zero bits stand above the highest set bit, in the element's type; its width for 0."""

    def count_nonzero(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """How many elements over the axes are not zero."""

    def cov(self, y: Any = None, /, rowvar: builtins.bool = True, bias: builtins.bool = False, ddof: int | None = None) -> Tensor:
        """The covariances of variables in rows (or columns, with `rowvar=False`); those of `y` come behind."""

    def cross(self, y: ArrayLike, axis: int | None = -1) -> Tensor:
        """The vector product along an axis of size 3."""

    def cross_entropy(self, labels: ArrayLike, reduction: Literal["none", "mean", "sum"] | None = 'mean', ignore_index: int | None = -100) -> Tensor:
        """The negative logarithm of the softmax at each label, folded by `reduction`."""

    def cumprod(self, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False) -> Tensor:
        """The running products along an axis; with `include_initial` they start with 1."""

    def cumsum(self, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False) -> Tensor:
        """The running sums along an axis; with `include_initial` they start with 0."""

    def cumulative_logsumexp(self, axis: int, reverse: builtins.bool | None = False) -> Tensor:
        """log of the sum of the exponentials of all elements up to each, along the axis."""

    def cumulative_max(self, axis: int, reverse: builtins.bool | None = False) -> Tensor:
        """The largest of all elements up to each, along the axis; NaN from the first one on."""

    def cumulative_min(self, axis: int, reverse: builtins.bool | None = False) -> Tensor:
        """The smallest of all elements up to each, along the axis; NaN from the first one on."""

    def cumulative_prod(self, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False) -> Tensor:
        """The running products along an axis; with `include_initial` they start with 1."""

    def cumulative_sum(self, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False) -> Tensor:
        """The running sums along an axis; with `include_initial` they start with 0."""

    def deg2rad(self) -> Tensor:
        """Angles in radians, of degrees."""

    def degrees(self) -> Tensor:
        """Angles in degrees, of radians."""

    def detach(self) -> Tensor:
        """The same value without its place on the tape; no bytes are copied. In a trace, `ig.stop_gradient`."""

    def diag(self, k: int | None = 0) -> Tensor:
        """The matrix with a row as its k-th diagonal, or the k-th diagonal of a matrix."""

    def diagonal(self, offset: int | None = 0, axis1: int | None = 0, axis2: int | None = 1) -> Tensor:
        """A diagonal of two axes, the first two as in NumPy, as the last axis of the result."""

    def diff(self, n: int = 1, axis: int = -1, *, prepend: Any = None, append: Any = None) -> Tensor:
        """The differences of neighbours along an axis, taken n times; `prepend` and `append` are joined to it first."""

    def digamma(self) -> Tensor:
        """The derivative of the logarithm of the gamma function."""

    def digitize(self, bins: ArrayLike, right: builtins.bool | None = False) -> Tensor:
        """The number of the bin that each element lies in, as int64: 0 in front of the first edge."""

    def divide(self, y: ArrayLike) -> Tensor:
        """The quotient of two arrays of floats or complex numbers, element by element."""

    def dot(self, y: ArrayLike) -> Tensor:
        """NumPy's product: of vectors and matrices as matmul, numbers scale."""

    def dot_general(self, y: ArrayLike, lhs_contracting_dimensions: int | Sequence[int], rhs_contracting_dimensions: int | Sequence[int], lhs_batching_dimensions: int | Sequence[int] | None = ..., rhs_batching_dimensions: int | Sequence[int] | None = ..., accumulate: DTypeLike | None = ...) -> Tensor:
        """Sums of products over the contracted axes, for each pair of batch entries; the result has the batch axes, then the left operand's free axes, then the right's."""

    def dropout(self, key: ArrayLike, p: float | None = 0.5) -> Tensor:
        """Each element 0 with probability p, else divided by 1 - p."""

    def dsplit(self, parts: Any, /) -> tuple[Tensor, ...]:
        """`split` along the third axis."""

    def dynamic_slice(self, *starts: ArrayLike | Sequence[ArrayLike], slice_sizes: int | Dim | Sequence[int | Dim]) -> Tensor:
        """A slice of the given sizes whose start is computed."""

    def dynamic_update_slice(self, update: ArrayLike, *starts: ArrayLike | Sequence[ArrayLike]) -> Tensor:
        """The array with a slice, whose start is computed, replaced by `update`."""

    def ediff1d(self, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Tensor:
        """The differences of neighbours among all elements in one row."""

    def elu(self, alpha: float | None = 1.0) -> Tensor:
        """x, and alpha (exp(x) - 1) below 0."""

    def embedding(self, table: ArrayLike) -> Tensor:
        """The rows of the table that the indices name. An index out of range is clamped."""

    def empty_like(self, dtype: Any = None, *, device: Any = None) -> Tensor:
        """Zeros in the shape and dtype of `x`."""

    def equal(self, y: ArrayLike) -> Tensor:
        """True where two elements are equal; NaN equals nothing, 0 equals -0."""

    def erf(self) -> Tensor:
        """The error function."""

    def erfc(self) -> Tensor:
        """1 - erf(x), exact where it is small."""

    def erfinv(self) -> Tensor:
        """The inverse of erf; infinite at -1 and 1, NaN outside."""

    def exp(self) -> Tensor:
        """e to the power of each element."""

    def exp2(self) -> Tensor:
        """2 to the power of each element."""

    def expand_dims(self, axis: Any = 0) -> Tensor:
        """New axes of size 1 at these places of the result."""

    def expm1(self) -> Tensor:
        """e to the power of each element, less 1; exact near 0."""

    def fabs(self) -> Tensor:
        """The size of each element, as a float."""

    def fill_diagonal(self, value: ArrayLike) -> Tensor:
        """The array with a number on its main diagonal, as a new value."""

    def fix(self) -> Tensor:
        """Each element without its fraction; of integers the element."""

    def flatnonzero(self, *, size: int | None = None, fill_value: Any = None) -> Tensor:
        """The places of the elements that are not zero, all elements in one row."""

    def flatten(self, start_axis: int = 0, end_axis: int = -1) -> Tensor:
        """The axes from `start_axis` to `end_axis` as one."""

    def flip(self, axis: int | Sequence[int] | None = ..., *more: int | Dim) -> Tensor:
        """The array with the order reversed along the axes named, or all."""

    def fliplr(self) -> Tensor:
        """The columns in reverse order."""

    def flipud(self) -> Tensor:
        """The rows in reverse order."""

    def floor(self) -> Tensor:
        """The greatest whole number that is not above each element; of integers the element."""

    def floor_divide(self, y: ArrayLike) -> Tensor:
        """The quotient rounded towards minus infinity; -1 for integers where the divisor is 0."""

    def fmax(self, y: ArrayLike) -> Tensor:
        """The greater of x and y; the other one where one is NaN."""

    def fmin(self, y: ArrayLike) -> Tensor:
        """The lesser of x and y; the other one where one is NaN."""

    def fmod(self, y: ArrayLike) -> Tensor:
        """The remainder of the truncated quotient, with the dividend's sign; the dividend for integers where the divisor is 0."""

    def full_like(self, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
        """An array of the shape and dtype of `x`, all elements `fill_value`."""

    def gelu(self, approximate: Literal["none", "tanh"] | None = 'none') -> Tensor:
        """x times the normal distribution function of x; `approximate` "tanh" takes the usual approximation of it."""

    def glu(self, axis: int | None = -1) -> Tensor:
        """The first half along `axis` times the logistic function of the second."""

    def gradient_along(self, spacing: ArrayLike | None = None, axis: int | None = -1, edge_order: int | None = 1) -> Tensor:
        """The slopes of the samples f along an axis: central differences, and one-sided ones at the ends."""

    def greater(self, y: ArrayLike) -> Tensor:
        """True where x is above y."""

    def greater_equal(self, y: ArrayLike) -> Tensor:
        """True where x is not below y."""

    def group_norm(self, weight: ArrayLike | None = None, bias: ArrayLike | None = None, num_groups: int = ..., eps: float | None = 1e-05) -> Tensor:
        """The channels (axis 1) in groups, each normalised with its space as layer_norm does; then times weight, plus bias, for each channel."""

    def gru_cell(self, h: ArrayLike, w_ih: ArrayLike, w_hh: ArrayLike, b_ih: ArrayLike | None = None, b_hh: ArrayLike | None = None) -> Tensor:
        """One step of a gated recurrent unit: the new h. Gates lie as reset, update, new."""

    def hard_sigmoid(self) -> Tensor:
        """(x + 3) / 6, bounded to [0, 1]."""

    def hard_swish(self) -> Tensor:
        """x times hard_sigmoid(x)."""

    def hard_tanh(self, min_val: float | None = -1.0, max_val: float | None = 1.0) -> Tensor:
        """x bounded to [min_val, max_val]."""

    def hardshrink(self, lambd: float | None = 0.5) -> Tensor:
        """x, and 0 where it is no further than lambd from 0."""

    def heaviside(self, y: ArrayLike) -> Tensor:
        """0 where x is negative, 1 where it is positive, y where it is 0."""

    def histogram(self, bins: Any = 10, range: Any = None, density: builtins.bool | None = None, weights: Any = None) -> tuple[Tensor, Tensor]:
        """How many elements lie in each bin, and the bins' edges."""

    def histogram_bin_edges(self, bins: Any = 10, range: Any = None) -> Tensor:
        """The edges of `bins` equal bins from the least element to the greatest, or over `range`; edges stay."""

    def histogram_counts(self, edges: ArrayLike, weights: ArrayLike | None = None) -> Tensor:
        """How many elements lie in each bin, as int64, or the sums of their weights."""

    def hsplit(self, parts: Any, /) -> tuple[Tensor, ...]:
        """`split` along the second axis, or the only one."""

    def hypot(self, y: ArrayLike) -> Tensor:
        """sqrt(x² + y²) without overflow on the way."""

    def inner(self, y: ArrayLike) -> Tensor:
        """Sums of products over the last axes; numbers scale."""

    def invert(self) -> Tensor:
        """Each bit inverted; of bool, the logical not."""

    def isclose(self, y: ArrayLike, rtol: float | None = 1e-05, atol: float | None = 1e-08, equal_nan: builtins.bool | None = False) -> Tensor:
        """Whether elements are equal within a tolerance: |x - y| <= atol + rtol |y|."""

    def isfinite(self) -> Tensor:
        """True where the element, and each part of it, is neither infinite nor NaN; of integers always."""

    def isinf(self) -> Tensor:
        """True where the element, or a part of it, is plus or minus infinity; of integers never."""

    def isnan(self) -> Tensor:
        """True where the element, or a part of it, is not a number; of integers never."""

    def isneginf(self) -> Tensor:
        """Whether an element is -infinity."""

    def isposinf(self) -> Tensor:
        """Whether an element is +infinity."""

    def kron(self, y: ArrayLike) -> Tensor:
        """Each element of x times the whole of y, in x's arrangement."""

    def layer_norm(self, weight: ArrayLike | None = None, bias: ArrayLike | None = None, normalized_rank: int | None = 1, eps: float | None = 1e-05) -> Tensor:
        """(x - mean) / sqrt(variance + eps) over the last axes, times weight, plus bias."""

    def leaky_relu(self, negative_slope: float | None = 0.01) -> Tensor:
        """x, and negative_slope times x below 0."""

    def left_shift(self, y: ArrayLike) -> Tensor:
        """x with its bits moved up by y; 0 where y is the width or more."""

    def less(self, y: ArrayLike) -> Tensor:
        """True where x is below y."""

    def less_equal(self, y: ArrayLike) -> Tensor:
        """True where x is not above y."""

    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""

    def linear(self, weight: ArrayLike, bias: ArrayLike | None = None) -> Tensor:
        """x times the weight's transpose, plus the bias."""

    def log(self) -> Tensor:
        """The natural logarithm; -inf of 0, NaN of negatives."""

    def log10(self) -> Tensor:
        """The logarithm to base 10."""

    def log1p(self) -> Tensor:
        """The natural logarithm of 1 + x; exact near 0."""

    def log2(self) -> Tensor:
        """The logarithm to base 2."""

    def log_sigmoid(self) -> Tensor:
        """The logarithm of the logistic function."""

    def log_softmax(self, axis: int | None = -1) -> Tensor:
        """The logarithm of softmax, without underflow."""

    def logaddexp(self, y: ArrayLike) -> Tensor:
        """log(exp(x) + exp(y)) without overflow on the way."""

    def logaddexp2(self, y: ArrayLike) -> Tensor:
        """log2(2**x + 2**y) without overflow on the way."""

    def logical_and(self, y: ArrayLike) -> Tensor:
        """True where both elements are."""

    def logical_not(self) -> Tensor:
        """True where the element is false."""

    def logical_or(self, y: ArrayLike) -> Tensor:
        """True where either element is."""

    def logical_xor(self, y: ArrayLike) -> Tensor:
        """True where one of the elements alone is."""

    def logsumexp(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """log(sum(exp(x))) over the axes, without overflow on the way."""

    def lstm_cell(self, h: ArrayLike, c: ArrayLike, w_ih: ArrayLike, w_hh: ArrayLike, b_ih: ArrayLike | None = None, b_hh: ArrayLike | None = None) -> tuple[Tensor, Tensor]:
        """One step of a long short-term memory: the new (h, c). Gates lie as input, forget, cell, output."""

    def matmul(self, y: ArrayLike) -> Tensor:
        """The matrix product of the last two axes, the others broadcast; one axis is a vector."""

    def matrix_transpose(self) -> Tensor:
        """The last two axes exchanged."""

    def max(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The largest element over the axes; NaN where there is one. Axes without elements are refused; where a size is a symbol that turns out 0, the result is the least value of the dtype."""

    def max_pool(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., dilation: int | Sequence[int] | None = ..., ceil_mode: builtins.bool | None = False) -> Tensor:
        """The greatest element of each window over the spatial axes of [batch, channels, space...]; NaN wins."""

    def maximum(self, y: ArrayLike) -> Tensor:
        """The larger element; NaN where either is, and 0 above -0."""

    def mean(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The mean of the elements over the axes; NaN where there are none."""

    def median(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The middle element over the axes in order, or the mean of the middle two; NaN where there is one."""

    def min(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The smallest element over the axes; NaN where there is one. Axes without elements are refused; where a size is a symbol that turns out 0, the result is the greatest value of the dtype."""

    def minimum(self, y: ArrayLike) -> Tensor:
        """The smaller element; NaN where either is, and -0 below 0."""

    def mish(self) -> Tensor:
        """x times tanh(softplus(x))."""

    def mod(self, y: ArrayLike) -> Tensor:
        """The remainder of the floored quotient, with the divisor's sign, as Python's %."""

    def modf(self) -> tuple[Tensor, Tensor]:
        """What stands behind the point, and the whole part, both with the number's sign."""

    def moveaxis(self, source_axes: int | Sequence[int], destination_axes: int | Sequence[int]) -> Tensor:
        """The array with some axes moved, the others in their order."""

    def mse(self, target: ArrayLike, reduction: Literal["none", "mean", "sum"] | None = 'mean') -> Tensor:
        """The squared differences, folded by `reduction`."""

    def multiply(self, y: ArrayLike) -> Tensor:
        """The product of two arrays, element by element; of complex numbers a + bi and c + di it is (ac - bd) + (ad + bc)i, each operation rounded."""

    def nan_to_num(self, nan: float | None = 0.0, posinf: float | None = 1.7976931348623157e+308, neginf: float | None = -1.7976931348623157e+308) -> Tensor:
        """The array with numbers in place of NaN and infinities; of complex numbers in each part. Integers stay."""

    def nanmax(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The largest element over the axes that is not NaN; NaN where all are."""

    def nanmean(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The mean of the elements over the axes that are not NaN; NaN where there are none."""

    def nanmin(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The smallest element over the axes that is not NaN; NaN where all are."""

    def nanprod(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The product of the elements over the axes that are not NaN."""

    def nanstd(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False, correction: float | None = 0.0) -> Tensor:
        """The root of nanvar."""

    def nansum(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The sum of the elements over the axes that are not NaN."""

    def nanvar(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False, correction: float | None = 0.0) -> Tensor:
        """The mean squared distance from nanmean; NaN where not more elements are there than `correction`."""

    def negative(self) -> Tensor:
        """The negative of each element; integers wrap, -0 and 0 swap."""

    def nextafter(self, y: ArrayLike) -> Tensor:
        """The next number of the type after x towards y. Of float32 and float64."""

    def nonzero(self, *, size: int | None = None, fill_value: Any = None) -> tuple[Tensor, ...]:
        """The positions of the elements that are not zero, one array an axis."""

    def normalize(self, axis: int | None = -1, eps: float | None = 1e-05) -> Tensor:
        """x over its Euclidean length along `axis`, or over eps where that is greater."""

    def not_equal(self, y: ArrayLike) -> Tensor:
        """True where two elements differ, and where either is NaN."""

    def one_hot(self, num_classes: int, dtype: DTypeLike | None = ...) -> Tensor:
        """A new last axis that is 1 where its position is the element, else 0."""

    def ones_like(self, dtype: Any = None, *, device: Any = None) -> Tensor:
        """Ones in the shape and dtype of `x`."""

    def optimization_barrier(self) -> Tensor:
        """The array itself; no rule looks through it."""

    def outer(self, y: ArrayLike) -> Tensor:
        """All products of an element of x with one of y."""

    def pad(self, pad_width: Any, /, mode: str = "constant", *, constant_values: Any = 0) -> Tensor:
        """The array with elements around it."""

    def partition(self, kth: Any, /, axis: int | None = -1) -> Tensor:
        """The array with the kth element of an axis where sorting puts it, no greater ones before it, no lesser behind."""

    def percentile(self, q: Any, /, axis: Any = None, keepdims: builtins.bool = False, method: str = "linear") -> Tensor:
        """As `quantile`, of percentages (0 to 100)."""

    def permute_dims(self, axes: int | Sequence[int], *more: int | Dim) -> Tensor:
        """The array with its axes reordered."""

    def polyval(self, x: ArrayLike) -> Tensor:
        """The polynomial with the coefficients p, the highest power first, at x; by Horner's rule."""

    def population_count(self) -> Tensor:
        """How many bits of each element are set, in the element's type."""

    def positive(self) -> Tensor:
        """Each element as it is."""

    def pow(self, y: ArrayLike) -> Tensor:
        """x to the power of y. Integers wrap; to a negative power they give 0, but for 1 and -1. Of complex numbers it is exp(y log x); whole real exponents below 100 are products, and 0 to a power that is not real and positive is NaN."""

    def power(self, y: ArrayLike) -> Tensor:
        """x to the power of y. Integers wrap; to a negative power they give 0, but for 1 and -1. Of complex numbers it is exp(y log x); whole real exponents below 100 are products, and 0 to a power that is not real and positive is NaN."""

    def prod(self, axis: Any = None, dtype: Any = None, keepdims: builtins.bool = False) -> Tensor:
        """The product of the elements along these axes; None: of all. Small integers are multiplied in 64 bits."""

    def ptp(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
        """The largest element over the axes less the smallest."""

    def quantile(self, q: Any, /, axis: Any = None, keepdims: builtins.bool = False, method: str = "linear") -> Tensor:
        """What the share `q` (0 to 1; one, or an axis of them) of the elements along these axes is not above."""

    def rad2deg(self) -> Tensor:
        """Angles in degrees, of radians."""

    def radians(self) -> Tensor:
        """Angles in radians, of degrees."""

    def randint(self, shape: int | Dim | Sequence[int | Dim], low: int, high: int, dtype: DTypeLike | None = ...) -> Tensor:
        """Whole numbers evenly spread over [low, high). JAX's bits."""

    def random_bernoulli(self, shape: int | Dim | Sequence[int | Dim], p: float | None = 0.5) -> Tensor:
        """True with probability p."""

    def random_bits(self, shape: int | Dim | Sequence[int | Dim], dtype: DTypeLike) -> Tensor:
        """Uniform random bits as unsigned integers: a draw of this shape for each key."""

    def random_fold_in(self, data: ArrayLike) -> Tensor:
        """A new key from a key and an integer (its low 32 bits), such as a step number."""

    def random_key(self) -> Tensor:
        """A key for each integer seed: its high and low 32 bits."""

    def random_normal(self, shape: int | Dim | Sequence[int | Dim], dtype: DTypeLike | None = ...) -> Tensor:
        """Numbers of the standard normal distribution. JAX's bits and formula."""

    def random_permutation(self, n: int) -> Tensor:
        """The numbers 0 to n - 1 in random order."""

    def random_split(self, n: int) -> Tensor:
        """`n` new keys from each key, independent of each other and of the old one."""

    def random_uniform(self, shape: int | Dim | Sequence[int | Dim], dtype: DTypeLike | None = ..., low: float | None = 0.0, high: float | None = 1.0) -> Tensor:
        """Numbers evenly spread over [low, high). JAX's bits."""

    def ravel(self) -> Tensor:
        """All elements in one axis."""

    def reciprocal(self) -> Tensor:
        """1 / x."""

    def reduce_window_max(self, window_dimensions: int | Sequence[int], window_strides: int | Sequence[int] | None = ..., window_dilations: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ...) -> Tensor:
        """The maximum of each window slid over the array."""

    def reduce_window_min(self, window_dimensions: int | Sequence[int], window_strides: int | Sequence[int] | None = ..., window_dilations: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ...) -> Tensor:
        """The minimum of each window slid over the array."""

    def reduce_window_sum(self, window_dimensions: int | Sequence[int], window_strides: int | Sequence[int] | None = ..., window_dilations: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ...) -> Tensor:
        """The sum of each window slid over the array."""

    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Calls `hook(gradient)` whenever a gradient of this array is complete; what it returns takes its place."""

    def relu(self) -> Tensor:
        """The greater of x and 0; NaN stays."""

    def relu6(self) -> Tensor:
        """x bounded to [0, 6]."""

    def remainder(self, y: ArrayLike) -> Tensor:
        """The remainder of the floored quotient, with the divisor's sign, as Python's %."""

    def repeat(self, repeats: Any, /, axis: int | None = None) -> Tensor:
        """Each element `repeats` times, next to itself; an array of counts must be concrete."""

    def requires_grad_(self, requires_grad: builtins.bool = True) -> Tensor:
        """Makes this array a leaf whose gradient is wanted, or an array that is none; gives the array."""

    def reshape(self, shape: int | Dim | Sequence[int | Dim], *more: int | Dim) -> Tensor:
        """The same elements in row-major order with other sizes; one size may be -1."""

    def retain_grad(self) -> None:
        """Keeps the gradient of a computed array in `.grad`, as that of a leaf is. Of a leaf: nothing."""

    def right_shift(self, y: ArrayLike) -> Tensor:
        """x with its bits moved down by y, the sign kept."""

    def rint(self, decimals: int = 0) -> Tensor:
        """The nearest whole number, of two equally near the even one; or the nearest with so many decimals."""

    def rms_norm(self, weight: ArrayLike | None = None, normalized_rank: int | None = 1, eps: float | None = 1e-05) -> Tensor:
        """x over the root of its mean square (plus eps) over the last axes, times weight."""

    def roll(self, shift: int | Sequence[int], axis: int | Sequence[int] | None = ...) -> Tensor:
        """The array shifted in a circle along each axis named; with none, as one long row."""

    def rot90(self, k: int | None = 1, axes: int | Sequence[int] | None = ...) -> Tensor:
        """The array turned by a quarter, k times, in the plane of two axes."""

    def round(self, decimals: int = 0) -> Tensor:
        """The nearest whole number, of two equally near the even one; or the nearest with so many decimals."""

    def round_half_away(self) -> Tensor:
        """The nearest whole number; halves go away from zero."""

    def rsqrt(self) -> Tensor:
        """1 / sqrt(x)."""

    def scaled_dot_product_attention(self, k: ArrayLike, v: ArrayLike, mask: ArrayLike | None = None, causal: builtins.bool | None = False, scale: float | None = 0.0) -> Tensor:
        """softmax(q k^T scale) v over the last two axes; all axes in front are batch axes."""

    def searchsorted(self, values: ArrayLike, side: Literal["left", "right"] | None = 'left') -> Tensor:
        """Where each value would be put into the sorted array to keep it sorted, as int64."""

    def select_and_scatter_add(self, source: ArrayLike, window_dimensions: int | Sequence[int], window_strides: int | Sequence[int] | None = ..., window_dilations: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ...) -> Tensor:
        """Zeros, with each element of `source` added where the window of `x` it stands for has its greatest element: the derivative of a maximum over windows."""

    def selu(self) -> Tensor:
        """elu with the scale and slope that keep mean 0 and variance 1. Klambauer et al. (2017)."""

    def shift_right_logical(self, y: ArrayLike) -> Tensor:
        """x with its bits moved down by y, zeros moved in."""

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x))."""

    def sign(self) -> Tensor:
        """-1, 0 or 1 by the sign of each element; NaN and -0 stay. Of complex numbers z / |z|, and 0 of 0."""

    def signbit(self) -> Tensor:
        """True where the sign bit is set: of negatives, -0 and such NaNs."""

    def silu(self) -> Tensor:
        """x times its logistic function."""

    def sin(self) -> Tensor:
        """The sine of an angle in radians."""

    def sinc(self) -> Tensor:
        """sin(pi x) / (pi x), and 1 at 0; 0 at the other whole numbers."""

    def sinh(self) -> Tensor:
        """The hyperbolic sine."""

    def soft_sign(self) -> Tensor:
        """x / (1 + |x|)."""

    def softmax(self, axis: int | None = -1) -> Tensor:
        """exp(x) over its sum along `axis`, with the maximum subtracted first."""

    def softplus(self) -> Tensor:
        """log(1 + exp(x)), without overflow."""

    def softshrink(self, lambd: float | None = 0.5) -> Tensor:
        """x moved towards 0 by lambd; 0 where it is nearer than that."""

    def sort(self, axis: int | None = -1, *, kind: str | None = None, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
        """The array sorted along an axis, NaN last; None sorts its flattened elements. It is stable, whatever the kind."""

    def split(self, parts: int | Sequence[int], /, axis: int = 0) -> tuple[Tensor, ...]:
        """The array cut along an axis: into equal parts, or before each index of a sequence."""

    def sqrt(self) -> Tensor:
        """The square root, rightly rounded; NaN of negatives, -0 of -0."""

    def square(self) -> Tensor:
        """Each element times itself; integers wrap."""

    def squeeze(self, axis: int | Sequence[int] | None = ..., *more: int | Dim) -> Tensor:
        """The array without axes of size 1: those named, or all."""

    def std(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False, correction: float | None = 0.0) -> Tensor:
        """The standard deviation of the elements over the axes: the square root of the variance."""

    def stop_gradient(self) -> Tensor:
        """The array itself, which derivatives take for a constant."""

    def subtract(self, y: ArrayLike) -> Tensor:
        """The difference of two arrays, element by element."""

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: builtins.bool = False) -> Tensor:
        """The sum of the elements along these axes; None: of all. Small integers and bools are summed in 64 bits."""

    def swapaxes(self, axis1: int, axis2: int, /) -> Tensor:
        """Two axes exchanged."""

    def take(self, indices: Any, /, axis: int | None = None) -> Tensor:
        """The slices of an axis at these indices; a negative one counts from the end."""

    def take_along_axis(self, indices: ArrayLike, axis: int | None = -1) -> Tensor:
        """For each row along `axis`, the elements that the indices of the same row name."""

    def tan(self) -> Tensor:
        """The tangent of an angle in radians."""

    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""

    def tanh_shrink(self) -> Tensor:
        """x - tanh(x), with all its digits near 0."""

    def tensordot(self, y: Any, /, axes: Any = 2, *, x_axes: Any = None, y_axes: Any = None) -> Tensor:
        """Sums of products over pairs of axes."""

    def tile(self, repetitions: int | Sequence[int], *more: int | Dim) -> Tensor:
        """The array repeated as a whole, for each axis."""

    def top_k(self, k: int) -> tuple[Tensor, Tensor]:
        """The k greatest elements of each row (the last axis), from the greatest on, and their positions as int64."""

    def trace(self, offset: int | None = 0, axis1: int | None = 0, axis2: int | None = 1) -> Tensor:
        """The sum of a diagonal of two axes, the first two as in NumPy. Small integers are summed in 64 bits."""

    def transpose(self, axes: Any = None, *more: int) -> Tensor:
        """The axes reversed, or in the order `axes`."""

    def transpose_all(self) -> Tensor:
        """The axes in reverse order."""

    def trapezoid(self, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
        """The area under the samples `y` along an axis, by trapezes; they were taken at `x`, or `dx` apart."""

    def tril(self, k: int | None = 0) -> Tensor:
        """The elements on and below a diagonal of the last two axes; the others are 0."""

    def triu(self, k: int | None = 0) -> Tensor:
        """The elements on and above a diagonal of the last two axes; the others are 0."""

    def true_divide(self, y: ArrayLike) -> Tensor:
        """The quotient of two arrays of floats or complex numbers, element by element."""

    def trunc(self) -> Tensor:
        """Each element without its fraction; of integers the element."""

    def unique_values(self, *, size: int | None = None, fill_value: Any = None) -> Tensor:
        """The distinct elements, ascending; each NaN is one of its own."""

    def unstack(self, axis: int | None = 0) -> tuple[Tensor, ...]:
        """The slices along an axis, one array each."""

    def var(self, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False, correction: float | None = 0.0) -> Tensor:
        """The variance of the elements over the axes: the mean squared distance from the mean; of complex numbers too it is real."""

    def vdot(self, y: ArrayLike) -> Tensor:
        """The sum of products of all elements; of complex arrays the first is conjugated."""

    def vecdot(self, y: ArrayLike, axis: int | None = -1) -> Tensor:
        """Sums of products along an axis, the others broadcast; of complex arrays the first is conjugated."""

    def vsplit(self, parts: Any, /) -> tuple[Tensor, ...]:
        """`split` along the first axis."""

    def zeros_like(self, dtype: Any = None, *, device: Any = None) -> Tensor:
        """Zeros in the shape and dtype of `x`."""

