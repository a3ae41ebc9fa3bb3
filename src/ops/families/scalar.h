// Pieces of scalar loop code that the element-wise families and the folds share: signs and bits of floats, the total
// order of zeros, division and shifts that are defined everywhere. Also the wrappers that make rules of plain functions.
#pragma once

#include "ops/op.h"

namespace ig::ops::scalar {

loop::Expr truth(loop::Builder& build, bool value);
DType bits_type(DType dtype);                         // the unsigned integer type of the same width
loop::Expr bits(loop::Expr x);
loop::Expr is_nan(loop::Expr x);                      // false for integers
loop::Expr is_inf(loop::Expr x);
loop::Expr is_finite(loop::Expr x);
loop::Expr sign_bit(loop::Expr x);                    // of a float, as Bool
loop::Expr copysign(loop::Expr magnitude, loop::Expr sign);
loop::Expr number(loop::Expr like, double value);
loop::Expr whole(loop::Expr like, int64_t value);     // of an integer type; -1 is all ones
loop::Expr maximum(loop::Expr a, loop::Expr b);       // NaN is taken, -0 lies below +0; Bool: or, and
loop::Expr minimum(loop::Expr a, loop::Expr b);
loop::Expr lowest(loop::Builder& build, DType dtype); // what a fold by maximum starts from
loop::Expr highest(loop::Builder& build, DType dtype);

// Integers: quotient -1 (all ones) for division by zero, remainder the dividend; the least number by -1 wraps.
struct Quotient {
  loop::Expr quotient, remainder;
};
Quotient divide(loop::Expr x, loop::Expr y);        // towards zero
Quotient divide_floor(loop::Expr x, loop::Expr y);  // towards minus infinity; floats too, as Python's divmod
loop::Expr shift_left(loop::Expr x, loop::Expr by);
loop::Expr shift_right(loop::Expr x, loop::Expr by);
loop::Expr shift_right_logical(loop::Expr x, loop::Expr by);
loop::Expr integer_power(loop::Expr x, loop::Expr n, loop::Builder& build);
loop::Expr next_after(loop::Expr x, loop::Expr towards);
loop::Expr log_add_exp(loop::Expr x, loop::Expr y);
// f64 to f32 for a value that is rounded on to 16 bits: odd where inexact, so that the two roundings act as one.
loop::Expr to_odd_f32(loop::Expr x);

template <auto Fn>
loop::Expr rule1(ScalarContext& c) { return Fn(c.x[0]); }
template <auto Fn>
loop::Expr rule2(ScalarContext& c) { return Fn(c.x[0], c.x[1]); }
template <auto Fn>
loop::Expr rule3(ScalarContext& c) { return Fn(c.x[0], c.x[1], c.x[2]); }

}  // namespace ig::ops::scalar
