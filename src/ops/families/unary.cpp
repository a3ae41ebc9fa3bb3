// Functions of one number of any numeric type: rounding, sign, tests, bits, and the parts of complex numbers.
#include <cmath>

#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;
using scalar::rule1;

constexpr uint32_t kCheap = static_cast<uint32_t>(Trait::Cheap);
const std::vector<Value> kNone{nullptr};

// --- rounding ------------------------------------------------------------------------------------------------------
template <auto OfFloat>
void reference_rounding(ReferenceContext& c) {
  reference1<DTypeSet::Real, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return OfFloat(x);
    else return x;
  }>(c);
}
template <auto OfFloat>
Expr round_rule(ScalarContext& c) {
  return is_float(c.x[0].type()) ? OfFloat(c.x[0]) : c.x[0];
}
Value simplify_rounding(SimplifyContext& c) {
  if (!is_float(c.node->operand(0)->type().dtype)) return c.node->operand(0);
  return simplify_idempotent(c);
}

Op rounding(std::string name, std::string python, std::string doc, std::string numpy, ReferenceFn reference, ScalarFn rule) {
  return unary({.name = std::move(name), .python = std::move(python),
                .doc = std::move(doc) + "\n\nIntegers stay; the sign of zero stays, also of results that become zero.",
                .numpy = std::move(numpy), .dtypes = DTypeSet::Real, .low = -9, .high = 9,
                .traits = kCheap | Trait::Idempotent, .reference = reference, .scalar = rule,
                .simplify = simplify_rounding});
}

Expr round_away(Expr x) {
  Expr whole = loop::trunc(x);
  Expr away = whole + scalar::copysign(scalar::number(x, 1), x);
  return loop::select(loop::abs(x - whole) >= 0.5, away, whole);
}

// --- sign ------------------------------------------------------------------------------------------------------------
std::vector<Value> jvp_abs(JvpContext& c) {
  if (!c.tangents[0]) return kNone;
  Compose m(c.build);
  Value x = c.operands[0], t = c.tangents[0];
  if (!is_complex(x->type().dtype)) return {m.mul(t, m.b("sign", {x}))};
  return {m.div(m.b("real", {m.mul(m.b("conjugate", {x}), t)}), c.results[0])};
}
Value simplify_abs(SimplifyContext& c) {
  Value x = c.node->operand(0);
  if (is_unsigned_int(x->type().dtype)) return x;
  if (is_complex(x->type().dtype)) return nullptr;
  if (const Node* negated = made_by(x, OpId::of("negate"))) return c.build("abs", {negated->operand(0)});
  return simplify_idempotent(c);
}
Expr sign_rule(Expr x) {
  if (is_unsigned_int(x.type())) return loop::select(x == scalar::whole(x, 0), x, scalar::whole(x, 1));
  bool real = is_float(x.type());
  Expr zero = real ? scalar::number(x, 0) : scalar::whole(x, 0);
  Expr one = real ? scalar::number(x, 1) : scalar::whole(x, 1);
  Expr minus = real ? scalar::number(x, -1) : scalar::whole(x, -1);
  return loop::select(x > zero, one, loop::select(x < zero, minus, x));
}

std::vector<Value> linear_unary(JvpContext& c) { return tools::linear_jvp(c); }

// --- complex ---------------------------------------------------------------------------------------------------------
void infer_parts(InferContext& c) {
  for (size_t i : {size_t{0}, size_t{1}}) c.require_dtype(i, DTypeSet::Float);
  c.require_same_dtype(0, 1);
  c.require_same_shape(0, 1);
  c.result(c.operand(0).dtype == DType::F64 ? DType::C128 : DType::C64, c.operand(0).dims);
}
Value zeros(Builder& build, Value like) { return build.full(Type::tensor(real_type(like->type().dtype), like->type().dims), 0); }

std::vector<Value> transpose_real(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  Value ct = c.cotangents[0];
  if (!is_complex(c.node->operand(0)->type().dtype)) return {ct};
  return {c.build("complex", {ct, zeros(c.build, ct)})};
}
std::vector<Value> transpose_imag(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  Value ct = c.cotangents[0];
  return {c.build("complex", {zeros(c.build, ct), c.build("negate", {ct})})};
}
std::vector<Value> transpose_complex(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr};
  DType part = c.node->operand(0)->type().dtype;
  return {c.linear[0] ? c.build.convert(c.build("real", {ct}), part) : nullptr,
          c.linear[1] ? c.build.convert(c.build("negate", {c.build("imag", {ct})}), part) : nullptr};
}
Value simplify_part_of_real(SimplifyContext& c) {
  Value x = c.node->operand(0);
  return is_complex(x->type().dtype) ? nullptr : x;
}
Value simplify_conjugate(SimplifyContext& c) {
  Value same = simplify_part_of_real(c);
  return same ? same : simplify_involution(c);
}

void complex_parts(std::vector<Op>& ops) {
  ops.push_back(unary({.name = "real", .python = "real", .doc = "The real part; a real number stays.",
      .numpy = "np.real(x)", .dtypes = DTypeSet::Numeric, .traits = kCheap | Trait::Linear, .infer = infer_real_part,
      .reference = reference1<DTypeSet::Numeric, [](auto x) {
        if constexpr (is_complex_number<decltype(x)>) return x.real();
        else return x;
      }>,
      .scalar = rule1<[](Expr x) { return x; }>,
      .jvp = linear_unary, .transpose = transpose_real, .simplify = simplify_part_of_real}));
  ops.push_back(unary({.name = "imag", .python = "imag", .doc = "The imaginary part of complex numbers.",
      .numpy = "np.imag(x)", .dtypes = DTypeSet::Complex, .traits = static_cast<uint32_t>(Trait::Linear),
      .infer = infer_real_part, .reference = reference1<DTypeSet::Complex, [](auto x) { return x.imag(); }>,
      .jvp = linear_unary, .transpose = transpose_imag}));
  ops.push_back(unary({.name = "conjugate", .python = "conj",
      .doc = "The complex conjugate; a real number stays.",
      .numpy = "np.conj(x)", .dtypes = DTypeSet::Numeric, .traits = kCheap | Trait::Linear,
      .reference = reference1<DTypeSet::Numeric, [](auto x) {
        if constexpr (is_complex_number<decltype(x)>) return std::conj(x);
        else return x;
      }>,
      .scalar = rule1<[](Expr x) { return x; }>,
      .jvp = linear_unary, .transpose = transpose_same, .simplify = simplify_conjugate}));
  Op complex = elementwise({.name = "complex", .python = "",
                            .doc = "The complex number of a real and an imaginary part.\n\nOf float64 parts it is "
                                   "complex128, else complex64. StableHLO complex.",
                            .numpy = "(re + np.asarray(1j, 'c8') * im)",
                            .traits = static_cast<uint32_t>(Trait::Linear), .infer = infer_parts,
                            .reference = reference2<DTypeSet::Float, [](auto re, auto im) { return std::complex(re, im); }>,
                            .jvp = +[](JvpContext& c) { return tools::linear_jvp_all(c); },
                            .transpose = transpose_complex},
                           {{"re", "The real part."}, {"im", "The imaginary part, of the same type."}});
  for (BadSample& bad : complex.decl.bad_samples)  // its operands have names of their own
    if (size_t at = bad.error.find("x1"); at != std::string::npos) bad.error.replace(at, 2, "re");
  ops.push_back(std::move(complex));
}

// --- tests and bits ----------------------------------------------------------------------------------------------------
template <auto Test>
void reference_test(ReferenceContext& c) {
  reference1<DTypeSet::Numeric, [](auto x) {
    if constexpr (is_complex_number<decltype(x)>) return Test(x.real(), x.imag());
    else if constexpr (std::is_floating_point_v<decltype(x)>) return Test(x, decltype(x)(0));
    else return Test(0.0, 0.0);
  }>(c);
}

Op predicate(std::string name, std::string python, std::string doc, ReferenceFn reference, ScalarFn rule) {
  std::string numpy = "np." + python + "(x)";
  return unary({.name = std::move(name), .python = std::move(python), .doc = std::move(doc), .numpy = std::move(numpy),
                .dtypes = DTypeSet::Numeric, .traits = kCheap, .infer = infer_predicate, .reference = reference,
                .scalar = rule});
}

void tests_and_bits(std::vector<Op>& ops) {
  ops.push_back(predicate("is_finite", "isfinite", "Whether x is neither NaN nor an infinity; integers always are.",
      reference_test<[](auto re, auto im) { return std::isfinite(re) && std::isfinite(im); }>,
      rule1<[](Expr x) { return scalar::is_finite(x); }>));
  ops.push_back(predicate("is_nan", "isnan", "Whether x is NaN; integers never are.",
      reference_test<[](auto re, auto im) { return std::isnan(re) || std::isnan(im); }>,
      rule1<[](Expr x) { return scalar::is_nan(x); }>));
  ops.push_back(predicate("is_inf", "isinf", "Whether x is an infinity; integers never are.",
      reference_test<[](auto re, auto im) { return std::isinf(re) || std::isinf(im); }>,
      rule1<[](Expr x) { return scalar::is_inf(x); }>));
  ops.push_back(unary({.name = "signbit", .python = "signbit",
      .doc = "Whether the sign of x is negative: of -0 and of a NaN with its sign set too.",
      .numpy = "np.signbit(x)", .traits = kCheap, .infer = infer_predicate,
      .reference = reference1<DTypeSet::Float, [](auto x) { return std::signbit(x); }>,
      .scalar = rule1<[](Expr x) { return scalar::sign_bit(x); }>}));
  ops.push_back(unary({.name = "not", .python = "bitwise_invert",
      .doc = "Each bit inverted; of booleans the opposite.\n\nStableHLO not.",
      .numpy = "np.invert(x)", .dtypes = DTypeSet::IntegerBool, .traits = kCheap,
      .reference = reference1<DTypeSet::IntegerBool, [](auto x) {
        if constexpr (std::is_same_v<decltype(x), bool>) return !x;
        else return static_cast<decltype(x)>(~x);
      }>,
      .scalar = rule1<[](Expr x) { return ~x; }>, .simplify = simplify_involution}));
  ops.push_back(unary({.name = "popcnt", .python = "bitwise_count",
      .doc = "How many bits of x are set, of negative numbers in two's complement.\n\nStableHLO popcnt.",
      .numpy = "none: np.bitwise_count counts the bits of the absolute value", .dtypes = DTypeSet::Integer, .low = -100, .high = 100,
      .traits = kCheap,
      .reference = reference1<DTypeSet::Integer, [](auto x) {
        return std::popcount(static_cast<std::make_unsigned_t<decltype(x)>>(x));
      }>,
      .scalar = rule1<[](Expr x) { return loop::popcount(x); }>}));
  ops.push_back(unary({.name = "count_leading_zeros", .python = "",
      .doc = "How many bits above the highest set one are 0; all of them for 0.\n\nStableHLO count_leading_zeros.",
      .numpy = "none: NumPy has no such function", .dtypes = DTypeSet::Integer, .low = -100, .high = 100, .traits = kCheap,
      .reference = reference1<DTypeSet::Integer, [](auto x) {
        return std::countl_zero(static_cast<std::make_unsigned_t<decltype(x)>>(x));
      }>,
      .scalar = rule1<[](Expr x) { return loop::count_leading_zeros(x); }>}));
}

void signs(std::vector<Op>& ops) {
  ops.push_back(unary({.name = "abs", .python = "abs",
      .doc = "The absolute value; of complex numbers their real modulus.\n\nThe least integer stays what it is (it "
             "wraps). The sign bit of a NaN is cleared. StableHLO abs.",
      .numpy = "np.abs(x)", .dtypes = DTypeSet::Numeric, .traits = kCheap | Trait::Idempotent, .infer = infer_real_part,
      .reference = reference1<DTypeSet::Numeric, [](auto x) {
        if constexpr (is_complex_number<decltype(x)>) return std::abs(wide(x));
        else if constexpr (std::is_floating_point_v<decltype(x)>) return std::abs(x);
        else if constexpr (std::is_signed_v<decltype(x)>) return static_cast<decltype(x)>(x < 0 ? 0 - bits_of(x) : bits_of(x));
        else return x;
      }>,
      .scalar = rule1<[](Expr x) { return is_unsigned_int(x.type()) ? x : loop::abs(x); }>,
      .jvp = jvp_abs, .simplify = simplify_abs}));
  ops.push_back(unary({.name = "negate", .python = "negative",
      .doc = "-x; integers wrap. Of a float the sign bit alone changes.\n\nStableHLO negate.",
      .numpy = "np.negative(x)", .dtypes = DTypeSet::Numeric, .traits = kCheap | Trait::Linear,
      .reference = reference1<DTypeSet::Numeric, [](auto x) {
        if constexpr (std::is_integral_v<decltype(x)>) return static_cast<decltype(x)>(0 - bits_of(x));
        else return -x;
      }>,
      .scalar = rule1<[](Expr x) { return -x; }>,
      .jvp = linear_unary, .transpose = transpose_same, .simplify = simplify_involution}));
  ops.push_back(unary({.name = "positive", .python = "positive", .doc = "x itself.",
      .numpy = "np.positive(x)", .dtypes = DTypeSet::Numeric, .traits = kCheap | Trait::Linear | Trait::Idempotent,
      .reference = reference1<DTypeSet::Numeric, [](auto x) { return x; }>,
      .scalar = rule1<[](Expr x) { return x; }>,
      .jvp = linear_unary, .transpose = transpose_same,
      .simplify = +[](SimplifyContext& c) { return c.node->operand(0); }}));
  ops.push_back(unary({.name = "sign", .python = "sign",
      .doc = "-1, 0 or 1 as x is below, at or above 0; NaN and ±0 stay. Of complex numbers x / abs(x), and 0 at 0.\n\n"
             "StableHLO sign.",
      .numpy = "np.where(x == 0, x, x / np.where(x == 0, 1, np.abs(x)))", .dtypes = DTypeSet::Numeric,
      .traits = kCheap | Trait::Idempotent,
      .reference = reference1<DTypeSet::Numeric, [](auto x) {
        using T = decltype(x);
        if constexpr (is_complex_number<T>) return x == T(0) ? std::complex<double>(0) : wide(x) / std::abs(wide(x));
        else return T(0) < x ? T(1) : x < T(0) ? T(-1) : x;
      }>,
      .scalar = rule1<[](Expr x) { return sign_rule(x); }>,
      .jvp = +[](JvpContext& c) -> std::vector<Value> {
        if (!c.tangents[0] || !is_complex(c.operands[0]->type().dtype)) return kNone;
        throw make_error(ErrorKind::Unsupported, "sign: no derivative for complex numbers")
            .why("x / abs(x) is not holomorphic")
            .hint("take the derivative of x / abs(x) written out");
      },
      .simplify = +[](SimplifyContext& c) -> Value {
        return is_complex(c.node->operand(0)->type().dtype) ? nullptr : simplify_idempotent(c);
      }}));
  ops.push_back(unary({.name = "square", .python = "square", .doc = "x * x; integers wrap.",
      .numpy = "np.square(x)", .dtypes = DTypeSet::Numeric, .traits = kCheap,
      .reference = reference1<DTypeSet::Numeric, [](auto x) {
        if constexpr (std::is_integral_v<decltype(x)>) return static_cast<decltype(x)>(bits_of(x) * bits_of(x));
        else return x * x;
      }>,
      .scalar = rule1<[](Expr x) { return x * x; }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.add(x, x); }>}));
}

void roundings(std::vector<Op>& ops) {
  ops.push_back(rounding("floor", "floor", "The greatest whole number not above x.", "np.floor(x)",
      reference_rounding<[](auto x) { return std::floor(x); }>, round_rule<[](Expr x) { return loop::floor(x); }>));
  ops.push_back(rounding("ceil", "ceil", "The least whole number not below x.", "np.ceil(x)",
      reference_rounding<[](auto x) { return std::ceil(x); }>, round_rule<[](Expr x) { return loop::ceil(x); }>));
  ops.push_back(rounding("trunc", "trunc", "x without its fraction.", "np.trunc(x)",
      reference_rounding<[](auto x) { return std::trunc(x); }>, round_rule<[](Expr x) { return loop::trunc(x); }>));
  ops.push_back(rounding("round_nearest_even", "round", "The nearest whole number; of two the even one.", "np.round(x)",
      reference_rounding<[](auto x) { return std::nearbyint(x); }>, round_rule<[](Expr x) { return loop::round_even(x); }>));
  ops.push_back(rounding("round_nearest_afz", "", "The nearest whole number; of two the one away from zero.",
      "np.where(np.abs(x - np.trunc(x)) >= 0.5, np.trunc(x) + np.sign(x), np.trunc(x))",
      reference_rounding<[](auto x) { return std::round(x); }>, round_rule<[](Expr x) { return round_away(x); }>));
}

}  // namespace

std::vector<Op> unary_ops() {
  std::vector<Op> ops;
  signs(ops);
  roundings(ops);
  tests_and_bits(ops);
  complex_parts(ops);
  return ops;
}

}  // namespace ig::ops
