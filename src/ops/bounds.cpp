// Intervals of whole numbers in types whose arithmetic wraps.
#include "ops/bounds.h"

#include <algorithm>

namespace ig::ops {

Bounds bounds_of_type(DType dtype) {
  if (dtype == DType::Bool) return {.known = true, .low = 0, .high = 1};
  if (!is_integer(dtype) || dtype == DType::U64) return {};
  const int bits = info(dtype).bits;
  if (is_unsigned_int(dtype)) return {.known = true, .low = 0, .high = (int64_t{1} << bits) - 1};
  const int64_t high = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return {.known = true, .low = -high - 1, .high = high};
}

Bounds bounds_within(DType dtype, Wide low, Wide high) {
  Bounds all = bounds_of_type(dtype);
  if (!all.known || low > high || low < all.low || high > all.high) return all;
  return {.known = true, .low = static_cast<int64_t>(low), .high = static_cast<int64_t>(high)};
}

Bounds bounds_of_either(const Bounds& a, const Bounds& b, DType dtype) {
  if (!a.known || !b.known) return bounds_of_type(dtype);
  Bounds out{.known = true, .low = std::min(a.low, b.low), .high = std::max(a.high, b.high)};
  if (a.origin && a.origin == b.origin)
    out.origin = a.origin, out.least = std::min(a.least, b.least), out.most = std::max(a.most, b.most);
  return out;
}

}  // namespace ig::ops
