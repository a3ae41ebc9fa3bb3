// Effects, eager and captured.
#include "tensor/effects.h"

#include "ops/effects.h"
#include "tensor/capture.h"

namespace ig::effects {
namespace {

// The token that the next effect of the graph takes: what the last one gave, or a new one.
Tensor token_of(Capture& capture) {
  for (Node* node = capture.graph().body().last(); node; node = node->previous())
    for (Value result : node->results())
      if (!result->type().is_tensor()) return Tensor::symbolic(&capture, result);
  return capture.record(ops::get("create_token"), {}, {})[0];
}

void perform(const ops::Op& op, std::span<const Tensor> values, Attrs attrs) {
  if (Capture* capture = Capture::current()) {
    std::vector<Tensor> operands = {token_of(*capture)};
    operands.insert(operands.end(), values.begin(), values.end());
    capture->record(op, operands, std::move(attrs));
    return;
  }
  std::vector<Literal> literals;
  for (const Tensor& value : values) literals.push_back(value.literal());
  ops::run_effect(op, ops::complete_attrs(op, std::move(attrs)), literals, {});
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

}  // namespace ig::effects
