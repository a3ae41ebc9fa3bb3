// One strided walk for all the views of eager execution.
#include "tensor/strided.h"

#include <cstring>

#include "ops/attrs.h"

namespace ig {
namespace {

// Copies with the innermost axis as a loop over elements of one width.
template <typename T>
void walk(const T* from, T* to, const int64_t* sizes, const int64_t* strides, int axes) {
  if (axes == 0) {
    *to = *from;
    return;
  }
  if (axes == 1) {
    if (strides[0] == 1)
      std::memcpy(to, from, static_cast<size_t>(sizes[0]) * sizeof(T));
    else
      for (int64_t i = 0; i < sizes[0]; ++i) to[i] = from[i * strides[0]];
    return;
  }
  int64_t inner = 1;
  for (int a = 1; a < axes; ++a) inner *= sizes[a];
  for (int64_t i = 0; i < sizes[0]; ++i)
    walk(from + i * strides[0], to + i * inner, sizes + 1, strides + 1, axes - 1);
}

struct Wide {
  uint64_t parts[2];
};

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
  std::vector<int64_t> dims, steps;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) continue;
    if (!dims.empty() && steps.back() == view.strides[i] * view.shape[i]) {
      dims.back() *= view.shape[i];
      steps.back() = view.strides[i];
    } else {
      dims.push_back(view.shape[i]);
      steps.push_back(view.strides[i]);
    }
  }
  int axes = static_cast<int>(dims.size());
  auto go = [&]<typename T>(T) {
    walk(static_cast<const T*>(x.data()) + view.offset, static_cast<T*>(out.data()), dims.data(),
         steps.data(), axes);
  };
  switch (size_of(x.dtype())) {
    case 1: go(uint8_t{}); break;
    case 2: go(uint16_t{}); break;
    case 4: go(uint32_t{}); break;
    case 8: go(uint64_t{}); break;
    case 16: go(Wide{}); break;
    default: IG_CHECK(false, "elements of {} bytes", size_of(x.dtype()));
  }
  return out;
}

Tensor assign_strided(Tensor x, const StridedView& view, const Tensor& value) {
  if (!x.storage().unique()) {
    Tensor own = Tensor::empty(x.dtype(), x.shape());
    std::memcpy(own.data(), x.data(), x.bytes());
    x = std::move(own);
  }
  size_t width = size_of(x.dtype());
  char* to = static_cast<char*>(x.data());
  const char* from = static_cast<const char*>(value.data());
  std::vector<int64_t> index(view.shape.size(), 0);
  int64_t at = view.offset;
  for (int64_t flat = 0, n = view.shape.elements(); flat < n; ++flat, from += width) {
    std::memcpy(to + at * static_cast<int64_t>(width), from, width);
    for (int i = view.shape.rank() - 1; i >= 0; --i) {
      at += view.strides[i];
      if (++index[i] < view.shape[i]) break;
      at -= view.strides[i] * view.shape[i];
      index[i] = 0;
    }
  }
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
