// Kernels of one stage of folds with vectors along an axis that stays: each element of a vector belongs to an
// output of its own. A column kernel folds other axes than the last one; where what it reads lies across the
// last axis in memory, a row kernel goes the same way (ops::fold_walk), and what lies across this walk in
// turn is turned over by tiles. The order of summation (lower_fold.cpp) is that of the fold, whichever way
// the kernel walks.
#include <algorithm>
#include <functional>
#include <memory>

#include "codegen/cuts.h"
#include "codegen/fold_kernel.h"
#include "codegen/turned_tiles.h"

namespace ig::codegen {
namespace {

using loop::Expr;

// The order of summation within an output: one element after the other, or lane by lane as in a row.
enum class Order : uint8_t {
  Plain,
  Lanes,       // lane l takes positions l, l + lanes, …
  RowsOfLanes  // the same within each row of the last folded axis, row after row
};

// How a kernel walks along an axis that stays.
struct Walk {
  size_t along = 0;
  Order order = Order::Plain;
  int64_t panel = 1024;                      // columns of a block
  int64_t piece = 0;                         // positions of a piece of the order of summation; 0: all are one
  std::vector<int> lanes;                    // of the order, of each fold
  std::vector<ops::Across::Operand> beside;  // to be asked for ahead
  ops::Across turned;
};

// The columns that a block folds: a panel of neighbours. Row after row goes into their running values, which
// keeps every load contiguous.
class Columns {
 public:
  // The running values of each fold, for the vector of columns from j on.
  using States = std::vector<std::vector<Expr>>;
  using Take = std::function<void(Expr j, const States&)>;

  Columns(GroupEmitter& emit, const Dims& domain, const Ints& axes, const Walk& walk, Expr block)
      : emit_(emit),
        build_(emit.build),
        domain_(domain),
        axes_(axes),
        kept_(pick(domain, axes, false)),
        folded_(pick(domain, axes, true)),
        walk_(walk),
        narrow_(width().is_constant() && width().constant() <= kNarrow) {
    for (size_t axis = 0; axis < walk.along; ++axis) place_ += is_folded(axis) ? 0 : 1;
    Dims outer = kept_;
    outer.erase(outer.begin() + static_cast<std::ptrdiff_t>(place_));
    Expr panels = emit.size(ceildiv(width(), Dim(walk.panel)));
    outer_ = emit.split(block / panels, outer);
    start_ = (block % panels) * build_.index(walk.panel);
    width_ = loop::lesser(build_.index(walk.panel), emit.size(width()) - start_);
    lanes_ = natural_lanes(emit.target, widest_element(emit.region));
    if (!narrow_) return;
    int64_t lanes = 1;
    while (lanes < width().constant()) lanes *= 2;
    start_ = build_.index(0), width_ = emit.size(width());
    lanes_ = in_registers() ? static_cast<int>(lanes) : std::min(static_cast<int>(lanes), lanes_);
  }

  int lanes() const { return lanes_; }
  Expr element(Expr j) { return emit_.flat(column(j), kept_); }
  void each(const std::function<void(Expr j)>& body) {
    if (emit_.cuts.empty()) return emit_.vector(build_.index(0), width_, lanes_, body);
    emit_.vector_columns(start_, start_ + width_, lanes_, [&](Expr column) { body(column - start_); });
  }
  // Memory for a panel's running values of each fold, so many times.
  std::vector<std::vector<uint32_t>> scratch(std::vector<Fold>& folds, std::span<const int> times) {
    std::vector<std::vector<uint32_t>> out;
    for (size_t f = 0; f < folds.size(); ++f) {
      out.emplace_back();
      for (Expr init : folds[f].init())
        out.back().push_back(build_.add_scratch(init.type(), Dim(panel() * times[f]), "panel"));
    }
    return out;
  }
  States load(const std::vector<std::vector<uint32_t>>& buffers, Expr at) {
    States out;
    for (const std::vector<uint32_t>& of_fold : buffers) out.push_back(load_all(build_, of_fold, at));
    return out;
  }

  // The positions [begin, end) of every column, folded.
  void fold(std::vector<Fold>& folds, Expr begin, Expr end, const Take& take) {
    if (in_registers())
      return each([&](Expr j) {
        for (Fold& fold : folds) fold.open(lanes_);
        emit_.serial(begin, end, [&](Expr position) {
          GroupEmitter::Index index = index_at(emit_.split(position, folded_), j);
          for (Fold& fold : folds) fold.take(fold.operands_at(index), position);
        });
        States states;
        for (Fold& fold : folds) states.push_back(fold.columns());
        take(j, states);
      });
    const auto memory = scratch(folds, walk_.lanes);
    for (size_t f = 0; f < folds.size(); ++f)
      each_lane(walk_.lanes[f], [&](Expr lane) {
        each([&](Expr j) { store_all(build_, memory[f], lane * panel() + j, folds[f].init()); });
      });
    if (walk_.turned.operands.empty()) {
      take_rows(folds, memory, begin, end);
    } else {
      TurnedTiles tiles(emit_, walk_.turned, walk_.along, kTile, panel());
      Expr count = (end - begin + build_.index(kTile - 1)) / build_.index(kTile);
      emit_.serial(build_.index(0), count, [&](Expr tile) {
        Expr first = build_.let(begin + tile * kTile);
        Expr positions = build_.let(loop::lesser(build_.index(kTile), end - first));
        tiles.turn(index_at({first}, build_.index(0)), positions, width_);
        take_rows(folds, memory, first, first + positions);
      });
    }
    for (size_t f = 0; f < folds.size(); ++f) join_lanes(folds[f], memory[f], walk_.lanes[f]);
    each([&](Expr j) { take(j, load(memory, j)); });
  }

  // The kernel's results, from what the folds came to.
  void store(std::vector<Fold>& folds, Expr j, const States& states) {
    for (size_t f = 0; f < folds.size(); ++f) pin_results(emit_, folds[f], states[f]);
    const GroupEmitter::Index index = column(j);
    std::vector<Expr> values;
    for (Value v : emit_.region.results()) values.push_back(build_.let(emit_.element(v, index)));
    for (size_t i = 0; i < values.size(); ++i) emit_.store_result(i, element(j), values[i]);
  }

 private:
  static constexpr int64_t kNarrow = 64, kTile = 64;  // kTile: positions of what is turned over at a time

  const Dim& width() const { return domain_[walk_.along]; }
  int64_t panel() const { return narrow_ ? std::max<int64_t>(lanes_, width().constant()) : walk_.panel; }
  // All columns are one vector, which stays in registers.
  bool in_registers() const {
    return narrow_ && walk_.turned.operands.empty() && walk_.order == Order::Plain;
  }
  bool is_folded(size_t axis) const {
    return std::find(axes_.begin(), axes_.end(), static_cast<int64_t>(axis)) != axes_.end();
  }
  GroupEmitter::Index column(Expr j) const {
    GroupEmitter::Index index = outer_;
    index.insert(index.begin() + static_cast<std::ptrdiff_t>(place_), start_ + j);
    return index;
  }
  GroupEmitter::Index index_at(const GroupEmitter::Index& folded_index, Expr j) const {
    GroupEmitter::Index index;
    const GroupEmitter::Index kept_index = column(j);
    size_t from_kept = 0, from_folded = 0;
    for (size_t axis = 0; axis < domain_.size(); ++axis)
      index.push_back(is_folded(axis) ? folded_index[from_folded++] : kept_index[from_kept++]);
    return index;
  }
  void each_lane(int64_t count, const std::function<void(Expr lane)>& body) {
    if (count == 1) return body(build_.index(0));
    emit_.serial(build_.index(0), build_.index(count), body);
  }
  // Where the running value of a column stands, of the lane that takes this position.
  Expr state_of(int lanes, Expr position, const GroupEmitter::Index& folded_index, Expr j) {
    if (lanes == 1) return j;
    Expr number = walk_.order == Order::RowsOfLanes ? folded_index.back() : position;
    return (number % build_.index(lanes)) * build_.index(panel()) + j;
  }
  // Positions that one fold takes at a time, in order, so that the running values go through the cache once
  // for all of them: many of long rows that are only read, two of rows that are too short for a loop to be
  // worth its start. Rows between are read one by one where the processor follows a few long streams, or one,
  // but not the many short ones of rows side by side. More of what computes would spill its registers.
  int64_t taken_together(std::vector<Fold>& folds) const {
    constexpr int64_t kMany = 8, kLongBytes = 16 << 10, kFollowedBytes = 256, kFew = 2, kShortBytes = 512;
    if (folds.size() != 1 || walk_.order != Order::Plain || !folds[0].simple()) return 1;
    if (!walk_.turned.operands.empty()) return kMany;  // from the first cache
    if (!width().is_constant()) return 1;
    const int64_t bytes = width().constant() * widest_element(emit_.region);
    const int64_t least = emit_.target.follows_short_rows && emit_.traffic.far ? kFollowedBytes : kLongBytes;
    if (bytes >= least && !folds[0].node()->operand(0)->node()) return kMany;
    return bytes < kShortBytes && !elements_are_dear(emit_.region, domain_) ? kFew : 1;
  }
  void take_rows(std::vector<Fold>& folds, const std::vector<std::vector<uint32_t>>& memory, Expr begin,
                 Expr end) {
    const int64_t together = taken_together(folds);
    if (together == 1) return take_rows(folds, memory, begin, end, 1);
    Expr turns = build_.let(end / build_.index(together));
    take_rows(folds, memory, begin / build_.index(together), turns, together);
    take_rows(folds, memory, turns * together, end, 1);
  }
  void take_rows(std::vector<Fold>& folds, const std::vector<std::vector<uint32_t>>& memory, Expr begin,
                 Expr end, int64_t together) {
    emit_.serial(begin, end, [&](Expr turn) {
      std::vector<Expr> positions;
      std::vector<GroupEmitter::Index> folded_index;
      for (int64_t r = 0; r < together; ++r) {
        positions.push_back(turn * together + build_.index(r));
        folded_index.push_back(emit_.split(positions.back(), folded_));
      }
      each([&](Expr j) {
        for (const ops::Across::Operand& operand : walk_.beside) ask_ahead(operand, folded_index[0], j);
        for (size_t f = 0; f < folds.size(); ++f) {
          Expr at = state_of(walk_.lanes[f], positions[0], folded_index[0], j);
          std::vector<Expr> now = load_all(build_, memory[f], at);
          for (size_t r = 0; r < positions.size(); ++r)
            now = folds[f].combine(now, folds[f].operands_at(index_at(folded_index[r], j)), positions[r]);
          store_all(build_, memory[f], at, now);
        }
      });
    });
  }
  // A panel's rows lie too far from each other for the processor to foresee.
  void ask_ahead(const ops::Across::Operand& operand, GroupEmitter::Index position, Expr j) {
    constexpr int64_t kAhead = 8192;  // bytes
    const Value arg = operand.view.arg;
    const int64_t rows = kAhead / (walk_.panel * static_cast<int64_t>(size_of(arg->type().dtype)));
    position.back() = position.back() + build_.index(std::max<int64_t>(1, rows));
    build_.prefetch(emit_.buffer_of_arg(arg), place_in(emit_, operand.view, index_at(position, j)));
  }
  // Lanes fold as a binary tree: lane i with lane i + n/2.
  void join_lanes(Fold& fold, std::span<const uint32_t> memory, int lanes) {
    for (int64_t half = lanes / 2; half > 0; half /= 2)
      each_lane(half, [&](Expr lane) {
        each([&](Expr j) {
          Expr at = lane * panel() + j, other = (lane + build_.index(half)) * panel() + j;
          store_all(build_, memory, at,
                    fold.merge(load_all(build_, memory, at), load_all(build_, memory, other)));
        });
      });
  }

  GroupEmitter& emit_;
  loop::Builder& build_;
  const Dims domain_;
  const Ints axes_;
  const Dims kept_, folded_;
  const Walk& walk_;
  const bool narrow_;
  size_t place_ = 0;  // of the axis along which vectors go, among those that stay
  int lanes_ = 1;
  GroupEmitter::Index outer_;
  Expr start_, width_;
};

void fold_columns(GroupEmitter& emit, Kernel& kernel, const Dims& domain, const Ints& axes,
                  const Walk& walk) {
  loop::Builder& build = emit.build;
  const Dims kept = pick(domain, axes, false);
  const Dim positions = product(pick(domain, axes, true)),
            panels = ceildiv(domain[walk.along], Dim(walk.panel));
  const Dim pieces = walk.piece > 0 ? ceildiv(positions, Dim(walk.piece)) : kOne;
  Dim blocks = panels;
  for (size_t axis = 0; axis < domain.size(); ++axis)
    if (axis != walk.along && std::ranges::find(axes, static_cast<int64_t>(axis)) == axes.end())
      blocks = blocks * domain[axis];
  kernel.blocks = blocks;
  kernel.grain = 1;
  set_fold_grain(kernel, positions * min(domain[walk.along], Dim(walk.panel)));
  if (walk.along + 1 == domain.size()) emit.cuts = cuts_of_folds(emit, domain, 1), emit.cuts_groups = true;
  std::vector<Fold> folds = folds_of(emit);
  if (walk.piece > 0 && goes_twice(emit, blocks, positions, walk.piece)) {
    PieceKernel first(emit, kernel, product(kept) * pieces);
    first.emit.cuts = emit.cuts, first.emit.cuts_groups = true;
    std::vector<Fold> each = folds_of(first.emit);
    std::vector<std::vector<uint32_t>> parts;
    for (Fold& fold : each) parts.push_back(first.temporaries(fold.init(), build));
    loop::Builder& build_first = first.emit.build;
    Expr count = first.emit.size(pieces), number = build_first.let(build_first.block() % count);
    Columns some(first.emit, domain, axes, walk, build_first.let(build_first.block() / count));
    auto [begin, end] = range_of(first.emit, number, walk.piece, positions);
    some.fold(each, begin, end, [&](Expr j, const Columns::States& states) {
      for (size_t f = 0; f < each.size(); ++f)
        store_all(build_first, parts[f], number * first.emit.size(product(kept)) + some.element(j),
                  states[f]);
    });
    first.finish(blocks * pieces, min(domain[walk.along], Dim(walk.panel)) * Dim(walk.piece));
    set_fold_grain(kernel, pieces * min(domain[walk.along], Dim(walk.panel)));
    Columns all(emit, domain, axes, walk, build.block());
    return all.each([&](Expr j) {
      for (Fold& fold : folds) fold.open_pieces(all.lanes());
      emit.serial(build.index(0), emit.size(pieces), [&](Expr piece) {
        for (size_t f = 0; f < folds.size(); ++f)
          folds[f].add_piece(load_all(build, parts[f], piece * emit.size(product(kept)) + all.element(j)));
      });
      Columns::States states;
      for (Fold& fold : folds) states.push_back(fold.totals());
      all.store(folds, j, states);
    });
  }
  Columns panel(emit, domain, axes, walk, build.block());
  if (walk.piece == 0 || !by_pieces(folds, positions, walk.piece))
    return panel.fold(folds, build.index(0), emit.size(positions),
                      [&](Expr j, const Columns::States& states) { panel.store(folds, j, states); });
  const auto totals = panel.scratch(folds, std::vector<int>(folds.size(), 1));
  emit.serial(build.index(0), emit.size(max(pieces, kOne)), [&](Expr piece) {
    auto [begin, end] = range_of(emit, piece, walk.piece, positions);
    panel.fold(folds, begin, end, [&](Expr j, const Columns::States& states) {
      for (size_t f = 0; f < folds.size(); ++f) {
        std::vector<Expr> sum = folds[f].merge(load_all(build, totals[f], j), states[f]);
        for (size_t s = 0; s < sum.size(); ++s)
          sum[s] = loop::select(piece == build.index(0), states[f][s], sum[s]);
        store_all(build, totals[f], j, sum);
      }
    });
  });
  panel.each([&](Expr j) { panel.store(folds, j, panel.load(totals, j)); });
}

// Columns of a block that walks whole rows: the longer what it reads at a time, the faster it comes from
// memory. Their running values leave room in the first cache, and some blocks are left to share.
int64_t widest_panel(const Dims& domain, const Ints& axes, int element_bytes) {
  constexpr int64_t kLeast = 1024, kRunningBytes = 16 << 10, kShared = 4;
  const Dims kept = pick(domain, axes, false);
  const Dim positions = product(pick(domain, axes, true));
  if (!product(kept).is_constant() || !positions.is_constant()) return kLeast;
  const Dims outer(kept.begin(), kept.end() - 1);
  int64_t panel = kRunningBytes / element_bytes;
  auto blocks = [&] {
    return (product(outer) * ceildiv(positions, Dim(ops::kPieceOfColumn)) * ceildiv(kept.back(), Dim(panel)))
        .constant();
  };
  while (panel > kLeast && blocks() < kShared) panel /= 2;
  return std::max(panel, kLeast);
}

// The last axis is folded, and others that are not next to it: rows within rows.
void fold_rows(GroupEmitter& emit, Kernel& kernel, const Dims& domain, const Ints& axes) {
  loop::Builder& build = emit.build;
  const Block& region = emit.region;
  const Dims kept = pick(domain, axes, false), folded = pick(domain, axes, true);
  const Dims outer_folded(folded.begin(), folded.end() - 1);
  kernel.blocks = product(kept);
  kernel.grain = 1;
  set_fold_grain(kernel, product(folded));
  GroupEmitter::Index kept_index = emit.split(build.block(), kept);
  auto lanes_of = [&](const Node* node) {
    return lanes_of_short_fold(ops::fold_lanes(node->operand(0)->type().dtype), folded.back());
  };
  std::vector<Fold> folds = folds_of(emit);
  for (Fold& fold : folds) fold.open(lanes_of(fold.node()));
  Expr inner = emit.size(folded.back());
  emit.serial(build.index(0), emit.size(product(outer_folded)), [&](Expr outer) {
    GroupEmitter::Index outer_index = emit.split(outer, outer_folded);
    auto index_at = [&](Expr j) {
      GroupEmitter::Index index;
      size_t from_kept = 0, from_outer = 0;
      for (size_t axis = 0; axis < domain.size(); ++axis) {
        bool is_folded = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
        if (!is_folded)
          index.push_back(kept_index[from_kept++]);
        else
          index.push_back(axis + 1 == domain.size() ? j : outer_index[from_outer++]);
      }
      return index;
    };
    for (Fold& fold : folds) {
      auto step = [&](Expr j) { fold.take(fold.operands_at(index_at(j)), outer * inner + j); };
      emit.vector(build.index(0), inner, lanes_of(fold.node()), step);
    }
  });
  for (Fold& fold : folds) pin_results(emit, fold, fold.joined());
  for (size_t i = 0; i < region.results().size(); ++i)
    emit.store_result(i, build.block(), emit.element(region.results()[i], kept_index));
}

}  // namespace

void lower_along_kept(GroupEmitter& emit, Kernel& kernel, const ops::FoldWalk& how, bool rows) {
  constexpr int64_t kPanel = 256, kTiles = 64;  // whose lanes, or turned tiles, stay in the first cache
  const Ints& axes = first_fold(emit.region)->attrs().get(ops::kAxes);
  const Dims domain = first_fold(emit.region)->operand(0)->type().dims;
  const Dims folded = pick(domain, axes, true);
  const bool together = axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
  Walk walk{how.along,  Order::Plain, how.turned.operands.empty() ? kPanel : kTiles, ops::kPieceOfColumn, {},
            how.beside, how.turned};
  if (rows) walk.order = together ? Order::Lanes : Order::RowsOfLanes;
  if (rows) walk.piece = together ? ops::kPieceOfRow : 0;
  for (const Node* node : emit.region)
    if (is_fold(node))
      walk.lanes.push_back(
          !rows      ? 1
          : together ? lanes_of_row(emit.region, product(folded))
                     : lanes_of_short_fold(ops::fold_lanes(node->operand(0)->type().dtype), folded.back()));
  fold_columns(emit, kernel, domain, axes, walk);
}

void lower_column(GroupEmitter& emit, Kernel& kernel) {
  const Node* any = first_fold(emit.region);
  IG_CHECK(any != nullptr, "a column kernel without a fold");
  const Ints& axes = any->attrs().get(ops::kAxes);
  const Dims domain = any->operand(0)->type().dims;
  const size_t last = domain.size() - 1;
  const bool last_folded = !axes.empty() && axes.back() == static_cast<int64_t>(last);
  if (last_folded && axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size()))
    return lower_row(emit, kernel);
  if (std::optional<ops::FoldWalk> walk = ops::fold_walk(emit.region))
    return lower_along_kept(emit, kernel, *walk, last_folded);
  if (last_folded) return fold_rows(emit, kernel, domain, axes);
  Walk walk;
  walk.along = last;
  walk.panel = widest_panel(domain, axes, widest_element(emit.region));
  walk.piece = ops::kPieceOfColumn;
  walk.lanes.assign(folds_of(emit).size(), 1);
  fold_columns(emit, kernel, domain, axes, walk);
}

}  // namespace ig::codegen
