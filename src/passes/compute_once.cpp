// Takes out what depends on constants alone, and on inputs that most calls leave as they are (weights, tables
// of a module): tables of angles, normed or rescaled weights, gathered biases. Such values become results of
// `once` nodes, in front of all others, which the program computes when one of their operands is another
// array than in the call before, and keeps.
//
// A value is kept where a call costs less by it: its bytes are read instead of what makes it up, and instead
// of the operations that this takes (fusion_cost.h); what a product reads would have to be written out
// besides. What is kept takes memory for good: no more than the constants and steady inputs do, or a few
// megabytes.
#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/copy.h"
#include "ops/builder.h"
#include "ops/effects.h"
#include "ops/host_call.h"
#include "ops/once.h"
#include "passes/fusion_cost.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

constexpr double kGain = 100;  // ns a call, below which nobody would notice
constexpr double kMuch = 1.5;  // times as much as reading the value: what it costs to make it
constexpr double kFewBytes = 16 << 20;
constexpr size_t kVisits = 100;  // of a node, on average, while it is weighed what it is a part of

// These nodes, and all that they are made of, as far as `follows` says.
std::vector<Node*> made_of(std::vector<Node*> open, const std::function<bool(const Node*)>& follows) {
  std::unordered_set<const Node*> seen;
  std::vector<Node*> out;
  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    out.push_back(node);
    for (Value v : node->operands())
      if (v->node() && follows(v->node())) open.push_back(v->node());
  }
  return out;
}

class Taking {
 public:
  Taking(Graph& graph, Context& context) : graph_(graph), body_(graph.body()), context_(context) {}

  void run() {
    find_steady();
    choose();
    for (const std::vector<Node*>& together : components()) take_out(together);
    if (context_.changes == 0) return;
    Context left_over(context_.options);
    dead_code(graph_, left_over);
  }

 private:
  bool holds(Value v) const { return v->node() && steady_.contains(v->node()); }

  bool may_be_computed_once(Node* node) const {
    if (is_terminator(node) || ops::has_effects(node) || ops::is_host_call(node) || ops::is_once(node))
      return false;
    if (!node->regions().empty() && !graph_.dims.symbols().empty()) return false;
    for (Value v : node->results())
      if (!v->type().is_tensor() || !constant_dims(v->type().dims)) return false;
    for (const auto& [name, value] : node->attrs().items())
      if (const Dims* dims = std::get_if<Dims>(&value); dims && !constant_dims(*dims)) return false;
    return std::ranges::all_of(node->operands(), [&](Value v) {
      return holds(v) || (!v->node() && is_steady(v, context_.options) && constant_dims(v->type().dims));
    });
  }

  void find_steady() {
    const std::set<int>& inputs = context_.options.steady;
    for (Node* node : body_) {
      place_.emplace(node, place_.size());
      if (!may_be_computed_once(node)) continue;
      steady_.insert(node);
      if (node->operands().empty() && is_array(node->result(0))) known_ += bytes(node->result(0));
    }
    for (Value v : graph_.inputs())
      if (inputs.contains(static_cast<int>(v->index())) && constant_dims(v->type().dims)) known_ += bytes(v);
  }

  // From the last node to the first: what is not worth it leaves the steady nodes, so that those before it
  // are looked at by themselves.
  void choose() {
    double room = std::max(kFewBytes, known_);
    for (Node* node = body_.last(); node != nullptr; node = node->previous()) {
      if (!steady_.contains(node)) continue;
      const bool read_by_others = std::ranges::any_of(node->results(), [&](Value v) {
        return std::ranges::any_of(v->uses(), [&](const Use& use) { return !steady_.contains(use.user); });
      });
      if (!read_by_others) continue;
      double size = 0;
      for (Value v : node->results()) size += bytes(v);
      std::vector<Node*> cone;
      const bool may_be_kept =
          !node->operands().empty() && !is_view(node) && size <= room && visits_ < kVisits * place_.size();
      if (may_be_kept) cone = cone_of(node);
      if (!may_be_kept || !is_worth_it(node, size, cone)) {
        steady_.erase(node);
        continue;
      }
      room -= size;
      kept_.push_back(node);
      counted_.insert(cone.begin(), cone.end());
    }
  }

  // The nodes that make up the node's results, which no other kept node counts already.
  std::vector<Node*> cone_of(Node* node) {
    std::vector<Node*> cone = made_of(
        {node}, [&](const Node* part) { return !part->operands().empty() && !counted_.contains(part); });
    visits_ += cone.size();
    return cone;
  }

  bool is_worth_it(Node* node, double size, std::span<Node* const> cone) const {
    // Patterns of places (masks) stay where kernels see them for what they are, and cost them next to
    // nothing.
    const bool from_arrays = std::ranges::any_of(cone, [](const Node* part) {
      return std::ranges::any_of(part->operands(), [](Value v) { return is_array(v); });
    });
    if (!from_arrays && std::ranges::all_of(cone, is_cheap)) return false;
    const KernelWork work[] = {{cone}};
    auto is_free = [&](const Node* part) {
      return counted_.contains(part) || (part->operands().empty() && !is_array(part->result(0)));
    };
    const auto writes_nothing = [](Value) { return false; };
    double making = cost_of_kernel(work, is_free, writes_nothing, graph_.dims).nanoseconds - kStartOfKernel;
    if (read_by_product(node))
      making += cost_of_writing_out(node->result(0)->type(), graph_.dims).nanoseconds;
    return making > kMuch * time_to_read(size) + kGain;
  }

  static bool is_cheap(const Node* node) {
    return ops::has(node, ops::Trait::Cheap) || ops::has(node, ops::Trait::View) || node->operands().empty();
  }

  // As an array of its own: kernels of products read it packed, which is done once for steady ones alone.
  static bool read_by_product(const Node* node) {
    return std::ranges::any_of(node->result(0)->uses(), [](const Use& use) {
      if (is_terminator(use.user)) return false;
      return ops::has(use.user, ops::Trait::Contraction) || (is_view(use.user) && read_by_product(use.user));
    });
  }

  // With memory of its own: a constant or an input.
  static bool is_array(Value v) {
    if (!v->node()) return true;
    if (!v->node()->operands().empty()) return false;
    const AttrValue* value = v->node()->attrs().find("value");
    const Literal* literal = value ? std::get_if<Literal>(value) : nullptr;
    return literal && literal->elements() > 1;
  }

  double bytes(Value v) const {
    return elements_in(v->type().dims, graph_.dims) * static_cast<double>(size_of(v->type().dtype));
  }

  // Kept nodes that are made of the same ones are computed together.
  std::vector<std::vector<Node*>> components() {
    std::unordered_map<const Node*, size_t> of;
    std::vector<size_t> parent(kept_.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    auto root = [&](size_t i) {
      while (parent[i] != i) i = parent[i];
      return i;
    };
    for (size_t i = 0; i < kept_.size(); ++i) {
      std::vector<Node*> open{kept_[i]};
      while (!open.empty()) {
        Node* node = open.back();
        open.pop_back();
        if (auto [at, fresh] = of.try_emplace(node, i); !fresh) {
          parent[root(at->second)] = root(i);
          continue;
        }
        for (Value v : node->operands())
          if (v->node() && !v->node()->operands().empty()) open.push_back(v->node());
      }
    }
    std::vector<std::vector<Node*>> out(kept_.size());
    for (size_t i = kept_.size(); i-- > 0;) out[root(i)].push_back(kept_[i]);  // in their order
    std::erase_if(out, [](const auto& together) { return together.empty(); });
    return out;
  }

  void take_out(const std::vector<Node*>& kept) {
    std::vector<Node*> needed = made_of(kept, [](const Node*) { return true; });
    std::ranges::sort(needed, {}, [&](const Node* node) { return place_.at(node); });
    std::unique_ptr<Graph> inner = kernel_graph(graph_);
    inner->name = "once";
    std::unordered_map<Value, Value> inside;
    std::vector<Value> operands, results, outside;
    for (Node* node : needed) {
      std::vector<Value> own;
      for (Value v : node->operands()) {
        auto [at, fresh] = inside.try_emplace(v, nullptr);
        if (fresh) {
          operands.push_back(v);
          at->second = inner->body().add_arg(v->type(), v->name());
        }
        own.push_back(at->second);
      }
      Node* twin = copy_node(node, inner->body(), std::move(own));
      for (size_t i = 0; i < node->results().size(); ++i) inside[node->result(i)] = twin->result(i);
    }
    for (const Node* node : kept) {
      context_.changed(told_of(node));
      for (Value v : node->results()) outside.push_back(v), results.push_back(inside.at(v));
    }
    inner->body().set_results(results);
    ops::Builder build(body_, body_.first());
    build.at(kept.back());
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(inner));
    Node* once = build.node(ops::get("once"), std::move(operands), {}, {}, std::move(regions));
    for (size_t i = 0; i < outside.size(); ++i) {
      once->result(i)->set_name(outside[i]->name());
      outside[i]->replace_all_uses_with(once->result(i));
    }
  }

  Graph& graph_;
  Block& body_;
  Context& context_;
  std::unordered_map<const Node*, size_t> place_;  // in the body
  std::unordered_set<const Node*> steady_, counted_;
  std::vector<Node*> kept_;  // the last ones first
  double known_ = 0;         // bytes of constants and steady inputs
  size_t visits_ = 0;        // of nodes, all in all
};

}  // namespace

void compute_once(Graph& graph, Context& context) { Taking(graph, context).run(); }

}  // namespace ig::passes
