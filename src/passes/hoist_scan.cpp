// Takes out of a scan what waits for no carry, and what no carry waits for. A product of a slice of what is
// scanned with what is the same in every step is one product over all steps, made by the op's own batch rule;
// and what is the same in every step, and dear, is computed once. The scan then reads slices of the one and
// the whole of the other. A product whose results are stacked, and read by no later step, is one product too,
// behind the scan, with all that is computed of it: its other operand is stacked in their place. And large
// sums of small products, as the gradients by a recurrence's weights are, are added up behind it, where a
// tile of them stays at hand for all steps (ops::add_products): the scan would read and write all of them in
// every step. A weight that most calls leave as it is goes the other way: products read it in a form that is
// made once for all calls, so turning it over is left to them, inside. Each element is computed by the same
// operations in the same order as before.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/contraction.h"
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
    classify();
  }

  // Takes out sums of products that only the sums themselves wait for; gives the scan that is left.
  Node* sum_behind() {
    std::vector<Sum> sums = sums_of_products();
    if (sums.empty()) return scan_;
    for (const Sum& sum : sums) say(sum.product->result(), "is added up behind the scan");
    return rebuild_without_sums(sums);
  }

  // Takes out what waits for no carry; gives the scan that is left.
  Node* hoist() {
    std::vector<Value> same, slices;
    for (Node* node : body_)
      for (Value v : node->results()) {
        if (kind_.at(v) == Kind::Same && leaves(v) && worth(v)) same.push_back(v);
        if (kind_.at(v) == Kind::Slice && product(node) && fits(v) && has_rules(v)) slices.push_back(v);
      }
    find_turned();
    if (same.empty() && slices.empty() && turned_.empty()) return scan_;
    std::vector<std::pair<Value, Value>> new_same, new_slices;  // of the body, and what stands for it outside
    for (Value v : same) new_same.emplace_back(v, outside(v).first);
    for (Value v : slices) new_slices.emplace_back(v, stacked(v));
    for (const auto& [i, view] : turned_) say(view->result(), "is left to the products in every step");
    for (const auto& [v, out] : new_same) say(v, "is the same in every step");
    for (const auto& [v, out] : new_slices) say(v, "is one product over all steps");
    return rebuild(new_same, new_slices);
  }

  // Takes out what no carry waits for.
  void sink() {
    find_sunk();
    if (sunk_.empty()) return;
    std::vector<Value> stacks = stacks_for_sunk();
    if (!fit(stacks)) return;
    for (const Node* node : sunk_)
      if (product(node)) say(node->result(), "is one product over all steps, behind the scan");
    rebuild_without_sunk(stacks);
  }

 private:
  void say(Value v, const char* what) {
    context_.changed(fmt::format("{} {}: {}", v->node()->op().name(), what, v->type().str()));
  }

  static bool product(const Node* node) {
    return ops::has(node, ops::Trait::Contraction) && node->results().size() == 1;
  }

  static bool pure(const Node* node) {
    return !ops::has(node, ops::Trait::Effect) && node->regions().empty() && !ops::is_host_call(node) &&
           std::all_of(node->results().begin(), node->results().end(),
                       [](Value v) { return v->type().is_tensor(); });
  }

  void classify() {
    for (size_t i = 0; i < body_.args().size(); ++i)
      kind_[body_.arg(i)] = i < consts_ ? Kind::Same : i < consts_ + carries_ ? Kind::Varies : Kind::Slice;
    for (Node* node : body_) {
      Kind kind = pure(node) ? Kind::Same : Kind::Varies;
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
    return is_steady(v, context_.options) && constant_dims(v->type().dims) &&
           view->result()->type().rank() == 2;
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

  // The stacked product is kept in memory for all steps. Where that is much more than all that the scan reads
  // and gives, the program may go step by step for its memory's sake, and a product that large gains nothing
  // by being one.
  bool fits(Value v) const {
    constexpr double kGrowth = 4, kMostGrowth = 16, kLittle = 64 << 20;  // the last one in bytes
    double there = 0;
    for (Value o : scan_->operands()) there += usual_elements(o);
    for (Value r : scan_->results()) there += usual_elements(r);
    const double stacked = usual(ops::scan_length(scan_)) * usual_elements(v);
    const bool little = stacked * static_cast<double>(size_of(v->type().dtype)) <= kLittle;
    return stacked <= (little ? kMostGrowth : kGrowth) * there;
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

  // Products with what is the same in every step, and what is computed of them, where all of it is only
  // stacked.
  void find_sunk() {
    std::unordered_set<const Node*> late;
    for (Node* node = body_.last(); node; node = node->previous()) {
      if (is_terminator(node) || !pure(node) || !ops::op_of(node).rules.batch) continue;
      const auto waits = [&](Value v) {
        return std::all_of(v->uses().begin(), v->uses().end(), [&](const Use& use) {
          return is_terminator(use.user) ? use.operand >= carries_ : late.contains(use.user);
        });
      };
      const auto results = node->results();
      if (!results.empty() && std::all_of(results.begin(), results.end(), waits)) late.insert(node);
    }
    std::unordered_set<const Node*> sunk;
    for (Node* node : body_) {
      if (!late.contains(node) || kind_.at(node->result(0)) != Kind::Varies) continue;
      const auto operands = node->operands();
      const bool begins = product(node) && std::any_of(operands.begin(), operands.end(),
                                                       [&](Value v) { return kind_.at(v) == Kind::Same; });
      if (!begins && std::none_of(operands.begin(), operands.end(),
                                  [&](Value v) { return v->node() && sunk.contains(v->node()); }))
        continue;
      sunk.insert(node);
      sunk_.push_back(node);
    }
    for (const Node* node : sunk_) sinks_.insert(node->results().begin(), node->results().end());
  }

  // What sunk nodes read that the scan has to stack for them.
  std::vector<Value> stacks_for_sunk() const {
    std::vector<Value> out;
    for (const Node* node : sunk_)
      for (Value v : node->operands()) {
        const bool there =
            sinks_.contains(v) || kind_.at(v) == Kind::Same || (kind_.at(v) == Kind::Slice && !v->node());
        if (!there && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
      }
    return out;
  }

  // Neither the stacks nor what is computed of them for all steps is much larger than the results that they
  // stand for: a loss of many classes, computed step by step, is there for its memory.
  bool fit(const std::vector<Value>& stacks) const {
    constexpr double kMostGrowth = 4;
    const auto results = body_.results().subspan(carries_);
    double more = 0, less = 0, largest = 0;
    for (Value v : stacks)
      if (std::find(results.begin(), results.end(), v) == results.end()) more += usual_elements(v);
    for (Value v : results)
      if (sinks_.contains(v)) less += usual_elements(v);
    for (Value v : sinks_) largest = std::max(largest, usual_elements(v));
    return std::max(more, largest) <= kMostGrowth * less;
  }
  // Of a size that is not known, something: the same in all that are compared.
  static double usual(const Dim& dim) {
    constexpr double kUsual = 32;
    return dim.is_constant() ? static_cast<double>(dim.constant()) : kUsual;
  }
  static double usual_elements(Value v) {
    double out = 1;
    for (const Dim& dim : v->type().dims) out *= usual(dim);
    return out;
  }

  // The scan anew, without these of its carries, and without what sinks: it stacks these values instead.
  Node* rebuild_with_stacks(const std::vector<Value>& stacks, const std::set<size_t>& left_out = {}) {
    std::vector<Value> results;  // of the body
    for (size_t i = 0; i < body_.results().size(); ++i)
      if (i < carries_ ? !left_out.contains(i) : !sinks_.contains(body_.results()[i]))
        results.push_back(body_.results()[i]);
    std::vector<size_t> place;  // of each stack
    for (Value v : stacks) {
      auto found =
          std::find(results.begin() + static_cast<int64_t>(carries_ - left_out.size()), results.end(), v);
      place.push_back(static_cast<size_t>(found - results.begin()));
      if (found == results.end()) results.push_back(v);
    }
    std::unique_ptr<Graph> graph = empty_body();
    Block& to = graph->body();
    std::vector<Value> args, operands;
    for (Value arg : body_.args()) args.push_back(to.add_arg(arg->type(), arg->name()));
    const std::unordered_map<Value, Value> copies = copy_body(*graph, args);
    for (Value& v : results) v = copies.at(v);
    to.set_results(results);
    for (Node* node = to.last(); node;) {
      Node* before = node->previous();
      if (!is_terminator(node) && !node->has_uses() && pure(node)) graph->erase(node);
      node = before;
    }
    for (size_t i = 0; i < body_.args().size(); ++i)
      if (i < consts_ || !left_out.contains(i - consts_)) operands.push_back(scan_->operand(i));
    for (auto i = left_out.rbegin(); i != left_out.rend(); ++i) to.erase_arg(consts_ + *i);
    std::vector<uint32_t> segments = scan_->segments();
    segments[1] -= static_cast<uint32_t>(left_out.size());
    Node* made = new_scan(std::move(graph), operands, segments);
    for (size_t i = 0; i < stacks.size(); ++i) made_[stacks[i]] = {made->result(place[i]), 0};
    return made;
  }

  void rebuild_without_sunk(const std::vector<Value>& stacks) {
    Node* made = rebuild_with_stacks(stacks);
    for (const Node* node : sunk_)
      for (Value v : node->results()) outside(v);
    std::vector<Value> instead;
    size_t next = 0;
    for (size_t i = 0; i < body_.results().size(); ++i) {
      Value v = body_.results()[i];
      instead.push_back(i < carries_ || !sinks_.contains(v) ? made->result(next++) : stacked(v));
    }
    replace(scan_, instead);
    scan_->block()->graph().erase(scan_);
  }

  struct Sum {
    size_t carry;
    const Node* product;
    bool turned;  // the product is turned over before it is added
  };

  // The carries that are only added to, in every step a product of a slice of what is scanned and of what may
  // be stacked beside it.
  std::vector<Sum> sums_of_products() const {
    std::vector<Sum> sums;
    for (size_t i = 0; i < carries_; ++i)
      if (auto sum = sum_of_products(i)) sums.push_back(*sum);
    // Stacked is at most twice what is scanned.
    int64_t scanned = 0;
    for (size_t i = consts_ + carries_; i < body_.args().size(); ++i)
      scanned += elements_of(body_.arg(i)).value_or(0);
    int64_t more = 0;
    for (Value v : stacks_for(sums)) more += elements_of(v).value_or(0);
    return more <= 2 * scanned ? sums : std::vector<Sum>();
  }

  std::optional<Sum> sum_of_products(size_t i) const {
    Value total = body_.arg(consts_ + i);
    if (total->uses().size() != 1) return std::nullopt;
    const Node* add = total->uses()[0].user;
    if (!ops::has(add, ops::Trait::Linear) || !ops::has(add, ops::Trait::Commutative)) return std::nullopt;
    const auto& sum_uses = add->result()->uses();
    if (sum_uses.size() != 1 || !is_terminator(sum_uses[0].user) || sum_uses[0].operand != i)
      return std::nullopt;
    Value added = add->operand(1 - total->uses()[0].operand);
    Sum sum{i, added->node(), false};
    if (sum.product && sum.product->attrs().find(ops::kPermutation.name) && added->type().rank() == 2 &&
        added->uses().size() == 1)
      sum = {i, sum.product->operand(0)->node(), true};
    if (!sum.product || sum.product->result()->uses().size() != 1 || !pays_behind(sum.product))
      return std::nullopt;
    return sum;
  }

  static std::optional<int64_t> elements_of(Value v) {
    const Dim all = ig::product(v->type().dims);
    return all.is_constant() ? std::optional(all.constant()) : std::nullopt;
  }

  // Such a product whose sum does not wait in the first cache from step to step. Where each step has more
  // than one term, tiles have totals and sums, which is dearer than to read and write a sum that lies near.
  bool pays_behind(const Node* dot) const {
    constexpr int64_t kFirstCache = 16 << 10, kMostTerms = 32;  // bytes; with more, there is work enough
    if (!product(dot) || !dot->attrs().find(ops::kLhsContract.name) ||
        !dot->attrs().get(ops::kLhsBatch).empty())
      return false;
    const Type& type = dot->result()->type();
    const Ints& axes = dot->attrs().get(ops::kLhsContract);
    const int lhs = dot->operand(0)->type().rank(), rhs = dot->operand(1)->type().rank();
    const auto folded = static_cast<int>(axes.size());
    if (!is_float(type.dtype) || lhs == folded || rhs == folded ||
        ops::accumulating_type(type.dtype, dot->attrs().get(ops::kAccumulate)) !=
            ops::accumulating_type(type.dtype, DType::F32))
      return false;
    Dim terms = int64_t{1};
    for (int64_t axis : axes) terms = terms * dot->operand(0)->type().dims[static_cast<size_t>(axis)];
    const auto elements = elements_of(dot->result());
    const int64_t bytes = elements.value_or(0) * static_cast<int64_t>(size_of(type.dtype));
    const auto near = static_cast<int64_t>(context_.options.machine.near) / 2;
    if (!terms.is_constant() || bytes < kFirstCache) return false;
    if (terms.constant() > (bytes < near ? 1 : kMostTerms)) return false;
    const auto scanned = [&](Value v) { return kind_.at(v) == Kind::Slice && !v->node(); };
    const auto operands = dot->operands();
    return std::any_of(operands.begin(), operands.end(), scanned) &&
           std::none_of(operands.begin(), operands.end(), [&](Value v) { return kind_.at(v) == Kind::Same; });
  }

  std::vector<Value> stacks_for(const std::vector<Sum>& sums) const {
    std::vector<Value> out;
    for (const Sum& sum : sums)
      for (Value v : sum.product->operands()) {
        const bool there = kind_.at(v) == Kind::Slice && !v->node();
        if (!there && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
      }
    return out;
  }

  Node* rebuild_without_sums(const std::vector<Sum>& sums) {
    std::set<size_t> left_out;
    for (const Sum& sum : sums) left_out.insert(sum.carry);
    Node* made = rebuild_with_stacks(stacks_for(sums), left_out);
    std::vector<Value> instead(scan_->results().size());
    for (const Sum& sum : sums) instead[sum.carry] = added_up(sum);
    size_t next = 0;
    for (Value& v : instead)
      if (!v) v = made->result(next++);
    replace(scan_, instead);
    scan_->block()->graph().erase(scan_);
    return made;
  }

  // [steps, terms, elements that the product keeps].
  Value factor(Value v, const Ints& folded) {
    Value x = outside(v).first;
    const int64_t rank = x->type().rank();
    Ints order{0};
    for (int64_t axis : folded) order.push_back(axis + 1);
    for (int64_t axis = 1; axis < rank; ++axis)
      if (std::find(folded.begin(), folded.end(), axis - 1) == folded.end()) order.push_back(axis);
    x = build_.transpose(x, order);
    const Dims& dims = x->type().dims;
    const auto kept = dims.begin() + 1 + static_cast<int64_t>(folded.size());
    return build_.reshape(
        x, {dims[0], ig::product(Dims(dims.begin() + 1, kept)), ig::product(Dims(kept, dims.end()))});
  }

  Value added_up(const Sum& sum) {
    build_.at(sum.product);
    Value lhs = factor(sum.product->operand(0), sum.product->attrs().get(ops::kLhsContract));
    Value rhs = factor(sum.product->operand(1), sum.product->attrs().get(ops::kRhsContract));
    if (sum.turned) std::swap(lhs, rhs);
    Value start = scan_->operand(consts_ + sum.carry);
    Value flat = build_.reshape(start, {lhs->type().dims[2], rhs->type().dims[2]});
    Value total = ops::add_products(build_, flat, lhs, rhs, scan_->attrs().get(ops::kReverse));
    return build_.reshape(total, start->type().dims);
  }

  // The scan anew, with more constants and more to scan.
  Node* rebuild(const std::vector<std::pair<Value, Value>>& same,
                const std::vector<std::pair<Value, Value>>& slices) {
    std::unique_ptr<Graph> graph = empty_body();
    Block& to = graph->body();
    std::vector<Value> args, operands;
    std::vector<std::pair<Value, Value>> instead;
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
        instead.emplace_back(v, to.add_arg(v->type(), v->name()));
        operands.push_back(out);
      }
    };
    for (size_t i = 0; i < consts_; ++i) keep(i);
    add(same);
    for (size_t i = consts_; i < body_.args().size(); ++i) keep(i);
    add(slices);
    const std::unordered_map<Value, Value> copies = copy_body(*graph, args);
    for (const auto& [v, arg] : instead) copies.at(v)->replace_all_uses_with(arg);
    std::vector<uint32_t> segments = scan_->segments();
    segments[0] += static_cast<uint32_t>(same.size());
    segments[2] += static_cast<uint32_t>(slices.size());
    Node* made = new_scan(std::move(graph), operands, segments);
    replace(scan_, made->results());
    scan_->block()->graph().erase(scan_);
    return made;
  }

  std::unique_ptr<Graph> empty_body() const {
    auto graph = std::make_unique<Graph>("body");
    for (auto& [symbol, range] : scan_->block()->graph().dims.symbols()) graph->dims.declare(symbol, range);
    return graph;
  }
  // The body's nodes and results on these arguments; gives what stands for each value of it.
  std::unordered_map<Value, Value> copy_body(Graph& graph, const std::vector<Value>& args) const {
    Block& to = graph.body();
    Node* before = to.last();
    to.set_results(graph.inline_block(body_, to, args));
    std::unordered_map<Value, Value> out;
    for (size_t i = 0; i < args.size(); ++i) out[body_.arg(i)] = args[i];
    const Node* copy = before ? before->next() : to.first();
    for (const Node* node : body_) {
      for (size_t r = 0; r < node->results().size(); ++r) out[node->result(r)] = copy->result(r);
      copy = copy->next();
    }
    return out;
  }
  Node* new_scan(std::unique_ptr<Graph> body, const std::vector<Value>& operands,
                 const std::vector<uint32_t>& segments) {
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(body));
    build_.at(scan_);
    return build_.node(ops::op_of(scan_), operands, scan_->attrs(), segments, std::move(regions));
  }

  Node* scan_;
  const Block& body_;
  Context& context_;
  size_t consts_, carries_;
  std::map<size_t, Node*> turned_;  // constants of the scan that are such a view of a steady input
  ops::Builder build_;
  std::unordered_map<Value, Kind> kind_;
  std::unordered_map<Value, std::pair<Value, int>> made_;
  std::vector<const Node*> sunk_;  // in the body's order
  std::unordered_set<Value> sinks_;
};

}  // namespace

void hoist_scan(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node = block.first(); node;) {
      Node* next = node->next();
      if (!is_terminator(node) && is_scan(node)) {
        node = Hoister(node, context).sum_behind();
        node = Hoister(node, context).hoist();
        Hoister(node, context).sink();
      }
      node = next;
    }
  });
}

}  // namespace ig::passes
