// One fusion node to one kernel: picks the lowering by the group's kind.
#include <algorithm>

#include "codegen/group_emitter.h"
#include "codegen/long_loops.h"
#include "ops/attrs.h"
#include "ops/memory.h"

namespace ig::codegen {
namespace {

const Dim kOne = int64_t{1};

class Nest final : public ops::NestContext {
 public:
  Nest(GroupEmitter& emit, Kernel& kernel, const Node* n) : emit_(emit), kernel_(kernel) {
    build = &emit.build;
    node = n;
    for (Value v : n->operands()) operands.push_back(v->node() ? kComputed : emit.buffer_of_arg(v));
    for (size_t i = 0; i < n->results().size(); ++i) {
      // A result that nobody reads has no buffer among the group's; the rule still writes it, into scratch.
      results.push_back(0);
      bool found = false;
      for (size_t r = 0; r < emit.region.results().size() && !found; ++r)
        if (emit.region.results()[r] == n->result(i)) results.back() = emit.result_buffer(r), found = true;
      if (!found)
        results.back() =
            emit.build.add_scratch(n->result(i)->type().dtype, product(n->result(i)->type().dims), "unread");
    }
  }
  loop::Expr size(const Dim& dim) override { return emit_.size(dim); }
  loop::Expr at(size_t operand, std::span<const loop::Expr> index) override {
    loop::Expr out;
    // What was computed in one of the nest's loops is unknown in the others.
    emit_.scoped([&] { out = emit_.element(node->operand(operand), index); });
    return out;
  }
  void set_blocks(const Dim& blocks) override { kernel_.blocks = blocks; }
  Registers registers() override { return {emit_.target.registers, emit_.target.vector_bytes}; }
  bool begins_updated() override {
    const int operand = ops::updated_operand(node);
    if (operand < 0) return false;
    for (size_t r = 0; r < emit_.region.results().size(); ++r) {
      if (emit_.region.results()[r] != node->result()) continue;
      const std::pair pair(static_cast<int>(r),
                           static_cast<int>(node->operand(static_cast<size_t>(operand))->index()));
      kernel_.in_place.push_back(pair), kernel_.updates.push_back(pair);
      return true;
    }
    return false;
  }

 private:
  GroupEmitter& emit_;
  Kernel& kernel_;
};

}  // namespace

void lower_nest(GroupEmitter& emit, Kernel& kernel) {
  // Before the op that writes the loops lies what is computed where it reads.
  const Node* last = nullptr;
  for (const Node* node : emit.region)
    if (node != emit.region.terminator()) last = node;
  IG_CHECK(last && ops::op_of(last).rules.lower.nest, "a nest kernel without its op");
  Nest context(emit, kernel, last);
  emit.noting(last, [&] { return ops::op_of(last).rules.lower.nest(context), true; });
}

int64_t work_of_grain(const Target& target, int element_bytes) {
  constexpr int64_t kCyclesOfGrain = 7500;  // 3 µs at 2.5 GHz: to share two of them takes less than one
  return kCyclesOfGrain * (target.vector_bytes / element_bytes) * (target.fma ? 2 : 1);
}

void set_grain(Kernel& kernel, const Target& target, DType type, int64_t work) {
  const int64_t enough = work_of_grain(target, static_cast<int>(size_of(type)));
  work = std::max<int64_t>(1, work);
  kernel.grain = std::max<int64_t>(1, enough / work);
  kernel.block_grains = std::max<int64_t>(1, work / enough);
}

namespace {

// What no result may take the memory of. A kernel of several ones has memory that changes hands within.
void note_apart(Kernel& kernel, size_t operands) {
  if (kernel.kind != "loop") return;
  for (size_t a = 0; a < operands; ++a)
    kernel.function->buffers[a].apart = std::ranges::none_of(
        kernel.in_place, [&](const auto& pair) { return pair.second == static_cast<int>(a); });
}

// `many_rows`: see GroupEmitter.
Kernel lower_one_way(const Node* fusion, const std::vector<bool>& constant_operands, const Target& target,
                     const Traffic& traffic, bool exact, const FastMath& fast_math, bool many_rows) {
  Kernel kernel;
  kernel.kind = std::get<std::string>(*fusion->attrs().find("kind"));
  kernel.relaxed.allowed = fast_math;
  GroupEmitter emit(fusion, target, kernel.relaxed);
  emit.traffic = traffic;
  emit.exact = exact;
  emit.many_rows = many_rows;
  if (kernel.kind == "row")
    lower_row(emit, kernel);
  else if (kernel.kind == "column")
    lower_column(emit, kernel);
  else if (kernel.kind == "panel")
    lower_panel(emit, kernel);
  else if (kernel.kind == "contraction")
    lower_contraction(emit, kernel, constant_operands);
  else if (kernel.kind == "nest")
    lower_nest(emit, kernel);
  else if (kernel.kind == "program")
    lower_program(emit, kernel, constant_operands);
  else
    lower_loop(emit, kernel);
  kernel.function = emit.build.finish();
  note_apart(kernel, fusion->operands().size());
  kernel.function->one_block = kernel.blocks == kOne && kernel.steps == rt::KernelSteps::None;
  narrow_long_loops(*kernel.function, target);
  if (emit.wants_many_rows) kernel.when = many_rows ? *emit.wants_many_rows : kOne - *emit.wants_many_rows;
  return kernel;
}

}  // namespace

Kernel lower(const Node* fusion, const std::vector<bool>& constant_operands, const Target& target,
             const Traffic& traffic, bool exact, const FastMath& fast_math) {
  auto lowered = [&](bool many_rows) {
    return lower_one_way(fusion, constant_operands, target, traffic, exact, fast_math, many_rows);
  };
  Kernel kernel = lowered(false);
  if (kernel.when == Dim(int64_t{0})) {
    kernel = lowered(true);
    kernel.when.reset();
  } else if (kernel.when) {
    kernel.other = std::make_unique<Kernel>(lowered(true));
    // Two kernels write the results, so no memory can go from an operand to them at one of both.
    kernel.in_place.clear();
  }
  return kernel;
}

}  // namespace ig::codegen
