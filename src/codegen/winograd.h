// What the kernels of Winograd's minimal filtering share: the transforms, and maps of features, whose
// elements they read by image, place and feature.
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

// The transforms (ops/winograd_steps.h), of matrices of expressions that are evaluated once.
std::array<loop::Expr, kTerms> image_to_terms(loop::Builder&, const std::array<loop::Expr, 16>& image);
std::array<loop::Expr, kTerms> taps_to_terms(loop::Builder&, const std::array<loop::Expr, kTaps>& taps);
std::array<loop::Expr, 4> terms_to_results(loop::Builder&, const std::array<loop::Expr, kTerms>& terms);
std::array<loop::Expr, kTerms> results_to_terms(loop::Builder&, const std::array<loop::Expr, 4>& results);
std::array<loop::Expr, kTaps> terms_to_taps(loop::Builder&, const std::array<loop::Expr, kTerms>& terms);

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
  // Of N places along an axis, from this one on.
  template <size_t N>
  std::array<Reach, N> reaches(GroupEmitter& emit, size_t axis, loop::Expr first) const {
    std::array<Reach, N> out;
    for (size_t i = 0; i < N; ++i)
      out[i] = reach(emit, axis, emit.build.let(first + emit.build.index(static_cast<int64_t>(i))));
    return out;
  }
  // The elements of N by N places, whose reaches along the axes these are; zero beyond the image.
  template <size_t N>
  using Reaches = std::array<std::array<Reach, N>, 2>;
  template <size_t N>
  std::array<loop::Expr, N * N> square(GroupEmitter& emit, const Reaches<N>& reaches, loop::Expr origin,
                                       loop::Expr number) const {
    std::array<loop::Expr, N * N> out;
    for (size_t i = 0; i < out.size(); ++i) {
      const Reach &row = reaches[0][i / N], &column = reaches[1][i % N];
      loop::Expr element = load(emit, origin + row.offset + column.offset, number);
      out[i] = emit.build.let(
          loop::select(row.inside & column.inside, element, emit.build.constant(element.type(), 0)));
    }
    return out;
  }
};

// A kernel before this one puts the features of the maps side by side, where they are not and where a kernel
// may run before. They have as many images each.
void put_features_last(GroupEmitter& emit, Kernel& kernel, DType type, const Dim& images,
                       std::span<FeatureMap* const> maps);

}  // namespace ig::codegen::winograd
