// Derivatives of scan and while.
//
// scan: forward mode carries tangents beside values. Reverse mode runs it with residuals stacked, and a
// second scan, linear in the tangents, over them; its transpose is a scan the other way round. A minimum cut
// chooses what is stacked: what can be computed again at little cost, is, a step at a time.
//
// while: how often it runs is known only when it has. Its transpose counts the steps first, keeps 64 of the
// carries on the way, and goes back from one to the one before, where it keeps 64 again: memory is bounded,
// and up to 4096 steps no step runs more than four times.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/control_attrs.h"
#include "ops/effects.h"
#include "ops/families/control_rules.h"
#include "ops/host_call.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

using namespace control;

std::vector<bool> joined(const std::vector<bool>& a, const std::vector<bool>& b) {
  std::vector<bool> out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

template <typename T>
std::vector<T> list(std::span<const T> items) {
  return {items.begin(), items.end()};
}
template <typename T>
void append(std::vector<T>& to, std::span<const T> items) {
  to.insert(to.end(), items.begin(), items.end());
}
void append(std::vector<Value>& to, const std::vector<Value>& items) {
  to.insert(to.end(), items.begin(), items.end());
}

size_t count(const std::vector<bool>& which) {
  return static_cast<size_t>(std::count(which.begin(), which.end(), true));
}

// The positions, from `begin`, of the entries that are `wanted`.
Order positions(const std::vector<bool>& which, bool wanted, size_t begin = 0) {
  Order out;
  for (size_t i = 0; i < which.size(); ++i)
    if (which[i] == wanted) out.push_back(begin + i);
  return out;
}

// A loop's operands and their tangents, by segment; which of the carried values move in any step.
struct Loop {
  size_t consts, carried, scanned;
  std::vector<bool> const_moves, carry_moves, xs_moves;
  std::vector<bool> results;  // of the body: which move

  Loop(JvpContext& c, size_t body, bool has_xs)
      : consts(c.node->segments()[0]),
        carried(c.node->segments()[1]),
        scanned(has_xs ? c.node->segments()[2] : 0),
        const_moves(set(c.tangents.subspan(0, consts))),
        carry_moves(set(c.tangents.subspan(consts, carried))),
        xs_moves(set(c.tangents.subspan(consts + carried))) {
    for (bool grown = true; grown;) {
      results = c.regions->moving(c.node->region(body), arguments());
      grown = false;
      for (size_t i = 0; i < carried; ++i) {
        grown = grown || (results[i] && !carry_moves[i]);
        carry_moves[i] = carry_moves[i] || results[i];
      }
    }
    for (size_t i = 0; i < carried; ++i) results[i] = carry_moves[i];
  }
  std::vector<bool> arguments() const { return joined(joined(const_moves, carry_moves), xs_moves); }
};

Dim trips_of(const Node* node) {
  const Dims& length = node->attrs().get(kLength);
  return length.empty() ? node->operand(node->segments()[0] + node->segments()[1])->type().dims[0]
                        : length[0];
}

Attrs scan_attrs(const Dim& trips, bool reverse) {
  return make_attrs({kLength % Dims{trips}, kReverse % reverse});
}

Node* build_loop(Builder& build, const Op& op, std::vector<std::vector<Value>> segments, Attrs attrs,
                 std::vector<std::unique_ptr<Graph>> regions) {
  std::vector<Value> operands;
  std::vector<uint32_t> sizes;
  for (const std::vector<Value>& segment : segments) {
    append(operands, segment);
    sizes.push_back(static_cast<uint32_t>(segment.size()));
  }
  return build.node(op, operands, std::move(attrs), sizes, std::move(regions));
}

std::vector<std::unique_ptr<Graph>> graphs(std::unique_ptr<Graph> a, std::unique_ptr<Graph> b = nullptr) {
  std::vector<std::unique_ptr<Graph>> out;
  out.push_back(std::move(a));
  if (b) out.push_back(std::move(b));
  return out;
}

// --- scan
// ---------------------------------------------------------------------------------------------------

std::vector<Value> push_scan(JvpContext& c, const Loop& loop) {
  size_t n = c.operands.size(), results = c.results.size();
  std::unique_ptr<Graph> body = c.regions->jvp(c.node->region(0), loop.arguments(), loop.results);
  size_t dc = count(loop.const_moves), dk = count(loop.carry_moves), dx = count(loop.xs_moves);
  Order inputs = range(0, loop.consts) + range(n, dc) + range(loop.consts, loop.carried) + range(n + dc, dk) +
                 range(loop.consts + loop.carried, loop.scanned) + range(n + dc + dk, dx);
  size_t moved = count(loop.results);
  Order outputs = range(0, loop.carried) + range(results, dk) + range(loop.carried, results - loop.carried) +
                  range(results + dk, moved - dk);
  std::vector<Value> consts = list(c.operands.subspan(0, loop.consts));
  append(consts, present(c.tangents.subspan(0, loop.consts)));
  std::span<const Value> carry = c.operands.subspan(loop.consts, loop.carried);
  std::vector<Value> carries = list(carry);
  append(carries,
         instantiated(c.build, c.tangents.subspan(loop.consts, loop.carried), carry, loop.carry_moves));
  std::vector<Value> xs = list(c.operands.subspan(loop.consts + loop.carried));
  append(xs, present(c.tangents.subspan(loop.consts + loop.carried)));
  Node* node = build_loop(c.build, op_of(c.node), {consts, carries, xs}, c.node->attrs(),
                          graphs(reordered(*body, inputs, outputs)));
  std::span<const Value> all = node->results();
  c.replaced = list(all.subspan(0, loop.carried));
  append(c.replaced, all.subspan(loop.carried + dk, results - loop.carried));
  std::vector<Value> tangents = list(all.subspan(loop.carried, dk));
  append(tangents, all.subspan(results + dk));
  return scattered(tangents, loop.results);
}

// The values of a body's first part that depend on its constants alone, computed in front of the loop
// instead.
class Hoist {
 public:
  Hoist(Builder& build, const Graph& body, std::span<const Value> consts) : build_(build) {
    for (size_t i = 0; i < consts.size(); ++i) outside_[body.inputs()[i]] = consts[i];
    Node* end = body.body().terminator();
    for (const Node* node : body.body()) {
      if (node == end) break;
      if (has(node, Trait::Effect) || is_host_call(node) || !node->regions().empty()) continue;
      if (std::all_of(node->operands().begin(), node->operands().end(),
                      [&](Value v) { return outside_.contains(v) || fixed_.contains(v); }))
        fixed_.insert(node->results().begin(), node->results().end());
    }
  }
  bool fixed(Value value) const { return fixed_.contains(value); }
  Value outside(Value value) {
    if (auto found = outside_.find(value); found != outside_.end()) return found->second;
    const Node* node = value->node();
    std::vector<Value> operands;
    for (Value operand : node->operands()) operands.push_back(outside(operand));
    Node* copy = build_.node(op_of(node), operands, node->attrs());
    for (size_t i = 0; i < node->results().size(); ++i) outside_[node->result(i)] = copy->result(i);
    return outside_.at(value);
  }

 private:
  Builder& build_;
  std::unordered_map<Value, Value> outside_;
  std::unordered_set<Value> fixed_;
};

std::vector<Value> push_scan_split(JvpContext& c, const Loop& loop) {
  size_t results = c.results.size();
  // What is carried is to be stacked where it is kept; slices of what is scanned, and results, are there.
  Keeping keeping;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    keeping.arguments.push_back(i < loop.consts || i >= loop.consts + loop.carried);
    keeping.same.push_back(i < loop.consts);
  }
  for (size_t i = 0; i < results; ++i) keeping.results.push_back(i >= loop.carried);
  SplitRegion parts = c.regions->split(c.node->region(0), loop.arguments(), loop.results, &keeping);
  Graph& known = *parts.known;
  Hoist hoist(c.build, known, c.operands.subspan(0, loop.consts));
  std::vector<Value> given = list(known.outputs().subspan(0, results));
  // Where the linear scan finds each residual: among its constants, or among what it runs over.
  struct Place {
    bool fixed;
    size_t at;
  };
  std::vector<Place> places;
  std::vector<Value> consts, xs;
  std::vector<std::pair<size_t, size_t>>
      stacked;  // places in xs, and the result of the first scan that is it
  size_t extra = results;
  for (int residual : parts.residuals) {
    Value inside = residual >= 0 ? known.inputs()[static_cast<size_t>(residual)] : known.outputs()[extra++];
    auto argument = static_cast<size_t>(residual);
    bool is_const = residual >= 0 && argument < loop.consts;
    bool is_slice = residual >= 0 && argument >= loop.consts + loop.carried;
    if (is_const || (residual < 0 && hoist.fixed(inside))) {
      places.push_back({true, consts.size()});
      consts.push_back(is_const ? c.operands[argument] : hoist.outside(inside));
    } else {
      places.push_back({false, xs.size()});
      if (is_slice) {
        xs.push_back(c.operands[argument]);
      } else {
        auto stack = std::find(given.begin() + static_cast<int64_t>(loop.carried), given.end(), inside);
        stacked.emplace_back(xs.size(), static_cast<size_t>(stack - given.begin()));
        xs.push_back(nullptr);
        if (stack == given.end()) given.push_back(inside);
      }
    }
  }
  size_t kept = consts.size(), over = xs.size();
  known.body().set_results(given);
  Dim trips = trips_of(c.node);
  bool reverse = c.node->attrs().get(kReverse);
  std::span<const Value> carry = c.operands.subspan(loop.consts, loop.carried);
  Node* first = build_loop(c.build, op_of(c.node),
                           {list(c.operands.subspan(0, loop.consts)), list(carry),
                            list(c.operands.subspan(loop.consts + loop.carried))},
                           scan_attrs(trips, reverse), graphs(std::move(parts.known)));
  c.replaced = list(first->results().subspan(0, results));
  for (auto [place, result] : stacked) xs[place] = first->result(result);

  size_t dc = count(loop.const_moves), dk = count(loop.carry_moves), dx = count(loop.xs_moves);
  Order from_const(kept), from_xs(over);
  for (size_t i = 0; i < places.size(); ++i) (places[i].fixed ? from_const : from_xs)[places[i].at] = i;
  size_t r = places.size();
  Order inputs = from_const + range(r, dc) + range(r + dc, dk) + from_xs + range(r + dc + dk, dx);
  append(consts, present(c.tangents.subspan(0, loop.consts)));
  append(xs, present(c.tangents.subspan(loop.consts + loop.carried)));
  std::vector<Value> carries =
      instantiated(c.build, c.tangents.subspan(loop.consts, loop.carried), carry, loop.carry_moves);
  Node* second =
      build_loop(c.build, op_of(c.node), {consts, carries, xs}, scan_attrs(trips, reverse),
                 graphs(reordered(*parts.linear, inputs, range(0, parts.linear->outputs().size()))));
  return scattered(second->results(), loop.results);
}

}  // namespace

std::vector<Value> jvp_scan(JvpContext& c) {
  Loop loop(c, 0, true);
  if (count(loop.results) == 0) return std::vector<Value>(c.results.size(), nullptr);
  return c.split ? push_scan_split(c, loop) : push_scan(c, loop);
}

namespace {

// Which arguments of a body depend on the linear operands: those, and what they reach in further steps.
std::vector<bool> reached(const Block& body, std::vector<bool> linear, size_t consts, size_t carried) {
  for (bool grown = true; grown;) {
    grown = false;
    std::unordered_set<Value> moves;
    for (size_t i = 0; i < linear.size(); ++i)
      if (linear[i]) moves.insert(body.arg(i));
    for (const Node* node : body)
      if (std::any_of(node->operands().begin(), node->operands().end(),
                      [&](Value v) { return moves.contains(v); }))
        moves.insert(node->results().begin(), node->results().end());
    for (size_t i = 0; i < carried; ++i)
      if (!linear[consts + i] && moves.contains(body.results()[i])) linear[consts + i] = grown = true;
  }
  return linear;
}

std::unique_ptr<Graph> copy_of(const Block& block) {
  auto out = std::make_unique<Graph>(block.graph().name);
  out->dims = block.graph().dims;
  std::vector<Value> args;
  for (Value arg : block.args()) args.push_back(out->body().add_arg(arg->type(), arg->name()));
  out->body().set_results(out->inline_block(block, out->body(), args));
  return out;
}

void drop_unused(Block& block) {
  for (Node* node = block.last(); node;) {
    Node* before = node->previous();
    if (node != block.terminator() && !node->has_uses()) block.graph().erase(node);
    node = before;
  }
}

// The part of a body that does not depend on the linear arguments: from the others to the carried values
// among them, in order.
std::unique_ptr<Graph> known_part(const Block& body, const std::vector<bool>& linear, size_t consts,
                                  size_t carried, bool stack) {
  std::unique_ptr<Graph> graph = copy_of(body);
  strip_effects(*graph);  // it runs more often than the loop
  std::vector<Value> results;
  for (size_t i = 0; i < carried; ++i)
    if (!linear[consts + i]) results.push_back(graph->outputs()[i]);
  if (stack)
    for (size_t i = 0; i < carried; ++i)
      if (!linear[consts + i]) results.push_back(graph->inputs()[consts + i]);
  graph->body().set_results(results);
  drop_unused(graph->body());
  for (size_t i = linear.size(); i-- > 0;)
    if (linear[i]) graph->body().erase_arg(i);
  return graph;
}

}  // namespace

std::vector<Value> transpose_scan(TransposeContext& c) {
  const Block& body = c.node->region(0);
  size_t consts = c.node->segments()[0], carried = c.node->segments()[1], n = c.operands.size();
  Dim trips = trips_of(c.node);
  bool reverse = c.node->attrs().get(kReverse);
  const Op& op = op_of(c.node);
  std::vector<bool> linear = reached(body, {c.linear.begin(), c.linear.end()}, consts, carried);
  std::vector<bool> const_linear(linear.begin(), linear.begin() + static_cast<int64_t>(consts));
  std::vector<bool> carry_linear(linear.begin() + static_cast<int64_t>(consts),
                                 linear.begin() + static_cast<int64_t>(consts + carried));
  std::vector<bool> xs_linear(linear.begin() + static_cast<int64_t>(consts + carried), linear.end());
  std::vector<Value> known_consts, known_xs;
  for (size_t i : positions(const_linear, false)) known_consts.push_back(c.operands[i]);
  for (size_t i : positions(xs_linear, false, consts + carried)) known_xs.push_back(c.operands[i]);
  // Carried values that are known (a counter) are computed by a scan of their own, and scanned over.
  Order known_carry = positions(carry_linear, false, consts);
  std::vector<Value> stacked;
  if (!known_carry.empty()) {
    std::vector<Value> start;
    for (size_t i : known_carry) start.push_back(c.operands[i]);
    Node* node = build_loop(c.build, op, {known_consts, start, known_xs}, scan_attrs(trips, reverse),
                            graphs(known_part(body, linear, consts, carried, true)));
    stacked = list(node->results().subspan(known_carry.size()));
  }
  std::vector<bool> given(body.results().size(), false);
  for (size_t i = 0; i < given.size(); ++i)
    given[i] = i < carried ? static_cast<bool>(carry_linear[i]) : c.cotangents[i] != nullptr;
  auto mask = std::make_unique<bool[]>(n);
  for (size_t i = 0; i < n; ++i) mask[i] = linear[i];
  std::unique_ptr<Graph> back = c.regions->transpose(body, {mask.get(), n}, given);
  strip_effects(*back);

  // back: known consts, known carry, known xs, cotangents of carry, of ys -> of consts, carry, xs.
  size_t kc = known_consts.size(), kk = known_carry.size(), kx = known_xs.size();
  size_t lc = consts - kc, lk = carried - kk, lx = linear.size() - consts - carried - kx;
  size_t dy = count(given) - lk;
  auto step = std::make_unique<Graph>(back->name);
  step->dims = back->dims;
  auto take = [&](const std::vector<Type>& types) {
    std::vector<Value> out;
    for (const Type& type : types) out.push_back(step->body().add_arg(type));
    return out;
  };
  auto types = [](std::span<const Value> values) {
    std::vector<Type> out;
    for (Value v : values) out.push_back(v->type());
    return out;
  };
  std::span<const Value> in = back->inputs(), out = back->outputs();
  std::vector<Value> a_consts = take(types(in.subspan(0, kc)));
  std::vector<Value> sums = take(types(out.subspan(0, lc)));
  std::vector<Value> ct_carry = take(types(in.subspan(kc + kk + kx, lk)));
  std::vector<Value> a_carry = take(types(in.subspan(kc, kk)));
  std::vector<Value> a_xs = take(types(in.subspan(kc + kk, kx)));
  std::vector<Value> ct_ys = take(types(in.subspan(kc + kk + kx + lk, dy)));
  std::vector<Value> arguments = a_consts;
  append(arguments, a_carry);
  append(arguments, a_xs);
  append(arguments, ct_carry);
  append(arguments, ct_ys);
  std::vector<Value> inner = step->inline_block(back->body(), step->body(), arguments);
  Builder build(step->body());
  for (size_t i = 0; i < lc; ++i) inner[i] = tools::sum_of(build, sums[i], inner[i]);
  step->body().set_results(inner);

  std::vector<Value> carries, xs = stacked;
  for (size_t i : positions(const_linear, true))
    carries.push_back(c.build.full(c.node->operand(i)->type(), 0));
  for (size_t i : positions(carry_linear, true))
    carries.push_back(c.cotangents[i] ? c.cotangents[i] : c.build.full(c.node->result(i)->type(), 0));
  append(xs, known_xs);
  append(xs, present(c.cotangents.subspan(carried)));
  Node* node = build_loop(c.build, op, {known_consts, carries, xs}, scan_attrs(trips, !reverse),
                          graphs(std::move(step)));
  std::vector<Value> all = scattered(node->results(), linear);
  IG_CHECK(node->results().size() == lc + lk + lx, "the transpose of a scan gives {} values",
           node->results().size());
  for (size_t i = 0; i < n; ++i)
    if (!c.linear[i]) all[i] = nullptr;  // known itself, though what becomes of it is not
  return all;
}

// --- while
// --------------------------------------------------------------------------------------------------

std::vector<Value> jvp_while(JvpContext& c) {
  Loop loop(c, 1, false);
  if (count(loop.carry_moves) == 0) return std::vector<Value>(c.results.size(), nullptr);
  size_t n = c.operands.size(), dc = count(loop.const_moves), dk = count(loop.carry_moves);
  std::unique_ptr<Graph> body = c.regions->jvp(c.node->region(1), loop.arguments(), loop.results, c.split);
  if (c.split) strip_effects(*body);  // the loop of values alone has them
  Order inputs = range(0, loop.consts) + range(n, dc) + range(loop.consts, loop.carried) + range(n + dc, dk);
  std::unique_ptr<Graph> step = reordered(*body, inputs, range(0, loop.carried + dk));
  auto test = std::make_unique<Graph>(body->name);
  test->dims = body->dims;
  std::vector<Value> args, own;
  for (Value v : step->inputs()) args.push_back(test->body().add_arg(v->type()));
  append(own, std::span<const Value>(args).subspan(0, loop.consts));
  append(own, std::span<const Value>(args).subspan(loop.consts + dc, loop.carried));
  test->body().set_results(test->inline_block(c.node->region(0), test->body(), own));
  if (c.split) strip_effects(*test);
  std::vector<Value> consts = list(c.operands.subspan(0, loop.consts));
  append(consts, present(c.tangents.subspan(0, loop.consts)));
  std::span<const Value> carry = c.operands.subspan(loop.consts);
  std::vector<Value> carries = list(carry);
  append(carries, instantiated(c.build, c.tangents.subspan(loop.consts), carry, loop.carry_moves));
  Node* node = build_loop(c.build, op_of(c.node), {consts, carries}, c.node->attrs(),
                          graphs(std::move(test), std::move(step)));
  // In reverse mode the loop of values alone stays too: this one is transposed, and goes.
  if (!c.split) c.replaced = list(node->results().subspan(0, loop.carried));
  return scattered(node->results().subspan(loop.carried), loop.carry_moves);
}

namespace {

constexpr int64_t kKept = 64;  // carries that are kept, at each of two levels

// Writes a loop of the transpose: regions are graphs of their own whose arguments are the loop's.
class Steps {
 public:
  Steps(TransposeContext& c, std::vector<Value> consts, const Graph& test, const Graph& step)
      : build_(c.build), op_(op_of(c.node)), consts_(std::move(consts)), test_(test), step_(step) {}

  using Body = std::function<std::vector<Value>(Builder&, std::span<const Value> consts,
                                                std::span<const Value> carry)>;
  // while (test) carry = body(carry), on values of `build`'s block.
  std::vector<Value> loop(Builder& build, const std::vector<Value>& consts, const std::vector<Value>& carry,
                          const Body& test, const Body& body) const {
    auto region = [&](const Body& what) {
      auto graph = std::make_unique<Graph>("loop");
      graph->dims = build.graph().dims;
      std::vector<Value> args;
      for (Value v : consts) args.push_back(graph->body().add_arg(v->type()));
      for (Value v : carry) args.push_back(graph->body().add_arg(v->type()));
      Builder inner(graph->body());
      std::span<const Value> all = args;
      graph->body().set_results(what(inner, all.subspan(0, consts.size()), all.subspan(consts.size())));
      return graph;
    };
    Node* node = build_loop(build, op_, {consts, carry}, {}, graphs(region(test), region(body)));
    return list(node->results());
  }

  Builder& build() const { return build_; }
  const std::vector<Value>& consts() const { return consts_; }

  // One step of what is known, and whether there is another.
  std::vector<Value> step(Builder& b, std::span<const Value> consts, std::span<const Value> carry) const {
    std::vector<Value> args = list(consts);
    append(args, carry);
    return b.graph().inline_block(step_.body(), b.block(), args);
  }
  std::vector<Value> test(Builder& b, std::span<const Value> consts, std::span<const Value> carry) const {
    std::vector<Value> args = list(consts);
    append(args, carry);
    return b.graph().inline_block(test_.body(), b.block(), args);
  }

  // `steps` steps from `start` (values of b's block).
  std::vector<Value> advance(Builder& b, std::span<const Value> consts, const std::vector<Value>& start,
                             Value steps) const {
    std::vector<Value> all = list(consts), carry{whole(b, 0)};
    all.push_back(steps);
    append(carry, start);
    std::vector<Value> out = loop(
        b, all, carry,
        [](Builder& in, std::span<const Value> k, std::span<const Value> v) {
          return std::vector<Value>{in("less", {v[0], k.back()})};
        },
        [this](Builder& in, std::span<const Value> k, std::span<const Value> v) {
          std::vector<Value> next{in("add", {v[0], whole(in, 1)})};
          append(next, step(in, k.subspan(0, k.size() - 1), v.subspan(1)));
          return next;
        });
    return list(std::span<const Value>(out).subspan(1));
  }

  // The carries after 0, stride, 2 stride, … of `steps` steps from `start`: arrays of kKept + 1 rows, the
  // last one for the steps between.
  std::vector<Value> keep(Builder& b, std::span<const Value> consts, const std::vector<Value>& start,
                          Value steps, Value stride) const {
    std::vector<Value> all = list(consts), carry{whole(b, 0)};
    all.push_back(steps);
    all.push_back(stride);
    append(carry, start);
    for (Value v : start) {
      Dims dims = v->type().dims;
      dims.insert(dims.begin(), Dim(kKept + 1));
      carry.push_back(zeros(b, Type::tensor(v->type().dtype, dims)));
    }
    size_t n = start.size();
    std::vector<Value> out = loop(
        b, all, carry,
        [](Builder& in, std::span<const Value> k, std::span<const Value> v) {
          return std::vector<Value>{in("less", {v[0], k[k.size() - 2]})};
        },
        [this, n](Builder& in, std::span<const Value> k, std::span<const Value> v) {
          Value every = k.back(), slot = in("divide", {v[0], every});
          Value on = in("equal", {in("multiply", {slot, every}), v[0]});
          Value row = in("select", {on, slot, whole(in, kKept)});
          std::vector<Value> next{in("add", {v[0], whole(in, 1)})};
          append(next, step(in, k.subspan(0, k.size() - 2), v.subspan(1, n)));
          for (size_t i = 0; i < n; ++i) next.push_back(put(in, v[1 + n + i], v[1 + i], row));
          return next;
        });
    return list(std::span<const Value>(out).subspan(1 + n));
  }

  static Value whole(Builder& b, int64_t value) {
    return b.constant(Literal::scalar(DType::I64, static_cast<double>(value)));
  }
  static Value zeros(Builder& b, const Type& type) {
    return b.broadcast(b.constant(Literal::allocate(type.dtype, {})), type.dims, {});
  }
  static Value put(Builder& b, Value rows, Value row, Value at) {
    Dims dims = row->type().dims;
    dims.insert(dims.begin(), Dim(1));
    std::vector<Value> operands{rows, b.reshape(row, dims), at};
    for (size_t i = 1; i < dims.size(); ++i) operands.push_back(whole(b, 0));
    return b("dynamic_update_slice", operands);
  }
  static Value get(Builder& b, Value rows, Value at) {
    Dims dims = rows->type().dims, one = dims;
    one[0] = 1;
    std::vector<Value> operands{rows, at};
    for (size_t i = 1; i < dims.size(); ++i) operands.push_back(whole(b, 0));
    Value row = b("dynamic_slice", operands, {{"slice_sizes", one}});
    dims.erase(dims.begin());
    return b.reshape(row, dims);
  }
  static std::vector<Value> rows(Builder& b, std::span<const Value> kept, Value at) {
    std::vector<Value> out;
    for (Value v : kept) out.push_back(get(b, v, at));
    return out;
  }
  // ceil(steps / kKept), and at least 1.
  static Value stride_of(Builder& b, Value steps) {
    Value up = b("add", {steps, whole(b, kKept - 1)});
    return b("maximum", {b("divide", {up, whole(b, kKept)}), whole(b, 1)});
  }

 private:
  Builder& build_;
  const Op& op_;
  std::vector<Value> consts_;
  const Graph &test_, &step_;
};

}  // namespace

std::vector<Value> transpose_while(TransposeContext& c) {
  const Block &condition = c.node->region(0), &body = c.node->region(1);
  size_t consts = c.node->segments()[0], carried = c.node->segments()[1], n = c.operands.size();
  std::vector<bool> linear = reached(body, {c.linear.begin(), c.linear.end()}, consts, carried);
  std::vector<Value> known_consts, start;
  for (size_t i = 0; i < n; ++i)
    if (!linear[i]) (i < consts ? known_consts : start).push_back(c.operands[i]);
  size_t kc = known_consts.size(), kk = start.size();
  std::unique_ptr<Graph> step = known_part(body, linear, consts, carried, false);
  std::unique_ptr<Graph> test = copy_of(condition);
  strip_effects(*test);
  for (size_t i = n; i-- > 0;) {
    if (!linear[i]) continue;
    if (!test->inputs()[i]->uses().empty())
      throw make_error(ErrorKind::Unsupported, "{}: its condition reads what the loop must be linear in",
                       c.node->op().name())
          .at(c.node->location().str())
          .why("how often a loop runs must not depend on what it is transposed by")
          .hint("take the condition's operands from ig.stop_gradient, or from other values");
    test->body().erase_arg(i);
  }
  std::vector<bool> given(body.results().size());
  for (size_t i = 0; i < carried; ++i) given[i] = linear[consts + i];
  auto mask = std::make_unique<bool[]>(n);
  for (size_t i = 0; i < n; ++i) mask[i] = linear[i];
  std::unique_ptr<Graph> back = c.regions->transpose(body, {mask.get(), n}, given);
  strip_effects(*back);
  size_t lc = consts - kc, lk = carried - kk;

  Steps steps(c, known_consts, *test, *step);
  Builder& b = c.build;
  // How many steps there are.
  std::vector<Value> counted{Steps::whole(b, 0)};
  append(counted, start);
  Value total = steps.loop(
      b, known_consts, counted,
      [&](Builder& in, std::span<const Value> k, std::span<const Value> v) {
        return steps.test(in, k, v.subspan(1));
      },
      [&](Builder& in, std::span<const Value> k, std::span<const Value> v) {
        std::vector<Value> next{in("add", {v[0], Steps::whole(in, 1)})};
        append(next, steps.step(in, k, v.subspan(1)));
        return next;
      })[0];
  Value stride = Steps::stride_of(b, total);
  std::vector<Value> kept = steps.keep(b, known_consts, start, total, stride);

  // Backwards through the pieces: carried are where the piece ends, and the cotangents (of consts, of carry).
  std::vector<Value> outer_consts = known_consts, outer{total};
  outer_consts.push_back(stride);
  append(outer_consts, kept);
  for (size_t i = 0; i < consts; ++i)
    if (linear[i]) outer.push_back(b.full(c.node->operand(i)->type(), 0));
  for (size_t i = 0; i < carried; ++i)
    if (given[i]) outer.push_back(c.cotangents[i] ? c.cotangents[i] : b.full(c.node->result(i)->type(), 0));
  auto goes_on = [](Builder& in, std::span<const Value>, std::span<const Value> v) {
    return std::vector<Value>{in("less", {Steps::whole(in, 0), v[0]})};
  };
  std::vector<Value> done = steps.loop(
      b, outer_consts, outer, goes_on, [&](Builder& in, std::span<const Value> k, std::span<const Value> v) {
        std::span<const Value> known = k.subspan(0, kc);
        Value every = k[kc], one = Steps::whole(in, 1);
        Value piece = in("divide", {in("subtract", {v[0], one}), every});
        Value begin = in("multiply", {piece, every}), length = in("subtract", {v[0], begin});
        std::vector<Value> from = Steps::rows(in, k.subspan(kc + 1), piece);
        Value inner_stride = Steps::stride_of(in, length);
        std::vector<Value> inner_consts = list(known), inner{length};
        inner_consts.push_back(inner_stride);
        append(inner_consts, steps.keep(in, known, from, length, inner_stride));
        append(inner, v.subspan(1));
        std::vector<Value> out =
            steps.loop(in, inner_consts, inner, goes_on,
                       [&](Builder& at, std::span<const Value> q, std::span<const Value> w) {
                         std::span<const Value> fixed = q.subspan(0, kc);
                         Value here = at("subtract", {w[0], Steps::whole(at, 1)});
                         Value row = at("divide", {here, q[kc]});
                         Value rest = at("subtract", {here, at("multiply", {row, q[kc]})});
                         std::vector<Value> carry =
                             steps.advance(at, fixed, Steps::rows(at, q.subspan(kc + 1), row), rest);
                         std::vector<Value> args = list(fixed);
                         append(args, carry);
                         append(args, w.subspan(1 + lc, lk));
                         std::vector<Value> cts = at.graph().inline_block(back->body(), at.block(), args);
                         for (size_t i = 0; i < lc; ++i) cts[i] = tools::sum_of(at, w[1 + i], cts[i]);
                         std::vector<Value> next{here};
                         append(next, cts);
                         return next;
                       });
        out[0] = begin;
        return out;
      });
  std::vector<Value> all = scattered(std::span<const Value>(done).subspan(1), linear);
  for (size_t i = 0; i < n; ++i)
    if (!c.linear[i]) all[i] = nullptr;
  return all;
}

}  // namespace ig::ops
