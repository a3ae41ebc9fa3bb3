// The second stage of grouping: producers move into the kernels that read them, where that costs less than to
// write and read; and a few numbers that are spread over an array are spread by each of its readers.
#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/attrs.h"
#include "ops/contraction.h"
#include "ops/memory.h"
#include "ops/saved_values.h"
#include "ops/shape_attrs.h"
#include "ops/strided_view.h"
#include "passes/fusion_cost.h"
#include "passes/fusion_groups.h"
#include "passes/walk.h"

namespace ig::passes {

bool Grouping::read_only_by(const Group* producer, const Group* reader) const {
  for (const Node* n : producer->nodes)
    for (Value v : n->results())
      for (const Use& use : v->uses()) {
        const Group* g = group_of(use.user);
        if (g != producer && g != reader) return false;
      }
  return true;
}

namespace {

constexpr std::string_view kOneByOne =
    "computed one by one, its values cost more than to write and read them";

bool is_cheap(const Group* group) {
  return std::ranges::all_of(group->nodes, [](const Node* n) {
    return ops::has(n, ops::Trait::View) || ops::has(n, ops::Trait::Cheap);
  });
}

}  // namespace

bool Grouping::may_pull(const Group* producer, const Group* reader) const {
  if (producer->nodes.empty() || reader->nodes.empty() || producer == reader) return false;
  bool views = producer->kind == GroupKind::View || producer->kind == GroupKind::Relabel;
  if (!views && producer->kind != GroupKind::Loop) return false;
  if (producer->nodes.size() + reader->nodes.size() > kLargestGroup) return false;
  if (reader->kind == GroupKind::Nest)
    return nest_takes(producer, reader) && why_not_in_nest(producer, reader).empty();
  // A relabelled result stays where it was computed; the relabelling costs nothing.
  if (reader->kind == GroupKind::Relabel) return producer->kind == GroupKind::Relabel;
  // A contraction reads each element many times: only moves of bytes are worth doing at each reading, and of
  // those only the ones that leave elements at even distances, since its kernels read whole vectors.
  if (reader->kind == GroupKind::Contraction)
    return views &&
           std::ranges::all_of(producer->nodes, [](const Node* n) { return n->operands().size() == 1; }) &&
           std::ranges::all_of(reader->nodes, [&](const Node* n) {
             return !ops::has(n, ops::Trait::Contraction) || lies_evenly(n, producer, reader);
           });
  if (reader->kind == GroupKind::Heavy) return views;
  if (folds_short_parts(producer, reader->domain, reader->axes)) return false;
  if (gathers_from_several(producer, reader)) return false;
  const Places places = places_in({producer, reader});
  if (places.all > kMostPlaces) return false;
  const bool at_one_place = places.most(producer) == 1;
  if (at_one_place && (views || product(producer->domain) == product(reader->domain))) return true;
  // Spreading values out, or reading them at several places, computes them again for each: only where that
  // costs less than another kernel, or not much more for what is cheap: the estimate does not know what a
  // loop keeps in registers, and what is computed while it waits for memory.
  const bool cheap = is_cheap(producer);
  Costs costs = costs_of_pull(producer, reader, places);
  bool one_stage = reader->kind == GroupKind::Loop || reader->kind == GroupKind::View;
  if (at_one_place && (!costs.fixed || (!cheap && !one_stage))) return cheap;
  const double most = !cheap ? 0.95 : at_one_place ? 1.25 : 1;
  return costs.together.nanoseconds < most * costs.apart.nanoseconds;
}

// Whether the nodes read what the nest changes, which, computed there, they would find changed in part; or
// what something before the nest changes, which would have to keep it for them.
bool Grouping::reads_what_changes(std::span<Node* const> nodes, const Group* nest) const {
  return std::ranges::any_of(nodes, [&](const Node* node) {
    return std::ranges::any_of(node->operands(), [&](Value v) {
      auto first = changed_.find(ops::root_of(v));
      return first != changed_.end() && first->second <= position_.get(nest->nodes.back());
    });
  });
}

namespace {

// How many elements of what is gathered from lie side by side at each place.
double elements_side_by_side(const Node* gather, const DimScope& scope) {
  const Dims &sizes = gather->attrs().get(ops::kSliceSizes), &dims = gather->operand(0)->type().dims;
  size_t first = sizes.size() - (sizes.empty() ? 0 : 1);
  while (first > 0 && sizes[first] == dims[first]) --first;
  return std::max(1.0, elements_in(Dims(sizes.begin() + static_cast<ptrdiff_t>(first), sizes.end()), scope));
}

}  // namespace

// Whether rows that are gathered would be worked out from several large arrays, each with a line of its own
// that the processor does not foresee, where writing them out first, in order, costs less.
bool Grouping::gathers_from_several(const Group* producer, const Group* reader) const {
  constexpr double kLine = 5;          // ns, where several are waited for side by side
  constexpr double kNear = 512 << 10;  // bytes: what the second cache holds is no farther away in any order
  if (producer->kind != GroupKind::Loop) return false;
  const DimScope& scope = block_.graph().dims;
  // Whether the producer has the value, seen through what the reader moves, joins and pads.
  const std::function<bool(Value)> is_of_producer = [&](Value v) {
    const Node* node = v->node();
    if (!node || group_of(node) == producer) return node != nullptr;
    return group_of(node) == reader && ops::has(node, ops::Trait::View) &&
           std::ranges::any_of(node->operands(), is_of_producer);
  };
  double rows = 0;
  for (const Node* node : reader->nodes)
    if (node->attrs().find(ops::kOffsetDims.name) && is_of_producer(node->operand(0)))
      rows += elements_in(node->result()->type().dims, scope) / elements_side_by_side(node, scope);
  if (rows == 0) return false;
  std::vector<Value> large;
  for (const Node* node : producer->nodes)
    for (Value v : node->operands())
      if (!(v->node() && (group_of(v->node()) == producer || is_free(v->node()))) &&
          ops::bytes_of(v->type(), scope) > kNear && std::ranges::find(large, v) == large.end())
        large.push_back(v);
  const double more = static_cast<double>(large.size()) - 1;
  return more * rows * kLine >
         cost_of_writing_out(producer->nodes.back()->result(0)->type(), scope).nanoseconds;
}

// Whether the nest takes all that it reads of the producer's.
bool Grouping::nest_takes(const Group* producer, const Group* nest) const {
  const Node* op = nest->nodes.back();
  for (size_t i = 0; i < op->operands().size(); ++i) {
    const Node* from = op->operand(i)->node();
    if (from && group_of(from) == producer && !takes(op, i)) return false;
  }
  return true;
}

// Of a producer of values that a nest takes: why it does not compute them there, or nothing.
std::string_view Grouping::why_not_in_nest(const Group* producer, const Group* nest) const {
  if (reads_what_changes(producer->nodes, nest)) return "what it reads is changed by then";
  if (!is_cheap(producer)) return "the nest takes single elements, and functions are computed in lanes";
  const Places places = places_in({producer, nest});
  if (places.most(producer) > 1) return "its values would be computed at several places";
  const Costs costs = costs_of_pull(producer, nest, places);
  return costs.together.nanoseconds < costs.apart.nanoseconds ? "" : kOneByOne;
}

namespace {

constexpr int64_t kGroup = 32;  // lanes of a fold, of float32

// Whether a fold over these axes reads the node's elements in the order of memory, however the axes are
// joined: nothing is moved, and what is spread is one number for each thing that is folded, or a row of which
// a group of lanes has a whole number.
bool stays_in_order(const Node* node, const Ints& folded) {
  if (ops::has(node, ops::Trait::Elementwise) || ops::has(node, ops::Trait::Relabel)) return true;
  if (node->attrs().find(ops::kSliceStrides.name)) {  // of the first axis alone
    const Dims &from = node->operand(0)->type().dims, &own = node->result()->type().dims;
    return from.empty() || (std::equal(from.begin() + 1, from.end(), own.begin() + 1) &&
                            node->attrs().get(ops::kSliceStrides).front() == 1);
  }
  const AttrValue* spread = node->attrs().find(ops::kBroadcastDims.name);
  if (!spread) return node->operands().empty() && !node->attrs().find(ops::kAxis.name);
  const Dims& from = node->operand(0)->type().dims;
  const auto& to = std::get<Ints>(*spread);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == Dim(int64_t{1}) || std::ranges::find(folded, to[i]) == folded.end()) continue;
    const int64_t row = to[i] == folded.back() && from[i].is_constant() ? from[i].constant() : 0;
    if (row < 1 || kGroup % row != 0) return false;
  }
  return true;
}

// Whether the node turns what is side by side in memory to an axis that is kept, which the walk then goes
// along.
bool lies_along_kept(const Node* node, const Ints& folded) {
  const AttrValue* turned = node->attrs().find(ops::kPermutation.name);
  if (!turned) return false;
  const auto& order = std::get<Ints>(*turned);
  const auto last = std::ranges::find(order, static_cast<int64_t>(order.size()) - 1) - order.begin();
  return std::ranges::find(folded, last) == folded.end();
}

}  // namespace

// Whether to fold rows of what was joined or padded along them costs more than to write them first. A row's
// walk is cut where it passes from part to part, but its groups of lanes stay whole: those that reach over a
// cut ask of each element where it comes from. So do those that reach over the end of a line, where several
// axes are folded and what is read does not lie in the order of the walk. Short rows are folded side by side,
// without groups; up to some length also where parts are so narrow that neighbours among the rows lie near to
// each other.
bool Grouping::folds_short_parts(const Group* producer, const Dims& domain, const Ints& axes) const {
  constexpr int64_t kLine = 2 * kGroup, kSideBySide = 16, kNarrow = 8;
  constexpr double kAsked = 1.5;  // ns an element (a Zen 4)
  if (producer->kind != GroupKind::Loop && producer->kind != GroupKind::View) return false;
  if (axes.empty() || axes.back() + 1 != static_cast<int64_t>(domain.size())) return false;
  const std::optional<Ints> sizes = constant_dims(domain);
  if (!sizes) return false;
  const int64_t row = sizes->back();
  const bool together = axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
  const bool several = together && std::ranges::any_of(axes, [&](int64_t axis) {
                         return axis != axes.back() && (*sizes)[static_cast<size_t>(axis)] > 1;
                       });
  if (!several && row <= kSideBySide) return false;
  int64_t cuts = 0, asking = 0;
  bool wide = false, in_order = true;
  for (const Node* node : producer->nodes) {
    if (lies_along_kept(node, axes)) return false;
    in_order = in_order && stays_in_order(node, axes);
    for (Value v : node->operands())  // what the kernel makes anew
      if (v->node() && is_free(v->node())) in_order = in_order && stays_in_order(v->node(), axes);
    const ops::CutsFn rule = ops::op_of(node).rules.lower.cuts;
    if (rule == nullptr || node->result()->type().dims.back() != domain.back()) continue;
    for (int64_t at : rule(node)) {
      if (at <= 0 || at >= row) continue;
      ++cuts;
      asking += at % kGroup != 0;
    }
    for (Value v : node->operands())
      wide = wide || (v->type().rank() == node->result()->type().rank() &&
                      !(v->type().dims.back() == domain.back()) &&
                      !(v->type().dims.back().is_constant() && v->type().dims.back().constant() <= kNarrow));
  }
  const bool by_lines = several && !in_order;
  if (!by_lines && (cuts == 0 || (!wide && row <= kLine))) return false;
  const DimScope& scope = block_.graph().dims;
  const double elements = elements_in(domain, scope);
  const bool all = by_lines && row < kLine;  // no group lies within a line
  if (by_lines && row % kGroup != 0) ++asking;
  const double asked =
      all ? 1 : std::min(1.0, static_cast<double>(asking * kGroup) / static_cast<double>(row));
  return kAsked * asked * elements >
         cost_of_writing_out(producer->nodes.back()->result(0)->type(), scope).nanoseconds;
}

// Whether the contraction's operands, with the producer's views taken in, have their elements at even
// distances.
bool Grouping::lies_evenly(const Node* contraction, const Group* producer, const Group* reader) const {
  auto inside = [&](const Node* node) {
    const Group* group = group_of(node);
    return group == producer || group == reader;
  };
  return std::ranges::all_of(contraction->operands(), [&](Value operand) {
    return ops::reads_pieces(contraction) ? ops::pieced_view(operand, inside).has_value()
                                          : ops::strided_view(operand, inside).has_value();
  });
}

Grouping::Costs Grouping::costs_of_pull(const Group* producer, const Group* reader,
                                        const Places& places) const {
  auto free = [&](const Node* node) { return is_free(node); };
  const DimScope& scope = block_.graph().dims;
  double own = elements_in(producer->domain, scope), walked = elements_in(reader->domain, scope);
  Costs out;
  // What is computed at several places reads unaligned, and chooses, at each of them.
  constexpr double kAnew = 2;
  auto add_work = [](std::vector<KernelWork>& work, const Group* group, const Places& places, double times) {
    for (Node* const& node : group->nodes) {
      const size_t at = places.at(node);
      const double anew = at > 1 && !ops::has(node, ops::Trait::View) ? kAnew : 1;
      work.push_back({std::span(&node, 1), times * anew * static_cast<double>(at)});
    }
  };
  std::vector<KernelWork> both;
  const bool in_nest = reader->kind == GroupKind::Nest;
  add_work(both, producer, places, in_nest ? kInNest : own > 0 ? walked / own : 1.0);
  add_work(both, reader, places, 1);
  out.together = cost_of_kernel(both, free, scope);
  for (const Group* group : {producer, reader}) {
    std::vector<KernelWork> alone;
    add_work(alone, group, places_in({group}), 1);
    out.apart += cost_of_kernel(alone, free, scope);
  }
  out.fixed = constant_dims(producer->domain).has_value() && constant_dims(reader->domain).has_value();
  return out;
}

// What keeps the kernels of producers apart from their readers', with the cost that decided.
void Grouping::refuse_pulls() {
  std::set<std::pair<const Group*, const Group*>> told;
  for (const auto& reader : groups_)
    for (const Node* node : reader->nodes)
      for (const Group* producer : producer_groups(node))
        if (producer != reader.get() &&
            (producer->kind == GroupKind::Loop ||
             (producer->kind == GroupKind::View && reader->kind == GroupKind::Contraction)) &&
            told.insert({producer, reader.get()}).second)
          refuse_pull(producer, reader.get());
}

void Grouping::refuse_pull(const Group* producer, const Group* reader) {
  const Node* last = producer->nodes.back();
  if (!read_only_by(producer, reader)) {
    if (may_pull(producer, reader)) refuse(last, reader, "its values are read elsewhere too");
    return;
  }
  if (reader->kind == GroupKind::Relabel) return;
  if (reader->kind == GroupKind::Nest) {
    if (!nest_takes(producer, reader)) return;
    const Costs costs = costs_of_pull(producer, reader, places_in({producer, reader}));
    const std::string_view why = why_not_in_nest(producer, reader);
    return refuse(last, reader, why, why == kOneByOne && costs.fixed ? &costs : nullptr);
  }
  if (producer->kind == GroupKind::View)
    return refuse(last, reader, "its elements would not lie at even distances");
  if (reader->kind == GroupKind::Contraction || reader->kind == GroupKind::Heavy)
    return refuse(last, reader, "each value would be computed again at every reading");
  Dim own = product(producer->domain), walked = product(reader->domain);
  Dim bytes = own * Dim(static_cast<int64_t>(2 * size_of(last->result(0)->type().dtype)));
  if (gathers_from_several(producer, reader))
    return refuse(last, reader,
                  "gathered from several arrays, its values cost more than to write and read them");
  const Places places = places_in({producer, reader});
  if (places.all > kMostPlaces)
    return refuse(
        last, reader,
        fmt::format("all would be computed at more than {} places, which is too much code", kMostPlaces));
  if (own == walked && places.most(producer) == 1) return;
  const Costs costs = costs_of_pull(producer, reader, places);
  walked = walked * Dim(static_cast<int64_t>(places.most(producer)));
  bool dearer = !costs.fixed || costs.together.nanoseconds >= costs.apart.nanoseconds;
  refuse(
      last, reader,
      fmt::format("{} values would be computed {} times, which {} {} bytes", own.str(), walked.str(),
                  dearer ? "costs more than to write and read" : "saves too little over writing and reading",
                  bytes.str()),
      costs.fixed ? &costs : nullptr);
}

void Grouping::pull_producers() {
  for (size_t i = groups_.size(); i-- > 0;) {
    Group* reader = groups_[i].get();
    for (bool again = true; again && !reader->nodes.empty();) {
      again = false;
      for (size_t k = 0; k < reader->nodes.size() && !again; ++k)
        for (Group* producer : producer_groups(reader->nodes[k])) {
          if (!may_pull(producer, reader) || !read_only_by(producer, reader)) continue;
          GroupKind kind = reader->kind;
          Dims domain = reader->domain, kept = reader->kept;
          Ints axes = reader->axes;
          merge(reader, producer);
          reader->kind =
              kind == GroupKind::View && producer->kind == GroupKind::Loop ? GroupKind::Loop : kind;
          reader->domain = domain, reader->kept = kept, reader->axes = axes;
          again = true;
          break;
        }
    }
  }
}

// A few numbers that are spread over an array (a mask for all heads, a bias) and read by several kernels:
// each reads the few itself, instead of an array that one of them writes.
void Grouping::spread_where_read() {
  auto elements = [&](Value v) { return elements_in(v->type().dims, block_.graph().dims); };
  std::vector<Node*> spreads;
  for (Node* node : block_)
    if (group_of(node) && node->attrs().find(ops::kBroadcastDims.name) &&
        elements(node->result()) > elements(node->operand(0)))
      spreads.push_back(node);
  for (Node* node : spreads) {
    Group* own = group_of(node);
    if (const Node* producer = node->operand(0)->node();
        producer && group_of(producer) == own && node->operand(0)->type().dims != own->kept)
      continue;  // the kernel of both would have to give the few as well
    std::vector<Group*> readers;
    for (const Use& use : node->result()->uses())
      if (Group* reader = group_of(use.user);
          reader && reader != own && std::ranges::find(readers, reader) == readers.end())
        readers.push_back(reader);
    if (readers.size() == 1 && may_pull(own, readers[0]) && read_only_by(own, readers[0])) continue;
    for (Group* reader : readers) {
      if (reader->kind == GroupKind::Nest || reader->kind == GroupKind::Relabel ||
          reader->nodes.size() >= kLargestGroup)
        continue;
      compute_in(reader, node);
    }
    if (own->nodes.size() > 1 || !node->result()->uses().empty()) continue;
    own->nodes.clear();
    of_[node] = nullptr;
  }
}

// The kernel computes the node anew for itself. The copy stands in front of its first reader there: what the
// node reads stands in front of all its readers, but maybe not of the kernel's first node.
void Grouping::compute_in(Group* reader, Node* node) {
  std::vector<Use> uses;
  for (const Use& use : node->result()->uses())
    if (group_of(use.user) == reader) uses.push_back(use);
  auto first = std::ranges::find_if(reader->nodes, [&](const Node* n) {
    return std::ranges::find(n->operands(), node->result()) != n->operands().end();
  });
  Node* twin = add_twin(node, *first, uses);
  of_[twin] = reader;
  reader->nodes.insert(first, twin);
}

// A copy of the node in front of another one, which takes these of its uses.
Node* Grouping::add_twin(Node* node, Node* before, std::span<const Use> uses) {
  Node* twin = copy_node(node, block_, {node->operands().begin(), node->operands().end()}, before);
  for (const Use& use : uses) use.user->set_operand(use.operand, twin->result());
  position_[twin] = position_.get(before);  // stable sorts leave it in front
  return twin;
}

}  // namespace ig::passes
