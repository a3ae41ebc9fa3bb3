// How NaN and infinities are found in arrays, and the node that made them in a graph.
#include "tensor/numbers.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/effects.h"
#include "ops/host_call.h"
#include "ops/table.h"
#include "tensor/eager.h"

namespace ig::numbers {

std::atomic<int> settings_on{0};

namespace {

std::atomic<uint8_t> of_process{0};
thread_local int of_thread = -1;
thread_local Location place;
thread_local std::string_view place_backward_of;

// --- what an array holds
// -------------------------------------------------------------------------------------------

// Whether any element is NaN or infinite; no early end, so that the loops are done in vectors.
template <typename T>
uint8_t found_in(const T* values, int64_t count, uint8_t bits) {
  bool nan = false, infinite = false;
  if (bits & kNaN)
    for (int64_t i = 0; i < count; ++i) nan |= values[i] != values[i];
  if (bits & kInfinity)
    for (int64_t i = 0; i < count; ++i) infinite |= std::fabs(values[i]) > std::numeric_limits<T>::max();
  return static_cast<uint8_t>((nan ? kNaN : 0) | (infinite ? kInfinity : 0));
}

bool has_floats(DType dtype) { return is_float(dtype) || is_complex(dtype); }

uint8_t kind_of(double value) {
  return std::isnan(value) ? kNaN : std::isinf(value) ? kInfinity : uint8_t{0};
}

uint8_t kind_at(const Literal& values, int64_t i) {
  if (!is_complex(values.dtype())) return kind_of(values.as_double(i));
  std::complex<double> value = values.as_complex(i);
  return kind_of(value.real()) | kind_of(value.imag());
}

uint8_t found(const Tensor& x, uint8_t bits) {
  if (!x.valid() || x.is_symbolic() || !has_floats(x.dtype())) return 0;
  int64_t count = x.elements();
  switch (x.dtype()) {
    case DType::F32: return found_in(static_cast<const float*>(x.data()), count, bits);
    case DType::F64: return found_in(static_cast<const double*>(x.data()), count, bits);
    case DType::C64: return found_in(static_cast<const float*>(x.data()), 2 * count, bits);
    case DType::C128: return found_in(static_cast<const double*>(x.data()), 2 * count, bits);
    default: break;
  }
  Literal values = x.literal();
  uint8_t out = 0;
  for (int64_t i = 0; i < count; ++i) out |= kind_of(values.as_double(i)) & bits;
  return out;
}

uint8_t found(std::span<const Tensor> arrays, uint8_t bits) {
  uint8_t out = 0;
  for (const Tensor& x : arrays) out |= found(x, bits);
  return out;
}

// --- the error
// ------------------------------------------------------------------------------------------------------------

std::string number(const Literal& values, int64_t i) {
  if (is_complex(values.dtype())) {
    std::complex<double> value = values.as_complex(i);
    return fmt::format("{:g}{:+g}j", value.real(), value.imag());
  }
  if (is_float(values.dtype())) return fmt::format("{:g}", values.as_double(i));
  if (values.dtype() == DType::Bool) return values.as_int(i) != 0 ? "True" : "False";
  return fmt::format("{}", values.as_int(i));
}

// The element of a broadcast operand that stands at an index of the result; nothing where it does not fit.
std::optional<int64_t> broadcast_at(const Shape& operand, const Shape& result, int64_t flat) {
  if (operand.rank() > result.rank()) return std::nullopt;
  std::vector<int64_t> index(result.size());
  for (size_t axis = result.size(); axis-- > 0;) {
    index[axis] = flat % result[axis];
    flat /= result[axis];
  }
  int64_t at = 0;
  size_t lead = result.size() - operand.size();
  for (size_t axis = 0; axis < operand.size(); ++axis) {
    if (operand[axis] != 1 && operand[axis] != result[axis + lead]) return std::nullopt;
    at = at * operand[axis] + (operand[axis] == 1 ? 0 : index[axis + lead]);
  }
  return at;
}

std::string range_of(const Literal& values) {
  int64_t count = values.elements();
  if (count == 0) return "is empty";
  if (count == 1) return fmt::format("is {}", number(values, 0));
  if (is_complex(values.dtype()) || values.dtype() == DType::Key || values.dtype() == DType::Bool)
    return values.type().str();
  bool real = is_float(values.dtype());
  int64_t low = -1, high = -1;
  for (int64_t i = 0; i < count; ++i) {
    if (real && std::isnan(values.as_double(i))) continue;
    auto less = [&](int64_t a, int64_t b) {
      return real ? values.as_double(a) < values.as_double(b) : values.as_int(a) < values.as_int(b);
    };
    if (low < 0 || less(i, low)) low = i;
    if (high < 0 || less(high, i)) high = i;
  }
  if (low < 0) return "is NaN everywhere";
  return fmt::format("lies in [{}, {}]", number(values, low), number(values, high));
}

std::string operand_name(const ops::Op& op, size_t i) {
  const auto& specs = op.decl.operands;
  if (specs.empty()) return fmt::format("operand {}", i);
  if (i + 1 < specs.size() || !specs.back().variadic)
    return i < specs.size() ? specs[i].name : fmt::format("operand {}", i);
  return fmt::format("{}[{}]", specs.back().name, i + 1 - specs.size());
}

// What the operands were: at the element itself where each element of the result has its own.
std::string operands_told(const ops::Op& op, std::span<const Tensor> operands, const Tensor& result,
                          int64_t flat) {
  constexpr size_t kMost = 4;
  std::vector<std::string> parts;
  bool pointwise = op.has(ops::Trait::Elementwise);
  for (size_t i = 0; i < std::min(operands.size(), kMost); ++i) {
    Literal values = operands[i].literal();
    std::optional<int64_t> at = pointwise && values.dtype() != DType::Key
                                    ? broadcast_at(operands[i].shape(), result.shape(), flat)
                                    : std::nullopt;
    parts.push_back(fmt::format("{} {}", operand_name(op, i),
                                at ? fmt::format("is {}", number(values, *at)) : range_of(values)));
  }
  if (operands.size() > kMost) parts.push_back(fmt::format("and {} more", operands.size() - kMost));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string_view word_of(uint8_t kind) { return kind & kNaN ? "NaN" : "an infinity"; }
std::string_view one_of(uint8_t kind) { return kind & kNaN ? "a NaN" : "an infinity"; }
std::string_view setting_of(uint8_t kind) { return kind & kNaN ? "ig.debug_nans" : "ig.debug_infs"; }

std::string hint_of(uint8_t kind) {
  return fmt::format("{}; {}(False) ends the watch",
                     kind & kNaN ? "keep such values from the op, as by ig.where(valid, x, 1) before it, and "
                                   "not from its result"
                                 : "bound the operands by ig.clip, or compute in a wider dtype",
                     setting_of(kind));
}

struct Where {
  Location location;
  std::string_view backward_of, module;
};

// Of the first array that holds what was found.
Error made_by(const ops::Op& op, std::span<const Tensor> operands, std::span<const Tensor> results,
              uint8_t kinds, const Where& where) {
  uint8_t kind = kinds & kNaN ? kNaN : kInfinity;
  size_t which = 0;
  while (!found(results[which], kind)) ++which;
  Literal values = results[which].literal();
  int64_t first = -1, bad = 0;
  for (int64_t i = 0, n = values.elements(); i < n; ++i) {
    if (!(kind_at(values, i) & kind)) continue;
    if (first < 0) first = i;
    ++bad;
  }
  std::string what = fmt::format("`{}` makes {}", op.public_name(), word_of(kind));
  if (results.size() > 1) what += fmt::format(" in its result {}", which);
  if (!values.dims().empty()) {
    std::vector<int64_t> index(values.dims().size());
    int64_t rest = first;
    for (size_t axis = index.size(); axis-- > 0;) {
      index[axis] = rest % values.dims()[axis];
      rest /= values.dims()[axis];
    }
    what +=
        fmt::format(": {} of {} elements, the first at [{}]", bad, values.elements(), fmt::join(index, ", "));
  }
  std::string why = fmt::format("no operand holds one; {}{}", values.dims().empty() ? "" : "there ",
                                operands_told(op, operands, results[which], first));
  if (!where.module.empty()) why += fmt::format("; in the module `{}`", where.module);
  if (!where.backward_of.empty()) why += fmt::format("; in the backward pass of `{}`", where.backward_of);
  Error error = Error(ErrorKind::Value, what).why(why).hint(hint_of(kind));
  if (where.location.known()) error.at(where.location.str());
  return error;
}

[[noreturn]] void raise(const Error& error) {
  ops::effect_sink().fail("floating_point", error);
  throw error;
}

// --- the search
// ------------------------------------------------------------------------------------------------------------

// Runs a graph node by node. A node that makes what is watched for is told of where its value reaches a
// result: what a choice leaves out (the branch of a `where` that is not taken) has done no harm.
class Search {
 public:
  // `given`: what calls of the host with effects gave, in the run's order, which is that of the search.
  Search(const Graph& graph, std::span<const Tensor> inputs, uint8_t bits,
         const std::vector<std::vector<Literal>>& given)
      : bits_(bits), given_(given) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Dims& dims = graph.inputs()[i]->type().dims;
      for (size_t axis = 0; axis < dims.size(); ++axis)
        if (auto symbol = dims[axis].as_symbol()) symbols_.emplace(*symbol, inputs[i].shape()[axis]);
    }
  }

  // Throws the error of the node, where there is one; else whether the results hold it at all.
  bool run(const Graph& graph, std::span<const Tensor> inputs) {
    std::vector<Literal> arguments;
    for (const Tensor& input : inputs) arguments.push_back(input.literal());
    bool held = false;
    for (const Literal& result : block(graph.body(), arguments))
      held |= result.valid() && found(Tensor::from(result), bits_) != 0;
    return held;
  }

 private:
  static constexpr int kNowhere = -1;
  struct Slot {
    Literal value;
    uint8_t kinds = 0;
    int origin = kNowhere;  // of what it holds: one of the block's errors; kNowhere: it came from outside
  };

  std::vector<Literal> block(const Block& block, std::span<const Literal> arguments) {
    std::unordered_map<Value, Slot> of;
    std::vector<Error> errors;
    for (size_t i = 0; i < arguments.size(); ++i) of[block.arg(i)] = slot(arguments[i], kNowhere);
    for (Node* node : block) {
      if (node == block.terminator()) break;
      std::vector<const Slot*> operands;
      for (Value v : node->operands()) operands.push_back(&of.at(v));
      std::vector<Slot> results = this->node(node, operands, errors);
      for (size_t i = 0; i < results.size(); ++i) of[node->result(i)] = std::move(results[i]);
    }
    std::vector<Literal> out;
    for (Value v : block.results()) {
      const Slot& result = of.at(v);
      if (result.kinds && result.origin != kNowhere) raise(errors[static_cast<size_t>(result.origin)]);
      out.push_back(result.value);
    }
    return out;
  }

  Slot slot(Literal value, int origin) const {
    uint8_t kinds = value.valid() ? found(Tensor::from(value), bits_) : uint8_t{0};
    return {std::move(value), kinds, origin};
  }

  std::vector<Slot> node(const Node* node, std::span<const Slot* const> operands,
                         std::vector<Error>& errors) {
    const ops::Op& op = ops::op_of(node);
    std::vector<Literal> values;
    for (const Slot* operand : operands) values.push_back(operand->value);
    uint8_t held = 0;
    int origin = kNowhere;
    for (const Slot* operand : operands) {
      held |= operand->kinds;
      if (operand->kinds && origin == kNowhere) origin = operand->origin;
    }
    std::vector<Slot> out;
    if (op.rules.control_reference) {
      // Nodes in regions are looked at on their own; what the regions pass on came in from here.
      ops::ControlReferenceContext context{
          node, values, symbols_,
          [&](size_t region, std::span<const Literal> given) { return block(node->region(region), given); }};
      for (Literal& value : op.rules.control_reference.get()(context))
        out.push_back(slot(std::move(value), origin));
      return out;
    }
    std::vector<Tensor> arrays, results;
    for (const Literal& value : values)
      if (value.valid()) arrays.push_back(Tensor::from(value));
    bool token =
        op.has(ops::Trait::Effect) || (node->results().size() == 1 && !node->result()->type().is_tensor());
    if (token) {  // effects have happened already
      out.resize(node->results().size());
      if (!ops::is_host_call(op)) return out;
      IG_CHECK(next_call_ < given_.size(), "the search meets more calls of the host than the run did");
      const std::vector<Literal>& results = given_[next_call_++];
      for (size_t i = 0; i < results.size(); ++i) out[i + 1] = slot(results[i], kNowhere);
      return out;
    }
    Attrs attrs;
    for (const auto& [key, value] : node->attrs().items()) {
      const auto* dims = std::get_if<Dims>(&value);
      attrs.set(key, dims ? AttrValue(fixed(*dims)) : value);
    }
    if (arrays.empty())
      for (const Literal& value : ops::evaluate(op, attrs, {})) results.push_back(Tensor::from(value));
    else
      results = eager::run(op, arrays, attrs);
    uint8_t made = static_cast<uint8_t>(found(results, bits_) & ~held);
    if (made && !arrays.empty()) {
      origin = static_cast<int>(errors.size());
      Location location = node->location().known() ? node->location() : place;
      errors.push_back(
          made_by(op, arrays, results, made, {location, place_backward_of, node->scope().path()}));
    }
    for (const Tensor& result : results) out.push_back(slot(result.literal(), origin));
    return out;
  }

  Dims fixed(const Dims& dims) const {
    Dims out;
    for (const Dim& dim : dims) out.push_back(dim.evaluate(symbols_));
    return out;
  }

  uint8_t bits_;
  const std::vector<std::vector<Literal>>& given_;
  size_t next_call_ = 0;
  SymbolValues symbols_;
};

void count(int before, int after) {
  settings_on.fetch_add((after > 0) - (before > 0), std::memory_order_relaxed);
}

}  // namespace

uint8_t everywhere() { return of_process.load(std::memory_order_relaxed); }

void set_everywhere(uint8_t bits) { count(of_process.exchange(bits), bits); }

void watch_everywhere(uint8_t kinds, bool on) {
  uint8_t before = everywhere(), after = 0;
  do after = static_cast<uint8_t>(on ? before | kinds : before & ~kinds);
  while (!of_process.compare_exchange_weak(before, after, std::memory_order_relaxed));
  count(before, after);
}

int set_here(int bits) {
  int before = std::exchange(of_thread, bits);
  count(before, bits);
  return before;
}

uint8_t watched() { return of_thread >= 0 ? static_cast<uint8_t>(of_thread) : everywhere(); }

Pause::Pause() : before_(std::exchange(of_thread, 0)) {}
Pause::~Pause() { of_thread = before_; }

Place::Place(Location where, std::string_view backward_of)
    : where_(std::exchange(place, where)), backward_of_(std::exchange(place_backward_of, backward_of)) {}
Place::~Place() {
  place = where_;
  place_backward_of = backward_of_;
}

void check(const ops::Op& op, std::span<const Tensor> operands, std::span<const Tensor> results) {
  uint8_t bits = watched();
  if (!bits || operands.empty()) return;
  uint8_t made = found(results, bits);
  if (made) made &= static_cast<uint8_t>(~found(operands, made));
  if (!made) return;
  Pause pause;
  raise(made_by(op, operands, results, made, {place, place_backward_of, {}}));
}

void check_backward(std::string_view name, std::span<const Tensor> given, std::span<const Tensor> gradients) {
  uint8_t bits = watched(), made = bits ? found(gradients, bits) : uint8_t{0};
  if (made) made &= static_cast<uint8_t>(~found(given, made));
  if (!made) return;
  uint8_t kind = made & kNaN ? kNaN : kInfinity;
  size_t which = 0;
  while (!found(gradients[which], kind)) ++which;
  Error error =
      make_error(ErrorKind::Value, "the backward pass of `{}` makes {}", name, word_of(kind))
          .why(fmt::format("neither what it was given nor what the forward pass kept holds {}; the gradient "
                           "{} of {} does",
                           one_of(kind), which, gradients[which].type().str()))
          .hint(hint_of(kind));
  if (place.known()) error.at(place.str());
  raise(error);
}

std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs,
                        const std::function<std::vector<Tensor>()>& compute) {
  uint8_t bits = possible() ? watched() : uint8_t{0};
  if (!bits) return compute();
  std::vector<Tensor> held;  // a second handle on each, so that the memory of none is taken
  for (const Tensor& input : inputs) held.push_back(input.unlinked());
  Pause pause;
  ops::HostResults given;
  std::vector<Tensor> out = compute();
  uint8_t made = found(out, bits);
  if (!made) return out;
  if (Search(graph, held, made, given.all()).run(graph, held)) return out;  // it came in with the inputs
  Error error =
      make_error(ErrorKind::Value, "the compiled `{}` makes {}", graph.name, word_of(made))
          .why("run op by op on the same arrays it does not: the compiled program rounds otherwise")
          .hint(fmt::format("call the function without ig.jit, and report it with the program that shows it; "
                            "{}(False) ends the watch",
                            setting_of(made)));
  if (place.known()) error.at(place.str());
  raise(error);
}

}  // namespace ig::numbers
