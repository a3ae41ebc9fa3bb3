// The generator of matrix products, whose parts lie in three files: the way through blocks, strips and tiles
// (lower_dot.cpp, which says how a product goes), the packing of operands (dot_packing.cpp), and products of
// few rows or columns, which pack nothing (dot_few_rows.cpp).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/dot_operands.h"
#include "codegen/register_tile.h"
#include "ops/contraction.h"

namespace ig::codegen {

class DotLowering {
 public:
  DotLowering(GroupEmitter& emit, Kernel& kernel, Node* dot, const std::vector<bool>& constant_operands);
  void run();

 private:
  using Expr = loop::Expr;
  static inline const Dim kOne = Dim(int64_t{1});

  // What is asked of the operands and the target.
  static DType storage_of(const DotSide& side) {
    const Value arg = side.view ? side.view->arg : side.runs ? side.runs->arg : nullptr;
    return arg ? arg->type().dtype : DType::F32;
  }
  // The bytes between A's rows or B's columns, where each lies in one piece and nothing is to be converted; 0
  // where nobody knows.
  static int64_t apart(const DotSide& side) {
    auto stride = constant_of(side.free_stride);
    return side.view && stride && side.columns_lie()
               ? *stride * static_cast<int64_t>(size_of(storage_of(side)))
               : 0;
  }
  // Says where many rows are better off with B packed before (GroupEmitter::wants_many_rows).
  void ask_for_many_rows();
  int64_t tallest() const { return emit_.target.registers == 32 ? 12 : 6; }  // rows of a tile
  int64_t lanes_of_register() const {
    return emit_.target.vector_bytes / static_cast<int64_t>(size_of(type_));
  }
  // Rows of A that lie in runs, of which each is copied as it lies: heads side by side, say, that a product
  // folds as one axis.
  bool a_in_runs() const {
    return a_.runs && !a_.runs->folded.empty() && a_.runs->folded.back().stride == kOne;
  }
  // Likewise B's columns, which lie as far from each other as from the next.
  bool b_in_runs() const {
    return b_.runs && !b_.runs->folded.empty() && b_.runs->folded.back().stride == kOne &&
           b_.runs->free.size() == 1 && storage_of(b_) == type_;
  }
  bool packs_b() const { return !direct_b_ && !prepacked_ && !in_registers_; }
  bool even_columns() const { return n_.is_constant() && n_.constant() % tiles_.nr == 0; }
  int64_t parts() const { return parts_ ? parts_->count : 1; }
  // Sums go by way of memory, and the work behind the product is one loop over rows instead of code for each
  // row.
  bool by_rows() const { return chunked_ || long_epilogue_ || parts_; }
  // How many tiles read each strip of B, where B is too large to wait in the second cache: while they work,
  // they ask for the next strip. Else 0.
  int64_t tiles_of_strip() const;
  std::pair<int64_t, int64_t> asked_for_each_k(int64_t height, int64_t line) const;

  Expr widen(Expr value) const { return value.type() == type_ ? value : loop::convert(value, type_); }
  Expr load_a(Expr row, Expr k) {
    return widen(build_.load(emit_.buffer_of_arg(a_.view->arg), a_.offset(emit_, a_first_, row, k)));
  }
  Expr load_b(Expr k, Expr column) {
    return widen(build_.load(emit_.buffer_of_arg(b_.view->arg), b_.offset(emit_, b_first_, column, k)));
  }

  // nr columns of a block, fewer at its right edge. A product in parts has such a strip in each of them.
  struct Strip {
    Expr number, first, width;  // in the block, its first column in the part, and how many there are
    Expr part;                  // null: that is to be said
    Expr column, packed;        // its first column in B, and in packed B
    Expr kept;                  // its number among the block's strips of all parts, those of a part in a row
  };
  using StripBody = std::function<void(const Strip&)>;
  Strip strip_of(Expr number, Expr width) {
    Expr first = build_.let(n_begin_ + number * build_.index(tiles_.nr));
    return {number, first, width.node() ? width : build_.let(n_end_ - first), {}, first, first, number};
  }
  void strips(const StripBody& body);  // the full ones have a constant width
  void each_part(Strip strip, const StripBody& body);
  void strips_of_parts(const StripBody& body);

  // A chunk of the sums, in tiles. (lower_dot.cpp)
  void chunk(Expr k_begin, Expr k_end, Expr resumes, Expr is_last);
  // The tiles that cover `count` rows. Where the number of rows is known, all of a tile's rows exist: what is
  // left behind the last tall one has a tile of its height.
  TileRows tiles_of(Expr count);
  // height x nr running sums over the chunk's k, of the rows from row0 on. They are kept, or are finished
  // here.
  void tile(int64_t height, Expr from, Expr row0, Expr to, const Strip& strip, Expr k_begin, Expr k_end,
            Expr resumes);
  // A small product whose B fits the registers: its rows one after the other, each summed and stored before
  // the next, so that in a chain of such products the next one begins while this one's last rows are on
  // their way. (A processor looks a few hundred instructions ahead, which is about one such product.)
  bool goes_row_by_row() const;
  void tile_row_by_row(int64_t height, Expr row0, const Strip& strip);
  // What becomes of the sums that a tile of so many rows kept.
  void finish_rows(Expr height, Expr from, Expr row0, Expr to, const Strip& strip);
  // The sums of all parts are there: what brings them together.
  void finish_parts(Expr from, Expr to, const Strip& strip);
  // A few rows, of which the threads that made them have a share each: all of them are asked for at once,
  // where the sums would wait for one line after the other.
  void ask_for_a();
  // For the rows of A that the next tile reads, where A is too large for a core's caches and read but once.
  void ask_for_next_rows(int64_t height, Expr row0);
  // Where a tile's sums go; long sums do not notice that they wait for it.
  void ask_for_results(int64_t height, Expr row0, const Strip& strip);
  // Where a sum waits for the next chunk, or for the other parts; `from`: the first row of those that are
  // done strip by strip.
  Expr kept_sum(const Strip& strip, Expr part, Expr from, Expr row, Expr j) const {
    const int64_t rows = chunked_ ? tiles_.mb : tiles_.mc, columns = chunked_ ? tiles_.nb : tiles_.nr;
    Expr at = (row - (chunked_ ? m_begin_ : from)) * columns + j;
    if (chunked_) at = at + strip.number * tiles_.nr;
    return parts_ ? at + part * (rows * columns) : at;
  }
  // Where a tile's sum is kept.
  Expr kept_in_tile(Expr from, Expr row0, const Strip& strip, Expr i, Expr j) const {
    if (chunked_ || parts_) return kept_sum(strip, strip.part, from, row0 + i, j);
    return i * (rows_fill_vectors() ? n_.constant() : tiles_.nr) + j;
  }
  // Whether rows of few columns are finished several to a vector. So they are kept one behind the other: what
  // a row's vector has behind its last column the next row's overwrites.
  bool rows_fill_vectors() const {
    const auto n = constant_of(n_);
    return long_epilogue_ && !chunked_ && !parts_ && !swapped_ && n && *n > 0 && *n < lanes_of_register() &&
           lanes_of_register() % *n == 0;
  }

  // Finished sums.
  GroupEmitter::Index index_of(Expr row, Expr column);  // of the product's element
  void store_row(Expr row, Expr column, Expr sum) {
    store_sum(emit_, dot_->result(), index_of(row, column), sum);
  }
  // What is computed of each part's element, then what is computed of those, stored.
  void store_parts(Expr row, Expr first, const std::function<Expr(Expr part)>& sum);

  // Operands in an order of their own. (dot_packing.cpp)
  // B in strips of nr columns, all of k, zeros behind the last column, in the type it is stored in: written
  // once, when the program is made, or at the start of each call.
  void emit_packing();
  // Copies need no masked group, whose stores are slow: what is left over goes one by one.
  void whole_then_single(Expr count, int lanes, const std::function<void(Expr)>& body);
  Expr offset_of(const Strip& strip) const { return strip.kept * (tiles_.kc * tiles_.nr); }  // in packed B
  void pack_b(Expr k_begin, Expr k_end);
  // Columns of B that lies across, into a strip.
  void turn_strip(loop::Builder& build, const loop::Builder::Matrix& to, const loop::Builder::Matrix& from,
                  Expr columns, Expr rows) const;
  void pack_a(Expr from, Expr to, Expr k_begin, Expr k_end);  // rows [from, to), kc elements each
  // The part of each run of folded elements that lies in [k_begin, k_end): where it begins in the operand,
  // behind its rows' or columns' own place, and in the chunk; and how long it is.
  void each_run(const DotSide::Runs& runs, Expr k_begin, Expr k_end,
                const std::function<void(Expr source, Expr at, Expr count)>& body);
  void pack_runs(Expr from, Expr to, Expr k_begin, Expr k_end);

  // Few rows or columns. (dot_few_rows.cpp)
  // One column: the product turned over has one row, whose columns fill vectors. A few columns, which would
  // leave half of each vector empty, are turned over where the sums are long: they share what it takes to
  // turn A's squares.
  bool pays_turned_over() const;
  // Whether both operands lie with what they are summed over slowest, as in a gradient by weights, the sums
  // are long, and few rows read B: then nothing is packed, which would not repay it, and both are read as
  // they lie.
  bool goes_unpacked(const Dim& rows) const;
  // Whether squares of the side, which lies across, can be turned over in registers.
  bool has_squares(const DotSide& side) const {
    return !side.rows_lie() && side.columns_lie() && side.value->type().dtype == type_ &&
           storage_of(side) == type_;
  }
  // Few rows of A and B that lies across: squares of B are turned over in registers, and go from there to the
  // sums of each row.
  bool turns_in_registers() const;
  void sum_in_registers(RegisterTile& sums, int64_t height, const Strip& strip, Expr j);
  // Few rows: row after row of B, several at a time, times elements of A, onto running rows; of a few
  // elements of A, sums in registers. B's columns may lie across where they are too short for squares: the
  // same element of neighbouring ones is shuffled out of what lies side by side.
  bool goes_thin() const;
  void thin();

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* dot_;
  DotSide a_, b_;
  Dim m_, n_, k_, batch_;
  DType type_;
  std::optional<ops::ProductParts> parts_;  // n_ is the columns of one
  DotTiles tiles_;
  bool prepacked_ = false, packed_every_call_ = false;
  bool in_registers_ = false, unpacked_ = false;
  bool swapped_, direct_a_, direct_b_, turned_a_, turned_b_, thin_, chunked_, long_epilogue_, row_by_row_;
  bool fetches_next_ = false;
  int64_t a_step_ = 0;  // from a row of packed A to the next
  uint32_t scratch_a_ = 0, scratch_b_ = 0, scratch_c_ = 0;
  Expr batch_index_, m_begin_, n_begin_, m_end_, n_end_, a_first_, b_first_;
};

}  // namespace ig::codegen
