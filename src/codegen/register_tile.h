// The register tile that products, convolutions and attention share: rows x columns running sums, a vector of
// columns a row or several, each one chain of fused multiply-adds over the steps of its sum, ascending. And
// what becomes of a finished sum.
#pragma once

#include <functional>
#include <vector>

#include "codegen/group_emitter.h"
#include "ops/strided_view.h"

namespace ig::codegen {

class RegisterTile {
 public:
  // `groups` vectors of `columns` columns in each row.
  RegisterTile(loop::Builder& build, DType type, int64_t rows, int64_t columns, int64_t groups = 1);

  // All inside of one vector loop over the columns of a group.
  void clear();  // all sums are +0
  void load(const std::function<loop::Expr(size_t row, size_t group)>& value);
  // The sums of a group are worked out before what stands behind this begins.
  void settle(size_t group);
  loop::Expr value(size_t row, size_t group = 0) { return build_.read(sums_[row * groups_ + group]); }
  void add(size_t row, loop::Expr a, loop::Expr b, size_t group = 0);  // one step of one row
  // The steps [begin, end) of all rows: a(row, step) is one number for all columns, b(step, group) a vector
  // of them. `usual`: how many steps there are most of the time, where that is known. `aside`, if given: work
  // of another kind that goes along with each few steps, from the first of them.
  void sum(GroupEmitter& emit, loop::Expr begin, loop::Expr end,
           const std::function<loop::Expr(size_t row, loop::Expr step)>& a,
           const std::function<loop::Expr(loop::Expr step, size_t group)>& b, int64_t usual = 0,
           const std::function<void(loop::Expr first, int64_t steps)>& aside = nullptr);

 private:
  loop::Builder& build_;
  DType type_;
  int64_t columns_;
  size_t rows_, groups_;
  std::vector<uint32_t> sums_;
};

// How many rows the lowest tile has that takes less time than one of `tall` rows of `vectors` vectors; `tall`
// where none does: with fewer sums each step waits for the one before.
int64_t low_tile(int64_t tall, int64_t vectors);
// Tiles that cover some rows: `whole` ones of `tall` rows, and behind them `low_ones` of `low` rows, of which
// there are never more than `most_low`. Rows behind the last are the last tile's alone.
struct TileRows {
  int64_t tall, low;
  loop::Expr whole, low_ones;
  int64_t most_low;
};
// The tiles for `count` rows that take the least time: tall ones as far as they go, then low ones where these
// take less than one more.
TileRows tile_rows(loop::Builder& build, int64_t tall, int64_t low, loop::Expr count);
void each_tile(GroupEmitter& emit, const TileRows& tiles,
               const std::function<void(int64_t rows, loop::Expr first)>& body);
// The same in one loop, for work of which only a part has its code for a height: by_height(part) has that
// part twice, behind a branch, and what else the body says is there, and is compiled, once.
using ByHeight = std::function<void(const std::function<void(int64_t rows)>& part)>;
void each_tile(GroupEmitter& emit, const TileRows& tiles,
               const std::function<void(loop::Expr rows, loop::Expr first, const ByHeight& by_height)>& body);

// The rows that these tiles compute for so many: no fewer, since a tile repeats the last.
int64_t rows_computed(int64_t tall, int64_t low, int64_t count);

loop::Expr multiply_add(loop::Expr a, loop::Expr b, loop::Expr sum);
loop::Expr zero_of(loop::Builder& build, DType type);

// The finished sum of products is known from now on, as the value of its op.
void know_sum(GroupEmitter& emit, Value product, loop::Expr sum);
// Whether what was fused behind a product takes long: an exponential, say.
bool has_long_work_behind(const Block& region);
// Asks the caches for what `store_sum` will write and read of so many columns, from this element on: before
// the sums are taken, since a store into a line that is not at hand waits for the line, and a tile's stores
// come all at once.
void ask_for_stores(GroupEmitter& emit, Value product, const GroupEmitter::Index& first, int64_t columns);
// Stores the element of the kernel's results whose sum of products is finished, after the element-wise work
// that was fused behind it.
void store_sum(GroupEmitter& emit, Value product, const GroupEmitter::Index& index, loop::Expr sum);

}  // namespace ig::codegen
