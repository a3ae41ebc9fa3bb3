# Written by scripts/generate_docs.py out of the op table and the namespace.
import builtins
from collections.abc import Sequence
from typing import Any, Literal

from ._intaglio import ArrayLike as ArrayLike, DTypeLike as DTypeLike
from ._autocast import (
    autocast as autocast,
    get_autocast_dtype as get_autocast_dtype,
    is_autocast_enabled as is_autocast_enabled,
)
from ._callbacks import (
    io_callback as io_callback,
    pure_callback as pure_callback,
    register_host_function as register_host_function,
)
from ._collectives import (
    all_gather as all_gather,
    axis_index as axis_index,
    axis_size as axis_size,
    pmax as pmax,
    pmean as pmean,
    pmin as pmin,
    ppermute as ppermute,
    psum as psum,
)
from ._control import (
    cond as cond,
    fori_loop as fori_loop,
    map as map,
    scan as scan,
    switch as switch,
    while_loop as while_loop,
)
from ._custom_rules import (
    checkpoint as checkpoint,
    checkpoint_policies as checkpoint_policies,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
)
from ._effects import (
    check as check,
    debug_print as debug_print,
)
from ._errors import (
    CaptureError as CaptureError,
    Error as Error,
    FloatingPointError as FloatingPointError,
    IOError as IOError,
    IndexError as IndexError,
    InternalError as InternalError,
    MemoryError as MemoryError,
    ParseError as ParseError,
    ShapeError as ShapeError,
    TypeError as TypeError,
    UnsupportedError as UnsupportedError,
    ValueError as ValueError,
    VerifyError as VerifyError,
    ZeroDivisionError as ZeroDivisionError,
)
from ._explain import (
    explain as explain,
)
from ._functional import (
    associative_scan as associative_scan,
    eval_shape as eval_shape,
    vectorize as vectorize,
)
from ._functions import (
    arange as arange,
    argsort as argsort,
    astype as astype,
    broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes,
    can_cast as can_cast,
    clip as clip,
    column_stack as column_stack,
    concat as concat,
    concat as concatenate,
    cumulative_prod as cumprod,
    cumulative_sum as cumsum,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    dim_max as dim_max,
    dim_min as dim_min,
    dstack as dstack,
    einsum as einsum,
    empty as empty,
    empty_like as empty_like,
    expand_dims as expand_dims,
    eye as eye,
    finfo as finfo,
    flatten as flatten,
    full as full,
    full_like as full_like,
    hstack as hstack,
    iinfo as iinfo,
    isdtype as isdtype,
    linspace as linspace,
    matrix_transpose as matrix_transpose,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    prod as prod,
    ravel as ravel,
    repeat as repeat,
    sort as sort,
    split as split,
    stack as stack,
    stack_nested as stack_nested,
    sum as sum,
    swapaxes as swapaxes,
    take as take,
    transpose as transpose,
    transpose_all as transpose_all,
    vstack as vstack,
    zeros as zeros,
    zeros_like as zeros_like,
)
from ._intaglio import (
    Dim as Dim,
    Graph as Graph,
    OpCall as OpCall,
    Tensor as Tensor,
    TreeDef as TreeDef,
    asarray as array,
    asarray as asarray,
    bfloat16 as bfloat16,
    block_until_compiled as block_until_compiled,
    bool as bool,
    compiler_available as compiler_available,
    complex128 as complex128,
    complex64 as complex64,
    dtype as dtype,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    from_dlpack as from_dlpack,
    get_num_threads as get_num_threads,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    is_tracing as is_tracing,
    op_table as op_table,
    register_pytree as register_pytree,
    result_type as result_type,
    set_num_threads as set_num_threads,
    tree_flatten as tree_flatten,
    tree_unflatten as tree_unflatten,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
)
from ._jit import (
    jit as jit,
)
from ._modes import (
    OpMode as OpMode,
)
from ._numpy_like import (
    apply_along_axis as apply_along_axis,
    round as around,
    array_split as array_split,
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    average as average,
    bincount as bincount,
    bitwise_count as bitwise_count,
    corrcoef as corrcoef,
    cov as cov,
    diag_indices as diag_indices,
    diff as diff,
    divmod as divmod,
    dsplit as dsplit,
    fabs as fabs,
    geomspace as geomspace,
    gradient as gradient,
    histogram as histogram,
    histogram_bin_edges as histogram_bin_edges,
    hsplit as hsplit,
    identity as identity,
    indices as indices,
    interp as interp,
    logspace as logspace,
    modf as modf,
    pad as pad,
    percentile as percentile,
    piecewise as piecewise,
    quantile as quantile,
    round as rint,
    round as round,
    select as select,
    tensordot as tensordot,
    trapezoid as trapezoid,
    tri as tri,
    tril_indices as tril_indices,
    triu_indices as triu_indices,
    vander as vander,
    vsplit as vsplit,
)
from ._numpy_numbers import (
    bartlett as bartlett,
    blackman as blackman,
    float_power as float_power,
    frexp as frexp,
    gcd as gcd,
    hamming as hamming,
    hanning as hanning,
    histogram2d as histogram2d,
    histogramdd as histogramdd,
    i0 as i0,
    iscomplex as iscomplex,
    isreal as isreal,
    kaiser as kaiser,
    lcm as lcm,
    ldexp as ldexp,
    matvec as matvec,
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyfit as polyfit,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    roots as roots,
    spacing as spacing,
    unwrap as unwrap,
    vecmat as vecmat,
)
from ._numpy_places import (
    apply_over_axes as apply_over_axes,
    array_equiv as array_equiv,
    c_ as c_,
    choose as choose,
    copy as copy,
    copyto as copyto,
    diag_indices_from as diag_indices_from,
    diagflat as diagflat,
    einsum_path as einsum_path,
    fromfunction as fromfunction,
    index_exp as index_exp,
    iscomplexobj as iscomplexobj,
    isrealobj as isrealobj,
    isscalar as isscalar,
    iterable as iterable,
    ix_ as ix_,
    mask_indices as mask_indices,
    mgrid as mgrid,
    ndim as ndim,
    ogrid as ogrid,
    packbits as packbits,
    place as place,
    promote_types as promote_types,
    put as put,
    put_along_axis as put_along_axis,
    putmask as putmask,
    r_ as r_,
    ravel_multi_index as ravel_multi_index,
    rollaxis as rollaxis,
    s_ as s_,
    shape as shape,
    size as size,
    tril_indices_from as tril_indices_from,
    triu_indices_from as triu_indices_from,
    unpackbits as unpackbits,
    unravel_index as unravel_index,
)
from ._numpy_sets import (
    append as append,
    argpartition as argpartition,
    argwhere as argwhere,
    block as block,
    compress as compress,
    delete as delete,
    extract as extract,
    flatnonzero as flatnonzero,
    insert as insert,
    intersect1d as intersect1d,
    isin as isin,
    lexsort as lexsort,
    nonzero as nonzero,
    partition as partition,
    resize as resize,
    setdiff1d as setdiff1d,
    setxor1d as setxor1d,
    sort_complex as sort_complex,
    trim_zeros as trim_zeros,
    union1d as union1d,
    unique as unique,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
    where as where,
)
from ._passes import (
    default_pipeline as default_pipeline,
    passes as passes,
)
from ._profile import (
    profile as profile,
)
from ._record import (
    ShapeDtypeStruct as ShapeDtypeStruct,
    Traced as Traced,
    name_scope as name_scope,
    register_op as register_op,
    trace as trace,
)
from ._segments import (
    segment_max as segment_max,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
)
from ._signature import (
    TensorType as TensorType,
)
from ._transforms import (
    grad as grad,
    hessian as hessian,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    linear_transpose as linear_transpose,
    linearize as linearize,
    saved_residuals as saved_residuals,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from ._vmap import (
    vmap as vmap,
)
from ._watch import (
    debug_infs as debug_infs,
    debug_nans as debug_nans,
)
from .autograd import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .tree import (
    leaves as tree_leaves,
    map as tree_map,
    structure as tree_structure,
)
from . import autograd as autograd
from . import cache as cache
from . import data as data
from . import debug as debug
from . import fft as fft
from . import linalg as linalg
from . import nn as nn
from . import optim as optim
from . import random as random
from . import special as special
from . import tree as tree

e: float
euler_gamma: float
inf: float
nan: float
newaxis: None
pi: float
__version__: str
__array_api_version__: str

def abs(x: ArrayLike) -> Tensor:
    """The absolute value of each element; that of the least integer wraps to itself. Of complex numbers, their distance from 0, which is real."""

def absolute(x: ArrayLike) -> Tensor:
    """The absolute value of each element; that of the least integer wraps to itself. Of complex numbers, their distance from 0, which is real."""

def acos(x: ArrayLike) -> Tensor:
    """The angle in [0, π] whose cosine is x; NaN outside [-1, 1]."""

def acosh(x: ArrayLike) -> Tensor:
    """The inverse of cosh; NaN below 1."""

def add(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The sum of two arrays, element by element."""

def all(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """Whether every element over the axes is not zero."""

def allclose(x: ArrayLike, y: ArrayLike, rtol: float | None = 1e-05, atol: float | None = 1e-08, equal_nan: builtins.bool | None = False) -> Tensor:
    """Whether all elements are equal within a tolerance, as `isclose` has it; the arrays broadcast."""

def amax(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The largest element over the axes; NaN where there is one. Axes without elements are refused; where a size is a symbol that turns out 0, the result is the least value of the dtype."""

def amin(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The smallest element over the axes; NaN where there is one. Axes without elements are refused; where a size is a symbol that turns out 0, the result is the greatest value of the dtype."""

def angle(x: ArrayLike) -> Tensor:
    """The angle of each element in the complex plane, in radians, in [-π, π]; of a real element 0 or π, by its sign."""

def any(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """Whether any element over the axes is not zero."""

def arccos(x: ArrayLike) -> Tensor:
    """The angle in [0, π] whose cosine is x; NaN outside [-1, 1]."""

def arccosh(x: ArrayLike) -> Tensor:
    """The inverse of cosh; NaN below 1."""

def arcsin(x: ArrayLike) -> Tensor:
    """The angle in [-π/2, π/2] whose sine is x; NaN outside [-1, 1]."""

def arcsinh(x: ArrayLike) -> Tensor:
    """The inverse of sinh."""

def arctan(x: ArrayLike) -> Tensor:
    """The angle in [-π/2, π/2] whose tangent is x."""

def arctan2(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The angle of the point (y, x), in [-π, π]."""

def arctanh(x: ArrayLike) -> Tensor:
    """The inverse of tanh; NaN outside [-1, 1]."""

def argmax(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The position of the first largest element: along the axis, or in row-major order over several."""

def argmin(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The position of the first smallest element: along the axis, or in row-major order over several."""

def array_equal(x: ArrayLike, y: ArrayLike, equal_nan: builtins.bool | None = False) -> Tensor:
    """Whether both have one shape, and all elements are equal; NaN equals NaN with `equal_nan`."""

def asin(x: ArrayLike) -> Tensor:
    """The angle in [-π/2, π/2] whose sine is x; NaN outside [-1, 1]."""

def asinh(x: ArrayLike) -> Tensor:
    """The inverse of sinh."""

def atan(x: ArrayLike) -> Tensor:
    """The angle in [-π/2, π/2] whose tangent is x."""

def atan2(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The angle of the point (y, x), in [-π, π]."""

def atanh(x: ArrayLike) -> Tensor:
    """The inverse of tanh; NaN outside [-1, 1]."""

def avg_pool(x: ArrayLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., dilation: int | Sequence[int] | None = ..., ceil_mode: builtins.bool | None = False, count_include_pad: builtins.bool | None = True, divisor_override: int | None = 0) -> Tensor:
    """The mean of each window over the spatial axes of [batch, channels, space...]."""

def batch_norm(x: ArrayLike, mean: ArrayLike, variance: ArrayLike, weight: ArrayLike | None = None, bias: ArrayLike | None = None, eps: float | None = 1e-05) -> Tensor:
    """(x - mean) / sqrt(variance + eps), times weight, plus bias, for each channel (axis 1)."""

def bitcast(x: ArrayLike, dtype: DTypeLike) -> Tensor:
    """The same bits as elements of another type of the same width."""

def bitwise_and(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The bits set in both elements; of bool, the logical and."""

def bitwise_invert(x: ArrayLike) -> Tensor:
    """Each bit inverted; of bool, the logical not."""

def bitwise_left_shift(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x with its bits moved up by y; 0 where y is the width or more."""

def bitwise_not(x: ArrayLike) -> Tensor:
    """Each bit inverted; of bool, the logical not."""

def bitwise_or(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The bits set in either element; of bool, the logical or."""

def bitwise_right_shift(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x with its bits moved down by y, the sign kept."""

def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The bits set in one of the elements alone."""

def broadcast_in_dim(x: ArrayLike, shape: int | Dim | Sequence[int | Dim], broadcast_dimensions: int | Sequence[int]) -> Tensor:
    """The array stretched to `shape`: its axis i becomes the axis broadcast_dimensions[i] of the result, and repeats where its size is 1."""

def broadcast_to(x: ArrayLike, shape: int | Dim | Sequence[int | Dim], *more: int | Dim) -> Tensor:
    """The array repeated along its axes of size 1, and new axes in front, to `shape`."""

def cbrt(x: ArrayLike) -> Tensor:
    """The real cube root."""

def ceil(x: ArrayLike) -> Tensor:
    """The least whole number that is not below each element; of integers the element."""

def celu(x: ArrayLike, alpha: float | None = 1.0) -> Tensor:
    """x, and alpha (exp(x / alpha) - 1) below 0. Barron (2017)."""

def checkpoint_name(x: ArrayLike, name: str) -> Tensor:
    """The array itself, by a name that the policies of ig.checkpoint know."""

def complex(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The complex numbers whose parts are given: complex64 of float32, complex128 of float64."""

def conj(x: ArrayLike) -> Tensor:
    """The complex conjugate: each element with its imaginary part negated; a real element itself."""

def conjugate(x: ArrayLike) -> Tensor:
    """The complex conjugate: each element with its imaginary part negated; a real element itself."""

def conv(x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., dilation: int | Sequence[int] | None = ..., groups: int | None = 1) -> Tensor:
    """A convolution over the spatial axes of [batch, channels, space...]."""

def conv_transpose(x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., output_padding: int | Sequence[int] | None = ..., dilation: int | Sequence[int] | None = ..., groups: int | None = 1) -> Tensor:
    """The transpose of a convolution over the spatial axes of [batch, channels, space...]."""

def convolution(x: ArrayLike, kernel: ArrayLike, layout: str | None = 'bf01_oi01->bf01', strides: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., lhs_dilation: int | Sequence[int] | None = ..., rhs_dilation: int | Sequence[int] | None = ..., feature_group_count: int | None = 1, batch_group_count: int | None = 1, accumulate: DTypeLike | None = ...) -> Tensor:
    """A window slid over an image: for each place and output feature, the sum of products of the kernel's taps with the image under them."""

def convolve(x: ArrayLike, y: ArrayLike, mode: Literal["full", "same", "valid"] | None = 'full') -> Tensor:
    """The convolution of two rows: sums of products of elements whose places add up."""

def copysign(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The magnitude of x with the sign of y."""

def correlate(x: ArrayLike, y: ArrayLike, mode: Literal["full", "same", "valid"] | None = 'valid') -> Tensor:
    """The correlation of two rows: sums of products of x and of y moved along."""

def cos(x: ArrayLike) -> Tensor:
    """The cosine of an angle in radians."""

def cosh(x: ArrayLike) -> Tensor:
    """The hyperbolic cosine."""

def count_leading_zeros(x: ArrayLike) -> Tensor:
    """How many zero bits stand above the highest set bit, in the element's type; its width for 0."""

def count_nonzero(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """How many elements over the axes are not zero."""

def cross(x: ArrayLike, y: ArrayLike, axis: int | None = -1) -> Tensor:
    """The vector product along an axis of size 3."""

def cross_entropy(logits: ArrayLike, labels: ArrayLike, reduction: Literal["none", "mean", "sum"] | None = 'mean', ignore_index: int | None = -100) -> Tensor:
    """The negative logarithm of the softmax at each label, folded by `reduction`."""

def cumulative_logsumexp(x: ArrayLike, axis: int, reverse: builtins.bool | None = False) -> Tensor:
    """log of the sum of the exponentials of all elements up to each, along the axis."""

def cumulative_max(x: ArrayLike, axis: int, reverse: builtins.bool | None = False) -> Tensor:
    """The largest of all elements up to each, along the axis; NaN from the first one on."""

def cumulative_min(x: ArrayLike, axis: int, reverse: builtins.bool | None = False) -> Tensor:
    """The smallest of all elements up to each, along the axis; NaN from the first one on."""

def deg2rad(x: ArrayLike) -> Tensor:
    """Angles in radians, of degrees."""

def degrees(x: ArrayLike) -> Tensor:
    """Angles in degrees, of radians."""

def diag(x: ArrayLike, k: int | None = 0) -> Tensor:
    """The matrix with a row as its k-th diagonal, or the k-th diagonal of a matrix."""

def diagonal(x: ArrayLike, offset: int | None = 0, axis1: int | None = 0, axis2: int | None = 1) -> Tensor:
    """A diagonal of two axes, the first two as in NumPy, as the last axis of the result."""

def digamma(x: ArrayLike) -> Tensor:
    """The derivative of the logarithm of the gamma function."""

def digitize(x: ArrayLike, bins: ArrayLike, right: builtins.bool | None = False) -> Tensor:
    """The number of the bin that each element lies in, as int64: 0 in front of the first edge."""

def divide(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The quotient of two arrays of floats or complex numbers, element by element."""

def dot(x: ArrayLike, y: ArrayLike) -> Tensor:
    """NumPy's product: of vectors and matrices as matmul, numbers scale."""

def dot_general(x: ArrayLike, y: ArrayLike, lhs_contracting_dimensions: int | Sequence[int], rhs_contracting_dimensions: int | Sequence[int], lhs_batching_dimensions: int | Sequence[int] | None = ..., rhs_batching_dimensions: int | Sequence[int] | None = ..., accumulate: DTypeLike | None = ...) -> Tensor:
    """Sums of products over the contracted axes, for each pair of batch entries; the result has the batch axes, then the left operand's free axes, then the right's."""

def dropout(x: ArrayLike, key: ArrayLike, p: float | None = 0.5) -> Tensor:
    """Each element 0 with probability p, else divided by 1 - p."""

def dynamic_slice(x: ArrayLike, *starts: ArrayLike | Sequence[ArrayLike], slice_sizes: int | Dim | Sequence[int | Dim]) -> Tensor:
    """A slice of the given sizes whose start is computed."""

def dynamic_update_slice(x: ArrayLike, update: ArrayLike, *starts: ArrayLike | Sequence[ArrayLike]) -> Tensor:
    """The array with a slice, whose start is computed, replaced by `update`."""

def ediff1d(x: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Tensor:
    """The differences of neighbours among all elements in one row."""

def elu(x: ArrayLike, alpha: float | None = 1.0) -> Tensor:
    """x, and alpha (exp(x) - 1) below 0."""

def embedding(indices: ArrayLike, table: ArrayLike) -> Tensor:
    """The rows of the table that the indices name. An index out of range is clamped."""

def equal(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True where two elements are equal; NaN equals nothing, 0 equals -0."""

def erf(x: ArrayLike) -> Tensor:
    """The error function."""

def erfc(x: ArrayLike) -> Tensor:
    """1 - erf(x), exact where it is small."""

def erfinv(x: ArrayLike) -> Tensor:
    """The inverse of erf; infinite at -1 and 1, NaN outside."""

def exp(x: ArrayLike) -> Tensor:
    """e to the power of each element."""

def exp2(x: ArrayLike) -> Tensor:
    """2 to the power of each element."""

def expm1(x: ArrayLike) -> Tensor:
    """e to the power of each element, less 1; exact near 0."""

def fill_diagonal(x: ArrayLike, value: ArrayLike) -> Tensor:
    """The array with a number on its main diagonal, as a new value."""

def fix(x: ArrayLike) -> Tensor:
    """Each element without its fraction; of integers the element."""

def flip(x: ArrayLike, axis: int | Sequence[int] | None = ..., *more: int | Dim) -> Tensor:
    """The array with the order reversed along the axes named, or all."""

def fliplr(x: ArrayLike) -> Tensor:
    """The columns in reverse order."""

def flipud(x: ArrayLike) -> Tensor:
    """The rows in reverse order."""

def floor(x: ArrayLike) -> Tensor:
    """The greatest whole number that is not above each element; of integers the element."""

def floor_divide(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The quotient rounded towards minus infinity; -1 for integers where the divisor is 0."""

def fmax(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The greater of x and y; the other one where one is NaN."""

def fmin(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The lesser of x and y; the other one where one is NaN."""

def fmod(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The remainder of the truncated quotient, with the dividend's sign; the dividend for integers where the divisor is 0."""

def gelu(x: ArrayLike, approximate: Literal["none", "tanh"] | None = 'none') -> Tensor:
    """x times the normal distribution function of x; `approximate` "tanh" takes the usual approximation of it."""

def glu(x: ArrayLike, axis: int | None = -1) -> Tensor:
    """The first half along `axis` times the logistic function of the second."""

def gradient_along(f: ArrayLike, spacing: ArrayLike | None = None, axis: int | None = -1, edge_order: int | None = 1) -> Tensor:
    """The slopes of the samples f along an axis: central differences, and one-sided ones at the ends."""

def greater(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True where x is above y."""

def greater_equal(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True where x is not below y."""

def group_norm(x: ArrayLike, weight: ArrayLike | None = None, bias: ArrayLike | None = None, num_groups: int = ..., eps: float | None = 1e-05) -> Tensor:
    """The channels (axis 1) in groups, each normalised with its space as layer_norm does; then times weight, plus bias, for each channel."""

def gru_cell(x: ArrayLike, h: ArrayLike, w_ih: ArrayLike, w_hh: ArrayLike, b_ih: ArrayLike | None = None, b_hh: ArrayLike | None = None) -> Tensor:
    """One step of a gated recurrent unit: the new h. Gates lie as reset, update, new."""

def hard_sigmoid(x: ArrayLike) -> Tensor:
    """(x + 3) / 6, bounded to [0, 1]."""

def hard_swish(x: ArrayLike) -> Tensor:
    """x times hard_sigmoid(x)."""

def hard_tanh(x: ArrayLike, min_val: float | None = -1.0, max_val: float | None = 1.0) -> Tensor:
    """x bounded to [min_val, max_val]."""

def hardshrink(x: ArrayLike, lambd: float | None = 0.5) -> Tensor:
    """x, and 0 where it is no further than lambd from 0."""

def heaviside(x: ArrayLike, y: ArrayLike) -> Tensor:
    """0 where x is negative, 1 where it is positive, y where it is 0."""

def histogram_counts(x: ArrayLike, edges: ArrayLike, weights: ArrayLike | None = None) -> Tensor:
    """How many elements lie in each bin, as int64, or the sums of their weights."""

def hypot(x: ArrayLike, y: ArrayLike) -> Tensor:
    """sqrt(x² + y²) without overflow on the way."""

def imag(x: ArrayLike) -> Tensor:
    """The imaginary part of each element; 0 of a real one."""

def inner(x: ArrayLike, y: ArrayLike) -> Tensor:
    """Sums of products over the last axes; numbers scale."""

def invert(x: ArrayLike) -> Tensor:
    """Each bit inverted; of bool, the logical not."""

def iota(shape: int | Dim | Sequence[int | Dim], axis: int, dtype: DTypeLike) -> Tensor:
    """Each element is its own index along an axis."""

def isclose(x: ArrayLike, y: ArrayLike, rtol: float | None = 1e-05, atol: float | None = 1e-08, equal_nan: builtins.bool | None = False) -> Tensor:
    """Whether elements are equal within a tolerance: |x - y| <= atol + rtol |y|."""

def isfinite(x: ArrayLike) -> Tensor:
    """True where the element, and each part of it, is neither infinite nor NaN; of integers always."""

def isinf(x: ArrayLike) -> Tensor:
    """True where the element, or a part of it, is plus or minus infinity; of integers never."""

def isnan(x: ArrayLike) -> Tensor:
    """True where the element, or a part of it, is not a number; of integers never."""

def isneginf(x: ArrayLike) -> Tensor:
    """Whether an element is -infinity."""

def isposinf(x: ArrayLike) -> Tensor:
    """Whether an element is +infinity."""

def kron(x: ArrayLike, y: ArrayLike) -> Tensor:
    """Each element of x times the whole of y, in x's arrangement."""

def layer_norm(x: ArrayLike, weight: ArrayLike | None = None, bias: ArrayLike | None = None, normalized_rank: int | None = 1, eps: float | None = 1e-05) -> Tensor:
    """(x - mean) / sqrt(variance + eps) over the last axes, times weight, plus bias."""

def leaky_relu(x: ArrayLike, negative_slope: float | None = 0.01) -> Tensor:
    """x, and negative_slope times x below 0."""

def left_shift(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x with its bits moved up by y; 0 where y is the width or more."""

def less(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True where x is below y."""

def less_equal(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True where x is not above y."""

def lgamma(x: ArrayLike) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""

def linear(x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None) -> Tensor:
    """x times the weight's transpose, plus the bias."""

def log(x: ArrayLike) -> Tensor:
    """The natural logarithm; -inf of 0, NaN of negatives."""

def log10(x: ArrayLike) -> Tensor:
    """The logarithm to base 10."""

def log1p(x: ArrayLike) -> Tensor:
    """The natural logarithm of 1 + x; exact near 0."""

def log2(x: ArrayLike) -> Tensor:
    """The logarithm to base 2."""

def log_sigmoid(x: ArrayLike) -> Tensor:
    """The logarithm of the logistic function."""

def log_softmax(x: ArrayLike, axis: int | None = -1) -> Tensor:
    """The logarithm of softmax, without underflow."""

def logaddexp(x: ArrayLike, y: ArrayLike) -> Tensor:
    """log(exp(x) + exp(y)) without overflow on the way."""

def logaddexp2(x: ArrayLike, y: ArrayLike) -> Tensor:
    """log2(2**x + 2**y) without overflow on the way."""

def logical_and(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True where both elements are."""

def logical_not(x: ArrayLike) -> Tensor:
    """True where the element is false."""

def logical_or(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True where either element is."""

def logical_xor(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True where one of the elements alone is."""

def logsumexp(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """log(sum(exp(x))) over the axes, without overflow on the way."""

def lstm_cell(x: ArrayLike, h: ArrayLike, c: ArrayLike, w_ih: ArrayLike, w_hh: ArrayLike, b_ih: ArrayLike | None = None, b_hh: ArrayLike | None = None) -> tuple[Tensor, Tensor]:
    """One step of a long short-term memory: the new (h, c). Gates lie as input, forget, cell, output."""

def matmul(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The matrix product of the last two axes, the others broadcast; one axis is a vector."""

def max(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The largest element over the axes; NaN where there is one. Axes without elements are refused; where a size is a symbol that turns out 0, the result is the least value of the dtype."""

def max_pool(x: ArrayLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ..., dilation: int | Sequence[int] | None = ..., ceil_mode: builtins.bool | None = False) -> Tensor:
    """The greatest element of each window over the spatial axes of [batch, channels, space...]; NaN wins."""

def maximum(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The larger element; NaN where either is, and 0 above -0."""

def mean(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The mean of the elements over the axes; NaN where there are none."""

def median(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The middle element over the axes in order, or the mean of the middle two; NaN where there is one."""

def min(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The smallest element over the axes; NaN where there is one. Axes without elements are refused; where a size is a symbol that turns out 0, the result is the greatest value of the dtype."""

def minimum(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The smaller element; NaN where either is, and -0 below 0."""

def mish(x: ArrayLike) -> Tensor:
    """x times tanh(softplus(x))."""

def mod(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The remainder of the floored quotient, with the divisor's sign, as Python's %."""

def moveaxis(x: ArrayLike, source_axes: int | Sequence[int], destination_axes: int | Sequence[int]) -> Tensor:
    """The array with some axes moved, the others in their order."""

def mse(x: ArrayLike, target: ArrayLike, reduction: Literal["none", "mean", "sum"] | None = 'mean') -> Tensor:
    """The squared differences, folded by `reduction`."""

def multiply(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The product of two arrays, element by element; of complex numbers a + bi and c + di it is (ac - bd) + (ad + bc)i, each operation rounded."""

def nan_to_num(x: ArrayLike, nan: float | None = 0.0, posinf: float | None = 1.7976931348623157e+308, neginf: float | None = -1.7976931348623157e+308) -> Tensor:
    """The array with numbers in place of NaN and infinities; of complex numbers in each part. Integers stay."""

def nanmax(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The largest element over the axes that is not NaN; NaN where all are."""

def nanmean(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The mean of the elements over the axes that are not NaN; NaN where there are none."""

def nanmin(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The smallest element over the axes that is not NaN; NaN where all are."""

def nanprod(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The product of the elements over the axes that are not NaN."""

def nanstd(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False, correction: float | None = 0.0) -> Tensor:
    """The root of nanvar."""

def nansum(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The sum of the elements over the axes that are not NaN."""

def nanvar(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False, correction: float | None = 0.0) -> Tensor:
    """The mean squared distance from nanmean; NaN where not more elements are there than `correction`."""

def negative(x: ArrayLike) -> Tensor:
    """The negative of each element; integers wrap, -0 and 0 swap."""

def nextafter(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The next number of the type after x towards y. Of float32 and float64."""

def normalize(x: ArrayLike, axis: int | None = -1, eps: float | None = 1e-05) -> Tensor:
    """x over its Euclidean length along `axis`, or over eps where that is greater."""

def not_equal(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True where two elements differ, and where either is NaN."""

def one_hot(indices: ArrayLike, num_classes: int, dtype: DTypeLike | None = ...) -> Tensor:
    """A new last axis that is 1 where its position is the element, else 0."""

def optimization_barrier(x: ArrayLike) -> Tensor:
    """The array itself; no rule looks through it."""

def outer(x: ArrayLike, y: ArrayLike) -> Tensor:
    """All products of an element of x with one of y."""

def permute_dims(x: ArrayLike, axes: int | Sequence[int], *more: int | Dim) -> Tensor:
    """The array with its axes reordered."""

def polyval(p: ArrayLike, x: ArrayLike) -> Tensor:
    """The polynomial with the coefficients p, the highest power first, at x; by Horner's rule."""

def population_count(x: ArrayLike) -> Tensor:
    """How many bits of each element are set, in the element's type."""

def positive(x: ArrayLike) -> Tensor:
    """Each element as it is."""

def pow(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x to the power of y. Integers wrap; to a negative power they give 0, but for 1 and -1. Of complex numbers it is exp(y log x); whole real exponents below 100 are products, and 0 to a power that is not real and positive is NaN."""

def power(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x to the power of y. Integers wrap; to a negative power they give 0, but for 1 and -1. Of complex numbers it is exp(y log x); whole real exponents below 100 are products, and 0 to a power that is not real and positive is NaN."""

def ptp(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False) -> Tensor:
    """The largest element over the axes less the smallest."""

def rad2deg(x: ArrayLike) -> Tensor:
    """Angles in degrees, of radians."""

def radians(x: ArrayLike) -> Tensor:
    """Angles in radians, of degrees."""

def randint(key: ArrayLike, shape: int | Dim | Sequence[int | Dim], low: int, high: int, dtype: DTypeLike | None = ...) -> Tensor:
    """Whole numbers evenly spread over [low, high). JAX's bits."""

def random_bernoulli(key: ArrayLike, shape: int | Dim | Sequence[int | Dim], p: float | None = 0.5) -> Tensor:
    """True with probability p."""

def random_bits(key: ArrayLike, shape: int | Dim | Sequence[int | Dim], dtype: DTypeLike) -> Tensor:
    """Uniform random bits as unsigned integers: a draw of this shape for each key."""

def random_fold_in(key: ArrayLike, data: ArrayLike) -> Tensor:
    """A new key from a key and an integer (its low 32 bits), such as a step number."""

def random_key(seed: ArrayLike) -> Tensor:
    """A key for each integer seed: its high and low 32 bits."""

def random_normal(key: ArrayLike, shape: int | Dim | Sequence[int | Dim], dtype: DTypeLike | None = ...) -> Tensor:
    """Numbers of the standard normal distribution. JAX's bits and formula."""

def random_permutation(key: ArrayLike, n: int) -> Tensor:
    """The numbers 0 to n - 1 in random order."""

def random_split(key: ArrayLike, n: int) -> Tensor:
    """`n` new keys from each key, independent of each other and of the old one."""

def random_uniform(key: ArrayLike, shape: int | Dim | Sequence[int | Dim], dtype: DTypeLike | None = ..., low: float | None = 0.0, high: float | None = 1.0) -> Tensor:
    """Numbers evenly spread over [low, high). JAX's bits."""

def real(x: ArrayLike) -> Tensor:
    """The real part of each element; a real element itself."""

def reciprocal(x: ArrayLike) -> Tensor:
    """1 / x."""

def reduce_window_max(x: ArrayLike, window_dimensions: int | Sequence[int], window_strides: int | Sequence[int] | None = ..., window_dilations: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ...) -> Tensor:
    """The maximum of each window slid over the array."""

def reduce_window_min(x: ArrayLike, window_dimensions: int | Sequence[int], window_strides: int | Sequence[int] | None = ..., window_dilations: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ...) -> Tensor:
    """The minimum of each window slid over the array."""

def reduce_window_sum(x: ArrayLike, window_dimensions: int | Sequence[int], window_strides: int | Sequence[int] | None = ..., window_dilations: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ...) -> Tensor:
    """The sum of each window slid over the array."""

def relu(x: ArrayLike) -> Tensor:
    """The greater of x and 0; NaN stays."""

def relu6(x: ArrayLike) -> Tensor:
    """x bounded to [0, 6]."""

def remainder(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The remainder of the floored quotient, with the divisor's sign, as Python's %."""

def reshape(x: ArrayLike, shape: int | Dim | Sequence[int | Dim], *more: int | Dim) -> Tensor:
    """The same elements in row-major order with other sizes; one size may be -1."""

def right_shift(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x with its bits moved down by y, the sign kept."""

def rms_norm(x: ArrayLike, weight: ArrayLike | None = None, normalized_rank: int | None = 1, eps: float | None = 1e-05) -> Tensor:
    """x over the root of its mean square (plus eps) over the last axes, times weight."""

def roll(x: ArrayLike, shift: int | Sequence[int], axis: int | Sequence[int] | None = ...) -> Tensor:
    """The array shifted in a circle along each axis named; with none, as one long row."""

def rot90(x: ArrayLike, k: int | None = 1, axes: int | Sequence[int] | None = ...) -> Tensor:
    """The array turned by a quarter, k times, in the plane of two axes."""

def round_half_away(x: ArrayLike) -> Tensor:
    """The nearest whole number; halves go away from zero."""

def rsqrt(x: ArrayLike) -> Tensor:
    """1 / sqrt(x)."""

def scaled_dot_product_attention(q: ArrayLike, k: ArrayLike, v: ArrayLike, mask: ArrayLike | None = None, causal: builtins.bool | None = False, scale: float | None = 0.0) -> Tensor:
    """softmax(q k^T scale) v over the last two axes; all axes in front are batch axes."""

def searchsorted(sorted: ArrayLike, values: ArrayLike, side: Literal["left", "right"] | None = 'left') -> Tensor:
    """Where each value would be put into the sorted array to keep it sorted, as int64."""

def select_and_scatter_add(x: ArrayLike, source: ArrayLike, window_dimensions: int | Sequence[int], window_strides: int | Sequence[int] | None = ..., window_dilations: int | Sequence[int] | None = ..., padding: int | Sequence[int] | None = ...) -> Tensor:
    """Zeros, with each element of `source` added where the window of `x` it stands for has its greatest element: the derivative of a maximum over windows."""

def selu(x: ArrayLike) -> Tensor:
    """elu with the scale and slope that keep mean 0 and variance 1. Klambauer et al. (2017)."""

def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Tensor:
    """x with its bits moved down by y, zeros moved in."""

def sigmoid(x: ArrayLike) -> Tensor:
    """1 / (1 + exp(-x))."""

def sign(x: ArrayLike) -> Tensor:
    """-1, 0 or 1 by the sign of each element; NaN and -0 stay. Of complex numbers z / |z|, and 0 of 0."""

def signbit(x: ArrayLike) -> Tensor:
    """True where the sign bit is set: of negatives, -0 and such NaNs."""

def silu(x: ArrayLike) -> Tensor:
    """x times its logistic function."""

def sin(x: ArrayLike) -> Tensor:
    """The sine of an angle in radians."""

def sinc(x: ArrayLike) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0; 0 at the other whole numbers."""

def sinh(x: ArrayLike) -> Tensor:
    """The hyperbolic sine."""

def soft_sign(x: ArrayLike) -> Tensor:
    """x / (1 + |x|)."""

def softmax(x: ArrayLike, axis: int | None = -1) -> Tensor:
    """exp(x) over its sum along `axis`, with the maximum subtracted first."""

def softplus(x: ArrayLike) -> Tensor:
    """log(1 + exp(x)), without overflow."""

def softshrink(x: ArrayLike, lambd: float | None = 0.5) -> Tensor:
    """x moved towards 0 by lambd; 0 where it is nearer than that."""

def sqrt(x: ArrayLike) -> Tensor:
    """The square root, rightly rounded; NaN of negatives, -0 of -0."""

def square(x: ArrayLike) -> Tensor:
    """Each element times itself; integers wrap."""

def squeeze(x: ArrayLike, axis: int | Sequence[int] | None = ..., *more: int | Dim) -> Tensor:
    """The array without axes of size 1: those named, or all."""

def std(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False, correction: float | None = 0.0) -> Tensor:
    """The standard deviation of the elements over the axes: the square root of the variance."""

def stop_gradient(x: ArrayLike) -> Tensor:
    """The array itself, which derivatives take for a constant."""

def subtract(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The difference of two arrays, element by element."""

def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int | None = -1) -> Tensor:
    """For each row along `axis`, the elements that the indices of the same row name."""

def tan(x: ArrayLike) -> Tensor:
    """The tangent of an angle in radians."""

def tanh(x: ArrayLike) -> Tensor:
    """The hyperbolic tangent."""

def tanh_shrink(x: ArrayLike) -> Tensor:
    """x - tanh(x), with all its digits near 0."""

def tile(x: ArrayLike, repetitions: int | Sequence[int], *more: int | Dim) -> Tensor:
    """The array repeated as a whole, for each axis."""

def top_k(x: ArrayLike, k: int) -> tuple[Tensor, Tensor]:
    """The k greatest elements of each row (the last axis), from the greatest on, and their positions as int64."""

def tril(x: ArrayLike, k: int | None = 0) -> Tensor:
    """The elements on and below a diagonal of the last two axes; the others are 0."""

def triu(x: ArrayLike, k: int | None = 0) -> Tensor:
    """The elements on and above a diagonal of the last two axes; the others are 0."""

def true_divide(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The quotient of two arrays of floats or complex numbers, element by element."""

def trunc(x: ArrayLike) -> Tensor:
    """Each element without its fraction; of integers the element."""

def unstack(x: ArrayLike, axis: int | None = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, one array each."""

def var(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: builtins.bool | None = False, correction: float | None = 0.0) -> Tensor:
    """The variance of the elements over the axes: the mean squared distance from the mean; of complex numbers too it is real."""

def vdot(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The sum of products of all elements; of complex arrays the first is conjugated."""

def vecdot(x: ArrayLike, y: ArrayLike, axis: int | None = -1) -> Tensor:
    """Sums of products along an axis, the others broadcast; of complex arrays the first is conjugated."""

