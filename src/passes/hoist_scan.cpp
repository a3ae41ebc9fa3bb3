// Takes out of a scan what waits for no carry. A product of a slice of what is scanned with what is the same
// in every step is one product over all steps, made by the op's own batch rule; and what is the same in every
// step, and dear, is computed once. The scan then reads slices of the one and the whole of the other. A
// weight that most calls leave as it is goes the other way: products read it in a form that is made once for
// all calls, so turning it over is left to them, inside. Each element is computed by the same operations in
// the same order as before.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/control_attrs.h"
#include "ops/host_call.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

// What a value of the body depends on.
enum class Kind : uint8_t { Same, Slice, Varies };

bool is_scan(const Node* node) { return ops::way_of(node) == ops::Way::Scan; }

class Hoister {
 public:
  Hoister(Node* scan, Context& context)
      : scan_(scan),
        body_(scan->region(0)),
        context_(context),
        consts_(scan->segments()[0]),
        carries_(scan->segments()[1]),
        build_(*scan->block(), scan) {
    build_.at(scan);
  }

  void run() {
    classify();
    std::vector<Value> same, slices;
    for (Node* node : body_)
      for (Value v : node->results()) {
        if (kind_.at(v) == Kind::Same && leaves(v) && worth(v)) same.push_back(v);
        if (kind_.at(v) == Kind::Slice && product(node) && fits(v) && has_rules(v)) slices.push_back(v);
      }
    find_turned();
    if (same.empty() && slices.empty() && turned_.empty()) return;
    std::vector<std::pair<Value, Value>> new_same, new_slices;  // of the body, and what stands for it outside
    for (Value v : same) new_same.emplace_back(v, outside(v).first);
    for (Value v : slices) new_slices.emplace_back(v, stacked(v));
    for (const auto& [i, view] : turned_) say(view->result(), "is left to the products in every step");
    for (const auto& [v, out] : new_same) say(v, "is the same in every step");
    for (const auto& [v, out] : new_slices) say(v, "is one product over all steps");
    rebuild(new_same, new_slices);
  }

 private:
  void say(Value v, const char* what) {
    context_.changed(fmt::format("{} {}: {}", v->node()->op().name(), what, v->type().str()));
  }

  static bool product(const Node* node) {
    return ops::has(node, ops::Trait::Contraction) && node->results().size() == 1;
  }

  void classify() {
    for (size_t i = 0; i < body_.args().size(); ++i)
      kind_[body_.arg(i)] = i < consts_ ? Kind::Same : i < consts_ + carries_ ? Kind::Varies : Kind::Slice;
    for (Node* node : body_) {
      bool pure = !ops::has(node, ops::Trait::Effect) && node->regions().empty() &&
                  !ops::is_host_call(node) &&
                  std::all_of(node->results().begin(), node->results().end(),
                              [](Value v) { return v->type().is_tensor(); });
      Kind kind = pure ? Kind::Same : Kind::Varies;
      for (Value v : node->operands()) kind = std::max(kind, kind_.at(v));
      for (Value v : node->results()) kind_[v] = kind;
    }
  }

  // Read by what is not the same in every step.
  bool leaves(Value v) const {
    return std::any_of(v->uses().begin(), v->uses().end(), [&](const Use& use) {
      const auto results = use.user->results();
      if (results.empty() || kind_.at(results[0]) != Kind::Same) return true;
      return ops::has(use.user, ops::Trait::View) && grows(use.user);  // copies are made where they are read
    });
  }

  // A value worth a place in memory: it took a product, a fold or a function that is dear, or it is moved
  // about for a product.
  bool worth(Value v) const {
    if (ops::has(v->node(), ops::Trait::Constant) || ops::has(v->node(), ops::Trait::Relabel)) return false;
    if (ops::has(v->node(), ops::Trait::View) && grows(v->node())) return false;
    if (ops::has(v->node(), ops::Trait::View) &&
        std::any_of(v->uses().begin(), v->uses().end(), [](const Use& use) { return product(use.user); }))
      return !turns_steady(v->node()) || !only_products(v);
    return dear(v);
  }

  static bool only_products(Value v) {
    return std::all_of(v->uses().begin(), v->uses().end(), [](const Use& use) { return product(use.user); });
  }
  // Turns over a matrix that is an input of the graph which most calls leave as it is: those kernels read
  // packed.
  bool turns_steady(const Node* view) const {
    if (!ops::has(view, ops::Trait::View) || view->operands().size() != 1 || grows(view)) return false;
    Value v = view->operand(0);
    while (v->node() ? ops::has(v->node(), ops::Trait::Relabel) : outside_of_loop(v) != nullptr)
      v = v->node() ? v->node()->operand(0) : outside_of_loop(v);
    return !v->node() && !v->block()->parent() && constant_dims(v->type().dims) &&
           view->result()->type().rank() == 2 &&
           context_.options.steady.contains(static_cast<int>(v->index()));
  }
  void find_turned() {
    for (size_t i = 0; i < consts_; ++i) {
      Node* view = scan_->operand(i)->node();
      if (view && view->results().size() == 1 && !ops::has(view, ops::Trait::Relabel) && turns_steady(view) &&
          !body_.arg(i)->uses().empty() && only_products(body_.arg(i)))
        turned_[i] = view;
    }
  }
  static bool grows(const Node* node) {
    return node->operands().empty() ||
           ig::product(node->operand(0)->type().dims) != ig::product(node->result()->type().dims);
  }
  bool dear(Value v) const {
    const Node* node = v->node();
    if (!node) return false;
    const ops::Op& op = ops::op_of(node);
    if (op.has(ops::Trait::Contraction) || op.has(ops::Trait::Reduction) || op.decl.ulp > 0) return true;
    return std::any_of(node->operands().begin(), node->operands().end(), [&](Value o) { return dear(o); });
  }

  // The stacked product is kept in memory for all steps: not where it is much larger than what it is made of.
  static bool fits(Value v) {
    constexpr int64_t kMostGrowth = 16;
    auto out = constant_dims(v->type().dims);
    Dim read = int64_t{0};
    for (Value o : v->node()->operands()) read = read + ig::product(o->type().dims);
    if (!out || !read.is_constant()) return true;
    return ig::product(v->type().dims).constant() <= kMostGrowth * read.constant();
  }

  bool has_rules(Value v) const {
    const Node* node = v->node();
    if (!node || kind_.at(v) == Kind::Same) return true;
    return ops::op_of(node).rules.batch && std::all_of(node->operands().begin(), node->operands().end(),
                                                       [&](Value o) { return has_rules(o); });
  }

  // The value outside of the scan, for all steps at once, and the axis of the steps (-1: the same in all).
  std::pair<Value, int> outside(Value v) {
    if (auto it = made_.find(v); it != made_.end()) return it->second;
    const Node* node = v->node();
    if (!node) {
      size_t i = v->index();
      return made_[v] = {scan_->operand(i), i < consts_ ? -1 : 0};
    }
    std::vector<Value> operands;
    std::vector<int> axes;
    for (Value o : node->operands()) {
      auto [value, axis] = outside(o);
      operands.push_back(value);
      axes.push_back(axis);
    }
    build_.at(node);
    const ops::Op& op = ops::op_of(node);
    if (kind_.at(v) == Kind::Same) {
      Node* twin = build_.node(op, operands, node->attrs(), node->segments());
      for (size_t r = 0; r < node->results().size(); ++r) made_[node->result(r)] = {twin->result(r), -1};
    } else {
      ops::BatchContext context{build_, node, operands, axes, ops::scan_length(scan_)};
      ops::Batched out = op.rules.batch.get()(context);
      for (size_t r = 0; r < node->results().size(); ++r)
        made_[node->result(r)] = {out.results[r], out.axes[r]};
    }
    return made_.at(v);
  }

  Value stacked(Value v) {
    auto [value, axis] = outside(v);
    if (axis == 0) return value;
    Ints order{axis};
    for (int64_t a = 0; a < value->type().rank(); ++a)
      if (a != axis) order.push_back(a);
    return build_.transpose(value, order);
  }

  // The scan anew, with more constants and more to scan.
  void rebuild(const std::vector<std::pair<Value, Value>>& same,
               const std::vector<std::pair<Value, Value>>& slices) {
    auto graph = std::make_unique<Graph>("body");
    for (auto& [symbol, range] : scan_->block()->graph().dims.symbols()) graph->dims.declare(symbol, range);
    Block& to = graph->body();
    std::vector<Value> args, operands;
    std::unordered_map<Value, Value> instead;
    auto keep = [&](size_t i) {
      if (auto it = turned_.find(i); it != turned_.end()) {
        const Node* view = it->second;
        operands.push_back(view->operand(0));
        Value source = to.add_arg(view->operand(0)->type(), view->operand(0)->name());
        ops::Builder inside(to);
        inside.at(view);
        args.push_back(inside.node(ops::op_of(view), {source}, view->attrs())->result());
        return;
      }
      args.push_back(to.add_arg(body_.arg(i)->type(), body_.arg(i)->name()));
      operands.push_back(scan_->operand(i));
    };
    auto add = [&](const std::vector<std::pair<Value, Value>>& all) {
      for (const auto& [v, out] : all) {
        instead[v] = to.add_arg(v->type(), v->name());
        operands.push_back(out);
      }
    };
    for (size_t i = 0; i < consts_; ++i) keep(i);
    add(same);
    for (size_t i = consts_; i < body_.args().size(); ++i) keep(i);
    add(slices);
    Node* before = to.last();
    to.set_results(graph->inline_block(body_, to, args));
    Node* copy = before ? before->next() : to.first();
    for (Node* node : body_) {
      for (size_t r = 0; r < node->results().size(); ++r)
        if (auto it = instead.find(node->result(r)); it != instead.end())
          copy->result(r)->replace_all_uses_with(it->second);
      copy = copy->next();
    }
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(graph));
    std::vector<uint32_t> segments = scan_->segments();
    segments[0] += static_cast<uint32_t>(same.size());
    segments[2] += static_cast<uint32_t>(slices.size());
    build_.at(scan_);
    Node* made = build_.node(ops::op_of(scan_), operands, scan_->attrs(), segments, std::move(regions));
    replace(scan_, made->results());
    scan_->block()->graph().erase(scan_);
  }

  Node* scan_;
  const Block& body_;
  Context& context_;
  size_t consts_, carries_;
  std::map<size_t, Node*> turned_;  // constants of the scan that are such a view of a steady input
  ops::Builder build_;
  std::unordered_map<Value, Kind> kind_;
  std::unordered_map<Value, std::pair<Value, int>> made_;
};

}  // namespace

void hoist_scan(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block)
      if (!is_terminator(node) && is_scan(node)) Hoister(node, context).run();
  });
}

}  // namespace ig::passes
