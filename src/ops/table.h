// The op table: every op, by name and by id. Families give their ops by one function each; families.cpp lists
// the families; nothing registers itself at start-up. Ops of a user's own join by `add`.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace ig::ops {

// Thread-safe. References stay valid for the life of the process.
const Op& get(OpId id);  // Error(Value) naming close names where unknown
const Op& get(std::string_view name);
const Op* find(OpId id);  // null where unknown
const Op* find(std::string_view name);
std::vector<const Op*> all();  // in declared order, user's own last
const Op& add(Op op);          // Error(Value) where a name is taken, or a field or a rule's reason is missing

inline const Op& op_of(const Node* node) { return get(node->op()); }
inline Way way_of(const Node* node) {
  const Op* op = find(node->op());
  return op ? op->rules.lower.way : Way::None;
}
inline bool is_loop(const Node* node) { return way_of(node) == Way::While || way_of(node) == Way::Scan; }
inline bool has(const Node* node, Trait trait) {
  const Op* op = find(node->op());
  return op && op->has(trait);
}

// The graph's laws and every op's: types agree with `infer`, attributes are known and of their kind.
// Error(Verify).
void verify(const Graph& graph);

// Runs a graph by the ops' reference rules, composites by their bodies, control flow by its regions.
std::vector<Literal> evaluate(const Graph& graph, std::span<const Literal> inputs);
std::vector<Literal> evaluate(const Op& op, const Attrs& attrs, std::span<const Literal> operands);

}  // namespace ig::ops
