// What the element-wise families share; see elementwise.h.
#include "ops/families/elementwise.h"

#include <cmath>

#include "ops/attrs.h"
#include "ops/table.h"

namespace ig::ops {

void infer_same(InferContext& c) {
  for (size_t i = 0; i < c.size(); ++i) c.require_dtype(i, c.op.decl.dtypes);
  for (size_t i = 1; i < c.size(); ++i) {
    c.require_same_dtype(0, i);
    c.require_same_shape(0, i);
  }
  c.result(c.operand(0).dtype, c.operand(0).dims);
}
void infer_predicate(InferContext& c) {
  infer_same(c);
  c.results[0].dtype = DType::Bool;
}
DType real_type(DType dtype) {
  if (dtype == DType::C64) return DType::F32;
  return dtype == DType::C128 ? DType::F64 : dtype;
}
void infer_real_part(InferContext& c) {
  infer_same(c);
  c.results[0].dtype = real_type(c.results[0].dtype);
}

Batched batch_elementwise(BatchContext& c) {
  Dims shape;
  for (const Value& v : c.operands)
    if (c.axes[static_cast<size_t>(&v - c.operands.data())] < 0) shape = v->type().dims;
  std::vector<Value> operands;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    Value v = c.operands[i];
    if (c.axes[i] >= 0) {
      operands.push_back(tools::batch_to_front(c.build, v, c.axes[i]));
      continue;
    }
    shape = v->type().dims;
    Ints axes = tools::iota(v->type().rank(), 1);
    shape.insert(shape.begin(), c.size);
    operands.push_back(c.build.broadcast(v, shape, axes));
  }
  Node* made = c.build.node(op_of(c.node), std::move(operands), c.node->attrs());
  return {{made->results().begin(), made->results().end()}, std::vector<int>(made->results().size(), 0)};
}

std::vector<Value> no_tangents(const JvpContext& c) { return std::vector<Value>(c.results.size(), nullptr); }
std::vector<Value> zero_jvp(JvpContext& c) { return no_tangents(c); }

std::vector<Value> transpose_same(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  return {c.build.node(op_of(c.node), {c.cotangents[0]}, c.node->attrs())->result()};
}

std::optional<Literal> uniform(Value v) {
  while (v->node() && has(v->node(), Trait::View) && v->node()->operands().size() == 1) v = v->node()->operand(0);
  if (!v->node() || !has(v->node(), Trait::Constant)) return std::nullopt;
  const AttrValue* value = v->node()->attrs().find(kValue.name);
  if (!value) return std::nullopt;
  const auto& literal = std::get<Literal>(*value);
  if (literal.elements() == 0 || literal.elements() > 4096) return std::nullopt;
  size_t size = size_of(literal.dtype());
  const auto* bytes = static_cast<const char*>(literal.data());
  for (int64_t i = 1; i < literal.elements(); ++i)
    if (std::memcmp(bytes, bytes + static_cast<size_t>(i) * size, size) != 0) return std::nullopt;
  Literal one = Literal::allocate(literal.dtype(), {});
  std::memcpy(one.mutable_data(), bytes, size);
  return one;
}

bool is_number(Value v, double number) {
  auto one = uniform(v);
  if (!one || is_complex(one->dtype())) return false;
  if (!is_float(one->dtype())) return static_cast<double>(one->as_int(0)) == number;
  double have = one->as_double(0);
  return have == number && std::signbit(have) == std::signbit(number);
}

bool is_all_ones(Value v) {
  auto one = uniform(v);
  if (!one || is_float(one->dtype()) || is_complex(one->dtype())) return false;
  int64_t bits = one->as_int(0);
  if (one->dtype() == DType::Bool) return bits == 1;
  int width = info(one->dtype()).bits;
  return static_cast<uint64_t>(bits) << (64 - width) == ~uint64_t{0} << (64 - width);
}

const Node* made_by(Value v, OpId op) { return v->node() && v->node()->op() == op ? v->node() : nullptr; }

Value simplify_idempotent(SimplifyContext& c) {
  return made_by(c.node->operand(0), c.node->op()) ? c.node->operand(0) : nullptr;
}
Value simplify_involution(SimplifyContext& c) {
  const Node* inner = made_by(c.node->operand(0), c.node->op());
  return inner ? inner->operand(0) : nullptr;
}

std::string python_example(const std::string& python, DTypeSet dtypes, size_t operands) {
  if (python.empty()) return "";
  std::vector<std::string> arrays;
  switch (dtypes) {
    case DTypeSet::Bool: arrays = {"[True, True, False]", "[True, False, False]"}; break;
    case DTypeSet::Integer:
    case DTypeSet::IntegerBool: arrays = {"[1, 6, 12]", "[3, 3, 1]"}; break;
    case DTypeSet::Complex: arrays = {"[1 + 2j, -3j]", "[1j, 2 + 0j]"}; break;
    default: arrays = {"[0.25, 0.5, 0.75]", "[0.5, 0.5, 0.5]"};
  }
  std::string out = "ig." + python + "(";
  for (size_t i = 0; i < operands; ++i) out += (i ? ", " : "") + ("ig.asarray(" + arrays[i % 2] + ")");
  return out + ")";
}

namespace {

// An element type that the op refuses, with its error.
std::vector<BadSample> refused_types(const Elementwise& e, size_t operands) {
  const std::string& called = e.python.empty() ? e.name : e.python;
  std::vector<BadSample> out;
  for (DType dtype : {DType::I64, DType::F32, DType::Bool, DType::C64, DType::Key}) {
    if (contains(e.dtypes, dtype)) continue;
    std::string types;
    for (size_t i = 0; i < operands; ++i) types += (i ? ", " : "") + std::string(name(dtype)) + "[2]";
    out.push_back({types, "{}", fmt::format("TypeError: {}: expected {}, but {} is {}", called, describe(e.dtypes),
                                            operands == 1 ? "x" : "x1", info(dtype).api_name)});
    if (dtype != DType::Key) break;
  }
  return out;
}

}  // namespace

Op elementwise(Elementwise e, std::vector<OperandSpec> operands) {
  size_t n = operands.size();
  auto of = [&](const std::string& shape) {
    std::string out;
    for (size_t i = 0; i < n; ++i) out += (i ? ", T" : "T") + shape;
    return out;
  };
  std::vector<Sample> samples;
  for (const char* shape : {"[3, 7]", "[]", "[0]", "[1]", "[33]", "[2, 3, 1]", "[0, 3]"})
    samples.push_back({of(shape), "{}", e.low, e.high});
  std::vector<BadSample> bad = refused_types(e, n);
  std::string called = e.python.empty() ? e.name : e.python;
  if (n == 2) {
    DType own = members(e.dtypes).front();
    std::string t(name(own));
    std::string message = e.python.empty() ? "shapes [2, 3] and [4] differ" : "shapes [2, 3] and [4] do not broadcast";
    bad.push_back({t + "[2, 3], " + t + "[4]", "{}", fmt::format("ShapeError: {}: {}", called, message)});
  }
  ReferenceFn reference = e.reference;
  return {.decl = {.name = e.name,
                   .python = e.python,
                   .doc = e.doc,
                   .operands = std::move(operands),
                   .dtypes = e.dtypes,
                   .traits = e.traits | Trait::Elementwise,
                   .front = e.python.empty() ? Front::None : Front::Elementwise,
                   .numpy = e.numpy,
                   .example = python_example(e.python, e.dtypes, n),
                   .samples = std::move(samples),
                   .bad_samples = std::move(bad),
                   .ulp = e.ulp},
          .rules = {.infer = e.infer,
                    .reference = reference,
                    .lower = e.scalar ? LowerRule::of_scalar(e.scalar) : LowerRule::none(kComplexByReference),
                    .simplify = e.simplify,
                    .jvp = e.jvp,
                    .transpose = e.transpose,
                    .batch = batch_elementwise,
                    .body = tools::no_body()},
          .id = {}};
}

Op unary(Elementwise e) { return elementwise(std::move(e), {{"x", "The array."}}); }
Op binary(Elementwise e) {
  return elementwise(std::move(e), {{"x1", "The first array."}, {"x2", "The second array, of the same element type."}});
}

}  // namespace ig::ops
