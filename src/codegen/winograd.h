// What the kernels of Winograd's minimal filtering share: the transforms, as steps along one axis of a small
// matrix, and maps of features, whose elements they read by image, place and feature.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "codegen/group_emitter.h"
#include "ops/contraction.h"
#include "ops/strided_view.h"

namespace ig::codegen::winograd {

inline constexpr int64_t kTerms = 16, kTaps = 9;
inline constexpr int64_t kApart = 16;  // elements, so that what is read at once meets in no set of the cache

// Steps along an axis, of four elements unless another number is given. The matrices are those of the
// literature; see lower_winograd.cpp.
using Step = std::vector<loop::Expr> (*)(loop::Builder&, std::span<const loop::Expr>);
std::vector<loop::Expr> image_to_terms(loop::Builder&, std::span<const loop::Expr>);    // B d
std::vector<loop::Expr> taps_to_terms(loop::Builder&, std::span<const loop::Expr>);     // G g, of three
std::vector<loop::Expr> terms_to_results(loop::Builder&, std::span<const loop::Expr>);  // A m, two
std::vector<loop::Expr> results_to_terms(loop::Builder&, std::span<const loop::Expr>);  // A^T y, of two
std::vector<loop::Expr> terms_to_taps(loop::Builder&, std::span<const loop::Expr>);     // G^T m, three
// The step taken along the columns of a square matrix, then along the rows of what that gives.
std::vector<loop::Expr> both_ways(loop::Builder& build, std::span<const loop::Expr> matrix, Step step);

loop::Expr are_finite(loop::Builder& build, std::span<const loop::Expr> values);
// The values, which belong together, are finite, and none is less than another by more than a factor
// (ops::kWinogradRange): what is small beside them has lost its digits.
loop::Expr are_alike(loop::Builder& build, std::span<const loop::Expr> values);

// An array of images with places of two axes and features, by the steps from element to element.
struct FeatureMap {
  uint32_t buffer = 0;
  Dim offset = int64_t{0}, image = int64_t{0}, space[2] = {int64_t{0}, int64_t{0}}, feature = int64_t{0};
  int64_t size[2] = {}, features = 0;
  // What a window adds in front of each axis.
  int64_t low[2] = {};

  FeatureMap() = default;
  // `view` of an array of this shape; its axes of images, places and features.
  FeatureMap(GroupEmitter& emit, const ops::StridedView& view, const Dims& dims, int64_t image_axis,
             const Ints& space_axes, int64_t feature_axis);

  loop::Expr origin(GroupEmitter& emit, loop::Expr image) const;
  // A place along an axis, counted with what is in front: whether it lies in the image, and how far from its
  // first one it stands; of those beyond, the nearest.
  struct Reach {
    loop::Expr inside, offset;
  };
  Reach reach(GroupEmitter& emit, size_t axis, loop::Expr number) const;
  loop::Expr load(GroupEmitter& emit, loop::Expr at, loop::Expr feature) const;
  // The element of each of four by four places from this one on, zero beyond the image; column by column.
  std::vector<loop::Expr> square(GroupEmitter& emit, const std::array<std::vector<Reach>, 2>& reaches,
                                 loop::Expr origin, loop::Expr feature) const;
};

// A kernel before this one puts the features of the maps side by side, where they are not and where a kernel
// may run before. They have as many images each.
void put_features_last(GroupEmitter& emit, Kernel& kernel, DType type, const Dim& images,
                       std::span<FeatureMap* const> maps);

}  // namespace ig::codegen::winograd
