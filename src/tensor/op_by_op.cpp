// Runs a graph's nodes by eager execution.
#include "tensor/op_by_op.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ranges>
#include <unordered_map>

#include "ops/effects.h"
#include "ops/host_call.h"
#include "ops/table.h"
#include "support/error.h"
#include "support/storage.h"
#include "tensor/eager.h"
#include "tensor/profile.h"

namespace ig {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLong = 300;  // nodes

int64_t nanoseconds(auto time) { return std::chrono::nanoseconds(time).count(); }

int64_t bytes_of(const Type& type, const SymbolValues& values) {
  auto bytes = static_cast<double>(size_of(type.dtype));
  for (const Dim& dim : type.dims) bytes *= static_cast<double>(dim.evaluate(values));
  return bytes < 0x1p62 ? static_cast<int64_t>(bytes) : int64_t{1} << 62;
}

Attrs bound(const Attrs& attrs, const SymbolValues& values) {
  Attrs out = attrs;
  for (const auto& [name, value] : attrs.items())
    if (const Dims* dims = std::get_if<Dims>(&value); dims && !constant_dims(*dims)) {
      Dims sizes;
      for (const Dim& dim : *dims) sizes.emplace_back(dim.evaluate(values));
      out.set(name, std::move(sizes));
    }
  return out;
}

}  // namespace

bool OpByOp::is_usual() {
  static const bool usual = [] {
    const char* text = std::getenv("INTAGLIO_OP_BY_OP");
    const std::string_view value = text ? text : "";
    if (!value.empty() && value != "0" && value != "1")
      throw make_error(ErrorKind::Value, "INTAGLIO_OP_BY_OP={} is neither 0 nor 1", value)
          .why("0 has first calls compile, 1 (or nothing) lets them run op by op until that pays")
          .hint("write INTAGLIO_OP_BY_OP=0, or unset it");
    return value != "0";
  }();
  return usual;
}

// A rough measure of what compiling takes: opening the compiler and one kernel, and some for each node.
OpByOp::OpByOp(std::shared_ptr<const Graph> graph)
    : graph_(std::move(graph)),
      compile_(
          nanoseconds(std::chrono::milliseconds(15) + std::chrono::microseconds(500) * graph_->node_count())),
      enough_(graph_->node_count() > kLong ? 0 : compile_) {}

std::unique_ptr<OpByOp> OpByOp::of(std::shared_ptr<const Graph> graph) {
  // Programs that hold their weights are compiled for the calls that will follow.
  constexpr int64_t kHeavy = int64_t{8} << 20;  // bytes of constants
  if (graph->outputs().empty() || ops::has_effects(*graph)) return nullptr;
  int64_t held = 0;
  for (const Node* node : graph->body()) {
    if (!node->regions().empty() || (node->op().name() != kReturnOp && ops::is_host_call(ops::op_of(node))))
      return nullptr;
    if (node->op().name() != kReturnOp && ops::has(node, ops::Trait::Constant) &&
        constant_dims(node->result()->type().dims))
      held += bytes_of(node->result()->type(), {});
  }
  if (held > kHeavy) return nullptr;
  return std::unique_ptr<OpByOp>(new OpByOp(std::move(graph)));
}

// The values of the size symbols; false where these inputs are not what the graph takes.
bool OpByOp::bind(std::span<const Tensor> inputs, SymbolValues& values) const {
  std::span<const Value> arguments = graph_->inputs();
  if (inputs.size() != arguments.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& type = arguments[i]->type();
    if (!inputs[i].valid() || inputs[i].is_symbolic() || inputs[i].dtype() != type.dtype ||
        inputs[i].rank() != type.rank())
      return false;
    for (size_t a = 0; a < type.dims.size(); ++a)
      if (auto symbol = type.dims[a].as_symbol()) {
        const int64_t size = inputs[i].shape()[a];
        const Range range = graph_->dims.range(*symbol);
        auto [at, fresh] = values.try_emplace(*symbol, size);
        if (at->second != size || size < range.low || size > range.high) return false;
      }
  }
  for (const std::string& symbol : std::views::keys(graph_->dims.symbols()))
    if (!values.contains(symbol)) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t a = 0; a < arguments[i]->type().dims.size(); ++a)
      if (arguments[i]->type().dims[a].evaluate(values) != inputs[i].shape()[a]) return false;
  return std::ranges::all_of(graph_->dims.facts(), [&](const DimScope::Fact& fact) {
    const int64_t a = fact.a.evaluate(values), b = fact.b.evaluate(values);
    return fact.relation == "==" ? a == b : a <= b;
  });
}

// Much of what lies between inputs and results at any time compiled code would keep in registers and caches.
bool OpByOp::is_modest(const SymbolValues& values) const {
  constexpr int64_t kFree = int64_t{16} << 20;
  constexpr size_t kWorthIt = 50;  // nodes: what has fewer is soon compiled
  int64_t outer =
      graph_->node_count() > kWorthIt ? std::max(kFree, static_cast<int64_t>(memory_limit() / 32)) : kFree;
  int64_t between = 0, most = 0;
  std::unordered_map<const ValueDef*, size_t> readers;  // that are still to come, of what lies between
  for (Value v : graph_->inputs()) outer += bytes_of(v->type(), values);
  for (const Node* node : graph_->body()) {
    for (Value v : node->results()) {
      const bool stays = ops::has(node, ops::Trait::Constant) ||
                         std::ranges::find(graph_->outputs(), v) != graph_->outputs().end();
      (stays ? outer : between) += bytes_of(v->type(), values);
      if (!stays) readers[v] = v->uses().size();
    }
    most = std::max(most, between);
    for (Value v : node->operands())
      if (auto at = readers.find(v); at != readers.end() && --at->second == 0)
        between -= bytes_of(v->type(), values);
  }
  return most <= outer;
}

// Whether there is time to make a kernel: a few are soon made for a long graph; for a short one the program
// is.
bool OpByOp::may_make() const {
  return making_.load(std::memory_order_relaxed) + nanoseconds(std::chrono::milliseconds(10)) < compile_ / 4;
}

std::optional<std::vector<Tensor>> OpByOp::run(std::span<const Tensor> inputs, bool compiles) const {
  const Clock::time_point start = Clock::now();
  SymbolValues sizes;
  if (!bind(inputs, sizes) || !is_modest(sizes)) return std::nullopt;
  std::unordered_map<const ValueDef*, Tensor> values;
  std::unordered_map<const ValueDef*, size_t> readers;  // that are still to come
  for (size_t i = 0; i < inputs.size(); ++i) values[graph_->inputs()[i]] = inputs[i].unlinked();
  for (const Node* node : graph_->body())
    for (Value v : node->results()) readers[v] = v->uses().size();
  for (Value v : graph_->outputs())
    if (auto at = readers.find(v); at != readers.end()) ++at->second;
  for (const Node* node : graph_->body()) {
    if (node->op().name() == kReturnOp) continue;
    std::vector<Tensor> operands;
    for (Value v : node->operands()) operands.push_back(values.at(v));
    for (Value v : node->operands())
      if (auto at = readers.find(v); at != readers.end() && --at->second == 0) values.erase(v);
    const Attrs attrs = bound(node->attrs(), sizes);
    const profile::At at(node->location(), node->scope());
    std::optional<std::vector<Tensor>> results;
    if (!compiles) results = eager::run_at_hand(ops::op_of(node), operands, attrs);
    if (!results) {
      if (!compiles && !may_make()) return std::nullopt;
      const Clock::time_point making = Clock::now();
      results = eager::run(ops::op_of(node), operands, attrs);
      making_.fetch_add(nanoseconds(Clock::now() - making), std::memory_order_relaxed);
    }
    for (size_t i = 0; i < results->size(); ++i) values[node->result(i)] = std::move((*results)[i]);
  }
  std::vector<Tensor> out;
  for (Value v : graph_->outputs()) out.push_back(values.at(v));
  int64_t first = -1;
  if (!spent_.compare_exchange_strong(first, 0, std::memory_order_relaxed)) {
    const int64_t took = nanoseconds(Clock::now() - start);
    spent_.fetch_add(took, std::memory_order_relaxed);
    last_.store(took, std::memory_order_relaxed);
  }
  return out;
}

}  // namespace ig
