// Eigenvalues of symmetric (complex: Hermitian) matrices, and singular values: reduced to three or two
// diagonals by Householder's reflectors, and from there by implicit QL or QR steps with shifts until what
// couples neighbours is nothing beside them. The rotations of many steps are applied to the vectors together
// (Chains). The diagonals are real for complex matrices too, since a reflector gives a real number, so the
// steps are the same.
//
// Sources: G. Golub and C. Van Loan, "Matrix Computations", 8.3 and 8.6; the steps are those of LAPACK's
// steqr and bdsqr, with matrices brought to a largest element between 1 and 2 first.
#include <algorithm>
#include <functional>
#include <optional>

#include "ops/families/compose.h"
#include "ops/families/linalg_kernels.h"
#include "ops/families/linalg_reference.h"
#include "ops/families/linalg_rules.h"

namespace ig::ops {

std::vector<Op> linalg_spectral();

namespace {

using namespace factors;

constexpr Attr<bool> kFull{"full_matrices", "Whether U is square; else it has as many columns as x.",
                           "false"};
// Steps for each number that is wanted; two or three are usual.
constexpr int64_t kMostSteps = 64;

const Dim& rows_of(const Type& x) { return x.dims[x.dims.size() - 2]; }
const Dim& columns_of(const Type& x) { return x.dims.back(); }

// What an element between two neighbours on the diagonal must not be above to count as nothing.
Expr nothing_beside(const Tools& t, Expr off, Expr first, Expr second) {
  Expr epsilon = t.epsilon();
  return (abs(off) <= epsilon * (abs(first) + abs(second))) | (abs(off) <= epsilon * epsilon);
}

// --- symmetric and Hermitian matrices
// ----------------------------------------------------------------------------------------------------------
void infer_eigh(InferContext& c) {
  require_square(c, 0);
  const Type& x = c.operand(0);
  c.result(real_of(x.dtype), with_last(batch_of(x), {columns_of(x)}));
  c.result(x.dtype, x.dims);
}
void infer_eigvalsh(InferContext& c) {
  require_square(c, 0);
  const Type& x = c.operand(0);
  c.result(real_of(x.dtype), with_last(batch_of(x), {columns_of(x)}));
}

void reference_of_eigh(const Literal& x, Literal& w, Literal* v) {
  int64_t n = x.dims().back();
  each_matrix(x, [&](int64_t at, int64_t number) {
    Dense work(n, n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        Complex z = x.as_complex(at + i * n + j);
        work.at(i, j) = i == j ? z.real() : z;
        work.at(j, i) = std::conj(work.at(i, j));
      }
    Spectrum found = eigen_of(std::move(work));
    for (int64_t i = 0; i < n; ++i) tools::set_real(w, number * n + i, found.values[static_cast<size_t>(i)]);
    for (int64_t i = 0; i < n * n && v; ++i)
      set_element(*v, at + i, found.right.elements[static_cast<size_t>(i)]);
  });
}
void reference_eigh(ReferenceContext& c) { reference_of_eigh(c.operands[0], c.results[0], &c.results[1]); }
void reference_eigvalsh(ReferenceContext& c) { reference_of_eigh(c.operands[0], c.results[0], nullptr); }

// The symmetric a becomes a tridiagonal matrix: d, and e beside it. With `keep`, the vector of the reflector
// k stays in row k of a from its column k + 1 on, and its factor in `factors`.
struct Lines {
  uint32_t d, e;
  Line factors;
};

void to_three_diagonals(const Tools& t, const Grid& a, Expr n, const Lines& lines, const Line& v,
                        const Line& w, bool keep) {
  loop::Builder& b = t.b;
  Expr zero = b.index(0), one = b.index(1), none = b.constant(t.element, 0);
  auto at = [&](Expr i) { return v.load(i); };
  // The last row's reflector has one element: it makes a complex number real, and is nothing otherwise.
  b.serial_for(zero, n - one, [&](Expr k) {
    Expr first = b.let(k + one);
    t.each(first, n, [&](Expr j) { v.store(j, conj(a.load(k, j))); });
    Tools::Reflector h = t.reflector(v, first, n);
    b.store(lines.e, k, h.beta);
    lines.factors.store(k, h.tau);
    if (keep) t.each(first, n, [&](Expr j) { a.store(k, j, at(j)); });
    b.if_then(h.tau != none, [&] {
      // p = tau a v, w = p - (tau / 2) (pᴴ v) v, a = a - v wᴴ - w vᴴ.
      uint32_t acc = b.local(t.element, t.lanes, 1, "product");
      t.many(first, n, [&](Expr j) {
        b.assign(acc, none);
        b.serial_for(first, n, [&](Expr i) { b.assign(acc, madd(at(i), conj(a.load(i, j)), b.read(acc))); });
        w.store(j, b.read(acc) * h.tau);
      });
      Expr along = b.let(t.sum_of_elements(first, n, [&](Expr j) { return conj(w.load(j)) * at(j); }));
      Expr half = b.let(times(t.number(-0.5), along * h.tau));
      t.each(first, n, [&](Expr j) { w.store(j, madd(half, at(j), w.load(j))); });
      b.serial_for(first, n, [&](Expr i) {
        Expr mine = b.let(-at(i)), other = b.let(-w.load(i));
        t.each(first, n, [&](Expr j) {
          a.store(i, j, madd(mine, conj(w.load(j)), madd(other, conj(at(j)), a.load(i, j))));
        });
      });
    });
  });
  b.serial_for(zero, n, [&](Expr i) { b.store(lines.d, i, real(a.load(i, i))); });
  b.if_then(n > zero, [&] { b.store(lines.e, n - one, t.number(0)); });
}

// One implicit QL step on rows low to high: e[high] is nothing, and all e between are something. Its
// rotations go to the chain, from `high` downwards.
void ql_step(const Tools& t, const Lines& lines, Expr low, Expr high, const Chains* chains, Expr chain) {
  loop::Builder& b = t.b;
  Expr zero = b.index(0), one = b.index(1);
  auto d = [&](Expr i) { return b.let(b.load(lines.d, i)); };
  auto e = [&](Expr i) { return b.let(b.load(lines.e, i)); };
  Expr dl = d(low), el = e(low);
  Expr slope = b.let((d(low + one) - dl) / (el + el));
  Expr root = b.let(sqrt(fma(slope, slope, t.number(1))));
  Expr shifted = b.let(slope + select(slope < t.number(0), -root, root));
  Cell g(b, b.let(d(high) - dl + el / shifted), "g"), s(b, t.number(1), "s"), c(b, t.number(1), "c"),
      p(b, t.number(0), "p");
  b.serial_for(zero, high - low, [&](Expr turn) {
    Expr i = b.let(high - one - turn);
    Expr off = e(i);
    Expr f = b.let(s.get() * off), kept = b.let(c.get() * off);
    Tools::Rotation r = t.rotation(g.get(), f);
    b.store(lines.e, i + one, r.r);
    Expr from = b.let(d(i + one) - p.get());
    Expr turned = b.let((d(i) - from) * r.s + (r.c + r.c) * kept);
    Expr moved = b.let(r.s * turned);
    b.store(lines.d, i + one, from + moved);
    g.set(r.c * turned - kept);
    p.set(moved);
    c.set(r.c);
    s.set(r.s);
    if (chains) chains->add(chain, turn, r.c, r.s);
  });
  b.store(lines.d, low, d(low) - p.get());
  b.store(lines.e, low, g.get());
  b.store(lines.e, high, t.number(0));
  if (chains) chains->start(chain, high, high - low);
}

void nest_symmetric(NestContext& c, bool vectors) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const Dim& order = columns_of(type);
  DType dtype = type.dtype;
  c.set_blocks(product(batch_of(type)));
  Expr n = c.size(order), zero = b.index(0), one = b.index(1);
  Tools t(b, dtype, lanes_of(dtype, order));
  Grid x{b, c.operands[0], b.let(b.block() * n * n), n};
  Grid a = scratch_grid(c, dtype, order, order, "a");
  Line v = scratch_line(c, dtype, order, "v"), w = scratch_line(c, dtype, order, "w");
  Lines lines{b.add_scratch(t.dtype, order, "d"), b.add_scratch(t.dtype, order, "e"),
              scratch_line(c, dtype, order, "factors")};
  std::optional<Grid> z;
  std::optional<Chains> chains;
  if (vectors) {
    z.emplace(scratch_grid(c, dtype, order, order, "z"));
    chains.emplace(t, order, n, kChains, -1);
  }

  Tools::Scale scale = t.scale_of(x, n, [&](Expr i) { return i + one; });
  b.serial_for(zero, n, [&](Expr i) {
    t.each(zero, i + one, [&](Expr j) { a.store(i, j, over(x.load(i, j), scale.factor)); });
  });
  b.serial_for(zero, n, [&](Expr i) {
    t.each(i + one, n, [&](Expr j) { a.store(i, j, conj(a.load(j, i))); });
    if (is_complex(dtype)) a.store(i, i, as(dtype, real(a.load(i, i))));
  });
  to_three_diagonals(t, a, n, lines, v, w, vectors);
  if (vectors) {
    // The product of the reflectors; then a holds it transposed, so that its rows are the vectors.
    t.fill_identity(*z, n, n);
    t.backwards(zero, n - one, [&](Expr k) {
      t.reflect_rows(
          *z, [&](Expr i) { return a.load(k, i); }, b.let(lines.factors.load(k)), k + one, n, k + one, n);
    });
    t.transpose(a, *z, n, n);
  }

  Expr last = n - one;
  Cell low(b, zero, "low");
  Expr limit = b.let(select(scale.finite, n * b.index(kMostSteps), zero));
  iterate(
      t, limit, kChains, [&] { return low.get() < last; },
      [&](Expr chain, const Cell& count) {
        Expr l = low.get();
        Cell end(b, last, "end");
        b.serial_for(zero, last - l, [&](Expr turn) {
          Expr i = b.let(last - one - turn);
          Expr none =
              nothing_beside(t, b.let(b.load(lines.e, i)), b.load(lines.d, i), b.load(lines.d, i + one));
          end.set(select(none, i, end.get()));
        });
        Expr high = end.get();
        b.if_then(
            high == l, [&] { low.set(l + one); },
            [&] {
              ql_step(t, lines, l, high, vectors ? &*chains : nullptr, chain);
              count.set(chain + one);
            });
      },
      [&](Expr count) {
        if (vectors) chains->apply(a, n, count);
      });

  Expr failed = b.let(~scale.finite | (low.get() < last));
  Expr row = b.let(b.block() * n);
  b.serial_for(zero, n, [&](Expr i) {
    Expr rank = t.rank_of(i, n, [&](Expr j) { return b.load(lines.d, j); }, false);
    Expr place = b.let(select(failed, i, rank));
    b.store(c.results[0], row + place, select(failed, t.nan(), b.load(lines.d, i) * scale.factor));
    if (!vectors) return;
    Expr sign = b.let(select(failed, as(dtype, t.nan()), t.sign_of_row(a, i, n)));
    t.each(zero, n, [&](Expr j) { z->store(place, j, a.load(i, j) * sign); });
  });
  if (vectors) t.transpose({b, c.results[1], x.base, n}, *z, n, n);
}

void nest_eigh(NestContext& c) { nest_symmetric(c, true); }
void nest_eigvalsh(NestContext& c) { nest_symmetric(c, false); }

// 1 / (x + 1) - 1 with ones where x is 0 by itself, on the diagonal: 0 there, and 1 / x elsewhere.
Value inverse_differences(Builder& b, Value differences) {
  Compose m(b);
  Value same = identity_like(b, differences);
  return m.sub(m.div(m.number(differences, 1), m.add(differences, same)), same);
}

// dw = diag(vᴴ dx v), dv = v (F * vᴴ dx v) with F_ij = 1 / (w_j - w_i): of eigenvalues that differ. A complex
// vector is turned besides, so that the element that is kept positive stays real.
std::vector<Value> jvp_eigh(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr, nullptr};
  Builder& b = c.build;
  Compose m(b);
  Value w = c.results[0], v = c.results[1];
  Value moved = product_of(b, hermitian_from_lower(b, c.tangents[0]), v);
  Value inner = product_of(b, adjoint(b, v), moved);
  Value factor = inverse_differences(b, m.sub(row_of(b, w), column_of(b, w)));
  Value dv = product_of(b, v, m.mul(of_type(b, factor, v), inner));
  if (is_complex(v->type().dtype)) dv = m.sub(dv, m.mul(v, imaginary(b, turn_of(b, v, dv))));
  return {real_part(b, diagonal_of(b, inner)), dv};
}

std::vector<Value> jvp_eigvalsh(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Builder& b = c.build;
  std::vector<Value> both = b.many("eigh", {c.operands[0]});
  c.replaced = {both[0]};
  Value moved = product_of(b, hermitian_from_lower(b, c.tangents[0]), both[1]);
  return {real_part(b, last_sum(b, Compose(b).mul(conjugate(b, both[1]), moved), 2))};
}

// --- singular values
// ----------------------------------------------------------------------------------------------------------
Dim longer_of(const Type& x) { return max(rows_of(x), columns_of(x)); }
Dim shorter_of(const Type& x) { return min(rows_of(x), columns_of(x)); }

void infer_svd(InferContext& c) {
  require_matrices(c, 0);
  const Type& x = c.operand(0);
  const Dim &m = rows_of(x), &n = columns_of(x), shorter = shorter_of(x);
  c.result(x.dtype, with_last(batch_of(x), {m, c.get(kFull) ? m : shorter}));
  c.result(real_of(x.dtype), with_last(batch_of(x), {shorter}));
  c.result(x.dtype, with_last(batch_of(x), {c.get(kFull) ? n : shorter, n}));
}
void infer_svdvals(InferContext& c) {
  require_matrices(c, 0);
  const Type& x = c.operand(0);
  c.result(real_of(x.dtype), with_last(batch_of(x), {shorter_of(x)}));
}

// Of a wide matrix by its adjoint.
void reference_of_svd(const Literal& x, Literal* u, Literal& s, Literal* vh) {
  int64_t m = x.dims()[x.dims().size() - 2], n = x.dims().back(), count = 1;
  int64_t high = std::max(m, n), low = std::min(m, n);
  int64_t width =
      u && u->dims().back() == m && vh->dims().back() == vh->dims()[vh->dims().size() - 2] ? high : low;
  for (size_t i = 0; i + 2 < x.dims().size(); ++i) count *= x.dims()[i];
  for (int64_t number = 0; number < count; ++number) {
    Dense work(high, low);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Complex z = x.as_complex((number * m + i) * n + j);
        (m < n ? work.at(j, i) : work.at(i, j)) = m < n ? std::conj(z) : z;
      }
    Spectrum found = singular_of(std::move(work), width);
    for (int64_t i = 0; i < low; ++i)
      tools::set_real(s, number * low + i, found.values[static_cast<size_t>(i)]);
    if (!u) continue;
    Dense &left = m < n ? found.right : found.left, &right = m < n ? found.left : found.right;
    for (int64_t i = 0; i < m * left.columns; ++i)
      set_element(*u, number * m * left.columns + i, left.elements[static_cast<size_t>(i)]);
    for (int64_t i = 0; i < right.columns; ++i)
      for (int64_t j = 0; j < n; ++j)
        set_element(*vh, (number * right.columns + i) * n + j, std::conj(right.at(j, i)));
  }
}
void reference_svd(ReferenceContext& c) {
  reference_of_svd(c.operands[0], &c.results[0], c.results[1], &c.results[2]);
}
void reference_svdvals(ReferenceContext& c) {
  reference_of_svd(c.operands[0], nullptr, c.results[0], nullptr);
}

// One implicit QR step on rows low to high: all e between are something.
void qr_step(const Tools& t, const Lines& lines, Expr low, Expr high, const Chains* left, const Chains* right,
             Expr chain) {
  loop::Builder& b = t.b;
  Expr zero = b.index(0), one = b.index(1);
  auto d = [&](Expr i) { return b.let(b.load(lines.d, i)); };
  auto e = [&](Expr i) { return b.let(b.load(lines.e, i)); };
  // The shift is the smaller singular value of the last two rows; none where it is nothing beside the first
  // element, or that is nothing itself.
  Expr last = b.let(high - one);
  Expr upper = b.let(abs(d(last))), lower = b.let(abs(d(high))), off = e(last);
  Expr more = b.let(upper + lower), less = b.let(upper - lower);
  Expr largest = b.let((sqrt(fma(more, more, off * off)) + sqrt(fma(less, less, off * off))) * t.number(0.5));
  Expr shift = b.let(upper * (lower / largest));
  Expr dl = d(low), size = b.let(abs(dl));
  Expr ratio = b.let(shift / size);
  Expr shifts = b.let((size > t.epsilon() * t.epsilon()) & (ratio * ratio >= t.epsilon()));
  Cell f(b, b.let(select(shifts, (size - shift) * (size + shift), dl)), "f");
  Cell g(b, b.let(select(shifts, dl * e(low), e(low))), "g");
  b.serial_for(zero, high - low, [&](Expr turn) {
    Expr i = b.let(low + turn);
    Tools::Rotation r = t.rotation(f.get(), g.get());
    b.if_then(turn > zero, [&] { b.store(lines.e, i - one, r.r); });
    Expr di = d(i), ei = e(i), below = d(i + one);
    Expr diagonal = b.let(r.c * di + r.s * ei), beside = b.let(r.c * ei - r.s * di);
    Expr next = b.let(r.c * below);
    Tools::Rotation l = t.rotation(diagonal, b.let(r.s * below));
    b.store(lines.d, i, l.r);
    f.set(l.c * beside + l.s * next);
    b.store(lines.d, i + one, l.c * next - l.s * beside);
    b.if_then(i < last, [&] {
      Expr following = e(i + one);
      g.set(l.s * following);
      b.store(lines.e, i + one, l.c * following);
    });
    if (left) left->add(chain, turn, l.c, l.s);
    if (right) right->add(chain, turn, r.c, r.s);
  });
  b.store(lines.e, last, f.get());
  if (left) left->start(chain, low, high - low);
  if (right) right->start(chain, low, high - low);
}

// What a kernel of singular values has in hand.
struct Bidiagonal {
  const Tools &along_rows, &along_columns;
  Grid a;
  Expr m, n;
  Lines lines;       // the factors of the reflectors of columns
  Line row_factors;  // and of rows
  Line v;
};

// a becomes a bidiagonal matrix. The vectors of the reflectors stay in its columns, from the diagonal on, and
// in its rows behind the diagonal.
void to_two_diagonals(const Bidiagonal& k) {
  const Tools& t = k.along_rows;
  loop::Builder& b = t.b;
  const Grid& a = k.a;
  Expr zero = b.index(0), one = b.index(1);
  auto at = [&](Expr i) { return k.v.load(i); };
  b.serial_for(zero, k.n, [&](Expr step) {
    Expr first = b.let(step + one);
    b.serial_for(step, k.m, [&](Expr i) { k.v.store(i, a.load(i, step)); });
    Tools::Reflector column = k.along_columns.reflector(k.v, step, k.m);
    b.store(k.lines.d, step, column.beta);
    b.store(k.lines.e, step, t.number(0));
    k.lines.factors.store(step, column.tau);
    t.reflect_rows(a, at, b.let(conj(column.tau)), step, k.m, first, k.n);
    b.serial_for(step, k.m, [&](Expr i) { a.store(i, step, at(i)); });
    b.if_then(first < k.n, [&] {
      t.each(first, k.n, [&](Expr j) { k.v.store(j, conj(a.load(step, j))); });
      Tools::Reflector row = t.reflector(k.v, first, k.n);
      b.store(k.lines.e, step, row.beta);
      k.row_factors.store(step, row.tau);
      t.each(first, k.n, [&](Expr j) { a.store(step, j, at(j)); });
      b.if_then(row.tau != b.constant(t.element, 0), [&] {
        b.serial_for(first, k.m, [&](Expr i) {
          Expr sum =
              b.let(-t.sum_of_many(first, k.n, [&](Expr j) { return b.let(a.load(i, j)) * b.let(at(j)); }));
          Expr along = b.let(sum * row.tau);
          t.many(first, k.n, [&](Expr j) { a.store(i, j, madd(along, conj(at(j)), a.load(i, j))); });
        });
      });
    });
  });
}

// Runs one of both, which is known here where the sizes are.
void by_shape(NestContext& c, const std::function<void()>& high, const std::function<void()>& wide) {
  const Type& x = c.node->operand(0)->type();
  const Dim &rows = rows_of(x), &columns = columns_of(x);
  if (rows == columns) return high();
  if (rows.is_constant() && columns.is_constant())
    return rows.constant() < columns.constant() ? wide() : high();
  c.build->if_then(c.size(rows) < c.size(columns), wide, high);
}

// The longer side's vectors are called left here, the shorter side's right: a wide matrix is transposed.
void nest_singular(NestContext& c, bool vectors) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const Dim rows = longer_of(type), columns = shorter_of(type);
  DType dtype = type.dtype;
  c.set_blocks(product(batch_of(type)));
  Expr m = b.let(c.size(rows)), n = b.let(c.size(columns)), zero = b.index(0), one = b.index(1);
  Expr x_rows = c.size(rows_of(type)), x_columns = c.size(columns_of(type));
  Tools t(b, dtype, lanes_of(dtype, columns)), high_tools(b, dtype, lanes_of(dtype, rows));
  Grid x{b, c.operands[0], b.let(b.block() * m * n), x_columns};
  Bidiagonal work{t,
                  high_tools,
                  scratch_grid(c, dtype, rows, columns, "a"),
                  m,
                  n,
                  {b.add_scratch(t.dtype, columns, "d"), b.add_scratch(t.dtype, columns, "e"),
                   scratch_line(c, dtype, columns, "factors")},
                  scratch_line(c, dtype, columns, "row_factors"),
                  scratch_line(c, dtype, rows, "v")};
  const Lines& lines = work.lines;
  const Grid& a = work.a;
  const Dim width = vectors && c.node->attrs().get(kFull) ? rows : columns;
  Expr q = b.let(c.size(width));
  std::optional<Grid> u, ut, v, vt;
  std::optional<Chains> left, right;
  if (vectors) {
    u.emplace(scratch_grid(c, dtype, rows, width, "u"));
    ut.emplace(scratch_grid(c, dtype, width, rows, "ut"));
    v.emplace(scratch_grid(c, dtype, columns, columns, "vectors"));
    vt.emplace(scratch_grid(c, dtype, columns, columns, "vt"));
    left.emplace(high_tools, columns, n, kChains, 1);
    right.emplace(t, columns, n, kChains, 1);
  }

  by_shape(
      c, [&] { t.each_of(m, n, [&](Expr i, Expr j) { a.store(i, j, x.load(i, j)); }); },
      [&] { t.transpose(a, x, x_rows, x_columns); });
  Tools::Scale scale = t.scale_of(a, m, [&](Expr) { return n; });
  t.each_of(m, n, [&](Expr i, Expr j) { a.store(i, j, over(a.load(i, j), scale.factor)); });
  to_two_diagonals(work);
  if (vectors) {
    // The products of the reflectors, and then their transposes, whose rows are the vectors.
    high_tools.fill_identity(*u, m, q);
    high_tools.backwards(zero, n, [&](Expr k) {
      b.serial_for(k, m, [&](Expr i) { work.v.store(i, a.load(i, k)); });
      high_tools.reflect_rows(
          *u, [&](Expr i) { return work.v.load(i); }, b.let(lines.factors.load(k)), k, m, k, q);
    });
    t.transpose(*ut, *u, m, q);
    t.fill_identity(*v, n, n);
    t.backwards(zero, n - one, [&](Expr k) {
      t.reflect_rows(
          *v, [&](Expr i) { return a.load(k, i); }, b.let(work.row_factors.load(k)), k + one, n, k + one, n);
    });
    t.transpose(*vt, *v, n, n);
  }

  Cell high(b, b.let(n - one), "high");
  Expr limit = b.let(select(scale.finite, n * b.index(kMostSteps), zero));
  iterate(
      t, limit, kChains, [&] { return high.get() > zero; },
      [&](Expr chain, const Cell& count) {
        Expr end = high.get();
        Cell begin(b, zero, "begin");
        b.serial_for(zero, end, [&](Expr i) {
          Expr none =
              nothing_beside(t, b.let(b.load(lines.e, i)), b.load(lines.d, i), b.load(lines.d, i + one));
          begin.set(select(none, i + one, begin.get()));
        });
        Expr low = begin.get();
        b.if_then(low > zero, [&] { b.store(lines.e, low - one, t.number(0)); });
        b.if_then(
            low == end, [&] { high.set(end - one); },
            [&] {
              qr_step(t, lines, low, end, vectors ? &*left : nullptr, vectors ? &*right : nullptr, chain);
              count.set(chain + one);
            });
      },
      [&](Expr count) {
        if (!vectors) return;
        left->apply(*ut, m, count);
        right->apply(*vt, n, count);
      });

  Expr failed = b.let(~scale.finite | (high.get() > zero));
  Expr row = b.let(b.block() * n);
  // The vectors in their order; v is free for the right ones, which come as rows of Vᴴ. (Of a wide matrix,
  // whose transpose has the factors conj(V) S Uᵀ, these are the left ones, as columns: transposed they are
  // U.)
  std::optional<Grid> sorted;
  if (vectors) sorted.emplace(scratch_grid(c, dtype, width, rows, "sorted"));
  b.serial_for(zero, n, [&](Expr i) {
    Expr rank = t.rank_of(i, n, [&](Expr j) { return abs(b.load(lines.d, j)); }, true);
    Expr place = b.let(select(failed, i, rank)), mine = b.let(b.load(lines.d, i));
    b.store(c.results[vectors ? 1 : 0], row + place, select(failed, t.nan(), abs(mine) * scale.factor));
    if (!vectors) return;
    Expr nan = as(dtype, t.nan());
    Expr sign = b.let(select(failed, nan, t.sign_of_row(*vt, i, n)));
    t.each(zero, n, [&](Expr j) { v->store(place, j, conj(vt->load(i, j) * sign)); });
    Expr other = b.let(select(mine < t.number(0), -sign, sign));
    high_tools.each(zero, m, [&](Expr j) { sorted->store(place, j, ut->load(i, j) * other); });
  });
  if (!vectors) return;
  b.serial_for(n, q, [&](Expr i) {
    Expr nan = as(dtype, t.nan());
    Expr sign = b.let(select(failed, nan, high_tools.sign_of_row(*ut, i, m)));
    high_tools.each(zero, m, [&](Expr j) { sorted->store(i, j, ut->load(i, j) * sign); });
  });
  Expr shorter = b.let(b.block() * n * n), longer = b.let(b.block() * m * q);
  by_shape(
      c,
      [&] {
        t.transpose({b, c.results[0], longer, q}, *sorted, q, m);
        Grid out{b, c.results[2], shorter, n};
        t.each_of(n, n, [&](Expr i, Expr j) { out.store(i, j, v->load(i, j)); });
      },
      [&] {
        t.transpose({b, c.results[0], shorter, n}, *v, n, n);
        Grid out{b, c.results[2], longer, m};
        high_tools.each_of(q, m, [&](Expr i, Expr j) { out.store(i, j, sorted->load(i, j)); });
      });
}

void nest_svd(NestContext& c) { nest_singular(c, true); }
void nest_svdvals(NestContext& c) { nest_singular(c, false); }

// With G = Uᴴ dx V and F_ij = 1 / (s_j² - s_i²): dU = U (F * (G S + S Gᴴ)) + (1 - U Uᴴ) dx V S⁻¹, ds = diag
// G, dV = V (F * (S G + Gᴴ S)) + (1 - V Vᴴ) dxᴴ U S⁻¹: of singular values that differ, and unless x is
// square and real, are not 0. Of complex matrices the imaginary part of diag(G) S⁻¹ turns U against V, and
// both are turned so that the element that is kept positive stays real.
std::vector<Value> jvp_svd(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr, nullptr, nullptr};
  Builder& b = c.build;
  Compose m(b);
  const Type& x = c.operands[0]->type();
  const DimScope& scope = b.graph().dims;
  bool high = scope.less_equal(rows_of(x), columns_of(x)) != Truth::Yes;  // or may be
  bool wide = scope.less_equal(columns_of(x), rows_of(x)) != Truth::Yes;
  if (c.node->attrs().get(kFull) && (high || wide))
    throw make_error(ErrorKind::Unsupported, "svd: full factors of matrices {} have no derivative", x.str())
        .at(c.node->location().str())
        .why(
            "the vectors beyond the shorter side of x are any ones at right angles to the others, so no "
            "slope "
            "is theirs")
        .hint("use full_matrices=False, or put ig.stop_gradient around the argument");
  Value u = c.results[0], s = c.results[1], vh = c.results[2];
  Value uh = adjoint(b, u), v = adjoint(b, vh);
  Value moved = product_of(b, c.tangents[0], v);
  Value inner = product_of(b, uh, moved);
  Value across = row_of(b, s), down = column_of(b, s);
  Value factor = of_type(b, inverse_differences(b, m.mul(m.add(across, down), m.sub(across, down))), inner);
  Value right = of_type(b, across, inner), left = of_type(b, down, inner);
  Value right_scaled = m.mul(inner, right), left_scaled = m.mul(inner, left);
  Value du = product_of(b, u, m.mul(factor, m.add(right_scaled, adjoint(b, right_scaled))));
  if (high) du = m.add(du, m.div(m.sub(moved, product_of(b, u, inner)), right));
  Value dv = product_of(b, v, m.mul(factor, m.add(left_scaled, adjoint(b, left_scaled))));
  if (wide) {
    Value other = product_of(b, adjoint(b, c.tangents[0]), u);
    dv = m.add(dv, m.div(m.sub(other, product_of(b, v, adjoint(b, inner))), right));
  }
  Value along = diagonal_of(b, inner);
  if (is_complex(x.dtype)) {
    du = m.add(du, m.mul(u, imaginary(b, m.div(row_of(b, b("imag", {along})), across))));
    Value turn = wide ? turn_of(b, u, du) : turn_of(b, v, dv);
    if (wide && high) {  // which is known at run time
      auto size = [&](const Dim& dim) { return b("dimension_size", {}, {{"size", Dims{dim}}}); };
      turn = m.where(m.less(size(rows_of(x)), size(columns_of(x))), turn, turn_of(b, v, dv));
    }
    Value less = imaginary(b, turn);
    du = m.sub(du, m.mul(u, less));
    dv = m.sub(dv, m.mul(v, less));
  }
  return {du, real_part(b, along), adjoint(b, dv)};
}

std::vector<Value> jvp_svdvals(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Builder& b = c.build;
  std::vector<Value> all = b.many("svd", {c.operands[0]});
  c.replaced = {all[1]};
  Value moved = product_of(b, c.tangents[0], adjoint(b, all[2]));
  return {real_part(b, last_sum(b, Compose(b).mul(conjugate(b, all[0]), moved), 2))};
}

// The oracle's vectors with our signs: NumPy has no rule for them.
std::string signs_of(const std::string& rows) {
  return "(lambda z: np.conj(z) / np.abs(z))(np.take_along_axis(" + rows + ", np.argmax(np.abs(" + rows +
         ") >= 0.99 * np.abs(" + rows + ").max(-1, keepdims=True, initial=0), -1)[..., None], -1))";
}

}  // namespace

std::vector<Op> linalg_spectral() {
  const std::string symmetric = "T[3, 3] {4, 1, 0.5, 1, 3, -0.5, 0.5, -0.5, -2}",
                    lower = "T[4, 4] {1, 0, 0, 0, 2, -1, 0, 0, 0.5, 3, 2, 0, -1, 0.25, 1.5, 5}",
                    two = "T[2, 2, 2] {4, 1, 1, 3, 2, -1, -1, 5}",
                    square = "T[3, 3] {1, 2, -0.5, 4, -1, 0.5, 0.25, 3, 2}",
                    tall = "T[2, 3, 2] {1, 2, 3, -1, 0.5, 2, -1, 1, 2, 0.5, 3, 1}",
                    high = "T[5, 3] {1, 2, -0.5, 4, -1, 0.5, 0.25, 3, 2, -2, 1, 0.5, 3, 0.25, -1}";
  // NumPy reads the lower triangle too.
  const std::string whole = "x" + std::string(factors::kWideNumbers);
  const std::vector<Sample> symmetrics{
      {symmetric, "{}"},
      {lower, "{}"},
      {two, "{}"},
      {"T[1, 1] {-9}", "{}"},
      {"T[0, 2, 2]", "{}"},
      {"T[0, 0]", "{}"},
      {"T[3, 3] {2, 0, 0, (1, -0.5), -1, 0, (0.25, 2), (0.5, 1.5), 0.5}", "{}"}};
  std::vector<Op> ops;
  ops.push_back(factorisation(
      {.name = "eigh",
       .doc = "The eigenvalues of symmetric (complex: Hermitian) matrices in ascending order, and unit "
              "vectors of them as columns.\nThe lower triangle is read. Of a vector's elements that are "
              "within a hundredth of "
              "the largest in size, the first is positive. NaN where an element is NaN or infinite. "
              "Derivatives of the vectors are those of eigenvalues that differ.",
       .operands = {{"x", "[..., n, n]."}},
       .results = 2,
       .numpy = "(lambda w, v: (w, v * np.swapaxes(" + signs_of("np.swapaxes(v, -1, -2)") +
                ", -1, -2) if v.size else v))(*np.linalg.eigh(" + whole + "))",
       .samples = symmetrics,
       .usual = factors::usual_matrices({"2, 2"}),
       .ulp = 256,
       .complex_ulp = 512},
      true, infer_eigh, reference_eigh, nest_eigh, jvp_eigh));
  ops.back().rules.alone = {"eigvalsh", ""};
  ops.push_back(factorisation({.name = "eigvalsh",
                               .doc = "The eigenvalues of symmetric (complex: Hermitian) matrices, in "
                                      "ascending order.\nThe lower "
                                      "triangle is read. NaN where an element is NaN or infinite.",
                               .operands = {{"x", "[..., n, n]."}},
                               .numpy = "np.linalg.eigvalsh(" + whole + ")",
                               .samples = symmetrics,
                               .usual = factors::usual_matrices({"2, 2"}),
                               .ulp = 256,
                               .complex_ulp = 512},
                              true, infer_eigvalsh, reference_eigvalsh, nest_eigvalsh, jvp_eigvalsh));
  std::vector<Sample> highs{{square, "{}"},
                            {tall, "{}"},
                            {high, "{}"},
                            {"T[1, 1] {-9}", "{}"},
                            {"T[0, 2, 2]", "{}"},
                            {"T[3, 0]", "{}"},
                            {"T[2, 3] {1, 2, -0.5, 4, -1, 0.5}", "{}"},
                            {"T[3, 2] {(1, 2), 0.5, (-1, 0.5), (2, -1), (0.25, 1), (0, 3)}", "{}"},
                            {"T[2, 3] {(1, -2), 0.5, (-1, 0.5), (2, -1), (0.25, 1), (1, 3)}", "{}"}};
  ops.push_back(factorisation(
      {.name = "svdvals",
       .doc =
           "The singular values of matrices, in descending order.\nNaN where an element is NaN or infinite.",
       .operands = {{"x", "[..., m, n]."}},
       .numpy = "np.linalg.svd(x" + std::string(factors::kWideNumbers) + ", compute_uv=False)",
       .samples = highs,
       .usual = factors::usual_matrices({"3, 2"}),
       .ulp = 256,
       .complex_ulp = 512},
      false, infer_svdvals, reference_svdvals, nest_svdvals, jvp_svdvals));
  highs.push_back({square, "{full_matrices = true}"});
  ops.push_back(factorisation(
      {.name = "svd",
       .doc =
           "U, the singular values s in descending order, and Vᴴ, with x = U diag(s) Vᴴ, where the columns "
           "of U and the rows of Vᴴ are unit vectors at right angles.\nOf the elements of a row of Vᴴ (where "
           "x is wider than high: of a column of U) that "
           "are within a hundredth of the largest in size, the first is positive. NaN where an element is "
           "NaN or infinite. Derivatives of the vectors are those of singular values that differ.",
       .operands = {{"x", "[..., m, n]."}},
       .attrs = {kFull},
       .results = 3,
       .numpy = "(lambda u, s, v: (lambda g: (u * np.conj(np.swapaxes(g, -1, -2)), s, v * g))(" +
                signs_of("v") + " if x.shape[-2] >= x.shape[-1] else np.conj(" +
                signs_of("np.swapaxes(u, -1, -2)") + ")" + ") if v.size else (u, s, v))(*np.linalg.svd(x" +
                std::string(factors::kWideNumbers) + ", full_matrices=full_matrices))",
       .samples = highs,
       .usual = factors::usual_matrices({"3, 2"}),
       .ulp = 256,
       .complex_ulp = 512},
      false, infer_svd, reference_svd, nest_svd, jvp_svd));
  for (UsualCall& call : factors::usual_matrices({"3, 2"}, make_attrs({kFull % true})))
    ops.back().decl.usual.push_back(std::move(call));
  ops.back().rules.alone = {"", "svdvals", ""};
  return ops;
}

}  // namespace ig::ops
