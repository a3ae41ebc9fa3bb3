// What all element-wise ops share: types, samples, batching, the assembling of a declaration.
#include "ops/families/elementwise.h"

namespace ig::ops {

// All operands have one shape, so the batch axis stays where all batched ones have it. Where they differ, it
// comes to the front of each. Operands without one are spread over it.
Batched batch_elementwise(BatchContext& c) {
  int place = -1;
  for (int axis : c.axes)
    if (axis >= 0) place = place < 0 || place == axis ? axis : 0;
  std::vector<Value> operands;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    Value x = c.operands[i];
    if (c.axes[i] >= 0) {
      operands.push_back(c.axes[i] == place ? x : tools::batch_to_front(c.build, x, c.axes[i]));
      continue;
    }
    Dims shape = x->type().dims;
    shape.insert(shape.begin() + place, c.size);
    Ints axes;
    for (int64_t axis = 0; axis < x->type().rank(); ++axis) axes.push_back(axis < place ? axis : axis + 1);
    operands.push_back(c.build.broadcast(x, shape, axes));
  }
  return {{c.build.node(op_of(c.node), operands, c.node->attrs())->result()}, {place}};
}

namespace {

void infer_same(InferContext& c) {
  for (size_t i = 0; i < c.size(); ++i) c.require_dtype(i, c.op.decl.dtypes);
  for (size_t i = 1; i < c.size(); ++i) {
    c.require_same_dtype(0, i);
    c.require_same_shape(0, i);
  }
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

void infer_bool(InferContext& c) {
  infer_same(c);
  c.results[0].dtype = DType::Bool;
}

void infer_part(InferContext& c) {
  infer_same(c);
  c.results[0].dtype = part_of(c.operand(0).dtype);
}

InferFn infer_of(Gives gives) {
  switch (gives) {
    case Gives::Bool: return infer_bool;
    case Gives::Part: return infer_part;
    default: return infer_same;
  }
}

Op make(ElementwiseDecl d, ReferenceFn reference, ScalarFn lower, std::vector<OperandSpec> operands,
        std::vector<Sample> samples, std::vector<BadSample> bad) {
  bool whole = d.dtypes == DTypeSet::Integer || d.dtypes == DTypeSet::IntegerBool;
  std::string argument = d.dtypes == DTypeSet::Bool ? "ig.asarray([True, False])"
                         : whole                    ? "ig.asarray([1, 2])"
                                                    : "ig.asarray([0.5, 2.0])";
  std::string call;
  for (size_t i = 0; i < operands.size(); ++i) call += (i ? ", " : "") + argument;
  OpDecl decl{.name = d.name,
              .python = d.python,
              .doc = d.doc,
              .operands = std::move(operands),
              .dtypes = d.dtypes,
              .traits = d.traits | Trait::Elementwise,
              .front = Front::Elementwise,
              .numpy = d.numpy,
              .example = d.python.empty() ? "" : "ig." + d.python + "(" + call + ")",
              .samples = std::move(samples),
              .bad_samples = std::move(bad),
              .ulp = d.ulp,
              .complex_ulp = d.complex_ulp};
  return Op{.decl = std::move(decl),
            .rules = {.infer = infer_of(d.gives),
                      .reference = reference,
                      .lower = LowerRule::of_scalar(lower),
                      .simplify = d.simplify ? Rule<SimplifyFn>(d.simplify)
                                             : Rule<SimplifyFn>::none("no identity keeps every bit"),
                      .by_reciprocal = d.by_reciprocal,
                      .jvp = !d.no_jvp.empty() ? Rule<JvpFn>::none(d.no_jvp)
                             : d.jvp           ? Rule<JvpFn>(d.jvp)
                                               : Rule<JvpFn>(tools::zero_jvp),
                      .transpose = d.transpose ? Rule<TransposeFn>(d.transpose)
                                               : Rule<TransposeFn>(tools::not_linear()),
                      .batch = batch_elementwise,
                      .body = tools::no_body(),
                      .bounds = d.bounds,
                      .implies = d.implies}};
}

std::string public_name(const ElementwiseDecl& d) { return d.python.empty() ? d.name : d.python; }

// A type outside of the set, and how errors call it.
std::pair<std::string, std::string> outsider(DTypeSet set) {
  if (set == DTypeSet::Float || set == DTypeSet::FloatComplex) return {"i32", "int32"};
  if (set == DTypeSet::Integer || set == DTypeSet::IntegerBool) return {"f32", "float32"};
  if (set == DTypeSet::Bool) return {"i32", "int32"};
  return {"bool", "bool"};
}

}  // namespace

Op make_unary(ElementwiseDecl d, ReferenceFn reference, ScalarFn lower) {
  std::vector<Sample> samples;
  for (const char* shape : {"T[]", "T[0]", "T[1]", "T[7]", "T[3, 5]", "T[2, 0, 3]", "T[2, 3, 17]", "T[300]"})
    samples.push_back({shape, "", d.low, d.high});
  // Drawn numbers are all finite, and a predicate about that must tell them from the others.
  if (d.gives == Gives::Bool)
    for (DType dtype : members(d.dtypes))
      if (!is_integer(dtype))
        samples.push_back({fmt::format("{}[5] {{nan, inf, -inf, 0, 1}}", name(dtype)), "", d.low, d.high});
  std::vector<BadSample> bad;
  if (d.dtypes != DTypeSet::Any) {
    auto [type, called] = outsider(d.dtypes);
    bad.push_back(
        {type + "[3]", "",
         fmt::format("TypeError: {}: expected {}, but x is {}", public_name(d), describe(d.dtypes), called)});
  }
  return make(std::move(d), reference, lower, {{"x", "The array."}}, std::move(samples), std::move(bad));
}

Op make_binary(ElementwiseDecl d, ReferenceFn reference, ScalarFn lower) {
  std::vector<Sample> samples;
  for (const char* shape :
       {"T[], T[]", "T[0], T[0]", "T[1], T[1]", "T[9], T[9]", "T[4, 5], T[4, 5]", "T[2, 3, 17], T[2, 3, 17]"})
    samples.push_back({shape, "", d.low, d.high});
  std::vector<BadSample> bad;
  std::string inside = d.dtypes == DTypeSet::Bool                                           ? "bool"
                       : d.dtypes == DTypeSet::Integer || d.dtypes == DTypeSet::IntegerBool ? "i32"
                                                                                            : "f32";
  bad.push_back({fmt::format("{0}[3], {0}[4]", inside), "",
                 fmt::format("ShapeError: {}: shapes [3] and [4] differ", public_name(d))});
  if (d.dtypes != DTypeSet::Any) {
    auto [type, called] = outsider(d.dtypes);
    bad.push_back(
        {fmt::format("{0}[3], {0}[3]", type), "",
         fmt::format("TypeError: {}: expected {}, but x is {}", public_name(d), describe(d.dtypes), called)});
  }
  return make(std::move(d), reference, lower, {{"x", "The first array."}, {"y", "The second array."}},
              std::move(samples), std::move(bad));
}

}  // namespace ig::ops
