// The grouping itself: how each role of node finds its group, when two groups may become one, and the order
// of units. Producers move into their readers in fusion_pulls.cpp.
#include "passes/fusion_groups.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/across.h"
#include "ops/attrs.h"
#include "ops/contraction.h"
#include "ops/effects.h"
#include "ops/memory.h"
#include "passes/fusion_cost.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

constexpr size_t kLargestRefusalLog = 1024;

using Kind = ops::LowerRule::Kind;

Dims without(const Dims& dims, const Ints& axes) {
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) out.push_back(dims[i]);
  return out;
}

bool trailing(const Ints& axes, int rank) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != rank - static_cast<int64_t>(axes.size()) + static_cast<int64_t>(i)) return false;
  return true;
}

// A few rows so long that they do not stay in a cache: to walk them again in one kernel saves nothing, and
// would leave them to a thread each, where folds alone go by pieces.
bool few_long_rows(const Type& type, const Ints& axes) {
  constexpr int64_t kFew = 8, kLong = 4 * ops::kPieceOfRow;
  auto dims = constant_dims(type.dims);
  if (!dims || axes.empty()) return false;
  int64_t rows = 1, columns = 1;
  for (size_t i = 0; i < dims->size(); ++i)
    (static_cast<int64_t>(i) < axes.front() ? rows : columns) *= (*dims)[i];
  return rows < kFew && columns >= kLong;
}

// Whether folds of so many ordered lanes (0: any) may share a walk along rows.
bool one_order(int a, int b) { return a == 0 || b == 0 || a == b; }

bool walks_again(const Group* group) {
  return group->kind == GroupKind::Row || group->kind == GroupKind::Panel;
}

}  // namespace

std::string_view group_kind_name(GroupKind kind) {
  switch (kind) {
    case GroupKind::Loop: return "loop";
    case GroupKind::View: return "loop";  // a view that must be written out is a copy loop
    case GroupKind::Row: return "row";
    case GroupKind::Panel: return "panel";
    case GroupKind::Column: return "column";
    case GroupKind::Contraction: return "contraction";
    case GroupKind::Heavy: return "heavy";
    case GroupKind::Nest: return "nest";
    case GroupKind::Relabel: return "relabel";
  }
  return "loop";
}

Grouping::Grouping(Block& block, const Machine& machine, bool tells)
    : block_(block), machine_(machine), tells_(tells) {
  size_t i = 0;
  const Node* last_effect = nullptr;
  for (Node* node : block) {
    position_[node] = i++;
    if (is_terminator(node)) continue;
    const int updated = ops::op_of(node).rules.lower.updates;
    for (size_t k = 0; k < node->operands().size(); ++k)
      if (ops::has(node, ops::Trait::Control) || updated == static_cast<int>(k))
        changed_.emplace(ops::root_of(node->operand(k)), position_[node]);
    if (!ops::has_effects(node)) continue;
    if (last_effect) next_effect_[last_effect] = node;
    last_effect = node;
  }
}

// Whether some elements of what nothing computes here are changed, for the block to give or for a loop or a
// branch to go on with: where nobody needs what they were, only these are written.
bool Grouping::updates_in_place(const Node* node) const {
  // Where the array must be copied first, the window is written beside one pass over all: a quarter more.
  constexpr double kLargestPart = 0.25;
  const auto operand = static_cast<size_t>(ops::op_of(node).rules.lower.updates);
  const Value old = node->operand(operand);
  const Group* from = old->node() ? group_of(old->node()) : nullptr;
  if (old->node() && (is_free(old->node()) ||
                      (from ? from->kind != GroupKind::Nest : role_of(old->node()) != Role::Barrier)))
    return false;
  double changed = 0;
  for (Value v : node->operands())
    if (v != old) changed += elements_in(v->type().dims, block_.graph().dims);
  if (changed > kLargestPart * elements_in(old->type().dims, block_.graph().dims)) return false;
  return std::ranges::any_of(node->result()->uses(), [&](const Use& use) {
    if (is_terminator(use.user) || ops::has(use.user, ops::Trait::Control)) return true;
    const ops::LowerRule& rule = ops::op_of(use.user).rules.lower;
    return rule.nest && rule.updates == static_cast<int>(use.operand);
  });
}

Grouping::Role Grouping::role_of(const Node* node) const {
  if (is_terminator(node)) return Role::Barrier;
  const ops::Op& op = ops::op_of(node);
  if (op.has(ops::Trait::Effect) || op.has(ops::Trait::Control)) return Role::Barrier;
  auto no_tensor = [](Value v) { return !v->type().is_tensor(); };
  if (std::any_of(node->results().begin(), node->results().end(), no_tensor) ||
      std::any_of(node->operands().begin(), node->operands().end(), no_tensor))
    return Role::Barrier;
  if (op.has(ops::Trait::Constant)) {
    // Single numbers, and what is computed from indices alone (iota), are made where they are used.
    const AttrValue* value = node->attrs().find(ops::kValue.name);
    bool literal = value && std::holds_alternative<Literal>(*value);
    bool made_in_place =
        literal ? std::get<Literal>(*value).elements() == 1 : op.rules.lower.kind == Kind::Point;
    return made_in_place ? Role::Free : Role::Barrier;
  }
  if (op.has(ops::Trait::Contraction)) return Role::Contraction;
  switch (op.rules.lower.kind) {
    case Kind::Scalar: return Role::Scalar;
    case Kind::Point: {
      if (op.rules.lower.nest && updates_in_place(node)) return Role::Nest;
      if (!op.has(ops::Trait::View) && !op.has(ops::Trait::Cheap)) return Role::Heavy;
      bool free = std::all_of(node->operands().begin(), node->operands().end(),
                              [&](Value v) { return v->node() && is_free(v->node()); });
      return free ? Role::Free : Role::View;
    }
    case Kind::Reduce: return Role::Reduce;
    case Kind::Nest: return Role::Nest;
    default: return Role::Barrier;
  }
}

Group* Grouping::group_of(const Node* node) const { return of_.get(node); }

std::vector<Group*> Grouping::producer_groups(const Node* node) const {
  std::vector<Group*> out;
  for (Value v : node->operands())
    if (Group* g = v->node() ? group_of(v->node()) : nullptr)
      if (std::find(out.begin(), out.end(), g) == out.end()) out.push_back(g);
  return out;
}

bool Grouping::reads(const Group* reader, const Group* from) const {
  return std::ranges::any_of(reader->nodes, [&](const Node* node) {
    return std::ranges::any_of(node->operands(),
                               [&](Value v) { return v->node() && group_of(v->node()) == from; });
  });
}

void Grouping::refuse(const Node* node, const Group* group, std::string_view why, const Costs* costs) {
  if (!tells_ || refusals_.size() >= kLargestRefusalLog) return;
  ops::FusionRefusal told;
  told.node = ops::FusionNode::of(node);
  told.kernel_of = ops::FusionNode::of(group->nodes.back());
  told.kind = group_kind_name(group->kind);
  told.reason = why;
  if (costs) told.by_cost = true, told.together = costs->together, told.apart = costs->apart;
  refusals_.push_back({node, group->nodes.back(), std::move(told)});
}

// What was refused at first, but came about another way, is no refusal; nor is what made no difference, where
// neither kernel reads the other.
void Grouping::tell_refusals() {
  for (Refusal& refusal : refusals_) {
    const Group *home = group_of(refusal.node), *of = group_of(refusal.of);
    if (home && of && home != of && (reads(home, of) || reads(of, home)))
      told_.push_back(std::move(refusal.told));
  }
}

ops::FusedKernel Grouping::describe(const Group& group) const {
  auto free = [&](const Node* node) { return is_free(node); };
  const DimScope& scope = block_.graph().dims;
  ops::FusedKernel out;
  out.kind = group_kind_name(group.kind);
  const KernelWork all[] = {{group.nodes}};
  out.together = cost_of_kernel(all, free, scope);
  for (Node* const& node : group.nodes) {
    out.nodes.push_back(ops::FusionNode::of(node));
    if (ops::has(node, ops::Trait::Relabel)) continue;
    const KernelWork alone[] = {{std::span(&node, 1)}};
    ops::FusionCost cost = cost_of_kernel(alone, free, scope);
    out.apart.bytes += cost.bytes;
    out.apart.operations += cost.operations;
    out.apart.nanoseconds += cost.nanoseconds;
  }
  return out;
}

Group* Grouping::start(Node* node, GroupKind kind, Dims domain) {
  groups_.push_back(std::make_unique<Group>());
  Group* group = groups_.back().get();
  group->kind = kind;
  group->domain = std::move(domain);
  group->kept = group->domain;
  group->nodes.push_back(node);
  of_[node] = group;
  return group;
}

void Grouping::join(Group* group, Node* node) {
  group->nodes.push_back(node);
  of_[node] = group;
}

Group* Grouping::merge(Group* into, Group* from) {
  for (Node* node : from->nodes) of_[node] = into;
  into->nodes.insert(into->nodes.end(), from->nodes.begin(), from->nodes.end());
  std::ranges::stable_sort(into->nodes, {}, [&](Node* n) { return position_.get(n); });
  into->reductions += from->reductions;
  into->lanes = std::max(into->lanes, from->lanes);
  if (placed_) note_crossing(into);
  if (into->kind == GroupKind::View || walks_again(from)) {
    into->kind = from->kind == GroupKind::View ? into->kind : from->kind;
    if (walks_again(from)) {
      into->axes = from->axes;
      into->kept = from->kept;
    }
  }
  from->nodes.clear();
  return into;
}

// Whether the merged kernel would have to run both before and after something outside of it. What stands
// behind all of the merged nodes leads back to them only by way of a kernel that has nodes on both sides:
// such a one counts as reached where anything behind is.
bool Grouping::makes_cycle(std::vector<const Group*> merged, const Node* with) const {
  size_t last = with ? position_.get(with) : 0;
  for (const Group* g : merged)
    for (const Node* n : g->nodes) last = std::max(last, position_.get(n));
  auto inside = [&](const Node* n) {
    const Group* g = group_of(n);
    return n == with || (g && std::find(merged.begin(), merged.end(), g) != merged.end());
  };
  const uint32_t search = ++searches_;
  auto meet = [&](const Node* n) { return std::exchange(seen_[n], search) != search; };
  std::vector<const Node*> work;
  bool behind = false;
  auto push = [&](const Node* n) {
    if (position_.get(n) > last)
      behind = true;
    else if (meet(n))
      work.push_back(n);
  };
  auto push_users = [&](const Node* n, bool outside) {
    for (Value v : n->results())
      for (const Use& use : v->uses())
        if (use.user->block() == &block_ && !(outside && inside(use.user))) push(use.user);
  };
  // Effects run in their order, whether or not one reads what the other gives.
  auto push_effect = [&](const Node* n) {
    if (auto effect = next_effect_.find(n); effect != next_effect_.end()) push(effect->second);
  };
  auto push_members = [&](const Group* g) {
    for (const Node* member : g->nodes)
      if (meet(member)) push_users(member, false), push_effect(member);
  };
  for (const Group* g : merged)
    for (const Node* n : g->nodes) push_users(n, true);
  for (bool crossed = false;;) {
    while (!work.empty()) {
      const Node* n = work.back();
      work.pop_back();
      if (inside(n)) return true;
      push_users(n, false), push_effect(n);
      if (const Group* g = group_of(n)) push_members(g);
    }
    if (!behind || std::exchange(crossed, true)) return false;
    for (const Group* g : crossing(last))
      if (!inside(g->nodes.front())) push_members(g);
  }
}

// Kernels with nodes on both sides of a position. While nodes are being placed nothing stands behind.
std::vector<const Group*> Grouping::crossing(size_t position) const {
  std::vector<const Group*> out;
  const size_t row = position / kPositionsOfRow;
  if (row >= crossing_.size()) return out;
  for (const Group* g : crossing_[row]) {
    auto stands = [&](bool after) {
      return std::ranges::any_of(g->nodes,
                                 [&](const Node* n) { return (position_.get(n) > position) == after; });
    };
    if (stands(false) && stands(true)) out.push_back(g);
  }
  return out;
}

void Grouping::note_crossing(const Group* group) {
  if (group->nodes.empty()) return;
  size_t first = position_.get(group->nodes.front()), last = first;
  for (const Node* n : group->nodes) {
    first = std::min(first, position_.get(n));
    last = std::max(last, position_.get(n));
  }
  if (crossing_.size() <= last / kPositionsOfRow) crossing_.resize(last / kPositionsOfRow + 1);
  for (size_t row = first / kPositionsOfRow; row <= last / kPositionsOfRow; ++row) {
    std::vector<const Group*>& there = crossing_[row];
    if (std::ranges::find(there, group) == there.end()) there.push_back(group);
  }
}

bool Grouping::accepts_scalar(const Group* group, const Node* node) const {
  const Dims& shape = node->result()->type().dims;
  if (group->nodes.size() >= kLargestGroup || group->closed) return false;
  switch (group->kind) {
    case GroupKind::Loop:
    case GroupKind::View:
    case GroupKind::Heavy:
    case GroupKind::Contraction: return shape == group->domain;
    case GroupKind::Row:
    case GroupKind::Panel: return shape == group->domain || shape == group->kept;
    case GroupKind::Column: return shape == group->kept;
    case GroupKind::Nest:
    case GroupKind::Relabel: return false;
  }
  return false;
}

bool Grouping::can_merge(const Group* a, const Group* b) const {
  if (a->nodes.size() + b->nodes.size() > kLargestGroup || a->domain != b->domain) return false;
  auto plain = [](const Group* g) { return g->kind == GroupKind::Loop || g->kind == GroupKind::View; };
  if (plain(a) && plain(b)) return true;
  if ((walks_again(a) && plain(b)) || (plain(a) && walks_again(b))) return true;
  return walks_again(a) && a->kind == b->kind && a->axes == b->axes && one_order(a->lanes, b->lanes);
}

void Grouping::place_scalar(Node* node) {
  Group* home = nullptr;
  for (Group* group : producer_groups(node)) {
    if (!accepts_scalar(group, node)) {
      refuse(node, group, "the shapes of the kernel's walk and of the node differ");
      continue;
    }
    if (!home) {
      if (makes_cycle({group}, node)) {
        refuse(node, group, "something outside must run between them");
        continue;
      }
      home = group;
      continue;
    }
    if (!can_merge(home, group)) {
      refuse(node, group, "one kernel cannot hold both of its producers");
      continue;
    }
    // One reads the other through views: what that computes is computed anew at their places. (Why not, is
    // told with the pulls.)
    if ((reads(home, group) && !may_pull(group, home)) || (reads(group, home) && !may_pull(home, group)))
      continue;
    if (makes_cycle({home, group}, node)) {
      refuse(node, group, "something outside must run between them");
      continue;
    }
    home = !walks_again(home) && walks_again(group) ? merge(group, home) : merge(home, group);
  }
  if (home) {
    join(home, node);
    if (home->kind == GroupKind::View) home->kind = GroupKind::Loop;
    return;
  }
  start(node, GroupKind::Loop, node->result()->type().dims);
}

void Grouping::place_view(Node* node) {
  // A row's folded value, spread over the row again, stays in the row's kernel.
  const AttrValue* spread = node->attrs().find(ops::kBroadcastDims.name);
  for (Group* group : producer_groups(node)) {
    if (!walks_again(group) || !spread || node->result()->type().dims != group->domain) continue;
    const auto& map = std::get<Ints>(*spread);
    bool own_row = node->operand(0)->type().dims == group->kept;
    for (int64_t axis = 0, i = 0; axis < node->result()->type().rank(); ++axis)
      if (std::ranges::find(group->axes, axis) == group->axes.end())
        own_row = own_row && map[static_cast<size_t>(i++)] == axis;
    if (own_row && group->nodes.size() < kLargestGroup && !makes_cycle({group}, node))
      return join(group, node);
  }
  for (Group* group : producer_groups(node))
    if (turns_behind(group, node) && !makes_cycle({group}, node)) {
      join(group, node);
      group->closed = true;
      return;
    }
  start(node, ops::has(node, ops::Trait::Relabel) ? GroupKind::Relabel : GroupKind::View,
        node->result()->type().dims);
}

// A convolution's kernel turns its finished values over while it stores them, where the view puts the places
// last, in their order, and nothing else reads what the kernel computes. A product of many small matrices
// that lie with their batch last is stored like that.
bool Grouping::turns_behind(const Group* group, const Node* node) const {
  if (group->kind != GroupKind::Contraction || group->closed || !node->attrs().find(ops::kPermutation.name))
    return false;
  std::string axes;
  for (const Node* member : group->nodes) {
    for (Value v : member->results())
      for (const Use& use : v->uses())
        if (use.user != node && group_of(use.user) != group) return false;
    if (const AttrValue* layout = member->attrs().find(ops::kConvLayout.name)) {
      const auto& text = std::get<std::string>(*layout);
      axes = text.substr(text.find("->") + 2);
    }
  }
  const Ints& order = node->attrs().get(ops::kPermutation);
  if (axes.empty())
    return group->nodes.size() == 1 && ops::batch_lies_last(group->nodes[0]) && order.back() == 0 &&
           std::is_sorted(order.begin(), order.end() - 1);
  if (axes.size() != order.size()) return false;
  for (size_t i = 2; i < order.size(); ++i)
    if (axes[static_cast<size_t>(order[i])] != static_cast<char>('0' + i - 2)) return false;
  return axes.back() == 'f';
}

void Grouping::place_reduce(Node* node) {
  const Ints& axes = node->attrs().get(ops::kAxes);
  const Type& type = node->operand(0)->type();
  const bool along_rows = trailing(axes, type.rank()), row = along_rows && !few_long_rows(type, axes);
  const int lanes = along_rows ? ops::ordered_lanes(node) : 0;
  const GroupKind kind = row ? GroupKind::Row : pays_as_panels(node) ? GroupKind::Panel : GroupKind::Column;
  for (Group* group : producer_groups(node)) {
    bool plain = group->kind == GroupKind::Loop || group->kind == GroupKind::View;
    bool same_row = walks_again(group) && group->axes == axes;
    if (group->domain != type.dims || !(plain || same_row) || group->nodes.size() >= kLargestGroup) {
      refuse(node, group, "it folds another shape or other axes than the kernel walks");
      continue;
    }
    if (makes_cycle({group}, node)) {
      refuse(node, group, "something outside must run between them");
      continue;
    }
    if (!one_order(group->lanes, lanes)) {
      refuse(node, group, "what it adds up has another width, and so another order of summation");
      continue;
    }
    if (folds_short_parts(group, type.dims, axes)) {
      refuse(node, group, kShortParts);
      continue;
    }
    if (kind == GroupKind::Column) {
      bool private_to_fold = std::all_of(group->nodes.begin(), group->nodes.end(), [&](Node* member) {
        return std::all_of(member->results().begin(), member->results().end(), [&](Value v) {
          return std::all_of(v->uses().begin(), v->uses().end(),
                             [&](const Use& u) { return u.user == node || group_of(u.user) == group; });
        });
      });
      if (!private_to_fold) {
        refuse(node, group, "the unfolded values are read elsewhere too");
        continue;
      }
    }
    join(group, node);
    group->kind = kind;
    group->axes = axes;
    group->kept = without(type.dims, axes);
    group->lanes = std::max(group->lanes, lanes);
    ++group->reductions;
    return;
  }
  Group* group = start(node, kind, type.dims);
  group->axes = axes;
  group->kept = without(type.dims, axes);
  group->lanes = lanes;
  group->reductions = 1;
}

// What a nest reads from a buffer, and would be made anew where it is read, gets one.
void Grouping::write_out(Node* node) {
  if (!is_free(node)) return;
  free_[node] = 0;
  if (node->attrs().find(ops::kValue.name)) return;  // a constant of the program
  start(node, GroupKind::Loop, node->result()->type().dims);
}

// A convolution's kernel reads memory: what would be made anew where it is read (a box filter's one number,
// an image of indices) is written out, and a number that is spread only once.
void Grouping::write_images(Node* convolution) {
  for (uint32_t i = 0; i < convolution->operands().size(); ++i) {
    Node* from = convolution->operand(i)->node();
    if (!from || !is_free(from)) continue;
    const Use use[] = {{convolution, i}};
    Node* own = add_twin(from, convolution, use);
    if (own->attrs().find(ops::kValue.name)) continue;  // a constant of the program
    position_[own] = position_.get(from);
    Node* number = own->operands().size() == 1 ? own->operand(0)->node() : nullptr;
    const bool spread =
        number && own->attrs().find(ops::kBroadcastDims.name) && number->attrs().find(ops::kValue.name);
    if (spread) {
      const Use read[] = {{own, 0}};
      add_twin(number, own, read);
    }
    start(own, spread ? GroupKind::View : GroupKind::Loop, own->result()->type().dims);
  }
}

void Grouping::place(Node* node) {
  switch (role_of(node)) {
    case Role::Barrier: return;
    case Role::Free: free_[node] = 1; return;
    case Role::Scalar: return place_scalar(node);
    case Role::View: return place_view(node);
    case Role::Reduce: return place_reduce(node);
    case Role::Contraction: {
      if (node->attrs().find(ops::kConvLayout.name)) write_images(node);
      Group* group = start(node, GroupKind::Contraction, node->result()->type().dims);
      // Of several matrices the kernel finishes one after the other: nothing reads two of them there.
      auto matrix = [&](Value v) { return v->type().rank() == node->result()->type().rank(); };
      group->closed = std::ranges::count_if(node->results(), matrix) > 1;
      return;
    }
    case Role::Heavy: start(node, GroupKind::Heavy, node->result()->type().dims); return;
    case Role::Nest:
      for (size_t i = 0; i < node->operands().size(); ++i)
        if (Node* from = node->operand(i)->node(); from && !takes(node, i)) write_out(from);
      start(node, GroupKind::Nest, {});
      return;
  }
}

// A product that is read in parts, and the element-wise work on them: a kernel that has all parts of an
// element at hand writes none of the product.
void Grouping::join_parts() {
  for (const auto& made : groups_) {
    Group* group = made.get();
    if (group->kind != GroupKind::Contraction || group->nodes.empty() || group->closed) continue;
    auto product = std::ranges::find_if(
        group->nodes, [](const Node* node) { return ops::has(node, ops::Trait::Contraction); });
    std::optional<ops::ProductParts> parts = ops::parts_of_product(*product);
    if (!parts || ops::batch_lies_last(*product)) continue;
    Group* reader = group_of(parts->slices[0]);
    if (!reader || reader->kind != GroupKind::Loop || reader == group ||
        group->nodes.size() + reader->nodes.size() > kLargestGroup)
      continue;
    auto in = [&](const Group* home) {
      return [&, home](const Node* node) { return group_of(node) == home; };
    };
    if (!std::ranges::all_of(parts->members, in(group)) || !std::ranges::all_of(parts->slices, in(reader)))
      continue;
    if (reader->domain != parts->slices[0]->result()->type().dims) {
      refuse(reader->nodes.back(), group, "the slices of the product are moved about");
      continue;
    }
    // What is computed of the parts may not be moved either: they are at hand at their own place alone.
    std::unordered_set<const Node*> computed(parts->slices.begin(), parts->slices.end());
    bool moved = false;
    for (const Node* node : reader->nodes) {
      if (computed.contains(node)) continue;
      const bool reads = std::ranges::any_of(
          node->operands(), [&](Value v) { return v->node() && computed.contains(v->node()); });
      if (!reads) continue;
      moved = moved || !ops::has(node, ops::Trait::Elementwise);
      computed.insert(node);
    }
    if (moved || makes_cycle({group, reader}, nullptr)) {
      refuse(reader->nodes.back(), group,
             moved ? "the slices of the product are moved about" : "something outside must run between them");
      continue;
    }
    Dims domain = reader->domain;
    merge(group, reader);
    group->domain = group->kept = domain;
    group->closed = true;
  }
}

// Whether to compute the group's results earlier or later keeps next to nothing longer in memory: they are
// small, or results of the block.
bool Grouping::keeps_little(const Group* group) const {
  constexpr double kLittle = 0.25;  // of the elements that the kernel walks; truths of all are as little
  constexpr double kElement = 4;    // bytes
  const DimScope& scope = block_.graph().dims;
  double walked = elements_in(group->domain, scope);
  for (const Node* node : group->nodes)
    for (Value v : node->results()) {
      if (!v->type().is_tensor()) continue;
      const double part = std::min(1.0, static_cast<double>(size_of(v->type().dtype)) / kElement);
      if (part * elements_in(v->type().dims, scope) <= kLittle * walked) continue;
      for (const Use& use : v->uses())
        if (group_of(use.user) != group && !is_terminator(use.user)) return false;
    }
  return true;
}

// What folds the same axes in one stage, and not what the other one came to.
bool Grouping::may_fold_beside(const Group* a, const Group* b) const {
  return a->kind == GroupKind::Column && b->kind == a->kind && a->domain == b->domain && a->axes == b->axes &&
         one_order(a->lanes, b->lanes) && a->nodes.size() + b->nodes.size() <= kLargestGroup &&
         !reads(a, b) && !reads(b, a);
}

bool Grouping::may_join(const Group* first, const Group* then) const {
  constexpr size_t kFar = 256;  // nodes between them: no long searches, and nothing waits for long
  if (first->kind != then->kind || first->closed || then->closed) return false;
  if (!can_merge(first, then) && !may_fold_beside(first, then)) return false;
  size_t from = position_.get(first->nodes.back()), to = position_.get(then->nodes.back());
  if (std::max(from, to) - std::min(from, to) > kFar) return false;
  return keeps_little(first) && keeps_little(then) && !makes_cycle({first, then}, nullptr);
}

// Kernels that walk the same array side by side become one, which reads it once.
void Grouping::join_siblings() {
  constexpr size_t kTried = 4;  // of the kernels that read an array, the last ones
  std::unordered_map<Value, std::vector<Group*>> readers;
  for (const auto& made : groups_) {
    Group* group = made.get();
    if (group->nodes.empty() ||
        (group->kind != GroupKind::Loop && group->kind != GroupKind::Row && group->kind != GroupKind::Column))
      continue;
    std::vector<Value> read;  // all of it, in whatever order it lies
    const Dim walked = product(group->domain);
    for (const Node* node : group->nodes)
      for (Value v : node->operands())
        if (v->type().is_tensor() && product(v->type().dims) == walked &&
            !(v->node() && (group_of(v->node()) == group || is_free(v->node()))) &&
            std::find(read.begin(), read.end(), v) == read.end())
          read.push_back(v);
    for (Value v : read) {
      std::vector<Group*>& others = readers[v];
      for (size_t tried = 0; tried < kTried && tried < others.size(); ++tried) {
        Group* other = others[others.size() - 1 - tried];
        if (other == group || other->nodes.empty() || !may_join(other, group)) continue;
        group = merge(other, group);
        break;
      }
      if (group != made.get()) break;
    }
    for (Value v : read)
      if (std::vector<Group*>& all = readers[v]; std::find(all.begin(), all.end(), group) == all.end())
        all.push_back(group);
  }
}

// What is copied into each kernel that reads it has no kernel itself. Where something else reads it (a loop,
// the block's result), a twin of it is written out by a kernel of its own.
void Grouping::write_out_free() {
  std::vector<Node*> read_elsewhere;
  for (Node* node : block_) {
    if (!is_free(node) || ops::op_of(node).rules.lower.kind != Kind::Point) continue;
    const AttrValue* value = node->attrs().find(ops::kValue.name);
    if (ops::has(node, ops::Trait::Constant) && value && std::holds_alternative<Literal>(*value)) continue;
    for (const Use& use : node->result()->uses())
      if (!group_of(use.user) && !is_free(use.user)) {
        read_elsewhere.push_back(node);
        break;
      }
  }
  for (Node* node : read_elsewhere) {
    std::vector<Use> uses = node->result()->uses();
    std::erase_if(uses, [&](const Use& use) { return group_of(use.user) || is_free(use.user); });
    Node* twin = add_twin(node, node->next(), uses);
    start(twin, GroupKind::View, node->result()->type().dims);
  }
}

void Grouping::run() {
  for (Node* node : block_) place(node);
  spread_where_read();
  pull_producers();
  if (compute_where_read()) pull_producers();
  placed_ = true;
  for (const auto& group : groups_)
    if (group->nodes.size() > 1) note_crossing(group.get());
  join_parts();
  join_siblings();
  settle_panels();
  if (tells_) refuse_pulls();
  write_out_free();
  tell_refusals();
}

std::vector<Grouping::Unit> Grouping::ordered_units() const {
  std::vector<Unit> units;
  NodeTable<size_t> unit_of;  // counted from 1
  std::unordered_map<const Group*, size_t> group_unit;
  for (Node* node : block_) {
    if (is_terminator(node)) continue;
    Group* g = group_of(node);
    if (!g) {
      units.push_back({nullptr, node});
      unit_of[node] = units.size();
    } else if (auto [it, fresh] = group_unit.try_emplace(g, units.size() + 1); fresh) {
      units.push_back({g, nullptr});
      unit_of[node] = units.size();
    } else {
      unit_of[node] = it->second;
    }
  }
  std::vector<std::vector<size_t>> readers(units.size());
  std::vector<size_t> missing(units.size(), 0);
  auto waits = [&](size_t reader, size_t unit) {
    readers[unit - 1].push_back(reader - 1);
    ++missing[reader - 1];
  };
  for (const Node* node : block_)
    for (Value v : node->results())
      for (const Use& use : v->uses())
        if (size_t reader = unit_of.get(use.user); reader != 0 && reader != unit_of.get(node))
          waits(reader, unit_of.get(node));
  for (auto [first, then] : next_effect_) waits(unit_of.get(then), unit_of.get(first));
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;  // nearest to the order as written
  for (size_t u = 0; u < units.size(); ++u)
    if (missing[u] == 0) ready.push(u);
  std::vector<Unit> out;
  while (!ready.empty()) {
    size_t u = ready.top();
    ready.pop();
    out.push_back(units[u]);
    for (size_t r : readers[u])
      if (--missing[r] == 0) ready.push(r);
  }
  IG_CHECK(out.size() == units.size(), "fusion made a cycle");
  return out;
}

}  // namespace ig::passes
