// Partial evaluation: a graph in two parts by which inputs are known first. What passes from the first to the
// second is what the second reads, or, where a minimum cut chooses it (ops/saved_values.h), what keeps the
// fewest bytes of all that the second can compute the rest from.
#include <algorithm>
#include <unordered_set>

#include "ops/builder.h"
#include "ops/open.h"
#include "ops/saved_values.h"
#include "transforms/edit.h"
#include "transforms/transforms.h"

namespace ig::transforms {
namespace {

bool mixed(const Node* node, const std::unordered_set<Value>& late) {
  auto is_late = [&](Value v) { return late.contains(v); };
  return std::ranges::any_of(node->operands(), is_late) && !std::ranges::all_of(node->operands(), is_late);
}

// A system whose matrix is known and whose right side is late is opened, so that the factors of the matrix
// are known, and kept.
void open_prepared(Graph& graph, const Mask& late_inputs) {
  std::unordered_set<Value> late;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (late_inputs[i]) late.insert(graph.inputs()[i]);
  for (Node* node = graph.body().first(); node != graph.body().terminator();) {
    if (ops::has(node, ops::Trait::Prepares) && mixed(node, late)) {
      node = ops::open_in_place(node);
      continue;
    }
    if (std::ranges::any_of(node->operands(), [&](Value v) { return late.contains(v); }))
      late.insert(node->results().begin(), node->results().end());
    node = node->next();
  }
}

class Cut {
 public:
  Cut(const Graph& graph, const Mask& late_inputs, size_t results, const ops::Keeping* keeping)
      : graph_(graph), late_inputs_(late_inputs), first_late_(results), keeping_(keeping) {
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
    std::vector<Value> read;
    for (const Node* node : later) read.insert(read.end(), node->operands().begin(), node->operands().end());
    read.insert(read.end(), results.begin() + static_cast<ptrdiff_t>(first_late_), results.end());
    if (keeping_) choose(read);
    need(std::move(read));
    std::vector<Value> known_results;
    for (Value v : results.first(first_late_)) known_results.push_back(known_.at(v));
    for (Value v : residuals_) {
      auto input = number_.find(v);
      out_.residuals.push_back(input == number_.end() ? -1 : input->second);
      if (input == number_.end()) known_results.push_back(known_.at(v));
      second_[v] = out_.linear->body().add_arg(v->type(), v->name());
    }
    for (Value v : late_args) second_[v] = out_.linear->body().add_arg(v->type(), v->name());
    for (const Node* node : graph_.body())
      if (again_.contains(node)) copy_node(node, out_.linear->body(), second_);
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

  // What costs nothing to keep.
  void find_there() {
    std::unordered_set<Value> same;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      Value input = graph_.inputs()[i];
      if (late_inputs_[i]) continue;
      if (i >= keeping_->arguments.size() || keeping_->arguments[i]) there_.insert(input);
      if (i < keeping_->same.size() && keeping_->same[i]) same.insert(input);
    }
    for (size_t i = 0; i < first_late_; ++i)
      if (keeping_->results[i]) there_.insert(graph_.outputs()[i]);
    if (same.empty()) return;
    for (const Node* node : graph_.body()) {
      if (node == graph_.body().terminator()) break;
      if (ops::has(node, ops::Trait::Effect) || !node->regions().empty() || node->operands().empty())
        continue;
      auto fixed = [&](Value v) { return same.contains(v) || (v->node() && free_.contains(v->node())); };
      if (std::ranges::all_of(node->operands(), fixed))
        for (Value v : node->results()) same.insert(v), there_.insert(v);
    }
  }

  void choose(const std::vector<Value>& read) {
    find_there();
    ops::SavedQuestion question;
    std::unordered_set<Value> seen;
    for (Value v : read)
      if (!late_values_.contains(v) && seen.insert(v).second) question.needed.push_back(v);
    question.early = [](const Node*) { return true; };  // of what is known, which is all that is asked about
    question.there_anyway = [&](Value v) {
      return there_.contains(v) || (v->node() && ops::has(v->node(), ops::Trait::Constant));
    };
    computed_ = ops::choose_saved(graph_.dims, question).again;
  }

  void need(std::vector<Value> work) {
    std::reverse(work.begin(), work.end());
    while (!work.empty()) {
      Value value = work.back();
      work.pop_back();
      if (late_values_.contains(value) || !needed_.insert(value).second) continue;
      const Node* node = value->node();
      const bool anew = node && (free_.contains(node) || is_view_of_less(node) ||
                                 (computed_.contains(node) && !there_.contains(value)));
      if (!anew) {
        residuals_.push_back(value);
      } else if (again_.insert(node).second) {
        work.insert(work.end(), node->operands().rbegin(), node->operands().rend());
      }
    }
  }

  const Graph& graph_;
  const Mask& late_inputs_;
  size_t first_late_;
  const ops::Keeping* keeping_;
  int next_ = 0;
  ops::SplitRegion out_;
  std::unordered_map<Value, Value> known_, second_;
  std::unordered_map<Value, int> number_;
  std::unordered_set<Value> late_values_, needed_, there_;
  std::unordered_set<const Node*> free_, computed_, again_;
  std::vector<Value> residuals_;
};

}  // namespace

ops::SplitRegion partial_evaluate(Graph& graph, const Mask& late, size_t results,
                                  const ops::Keeping* keeping) {
  open_prepared(graph, late);
  return Cut(graph, late, results, keeping).run();
}

}  // namespace ig::transforms
