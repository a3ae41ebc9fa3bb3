// Puts the batch of many small problems last in memory. In a loop over arrays
// [batch, small, small], as vmap makes them, short axes leave the lanes of
// vectors empty: slices of single columns, products of 3 x 3. With the batch
// last, [small, small, batch], each element of the small problems is a row of
// vectors. A loop is written anew in that order, and what it reads and gives is
// turned over outside of it, where that moves fewer bytes than it saves. Each
// element is computed by the same operations in the same order as before.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/saved_values.h"
#include "ops/shape_attrs.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

constexpr int64_t kLeastBatch = 32;       // examples that fill vectors
constexpr int64_t kLargestExample = 256;  // elements of one example's value: beyond it rows fill vectors
constexpr int64_t kShortRow = 16;         // elements that leave lanes of vectors empty

using ops::Trait;

// The order of axes that puts one of them last.
Ints with_last(int rank, int axis) {
  Ints order;
  for (int i = 0; i < rank; ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  return order;
}

Ints inverse(const Ints& order) {
  Ints out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

template <class List>
List permuted(const List& list, const Ints& order) {
  List out;
  for (int64_t axis : order) out.push_back(list[static_cast<size_t>(axis)]);
  return out;
}

bool contains(const Ints& list, int64_t what) { return std::ranges::find(list, what) != list.end(); }

// Writes the regions of one loop anew, and counts what that saves and costs a
// step, in bytes moved.
class Turner {
 public:
  Turner(Node* loop, Dim batch) : loop_(loop), batch_(std::move(batch)) {}

  // False where the loop stays as it is.
  bool run(Context& context) {
    for (const auto& region : loop_->regions()) {
      std::vector<int> wanted;
      bool body = region.get() == loop_->regions().back().get();
      for (Value v : region->results()) wanted.push_back(body ? axis_of(v->type()) : -1);
      regions_.push_back(rewritten(*region, wanted));
      if (too_large_) return false;
    }
    count_slices();
    if (gain_ <= loss_) return false;
    context.changed(
        fmt::format("{} with its batch of {} last: saves {:.0f} "
                    "bytes a step, turns over {:.0f}",
                    loop_->op().name(), batch_.str(), gain_, loss_));
    replace_loop();
    return true;
  }

 private:
  // What is scanned and stacked is turned over in every step's slice.
  void count_slices() {
    if (ops::way_of(loop_) != ops::Way::Scan) return;
    const Block& body = *loop_->regions().back();
    auto count = [&](const Type& type) {
      if (axis_of(type) >= 0 && !is_last(type, axis_of(type))) loss_ += 2 * bytes(type);
    };
    for (size_t i = loop_->segments()[0] + loop_->segments()[1]; i < body.args().size(); ++i)
      count(body.arg(i)->type());
    for (size_t i = loop_->segments()[1]; i < body.results().size(); ++i) count(body.results()[i]->type());
  }

  // A value of the old region in the new one: as it was, with the batch last,
  // or both, each made when asked for. `axis` is where the batch was; -1 where
  // there is none.
  struct Known {
    Value plain = nullptr, turned = nullptr;
    int axis = -1;
  };

  int axis_of(const Type& type) const {
    if (!type.is_tensor() || type.rank() == 0) return -1;
    if (type.dims.front() == batch_) return 0;
    return type.dims.back() == batch_ ? type.rank() - 1 : -1;
  }
  static Type turned_type(const Type& type, int axis) {
    Type out = type;
    if (axis >= 0) out.dims = permuted(type.dims, with_last(type.rank(), axis));
    return out;
  }
  double bytes(const Type& type) const {
    double n = static_cast<double>(size_of(type.dtype));
    for (const Dim& dim : type.dims)
      n *= static_cast<double>(ops::usual_size(dim, loop_->block()->graph().dims));
    return n;
  }
  static bool is_last(const Type& type, int axis) { return axis + 1 == type.rank(); }
  static bool is_short(const Dim& row) { return row.is_constant() && row.constant() < kShortRow; }

  Value plain(Value old, ops::Builder& build) {
    Known& known = known_.at(old);
    if (known.plain) return known.plain;
    if (!is_last(old->type(), known.axis)) loss_ += 2 * bytes(old->type());
    return known.plain = build.transpose(known.turned, inverse(with_last(old->type().rank(), known.axis)));
  }
  Value turned(Value old, int axis, ops::Builder& build) {
    Known& known = known_.at(old);
    if (known.axis == axis && known.turned) return known.turned;
    const Ints order = with_last(old->type().rank(), axis);
    const Node* node = old->node();
    if (known.axis < 0 && node && is_broadcast(node)) {
      const Ints& map = node->attrs().get(ops::kBroadcastDims);
      const Ints places = inverse(order);
      Ints axes;
      for (int64_t to : map) axes.push_back(places[static_cast<size_t>(to)]);
      // A broadcast names its operand's axes in ascending order.
      Ints by_place(axes.size());
      std::iota(by_place.begin(), by_place.end(), 0);
      std::ranges::sort(by_place, {}, [&](int64_t i) { return axes[static_cast<size_t>(i)]; });
      std::ranges::sort(axes);
      return build.broadcast(build.transpose(plain(node->operand(0), build), by_place),
                             permuted(old->type().dims, order), axes);
    }
    Value from = plain(old, build);
    if (!is_last(old->type(), axis)) loss_ += 2 * bytes(old->type());
    Value out = build.transpose(from, order);
    if (known.axis == axis || known.axis < 0) known.turned = out, known.axis = axis;
    return out;
  }
  static bool is_broadcast(const Node* node) {
    return node->attrs().find(ops::kBroadcastDims.name) && node->operands().size() == 1;
  }

  std::unique_ptr<Graph> rewritten(const Block& block, const std::vector<int>& wanted) {
    auto graph = std::make_unique<Graph>("region");
    graph->dims = block.graph().dims;
    ops::Builder build(graph->body());
    for (Value arg : block.args()) {
      int axis = axis_of(arg->type());
      Value in = graph->body().add_arg(turned_type(arg->type(), axis), arg->name());
      measure(arg->type(), axis);
      enter(arg, in, axis);
    }
    for (Node* node : block) {
      if (is_terminator(node)) break;
      build.at(node);
      if (!written_anew(node, build)) as_it_was(node, build);
      if (too_large_) return nullptr;
    }
    std::vector<Value> results;
    for (size_t i = 0; i < wanted.size(); ++i) {
      Value v = block.results()[i];
      results.push_back(wanted[i] < 0 ? plain(v, build) : turned(v, wanted[i], build));
    }
    graph->body().set_results(std::move(results));
    return graph;
  }

  void measure(const Type& type, int axis) {
    if (axis < 0) return;
    double example =
        bytes(type) / static_cast<double>(size_of(type.dtype)) /
        static_cast<double>(std::max<int64_t>(1, ops::usual_size(batch_, loop_->block()->graph().dims)));
    too_large_ = too_large_ || example > static_cast<double>(kLargestExample);
  }
  void enter(Value old, Value with_batch_last, int axis) {
    Known& known = known_[old];
    known.axis = axis;
    if (axis >= 0) known.turned = with_batch_last;
    if (axis < 0 || is_last(old->type(), axis)) known.plain = with_batch_last;
    measure(old->type(), axis);
    if (with_batch_last->name().empty()) with_batch_last->set_name(old->name());
  }

  void as_it_was(Node* node, ops::Builder& build) {
    std::vector<Value> operands;
    bool any = false;
    for (Value v : node->operands()) {
      any = any || known_.at(v).axis >= 0;
      operands.push_back(plain(v, build));
    }
    Node* twin = copy_node(node, build.block(), std::move(operands), build.before());
    for (size_t i = 0; i < node->results().size(); ++i) {
      Value old = node->result(i);
      int axis = any ? axis_of(old->type()) : -1;
      known_[old] = {twin->result(i), nullptr, axis};
      if (axis >= 0 && is_last(old->type(), axis)) known_[old].turned = twin->result(i);
      measure(old->type(), axis);
    }
  }

  bool written_anew(Node* node, ops::Builder& build) {
    if (node->results().size() != 1 || node->operands().empty() || !node->regions().empty()) return false;
    Value first = nullptr;
    for (Value v : node->operands())
      if (!first && known_.at(v).axis >= 0) first = v;
    if (!first) return false;
    const int axis = known_.at(first).axis;
    const Attrs& attrs = node->attrs();
    if (ops::has(node, Trait::Elementwise)) return elementwise(node, axis, build);
    if (attrs.find(ops::kLhsContract.name) && !ops::has(node, Trait::Composite)) return product(node, build);
    if (ops::has(node, Trait::Reduction)) return fold(node, axis, build);
    if (!ops::has(node, Trait::View)) return false;
    if (is_broadcast(node)) return spread(node, axis, build);
    if (attrs.find(ops::kOffsetDims.name)) return gathered(node, build);
    if (attrs.find(ops::kSliceSizes.name)) return slice_at(node, axis, build);
    if (attrs.empty()) return update_at(node, axis, build);
    if (attrs.find(ops::kStart.name)) return slice(node, axis, build);
    if (attrs.find(ops::kPermutation.name)) return transposed(node, axis, build);
    if (attrs.find(ops::kAxis.name)) return joined(node, axis, build);
    if (attrs.find(ops::kShape.name) && ops::has(node, Trait::Relabel)) return relabelled(node, axis, build);
    return false;
  }

  bool elementwise(Node* node, int axis, ops::Builder& build) {
    if (node->result()->type().rank() == 0) return false;
    std::vector<Value> operands;
    for (Value v : node->operands()) operands.push_back(turned(v, axis, build));
    enter(node->result(), build.node(ops::op_of(node), operands, node->attrs())->result(), axis);
    return true;
  }

  bool spread(Node* node, int axis, ops::Builder& build) {
    const Type &from = node->operand(0)->type(), &to = node->result()->type();
    const Ints& map = node->attrs().get(ops::kBroadcastDims);
    const auto place = static_cast<int>(map[static_cast<size_t>(axis)]);
    if (!(to.dims[static_cast<size_t>(place)] == batch_)) return false;
    const Ints places = inverse(with_last(to.rank(), place));
    Ints axes;
    for (int64_t i : with_last(from.rank(), axis))
      axes.push_back(places[static_cast<size_t>(map[static_cast<size_t>(i)])]);
    Value out = build.broadcast(turned(node->operand(0), axis, build),
                                permuted(to.dims, with_last(to.rank(), place)), axes);
    enter(node->result(), out, place);
    return true;
  }

  bool slice(Node* node, int axis, ops::Builder& build) {
    const Type &from = node->operand(0)->type(), &to = node->result()->type();
    if (!(from.dims[static_cast<size_t>(axis)] == to.dims[static_cast<size_t>(axis)])) return false;
    const Ints order = with_last(from.rank(), axis);
    Attrs attrs = node->attrs();
    attrs.set(ops::kStart, permuted(attrs.get(ops::kStart), order));
    attrs.set(ops::kLimit, permuted(attrs.get(ops::kLimit), order));
    if (const Ints& strides = attrs.get(ops::kSliceStrides); !strides.empty())
      attrs.set(ops::kSliceStrides, permuted(Ints(strides), order));
    if (!is_last(from, axis) && !(from.dims.back() == to.dims.back()) && is_short(to.dims.back()))
      gain_ += 2 * bytes(to);
    enter(node->result(),
          build.node(ops::op_of(node), {turned(node->operand(0), axis, build)}, std::move(attrs))->result(),
          axis);
    return true;
  }

  // Slices at computed places, which are the same for all examples.
  bool all_plain(const Node* node, size_t first) {
    for (size_t i = first; i < node->operands().size(); ++i)
      if (known_.at(node->operand(i)).axis >= 0) return false;
    return true;
  }
  // The operands from `first` on, one for each axis, in the order of the turned
  // axes.
  void add_starts(Node* node, size_t first, int axis, std::vector<Value>& operands, ops::Builder& build) {
    for (int64_t i : with_last(node->operand(0)->type().rank(), axis))
      operands.push_back(plain(node->operand(first + static_cast<size_t>(i)), build));
  }
  bool slice_at(Node* node, int axis, ops::Builder& build) {
    const Type& from = node->operand(0)->type();
    Attrs attrs = node->attrs();
    const Dims sizes = attrs.get(ops::kSliceSizes);
    if (!all_plain(node, 1) || !(sizes[static_cast<size_t>(axis)] == batch_)) return false;
    attrs.set(ops::kSliceSizes, permuted(sizes, with_last(from.rank(), axis)));
    std::vector<Value> operands{turned(node->operand(0), axis, build)};
    add_starts(node, 1, axis, operands, build);
    gain_ += bytes(node->result()->type());
    enter(node->result(), build.node(ops::op_of(node), operands, std::move(attrs))->result(), axis);
    return true;
  }
  bool update_at(Node* node, int axis, ops::Builder& build) {
    const Type &whole = node->operand(0)->type(), &part = node->operand(1)->type();
    if (node->operands().size() != static_cast<size_t>(whole.rank()) + 2 || part.rank() != whole.rank() ||
        !all_plain(node, 2) || !(part.dims[static_cast<size_t>(axis)] == batch_))
      return false;
    std::vector<Value> operands{turned(node->operand(0), axis, build), turned(node->operand(1), axis, build)};
    add_starts(node, 2, axis, operands, build);
    gain_ += bytes(part);
    enter(node->result(), build.node(ops::op_of(node), operands, node->attrs())->result(), axis);
    return true;
  }
  bool gathered(Node* node, ops::Builder& build) {
    const int axis = known_.at(node->operand(0)).axis;
    const Type &from = node->operand(0)->type(), &to = node->result()->type();
    Attrs attrs = node->attrs();
    const Ints collapsed = attrs.get(ops::kCollapsedDims), offset = attrs.get(ops::kOffsetDims);
    const Dims sizes = attrs.get(ops::kSliceSizes);
    if (axis < 0 || !all_plain(node, 1) || !attrs.get(ops::kOperandBatchDims).empty() ||
        contains(collapsed, axis) || !(sizes[static_cast<size_t>(axis)] == batch_))
      return false;
    size_t among = 0;  // of the slice's axes
    for (int i = 0; i < axis; ++i) among += contains(collapsed, i) ? 0 : 1;
    const auto place = static_cast<int>(offset[among]);
    const Ints order = with_last(from.rank(), axis), places = inverse(order);
    const Ints result_places = inverse(with_last(to.rank(), place));
    auto mapped = [](const Ints& list, const Ints& by, bool sorted) {
      Ints out;
      for (int64_t i : list) out.push_back(by[static_cast<size_t>(i)]);
      if (sorted) std::ranges::sort(out);
      return out;
    };
    attrs.set(ops::kCollapsedDims, mapped(collapsed, places, true));
    attrs.set(ops::kStartIndexMap, mapped(attrs.get(ops::kStartIndexMap), places, false));
    attrs.set(ops::kOffsetDims, mapped(offset, result_places, true));
    attrs.set(ops::kSliceSizes, permuted(sizes, order));
    std::vector<Value> operands{turned(node->operand(0), axis, build), plain(node->operand(1), build)};
    gain_ += bytes(to);
    enter(node->result(), build.node(ops::op_of(node), operands, std::move(attrs))->result(), place);
    return true;
  }

  bool transposed(Node* node, int axis, ops::Builder& build) {
    const Ints& permutation = node->attrs().get(ops::kPermutation);
    const auto place = static_cast<int>(std::ranges::find(permutation, axis) - permutation.begin());
    const int rank = node->result()->type().rank();
    const Ints places = inverse(with_last(rank, axis));
    Ints order;  // of the turned operand's axes
    for (int64_t to : with_last(rank, place))
      order.push_back(places[static_cast<size_t>(permutation[static_cast<size_t>(to)])]);
    gain_ += 2 * bytes(node->result()->type());
    if (!std::ranges::is_sorted(order)) loss_ += bytes(node->result()->type());
    enter(node->result(), build.transpose(turned(node->operand(0), axis, build), order), place);
    return true;
  }

  bool joined(Node* node, int axis, ops::Builder& build) {
    const Type& type = node->result()->type();
    const int64_t along = node->attrs().get(ops::kAxis);
    if (along == axis) return false;
    std::vector<Value> operands;
    for (Value v : node->operands()) operands.push_back(turned(v, axis, build));
    Attrs attrs = node->attrs();
    attrs.set(ops::kAxis, inverse(with_last(type.rank(), axis))[static_cast<size_t>(along)]);
    if (along + 1 == type.rank() &&
        std::ranges::any_of(node->operands(), [](Value v) { return is_short(v->type().dims.back()); }))
      gain_ += 2 * bytes(type);
    enter(node->result(), build.node(ops::op_of(node), operands, std::move(attrs))->result(), axis);
    return true;
  }

  // Elements in front of the batch, and behind it, stay there.
  bool relabelled(Node* node, int axis, ops::Builder& build) {
    const Type &from = node->operand(0)->type(), &to = node->result()->type();
    Dim before = int64_t{1}, now = int64_t{1};
    for (int i = 0; i < axis; ++i) before = before * from.dims[static_cast<size_t>(i)];
    for (int place = 0; place < to.rank(); ++place) {
      if (now == before && to.dims[static_cast<size_t>(place)] == batch_) {
        Value out = build.reshape(turned(node->operand(0), axis, build),
                                  permuted(to.dims, with_last(to.rank(), place)));
        enter(node->result(), out, place);
        return true;
      }
      now = now * to.dims[static_cast<size_t>(place)];
    }
    return false;
  }

  // A fold over the last axes goes by lanes, and one over others in order: it
  // stays what it was.
  bool fold(Node* node, int axis, ops::Builder& build) {
    if (node->operands().size() != 1 || !node->attrs().find(ops::kAxes.name)) return false;
    const Ints& axes = node->attrs().get(ops::kAxes);
    const Type& from = node->operand(0)->type();
    if (contains(axes, axis) || axes.empty()) return false;
    const int rank = from.rank();
    const bool rows = axes.front() == rank - static_cast<int64_t>(axes.size());
    if (!rows && contains(axes, rank - 1)) return false;
    const Ints places = inverse(with_last(rank, axis));
    Ints order, folded;
    auto place = axis;
    for (int64_t i : with_last(rank, axis))
      if (!contains(axes, i)) order.push_back(places[static_cast<size_t>(i)]);
    for (int64_t i : axes) {
      if (i < axis) --place;
      folded.push_back(rows ? static_cast<int64_t>(order.size()) : places[static_cast<size_t>(i)]);
      if (rows) order.push_back(places[static_cast<size_t>(i)]);
    }
    Value x = turned(node->operand(0), axis, build);
    Attrs attrs = node->attrs();
    attrs.set(ops::kAxes, folded);
    if (rows) {
      x = build.transpose(x, order);
      Dim row = int64_t{1};
      for (int64_t i : axes) row = row * from.dims[static_cast<size_t>(i)];
      if (row.is_constant() && row.constant() < 2 * kShortRow)
        gain_ += bytes(from);
      else
        loss_ += bytes(from);
    }
    enter(node->result(), build.node(ops::op_of(node), {x}, std::move(attrs))->result(), place);
    return true;
  }

  bool product(Node* node, ops::Builder& build) {
    Value a = node->operand(0), b = node->operand(1);
    const int at_a = known_.at(a).axis, at_b = known_.at(b).axis;
    const ops::DotDims d(node->attrs(), a->type().rank(), b->type().rank());
    auto in_order = [](int rank, int axis, const Ints& axes) {
      Ints out;
      for (int64_t i : axes)
        out.push_back(axis < 0 ? i : inverse(with_last(rank, axis))[static_cast<size_t>(i)]);
      return out;
    };
    Attrs attrs = node->attrs();
    if (at_a >= 0 && at_b >= 0) {
      // Each example's own product: the kernel turns its results over as it
      // stores them.
      auto pair = std::ranges::find(d.lhs_batch, at_a) - d.lhs_batch.begin();
      if (d.lhs_batch.size() != 1 || pair != 0 || d.rhs_batch[0] != at_b || !ops::is_small_product(node))
        return false;
      attrs.set(ops::kLhsBatch, in_order(a->type().rank(), at_a, d.lhs_batch));
      attrs.set(ops::kRhsBatch, in_order(b->type().rank(), at_b, d.rhs_batch));
      attrs.set(ops::kLhsContract, in_order(a->type().rank(), at_a, d.lhs_contract));
      attrs.set(ops::kRhsContract, in_order(b->type().rank(), at_b, d.rhs_contract));
      Value out =
          build.node(ops::op_of(node), {turned(a, at_a, build), turned(b, at_b, build)}, attrs)->result();
      const Type& type = node->result()->type();
      gain_ += 2 * (bytes(a->type()) + bytes(b->type()) + bytes(type));
      enter(node->result(), build.transpose(out, with_last(type.rank(), 0)), 0);
      return true;
    }
    // The same matrix for all examples: the side that holds them comes last.
    const bool left = at_a >= 0;
    const Ints &batched_free = left ? d.lhs_free : d.rhs_free, &other_free = left ? d.rhs_free : d.lhs_free;
    const int axis = left ? at_a : at_b;
    if (!d.lhs_batch.empty() || !contains(batched_free, axis)) return false;
    if (left && batched_free.size() > 1 && !other_free.empty()) return false;
    Ints contract = left ? d.lhs_contract : d.rhs_contract;
    const Type& side = (left ? a : b)->type();
    attrs.set(ops::kLhsContract, left ? d.rhs_contract : d.lhs_contract);
    attrs.set(ops::kRhsContract, in_order(side.rank(), axis, contract));
    Value out =
        build.node(ops::op_of(node), {plain(left ? b : a, build), turned(left ? a : b, axis, build)}, attrs)
            ->result();
    auto place = std::ranges::find(batched_free, axis) - batched_free.begin();
    enter(node->result(), out,
          static_cast<int>(place + (left ? 0 : static_cast<int64_t>(other_free.size()))));
    return true;
  }

  void replace_loop() {
    ops::Builder build(*loop_->block(), loop_);
    build.at(loop_);
    const bool scan = ops::way_of(loop_) == ops::Way::Scan;
    const Block& body = *loop_->regions().back();
    const size_t whole = loop_->segments()[0] + loop_->segments()[1];  // not slices
    auto order = [&](const Type& inside, bool stacked) {
      Ints out = with_last(inside.rank(), axis_of(inside));
      if (!stacked) return out;
      for (int64_t& i : out) ++i;
      out.insert(out.begin(), 0);
      return out;
    };
    std::vector<Value> operands, results;
    for (size_t i = 0; i < loop_->operands().size(); ++i) {
      const Type& inside = body.arg(i)->type();
      Value v = loop_->operand(i);
      operands.push_back(axis_of(inside) < 0 ? v : build.transpose(v, order(inside, scan && i >= whole)));
    }
    Node* twin = build.node(ops::op_of(loop_), operands, loop_->attrs(),
                            {loop_->segments().begin(), loop_->segments().end()}, std::move(regions_));
    for (size_t i = 0; i < loop_->results().size(); ++i) {
      const Type& inside = body.results()[i]->type();
      bool stacked = scan && i >= loop_->segments()[1];
      Value v = twin->result(i);
      results.push_back(axis_of(inside) < 0 ? v : build.transpose(v, inverse(order(inside, stacked))));
    }
    Block& block = *loop_->block();
    replace(loop_, results);
    block.graph().erase(loop_);
  }

  Node* loop_;
  Dim batch_;
  std::unordered_map<Value, Known> known_;
  std::vector<std::unique_ptr<Graph>> regions_;
  double gain_ = 0, loss_ = 0;
  bool too_large_ = false;
};

// The size that stands in front of most of what is carried or scanned, if that
// is many examples.
std::optional<Dim> batch_of(const Node* loop) {
  const Block& body = *loop->regions().back();
  std::vector<std::pair<Dim, int>> sizes;
  for (size_t i = loop->segments()[0]; i < body.args().size(); ++i) {
    const Type& type = body.arg(i)->type();
    if (!type.is_tensor() || type.rank() < 2) continue;
    auto known = std::ranges::find_if(sizes, [&](const auto& pair) { return pair.first == type.dims[0]; });
    if (known == sizes.end())
      sizes.emplace_back(type.dims[0], 1);
    else
      ++known->second;
  }
  auto most = std::ranges::max_element(sizes, {}, [](const auto& pair) { return pair.second; });
  if (most == sizes.end() || ops::usual_size(most->first, loop->block()->graph().dims) < kLeastBatch)
    return std::nullopt;
  return most->first;
}

}  // namespace

void batch_last(Graph& graph, Context& context) {
  std::vector<Node*> loops;  // inner ones first
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block)
      if (ops::is_loop(node) && !ops::has(node, Trait::Effect)) loops.push_back(node);
  });
  for (Node* loop : loops)
    if (std::optional<Dim> batch = batch_of(loop)) Turner(loop, *batch).run(context);
}

}  // namespace ig::passes
