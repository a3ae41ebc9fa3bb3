// Which nodes of a block become one kernel. The grouping is greedy and local: nodes are visited in order, and
// each joins the groups of its producers where one kernel can compute both; then groups whose only reader is
// one other group move into it; then what a group would write for others is computed again by these, where
// that moves less (fusion_recompute.cpp). Every refusal is noted with its reason.
//
// Where a producer would be computed more often than it is now, or less, the costs of both decide
// (fusion_cost.h). Groups that fold the same rows, or walk the same arrays, become one where that saves
// reading them and keeps nothing longer in memory.
//
// The kinds of kernel:
//   loop         all results have one shape; every node is an expression of elements of its operands
//   row          folds over trailing axes, with element-wise work before, between and after them: one row
//   stays in
//                cache for all stages (softmax, layer norm)
//   panel        the same with folds over axes in the middle, where all folded elements of some neighbouring
//   columns
//                stay in cache
//   column       one stage of folds over other axes, then element-wise work on what is left
//   contraction  a sum of products with element-wise work on its result, and views on its operands; also with
//                work on slices of a product that make it up (gates)
//   heavy        an expression that folds inside (a window): element-wise work on its result may join
//   nest         an op that writes its own loops; cheap work on what it takes element by element
//   relabel      views that keep the order of bytes: no kernel at all
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/fusion_report.h"
#include "ops/table.h"
#include "passes/pass.h"

namespace ig::passes {

enum class GroupKind : uint8_t { Loop, View, Row, Panel, Column, Contraction, Heavy, Nest, Relabel };
std::string_view group_kind_name(GroupKind kind);

struct Group {
  GroupKind kind = GroupKind::Loop;
  std::vector<Node*> nodes;  // in order
  Dims domain;               // the shape that the kernel walks (for folds: before folding)
  Ints axes;                 // folded axes, for row, panel and column
  Dims kept;                 // the domain without the folded axes
  int reductions = 0;        // folds inside
  int lanes = 0;             // of the folds along rows whose order shows in their bits
  bool closed = false;       // nothing may stand behind: a view does, or it gives several matrices
};

// What is known of the nodes of one graph, by their numbers.
template <typename T>
class NodeTable {
 public:
  T get(const Node* node) const { return node->id() < values_.size() ? values_[node->id()] : T{}; }
  T& operator[](const Node* node) {
    if (node->id() >= values_.size()) values_.resize(std::max<size_t>(node->id() + 1, 2 * values_.size()));
    return values_[node->id()];
  }

 private:
  std::vector<T> values_;
};

constexpr size_t kLargestGroup = 128;  // nodes: beyond it registers spill and code grows faster than it saves
constexpr size_t kMostPlaces = 256;    // at which these are computed, all together: that is code, too
// Why a fold does not work out what it folds; see Grouping::folds_short_parts.
constexpr std::string_view kShortParts =
    "rows are too short to be read in whole groups of lanes: to ask of each element where it comes from "
    "costs "
    "more than to write and read them";

class Grouping {
 public:
  // Without `tells` no refusal is noted, which is a good part of the work.
  Grouping(Block& block, const Machine& machine, bool tells = true);
  // Writes copies of nodes into the block, and takes out what they stand for.
  void run();

  // Groups and lone nodes in an order in which each stands behind all that it reads.
  struct Unit {
    Group* group = nullptr;  // else `node`
    Node* node = nullptr;
  };
  std::vector<Unit> ordered_units() const;
  bool is_free(const Node* node) const {
    return free_.get(node) != 0;
  }  // cloned into each group that reads it
  // What one kernel could not hold, or what would have cost more.
  const std::vector<ops::FusionRefusal>& refusals() const { return told_; }
  ops::FusedKernel describe(const Group& group) const;

 private:
  enum class Role : uint8_t { Barrier, Free, Scalar, View, Heavy, Reduce, Contraction, Nest };
  bool updates_in_place(const Node* node) const;
  Role role_of(const Node* node) const;
  void place(Node* node);
  void write_out(Node* node);
  void write_images(Node* convolution);
  void place_scalar(Node* node);
  void place_view(Node* node);
  bool turns_behind(const Group* group, const Node* node) const;
  void place_reduce(Node* node);
  bool pays_as_panels(const Node* fold) const;  // fusion_panels.cpp
  Group* start(Node* node, GroupKind kind, Dims domain);
  void join(Group* group, Node* node);
  Group* merge(Group* into, Group* from);
  bool can_merge(const Group* a, const Group* b) const;
  bool reads(const Group* reader, const Group* from) const;
  bool accepts_scalar(const Group* group, const Node* node) const;
  bool makes_cycle(std::vector<const Group*> merged, const Node* with) const;
  std::vector<const Group*> crossing(size_t position) const;
  void note_crossing(const Group* group);
  bool read_only_by(const Group* producer, const Group* reader) const;
  void pull_producers();
  void spread_where_read();
  void compute_in(Group* reader, Node* node);
  Node* add_twin(Node* node, Node* before, std::span<const Use> uses);
  class Recomputing;
  bool compute_where_read();
  void join_parts();
  struct Places {
    size_t all = 0;  // of all nodes; beyond kMostPlaces no others are counted
    std::unordered_map<const Node*, size_t> of;
    size_t at(const Node* node) const {
      auto found = of.find(node);
      return found == of.end() ? 1 : found->second;
    }
    size_t most(const Group* group) const;  // of one of its nodes
  };
  Places places_in(std::initializer_list<const Group*> kernel) const;  // fusion_places.cpp
  struct Costs {
    ops::FusionCost together, apart;
    bool fixed = false;  // no size is a symbol
  };
  bool nest_takes(const Group* producer, const Group* nest) const;
  std::string_view why_not_in_nest(const Group* producer, const Group* nest) const;
  bool reads_what_changes(std::span<Node* const> nodes, const Group* nest) const;
  Costs costs_of_pull(const Group* producer, const Group* reader, const Places& places) const;
  void join_siblings();
  void settle_panels();  // fusion_panels.cpp
  bool may_fold_beside(const Group* a, const Group* b) const;
  bool may_join(const Group* first, const Group* then) const;
  bool keeps_little(const Group* group) const;
  void tell_refusals();
  void refuse_pulls();
  void refuse_pull(const Group* producer, const Group* reader);
  void write_out_free();
  bool may_pull(const Group* producer, const Group* reader) const;
  bool gathers_from_several(const Group* producer, const Group* reader) const;
  bool folds_short_parts(const Group* producer, const Dims& domain, const Ints& axes) const;
  bool lies_evenly(const Node* contraction, const Group* producer, const Group* reader) const;
  Group* group_of(const Node* node) const;
  std::vector<Group*> producer_groups(const Node* node) const;
  void refuse(const Node* node, const Group* group, std::string_view why, const Costs* costs = nullptr);

  Block& block_;
  const Machine& machine_;
  bool tells_;
  std::vector<std::unique_ptr<Group>> groups_;
  NodeTable<Group*> of_;
  NodeTable<size_t> position_;
  std::unordered_map<const Node*, const Node*> next_effect_;  // of nodes with effects: the next one
  // Roots of what may be changed as it lies, by updates, loops and branches: the position of the first of
  // these.
  std::unordered_map<Value, size_t> changed_;
  NodeTable<uint8_t> free_;
  // Of each so many positions the kernels of several nodes that reach over some of them; once all are placed.
  static constexpr size_t kPositionsOfRow = 64;
  std::vector<std::vector<const Group*>> crossing_;
  bool placed_ = false;
  mutable NodeTable<uint32_t> seen_;  // in which search for a way a node was met last
  mutable uint32_t searches_ = 0;
  struct Refusal {
    const Node *node, *of;  // what does not join, and a node of the kernel
    ops::FusionRefusal told;
  };
  std::vector<Refusal> refusals_;
  std::vector<ops::FusionRefusal> told_;
};

}  // namespace ig::passes
