// The operators of loop expressions: each checks its operands' types and asks the builder for the (interned)
// node.
#include "loop/loop.h"
#include "support/error.h"

namespace ig::loop {
namespace {

bool pair(Expr e) { return is_complex(e.type()); }

Expr binary(Op op, Expr a, Expr b, bool compares = false) {
  IG_CHECK(a.type() == b.type(), "the operands are {} and {}", ig::name(a.type()), ig::name(b.type()));
  IG_CHECK(!pair(a), "complex numbers have no operation {}", static_cast<int>(op));
  ExprNode node{op, compares ? DType::Bool : a.type(), Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.a = a;
  node.b = b;
  return a.builder().make(node);
}

Expr unary(Op op, Expr a, DType type) {
  IG_CHECK(!is_complex(type) && (!pair(a) || op == Op::Real || op == Op::Imag),
           "complex numbers have no operation {}", static_cast<int>(op));
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

// (a + bi)(c + di), each operation rounded: NaN and infinities come out as NumPy's, not as C's Annex G has
// them.
Expr product(Expr x, Expr y) {
  Expr a = real(x), b = imag(x), c = real(y), d = imag(y);
  return complex(a * c - b * d, a * d + b * c);
}

// Smith's method, which neither overflows nor underflows where the quotient does not; as NumPy.
Expr quotient(Expr x, Expr y) {
  Expr a = real(x), b = imag(x), c = real(y), d = imag(y);
  Expr wide = abs(c) >= abs(d), zero = number(0, a);
  Expr big = select(wide, c, d), small = select(wide, d, c);
  Expr ratio = small / big, scale = 1.0 / (big + small * ratio);
  Expr first = select(wide, a, b), second = select(wide, b, a);
  Expr re = (first + second * ratio) * scale;
  Expr cross = select(wide, b - a * ratio, b * ratio - a) * scale;
  Expr none = (c == zero) & (d == zero);
  return complex(select(none, a / abs(c), re), select(none, b / abs(c), cross));
}

}  // namespace

Expr real(Expr a) { return pair(a) ? unary(Op::Real, a, part_of(a.type())) : a; }
Expr imag(Expr a) { return pair(a) ? unary(Op::Imag, a, part_of(a.type())) : number(0, a); }
Expr complex(Expr re, Expr im) {
  IG_CHECK(re.type() == im.type() && is_float(re.type()), "a complex number of {} and {}",
           ig::name(re.type()), ig::name(im.type()));
  ExprNode node{Op::Complex, complex_of(re.type()), Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.a = re;
  node.b = im;
  return re.builder().make(node);
}

Expr operator+(Expr a, Expr b) {
  return pair(a) ? complex(real(a) + real(b), imag(a) + imag(b)) : binary(Op::Add, a, b);
}
Expr operator-(Expr a, Expr b) {
  return pair(a) ? complex(real(a) - real(b), imag(a) - imag(b)) : binary(Op::Sub, a, b);
}
Expr operator*(Expr a, Expr b) { return pair(a) ? product(a, b) : binary(Op::Mul, a, b); }
Expr operator/(Expr a, Expr b) { return pair(a) ? quotient(a, b) : binary(Op::Div, a, b); }
Expr operator%(Expr a, Expr b) { return binary(Op::Rem, a, b); }
Expr operator&(Expr a, Expr b) { return binary(Op::And, a, b); }
Expr operator|(Expr a, Expr b) { return binary(Op::Or, a, b); }
Expr operator^(Expr a, Expr b) { return binary(Op::Xor, a, b); }
Expr operator-(Expr a) { return pair(a) ? complex(-real(a), -imag(a)) : unary(Op::Neg, a); }
Expr operator~(Expr a) { return unary(Op::Not, a); }
Expr operator==(Expr a, Expr b) {
  return pair(a) ? (real(a) == real(b)) & (imag(a) == imag(b)) : binary(Op::Eq, a, b, true);
}
Expr operator!=(Expr a, Expr b) {
  return pair(a) ? (real(a) != real(b)) | (imag(a) != imag(b)) : binary(Op::Ne, a, b, true);
}
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

Expr product_rest(Expr a, Expr b, Expr rounded) {
  IG_CHECK(a.type() == b.type() && a.type() == rounded.type() && is_float(a.type()),
           "the rest of a product of {}, {} and {}", ig::name(a.type()), ig::name(b.type()),
           ig::name(rounded.type()));
  return ternary(Op::ProductRest, a, b, rounded);
}

Expr scale(Expr a, Expr power, Expr spelled) {
  IG_CHECK(a.type() == power.type() && a.type() == spelled.type() && is_float(a.type()),
           "scale of {}, {} and {}", ig::name(a.type()), ig::name(power.type()), ig::name(spelled.type()));
  return ternary(Op::Scale, a, power, spelled);
}

Expr select(Expr condition, Expr then, Expr otherwise) {
  IG_CHECK(condition.type() == DType::Bool && then.type() == otherwise.type(), "select of {}, {} and {}",
           ig::name(condition.type()), ig::name(then.type()), ig::name(otherwise.type()));
  if (pair(then))
    return complex(select(condition, real(then), real(otherwise)),
                   select(condition, imag(then), imag(otherwise)));
  return ternary(Op::Select, condition, then, otherwise);
}

namespace {

Expr select_in_branches(Op op, Expr condition, Expr then, Expr otherwise) {
  IG_CHECK(condition.type() == DType::Bool && then.type() == otherwise.type(),
           "select_lazy or select_rare of {}, {} and {}", ig::name(condition.type()), ig::name(then.type()),
           ig::name(otherwise.type()));
  IG_CHECK(!pair(then), "the parts of a complex number are selected each for itself");
  return ternary(op, condition, then, otherwise);
}

}  // namespace

Expr select_lazy(Expr condition, Expr then, Expr otherwise) {
  return select_in_branches(Op::SelectLazy, condition, then, otherwise);
}

Expr select_rare(Expr condition, Expr rare, Expr common) {
  return select_in_branches(Op::SelectRare, condition, rare, common);
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
Expr convert(Expr a, DType to) {
  if (a.type() == to) return a;
  if (pair(a) && to == DType::Bool) return a != number(0, a);
  if (is_complex(to)) return complex(convert(real(a), part_of(to)), convert(imag(a), part_of(to)));
  return unary(Op::Convert, a, to);
}

Expr bitcast(Expr a, DType to) {
  IG_CHECK(info(a.type()).bits == info(to).bits, "a bitcast from {} to {}", ig::name(a.type()), ig::name(to));
  return unary(Op::Bitcast, a, to);
}

Expr lookup(const Table& table, Expr index) {
  IG_CHECK(index.type() == DType::I32, "a lookup at {}", ig::name(index.type()));
  ExprNode node{Op::Lookup, DType::F32, Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.bits[0] = std::bit_cast<uint64_t>(&table);
  node.a = index;
  return index.builder().make(node);
}

Expr lesser(Expr a, Expr b) { return select(a <= b, a, b); }
Expr greater(Expr a, Expr b) { return select(a >= b, a, b); }

}  // namespace ig::loop
