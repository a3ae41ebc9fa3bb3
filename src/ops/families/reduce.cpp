// Folds over axes. Floats of 16 bits are folded as float32; the order of a compiled fold is that of
// codegen/lower_fold.cpp, the reference goes in order and wider.
#include "ops/families/reduce.h"

#include <cmath>

#include "ops/families/families.h"

namespace ig::ops {

void require_folded_axes(const InferContext& c, const Ints& axes, int rank) {
  for (size_t i = 0; i < axes.size(); ++i) {
    c.axis(axes[i], rank);
    if (i && axes[i] <= axes[i - 1])
      c.fail(ErrorKind::Value, fmt::format("axes {} and {} are not in ascending order", axes[i - 1], axes[i]),
             "each axis is named once, from the first to the last", "sort the axes");
  }
}

Ints other_axes(int rank, const Ints& axes) {
  Ints out;
  for (int64_t i = 0; i < rank; ++i)
    if (!tools::contains_axis(axes, i)) out.push_back(i);
  return out;
}
Dims without_axes(const Dims& dims, const Ints& axes) {
  Dims out;
  for (int64_t i : other_axes(static_cast<int>(dims.size()), axes)) out.push_back(dims[static_cast<size_t>(i)]);
  return out;
}

void infer_fold(InferContext& c) {
  c.require_dtype(0, c.op.decl.dtypes);
  require_folded_axes(c, c.get(kAxes), c.operand(0).rank());
  c.result(c.operand(0).dtype, without_axes(c.operand(0).dims, c.get(kAxes)));
}

void walk_fold(const Literal& x, const Ints& axes, const std::function<void(int64_t, int64_t, int64_t)>& visit) {
  tools::each_index(x.dims(), [&](const tools::Index& index, int64_t flat) {
    int64_t to = 0, position = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      int64_t& which = tools::contains_axis(axes, static_cast<int64_t>(i)) ? position : to;
      which = which * x.dims()[i] + index[i];
    }
    visit(to, flat, position);
  });
}

Batched batch_fold(BatchContext& c) {
  Value x = tools::batch_to_front(c.build, c.operands[0], c.axes[0]);
  Ints axes = c.node->attrs().get(kAxes);
  for (int64_t& axis : axes) ++axis;
  Attrs attrs = c.node->attrs();
  attrs.set(kAxes, axes);
  return {{c.build.node(op_of(c.node), {x}, attrs)->result()}, {0}};
}

Value simplify_fold(SimplifyContext& c) {
  Value x = c.node->operand(0);
  for (int64_t axis : c.node->attrs().get(kAxes))
    if (!(x->type().dims[static_cast<size_t>(axis)] == 1)) return nullptr;
  return c.build.reshape(x, c.node->result()->type().dims);
}

Value spread_back(Builder& build, Value folded, Value like, const Ints& axes) {
  return build.broadcast(folded, like->type().dims, other_axes(like->type().rank(), axes));
}

namespace {

using namespace elements;
using loop::Expr;
using Exprs = std::vector<Expr>;

DType running_type(ReduceContext& c) {
  DType d = c.node->operand(0)->type().dtype;
  return tools::is_half(d) ? DType::F32 : d;
}

// --- folds of one running value ----------------------------------------------------------------------------------------
template <auto Init>
Exprs init_by(ReduceContext& c) { return {Init(c.build, running_type(c))}; }
Exprs element_itself(ReduceContext&, std::span<const Expr> x, Expr) { return {x[0]}; }
template <auto Combine>
Exprs combine_by(ReduceContext&, std::span<const Expr> a, std::span<const Expr> b) { return {Combine(a[0], b[0])}; }
Exprs finish_itself(ReduceContext&, std::span<const Expr> a) { return {a[0]}; }

template <auto Init, auto Combine, loop::Reduction Lanes>
constexpr ReduceRule kFold{.init = init_by<Init>, .element = element_itself, .combine = combine_by<Combine>,
                           .finish = finish_itself, .simple = true, .lanes = Lanes};

Expr zero(loop::Builder& build, DType d) { return is_float(d) ? build.constant(d, 0) : build.constant_bits(d, 0); }
Expr one(loop::Builder& build, DType d) { return is_float(d) ? build.constant(d, 1) : build.constant_bits(d, 1); }
Expr sum_of(Expr a, Expr b) { return a + b; }
Expr product_of(Expr a, Expr b) { return a * b; }
Expr both(Expr a, Expr b) { return a & b; }
Expr either(Expr a, Expr b) { return a | b; }
Expr one_of(Expr a, Expr b) { return a ^ b; }
Expr ones(loop::Builder& build, DType d) {
  return d == DType::Bool ? scalar::truth(build, true) : build.constant_int(d, -1);
}

// What the reference keeps while it folds: integers wrap in 64 bits, floats run in double.
template <typename T>
using Running = std::conditional_t<std::is_integral_v<T>, uint64_t,
                                   std::conditional_t<is_complex_number<T>, std::complex<double>, double>>;
template <typename T>
Running<T> running(T x) { return static_cast<Running<T>>(x); }

template <DTypeSet S, int Start, auto Combine>
void reference_accumulate(ReferenceContext& c) {
  visit<S>(c.operands[0].dtype(), [&](auto as) {
    using T = typename decltype(as)::Number;
    std::vector<Running<T>> state(static_cast<size_t>(c.results[0].elements()), Running<T>(Start));
    walk_fold(c.operands[0], c.attrs.get(kAxes), [&](int64_t to, int64_t from, int64_t) {
      auto& s = state[static_cast<size_t>(to)];
      s = Combine(s, running(as.get(c.operands[0], from)));
    });
    for (size_t i = 0; i < state.size(); ++i) store(c.results[0], static_cast<int64_t>(i), state[i]);
  });
}

template <typename T, bool Greatest>
T start_of_extreme() {
  if constexpr (std::is_floating_point_v<T>) return (Greatest ? -1 : 1) * std::numeric_limits<T>::infinity();
  else return Greatest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}
template <bool Greatest>
void reference_extreme(ReferenceContext& c) {
  visit<DTypeSet::Real>(c.operands[0].dtype(), [&](auto as) {
    using T = typename decltype(as)::Number;
    for (int64_t i = 0; i < c.results[0].elements(); ++i) as.put(c.results[0], i, start_of_extreme<T, Greatest>());
    walk_fold(c.operands[0], c.attrs.get(kAxes), [&](int64_t to, int64_t from, int64_t) {
      T before = as.get(c.results[0], to), x = as.get(c.operands[0], from);
      as.put(c.results[0], to, Greatest ? greatest(before, x) : least(before, x));
    });
  });
}

// --- where the extreme is ----------------------------------------------------------------------------------------------
template <bool Greatest>
void reference_arg(ReferenceContext& c) {
  visit<DTypeSet::Real>(c.operands[0].dtype(), [&](auto as) {
    using T = typename decltype(as)::Number;
    std::vector<std::optional<T>> best(static_cast<size_t>(c.results[0].elements()));
    walk_fold(c.operands[0], c.attrs.get(kAxes), [&](int64_t to, int64_t from, int64_t position) {
      T x = as.get(c.operands[0], from);
      auto& b = best[static_cast<size_t>(to)];
      bool better = !b || (Greatest ? *b < x : x < *b);
      if constexpr (std::is_floating_point_v<T>) better = !b || (!std::isnan(*b) && (std::isnan(x) || better));
      if (!better) return;
      b = x;
      As<int64_t>::put(c.results[0], to, position);
    });
  });
}
template <bool Greatest>
Exprs arg_init(ReduceContext& c) {
  DType d = running_type(c);
  return {Greatest ? scalar::lowest(c.build, d) : scalar::highest(c.build, d), scalar::highest(c.build, DType::I64)};
}
Exprs arg_element(ReduceContext&, std::span<const Expr> x, Expr position) { return {x[0], position}; }
// The better value; of equal ones the earlier.
template <bool Greatest>
Exprs arg_combine(ReduceContext&, std::span<const Expr> a, std::span<const Expr> b) {
  Expr better = Greatest ? a[0] < b[0] : b[0] < a[0], same = a[0] == b[0];
  if (is_float(a[0].type())) {
    Expr na = scalar::is_nan(a[0]), nb = scalar::is_nan(b[0]);
    better = better | (nb & ~na);
    same = same | (na & nb);
  }
  Expr take = better | (same & (b[1] < a[1]));
  return {loop::select(take, b[0], a[0]), loop::select(take, b[1], a[1])};
}
Exprs arg_finish(ReduceContext& c, std::span<const Expr> a) {  // 0 where there was no element
  return {loop::select(a[1] == scalar::highest(c.build, DType::I64), c.build.index(0), a[1])};
}
template <bool Greatest>
constexpr ReduceRule kArg{.init = arg_init<Greatest>, .element = arg_element, .combine = arg_combine<Greatest>,
                          .finish = arg_finish, .simple = false, .lanes = loop::Reduction::Max};

void infer_arg(InferContext& c) {
  infer_fold(c);
  c.results[0].dtype = DType::I64;
}

// --- rules on graphs -----------------------------------------------------------------------------------------------------
std::vector<Value> transpose_sum(TransposeContext& c) {
  Value ct = c.cotangents[0];
  return {ct ? spread_back(c.build, ct, c.node->operand(0), c.node->attrs().get(kAxes)) : nullptr};
}
// The tangents at the places of the extreme, in equal shares.
std::vector<Value> jvp_extreme(JvpContext& c) {
  if (!c.tangents[0]) return no_tangents(c);
  Compose m(c.build);
  const Ints& axes = c.node->attrs().get(kAxes);
  Value x = c.operands[0];
  Value here = c.build.convert(m.equal(x, spread_back(c.build, c.results[0], x, axes)), x->type().dtype);
  return {m.div(m.sum(m.mul(c.tangents[0], here), axes), m.sum(here, axes))};
}

struct FoldSpec {
  std::string name, doc, numpy;
  DTypeSet dtypes;
  ReferenceFn reference;
  const ReduceRule* rule;
  uint32_t traits = 0;
  Rule<JvpFn> jvp = zero_jvp;
  Rule<TransposeFn> transpose = tools::no_rule("it is not linear");
  InferFn infer = infer_fold;
  Rule<SimplifyFn> simplify = simplify_fold;
  double low = -4, high = 4, ulp = 0;
};

Op fold(FoldSpec f) {
  std::vector<BadSample> bad{
      {std::string(name(members(f.dtypes).front())) + "[2, 3]", "{axes = [2]}", fmt::format("IndexError: {}: axis 2 is out of range for rank 2", f.name)},
      {std::string(name(members(f.dtypes).front())) + "[2, 3]", "{axes = [1, 0]}", fmt::format("ValueError: {}: axes 1 and 0 are not in ascending order", f.name)}};
  DType refused = contains(f.dtypes, DType::Bool) ? DType::F32 : DType::Bool;
  bad.push_back({std::string(name(refused)) + "[2]", "{axes = [0]}",
                 fmt::format("TypeError: {}: expected {}, but x is {}", f.name, describe(f.dtypes), info(refused).api_name)});
  std::vector<Sample> samples;
  for (auto [shape, axes] : {std::pair{"[3, 7]", "[1]"}, {"[3, 7]", "[0]"}, {"[3, 7]", "[0, 1]"}, {"[33]", "[0]"}, {"[]", "[]"},
                             {"[2, 3, 4]", "[0, 2]"}, {"[2, 3, 4]", "[1]"}, {"[3, 0]", "[1]"}, {"[0, 3]", "[1]"}, {"[1, 5]", "[0]"},
                             {"[2, 130]", "[1]"}})
    samples.push_back({std::string("T") + shape, fmt::format("{{axes = {}}}", axes), f.low, f.high});
  return {.decl = {.name = f.name, .python = "", .doc = f.doc, .operands = {{"x", "The array."}}, .attrs = {kAxes},
                   .dtypes = f.dtypes, .traits = f.traits | Trait::Reduction, .front = Front::None, .numpy = f.numpy,
                   .samples = std::move(samples), .bad_samples = std::move(bad), .ulp = f.ulp},
          .rules = {.infer = f.infer, .reference = f.reference, .lower = LowerRule::of_reduce(f.rule),
                    .simplify = f.simplify, .jvp = f.jvp, .transpose = f.transpose, .batch = batch_fold,
                    .body = tools::no_body()},
          .id = {}};
}

}  // namespace

std::vector<Op> reduce_ops() {
  using loop::Reduction;
  std::vector<Op> ops;
  ops.push_back(fold({.name = "reduce_sum",
      .doc = "The sum over the axes; 0 of no elements.\n\nIntegers wrap; 16-bit floats are summed as float32.",
      .numpy = "np.sum(x, tuple(axes), dtype=x.dtype)", .dtypes = DTypeSet::Numeric,
      .reference = reference_accumulate<DTypeSet::Numeric, 0, [](auto a, auto b) { return a + b; }>,
      .rule = &kFold<zero, sum_of, Reduction::Add>, .traits = static_cast<uint32_t>(Trait::Linear),
      .jvp = +[](JvpContext& c) { return tools::linear_jvp(c); }, .transpose = transpose_sum,
      .simplify = +[](SimplifyContext& c) -> Value {  // the sum of -0 alone is +0, so floats must be added to 0
        return is_integer(c.node->operand(0)->type().dtype) ? simplify_fold(c) : nullptr;
      },
      .ulp = 64}));
  ops.push_back(fold({.name = "reduce_prod",
      .doc = "The product over the axes; 1 of no elements.\n\nIntegers wrap; 16-bit floats are multiplied as float32.",
      .numpy = "np.prod(x, tuple(axes), dtype=x.dtype)", .dtypes = DTypeSet::Numeric,
      .reference = reference_accumulate<DTypeSet::Numeric, 1, [](auto a, auto b) { return a * b; }>,
      .rule = &kFold<one, product_of, Reduction::Mul>, .jvp = tools::later(), .low = -1.5, .high = 1.5, .ulp = 64}));
  ops.push_back(fold({.name = "reduce_max",
      .doc = "The greatest over the axes; of no elements the least number of the type.\n\nNaN if any is NaN; +0 is above -0.",
      .numpy = "np.max(x, tuple(axes), initial=-np.inf if x.dtype.kind not in 'iu' else np.iinfo(x.dtype).min)",
      .dtypes = DTypeSet::Real, .reference = reference_extreme<true>,
      .rule = &kFold<scalar::lowest, scalar::maximum, Reduction::Max>, .jvp = jvp_extreme}));
  ops.push_back(fold({.name = "reduce_min",
      .doc = "The least over the axes; of no elements the greatest number of the type.\n\nNaN if any is NaN; -0 is below +0.",
      .numpy = "np.min(x, tuple(axes), initial=np.inf if x.dtype.kind not in 'iu' else np.iinfo(x.dtype).max)",
      .dtypes = DTypeSet::Real, .reference = reference_extreme<false>,
      .rule = &kFold<scalar::highest, scalar::minimum, Reduction::Min>, .jvp = jvp_extreme}));
  ops.push_back(fold({.name = "reduce_and", .doc = "The bits set in all elements over the axes; all bits of no elements.",
      .numpy = "np.bitwise_and.reduce(x, tuple(axes))", .dtypes = DTypeSet::IntegerBool,
      .reference = reference_accumulate<DTypeSet::IntegerBool, -1, [](auto a, auto b) { return a & b; }>,
      .rule = &kFold<ones, both, Reduction::And>}));
  ops.push_back(fold({.name = "reduce_or", .doc = "The bits set in any element over the axes; none of no elements.",
      .numpy = "np.bitwise_or.reduce(x, tuple(axes))", .dtypes = DTypeSet::IntegerBool,
      .reference = reference_accumulate<DTypeSet::IntegerBool, 0, [](auto a, auto b) { return a | b; }>,
      .rule = &kFold<zero, either, Reduction::Or>}));
  ops.push_back(fold({.name = "reduce_xor", .doc = "The bits set in an odd number of elements over the axes.",
      .numpy = "np.bitwise_xor.reduce(x, tuple(axes))", .dtypes = DTypeSet::IntegerBool,
      .reference = reference_accumulate<DTypeSet::IntegerBool, 0, [](auto a, auto b) { return a ^ b; }>,
      .rule = &kFold<zero, one_of, Reduction::Xor>}));
  const std::string flat = "(x.transpose([i for i in range(x.ndim) if i not in axes] + list(axes)).reshape("
                           "[x.shape[i] for i in range(x.ndim) if i not in axes] + [-1], order='C'), -1)";
  ops.push_back(fold({.name = "reduce_argmax",
      .doc = "Where the greatest over the axes stands: its position along them, row-major, as int64.\n\nOf equal ones the "
             "first; NaN is above all. 0 of no elements.",
      .numpy = "np.argmax" + flat + " if x.size else np.zeros([x.shape[i] for i in range(x.ndim) if i not in axes], 'i8')",
      .dtypes = DTypeSet::Real, .reference = reference_arg<true>, .rule = &kArg<true>, .infer = infer_arg,
      .simplify = tools::no_rule("its result is a position")}));
  ops.push_back(fold({.name = "reduce_argmin",
      .doc = "Where the least over the axes stands: its position along them, row-major, as int64.\n\nOf equal ones the "
             "first; NaN is below all. 0 of no elements.",
      .numpy = "np.argmin" + flat + " if x.size else np.zeros([x.shape[i] for i in range(x.ndim) if i not in axes], 'i8')",
      .dtypes = DTypeSet::Real, .reference = reference_arg<false>, .rule = &kArg<false>, .infer = infer_arg,
      .simplify = tools::no_rule("its result is a position")}));
  return ops;
}

}  // namespace ig::ops
