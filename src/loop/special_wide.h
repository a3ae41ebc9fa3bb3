// A formula in double, of operands in either type: what is F32 is rounded once, at its end.
#pragma once

#include "loop/math_detail.h"

namespace ig::loop::special {

inline Expr widened(Expr x) {
  return math::single(x) ? x.builder().let(convert(x, DType::F64)) : x.builder().let(x);
}
inline Expr rounded(Expr y, Expr like) { return math::single(like) ? convert(y, DType::F32) : y; }

inline Expr in_double(Expr x, Expr (*f)(Expr)) { return rounded(f(widened(x)), x); }
inline Expr in_double(Expr x, Expr y, Expr (*f)(Expr, Expr)) { return rounded(f(widened(x), widened(y)), x); }
inline Expr in_double(Expr x, Expr y, Expr z, Expr (*f)(Expr, Expr, Expr)) {
  return rounded(f(widened(x), widened(y), widened(z)), x);
}

}  // namespace ig::loop::special
