// Effects, eager and captured.
#include "tensor/effects.h"

#include "ops/effects.h"
#include "ops/host_attrs.h"
#include "tensor/capture.h"
#include "tensor/eager.h"

namespace ig::effects {
namespace {

// The token that the next effect of the graph takes: what the last one gave, or a new one.
Tensor token_of(Capture& capture) {
  for (Node* node = capture.graph().body().last(); node; node = node->previous())
    for (Value result : node->results())
      if (!result->type().is_tensor()) return Tensor::symbolic(&capture, result);
  return capture.record(ops::get("create_token"), {}, {})[0];
}

// Into the graph that is being captured; gives the results without the token.
std::vector<Tensor> record(Capture& capture, const ops::Op& op, std::span<const Tensor> values, Attrs attrs) {
  std::vector<Tensor> operands = {token_of(capture)};
  operands.insert(operands.end(), values.begin(), values.end());
  std::vector<Tensor> out = capture.record(op, operands, std::move(attrs));
  out.erase(out.begin());
  return out;
}

void perform(const ops::Op& op, std::span<const Tensor> values, Attrs attrs) {
  if (Capture* capture = Capture::current()) {
    record(*capture, op, values, std::move(attrs));
    return;
  }
  std::vector<Literal> literals;
  for (const Tensor& value : values) literals.push_back(value.literal());
  ops::run_effect(op, ops::complete_attrs(op, std::move(attrs)), literals, {});
}

void require_sizes(std::span<const Type> results) {
  for (const Type& type : results)
    if (!constant_dims(type.dims))
      throw make_error(ErrorKind::Shape, "a callback is to give {}, whose size is not a number", type.str())
          .why("outside of a captured function every size is one")
          .hint("give numbers, or the sizes of arrays that are there");
}

}  // namespace

void print(std::string text, std::span<const Tensor> values) {
  Attrs attrs;
  attrs.set("text", std::move(text));
  perform(ops::get("print"), values, std::move(attrs));
}

void check(const Tensor& condition, Check text, std::span<const Tensor> values) {
  std::vector<Tensor> operands = {condition};
  Ints paired;
  for (const Tensor& value : values) {
    operands.push_back(value);
    paired.push_back(value.type().dims == condition.type().dims ? condition.rank() : 0);
  }
  Attrs attrs;
  attrs.set("message", std::move(text.message));
  attrs.set("paired", std::move(paired));
  attrs.set("why", std::move(text.why));
  attrs.set("hint", std::move(text.hint));
  attrs.set("kind", std::move(text.kind));
  perform(ops::get("check"), operands, std::move(attrs));
}

namespace {

Attrs host_attrs(const ops::HostRef& function, std::span<const Type> results, std::string structure) {
  Attrs attrs;
  attrs.set(ops::kHostFunction, function->name());
  ops::set_host_results(attrs, results);
  attrs.set(ops::kHostStructure, std::move(structure));
  attrs.set(ops::kHostKept, ops::host_anchor(function));
  return attrs;
}

}  // namespace

std::vector<Tensor> call_pure(const ops::HostRef& function, std::span<const Tensor> arguments,
                              std::span<const Type> results, std::string vmap_method, std::string structure) {
  const ops::Op& op = ops::get("pure_callback");
  Attrs attrs = host_attrs(function, results, std::move(structure));
  attrs.set(ops::kHostBatching, std::move(vmap_method));
  // Also on constants: a function of the host is called by runs, and not by whoever captures.
  if (Capture* capture = Capture::current()) return capture->record(op, arguments, std::move(attrs));
  attrs = ops::complete_attrs(op, std::move(attrs));
  require_sizes(results);
  return eager::run(op, arguments, attrs);
}

std::vector<Tensor> call_effect(const ops::HostRef& function, std::span<const Tensor> arguments,
                                std::span<const Type> results, std::string structure) {
  const ops::Op& op = ops::get("io_callback");
  Attrs attrs = host_attrs(function, results, std::move(structure));
  if (Capture* capture = Capture::current()) return record(*capture, op, arguments, std::move(attrs));
  attrs = ops::complete_attrs(op, std::move(attrs));
  require_sizes(results);
  std::vector<Literal> values;
  for (const Tensor& argument : arguments) values.push_back(argument.literal());
  std::vector<Tensor> out;
  for (const Literal& result : ops::run_host_call(op, attrs, values, {})) out.push_back(Tensor::from(result));
  // The tape holds what has no derivative too, so that who asks for one is told.
  if (const GradLink* link = out.empty() ? nullptr : recording_link(arguments))
    link->record(ops::get("io_callback_results"), arguments, attrs, out);
  return out;
}

}  // namespace ig::effects
