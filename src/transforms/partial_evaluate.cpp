// Partial evaluation: a graph in two parts by which inputs are known first.
#include <algorithm>
#include <unordered_set>

#include "ops/builder.h"
#include "transforms/edit.h"
#include "transforms/transforms.h"

namespace ig::transforms {
namespace {

class Cut {
 public:
  Cut(const Graph& graph, const Mask& late_inputs, size_t results)
      : graph_(graph), late_inputs_(late_inputs), first_late_(results) {
    out_.known = std::make_unique<Graph>(graph.name);
    out_.linear = std::make_unique<Graph>(graph.name);
    out_.known->dims = out_.linear->dims = graph.dims;
  }

  ops::SplitRegion run() {
    std::vector<Value> late_args;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      Value input = graph_.inputs()[i];
      if (late_inputs_[i])
        late_values_.insert(input), late_args.push_back(input);
      else
        known_[input] = out_.known->body().add_arg(input->type(), input->name()), number_[input] = next_++;
    }
    std::vector<const Node*> later;
    for (const Node* node : graph_.body()) {
      if (node == graph_.body().terminator()) break;
      if (std::any_of(node->operands().begin(), node->operands().end(),
                      [&](Value v) { return late_values_.contains(v); })) {
        later.push_back(node);
        for (Value v : node->results()) late_values_.insert(v);
        continue;
      }
      copy_node(node, out_.known->body(), known_);
      if (is_free(node)) free_.insert(node);
    }
    // Residuals come in front of the late inputs, so they are found first.
    std::span<const Value> results = graph_.outputs();
    for (const Node* node : later)
      for (Value v : node->operands()) need(v);
    for (Value v : results.subspan(first_late_)) need(v);
    std::vector<Value> known_results;
    for (Value v : results.first(first_late_)) known_results.push_back(known_.at(v));
    for (Value v : residuals_) {
      auto input = number_.find(v);
      out_.residuals.push_back(input == number_.end() ? -1 : input->second);
      if (input == number_.end()) known_results.push_back(known_.at(v));
      second_[v] = out_.linear->body().add_arg(v->type(), v->name());
    }
    for (Value v : late_args) second_[v] = out_.linear->body().add_arg(v->type(), v->name());
    for (const Node* node : again_) copy_node(node, out_.linear->body(), second_);
    for (const Node* node : later) copy_node(node, out_.linear->body(), second_);
    std::vector<Value> late_results;
    for (Value v : results.subspan(first_late_)) late_results.push_back(second_.at(v));
    out_.known->body().set_results(std::move(known_results));
    out_.linear->body().set_results(std::move(late_results));
    sweep(out_.known->body());
    return std::move(out_);
  }

 private:
  // Numbers, and views of numbers, are cheaper to make again than to keep.
  bool is_free(const Node* node) const {
    if (ops::has(node, ops::Trait::Constant)) return true;
    if (!ops::has(node, ops::Trait::View)) return false;
    return std::all_of(node->operands().begin(), node->operands().end(),
                       [&](Value v) { return v->node() && free_.contains(v->node()); });
  }
  // A view that is no smaller than what it is a view of: that is kept in its place.
  static bool is_view_of_less(const Node* node) {
    if (!ops::has(node, ops::Trait::View) || node->operands().size() != 1) return false;
    Dim whole = node->result()->type().elements(), part = node->operand(0)->type().elements();
    if (whole == part) return true;
    return whole.is_constant() && part.is_constant() && whole.constant() >= part.constant();
  }

  void need(Value value) {
    if (late_values_.contains(value) || !needed_.insert(value).second) return;
    const Node* node = value->node();
    if (node && (free_.contains(node) || is_view_of_less(node))) {
      for (Value operand : node->operands()) need(operand);
      again_.push_back(node);
      return;
    }
    residuals_.push_back(value);
  }

  const Graph& graph_;
  const Mask& late_inputs_;
  size_t first_late_;
  int next_ = 0;
  ops::SplitRegion out_;
  std::unordered_map<Value, Value> known_, second_;
  std::unordered_map<Value, int> number_;
  std::unordered_set<Value> late_values_, needed_;
  std::unordered_set<const Node*> free_;
  std::vector<Value> residuals_;
  std::vector<const Node*> again_;
};

}  // namespace

ops::SplitRegion partial_evaluate(const Graph& graph, const Mask& late, size_t results) {
  return Cut(graph, late, results).run();
}

}  // namespace ig::transforms
