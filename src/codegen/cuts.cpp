// Where walks are cut; see cuts.h.
#include "codegen/cuts.h"

#include <algorithm>
#include <functional>

#include "ops/contraction.h"
#include "ops/window_attrs.h"

namespace ig::codegen {
namespace {

// The columns of the walk at which no window of the kernel reaches over the ends of the last axis: there
// nothing is clamped, and the elements of a window lie at fixed distances.
struct InnerColumns {
  int64_t begin = 0, end = 0;
};

InnerColumns inner_columns(const Block& region, const Dims& dims) {
  const auto last = static_cast<int64_t>(dims.size()) - 1;
  InnerColumns out{0, dims.back().constant()};
  auto narrow = [&](const Dim& size, int64_t window, int64_t dilation, int64_t stride, int64_t low) {
    if (!size.is_constant() || window < 1) return;
    int64_t room = size.constant() + low - (window - 1) * dilation - 1;  // of the last window that fits
    out.begin = std::max(out.begin, low > 0 ? (low + stride - 1) / stride : 0);
    out.end = std::min(out.end, room < 0 ? 0 : room / stride + 1);
  };
  for (const Node* node : region) {
    if (node->operands().empty() || node->results().empty() || node->result()->type().dims != dims) continue;
    const Dims& from = node->operand(0)->type().dims;
    if (node->attrs().find(ops::kWindow.name)) {
      ops::WindowDims d(node->attrs(), static_cast<int>(from.size()), node->op().name());
      narrow(from.back(), d.window.back(), d.dilations.back(), d.strides.back(), d.low.back());
    } else if (node->attrs().find(ops::kConvLayout.name)) {
      ops::ConvDims d(node->attrs());
      const Dims& weights = node->operand(1)->type().dims;
      for (size_t s = 0; s < d.out_space.size(); ++s) {
        const Dim& taps = weights[static_cast<size_t>(d.rhs_space[s])];
        if (d.out_space[s] == last && d.lhs_dilation[s] == 1 && taps.is_constant())
          narrow(from[static_cast<size_t>(d.lhs_space[s])], taps.constant(), d.rhs_dilation[s], d.strides[s],
                 d.low[s]);
      }
    }
  }
  return out;
}

// Where comparisons of the column turn, found in a draft of the code for these values at these indices of it.
using IndicesOf = std::function<std::vector<GroupEmitter::Index>(GroupEmitter& draft, loop::Expr column)>;
std::vector<int64_t> turns_of_columns(const GroupEmitter& emit, const Dim& columns,
                                      std::span<const Value> values, const IndicesOf& indices) {
  GroupEmitter draft(emit.fusion, emit.target, emit.relaxed);
  loop::Builder& build = draft.build;
  for (const Node* node : draft.region)  // one value a row: where it comes from does not matter
    if (node != draft.region.terminator() && ops::op_of(node).has(ops::Trait::Reduction))
      for (Value v : node->results())
        draft.pin(v, [zero = build.constant(compute_type(v->type().dtype), 0)](auto) { return zero; });
  uint32_t variable = 0;
  draft.vector(build.index(0), draft.size(columns), 1, [&](loop::Expr column) {
    variable = column->id;
    for (GroupEmitter::Index& index : indices(draft, column))
      for (Value v : values) {
        index.resize(v->type().dims.size(), build.index(0));  // last axes of one element, which none walks
        build.let(draft.element(v, index));
      }
  });
  return loop::turns_of_comparisons(build.function(), variable);
}

// A column is an element of the last axis, or of so many axes walked as one.
std::vector<int64_t> turns_of_last(const GroupEmitter& emit, const Dims& dims, int axes,
                                   std::span<const Value> values) {
  const Dims columns(dims.end() - axes, dims.end()), outer(dims.begin(), dims.end() - axes);
  return turns_of_columns(emit, product(columns), values, [&](GroupEmitter& draft, loop::Expr column) {
    GroupEmitter::Index index = draft.split(draft.build.block(), outer);
    for (loop::Expr e : draft.split(column, columns)) index.push_back(e);
    return std::vector<GroupEmitter::Index>{index};
  });
}

// What a kernel computes for all elements of what it folds.
std::vector<Value> values_of_folds(const Block& region, const Dims& domain) {
  std::vector<Value> values;
  auto add = [&](Value v) {
    if (v->type().dims == domain) values.push_back(v);
  };
  for (Value v : region.results()) add(v);
  for (const Node* node : region)
    if (node != region.terminator() && ops::op_of(node).has(ops::Trait::Reduction))
      std::ranges::for_each(node->operands(), add);
  return values;
}

constexpr size_t kMostParts = 16;  // each part of a walk is a loop of its own

// From the first column to their number, each once; none where there would be too many parts.
std::vector<int64_t> in_order(std::vector<int64_t> cuts, int64_t columns) {
  for (int64_t& at : cuts) at = std::clamp<int64_t>(at, 0, columns);
  cuts.insert(cuts.end(), {0, columns});
  std::ranges::sort(cuts);
  const auto same = std::ranges::unique(cuts);
  cuts.erase(same.begin(), same.end());
  return cuts.size() - 1 <= kMostParts ? cuts : std::vector<int64_t>();
}

std::vector<int64_t> if_several(std::vector<int64_t> turns, const Dim& columns) {
  const std::vector<int64_t> cuts = in_order(std::move(turns), columns.constant());
  return cuts.size() > 2 ? cuts : std::vector<int64_t>();
}

}  // namespace

bool any_turns(const Block& region) {
  for (const Node* node : region)
    if (node != region.terminator() && ops::op_of(node).rules.lower.cuts != nullptr) return true;
  return false;
}

std::vector<int64_t> cuts_of(const GroupEmitter& emit, const Dims& dims, bool windows) {
  if (dims.empty() || !dims.back().is_constant()) return {};
  const Block& region = emit.region;
  const int64_t columns = dims.back().constant();
  constexpr int64_t kLeastDrafted = 32;  // columns that are worth a draft
  // Ops that others shift (slices, or one another) turn at other columns than their own, which a draft tells.
  std::vector<int64_t> cuts;
  int turning = 0;
  bool shifted = false;
  for (const Node* node : region) {
    if (node == region.terminator() || node->results().empty()) continue;
    const ops::CutsFn own = ops::op_of(node).rules.lower.cuts;
    const std::vector<int64_t> turns = own ? own(node) : std::vector<int64_t>();
    if (turns.empty()) continue;
    shifted |= ++turning > 1 || node->result()->type().dims != dims;
    if (node->result()->type().dims == dims) cuts.insert(cuts.end(), turns.begin(), turns.end());
  }
  if (shifted && columns >= kLeastDrafted) cuts = turns_of_last(emit, dims, 1, region.results());
  if (const InnerColumns inner = windows ? inner_columns(region, dims) : InnerColumns();
      inner.begin < inner.end)
    cuts.insert(cuts.end(), {inner.begin, inner.end});
  if (cuts.empty()) return {};
  cuts = in_order(std::move(cuts), columns);
  return cuts.size() > 2 || windows ? cuts : std::vector<int64_t>();
}

std::vector<int64_t> cuts_of_joined(const GroupEmitter& emit, const Dims& dims, int axes) {
  const Dim columns = product(Dims(dims.end() - axes, dims.end()));
  if (!columns.is_constant() || !any_turns(emit.region)) return {};
  return if_several(turns_of_last(emit, dims, axes, emit.region.results()), columns);
}

std::vector<int64_t> cuts_of_folds(const GroupEmitter& emit, const Dims& domain, int axes) {
  const Dim columns = product(Dims(domain.end() - axes, domain.end()));
  if (!columns.is_constant() || !any_turns(emit.region)) return {};
  return if_several(turns_of_last(emit, domain, axes, values_of_folds(emit.region, domain)), columns);
}

std::vector<int64_t> cuts_of_rows(const GroupEmitter& emit, const Dims& kept, const Dims& folded) {
  if (!kept.back().is_constant() || !any_turns(emit.region)) return {};
  Dims domain = kept;
  domain.insert(domain.end(), folded.begin(), folded.end());
  const std::vector<Value> values = values_of_folds(emit.region, domain);
  const Dims outer(kept.begin(), kept.end() - 1);
  auto indices = [&](GroupEmitter& draft, loop::Expr row) {
    GroupEmitter::Index of_row = draft.split(draft.build.block(), outer);
    of_row.push_back(row);
    std::vector<GroupEmitter::Index> out;
    for (int64_t c = 0; c < product(folded).constant(); ++c) {
      out.push_back(of_row);
      for (loop::Expr e : draft.split(draft.build.index(c), folded)) out.back().push_back(e);
    }
    return out;
  };
  return if_several(turns_of_columns(emit, kept.back(), values, indices), kept.back());
}

std::vector<int64_t> cuts_of_outer(const GroupEmitter& emit, const Dims& dims, int axes) {
  constexpr size_t kMost = 6;  // times the code of a row
  const Dims outer(dims.begin(), dims.end() - axes), row(dims.end() - axes, dims.end());
  const Dim rows = product(outer);
  if (!rows.is_constant() || rows.constant() < 2 || !any_turns(emit.region) ||
      elements_are_dear(emit.region, dims))
    return {};
  auto indices = [&](GroupEmitter& draft, loop::Expr at) {
    GroupEmitter::Index index = draft.split(at, outer);
    for (loop::Expr e : draft.split(draft.build.block(), row)) index.push_back(e);
    return std::vector<GroupEmitter::Index>{index};
  };
  std::vector<int64_t> cuts = if_several(turns_of_columns(emit, rows, emit.region.results(), indices), rows);
  if (cuts.size() > kMost + 1) cuts.clear();
  return cuts;
}

}  // namespace ig::codegen
