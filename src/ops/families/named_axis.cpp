// Ops that speak of a batch axis by its name: what one example sees of all the others. They stand in a
// function that is to be batched, and batching along the axis of that name turns them into plain ops; nothing
// else can run them.
#include <fmt/format.h>

#include "ops/attrs.h"
#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"
#include "ops/families/families.h"
#include "ops/shape_attrs.h"

namespace ig::ops {
namespace {

using namespace tools;

constexpr Attr<std::string> kAxisName{"axis_name", "The name of the batch axis."};
constexpr Attr<Dims> kAxisSize{"axis_size", "Its size, as a list of one."};
constexpr Attr<Ints> kSources{"sources", "The examples that give, one for each in `targets`."};
constexpr Attr<Ints> kTargets{"targets", "The examples that receive, each once."};

bool is_mine(const BatchContext& c) {
  return !c.axis_name.empty() && c.node->attrs().get(kAxisName) == c.axis_name;
}

void infer_same(InferContext& c) { c.result(c.operand(0).dtype, c.operand(0).dims); }
void infer_number(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  infer_same(c);
}
void infer_gather(InferContext& c) {
  if (c.get(kAxisSize).size() != 1)
    c.fail(ErrorKind::Value,
           fmt::format("axis_size has {} entries, but is one size", c.get(kAxisSize).size()),
           "it is the number of examples", "give one size");
  c.result(c.operand(0).dtype, with_front(c.operand(0).dims, c.get(kAxisSize)[0]));
}
void infer_index(InferContext& c) { c.result(DType::I64, {}); }

// What runs them is batching alone.
void reference_unbound(ReferenceContext& c) {
  throw make_error(ErrorKind::Value, "the axis `{}` is not bound", c.attrs.get(kAxisName))
      .why("what an example sees of the others is known once the examples are batched")
      .hint("batch the graph with ig.vmap(..., axis_name=...)");
}

// Batching along another axis: the op itself, on every one of its examples.
Batched along_another(BatchContext& c, int place = 0) {
  bool batched = any_batched(c);
  if (c.flow_only) return {{}, {batched ? place : -1}};
  if (batched) {
    Batched out = again(c, all_in_front(c), c.node->attrs());
    out.axes = {place};
    return out;
  }
  std::vector<Value> operands(c.operands.begin(), c.operands.end());
  return {{c.build.node(op_of(c.node), operands, c.node->attrs())->result()}, {-1}};
}

Value whole_number(Builder& build, const Dim& size) {
  return build("dimension_size", {}, {{"size", Dims{size}}});
}

Batched batch_sum(BatchContext& c) {
  if (!is_mine(c)) return along_another(c);
  if (c.flow_only) return {{}, {-1}};
  Value x = c.operands[0];
  if (c.axes[0] >= 0) return {{c.build("reduce_sum", {x}, {kAxes % Ints{c.axes[0]}})}, {-1}};
  Value count = c.build.convert(whole_number(c.build, c.size), x->type().dtype);
  return {{c.build("multiply", {x, c.build.broadcast(count, x->type().dims, {})})}, {-1}};
}

template <bool Most>
Batched batch_extreme(BatchContext& c) {
  if (!is_mine(c)) return along_another(c);
  if (c.flow_only) return {{}, {-1}};
  Value x = c.operands[0];
  if (c.axes[0] < 0) return {{x}, {-1}};
  return {{c.build(Most ? "reduce_max" : "reduce_min", {x}, {kAxes % Ints{c.axes[0]}})}, {-1}};
}

Batched batch_all(BatchContext& c) {
  if (!is_mine(c)) return along_another(c, 1);
  if (c.flow_only) return {{}, {-1}};
  return {{in_front(c, 0)}, {-1}};
}

Batched batch_index(BatchContext& c) {
  if (!is_mine(c)) return along_another(c);
  if (c.flow_only) return {{}, {0}};
  return {{c.build("iota", {}, {{"shape", Dims{c.size}}, {"dtype", DType::I64}, {"axis", int64_t{0}}})}, {0}};
}

// Each example takes the value of the one that sends to it, or zero.
Batched batch_permute(BatchContext& c) {
  if (!is_mine(c)) return along_another(c);
  if (c.flow_only) return {{}, {0}};
  const Ints &sources = c.node->attrs().get(kSources), &targets = c.node->attrs().get(kTargets);
  if (!c.size.is_constant())
    throw make_error(ErrorKind::Value, "ppermute: the size of the axis `{}` is not fixed", c.axis_name)
        .at(c.node->location().str())
        .why(fmt::format("pairs of examples are named by number, and there are {} of them", c.size.str()))
        .hint("batch with a fixed size");
  int64_t size = c.size.constant();
  Literal from = Literal::allocate(DType::I64, {size, 1}), given = Literal::allocate(DType::Bool, {size});
  for (size_t i = 0; i < targets.size(); ++i) {
    for (int64_t one : {sources[i], targets[i]})
      if (one < 0 || one >= size)
        throw make_error(ErrorKind::Index, "ppermute: there is no example {} along `{}`", one, c.axis_name)
            .at(c.node->location().str())
            .why(fmt::format("the axis has {} examples", size))
            .hint(fmt::format("number them from 0 to {}", size - 1));
    set_whole(from, targets[i], sources[i]);
    set_whole(given, targets[i], 1);
  }
  Value x = in_front(c, 0);
  Dims slice = with_front(c.node->operand(0)->type().dims, 1);
  Value taken = c.build("gather", {x, c.build.constant(from)},
                        {kOffsetDims % iota(x->type().rank() - 1, 1), kCollapsedDims % Ints{0},
                         kStartIndexMap % Ints{0}, kIndexVectorDim % 1, kSliceSizes % slice});
  Value mask = c.build.broadcast(c.build.constant(given), x->type().dims, {0});
  return {{c.build("select", {mask, taken, zeros_like(c.build, x)})}, {0}};
}

std::vector<Value> transpose_sum(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  return {c.build.node(op_of(c.node), {c.cotangents[0]}, c.node->attrs())->result()};
}

// All examples have this one's array at its place: what they say of it, summed.
std::vector<Value> transpose_all(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  Builder& b = c.build;
  Attrs name = make_attrs({kAxisName % c.node->attrs().get(kAxisName)});
  Value total = b.node(get("axis_sum"), {c.cotangents[0]}, name)->result();
  std::vector<Value> operands{total, b.node(get("axis_index"), {}, name)->result()};
  for (int i = 1; i < total->type().rank(); ++i) operands.push_back(b.scalar(DType::I64, 0));
  Dims own = total->type().dims;
  own[0] = 1;
  Value mine = b("dynamic_slice", operands, {{"slice_sizes", own}});
  return {b.reshape(mine, Dims(own.begin() + 1, own.end()))};
}

std::vector<Value> transpose_permute(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  Attrs attrs = c.node->attrs();
  attrs.set(kSources, c.node->attrs().get(kTargets));
  attrs.set(kTargets, c.node->attrs().get(kSources));
  return {c.build.node(op_of(c.node), {c.cotangents[0]}, attrs)->result()};
}

struct NamedAxisOp {
  std::string name, doc;
  std::vector<AttrSpec> attrs;
  InferFn infer;
  BatchFn batch;
  Rule<JvpFn> jvp =
      no_rule("the greatest of all examples has no derivative of one alone; take it after vmap");
  Rule<TransposeFn> transpose = no_rule("it is not linear");
};

Op named_axis_op(NamedAxisOp op) {
  bool operands = op.name != "axis_index";
  return {.decl = {.name = op.name,
                   .doc = std::move(op.doc),
                   .operands = operands ? std::vector<OperandSpec>{{"x", "The example's own array."}}
                                        : std::vector<OperandSpec>{},
                   .attrs = std::move(op.attrs),
                   .traits = static_cast<uint32_t>(Trait::NamedAxis),
                   .front = Front::None,
                   .numpy =
                       "none: it has a meaning for many examples alone; tests/python/test_vmap.py checks it"},
          .rules = {.infer = op.infer,
                    .reference = reference_unbound,
                    .lower = LowerRule::none("batching along the axis replaces it"),
                    .simplify = no_rule("batching along the axis replaces it"),
                    .jvp = std::move(op.jvp),
                    .transpose = std::move(op.transpose),
                    .batch = op.batch,
                    .body = no_body()},
          .id = {}};
}

}  // namespace

std::vector<Op> named_axis_ops() {
  std::vector<Op> ops;
  ops.push_back(named_axis_op({.name = "axis_sum",
                               .doc = "The sum over all examples along the named batch axis.",
                               .attrs = {kAxisName},
                               .infer = infer_number,
                               .batch = batch_sum,
                               .jvp = linear_jvp,
                               .transpose = transpose_sum}));
  ops.push_back(
      named_axis_op({.name = "axis_max",
                     .doc = "The greatest over all examples along the named batch axis; NaN where one is.",
                     .attrs = {kAxisName},
                     .infer = infer_number,
                     .batch = batch_extreme<true>}));
  ops.push_back(
      named_axis_op({.name = "axis_min",
                     .doc = "The least over all examples along the named batch axis; NaN where one is.",
                     .attrs = {kAxisName},
                     .infer = infer_number,
                     .batch = batch_extreme<false>}));
  ops.push_back(
      named_axis_op({.name = "axis_gather",
                     .doc = "The arrays of all examples along the named batch axis, stacked in front.",
                     .attrs = {kAxisName, kAxisSize},
                     .infer = infer_gather,
                     .batch = batch_all,
                     .jvp = linear_jvp,
                     .transpose = transpose_all}));
  ops.push_back(named_axis_op({.name = "axis_index",
                               .doc = "Which example along the named batch axis this is, from 0.",
                               .attrs = {kAxisName},
                               .infer = infer_index,
                               .batch = batch_index,
                               .jvp = no_rule("it has no operands"),
                               .transpose = no_rule("it has no operands")}));
  ops.push_back(
      named_axis_op({.name = "axis_permute",
                     .doc = "The array of the example that sends to this one; zeros where none does.",
                     .attrs = {kAxisName, kSources, kTargets},
                     .infer = infer_same,
                     .batch = batch_permute,
                     .jvp = linear_jvp,
                     .transpose = transpose_permute}));
  return ops;
}

}  // namespace ig::ops
