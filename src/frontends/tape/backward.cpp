// The backward pass: nodes from the latest to the first, each once all that was made of it has given its
// gradients.
#include <algorithm>
#include <cmath>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "frontends/tape/recipe.h"
#include "frontends/tape/recorded.h"
#include "frontends/tape/tape.h"
#include "ops/attrs.h"
#include "ops/table.h"
#include "tensor/capture.h"
#include "tensor/eager.h"
#include "tensor/numbers.h"
#include "tensor/program.h"
#include "transforms/transforms.h"

namespace ig::tape {
namespace {

// One op of the pass: run, or recorded by the capture that goes on.
Tensor compute(const ops::Op& op, std::span<const Tensor> operands, Attrs attrs = {}) {
  if (!Capture::current()) return eager::run(op, operands, attrs)[0];
  return apply(op, operands, std::move(attrs))[0];
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  if (Capture::current()) {
    Tensor operands[] = {a, b};
    return compute(ops::get("add"), operands);
  }
  static eager::ElementwiseSite& add = *new eager::ElementwiseSite(ops::get("add"));
  return add(a, b);
}

Tensor filled(const Type& type, double value) {
  Tensor one = Tensor::scalar(type.dtype, value);
  if (Capture* capture = Capture::current()) capture->note_made_here(one);
  if (type.dims.empty()) return one;
  return compute(ops::get("broadcast_in_dim"), std::span(&one, 1),
                 make_attrs({ops::kShape % type.dims, ops::kBroadcastDims % Ints{}}));
}

// The gradient as an array: 0 where a mask says so.
Tensor whole(Gradient gradient) {
  static const ops::Op& select = ops::get("select");
  for (size_t i = gradient.masks.size(); i-- > 0;) {
    const Gradient::Mask& mask = gradient.masks[i];
    Tensor none = filled(gradient.value.type(), 0);
    Tensor operands[] = {mask.condition, mask.where ? gradient.value : none,
                         mask.where ? none : gradient.value};
    gradient.value = compute(select, operands);
  }
  return std::move(gradient.value);
}

void add_to(Gradient& sum, Gradient gradient) {
  if (!sum.valid()) {
    sum = std::move(gradient);
  } else if (sum.masks == gradient.masks) {
    sum.value = sum_of(sum.value, gradient.value);
  } else {
    sum = {sum_of(whole(std::move(sum)), whole(std::move(gradient))), {}};
  }
}

template <typename T>
bool any_nan(const void* data, int64_t count) {
  const T* values = static_cast<const T*>(data);
  return std::any_of(values, values + count, [](T value) { return std::isnan(value); });
}

bool has_nan(const Tensor& x) {
  int64_t count = x.elements();
  switch (x.dtype()) {
    case DType::F32: return any_nan<float>(x.data(), count);
    case DType::F64: return any_nan<double>(x.data(), count);
    case DType::C64: return any_nan<float>(x.data(), 2 * count);
    case DType::C128: return any_nan<double>(x.data(), 2 * count);
    default: break;
  }
  Literal values = x.literal();
  for (int64_t i = 0; i < count; ++i)
    if (std::isnan(values.as_double(i))) return true;
  return false;
}

std::string place_of(const Node& node) {
  return node.where.known() ? fmt::format("`{}` ran at {}", node.name(), node.where.str())
                            : fmt::format("`{}` ran where no line is known", node.name());
}

// Sets the mode of this thread, and of its capture, for the length of a pass.
class Within {
 public:
  explicit Within(bool record) : before_(mode().grad), capture_(Capture::current()) {
    mode().grad = record;
    if (capture_) stopped_ = std::exchange(capture_->stop_gradients, !record);
  }
  ~Within() {
    mode().grad = before_;
    if (capture_) capture_->stop_gradients = stopped_;
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  bool before_;
  Capture* capture_;
  bool stopped_ = false;
};

class Pass {
 public:
  Pass(const BackwardOptions& options, std::vector<Edge> inputs)
      : options_(options), inputs_(std::move(inputs)) {}

  // Gradients by the inputs, where there are any.
  std::vector<Tensor> run(std::span<const Edge> roots, std::span<const Tensor> gradients) {
    if (!inputs_.empty()) find_needed(roots);
    found_.resize(inputs_.size());
    Within within(options_.create_graph);
    for (size_t i = 0; i < roots.size(); ++i) send(roots[i], {gradients[i], {}});
    while (!queue_.empty()) {
      std::shared_ptr<Node> node = queue_.top().node;
      queue_.pop();
      auto at = pending_.find(node.get());
      std::vector<Gradient> given = std::move(at->second);
      pending_.erase(at);
      visit(node, given);
    }
    return std::move(found_);
  }

 private:
  struct Ready {
    std::shared_ptr<Node> node;
    bool operator<(const Ready& o) const { return node->sequence < o.node->sequence; }
  };

  // The nodes that lie between the outputs and the inputs.
  void find_needed(std::span<const Edge> roots) {
    std::unordered_set<const Node*> targets, seen;
    for (const Edge& edge : inputs_) targets.insert(edge.node.get());
    std::vector<const Node*> order;
    auto look = [&](const Node* node) {
      if (node && seen.insert(node).second) order.push_back(node);
    };
    for (const Edge& root : roots) look(root.node.get());
    for (size_t i = 0; i < order.size(); ++i)
      for (const Edge& edge : order[i]->next) look(edge.node.get());
    std::sort(order.begin(), order.end(),
              [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
    for (const Node* node : order) {
      bool through = std::any_of(node->next.begin(), node->next.end(),
                                 [&](const Edge& edge) { return needed_.contains(edge.node.get()); });
      if (through) through_.insert(node);
      if (through || targets.contains(node)) needed_.insert(node);
    }
  }

  void send(const Edge& edge, Gradient gradient) {
    if (!edge.node) return;
    if (!inputs_.empty() && !needed_.contains(edge.node.get())) return;
    auto [at, fresh] = pending_.try_emplace(edge.node.get());
    if (fresh) {
      at->second.resize(edge.node->results.size());
      queue_.push({edge.node});
    }
    add_to(at->second[static_cast<size_t>(edge.result)], std::move(gradient));
  }

  void visit(const std::shared_ptr<Node>& node, std::vector<Gradient>& given) {
    // Who looks at a gradient sees it whole; so does an op that does not go element by element.
    auto settle = [&](size_t result) {
      if (!given[result].masks.empty()) given[result] = {whole(std::move(given[result])), {}};
    };
    for (const auto& [result, own] : node->watches) settle(static_cast<size_t>(result));
    if (node->ended) throw *node->ended;
    reached_outside(*node, inputs_.empty());
    watch(*node, given);
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].node == node) {
        const auto result = static_cast<size_t>(inputs_[i].result);
        settle(result);
        const Tensor& gradient = given[result].value;
        if (gradient.valid()) found_[i] = options_.create_graph ? gradient : gradient.unlinked();
      }
    if (node->is_leaf()) return;
    if (!inputs_.empty() && !through_.contains(node.get())) return;
    reached_outside(*node, true);  // which goes no further there
    // The way back of a node that was recorded is made when it is wanted, and holds what stands for the
    // results.
    std::optional<Parted> parted;
    std::shared_ptr<const Recipe> held = node->recipe;
    if (node->op) {
      require_kept(*node);
      if (!options_.create_graph) parted = parted_of(*node);
      held = parted ? parted->recipe : recorded_recipe_of(*node);
    }
    const Recipe& recipe = *held;
    if (recipe.failure) {
      Error error = *recipe.failure;
      throw make_error(error.kind(), "the gradient of `{}` is wanted, and there is none", node->name())
          .why(fmt::format("{}: {}", error.summary(), error.why_text()))
          .hint(fmt::format("{}; take the value out of the tape with x.detach() where no gradient is meant",
                            place_of(*node)));
    }
    std::vector<Tensor> values;
    {
      std::lock_guard lock(node->mutex);
      require_kept(*node);
      if (parted)
        values = parted->residuals;
      else if (!node->op)
        values = node->saved;
      else
        for (int i : recipe.saved) values.push_back(node->saved[static_cast<size_t>(i)]);
      if (!options_.retain_graph && !values.empty()) {
        if (!node->op) node->saved.clear();  // of an op in a graph nothing lives on by it
        node->freed = true;
      }
    }
    // Results were saved without their place on the tape, which would keep the node alive.
    if (options_.create_graph)
      for (size_t i = 0; i < values.size(); ++i) {
        int result = recipe.saved[i] - static_cast<int>(recipe.moves.size());
        if (result >= 0 && transforms::has_tangent(values[i].type()))
          values[i] = linked(std::move(values[i]), {node, result});
      }
    std::vector<Gradient::Mask> masks;
    for (int result : recipe.given) {
      const auto at = static_cast<size_t>(result);
      if (recipe.elementwise)
        masks = std::move(given[at].masks);
      else
        settle(at);
      values.push_back(given[at].valid() ? std::move(given[at].value) : filled(node->results[at], 0));
    }
    std::vector<Gradient> out = node->op              ? record(*node, recipe, values)
                                : numbers::possible() ? run_watched(*node, values, masks)
                                                      : recipe.run(std::move(values));
    for (Gradient& gradient : out) gradient.masks.insert(gradient.masks.begin(), masks.begin(), masks.end());
    size_t at = 0;
    for (size_t i = 0; i < recipe.moves.size(); ++i) {
      if (!recipe.moves[i]) continue;
      if (mode().anomaly && mode().check_nan && has_nan(whole(out[at])))
        throw make_error(ErrorKind::Value, "the backward pass of `{}` gives NaN by its operand {}",
                         node->name(), i)
            .why(place_of(*node))
            .hint(
                "look at the values there: a root or logarithm at 0, or 0/0; guard the operand by ig.where "
                "before the op, not its result");
      send(node->next[i], std::move(out[at++]));
    }
  }

  static void require_kept(const Node& node) {
    if (!node.freed) return;
    throw Error(ErrorKind::Value, "a second backward pass goes through a part of the tape that was freed")
        .why(fmt::format("the first pass let go of what `{}` had saved; {}", node.name(), place_of(node)))
        .hint("pass retain_graph=True to the first backward(), or add the losses and go back once");
  }

  // The single steps of a way back may hold what a choice then leaves out, so it is looked at as a whole; a
  // program finds the op itself.
  static std::vector<Gradient> run_watched(const Node& node, const std::vector<Tensor>& values,
                                           const std::vector<Gradient::Mask>& masks) {
    std::string name = node.name();
    numbers::Place place(node.where, name);
    if (node.recipe->program) return node.recipe->run(values);
    std::vector<Gradient> out;
    std::vector<Tensor> seen;
    {
      numbers::Pause pause;
      out = node.recipe->run(values);
      for (Gradient gradient : out) {
        gradient.masks.insert(gradient.masks.begin(), masks.begin(), masks.end());
        seen.push_back(whole(std::move(gradient)));
      }
    }
    numbers::check_backward(name, values, seen);
    return out;
  }

  // Hooks in the order in which they came, then what is kept for the user.
  void watch(Node& node, std::vector<Gradient>& given) {
    for (auto& [result, own] : node.watches) {
      Tensor& gradient = given[static_cast<size_t>(result)].value;
      if (!gradient.valid()) continue;
      std::map<int, Hook> hooks = own.hooks;  // one may take itself off
      for (const auto& [id, hook] : hooks)
        if (std::optional<Tensor> other = hook(gradient)) {
          if (other->type() != gradient.type())
            throw make_error(ErrorKind::Type, "a hook gives {} for a gradient of {}", other->type().str(),
                             gradient.type().str())
                .why("what it returns takes the gradient's place")
                .hint("return an array of the gradient's shape and dtype, or None to leave it as it is");
          gradient = *other;
        }
      if (!own.retain || !inputs_.empty()) continue;
      std::lock_guard lock(node.mutex);
      own.add(options_.create_graph ? gradient : gradient.unlinked());
    }
  }

  const BackwardOptions& options_;
  std::vector<Edge> inputs_;
  std::vector<Tensor> found_;
  std::unordered_set<const Node*> needed_, through_;
  std::unordered_map<const Node*, std::vector<Gradient>> pending_;
  std::priority_queue<Ready> queue_;
};

bool is_one(const Type& type) {
  return std::all_of(type.dims.begin(), type.dims.end(), [](const Dim& dim) { return dim == Dim(1); });
}

std::vector<Tensor> start(std::span<const Tensor> outputs, std::span<const Tensor> gradients,
                          const BackwardOptions& options, std::vector<Edge> inputs) {
  if (Capture::current()) {
    asked_outside();
    if (mode().anomaly)
      throw Error(ErrorKind::Capture, "a backward pass of a captured function is to look for NaN")
          .why(
              "ig.autograd.detect_anomaly() looks at the numbers of each op while it runs, and here none has "
              "run yet")
          .hint(
              "use ig.debug_nans(True), which watches compiled programs, or leave detect_anomaly() away "
              "from the captured function");
  }
  std::vector<Edge> roots;
  std::vector<Tensor> first;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    if (const Capture* capture = Capture::current(); output.is_symbolic())
      if (!capture || !output.capture() || !capture->reaches(output)) Capture::leaked(output, nullptr);
    if (!output.link())
      throw make_error(ErrorKind::Value, "a backward pass begins at an array that does not require grad")
          .why("nothing that it was computed from requires grad, or it was computed under ig.no_grad()")
          .hint(
              "make the arrays to differentiate by with requires_grad=True (a module: "
              "model.requires_grad_()), before they are used");
    roots.push_back(edge_of(output));
    if (gradients[i].valid()) {
      if (gradients[i].type() != output.type())
        throw make_error(gradients[i].dtype() != output.dtype() ? ErrorKind::Type : ErrorKind::Shape,
                         "a gradient of {} is given for an array of {}", gradients[i].type().str(),
                         output.type().str())
            .why("there is one number for each element of the array")
            .hint("pass an array of its shape and dtype");
      first.push_back(gradients[i]);
      continue;
    }
    if (!is_one(output.type()) || !is_float(output.dtype()))
      throw make_error(ErrorKind::Value, "a backward pass of an array of {} without a gradient",
                       output.type().str())
          .why("only of one real number is it clear what to begin with: 1")
          .hint("reduce it to one number, as ig.sum does, or pass the gradient by it");
    first.push_back(filled(output.type(), 1));
  }
  return Pass(options, std::move(inputs)).run(roots, first);
}

}  // namespace

void Watch::add(const Tensor& gradient) {
  Tensor before = handle ? handle->get() : grad;
  Tensor now = before.valid() ? sum_of(before, gradient) : gradient;
  if (handle && handle->set(now)) return;
  handle.reset();
  grad = std::move(now);
}

void Watch::forget() {
  handle.reset();
  grad = Tensor();
}

void backward(std::span<const Tensor> outputs, std::span<const Tensor> gradients,
              const BackwardOptions& options) {
  start(outputs, gradients, options, {});
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> gradients, const BackwardOptions& options) {
  std::vector<Edge> edges;
  for (const Tensor& input : inputs) {
    if (!input.link())
      throw Error(ErrorKind::Value, "a gradient is wanted by an array that does not require grad")
          .why("what was computed from it was not recorded")
          .hint("make it with requires_grad=True, or call x.requires_grad_() before it is used");
    edges.push_back(edge_of(input));
  }
  if (edges.empty()) return {};
  return start(outputs, gradients, options, std::move(edges));
}

}  // namespace ig::tape
