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
// The same where the turning is left to do: what no cache holds waits for memory twice more.
constexpr double kWorthJoining = 1.4;

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

// How many elements of a value its users take, each no more than it has itself.
double elements_taken(Value v, const DimScope& scope) {
  const double elements = elements_in(v->type().dims, scope);
  double out = 0;
  for (const Use& use : v->uses())
    out += is_terminator(use.user) ? elements
                                   : std::min(elements, elements_in(use.user->result(0)->type().dims, scope));
  return out;
}

// What views with several operands put together (arrays side by side, borders), and others behind them turn
// over: at no stride, so that no tiles do. And how many elements of it are read so.
std::vector<std::pair<Value, double>> joined_and_turned(const Block& region, const DimScope& scope) {
  auto is_move = [](const Node* node) {
    return ops::has(node, ops::Trait::View) && node->operands().size() == 1;
  };
  std::vector<std::pair<Value, double>> out;
  for (const Node* node : region) {
    if (is_terminator(node) || !is_move(node)) continue;
    const auto& uses = node->result()->uses();
    if (std::ranges::all_of(uses, [&](const Use& u) { return !is_terminator(u.user) && is_move(u.user); }))
      continue;  // the last of the moves tells
    const Dims& dims = node->result()->type().dims;
    const std::optional<ops::StridedView> view = ops::strided_view(node->result(), is_move);
    if (!view || dims.size() < 2 || !ops::lies_across(*view, dims, dims.size() - 1)) continue;
    const Node* joins = view->arg->node();
    if (!joins || !ops::has(joins, ops::Trait::View)) continue;
    auto known = std::ranges::find(out, view->arg, &std::pair<Value, double>::first);
    if (known == out.end()) known = out.insert(out.end(), {view->arg, 0});
    known->second += elements_taken(node->result(), scope);
  }
  return out;
}

// What a kernel gives way to: kernels that write some of its values, and one for the rest.
class Split {
 public:
  Split(Node* kernel, Context& context) : kernel_(kernel), context_(context) {}

  void write(Value v, std::string_view reason, const ops::FusionCost& together,
             const ops::FusionCost& apart) {
    const std::string kind(kind_of_kernel(kernel_));
    Value results[] = {v};
    Node* first = make_kernel(kernel_, "loop", results, {});
    given_[v] = first->result();
    first->result()->set_name(v->name());
    context_.changed(fmt::format("{} is written out before the {} kernel", v->node()->op().name(), kind));
    ops::FusedKernel made;
    made.kind = "loop";
    made.together = made.apart = apart;
    for (const Node* node : first->region(0))
      if (!is_terminator(node)) made.nodes.push_back(ops::FusionNode::of(node));
    context_.fusion.kernels.push_back(std::move(made));
    ops::FusionRefusal told;
    told.node = ops::FusionNode::of(v->node());
    told.kernel_of = ops::FusionNode::of(kernel_->region(0).terminator()->previous());
    told.kind = kind;
    told.reason = reason;
    told.by_cost = true, told.together = together, told.apart = apart;
    context_.fusion.refusals.push_back(std::move(told));
  }

  // The kernel that is left.
  Node* finish() {
    if (given_.empty()) return kernel_;
    Node* rest =
        make_kernel(kernel_, std::string(kind_of_kernel(kernel_)), kernel_->region(0).results(), given_);
    rest->set_location(kernel_->location());
    rest->set_scope(kernel_->scope());
    for (size_t i = 0; i < rest->results().size(); ++i) {
      rest->result(i)->set_name(kernel_->result(i)->name());
      kernel_->result(i)->replace_all_uses_with(rest->result(i));
    }
    kernel_->graph().erase(kernel_);
    return rest;
  }

 private:
  Node* kernel_;
  Context& context_;
  std::unordered_map<Value, Value> given_;
};

Node* write_joined(Node* kernel, Context& context) {
  const DimScope& scope = kernel->graph().dims;
  Split split(kernel, context);
  for (const auto& [v, read] : joined_and_turned(kernel->region(0), scope)) {
    const ops::FusionCost together = cost_of_reading_across(v->type(), read, scope),
                          apart = cost_of_turning(v->type(), scope);
    if (together.nanoseconds > kWorthJoining * apart.nanoseconds)
      split.write(v, "it is turned over, which is done by tiles where it lies in one array", together, apart);
  }
  return split.finish();
}

void write_first(Node* kernel, Context& context) {
  const Block& region = kernel->region(0);
  const Node* fold = ops::first_fold(region);
  if (fold != nullptr && (ops::fold_walk(region) || ops::short_rows_lie_across(region))) return;
  const DimScope& scope = kernel->graph().dims;
  Split split(kernel, context);
  const int passes = fold == nullptr ? 1 : passes_over(region, fold->operand(0)->type().dims);
  for (Value v : Lies(region).to_write(fold == nullptr)) {
    const Type& type = v->type();
    const double elements = elements_in(type.dims, scope);
    double read = fold != nullptr ? elements * passes : 0;
    if (fold == nullptr)
      for (const Use& use : v->uses())
        if (!is_terminator(use.user))
          read += std::min(elements, elements_in(use.user->result(0)->type().dims, scope));
    const ops::FusionCost together = cost_of_reading_across(type, read, scope),
                          apart = cost_of_turning(type, scope);
    if (together.nanoseconds > kWorth * apart.nanoseconds)
      split.write(v, "it lies across what the kernel walks, which costs more than to turn it over first",
                  together, apart);
  }
  split.finish();
}

}  // namespace

void write_turned(Graph& graph, Context& context) {
  std::vector<Node*> kernels;
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block)
      if (computes_elements(node)) kernels.push_back(node);
  });
  for (Node* kernel : kernels) write_first(write_joined(kernel, context), context);
}

}  // namespace ig::passes
