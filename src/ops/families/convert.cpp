// Changes of element type: by value (convert) and by bits (bitcast_convert).
#include <cmath>

#include "ops/attrs.h"
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;

// Floats to integers: towards zero, saturating, NaN to 0.
template <typename To, typename From>
To saturated(From x) {
  if (std::isnan(x)) return 0;
  double wide = std::trunc(static_cast<double>(x));
  constexpr double low = static_cast<double>(std::numeric_limits<To>::min());
  constexpr double high = sizeof(To) == 8 ? (std::is_signed_v<To> ? 0x1p63 : 0x1p64)
                                          : static_cast<double>(std::numeric_limits<To>::max()) + 1;
  if (wide <= low) return std::numeric_limits<To>::min();
  if (wide >= high) return std::numeric_limits<To>::max();
  return static_cast<To>(wide);
}

template <typename To, typename From>
auto converted(From x) {
  if constexpr (is_complex_number<From> && is_complex_number<To>)
    return To(static_cast<typename To::value_type>(x.real()), static_cast<typename To::value_type>(x.imag()));
  else if constexpr (std::is_same_v<To, bool>) return x != From(0);
  else if constexpr (is_complex_number<From>) return converted<To>(x.real());
  else if constexpr (is_complex_number<To>) return To(static_cast<typename To::value_type>(x));
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) return saturated<To>(x);
  else if constexpr (std::is_floating_point_v<To>) return x;  // the store rounds, once
  else return static_cast<To>(x);
}

void reference_convert(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  Literal& out = c.results[0];
  visit<DTypeSet::Any>(x.dtype(), [&](auto from) {
    visit<DTypeSet::Any>(out.dtype(), [&](auto to) {
      for (int64_t i = 0, n = out.elements(); i < n; ++i)
        to.put(out, i, converted<typename decltype(to)::Number>(from.get(x, i)));
    });
  });
}

void infer_convert(InferContext& c) {
  c.require_dtype(0, DTypeSet::NumericBool);
  DType to = c.get(kDType);
  if (to == DType::Key)
    c.fail(ErrorKind::Type, "numbers do not convert to random keys", "keys are opaque", "make one with ig.random.key");
  c.result(to, c.operand(0).dims);
}

Expr convert_rule(ScalarContext& c) {
  Expr x = c.x[0];
  DType to = c.node->result()->type().dtype;
  bool narrow = to == DType::F16 || to == DType::BF16;
  if (narrow && x.type() == DType::F64) return scalar::to_odd_f32(x);
  return x.type() == c.result ? x : loop::convert(x, c.result);
}

// Whether every value of `from` is one of `to`.
bool holds(DType from, DType to) {
  if (from == to) return true;
  if (from == DType::Bool) return to != DType::Key;
  auto digits = [](DType d) { return d == DType::F16 ? 11 : d == DType::BF16 ? 8 : d == DType::F32 ? 24 : 53; };
  if (is_integer(from) && is_integer(to)) {
    int spare = info(to).bits - info(from).bits;
    if (is_signed_int(from) == is_signed_int(to)) return spare >= 0;
    return is_signed_int(to) && spare > 0;
  }
  if (is_integer(from) && is_float(to)) return info(from).bits - (is_signed_int(from) ? 1 : 0) <= digits(to);
  if (is_float(from) && is_float(to)) return digits(to) >= digits(from) && (from != DType::BF16 || to != DType::F16);
  return is_complex(to) && (is_complex(from) ? to == DType::C128 : holds(from, real_type(to)));
}

Value simplify_convert(SimplifyContext& c) {
  Value x = c.node->operand(0);
  DType to = c.node->result()->type().dtype;
  if (x->type().dtype == to) return x;
  const Node* inner = made_by(x, c.node->op());
  if (!inner) return nullptr;
  Value first = inner->operand(0);
  if (!holds(first->type().dtype, x->type().dtype)) return nullptr;  // the inner one rounds: both stay
  // Integers wrap where floats saturate, and round twice on the way to 16 bits: such a detour says what is meant.
  DType from = first->type().dtype;
  bool detour = is_integer(from) && !is_integer(x->type().dtype);
  if (detour && is_integer(to) && !holds(from, to)) return nullptr;
  if (detour && (to == DType::F16 || to == DType::BF16) && !holds(from, DType::F32)) return nullptr;
  return c.build.convert(first, to);
}

bool carries_tangents(DType d) { return is_float(d) || is_complex(d); }

std::vector<Value> jvp_convert(JvpContext& c) {
  DType to = c.node->result()->type().dtype;
  if (!c.tangents[0] || !carries_tangents(to) || !carries_tangents(c.operands[0]->type().dtype)) return no_tangents(c);
  return {c.build.convert(c.tangents[0], to)};
}
std::vector<Value> transpose_convert(TransposeContext& c) {
  Value ct = c.cotangents[0];
  return {ct ? c.build.convert(ct, c.node->operand(0)->type().dtype) : nullptr};
}

// --- bitcast_convert -------------------------------------------------------------------------------------------------
void infer_bitcast(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  DType from = c.operand(0).dtype, to = c.get(kDType);
  if (!contains(DTypeSet::Real, to))
    c.fail(ErrorKind::Type, fmt::format("bits cannot be read as {}", info(to).api_name),
           "bits are taken over between real numeric types", "give an integer or floating-point type");
  if (size_of(from) != size_of(to))
    c.fail(ErrorKind::Type,
           fmt::format("{} has {} bits, but {} has {}", info(from).api_name, info(from).bits, info(to).api_name, info(to).bits),
           "the bits of each element are taken as they are", "give a type of the same width");
  c.result(to, c.operand(0).dims);
}
void reference_bitcast(ReferenceContext& c) {
  std::memcpy(c.results[0].mutable_data(), c.operands[0].data(), c.results[0].bytes());
}
Expr bitcast_rule(ScalarContext& c) {
  DType from = c.node->operand(0)->type().dtype, to = c.node->result()->type().dtype;
  Expr x = c.x[0].type() == from ? c.x[0] : loop::convert(c.x[0], from);
  return from == to ? c.x[0] : loop::bitcast(x, to);
}
Value simplify_bitcast(SimplifyContext& c) {
  Value x = c.node->operand(0);
  DType to = c.node->result()->type().dtype;
  if (x->type().dtype == to) return x;
  const Node* inner = made_by(x, c.node->op());
  if (!inner) return nullptr;
  return inner->operand(0)->type().dtype == to ? inner->operand(0) : c.build("bitcast_convert", {inner->operand(0)}, {kDType % to});
}

}  // namespace

std::vector<Op> convert_ops() {
  std::vector<Op> ops;
  Op convert = unary({.name = "convert", .python = "astype",
      .doc = "x in another element type.\n\nFloats go to integers towards zero, saturating, NaN to 0; integers wrap; to "
             "bool is the test for not zero; complex numbers lose their imaginary part. Floats round to nearest even, "
             "once; integers reach 16-bit floats by way of float32. StableHLO convert.",
      .numpy = "x.astype(dtype)", .dtypes = DTypeSet::NumericBool, .low = 0, .high = 100,
      .traits = Trait::Cheap | Trait::Linear, .infer = infer_convert, .reference = reference_convert,
      .scalar = convert_rule, .jvp = jvp_convert, .transpose = transpose_convert, .simplify = simplify_convert});
  convert.decl.attrs = {kDType};
  convert.decl.front = Front::Direct;
  convert.decl.example = "ig.astype(ig.asarray([1.5, -2.5]), ig.int32)";
  convert.decl.samples = {{"T[3, 7]", "{dtype = f32}", 0, 100}, {"T[]", "{dtype = f32}", 0, 100}, {"T[0]", "{dtype = i32}"}};
  for (const char* to : {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"})
    convert.decl.samples.push_back({"T[33]", std::string("{dtype = ") + to + "}", 0, 100});
  convert.decl.bad_samples = {
      {"key[2]", "{dtype = f32}", "TypeError: astype: expected a numeric type or bool, but x is key"},
      {"f32[2]", "{dtype = key}", "TypeError: astype: numbers do not convert to random keys"},
      {"f32[2]", "{}", "TypeError: astype: the attribute dtype is missing"}};
  ops.push_back(std::move(convert));

  Op bitcast = unary({.name = "bitcast_convert", .python = "bitcast",
      .doc = "The bits of x read as another element type of the same width.\n\nA signalling NaN of a 16-bit float may "
             "become quiet. StableHLO bitcast_convert, without its change of shape.",
      .numpy = "x.view(dtype)", .dtypes = DTypeSet::Real, .traits = static_cast<uint32_t>(Trait::Cheap),
      .infer = infer_bitcast, .reference = reference_bitcast, .scalar = bitcast_rule, .simplify = simplify_bitcast});
  bitcast.decl.attrs = {kDType};
  bitcast.decl.front = Front::Direct;
  bitcast.decl.example = "ig.bitcast(ig.asarray([1.0, -0.0]), ig.int32)";
  bitcast.decl.samples = {{"f32[3, 7]", "{dtype = i32}"}, {"f32[33]", "{dtype = u32}"}, {"i32[5]", "{dtype = f32}", 1, 1000},
                          {"f64[5]", "{dtype = i64}"},    {"f16[5]", "{dtype = u16}"},  {"u16[5]", "{dtype = bf16}", 1, 1000},
                          {"i8[5]", "{dtype = u8}"},      {"f32[0]", "{dtype = i32}"},  {"f32[]", "{dtype = i32}"}};
  bitcast.decl.bad_samples = {
      {"f32[2]", "{dtype = i64}", "TypeError: bitcast: float32 has 32 bits, but int64 has 64"},
      {"f32[2]", "{dtype = bool}", "TypeError: bitcast: bits cannot be read as bool"},
      {"bool[2]", "{dtype = i8}", "TypeError: bitcast: expected a real numeric type, but x is bool"}};
  ops.push_back(std::move(bitcast));
  return ops;
}

}  // namespace ig::ops
