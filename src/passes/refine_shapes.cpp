// Shape refinement: what the graph's facts and ranges say of its size symbols is written into all types and
// attributes. A symbol whose range is one size becomes that size; of two that are equal one stands for both;
// a size that is equal to an expression of others becomes that expression. Ops do not mind: `infer` gives
// from refined operands what refining its results gives.
#include <optional>

#include <fmt/format.h>

#include "ops/table.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

using Replacement = std::map<std::string, Dim, std::less<>>;

bool within(Range inner, Range outer) { return outer.low <= inner.low && inner.high <= outer.high; }

struct Found {
  std::string symbol;
  Dim value;
};

// A symbol that something known says the value of.
std::optional<Found> next_known(const DimScope& scope) {
  for (const auto& [symbol, range] : scope.symbols())
    if (range.low == range.high) return Found{symbol, Dim(range.low)};
  for (const DimScope::Fact& fact : scope.facts()) {
    if (fact.relation != "==" || fact.a == fact.b) continue;
    for (auto [side, other] : {std::pair{fact.b, fact.a}, std::pair{fact.a, fact.b}}) {
      std::optional<std::string> symbol = side.as_symbol();
      if (!symbol) continue;
      std::vector<std::string> inside;
      other.collect_symbols(inside);
      bool itself = std::find(inside.begin(), inside.end(), *symbol) != inside.end();
      // A range that says more than the other side's bounds would be lost.
      bool kept = other.as_symbol() || within(scope.bounds(other), scope.range(*symbol));
      if (!itself && kept) return Found{*symbol, other};
    }
  }
  return std::nullopt;
}

DimScope without(const DimScope& scope, const Found& found) {
  DimScope out;
  Replacement by{{found.symbol, found.value}};
  std::optional<std::string> heir = found.value.as_symbol();
  for (const auto& [symbol, range] : scope.symbols()) {
    if (symbol == found.symbol) continue;
    Range all = range;
    if (symbol == heir) {
      Range gone = scope.range(found.symbol);
      Range both{std::max(all.low, gone.low), std::min(all.high, gone.high)};
      if (both.low <= both.high) all = both;
    }
    out.declare(symbol, all);
  }
  for (const DimScope::Fact& fact : scope.facts()) {
    DimScope::Fact refined{fact.relation, fact.a.substitute(by), fact.b.substitute(by)};
    Truth known =
        fact.relation == "==" ? out.equal(refined.a, refined.b) : out.less_equal(refined.a, refined.b);
    if (known != Truth::Yes) out.assume(std::move(refined));
  }
  return out;
}

Dims refined(const Dims& dims, const Replacement& by) {
  Dims out;
  out.reserve(dims.size());
  for (const Dim& dim : dims) out.push_back(dim.substitute(by));
  return out;
}

void refine(Value value, const Replacement& by) {
  if (!value->type().is_tensor()) return;
  value->set_type(Type::tensor(value->type().dtype, refined(value->type().dims, by)));
}

}  // namespace

void refine_shapes(Graph& graph, Context& context) {
  // What is known may say more once a symbol is gone, so they go one by one; the graph is rewritten once.
  Replacement by;
  DimScope scope = graph.dims;
  while (std::optional<Found> found = next_known(scope)) {
    Replacement one{{found->symbol, found->value}};
    for (auto& [symbol, value] : by) value = value.substitute(one);
    by.emplace(found->symbol, found->value);
    context.changed(fmt::format("the size {} is {}", found->symbol, found->value.str()));
    scope = without(scope, *found);
  }
  if (by.empty()) return;
  graph.dims = std::move(scope);
  for_each_block(graph.body(), [&](Block& block) {
    for (Value argument : block.args()) refine(argument, by);
    for (Node* node : block) {
      for (Value result : node->results()) refine(result, by);
      Attrs attrs = node->attrs();
      for (const auto& [name, value] : node->attrs().items())
        if (const auto* dims = std::get_if<Dims>(&value)) attrs.set(name, refined(*dims, by));
      node->set_attrs(std::move(attrs));
    }
  });
}

}  // namespace ig::passes
