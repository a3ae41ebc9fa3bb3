// The attributes of loops.
#pragma once

#include "ir/attr.h"

namespace ig::ops {

inline constexpr Attr<Dims> kLength{
    "length", "How often the body runs, as a list of one; needed where nothing is scanned.", "[]"};
inline constexpr Attr<bool> kReverse{"reverse", "Runs from the last slice to the first.", "false"};

}  // namespace ig::ops
