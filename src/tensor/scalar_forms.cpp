// Forms of ops for numbers: found once for each number, then replayed.
#include "tensor/scalar_forms.h"

#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/table.h"
#include "tensor/eager.h"

namespace ig::eager {
namespace {

// The op on an element of x and a constant, with the op's algebra applied; null where that has nothing to
// say. Sizes do not matter: a form is made of elementwise ops.
std::shared_ptr<const Graph> form_of(const ops::Op& op, DType dtype, const Literal& number) {
  auto graph = std::make_shared<Graph>("form");
  Value x = graph->body().add_arg(Type::tensor(dtype, {}));
  ops::Builder first(graph->body());
  Node* node = first.node(op, {x, first.constant(number)});
  graph->body().set_results({node->result()});
  ops::Builder build(graph->body(), node);
  ops::SimplifyContext context{build, node, graph->dims};
  Value form = op.rules.simplify.get()(context);
  if (!form) return nullptr;
  graph->body().set_results({form});
  graph->erase(node);
  for (const Node* n : graph->body())
    if (n != graph->body().terminator() && !ops::has(n, ops::Trait::Elementwise) &&
        !ops::has(n, ops::Trait::Constant) && !ops::has(n, ops::Trait::View))
      return nullptr;
  return graph;
}

Tensor replay(const Graph& form, const Tensor& x) {
  std::unordered_map<const ValueDef*, Tensor> values{{form.inputs()[0], x}};
  for (const Node* node : form.body()) {
    if (node == form.body().terminator()) continue;
    std::vector<Tensor> operands;
    for (Value v : node->operands()) operands.push_back(values.at(v));
    const ops::Op& op = ops::op_of(node);
    values[node->result()] =
        op.has(ops::Trait::Elementwise)
            ? run_elementwise(op, operands, node->attrs(), broadcast_shapes(op, operands))[0]
            : run(op, operands, node->attrs())[0];
  }
  return values.at(form.outputs()[0]);
}

}  // namespace

std::optional<Tensor> run_scalar_form(const ops::Op& op, const Tensor& x, const Tensor& number) {
  constexpr size_t kMost = 256;
  using Key = std::tuple<uint32_t, DType, uint64_t>;
  static thread_local std::map<Key, std::shared_ptr<const Graph>> known;
  uint64_t bits = 0;
  std::memcpy(&bits, number.data(), size_of(number.dtype()));
  Key key{op.id.index(), x.dtype(), bits};
  auto found = known.find(key);
  if (found == known.end()) {
    if (known.size() == kMost) known.clear();
    found = known.emplace(key, form_of(op, x.dtype(), number.literal())).first;
  }
  if (!found->second) return std::nullopt;
  return replay(*found->second, x);
}

}  // namespace ig::eager
