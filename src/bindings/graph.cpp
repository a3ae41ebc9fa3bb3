// `intaglio.Graph`: text, binary form, hashes, verification, the nodes as Python data, and calling it.
#include <map>

#include <fmt/ranges.h>
#include "bindings/fast_math.h"
#include "bindings/record.h"
#include "frontends/record/control.h"
#include "ops/host_call.h"
#include "ops/read.h"

#include "bindings/common.h"
#include "tensor/lazy_program.h"
#include "tensor/numbers.h"
#include "tensor/passes.h"

// After Python's own header.
#include <nanobind/stl/map.h>

namespace ig::py {
namespace {

struct PyGraph {
  // The graph is as it will be: what its first calls may do depends on it.
  explicit PyGraph(std::shared_ptr<Graph> of, std::shared_ptr<const LazyProgram> with = nullptr)
      : graph(std::move(of)), program(with ? std::move(with) : std::make_shared<const LazyProgram>(graph)) {}
  std::shared_ptr<Graph> graph;
  std::shared_ptr<const LazyProgram> program;
  nb::list passes{};  // that made it of another graph, as reports
};

bool commutative(OpId id) {
  const ops::Op* op = ops::find(id);
  return op && op->has(ops::Trait::Commutative);
}

std::span<PyObject* const> items_of(const nb::args& args) {
  return {PySequence_Fast_ITEMS(args.ptr()), args.size()};
}

// Concrete arrays; or, in a capture, arrays of any kind, whose types must be the graph's own. `lend`: other
// libraries' arrays may be read where they lie.
std::vector<Tensor> inputs_of(const Graph& graph, std::span<PyObject* const> args, bool run = true,
                              bool lend = false) {
  if (args.size() != graph.inputs().size())
    throw make_error(ErrorKind::Type, "graph `{}` takes {} arrays, and {} were given", graph.name,
                     graph.inputs().size(), args.size())
        .why("each input of the graph needs one array")
        .hint("pass the arrays in the order of graph.inputs");
  std::vector<Tensor> out;
  for (size_t i = 0; i < args.size(); ++i) {
    std::optional<DType> dtype;
    std::optional<Tensor> plain;
    if (as_scalar(args[i]))
      dtype = graph.inputs()[i]->type().dtype;
    else if (lend && !is_tensor(args[i]))
      plain = lent(args[i]);
    Tensor array = plain ? *std::move(plain) : as_tensor(args[i], dtype, graph.name);
    Type want = graph.inputs()[i]->type();
    if (!run && !(array.type() == want))
      throw make_error(array.dtype() == want.dtype ? ErrorKind::Shape : ErrorKind::Type,
                       "graph `{}`: input {} is {}, and {} was given", graph.name, i, want.str(),
                       array.type().str())
          .why("in a capture the graph's nodes are recorded as they are, for exactly these types")
          .hint("pass an array of that type, or trace the function again for this one");
    out.push_back(run ? concrete(array, "the values") : array);
  }
  return out;
}

std::vector<Tensor> evaluate(const Graph& graph, std::span<PyObject* const> args) {
  std::vector<Literal> literals;
  for (const Tensor& input : inputs_of(graph, args)) literals.push_back(input.literal());
  std::vector<Tensor> out;
  for (const Literal& literal : ops::evaluate(graph, literals)) out.push_back(Tensor::from(literal));
  return out;
}

std::vector<Tensor> call(const PyGraph& self, std::span<PyObject* const> args) {
  if (Capture::current()) return record::apply_graph(*self.graph, inputs_of(*self.graph, args, false));
  const std::shared_ptr<Program>* ready = self.program->ready();
  std::vector<Tensor> inputs = inputs_of(*self.graph, args, true, ready && !(*ready)->calls_back());
  const GradLink* link = recording_link(inputs);
  if (link) inputs = inputs_of(*self.graph, args);  // the tape keeps them
  std::vector<Tensor> out;
  {
    nb::gil_scoped_release no_gil;
    if (auto early = self.program->run_early(inputs))
      out = *std::move(early);
    else
      out = numbers::run(*self.graph, inputs, [&] { return self.program->get()->run(inputs); });
  }
  if (link) link->record(self.graph, inputs, out);
  return out;
}

std::shared_ptr<Program> program_of(const PyGraph& self) {
  nb::gil_scoped_release no_gil;
  return self.program->get();
}

// A value's key in the Python view of the graph: "n3.0" of a node, "a0" of a block argument.
std::string value_key(Value value) {
  return value->node() ? fmt::format("n{}.{}", value->node()->id(), value->index())
                       : fmt::format("a{}", value->index());
}

nb::dict value_dict(Value value) {
  nb::dict out;
  out["key"] = value_key(value);
  out["name"] = value->name();
  out["type"] = value->type().str();
  if (value->type().is_tensor()) {
    out["dtype"] = nb::borrow(dtype_object(value->type().dtype));
    nb::list shape;
    for (const Dim& dim : value->type().dims) shape.append(dim_object(dim));
    out["shape"] = nb::tuple(shape);
  }
  return out;
}

nb::list values_of(std::span<const Value> values) {
  nb::list out;
  for (Value value : values) out.append(value_dict(value));
  return out;
}

nb::list nodes_of(const Block& block) {
  nb::list out;
  for (const Node* node : block) {
    if (node->op().name() == kReturnOp) continue;
    nb::dict one;
    one["id"] = node->id();
    one["op"] = node->op().name();
    nb::list operands, regions, region_results;
    for (Value operand : node->operands()) operands.append(value_key(operand));
    for (const auto& region : node->regions()) {
      regions.append(nodes_of(*region));
      nb::list keys;
      for (Value result : region->results()) keys.append(value_key(result));
      region_results.append(keys);
    }
    one["operands"] = operands;
    one["results"] = values_of(node->results());
    nb::dict attrs;
    for (const auto& [name, value] : node->attrs().items()) attrs[name.c_str()] = attr_object(value);
    one["attrs"] = attrs;
    one["regions"] = regions;
    one["region_results"] = region_results;
    one["location"] = node->location().str();
    nb::list frames;
    for (const SourceFrame& frame : node->location().frames())
      frames.append(nb::make_tuple(frame.file, frame.line, frame.function));
    one["frames"] = frames;
    one["scope"] = node->scope().path();
    out.append(one);
  }
  return out;
}

nb::dict report_dict(const ProgramReport& report) {
  nb::dict out;
  out["nodes_captured"] = report.nodes_captured;
  out["nodes"] = report.nodes;
  out["kernels"] = report.kernels;
  out["fused_groups"] = report.fused_groups;
  out["kernels_compiled"] = report.kernels_compiled;
  out["kernels_cached"] = report.kernels_cached;
  out["kernels_prebuilt"] = report.kernels_prebuilt;
  out["kernels_fallback"] = report.kernels_fallback;
  out["kernels_shared"] = report.kernels_shared;
  out["side_by_side"] = report.side_by_side;
  out["pass_ms"] = report.pass_ms;
  out["lower_ms"] = report.lower_ms;
  out["compile_ms"] = report.compile_ms;
  out["plan_ms"] = report.plan_ms;
  out["code_bytes"] = report.code_bytes;
  out["constant_bytes"] = report.constant_bytes;
  out["computed_once"] = report.computed_once;
  out["planned_peak"] = report.planned_peak;
  out["measured_peak"] = report.measured_peak;
  nb::list passes, fusion;
  for (const std::string& line : report.pass_log) passes.append(line);
  for (const std::string& line : report.fusion_log) fusion.append(line);
  out["pass_log"] = passes;
  out["fusion_log"] = fusion;
  if (!report.fast_math.empty()) out["fast_math"] = fast_math_dict(report);
  return out;
}

nb::dict cost_dict(const ops::FusionCost& cost) {
  nb::dict out;
  out["bytes"] = cost.bytes;
  out["operations"] = cost.operations;
  out["ns"] = cost.nanoseconds;
  return out;
}

nb::dict fusion_node_dict(const ops::FusionNode& node) {
  nb::dict out;
  out["op"] = node.op.name();
  out["name"] = node.name;
  out["location"] = node.where.known() ? node.where.str() : "";
  out["scope"] = node.scope.path();
  return out;
}

nb::list kernel_list(const ops::FusionReport& report) {
  nb::list out;
  for (const ops::FusedKernel& kernel : report.kernels) {
    nb::dict one;
    one["kind"] = kernel.kind;
    nb::list nodes;
    for (const ops::FusionNode& node : kernel.nodes) nodes.append(fusion_node_dict(node));
    one["nodes"] = nodes;
    one["together"] = cost_dict(kernel.together);
    one["apart"] = cost_dict(kernel.apart);
    out.append(one);
  }
  return out;
}

nb::list refusal_list(const ops::FusionReport& report) {
  nb::list out;
  for (const ops::FusionRefusal& refusal : report.refusals) {
    nb::dict one;
    one["node"] = fusion_node_dict(refusal.node);
    one["kernel_of"] = fusion_node_dict(refusal.kernel_of);
    one["kind"] = refusal.kind;
    one["reason"] = refusal.reason;
    one["together"] = refusal.by_cost ? nb::object(cost_dict(refusal.together)) : nb::none();
    one["apart"] = refusal.by_cost ? nb::object(cost_dict(refusal.apart)) : nb::none();
    out.append(one);
  }
  return out;
}

// The passes that ran, as `GraphPasses` of Python shows them: one dict each.
nb::list report_list(const std::vector<PassReport>& reports) {
  nb::list out;
  for (const PassReport& report : reports) {
    nb::dict one;
    one["name"] = report.name;
    one["changes"] = report.changes;
    one["nodes_before"] = report.nodes_before;
    one["nodes_after"] = report.nodes_after;
    one["ms"] = report.milliseconds;
    nb::list details;
    for (const std::string& line : report.details) details.append(line);
    one["details"] = details;
    out.append(one);
  }
  return out;
}

PyGraph run_passes(std::shared_ptr<Graph> graph, PassRequest request) {
  std::vector<PassReport> reports;
  {
    nb::gil_scoped_release no_gil;
    reports = ig::run_passes(*graph, request);
  }
  PyGraph out(std::move(graph));
  out.passes = report_list(reports);
  return out;
}

void set_size(Graph& graph, const std::string& symbol, int64_t size) {
  if (!graph.dims.symbols().contains(symbol)) {
    std::vector<std::string> names;
    for (const auto& [name, range] : graph.dims.symbols()) names.push_back(name);
    throw make_error(ErrorKind::Value, "refined: the graph has no size `{}`", symbol)
        .why(names.empty() ? "all its sizes are fixed"
                           : fmt::format("its sizes are {}", fmt::join(names, ", ")))
        .hint("name one of the graph's symbols: graph.symbols");
  }
  Range range = graph.dims.range(symbol);
  if (size < range.low || size > range.high)
    throw make_error(ErrorKind::Value, "refined: {} cannot be {}", symbol, size)
        .why(range.high == Range{}.high ? fmt::format("it is at least {}", range.low)
                                        : fmt::format("it lies in [{}, {}]", range.low, range.high))
        .hint("give a size within its range");
  graph.dims.declare(symbol, {size, size});
}

}  // namespace

nb::object graph_object(std::shared_ptr<Graph> graph) { return nb::cast(PyGraph(std::move(graph))); }

const Graph& graph_of(nb::handle graph) { return *nb::cast<const PyGraph&>(graph).graph; }

std::vector<Tensor> call_graph(nb::handle graph, std::span<PyObject* const> args) {
  return call(nb::cast<const PyGraph&>(graph), args);
}

std::vector<Tensor> evaluate_graph(nb::handle graph, std::span<PyObject* const> args) {
  return evaluate(graph_of(graph), args);
}

void init_graph(nb::module_& m) {
  nb::class_<ops::FusionReport>(m, "FusionReport",
                                "What became one kernel, what did not and why, and the costs that were "
                                "compared. `str(report)` is its text.")
      .def("__str__", [](const ops::FusionReport& self) { return self.str(); })
      .def("__repr__", [](const ops::FusionReport& self) { return self.str(); })
      .def_prop_ro(
          "kernels", &kernel_list,
          "A dict a kernel: its kind, its nodes (op, name, location, scope), and its costs: together, "
          "as the one kernel, and apart, were each node a kernel of its own; each with bytes, "
          "operations and ns, as estimates.")
      .def_prop_ro("refused", &refusal_list,
                   "A dict for each node that did not join a kernel which reads it or which it reads: node, "
                   "kernel_of, kind, reason, and where costs decided, these: together and apart, else None.")
      .def(
          "why", [](const ops::FusionReport& self, const std::string& node) { return self.why(node); },
          nb::arg("node"),
          "The decisions about a node, as text. It is meant by its op, its result's name, its module, or a "
          "part of its line (\"model.py:12\"). Raises ValueError where no kernel holds such a node.");
  nb::class_<PyGraph>(m, "Graph",
                      "A graph of the IR. `str(graph)` is its text, and `Graph.parse` reads it back.")
      .def_static(
          "parse",
          [](const std::string& text, const std::string& file) {
            return PyGraph(ops::read_graph(text, file));
          },
          nb::arg("text"), nb::arg("file") = "<text>", "Reads and verifies a graph in text.")
      .def_static(
          "from_binary",
          [](nb::bytes data) {
            std::shared_ptr<Graph> graph = Graph::from_binary(std::string_view(data.c_str(), data.size()));
            ops::verify(*graph);
            ops::keep_host_functions(*graph);
            return PyGraph(std::move(graph));
          },
          nb::arg("data"), "Reads and verifies a graph in its binary form.")
      .def(
          "to_binary",
          [](const PyGraph& self) {
            std::string bytes = self.graph->to_binary();
            return nb::bytes(bytes.data(), bytes.size());
          },
          "The binary form, which `from_binary` reads back.")
      .def("__str__", [](const PyGraph& self) { return self.graph->str(); })
      .def(
          "str", [](const PyGraph& self, bool locations) { return self.graph->str(locations); },
          nb::arg("locations") = false, "The text, with the user's line at each node where asked for.")
      .def("__repr__",
           [](const PyGraph& self) {
             return fmt::format("<Graph {}: {} inputs, {} nodes, {} outputs>", self.graph->name,
                                self.graph->inputs().size(), self.graph->node_count(),
                                self.graph->outputs().size());
           })
      .def("__reduce__",
           [](nb::handle self) {
             return nb::make_tuple(nb::module_::import_("intaglio._numpy").attr("rebuild_graph"),
                                   nb::make_tuple(self.attr("to_binary")()));
           })
      .def_prop_rw(
          "name", [](const PyGraph& self) { return self.graph->name; },
          [](PyGraph& self, std::string name) { self.graph->name = std::move(name); })
      .def(
          "verify", [](const PyGraph& self) { ops::verify(*self.graph); },
          "Checks the laws of the IR and of every op; raises VerifyError.")
      .def(
          "hash", [](const PyGraph& self) { return self.graph->hash().hex(); },
          "A hash of the text without locations, names and scopes.")
      .def(
          "canonical_hash",
          [](const PyGraph& self) { return self.graph->canonical_hash(&commutative).hex(); },
          "The same for any order of independent nodes, and of the operands of commutative ops.")
      .def(
          "__eq__",
          [](const PyGraph& self, nb::handle other) {
            return nb::isinstance<PyGraph>(other) &&
                   self.graph->hash() == nb::cast<const PyGraph&>(other).graph->hash();
          },
          nb::arg("other").none(), "Whether both are the same text, apart from locations, names and scopes.")
      .def("__hash__",
           [](const PyGraph& self) { return static_cast<Py_ssize_t>(self.graph->hash().low >> 2); })
      .def("__len__", [](const PyGraph& self) { return self.graph->node_count(); })
      .def_prop_ro("inputs", [](const PyGraph& self) { return values_of(self.graph->inputs()); })
      .def_prop_ro("outputs", [](const PyGraph& self) { return values_of(self.graph->outputs()); })
      .def_prop_ro("nodes", [](const PyGraph& self) { return nodes_of(self.graph->body()); })
      .def_prop_ro("symbols",
                   [](const PyGraph& self) {
                     nb::dict out;
                     for (const auto& [name, range] : self.graph->dims.symbols())
                       out[name.c_str()] = nb::make_tuple(range.low, range.high == Range{}.high
                                                                         ? nb::none()
                                                                         : nb::object(nb::int_(range.high)));
                     return out;
                   })
      .def(
          "evaluate",
          [](const PyGraph& self, nb::args args) {
            return nb::steal(wrap_all(evaluate(*self.graph, items_of(args))));
          },
          "Runs the graph by the definitions of its ops: slow, exact, and the measure of the compiled "
          "program.")
      .def(
          "compile",
          [](PyGraph& self, const std::vector<std::string>& disable, const std::string& target, bool exact,
             nb::handle fast_math) {
            CompileOptions options;
            options.disabled_passes.insert(disable.begin(), disable.end());
            options.target = target;
            options.exact = exact;
            options.fast_math = fast_math_of(fast_math, "compile");
            options.fast_math.require_inexact(exact, "compile");
            const bool usual = disable.empty() && target.empty() && !exact && !options.fast_math.any();
            PyGraph out(self.graph, usual ? self.program
                                          : std::make_shared<const LazyProgram>(self.graph, options,
                                                                                FirstCalls::Compile));
            program_of(out);
            return out;
          },
          nb::arg("disable") = std::vector<std::string>{}, nb::arg("target") = "", nb::arg("exact") = false,
          nb::arg("fast_math").none() = false,
          "The graph with its program, compiled now. Without options it is what the first call would "
          "compile; "
          "with them another program of the same graph: `disable` leaves passes out, `target` is a name that "
          "`intaglio doctor` lists, `exact` forbids rewrites that only keep a stated bound, `fast_math` "
          "allows what keeps none: True, or names of flags, as ig.jit takes them.")
      .def(
          "report", [](PyGraph& self) { return report_dict(program_of(self)->report()); },
          "What the compiler did: nodes, kernels by origin, times, bytes, and its logs.")
      .def(
          "fusion", [](PyGraph& self) { return program_of(self)->report().fusion; },
          "What became one kernel and what did not, with the costs: a `FusionReport`.")
      .def(
          "optimised",
          [](const PyGraph& self, std::optional<std::vector<std::string>> passes,
             const std::vector<std::string>& disable, bool exact, bool verify, nb::handle fast_math) {
            const FastMath flags = fast_math_of(fast_math, "optimised");
            flags.require_inexact(exact, "optimised");
            return run_passes(self.graph->clone(), {std::move(passes), disable, exact, verify, flags});
          },
          nb::arg("passes") = nb::none(), nb::arg("disable") = std::vector<std::string>{},
          nb::arg("exact") = false, nb::arg("verify") = false, nb::arg("fast_math").none() = false,
          "A new graph: this one after passes. `passes` are names, in order (see ig.passes()); left out, the "
          "compiler's pipeline. `disable` leaves some out; `exact` forbids rewrites that only keep a stated "
          "bound; `fast_math` adds the passes of its flags to the compiler's pipeline; "
          "`verify` checks the graph after each pass. `pass_reports` of the result says what each "
          "did.")
      .def(
          "refined",
          [](const PyGraph& self, const std::map<std::string, int64_t>& sizes) {
            std::shared_ptr<Graph> fixed = self.graph->clone();
            for (const auto& [symbol, size] : sizes) set_size(*fixed, symbol, size);
            return run_passes(std::move(fixed),
                              {std::vector<std::string>{"refine-shapes", "canonicalize", "dce"}, {}});
          },
          nb::arg("sizes"),
          "A new graph, for these values of its size symbols: types, shapes and sizes used as numbers are "
          "fixed, and what follows from them. graph.refined({\"b\": 8})")
      .def_prop_ro(
          "pass_reports", [](const PyGraph& self) { return self.passes; },
          "What each pass did that made this graph: dicts with name, changes, nodes_before, nodes_after, ms "
          "and details; empty for a graph that was captured or read.")
      .def(
          "assembly", [](PyGraph& self) { return program_of(self)->assembly(); },
          "The machine code, to read.")
      .def(
          "_run_op_by_op",
          [](const PyGraph& self, nb::args args) -> nb::object {
            std::vector<Tensor> inputs = inputs_of(*self.graph, items_of(args));
            const FirstCalls how =
                OpByOp::usual() == FirstCalls::Always ? FirstCalls::Always : FirstCalls::WhileItPays;
            std::unique_ptr<OpByOp> runner = OpByOp::of(self.graph, how);
            std::optional<std::vector<Tensor>> out = runner ? runner->run(inputs) : std::nullopt;
            return out ? nb::steal(wrap_all(*std::move(out))) : nb::none();
          },
          "The results without a program, as a first call may compute them; None where it would compile.")
      .def("__call__", [](const PyGraph& self, nb::args args) {
        return nb::steal(wrap_all(call(self, items_of(args))));
      });
  m.def("_passes", [] {
    nb::dict all;
    for (const PassInfo& pass : list_passes()) all[pass.name.c_str()] = pass.doc;
    nb::list pipeline;
    for (const std::string& name : default_passes()) pipeline.append(name);
    return nb::make_tuple(all, pipeline);
  });
}

}  // namespace ig::py
