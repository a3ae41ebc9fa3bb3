// Makes nodes; see builder.h.
#include "ops/builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/attrs.h"

namespace ig::ops {

Node* Builder::node(const Op& op, std::vector<Value> operands, Attrs attrs, std::vector<uint32_t> segments,
                    std::vector<std::unique_ptr<Graph>> regions) {
  try {
    attrs = complete_attrs(op, std::move(attrs));
    std::vector<Type> types;
    for (Value v : operands) types.push_back(v->type());
    std::vector<Type> results;
    if (regions.empty()) {
      results = infer(op, std::move(types), attrs, graph().dims);
    } else {
      std::vector<std::vector<Type>> region_results;
      for (const auto& region : regions) {
        region_results.emplace_back();
        for (Value v : region->outputs()) region_results.back().push_back(v->type());
      }
      InferContext context(op, std::move(types), attrs, graph().dims, std::move(region_results), segments);
      op.rules.infer.get()(context);
      results = std::move(context.results);
    }
    NodeSpec spec{op.id,
                  std::move(operands),
                  std::move(attrs),
                  std::move(results),
                  std::move(segments),
                  location_,
                  scope_,
                  static_cast<int>(regions.size())};
    Node* made = graph().insert(*block_, std::move(spec), before_);
    for (size_t r = 0; r < regions.size(); ++r) {
      Block& inner = made->region(r);
      std::vector<Value> arguments;
      for (Value v : regions[r]->inputs()) arguments.push_back(inner.add_arg(v->type(), v->name()));
      inner.set_results(graph().inline_block(regions[r]->body(), inner, arguments));
    }
    return made;
  } catch (Error& error) {
    if (error.where().empty() && location_.known()) error.at(location_.str());
    throw;
  }
}

Value Builder::operator()(std::string_view op, std::vector<Value> operands,
                          std::vector<std::pair<std::string, AttrValue>> attrs) {
  Node* made = node(get(op), std::move(operands), make_attrs(std::move(attrs)));
  IG_CHECK(made->results().size() == 1, "{} gives {} results where one is wanted", op,
           made->results().size());
  return made->result();
}

std::vector<Value> Builder::many(std::string_view op, std::vector<Value> operands,
                                 std::vector<std::pair<std::string, AttrValue>> attrs) {
  Node* made = node(get(op), std::move(operands), make_attrs(std::move(attrs)));
  return {made->results().begin(), made->results().end()};
}

Value Builder::constant(Literal value) { return (*this)("constant", {}, {kValue % std::move(value)}); }
Value Builder::scalar(DType dtype, double value) { return constant(Literal::scalar(dtype, value)); }
Value Builder::full(const Type& type, double value) {
  return broadcast(scalar(type.dtype, value), type.dims, {});
}

Value Builder::broadcast(Value x, const Dims& shape, const Ints& axes) {
  if (x->type().dims == shape && std::is_sorted(axes.begin(), axes.end())) return x;
  return (*this)("broadcast_in_dim", {x}, {kShape % shape, kBroadcastDims % axes});
}

Value Builder::broadcast_to(Value x, const Dims& shape) {
  const Dims& from = x->type().dims;
  if (from == shape) return x;
  if (from.size() > shape.size())
    throw make_error(ErrorKind::Shape, "broadcast_to: shape {} does not broadcast to {}", str(from),
                     str(shape))
        .why("the result has fewer axes than the operand")
        .hint("reshape or reduce the array first");
  Ints axes;
  for (size_t i = 0; i < from.size(); ++i)
    axes.push_back(static_cast<int64_t>(shape.size() - from.size() + i));
  return broadcast(x, shape, axes);
}

Value Builder::convert(Value x, DType dtype) {
  return x->type().dtype == dtype ? x : (*this)("convert", {x}, {kDType % dtype});
}
Value Builder::reshape(Value x, const Dims& shape) {
  return x->type().dims == shape ? x : (*this)("reshape", {x}, {kShape % shape});
}
Value Builder::transpose(Value x, const Ints& permutation) {
  bool identity = true;
  for (size_t i = 0; i < permutation.size(); ++i)
    identity = identity && permutation[i] == static_cast<int64_t>(i);
  return identity ? x : (*this)("transpose", {x}, {kPermutation % permutation});
}

Dims broadcast_shapes(const Dims& a, const Dims& b, const DimScope& scope, std::string_view op) {
  const Dims &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const Dim one = int64_t{1};
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& have = out[longer.size() - shorter.size() + i];
    const Dim& other = shorter[i];
    if (have == other || other == one) continue;
    if (have == one) {
      have = other;
      continue;
    }
    if (!scope.decide_equal(have, other))
      throw make_error(ErrorKind::Shape, "{}: shapes {} and {} do not broadcast", op, str(a), str(b))
          .why(fmt::format("sizes {} and {} meet; they must be equal, or one of them 1", have.str(),
                           other.str()))
          .hint("reshape one of the arrays so that the axes to be repeated have size 1");
  }
  return out;
}

}  // namespace ig::ops
