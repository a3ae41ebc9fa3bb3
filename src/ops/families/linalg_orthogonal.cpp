// QR: a matrix as an orthogonal (complex: unitary) one times an upper triangular one, by Householder's
// reflectors.
#include "ops/families/compose.h"
#include "ops/families/linalg_blocked.h"
#include "ops/families/linalg_kernels.h"
#include "ops/families/linalg_reference.h"
#include "ops/families/linalg_rules.h"

namespace ig::ops {

std::vector<Op> linalg_orthogonal();

namespace {

using namespace factors;

constexpr Attr<bool> kComplete{
    "complete", "Whether Q is square, and R as high as x; else they meet in the shorter side of x.", "false"};

// From so many columns on reflectors are applied a block at a time.
constexpr int64_t kLeastBlocked = 128;

const Dim& rows_of(const Type& x) { return x.dims[x.dims.size() - 2]; }
const Dim& columns_of(const Type& x) { return x.dims.back(); }
Dim shorter(const Type& x) { return min(rows_of(x), columns_of(x)); }

void infer_qr(InferContext& c) {
  require_matrices(c, 0);
  const Type& x = c.operand(0);
  Dim inner = c.get(kComplete) ? rows_of(x) : shorter(x);
  c.result(x.dtype, with_last(batch_of(x), {rows_of(x), inner}));
  c.result(x.dtype, with_last(batch_of(x), {inner, columns_of(x)}));
}

void infer_triangle(InferContext& c) {
  require_matrices(c, 0);
  const Type& x = c.operand(0);
  c.result(x.dtype, with_last(batch_of(x), {shorter(x), columns_of(x)}));
}

// Q (null: not wanted) and R of each matrix.
void reference_of(const Literal& x, Literal* q, Literal& r) {
  int64_t m = x.dims()[x.dims().size() - 2], n = x.dims().back(), height = r.dims()[r.dims().size() - 2];
  int64_t count = 1;
  for (size_t i = 0; i + 2 < x.dims().size(); ++i) count *= x.dims()[i];
  for (int64_t number = 0; number < count; ++number) {
    Dense work(m, n);
    for (int64_t i = 0; i < m * n; ++i)
      work.elements[static_cast<size_t>(i)] = x.as_complex(number * m * n + i);
    Dense left = reduce_to_triangle(work, height);
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < n; ++j)
        set_element(r, number * height * n + i * n + j, j >= i ? work.at(i, j) : 0);
    for (int64_t i = 0; i < m && q; ++i)
      for (int64_t j = 0; j < height; ++j) set_element(*q, (number * m + i) * height + j, left.at(i, j));
  }
}

void reference_qr(ReferenceContext& c) { reference_of(c.operands[0], &c.results[0], c.results[1]); }
void reference_triangle(ReferenceContext& c) { reference_of(c.operands[0], nullptr, c.results[0]); }

void nest_of(NestContext& c, bool vectors) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  DType dtype = type.dtype;
  const Type& r_type = c.node->result(vectors ? 1 : 0)->type();
  c.set_blocks(product(batch_of(type)));
  Expr m = c.size(rows_of(type)), n = c.size(columns_of(type)), steps = c.size(shorter(type)),
       height = c.size(rows_of(r_type));
  Expr zero = b.index(0), one = b.index(1);
  Tools along_rows(b, dtype, lanes_of(dtype, columns_of(type)));
  Tools along_columns(b, dtype, lanes_of(dtype, rows_of(type)));
  Grid x{b, c.operands[0], b.let(b.block() * m * n), n};
  Blocked blocked(c, dtype, columns_of(type));
  // The matrix, which gives way to R and the vectors below its diagonal; and Q, in rows behind its own.
  Grid a = blocked.grid(rows_of(type) * (vectors ? 2 : 1) + Blocked::kBlock,
                        max(columns_of(type), rows_of(r_type)), "factors");
  Grid q{b, a.buffer, b.let((m + b.index(Blocked::kBlock)) * a.step), a.step, a.imaginary};
  Line v = scratch_line(c, dtype, rows_of(type), "vector");
  Line factors = scratch_line(c, dtype, shorter(type), "factor");
  auto at = [&](Expr i) { return v.load(i); };
  Expr none = b.constant(dtype, 0);

  along_rows.each_of(m, n, [&](Expr i, Expr j) { a.store(i, j, x.load(i, j)); });
  BlockReflector reflectors(along_rows, blocked, rows_of(type), max(columns_of(type), rows_of(r_type)));
  const Expr alone = b.let(steps < b.index(kLeastBlocked));
  // First the adjoints of reflectors, each made from a column, to the columns behind it, which gives R; then
  // they themselves, from the last one back, to ones, whose columns before are not touched, which gives Q. Of
  // a small matrix one after the other. Of a large one a block at a time; while that is made, to its own
  // columns.
  auto pass = [&](Expr reduces) {
    Grid to{b, a.buffer, b.let(select(reduces, a.base, q.base)), a.step, a.imaginary};
    auto reflect = [&](Expr k, Expr until) {
      b.if_then(
          reduces,
          [&] {
            b.serial_for(k, m, [&](Expr i) { v.store(i, a.load(i, k)); });
            Tools::Reflector h = along_columns.reflector(v, k, m);
            factors.store(k, h.tau);
            b.serial_for(k, m, [&](Expr i) { a.store(i, k, at(i)); });
            a.store(k, k, as(dtype, h.beta));
          },
          [&] {
            b.serial_for(k + one, m, [&](Expr i) { v.store(i, a.load(i, k)); });
            v.store(k, b.constant(dtype, 1));
          });
      Expr tau = b.let(factors.load(k));
      if (is_complex(dtype)) tau = b.let(select(reduces, conj(tau), tau));
      along_rows.reflect_rows(to, at, tau, k, m, b.let(select(reduces, k + one, k)), until);
    };
    blocked.blocks(steps, reduces, [&](Expr first, Expr end) {
      Expr width = b.let(select(alone | reduces, end - first, zero));
      Expr until = b.let(select(alone, select(reduces, n, height), end));
      b.serial_for(zero, width, [&](Expr step) {
        reflect(b.let(select(reduces, first + step, end - one - step)), until);
      });
      b.if_then(steps >= b.index(kLeastBlocked), [&] {
        reflectors.take(a, factors, first, end, m);
        reflectors.apply(to, {b.let(select(reduces, end, first)), b.let(select(reduces, n, height))},
                         reduces);
      });
    });
  };
  if (vectors) {
    along_columns.fill_identity(q, m, height);
    b.serial_for(zero, b.index(2), [&](Expr which) { pass(b.let(which == zero)); });
  } else {
    pass(b.constant(DType::Bool, 1));
  }
  Grid r{b, c.results[vectors ? 1 : 0], b.let(b.block() * height * n), n};
  along_rows.each_of(height, n, [&](Expr i, Expr j) { r.store(i, j, select(j >= i, a.load(i, j), none)); });
  if (!vectors) return;
  Grid out{b, c.results[0], b.let(b.block() * m * height), height};
  along_columns.each_of(m, height, [&](Expr i, Expr j) { out.store(i, j, q.load(i, j)); });
}

void nest_qr(NestContext& c) { nest_of(c, true); }
void nest_triangle(NestContext& c) { nest_of(c, false); }

struct Tangents {
  Value q, r;
};

// Of x = q r with at least as many rows as columns: with M = qᴴ dx r⁻¹ and the skew (skew-Hermitian) S that
// has M's lower triangle and the imaginary part of its diagonal, dq = dx r⁻¹ - q (M - S), dr = (M - S) r.
Tangents tangents_of(Builder& b, Value q, Value r, Value dx) {
  Compose m(b);
  Value over = turned(b, solved(b, r, turned(b, dx), false, true, false));
  Value inner = product_of(b, adjoint(b, q), over);
  Value below = triangle(b, inner, true, -1);
  Value upper = m.sub(inner, m.sub(below, adjoint(b, below)));
  if (is_complex(inner->type().dtype)) {
    Value half = m.mul(m.sub(triangle(b, inner, true, 0), below), 0.5);  // of the diagonal
    upper = m.sub(upper, m.sub(half, adjoint(b, half)));
  }
  return {m.sub(over, product_of(b, q, upper)), product_of(b, upper, r)};
}

Value columns(Builder& b, Value x, const Dim& from, const Dim& to) {
  return Compose(b).slice(x, x->type().rank() - 1, from, to);
}

// Where there are more columns than rows, the first ones decide about q; the others follow as qᴴ x.
Tangents tangents_of_any(Builder& b, Value x, Value q, Value r, Value dx) {
  const Dim &rows = rows_of(x->type()), &width = columns_of(x->type());
  if (!surely_wide(b, x->type())) return tangents_of(b, q, r, dx);
  Compose m(b);
  Dim none(int64_t{0});
  Tangents first = tangents_of(b, q, columns(b, r, none, rows), columns(b, dx, none, rows));
  Value rest = m.add(product_of(b, adjoint(b, first.q), columns(b, x, rows, width)),
                     product_of(b, adjoint(b, q), columns(b, dx, rows, width)));
  return {first.q, b("concatenate", {first.r, rest}, {{"axis", int64_t{x->type().rank() - 1}}})};
}

std::vector<Value> jvp_qr(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr, nullptr};
  const Type& x = c.operands[0]->type();
  const DimScope& scope = c.build.graph().dims;
  if (c.node->attrs().get(kComplete) && scope.less_equal(rows_of(x), columns_of(x)) != Truth::Yes)
    throw make_error(ErrorKind::Unsupported, "qr: complete factors of matrices {} have no derivative",
                     x.str())
        .at(c.node->location().str())
        .why(
            "the columns of Q beyond those of x are any ones at right angles to the others, so no slope is "
            "theirs")
        .hint("use mode=\"reduced\", or put ig.stop_gradient around the argument");
  Tangents t = tangents_of_any(c.build, c.operands[0], c.results[0], c.results[1], c.tangents[0]);
  return {t.q, t.r};
}

std::vector<Value> jvp_triangle(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  std::vector<Value> both = c.build.many("qr", {c.operands[0]});
  c.replaced = {both[1]};
  return {tangents_of_any(c.build, c.operands[0], both[0], both[1], c.tangents[0]).r};
}

}  // namespace

std::vector<Op> linalg_orthogonal() {
  // A last element that is real stays as it is, and turns where it has the least imaginary part: not here.
  const std::string square = "T[3, 3] {1, 2, -0.5, 4, -1, 0.5, 0.25, 3, (2, 1)}",
                    tall = "T[2, 3, 2] {1, 2, 3, -1, 0.5, 2, -1, 1, 2, 0.5, 3, 1}",
                    wide = "T[2, 3] {1, 2, -0.5, 4, (-1, 0.5), 0.5}",
                    turned_square = "T[2, 2] {(1, 2), (0.5, -1), (-1, 0.5), (2, 3)}",
                    turned_tall = "T[3, 2] {(1, 2), (0.5, -1), (-1, 0.5), (2, 3), (0, 4), (1, 1)}",
                    turned_wide = "T[2, 3] {(-1, 2), (0.5, -1), (-1, 0.5), (2, 3), (0, 4), (1, 1)}";
  std::vector<Op> ops;
  ops.push_back(factorisation(
      {.name = "qr",
       .doc =
           "Q, whose columns are unit vectors at right angles, and R, which is upper triangular with a real "
           "diagonal, with x = Q R.\nBy Householder's reflectors, as LAPACK has them: an element of R's "
           "diagonal is negative "
           "where (the real part of) the one of x that it replaces is not, unless that is real and nothing "
           "stands below it. Its derivative "
           "is that of matrices whose first columns (as many as the shorter side) are independent.",
       .operands = {{"x", "[..., m, n]."}},
       .attrs = {kComplete},
       .results = 2,
       .numpy =
           "tuple(np.linalg.qr(x" + std::string(kWideNumbers) + ", 'complete' if complete else 'reduced'))",
       .samples = {{square, "{}"},
                   {tall, "{}"},
                   {wide, "{}"},
                   {wide, "{complete = true}"},
                   {square, "{complete = true}"},
                   {turned_square, "{}"},
                   {turned_tall, "{}"},
                   {turned_wide, "{}"},
                   {"T[5, 2, 2]", "{}"},
                   {"T[1, 1] {(-9, 1)}", "{}"},
                   {"T[0, 2, 2]", "{}"},
                   {"T[3, 0]", "{}"}},
       .usual = factors::usual_matrices({"3, 2"}),
       .ulp = 128,
       .complex_ulp = 128},
      false, infer_qr, reference_qr, nest_qr, jvp_qr));
  ops.back().rules.alone = {"", "qr_triangle"};
  ops.push_back(factorisation({.name = "qr_triangle",
                               .doc = "R of the factors x = Q R alone, as high as the shorter side of x.",
                               .operands = {{"x", "[..., m, n]."}},
                               .numpy = "np.linalg.qr(x" + std::string(kWideNumbers) + ", 'r')",
                               .samples = {{square, "{}"},
                                           {tall, "{}"},
                                           {wide, "{}"},
                                           {turned_tall, "{}"},
                                           {turned_wide, "{}"},
                                           {"T[1, 1] {(-9, 1)}", "{}"},
                                           {"T[0, 2, 2]", "{}"},
                                           {"T[3, 0]", "{}"}},
                               .ulp = 128,
                               .complex_ulp = 128},
                              false, infer_triangle, reference_triangle, nest_triangle, jvp_triangle));
  return ops;
}

}  // namespace ig::ops
