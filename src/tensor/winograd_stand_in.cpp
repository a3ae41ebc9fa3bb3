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

template <class T>
class Filtering {
 public:
  Filtering(const Tensor& image, const Tensor& taps, std::array<int64_t, 2> low,
            std::array<int64_t, 2> places)
      : image_(reinterpret_cast<const T*>(image.data())),
        taps_(reinterpret_cast<const T*>(taps.data())),
        dtype_(image.dtype()),
        images_(image.shape()[0]),
        size_{image.shape()[1], image.shape()[2]},
        low_(low),
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
  struct Square {
    int64_t image, row, column;  // of its first place
  };
  int64_t squares(size_t axis) const { return (places_[axis] + 1) / 2; }
  Square square_at(int64_t number) const {
    return {number / squares(1) / squares(0), number / squares(1) % squares(0) * 2, number % squares(1) * 2};
  }
  // The features of the image at a place, counted with the border; null on the border.
  const T* at(const Square& square, int64_t row, int64_t column) const {
    const int64_t y = square.row + row - low_[0], x = square.column + column - low_[1];
    if (y < 0 || y >= size_[0] || x < 0 || x >= size_[1]) return nullptr;
    return image_ + ((square.image * size_[0] + y) * size_[1] + x) * inputs_;
  }

  // Of a matrix m, given by its elements, f applied to each column, then to each row of what that gives.
  template <size_t In, size_t Out, class F>
  static void both_ways(const std::array<T, In * In>& m, const F& f, std::array<T, Out * Out>& out) {
    std::array<T, Out * In> columns;
    for (size_t c = 0; c < In; ++c) {
      std::array<T, In> in;
      for (size_t r = 0; r < In; ++r) in[r] = m[r * In + c];
      const std::array<T, Out> made = f(in);
      for (size_t r = 0; r < Out; ++r) columns[r * In + c] = made[r];
    }
    for (size_t r = 0; r < Out; ++r) {
      std::array<T, In> in;
      for (size_t c = 0; c < In; ++c) in[c] = columns[r * In + c];
      const std::array<T, Out> made = f(in);
      for (size_t c = 0; c < Out; ++c) out[r * Out + c] = made[c];
    }
  }

  Tensor transformed_weights() const {
    Tensor out = Tensor::empty(dtype_, Shape{kTerms, inputs_, features_});
    T* to = reinterpret_cast<T*>(out.data());
    const int64_t pairs = inputs_ * features_;
    auto steps = [](const std::array<T, 3>& g) {
      const T ends = T(0.5) * (g[0] + g[2]), middle = T(0.5) * g[1];
      return std::array<T, 4>{g[0], ends + middle, ends - middle, g[2]};
    };
    for (int64_t pair = 0; pair < pairs; ++pair) {
      std::array<T, 9> g;
      for (size_t tap = 0; tap < g.size(); ++tap) g[tap] = taps_[static_cast<int64_t>(tap) * pairs + pair];
      std::array<T, kTerms> terms;
      both_ways<3, 4>(g, steps, terms);
      for (size_t t = 0; t < terms.size(); ++t) to[static_cast<int64_t>(t) * pairs + pair] = terms[t];
    }
    return out;
  }

  // Squares behind the last one are zeros.
  Tensor transformed_image(int64_t first, int64_t count, int64_t rows) const {
    Tensor out = Tensor::empty(dtype_, Shape{kTerms, rows, inputs_});
    if (rows > count) std::memset(out.data(), 0, out.bytes());
    T* to = reinterpret_cast<T*>(out.data());
    auto steps = [](const std::array<T, 4>& d) {
      return std::array<T, 4>{d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
    };
    for (int64_t s = 0; s < count; ++s) {
      const Square square = square_at(first + s);
      std::array<const T*, kTerms> under;
      for (size_t e = 0; e < under.size(); ++e)
        under[e] = at(square, static_cast<int64_t>(e) / 4, static_cast<int64_t>(e) % 4);
      for (int64_t i = 0; i < inputs_; ++i) {
        std::array<T, kTerms> d, terms;
        for (size_t e = 0; e < under.size(); ++e) d[e] = under[e] ? under[e][i] : T(0);
        both_ways<4, 4>(d, steps, terms);
        for (size_t t = 0; t < terms.size(); ++t)
          to[(static_cast<int64_t>(t) * rows + s) * inputs_ + i] = terms[t];
      }
    }
    return out;
  }

  void finish(const Tensor& sums, int64_t first, int64_t count) {
    const T* from = reinterpret_cast<const T*>(sums.data());
    T* to = reinterpret_cast<T*>(result_.data());
    const int64_t term = sums.shape()[1] * features_;
    auto steps = [](const std::array<T, 4>& m) {
      return std::array<T, 2>{m[0] + m[1] + m[2], m[1] - m[2] - m[3]};
    };
    for (int64_t s = 0; s < count; ++s) {
      const Square square = square_at(first + s);
      for (int64_t f = 0; f < features_; ++f) {
        std::array<T, kTerms> m;
        for (size_t t = 0; t < m.size(); ++t) m[t] = from[static_cast<int64_t>(t) * term + s * features_ + f];
        std::array<T, 4> results;
        both_ways<4, 2>(m, steps, results);
        if (!good(results))
          for (size_t q = 0; q < 4; ++q) results[q] = by_taps(square, q, f);
        for (size_t q = 0; q < 4; ++q) {
          const int64_t y = square.row + static_cast<int64_t>(q / 2),
                        x = square.column + static_cast<int64_t>(q % 2);
          if (y < places_[0] && x < places_[1])
            to[((square.image * places_[0] + y) * places_[1] + x) * features_ + f] = results[q];
        }
      }
    }
  }
  static bool good(const std::array<T, 4>& results) {
    T least = std::abs(results[0]), most = least, odd = results[0] - results[0];
    for (size_t q = 1; q < 4; ++q) {
      const T size = std::abs(results[q]);
      least = size < least ? size : least;
      most = size > most ? size : most;
      odd = odd + (results[q] - results[q]);
    }
    return most <= least * static_cast<T>(ops::kWinogradRange) && odd == T(0);
  }
  T by_taps(const Square& square, size_t q, int64_t feature) const {
    const bool fused = rt::prebuilt_level() >= 3;  // as the kernels at hand
    T sum = 0;
    for (int64_t tap = 0; tap < 9; ++tap) {
      const T* x = at(square, static_cast<int64_t>(q / 2) + tap / 3, static_cast<int64_t>(q % 2) + tap % 3);
      const T* w = taps_ + tap * inputs_ * features_ + feature;
      for (int64_t i = 0; x && i < inputs_; ++i)
        sum = fused ? std::fma(x[i], w[i * features_], sum) : sum + x[i] * w[i * features_];
    }
    return sum;
  }

  const T *image_, *taps_;
  DType dtype_;
  int64_t images_;
  std::array<int64_t, 2> size_, low_, places_;
  int64_t inputs_, features_;
  Tensor result_;
};

}  // namespace

std::optional<Tensor> filter_squares(const Tensor& image, const Tensor& taps, std::array<int64_t, 2> low,
                                     std::array<int64_t, 2> places, const Products& products) {
  if (image.dtype() == DType::F32) return Filtering<float>(image, taps, low, places).run(products);
  return Filtering<double>(image, taps, low, places).run(products);
}

}  // namespace ig::eager
