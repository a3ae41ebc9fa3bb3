// Runs a graph's nodes by eager execution.
#include "tensor/op_by_op.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "ops/control_attrs.h"
#include "ops/host_call.h"
#include "ops/table.h"
#include "support/error.h"
#include "support/storage.h"
#include "tensor/eager.h"
#include "tensor/profile.h"
#include "tensor/strided.h"

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

// Bytes that a block's run holds: of its constants, of its results, and the most that its nodes leave for
// each other at any time.
struct Held {
  int64_t constants = 0, results = 0, between = 0;
};

Held held_by(const Block& block, const SymbolValues& values) {
  Held held;
  int64_t between = 0;
  std::unordered_map<const ValueDef*, size_t> readers;  // that are still to come, of what lies between
  for (const Node* node : block) {
    int64_t inside = 0;
    for (const auto& region : node->regions()) {
      const Held of_region = held_by(*region, values);
      inside = std::max(inside, of_region.results + of_region.between);
    }
    for (Value v : node->results()) {
      const int64_t bytes = bytes_of(v->type(), values);
      if (ops::has(node, ops::Trait::Constant)) {
        held.constants += bytes;
      } else if (std::ranges::find(block.results(), v) != block.results().end()) {
        held.results += bytes;
      } else {
        between += bytes;
        readers[v] = v->uses().size();
      }
    }
    held.between = std::max(held.between, between + inside);
    for (Value v : node->operands())
      if (auto at = readers.find(v); at != readers.end() && --at->second == 0)
        between -= bytes_of(v->type(), values);
  }
  return held;
}

// Whether the graph is a program that holds its weights, and is made for many calls.
bool is_heavy(const Graph& graph) {
  constexpr int64_t kHeavy = int64_t{8} << 20;  // bytes of constants
  int64_t held = 0;
  for (const Node* node : graph.body())
    if (node->op().name() != kReturnOp && ops::has(node, ops::Trait::Constant) &&
        constant_dims(node->result()->type().dims))
      held += bytes_of(node->result()->type(), {});
  return held > kHeavy;
}

// Whether nobody sees that the block has run, if its checks hold.
bool has_only_checks(const Block& block) {
  for (const Node* node : block) {
    if (node == block.terminator()) break;
    if (ops::has(node, ops::Trait::Effect) && ops::op_of(node).rules.lower.condition < 0) return false;
    for (const auto& region : node->regions())
      if (!has_only_checks(*region)) return false;
  }
  return true;
}

// Goes from where a run cannot or should not go on to the run's beginning.
struct GivenUp {};

}  // namespace

FirstCalls OpByOp::usual() {
  static const FirstCalls usual = [] {
    const char* text = std::getenv("INTAGLIO_OP_BY_OP");
    const std::string_view value = text ? text : "";
    if (value.empty() || value == "1") return FirstCalls::WhileItPays;
    if (value == "0") return FirstCalls::Compile;
    if (value == "always") return FirstCalls::Always;
    throw make_error(ErrorKind::Value, "INTAGLIO_OP_BY_OP={} is neither 0, 1 nor always", value)
        .why(
            "0 has first calls compile, 1 (or nothing) lets them run op by op as long as that pays, always "
            "as long as it goes")
        .hint("write INTAGLIO_OP_BY_OP=0, or unset it");
  }();
  return usual;
}

std::unique_ptr<OpByOp> OpByOp::of(std::shared_ptr<const Graph> graph, FirstCalls how) {
  if (graph->outputs().empty() || !has_only_checks(graph->body()) || ops::calls_host(*graph)) return nullptr;
  return std::unique_ptr<OpByOp>(new OpByOp(std::move(graph), how == FirstCalls::Always));
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
// Who has weights as constants counts on what the plan says of memory: a tenth of them is little beside that.
bool OpByOp::is_modest(const SymbolValues& values) const {
  if (const int known = modest_; values.empty() && known >= 0) return known == 1;
  constexpr int64_t kFree = int64_t{16} << 20;
  constexpr size_t kWorthIt = 50;  // nodes: what has fewer is soon compiled
  int64_t outer =
      graph_->node_count() > kWorthIt ? std::max(kFree, static_cast<int64_t>(memory_limit() / 32)) : kFree;
  for (Value v : graph_->inputs()) outer += bytes_of(v->type(), values);
  const Held held = held_by(graph_->body(), values);
  const int64_t most = heavy_ ? held.constants / 10 : outer + held.constants + held.results;
  const bool modest = held.between <= most;
  if (values.empty()) modest_ = modest ? 1 : 0;
  return modest;
}

// Whether there is time to make a kernel: a few are soon made for a long graph; for a short one the program
// is.
bool OpByOp::may_make() const {
  const int64_t making = patient_ ? 0 : making_.load(std::memory_order_relaxed);
  return making + nanoseconds(std::chrono::milliseconds(10)) < compile_ / 4;
}

// A block as it is walked: where each value waits, and what each node takes and gives.
struct OpByOp::Walk {
  struct Step {
    const Node* node = nullptr;
    const ops::Op* op = nullptr;
    std::vector<size_t> operands, results;
    std::vector<size_t> over;    // operands' places that nobody reads afterwards
    std::vector<size_t> unread;  // results' places that nobody reads at all
    bool gives_token = false;    // and nothing else
    bool has_symbols = false;    // in the sizes that its attributes give
    bool elementwise = false;
    bool may_spread = false;    // a view whose readers are element-wise all: what it repeats they can repeat
    bool takes_spread = false;  // from such a view
    std::vector<Walk> regions;
  };
  std::vector<Step> steps;
  std::vector<size_t> results;
  size_t places = 0;  // the arguments have the first ones

  explicit Walk(const Block& block) {
    std::unordered_map<const ValueDef*, size_t> place_of;
    std::unordered_set<const ValueDef*> spread;
    for (Value v : block.args()) place_of[v] = places++;
    for (const Node* node : block) {
      if (node == block.terminator()) break;
      Step step;
      step.node = node;
      step.op = &ops::op_of(node);
      step.gives_token = node->results().size() == 1 && !node->result()->type().is_tensor();
      step.elementwise = is_elementwise(node);
      step.may_spread = step.op->has(ops::Trait::View) && node->operands().size() == 1 &&
                        std::ranges::all_of(node->result()->uses(),
                                            [](const auto& use) { return is_elementwise(use.user); });
      for (Value v : node->operands()) {
        step.operands.push_back(place_of.at(v));
        step.takes_spread |= spread.contains(v);
      }
      if (step.may_spread) spread.insert(node->result());
      for (Value v : node->results()) step.results.push_back(place_of[v] = places++);
      for (const auto& region : node->regions()) step.regions.emplace_back(*region);
      for (const auto& [name, value] : node->attrs().items())
        if (const Dims* dims = std::get_if<Dims>(&value)) step.has_symbols |= !constant_dims(*dims);
      steps.push_back(std::move(step));
    }
    for (Value v : block.results()) results.push_back(place_of.at(v));
    std::vector<bool> read(places);
    for (size_t place : results) read[place] = true;
    for (Step& step : steps | std::views::reverse)
      for (auto [of_step, last] : {std::pair(&step.results, &step.unread), {&step.operands, &step.over}})
        for (size_t place : *of_step)
          if (!read[place]) last->push_back(place), read[place] = true;
  }

 private:
  static bool is_elementwise(const Node* node) {
    return node->op().name() != kReturnOp && ops::has(node, ops::Trait::Elementwise) &&
           !node->operands().empty();
  }
};

class OpByOp::Run {
 public:
  Run(const OpByOp& graph, const SymbolValues& sizes, bool compiles)
      : graph_(graph), sizes_(sizes), compiles_(compiles) {}

  int64_t took() const { return nanoseconds(Clock::now() - start_); }

  std::vector<Tensor> block(const Walk& walk, std::vector<Tensor> arguments) const {
    std::vector<Tensor> at = std::move(arguments);
    at.resize(walk.places);
    for (const Walk::Step& step : walk.steps) {
      std::vector<Tensor> operands;
      for (size_t place : step.operands) operands.push_back(at[place]);
      for (size_t place : step.over) at[place] = Tensor();
      std::vector<Tensor> results = node(step, operands);
      for (size_t i = 0; i < results.size(); ++i) at[step.results[i]] = std::move(results[i]);
      if (step.takes_spread)  // what had to be laid out is so for others, too
        for (size_t i = 0; i < operands.size(); ++i)
          if (Tensor& x = at[step.operands[i]]; x.valid()) x = std::move(operands[i]);
      for (size_t place : step.unread) at[place] = Tensor();
    }
    std::vector<Tensor> out;
    for (size_t place : walk.results) out.push_back(at[place]);
    return out;
  }

 private:
  std::vector<Tensor> node(const Walk::Step& step, std::span<Tensor> operands) const {
    const profile::At at(step.node->location(), step.node->scope());
    if (step.op->rules.control_reference) return control(step, operands);
    if (step.gives_token) return check(step, operands);
    const Attrs& own = step.node->attrs();
    return step.has_symbols ? computed(step, operands, bound(own, sizes_)) : computed(step, operands, own);
  }

  std::vector<Tensor> computed(const Walk::Step& step, std::span<Tensor> operands, const Attrs& attrs) const {
    if (step.elementwise) return elementwise(step, operands, attrs);
    if (step.may_spread)
      if (const auto view = strided_view(*step.op, operands[0].shape(), attrs, shape_of(step)))
        if (const auto own = as_broadcast(*view, operands[0].shape())) return {operands[0].reshaped(*own)};
    return op(*step.op, operands, attrs);
  }

  Shape shape_of(const Walk::Step& step) const {
    std::vector<int64_t> sizes;
    for (const Dim& dim : step.node->result(0)->type().dims) sizes.push_back(dim.evaluate(sizes_));
    return Shape(sizes);
  }

  // What a view would have repeated may be left to the kernel; where there is none for that, it is laid out.
  std::vector<Tensor> elementwise(const Walk::Step& step, std::span<Tensor> operands,
                                  const Attrs& attrs) const {
    const Shape shape = step.takes_spread ? shape_of(step) : operands[0].shape();
    if (std::ranges::none_of(operands, &Tensor::waits))
      if (auto results = eager::run_elementwise_at_hand(*step.op, operands, attrs, shape))
        return *std::move(results);
    for (Tensor& x : operands)
      if (x.shape() != shape) x = copy_strided(x, broadcast_view(x.shape(), shape));
    return op(*step.op, operands, attrs);
  }

  // Tokens are no arrays.
  static std::vector<Tensor> check(const Walk::Step& step, std::span<const Tensor> operands) {
    if (const int condition = step.op->rules.lower.condition; condition >= 0) {
      const Tensor& holds = operands[static_cast<size_t>(condition)];
      if (holds.bytes() && std::memchr(holds.data(), 0, holds.bytes())) throw GivenUp();
    }
    return {Tensor()};
  }

  std::vector<Tensor> op(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs) const {
    if (!compiles_) {
      if (auto results = eager::run_at_hand(op, operands, attrs)) return *std::move(results);
      if (!graph_.may_make()) throw GivenUp();
    }
    const Clock::time_point making = Clock::now();
    std::vector<Tensor> results = eager::run(op, operands, attrs);
    graph_.making_.fetch_add(nanoseconds(Clock::now() - making), std::memory_order_relaxed);
    return results;
  }

  // Whether a loop goes on for too long, or will: its first step is slower than the others, as it looks for
  // kernels.
  class Pace {
   public:
    Pace(const Run& run, const Node* node)
        : run_(run),
          steps_(ops::way_of(node) == ops::Way::Scan ? ops::scan_length(node).evaluate(run.sizes_) : 0),
          begin_(run.took()) {}
    // To be asked before each step.
    bool too_slow() {
      if (run_.graph_.patient_) return false;
      constexpr int64_t kSteps = 8;  // tell how fast the others will be
      const int64_t took = run_.took() - begin_, compile = run_.graph_.compile_;
      if (++step_ == 2) second_ = took;
      const bool tells = step_ == kSteps + 2 && steps_ > step_;
      const double a_step = tells ? static_cast<double>(took - second_) / kSteps : 0;
      const double ahead = a_step * static_cast<double>(steps_ - step_);
      return took > compile / 2 || static_cast<double>(took) + ahead > static_cast<double>(compile);
    }

   private:
    const Run& run_;
    const int64_t steps_, begin_;  // how many steps there will be, where that is known
    int64_t step_ = 0, second_ = 0;
  };

  std::vector<Tensor> control(const Walk::Step& step, std::span<const Tensor> operands) const {
    std::vector<Literal> values;
    for (const Tensor& operand : operands) values.push_back(operand.literal());
    Pace pace(*this, step.node);
    auto run = [&](size_t region, std::span<const Literal> given) {
      if (pace.too_slow()) throw GivenUp();
      std::vector<Tensor> arguments;
      for (const Literal& value : given) arguments.push_back(Tensor::from(value));
      std::vector<Literal> results;
      for (const Tensor& result : block(step.regions[region], std::move(arguments)))
        results.push_back(result.literal());
      return results;
    };
    ops::ControlReferenceContext context{step.node, values, sizes_, run};
    std::vector<Tensor> out;
    for (const Literal& result : step.op->rules.control_reference.get()(context))
      out.push_back(Tensor::from(result));
    return out;
  }

  const OpByOp& graph_;
  const SymbolValues& sizes_;
  const bool compiles_;
  const Clock::time_point start_ = Clock::now();
};

std::optional<std::vector<Tensor>> OpByOp::run(std::span<const Tensor> inputs, bool compiles) const try {
  SymbolValues sizes;
  if (!bind(inputs, sizes) || !is_modest(sizes)) return std::nullopt;
  const Run run(*this, sizes, compiles);
  std::vector<Tensor> arguments;
  for (const Tensor& input : inputs) arguments.push_back(input.unlinked());
  std::vector<Tensor> out = run.block(*walk_, std::move(arguments));
  int64_t first = -1;
  if (!spent_.compare_exchange_strong(first, 0, std::memory_order_relaxed)) {
    const int64_t took = run.took();
    spent_.fetch_add(took, std::memory_order_relaxed);
    last_.store(took, std::memory_order_relaxed);
  }
  return out;
} catch (const GivenUp&) {
  return std::nullopt;
}

// A rough measure of what compiling takes: opening the compiler and one kernel, and some for each node.
OpByOp::OpByOp(std::shared_ptr<const Graph> graph, bool patient)
    : graph_(std::move(graph)),
      walk_(std::make_unique<const Walk>(graph_->body())),
      patient_(patient),
      heavy_(is_heavy(*graph_)),
      compile_(
          nanoseconds(std::chrono::milliseconds(15) + std::chrono::microseconds(500) * graph_->node_count())),
      enough_(heavy_ || graph_->node_count() > kLong ? 0 : compile_) {}

OpByOp::~OpByOp() = default;

}  // namespace ig
