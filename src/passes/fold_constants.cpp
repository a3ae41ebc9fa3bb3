// Constant folding: a node whose operands are all constants is evaluated by its op's reference rule, and a
// constant takes its place. Results that would be larger than their operands and above a limit stay (a
// broadcast of one number is better made where it is used); what an element-wise op makes of such broadcasts
// is a broadcast of one number again. Rounding ops fold only where the reference is the
// same arithmetic as the compiled rule: the op's stated bound is 0.
#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/host_call.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

constexpr int64_t kAlwaysFold = 64;        // elements
constexpr int64_t kLargestFold = 1 << 26;  // elements: weight preparation stays within it

const Literal* constant_of(Value value) {
  Node* node = value->node();
  if (!node || !ops::has(node, ops::Trait::Constant)) return nullptr;
  const AttrValue* attr = node->attrs().find("value");
  return attr ? std::get_if<Literal>(attr) : nullptr;
}

double stated_bound(const ops::Op& op, const Node* node) {
  return is_complex(node->operand(0)->type().dtype) ? op.decl.complex_ulp : op.decl.ulp;
}

// The numbers that the operands of an element-wise node repeat, if all of them are known ones.
std::vector<Literal> spread_numbers(const Node* node) {
  std::vector<Literal> out;
  for (Value v : node->operands()) {
    Value number = spread_number(v);
    const Literal* literal = number ? constant_of(number) : nullptr;
    if (!literal) return {};
    out.push_back(*literal);
  }
  return out;
}

}  // namespace

void fold_constants(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block) {
      if (is_terminator(node) || !node->regions().empty() || node->operands().empty()) continue;
      const ops::Op& op = ops::op_of(node);
      if (op.has(ops::Trait::Effect) || op.has(ops::Trait::Control) || ops::is_host_call(op) ||
          stated_bound(op, node) > 0 || (!op.rules.reference && !op.has(ops::Trait::Composite)))
        continue;
      if (op.has(ops::Trait::Elementwise) && node->results().size() == 1) {
        if (std::vector<Literal> numbers = spread_numbers(node); !numbers.empty()) {
          ops::Builder build(block, node);
          build.at(node);
          Value number = build.constant(ops::evaluate(op, node->attrs(), numbers)[0]);
          Value values[] = {build.broadcast(number, node->result()->type().dims, {})};
          context.changed(fmt::format("folded {} of spread numbers", op.decl.name));
          replace(node, values);
          graph.erase(node);
          continue;
        }
      }
      std::vector<Literal> operands;
      int64_t read = 0, written = 0;
      for (Value v : node->operands())
        if (const Literal* literal = constant_of(v)) {
          operands.push_back(*literal);
          read += literal->elements();
        }
      bool known = operands.size() == node->operands().size();
      for (Value v : node->results()) {
        auto dims = v->type().is_tensor() ? constant_dims(v->type().dims) : std::nullopt;
        if (!dims) {
          known = false;
          break;
        }
        int64_t n = 1;
        for (int64_t d : *dims) n *= d;
        written += n;
      }
      // A spread number is better spread where it is used.
      if (known && op.has(ops::Trait::View) && written > read) continue;
      if (!known || (written > kAlwaysFold && (written > read || written > kLargestFold))) continue;
      // Folding sums of products by the slow reference would cost more than it saves, and round otherwise.
      if (op.has(ops::Trait::Contraction) || (op.has(ops::Trait::Reduction) && written + read > 4096))
        continue;
      std::vector<Literal> results = ops::evaluate(op, node->attrs(), operands);
      ops::Builder build(block, node);
      build.at(node);
      std::vector<Value> values;
      for (Literal& literal : results) values.push_back(build.constant(std::move(literal)));
      context.changed(fmt::format("folded {}", op.decl.name));
      replace(node, values);
      graph.erase(node);
    }
  });
}

}  // namespace ig::passes
