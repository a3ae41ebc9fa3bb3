// Batch rules of the ops with regions. Where a predicate, an index or a condition is batched, each row goes
// its own way: branches are all run and each row takes its own, and a loop runs until its last row is done,
// while rows that are done keep what they carry. Rows that do not count (of a branch that they do not take,
// of a loop that they have left) never keep a loop running.
#include <algorithm>
#include <limits>

#include "ops/attrs.h"
#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"

namespace ig::ops {
namespace {

using Flags = std::vector<bool>;

Flags flags_of(std::span<const int> axes) {
  Flags out;
  for (int axis : axes) out.push_back(axis >= 0);
  return out;
}

// The answer of a rule that is asked for the axes alone.
Batched axes_alone(const Flags& batched, int place = 0) {
  Batched out;
  for (bool one : batched) out.axes.push_back(one ? place : -1);
  return out;
}

Flags joined(Flags a, const Flags& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Flags either(Flags a, const Flags& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
  return a;
}

bool asks_rows(const BatchContext& c) {
  for (const auto& region : c.node->regions())
    if (c.regions->asks_rows(*region)) return true;
  return false;
}

// Operands from `first` on, so many, as a region takes them: batched ones with the axis in front.
std::vector<Value> arguments(BatchContext& c, size_t first, size_t count, const Flags& batched) {
  std::vector<Value> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(batched[i] ? in_front(c, first + i) : c.operands[first + i]);
  return out;
}

Value both(Builder& build, Value a, Value b) { return a && b ? build("and", {a, b}) : a ? a : b; }

// For each row the first value where the mask is true, else the second.
Value by_row(Builder& build, Value mask, Value a, Value b) {
  return build("select", {build.broadcast(mask, a->type().dims, {0}), a, b});
}

std::vector<Value> inlined(Builder& build, const Graph& graph, Value mask, std::vector<Value> values) {
  if (mask) values.insert(values.begin(), mask);
  return build.graph().inline_block(graph.body(), build.block(), values, build.before());
}

bool has_tangent(Value v) {
  const Type& type = v->type();
  return type.is_tensor() && (is_float(type.dtype) || is_complex(type.dtype));
}

// In each row the values of the first row that counts.
Value first_of(Builder& build, const Dim& size, Value rows, Value x) {
  const Dims& dims = x->type().dims;
  Value numbers = build("iota", {}, {{"shape", Dims{size}}, {"dtype", DType::I64}, {"axis", int64_t{0}}});
  Value none = build.full_like(numbers, static_cast<double>(std::numeric_limits<int32_t>::max()));
  Value first = build("reduce_min", {build("select", {rows, numbers, none})}, {kAxes % Ints{0}});
  std::vector<Value> operands{x, first};
  for (size_t i = 1; i < dims.size(); ++i) operands.push_back(build.scalar(DType::I64, 0));
  Dims one = dims;
  one[0] = 1;
  return build.broadcast(build("dynamic_slice", operands, {{"slice_sizes", one}}), dims,
                         tools::iota(x->type().rank()));
}

// What a region is given that runs for all rows, where `rows` count alone. In the others nothing is as the
// user's code takes for granted: a derivative may be infinite there, and 0 times that is NaN. So no
// derivative leaves through a row that does not count; and where one is summed over the rows, because a value
// is the same for all, those rows compute on the values of one that counts.
void guard(BatchContext& c, Flags& batched, std::vector<Value>& values, Value rows) {
  if (!rows) return;
  Builder& build = c.build;
  bool shared = false;
  for (size_t i = 0; i < values.size(); ++i) shared = shared || (!batched[i] && has_tangent(values[i]));
  bool some = build.graph().dims.less_equal(1, c.size) == Truth::Yes;
  Value any = shared && some ? build("reduce_or", {rows}, {kAxes % Ints{0}}) : nullptr;
  for (size_t i = 0; i < values.size(); ++i) {
    Value& value = values[i];
    if (!has_tangent(value) && !(batched[i] && value->type().is_tensor() && any)) continue;
    if (value->type().dtype == DType::Key) continue;
    if (!batched[i] && any) {
      Value taken = build.broadcast(any, value->type().dims, {});
      value = build("select", {taken, value, build("stop_gradient", {value})});
      continue;
    }
    if (!batched[i]) {
      Ints axes = tools::iota(value->type().rank(), 1);
      value = build.broadcast(value, with_front(value->type().dims, c.size), axes);
      batched[i] = true;
    }
    Value other = any ? first_of(build, c.size, rows, value) : value;
    value = by_row(build, rows, value, build("stop_gradient", {other}));
  }
}

// A region run here and now for the rows of `rows`, all results batched.
std::vector<Value> run_here(BatchContext& c, size_t region, Flags batched, std::vector<Value> values,
                            Value rows) {
  const Block& block = c.node->region(region);
  bool masked = rows && c.regions->asks_rows(block);
  if (std::any_of(block.results().begin(), block.results().end(), has_tangent))
    guard(c, batched, values, rows);
  auto graph = c.regions->batch(block, batched, Flags(block.results().size(), true), masked);
  return inlined(c.build, *graph, masked ? rows : nullptr, values);
}

// The node with its regions batched, `leading` operands in front of what the regions take.
Batched node_with_regions(BatchContext& c, std::vector<Value> leading, std::vector<Value> consts,
                          std::vector<Value> rest, std::vector<uint32_t> segments,
                          std::vector<std::unique_ptr<Graph>> regions, bool masked, const Flags& results,
                          const std::vector<int>& places) {
  std::vector<Value> operands = std::move(leading);
  if (masked) operands.push_back(c.active);
  operands.insert(operands.end(), consts.begin(), consts.end());
  operands.insert(operands.end(), rest.begin(), rest.end());
  if (!segments.empty()) segments[0] += masked ? 1 : 0;
  Node* node = c.build.node(op_of(c.node), std::move(operands), c.node->attrs(), std::move(segments),
                            std::move(regions));
  Batched out{{node->results().begin(), node->results().end()}, {}};
  for (size_t i = 0; i < results.size(); ++i) out.axes.push_back(results[i] ? places[i] : -1);
  return out;
}

Batched batch_branches(BatchContext& c) {
  Flags batched = flags_of(c.axes.subspan(1)), results(c.node->results().size(), false);
  for (const auto& region : c.node->regions())
    results = either(results, c.regions->reached(*region, batched));
  if (c.axes[0] >= 0) results.assign(results.size(), true);
  if (c.flow_only) return axes_alone(results);
  IG_CHECK(c.axes[0] < 0, "branches that each row takes on its own are not batched as branches");
  bool masked = c.active && asks_rows(c);
  std::vector<std::unique_ptr<Graph>> regions;
  for (const auto& region : c.node->regions())
    regions.push_back(c.regions->batch(*region, batched, results, masked));
  return node_with_regions(c, {c.operands[0]}, arguments(c, 1, batched.size(), batched), {}, {},
                           std::move(regions), masked, results, std::vector<int>(results.size(), 0));
}

// Every branch for the rows that take it; `taken` is the mask of each branch.
Batched batch_by_rows(BatchContext& c, const std::vector<Value>& taken) {
  Flags batched = flags_of(c.axes.subspan(1));
  std::vector<Value> values = arguments(c, 1, batched.size(), batched), out;
  for (size_t branch = taken.size(); branch-- > 0;) {
    std::vector<Value> mine = run_here(c, branch, batched, values, both(c.build, c.active, taken[branch]));
    for (size_t i = 0; i < out.size(); ++i) out[i] = by_row(c.build, taken[branch], mine[i], out[i]);
    if (branch + 1 == taken.size()) out = std::move(mine);
  }
  return {out, std::vector<int>(out.size(), 0)};
}

}  // namespace

Batched batch_cond(BatchContext& c) {
  if (c.axes[0] < 0 || c.flow_only) return batch_branches(c);
  Value yes = in_front(c, 0);
  return batch_by_rows(c, {yes, c.build("not", {yes})});
}

Batched batch_switch(BatchContext& c) {
  if (c.axes[0] < 0 || c.flow_only) return batch_branches(c);
  Value index = in_front(c, 0);
  size_t count = c.node->regions().size();
  std::vector<Value> taken;
  Value some = nullptr;
  for (size_t k = 0; k + 1 < count; ++k) {
    taken.push_back(c.build("equal", {index, c.build.full_like(index, static_cast<double>(k))}));
    some = some ? c.build("or", {some, taken.back()}) : taken.back();
  }
  // An index out of range names the last branch.
  taken.push_back(some ? c.build("not", {some})
                       : c.build.full(Type::tensor(DType::Bool, index->type().dims), 1));
  return batch_by_rows(c, taken);
}

namespace {

// A loop whose number of steps is the same for all rows.
Batched common_loop(BatchContext& c, const Flags& consts, const Flags& carry) {
  Flags all = joined(consts, carry);
  bool masked = c.active != nullptr;
  auto condition = c.regions->batch(c.node->region(0), all, {false}, masked);
  if (masked) {
    // Where no row counts, it need not end: it does not begin.
    Builder inner(condition->body());
    Value any = inner("reduce_or", {condition->inputs()[0]}, {kAxes % Ints{0}});
    condition->body().set_results({inner("and", {any, condition->outputs()[0]})});
  }
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(condition));
  regions.push_back(c.regions->batch(c.node->region(1), all, carry, masked));
  return node_with_regions(c, {}, arguments(c, 0, consts.size(), consts),
                           arguments(c, consts.size(), carry.size(), carry), c.node->segments(),
                           std::move(regions), masked, carry, std::vector<int>(carry.size(), 0));
}

// A loop that each row leaves on its own: which rows still run is carried in front.
Batched loop_by_rows(BatchContext& c, const Flags& consts) {
  size_t n = consts.size();
  Flags carry(c.operands.size() - n, true), all = joined(consts, carry);
  std::vector<Value> operands = arguments(c, 0, n, consts), carried = arguments(c, n, carry.size(), carry);
  std::vector<Value> start = operands;
  start.insert(start.end(), carried.begin(), carried.end());
  Value running = both(c.build, c.active, run_here(c, 0, all, start, c.active)[0]);

  auto region = [&](std::string name) {
    auto graph = std::make_unique<Graph>(std::move(name));
    graph->dims = c.build.graph().dims;
    for (Value v : operands) graph->body().add_arg(v->type(), v->name());
    graph->body().add_arg(running->type(), "running");
    for (Value v : carried) graph->body().add_arg(v->type(), v->name());
    return graph;
  };
  auto condition = region("condition");
  {
    Builder build(condition->body());
    build.at(c.node);
    condition->body().set_results({build("reduce_or", {condition->inputs()[n]}, {kAxes % Ints{0}})});
  }
  auto body = region("body");
  {
    Builder build(body->body());
    build.at(c.node);
    std::vector<Value> reads(body->inputs().begin(), body->inputs().begin() + static_cast<int64_t>(n));
    Value rows = body->inputs()[n];
    std::vector<Value> before(body->inputs().begin() + static_cast<int64_t>(n) + 1, body->inputs().end());
    BatchContext inside{build, c.node, {}, {}, c.size, c.axis_name, rows, c.regions};
    std::vector<Value> values = reads;
    values.insert(values.end(), before.begin(), before.end());
    std::vector<Value> after = run_here(inside, 1, all, values, rows), results;
    for (size_t i = 0; i < after.size(); ++i) results.push_back(by_row(build, rows, after[i], before[i]));
    values = reads;
    values.insert(values.end(), results.begin(), results.end());
    results.insert(results.begin(), both(build, rows, run_here(inside, 0, all, values, rows)[0]));
    body->body().set_results(std::move(results));
  }
  operands.push_back(running);
  operands.insert(operands.end(), carried.begin(), carried.end());
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(condition));
  regions.push_back(std::move(body));
  Node* node =
      c.build.node(op_of(c.node), std::move(operands), c.node->attrs(),
                   {static_cast<uint32_t>(n), static_cast<uint32_t>(carry.size() + 1)}, std::move(regions));
  return {{node->results().begin() + 1, node->results().end()}, std::vector<int>(carry.size(), 0)};
}

}  // namespace

Batched batch_while(BatchContext& c) {
  size_t n = c.node->segments()[0];
  Flags consts = flags_of(c.axes.first(n)), carry = flags_of(c.axes.subspan(n));
  bool by_rows = false;
  for (bool again = true; again;) {
    Flags all = joined(consts, carry), next = either(carry, c.regions->reached(c.node->region(1), all));
    by_rows = c.regions->reached(c.node->region(0), all)[0];
    if (by_rows) next.assign(next.size(), true);
    again = next != carry;
    carry = next;
  }
  if (c.flow_only) return axes_alone(carry);
  return by_rows ? loop_by_rows(c, consts) : common_loop(c, consts, carry);
}

Batched batch_scan(BatchContext& c) {
  size_t n = c.node->segments()[0], carried = c.node->segments()[1];
  Flags consts = flags_of(c.axes.first(n)), carry = flags_of(c.axes.subspan(n, carried)),
        xs = flags_of(c.axes.subspan(n + carried)), results;
  for (bool again = true; again;) {
    results = c.regions->reached(c.node->region(0), joined(joined(consts, carry), xs));
    Flags next = either(carry, Flags(results.begin(), results.begin() + static_cast<int64_t>(carried)));
    again = next != carry;
    carry = next;
  }
  std::copy(carry.begin(), carry.end(), results.begin());
  // Scanned arrays keep the steps in front; the batch axis comes behind them.
  std::vector<int> places(carried, 0);
  places.resize(results.size(), 1);
  if (c.flow_only) return axes_alone(results);
  bool masked = c.active && asks_rows(c);
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(c.regions->batch(c.node->region(0), joined(joined(consts, carry), xs), results, masked));
  std::vector<Value> rest = arguments(c, n, carried, carry);
  for (size_t i = n + carried; i < c.operands.size(); ++i) {
    Value x = c.operands[i];
    if (c.axes[i] >= 0 && c.axes[i] != 1) {
      Ints order = tools::iota(x->type().rank());
      order.erase(order.begin() + c.axes[i]);
      order.insert(order.begin() + 1, c.axes[i]);
      x = c.build.transpose(x, order);
    }
    rest.push_back(x);
  }
  return node_with_regions(c, {}, arguments(c, 0, n, consts), std::move(rest), c.node->segments(),
                           std::move(regions), masked, results, places);
}

Batched batch_call(BatchContext& c) {
  Flags batched = flags_of(c.axes), results = c.regions->reached(c.node->region(0), batched);
  if (c.flow_only) return axes_alone(results);
  bool masked = c.active && asks_rows(c);
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(c.regions->batch(c.node->region(0), batched, results, masked));
  return node_with_regions(c, {}, arguments(c, 0, batched.size(), batched), {}, {}, std::move(regions),
                           masked, results, std::vector<int>(results.size(), 0));
}

namespace {

// One flag for each of the values that have tangents.
Flags of_tangents(std::span<const Value> values, const Flags& flags) {
  Flags out;
  for (size_t i = 0; i < values.size(); ++i)
    if (has_tangent(values[i])) out.push_back(flags[i]);
  return out;
}

Flags part(const Flags& flags, size_t begin, size_t count) {
  auto from = flags.begin() + static_cast<int64_t>(begin);
  return {from, from + static_cast<int64_t>(count)};
}

}  // namespace

// A tangent is batched where its value is, for it has that value's type.
Batched batch_custom_jvp(BatchContext& c) {
  const auto& regions = c.node->regions();
  size_t consts = c.node->segments()[0], count = c.node->results().size();
  Flags batched = flags_of(c.axes), results = c.regions->reached(*regions[0], batched);
  Flags args = part(batched, consts, batched.size() - consts);
  Flags rule = joined(batched, of_tangents(c.node->operands().subspan(consts), args));
  if (regions.size() == 2) {
    Flags reached = c.regions->reached(*regions[1], rule);
    results = either(results, part(reached, 0, count));
    size_t next = count;
    for (size_t i = 0; i < count; ++i)
      if (has_tangent(c.node->result(i))) results[i] = reached[next++] || results[i];
  }
  if (c.flow_only) return axes_alone(results);
  bool masked = c.active && asks_rows(c);
  std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(c.regions->batch(*regions[0], batched, results, masked));
  if (regions.size() == 2)
    graphs.push_back(c.regions->batch(*regions[1], rule,
                                      joined(results, of_tangents(c.node->results(), results)), masked));
  return node_with_regions(c, {}, arguments(c, 0, batched.size(), batched), {}, c.node->segments(),
                           std::move(graphs), masked, results, std::vector<int>(count, 0));
}

// The cotangent of an argument that is the same for all rows is the sum over the rows.
Batched batch_custom_vjp(BatchContext& c) {
  const auto& regions = c.node->regions();
  size_t consts = c.node->segments()[0], count = c.node->results().size();
  Flags batched = flags_of(c.axes), forward = c.regions->reached(*regions[1], batched);
  Flags results = either(c.regions->reached(*regions[0], batched), part(forward, 0, count));
  if (c.flow_only) return axes_alone(results);
  Flags residuals = part(forward, count, forward.size() - count);
  Flags backward =
      joined(joined(part(batched, 0, consts), residuals), of_tangents(c.node->results(), results));
  Flags args =
      of_tangents(c.node->operands().subspan(consts), part(batched, consts, batched.size() - consts));
  bool sums = std::find(args.begin(), args.end(), false) != args.end();
  bool masked = c.active && (sums || asks_rows(c));
  std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(c.regions->batch(*regions[0], batched, results, masked));
  graphs.push_back(c.regions->batch(*regions[1], batched, joined(results, residuals), masked));
  graphs.push_back(c.regions->batch(*regions[2], backward, Flags(args.size(), true), masked));
  Graph& back = *graphs.back();
  Builder build(back.body());
  build.at(c.node);
  std::vector<Value> given(back.outputs().begin(), back.outputs().end());
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i]) continue;
    if (masked) given[i] = by_row(build, back.inputs()[0], given[i], build.full_like(given[i], 0));
    given[i] = build("reduce_sum", {given[i]}, {kAxes % Ints{0}});
  }
  back.body().set_results(std::move(given));
  return node_with_regions(c, {}, arguments(c, 0, batched.size(), batched), {}, c.node->segments(),
                           std::move(graphs), masked, results, std::vector<int>(count, 0));
}

Batched batch_by_loop(BatchContext& c) {
  auto body = std::make_unique<Graph>("one");
  body->dims = c.build.graph().dims;
  std::vector<Value> operands, inside(c.operands.size(), nullptr);
  uint32_t consts = 0;
  for (bool batched : {false, true})
    for (size_t i = 0; i < c.operands.size(); ++i) {
      if ((c.axes[i] >= 0) != batched) continue;
      operands.push_back(batched ? in_front(c, i) : c.operands[i]);
      inside[i] = body->body().add_arg(c.node->operand(i)->type(), c.node->operand(i)->name());
      if (!batched) ++consts;
    }
  Builder build(body->body());
  build.at(c.node);
  Node* one = build.node(op_of(c.node), inside, c.node->attrs(), c.node->segments());
  body->body().set_results({one->results().begin(), one->results().end()});
  auto scanned = static_cast<uint32_t>(operands.size()) - consts;
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(body));
  Node* loop = c.build.node(get("scan"), std::move(operands), {}, {consts, 0, scanned}, std::move(regions));
  return {{loop->results().begin(), loop->results().end()}, std::vector<int>(loop->results().size(), 0)};
}

}  // namespace ig::ops
