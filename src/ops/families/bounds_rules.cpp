// Interval arithmetic, op by op. What may wrap, and what is not known, is the whole type.
#include "ops/families/bounds_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "ops/attrs.h"

namespace ig::ops {
namespace {

constexpr int64_t kMostElements = 131072;          // of a constant that is looked through
constexpr int64_t kMostPlaces = int64_t{1} << 24;  // of one that has the dtypes of places: some milliseconds

bool all_known(const BoundsContext& c) { return std::ranges::all_of(c.x, &Bounds::known); }
Bounds of_type(const BoundsContext& c) { return bounds_of_type(c.dtype()); }

// `x` plus or minus what lies in low..high differs from what `x` differs from by so much more.
void move_from(Bounds& out, const Bounds& x, int64_t low, int64_t high) {
  if (!x.origin || __builtin_add_overflow(x.least, low, &out.least) ||
      __builtin_add_overflow(x.most, high, &out.most))
    return;
  out.origin = x.origin;
}

// The extremes of a function that is monotonic in each of its two operands.
template <typename F>
Bounds of_corners(const BoundsContext& c, F f) {
  const Bounds &x = c.x[0], &y = c.x[1];
  const Wide corners[] = {f(x.low, y.low), f(x.low, y.high), f(x.high, y.low), f(x.high, y.high)};
  return bounds_within(c.dtype(), std::ranges::min(corners), std::ranges::max(corners));
}

int64_t all_bits_of(int64_t most) {
  return static_cast<int64_t>((uint64_t{1} << std::bit_width(static_cast<uint64_t>(most))) - 1);
}

Bounds positions(const BoundsContext& c, const Dim& n) {
  return n.is_constant() && n.constant() > 0 ? bounds_within(c.dtype(), 0, n.constant() - 1) : of_type(c);
}

// How many elements are folded into one.
Dim folded(const BoundsContext& c) {
  Dim n = int64_t{1};
  for (int64_t axis : c.node->attrs().get(kAxes))
    n = n * c.node->operand(0)->type().dims[static_cast<size_t>(axis)];
  return n;
}

template <typename T>
Bounds extremes(const void* data, int64_t count) {
  const std::span<const T> all(static_cast<const T*>(data), static_cast<size_t>(count));
  T low = all[0], high = all[0];
  for (T value : all) low = std::min(low, value), high = std::max(high, value);
  return {.known = true, .low = low, .high = high};
}

Bounds truth(int64_t value) { return {.known = true, .low = value, .high = value}; }
constexpr Bounds kAnyTruth{.known = true, .low = 0, .high = 1};

}  // namespace

Bounds bounds_of_first(const BoundsContext& c) { return c.x[0]; }
Bounds bounds_of_same(const BoundsContext& c) { return c.x[c.result]; }

Bounds bounds_of_all(const BoundsContext& c) {
  Bounds out = c.x[0];
  for (const Bounds& x : c.x.subspan(1)) out = bounds_of_either(out, x, c.dtype());
  return out;
}
Bounds bounds_of_updated(const BoundsContext& c) { return bounds_of_either(c.x[0], c.x[1], c.dtype()); }

Bounds bounds_of_literal(const BoundsContext& c) {
  const auto* value = std::get_if<Literal>(c.node->attrs().find("value"));
  Bounds out = of_type(c);
  if (!value || !out.known || value->elements() == 0 || value->elements() > kMostPlaces) return out;
  if (c.dtype() == DType::I64) return extremes<int64_t>(value->data(), value->elements());
  if (c.dtype() == DType::I32) return extremes<int32_t>(value->data(), value->elements());
  if (value->elements() > kMostElements) return out;
  std::swap(out.low, out.high);
  for (int64_t i = 0; i < value->elements(); ++i) {
    out.low = std::min(out.low, value->as_int(i));
    out.high = std::max(out.high, value->as_int(i));
  }
  return out;
}

Bounds bounds_of_iota(const BoundsContext& c) {
  const Dim& n = c.node->result()->type().dims[static_cast<size_t>(c.node->attrs().get(kAxis))];
  return positions(c, n);
}

Bounds bounds_of_position(const BoundsContext& c) { return positions(c, folded(c)); }
Bounds bounds_of_extreme(const BoundsContext& c) {
  const Dim n = folded(c);
  return n.is_constant() && n.constant() > 0 ? c.x[0] : of_type(c);  // the type's last value where nothing is
}
Bounds bounds_of_top(const BoundsContext& c) {
  return c.result == 0 ? c.x[0] : positions(c, c.node->operand(0)->type().dims.back());
}

Bounds bounds_of_size(const BoundsContext& c) {
  Bounds out = of_type(c);
  if (out.known) out.low = 0;
  return out;
}

Bounds bounds_of_sum(const BoundsContext& c) {
  if (!all_known(c)) return of_type(c);
  const Bounds &x = c.x[0], &y = c.x[1];
  Bounds out = bounds_within(c.dtype(), Wide(x.low) + y.low, Wide(x.high) + y.high);
  // What is carried through a loop, plus a number.
  const bool first = x.origin && (!y.origin || y.exact());
  move_from(out, first ? x : y, first ? y.low : x.low, first ? y.high : x.high);
  return out;
}

Bounds bounds_of_difference(const BoundsContext& c) {
  if (!all_known(c)) return of_type(c);
  const Bounds &x = c.x[0], &y = c.x[1];
  Bounds out = bounds_within(c.dtype(), Wide(x.low) - y.high, Wide(x.high) - y.low);
  if (y.low != std::numeric_limits<int64_t>::min()) move_from(out, x, -y.high, -y.low);
  return out;
}

Bounds bounds_of_product(const BoundsContext& c) {
  return all_known(c) ? of_corners(c, [](Wide x, Wide y) { return x * y; }) : of_type(c);
}

Bounds bounds_of_quotient(const BoundsContext& c) {
  if (!all_known(c) || c.x[1].low <= 0) return of_type(c);
  return of_corners(c, [](Wide x, Wide y) { return x / y; });
}
Bounds bounds_of_floor_quotient(const BoundsContext& c) {
  if (!all_known(c) || c.x[1].low <= 0) return of_type(c);
  return of_corners(c, [](Wide x, Wide y) { return x >= 0 ? x / y : -((-x + y - 1) / y); });
}

Bounds bounds_of_floor_mod(const BoundsContext& c) {
  if (!all_known(c) || c.x[1].low <= 0) return of_type(c);
  const Bounds &x = c.x[0], &y = c.x[1];
  if (x.low >= 0 && x.high < y.low) return x;
  return bounds_within(c.dtype(), 0, x.low >= 0 ? std::min(x.high, y.high - 1) : y.high - 1);
}
Bounds bounds_of_remainder(const BoundsContext& c) {
  if (!all_known(c) || c.x[1].low <= 0) return of_type(c);
  const Bounds &x = c.x[0], &y = c.x[1];
  if (x.low >= 0 && x.high < y.low) return x;
  return bounds_within(c.dtype(), x.low < 0 ? std::max(x.low, 1 - y.high) : 0,
                       x.high > 0 ? std::min(x.high, y.high - 1) : 0);
}

Bounds bounds_of_maximum(const BoundsContext& c) {
  if (!all_known(c)) return of_type(c);
  return {.known = true, .low = std::max(c.x[0].low, c.x[1].low), .high = std::max(c.x[0].high, c.x[1].high)};
}
Bounds bounds_of_minimum(const BoundsContext& c) {
  if (!all_known(c)) return of_type(c);
  return {.known = true, .low = std::min(c.x[0].low, c.x[1].low), .high = std::min(c.x[0].high, c.x[1].high)};
}

Bounds bounds_of_negative(const BoundsContext& c) {
  return all_known(c) ? bounds_within(c.dtype(), -Wide(c.x[0].high), -Wide(c.x[0].low)) : of_type(c);
}
Bounds bounds_of_absolute(const BoundsContext& c) {
  if (!all_known(c)) return of_type(c);
  const Wide low = c.x[0].low, high = c.x[0].high;
  if (low >= 0) return c.x[0];
  return bounds_within(c.dtype(), high < 0 ? -high : Wide(0), std::max(-low, high));
}

Bounds bounds_of_converted(const BoundsContext& c) {
  return c.x[0].known ? bounds_within(c.dtype(), c.x[0].low, c.x[0].high) : of_type(c);
}

Bounds bounds_of_selected(const BoundsContext& c) {
  if (c.x[0].exact()) return c.x[0].low ? c.x[1] : c.x[2];
  return bounds_of_either(c.x[1], c.x[2], c.dtype());
}

Bounds bounds_of_and(const BoundsContext& c) {
  const Bounds &x = c.x[0], &y = c.x[1];
  if (!all_known(c) || (x.low < 0 && y.low < 0)) return of_type(c);
  if (c.dtype() == DType::Bool && x.low == 1 && y.low == 1) return truth(1);
  // Where one of them is not negative, the result is not, and is no greater.
  return bounds_within(c.dtype(), 0, x.low < 0 ? y.high : y.low < 0 ? x.high : std::min(x.high, y.high));
}
Bounds bounds_of_or(const BoundsContext& c) {
  const Bounds &x = c.x[0], &y = c.x[1];
  if (!all_known(c) || x.low < 0 || y.low < 0) return of_type(c);
  return bounds_within(c.dtype(), std::max(x.low, y.low), all_bits_of(std::max(x.high, y.high)));
}
Bounds bounds_of_not(const BoundsContext& c) {
  if (c.dtype() != DType::Bool || !all_known(c)) return of_type(c);
  return {.known = true, .low = 1 - c.x[0].high, .high = 1 - c.x[0].low};
}

Bounds bounds_of_shift_right(const BoundsContext& c) {
  if (!all_known(c) || c.x[0].low < 0) return of_type(c);
  const int64_t by = std::clamp<int64_t>(c.x[1].low, 0, 63);
  return bounds_within(c.dtype(), 0, c.x[0].high >> by);
}

template <Relation Is>
Bounds bounds_of_comparison(const BoundsContext& c) {
  const Bounds &x = c.x[0], &y = c.x[1];
  if (!all_known(c)) return kAnyTruth;
  switch (Is) {
    case Relation::Equal:
      if (x.exact() && y.exact() && x.low == y.low) return truth(1);
      return x.high < y.low || y.high < x.low ? truth(0) : kAnyTruth;
    case Relation::NotEqual:
      if (x.exact() && y.exact() && x.low == y.low) return truth(0);
      return x.high < y.low || y.high < x.low ? truth(1) : kAnyTruth;
    case Relation::Less: return x.high < y.low ? truth(1) : x.low >= y.high ? truth(0) : kAnyTruth;
    case Relation::LessEqual: return x.high <= y.low ? truth(1) : x.low > y.high ? truth(0) : kAnyTruth;
    case Relation::Greater: return x.low > y.high ? truth(1) : x.high <= y.low ? truth(0) : kAnyTruth;
    case Relation::GreaterEqual: return x.low >= y.high ? truth(1) : x.high < y.low ? truth(0) : kAnyTruth;
  }
}

namespace {

// x + gap <= y, of each element.
void at_most(Bounds& x, Bounds& y, int64_t gap) {
  if (y.high >= std::numeric_limits<int64_t>::min() + gap) x.high = std::min(x.high, y.high - gap);
  if (x.low <= std::numeric_limits<int64_t>::max() - gap) y.low = std::max(y.low, x.low + gap);
}

}  // namespace

template <Relation Is>
void implies_comparison(ImpliesContext& c) {
  Bounds &x = c.x[0], &y = c.x[1];
  if (!x.known || !y.known) return;
  switch (Is) {
    case Relation::Equal: at_most(x, y, 0), at_most(y, x, 0); break;
    case Relation::NotEqual: break;
    case Relation::Less: at_most(x, y, 1); break;
    case Relation::LessEqual: at_most(x, y, 0); break;
    case Relation::Greater: at_most(y, x, 1); break;
    case Relation::GreaterEqual: at_most(y, x, 0); break;
  }
}

void implies_both(ImpliesContext& c) {
  for (Bounds& x : c.x)
    if (x.known && x.high == 1 && c.node->result()->type().dtype == DType::Bool) x.low = 1;
}
#define IG_RELATION(is)                                                     \
  template Bounds bounds_of_comparison<Relation::is>(const BoundsContext&); \
  template void implies_comparison<Relation::is>(ImpliesContext&);
IG_RELATION(Equal)
IG_RELATION(NotEqual)
IG_RELATION(Less)
IG_RELATION(LessEqual)
IG_RELATION(Greater)
IG_RELATION(GreaterEqual)
#undef IG_RELATION

}  // namespace ig::ops
