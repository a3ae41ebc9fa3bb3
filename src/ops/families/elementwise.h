// The element-wise families: constructors that fill a declaration from what is special to the op, and the rules that
// all members share (inference, batching, tangents by a slope, matching of constants).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/families/array_tools.h"
#include "ops/families/compose.h"
#include "ops/families/elements.h"
#include "ops/families/scalar.h"
#include "ops/op.h"

namespace ig::ops {

// --- rules that families share -------------------------------------------------------------------------------------
void infer_same(InferContext& c);        // operands of one element type (of the op's set) and shape; the result likewise
void infer_predicate(InferContext& c);   // the same, with results of Bool
void infer_real_part(InferContext& c);   // complex gives its real type
DType real_type(DType dtype);

// Batched operands with the batch axis in front, the others broadcast; the op as it is.
Batched batch_elementwise(BatchContext& c);
std::vector<Value> zero_jvp(JvpContext& c);  // piecewise constant: no tangent
// A linear op of one operand that is its own transpose (negate, identity).
std::vector<Value> transpose_same(TransposeContext& c);
std::vector<Value> no_tangents(const JvpContext& c);

// Tangent of f(x): the slope at x times the tangent of x. Slope(compose, x, y) with y = f(x).
template <auto Slope>
std::vector<Value> slope_jvp(JvpContext& c) {
  if (!c.tangents[0]) return no_tangents(c);
  Compose m(c.build);
  return {m.mul(c.tangents[0], Slope(m, c.operands[0], c.results[0]))};
}
// Tangent of f(x, y): the sum of each operand's part. Part(compose, x, y, z, t) with z = f(x, y).
template <auto First, auto Second>
std::vector<Value> parts_jvp(JvpContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], y = c.operands[1], z = c.results[0];
  Value first = c.tangents[0] ? First(m, x, y, z, c.tangents[0]) : nullptr;
  Value second = c.tangents[1] ? Second(m, x, y, z, c.tangents[1]) : nullptr;
  return {first && second ? m.add(first, second) : first ? first : second};
}

// --- matching, for simplify ------------------------------------------------------------------------------------------
// The one number that all elements are, where a value is known to be so: a constant of equal elements, seen through
// views. As a rank-0 literal.
std::optional<Literal> uniform(Value v);
bool is_number(Value v, double number);  // with the sign of zero; integers by value
bool is_all_ones(Value v);               // an integer of all bits, or true
const Node* made_by(Value v, OpId op);   // the node, if it is of that op
// f(f(x)) = f(x)
Value simplify_idempotent(SimplifyContext& c);
// f(f(x)) = x
Value simplify_involution(SimplifyContext& c);

// --- constructors --------------------------------------------------------------------------------------------------------
inline constexpr const char* kComplexByReference = "complex arithmetic runs by its reference";

struct Elementwise {
  std::string name, python, doc, numpy;
  DTypeSet dtypes = DTypeSet::Float;
  double low = -4, high = 4;   // of the samples
  double ulp = 0;
  uint32_t traits = 0;         // besides Elementwise
  InferFn infer = infer_same;
  ReferenceFn reference = nullptr;
  ScalarFn scalar = nullptr;
  Rule<JvpFn> jvp = zero_jvp;
  Rule<TransposeFn> transpose = tools::no_rule("it is not linear");
  Rule<SimplifyFn> simplify = tools::no_rule("it has no algebra of its own");
};
Op unary(Elementwise e);
Op binary(Elementwise e);
// Both: the whole declaration, with samples over shapes, and bad samples for element types and shapes.
Op elementwise(Elementwise e, std::vector<OperandSpec> operands);
std::string python_example(const std::string& python, DTypeSet dtypes, size_t operands);

}  // namespace ig::ops
