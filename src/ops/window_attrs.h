// The attributes of the ops that slide a window over an array (pooling), with their defaults filled in.
#pragma once

#include <optional>

#include "ops/attrs.h"
#include "ops/op.h"

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

// What an op that slides a window folds the elements with, by name, and what it begins with. Nothing of other
// ops, and of 16-bit floats, whose sums are kept in wider ones.
struct WindowFold {
  std::string_view combine;
  Literal neutral;  // without axes
};
std::optional<WindowFold> window_fold(const Op& op, DType dtype);

}  // namespace ig::ops
