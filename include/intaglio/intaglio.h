// Intaglio for C++: arrays, every op of the table, and functions captured and compiled, without Python.
//
//   auto f = ig::jit([](ig::Array x, ig::Array y) { return ig::relu(x * y + 1.0); });
//   ig::Array z = f(ig::array({1.0f, -2.0f}), ig::array({3.0f, 4.0f}));
//
// A function that is jitted may ask its arrays anything (`if (ig::sum(x) > 0)`): each answer is a condition
// of the trace, and another answer another trace. `ig::trace` gives one closed graph, whose text `str()`
// gives.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "frontends/record/jit.h"
#include "frontends/record/trace.h"
#include "ops/attrs.h"
#include "ops/table.h"
#include "runtime/kernel_cache.h"
#include "tensor/front.h"
#include "tensor/program.h"

namespace ig {

// The cache of compiled kernels on disk: cache::info(), cache::configure(settings), cache::clear().
namespace cache = rt::kernel_cache;

class Array;
using Option = std::pair<std::string, AttrValue>;  // {"axis", int64_t{-1}}

// An op by its public name, as Python has it: call("softmax", {x}, {{"axis", int64_t{-1}}}).
std::vector<Array> call(std::string_view name, std::vector<front::Operand> operands,
                        std::vector<Option> options = {});

// A value: concrete, or one of a function that is being captured. Copying is cheap; nothing aliases.
class Array {
 public:
  Array() = default;
  Array(Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT: the same thing to the user
  const Tensor& tensor() const { return tensor_; }
  DType dtype() const { return tensor_.dtype(); }
  int rank() const { return tensor_.rank(); }
  Dims shape() const { return tensor_.type().dims; }  // symbolic while a function is captured for all sizes
  int64_t size(int axis) const {                      // a number: it fixes a symbolic size
    Dim dim = shape().at(static_cast<size_t>(axis));
    return dim.is_constant() ? dim.constant() : asked_of().to_size(dim, "the value");
  }
  explicit operator bool() const {
    return tensor_.is_symbolic() ? asked_of().to_bool(tensor_) : item<double>() != 0;
  }

  // The one element, as a number.
  template <typename T>
  T item() const {
    if (tensor_.is_symbolic()) {
      if constexpr (std::is_same_v<T, bool>)
        return asked_of().to_bool(tensor_);
      else if constexpr (std::is_integral_v<T>)
        return static_cast<T>(asked_of().to_int(tensor_));
      else
        return static_cast<T>(asked_of().to_float(tensor_));
    }
    Literal value = tensor_.literal();
    return is_float(dtype()) ? static_cast<T>(value.as_double(0)) : static_cast<T>(value.as_int(0));
  }
  // All elements, in row-major order. The type must be the array's own.
  template <typename T>
  std::vector<T> values() const {
    Tensor now = tensor_.is_symbolic() ? asked_of().to_concrete(tensor_, "the values") : tensor_;
    IG_CHECK(sizeof(T) == size_of(now.dtype()), "values<T>() of an array of another type");
    std::vector<T> out(static_cast<size_t>(now.elements()));
    if (!out.empty()) std::memcpy(out.data(), now.data(), now.bytes());
    return out;
  }

 private:
  Capture& asked_of() const {
    Capture* capture = Capture::current();
    if (!capture || !capture->owns(tensor_)) Capture::leaked(tensor_, capture);
    return *capture;
  }
  Tensor tensor_;
};

inline const ops::Op& public_op(std::string_view name) {
  for (const ops::Op* op : ops::all())
    if (op->decl.front != ops::Front::None && op->public_name() == name) return *op;
  return ops::get(name);
}

inline std::vector<Array> call(std::string_view name, std::vector<front::Operand> operands,
                               std::vector<Option> options) {
  std::vector<Tensor> results = front::call(public_op(name), operands, make_attrs(std::move(options)));
  return {results.begin(), results.end()};
}

namespace detail {
template <typename T>
constexpr bool is_scalar = std::is_arithmetic_v<T>;
template <typename T>
constexpr bool is_value = std::is_same_v<T, Array> || is_scalar<T>;
inline front::Operand operand(const Array& x) { return x.tensor(); }
template <typename T>
  requires(is_scalar<T>)
front::Operand operand(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return front::Scalar{.kind = DKind::Bool, .integer = x};
  else if constexpr (std::is_integral_v<T>)
    return front::Scalar{.kind = DKind::Signed, .integer = static_cast<int64_t>(x)};
  else
    return front::Scalar{.kind = DKind::Float, .real = static_cast<double>(x)};
}
template <typename A, typename B>
Array binary(const ops::Op& op, const A& a, const B& b) {
  front::Operand both[] = {operand(a), operand(b)};
  return front::call(op, both, {})[0];
}
inline Array unary(std::string_view name, const Array& x, std::vector<Option> options = {}) {
  return call(name, {x.tensor()}, std::move(options))[0];
}
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::Bool;
  else if constexpr (std::is_same_v<T, float>)
    return DType::F32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::F64;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DType::I8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return DType::I16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::I32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::I64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::U8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return DType::U16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return DType::U32;
  else
    return DType::U64;
}
template <typename A, typename B>
concept Operands = is_value<A> && is_value<B> && (std::is_same_v<A, Array> || std::is_same_v<B, Array>);
}  // namespace detail

// An array of these elements; `shape` empty: of rank 1.
template <typename T>
Array array(const std::vector<T>& values, std::vector<int64_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  Tensor out = Tensor::empty(detail::dtype_of<T>(), Shape(shape));
  if (out.elements() != static_cast<int64_t>(values.size()))
    throw make_error(ErrorKind::Shape, "array: {} values for {} elements", values.size(), out.elements())
        .hint("the product of the sizes is the number of values");
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.bytes());
  if (Capture* capture = Capture::current()) capture->note_made_here(out);
  return out;
}
template <typename T>
Array array(std::initializer_list<T> values, std::vector<int64_t> shape = {}) {
  return array(std::vector<T>(values), std::move(shape));
}
template <typename T>
  requires(std::is_arithmetic_v<T>)
Array scalar(T value) {
  return front::scalar_tensor(std::get<front::Scalar>(detail::operand(value)), detail::dtype_of<T>());
}

// Arithmetic and comparisons, with broadcasting; a plain number takes the dtype of the array.
#define IG_BINARY(symbol, name)                   \
  template <typename A, typename B>               \
    requires detail::Operands<A, B>               \
  Array operator symbol(const A& a, const B& b) { \
    static const ops::Op& op = public_op(name);   \
    return detail::binary(op, a, b);              \
  }
IG_BINARY(+, "add")
IG_BINARY(-, "subtract")
IG_BINARY(*, "multiply")
IG_BINARY(/, "divide")
IG_BINARY(<, "less")
IG_BINARY(<=, "less_equal")
IG_BINARY(>, "greater")
IG_BINARY(>=, "greater_equal")
IG_BINARY(==, "equal")
IG_BINARY(!=, "not_equal")
#undef IG_BINARY
inline Array operator-(const Array& x) { return detail::unary("negative", x); }

// The functions that most programs use; `call` has all others.
inline Array exp(const Array& x) { return detail::unary("exp", x); }
inline Array log(const Array& x) { return detail::unary("log", x); }
inline Array sqrt(const Array& x) { return detail::unary("sqrt", x); }
inline Array tanh(const Array& x) { return detail::unary("tanh", x); }
inline Array abs(const Array& x) { return detail::unary("abs", x); }
inline Array relu(const Array& x) { return detail::unary("relu", x); }
inline Array sigmoid(const Array& x) { return detail::unary("sigmoid", x); }
inline Array matmul(const Array& a, const Array& b) { return detail::binary(public_op("matmul"), a, b); }
template <typename A, typename B>
  requires(detail::is_value<A> && detail::is_value<B>)
Array where(const Array& condition, const A& a, const B& b) {
  return call("where", {condition.tensor(), detail::operand(a), detail::operand(b)})[0];
}
inline Array sum(const Array& x) { return detail::unary("sum", x); }
inline Array sum(const Array& x, Ints axes) { return detail::unary("sum", x, {{"axes", std::move(axes)}}); }
inline Array max(const Array& x) { return detail::unary("max", x); }
inline Array max(const Array& x, Ints axes) { return detail::unary("max", x, {{"axes", std::move(axes)}}); }
inline Array reshape(const Array& x, Dims shape) {
  return detail::unary("reshape", x, {{"shape", std::move(shape)}});
}

namespace detail {

inline std::vector<Tensor> tensors_of(const Array& x) { return {x.tensor()}; }
inline std::vector<Tensor> tensors_of(const std::vector<Array>& all) {
  std::vector<Tensor> out;
  for (const Array& x : all) out.push_back(x.tensor());
  return out;
}
template <typename R>
R result_of(std::vector<Tensor> tensors) {
  if constexpr (std::is_same_v<R, Array>)
    return Array(std::move(tensors.at(0)));
  else
    return R(tensors.begin(), tensors.end());
}

template <typename F>
struct Signature : Signature<decltype(&F::operator())> {};
template <typename R, typename... A>
struct Signature<R (*)(A...)> {
  using Result = std::decay_t<R>;
  using Arguments = std::tuple<std::decay_t<A>...>;
};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

template <typename F, typename Tuple, size_t... I>
auto apply_to(F& function, const Tuple& arguments, std::index_sequence<I...>) {
  return function(std::get<I>(arguments)...);
}

}  // namespace detail

// A function of arrays and numbers, captured as it is called. Thread-safe where the function is.
template <typename F>
class Jitted {
 public:
  using Result = typename detail::Signature<F>::Result;
  using Arguments = typename detail::Signature<F>::Arguments;
  static constexpr size_t kCount = std::tuple_size_v<Arguments>;

  Jitted(F function, record::JitOptions options)
      : function_(std::move(function)), tree_(std::make_shared<record::JitTree>(std::move(options))) {}

  template <typename... A>
    requires(sizeof...(A) == kCount)
  Result operator()(const A&... given) {
    Arguments arguments(given...);
    constexpr auto all = std::make_index_sequence<kCount>();
    if (Capture::current()) return detail::apply_to(function_, arguments, all);
    std::vector<record::Leaf> leaves = leaves_of(arguments, all);
    Front front{*this, arguments};
    record::JitTree::Result out = tree_->call(leaves, front);
    if (!out.trace) return detail::apply_to(function_, arguments, all);
    return detail::result_of<Result>(std::move(out.outputs));
  }
  // The graph that these arguments run, as text.
  template <typename... A>
  std::string text(const A&... given) {
    Arguments arguments(given...);
    std::vector<record::Leaf> leaves = leaves_of(arguments, std::make_index_sequence<kCount>());
    Front front{*this, arguments};
    std::shared_ptr<const record::JitTrace> trace = tree_->trace(leaves, front);
    return trace ? trace->graph->str() : std::string();
  }
  size_t traces() const { return tree_->traces()->size(); }
  const record::JitTree& tree() const { return *tree_; }

 private:
  struct Front final : record::JitFront {
    Front(Jitted& self, const Arguments& arguments) : self(self), arguments(arguments) {}
    Recorded record(record::JitCapture&, std::span<const Tensor> stand_ins) override {
      Arguments own = arguments;
      place(own, stand_ins, std::make_index_sequence<kCount>());
      return {detail::tensors_of(detail::apply_to(self.function_, own, std::make_index_sequence<kCount>())),
              nullptr,
              {}};
    }
    template <size_t... I>
    static void place(Arguments& own, std::span<const Tensor> stand_ins, std::index_sequence<I...>) {
      (place_one(std::get<I>(own), stand_ins[I]), ...);
    }
    // A number that the tree made symbolic is asked for its value, which fixes it again: in C++ it has a type
    // of its own.
    template <typename T>
    static void place_one(T& argument, const Tensor& stand_in) {
      if (!stand_in.valid()) return;
      if constexpr (std::is_same_v<T, Array>)
        argument = stand_in;
      else if constexpr (std::is_integral_v<T>)
        argument = static_cast<T>(Capture::current()->to_int(stand_in));
      else
        argument = static_cast<T>(Capture::current()->to_float(stand_in));
    }
    Jitted& self;
    const Arguments& arguments;
  };

  template <size_t... I>
  static std::vector<record::Leaf> leaves_of(const Arguments& arguments, std::index_sequence<I...>) {
    return {leaf_of(std::get<I>(arguments))...};
  }
  static record::Leaf leaf_of(const Array& x) {
    record::Leaf leaf;
    leaf.array = &x.tensor();
    return leaf;
  }
  template <typename T>
    requires(detail::is_scalar<T>)
  static record::Leaf leaf_of(T x) {
    record::Leaf leaf;
    if constexpr (std::is_integral_v<T>) {
      leaf.kind = record::Leaf::Kind::Integer;
      leaf.bits = static_cast<int64_t>(x);
    } else {
      leaf.kind = record::Leaf::Kind::Float;
      auto real = static_cast<double>(x);
      std::memcpy(&leaf.bits, &real, sizeof real);
    }
    return leaf;
  }

  F function_;
  std::shared_ptr<record::JitTree> tree_;
};

template <typename F>
Jitted<F> jit(F function, record::JitOptions options = {}) {
  return Jitted<F>(std::move(function), std::move(options));
}

// One closed graph of `function`, for arguments of these types; sizes may be symbols (Dim::symbol("b")).
template <typename F>
record::Traced trace(F function, const std::vector<record::Argument>& arguments, std::string name = "graph") {
  using Tuple = typename detail::Signature<F>::Arguments;
  constexpr size_t count = std::tuple_size_v<Tuple>;
  if (arguments.size() != count)
    throw make_error(ErrorKind::Type, "trace: the function takes {} arrays, and {} are described", count,
                     arguments.size())
        .hint("give one ig::record::Argument{type, name} for each parameter");
  auto run = [&]<size_t... I>(std::span<const Tensor> in, std::index_sequence<I...>) {
    return detail::tensors_of(function(Array(in[I])...));
  };
  return record::trace([&](std::span<const Tensor> in) { return run(in, std::make_index_sequence<count>()); },
                       arguments, std::move(name));
}

}  // namespace ig
