// Derivatives of what is moved by indices: gather, scatter, sort, top_k.
#include "ops/families/compose.h"
#include "ops/families/derivative_rules.h"
#include "ops/order_attrs.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

using namespace tools;

Value whole(Builder& b, const Dim& value) {
  if (value.is_constant())
    return b.constant(Literal::scalar(DType::I64, static_cast<double>(value.constant())));
  return b.convert(b("dimension_size", {}, {{"size", Dims{value}}}), DType::I64);
}

// One number for each entry of an index vector, of the shape of the indices.
Value for_each_entry(Builder& b, Value indices, int64_t vector_dim, const std::vector<Dim>& numbers) {
  const Dims& shape = indices->type().dims;
  if (vector_dim == static_cast<int64_t>(shape.size()))
    return b.broadcast(whole(b, numbers.at(0)), shape, {});
  std::vector<Value> parts;
  for (const Dim& number : numbers) parts.push_back(b.reshape(whole(b, number), {Dim(1)}));
  if (parts.empty()) return b.full(Type::tensor(DType::I64, shape), 0);
  Value row = parts.size() == 1 ? parts[0] : b("concatenate", parts, {{"axis", int64_t{0}}});
  return b.broadcast(row, shape, {vector_dim});
}

// The numbers of a gather and of the scatter that undoes it are the same, by other names.
Attrs gather_attrs(const Attrs& scatter, Dims sizes) {
  return make_attrs(
      {kOffsetDims % scatter.get(kUpdateWindowDims), kCollapsedDims % scatter.get(kInsertedDims),
       kOperandBatchDims % scatter.get(kInputBatchDims), kIndicesBatchDims % scatter.get(kScatterBatchDims),
       kStartIndexMap % scatter.get(kScatterMap), kIndexVectorDim % scatter.get(kIndexVectorDim),
       kSliceSizes % std::move(sizes)});
}

Attrs with_update(const Attrs& attrs, std::string how) {
  Attrs out = attrs;
  out.set(kUpdate, std::move(how));
  return out;
}

// Whether the windows' first elements are known, and such that all windows lie inside.
bool lie_inside(Value indices, const std::vector<Dim>& last) {
  const Literal* known = literal_behind(indices);
  if (!known || known->elements() == 0 || last.empty() || !std::ranges::all_of(last, &Dim::is_constant))
    return false;
  int64_t most = last[0].constant();
  for (const Dim& dim : last) most = std::min(most, dim.constant());
  for (int64_t i = 0, n = known->elements(); i < n; ++i)
    if (known->as_int(i) < 0 || known->as_int(i) > most) return false;
  return true;
}

// What stands in `x` under each element of the updates, and `outside` where those fall outside. gather clamps
// its windows into the array, so the array is widened by a window on each side first, but where none does.
Value under_updates(Builder& b, Value x, Value indices, const Type& updates, const Attrs& attrs,
                    Value outside) {
  const Ints &window = attrs.get(kUpdateWindowDims), &inserted = attrs.get(kInsertedDims);
  const Ints &batch = attrs.get(kInputBatchDims), &map = attrs.get(kScatterMap);
  Dims sizes, border;
  size_t next = 0;
  for (int64_t axis = 0; axis < x->type().rank(); ++axis) {
    bool spans = !contains_axis(inserted, axis) && !contains_axis(batch, axis);
    sizes.push_back(spans ? updates.dims[static_cast<size_t>(window[next++])] : Dim(1));
    border.push_back(contains_axis(map, axis) ? sizes.back() : Dim(int64_t{0}));
  }
  std::vector<Dim> last;
  for (int64_t axis : map)
    last.push_back(x->type().dims[static_cast<size_t>(axis)] - sizes[static_cast<size_t>(axis)]);
  if (lie_inside(indices, last))
    return b.node(get("gather"), {x, b.convert(indices, DType::I64)}, gather_attrs(attrs, sizes))->result();
  Value wide =
      b("pad", {x, outside}, {kPadLow % border, kPadHigh % border, kPadInterior % Ints(border.size(), 0)});
  std::vector<Dim> shift;
  for (int64_t axis : map) shift.push_back(border[static_cast<size_t>(axis)]);
  Value at = b.convert(indices, DType::I64);
  at = b("add", {at, for_each_entry(b, at, attrs.get(kIndexVectorDim), shift)});
  return b.node(get("gather"), {wide, at}, gather_attrs(attrs, sizes))->result();
}

Value zero(Builder& b, DType dtype) { return b.scalar(dtype, 0); }

Value flag(Builder& b, Value condition, DType dtype) { return b.convert(condition, dtype); }

// min and max: the mean of the tangents of all that reached the result.
Value scattered_extreme(JvpContext& c, Value tx, Value tu, const Op& scatter) {
  Compose m(c.build);
  DType dtype = c.results[0]->type().dtype;
  const Attrs& attrs = c.node->attrs();
  Attrs add = with_update(attrs, "add");
  Value x = c.operands[0], at = c.operands[1], u = c.operands[2], out = c.results[0];
  Value mine = flag(c.build, m.equal(x, out), dtype);
  Value theirs = flag(
      c.build, m.equal(u, under_updates(c.build, out, at, u->type(), attrs, zero(c.build, dtype))), dtype);
  Value number = c.build.node(scatter, {mine, at, theirs}, add)->result();
  Value sum = c.build.node(scatter, {m.mul(tx, mine), at, m.mul(tu, theirs)}, add)->result();
  return m.div(sum, number);
}

// multiply: each tangent times the product of all other factors of its place. With zeros set apart, that is
// the product of the rest over the factor itself where there is no other zero, and 0 where there is one.
Value scattered_product(JvpContext& c, Value tx, Value tu, const Op& scatter) {
  Compose m(c.build);
  DType dtype = c.results[0]->type().dtype;
  const Attrs& attrs = c.node->attrs();
  Attrs add = with_update(attrs, "add");
  Value x = c.operands[0], at = c.operands[1], u = c.operands[2];
  auto without = [&](Value v) { return m.where(m.equal(v, m.number(v, 0)), m.number(v, 1), v); };
  auto zeros = [&](Value v) { return flag(c.build, m.equal(v, m.number(v, 0)), dtype); };
  Value rest = c.build.node(scatter, {without(x), at, without(u)}, attrs)->result();
  Value count = c.build.node(scatter, {zeros(x), at, zeros(u)}, add)->result();
  auto factor = [&](Value v, Value product, Value number) {
    return m.where(m.equal(number, zeros(v)), m.div(product, without(v)), m.number(v, 0));
  };
  Value below = under_updates(c.build, rest, at, u->type(), attrs, zero(c.build, dtype));
  Value met = under_updates(c.build, count, at, u->type(), attrs, zero(c.build, dtype));
  return c.build
      .node(scatter, {m.mul(tx, factor(x, rest, count)), at, m.mul(tu, factor(u, below, met))}, add)
      ->result();
}

}  // namespace

void require_one_linear(const TransposeContext& c) {
  if (!(c.linear[0] && c.linear[1])) return;
  throw make_error(ErrorKind::Unsupported, "{}: it is not linear, and cannot be transposed",
                   op_of(c.node).public_name())
      .at(c.node->location().str())
      .why("both operands depend on what it would have to be linear in")
      .hint(
          "a function that is transposed, and the tangents of a rule of ig.custom_jvp, may only add, scale "
          "and "
          "move what they are linear in");
}

Value along_axis(Builder& build, Value x, Value positions, int64_t axis) {
  if (surely_empty(x->type()) || surely_empty(positions->type()))
    return build.full(Type::tensor(x->type().dtype, positions->type().dims), 0);
  Ints others;
  for (int64_t i = 0; i < x->type().rank(); ++i)
    if (i != axis) others.push_back(i);
  return build("gather", {x, positions},
               {kOffsetDims % Ints{}, kCollapsedDims % Ints{axis}, kOperandBatchDims % others,
                kIndicesBatchDims % others, kStartIndexMap % Ints{axis},
                kIndexVectorDim % int64_t{positions->type().rank()},
                kSliceSizes % Dims(static_cast<size_t>(x->type().rank()), Dim(1))});
}

std::vector<Value> transpose_gather(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr};
  const Attrs& attrs = c.node->attrs();
  const Type& x = c.node->operand(0)->type();
  // A slice that starts outside was moved inside; scatter would leave it out.
  std::vector<Dim> last;
  for (int64_t axis : attrs.get(kStartIndexMap)) {
    auto i = static_cast<size_t>(axis);
    last.push_back(x.dims[i] - attrs.get(kSliceSizes)[i]);
  }
  Value at = c.build.convert(c.operands[1], DType::I64);
  if (!last.empty()) {
    at = c.build("minimum", {at, for_each_entry(c.build, at, attrs.get(kIndexVectorDim), last)});
    at = c.build("maximum", {at, c.build.full_like(at, 0)});
  }
  return {c.build("scatter", {c.build.full(x, 0), at, ct},
                  {kUpdateWindowDims % attrs.get(kOffsetDims), kInsertedDims % attrs.get(kCollapsedDims),
                   kInputBatchDims % attrs.get(kOperandBatchDims),
                   kScatterBatchDims % attrs.get(kIndicesBatchDims), kScatterMap % attrs.get(kStartIndexMap),
                   kIndexVectorDim % attrs.get(kIndexVectorDim), kUpdate % std::string("add")}),
          nullptr};
}

std::vector<Value> jvp_scatter(JvpContext& c) {
  if (!c.tangents[0] && !c.tangents[2]) return {nullptr};
  const Op& op = op_of(c.node);
  const std::string& how = c.node->attrs().get(kUpdate);
  Value tx = c.tangents[0] ? c.tangents[0] : zeros_like(c.build, c.operands[0]);
  Value tu = c.tangents[2] ? c.tangents[2] : zeros_like(c.build, c.operands[2]);
  if (how == "min" || how == "max") return {scattered_extreme(c, tx, tu, op)};
  if (how == "multiply") return {scattered_product(c, tx, tu, op)};
  return {c.build.node(op, {tx, c.operands[1], tu}, c.node->attrs())->result()};
}

std::vector<Value> transpose_scatter(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr, nullptr};
  const Attrs& attrs = c.node->attrs();
  const std::string& how = attrs.get(kUpdate);
  if (how != "add" && how != "set")
    throw make_error(ErrorKind::Unsupported, "scatter: with update \"{}\" it is not linear", how)
        .at(c.node->location().str())
        .why("only what is set or added to is linear in its operands")
        .hint("use update \"add\" or \"set\" on what is transposed");
  const Type& updates = c.node->operand(2)->type();
  Value at = c.operands[1];
  Value below = nullptr;
  if (c.linear[2])
    below = under_updates(c.build, ct, at, updates, attrs, c.build.scalar(ct->type().dtype, 0));
  if (how == "add") return {c.linear[0] ? ct : nullptr, nullptr, below};
  Compose m(c.build);
  Value mine = nullptr;
  if (c.linear[0]) mine = c.build.node(op_of(c.node), {ct, at, c.build.full(updates, 0)}, attrs)->result();
  if (c.linear[2]) {
    // Of updates that meet in one element, the last is the one that stays there.
    Type flat = Type::tensor(DType::I64, {updates.elements()});
    Value numbers = c.build.reshape(m.iota(DType::I64, flat.dims, 0), updates.dims);
    Value none = c.build.full(Type::tensor(DType::I64, ct->type().dims), -1);
    Value winners = c.build.node(op_of(c.node), {none, at, numbers}, attrs)->result();
    Value here = under_updates(c.build, winners, at, updates, attrs, c.build.scalar(DType::I64, -1));
    below = m.where(m.equal(here, numbers), below, c.build.full(updates, 0));
  }
  return {mine, nullptr, below};
}

// Sorted once more with the positions beside the values; those say where each tangent goes.
std::vector<Value> jvp_sort(JvpContext& c) {
  Compose m(c.build);
  const Dims& shape = c.operands[0]->type().dims;
  int64_t axis = std::get<int64_t>(*c.node->attrs().find("axis"));
  std::vector<Value> operands(c.operands.begin(), c.operands.end());
  operands.push_back(m.iota(DType::I64, shape, axis));
  Node* node = c.build.node(op_of(c.node), operands, c.node->attrs());
  c.replaced.assign(node->results().begin(), node->results().end() - 1);
  std::vector<Value> out;
  for (Value tangent : c.tangents)
    out.push_back(tangent ? along_axis(c.build, tangent, node->results().back(), axis) : nullptr);
  return out;
}

std::vector<Value> jvp_top_k(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr, nullptr};
  return {along_axis(c.build, c.tangents[0], c.results[1], c.operands[0]->type().rank() - 1), nullptr};
}

}  // namespace ig::ops
