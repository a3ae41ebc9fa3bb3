// The making of program kernels.
#include "passes/program_kernel.h"

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "ir/copy.h"
#include "ops/builder.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

class ProgramMaker {
 public:
  explicit ProgramMaker(std::span<Node* const> nodes)
      : nodes_(nodes), members_(nodes.begin(), nodes.end()), block_(*nodes.back()->block()) {}

  Node* run() {
    inner_ = kernel_graph(block_.graph());
    std::vector<Value> outside, results;
    for (Node* node : nodes_) {
      std::vector<Value> operands;
      for (Value v : node->operands()) operands.push_back(inside(v));
      Node* twin = copy_node(node, inner_->body(), std::move(operands));
      for (size_t i = 0; i < node->results().size(); ++i) {
        Value v = node->result(i);
        inside_[v] = twin->result(i);
        if (!leaves(v)) continue;
        outside.push_back(v);
        results.push_back(twin->result(i));
      }
    }
    inner_->body().set_results(results);
    std::vector<Node*> late = relabels_between();

    Node* last = nodes_.back();
    Node* program = add_kernel(last, "program", operands_, std::move(inner_), last);
    for (size_t i = 0; i < outside.size(); ++i) {
      if (program->result(i)->name().empty()) program->result(i)->set_name(outside[i]->name());
      outside[i]->replace_all_uses_with(program->result(i));
    }
    for (Node* relabel : late) block_.graph().move_before(relabel, last);
    for (size_t i = nodes_.size(); i-- > 0;) {
      for (Value v : nodes_[i]->results()) erase_readers(v);
      block_.graph().erase(nodes_[i]);
    }
    for (auto it = late.rbegin(); it != late.rend(); ++it)
      if (!(*it)->erased() && !(*it)->has_uses()) block_.graph().erase(*it);
    return program;
  }

 private:
  bool holds(Value v) const { return v->node() && members_.contains(v->node()); }

  // What stands for the value inside.
  Value inside(Value v) {
    if (auto it = inside_.find(v); it != inside_.end()) return it->second;
    if (holds(root_of(v))) {
      Node* twin = copy_node(v->node(), inner_->body(), {inside(v->node()->operand(0))});
      return inside_[v] = twin->result();
    }
    operands_.push_back(v);
    return inside_[v] = inner_->body().add_arg(v->type(), v->name());
  }

  // Whether a node outside reads it, be it relabelled.
  bool leaves(Value v) const {
    for (const Use& use : v->uses())
      if (!members_.contains(use.user) && !(is_relabel(use.user) && !leaves(use.user->result()))) return true;
    return false;
  }

  // Relabels of what is computed inside, in order: they go behind the new node.
  std::vector<Node*> relabels_between() const {
    std::vector<Node*> out;
    for (Node* node = nodes_.front(); node != nodes_.back(); node = node->next())
      if (!members_.contains(node) && is_relabel(node) && holds(root_of(node->result()))) out.push_back(node);
    return out;
  }

  // Relabels of a value that nobody reads.
  void erase_readers(Value v) {
    const std::vector<Use> uses(v->uses().begin(), v->uses().end());
    for (const Use& use : uses) {
      erase_readers(use.user->result());
      block_.graph().erase(use.user);
    }
  }

  std::span<Node* const> nodes_;
  std::unordered_set<const Node*> members_;
  Block& block_;
  std::unique_ptr<Graph> inner_;
  std::unordered_map<Value, Value> inside_;
  std::vector<Value> operands_;  // of the new node
};

}  // namespace

bool is_kernel(const Node* node) {
  static const OpId fusion = OpId::of("fusion");
  return node->op() == fusion;
}

std::string_view kind_of_kernel(const Node* kernel) {
  return std::get<std::string>(*kernel->attrs().find("kind"));
}

bool computes_elements(const Node* node) {
  if (!is_kernel(node)) return false;
  const std::string_view kind = kind_of_kernel(node);
  return kind != "contraction" && kind != "nest" && kind != "program" && kind != "relabel";
}

bool is_relabel(const Node* node) { return is_kernel(node) && ops::is_relabel(node); }

Value root_of(Value v) {
  while (v->node() && is_relabel(v->node())) v = v->node()->operand(0);
  return v;
}

std::unique_ptr<Graph> kernel_graph(const Graph& graph) {
  auto inner = std::make_unique<Graph>("fusion");
  inner->dims = graph.dims;  // what is known of sizes holds inside, too
  return inner;
}

Node* add_kernel(Node* before, std::string kind, std::vector<Value> operands, std::unique_ptr<Graph> inner,
                 const Node* at) {
  ops::Builder build(*before->block(), before);
  build.at(at);
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(inner));
  Attrs attrs;
  attrs.set("kind", std::move(kind));
  return build.node(ops::get("fusion"), std::move(operands), attrs, {}, std::move(regions));
}

Node* make_program(std::span<Node* const> nodes) { return ProgramMaker(nodes).run(); }

}  // namespace ig::passes
