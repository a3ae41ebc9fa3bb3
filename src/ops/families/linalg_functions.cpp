// Functions of matrices that are made of products and systems: the exponential, and the product of
// Householder's reflectors.
#include <cmath>

#include "ops/families/compose.h"
#include "ops/families/linalg_rules.h"

namespace ig::ops {

std::vector<Op> linalg_functions();

namespace {

using factors::identity_like;
using factors::product_of;

// How often the argument is halved at most: a norm above 2^16 times the limit below gives NaN, as in JAX.
constexpr int kMostHalvings = 16;

bool is_known_type(DType dtype) { return is_complex(dtype) || (is_float(dtype) && size_of(dtype) > 2); }

void infer_exponential(InferContext& c) {
  const Type& x = c.operand(0);
  if (!is_known_type(x.dtype))
    c.fail(ErrorKind::Type, fmt::format("matrices of {} have no exponential here", info(x.dtype).api_name),
           "it is computed in float32, float64, complex64 and complex128",
           "convert with astype, and back afterwards");
  if (x.rank() < 2)
    c.fail(ErrorKind::Shape, fmt::format("needs matrices [..., n, n], got {}", x.str()),
           "the last two axes are the matrix", "reshape the array to two axes or more");
  c.require_equal(x.dims[x.dims.size() - 2], x.dims.back(), "the rows and the columns of a square matrix");
  c.result(x.dtype, x.dims);
}

// Padé's approximant of degree 13 of the matrix halved s times, squared as often: N. Higham, "The scaling and
// squaring method for the matrix exponential revisited" (2005). A matrix of its own in a batch has its own s.
std::vector<Value> exponential_body(BodyContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Value a = c.operands[0];
  if (a->type().dims.back() == 0) return {a};
  constexpr double kLimit = 5.371920351148152;  // the 1-norm up to which the approximant is right in float64
  int64_t rows = a->type().rank() - 2;
  Value norm = m.top_keep(m.sum_keep(m.abs(a), {rows}), {rows + 1});
  norm = b("stop_gradient", {norm});
  Value none = m.number(norm, 0), least = m.number(norm, kLimit);
  Value halvings = b("ceil", {b("log2", {m.div(m.max(norm, least), kLimit)})});
  Value too_many = m.less(m.number(norm, kMostHalvings), halvings);
  halvings = m.min(m.max(halvings, none), m.number(norm, kMostHalvings));
  auto of_type = [&](Value real) { return b.convert(real, a->type().dtype); };
  Value x = m.mul(a, of_type(b("exp2", {m.neg(halvings)})));
  constexpr double kPade[] = {64764752532480000,
                              32382376266240000,
                              7771770303897600,
                              1187353796428800,
                              129060195264000,
                              10559470521600,
                              670442572800,
                              33522128640,
                              1323241920,
                              40840800,
                              960960,
                              16380,
                              182,
                              1};
  // Scaled, so that float32 does not overflow on the way.
  auto k = [&](int i) { return kPade[i] / kPade[0]; };
  Value one = identity_like(b, x), x2 = product_of(b, x, x), x4 = product_of(b, x2, x2),
        x6 = product_of(b, x4, x2);
  auto sum = [&](int i6, int i4, int i2) {
    return m.add(m.add(m.mul(x6, k(i6)), m.mul(x4, k(i4))), m.mul(x2, k(i2)));
  };
  Value odd = m.add(m.add(product_of(b, x6, sum(13, 11, 9)), sum(7, 5, 3)), m.mul(one, k(1)));
  odd = product_of(b, x, odd);
  Value even = m.add(m.add(product_of(b, x6, sum(12, 10, 8)), sum(6, 4, 2)), one);
  Value y = b("solve", {m.sub(even, odd), m.add(even, odd)});
  for (int step = 0; step < kMostHalvings; ++step) {
    Value again = m.less(m.number(halvings, step), halvings);
    y = m.where(again, product_of(b, y, y), y);
  }
  // NaN where too many halvings are needed, and where the norm is none.
  Value known = m.less_equal(norm, m.number(norm, std::ldexp(kLimit, kMostHalvings)));
  Value failed = m.two("or", too_many, b("logical_not", {known}));
  return {m.where(failed, of_type(m.number(norm, std::nan(""))), y)};
}

void infer_householder(InferContext& c) {
  factors::require_matrices(c, 0);
  c.require_same_dtype(0, 1);
  const Type &x = c.operand(0), &tau = c.operand(1);
  c.require_rank(1, x.rank() - 1);
  for (size_t i = 0; i + 2 < x.dims.size(); ++i) c.require_equal(x.dims[i], tau.dims[i], "the leading axes");
  c.require_less_equal(tau.dims.back(), x.dims.back(), "the factors and the columns of a");
  c.require_less_equal(x.dims.back(), x.dims[x.dims.size() - 2], "the columns and the rows of a");
  c.result(x.dtype, x.dims);
}

// (1 - tau_1 v_1 v_1ᴴ) (1 - tau_2 v_2 v_2ᴴ) … = 1 - V T Vᴴ, where (1 + diag(tau) striu(Vᴴ V)) T = diag(tau):
// C. Puglisi, "Modification of the Householder method based on the compact WY representation" (1992).
std::vector<Value> householder_body(BodyContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Value a = c.operands[0], tau = c.operands[1];
  const Type& type = a->type();
  int64_t rows = type.rank() - 2;
  Value v = m.slice(a, rows + 1, Dim(int64_t{0}), tau->type().dims.back());
  Value row = m.iota(DType::I64, v->type().dims, rows), column = m.iota(DType::I64, v->type().dims, rows + 1);
  Value zero = m.number(v, 0);
  v = m.where(m.less(column, row), v, m.where(m.equal(column, row), m.number(v, 1), zero));
  Value vh = factors::adjoint(b, v);
  Value inner = factors::triangle(b, product_of(b, vh, v), false, 1);
  Value scale = factors::column_of(b, tau);
  Value right = m.mul(scale, vh);
  Value t = factors::solved(b, m.mul(scale, inner), right, false, false, true);
  Value i = m.iota(DType::I64, type.dims, rows), j = m.iota(DType::I64, type.dims, rows + 1);
  Value whole = b.convert(m.equal(i, j), type.dtype);
  return {m.sub(whole, product_of(b, v, m.slice(t, rows + 1, Dim(int64_t{0}), type.dims.back())))};
}

}  // namespace

std::vector<Op> linalg_functions() {
  std::vector<Op> ops;
  ops.push_back(composite(
      {.name = "matrix_exponential",
       .doc = "The exponential of each square matrix, by Padé's approximant of degree 13 with up to 16 "
              "halvings; NaN of norms that would need more.",
       .operands = {{"x", "[..., n, n]."}},
       .dtypes = DTypeSet::FloatComplex,
       .front = Front::None,
       .numpy = "scipy.linalg.expm(x.astype('D' if x.dtype.kind == 'c' else float))",
       .samples = {{"T[3, 3] {1, 2, -0.5, 4, -1, 0.5, 0.25, 3, 2}", "{}"},
                   {"T[2, 2, 2] {0, 1, -1, 0, 2, -8, 16, 5}", "{}"},
                   {"T[1, 1] {-9}", "{}"},
                   {"T[2, 2] {0, 0, 0, 0}", "{}"},
                   {"T[0, 2, 2]", "{}"}},
       .bad_samples =
           {{"f16[2, 2]", "{}",
             "TypeError: matrix_exponential: matrices of float16 have no exponential here"},
            {"f32[2, 3]", "{}",
             "ShapeError: matrix_exponential: the rows and the columns of a square matrix: 2 and 3 "
             "differ"},
            {"f32[2]", "{}", "ShapeError: matrix_exponential: needs matrices [..., n, n], got f32[2]"}},
       .ulp = 1024,
       .complex_ulp = 1024},
      exponential_body, infer_exponential));
  ops.push_back(composite(
      {.name = "householder_product",
       .doc =
           "The first columns of the product of the reflectors 1 - tau v vᴴ, whose vectors v stand below the "
           "diagonal of a, with a 1 on it: Q of a QR factorisation in LAPACK's form.",
       .operands = {{"a", "[..., m, n]."}, {"tau", "[..., k], k up to n."}},
       .dtypes = DTypeSet::FloatComplex,
       .front = Front::None,
       .numpy = "(lambda one: np.stack([one(*k) for k in zip(a, tau)]) if a.ndim > 2 else one(a, "
                "tau))(lambda a, t: "
                "(lambda q: q if a.dtype.kind == 'c' else q.real)(scipy.linalg.lapack.zungqr(a.astype('D'), "
                "t.astype('D'))[0]))",
       .samples = {{"T[3, 2] {1, 2, -0.5, 4, -1, 0.5}, T[2] {0.25, 0.5}", "{}"},
                   {"T[3, 2] {1, (2, 0.5), (-0.5, 1), 4, (-1, 2), (0.5, -1)}, T[2] {(0.25, 0.5), (0.5, -1)}",
                    "{}"},
                   {"T[2, 3, 3], T[2, 2]", "{}", -1, 1},
                   {"T[4, 1], T[1]", "{}"}},
       .bad_samples =
           {{"f32[2, 3], f32[2]", "{}",
             "ShapeError: householder_product: the columns and the rows of a: 3 is more than 2"},
            {"f32[3, 2], f32[3]", "{}",
             "ShapeError: householder_product: the factors and the columns of a: 3 is more than 2"}},
       .ulp = 256,
       .complex_ulp = 256},
      householder_body, infer_householder));
  return ops;
}

}  // namespace ig::ops
