// Small helpers that several passes share: visiting blocks inside out, and erasing what became unused.
#pragma once

#include <functional>

#include "ops/attrs.h"
#include "ops/once.h"
#include "ops/table.h"
#include "passes/pass.h"

namespace ig::passes {

// Every block of the graph, inner ones first.
inline void for_each_block(Block& block, const std::function<void(Block&)>& visit) {
  for (Node* node : block)
    for (const auto& region : node->regions()) for_each_block(*region, visit);
  visit(block);
}

inline bool is_terminator(const Node* node) { return node->op().name() == kReturnOp; }

// A node that moves one array's elements.
inline bool is_view(const Node* node) {
  return ops::has(node, ops::Trait::View) && node->operands().size() == 1;
}

// Whether what makes the operand may be computed by the op's nest, where it takes its elements.
inline bool takes(const Node* nest, size_t operand) {
  const ops::TakesFn rule = ops::op_of(nest).rules.lower.takes;
  return rule != nullptr && rule(nest, operand);
}

// What a region's argument is outside of it, where it is the same in every step of a loop; else null.
inline Value outside_of_loop(Value arg) {
  const Node* node = arg->block()->parent();
  if (!node || node->segments().empty() || arg->index() >= node->segments()[0]) return nullptr;
  return ops::is_loop(node) ? node->operand(arg->index()) : nullptr;
}

// Whether most calls leave the value as it is: an input of which that is known, or what is computed once.
inline bool is_steady(Value v, const Options& options) {
  if (v->node()) return ops::is_once(v->node());
  return !v->block()->parent() && options.steady.contains(static_cast<int>(v->index()));
}

// The number that a value repeats, if it is a broadcast of one of rank 0; else null.
inline Value spread_number(Value v) {
  const Node* node = v->node();
  const bool spread = node && node->attrs().find(ops::kBroadcastDims.name) && node->operands().size() == 1 &&
                      node->operand(0)->type().rank() == 0;
  return spread ? node->operand(0) : nullptr;
}

// A node as reports name it, with the user's innermost line: "add (f.py:3)".
inline std::string told_of(const Node* node) {
  std::string out(node->op().name());
  const std::vector<SourceFrame> frames = node->location().frames();
  if (!frames.empty()) out += " (" + frames[0].file + ":" + std::to_string(frames[0].line) + ")";
  return out;
}

inline void replace(Node* node, std::span<const Value> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]->name().empty()) values[i]->set_name(node->result(i)->name());
    node->result(i)->replace_all_uses_with(values[i]);
  }
}

}  // namespace ig::passes
