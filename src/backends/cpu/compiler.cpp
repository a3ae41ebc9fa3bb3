// The CPU compiler: passes, kernels, machine code, constants in the form that kernels want them, the plan.
// LLVM is behind `codegen::compile`, and opened where that finds no code at hand.
#include <malloc.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "backends/cpu/program.h"
#include "codegen/compiler_library.h"
#include "ops/memory.h"
#include "ops/table.h"
#include "passes/pass.h"
#include "passes/walk.h"
#include "runtime/thread_pool.h"
#include "support/processor.h"
#include "support/stop.h"
#include "tensor/passes.h"
#include "tensor/profile.h"

namespace ig::cpu {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void collect_fusions(const Block& block, std::vector<const Node*>& out) {
  for (Node* node : block) {
    if (ops::find(node->op()) && node->attrs().find("kind") && node->regions().size() == 1) {
      if (!ops::is_relabel(node)) out.push_back(node);
      continue;
    }
    for (const auto& region : node->regions()) collect_fusions(*region, out);
  }
}

// The value that this one is, seen through relabelling and the constants of loops.
Value origin_of(Value v) {
  while (v->node() ? ops::is_relabel(v->node()) : passes::outside_of_loop(v) != nullptr)
    v = v->node() ? v->node()->operand(0) : passes::outside_of_loop(v);
  return v;
}

const Literal* constant_of(Value v) {
  v = origin_of(v);
  if (!v->node() || !ops::has(v->node(), ops::Trait::Constant)) return nullptr;
  const AttrValue* value = v->node()->attrs().find("value");
  return value ? std::get_if<Literal>(value) : nullptr;
}

// The input of the graph that a value is, where kernels may read it in another form; else -1.
int steady_input(Value v, const CompileOptions& options) {
  v = origin_of(v);
  if (v->node() || v->block()->parent()) return -1;
  auto input = static_cast<int>(v->index());
  return options.steady.contains(input) && constant_dims(v->type().dims) ? input : -1;
}

// How much an array takes, and a kernel's arrays; nothing where a size is not known.
std::optional<size_t> bytes_of(const Type& type) {
  auto dims = constant_dims(type.dims);
  if (!dims) return std::nullopt;
  size_t bytes = size_of(type.dtype);
  for (int64_t d : *dims) bytes *= static_cast<size_t>(d);
  return bytes;
}

std::optional<size_t> bytes_touched(const Node* kernel) {
  size_t touched = 0;
  for (std::span<const Value> values : {kernel->operands(), kernel->results()})
    for (Value v : values) {
      auto bytes = bytes_of(v->type());
      if (!bytes) return std::nullopt;
      touched += *bytes;
    }
  return touched;
}

// Whether nobody but the caller reads the value, as it is or by another shape.
bool is_result_alone(Value v) {
  return !v->uses().empty() && std::ranges::all_of(v->uses(), [](const Use& use) {
    return passes::is_terminator(use.user) ||
           (ops::is_relabel(use.user) && is_result_alone(use.user->result()));
  });
}

// Results to be written past the caches are results of the graph, of kernels that touch more than the caches
// hold, so that the first elements have left them before the last are written. A line that is written whole
// need not be read first. What takes the memory of an input is in the caches already. Several threads copy
// faster by way of the last cache than memory takes, so they pass it by only where it holds the smaller part
// (where all of it fits just about, that takes a fifth longer; at one and a half of its size a tenth less).
codegen::Traffic traffic_of(const Node* kernel, const CompileOptions& options) {
  static const size_t cache = rt::last_level_cache();
  const std::optional<size_t> touched = bytes_touched(kernel);
  codegen::Traffic out;
  out.may_go_twice = true;
  out.threads = rt::ThreadPool::instance().num_threads();
  if (cache == 0 || !touched) return out;
  out.far = *touched >= cache / 8 * 3;
  const size_t enough = out.threads == 1 ? cache / 8 * 7 : cache / 4 * 5;  // they hold other things too
  out.beyond = *touched >= enough;
  if (!out.beyond || !options.donated.empty() || kernel->block()->parent()) return out;
  for (Value v : kernel->results()) out.streamed.push_back(is_result_alone(v));
  return out;
}

passes::Machine machine() {
  static const size_t near = rt::second_level_cache(), last = rt::last_level_cache();
  passes::Machine out;
  out.threads = rt::ThreadPool::instance().num_threads();
  if (near > 0) out.near = near, out.last = last;  // else the system does not tell
  return out;
}

plan::KernelChoice choice_of(const codegen::Kernel& kernel, rt::KernelFn function) {
  plan::KernelChoice choice;
  choice.function = function;
  choice.name = kernel.kind;
  choice.sizes = kernel.function->sizes;
  choice.blocks = kernel.blocks;
  choice.grain = kernel.grain;
  choice.block_grains = kernel.block_grains;
  choice.grains = kernel.grains;
  choice.when = kernel.when;
  choice.steps = kernel.steps;
  choice.in_place = kernel.in_place;
  choice.updates = kernel.updates;
  choice.checks = kernel.checks;
  for (size_t s = 0; s < kernel.function->scratch.size(); ++s)
    choice.scratch.emplace_back(kernel.function->scratch[s].type, kernel.function->scratch_elements[s]);
  return choice;
}

// What is compiled for a kernel, in order.
void add_functions(const codegen::Kernel& kernel, std::vector<const loop::Function*>& out) {
  out.push_back(kernel.function.get());
  if (kernel.first) out.push_back(kernel.first->function.get());
  for (const auto& packing : kernel.packings) out.push_back(packing.pack.get());
  if (kernel.other) add_functions(*kernel.other, out);
}

// The nodes of these kernels that compute with floats.
std::vector<const Node*> nodes_of_floats(std::span<const Node* const> fusions) {
  auto floats = [](Value v) {
    return v->type().is_tensor() && (is_float(v->type().dtype) || is_complex(v->type().dtype));
  };
  std::vector<const Node*> out;
  for (const Node* fusion : fusions)
    passes::for_each_block(fusion->region(0), [&](const Block& block) {
      for (const Node* node : block)
        if (!passes::is_terminator(node) && node->regions().empty() && !ops::has(node, ops::Trait::View) &&
            !ops::has(node, ops::Trait::Constant) &&
            (std::ranges::any_of(node->operands(), floats) || std::ranges::any_of(node->results(), floats)))
          out.push_back(node);
    });
  return out;
}

// What each flag that is set did: a pass of its own, the rules of nodes of all kernels, or the way they run.
std::vector<FastMathUse> uses_of(const FastMath& flags, std::span<const Node* const> fusions,
                                 std::span<const codegen::Kernel> kernels, FastMathUse reciprocals) {
  codegen::Relaxed all;
  for (const codegen::Kernel& kernel : kernels) all.add(kernel.relaxed);
  auto use = [](std::string_view flag, std::span<const Node* const> nodes) {
    FastMathUse out{flag, static_cast<int>(nodes.size()), {}};
    for (const Node* node : nodes.first(std::min<size_t>(nodes.size(), passes::kDetails)))
      out.places.push_back(passes::told_of(node));
    return out;
  };
  std::vector<FastMathUse> out;
  if (flags.contract) out.push_back(use("contract", all.contracted));
  if (flags.finite) out.push_back(use("finite", all.finite));
  if (flags.reciprocal) out.push_back(std::move(reciprocals));
  if (flags.flush_denormals) out.push_back(use("flush_denormals", nodes_of_floats(fusions)));
  return out;
}

// Whether the kernel reads the operand in a form that is made before the calls.
bool reads_a_form(const codegen::Kernel& kernel, size_t operand) {
  const bool packs = std::ranges::any_of(kernel.packings, [&](const codegen::Kernel::Packing& packing) {
    return packing.operand == static_cast<int>(operand) && !packing.every_call;
  });
  return packs && (!kernel.other || reads_a_form(*kernel.other, operand));
}

// Which inputs from `first` on are read as they are, and not by such kernels alone.
std::vector<bool> read_as_they_are(Graph& graph, size_t first, std::span<const Node* const> fusions,
                                   std::span<const codegen::Kernel> kernels) {
  std::vector<bool> out(graph.inputs().size() - first);
  if (out.empty()) return out;
  std::unordered_map<const Node*, const codegen::Kernel*> kernel_of;
  for (size_t i = 0; i < fusions.size(); ++i) kernel_of.emplace(fusions[i], &kernels[i]);
  passes::for_each_block(graph.body(), [&](const Block& block) {
    for (const Node* node : block) {
      if (!passes::is_terminator(node) && ops::is_relabel(node)) continue;
      auto kernel = kernel_of.find(node);
      for (size_t i = 0; i < node->operands().size(); ++i) {
        if (kernel != kernel_of.end() && reads_a_form(*kernel->second, i)) continue;
        const Value v = origin_of(node->operand(i));
        if (!v->node() && !v->block()->parent() && v->index() >= first) out[v->index() - first] = true;
      }
    }
  });
  return out;
}

std::shared_ptr<Program> make_program(const Graph& source, const CompileOptions& given) {
  CompileOptions options = given;
  ProgramReport report;
  const codegen::Target target =
      options.target.empty() ? codegen::Target::host() : codegen::Target::named(options.target);
  if (!target.runs_here())
    throw make_error(ErrorKind::Unsupported, "code for {} does not run on this machine", target.name)
        .why("the processor lacks instructions that the target promises")
        .hint(fmt::format("leave the target out, or use one that {} has", processor_name()));

  auto start = Clock::now();
  std::unique_ptr<Graph> graph = source.clone();
  report.nodes_captured = static_cast<int>(source.node_count());
  passes::Options pass_options;
  pass_options.exact = options.exact;
  pass_options.disabled = options.disabled_passes;
  pass_options.steady = options.steady;
  pass_options.machine = machine();
  pass_options.stop = options.stop;
#ifndef NDEBUG
  pass_options.verify = true;
#endif
  FastMathUse reciprocals{"reciprocal", 0, {}};
  const std::vector<std::string_view> pipeline = passes::default_pipeline(options.fast_math);
  for (const passes::Record& record : passes::run(*graph, pipeline, pass_options)) {
    if (record.name == "reciprocals") reciprocals = {"reciprocal", record.changes, record.details};
    if (record.changes)
      report.pass_log.push_back(fmt::format("{}: {} changes, {} to {} nodes", record.name, record.changes,
                                            record.nodes_before, record.nodes_after));
    for (const std::string& note : record.notes)
      report.pass_log.push_back(fmt::format("{}: {}", record.name, note));
    if (record.name == "fuse" || record.name == "depth-first" || record.name.starts_with("join-"))
      report.fusion_log.insert(report.fusion_log.end(), record.details.begin(), record.details.end());
    if (record.name == "compute-once") report.computed_once = record.details;
    report.fusion.add(record.fusion);
  }
  KeptParts kept;
  kept.once = take_out_once(*graph, options);
  for (auto at = static_cast<int>(source.inputs().size()); at < std::ssize(graph->inputs()); ++at)
    options.steady.insert(at);
  report.pass_ms = since(start);
  profile::phase("passes", source.name, start);

  start = Clock::now();
  std::vector<const Node*> fusions;
  collect_fusions(graph->body(), fusions);
  std::vector<codegen::Kernel> kernels;
  for (const Node* node : fusions) {
    leave_if(options.stop);
    std::vector<bool> constant;
    for (Value v : node->operands()) constant.push_back(constant_of(v) || steady_input(v, options) >= 0);
    try {
      kernels.push_back(codegen::lower(node, constant, target, traffic_of(node, options), options.exact,
                                       options.fast_math));
    } catch (Error& error) {
      if (error.where().empty() && node->location().known()) error.at(node->location().str());
      throw;
    }
    report.fused_groups += node->region(0).size() > 1;
  }
  if (options.fast_math.any())
    report.fast_math = uses_of(options.fast_math, fusions, kernels, std::move(reciprocals));
  report.lower_ms = since(start);
  profile::phase("lower", source.name, start);

  start = Clock::now();
  std::vector<const loop::Function*> functions;
  for (const codegen::Kernel& kernel : kernels) add_functions(kernel, functions);
  std::vector<codegen::Compiled> code;
  if (options.at_hand) {
    auto found = codegen::find_compiled(functions, target);
    if (!found) return nullptr;
    code = *std::move(found);
  } else {
    int threads = options.threads > 0 ? options.threads : rt::ThreadPool::instance().num_threads();
    code = codegen::compile(functions, target, threads, options.stop);
  }
  report.compile_ms = since(start);
  profile::phase("machine code", source.name, start);

  start = Clock::now();
  plan::Input input{*graph, {}, {}, options.donated, {}};
  std::vector<PreparedInput>& prepared = kept.prepared;
  kept.read = read_as_they_are(*graph, source.inputs().size(), fusions, kernels);
  for (size_t i = 0; i < kept.read.size(); ++i)
    if (kept.read[i]) report.computed_bytes += *bytes_of(graph->inputs()[source.inputs().size() + i]->type());
  size_t at = 0;
  std::set<rt::KernelFn> distinct;
  std::vector<std::unique_ptr<loop::Function>> readable;
  auto add_form = [&](const codegen::Kernel::Packing& packing, Value operand, rt::KernelFn function,
                      plan::KernelChoice& choice) {
    if (packing.every_call) {
      const Dim bytes = packing.elements * Dim(static_cast<int64_t>(size_of(operand->type().dtype)));
      choice.packs.push_back({packing.operand, function, packing.sizes, packing.blocks, bytes});
      return;
    }
    Packing form(packing, operand->type().dtype, function);
    if (const Literal* literal = constant_of(operand)) {
      choice.packed.emplace_back(packing.operand, packed(literal->storage(), form));
      return;
    }
    PreparedInput want{steady_input(operand, options), std::move(form)};
    auto place = std::find(prepared.begin(), prepared.end(), want) - prepared.begin();
    choice.prepared.emplace_back(packing.operand, static_cast<int>(place));
    if (static_cast<size_t>(place) < prepared.size()) return;
    input.prepared.push_back(static_cast<int64_t>(want.form.bytes));
    report.prepared_bytes += want.form.bytes;
    prepared.push_back(std::move(want));
  };
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto choose = [&](codegen::Kernel& kernel, auto& self) -> plan::KernelChoice {
      const codegen::Compiled& compiled = code[at++];
      plan::KernelChoice choice = choice_of(kernel, compiled.fn);
      if (kernel.first) {
        choice.first = std::make_shared<plan::KernelChoice>(choice_of(*kernel.first, code[at++].fn));
        choice.temporaries = kernel.temporaries;
      }
      for (const auto& packing : kernel.packings)
        add_form(packing, fusions[i]->operand(static_cast<size_t>(packing.operand)), code[at++].fn, choice);
      if (distinct.insert(compiled.fn).second) {
        report.kernels_prebuilt += compiled.prebuilt;
        report.kernels_compiled += !compiled.prebuilt && !compiled.cached;
        report.kernels_cached += compiled.cached;
        kernel.function->name = fmt::format("{}_{}", kernel.kind, distinct.size());
        if (kernel.first) {
          kernel.first->function->name = kernel.function->name + "_first";
          readable.push_back(std::move(kernel.first->function));
        }
        readable.push_back(std::move(kernel.function));
      }
      if (kernel.other) choice.other = std::make_shared<plan::KernelChoice>(self(*kernel.other, self));
      return choice;
    };
    plan::KernelChoice choice = choose(kernels[i], choose);
    ++report.kernels;
    input.kernels.emplace(fusions[i], std::move(choice));
  }
  for (const codegen::Compiled& c : code) {
    if (c.code && c.fresh) report.code_bytes += c.code->bytes();
    if (c.code) input.owners.push_back(c.code);
  }
  report.kernels_shared =
      report.kernels - report.kernels_compiled - report.kernels_cached - report.kernels_prebuilt;
  report.nodes = static_cast<int>(graph->node_count());
  plan::Plan made = plan::make_plan(std::move(input));
  made.program.flush_denormals = options.fast_math.flush_denormals;
  made.program.keeps_arena = options.keeps_memory;
  for (const Storage& constant : made.program.constants) report.constant_bytes += constant.bytes();
  for (const rt::Block& block : made.program.blocks) {
    for (const rt::Instruction& instruction : block.code)
      if (const auto* host = std::get_if<rt::Host>(&instruction)) report.kernels_fallback += host->fallback;
    for (auto [begin, end] : block.side_by_side) report.side_by_side += end - begin;
  }
  report.plan_ms = since(start);
  profile::phase("plan", source.name, start);
  return std::make_shared<CpuProgram>(std::move(graph), std::move(made), std::move(report), options.donated,
                                      std::move(kept), std::move(readable), target);
}

// The compiler's working memory goes back to the system where it was much: some megabytes of small blocks,
// which malloc would keep for a next compile. It takes 0.2 ms.
void give_back_memory(int kernels_compiled) {
  constexpr int kMuch = 8;
  if (kernels_compiled >= kMuch) malloc_trim(0);
}

}  // namespace
}  // namespace ig::cpu

namespace ig {

std::shared_ptr<Program> compile(const Graph& graph, const CompileOptions& options) {
  options.fast_math.require_inexact(options.exact, "compile");
  std::shared_ptr<Program> program = cpu::make_program(graph, options);
  if (program) cpu::give_back_memory(program->report().kernels_compiled);
  return program;
}

bool compiler_available() { return codegen::has_compiler_library(); }

std::vector<PassReport> run_passes(Graph& graph, const PassRequest& request) {
  passes::Options options;
  options.exact = request.exact;
  options.verify = request.verify;
  options.disabled.insert(request.disabled.begin(), request.disabled.end());
  std::vector<std::string_view> names = passes::default_pipeline(request.fast_math);
  if (request.names) names.assign(request.names->begin(), request.names->end());
  std::vector<PassReport> out;
  for (passes::Record& record : passes::run(graph, names, options))
    out.push_back({std::move(record.name), record.changes, record.nodes_before, record.nodes_after,
                   record.milliseconds, std::move(record.details)});
  return out;
}

std::vector<PassInfo> list_passes() {
  std::vector<PassInfo> out;
  for (const passes::Pass& pass : passes::all())
    out.push_back({std::string(pass.name), std::string(pass.doc)});
  return out;
}

std::vector<std::string> default_passes() {
  const std::vector<std::string_view> names = passes::default_pipeline();
  return {names.begin(), names.end()};
}

}  // namespace ig
