// What the kernels of matrix factors are built of: a matrix that lies somewhere, Householder's reflectors,
// chains of Givens' rotations, and the loops around them. A kernel works on one matrix, in scratch; its inner
// loops run along rows in vectors. Every loop ends: iterations are counted, and a matrix that needs more of
// them than any known one, or that holds NaN or infinity, gives NaN.
//
// Sources: G. Golub and C. Van Loan, "Matrix Computations", chapters 5 and 8; LAPACK's larfg, lartg, steqr,
// bdsqr.
#pragma once

#include <algorithm>
#include <functional>

#include "ops/builder.h"
#include "ops/op.h"

namespace ig::ops::factors {

using loop::Expr;

// Columns side by side in the loops that take the time: four registers of AVX2, or fewer where a row is known
// to be shorter. A sum has the same bits either way, since the lanes that are left out would add zeros.
int lanes_of(DType dtype, const Dim& columns);

// How far the rows of a matrix in scratch lie apart: an odd number of cache lines, so that a few columns of
// many rows fit in the cache together, whatever the size.
Dim row_step(DType dtype, const Dim& columns);

inline DType real_of(DType dtype) { return is_complex(dtype) ? part_of(dtype) : dtype; }

// Arithmetic that is one formula for real and for complex elements.
Expr conj(Expr z);
Expr norm(Expr z);  // |z|²
Expr times(Expr real, Expr z);
Expr over(Expr z, Expr real);
Expr madd(Expr x, Expr y, Expr sum);  // sum + x y, by fma
Expr as(DType element, Expr real);    // with an imaginary part of 0 where elements are complex

constexpr uint32_t kNoBuffer = ~uint32_t{0};

// One matrix, row-major. A complex one is numbers side by side, or (in scratch, so that rows are read and
// written in vectors) two real ones.
struct Grid {
  loop::Builder& b;
  uint32_t buffer;
  Expr base, step;  // of the first element, and from row to row
  uint32_t imaginary = kNoBuffer;
  Expr load(Expr i, Expr j) const;
  void store(Expr i, Expr j, Expr value) const;
  Grid real_part() const { return {b, buffer, base, step}; }
  Grid imaginary_part() const { return {b, imaginary, base, step}; }
};

// A vector, by the same rule.
struct Line {
  loop::Builder& b;
  uint32_t buffer, imaginary = kNoBuffer;
  Expr load(Expr i) const;
  void store(Expr i, Expr value) const;
};

// A matrix and a vector of their own in scratch.
Grid scratch_grid(NestContext& c, DType dtype, const Dim& rows, const Dim& columns, const char* name);
Line scratch_line(NestContext& c, DType dtype, const Dim& elements, const char* name);

// A number that loops change.
struct Cell {
  Cell(loop::Builder& build, Expr start, const char* name)
      : b(build), id(build.local(start.type(), 1, 1, name)) {
    set(start);
  }
  Expr get() const { return b.let(b.read(id)); }
  void set(Expr value) const { b.assign(id, value); }
  loop::Builder& b;
  uint32_t id;
};

// The pieces, for matrices of one type whose rows have about so many columns.
class Tools {
 public:
  Tools(loop::Builder& build, DType element, int lanes)
      : b(build),
        dtype(real_of(element)),
        element(element),
        lanes(lanes),
        few(std::min(lanes, 32 / static_cast<int>(size_of(dtype)))) {}

  loop::Builder& b;
  const DType dtype, element;  // dtype: that of an element's parts
  const int lanes;             // of the loops that take the time
  const int few;  // of all others: one register, since code that is twice as wide takes twice as long to make

  Expr number(double value) const { return b.constant(dtype, value); }
  Expr epsilon() const;  // the distance from 1 to the next number
  Expr nan() const;
  void each(Expr begin, Expr end, const std::function<void(Expr)>& body) const {
    b.vector_for(begin, end, few, body);
  }
  void many(Expr begin, Expr end, const std::function<void(Expr)>& body) const {
    b.vector_for(begin, end, lanes, body);
  }
  void each_of(Expr rows, Expr columns, const std::function<void(Expr, Expr)>& body) const {
    b.serial_for(b.index(0), rows, [&](Expr i) { each(b.index(0), columns, [&](Expr j) { body(i, j); }); });
  }
  // For i from the last one down to the first.
  void backwards(Expr begin, Expr end, const std::function<void(Expr)>& body) const;
  // Of real numbers; and of elements.
  Expr sum(Expr begin, Expr end, const std::function<Expr(Expr)>& term) const {
    return sum(dtype, few, begin, end, term);
  }
  Expr sum_of_elements(Expr begin, Expr end, const std::function<Expr(Expr)>& term) const {
    return sum(element, few, begin, end, term);
  }
  Expr sum_of_many(Expr begin, Expr end, const std::function<Expr(Expr)>& term) const {
    return sum(element, lanes, begin, end, term);
  }
  // The largest size of a part of an element, at least 0; no NaN.
  Expr largest(Expr begin, Expr end, const std::function<Expr(Expr)>& term) const;

  void fill_identity(const Grid& to, Expr rows, Expr columns) const;
  // `to` is the transpose of `from`, which has so many rows and columns. Element by element: that is little
  // beside the rest, and the loop IR's transposition is much code.
  void transpose(const Grid& to, const Grid& from, Expr rows, Expr columns) const;

  // The reflector H = I - tau v vᴴ with Hᴴ x = beta e, for a real beta: x stands in v[first, end) and gives
  // way to v, whose first element is 1. Where x is a real multiple of e already, tau is 0. Scaled, so that
  // nothing overflows.
  struct Reflector {
    Expr tau, beta;
  };
  Reflector reflector(const Line& v, Expr first, Expr end) const;
  // a = H a, on rows [first, end), where H's vector is v_of(i), and on columns [from, to); Hᴴ a with the
  // conjugate of tau.
  void reflect_rows(const Grid& a, const std::function<Expr(Expr)>& v_of, Expr tau, Expr first, Expr end,
                    Expr from, Expr to) const;

  // c and s with c f + s g = r, c g - s f = 0 and c² + s² = 1.
  struct Rotation {
    Expr c, s, r;
  };
  Rotation rotation(Expr f, Expr g) const;

  // The power of two below the largest element, 1 for zeros; and whether all elements are finite.
  struct Scale {
    Expr factor, finite;
  };
  // Of the elements of each row i in columns [0, end_of(i)).
  Scale scale_of(const Grid& a, Expr rows, const std::function<Expr(Expr)>& end_of) const;

  // How many of d[0, n) come before d[i]: they are put in order by that, and equal ones stay in theirs.
  Expr rank_of(Expr i, Expr n, const std::function<Expr(Expr)>& d, bool descending) const;

  // What makes the first element of a row positive that is within a hundredth of the largest in size: 1 or
  // -1, or a complex number of size 1. Of rows whose squares neither overflow nor vanish.
  Expr sign_of_row(const Grid& a, Expr row, Expr columns) const;

 private:
  Expr sum(DType type, int width, Expr begin, Expr end, const std::function<Expr(Expr)>& term) const;
};

// Rotations of neighbouring rows that are kept back, and applied chain after chain to a few columns at a
// time, which stay in the cache. A chain starts at a row and goes on up or down, so that each row is carried
// on to the next rotation in registers.
class Chains {
 public:
  // At most `most` chains of up to `length` rotations.
  Chains(const Tools& tools, const Dim& length, Expr stride, int most, int step);
  void start(Expr chain, Expr first_row, Expr rotations) const;
  void add(Expr chain, Expr position, Expr c, Expr s) const;
  // Applies `count` chains to the rows of a.
  void apply(const Grid& a, Expr columns, Expr count) const;

 private:
  void apply_to_real(const Grid& a, Expr columns, Expr count) const;
  const Tools& t_;
  uint32_t cosines_, sines_, starts_, lengths_;
  Expr stride_;
  int step_;
};

// Runs `step(chain)` until `going()` is false, at most `limit` times, and `flush(count)` after every so many
// steps: `step` gives back whether it has added a chain as number `chain`.
void iterate(const Tools& tools, Expr limit, int chains, const std::function<Expr()>& going,
             const std::function<void(Expr chain, const Cell& count)>& step,
             const std::function<void(Expr count)>& flush);

constexpr int kChains = 16;

}  // namespace ig::ops::factors
