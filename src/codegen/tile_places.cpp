// The odometer of a convolution's places.
#include "codegen/tile_places.h"

#include <algorithm>

#include "codegen/register_tile.h"

namespace ig::codegen {

TilePlaces::TilePlaces(loop::Builder& build, int64_t most, size_t axes, int64_t keeps, bool stores)
    : build_(&build), most_(most), keeps_(keeps), axes_(axes), stores_(stores) {
  scratch_ = build.add_scratch(DType::I64, Dim(static_cast<int64_t>(kPlace + 1 + axes) * most), "places");
}

void TilePlaces::begin(const Walk& walk) {
  where_.clear();
  for (size_t s = 0; s <= walk.parts.size(); ++s) {
    where_.push_back(build_->local(DType::I64, 1, 1, "at"));
    build_->assign(where_[s], build_->index(0));
  }
}

TilePlaces::Expr TilePlaces::noted(size_t fact, Expr i) const {
  return build_->let(build_->load(scratch_, at(fact, i)));
}

std::vector<TilePlaces::Expr> TilePlaces::place(Expr i) const {
  std::vector<Expr> out;
  for (size_t s = 0; s <= axes_; ++s) out.push_back(noted(kPlace + s, i));
  return out;
}

// The last axis counts fastest. `by` is 0, 1, or so many that the row has them left.
void TilePlaces::advance(const Walk& walk, Expr by) {
  Expr carry = by;
  for (size_t s = axes_ + 1; s-- > 0;) {
    Expr next = build_->let(build_->read(where_[s]) + carry);
    if (s == 0) return build_->assign(where_[s], next);
    Expr over = build_->let(next == walk.parts[s - 1].count);
    build_->assign(where_[s], loop::select(over, build_->index(0), next));
    carry = build_->let(loop::select(over, build_->index(1), build_->index(0)));
  }
}

// What is noted of the next place, and by how much it grows to the one behind it in its row.
void TilePlaces::facts(const Walk& walk,
                       const std::function<void(size_t fact, Expr value, Expr step)>& tell) const {
  Expr number = build_->let(build_->read(where_[0]));
  Expr corner = walk.origin + number * walk.image_step, row = number;
  if (stores_) tell(kPlace, number, build_->index(0));
  for (size_t s = 0; s < axes_; ++s) {
    const WindowPart& part = walk.parts[s];
    Expr k = build_->let(build_->read(where_[s + 1]));
    corner = corner + k * walk.steps[s];
    Expr here = build_->let(part.first + k * part.step);
    if (stores_) tell(kPlace + 1 + s, here, build_->index(s + 1 == axes_ ? part.step : 0));
    row = s == 0 ? number * (walk.end_row - walk.first_row) + (here - walk.first_row)
                 : row * walk.space[s] + here;
  }
  tell(kCorner, build_->let(corner), walk.steps.back());
  if (keeps_ > 0) tell(kKept, build_->let(row * keeps_), build_->index(walk.parts.back().step * keeps_));
}

void TilePlaces::note(const Walk& walk, Expr left) {
  const Expr none = build_->index(0), one = build_->index(1), most = build_->index(most_);
  const Expr count = build_->let(loop::lesser(most, left));
  Expr in_row = build_->read(where_.back()) + count <= walk.parts.back().count;
  build_->if_then(
      build_->let(in_row),
      [&] {
        int64_t lanes = 1;
        while (lanes < 8 && most_ % (2 * lanes) == 0) lanes *= 2;
        facts(walk, [&](size_t fact, Expr value, Expr step) {
          build_->vector_for(none, most, static_cast<int>(lanes),
                             [&](Expr i) { build_->store(scratch_, at(fact, i), value + i * step); });
        });
        advance(walk, count);
      },
      [&] {
        build_->serial_for(none, count, [&](Expr i) {
          facts(walk, [&](size_t fact, Expr value, Expr) { build_->store(scratch_, at(fact, i), value); });
          advance(walk, one);
        });
      });
  build_->serial_for(count, most, [&](Expr i) {
    for (size_t fact = 0; fact < kPlace + 1 + axes_; ++fact)
      if (fact == kCorner || (fact == kKept ? keeps_ > 0 : stores_))
        build_->store(scratch_, at(fact, i), noted(fact, count - one));
  });
}

bool fills_by_steps(const std::vector<WindowAxis>& axes, const Dim& chunk_rows, int64_t images,
                    int64_t inputs, TileHeights tile) {
  constexpr double kLeast = 0.97;
  constexpr int64_t kKept = 8;         // products, to clear, load and store a sum
  constexpr int64_t kLarge = 1 << 16;  // places times taps: the borders of such an axis weigh little
  if (axes.size() != 2 || axes[0].taps == 1 || axes[0].gaps > 1 || axes[1].gaps > 1) return false;
  const Dims sizes{axes[0].image, axes[1].image, axes[0].places, axes[1].places, chunk_rows};
  if (!constant_dims(sizes)) return false;
  for (size_t s = 0; s < 2; ++s)
    if (axes[s].places.constant() > kLarge / axes[s].taps) return false;
  const auto of_rows = axes[0].taps_seen(), of_columns = axes[1].taps_seen();
  // Columns that see the same taps; rows that do, from chunk to chunk.
  std::vector<std::pair<int64_t, int64_t>> columns;  // how many, and the taps of each
  for (size_t i = 0; i < of_columns.size(); ++i)
    if (i > 0 && of_columns[i] == of_columns[i - 1])
      ++columns.back().first;
    else
      columns.emplace_back(1, static_cast<int64_t>(of_columns[i].size()));
  double apart = 0, together = 0;
  auto add = [&](double& to, int64_t rows, int64_t taps, int64_t kept) {
    for (const auto& [count, across] : columns)
      to += static_cast<double>((taps * across * inputs + kept) *
                                rows_computed(tile.tall, tile.low, images * rows * count));
  };
  const int64_t all = axes[0].places.constant();
  for (int64_t first = 0; first < all; first += chunk_rows.constant()) {
    const int64_t end = std::min(all, first + chunk_rows.constant());
    for (int64_t row = first, alike = 1; row < end; row += alike, alike = 1) {
      while (row + alike < end &&
             of_rows[static_cast<size_t>(row + alike)] == of_rows[static_cast<size_t>(row)])
        ++alike;
      add(apart, alike, static_cast<int64_t>(of_rows[static_cast<size_t>(row)].size()), 0);
    }
    for (int64_t tap = 0; tap < axes[0].taps; ++tap) {
      int64_t rows = 0;
      for (int64_t row = first; row < end; ++row)
        rows += std::ranges::binary_search(of_rows[static_cast<size_t>(row)], tap) ? 1 : 0;
      add(together, rows, 1, kKept);
    }
  }
  return together < kLeast * apart;
}

}  // namespace ig::codegen
