// The attributes of the ops that slide a window over an array (pooling), with their defaults filled in.
#pragma once

#include "ops/attrs.h"

namespace ig::ops {

inline constexpr Attr<Ints> kWindow{"window_dimensions", "The size of the window, for each axis."};
inline constexpr Attr<Ints> kWindowStrides{"window_strides",
                                           "The step of the window, for each axis; none: 1.", "[]"};
inline constexpr Attr<Ints> kWindowDilations{"window_dilations",
                                             "The window's elements stand this far apart; none: 1.", "[]"};
inline constexpr Attr<Ints> kWindowPadding{
    "padding", "What is added in front of and behind each axis: low0, high0, low1, …; none: 0.", "[]"};

struct WindowDims {
  Ints window, strides, dilations, low, high;
  WindowDims(const Attrs& attrs, int rank, std::string_view op);  // Error(Value) where a count is wrong
  Dim result(const Dim& size, size_t axis) const;                 // sizes of a constant that does not fit: 0
};

}  // namespace ig::ops
