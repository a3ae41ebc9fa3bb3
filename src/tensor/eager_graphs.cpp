// The graphs of single ops that eager execution and the maker of prebuilt kernels compile, and their names.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "support/error.h"
#include "tensor/eager.h"

namespace ig::eager {

std::vector<Type> types_of(std::span<const Tensor> operands) {
  std::vector<Type> out;
  for (const Tensor& operand : operands) out.push_back(operand.type());
  return out;
}

std::unique_ptr<Graph> elementwise_graph(const ops::Op& op, std::span<const DType> dtypes, const Attrs& attrs,
                                         std::span<const uint32_t> broadcast) {
  auto graph = std::make_unique<Graph>("eager_" + op.decl.name);
  Dims result;
  for (size_t a = 0; a < broadcast.size(); ++a) {
    std::string symbol = fmt::format("n{}", a);
    graph->dims.declare(symbol, {});
    result.push_back(Dim::symbol(symbol));
  }
  ops::Builder build(graph->body());
  std::vector<Value> values;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    Dims own;
    Ints to;
    for (size_t a = 0; a < broadcast.size(); ++a)
      if (!(broadcast[a] >> i & 1u)) {
        own.push_back(result[a]);
        to.push_back(static_cast<int64_t>(a));
      }
    Value arg = graph->body().add_arg(Type::tensor(dtypes[i], own), fmt::format("x{}", i));
    values.push_back(build.broadcast(arg, result, to));
  }
  Node* node = build.node(op, values, attrs);
  graph->body().set_results({node->results().begin(), node->results().end()});
  return graph;
}

Hash128 prebuilt_key(const ops::Op& op, std::span<const DType> dtypes, const Attrs& attrs,
                     uint32_t broadcast) {
  std::string text = "op " + op.decl.name;
  Attrs whole = ops::complete_attrs(op, attrs);
  for (const auto& [name, value] : whole.items()) text += fmt::format(" {}={}", name, str(value));
  for (DType dtype : dtypes) text += fmt::format(" {}", name(dtype));
  return hash128(text + fmt::format(" {:x}", broadcast));
}

std::unique_ptr<Graph> one_node_graph(const ops::Op& op, std::span<const Type> operands, const Attrs& attrs,
                                      bool symbolic, std::vector<Asked>* asked) {
  // Each size has a symbol of its own, until the op asks whether two of them are equal: then they share one.
  // So sizes that are equal by chance do not make another program.
  std::vector<std::string> symbol_of;  // of each size, in order
  SymbolValues values;
  auto name_sizes = [&](const Dims& dims) {
    for (const Dim& size : dims) {
      symbol_of.push_back(fmt::format("n{}", symbol_of.size()));
      values.emplace(symbol_of.back(), size.constant());
    }
  };
  for (const Type& operand : operands) name_sizes(operand.dims);
  std::vector<int64_t> number_of;
  for (const Type& operand : operands)
    for (const Dim& size : operand.dims) number_of.push_back(size.constant());
  const Dims* made = symbolic ? made_shape(operands, attrs) : nullptr;
  const std::optional<size_t> rows = axis_of_rows(op, operands, attrs);
  // Of a size that is at least 2.
  auto range_of = [&](size_t at) {
    if (at != rows) return Range{2, Range{}.high};
    return number_of[at] < ops::kManyRows ? Range{2, ops::kManyRows - 1}
                                          : Range{ops::kManyRows, Range{}.high};
  };
  if (made) name_sizes(*made);
  while (true) {
    auto graph = std::make_unique<Graph>("eager_" + op.decl.name);
    struct Equal {
      std::string one, other;
    };
    struct Unknown {
      std::string one, other;  // the number of one, or whether it is at most the other
    };
    graph->dims.set_decider([&](std::string_view relation, const Dim& a, const Dim& b) -> bool {
      auto one = a.as_symbol(), other = b.as_symbol();
      if (asked && !made && relation == "==")
        for (auto [symbol, number] : {std::pair(one, b), std::pair(other, a)})
          if (symbol && number.is_constant() && values.at(*symbol) == number.constant())
            throw Unknown{*symbol, {}};
      if (asked && !made && relation == "<=" && one && other && values.at(*one) < values.at(*other))
        throw Unknown{*one, *other};
      const bool may_be_equal = relation == "==" || relation == "<=";
      if (!may_be_equal || !one || !other || values.at(*one) != values.at(*other))
        throw make_error(ErrorKind::Shape, "{}: {} {} {} holds for some sizes only", op.public_name(),
                         a.str(), relation, b.str())
            .why("the op needs a relation of sizes that these arrays do not have")
            .hint(fmt::format("docs/ops.md has the shapes that {} takes", op.public_name()));
      throw Equal{*one, *other};  // at once: what is asked next may follow from it
    });
    std::vector<Value> arguments;
    size_t at = 0;
    auto named = [&](const Dims& sizes) {
      Dims dims;
      for (const Dim& size : sizes) {
        const bool known = asked && std::ranges::find(*asked, Asked{at, {}}) != asked->end();
        const Range range = range_of(at);
        const std::string& symbol = symbol_of[at++];
        if (!symbolic || known || size.constant() <= 1) {
          dims.push_back(size);
          continue;
        }
        if (!graph->dims.symbols().contains(symbol)) graph->dims.declare(symbol, range);
        dims.push_back(Dim::symbol(symbol));
      }
      return dims;
    };
    for (size_t i = 0; i < operands.size(); ++i)
      arguments.push_back(graph->body().add_arg(Type::tensor(operands[i].dtype, named(operands[i].dims)),
                                                fmt::format("x{}", i)));
    Attrs own = symbolic ? with_whole_sizes(operands, attrs,
                                            [&](size_t axis) { return arguments[0]->type().dims[axis]; })
                               .value_or(attrs)
                         : attrs;
    Dims sizes;
    for (Value argument : arguments)
      sizes.insert(sizes.end(), argument->type().dims.begin(), argument->type().dims.end());
    for (const Asked& one : asked ? *asked : std::vector<Asked>())
      if (one.other && number_of[one.size] <= number_of[*one.other])
        graph->dims.assume({"<=", sizes[one.size], sizes[*one.other]});
    if (made) {
      Dims dims = named(*made);
      own.set(ops::kShape.name, dims);
      dims.emplace_back(int64_t{0});
      graph->body().add_arg(Type::tensor(DType::Bool, dims), "shape");
    }
    ops::Builder build(graph->body());
    try {
      Node* node = build.node(op, arguments, own);
      graph->dims.set_decider(nullptr);
      graph->body().set_results({node->results().begin(), node->results().end()});
      return graph;
    } catch (const Equal& equal) {
      for (std::string& symbol : symbol_of)
        if (symbol == equal.other) symbol = equal.one;
    } catch (const Unknown& what) {
      const size_t known = asked->size();
      for (size_t i = 0; i < number_of.size(); ++i) {
        if (symbol_of[i] != what.one) continue;
        Asked one{i, {}};
        if (!what.other.empty()) one.other = std::ranges::find(symbol_of, what.other) - symbol_of.begin();
        if (std::ranges::find(*asked, one) == asked->end()) asked->push_back(one);
      }
      IG_CHECK(asked->size() > known, "{} asks the same of its sizes again", op.public_name());
    }
  }
}

std::unique_ptr<Graph> body_of(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs) {
  if (!op.has(ops::Trait::Composite) || !op.rules.body) return nullptr;
  // A body relies on what infer checks, and its own errors would be those of other ops.
  ops::infer(op, types_of(operands), attrs, DimScope{});
  auto graph = std::make_unique<Graph>("eager_" + op.decl.name);
  std::vector<Value> values;
  for (const Tensor& operand : operands) values.push_back(graph->body().add_arg(operand.type()));
  ops::Builder build(graph->body());
  Attrs full = ops::complete_attrs(op, attrs);
  ops::BodyContext context{build, full, values};
  graph->body().set_results(op.rules.body.get()(context));
  return graph;
}

bool only_moves(const Graph& body) {
  for (const Node* node : body.body()) {
    if (node->op().name() == kReturnOp) continue;
    if (!node->regions().empty()) return false;
    if (ops::has(node, ops::Trait::Constant)) continue;
    // Where an operand says what moves, or where to, it takes a kernel.
    const bool plain = node->operands().size() == 1 || ops::op_of(node).decl.operands[0].variadic;
    if (!ops::has(node, ops::Trait::View) || !plain) return false;
  }
  return true;
}

Shape broadcast_shapes(const ops::Op& op, std::span<const Tensor> operands) {
  int rank = 0;
  for (const Tensor& operand : operands) rank = std::max(rank, operand.shape().rank());
  std::vector<int64_t> out(static_cast<size_t>(rank), 1);
  for (const Tensor& operand : operands) {
    int lead = rank - operand.shape().rank();
    for (int i = 0; i < operand.shape().rank(); ++i) {
      int64_t size = operand.shape()[i];
      int64_t& have = out[static_cast<size_t>(lead + i)];
      if (size == have || size == 1) continue;
      if (have != 1) {
        Dims so_far(out.begin(), out.end());
        ops::broadcast_shapes(so_far, operand.type().dims, DimScope{}, op.public_name());
        throw make_error(ErrorKind::Shape, "{}: {} and {} do not broadcast", op.public_name(), str(so_far),
                         str(operand.type().dims))
            .why("sizes that meet must be equal, or one of them 1")
            .hint("reshape one of the arrays so that the axes to be repeated have size 1");
      }
      have = size;
    }
  }
  return Shape(out);
}

}  // namespace ig::eager
