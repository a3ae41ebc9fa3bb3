// Bits of integers, and truth: and, or, xor and shifts, and the logical functions, which take any numbers for their
// truth (not zero).
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;
using scalar::rule1;
using scalar::rule2;

constexpr uint32_t kCheap = static_cast<uint32_t>(Trait::Cheap);

Value simplify_and(SimplifyContext& c) {
  Value x = c.node->operand(0), y = c.node->operand(1);
  if (x == y) return x;
  for (auto [a, b] : {std::pair{x, y}, std::pair{y, x}}) {
    if (is_all_ones(b)) return a;
    if (is_number(b, 0)) return b;
  }
  return nullptr;
}
Value simplify_or(SimplifyContext& c) {
  Value x = c.node->operand(0), y = c.node->operand(1);
  if (x == y) return x;
  for (auto [a, b] : {std::pair{x, y}, std::pair{y, x}}) {
    if (is_all_ones(b)) return b;
    if (is_number(b, 0)) return a;
  }
  return nullptr;
}
Value simplify_xor(SimplifyContext& c) {
  Value x = c.node->operand(0), y = c.node->operand(1);
  if (x == y) return c.build.full_like(x, 0);
  for (auto [a, b] : {std::pair{x, y}, std::pair{y, x}}) {
    if (is_number(b, 0)) return a;
    if (is_all_ones(b)) return c.build("not", {a});
  }
  return nullptr;
}
Value simplify_shift(SimplifyContext& c) { return is_number(c.node->operand(1), 0) ? c.node->operand(0) : nullptr; }

// A shift by the width or more (or by a negative number) moves all bits out.
template <typename T>
bool beyond(T by) { return static_cast<std::make_unsigned_t<T>>(by) >= sizeof(T) * 8; }

Op bitwise(std::string name, std::string python, std::string doc, ReferenceFn reference, ScalarFn rule, SimplifyFn simplify) {
  std::string numpy = "np." + python + "(x1, x2)";
  return binary({.name = std::move(name), .python = std::move(python), .doc = std::move(doc), .numpy = std::move(numpy),
                 .dtypes = DTypeSet::IntegerBool, .low = -100, .high = 100, .traits = kCheap | Trait::Commutative,
                 .reference = reference, .scalar = rule, .simplify = simplify});
}
Op shift(std::string name, std::string python, std::string doc, std::string numpy, ReferenceFn reference, ScalarFn rule) {
  return binary({.name = std::move(name), .python = std::move(python), .doc = std::move(doc), .numpy = std::move(numpy),
                 .dtypes = DTypeSet::Integer, .low = 0, .high = 7, .traits = kCheap, .reference = reference,
                 .scalar = rule, .simplify = simplify_shift});
}

Value truth_of(Builder& build, Value x) { return build.convert(x, DType::Bool); }

Op logical(std::string name, std::string doc, std::vector<OperandSpec> operands, BodyFn body) {
  std::string types, numpy = "np." + name + "(";
  std::vector<Sample> samples;
  for (const char* shape : {"[3, 7]", "[]", "[0]", "[33]"}) {
    types.clear();
    for (size_t i = 0; i < operands.size(); ++i) types += (i ? ", T" : "T") + std::string(shape);
    samples.push_back({types, "{}", -2, 2});
  }
  for (size_t i = 0; i < operands.size(); ++i) numpy += (i ? ", " : "") + operands[i].name;
  std::string first = operands[0].name;
  std::string keys = operands.size() == 2 ? "key[2], key[2]" : "key[2]";
  std::string example = python_example(name, DTypeSet::Bool, operands.size());
  return composite({.name = name, .python = name,
                    .doc = std::move(doc) + "\n\nNumbers count as true where they are not zero (NaN is true).",
                    .operands = std::move(operands), .dtypes = DTypeSet::NumericBool, .front = Front::Elementwise,
                    .numpy = numpy + ")", .example = std::move(example), .samples = std::move(samples),
                    .bad_samples = {{keys, "{}", "TypeError: " + name + ": expected a numeric type or bool, but " + first + " is key"}}},
                   body, infer_predicate);
}

template <const char* Name>
std::vector<Value> logical_body(BodyContext& c) {
  return {c.build(Name, {truth_of(c.build, c.operands[0]), truth_of(c.build, c.operands[1])})};
}
constexpr char kAnd[] = "and", kOr[] = "or", kXor[] = "xor";

}  // namespace

std::vector<Op> logic_ops() {
  std::vector<Op> ops;
  ops.push_back(bitwise("and", "bitwise_and", "The bits set in both.\n\nStableHLO and.",
      reference2<DTypeSet::IntegerBool, [](auto x, auto y) { return static_cast<decltype(x)>(x & y); }>,
      rule2<[](Expr x, Expr y) { return x & y; }>, simplify_and));
  ops.push_back(bitwise("or", "bitwise_or", "The bits set in either.\n\nStableHLO or.",
      reference2<DTypeSet::IntegerBool, [](auto x, auto y) { return static_cast<decltype(x)>(x | y); }>,
      rule2<[](Expr x, Expr y) { return x | y; }>, simplify_or));
  ops.push_back(bitwise("xor", "bitwise_xor", "The bits set in one of the two.\n\nStableHLO xor.",
      reference2<DTypeSet::IntegerBool, [](auto x, auto y) { return static_cast<decltype(x)>(x ^ y); }>,
      rule2<[](Expr x, Expr y) { return x ^ y; }>, simplify_xor));
  ops.push_back(shift("shift_left", "bitwise_left_shift",
      "x1 with its bits moved up by x2 places; 0 where x2 is the width or more, or negative.\n\nStableHLO shift_left.",
      "np.left_shift(x1, x2)",
      reference2<DTypeSet::Integer, [](auto x, auto by) {
        return beyond(by) ? decltype(x)(0) : static_cast<decltype(x)>(bits_of(x) << by);
      }>,
      rule2<[](Expr x, Expr by) { return scalar::shift_left(x, by); }>));
  ops.push_back(shift("shift_right_arithmetic", "bitwise_right_shift",
      "x1 with its bits moved down by x2 places, the sign filling in; all sign where x2 is the width or more, or "
      "negative.\n\nOf unsigned integers zeros fill in. StableHLO shift_right_arithmetic.",
      "np.right_shift(x1, x2)",
      reference2<DTypeSet::Integer, [](auto x, auto by) {
        if (beyond(by)) return x < 0 ? static_cast<decltype(x)>(-1) : decltype(x)(0);
        return static_cast<decltype(x)>(x >> by);
      }>,
      rule2<[](Expr x, Expr by) { return scalar::shift_right(x, by); }>));
  ops.push_back(shift("shift_right_logical", "",
      "x1 with its bits moved down by x2 places, zeros filling in; 0 where x2 is the width or more, or negative.\n\n"
      "StableHLO shift_right_logical.",
      "np.right_shift(x1.view('u%d' % x1.itemsize), x2.view('u%d' % x2.itemsize)).view(x1.dtype)",
      reference2<DTypeSet::Integer, [](auto x, auto by) {
        using Bits = std::make_unsigned_t<decltype(x)>;
        return beyond(by) ? decltype(x)(0) : static_cast<decltype(x)>(static_cast<Bits>(x) >> by);
      }>,
      rule2<[](Expr x, Expr by) { return scalar::shift_right_logical(x, by); }>));
  std::vector<OperandSpec> two{{"x1", "The first array."}, {"x2", "The second array."}};
  ops.push_back(logical("logical_and", "Whether both are true.", two, logical_body<kAnd>));
  ops.push_back(logical("logical_or", "Whether either is true.", two, logical_body<kOr>));
  ops.push_back(logical("logical_xor", "Whether one of the two is true.", two, logical_body<kXor>));
  ops.push_back(logical("logical_not", "Whether x is not true.", {{"x", "The array."}},
                        +[](BodyContext& c) -> std::vector<Value> { return {c.build("not", {truth_of(c.build, c.operands[0])})}; }));
  return ops;
}

}  // namespace ig::ops
