// Distributions over threefry bits, with JAX's formulas, so that the same key gives the same numbers.
#include <cmath>

#include "ops/families/compose.h"
#include "ops/order_attrs.h"
#include "ops/random_attrs.h"

namespace ig::ops {

std::vector<Op> random_composites();

namespace {

using namespace tools;

constexpr Attr<DType> kFloatType{"dtype", "A floating-point type.", "f32"};
constexpr Attr<DType> kWholeType{"dtype", "A type of 32 or 64 bits.", "i64"};

void require_key(const InferContext& c) {
  c.require_dtype(0, DTypeSet::Key);
  c.require_rank(0, 0);
}

void infer_floats(InferContext& c) {
  require_key(c);
  DType dtype = c.get(kFloatType);
  if (!is_float(dtype))
    c.fail(ErrorKind::Type, fmt::format("draws a floating-point type, not {}", info(dtype).api_name),
           "the numbers lie between others, which whole numbers cannot",
           "choose float32 or float64, or use randint");
  infer_by_body(c);
}

// In [0, 1): as many random bits as the mantissa holds, over their number.
Value unit(Compose& m, Value key, const Dims& shape, DType dtype) {
  struct Form {
    DType bits;
    int drop, mantissa;
  };
  Form f = dtype == DType::F64   ? Form{DType::U64, 12, 52}
           : dtype == DType::F32 ? Form{DType::U32, 9, 23}
           : dtype == DType::F16 ? Form{DType::U16, 6, 10}
                                 : Form{DType::U8, 1, 7};
  Value bits = m.b("random_bits", {key}, {kShape % shape, kDType % f.bits});
  return m.mul(m.b.convert(m.shift_right(bits, f.drop), dtype), std::ldexp(1.0, -f.mantissa));
}

// The same as a composite, which has a kernel of its own.
Value uniform_number(Compose& m, Value key, const Dims& shape, DType dtype) {
  return m.b("random_uniform", {key}, {kShape % shape, kFloatType % dtype});
}

Value uniform(Compose& m, Value key, const Dims& shape, DType dtype, double low, double high) {
  if (low == 0 && high == 1) return unit(m, key, shape, dtype);
  Value u = uniform_number(m, key, shape, dtype);
  // The sizes of the interval are those of its rounded ends.
  Value least = m.number(u, low);
  return m.max(m.add(m.mul(u, m.sub(m.number(u, high), least)), least), least);
}

std::vector<Value> uniform_body(BodyContext& c) {
  Compose m(c.build);
  return {uniform(m, c.operands[0], c.get(kShape), c.get(kFloatType), c.get(kLow), c.get(kHigh))};
}

double above_minus_one(DType dtype) {
  int mantissa = dtype == DType::F64 ? 53 : dtype == DType::F32 ? 24 : dtype == DType::F16 ? 11 : 8;
  return -1 + std::ldexp(1.0, -mantissa);
}

std::vector<Value> normal_body(BodyContext& c) {
  Compose m(c.build);
  DType dtype = c.get(kFloatType);
  Value u = uniform(m, c.operands[0], c.get(kShape), dtype, above_minus_one(dtype), 1);
  return {m.b.convert(m.mul(m.erf_inv(m.wide(u)), std::sqrt(2.0)), dtype)};
}

void infer_bernoulli(InferContext& c) {
  require_key(c);
  double p = c.get(kProbability);
  if (!(p >= 0 && p <= 1))
    c.fail(ErrorKind::Value, fmt::format("p is {}, but a probability lies in [0, 1]", p),
           "it is how often True is drawn", "give a number from 0 to 1");
  infer_by_body(c);
}

std::vector<Value> bernoulli_body(BodyContext& c) {
  Compose m(c.build);
  Value u = uniform_number(m, c.operands[0], c.get(kShape), DType::F32);
  return {m.less(u, m.number(u, c.get(kProbability)))};
}

void infer_randint(InferContext& c) {
  require_key(c);
  DType dtype = c.get(kWholeType);
  if (!is_integer(dtype) || info(dtype).bits < 32)
    c.fail(ErrorKind::Type, fmt::format("draws int32, int64, uint32 or uint64, not {}", info(dtype).api_name),
           "randint draws whole numbers from 32 or 64 random bits",
           "choose one of these, and convert with astype");
  if (c.get(kMinimum) >= c.get(kMaximum))
    c.fail(ErrorKind::Value, fmt::format("low {} is not below high {}", c.get(kMinimum), c.get(kMaximum)),
           "high itself is never drawn, so there is nothing to draw from", "give a high above low");
  infer_by_body(c);
}

Value whole(Compose& m, Value like, uint64_t value) {
  Literal one = Literal::allocate(like->type().dtype, {});
  set_whole(one, 0, static_cast<int64_t>(value));
  return m.b.broadcast(m.b.constant(one), like->type().dims, {});
}

// Two draws: the high one counts as many times as 2^bits goes round in the span, so the bias is below span /
// 2^(2 bits).
std::vector<Value> randint_body(BodyContext& c) {
  Compose m(c.build);
  DType dtype = c.get(kWholeType);
  int bits = info(dtype).bits;
  DType draw = bits == 64 ? DType::U64 : DType::U32;
  Value keys = c.build("random_split", {c.operands[0]}, {kCount % int64_t{2}});
  auto bits_of = [&](int64_t i) {
    Value key = c.build.reshape(m.slice(keys, 0, i, i + 1), {});
    return c.build("random_bits", {key}, {kShape % c.get(kShape), kDType % draw});
  };
  Value high = bits_of(0), low = bits_of(1);
  uint64_t span = static_cast<uint64_t>(c.get(kMaximum)) - static_cast<uint64_t>(c.get(kMinimum));
  if (bits == 32) span &= 0xffffffffu;
  uint64_t mask = bits == 64 ? ~uint64_t{0} : 0xffffffffu;
  Value offset;
  if (span == 0) {
    offset = low;  // the whole range of the type
  } else {
    uint64_t half = (uint64_t{1} << (bits / 2)) % span;
    uint64_t factor = ((half * half) & mask) % span;
    Value many = m.mul(m.rem(high, whole(m, high, span)), whole(m, high, factor));
    offset = m.rem(m.add(many, m.rem(low, whole(m, low, span))), whole(m, low, span));
  }
  Value sum = m.add(offset, whole(m, offset, static_cast<uint64_t>(c.get(kMinimum))));
  return {draw == dtype ? sum : c.build("bitcast_convert", {sum}, {kDType % dtype})};
}

void infer_permutation(InferContext& c) {
  require_key(c);
  if (c.get(kCount) < 0)
    c.fail(ErrorKind::Value, fmt::format("n is {}, but it counts elements", c.get(kCount)),
           "there is no negative number of elements", "give 0 or more");
  infer_by_body(c);
}

// Sorts by random keys, again and again until a collision of keys is unlikely.
std::vector<Value> permutation_body(BodyContext& c) {
  Compose m(c.build);
  int64_t n = c.get(kCount);
  Value out = m.iota(DType::I64, {n}, 0), key = c.operands[0];
  auto rounds = static_cast<int>(
      std::ceil(3 * std::log(static_cast<double>(std::max<int64_t>(n, 1))) / std::log(4294967295.0)));
  for (int i = 0; i < rounds; ++i) {
    Value keys = c.build("random_split", {key}, {kCount % int64_t{2}});
    key = c.build.reshape(m.slice(keys, 0, 0, 1), {});
    Value sub = c.build.reshape(m.slice(keys, 0, 1, 2), {});
    Value by = c.build("random_bits", {sub}, {kShape % Dims{n}, kDType % DType::U32});
    out = c.build.many("sort", {by, out}, {kAxis % int64_t{0}})[1];
  }
  return {out};
}

OpDecl decl(std::string name, std::string doc, std::vector<AttrSpec> attrs, std::vector<Sample> samples,
            std::vector<BadSample> bad, double ulp) {
  return {.name = name,
          .python = name,
          .doc = std::move(doc),
          .operands = {{"key", "A key."}},
          .attrs = std::move(attrs),
          .dtypes = DTypeSet::Key,
          .traits = static_cast<uint32_t>(Trait::Random),
          .numpy = "none: the bits are threefry's; moments and known answers are checked in the C++ tests",
          .samples = std::move(samples),
          .bad_samples = std::move(bad),
          .ulp = ulp};
}

}  // namespace

std::vector<Op> random_composites() {
  std::vector<Op> ops;
  ops.push_back(composite(decl("random_uniform", "Numbers evenly spread over [low, high). JAX's bits.",
                               {kShape, kFloatType, kLow, kHigh},
                               {{"key[]", "{shape = []}"},
                                {"key[]", "{shape = [5]}"},
                                {"key[]", "{shape = [3, 4], dtype = f64}"},
                                {"key[]", "{shape = [7], dtype = f16}"},
                                {"key[]", "{shape = [7], dtype = bf16}"},
                                {"key[]", "{shape = [40], low = -2, high = 3}"},
                                {"key[]", "{shape = [0]}"}},
                               {{"key[]", "{shape = [2], dtype = i32}",
                                 "TypeError: random_uniform: draws a floating-point type, not int32"}},
                               0),
                          uniform_body, infer_floats));
  for (DType dtype : {DType::F32, DType::F64})
    ops.back().decl.usual.push_back({{"key[]"}, make_attrs({kShape % Dims{2}, kFloatType % dtype})});
  ops.push_back(
      composite(decl("random_normal", "Numbers of the standard normal distribution. JAX's bits and formula.",
                     {kShape, kFloatType},
                     {{"key[]", "{shape = []}"},
                      {"key[]", "{shape = [33]}"},
                      {"key[]", "{shape = [3, 4], dtype = f64}"},
                      {"key[]", "{shape = [5], dtype = f16}"},
                      {"key[]", "{shape = [0]}"}},
                     {{"key[]", "{shape = [2], dtype = i32}",
                       "TypeError: random_normal: draws a floating-point type, not int32"}},
                     8),
                normal_body, infer_floats));
  ops.back().decl.usual = {{{"key[]"}, make_attrs({kShape % Dims{2}})}};
  ops.push_back(composite(decl("random_bernoulli", "True with probability p.", {kShape, kProbability},
                               {{"key[]", "{shape = [5]}"},
                                {"key[]", "{shape = [3, 4], p = 0x1p-2}"},
                                {"key[]", "{shape = [3], p = 1}"},
                                {"key[]", "{shape = [3], p = 0}"}},
                               {{"key[]", "{shape = [2], p = 2}",
                                 "ValueError: random_bernoulli: p is 2, but a probability lies in [0, 1]"}},
                               0),
                          bernoulli_body, infer_bernoulli));
  ops.push_back(composite(
      decl("randint", "Whole numbers evenly spread over [low, high). JAX's bits.",
           {kShape, kMinimum, kMaximum, kWholeType},
           {{"key[]", "{shape = [5], low = 0, high = 10}"},
            {"key[]", "{shape = [3, 4], low = -7, high = 7, dtype = i32}"},
            {"key[]", "{shape = [40], low = 0, high = 1000003, dtype = u32}"},
            {"key[]", "{shape = [4], low = 5, high = 6, dtype = u64}"},
            {"key[]", "{shape = [0], low = 0, high = 2}"}},
           {{"key[]", "{shape = [2], low = 3, high = 3}", "ValueError: randint: low 3 is not below high 3"},
            {"key[]", "{shape = [2], low = 0, high = 3, dtype = f32}",
             "TypeError: randint: draws int32, int64, uint32 or uint64, not float32"}},
           0),
      randint_body, infer_randint));
  ops.push_back(composite(
      decl("random_permutation", "The numbers 0 to n - 1 in random order.", {kCount},
           {{"key[]", "{n = 0}"}, {"key[]", "{n = 1}"}, {"key[]", "{n = 10}"}, {"key[]", "{n = 100}"}},
           {{"key[]", "{n = -1}", "ValueError: random_permutation: n is -1, but it counts elements"}}, 0),
      permutation_body, infer_permutation));
  return ops;
}

}  // namespace ig::ops
