// Folds over axes. The primitives drop the axes they fold; keeping them as size 1, and all that is built on
// folds, is reduce_composites.cpp. The order of a compiled fold is codegen's (lower_fold.cpp); the reference
// folds in row-major order in double, so the two agree within the stated bound.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attrs.h"
#include "ops/families/array_tools.h"
#include "ops/families/bounds_rules.h"
#include "ops/families/complex.h"
#include "ops/families/compose.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using loop::Expr;
using loop::Reduction;

void require_sorted_axes(InferContext& c) {
  const Ints& axes = c.get(kAxes);
  for (size_t i = 0; i < axes.size(); ++i) {
    c.axis(axes[i], c.operand(0).rank());
    if (i && axes[i] <= axes[i - 1])
      c.fail(ErrorKind::Value, "the axes are not distinct and ascending", "each axis is folded once",
             "name each axis once");
  }
}
Dims kept_dims(const Dims& dims, const Ints& axes) {
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!tools::contains_axis(axes, static_cast<int64_t>(i))) out.push_back(dims[i]);
  return out;
}
void infer_fold(InferContext& c) {
  c.require_dtype(0, c.op.decl.dtypes);
  require_sorted_axes(c);
  c.result(c.operand(0).dtype, kept_dims(c.operand(0).dims, c.get(kAxes)));
}
void require_nonempty(InferContext& c, std::string_view what) {
  for (int64_t axis : c.get(kAxes))
    if (c.operand(0).dims[static_cast<size_t>(axis)] == Dim(int64_t{0}))
      c.fail(ErrorKind::Value, fmt::format("{} of no elements", what),
             fmt::format("axis {} has size 0", axis), "fold over an axis that has elements");
}
void infer_arg(InferContext& c) {
  c.require_dtype(0, c.op.decl.dtypes);
  require_sorted_axes(c);
  require_nonempty(c, "the position");
  c.result(DType::I64, kept_dims(c.operand(0).dims, c.get(kAxes)));
}

// Walks the operand, giving for each element the flat index of its result and its position along the folded
// axes.
void each_folded(const Literal& x, const Ints& axes,
                 const std::function<void(int64_t from, int64_t to, int64_t position)>& visit) {
  std::vector<int64_t> kept, folded;
  for (size_t i = 0; i < x.dims().size(); ++i)
    (tools::contains_axis(axes, static_cast<int64_t>(i)) ? folded : kept).push_back(x.dims()[i]);
  tools::each_index(x.dims(), [&](const tools::Index& index, int64_t flat) {
    tools::Index k, f;
    for (size_t i = 0; i < index.size(); ++i)
      (tools::contains_axis(axes, static_cast<int64_t>(i)) ? f : k).push_back(index[i]);
    visit(flat, tools::flat_of(kept, k), tools::flat_of(folded, f));
  });
}

// OfComplex: (a, x) of any std::complex; nullptr where complex numbers are refused.
template <auto Real, auto Whole, auto OfComplex = nullptr>
void reference_fold(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  Literal& out = c.results[0];
  auto n = static_cast<size_t>(out.elements());
  auto [real_start, whole_start] =
      std::pair{Real(0.0, 0.0, true), Whole(int64_t{0}, int64_t{0}, x.dtype(), true)};
  if constexpr (!std::is_same_v<decltype(OfComplex), std::nullptr_t>)
    if (is_complex(x.dtype())) {
      std::vector<Complex> sums(n, Complex(real_start));
      each_folded(x, c.attrs.get(kAxes), [&](int64_t from, int64_t to, int64_t) {
        Complex& sum = sums[static_cast<size_t>(to)];
        sum = OfComplex(sum, x.as_complex(from));
      });
      for (size_t i = 0; i < n; ++i)
        tools::set_complex(out, static_cast<int64_t>(i), sums[i].real(), sums[i].imag());
      return;
    }
  std::vector<double> reals(n, real_start);
  std::vector<int64_t> wholes(n, whole_start);
  each_folded(x, c.attrs.get(kAxes), [&](int64_t from, int64_t to, int64_t) {
    auto i = static_cast<size_t>(to);
    if (is_float(x.dtype()))
      reals[i] = Real(reals[i], x.as_double(from), false);
    else
      wholes[i] = Whole(wholes[i], x.as_int(from), x.dtype(), false);
  });
  for (size_t i = 0; i < n; ++i) {
    if (is_float(x.dtype()))
      tools::set_real(out, static_cast<int64_t>(i), reals[i]);
    else
      tools::set_whole(out, static_cast<int64_t>(i), wholes[i]);
  }
}

double sum_real(double a, double x, bool start) { return start ? 0 : a + x; }
double prod_real(double a, double x, bool start) { return start ? 1 : a * x; }
double larger(double a, double x) {
  return std::isnan(a) || std::isnan(x) ? NAN : a == x ? (std::signbit(a) ? x : a) : (a > x ? a : x);
}
double smaller(double a, double x) {
  return std::isnan(a) || std::isnan(x) ? NAN : a == x ? (std::signbit(a) ? a : x) : (a < x ? a : x);
}
double max_real(double a, double x, bool start) { return start ? -INFINITY : larger(a, x); }
double min_real(double a, double x, bool start) { return start ? INFINITY : smaller(a, x); }
double no_real(double a, double, bool) { return a; }

Complex sum_complex(Complex a, Complex x) { return a + x; }

int64_t sum_whole(int64_t a, int64_t x, DType, bool start) {
  return start ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(x));
}
int64_t prod_whole(int64_t a, int64_t x, DType, bool start) {
  return start ? 1 : static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(x));
}
bool below(int64_t a, int64_t b, DType d) {
  return d == DType::U64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}
int64_t max_whole(int64_t a, int64_t x, DType d, bool start) {
  if (start) return is_signed_int(d) ? std::numeric_limits<int64_t>::min() >> (64 - info(d).bits) : 0;
  return below(a, x, d) ? x : a;
}
int64_t min_whole(int64_t a, int64_t x, DType d, bool start) {
  if (start) {
    uint64_t ones = ~uint64_t{0} >> (64 - info(d).bits);
    return static_cast<int64_t>(is_signed_int(d) ? ones >> 1 : ones);
  }
  return below(x, a, d) ? x : a;
}
int64_t and_whole(int64_t a, int64_t x, DType d, bool start) {
  return start ? (d == DType::Bool ? 1 : -1) : a & x;
}
int64_t or_whole(int64_t a, int64_t x, DType, bool start) { return start ? 0 : a | x; }
int64_t xor_whole(int64_t a, int64_t x, DType, bool start) { return start ? 0 : a ^ x; }

template <bool Max>
void reference_arg(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  Literal& out = c.results[0];
  std::vector<int64_t> best(static_cast<size_t>(out.elements()), -1), at(best.size(), 0);
  each_folded(x, c.attrs.get(kAxes), [&](int64_t from, int64_t to, int64_t position) {
    auto i = static_cast<size_t>(to);
    bool better = best[i] < 0;
    if (!better && is_float(x.dtype())) {
      double a = x.as_double(best[i]), b = x.as_double(from);
      better = !std::isnan(a) && (std::isnan(b) || (Max ? b > a : b < a));
    } else if (!better) {
      better = Max ? below(x.as_int(best[i]), x.as_int(from), x.dtype())
                   : below(x.as_int(from), x.as_int(best[i]), x.dtype());
    }
    if (better) best[i] = from, at[i] = position;
  });
  for (size_t i = 0; i < at.size(); ++i) tools::set_whole(out, static_cast<int64_t>(i), at[i]);
}

// --- lowering
// ----------------------------------------------------------------------------------------------------------
DType accumulator(const Node* node) {
  return tools::wide_type(node->operand(0)->type().dtype) == DType::U8 &&
                 node->operand(0)->type().dtype == DType::Bool
             ? DType::Bool
             : tools::wide_type(node->operand(0)->type().dtype);
}
Expr number(ReduceContext& c, double v) {
  DType d = accumulator(c.node);
  return is_float(d) || is_complex(d) ? c.build.constant(d, v)
                                      : c.build.constant_int(d, static_cast<int64_t>(v));
}
std::vector<Expr> as_is(ReduceContext&, std::span<const Expr> x, Expr) { return {x[0]}; }
std::vector<Expr> done(ReduceContext&, std::span<const Expr> a) { return {a.begin(), a.end()}; }

const ReduceRule kSum{+[](ReduceContext& c) { return std::vector{number(c, 0)}; },
                      as_is,
                      +[](ReduceContext&, std::span<const Expr> a, std::span<const Expr> b) {
                        return std::vector{a[0] + b[0]};
                      },
                      done,
                      true,
                      Reduction::Add,
                      true};
const ReduceRule kProd{+[](ReduceContext& c) { return std::vector{number(c, 1)}; },
                       as_is,
                       +[](ReduceContext&, std::span<const Expr> a, std::span<const Expr> b) {
                         return std::vector{a[0] * b[0]};
                       },
                       done,
                       true,
                       Reduction::Mul,
                       true};
// The greatest is kept turned over, as the least of what stands the other way round: of floats the least
// costs less, as what both orders of a comparison have in bits is right for NaN too (`tools::total_min`).
Expr turned(Expr x) { return is_float(x.type()) ? -x : ~x; }
const ReduceRule kMax{
    +[](ReduceContext& c) { return std::vector{turned(tools::lowest(c.build, accumulator(c.node)))}; },
    +[](ReduceContext&, std::span<const Expr> x, Expr) { return std::vector{turned(x[0])}; },
    +[](ReduceContext&, std::span<const Expr> a, std::span<const Expr> b) {
      return std::vector{tools::total_min(a[0], b[0])};
    },
    +[](ReduceContext&, std::span<const Expr> a) { return std::vector{turned(a[0])}; },
    true,
    Reduction::Min};
const ReduceRule kMin{
    +[](ReduceContext& c) { return std::vector{tools::highest(c.build, accumulator(c.node))}; },
    as_is,
    +[](ReduceContext&, std::span<const Expr> a, std::span<const Expr> b) {
      return std::vector{tools::total_min(a[0], b[0])};
    },
    done,
    true,
    Reduction::Min};
const ReduceRule kAnd{
    +[](ReduceContext& c) { return std::vector{number(c, accumulator(c.node) == DType::Bool ? 1 : -1)}; },
    as_is,
    +[](ReduceContext&, std::span<const Expr> a, std::span<const Expr> b) {
      return std::vector{a[0] & b[0]};
    },
    done,
    true,
    Reduction::And};
const ReduceRule kOr{+[](ReduceContext& c) { return std::vector{number(c, 0)}; },
                     as_is,
                     +[](ReduceContext&, std::span<const Expr> a, std::span<const Expr> b) {
                       return std::vector{a[0] | b[0]};
                     },
                     done,
                     true,
                     Reduction::Or};
const ReduceRule kXor{+[](ReduceContext& c) { return std::vector{number(c, 0)}; },
                      as_is,
                      +[](ReduceContext&, std::span<const Expr> a, std::span<const Expr> b) {
                        return std::vector{a[0] ^ b[0]};
                      },
                      done,
                      true,
                      Reduction::Xor};

// The running values of a search: the best element so far and its position, or the worst element of the type
// and -1 until there is a better one. Of equals the one that stands first wins, whichever side it comes from,
// so lanes and blocks may meet in any order. A NaN beats all numbers.
template <bool Max>
Expr beats(Expr a, Expr b) {
  if (!is_float(a.type())) return Max ? b > a : b < a;
  return ~(Max ? b <= a : b >= a) & (a == a);
}
template <bool Max>
std::vector<Expr> later(ReduceContext& c, std::span<const Expr> a, std::span<const Expr> b) {
  Expr take = c.build.let(beats<Max>(a[0], b[0]));
  return {select(take, b[0], a[0]), select(take, b[1], a[1])};
}
template <bool Max>
std::vector<Expr> better(ReduceContext& c, std::span<const Expr> a, std::span<const Expr> b) {
  // Where neither beats the other: a position of -1 stands in front of none.
  Expr earlier = (b[1] < a[1]) & (b[1] >= 0.0);
  Expr take = c.build.let(beats<Max>(a[0], b[0]) | (earlier & ~beats<Max>(b[0], a[0])));
  return {select(take, b[0], a[0]), select(take, b[1], a[1])};
}
// A position has half the width of an index where it fits, as most elements have.
DType type_of_position(const Node* fold) {
  Dim count = int64_t{1};
  for (int64_t axis : fold->attrs().get(kAxes))
    count = count * fold->operand(0)->type().dims[static_cast<size_t>(axis)];
  const bool fits = count.is_constant() && count.constant() <= std::numeric_limits<int32_t>::max();
  return fits ? DType::I32 : DType::I64;
}
Expr position_number(ReduceContext& c, double value) {
  return c.build.constant(type_of_position(c.node), value);
}
std::vector<Expr> with_position(ReduceContext& c, std::span<const Expr> x, Expr position) {
  return {x[0], convert(position, type_of_position(c.node))};
}
// Where nothing was better than the worst, all are that: the first is as good as any.
std::vector<Expr> position_alone(ReduceContext& c, std::span<const Expr> a) {
  return {convert(select(a[1] < 0.0, position_number(c, 0), a[1]), DType::I64)};
}
const ReduceRule kArgMax{+[](ReduceContext& c) {
                           return std::vector{tools::lowest(c.build, accumulator(c.node)),
                                              position_number(c, -1)};
                         },
                         with_position,
                         better<true>,
                         position_alone,
                         false,
                         Reduction::Max,
                         false,
                         later<true>};
const ReduceRule kArgMin{+[](ReduceContext& c) {
                           return std::vector{tools::highest(c.build, accumulator(c.node)),
                                              position_number(c, -1)};
                         },
                         with_position,
                         better<false>,
                         position_alone,
                         false,
                         Reduction::Min,
                         false,
                         later<false>};

// Whether a fold is over nothing, or over axes of one element each.
bool folds_single_elements(const Node* node) {
  return std::ranges::all_of(node->attrs().get(kAxes), [&](int64_t axis) {
    return node->operand(0)->type().dims[static_cast<size_t>(axis)] == 1;
  });
}

Value simplify_fold(SimplifyContext& c) {
  if (!folds_single_elements(c.node)) return nullptr;
  const Value x = c.node->operand(0);
  return c.node->attrs().get(kAxes).empty() ? x : c.build.reshape(x, c.node->result()->type().dims);
}
Value simplify_arg(SimplifyContext& c) {  // a search among one element: its position, not itself
  return folds_single_elements(c.node) ? c.build.full(c.node->result()->type(), 0) : nullptr;
}
Value simplify_sum(SimplifyContext& c) {  // of floats, 0 is added: the sum of -0 alone is 0 + -0 = 0
  const Value one = simplify_fold(c);
  if (!one || is_integer(one->type().dtype)) return one;
  return c.build("add", {one, c.build.full(one->type(), 0)}, {});
}

// Each element of what was folded, at all the places that were folded into it.
Value spread(Builder& build, Value folded, const Type& like, const Ints& axes) {
  Ints kept;
  for (int64_t i = 0; i < like.rank(); ++i)
    if (!tools::contains_axis(axes, i)) kept.push_back(i);
  return build.broadcast(folded, like.dims, kept);
}
std::vector<Value> jvp_sum(JvpContext& c) {
  return {c.tangents[0] ? c.build("reduce_sum", {c.tangents[0]}, {kAxes % c.node->attrs().get(kAxes)})
                        : nullptr};
}
std::vector<Value> transpose_sum(TransposeContext& c) {
  Value ct = c.cotangents[0];
  return {ct ? spread(c.build, ct, c.node->operand(0)->type(), c.node->attrs().get(kAxes)) : nullptr};
}
// The mean of the tangents at the places of the extreme.
std::vector<Value> jvp_extreme(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  const Ints& axes = c.node->attrs().get(kAxes);
  Value x = c.operands[0];
  Value here = c.build.convert(m.equal(x, spread(c.build, c.results[0], x->type(), axes)), x->type().dtype);
  return {m.div(m.sum(m.mul(c.tangents[0], here), axes), m.sum(here, axes))};
}
// The slope by one element is the product of the others: with P the product of those that are not 0, it is P
// / x where nothing is 0, P at the only 0, and 0 elsewhere.
std::vector<Value> jvp_prod(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  const Ints& axes = c.node->attrs().get(kAxes);
  Value x = c.operands[0], none = m.number(x, 0), one = m.number(x, 1);
  Value zero = m.equal(x, none), rest = m.where(zero, one, x);
  Value product = spread(c.build, c.build("reduce_prod", {rest}, {kAxes % axes}), x->type(), axes);
  Value zeros = spread(c.build, m.sum(c.build.convert(zero, x->type().dtype), axes), x->type(), axes);
  Value alone = m.equal(zeros, c.build.convert(zero, x->type().dtype));  // no 0 but, at most, this one
  return {m.sum(m.mul(c.tangents[0], m.where(alone, m.div(product, rest), none)), axes)};
}
Batched batch_fold(BatchContext& c) {
  Value x = tools::batch_to_front(c.build, c.operands[0], c.axes[0]);
  Ints axes = c.node->attrs().get(kAxes);
  for (int64_t& a : axes) ++a;
  return {{c.build.node(op_of(c.node), {x}, make_attrs({kAxes % axes}))->result()}, {0}};
}

std::vector<Sample> fold_samples(double low, double high, bool empty) {
  std::vector<Sample> out{{"T[]", "{axes = []}", low, high},
                          {"T[1]", "{axes = [0]}", low, high},
                          {"T[7]", "{axes = [0]}", low, high},
                          {"T[130]", "{axes = [0]}", low, high},
                          {"T[3, 5]", "{axes = [1]}", low, high},
                          {"T[3, 5]", "{axes = [0]}", low, high},
                          {"T[3, 5]", "{axes = [0, 1]}", low, high},
                          {"T[2, 3, 4]", "{axes = [1]}", low, high},
                          {"T[2, 3, 4]", "{axes = [0, 2]}", low, high},
                          {"T[2, 3, 4]", "{axes = [1, 2]}", low, high},
                          {"T[4, 70]", "{axes = [1]}", low, high},
                          {"T[9, 70]", "{axes = [0]}", low, high},
                          {"T[0, 3]", "{axes = [1]}", low, high}};
  if (empty) {
    out.push_back({"T[0]", "{axes = [0]}", low, high});
    out.push_back({"T[3, 0]", "{axes = [1]}", low, high});
    out.push_back({"T[0, 3]", "{axes = [0]}", low, high});
  }
  return out;
}

}  // namespace

std::vector<Op> reduce_ops() {
  using tools::discrete, tools::no_body, tools::no_rule;
  std::vector<Op> ops;
  auto fold = [&](std::string name, std::string doc, DTypeSet dtypes, ReferenceFn reference,
                  const ReduceRule* rule, std::string numpy, double low, double high, double ulp,
                  Rule<JvpFn> jvp, InferFn infer = infer_fold, bool empty = true) {
    std::string outside = dtypes == DTypeSet::IntegerBool ? "f32" : "bool";
    std::string called = outside == "f32" ? "float32" : "bool";
    ops.push_back(
        {.decl =
             {.name = name,
              .doc = std::move(doc),
              .operands = {{"x", "The array."}},
              .attrs = {kAxes},
              .dtypes = dtypes,
              .traits = static_cast<uint32_t>(Trait::Reduction),
              .front = Front::None,
              .numpy = std::move(numpy),
              .samples = fold_samples(low, high, empty),
              .bad_samples = {{fmt::format("{}[3]", outside), "{axes = [0]}",
                               fmt::format("TypeError: {}: expected {}, but x is {}", name, describe(dtypes),
                                           called)},
                              {dtypes == DTypeSet::IntegerBool ? "i32[3]" : "f32[3]", "{axes = [1]}",
                               fmt::format("IndexError: {}: axis 1 is out of range for rank 1", name)},
                              {dtypes == DTypeSet::IntegerBool ? "i32[3, 4]" : "f32[3, 4]", "{axes = [1, 0]}",
                               fmt::format("ValueError: {}: the axes are not distinct and ascending", name)}},
              .ulp = ulp,
              .complex_ulp = ulp},
         .rules = {.infer = infer,
                   .reference = reference,
                   .lower = LowerRule::of_reduce(rule),
                   .simplify = simplify_fold,
                   .jvp = std::move(jvp),
                   .transpose = no_rule("it is not linear"),
                   .batch = batch_fold,
                   .body = no_body()}});
  };
  const std::string axes = "axis=tuple(axes)";
  fold("reduce_sum", "The sum over the axes; integers wrap, 16-bit floats are added in float32.",
       DTypeSet::Numeric, reference_fold<sum_real, sum_whole, sum_complex>, &kSum,
       "np.sum(x, " + axes + ", dtype=x.dtype)", -4, 4, 32, jvp_sum);
  ops.back().decl.traits |= static_cast<uint32_t>(Trait::Linear);
  ops.back().rules.simplify = simplify_sum;
  ops.back().rules.transpose = transpose_sum;
  for (const char* images : {"f32[1, 3, 4, 5]", "f32[2, 3, 4, 5]"})  // of each feature, as biases ask it
    for (const Ints& axes : {Ints{2, 3}, Ints{0, 2, 3}})
      ops.back().decl.usual.push_back({{images}, make_attrs({kAxes % axes})});
  fold("reduce_prod", "The product over the axes; integers wrap.", DTypeSet::Numeric,
       reference_fold<prod_real, prod_whole, complex_product<double>>, &kProd,
       "np.prod(x, " + axes + ", dtype=x.dtype)", 0.9, 1.1, 64, jvp_prod);
  fold("reduce_max",
       "The largest element over the axes; NaN where there is one; the least value of the type where there "
       "is none.",
       DTypeSet::Real, reference_fold<max_real, max_whole>, &kMax,
       "np.max(x, " + axes + ", initial=(-np.inf if x.dtype.kind == 'f' else np.iinfo(x.dtype).min))", -4, 4,
       0, jvp_extreme);
  ops.back().rules.bounds = bounds_of_extreme;
  fold("reduce_min",
       "The smallest element over the axes; NaN where there is one; the greatest value of the type where "
       "there is none.",
       DTypeSet::Real, reference_fold<min_real, min_whole>, &kMin,
       "np.min(x, " + axes + ", initial=(np.inf if x.dtype.kind == 'f' else np.iinfo(x.dtype).max))", -4, 4,
       0, jvp_extreme);
  ops.back().rules.bounds = bounds_of_extreme;
  fold("reduce_and", "The bits set in every element over the axes; of bool, whether all are true.",
       DTypeSet::IntegerBool, reference_fold<no_real, and_whole>, &kAnd,
       "np.bitwise_and.reduce(x, " + axes + ")", -4, 4, 0, discrete());
  fold("reduce_or", "The bits set in any element over the axes; of bool, whether any is true.",
       DTypeSet::IntegerBool, reference_fold<no_real, or_whole>, &kOr,
       "np.bitwise_or.reduce(x, " + axes + ")", -4, 4, 0, discrete());
  fold("reduce_xor", "The bits set in an odd number of elements over the axes.", DTypeSet::IntegerBool,
       reference_fold<no_real, xor_whole>, &kXor, "np.bitwise_xor.reduce(x, " + axes + ")", -4, 4, 0,
       discrete());
  auto numpy_arg = [](std::string f) {
    return "(np." + f +
           "(np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim)).reshape([n for i, n in "
           "enumerate(x.shape) if i not in axes] + [int(np.prod([x.shape[a] for a in axes]))]), axis=-1))";
  };
  fold("reduce_argmax",
       "The row-major position along the axes of the first largest element; NaN counts as larger than all.",
       DTypeSet::Real, reference_arg<true>, &kArgMax, numpy_arg("argmax"), -4, 4, 0, discrete(), infer_arg,
       false);
  fold("reduce_argmin",
       "The row-major position along the axes of the first smallest element; NaN counts as smaller than all.",
       DTypeSet::Real, reference_arg<false>, &kArgMin, numpy_arg("argmin"), -4, 4, 0, discrete(), infer_arg,
       false);
  for (Op& op : ops)
    if (op.rules.lower.reduce == &kArgMax || op.rules.lower.reduce == &kArgMin) {
      op.rules.simplify = simplify_arg;
      op.rules.bounds = bounds_of_position;
      op.decl.bad_samples.push_back(
          {"f32[0]", "{axes = [0]}",
           fmt::format("ValueError: {}: the position of no elements", op.decl.name)});
    }
  return ops;
}

}  // namespace ig::ops
