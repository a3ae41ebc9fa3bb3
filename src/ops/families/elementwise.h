// The constructors of the element-wise families. An op gives its scalar rule twice, as C++ (the definition)
// and as a loop expression (the code); everything else (types, shapes, walking, derivative helpers, samples)
// is the family's.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ops/families/array_tools.h"

namespace ig::ops {

// Which results an element-wise op has: the operands' type, or bool.
enum class Gives : uint8_t { Same, Bool };

struct ElementwiseDecl {
  std::string name, python, doc;
  DTypeSet dtypes = DTypeSet::Float;
  std::string numpy;
  double low = -4, high = 4;  // of random samples
  double ulp = 0;
  uint32_t traits = 0;  // beyond Elementwise
  Gives gives = Gives::Same;
  JvpFn jvp = nullptr;              // null: the derivative is zero wherever there is one
  std::string no_jvp = {};          // why there is no rule, where that is not so
  TransposeFn transpose = nullptr;  // where the op is linear in an operand
  SimplifyFn simplify = nullptr;
  std::string note = {};  // what to say where there is no simplify rule
};

// The batch rule of every element-wise op, whatever its attributes.
Batched batch_elementwise(BatchContext& c);

// Assembles the declaration from the family's parts.
Op make_unary(ElementwiseDecl decl, ReferenceFn reference, ScalarFn lower);
Op make_binary(ElementwiseDecl decl, ReferenceFn reference, ScalarFn lower);

namespace detail {

template <auto Real, auto Whole>
void reference_unary(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  Literal& out = c.results[0];
  for (int64_t i = 0, n = x.elements(); i < n; ++i) {
    if (is_float(x.dtype())) {
      if constexpr (std::is_same_v<decltype(Real), std::nullptr_t>)
        IG_CHECK(false, "no rule for floats");
      else {
        auto value = Real(x.as_double(i));
        if constexpr (std::is_same_v<decltype(value), bool>)
          tools::set_whole(out, i, value);
        else
          tools::set_real(out, i, value);
      }
    } else {
      if constexpr (std::is_same_v<decltype(Whole), std::nullptr_t>)
        IG_CHECK(false, "no rule for integers");
      else
        tools::set_whole(out, i, static_cast<int64_t>(Whole(x.as_int(i), x.dtype())));
    }
  }
}

template <auto Real, auto Whole>
void reference_binary(ReferenceContext& c) {
  const Literal &x = c.operands[0], &y = c.operands[1];
  Literal& out = c.results[0];
  for (int64_t i = 0, n = x.elements(); i < n; ++i) {
    if (is_float(x.dtype())) {
      if constexpr (std::is_same_v<decltype(Real), std::nullptr_t>)
        IG_CHECK(false, "no rule for floats");
      else {
        auto value = Real(x.as_double(i), y.as_double(i));
        if constexpr (std::is_same_v<decltype(value), bool>)
          tools::set_whole(out, i, value);
        else
          tools::set_real(out, i, value);
      }
    } else {
      if constexpr (std::is_same_v<decltype(Whole), std::nullptr_t>)
        IG_CHECK(false, "no rule for integers");
      else
        tools::set_whole(out, i, static_cast<int64_t>(Whole(x.as_int(i), y.as_int(i), x.dtype())));
    }
  }
}

template <auto Lower>
loop::Expr lower_unary(ScalarContext& c) {
  return Lower(c.x[0]);
}
template <auto Lower>
loop::Expr lower_binary(ScalarContext& c) {
  return Lower(c.x[0], c.x[1]);
}

}  // namespace detail

// Real: double -> double or bool; Whole: (int64_t, DType) -> int64_t, u64 by its bits; nullptr where the set
// has none.
template <auto Real, auto Whole, auto Lower>
Op unary(ElementwiseDecl decl) {
  return make_unary(std::move(decl), detail::reference_unary<Real, Whole>, detail::lower_unary<Lower>);
}
template <auto Real, auto Whole, auto Lower>
Op binary(ElementwiseDecl decl) {
  return make_binary(std::move(decl), detail::reference_binary<Real, Whole>, detail::lower_binary<Lower>);
}

}  // namespace ig::ops
