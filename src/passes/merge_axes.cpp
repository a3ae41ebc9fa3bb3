// Neighbouring axes of a kernel that stay together in all that it reads become one, where that shows.
//
// An element-wise kernel turns arrays over: [n, m, 3] seen as [m, 3, n] is a matrix of [n, 3 m] turned over,
// and only as that do its tiles hold whole lines of memory. A kernel folds over axes in front of the last
// one: the colours of [n, h, w, 3] are rows of three numbers, but a fold over n walks whole images.
//
// Two neighbouring axes are one if in all that the kernel reads a step along the first is as long as the
// whole of the second, and if it folds neither: what it folds stays as it is, and so does the order of the
// sums. Results are relabelled outside of the kernel, which moves nothing.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/across.h"
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
  std::vector<size_t> order;  // the value's axes along which it lies, as they stand in memory
};

// Whole arrays and numbers only: slices and reversals, and what the kernel itself puts together, are left.
std::optional<Leaf> leaf_of(Value value) {
  const Dims& dims = value->type().dims;
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
    const Node* fold = ops::first_fold(region_);
    dims_ = fold ? fold->operand(0)->type().dims : region_.results()[0]->type().dims;
    if (dims_.size() < 3 || std::ranges::find(dims_, kNone) != dims_.end()) return false;
    if (fold) folded_ = fold->attrs().get(ops::kAxes);
    for (size_t axis = 0; axis < dims_.size(); ++axis)
      if (!is_folded(axis)) kept_.push_back(axis);
    for (Value v : region_.results())
      if (!find_leaves(v)) return false;
    const bool turns = std::ranges::any_of(
        leaves_, [](const auto& leaf) { return !std::ranges::is_sorted(leaf.second.order); });
    const bool helps = fold ? !is_folded(dims_.size() - 1) : turns;
    if (!helps || !group()) return false;
    rebuild();
    return true;
  }
  const Dims& before() const { return dims_; }
  const Dims& after() const { return merged_; }

 private:
  bool is_folded(size_t axis) const {
    return std::ranges::find(folded_, static_cast<int64_t>(axis)) != folded_.end();
  }
  // The kernel's axes that an array has, all or those that no fold takes; none where it is of another shape.
  std::optional<std::vector<size_t>> axes_of(Value v) const {
    std::vector<size_t> all(dims_.size());
    std::iota(all.begin(), all.end(), 0);
    for (const std::vector<size_t>& axes : {all, kept_}) {
      Dims own;
      for (size_t axis : axes) own.push_back(dims_[axis]);
      if (v->type().dims == own) return axes;
    }
    return std::nullopt;
  }

  bool computed_here(Value v) const {
    const Node* node = v->node();
    if (!node || node->results().size() != 1 || node->operands().empty()) return false;
    if (ops::is_fold(node))
      return node->attrs().get(ops::kAxes) == folded_ && node->operand(0)->type().dims == dims_;
    return ops::has(node, ops::Trait::Elementwise);
  }
  // What was folded, where it is spread again over what it was folded from.
  Value spread_here(Value v) const {
    if (v->type().dims != dims_ || folded_.empty()) return nullptr;
    const std::optional<ops::StridedView> view = ops::strided_view(v, is_view);
    if (!view || view->arg == v || view->offset != kNone || !view->arg->node() || !axes_of(view->arg))
      return nullptr;
    Dim step = kOne;
    for (size_t axis = dims_.size(); axis-- > 0;) {
      if (view->strides[axis] != (is_folded(axis) ? kNone : step) && dims_[axis] != kOne) return nullptr;
      if (!is_folded(axis)) step = step * dims_[axis];
    }
    return view->arg;
  }

  bool find_leaves(Value first) {
    std::vector<Value> left = {first};
    while (!left.empty()) {
      Value v = left.back();
      left.pop_back();
      if (leaves_.contains(v) || computed_.contains(v)) continue;
      if (!axes_of(v)) return false;
      if (computed_here(v)) {
        computed_.insert(v);
        left.insert(left.end(), v->node()->operands().begin(), v->node()->operands().end());
      } else if (std::optional<Leaf> leaf = leaf_of(v)) {
        leaves_.emplace(v, std::move(*leaf));
      } else if (Value from = spread_here(v)) {
        computed_.insert(v);
        spread_[v] = from;
        left.push_back(from);
      } else {
        return false;
      }
    }
    return true;
  }

  // Into which merged axis each one goes; false where none goes with another.
  bool group() {
    constexpr size_t kNobody = ~size_t{0};
    size_t last = kNobody;  // of the merged axis: of those that have more than one element
    bool any = false;
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      const bool one = dims_[axis] == kOne;
      const bool apart = axis == 0 || is_folded(axis) || is_folded(axis - 1);
      const bool together = !apart && (one || last == kNobody || lie_together(last, axis));
      any = any || (together && !one && last != kNobody);
      if (together)
        merged_.back() = merged_.back() * dims_[axis];
      else
        merged_.push_back(dims_[axis]), last = kNobody;
      group_.push_back(merged_.size() - 1);
      if (!one) last = axis;
    }
    return any;
  }
  bool lie_together(size_t first, size_t then) const {
    return std::ranges::all_of(leaves_, [&](const auto& leaf) {
      const std::vector<size_t> axes = *axes_of(leaf.first);
      auto stride = [&](size_t axis) {
        return leaf.second.view.strides[static_cast<size_t>(std::ranges::find(axes, axis) - axes.begin())];
      };
      return stride(first) == stride(then) * dims_[then];
    });
  }

  // The merged axes of an array that has these, and its shape.
  std::vector<size_t> groups_of(const std::vector<size_t>& axes) const {
    std::vector<size_t> groups;
    for (size_t axis : axes)
      if (groups.empty() || groups.back() != group_[axis]) groups.push_back(group_[axis]);
    return groups;
  }
  Dims shape_of(const std::vector<size_t>& groups) const {
    Dims shape;
    for (size_t g : groups) shape.push_back(merged_[g]);
    return shape;
  }

  // The leaf as an array of the merged shape.
  Value look(ops::Builder& build, Value at, const Leaf& leaf, Value arg) const {
    const std::vector<size_t> axes = *axes_of(at), own = groups_of(axes);
    std::vector<size_t> order;
    for (size_t place : leaf.order) order.push_back(axes[place]);
    const std::vector<size_t> groups = groups_of(order);  // as they stand in memory
    Ints permutation(groups.size()), places;
    std::iota(permutation.begin(), permutation.end(), 0);
    std::ranges::sort(permutation, {}, [&](int64_t i) { return groups[static_cast<size_t>(i)]; });
    for (int64_t i : permutation)
      places.push_back(std::ranges::find(own, groups[static_cast<size_t>(i)]) - own.begin());
    return build.broadcast(build.transpose(build.reshape(arg, shape_of(groups)), permutation), shape_of(own),
                           places);
  }
  Value spread(ops::Builder& build, Value folded) const {
    Ints places;
    for (size_t g : groups_of(kept_)) places.push_back(static_cast<int64_t>(g));
    return build.broadcast(folded, merged_, places);
  }
  // A fold is over the same axes, which have other numbers.
  Attrs attrs_of(const Node* node) const {
    Attrs attrs = node->attrs();
    if (!ops::is_fold(node)) return attrs;
    Ints axes;
    for (int64_t axis : folded_) axes.push_back(static_cast<int64_t>(group_[static_cast<size_t>(axis)]));
    attrs.set(std::string(ops::kAxes.name), std::move(axes));
    return attrs;
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
        merged[v] = look(build, v, leaf->second, as_it_is(leaf->second.view.arg));
        name(merged[v], v);
      }
      return merged.at(v);
    };
    for (const Node* node : region_) {
      if (is_terminator(node) || node->results().size() != 1 || !computed_.contains(node->result())) continue;
      Value& made = merged[node->result()];
      build.at(node);
      if (auto from = spread_.find(node->result()); from != spread_.end()) {
        made = spread(build, is(from->second));
      } else {
        std::vector<Value> own;
        for (Value v : node->operands()) own.push_back(is(v));
        build.at(node);
        made = build.node(ops::op_of(node), own, attrs_of(node))->result();
      }
      name(made, node->result());
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
      as_before->body().set_results({relabel.reshape(lies, kernel_->result(i)->type().dims)});
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
  Ints folded_;               // axes; none where the kernel folds nothing
  std::vector<size_t> kept_;  // the others
  std::vector<size_t> group_;
  std::unordered_map<Value, Leaf> leaves_;
  std::unordered_set<Value> computed_;
  std::unordered_map<Value, Value> spread_;
};

// Kernels of one walk over all axes: of elements, or of folds over axes in front of the last one, in one
// stage or in several.
bool has_such_axes(std::string_view kind) { return kind == "loop" || kind == "column" || kind == "panel"; }

}  // namespace

void merge_axes(Graph& graph, Context& context) {
  std::vector<Node*> kernels;
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block)
      if (is_kernel(node) && has_such_axes(kind_of_kernel(node))) kernels.push_back(node);
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
