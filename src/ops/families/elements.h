// Elements of literals as C++ numbers, for the reference loops of element-wise ops and folds. A 16-bit float is held
// as a float; `store` rounds once to the element type of the literal.
#pragma once

#include <bit>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ops/op.h"

namespace ig::ops::elements {

struct Half {};   // tags of the 16-bit floats
struct Brain {};

// The float nearest to x, but odd where x lies between two floats: rounding it on to 16 bits then rounds only once.
inline float round_to_odd(double x) {
  auto near = static_cast<float>(x);
  if (std::isnan(x) || static_cast<double>(near) == x) return near;
  auto bits = std::bit_cast<uint32_t>(near);
  if (std::abs(static_cast<double>(near)) > std::abs(x)) --bits;
  return std::bit_cast<float>(bits | 1);
}
inline float single(float x) { return x; }
inline float single(double x) { return round_to_odd(x); }
template <typename T>
  requires std::is_integral_v<T>
float single(T x) { return static_cast<float>(x); }

template <typename T>
struct As {
  using Number = T;
  static T get(const Literal& literal, int64_t i) {
    T out;
    std::memcpy(&out, static_cast<const char*>(literal.data()) + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return out;
  }
  template <typename V>
  static void put(Literal& literal, int64_t i, V value) {
    T out = static_cast<T>(value);
    std::memcpy(static_cast<char*>(literal.mutable_data()) + static_cast<size_t>(i) * sizeof(T), &out, sizeof(T));
  }
};
template <>
struct As<Half> {
  using Number = float;
  static float get(const Literal& literal, int64_t i) { return f16_to_f32(As<uint16_t>::get(literal, i)); }
  template <typename V>
  static void put(Literal& literal, int64_t i, V value) { As<uint16_t>::put(literal, i, f32_to_f16(single(value))); }
};
template <>
struct As<Brain> {
  using Number = float;
  static float get(const Literal& literal, int64_t i) { return bf16_to_f32(As<uint16_t>::get(literal, i)); }
  template <typename V>
  static void put(Literal& literal, int64_t i, V value) { As<uint16_t>::put(literal, i, f32_to_bf16(single(value))); }
};

template <typename T>
inline constexpr bool is_complex_number = false;
template <typename T>
inline constexpr bool is_complex_number<std::complex<T>> = true;

template <DTypeSet S, typename T>
constexpr bool in_set() {
  constexpr bool boolean = std::is_same_v<T, bool>, complex = is_complex_number<T>, real = std::is_floating_point_v<T>;
  if constexpr (S == DTypeSet::Any || S == DTypeSet::NumericBool) return true;
  else if constexpr (S == DTypeSet::Numeric) return !boolean;
  else if constexpr (S == DTypeSet::Float) return real;
  else if constexpr (S == DTypeSet::FloatComplex) return real || complex;
  else if constexpr (S == DTypeSet::Real) return !boolean && !complex;
  else if constexpr (S == DTypeSet::Integer) return std::is_integral_v<T> && !boolean;
  else if constexpr (S == DTypeSet::IntegerBool) return std::is_integral_v<T>;
  else if constexpr (S == DTypeSet::Bool) return boolean;
  else if constexpr (S == DTypeSet::Complex) return complex;
  else return false;
}

// Calls f(As<…>{}) for the element type, which must be one of S. Keys count as uint64.
template <DTypeSet S, typename F>
void visit(DType dtype, F&& f) {
  auto take = [&](auto as) {
    if constexpr (in_set<S, typename decltype(as)::Number>()) f(as);
    else IG_CHECK(false, "the reference is not defined for {}", name(dtype));
  };
  switch (dtype) {
    case DType::Bool: return take(As<bool>{});
    case DType::I8: return take(As<int8_t>{});
    case DType::I16: return take(As<int16_t>{});
    case DType::I32: return take(As<int32_t>{});
    case DType::I64: return take(As<int64_t>{});
    case DType::U8: return take(As<uint8_t>{});
    case DType::U16: return take(As<uint16_t>{});
    case DType::U32: return take(As<uint32_t>{});
    case DType::U64:
    case DType::Key: return take(As<uint64_t>{});
    case DType::F16: return take(As<Half>{});
    case DType::BF16: return take(As<Brain>{});
    case DType::F32: return take(As<float>{});
    case DType::F64: return take(As<double>{});
    case DType::C64: return take(As<std::complex<float>>{});
    case DType::C128: return take(As<std::complex<double>>{});
  }
}

template <typename V>
void store(Literal& out, int64_t i, V value) {
  visit<DTypeSet::Any>(out.dtype(), [&](auto as) {
    using To = typename decltype(as)::Number;
    if constexpr (is_complex_number<V> && is_complex_number<To>)
      as.put(out, i, To(static_cast<typename To::value_type>(value.real()), static_cast<typename To::value_type>(value.imag())));
    else if constexpr (!is_complex_number<V> && (std::is_floating_point_v<V> || std::is_integral_v<V>)) as.put(out, i, value);
    else IG_CHECK(false, "a complex number for {}", name(out.dtype()));
  });
}

// Functions of one rounding more than float's are computed in double.
inline double wide(float x) { return x; }
inline double wide(double x) { return x; }
inline std::complex<double> wide(std::complex<float> x) { return x; }
inline std::complex<double> wide(std::complex<double> x) { return x; }

// result[i] = Fn(operands[0][i], …), operands of one element type out of S.
template <DTypeSet S, auto Fn>
void reference1(ReferenceContext& c) {
  visit<S>(c.operands[0].dtype(), [&](auto as) {
    for (int64_t i = 0, n = c.results[0].elements(); i < n; ++i) store(c.results[0], i, Fn(as.get(c.operands[0], i)));
  });
}
template <DTypeSet S, auto Fn>
void reference2(ReferenceContext& c) {
  visit<S>(c.operands[0].dtype(), [&](auto as) {
    for (int64_t i = 0, n = c.results[0].elements(); i < n; ++i)
      store(c.results[0], i, Fn(as.get(c.operands[0], i), as.get(c.operands[1], i)));
  });
}
template <DTypeSet S, auto Fn>
void reference3(ReferenceContext& c) {
  visit<S>(c.operands[0].dtype(), [&](auto as) {
    for (int64_t i = 0, n = c.results[0].elements(); i < n; ++i)
      store(c.results[0], i, Fn(as.get(c.operands[0], i), as.get(c.operands[1], i), as.get(c.operands[2], i)));
  });
}

// Integers wrap: arithmetic in the unsigned type of the same width (at least int's, so that nothing is promoted to int).
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, T, uint32_t>>>;
template <typename T>
Wrapping<T> bits_of(T x) { return static_cast<Wrapping<T>>(x); }

// The order of floats of `maximum` and `minimum`: NaN is taken, -0 lies below +0.
template <typename T>
T greatest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}
template <typename T>
T least(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

}  // namespace ig::ops::elements
