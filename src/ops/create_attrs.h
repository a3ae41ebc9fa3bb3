// The attributes of the ops that make arrays.
#pragma once

#include "ops/attrs.h"

namespace ig::ops {

inline constexpr Attr<DType> kElement{"dtype", "The element type of the result.", "f32"};
inline constexpr Attr<int64_t> kRows{"n_rows", "How many rows."};
inline constexpr Attr<int64_t> kColumns{"n_cols", "How many columns; -1: as many as rows.", "-1"};
inline constexpr Attr<int64_t> kDiagonal{"k", "The diagonal: 0 the main one, above it positive.", "0"};

}  // namespace ig::ops
