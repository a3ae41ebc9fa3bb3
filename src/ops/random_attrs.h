// The attributes of the ops that draw random numbers, and the layout of a key.
//
// A key is eight bytes: two 32-bit words in memory order, the first being what JAX calls key[0]. As one
// little-endian 64-bit number the first word is the low half.
#pragma once

#include "ops/attrs.h"

namespace ig::ops {

inline constexpr Attr<double> kLow{"low", "The least value.", "0x0p+0"};
inline constexpr Attr<double> kHigh{"high", "The value that all are below.", "0x1p+0"};
inline constexpr Attr<double> kProbability{"p", "The probability of true.", "0x1p-1"};
inline constexpr Attr<int64_t> kMinimum{"low", "The least value."};
inline constexpr Attr<int64_t> kMaximum{"high", "The value that all are below."};
inline constexpr Attr<int64_t> kCount{"n", "How many."};

}  // namespace ig::ops
