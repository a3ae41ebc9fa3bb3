// Operands and tiles of matrix products.
#include "codegen/dot_operands.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "codegen/register_tile.h"

namespace ig::codegen {

using loop::Expr;

DotSide::DotSide(Value v, Ints batch_axes, Ints folded_axes)
    : value(v), batch(std::move(batch_axes)), folded(std::move(folded_axes)) {
  const Dims& dims = v->type().dims;
  auto among = [](const Ints& axes, int64_t a) {
    return std::find(axes.begin(), axes.end(), a) != axes.end();
  };
  for (int64_t a : batch) batch_dims.push_back(dims[static_cast<size_t>(a)]);
  for (int64_t a : folded) folded_dims.push_back(dims[static_cast<size_t>(a)]);
  for (int64_t a = 0; a < static_cast<int64_t>(dims.size()); ++a)
    if (!among(batch, a) && !among(folded, a)) {
      free.push_back(a);
      free_dims.push_back(dims[static_cast<size_t>(a)]);
    }
  view = ops::strided_view(v);
  if (view) {
    std::optional<Dim> along_free = view->run_stride(free, dims),
                       along_folded = view->run_stride(folded, dims);
    if (along_free && along_folded) {
      free_stride = *along_free, folded_stride = *along_folded;
      return;
    }
    view.reset();
  }
  std::optional<ops::PiecedView> pieced = ops::pieced_view(v);
  if (!pieced) return;
  auto pieces_of = [&](const Ints& axes) {
    ops::Pieces out;
    for (int64_t a : axes)
      for (const ops::Piece& piece : pieced->axes[static_cast<size_t>(a)])
        if (piece.size != Dim(int64_t{1})) out.push_back(piece);
    return out;
  };
  runs = {pieced->arg, pieced->offset, pieces_of(batch), pieces_of(free), pieces_of(folded)};
}

Expr offset_in(GroupEmitter& emit, const ops::Pieces& pieces, Expr flat) {
  Dims sizes;
  for (const ops::Piece& piece : pieces) sizes.push_back(piece.size);
  Expr out = emit.build.index(0);
  GroupEmitter::Index part = emit.split(flat, sizes);
  for (size_t i = 0; i < pieces.size(); ++i) out = out + part[i] * emit.size(pieces[i].stride);
  return out;
}

Expr DotSide::at(GroupEmitter& emit, Expr batch_flat, Expr free_flat, Expr folded_flat) const {
  GroupEmitter::Index index(value->type().dims.size());
  auto put = [&](const Ints& axes, const Dims& dims, Expr flat) {
    GroupEmitter::Index part = emit.split(flat, dims);
    for (size_t i = 0; i < axes.size(); ++i) index[static_cast<size_t>(axes[i])] = part[i];
  };
  put(batch, batch_dims, batch_flat);
  put(free, free_dims, free_flat);
  put(folded, folded_dims, folded_flat);
  return emit.element(value, index);
}

Expr DotSide::batch_offset(GroupEmitter& emit, Expr batch_flat) const {
  if (runs) return emit.size(runs->offset) + offset_in(emit, runs->batch, batch_flat);
  Expr out = emit.size(view->offset);
  GroupEmitter::Index part = emit.split(batch_flat, batch_dims);
  for (size_t i = 0; i < batch.size(); ++i)
    out = out + part[i] * emit.size(view->strides[static_cast<size_t>(batch[i])]);
  return out;
}

Expr DotSide::offset(GroupEmitter& emit, Expr from, Expr free_flat, Expr folded_flat) const {
  return from + free_flat * emit.size(free_stride) + folded_flat * emit.size(folded_stride);
}

namespace {

int64_t ceil_to(int64_t x, int64_t step) { return (x + step - 1) / step * step; }
// The largest tile of at most `most` that cuts `whole` evenly into multiples of `step`.
int64_t even_tile(int64_t whole, int64_t most, int64_t step) {
  return ceil_to(ceil_over(whole, ceil_over(whole, std::max(most, step))), step);
}

// Rows of the register tile. A tile needs about eight running vectors to hide the latency of fused
// multiply-adds, and more rows share each load of B. What is left behind the last tall tile has one of its
// own height, which is code of its own too.
int64_t choose_rows(const std::optional<int64_t>& m, int64_t most, int64_t vectors) {
  if (!m) return most;
  if (*m <= most) return *m;
  const int64_t low = low_tile(most, vectors);
  int64_t best = most, least = std::numeric_limits<int64_t>::max();
  for (int64_t rows = most; rows >= low; --rows) {
    const int64_t left = *m % rows;
    const int64_t steps = *m - left + (left == 0 ? 0 : std::max(left, low));
    const int64_t cost = 2 * steps + ceil_over(*m, rows) + (left == 0 ? 0 : 1);
    if (cost < least) least = cost, best = rows;
  }
  return best;
}

// How many blocks the columns and the rows of a product are cut into whose sizes nobody knows yet. Each packs
// its parts of A and B, so they are as large as leaves some for several threads. The formulas are short, as
// they are worked out in each call.
constexpr int64_t kMostRows = 192, kMostColumns = 256, kMostPackedColumns = 1024;
Dim blocks_of_columns(const Dim& n) {
  return max(ceildiv(n, Dim(kMostColumns)), min(ceildiv(n, Dim(int64_t{64})), Dim(int64_t{4})));
}
Dim blocks_of_rows(const Dim& m, const Dim& n, int64_t most) {
  const Dim of_few_columns = min(floordiv(m, max(n, Dim(int64_t{48}))), Dim(int64_t{4}));
  return max(ceildiv(m, Dim(most)), of_few_columns);
}
// Where B is packed before, a block packs rows of A alone: all columns belong to it, but where rows are so
// few that threads would wait for each other.
Dim blocks_of_packed_columns(const Dim& m, const Dim& n) {
  const Dim of_few_rows = min(floordiv(Dim(int64_t{3072}), max(m, Dim(int64_t{1}))), Dim(int64_t{2}));
  return max(ceildiv(n, Dim(kMostPackedColumns)), min(ceildiv(n, Dim(int64_t{128})), of_few_rows));
}

}  // namespace

// The block's part of B (kc x nb) is read once for each mc rows of A, in strips that stay in the first cache
// (kc x nr); the packed rows of A (mc x kc) stay in the second one.
DotTiles choose_tiles(const DotShape& shape, const Target& target) {
  // Nothing at all is cut like one row or column.
  auto size = [](const Dim& dim) {
    auto known = constant_of(dim);
    return known ? std::optional(std::max<int64_t>(1, *known)) : known;
  };
  auto m = size(shape.m), n = size(shape.n), k = size(shape.k);
  int64_t lanes = target.vector_bytes / shape.element_bytes;
  DotTiles t{};
  t.groups = 1;
  bool wide = target.registers == 32;
  t.nr = 2 * lanes;
  if (m && *m == 1)
    t.nr = 8 * lanes;
  else if (m && *m <= 3)
    t.nr = 4 * lanes;
  // A square's columns go to each row in turn, and two squares keep two units busy. Where their lines share
  // few places in the cache, sixteen columns are enough, or one square with sums for several rows.
  if (shape.in_registers) {
    lanes = std::min(lanes, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(k.value_or(lanes)))));
    t.whole_lines = !rows_stay(2 * lanes, shape.b_apart);
    t.nr = 2 * lanes;
    if (t.whole_lines)
      t.nr = m && *m > 1 ? lanes : std::max<int64_t>(lanes, std::min<int64_t>(2 * lanes, 16));
  }
  while (n && t.nr > lanes && t.nr / 2 >= *n) t.nr /= 2;
  if (shape.in_registers) {
    t.step = lanes;
    // Of what one row's sums load, A's elements are a third, as each group loads them. Where a square reads
    // less than a line at a time anyway, it may as well read 128 bits of each column, whose elements of A
    // stay in registers for all groups. Then a third group pays, if little of it is for nothing at the right
    // edge. What comes from farther away is faster the more of a line is read at once.
    const int64_t part = 16 / shape.element_bytes, third = 3 * lanes;
    const bool less_than_line = lanes * shape.element_bytes < 64;
    if (m && *m == 1 && t.nr == 2 * lanes && lanes >= part && less_than_line && !t.whole_lines &&
        !shape.far) {
      t.step = part;
      if (rows_stay(third, shape.b_apart) && (!n || ceil_to(*n, third) * 20 <= ceil_to(*n, t.nr) * 21))
        t.nr = third;
    }
  }
  int64_t vectors = t.nr / lanes;
  if (shape.in_registers) t.groups = vectors;
  int64_t most = wide ? (vectors == 1 ? 14 : 12) : (vectors == 1 ? 10 : 6);
  // Rows that meet in one set of the cache are no more than it holds; eight sums hide the latency too.
  if (vectors == 1 && shape.a_apart != 0 && !rows_stay(most, shape.a_apart)) most = 8;
  t.mr = choose_rows(m, vectors > 2 ? std::max<int64_t>(1, (wide ? 24 : 12) / vectors) : most, vectors);

  // Four rows of two registers are no more sums than it takes to hide the latency; a third gives them room.
  // With 32 registers there is room for it beside up to eight rows: a load of an element of A then serves
  // three multiply-adds, and the processor has loads to spare for what comes from farther away. What it adds
  // at the right edge is work for nothing.
  const int64_t third = 3 * lanes;
  const bool room = wide ? t.mr >= 4 && t.mr <= 8 : t.mr == 4;
  if (shape.packed_b && room && vectors == 2 && n && ceil_to(*n, third) * 50 <= *n * 51)
    t.nr = third, t.groups = 3;

  // Chunks of k interrupt the sums: they go to memory and come back, which takes 3 to 6 % of the time. So a
  // chunk is as long as lets the rows of A that are used again and again (96 of them) fill three quarters of
  // the second cache: a mebibyte where there are 32 registers, half of one otherwise. The first cache holds
  // no more than what is read at a time, as strips are read in order. B that is packed by the block, in parts
  // that many columns wide, has to fit beside A.
  int64_t longest = 384;
  if (shape.turned_b && m && *m <= kFewRows)
    longest = 128;
  else if (shape.packed_b)
    longest = (wide ? 8192 : 4096) / shape.element_bytes;
  else if (shape.unpacked)
    longest = 256;
  else if (k && wide)
    longest = 768;
  t.kc = k.value_or(longest);
  if (t.kc > longest + longest / 3) t.kc = even_tile(*k, longest, 8);

  // B in strips is read as it lies: blocks of rows, and of columns only to have work for several threads.
  // Many rows are cut into so many blocks that all threads end at nearly the same time; three blocks would
  // keep one of two threads waiting.
  const bool many_rows = shape.packed_b && m && *m > 384;
  int64_t share = many_rows ? std::clamp<int64_t>(*m / 8, 48, 96) : 96;
  if (shape.packed_b && m && ceil_over(*m, share) == 3) share = ceil_over(*m, 4);
  t.mc = even_tile(m.value_or(96), share, t.mr);
  if (shape.packed_b && shape.many_rows) {
    t.mb = t.mc, t.nb = even_tile(n.value_or(kMostPackedColumns), kMostPackedColumns, t.nr);
    t.row_blocks = ceildiv(shape.m, Dim(4 * t.mb)) * Dim(int64_t{4});  // as many for each of a few threads
    t.column_blocks = blocks_of_packed_columns(shape.m, shape.n);
    return t;
  }
  if (shape.packed_b) {
    t.mb = t.mc;
    // A power of two of blocks side by side, of as many strips each or one more.
    const int64_t columns = n.value_or(1024), strips = ceil_over(columns, t.nr);
    const int64_t enough = work_of_grain(target, shape.element_bytes);
    const int64_t blocks = m ? ceil_over(*m, t.mb) : 1;
    int64_t count = 1;
    t.nb = columns;
    while (blocks * (n ? count : 1) < (many_rows ? 16 : 8) && t.nb > t.nr && t.nb * shape.parts > 4 * t.nr &&
           t.mb * t.nb * shape.parts * k.value_or(384) > 2 * enough)
      count *= 2, t.nb = ceil_over(columns, count);
    count = std::min(count, strips);
    t.nb = ceil_over(strips, count) * t.nr;
    t.row_blocks = ceildiv(shape.m, Dim(t.mb));
    t.column_blocks = n ? Dim(count) : ceildiv(shape.n, Dim(t.nb));
    return t;
  }
  const int64_t few = m && *m <= kFewRows ? 64 : 512;
  t.mb = even_tile(m.value_or(192), 384, t.mr);
  t.nb = even_tile(n.value_or(256), few, t.nr);
  // Several blocks where there is work for several threads; each packs its parts of A and B for itself.
  auto enough = [&] {
    int64_t blocks = ceil_over(m.value_or(t.mb), t.mb) * ceil_over(n.value_or(t.nb), t.nb);
    int64_t work = t.mb * t.nb * shape.parts * k.value_or(t.kc);
    // What is read as it lies is read in short pieces by narrow blocks.
    if (shape.unpacked && blocks >= (t.nb >= 8 * t.nr ? 4 : 2)) return true;
    return blocks >= 8 || work <= (blocks >= 4 ? 32'000'000 : blocks >= 2 ? 8'000'000 : 1'000'000);
  };
  // Where A is read as it lies, blocks of a few columns of all rows pack nothing twice, and what a thread
  // packed stays with it. Else they are as broad as high; little of B is read as it lies, and packed by no
  // block.
  const bool in_place = m && rows_stay(t.mr, shape.a_apart);
  const bool blocks_are_small = n && k && *n * shape.parts * *k * shape.element_bytes <= 64 << 10;
  while (!enough()) {
    if (shape.unpacked ? t.nb >= 2 * t.nr
        : in_place     ? t.nb >= 4 * t.nr
                       : t.nb >= t.mb && t.nb >= (blocks_are_small ? 4 : 8) * t.nr)
      t.nb = even_tile(n.value_or(t.nb), t.nb / 2, t.nr);
    else if (t.mb >= 8 * t.mr)
      t.mb = even_tile(m.value_or(t.mb), t.mb / 2, t.mr);
    else
      break;
  }
  // A block's part of B may fill half of the second cache where no rows of A wait there.
  if (in_place && k && wide) {
    const int64_t room = (512 << 10) / (t.nb * shape.parts * shape.element_bytes);
    longest = std::clamp(room, longest, int64_t{8192} / shape.element_bytes);
    t.kc = *k > longest + longest / 3 ? even_tile(*k, longest, 8) : *k;
  }
  if (!m) t.mb = kMostRows / t.mr * t.mr;
  t.row_blocks = m ? ceildiv(shape.m, Dim(t.mb)) : blocks_of_rows(shape.m, shape.n, t.mb);
  const bool shares_columns = !n && few > 64;
  if (shares_columns) t.nb = ceil_to(kMostColumns, t.nr);
  t.column_blocks = shares_columns ? blocks_of_columns(shape.n) : ceildiv(shape.n, Dim(t.nb));
  t.mc = even_tile(t.mb, 96, t.mr);
  return t;
}

}  // namespace ig::codegen
