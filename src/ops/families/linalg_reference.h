// The definitions of the orthogonal factors, in complex numbers of float64 and by other methods than the
// kernels': reflections for QR, and Jacobi's rotations for eigenvalues and singular values, until nothing is
// left to rotate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/families/complex.h"

namespace ig::ops::factors {

struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<Complex> elements{};
  Dense(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), elements(static_cast<size_t>(rows * columns), 0) {}
  Complex& at(int64_t i, int64_t j) { return elements[static_cast<size_t>(i * columns + j)]; }
};

// x becomes R; gives the first `columns` columns of Q.
Dense reduce_to_triangle(Dense& x, int64_t columns);

struct Spectrum {
  std::vector<double> values;
  Dense left, right;  // columns are vectors
};
// Of a Hermitian matrix, ascending; the vectors are in `right`.
Spectrum eigen_of(Dense x);
// Of a matrix with at least as many rows as columns, descending; `columns` columns of U.
Spectrum singular_of(Dense x, int64_t columns);

}  // namespace ig::ops::factors
