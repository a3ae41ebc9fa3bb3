// Many small matrices at once: each lane of a vector is a matrix, whose elements are numbers of their own.
// The operations of a matrix, and their order, are those of the kernels for one matrix at a time, and so are
// the bits.
#include "ops/families/linalg_small.h"

#include <algorithm>

namespace ig::ops::factors {
namespace {

constexpr int64_t kTile = 64;    // matrices of a block
constexpr int64_t kLargest = 8;  // rows, and columns: what has room in registers
constexpr int64_t kLeast = 8;    // matrices

using Matrix = std::vector<std::vector<Expr>>;

// The matrices of a block, and their results: these wait in tiles, and are turned over at its end.
class Block {
 public:
  Block(NestContext& c, const Dim& matrices) : c_(c), b_(*c.build), count_(matrices) {
    c.set_blocks(ceildiv(matrices, Dim(kTile)));
    first_ = b_.let(b_.block() * kTile);
    end_ = b_.let(lesser(first_ + b_.index(kTile), c.size(matrices)));
  }
  // Gives the number of a tile.
  size_t result(size_t number, DType dtype, int64_t elements) {
    tiles_.push_back({number, b_.add_scratch(dtype, Dim(elements * kTile), "tile"), elements});
    return tiles_.size() - 1;
  }
  void each(DType dtype, const std::function<void(Expr matrix)>& body) {
    constexpr int kBytes = 64;
    b_.vector_for(first_, end_, kBytes / static_cast<int>(size_of(dtype)), body);
    for (const Tile& tile : tiles_)
      b_.transpose({c_.results[tile.result], first_ * tile.elements, b_.index(tile.elements)},
                   {tile.scratch, b_.index(0), b_.index(kTile)}, b_.index(tile.elements), end_ - first_);
  }
  // Gives the number of a tile that holds an operand's matrices of this block.
  size_t operand(size_t number, DType dtype, int64_t elements) {
    const uint32_t scratch = b_.add_scratch(dtype, Dim(elements * kTile), "tile");
    b_.transpose({scratch, b_.index(0), b_.index(kTile)},
                 {c_.operands[number], first_ * elements, b_.index(elements)}, end_ - first_,
                 b_.index(elements));
    operands_.push_back(scratch);
    return operands_.size() - 1;
  }
  Matrix load(size_t tile, Expr matrix, int64_t rows, int64_t columns) {
    Matrix out(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        out[static_cast<size_t>(i)].push_back(
            b_.let(b_.load(operands_[tile], b_.index((i * columns + j) * kTile) + (matrix - first_))));
    return out;
  }
  void store(size_t tile, int64_t element, Expr matrix, Expr value) {
    b_.store(tiles_[tile].scratch, b_.index(element * kTile) + (matrix - first_), value);
  }
  void store(size_t tile, const Matrix& values, Expr matrix) {
    int64_t element = 0;
    for (const std::vector<Expr>& row : values)
      for (Expr value : row) store(tile, element++, matrix, value);
  }

 private:
  struct Tile {
    size_t result;
    uint32_t scratch;
    int64_t elements;
  };
  NestContext& c_;
  loop::Builder& b_;
  Dim count_;
  Expr first_, end_;
  std::vector<Tile> tiles_;
  std::vector<uint32_t> operands_;
};

bool is_small(const Dim& size) {
  return size.is_constant() && size.constant() >= 1 && size.constant() <= kLargest;
}

}  // namespace

bool many_small(const Type& type) {
  const Dim matrices = product(batch_of(type));
  return !is_complex(type.dtype) && is_small(type.dims.back()) && is_small(type.dims[type.dims.size() - 2]) &&
         !(matrices.is_constant() && matrices.constant() < kLeast);
}

void small_lu(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const int64_t n = type.dims.back().constant();
  Block block(c, product(batch_of(type)));
  const size_t factors = block.result(0, type.dtype, n * n), pivots = block.result(1, DType::I64, n),
               orders = block.result(2, DType::I64, n), x = block.operand(0, type.dtype, n * n);
  block.each(type.dtype, [&](Expr matrix) {
    Matrix u = block.load(x, matrix, n, n);
    std::vector<Expr> order;
    for (int64_t i = 0; i < n; ++i) order.push_back(b.index(i));
    const Expr zero = b.constant(type.dtype, 0), one = b.constant(type.dtype, 1);
    for (int64_t at = 0; at < n; ++at) {
      const auto k = static_cast<size_t>(at);
      Expr best = b.let(abs(u[k][k])), place = b.index(at);
      for (size_t i = k + 1; i < u.size(); ++i) {
        Expr size = b.let(abs(u[i][k])), larger = b.let(best < size);
        place = b.let(select(larger, b.index(static_cast<int64_t>(i)), place));
        best = b.let(select(larger, size, best));
      }
      block.store(pivots, at, matrix, place);
      for (size_t i = k + 1; i < u.size(); ++i) {
        Expr here = b.let(place == b.index(static_cast<int64_t>(i)));
        auto exchange = [&](Expr& x, Expr& y) {
          Expr before = x;
          x = b.let(select(here, y, x));
          y = b.let(select(here, before, y));
        };
        for (size_t j = 0; j < u.size(); ++j) exchange(u[k][j], u[i][j]);
        exchange(order[k], order[i]);
      }
      Expr own = u[k][k], none = b.let(own == zero), divisor = b.let(select(none, one, own));
      for (size_t i = k + 1; i < u.size(); ++i) {
        u[i][k] = b.let(select(none, zero, u[i][k] / divisor));
        for (size_t j = k + 1; j < u.size(); ++j) u[i][j] = b.let(u[i][j] - u[i][k] * u[k][j]);
      }
    }
    block.store(factors, u, matrix);
    for (int64_t i = 0; i < n; ++i) block.store(orders, i, matrix, order[static_cast<size_t>(i)]);
  });
}

void small_solve(NestContext& c, bool down, bool transposed, bool unit) {
  loop::Builder& b = *c.build;
  const Type &type = c.node->operand(0)->type(), &right = c.node->operand(1)->type();
  const int64_t n = type.dims.back().constant(), m = right.dims.back().constant();
  Block block(c, product(batch_of(type)));
  const size_t unknowns = block.result(0, type.dtype, n * m), triangle = block.operand(0, type.dtype, n * n),
               known = block.operand(1, type.dtype, n * m);
  block.each(type.dtype, [&](Expr matrix) {
    const Matrix a = block.load(triangle, matrix, n, n);
    Matrix x = block.load(known, matrix, n, m);
    for (int64_t step = 0; step < n; ++step) {
      const auto k = static_cast<size_t>(down ? step : n - 1 - step);
      for (Expr& e : x[k])
        if (!unit) e = b.let(e / a[k][k]);
      for (size_t i = down ? k + 1 : 0; i < (down ? x.size() : k); ++i)
        for (size_t j = 0; j < x[i].size(); ++j)
          x[i][j] = b.let(x[i][j] - (transposed ? a[k][i] : a[i][k]) * x[k][j]);
    }
    block.store(unknowns, x, matrix);
  });
}

void small_cholesky(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const int64_t n = type.dims.back().constant();
  Block block(c, product(batch_of(type)));
  const size_t factor = block.result(0, type.dtype, n * n), x = block.operand(0, type.dtype, n * n);
  block.each(type.dtype, [&](Expr matrix) {
    Matrix u = block.load(x, matrix, n, n);  // of which the lower triangle is read, and becomes the factor
    for (size_t k = 0; k < u.size(); ++k) {
      u[k][k] = b.let(sqrt(u[k][k]));
      for (size_t j = k + 1; j < u.size(); ++j) u[j][k] = b.let(u[j][k] / u[k][k]);
      for (size_t i = k + 1; i < u.size(); ++i)
        for (size_t j = i; j < u.size(); ++j) u[j][i] = b.let(u[j][i] - u[i][k] * u[j][k]);
    }
    for (size_t i = 0; i < u.size(); ++i)
      for (size_t j = i + 1; j < u.size(); ++j) u[i][j] = b.constant(type.dtype, 0);
    block.store(factor, u, matrix);
  });
}

}  // namespace ig::ops::factors
