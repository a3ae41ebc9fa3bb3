// The constructors of the element-wise families. An op gives its scalar rule twice, as C++ (the definition)
// and as a loop expression (the code); everything else (types, shapes, walking, derivative helpers, samples)
// is the family's.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ops/families/array_tools.h"
#include "ops/families/bounds_rules.h"
#include "ops/families/complex.h"

namespace ig::ops {

// Which results an element-wise op has: the operands' type, bool, or the type of a complex number's parts.
enum class Gives : uint8_t { Same, Bool, Part };

struct ElementwiseDecl {
  std::string name, python, doc;
  DTypeSet dtypes = DTypeSet::Float;
  std::string numpy;
  double low = -4, high = 4;  // of random samples
  double ulp = 0, complex_ulp = 0;
  uint32_t traits = 0;  // beyond Elementwise
  Gives gives = Gives::Same;
  JvpFn jvp = nullptr;              // null: the derivative is zero wherever there is one
  std::string no_jvp = {};          // why there is no rule, where that is not so
  TransposeFn transpose = nullptr;  // where the op is linear in an operand
  SimplifyFn simplify = nullptr;
  std::string note = {};  // what to say where there is no simplify rule
  BoundsFn bounds = nullptr;
  ImpliesFn implies = nullptr;
  SimplifyFn by_reciprocal = nullptr;
};

// The batch rule of every element-wise op, whatever its attributes.
Batched batch_elementwise(BatchContext& c);

// Assembles the declaration from the family's parts.
Op make_unary(ElementwiseDecl decl, ReferenceFn reference, ScalarFn lower);
Op make_binary(ElementwiseDecl decl, ReferenceFn reference, ScalarFn lower);

namespace detail {

// Stores what a rule of complex numbers gives: a complex number, a real one, or a truth. Rules that take any
// std::complex compute in the type of the parts, the others in double.
template <typename T>
void put_of_complex(Literal& out, int64_t i, T value) {
  if constexpr (std::is_same_v<T, bool>)
    tools::set_whole(out, i, value);
  else if constexpr (std::is_floating_point_v<T>)
    tools::set_real(out, i, static_cast<double>(value));
  else
    tools::set_complex(out, i, static_cast<double>(value.real()), static_cast<double>(value.imag()));
}
template <auto Rule, typename... Operands>
void reference_complex(Literal& out, int64_t i, const Operands&... x) {
  if constexpr (std::is_same_v<decltype(Rule), std::nullptr_t>)
    IG_CHECK(false, "no rule for complex numbers");
  else if ((x.dtype(), ...) == DType::C64)
    put_of_complex(out, i, Rule(std::complex<float>(x.as_complex(i))...));
  else
    put_of_complex(out, i, Rule(x.as_complex(i)...));
}

template <auto Real, auto Whole, auto OfComplex>
void reference_unary(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  Literal& out = c.results[0];
  for (int64_t i = 0, n = x.elements(); i < n; ++i) {
    if (is_complex(x.dtype())) {
      reference_complex<OfComplex>(out, i, x);
    } else if (is_float(x.dtype())) {
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

template <auto Real, auto Whole, auto OfComplex>
void reference_binary(ReferenceContext& c) {
  const Literal &x = c.operands[0], &y = c.operands[1];
  Literal& out = c.results[0];
  for (int64_t i = 0, n = x.elements(); i < n; ++i) {
    if (is_complex(x.dtype())) {
      reference_complex<OfComplex>(out, i, x, y);
    } else if (is_float(x.dtype())) {
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

template <auto Lower, auto LowerComplex>
loop::Expr lower_unary(ScalarContext& c) {
  if constexpr (!std::is_same_v<decltype(LowerComplex), std::nullptr_t>)
    if (is_complex(c.x[0].type())) return LowerComplex(c.x[0]);
  return Lower(c.x[0]);
}
template <auto Lower, auto LowerComplex>
loop::Expr lower_binary(ScalarContext& c) {
  if constexpr (!std::is_same_v<decltype(LowerComplex), std::nullptr_t>)
    if (is_complex(c.x[0].type())) return LowerComplex(c.x[0], c.x[1]);
  return Lower(c.x[0], c.x[1]);
}

}  // namespace detail

// Real: double -> double or bool; Whole: (int64_t, DType) -> int64_t, u64 by its bits; OfComplex: of any
// std::complex, or of std::complex<double>; nullptr where the set has none. LowerComplex: nullptr where Lower
// is of complex expressions too.
template <auto Real, auto Whole, auto Lower, auto OfComplex = nullptr, auto LowerComplex = nullptr>
Op unary(ElementwiseDecl decl) {
  return make_unary(std::move(decl), detail::reference_unary<Real, Whole, OfComplex>,
                    detail::lower_unary<Lower, LowerComplex>);
}
template <auto Real, auto Whole, auto Lower, auto OfComplex = nullptr, auto LowerComplex = nullptr>
Op binary(ElementwiseDecl decl) {
  return make_binary(std::move(decl), detail::reference_binary<Real, Whole, OfComplex>,
                     detail::lower_binary<Lower, LowerComplex>);
}

}  // namespace ig::ops
