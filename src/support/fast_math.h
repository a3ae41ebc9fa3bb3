// What a function may do to its floats beyond the bits of its ops (docs/numerics.md): flags of one function,
// each named as in LLVM and GCC. They go by value from the front to the passes and to the loop IR, whose text
// they change; nothing is global, and kernels are known by their text, so no flag reaches another function.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace ig {

struct FastMath {
  bool contract = false;    // a product and the sum that takes it may be rounded once
  bool finite = false;      // there is neither NaN nor infinity, and zeros have no sign: of the least and the
                            // greatest
  bool reciprocal = false;  // a division by what many elements share may multiply by its reciprocal
  bool flush_denormals = false;  // denormal numbers are read and written as zeros of their sign

  bool any() const { return contract || finite || reciprocal || flush_denormals; }
  static constexpr FastMath all() { return {true, true, true, true}; }
  // Error(Value) naming `who` and the flags there are.
  static FastMath of(std::span<const std::string> names, std::string_view who);
  // Error(Value) where `exact` is asked for too, which is the opposite.
  void require_inexact(bool exact, std::string_view who) const;
};

struct FastMathFlag {
  std::string_view name;
  bool FastMath::* value;
};
inline constexpr std::array kFastMathFlags = {FastMathFlag{"contract", &FastMath::contract},
                                              FastMathFlag{"finite", &FastMath::finite},
                                              FastMathFlag{"reciprocal", &FastMath::reciprocal},
                                              FastMathFlag{"flush_denormals", &FastMath::flush_denormals}};

}  // namespace ig
