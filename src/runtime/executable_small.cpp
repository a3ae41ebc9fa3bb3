// Programs that are over before a second thread could help: a few kernels in a row, sizes fixed, temporaries
// few enough for the stack. All that a run decides is known beforehand, so nothing is leased, looked up or
// locked.
#include <algorithm>

#include "runtime/executable_code.h"
#include "runtime/thread_pool.h"

namespace ig::rt {

std::unique_ptr<const Executable::Small> Executable::Small::of(const Executable& executable) {
  const Code& code = *executable.code_;
  const Program& program = executable.program_;
  if (program.sizes.symbols() > 0 || program.blocks.size() != 1) return nullptr;
  auto small = std::make_unique<Small>();
  small->sized = executable.sized_for({});
  const Sized& sized = *small->sized;
  const BlockPlan& plan = sized.blocks[0];
  const BlockCode& block = code.blocks[0];
  if (plan.total > kMostBytes || block.steps.size() > kMostKernels || block.operands.size() > kMostPointers)
    return nullptr;
  for (const Step& step : block.steps) {
    const auto* call = std::get_if<KernelCall>(step.source);
    if (!call || call->steps != KernelSteps::None || call->scratch >= 0) return nullptr;
    const int64_t blocks = call->when >= 0 && sized[call->when] == 0 ? 0 : sized[call->blocks];
    if (ThreadPool::is_shared(blocks, call->grain)) return nullptr;
    small->kernels.push_back({call, sized.dims.data() + step.first_dim, step.first_pointer, blocks});
  }
  for (size_t k = 0; k < block.operands.size(); ++k) {
    auto id = static_cast<size_t>(block.operands[k]);
    const Slot& slot = program.blocks[0].slots[id];
    auto pointer = static_cast<int32_t>(k);
    small->pointers.push_back(slot.kind == SlotKind::Constant
                                  ? program.constants[static_cast<size_t>(slot.index)].data()
                                  : nullptr);
    if (slot.kind == SlotKind::Arena) small->arena.push_back({pointer, static_cast<int32_t>(plan.slots[id])});
  }
  small->inputs = block.inputs;
  small->inputs.insert(small->inputs.end(), block.program_inputs.begin(), block.program_inputs.end());
  small->outputs = block.outputs;
  return small;
}

void Executable::run_small(void* const* inputs, std::span<Storage> outputs) const {
  if (profile::is_on()) return run({inputs, static_cast<size_t>(this->inputs())}, {}, outputs);
  const Small& small = *small_;
  alignas(kAlignment) char memory[Small::kMostBytes];
  void* pointers[Small::kMostPointers];
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = reserve(*small.sized, small.sized->output_bytes[i]);
  std::copy(small.pointers.begin(), small.pointers.end(), pointers);
  for (const Patch& p : small.inputs) pointers[p.pointer] = inputs[p.index];
  for (const Patch& p : small.outputs) pointers[p.pointer] = outputs[static_cast<size_t>(p.index)].data();
  for (const Patch& p : small.arena) pointers[p.pointer] = memory + p.index;
  FloatControl control(program_.flush_denormals);
  small.runs.fetch_add(1, std::memory_order_relaxed);
  for (const Small::Kernel& kernel : small.kernels) {
    if (kernel.blocks == 0) continue;
    int64_t error[2] = {-1, 0};
    KernelArgs args;
    args.buffers = pointers + kernel.first_pointer;
    args.dims = kernel.dims;
    args.error = error;
    if (int32_t status = kernel.call->kernel(&args, 0, kernel.blocks)) fail(error, status);
  }
}

}  // namespace ig::rt
