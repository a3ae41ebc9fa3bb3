// The definitions of the orthogonal factors, in float64 and by other methods than the kernels': reflections
// for QR, and Jacobi's rotations for eigenvalues and singular values, until nothing is left to rotate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ig::ops::factors {

struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<double> elements{};
  Dense(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), elements(static_cast<size_t>(rows * columns), 0) {}
  double& at(int64_t i, int64_t j) { return elements[static_cast<size_t>(i * columns + j)]; }
};

// x becomes R; gives the first `columns` columns of Q.
Dense reduce_to_triangle(Dense& x, int64_t columns);

struct Spectrum {
  std::vector<double> values;
  Dense left, right;  // columns are vectors
};
// Of a symmetric matrix, ascending; the vectors are in `right`.
Spectrum eigen_of(Dense x);
// Of a matrix with at least as many rows as columns, descending; `columns` columns of U.
Spectrum singular_of(Dense x, int64_t columns);

}  // namespace ig::ops::factors
