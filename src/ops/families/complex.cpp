// Parts of complex numbers: taking them, joining them, the conjugate and the angle. All are linear over the
// reals but the angle. Transposes follow the pairing that has no conjugate, in which the transpose of z -> az
// is itself: so that of `imag` has a sign.
#include "ops/families/complex.h"

#include "loop/math_complex.h"
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using loop::Expr;

bool complex_operand(const Node* node) { return is_complex(node->operand(0)->type().dtype); }

std::vector<Value> transpose_real(TransposeContext& c) {
  Value t = c.cotangents[0];
  if (!t || !complex_operand(c.node)) return {t};
  return {c.build("complex", {t, tools::zeros_like(c.build, t)})};
}
std::vector<Value> transpose_imag(TransposeContext& c) {
  Value t = c.cotangents[0];
  if (!t || !complex_operand(c.node)) return {nullptr};
  return {c.build("complex", {tools::zeros_like(c.build, t), c.build("negate", {t})})};
}
std::vector<Value> transpose_conj(TransposeContext& c) {
  return {c.cotangents[0] ? c.build("conj", {c.cotangents[0]}) : nullptr};
}
std::vector<Value> transpose_complex(TransposeContext& c) {
  Value t = c.cotangents[0];
  if (!t) return {nullptr, nullptr};
  return {c.linear[0] ? c.build("real", {t}) : nullptr,
          c.linear[1] ? c.build("negate", {c.build("imag", {t})}) : nullptr};
}

// imag(t / z). Of real numbers the angle is a step.
std::vector<Value> jvp_angle(JvpContext& c) {
  if (!c.tangents[0] || !complex_operand(c.node)) return {nullptr};
  return {c.build("imag", {c.build("divide", {c.tangents[0], c.operands[0]})})};
}

// real(complex(a, b)) = a; of a real number, itself.
Value simplify_real(SimplifyContext& c) {
  Value x = c.node->operand(0);
  if (!complex_operand(c.node)) return x;
  Node* inner = x->node();
  return inner && op_of(inner).decl.name == "complex" ? inner->operand(0) : nullptr;
}
Value simplify_imag(SimplifyContext& c) {
  Value x = c.node->operand(0);
  if (!complex_operand(c.node)) return c.build.full_like(x, 0);
  Node* inner = x->node();
  return inner && op_of(inner).decl.name == "complex" ? inner->operand(1) : nullptr;
}
// conj(conj(x)) = x; of a real number, itself.
Value simplify_conj(SimplifyContext& c) {
  Value x = c.node->operand(0);
  if (!complex_operand(c.node)) return x;
  Node* inner = x->node();
  return inner && inner->op() == c.node->op() ? inner->operand(0) : nullptr;
}
// complex(real(z), imag(z)) = z.
Value simplify_complex(SimplifyContext& c) {
  Node *re = c.node->operand(0)->node(), *im = c.node->operand(1)->node();
  if (!re || !im || op_of(re).decl.name != "real" || op_of(im).decl.name != "imag") return nullptr;
  Value z = re->operand(0);
  return z == im->operand(0) && z->type().dtype == c.node->result()->type().dtype ? z : nullptr;
}

void infer_complex(InferContext& c) {
  for (size_t i = 0; i < 2; ++i) {
    c.require_dtype(i, DTypeSet::Float);
    if (tools::is_half(c.operand(i).dtype))
      c.fail(ErrorKind::Type,
             fmt::format("{} is no part of a complex number", info(c.operand(i).dtype).api_name),
             "complex64 has parts of float32, complex128 of float64", "convert with astype(ig.float32)");
  }
  c.require_same_dtype(0, 1);
  c.require_same_shape(0, 1);
  c.result(complex_of(c.operand(0).dtype), c.operand(0).dims);
}
void reference_join(ReferenceContext& c) {
  for (int64_t i = 0, n = c.operands[0].elements(); i < n; ++i)
    tools::set_complex(c.results[0], i, c.operands[0].as_double(i), c.operands[1].as_double(i));
}

Expr lower_angle(Expr x) {
  if (is_float(x.type())) return loop::math::atan2(x.builder().constant(x.type(), 0), x);
  return loop::complex_math::angle(x);
}

// The functions of NumPy that these are take any number; an example shows a complex one.
Op with_example(Op op, std::string example) {
  op.decl.example = std::move(example);
  return op;
}

}  // namespace

std::vector<Op> complex_ops() {
  std::vector<Op> ops;
  Op re = unary<[](double x) { return x; }, [](int64_t x, DType) { return x; },
                [](Expr x) { return loop::real(x); }, [](auto z) { return z.real(); }>(
      {.name = "real",
       .python = "real",
       .doc = "The real part of each element; a real element itself.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.real(x)",
       .traits = Trait::Linear | Trait::Cheap,
       .gives = Gives::Part,
       .jvp = tools::linear_jvp,
       .simplify = simplify_real});
  re.rules.transpose = transpose_real;
  ops.push_back(with_example(std::move(re), "ig.real(ig.asarray([1 + 2j, -3j]))"));

  Op im = unary<[](double) { return 0.0; }, [](int64_t, DType) { return int64_t{0}; },
                [](Expr x) { return loop::imag(x); }, [](auto z) { return z.imag(); }>(
      {.name = "imag",
       .python = "imag",
       .doc = "The imaginary part of each element; 0 of a real one.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.imag(x)",
       .traits = Trait::Linear | Trait::Cheap,
       .gives = Gives::Part,
       .jvp = tools::linear_jvp,
       .simplify = simplify_imag});
  im.rules.transpose = transpose_imag;
  ops.push_back(with_example(std::move(im), "ig.imag(ig.asarray([1 + 2j, -3j]))"));

  Op conj = unary<[](double x) { return x; }, [](int64_t x, DType) { return x; }, [](Expr x) { return x; },
                  [](auto z) { return std::conj(z); }, loop::complex_math::conj>(
      {.name = "conj",
       .python = "conj",
       .doc = "The complex conjugate: each element with its imaginary part negated; a real element itself.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.conj(x)",
       .traits = Trait::Linear | Trait::Cheap,
       .jvp = tools::linear_jvp,
       .simplify = simplify_conj});
  conj.rules.transpose = transpose_conj;
  ops.push_back(with_example(std::move(conj), "ig.conj(ig.asarray([1 + 2j, -3j]))"));

  Op angle = unary<[](double x) { return std::atan2(0.0, x); }, nullptr, lower_angle,
                   [](Complex z) { return std::arg(z); }>(
      {.name = "angle",
       .python = "angle",
       .doc =
           "The angle of each element in the complex plane, in radians, in [-π, π]; of a real element 0 or "
           "π, by its sign.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.arctan2(np.imag(x), np.real(x))",
       .ulp = 3,
       .complex_ulp = 3,
       .gives = Gives::Part,
       .jvp = jvp_angle});
  ops.push_back(with_example(std::move(angle), "ig.angle(ig.asarray([1 + 1j, -1j]))"));

  Op join = make_binary(
      {.name = "complex",
       .python = "complex",
       .doc = "The complex numbers whose parts are given: complex64 of float32, complex128 of float64.",
       .numpy = "np.stack([x, y], -1).view('c%d' % (2 * x.itemsize))[..., 0]",
       .traits = Trait::Linear | Trait::Cheap,
       .jvp = tools::linear_jvp_all,
       .simplify = simplify_complex},
      reference_join, [](ScalarContext& c) { return loop::complex(c.x[0], c.x[1]); });
  join.decl.operands = {{"x", "The real parts."}, {"y", "The imaginary parts, of the same type."}};
  join.decl.bad_samples.push_back(
      {"f16[3], f16[3]", "", "TypeError: complex: float16 is no part of a complex number"});
  join.rules.infer = infer_complex;
  join.rules.transpose = transpose_complex;
  ops.push_back(with_example(std::move(join), "ig.complex(ig.asarray([1.0, 0.0]), ig.asarray([2.0, -3.0]))"));
  return ops;
}

}  // namespace ig::ops
