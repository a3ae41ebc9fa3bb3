// Parsing and verifying as one step. A graph knows the user's lines, not its own text's; only where it proves
// wrong is it parsed once more, with places in the text for its nodes' locations.
#include "ops/read.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ops/host_call.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

void for_each_node(const Block& block, const std::function<void(Node*)>& visit) {
  for (Node* node : block) {
    visit(node);
    for (const auto& region : node->regions()) for_each_node(*region, visit);
  }
}

// The graph again, each node with its own place in the file as its location, so that the error tells which it
// was.
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
    verify(*graph);
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

std::unique_ptr<Graph> read_graph(const std::string& text, const std::string& file) {
  std::unique_ptr<Graph> graph = Graph::parse(text, file);
  try {
    verify(*graph);
  } catch (const Error& error) {
    explain(error, text, file);
  }
  keep_host_functions(*graph);
  return graph;
}

}  // namespace ig::ops
