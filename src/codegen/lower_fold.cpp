// Kernels with folds.
//
// A row kernel folds over trailing axes: for each row, stage by stage, a loop over the row's columns folds
// what the stage needs (softmax: the largest, then the sum), and a last one writes the results; the row stays
// in cache, and what is dear to compute twice is kept in a scratch row. A column kernel folds over other
// axes, in one stage (in several: lower_panel.cpp), and over a few long rows.
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

#include "codegen/fold_kernel.h"

namespace ig::codegen {
namespace {

using loop::Expr;
const Dim kOne = Dim(int64_t{1});
constexpr int64_t kBlockElements = 8192;
constexpr int64_t kLeastPrefetch = 64;      // elements of a row that are worth asking the cache for ahead
constexpr int64_t kLargestPrefetch = 8192;  // and at most: two rows of them have room in the second cache
constexpr int64_t kAhead = 8192;            // bytes that a processor takes in while a line is on its way
constexpr int64_t kFewBlocks = 64;          // that may leave a thread without one

// Whether a kernel of its own folds the pieces: `blocks` are too few, and each is a fold of this length. (A
// fold of one piece, which a single row of any size may be, pays little for that.)
bool goes_twice(const GroupEmitter& emit, const Dim& blocks, const Dim& length, int64_t piece) {
  if (!emit.traffic.may_go_twice || !blocks.is_constant() || !in_pieces(length, piece)) return false;
  return length.is_constant() ? blocks.constant() < kFewBlocks : blocks == kOne;
}

// Whether folds of this length go by pieces inside of a kernel: where nobody can tell, they go in one.
bool by_pieces(const std::vector<Fold>& folds, const Dim& length, int64_t piece) {
  return in_pieces(length, piece) && std::ranges::any_of(folds, &Fold::order_shows);
}

std::vector<Fold> folds_of(GroupEmitter& emit) {
  std::vector<Fold> out;
  for (Node* node : emit.region)
    if (is_fold(node)) out.emplace_back(emit, node);
  return out;
}

void pin_results(GroupEmitter& emit, Fold& fold, std::span<const Expr> state) {
  std::vector<Expr> results = fold.finish(state);
  for (size_t i = 0; i < results.size(); ++i)
    emit.pin(fold.node()->result(i), [value = results[i]](std::span<const Expr>) { return value; });
}

// Where a piece of a fold of this length begins and ends.
std::pair<Expr, Expr> range_of(GroupEmitter& emit, Expr piece, int64_t of_piece, const Dim& length) {
  Expr begin = emit.build.let(piece * of_piece);
  return {begin, emit.build.let(loop::lesser(begin + emit.build.index(of_piece), emit.size(length)))};
}

bool folds_are_simple(const Block& region) {
  for (const Node* node : region)
    if (is_fold(node) && !ops::op_of(node).rules.lower.reduce->simple) return false;
  return true;
}

// Short rows that lie side by side: what is folded was turned over, and behind one row's element in memory is
// the next row's. Then a vector holds the same column of as many rows. Said here by the view that turns the
// rows; which walk is taken does not show in the bits.
bool rows_lie_across(const Block& region, const Dims& domain, size_t kept) {
  constexpr int64_t kLongestRow = 64;
  if (kept == 0) return false;
  const Dim columns = product(Dims(domain.begin() + static_cast<int64_t>(kept), domain.end()));
  if (!columns.is_constant() || columns.constant() < 1 || columns.constant() > kLongestRow) return false;
  bool across = false;
  for (const Node* node : region) {
    if (node == region.terminator()) continue;
    if (is_fold(node) && (node->operands().size() != 1 || node->results().size() != 1 ||
                          !ops::op_of(node).rules.lower.reduce->simple))
      return false;
    if (const AttrValue* order = node->attrs().find(ops::kPermutation.name))
      across = across || (node->result()->type().dims == domain &&
                          std::get<Ints>(*order)[kept - 1] + 1 == static_cast<int64_t>(domain.size()));
  }
  for (Value v : region.results())
    if (v->type().dims == domain) return false;
  return across;
}

void lower_rows_across(GroupEmitter& emit, Kernel& kernel, const Dims& kept, const Dims& folded, int lanes) {
  constexpr int64_t kTile = 64;
  loop::Builder& build = emit.build;
  const Dims outer(kept.begin(), kept.end() - 1);
  const int64_t columns = product(folded).constant();
  const Dim tiles = ceildiv(kept.back(), Dim(kTile));
  const int width = natural_lanes(emit.target, widest_element(emit.region));
  kernel.blocks = product(outer) * tiles;
  kernel.grain = std::max<int64_t>(1, kGrainElements / (kTile * columns));
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

GroupEmitter::Index row_and_column(GroupEmitter& emit, const GroupEmitter::Index& row, const Dims& folded,
                                   Expr column) {
  GroupEmitter::Index index = row;
  for (Expr e : emit.split(column, folded)) index.push_back(e);
  return index;
}

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
    first.emit.vector(begin, end, lanes, [&](Expr column) {
      const GroupEmitter::Index index = row_and_column(first.emit, row, folded, column);
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

  DType widest = DType::I8;
  for (Node* node : region)
    if (is_fold(node))
      for (Value v : node->operands())
        if (size_of(compute_type(v->type().dtype)) > size_of(widest)) widest = compute_type(v->type().dtype);
  if (plan.stages() == 1 && rows_lie_across(region, domain, kept.size()))
    return lower_rows_across(emit, kernel, kept, folded, fold_lanes(widest));
  const int lanes = fold_lanes(widest, columns, folds_are_simple(region));

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
  const Dim row_bytes = max(kOne, columns) * Dim(static_cast<int64_t>(size_of(widest)));
  Expr rows_ahead = emit.size(max(kOne, floordiv(Dim(kAhead), row_bytes)));
  Expr per_block = emit.size(rows_a_block), n = emit.size(columns);
  Expr begin = build.block() * per_block;
  const bool by_lines = !elements_are_dear(region, domain);

  emit.serial(begin, loop::lesser(begin + per_block, emit.size(rows)), [&](Expr row) {
    Expr ahead = row + select(n <= build.index(kLargestPrefetch), rows_ahead, build.index(0));
    GroupEmitter::Index row_index = emit.split(row, kept);
    auto full_index = [&](Expr column) { return row_and_column(emit, row_index, folded, column); };
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
        emit.vector(from, to, lanes, [&](Expr column) {
          GroupEmitter::Index index = full_index(column);
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
      emit.vector_row(row * n, columns, lanes, by_lines, [&](Expr column, bool at_line) {
        GroupEmitter::Index index = full_index(column);
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

namespace {

// The columns that a block of a column kernel folds where the last axis stays: a panel of neighbours. Row
// after row goes into their running values, which keeps every load contiguous.
class Columns {
 public:
  static constexpr int64_t kPanel = 1024;
  // The running values of each fold, for the vector of columns from j on.
  using States = std::vector<std::vector<Expr>>;
  using Take = std::function<void(Expr j, const States&)>;

  Columns(GroupEmitter& emit, const Dims& domain, const Ints& axes, Expr block)
      : emit_(emit),
        build_(emit.build),
        domain_(domain),
        axes_(axes),
        kept_(pick(domain, axes, false)),
        folded_(pick(domain, axes, true)),
        narrow_(kept_.back().is_constant() && kept_.back().constant() <= kNarrow) {
    Expr panels = emit.size(ceildiv(kept_.back(), Dim(kPanel)));
    outer_ = emit.split(block / panels, Dims(kept_.begin(), kept_.end() - 1));
    start_ = (block % panels) * build_.index(kPanel);
    width_ = loop::lesser(build_.index(kPanel), emit.size(kept_.back()) - start_);
    lanes_ = natural_lanes(emit.target, widest_element(emit.region));
    if (!narrow_) return;
    for (lanes_ = 1; lanes_ < kept_.back().constant();) lanes_ *= 2;
    start_ = build_.index(0), width_ = emit.size(kept_.back());
  }

  int lanes() const { return lanes_; }
  Expr element(Expr j) { return emit_.flat(column(j), kept_); }
  void each(const std::function<void(Expr j)>& body) { emit_.vector(build_.index(0), width_, lanes_, body); }
  // Memory for a panel's running values of each fold.
  std::vector<std::vector<uint32_t>> scratch(std::vector<Fold>& folds) {
    std::vector<std::vector<uint32_t>> out;
    for (Fold& fold : folds) {
      out.emplace_back();
      for (Expr init : fold.init())
        out.back().push_back(build_.add_scratch(init.type(), Dim(narrow_ ? lanes_ : kPanel), "panel"));
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
    if (narrow_)  // all columns are one vector, which stays in registers
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
    const auto memory = scratch(folds);
    each([&](Expr j) {
      for (size_t f = 0; f < folds.size(); ++f) store_all(build_, memory[f], j, folds[f].init());
    });
    // Several rows at a time, in order, where they are only read: the running values go through the cache
    // once for all of them.
    constexpr int64_t kTogether = 4;
    const bool plain = folds.size() == 1 && folds[0].simple() && !folds[0].node()->operand(0)->node();
    Expr fours = build_.let(end / build_.index(kTogether));
    if (plain) take_rows(folds, memory, begin / build_.index(kTogether), fours, kTogether);
    take_rows(folds, memory, plain ? fours * kTogether : begin, end, 1);
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
  static constexpr int64_t kNarrow = 64;

  GroupEmitter::Index column(Expr j) const {
    GroupEmitter::Index index = outer_;
    index.push_back(start_ + j);
    return index;
  }
  GroupEmitter::Index index_at(const GroupEmitter::Index& folded_index, Expr j) const {
    GroupEmitter::Index index;
    const GroupEmitter::Index kept_index = column(j);
    size_t from_kept = 0, from_folded = 0;
    for (size_t axis = 0; axis < domain_.size(); ++axis) {
      bool is_folded = std::find(axes_.begin(), axes_.end(), static_cast<int64_t>(axis)) != axes_.end();
      index.push_back(is_folded ? folded_index[from_folded++] : kept_index[from_kept++]);
    }
    return index;
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
        for (size_t f = 0; f < folds.size(); ++f) {
          std::vector<Expr> now = load_all(build_, memory[f], j);
          for (size_t r = 0; r < positions.size(); ++r)
            now = folds[f].combine(now, folds[f].operands_at(index_at(folded_index[r], j)), positions[r]);
          store_all(build_, memory[f], j, now);
        }
      });
    });
  }

  GroupEmitter& emit_;
  loop::Builder& build_;
  const Dims domain_;
  const Ints axes_;
  const Dims kept_, folded_;
  const bool narrow_;
  int lanes_ = 1;
  GroupEmitter::Index outer_;
  Expr start_, width_;
};

// The last axis stays.
void fold_panels(GroupEmitter& emit, Kernel& kernel, const Dims& domain, const Ints& axes) {
  loop::Builder& build = emit.build;
  const Dims kept = pick(domain, axes, false);
  const Dim positions = product(pick(domain, axes, true));
  const Dim pieces = ceildiv(positions, Dim(ops::kPieceOfColumn));
  const Dim blocks = product(Dims(kept.begin(), kept.end() - 1)) * ceildiv(kept.back(), Dim(Columns::kPanel));
  kernel.blocks = blocks;
  kernel.grain = 1;
  std::vector<Fold> folds = folds_of(emit);
  if (goes_twice(emit, blocks, positions, ops::kPieceOfColumn)) {
    PieceKernel first(emit, kernel, product(kept) * pieces);
    std::vector<Fold> each = folds_of(first.emit);
    std::vector<std::vector<uint32_t>> parts;
    for (Fold& fold : each) parts.push_back(first.temporaries(fold.init(), build));
    loop::Builder& build_first = first.emit.build;
    Expr count = first.emit.size(pieces), number = build_first.let(build_first.block() % count);
    Columns some(first.emit, domain, axes, build_first.let(build_first.block() / count));
    auto [begin, end] = range_of(first.emit, number, ops::kPieceOfColumn, positions);
    some.fold(each, begin, end, [&](Expr j, const Columns::States& states) {
      for (size_t f = 0; f < each.size(); ++f)
        store_all(build_first, parts[f], number * first.emit.size(product(kept)) + some.element(j),
                  states[f]);
    });
    first.finish(blocks * pieces, min(kept.back(), Dim(Columns::kPanel)) * Dim(ops::kPieceOfColumn));
    if (pieces.is_constant())
      kernel.grain = std::max<int64_t>(1, kGrainElements / (Columns::kPanel * pieces.constant()));
    Columns all(emit, domain, axes, build.block());
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
  Columns panel(emit, domain, axes, build.block());
  if (!by_pieces(folds, positions, ops::kPieceOfColumn))
    return panel.fold(folds, build.index(0), emit.size(positions),
                      [&](Expr j, const Columns::States& states) { panel.store(folds, j, states); });
  const auto totals = panel.scratch(folds);
  emit.serial(build.index(0), emit.size(max(pieces, kOne)), [&](Expr piece) {
    auto [begin, end] = range_of(emit, piece, ops::kPieceOfColumn, positions);
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

// The last axis is folded, and others that are not next to it: rows within rows.
void fold_rows(GroupEmitter& emit, Kernel& kernel, const Dims& domain, const Ints& axes) {
  loop::Builder& build = emit.build;
  const Block& region = emit.region;
  const Dims kept = pick(domain, axes, false), folded = pick(domain, axes, true);
  const Dims outer_folded(folded.begin(), folded.end() - 1);
  kernel.blocks = product(kept);
  kernel.grain = 1;
  GroupEmitter::Index kept_index = emit.split(build.block(), kept);
  auto lanes_of = [&](const Node* node) {
    return fold_lanes(compute_type(node->operand(0)->type().dtype), folded.back(),
                      ops::op_of(node).rules.lower.reduce->simple);
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

// Whether the axis that stays last lies last in memory, turned over by a view: an image with its features
// last, whose places are folded.
bool features_lie_last(const Block& region, const Dims& domain, const Ints& axes) {
  size_t last = domain.size();
  for (size_t i = 0; i < domain.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) last = i;
  if (last == domain.size()) return false;
  bool turned = false;
  for (const Node* node : region) {
    if (node == region.terminator()) continue;
    if (is_fold(node) && (node->operands().size() != 1 || node->results().size() != 1 ||
                          !ops::op_of(node).rules.lower.reduce->simple))
      return false;
    if (const AttrValue* order = node->attrs().find(ops::kPermutation.name))
      turned = turned || (node->result()->type().dims == domain &&
                          std::get<Ints>(*order)[last] + 1 == static_cast<int64_t>(domain.size()));
  }
  return turned;
}

// The same folds in the same order as rows within rows, with a vector of features at a time: a lane of a row
// is a vector of scratch.
void fold_rows_across(GroupEmitter& emit, Kernel& kernel, const Dims& domain, const Ints& axes) {
  loop::Builder& build = emit.build;
  const Block& region = emit.region;
  const Dims kept = pick(domain, axes, false), folded = pick(domain, axes, true);
  const Dims outer_kept(kept.begin(), kept.end() - 1), outer_folded(folded.begin(), folded.end() - 1);
  const int64_t panel = 64 / std::min(8, widest_element(region));  // a line of the cache
  const Dim panels = ceildiv(kept.back(), Dim(panel));
  kernel.blocks = product(outer_kept) * panels;
  kernel.grain = 1;
  struct Running {
    std::unique_ptr<Fold> fold;
    int64_t lanes;
    std::vector<uint32_t> state;  // [lane][feature]
  };
  std::vector<Running> all;
  for (Node* node : region) {
    if (!is_fold(node)) continue;
    Running one{
        std::make_unique<Fold>(emit, node), fold_lanes(compute_type(node->operand(0)->type().dtype)), {}};
    for (Expr init : one.fold->init())
      one.state.push_back(build.add_scratch(init.type(), Dim(one.lanes * panel), "lanes"));
    all.push_back(std::move(one));
  }
  Expr panel_count = emit.size(max(panels, kOne));
  GroupEmitter::Index outer_index = emit.split(build.let(build.block() / panel_count), outer_kept);
  Expr start = build.let((build.block() % panel_count) * build.index(panel));
  Expr width = build.let(loop::lesser(build.index(panel), emit.size(kept.back()) - start));
  auto each = [&](const std::function<void(Expr)>& body) {
    emit.vector(build.index(0), width, static_cast<int>(panel), body);
  };
  auto read = [&](const Running& one, Expr at) { return load_all(build, one.state, at); };
  auto write = [&](const Running& one, Expr at, const std::vector<Expr>& values) {
    store_all(build, one.state, at, values);
  };
  for (const Running& one : all)
    emit.serial(build.index(0), build.index(one.lanes),
                [&](Expr lane) { each([&](Expr j) { write(one, lane * panel + j, one.fold->init()); }); });
  Expr inner = emit.size(folded.back());
  emit.serial(build.index(0), emit.size(product(outer_folded)), [&](Expr outer) {
    GroupEmitter::Index places = emit.split(outer, outer_folded);
    emit.serial(build.index(0), inner, [&](Expr column) {
      each([&](Expr j) {
        GroupEmitter::Index index;
        size_t from_kept = 0, from_folded = 0;
        for (size_t axis = 0; axis < domain.size(); ++axis) {
          bool is_folded = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
          if (is_folded)
            index.push_back(axis + 1 == domain.size() ? column : places[from_folded++]);
          else
            index.push_back(from_kept < outer_index.size() ? outer_index[from_kept++] : start + j);
        }
        for (const Running& one : all) {
          Expr at = (column % build.index(one.lanes)) * panel + j;
          write(one, at,
                one.fold->combine(read(one, at), one.fold->operands_at(index), outer * inner + column));
        }
      });
    });
  });
  for (const Running& one : all)
    for (int64_t half = one.lanes / 2; half > 0; half /= 2)
      emit.serial(build.index(0), build.index(half), [&](Expr lane) {
        each([&](Expr j) {
          write(one, lane * panel + j,
                one.fold->merge(read(one, lane * panel + j),
                                read(one, (lane + build.index(half)) * panel + j)));
        });
      });
  each([&](Expr j) {
    for (const Running& one : all) {
      Expr value = one.fold->finish(read(one, j))[0];
      emit.pin(one.fold->node()->result(), [value](std::span<const Expr>) { return value; });
    }
    GroupEmitter::Index index = outer_index;
    index.push_back(start + j);
    std::vector<Expr> values;
    for (Value v : region.results()) values.push_back(build.let(emit.element(v, index)));
    for (size_t i = 0; i < values.size(); ++i) emit.store_result(i, emit.flat(index, kept), values[i]);
  });
}

}  // namespace

void lower_column(GroupEmitter& emit, Kernel& kernel) {
  const Node* any = first_fold(emit.region);
  IG_CHECK(any != nullptr, "a column kernel without a fold");
  const Ints& axes = any->attrs().get(ops::kAxes);
  const Dims domain = any->operand(0)->type().dims;
  bool last_folded = !axes.empty() && axes.back() == static_cast<int64_t>(domain.size()) - 1;
  if (last_folded && axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size()))
    lower_row(emit, kernel);
  else if (last_folded && features_lie_last(emit.region, domain, axes))
    fold_rows_across(emit, kernel, domain, axes);
  else if (last_folded)
    fold_rows(emit, kernel, domain, axes);
  else
    fold_panels(emit, kernel, domain, axes);
}

}  // namespace ig::codegen
