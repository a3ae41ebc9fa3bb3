// Eager views: slices, transposes, reversals and broadcasts are one strided walk over the operand's bytes.
// They need no compiled program for each index that a loop uses, and moving bits is the same bits in every
// way.
#pragma once

#include <optional>
#include <span>

#include "ops/op.h"
#include "tensor/tensor.h"

namespace ig {

// Where each element of a view lies in the operand, in elements.
struct StridedView {
  Shape shape;
  int64_t offset = 0;
  std::vector<int64_t> strides;

  static StridedView whole(const Shape& shape);  // row-major, all of it
};

Tensor copy_strided(const Tensor& x, const StridedView& view);

// Where a view only repeats elements along axes: the operand's shape with size 1 there, which broadcasts to
// the view's.
std::optional<Shape> as_broadcast(const StridedView& view, const Shape& operand);
// The other way round: an array of shape `own`, broadcast to `shape`.
StridedView broadcast_view(const Shape& own, const Shape& shape);

// x with the elements of the view replaced by `value`, which has the view's shape; in x's own memory where
// nobody else sees it.
Tensor assign_strided(Tensor x, const StridedView& view, const Tensor& value);

// A view that is all of an array with its axes in another order, and in which neighbours do not stay
// neighbours: with as few axes as that takes. Elements are of the unsigned type as wide as the array's own.
struct Turned {
  Tensor x;
  std::vector<int64_t> permutation;
};
std::optional<Turned> as_turned(const Tensor& x, const StridedView& view);

// The arrays joined along an axis; they agree in all else.
Tensor join(std::span<const Tensor> parts, int64_t axis, const Shape& result);

// The view that a node of this op is, or none where it is no strided one. Attributes are valid for the
// operand.
std::optional<StridedView> strided_view(const ops::Op& op, const Shape& operand, const Attrs& attrs,
                                        const Shape& result);

}  // namespace ig
