// The table of element types, promotion, and conversions of the 16-bit floats.
#include "support/dtype.h"

#include <array>
#include <cstring>

namespace ig {
namespace {

constexpr std::array<DTypeInfo, kDTypeCount> kTable = {{
    {"bool", "bool", DKind::Bool, 1, 1},
    {"i8", "int8", DKind::Signed, 8, 1},
    {"i16", "int16", DKind::Signed, 16, 2},
    {"i32", "int32", DKind::Signed, 32, 4},
    {"i64", "int64", DKind::Signed, 64, 8},
    {"u8", "uint8", DKind::Unsigned, 8, 1},
    {"u16", "uint16", DKind::Unsigned, 16, 2},
    {"u32", "uint32", DKind::Unsigned, 32, 4},
    {"u64", "uint64", DKind::Unsigned, 64, 8},
    {"f16", "float16", DKind::Float, 16, 2},
    {"bf16", "bfloat16", DKind::Float, 16, 2},
    {"f32", "float32", DKind::Float, 32, 4},
    {"f64", "float64", DKind::Float, 64, 8},
    {"c64", "complex64", DKind::Complex, 64, 8},
    {"c128", "complex128", DKind::Complex, 128, 16},
    {"key", "key", DKind::Key, 64, 8},
}};

DType signed_of_bits(int bits) {
  switch (bits) {
    case 8: return DType::I8;
    case 16: return DType::I16;
    case 32: return DType::I32;
    default: return DType::I64;
  }
}

}  // namespace

const DTypeInfo& info(DType dtype) { return kTable[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kTable[i].name == text || kTable[i].api_name == text) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> promote(DType a, DType b) {
  if (a == b) return a;
  const DTypeInfo &x = info(a), &y = info(b);
  if (x.kind == DKind::Key || y.kind == DKind::Key || x.kind == DKind::Bool || y.kind == DKind::Bool)
    return std::nullopt;
  if (x.kind == y.kind) {
    // float16 with bfloat16: neither holds the other, float32 holds both.
    if (x.kind == DKind::Float && x.bits == 16 && y.bits == 16) return DType::F32;
    return x.bits >= y.bits ? a : b;
  }
  if (is_integer(a) && is_integer(b)) {
    const DTypeInfo& s = x.kind == DKind::Signed ? x : y;
    const DTypeInfo& u = x.kind == DKind::Signed ? y : x;
    if (u.bits == 64) return std::nullopt;
    return signed_of_bits(s.bits > u.bits ? s.bits : u.bits * 2);
  }
  if (is_integer(a) || is_integer(b)) return std::nullopt;
  // A float with a complex: the complex type whose parts hold the float.
  const DTypeInfo& f = x.kind == DKind::Float ? x : y;
  const DTypeInfo& c = x.kind == DKind::Float ? y : x;
  return c.bits == 128 || f.bits == 64 ? DType::C128 : DType::C64;
}

float f16_to_f32(uint16_t bits) {
  _Float16 half;
  std::memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
}

uint16_t f32_to_f16(float value) {
  auto half = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}

uint16_t f32_to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace ig
