// `intaglio opt`: graph in, passes, graph out.
#include <fmt/ranges.h>

#include "passes/pass.h"
#include "tools/command.h"
#include "transforms/transforms.h"

namespace ig::tools {
namespace {

std::vector<std::string> pass_names() {
  std::vector<std::string> out;
  for (const passes::Pass& pass : passes::all()) out.emplace_back(pass.name);
  return out;
}

void require_pass(const std::string& name) {
  std::vector<std::string> names = pass_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  std::string close = nearest(name, names);
  throw make_error(ErrorKind::Value, "unknown pass '{}'", name)
      .why("no pass has that name")
      .hint(fmt::format("{}the passes are {}", close.empty() ? "" : fmt::format("did you mean '{}'? ", close),
                        fmt::join(names, ", ")));
}

void list_passes() {
  for (const passes::Pass& pass : passes::all()) fmt::print("{:<18} {}\n", pass.name, pass.doc);
  fmt::print("\npipeline default: {}\n", fmt::join(passes::default_pipeline(), ", "));
}

void print_record(const passes::Record& record) {
  if (record.changes == 0) return fmt::print(stderr, "{}: unchanged\n", record.name);
  fmt::print(stderr, "{}: {} {}, {} to {} nodes\n", record.name, record.changes,
             record.changes == 1 ? "change" : "changes", record.nodes_before, record.nodes_after);
  for (const std::string& detail : record.details) fmt::print(stderr, "  {}\n", detail);
}

// The graph's derivative by all of its inputs that are floats or complex numbers.
std::unique_ptr<Graph> transformed(std::unique_ptr<Graph> graph, const std::string& how) {
  auto moving = [](std::span<const Value> values) {
    transforms::Mask out;
    for (Value value : values) out.push_back(transforms::has_tangent(value->type()));
    return out;
  };
  transforms::Mask moves = moving(graph->inputs()), wanted = moving(graph->outputs());
  if (how == "jvp") return transforms::jvp(*graph, moves, wanted);
  if (how == "transpose") return transforms::transpose(*graph, moves, wanted);
  if (how == "vjp-forward") return std::move(transforms::vjp(*graph, moves, wanted).known);
  if (how == "vjp-backward") return std::move(transforms::vjp(*graph, moves, wanted).linear);
  if (graph->outputs().empty() || !(graph->outputs()[0]->type().rank() == 0 && wanted[0]))
    throw make_error(ErrorKind::Shape, "opt: the first result of the graph is not one number")
        .why("a gradient is of one number")
        .hint("reduce it to one, or use --transform=vjp-backward");
  return transforms::value_and_grad(*graph, moves);
}

}  // namespace

void optimise(const OptOptions& options) {
  if (options.list) return list_passes();
  if (options.file.empty())
    throw make_error(ErrorKind::Value, "opt: no graph is given")
        .why("passes rewrite a graph")
        .hint("write `intaglio opt FILE`, or - for standard input; `intaglio opt --list-passes` needs none");
  std::vector<std::string> names = options.passes;
  if (!options.have_passes && options.pipeline != "none")
    for (std::string_view name : passes::default_pipeline(FastMath::of(options.fast_math, "opt")))
      names.emplace_back(name);
  std::erase(names, "");
  for (const std::string& name : names) require_pass(name);
  passes::Options run{options.exact, options.verify, {}, {options.steady.begin(), options.steady.end()}};
  for (const std::string& name : options.disabled) {
    require_pass(name);
    run.disabled.insert(name);
  }
  std::unique_ptr<Graph> graph = read_graph(options.file);
  if (!options.transform.empty()) graph = transformed(std::move(graph), options.transform);
  ops::FusionReport fusion;
  for (const std::string& name : names) {
    std::string_view one[] = {name};
    for (const passes::Record& record : passes::run(*graph, one, run)) {
      if (options.print_changes) print_record(record);
      fusion.add(record.fusion);
      if (options.print_after_all) fmt::print(stderr, "// after {}\n{}", name, graph->str(options.locations));
    }
  }
  if (options.fusion) return write_file(options.out, fusion.str());
  if (!options.why.empty()) return write_file(options.out, fusion.why(options.why));
  write_file(options.out, options.binary ? graph->to_binary() : graph->str(options.locations));
}

}  // namespace ig::tools
