// Follows between which bounds whole numbers lie (the ops' rules, ops/bounds.h), through branches and loops,
// and writes a constant where a truth follows from them: an index that counts a loop's steps needs no test
// for being negative and no check for being outside, and a loop without checks may become one kernel.
//
// Of a loop, what is carried is first taken to be anything, which shows what a step adds to it: with the
// number of steps that bounds a counter. The rest begins with what the loop is given and grows by what a step
// gives, side by side, first to that, then to all that the type holds, until a step gives nothing new. Inside
// of a `while` the condition holds.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/control_attrs.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

using ops::Bounds;
using Known = std::unordered_map<Value, Bounds>;

constexpr int64_t kMostSteps = int64_t{1} << 56;  // of any loop: it would run for years

Bounds without_origin(Bounds b) {
  b.origin = nullptr, b.least = b.most = 0;
  return b;
}

class Prover {
 public:
  explicit Prover(Context& context) : context_(context) {}

  // Follows the block's nodes; the bounds of its arguments are known. Writes what is proved if so asked.
  void follow(Block& block, bool write) {
    for (Node* node : block) {
      if (is_terminator(node)) break;
      if (!node->regions().empty()) {
        control(node, write);
        continue;
      }
      const ops::Op& op = ops::op_of(node);
      if (op.has(ops::Trait::Effect)) effect(node, write);
      if (!op.rules.bounds) continue;
      for (uint32_t r = 0; r < node->results().size(); ++r) {
        if (!ops::bounds_of_type(node->result(r)->type().dtype).known) continue;
        std::vector<Bounds> x;
        for (Value v : node->operands()) x.push_back(of(v));
        known_[node->result(r)] = op.rules.bounds({node, x, r});
      }
      if (write) write_truth(node);
    }
  }

 private:
  Bounds of(Value v) const {
    if (!v->type().is_tensor()) return {};
    auto it = known_.find(v);
    return it == known_.end() ? ops::bounds_of_type(v->type().dtype) : it->second;
  }
  std::vector<Bounds> of(std::span<const Value> values) const {
    std::vector<Bounds> out;
    for (Value v : values) out.push_back(of(v));
    return out;
  }

  // What the effect asks for (a check) holds behind it.
  void effect(Node* node, bool write) {
    for (uint32_t i = 0; write && i < node->operands().size(); ++i)
      if (const Value v = node->operand(i); is_proved(v)) {
        context_.changed(
            fmt::format("an operand of {} is {}", node->op().name(), of(v).low ? "true" : "false"));
        node->set_operand(i, constant(node, v));
      }
    Known behind;
    suppose_operands(node, behind);
    for (const auto& [v, bounds] : behind) known_[v] = bounds;
  }

  bool is_proved(Value v) const {
    return v->type().is_tensor() && v->type().dtype == DType::Bool && of(v).exact() && !is_constant(v);
  }
  Value constant(Node* before, Value v) {
    ops::Builder build(*before->block(), before);
    build.at(before);
    const Value out = build.full(v->type(), static_cast<double>(of(v).low));
    known_[out] = of(v);
    return out;
  }

  void write_truth(Node* node) {
    if (node->results().size() != 1 || !node->has_uses()) return;
    const Value v = node->result();
    if (!is_proved(v)) return;
    const Value truth = constant(node, v);
    context_.changed(fmt::format("{} is {}", node->op().name(), of(v).low ? "true" : "false"));
    replace(node, std::span(&truth, 1));
  }

  static bool is_constant(Value v) {
    while (v->node() && ops::has(v->node(), ops::Trait::View) && v->node()->operands().size() == 1)
      v = v->node()->operand(0);
    return v->node() && ops::has(v->node(), ops::Trait::Constant);
  }

  void control(Node* node, bool write) {
    if (ops::is_loop(node)) return loop(node, write);
    const ops::Way way = ops::way_of(node);
    const bool branches = way == ops::Way::Cond || way == ops::Way::Switch;
    for (size_t r = 0; r < node->regions().size(); ++r) {
      // Of a call the first region runs; others are rules, of whose arguments nothing is known.
      const bool given = branches || (way == ops::Way::Call && r == 0);
      Block& region = node->region(r);
      Known here;
      if (way == ops::Way::Cond && r == 0) suppose(node->operand(0), here);
      for (size_t i = 0; given && i < region.args().size(); ++i) {
        const Value operand = node->operand(i + branches);
        auto narrowed = here.find(operand);
        known_[region.arg(i)] = narrowed == here.end() ? of(operand) : narrowed->second;
      }
      follow(region, write);
      for (size_t i = 0; given && i < region.results().size(); ++i) {
        const Value result = node->result(i);
        const Bounds out = of(region.results()[i]);
        known_[result] = r == 0 ? out : ops::bounds_of_either(of(result), out, result->type().dtype);
      }
    }
  }

  // What follows of other values where this one is true.
  void suppose(Value v, Known& out) {
    if (v->type().dtype == DType::Bool) out[v] = {.known = true, .low = 1, .high = 1};
    if (v->node()) suppose_operands(v->node(), out);
  }

  // What follows of a node's operands where its result is true.
  void suppose_operands(const Node* node, Known& out) {
    auto seen = [&](Value operand) {
      auto it = out.find(operand);
      return it == out.end() ? of(operand) : it->second;
    };
    if (!ops::op_of(node).rules.implies) return;
    std::vector<Bounds> x;
    for (Value operand : node->operands()) x.push_back(seen(operand));
    ops::ImpliesContext context{node, x};
    ops::op_of(node).rules.implies(context);
    for (size_t i = 0; i < x.size(); ++i) {
      const Value operand = node->operand(i);
      if (x[i] == seen(operand) || x[i].low > x[i].high) continue;  // the latter: never true
      out[operand] = x[i];
      if (operand->type().dtype == DType::Bool && x[i].low == 1) suppose(operand, out);
    }
  }

  // One step from these carries; gives what it makes of them.
  std::vector<Bounds> step(Node* loop, std::span<const Bounds> carried, bool write) {
    const size_t consts = loop->segments()[0], carries = carried.size();
    Block& body = loop->region(loop->regions().size() - 1);
    for (size_t i = 0; i < loop->operands().size(); ++i)
      known_[body.arg(i)] = i < consts || i >= consts + carries ? of(loop->operand(i)) : carried[i - consts];
    if (loop->regions().size() == 2) {
      Block& condition = loop->region(0);
      for (size_t i = 0; i < consts + carries; ++i)
        known_[condition.arg(i)] = without_origin(of(body.arg(i)));
      follow(condition, write);
      Known here;
      suppose(condition.results()[0], here);
      for (size_t i = 0; i < consts + carries; ++i)
        if (auto it = here.find(condition.arg(i)); it != here.end()) {
          Bounds& narrowed = known_[body.arg(i)];
          narrowed.low = it->second.low, narrowed.high = it->second.high;
        }
    }
    for (size_t k = 0; k < carries; ++k) {
      Bounds& b = known_[body.arg(consts + k)];
      b.origin = body.arg(consts + k), b.least = b.most = 0;
    }
    follow(body, write);
    return of(body.results());
  }

  void loop(Node* loop, bool write) {
    const size_t consts = loop->segments()[0], carries = loop->segments()[1];
    const Block& body = loop->region(loop->regions().size() - 1);
    auto type = [&](size_t k) { return operand(loop, k)->type().dtype; };
    // An outer loop asks again and again, and mostly of the same.
    const std::vector<Bounds> given = of(loop->operands());
    const Followed& before = followed_[loop];
    if (!write && before.given == given && !before.results.empty()) {
      for (size_t i = 0; i < before.results.size(); ++i) known_[loop->result(i)] = before.results[i];
      return;
    }
    std::vector<Bounds> carried, out;
    for (size_t k = 0; k < carries; ++k) carried.push_back(ops::bounds_of_type(type(k)));
    const bool any = std::ranges::any_of(carried, &Bounds::known);
    std::vector<std::optional<Bounds>> counted(carries);  // what becomes of what counts
    if (any) {
      out = step(loop, carried, false);
      for (size_t k = 0; k < carries; ++k) {
        const Bounds init = of(operand(loop, k));
        carried[k] = without_origin(init);
        if (!init.known || out[k].origin != body.arg(consts + k)) continue;
        const Count count = count_of(loop, init, out[k], type(k));
        if (count.meanwhile == ops::bounds_of_type(type(k))) continue;  // it may go round
        carried[k] = count.meanwhile, counted[k] = count.behind;
      }
      grow(loop, counted, carried, out);
    }
    if (!any || write) out = step(loop, carried, write);
    for (size_t k = 0; k < carries; ++k) {
      const Bounds either = ops::bounds_of_either(of(operand(loop, k)), out[k], type(k));
      known_[loop->result(k)] = counted[k].value_or(without_origin(either));
    }
    for (size_t y = carries; y < loop->results().size(); ++y)
      known_[loop->result(y)] = without_origin(out[y]);
    followed_[loop] = {given, of(loop->results())};
  }

  // What the carry begins as.
  static Value operand(const Node* loop, size_t k) { return loop->operand(loop->segments()[0] + k); }

  // The bounds of what gains so much in each step, at the beginning of any step and behind the last one.
  struct Count {
    Bounds meanwhile, behind;
  };
  static Count count_of(const Node* loop, const Bounds& init, const Bounds& gain, DType type) {
    const bool counted = loop->regions().size() == 1 && ops::scan_length(loop).is_constant();
    const ops::Wide steps = counted ? std::max<int64_t>(ops::scan_length(loop).constant(), 0) : kMostSteps;
    const ops::Wide less = std::min<int64_t>(gain.least, 0), more = std::max<int64_t>(gain.most, 0);
    const ops::Wide before = std::max<ops::Wide>(steps - 1, 0);
    return {ops::bounds_within(type, init.low + less * before, init.high + more * before),
            ops::bounds_within(type, init.low + (counted ? gain.least : less) * steps,
                               init.high + (counted ? gain.most : more) * steps)};
  }

  // Makes what is carried hold for every step.
  void grow(Node* loop, const std::vector<std::optional<Bounds>>& counted, std::vector<Bounds>& carried,
            std::vector<Bounds>& out) {
    for (int turn = 0;; ++turn) {
      out = step(loop, carried, false);
      bool stays = true;
      for (size_t k = 0; k < carried.size(); ++k) {
        if (counted[k] || !carried[k].known) continue;
        const Bounds all = ops::bounds_of_type(operand(loop, k)->type().dtype);
        const Bounds next = out[k].known ? out[k] : all;
        Bounds& now = carried[k];
        if (next.low < now.low) now.low = turn == 0 ? next.low : all.low, stays = false;
        if (next.high > now.high) now.high = turn == 0 ? next.high : all.high, stays = false;
      }
      if (stays) break;
    }
    // That was taken wide; what begins a step and what it gives may be less, if that holds for every step
    // too.
    std::vector<Bounds> less = carried;
    for (size_t k = 0; k < carried.size(); ++k)
      if (!counted[k])
        less[k] = without_origin(
            ops::bounds_of_either(of(operand(loop, k)), out[k], operand(loop, k)->type().dtype));
    const std::vector<Bounds> then = step(loop, less, false);
    auto holds = [&](size_t k) {
      return counted[k] || !less[k].known || (then[k].low >= less[k].low && then[k].high <= less[k].high);
    };
    bool all = true;
    for (size_t k = 0; k < carried.size(); ++k) all = all && holds(k);
    if (all)
      carried = less, out = then;
    else
      out = step(loop, carried, false);
  }

  // What a loop gave, and of what.
  struct Followed {
    std::vector<Bounds> given, results;
  };

  Context& context_;
  Known known_;
  std::unordered_map<const Node*, Followed> followed_;
};

}  // namespace

void prove_bounds(Graph& graph, Context& context) { Prover(context).follow(graph.body(), true); }

}  // namespace ig::passes
