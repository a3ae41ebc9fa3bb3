// Merging axes of contiguous arrays moves nothing.
#include "tensor/merged_axes.h"

#include <algorithm>
#include <ranges>

#include "ops/attrs.h"
#include "ops/builder.h"

namespace ig::eager {
namespace {

// `out` in the shapes that the op gives for these operands.
std::vector<Tensor> in_shapes_of(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                 std::vector<Tensor> out) {
  std::vector<Type> types;
  for (const Tensor& operand : operands) types.push_back(operand.type());
  const std::vector<Type> results = ops::infer(op, types, attrs, DimScope{});
  for (size_t i = 0; i < out.size(); ++i) out[i] = out[i].reshaped(Shape(*constant_dims(results[i].dims)));
  return out;
}

// The axes of a fold, ascending.
class Folded {
 public:
  explicit Folded(const Ints& axes)
      : axes_(axes), one_run_(axes.empty() || axes.back() - axes.front() + 1 == std::ssize(axes)) {}
  bool has(int axis) const { return std::ranges::binary_search(axes_, int64_t{axis}); }
  // With the axis before. Where what is kept lies between them, which folded axes are neighbours belongs to
  // the order of the fold.
  bool joins(int axis) const { return has(axis) == has(axis - 1) && (!has(axis) || one_run_); }

 private:
  const Ints& axes_;
  bool one_run_;
};

}  // namespace

std::optional<std::vector<Tensor>> with_merged_examples(
    const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
    const std::function<std::vector<Tensor>(std::span<const Tensor>)>& run) {
  const int own = op.decl.example_axes;
  if (own == 0 || operands.empty()) return std::nullopt;
  const Shape& first = operands[0].shape();
  const auto front = std::span<const int64_t>(first.begin(), first.end())
                         .first(static_cast<size_t>(std::max(0, first.rank() - own)));
  int64_t examples = 1;
  for (int64_t size : front) examples *= size;
  auto leads = [&](size_t i) { return op.decl.operands[i].spread && operands[i].rank() > own; };
  const bool is_merged =
      front.size() == 1 && std::ranges::none_of(std::views::iota(size_t{0}, operands.size()), leads);
  if (is_merged || examples <= 1) return std::nullopt;
  std::vector<Tensor> merged;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = operands[i].shape();
    if (op.decl.operands[i].spread) {
      // Axes of one in front of its own say that it is the same for all examples. Where one of its own is
      // one, too, there may be a kernel for the examples as they are.
      const std::span<const int64_t> all(shape.begin(), shape.end());
      const auto last = all.last(static_cast<size_t>(std::min(shape.rank(), own)));
      const auto before = all.first(all.size() - last.size());
      const auto is_one = [](int64_t size) { return size == 1; };
      if (!std::ranges::all_of(before, is_one) || (!before.empty() && std::ranges::any_of(last, is_one)))
        return std::nullopt;
      merged.push_back(operands[i].reshaped(Shape(std::vector(last.begin(), last.end()))));
      continue;
    }
    std::vector<int64_t> sizes(shape.begin(), shape.end());
    if (sizes.size() < front.size() || !std::ranges::equal(std::span(sizes).first(front.size()), front))
      return std::nullopt;
    sizes.erase(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(front.size()));
    sizes.insert(sizes.begin(), examples);
    merged.push_back(operands[i].reshaped(Shape(sizes)));
  }
  return in_shapes_of(op, operands, attrs, run(merged));
}

bool has_axes_to_merge(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs) {
  if (op.decl.front != ops::Front::Reduction || operands.size() != 1) return false;
  const AttrValue* value = attrs.find(ops::kAxes.name);
  if (!value) return false;
  const auto& axes = std::get<Ints>(*value);
  const int rank = operands[0].rank();
  const bool ascending = std::ranges::adjacent_find(axes, std::greater_equal()) == axes.end();
  if (!ascending || (!axes.empty() && (axes.front() < 0 || axes.back() >= rank))) return false;
  const Folded folded(axes);
  for (int axis = 1; axis < rank; ++axis)
    if (folded.joins(axis)) return true;
  return false;
}

std::vector<Tensor> with_merged_axes(
    const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
    const std::function<std::vector<Tensor>(std::span<const Tensor>, const Attrs&)>& run) {
  const Folded folded(attrs.get(ops::kAxes));
  const Shape& shape = operands[0].shape();
  std::vector<int64_t> sizes;
  Ints axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0 && folded.joins(axis)) {
      sizes.back() *= shape[axis];
      continue;
    }
    if (folded.has(axis)) axes.push_back(std::ssize(sizes));
    sizes.push_back(shape[axis]);
  }
  const Tensor merged = operands[0].reshaped(Shape(sizes));
  return in_shapes_of(op, operands, attrs,
                      run(std::span(&merged, 1), Attrs(attrs).set(ops::kAxes.name, std::move(axes))));
}

}  // namespace ig::eager
