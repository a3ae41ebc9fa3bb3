// One axis that a kernel's window slides along, cut into parts whose places all see the same taps. So the
// code that sums over a part asks about padding, and about gaps in the image, once and not for each tap.
//
// With gaps (an image whose elements stand `gaps` apart, as in the gradient of a strided convolution) a place
// meets only some taps. Places that are `classes()` apart meet the same ones: within a class the axis is one
// without gaps, with steps of its own. Of a class, the places between the ends of the image are one part.
// Those whose windows reach over an end are parts by themselves, or as many together as the taps are apart,
// since these miss the same taps.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "loop/loop.h"
#include "ops/indexing.h"

namespace ig::codegen {

// Some places of an axis and the taps that they all see. Place number k of the part is the axis' place
// `first + k * step`; its tap number u is the kernel's `tap + u * tap_step`, and sees the image's element
// `origin + k * stride + u * dilation`.
struct WindowPart {
  loop::Expr first, count;
  loop::Expr origin;
  loop::Expr tap, taps;
  int64_t step = 1, tap_step = 1, stride = 1, dilation = 1;
};

// Tiles of an axis' places, side by side: `repeats` of `places` each from `first` on, whose places see these
// taps. With gaps, each begins with a place of the first class.
struct RowTiles {
  int64_t first = 0, places = 0, repeats = 1;
  std::vector<std::vector<int64_t>> taps{};  // that each place sees, ascending
  bool sees(size_t place, int64_t tap) const { return std::ranges::binary_search(taps[place], tap); }
};

struct WindowAxis {
  int64_t taps = 1, stride = 1, dilation = 1, gaps = 1, low = 0;
  bool padded = false;  // a window may reach over an end
  Dim image = int64_t{0}, places = int64_t{0};

  int64_t classes() const;
  bool taps_adjoin() const;  // a part's taps stand side by side in the kernel
  // Calls body for each part, within loops, for the places in [from, to).
  void each_part(loop::Builder& build, const ops::SizeFn& size, loop::Expr from, loop::Expr to,
                 const std::function<void(const WindowPart&)>& body) const;
  // Without gaps: all places in [from, to) that see this tap, and it alone.
  WindowPart part_of_tap(loop::Builder& build, const ops::SizeFn& size, loop::Expr from, loop::Expr to,
                         loop::Expr tap) const;
  // Of fixed sizes: the taps that each place sees, ascending.
  std::vector<std::vector<int64_t>> taps_seen() const;
  // Likewise: tiles that cover the axis, of at most so many places each; none where these are fewer than
  // there are classes.
  std::vector<RowTiles> row_tiles(int64_t most) const;
  // The image's element that a tile's place sees under a tap, from the one that it begins with.
  int64_t element_under(int64_t place, int64_t tap) const {
    return (place * stride + tap * dilation - low) / gaps;
  }

 private:
  void parts_of_class(loop::Builder& build, const ops::SizeFn& size, loop::Expr number, loop::Expr from,
                      loop::Expr to, const std::function<void(const WindowPart&)>& body) const;
};

}  // namespace ig::codegen
