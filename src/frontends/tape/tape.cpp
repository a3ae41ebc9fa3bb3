// Nodes, and what puts them on the tape.
#include "frontends/tape/tape.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "frontends/tape/recipe.h"
#include "ops/table.h"
#include "tensor/capture.h"
#include "transforms/transforms.h"

namespace ig::tape {
namespace {

std::atomic<uint64_t> next_sequence{1};
std::atomic<size_t> leaf_count{0};
std::atomic<Location (*)()> locate{nullptr};
std::atomic<const Outside*> outside{nullptr};

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

bool is_hooked(const Node& node) {
  return std::any_of(node.watches.begin(), node.watches.end(),
                     [](const auto& watch) { return !watch.second.hooks.empty(); });
}

std::vector<bool> moving(std::span<const Tensor> operands, bool& any) {
  std::vector<bool> out;
  for (const Tensor& operand : operands) {
    out.push_back(operand.link() != nullptr);
    any |= out.back();
  }
  return out;
}

// An op of a captured program. Every number that varies may lead back to what it was made of.
void put_recorded(const Capture& capture, const ops::Op& op, std::span<const Tensor> operands,
                  const Attrs& attrs, std::span<Tensor> results) {
  auto node = std::make_shared<Node>();
  node->capture = capture.serial();
  node->op = &op;
  node->attrs = attrs;
  node->saved.reserve(operands.size() + results.size());
  for (const Tensor& operand : operands) {
    node->next.push_back(edge_of(operand));
    node->saved.push_back(operand);
  }
  for (const Tensor& result : results) {
    node->results.push_back(result.type());
    node->saved.push_back(result.unlinked());
  }
  if (!results.empty() && results[0].is_symbolic())
    node->where = results[0].value()->node()->location();
  else if (capture.locate)
    node->where = capture.locate();
  for (size_t i = 0; i < results.size(); ++i)
    if (transforms::has_tangent(node->results[i]))
      results[i] = linked(std::move(results[i]), {node, static_cast<int>(i)});
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

std::string Node::name() const {
  if (op) return op->decl.name;
  return recipe ? recipe->name : ended ? ended_in : "leaf";
}

bool Link::recording() const { return mode().grad; }

void Link::record(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                  std::span<Tensor> results) const {
  if (op.has(ops::Trait::Detached)) return;
  // What is computed from constants alone, where arrays from outside are constants, has run as it does
  // eagerly.
  const Capture* capture = Capture::current();
  auto is_constant = [](const Tensor& x) { return !x.is_symbolic(); };
  if (capture && (capture->lift_constants || !std::all_of(operands.begin(), operands.end(), is_constant)))
    return put_recorded(*capture, op, operands, attrs, results);
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
  Capture* capture = Capture::current();
  if (tensor.is_symbolic() && (!capture || !capture->owns(tensor)) &&
      !(capture && tensor.capture() && capture->reaches(tensor)))
    Capture::leaked(tensor, nullptr);
  const bool made = tensor.is_symbolic() ? capture->owns(tensor) && tensor.value()->node()
                                         : !capture || capture->made_here(tensor);
  if (!made)
    throw Error(ErrorKind::Capture, "an array from outside of a captured function is to require grad there")
        .why(
            "it is an argument, or was read from outside: whether it requires grad is known to the caller, "
            "whose array would change")
        .hint(
            "make an array of the function's own, x = x.detach().requires_grad_(), or call "
            "x.requires_grad_() before the function is called");
  if (mode().inference)
    throw Error(ErrorKind::Value, "an array is to require grad in inference mode")
        .why("nothing is recorded there, so its gradient would never come")
        .hint("leave inference_mode, or use ig.no_grad()");
  auto node = std::make_shared<Leaf>();
  node->results = {tensor.type()};
  node->watches[0].retain = true;
  if (capture) {
    node->capture = capture->serial();
    asked_outside();  // who returns what was computed from it
  }
  Tensor own = tensor.unlinked();
  // A value of its own, for other handles may hold the one that was there.
  if (own.is_symbolic()) own = capture->record(ops::get("stop_gradient"), std::span(&own, 1), {})[0];
  return linked(std::move(own), {node, 0});
}

Tensor as_ended(const Tensor& tensor, std::string name, Error why) {
  auto node = std::make_shared<Node>();
  node->results = {tensor.type()};
  node->ended_in = std::move(name);
  node->ended = std::move(why);
  return linked(tensor.unlinked(), {node, 0});
}

void set_outside(const Outside* other) { outside.store(other); }

void asked_outside() {
  if (const Outside* calls = outside.load()) calls->asked();
}

void reached_outside(Node& node, bool set) {
  const Capture* capture = Capture::current();
  if (!capture && node.capture != 0)
    throw make_error(ErrorKind::Capture,
                     "a backward pass comes to `{}`, which a captured function left behind", node.name())
        .why("the tape of a captured function ends with the capture")
        .hint("return the array from the function instead of storing it");
  if (!capture || node.capture == capture->serial()) return;
  if (node.capture != 0)
    throw make_error(
        ErrorKind::Capture,
        "a backward pass leads out of what is differentiated, batched, a branch or a loop's body")
        .why(fmt::format("it comes to `{}` in the function around it; what is captured for many values, or "
                         "for another derivative, cannot set a gradient there",
                         node.name()))
        .hint(
            "go back by arrays that are made inside, x = x.detach().requires_grad_(), return the gradients, "
            "or call backward() behind it");
  if (!node.is_leaf()) {
    if (!set && !is_hooked(node)) return;  // its gradient is asked for, and goes no further
    throw make_error(
        ErrorKind::Capture,
        "a backward pass of a captured function leads to an array from outside that was computed")
        .why(fmt::format("`{}` ran before the call, and its tape would be gone after the first pass",
                         node.name()))
        .hint("compute the array within the function, or take its value alone with x.detach()");
  }
  const Outside* calls = outside.load();
  IG_CHECK(calls != nullptr, "no front end follows the tape");
  calls->reached(node, set);
}

Fate fate_of(const Tensor& tensor, uint64_t capture) {
  if (!tensor.link()) return Fate::Off;
  Edge edge = edge_of(tensor);
  if (edge.node->capture == capture && edge.node->is_leaf())
    return is_hooked(*edge.node) ? Fate::Hooked : Fate::Leaf;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> queue{edge.node.get()};
  bool inside = false, outside = false, moved = false, hooked = false;
  auto is_moved = [&](const Tensor& x) {  // a leaf whose handle was bound to something else
    if (!x.link() || !x.is_symbolic()) return false;
    Edge own = edge_of(x);
    return own.node->is_leaf() && own.node->capture != capture && x.value()->node();
  };
  if (is_moved(tensor)) return Fate::Moved;
  while (!queue.empty()) {
    const Node* node = queue.back();
    queue.pop_back();
    const bool own = node->capture == capture;
    outside |= !own;
    if (!own || !seen.insert(node).second) continue;
    if (node->freed) return Fate::Freed;
    inside |= node->is_leaf();
    hooked |= is_hooked(*node);
    for (const Tensor& operand : node->saved) moved |= is_moved(operand);
    for (const Edge& next : node->next)
      if (next.node) queue.push_back(next.node.get());
  }
  if (moved) return Fate::Moved;
  if (hooked) return Fate::Hooked;
  return !inside ? Fate::Open : outside ? Fate::Both : Fate::Inside;
}

}  // namespace ig::tape
