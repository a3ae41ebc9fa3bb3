// Answers to what a traced function asks of its values, and the conditions that they leave behind.
#include "frontends/record/jit_capture.h"

#include <cmath>
#include <cstring>

#include "frontends/record/control.h"
#include "ops/effects.h"
#include "tensor/eager.h"
#include "tensor/numbers.h"
#include "tensor/program.h"

namespace ig::record {
namespace {

bool truth_of(const Tensor& x) {
  Literal value = x.literal();
  if (is_complex(x.dtype())) {
    static constexpr char zeros[16] = {};
    return std::memcmp(x.data(), zeros, x.bytes()) != 0;
  }
  return is_float(x.dtype()) ? value.as_double(0) != 0 : value.as_int(0) != 0;
}

int64_t integer_of(const Tensor& x) {
  Literal value = x.literal();
  if (!is_float(x.dtype())) return value.as_int(0);
  double real = value.as_double(0);
  if (!(real > -0x1p63 && real < 0x1p63))
    throw make_error(ErrorKind::Value, "the number {} has no integer value", real)
        .why("int() takes finite numbers that fit in 64 bits")
        .hint("test it first: if ig.isfinite(x): ...");
  return static_cast<int64_t>(real);
}

double float_of(const Tensor& x) {
  Literal value = x.literal();
  return is_float(x.dtype()) ? value.as_double(0) : static_cast<double>(value.as_int(0));
}

bool same_float(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

std::string at_line(Location where) { return where.known() ? " (" + where.str() + ")" : ""; }

}  // namespace

std::string Reason::str() const { return text + at_line(where); }

std::string SizeGuard::str() const {
  std::string_view sign = relation == "==" ? (expected ? "==" : "!=") : expected ? "<=" : ">";
  return fmt::format("{} {} {}{}", a.str(), sign, b.str(), at_line(where));
}

bool Outcome::matches(const Tensor& now) const {
  switch (kind) {
    case Kind::Truth: return truth_of(now) == (integer != 0);
    case Kind::Integer:
      if (is_float(now.dtype()) && !(std::fabs(float_of(now)) < 0x1p63)) return false;
      return integer_of(now) == integer;
    case Kind::Float: return same_float(float_of(now), real);
    case Kind::Array:
      return now.dtype() == array.dtype() && now.shape() == array.shape() &&
             (now.bytes() == 0 || std::memcmp(now.data(), array.data(), now.bytes()) == 0);
  }
  return false;
}

std::string Outcome::str() const {
  std::string text;
  switch (kind) {
    case Kind::Truth: text = integer ? "True" : "False"; break;
    case Kind::Integer: text = std::to_string(integer); break;
    case Kind::Float: text = fmt::format("{}", real); break;
    case Kind::Array: text = "the values of " + array.type().str(); break;
  }
  return text + at_line(where);
}

JitCapture::JitCapture(std::string name, SymbolValues sizes)
    : Capture(std::move(name)), sizes_(std::move(sizes)) {
  for (const auto& [symbol, size] : sizes_) graph().dims.declare(symbol, {2, Range{}.high});
  graph().dims.set_decider(
      [this](std::string_view relation, const Dim& a, const Dim& b) { return settle(relation, a, b); });
}

Tensor JitCapture::add_argument(Type type, std::string name, Tensor now, bool number) {
  Tensor input = add_input(std::move(type), std::move(name));
  now_.emplace(input.value(), std::move(now));
  if (!number) return input;
  numbers_.push_back(input.value());
  return Tensor::number(this, input.value());
}

void JitCapture::again(Restart restart) {
  if (restart_.kind == Restart::Kind::None) restart_ = std::move(restart);
  throw Error(ErrorKind::Capture, "the trace starts again")
      .why(restart_.why.text)
      .hint("let this exception pass: it never leaves the call of the jitted function");
}

bool JitCapture::settle(std::string_view relation, const Dim& a, const Dim& b) {
  for (const SizeGuard& guard : size_guards_)
    if (guard.relation == relation && guard.a == a && guard.b == b) return guard.expected;
  int64_t x = a.evaluate(sizes_), y = b.evaluate(sizes_);
  bool answer = relation == "==" ? x == y : x <= y;
  if (relation == "==" && answer) {
    std::optional<std::string> left = a.as_symbol(), right = b.as_symbol();
    const Reason why{fmt::format("{} == {}", a.str(), b.str()), here()};
    if (left && right) again({Restart::Kind::Unify, *left, *right, nullptr, why});
    if (left && b.is_constant()) again({Restart::Kind::FixSize, *left, "", nullptr, why});
    if (right && a.is_constant()) again({Restart::Kind::FixSize, *right, "", nullptr, why});
  }
  assume_answer(graph().dims, relation, a, b, answer);
  size_guards_.push_back({std::string(relation), a, b, answer, here()});
  return answer;
}

int64_t JitCapture::to_size(const Dim& dim, std::string_view wanted) {
  int64_t value = dim.evaluate(sizes_);
  if (std::optional<std::string> symbol = dim.as_symbol())
    again({Restart::Kind::FixSize,
           *symbol,
           "",
           nullptr,
           {fmt::format("{} of a size is used as a Python number", wanted), here()}});
  for (const SizeGuard& guard : size_guards_)
    if (guard.relation == "==" && guard.a == dim && guard.b == Dim(value)) return value;
  size_guards_.push_back({"==", dim, Dim(value), true, here()});
  graph().dims.assume({"==", dim, Dim(value)});
  return value;
}

Tensor JitCapture::asked(const Tensor& tensor) {
  if (tensor.is_symbolic() || made_here(tensor) || !tensor.data()) return tensor;
  return Tensor::symbolic(this, value_of(tensor));
}

const Outcome* JitCapture::known(Value value, Outcome::Kind kind) const {
  for (const Outcome& outcome : outcomes_)
    if (outcome.value == value && outcome.kind == kind) return &outcome;
  return nullptr;
}

bool JitCapture::to_bool(const Tensor& tensor) {
  Value value = value_of(tensor);
  if (const Outcome* before = known(value, Outcome::Kind::Truth)) return before->integer != 0;
  Outcome outcome;
  outcome.value = value;
  outcome.integer = truth_of(now(value));
  outcome.where = here();
  outcomes_.push_back(outcome);
  return outcome.integer != 0;
}

int64_t JitCapture::to_int(const Tensor& tensor) {
  Value value = value_of(tensor);
  for (Value number : numbers_)
    if (number == value)
      again({Restart::Kind::FixNumber,
             "",
             "",
             value,
             {fmt::format("the number `{}` is used as a Python integer", value->name()), here()}});
  if (const Outcome* before = known(value, Outcome::Kind::Integer)) return before->integer;
  Outcome outcome;
  outcome.kind = Outcome::Kind::Integer;
  outcome.value = value;
  outcome.integer = integer_of(now(value));
  outcome.where = here();
  outcomes_.push_back(outcome);
  return outcome.integer;
}

double JitCapture::to_float(const Tensor& tensor) {
  Value value = value_of(tensor);
  for (Value number : numbers_)
    if (number == value)
      again({Restart::Kind::FixNumber,
             "",
             "",
             value,
             {fmt::format("the number `{}` is used as a Python float", value->name()), here()}});
  if (const Outcome* before = known(value, Outcome::Kind::Float)) return before->real;
  Outcome outcome;
  outcome.kind = Outcome::Kind::Float;
  outcome.value = value;
  outcome.real = float_of(now(value));
  outcome.where = here();
  outcomes_.push_back(outcome);
  return outcome.real;
}

Tensor JitCapture::to_concrete(const Tensor& tensor, std::string_view) {
  Value value = value_of(tensor);
  if (const Outcome* before = known(value, Outcome::Kind::Array)) return before->array;
  for (const Dim& dim : value->type().dims)
    if (!dim.is_constant()) to_size(dim, "the shape of an array whose values are taken");
  Outcome outcome;
  outcome.kind = Outcome::Kind::Array;
  outcome.value = value;
  outcome.array = now(value);
  outcome.where = here();
  outcomes_.push_back(outcome);
  note_made_here(outcome.array);
  return outcome.array;
}

Attrs JitCapture::with_sizes(const Attrs& attrs) const {
  Attrs out = attrs;
  for (const auto& [name, value] : attrs.items()) {
    const Dims* dims = std::get_if<Dims>(&value);
    if (!dims) continue;
    Dims fixed;
    for (const Dim& dim : *dims) fixed.emplace_back(dim.evaluate(sizes_));
    out.set(name, std::move(fixed));
  }
  return out;
}

// The values of a node that cannot be run alone: all that it stands on, compiled.
Tensor JitCapture::run_slice(Value value) {
  graph().body().set_results({value});  // nodes recorded later go before it; `finish` sets the real results
  std::unique_ptr<Graph> slice = graph().clone();
  ops::strip_effects(*slice);  // they happen when the trace is run
  std::vector<Tensor> inputs;
  for (Value input : graph().inputs()) inputs.push_back(now(input));
  return compile(*slice)->run(inputs)[0];
}

void JitCapture::run_node(Node* node) {
  if (!node->regions().empty()) {
    for (Value result : node->results())
      if (result->type().is_tensor()) now_.emplace(result, run_slice(result));
    return;
  }
  const ops::Op& op = ops::op_of(node);
  Attrs attrs = with_sizes(node->attrs());
  std::vector<Tensor> results;
  numbers::Place place(node->location());
  if (node->operands().empty()) {
    for (const Literal& literal : ops::evaluate(op, attrs, {})) results.push_back(Tensor::from(literal));
  } else {
    std::vector<Tensor> operands;
    for (Value operand : node->operands()) operands.push_back(now_.at(operand));
    // As the public function does, so that both share their programs.
    bool same = op.has(ops::Trait::Elementwise);
    for (const Tensor& operand : operands) same &= operand.shape() == operands[0].shape();
    results = same ? eager::run_elementwise(op, operands, attrs, operands[0].shape())
                   : eager::run(op, operands, attrs);
  }
  for (size_t i = 0; i < results.size(); ++i) now_.emplace(node->result(i), results[i]);
}

namespace {

[[noreturn]] void refuse_effect(const Node* node) {
  throw make_error(ErrorKind::Capture, "the program chooses by what an effectful callback gives")
      .at(node->location().known() ? node->location().str() : "")
      .why("which trace to run is found before anything of the run happens, and an effect happens once")
      .hint(
          "choose inside of the graph, by ig.cond or ig.where; or use pure_callback, if calling it again "
          "does no harm");
}

}  // namespace

const Tensor& JitCapture::now(Value value) {
  Active outside(nullptr);
  for (const Lifted& one : lifted()) now_.emplace(one.input, one.tensor);
  std::vector<Value> wanted{value};
  while (!wanted.empty()) {
    Value at = wanted.back();
    if (now_.contains(at)) {
      wanted.pop_back();
      continue;
    }
    IG_CHECK(at->node(), "an input of the trace has no array");
    if (ops::has(at->node(), ops::Trait::Effect)) refuse_effect(at->node());
    bool ready = true;
    if (at->node()->regions().empty())
      for (Value operand : at->node()->operands())
        if (!now_.contains(operand)) wanted.push_back(operand), ready = false;
    if (!ready) continue;
    run_node(at->node());
    wanted.pop_back();
  }
  return now_.at(value);
}

}  // namespace ig::record
