// The attributes that several ops share, each declared once.
#pragma once

#include "ir/attr.h"

namespace ig::ops {

inline constexpr Attr<Ints> kAxes{"axes", "The axes to fold, ascending; none folds nothing."};
inline constexpr Attr<int64_t> kAxis{"axis", "The axis, counted from 0."};
inline constexpr Attr<bool> kKeepDims{"keepdims", "Keeps each folded axis as size 1.", "false"};
inline constexpr Attr<Dims> kShape{"shape", "The sizes of the result."};
inline constexpr Attr<DType> kDType{"dtype", "The element type of the result."};
inline constexpr Attr<Ints> kBroadcastDims{
    "broadcast_dimensions", "For each axis of the operand, the axis of the result it becomes."};
inline constexpr Attr<Ints> kPermutation{"permutation",
                                         "For each axis of the result, the operand's axis it was."};
inline constexpr Attr<Literal> kValue{"value", "The array."};

}  // namespace ig::ops
