// The definitions of the orthogonal factors; see linalg_reference.h.
//
// Sources: C. Jacobi's method as in G. Golub and C. Van Loan, "Matrix Computations", 8.5; M. Hestenes'
// one-sided form of it for singular values.
#include "ops/families/linalg_reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ig::ops::factors {
namespace {

constexpr int kMostSweeps = 64;  // ten are many; NaN never ends

Complex column_product(Dense& x, int64_t p, int64_t q) {
  Complex out = 0;
  for (int64_t i = 0; i < x.rows; ++i) out += std::conj(x.at(i, p)) * x.at(i, q);
  return out;
}
double column_square(Dense& x, int64_t p) { return column_product(x, p, p).real(); }

void scale_column(Dense& x, int64_t p, Complex by) {
  for (int64_t i = 0; i < x.rows; ++i) x.at(i, p) *= by;
}

void rotate_columns(Dense& x, int64_t p, int64_t q, double c, double s) {
  for (int64_t i = 0; i < x.rows; ++i) {
    Complex a = x.at(i, p), b = x.at(i, q);
    x.at(i, p) = c * a - s * b;
    x.at(i, q) = s * a + c * b;
  }
}

Dense identity(int64_t rows, int64_t columns) {
  Dense out(rows, columns);
  for (int64_t i = 0; i < std::min(rows, columns); ++i) out.at(i, i) = 1;
  return out;
}

// Jacobi's angle: t with c = 1 / sqrt(1 + t²), s = c t.
double tangent(double twice) {
  return (twice >= 0 ? 1.0 : -1.0) / (std::fabs(twice) + std::sqrt(1 + twice * twice));
}

// What makes the first element within a hundredth of the largest positive.
Complex column_sign(Dense& x, int64_t column) {
  double top = 0;
  for (int64_t i = 0; i < x.rows; ++i) top = std::max(top, std::abs(x.at(i, column)));
  for (int64_t i = 0; i < x.rows; ++i) {
    double size = std::abs(x.at(i, column));
    if (size >= 0.99 * top && size > 0) return std::conj(x.at(i, column)) / size;
  }
  return 1;
}

std::vector<int64_t> order_of(const std::vector<double>& values, bool descending) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    double a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
    return descending ? a > b : a < b;
  });
  return order;
}

// Makes column k a unit vector at right angles to the ones before it, out of the unit vector that is
// furthest from them.
void complete(Dense& x, int64_t k) {
  int64_t best = 0;
  double most = -1;
  for (int64_t i = 0; i < x.rows; ++i) {
    double rest = 1;
    for (int64_t j = 0; j < k; ++j) rest -= std::norm(x.at(i, j));
    if (rest > most) most = rest, best = i;
  }
  for (int64_t i = 0; i < x.rows; ++i) x.at(i, k) = i == best ? 1 : 0;
  for (int turn = 0; turn < 2; ++turn)
    for (int64_t j = 0; j < k; ++j) {
      Complex along = column_product(x, j, k);
      for (int64_t i = 0; i < x.rows; ++i) x.at(i, k) -= along * x.at(i, j);
    }
  double length = std::sqrt(column_square(x, k));
  for (int64_t i = 0; i < x.rows; ++i) x.at(i, k) /= length;
}

}  // namespace

// With v = x - beta e for the x of a column, and the real beta of its length, the reflector 1 - tau v vᴴ has
// tau = 1 / (beta (beta - conj(x's first element))); its adjoint takes x to beta e.
Dense reduce_to_triangle(Dense& x, int64_t columns) {
  int64_t steps = std::min(x.rows, x.columns);
  struct Reflector {
    std::vector<Complex> v;
    Complex tau;
  };
  std::vector<Reflector> reflectors;
  auto reflect = [](Dense& y, const Reflector& h, Complex tau, int64_t from) {
    for (int64_t j = from; j < y.columns && tau != Complex(0); ++j) {
      Complex along = 0;
      for (int64_t i = 0; i < y.rows; ++i) along += std::conj(h.v[static_cast<size_t>(i)]) * y.at(i, j);
      for (int64_t i = 0; i < y.rows; ++i) y.at(i, j) -= tau * along * h.v[static_cast<size_t>(i)];
    }
  };
  for (int64_t k = 0; k < steps; ++k) {
    Reflector h{std::vector<Complex>(static_cast<size_t>(x.rows), 0), 0};
    double rest = 0;
    for (int64_t i = k; i < x.rows; ++i) {
      h.v[static_cast<size_t>(i)] = x.at(i, k);
      if (i > k) rest += std::norm(x.at(i, k));
    }
    Complex alpha = x.at(k, k);
    if (rest != 0 || alpha.imag() != 0) {
      double length = std::sqrt(std::norm(alpha) + rest), beta = alpha.real() < 0 ? length : -length;
      h.v[static_cast<size_t>(k)] -= beta;
      h.tau = 1.0 / (beta * (beta - std::conj(alpha)));
      reflect(x, h, std::conj(h.tau), k + 1);
      x.at(k, k) = beta;
      for (int64_t i = k + 1; i < x.rows; ++i) x.at(i, k) = 0;
    }
    reflectors.push_back(std::move(h));
  }
  Dense q = identity(x.rows, columns);
  for (int64_t k = steps; k-- > 0;) {
    const Reflector& h = reflectors[static_cast<size_t>(k)];
    reflect(q, h, h.tau, 0);
  }
  return q;
}

Spectrum eigen_of(Dense x) {
  int64_t n = x.rows;
  Dense v = identity(n, n);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double off = 0, all = 0;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = 0; q < n; ++q) (p == q ? all : off) += std::norm(x.at(p, q));
    if (off <= 1e-34 * all) break;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        double off_size = std::abs(x.at(p, q));
        if (off_size == 0) continue;
        // The vector q is turned first, so that the element is real.
        Complex turn = std::conj(x.at(p, q)) / off_size;
        scale_column(x, q, turn);
        scale_column(v, q, turn);
        for (int64_t j = 0; j < n; ++j) x.at(q, j) *= std::conj(turn);
        double t = tangent((x.at(q, q).real() - x.at(p, p).real()) / (2 * off_size));
        double c = 1 / std::sqrt(1 + t * t), s = c * t;
        rotate_columns(x, p, q, c, s);
        for (int64_t j = 0; j < n; ++j) {
          Complex a = x.at(p, j), b = x.at(q, j);
          x.at(p, j) = c * a - s * b;
          x.at(q, j) = s * a + c * b;
        }
        rotate_columns(v, p, q, c, s);
      }
  }
  std::vector<double> values;
  values.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values.push_back(x.at(i, i).real());
  std::vector<int64_t> order = order_of(values, false);
  Spectrum out{{}, Dense(0, 0), Dense(n, n)};
  for (int64_t k = 0; k < n; ++k) {
    int64_t from = order[static_cast<size_t>(k)];
    Complex sign = column_sign(v, from);
    out.values.push_back(values[static_cast<size_t>(from)]);
    for (int64_t i = 0; i < n; ++i) out.right.at(i, k) = sign * v.at(i, from);
  }
  return out;
}

Spectrum singular_of(Dense x, int64_t columns) {
  int64_t n = x.columns;
  Dense v = identity(n, n);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool rotated = false;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        double a = column_square(x, p), b = column_square(x, q);
        Complex product = column_product(x, p, q);
        double ab = std::abs(product);
        if (!(ab > 1e-17 * std::sqrt(a * b))) continue;
        scale_column(x, q, std::conj(product) / ab);
        scale_column(v, q, std::conj(product) / ab);
        double t = tangent((b - a) / (2 * ab)), c = 1 / std::sqrt(1 + t * t);
        rotate_columns(x, p, q, c, c * t);
        rotate_columns(v, p, q, c, c * t);
        rotated = true;
      }
    if (!rotated) break;
  }
  std::vector<double> values;
  values.reserve(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j) values.push_back(std::sqrt(column_square(x, j)));
  std::vector<int64_t> order = order_of(values, true);
  Spectrum out{{}, Dense(x.rows, columns), Dense(n, n)};
  double top = n > 0 ? values[static_cast<size_t>(order[0])] : 0;
  for (int64_t k = 0; k < columns; ++k) {
    if (k >= n) {
      complete(out.left, k);
      Complex sign = column_sign(out.left, k);
      for (int64_t i = 0; i < x.rows; ++i) out.left.at(i, k) *= sign;
      continue;
    }
    int64_t from = order[static_cast<size_t>(k)];
    Complex sign = column_sign(v, from);
    double length = values[static_cast<size_t>(from)];
    out.values.push_back(length);
    for (int64_t i = 0; i < n; ++i) out.right.at(i, k) = sign * v.at(i, from);
    if (length <= 1e-15 * top)
      complete(out.left, k);
    else
      for (int64_t i = 0; i < x.rows; ++i) out.left.at(i, k) = sign * x.at(i, from) / length;
  }
  return out;
}

}  // namespace ig::ops::factors
