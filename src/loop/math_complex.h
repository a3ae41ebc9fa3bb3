// Functions of one complex variable, on expressions of type C64 and C128. They are written once, on parts of
// F64; C64 is widened, and each part is rounded once at the end. Branch cuts, signs of zero, infinities and
// NaN are those of C's Annex G, but for log1p, expm1 and pow, which it does not have: these are NumPy's.
#pragma once

#include "loop/loop.h"

namespace ig::loop::complex_math {

Expr abs(Expr z);    // real
Expr angle(Expr z);  // real
Expr sign(Expr z);   // z / |z|; 0 of 0
Expr conj(Expr z);
Expr square(Expr z);
Expr reciprocal(Expr z);
Expr exp(Expr z);
Expr expm1(Expr z);
Expr exp2(Expr z);
Expr log(Expr z);
Expr log2(Expr z);
Expr log10(Expr z);
Expr log1p(Expr z);
Expr sqrt(Expr z);
Expr rsqrt(Expr z);
Expr sin(Expr z);
Expr cos(Expr z);
Expr tan(Expr z);
Expr asin(Expr z);
Expr acos(Expr z);
Expr atan(Expr z);
Expr sinh(Expr z);
Expr cosh(Expr z);
Expr tanh(Expr z);
Expr asinh(Expr z);
Expr acosh(Expr z);
Expr atanh(Expr z);
Expr pow(Expr z, Expr w);

}  // namespace ig::loop::complex_math
