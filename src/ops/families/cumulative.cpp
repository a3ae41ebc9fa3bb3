// Folds that keep every intermediate value along an axis. Each row runs in order, so its bits depend on nothing else;
// 16-bit floats run as float32.
#include <cmath>

#include "ops/families/families.h"
#include "ops/families/reduce.h"
#include "ops/shape_attrs.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;

void infer_cumulative(InferContext& c) {
  c.require_dtype(0, c.op.decl.dtypes);
  c.axis(c.get(kAxis), c.operand(0).rank());
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

// Calls step(element, whether it is the first) along each row.
void walk_rows(const Literal& x, int64_t axis, bool backwards, const std::function<void(int64_t, bool)>& step) {
  auto a = static_cast<size_t>(axis);
  int64_t inner = 1, outer = 1, n = x.dims()[a];
  for (size_t i = 0; i < x.dims().size(); ++i) (i < a ? outer : i > a ? inner : n) *= i == a ? 1 : x.dims()[i];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < inner; ++j)
      for (int64_t k = 0; k < n; ++k) step((o * n + (backwards ? n - 1 - k : k)) * inner + j, k == 0);
}

template <DTypeSet S, auto Combine>
void reference_cumulative(ReferenceContext& c) {
  visit<S>(c.operands[0].dtype(), [&](auto as) {
    using T = typename decltype(as)::Number;
    using Wide = std::conditional_t<std::is_integral_v<T>, T, std::conditional_t<is_complex_number<T>, std::complex<double>, double>>;
    Wide state{};
    walk_rows(c.operands[0], c.attrs.get(kAxis), c.attrs.get(kBackwards), [&](int64_t i, bool first) {
      auto x = static_cast<Wide>(as.get(c.operands[0], i));
      state = first ? x : static_cast<Wide>(Combine(state, x));
      store(c.results[0], i, state);
    });
  });
}

// Rows along the last axis run one a block; along others a block takes a panel of rows side by side, in vectors.
template <auto Combine>
void nest_cumulative(NestContext& c) {
  constexpr int64_t kPanel = 256;
  constexpr int kLanes = 16;
  loop::Builder& build = *c.build;
  const Type& type = c.node->operand(0)->type();
  auto axis = static_cast<size_t>(c.node->attrs().get(kAxis));
  bool backwards = c.node->attrs().get(kBackwards);
  Dim outer = product(Dims(type.dims.begin(), type.dims.begin() + static_cast<int64_t>(axis)));
  Dim inner = product(Dims(type.dims.begin() + static_cast<int64_t>(axis) + 1, type.dims.end()));
  Expr n = c.size(type.dims[axis]);
  DType wide = tools::is_half(type.dtype) ? DType::F32 : type.dtype;
  auto load = [&](Expr at) {
    Expr x = build.load(c.operands[0], at);
    return x.type() == wide ? x : loop::convert(x, wide);
  };
  auto store = [&](Expr at, Expr value) {
    build.store(c.results[0], at, wide == type.dtype ? value : loop::convert(value, type.dtype));
  };
  auto place = [&](Expr k) { return backwards ? n - build.index(1) - k : k; };
  if (inner == 1) {
    c.set_blocks(outer);
    Expr base = build.let(build.block() * n);
    uint32_t state = build.local(wide, 1, 1, "state");
    build.assign(state, build.constant_bits(wide, 0));
    build.serial_for(build.index(0), n, [&](Expr k) {
      Expr at = build.let(base + place(k));
      Expr x = build.let(load(at));
      Expr next = build.let(loop::select(k == build.index(0), x, Combine(build.read(state), x)));
      build.assign(state, next);
      store(at, next);
    });
    return;
  }
  Dim panels = ceildiv(inner, Dim(kPanel));
  c.set_blocks(outer * panels);
  uint32_t state = build.add_scratch(wide, Dim(kPanel), "state");
  Expr panel_count = c.size(panels), stride = c.size(inner);
  Expr start = build.let((build.block() % panel_count) * build.index(kPanel));
  Expr width = build.let(loop::lesser(build.index(kPanel), stride - start));
  Expr base = build.let(build.block() / panel_count * n * stride + start);
  build.serial_for(build.index(0), n, [&](Expr k) {
    Expr row = build.let(base + place(k) * stride);
    build.if_then(k == build.index(0),
                  [&] {
                    build.vector_for(build.index(0), width, kLanes, [&](Expr j) {
                      Expr x = build.let(load(row + j));
                      build.store(state, j, x);
                      store(row + j, x);
                    });
                  },
                  [&] {
                    build.vector_for(build.index(0), width, kLanes, [&](Expr j) {
                      Expr next = build.let(Combine(build.load(state, j), load(row + j)));
                      build.store(state, j, next);
                      store(row + j, next);
                    });
                  });
  });
}

Batched batch_cumulative(BatchContext& c) {
  Attrs attrs = c.node->attrs();
  attrs.set(kAxis, attrs.get(kAxis) + 1);
  Value x = tools::batch_to_front(c.build, c.operands[0], c.axes[0]);
  return {{c.build.node(op_of(c.node), {x}, attrs)->result()}, {0}};
}
Value simplify_cumulative(SimplifyContext& c) {
  Value x = c.node->operand(0);
  return x->type().dims[static_cast<size_t>(c.node->attrs().get(kAxis))] == 1 ? x : nullptr;
}
// The cotangent of an element is summed from that of all later ones: the other way round.
std::vector<Value> transpose_cumulative_sum(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  Attrs attrs = c.node->attrs();
  attrs.set(kBackwards, !attrs.get(kBackwards));
  return {c.build.node(op_of(c.node), {c.cotangents[0]}, attrs)->result()};
}
std::vector<Value> jvp_cumulative_log_sum_exp(JvpContext& c) {
  if (!c.tangents[0]) return no_tangents(c);
  // log sum exp along the row, of tangents weighted by exp(x - y): cumsum(t e^(x-top)) / cumsum(e^(x-top)).
  Compose m(c.build);
  Value x = c.operands[0];
  Ints axes{c.node->attrs().get(kAxis)};
  Value weight = m.exp(m.sub(x, m.top_keep(x, axes)));
  auto along = [&](Value v) {
    return c.build("cumulative_sum", {v}, {kAxis % axes[0], kBackwards % c.node->attrs().get(kBackwards)});
  };
  return {m.div(along(m.mul(c.tangents[0], weight)), along(weight))};
}

template <auto Fn>
auto wrap(auto a, auto b) {
  if constexpr (std::is_integral_v<decltype(a)>) return static_cast<decltype(a)>(Fn(bits_of(a), bits_of(b)));
  else return Fn(a, b);
}

struct Cumulative {
  std::string name, python, doc, numpy;
  DTypeSet dtypes;
  ReferenceFn reference;
  NestFn nest;
  uint32_t traits = 0;
  Rule<JvpFn> jvp = tools::later();
  Rule<TransposeFn> transpose = tools::no_rule("it is not linear");
  double low = -4, high = 4, ulp = 0;
};

Op cumulative(Cumulative f) {
  std::string called = f.python.empty() ? f.name : f.python;
  std::vector<Sample> samples;
  for (auto [shape, attrs] : {std::pair{"[33]", "{axis = 0}"}, {"[3, 7]", "{axis = 1}"}, {"[3, 7]", "{axis = 0}"},
                              {"[2, 5, 3]", "{axis = 1, reverse = true}"}, {"[7]", "{axis = 0, reverse = true}"}, {"[0]", "{axis = 0}"},
                              {"[3, 0]", "{axis = 0}"}, {"[1]", "{axis = 0}"}, {"[2, 300]", "{axis = 0}"}})
    samples.push_back({std::string("T") + shape, attrs, f.low, f.high});
  std::vector<BadSample> bad{{"f32[2, 3]", "{axis = 2}", fmt::format("IndexError: {}: axis 2 is out of range for rank 2", called)},
                             {"f32[]", "{axis = 0}", fmt::format("IndexError: {}: axis 0 is out of range for rank 0", called)},
                             {"bool[2]", "{axis = 0}", fmt::format("TypeError: {}: expected {}, but x is bool", called, describe(f.dtypes))}};
  return {.decl = {.name = f.name, .python = f.python, .doc = f.doc, .operands = {{"x", "The array."}}, .attrs = {kAxis, kBackwards},
                   .dtypes = f.dtypes, .traits = f.traits, .front = f.python.empty() ? Front::None : Front::Direct,
                   .numpy = "(lambda v: " + f.numpy + ")(np.flip(x, axis) if reverse else x)",
                   .example = f.python.empty() ? "" : "ig." + f.python + "(ig.asarray([1.0, 3.0, 2.0]), axis=0)",
                   .samples = std::move(samples), .bad_samples = std::move(bad), .ulp = f.ulp},
          .rules = {.infer = infer_cumulative, .reference = f.reference, .lower = LowerRule::of_nest(f.nest),
                    .simplify = simplify_cumulative, .jvp = f.jvp, .transpose = f.transpose, .batch = batch_cumulative,
                    .body = tools::no_body()},
          .id = {}};
}
std::string along(const char* call) { return fmt::format("(lambda r: np.flip(r, axis) if reverse else r)({})", call); }

// --- the standard's functions ------------------------------------------------------------------------------------------
template <const char* Fold, int Start>
std::vector<Value> public_body(BodyContext& c) {
  Value x = c.operands[0];
  DType d = x->type().dtype;
  d = d == DType::Bool || is_signed_int(d) ? DType::I64 : is_unsigned_int(d) ? DType::U64 : d;
  int64_t axis = c.get(kAxis);
  Value out = c.build(Fold, {c.build.convert(x, d)}, {kAxis % axis});
  if (!c.get(kInitial)) return {out};
  Dims first = x->type().dims;
  first[static_cast<size_t>(axis)] = 1;
  return {c.build("concatenate", {c.build.full(Type::tensor(d, first), Start), out}, {kAxis % axis})};
}
void infer_public(InferContext& c) {
  c.require_dtype(0, c.op.decl.dtypes);
  c.axis(c.get(kAxis), c.operand(0).rank());
  tools::infer_by_body(c);
}
constexpr char kSum[] = "cumulative_sum", kProd[] = "cumulative_prod";

Op public_cumulative(std::string name, std::string python, std::string doc, std::string numpy, BodyFn body) {
  return composite({.name = name, .python = python,
                    .doc = std::move(doc) + "\n\nIntegers and booleans run as int64 or uint64. `include_initial` puts the result "
                                            "for no elements in front.",
                    .operands = {{"x", "The array."}}, .attrs = {kAxis, kInitial}, .dtypes = DTypeSet::NumericBool,
                    .numpy = std::move(numpy), .example = "ig." + python + "(ig.asarray([1.0, 2.0, 3.0]), axis=0)",
                    .samples = {{"T[33]", "{axis = 0}", -1.5, 1.5}, {"T[3, 7]", "{axis = 1}", -1.5, 1.5},
                                {"T[3, 7]", "{axis = 0, include_initial = true}", -1.5, 1.5}, {"T[0]", "{axis = 0, include_initial = true}"}},
                    .bad_samples = {{"f32[2, 3]", "{axis = 2}", "IndexError: " + python + ": axis 2 is out of range for rank 2"}},
                    .ulp = 64},
                   body, infer_public);
}

}  // namespace

std::vector<Op> cumulative_ops() {
  std::vector<Op> ops;
  ops.push_back(cumulative({.name = "cumulative_sum", .python = "",
      .doc = "The sums of the elements up to each one along the axis; integers wrap.",
      .numpy = along("np.cumsum(v, axis, dtype=x.dtype)"), .dtypes = DTypeSet::Numeric,
      .reference = reference_cumulative<DTypeSet::Numeric, [](auto a, auto b) { return wrap<[](auto x, auto y) { return x + y; }>(a, b); }>,
      .nest = nest_cumulative<[](Expr a, Expr b) { return a + b; }>, .traits = static_cast<uint32_t>(Trait::Linear),
      .jvp = +[](JvpContext& c) { return tools::linear_jvp(c); }, .transpose = transpose_cumulative_sum, .ulp = 256}));
  ops.push_back(cumulative({.name = "cumulative_prod", .python = "",
      .doc = "The products of the elements up to each one along the axis; integers wrap.",
      .numpy = along("np.cumprod(v, axis, dtype=x.dtype)"), .dtypes = DTypeSet::Numeric,
      .reference = reference_cumulative<DTypeSet::Numeric, [](auto a, auto b) { return wrap<[](auto x, auto y) { return x * y; }>(a, b); }>,
      .nest = nest_cumulative<[](Expr a, Expr b) { return a * b; }>, .low = -1.5, .high = 1.5, .ulp = 256}));
  ops.push_back(cumulative({.name = "cumulative_max", .python = "cumulative_max",
      .doc = "The greatest of the elements up to each one along the axis; NaN from the first NaN on.",
      .numpy = along("np.maximum.accumulate(v, axis)"), .dtypes = DTypeSet::Real,
      .reference = reference_cumulative<DTypeSet::Real, [](auto a, auto b) { return greatest(a, b); }>,
      .nest = nest_cumulative<[](Expr a, Expr b) { return scalar::maximum(a, b); }>}));
  ops.push_back(cumulative({.name = "cumulative_min", .python = "cumulative_min",
      .doc = "The least of the elements up to each one along the axis; NaN from the first NaN on.",
      .numpy = along("np.minimum.accumulate(v, axis)"), .dtypes = DTypeSet::Real,
      .reference = reference_cumulative<DTypeSet::Real, [](auto a, auto b) { return least(a, b); }>,
      .nest = nest_cumulative<[](Expr a, Expr b) { return scalar::minimum(a, b); }>}));
  ops.push_back(cumulative({.name = "cumulative_logsumexp", .python = "cumulative_logsumexp",
      .doc = "log of the sums of exp(x) up to each element along the axis, without overflow.",
      .numpy = along("np.logaddexp.accumulate(v, axis)"), .dtypes = DTypeSet::Float,
      .reference = reference_cumulative<DTypeSet::Float, [](auto a, auto b) {
        return a == b ? a + 0.693147180559945309417 : std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
      }>,
      .nest = nest_cumulative<[](Expr a, Expr b) { return scalar::log_add_exp(a, b); }>,
      .jvp = jvp_cumulative_log_sum_exp, .ulp = 256}));
  const std::string first = "(lambda r: np.concatenate([np.full([1 if i == axis else n for i, n in enumerate(r.shape)], {}, "
                            "r.dtype), r], axis) if include_initial else r)({})";
  ops.push_back(public_cumulative("cumsum", "cumulative_sum", "The sums of the elements up to each one along the axis.",
                                  fmt::format(fmt::runtime(first), "0", "np.cumsum(x, axis)"), public_body<kSum, 0>));
  ops.push_back(public_cumulative("cumprod", "cumulative_prod", "The products of the elements up to each one along the axis.",
                                  fmt::format(fmt::runtime(first), "1", "np.cumprod(x, axis)"), public_body<kProd, 1>));
  return ops;
}

}  // namespace ig::ops
