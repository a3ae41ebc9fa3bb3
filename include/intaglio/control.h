// Control flow for C++, with the names that it has in Python and JAX, over lambdas:
//
//   ig::Array y = ig::cond(ig::sum(x) > 0.0, [](ig::Array x) { return x; }, [](ig::Array x) { return -x; },
//   x); ig::Array root = ig::while_loop([=](ig::Array r) { return ig::abs(r * r - a) > 1e-6; },
//                                   [=](ig::Array r) { return (r + a / r) * 0.5; }, a);
//   auto [total, sums] = ig::scan([](ig::Array sum, ig::Array x) { return std::pair(sum + x, sum + x); },
//                                 ig::scalar(0.0), xs);
//
// In a capture (ig::jit, ig::trace, derivatives, vmap) each is one node with regions: branches and bodies run
// once, on stand-ins, and may read whatever is around them. Outside of one they are C++'s own `if` and loops.
// What passes through is a tree, as in intaglio/transforms.h: an Array, or a std::vector, std::pair,
// std::tuple or std::map of trees. Functions name the types of their parameters (no generic lambdas), and
// take them by value.
#pragma once

#include <functional>

#include "intaglio/transforms.h"

namespace ig {
namespace detail {

// An array that decides, with the line that it is asked in.
struct Decider {
  Decider(const Array& value, std::source_location where = std::source_location::current())  // NOLINT
      : value(value), where(where) {}
  Array value;
  std::source_location where;
};

inline Array decided(const Array& value, std::string_view who, std::string_view what,
                     const std::source_location& where) {
  if (value.rank() != 0)
    throw make_error(ErrorKind::Shape, "{}: {} is {}, but one value decides", who, what,
                     type_text(value.tensor()))
        .at(where_text(where))
        .why("a branch or step is taken as a whole; there is none for each element")
        .hint("reduce it with ig::call(\"any\", …), or choose element by element with ig::where");
  return value;
}
inline Array truth(const Array& value, std::string_view who, std::string_view what,
                   const std::source_location& where) {
  Array one = decided(value, who, what, where);
  return one.dtype() == DType::Bool ? one : one != 0;
}

// Refuses results of other types than those that are needed.
inline void require_same(std::string_view who, std::string_view what, std::span<const Type> given,
                         std::span<const Type> wanted, std::string_view why,
                         const std::source_location& where) {
  for (size_t i = 0; i < std::max(given.size(), wanted.size()); ++i)
    if (i >= given.size() || i >= wanted.size() || !(given[i] == wanted[i]))
      throw make_error(ErrorKind::Type, "{}: {} {} is {}, but {} is needed", who, what, i,
                       i < given.size() ? given[i].str() : "left out",
                       i < wanted.size() ? wanted[i].str() : "nothing")
          .at(where_text(where))
          .why(std::string(why))
          .hint("convert with ig::call(\"astype\", …), or broadcast, so that both have one type");
}

// The function captured as a region, on arguments of the structure of `like` and of these types.
template <typename F>
record::Region region_on(const F& function, const ArgumentsOf<F>& like, std::span<const Type> types,
                         ResultOf<F>& result) {
  return record::capture_region(
      [&](std::span<const Tensor> stand_ins) {
        result = call_with(function, filled(like, stand_ins));
        return leaves_of(result);
      },
      types_of(types), "function");
}

template <typename F, typename G>
constexpr bool kGivesTheSame = std::is_same_v<ResultOf<F>, ResultOf<G>>;

inline constexpr std::string_view kWhyBranches =
    "which branch runs is known only when the graph runs, and nothing is converted between branches";
inline constexpr std::string_view kWhyCarry = "each step begins with what the one before gave";

// One slice of an array along its first axis.
inline Array row_of(const Array& x, int64_t i) {
  const Dims shape = x.shape();
  Dims start(shape.size(), Dim(int64_t{0})), limit = shape, rest(shape.begin() + 1, shape.end());
  start[0] = Dim(i);
  limit[0] = Dim(i + 1);
  std::vector<Tensor> operand{x.tensor()};
  Array slice =
      apply(ops::get("slice"), operand,
            make_attrs({{"start", start}, {"limit", limit}, {"strides", Ints(shape.size(), 1)}}))[0];
  return reshape(slice, rest);
}

inline Type slice_type(const Tensor& x) {
  Type type = x.type();
  return Type::tensor(type.dtype, Dims(type.dims.begin() + 1, type.dims.end()));
}

}  // namespace detail

// --- branches
// ------------------------------------------------------------------------------------------------------

// true_fun(operands…) where the predicate is true, else false_fun(operands…): only that one runs. Both give
// the same tree, with the same types.
template <typename T, typename F, typename... A>
detail::ResultOf<T> cond(const detail::Decider& predicate, const T& true_fun, const F& false_fun,
                         const A&... operands) {
  static_assert(detail::kGivesTheSame<T, F>, "both branches give the same type of tree");
  static_assert(std::is_same_v<detail::ArgumentsOf<T>, detail::ArgumentsOf<F>>,
                "both branches take the same parameters");
  Array truth = detail::truth(predicate.value, "cond", "the predicate", predicate.where);
  detail::ArgumentsOf<T> arguments(operands...);
  if (!Capture::current())
    return truth ? detail::call_with(true_fun, arguments) : detail::call_with(false_fun, arguments);
  detail::ResultOf<T> result{}, other{};
  std::vector<Tensor> leaves = detail::leaves_of(arguments);
  std::vector<record::Region> regions;
  regions.push_back(detail::region_of(true_fun, arguments, result));
  regions.push_back(detail::region_of(false_fun, arguments, other));
  detail::require_same("cond", "what false_fun gives,", regions[1].types(), regions[0].types(),
                       detail::kWhyBranches, predicate.where);
  std::vector<Tensor> leading{truth.tensor()};
  return detail::filled(result,
                        record::record_control(ops::get("cond"), leading, std::move(regions), {leaves}));
}

// branches[index](operands…); an index out of range is clamped. Only that branch runs.
template <typename R, typename... P, typename... A>
R switch_(const detail::Decider& index, const std::vector<std::function<R(P...)>>& branches,
          const A&... operands) {
  if (branches.empty())
    throw Error(ErrorKind::Value, "switch_: there is no branch")
        .at(detail::where_text(index.where))
        .why("the list of branches is empty")
        .hint("give at least one function");
  Array which = detail::decided(index.value, "switch_", "the index", index.where);
  if (!is_integer(which.dtype()))
    throw make_error(ErrorKind::Type, "switch_: the index is {}, but must be an integer",
                     detail::type_text(which.tensor()))
        .at(detail::where_text(index.where))
        .why("it counts the branches from 0")
        .hint("convert it with ig::call(\"astype\", …), or use ig::cond");
  auto last = static_cast<int64_t>(branches.size()) - 1;
  std::tuple<std::decay_t<P>...> arguments(operands...);
  if (!Capture::current()) {
    int64_t at = std::clamp<int64_t>(which.item<int64_t>(), 0, last);
    return std::apply([&](const auto&... each) { return branches[static_cast<size_t>(at)](each...); },
                      arguments);
  }
  std::vector<Tensor> leading{
      call("clip", {call("astype", {which.tensor()}, {{"dtype", DType::I64}})[0].tensor(),
                    detail::operand(int64_t{0}), detail::operand(last)})[0]
          .tensor()};
  R result{};
  std::vector<record::Region> regions;
  for (const auto& branch : branches) {
    auto own = [&branch](P... each) { return branch(each...); };
    R given{};
    regions.push_back(detail::region_of(own, arguments, given));
    if (regions.size() == 1) result = given;
    detail::require_same("switch_", fmt::format("what branch {} gives,", regions.size() - 1),
                         regions.back().types(), regions.front().types(), detail::kWhyBranches, index.where);
  }
  return detail::filled(result, record::record_control(ops::get("switch"), leading, std::move(regions),
                                                       {detail::leaves_of(arguments)}));
}

// The same for a tuple of lambdas: switch_(i, std::tuple(f, g, h), x).
template <typename F, typename... G, typename... A>
detail::ResultOf<F> switch_(const detail::Decider& index, const std::tuple<F, G...>& branches,
                            const A&... operands) {
  static_assert((detail::kGivesTheSame<F, G> && ...), "all branches give the same type of tree");
  auto listed = []<typename... P>(const std::tuple<F, G...>& all, std::tuple<P...>*) {
    std::vector<std::function<detail::ResultOf<F>(P...)>> out;
    std::apply([&](const auto&... each) { (out.push_back(each), ...); }, all);
    return out;
  };
  return switch_(index, listed(branches, static_cast<detail::ArgumentsOf<F>*>(nullptr)), operands...);
}

// --- loops
// ---------------------------------------------------------------------------------------------------------

// value = init; while (condition(value)) value = body(value); and then the value. Reverse mode keeps what
// each step began with.
template <typename C, typename B>
detail::ResultOf<B> while_loop(const C& condition, const B& body, const detail::ResultOf<B>& init,
                               std::source_location where = std::source_location::current()) {
  using T = detail::ResultOf<B>;
  static_assert(std::is_same_v<detail::ArgumentsOf<B>, std::tuple<T>>, "the body gives what it takes");
  static_assert(std::is_same_v<detail::ArgumentsOf<C>, std::tuple<T>>,
                "the condition takes what the body does");
  static_assert(std::is_same_v<detail::ResultOf<C>, Array>, "the condition gives an Array");
  std::vector<Tensor> carry = detail::leaves_of(init);
  std::vector<Type> types = detail::types_of(std::span<const Tensor>(carry));
  if (!Capture::current()) {
    T value = init;
    while (detail::truth(condition(value), "while_loop", "the condition", where)) {
      value = body(value);
      detail::require_same("while_loop", "what the body gives,",
                           detail::types_of(std::span<const Tensor>(detail::leaves_of(value))), types,
                           detail::kWhyCarry, where);
    }
    return value;
  }
  auto test = [&](T value) { return detail::truth(condition(value), "while_loop", "the condition", where); };
  Array truth;
  T result = init;
  std::vector<record::Region> regions;
  regions.push_back(detail::region_on(test, std::tuple(init), types, truth));
  regions.push_back(detail::region_on(body, std::tuple(init), types, result));
  detail::require_same("while_loop", "what the body gives,", regions[1].types(), types, detail::kWhyCarry,
                       where);
  return detail::filled(result, record::record_control(ops::get("while"), {}, std::move(regions), {carry}));
}

struct ScanOptions {
  int64_t length = -1;   // the number of steps, where there are no slices
  bool reverse = false;  // from the last slice to the first; what is stacked stands in the slices' order
};

// carry, y = f(carry, x) for each slice x of xs along its first axis: a pair of the last carry and the
// stacked ys. f gives a std::pair of both; std::tuple<> stands for nothing to scan over, or to stack.
template <typename F>
auto scan(const F& f, const std::tuple_element_t<0, detail::ArgumentsOf<F>>& init,
          const std::tuple_element_t<1, detail::ArgumentsOf<F>>& xs, ScanOptions options = {},
          std::source_location where = std::source_location::current()) {
  using C = std::tuple_element_t<0, detail::ArgumentsOf<F>>;
  using Pair = detail::ResultOf<F>;
  using Y = typename Pair::second_type;
  static_assert(std::is_same_v<typename Pair::first_type, C>, "the body's carry has the type that it takes");
  std::vector<Tensor> carry = detail::leaves_of(init), slices = detail::leaves_of(xs);
  std::vector<Type> types = detail::types_of(std::span<const Tensor>(carry)), own = types;
  Dim length(options.length);
  bool known = options.length >= 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].rank() == 0)
      throw make_error(ErrorKind::Shape, "scan: array {} of xs is a scalar, and has no axis to scan over", i)
          .at(detail::where_text(where))
          .why("each step takes a slice of the first axis")
          .hint("read it in the body instead, or give it an axis");
    Dim size = slices[i].type().dims[0];
    if (known && !(size == length))
      throw make_error(ErrorKind::Shape, "scan: the first sizes differ: {} and {}", length.str(), size.str())
          .at(detail::where_text(where))
          .why("each step takes one slice of each array")
          .hint("all arrays of xs, and the length, must agree");
    length = size;
    known = true;
    own.push_back(detail::slice_type(slices[i]));
  }
  if (!known)
    throw Error(ErrorKind::Value, "scan: the number of steps is not known")
        .at(detail::where_text(where))
        .why("there is nothing to scan over, and no length")
        .hint("give {.length = n}");
  auto check_carry = [&](std::span<const Type> given) {
    detail::require_same("scan", "the body's carry", given, types, detail::kWhyCarry, where);
  };
  Pair result{};
  auto region = [&] {
    record::Region out = detail::region_on(f, std::tuple(init, xs), own, result);
    std::vector<Type> all = out.types();
    const auto carried = static_cast<std::ptrdiff_t>(detail::leaves_of(result.first).size());
    check_carry(std::vector<Type>(all.begin(), all.begin() + carried));
    return out;
  };
  if (Capture::current()) {
    std::vector<record::Region> regions;
    regions.push_back(region());
    Attrs attrs = make_attrs({{"length", Dims{length}}, {"reverse", options.reverse}});
    return detail::filled(result, record::record_control(ops::get("scan"), {}, std::move(regions),
                                                         {carry, slices}, std::move(attrs)));
  }
  const int64_t count = length.constant();
  if (count == 0) {
    record::Region body = region();
    std::vector<Type> all = body.types();
    std::vector<Tensor> leaves = carry;
    for (size_t i = carry.size(); i < all.size(); ++i) {
      Dims shape = all[i].dims;
      shape.insert(shape.begin(), Dim(int64_t{0}));
      leaves.push_back(
          apply(ops::get("zeros"), {}, make_attrs({{"shape", shape}, {"dtype", all[i].dtype}}))[0]);
    }
    return detail::filled(result, leaves);
  }
  C value = init;
  Y y{};
  std::vector<std::vector<Tensor>> stacked;
  for (int64_t step = 0; step < count; ++step) {
    int64_t at = options.reverse ? count - 1 - step : step;
    std::vector<Tensor> rows;
    for (const Tensor& x : slices) rows.push_back(detail::row_of(x, at).tensor());
    Pair given = f(value, detail::filled(xs, rows));
    std::vector<Tensor> leaves = detail::leaves_of(given.first);
    check_carry(detail::types_of(std::span<const Tensor>(leaves)));
    value = given.first;
    y = given.second;
    stacked.push_back(detail::leaves_of(y));
  }
  if (options.reverse) std::reverse(stacked.begin(), stacked.end());
  std::vector<Tensor> ys;
  for (size_t i = 0; i < stacked[0].size(); ++i) {
    std::vector<front::Operand> parts;
    for (const std::vector<Tensor>& each : stacked) parts.emplace_back(each[i]);
    ys.push_back(call("stack", std::move(parts), {{"axis", int64_t{0}}})[0].tensor());
  }
  return Pair(value, detail::filled(y, ys));
}

// value = init; for (i = lower; i < upper; ++i) value = body(i, value); and then the value. The counter is an
// Array of int64.
template <typename B>
detail::ResultOf<B> fori_loop(int64_t lower, int64_t upper, const B& body, const detail::ResultOf<B>& init,
                              std::source_location where = std::source_location::current()) {
  using T = detail::ResultOf<B>;
  using Carry = std::tuple<Array, T>;
  auto step = [&](Carry carry, std::tuple<>) {
    auto& [i, value] = carry;
    return std::pair(Carry(i + 1, body(i, value)), std::tuple<>());
  };
  Array first = Tensor::scalar_int(DType::I64, lower);
  if (Capture* capture = Capture::current()) capture->note_made_here(first.tensor());
  return std::get<1>(
      scan(step, Carry(first, init), std::tuple<>(), {.length = std::max<int64_t>(upper - lower, 0)}, where)
          .first);
}

// The same up to a number that is known only when the graph runs: a while_loop.
template <typename B>
detail::ResultOf<B> fori_loop(const Array& lower, const Array& upper, const B& body,
                              const detail::ResultOf<B>& init,
                              std::source_location where = std::source_location::current()) {
  using Carry = std::tuple<Array, detail::ResultOf<B>>;
  auto counter = [&](const Array& x, std::string_view what) {
    Array one = detail::decided(x, "fori_loop", what, where);
    return call("astype", {one.tensor()}, {{"dtype", DType::I64}})[0];
  };
  Array first = counter(lower, "lower"), last = counter(upper, "upper");
  auto going = [&](Carry carry) { return std::get<0>(carry) < last; };
  auto step = [&](Carry carry) {
    auto& [i, value] = carry;
    return Carry(i + 1, body(i, value));
  };
  return std::get<1>(while_loop(going, step, Carry(first, init), where));
}

// f of each slice of xs along its first axis, stacked: a scan that carries nothing.
template <typename F>
detail::ResultOf<F> map(const F& f, const std::tuple_element_t<0, detail::ArgumentsOf<F>>& xs,
                        std::source_location where = std::source_location::current()) {
  using X = std::tuple_element_t<0, detail::ArgumentsOf<F>>;
  auto step = [&](std::tuple<> nothing, X x) { return std::pair(nothing, f(x)); };
  return scan(step, std::tuple<>(), xs, {}, where).second;
}

}  // namespace ig
