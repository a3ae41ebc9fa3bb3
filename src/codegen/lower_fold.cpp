// Kernels with folds.
//
// A row kernel folds over trailing axes: for each row, stage by stage, a loop over the row's columns folds
// what the stage needs (softmax: the largest, then the sum), and a last one writes the results; the row stays
// in cache, and what is dear to compute twice is kept in a scratch row. Column kernels, which fold over other
// axes, are lower_column.cpp (in several stages: lower_panel.cpp).
//
// Order of summation: within a row, lane l of fold_lanes() takes columns l, l + lanes, …; then lanes fold as
// a binary tree (lane i with lane i + n/2). Over several axes, outer ones are walked in order. In a column
// kernel whose last axis stays, each output folds its elements in order. Long rows and columns are folded
// piece by piece, and then the pieces in order. So the order depends on shape and dtype alone, and not on how
// the operand lies in memory: where what is folded was turned over, vectors go across the rows, and each lane
// of the order is an element of a vector's own.
//
// A few long rows or columns are no work for many threads, but their pieces are: a kernel of its own folds
// them (Kernel::first), and what they came to is folded behind it.
#include <algorithm>
#include <optional>

#include "codegen/cuts.h"
#include "codegen/fold_kernel.h"
#include "codegen/side_by_side.h"

namespace ig::codegen {
namespace {

using loop::Expr;
constexpr int64_t kBlockElements = 8192;
constexpr int64_t kLeastPrefetch = 64;      // elements of a row that are worth asking the cache for ahead
constexpr int64_t kLargestPrefetch = 8192;  // and at most: two rows of them have room in the second cache
constexpr int64_t kAhead = 8192;            // bytes that a processor takes in while a line is on its way

// What the widest fold adds up in.
DType widest_of_folds(const Block& region) {
  DType widest = DType::I8;
  for (const Node* node : region)
    if (is_fold(node))
      for (Value v : node->operands())
        if (size_of(compute_type(v->type().dtype)) > size_of(widest)) widest = compute_type(v->type().dtype);
  return widest;
}

// The lanes of those folds whose order shows; where there is none, any will do.
int lanes_of_folds(const Block& region) {
  int lanes = 0;
  for (const Node* node : region) {
    if (!is_fold(node) || !ops::order_shows(node)) continue;
    IG_CHECK(lanes == 0 || lanes == ops::ordered_lanes(node), "folds of two orders in one kernel of rows");
    lanes = ops::ordered_lanes(node);
  }
  return lanes > 0 ? lanes : ops::fold_lanes(widest_of_folds(region));
}

// An index with more axes behind it.
GroupEmitter::Index behind(GroupEmitter::Index row, const std::vector<Expr>& more) {
  row.insert(row.end(), more.begin(), more.end());
  return row;
}

void lower_rows_across(GroupEmitter& emit, Kernel& kernel, const Dims& kept, const Dims& folded, int lanes) {
  constexpr int64_t kTile = 64;
  loop::Builder& build = emit.build;
  const Dims outer(kept.begin(), kept.end() - 1);
  const int64_t columns = product(folded).constant();
  const Dim tiles = ceildiv(kept.back(), Dim(kTile));
  const int width = natural_lanes(emit.target, widest_element(emit.region));
  kernel.blocks = product(outer) * tiles;
  set_fold_grain(kernel, Dim(kTile * columns));
  std::vector<std::pair<const Node*, uint32_t>> folds;
  for (Node* node : emit.region)
    if (is_fold(node))
      folds.emplace_back(node, build.add_scratch(compute_type(node->operand(0)->type().dtype),
                                                 Dim(columns * kTile), "columns"));
  Expr count = emit.size(kept.back()), block = build.block();
  Expr begin = build.let((block % emit.size(tiles)) * build.index(kTile));
  Expr end = build.let(loop::lesser(begin + build.index(kTile), count));
  Expr outer_flat = build.let(block / emit.size(tiles));
  GroupEmitter::Index row = emit.split(outer_flat, outer);
  emit.serial(build.index(0), build.index(columns), [&](Expr column) {
    GroupEmitter::Index place = emit.split(column, folded);
    emit.vector(begin, end, width, [&](Expr i) {
      GroupEmitter::Index index = row;
      index.push_back(i);
      index.insert(index.end(), place.begin(), place.end());
      for (auto [node, buffer] : folds)
        build.store(buffer, column * kTile + (i - begin), emit.element(node->operand(0), index));
    });
  });
  emit.vector(begin, end, width, [&](Expr i) {
    for (auto [node, buffer] : folds) {
      std::vector<Expr> elements;
      for (int64_t c = 0; c < columns; ++c)
        elements.push_back(build.let(build.load(buffer, build.index(c * kTile) + (i - begin))));
      Expr value = Fold(emit, node).in_order_of_lanes(elements, lanes)[0];
      emit.pin(node->result(), [value](std::span<const Expr>) { return value; });
    }
    GroupEmitter::Index index = row;
    index.push_back(i);
    std::vector<Expr> values;
    for (Value v : emit.region.results()) values.push_back(build.let(emit.element(v, index)));
    for (size_t r = 0; r < values.size(); ++r) emit.store_result(r, outer_flat * count + i, values[r]);
  });
}

// Rows of few elements (the coordinates of a point, the colours of a pixel) are folded side by side, where
// there are enough of them along an axis: each lane is a row. What is computed of a row, be it a root, is
// computed in vectors too; results of all elements wait in a tile, turned over at its end. Rows that are cut
// into parts shorter than a group of lanes are folded so up to some more elements: each element is told by
// itself which way it takes; and so are rows that are searched, whose lanes are dear to join.
bool rows_go_side_by_side(GroupEmitter& emit, const Dims& domain, const Dims& kept, const Dim& columns,
                          int lanes) {
  constexpr int64_t kFewColumns = 16, kSomeColumns = 64, kLeastRows = 8;
  if (kept.empty() || !columns.is_constant() || columns.constant() < 2 || columns.constant() > kSomeColumns)
    return false;
  if (kept.back().is_constant() && kept.back().constant() < kLeastRows) return false;
  const std::vector<int64_t> cuts =
      cuts_of_folds(emit, domain, static_cast<int>(domain.size() - kept.size()));
  const bool cut = !cuts.empty() && columns.constant() < static_cast<int64_t>(cuts.size() - 1) * lanes;
  const int64_t most_nodes = cut ? 1024 : 256;  // each has code for every column
  int64_t nodes = 0;
  bool in_order = true;
  for (const Node* node : emit.region) {
    ++nodes;
    if (!is_fold(node)) continue;
    if (node->operands().size() != 1) return false;
    in_order &= Fold(emit, node).goes_in_order();
  }
  if (!cut && !in_order && columns.constant() > kFewColumns) return false;
  return nodes * columns.constant() <= most_nodes;
}

void lower_rows_side_by_side(GroupEmitter& emit, Kernel& kernel, const FoldPlan& plan, const Dims& kept,
                             const Dims& folded, int lanes) {
  loop::Builder& build = emit.build;
  const Block& region = emit.region;
  const Dims domain = first_fold(region)->operand(0)->type().dims;
  const int64_t columns = product(folded).constant();
  emit.cuts = cuts_of_rows(emit, kept, folded), emit.cuts_groups = true;
  SideBySide rows(emit, kernel, kept, columns);
  set_fold_grain(kernel, Dim(SideBySide::rows_of_block() * columns));
  rows.each_row([&](const GroupEmitter::Index& row) {
    std::vector<GroupEmitter::Index> at;  // the row's elements
    for (int64_t c = 0; c < columns; ++c) at.push_back(behind(row, emit.split(build.index(c), folded)));
    auto elements_of = [&](Value v) {
      std::vector<Expr> out;
      for (const GroupEmitter::Index& index : at) {
        out.push_back(build.let(emit.element(v, index)));
        emit.know(v, index, out.back());
      }
      return out;
    };
    for (int stage = 0; stage < plan.stages(); ++stage) {
      for (const Node* node : plan.kept())
        if (plan.stage_of(node) == stage) elements_of(node->result());
      for (Node* node : region) {
        if (!is_fold(node) || plan.stage_of(node) != stage) continue;
        const std::vector<Expr> values =
            Fold(emit, node).in_order_of_lanes(elements_of(node->operand(0)), lanes);
        for (size_t r = 0; r < values.size(); ++r)
          emit.pin(node->result(r), [value = values[r]](std::span<const Expr>) { return value; });
      }
    }
    for (size_t r = 0; r < region.results().size(); ++r) {
      Value result = region.results()[r];
      if (result->type().dims == domain) {
        rows.store(r, elements_of(result));
        continue;
      }
      IG_CHECK(result->type().dims == kept, "a row kernel gives {}", result->type().str());
      rows.store(r, build.let(emit.element(result, row)));
    }
  });
  note_in_place(region, domain, kernel);
}

// The elements of rows, along one folded axis or several.
//
// Where nothing moves elements about, the place in the row is the place in memory, and several axes are as
// good as one. Else (a part of an image, a row of numbers spread over a matrix) each element would be told
// its index along each axis by divisions, and be gathered: there the walk goes line by line of the last axis,
// or of as many as make a line long enough, in the same groups of lanes. A group that reaches over the end of
// a line, or of a part of one, is one of few.
class RowWalk {
 public:
  using Body = std::function<void(const GroupEmitter::Index& index, Expr column)>;

  RowWalk(GroupEmitter& emit, const Dims& kept, const Dims& folded, int lanes)
      : emit_(emit), folded_(folded), lanes_(lanes), outer_axes_(folded.size()) {
    constexpr int64_t kLeastGroups = 2;
    const auto axes =
        std::count_if(folded.begin(), folded.end(), [](const Dim& size) { return !(size == kOne); });
    Dims domain = kept;
    domain.insert(domain.end(), folded.begin(), folded.end());
    if (axes >= 2 && !stays_in_order(domain, kept)) {
      Dim line = kOne;
      for (size_t i = folded.size(); i-- > 0 && folded[i].is_constant();) {
        line = line * folded[i];
        outer_axes_ = i;
        if (line.constant() >= kLeastGroups * lanes) break;
      }
      if (line.constant() >= kLeastGroups * lanes && outer_axes_ > 0) inner_ = line.constant();
    }
    if (inner_ == 0) outer_axes_ = 0;
    // Of a line, for the loops over its columns.
    emit.cuts = cuts_of_folds(emit, domain, static_cast<int>(folded.size() - outer_axes_));
  }
  // Elements [from, to) of a row, where `from` is a multiple of the lanes, and `to` one too or the end.
  void walk(const GroupEmitter::Index& row, Expr from, Expr to, const Body& body) {
    auto any = [&](Expr column) { body(behind(row, emit_.split(column, folded_)), column); };
    if (inner_ == 0) return emit_.vector_columns(from, to, lanes_, any);
    loop::Builder& build = emit_.build;
    Expr n = build.index(inner_), lanes = build.index(lanes_);
    emit_.serial(from / n, (to + n - build.index(1)) / n, [&](Expr line) {
      Expr begin = build.let(line * n), end = build.let(loop::lesser(begin + n, to));
      const GroupEmitter::Index outer = behind(row, emit_.split(line, lines()));
      auto inside = [&](Expr j) { body(behind(outer, emit_.split(j, line_dims())), begin + j); };
      Expr first = build.let(loop::greater(begin, from));
      if (inner_ % lanes_ == 0) {
        // Lines of which pieces of the order of summation, or the whole row, are made are whole ones.
        if (ops::kPieceOfRow % inner_ == 0 || (from->op == loop::Op::Const && to->op == loop::Op::Const))
          return emit_.vector_columns(build.index(0), n, lanes_, inside);
        return emit_.vector_columns(build.let(first - begin), build.let(end - begin), lanes_, inside);
      }
      // Groups that lie within a part of the line, and those that reach over the end of one.
      std::vector<int64_t> parts = emit_.cuts;
      if (parts.empty()) parts = {0, inner_};
      Expr at = build.let((first + lanes - build.index(1)) / lanes * lanes);
      for (size_t part = 0; part + 1 < parts.size(); ++part) {
        Expr last = build.let(loop::lesser(begin + parts[part + 1], end));
        Expr whole = build.let(last / lanes * lanes);
        Expr low = build.let(loop::greater(build.index(parts[part]), at - begin)),
             high = build.let(loop::lesser(build.index(parts[part + 1]), whole - begin));
        emit_.vector(low, high, lanes_, inside);
        at = build.let(loop::greater(at, whole));
        Expr next = build.let(select(at < last, loop::lesser(at + lanes, to), at));
        emit_.vector(at, next, lanes_, any);
        at = build.let(select(at < last, at + lanes, at));
      }
    });
  }
  // All elements of a row that begins at such a place of the results, to be written; `at_line` as for
  // vector_row.
  void write(const GroupEmitter::Index& row, Expr first, const Dim& columns, bool by_lines,
             const std::function<void(const GroupEmitter::Index&, Expr column, bool at_line)>& body) {
    if (inner_ == 0)
      return emit_.vector_row(first, columns, lanes_, by_lines, [&](Expr column, bool at_line) {
        body(behind(row, emit_.split(column, folded_)), column, at_line);
      });
    loop::Builder& build = emit_.build;
    emit_.serial(build.index(0), emit_.size(product(lines())), [&](Expr line) {
      const GroupEmitter::Index outer = behind(row, emit_.split(line, lines()));
      Expr begin = build.let(line * build.index(inner_));
      emit_.vector_row(first + begin, Dim(inner_), lanes_, by_lines, [&](Expr j, bool at_line) {
        body(behind(outer, emit_.split(j, line_dims())), begin + j, at_line);
      });
    });
  }

 private:
  Dims lines() const {
    return Dims(folded_.begin(), folded_.begin() + static_cast<std::ptrdiff_t>(outer_axes_));
  }
  Dims line_dims() const {
    return Dims(folded_.begin() + static_cast<std::ptrdiff_t>(outer_axes_), folded_.end());
  }
  // Whether all that is read lies in the order of the walk, or is one number, or one a row.
  bool stays_in_order(const Dims& domain, const Dims& kept) const {
    auto one_a_row = [&](const Type& type) {
      return type.dims == kept || product(type.dims) == kOne || product(type.dims) == product(kept);
    };
    for (const Node* node : emit_.region) {
      if (node == emit_.region.terminator() || is_fold(node)) continue;
      const Type& type = node->result()->type();
      if (ops::has(node, ops::Trait::Elementwise) || ops::has(node, ops::Trait::Relabel)) continue;
      if (node->operands().empty() ? !node->attrs().find(ops::kAxis.name) : one_a_row(type)) continue;
      const bool spreads = node->attrs().find(ops::kBroadcastDims.name) != nullptr;
      if (!spreads || type.dims != domain || !spreads_rows(node, kept.size())) return false;
    }
    return true;
  }
  // A number, or one a row, that is spread along the row.
  static bool spreads_rows(const Node* node, size_t kept) {
    const Ints& axes = node->attrs().get(ops::kBroadcastDims);
    const Dims& from = node->operand(0)->type().dims;
    for (size_t i = 0; i < from.size(); ++i)
      if (!(from[i] == kOne) && axes[i] >= static_cast<int64_t>(kept)) return false;
    return true;
  }

  GroupEmitter& emit_;
  Dims folded_;
  int lanes_;
  size_t outer_axes_;  // those that number the lines
  int64_t inner_ = 0;  // elements of a line of one or more last axes, where the walk goes line by line
};

// A few long rows with results for the rows alone.
void lower_rows_by_pieces(GroupEmitter& emit, Kernel& kernel, const Dims& kept, const Dims& folded,
                          int lanes) {
  const Dim columns = product(folded), pieces = ceildiv(columns, Dim(ops::kPieceOfRow)), rows = product(kept);
  PieceKernel first(emit, kernel, rows * pieces);
  std::vector<std::vector<uint32_t>> parts;
  std::vector<Fold> each = folds_of(first.emit);
  for (Fold& fold : each) parts.push_back(first.temporaries(fold.init(), emit.build));
  {
    loop::Builder& build = first.emit.build;
    Expr count = first.emit.size(pieces), block = build.block();
    auto [begin, end] = range_of(first.emit, block % count, ops::kPieceOfRow, columns);
    GroupEmitter::Index row = first.emit.split(build.let(block / count), kept);
    for (Fold& fold : each) fold.open(lanes);
    RowWalk(first.emit, kept, folded, lanes)
        .walk(row, begin, end, [&](const GroupEmitter::Index& index, Expr column) {
          for (Fold& fold : each) fold.take(fold.operands_at(index), column);
        });
    for (size_t f = 0; f < each.size(); ++f) store_all(build, parts[f], block, each[f].joined());
    first.finish(rows * pieces, Dim(ops::kPieceOfRow));
  }
  loop::Builder& build = emit.build;
  kernel.blocks = rows;
  kernel.grain = kFewBlocks;  // a thread adds all that there is
  Expr row = build.block(), count = emit.size(pieces);
  std::vector<Fold> folds = folds_of(emit);
  for (Fold& fold : folds) fold.open_pieces();
  emit.serial(build.index(0), count, [&](Expr piece) {
    for (size_t f = 0; f < folds.size(); ++f)
      folds[f].add_piece(load_all(build, parts[f], row * count + piece));
  });
  for (Fold& fold : folds) pin_results(emit, fold, fold.totals());
  const GroupEmitter::Index index = emit.split(row, kept);
  for (size_t i = 0; i < emit.region.results().size(); ++i)
    emit.store_result(i, row, emit.element(emit.region.results()[i], index));
}

}  // namespace

int lanes_of_row(const Block& region, const Dim& columns) {
  return lanes_of_short_fold(lanes_of_folds(region), columns);
}

void lower_row(GroupEmitter& emit, Kernel& kernel) {
  loop::Builder& build = emit.build;
  const Block& region = emit.region;
  const Node* any = first_fold(region);
  IG_CHECK(any != nullptr, "a row kernel without a fold");
  const Ints& axes = any->attrs().get(ops::kAxes);
  const Dims domain = any->operand(0)->type().dims;
  const Dims kept = pick(domain, axes, false), folded = pick(domain, axes, true);
  const Dim rows = product(kept), columns = product(folded);
  FoldPlan plan(region, domain);

  if (ops::short_rows_lie_across(region))
    return lower_rows_across(emit, kernel, kept, folded, lanes_of_folds(region));
  if (std::optional<ops::FoldWalk> walk = ops::fold_walk(region))
    return lower_along_kept(emit, kernel, *walk, true);
  const int lanes = lanes_of_row(region, columns);
  if (rows_go_side_by_side(emit, domain, kept, columns, lanes))
    return lower_rows_side_by_side(emit, kernel, plan, kept, folded, lanes);

  const bool any_full = std::any_of(region.results().begin(), region.results().end(),
                                    [&](Value v) { return v->type().dims == domain; });
  if (plan.stages() == 1 && !any_full && goes_twice(emit, rows, columns, ops::kPieceOfRow))
    return lower_rows_by_pieces(emit, kernel, kept, folded, lanes);

  std::unordered_map<const Node*, uint32_t> scratch;
  for (const Node* node : plan.kept())
    scratch[node] = build.add_scratch(compute_type(node->result()->type().dtype), columns, "row");

  Dim rows_a_block = max(kOne, floordiv(Dim(kBlockElements), max(columns, kOne)));
  kernel.blocks = ceildiv(rows, rows_a_block);
  kernel.grain = std::max<int64_t>(1, kGrainElements / kBlockElements);
  if (columns.is_constant() && columns.constant() > kBlockElements) set_fold_grain(kernel, columns);
  const Dim row_bytes = max(kOne, columns) * Dim(static_cast<int64_t>(size_of(widest_of_folds(region))));
  Expr rows_ahead = emit.size(max(kOne, floordiv(Dim(kAhead), row_bytes)));
  Expr per_block = emit.size(rows_a_block), n = emit.size(columns);
  Expr begin = build.block() * per_block;
  const bool by_lines = !elements_are_dear(region, domain);

  emit.serial(begin, loop::lesser(begin + per_block, emit.size(rows)), [&](Expr row) {
    Expr ahead = row + select(n <= build.index(kLargestPrefetch), rows_ahead, build.index(0));
    GroupEmitter::Index row_index = emit.split(row, kept);
    RowWalk elements(emit, kept, folded, lanes);
    // While a row is computed from the caches, the next ones are on their way to them. Rows that do not fit
    // there ask for what they have at hand already.
    auto fetch_next = [&](Expr column) {
      if (plan.stages() + (any_full ? 1 : 0) < 2) return;
      for (Value arg : region.args())
        if (arg->type().dims == domain && !(columns.is_constant() && columns.constant() < kLeastPrefetch))
          build.prefetch(emit.buffer_of_arg(arg), ahead * n + column);
    };
    const int fetching = std::min(1, plan.stages() - (any_full ? 0 : 1));
    // A store into a line that no cache holds waits for the line, so the row's results are asked for in the
    // pass before the one that writes them.
    auto fetch_results = [&](Expr column) {
      if (columns.is_constant() && columns.constant() < kLeastPrefetch) return;
      for (size_t i = 0; i < region.results().size(); ++i)
        if (region.results()[i]->type().dims == domain && !emit.streams(i))
          build.prefetch(emit.result_buffer(i), row * n + column);
    };
    for (int stage = 0; stage < plan.stages(); ++stage) {
      std::vector<Fold> folds;
      for (Node* node : region)
        if (is_fold(node) && plan.stage_of(node) == stage) folds.emplace_back(emit, node);
      std::vector<const Node*> keep;
      for (const Node* node : plan.kept())
        if (plan.stage_of(node) == stage) keep.push_back(node);
      auto walk = [&](Expr from, Expr to) {
        for (Fold& fold : folds) fold.open(lanes);
        elements.walk(row_index, from, to, [&](const GroupEmitter::Index& index, Expr column) {
          if (stage == fetching) fetch_next(column);
          if (stage + 1 == plan.stages()) fetch_results(column);
          for (const Node* node : keep) {
            Expr value = build.let(emit.element(node->result(), index));
            build.store(scratch.at(node), column, value);
            emit.know(node->result(), index, value);
          }
          for (Fold& fold : folds) fold.take(fold.operands_at(index), column);
        });
      };
      const bool pieces = by_pieces(folds, columns, ops::kPieceOfRow);
      if (pieces) {
        for (Fold& fold : folds) fold.open_pieces();
        Expr count = emit.size(ceildiv(columns, Dim(ops::kPieceOfRow)));
        emit.serial(build.index(0), count, [&](Expr piece) {
          auto [from, to] = range_of(emit, piece, ops::kPieceOfRow, columns);
          walk(from, to);
          for (Fold& fold : folds) fold.add_piece(fold.joined());
        });
      } else if (!folds.empty() || !keep.empty()) {
        walk(build.index(0), n);
      }
      for (const Node* node : keep) {
        uint32_t buffer = scratch.at(node);
        Dims dims = domain;
        emit.pin(node->result(), [&emit, buffer, dims, folded, kept](std::span<const Expr> index) {
          return emit.build.load(buffer, emit.flat(index.subspan(kept.size()), folded));
        });
      }
      for (Fold& fold : folds) pin_results(emit, fold, pieces ? fold.totals() : fold.joined());
    }
    if (any_full)
      elements.write(row_index, row * n, columns, by_lines,
                     [&](const GroupEmitter::Index& index, Expr column, bool at_line) {
                       if (fetching == plan.stages()) fetch_next(column);
                       std::vector<std::pair<size_t, Expr>> values;
                       for (size_t i = 0; i < region.results().size(); ++i)
                         if (region.results()[i]->type().dims == domain)
                           values.emplace_back(i, build.let(emit.element(region.results()[i], index)));
                       for (auto& [i, value] : values) emit.store_result(i, row * n + column, value, at_line);
                     });
    for (size_t i = 0; i < region.results().size(); ++i) {
      const Type& type = region.results()[i]->type();
      if (type.dims == domain) continue;
      IG_CHECK(type.dims == kept, "a row kernel gives {}", type.str());
      emit.store_result(i, row, emit.element(region.results()[i], row_index));
    }
  });

  note_in_place(region, domain, kernel);
}

}  // namespace ig::codegen
