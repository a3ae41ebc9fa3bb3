// Writes out what lies across a kernel's walk where the kernel cannot turn it over: a transposed operand of a
// norm, or of arrays put together. Its elements would be read from a line of the cache each, in every pass
// over them; a kernel of its own turns them by tiles, and this one reads what that has written. The values
// written are the last ones that are computed of such operands alone. (What a kernel can turn over itself is
// said in ops/across.h.)
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/across.h"
#include "ops/builder.h"
#include "passes/fusion_cost.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

constexpr double kWorth = 1.25;  // times as dear, to leave what is small alone

// How a value lies to vectors along its last axis, with all that it is computed of element by element.
enum class Lie : uint8_t {
  Any,     // numbers, and few elements that are spread over many
  Along,   // or moved about in a way that is no stride
  Across,  // some of it across, and nothing of its size along
};

class Lies {
 public:
  explicit Lies(const Block& region) : region_(region) {
    for (const Node* node : region)
      if (!is_terminator(node))
        for (Value v : node->results()) lies_[v] = of(v);
  }
  Lie operator()(Value v) const {
    auto it = lies_.find(v);
    return it == lies_.end() ? of_argument(v) : it->second;
  }
  // The values to write: across, and read by what does not lie across itself.
  std::vector<Value> to_write(bool turns) const {
    std::vector<Value> out;
    for (const Node* node : region_) {
      if (is_terminator(node) || node->results().size() != 1 || (*this)(node->result()) != Lie::Across)
        continue;
      const auto& uses = node->result()->uses();
      if (std::ranges::all_of(uses, [&](const Use& use) { return reads_across(use.user, turns); })) continue;
      Value v = node->result();  // or the few elements that it spreads
      while (spreads(v->node()) && (*this)(v->node()->operand(0)) == Lie::Across) v = v->node()->operand(0);
      if (std::ranges::find(out, v) == out.end()) out.push_back(v);
    }
    return out;
  }

 private:
  static bool spreads(const Node* node) { return node->attrs().find(ops::kBroadcastDims.name) != nullptr; }
  static Lie of_argument(Value v) { return v->type().rank() == 0 ? Lie::Any : Lie::Along; }

  Lie of(Value v) const {
    const Dims& dims = v->type().dims;
    const Node* node = v->node();
    if (ops::has(node, ops::Trait::Constant)) return Lie::Any;
    if (std::optional<ops::StridedView> view = ops::strided_view(v)) {
      if (dims.size() >= 2 && ops::lies_across(*view, dims, dims.size() - 1)) return Lie::Across;
      return product(view->arg->type().dims) == product(dims) ? Lie::Along : Lie::Any;
    }
    if (spreads(node)) return (*this)(node->operand(0)) == Lie::Any ? Lie::Any : Lie::Along;
    if (!ops::has(node, ops::Trait::Elementwise)) return Lie::Along;
    Lie out = Lie::Any;
    for (Value operand : node->operands()) {
      const Lie lie = (*this)(operand);
      if (lie == Lie::Along) return Lie::Along;
      if (lie == Lie::Across) out = Lie::Across;
    }
    return out;
  }

  // Whether the user of a value that lies across does not mind: it lies across as well, or is element-wise
  // (or the end) in a kernel that `turns` what it reads, or looks at it in another way.
  bool reads_across(const Node* user, bool turns) const {
    if (is_terminator(user)) return turns;
    if (user->results().size() == 1 && (*this)(user->result()) == Lie::Across) return true;
    if (ops::has(user, ops::Trait::Elementwise)) return turns;
    return user->results().size() == 1 && ops::strided_view(user->result()).has_value();
  }

  const Block& region_;
  std::unordered_map<Value, Lie> lies_;
};

// A kernel that computes some values of the region of `old`, in front of it; what is `given` it reads.
Node* make_kernel(Node* old, std::string kind, std::span<const Value> results,
                  const std::unordered_map<Value, Value>& given) {
  const Block& region = old->region(0);
  std::unordered_set<const Node*> needed;
  std::vector<Value> left(results.begin(), results.end());
  while (!left.empty()) {
    Value v = left.back();
    left.pop_back();
    if (v->node() && !given.contains(v) && needed.insert(v->node()).second)
      left.insert(left.end(), v->node()->operands().begin(), v->node()->operands().end());
  }
  std::unique_ptr<Graph> inner = kernel_graph(old->graph());
  std::unordered_map<Value, Value> inside;
  std::vector<Value> operands;
  auto map = [&](Value v) {
    if (auto it = inside.find(v); it != inside.end()) return it->second;
    auto it = given.find(v);
    operands.push_back(it == given.end() ? old->operand(v->index()) : it->second);
    return inside[v] = inner->body().add_arg(v->type(), operands.back()->name());
  };
  for (const Node* node : region) {
    if (!needed.contains(node)) continue;
    std::vector<Value> own;
    for (Value v : node->operands()) own.push_back(map(v));
    Node* twin = copy_node(node, inner->body(), std::move(own));
    for (size_t i = 0; i < node->results().size(); ++i) inside[node->result(i)] = twin->result(i);
  }
  std::vector<Value> given_back;
  for (Value v : results) given_back.push_back(map(v));
  inner->body().set_results(given_back);
  return add_kernel(old, std::move(kind), std::move(operands), std::move(inner),
                    results[0]->node() ? results[0]->node() : old);
}

// Passes over what a kernel of folds reads: one a stage, and one that writes.
int passes_over(const Block& region, const Dims& domain) {
  std::unordered_map<const Node*, int> stage;
  int passes = 0;
  for (const Node* node : region) {
    int& own = stage[node];
    for (Value v : node->operands())
      if (v->node()) own = std::max(own, stage.at(v->node()) + (ops::is_fold(v->node()) ? 1 : 0));
    if (ops::is_fold(node)) passes = std::max(passes, own + 1);
  }
  const bool writes =
      std::ranges::any_of(region.results(), [&](Value v) { return v->type().dims == domain; });
  return passes + (writes ? 1 : 0);
}

void write_first(Node* kernel, Context& context) {
  const std::string kind(kind_of_kernel(kernel));
  const Block& region = kernel->region(0);
  const Node* fold = ops::first_fold(region);
  if (fold != nullptr && (ops::fold_walk(region) || ops::short_rows_lie_across(region))) return;
  const DimScope& scope = kernel->graph().dims;
  std::unordered_map<Value, Value> given;
  const int passes = fold == nullptr ? 1 : passes_over(region, fold->operand(0)->type().dims);
  for (Value v : Lies(region).to_write(fold == nullptr)) {
    const Type& type = v->type();
    const double elements = elements_in(type.dims, scope);
    double read = fold != nullptr ? elements * passes : 0;
    if (fold == nullptr)
      for (const Use& use : v->uses())
        if (!is_terminator(use.user))
          read += std::min(elements, elements_in(use.user->result(0)->type().dims, scope));
    ops::FusionCost together = cost_of_reading_across(type, read, scope),
                    apart = cost_of_turning(type, scope);
    if (together.nanoseconds <= kWorth * apart.nanoseconds) continue;
    Value results[] = {v};
    Node* first = make_kernel(kernel, "loop", results, {});
    given[v] = first->result();
    first->result()->set_name(v->name());
    context.changed(fmt::format("{} is written out before the {} kernel", v->node()->op().name(), kind));
    ops::FusedKernel made;
    made.kind = "loop";
    made.together = made.apart = apart;
    for (const Node* node : first->region(0))
      if (!is_terminator(node)) made.nodes.push_back(ops::FusionNode::of(node));
    context.fusion.kernels.push_back(std::move(made));
    ops::FusionRefusal told;
    told.node = ops::FusionNode::of(v->node());
    told.kernel_of = ops::FusionNode::of(region.terminator()->previous());
    told.kind = kind;
    told.reason = "it lies across what the kernel walks, which costs more than to turn it over first";
    told.by_cost = true, told.together = together, told.apart = apart;
    context.fusion.refusals.push_back(std::move(told));
  }
  if (given.empty()) return;
  Node* rest = make_kernel(kernel, kind, region.results(), given);
  rest->set_location(kernel->location());
  rest->set_scope(kernel->scope());
  for (size_t i = 0; i < rest->results().size(); ++i) {
    rest->result(i)->set_name(kernel->result(i)->name());
    kernel->result(i)->replace_all_uses_with(rest->result(i));
  }
  kernel->graph().erase(kernel);
}

}  // namespace

void write_turned(Graph& graph, Context& context) {
  std::vector<Node*> kernels;
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block)
      if (computes_elements(node)) kernels.push_back(node);
  });
  for (Node* kernel : kernels) write_first(kernel, context);
}

}  // namespace ig::passes
