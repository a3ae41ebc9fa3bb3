// Turns over, once, a matrix whose rows many products with a vector sum. Such a product's vectors lie along
// the matrix's rows, while the order of summation is one after the other within each row, so its kernel turns
// the matrix over by squares, in registers, every time; of the turned matrix it reads whole vectors as they
// lie. That pays for a solver that multiplies by the same matrix in every step, or a cell whose weight stands
// on the left; a matrix that no cache holds is waited for either way. Each element is computed by the same
// operations in the same order as before.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/control_attrs.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

constexpr double kWorth = 8;                               // products that repay the turning
constexpr int64_t kLeast = 64 * 64, kMostBytes = 1 << 20;  // elements; what the second cache holds

// The operand of a product that is such a matrix, beside a vector.
std::optional<uint32_t> matrix_of(const Node* node) {
  if (!ops::has(node, ops::Trait::Contraction) || !node->attrs().find(ops::kLhsContract.name)) return {};
  const Value lhs = node->operand(0), rhs = node->operand(1);
  const ops::DotDims dims(node->attrs(), lhs->type().rank(), rhs->type().rank());
  auto is_matrix = [](Value v, const Ints& summed) { return v->type().rank() == 2 && summed == Ints{1}; };
  if (is_matrix(lhs, dims.lhs_contract) && rhs->type().rank() == 1) return 0;
  if (is_matrix(rhs, dims.rhs_contract) && lhs->type().rank() == 1) return 1;
  return {};
}

bool is_constant_of(const Node* loop, const Use& use) {
  return ops::is_loop(loop) && use.operand < loop->segments()[0];
}

// How many products read the value so; those in a loop count for each step, of which a `while` has enough.
double products_of(Value v) {
  double count = 0;
  for (const Use& use : v->uses()) {
    if (is_terminator(use.user)) continue;
    if (matrix_of(use.user) == use.operand) ++count;
    if (!is_constant_of(use.user, use)) continue;
    double times = kWorth;
    if (ops::way_of(use.user) == ops::Way::Scan)
      if (const Dim steps = ops::scan_length(use.user); steps.is_constant())
        times = static_cast<double>(steps.constant());
    for (const auto& region : use.user->regions()) count += times * products_of(region->arg(use.operand));
  }
  return count;
}

class Turner {
 public:
  explicit Turner(Context& context) : context_(context) {}

  // What a block makes is looked at before what stands in its loops, which reads it.
  void run(Block& block) {
    for (Value arg : std::vector<Value>(block.args().begin(), block.args().end()))
      if (!outside_of_loop(arg)) consider(arg, block, block.first());
    for (Node* node = block.first(); node != nullptr; node = node->next()) {
      if (is_terminator(node)) break;
      if (!ops::has(node, ops::Trait::Constant))  // what is constant is packed when the kernel is made
        for (size_t i = 0; i < node->results().size(); ++i) consider(node->result(i), block, node->next());
      for (const auto& region : node->regions()) run(*region);
    }
  }

 private:
  // Products with what most calls leave as it is read a form of it that is made once for all calls.
  void consider(Value v, Block& block, Node* before) {
    const Type& type = v->type();
    if (!type.is_tensor() || type.rank() != 2 || is_steady(v, context_.options)) return;
    const auto dims = constant_dims(type.dims);
    if (!dims) return;
    const int64_t elements = (*dims)[0] * (*dims)[1];
    if (elements < kLeast || elements * static_cast<int64_t>(size_of(type.dtype)) > kMostBytes) return;
    const double products = products_of(v);
    if (products < kWorth) return;
    context_.changed(fmt::format("{} is turned over once for {:.0f} products or more", type.str(), products));
    ops::Builder build(block, before);
    if (before) build.at(before);
    Value turned = build.transpose(v, {1, 0});
    read_turned(v, turned);
  }

  // The products that read `v` by rows read `turned` instead, those in loops as well.
  void read_turned(Value v, Value turned) {
    std::vector<Node*> products;
    std::map<uint32_t, std::pair<Node*, std::vector<uint32_t>>> loops;  // by the node's number
    for (const Use& use : v->uses()) {
      if (is_terminator(use.user) || use.user == turned->node()) continue;
      if (matrix_of(use.user) == use.operand) products.push_back(use.user);
      if (!is_constant_of(use.user, use)) continue;
      const bool reads = std::ranges::any_of(
          use.user->regions(), [&](const auto& region) { return products_of(region->arg(use.operand)) > 0; });
      if (!reads) continue;
      auto& [loop, operands] = loops[use.user->id()];
      loop = use.user;
      operands.push_back(use.operand);
    }
    for (Node* product : products) replace_operand(product, turned);
    for (const auto& [id, use] : loops) {
      Node* loop = with_constant(use.first, turned);
      const uint32_t added = loop->segments()[0] - 1;
      for (uint32_t operand : use.second)
        for (const auto& region : loop->regions()) read_turned(region->arg(operand), region->arg(added));
    }
  }

  void replace_operand(Node* product, Value turned) {
    const uint32_t matrix = *matrix_of(product);
    std::vector<Value> operands(product->operands().begin(), product->operands().end());
    operands[matrix] = turned;
    Attrs attrs = product->attrs();
    attrs.set(matrix == 0 ? ops::kLhsContract : ops::kRhsContract, Ints{0});
    ops::Builder build(*product->block(), product);
    build.at(product);
    replace(product, build.node(ops::op_of(product), operands, std::move(attrs))->results());
    product->block()->graph().erase(product);
  }

  // The loop anew, with one more value that is the same in every step, behind the others.
  static Node* with_constant(Node* loop, Value value) {
    const uint32_t place = loop->segments()[0];
    std::vector<std::unique_ptr<Graph>> regions;
    for (const auto& region : loop->regions()) {
      auto graph = std::make_unique<Graph>("body");
      for (auto& [symbol, range] : loop->graph().dims.symbols()) graph->dims.declare(symbol, range);
      Block& to = graph->body();
      std::vector<Value> args;
      for (Value arg : region->args()) {
        if (arg->index() == place) to.add_arg(value->type(), value->name());
        args.push_back(to.add_arg(arg->type(), arg->name()));
      }
      if (region->args().size() == place) to.add_arg(value->type(), value->name());
      to.set_results(graph->inline_block(*region, to, args));
      regions.push_back(std::move(graph));
    }
    std::vector<Value> operands(loop->operands().begin(), loop->operands().end());
    operands.insert(operands.begin() + place, value);
    std::vector<uint32_t> segments = loop->segments();
    ++segments[0];
    ops::Builder build(*loop->block(), loop);
    build.at(loop);
    Node* made = build.node(ops::op_of(loop), operands, loop->attrs(), segments, std::move(regions));
    replace(loop, made->results());
    loop->block()->graph().erase(loop);
    return made;
  }

  Context& context_;
};

}  // namespace

void turn_matrices(Graph& graph, Context& context) { Turner(context).run(graph.body()); }

}  // namespace ig::passes
