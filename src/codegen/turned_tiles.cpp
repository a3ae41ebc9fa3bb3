// Turning over what lies across a walk.
#include "codegen/turned_tiles.h"

namespace ig::codegen {

using loop::Expr;

Expr place_in(GroupEmitter& emit, const ops::StridedView& view, std::span<const Expr> index) {
  Expr place = emit.size(view.offset);
  for (size_t i = 0; i < index.size(); ++i) place = place + index[i] * emit.size(view.strides[i]);
  return place;
}

TurnedTiles::TurnedTiles(GroupEmitter& emit, const ops::Across& across, size_t along, int64_t rows,
                         int64_t columns)
    : emit_(emit), axis_(across.axis), along_(along), rows_(rows), columns_(columns) {
  for (const ops::Across::Operand& operand : across.operands)
    tiles_.push_back({&operand,
                      emit.build.add_scratch(operand.view.arg->type().dtype, Dim(rows * columns), "tile"),
                      {},
                      {},
                      0});
}

void TurnedTiles::turn(std::span<const Expr> corner, Expr rows, Expr columns) {
  loop::Builder& build = emit_.build;
  const Expr row0 = corner[axis_], column0 = corner[along_];
  for (Tile& tile : tiles_) {
    const ops::StridedView& view = tile.operand->view;
    const DType stored = view.arg->type().dtype, computed = compute_type(stored);
    Expr from = place_in(emit_, view, corner);
    const bool back = view.strides[axis_] == Dim(int64_t{-1});  // the last row lies first
    tile.from = build.let(back ? from - rows + build.index(1) : from);
    tile.step = emit_.size(view.strides[along_]);
    tile.next = back ? -rows_ : rows_;
    build.transpose({tile.scratch, build.index(0), build.index(columns_)},
                    {emit_.buffer_of_arg(view.arg), tile.from, tile.step}, columns, rows);
    emit_.pin(tile.operand->value, [=, &build, axis = axis_, along = along_, width = columns_,
                                    scratch = tile.scratch](std::span<const Expr> at) {
      Expr row = at[axis] - row0;
      if (back) row = rows - build.index(1) - row;
      Expr value = build.load(scratch, row * width + (at[along] - column0));
      return stored == computed ? value : loop::convert(value, computed);
    });
  }
}

void TurnedTiles::ask_ahead(Expr part) {
  loop::Builder& build = emit_.build;
  for (const Tile& tile : tiles_) {
    const Value arg = tile.operand->view.arg;
    const int64_t line = 64 / static_cast<int64_t>(size_of(arg->type().dtype));
    const int64_t lines = rows_ / line, each = columns_ / line;
    if (lines == 0) continue;  // a tile of few rows is read from end to end
    for (int64_t i = 0; i < each; ++i) {
      Expr number = part * each + build.index(i);
      build.prefetch(emit_.buffer_of_arg(arg), tile.from + tile.next +
                                                   number / build.index(lines) * tile.step +
                                                   number % build.index(lines) * build.index(line));
    }
  }
}

}  // namespace ig::codegen
