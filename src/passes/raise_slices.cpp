// Moves slices in front of products of which nobody reads the rest: the last position's logits of a language
// model, the rows of a layer's results that a loss takes. Where all that reads a value takes one and the same
// part of it, that part is computed alone: of element-wise ops, broadcasts, folds over other axes, axes in
// another order, shapes that keep the axes, products and attention. What makes up such a value without a
// product stays as it is, as a kernel that takes a slice computes no more than that.
//
// Each element of a part is computed as it was, of the same elements in the same order: the bits are the
// same.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ops/attention_attrs.h"
#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/shape_attrs.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

// What is taken of an axis: all of it, or every `stride`-th element of a range.
struct Taken {
  Dim start, limit;
  int64_t stride = 1;
  bool operator==(const Taken&) const = default;
  Dim count() const { return ceildiv(limit - start, stride); }
};
// Of each axis; nothing where an axis is whole.
using Part = std::vector<std::optional<Taken>>;

bool is_whole(const Part& part) {
  return std::ranges::none_of(part, [](const auto& axis) { return axis.has_value(); });
}

// The part that a slice takes; nothing of other nodes.
std::optional<Part> part_of(const Node* node) {
  if (!node->attrs().find(ops::kSliceStrides.name) || !node->attrs().find(ops::kLimit.name)) return {};
  const Dims &start = node->attrs().get(ops::kStart), &limit = node->attrs().get(ops::kLimit);
  const Ints& strides = node->attrs().get(ops::kSliceStrides);
  const Dims& dims = node->operand(0)->type().dims;
  Part part(dims.size());
  for (size_t a = 0; a < dims.size(); ++a) {
    if (start[a] == Dim(int64_t{0}) && limit[a] == dims[a] && strides[a] == 1) continue;
    part[a] = Taken{start[a], limit[a], strides[a]};
  }
  return part;
}

// What attention has to read of a mask, which is aligned at the end with [..., queries, keys].
Part read_of_mask(const Type& mask, const Type& result, const Part& part) {
  Part out(mask.dims.size());
  for (size_t back = 2; back <= std::min(out.size(), part.size()); ++back) {
    const size_t at = out.size() - back, of = part.size() - back;
    if (mask.dims[at] == result.dims[of]) out[at] = part[of];
  }
  return out;
}

// What a node has to read of its operand to compute that part of its result; nothing where that cannot be
// said by a part of each axis.
std::optional<Part> read_for(const Node* node, size_t operand, const Part& part) {
  const Attrs& attrs = node->attrs();
  const Type &from = node->operand(operand)->type(), &to = node->result()->type();
  Part out(from.dims.size());
  if (ops::has(node, ops::Trait::Elementwise)) return part;
  if (attrs.find(ops::kBroadcastDims.name)) {
    const Ints& axes = attrs.get(ops::kBroadcastDims);
    for (size_t i = 0; i < axes.size(); ++i)
      if (from.dims[i] == to.dims[static_cast<size_t>(axes[i])]) out[i] = part[static_cast<size_t>(axes[i])];
    return out;
  }
  if (attrs.find(ops::kPermutation.name)) {
    const Ints& order = attrs.get(ops::kPermutation);
    for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = part[i];
    return out;
  }
  if (ops::has(node, ops::Trait::Relabel) && attrs.find(ops::kShape.name)) {
    // Axes in front and at the end that another shape leaves as they are.
    size_t front = 0, back = 0;
    const size_t most = std::min(from.dims.size(), to.dims.size());
    while (front < most && from.dims[front] == to.dims[front]) ++front;
    while (back + front < most && from.dims.rbegin()[back] == to.dims.rbegin()[back]) ++back;
    for (size_t a = 0; a < part.size(); ++a) {
      if (!part[a]) continue;
      if (a < front)
        out[a] = part[a];
      else if (part.size() - a <= back)
        out[from.dims.size() - (part.size() - a)] = part[a];
      else
        return {};
    }
    return out;
  }
  if (attrs.find(ops::kLhsContract.name)) {
    const ops::DotDims dims(attrs, node->operand(0)->type().rank(), node->operand(1)->type().rank());
    const Ints &batch = operand == 0 ? dims.lhs_batch : dims.rhs_batch,
               &free = operand == 0 ? dims.lhs_free : dims.rhs_free;
    size_t at = 0;
    for (int64_t axis : batch) out[static_cast<size_t>(axis)] = part[at++];
    if (operand == 1) at += dims.lhs_free.size();
    for (int64_t axis : free) out[static_cast<size_t>(axis)] = part[at++];
    return out;
  }
  if (attrs.find(ops::kCausal.name)) {
    // [..., queries, features] of keys and values. A mask says in the place of `causal` what some of the
    // queries see, which one of numbers cannot.
    const size_t query = part.size() - 2;
    if (attrs.get(ops::kCausal) && part[query] && node->operands().size() > 3 &&
        node->operand(3)->type().dtype != DType::Bool)
      return {};
    if (operand == 3) return read_of_mask(from, to, part);
    std::copy_n(part.begin(), query, out.begin());
    if (operand == 0) out[query] = part[query];
    if (operand == 2) out[query + 1] = part[query + 1];
    return out;
  }
  if (ops::has(node, ops::Trait::Reduction) && node->operands().size() == 1 && attrs.find(ops::kAxes.name)) {
    const Ints& folded = attrs.get(ops::kAxes);
    if (to.dims.size() + folded.size() != from.dims.size()) return {};
    for (size_t a = 0, at = 0; a < from.dims.size(); ++a)
      if (!std::ranges::count(folded, static_cast<int64_t>(a))) out[a] = part[at++];
    return out;
  }
  return {};
}

bool is_product(const Node* node) {
  return (ops::has(node, ops::Trait::Contraction) && node->attrs().find(ops::kLhsContract.name)) ||
         node->attrs().find(ops::kCausal.name);
}

// Whether so little of the value is taken that the rest is worth sparing: half of it or less, or what is
// known of an axis whose size is not.
bool spares_much(const Type& type, const Part& part) {
  double all = 1, taken = 1;
  for (size_t a = 0; a < part.size(); ++a)
    if (part[a]) {
      const Dim count = part[a]->count();
      if (!count.is_constant()) return false;
      if (!type.dims[a].is_constant()) return true;
      all *= static_cast<double>(type.dims[a].constant());
      taken *= static_cast<double>(count.constant());
    }
  return taken <= all / 2;
}

// Whether a value has that part, whatever sizes its graph is run with.
bool has_part(const Type& type, const Part& part, const DimScope& scope) {
  for (size_t a = 0; a < part.size(); ++a)
    if (part[a] && (scope.less_equal(0, part[a]->start) != Truth::Yes ||
                    scope.less_equal(part[a]->start, part[a]->limit) != Truth::Yes ||
                    scope.less_equal(part[a]->limit, type.dims[a]) != Truth::Yes))
      return false;
  return true;
}

class Raising {
 public:
  Raising(Block& block, Context& context) : block_(block), context_(context), scope_(block.graph().dims) {}

  void run() {
    for (Node* node = block_.last(); node != nullptr; node = node->previous()) decide(node);
    if (wanted_.empty()) return;
    std::vector<Node*> nodes;
    for (Node* node : block_) nodes.push_back(node);
    for (Node* node : nodes) {
      auto wanted = wanted_.find(node);
      if (wanted != wanted_.end() && holds_product(node)) take(node, wanted->second);
    }
  }

 private:
  // The part of the node's result that is read, if that is one and the same part for all who read it.
  void decide(Node* node) {
    if (is_terminator(node) || node->results().size() != 1 || !node->regions().empty()) return;
    if (node->operands().empty() || !node->result()->type().is_tensor() || node->result()->uses().empty())
      return;
    std::optional<Part> all;
    for (const Use& use : node->result()->uses()) {
      if (is_terminator(use.user)) return;
      std::optional<Part> part = part_of(use.user);
      if (auto wanted = wanted_.find(use.user); wanted != wanted_.end())
        part = read_for(use.user, use.operand, wanted->second);
      if (!part || (all && *all != *part)) return;
      all = part;
    }
    if (is_whole(*all) || !spares_much(node->result()->type(), *all)) return;
    for (size_t i = 0; i < node->operands().size(); ++i) {
      const std::optional<Part> read = read_for(node, i, *all);
      if (!read || !has_part(node->operand(i)->type(), *read, scope_)) return;
    }
    wanted_.emplace(node, *all);
  }

  // Whether a product is spared by taking the part of the node.
  bool holds_product(const Node* node) {
    auto [known, fresh] = holds_.try_emplace(node, false);
    if (!fresh) return known->second;
    bool holds = is_product(node);
    for (Value v : node->operands())
      holds = holds || (v->node() && wanted_.contains(v->node()) && holds_product(v->node()));
    return holds_[node] = holds;
  }

  // The part of a value, in front of the node that reads it.
  Value taken(ops::Builder& build, Value v, const Part& part) {
    if (is_whole(part)) return v;
    std::vector<std::pair<Part, Value>>& made = parts_[v];
    for (const auto& [of, value] : made)
      if (of == part) return value;
    Dims start, limit = v->type().dims;
    Ints strides;
    for (size_t a = 0; a < part.size(); ++a) {
      start.push_back(part[a] ? part[a]->start : Dim(0));
      strides.push_back(part[a] ? part[a]->stride : 1);
      if (part[a]) limit[a] = part[a]->limit;
    }
    return made
        .emplace_back(part, build("slice", {v},
                                  {ops::kStart % start, ops::kLimit % limit, ops::kSliceStrides % strides}))
        .second;
  }

  // Whether no key stands behind one of these queries: none does behind the last one.
  bool sees_all_keys(const Node* node, const Taken& queries) const {
    const Dim& keys = node->operand(1)->type().dims.rbegin()[1];
    return scope_.less_equal(keys, queries.start + 1) == Truth::Yes;
  }

  void take(Node* node, const Part& part) {
    ops::Builder build(block_, node);
    build.at(node);
    Attrs attrs = node->attrs();
    std::vector<Value> operands;
    for (size_t i = 0; i < node->operands().size(); ++i)
      operands.push_back(taken(build, node->operand(i), *read_for(node, i, part)));
    if (attrs.find(ops::kCausal.name) && attrs.get(ops::kCausal) && part[part.size() - 2]) {
      attrs.set(ops::kCausal, false);
      if (!sees_all_keys(node, *part[part.size() - 2])) {
        const Value mask = ops::causal_mask(build, node);
        operands.resize(3);
        operands.push_back(taken(build, mask, read_of_mask(mask->type(), node->result()->type(), part)));
      }
    }
    if (attrs.find(ops::kShape.name)) {
      Dims shape = attrs.get(ops::kShape);
      for (size_t a = 0; a < part.size(); ++a)
        if (part[a]) shape[a] = part[a]->count();
      attrs.set(ops::kShape, std::move(shape));
    }
    const Value value = build.node(ops::op_of(node), std::move(operands), std::move(attrs))->result();
    value->set_name(node->result()->name());
    parts_[node->result()].emplace_back(part, value);
    if (is_product(node))
      context_.changed(
          fmt::format("{} of {} gives {}", told_of(node), node->result()->type().str(), value->type().str()));
    for (const Use& use : std::vector<Use>(node->result()->uses()))
      if (part_of(use.user)) {
        const Value values[] = {value};
        replace(use.user, values);
      }
  }

  Block& block_;
  Context& context_;
  std::unordered_map<const Node*, Part> wanted_;
  std::unordered_map<const Node*, bool> holds_;
  const DimScope& scope_;
  std::unordered_map<Value, std::vector<std::pair<Part, Value>>> parts_;
};

}  // namespace

void raise_slices(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) { Raising(block, context).run(); });
  if (context.changes == 0) return;
  Context left_over(context.options);
  dead_code(graph, left_over);
}

}  // namespace ig::passes
