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
#include <map>
#include <numeric>

#include "codegen/dot_operands.h"
#include "codegen/register_tile.h"
#include "ops/contraction.h"

namespace ig::codegen {
namespace {

using loop::Expr;
const Dim kOne = Dim(int64_t{1});

// So many rows that to pack a constant B in each call costs next to nothing beside the product (each of its
// elements is used once a row): the weights are then held once. A larger B is packed block by block instead.
constexpr int64_t kManyRows = 512;
// So many rows are several blocks, each of which would pack a B that changes for itself; where A is
// read in place, blocks of columns have all rows, up to so many.
constexpr int64_t kSeveralBlocks = 192, kSeveralInPlace = 300;
// A block of so few columns does not repay the packing of its rows.
constexpr int64_t kFewColumns = 128;
// What comes from memory is asked for so many elements ahead.
constexpr int64_t kAhead = 128;
constexpr int64_t kLargestPackedInCall = int64_t{64} << 20;  // bytes

class DotLowering {
 public:
  DotLowering(GroupEmitter& emit, Kernel& kernel, Node* dot, const std::vector<bool>& constant_operands)
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
    if (n && k && b_.view && b_.batch.empty() && b_.view->offset == Dim(int64_t{0}) &&
        b_.view->arg->uses().size() == 1) {
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
    tiles_ = choose_tiles({m_, n_, k_, parts(), static_cast<int>(size_of(type_)), prepacked_, !b_.rows_lie(),
                           in_registers_, apart(a_), apart(b_)},
                          emit.target);
    direct_b_ = !prepacked_ && b_.rows_lie() && n && (small_b || *n <= tiles_.nr);
    thin_ = !prepacked_ && b_.rows_lie() && !direct_b_ && m && *m <= 8;
    turned_b_ = !prepacked_ && b_.columns_lie() && b_.value->type().dtype == storage_of(b_);
    turned_a_ = a_.rows_lie() && !a_.columns_lie() && storage_of(a_) == type_;
    direct_a_ = a_.view && ((m && *m <= 2 * tiles_.mr) || (n && *n <= 64) || small_b ||
                            (prepacked_ && tiles_.nb <= kFewColumns && apart(a_) != 0) ||
                            rows_stay(tiles_.mr, apart(a_)));
    // Rows of packed A lie an odd number of cache lines apart, so that those of a tile meet in no set.
    const int64_t line = 64 / static_cast<int64_t>(size_of(type_));
    a_step_ = (ceil_over(tiles_.kc, line) | 1) * line;
    chunked_ = !in_registers_ && (!k || *k > tiles_.kc);
    long_epilogue_ = emit.region.size() > 5 || has_long_work_behind(emit.region);
  }

  void run() {
    if (thin_) {  // the running rows, and the rows of B that are added to them, stay in the first cache
      const int64_t m = *constant_of(m_), most = (m > 4 ? 512 : 1024) / parts(), line = 64;
      const int64_t n = constant_of(n_).value_or(most), k = constant_of(k_).value_or(1);
      tiles_.nb = std::min(most, n);
      // Halves where both are work for a thread.
      const int64_t enough = work_of_grain(emit_.target, static_cast<int>(size_of(type_)));
      if (tiles_.nb == n && n >= 2 * line && m * n * parts() * k >= 2 * enough)
        tiles_.nb = ceil_over(n, 2 * line) * line;
      tiles_.columns = Dim(tiles_.nb);
    }
    const Dim m_blocks = thin_ ? kOne : ceildiv(m_, tiles_.rows), n_blocks = ceildiv(n_, tiles_.columns);
    kernel_.blocks = batch_ * m_blocks * n_blocks;
    kernel_.grain = 1;
    if (auto k = constant_of(k_)) {
      int64_t work =
          (thin_ ? constant_of(m_).value_or(1) : tiles_.mb) * tiles_.nb * parts() * std::max<int64_t>(*k, 1);
      set_grain(kernel_, emit_.target, type_, work);
    }
    if (prepacked_) emit_packing();
    fetches_next_ = prepacked_ && tiles_of_strip() > 1 && b_.view;

    Expr columns = emit_.size(n_blocks), rows = emit_.size(m_blocks);
    Expr block = build_.block();
    Expr nb = block % columns, rest = block / columns;
    batch_index_ = build_.let(rest / rows);
    Expr block_rows = emit_.size(tiles_.rows), block_columns = emit_.size(tiles_.columns);
    m_begin_ = build_.let((rest % rows) * block_rows);
    n_begin_ = build_.let(nb * block_columns);
    n_end_ = build_.let(loop::lesser(n_begin_ + block_columns, emit_.size(n_)));
    if (a_.view || a_.runs) a_first_ = build_.let(a_.batch_offset(emit_, batch_index_));
    if (b_.view || b_.runs) b_first_ = build_.let(b_.batch_offset(emit_, batch_index_));
    if (thin_) return thin();
    m_end_ = build_.let(loop::lesser(m_begin_ + block_rows, emit_.size(m_)));
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
    Expr chunks = loop::greater((emit_.size(k_) + build_.index(tiles_.kc - 1)) / build_.index(tiles_.kc),
                                build_.index(1));
    emit_.serial(build_.index(0), chunks, [&](Expr c) {
      Expr begin = build_.let(c * tiles_.kc);
      Expr end = build_.let(loop::lesser(begin + build_.index(tiles_.kc), emit_.size(k_)));
      chunk(begin, end, c > build_.index(0), c == chunks - build_.index(1));
    });
  }

 private:
  // The bytes between A's rows or B's columns, where each lies in one piece and nothing is to be converted; 0
  // where nobody knows.
  static int64_t apart(const DotSide& side) {
    auto stride = constant_of(side.free_stride);
    return side.view && stride && side.columns_lie()
               ? *stride * static_cast<int64_t>(size_of(storage_of(side)))
               : 0;
  }
  int64_t tallest() const { return emit_.target.registers == 32 ? 12 : 6; }  // rows of a tile
  // A few rows, of which the threads that made them have a share each: all of them are asked for at once,
  // where the sums would wait for one line after the other.
  void ask_for_a() {
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
  static DType storage_of(const DotSide& side) {
    return side.view ? side.view->arg->type().dtype : DType::F32;
  }
  Expr widen(Expr value) const { return value.type() == type_ ? value : loop::convert(value, type_); }
  Expr load_a(Expr row, Expr k) {
    return widen(build_.load(emit_.buffer_of_arg(a_.view->arg), a_.offset(emit_, a_first_, row, k)));
  }
  Expr load_b(Expr k, Expr column) {
    return widen(build_.load(emit_.buffer_of_arg(b_.view->arg), b_.offset(emit_, b_first_, column, k)));
  }

  // B in strips of nr columns, all of k, zeros behind the last column, in the type it is stored in: written
  // once, when the program is made, or at the start of each call.
  void emit_packing() {
    loop::Builder pack("pack");
    const Type& type = b_.view->arg->type();
    const int64_t k = *constant_of(k_), n = *constant_of(n_), nr = tiles_.nr;  // n columns in each part
    const int64_t along_n = b_.free_stride.constant(), along_k = b_.folded_stride.constant();
    const Dim strips_of_part = ceildiv(n_, Dim(nr));
    const int64_t strips_of_all = strips_of_part.constant() * parts();
    uint32_t from = pack.add_buffer(type.dtype, false, "in0");
    uint32_t to = pack.add_buffer(type.dtype, true, "out0");
    // Sizes are parameters: weights of all shapes share one function. A step of 1 lets vectors be loaded.
    Kernel::Packing packing;
    std::map<std::string, int64_t, std::less<>> values;
    auto size = [&](std::string_view name, int64_t value, bool fixed = false) {
      if (fixed) return pack.index(value);
      values.emplace(name, value);
      return pack.size(Dim::symbol(name));
    };
    Expr columns = size("n", n), rows = size("k", k);
    Expr step_n = size("along_n", along_n, along_n == 1), step_k = size("along_k", along_k, along_k == 1);
    Expr strip = pack.let(rows * pack.index(nr));
    auto zeros = [&](Expr target, Expr count) {
      Expr none = is_float(type.dtype) ? loop::convert(pack.constant(DType::F32, 0), type.dtype)
                                       : pack.constant_int(type.dtype, 0);
      pack.vector_for(pack.index(0), count, 32, [&](Expr i) { pack.store(to, target + i, none); });
    };
    if (along_k == 1) {  // a block is a strip
      Expr unit = pack.let(pack.block() / pack.index(parts()) * pack.index(nr));
      Expr width = pack.let(loop::lesser(pack.index(nr), columns - unit));
      Expr first = pack.let(unit + pack.block() % pack.index(parts()) * columns);
      Expr target = pack.let(pack.block() * strip);
      pack.if_then(width < pack.index(nr), [&] { zeros(target, strip); });
      // Rows are read from end to end, which the processor foresees. Where a store writes less than a line of
      // the packed form, piece by piece, so that the line is complete before it leaves the first cache.
      const bool whole_lines = emit_.target.vector_bytes == 64 && size_of(type.dtype) >= 4;
      auto turn = [&](Expr begin, Expr count) {
        pack.transpose({to, target + begin * nr, pack.index(nr)}, {from, first * step_n + begin, step_n},
                       width, count);
      };
      if (whole_lines) {
        turn(pack.index(0), rows);
      } else {
        const int64_t piece = 8192 / (nr * static_cast<int64_t>(size_of(type.dtype)));
        pack.serial_for(pack.index(0), (rows + (piece - 1)) / pack.index(piece), [&](Expr p) {
          Expr begin = pack.let(p * piece);
          turn(begin, loop::lesser(pack.index(piece), rows - begin));
        });
      }
      packing.blocks = strips_of_all;
    } else {
      // A block is a few rows of B, each of which is read from end to end, at the same time; a strip gets as
      // many rows in one piece. To read strip by strip would jump from row to row.
      constexpr int64_t kRows = 16;
      // The rows' pieces lie far apart, where the processor does not foresee them.
      const int64_t ahead = 1024 / static_cast<int64_t>(size_of(type.dtype));
      Expr begin = pack.let(pack.block() * pack.index(kRows));
      Expr end = pack.let(loop::lesser(begin + pack.index(kRows), rows));
      Expr whole = pack.let(columns / pack.index(nr));
      auto copy = [&](Expr s, Expr part, Expr width) {
        Expr target = pack.let((s * pack.index(parts()) + part) * strip);
        Expr first = pack.let(s * pack.index(nr) + part * columns);
        pack.if_then(width < pack.index(nr),
                     [&] { zeros(target + begin * nr, (end - begin) * pack.index(nr)); });
        pack.serial_for(begin, end, [&](Expr i) {
          pack.vector_for(pack.index(0), width, static_cast<int>(nr / tiles_.groups), [&](Expr j) {
            Expr source = (first + j) * step_n + i * step_k;
            if (along_n == 1) pack.prefetch(from, source + pack.index(ahead));
            pack.store(to, target + i * nr + j, pack.load(from, source));
          });
        });
      };
      pack.serial_for(pack.index(0), pack.index(parts()), [&](Expr part) {
        pack.serial_for(pack.index(0), whole, [&](Expr s) { copy(s, part, pack.index(nr)); });
        Expr rest = pack.let(columns - whole * pack.index(nr));
        pack.if_then(rest > pack.index(0), [&] { copy(whole, part, rest); });
      });
      packing.blocks = ceildiv(k_, Dim(kRows));
    }
    packing.operand = static_cast<int>(b_.view->arg->index());
    packing.elements = Dim(strips_of_all) * k_ * Dim(nr);
    packing.pack = pack.finish();
    for (const std::string& name : packing.pack->sizes) packing.sizes.push_back(values.at(name));
    packing.every_call = packed_every_call_;
    kernel_.packings.push_back(std::move(packing));
  }

  // How many tiles read each strip of B, where B is too large to wait in the second cache: while they work,
  // they ask for the next strip. Else 0.
  int64_t tiles_of_strip() const {
    constexpr int64_t kMost = 16, kLargeWeights = 256 * 1024;
    const int64_t weights = *constant_of(n_) * parts() * *constant_of(k_);
    const int64_t rows = std::min(constant_of(m_).value_or(tiles_.mc), tiles_.mc);
    if (weights * static_cast<int64_t>(size_of(type_)) < kLargeWeights) return 0;
    if (rows < emit_.target.rows_to_ask_ahead) return 0;
    const int64_t tiles = ceil_over(rows, tiles_.mr);
    return tiles <= kMost ? tiles : 0;
  }
  bool even_columns() const { return n_.is_constant() && n_.constant() % tiles_.nr == 0; }

  bool packs_b() const { return !direct_b_ && !prepacked_ && !in_registers_; }
  int64_t parts() const { return parts_ ? parts_->count : 1; }

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
  // The full strips have a constant width.
  void strips(const StripBody& body) {
    Expr nr = build_.index(tiles_.nr);
    Expr columns = n_end_ - n_begin_;
    Expr full = build_.let(columns / nr);
    emit_.serial(build_.index(0), full, [&](Expr s) { body(strip_of(s, nr)); });
    if (!even_columns())
      build_.if_then(full * nr < columns, [&] { emit_.scoped([&] { body(strip_of(full, {})); }); });
  }
  void each_part(Strip strip, const StripBody& body) {
    if (!parts_) return body(strip);
    emit_.serial(build_.index(0), build_.index(parts()), [&](Expr part) {
      strip.part = part;
      strip.column = build_.let(strip.first + part * build_.index(parts_->width));
      strip.packed = build_.let(strip.first * build_.index(parts()) + part * build_.index(tiles_.nr));
      strip.kept = build_.let(part * build_.index(tiles_.nb / tiles_.nr) + strip.number);
      body(strip);
    });
  }
  void strips_of_parts(const StripBody& body) {
    strips([&](const Strip& strip) { each_part(strip, body); });
  }

  // Copies need no masked group, whose stores are slow: what is left over goes one by one.
  void whole_then_single(Expr count, int lanes, const std::function<void(Expr)>& body) {
    Expr whole = build_.let((count / build_.index(lanes)) * build_.index(lanes));
    emit_.vector(build_.index(0), whole, lanes, body);
    emit_.serial(whole, count, body);
  }

  // Of B that the kernel packs.
  Expr offset_of(const Strip& strip) const { return strip.kept * (tiles_.kc * tiles_.nr); }

  void pack_b(Expr k_begin, Expr k_end) {
    Expr kc = k_end - k_begin, nr = build_.index(tiles_.nr);
    if (turned_b_)
      return strips_of_parts([&](const Strip& strip) {
        build_.transpose({scratch_b_, offset_of(strip), nr},
                         {emit_.buffer_of_arg(b_.view->arg),
                          b_.offset(emit_, b_first_, strip.column, k_begin), emit_.size(b_.free_stride)},
                         strip.width, kc);
      });
    // Few of a row's columns are read, and the next row lies elsewhere: it is asked for in time.
    constexpr int64_t kRowsAhead = 8;
    const int64_t line = 64 / static_cast<int64_t>(size_of(storage_of(b_)));
    auto ask_ahead = [&](Expr k, Expr first) {
      Expr next = b_.offset(emit_, b_first_, first, k_begin + k + build_.index(kRowsAhead));
      for (int64_t at = 0; at < tiles_.nr; at += line)
        build_.prefetch(emit_.buffer_of_arg(b_.view->arg), next + build_.index(at));
    };
    // Where B lies in runs, a strip is part of one.
    const bool in_runs = b_.runs && !b_.runs->free.empty() && b_.runs->free.back().stride == kOne &&
                         constant_of(b_.runs->free.back().size).value_or(1) % tiles_.nr == 0 &&
                         (!parts_ || even_columns());
    emit_.serial(build_.index(0), kc, [&](Expr k) {
      Expr row = in_runs ? build_.let(b_first_ + offset_in(emit_, b_.runs->folded, k_begin + k)) : Expr();
      strips_of_parts([&](const Strip& strip) {
        if (b_.rows_lie()) ask_ahead(k, strip.column);
        Expr run = in_runs ? build_.let(row + offset_in(emit_, b_.runs->free, strip.column)) : Expr();
        whole_then_single(strip.width, static_cast<int>(tiles_.nr), [&](Expr j) {
          Expr value = b_.view   ? load_b(k_begin + k, strip.column + j)
                       : in_runs ? widen(build_.load(emit_.buffer_of_arg(b_.runs->arg), run + j))
                                 : widen(b_.at(emit_, batch_index_, strip.column + j, k_begin + k));
          build_.store(scratch_b_, offset_of(strip) + k * tiles_.nr + j, value);
        });
      });
    });
  }

  // Rows [from, to) of A, kc elements each.
  void pack_a(Expr from, Expr to, Expr k_begin, Expr k_end) {
    int lanes = 2 * emit_.target.vector_bytes / static_cast<int>(size_of(type_));
    if (turned_a_)
      return build_.transpose({scratch_a_, build_.index(0), build_.index(a_step_)},
                              {emit_.buffer_of_arg(a_.view->arg), a_.offset(emit_, a_first_, from, k_begin),
                               emit_.size(a_.folded_stride)},
                              k_end - k_begin, to - from);
    if (a_in_runs()) return pack_runs(from, to);
    emit_.serial(build_.index(0), to - from, [&](Expr i) {
      Expr row = build_.let(from + i);
      whole_then_single(k_end - k_begin, lanes, [&](Expr k) {
        Expr value = a_.view ? load_a(row, k_begin + k) : widen(a_.at(emit_, batch_index_, row, k_begin + k));
        build_.store(scratch_a_, i * a_step_ + k, value);
      });
    });
  }

  // Rows of A that lie in runs, of which each is copied as it lies: heads side by side, say, that a product
  // folds as one axis.
  bool a_in_runs() const {
    return a_.runs && !chunked_ && !a_.runs->folded.empty() && a_.runs->folded.back().stride == kOne;
  }
  void pack_runs(Expr from, Expr to) {
    const DotSide::Runs& runs = *a_.runs;
    const uint32_t buffer = emit_.buffer_of_arg(runs.arg);
    const int lanes = emit_.target.vector_bytes / static_cast<int>(size_of(type_));
    const ops::Pieces outer(runs.folded.begin(), runs.folded.end() - 1);
    Dim count = kOne;
    for (const ops::Piece& piece : outer) count = count * piece.size;
    Expr length = emit_.size(runs.folded.back().size);
    emit_.serial(build_.index(0), to - from, [&](Expr i) {
      Expr row = build_.let(a_first_ + offset_in(emit_, runs.free, from + i));
      emit_.serial(build_.index(0), emit_.size(count), [&](Expr run) {
        Expr source = build_.let(row + offset_in(emit_, outer, run));
        Expr target = build_.let(i * a_step_ + run * length);
        whole_then_single(length, lanes, [&](Expr k) {
          build_.store(scratch_a_, target + k, widen(build_.load(buffer, source + k)));
        });
      });
    });
  }

  void chunk(Expr k_begin, Expr k_end, Expr resumes, Expr is_last) {
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

  // The tiles that cover `count` rows. Where the number of rows is known, all of a tile's rows exist: what is
  // left behind the last tall one has a tile of its height.
  TileRows tiles_of(Expr count) {
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

  // Where a tile's sum is kept.
  Expr kept_in_tile(Expr from, Expr row0, const Strip& strip, Expr i, Expr j) const {
    return chunked_ || parts_ ? kept_sum(strip, strip.part, from, row0 + i, j) : i * tiles_.nr + j;
  }

  // height x nr running sums over the chunk's k, of the rows from row0 on. They are kept, or are finished
  // here.
  void tile(int64_t height, Expr from, Expr row0, Expr to, const Strip& strip, Expr k_begin, Expr k_end,
            Expr resumes) {
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
      const int64_t each = ceil_over(tiles_.nr, std::max<int64_t>(1, tiles_of_strip()));  // for each k
      Expr number = (row0 - from) / build_.index(tiles_.mr);
      Expr piece = (strip.packed + tiles_.nr) * emit_.size(k_) + number * (emit_.size(k_) * each);
      for (int64_t at = 0; at < steps * each; at += line)
        build_.prefetch(emit_.buffer_of_arg(b_.view->arg), piece + (k_begin + k) * each + build_.index(at));
    };
    ask_for_results(height, row0, strip);
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
        return build_.index(
            std::clamp<int64_t>(static_cast<int64_t>(strip.width->bits[0]) - before, 0, lanes));
      Expr rest = strip.width - build_.index(before);
      return build_.let(loop::greater(loop::lesser(rest, build_.index(lanes)), build_.index(0)));
    };
    for (size_t g = 0; g < groups; ++g) {
      emit_.vector(build_.index(0), width_of(g), lanes, [&](Expr j) {
        for (size_t i = 0; i < mr; ++i) {
          auto one = [&] {
            emit_.scoped(
                [&] { store_row(rows[i], strip.first + column(g, j), build_.let(sums.value(i, g))); });
          };
          if (all_rows_exist)
            one();
          else
            build_.if_then(row0 + build_.index(static_cast<int64_t>(i)) < to, one);
        }
      });
    }
  }

  // What becomes of the sums that a tile of so many rows kept.
  void finish_rows(Expr height, Expr from, Expr row0, Expr to, const Strip& strip) {
    const int lanes = static_cast<int>(tiles_.nr / tiles_.groups);
    Expr count = m_.is_constant() ? height : loop::lesser(height, to - row0);
    emit_.serial(build_.index(0), count, [&](Expr i) {
      Expr row = build_.let(row0 + i);
      emit_.vector(build_.index(0), strip.width, lanes, [&](Expr j) {
        store_row(row, strip.first + j,
                  build_.let(build_.load(scratch_c_, kept_in_tile(from, row0, strip, i, j))));
      });
    });
  }

  // Where a tile's sums go; long sums do not notice that they wait for it.
  void ask_for_results(int64_t height, Expr row0, const Strip& strip) {
    constexpr int64_t kLongSum = 1024;
    const auto width = constant_of(n_);
    // Results that are narrower than a line of the cache follow each other, which the processor foresees.
    const bool narrow = width && *width * static_cast<int64_t>(size_of(type_)) < kLineBytes;
    if (swapped_ || parts_ || narrow || constant_of(k_).value_or(0) > kLongSum) return;
    emit_.serial(build_.index(0), build_.index(height), [&](Expr i) {
      ask_for_stores(emit_, dot_->result(), index_of(row0 + i, strip.first), tiles_.nr);
    });
  }

  // One column: the product turned over has one row, whose columns fill vectors. A few columns, which would
  // leave half of each vector empty, are turned over where the sums are long: they share what it takes to turn
  // A's squares.
  bool pays_turned_over() const {
    const Dim columns = product(b_.free_dims), rows = product(a_.free_dims);
    if (columns == kOne) return rows != kOne;
    auto m = constant_of(rows), n = constant_of(columns), k = constant_of(product(a_.folded_dims));
    const int64_t lanes = lanes_of_register();
    return n && k && *n >= 2 && *n <= kFewRows && 2 * *n <= lanes && *k >= lanes * *n &&
           m.value_or(2 * lanes) >= 2 * lanes && b_.view && has_squares(a_);
  }
  int64_t lanes_of_register() const {
    return emit_.target.vector_bytes / static_cast<int64_t>(size_of(type_));
  }
  // Whether squares of the side, which lies across, can be turned over in registers.
  bool has_squares(const DotSide& side) const {
    return !side.rows_lie() && side.columns_lie() && side.value->type().dtype == type_ &&
           storage_of(side) == type_;
  }
  // Few rows of A and B that lies across: squares of B are turned over in registers, and go from there to the
  // sums of each row.
  bool turns_in_registers() const {
    auto m = constant_of(m_), k = constant_of(k_);
    constexpr int64_t kLeast = 4;  // columns of a square
    const int64_t lanes = lanes_of_register();
    // Whose sums fit beside a square.
    const int64_t most = kFewRows;
    return m && *m <= most && std::min(k.value_or(lanes), lanes) >= kLeast && a_.view && !prepacked_ &&
           has_squares(b_);
  }
  void sum_in_registers(RegisterTile& sums, int64_t height, const Strip& strip, Expr j) {
    const int64_t lanes = tiles_.nr / tiles_.groups;
    const bool all =
        strip.width->op == loop::Op::Const && static_cast<int64_t>(strip.width->bits[0]) == tiles_.nr;
    struct Square {
      uint32_t columns;
      Expr first, width;  // its first column in B, and how many are there
    };
    std::vector<Square> squares;
    for (int64_t g = 0; g < tiles_.groups; ++g) {
      Square square{build_.local(type_, static_cast<int>(lanes), lanes, "column"), strip.column + g * lanes,
                    build_.index(lanes)};
      if (!all) {  // behind the right edge the last column once more
        square.first = build_.let(loop::lesser(square.first, strip.column + strip.width - build_.index(1)));
        square.width = build_.let(loop::lesser(square.width, strip.column + strip.width - square.first));
      }
      squares.push_back(square);
    }
    const uint32_t buffer = emit_.buffer_of_arg(b_.view->arg);
    auto add = [&](Expr k, size_t g, Expr column) {
      for (int64_t i = 0; i < height; ++i)
        sums.add(static_cast<size_t>(i), load_a(m_begin_ + i, k), column, g);
    };
    auto take = [&](Expr k, size_t g, bool asks) {
      Expr from = b_.offset(emit_, b_first_, squares[g].first, k);
      if (asks && emit_.traffic.beyond)
        for (int64_t i = 0; i < lanes; ++i)
          build_.prefetch(buffer, from + i * emit_.size(b_.free_stride) + build_.index(kAhead));
      build_.load_columns(squares[g].columns, {buffer, from, emit_.size(b_.free_stride)}, squares[g].width);
      for (int64_t c = 0; c < lanes; ++c)
        add(k + build_.index(c), g, build_.read(squares[g].columns, build_.index(c)));
      sums.settle(g);
    };
    // Whole lines of memory at a time: where the lines of all columns share few places in the cache, one may
    // be gone before its second half is read.
    const int64_t line =
        tiles_.whole_lines ? std::max<int64_t>(lanes, 64 / static_cast<int64_t>(size_of(type_))) : lanes;
    Expr lines = build_.let(emit_.size(k_) / build_.index(line)),
         whole = build_.let(emit_.size(k_) / build_.index(lanes));
    emit_.serial(build_.index(0), lines, [&](Expr s) {
      Expr k = build_.let(s * line);
      for (size_t g = 0; g < squares.size(); ++g)
        for (int64_t at = 0; at < line; at += lanes) take(k + build_.index(at), g, at == 0);
    });
    if (line > lanes)
      emit_.serial(lines * build_.index(line / lanes), whole, [&](Expr s) {
        for (size_t g = 0; g < squares.size(); ++g) take(build_.let(s * lanes), g, false);
      });
    emit_.serial(whole * build_.index(lanes), emit_.size(k_), [&](Expr k) {
      for (size_t g = 0; g < squares.size(); ++g)
        add(k, g, load_b(k, squares[g].first + loop::lesser(j, squares[g].width - build_.index(1))));
    });
  }

  // Sums go by way of memory, and the work behind the product is one loop over rows instead of code for each
  // row.
  bool by_rows() const { return chunked_ || long_epilogue_ || parts_; }
  // Where a sum waits for the next chunk, or for the other parts; `from`: the first row of those that are
  // done strip by strip.
  Expr kept_sum(const Strip& strip, Expr part, Expr from, Expr row, Expr j) const {
    const int64_t rows = chunked_ ? tiles_.mb : tiles_.mc, columns = chunked_ ? tiles_.nb : tiles_.nr;
    Expr at = (row - (chunked_ ? m_begin_ : from)) * columns + j;
    if (chunked_) at = at + strip.number * tiles_.nr;
    return parts_ ? at + part * (rows * columns) : at;
  }

  // The sums of all parts are there: what brings them together.
  void finish_parts(Expr from, Expr to, const Strip& strip) {
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

  // Few rows: row after row of B, several at a time, times elements of A, onto running rows.
  void thin() {
    const int64_t m = *constant_of(m_);
    const int lanes = natural_lanes(emit_.target, static_cast<int>(size_of(type_)));
    scratch_c_ = build_.add_scratch(type_, Dim(parts() * m * tiles_.nb), "c");
    Expr width = build_.let(n_end_ - n_begin_);
    auto c_offset = [&](Expr row, Expr part, Expr j) {
      return part * (m * tiles_.nb) + (j + row * tiles_.nb);
    };
    // The columns of each part, of the rows of B at hand.
    auto columns = [&](const std::function<void(Expr part, Expr first, Expr j)>& body) {
      auto of_part = [&](Expr part, Expr first) {
        emit_.vector(build_.index(0), width, lanes, [&](Expr j) { body(part, first, j); });
      };
      if (!parts_) return of_part(build_.index(0), n_begin_);
      emit_.serial(build_.index(0), build_.index(parts()), [&](Expr part) {
        of_part(part, build_.let(n_begin_ + part * build_.index(parts_->width)));
      });
    };
    columns([&](Expr part, Expr, Expr j) {
      for (int64_t i = 0; i < m; ++i)
        build_.store(scratch_c_, c_offset(build_.index(i), part, j), zero_of(build_, type_));
    });
    auto add_to = [&](int64_t from, int64_t to, Expr k, int64_t count) {
      std::vector<Expr> a;
      for (int64_t i = from; i < to; ++i)
        for (int64_t u = 0; u < count; ++u) {
          Expr at = k + build_.index(u);
          a.push_back(build_.let(a_.view ? load_a(build_.index(i), at)
                                         : widen(a_.at(emit_, batch_index_, build_.index(i), at))));
        }
      columns([&](Expr part, Expr first, Expr j) {
        std::vector<Expr> b;
        b.reserve(static_cast<size_t>(count));
        for (int64_t u = 0; u < count; ++u) b.push_back(build_.let(load_b(k + build_.index(u), first + j)));
        for (int64_t i = from; i < to; ++i) {
          Expr at = c_offset(build_.index(i), part, j), sum = build_.load(scratch_c_, at);
          for (int64_t u = 0; u < count; ++u)
            sum =
                multiply_add(a[static_cast<size_t>((i - from) * count + u)], b[static_cast<size_t>(u)], sum);
          build_.store(scratch_c_, at, sum);
        }
      });
    };
    // Four rows at a time: more elements of A than that do not stay in registers.
    const int64_t fours = (m + 3) / 4;
    auto add_rows = [&](Expr k, int64_t count) {
      for (int64_t p = 0; p < fours; ++p)
        emit_.scoped([&] { add_to(m * p / fours, m * (p + 1) / fours, k, count); });
    };
    const int64_t together = m == 1 ? 8 : 4;
    Expr whole = build_.let(emit_.size(k_) / build_.index(together));
    emit_.serial(build_.index(0), whole, [&](Expr g) { add_rows(build_.let(g * together), together); });
    emit_.serial(whole * together, emit_.size(k_), [&](Expr k) { add_rows(k, 1); });
    emit_.serial(build_.index(0), build_.index(m), [&](Expr row) {
      emit_.vector(build_.index(0), width, lanes, [&](Expr j) {
        auto sum = [&](Expr part) { return build_.load(scratch_c_, c_offset(row, part, j)); };
        if (parts_)
          store_parts(row, n_begin_ + j, sum);
        else
          store_row(row, n_begin_ + j, build_.let(sum(build_.index(0))));
      });
    });
  }

  void store_row(Expr row, Expr column, Expr sum) {
    store_sum(emit_, dot_->result(), index_of(row, column), sum);
  }
  // Of the product's element.
  GroupEmitter::Index index_of(Expr row, Expr column) {
    GroupEmitter::Index index = emit_.split(batch_index_, a_.batch_dims);
    const DotSide &left = swapped_ ? b_ : a_, &right = swapped_ ? a_ : b_;
    for (Expr e : emit_.split(swapped_ ? column : row, left.free_dims)) index.push_back(e);
    for (Expr e : emit_.split(swapped_ ? row : column, right.free_dims)) index.push_back(e);
    return index;
  }

  // What is computed of each part's element, then what is computed of those, stored.
  void store_parts(Expr row, Expr first, const std::function<Expr(Expr part)>& sum) {
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
  bool in_registers_ = false;
  bool swapped_, direct_a_, direct_b_, turned_a_, turned_b_, thin_, chunked_, long_epilogue_;
  bool fetches_next_ = false;
  int64_t a_step_ = 0;  // from a row of packed A to the next
  uint32_t scratch_a_ = 0, scratch_b_ = 0, scratch_c_ = 0;
  Expr batch_index_, m_begin_, n_begin_, m_end_, n_end_, a_first_, b_first_;
};

}  // namespace

void lower_dot(GroupEmitter& emit, Kernel& kernel, Node* dot, const std::vector<bool>& constant_operands) {
  DotLowering(emit, kernel, dot, constant_operands).run();
}

}  // namespace ig::codegen
