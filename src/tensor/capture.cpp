// The capture of a graph: values of tensors, lifted inputs and constants, and the refusals of what a closed
// graph cannot say.
#include "tensor/capture.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ig {
namespace {

thread_local Capture* active_capture = nullptr;

// One element repeated: then a scalar and a broadcast say it better than the bytes.
bool is_splat(const Literal& literal) {
  size_t width = size_of(literal.dtype());
  const char* bytes = static_cast<const char*>(literal.data());
  return literal.elements() > 1 && std::memcmp(bytes, bytes + width, literal.bytes() - width) == 0;
}

std::string line_of(Location location) {
  return location.known() ? fmt::format("it was made at {}", location.str())
                          : std::string("its origin is not known");
}

}  // namespace

Capture::Capture(std::string name) : graph_(std::make_unique<Graph>(std::move(name))) {
  static std::atomic<uint64_t> next{1};
  serial_ = next++;
}
Capture::~Capture() = default;

Tensor Capture::add_input(Type type, std::string name) {
  for (const Dim& dim : type.dims) {
    std::vector<std::string> symbols;
    dim.collect_symbols(symbols);
    for (const std::string& symbol : symbols)
      if (!graph_->dims.symbols().contains(symbol)) graph_->dims.declare(symbol, {});
  }
  return Tensor::symbolic(this, graph_->body().add_arg(std::move(type), std::move(name)));
}

void Capture::note_made_here(const Tensor& tensor) {
  if (!tensor.is_symbolic() && tensor.data()) made_here_.emplace(tensor.data(), tensor);
}

void Capture::name_tensor(const Tensor& tensor, std::string name) {
  if (tensor.is_symbolic() || !tensor.data()) return;
  names_[tensor.data()] = std::move(name);
  kept_.emplace(Key{tensor.data(), tensor.link().get()}, tensor);
}

Value Capture::constant_of(const Tensor& tensor, Node* before) {
  if (!made_here(tensor) && recording_link(std::span(&tensor, 1)))
    throw make_error(ErrorKind::Capture,
                     "an array that requires grad ({}) would become a constant of a graph",
                     tensor.type().str())
        .at(locate ? locate().str() : "")
        .why("the function reads it from outside, and the gradient by it would be lost without a word")
        .hint("pass it as an argument, or take it out of the tape with x.detach()");
  ops::Builder build(graph_->body(), before);
  if (locate) build.set_location(locate());
  if (scope) build.set_scope(scope());
  Literal literal = tensor.literal();
  if (!is_splat(literal)) return build.constant(literal);
  Literal one = Literal::allocate(literal.dtype(), {});
  std::memcpy(one.mutable_data(), literal.data(), size_of(literal.dtype()));
  return build.broadcast(build.constant(one), tensor.type().dims, {});
}

void Capture::leaked(const Tensor& tensor, Capture* capture) {
  if (tensor.symbol()->donated)
    throw make_error(ErrorKind::Value, "an array ({}) is used after it was donated", tensor.type().str())
        .at(capture && capture->locate ? capture->locate().str() : "")
        .why(fmt::format("its memory was given to the call at {}", tensor.symbol()->donated_at.str()))
        .hint("use the result of that call, or leave the argument out of donate_argnums and donate_argnames");
  throw make_error(ErrorKind::Capture, "a traced array ({}) was used outside of the trace that made it",
                   tensor.type().str())
      .at(capture && capture->locate ? capture->locate().str() : "")
      .why(
          "an array of a trace stands for a value of that trace's graph; kept in a global, an attribute or a "
          "closure it has no meaning later")
      .hint("return the value from the traced function instead of storing it");
}

Value Capture::foreign(const Tensor& tensor) { leaked(tensor, this); }

Value Capture::value_of(const Tensor& tensor) {
  if (tensor.is_symbolic()) {
    if (!tensor.capture()) leaked(tensor, this);
    if (!owns(tensor)) return foreign(tensor);
    auto other = replaced_.find(tensor.value());
    return other == replaced_.end() ? tensor.value() : other->second;
  }
  IG_CHECK(tensor.valid(), "an empty handle was given to a capture");
  const void* key = tensor.data();
  auto known = key ? known_.find({key, tensor.link().get()}) : known_.end();
  if (known != known_.end()) {
    Value value = known->second;
    if (value->type() == tensor.type()) return value;
    if (value->type().dtype == tensor.dtype() && value->type().elements() == Dim(tensor.elements())) {
      ops::Builder build(graph_->body());
      return build.reshape(value, tensor.type().dims);
    }
  }
  bool lifted = lift_constants && !made_here_.contains(key) && key;
  Value value = nullptr;
  if (lifted) {
    auto named = names_.find(key);
    bool taken = named == names_.end() || std::any_of(lifted_.begin(), lifted_.end(), [&](const Lifted& one) {
                   return one.name == named->second;
                 });
    std::string name = taken ? fmt::format("outer{}", lifted_.size()) : named->second;
    value = graph_->body().add_arg(tensor.type(), name);
    lifted_.push_back({tensor, value, name});
  } else {
    value = constant_of(tensor);
  }
  if (key) {
    Key place{key, tensor.link().get()};
    known_[place] = value;
    kept_.emplace(place, tensor);
  }
  return value;
}

std::vector<Tensor> Capture::record(const ops::Op& op, std::span<const Tensor> operands, Attrs attrs,
                                    std::vector<uint32_t> segments,
                                    std::vector<std::unique_ptr<Graph>> regions) {
  std::vector<Value> values;
  values.reserve(operands.size());
  for (const Tensor& operand : operands) values.push_back(operand_of(operand));
  ops::Builder build(graph_->body());
  if (locate) build.set_location(locate());
  if (scope) build.set_scope(scope());
  Node* node = build.node(op, std::move(values), std::move(attrs), std::move(segments), std::move(regions));
  std::vector<Tensor> out;
  for (Value result : node->results()) {
    made(result);
    out.push_back(Tensor::symbolic(this, result));
  }
  if (const GradLink* link = recording_link(operands)) link->record(op, operands, node->attrs(), out);
  return out;
}

Value Capture::operand_of(const Tensor& tensor) {
  Value value = value_of(tensor);
  const Type& type = value->type();
  if (!stop_gradients || !type.is_tensor() || !(is_float(type.dtype) || is_complex(type.dtype))) return value;
  if (value->node() && value->node()->operands().empty()) return value;  // nothing leads on from there
  auto [place, fresh] = stopped_.try_emplace(value, nullptr);
  if (fresh) {
    ops::Builder build(graph_->body());
    if (locate) build.set_location(locate());
    if (scope) build.set_scope(scope());
    Value stopped = build("stop_gradient", {value});
    stopped_[value] = stopped;
    stopped_[stopped] = stopped;
    return stopped;
  }
  return place->second;
}

std::vector<Tensor> Capture::inline_graph(const Graph& graph, std::span<const Tensor> inputs, Location where,
                                          Scope scope) {
  for (const auto& [symbol, range] : graph.dims.symbols())
    if (!graph_->dims.symbols().contains(symbol)) graph_->dims.declare(symbol, range);
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(operand_of(input));
  // Nodes are put on the tape one by one, as they are where the graph runs eagerly.
  std::unordered_map<Value, std::shared_ptr<const GradLink>> links;
  if (recording_link(inputs))
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].link()) links[values[i]] = inputs[i].link();
  Block& body = graph_->body();
  Node* end = body.terminator();
  Node* before = end ? end->previous() : body.last();
  std::vector<Value> results = graph_->inline_block(graph.body(), body, values);
  auto tensor_of = [&](Value value) {
    Tensor out = Tensor::symbolic(this, value);
    if (auto link = links.find(value); link != links.end()) out.set_link(link->second);
    return out;
  };
  for (Node* node = before ? before->next() : body.first(); node && node != end; node = node->next()) {
    if (!node->location().known()) node->set_location(where);
    if (node->scope() == Scope()) node->set_scope(scope);
    for (Value result : node->results()) made(result);
    if (links.empty()) continue;
    std::vector<Tensor> operands, out;
    for (Value operand : node->operands()) operands.push_back(tensor_of(operand));
    for (Value result : node->results()) out.push_back(Tensor::symbolic(this, result));
    if (const GradLink* link = recording_link(operands))
      link->record(ops::op_of(node), operands, node->attrs(), out);
    for (size_t i = 0; i < out.size(); ++i)
      if (out[i].link()) links[node->result(i)] = out[i].link();
  }
  std::vector<Tensor> out;
  for (Value result : results) out.push_back(tensor_of(result));
  return out;
}

void Capture::replace(Value value, Value with) {
  if (value == with) return;
  value->replace_all_uses_with(with);
  for (auto* map : {&replaced_, &stopped_})
    for (auto& [from, to] : *map)
      if (to == value) to = with;
  for (auto& [key, known] : known_)
    if (known == value) known = with;
  replaced_[value] = with;
}

Value Capture::input_of(const Tensor& tensor) const {
  const auto one = std::ranges::find_if(lifted_, [&](const Lifted& l) {
    return l.tensor.data() == tensor.data() && l.tensor.link() == tensor.link();
  });
  return one == lifted_.end() ? nullptr : one->input;
}

void Capture::make_constant(const Tensor& tensor) {
  const Value input = input_of(tensor);
  if (!input) return;
  replace(input, constant_of(tensor, graph_->body().first()));
  replaced_.erase(input);
  stopped_.erase(input);
  graph_->body().erase_arg(static_cast<size_t>(input->index()));
  std::erase_if(lifted_, [&](const Lifted& l) { return l.input == input; });
}

Tensor Capture::size_value(const Dim& dim) {
  ops::Builder build(graph_->body());
  if (locate) build.set_location(locate());
  if (scope) build.set_scope(scope());
  return Tensor::number(this, build("dimension_size", {}, {{"size", Dims{dim}}}));
}

void Capture::finish(std::span<const Tensor> outputs) {
  std::vector<Value> values;
  for (const Tensor& output : outputs) values.push_back(value_of(output));
  graph_->body().set_results(std::move(values));
}

void Capture::refuse(const Tensor& tensor, std::string_view wanted, std::string_view hint) {
  const Node* node = tensor.value()->node();
  std::string origin =
      node ? line_of(node->location())
           : fmt::format("it is the argument `{}` of the traced function", tensor.value()->name());
  throw make_error(ErrorKind::Capture, "{} of a traced array is wanted, and a graph has none", wanted)
      .at(locate ? locate().str() : "")
      .why(fmt::format("the array ({}) has no values while the function is traced; {}", tensor.type().str(),
                       origin))
      .hint(std::string(hint));
}

bool Capture::to_bool(const Tensor& tensor) {
  refuse(tensor, "the truth",
         "write the branch with ig.cond or ig.where, or capture with ig.jit, which guards it");
}
int64_t Capture::to_int(const Tensor& tensor) {
  refuse(tensor, "the integer value",
         "keep the number in an array (indexing takes one), or capture with ig.jit, which guards it");
}
double Capture::to_float(const Tensor& tensor) {
  refuse(tensor, "the float value",
         "keep the number in an array of rank 0, or return it from the traced function");
}
Tensor Capture::to_concrete(const Tensor& tensor, std::string_view why) {
  refuse(tensor, why,
         "use the function of `ig` instead of one that needs the bytes, or return the array first");
}
int64_t Capture::to_size(const Dim& dim, std::string_view wanted) {
  throw make_error(ErrorKind::Capture, "{} of the symbolic size `{}` is wanted, and it has no fixed value",
                   wanted, dim.str())
      .at(locate ? locate().str() : "")
      .why("the size was declared as varying, so the graph must serve every value of it")
      .hint("use the size itself in shapes and arithmetic, or trace with a fixed size");
}

Capture* Capture::current() { return active_capture; }
Capture::Active::Active(Capture* capture) : previous_(active_capture) { active_capture = capture; }
Capture::Active::~Active() { active_capture = previous_; }

}  // namespace ig
