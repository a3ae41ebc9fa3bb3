// The operands are laid out with their groups last. Then each place of the result adds, tap by tap and
// feature by feature, a vector of the image's times one of the weights'.
#include "tensor/grouped_stand_in.h"

#include <immintrin.h>

#include <algorithm>
#include <optional>

#include "runtime/prebuilt.h"
#include "runtime/thread_pool.h"
#include "tensor/strided.h"

namespace ig::eager {
namespace {

// sums[i] += a[i] * b[i], rounded once.
[[gnu::target("avx2,fma")]] void add_products_fused(float* sums, const float* a, const float* b,
                                                    int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(
        sums + i, _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), _mm256_loadu_ps(sums + i)));
  for (; i < count; ++i) sums[i] = __builtin_fmaf(a[i], b[i], sums[i]);
}
[[gnu::target("avx2,fma")]] void add_products_fused(double* sums, const double* a, const double* b,
                                                    int64_t count) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    _mm256_storeu_pd(
        sums + i, _mm256_fmadd_pd(_mm256_loadu_pd(a + i), _mm256_loadu_pd(b + i), _mm256_loadu_pd(sums + i)));
  for (; i < count; ++i) sums[i] = __builtin_fma(a[i], b[i], sums[i]);
}
// The same, rounded twice.
template <class T>
void add_products(T* sums, const T* a, const T* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += a[i] * b[i];
}

// x with an axis of `count` groups cut in two, and its axes in this order: -1 is that of the groups, the cut
// axis what is left of it.
Tensor grouped(const Tensor& x, int64_t axis, int64_t count, const Ints& order) {
  std::vector<int64_t> sizes, strides;
  const std::vector<int64_t> from = StridedView::whole(x.shape()).strides;
  const int64_t step = from[static_cast<size_t>(axis)], each = x.shape()[axis] / count;
  for (int64_t a : order) {
    sizes.push_back(a < 0 ? count : a == axis ? each : x.shape()[a]);
    strides.push_back(a < 0 ? each * step : from[static_cast<size_t>(a)]);
  }
  return copy_strided(x, {Shape(sizes), 0, strides});
}

template <class T>
class GroupedConvolution {
  using AddProducts = void (*)(T*, const T*, const T*, int64_t);

 public:
  // `image`: [images, space, inputs, groups], `weights`: [features, taps, inputs, groups]. `made`: the
  // results [images, places, features, groups].
  GroupedConvolution(const Tensor& image, const Tensor& weights, const ops::ConvDims& dims, Tensor& made)
      : d_(dims),
        // As kernels do it.
        add_(rt::kernel_level() >= 3 ? static_cast<AddProducts>(add_products_fused) : add_products<T>),
        image_(static_cast<const T*>(image.data())),
        weights_(static_cast<const T*>(weights.data())),
        made_(static_cast<T*>(made.data())),
        space_(static_cast<size_t>(dims.spatial)) {
    for (size_t s = 0; s < space_; ++s) {
      const auto axis = static_cast<int64_t>(s) + 1;
      sizes_.push_back(image.shape()[axis]);
      taps_.push_back(weights.shape()[axis]);
      all_taps_ *= taps_.back();
      places_.push_back(made.shape()[axis]);
    }
    const auto last = static_cast<int64_t>(space_) + 1;
    features_ = weights.shape()[0], inputs_ = weights.shape()[last], groups_ = weights.shape()[last + 1];
  }

  // Places in the order in which they lie.
  void run(int64_t begin, int64_t end) const {
    std::vector<int64_t> place(space_), tap(space_);
    for (int64_t number = begin; number < end; ++number) {
      int64_t rest = number;
      for (size_t s = space_; s-- > 0; rest /= places_[s]) place[s] = rest % places_[s];
      T* sums = made_ + number * features_ * groups_;
      std::fill_n(sums, features_ * groups_, T(0));
      std::ranges::fill(tap, 0);
      int64_t tap_number = 0;
      do {
        if (const std::optional<int64_t> at = seen(rest, place, tap)) add(sums, *at, tap_number);
        ++tap_number;
      } while (next(tap));
    }
  }

 private:
  // The element of the image [images, space] that a place sees through a tap; none on padding and in gaps.
  std::optional<int64_t> seen(int64_t image, const std::vector<int64_t>& place,
                              const std::vector<int64_t>& tap) const {
    int64_t at = image;
    for (size_t s = 0; s < space_; ++s) {
      const int64_t here = place[s] * d_.strides[s] + tap[s] * d_.rhs_dilation[s] - d_.low[s];
      if (here < 0 || here % d_.lhs_dilation[s] != 0 || here / d_.lhs_dilation[s] >= sizes_[s]) return {};
      at = at * sizes_[s] + here / d_.lhs_dilation[s];
    }
    return at;
  }
  bool next(std::vector<int64_t>& tap) const {
    for (size_t s = space_; s-- > 0; tap[s] = 0)
      if (++tap[s] < taps_[s]) return true;
    return false;
  }
  void add(T* sums, int64_t at, int64_t tap) const {
    for (int64_t feature = 0; feature < features_; ++feature)
      for (int64_t i = 0; i < inputs_; ++i)
        add_(sums + feature * groups_, image_ + (at * inputs_ + i) * groups_,
             weights_ + ((feature * all_taps_ + tap) * inputs_ + i) * groups_, groups_);
  }

  const ops::ConvDims& d_;
  AddProducts add_;
  const T *image_, *weights_;
  T* made_;
  size_t space_;
  std::vector<int64_t> sizes_, taps_, places_;
  int64_t all_taps_ = 1, features_, inputs_, groups_;
};

}  // namespace

Tensor convolve_groups(const Tensor& image, const Tensor& weights, const ops::ConvDims& d,
                       const Type& result) {
  const int64_t groups = std::max(d.feature_groups, d.batch_groups);
  Ints image_axes{d.lhs_batch}, weight_axes{d.rhs_out};
  image_axes.insert(image_axes.end(), d.lhs_space.begin(), d.lhs_space.end());
  weight_axes.insert(weight_axes.end(), d.rhs_space.begin(), d.rhs_space.end());
  image_axes.insert(image_axes.end(), {d.lhs_feature, -1});
  weight_axes.insert(weight_axes.end(), {d.rhs_in, -1});
  const Tensor x = grouped(image, d.batch_groups > 1 ? d.lhs_batch : d.lhs_feature, groups, image_axes);
  const Tensor w = grouped(weights, d.rhs_out, groups, weight_axes);

  const Shape shape(*constant_dims(result.dims));
  std::vector<int64_t> sizes{shape[d.out_batch]};
  for (int64_t axis : d.out_space) sizes.push_back(shape[axis]);
  int64_t places = 1, taps = w.elements() / groups;
  for (int64_t size : sizes) places *= size;
  sizes.insert(sizes.end(), {shape[d.out_feature] / groups, groups});
  Tensor made = Tensor::empty(result.dtype, Shape(sizes));
  constexpr int64_t kWorthIt = 1 << 16;  // multiply-adds
  const auto each = [&](auto type) {
    const GroupedConvolution<decltype(type)> work(x, w, d, made);
    rt::ThreadPool::instance().parallel_for(places, std::max<int64_t>(1, kWorthIt / (taps * groups)),
                                            [&](int64_t begin, int64_t end) { work.run(begin, end); });
  };
  result.dtype == DType::F32 ? each(float{}) : each(double{});

  // Back to the result's axes, the features of each group side by side.
  const std::vector<int64_t> from = StridedView::whole(made.shape()).strides;
  const auto space = static_cast<size_t>(d.spatial);
  std::vector<int64_t> out_sizes(shape.begin(), shape.end()), strides(out_sizes.size());
  auto place = [&](int64_t axis, size_t of_made) { strides[static_cast<size_t>(axis)] = from[of_made]; };
  place(d.out_batch, 0), place(d.out_feature, space + 1);
  for (size_t s = 0; s < space; ++s) place(d.out_space[s], s + 1);
  const auto at = d.out_feature;
  out_sizes[static_cast<size_t>(at)] /= groups;
  out_sizes.insert(out_sizes.begin() + at, groups), strides.insert(strides.begin() + at, 1);
  return copy_strided(made, {Shape(out_sizes), 0, strides}).reshaped(shape);
}

}  // namespace ig::eager
