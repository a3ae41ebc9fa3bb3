// `intaglio show`: a graph as text, as a picture, or in numbers.
#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "ops/table.h"
#include "tools/command.h"

namespace ig::tools {
namespace {

struct Counts {
  size_t nodes = 0, regions = 0, composites = 0;
  uint64_t constants = 0, constant_bytes = 0;
  std::map<std::string, size_t> ops;
};

void count(const Block& block, Counts& out) {
  for (const Node* node : block) {
    if (node == block.terminator()) continue;
    ++out.nodes;
    ++out.ops[node->op().name()];
    out.composites += ops::has(node, ops::Trait::Composite);
    for (const auto& [key, value] : node->attrs().items())
      if (const auto* literal = std::get_if<Literal>(&value))
        ++out.constants, out.constant_bytes += literal->bytes();
    for (const auto& region : node->regions()) ++out.regions, count(*region, out);
  }
}

std::string range_text(const Range& range) {
  return fmt::format("[{}, {}]", range.low, range.high == Range{}.high ? "inf" : std::to_string(range.high));
}

void print_stats(const Graph& graph) {
  Counts counts;
  count(graph.body(), counts);
  auto signature = [](std::span<const Value> values, const std::vector<std::string>& names) {
    std::string out;
    for (size_t i = 0; i < values.size(); ++i)
      out += fmt::format("{}{}: {}", i ? ", " : "", names[i], values[i]->type().str());
    return out.empty() ? std::string("none") : out;
  };
  fmt::print("graph       {}\n", graph.name);
  fmt::print("inputs      {}\n", signature(graph.inputs(), input_names(graph)));
  fmt::print("outputs     {}\n", signature(graph.outputs(), output_names(graph)));
  std::string sizes;
  for (const auto& [symbol, range] : graph.dims.symbols())
    sizes += fmt::format("{}{} in {}", sizes.empty() ? "" : ", ", symbol, range_text(range));
  for (const auto& fact : graph.dims.facts())
    sizes += fmt::format(", {} {} {}", fact.a.str(), fact.relation, fact.b.str());
  fmt::print("sizes       {}\n", sizes.empty() ? "all fixed" : sizes);
  fmt::print("nodes       {}, of these {} composites; {} regions\n", counts.nodes, counts.composites,
             counts.regions);
  fmt::print("constants   {}, {} bytes\n", counts.constants, counts.constant_bytes);
  std::vector<std::pair<std::string, size_t>> by_count(counts.ops.begin(), counts.ops.end());
  std::stable_sort(by_count.begin(), by_count.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [op, n] : by_count) words.push_back(fmt::format("{} {}", n, op));
  fmt::print("ops         {}\n", words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", ")));
  fmt::print("hash        {}\n", graph.hash().hex());
  fmt::print("canonical   {}\n", graph
                                     .canonical_hash([](OpId id) {
                                       const ops::Op* op = ops::find(id);
                                       return op && op->has(ops::Trait::Commutative);
                                     })
                                     .hex());
}

}  // namespace

void show(const ShowOptions& options) {
  std::unique_ptr<Graph> graph = read_graph(options.file);
  Picture picture{options.types, options.locations};
  if (!options.dot.empty()) write_file(options.dot, dot_text(*graph, picture));
  if (!options.svg.empty()) draw_svg(dot_text(*graph, picture), options.svg);
  if (options.stats) print_stats(*graph);
  if (options.dot.empty() && options.svg.empty() && !options.stats)
    write_file("-", graph->str(options.locations));
}

}  // namespace ig::tools
