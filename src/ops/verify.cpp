// The ops' own laws on top of the structure's: known ops, attributes of their kinds, and result types that
// agree with what `infer` gives.
#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

[[noreturn]] void broken(const Node* node, std::string what, std::string why, std::string hint = "") {
  // Some rules name their op themselves.
  if (std::string own = node->op().name() + ": "; what.starts_with(own)) what.erase(0, own.size());
  Error error(ErrorKind::Verify, fmt::format("{}: {}", node->op().name(), what));
  if (node->location().known()) error.at(node->location().str());
  throw error.why(why.empty() ? "the graph and the op's declaration disagree" : std::move(why))
      .hint(hint.empty() ? "docs/ops.md has the op's types and attributes" : std::move(hint));
}

std::string in_full(const Attrs& attrs) {
  std::string out;
  for (const auto& [key, value] : attrs.items()) {
    const auto* literal = std::get_if<Literal>(&value);
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", key,
                       literal ? literal->type().str() + " {…}" : str(value));
  }
  return "in full they are {" + out + "}";
}

void verify_block(const Block& block, const DimScope& scope) {
  for (Node* node : block) {
    if (node == block.terminator()) break;
    const Op* op = find(node->op());
    if (!op) {
      std::string near;  // the table knows which names are close
      try {
        get(node->op());
      } catch (const Error& error) {
        near = error.hint_text();
      }
      broken(node, "unknown op", "no op of that name is declared", near);
    }
    std::vector<Type> expected;
    try {
      Attrs complete = complete_attrs(*op, node->attrs());
      if (!(complete == node->attrs()))
        broken(node, "its attributes are not complete and in declared order", in_full(complete));
      std::vector<Type> operands;
      for (Value v : node->operands()) operands.push_back(v->type());
      if (node->regions().empty()) {
        expected = infer(*op, std::move(operands), complete, scope);
      } else {
        std::vector<std::vector<Type>> results;
        for (const auto& region : node->regions()) {
          results.emplace_back();
          for (Value v : region->results()) results.back().push_back(v->type());
        }
        InferContext context(*op, std::move(operands), complete, scope, std::move(results), node->segments());
        op->rules.infer.get()(context);
        expected = std::move(context.results);
      }
    } catch (Error& error) {
      if (error.kind() == ErrorKind::Verify || error.kind() == ErrorKind::Internal) throw;
      broken(node, error.summary(), error.why_text(), error.hint_text());
    }
    if (expected.size() != node->results().size())
      broken(node, fmt::format("it has {} results, its op gives {}", node->results().size(), expected.size()),
             "");
    for (size_t i = 0; i < expected.size(); ++i)
      if (!(expected[i] == node->result(i)->type()))
        broken(node,
               fmt::format("result {} is {}, its op gives {}", i, node->result(i)->type().str(),
                           expected[i].str()),
               "");
    for (const auto& region : node->regions()) verify_block(*region, scope);
  }
}

}  // namespace

void verify(const Graph& graph) {
  graph.verify_structure();
  verify_block(graph.body(), graph.dims);
}

}  // namespace ig::ops
