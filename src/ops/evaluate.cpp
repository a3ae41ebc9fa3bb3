// The slow and readable executor: each node by its op's reference rule. It is the definition that everything
// else is checked against.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/effects.h"
#include "ops/host_call.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

// The symbols' values, from the arrays' sizes. Arrays that do not fit the inputs' types are refused.
SymbolValues bind(const Graph& graph, std::span<const Literal> inputs) {
  SymbolValues values;
  auto refuse = [&](ErrorKind kind, size_t i, std::string what) {
    const Type &want = graph.inputs()[i]->type(), have = inputs[i].type();
    throw make_error(kind, "input {} of the graph is {}, got {}", i, want.str(), have.str())
        .why(std::move(what))
        .hint("pass arrays of the graph's input types, in their order");
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& type = graph.inputs()[i]->type();
    if (!type.is_tensor() || type.dtype != inputs[i].dtype())
      refuse(ErrorKind::Type, i, "the element types differ");
    if (type.dims.size() != inputs[i].dims().size()) refuse(ErrorKind::Shape, i, "the ranks differ");
    for (size_t d = 0; d < type.dims.size(); ++d)
      if (auto symbol = type.dims[d].as_symbol()) values.emplace(*symbol, inputs[i].dims()[d]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Dims& dims = graph.inputs()[i]->type().dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      std::vector<std::string> symbols;
      dims[d].collect_symbols(symbols);
      bool bound = std::all_of(symbols.begin(), symbols.end(),
                               [&](const std::string& s) { return values.contains(s); });
      if (bound && dims[d].evaluate(values) != inputs[i].dims()[d])
        refuse(ErrorKind::Shape, i, fmt::format("the size {} of axis {} does not hold", dims[d].str(), d));
    }
  }
  return values;
}

class Evaluator {
 public:
  explicit Evaluator(SymbolValues symbols) : symbols_(std::move(symbols)) {}

  std::vector<Literal> block(const Block& block, std::span<const Literal> arguments) {
    IG_CHECK(arguments.size() == block.args().size(), "a block of {} arguments runs with {}",
             block.args().size(), arguments.size());
    std::unordered_map<Value, Literal> of;
    for (size_t i = 0; i < arguments.size(); ++i) of[block.arg(i)] = arguments[i];
    for (Node* node : block) {
      if (node == block.terminator()) break;
      std::vector<Literal> operands;
      for (Value v : node->operands()) operands.push_back(of.at(v));
      std::vector<Literal> results = this->node(node, operands);
      for (size_t i = 0; i < results.size(); ++i) of[node->result(i)] = std::move(results[i]);
    }
    std::vector<Literal> out;
    for (Value v : block.results()) out.push_back(of.at(v));
    return out;
  }

 private:
  Dims fixed(const Dims& dims) const {
    Dims out;
    for (const Dim& d : dims) out.push_back(d.evaluate(symbols_));
    return out;
  }

  std::vector<Literal> node(const Node* node, std::span<const Literal> operands) {
    const Op& op = op_of(node);
    if (op.rules.control_reference) {
      ControlReferenceContext context{node, operands, symbols_,
                                      [&](size_t region, std::span<const Literal> arguments) {
                                        return block(node->region(region), arguments);
                                      }};
      return op.rules.control_reference.get()(context);
    }
    Attrs attrs;
    for (const auto& [key, value] : node->attrs().items()) {
      const auto* dims = std::get_if<Dims>(&value);
      attrs.set(key, dims ? AttrValue(fixed(*dims)) : value);
    }
    // A token is an empty literal.
    if (is_host_call(op)) {
      const bool effect = op.has(Trait::Effect);
      std::vector<Literal> out = run_host_call(op, attrs, operands.subspan(effect), node->location());
      if (effect) out.insert(out.begin(), Literal());
      return out;
    }
    if (op.has(Trait::Effect)) run_effect(op, attrs, operands.subspan(1), node->location());
    bool token = node->results().size() == 1 && !node->result()->type().is_tensor();
    return token ? std::vector<Literal>(1) : evaluate(op, attrs, operands);
  }

  SymbolValues symbols_;
};

}  // namespace

std::vector<Literal> evaluate(const Graph& graph, std::span<const Literal> inputs) {
  if (inputs.size() != graph.inputs().size())
    throw make_error(ErrorKind::Type, "the graph takes {} arrays, got {}", graph.inputs().size(),
                     inputs.size())
        .why("each input of the graph needs one array")
        .hint("pass the arrays in the order of the graph's inputs");
  return Evaluator(bind(graph, inputs)).block(graph.body(), inputs);
}

std::vector<Literal> evaluate(const Op& op, const Attrs& attrs, std::span<const Literal> operands) {
  std::vector<Type> types;
  for (const Literal& literal : operands) types.push_back(literal.type());
  if (!op.rules.reference && op.rules.body) {
    Graph body("body");
    std::vector<Value> values;
    for (Type& type : types) values.push_back(body.body().add_arg(std::move(type)));
    Builder build(body.body());
    BodyContext context{build, attrs, values};
    body.body().set_results(op.rules.body.get()(context));
    return evaluate(body, operands);
  }
  DimScope scope;
  std::vector<Literal> results;
  for (const Type& type : infer(op, std::move(types), attrs, scope)) {
    auto dims = constant_dims(type.dims);
    IG_CHECK(dims.has_value(), "{} gives the size {} from fixed sizes", op.decl.name, str(type.dims));
    results.push_back(Literal::allocate(type.dtype, *dims));
  }
  if (!op.rules.reference)
    throw make_error(ErrorKind::Unsupported, "{} has no reference", op.decl.name)
        .why(op.rules.reference.reason())
        .hint("compile the graph");
  ReferenceContext context{attrs, operands, results};
  op.rules.reference.get()(context);
  return results;
}

}  // namespace ig::ops
