// The arrays that a graph is fed with: files, and recipes that give the same bits on every machine.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include <fmt/ranges.h>

#include "tools/command.h"
#include "tools/npy.h"

namespace ig::tools {
namespace {

constexpr const char* kRecipes = "a file that ends in .npy, random:SEED, random:SEED:LOW:HIGH, zeros, ones, iota, or full:NUMBER";

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
      .why("it is neither a file nor a recipe")
      .hint(fmt::format("an input is {}", kRecipes));
}

void put(Literal& array, int64_t i, double value) {
  DType dtype = array.dtype();
  DType part = dtype == DType::C64 ? DType::F32 : dtype == DType::C128 ? DType::F64 : dtype;
  Literal one = part == DType::Bool      ? Literal::scalar(part, value)
                : is_float(part)         ? Literal::scalar(part, value)
                                         : Literal::scalar_int(part, static_cast<int64_t>(std::floor(value)));
  std::memcpy(static_cast<char*>(array.mutable_data()) + static_cast<size_t>(i) * size_of(dtype), one.data(), size_of(part));
}

Literal by_recipe(const std::string& name, const std::string& spec, DType dtype, std::vector<int64_t> dims, size_t which) {
  std::vector<std::string> words = split(spec, ':');
  Literal out = Literal::allocate(dtype, std::move(dims));
  int64_t n = out.elements();
  if (words[0] == "random" && (words.size() == 2 || words.size() == 4)) {
    uint64_t seed = 0;
    const std::string& text = words[1];
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc() || end != text.data() + text.size()) throw no_recipe(name, spec);
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

std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> out;
  for (Value v : graph.inputs()) out.push_back(value_name(v));
  return out;
}

// Takes the sizes of an array that is there for the symbols of its input's type, and checks the rest.
void bind(const std::string& name, const Type& type, const Literal& array, SymbolValues& symbols) {
  auto refuse = [&] {
    return make_error(ErrorKind::Shape, "input {}: the array is {}, but the graph takes {}", name, array.type().str(), type.str());
  };
  if (array.dtype() != type.dtype)
    throw make_error(ErrorKind::Type, "input {}: the array is {}, but the graph takes {}", name, array.type().str(), type.str())
        .why("types are never converted unasked")
        .hint(fmt::format("save it as {}", info(type.dtype).api_name));
  if (array.dims().size() != type.dims.size()) throw refuse().why("the ranks differ").hint("reshape the array");
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (auto symbol = type.dims[i].as_symbol()) symbols.emplace(*symbol, array.dims()[i]);
    std::vector<std::string> used;
    type.dims[i].collect_symbols(used);
    bool known = std::all_of(used.begin(), used.end(), [&](const std::string& s) { return symbols.contains(s); });
    if (known && type.dims[i].evaluate(symbols) != array.dims()[i])
      throw refuse()
          .why(fmt::format("along axis {} the size must be {}", i, type.dims[i].evaluate(symbols)))
          .hint("give an array of that shape, or other sizes");
  }
}

}  // namespace

void add_input_options(CLI::App& command, InputOptions& options) {
  command.add_option("-i,--input", options.inputs, fmt::format("NAME=VALUE, where VALUE is {}", kRecipes))
      ->type_name("NAME=VALUE")->allow_extra_args(false)->take_all();
  command.add_option("--inputs", options.fill, "what the inputs hold that are not named, as VALUE above")->type_name("VALUE");
  command.add_option("-s,--size", options.sizes, "the value of a size symbol, as b=4")
      ->type_name("SYMBOL=N")->allow_extra_args(false)->take_all();
}

std::string value_name(Value value) { return value->name().empty() ? std::to_string(value->index()) : value->name(); }

std::vector<Literal> make_inputs(const Graph& graph, const InputOptions& options) {
  SymbolValues symbols;
  std::map<std::string, std::string> specs;
  std::vector<std::string> names = names_of(graph);
  for (const std::string& text : options.inputs) {
    auto [name, spec] = assignment(text, "--input");
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw make_error(ErrorKind::Value, "the graph has no input {}", name)
          .why(fmt::format("its inputs are {}", fmt::join(names, ", ")))
          .hint("`intaglio show` prints them in the first line");
    specs[name] = spec;
  }
  for (const std::string& text : options.sizes) {
    auto [name, value] = assignment(text, "--size");
    int64_t n = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
    if (error != std::errc() || end != value.data() + value.size() || n < 0)
      throw make_error(ErrorKind::Value, "--size {}: '{}' is not a size", text, value)
          .why("sizes are whole numbers from 0 on").hint("write --size b=4");
    symbols[name] = n;
  }
  std::vector<Literal> out(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    auto [it, missing] = specs.try_emplace(names[i], options.fill);
    const std::string& spec = it->second;
    if (missing && spec.empty())
      throw make_error(ErrorKind::Value, "input {} is not given", names[i])
          .why(fmt::format("the graph takes {}: {}", names[i], graph.inputs()[i]->type().str()))
          .hint(fmt::format("add --input {}=VALUE, or --inputs=VALUE for all that are not named; VALUE is {}", names[i], kRecipes));
    if (!spec.ends_with(".npy")) continue;
    out[i] = parse_npy(read_file(spec), spec);
    bind(names[i], graph.inputs()[i]->type(), out[i], symbols);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const Type& type = graph.inputs()[i]->type();
    if (out[i].valid()) {
      bind(names[i], type, out[i], symbols);
      continue;
    }
    if (!type.is_tensor())
      throw make_error(ErrorKind::Unsupported, "input {} is a {}", names[i], type.str())
          .why("only arrays can be given from outside").hint("make the graph take arrays alone");
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
          .why("sizes are 0 or more").hint("give other sizes");
    out[i] = by_recipe(names[i], specs.at(names[i]), type.dtype, std::move(dims), i);
  }
  return out;
}

}  // namespace ig::tools
