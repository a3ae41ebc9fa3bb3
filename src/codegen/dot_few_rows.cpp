// Products of few rows, or of few columns, which are then the rows of the product turned over. Where B's
// columns lie side by side, rows of B are added to running rows in the first cache; where B lies across,
// squares of it are turned over in registers.
#include <algorithm>

#include "codegen/dot_lowering.h"

namespace ig::codegen {

using loop::Expr;

namespace {

// What comes from memory is asked for so many elements ahead.
constexpr int64_t kAhead = 128;
// Bytes of the strips of columns of which the next one is asked for.
constexpr int64_t kStripAhead = 24 << 10, kStripFromAfar = 32 << 10;
// Lines of a column between two squares that are read side by side.
constexpr int64_t kLinesBehind = 8;
// Elements of the columns of a square.
constexpr int64_t kLeastSquare = 4;

}  // namespace

bool DotLowering::pays_turned_over() const {
  const Dim columns = product(b_.free_dims), rows = product(a_.free_dims);
  if (columns == kOne) return rows != kOne;
  auto m = constant_of(rows), n = constant_of(columns), k = constant_of(product(a_.folded_dims));
  const int64_t lanes = lanes_of_register();
  if (m && n && *n < *m && goes_unpacked(columns)) return true;
  return n && k && *n >= 2 && *n <= kFewRows && 2 * *n <= lanes && *k >= lanes * *n &&
         m.value_or(2 * lanes) >= 2 * lanes && b_.view && has_squares(a_);
}

bool DotLowering::goes_unpacked(const Dim& rows) const {
  constexpr int64_t kLongSum = 1024, kMostRows = 24;
  const auto few = constant_of(rows), k = constant_of(product(a_.folded_dims));
  return few && k && *few > kFewRows && *few <= kMostRows && *k >= kLongSum && a_.rows_lie() &&
         b_.rows_lie() && storage_of(a_) == type_ && storage_of(b_) == type_;
}

bool DotLowering::turns_in_registers() const {
  auto m = constant_of(m_), k = constant_of(k_);
  const int64_t lanes = lanes_of_register();
  return m && *m <= kFewRows && std::min(k.value_or(lanes), lanes) >= kLeastSquare && a_.view &&
         !prepacked_ && has_squares(b_);
}

bool DotLowering::goes_thin() const {
  constexpr int64_t kMostRows = 8;
  const auto m = constant_of(m_), n = constant_of(n_), k = constant_of(k_);
  if (prepacked_ || in_registers_ || direct_b_ || !m || *m > kMostRows || n == 0) return false;
  return b_.rows_lie() || (b_.columns_lie() && k && *k < kLeastSquare);
}

void DotLowering::sum_in_registers(RegisterTile& sums, int64_t height, const Strip& strip, Expr j) {
  const int64_t lanes = tiles_.nr / tiles_.groups;
  const bool all =
      strip.width->op == loop::Op::Const && static_cast<int64_t>(strip.width->bits[0]) == tiles_.nr;
  struct Square {
    uint32_t columns;
    Expr first, width;  // its first column in B, and how many are there
  };
  std::vector<Square> squares;
  for (int64_t g = 0; g < tiles_.groups; ++g) {
    Square square{build_.local(type_, static_cast<int>(lanes), tiles_.step, "column"),
                  strip.column + g * lanes, build_.index(lanes)};
    if (!all) {  // behind the right edge the last column once more
      square.first = build_.let(loop::lesser(square.first, strip.column + strip.width - build_.index(1)));
      square.width = build_.let(loop::lesser(square.width, strip.column + strip.width - square.first));
    }
    squares.push_back(square);
  }
  const uint32_t buffer = emit_.buffer_of_arg(b_.view->arg);
  // A's elements of a step are read once for all groups where they are so few that they stay in registers.
  constexpr int64_t kFewElements = 4;
  const int64_t step = tiles_.step;
  const bool shares = !tiles_.whole_lines && height * step <= kFewElements;
  std::vector<Expr> shared;  // [step][height]
  auto share = [&](Expr k) {
    shared.clear();
    for (int64_t c = 0; c < step; ++c)
      for (int64_t i = 0; i < height; ++i)
        shared.push_back(build_.let(load_a(m_begin_ + i, k + build_.index(c))));
  };
  // Of short columns the next strip's are asked for, in the order of memory; of long ones what comes soon.
  const int64_t bytes = static_cast<int64_t>(size_of(type_));
  const auto terms = constant_of(k_);
  const bool strip_ahead = terms && b_.free_stride == Dim(*terms) &&
                           *terms * tiles_.nr * bytes <= (emit_.traffic.far ? kStripFromAfar : kStripAhead);
  auto ask_ahead = [&](Expr k, size_t g, Expr from) {
    if (strip_ahead) {
      Expr next = b_.offset(emit_, b_first_, strip.column + tiles_.nr, build_.index(0)) + k * tiles_.nr;
      for (int64_t at = static_cast<int64_t>(g) * lanes * step;
           at < static_cast<int64_t>(g + 1) * lanes * step; at += kLineBytes / bytes)
        build_.prefetch(buffer, next + build_.index(at));
      return;
    }
    for (int64_t i = 0; i < lanes; ++i)
      build_.prefetch(buffer, from + i * emit_.size(b_.free_stride) + build_.index(kAhead));
  };
  auto take = [&](Expr k, size_t g, bool asks) {
    Expr from = b_.offset(emit_, b_first_, squares[g].first, k);
    if (strip_ahead || (asks && emit_.traffic.beyond)) ask_ahead(k, g, from);
    build_.load_columns(squares[g].columns, {buffer, from, emit_.size(b_.free_stride)}, squares[g].width);
    for (int64_t c = 0; c < step; ++c) {
      Expr column = build_.read(squares[g].columns, build_.index(c));
      for (int64_t i = 0; i < height; ++i) {
        Expr element =
            shares ? shared[static_cast<size_t>(c * height + i)] : load_a(m_begin_ + i, k + build_.index(c));
        sums.add(static_cast<size_t>(i), element, column, g);
      }
    }
    sums.settle(g);
  };
  // Whole lines of memory at a time: where the lines of all columns share few places in the cache, one may
  // be gone before its second half is read.
  const int64_t line =
      tiles_.whole_lines ? std::max<int64_t>(lanes, 64 / static_cast<int64_t>(size_of(type_))) : step;
  Expr lines = build_.let(emit_.size(k_) / build_.index(line)),
       whole = build_.let(emit_.size(k_) / build_.index(step));
  auto take_line = [&](Expr k, size_t g) {
    for (int64_t at = 0; at < line; at += step) take(k + build_.index(at), g, at == 0);
  };
  if (squares.size() == 2 && !rows_stay(lanes, apart(b_))) {
    // One square alone takes all places that its lines share. The second one stays some lines behind it, so
    // that they take others, and what the processor reads ahead of both does, too.
    Expr behind = build_.let(loop::lesser(lines, build_.index(kLinesBehind)));
    auto first = [&](Expr s) { take_line(build_.let(s * line), 0); };
    auto second = [&](Expr s) { take_line(build_.let((s - behind) * line), 1); };
    emit_.serial(build_.index(0), behind, first);
    emit_.serial(behind, lines, [&](Expr s) { first(s), second(s); });
    emit_.serial(lines, lines + behind, second);
  } else {
    emit_.serial(build_.index(0), lines, [&](Expr s) {
      Expr k = build_.let(s * line);
      if (shares) share(k);
      for (size_t g = 0; g < squares.size(); ++g) take_line(k, g);
    });
  }
  if (line > step)
    emit_.serial(lines * build_.index(line / step), whole, [&](Expr s) {
      for (size_t g = 0; g < squares.size(); ++g) take(build_.let(s * step), g, false);
    });
  emit_.serial(whole * build_.index(step), emit_.size(k_), [&](Expr k) {
    for (size_t g = 0; g < squares.size(); ++g) {
      Expr column = load_b(k, squares[g].first + loop::lesser(j, squares[g].width - build_.index(1)));
      for (int64_t i = 0; i < height; ++i)
        sums.add(static_cast<size_t>(i), load_a(m_begin_ + i, k), column, g);
    }
  });
}

void DotLowering::thin() {
  const int64_t m = *constant_of(m_);
  const int lanes = natural_lanes(emit_.target, static_cast<int>(size_of(type_)));
  Expr width = build_.let(n_end_ - n_begin_);
  auto a_at = [&](int64_t row, Expr k) {
    Expr i = build_.index(row);
    return build_.let(a_.view ? load_a(i, k) : widen(a_.at(emit_, batch_index_, i, k)));
  };
  constexpr int64_t kFewElements = 8;  // of A, that stay in registers
  if (const auto terms = constant_of(k_); terms && !parts_ && m * *terms <= kFewElements) {
    std::vector<Expr> a, b(static_cast<size_t>(*terms));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t k = 0; k < *terms; ++k) a.push_back(a_at(i, build_.index(k)));
    return emit_.vector(build_.index(0), width, lanes, [&](Expr j) {
      for (size_t k = 0; k < b.size(); ++k)
        b[k] = build_.let(load_b(build_.index(static_cast<int64_t>(k)), n_begin_ + j));
      for (int64_t i = 0; i < m; ++i) {
        Expr sum = zero_of(build_, type_);
        for (size_t k = 0; k < b.size(); ++k)
          sum = multiply_add(a[static_cast<size_t>(i) * b.size() + k], b[k], sum);
        store_row(build_.index(i), n_begin_ + j, build_.let(sum));
      }
    });
  }
  scratch_c_ = build_.add_scratch(type_, Dim(parts() * m * tiles_.nb), "c");
  auto c_offset = [&](Expr row, Expr part, Expr j) { return part * (m * tiles_.nb) + (j + row * tiles_.nb); };
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
      for (int64_t u = 0; u < count; ++u) a.push_back(a_at(i, k + build_.index(u)));
    columns([&](Expr part, Expr first, Expr j) {
      std::vector<Expr> b;
      b.reserve(static_cast<size_t>(count));
      for (int64_t u = 0; u < count; ++u) b.push_back(build_.let(load_b(k + build_.index(u), first + j)));
      for (int64_t i = from; i < to; ++i) {
        Expr at = c_offset(build_.index(i), part, j), sum = build_.load(scratch_c_, at);
        for (int64_t u = 0; u < count; ++u)
          sum = multiply_add(a[static_cast<size_t>((i - from) * count + u)], b[static_cast<size_t>(u)], sum);
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

}  // namespace ig::codegen
