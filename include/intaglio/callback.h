// Calls from a captured program back into C++, with the names that they have in Python and JAX:
//
//   ig::Callback sorted("sorted", [](const std::vector<ig::Array>& x) { return std::vector{sort_of(x[0])};
//   }); auto f = ig::jit([=](ig::Array x) {
//     ig::debug::callback(seen, {x});
//     return ig::pure_callback(sorted, {x.tensor().type()}, {x})[0] * 2.0;
//   });
//
// Each run calls the function between its kernels, with concrete arrays, in the thread that runs it. A graph
// keeps the functions that it names; text of a graph needs them registered (Callback::registered).
#pragma once

#include <functional>

#include "intaglio/intaglio.h"
#include "tensor/effects.h"

namespace ig {

// A function from arrays to arrays. What it throws reaches the caller of the run.
class Callback {
 public:
  using Function = std::function<std::vector<Array>(const std::vector<Array>&)>;

  // `label` is what people read in the graph's text. Copies are the same function.
  Callback(std::string_view label, Function function)
      : ref_(ops::make_host_function(label, host_function(std::move(function)))) {}
  // Under this very name, for the life of the process: graphs that are stored may name it.
  static Callback registered(std::string_view name, Function function) {
    return Callback(ops::register_host_function(name, host_function(std::move(function))));
  }
  const ops::HostRef& ref() const { return ref_; }

 private:
  explicit Callback(ops::HostRef ref) : ref_(std::move(ref)) {}
  static ops::HostFunction host_function(Function function) {
    return [function = std::move(function)](const ops::HostCall&, std::span<const Literal> values) {
      Capture::Active outside(nullptr);
      std::vector<Array> arrays;
      for (const Literal& value : values) arrays.emplace_back(Tensor::from(value));
      std::vector<Literal> out;
      for (const Array& array : function(arrays)) {
        if (array.tensor().is_symbolic()) Capture::leaked(array.tensor(), nullptr);
        out.push_back(array.tensor().literal());
      }
      return out;
    };
  }
  ops::HostRef ref_;
};

namespace detail {
inline std::vector<Array> arrays_of(std::vector<Tensor> tensors) {
  return {std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end())};
}
}  // namespace detail

// What a function without effects gives; it has these types. `vmap_method`: none, sequential, expand_dims or
// broadcast_all.
inline std::vector<Array> pure_callback(const Callback& function, const std::vector<Type>& results,
                                        const std::vector<Array>& arguments,
                                        std::string vmap_method = "none") {
  return detail::arrays_of(
      effects::call_pure(function.ref(), detail::tensors_of(arguments), results, std::move(vmap_method)));
}

// The same of a function that does something: each run calls it once, in the program's order.
inline std::vector<Array> io_callback(const Callback& function, const std::vector<Type>& results,
                                      const std::vector<Array>& arguments) {
  return detail::arrays_of(effects::call_effect(function.ref(), detail::tensors_of(arguments), results));
}

namespace debug {
// Gives nothing, and has no part in derivatives. (The function's own results must be none.)
inline void callback(const Callback& function, const std::vector<Array>& arguments) {
  io_callback(function, {}, arguments);
}
}  // namespace debug

}  // namespace ig
