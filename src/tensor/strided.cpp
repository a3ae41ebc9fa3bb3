// One strided walk for all the views of eager execution.
#include "tensor/strided.h"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <span>

#include "ops/attrs.h"

namespace ig {
namespace {

// An axis to walk: how many elements, and how far apart they are in what is read and in what is written.
struct Axis {
  int64_t size, from, to;
};

// Where neighbours in what is read are not neighbours in what is written: tiles of whole cache lines of both.
// `rows` is the axis that is read in order, `columns` the one that is written in order.
template <typename T>
void turn(const T* from, T* to, const Axis& rows, const Axis& columns) {
  constexpr int64_t kLine = 64 / sizeof(T);
  T tile[kLine][kLine];
  for (int64_t r = 0; r < rows.size; r += kLine) {
    const int64_t height = std::min(kLine, rows.size - r);
    for (int64_t c = 0; c < columns.size; c += kLine) {
      const int64_t width = std::min(kLine, columns.size - c);
      for (int64_t j = 0; j < width; ++j)
        std::memcpy(tile[j], from + (c + j) * columns.from + r, static_cast<size_t>(height) * sizeof(T));
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j) to[(r + i) * rows.to + c + j] = tile[j][i];
    }
  }
}

// Copies with the last axis as a loop over elements of one width.
template <typename T>
void walk(const T* from, T* to, std::span<const Axis> axes) {
  if (axes.empty()) {
    *to = *from;
    return;
  }
  const Axis& first = axes.front();
  if (axes.size() == 1) {
    if (first.from == 1 && first.to == 1)
      std::memcpy(to, from, static_cast<size_t>(first.size) * sizeof(T));
    else
      for (int64_t i = 0; i < first.size; ++i) to[i * first.to] = from[i * first.from];
    return;
  }
  if (axes.size() == 2 && first.from == 1 && axes[1].to == 1) return turn(from, to, first, axes[1]);
  for (int64_t i = 0; i < first.size; ++i) walk(from + i * first.from, to + i * first.to, axes.subspan(1));
}

struct Wide {
  uint64_t parts[2];
};

void walk_elements(DType dtype, const void* from, int64_t from_offset, void* to, int64_t to_offset,
                   std::vector<Axis> axes) {
  // The axis that is written in order comes last, and next to it the one that is read in order.
  auto written = std::ranges::find(axes, 1, &Axis::to);
  if (written != axes.end()) std::rotate(written, written + 1, axes.end());
  if (written != axes.end() && axes.back().from != 1) {
    auto read = std::ranges::find(axes.begin(), axes.end() - 1, 1, &Axis::from);
    if (read != axes.end() - 1) std::rotate(read, read + 1, axes.end() - 1);
  }
  auto go = [&]<typename T>(T) {
    walk(static_cast<const T*>(from) + from_offset, static_cast<T*>(to) + to_offset,
         std::span<const Axis>(axes));
  };
  switch (size_of(dtype)) {
    case 1: go(uint8_t{}); break;
    case 2: go(uint16_t{}); break;
    case 4: go(uint32_t{}); break;
    case 8: go(uint64_t{}); break;
    case 16: go(Wide{}); break;
    default: IG_CHECK(false, "elements of {} bytes", size_of(dtype));
  }
}

const Ints* ints(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  return value ? std::get_if<Ints>(value) : nullptr;
}

std::optional<Ints> sizes(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  const Dims* dims = value ? std::get_if<Dims>(value) : nullptr;
  return dims ? constant_dims(*dims) : std::nullopt;
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
  // Axes of size 1 go, and neighbours that one step walks become one.
  std::vector<Axis> axes;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) continue;
    if (!axes.empty() && axes.back().from == view.strides[i] * view.shape[i])
      axes.back() = {axes.back().size * view.shape[i], view.strides[i], 0};
    else
      axes.push_back({view.shape[i], view.strides[i], 0});
  }
  int64_t step = 1;
  for (Axis& axis : axes | std::views::reverse) {
    axis.to = step;
    step *= axis.size;
  }
  walk_elements(x.dtype(), x.data(), view.offset, out.data(), 0, std::move(axes));
  return out;
}

Tensor assign_strided(Tensor x, const StridedView& view, const Tensor& value) {
  if (!x.storage().unique()) {
    Tensor own = Tensor::empty(x.dtype(), x.shape());
    std::memcpy(own.data(), x.data(), x.bytes());
    x = std::move(own);
  }
  std::vector<Axis> axes;
  int64_t step = value.elements();
  for (size_t i = 0; i < view.shape.size() && step != 0; ++i) {
    step /= view.shape[i];
    if (view.shape[i] == 1) continue;
    if (!axes.empty() && axes.back().to == view.strides[i] * view.shape[i])
      axes.back() = {axes.back().size * view.shape[i], step, view.strides[i]};
    else
      axes.push_back({view.shape[i], step, view.strides[i]});
  }
  if (step != 0) walk_elements(x.dtype(), value.data(), 0, x.data(), view.offset, std::move(axes));
  return x;
}

Tensor join(std::span<const Tensor> parts, int64_t axis, const Shape& result) {
  Tensor out = Tensor::empty(parts[0].dtype(), result);
  size_t inner = size_of(out.dtype());
  int64_t outer = 1;
  for (int64_t i = 0; i < axis; ++i) outer *= result[i];
  for (int i = static_cast<int>(axis) + 1; i < result.rank(); ++i) inner *= static_cast<size_t>(result[i]);
  char* to = static_cast<char*>(out.data());
  for (int64_t i = 0; i < outer; ++i)
    for (const Tensor& part : parts) {
      size_t run = inner * static_cast<size_t>(part.shape()[axis]);
      if (run) std::memcpy(to, static_cast<const char*>(part.data()) + static_cast<size_t>(i) * run, run);
      to += run;
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
