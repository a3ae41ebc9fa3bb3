// The attributes of folds and of cumulative folds.
#pragma once

#include "ops/attrs.h"

namespace ig::ops {

inline constexpr Attr<double> kCorrection{"correction", "What is taken from the count of elements that divides.", "0"};
inline constexpr Attr<bool> kBackwards{"reverse", "Walks from the end of the axis to its start.", "false"};
inline constexpr Attr<bool> kInitial{"include_initial", "Puts the fold of no elements in front.", "false"};

}  // namespace ig::ops
