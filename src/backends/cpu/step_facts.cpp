// Kernels as a profile tells them. Everything is read off the graph when somebody asks.
#include "backends/cpu/step_facts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ops/contraction.h"
#include "ops/read.h"
#include "ops/table.h"

namespace ig::cpu {
namespace {

std::optional<double> elements_of(Value v) {
  const auto dims = constant_dims(v->type().dims);
  if (!dims) return std::nullopt;
  double out = 1;
  for (int64_t size : *dims) out *= static_cast<double>(size);
  return out;
}

// Two for each multiplication of a product or convolution; 0 where sizes are symbols, and for other nodes.
double flops_of(const Node* node) {
  if (!ops::has(node, ops::Trait::Contraction)) return 0;
  const auto out = elements_of(node->result(0)), kernel = elements_of(node->operand(1));
  if (!out || !kernel) return 0;
  const Dims& sizes = node->operand(1)->type().dims;
  double summed = 1;
  if (node->attrs().find(ops::kConvLayout.name)) {
    const double features =
        static_cast<double>(sizes[static_cast<size_t>(ops::ConvDims(node->attrs()).rhs_out)].constant());
    summed = features > 0 ? *kernel / features : 0;
  } else if (node->attrs().find(ops::kRhsContract.name)) {
    for (int64_t axis : node->attrs().get(ops::kRhsContract))
      summed *= static_cast<double>(sizes[static_cast<size_t>(axis)].constant());
  } else {
    return 0;
  }
  return 2 * *out * summed;
}

// The kind of kernel that a node is, its nodes in a region; null of an op.
const std::string* kernel_kind(const Node* node) {
  const AttrValue* kind = node->attrs().find("kind");
  return kind && node->regions().size() == 1 ? std::get_if<std::string>(kind) : nullptr;
}

// All ops, those inside of kernels and of loops too.
void collect(const Block& block, std::vector<const Node*>& out) {
  for (const Node* node : block) {
    if (node == block.terminator()) break;
    if (!kernel_kind(node)) out.push_back(node);
    for (const auto& region : node->regions()) collect(*region, out);
  }
}

// What is told of a kernel: not what only says where elements lie, unless there is nothing else.
bool computes(const Node* node) {
  return !ops::has(node, ops::Trait::Constant) && !ops::has(node, ops::Trait::View);
}

// "multiply add", and what comes several times in a row once: "multiply×3".
std::string names_of(const std::vector<const Node*>& nodes) {
  std::string out;
  for (size_t i = 0; i < nodes.size();) {
    size_t end = i;
    while (end < nodes.size() && nodes[end]->op() == nodes[i]->op()) ++end;
    if (!out.empty()) out += ' ';
    out += nodes[i]->op().name();
    if (end - i > 1) out += fmt::format("×{}", end - i);
    i = end;
  }
  return out;
}

rt::profile::Facts facts_of(const Node* node) {
  rt::profile::Facts out;
  std::vector<const Node*> all;
  const std::string* kind = kernel_kind(node);
  out.name = kind ? *kind : node->op().name();
  if (kind)
    collect(node->region(0), all);
  else
    all.push_back(node);
  std::vector<const Node*> told;
  std::ranges::copy_if(all, std::back_inserter(told), computes);
  if (told.empty()) told = all;
  out.ops = names_of(told);
  // Where its result is made.
  const Node* last = told.empty() ? node : told.back();
  if (!last->location().known()) last = node;
  if (last->location().known()) out.where = last->location().str();
  out.scope = last->scope().path();
  for (const Node* one : told) {
    out.flops += flops_of(one);
    if (!one->location().known()) continue;
    std::string line = one->location().str();
    if (std::ranges::find(out.lines, line) == out.lines.end()) out.lines.push_back(std::move(line));
  }
  for (Value v : node->results()) {
    if (!out.result.empty()) out.result += ", ";
    out.result += v->type().str();
  }
  return out;
}

}  // namespace

std::shared_ptr<const rt::InstructionDescriber> describe_steps(std::shared_ptr<const Graph> graph,
                                                               const plan::Plan& plan) {
  struct Step {
    plan::Plan::Made made;
    std::string preparation{};  // what it is called, of one that only prepares
  };
  std::vector<std::vector<Step>> blocks;
  for (size_t b = 0; b < plan.made.size(); ++b) {
    blocks.emplace_back();
    for (size_t at = 0; at < plan.made[b].size(); ++at) {
      Step step{plan.made[b][at]};
      const auto* kernel = std::get_if<rt::KernelCall>(&plan.program.blocks[b].code[at]);
      if (!step.made.node || step.made.prepares) step.preparation = kernel ? kernel->name : "copy";
      blocks.back().push_back(std::move(step));
    }
  }
  auto describe = [graph = std::move(graph), blocks = std::move(blocks)](rt::BlockId block, size_t at) {
    rt::profile::Facts out;
    if (block == rt::kWholeProgram) {
      out.name = graph->name;
    } else {
      const Step& step = blocks[static_cast<size_t>(block)][at];
      if (step.made.node) out = facts_of(step.made.node);
      if (!step.preparation.empty()) {
        out.name = step.preparation;
        if (!out.ops.empty()) out.ops = "for " + out.ops;
        out.flops = 0;
      }
    }
    out.program = graph->name;
    return out;
  };
  return std::make_shared<const rt::InstructionDescriber>(std::move(describe));
}

}  // namespace ig::cpu
