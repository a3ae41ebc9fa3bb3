// Kernels that fold over axes in the middle, in several stages, or write results for every element beside:
// softmax over the channels of an image, a norm over the first axis. They do with panels what row kernels do
// with rows: a panel, all folded elements of some neighbouring columns, stays in cache for all stages.
//
//   block (outer index, panel of columns)
//     for each stage
//       for each folded position: vectors over the columns: running values, and what is kept for later stages
//       the fold's results, one a column
//     for each folded position: vectors over the columns: the results
//
// Order of summation: each column folds its elements in order, as in a column kernel.
#include <bit>
#include <numeric>

#include "codegen/cuts.h"
#include "codegen/fold_kernel.h"

namespace ig::codegen {
namespace {

using loop::Expr;

// The axes behind the folded ones that are walked as one row of columns, and where that is cut: all of them;
// or the last one alone, where the way to what is read turns at places of that, and so at too many of all
// columns, or from each column to the next.
struct Columns {
  size_t axes;
  std::vector<int64_t> cuts;
};
Columns columns_of(const GroupEmitter& emit, const Dims& domain, const Ints& axes) {
  const size_t all = domain.size() - static_cast<size_t>(axes.back()) - 1;
  if (!any_turns(emit.region)) return {all, {}};
  std::vector<int64_t> of_last = cuts_of_folds(emit, domain, 1);
  if (all == 1 || !of_last.empty()) return {1, std::move(of_last)};
  std::vector<int64_t> of_all = cuts_of_folds(emit, domain, static_cast<int>(all));
  const Dim& last = domain.back();
  const bool short_rows =
      last.is_constant() && last.constant() < natural_lanes(emit.target, widest_element(emit.region));
  return of_all.empty() && !short_rows ? Columns{1, {}} : Columns{all, std::move(of_all)};
}

// Columns of a panel: so many that it stays in the second cache with what is made of it; or all of them,
// where a panel has room in the last cache and there are panels to share, since memory sends what lies side
// by side faster than pieces of rows (a Zen 4: softmax of 16×1000×256 along its middle 5.0 ms by pieces, 2.6
// so).
//
// Where the second cache holds few columns of an array that the last one holds, short pieces of rows cost
// more than they save: then panels are wide, and each stage reads long pieces of rows from there once more (a
// Zen 4: a matrix of 1000×1024 less its columns' sums 0.15 → 0.12 ms, in an hour of slow memory 0.29 → 0.23;
// softmax along its first axis 0.32 → 0.31, 0.66 → 0.51).
struct Panels {
  int64_t columns;
  bool wide;
};
Panels panels_of(int64_t positions, const Dim& columns, const Dim& panels, int element_bytes,
                 const Traffic& traffic) {
  constexpr int64_t kPanelBytes = 256 << 10, kWholeBytes = 1 << 20, kFewest = 32, kMost = 512, kShared = 4;
  constexpr int64_t kShortPiece = 512, kLongPiece = 8 << 10;  // bytes
  const int64_t a_column = std::max<int64_t>(1, positions * element_bytes);
  if (columns.is_constant() && panels.is_constant() && panels.constant() >= kShared &&
      columns.constant() >= kFewest && columns.constant() <= kWholeBytes / a_column)
    return {columns.constant(), false};
  const auto fit = static_cast<uint64_t>(std::max<int64_t>(kPanelBytes / a_column, 1));
  const int64_t near = std::clamp(static_cast<int64_t>(std::bit_floor(fit)), kFewest, kMost);
  if (!columns.is_constant() || traffic.far || near * element_bytes >= kShortPiece ||
      columns.constant() * a_column <= kWholeBytes)
    return {near, false};
  const int64_t share = (columns.constant() + traffic.threads - 1) / traffic.threads;
  const int64_t lines = (share * element_bytes + kLineBytes - 1) / kLineBytes;
  const int64_t wide = std::min(lines * kLineBytes, kLongPiece) / element_bytes;
  return {std::max(std::min(wide, columns.constant()), near), wide > near};
}

class PanelLowering {
 public:
  PanelLowering(GroupEmitter& emit, Kernel& kernel, const Dims& domain, const Ints& axes, Columns columns,
                FoldPlan plan)
      : emit_(emit),
        build_(emit.build),
        kernel_(kernel),
        region_(emit.region),
        domain_(domain),
        kept_(pick(domain, axes, false)),
        outer_(domain.begin(), domain.begin() + axes.front()),
        folded_(pick(domain, axes, true)),
        inner_(domain.end() - static_cast<int64_t>(columns.axes), domain.end()),
        between_(domain.begin() + axes.back() + 1, domain.end() - static_cast<int64_t>(inner_.size())),
        plan_(std::move(plan)),
        positions_(product(folded_).constant()),
        panels_(panels_of(positions_, product(inner_), product(outer_) * product(between_),
                          widest_element(emit.region), emit.traffic)),
        panel_(panels_.columns),
        lanes_(std::min(static_cast<int>(std::bit_ceil(static_cast<uint64_t>(panel_))),
                        natural_lanes(emit.target, widest_element(emit.region)))),
        rows_collide_(!panels_.wide && rows_collide()) {
    emit.cuts = std::move(columns.cuts);
    emit.cuts_groups = true;
  }

  void run() {
    const Dim columns = product(inner_), panels = ceildiv(columns, Dim(panel_));
    kernel_.blocks = product(outer_) * product(between_) * panels;
    set_fold_grain(kernel_, Dim(positions_ * panel_));
    Expr count = emit_.size(panels), block = build_.block();
    Dims rows = outer_;
    rows.insert(rows.end(), between_.begin(), between_.end());
    outer_index_ = emit_.split(build_.let(block / count), rows);
    between_index_.assign(outer_index_.begin() + static_cast<int64_t>(outer_.size()), outer_index_.end());
    outer_index_.resize(outer_.size(), build_.index(0));
    start_ = build_.let((block % count) * build_.index(panel_));
    width_ = build_.let(loop::lesser(build_.index(panel_), emit_.size(columns) - start_));
    // From an element to the one at its place in the next panel, beside it or of the next index.
    Expr to_outer = emit_.size(between_.empty() ? Dim(positions_) * columns : columns) - start_;
    ahead_ =
        build_.let(loop::select(block % count + build_.index(1) < count, build_.index(panel_), to_outer));
    for (int stage = 0; stage < plan_.stages(); ++stage) run_stage(stage);
    if (any_full())
      emit_.serial(build_.index(0), build_.index(positions_), [&](Expr position) {
        each_column([&](Expr j) {
          const GroupEmitter::Index index = index_at(position, j);
          fetch_next(emit_.flat(index, domain_));
          std::vector<std::pair<size_t, Expr>> values;
          for (size_t i = 0; i < region_.results().size(); ++i)
            if (is_full(region_.results()[i]))
              values.emplace_back(i, build_.let(emit_.element(region_.results()[i], index)));
          for (auto& [i, value] : values) emit_.store_result(i, emit_.flat(index, domain_), value);
        });
      });
    each_column([&](Expr j) {
      const GroupEmitter::Index index = column_at(j, kept_.size());
      for (size_t i = 0; i < region_.results().size(); ++i)
        if (!is_full(region_.results()[i]))
          emit_.store_result(i, emit_.flat(index, kept_),
                             build_.let(emit_.element(region_.results()[i], index)));
    });
    note_in_place(region_, domain_, kernel_);
  }

 private:
  struct Running {
    std::unique_ptr<Fold> fold;
    std::vector<uint32_t> state;  // one element a column each
  };

  bool is_full(Value v) const { return v->type().dims == domain_; }
  bool any_full() const {
    return std::ranges::any_of(region_.results(), [&](Value v) { return is_full(v); });
  }

  // A cache finds a line by its address within a way, so rows that lie a power of two apart share few places,
  // where those of a panel drive each other out, and what was asked for is gone before it is used. What such
  // a panel is read for again is kept in memory of its own, row behind row.
  bool rows_collide() const {
    constexpr int64_t kWay = 64 << 10, kWays = 16;  // bytes, of the second cache
    int64_t rows = 0, places = kWay;
    auto count = [&](Value v) {
      if (!is_full(v)) return;
      const auto element = static_cast<int64_t>(size_of(v->type().dtype));
      const int64_t apart = std::gcd((product(between_) * product(inner_)).constant() * element, kWay);
      rows += positions_;
      places = std::min(places, kWay / std::max(apart, panel_ * element));
    };
    for (Value arg : region_.args()) count(arg);
    for (Value result : region_.results()) count(result);
    return rows > kWays * places;
  }

  void each_column(const std::function<void(Expr)>& body) {
    if (emit_.cuts.empty()) return emit_.vector(build_.index(0), width_, lanes_, body);
    emit_.vector_columns(start_, start_ + width_, lanes_, [&](Expr column) { body(column - start_); });
  }
  // Of arrays of so many axes, one a folded one or none.
  GroupEmitter::Index column_at(Expr j, size_t axes) {
    GroupEmitter::Index index = outer_index_;
    index.insert(index.end(), axes - outer_.size() - between_.size() - inner_.size(), build_.index(0));
    index.insert(index.end(), between_index_.begin(), between_index_.end());
    for (Expr e : emit_.split(start_ + j, inner_)) index.push_back(e);
    return index;
  }
  GroupEmitter::Index index_at(Expr position, Expr j) {
    GroupEmitter::Index index = outer_index_;
    for (Expr e : emit_.split(position, folded_)) index.push_back(e);
    index.insert(index.end(), between_index_.begin(), between_index_.end());
    for (Expr e : emit_.split(start_ + j, inner_)) index.push_back(e);
    return index;
  }
  // The column that the last parts of an index name, counted from the panel's first.
  Expr column_of(std::span<const Expr> index) {
    return emit_.flat(index.subspan(index.size() - inner_.size()), inner_) - start_;
  }

  void run_stage(int stage) {
    std::vector<Running> all;
    for (Node* node : region_)
      if (is_fold(node) && plan_.stage_of(node) == stage) {
        Running one{std::make_unique<Fold>(emit_, node), {}};
        for (Expr init : one.fold->init())
          one.state.push_back(build_.add_scratch(init.type(), Dim(panel_), "panel"));
        all.push_back(std::move(one));
      }
    std::vector<std::pair<Value, uint32_t>> kept;
    auto keep = [&](Value value) {
      kept.emplace_back(
          value, build_.add_scratch(compute_type(value->type().dtype), Dim(positions_ * panel_), "kept"));
    };
    for (Value arg : region_.args())
      if (rows_collide_ && is_full(arg) && plan_.first_read(arg) == stage && plan_.last_read(arg) > stage &&
          ops::read_at_own_element(arg, true))  // what a view reads may lie in another panel
        keep(arg);
    for (const Node* node : plan_.kept())
      if (plan_.stage_of(node) == stage) keep(node->result());
    if (all.empty() && kept.empty()) return;
    each_column([&](Expr j) {
      for (const Running& one : all) store_all(build_, one.state, j, one.fold->init());
    });
    walk(stage, all, kept);
    for (const auto& [value, buffer] : kept)
      emit_.pin(value, [this, buffer = buffer](std::span<const Expr> index) {
        Expr position = emit_.flat(index.subspan(outer_.size(), folded_.size()), folded_);
        return build_.load(buffer, position * panel_ + column_of(index));
      });
    for (const Running& one : all) finish(one);
    keep_columns(stage);
  }

  // One value for each column, with the folded axes or without them.
  bool is_of_columns(Value v) const {
    if (v->type().dims == kept_) return true;
    Dims ones = outer_;
    ones.insert(ones.end(), folded_.size(), Dim(int64_t{1}));
    ones.insert(ones.end(), between_.begin(), between_.end());
    ones.insert(ones.end(), inner_.begin(), inner_.end());
    return v->type().dims == ones;
  }
  // What is computed of a stage's folds for each column (one over its sum) and read for each element is
  // computed once.
  void keep_columns(int stage) {
    for (Node* node : region_) {
      if (node == region_.terminator() || is_fold(node) || node->results().size() != 1 ||
          plan_.stage_of(node) != stage + 1 || ops::op_of(node).has(ops::Trait::View) ||
          !is_of_columns(node->result()))
        continue;
      const bool spread = std::ranges::any_of(node->result()->uses(), [&](const Use& use) {
        return use.user != region_.terminator() && !is_of_columns(use.user->results().front());
      });
      if (!spread) continue;
      const Dims& dims = node->result()->type().dims;
      const uint32_t buffer =
          build_.add_scratch(compute_type(node->result()->type().dtype), Dim(panel_), "column");
      each_column([&](Expr j) {
        build_.store(buffer, j, build_.let(emit_.element(node->result(), column_at(j, dims.size()))));
      });
      emit_.pin(node->result(), [this, buffer](std::span<const Expr> index) {
        return build_.load(buffer, column_of(index));
      });
    }
  }

  // While a panel's results are written, the next one is on its way to the caches.
  void fetch_next(Expr place) {
    if (rows_collide_ || panels_.wide) return;
    for (Value arg : region_.args())
      if (is_full(arg)) build_.prefetch(emit_.buffer_of_arg(arg), place + ahead_);
  }
  // A store into a line that no cache holds waits for the line, so results are asked for in the pass before
  // the one that writes them.
  void fetch_results(int stage, Expr place) {
    if (rows_collide_ || panels_.wide || stage + 1 != plan_.stages()) return;
    for (size_t i = 0; i < region_.results().size(); ++i)
      if (is_full(region_.results()[i])) build_.prefetch(emit_.result_buffer(i), place);
  }

  // Two positions of short rows at a time, so that their loop is worth its start; one of longer ones, which
  // then come from memory in one stream.
  void walk(int stage, const std::vector<Running>& all, const std::vector<std::pair<Value, uint32_t>>& kept) {
    constexpr int64_t kShortBytes = 512;
    const int64_t together = panel_ * widest_element(region_) < kShortBytes ? 2 : 1;
    auto take = [&](Expr first, int64_t count) {
      each_column([&](Expr j) {
        std::vector<std::vector<Expr>> running;
        for (const Running& one : all) running.push_back(load_all(build_, one.state, j));
        for (int64_t r = 0; r < count; ++r) {
          Expr position = first + build_.index(r);
          const GroupEmitter::Index index = index_at(position, j);
          fetch_results(stage, emit_.flat(index, domain_));
          if (!any_full() && stage + 1 == plan_.stages()) fetch_next(emit_.flat(index, domain_));
          for (const auto& [value, buffer] : kept) {
            Expr now = build_.let(emit_.element(value, index));
            build_.store(buffer, position * panel_ + j, now);
            emit_.know(value, index, now);
          }
          for (size_t f = 0; f < all.size(); ++f) {
            running[f] = all[f].fold->combine(running[f], all[f].fold->operands_at(index), position);
            for (Expr& e : running[f]) e = build_.let(e);
          }
        }
        for (size_t f = 0; f < all.size(); ++f) store_all(build_, all[f].state, j, running[f]);
      });
    };
    emit_.serial(build_.index(0), build_.index(positions_ / together),
                 [&](Expr turn) { take(build_.let(turn * together), together); });
    for (int64_t position = positions_ - positions_ % together; position < positions_; ++position)
      take(build_.index(position), 1);
  }

  // The fold's results take the place of what ran.
  void finish(const Running& one) {
    const Node* node = one.fold->node();
    std::vector<uint32_t> results;
    for (Value v : node->results())
      results.push_back(build_.add_scratch(compute_type(v->type().dtype), Dim(panel_), "folded"));
    each_column(
        [&](Expr j) { store_all(build_, results, j, one.fold->finish(load_all(build_, one.state, j))); });
    for (size_t i = 0; i < results.size(); ++i)
      emit_.pin(node->result(i), [this, buffer = results[i]](std::span<const Expr> index) {
        return build_.load(buffer, column_of(index));
      });
  }

  GroupEmitter& emit_;
  loop::Builder& build_;
  Kernel& kernel_;
  const Block& region_;
  const Dims domain_, kept_, outer_, folded_, inner_, between_;
  const FoldPlan plan_;
  const int64_t positions_;
  const Panels panels_;
  const int64_t panel_;
  const int lanes_;
  const bool rows_collide_;
  GroupEmitter::Index outer_index_, between_index_;
  Expr start_, width_, ahead_;
};

}  // namespace

void lower_panel(GroupEmitter& emit, Kernel& kernel) {
  const Node* any = first_fold(emit.region);
  IG_CHECK(any != nullptr, "a panel kernel without a fold");
  const Dims& domain = any->operand(0)->type().dims;
  const Ints& axes = any->attrs().get(ops::kAxes);
  FoldPlan plan(emit.region, domain);
  const bool full =
      std::ranges::any_of(emit.region.results(), [&](Value v) { return v->type().dims == domain; });
  if (plan.stages() == 1 && !full) return lower_column(emit, kernel);  // one pass, results for columns alone
  PanelLowering(emit, kernel, domain, axes, columns_of(emit, domain, axes), std::move(plan)).run();
}

}  // namespace ig::codegen
