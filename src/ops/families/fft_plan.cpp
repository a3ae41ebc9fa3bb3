// Lengths of Fourier transforms: their factors, and the tables of roots; see fft.h.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/families/array_tools.h"
#include "ops/families/complex.h"
#include "ops/families/fft.h"
#include "support/error.h"

namespace ig::ops::fourier {
namespace {

constexpr int64_t kLargestRadix = 13;
// From this length on a transform of the last axis is a matrix of its own; shorter ones go side by side.
constexpr int64_t kSplitFrom = 256;
// What the columns of one block may hold, so that its two buffers stay in a core's second cache.
constexpr int64_t kLongestSplit = int64_t{1} << 20;
constexpr int64_t kColumnBytes = int64_t{1} << 19;
// Columns are taken in chunks of whole cache lines, and more of them where they are short.
constexpr int64_t kChunkBytes = 128, kBlockBytes = int64_t{1} << 13;

int64_t bytes_of(DType part) { return static_cast<int64_t>(size_of(part)); }

std::complex<double> first_octant(int64_t k, int64_t n) {
  double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// e^(2πi k/n) for 0 <= k <= n / 4: angles above an eighth of the circle are taken from its diagonal.
std::complex<double> first_quarter(int64_t k, int64_t n) {
  if (8 * k <= n) return first_octant(k, n);
  std::complex<double> z = first_octant(n - 4 * k, 4 * n);
  return {z.imag(), z.real()};
}

// How much of a vector is idle where so many columns stand side by side, and what the passes cost.
double cost(int64_t n, int64_t width, int64_t lanes) {
  double out = 0;
  int64_t before = 1;
  for (int64_t r : radices(n)) {
    double columns = static_cast<double>(before * width), l = static_cast<double>(lanes);
    out += (1 + static_cast<double>(r) / 8) * std::ceil(columns / l) * l / columns;
    before *= r;
  }
  return out;
}

}  // namespace

std::complex<double> root(int64_t k, int64_t n) {
  IG_CHECK(n > 0, "there are no roots of order {}", n);
  k %= n;
  auto conj = [](std::complex<double> z) { return std::conj(z); };
  // By quarters of the circle, counted in integers.
  int64_t quarter = 4 * k / n;
  std::complex<double> z = first_quarter(4 * k - quarter * n, 4 * n);
  switch (quarter) {
    case 0: return conj(z);
    case 1: return conj({-z.imag(), z.real()});
    case 2: return conj(-z);
    default: return conj({z.imag(), -z.real()});
  }
}

double scale_of(bool inverse, const std::string& norm, int64_t n) {
  auto length = static_cast<double>(n);
  if (norm == "ortho") return 1 / std::sqrt(length);
  return (norm == "forward") != inverse ? 1 / length : 1;
}

std::vector<int64_t> radices(int64_t n) {
  std::vector<int64_t> out;
  for (int64_t r : {13, 11, 7, 5, 3})
    for (; n % r == 0; n /= r) out.push_back(r);
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  if (n != 1) return {};
  // By eights; what is left over as fours, or as one two.
  while (twos >= 3 && twos != 4) {
    out.push_back(8);
    twos -= 3;
  }
  for (; twos >= 2; twos -= 2) out.push_back(4);
  if (twos == 1) out.push_back(2);
  return out;
}

bool has_passes(int64_t n) {
  for (int64_t r : {2, 3, 5, 7, 11, 13})
    while (n % r == 0) n /= r;
  return n == 1;
}

std::pair<int64_t, int64_t> split(DType part, int64_t n) {
  int64_t lanes = kChunkBytes / 2 / bytes_of(part);
  std::pair<int64_t, int64_t> best{1, n};
  double least = std::numeric_limits<double>::infinity();
  for (int64_t first = 2; first * first <= n * kLargestRadix && first < n; ++first) {
    if (n % first != 0) continue;
    double now = cost(first, n / first, lanes) + cost(n / first, first, lanes);
    // Halves that differ much need a wide table, and a long pass over few columns.
    double apart = std::fabs(std::log2(static_cast<double>(first * first) / static_cast<double>(n)));
    now += apart / 8;
    if (now < least) best = {first, n / first}, least = now;
  }
  return best;
}

Plan Plan::of(DType part, int64_t n, const Dim& inner) {
  int64_t chunk = kChunkBytes / bytes_of(part) / 2;
  int64_t wide = std::clamp(kBlockBytes / (n * bytes_of(part)) / chunk, int64_t{1}, int64_t{4}) * chunk;
  if (inner == 1) {
    if (n < kSplitFrom) return {.way = Way::Rows, .n = n, .width = wide};
    auto [first, second] = split(part, n);
    return {.way = Way::Split, .n = n, .width = 1, .first = first, .second = second};
  }
  if (inner.is_constant()) wide = std::min(wide, std::max<int64_t>(inner.constant(), 1));
  return {.way = Way::Columns, .n = n, .width = wide};
}

bool fits(int64_t n, const Dim& inner) {
  if (inner == 1) return n <= kLongestSplit;
  return n * kChunkBytes <= kColumnBytes;
}

Literal table(DType part, const Plan& plan, bool real) {
  std::vector<double> out;
  auto passes = [&](int64_t n) {
    int64_t before = 1;
    for (int64_t r : radices(n)) {
      int64_t behind = n / (before * r);
      for (int64_t p = 0; p < behind && behind > 1; ++p)
        for (int64_t t = 1; t < r; ++t) {
          std::complex<double> w = root(p * t * before, n);
          out.push_back(w.real());
          out.push_back(w.imag());
        }
      before *= r;
    }
  };
  if (plan.way != Plan::Way::Split) {
    passes(plan.n);
  } else {
    passes(plan.first);
    passes(plan.second);
    for (bool imaginary : {false, true})
      for (int64_t i = 0; i < plan.n; ++i) {
        std::complex<double> w = root((i / plan.second) * (i % plan.second), plan.n);
        out.push_back(imaginary ? w.imag() : w.real());
      }
  }
  for (bool imaginary : {false, true})
    for (int64_t k = 0; k <= plan.n && real; ++k) {
      std::complex<double> w = root(k, 2 * plan.n) * std::complex<double>(0, -1);
      out.push_back(imaginary ? w.imag() : w.real());
    }
  if (out.empty()) out.push_back(0);  // one pass alone needs none, but a buffer has elements
  Literal literal = Literal::allocate(part, {static_cast<int64_t>(out.size())});
  for (size_t i = 0; i < out.size(); ++i) tools::set_real(literal, static_cast<int64_t>(i), out[i]);
  return literal;
}

namespace {

using Numbers = std::vector<std::complex<double>>;

// Of every `step`th number from `first` on; roots[i] is that of all numbers.
Numbers transformed(const Numbers& x, const Numbers& roots, size_t first, size_t step) {
  size_t n = x.size() / step, r = 2;
  if (n == 1) return {x[first]};
  while (n % r != 0) ++r;
  size_t m = n / r;
  Numbers out(n, 0);
  for (size_t s = 0; s < r; ++s) {
    Numbers part = transformed(x, roots, first + s * step, step * r);
    for (size_t k = 0; k < n; ++k) out[k] += complex_product(roots[s * k % n * step], part[k % m]);
  }
  return out;
}

}  // namespace

std::vector<std::complex<double>> transformed(const std::vector<std::complex<double>>& x) {
  Numbers roots;
  for (int64_t k = 0, n = static_cast<int64_t>(x.size()); k < n; ++k) roots.push_back(root(k, n));
  return transformed(x, roots, 0, 1);
}

}  // namespace ig::ops::fourier
