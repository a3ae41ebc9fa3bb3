// The operators of loop expressions: each checks its operands' types and asks the builder for the (interned)
// node.
#include "loop/loop.h"
#include "support/error.h"

namespace ig::loop {
namespace {

Expr binary(Op op, Expr a, Expr b, bool compares = false) {
  IG_CHECK(a.type() == b.type(), "the operands are {} and {}", ig::name(a.type()), ig::name(b.type()));
  ExprNode node{op, compares ? DType::Bool : a.type(), Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.a = a;
  node.b = b;
  return a.builder().make(node);
}

Expr unary(Op op, Expr a, DType type) {
  ExprNode node{op, type, Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.a = a;
  return a.builder().make(node);
}
Expr unary(Op op, Expr a) { return unary(op, a, a.type()); }

Expr of_floats(Op op, Expr a) {
  IG_CHECK(a.type() == DType::F32 || a.type() == DType::F64, "a floating-point function of {}",
           ig::name(a.type()));
  return unary(op, a);
}

Expr ternary(Op op, Expr a, Expr b, Expr c) {
  ExprNode node{op, b.type(), Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.a = a;
  node.b = b;
  node.c = c;
  return a.builder().make(node);
}

Expr number(double value, Expr like) { return like.builder().constant(like.type(), value); }

}  // namespace

Expr operator+(Expr a, Expr b) { return binary(Op::Add, a, b); }
Expr operator-(Expr a, Expr b) { return binary(Op::Sub, a, b); }
Expr operator*(Expr a, Expr b) { return binary(Op::Mul, a, b); }
Expr operator/(Expr a, Expr b) { return binary(Op::Div, a, b); }
Expr operator%(Expr a, Expr b) { return binary(Op::Rem, a, b); }
Expr operator&(Expr a, Expr b) { return binary(Op::And, a, b); }
Expr operator|(Expr a, Expr b) { return binary(Op::Or, a, b); }
Expr operator^(Expr a, Expr b) { return binary(Op::Xor, a, b); }
Expr operator-(Expr a) { return unary(Op::Neg, a); }
Expr operator~(Expr a) { return unary(Op::Not, a); }
Expr operator==(Expr a, Expr b) { return binary(Op::Eq, a, b, true); }
Expr operator!=(Expr a, Expr b) { return binary(Op::Ne, a, b, true); }
Expr operator<(Expr a, Expr b) { return binary(Op::Lt, a, b, true); }
Expr operator<=(Expr a, Expr b) { return binary(Op::Le, a, b, true); }
Expr operator>(Expr a, Expr b) { return binary(Op::Gt, a, b, true); }
Expr operator>=(Expr a, Expr b) { return binary(Op::Ge, a, b, true); }

Expr operator+(Expr a, double b) { return a + number(b, a); }
Expr operator+(double a, Expr b) { return number(a, b) + b; }
Expr operator-(Expr a, double b) { return a - number(b, a); }
Expr operator-(double a, Expr b) { return number(a, b) - b; }
Expr operator*(Expr a, double b) { return a * number(b, a); }
Expr operator*(double a, Expr b) { return number(a, b) * b; }
Expr operator/(Expr a, double b) { return a / number(b, a); }
Expr operator/(double a, Expr b) { return number(a, b) / b; }
Expr operator<(Expr a, double b) { return a < number(b, a); }
Expr operator<(double a, Expr b) { return number(a, b) < b; }
Expr operator<=(Expr a, double b) { return a <= number(b, a); }
Expr operator<=(double a, Expr b) { return number(a, b) <= b; }
Expr operator>(Expr a, double b) { return a > number(b, a); }
Expr operator>(double a, Expr b) { return number(a, b) > b; }
Expr operator>=(Expr a, double b) { return a >= number(b, a); }
Expr operator>=(double a, Expr b) { return number(a, b) >= b; }
Expr operator==(Expr a, double b) { return a == number(b, a); }
Expr operator==(double a, Expr b) { return number(a, b) == b; }
Expr operator!=(Expr a, double b) { return a != number(b, a); }
Expr operator!=(double a, Expr b) { return number(a, b) != b; }

Expr fma(Expr a, Expr b, Expr c) {
  IG_CHECK(a.type() == b.type() && b.type() == c.type(), "fma of {}, {} and {}", ig::name(a.type()),
           ig::name(b.type()), ig::name(c.type()));
  return ternary(Op::Fma, a, b, c);
}

Expr select(Expr condition, Expr then, Expr otherwise) {
  IG_CHECK(condition.type() == DType::Bool && then.type() == otherwise.type(), "select of {}, {} and {}",
           ig::name(condition.type()), ig::name(then.type()), ig::name(otherwise.type()));
  return ternary(Op::Select, condition, then, otherwise);
}

Expr select_rare(Expr condition, Expr rare, Expr common) {
  IG_CHECK(condition.type() == DType::Bool && rare.type() == common.type(), "select_rare of {}, {} and {}",
           ig::name(condition.type()), ig::name(rare.type()), ig::name(common.type()));
  return ternary(Op::SelectRare, condition, rare, common);
}

Expr sqrt(Expr a) { return of_floats(Op::Sqrt, a); }
Expr floor(Expr a) { return of_floats(Op::Floor, a); }
Expr ceil(Expr a) { return of_floats(Op::Ceil, a); }
Expr trunc(Expr a) { return of_floats(Op::Trunc, a); }
Expr round_even(Expr a) { return of_floats(Op::RoundEven, a); }
Expr abs(Expr a) { return unary(Op::Abs, a); }
Expr shift_left(Expr a, Expr b) { return binary(Op::Shl, a, b); }
Expr shift_right(Expr a, Expr b) { return binary(Op::AShr, a, b); }
Expr shift_right_logical(Expr a, Expr b) { return binary(Op::LShr, a, b); }
Expr popcount(Expr a) { return unary(Op::Popcount, a); }
Expr count_leading_zeros(Expr a) { return unary(Op::CountLeadingZeros, a); }
Expr convert(Expr a, DType to) { return unary(Op::Convert, a, to); }

Expr bitcast(Expr a, DType to) {
  IG_CHECK(info(a.type()).bits == info(to).bits, "a bitcast from {} to {}", ig::name(a.type()), ig::name(to));
  return unary(Op::Bitcast, a, to);
}

Expr lesser(Expr a, Expr b) { return select(a < b, a, b); }
Expr greater(Expr a, Expr b) { return select(a > b, a, b); }

}  // namespace ig::loop
