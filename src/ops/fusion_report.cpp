// Decisions about kernels as text.
#include "ops/fusion_report.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "support/error.h"

namespace ig::ops {
namespace {

std::string cost_text(const FusionCost& cost) {
  double ns = cost.nanoseconds;
  std::string time = ns < 1e3   ? fmt::format("{:.0f} ns", ns)
                     : ns < 1e6 ? fmt::format("{:.1f} µs", ns / 1e3)
                                : fmt::format("{:.1f} ms", ns / 1e6);
  return fmt::format("{:.0f} bytes, {:.0f} operations, some {}", cost.bytes, cost.operations, time);
}

std::string place_of(const FusionNode& node) {
  std::string where = node.where.known() ? node.where.str() : "";
  if (node.scope.empty()) return where;
  return fmt::format("[{}]{}{}", node.scope.path(), where.empty() ? "" : " ", where);
}

void add_line(std::string& text, std::string_view line) {
  text += line;
  text += '\n';
}

std::string indented(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    add_line(out, fmt::format("  {}", text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

}  // namespace

FusionNode FusionNode::of(const Node* node) {
  return {node->op(), node->results().empty() ? "" : node->result(0)->name(), node->location(),
          node->scope()};
}

std::string FusionNode::str() const {
  return name.empty() ? op.name() : fmt::format("{} %{}", op.name(), name);
}

bool FusionNode::is_meant_by(std::string_view query) const {
  if (query.starts_with('%')) return name == query.substr(1);
  if (query == op.name() || (!name.empty() && query == name) || query == str()) return true;
  if (!scope.empty() && query == scope.path()) return true;
  if (!where.known()) return false;
  std::string line = where.str();
  size_t at = line.find(query);
  // Of "model.py:1" the line 12 is not meant.
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return at != std::string::npos &&
         !(digit(query.back()) && at + query.size() < line.size() && digit(line[at + query.size()]));
}

std::string FusedKernel::str() const {
  std::vector<std::string> names;
  for (const FusionNode& node : nodes) names.push_back(node.str());
  std::string out = fmt::format("{}: {}\n", kind, fmt::join(names, ", "));
  std::set<std::string> told;
  for (const FusionNode& node : nodes)
    if (std::string place = place_of(node); !place.empty() && told.insert(place).second)
      add_line(out, fmt::format("  at {}", place));
  if (kind == "program" && together.nanoseconds == 0) {  // what a loop takes is not known
    add_line(out, fmt::format("  a step of the loop: {:.0f} operations", together.operations));
    return out;
  }
  if (nodes.size() < 2) {
    add_line(out, fmt::format("  alone: {}", cost_text(together)));
    return out;
  }
  add_line(out, fmt::format("  together: {}", cost_text(together)));
  add_line(out, fmt::format("  apart:    {}", cost_text(apart)));
  return out;
}

std::string FusionRefusal::headline() const {
  return fmt::format("{} does not join the {} kernel of {}: {}", node.op.name(), kind, kernel_of.op.name(),
                     reason);
}

std::string FusionRefusal::str() const {
  std::string out =
      fmt::format("{} does not join the {} kernel of {}: {}\n", node.str(), kind, kernel_of.str(), reason);
  if (std::string place = place_of(node); !place.empty()) add_line(out, fmt::format("  at {}", place));
  if (by_cost) {
    add_line(out, fmt::format("  together: {}", cost_text(together)));
    add_line(out, fmt::format("  apart:    {}", cost_text(apart)));
  }
  return out;
}

std::string DepthFirst::headline() const {
  return fmt::format(
      "{} kernels run for {} of {} examples at a time: spares {:.0f} bytes from the last cache",
      kernels.size(), at_a_time, examples.str(), bytes);
}

std::string DepthFirst::str() const {
  std::vector<std::string> names;
  for (const FusionNode& node : kernels) names.push_back(node.str());
  return fmt::format("{}\n  of {}\n", headline(), fmt::join(names, ", "));
}

void FusionReport::add(const FusionReport& other) {
  chains.insert(chains.end(), other.chains.begin(), other.chains.end());
  kernels.insert(kernels.end(), other.kernels.begin(), other.kernels.end());
  refusals.insert(refusals.end(), other.refusals.begin(), other.refusals.end());
}

std::string FusionReport::str() const {
  std::string out = fmt::format("{} {}\n", kernels.size(), kernels.size() == 1 ? "kernel" : "kernels");
  for (const FusedKernel& kernel : kernels) out += indented(kernel.str());
  for (const DepthFirst& chain : chains) out += chain.str();
  if (refusals.empty()) return out;
  add_line(out, fmt::format("{} refused", refusals.size()));
  for (const FusionRefusal& refusal : refusals) out += indented(refusal.str());
  return out;
}

std::string FusionReport::why(std::string_view query) const {
  auto meant = [&](const FusionNode& node) { return !query.empty() && node.is_meant_by(query); };
  std::string out;
  for (const FusedKernel& kernel : kernels) {
    std::vector<std::string> names;
    for (const FusionNode& node : kernel.nodes)
      if (meant(node)) names.push_back(node.str());
    if (names.empty()) continue;
    add_line(out, fmt::format("{} is in the kernel", fmt::join(names, ", ")));
    out += indented(kernel.str());
  }
  for (const DepthFirst& chain : chains)
    if (std::ranges::any_of(chain.nodes, meant)) out += chain.str();
  for (const FusionRefusal& refusal : refusals)
    if (meant(refusal.node) || meant(refusal.kernel_of)) out += refusal.str();
  if (!out.empty()) return out;
  std::set<std::string> ops;
  for (const FusedKernel& kernel : kernels)
    for (const FusionNode& node : kernel.nodes) ops.insert(node.op.name());
  throw make_error(ErrorKind::Value, "no kernel holds a node `{}`", query)
      .why(
          "nodes are meant by their op, their result's name, their module, or a part of their line, as they "
          "are after the passes in front of fusion")
      .hint(ops.empty() ? "the graph has no kernels"
                        : fmt::format("the kernels hold {}", fmt::join(ops, ", ")));
}

}  // namespace ig::ops
