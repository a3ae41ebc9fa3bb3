// Puts the features of images last in memory where convolutions, windows and element-wise work pass them on,
// so that kernels read and write them by whole vectors and nothing is turned over between two of them. A
// layout is an order of axes: the nodes of a chain are written anew for the other order, and transpositions
// stand where a chain begins and ends. A fold that keeps the features (the mean of a batch norm, a squeeze
// and excite, the gradient of a bias) is no end of a chain, nor is a product that sums over all places (the
// gradient by the weights of one tap): they name their axes, whatever order these lie in. A chain is turned
// only where that moves fewer bytes; each element is computed by the same operations in the same order as
// before.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/across.h"
#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/shape_attrs.h"
#include "ops/window_attrs.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

template <class List>
List permuted(const List& list, const Ints& order) {
  if (list.empty()) return list;  // an attribute left at its default
  List out;
  for (int64_t axis : order) out.push_back(list[static_cast<size_t>(axis)]);
  return out;
}

// The order of axes that puts one of them last.
Ints with_last(std::string_view axes, char last) {
  Ints order;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != last) order.push_back(static_cast<int64_t>(i));
  order.push_back(static_cast<int64_t>(axes.find(last)));
  return order;
}

Ints inverse(const Ints& order) {
  Ints out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

bool is_identity(const Ints& order) { return std::ranges::is_sorted(order); }

bool is_convolution(const Node* node) { return node->attrs().find(ops::kConvLayout.name) != nullptr; }
// Its "kernel" is a cotangent, with a tap for each place: more than there are results, and no more than the
// image has. An image's features are its batch, and the examples what it sums over.
bool is_gradient_by_weights(const Node* convolution) {
  const ops::ConvDims d(convolution->attrs());
  const Dims &image = convolution->operand(0)->type().dims, &kernel = convolution->operand(1)->type().dims,
             &result = convolution->result()->type().dims;
  auto size = [](const Dims& dims, int64_t axis) { return dims[static_cast<size_t>(axis)]; };
  Dim taps = int64_t{1}, places = int64_t{1};
  for (size_t s = 0; s < static_cast<size_t>(d.spatial); ++s) {
    const Dim along = size(kernel, d.rhs_space[s]), elements = size(image, d.lhs_space[s]);
    if (along.is_constant() && elements.is_constant() && along.constant() > elements.constant()) return false;
    taps = taps * along, places = places * size(result, d.out_space[s]);
  }
  return !taps.is_constant() || (places.is_constant() && places.constant() < taps.constant());
}
bool is_window(const Node* node) {
  return node->attrs().find(ops::kWindow.name) != nullptr && node->results().size() == 1;
}
// Joins arrays along an axis.
bool is_join(const Node* node) {
  return ops::has(node, ops::Trait::View) && node->attrs().find(ops::kAxis.name) != nullptr;
}
bool is_fold(const Node* node) {
  return ops::has(node, ops::Trait::Reduction) && node->operands().size() == 1 &&
         node->attrs().find(ops::kAxes.name) != nullptr;
}
// Keeps the last axis of that order: its kernel goes along it, and reads the places as they lie then.
bool keeps_last(const Node* node, const Ints& order) {
  const Ints& folded = node->attrs().get(ops::kAxes);
  return std::ranges::find(folded, order.back()) == folded.end();
}
// A product that sums over all axes of its operands but one: each may lie in any order, as axes are named.
bool is_sum_of_products(const Node* node) {
  if (!node->attrs().find(ops::kLhsContract.name) || !node->attrs().get(ops::kLhsBatch).empty()) return false;
  auto all_but_one = [&](size_t i, const Ints& folded) {
    return static_cast<int>(folded.size()) + 1 == node->operand(i)->type().rank();
  };
  return all_but_one(0, node->attrs().get(ops::kLhsContract)) &&
         all_but_one(1, node->attrs().get(ops::kRhsContract));
}
bool is_broadcast(const Node* node) {
  return node && node->attrs().find(ops::kBroadcastDims.name) != nullptr && node->operands().size() == 1;
}

class Chooser {
 public:
  Chooser(Block& block, Context& context) : block_(block), context_(context) {}

  void run() {
    for (Node* node : block_) nodes_.push_back(node);
    if (std::ranges::none_of(nodes_, is_convolution)) return;
    for (Node* node : nodes_) join(node);
    for (Node* node : nodes_) count(node);
    if (!choose()) return;
    for (Node* node : nodes_)
      if (!is_terminator(node)) rewrite(node);
    finish();
  }

 private:
  // A set of values that must have one order of axes.
  struct Chain {
    std::map<Ints, double> votes;  // of kernels that want an order: bytes that it saves to move
    double ends = 0;               // bytes of values that come from, or go to, where the order is fixed
    Ints order;                    // chosen; empty: as it is
    size_t values = 0;
  };

  Value root(Value v) {
    auto it = parent_.find(v);
    if (it == parent_.end() || it->second == v) return v;
    return it->second = root(it->second);
  }
  void unite(Value a, Value b) {
    parent_.try_emplace(a, a);
    parent_.try_emplace(b, b);
    parent_[root(a)] = root(b);
  }
  bool known(Value v) const { return parent_.contains(v); }
  Chain* chain_of(Value v) {
    if (!known(v)) return nullptr;
    return &chains_[root(v)];
  }

  // Nodes whose result has the order of their operands, whatever it is.
  static bool passes_on(const Node* node) {
    if (node->results().size() != 1 || node->operands().empty() || !node->result()->type().is_tensor())
      return false;
    if (ops::has(node, ops::Trait::Elementwise)) return node->result()->type().rank() > 0;
    return is_window(node) || is_join(node) || node->attrs().find(ops::kPadInterior.name) != nullptr;
  }
  // Its operands that have the result's axes: what is spread out can be spread in any order.
  static std::vector<size_t> moved_operands(const Node* node) {
    std::vector<size_t> out;
    const bool all = ops::has(node, ops::Trait::Elementwise) || is_window(node) || is_join(node);
    for (size_t i = 0; i < (all ? node->operands().size() : 1); ++i) out.push_back(i);
    return out;
  }

  void join(Node* node) {
    if (is_convolution(node)) {
      for (Value v : {node->operand(0), node->operand(1), node->result()}) parent_.try_emplace(v, v);
    } else if (passes_on(node)) {
      for (size_t i : moved_operands(node))
        if (!is_broadcast(node->operand(i)->node())) unite(node->operand(i), node->result());
    }
  }

  // A size symbol counts as a number of this order.
  double bytes(Value v) {
    double n = static_cast<double>(size_of(v->type().dtype));
    for (const Dim& dim : v->type().dims) {
      constexpr int64_t kUsual = 64;
      std::vector<std::string> names;
      dim.collect_symbols(names);
      SymbolValues values;
      for (const std::string& name : names) {
        Range range = block_.graph().dims.range(name);
        values[name] = std::clamp(kUsual, range.low, range.high);
      }
      n *= static_cast<double>(dim.evaluate(values));
    }
    return n;
  }

  void vote(Value v, std::string_view axes, char last) {
    if (Chain* chain = chain_of(v)) chain->votes[with_last(axes, last)] += bytes(v);
  }

  void count(Node* node) {
    if (is_convolution(node)) {
      ops::ConvLayout layout(node->attrs().get(ops::kConvLayout));
      const bool by_weights = is_gradient_by_weights(node);
      vote(node->operand(0), layout.image, by_weights ? 'b' : 'f');
      if (by_weights) {
        vote(node->operand(1), layout.kernel, 'o');
        turns_over(node);
      } else
        vote(node->result(), layout.result, 'f');
      return;
    }
    const bool moves = passes_on(node);
    std::vector<size_t> moved = moves ? moved_operands(node) : std::vector<size_t>();
    for (size_t i = 0; i < node->operands().size(); ++i) {
      Value v = node->operand(i);
      if (std::ranges::find(moved, i) != moved.end() || !known(v)) continue;
      if (is_fold(node))
        folds_.push_back(node);
      else if (is_sum_of_products(node))
        products_.push_back(node);
      else
        leaves(v);
    }
    for (Value v : node->results())
      if (!moves && known(v)) leaves(v);
    if (moves) ++chains_[root(node->result())].values;
    if (is_window(node)) windows_.push_back(node);
  }
  // Of groups of several features the kernel of a gradient by weights turns the image over, element by
  // element, where these lie last: that costs more than the kernels around it are spared.
  void turns_over(const Node* gradient) {
    constexpr double kShortRuns = 4;
    const ops::ConvDims d(gradient->attrs());
    const Dim& features = gradient->operand(1)->type().dims[static_cast<size_t>(d.rhs_out)];
    if (d.batch_groups == 1 || features == Dim(d.batch_groups)) return;
    if (Chain* chain = chain_of(gradient->operand(0)))
      chain->ends += kShortRuns * bytes(gradient->operand(0));
  }
  // Turning over costs a kernel that reads and writes.
  void leaves(Value v) {
    if (ended_.insert(v).second) chain_of(v)->ends += 2 * bytes(v);
  }

  static const std::pair<const Ints, double>* best_of(const Chain& chain) {
    const std::pair<const Ints, double>* best = nullptr;
    for (const auto& option : chain.votes)
      if (best == nullptr || option.second > best->second) best = &option;
    return best;
  }

  bool choose() {
    for (Value v : block_.args())
      if (known(v)) leaves(v);
    bool any = false;
    // Windows are read by whole vectors in the order that the features are last; which that is, the chain
    // says.
    for (Node* node : windows_)
      if (Chain* chain = chain_of(node->operand(0)))
        for (auto& [order, saved] : chain->votes) {
          const Ints& window = node->attrs().get(ops::kWindow);
          if (window[static_cast<size_t>(order.back())] == 1) saved += 2 * bytes(node->operand(0));
        }
    for (const Node* node : folds_) {
      Value v = node->operand(0);
      const auto* best = best_of(*chain_of(v));
      if (!best || !keeps_last(node, best->first)) leaves(v);
    }
    // So does a product that sums over the places of all images, if it keeps the axis that comes last.
    for (const Node* node : products_)
      for (size_t i = 0; i < 2; ++i) {
        Value v = node->operand(i);
        Chain* chain = chain_of(v);
        const auto* best = chain ? best_of(*chain) : nullptr;
        const Ints& folded = node->attrs().get(i == 0 ? ops::kLhsContract : ops::kRhsContract);
        if (chain && (!best || std::ranges::find(folded, best->first.back()) != folded.end())) leaves(v);
      }
    std::unordered_set<Value> seen;
    for (const Node* node : nodes_) {  // in the order of the program
      if (node->results().empty() || !known(node->result(0)) || !seen.insert(root(node->result(0))).second)
        continue;
      Value first = node->result(0);
      Chain& chain = *chain_of(first);
      const auto* best = best_of(chain);
      if (best == nullptr || is_identity(best->first) || best->second <= chain.ends || chain.values == 0)
        continue;
      chain.order = best->first;
      any = true;
      context_.changed(fmt::format("{} values in the order [{}]: saves {:.0f} bytes, turns over {:.0f}",
                                   first->type().str(), fmt::join(chain.order, ", "), best->second,
                                   chain.ends / 2));
    }
    return any;
  }

  const Ints* order_of(Value v) {
    Chain* chain = chain_of(v);
    return chain && !chain->order.empty() ? &chain->order : nullptr;
  }

  // The value in its chain's order.
  Value turned(Value v, const Ints& order, ops::Builder& build) {
    if (auto it = turned_.find(v); it != turned_.end()) return it->second;
    if (is_broadcast(v->node()) && !order_of(v)) {
      const Ints places = inverse(order);
      Ints axes;
      for (int64_t axis : v->node()->attrs().get(ops::kBroadcastDims))
        axes.push_back(places[static_cast<size_t>(axis)]);
      Value from = v->node()->operand(0);
      // A broadcast names its operand's axes in ascending order.
      Ints by_place(axes.size());
      std::iota(by_place.begin(), by_place.end(), 0);
      std::ranges::sort(by_place, {}, [&](int64_t i) { return axes[static_cast<size_t>(i)]; });
      std::ranges::sort(axes);
      return build.broadcast(build.transpose(from, by_place), permuted(v->type().dims, order), axes);
    }
    return turned_[v] = build.transpose(v, order);
  }
  // The value as other nodes know it.
  Value plain(Value v, ops::Builder& build) {
    const Ints* order = order_of(v);
    if (!order || !made_.contains(v)) return v;
    Value& known_plain = plain_[v];
    if (!known_plain) known_plain = build.transpose(turned_.at(v), inverse(*order));
    return known_plain;
  }

  void rewrite(Node* node) {
    ops::Builder build(block_, node);
    build.at(node);
    if (is_convolution(node)) return rewrite_convolution(node, build);
    if (is_sum_of_products(node)) return rewrite_product(node, build);
    if (is_fold(node) && rewrite_fold(node, build)) return;
    const Ints* order = passes_on(node) ? order_of(node->result()) : nullptr;
    if (!order) {
      for (uint32_t i = 0; i < node->operands().size(); ++i)
        if (Value v = plain(node->operand(i), build); v != node->operand(i)) node->set_operand(i, v);
      return;
    }
    std::vector<Value> operands(node->operands().begin(), node->operands().end());
    for (size_t i : moved_operands(node)) operands[i] = turned(operands[i], *order, build);
    Attrs attrs = node->attrs();
    auto turn = [&](const auto& attr) {
      if (attrs.find(attr.name)) attrs.set(attr, permuted(attrs.get(attr), *order));
    };
    if (is_window(node)) {
      turn(ops::kWindow), turn(ops::kWindowStrides), turn(ops::kWindowDilations);
      Ints padding;
      const Ints& before = attrs.get(ops::kWindowPadding);
      if (!before.empty())
        for (int64_t axis : *order)
          for (size_t side : {0u, 1u}) padding.push_back(before[2 * static_cast<size_t>(axis) + side]);
      attrs.set(ops::kWindowPadding, padding);
    } else if (is_join(node)) {
      attrs.set(ops::kAxis, inverse(*order)[static_cast<size_t>(attrs.get(ops::kAxis))]);
    } else if (!ops::has(node, ops::Trait::Elementwise)) {
      turn(ops::kPadLow), turn(ops::kPadHigh), turn(ops::kPadInterior);
    }
    done(node, build.node(ops::op_of(node), operands, std::move(attrs))->result());
  }

  void rewrite_convolution(Node* node, ops::Builder& build) {
    ops::ConvLayout layout(node->attrs().get(ops::kConvLayout));
    const ops::ConvLayout before = layout;
    std::vector<Value> operands(node->operands().begin(), node->operands().end());
    std::string* letters[] = {&layout.image, &layout.kernel};
    for (size_t i = 0; i < 2; ++i)
      if (const Ints* order = order_of(operands[i])) {
        operands[i] = turned(operands[i], *order, build);
        *letters[i] = reordered(*letters[i], *order);
      }
    const Ints* order = order_of(node->result());
    if (order) layout.result = reordered(layout.result, *order);
    if (layout.str() == before.str()) return;
    Attrs attrs = node->attrs();
    attrs.set(ops::kConvLayout, layout.str());
    Value result = build.node(ops::op_of(node), operands, std::move(attrs))->result();
    if (order) return done(node, result);
    Value results[] = {result};
    replace(node, results);
    old_.push_back(node);
  }
  // Its result has one axis of each operand, whatever order they lie in.
  void rewrite_product(Node* node, ops::Builder& build) {
    std::vector<Value> operands(node->operands().begin(), node->operands().end());
    Attrs attrs = node->attrs();
    bool any = false;
    for (size_t i = 0; i < 2; ++i)
      if (const Ints* order = order_of(operands[i])) {
        operands[i] = turned(operands[i], *order, build), any = true;
        const auto& attr = i == 0 ? ops::kLhsContract : ops::kRhsContract;
        const Ints places = inverse(*order);
        Ints folded = attrs.get(attr);
        for (int64_t& axis : folded) axis = places[static_cast<size_t>(axis)];
        attrs.set(attr, folded);
      }
    if (!any) return;
    Value result = build.node(ops::op_of(node), operands, std::move(attrs))->result();
    replace(node, std::span(&result, 1));
    old_.push_back(node);
  }
  // In the chain's order, where what is kept has the same order in both: then so have the sums.
  bool rewrite_fold(Node* node, ops::Builder& build) {
    const Ints* order = order_of(node->operand(0));
    if (!order || node->results().size() != 1 || ops::order_shows(node)) return false;
    const Ints places = inverse(*order), &before = node->attrs().get(ops::kAxes);
    Ints folded, kept;
    for (int64_t axis = 0; axis < node->operand(0)->type().rank(); ++axis)
      (std::ranges::find(before, axis) == before.end() ? kept : folded)
          .push_back(places[static_cast<size_t>(axis)]);
    if (!std::ranges::is_sorted(folded) || !std::ranges::is_sorted(kept)) return false;
    Attrs attrs = node->attrs();
    attrs.set(ops::kAxes, folded);
    Node* fold = build.node(ops::op_of(node), {turned(node->operand(0), *order, build)}, std::move(attrs));
    fold->result()->set_name(node->result()->name());
    Value result = fold->result();
    replace(node, std::span(&result, 1));
    old_.push_back(node);
    return true;
  }
  static std::string reordered(const std::string& letters, const Ints& order) {
    std::string out;
    for (int64_t axis : order) out += letters[static_cast<size_t>(axis)];
    return out;
  }

  void done(Node* node, Value result) {
    result->set_name(node->result()->name());
    turned_[node->result()] = result;
    made_.insert(node->result());
    old_.push_back(node);
  }

  // What the block gives keeps its order; the nodes that were written anew go.
  void finish() {
    Node* end = block_.terminator();
    ops::Builder build(block_, end);
    for (uint32_t i = 0; i < end->operands().size(); ++i)
      if (Value v = plain(end->operand(i), build); v != end->operand(i)) {
        v->set_name(end->operand(i)->name());
        end->set_operand(i, v);
      }
    for (auto it = old_.rbegin(); it != old_.rend(); ++it)
      if (!(*it)->has_uses()) block_.graph().erase(*it);
  }

  Block& block_;
  Context& context_;
  std::vector<Node*> nodes_, windows_, folds_, products_, old_;
  std::unordered_map<Value, Value> parent_;
  std::unordered_map<Value, Chain> chains_;
  std::unordered_set<Value> ended_, made_;
  std::unordered_map<Value, Value> turned_, plain_;
};

}  // namespace

void choose_layouts(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) { Chooser(block, context).run(); });
}

}  // namespace ig::passes
