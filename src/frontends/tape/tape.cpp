// Nodes, and what puts them on the tape.
#include "frontends/tape/tape.h"

#include <utility>

#include "frontends/tape/recipe.h"
#include "tensor/capture.h"
#include "transforms/transforms.h"

namespace ig::tape {
namespace {

std::atomic<uint64_t> next_sequence{1};
std::atomic<size_t> leaf_count{0};
std::atomic<Location (*)()> locate{nullptr};

// What a dying node held. A chain of nodes dies one after the other here, not one inside of the other.
struct Remains {
  std::vector<Edge> next;
  std::vector<Tensor> saved;
};
thread_local std::vector<Remains>* dying = nullptr;

// A leaf counts while it lives.
struct Leaf : Node {
  Leaf() { ++leaf_count; }
  ~Leaf() { --leaf_count; }
};

std::vector<bool> moving(std::span<const Tensor> operands, bool& any) {
  std::vector<bool> out;
  for (const Tensor& operand : operands) {
    out.push_back(operand.link() != nullptr);
    any |= out.back();
  }
  return out;
}

void put(std::shared_ptr<const Recipe> recipe, std::span<const Tensor> operands, std::span<Tensor> results) {
  if (recipe->given.empty()) return;
  auto node = std::make_shared<Node>();
  node->results.reserve(results.size());
  for (const Tensor& result : results) node->results.push_back(result.type());
  for (size_t i = 0; i < operands.size(); ++i)
    node->next.push_back(recipe->moves[i] ? edge_of(operands[i]) : Edge{});
  for (int i : recipe->saved) {
    auto at = static_cast<size_t>(i);
    node->saved.push_back(at < operands.size() ? operands[at] : results[at - operands.size()].unlinked());
  }
  if (auto* where = locate.load()) node->where = where();
  for (int i : recipe->given) {
    Tensor& result = results[static_cast<size_t>(i)];
    result = linked(std::move(result), {node, i});
  }
  if (recipe->calls_host) node->functions = ops::host_functions(*recipe->graph);
  node->recipe = std::move(recipe);
}

}  // namespace

Node::Node() : sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)) {}

Node::~Node() {
  if (next.empty() && saved.empty()) return;
  Remains own{std::move(next), std::move(saved)};
  if (dying) {
    dying->push_back(std::move(own));
    return;
  }
  std::vector<Remains> queue;
  dying = &queue;
  queue.push_back(std::move(own));
  while (!queue.empty()) {
    Remains one = std::move(queue.back());
    queue.pop_back();
  }
  dying = nullptr;
}

std::string Node::name() const { return recipe ? recipe->name : "leaf"; }

bool Link::recording() const { return mode().grad; }

void Link::record(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                  std::span<Tensor> results) const {
  if (op.has(ops::Trait::Detached)) return;
  bool any = false;
  std::vector<bool> moves = moving(operands, any);
  if (any) put(recipe_of(op, operands, attrs, moves), operands, results);
}

void Link::record(std::shared_ptr<const Graph> graph, std::span<const Tensor> inputs,
                  std::span<Tensor> results) const {
  bool any = false;
  std::vector<bool> moves = moving(inputs, any);
  if (any) put(recipe_of(graph, inputs, results, moves), inputs, results);
}

Mode& mode() {
  static thread_local Mode the_mode;
  return the_mode;
}

size_t leaves() { return leaf_count.load(std::memory_order_relaxed); }

void set_locate(Location (*function)()) { locate.store(function); }

Edge edge_of(const Tensor& tensor) {
  if (!tensor.link()) return {};
  return static_cast<const Link&>(*tensor.link()).edge();
}

Tensor linked(Tensor tensor, Edge edge) {
  tensor.set_link(std::make_shared<const Link>(std::move(edge)));
  return tensor;
}

bool requires_grad(const Tensor& tensor) { return tensor.link() != nullptr; }

bool is_leaf(const Tensor& tensor) { return !tensor.link() || edge_of(tensor).node->is_leaf(); }

Tensor as_leaf(const Tensor& tensor) {
  if (!transforms::has_tangent(tensor.type()))
    throw make_error(ErrorKind::Type, "an array of {} cannot require grad", info(tensor.dtype()).api_name)
        .why("only floats and complex numbers have derivatives")
        .hint("convert it first: ig.astype(x, ig.float32)");
  if (tensor.is_symbolic() || Capture::current())
    throw Error(ErrorKind::Capture, "an array is to require grad while a function is traced")
        .why("a trace makes values of a graph, and eager autograd follows arrays that have values")
        .hint("take derivatives of the function with ig.grad, inside or outside of the trace");
  if (mode().inference)
    throw Error(ErrorKind::Value, "an array is to require grad in inference mode")
        .why("nothing is recorded there, so its gradient would never come")
        .hint("leave inference_mode, or use ig.no_grad()");
  auto node = std::make_shared<Leaf>();
  node->results = {tensor.type()};
  node->watches[0].retain = true;
  return linked(tensor.unlinked(), {node, 0});
}

}  // namespace ig::tape
