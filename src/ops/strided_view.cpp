// Views composed into one stride an axis.
#include "ops/strided_view.h"

#include <algorithm>
#include <unordered_set>

#include "ops/attrs.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

const Dim kOne = Dim(int64_t{1});

// The stride of pieces walked as one; nullopt where they do not lie like that.
std::optional<Dim> stride_of(const Pieces& pieces) {
  std::optional<Dim> stride, whole;  // of the fastest piece; of the next one, if it lies behind
  for (size_t i = pieces.size(); i-- > 0;) {
    if (pieces[i].size == kOne) continue;
    if (!stride)
      stride = pieces[i].stride;
    else if (pieces[i].stride != *whole)
      return std::nullopt;
    whole = pieces[i].stride * pieces[i].size;
  }
  return stride ? stride : kOne;
}

std::vector<Pieces> row_major(const Dims& dims) {
  std::vector<Pieces> axes(dims.size());
  Dim stride = kOne;
  for (size_t i = dims.size(); i-- > 0;) {
    axes[i] = {{dims[i], stride}};
    stride = stride * dims[i];
  }
  return axes;
}

bool is_empty(const Dims& dims) { return std::find(dims.begin(), dims.end(), Dim(int64_t{0})) != dims.end(); }

// The same elements in the same order, as axes of other sizes: pieces are shared out among them, and cut
// where an axis ends inside of one.
std::optional<std::vector<Pieces>> relabelled(const PiecedView& view, const Dims& from, const Dims& dims) {
  Pieces all;
  for (const Pieces& axis : view.axes)
    for (const Piece& piece : axis)
      if (piece.size != kOne) all.push_back(piece);
  if (is_empty(from) || stride_of(all) == kOne) return row_major(dims);
  std::vector<Pieces> axes(dims.size());
  size_t next = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    for (Dim taken = kOne; taken != dims[i]; ++next) {
      if (next == all.size()) return std::nullopt;
      Piece& piece = all[next];
      Dim with = taken * piece.size;
      if (with.is_constant() && dims[i].is_constant() && with.constant() > dims[i].constant()) {
        const int64_t need = dims[i].constant() / taken.constant(), size = piece.size.constant();
        if (dims[i].constant() % taken.constant() != 0 || size % need != 0) return std::nullopt;
        axes[i].push_back({Dim(need), piece.stride * Dim(size / need)});
        piece.size = Dim(size / need);
        break;
      }
      axes[i].push_back(piece);
      taken = with;
    }
  }
  return next == all.size() ? std::optional(axes) : std::nullopt;
}

}  // namespace

std::optional<PiecedView> pieced_view(Value value, const Inside& inside) {
  const Node* node = value->node();
  const Dims& dims = value->type().dims;
  if (node == nullptr || (inside && !inside(node))) return PiecedView{value, int64_t{0}, row_major(dims)};
  if (!has(node, Trait::View) || node->operands().size() != 1) return std::nullopt;
  std::optional<PiecedView> below = pieced_view(node->operand(0), inside);
  if (!below) return std::nullopt;
  const Dims& from = node->operand(0)->type().dims;
  PiecedView out{below->arg, below->offset, {}};
  if (has(node, Trait::Relabel)) {
    auto axes = relabelled(*below, from, dims);
    if (!axes) return std::nullopt;
    out.axes = *axes;
    return out;
  }
  if (node->attrs().find(kPermutation.name)) {
    for (int64_t axis : node->attrs().get(kPermutation))
      out.axes.push_back(below->axes[static_cast<size_t>(axis)]);
    return out;
  }
  if (node->attrs().find(kReversed.name)) {
    out.axes = below->axes;
    for (int64_t axis : node->attrs().get(kReversed))
      for (Piece& piece : out.axes[static_cast<size_t>(axis)]) {
        out.offset = out.offset + (piece.size - kOne) * piece.stride;
        piece.stride = piece.stride * Dim(int64_t{-1});
      }
    return out;
  }
  if (node->attrs().find(kBroadcastDims.name)) {
    for (const Dim& dim : dims) out.axes.push_back({{dim, int64_t{0}}});
    const Ints& map = node->attrs().get(kBroadcastDims);
    for (size_t i = 0; i < map.size(); ++i)
      if (from[i] != kOne) out.axes[static_cast<size_t>(map[i])] = below->axes[i];
    return out;
  }
  if (node->attrs().find(kStart.name) && node->attrs().find(kLimit.name) &&
      node->attrs().find(kSliceStrides.name)) {
    const Dims& start = node->attrs().get(kStart);
    const Ints& steps = node->attrs().get(kSliceStrides);
    for (size_t i = 0; i < dims.size(); ++i) {
      Pieces pieces = below->axes[i];
      if (dims[i] != from[i]) {
        std::optional<Dim> stride = stride_of(pieces);
        if (!stride) return std::nullopt;
        out.offset = out.offset + start[i] * *stride;
        pieces = {{dims[i], *stride * Dim(steps[i])}};
      }
      out.axes.push_back(std::move(pieces));
    }
    return out;
  }
  return std::nullopt;
}

std::optional<Dim> StridedView::run_stride(const std::vector<int64_t>& axes, const Dims& dims) const {
  Pieces pieces;
  for (int64_t axis : axes) {
    auto i = static_cast<size_t>(axis);
    pieces.push_back({dims[i], strides[i]});
  }
  return stride_of(pieces);
}

std::optional<StridedView> strided_view(Value value, const Inside& inside) {
  std::optional<PiecedView> view = pieced_view(value, inside);
  if (!view) return std::nullopt;
  StridedView out{view->arg, view->offset, {}};
  for (const Pieces& axis : view->axes) {
    std::optional<Dim> stride = axis.size() == 1 ? axis[0].stride : stride_of(axis);
    if (!stride) return std::nullopt;
    out.strides.push_back(*stride);
  }
  return out;
}

bool read_at_own_element(Value arg, bool folds) {
  std::vector<Value> left = {arg};
  std::unordered_set<Value> seen = {arg};
  while (!left.empty()) {
    Value value = left.back();
    left.pop_back();
    for (const Use& use : value->uses()) {
      Node* user = use.user;
      if (user == user->block()->terminator() || (folds && has(user, Trait::Reduction))) continue;
      if (!has(user, Trait::Elementwise) || user->result()->type().dims != arg->type().dims) return false;
      if (seen.insert(user->result()).second) left.push_back(user->result());
    }
  }
  return true;
}

}  // namespace ig::ops
