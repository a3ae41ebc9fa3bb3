// Comparisons, and the logic of bits and of bools, with shifts.
#include <cstring>

#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using loop::Expr;

uint64_t u(int64_t x) { return static_cast<uint64_t>(x); }
bool whole_less(int64_t x, int64_t y, DType d) { return d == DType::U64 ? u(x) < u(y) : x < y; }

template <Relation Is, auto Real, auto Whole, auto Lower>
Op comparison(std::string name, std::string doc, std::string symbol, bool commutative, DTypeSet dtypes) {
  return binary<Real, Whole, Lower>(
      {.name = name,
       .python = name,
       .doc = std::move(doc),
       .dtypes = dtypes,
       .numpy = "x " + symbol + " y",
       .low = -2,
       .high = 2,
       .traits = commutative ? Trait::Cheap | Trait::Commutative : static_cast<uint32_t>(Trait::Cheap),
       .gives = Gives::Bool,
       .bounds = bounds_of_comparison<Is>,
       .implies = implies_comparison<Is>});
}

// Of any type: complex numbers are equal in both parts, keys bit for bit.
template <bool Equal>
void reference_equality(ReferenceContext& c) {
  const Literal &x = c.operands[0], &y = c.operands[1];
  for (int64_t i = 0, n = x.elements(); i < n; ++i) {
    bool same = false;
    if (x.dtype() == DType::Key)
      same = std::memcmp(static_cast<const char*>(x.data()) + i * 8,
                         static_cast<const char*>(y.data()) + i * 8, 8) == 0;
    else if (is_complex(x.dtype()))
      same = tools::complex_at(x, i) == tools::complex_at(y, i);
    else
      same = is_float(x.dtype()) ? x.as_double(i) == y.as_double(i) : x.as_int(i) == y.as_int(i);
    tools::set_whole(c.results[0], i, same == Equal);
  }
}

Expr lower_less(Expr x, Expr y) { return x < y; }
Expr lower_less_equal(Expr x, Expr y) { return x <= y; }
Expr lower_greater(Expr x, Expr y) { return x > y; }
Expr lower_greater_equal(Expr x, Expr y) { return x >= y; }
bool real_less(double x, double y) { return x < y; }
bool real_less_equal(double x, double y) { return x <= y; }
bool real_greater(double x, double y) { return x > y; }
bool real_greater_equal(double x, double y) { return x >= y; }
bool whole_less_equal(int64_t x, int64_t y, DType d) { return !whole_less(y, x, d); }
bool whole_greater(int64_t x, int64_t y, DType d) { return whole_less(y, x, d); }
bool whole_greater_equal(int64_t x, int64_t y, DType d) { return !whole_less(x, y, d); }

int width(DType d) { return info(d).bits; }
bool beyond(int64_t y, DType d) { return u(y) >= static_cast<uint64_t>(width(d)); }
int64_t whole_shift_left(int64_t x, int64_t y, DType d) {
  return beyond(y, d) ? 0 : static_cast<int64_t>(u(x) << y);
}
int64_t whole_shift_right(int64_t x, int64_t y, DType d) {
  if (is_unsigned_int(d)) return beyond(y, d) ? 0 : static_cast<int64_t>(u(x) >> y);
  return x >> (beyond(y, d) ? 63 : y);
}
int64_t whole_shift_right_logical(int64_t x, int64_t y, DType d) {
  uint64_t mask = width(d) == 64 ? ~0ull : (1ull << width(d)) - 1;
  return beyond(y, d) ? 0 : static_cast<int64_t>((u(x) & mask) >> y);
}

struct Shift {
  Expr amount, beyond;
  explicit Shift(Expr y) {
    loop::Builder& b = y.builder();
    DType unsigned_type = static_cast<DType>(
        static_cast<int>(DType::U8) + (is_signed_int(y.type())
                                           ? static_cast<int>(y.type()) - static_cast<int>(DType::I8)
                                           : static_cast<int>(y.type()) - static_cast<int>(DType::U8)));
    Expr wide = y.type() == unsigned_type ? y : bitcast(y, unsigned_type);
    beyond = wide >= b.constant_int(unsigned_type, width(y.type()));
    amount = select(beyond, b.constant_int(y.type(), 0), y);
  }
};
Expr lower_shift_left(Expr x, Expr y) {
  Shift s(y);
  return select(s.beyond, x.builder().constant_int(x.type(), 0), shift_left(x, s.amount));
}
Expr lower_shift_right_logical(Expr x, Expr y) {
  Shift s(y);
  return select(s.beyond, x.builder().constant_int(x.type(), 0), shift_right_logical(x, s.amount));
}
Expr lower_shift_right(Expr x, Expr y) {
  if (is_unsigned_int(x.type())) return lower_shift_right_logical(x, y);
  Shift s(y);
  Expr most = x.builder().constant_int(x.type(), width(x.type()) - 1);
  return shift_right(x, select(s.beyond, most, s.amount));
}

Value same_operands(SimplifyContext& c) {  // f(x, x) = x
  return c.node->operand(0) == c.node->operand(1) ? c.node->operand(0) : nullptr;
}

template <auto Whole, auto Lower>
Op bits(std::string name, std::string python, std::string doc, DTypeSet dtypes, std::string numpy,
        SimplifyFn simplify, BoundsFn bounds, ImpliesFn implies = nullptr) {
  return binary<nullptr, Whole, Lower>({.name = std::move(name),
                                        .python = std::move(python),
                                        .doc = std::move(doc),
                                        .dtypes = dtypes,
                                        .numpy = std::move(numpy),
                                        .traits = Trait::Cheap | Trait::Commutative,
                                        .simplify = simplify,
                                        .bounds = bounds,
                                        .implies = implies});
}
template <auto Whole, auto Lower>
Op shift(std::string name, std::string python, std::string doc, std::string numpy,
         BoundsFn bounds = nullptr) {
  return binary<nullptr, Whole, Lower>({.name = std::move(name),
                                        .python = std::move(python),
                                        .doc = std::move(doc),
                                        .dtypes = DTypeSet::Integer,
                                        .numpy = std::move(numpy),
                                        .low = 0,
                                        .high = 7,
                                        .traits = static_cast<uint32_t>(Trait::Cheap),
                                        .bounds = bounds});
}

int64_t whole_and(int64_t x, int64_t y, DType) { return x & y; }
int64_t whole_or(int64_t x, int64_t y, DType) { return x | y; }
int64_t whole_xor(int64_t x, int64_t y, DType) { return x ^ y; }
Expr lower_and(Expr x, Expr y) { return x & y; }
Expr lower_or(Expr x, Expr y) { return x | y; }
Expr lower_xor(Expr x, Expr y) { return x ^ y; }

}  // namespace

std::vector<Op> compare_ops() {
  std::vector<Op> ops;
  ops.push_back(
      comparison<Relation::Equal, [](double x, double y) { return x == y; },
                 [](int64_t x, int64_t y, DType) { return x == y; }, [](Expr x, Expr y) { return x == y; }>(
          "equal", "True where two elements are equal; NaN equals nothing, 0 equals -0.", "==", true,
          DTypeSet::Any));
  ops.push_back(
      comparison<Relation::NotEqual, [](double x, double y) { return x != y; },
                 [](int64_t x, int64_t y, DType) { return x != y; }, [](Expr x, Expr y) { return x != y; }>(
          "not_equal", "True where two elements differ, and where either is NaN.", "!=", true,
          DTypeSet::Any));
  ops.push_back(comparison<Relation::Less, real_less, whole_less, lower_less>(
      "less", "True where x is below y.", "<", false, DTypeSet::Real));
  ops.push_back(comparison<Relation::LessEqual, real_less_equal, whole_less_equal, lower_less_equal>(
      "less_equal", "True where x is not above y.", "<=", false, DTypeSet::Real));
  ops.push_back(comparison<Relation::Greater, real_greater, whole_greater, lower_greater>(
      "greater", "True where x is above y.", ">", false, DTypeSet::Real));
  ops.push_back(
      comparison<Relation::GreaterEqual, real_greater_equal, whole_greater_equal, lower_greater_equal>(
          "greater_equal", "True where x is not below y.", ">=", false, DTypeSet::Real));
  ops[0].rules.reference = reference_equality<true>;
  ops[1].rules.reference = reference_equality<false>;
  return ops;
}

std::vector<Op> logic_ops() {
  std::vector<Op> ops;
  ops.push_back(bits<whole_and, lower_and>(
      "and", "bitwise_and", "The bits set in both elements; of bool, the logical and.", DTypeSet::IntegerBool,
      "np.bitwise_and(x, y)", same_operands, bounds_of_and, implies_both));
  ops.push_back(
      bits<whole_or, lower_or>("or", "bitwise_or", "The bits set in either element; of bool, the logical or.",
                               DTypeSet::IntegerBool, "np.bitwise_or(x, y)", same_operands, bounds_of_or));
  ops.push_back(bits<whole_xor, lower_xor>("xor", "bitwise_xor", "The bits set in one of the elements alone.",
                                           DTypeSet::IntegerBool, "np.bitwise_xor(x, y)", nullptr, nullptr));
  ops.push_back(bits<whole_and, lower_and>("logical_and", "logical_and", "True where both elements are.",
                                           DTypeSet::Bool, "np.logical_and(x, y)", same_operands,
                                           bounds_of_and, implies_both));
  ops.push_back(bits<whole_or, lower_or>("logical_or", "logical_or", "True where either element is.",
                                         DTypeSet::Bool, "np.logical_or(x, y)", same_operands, bounds_of_or));
  ops.push_back(bits<whole_xor, lower_xor>("logical_xor", "logical_xor",
                                           "True where one of the elements alone is.", DTypeSet::Bool,
                                           "np.logical_xor(x, y)", nullptr, nullptr));
  ops.push_back(shift<whole_shift_left, lower_shift_left>(
      "shift_left", "bitwise_left_shift", "x with its bits moved up by y; 0 where y is the width or more.",
      "np.left_shift(x, y)"));
  ops.push_back(shift<whole_shift_right, lower_shift_right>("shift_right_arithmetic", "bitwise_right_shift",
                                                            "x with its bits moved down by y, the sign kept.",
                                                            "np.right_shift(x, y)", bounds_of_shift_right));
  ops.push_back(shift<whole_shift_right_logical, lower_shift_right_logical>(
      "shift_right_logical", "shift_right_logical", "x with its bits moved down by y, zeros moved in.",
      "(x.view('u%d' % x.itemsize) >> y.view('u%d' % x.itemsize)).view(x.dtype)", bounds_of_shift_right));
  return ops;
}

}  // namespace ig::ops
