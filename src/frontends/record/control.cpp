// Regions of a capture, and the nodes that hold them.
#include "frontends/record/control.h"

#include <algorithm>
#include <unordered_map>

#include "frontends/record/jit_capture.h"
#include "ops/table.h"
#include "transforms/edit.h"

namespace ig::record {
namespace {

// Captures a region: a symbolic array of a capture around it is read as an operand.
class RegionCapture : public Capture {
 public:
  RegionCapture(std::string name, Capture* parent) : Capture(std::move(name)), parent_(parent) {
    if (!parent) return;
    graph().dims = parent->graph().dims;
    // The capture around answers, and what it answers is known here too: to transforms of this graph alone.
    graph().dims.set_decider([this](std::string_view relation, const Dim& a, const Dim& b) {
      const DimScope& around = parent_->graph().dims;
      bool answer = relation == "==" ? around.decide_equal(a, b) : around.decide_less_equal(a, b);
      assume_answer(graph().dims, relation, a, b, answer);
      return answer;
    });
    locate = parent->locate;
    scope = parent->scope;
  }

  bool reaches(const Tensor& tensor) const override {
    return Capture::reaches(tensor) || (parent_ && parent_->reaches(tensor));
  }

  // Whoever made a value answers for it: under `jit`, what a body asks of an array from around it can be
  // guarded. What the region itself makes has many values, of all steps, rows and calls.
  bool to_bool(const Tensor& x) override {
    if (owns(x))
      refuse(x, "the truth",
             "write the branch with ig.cond or ig.where: loop bodies, branches, what vmap takes and rules of "
             "one's own are captured once for all values, under ig.jit too");
    return parent_->to_bool(x);
  }
  int64_t to_int(const Tensor& x) override {
    if (owns(x))
      refuse(x, "the integer value",
             "keep the number in an array (indexing takes one): loop bodies, branches, what vmap takes and "
             "rules of one's own are captured once for all values, under ig.jit too");
    return parent_->to_int(x);
  }
  double to_float(const Tensor& x) override { return owns(x) ? Capture::to_float(x) : parent_->to_float(x); }
  Tensor to_concrete(const Tensor& x, std::string_view why) override {
    return owns(x) ? Capture::to_concrete(x, why) : parent_->to_concrete(x, why);
  }
  int64_t to_size(const Dim& dim, std::string_view wanted) override {
    return parent_ ? parent_->to_size(dim, wanted) : Capture::to_size(dim, wanted);
  }

  // The tensors that the inputs behind the first `arguments` stand for.
  std::vector<Tensor> outer(size_t arguments) {
    std::unordered_map<Value, const Tensor*> origins;
    for (const Lifted& one : lifted()) origins[one.input] = &one.tensor;
    for (const auto& [value, read] : read_) origins[read.first] = &read.second;
    std::vector<Tensor> out;
    for (Value input : graph().inputs().subspan(arguments)) out.push_back(*origins.at(input));
    return out;
  }

 protected:
  Value foreign(const Tensor& tensor) override {
    if (!parent_ || !parent_->reaches(tensor)) leaked(tensor, this);
    auto [place, fresh] = read_.try_emplace(tensor.value());
    if (fresh) place->second = {graph().body().add_arg(tensor.type(), tensor.value()->name()), tensor};
    return place->second.first;
  }

 protected:
  // The array outside that an input stands for, where it is one of those that were read.
  const Tensor* origin(Value input) const {
    for (const Lifted& one : lifted())
      if (one.input == input) return &one.tensor;
    for (const auto& [value, read] : read_)
      if (read.first == input) return &read.second;
    return nullptr;
  }

  Capture* parent_;
  std::unordered_map<Value, std::pair<Value, Tensor>> read_;  // by the value outside
};

// A region that will run once, on arrays that are known to the capture around it: a question about one of its
// values is put to that capture, about the same computation there.
class BoundCapture : public RegionCapture {
 public:
  BoundCapture(std::string name, Capture* parent) : RegionCapture(std::move(name), parent) {}

  void bind(const Tensor& stand_in, const Tensor& argument) { outside_.emplace(stand_in.value(), argument); }

  bool to_bool(const Tensor& x) override { return parent_->to_bool(outside(x)); }
  int64_t to_int(const Tensor& x) override { return parent_->to_int(outside(x)); }
  double to_float(const Tensor& x) override { return parent_->to_float(outside(x)); }
  Tensor to_concrete(const Tensor& x, std::string_view why) override {
    return parent_->to_concrete(outside(x), why);
  }
  Tensor asked(const Tensor& tensor) override { return parent_->asked(tensor); }

 private:
  Tensor outside(const Tensor& x) {
    if (!owns(x)) return x;
    std::vector<Value> wanted{x.value()};
    while (!wanted.empty()) {
      Value at = wanted.back();
      if (outside_.contains(at)) {
        wanted.pop_back();
        continue;
      }
      if (!at->node()) {
        const Tensor* read = origin(at);
        IG_CHECK(read != nullptr, "an input of a bound region has no array");
        outside_.emplace(at, *read);
        continue;
      }
      size_t before = wanted.size();
      for (Value operand : at->node()->operands())
        if (!outside_.contains(operand)) wanted.push_back(operand);
      if (wanted.size() == before) repeat(at->node());
    }
    return outside_.at(x.value());
  }

  void repeat(const Node* node) {
    std::vector<Tensor> operands;
    for (Value operand : node->operands()) operands.push_back(outside_.at(operand));
    std::vector<std::unique_ptr<Graph>> regions;
    for (const auto& region : node->regions()) regions.push_back(transforms::graph_of(*region));
    std::vector<Tensor> results =
        parent_->record(ops::op_of(node), operands, node->attrs(), node->segments(), std::move(regions));
    for (size_t i = 0; i < results.size(); ++i) outside_.emplace(node->result(i), results[i]);
  }

  std::unordered_map<Value, Tensor> outside_;  // what the region's values are in the capture around
};

bool same_array(const Tensor& a, const Tensor& b) {
  if (a.is_symbolic() || b.is_symbolic()) return a.value() == b.value();
  return a.data() == b.data() && a.type() == b.type();
}

// The region with the reads of all regions in front of its arguments, in one order for all.
std::unique_ptr<Graph> closed(Region region, const std::vector<Tensor>& reads) {
  auto out = std::make_unique<Graph>(region.graph->name);
  out->dims = region.graph->dims;
  std::span<const Value> inputs = region.graph->inputs();
  size_t arguments = inputs.size() - region.outer.size();
  std::vector<Value> read_args;
  for (const Tensor& read : reads) read_args.push_back(out->body().add_arg(read.type()));
  std::vector<Value> stand_ins;
  for (Value input : inputs.first(arguments))
    stand_ins.push_back(out->body().add_arg(input->type(), input->name()));
  for (size_t i = 0; i < region.outer.size(); ++i) {
    size_t place = 0;
    while (!same_array(reads[place], region.outer[i])) ++place;
    if (read_args[place]->name().empty()) read_args[place]->set_name(inputs[arguments + i]->name());
    stand_ins.push_back(read_args[place]);
  }
  out->body().set_results(out->inline_block(region.graph->body(), out->body(), stand_ins));
  return out;
}

}  // namespace

void assume_answer(DimScope& scope, std::string_view relation, const Dim& a, const Dim& b, bool answer) {
  if (relation == "==" && answer) scope.assume({"==", a, b});
  if (relation == "<=" && answer) scope.assume({"<=", a, b});
  if (relation == "<=" && !answer) scope.assume({"<=", b + Dim(int64_t{1}), a});
}

std::vector<Type> Region::types() const {
  std::vector<Type> out;
  for (Value value : graph->outputs()) out.push_back(value->type());
  return out;
}

Region capture_region(const Function& function, std::span<const Argument> arguments, std::string name,
                      const std::function<void(Capture&)>& prepare) {
  Capture* parent = Capture::current();
  RegionCapture capture(std::move(name), parent);
  if (!parent && prepare) prepare(capture);
  std::vector<Tensor> inputs;
  for (const Argument& argument : arguments)
    inputs.push_back(capture.add_input(argument.type, argument.name));
  {
    Capture::Active active(&capture);
    capture.finish(function(inputs));
  }
  Region region;
  region.outer = capture.outer(arguments.size());
  region.graph = capture.take();
  region.graph->dims.set_decider(nullptr);
  return region;
}

Region capture_bound(const Function& function, std::span<const Tensor> arguments,
                     std::span<const std::string> names, std::string name,
                     const std::function<void(Capture&)>& prepare) {
  Region region;
  std::vector<Tensor> stand_ins;
  Capture* parent = Capture::current();
  if (!parent) {
    JitCapture capture(std::move(name), {});
    prepare(capture);
    for (size_t i = 0; i < arguments.size(); ++i)
      stand_ins.push_back(capture.add_argument(arguments[i].type(), names[i], arguments[i], false));
    {
      Capture::Active active(&capture);
      capture.finish(function(stand_ins));
    }
    for (const Capture::Lifted& one : capture.lifted()) region.outer.push_back(one.tensor);
    region.graph = capture.take();
  } else {
    BoundCapture capture(std::move(name), parent);
    for (size_t i = 0; i < arguments.size(); ++i) {
      stand_ins.push_back(capture.add_input(arguments[i].type(), names[i]));
      capture.bind(stand_ins.back(), arguments[i]);
    }
    {
      Capture::Active active(&capture);
      capture.finish(function(stand_ins));
    }
    region.outer = capture.outer(arguments.size());
    region.graph = capture.take();
  }
  region.graph->dims.set_decider(nullptr);
  return region;
}

std::vector<Tensor> record_control(const ops::Op& op, std::span<const Tensor> leading,
                                   std::vector<Region> regions,
                                   const std::vector<std::vector<Tensor>>& segments, Attrs attrs) {
  Capture* capture = Capture::current();
  IG_CHECK(capture != nullptr, "{} was to be recorded, and no capture is going on", op.decl.name);
  std::vector<Tensor> reads;
  for (const Region& region : regions)
    for (const Tensor& tensor : region.outer)
      if (std::none_of(reads.begin(), reads.end(),
                       [&](const Tensor& known) { return same_array(known, tensor); }))
        reads.push_back(tensor);
  std::vector<Tensor> operands(leading.begin(), leading.end());
  operands.insert(operands.end(), reads.begin(), reads.end());
  std::vector<uint32_t> sizes = {static_cast<uint32_t>(reads.size())};
  for (const std::vector<Tensor>& segment : segments) {
    operands.insert(operands.end(), segment.begin(), segment.end());
    sizes.push_back(static_cast<uint32_t>(segment.size()));
  }
  if (op.decl.segments.empty()) sizes.clear();
  std::vector<std::unique_ptr<Graph>> graphs;
  for (Region& region : regions) graphs.push_back(closed(std::move(region), reads));
  return capture->record(op, operands, std::move(attrs), std::move(sizes), std::move(graphs));
}

}  // namespace ig::record
