// Axes that stay together where an element-wise kernel turns arrays over become one: [n, m, 3] seen as
// [m, 3, n] is a matrix of [n, 3 m] turned over, and only as that do its tiles hold whole lines of memory.
// Two neighbouring axes are one if in all that the kernel reads a step along the first is as long as the
// whole of the second. Results are relabelled outside of the kernel, which moves nothing.
#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/strided_view.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

const Dim kOne = Dim(int64_t{1}), kNone = Dim(int64_t{0});

// What a kernel reads at each of its elements: a whole array through views, some axes of it spread.
struct Leaf {
  ops::StridedView view;
  std::vector<size_t> order;  // the kernel's axes along which it lies, as they stand in memory
};

// Whole arrays and numbers only: slices and reversals, and what the kernel itself puts together, are left.
std::optional<Leaf> leaf_of(Value value, const Dims& dims) {
  std::optional<ops::StridedView> view = ops::strided_view(value, is_view);
  if (!view || view->offset != kNone) return std::nullopt;
  const Type& from = view->arg->type();
  if (from.rank() > 0 && view->arg->node() != nullptr) return std::nullopt;
  Leaf leaf{*view, {}};
  std::vector<size_t> read;  // and not yet in order
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (dims[axis] != kOne && view->strides[axis] != kNone) read.push_back(axis);
  Dim size = kOne;  // of what lies behind
  while (!read.empty()) {
    const auto next = std::ranges::find(read, size, [&](size_t axis) { return view->strides[axis]; });
    if (next == read.end()) return std::nullopt;
    leaf.order.insert(leaf.order.begin(), *next);
    size = size * dims[*next];
    read.erase(next);
  }
  return size == product(from.dims) ? std::optional(std::move(leaf)) : std::nullopt;
}

class Merging {
 public:
  explicit Merging(Node* kernel) : kernel_(kernel), region_(kernel->region(0)) {}

  bool run() {
    if (region_.results().empty()) return false;
    dims_ = region_.results()[0]->type().dims;
    if (dims_.size() < 3 || std::ranges::find(dims_, kNone) != dims_.end()) return false;
    for (Value v : region_.results())
      if (v->type().dims != dims_ || !find_leaves(v)) return false;
    const bool turns = std::ranges::any_of(
        leaves_, [](const auto& leaf) { return !std::ranges::is_sorted(leaf.second.order); });
    if (!turns || !group()) return false;
    rebuild();
    return true;
  }
  const Dims& before() const { return dims_; }
  const Dims& after() const { return merged_; }

 private:
  bool computed_here(Value v) const {
    return v->node() && ops::has(v->node(), ops::Trait::Elementwise) && v->type().dims == dims_ &&
           v->node()->results().size() == 1 && !v->node()->operands().empty();
  }

  bool find_leaves(Value first) {
    std::vector<Value> left = {first};
    while (!left.empty()) {
      Value v = left.back();
      left.pop_back();
      if (leaves_.contains(v) || computed_.contains(v)) continue;
      if (computed_here(v)) {
        computed_.insert(v);
        left.insert(left.end(), v->node()->operands().begin(), v->node()->operands().end());
        continue;
      }
      std::optional<Leaf> leaf = v->type().dims == dims_ ? leaf_of(v, dims_) : std::nullopt;
      if (!leaf) return false;
      leaves_.emplace(v, std::move(*leaf));
    }
    return true;
  }

  // Into which merged axis each one goes; false where none goes with another.
  bool group() {
    size_t last = dims_.size();  // of those that have more than one element
    bool any = false;
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      const bool one = dims_[axis] == kOne;
      const bool together = !merged_.empty() && (one || last == dims_.size() ||
                                                 std::ranges::all_of(leaves_, [&](const auto& leaf) {
                                                   const Dims& strides = leaf.second.view.strides;
                                                   return strides[last] == strides[axis] * dims_[axis];
                                                 }));
      any = any || (together && !one && last != dims_.size());
      if (together)
        merged_.back() = merged_.back() * dims_[axis];
      else
        merged_.push_back(dims_[axis]);
      group_.push_back(merged_.size() - 1);
      if (!one) last = axis;
    }
    return any;
  }

  // The leaf as an array of the merged shape.
  Value look(ops::Builder& build, const Leaf& leaf, Value arg) const {
    std::vector<size_t> groups;  // as they stand in memory
    for (size_t axis : leaf.order)
      if (groups.empty() || groups.back() != group_[axis]) groups.push_back(group_[axis]);
    Dims lies;
    for (size_t g : groups) lies.push_back(merged_[g]);
    Ints permutation(groups.size()), axes;
    std::iota(permutation.begin(), permutation.end(), 0);
    std::ranges::sort(permutation, {}, [&](int64_t i) { return groups[static_cast<size_t>(i)]; });
    for (int64_t i : permutation) axes.push_back(static_cast<int64_t>(groups[static_cast<size_t>(i)]));
    return build.broadcast(build.transpose(build.reshape(arg, lies), permutation), merged_, axes);
  }

  static void name(Value made, Value of) {
    if (made->name().empty()) made->set_name(of->name());
  }

  void rebuild() {
    std::unique_ptr<Graph> inner = kernel_graph(kernel_->graph());
    ops::Builder build(inner->body());
    std::unordered_map<Value, Value> read, merged;  // inside: what views read, and all of the merged shape
    for (Value arg : region_.args()) read[arg] = inner->body().add_arg(arg->type(), arg->name());
    std::function<Value(Value)> as_it_is = [&](Value v) {
      if (auto it = read.find(v); it != read.end()) return it->second;
      std::vector<Value> own;
      for (Value operand : v->node()->operands()) own.push_back(as_it_is(operand));
      return read[v] = copy_node(v->node(), inner->body(), std::move(own))->result();
    };
    auto is = [&](Value v) {
      if (auto leaf = leaves_.find(v); leaf != leaves_.end() && !merged.contains(v)) {
        build.at(v->node() ? v->node() : kernel_);
        merged[v] = look(build, leaf->second, as_it_is(leaf->second.view.arg));
        name(merged[v], v);
      }
      return merged.at(v);
    };
    for (const Node* node : region_) {
      if (is_terminator(node) || node->results().size() != 1 || !computed_.contains(node->result())) continue;
      std::vector<Value> own;
      for (Value v : node->operands()) own.push_back(is(v));
      build.at(node);
      merged[node->result()] = build.node(ops::op_of(node), own, node->attrs())->result();
      name(merged[node->result()], node->result());
    }
    std::vector<Value> results;
    for (Value v : region_.results()) results.push_back(is(v));
    inner->body().set_results(results);
    const auto operands = kernel_->operands();
    Node* made = add_kernel(kernel_, std::string(kind_of_kernel(kernel_)), {operands.begin(), operands.end()},
                            std::move(inner), kernel_);
    for (size_t i = 0; i < results.size(); ++i) {
      std::unique_ptr<Graph> as_before = kernel_graph(kernel_->graph());
      ops::Builder relabel(as_before->body());
      relabel.at(kernel_);
      Value lies = as_before->body().add_arg(made->result(i)->type());
      as_before->body().set_results({relabel.reshape(lies, dims_)});
      Node* seen = add_kernel(kernel_, "relabel", {made->result(i)}, std::move(as_before), kernel_);
      name(made->result(i), kernel_->result(i));
      name(seen->result(), kernel_->result(i));
      kernel_->result(i)->replace_all_uses_with(seen->result());
    }
    kernel_->graph().erase(kernel_);
  }

  Node* kernel_;
  const Block& region_;
  Dims dims_, merged_;
  std::vector<size_t> group_;
  std::unordered_map<Value, Leaf> leaves_;
  std::unordered_set<Value> computed_;
};

}  // namespace

void merge_axes(Graph& graph, Context& context) {
  std::vector<Node*> kernels;
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block)
      if (is_kernel(node) && kind_of_kernel(node) == "loop") kernels.push_back(node);
  });
  for (Node* kernel : kernels) {
    const std::string told = told_of(kernel->region(0).terminator()->previous());
    Merging merging(kernel);
    if (merging.run())
      context.changed(
          fmt::format("{} as {} in the kernel of {}", str(merging.before()), str(merging.after()), told));
  }
}

}  // namespace ig::passes
