// The call of a compiled graph: check, bind sizes, run.
#include "backends/cpu/program.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cpu/step_facts.h"
#include "support/inline_vector.h"

namespace ig::cpu {
namespace {

std::string input_name(const Graph& graph, size_t i) {
  const std::string& name = graph.inputs()[i]->name();
  return name.empty() ? fmt::format("argument {}", i) : fmt::format("argument '{}'", name);
}

}  // namespace

CpuProgram::CpuProgram(std::unique_ptr<Graph> graph, plan::Plan plan, ProgramReport report,
                       std::set<int> donated, KeptParts kept,
                       std::vector<std::unique_ptr<loop::Function>> kernels, codegen::Target target)
    : graph_(std::move(graph)),
      donatable_(std::move(plan.donatable)),
      donated_(std::move(donated)),
      report_(std::move(report)),
      arguments_(graph_->inputs().size() - kept.read.size()),
      kept_(arguments_, std::move(kept)),
      kernels_(std::move(kernels)),
      target_(std::move(target)),
      symbols_(std::move(plan.symbols)) {
  const std::span<const Value> arguments = graph_->inputs().first(arguments_);
  for (const std::string& symbol : symbols_) {
    fixed_sizes_ = false;
    bool found = false;
    for (size_t i = 0; i < arguments.size() && !found; ++i)
      for (size_t a = 0; a < arguments[i]->type().dims.size() && !found; ++a)
        if (arguments[i]->type().dims[a].as_symbol() == symbol) sources_.push_back({i, a}), found = true;
    if (!found)
      throw make_error(ErrorKind::Shape, "the size {} cannot be read off any input", symbol)
          .why("each size symbol must be the whole size of some axis of some input")
          .hint(fmt::format("add an input with an axis of size {}", symbol));
  }
  auto fixed = [](std::span<const Value> values) {
    std::vector<Shape> out;
    for (Value v : values) out.emplace_back(constant_dims(v->type().dims).value_or(std::vector<int64_t>{}));
    return out;
  };
  if (fixed_sizes_) {
    input_shapes_ = fixed(arguments);
    output_shapes_ = fixed(graph_->outputs());
  } else {
    make_size_tables();
  }
  for (Value v : arguments) inputs_.push_back({v->type().dtype, v->type().rank()});
  for (Value v : graph_->outputs()) outputs_.push_back(v->type().dtype);
  for (const rt::Block& block : plan.program.blocks)
    calls_back_ |= std::ranges::any_of(block.code, [](const rt::Instruction& instruction) {
      return std::holds_alternative<rt::Host>(instruction);
    });
  plan.program.facts = describe_steps(graph_, plan);
  executable_ = std::make_unique<rt::Executable>(std::move(plan.program));
}

void CpuProgram::refuse_input(size_t i, const Tensor& tensor) const {
  const Type& type = graph_->inputs()[i]->type();
  if (!tensor.valid() || tensor.is_symbolic())
    throw make_error(ErrorKind::Type, "{} is not a concrete array", input_name(*graph_, i))
        .why("a compiled graph runs on arrays with values")
        .hint("inside a capture, call the function instead of the compiled graph");
  if (tensor.dtype() != type.dtype)
    throw make_error(ErrorKind::Type, "{} is {}, but the graph was compiled for {}", input_name(*graph_, i),
                     info(tensor.dtype()).api_name, info(type.dtype).api_name)
        .why("a compiled graph takes the types it was compiled for")
        .hint(fmt::format("convert it with astype(ig.{}), or compile for {}", info(type.dtype).api_name,
                          info(tensor.dtype()).api_name));
  throw make_error(ErrorKind::Shape, "{} has shape [{}], but the graph takes {}", input_name(*graph_, i),
                   fmt::join(tensor.shape(), ", "), str(type.dims))
      .why(fmt::format("it has rank {}, not {}", tensor.rank(), type.rank()))
      .hint("reshape it, or compile for this shape");
}

void CpuProgram::make_size_tables() {
  std::map<std::string, int32_t> index;
  for (size_t s = 0; s < symbols_.size(); ++s) {
    index[symbols_[s]] = static_cast<int32_t>(s);
    ranges_.push_back(graph_->dims.range(symbols_[s]));
  }
  auto formulas = [&](std::span<const Value> values) {
    std::vector<std::vector<rt::SizeId>> out;
    for (Value v : values) {
      out.emplace_back();
      for (const Dim& dim : v->type().dims) out.back().push_back(plan::add_size(sizes_, dim, index));
    }
    return out;
  };
  input_sizes_ = formulas(graph_->inputs().first(arguments_));
  output_sizes_ = formulas(graph_->outputs());
  for (const DimScope::Fact& fact : graph_->dims.facts())
    facts_.push_back({plan::add_size(sizes_, fact.a, index), plan::add_size(sizes_, fact.b, index),
                      fact.relation == "=="});
}

std::vector<int64_t> CpuProgram::bind_symbols(std::span<const Tensor> inputs,
                                              std::vector<int64_t>& sizes) const {
  std::vector<int64_t> values(symbols_.size());
  for (size_t s = 0; s < symbols_.size(); ++s) {
    int64_t v = values[s] = inputs[sources_[s].input].shape()[sources_[s].axis];
    if (v < ranges_[s].low || v > ranges_[s].high)
      throw make_error(ErrorKind::Shape, "{} has size {} along axis {}, but {} lies in [{}, {}]",
                       input_name(*graph_, sources_[s].input), v, sources_[s].axis, symbols_[s],
                       ranges_[s].low, ranges_[s].high)
          .why("the graph was captured for that range of sizes")
          .hint("pass an array within the range, or capture with a wider one");
  }
  sizes_.evaluate(values, sizes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape();
    for (size_t a = 0; a < input_sizes_[i].size(); ++a)
      if (int64_t want = sizes[static_cast<size_t>(input_sizes_[i][a])]; want != shape[a])
        throw make_error(ErrorKind::Shape, "{} has shape [{}], but the graph takes {}",
                         input_name(*graph_, i), fmt::join(shape, ", "),
                         str(graph_->inputs()[i]->type().dims))
            .why(fmt::format("along axis {} the size must be {}", a, want))
            .hint("pass an array of the right shape, or compile for this one");
  }
  for (size_t f = 0; f < facts_.size(); ++f) {
    int64_t a = sizes[static_cast<size_t>(facts_[f].a)], b = sizes[static_cast<size_t>(facts_[f].b)];
    const DimScope::Fact& fact = graph_->dims.facts()[f];
    if (facts_[f].equal ? a != b : a > b)
      throw make_error(ErrorKind::Shape, "the sizes of the arguments break {} {} {}", fact.a.str(),
                       fact.relation, fact.b.str())
          .why(fmt::format("here {} against {}; the capture relied on it", a, b))
          .hint("capture again with these sizes");
  }
  return values;
}

std::vector<Tensor> CpuProgram::run(std::span<const Tensor> inputs) const {
  if (inputs.size() != inputs_.size())
    throw make_error(ErrorKind::Type, "the graph takes {} arrays, got {}", inputs_.size(), inputs.size())
        .why("each input of the graph needs one array")
        .hint("pass the arrays in the order of the graph's inputs");
  const size_t kept = kept_.size();
  InlineVector<void*, 16> pointers(inputs.size() + kept);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    if (input.is_symbolic() || !input.valid() || input.dtype() != inputs_[i].dtype ||
        input.shape().rank() != inputs_[i].rank)
      refuse_input(i, input);
    pointers.emplace_back(input.data());
  }
  std::vector<int64_t> symbols, sizes;
  if (!fixed_sizes_) {
    symbols = bind_symbols(inputs, sizes);
  } else {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!(inputs[i].shape() == input_shapes_[i]))
        throw make_error(ErrorKind::Shape, "{} has shape [{}], but the graph takes [{}]",
                         input_name(*graph_, i), fmt::join(inputs[i].shape(), ", "),
                         fmt::join(input_shapes_[i], ", "))
            .why("the graph was compiled for fixed sizes")
            .hint("pass an array of that shape, or compile for this one");
  }
  InlineVector<Storage, 8> held(kept);
  if (kept > 0) {
    for (size_t i = 0; i < kept; ++i) held.emplace_back();
    kept_.prepare(inputs, held.span());
    for (const Storage& one : held.span()) pointers.emplace_back(one.data());
  }
  InlineVector<Storage, 4> outputs(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) outputs.emplace_back();
  for (auto [output, input] : donatable_)
    if (donated_.contains(input) && inputs[static_cast<size_t>(input)].storage().unique())
      outputs[static_cast<size_t>(output)] = inputs[static_cast<size_t>(input)].storage();
  executable_->run(pointers.span(), symbols, outputs.span());
  std::vector<Tensor> results;
  results.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (fixed_sizes_) {
      results.emplace_back(outputs_[i], output_shapes_[i], std::move(outputs[i]));
      continue;
    }
    std::vector<int64_t> dims;
    dims.reserve(output_sizes_[i].size());
    for (rt::SizeId id : output_sizes_[i]) dims.push_back(sizes[static_cast<size_t>(id)]);
    results.emplace_back(outputs_[i], Shape(dims), std::move(outputs[i]));
  }
  return results;
}

std::vector<Tensor> CpuProgram::run_small(void* const* inputs) const {
  InlineVector<Storage, 4> outputs(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) outputs.emplace_back();
  executable_->run_small(inputs, outputs.span());
  std::vector<Tensor> results;
  results.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    results.emplace_back(outputs_[i], output_shapes_[i], std::move(outputs[i]));
  return results;
}

ProgramReport CpuProgram::report() const {
  ProgramReport out = report_;
  rt::RunReport run = executable_->report();
  out.planned_peak = run.planned_peak;
  out.measured_peak = run.measured_peak;
  return out;
}

std::string CpuProgram::assembly() const {
  // Made when somebody asks: reading is rare, and text costs as much as the machine code did.
  std::string out;
  for (const auto& kernel : kernels_) out += codegen::compile_assembly(*kernel, target_) + "\n";
  return out;
}

// One kernel over one symbolic size, reading each input once and writing the output.
Program::Direct CpuProgram::direct() const {
  const rt::Program& program = executable_->program();
  const rt::Block& block = program.blocks[0];
  const auto* call = block.code.size() == 1 ? std::get_if<rt::KernelCall>(&block.code[0]) : nullptr;
  bool plain = call && kept_.empty() && program.blocks.size() == 1 && program.constants.empty() &&
               symbols_.size() == 1 && call->steps == rt::KernelSteps::None && call->scratch < 0 &&
               call->dims.size() == 1 && block.outputs == 1 &&
               call->buffers.size() == static_cast<size_t>(block.inputs) + 1 &&
               call->buffers.size() <= Direct::kMaxInputs + 1;
  if (!plain) return {};
  uint32_t order = 0, seen = 0;
  for (size_t i = 0; i < call->buffers.size(); ++i) {
    const rt::Slot& slot = block.slots[static_cast<size_t>(call->buffers[i])];
    bool last = i + 1 == call->buffers.size();
    if (slot.kind != (last ? rt::SlotKind::Output : rt::SlotKind::Input)) return {};
    if (last) break;
    if (seen >> slot.index & 1u) return {};
    seen |= 1u << slot.index;
    order |= static_cast<uint32_t>(slot.index) << (4 * i);
  }
  // How many elements one block takes, read off the formula of the number of blocks.
  std::vector<int64_t> values;
  auto blocks = [&](int64_t n) {
    program.sizes.evaluate(std::span<const int64_t>(&n, 1), values);
    return values[static_cast<size_t>(call->dims[0])] == n ? values[static_cast<size_t>(call->blocks)] : -1;
  };
  constexpr int64_t kLarge = int64_t{1} << 30;
  int64_t count = blocks(kLarge);
  if (count <= 0 || kLarge % count != 0) return {};
  int64_t each = kLarge / count;
  if (blocks(1) != 1 || blocks(each) != 1 || blocks(each + 1) != 2) return {};
  return {call->kernel, order, each, each * std::max<int64_t>(call->grain, 1)};
}

}  // namespace ig::cpu
