// The second half of the structural family: pad, concatenate, and the slices that start at run-time indices.
#include <algorithm>

#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"
#include "ops/families/bounds_rules.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

using namespace tools;
using loop::Expr;

// --- pad
// -------------------------------------------------------------------------------------------------------------
void infer_pad(InferContext& c) {
  const Type& x = c.operand(0);
  c.require_same_dtype(0, 1);
  c.require_rank(1, 0);
  const Dims &low = c.get(kPadLow), &high = c.get(kPadHigh);
  const Ints& interior = c.get(kPadInterior);
  require_count(c, low.size(), x.dims.size(), "low");
  require_count(c, high.size(), x.dims.size(), "high");
  require_count(c, interior.size(), x.dims.size(), "interior");
  Dims dims;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (interior[i] < 0)
      c.fail(ErrorKind::Value, fmt::format("interior padding {} of axis {} is negative", interior[i], i),
             "a number of elements goes between each two", "give 0 or more");
    Dim size = low[i] + high[i] + x.dims[i] + gaps_between(c.scope, x.dims[i], interior[i]);
    if (size.is_constant() && size.constant() < 0)
      c.fail(ErrorKind::Shape,
             fmt::format("padding takes {} elements away from axis {} of size {}",
                         -(low[i] + high[i]).constant(), i, x.dims[i].str()),
             "negative padding takes elements away, and there are not so many", "take away fewer");
    c.require_less_equal(0, size, "the padded size");
    dims.push_back(size);
  }
  c.result(x.dtype, dims);
}

void reference_pad(ReferenceContext& c) {
  const Literal &x = c.operands[0], &value = c.operands[1];
  std::vector<int64_t> low = ints_of(c.attrs.get(kPadLow));
  const Ints& interior = c.attrs.get(kPadInterior);
  each_index(c.results[0].dims(), [&](const Index& index, int64_t flat) {
    Index from(index.size());
    bool inside = true;
    for (size_t i = 0; i < index.size(); ++i) {
      int64_t at = index[i] - low[i], step = interior[i] + 1;
      from[i] = at / step;
      inside = inside && at >= 0 && at % step == 0 && from[i] < x.dims()[i];
    }
    if (inside)
      copy_element(c.results[0], flat, x, flat_of(x.dims(), from));
    else
      copy_element(c.results[0], flat, value, 0);
  });
}

// Where an index of the padded axis lies in the operand's, and what must hold for it to lie on an element.
// What goes before the first element is `whole` times the distance of two elements and a rest, so that the
// index itself is divided, which no lane of a vector has below zero.
Expr spread_index(loop::Builder& build, Expr i, int64_t low, int64_t step, std::optional<int64_t> size,
                  Expr elements, std::optional<int64_t> padded, std::vector<Expr>& conditions) {
  const int64_t rest = ((low % step) + step) % step, whole = (low - rest) / step;
  conditions.push_back(i % build.index(step) == build.index(rest));
  Expr at = i / build.index(step);
  if (whole != 0) at = at - build.index(whole);
  if (whole > 0) conditions.push_back(at >= build.index(0));
  if (!size || !padded || (*padded - 1 - rest) / step - whole >= *size) conditions.push_back(at < elements);
  return clamp_index(at, elements);
}

Expr point_pad(PointContext& c) {
  const Dims &low = c.node->attrs().get(kPadLow), &high = c.node->attrs().get(kPadHigh);
  const Ints& interior = c.node->attrs().get(kPadInterior);
  const Dims &dims = c.operand_type(0).dims, &padded = c.node->result()->type().dims;
  loop::Builder& build = *c.build;
  std::vector<Expr> from, conditions;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (low[i] == 0 && high[i] == 0 && interior[i] == 0) {
      from.push_back(c.index[i]);
      continue;
    }
    Expr size = c.size(dims[i]);
    if (interior[i] != 0 && low[i].is_constant()) {
      auto known = [](const Dim& d) { return d.is_constant() ? std::optional(d.constant()) : std::nullopt; };
      from.push_back(spread_index(build, c.index[i], low[i].constant(), interior[i] + 1, known(dims[i]), size,
                                  known(padded[i]), conditions));
      continue;
    }
    Expr at = low[i] == 0 ? c.index[i] : c.index[i] - c.size(low[i]);
    bool before = !(low[i].is_constant() && low[i].constant() <= 0);
    if (before) conditions.push_back(at >= build.index(0));
    if (interior[i] != 0) {
      Expr step = build.index(interior[i] + 1);
      conditions.push_back(at % step == build.index(0));
      at = at / step;
    }
    conditions.push_back(at < size);
    from.push_back(clamp_index(at, size));
  }
  Expr value = c.at(1, {});
  if (conditions.empty()) return c.at(0, from);
  return guarded(c, 0, all_of(conditions, build), value, [&] { return c.at(0, from); });
}

std::vector<int64_t> cuts_of_pad(const Node* node) {
  const Dim &low = node->attrs().get(kPadLow).back(), &size = node->operand(0)->type().dims.back();
  if (!low.is_constant() || !size.is_constant() || node->attrs().get(kPadInterior).back() != 0) return {};
  return {low.constant(), low.constant() + size.constant()};
}

bool all_zero(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d == 0; });
}
bool all_zero(const Ints& ints) {
  return std::all_of(ints.begin(), ints.end(), [](int64_t i) { return i == 0; });
}

Value simplify_pad(SimplifyContext& c) {
  Value x = c.node->operand(0);
  const Attrs& attrs = c.node->attrs();
  if (all_zero(attrs.get(kPadLow)) && all_zero(attrs.get(kPadHigh)) && all_zero(attrs.get(kPadInterior)))
    return x;
  if (surely_empty(x->type()))
    return c.build.broadcast(c.node->operand(1), c.node->result()->type().dims, {});
  return nullptr;
}

std::vector<Value> transpose_pad(TransposeContext& c) {
  Value ct = c.cotangents[0];
  std::vector<Value> out(2, nullptr);
  if (!ct) return out;
  const Type& x = c.node->operand(0)->type();
  const Dims& low = c.node->attrs().get(kPadLow);
  const Dims& high = c.node->attrs().get(kPadHigh);
  const Ints& interior = c.node->attrs().get(kPadInterior);
  // The operand's elements: cut what was put around (negative padding cuts, so its negative pads), then step
  // over what was put between.
  Dims minus_low, minus_high, start, limit;
  Ints steps;
  for (size_t i = 0; i < low.size(); ++i) {
    minus_low.push_back(Dim(int64_t{0}) - low[i]);
    minus_high.push_back(Dim(int64_t{0}) - high[i]);
    start.push_back(Dim(int64_t{0}));
    steps.push_back(interior[i] + 1);
    limit.push_back(x.dims[i] + gaps_between(c.build.graph().dims, x.dims[i], interior[i]));
  }
  Value cut = c.build("pad", {ct, c.build.scalar(x.dtype, 0)},
                      {kPadLow % minus_low, kPadHigh % minus_high, kPadInterior % Ints(low.size(), 0)});
  Value mine = c.build("slice", {cut}, {kStart % start, kLimit % limit, kSliceStrides % steps});
  if (c.linear[0]) out[0] = mine;
  if (c.linear[1]) {
    Ints axes = iota(ct->type().rank());
    Value all = c.build("reduce_sum", {ct}, {kAxes % axes});
    out[1] = c.build("subtract", {all, c.build("reduce_sum", {mine}, {kAxes % axes})});
  }
  return out;
}

Batched batch_pad(BatchContext& c) {
  Attrs attrs = c.node->attrs();
  attrs.set(kPadLow, with_front(attrs.get(kPadLow), Dim(int64_t{0})));
  attrs.set(kPadHigh, with_front(attrs.get(kPadHigh), Dim(int64_t{0})));
  attrs.set(kPadInterior, with_front(attrs.get(kPadInterior), 0));
  if (c.axes[1] < 0) return again(c, {in_front(c, 0), c.operands[1]}, attrs);
  // Each row has a padding value of its own: it goes where no element does.
  Value x = in_front(c, 0), zero = c.build.scalar(x->type().dtype, 0);
  Value padded = again(c, {x, zero}, attrs).results[0];
  Value here = c.build.full(Type::tensor(DType::Bool, c.node->operand(0)->type().dims), 1);
  Value inside =
      c.build.node(op_of(c.node), {here, c.build.scalar(DType::Bool, 0)}, c.node->attrs())->result();
  const Dims& shape = padded->type().dims;
  Value fill = c.build.broadcast(in_front(c, 1), shape, {0});
  return {
      {c.build("select", {c.build.broadcast(inside, shape, iota(inside->type().rank(), 1)), padded, fill})},
      {0}};
}

// --- concatenate
// -----------------------------------------------------------------------------------------------------
void infer_concatenate(InferContext& c) {
  require_operands(c, 1);
  Dims dims = c.operand(0).dims;
  auto axis = static_cast<size_t>(c.axis(c.get(kAxis), c.operand(0).rank()));
  for (size_t i = 1; i < c.size(); ++i) {
    c.require_same_dtype(0, i);
    c.require_rank(i, c.operand(0).rank());
    for (size_t d = 0; d < dims.size(); ++d)
      if (d != axis)
        c.require_equal(c.operand(0).dims[d], c.operand(i).dims[d], "the axes that are not joined");
    dims[axis] = dims[axis] + c.operand(i).dims[axis];
  }
  c.result(c.operand(0).dtype, dims);
}

void reference_concatenate(ReferenceContext& c) {
  auto axis = static_cast<size_t>(c.attrs.get(kAxis));
  each_index(c.results[0].dims(), [&](const Index& index, int64_t flat) {
    Index from = index;
    size_t operand = 0;
    while (from[axis] >= c.operands[operand].dims()[axis]) from[axis] -= c.operands[operand++].dims()[axis];
    copy_element(c.results[0], flat, c.operands[operand], flat_of(c.operands[operand].dims(), from));
  });
}

// Where all parts of a concatenation are runs along its axis of one array (as a roll's two are), their starts
// in it; else nothing. Known sizes alone.
std::vector<int64_t> starts_in_one(const Node* node, size_t axis) {
  std::vector<int64_t> out;
  Value source = nullptr;
  for (Value part : node->operands()) {
    const Node* slice = part->node();
    if (slice == nullptr || slice->attrs().find(kSliceStrides.name) == nullptr ||
        slice->operands().size() != 1)
      return {};
    const Value from = slice->operand(0);
    const Dims& start = slice->attrs().get(kStart);
    const Ints& strides = slice->attrs().get(kSliceStrides);
    for (size_t i = 0; i < start.size(); ++i)
      if (!start[i].is_constant() || strides[i] != 1 ||
          (i != axis && part->type().dims[i] != from->type().dims[i]))
        return {};
    const Dim& size = part->type().dims[axis];
    if ((source != nullptr && from != source) || !size.is_constant() || size.constant() == 0) return {};
    source = from;
    out.push_back(start[axis].constant());
  }
  return out;
}

Expr point_concatenate(PointContext& c) {
  auto axis = static_cast<size_t>(c.node->attrs().get(kAxis));
  loop::Builder& build = *c.build;
  // Along the last axis vectors would fall apart into elements.
  if (axis + 1 < c.index.size())
    if (const std::vector<int64_t> starts = starts_in_one(c.node, axis); starts.size() > 1) {
      std::vector<Expr> from = c.index;
      int64_t end = c.node->result()->type().dims[axis].constant();
      for (size_t k = starts.size(); k-- > 0;) {  // in the first part's terms
        const int64_t begin = end - c.operand_type(k).dims[axis].constant();
        Expr own = c.index[axis] + build.index(starts[k] - starts[0] - begin);
        from[axis] = k + 1 == starts.size() ? own : select(c.index[axis] < build.index(end), own, from[axis]);
        end = begin;
      }
      return c.at(0, from);
    }
  std::vector<size_t> parts;
  for (size_t i = 0; i < c.node->operands().size(); ++i)
    if (!(c.operand_type(i).dims[axis] == 0)) parts.push_back(i);
  // From the last part to the first: each takes the indices below its end.
  Expr value = build.constant_bits(c.node->result()->type().dtype, 0);
  if (parts.empty()) return value;
  Dims starts{Dim(int64_t{0})};
  for (size_t i : parts) starts.push_back(starts.back() + c.operand_type(i).dims[axis]);
  if (surely_nonempty(c.node, c.operand_type(parts.back()))) value = Expr();
  for (size_t k = parts.size(); k-- > 0;) {
    Expr size = c.size(c.operand_type(parts[k]).dims[axis]);
    std::vector<Expr> from = c.index;
    if (k != 0) from[axis] = from[axis] - c.size(starts[k]);
    if (parts.size() > 1) from[axis] = clamp_index(from[axis], size);
    auto read = [&] { return c.at(parts[k], from); };
    if (!value)
      value = read();
    else
      value = guarded(c, parts[k], c.index[axis] < c.size(starts[k + 1]), value, read);
  }
  return value;
}

std::vector<int64_t> cuts_of_concatenate(const Node* node) {
  if (node->attrs().get(kAxis) + 1 != node->result()->type().rank()) return {};
  std::vector<int64_t> ends;
  for (Value v : node->operands()) {
    const Dim& size = v->type().dims.back();
    if (!size.is_constant()) return ends;
    ends.push_back((ends.empty() ? 0 : ends.back()) + size.constant());
  }
  return ends;
}

Value simplify_concatenate(SimplifyContext& c) {
  if (c.node->operands().size() == 1) return c.node->operand(0);
  auto axis = static_cast<size_t>(c.node->attrs().get(kAxis));
  std::vector<Value> some;
  bool flattened = false;
  for (Value v : c.node->operands()) {
    if (v->type().dims[axis] == 0) continue;
    Node* inner = v->node();
    if (inner && inner->op() == c.node->op() && inner->attrs() == c.node->attrs() && v->uses().size() == 1) {
      some.insert(some.end(), inner->operands().begin(), inner->operands().end());
      flattened = true;
    } else {
      some.push_back(v);
    }
  }
  if (some.size() == c.node->operands().size() && !flattened) return nullptr;
  if (some.empty()) return c.node->operand(0);
  if (some.size() == 1) return some[0];
  return c.build.node(op_of(c.node), some, c.node->attrs())->result();
}

std::vector<Value> transpose_concatenate(TransposeContext& c) {
  std::vector<Value> out(c.node->operands().size(), nullptr);
  Value ct = c.cotangents[0];
  if (!ct) return out;
  auto axis = static_cast<size_t>(c.node->attrs().get(kAxis));
  Dims start(ct->type().dims.size(), Dim(int64_t{0})), limit = ct->type().dims;
  for (size_t i = 0; i < out.size(); ++i) {
    limit[axis] = start[axis] + c.node->operand(i)->type().dims[axis];
    if (c.linear[i])
      out[i] =
          c.build("slice", {ct}, {kStart % start, kLimit % limit, kSliceStrides % Ints(start.size(), 1)});
    start[axis] = limit[axis];
  }
  return out;
}

// --- dynamic_slice, dynamic_update_slice
// -----------------------------------------------------------------------------
void require_starts(const InferContext& c, size_t first, size_t rank) {
  if (c.size() - first != rank)
    c.fail(ErrorKind::Value,
           fmt::format("takes one start index for each of {} axes, got {}", rank, c.size() - first),
           "the slice starts at one place along each axis", "pass one scalar index an axis");
  for (size_t i = first; i < c.size(); ++i) {
    require_index_dtype(c, i);
    c.require_rank(i, 0);
  }
}

void infer_dynamic_slice(InferContext& c) {
  require_operands(c, 1);
  const Type& x = c.operand(0);
  require_starts(c, 1, x.dims.size());
  const Dims& sizes = c.get(kSliceSizes);
  require_count(c, sizes.size(), x.dims.size(), "slice_sizes");
  for (size_t i = 0; i < sizes.size(); ++i) {
    c.require_less_equal(0, sizes[i], "the size of the slice");
    c.require_less_equal(sizes[i], x.dims[i], "the size of the slice and of its axis");
  }
  c.result(x.dtype, sizes);
}

Index clamped_starts(ReferenceContext& c, size_t first, const std::vector<int64_t>& sizes) {
  Index start;
  for (size_t i = 0; i < sizes.size(); ++i)
    start.push_back(
        std::clamp<int64_t>(index_at(c.operands[first + i], 0), 0, c.operands[0].dims()[i] - sizes[i]));
  return start;
}

void reference_dynamic_slice(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  Index start = clamped_starts(c, 1, c.results[0].dims());
  each_index(c.results[0].dims(), [&](const Index& index, int64_t flat) {
    Index from = index;
    for (size_t i = 0; i < from.size(); ++i) from[i] += start[i];
    copy_element(c.results[0], flat, x, flat_of(x.dims(), from));
  });
}

Expr clamped_start(PointContext& c, size_t operand, const Dim& room) {
  return start_within(c, c.at(operand, {}), room);
}

Expr point_dynamic_slice(PointContext& c) {
  const Dims& sizes = c.node->result()->type().dims;
  const Dims& dims = c.operand_type(0).dims;
  std::vector<Expr> from = c.index;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (!(dims[i] == sizes[i])) from[i] = from[i] + clamped_start(c, 1 + i, dims[i] - sizes[i]);
  return c.at(0, from);
}

Value simplify_dynamic_slice(SimplifyContext& c) {
  Value x = c.node->operand(0);
  return x->type() == c.node->result()->type() ? x : nullptr;
}

// Start indices are whole numbers: only the array (and the update) have tangents.
std::vector<Value> jvp_dynamic_update_slice(JvpContext& c) {
  if (!c.tangents[0] && !c.tangents[1]) return {nullptr};
  std::vector<Value> operands(c.operands.begin(), c.operands.end());
  for (size_t i = 0; i < 2; ++i)
    operands[i] = c.tangents[i] ? c.tangents[i] : zeros_like(c.build, c.operands[i]);
  return {c.build.node(op_of(c.node), operands, c.node->attrs())->result()};
}

std::vector<Value> transpose_dynamic_slice(TransposeContext& c) {
  std::vector<Value> out(c.node->operands().size(), nullptr);
  if (!c.cotangents[0]) return out;
  std::vector<Value> operands{c.build.full(c.node->operand(0)->type(), 0), c.cotangents[0]};
  operands.insert(operands.end(), c.operands.begin() + 1, c.operands.end());
  out[0] = c.build("dynamic_update_slice", operands);
  return out;
}

void infer_dynamic_update_slice(InferContext& c) {
  require_operands(c, 2);
  const Type &x = c.operand(0), &update = c.operand(1);
  c.require_same_dtype(0, 1);
  c.require_rank(1, x.rank());
  require_starts(c, 2, x.dims.size());
  for (size_t i = 0; i < x.dims.size(); ++i)
    c.require_less_equal(update.dims[i], x.dims[i], "the size of the update and of its axis");
  c.result(x.dtype, x.dims);
}

void reference_dynamic_update_slice(ReferenceContext& c) {
  const Literal &x = c.operands[0], &update = c.operands[1];
  for (int64_t i = 0; i < x.elements(); ++i) copy_element(c.results[0], i, x, i);
  Index start = clamped_starts(c, 2, update.dims());
  each_index(update.dims(), [&](const Index& index, int64_t flat) {
    Index to = index;
    for (size_t i = 0; i < to.size(); ++i) to[i] += start[i];
    copy_element(c.results[0], flat_of(x.dims(), to), update, flat);
  });
}

Expr point_dynamic_update_slice(PointContext& c) {
  const Dims &dims = c.operand_type(0).dims, &sizes = c.operand_type(1).dims;
  loop::Builder& build = *c.build;
  std::vector<Expr> from = c.index, inside;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == sizes[i]) continue;
    Expr at = c.index[i] - clamped_start(c, 2 + i, dims[i] - sizes[i]), size = c.size(sizes[i]);
    inside.push_back(at >= build.index(0));
    inside.push_back(at < size);
    from[i] = clamp_index(at, size);
  }
  if (inside.empty()) return c.at(1, from);
  Expr old = c.at(0, c.index);
  return guarded(c, 1, all_of(inside, build), old, [&] { return c.at(1, from); });
}

// The ends of the window, where it begins at a known place.
std::vector<int64_t> cuts_of_update(const Node* node) {
  const Dim &size = node->operand(0)->type().dims.back(), &window = node->operand(1)->type().dims.back();
  const Literal* start = elements_behind(node->operands().back());
  if (!start || !size.is_constant() || !window.is_constant()) return {};
  const int64_t from = std::clamp<int64_t>(index_at(*start, 0), 0, size.constant() - window.constant());
  return {from, from + window.constant()};
}

// The window alone; its last axes that are whole are one run.
void nest_dynamic_update_slice(NestContext& c) {
  loop::Builder& build = *c.build;
  const Dims &dims = c.node->operand(0)->type().dims, &sizes = c.node->operand(1)->type().dims;
  c.set_blocks(1);
  begin_as_operand(c, 0);
  std::vector<Expr> stride(dims.size(), build.index(1));
  Expr base = build.index(0);
  for (size_t i = dims.size(); i-- > 1;) stride[i - 1] = stride[i] * c.size(dims[i]);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == sizes[i]) continue;
    Expr at = as_index(build.load(c.operands[2 + i], build.index(0)));
    base = base + loop::greater(loop::lesser(at, c.size(dims[i] - sizes[i])), build.index(0)) * stride[i];
  }
  base = build.let(base);
  size_t whole = dims.size();  // the first of the axes that are one run
  while (whole > 1 && dims[whole - 1] == sizes[whole - 1]) --whole;
  if (whole > 0) --whole;
  Dim run = int64_t{1};
  for (size_t i = whole; i < sizes.size(); ++i) run = run * sizes[i];
  std::function<void(size_t, Expr, Expr)> walk = [&](size_t axis, Expr to, Expr from) {
    if (axis < whole)
      return build.serial_for(build.index(0), c.size(sizes[axis]), [&](Expr i) {
        walk(axis + 1, to + i * stride[axis], from * c.size(sizes[axis]) + i);
      });
    const Expr first = build.let(from * c.size(run)), place = build.let(to);
    build.vector_for(build.index(0), c.size(run), 8, [&](Expr i) {
      build.store(c.results[0], place + i, build.load(c.operands[1], first + i));
    });
  };
  walk(0, base, build.index(0));
}

Value simplify_dynamic_update_slice(SimplifyContext& c) {
  Value x = c.node->operand(0), update = c.node->operand(1);
  if (surely_empty(update->type())) return x;
  return x->type() == update->type() ? update : nullptr;
}

std::vector<Value> transpose_dynamic_update_slice(TransposeContext& c) {
  std::vector<Value> out(c.node->operands().size(), nullptr);
  Value ct = c.cotangents[0];
  if (!ct) return out;
  const Type& update = c.node->operand(1)->type();
  std::vector<Value> starts(c.operands.begin() + 2, c.operands.end());
  if (c.linear[0]) {
    std::vector<Value> operands{ct, c.build.full(update, 0)};
    operands.insert(operands.end(), starts.begin(), starts.end());
    out[0] = c.build("dynamic_update_slice", operands);
  }
  if (c.linear[1]) {
    std::vector<Value> operands{ct};
    operands.insert(operands.end(), starts.begin(), starts.end());
    out[1] = c.build("dynamic_slice", operands, {kSliceSizes % update.dims});
  }
  return out;
}

// --- the declarations
// --------------------------------------------------------------------------------------------------
Op pad_op() {
  return {
      .decl =
          {.name = "pad",
           .python = "",
           .doc = "The array with `value` put before, behind and between the elements of each axis; negative "
                  "`low` and `high` take elements away, after the inner padding. StableHLO.",
           .operands = {{"x", "The array."}, {"value", "A scalar: what is put."}},
           .attrs = {kPadLow, kPadHigh, kPadInterior},
           .traits = Trait::View | Trait::Linear | Trait::Cheap,
           .front = Front::None,
           .numpy = "none: NumPy's pad has no inner and no negative padding",
           .example = "",
           .samples = {{"T[3], T[]", "{low = [1], high = [2], interior = [0]}"},
                       {"T[3], T[]", "{low = [0], high = [0], interior = [2]}"},
                       {"T[5], T[]", "{low = [-1], high = [-2], interior = [0]}"},
                       {"T[3], T[]", "{low = [-2], high = [1], interior = [1]}"},
                       {"T[2, 3], T[]", "{low = [1, 0], high = [0, 2], interior = [1, 0]}"},
                       {"T[2, 3, 4], T[]", "{low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0]}"},
                       {"T[0], T[]", "{low = [2], high = [1], interior = [3]}"},
                       {"T[4], T[]", "{low = [-2], high = [-2], interior = [0]}"},
                       {"T[1], T[]", "{low = [0], high = [0], interior = [5]}"},
                       {"T[], T[]", "{low = [], high = [], interior = []}"}},
           .bad_samples = {{"T[3], T[]", "{low = [0], high = [0], interior = [-1]}",
                            "ValueError: pad: interior padding -1 of axis 0 is negative"},
                           {"T[3], T[]", "{low = [-2], high = [-2], interior = [0]}",
                            "ShapeError: pad: padding takes 4 elements away from axis 0 of size 3"},
                           {"T[3], T[]", "{low = [0, 1], high = [0], interior = [0]}",
                            "ValueError: pad: low has 2 entries, but 1 is needed"}}},
      .rules = {.infer = infer_pad,
                .reference = reference_pad,
                .lower = LowerRule::of_point(point_pad, cuts_of_pad),
                .simplify = simplify_pad,
                .jvp = linear_jvp_all,
                .transpose = transpose_pad,
                .batch = batch_pad,
                .body = no_body(),
                .bounds = bounds_of_all},
      .id = {}};
}

Op concatenate_op() {
  return {.decl = {.name = "concatenate",
                   .python = "",
                   .doc = "The arrays joined along `axis`, one behind the other. StableHLO.",
                   .operands = {{.name = "arrays",
                                 .doc = "Arrays that agree in all but the joined axis.",
                                 .variadic = true}},
                   .attrs = {kAxis},
                   .traits = Trait::View | Trait::Linear | Trait::Cheap,
                   .front = Front::None,
                   .numpy = "np.concatenate(arrays, axis)",
                   .example = "",
                   .samples = {{"T[3]", "{axis = 0}"},
                               {"T[3], T[2]", "{axis = 0}"},
                               {"T[2, 3], T[2, 1], T[2, 4]", "{axis = 1}"},
                               {"T[2, 3], T[1, 3]", "{axis = 0}"},
                               {"T[2, 0], T[2, 3], T[2, 0]", "{axis = 1}"},
                               {"T[2, 3, 4], T[2, 2, 4]", "{axis = 1}"},
                               {"T[0], T[0]", "{axis = 0}"},
                               {"T[1, 2, 1, 2], T[1, 2, 3, 2]", "{axis = 2}"},
                               {"T[17], T[18]", "{axis = 0}"}},
                   .bad_samples = {}},
          .rules = {.infer = infer_concatenate,
                    .reference = reference_concatenate,
                    .lower = LowerRule::of_point(point_concatenate, cuts_of_concatenate),
                    .simplify = simplify_concatenate,
                    .jvp = linear_jvp_all,
                    .transpose = transpose_concatenate,
                    .batch = batch_along_axis,
                    .body = no_body(),
                    .bounds = bounds_of_all},
          .id = {}};
}

Op dynamic_slice_op() {
  return {
      .decl = {.name = "dynamic_slice",
               .python = "dynamic_slice",
               .doc =
                   "A slice of the given sizes whose start is computed.\nA start that would reach beyond the "
                   "array is clamped, so that the whole slice lies inside. StableHLO.",
               .operands = {{"x", "The array."},
                            {.name = "starts", .doc = "One integer scalar for each axis.", .variadic = true}},
               .attrs = {kSliceSizes},
               .traits = Trait::View | Trait::Cheap,
               .numpy =
                   "x[tuple(slice(int(np.clip(int(i), 0, n - m)), int(np.clip(int(i), 0, n - m)) + m) for "
                   "i, n, m in zip(starts, x.shape, slice_sizes))]",
               .example = "ig.dynamic_slice(ig.asarray([1, 2, 3, 4]), ig.asarray(1), slice_sizes=(2,))",
               .samples = {{"T[]", "{slice_sizes = []}"},
                           {"T[5], i64[] {1}", "{slice_sizes = [3]}"},
                           {"T[5], i64[] {4}", "{slice_sizes = [3]}"},
                           {"T[5], i32[] {-2}", "{slice_sizes = [2]}"},
                           {"T[3, 4], i64[] {1}, i64[] {9}", "{slice_sizes = [2, 2]}"},
                           {"T[2, 3, 4], i32[] {0}, i32[] {1}, i32[] {2}", "{slice_sizes = [2, 1, 2]}"},
                           {"T[5], u8[] {200}", "{slice_sizes = [0]}"},
                           {"T[0], i64[] {0}", "{slice_sizes = [0]}"}},
               .bad_samples = {{"T[5]", "{slice_sizes = [3]}",
                                "ValueError: dynamic_slice: takes one start index for each of 1 axes, got 0"},
                               {"T[5], i64[] {0}", "{slice_sizes = [3, 1]}",
                                "ValueError: dynamic_slice: slice_sizes has 2 entries, but 1 is needed"}}},
      .rules = {.infer = infer_dynamic_slice,
                .reference = reference_dynamic_slice,
                .lower = LowerRule::of_point(point_dynamic_slice),
                .simplify = simplify_dynamic_slice,
                .jvp = linear_jvp,
                .transpose = transpose_dynamic_slice,
                .batch = batch_dynamic_slice,
                .body = no_body(),
                .bounds = bounds_of_first},
      .id = {}};
}

Op dynamic_update_slice_op() {
  return {
      .decl =
          {.name = "dynamic_update_slice",
           .python = "dynamic_update_slice",
           .doc =
               "The array with a slice, whose start is computed, replaced by `update`.\nA start that would "
               "reach beyond the array is clamped, so that the whole update lies inside. StableHLO.",
           .operands = {{"x", "The array."},
                        {"update", "What is written; no axis larger than the array's."},
                        {.name = "starts", .doc = "One integer scalar for each axis.", .variadic = true}},
           .attrs = {},
           .traits = Trait::View | Trait::Cheap,
           .numpy = "none: NumPy writes in place",
           .example = "ig.dynamic_update_slice(ig.asarray([1, 2, 3, 4]), ig.asarray([8, 9]), ig.asarray(1))",
           .samples = {{"T[], T[]", "{}"},
                       {"T[5], T[2], i64[] {1}", "{}"},
                       {"T[5], T[2], i64[] {7}", "{}"},
                       {"T[5], T[2], i32[] {-3}", "{}"},
                       {"T[3, 4], T[2, 2], i64[] {1}, i64[] {2}", "{}"},
                       {"T[3, 4], T[3, 1], i64[] {0}, i64[] {3}", "{}"},
                       {"T[5], T[0], i64[] {2}", "{}"},
                       {"T[5], T[5], i64[] {2}", "{}"},
                       {"T[0], T[0], i64[] {0}", "{}"}},
           .bad_samples = {{"T[5], T[2]", "{}",
                            "ValueError: dynamic_update_slice: takes one start index for each of 1 axes, got "
                            "0"}}},
      .rules = {.infer = infer_dynamic_update_slice,
                .reference = reference_dynamic_update_slice,
                .lower = LowerRule::of_update(0, nest_dynamic_update_slice, nullptr,
                                              point_dynamic_update_slice, cuts_of_update),
                .simplify = simplify_dynamic_update_slice,
                .jvp = jvp_dynamic_update_slice,
                .transpose = transpose_dynamic_update_slice,
                .batch = batch_dynamic_update_slice,
                .body = no_body(),
                .bounds = bounds_of_updated},
      .id = {}};
}

}  // namespace

std::vector<Op> joining_ops() {
  std::vector<Op> ops;
  ops.push_back(pad_op());
  ops.push_back(concatenate_op());
  ops.push_back(dynamic_slice_op());
  ops.push_back(dynamic_update_slice_op());
  return ops;
}

}  // namespace ig::ops
