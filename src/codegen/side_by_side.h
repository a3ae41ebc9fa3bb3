// Rows of few elements, side by side in vectors along the axis before their own: each lane is a row. Results
// that have all the elements wait in tiles, the same element of all rows together, and are turned over at the
// end.
#pragma once

#include <map>

#include "codegen/group_emitter.h"

namespace ig::codegen {

class SideBySide {
 public:
  // The rows of `rows`, whose last axis is that of the lanes; each has so many elements.
  SideBySide(GroupEmitter& emit, Kernel& kernel, const Dims& rows, int64_t elements)
      : emit_(emit), outer_(rows.begin(), rows.end() - 1), elements_(elements) {
    loop::Builder& build = emit.build;
    const Dim tiles = ceildiv(rows.back(), Dim(kTile));
    kernel.blocks = product(outer_) * tiles;
    count_ = emit.size(rows.back());
    loop::Expr block = build.block();
    begin_ = build.let((block % emit.size(tiles)) * build.index(kTile));
    end_ = build.let(loop::lesser(begin_ + build.index(kTile), count_));
    outer_flat_ = build.let(block / emit.size(tiles));
  }
  static int64_t rows_of_block() { return kTile; }

  // `body` gets the index of a row, and stores all results of it.
  void each_row(const std::function<void(const GroupEmitter::Index& row)>& body) {
    const GroupEmitter::Index outer = emit_.split(outer_flat_, outer_);
    const int width = emit_.target.vector_bytes / widest_element(emit_.region);
    emit_.vector_columns(begin_, end_, width, [&](loop::Expr i) {
      lane_ = i;
      GroupEmitter::Index row = outer;
      row.push_back(i);
      body(row);
    });
    loop::Builder& build = emit_.build;
    for (auto [result, tile] : tiles_)
      build.transpose(
          {emit_.result_buffer(result), (outer_flat_ * count_ + begin_) * elements_, build.index(elements_)},
          {tile, build.index(0), build.index(kTile)}, build.index(elements_), end_ - begin_);
  }
  // A result with one element a row, and one with all of them.
  void store(size_t result, loop::Expr value) {
    emit_.store_result(result, outer_flat_ * count_ + lane_, value);
  }
  void store(size_t result, const std::vector<loop::Expr>& values) {
    auto [tile, added] = tiles_.try_emplace(result, 0);
    if (added)
      tile->second = emit_.build.add_scratch(emit_.region.results()[result]->type().dtype,
                                             Dim(elements_ * kTile), "tile");
    for (int64_t c = 0; c < elements_; ++c)
      emit_.build.store(tile->second, emit_.build.index(c * kTile) + (lane_ - begin_),
                        emit_.as_stored(result, values[static_cast<size_t>(c)]));
  }

 private:
  static constexpr int64_t kTile = 64;
  GroupEmitter& emit_;
  Dims outer_;
  int64_t elements_;
  loop::Expr count_, begin_, end_, outer_flat_, lane_;
  std::map<size_t, uint32_t> tiles_;  // by the number of the result
};

}  // namespace ig::codegen
