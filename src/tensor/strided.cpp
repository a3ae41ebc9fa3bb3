// The strided views of eager execution, and how their elements are laid out anew.
#include "tensor/strided.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>

#include "ops/attrs.h"
#include "runtime/strided_copy.h"
#include "runtime/thread_pool.h"

namespace ig {
namespace {

const Ints* ints(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  return value ? std::get_if<Ints>(value) : nullptr;
}

std::optional<Ints> sizes(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  const Dims* dims = value ? std::get_if<Dims>(value) : nullptr;
  return dims ? constant_dims(*dims) : std::nullopt;
}

int64_t width_of(const Tensor& x) { return static_cast<int64_t>(size_of(x.dtype())); }
char* at(const Tensor& x, int64_t element) { return static_cast<char*>(x.data()) + element * width_of(x); }

// `from` and `to`: in elements of x.
std::vector<rt::CopyAxis> copy_axes(const Tensor& x, const Shape& shape, const std::vector<int64_t>& from,
                                    const std::vector<int64_t>& to) {
  std::vector<rt::CopyAxis> axes;
  axes.reserve(shape.size());
  for (size_t i = 0; i < shape.size(); ++i)
    axes.push_back({shape[i], from[i] * width_of(x), to[i] * width_of(x)});
  return axes;
}

}  // namespace

StridedView StridedView::whole(const Shape& shape) {
  StridedView out{shape, 0, std::vector<int64_t>(shape.size(), 1)};
  for (int i = shape.rank() - 2; i >= 0; --i) out.strides[i] = out.strides[i + 1] * shape[i + 1];
  return out;
}

Tensor copy_strided(const Tensor& x, const StridedView& view) {
  Tensor out = Tensor::empty(x.dtype(), view.shape);
  if (out.elements() == 0) return out;
  rt::copy_strided(width_of(x), at(x, view.offset), out.data(),
                   copy_axes(x, view.shape, view.strides, StridedView::whole(view.shape).strides));
  return out;
}

std::optional<Shape> as_broadcast(const StridedView& view, const Shape& operand) {
  if (view.offset != 0) return std::nullopt;
  std::vector<int64_t> own(view.shape.size(), 1);
  int64_t elements = 1;
  for (int i = view.shape.rank() - 1; i >= 0; --i) {
    if (view.shape[i] == 1 || view.strides[i] == 0) continue;
    if (view.strides[i] != elements) return std::nullopt;
    own[i] = view.shape[i];
    elements *= own[i];
  }
  return elements == operand.elements() ? std::optional(Shape(own)) : std::nullopt;
}

StridedView broadcast_view(const Shape& own, const Shape& shape) {
  StridedView out{shape, 0, std::vector<int64_t>(shape.size(), 0)};
  const std::vector<int64_t> strides = StridedView::whole(own).strides;
  const size_t lead = shape.size() - own.size();
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i] != 1) out.strides[lead + i] = strides[i];
  return out;
}

Tensor assign_strided(Tensor x, const StridedView& view, const Tensor& value) {
  if (!x.storage().unique()) {
    Tensor own = Tensor::empty(x.dtype(), x.shape());
    std::memcpy(own.data(), x.data(), x.bytes());
    x = std::move(own);
  }
  if (value.elements() == 0) return x;
  rt::copy_strided(width_of(x), value.data(), at(x, view.offset),
                   copy_axes(x, view.shape, StridedView::whole(view.shape).strides, view.strides));
  return x;
}

std::optional<Turned> as_turned(const Tensor& x, const StridedView& view) {
  constexpr DType kUnsigned[] = {DType::U8, DType::U16, DType::U32, DType::U64};
  const auto same_width = std::ranges::find(kUnsigned, size_of(x.dtype()), size_of);
  if (same_width == std::end(kUnsigned)) return std::nullopt;
  if (view.offset != 0 || view.shape.elements() != x.elements()) return std::nullopt;
  struct Run {
    int64_t size, stride;
  };
  std::vector<Run> runs;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    const Run run{view.shape[i], view.strides[i]};
    if (run.size == 1) continue;
    if (!runs.empty() && runs.back().stride == run.stride * run.size)
      runs.back() = {runs.back().size * run.size, run.stride};
    else
      runs.push_back(run);
  }
  if (runs.empty() || runs.back().stride == 1) return std::nullopt;
  std::vector<Run> as_laid = runs;
  std::ranges::sort(as_laid, std::greater<>(), &Run::stride);
  std::vector<int64_t> sizes, permutation;
  int64_t left = x.elements();
  for (const Run& run : as_laid) {
    sizes.push_back(run.size);
    if (left != run.stride * run.size) return std::nullopt;
    left = run.stride;
  }
  for (const Run& run : runs)
    permutation.push_back(std::ranges::find(as_laid, run.stride, &Run::stride) - as_laid.begin());
  return Turned{Tensor(*same_width, Shape(sizes), x.storage()), std::move(permutation)};
}

Tensor join(std::span<const Tensor> parts, int64_t axis, const Shape& result) {
  Tensor out = Tensor::empty(parts[0].dtype(), result);
  const int64_t rows =
      std::accumulate(result.begin(), result.begin() + axis, int64_t{1}, std::multiplies<>());
  if (out.elements() == 0) return out;
  const int64_t width = width_of(out), row = out.elements() / rows * width;
  // As many rows at a time as stay in the first cache while the parts of each are laid beside each other.
  constexpr int64_t kAtOnce = int64_t{16} << 10, kWorthIt = int64_t{64} << 10;
  const int64_t block = std::max<int64_t>(1, kAtOnce / row), blocks = (rows + block - 1) / block;
  auto join_rows = [&](int64_t begin, int64_t end) {
    int64_t offset = 0;
    for (const Tensor& part : parts) {
      const int64_t own = part.elements() / rows * width;
      rt::copy_strided(width, static_cast<const char*>(part.data()) + begin * own,
                       static_cast<char*>(out.data()) + begin * row + offset,
                       {{end - begin, own, row}, {own / width, width, width}});
      offset += own;
    }
  };
  if (blocks == 1) {
    join_rows(0, rows);
  } else {
    rt::ThreadPool::instance().parallel_for(blocks, std::max<int64_t>(1, kWorthIt / (block * row)),
                                            [&](int64_t begin, int64_t end) {
                                              for (int64_t i = begin; i < end; ++i)
                                                join_rows(i * block, std::min(rows, (i + 1) * block));
                                            });
  }
  return out;
}

std::optional<StridedView> strided_view(const ops::Op& op, const Shape& operand, const Attrs& attrs,
                                        const Shape& result) {
  StridedView base = StridedView::whole(operand);
  StridedView out{result, 0, std::vector<int64_t>(result.size(), 0)};
  const std::string& name = op.decl.name;
  if (name == "transpose") {
    const Ints* permutation = ints(attrs, ops::kPermutation.name);
    if (!permutation) return std::nullopt;
    for (size_t i = 0; i < result.size(); ++i) out.strides[i] = base.strides[(*permutation)[i]];
    return out;
  }
  if (name == "broadcast_in_dim") {
    const Ints* to = ints(attrs, ops::kBroadcastDims.name);
    if (!to) return std::nullopt;
    for (size_t i = 0; i < operand.size(); ++i)
      if (operand[i] != 1) out.strides[(*to)[i]] = base.strides[i];
    return out;
  }
  if (name == "reverse") {
    const Ints* axes = ints(attrs, "dimensions");
    if (!axes) return std::nullopt;
    out.strides = base.strides;
    for (int64_t axis : *axes) {
      out.offset += (operand[axis] - 1) * base.strides[axis];
      out.strides[axis] = -base.strides[axis];
    }
    return out;
  }
  if (name == "slice") {
    std::optional<Ints> start = sizes(attrs, "start");
    const Ints* steps = ints(attrs, "strides");
    if (!start || !steps) return std::nullopt;
    for (size_t i = 0; i < result.size(); ++i) {
      out.offset += (*start)[i] * base.strides[i];
      out.strides[i] = base.strides[i] * (*steps)[i];
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace ig
