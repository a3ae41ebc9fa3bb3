// Loops of small kernels become one kernel: a `fusion` node of kind "program" that holds the loop. Between
// small kernels the executor's way from one to the next costs more than they do, and one function keeps
// single numbers in registers. A loop whose steps are long, or do what is no kernel (an effect, a loop that
// ends by its data), stays as it is: its kernels then have all threads, and interrupts are seen in time.
#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "ops/control_attrs.h"
#include "ops/effects.h"
#include "ops/memory.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

constexpr int64_t kLargestValue = 16384;  // bytes of one value: a few of them stay in the first cache
// Of a step, in element operations: some microseconds. The executor's way costs about 20 ns a kernel.
constexpr double kLargestWork = 65536;
constexpr double kProduct = 0.5;  // of a multiplication and an addition in a sum of products; see set_grain
constexpr size_t kMostKernels = 64;  // of the body, each compiled into the one function

// What a step costs, and the first reason why the loop is not to be one kernel.
struct Cost {
  double work = 0;
  size_t kernels = 0;
  std::string refusal{};
  // What may be of any size: what is the same in every step, only read; and what a step changes in place.
  std::unordered_set<Value> given{};

  void refuse(std::string why) {
    if (refusal.empty()) refusal = std::move(why);
  }
};

double elements(const Type& type) {
  auto dims = constant_dims(type.dims);
  double n = 1;
  for (int64_t d : dims.value_or(std::vector<int64_t>{})) n *= static_cast<double>(d);
  return n;
}

void weigh_value(Value v, Cost& cost) {
  if (!v->type().is_tensor()) return cost.refuse("it has effects");
  if (!constant_dims(v->type().dims))
    return cost.refuse(fmt::format("{} has a size that is a symbol", v->type().str()));
  double bytes = elements(v->type()) * static_cast<double>(size_of(v->type().dtype));
  if (!cost.given.contains(v) && bytes > static_cast<double>(kLargestValue))
    cost.refuse(fmt::format("{} is larger than {} bytes", v->type().str(), kLargestValue));
}

// Whether the kernel is of an op's own loops, which may write what changes of an operand alone.
bool updates(const Node* kernel) { return kind_of_kernel(kernel) == "nest"; }

void weigh_kernel(const Node* kernel, Cost& cost) {
  ++cost.kernels;
  for (Value v : kernel->operands()) weigh_value(v, cost);
  for (Value v : kernel->results()) weigh_value(v, cost);
  if (!cost.refusal.empty()) return;
  for (const Node* node : kernel->region(0)) {
    if (is_terminator(node)) continue;
    double most = 0, all = 1;
    for (Value v : node->operands()) most = std::max(most, elements(v->type())), all *= elements(v->type());
    for (Value v : node->results()) most = std::max(most, elements(v->type())), all *= elements(v->type());
    // What takes elements from where it is told, or changes some, touches no more.
    if (const int old = updates(kernel) ? ops::updated_operand(node) : -1; old >= 0) {
      most = 0;
      for (size_t i = 0; i < node->operands().size(); ++i)
        if (i != static_cast<size_t>(old)) most = std::max(most, elements(node->operand(i)->type()));
    } else if (ops::has(node, ops::Trait::View)) {
      most = elements(node->result()->type());
    }
    // A product of m x k and k x n: sqrt(mk kn mn).
    bool product = ops::has(node, ops::Trait::Contraction);
    cost.work += product ? kProduct * std::sqrt(all) : most;
  }
}

// What is given to a node from operand `first` on is given to its region.
void give(const Node* node, size_t first, size_t count, const Block& region, Cost& cost) {
  for (size_t i = 0; i < count; ++i)
    if (cost.given.contains(node->operand(first + i))) cost.given.insert(region.arg(i));
}

// What the first effect of a block takes: nothing runs for it.
bool is_token(const Node* node) {
  return node->operands().empty() && node->results().size() == 1 && !node->result()->type().is_tensor();
}

void weigh(const Block& block, Cost& cost) {
  for (Value v : block.args()) weigh_value(v, cost);
  for (const Node* node : block) {
    if (is_terminator(node) || !cost.refusal.empty()) continue;
    if (is_relabel(node)) {
      if (cost.given.contains(node->operand(0))) cost.given.insert(node->result());
      continue;
    }
    if (is_kernel(node)) {
      weigh_kernel(node, cost);
      continue;
    }
    if (ops::has(node, ops::Trait::Constant)) {
      DType dtype = node->result()->type().dtype;
      bool plain = is_float(dtype) ? dtype == DType::F32 || dtype == DType::F64
                                   : !is_complex(dtype) && dtype != DType::Key;
      if (elements(node->result()->type()) != 1 || !plain || !node->attrs().find("value"))
        cost.refuse("its body holds a constant array");
      continue;
    }
    if (ops::is_plain_check(node) || is_token(node)) continue;
    if (!ops::has(node, ops::Trait::Control) || ops::has(node, ops::Trait::Effect)) {
      cost.refuse(fmt::format("{} is not a kernel", node->op().name()));
      continue;
    }
    const ops::Way way = ops::way_of(node);
    if (way == ops::Way::Cond || way == ops::Way::Switch || way == ops::Way::Call) {
      for (Value v : node->operands()) weigh_value(v, cost);
      size_t selectors = way == ops::Way::Call ? 0 : 1;
      for (const auto& region : node->regions()) {
        give(node, selectors, region->args().size(), *region, cost);
        weigh(*region, cost);
      }
    } else if (way == ops::Way::Scan) {
      for (Value v : node->operands()) weigh_value(v, cost);
      for (Value v : node->results()) weigh_value(v, cost);
      const Dim trips = ops::scan_length(node);
      Cost inner{.given = cost.given};
      give(node, 0, node->segments()[0], node->region(0), inner);
      weigh(node->region(0), inner);
      if (!trips.is_constant()) inner.refuse("an inner loop's number of steps is a symbol");
      cost.kernels += inner.kernels;
      if (trips.is_constant())
        cost.work += inner.work * static_cast<double>(std::max<int64_t>(trips.constant(), 0));
      cost.refuse(inner.refusal);
    } else {
      cost.refuse("an inner loop ends by its data");
    }
  }
  if (cost.work > kLargestWork)
    cost.refuse(fmt::format("a step is some {:.0f} operations, more than {:.0f}", cost.work, kLargestWork));
  if (cost.kernels > kMostKernels)
    cost.refuse(fmt::format("its body has more than {} kernels", kMostKernels));
}

using Forms = std::unordered_set<Value>;
bool changes_in_place(const Block& block, size_t argument, size_t result, Forms& forms);

// The result of the node that is its operand, changed in place: of a kernel that updates it, of a loop that
// carries it so, of branches that all do. Or -1.
int changed_in_place(const Node* node, size_t operand, Forms& forms) {
  if (is_kernel(node)) {
    const Block& region = node->region(0);
    if (!updates(node)) return -1;
    for (const Node* inner : region)
      if (const int old = ops::updated_operand(inner);
          old >= 0 && inner->operand(static_cast<size_t>(old)) == region.arg(operand))
        for (size_t r = 0; r < region.results().size(); ++r)
          if (region.results()[r] == inner->result()) return static_cast<int>(r);
    return -1;
  }
  const ops::Way way = ops::way_of(node);
  if (way == ops::Way::Scan) {
    const size_t consts = node->segments()[0];
    if (operand < consts || operand >= consts + node->segments()[1]) return -1;
    return changes_in_place(node->region(0), operand, operand - consts, forms)
               ? static_cast<int>(operand - consts)
               : -1;
  }
  if ((way != ops::Way::Cond && way != ops::Way::Switch) || operand == 0) return -1;
  for (size_t r = 0; r < node->results().size(); ++r)
    if (std::ranges::all_of(node->regions(), [&](const auto& region) {
          return changes_in_place(*region, operand - 1, r, forms);
        }))
      return static_cast<int>(r);
  return -1;
}

// Whether the block changes its argument in place, if at all, and gives it back as that result: what is read
// of each of its forms, which are told, is read before the next one is made.
bool changes_in_place(const Block& block, size_t argument, size_t result, Forms& forms) {
  Value now = block.arg(argument);
  Forms old, met{now};
  for (const Node* node : block) {
    std::vector<size_t> reads;
    for (size_t o = 0; o < node->operands().size(); ++o) {
      const Value v = ops::root_of(node->operand(o));
      if (old.contains(v)) return false;
      if (v == now) reads.push_back(o);
    }
    if (is_terminator(node)) {
      if (reads != std::vector{result}) return false;
      forms.merge(met);
      return true;
    }
    if (reads.size() != 1) continue;
    if (is_relabel(node)) {
      met.insert(node->result());
      continue;
    }
    const int changed = changed_in_place(node, reads[0], met);
    if (changed < 0) continue;
    old.insert(now);
    now = node->result(static_cast<size_t>(changed));
    met.insert(now);
  }
  return false;
}

Cost weigh_loop(const Node* loop) {
  Cost cost;
  size_t consts = loop->segments()[0], carried = consts + loop->segments()[1];
  for (size_t k = consts; k < carried; ++k)
    if (changes_in_place(*loop->regions().back(), k, k - consts, cost.given)) {
      cost.given.insert(loop->operand(k));
      cost.given.insert(loop->region(0).arg(k));  // of a `while`: the condition's
    }
  for (const auto& region : loop->regions()) {
    for (size_t i = 0; i < consts; ++i) cost.given.insert(region->arg(i));
    weigh(*region, cost);
  }
  // What is scanned and stacked may be of any size: a step sees a slice.
  for (size_t i = consts; i < carried; ++i) weigh_value(loop->operand(i), cost);
  return cost;
}

void visit(Block& block, Context& context) {
  for (Node* node : block) {
    if (is_terminator(node) || is_kernel(node) || ops::is_once(node)) continue;
    if (!ops::is_loop(node)) {
      for (const auto& region : node->regions()) visit(*region, context);
      continue;
    }
    Cost cost = weigh_loop(node);
    if (cost.refusal.empty()) {
      context.changed(fmt::format("program: {} of {} kernels, some {:.0f} operations a step",
                                  node->op().name(), cost.kernels, cost.work));
      ops::FusedKernel made;
      made.kind = "program";
      made.nodes.push_back(ops::FusionNode::of(node));
      made.together.operations = cost.work;
      context.fusion.kernels.push_back(std::move(made));
      make_program({&node, 1});
      continue;
    }
    context.details.push_back(
        fmt::format("{} does not become one kernel: {}", node->op().name(), cost.refusal));
    ops::FusionRefusal refusal;
    refusal.node = refusal.kernel_of = ops::FusionNode::of(node);
    refusal.kind = "program";
    refusal.reason = cost.refusal;
    context.fusion.refusals.push_back(std::move(refusal));
    for (const auto& region : node->regions()) visit(*region, context);
  }
}

}  // namespace

void join_loops(Graph& graph, Context& context) { visit(graph.body(), context); }

}  // namespace ig::passes
