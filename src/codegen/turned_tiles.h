// Operands that lie across a kernel's walk (ops/across.h), a tile at a time: turned over into scratch, and
// read from there.
#pragma once

#include <span>
#include <vector>

#include "codegen/group_emitter.h"
#include "ops/across.h"

namespace ig::codegen {

// Where the element at an index of the value stands in the operand.
loop::Expr place_in(GroupEmitter& emit, const ops::StridedView& view, std::span<const loop::Expr> index);

// Scratch for one tile of each operand: `rows` along the axis in which these lie, `columns` along the walk.
class TurnedTiles {
 public:
  TurnedTiles(GroupEmitter& emit, const ops::Across& across, size_t along, int64_t rows, int64_t columns);
  // Fills the tiles from the element at `corner` on, so many rows and columns, and pins the values there.
  void turn(std::span<const loop::Expr> corner, loop::Expr rows, loop::Expr columns);
  // Asks for the next tile's lines, those behind `rows` rows, one part of `rows` at a time. After turn().
  void ask_ahead(loop::Expr part);

 private:
  struct Tile {
    const ops::Across::Operand* operand;
    uint32_t scratch;
    loop::Expr from, step;  // of the operand: its first element in the tile, and on to the next column
    int64_t next;           // on to the next tile of rows
  };
  GroupEmitter& emit_;
  const size_t axis_, along_;
  const int64_t rows_, columns_;
  std::vector<Tile> tiles_;
};

}  // namespace ig::codegen
