// Making recipes, and running them.
#include "frontends/tape/recipe.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "ir/copy.h"
#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/effects.h"
#include "ops/host_call.h"
#include "ops/masks.h"
#include "support/hash.h"
#include "tensor/eager.h"
#include "tensor/numbers.h"
#include "transforms/edit.h"
#include "transforms/transforms.h"

namespace ig::tape {
namespace {

using transforms::has_tangent;

// Recipes hold graphs and constants, so they are kept up to a number, and then made anew.
constexpr size_t kMostRecipes = 8192;

// The sizes of a capture, which answers what is asked of them.
void take_dims(Graph& graph, const Capture& capture) { graph.dims = capture.graph().dims; }

// The op as a graph on these operands, which broadcast as the public function lets them.
std::unique_ptr<Graph> graph_of(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                const Capture* capture = nullptr) {
  auto graph = std::make_unique<Graph>(op.decl.name);
  if (capture) take_dims(*graph, *capture);
  std::vector<Value> values;
  Dims shape;
  bool elementwise = op.has(ops::Trait::Elementwise);
  for (const Tensor& operand : operands) {
    values.push_back(graph->body().add_arg(operand.type()));
    if (elementwise) shape = ops::broadcast_shapes(shape, operand.type().dims, graph->dims, op.public_name());
  }
  ops::Builder build(graph->body());
  if (elementwise)
    for (Value& value : values) value = build.broadcast_to(value, shape);
  Node* node = build.node(op, values, attrs);
  graph->body().set_results({node->results().begin(), node->results().end()});
  return graph;
}

}  // namespace

// Those with a way to an operand that moves. A node with regions is taken to lead from all of its operands to
// all of its results.
transforms::Mask reached(const Graph& graph, const std::vector<bool>& moves) {
  std::unordered_set<Value> moving;
  for (size_t i = 0; i < moves.size(); ++i)
    if (moves[i] && has_tangent(graph.inputs()[i]->type())) moving.insert(graph.inputs()[i]);
  for (const Node* node : graph.body()) {
    if (node == graph.body().terminator() || ops::op_of(node).has(ops::Trait::Detached)) continue;
    std::span<const Value> operands = node->operands();
    if (std::none_of(operands.begin(), operands.end(), [&](Value x) { return moving.contains(x); })) continue;
    for (Value result : node->results())
      if (has_tangent(result->type())) moving.insert(result);
  }
  transforms::Mask out;
  for (Value output : graph.outputs()) out.push_back(moving.contains(output));
  return out;
}

namespace {

// From operands, results and cotangents to the cotangents of the operands that move. The forward part is
// copied as far as the backward part needs it, and takes the results as they were.
std::unique_ptr<Graph> join(const Graph& forward, const std::vector<bool>& moves, Recipe& recipe) {
  transforms::Mask given = reached(forward, moves);
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i]) recipe.given.push_back(static_cast<int>(i));
  ops::SplitRegion parts = transforms::vjp(forward, moves, given, /*together=*/true);
  auto graph = std::make_unique<Graph>("backward_" + forward.name);
  graph->dims = forward.dims;
  std::unordered_map<Value, Value> known, late;
  std::vector<Value> operands;
  for (Value input : parts.known->inputs()) {
    operands.push_back(graph->body().add_arg(input->type()));
    known[input] = operands.back();
  }
  std::unordered_map<Value, Value> results;
  for (size_t i = 0; i < forward.outputs().size(); ++i) {
    Value value = parts.known->outputs()[i];
    results.emplace(value, graph->body().add_arg(value->type()));
  }
  for (const Node* node : parts.known->body()) {
    if (node == parts.known->body().terminator()) break;
    transforms::copy_node(node, graph->body(), known);
    for (Value value : node->results())
      if (auto saved = results.find(value); saved != results.end()) known[value] = saved->second;
  }
  size_t at = 0, extra = forward.outputs().size();
  std::span<const Value> inputs = parts.linear->inputs();
  for (int residual : parts.residuals)
    late[inputs[at++]] =
        residual >= 0 ? operands[static_cast<size_t>(residual)] : known.at(parts.known->outputs()[extra++]);
  for (; at < inputs.size(); ++at) late[inputs[at]] = graph->body().add_arg(inputs[at]->type());
  for (const Node* node : parts.linear->body()) {
    if (node == parts.linear->body().terminator()) break;
    transforms::copy_node(node, graph->body(), late);
  }
  std::vector<Value> out;
  for (Value value : parts.linear->outputs()) out.push_back(late.at(value));
  graph->body().set_results(out);
  ops::strip_effects(*graph);
  transforms::sweep(graph->body());
  return graph;
}

bool has_regions(const Graph& graph) {
  for (const Node* node : graph.body())
    if (!node->regions().empty()) return true;
  return false;
}

// Drops the operands and results that the way back does not read.
void keep_needed(Graph& graph, Recipe& recipe, size_t forward_values) {
  for (size_t i = 0; i < forward_values; ++i)
    if (!graph.inputs()[i]->uses().empty()) recipe.saved.push_back(static_cast<int>(i));
  for (size_t i = forward_values; i-- > 0;)
    if (graph.inputs()[i]->uses().empty()) graph.body().erase_arg(i);
}

// The graph as steps. What depends on no input is computed here, once.
void flatten(const Graph& graph, Recipe& recipe) {
  std::unordered_map<Value, int> slots;
  auto slot = [&](Value value) {
    auto [at, fresh] = slots.try_emplace(value, static_cast<int>(recipe.constants.size()));
    if (fresh) recipe.constants.emplace_back();
    return at->second;
  };
  for (Value input : graph.inputs()) slot(input);
  for (const Node* node : graph.body()) {
    if (node == graph.body().terminator()) break;
    Recipe::Step step;
    step.op = &ops::op_of(node);
    step.attrs = node->attrs();
    bool fixed = true, same = true;
    for (Value operand : node->operands()) {
      step.in.push_back(slot(operand));
      fixed &= recipe.constants[static_cast<size_t>(step.in.back())].valid();
      same &= operand->type().dims == node->operand(0)->type().dims;
    }
    step.elementwise = same && !step.in.empty() && step.op->has(ops::Trait::Elementwise);
    for (Value result : node->results()) step.out.push_back(slot(result));
    if (!fixed) {
      recipe.steps.push_back(std::move(step));
      continue;
    }
    std::vector<Tensor> values;
    if (step.in.empty()) {
      for (const Literal& literal : ops::evaluate(*step.op, step.attrs, {}))
        values.push_back(Tensor::from(literal));
    } else {
      std::vector<Tensor> operands;
      operands.reserve(step.in.size());
      for (int in : step.in) operands.push_back(recipe.constants[static_cast<size_t>(in)]);
      values = eager::run(*step.op, operands, step.attrs);
    }
    for (size_t i = 0; i < values.size(); ++i)
      recipe.constants[static_cast<size_t>(step.out[i])] = std::move(values[i]);
  }
  for (Value output : graph.outputs()) {
    std::vector<ops::Mask> masks;
    recipe.outputs.push_back(slot(ops::without_masks(output, masks)));
    recipe.masks.emplace_back();
    for (const ops::Mask& mask : masks) recipe.masks.back().emplace_back(slot(mask.condition), mask.where);
  }
  std::vector<bool> needed(recipe.constants.size(), false);
  for (int output : recipe.outputs) needed[static_cast<size_t>(output)] = true;
  for (const auto& masks : recipe.masks)
    for (auto [condition, where] : masks) needed[static_cast<size_t>(condition)] = true;
  for (size_t i = recipe.steps.size(); i-- > 0;) {
    Recipe::Step& step = recipe.steps[i];
    if (std::none_of(step.out.begin(), step.out.end(),
                     [&](int out) { return needed[static_cast<size_t>(out)]; })) {
      recipe.steps.erase(recipe.steps.begin() + static_cast<std::ptrdiff_t>(i));  // a mask that was taken off
      continue;
    }
    for (int in : step.in) {
      auto at = static_cast<size_t>(in);
      if (!needed[at] && !recipe.constants[at].valid()) step.last.push_back(in);
      needed[at] = true;
    }
  }
}

}  // namespace

void bare_outputs(Graph& graph, Recipe& recipe) {
  std::vector<Value> all;
  auto place = [&](Value value) {
    all.push_back(value);
    return static_cast<int>(all.size()) - 1;
  };
  std::vector<Value> outputs(graph.outputs().begin(), graph.outputs().end());
  for (Value output : outputs) {
    std::vector<ops::Mask> masks;
    recipe.outputs.push_back(place(ops::without_masks(output, masks)));
    recipe.masks.emplace_back();
    for (const ops::Mask& mask : masks) recipe.masks.back().emplace_back(place(mask.condition), mask.where);
  }
  graph.body().set_results(all);
  transforms::sweep(graph.body());
}

bool is_elementwise(const ops::Op& op, const Recipe& recipe, std::span<const Tensor> operands) {
  if (!op.has(ops::Trait::Elementwise) || recipe.results.size() != 1) return false;
  for (size_t i = 0; i < recipe.moves.size(); ++i)  // of one that is repeated the gradient is a sum
    if (recipe.moves[i] && !(operands[i].type().dims == recipe.results[0].dims)) return false;
  return true;
}

namespace {

template <typename Make>
std::shared_ptr<const Recipe> make_recipe(std::string name, const std::vector<bool>& moves, Make make) {
  auto recipe = std::make_shared<Recipe>();
  recipe->name = std::move(name);
  recipe->moves = moves;
  try {
    make(*recipe);
  } catch (const Error& error) {
    // Running forward is right; only who asks for the gradient is refused.
    recipe->failure = error;
    recipe->saved.clear();
  }
  return recipe;
}

class Known {
 public:
  std::shared_ptr<const Recipe> find(const Hash128& key) {
    std::lock_guard lock(mutex_);
    auto found = recipes_.find(key);
    return found == recipes_.end() ? nullptr : found->second;
  }
  void keep(const Hash128& key, std::shared_ptr<const Recipe> recipe,
            std::shared_ptr<const Graph> graph = nullptr) {
    std::lock_guard lock(mutex_);
    if (recipes_.size() >= kMostRecipes) {
      recipes_.clear();
      graphs_.clear();
    }
    recipes_[key] = std::move(recipe);
    if (graph) graphs_.push_back(std::move(graph));
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Hash128, std::shared_ptr<const Recipe>> recipes_;
  std::vector<std::shared_ptr<const Graph>> graphs_;  // whose addresses are keys
};

Known& known() {
  static Known* the_known = new Known;  // never destroyed: arrays may be used while the process ends
  return *the_known;
}

template <typename T>
void add(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void add_types(std::string& bytes, std::span<const Tensor> operands, const std::vector<bool>& moves) {
  for (size_t i = 0; i < operands.size(); ++i) {
    add(bytes, operands[i].dtype());
    add(bytes, static_cast<char>(moves[i]));
    add(bytes, operands[i].rank());
    for (int64_t size : operands[i].shape()) add(bytes, size);
  }
}

}  // namespace

namespace {

std::vector<Tensor> run_program(const Recipe& recipe, const std::vector<Tensor>& inputs) {
  const GradLink* link = recording_link(inputs);
  if (!link) return numbers::run(*recipe.graph, inputs, [&] { return recipe.program->run(inputs); });
  std::vector<Tensor> plain;
  plain.reserve(inputs.size());
  for (const Tensor& input : inputs) plain.push_back(input.unlinked());
  std::vector<Tensor> out = numbers::run(*recipe.graph, plain, [&] { return recipe.program->run(plain); });
  link->record(recipe.graph, inputs, out);
  return out;
}

}  // namespace

std::vector<Gradient> Recipe::run(std::vector<Tensor> inputs) const {
  std::vector<Gradient> out;
  if (program) {
    for (Tensor& value : run_program(*this, inputs)) out.push_back({std::move(value), {}});
    return out;
  }
  std::vector<Tensor> slots = constants;
  for (size_t i = 0; i < inputs.size(); ++i) slots[i] = std::move(inputs[i]);
  std::vector<Tensor> operands;
  for (const Step& step : steps) {
    operands.clear();
    for (int in : step.in) operands.push_back(slots[static_cast<size_t>(in)]);
    for (int in : step.last) slots[static_cast<size_t>(in)] = Tensor();
    std::vector<Tensor> values =
        step.elementwise ? eager::run_elementwise(*step.op, operands, step.attrs, operands[0].shape())
                         : eager::run(*step.op, operands, step.attrs);
    for (size_t i = 0; i < values.size(); ++i) slots[static_cast<size_t>(step.out[i])] = std::move(values[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    out.push_back({slots[static_cast<size_t>(outputs[i])], {}});
    for (auto [condition, where] : masks[i])
      out.back().masks.push_back({slots[static_cast<size_t>(condition)], where});
  }
  return out;
}

std::vector<Gradient> Recipe::record(Capture& capture, std::span<const Tensor> inputs, Location where,
                                     Scope scope) const {
  std::vector<Tensor> values = capture.inline_graph(*graph, inputs, where, scope);
  std::vector<Gradient> out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    out.push_back({values[static_cast<size_t>(outputs[i])], {}});
    for (auto [condition, holds] : masks[i])
      out.back().masks.push_back({values[static_cast<size_t>(condition)], holds});
  }
  return out;
}

std::unique_ptr<Graph> graph_of_node(const Capture& capture, const ig::Node& node) {
  auto graph = std::make_unique<Graph>(ops::op_of(&node).decl.name);
  take_dims(*graph, capture);
  std::vector<Value> operands;
  for (Value operand : node.operands()) operands.push_back(graph->body().add_arg(operand->type()));
  ig::Node* copy = copy_node(&node, graph->body(), std::move(operands));
  graph->body().set_results({copy->results().begin(), copy->results().end()});
  return graph;
}

std::shared_ptr<const Recipe> recorded_recipe_of(const Capture& capture, const ops::Op& op,
                                                 std::span<const Tensor> operands, const Attrs& attrs,
                                                 const Graph* whole, const std::vector<bool>& moves) {
  auto make = [&] {
    return make_recipe(op.decl.name, moves, [&](Recipe& out) {
      std::unique_ptr<Graph> forward = whole ? whole->clone() : graph_of(op, operands, attrs, &capture);
      for (Value value : forward->outputs()) out.results.push_back(value->type());
      std::unique_ptr<Graph> graph = join(*forward, moves, out);
      keep_needed(*graph, out, operands.size() + out.results.size());
      out.in_graph = true;
      out.elementwise = !whole && is_elementwise(op, out, operands);
      bare_outputs(*graph, out);
      graph->dims.set_decider(nullptr);
      out.graph = std::move(graph);
    });
  };
  std::string bytes = "recorded";
  add(bytes, op.id.index());
  add(bytes, attrs.empty() ? uint64_t{0} : attrs.hash());
  bool fixed = !whole;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Type type = operands[i].type();
    std::optional<Ints> sizes = type.is_tensor() ? constant_dims(type.dims) : std::nullopt;
    fixed &= sizes.has_value();
    if (!fixed) break;
    add(bytes, type.dtype);
    add(bytes, static_cast<char>(moves[i]));
    add(bytes, type.rank());
    for (int64_t size : *sizes) add(bytes, size);
  }
  if (!fixed || op.has(ops::Trait::Effect)) return make();
  Hash128 key = hash128(bytes);
  if (auto found = known().find(key)) return found;
  auto recipe = make();
  if (!recipe->graph || !ops::calls_host(*recipe->graph)) known().keep(key, recipe);
  return recipe;
}

std::shared_ptr<const Recipe> recipe_of(const ops::Op& op, std::span<const Tensor> operands,
                                        const Attrs& attrs, const std::vector<bool>& moves) {
  static thread_local std::string bytes;
  bytes.clear();
  add(bytes, op.id.index());
  add(bytes, attrs.empty() ? uint64_t{0} : attrs.hash());
  add_types(bytes, operands, moves);
  Hash128 key = hash128(bytes);
  if (auto found = known().find(key)) return found;
  auto recipe = make_recipe(op.decl.name, moves, [&](Recipe& out) {
    std::unique_ptr<Graph> forward = graph_of(op, operands, attrs);
    for (Value value : forward->outputs()) out.results.push_back(value->type());
    std::unique_ptr<Graph> graph = join(*forward, moves, out);
    keep_needed(*graph, out, operands.size() + out.results.size());
    if (!has_regions(*graph)) {
      out.elementwise = is_elementwise(op, out, operands);
      return flatten(*graph, out);
    }
    out.program = compile(*graph);
    out.graph = std::move(graph);
  });
  known().keep(key, recipe);
  return recipe;
}

std::shared_ptr<const Recipe> recipe_of(const std::shared_ptr<const Graph>& graph,
                                        std::span<const Tensor> inputs, std::span<const Tensor> results,
                                        const std::vector<bool>& moves) {
  // One that calls the host must not be kept, for it keeps what it calls: it is known by its text.
  const bool calls_host = ops::calls_host(*graph);
  std::string bytes = "graph";
  if (calls_host)
    add(bytes, graph->hash());
  else
    add(bytes, graph.get());
  // Of sizes that vary the recipe serves all, but what a node's results are is told by the arrays.
  add_types(bytes, inputs, moves);
  Hash128 key = hash128(bytes);
  if (auto found = known().find(key)) return found;
  auto recipe = make_recipe(graph->name, moves, [&](Recipe& out) {
    for (const Tensor& result : results) out.results.push_back(result.type());
    std::unique_ptr<Graph> back = join(*graph, moves, out);
    size_t all = inputs.size() + results.size();
    if (graph->dims.symbols().empty())
      keep_needed(*back, out, all);
    else  // sizes are read off all of them
      for (size_t i = 0; i < all; ++i) out.saved.push_back(static_cast<int>(i));
    if (calls_host) {
      back = back->clone();  // without the nodes that were erased, which keep what they had
      ops::release_host_functions(*back);
    }
    out.program = compile(*back);
    out.calls_host = calls_host && ops::calls_host(*back);
    out.graph = std::move(back);
  });
  known().keep(key, recipe, calls_host ? nullptr : graph);
  return recipe;
}

}  // namespace ig::tape
