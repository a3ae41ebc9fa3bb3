// Matrix products. A kernel computes, for each batch, C[m, n] = sum over k of A[m, k] * B[k, n], then the
// element-wise work that was fused behind it, and stores.
//
//   block (batch, mb rows, nb columns)
//     for each chunk of kc of k
//       pack B into strips of nr columns: [strip][k][nr]     (unless it comes packed, or is small)
//       for each mc rows
//         pack A: [row][k]                                   (unless it can be read in place)
//         for each strip of B, for each mr rows: mr x nr running sums in registers, one fma chain over k
//
// Where there are few rows and B's columns lie side by side, nothing is packed: rows of B are added, times an
// element of A, to running rows in the first cache, several at a time. Where there are few rows and B lies
// across, squares of it are turned over in registers and go from there into the sums.
//
// A product that is read in parts (ops::ProductParts) is walked by the columns of a part: the sums of a strip
// of each part wait in scratch, and are read there together. Packed B has the parts' strips side by side.
//
// Order of summation: for each output one chain of fma over k, ascending, from +0; tiles and chunks only
// interrupt the chain (the running value is stored and loaded), so no result depends on sizes of tiles,
// number of rows, or the host.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "codegen/dot_lowering.h"

namespace ig::codegen {
namespace {

// So many rows that to pack a constant B in each call costs next to nothing beside the product (each of its
// elements is used once a row): the weights are then held once. A larger B is packed block by block instead.
constexpr int64_t kManyRows = 512;
// So many rows are several blocks, each of which would pack a B that changes for itself; where A is
// read in place, blocks of columns have all rows, up to so many.
constexpr int64_t kSeveralBlocks = 192, kSeveralInPlace = 300;
// A block of so few columns does not repay the packing of its rows.
constexpr int64_t kFewColumns = 128;
constexpr int64_t kLargestPackedInCall = int64_t{64} << 20;  // bytes

}  // namespace

using loop::Expr;

DotLowering::DotLowering(GroupEmitter& emit, Kernel& kernel, Node* dot,
                         const std::vector<bool>& constant_operands)
    : emit_(emit),
      kernel_(kernel),
      build_(emit.build),
      dot_(dot),
      a_(dot->operand(0), dot->attrs().get(ops::kLhsBatch), dot->attrs().get(ops::kLhsContract)),
      b_(dot->operand(1), dot->attrs().get(ops::kRhsBatch), dot->attrs().get(ops::kRhsContract)) {
  DType result = dot->result()->type().dtype;
  type_ = is_float(result) ? ops::accumulating_type(result, dot->attrs().get(ops::kAccumulate)) : result;
  batch_ = product(a_.batch_dims);
  swapped_ = !ops::parts_of_product(dot) && pays_turned_over();
  if (swapped_) std::swap(a_, b_);
  m_ = product(a_.free_dims), n_ = product(b_.free_dims), k_ = product(a_.folded_dims);
  auto m = constant_of(m_), n = constant_of(n_), k = constant_of(k_);
  if (n) parts_ = ops::parts_of_product(dot);
  if (parts_) n_ = parts_->width;
  constexpr int64_t kFirstCache = 24 * 1024;
  const int64_t most = kFirstCache / static_cast<int64_t>(size_of(type_));
  const bool small_b = k && n && *k <= most && *n <= most && *k * *n <= most;
  const bool may_come_packed =
      b_.view && b_.batch.empty() && b_.view->offset == Dim(int64_t{0}) && b_.view->arg->uses().size() == 1;
  if (emit.many_rows) {
    prepacked_ = packed_every_call_ = true;
  } else if (n && k && may_come_packed) {
    const bool constant_b = constant_operands[b_.view->arg->index()];
    const int64_t bytes = *n * *k * static_cast<int64_t>(size_of(storage_of(b_)));
    prepacked_ = constant_b;
    const int64_t several =
        *n > kFewColumns && rows_stay(tallest(), apart(a_)) ? kSeveralInPlace : kSeveralBlocks;
    if (m && *m >= (constant_b ? kManyRows : several))
      prepacked_ = packed_every_call_ =
          bytes <= kLargestPackedInCall && (constant_b || (!small_b && storage_of(b_) == type_));
  }
  in_registers_ = turns_in_registers();
  unpacked_ = n && !prepacked_ && !in_registers_ && goes_unpacked(m_);
  tiles_ = choose_tiles({m_, n_, k_, parts(), static_cast<int>(size_of(type_)), prepacked_, emit.many_rows,
                         !b_.rows_lie(), in_registers_, unpacked_, apart(a_), apart(b_), emit.traffic.far},
                        emit.target);
  direct_b_ = unpacked_ || (!prepacked_ && b_.rows_lie() && n && (small_b || *n <= tiles_.nr));
  thin_ = goes_thin();
  turned_b_ = !prepacked_ && b_.columns_lie() && b_.value->type().dtype == storage_of(b_);
  turned_a_ = a_.rows_lie() && !a_.columns_lie() && storage_of(a_) == type_;
  direct_a_ = a_.view &&
              (unpacked_ || (m && *m <= 2 * tiles_.mr) || (n && *n <= 64) || small_b ||
               (prepacked_ && tiles_.nb <= kFewColumns && apart(a_) != 0) || rows_stay(tiles_.mr, apart(a_)));
  // Rows of packed A lie an odd number of cache lines apart, so that those of a tile meet in no set.
  const int64_t line = 64 / static_cast<int64_t>(size_of(type_));
  a_step_ = (ceil_over(tiles_.kc, line) | 1) * line;
  chunked_ = !in_registers_ && (!k || *k > tiles_.kc);
  long_epilogue_ = emit.region.size() > 5 || has_long_work_behind(emit.region);
  row_by_row_ = goes_row_by_row();
  if (emit.traffic.may_go_twice && may_come_packed) ask_for_many_rows();
}

void DotLowering::ask_for_many_rows() {
  const bool lies = b_.rows_lie() || b_.columns_lie();
  if (m_.is_constant() || !lies || storage_of(b_) != type_ || swapped_) return;
  if (!emit_.many_rows && !packs_b()) return;
  const int64_t most = kLargestPackedInCall / static_cast<int64_t>(size_of(type_));
  const Dim several = floordiv(m_, Dim(ops::kManyRows)),
            small = floordiv(Dim(most), max(n_ * k_ * Dim(parts()), kOne));
  const Dim many = min(min(several, small), kOne);
  const Range known = emit_.fusion->graph().dims.bounds(many);
  if (known.high == 1) emit_.wants_many_rows = known.low == 1 ? kOne : many;
}

bool DotLowering::goes_row_by_row() const {
  constexpr int64_t kSpare = 8, kMostSteps = 160;  // registers for sums; multiply-adds that are written out
  const auto m = constant_of(m_), n = constant_of(n_), k = constant_of(k_);
  if (!m || !n || !k || *k == 0 || !direct_a_ || !direct_b_ || in_registers_ || by_rows() || *n > tiles_.nr ||
      tiles_.groups > 1)
    return false;
  const int64_t of_row = ceil_over(*n, lanes_of_register());
  return *k * of_row <= emit_.target.registers - kSpare && *m * *k * of_row <= kMostSteps;
}

void DotLowering::run() {
  if (thin_) {  // the running rows, and the rows of B that are added to them, stay in the first cache
    const int64_t m = *constant_of(m_), most = (m > 4 ? 512 : 1024) / parts(), line = 64;
    const int64_t n = constant_of(n_).value_or(most), k = constant_of(k_).value_or(1);
    tiles_.nb = std::min(most, n);
    // Halves where both are work for a thread.
    const int64_t enough = work_of_grain(emit_.target, static_cast<int>(size_of(type_)));
    if (tiles_.nb == n && n >= 2 * line && m * n * parts() * k >= 2 * enough)
      tiles_.nb = ceil_over(n, 2 * line) * line;
    tiles_.row_blocks = kOne, tiles_.column_blocks = ceildiv(n_, Dim(tiles_.nb));
  }
  kernel_.blocks = batch_ * tiles_.row_blocks * tiles_.column_blocks;
  const Dim terms = max(k_, kOne);
  if ((m_ * n_ * terms).is_constant()) {
    const int64_t rows = thin_ ? constant_of(m_).value_or(1) : tiles_.mb;
    set_grain(kernel_, emit_.target, type_, rows * tiles_.nb * parts() * constant_of(terms).value_or(1));
  } else {
    kernel_.grains = floordiv(batch_ * m_ * n_ * terms * Dim(parts()),
                              Dim(work_of_grain(emit_.target, static_cast<int>(size_of(type_)))));
  }
  if (prepacked_) emit_packing();
  fetches_next_ = prepacked_ && tiles_of_strip() > (emit_.target.one_tile_asks ? 0 : 1) && b_.view;

  Expr columns = emit_.size(tiles_.column_blocks), rows = emit_.size(tiles_.row_blocks);
  Expr block = build_.block();
  Expr nb = block % columns, rest = block / columns;
  batch_index_ = build_.let(rest / rows);
  // Blocks of known size; or of known sizes, as many tiles in each as in the others or one more; or equal
  // shares in whole tiles, of which the last ones may be empty.
  auto block_of = [&](const Dim& all, Expr number, Expr blocks, const Dim& count, int64_t known,
                      int64_t step) -> std::pair<Expr, Expr> {
    const Dim tiles = ceildiv(all, Dim(step));
    Expr size = build_.index(known), last = emit_.size(all);
    if (all.is_constant() && count.is_constant() && count.constant() > 1 &&
        tiles.constant() % count.constant() != 0) {
      auto tiles_before = [&](Expr n) { return n * build_.index(tiles.constant()) / blocks; };
      Expr next = build_.let(tiles_before(number + build_.index(1)) * build_.index(step));
      return {build_.let(tiles_before(number) * build_.index(step)), build_.let(loop::lesser(next, last))};
    }
    const bool known_size = count == ceildiv(all, Dim(known));
    if (!known_size) {
      Expr steps = blocks * build_.index(step);
      size = build_.let((last + (steps - build_.index(1))) / steps * build_.index(step));
    }
    Expr begin = build_.let(known_size ? number * size : loop::lesser(number * size, last));
    return {begin, build_.let(loop::lesser(begin + size, last))};
  };
  std::tie(n_begin_, n_end_) = block_of(n_, nb, columns, tiles_.column_blocks, tiles_.nb, tiles_.nr);
  if (a_.view || a_.runs) a_first_ = build_.let(a_.batch_offset(emit_, batch_index_));
  if (b_.view || b_.runs) b_first_ = build_.let(b_.batch_offset(emit_, batch_index_));
  if (thin_) return thin();
  std::tie(m_begin_, m_end_) = block_of(m_, rest % rows, rows, tiles_.row_blocks, tiles_.mb, tiles_.mr);
  ask_for_a();

  if (!direct_a_) scratch_a_ = build_.add_scratch(type_, Dim(tiles_.mc * a_step_), "a");
  if (packs_b())
    scratch_b_ =
        build_.add_scratch(turned_b_ ? storage_of(b_) : type_, Dim(parts() * tiles_.nb * tiles_.kc), "b");
  if (chunked_)
    scratch_c_ = build_.add_scratch(type_, Dim(parts() * tiles_.mb * tiles_.nb), "c");
  else if (parts_)
    scratch_c_ = build_.add_scratch(type_, Dim(parts() * tiles_.mc * tiles_.nr), "c");
  else if (long_epilogue_)
    scratch_c_ = build_.add_scratch(type_, Dim(tiles_.mr * tiles_.nr), "c");

  if (!chunked_) return chunk(build_.index(0), emit_.size(k_), {}, {});
  // An empty sum still writes its results, so there is always one chunk.
  Expr chunks = build_.let(loop::greater(
      (emit_.size(k_) + build_.index(tiles_.kc - 1)) / build_.index(tiles_.kc), build_.index(1)));
  Expr longest = build_.index(tiles_.kc);
  if (!k_.is_constant()) {  // about equally long, as those of a known sum are
    constexpr int64_t kStep = 8;
    Expr share = (emit_.size(k_) + (chunks - build_.index(1))) / chunks;
    longest = build_.let((share + build_.index(kStep - 1)) / build_.index(kStep) * build_.index(kStep));
  }
  emit_.serial(build_.index(0), chunks, [&](Expr c) {
    Expr begin = build_.let(c * longest);
    Expr end = build_.let(loop::lesser(begin + longest, emit_.size(k_)));
    chunk(begin, end, c > build_.index(0), c == chunks - build_.index(1));
  });
}

int64_t DotLowering::tiles_of_strip() const {
  constexpr int64_t kMost = 16, kLargeWeights = 256 * 1024;
  const Dim weights = n_ * k_ * Dim(parts());  // where their number is not known, it is large
  const int64_t rows = std::min(constant_of(m_).value_or(tiles_.mc), tiles_.mc);
  if (constant_of(weights).value_or(kLargeWeights) * static_cast<int64_t>(size_of(type_)) < kLargeWeights)
    return 0;
  if (rows < emit_.target.rows_to_ask_ahead) return 0;
  const int64_t tiles = ceil_over(rows, tiles_.mr);
  return tiles <= kMost ? tiles : 0;
}

// Elements of the next strip that a tile of so many rows asks for, for each k, and that a tile of all rows
// does: a share of the rows' work. Half a line for each k is a line for two.
std::pair<int64_t, int64_t> DotLowering::asked_for_each_k(int64_t height, int64_t line) const {
  const int64_t tiles = std::max<int64_t>(1, tiles_of_strip());
  const int64_t rows = std::min(constant_of(m_).value_or(tiles_.mc), tiles_.mc);
  const int64_t last = rows - (tiles - 1) * tiles_.mr;
  if (tiles == 1 || last <= 0 || last == tiles_.mr)
    return {ceil_over(tiles_.nr, tiles), ceil_over(tiles_.nr, tiles)};
  const int64_t half = std::max<int64_t>(1, line / 2);
  const int64_t whole =
      std::min(ceil_over(tiles_.nr * tiles_.mr, rows * half) * half, tiles_.nr / (tiles - 1));
  return {height < tiles_.mr ? tiles_.nr - (tiles - 1) * whole : whole, whole};
}

void DotLowering::strips(const StripBody& body) {
  Expr nr = build_.index(tiles_.nr);
  Expr columns = n_end_ - n_begin_;
  Expr full = build_.let(columns / nr);
  emit_.serial(build_.index(0), full, [&](Expr s) { body(strip_of(s, nr)); });
  if (!even_columns())
    build_.if_then(full * nr < columns, [&] { emit_.scoped([&] { body(strip_of(full, {})); }); });
}

void DotLowering::each_part(Strip strip, const StripBody& body) {
  if (!parts_) return body(strip);
  emit_.serial(build_.index(0), build_.index(parts()), [&](Expr part) {
    strip.part = part;
    strip.column = build_.let(strip.first + part * build_.index(parts_->width));
    strip.packed = build_.let(strip.first * build_.index(parts()) + part * build_.index(tiles_.nr));
    strip.kept = build_.let(part * build_.index(tiles_.nb / tiles_.nr) + strip.number);
    body(strip);
  });
}

void DotLowering::strips_of_parts(const StripBody& body) {
  strips([&](const Strip& strip) { each_part(strip, body); });
}

void DotLowering::chunk(Expr k_begin, Expr k_end, Expr resumes, Expr is_last) {
  if (packs_b()) pack_b(k_begin, k_end);
  auto rows_of = [&](Expr from, Expr to) {
    if (!direct_a_) pack_a(from, to, k_begin, k_end);
    auto row_of_tiles = [&](const Strip& whole) {
      each_part(whole, [&](const Strip& strip) {
        auto sums = [&](int64_t height, Expr row) {
          tile(height, from, row, to, strip, k_begin, k_end, resumes);
        };
        if (!by_rows() || parts_)
          return each_tile(emit_, tiles_of(to - from),
                           [&](int64_t height, Expr row) { sums(height, build_.let(from + row)); });
        each_tile(emit_, tiles_of(to - from), [&](Expr height, Expr first, const ByHeight& by_height) {
          Expr row = build_.let(from + first);
          by_height([&](int64_t rows) { sums(rows, row); });
          auto finish = [&] { finish_rows(height, from, row, to, strip); };
          if (chunked_)
            build_.if_then(is_last, finish);
          else
            finish();
        });
      });
      if (!parts_) return;
      auto finish = [&] { finish_parts(from, to, whole); };
      if (chunked_)
        build_.if_then(is_last, finish);
      else
        finish();
    };
    if (direct_b_ || in_registers_ || even_columns()) return strips(row_of_tiles);
    // A single strip is as wide as the product.
    if (n_.is_constant() && n_.constant() <= tiles_.nr)
      return emit_.scoped([&] { row_of_tiles(strip_of(build_.index(0), build_.index(n_.constant()))); });
    // One copy of the inner loop serves the last strip too.
    Expr nr = build_.index(tiles_.nr);
    emit_.serial(build_.index(0), (n_end_ - n_begin_ + (nr - build_.index(1))) / nr,
                 [&](Expr s) { row_of_tiles(strip_of(s, loop::lesser(nr, n_end_ - n_begin_ - s * nr))); });
  };
  if (tiles_.mc >= tiles_.mb) return rows_of(m_begin_, m_end_);
  Expr mc = build_.index(tiles_.mc);
  emit_.serial(build_.index(0), (m_end_ - m_begin_ + (mc - build_.index(1))) / mc, [&](Expr i) {
    Expr from = build_.let(m_begin_ + i * mc);
    rows_of(from, build_.let(loop::lesser(from + mc, m_end_)));
  });
}

TileRows DotLowering::tiles_of(Expr count) {
  if (!m_.is_constant()) {
    const int64_t lanes = emit_.target.vector_bytes / static_cast<int64_t>(size_of(type_));
    return tile_rows(build_, tiles_.mr, low_tile(tiles_.mr, tiles_.nr / lanes), count);
  }
  IG_CHECK(tiles_.mb % tiles_.mr == 0 && tiles_.mc % tiles_.mr == 0,
           "a block of rows begins inside of a tile");
  Expr whole = build_.let(count / build_.index(tiles_.mr));
  const int64_t left = m_.constant() % tiles_.mr;
  if (left == 0) return {tiles_.mr, 0, whole, build_.index(0), 0};
  Expr some = whole * tiles_.mr < count;
  return {tiles_.mr, left, whole, loop::select(some, build_.index(1), build_.index(0)), 1};
}

void DotLowering::tile_row_by_row(int64_t height, Expr row0, const Strip& strip) {
  const int lanes = static_cast<int>(tiles_.nr);
  emit_.vector(build_.index(0), strip.width, lanes, [&](Expr j) {
    std::vector<Expr> b;
    for (int64_t k = 0; k < constant_of(k_); ++k)
      b.push_back(build_.let(load_b(build_.index(k), strip.column + j)));
    for (int64_t i = 0; i < height; ++i) {
      Expr row = build_.let(row0 + build_.index(i)), sum = zero_of(build_, type_);
      for (size_t k = 0; k < b.size(); ++k)
        sum = build_.let(multiply_add(load_a(row, build_.index(static_cast<int64_t>(k))), b[k], sum));
      emit_.scoped([&] { store_row(row, strip.first + j, sum); });
    }
  });
}

void DotLowering::tile(int64_t height, Expr from, Expr row0, Expr to, const Strip& strip, Expr k_begin,
                       Expr k_end, Expr resumes) {
  if (row_by_row_) return tile_row_by_row(height, row0, strip);
  const int lanes = static_cast<int>(tiles_.nr / tiles_.groups);
  const auto mr = static_cast<size_t>(height), groups = static_cast<size_t>(tiles_.groups);
  auto column = [&](size_t group, Expr j) { return j + build_.index(static_cast<int64_t>(group) * lanes); };
  const bool all_rows_exist = m_.is_constant();
  RegisterTile sums(build_, type_, height, lanes, tiles_.groups);
  std::vector<Expr> rows(mr);
  for (size_t i = 0; i < mr; ++i) {
    Expr row = row0 + build_.index(static_cast<int64_t>(i));
    // Rows behind the last one repeat it; they are not stored.
    rows[i] = build_.let(all_rows_exist ? row : loop::lesser(row, to - build_.index(1)));
  }
  // Packed strips have all their lanes; only B read in place must not be read behind its last column.
  Expr all = direct_b_ ? strip.width : build_.index(lanes);
  // The tiles of a strip share the work of asking for the next one: each asks for a piece that lies in one,
  // since the processor adds a line's neighbours by itself, so that who asked for every other line would
  // wait for all of them.
  const int64_t line = 64 / static_cast<int64_t>(size_of(storage_of(b_)));
  auto fetch_next = [&](Expr k, int64_t steps) {
    const auto [each, whole_tile] = asked_for_each_k(height, line);
    Expr number = (row0 - from) / build_.index(tiles_.mr);
    Expr piece = (strip.packed + tiles_.nr) * emit_.size(k_) + k_begin * tiles_.nr +
                 number * ((k_end - k_begin) * whole_tile);
    for (int64_t at = 0; at < steps * each; at += line)
      build_.prefetch(emit_.buffer_of_arg(b_.view->arg), piece + k * each + build_.index(at));
  };
  ask_for_results(height, row0, strip);
  ask_for_next_rows(height, row0);
  emit_.vector(build_.index(0), all, lanes, [&](Expr j) {
    sums.clear();
    auto kept = [&](size_t i, size_t g) {
      return kept_in_tile(from, row0, strip, build_.index(static_cast<int64_t>(i)), column(g, j));
    };
    if (chunked_)
      build_.if_then(resumes, [&] {
        sums.load([&](size_t i, size_t g) { return build_.load(scratch_c_, kept(i, g)); });
      });
    // k counts from the chunk's first.
    auto a_at = [&](size_t i, Expr k) {
      if (direct_a_) return load_a(rows[i], k_begin + k);
      return build_.load(scratch_a_, (rows[i] - from) * a_step_ + k);
    };
    auto b_at = [&](Expr k, size_t g) {
      if (prepacked_)
        return widen(build_.load(emit_.buffer_of_arg(b_.view->arg),
                                 strip.packed * emit_.size(k_) + (k_begin + k) * tiles_.nr + column(g, j)));
      if (direct_b_) return load_b(k_begin + k, strip.column + j);
      return widen(build_.load(scratch_b_, offset_of(strip) + k * tiles_.nr + j));
    };
    if (in_registers_)
      sum_in_registers(sums, height, strip, j);
    else
      sums.sum(emit_, build_.index(0), k_end - k_begin, a_at, b_at, 0,
               fetches_next_ ? fetch_next : std::function<void(Expr, int64_t)>());
    if (by_rows())
      for (size_t i = 0; i < mr; ++i)
        for (size_t g = 0; g < groups; ++g) build_.store(scratch_c_, kept(i, g), sums.value(i, g));
  });
  if (by_rows()) return;
  // How many columns of a group there are: fewer than it has, or none, at the right edge alone.
  auto width_of = [&](size_t group) {
    if (groups == 1) return strip.width;
    const int64_t before = static_cast<int64_t>(group) * lanes;
    if (strip.width->op == loop::Op::Const)
      return build_.index(std::clamp<int64_t>(static_cast<int64_t>(strip.width->bits[0]) - before, 0, lanes));
    Expr rest = strip.width - build_.index(before);
    return build_.let(loop::greater(loop::lesser(rest, build_.index(lanes)), build_.index(0)));
  };
  for (size_t g = 0; g < groups; ++g) {
    emit_.vector(build_.index(0), width_of(g), lanes, [&](Expr j) {
      for (size_t i = 0; i < mr; ++i) {
        auto one = [&] {
          emit_.scoped([&] { store_row(rows[i], strip.first + column(g, j), build_.let(sums.value(i, g))); });
        };
        if (all_rows_exist)
          one();
        else
          build_.if_then(row0 + build_.index(static_cast<int64_t>(i)) < to, one);
      }
    });
  }
}

void DotLowering::finish_rows(Expr height, Expr from, Expr row0, Expr to, const Strip& strip) {
  const int lanes = static_cast<int>(tiles_.nr / tiles_.groups);
  Expr count = m_.is_constant() ? height : loop::lesser(height, to - row0);
  if (rows_fill_vectors()) {
    Expr n = emit_.size(n_);
    return emit_.vector(build_.index(0), count * n, static_cast<int>(lanes_of_register()), [&](Expr at) {
      store_row(row0 + at / n, at % n, build_.let(build_.load(scratch_c_, at)));
    });
  }
  emit_.serial(build_.index(0), count, [&](Expr i) {
    Expr row = build_.let(row0 + i);
    emit_.vector(build_.index(0), strip.width, lanes, [&](Expr j) {
      store_row(row, strip.first + j,
                build_.let(build_.load(scratch_c_, kept_in_tile(from, row0, strip, i, j))));
    });
  });
}

void DotLowering::ask_for_results(int64_t height, Expr row0, const Strip& strip) {
  constexpr int64_t kLongSum = 1024;
  const auto width = constant_of(n_);
  // Results that are narrower than a line of the cache follow each other, which the processor foresees.
  const bool narrow = width && *width * static_cast<int64_t>(size_of(type_)) < kLineBytes;
  if (swapped_ || parts_ || narrow || constant_of(k_).value_or(0) > kLongSum) return;
  emit_.serial(build_.index(0), build_.index(height), [&](Expr i) {
    ask_for_stores(emit_, dot_->result(), index_of(row0 + i, strip.first), tiles_.nr);
  });
}

void DotLowering::ask_for_next_rows(int64_t height, Expr row0) {
  constexpr int64_t kAtHand = 512 << 10, kMost = 16 << 10;  // bytes: of A, and of the rows of a tile
  const auto m = constant_of(m_), k = constant_of(k_), n = constant_of(n_), batch = constant_of(batch_);
  if (!m || !k || !n || !batch || *n > tiles_.nr) return;
  if (!direct_a_ || in_registers_ || chunked_ || !a_.columns_lie()) return;
  const auto element = static_cast<int64_t>(size_of(storage_of(a_)));
  if (*batch * *m * *k * element <= kAtHand || height * *k * element > kMost) return;
  emit_.serial(build_.index(0), build_.index(height), [&](Expr i) {
    Expr row = build_.let(a_.offset(emit_, a_first_, row0 + i + height, build_.index(0)));
    emit_.serial(build_.index(0), build_.index(ceil_over(*k * element, kLineBytes)), [&](Expr l) {
      build_.prefetch(emit_.buffer_of_arg(a_.view->arg), row + l * (kLineBytes / element));
    });
  });
}

void DotLowering::finish_parts(Expr from, Expr to, const Strip& strip) {
  // A strip of three registers is walked in single ones.
  const int lanes = static_cast<int>(
      std::gcd(tiles_.nr, int64_t{natural_lanes(emit_.target, widest_element(emit_.region))}));
  emit_.serial(from, to, [&](Expr row) {
    emit_.vector(build_.index(0), strip.width, lanes, [&](Expr j) {
      store_parts(row, strip.first + j,
                  [&](Expr part) { return build_.load(scratch_c_, kept_sum(strip, part, from, row, j)); });
    });
  });
}

GroupEmitter::Index DotLowering::index_of(Expr row, Expr column) {
  GroupEmitter::Index index = emit_.split(batch_index_, a_.batch_dims);
  const DotSide &left = swapped_ ? b_ : a_, &right = swapped_ ? a_ : b_;
  for (Expr e : emit_.split(swapped_ ? column : row, left.free_dims)) index.push_back(e);
  for (Expr e : emit_.split(swapped_ ? row : column, right.free_dims)) index.push_back(e);
  return index;
}

void DotLowering::store_parts(Expr row, Expr first, const std::function<Expr(Expr part)>& sum) {
  GroupEmitter::Index index = emit_.split(batch_index_, a_.batch_dims);
  for (Expr e : emit_.split(row, a_.free_dims)) index.push_back(e);
  index.push_back(first);
  for (int64_t p = 0; p < parts(); ++p) {
    know_sum(emit_, dot_->result(), build_.let(sum(build_.index(p))));
    GroupEmitter::Index in_product = index;
    in_product.back() = build_.let(first + build_.index(p * parts_->width));
    for (const Node* slice : parts_->slices)
      if (parts_->part_of(slice) == p) {
        Expr value = build_.let(emit_.element(slice->operand(0), in_product));
        emit_.pin(slice->result(), [value](std::span<const Expr>) { return value; });
      }
  }
  std::vector<Expr> values;
  for (Value v : emit_.region.results()) values.push_back(build_.let(emit_.element(v, index)));
  Expr flat = emit_.flat(index, emit_.region.results()[0]->type().dims);
  for (size_t r = 0; r < values.size(); ++r) emit_.store_result(r, flat, values[r]);
}

void DotLowering::ask_for_a() {
  constexpr int64_t kMost = 16 << 10;  // bytes
  auto m = constant_of(m_), k = constant_of(k_);
  if (!direct_a_ || in_registers_ || !a_.columns_lie() || !m || !k || kernel_.blocks == kOne) return;
  const auto element = static_cast<int64_t>(size_of(storage_of(a_)));
  if (*m * *k * element > kMost) return;
  emit_.serial(m_begin_, m_end_, [&](Expr row) {
    for (int64_t at = 0; at < *k; at += 64 / element)
      build_.prefetch(emit_.buffer_of_arg(a_.view->arg), a_.offset(emit_, a_first_, row, build_.index(at)));
  });
}

void lower_dot(GroupEmitter& emit, Kernel& kernel, Node* dot, const std::vector<bool>& constant_operands) {
  DotLowering(emit, kernel, dot, constant_operands).run();
}

}  // namespace ig::codegen
