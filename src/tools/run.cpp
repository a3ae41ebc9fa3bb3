// `intaglio run`: a graph on arrays. It prints or writes the results, and can compare them: compiled code
// with the ops' definitions, or one graph with another on the same arrays.
#include <chrono>
#include <map>

#include <fmt/ranges.h>

#include "ops/table.h"
#include "passes/pass.h"
#include "runtime/thread_pool.h"
#include "tensor/program.h"
#include "tools/command.h"
#include "tools/npy.h"

namespace ig::tools {
namespace {

CompileOptions compile_options(const RunOptions& options) {
  CompileOptions out;
  out.target = options.target == "host" ? "" : options.target;
  out.exact = options.exact || (options.tolerance == "exact" && options.fast_math.empty());
  out.fast_math = FastMath::of(options.fast_math, "run");
  for (const std::string& name : options.disabled) {
    passes::find(name);
    out.disabled_passes.insert(name);
  }
  return out;
}

std::vector<Literal> run_compiled(const Program& program, std::span<const Literal> inputs) {
  std::vector<Tensor> arrays;
  for (const Literal& literal : inputs) arrays.push_back(Tensor::from(literal));
  std::vector<Literal> out;
  for (const Tensor& tensor : program.run(arrays)) out.push_back(tensor.literal());
  return out;
}

void print_report(const Program& program) {
  ProgramReport r = program.report();
  fmt::print("report\n");
  fmt::print("  nodes            {} captured, {} after passes\n", r.nodes_captured, r.nodes);
  fmt::print("  kernels          {}: {} compiled, {} cached, {} prebuilt, {} shared; {} fallback\n",
             r.kernels, r.kernels_compiled, r.kernels_cached, r.kernels_prebuilt, r.kernels_shared,
             r.kernels_fallback);
  fmt::print("  fused groups     {}\n", r.fused_groups);
  fmt::print("  compile          {:.2f} ms (passes {:.2f}, lowering {:.2f}, code {:.2f}, plan {:.2f})\n",
             r.pass_ms + r.lower_ms + r.compile_ms + r.plan_ms, r.pass_ms, r.lower_ms, r.compile_ms,
             r.plan_ms);
  fmt::print("  code             {} bytes\n", r.code_bytes);
  fmt::print("  constants        {} bytes\n", r.constant_bytes);
  fmt::print("  peak memory      {} bytes planned, {} measured\n", r.planned_peak, r.measured_peak);
  for (const std::string& line : r.pass_log) fmt::print("  pass  {}\n", line);
  for (const std::string& line : r.fusion_log) fmt::print("  fuse  {}\n", line);
}

// Where each output's file goes, by position.
std::map<size_t, std::string> output_files(const RunOptions& options, const std::vector<std::string>& names) {
  std::map<size_t, std::string> out;
  for (const std::string& text : options.outputs) {
    size_t at = text.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
      throw make_error(ErrorKind::Value, "--output {}: there is no name and file", text)
          .why("the option assigns a file to a result")
          .hint("write --output NAME=result.npy");
    std::string name = text.substr(0, at);
    size_t i = 0;
    while (i < names.size() && names[i] != name && std::to_string(i) != name) ++i;
    if (i == names.size())
      throw make_error(ErrorKind::Value, "the graph has no result {}", name)
          .why(names.empty() ? "it gives no results"
                             : fmt::format("its results are {}", fmt::join(names, ", ")))
          .hint("name one of them, or give its position from 0");
    out[i] = text.substr(at + 1);
  }
  return out;
}

void require_same_signature(const Graph& a, const Graph& b, const std::string& other) {
  auto types = [](std::span<const Value> values) {
    std::vector<std::string> out;
    for (Value v : values) out.push_back(v->type().str());
    return fmt::format("({})", fmt::join(out, ", "));
  };
  std::string left = types(a.inputs()) + " -> " + types(a.outputs());
  std::string right = types(b.inputs()) + " -> " + types(b.outputs());
  if (left != right)
    throw make_error(ErrorKind::Type, "{} cannot be compared: the graphs' types differ", other)
        .why(fmt::format("one is {}, the other {}", left, right))
        .hint("compare graphs that take and give the same");
}

void compare_all(std::span<const Literal> have, std::span<const Literal> want,
                 const std::vector<std::string>& names, const Bound& bound, std::string_view against) {
  Error* first = nullptr;
  std::unique_ptr<Error> kept;
  for (size_t i = 0; i < have.size(); ++i) {
    if (!(have[i].type() == want[i].type()))
      throw make_error(ErrorKind::Value, "result {} is {}, but {} gives {}", names[i], have[i].type().str(),
                       against, want[i].type().str())
          .why("both were run on the same arrays")
          .hint("this is a fault in Intaglio; please report it with the graph");
    Difference d = compare(have[i], want[i], bound);
    bool whole = !is_float(have[i].dtype()) && !is_complex(have[i].dtype());
    if (d.differing == 0)
      fmt::print("{}: all {} elements have the same bits as {}\n", names[i], have[i].elements(), against);
    else if (whole)
      fmt::print("{}: {} of {} elements differ from {}, at most by {}\n", names[i], d.differing,
                 have[i].elements(), against, d.absolute);
    else
      fmt::print("{}: {} of {} elements differ from {}, at most by {} ULP, {:.3g}\n", names[i], d.differing,
                 have[i].elements(), against, d.ulp, d.absolute);
    if (!d.outside || first) continue;
    std::string limit = bound.exact || whole ? "the same bits are asked for"
                        : bound.absolute >= 0
                            ? fmt::format("the bound is {} ULP, or {}", bound.ulp, bound.absolute)
                            : fmt::format("the bound is {} ULP, or 64 roundings of 1", bound.ulp);
    kept = std::make_unique<Error>(
        make_error(ErrorKind::Value, "result {} differs from {} in {} of {} elements", names[i], against,
                   d.outside, have[i].elements())
            .why(fmt::format("{}; the worst is element {}: {} instead of {}", limit, d.at, d.have, d.want))
            .hint("give a wider --tolerance or --atol if rounding explains it; else please report it with "
                  "the graph"));
    first = kept.get();
  }
  if (first) throw *first;
}

}  // namespace

void run(const RunOptions& options) {
  if (options.threads > 0) rt::ThreadPool::instance().set_num_threads(options.threads);
  Bound bound = parse_bound(options.tolerance, options.absolute);
  CompileOptions compile_with = compile_options(options);
  std::unique_ptr<Graph> graph = read_graph(options.file);
  std::unique_ptr<Graph> other;
  if (!options.other.empty()) {
    other = read_graph(options.other);
    require_same_signature(*graph, *other, options.other);
  }
  std::vector<std::string> names = output_names(*graph);
  std::map<size_t, std::string> files = output_files(options, names);
  Progress progress;
  progress.show("making the inputs …");
  std::vector<Literal> inputs = make_inputs(*graph, options.inputs);
  std::shared_ptr<Program> program;
  std::vector<Literal> results;
  if (options.reference) {
    progress.show("evaluating by the ops' definitions …");
    results = ops::evaluate(*graph, inputs);
  } else {
    progress.show("compiling …");
    program = compile(*graph, compile_with);
    progress.show("running …");
    results = run_compiled(*program, inputs);
  }
  bool compares = options.compare || other;
  if (compares) {
    progress.show("evaluating by the ops' definitions …");
    std::vector<Literal> want = ops::evaluate(other ? *other : *graph, inputs);
    progress.show("");
    compare_all(results, want, names, bound,
                other ? options.other == "-" ? "<stdin>" : options.other : "the reference");
  }
  progress.show("");
  for (const auto& [i, file] : files) write_file(file, format_npy(results[i]));
  if (!compares && files.empty() && !options.quiet)
    for (size_t i = 0; i < results.size(); ++i)
      fmt::print("{}: {}\n{}\n", names[i], results[i].type().str(), array_text(results[i]));
  if (options.report) {
    if (!program)
      throw make_error(ErrorKind::Value, "there is no report of a run by reference")
          .why("the report is about compiled code")
          .hint("leave out --reference");
    print_report(*program);
  }
}

}  // namespace ig::tools
