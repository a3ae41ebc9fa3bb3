// The attributes of the ops that order elements.
#pragma once

#include "ops/attrs.h"

namespace ig::ops {

inline constexpr Attr<bool> kDescending{"descending", "From the greatest to the least.", "false"};
inline constexpr Attr<bool> kStable{"is_stable", "Keeps the order of equal elements; it is kept in any case.",
                                    "true"};
inline constexpr Attr<int64_t> kK{"k", "How many elements to take from each row."};

}  // namespace ig::ops
