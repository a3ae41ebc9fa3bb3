// Conversions of element types, choices between arrays, and the identity that keeps an optimiser out.
#include <cmath>
#include <limits>

#include "ops/control_attrs.h"
#include "ops/families/compose.h"
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using loop::Expr;
constexpr Attr<DType> kTo{"dtype", "The element type of the result."};

void infer_convert(InferContext& c) {
  DType from = c.operand(0).dtype, to = c.get(kTo);
  if ((from == DType::Key) != (to == DType::Key))
    c.fail(ErrorKind::Type, fmt::format("{} is not converted to {}", info(from).api_name, info(to).api_name),
           "the bits of a key are no number", "make keys with random_key, and draw numbers with random_bits");
  if (is_complex(from) && !is_complex(to) && to != DType::Bool)
    c.fail(ErrorKind::Type, fmt::format("{} is not converted to {}", info(from).api_name, info(to).api_name),
           "a real number has no place for the imaginary part", "convert to bool or to another complex type");
  c.result(to, c.operand(0).dims);
}

int64_t saturated(double v, DType to) {
  if (std::isnan(v)) return 0;
  if (to == DType::U64) {
    if (v <= 0) return 0;
    return v >= 0x1p64 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(v));
  }
  int bits = info(to).bits;
  double low = is_unsigned_int(to) ? 0 : -std::ldexp(1.0, bits - 1);
  double high = std::ldexp(1.0, is_unsigned_int(to) ? bits : bits - 1);
  if (v <= low) return static_cast<int64_t>(low);
  if (v >= high) return bits == 64 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(high) - 1;
  return static_cast<int64_t>(v);
}

// Rounded towards zero, with the last bit set where anything was lost: a second rounding, to fewer bits, then
// gives what one rounding of the whole value would have given.
float odd_float(double v) {
  auto f = static_cast<float>(v);
  if (std::isnan(v) || static_cast<double>(f) == v) return f;
  if (std::fabs(static_cast<double>(f)) > std::fabs(v)) f = std::nextafterf(f, 0);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  bits |= 1;
  std::memcpy(&f, &bits, 4);
  return std::copysign(f, static_cast<float>(v));
}
double odd_double(int64_t v, bool is_unsigned) {
  uint64_t size = v < 0 && !is_unsigned ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  if (size >> 53) size = (size & ~uint64_t{0x7ff}) | (size & 0x7ff ? uint64_t{0x800} : 0);
  auto out = static_cast<double>(size);
  return v < 0 && !is_unsigned ? -out : out;
}

void reference_convert(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  Literal& out = c.results[0];
  DType to = out.dtype();
  for (int64_t i = 0, n = x.elements(); i < n; ++i) {
    if (to == x.dtype())
      tools::copy_element(out, i, x, i);
    else if (is_complex(to) && !is_complex(x.dtype()) && is_unsigned_int(x.dtype()))
      tools::set_complex(out, i, static_cast<double>(static_cast<uint64_t>(x.as_int(i))), 0);
    else if (is_complex(to)) {
      auto [real, imaginary] = tools::complex_at(x, i);
      tools::set_complex(out, i, real, imaginary);
    } else if (is_complex(x.dtype())) {
      auto [real, imaginary] = tools::complex_at(x, i);
      tools::set_whole(out, i, real != 0 || imaginary != 0);
    } else if (to == DType::Bool)
      tools::set_whole(out, i, is_float(x.dtype()) ? x.as_double(i) != 0 : x.as_int(i) != 0);
    else if (is_float(to) && is_float(x.dtype()))
      tools::set_real(out, i, tools::is_half(to) ? odd_float(x.as_double(i)) : x.as_double(i));
    else if (is_float(to)) {
      // Straight from the integer: by way of double, a float32 would be rounded twice.
      int64_t v = x.as_int(i);
      bool wide = x.dtype() == DType::U64;
      if (tools::is_half(to))
        tools::set_real(out, i, odd_float(odd_double(v, wide)));
      else if (to == DType::F64)
        tools::set_real(out, i,
                        wide ? static_cast<double>(static_cast<uint64_t>(v)) : static_cast<double>(v));
      else
        tools::set_real(
            out, i,
            static_cast<double>(wide ? static_cast<float>(static_cast<uint64_t>(v)) : static_cast<float>(v)));
    } else
      tools::set_whole(out, i, is_float(x.dtype()) ? saturated(x.as_double(i), to) : x.as_int(i));
  }
}

Expr lower_convert(ScalarContext& c) {
  DType from = c.node->operand(0)->type().dtype, to = c.node->result()->type().dtype;
  if (from == to || c.x[0].type() == to) return c.x[0];
  // To 16 bits at once: by way of float32, float64 and wide integers would be rounded twice.
  return loop::convert(c.x[0], tools::is_half(to) ? to : c.result);
}

Value simplify_convert(SimplifyContext& c) {
  Value x = c.node->operand(0);
  DType to = c.node->result()->type().dtype;
  if (x->type().dtype == to) return x;
  // convert(convert(x, wider), to) where the first step keeps every value.
  Node* inner = x->node();
  if (!inner || inner->op() != c.node->op()) return nullptr;
  DType from = inner->operand(0)->type().dtype, middle = x->type().dtype;
  bool floats = is_float(from) && is_float(middle) && info(middle).bits > info(from).bits;
  bool wholes = is_integer(from) && is_integer(middle) && kind_of(from) == kind_of(middle) &&
                info(middle).bits > info(from).bits;
  return floats || wholes ? c.build.convert(inner->operand(0), to) : nullptr;
}

std::vector<Value> jvp_convert(JvpContext& c) {
  DType to = c.results[0]->type().dtype;
  return {c.tangents[0] && (is_float(to) || is_complex(to)) ? c.build.convert(c.tangents[0], to) : nullptr};
}

std::vector<Value> transpose_convert(TransposeContext& c) {
  Value ct = c.cotangents[0];
  DType from = c.node->operand(0)->type().dtype;
  if (ct && is_complex(ct->type().dtype) && !is_complex(from)) ct = c.build("real", {ct});
  return {ct ? c.build.convert(ct, from) : nullptr};
}

std::vector<Value> transpose_identity(TransposeContext& c) { return {c.cotangents[0]}; }

// --- bitcast
// -----------------------------------------------------------------------------------------------------------
void infer_bitcast(InferContext& c) {
  DType from = c.operand(0).dtype, to = c.get(kTo);
  if (size_of(from) != size_of(to) || (from == DType::Bool) != (to == DType::Bool) || is_complex(from) ||
      is_complex(to))
    c.fail(ErrorKind::Type, fmt::format("{} and {} differ in width", info(from).api_name, info(to).api_name),
           "the bits of one element become one element", "choose a type of the same width");
  c.result(to, c.operand(0).dims);
}
void reference_bitcast(ReferenceContext& c) {
  if (c.operands[0].bytes())
    std::memcpy(c.results[0].mutable_data(), c.operands[0].data(), c.operands[0].bytes());
}
bool half(DType d) { return d == DType::F16 || d == DType::BF16; }
Expr lower_bitcast(ScalarContext& c) {
  DType from = c.node->operand(0)->type().dtype, to = c.node->result()->type().dtype;
  Expr x = c.x[0];
  if (half(from)) x = loop::convert(x, from);  // it came widened
  if (x.type() == to) return x;
  Expr bits = loop::bitcast(x, to == DType::Key ? DType::U64 : to);
  return half(to) ? loop::convert(bits, DType::F32) : bits;
}

// --- select and clamp
// --------------------------------------------------------------------------------------------------
void infer_select(InferContext& c) {
  c.require_dtype(0, DTypeSet::Bool);
  c.require_same_dtype(1, 2);
  c.require_same_shape(0, 1);
  c.require_same_shape(1, 2);
  c.result(c.operand(1).dtype, c.operand(1).dims);
}
void reference_select(ReferenceContext& c) {
  for (int64_t i = 0, n = c.operands[0].elements(); i < n; ++i)
    tools::copy_element(c.results[0], i, c.operands[c.operands[0].as_int(i) ? 1 : 2], i);
}
Value simplify_select(SimplifyContext& c) {
  if (c.node->operand(1) == c.node->operand(2)) return c.node->operand(1);
  const Literal* literal = tools::literal_behind(c.node->operand(0));
  if (!literal || literal->elements() != 1) return nullptr;
  return c.node->operand(literal->as_int(0) ? 1 : 2);
}
std::vector<Value> jvp_select(JvpContext& c) {
  if (!c.tangents[1] && !c.tangents[2]) return {nullptr};
  Value x = c.tangents[1] ? c.tangents[1] : c.build.full_like(c.results[0], 0);
  Value y = c.tangents[2] ? c.tangents[2] : c.build.full_like(c.results[0], 0);
  return {c.build("select", {c.operands[0], x, y})};
}

// The cotangent of a side where it was taken, and 0 elsewhere.
std::vector<Value> transpose_select(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr, nullptr};
  Value none = c.build.full_like(ct, 0);
  return {nullptr, c.linear[1] ? c.build("select", {c.operands[0], ct, none}) : nullptr,
          c.linear[2] ? c.build("select", {c.operands[0], none, ct}) : nullptr};
}

void infer_clamp(InferContext& c) {
  c.require_dtype(1, DTypeSet::Real);
  c.require_same_dtype(1, 0);
  c.require_same_dtype(1, 2);
  c.require_same_shape(1, 0);
  c.require_same_shape(1, 2);
  c.result(c.operand(1).dtype, c.operand(1).dims);
}
std::vector<Value> clamp_body(BodyContext& c) {
  return {c.build("minimum", {c.build("maximum", {c.operands[0], c.operands[1]}), c.operands[2]})};
}
void infer_clip(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  for (size_t i = 1; i < 3; ++i) {
    c.require_same_dtype(0, i);
    c.require_same_shape(0, i);
  }
  c.result(c.operand(0).dtype, c.operand(0).dims);
}
std::vector<Value> clip_body(BodyContext& c) {
  return {c.build("minimum", {c.build("maximum", {c.operands[0], c.operands[1]}), c.operands[2]})};
}

void infer_identity(InferContext& c) { c.result(c.operand(0).dtype, c.operand(0).dims); }

}  // namespace

std::vector<Op> convert_ops() {
  using tools::no_body, tools::no_rule;
  std::vector<Op> ops;
  std::vector<Sample> samples;
  for (DType d : members(DTypeSet::Any))
    if (d != DType::Key) {
      samples.push_back({"T[7]", fmt::format("{{dtype = {}}}", name(d)), 0, 9});
      samples.push_back({"T[2, 3]", fmt::format("{{dtype = {}}}", name(d)), 0, 1});
    }
  ops.push_back(
      {.decl =
           {.name = "convert",
            .python = "astype",
            .doc =
                "The array with its elements as another type.\n\nFloats become integers by dropping the "
                "fraction; beyond the "
                "type's range they saturate, and NaN becomes 0. Integers wrap. To bool: whether it is not 0. "
                "Real numbers become complex with an imaginary part of 0; complex ones do not become real.",
            .operands = {{"x", "The array."}},
            .attrs = {kTo},
            .dtypes = DTypeSet::Any,
            .traits = Trait::Elementwise | Trait::Cheap,
            .numpy = "x.astype(dtype)",
            .example = "ig.astype(ig.asarray([1.5, -2.5]), ig.int32)",
            .samples = std::move(samples),
            .bad_samples = {{"c64[2]", "{dtype = f32}",
                             "TypeError: astype: complex64 is not converted to float32"}}},
       .rules = {.infer = infer_convert,
                 .reference = reference_convert,
                 .lower = LowerRule::of_scalar(lower_convert),
                 .simplify = simplify_convert,
                 .jvp = jvp_convert,
                 .transpose = transpose_convert,
                 .batch = batch_elementwise,
                 .body = no_body(),
                 .bounds = bounds_of_converted}});
  ops.push_back({.decl = {.name = "bitcast_convert",
                          .python = "bitcast",
                          .doc = "The same bits as elements of another type of the same width.",
                          .operands = {{"x", "The array."}},
                          .attrs = {kTo},
                          .dtypes = DTypeSet::Any,
                          .traits = Trait::Elementwise | Trait::Cheap,
                          .numpy = "x.view(dtype)",
                          .example = "ig.bitcast(ig.asarray([1.0]), ig.int32)",
                          .samples = {},
                          .bad_samples = {{"f32[2]", "{dtype = i64}",
                                           "TypeError: bitcast: float32 and int64 differ in width"}}},
                 .rules = {.infer = infer_bitcast,
                           .reference = reference_bitcast,
                           .lower = LowerRule::of_scalar(lower_bitcast),
                           .simplify = no_rule("no identity keeps every bit"),
                           .jvp = no_rule("bits have no derivative"),
                           .transpose = no_rule("bits have no derivative"),
                           .batch = batch_elementwise,
                           .body = no_body()}});
  for (auto [from, to] : {std::pair{"f32", "i32"},
                          {"i32", "f32"},
                          {"f64", "i64"},
                          {"u64", "f64"},
                          {"i8", "u8"},
                          {"f32", "u32"}})
    ops.back().decl.samples.push_back(
        {fmt::format("{}[5, 3]", from), fmt::format("{{dtype = {}}}", to), 0, 9});
  ops.push_back({.decl = {.name = "optimization_barrier",
                          .python = "optimization_barrier",
                          .doc = "The array itself; no rule looks through it.",
                          .operands = {{"x", "The array."}},
                          .dtypes = DTypeSet::Any,
                          .traits = Trait::Elementwise | Trait::Linear | Trait::Cheap,
                          .front = Front::Elementwise,
                          .numpy = "x",
                          .example = "ig.optimization_barrier(ig.asarray([1.0]))",
                          .samples = {{"T[3]", ""}, {"T[2, 0]", ""}}},
                 .rules = {.infer = infer_identity,
                           .reference = reference_bitcast,
                           .lower = LowerRule::of_scalar([](ScalarContext& c) { return c.x[0]; }),
                           .simplify = no_rule("it is there to stay"),
                           .jvp = +[](JvpContext& c) { return std::vector<Value>{c.tangents[0]}; },
                           .transpose = transpose_identity,
                           .batch = batch_elementwise,
                           .body = no_body(),
                           .bounds = bounds_of_first}});
  ops.push_back({.decl = {.name = "checkpoint_name",
                          .python = "checkpoint_name",
                          .doc = "The array itself, by a name that the policies of ig.checkpoint know.",
                          .operands = {{"x", "The array."}},
                          .attrs = {kValueName},
                          .dtypes = DTypeSet::Any,
                          .traits = Trait::Elementwise | Trait::Linear | Trait::Cheap,
                          .front = Front::Elementwise,
                          .numpy = "x",
                          .example = "ig.checkpoint_name(ig.asarray([1.0]), name=\"weights\")",
                          .samples = {{"T[3]", "{name = \"a\"}"}, {"T[2, 0]", "{name = \"a\"}"}}},
                 .rules = {.infer = infer_identity,
                           .reference = reference_bitcast,
                           .lower = LowerRule::of_scalar([](ScalarContext& c) { return c.x[0]; }),
                           .simplify = no_rule("it must last until derivatives are taken"),
                           .jvp = +[](JvpContext& c) { return std::vector<Value>{c.tangents[0]}; },
                           .transpose = transpose_identity,
                           .batch = batch_elementwise,
                           .body = no_body(),
                           .bounds = bounds_of_first}});
  ops.push_back({.decl = {.name = "stop_gradient",
                          .python = "stop_gradient",
                          .doc = "The array itself, which derivatives take for a constant.",
                          .operands = {{"x", "The array."}},
                          .dtypes = DTypeSet::Any,
                          .traits = Trait::Elementwise | Trait::Cheap | Trait::Idempotent | Trait::Detached,
                          .front = Front::Elementwise,
                          .numpy = "x",
                          .example = "ig.stop_gradient(ig.asarray([1.0]))",
                          .samples = {{"T[]", ""}, {"T[3]", ""}, {"T[2, 0]", ""}, {"T[5, 17]", ""}}},
                 .rules = {.infer = infer_identity,
                           .reference = reference_bitcast,
                           .lower = LowerRule::of_scalar([](ScalarContext& c) { return c.x[0]; }),
                           .simplify = no_rule("it must last until derivatives are taken"),
                           .jvp = &tools::zero_jvp,
                           .transpose = no_rule("it has no tangent to transpose"),
                           .batch = batch_elementwise,
                           .body = no_body(),
                           .bounds = bounds_of_first}});
  return ops;
}

std::vector<Op> select_ops() {
  using tools::no_body;
  std::vector<Op> ops;
  ops.push_back(
      {.decl =
           {.name = "select",
            .python = "where",
            .doc = "The elements of x where the condition is true, those of y elsewhere.",
            .operands = {{"condition", "Where to take x."},
                         {"x", "What to take there."},
                         {"y", "What to take elsewhere."}},
            .dtypes = DTypeSet::Any,
            .traits = Trait::Elementwise | Trait::Cheap,
            .front = Front::Elementwise,
            .numpy = "np.where(condition, x, y)",
            .example = "ig.where(ig.asarray([True, False]), ig.asarray([1, 2]), ig.asarray([3, 4]))",
            .samples = {{"bool[], T[], T[]", ""},
                        {"bool[0], T[0], T[0]", ""},
                        {"bool[9], T[9], T[9]", ""},
                        {"bool[3, 70], T[3, 70], T[3, 70]", ""}},
            .bad_samples = {{"i32[2], f32[2], f32[2]", "",
                             "TypeError: where: expected bool, but condition is int32"},
                            {"bool[2], f32[2], i32[2]", "", "TypeError: where: x is float32, but y is int32"},
                            {"bool[3], f32[2], f32[2]", "", "ShapeError: where: shapes [3] and [2] differ"}}},
       .rules = {.infer = infer_select,
                 .reference = reference_select,
                 .lower = LowerRule::of_scalar(
                     [](ScalarContext& c) { return loop::select(c.x[0], c.x[1], c.x[2]); }),
                 .simplify = simplify_select,
                 .jvp = jvp_select,
                 .transpose = transpose_select,
                 .batch = batch_elementwise,
                 .body = no_body(),
                 .bounds = bounds_of_selected}});
  ops.push_back(composite(
      {.name = "clamp",
       .python = "",
       .doc = "Each element, but no less than min and no more than max; NaN where any of the three is.",
       .operands = {{"min", "The least."}, {"x", "The array."}, {"max", "The most; it wins over min."}},
       .dtypes = DTypeSet::Real,
       .traits = static_cast<uint32_t>(Trait::Elementwise),
       .front = Front::None,
       .numpy = "np.minimum(np.maximum(min, x), max)",
       .samples = {{"T[5], T[5], T[5]", ""}, {"T[], T[], T[]", ""}}},
      clamp_body, infer_clamp));
  ops.push_back(composite(
      {.name = "clip",
       .python = "clip",
       .doc = "Each element, but no less than min and no more than max; NaN where any of the three is.",
       .operands = {{"x", "The array."}, {"min", "The least."}, {"max", "The most; it wins over min."}},
       .dtypes = DTypeSet::Real,
       .traits = static_cast<uint32_t>(Trait::Elementwise),
       .front = Front::Elementwise,
       .numpy = "np.minimum(np.maximum(x, min), max)",
       .example = "ig.clip(ig.asarray([-2.0, 0.5, 3.0]), -1.0, 1.0)",
       .samples = {{"T[5], T[5], T[5]", ""}, {"T[], T[], T[]", ""}, {"T[3, 40], T[3, 40], T[3, 40]", ""}}},
      clip_body, infer_clip));
  return ops;
}

}  // namespace ig::ops
