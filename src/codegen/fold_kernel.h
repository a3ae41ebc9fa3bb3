// What kernels with folds share: one fold in the making, and the plan of a kernel that walks its elements
// several times, stage by stage, while they stay in cache.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "codegen/group_emitter.h"
#include "codegen/kernel.h"
#include "ops/across.h"
#include "ops/attrs.h"

namespace ig::codegen {

inline Dims pick(const Dims& dims, const Ints& axes, bool folded) {
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i)
    if ((std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end()) == folded)
      out.push_back(dims[i]);
  return out;
}

using ops::first_fold;
using ops::is_fold;

constexpr int64_t kGrainElements = 16384;
constexpr int64_t kFewBlocks = 64;  // that may leave a thread without one
inline const Dim kOne = Dim(int64_t{1});
constexpr int kWorthKeeping = 4;  // cost of computing an element again, in simple operations

// Of a kernel whose blocks fold so many elements each.
inline void set_fold_grain(Kernel& kernel, const Dim& elements) {
  if (!elements.is_constant()) return;
  const int64_t of_block = std::max<int64_t>(1, elements.constant());
  kernel.grain = std::max<int64_t>(1, kGrainElements / of_block);
  kernel.block_grains = std::max<int64_t>(1, of_block / kGrainElements);
}

// Whether a fold of this length may be longer than a piece.
inline bool in_pieces(const Dim& length, int64_t piece) {
  return !length.is_constant() || length.constant() > piece;
}

// An element of each of these buffers.
inline std::vector<loop::Expr> load_all(loop::Builder& build, std::span<const uint32_t> buffers,
                                        loop::Expr at) {
  std::vector<loop::Expr> out;
  out.reserve(buffers.size());
  for (uint32_t buffer : buffers) out.push_back(build.load(buffer, at));
  return out;
}
inline void store_all(loop::Builder& build, std::span<const uint32_t> buffers, loop::Expr at,
                      std::vector<loop::Expr> values) {
  for (loop::Expr& e : values) e = build.let(e);
  for (size_t i = 0; i < values.size(); ++i) build.store(buffers[i], at, values[i]);
}

// One fold in the making: where its running values live, and how they end.
class Fold {
 public:
  Fold(GroupEmitter& emit, const Node* node)
      : emit_(emit), node_(node), rule_(*ops::op_of(node).rules.lower.reduce), context_{emit.build, node} {}

  const Node* node() const { return node_; }
  bool simple() const { return rule_.simple; }
  // Whether elements that come one after the other take less work, and no result shows that they do.
  bool goes_in_order() const { return rule_.next && !ops::order_shows(node_); }

  void open(int lanes) {
    lanes_ = lanes;
    locals_ = start(lanes);
  }
  void take(std::span<const loop::Expr> x, loop::Expr position) {
    assign(locals_, combine(read(locals_), x, position));
  }
  // Elements come in order.
  std::vector<loop::Expr> combine(std::span<const loop::Expr> state, std::span<const loop::Expr> x,
                                  loop::Expr position) {
    const std::vector<loop::Expr> element = rule_.element(context_, x, position);
    std::vector<loop::Expr> out = emit_.noting(
        node_, [&] { return (rule_.next ? rule_.next : rule_.combine)(context_, state, element); });
    std::vector<loop::Expr> operands(state.begin(), state.end());
    operands.insert(operands.end(), element.begin(), element.end());
    for (loop::Expr& e : out) e = emit_.contracted(node_, e, operands);
    return out;
  }
  std::vector<loop::Expr> merge(std::span<const loop::Expr> a, std::span<const loop::Expr> b) {
    return emit_.noting(node_, [&] { return rule_.combine(context_, a, b); });
  }
  std::vector<loop::Expr> init() { return rule_.init(context_); }
  // What the lanes hold, folded.
  std::vector<loop::Expr> joined() {
    if (lanes_ > 1 && !rule_.simple) return join_lanes();
    std::vector<loop::Expr> state;
    for (uint32_t local : locals_)
      state.push_back(lanes_ > 1 ? emit_.build.reduce_lanes(local, rule_.lanes) : emit_.build.read(local));
    return state;
  }
  // A fold by pieces: what they came to, each of which begins with `open`, is added in their order.
  void open_pieces(int lanes = 1) { totals_ = start(lanes); }
  void add_piece(std::span<const loop::Expr> piece) { assign(totals_, merge(read(totals_), piece)); }
  std::vector<loop::Expr> totals() const { return read(totals_); }
  // The fold of one element after the other, in the order of lanes: lane l takes elements l, l + lanes, …,
  // and then lanes fold as a binary tree. Lanes without an element change nothing. A fold that
  // goes in order has one lane.
  std::vector<loop::Expr> in_order_of_lanes(std::span<const loop::Expr> elements, int lanes) {
    if (goes_in_order()) lanes = 1;
    std::vector<std::vector<loop::Expr>> slots(std::min(elements.size(), static_cast<size_t>(lanes)));
    for (size_t c = 0; c < elements.size(); ++c) {
      std::vector<loop::Expr>& slot = slots[c % slots.size()];
      if (c < slots.size()) slot = rule_.init(context_);
      slot = combine(slot, elements.subspan(c, 1), emit_.build.index(static_cast<int64_t>(c)));
      for (loop::Expr& e : slot) e = emit_.build.let(e);
    }
    for (size_t half = static_cast<size_t>(lanes) / 2; half > 0; half /= 2)
      for (size_t i = 0; i < half && i + half < slots.size(); ++i) {
        slots[i] = merge(slots[i], slots[i + half]);
        for (loop::Expr& e : slots[i]) e = emit_.build.let(e);
      }
    return finish(slots.empty() ? rule_.init(context_) : slots[0]);
  }
  // Where each lane is a fold of its own.
  std::vector<loop::Expr> columns() const { return read(locals_); }
  // The results, in compute type, rounded as if stored.
  std::vector<loop::Expr> finish(std::span<const loop::Expr> state) {
    std::vector<loop::Expr> out = rule_.finish(context_, state);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = emit_.build.let(emit_.round_to(out[i], node_->result(i)->type().dtype));
    return out;
  }
  std::vector<loop::Expr> operands_at(std::span<const loop::Expr> index) {
    std::vector<loop::Expr> x;
    for (Value v : node_->operands()) x.push_back(emit_.element(v, index));
    return x;
  }

 private:
  std::vector<uint32_t> start(int lanes) {
    std::vector<uint32_t> locals;
    for (loop::Expr init : rule_.init(context_)) {
      locals.push_back(emit_.build.local(init.type(), lanes, 1, "fold"));
      emit_.build.assign(locals.back(), init);
    }
    return locals;
  }
  std::vector<loop::Expr> read(std::span<const uint32_t> locals) const {
    std::vector<loop::Expr> out;
    for (uint32_t local : locals) out.push_back(emit_.build.read(local));
    return out;
  }
  void assign(std::span<const uint32_t> locals, std::vector<loop::Expr> values) {
    for (loop::Expr& e : values) e = emit_.build.let(e);
    for (size_t i = 0; i < locals.size(); ++i) emit_.build.assign(locals[i], values[i]);
  }
  // Running values that only fold together: half of the lanes with the other half, by the rule itself, by way
  // of memory.
  std::vector<loop::Expr> join_lanes() {
    loop::Builder& build = emit_.build;
    std::vector<uint32_t> memory;
    for (uint32_t local : locals_)
      memory.push_back(build.add_scratch(build.read(local).type(), Dim(int64_t{lanes_}), "lanes"));
    build.vector_for(build.index(0), build.index(lanes_), lanes_,
                     [&](loop::Expr lane) { store_all(build, memory, lane, read(locals_)); });
    for (int half = lanes_ / 2; half > 0; half /= 2)
      build.vector_for(build.index(0), build.index(half), half, [&](loop::Expr lane) {
        store_all(build, memory, lane,
                  merge(load_all(build, memory, lane), load_all(build, memory, lane + build.index(half))));
      });
    return load_all(build, memory, build.index(0));
  }

  GroupEmitter& emit_;
  const Node* node_;
  const ops::ReduceRule& rule_;
  ops::ReduceContext context_;
  std::vector<uint32_t> locals_, totals_;
  int lanes_ = 1;
};

inline std::vector<Fold> folds_of(GroupEmitter& emit) {
  std::vector<Fold> out;
  for (Node* node : emit.region)
    if (is_fold(node)) out.emplace_back(emit, node);
  return out;
}

inline void pin_results(GroupEmitter& emit, Fold& fold, std::span<const loop::Expr> state) {
  std::vector<loop::Expr> results = fold.finish(state);
  for (size_t i = 0; i < results.size(); ++i)
    emit.pin(fold.node()->result(i), [value = results[i]](std::span<const loop::Expr>) { return value; });
}

// Whether a kernel of its own folds the pieces: `blocks` are too few, and each is a fold of this length. (A
// fold of one piece, which a single row of any size may be, pays little for that.)
inline bool goes_twice(const GroupEmitter& emit, const Dim& blocks, const Dim& length, int64_t piece) {
  if (!emit.traffic.may_go_twice || !blocks.is_constant() || !in_pieces(length, piece)) return false;
  return length.is_constant() ? blocks.constant() < kFewBlocks : blocks == kOne;
}

// Whether folds of this length go by pieces inside of a kernel: where nobody can tell, they go in one.
inline bool by_pieces(const std::vector<Fold>& folds, const Dim& length, int64_t piece) {
  return in_pieces(length, piece) && std::ranges::any_of(folds, ops::order_shows, &Fold::node);
}

// Where a piece of a fold of this length begins and ends.
inline std::pair<loop::Expr, loop::Expr> range_of(GroupEmitter& emit, loop::Expr piece, int64_t of_piece,
                                                  const Dim& length) {
  loop::Expr begin = emit.build.let(piece * of_piece);
  return {begin, emit.build.let(loop::lesser(begin + emit.build.index(of_piece), emit.size(length)))};
}

// The pieces of a kernel's folds, where a kernel of their own folds them (Kernel::first): what each came to
// lies in temporaries, which have the same numbers in both.
class PieceKernel {
 public:
  PieceKernel(const GroupEmitter& emit, Kernel& kernel, const Dim& elements)
      : emit(emit.fusion, emit.target, emit.relaxed), kernel_(kernel), elements_(elements) {
    this->emit.traffic = emit.traffic;
    kernel.first = std::make_unique<Kernel>();
    kernel.first->kind = kernel.kind;
  }
  // Of the fold whose running values have the types of these, for both kernels.
  std::vector<uint32_t> temporaries(std::span<const loop::Expr> init, loop::Builder& second) {
    std::vector<uint32_t> out;
    for (loop::Expr value : init) {
      kernel_.temporaries.emplace_back(value.type(), elements_);
      out.push_back(emit.build.add_buffer(value.type(), true, "piece"));
      IG_CHECK(second.add_buffer(value.type(), false, "piece") == out.back(), "two kernels' buffers differ");
    }
    return out;
  }
  // `elements`: how many a block folds, where that is known.
  void finish(const Dim& blocks, const Dim& elements) {
    kernel_.first->blocks = blocks;
    set_fold_grain(*kernel_.first, elements);
    kernel_.first->function = emit.build.finish();
  }

  GroupEmitter emit;

 private:
  Kernel& kernel_;
  Dim elements_;
};

// In which pass over the elements each node of the region runs, and what is computed once for all passes.
class FoldPlan {
 public:
  FoldPlan(const Block& region, const Dims& domain) : region_(region), domain_(domain) {
    for (Node* node : region) {
      if (node == region.terminator()) continue;
      int stage = 0;
      for (Value v : node->operands())
        stage = std::max(stage, stage_of(v) + (v->node() && is_fold(v->node()) ? 1 : 0));
      stage_[node] = stage;
      if (is_fold(node)) stages_ = std::max(stages_, stage + 1);
    }
    find_kept();
  }
  int stages() const { return stages_; }
  int stage_of(Value v) const { return v->node() ? stage_.at(v->node()) : 0; }
  int stage_of(const Node* node) const { return stage_.at(node); }
  const std::vector<const Node*>& kept() const {
    return kept_;
  }  // computed once, at their stage, into a scratch row
  // The first and the last pass that reads a value; the one behind all folds writes results.
  int first_read(Value v) const {
    int first = stages_;
    for (const Use& use : v->uses())
      if (use.user != region_.terminator()) first = std::min(first, used(use.user).first);
    return first;
  }
  int last_read(Value v) const {
    int last = -1;
    for (const Use& use : v->uses())
      last = std::max(last, use.user == region_.terminator() ? stages_ : used(use.user).last);
    return last;
  }

 private:
  // Cost of computing a full-row value from operands and kept values, in simple operations.
  int cost(Value v, std::unordered_map<const Node*, int>& known) const {
    const Node* node = v->node();
    // What has one value a row is computed before the row's loop.
    if (!node || is_fold(node) || v->type().dims != domain_ || is_kept(node)) return 1;
    if (auto it = known.find(node); it != known.end()) return it->second;
    const ops::Op& op = ops::op_of(node);
    int own = std::max(op.decl.ulp, op.decl.complex_ulp) > 0 ? 12 : op.has(ops::Trait::View) ? 0 : 1;
    for (Value operand : node->operands()) own = std::min(own + cost(operand, known), kWorthKeeping);
    return known[node] = own;
  }
  void find_kept() {
    for (Node* node : region_) {
      if (node == region_.terminator() || is_fold(node) || node->results().size() != 1) continue;
      // What is kept is there for one row at a time: no view may look for an element of it elsewhere.
      if (node->result()->type().dims != domain_ || !ops::read_at_own_element(node->result(), true)) continue;
      std::unordered_map<const Node*, int> known;
      if (last_read(node->result()) > stage_.at(node) && cost(node->result(), known) >= kWorthKeeping &&
          !later_user_only(node))
        kept_.push_back(node), used_.clear();
    }
  }
  bool is_kept(const Node* node) const { return std::ranges::find(kept_, node) != kept_.end(); }
  // The first and the last stage in which a user, or what is inlined through it, runs.
  struct Stages {
    int first, last;
  };
  Stages used(const Node* user) const {
    if (is_fold(user) || is_kept(user)) return {stage_.at(user), stage_.at(user)};
    if (auto it = used_.find(user); it != used_.end()) return it->second;
    Stages out{stages_, stage_.at(user)};
    for (Value v : user->results())
      out = {std::min(out.first, first_read(v)), std::max(out.last, last_read(v))};
    return used_[user] = out;
  }
  // Read by one node alone, which is itself kept or wanted no earlier: keeping that one is enough.
  bool later_user_only(const Node* node) const {
    const auto& uses = node->result()->uses();
    if (uses.empty()) return true;
    return first_read(node->result()) == last_read(node->result()) || uses.size() == 1;
  }
  const Block& region_;
  const Dims& domain_;
  std::unordered_map<const Node*, int> stage_;
  std::vector<const Node*> kept_;
  mutable std::unordered_map<const Node*, Stages> used_;  // with what is kept so far
  int stages_ = 0;
};

// Whether the whole region's only result may stand in the memory of an operand: the last walk reads an
// element and then writes it, so of one that is read at its own element alone, unless another result is
// written from it later (what has one value a row, or a column, is not).
inline void note_in_place(const Block& region, const Dims& domain, Kernel& kernel) {
  if (region.results().size() != 1 || region.results()[0]->type().dims != domain) return;
  for (size_t a = 0; a < region.args().size(); ++a) {
    Value arg = region.arg(a);
    bool own = arg->type().dims == domain &&
               size_of(arg->type().dtype) == size_of(region.results()[0]->type().dtype);
    if (own && ops::read_at_own_element(arg, true)) kernel.in_place.emplace_back(0, static_cast<int>(a));
  }
}

// Lanes of the order of summation of rows of so many columns.
int lanes_of_row(const Block& region, const Dim& columns);

// A kernel of one stage of folds, with vectors along an axis that they keep; `rows` says that the order of
// summation is that of rows. Part of lower_column and of lower_row.
void lower_along_kept(GroupEmitter& emit, Kernel& kernel, const ops::FoldWalk& walk, bool rows);

}  // namespace ig::codegen
