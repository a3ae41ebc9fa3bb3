// Running folds along an axis: each element of the result folds all up to it, in order; in reverse from the
// end. Compiled as one loop along the axis, for some rows or columns of the others side by side.
#include <cmath>
#include <limits>

#include "loop/math_detail.h"
#include "ops/attrs.h"
#include "ops/families/array_tools.h"
#include "ops/families/complex.h"
#include "ops/families/derivative_rules.h"
#include "ops/families/families.h"
#include "ops/indexing.h"

namespace ig::ops {
namespace {

using loop::Expr;
constexpr Attr<bool> kReverse{"reverse", "Whether to fold from the end.", "false"};

void infer_cumulative(InferContext& c) {
  c.require_dtype(0, c.op.decl.dtypes);
  c.axis(c.get(kAxis), c.operand(0).rank());
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

enum class Kind { Sum, Prod, Max, Min, LogSumExp };

double logaddexp(double a, double x) {
  if (a == -INFINITY) return x;
  if (x == -INFINITY) return a;
  if (std::isnan(a) || std::isnan(x)) return NAN;
  if (a == x) return a + M_LN2;
  return std::fmax(a, x) + std::log1p(std::exp(-std::fabs(a - x)));
}
template <Kind K>
double real(double a, double x) {
  if constexpr (K == Kind::Sum)
    return a + x;
  else if constexpr (K == Kind::Prod)
    return a * x;
  else if constexpr (K == Kind::LogSumExp)
    return logaddexp(a, x);
  else if (std::isnan(a) || std::isnan(x))
    return NAN;
  else if constexpr (K == Kind::Max)
    return a == x ? (std::signbit(a) ? x : a) : std::fmax(a, x);
  else
    return a == x ? (std::signbit(a) ? a : x) : std::fmin(a, x);
}
template <Kind K>
int64_t whole(int64_t a, int64_t x, DType d) {
  auto ua = static_cast<uint64_t>(a), ux = static_cast<uint64_t>(x);
  bool below = d == DType::U64 ? ua < ux : a < x;
  if constexpr (K == Kind::Sum)
    return static_cast<int64_t>(ua + ux);
  else if constexpr (K == Kind::Prod)
    return static_cast<int64_t>(ua * ux);
  else if constexpr (K == Kind::Max)
    return below ? x : a;
  else
    return below ? a : x;
}

template <Kind K>
void reference_cumulative(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  Literal& out = c.results[0];
  auto axis = static_cast<size_t>(c.attrs.get(kAxis));
  bool reverse = c.attrs.get(kReverse);
  int64_t n = x.dims()[axis], inner = 1, outer = 1;
  for (size_t i = 0; i < x.dims().size(); ++i)
    (i < axis ? outer : i > axis ? inner : n) *= i == axis ? 1 : x.dims()[i];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < inner; ++k) {
      double r = 0;
      int64_t w = 0;
      Complex z = 0;
      for (int64_t step = 0; step < n; ++step) {
        int64_t at = (o * n + (reverse ? n - 1 - step : step)) * inner + k;
        if (is_complex(x.dtype())) {
          Complex now = x.as_complex(at);
          z = step == 0 ? now : K == Kind::Sum ? z + now : complex_product(z, now);
          tools::set_complex(out, at, z.real(), z.imag());
        } else if (is_float(x.dtype())) {
          r = step == 0 ? x.as_double(at) : real<K>(r, x.as_double(at));
          tools::set_real(out, at, r);
        } else {
          w = step == 0 ? x.as_int(at) : whole<K>(w, x.as_int(at), x.dtype());
          tools::set_whole(out, at, w);
        }
      }
    }
}

template <Kind K>
Expr combine(Expr a, Expr x) {
  if constexpr (K == Kind::Sum)
    return a + x;
  else if constexpr (K == Kind::Prod)
    return a * x;
  else if constexpr (K == Kind::Max)
    return tools::total_max(a, x);
  else if constexpr (K == Kind::Min)
    return tools::total_min(a, x);
  else
    return loop::math::logaddexp(a, x);
}

// Some columns side by side, from their first elements to their last.
template <Kind K>
void walk_columns(NestContext& c, Expr base, Expr n, Expr inner, Expr column, int lanes) {
  loop::Builder& b = *c.build;
  const DType type = c.node->operand(0)->type().dtype, wide = tools::wide_type(type);
  const bool reverse = c.node->attrs().get(kReverse);
  uint32_t running = b.local(wide, lanes, 1, "running", true);
  b.assign(running, b.constant_bits(wide, 0));
  auto take = [&](Expr step, bool first) {
    Expr row = reverse ? (n - b.index(1)) - step : step;
    Expr at = base + row * inner + column;
    Expr x = b.let(tools::widen(b.load(c.operands[0], at)));
    Expr next = first ? x : b.let(combine<K>(b.read(running), x));
    b.assign(running, next);
    b.store(c.results[0], at, tools::narrow(next, type));
  };
  // A step waits for the one before, so nothing but the sum itself stands between them.
  Expr begin = b.let(loop::lesser(n, b.index(1)));
  b.serial_for(b.index(0), begin, [&](Expr step) { take(step, true); });
  b.serial_for(begin, n, [&](Expr step) { take(step, false); });
}

// Some rows side by side, where elements of a row lie side by side: each has its own order, but steps of one
// row wait for one another. Parts of them are turned over and back, so that a step of all rows is one vector.
template <Kind K>
void walk_rows(NestContext& c, const Dim& rows, Expr n, int lanes) {
  constexpr int64_t kPart = 64;  // steps that are turned over at a time
  loop::Builder& b = *c.build;
  const DType type = c.node->operand(0)->type().dtype, wide = tools::wide_type(type);
  const bool reverse = c.node->attrs().get(kReverse);
  const uint32_t part = b.add_scratch(type, Dim(kPart * lanes), "part"),
                 reached = b.add_scratch(wide, Dim(int64_t{lanes}), "reached");
  c.set_blocks(ceildiv(rows, Dim(int64_t{lanes})));
  Expr all = b.index(lanes), first_row = b.let(b.block() * all);
  Expr count = b.let(loop::lesser(all, c.size(rows) - first_row));
  auto walk = [&](Expr done, bool begins) {
    Expr end = b.let(loop::lesser(n, done + b.index(kPart))), steps = b.let(end - done);
    Expr from = b.let(first_row * n + (reverse ? n - end : done));
    b.transpose({part, b.index(0), all}, {c.operands[0], from, n}, count, steps);
    b.vector_for(b.index(0), count, lanes, [&](Expr row) {
      uint32_t running = b.local(wide, lanes, 1, "running", true);
      b.assign(running, begins ? b.constant_bits(wide, 0) : b.load(reached, row));
      auto take = [&](Expr step, bool first) {
        Expr at = (reverse ? (steps - b.index(1)) - step : step) * all + row;
        Expr x = b.let(tools::widen(b.load(part, at)));
        Expr next = first ? x : b.let(combine<K>(b.read(running), x));
        b.assign(running, next);
        b.store(part, at, tools::narrow(next, type));
      };
      Expr begin = b.let(loop::lesser(steps, b.index(begins ? 1 : 0)));
      if (begins) b.serial_for(b.index(0), begin, [&](Expr step) { take(step, true); });
      b.serial_for(begin, steps, [&](Expr step) { take(step, false); });
      b.store(reached, row, b.read(running));
    });
    b.transpose({c.results[0], from, n}, {part, b.index(0), all}, steps, count);
  };
  walk(b.index(0), true);
  Expr parts = b.let((n + b.index(kPart - 1)) / b.index(kPart));
  b.serial_for(b.index(1), parts, [&](Expr turn) { walk(b.let(turn * b.index(kPart)), false); });
}

template <Kind K>
void nest_cumulative(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  auto axis = static_cast<size_t>(c.node->attrs().get(kAxis));
  Dims before(type.dims.begin(), type.dims.begin() + static_cast<long>(axis));
  Dims behind(type.dims.begin() + static_cast<long>(axis) + 1, type.dims.end());
  // Columns side by side: each has its own order, so any number of lanes gives the same bits. Of elements
  // that have masked moves on all targets, a few columns are one vector with lanes to spare.
  constexpr int kLanes = 16;
  constexpr size_t kMasked = 4;    // bytes
  constexpr int64_t kFewRows = 4;  // fewer do not repay being turned over
  const Dim count = product(behind), rows = product(before);
  Expr n = c.size(type.dims[axis]), inner = c.size(count);
  if (count == 1 && !is_complex(type.dtype) && !(rows.is_constant() && rows.constant() < kFewRows))
    return walk_rows<K>(c, rows, n, kLanes);
  c.set_blocks(rows);
  Expr base = b.let(b.block() * (n * inner));
  auto columns = [&](Expr column, int lanes) { walk_columns<K>(c, base, n, inner, column, lanes); };
  if (count.is_constant() && count.constant() <= kLanes && size_of(type.dtype) < kMasked)
    return tools::in_whole_vectors(b, count.constant(), kLanes, columns);
  int lanes = kLanes;
  while (count.is_constant() && lanes > 1 && lanes / 2 >= count.constant()) lanes /= 2;
  b.vector_for(b.index(0), inner, lanes, [&](Expr column) { columns(column, lanes); });
}

Batched batch_cumulative(BatchContext& c) {
  Value x = tools::batch_to_front(c.build, c.operands[0], c.axes[0]);
  Attrs attrs =
      make_attrs({kAxis % (c.node->attrs().get(kAxis) + 1), kReverse % c.node->attrs().get(kReverse)});
  return {{c.build.node(op_of(c.node), {x}, std::move(attrs))->result()}, {0}};
}

std::vector<Value> jvp_sum(JvpContext& c) { return tools::linear_jvp(c); }
// A cotangent goes to all elements that were summed into its own: the sums the other way round.
std::vector<Value> transpose_sum(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  Attrs attrs = c.node->attrs();
  attrs.set(kReverse, !attrs.get(kReverse));
  return {c.build.node(op_of(c.node), {c.cotangents[0]}, attrs)->result()};
}
template <Kind K>
Op cumulative(std::string name, std::string doc, DTypeSet dtypes, std::string numpy, double ulp, double low,
              double high, JvpFn jvp) {
  using tools::no_body, tools::no_rule;
  return {.decl = {.name = name,
                   .python = name,
                   .doc = std::move(doc),
                   .operands = {{"x", "The array."}},
                   .attrs = {kAxis, kReverse},
                   .dtypes = dtypes,
                   .front = Front::Direct,
                   .numpy = std::move(numpy),
                   .example = "ig." + name + "(ig.asarray([1.0, 3.0, 2.0]), axis=0)",
                   .samples = {{"T[7]", "{axis = 0}", low, high},
                               {"T[7]", "{axis = 0, reverse = true}", low, high},
                               {"T[3, 5]", "{axis = 1}", low, high},
                               {"T[5, 40]", "{axis = 0}", low, high},
                               {"T[2, 3, 4]", "{axis = 1, reverse = true}", low, high},
                               {"T[0]", "{axis = 0}", low, high},
                               {"T[3, 0]", "{axis = 0}", low, high},
                               {"T[1]", "{axis = 0}", low, high}},
                   .bad_samples = {{dtypes == DTypeSet::Float ? "f32[]" : "i32[]", "{axis = 0}",
                                    fmt::format("IndexError: {}: axis 0 is out of range for rank 0", name)}},
                   .ulp = ulp,
                   .complex_ulp = ulp},
          .rules = {.infer = infer_cumulative,
                    .reference = reference_cumulative<K>,
                    .lower = LowerRule::of_nest(nest_cumulative<K>),
                    .simplify = no_rule("no identity keeps every bit"),
                    .jvp = jvp,
                    .transpose = no_rule("it is not linear"),
                    .batch = batch_cumulative,
                    .body = no_body()}};
}

std::string along(std::string call) {
  return "np.flip(" + call + "(np.flip(x, axis), axis), axis) if reverse else " + call + "(x, axis)";
}

}  // namespace

std::vector<Op> cumulative_ops() {
  std::vector<Op> ops;
  ops.push_back(cumulative<Kind::Sum>("cumulative_sum",
                                      "The sums of all elements up to each, along the axis; integers wrap.",
                                      DTypeSet::Numeric, along("np.add.accumulate"), 32, -4, 4, jvp_sum));
  ops.back().decl.traits |= static_cast<uint32_t>(Trait::Linear);
  ops.back().rules.transpose = transpose_sum;
  for (const char* type : {"f32", "i64"})
    for (int64_t axis : {0, 1})
      ops.back().decl.usual.push_back({{fmt::format("{}[2, 3]", type)}, make_attrs({kAxis % axis})});
  ops.push_back(cumulative<Kind::Prod>(
      "cumulative_prod", "The products of all elements up to each, along the axis.", DTypeSet::Numeric,
      along("np.multiply.accumulate"), 64, 0.9, 1.1, jvp_cumulative_prod));
  ops.back().decl.usual = {{{"f32[2, 3]"}, make_attrs({kAxis % 1})}};
  ops.push_back(cumulative<Kind::Max>(
      "cumulative_max", "The largest of all elements up to each, along the axis; NaN from the first one on.",
      DTypeSet::Real, along("np.maximum.accumulate"), 0, -4, 4, jvp_cumulative_max));
  ops.back().decl.usual = {{{"f32[2, 3]"}, make_attrs({kAxis % 1})}};
  ops.push_back(cumulative<Kind::Min>(
      "cumulative_min", "The smallest of all elements up to each, along the axis; NaN from the first one on.",
      DTypeSet::Real, along("np.minimum.accumulate"), 0, -4, 4, jvp_cumulative_min));
  ops.push_back(cumulative<Kind::LogSumExp>(
      "cumulative_logsumexp",
      "log of the sum of the exponentials of all elements up to each, along the axis.", DTypeSet::Float,
      along("np.logaddexp.accumulate"), 32, -4, 4, jvp_cumulative_logsumexp));
  return ops;
}

}  // namespace ig::ops
