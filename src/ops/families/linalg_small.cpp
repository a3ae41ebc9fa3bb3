// Many small matrices at once: each lane of a vector is a matrix. A block's matrices lie in scratch, the same
// element of all of them together, where loops go through them as through one. The operations of a matrix,
// and their order, are those of the kernels for one matrix at a time, and so are the bits; rows change places
// by selects.
#include "ops/families/linalg_small.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ig::ops::factors {
namespace {

constexpr int64_t kTile = 64;     // matrices of a block
constexpr int64_t kLargest = 12;  // rows and columns: 36 KiB of float32
constexpr int64_t kLeast = 8;     // matrices

// One matrix, or row, of each lane.
struct Lanes {
  loop::Builder& b;
  uint32_t scratch;
  int64_t columns;
  Expr lane;
  Expr load(Expr i, Expr j) const { return b.let(b.load(scratch, place(i, j))); }
  void store(Expr i, Expr j, Expr value) const { b.store(scratch, place(i, j), value); }
  // Elements j of rows x and y, in the lanes where that is so.
  void exchange(Expr where, Expr x, Expr y, Expr j) const {
    Expr first = load(x, j), second = load(y, j);
    store(x, j, b.let(select(where, second, first)));
    store(y, j, b.let(select(where, first, second)));
  }

 private:
  Expr place(Expr i, Expr j) const { return (i * columns + j) * kTile + lane; }
};

// The matrices of a block, in scratch.
class Tile {
 public:
  Tile(NestContext& c, const Dim& matrices) : c_(c), b_(*c.build) {
    c.set_blocks(ceildiv(matrices, Dim(kTile)));
    first_ = b_.let(b_.block() * kTile);
    count_ = b_.let(lesser(b_.index(kTile), c.size(matrices) - first_));
  }
  // Scratch with an operand's matrices, and scratch for a result's, which are given at the end.
  uint32_t operand(size_t number, DType dtype, int64_t rows, int64_t columns) {
    const uint32_t scratch = matrices(dtype, rows, columns);
    const int64_t elements = rows * columns;
    b_.transpose({scratch, b_.index(0), b_.index(kTile)},
                 {c_.operands[number], first_ * elements, b_.index(elements)}, count_, b_.index(elements));
    return scratch;
  }
  // That scratch holds a result at the end.
  void gives(size_t number, uint32_t scratch) { results_.push_back({number, scratch}); }
  uint32_t result(size_t number, DType dtype, int64_t rows, int64_t columns) {
    const uint32_t scratch = matrices(dtype, rows, columns);
    gives(number, scratch);
    return scratch;
  }
  Lanes of(uint32_t scratch, Expr lane) const { return {b_, scratch, shapes_.at(scratch).second, lane}; }
  static int lanes_of(DType dtype) { return 64 / static_cast<int>(size_of(dtype)); }
  // `body` gets the lanes of a vector, whose matrices in a scratch are `of` it.
  void each(DType dtype, const std::function<void(Expr lane)>& body) {
    b_.vector_for(b_.index(0), count_, lanes_of(dtype), body);
    for (auto [number, scratch] : results_) {
      const auto [rows, columns] = shapes_.at(scratch);
      const int64_t elements = rows * columns;
      b_.transpose({c_.results[number], first_ * elements, b_.index(elements)},
                   {scratch, b_.index(0), b_.index(kTile)}, b_.index(elements), count_);
    }
  }

 private:
  uint32_t matrices(DType dtype, int64_t rows, int64_t columns) {
    const uint32_t scratch = b_.add_scratch(dtype, Dim(rows * columns * kTile), "matrices");
    shapes_[scratch] = {rows, columns};
    return scratch;
  }
  NestContext& c_;
  loop::Builder& b_;
  Expr first_, count_;
  std::map<uint32_t, std::pair<int64_t, int64_t>> shapes_;
  std::vector<std::pair<size_t, uint32_t>> results_;
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
  const int64_t size = type.dims.back().constant();
  const Expr none = b.index(0), one = b.index(1), n = b.index(size);
  Tile tile(c, product(batch_of(type)));
  const uint32_t factors = tile.operand(0, type.dtype, size, size);
  tile.gives(0, factors);
  const uint32_t pivots = tile.result(1, DType::I64, size, 1), orders = tile.result(2, DType::I64, size, 1);
  const int lanes = Tile::lanes_of(type.dtype);
  const uint32_t best = b.local(type.dtype, lanes, 1, "best"), place = b.local(DType::I64, lanes, 1, "place");
  tile.each(type.dtype, [&](Expr lane) {
    const Lanes u = tile.of(factors, lane), pivot = tile.of(pivots, lane), order = tile.of(orders, lane);
    b.serial_for(none, n, [&](Expr i) { order.store(i, none, i); });
    b.serial_for(none, n, [&](Expr k) {
      b.assign(best, abs(u.load(k, k)));
      b.assign(place, k);
      b.serial_for(k + one, n, [&](Expr i) {
        Expr mine = b.let(abs(u.load(i, k))), larger = b.let(b.read(best) < mine);
        b.assign(place, select(larger, i, b.read(place)));
        b.assign(best, select(larger, mine, b.read(best)));
      });
      pivot.store(k, none, b.read(place));
      b.serial_for(k + one, n, [&](Expr i) {
        Expr here = b.let(b.read(place) == i);
        b.serial_for(none, n, [&](Expr j) { u.exchange(here, k, i, j); });
        order.exchange(here, k, i, none);
      });
      Expr own = u.load(k, k), zero = b.constant(type.dtype, 0), singular = b.let(own == zero);
      Expr divisor = b.let(select(singular, b.constant(type.dtype, 1), own));
      b.serial_for(k + one, n, [&](Expr i) {
        Expr factor = b.let(select(singular, zero, u.load(i, k) / divisor));
        u.store(i, k, factor);
        b.serial_for(k + one, n, [&](Expr j) { u.store(i, j, fma(-factor, u.load(k, j), u.load(i, j))); });
      });
    });
  });
}

void small_solve(NestContext& c, bool down, bool transposed, bool unit) {
  loop::Builder& b = *c.build;
  const Type &type = c.node->operand(0)->type(), &right = c.node->operand(1)->type();
  const int64_t size = type.dims.back().constant(), columns = right.dims.back().constant();
  const Expr none = b.index(0), one = b.index(1), n = b.index(size), m = b.index(columns);
  Tile tile(c, product(batch_of(type)));
  const uint32_t triangle = tile.operand(0, type.dtype, size, size),
                 unknowns = tile.operand(1, type.dtype, size, columns);
  tile.gives(0, unknowns);
  tile.each(type.dtype, [&](Expr lane) {
    const Lanes a = tile.of(triangle, lane), x = tile.of(unknowns, lane);
    b.serial_for(none, n, [&](Expr step) {
      Expr k = b.let(down ? step : n - one - step);
      if (!unit) {
        Expr own = a.load(k, k);
        b.serial_for(none, m, [&](Expr j) { x.store(k, j, x.load(k, j) / own); });
      }
      b.serial_for(down ? k + one : none, down ? n : k, [&](Expr i) {
        Expr factor = transposed ? a.load(k, i) : a.load(i, k);
        b.serial_for(none, m, [&](Expr j) { x.store(i, j, fma(-factor, x.load(k, j), x.load(i, j))); });
      });
    });
  });
}

void small_cholesky(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const int64_t size = type.dims.back().constant();
  const Expr none = b.index(0), one = b.index(1), n = b.index(size);
  Tile tile(c, product(batch_of(type)));
  const uint32_t factor = tile.operand(0, type.dtype, size, size);  // of which the lower triangle is read
  tile.gives(0, factor);
  tile.each(type.dtype, [&](Expr lane) {
    const Lanes u = tile.of(factor, lane);
    b.serial_for(none, n, [&](Expr k) {
      Expr root = b.let(sqrt(u.load(k, k)));
      u.store(k, k, root);
      b.serial_for(k + one, n, [&](Expr j) {
        u.store(j, k, u.load(j, k) / root);
        u.store(k, j, b.constant(type.dtype, 0));
      });
      b.serial_for(k + one, n, [&](Expr i) {
        Expr left = u.load(i, k);
        b.serial_for(i, n, [&](Expr j) { u.store(j, i, fma(-left, u.load(j, k), u.load(j, i))); });
      });
    });
  });
}

}  // namespace ig::ops::factors
