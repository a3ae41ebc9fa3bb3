// Interval arithmetic. Of floats it is sure whatever a target does within the language's rules: ends are
// rounded outward, by more than a multiplication and an addition that are not fused differ from one that is.
#include "loop/ranges.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

namespace ig::loop {
namespace {

using MaybeRange = std::optional<IndexRange>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t value_of(Expr constant) { return static_cast<int64_t>(constant->bits[0]); }

MaybeRange sum(IndexRange a, IndexRange b, bool subtract) {
  IndexRange out{};
  bool wraps = subtract ? __builtin_sub_overflow(a.low, b.high, &out.low) ||
                              __builtin_sub_overflow(a.high, b.low, &out.high)
                        : __builtin_add_overflow(a.low, b.low, &out.low) ||
                              __builtin_add_overflow(a.high, b.high, &out.high);
  return wraps ? MaybeRange() : MaybeRange(out);
}

// By a positive number; of what is no less than zero.
MaybeRange quotient(IndexRange a, IndexRange b) {
  if (a.low < 0 || b.low != b.high || b.low <= 0) return {};
  return IndexRange{a.low / b.low, a.high / b.low};
}

MaybeRange rest(IndexRange a, IndexRange b) {
  const MaybeRange times = quotient(a, b);
  if (!times) return {};
  if (times->low == times->high) return IndexRange{a.low % b.low, a.high % b.low};
  return IndexRange{0, b.low - 1};
}

MaybeRange product(IndexRange a, IndexRange b) {
  IndexRange out{INT64_MAX, INT64_MIN};
  for (int64_t x : {a.low, a.high})
    for (int64_t y : {b.low, b.high}) {
      int64_t at = 0;
      if (__builtin_mul_overflow(x, y, &at)) return {};
      out = {std::min(out.low, at), std::max(out.high, at)};
    }
  return out;
}

// Of ranges of one type: nothing where some values give another answer. `nan`: of either.
template <typename Range>
std::optional<bool> compared(Op op, const Range& a, const Range& b, bool nan) {
  auto either = [&](bool yes, bool no) {
    return no ? std::optional(false) : yes && !nan ? std::optional(true) : std::nullopt;
  };
  const bool apart = a.high < b.low || a.low > b.high;
  const bool same = a.low == a.high && b.low == b.high && a.low == b.low;
  switch (op) {
    case Op::Eq: return either(same, apart);
    case Op::Ne: return apart ? std::optional(true) : same && !nan ? std::optional(false) : std::nullopt;
    case Op::Lt: return either(a.high < b.low, a.low >= b.high);
    case Op::Le: return either(a.high <= b.low, a.low > b.high);
    case Op::Gt: return either(a.low > b.high, a.high <= b.low);
    case Op::Ge: return either(a.low >= b.high, a.high < b.low);
    default: return std::nullopt;
  }
}

// Outward to the type's next numbers. Zero stays where it is: a sum is zero only where it is exact.
FloatRange rounded(DType type, FloatRange x) {
  auto outward = [&](double end, double to) {
    if (end == 0) return end;
    const bool single = type == DType::F32;
    if (single && std::abs(end) > FLT_MAX) end = std::copysign(kInfinity, end);
    end = single ? double{std::nextafter(static_cast<float>(end), static_cast<float>(to))}
                 : std::nextafter(end, to);
    const double least = single ? double{FLT_MIN} : DBL_MIN;
    if (std::abs(end) >= least) return end;
    return std::signbit(end) == std::signbit(to) ? std::copysign(least, to) : 0.0;
  };
  if (std::isnan(x.low) || std::isnan(x.high)) return {};
  return {outward(x.low, -kInfinity), outward(x.high, kInfinity), x.nan};
}

FloatRange either(const FloatRange& a, const FloatRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
}

FloatRange sum(const FloatRange& a, const FloatRange& b) {
  const bool cancels = (std::isinf(a.low) && std::isinf(b.high)) || (std::isinf(a.high) && std::isinf(b.low));
  return {a.low + b.low, a.high + b.high, a.nan || b.nan || cancels};
}
FloatRange negative(const FloatRange& a) { return {-a.high, -a.low, a.nan}; }

// `f` is monotonic in each of the two.
template <typename F>
FloatRange of_corners(const FloatRange& a, const FloatRange& b, bool nan, F f) {
  const double corners[] = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)};
  if (std::ranges::any_of(corners, [](double x) { return std::isnan(x); })) return {};
  return {std::ranges::min(corners), std::ranges::max(corners), nan};
}
// What is too small for a double is no zero.
double not_zero(double x) { return x == 0 ? std::copysign(DBL_MIN, x) : x; }
bool endless(const FloatRange& x) { return std::isinf(x.low) || std::isinf(x.high); }

FloatRange product(const FloatRange& a, const FloatRange& b) {
  return of_corners(a, b, a.nan || b.nan || endless(a) || endless(b),
                    [](double x, double y) { return x == 0 || y == 0 ? 0 : not_zero(x * y); });
}
FloatRange quotient(const FloatRange& a, const FloatRange& b) {
  if (b.low <= 0 && b.high >= 0) return {};
  return of_corners(a, b, a.nan || b.nan || (endless(a) && endless(b)),
                    [](double x, double y) { return x == 0 ? 0 : not_zero(x / y); });
}
FloatRange magnitude(const FloatRange& a) {
  const double most = std::max(std::abs(a.low), std::abs(a.high));
  return {a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, most, a.nan};
}

FloatRange of_integers(DType type) {
  const int width = info(type).bits;
  if (is_signed_int(type)) return {-std::ldexp(1, width - 1), std::ldexp(1, width - 1), false};
  return {0, type == DType::Bool ? 1 : std::ldexp(1, width), false};
}

// With its operands the other way round.
Op turned(Op compare) {
  switch (compare) {
    case Op::Lt: return Op::Gt;
    case Op::Le: return Op::Ge;
    case Op::Gt: return Op::Lt;
    case Op::Ge: return Op::Le;
    default: return compare;
  }
}

}  // namespace

Expr behind_let(Expr e) {
  while (e->op == Op::Var && e->a) e = e->a;
  return e;
}

void Ranges::enter(uint32_t variable, Expr begin, Expr end) {
  MaybeRange first = of_index(begin), last = of_index(end);
  if (first && last && first->low < last->high) variables_[variable] = {first->low, last->high - 1};
}

MaybeRange Ranges::of_index(Expr e) {
  if (e.type() != DType::I64) return {};
  if (e->op == Op::Const) return IndexRange{value_of(e), value_of(e)};
  if (auto it = indices_.find(e.node()); it != indices_.end()) return it->second;
  MaybeRange out = compute_index(e);
  indices_[e.node()] = out;
  return out;
}

// The lesser or the greater of two (`lesser`, `greater` in expr.cpp), where one of them may be anything.
MaybeRange Ranges::of_lesser_or_greater(Expr e) {
  const Expr &asked = e->a, &a = e->b, &b = e->c;
  if ((asked->op != Op::Le && asked->op != Op::Ge) || asked->a.node() != a.node() ||
      asked->b.node() != b.node())
    return {};
  constexpr IndexRange kAny{INT64_MIN, INT64_MAX};
  const IndexRange one = of_index(a).value_or(kAny), other = of_index(b).value_or(kAny);
  if (asked->op == Op::Le) return IndexRange{std::min(one.low, other.low), std::min(one.high, other.high)};
  return IndexRange{std::max(one.low, other.low), std::max(one.high, other.high)};
}

MaybeRange Ranges::compute_index(Expr e) {
  if (e->op == Op::Var) {
    if (e->a) return of_index(e->a);
    auto it = variables_.find(e->id);
    return it == variables_.end() ? MaybeRange() : it->second;
  }
  if (e->op == Op::Select) return of_lesser_or_greater(e);
  if (!e->b || e->c) return {};
  MaybeRange a = of_index(e->a), b = a ? of_index(e->b) : MaybeRange();
  if (!b) return {};
  switch (e->op) {
    case Op::Add: return sum(*a, *b, false);
    case Op::Sub: return sum(*a, *b, true);
    case Op::Mul: return product(*a, *b);
    case Op::Div: return quotient(*a, *b);
    case Op::Rem: return rest(*a, *b);
    default: return {};
  }
}

FloatRange Ranges::of_float(Expr e) {
  constexpr int kDeepest = 64;
  if (e.type() != DType::F32 && e.type() != DType::F64) return {};
  if (auto it = floats_.find(e.node()); it != floats_.end()) return it->second;
  if (depth_ == kDeepest) return {};
  ++depth_;
  const FloatRange out = compute_float(e);
  --depth_;
  floats_[e.node()] = out;
  return out;
}

FloatRange Ranges::compute_float(Expr e) {
  auto first = [&] { return of_float(e->a); };
  auto second = [&] { return of_float(e->b); };
  auto within = [&](const FloatRange& x) { return rounded(e.type(), x); };
  switch (e->op) {
    case Op::Const: {
      const double value = e.type() == DType::F64 ? std::bit_cast<double>(e->bits[0])
                                                  : std::bit_cast<float>(static_cast<uint32_t>(e->bits[0]));
      if (std::isnan(value)) return {};
      const bool normal =
          value == 0 || std::abs(value) >= (e.type() == DType::F32 ? double{FLT_MIN} : DBL_MIN);
      return normal ? FloatRange{value, value, false} : within({value, value, false});
    }
    case Op::Var: return e->a ? of_float(e->a) : FloatRange();
    case Op::Add: return within(sum(first(), second()));
    case Op::Sub: return within(sum(first(), negative(second())));
    case Op::Mul: {
      FloatRange out = within(product(first(), second()));
      if (e->a.node() == e->b.node()) out.low = std::max(out.low, 0.0);
      return out;
    }
    case Op::Div: return within(quotient(first(), second()));
    case Op::Fma: return within(sum(within(product(first(), second())), of_float(e->c)));
    case Op::Neg: return negative(first());
    case Op::Abs: return magnitude(first());
    case Op::Sqrt: {
      const FloatRange a = first();
      if (a.low < 0) return {0, a.high < 0 ? 0 : within({0, std::sqrt(a.high), false}).high, true};
      return within({std::sqrt(a.low), std::sqrt(a.high), a.nan});
    }
    case Op::Convert: {
      if (const MaybeRange index = of_index(e->a))
        return within({static_cast<double>(index->low), static_cast<double>(index->high), false});
      if (!is_float(e->a.type())) return within(of_integers(e->a.type()));
      return within(first());
    }
    case Op::Lookup: {
      const auto [low, high] = std::ranges::minmax(e->table());
      return {low, high, false};
    }
    case Op::Select:
    case Op::SelectLazy:
    case Op::SelectRare: return either(of_branch(e->b, e->a, true), of_branch(e->c, e->a, false));
    default: return {};
  }
}

// A value that is compared in the condition is bounded by that.
FloatRange Ranges::of_branch(Expr value, Expr condition, bool holds) {
  FloatRange out = of_float(value);
  Op op = condition->op;
  if (op < Op::Lt || op > Op::Ge) return out;
  Expr other = condition->b;
  if (behind_let(condition->b).node() == behind_let(value).node())
    op = turned(op), other = condition->a;
  else if (behind_let(condition->a).node() != behind_let(value).node())
    return out;
  const FloatRange bound = of_float(other);
  if (bound.nan) return out;
  const bool below = (op == Op::Lt || op == Op::Le) == holds;
  if (below)
    out.high = std::min(out.high, bound.high);
  else
    out.low = std::max(out.low, bound.low);
  out.nan = out.nan && !holds;
  // What cannot be: the branch is never taken.
  return out.low <= out.high ? out : FloatRange{bound.low, bound.high, out.nan};
}

std::optional<bool> Ranges::decided(Op compare, Expr a, Expr b) {
  if (a.type() == DType::I64) {
    const MaybeRange x = of_index(a), y = of_index(b);
    return x && y ? compared(compare, *x, *y, false) : std::nullopt;
  }
  if (a.type() != DType::F32 && a.type() != DType::F64) return {};
  const FloatRange x = of_float(a), y = of_float(b);
  return compared(compare, x, y, x.nan || y.nan);
}

}  // namespace ig::loop
