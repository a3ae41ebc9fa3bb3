// The parts of factors and systems that take the time of large matrices: products that are taken away from a
// matrix tile by tile, and the rows of a triangular system one after the other; see linalg_blocked.cpp.
#pragma once

#include "ops/families/linalg_kernels.h"

namespace ig::ops::factors {

// What an inner loop goes through.
struct Range {
  Expr begin, end;
};

using Element = std::function<Expr(Expr row, Expr column)>;

class Blocked {
 public:
  // Rows and columns that are factored before the rest of the matrix is brought up to date with them: as many
  // as let the rest be most of the work, and a tile's sums be read and written seldom.
  static constexpr int64_t kBlock = 32;

  // For matrices with so many columns.
  Blocked(NestContext& c, DType element, const Dim& columns);

  // A matrix in scratch, with room behind its last row and column for what is left of a tile there: tiles are
  // always whole, so that there is one piece of code for them.
  Grid grid(const Dim& rows, const Dim& columns, const char* name) const;

  // body(first, end) for each block of [0, n), in order or from the last one back. Blocks begin at multiples
  // of kBlock.
  void blocks(Expr n, Expr down, const std::function<void(Expr, Expr)>& body) const;
  void blocks(Expr n, bool down, const std::function<void(Expr, Expr)>& body) const;

  // to[i, j] -= the sum of a(i, k) b(k, j), over k in order (or from the last one back): element by element
  // what a loop over k of updates gives, to the bit. `to` is a grid() as b is; rows and columns end where
  // theirs do, or a multiple of kBlock from where they begin, or where nothing is read that lies behind.
  void subtract(const Grid& to, Range rows, Range columns, Range terms, bool down, const Element& a,
                const Element& b) const;

  // x[i, j] = (x[i, j] - the sum of a(i, k) x[k, j] over the rows k before i) / own(i), for the rows i in
  // order (or from the last one back); without an `own` not divided.
  void solve_rows(const Grid& x, Range rows, Range columns, bool down, const Element& a,
                  const std::function<Expr(Expr)>& own) const;

 private:
  // body(j) for lanes of the columns, whole vectors of them.
  void each_column(Range columns, int lanes, const std::function<void(Expr)>& body) const;

  NestContext& c_;
  loop::Builder& b_;
  DType element_;
  int height_, lanes_;          // of a tile
  std::vector<uint32_t> sums_;  // a row of a tile each
  int wide_;                    // lanes of a row alone
  uint32_t row_sum_;
};

// Some of Householder's reflectors as one: I - V T Vᴴ, with their vectors as the columns of V and a triangle
// T. So they are applied by products. R. Schreiber and C. Van Loan, "A storage-efficient WY representation
// for products of Householder transformations", 1989.
class BlockReflector {
 public:
  // Of vectors with `rows` elements, for matrices of up to `columns` columns.
  BlockReflector(const Tools& tools, const Blocked& blocked, const Dim& rows, const Dim& columns);

  // Those of the steps [first, end): their vectors stand in a's columns of these numbers below the diagonal,
  // with ones on it; each has its factor.
  void take(const Grid& a, const Line& factors, Expr first, Expr end, Expr rows) const;

  // `to` = (I - V T Vᴴ) `to`, or with Tᴴ, on these columns.
  void apply(const Grid& to, Range columns, Expr adjoint) const;

 private:
  const Tools& t_;
  const Blocked& blocked_;
  Grid v_, products_, triangle_, gram_;  // the triangle is T's transpose
  Cell first_, end_, width_;             // of the rows; and how many vectors there are
};

}  // namespace ig::ops::factors
