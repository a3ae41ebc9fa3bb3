// Which folds over axes in the middle are kernels that walk panels: all that some neighbouring columns fold,
// out of the second cache, as often as there are stages (see fusion_groups.h).
#include <algorithm>
#include <unordered_set>

#include "ops/attrs.h"
#include "ops/memory.h"
#include "passes/fusion_groups.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

// Whether a kernel that folds these axes can walk all it folds several times, out of the second cache: they
// are next to each other in front of columns enough for vectors, of which some fit there, and a column is one
// piece of the order of summation.
bool walks_panels(const Type& type, const Ints& axes) {
  constexpr int64_t kPanelBytes = 128 << 10, kLeastColumns = 32, kShortRow = 16;
  if (axes.empty() || axes.back() - axes.front() + 1 != static_cast<int64_t>(axes.size())) return false;
  int64_t positions = 1, columns = 1;
  for (size_t i = static_cast<size_t>(axes.front()); i < type.dims.size(); ++i) {
    if (!type.dims[i].is_constant()) return false;
    (static_cast<int64_t>(i) <= axes.back() ? positions : columns) *= type.dims[i].constant();
  }
  return positions > 0 && positions <= ops::kPieceOfColumn && columns >= kShortRow &&
         positions * kLeastColumns * static_cast<int64_t>(size_of(type.dtype)) <= kPanelBytes;
}

// Whether what is computed for each element, before the fold or of its result, is dear and read more than
// once.
bool has_dear_work(const Node* fold) {
  constexpr size_t kMost = 32;  // nodes that are looked at
  const Dims& domain = fold->operand(0)->type().dims;
  std::vector<const Node*> queue{fold};
  std::unordered_set<const Node*> seen{fold};
  auto look_at = [&](const Node* node) {
    if (node && node->block() == fold->block() && queue.size() < kMost && seen.insert(node).second)
      queue.push_back(node);
  };
  for (size_t i = 0; i < queue.size(); ++i) {
    const Node* node = queue[i];
    const bool full = ops::has(node, ops::Trait::Elementwise) && node->result(0)->type().dims == domain;
    if (full && !ops::has(node, ops::Trait::Cheap) && node->result(0)->uses().size() > 1) return true;
    if (full || node == fold)
      for (Value v : node->operands())
        if (v->type().dims == domain) look_at(v->node());
    if (!is_terminator(node))
      for (Value v : node->results())
        for (const Use& use : v->uses()) look_at(use.user);
  }
  return false;
}

}  // namespace

// Columns of many rows are short pieces of them, which memory sends slower than whole rows and no store
// passes the caches by. Of an array that the last cache does not hold with its result, they must save more
// than one more reading of it. Panels of whole rows lie in one piece.
bool Grouping::pays_as_panels(const Node* fold) const {
  constexpr int64_t kPiece = 1 << 20, kFewPanels = 4;  // bytes, and how many
  const Type& type = fold->operand(0)->type();
  const Ints& axes = fold->attrs().get(ops::kAxes);
  if (!walks_panels(type, axes)) return false;
  int64_t panels = 1, bytes = static_cast<int64_t>(size_of(type.dtype));
  for (size_t i = 0; i < type.dims.size(); ++i)
    (static_cast<int64_t>(i) < axes.front() ? panels : bytes) *= type.dims[i].constant();
  if (panels >= kFewPanels && bytes <= kPiece) return true;
  return 2 * panels * bytes < static_cast<int64_t>(machine_.last / 8 * 7) || has_dear_work(fold);
}

// What was to be walked several times, and came to one stage of folds.
void Grouping::settle_panels() {
  for (const auto& group : groups_) {
    if (group->kind != GroupKind::Panel) continue;
    auto own = [&](const Node* node) { return node && group_of(node) == group.get(); };
    const bool again = std::ranges::any_of(group->nodes, [&](const Node* node) {
      if (node->result(0)->type().dims != group->domain) return false;
      return std::ranges::any_of(node->operands(),
                                 [&](Value v) { return own(v->node()) && v->type().dims == group->kept; }) ||
             std::ranges::any_of(node->result(0)->uses(), [&](const Use& use) { return !own(use.user); });
    });
    if (!again) group->kind = GroupKind::Column;
  }
}

}  // namespace ig::passes
