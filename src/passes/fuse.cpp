// Fusion: turns each group of nodes (fusion_groups.h) into one `fusion` node whose closed region holds them.
// What is cheap to make anew (constants of one element, iota, their broadcasts) is copied into every group
// that reads it.
#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/builder.h"
#include "passes/fusion_groups.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

Dim bytes_of(Value v) {
  const Type& type = v->type();
  return type.is_tensor() ? product(type.dims) * Dim(static_cast<int64_t>(size_of(type.dtype)))
                          : Dim(int64_t{0});
}

// What the kernel moves, and what would be written and read again were each node a kernel of its own: the
// cost that speaks for the group.
std::string traffic(const Group& group, std::span<const Value> read, std::span<const Value> written) {
  Dim in = int64_t{0}, out = int64_t{0}, kept = int64_t{0};
  for (Value v : read) in = in + bytes_of(v);
  for (Value v : written) out = out + bytes_of(v);
  std::unordered_set<const Node*> members(group.nodes.begin(), group.nodes.end());
  for (const Node* node : group.nodes)
    for (Value v : node->results()) {
      int64_t inside = std::count_if(v->uses().begin(), v->uses().end(),
                                     [&](const Use& use) { return members.contains(use.user); });
      bool leaves = std::find(written.begin(), written.end(), v) != written.end();
      kept = kept + bytes_of(v) * Dim(inside + (leaves ? 0 : 1));
    }
  return fmt::format("reads {} bytes, writes {}, keeps {} out of memory", in.str(), out.str(), kept.str());
}

class Outliner {
 public:
  Outliner(Block& block, const Grouping& grouping) : block_(block), grouping_(grouping) {}

  // Moves the group's nodes into a new fusion node at the end of the block; gives its description.
  std::string outline(const Group& group) {
    std::unordered_set<const Node*> members(group.nodes.begin(), group.nodes.end());
    std::unique_ptr<Graph> scratch = kernel_graph(block_.graph());
    std::unordered_map<Value, Value> inside;
    std::vector<Value> operands, outside_results, results;
    std::function<Value(Value)> map = [&](Value v) -> Value {
      if (auto it = inside.find(v); it != inside.end()) return it->second;
      if (Node* producer = v->node(); producer && grouping_.is_free(producer)) {
        copy(producer, scratch->body(), inside, map);
        return inside.at(v);
      }
      operands.push_back(v);
      Value arg = scratch->body().add_arg(v->type(), v->name());
      return inside[v] = arg;
    };
    std::string description;
    for (Node* node : group.nodes) {
      copy(node, scratch->body(), inside, map);
      description += (description.empty() ? "" : " ") + node->op().name();
      for (Value v : node->results()) {
        bool leaves = false;
        for (const Use& use : v->uses()) leaves = leaves || !members.contains(use.user);
        if (leaves) {
          outside_results.push_back(v);
          results.push_back(inside.at(v));
        }
      }
    }
    // An op that writes its own loops knows its own results alone, and a relabelling writes nothing.
    std::vector<Use> again;
    if (group.kind != GroupKind::Nest && group.kind != GroupKind::Relabel)
      again = given_again(outside_results);
    for (const Use& use : again) results.push_back(inside.at(use.user->operand(use.operand)));
    scratch->body().set_results(results);
    std::string cost = traffic(group, operands, outside_results);
    Node* fused = add_kernel(block_.terminator(), std::string(group_kind_name(group.kind)), operands,
                             std::move(scratch), group.nodes.back());
    for (size_t i = 0; i < outside_results.size(); ++i) {
      fused->result(i)->set_name(outside_results[i]->name());
      outside_results[i]->replace_all_uses_with(fused->result(i));
    }
    for (size_t i = 0; i < again.size(); ++i)
      again[i].user->set_operand(again[i].operand, fused->result(outside_results.size() + i));
    for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) block_.graph().erase(*it);
    return fmt::format("{}: {} ({})", group_kind_name(group.kind), description, cost);
  }

 private:
  // Where the block gives a value more than once (a state that is carried and stacked): all but the first.
  // The kernel writes it to each place, which else would be copied from the first.
  std::vector<Use> given_again(std::span<const Value> values) const {
    std::vector<Use> out;
    for (Value v : values) {
      bool given = false;
      for (const Use& use : v->uses())
        if (use.user == block_.terminator() && std::exchange(given, true)) out.push_back(use);
    }
    return out;
  }

  void copy(const Node* node, Block& into, std::unordered_map<Value, Value>& inside,
            const std::function<Value(Value)>& map) {
    std::vector<Value> operands;
    for (Value v : node->operands()) operands.push_back(map(v));
    Node* twin = copy_node(node, into, std::move(operands));
    for (size_t i = 0; i < node->results().size(); ++i) inside[node->result(i)] = twin->result(i);
  }

  Block& block_;
  const Grouping& grouping_;
};

}  // namespace

void fuse(Graph& graph, Context& context) {
  // The blocks that are there now: regions of new fusion nodes are not to be fused again, and what is
  // computed once is a graph of its own.
  std::vector<Block*> blocks;
  for_each_block(graph.body(), [&](Block& block) {
    const Node* parent = block.parent();
    if (!parent || (!is_kernel(parent) && !ops::is_once(parent))) blocks.push_back(&block);
  });
  for (Block* block : blocks) {
    Grouping grouping(*block, context.options.machine);
    grouping.run();
    std::vector<Grouping::Unit> units = grouping.ordered_units();
    Outliner outliner(*block, grouping);
    for (const Grouping::Unit& unit : units)
      if (unit.group && unit.group->kind != GroupKind::Relabel)
        context.fusion.kernels.push_back(grouping.describe(*unit.group));
    for (const Grouping::Unit& unit : units) {
      if (unit.group)
        context.changed(outliner.outline(*unit.group));
      else
        graph.move_before(unit.node, block->terminator());
    }
    for (const ops::FusionRefusal& refusal : grouping.refusals()) {
      context.details.push_back(refusal.headline());
      context.fusion.refusals.push_back(refusal);
    }
  }
  // Free nodes that every group has copied: their going is no news.
  Context left_over(context.options);
  dead_code(graph, left_over);
  if (left_over.changes > 0 && context.changes == 0) context.changed("removed what nobody reads");
}

}  // namespace ig::passes
