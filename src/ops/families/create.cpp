// Arrays from nothing: constants, counting, sizes, and the composites that fill.
#include <cmath>

#include "ops/attrs.h"
#include "ops/families/bounds_rules.h"
#include "ops/families/compose.h"
#include "ops/families/families.h"
#include "ops/indexing.h"

namespace ig::ops {
namespace {

using loop::Expr;
constexpr Attr<double> kFill{"fill_value", "The value of every element."};
constexpr Attr<double> kStart{"start", "The first element."};
constexpr Attr<double> kStep{"step", "The difference of neighbours.", "0x1p+0"};
constexpr Attr<Dims> kCount{"num", "How many elements, as one size."};
constexpr Attr<double> kStop{"stop", "The last element."};
constexpr Attr<bool> kEndpoint{"endpoint", "Whether stop is the last element, or the one behind it.", "true"};
constexpr Attr<int64_t> kDiagonal{"k", "The diagonal: 0 the main one, above it positive.", "0"};
constexpr Attr<Dims> kSize{"size", "The size, as one expression."};

void infer_constant(InferContext& c) {
  const Literal& value = c.get(kValue);
  if (!value.valid())
    c.fail(ErrorKind::Value, "the array is missing", "a constant is its array", "give the attribute value");
  c.results.push_back(value.type());
}
void reference_constant(ReferenceContext& c) {
  const Literal& value = c.attrs.get(kValue);
  if (value.bytes()) std::memcpy(c.results[0].mutable_data(), value.data(), value.bytes());
}
Expr point_constant(PointContext& c) {
  const Literal& value = c.node->attrs().get(kValue);
  IG_CHECK(value.elements() == 1, "a kernel holds a constant of {} elements", value.elements());
  DType type = value.dtype();
  if (is_complex(type)) {
    auto [real, imaginary] = tools::complex_at(value, 0);
    return loop::complex(c.build->constant(part_of(type), real), c.build->constant(part_of(type), imaginary));
  }
  if (is_float(type)) return c.build->constant(tools::is_half(type) ? DType::F32 : type, value.as_double(0));
  return c.build->constant_int(type == DType::Key ? DType::U64 : type, value.as_int(0));
}

void infer_iota(InferContext& c) {
  const Dims& shape = c.get(kShape);
  DType d = c.get(kDType);
  c.axis(c.get(kAxis), static_cast<int>(shape.size()));
  if (d == DType::Bool || d == DType::Key || is_complex(d))
    c.fail(ErrorKind::Type, fmt::format("it does not count in {}", info(d).api_name),
           "counting is in integers or floats", "choose such a dtype");
  c.result(d, shape);
}
void reference_iota(ReferenceContext& c) {
  Literal& out = c.results[0];
  auto axis = static_cast<size_t>(c.attrs.get(kAxis));
  tools::each_index(out.dims(), [&](const tools::Index& index, int64_t flat) {
    if (is_float(out.dtype()))
      tools::set_real(out, flat, static_cast<double>(index[axis]));
    else
      tools::set_whole(out, flat, index[axis]);
  });
}
Expr point_iota(PointContext& c) {
  Expr i = c.index[static_cast<size_t>(c.node->attrs().get(kAxis))];
  DType to = tools::wide_type(c.node->result()->type().dtype);
  return to == DType::I64 ? i : loop::convert(i, to);
}

const Dim& one_size(const InferContext& c, const Attr<Dims>& attr) {
  const Dims& dims = c.get(attr);
  if (dims.size() != 1)
    c.fail(ErrorKind::Value, fmt::format("the attribute {} holds {} sizes, not one", attr.name, dims.size()),
           "it is the length of the result", "give one size in angle brackets");
  return dims[0];
}
void infer_size(InferContext& c) {
  one_size(c, kSize);
  c.result(DType::I64, {});
}
void reference_size(ReferenceContext& c) {
  tools::set_whole(c.results[0], 0, c.attrs.get(kSize)[0].constant());
}
Expr point_size(PointContext& c) { return c.size(c.node->attrs().get(kSize)[0]); }
Value simplify_size(SimplifyContext& c) {
  const Dim& d = c.node->attrs().get(kSize)[0];
  return d.is_constant() ? c.build.constant(Literal::scalar_int(DType::I64, d.constant())) : nullptr;
}

Value number(Builder& b, DType d, double value) {
  if (d == DType::Bool) return b.constant(Literal::scalar_int(DType::Bool, value != 0));
  return b.scalar(d, value);
}

std::vector<Value> full_body(BodyContext& c) {
  return {c.build.broadcast(number(c.build, c.get(kDType), c.get(kFill)), c.get(kShape), {})};
}
template <int Value_>
std::vector<Value> filled_body(BodyContext& c) {
  return {c.build.broadcast(number(c.build, c.get(kDType), Value_), c.get(kShape), {})};
}

// start + i * step, in double and then the type, so that the last element of a long range is right.
std::vector<Value> arange_body(BodyContext& c) {
  Compose m(c.build);
  DType d = c.get(kDType);
  const Dims& shape = c.get(kCount);
  DType work = is_integer(d) ? DType::I64 : DType::F64;
  Value i = m.iota(work, shape, 0);
  return {c.build.convert(m.add(m.mul(i, c.get(kStep)), c.get(kStart)), d)};
}
void infer_range(InferContext& c) {
  one_size(c, kCount);
  DType d = c.get(kDType);
  if (!contains(DTypeSet::Real, d))
    c.fail(ErrorKind::Type, fmt::format("it does not count in {}", info(d).api_name),
           "counting is in integers or floats", "choose such a dtype");
  c.result(d, c.get(kCount));
}
std::vector<Value> linspace_body(BodyContext& c) {
  Compose m(c.build);
  const Dims& shape = c.get(kCount);
  double start = c.get(kStart), stop = c.get(kStop);
  int64_t n = shape[0].is_constant() ? shape[0].constant() : -1;
  IG_CHECK(n >= 0, "linspace has a fixed count");
  int64_t parts = c.get(kEndpoint) ? n - 1 : n;
  double step = parts > 0 ? (stop - start) / static_cast<double>(parts) : 0;
  Value i = m.iota(DType::F64, shape, 0);
  Value x = m.add(m.mul(i, step), start);
  if (c.get(kEndpoint) && n > 1) {  // the last is stop itself, however the step was rounded
    Value last = m.equal(i, m.number(i, static_cast<double>(n - 1)));
    x = m.where(last, m.number(x, stop), x);
  }
  return {c.build.convert(x, c.get(kDType))};
}
void infer_linspace(InferContext& c) {
  if (!one_size(c, kCount).is_constant())
    c.fail(ErrorKind::Value, "num must be a fixed number", "the step is computed from it", "use arange");
  infer_range(c);
}
std::vector<Value> eye_body(BodyContext& c) {
  Compose m(c.build);
  const Dims& shape = c.get(kShape);
  Value row = m.iota(DType::I64, shape, 0), column = m.iota(DType::I64, shape, 1);
  Value on = m.equal(column, m.add(row, static_cast<double>(c.get(kDiagonal))));
  DType d = c.get(kDType);
  return {d == DType::Bool ? on : c.build.convert(on, d)};
}
void infer_eye(InferContext& c) {
  if (c.get(kShape).size() != 2)
    c.fail(ErrorKind::Shape, fmt::format("expected two sizes, got {}", c.get(kShape).size()),
           "the result is a matrix", "give rows and columns");
  c.result(c.get(kDType), c.get(kShape));
}

}  // namespace

std::vector<Op> create_ops() {
  using tools::no_body, tools::no_rule;
  std::vector<Op> ops;
  auto primitive = [&](OpDecl decl, InferFn infer, ReferenceFn reference, PointFn point,
                       Rule<SimplifyFn> simplify, BoundsFn bounds) {
    decl.traits |= Trait::Constant | Trait::Cheap;
    ops.push_back({.decl = std::move(decl),
                   .rules = {.infer = infer,
                             .reference = reference,
                             .lower = LowerRule::of_point(point),
                             .simplify = std::move(simplify),
                             .jvp = no_rule("it has no operands"),
                             .transpose = no_rule("it has no operands"),
                             .batch = no_rule("it has no operands"),
                             .body = no_body(),
                             .bounds = bounds}});
  };
  primitive({.name = "constant",
             .doc = "The array that it holds.",
             .attrs = {kValue},
             .front = Front::None,
             .numpy = "np.asarray(value)",
             .samples = {{"", "{value = f32[2, 2] {0x1p+0, -0x1.8p+1, inf, nan}}"},
                         {"", "{value = i64[] {-7}}"},
                         {"", "{value = bool[3] {true, false, true}}"},
                         {"", "{value = bf16[0] {}}"},
                         {"", "{value = c64[1] {(0x1p+0, 0x1p-1)}}"}}},
            infer_constant, reference_constant, point_constant, no_rule("it is as simple as can be"),
            bounds_of_literal);
  primitive({.name = "iota",
             .python = "iota",
             .doc = "Each element is its own index along an axis.",
             .attrs = {kShape, kAxis, kDType},
             .numpy = "np.indices(shape)[axis].astype(dtype)",
             .example = "ig.iota(shape=[2, 3], axis=1, dtype=ig.int32)",
             .samples = {{"", "{shape = <5>, axis = 0, dtype = i64}"},
                         {"", "{shape = <2, 3>, axis = 1, dtype = f32}"},
                         {"", "{shape = <2, 3, 40>, axis = 0, dtype = i32}"},
                         {"", "{shape = <0, 2>, axis = 1, dtype = i64}"},
                         {"", "{shape = <70>, axis = 0, dtype = bf16}"}},
             .bad_samples = {{"", "{shape = <2>, axis = 1, dtype = i32}",
                              "IndexError: iota: axis 1 is out of range for rank 1"}},
             .usual = {{{}, make_attrs({kShape % Dims{2, 3}, kAxis % 0, kDType % DType::I64})},
                       {{}, make_attrs({kShape % Dims{2, 3}, kAxis % 1, kDType % DType::I64})}}},
            infer_iota, reference_iota, point_iota, no_rule("it is as simple as can be"), bounds_of_iota);
  primitive({.name = "dimension_size",
             .doc = "A size as a number: what it is at run time.",
             .attrs = {kSize},
             .front = Front::None,
             .numpy = "np.int64(size[0])",
             .samples = {{"", "{size = <7>}"}}},
            infer_size, reference_size, point_size, simplify_size, bounds_of_size);

  auto fill = [&](OpDecl decl, BodyFn body, InferFn infer) {
    decl.dtypes = DTypeSet::Any;
    ops.push_back(composite(std::move(decl), body, infer));
  };
  InferFn shaped = +[](InferContext& c) {
    if (c.get(kDType) == DType::Key || is_complex(c.get(kDType)))
      c.fail(ErrorKind::Type, fmt::format("it does not fill with {}", info(c.get(kDType)).api_name),
             "the value is a real number", "choose a real dtype");
    c.result(c.get(kDType), c.get(kShape));
  };
  fill({.name = "full",
        .python = "",
        .doc = "An array of one value.",
        .attrs = {kShape, kFill, kDType},
        .numpy = "np.full(shape, fill_value, dtype)",
        .samples = {{"", "{shape = <2, 3>, fill_value = 0x1.8p+0, dtype = f32}"},
                    {"", "{shape = <>, fill_value = 0x1p+1, dtype = i64}"},
                    {"", "{shape = <0>, fill_value = 0x1p+0, dtype = bool}"}}},
       full_body, shaped);
  fill({.name = "zeros",
        .python = "",
        .doc = "An array of zeros.",
        .attrs = {kShape, kDType},
        .numpy = "np.zeros(shape, dtype)",
        .samples = {{"", "{shape = <2, 3>, dtype = f32}"}, {"", "{shape = <>, dtype = bool}"}}},
       filled_body<0>, shaped);
  fill({.name = "ones",
        .python = "",
        .doc = "An array of ones.",
        .attrs = {kShape, kDType},
        .numpy = "np.ones(shape, dtype)",
        .samples = {{"", "{shape = <2, 3>, dtype = f16}"}, {"", "{shape = <4>, dtype = bool}"}}},
       filled_body<1>, shaped);
  fill({.name = "arange",
        .python = "",
        .doc = "start, start + step, …: so many elements.",
        .attrs = {kStart, kCount, kDType, kStep},
        .numpy = "(np.arange(num[0]) * step + start).astype(dtype)",
        .samples = {{"", "{start = 0x1p+0, num = <7>, dtype = i32, step = 0x1p+1}"},
                    {"", "{start = -0x1p+0, num = <50>, dtype = f32, step = 0x1p-2}"},
                    {"", "{start = 0x0p+0, num = <0>, dtype = f64}"}}},
       arange_body, infer_range);
  fill({.name = "linspace",
        .python = "",
        .doc = "So many elements evenly spaced from start to stop.",
        .attrs = {kStart, kStop, kCount, kDType, kEndpoint},
        .numpy = "np.linspace(start, stop, num[0], endpoint=endpoint).astype(dtype)",
        .samples = {{"", "{start = 0x0p+0, stop = 0x1p+0, num = <5>, dtype = f32}"},
                    {"", "{start = 0x1p+1, stop = -0x1p+0, num = <40>, dtype = f64, endpoint = false}"},
                    {"", "{start = 0x1p+1, stop = 0x1p+2, num = <1>, dtype = f32}"}}},
       linspace_body, infer_linspace);
  fill({.name = "eye",
        .python = "",
        .doc = "Ones on a diagonal, zeros elsewhere.",
        .attrs = {kShape, kDType, kDiagonal},
        .numpy = "np.eye(shape[0], shape[1], k, dtype)",
        .samples = {{"", "{shape = <3, 3>, dtype = f32}"},
                    {"", "{shape = <3, 5>, dtype = i64, k = 1}"},
                    {"", "{shape = <4, 2>, dtype = bool, k = -1}"}},
        .bad_samples = {{"", "{shape = <3>, dtype = f32}", "ShapeError: eye: expected two sizes, got 1"}}},
       eye_body, infer_eye);
  return ops;
}

}  // namespace ig::ops
