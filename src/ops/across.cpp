// Finding what lies across a walk, and the walk of folds over it.
#include "ops/across.h"

#include <algorithm>
#include <unordered_set>

#include "ops/attrs.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

constexpr int64_t kLeast = 4;  // elements along an axis that make it worth squares of registers

bool is_short(const Dim& size) { return size.is_constant() && size.constant() < kLeast; }

// One stage of folds of one number each over the same axes, of whose domain nothing leaves the kernel: the
// first of them.
const Node* folds_of_one_stage(const Block& region) {
  const Node* first = nullptr;
  std::unordered_set<const Node*> after;  // a fold
  for (const Node* node : region) {
    if (node == region.terminator()) continue;
    const bool behind = std::ranges::any_of(node->operands(), [&](Value v) {
      return v->node() && (is_fold(v->node()) || after.contains(v->node()));
    });
    if (behind) after.insert(node);
    if (!is_fold(node)) continue;
    if (behind || node->operands().size() != 1 || node->results().size() != 1 ||
        !op_of(node).rules.lower.reduce->simple)
      return nullptr;
    if (first == nullptr) first = node;
    if (node->attrs().get(kAxes) != first->attrs().get(kAxes) ||
        node->operand(0)->type().dims != first->operand(0)->type().dims)
      return nullptr;
  }
  if (first == nullptr) return nullptr;
  const Dims& domain = first->operand(0)->type().dims;
  const bool whole = std::ranges::any_of(region.results(), [&](Value v) { return v->type().dims == domain; });
  return whole ? nullptr : first;
}

}  // namespace

bool is_fold(const Node* node) { return has(node, Trait::Reduction) && !node->operands().empty(); }

int fold_lanes(DType accumulator) { return size_of(accumulator) == 8 ? 16 : 32; }

int ordered_lanes(const Node* fold) {
  const DType dtype = fold->operand(0)->type().dtype;
  return op_of(fold).rules.lower.reduce->rounds && !is_integer(dtype) ? fold_lanes(dtype) : 0;
}

const Node* first_fold(const Block& region) {
  for (const Node* node : region)
    if (is_fold(node)) return node;
  return nullptr;
}

std::optional<size_t> lies_across(const StridedView& view, const Dims& dims, size_t along) {
  const Dim one = int64_t{1}, none = int64_t{0}, back = int64_t{-1};
  auto beside = [&](size_t axis) { return view.strides[axis] == one || view.strides[axis] == back; };
  auto is_axis = [&](size_t axis) { return !dims[axis].is_constant() || dims[axis].constant() > 1; };
  if (!is_axis(along) || beside(along) || view.strides[along] == none) return std::nullopt;
  // Few elements are the colours of an image, which leave no gaps: side by side here, and there as well.
  auto worth = [&](size_t axis) {
    if (view.strides[axis] != one) return !is_short(dims[axis]) && !is_short(dims[along]);
    if (is_short(dims[axis])) return !is_short(dims[along]) && view.strides[along] == dims[axis];
    return !is_short(dims[along]) || axis + 1 == along;
  };
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (axis != along && is_axis(axis) && beside(axis) && worth(axis)) return axis;
  return std::nullopt;
}

Across find_across(const Block& region, const Dims& dims, size_t along) {
  Across out;
  auto consider = [&](Value v) {
    if (v->type().dims != dims || v->type().dtype == DType::Key || !read_at_own_element(v, true)) return;
    std::optional<StridedView> view = strided_view(v);
    std::optional<size_t> axis = view ? lies_across(*view, dims, along) : std::nullopt;
    if (!axis || (!out.operands.empty() && out.axis != *axis)) return;
    for (const Across::Operand& known : out.operands)
      if (known.value == v) return;
    out.axis = *axis;
    out.operands.push_back({v, *view});
  };
  for (Node* node : region) {
    if (has(node, Trait::View)) continue;  // what a view is made of is read through it
    for (Value v : node->operands()) consider(v);
  }
  for (Value v : region.results()) consider(v);
  return out;
}

std::optional<FoldWalk> fold_walk(const Block& region) {
  constexpr int64_t kFewPositions = 16;
  const Node* fold = folds_of_one_stage(region);
  if (fold == nullptr) return std::nullopt;
  const Ints& axes = fold->attrs().get(kAxes);
  const Dims& domain = fold->operand(0)->type().dims;
  if (domain.size() < 2 || is_short(domain.back())) return std::nullopt;
  auto folded = [&](size_t axis) {
    return std::ranges::find(axes, static_cast<int64_t>(axis)) != axes.end();
  };
  const size_t last = domain.size() - 1;
  Across across = find_across(region, domain, last);
  if (across.operands.empty() || is_short(domain[across.axis])) return std::nullopt;
  if (folded(across.axis))  // vectors along the last axis, where that stays
    return folded(last) || axes.size() != 1 ? std::nullopt
                                            : std::optional(FoldWalk{last, {}, std::move(across)});
  // Results of a walk along another axis than the last one they have are not stored by vectors.
  size_t last_kept = last;
  while (folded(last_kept)) --last_kept;
  Dim positions = int64_t{1};
  for (int64_t axis : axes) positions = positions * domain[static_cast<size_t>(axis)];
  if (across.axis != last_kept && positions.is_constant() && positions.constant() < kFewPositions)
    return std::nullopt;
  FoldWalk out{across.axis, across.operands, find_across(region, domain, across.axis)};
  const bool turns = axes.size() == 1 && out.turned.axis == static_cast<size_t>(axes[0]);
  return out.turned.operands.empty() || turns ? std::optional(std::move(out)) : std::nullopt;
}

bool short_rows_lie_across(const Block& region) {
  constexpr int64_t kLongestRow = 64;
  const Node* fold = folds_of_one_stage(region);
  if (fold == nullptr) return false;
  const Dims& domain = fold->operand(0)->type().dims;
  const size_t folded = fold->attrs().get(kAxes).size(), kept = domain.size() - folded;
  Dim columns = int64_t{1};
  for (size_t axis = kept; axis < domain.size(); ++axis) {
    if (fold->attrs().get(kAxes)[axis - kept] != static_cast<int64_t>(axis)) return false;
    columns = columns * domain[axis];
  }
  if (kept == 0 || !columns.is_constant() || columns.constant() < 1 || columns.constant() > kLongestRow)
    return false;
  for (const Node* node : region)
    if (const AttrValue* order =
            node == region.terminator() ? nullptr : node->attrs().find(kPermutation.name))
      if (node->result()->type().dims == domain &&
          std::get<Ints>(*order)[kept - 1] + 1 == static_cast<int64_t>(domain.size()))
        return true;
  return false;
}

}  // namespace ig::ops
