// The places that a convolution's tile computes at once, noted in scratch. From one to the next an odometer
// counts: along the last axis, then along the one before, then to the next image. As code for each place of
// the tile it would be most of a kernel, and LLVM would take longer for it than for all the rest; so the
// places are noted by a short loop, or, where all of a tile lie in one row as most do, by vectors.
#pragma once

#include <functional>
#include <vector>

#include "codegen/window_axis.h"
#include "loop/loop.h"

namespace ig::codegen {

class TilePlaces {
 public:
  using Expr = loop::Expr;

  // Of the parts that are walked over, an axis each (window_axis.h).
  struct Walk {
    const std::vector<WindowPart>& parts;
    Expr origin;              // the image's element at the corner of the first place's window
    Expr image_step;          // from image to image
    std::vector<Expr> steps;  // from place to place along each axis of a part
    Expr first_row, end_row;  // of the chunk's places along the first axis
    std::vector<Expr> space;  // places along each axis
  };

  TilePlaces() = default;
  // `most`: places of a tile. `keeps`: how far apart the sums of places are kept in scratch, 0 if they are
  // not. `stores`: whether a place's own index is asked for.
  TilePlaces(loop::Builder& build, int64_t most, size_t axes, int64_t keeps, bool stores);

  void begin(const Walk& walk);  // at the first place
  // Notes the next places, as many as a tile has at most; those from number `left` on repeat the last.
  void note(const Walk& walk, Expr left);
  // Of place number i: its window's corner in the image; where its sums are kept; its image, and its place
  // along each axis.
  Expr corner(Expr i) const { return noted(kCorner, i); }
  Expr kept(Expr i) const { return noted(kKept, i); }
  std::vector<Expr> place(Expr i) const;

 private:
  enum : size_t { kCorner, kKept, kPlace };
  Expr at(size_t fact, Expr i) const { return i + static_cast<int64_t>(fact) * most_; }
  Expr noted(size_t fact, Expr i) const;
  void advance(const Walk& walk, Expr by);
  void facts(const Walk& walk, const std::function<void(size_t fact, Expr value, Expr step)>& tell) const;

  loop::Builder* build_ = nullptr;
  int64_t most_ = 0, keeps_ = 0;
  size_t axes_ = 0;
  bool stores_ = false;
  uint32_t scratch_ = 0;
  std::vector<uint32_t> where_;  // the next place: its image, and its number along each part
};

struct TileHeights {
  int64_t tall, low;  // register_tile.h
};
// Whether tiles are better filled where they run for one step of the first axis' taps at a time: by the
// products of all places that they compute, and what it takes to keep sums in scratch between. A chunk has so
// many rows, or whole images; `inputs` are what a tap sums over.
bool fills_by_steps(const std::vector<WindowAxis>& axes, const Dim& chunk_rows, int64_t images,
                    int64_t inputs, TileHeights tile);

}  // namespace ig::codegen
