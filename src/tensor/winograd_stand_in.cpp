// The transforms, element by element.
#include "tensor/winograd_stand_in.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "ops/contraction.h"
#include "runtime/prebuilt.h"

namespace ig::eager {
namespace {

constexpr int64_t kTerms = 16;
constexpr int64_t kChunkBytes = int64_t{4} << 20;  // of the transformed image

// Of a matrix m, given by its elements, f applied to each column, then to each row of what that gives.
template <size_t In, size_t Out, class T, class F>
std::array<T, Out * Out> both_ways(const std::array<T, In * In>& m, const F& f) {
  std::array<T, Out * In> columns;
  for (size_t c = 0; c < In; ++c) {
    std::array<T, In> in;
    for (size_t r = 0; r < In; ++r) in[r] = m[r * In + c];
    const std::array<T, Out> made = f(in);
    for (size_t r = 0; r < Out; ++r) columns[r * In + c] = made[r];
  }
  std::array<T, Out * Out> out;
  for (size_t r = 0; r < Out; ++r) {
    std::array<T, In> in;
    for (size_t c = 0; c < In; ++c) in[c] = columns[r * In + c];
    const std::array<T, Out> made = f(in);
    for (size_t c = 0; c < Out; ++c) out[r * Out + c] = made[c];
  }
  return out;
}

template <class T>
std::array<T, kTerms> image_to_terms(const std::array<T, 16>& d) {
  return both_ways<4, 4>(d, [](const std::array<T, 4>& e) {
    return std::array<T, 4>{e[0] - e[2], e[1] + e[2], e[2] - e[1], e[1] - e[3]};
  });
}
template <class T>
std::array<T, kTerms> taps_to_terms(const std::array<T, 9>& g) {
  return both_ways<3, 4>(g, [](const std::array<T, 3>& e) {
    const T ends = T(0.5) * (e[0] + e[2]), middle = T(0.5) * e[1];
    return std::array<T, 4>{e[0], ends + middle, ends - middle, e[2]};
  });
}
template <class T>
std::array<T, 4> terms_to_results(const std::array<T, kTerms>& m) {
  return both_ways<4, 2>(
      m, [](const std::array<T, 4>& e) { return std::array<T, 2>{e[0] + e[1] + e[2], e[1] - e[2] - e[3]}; });
}
template <class T>
std::array<T, kTerms> results_to_terms(const std::array<T, 4>& y) {
  return both_ways<2, 4>(
      y, [](const std::array<T, 2>& e) { return std::array<T, 4>{e[0], e[0] + e[1], e[0] - e[1], -e[1]}; });
}
template <class T>
std::array<T, 9> terms_to_taps(const std::array<T, kTerms>& m) {
  return both_ways<4, 3>(m, [](const std::array<T, 4>& e) {
    const T sum = T(0.5) * (e[1] + e[2]), difference = T(0.5) * (e[1] - e[2]);
    return std::array<T, 3>{e[0] + sum, difference, sum + e[3]};
  });
}

template <class T, size_t N>
bool are_alike(const std::array<T, N>& values) {
  T least = std::abs(values[0]), most = least, odd = values[0] - values[0];
  for (size_t i = 1; i < N; ++i) {
    const T size = std::abs(values[i]);
    least = size < least ? size : least;
    most = size > most ? size : most;
    odd = odd + (values[i] - values[i]);
  }
  return most <= least * static_cast<T>(ops::kWinogradRange) && odd == T(0);
}

// As the kernels at hand do it.
template <class T>
T multiply_add(T a, T b, T sum) {
  static const bool fused = rt::prebuilt_level() >= 3;
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
  // Calls body(feature, elements) with the N x N elements from the square's first place on.
  template <size_t N, class F>
  void each(const Square& square, const F& body) const {
    std::array<const T*, N * N> under;
    for (size_t e = 0; e < under.size(); ++e)
      under[e] = at(square, static_cast<int64_t>(e / N), static_cast<int64_t>(e % N));
    for (int64_t i = 0; i < features; ++i) {
      std::array<T, N * N> elements;
      for (size_t e = 0; e < under.size(); ++e) elements[e] = under[e] ? under[e][i] : T(0);
      body(i, elements);
    }
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
    for (int64_t pair = 0; pair < pairs; ++pair) {
      std::array<T, 9> g;
      for (size_t tap = 0; tap < g.size(); ++tap) g[tap] = taps_[static_cast<int64_t>(tap) * pairs + pair];
      const std::array<T, kTerms> terms = taps_to_terms(g);
      for (size_t t = 0; t < terms.size(); ++t) to[static_cast<int64_t>(t) * pairs + pair] = terms[t];
    }
    return out;
  }

  // Squares behind the last one are zeros.
  Tensor transformed_image(int64_t first, int64_t count, int64_t rows) const {
    Tensor out = Tensor::empty(dtype_, Shape{kTerms, rows, inputs_});
    if (rows > count) std::memset(out.data(), 0, out.bytes());
    T* to = reinterpret_cast<T*>(out.data());
    for (int64_t s = 0; s < count; ++s)
      image_.template each<4>(square(first + s), [&](int64_t i, const std::array<T, 16>& elements) {
        const std::array<T, kTerms> terms = image_to_terms(elements);
        for (size_t t = 0; t < terms.size(); ++t)
          to[(static_cast<int64_t>(t) * rows + s) * inputs_ + i] = terms[t];
      });
    return out;
  }

  void finish(const Tensor& sums, int64_t first, int64_t count) {
    const T* from = reinterpret_cast<const T*>(sums.data());
    T* to = reinterpret_cast<T*>(result_.data());
    const int64_t term = sums.shape()[1] * features_;
    for (int64_t s = 0; s < count; ++s) {
      const Square at = square(first + s);
      for (int64_t f = 0; f < features_; ++f) {
        std::array<T, kTerms> m;
        for (size_t t = 0; t < m.size(); ++t) m[t] = from[static_cast<int64_t>(t) * term + s * features_ + f];
        std::array<T, 4> results = terms_to_results(m);
        if (!are_alike(results))
          for (size_t q = 0; q < 4; ++q) results[q] = by_taps(at, q, f);
        for (size_t q = 0; q < 4; ++q) {
          const int64_t y = at.row + static_cast<int64_t>(q / 2), x = at.column + static_cast<int64_t>(q % 2);
          if (y < places_[0] && x < places_[1])
            to[((at.image * places_[0] + y) * places_[1] + x) * features_ + f] = results[q];
        }
      }
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
std::optional<Tensor> taps_of(const Tensor& image, const Tensor& cotangent, std::array<int64_t, 2> low,
                              const Products& products) {
  const FeatureMap<T> x(image, low), y(cotangent, {0, 0});
  const int64_t images = image.shape()[0], inputs = x.features, features = y.features;
  const int64_t rows = (y.size[0] + 1) / 2, columns = (y.size[1] + 1) / 2, all = images * rows * columns;
  constexpr int64_t kMostBytes = int64_t{256} << 20;
  if (kTerms * all * (inputs + features) * static_cast<int64_t>(sizeof(T)) > kMostBytes) return std::nullopt;
  Tensor of_image = Tensor::empty(image.dtype(), Shape{kTerms, inputs, all});
  Tensor of_cotangent = Tensor::empty(image.dtype(), Shape{kTerms, all, features});
  T *to = reinterpret_cast<T*>(of_image.data()), *factors = reinterpret_cast<T*>(of_cotangent.data());
  for (int64_t s = 0; s < all; ++s) {
    const Square square = square_at(s, rows, columns);
    x.template each<4>(square, [&](int64_t i, const std::array<T, 16>& elements) {
      const std::array<T, kTerms> terms = image_to_terms(elements);
      for (size_t t = 0; t < terms.size(); ++t)
        to[(static_cast<int64_t>(t) * inputs + i) * all + s] = terms[t];
    });
    y.template each<2>(square, [&](int64_t f, const std::array<T, 4>& elements) {
      const std::array<T, kTerms> terms = results_to_terms(elements);
      for (size_t t = 0; t < terms.size(); ++t)
        factors[(static_cast<int64_t>(t) * all + s) * features + f] = terms[t];
    });
  }
  const std::optional<Tensor> sums = products(of_image, of_cotangent);
  if (!sums) return std::nullopt;
  Tensor result = Tensor::empty(image.dtype(), Shape{3, 3, inputs, features});
  const T* from = reinterpret_cast<const T*>(sums->data());
  T* taps_at = reinterpret_cast<T*>(result.data());
  const int64_t pairs = inputs * features;
  for (int64_t i = 0; i < inputs; ++i)
    for (int64_t f = 0; f < features; ++f) {
      std::array<T, kTerms> m;
      for (size_t t = 0; t < m.size(); ++t) m[t] = from[static_cast<int64_t>(t) * pairs + i * features + f];
      std::array<T, 9> taps = terms_to_taps(m);
      if (!are_alike(taps)) {
        taps.fill(T(0));
        for (int64_t row = 0; row < y.size[0]; ++row)
          for (int64_t column = 0; column < y.size[1]; ++column)
            for (int64_t n = 0; n < images; ++n)
              for (int64_t t = 0; t < 9; ++t)
                if (const T* element = x.at({n, row, column}, t / 3, t % 3))
                  taps[static_cast<size_t>(t)] =
                      multiply_add(element[i], y.at({n, row, column}, 0, 0)[f], taps[static_cast<size_t>(t)]);
      }
      for (size_t t = 0; t < taps.size(); ++t)
        taps_at[static_cast<int64_t>(t) * pairs + i * features + f] = taps[t];
    }
  return result;
}

}  // namespace

std::optional<Tensor> filter_squares(const Tensor& image, const Tensor& taps, std::array<int64_t, 2> low,
                                     std::array<int64_t, 2> places, const Products& products) {
  if (image.dtype() == DType::F32) return Filtering<float>(image, taps, low, places).run(products);
  return Filtering<double>(image, taps, low, places).run(products);
}

std::optional<Tensor> filter_taps(const Tensor& image, const Tensor& cotangent, std::array<int64_t, 2> low,
                                  const Products& products) {
  if (image.dtype() == DType::F32) return taps_of<float>(image, cotangent, low, products);
  return taps_of<double>(image, cotangent, low, products);
}

}  // namespace ig::eager
