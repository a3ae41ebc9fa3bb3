// The element types. A DType is a small tag into a table of descriptors (kind, bits, bytes of storage), so
// that eight- and four-bit floats can follow without a change of meaning anywhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ig {

enum class DType : uint8_t {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  C64,
  C128,
  Key,
};
inline constexpr int kDTypeCount = 16;

enum class DKind : uint8_t { Bool, Signed, Unsigned, Float, Complex, Key };

struct DTypeInfo {
  std::string_view name;      // in graph text: "f32"
  std::string_view api_name;  // in the array API: "float32"
  DKind kind;
  uint8_t bits;
  uint8_t bytes;  // of storage for one element
};

const DTypeInfo& info(DType dtype);
inline std::string_view name(DType dtype) { return info(dtype).name; }
inline size_t size_of(DType dtype) { return info(dtype).bytes; }
inline DKind kind_of(DType dtype) { return info(dtype).kind; }
inline bool is_float(DType d) { return kind_of(d) == DKind::Float; }
inline bool is_complex(DType d) { return kind_of(d) == DKind::Complex; }
// The type of a complex number's parts; of a real type, itself. And the complex type of two such parts.
inline DType part_of(DType d) { return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d; }
inline DType complex_of(DType part) { return part_of(part) == DType::F64 ? DType::C128 : DType::C64; }
inline bool is_signed_int(DType d) { return kind_of(d) == DKind::Signed; }
inline bool is_unsigned_int(DType d) { return kind_of(d) == DKind::Unsigned; }
inline bool is_integer(DType d) { return is_signed_int(d) || is_unsigned_int(d); }

std::optional<DType> dtype_from_name(std::string_view text_or_api_name);

// The array API standard's promotion (2024.12) of two array dtypes; nullopt where the standard leaves it
// undefined (int64 with uint64, integers with floats).
std::optional<DType> promote(DType a, DType b);

// Half-precision conversions, rounding to nearest even, NaN kept quiet.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
inline float bf16_to_f32(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float out;
  __builtin_memcpy(&out, &wide, sizeof out);
  return out;
}
uint16_t f32_to_bf16(float value);

}  // namespace ig
