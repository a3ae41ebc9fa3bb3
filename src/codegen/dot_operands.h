// A matrix product as its kernel sees it: each operand as a matrix of free and folded axes for each batch,
// and the sizes of the tiles that it is cut into.
#pragma once

#include <optional>

#include "codegen/group_emitter.h"
#include "ops/strided_view.h"

namespace ig::codegen {

struct DotSide {
  Value value = nullptr;
  Ints batch, free, folded;
  Dims batch_dims, free_dims, folded_dims;
  // Where it lies in memory with one stride along all free axes and one along all folded ones.
  std::optional<ops::StridedView> view;
  Dim free_stride, folded_stride;
  // Where it only lies in several runs: those of its batch, free and folded axes.
  struct Runs {
    Value arg = nullptr;
    Dim offset = int64_t{0};
    ops::Pieces batch, free, folded;
  };
  std::optional<Runs> runs;

  DotSide(Value v, Ints batch_axes, Ints folded_axes);

  // The element, in its compute type.
  loop::Expr at(GroupEmitter& emit, loop::Expr batch_flat, loop::Expr free_flat,
                loop::Expr folded_flat) const;
  // Of a view, or of runs: the offset of the batch's first element. Of a view: of an element from there.
  loop::Expr batch_offset(GroupEmitter& emit, loop::Expr batch_flat) const;
  loop::Expr offset(GroupEmitter& emit, loop::Expr batch_offset, loop::Expr free_flat,
                    loop::Expr folded_flat) const;
  bool rows_lie() const { return view && free_stride == Dim(int64_t{1}); }  // free elements side by side
  bool columns_lie() const {
    return view && folded_stride == Dim(int64_t{1});
  }  // folded elements side by side
};

// The offset of the element `flat` of pieces walked as one axis.
loop::Expr offset_in(GroupEmitter& emit, const ops::Pieces& pieces, loop::Expr flat);

struct DotTiles {
  int64_t mr, nr;  // the register tile
  int64_t groups;  // of columns in it: each is a vector, of several registers or one
  // Where the lines of B that lies across share few places in the cache: each is read at once.
  bool whole_lines = false;
  // How many elements of a sum come into registers at a time where B is transposed there: a register's, or as
  // few as make A's elements of them, read once, serve all groups.
  int64_t step = 0;
  // The tile of a block, or the largest where the product's size is not known before it runs: blocks are
  // equal shares then.
  int64_t mb, nb;
  Dim row_blocks, column_blocks;
  int64_t mc;  // rows of A packed at a time
  int64_t kc;  // the chunk of k
};

constexpr int64_t kFewRows = 4;  // that share what turning B over takes

struct DotShape {
  Dim m, n, k;
  int64_t parts;  // of the columns; n is those of one
  int element_bytes;
  bool packed_b;      // B lies in strips already, whatever the tile
  bool many_rows;     // if nobody knows how many there are: they are more than a block's
  bool turned_b;      // B's folded elements lie side by side: it is transposed as it is packed
  bool in_registers;  // or it is transposed in registers, a square at a time
  bool unpacked;      // both are read as they lie, a chunk of long sums at a time
  int64_t a_apart;    // the bytes between A's rows where it can be read as it lies; 0: it cannot
  int64_t b_apart;    // the bytes between B's columns where it is transposed; 0: nobody knows
  bool far;           // much of what is read comes from the last cache or from memory
};
DotTiles choose_tiles(const DotShape& shape, const Target& target);

inline int64_t ceil_over(int64_t x, int64_t by) { return (x + by - 1) / by; }

inline std::optional<int64_t> constant_of(const Dim& d) {
  return d.is_constant() ? std::optional(d.constant()) : std::nullopt;
}

}  // namespace ig::codegen
