// Which nodes keep examples apart is read off the traits and attributes of their ops; what is read so is
// proved by the op's own `infer`, which must give the results of fewer examples.
#include "ops/examples.h"

#include <algorithm>

#include "ops/contraction.h"
#include "ops/shape_attrs.h"
#include "ops/window_attrs.h"

namespace ig::ops {
namespace {

bool contains(const Ints& list, int64_t what) { return std::ranges::find(list, what) != list.end(); }

class Reader {
 public:
  Reader(const Node* node, Dim many, Dim few)
      : node_(node), op_(op_of(node)), many_(std::move(many)), few_(std::move(few)) {
    out_.cut.assign(node->operands().size(), false);
    out_.attrs = node->attrs();
  }

  std::optional<ForExamples> run() {
    if (!apart() || !infers()) return std::nullopt;
    return std::move(out_);
  }

 private:
  bool has(const auto& attr) const { return node_->attrs().find(attr.name) != nullptr; }
  template <typename T>
  const T& get(const Attr<T>& attr) const {
    return node_->attrs().get(attr);
  }
  Value operand(size_t i) const { return node_->operand(i); }

  bool cut(size_t i) { return out_.cut[i] = examples_of(operand(i)) == many_; }
  bool cut_all() {
    for (size_t i = 0; i < out_.cut.size(); ++i)
      if (!cut(i)) return false;
    return !out_.cut.empty();
  }
  // The size of the first axis, where the attribute tells the sizes of the result.
  void shorten(const Attr<Dims>& attr) {
    Dims sizes = get(attr);
    sizes[0] = few_;
    out_.attrs.set(attr, std::move(sizes));
  }

  // Whether an example's results are of its own operands; says which these are.
  bool apart() {
    if (op_.has(Trait::Elementwise)) return cut_all();
    if (op_.has(Trait::Reduction)) return has(kAxes) && !contains(get(kAxes), 0) && cut_all();
    if (has(kConvLayout)) return convolution();
    if (has(kLhsContract)) return product();
    if (has(kWindow)) return windows();
    if (op_.decl.example_axes > 0) return own_axes();
    return op_.has(Trait::View) && !out_.cut.empty() && view();
  }

  bool convolution() {
    const ConvDims dims(node_->attrs());
    return dims.lhs_batch == 0 && dims.out_batch == 0 && dims.batch_groups == 1 && cut(0);
  }

  // The rows of the left operand, or both operands' batch.
  bool product() {
    const DotDims dims(node_->attrs(), operand(0)->type().rank(), operand(1)->type().rank());
    if (dims.lhs_batch.empty()) return !dims.lhs_free.empty() && dims.lhs_free[0] == 0 && cut(0);
    return dims.lhs_batch[0] == 0 && dims.rhs_batch[0] == 0 && cut_all();
  }

  bool windows() {
    const WindowDims dims(node_->attrs(), operand(0)->type().rank(), op_.decl.name);
    return dims.window[0] == 1 && dims.strides[0] == 1 && dims.low[0] == 0 && dims.high[0] == 0 && cut_all();
  }

  // An op on arrays of examples: in front of an example's own axes stand only those that count.
  bool own_axes() {
    if (operand(0)->type().rank() <= op_.decl.example_axes) return false;
    for (size_t i = 0; i < out_.cut.size(); ++i) {
      const bool spread = i < op_.decl.operands.size() && op_.decl.operands[i].spread;
      const bool has_axis = operand(i)->type().rank() == operand(0)->type().rank();
      if (spread && (!has_axis || examples_of(operand(i)) == Dim(1))) continue;
      if (!cut(i)) return false;
    }
    return true;
  }

  bool view() {
    if (has(kBroadcastDims)) {
      const Ints& axes = get(kBroadcastDims);
      shorten(kShape);
      return !contains(axes, 0) || examples_of(operand(0)) == Dim(1) || cut(0);
    }
    if (has(kPermutation)) return get(kPermutation)[0] == 0 && cut(0);
    if (has(kReversed)) return !contains(get(kReversed), 0) && cut(0);
    if (has(kAxis)) return op_.decl.operands[0].variadic && get(kAxis) != 0 && cut_all();  // joins arrays
    if (has(kPadInterior))
      return get(kPadLow)[0] == Dim(0) && get(kPadHigh)[0] == Dim(0) && get(kPadInterior)[0] == 0 && cut(0);
    if (has(kSliceStrides)) {
      shorten(kLimit);
      return get(kStart)[0] == Dim(0) && get(kSliceStrides)[0] == 1 && cut(0);
    }
    if (op_.has(Trait::Relabel) && has(kShape)) {
      shorten(kShape);
      return cut(0);
    }
    return false;
  }

  bool infers() const {
    std::vector<Type> operands, results;
    for (size_t i = 0; i < out_.cut.size(); ++i) {
      const Type& type = operand(i)->type();
      operands.push_back(out_.cut[i] ? with_examples(type, few_) : type);
    }
    for (Value v : node_->results()) results.push_back(with_examples(v->type(), few_));
    try {
      return infer(op_, std::move(operands), out_.attrs, node_->block()->graph().dims) == results;
    } catch (const Error&) {  // the op takes no such operands
      return false;
    }
  }

  const Node* node_;
  const Op& op_;
  Dim many_, few_;
  ForExamples out_{};
};

}  // namespace

std::optional<Dim> examples_of(Value v) {
  const Type& type = v->type();
  return type.is_tensor() && type.rank() > 0 ? std::optional(type.dims[0]) : std::nullopt;
}

Type with_examples(Type type, const Dim& count) {
  type.dims[0] = count;
  return type;
}

std::optional<ForExamples> for_examples(const Node* node, const Dim& count) {
  if (!find(node->op()) || node->results().empty() || !node->regions().empty() || has(node, Trait::Effect))
    return std::nullopt;
  const std::optional<Dim> many = examples_of(node->result(0));
  if (!many) return std::nullopt;
  for (Value v : node->results())
    if (examples_of(v) != many) return std::nullopt;
  return Reader(node, *many, count).run();
}

std::vector<Value> for_each_slice(Builder& build, std::vector<Value> consts, const std::vector<Value>& xs,
                                  std::unique_ptr<Graph> body) {
  const std::vector<uint32_t> segments = {static_cast<uint32_t>(consts.size()), 0,
                                          static_cast<uint32_t>(xs.size())};
  consts.insert(consts.end(), xs.begin(), xs.end());
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(body));
  const auto results =
      build.node(get("scan"), std::move(consts), {}, segments, std::move(regions))->results();
  return {results.begin(), results.end()};
}

}  // namespace ig::ops
