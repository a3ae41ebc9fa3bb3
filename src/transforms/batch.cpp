// The driver of batching: walks a block, asks each node's rule, and carries for each value its batch axis.
#include "transforms/batch.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/builder.h"
#include "ops/families/array_tools.h"
#include "ops/open.h"

namespace ig::transforms {
namespace {

using ops::BatchContext, ops::Batched, ops::Builder, ops::Op, ops::Trait;

Type batched_type(const Type& type, int axis, const Dim& size) {
  Type out = type;
  if (axis >= 0) out.dims.insert(out.dims.begin() + axis, size);
  return out;
}

bool is_batched(int axis) { return axis >= 0; }

std::vector<int> front_axes(const std::vector<bool>& batched) {
  std::vector<int> out;
  for (bool one : batched) out.push_back(one ? 0 : kNotBatched);
  return out;
}

// The value with its batch axis at `place`; one that has none is repeated.
Value with_axis_at(Builder& build, Value value, int axis, int place, const Dim& size) {
  if (axis < 0) {
    Dims shape = value->type().dims;
    Ints axes;
    for (int i = 0; i < value->type().rank(); ++i) axes.push_back(i < place ? i : i + 1);
    shape.insert(shape.begin() + place, size);
    return build.broadcast(value, shape, axes);
  }
  if (axis == place) return value;
  Ints permutation;
  for (int i = 0; i < value->type().rank(); ++i)
    if (i != axis) permutation.push_back(i);
  permutation.insert(permutation.begin() + place, axis);
  return build.transpose(value, permutation);
}

// The body of a composite on operands of these types, as a graph.
std::unique_ptr<Graph> body_of(const Op& op, const Node* node, const DimScope& dims) {
  auto graph = std::make_unique<Graph>(op.decl.name);
  graph->dims = dims;
  std::vector<Value> arguments;
  for (Value operand : node->operands()) arguments.push_back(graph->body().add_arg(operand->type()));
  Builder build(graph->body());
  build.at(node);
  graph->body().set_results(ops::open_body(build, node, arguments));
  return graph;
}

class Driver final : public ops::BatchRegions {
 public:
  Driver(const DimScope& dims, Dim size, std::string_view axis_name)
      : dims_(dims), size_(std::move(size)), axis_name_(axis_name) {}

  // Batches the nodes of a block into `build`'s, for these values of its arguments; gives its results.
  Batched run(const Block& block, Builder& build, std::span<const Value> arguments, std::span<const int> axes,
              Value active) {
    std::unordered_map<Value, std::pair<Value, int>> known;
    for (size_t i = 0; i < arguments.size(); ++i) known[block.arg(i)] = {arguments[i], axes[i]};
    for (Node* node : block) {
      if (node == block.terminator()) break;
      std::vector<Value> operands;
      std::vector<int> operand_axes;
      for (Value operand : node->operands()) {
        const auto& [value, axis] = known.at(operand);
        operands.push_back(value);
        operand_axes.push_back(axis);
      }
      const Op& op = ops::op_of(node);
      bool asked = std::any_of(operand_axes.begin(), operand_axes.end(), is_batched) ||
                   op.has(Trait::NamedAxis) ||
                   (active && (!node->regions().empty() || op.has(Trait::Effect)));
      Batched out =
          asked ? by_rule(op, node, build, operands, operand_axes, active) : copied(node, build, operands);
      for (size_t i = 0; i < out.results.size(); ++i) {
        if (out.results[i]->name().empty()) out.results[i]->set_name(node->result(i)->name());
        known[node->result(i)] = {out.results[i], out.axes[i]};
      }
    }
    Batched results;
    for (Value result : block.results()) {
      const auto& [value, axis] = known.at(result);
      results.results.push_back(value);
      results.axes.push_back(axis);
    }
    return results;
  }

  std::vector<bool> reached(const Block& region, const std::vector<bool>& batched) override {
    auto key = std::make_pair(&region, batched);
    if (auto memo = reached_.find(key); memo != reached_.end()) return memo->second;
    std::unordered_map<Value, bool> known;
    for (size_t i = 0; i < batched.size(); ++i) known[region.arg(i)] = batched[i];
    for (Node* node : region) {
      if (node == region.terminator()) break;
      std::vector<bool> operands;
      for (Value operand : node->operands()) operands.push_back(known.at(operand));
      std::vector<bool> results = reached(node, operands);
      for (size_t i = 0; i < results.size(); ++i) known[node->result(i)] = results[i];
    }
    std::vector<bool> out;
    for (Value result : region.results()) out.push_back(known.at(result));
    return reached_[key] = out;
  }

  std::unique_ptr<Graph> batch(const Block& region, const std::vector<bool>& batched,
                               const std::vector<bool>& wanted, bool masked) override {
    auto graph = std::make_unique<Graph>("region");
    graph->dims = dims_;
    Builder build(graph->body());
    Value active = masked ? graph->body().add_arg(Type::tensor(DType::Bool, {size_}), "active") : nullptr;
    std::vector<Value> arguments;
    std::vector<int> axes = front_axes(batched);
    for (size_t i = 0; i < batched.size(); ++i)
      arguments.push_back(
          graph->body().add_arg(batched_type(region.arg(i)->type(), axes[i], size_), region.arg(i)->name()));
    Batched out = run(region, build, arguments, axes, active);
    for (size_t i = 0; i < wanted.size(); ++i) {
      IG_CHECK(wanted[i] || out.axes[i] < 0, "result {} of a region is batched, and was not to be", i);
      if (wanted[i]) out.results[i] = with_axis_at(build, out.results[i], out.axes[i], 0, size_);
    }
    graph->body().set_results(std::move(out.results));
    return graph;
  }

  std::vector<bool> reached(const Node* node, const std::vector<bool>& operands) {
    const Op& op = ops::op_of(node);
    bool any = std::find(operands.begin(), operands.end(), true) != operands.end();
    if (!any && !op.has(Trait::NamedAxis)) return std::vector<bool>(node->results().size(), false);
    if ((node->regions().empty() && !op.has(Trait::NamedAxis)) || !op.rules.batch)
      return std::vector<bool>(node->results().size(), true);
    std::vector<int> axes = front_axes(operands);
    Graph nothing;
    Builder build(nothing.body());
    BatchContext context{build, node, {}, axes, size_, axis_name_, nullptr, this, true};
    std::vector<bool> out;
    for (int axis : op.rules.batch.get()(context).axes) out.push_back(is_batched(axis));
    return out;
  }

  bool asks_rows(const Block& region) const override {
    for (Node* node : region) {
      if (node == region.terminator()) break;
      const Op& op = ops::op_of(node);
      if (!node->regions().empty() || op.has(Trait::Effect)) return true;
      if (op.rules.body && asks_rows(body_of(op, node, dims_)->body())) return true;
    }
    return false;
  }

 private:
  Batched copied(const Node* node, Builder& build, std::vector<Value> operands) {
    Node* copy = copy_node(node, build.block(), std::move(operands), build.before());
    return {{copy->results().begin(), copy->results().end()},
            std::vector<int>(copy->results().size(), kNotBatched)};
  }

  Batched by_rule(const Op& op, const Node* node, Builder& build, std::span<const Value> operands,
                  std::span<const int> axes, Value active) {
    build.at(node);
    Batched out;
    if (op.rules.batch) {
      BatchContext context{build, node, operands, axes, size_, axis_name_, active, this};
      out = op.rules.batch.get()(context);
    } else if (!op.rules.body) {
      throw make_error(ErrorKind::Unsupported, "vmap: {} cannot be batched", op.public_name())
          .at(node->location().str())
          .why(op.rules.batch.reason())
          .hint("call it outside of the function that vmap takes, or on arrays that are not batched");
    }
    if (out.results.empty() && op.rules.body)
      out = run(body_of(op, node, dims_)->body(), build, operands, axes, active);
    IG_CHECK(out.results.size() == node->results().size() && out.axes.size() == out.results.size(),
             "the batch rule of {} gives {} results", op.decl.name, out.results.size());
    return out;
  }

  const DimScope& dims_;
  Dim size_;
  std::string_view axis_name_;
  std::map<std::pair<const Block*, std::vector<bool>>, std::vector<bool>> reached_;
};

void require_axis(int axis, int rank, std::string_view what, size_t i) {
  if (axis < kNotBatched || axis > rank)
    throw make_error(ErrorKind::Index, "batch: axis {} of {} {} is out of range", axis, what, i)
        .why(fmt::format("with its batch axis it has {} axes", rank + 1))
        .hint(fmt::format("name an axis from 0 to {}, or {} for none", rank, kNotBatched));
}

}  // namespace

std::vector<bool> reached(const Node* node, const std::vector<bool>& operands) {
  return Driver(node->block()->graph().dims, 1, "").reached(node, operands);
}

std::unique_ptr<Graph> batch(const Graph& graph, const BatchOptions& options) {
  IG_CHECK(
      options.in_axes.size() == graph.inputs().size() && options.out_axes.size() == graph.outputs().size(),
      "{} inputs and {} outputs are batched along {} and {} axes", graph.inputs().size(),
      graph.outputs().size(), options.in_axes.size(), options.out_axes.size());
  auto out = std::make_unique<Graph>(graph.name);
  out->dims = graph.dims;
  std::vector<std::string> symbols;
  options.size.collect_symbols(symbols);
  for (const std::string& symbol : symbols)
    if (!out->dims.symbols().contains(symbol)) out->dims.declare(symbol, {});
  std::vector<Value> arguments;
  for (size_t i = 0; i < options.in_axes.size(); ++i) {
    const Value input = graph.inputs()[i];
    require_axis(options.in_axes[i], input->type().rank(), "input", i);
    arguments.push_back(
        out->body().add_arg(batched_type(input->type(), options.in_axes[i], options.size), input->name()));
  }
  Builder build(out->body());
  Driver driver(out->dims, options.size, options.axis_name);
  Batched results = driver.run(graph.body(), build, arguments, options.in_axes, nullptr);
  for (size_t i = 0; i < results.results.size(); ++i) {
    Value& result = results.results[i];
    int have = results.axes[i], place = options.out_axes[i];
    require_axis(place, graph.outputs()[i]->type().rank(), "output", i);
    if (place >= 0) {
      result = with_axis_at(build, result, have, place, options.size);
    } else if (have >= 0) {
      const Node* node = graph.outputs()[i]->node();
      throw make_error(ErrorKind::Value, "vmap: {} depends on the batch, and its out axis is None",
                       i < options.out_names.size() ? options.out_names[i] : fmt::format("output {}", i))
          .at(node ? node->location().str() : "")
          .why("it has one value for each entry of the batch, so it cannot be given without a batch axis")
          .hint(
              "give an integer in out_axes, or reduce over the batch axis first (ig.psum, with an "
              "axis_name)");
    }
  }
  out->body().set_results(std::move(results.results));
  return out;
}

}  // namespace ig::transforms
