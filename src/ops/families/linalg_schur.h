// Schur's form of square matrices, real or complex: an upper triangle in a unitary basis, x = Z T Zᴴ. Reduced
// to Hessenberg's form by reflectors, and from there to a triangle by QR steps with Wilkinson's shifts, in
// complex arithmetic.
//
// Sources: G. Golub and C. Van Loan, "Matrix Computations", 7.4 and 7.5; the steps are those of EISPACK's
// comqr2, with matrices brought to a largest element between 1 and 2 first.
#pragma once

#include <cmath>
#include <vector>

#include "ops/families/complex.h"
#include "ops/families/linalg_kernels.h"

namespace ig::ops::factors {

inline double size1(Complex z) { return std::fabs(z.real()) + std::fabs(z.imag()); }
inline Complex phase_of(Complex z) { return z == Complex(0) ? Complex(1) : z / std::abs(z); }

// The definition: the kernel's steps in double, one number at a time.
struct Schur {
  int64_t n;
  std::vector<Complex> h, v;  // v: transposed, its rows are the basis
  double scale = 1;           // of h
  bool failed = false;        // where an element is NaN or infinite too
  Complex& at(int64_t i, int64_t j) { return h[static_cast<size_t>(i * n + j)]; }
  Complex& basis(int64_t i, int64_t j) { return v[static_cast<size_t>(i * n + j)]; }
};
// Of the matrix of x that begins at this element.
Schur schur_of(const Literal& x, int64_t at);

// The kernel's state, and its steps.
struct SchurForm {
  // Of matrices of this order; with `whole` the triangle is right above its diagonal too, and there is a
  // basis.
  SchurForm(NestContext& c, const Tools& tools, const Dim& order, bool whole);

  const Tools& t;
  loop::Builder& b;
  bool whole;
  Expr n;
  Grid h, v;  // v: transposed
  Line u, w;
  uint32_t cosines;
  Line sines;

  // Reduces x: h times the scale is the triangle, with anything below its diagonal. Of a matrix that holds
  // NaN or infinity, or takes too many steps, it is not done.
  struct Outcome {
    Expr scale, done;
  };
  Outcome reduce(const Grid& x) const;

  Expr zero() const { return b.index(0); }
  Expr one() const { return b.index(1); }
  Expr kept(Expr z) const { return b.let(z); }
  Expr size1(Expr z) const { return abs(real(z)) + abs(imag(z)); }
  Expr wide(Expr r) const { return loop::complex(r, t.number(0)); }
  Expr phase(Expr z, Expr size) const;  // z / |z|, and 1 of 0; `size` is |z|
  // The sum of products along a line, in fixed lanes.
  Expr sum(Expr begin, Expr end, const std::function<Expr(Expr)>& term) const;

 private:
  Tools::Scale load(const Grid& x) const;
  void hessenberg() const;
  Expr shift_of(Expr high, Expr unusual) const;
  void qr_step(Expr low, Expr high, Expr shift) const;
  Expr triangle(Expr finite) const;
};

}  // namespace ig::ops::factors
