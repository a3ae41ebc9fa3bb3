// Derivatives of branches and calls. In forward mode a node is replaced by one that computes values and
// tangents together. In reverse mode it comes as two: one that gives residuals beside its results, and one
// that is linear in the tangents, which is what gets transposed.
#include "ops/families/control_rules.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ops/control_attrs.h"
#include "ops/effects.h"
#include "ops/open.h"
#include "ops/saved_values.h"
#include "ops/table.h"

namespace ig::ops {
namespace control {

std::unique_ptr<Graph> reordered(const Graph& graph, const Order& inputs, const Order& results) {
  auto out = std::make_unique<Graph>(graph.name);
  out->dims = graph.dims;
  std::vector<Value> stand_ins(graph.inputs().size(), nullptr);
  for (size_t i : inputs)
    stand_ins[i] = out->body().add_arg(graph.inputs()[i]->type(), graph.inputs()[i]->name());
  std::vector<Value> given = out->inline_block(graph.body(), out->body(), stand_ins), kept;
  for (size_t i : results) kept.push_back(given[i]);
  out->body().set_results(std::move(kept));
  return out;
}

Order range(size_t begin, size_t count) {
  Order out;
  for (size_t i = 0; i < count; ++i) out.push_back(begin + i);
  return out;
}

Order operator+(Order a, const Order& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<bool> set(std::span<const Value> values) {
  std::vector<bool> out;
  for (Value v : values) out.push_back(v != nullptr);
  return out;
}

std::vector<Value> present(std::span<const Value> values) {
  std::vector<Value> out;
  for (Value v : values)
    if (v) out.push_back(v);
  return out;
}

std::vector<Value> instantiated(Builder& build, std::span<const Value> values, std::span<const Value> like,
                                const std::vector<bool>& wanted) {
  std::vector<Value> out;
  for (size_t i = 0; i < values.size(); ++i)
    if (wanted[i]) out.push_back(values[i] ? values[i] : tools::zeros_like(build, like[i]));
  return out;
}

std::vector<Value> scattered(std::span<const Value> values, const std::vector<bool>& which) {
  std::vector<Value> out;
  size_t next = 0;
  for (bool one : which) out.push_back(one ? values[next++] : nullptr);
  return out;
}

}  // namespace control

namespace {

using namespace control;

// Which results of any branch move.
std::vector<bool> moving_of_any(JvpContext& c, const std::vector<bool>& moves) {
  std::vector<bool> out(c.results.size(), false);
  for (const auto& region : c.node->regions()) {
    std::vector<bool> own = c.regions->moving(*region, moves);
    for (size_t i = 0; i < out.size(); ++i) out[i] = out[i] || own[i];
  }
  return out;
}

std::vector<Value> push_together(JvpContext& c, const std::vector<bool>& moves,
                                 const std::vector<bool>& out) {
  std::vector<std::unique_ptr<Graph>> graphs;
  for (const auto& region : c.node->regions()) graphs.push_back(c.regions->jvp(*region, moves, out));
  std::vector<Value> operands(c.operands.begin(), c.operands.end());
  for (Value t : present(c.tangents.subspan(1))) operands.push_back(t);
  Node* node = c.build.node(op_of(c.node), operands, c.node->attrs(), {}, std::move(graphs));
  c.replaced.assign(node->results().begin(),
                    node->results().begin() + static_cast<int64_t>(c.results.size()));
  return scattered(node->results().subspan(c.results.size()), out);
}

// Residuals of the branches share their places: a place serves one value of its type of each branch.
struct Places {
  std::vector<Type> types;
  std::vector<std::vector<int>> of;  // branch, extra result -> place

  void add(const std::vector<Type>& extras) {
    std::vector<bool> taken(types.size(), false);
    of.emplace_back();
    for (const Type& type : extras) {
      size_t place = 0;
      while (place < types.size() && (taken[place] || !(types[place] == type))) ++place;
      if (place == types.size()) types.push_back(type), taken.push_back(false);
      taken[place] = true;
      of.back().push_back(static_cast<int>(place));
    }
  }
};

std::vector<Value> push_split(JvpContext& c, const std::vector<bool>& moves, const std::vector<bool>& out) {
  size_t results = c.results.size();
  std::vector<SplitRegion> parts;
  Places places;
  std::map<int, size_t> read;  // an argument that is a residual -> its place among those
  for (const auto& region : c.node->regions()) {
    parts.push_back(c.regions->split(*region, moves, out));
    std::vector<Type> extras;
    for (Value v : parts.back().known->outputs().subspan(results)) extras.push_back(v->type());
    places.add(extras);
    for (int residual : parts.back().residuals)
      if (residual >= 0) read.try_emplace(residual, read.size());
  }
  std::vector<std::unique_ptr<Graph>> known, linear;
  for (size_t b = 0; b < parts.size(); ++b) {
    Graph& graph = *parts[b].known;
    std::vector<Value> given(graph.outputs().begin(), graph.outputs().end()), placed(places.types.size());
    for (size_t i = 0; i < places.of[b].size(); ++i)
      placed[static_cast<size_t>(places.of[b][i])] = given[results + i];
    given.resize(results);
    Builder build(graph.body());
    for (size_t i = 0; i < placed.size(); ++i)
      given.push_back(placed[i] ? placed[i] : build.full(places.types[i], 0));
    graph.body().set_results(std::move(given));
    known.push_back(std::move(parts[b].known));

    auto second = std::make_unique<Graph>(graph.name);
    second->dims = c.build.graph().dims;
    std::vector<Value> place_args, read_args(read.size()), stand_ins;
    for (const Type& type : places.types) place_args.push_back(second->body().add_arg(type));
    std::vector<const Type*> read_types(read.size());
    for (const auto& [argument, at] : read)
      read_types[at] = &c.operands[1 + static_cast<size_t>(argument)]->type();
    for (size_t i = 0; i < read.size(); ++i) read_args[i] = second->body().add_arg(*read_types[i]);
    size_t extra = 0;
    for (int residual : parts[b].residuals)
      stand_ins.push_back(residual >= 0 ? read_args[read.at(residual)]
                                        : place_args[static_cast<size_t>(places.of[b][extra++])]);
    for (Value t : present(c.tangents.subspan(1))) stand_ins.push_back(second->body().add_arg(t->type()));
    second->body().set_results(second->inline_block(parts[b].linear->body(), second->body(), stand_ins));
    linear.push_back(std::move(second));
  }
  std::vector<Value> operands(c.operands.begin(), c.operands.end());
  Node* first = c.build.node(op_of(c.node), operands, c.node->attrs(), {}, std::move(known));
  c.replaced.assign(first->results().begin(), first->results().begin() + static_cast<int64_t>(results));
  std::vector<Value> linear_operands{c.operands[0]};
  for (Value v : first->results().subspan(results)) linear_operands.push_back(v);
  std::vector<Value> reads(read.size());
  for (const auto& [argument, at] : read) reads[at] = c.operands[1 + static_cast<size_t>(argument)];
  linear_operands.insert(linear_operands.end(), reads.begin(), reads.end());
  for (Value t : present(c.tangents.subspan(1))) linear_operands.push_back(t);
  Node* second = c.build.node(op_of(c.node), linear_operands, c.node->attrs(), {}, std::move(linear));
  return scattered(second->results(), out);
}

}  // namespace

std::vector<Value> jvp_branches(JvpContext& c) {
  std::vector<bool> moves = set(c.tangents.subspan(1));
  std::vector<bool> out = moving_of_any(c, moves);
  if (std::find(out.begin(), out.end(), true) == out.end())
    return std::vector<Value>(c.results.size(), nullptr);
  return c.split ? push_split(c, moves, out) : push_together(c, moves, out);
}

std::vector<Value> transpose_branches(TransposeContext& c) {
  std::vector<bool> given = set(c.cotangents);
  std::vector<std::unique_ptr<Graph>> graphs;
  for (const auto& region : c.node->regions())
    graphs.push_back(c.regions->transpose(*region, c.linear.subspan(1), given));
  std::vector<Value> operands = present(c.operands);
  for (Value ct : present(c.cotangents)) operands.push_back(ct);
  Node* node = c.build.node(op_of(c.node), operands, c.node->attrs(), {}, std::move(graphs));
  return scattered(node->results(), {c.linear.begin(), c.linear.end()});
}

std::vector<Value> jvp_call(JvpContext& c) {
  RegionTransforms::Pushed pushed = c.regions->inline_jvp(c.build, c.node->region(0), c.operands);
  c.replaced = pushed.primals;
  return pushed.tangents;
}

std::vector<Value> transpose_call(TransposeContext& c) {
  std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(c.regions->transpose(c.node->region(0), c.linear, set(c.cotangents)));
  std::vector<Value> operands = present(c.operands);
  for (Value ct : present(c.cotangents)) operands.push_back(ct);
  Node* node = c.build.node(op_of(c.node), operands, c.node->attrs(), {}, std::move(graphs));
  return scattered(node->results(), {c.linear.begin(), c.linear.end()});
}

namespace {

// Opens the composites that are differentiated by their bodies, so that a policy sees what is in them.
void open_composites(Graph& graph) {
  for (Node* node = graph.body().first(); node != graph.body().terminator();) {
    const Op& op = op_of(node);
    if (!op.has(Trait::Composite) || !op.rules.body || op.rules.jvp) {
      node = node->next();
      continue;
    }
    node = open_in_place(node);
  }
}

bool names_it(std::string_view names, const std::string& name) {
  while (!names.empty()) {
    size_t comma = std::min(names.find(','), names.size());
    if (names.substr(0, comma) == name) return true;
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return false;
}

// Which values of the body the policy keeps.
std::vector<Value> saved_by(const std::string& policy, const Graph& graph) {
  static constexpr std::string_view kOnly = "names:", kAllBut = "all_but:";
  std::string_view text = policy;
  auto named = [](const Node* node, std::string_view names) {
    return node->op() == OpId::of("checkpoint_name") && names_it(names, node->attrs().get(kValueName));
  };
  auto keeps = [&](const Node* node) {
    if (text.starts_with(kOnly)) return named(node, text.substr(kOnly.size()));
    if (text.starts_with(kAllBut)) {
      // Neither what has such a name, nor the same under no name.
      std::string_view names = text.substr(kAllBut.size());
      auto other = [&](Value v) {
        return std::any_of(v->uses().begin(), v->uses().end(),
                           [&](const Use& use) { return !named(use.user, names); });
      };
      return !named(node, names) && std::any_of(node->results().begin(), node->results().end(), other);
    }
    if (text == "everything") return true;
    if (text == "nothing" || !has(node, Trait::Contraction)) return false;
    const AttrValue* batch = node->attrs().find("lhs_batching_dimensions");
    return text == "dots" || !batch || std::get<Ints>(*batch).empty();
  };
  std::vector<Value> out;
  for (const Node* node : graph.body()) {
    if (node == graph.body().terminator()) break;
    if (has(node, Trait::Constant) || !keeps(node)) continue;
    for (Value v : node->results())
      if (v->type().is_tensor() && !v->uses().empty()) out.push_back(v);
  }
  return out;
}

void drop_dead(Block& block) {
  for (Node* node = block.last(); node;) {
    Node* before = node->previous();
    if (node != block.terminator() && !node->has_uses() && !has_effects(node)) block.graph().erase(node);
    node = before;
  }
}

constexpr std::string_view kBudget = "budget:";

// The derivative as two nodes: `first` gives the results, and what is kept behind them; `second` takes that
// behind the tangents, and gives the tangents in `out`. Without a first the node itself gives the results.
std::vector<Value> push_in_two(JvpContext& c, const std::vector<bool>& out, std::unique_ptr<Graph> first,
                               std::unique_ptr<Graph> second) {
  size_t results = c.results.size();
  std::vector<Value> operands(c.operands.begin(), c.operands.end());
  for (Value t : present(c.tangents)) operands.push_back(t);
  std::vector<std::unique_ptr<Graph>> graphs;
  if (first) {
    std::vector<Value> own(c.operands.begin(), c.operands.end());
    graphs.push_back(std::move(first));
    Node* node = c.build.node(op_of(c.node), own, c.node->attrs(), {}, std::move(graphs));
    c.replaced.assign(node->results().begin(), node->results().begin() + static_cast<int64_t>(results));
    std::span<const Value> saved = node->results().subspan(results);
    operands.insert(operands.end(), saved.begin(), saved.end());
    graphs.clear();
  }
  graphs.push_back(std::move(second));
  Node* node = c.build.node(op_of(c.node), operands, {}, {}, std::move(graphs));
  return scattered(node->results(), out);
}

// The values that a minimum cut keeps, among all that do not depend on the tangents.
std::vector<Value> push_within_budget(JvpContext& c, const std::vector<bool>& moves,
                                      const std::vector<bool>& out) {
  std::string_view text = std::string_view(c.node->attrs().get(kSaves)).substr(kBudget.size());
  size_t slash = text.find('/');
  double budget = std::stod(std::string(text.substr(0, slash)));
  std::string policy(slash == text.npos ? "everything" : text.substr(slash + 1));
  size_t results = c.results.size(), args = c.operands.size();
  std::unique_ptr<Graph> second = c.regions->jvp(c.node->region(0), moves, out, true);
  std::unordered_set<Value> moving(second->inputs().begin() + static_cast<int64_t>(args),
                                   second->inputs().end());
  std::unordered_set<const Node*> late;
  SavedQuestion question;
  std::unordered_set<Value> needed, allowed;
  for (Value v : saved_by(policy, *second)) allowed.insert(v);
  auto need = [&](Value v) {
    if (!moving.contains(v) && needed.insert(v).second) question.needed.push_back(v);
  };
  for (const Node* node : second->body()) {
    if (node == second->body().terminator()) break;
    if (std::none_of(node->operands().begin(), node->operands().end(),
                     [&](Value v) { return moving.contains(v); }))
      continue;
    late.insert(node);
    moving.insert(node->results().begin(), node->results().end());
    for (Value v : node->operands()) need(v);
  }
  for (Value v : second->outputs().subspan(results)) need(v);
  question.early = [&](const Node* node) { return !late.contains(node); };
  question.there_anyway = [](Value v) { return !v->node() || has(v->node(), Trait::Constant); };
  question.saveable = [&](Value v) { return allowed.contains(v); };
  SavedAnswer answer = choose_saved_within(second->dims, question, budget);

  size_t kept = answer.saved.size();
  std::vector<Value> all(second->outputs().begin(), second->outputs().end());
  std::vector<Value> tangents(all.begin() + static_cast<int64_t>(results), all.end());
  all.resize(results);
  all.insert(all.end(), answer.saved.begin(), answer.saved.end());
  all.insert(all.end(), tangents.begin(), tangents.end());
  second->body().set_results(all);
  std::unique_ptr<Graph> first = second->clone();
  first->body().set_results(
      {first->outputs().begin(), first->outputs().begin() + static_cast<int64_t>(results + kept)});
  drop_dead(first->body());
  for (size_t i = first->inputs().size(); i-- > args;) first->body().erase_arg(i);

  strip_effects(*second);  // the first has them
  all.assign(second->outputs().begin(), second->outputs().end());
  second->body().set_results({all.begin() + static_cast<int64_t>(results + kept), all.end()});
  for (size_t i = 0; i < kept; ++i) {
    Value value = all[results + i], given = second->body().add_arg(value->type(), value->name());
    value->replace_all_uses_with(given);
  }
  drop_dead(second->body());
  return push_in_two(c, out, std::move(first), std::move(second));
}

}  // namespace

// What is linear in the tangents computes anew, from the operands and what the policy keeps, all that it
// needs: nothing else is kept.
std::vector<Value> jvp_checkpoint(JvpContext& c) {
  const Block& body = c.node->region(0);
  std::vector<bool> moves = set(c.tangents), out = c.regions->moving(body, moves);
  if (std::find(out.begin(), out.end(), true) == out.end())
    return std::vector<Value>(c.results.size(), nullptr);
  size_t results = c.results.size();
  if (!c.split) {
    std::vector<Value> operands(c.operands.begin(), c.operands.end());
    for (Value t : present(c.tangents)) operands.push_back(t);
    std::vector<std::unique_ptr<Graph>> graphs;
    graphs.push_back(c.regions->jvp(body, moves, out));
    Node* node = c.build.node(op_of(c.node), operands, c.node->attrs(), {}, std::move(graphs));
    c.replaced.assign(node->results().begin(), node->results().begin() + static_cast<int64_t>(results));
    return scattered(node->results().subspan(results), out);
  }
  const std::string& policy = c.node->attrs().get(kSaves);
  if (std::string_view(policy).starts_with(kBudget)) return push_within_budget(c, moves, out);
  size_t kept = 0;
  std::unique_ptr<Graph> whole;  // the body, with what is kept behind its results
  if (policy != "nothing") {
    whole = std::make_unique<Graph>(c.build.graph().name);
    whole->dims = c.build.graph().dims;
    std::vector<Value> args;
    for (Value arg : body.args()) args.push_back(whole->body().add_arg(arg->type(), arg->name()));
    whole->body().set_results(whole->inline_block(body, whole->body(), args));
    open_composites(*whole);
    std::vector<Value> all(whole->outputs().begin(), whole->outputs().end());
    std::vector<Value> saved = saved_by(policy, *whole);
    kept = saved.size();
    all.insert(all.end(), saved.begin(), saved.end());
    whole->body().set_results(std::move(all));
  }
  std::vector<bool> wanted = out;
  wanted.resize(results + kept, false);
  std::unique_ptr<Graph> graph = c.regions->jvp(whole ? whole->body() : body, moves, wanted, true);
  strip_effects(*graph);  // the node itself stays too, and has them
  std::vector<Value> all(graph->outputs().begin(), graph->outputs().end());
  graph->body().set_results(
      std::vector<Value>(all.begin() + static_cast<int64_t>(results + kept), all.end()));
  for (size_t i = 0; i < kept; ++i) {
    Value value = all[results + i], given = graph->body().add_arg(value->type(), value->name());
    value->replace_all_uses_with(given);
  }
  drop_dead(graph->body());
  return push_in_two(c, out, std::move(whole), std::move(graph));
}

}  // namespace ig::ops
