// The transforms, by vectors of features as long as every processor has them, and one by one what is left
// over.
#include "tensor/winograd_stand_in.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ops/contraction.h"
#include "ops/winograd_steps.h"
#include "runtime/prebuilt.h"

namespace ig::eager {
namespace {

namespace steps = ops::winograd;
constexpr int64_t kTerms = 16;
constexpr int64_t kChunkBytes = int64_t{4} << 20;  // of the transformed image

// Elements of several features, or of one.
template <class T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(16)));
  static constexpr int64_t count = 16 / static_cast<int64_t>(sizeof(T));
};
// Calls body(i, zero) for features from number i on: as many as the type of zero holds.
template <class T, class F>
void for_features(int64_t features, const F& body) {
  int64_t i = 0;
  for (; i + Lanes<T>::count <= features; i += Lanes<T>::count) body(i, typename Lanes<T>::Vector{});
  for (; i < features; ++i) body(i, T{});
}
template <class E, class T>
E load(const T* from) {
  E out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
template <class E, class T>
void store(T* to, const E& value) {
  std::memcpy(to, &value, sizeof value);
}

// The transforms of a matrix of such elements.
template <class T>
struct Half {
  template <class E>
  E operator()(const E& e) const {
    return T(0.5) * e;
  }
};
constexpr auto kAsItIs = [](const auto& e) { return e; };

template <class T, class E>
std::array<E, kTerms> image_to_terms(const std::array<E, 16>& d) {
  return steps::both_ways<4, 4>(d, steps::image_to_terms<E, Half<T>>, Half<T>{}, kAsItIs);
}
template <class T, class E>
std::array<E, kTerms> taps_to_terms(const std::array<E, 9>& g) {
  return steps::both_ways<3, 4>(g, steps::taps_to_terms<E, Half<T>>, Half<T>{}, kAsItIs);
}
template <class T, class E>
std::array<E, 4> terms_to_results(const std::array<E, kTerms>& m) {
  return steps::both_ways<4, 2>(m, steps::terms_to_results<E, Half<T>>, Half<T>{}, kAsItIs);
}
template <class T, class E>
std::array<E, kTerms> results_to_terms(const std::array<E, 4>& y) {
  return steps::both_ways<2, 4>(y, steps::results_to_terms<E, Half<T>>, Half<T>{}, kAsItIs);
}
template <class T, class E>
std::array<E, 9> terms_to_taps(const std::array<E, kTerms>& m) {
  return steps::both_ways<4, 3>(m, steps::terms_to_taps<E, Half<T>>, Half<T>{}, kAsItIs);
}

// Whether the values of each feature are finite and, where that is asked, alike, as the kernels ask it.
template <class T, class E, size_t N>
bool are_good(const std::array<E, N>& values, bool alike) {
  auto size_of = [](const E& e) { return e < E{} ? -e : e; };
  E least = size_of(values[0]), most = least, odd = values[0] - values[0];
  for (size_t i = 1; i < N; ++i) {
    const E size = size_of(values[i]);
    least = size < least ? size : least;
    most = size > most ? size : most;
    odd = odd + (values[i] - values[i]);
  }
  const auto in_range = most <= least * static_cast<T>(ops::kWinogradRange), finite = odd == E{};
  if constexpr (std::is_same_v<E, T>) {
    return (in_range || !alike) && finite;
  } else {
    bool all = true;
    for (int64_t lane = 0; lane < Lanes<T>::count; ++lane)
      all = all && (in_range[lane] || !alike) && finite[lane];
    return all;
  }
}

// As kernels do it.
template <class T>
T multiply_add(T a, T b, T sum) {
  static const bool fused = rt::kernel_level() >= 3;
  return fused ? std::fma(a, b, sum) : sum + a * b;
}

// A square's image, and its first place.
struct Square {
  int64_t image, row, column;
};
Square square_at(int64_t number, int64_t rows, int64_t columns) {
  return {number / columns / rows, number / columns % rows * 2, number % columns * 2};
}

// An array [images, rows, columns, features].
template <class T>
struct FeatureMap {
  const T* data;
  std::array<int64_t, 2> size, low;
  int64_t features;

  FeatureMap(const Tensor& x, std::array<int64_t, 2> in_front)
      : data(reinterpret_cast<const T*>(x.data())),
        size{x.shape()[1], x.shape()[2]},
        low(in_front),
        features(x.shape()[3]) {}
  // The features of the place that lies so far behind the square's first; null beyond the image.
  const T* at(const Square& square, int64_t row, int64_t column) const {
    const int64_t y = square.row + row - low[0], x = square.column + column - low[1];
    if (y < 0 || y >= size[0] || x < 0 || x >= size[1]) return nullptr;
    return data + ((square.image * size[0] + y) * size[1] + x) * features;
  }
  // Calls body(i, elements) with the N x N elements from the square's first place on, of features from number
  // i on.
  template <size_t N, class F>
  void each(const Square& square, const F& body) const {
    std::array<const T*, N * N> under;
    for (size_t e = 0; e < under.size(); ++e)
      under[e] = at(square, static_cast<int64_t>(e / N), static_cast<int64_t>(e % N));
    for_features<T>(features, [&](int64_t i, auto zero) {
      std::array<decltype(zero), N * N> elements;
      for (size_t e = 0; e < under.size(); ++e)
        elements[e] = under[e] ? load<decltype(zero)>(under[e] + i) : zero;
      body(i, elements);
    });
  }
};

template <class T>
class Filtering {
 public:
  Filtering(const Tensor& image, const Tensor& taps, std::array<int64_t, 2> low,
            std::array<int64_t, 2> places)
      : image_(image, low),
        taps_(reinterpret_cast<const T*>(taps.data())),
        dtype_(image.dtype()),
        images_(image.shape()[0]),
        places_(places),
        inputs_(image.shape()[3]),
        features_(taps.shape()[3]),
        result_(Tensor::empty(dtype_, Shape{images_, places[0], places[1], features_})) {}

  std::optional<Tensor> run(const Products& products) {
    const Tensor weights = transformed_weights();
    const int64_t all = images_ * squares(0) * squares(1);
    const int64_t most =
        std::max<int64_t>(2, kChunkBytes / (kTerms * inputs_ * static_cast<int64_t>(sizeof(T))));
    for (int64_t first = 0; first < all; first += most) {
      const int64_t count = std::min(most, all - first);
      // A kernel for products of one row would be another one.
      const std::optional<Tensor> sums =
          products(transformed_image(first, count, std::max<int64_t>(2, count)), weights);
      if (!sums) return std::nullopt;
      finish(*sums, first, count);
    }
    return std::move(result_);
  }

 private:
  int64_t squares(size_t axis) const { return (places_[axis] + 1) / 2; }
  Square square(int64_t number) const { return square_at(number, squares(0), squares(1)); }

  Tensor transformed_weights() const {
    Tensor out = Tensor::empty(dtype_, Shape{kTerms, inputs_, features_});
    T* to = reinterpret_cast<T*>(out.data());
    const int64_t pairs = inputs_ * features_;
    for_features<T>(pairs, [&](int64_t pair, auto zero) {
      std::array<decltype(zero), 9> g;
      for (size_t tap = 0; tap < g.size(); ++tap)
        g[tap] = load<decltype(zero)>(taps_ + static_cast<int64_t>(tap) * pairs + pair);
      const auto terms = taps_to_terms<T>(g);
      for (size_t t = 0; t < terms.size(); ++t) store(to + static_cast<int64_t>(t) * pairs + pair, terms[t]);
    });
    return out;
  }

  // Squares behind the last one are zeros.
  Tensor transformed_image(int64_t first, int64_t count, int64_t rows) const {
    Tensor out = Tensor::empty(dtype_, Shape{kTerms, rows, inputs_});
    if (rows > count) std::memset(out.data(), 0, out.bytes());
    T* to = reinterpret_cast<T*>(out.data());
    for (int64_t s = 0; s < count; ++s)
      image_.template each<4>(square(first + s), [&](int64_t i, const auto& elements) {
        const auto terms = image_to_terms<T>(elements);
        for (size_t t = 0; t < terms.size(); ++t)
          store(to + (static_cast<int64_t>(t) * rows + s) * inputs_ + i, terms[t]);
      });
    return out;
  }

  void finish(const Tensor& sums, int64_t first, int64_t count) {
    const int64_t term = sums.shape()[1] * features_;
    for (int64_t s = 0; s < count; ++s) {
      const Square at = square(first + s);
      const T* from = reinterpret_cast<const T*>(sums.data()) + s * features_;
      for_features<T>(features_, [&](int64_t f, auto zero) { finish_features(at, from, term, f, zero); });
    }
  }
  template <class E>
  void finish_features(const Square& at, const T* from, int64_t term, int64_t f, E) {
    std::array<E, kTerms> m;
    for (size_t t = 0; t < m.size(); ++t) m[t] = load<E>(from + static_cast<int64_t>(t) * term + f);
    std::array<E, 4> results = terms_to_results<T>(m);
    if (!are_good<T>(results, true)) {
      if constexpr (std::is_same_v<E, T>) {
        for (size_t q = 0; q < 4; ++q) results[q] = by_taps(at, q, f);
      } else {
        for (int64_t lane = 0; lane < Lanes<T>::count; ++lane) finish_features(at, from, term, f + lane, T{});
        return;
      }
    }
    T* to = reinterpret_cast<T*>(result_.data());
    for (size_t q = 0; q < 4; ++q) {
      const int64_t y = at.row + static_cast<int64_t>(q / 2), x = at.column + static_cast<int64_t>(q % 2);
      if (y < places_[0] && x < places_[1])
        store(to + ((at.image * places_[0] + y) * places_[1] + x) * features_ + f, results[q]);
    }
  }
  T by_taps(const Square& square, size_t q, int64_t feature) const {
    T sum = 0;
    for (int64_t tap = 0; tap < 9; ++tap) {
      const T* x =
          image_.at(square, static_cast<int64_t>(q / 2) + tap / 3, static_cast<int64_t>(q % 2) + tap % 3);
      const T* w = taps_ + tap * inputs_ * features_ + feature;
      for (int64_t i = 0; x && i < inputs_; ++i) sum = multiply_add(x[i], w[i * features_], sum);
    }
    return sum;
  }

  const FeatureMap<T> image_;
  const T* taps_;
  DType dtype_;
  int64_t images_;
  std::array<int64_t, 2> places_;
  int64_t inputs_, features_;
  Tensor result_;
};

template <class T>
class Gradient {
 public:
  Gradient(const Tensor& image, const Tensor& cotangent, std::array<int64_t, 2> low)
      : x_(image, low),
        y_(cotangent, {0, 0}),
        dtype_(image.dtype()),
        images_(image.shape()[0]),
        inputs_(x_.features),
        features_(y_.features),
        result_(Tensor::empty(dtype_, Shape{3, 3, inputs_, features_})) {}

  std::optional<Tensor> run(const Products& products) {
    constexpr int64_t kMostBytes = int64_t{256} << 20;
    const int64_t rows = (y_.size[0] + 1) / 2, columns = (y_.size[1] + 1) / 2, all = images_ * rows * columns;
    if (kTerms * all * (inputs_ + features_) * static_cast<int64_t>(sizeof(T)) > kMostBytes)
      return std::nullopt;
    Tensor elements = Tensor::empty(dtype_, Shape{kTerms, all, inputs_});
    Tensor cotangents = Tensor::empty(dtype_, Shape{kTerms, all, features_});
    auto keep = [&](Tensor& in, int64_t features, int64_t s, int64_t i, const auto& terms) {
      T* to = reinterpret_cast<T*>(in.data()) + s * features + i;
      for (size_t t = 0; t < terms.size(); ++t)
        store(to + static_cast<int64_t>(t) * all * features, terms[t]);
    };
    for (int64_t s = 0; s < all; ++s) {
      const Square square = square_at(s, rows, columns);
      x_.template each<4>(
          square, [&](int64_t i, const auto& d) { keep(elements, inputs_, s, i, image_to_terms<T>(d)); });
      y_.template each<2>(square, [&](int64_t f, const auto& y) {
        keep(cotangents, features_, s, f, results_to_terms<T>(y));
      });
    }
    const std::optional<Tensor> sums = products(elements, cotangents);
    if (!sums) return std::nullopt;
    for (int64_t i = 0; i < inputs_; ++i)
      for_features<T>(features_, [&](int64_t f, auto zero) { finish(*sums, i, f, zero); });
    return std::move(result_);
  }

 private:
  template <class E>
  void finish(const Tensor& sums, int64_t i, int64_t f, E) {
    const int64_t pairs = inputs_ * features_, pair = i * features_ + f;
    const T* from = reinterpret_cast<const T*>(sums.data()) + pair;
    std::array<E, kTerms> m;
    for (size_t t = 0; t < m.size(); ++t) m[t] = load<E>(from + static_cast<int64_t>(t) * pairs);
    std::array<E, 9> taps = terms_to_taps<T>(m);
    if (!are_good<T>(taps, false)) {
      if constexpr (std::is_same_v<E, T>) {
        for (size_t t = 0; t < taps.size(); ++t) taps[t] = by_places(static_cast<int64_t>(t), i, f);
      } else {
        for (int64_t lane = 0; lane < Lanes<T>::count; ++lane) finish(sums, i, f + lane, T{});
        return;
      }
    }
    T* to = reinterpret_cast<T*>(result_.data()) + pair;
    for (size_t t = 0; t < taps.size(); ++t) store(to + static_cast<int64_t>(t) * pairs, taps[t]);
  }
  T by_places(int64_t tap, int64_t input, int64_t feature) const {
    T sum = 0;
    for (int64_t row = 0; row < y_.size[0]; ++row)
      for (int64_t column = 0; column < y_.size[1]; ++column)
        for (int64_t n = 0; n < images_; ++n)
          if (const T* element = x_.at({n, row, column}, tap / 3, tap % 3))
            sum = multiply_add(element[input], y_.at({n, row, column}, 0, 0)[feature], sum);
    return sum;
  }

  const FeatureMap<T> x_, y_;
  DType dtype_;
  int64_t images_, inputs_, features_;
  Tensor result_;
};

}  // namespace

std::optional<Tensor> filter_squares(const Tensor& image, const Tensor& taps, std::array<int64_t, 2> low,
                                     std::array<int64_t, 2> places, const Products& products) {
  if (image.dtype() == DType::F32) return Filtering<float>(image, taps, low, places).run(products);
  return Filtering<double>(image, taps, low, places).run(products);
}

std::optional<Tensor> filter_taps(const Tensor& image, const Tensor& cotangent, std::array<int64_t, 2> low,
                                  const Products& products) {
  if (image.dtype() == DType::F32) return Gradient<float>(image, cotangent, low).run(products);
  return Gradient<double>(image, cotangent, low).run(products);
}

}  // namespace ig::eager
