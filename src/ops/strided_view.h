// An operand of a fused region seen through views that only rearrange it: transpositions, slices, broadcasts,
// reversals, and reshapes of whole rows. Its element at an index is at a fixed distance from the first for
// each step along an axis, which is what the blocked kernels need to know to read it by whole vectors.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace ig::ops {

// An axis that goes over memory in several runs, one inside the other, as after a reshape that merged axes of
// a transposed array.
struct Piece {
  Dim size, stride;  // in elements
};
using Pieces = std::vector<Piece>;  // the last one fastest; none where the axis has one element

struct PiecedView {
  Value arg = nullptr;  // the region's argument
  Dim offset = int64_t{0};
  std::vector<Pieces> axes;  // of the value
};

// Which nodes are looked through: all, or those that this accepts. What another one gives counts as an
// argument.
using Inside = std::function<bool(const Node*)>;

// Nullopt where the value is computed, or is moved in another way.
std::optional<PiecedView> pieced_view(Value value, const Inside& inside = {});

// Of such a view the case that most kernels read: one stride for each axis.
struct StridedView {
  Value arg = nullptr;  // the region's argument
  Dim offset = int64_t{0};
  Dims strides;  // in elements, for each axis of the value

  // The stride of several axes walked as one, the last fastest; nullopt where they do not lie like that.
  std::optional<Dim> run_stride(const std::vector<int64_t>& axes, const Dims& dims) const;
};

std::optional<StridedView> strided_view(Value value, const Inside& inside = {});

// Whether each element of a region's argument is read only where the same element of a result is computed
// (or, with `folds`, by folds): then a result may stand in its memory. What is computed of it may not be
// moved by a view either.
bool read_at_own_element(Value arg, bool folds = false);

}  // namespace ig::ops
