// Derivatives and batching for C++: functions of functions, with the names that they have in Python.
//
//   auto loss = [](ig::Array w, ig::Array x) { return ig::sum(ig::tanh(ig::matmul(x, w))); };
//   auto [value, gradient] = ig::value_and_grad(loss)(w, x);
//   auto step = ig::jit([=](ig::Array w, ig::Array x) { return w - 0.1 * ig::grad(loss)(w, x); });
//   ig::Array rows = ig::vmap([](ig::Array x) { return ig::sum(x * x); })(matrix);
//
// Arguments and results are trees: an Array, or a std::vector, std::pair, std::tuple or std::map of trees. A
// function of functions takes a callable whose parameters have such types, each by value (not a generic
// lambda), and gives a callable. All of them nest, in any order, in ig::jit and ig::trace too. Functions of
// graphs, which these stand on, are in transforms/transforms.h and transforms/batch.h.
#pragma once

#include <climits>
#include <map>
#include <optional>
#include <source_location>
#include <span>

#include "frontends/record/control.h"
#include "frontends/record/transform.h"
#include "intaglio/intaglio.h"
#include "transforms/transforms.h"

namespace ig {
namespace detail {

// --- trees
// ----------------------------------------------------------------------------------------------------

template <typename T>
struct Tree;  // of a type that is no tree: not defined
template <>
struct Tree<Array> {
  static void leaves(const Array& x, std::vector<Tensor>& out) { out.push_back(x.tensor()); }
  static void fill(Array& x, std::span<const Tensor>& from) {
    x = from.front();
    from = from.subspan(1);
  }
};
template <typename T>
struct Tree<std::vector<T>> {
  static void leaves(const std::vector<T>& x, std::vector<Tensor>& out) {
    for (const T& each : x) Tree<T>::leaves(each, out);
  }
  static void fill(std::vector<T>& x, std::span<const Tensor>& from) {
    for (T& each : x) Tree<T>::fill(each, from);
  }
};
template <typename K, typename T>
struct Tree<std::map<K, T>> {
  static void leaves(const std::map<K, T>& x, std::vector<Tensor>& out) {
    for (const auto& [key, each] : x) Tree<T>::leaves(each, out);
  }
  static void fill(std::map<K, T>& x, std::span<const Tensor>& from) {
    for (auto& [key, each] : x) Tree<T>::fill(each, from);
  }
};
template <typename... T>
struct Tree<std::tuple<T...>> {
  static void leaves(const std::tuple<T...>& x, std::vector<Tensor>& out) {
    std::apply([&](const T&... each) { (Tree<T>::leaves(each, out), ...); }, x);
  }
  static void fill(std::tuple<T...>& x, std::span<const Tensor>& from) {
    std::apply([&](T&... each) { (Tree<T>::fill(each, from), ...); }, x);
  }
};
template <typename A, typename B>
struct Tree<std::pair<A, B>> {
  static void leaves(const std::pair<A, B>& x, std::vector<Tensor>& out) {
    Tree<A>::leaves(x.first, out), Tree<B>::leaves(x.second, out);
  }
  static void fill(std::pair<A, B>& x, std::span<const Tensor>& from) {
    Tree<A>::fill(x.first, from), Tree<B>::fill(x.second, from);
  }
};

template <typename T>
std::vector<Tensor> leaves_of(const T& tree) {
  std::vector<Tensor> out;
  Tree<T>::leaves(tree, out);
  return out;
}
template <typename T>
T filled(T like, std::span<const Tensor> leaves) {
  Tree<T>::fill(like, leaves);
  return like;
}

inline bool moves(const Tensor& x) { return transforms::has_tangent(x.type()); }
inline transforms::Mask moving(std::span<const Tensor> all) {
  transforms::Mask out;
  for (const Tensor& x : all) out.push_back(moves(x));
  return out;
}
inline Tensor zeros_like(const Tensor& x) {
  return apply(ops::get("zeros"), {}, make_attrs({{"shape", x.type().dims}, {"dtype", x.dtype()}}))[0];
}
inline std::string where_text(const std::source_location& where) {
  std::string_view path = where.file_name();
  size_t slash = path.find_last_of('/');
  return fmt::format("{}:{}", slash == path.npos ? path : path.substr(slash + 1), where.line());
}
inline std::string type_text(const Tensor& x) { return x.type().str(); }

// --- a function on stand-ins
// ----------------------------------------------------------------------------------

template <typename F>
using ArgumentsOf = typename Signature<F>::Arguments;
template <typename F>
using ResultOf = typename Signature<F>::Result;
template <typename F>
constexpr auto kAllArguments = std::make_index_sequence<std::tuple_size_v<ArgumentsOf<F>>>();

template <typename F>
ResultOf<F> call_with(const F& function, const ArgumentsOf<F>& arguments) {
  return std::apply([&](const auto&... each) { return function(each...); }, arguments);
}

// A function of some of its arguments, captured: the others, and what it reads, are constants to it.
template <typename F, size_t... I>
struct Captured {
  using Chosen = std::tuple<std::tuple_element_t<I, ArgumentsOf<F>>...>;

  Captured(const F& function, const ArgumentsOf<F>& arguments) : chosen(std::get<I>(arguments)...) {
    given = leaves_of(chosen);
    std::vector<std::string> names;
    for (size_t i = 0; i < given.size(); ++i) names.push_back(fmt::format("x{}", i));
    auto run = [&](std::span<const Tensor> stand_ins) {
      ArgumentsOf<F> own = arguments;
      Chosen stand_in = filled(chosen, stand_ins);
      [&]<size_t... N>(std::index_sequence<N...>) {
        ((std::get<I>(own) = std::get<N>(stand_in)), ...);
      }(std::make_index_sequence<sizeof...(I)>());
      result = call_with(function, own);
      return leaves_of(result);
    };
    region = record::capture_bound(run, given, names, "function", [](Capture&) {});
    inputs = given;
    inputs.insert(inputs.end(), region.outer.begin(), region.outer.end());
    mask = moving(given);
    mask.resize(inputs.size(), false);
    for (const Type& type : region.types()) results.push_back(transforms::has_tangent(type));
  }

  Chosen chosen;
  std::vector<Tensor> given, inputs;  // the leaves of what is chosen, and behind them what the function read
  ResultOf<F> result{};               // the structure of the result
  record::Region region;
  transforms::Mask mask, results;  // which inputs, and which results, have tangents
};

template <typename F, typename Indices>
struct CapturedAt;
template <typename F, size_t... I>
struct CapturedAt<F, std::index_sequence<I...>> {
  using Type = Captured<F, I...>;
};
template <typename F>
using WholeCapture =
    typename CapturedAt<F, std::make_index_sequence<std::tuple_size_v<ArgumentsOf<F>>>>::Type;

// Both parts of a split graph: the first has run, and the second is a function.
struct SplitRun {
  std::vector<Tensor> values, kept;
  std::shared_ptr<Graph> linear;

  SplitRun(ops::SplitRegion parts, const std::vector<Tensor>& inputs, size_t results) {
    std::vector<Tensor> given = record::apply_graph(*parts.known, inputs);
    values.assign(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(results));
    size_t next = results;
    for (int residual : parts.residuals)
      kept.push_back(residual >= 0 ? inputs[static_cast<size_t>(residual)] : given[next++]);
    linear = std::move(parts.linear);
  }
  std::vector<Tensor> operator()(const std::vector<Tensor>& along) const {
    std::vector<Tensor> all = kept;
    all.insert(all.end(), along.begin(), along.end());
    return record::apply_graph(*linear, all);
  }
};

// Tangents or cotangents of the leaves that have one, out of a tree of them.
inline std::vector<Tensor> directions(std::string_view who, std::string_view what,
                                      const std::vector<Tensor>& given, std::span<const Tensor> like) {
  if (given.size() != like.size())
    throw make_error(ErrorKind::Type, "{}: {} {}s are given, but {} are needed", who, given.size(), what,
                     like.size())
        .why(fmt::format("there is one {} for each array, in the same containers", what))
        .hint(fmt::format("give a {} for each array", what));
  std::vector<Tensor> out;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!moves(like[i])) continue;
    if (!(given[i].type() == like[i].type()))
      throw make_error(ErrorKind::Shape, "{}: {} {} is {}, but {} is needed", who, what, i,
                       type_text(given[i]), type_text(like[i]))
          .why(fmt::format("a {} has the shape and dtype of what it belongs to; nothing is converted", what))
          .hint("convert it, or broadcast it, before");
    out.push_back(given[i]);
  }
  return out;
}

// The leaves with tangents from `moved`, and zeros at those that have none.
inline std::vector<Tensor> with_zeros(std::span<const Tensor> like, std::span<const Tensor> moved) {
  std::vector<Tensor> out;
  size_t next = 0;
  for (const Tensor& x : like) out.push_back(moves(x) ? moved[next++] : zeros_like(x));
  return out;
}

template <typename R>
struct IsAuxiliary : std::false_type {};
template <typename A>
struct IsAuxiliary<std::pair<Array, A>> : std::true_type {};

template <size_t... I>
struct Default {
  using Indices = std::index_sequence<I...>;
};
template <>
struct Default<> {
  using Indices = std::index_sequence<0>;
};

template <typename F, size_t... I>
auto gradients(const char* who, const std::source_location& where, const F& function,
               const ArgumentsOf<F>& arguments, std::index_sequence<I...>) {
  Captured<F, I...> captured(function, arguments);
  for (const Tensor& x : captured.given)
    if (!moves(x))
      throw make_error(ErrorKind::Type, "{}: an argument is {}, and derivatives are taken by floats", who,
                       type_text(x))
          .at(where_text(where))
          .why("a whole number or a truth value does not vary continuously")
          .hint("convert it, or name other arguments: ig::grad<1>(f)");
  const Type type = captured.region.types().at(0);
  if (type.rank() != 0 || !is_float(type.dtype))
    throw make_error(ErrorKind::Shape, "{}: the function gives {}, but must give one real number", who,
                     type.str())
        .at(where_text(where))
        .why("a gradient is of one number")
        .hint("reduce it with ig::sum, or use ig::jacrev, ig::jacfwd or ig::vjp");
  std::unique_ptr<Graph> graph = transforms::value_and_grad(*captured.region.graph, captured.mask);
  std::vector<Tensor> results = record::apply_graph(*graph, captured.inputs);
  const size_t count = captured.results.size();
  auto all = std::span<const Tensor>(results);
  auto gradient = filled(captured.chosen, all.subspan(count));
  auto value = filled(captured.result, all.first(count));
  if constexpr (sizeof...(I) == 1)
    return std::pair(std::move(value), std::get<0>(std::move(gradient)));
  else
    return std::pair(std::move(value), std::move(gradient));
}

}  // namespace detail

// --- reverse and forward mode
// ---------------------------------------------------------------------------------

// value_and_grad<0, 2>(f): a function that gives the value of f, one real number, and its gradient by these
// arguments (by the first, where none is named): one tree, or a tuple of them. Where f gives a std::pair, its
// second is handed through.
template <size_t... Arguments, typename F>
auto value_and_grad(F function, std::source_location where = std::source_location::current()) {
  return [function = std::move(function), where]<typename... A>(const A&... given) {
    return detail::gradients("value_and_grad", where, function, detail::ArgumentsOf<F>(given...),
                             typename detail::Default<Arguments...>::Indices());
  };
}

// The gradient alone; with what f gives beside its value, where that is a std::pair.
template <size_t... Arguments, typename F>
auto grad(F function, std::source_location where = std::source_location::current()) {
  return [function = std::move(function), where](const auto&... given) {
    auto both = detail::gradients("grad", where, function, detail::ArgumentsOf<F>(given...),
                                  typename detail::Default<Arguments...>::Indices());
    if constexpr (detail::IsAuxiliary<detail::ResultOf<F>>::value)
      return std::pair(std::move(both.second), std::move(both.first.second));
    else
      return std::move(both.second);
  };
}

// The value, and the function that pulls cotangents of it back: to a tuple with one for each argument. What
// is no float has a cotangent of zeros.
template <typename F, typename... A>
auto vjp(const F& function, const A&... given) {
  detail::WholeCapture<F> captured(function, detail::ArgumentsOf<F>(given...));
  detail::SplitRun run(transforms::vjp(*captured.region.graph, captured.mask, captured.results),
                       captured.inputs, captured.results.size());
  auto value = detail::filled(captured.result, run.values);
  auto pull = [run, value, like = captured.given,
               chosen = captured.chosen](const detail::ResultOf<F>& cotangent) {
    std::vector<Tensor> moved =
        run(detail::directions("vjp", "cotangent", detail::leaves_of(cotangent), run.values));
    return detail::filled(chosen, detail::with_zeros(like, moved));
  };
  return std::pair(std::move(value), std::move(pull));
}

// The value at the primals (a tuple of arguments), and its derivative along the tangents.
template <typename F>
std::pair<detail::ResultOf<F>, detail::ResultOf<F>> jvp(const F& function,
                                                        const detail::ArgumentsOf<F>& primals,
                                                        const detail::ArgumentsOf<F>& tangents) {
  detail::WholeCapture<F> captured(function, primals);
  std::unique_ptr<Graph> graph = transforms::jvp(*captured.region.graph, captured.mask, captured.results);
  std::vector<Tensor> inputs = captured.inputs;
  for (Tensor& x : detail::directions("jvp", "tangent", detail::leaves_of(tangents), captured.given))
    inputs.push_back(std::move(x));
  std::vector<Tensor> results = record::apply_graph(*graph, inputs);
  auto all = std::span<const Tensor>(results);
  auto values = all.first(captured.results.size());
  return {detail::filled(captured.result, values),
          detail::filled(captured.result, detail::with_zeros(values, all.subspan(values.size())))};
}

// The value, and the derivative there as a linear function of the tangents of all arguments.
template <typename F, typename... A>
auto linearize(const F& function, const A&... given) {
  detail::WholeCapture<F> captured(function, detail::ArgumentsOf<F>(given...));
  detail::SplitRun run(transforms::linearize(*captured.region.graph, captured.mask, captured.results),
                       captured.inputs, captured.results.size());
  auto value = detail::filled(captured.result, run.values);
  auto push = [run, value, like = captured.given](const A&... tangents) {
    std::vector<Tensor> moved = run(detail::directions(
        "linearize", "tangent", detail::leaves_of(detail::ArgumentsOf<F>(tangents...)), like));
    return detail::filled(value, detail::with_zeros(run.values, moved));
  };
  return std::pair(std::move(value), std::move(push));
}

// The transpose of a linear function: from a cotangent of its result to a tuple of those of its arguments,
// of which the types alone matter here.
template <typename F, typename... A>
auto linear_transpose(const F& function, const A&... given) {
  detail::WholeCapture<F> captured(function, detail::ArgumentsOf<F>(given...));
  std::shared_ptr<Graph> graph =
      transforms::transpose(*captured.region.graph, captured.mask, captured.results);
  return [graph, captured = std::make_shared<detail::WholeCapture<F>>(std::move(captured))](
             const detail::ResultOf<F>& cotangent) {
    std::vector<Tensor> inputs = captured->region.outer;
    for (Tensor& x : detail::leaves_of(cotangent)) inputs.push_back(std::move(x));
    return detail::filled(captured->chosen,
                          detail::with_zeros(captured->given, record::apply_graph(*graph, inputs)));
  };
}

inline Array stop_gradient(const Array& x) { return detail::unary("stop_gradient", x); }

// --- batching
// -------------------------------------------------------------------------------------------------

constexpr int kNotMapped = INT_MIN;

struct MapOptions {
  std::vector<int> in_axes{};   // for each argument; kNotMapped: the same for all. Left out: the first axis
  std::vector<int> out_axes{};  // for each array of the result; left out: the first axis
  std::string axis_name{};      // for collectives: call("axis_sum", {x.tensor()}, {{"axis_name", …}})
  std::optional<Dim> axis_size{};  // needed where nothing is mapped
};

// The function on many examples at once: along one axis of its arguments, with the results stacked.
template <typename F>
auto vmap(F function, MapOptions options = {}, std::source_location where = std::source_location::current()) {
  return [function = std::move(function), options = std::move(options), where](const auto&... given) {
    using Arguments = detail::ArgumentsOf<F>;
    const Arguments arguments(given...);
    constexpr size_t kCount = std::tuple_size_v<Arguments>;
    if (!options.in_axes.empty() && options.in_axes.size() != kCount)
      throw make_error(ErrorKind::Value, "vmap: {} axes are given for {} arguments", options.in_axes.size(),
                       kCount)
          .at(detail::where_text(where))
          .why("in_axes has one axis for each argument")
          .hint("give ig::kNotMapped for an argument that is the same for all");
    std::vector<int> axes;
    [&]<size_t... I>(std::index_sequence<I...>) {
      (axes.insert(axes.end(), detail::leaves_of(std::get<I>(arguments)).size(),
                   options.in_axes.empty() ? 0 : options.in_axes[I]),
       ...);
    }(detail::kAllArguments<F>);
    std::vector<Tensor> leaves = detail::leaves_of(arguments);
    std::vector<record::Argument> types;
    record::Mapping mapping{{}, {}, {}, options.axis_name, {}};
    std::optional<Dim> size = options.axis_size;
    std::string sizes;
    bool differ = false;
    for (size_t i = 0; i < leaves.size(); ++i) {
      Type type = leaves[i].type();
      int axis = axes[i];
      if (axis == kNotMapped) {
        axis = -1;
      } else {
        if (axis < -type.rank() || axis >= type.rank())
          throw make_error(ErrorKind::Index, "vmap: axis {} of array {}, {}, is out of range", axis, i,
                           type.str())
              .at(detail::where_text(where))
              .why(fmt::format("it has {} axes", type.rank()))
              .hint("name an axis that it has, or ig::kNotMapped");
        axis = axis < 0 ? axis + type.rank() : axis;
        const Dim own = type.dims[static_cast<size_t>(axis)];
        sizes += fmt::format("\n    array {}: {} along axis {} of {}", i, own.str(), axis, type.str());
        differ = differ || (size && !(*size == own));
        size = size.value_or(own);
        type.dims.erase(type.dims.begin() + axis);
      }
      types.push_back({type, fmt::format("x{}", i)});
      mapping.in_axes.push_back(axis);
    }
    if (!size || differ)
      throw make_error(size ? ErrorKind::Shape : ErrorKind::Value, "vmap: {}{}",
                       size ? "the mapped axes have different sizes:" : "nothing is mapped", sizes)
          .at(detail::where_text(where))
          .why("all mapped axes are walked together")
          .hint(size ? "give axes of one size in in_axes" : "map an argument, or give axis_size");
    mapping.size = *size;
    detail::ResultOf<F> result{};
    record::Region region = record::capture_region(
        [&](std::span<const Tensor> stand_ins) {
          result = detail::call_with(function, detail::filled(arguments, stand_ins));
          return detail::leaves_of(result);
        },
        types, "mapped");
    for (const Type& type : region.types()) {
      size_t i = mapping.out_axes.size();
      int axis = i < options.out_axes.size() ? options.out_axes[i] : 0;
      mapping.out_axes.push_back(axis == kNotMapped ? -1 : axis < 0 ? axis + type.rank() + 1 : axis);
    }
    return detail::filled(result, record::call_batched(region, leaves, mapping));
  };
}

// --- matrices of derivatives
// ----------------------------------------------------------------------------------

namespace detail {

inline Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline int64_t number_of(const Dim& dim) {
  return dim.is_constant() ? dim.constant() : Capture::current()->to_size(dim, "the size of a basis");
}
// One direction for each element of an array, stacked in front.
inline Array directions_of(const Type& type) {
  int64_t count = 1;
  for (const Dim& dim : type.dims) count *= number_of(dim);
  Array rows = apply(ops::get("eye"), {},
                     make_attrs({{"shape", Dims{Dim(count), Dim(count)}}, {"dtype", type.dtype}}))[0];
  return reshape(rows, joined({Dim(count)}, type.dims));
}

// The function of one argument, the others as they are. It refers to what it is given.
template <size_t Argument, typename F>
auto along(const F& function, const ArgumentsOf<F>& arguments) {
  return [&function, &arguments](Array x) {
    auto own = arguments;
    std::get<Argument>(own) = x;
    return call_with(function, own);
  };
}

}  // namespace detail

// The matrix of derivatives of an array by an array, [result's axes, argument's axes]: by columns, all
// together, and by rows.
template <size_t Argument = 0, typename F>
auto jacfwd(F function) {
  static_assert(std::is_same_v<detail::ResultOf<F>, Array>, "jacfwd takes a function that gives one Array");
  return [function = std::move(function)](const auto&... given) {
    const detail::ArgumentsOf<F> arguments(given...);
    const Array at = std::get<Argument>(arguments);
    auto along = detail::along<Argument>(function, arguments);
    auto parts = linearize(along, at);
    auto push = [&](Array tangent) { return parts.second(tangent); };
    Array columns = vmap(push, {.out_axes = {-1}})(detail::directions_of(at.tensor().type()));
    return reshape(columns, detail::joined(parts.first.shape(), at.shape()));
  };
}
template <size_t Argument = 0, typename F>
auto jacrev(F function) {
  static_assert(std::is_same_v<detail::ResultOf<F>, Array>, "jacrev takes a function that gives one Array");
  return [function = std::move(function)](const auto&... given) {
    const detail::ArgumentsOf<F> arguments(given...);
    const Array at = std::get<Argument>(arguments);
    auto along = detail::along<Argument>(function, arguments);
    auto parts = vjp(along, at);
    auto pull = [&](Array cotangent) { return std::get<0>(parts.second(cotangent)); };
    Array rows = vmap(pull)(detail::directions_of(parts.first.tensor().type()));
    return reshape(rows, detail::joined(parts.first.shape(), at.shape()));
  };
}
// The second derivatives of one number by an array: forward mode over reverse mode.
template <size_t Argument = 0, typename F>
auto hessian(F function, std::source_location where = std::source_location::current()) {
  return [function = std::move(function), where](const auto&... given) {
    const detail::ArgumentsOf<F> arguments(given...);
    auto gradient = [&](Array x) {
      auto own = arguments;
      std::get<Argument>(own) = x;
      return std::apply([&](const auto&... each) { return grad<Argument>(function, where)(each...); }, own);
    };
    return jacfwd(gradient)(std::get<Argument>(arguments));
  };
}

// --- derivatives of the user's own, and what is computed again
// -------------------------------------------------

namespace detail {

inline std::vector<record::Argument> types_of(std::span<const Type> types) {
  std::vector<record::Argument> out;
  for (const Type& type : types) out.push_back({type, fmt::format("x{}", out.size())});
  return out;
}
inline std::vector<Type> types_of(std::span<const Tensor> tensors) {
  std::vector<Type> out;
  for (const Tensor& x : tensors) out.push_back(x.type());
  return out;
}
inline std::vector<Type> moving_types(std::span<const Type> types) {
  std::vector<Type> out;
  for (const Type& type : types)
    if (transforms::has_tangent(type)) out.push_back(type);
  return out;
}

inline void require_types(std::string_view who, std::string_view what, std::span<const Tensor> given,
                          std::span<const Type> wanted) {
  for (size_t i = 0; i < std::max(given.size(), wanted.size()); ++i)
    if (i >= given.size() || i >= wanted.size() || !(given[i].type() == wanted[i]))
      throw make_error(ErrorKind::Type, "{}: {} {} of the rule is {}, but {} is needed", who, what, i,
                       i < given.size() ? given[i].type().str() : "left out",
                       i < wanted.size() ? wanted[i].str() : "nothing")
          .why("derivatives have the shape and dtype of what they belong to")
          .hint("convert, reduce or broadcast in the rule");
}

// A call that must be a node: recorded where a capture is going on, else captured and run.
template <typename Call, typename Arguments>
auto as_node(const Call& call, const Arguments& arguments) {
  if (Capture::current()) return call(arguments);
  decltype(call(arguments)) result{};
  std::vector<Tensor> leaves = leaves_of(arguments);
  std::vector<std::string> names(leaves.size(), "x");
  for (size_t i = 0; i < names.size(); ++i) names[i] += std::to_string(i);
  record::Region region = record::capture_bound(
      [&](std::span<const Tensor> stand_ins) {
        result = call(filled(arguments, stand_ins));
        return leaves_of(result);
      },
      leaves, names, "function", [](Capture&) {});
  leaves.insert(leaves.end(), region.outer.begin(), region.outer.end());
  return filled(result, record::apply_graph(*region.graph, leaves));
}

template <typename F>
record::Region region_of(const F& function, const ArgumentsOf<F>& like, ResultOf<F>& result) {
  std::vector<Type> types = types_of(leaves_of(like));
  return record::capture_region(
      [&](std::span<const Tensor> stand_ins) {
        result = call_with(function, filled(like, stand_ins));
        return leaves_of(result);
      },
      types_of(types), "function");
}

}  // namespace detail

// The function with a derivative of its own in both modes: rule(primals, tangents), each a tuple of the
// arguments, gives a pair of the value and its tangent, which is linear in the tangents. What the function
// and its rule read from around them must not be differentiated by.
template <typename F, typename Rule>
auto custom_jvp(F function, Rule rule) {
  return [function = std::move(function), rule = std::move(rule)](const auto&... given) {
    using Arguments = detail::ArgumentsOf<F>;
    auto record = [&](const Arguments& arguments) {
      detail::ResultOf<F> result{};
      std::vector<Tensor> leaves = detail::leaves_of(arguments);
      record::Region body = detail::region_of(function, arguments, result);
      std::vector<Type> types = detail::types_of(leaves), out = body.types();
      std::vector<Type> moved = detail::moving_types(types);
      types.insert(types.end(), moved.begin(), moved.end());
      record::Region both = record::capture_region(
          [&](std::span<const Tensor> stand_ins) {
            auto primals = stand_ins.first(leaves.size());
            auto [value, tangent] = rule(
                detail::filled(arguments, primals),
                detail::filled(arguments, detail::with_zeros(primals, stand_ins.subspan(leaves.size()))));
            std::vector<Tensor> given_back = detail::leaves_of(value);
            detail::require_types("custom_jvp", "value", given_back, out);
            std::vector<Tensor> along = detail::leaves_of(tangent);
            detail::require_types("custom_jvp", "tangent", along, out);
            for (const Tensor& x : along)
              if (detail::moves(x)) given_back.push_back(x);
            return given_back;
          },
          detail::types_of(types), "rule");
      std::vector<record::Region> regions;
      regions.push_back(std::move(body)), regions.push_back(std::move(both));
      return detail::filled(result,
                            record::record_control(ops::get("custom_jvp"), {}, std::move(regions), {leaves}));
    };
    return detail::as_node(record, Arguments(given...));
  };
}

// The function with a way back of its own: forward(arguments…) gives a pair of the value and a tree of
// residuals, and backward(residuals, cotangent) a tuple with a cotangent for each argument.
template <typename F, typename Forward, typename Backward>
auto custom_vjp(F function, Forward forward, Backward backward) {
  return [function = std::move(function), forward = std::move(forward),
          backward = std::move(backward)](const auto&... given) {
    using Arguments = detail::ArgumentsOf<F>;
    auto record = [&](const Arguments& arguments) {
      detail::ResultOf<F> result{};
      detail::ResultOf<Forward> kept{};
      std::vector<Tensor> leaves = detail::leaves_of(arguments);
      record::Region body = detail::region_of(function, arguments, result);
      record::Region first = detail::region_of(forward, arguments, kept);
      std::vector<Type> out = body.types(), types = first.types();
      detail::require_types("custom_vjp", "value", detail::leaves_of(kept.first), out);
      types.erase(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(out.size()));
      const size_t residuals = types.size();
      std::vector<Type> moved = detail::moving_types(out);
      types.insert(types.end(), moved.begin(), moved.end());
      record::Region second = record::capture_region(
          [&](std::span<const Tensor> stand_ins) {
            std::vector<Tensor> cotangent = detail::leaves_of(result);
            cotangent = detail::with_zeros(cotangent, stand_ins.subspan(residuals));
            Arguments back = backward(detail::filled(kept.second, stand_ins.first(residuals)),
                                      detail::filled(result, cotangent));
            std::vector<Tensor> all = detail::leaves_of(back), moved_back;
            detail::require_types("custom_vjp", "cotangent", all, detail::types_of(leaves));
            for (const Tensor& x : all)
              if (detail::moves(x)) moved_back.push_back(x);
            return moved_back;
          },
          detail::types_of(types), "backward");
      std::vector<record::Region> regions;
      regions.push_back(std::move(body)), regions.push_back(std::move(first));
      regions.push_back(std::move(second));
      return detail::filled(result,
                            record::record_control(ops::get("custom_vjp"), {}, std::move(regions), {leaves}));
    };
    return detail::as_node(record, Arguments(given...));
  };
}

// The function, of which reverse mode keeps the arguments alone and computes all else once more. `saves` says
// what it keeps all the same: "nothing", "everything", "dots", "dots_without_batch", "names:a,b",
// "all_but:a,b", or a number of bytes, "budget:65536".
template <typename F>
auto checkpoint(F function, std::string saves = "nothing") {
  return [function = std::move(function), saves = std::move(saves)](const auto&... given) {
    auto record = [&](const detail::ArgumentsOf<F>& arguments) {
      detail::ResultOf<F> result{};
      std::vector<record::Region> regions;
      regions.push_back(detail::region_of(function, arguments, result));
      Attrs attrs;
      attrs.set("saves", saves);
      return detail::filled(result, record::record_control(ops::get("checkpoint"), {}, std::move(regions),
                                                           {detail::leaves_of(arguments)}, std::move(attrs)));
    };
    return detail::as_node(record, detail::ArgumentsOf<F>(given...));
  };
}

// The types of the function's arrays, for arguments of these types: nothing is computed.
template <typename F>
std::vector<Type> eval_shape(const F& function, const std::vector<Type>& types) {
  using Arguments = detail::ArgumentsOf<F>;
  constexpr size_t count = std::tuple_size_v<Arguments>;
  if (types.size() != count)
    throw make_error(ErrorKind::Type, "eval_shape: the function takes {} arrays, and {} are described", count,
                     types.size())
        .why("each parameter has one type")
        .hint("give one ig::Type for each parameter");
  auto run = [&]<size_t... I>(std::span<const Tensor> in, std::index_sequence<I...>) {
    return detail::leaves_of(function(Array(in[I])...));
  };
  return record::capture_region([&](std::span<const Tensor> in) { return run(in, detail::kAllArguments<F>); },
                                detail::types_of(types), "function")
      .types();
}

}  // namespace ig
