// The structure laws of graph.h, checked one by one; each message names the node and the law.
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/graph.h"

namespace ig {
namespace {

[[noreturn]] void broken(const Node* node, std::string law) {
  Error error(ErrorKind::Verify, node ? fmt::format("{}: {}", node->op().name(), law) : std::move(law));
  if (node && node->location().known()) error.at(node->location().str());
  throw error.why("a graph's nodes, values and blocks must fit together").hint("docs/ir.md has the laws");
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}
  void block(const Block& block) {
    std::unordered_set<Value> seen(block.args().begin(), block.args().end());
    const Node* end = block.terminator();
    if (!end) broken(block.parent(), "a block has no return");
    size_t count = 0;
    // Each use as a pair of node and operand, so that the check stays linear where a value has many.
    std::set<std::pair<const Node*, uint32_t>> listed;
    auto list = [&](Value v) {
      for (const Use& use : v->uses())
        if (use.operand < use.user->operands().size() && use.user->operand(use.operand) == v)
          listed.emplace(use.user, use.operand);
    };
    for (Value v : block.args()) list(v);
    for (Node* node : block) {
      if (&node->graph() != &graph_) broken(node, "it stands in another graph's block");
      for (size_t i = 0; i < node->operands().size(); ++i) {
        Value v = node->operand(i);
        if (!seen.contains(v))
          broken(node,
                 fmt::format("operand {} is not defined before it in its own block (regions are closed)", i));
        if (!listed.contains({node, static_cast<uint32_t>(i)}))
          broken(node, fmt::format("operand {} does not list it among its uses", i));
      }
      uint64_t in_segments = 0;
      for (uint32_t n : node->segments()) in_segments += n;
      if (!node->segments().empty() && in_segments != node->operands().size())
        broken(node,
               fmt::format("its segments hold {} operands, it has {}", in_segments, node->operands().size()));
      for (Value v : node->results()) {
        if (v->node() != node || v->block() != &block) broken(node, "a result does not know its node");
        seen.insert(v);
        list(v);
      }
      if (node != end)
        ++count;
      else if (node->next())
        broken(node->next(), "it stands behind the block's return");
      for (const auto& region : node->regions()) {
        if (region->parent() != node) broken(node, "a region does not know its node");
        this->block(*region);
      }
    }
    if (count != block.size()) broken(block.parent(), "a block's count of nodes is wrong");
  }

 private:
  const Graph& graph_;
};

}  // namespace

void Graph::verify_structure() const { Verifier(*this).block(*body_); }

}  // namespace ig
