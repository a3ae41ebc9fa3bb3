// A product of other axes than a matrix product's is one of copies that are turned over.
//
// A convolution's places are cut into parts that see the same taps (none on padding, none in a gap of the
// image), so a part is one product: its windows, copied out as rows, times the weights of those taps. The
// sums run over the taps, then the input features, as in a kernel of the convolution's own: the bits are the
// same. Of many groups each product would have few columns: grouped_stand_in.h.
//
// Places that are told in narrow numbers are converted. A fold of windows goes tap by tap; an array is padded
// by two copies; what is turned over is copied as any view is, and so is a slice whose start is computed. Few
// elements that are picked out of an array or put into one, and few whole numbers, are as the op's reference
// says.
#include "tensor/eager_stand_ins.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/host_call.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"
#include "ops/window_attrs.h"
#include "tensor/eager.h"
#include "tensor/grouped_stand_in.h"
#include "tensor/strided.h"
#include "tensor/winograd_stand_in.h"

namespace ig::eager {
namespace {

// Places of one axis that see the same taps. Place number k is the axis' place `first + k * step`; tap number
// u is the kernel's `tap + u * tap_step`, and sees the image's element `origin + k * stride + u * dilation`.
struct Part {
  int64_t first = 0, step = 1, count = 0;
  int64_t tap = 0, tap_step = 1, taps = 0;
  int64_t origin = 0, stride = 1, dilation = 1;
};

struct Window {
  int64_t taps, stride, dilation, gaps, low, image, places;
};

std::vector<Part> parts_of(const Window& w) {
  const int64_t step = w.gaps / std::gcd(w.gaps, w.stride), tap_step = w.gaps / std::gcd(w.gaps, w.dilation);
  std::vector<Part> parts;
  for (int64_t lead = 0; lead < std::min(step, w.places); ++lead) {
    const size_t begin = parts.size();
    for (int64_t place = lead; place < w.places; place += step) {
      Part part{place, step, 1, 0, tap_step, 0, 0, step * w.stride / w.gaps, tap_step * w.dilation / w.gaps};
      for (int64_t tap = 0; tap < w.taps; ++tap) {
        const int64_t at = place * w.stride + tap * w.dilation - w.low;
        if (at < 0 || at % w.gaps != 0 || at / w.gaps >= w.image) continue;
        if (part.taps++ == 0) part.tap = tap, part.origin = at / w.gaps;
      }
      if (parts.size() > begin && parts.back().tap == part.tap && parts.back().taps == part.taps)
        ++parts.back().count;
      else
        parts.push_back(part);
    }
  }
  return parts;
}

Tensor zeros(DType dtype, const Shape& shape) {
  Tensor out = Tensor::empty(dtype, shape);
  std::memset(out.data(), 0, out.bytes());
  return out;
}

std::optional<Tensor> run_one(const ops::Op& op, const Tensor& a, const Tensor& b, const Attrs& attrs) {
  const Tensor sides[] = {a, b};
  auto out = run_at_hand(op, sides, attrs);
  return out ? std::optional((*out)[0]) : std::nullopt;
}

// [batch, m, k] times [batch, k, n], or without the batch: what kernels for all sizes are at hand for.
std::optional<Tensor> multiply(const Tensor& a, const Tensor& b, DType accumulate) {
  static const ops::Op& dot = ops::get("dot_general");
  const bool batched = a.rank() == 3;
  Attrs attrs;
  if (batched) attrs.set(ops::kLhsBatch, Ints{0}).set(ops::kRhsBatch, Ints{0});
  attrs.set(ops::kLhsContract, Ints{batched ? 2 : 1}).set(ops::kRhsContract, Ints{batched ? 1 : 0});
  return run_one(dot, a, b, ops::complete_attrs(dot, attrs.set(ops::kAccumulate, accumulate)));
}

Tensor in_order(const Tensor& x, const Ints& axes) {
  const StridedView whole = StridedView::whole(x.shape());
  std::vector<int64_t> sizes, strides;
  for (int64_t axis : axes) {
    sizes.push_back(x.shape()[axis]);
    strides.push_back(whole.strides[static_cast<size_t>(axis)]);
  }
  const StridedView view{Shape(sizes), 0, strides};
  return strides == StridedView::whole(view.shape).strides ? x.reshaped(view.shape) : copy_strided(x, view);
}

// The axes of x in this order, those of each group as one.
Tensor arranged(const Tensor& x, std::initializer_list<Ints> groups) {
  Ints axes;
  std::vector<int64_t> sizes;
  for (const Ints& group : groups) {
    sizes.push_back(1);
    for (int64_t axis : group) axes.push_back(axis), sizes.back() *= x.shape()[axis];
  }
  return in_order(x, axes).reshaped(Shape(sizes));
}

// Axes of one element, of which each pattern would take a kernel of its own, get a second one, a zero in
// front.
Tensor zero_first(const Tensor& x, int axis) {
  std::vector<int64_t> sizes(x.shape().begin(), x.shape().end());
  sizes[static_cast<size_t>(axis)] = 2;
  return join(std::vector{zeros(x.dtype(), x.shape()), x}, axis, Shape(sizes));
}
Tensor second(const Tensor& x, int axis) {
  StridedView view = StridedView::whole(x.shape());
  std::vector<int64_t> sizes(x.shape().begin(), x.shape().end());
  sizes[static_cast<size_t>(axis)] = 1;
  return copy_strided(x, {Shape(sizes), view.strides[static_cast<size_t>(axis)], view.strides});
}

std::optional<Tensor> product(std::span<const Tensor> operands, const Attrs& attrs, const Type& result) {
  const Ints &batch_a = attrs.get(ops::kLhsBatch), &batch_b = attrs.get(ops::kRhsBatch),
             &fold_a = attrs.get(ops::kLhsContract), &fold_b = attrs.get(ops::kRhsContract);
  auto rest = [](const Tensor& x, const Ints& batch, const Ints& fold) {
    Ints out;
    for (int64_t axis = 0; axis < x.rank(); ++axis)
      if (std::ranges::find(batch, axis) == batch.end() && std::ranges::find(fold, axis) == fold.end())
        out.push_back(axis);
    return out;
  };
  const Ints free_a = rest(operands[0], batch_a, fold_a), free_b = rest(operands[1], batch_b, fold_b);
  const Shape shape(*constant_dims(result.dims));
  const DType accumulate = attrs.get(ops::kAccumulate);
  if (free_a.empty() && free_b.empty()) {  // element by element, and a fold, as such a product is simplified
    if (ops::accumulating_type(result.dtype, accumulate) != result.dtype || is_complex(result.dtype) ||
        fold_a.empty())
      return std::nullopt;
    static const ops::Op &times = ops::get("multiply"), &total = ops::get("reduce_sum");
    auto all = run_one(times, arranged(operands[0], {batch_a, fold_a}),
                       arranged(operands[1], {batch_b, fold_b}), {});
    auto sums =
        all ? run_at_hand(total, std::span(&*all, 1), Attrs().set(ops::kAxes, Ints{1})) : std::nullopt;
    return sums ? std::optional((*sums)[0].reshaped(shape)) : std::nullopt;
  }
  Tensor a = batch_a.empty() ? arranged(operands[0], {free_a, fold_a})
                             : arranged(operands[0], {batch_a, free_a, fold_a});
  Tensor b = batch_a.empty() ? arranged(operands[1], {fold_b, free_b})
                             : arranged(operands[1], {batch_b, fold_b, free_b});
  const int last = a.rank() - 1;
  const bool same = a.shape() == operands[0].shape() && b.shape() == operands[1].shape() &&
                    fold_a == Ints{last} && fold_b == Ints{last - 1} &&
                    (batch_a.empty() || (batch_a == Ints{0} && batch_b == Ints{0}));
  std::optional<Tensor> sums;
  if (!same) {
    sums = multiply(a, b, accumulate);
  } else if (a.shape()[last] == 1) {  // a zero that comes first leaves +0
    sums = multiply(zero_first(a, last), zero_first(b, last - 1), accumulate);
  } else if (a.shape()[last - 1] == 1) {
    sums = multiply(zero_first(a, last - 1), b, accumulate);
    if (sums) sums = second(*sums, last - 1);
  } else if (b.shape()[last] == 1) {
    sums = multiply(a, zero_first(b, last), accumulate);
    if (sums) sums = second(*sums, last);
  }
  return sums ? std::optional(sums->reshaped(shape)) : std::nullopt;
}

class Convolution {
 public:
  Convolution(std::span<const Tensor> operands, const Attrs& attrs, const Type& result)
      : d_(attrs),
        accumulate_(attrs.get(ops::kAccumulate)),
        result_(Tensor::empty(result.dtype, Shape(*constant_dims(result.dims)))) {
    const Tensor &x = operands[0], &w = operands[1];
    groups_ = std::max(d_.feature_groups, d_.batch_groups);
    inputs_ = w.shape()[d_.rhs_in], outputs_ = w.shape()[d_.rhs_out] / groups_;
    images_ = x.shape()[d_.lhs_batch] / d_.batch_groups;
    // The image with its features side by side, the weights as rows of features for each tap.
    Ints image_axes = d_.lhs_space, weights_axes = d_.rhs_space;
    image_axes.insert(image_axes.begin(), d_.lhs_batch), image_axes.push_back(d_.lhs_feature);
    weights_axes.push_back(d_.rhs_in), weights_axes.push_back(d_.rhs_out);
    image_ = in_order(x, image_axes), weights_ = in_order(w, weights_axes);
    for (size_t i = 0; i < d_.rhs_space.size(); ++i)
      parts_.push_back(
          parts_of({w.shape()[d_.rhs_space[i]], d_.strides[i], d_.rhs_dilation[i], d_.lhs_dilation[i],
                    d_.low[i], x.shape()[d_.lhs_space[i]], result_.shape()[d_.out_space[i]]}));
  }

  std::optional<Tensor> run() {
    for (int64_t group = 0; group < groups_; ++group)
      if (!each_part(group, {})) return std::nullopt;
    return std::move(result_);
  }

 private:
  bool each_part(int64_t group, std::vector<Part> chosen) {
    if (chosen.size() == parts_.size()) return convolve(group, chosen);
    for (const Part& part : parts_[chosen.size()]) {
      chosen.push_back(part);
      if (!each_part(group, chosen)) return false;
      chosen.pop_back();
    }
    return true;
  }

  // As many images at a time, or of a large one as many rows, as leave their windows in the caches.
  bool convolve(int64_t group, std::vector<Part> parts) {
    constexpr int64_t kWindowBytes = int64_t{1} << 20;
    int64_t places = 1, row = static_cast<int64_t>(size_of(image_.dtype())) * inputs_;
    for (const Part& part : parts) places *= part.count, row *= part.taps;
    const int64_t together =
        std::clamp<int64_t>(kWindowBytes / std::max<int64_t>(1, places * row), 1, images_);
    const bool cut = together == 1 && !parts.empty();
    const int64_t count = cut ? parts[0].count : 1;
    const int64_t rows =
        cut ? std::clamp<int64_t>(kWindowBytes / std::max<int64_t>(1, places / count * row), 1, count) : 1;
    for (int64_t image = 0; image < images_; image += together)
      for (int64_t at = 0; at < count; at += rows) {
        std::vector<Part> some = parts;
        if (cut) {
          some[0].first += at * some[0].step, some[0].origin += at * some[0].stride;
          some[0].count = std::min(rows, count - at);
        }
        if (!add_product(group, some, image, std::min(together, images_ - image))) return false;
      }
    return true;
  }

  bool add_product(int64_t group, const std::vector<Part>& parts, int64_t first_image, int64_t images) {
    const size_t space = parts.size();
    const std::vector<int64_t> from = StridedView::whole(image_.shape()).strides,
                               of_taps = StridedView::whole(weights_.shape()).strides,
                               to = StridedView::whole(result_.shape()).strides;
    const auto axis = [](int64_t a) { return static_cast<size_t>(a); };
    const int64_t feature_group = d_.feature_groups > 1 ? group : 0,
                  batch_group = d_.batch_groups > 1 ? group : 0;
    int64_t window_at = (batch_group * images_ + first_image) * from[0] + feature_group * inputs_;
    int64_t weights_at = group * outputs_;
    int64_t result_at = first_image * to[axis(d_.out_batch)] + group * outputs_ * to[axis(d_.out_feature)];
    std::vector<int64_t> window_sizes{images}, window_steps{from[0]}, tap_sizes, tap_steps;
    std::vector<int64_t> result_sizes{images}, result_steps{to[axis(d_.out_batch)]};
    int64_t m = images, k = inputs_;
    for (size_t i = 0; i < space; ++i) {
      const Part& part = parts[i];
      window_at += part.origin * from[i + 1];
      weights_at += part.tap * of_taps[i];
      result_at += part.first * to[axis(d_.out_space[i])];
      window_sizes.push_back(part.count), window_steps.push_back(part.stride * from[i + 1]);
      tap_sizes.push_back(part.taps), tap_steps.push_back(part.tap_step * of_taps[i]);
      result_sizes.push_back(part.count), result_steps.push_back(part.step * to[axis(d_.out_space[i])]);
      m *= part.count, k *= part.taps;
    }
    result_sizes.push_back(outputs_), result_steps.push_back(to[axis(d_.out_feature)]);
    const StridedView place{Shape(result_sizes), result_at, result_steps};
    if (k == 0) {
      result_ = assign_strided(std::move(result_), place, zeros(result_.dtype(), place.shape));
      return true;
    }
    for (size_t i = 0; i < space; ++i) {
      window_sizes.push_back(parts[i].taps);
      window_steps.push_back(parts[i].dilation * from[i + 1]);
    }
    window_sizes.push_back(inputs_), window_steps.push_back(1);
    tap_sizes.push_back(inputs_), tap_steps.push_back(of_taps[space]);
    tap_sizes.push_back(outputs_), tap_steps.push_back(1);
    Tensor windows =
        copy_strided(image_, {Shape(window_sizes), window_at, window_steps}).reshaped(Shape{m, k});
    Tensor taps =
        copy_strided(weights_, {Shape(tap_sizes), weights_at, tap_steps}).reshaped(Shape{k, outputs_});
    std::optional<Tensor> sums = eager::multiply(windows, taps, accumulate_);
    if (!sums) return false;
    result_ = assign_strided(std::move(result_), place, sums->reshaped(place.shape));
    return true;
  }

  const ops::ConvDims d_;
  const DType accumulate_;
  Tensor image_, weights_, result_;
  int64_t groups_ = 1, inputs_ = 0, outputs_ = 0, images_ = 0;
  std::vector<std::vector<Part>> parts_;  // of each spatial axis
};

// By minimal filtering, as the op's own kernel does it; `gradient`: by the taps.
std::optional<Tensor> filter(const Tensor& x, const Tensor& kernel, const Attrs& attrs, const Type& result,
                             bool gradient) {
  const ops::ConvDims d(attrs);
  const Ints &space = d.lhs_space, &of_kernel = d.rhs_space, &out = d.out_space;
  const auto products = [&](const Tensor& a, const Tensor& b) {
    return multiply(gradient ? in_order(a, {0, 2, 1}) : a, b, attrs.get(ops::kAccumulate));
  };
  std::optional<Tensor> made;
  Ints axes(4);  // of what is made, in the result's order
  auto place = [&](int64_t axis, int64_t of_made) { axes[static_cast<size_t>(axis)] = of_made; };
  if (gradient) {
    made = filter_taps(in_order(x, {d.lhs_feature, space[0], space[1], d.lhs_batch}),
                       in_order(kernel, {d.rhs_in, of_kernel[0], of_kernel[1], d.rhs_out}),
                       {d.low[0], d.low[1]}, products);
    place(out[0], 0), place(out[1], 1), place(d.out_batch, 2);
  } else {
    const Shape shape(*constant_dims(result.dims));
    made = filter_squares(in_order(x, {d.lhs_batch, space[0], space[1], d.lhs_feature}),
                          in_order(kernel, {of_kernel[0], of_kernel[1], d.rhs_in, d.rhs_out}),
                          {d.low[0], d.low[1]}, {shape[out[0]], shape[out[1]]}, products);
    place(d.out_batch, 0), place(out[0], 1), place(out[1], 2);
  }
  place(d.out_feature, 3);
  return made ? std::optional(in_order(*made, axes)) : std::nullopt;
}

std::optional<Tensor> convolve(std::span<const Tensor> operands, const Attrs& attrs, const Type& result) {
  constexpr int64_t kManyGroups = 8;
  const DType dtype = result.dtype;
  if ((dtype != DType::F32 && dtype != DType::F64) || operands[0].dtype() != dtype ||
      operands[1].dtype() != dtype)
    return std::nullopt;
  if (std::max(attrs.get(ops::kFeatureGroups), attrs.get(ops::kBatchGroups)) > kManyGroups) {
    if (ops::accumulating_type(dtype, attrs.get(ops::kAccumulate)) != dtype) return std::nullopt;
    return convolve_groups(operands[0], operands[1], ops::ConvDims(attrs), result);
  }
  const Type image = operands[0].type(), kernel = operands[1].type();
  if (ops::suits_winograd(attrs, image, kernel))
    return filter(operands[0], operands[1], attrs, result, false);
  if (ops::suits_winograd_gradient(attrs, image, kernel))
    return filter(operands[0], operands[1], attrs, result, true);
  return Convolution(operands, attrs, result).run();
}

// Tap by tap: the places that see it fold what they hold so far with what they see.
std::optional<Tensor> fold_windows(const ops::Op& op, const ops::WindowFold& fold, const Tensor& x,
                                   const Attrs& attrs, const Type& result) {
  const ops::Op& combine = ops::get(fold.combine);
  const auto rank = static_cast<size_t>(x.rank());
  const ops::WindowDims d(attrs, x.rank(), op.public_name());
  const Shape shape(*constant_dims(result.dims));
  Tensor out = copy_strided(Tensor::from(fold.neutral), {shape, 0, std::vector<int64_t>(rank, 0)});
  const std::vector<int64_t> from = StridedView::whole(x.shape()).strides,
                             to = StridedView::whole(shape).strides;
  std::vector<int64_t> tap(rank, 0);
  while (true) {
    std::vector<int64_t> sizes, steps;
    int64_t read = 0, write = 0;
    for (size_t i = 0; i < rank; ++i) {
      // The places whose tap lies in the array: 0 <= place * stride + shift < size.
      const int64_t shift = tap[i] * d.dilations[i] - d.low[i], size = x.shape()[i];
      const int64_t begin = shift < 0 ? (-shift + d.strides[i] - 1) / d.strides[i] : 0;
      const int64_t end = shift < size ? (size - shift - 1) / d.strides[i] + 1 : 0;
      sizes.push_back(std::max<int64_t>(0, std::min(end, shape[i]) - begin));
      steps.push_back(d.strides[i] * from[i]);
      read += (begin * d.strides[i] + shift) * from[i], write += begin * to[i];
    }
    const Shape seen(sizes);
    if (seen.elements() != 0) {
      const StridedView held{seen, write, to};
      const Tensor elements = copy_strided(x, {seen, read, steps});
      std::optional<Tensor> folded = run_one(combine, copy_strided(out, held), elements, {});
      if (!folded) return std::nullopt;
      out = seen == shape ? *std::move(folded) : assign_strided(std::move(out), held, *folded);
    }
    size_t i = rank;
    while (i > 0 && ++tap[i - 1] == d.window[i - 1]) tap[--i] = 0;
    if (i == 0) return out;
  }
}

// The border is written first, over all of it.
Tensor padded(const Tensor& x, const Tensor& value, const Attrs& attrs, const Type& result) {
  const Dims& low = attrs.get(ops::kPadLow);
  const Ints& interior = attrs.get(ops::kPadInterior);
  const Shape shape(*constant_dims(result.dims));
  const auto rank = static_cast<size_t>(x.rank());
  Tensor out = copy_strided(value, {shape, 0, std::vector<int64_t>(rank, 0)});
  const std::vector<int64_t> from = StridedView::whole(x.shape()).strides;
  std::vector<int64_t> sizes, to = StridedView::whole(shape).strides;
  int64_t read = 0, write = 0;
  for (size_t i = 0; i < rank; ++i) {
    // Element k goes to place first + k * step, where that lies in the result: a border below 0 cuts.
    const int64_t first = low[i].constant(), step = interior[i] + 1;
    const int64_t begin = first < 0 ? (step - 1 - first) / step : 0;
    const int64_t end = std::min(x.shape()[i], shape[i] > first ? (shape[i] - first - 1) / step + 1 : 0);
    sizes.push_back(std::max<int64_t>(0, end - begin));
    read += begin * from[i], write += (first + begin * step) * to[i];
    to[i] *= step;
  }
  const Shape seen(sizes);
  if (seen.elements() == 0) return out;
  return assign_strided(std::move(out), {seen, write, to}, copy_strided(x, {seen, read, from}));
}

// Where a piece of this shape lies in x, whose start is moved to where all of it lies inside.
StridedView piece_of(const Tensor& x, const Shape& piece, std::span<const Tensor> starts) {
  StridedView view = StridedView::whole(x.shape());
  view.shape = piece;
  for (size_t axis = 0; axis < starts.size(); ++axis) {
    const Literal start = starts[axis].literal();
    int64_t at = start.as_int(0);
    if (at < 0 && start.dtype() == DType::U64) at = std::numeric_limits<int64_t>::max();
    view.offset += std::clamp<int64_t>(at, 0, x.shape()[axis] - piece[axis]) * view.strides[axis];
  }
  return view;
}

bool cuts(const ops::Op& op) {
  static const ops::Op& cut = ops::get("dynamic_slice");
  return &op == &cut;
}
bool places(const ops::Op& op) {
  static const ops::Op& place = ops::get("dynamic_update_slice");
  return &op == &place;
}

// Whether the reference has the bits of compiled code: there is nothing to round.
bool moves_or_counts(const ops::Op& op, const Attrs& attrs, const Type& result) {
  if (!op.rules.reference || op.has(ops::Trait::Effect) || op.has(ops::Trait::Contraction) ||
      ops::is_host_call(op) || !result.is_tensor())
    return false;
  const bool updates = attrs.find(ops::kUpdate.name) && !is_complex(result.dtype);  // rounds once for each
  return op.has(ops::Trait::View) || updates || is_integer(result.dtype) || result.dtype == DType::Bool;
}

std::optional<Tensor> by_reference(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                   const Type& result) {
  // Elements: a scatter of so many takes the reference 1.5 ms, positions 0.1 (a Zen 4), and to make a kernel
  // for them takes 6 and more.
  constexpr int64_t kFew = 8192;
  int64_t most = product(result.dims).constant();
  std::vector<Literal> literals;
  for (const Tensor& operand : operands) {
    literals.push_back(operand.literal());
    if (!op.has(ops::Trait::View)) most = std::max(most, operand.elements());
  }
  if (most > kFew) return std::nullopt;
  return Tensor::from(ops::evaluate(op, attrs, literals)[0]);
}

// Whether it looks places up that are told in another type than kernels at hand take them in.
bool finds_places(const Attrs& attrs, DType places) {
  return attrs.find(ops::kIndexVectorDim.name) && is_integer(places) && places != DType::I64 &&
         places != DType::U64;
}
// With these places as int64. Nothing where they, or what is at them, have no kernel at hand even so.
std::optional<Tensor> with_wide_places(const ops::Op& op, std::span<const Tensor> operands,
                                       const Attrs& attrs) {
  static const ops::Op& convert = ops::get("convert");
  const auto places = run_at_hand(convert, operands.subspan(1, 1), make_attrs({ops::kDType % DType::I64}));
  if (!places) return std::nullopt;
  std::vector<Tensor> wide(operands.begin(), operands.end());
  wide[1] = (*places)[0];
  const auto out = run_at_hand(op, wide, attrs);
  return out ? std::optional((*out)[0]) : std::nullopt;
}

bool pads(const Attrs& attrs) { return attrs.find(ops::kPadInterior.name) != nullptr; }
bool convolves(const Attrs& attrs) { return attrs.find(ops::kConvLayout.name) != nullptr; }
bool turns(const Attrs& attrs) { return attrs.find(ops::kPermutation.name) != nullptr; }
bool multiplies(const Attrs& attrs) { return attrs.find(ops::kLhsContract.name) != nullptr; }

}  // namespace

bool has_stand_in(const Node* node) {
  return (node->results().size() == 1 &&
          moves_or_counts(ops::op_of(node), node->attrs(), node->result()->type())) ||
         turns(node->attrs()) || convolves(node->attrs()) || multiplies(node->attrs()) ||
         pads(node->attrs()) ||
         (node->operands().size() > 1 && finds_places(node->attrs(), node->operand(1)->type().dtype)) ||
         (node->operands().size() == 1 &&
          ops::window_fold(ops::op_of(node), node->operand(0)->type().dtype).has_value());
}

std::optional<Tensor> run_stand_in(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs) {
  constexpr size_t kMostCopied = size_t{256} << 20;  // bytes: larger ones are worth compiling for
  std::vector<Type> types;
  size_t bytes = 0;
  for (const Tensor& operand : operands) types.push_back(operand.type()), bytes += operand.bytes();
  if (bytes > kMostCopied) return std::nullopt;
  const Type result = ops::infer(op, types, attrs, DimScope{})[0];
  if (turns(attrs)) {
    const Shape shape(*constant_dims(result.dims));
    return copy_strided(operands[0], *strided_view(op, operands[0].shape(), attrs, shape));
  }
  const bool sums = multiplies(attrs) || convolves(attrs);
  if (sums && std::ranges::any_of(operands, [](const Tensor& x) { return x.elements() == 0; }))
    return zeros(result.dtype, Shape(*constant_dims(result.dims)));
  if (result.elements() == Dim(int64_t{0}))
    return Tensor::empty(result.dtype, Shape(*constant_dims(result.dims)));
  if (cuts(op))
    return copy_strided(operands[0],
                        piece_of(operands[0], Shape(*constant_dims(result.dims)), operands.subspan(1)));
  if (places(op))
    return assign_strided(operands[0], piece_of(operands[0], operands[1].shape(), operands.subspan(2)),
                          operands[1]);
  if (operands.size() > 1 && finds_places(attrs, operands[1].dtype()))
    if (auto out = with_wide_places(op, operands, attrs)) return out;
  if (pads(attrs)) return padded(operands[0], operands[1], attrs, result);
  if (multiplies(attrs)) return product(operands, attrs, result);
  if (convolves(attrs)) return convolve(operands, attrs, result);
  if (operands.size() == 1)
    if (std::optional<ops::WindowFold> fold = ops::window_fold(op, operands[0].dtype()))
      return fold_windows(op, *fold, operands[0], attrs, result);
  return moves_or_counts(op, attrs, result) ? by_reference(op, operands, attrs, result) : std::nullopt;
}

}  // namespace ig::eager
