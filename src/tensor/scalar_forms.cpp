// Forms of ops for numbers: found once for each number, then replayed, or compiled where that pays.
#include "tensor/scalar_forms.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/table.h"
#include "support/error.h"
#include "tensor/eager.h"
#include "tensor/numbers.h"
#include "tensor/program.h"

namespace ig::eager {
namespace {

// The op on x, of these sizes, and a constant, with the op's algebra applied; null where that has nothing to
// say.
std::shared_ptr<const Graph> form_of(const ops::Op& op, DType dtype, const Dims& dims,
                                     const Literal& number) {
  auto graph = std::make_shared<Graph>("form");
  for (const Dim& size : dims) graph->dims.declare(*size.as_symbol(), {});
  Value x = graph->body().add_arg(Type::tensor(dtype, dims));
  ops::Builder first(graph->body());
  Node* node = first.node(op, {x, first.broadcast_to(first.constant(number), dims)});
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

// A form for one number: its ops one by one, of an element and so for any sizes, until those have taken about
// as long as it takes to compile them together.
struct Form {
  std::shared_ptr<const Graph> parts;
  std::unique_ptr<ElementwiseSite> only;  // the one op of x alone that it is, if so
  std::chrono::nanoseconds spent{0};
  std::shared_ptr<const Program> whole;
};

bool is_one_op(const Graph& form) {
  int ops = 0;
  for (const Node* n : form.body())
    ops += n->op().name() != kReturnOp && ops::has(n, ops::Trait::Elementwise);
  return ops < 2;
}

std::unique_ptr<ElementwiseSite> only_op(const Graph& form) {
  const Node* node = form.body().terminator()->previous();
  if (!is_one_op(form) || !node || node != form.outputs()[0]->node()) return nullptr;
  const bool of_x = std::ranges::all_of(node->operands(), [&](Value v) { return v == form.inputs()[0]; });
  const ops::Op& op = ops::op_of(node);
  return of_x && ElementwiseSite::suits(op) ? std::make_unique<ElementwiseSite>(op) : nullptr;
}

// Null where there is no compiler.
std::shared_ptr<const Program> program_of(const ops::Op& op, DType dtype, const Literal& number) try {
  return compile(*form_of(op, dtype, {Dim::symbol("n")}, number));
} catch (const Error& error) {
  if (error.kind() == ErrorKind::Unsupported) return nullptr;
  throw;
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
  static thread_local std::map<Key, Form> known;
  uint64_t bits = 0;
  std::memcpy(&bits, number.data(), size_of(number.dtype()));
  Key key{op.id.index(), x.dtype(), bits};
  auto found = known.find(key);
  if (found == known.end()) {
    if (known.size() == kMost) known.clear();
    Form made{.parts = form_of(op, x.dtype(), {}, number.literal()), .only = nullptr, .whole = nullptr};
    if (made.parts) made.only = only_op(*made.parts);
    found = known.emplace(key, std::move(made)).first;
  }
  Form& form = found->second;
  if (!form.parts) return std::nullopt;
  if (form.only) return form.only->op().decl.operands.size() == 1 ? (*form.only)(x) : (*form.only)(x, x);
  if (form.whole && !recording_link(std::span(&x, 1)) && !numbers::possible() && x.elements() > 0) {
    const Tensor flat = x.unlinked().reshaped({x.elements()});
    return form.whole->run(std::span(&flat, 1))[0].reshaped(x.shape());
  }
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kEnough = std::chrono::milliseconds(30);
  const bool counts = form.spent < kEnough && !is_one_op(*form.parts);
  const Clock::time_point start = counts ? Clock::now() : Clock::time_point();
  Tensor out = replay(*form.parts, x);
  if (counts && (form.spent += Clock::now() - start) >= kEnough)
    form.whole = program_of(op, x.dtype(), number.literal());
  return out;
}

}  // namespace ig::eager
