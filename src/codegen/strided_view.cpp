// Views composed into one stride an axis.
#include "codegen/strided_view.h"

#include <unordered_set>

#include "ops/attrs.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::codegen {
namespace {

const Dim kOne = Dim(int64_t{1});

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), kOne);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

bool is_row_major(const StridedView& view, const Dims& dims) {
  Dims plain = row_major(dims);
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != kOne && view.strides[i] != plain[i]) return false;
  return true;
}

}  // namespace

std::optional<Dim> StridedView::run_stride(const std::vector<int64_t>& axes, const Dims& dims) const {
  std::optional<Dim> stride, whole;  // of the fastest axis; of the next axis, if it lies behind
  for (size_t i = axes.size(); i-- > 0;) {
    auto axis = static_cast<size_t>(axes[i]);
    if (dims[axis] == kOne) continue;
    if (!stride)
      stride = strides[axis];
    else if (strides[axis] != *whole)
      return std::nullopt;
    whole = strides[axis] * dims[axis];
  }
  return stride ? stride : kOne;
}

std::optional<StridedView> strided_view(Value value) {
  const Node* node = value->node();
  if (node == nullptr) return StridedView{value, int64_t{0}, row_major(value->type().dims)};
  if (!ops::has(node, ops::Trait::View) || node->operands().size() != 1) return std::nullopt;
  std::optional<StridedView> below = strided_view(node->operand(0));
  if (!below) return std::nullopt;
  const Dims& from = node->operand(0)->type().dims;
  const Dims& dims = value->type().dims;
  StridedView out{below->arg, below->offset, Dims(dims.size(), int64_t{0})};
  if (ops::has(node, ops::Trait::Relabel)) {
    if (!is_row_major(*below, from)) return std::nullopt;
    out.strides = row_major(dims);
    return out;
  }
  if (node->attrs().find(ops::kPermutation.name)) {
    const Ints& permutation = node->attrs().get(ops::kPermutation);
    for (size_t i = 0; i < dims.size(); ++i)
      out.strides[i] = below->strides[static_cast<size_t>(permutation[i])];
    return out;
  }
  if (node->attrs().find(ops::kReversed.name)) {
    out.strides = below->strides;
    for (int64_t axis : node->attrs().get(ops::kReversed)) {
      auto i = static_cast<size_t>(axis);
      out.offset = out.offset + (dims[i] - kOne) * below->strides[i];
      out.strides[i] = below->strides[i] * Dim(int64_t{-1});
    }
    return out;
  }
  if (node->attrs().find(ops::kBroadcastDims.name)) {
    const Ints& map = node->attrs().get(ops::kBroadcastDims);
    for (size_t i = 0; i < map.size(); ++i)
      if (from[i] != kOne) out.strides[static_cast<size_t>(map[i])] = below->strides[i];
    return out;
  }
  if (node->attrs().find(ops::kStart.name) && node->attrs().find(ops::kLimit.name) &&
      node->attrs().find(ops::kSliceStrides.name)) {
    const Dims& start = node->attrs().get(ops::kStart);
    const Ints& steps = node->attrs().get(ops::kSliceStrides);
    for (size_t i = 0; i < dims.size(); ++i) {
      out.offset = out.offset + start[i] * below->strides[i];
      out.strides[i] = below->strides[i] * Dim(steps[i]);
    }
    return out;
  }
  return std::nullopt;
}

bool read_at_own_element(Value arg, bool folds) {
  std::vector<Value> left = {arg};
  std::unordered_set<Value> seen = {arg};
  while (!left.empty()) {
    Value value = left.back();
    left.pop_back();
    for (const Use& use : value->uses()) {
      Node* user = use.user;
      if (user == user->block()->terminator() || (folds && ops::has(user, ops::Trait::Reduction))) continue;
      if (!ops::has(user, ops::Trait::Elementwise) || user->result()->type().dims != arg->type().dims)
        return false;
      if (seen.insert(user->result()).second) left.push_back(user->result());
    }
  }
  return true;
}

}  // namespace ig::codegen
