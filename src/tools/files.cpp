// Files in and out, and graph files above all: where a node breaks a law, the error points at its place in the text.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <unordered_map>

#include <fmt/format.h>

#include "ops/table.h"
#include "tools/command.h"

namespace ig::tools {
namespace {

void for_each_node(const Block& block, const std::function<void(Node*)>& visit) {
  for (Node* node : block) {
    visit(node);
    for (const auto& region : node->regions()) for_each_node(*region, visit);
  }
}

// The graph again, each node with its own place in the file as its location, so that the error tells which it was.
[[noreturn]] void explain(const Error& error, const std::string& text, const std::string& file) {
  std::vector<size_t> positions;
  std::unique_ptr<Graph> graph = Graph::parse(text, file, positions);
  std::unordered_map<std::string, size_t> by_location;
  for_each_node(graph->body(), [&](Node* node) {
    if (node->id() >= positions.size()) return;
    node->set_location(Location::of({{file, static_cast<int>(node->id()), "", {}}}));
    by_location.emplace(node->location().str(), positions[node->id()]);
  });
  try {
    ops::verify(*graph);
  } catch (const Error& again) {
    auto it = by_location.find(again.where());
    if (it == by_location.end()) throw;
    size_t at = it->second, begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    size_t end = std::min(text.find('\n', at), text.size());
    auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
    throw make_error(again.kind(), "{}:{}:{}: {}", file, line, at - begin + 1, again.summary())
        .why(fmt::format("{}\n    {}\n    {}^", again.why_text(), text.substr(begin, end - begin),
                         std::string(at - begin, ' ')))
        .hint(again.hint_text());
  }
  throw error;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (size_t begin = 0;;) {
    size_t end = text.find(separator, begin);
    out.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return out;
    begin = end + 1;
  }
}

std::string read_file(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(path, std::ios::binary);
  std::string out{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad())
    throw make_error(ErrorKind::IO, "cannot read {}", path)
        .why(std::error_code(errno, std::generic_category()).message())
        .hint("give the path of a file, or - for standard input");
  return out;
}

void write_file(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    std::cout.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    std::cout.flush();
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    throw make_error(ErrorKind::IO, "cannot write {}", path)
        .why(std::error_code(errno, std::generic_category()).message())
        .hint("give a path in a folder that exists and may be written");
}

std::unique_ptr<Graph> read_graph(const std::string& path) {
  std::string text = read_file(path);
  std::string file = path == "-" ? "<stdin>" : path;
  bool binary = text.starts_with("IGIR");
  std::unique_ptr<Graph> graph = binary ? Graph::from_binary(text) : Graph::parse(text, file);
  try {
    ops::verify(*graph);
  } catch (const Error& error) {
    if (binary) throw;
    explain(error, text, file);
  }
  return graph;
}

}  // namespace ig::tools
