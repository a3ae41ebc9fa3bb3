// A test case of one op as a compiled program, and what it is to be given.
#pragma once

#include <memory>
#include <vector>

#include "ops2_cases.h"
#include "tensor/program.h"
#include "tensor_of.h"

namespace ig::ops {

struct CompiledCase {
  std::shared_ptr<Program> program;
  std::vector<Tensor> given;

  std::vector<Tensor> run() const { return program->run(given); }
};

// The results `wanted` of the op, by their numbers; without any, all of them.
inline CompiledCase compiled(const Op& op, const Case& c, const std::vector<size_t>& wanted = {}) {
  CompiledCase out;
  Graph graph("case");
  std::vector<Value> operands;
  for (const Literal& l : c.operands) {
    operands.push_back(graph.body().add_arg(l.type()));
    out.given.push_back(tensor_of(l));
  }
  Node* node = Builder(graph.body()).node(op, operands, c.attrs);
  std::vector<Value> results(node->results().begin(), node->results().end());
  if (!wanted.empty()) {
    results.clear();
    for (size_t i : wanted) results.push_back(node->result(i));
  }
  graph.body().set_results(results);
  out.program = compile(graph);
  return out;
}

}  // namespace ig::ops
