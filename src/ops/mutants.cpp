// The faults. Each wraps the op's own rule, and is small: it shows for some elements, or in one type.
#include "ops/mutants.h"

#ifdef INTAGLIO_MUTANTS
#include <algorithm>
#include <cstdlib>

#include "ops/builder.h"
#include "ops/families/array_tools.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

// The op's own rules: only one op of a process has a fault.
LowerRule own_lower;
InferFn own_infer = nullptr;
BodyFn own_body = nullptr;
JvpFn own_jvp = nullptr;
TransposeFn own_transpose = nullptr;
BatchFn own_batch = nullptr;
ReduceRule faulty_reduce;

loop::Expr off_by_a_bit(loop::Expr value) {
  DType type = value.type();
  loop::Builder& build = value.builder();
  if (type == DType::Bool) return value ^ build.constant_int(type, 1);
  if (is_complex(type)) return -value;
  if (is_float(type)) return value + build.constant(type, 0.0078125);
  return value + build.constant_int(type, 1);
}

// Where an operand is above 1/2, and so wrong for some elements only; where none is a number, everywhere.
loop::Expr faulty_scalar(ScalarContext& c) {
  loop::Expr value = own_lower.scalar(c);
  if (c.x.empty() || c.x[0].type() == DType::Bool || is_complex(c.x[0].type())) return off_by_a_bit(value);
  double level = is_float(c.x[0].type()) ? 0.5 : 1;
  return select(c.x[0] > c.build.constant(c.x[0].type(), level), off_by_a_bit(value), value);
}

loop::Expr faulty_point(PointContext& c) {
  loop::Expr value = own_lower.point(c);
  loop::Expr wrong = off_by_a_bit(value);
  if (c.index.empty()) return wrong;
  return select(c.index.back() == c.build->index(1), wrong, value);
}

// The second element of a fold counts wrongly.
std::vector<loop::Expr> faulty_element(ReduceContext& c, std::span<const loop::Expr> x, loop::Expr position) {
  std::vector<loop::Expr> out = own_lower.reduce->element(c, x, position);
  out.back() = select(position == c.build.index(1), off_by_a_bit(out.back()), out.back());
  return out;
}

// The first element of the first result is off.
void faulty_nest(NestContext& c) {
  own_lower.nest(c);
  Dim elements = c.node->result(0)->type().elements();
  loop::Builder& build = *c.build;
  build.if_then(build.block() == build.index(0), [&] {
    build.if_then(c.size(elements) > build.index(0), [&] {
      loop::Expr first = build.load(c.results[0], build.index(0));
      build.store(c.results[0], build.index(0), off_by_a_bit(first));
    });
  });
}

std::vector<Value> faulty_body(BodyContext& c) {
  std::vector<Value> out = own_body(c);
  DType dtype = out[0]->type().dtype;
  if (dtype == DType::Bool)
    out[0] = c.build("logical_not", {out[0]});
  else
    out[0] = c.build(
        "add", {out[0], c.build.full_like(out[0], is_float(dtype) || is_complex(dtype) ? 0.015625 : 1)});
  return out;
}

void infer_other_dtype(InferContext& c) {
  own_infer(c);
  if (!c.results[0].is_tensor()) return void(c.results[0] = Type::tensor(DType::F32, {}));
  DType& dtype = c.results[0].dtype;
  dtype = dtype == DType::F32 ? DType::F64 : DType::F32;
}

void infer_other_shape(InferContext& c) {
  own_infer(c);
  if (!c.results[0].is_tensor()) return void(c.results[0] = Type::tensor(DType::Bool, {2}));
  Dims& dims = c.results[0].dims;
  if (dims.empty())
    dims.push_back(1);
  else
    dims.back() = dims.back() + 1;
}

// The first tangent or cotangent that there is comes twice.
void double_first(Builder& build, std::vector<Value>& values) {
  auto found = std::find_if(values.begin(), values.end(), [](Value v) { return v != nullptr; });
  if (found != values.end()) *found = build("add", {*found, *found});
}

// Where the derivative is zero, an operand's tangent goes through.
std::vector<Value> faulty_jvp(JvpContext& c) {
  std::vector<Value> out = own_jvp(c);
  double_first(c.build, out);
  if (own_jvp == &tools::zero_jvp)
    out[0] = *std::find_if(c.tangents.begin(), c.tangents.end(), [](Value v) { return v != nullptr; });
  return out;
}

// Whether the result has the operands' type, so that a tangent can go through.
bool keeps_type(const Op& op) {
  if (!op.has(Trait::Elementwise) || !contains(op.decl.dtypes, DType::F64)) return false;
  Type type = Type::tensor(DType::F64, {2});
  try {
    return infer(op, std::vector<Type>(op.decl.operands.size(), type), {}, DimScope())[0] == type;
  } catch (const Error&) {
    return false;  // it takes other types beside it
  }
}

std::vector<Value> faulty_transpose(TransposeContext& c) {
  std::vector<Value> out = own_transpose(c);
  double_first(c.build, out);
  return out;
}

// The rows of the first result come in the other order; a result that is the same for all comes twice.
Batched faulty_batch(BatchContext& c) {
  Batched out = own_batch(c);
  if (c.flow_only || out.results.empty() || !out.results[0]->type().is_tensor()) return out;
  Value& first = out.results[0];
  if (out.axes[0] >= 0)
    first = c.build("reverse", {first}, {{"dimensions", Ints{out.axes[0]}}});
  else if (first->type().dtype != DType::Bool)
    first = c.build("add", {first, first});
  return out;
}

}  // namespace

namespace {
std::string& wanted() {
  static std::string fault = [] {
    const char* text = std::getenv("INTAGLIO_MUTANT");
    return std::string(text ? text : "");
  }();
  return fault;
}
}  // namespace

const std::string& wanted_mutant() { return wanted(); }

void plant(const std::string& fault) {
  wanted() = fault;
  // The one place where a declared op changes: a build to test the tests.
  for (const Op* op : all()) plant_mutant(const_cast<Op&>(*op));
}

std::vector<std::string> mutants_of(const Op& op) {
  std::vector<std::string> out;
  if (op.rules.infer) out = {"infer-dtype", "infer-shape"};
  using Kind = LowerRule::Kind;
  Kind kind = op.rules.lower.kind;
  if (kind == Kind::Scalar || kind == Kind::Point || kind == Kind::Reduce || kind == Kind::Nest ||
      op.has(Trait::Composite))
    out.emplace_back("lower");
  if (op.rules.jvp && !op.has(Trait::Effect) && (op.rules.jvp.get() != &tools::zero_jvp || keeps_type(op)))
    out.emplace_back("jvp");
  if (op.rules.transpose) out.emplace_back("transpose");
  if (op.rules.batch && !op.has(Trait::Effect)) out.emplace_back("batch");
  return out;
}

void plant_mutant(Op& op) {
  const std::string& wanted = wanted_mutant();
  size_t colon = wanted.find(':');
  if (colon == std::string::npos || wanted.substr(0, colon) != op.decl.name) return;
  std::string fault = wanted.substr(colon + 1);
  std::vector<std::string> known = mutants_of(op);
  if (std::find(known.begin(), known.end(), fault) == known.end())
    throw make_error(ErrorKind::Value, "INTAGLIO_MUTANT: {} has no fault {}", op.decl.name, fault)
        .why("each op has a fault for each of its rules")
        .hint("tests/mutants/run.py --list prints them");
  if (fault == "jvp") {
    own_jvp = op.rules.jvp.get();
    op.rules.jvp = &faulty_jvp;
    return;
  }
  if (fault == "transpose") {
    own_transpose = op.rules.transpose.get();
    op.rules.transpose = &faulty_transpose;
    return;
  }
  if (fault == "batch") {
    own_batch = op.rules.batch.get();
    op.rules.batch = &faulty_batch;
    return;
  }
  if (fault != "lower") {
    own_infer = op.rules.infer.get();
    op.rules.infer = fault == "infer-dtype" ? &infer_other_dtype : &infer_other_shape;
    return;
  }
  if (op.has(Trait::Composite)) {
    own_body = op.rules.body.get();
    op.rules.body = &faulty_body;
    return;
  }
  own_lower = op.rules.lower;
  switch (own_lower.kind) {
    case LowerRule::Kind::Scalar: op.rules.lower = LowerRule::of_scalar(&faulty_scalar); break;
    case LowerRule::Kind::Point: op.rules.lower = LowerRule::of_point(&faulty_point); break;
    case LowerRule::Kind::Nest: op.rules.lower = LowerRule::of_nest(&faulty_nest); break;
    default:
      faulty_reduce = *own_lower.reduce;
      faulty_reduce.element = &faulty_element;
      op.rules.lower = LowerRule::of_reduce(&faulty_reduce);
  }
}

}  // namespace ig::ops
#endif
