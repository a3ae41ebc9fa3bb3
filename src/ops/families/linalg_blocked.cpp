// Factors of large matrices are work on blocks: a few rows and columns are factored, then the product of what
// came out of them is taken away from all that is left, which is nearly all of the work. It goes by tiles of
// rows and columns whose sums stay in registers while the rows of the block, which lie in the cache, go by.
//
// Each element of the matrix sees the same operations in the same order as without blocks, so neither the
// block nor the tile shows in the bits.
//
// Source: G. Golub and C. Van Loan, "Matrix Computations", sections 3.2.11 and 4.2.9.
#include "ops/families/linalg_blocked.h"

namespace ig::ops::factors {
namespace {

Expr stepped(Range range, bool down, Expr step) {
  return down ? range.begin + step : range.end - step.builder().index(1) - step;
}
Expr stepped(Range range, Expr down, Expr step) {
  return select(down, stepped(range, true, step), stepped(range, false, step));
}

}  // namespace

Blocked::Blocked(NestContext& c, DType element, const Dim& columns) : c_(c), b_(*c.build), element_(element) {
  // Two registers of sums for each of eight rows where there are 32 registers, else for each of four: the
  // rest hold what they are made of. A complex number has two registers for its parts.
  const NestContext::Registers registers = c.registers();
  const int numbers = registers.bytes / static_cast<int>(size_of(real_of(element)));
  height_ = (registers.count >= 32 ? 8 : 4) / (is_complex(element) ? 2 : 1);
  lanes_ = std::min(2 * numbers, lanes_of(element, columns));
  wide_ = std::min(4 * numbers, 2 * lanes_);
  for (int r = 0; r < height_; ++r) sums_.push_back(b_.local(element, lanes_, 1, "sum"));
  row_sum_ = b_.local(element, wide_, 1, "row_sum");
}

Grid Blocked::grid(const Dim& rows, const Dim& columns, const char* name) const {
  return scratch_grid(c_, element_, rows + height_, columns + wide_, name);
}

void Blocked::blocks(Expr n, bool down, const std::function<void(Expr, Expr)>& body) const {
  blocks(n, b_.constant(DType::Bool, down ? 1 : 0), body);
}

void Blocked::blocks(Expr n, Expr down, const std::function<void(Expr, Expr)>& body) const {
  const Expr block = b_.index(kBlock), count = b_.let((n + b_.index(kBlock - 1)) / block);
  b_.serial_for(b_.index(0), count, [&](Expr step) {
    Expr first = b_.let(stepped({b_.index(0), count}, down, step) * block);
    body(first, b_.let(lesser(first + block, n)));
  });
}

void Blocked::each_column(Range columns, int lanes, const std::function<void(Expr)>& body) const {
  const Expr zero = b_.index(0), width = b_.index(lanes);
  b_.serial_for(zero, (columns.end - columns.begin + b_.index(lanes - 1)) / width, [&](Expr vector) {
    Expr first = b_.let(columns.begin + vector * width);
    b_.vector_for(zero, width, lanes, [&](Expr lane) { body(first + lane); });
  });
}

void Blocked::subtract(const Grid& to, Range rows, Range columns, Range terms, bool down, const Element& a,
                       const Element& b) const {
  const Expr height = b_.index(height_), last = b_.let(rows.end - b_.index(1));
  const Expr tiles = b_.let((rows.end - rows.begin + b_.index(height_ - 1)) / height);
  each_column(columns, lanes_, [&](Expr column) {
    b_.serial_for(b_.index(0), tiles, [&](Expr tile) {
      Expr first = b_.let(rows.begin + tile * height);
      std::vector<Expr> inside;  // rows behind the last one stand for it, since `a` may end there
      for (int r = 0; r < height_; ++r) inside.push_back(b_.let(lesser(first + b_.index(r), last)));
      const auto each_row = [&](const std::function<void(size_t, Expr)>& body) {
        for (size_t r = 0; r < sums_.size(); ++r) body(r, first + b_.index(static_cast<int64_t>(r)));
      };
      each_row([&](size_t r, Expr row) { b_.assign(sums_[r], to.load(row, column)); });
      b_.serial_for(b_.index(0), terms.end - terms.begin, [&](Expr step) {
        Expr k = b_.let(stepped(terms, down, step)), right = b_.let(b(k, column));
        each_row(
            [&](size_t r, Expr) { b_.assign(sums_[r], madd(-a(inside[r], k), right, b_.read(sums_[r]))); });
      });
      each_row([&](size_t r, Expr row) { to.store(row, column, b_.read(sums_[r])); });
    });
  });
}

void Blocked::solve_rows(const Grid& x, Range rows, Range columns, bool down, const Element& a,
                         const std::function<Expr(Expr)>& own) const {
  each_column(columns, wide_, [&](Expr j) {
    b_.serial_for(b_.index(0), rows.end - rows.begin, [&](Expr count) {
      Expr i = b_.let(stepped(rows, down, count));
      b_.assign(row_sum_, x.load(i, j));
      b_.serial_for(b_.index(0), count, [&](Expr step) {
        Expr k = b_.let(stepped(rows, down, step));
        b_.assign(row_sum_, madd(-a(i, k), x.load(k, j), b_.read(row_sum_)));
      });
      Expr sum = b_.let(b_.read(row_sum_));
      if (!own) return x.store(i, j, sum);
      Expr divisor = b_.let(own(i));
      x.store(i, j, is_complex(divisor.type()) ? sum / divisor : over(sum, divisor));
    });
  });
}

BlockReflector::BlockReflector(const Tools& tools, const Blocked& blocked, const Dim& rows,
                               const Dim& columns)
    : t_(tools),
      blocked_(blocked),
      v_(blocked.grid(rows, Blocked::kBlock, "vectors")),
      products_(blocked.grid(Blocked::kBlock, columns, "products")),
      triangle_(blocked.grid(Blocked::kBlock, Blocked::kBlock, "triangle")),
      gram_(blocked.grid(Blocked::kBlock, Blocked::kBlock, "gram")),
      first_(tools.b, tools.b.index(0), "first"),
      end_(tools.b, tools.b.index(0), "end"),
      width_(tools.b, tools.b.index(0), "width") {}

void BlockReflector::take(const Grid& a, const Line& factors, Expr first, Expr end, Expr rows) const {
  loop::Builder& b = t_.b;
  const Expr zero = b.index(0), block = b.index(Blocked::kBlock), none = b.constant(t_.element, 0);
  const Expr width = b.let(end - first);
  first_.set(first), end_.set(rows), width_.set(width);
  b.serial_for(first, rows, [&](Expr i) {
    Expr below = b.let(lesser(i - first, width));
    t_.each(zero, block, [&](Expr p) { v_.store(i, p, none); });
    t_.each(zero, below, [&](Expr p) { v_.store(i, p, a.load(i, first + p)); });
    b.if_then(i < end, [&] { v_.store(i, below, b.constant(t_.element, 1)); });
  });
  auto vector = [&](Expr i, Expr p) { return v_.load(i, p); };
  t_.each_of(width, block, [&](Expr p, Expr q) {
    gram_.store(p, q, none);
    triangle_.store(p, q, none);
  });
  blocked_.subtract(
      gram_, {zero, width}, {zero, width}, {first, rows}, true,
      [&](Expr p, Expr i) { return conj(v_.load(i, p)); }, vector);
  const uint32_t sum = b.local(t_.element, t_.few, 1, "sum");
  b.serial_for(zero, width, [&](Expr j) {
    Expr tau = b.let(factors.load(first + j));
    t_.each(zero, j, [&](Expr p) {
      b.assign(sum, none);
      b.serial_for(zero, j,
                   [&](Expr q) { b.assign(sum, madd(gram_.load(q, j), triangle_.load(q, p), b.read(sum))); });
      triangle_.store(j, p, tau * b.read(sum));
    });
    triangle_.store(j, j, tau);
  });
}

void BlockReflector::apply(const Grid& to, Range columns, Expr adjoint) const {
  constexpr int64_t kRows = 128;  // of a tile's columns, so many lie in the first cache
  loop::Builder& b = t_.b;
  const Expr zero = b.index(0), chunk = b.index(kRows), none = b.constant(t_.element, 0);
  const Expr first = first_.get(), end = end_.get(), width = width_.get();
  b.serial_for(zero, width, [&](Expr p) {
    t_.many(columns.begin, columns.end, [&](Expr j) { products_.store(p, j, none); });
  });
  b.serial_for(zero, (end - first + b.index(kRows - 1)) / chunk, [&](Expr part) {
    Expr from = b.let(first + part * chunk);
    blocked_.subtract(
        products_, {zero, width}, columns, {from, b.let(lesser(from + chunk, end))}, true,
        [&](Expr p, Expr i) { return conj(v_.load(i, p)); }, [&](Expr i, Expr j) { return to.load(i, j); });
  });
  // By the triangle, where each row takes those that have not been overwritten.
  const uint32_t sum = b.local(t_.element, t_.lanes, 1, "sum");
  t_.many(columns.begin, columns.end, [&](Expr j) {
    b.serial_for(zero, width, [&](Expr step) {
      Expr i = b.let(select(adjoint, width - b.index(1) - step, step));
      b.assign(sum, none);
      b.serial_for(select(adjoint, zero, i), select(adjoint, i + b.index(1), width), [&](Expr p) {
        Expr entry = b.let(triangle_.load(select(adjoint, i, p), select(adjoint, p, i)));
        Expr factor = is_complex(t_.element) ? select(adjoint, conj(entry), entry) : entry;
        b.assign(sum, madd(factor, products_.load(p, j), b.read(sum)));
      });
      products_.store(i, j, -b.read(sum));
    });
  });
  blocked_.subtract(
      to, {first, end}, columns, {zero, width}, true, [&](Expr i, Expr p) { return v_.load(i, p); },
      [&](Expr p, Expr j) { return products_.load(p, j); });
}

}  // namespace ig::ops::factors
