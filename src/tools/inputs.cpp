// The arrays that a graph is fed with: files, and recipes that give the same bits on every machine.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include "ir/limits.h"
#include "support/storage.h"
#include "tools/command.h"
#include "tools/npy.h"

namespace ig::tools {
namespace {

// SplitMix64: a sequence that is the same everywhere.
uint64_t next(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  double out = std::strtod(text.c_str(), &end);
  return text.empty() || *end ? std::nullopt : std::optional(out);
}

Error no_recipe(std::string_view name, std::string_view spec) {
  return make_error(ErrorKind::Value, "input {}: '{}' is no array", name, spec)
      .why("it is neither a file, nor a list, nor a recipe")
      .hint(fmt::format("an input is {}", kRecipes));
}

void put_bytes(Literal& array, int64_t i, const Literal& one, size_t part = 0) {
  size_t at = static_cast<size_t>(i) * size_of(array.dtype()) + part * size_of(one.dtype());
  std::memcpy(static_cast<char*>(array.mutable_data()) + at, one.data(), size_of(one.dtype()));
}

void put(Literal& array, int64_t i, double value) {
  DType part = part_of(array.dtype());
  bool real = part == DType::Bool || is_float(part);
  put_bytes(array, i,
            real ? Literal::scalar(part, value)
                 : Literal::scalar_int(part, static_cast<int64_t>(std::floor(value))));
}

// One element in two from the values on which rewrites go wrong, the others ordinary.
void put_special(Literal& array, int64_t i, uint64_t& state) {
  DType part = part_of(array.dtype());
  int bits = info(part).bits;
  uint64_t draw = next(state), choice = next(state);
  if (part == DType::Bool)
    return put_bytes(array, i, Literal::scalar_int(part, static_cast<int64_t>(draw & 1)));
  if (!is_float(part)) {
    uint64_t top = uint64_t{1} << (bits - 1);
    const uint64_t kWhole[] = {0, 1, ~uint64_t{0}, top, top - 1, top + 1, 2, ~uint64_t{1}};
    uint64_t value =
        choice & 1 ? kWhole[(choice >> 1) % 8] : static_cast<uint64_t>(static_cast<int64_t>(draw % 17) - 8);
    return put_bytes(array, i, Literal::scalar_int(part, static_cast<int64_t>(value)));
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  double largest = part == DType::F64    ? 0x1.fffffffffffffp1023
                   : part == DType::F16  ? 65504
                   : part == DType::BF16 ? 0x1.fep127
                                         : 0x1.fffffep127;
  double least = part == DType::F64    ? 0x1p-1074
                 : part == DType::F16  ? 0x1p-24
                 : part == DType::BF16 ? 0x1p-133
                                       : 0x1p-149;
  const double kReal[] = {0.0,      -0.0,  kInf,   -kInf, std::nan(""), largest,
                          -largest, least, -least, 1.0,   -1.0,         0.5};
  for (size_t p = 0; p < size_of(array.dtype()) / size_of(part); ++p) {
    double value =
        choice & 1 ? kReal[(choice >> 1) % 12] : (static_cast<double>(draw >> 11) * 0x1p-53 - 0.5) * 8;
    put_bytes(array, i, Literal::scalar(part, value), p);
    draw = next(state), choice = next(state);
  }
}

// A number, or numbers in brackets, each level of one length: "[[1, 2], [3, 4]]".
class ListReader {
 public:
  ListReader(std::string_view text, DType dtype, std::string_view name)
      : text_(text), dtype_(dtype), name_(name) {}

  Literal run() {
    item(0);
    skip();
    if (at_ != text_.size()) fail("there is more behind its end");
    for (size_t axis = 0; axis < dims_.size(); ++axis) dims_[axis] = std::max<int64_t>(dims_[axis], 0);
    Literal out = Literal::allocate(dtype_, dims_);
    if (!bytes_.empty()) std::memcpy(out.mutable_data(), bytes_.data(), bytes_.size());
    return out;
  }

 private:
  [[noreturn]] void fail(std::string why) const {
    throw make_error(ErrorKind::Value, "input {}: '{}' is no list of {}", name_, text_, info(dtype_).api_name)
        .why(std::move(why))
        .hint("write numbers in brackets, as [[1, 2], [3, 4]]");
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void item(size_t depth) {
    if (depth > kMostAxes) fail(fmt::format("an array has at most {} axes", kMostAxes));
    if (!accept('[')) {
      if (!leaf_depth_) leaf_depth_ = depth;
      if (*leaf_depth_ != depth || depth != dims_.size()) fail("numbers stand at different depths");
      return element();
    }
    if (leaf_depth_ && depth >= *leaf_depth_) fail("numbers stand at different depths");
    if (depth == dims_.size()) dims_.push_back(-1);
    int64_t count = 0;
    while (!accept(']')) {
      if (count > 0 && !accept(',')) fail("a bracket is not closed");
      item(depth + 1);
      ++count;
    }
    if (dims_[depth] >= 0 && dims_[depth] != count)
      fail(fmt::format("along axis {} there are {} elements here and {} there", depth, dims_[depth], count));
    dims_[depth] = count;
  }
  void element() {
    skip();
    size_t end = std::min(text_.find_first_of(",] ", at_), text_.size());
    std::string word(text_.substr(at_, end - at_));
    at_ = end;
    auto add = [&](const Literal& one) { bytes_.append(static_cast<const char*>(one.data()), one.bytes()); };
    auto wrong = [&] { fail(fmt::format("'{}' is no {}", word, info(dtype_).api_name)); };
    const char *begin = word.data(), *stop = begin + word.size();
    if (dtype_ == DType::Bool) {
      if (word != "true" && word != "false" && word != "0" && word != "1") wrong();
      return add(Literal::scalar_int(dtype_, word == "true" || word == "1"));
    }
    if (dtype_ == DType::U64 || dtype_ == DType::Key) {
      uint64_t value = 0;
      auto [last, error] = std::from_chars(begin, stop, value);
      if (error != std::errc() || last != stop) wrong();
      return add(Literal::scalar_int(dtype_, static_cast<int64_t>(value)));
    }
    if (is_integer(dtype_)) {
      int64_t value = 0;
      auto [last, error] = std::from_chars(begin, stop, value);
      if (error != std::errc() || last != stop) wrong();
      Literal one = Literal::scalar_int(dtype_, value);
      if (one.as_int(0) != value) wrong();
      return add(one);
    }
    char* last = nullptr;
    double real = std::strtod(begin, &last), imaginary = 0;
    if (word.empty() || last == begin) wrong();
    if (!is_complex(dtype_)) {
      if (last != stop) wrong();
      return add(Literal::scalar(dtype_, real));
    }
    if (*last == 'j')
      imaginary = std::exchange(real, 0.0), ++last;
    else if (last != stop) {
      char* from = last;
      imaginary = std::strtod(from, &last);
      if (last == from || *last++ != 'j') wrong();
    }
    if (last != stop) wrong();
    add(Literal::scalar(part_of(dtype_), real));
    add(Literal::scalar(part_of(dtype_), imaginary));
  }

  std::string_view text_;
  DType dtype_;
  std::string_view name_;
  size_t at_ = 0;
  std::vector<int64_t> dims_;
  std::optional<size_t> leaf_depth_;
  std::string bytes_;
};

bool is_list(const std::string& spec) {
  return !spec.empty() &&
         (spec[0] == '[' || spec == "true" || spec == "false" || number(spec) || spec.ends_with('j'));
}

Literal by_recipe(const std::string& name, const std::string& spec, DType dtype, std::vector<int64_t> dims,
                  size_t which) {
  std::vector<std::string> words = split(spec, ':');
  Literal out = Literal::allocate(dtype, std::move(dims));
  int64_t n = out.elements();
  auto seed_of = [&] {
    uint64_t seed = 0;
    if (words.size() == 1) return seed;
    const std::string& text = words[1];
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc() || end != text.data() + text.size()) throw no_recipe(name, spec);
    return seed;
  };
  if (words[0] == "special" && words.size() <= 2) {
    uint64_t state = hash_combine(seed_of(), which);
    for (int64_t i = 0; i < n; ++i) put_special(out, i, state);
  } else if (words[0] == "random" && words.size() <= 4 && words.size() != 3) {
    uint64_t seed = seed_of();
    bool whole = !is_float(dtype) && !is_complex(dtype);
    double low = dtype == DType::Bool || is_unsigned_int(dtype) || dtype == DType::Key ? 0 : whole ? -8 : -2;
    double high = dtype == DType::Bool ? 2 : whole ? 8 : 2;
    if (words.size() == 4) {
      auto a = number(words[2]), b = number(words[3]);
      if (!a || !b || !(*a < *b)) throw no_recipe(name, spec);
      low = *a, high = *b;
    }
    // Inputs that share a seed differ all the same.
    uint64_t state = hash_combine(seed, which);
    for (int64_t i = 0; i < n; ++i) {
      double u = static_cast<double>(next(state) >> 11) * 0x1p-53;
      double value = low + u * (high - low);
      put(out, i, dtype == DType::Bool ? (value >= 1 ? 1 : 0) : value);
    }
  } else if (spec == "zeros") {
    return out;
  } else if (spec == "ones") {
    for (int64_t i = 0; i < n; ++i) put(out, i, 1);
  } else if (spec == "iota") {
    for (int64_t i = 0; i < n; ++i) put(out, i, static_cast<double>(i));
  } else if (words[0] == "full" && words.size() == 2 && number(words[1])) {
    for (int64_t i = 0; i < n; ++i) put(out, i, *number(words[1]));
  } else {
    throw no_recipe(name, spec);
  }
  return out;
}

std::pair<std::string, std::string> assignment(const std::string& text, std::string_view option) {
  size_t at = text.find('=');
  if (at == 0 || at == std::string::npos)
    throw make_error(ErrorKind::Value, "{} {}: there is no name", option, text)
        .why("the option assigns something to a name")
        .hint(fmt::format("write {} NAME=VALUE", option));
  return {text.substr(0, at), text.substr(at + 1)};
}

// Takes the sizes of an array that is there for the symbols of its input's type, and checks the rest.
void take_sizes(const std::string& name, const Type& type, const Literal& array, SymbolValues& symbols) {
  auto refuse = [&] {
    return make_error(ErrorKind::Shape, "input {}: the array is {}, but the graph takes {}", name,
                      array.type().str(), type.str());
  };
  if (array.dtype() != type.dtype)
    throw make_error(ErrorKind::Type, "input {}: the array is {}, but the graph takes {}", name,
                     array.type().str(), type.str())
        .why("types are never converted unasked")
        .hint(fmt::format("save it as {}", info(type.dtype).api_name));
  if (array.dims().size() != type.dims.size())
    throw refuse()
        .why("the ranks differ")
        .hint(array.dims().empty() ? "full:NUMBER fills an array with one number" : "reshape the array");
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (auto symbol = type.dims[i].as_symbol()) symbols.emplace(*symbol, array.dims()[i]);
    std::vector<std::string> used;
    type.dims[i].collect_symbols(used);
    bool known =
        std::all_of(used.begin(), used.end(), [&](const std::string& s) { return symbols.contains(s); });
    if (known && type.dims[i].evaluate(symbols) != array.dims()[i])
      throw refuse()
          .why(fmt::format("along axis {} the size must be {}", i, type.dims[i].evaluate(symbols)))
          .hint("give an array of that shape, or other sizes");
  }
}

// Values without a name are numbered as the printer does.
std::vector<std::string> names_of(std::span<const Value> values, bool by_position) {
  std::vector<std::string> out;
  size_t unnamed = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = values[i]->name();
    out.push_back(!name.empty() ? name : std::to_string(by_position ? i : unnamed++));
  }
  return out;
}

}  // namespace

std::vector<std::string> input_names(const Graph& graph) { return names_of(graph.inputs(), false); }
std::vector<std::string> output_names(const Graph& graph) { return names_of(graph.outputs(), true); }

std::vector<Literal> make_inputs(const Graph& graph, const InputOptions& options) {
  SymbolValues symbols;
  std::map<std::string, std::string> specs;
  std::vector<std::string> names = input_names(graph);
  for (const std::string& text : options.inputs) {
    auto [name, spec] = assignment(text, "--input");
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw make_error(ErrorKind::Value, "the graph has no input {}", name)
          .why(names.empty() ? "it takes no inputs"
                             : fmt::format("its inputs are {}", fmt::join(names, ", ")))
          .hint("`intaglio show` prints them in the first line");
    specs[name] = spec;
  }
  std::vector<std::string> known;
  for (Value v : graph.inputs())
    for (const Dim& d : v->type().dims) d.collect_symbols(known);
  for (const std::string& text : options.sizes) {
    auto [name, value] = assignment(text, "--size");
    int64_t n = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
    if (error != std::errc() || end != value.data() + value.size() || n < 0)
      throw make_error(ErrorKind::Value, "--size {}: '{}' is not a size", text, value)
          .why("sizes are whole numbers from 0 on")
          .hint("write --size b=4");
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw make_error(ErrorKind::Value, "the graph has no size {}", name)
          .why(known.empty() ? "all sizes of its inputs are fixed"
                             : fmt::format("the sizes of its inputs are {}", fmt::join(known, ", ")))
          .hint("`intaglio show --stats` prints them");
    symbols[name] = n;
  }
  std::vector<Literal> out(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    auto [it, missing] = specs.try_emplace(names[i], options.fill);
    const std::string& spec = it->second;
    if (missing && spec.empty())
      throw make_error(ErrorKind::Value, "input {} is not given", names[i])
          .why(fmt::format("the graph takes {}: {}", names[i], graph.inputs()[i]->type().str()))
          .hint(fmt::format("add --input {}=VALUE, or --inputs=VALUE for all that are not named; VALUE is {}",
                            names[i], kRecipes));
    const Type& type = graph.inputs()[i]->type();
    if (spec.ends_with(".npy"))
      out[i] = parse_npy(read_file(spec), spec, type.dtype);
    else if (is_list(spec) && type.is_tensor())
      out[i] = ListReader(spec, type.dtype, names[i]).run();
    else
      continue;
    take_sizes(names[i], graph.inputs()[i]->type(), out[i], symbols);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const Type& type = graph.inputs()[i]->type();
    if (out[i].valid()) {
      take_sizes(names[i], type, out[i], symbols);
      continue;
    }
    if (!type.is_tensor())
      throw make_error(ErrorKind::Unsupported, "input {} is a {}", names[i], type.str())
          .why("only arrays can be given from outside")
          .hint("make the graph take arrays alone");
    std::vector<std::string> used;
    for (const Dim& d : type.dims) d.collect_symbols(used);
    for (const std::string& symbol : used)
      if (!symbols.contains(symbol))
        throw make_error(ErrorKind::Value, "the size {} is not given", symbol)
            .why(fmt::format("input {} is {}", names[i], type.str()))
            .hint(fmt::format("add --size {}=4", symbol));
    std::vector<int64_t> dims;
    for (const Dim& d : type.dims) dims.push_back(d.evaluate(symbols));
    if (auto bad = std::find_if(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }); bad != dims.end())
      throw make_error(ErrorKind::Shape, "input {}: {} gives a size of {}", names[i], type.str(), *bad)
          .why("sizes are 0 or more")
          .hint("give other sizes");
    int64_t bytes = static_cast<int64_t>(size_of(type.dtype));
    for (int64_t d : dims)
      if (__builtin_mul_overflow(bytes, d, &bytes) || static_cast<uint64_t>(bytes) > memory_limit())
        throw make_error(ErrorKind::Memory, "input {}: {} does not fit the memory", names[i], type.str())
            .why(fmt::format("its sizes are {}, and {} bytes may be held", fmt::join(dims, " × "),
                             memory_limit()))
            .hint("give smaller sizes");
    out[i] = by_recipe(names[i], specs.at(names[i]), type.dtype, std::move(dims), i);
  }
  return out;
}

}  // namespace ig::tools
