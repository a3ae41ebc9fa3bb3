// Checks a program and brings it into the inner form: flat operands, lifetimes, patches.
#include "runtime/executable_code.h"

#include <algorithm>

namespace ig::rt {
namespace {

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

std::vector<BlockId> children_of(const Instruction& instruction) {
  return std::visit(Overloaded{
                        [](const Cond& c) { return c.branches; },
                        [](const While& w) { return std::vector<BlockId>{w.cond, w.body}; },
                        [](const Scan& s) { return std::vector<BlockId>{s.body}; },
                        [](const Call& c) { return std::vector<BlockId>{c.body}; },
                        [](const auto&) { return std::vector<BlockId>{}; },
                    },
                    instruction);
}

// How many pointers a step needs to hand to its bodies.
size_t work_of(const Instruction& instruction) {
  return std::visit(
      Overloaded{
          [](const While& w) { return w.consts.size() + 2 * w.init.size(); },
          [](const Scan& s) { return s.consts.size() + 2 * s.init.size() + s.xs.size() + s.ys.size(); },
          [](const auto&) { return size_t{0}; },
      },
      instruction);
}

const std::vector<SizeId>* dims_of(const Instruction& instruction) {
  if (const auto* k = std::get_if<KernelCall>(&instruction)) return &k->dims;
  if (const auto* h = std::get_if<Host>(&instruction)) return &h->dims;
  return nullptr;
}

class Checker {
 public:
  explicit Checker(const Program& program) : program_(program) {}

  void check_size(SizeId id) const {
    IG_CHECK(id >= 0 && id < program_.sizes.count(), "{}: the size {} is not in the table", program_.name,
             id);
  }

  void check_slot(const Slot& slot, const Block& block) const {
    check_size(slot.bytes);
    auto below = [&](int32_t limit, const char* what) {
      IG_CHECK(slot.index >= 0 && slot.index < limit, "{}: a slot names {} {} of {}", program_.name, what,
               slot.index, limit);
    };
    if (slot.kind == SlotKind::Input) below(block.inputs, "input");
    if (slot.kind == SlotKind::ProgramInput) below(program_.blocks[0].inputs, "input of the program");
    if (slot.kind == SlotKind::Output) below(block.outputs, "output");
    if (slot.kind == SlotKind::Constant) below(static_cast<int32_t>(program_.constants.size()), "constant");
    IG_CHECK(slot.alias < 0 ||
                 (slot.kind == SlotKind::Arena && slot.alias < static_cast<int32_t>(block.slots.size()) &&
                  block.slots[static_cast<size_t>(slot.alias)].kind == SlotKind::Arena),
             "{}: only an arena slot takes over the place of another", program_.name);
  }

  void check_instruction(const Instruction& instruction, BlockId self) const {
    for (SlotId slot : operands_of(instruction))
      IG_CHECK(slot >= 0 && slot < static_cast<int32_t>(block(self).slots.size()),
               "{}: block {} has no slot {}", program_.name, self, slot);
    for (BlockId child : children_of(instruction))
      IG_CHECK(child > self && child < static_cast<int32_t>(program_.blocks.size()),
               "{}: block {} runs block {}, which must be a later one", program_.name, self, child);
    std::visit(Overloaded{
                   [&](const KernelCall& k) {
                     IG_CHECK(k.kernel, "{}: the kernel {} has no code", program_.name, k.name);
                     check_size(k.blocks);
                     if (k.when >= 0) check_size(k.when);
                     for (SizeId id : k.dims) check_size(id);
                   },
                   [&](const Host& h) {
                     IG_CHECK(h.function, "{}: the host function {} has no code", program_.name, h.name);
                     for (SizeId id : h.dims) check_size(id);
                   },
                   [&](const Copy& c) { check_size(c.bytes); },
                   [&](const Cond& c) {
                     IG_CHECK(!c.branches.empty(), "{}: a condition has no branches", program_.name);
                     IG_CHECK(c.selector_bytes == 1 || c.selector_bytes == 4 || c.selector_bytes == 8,
                              "{}: a selector has {} bytes", program_.name, c.selector_bytes);
                     for (BlockId b : c.branches) signature(b, c.inputs.size(), c.outputs.size());
                   },
                   [&](const While& w) {
                     IG_CHECK(w.init.size() == w.results.size() && w.init.size() == w.in_place.size(),
                              "{}: a loop's carry changes its length", program_.name);
                     signature(w.cond, w.consts.size() + w.init.size(), 1);
                     signature(w.body, w.consts.size() + w.init.size(), w.init.size());
                   },
                   [&](const Scan& s) {
                     IG_CHECK(s.init.size() == s.results.size() && s.init.size() == s.in_place.size() &&
                                  s.xs.size() == s.x_bytes.size() && s.ys.size() == s.y_bytes.size(),
                              "{}: the lists of a scan differ in length", program_.name);
                     IG_CHECK(!s.apart || s.init.empty(), "{}: the steps of a scan that carries are apart",
                              program_.name);
                     check_size(s.trips);
                     for (SizeId id : s.x_bytes) check_size(id);
                     for (SizeId id : s.y_bytes) check_size(id);
                     signature(s.body, s.consts.size() + s.init.size() + s.xs.size(),
                               s.init.size() + s.ys.size());
                   },
                   [&](const Call& c) { signature(c.body, c.inputs.size(), c.outputs.size()); },
               },
               instruction);
  }

  void check_groups(const Block& block) const {
    int32_t at = 0;
    for (auto [begin, end] : block.side_by_side) {
      IG_CHECK(begin >= at && end > begin && end <= static_cast<int32_t>(block.code.size()),
               "{}: instructions {} to {} are no group", program_.name, begin, end);
      at = end;
    }
  }

  // A slot may take over another's place only where an instruction that works block by block has both as
  // operands.
  void check_alias(const BlockCode& code, const Block& block, SlotId id) const {
    SlotId from = block.slots[static_cast<size_t>(id)].alias;
    const LiveRange &mine = code.lifetimes[static_cast<size_t>(id)],
                    &theirs = code.lifetimes[static_cast<size_t>(from)];
    if (mine.last < mine.first) return;
    IG_CHECK(theirs.last == mine.first,
             "{}: slot {} takes over slot {} at instruction {}, which lives until {}", program_.name, id,
             from, mine.first, theirs.last);
    const Instruction& at = block.code[static_cast<size_t>(mine.first)];
    IG_CHECK(std::holds_alternative<KernelCall>(at) || std::holds_alternative<Host>(at) ||
                 std::holds_alternative<Copy>(at),
             "{}: slot {} takes over slot {} at a control-flow instruction", program_.name, id, from);
  }

 private:
  const Block& block(BlockId id) const { return program_.blocks[static_cast<size_t>(id)]; }
  void signature(BlockId id, size_t inputs, size_t outputs) const {
    IG_CHECK(
        static_cast<size_t>(block(id).inputs) == inputs && static_cast<size_t>(block(id).outputs) == outputs,
        "{}: block {} takes {} and gives {}, but is used with {} and {}", program_.name, id, block(id).inputs,
        block(id).outputs, inputs, outputs);
  }

  const Program& program_;
};

}  // namespace

std::vector<SlotId> operands_of(const Instruction& instruction) {
  std::vector<SlotId> all;
  std::visit(Overloaded{
                 [&](const KernelCall& k) { all = k.buffers; },
                 [&](const Host& h) { all = h.buffers; },
                 [&](const Copy& c) { all = {c.from, c.to}; },
                 [&](const Cond& c) {
                   all = {c.selector};
                   append(all, c.inputs);
                   append(all, c.outputs);
                 },
                 [&](const While& w) {
                   append(all, w.consts);
                   append(all, w.init);
                   append(all, w.results);
                 },
                 [&](const Scan& s) {
                   append(all, s.consts);
                   append(all, s.init);
                   append(all, s.results);
                   append(all, s.xs);
                   append(all, s.ys);
                 },
                 [&](const Call& c) {
                   append(all, c.inputs);
                   append(all, c.outputs);
                 },
             },
             instruction);
  return all;
}

Executable::Code Executable::Code::build(const Program& program) {
  IG_CHECK(!program.blocks.empty(), "{}: a program needs a block", program.name);
  Checker checker(program);
  Code code;
  std::vector<bool> in_lane(program.blocks.size());  // bodies of steps that run at once themselves
  for (BlockId id = 0; id < static_cast<BlockId>(program.blocks.size()); ++id) {
    const Block& block = program.blocks[static_cast<size_t>(id)];
    for (const Slot& slot : block.slots) checker.check_slot(slot, block);
    checker.check_groups(block);
    BlockCode out;
    out.first_pointer = code.pointers;
    out.lifetimes.assign(block.slots.size(), LiveRange{.bytes = 0, .first = 0, .last = -1});
    for (size_t i = 0; i < block.code.size(); ++i) {
      const Instruction& instruction = block.code[i];
      checker.check_instruction(instruction, id);
      Step step;
      step.source = &instruction;
      step.first_pointer = code.pointers;
      step.first_dim = static_cast<int32_t>(code.dims.size());
      step.first_work = code.work;
      code.work += static_cast<int32_t>(work_of(instruction));
      if (const auto* dims = dims_of(instruction)) append(code.dims, *dims);
      append(out.children, children_of(instruction));
      const auto* scan = std::get_if<Scan>(&instruction);
      const bool inside = in_lane[static_cast<size_t>(id)];
      if (scan && scan->apart && !inside) step.trial = code.trials++;
      for (BlockId child : children_of(instruction))
        if (inside || step.trial >= 0) in_lane[static_cast<size_t>(child)] = true;
      for (SlotId slot_id : operands_of(instruction)) {
        const Slot& slot = block.slots[static_cast<size_t>(slot_id)];
        LiveRange& life = out.lifetimes[static_cast<size_t>(slot_id)];
        if (life.last < life.first) life.first = static_cast<int32_t>(i);
        life.last = static_cast<int32_t>(i);
        if (slot.kind == SlotKind::Input) out.inputs.push_back({code.pointers, slot.index});
        if (slot.kind == SlotKind::ProgramInput) out.program_inputs.push_back({code.pointers, slot.index});
        if (slot.kind == SlotKind::Output) out.outputs.push_back({code.pointers, slot.index});
        out.operands.push_back(slot_id);
        ++code.pointers;
        ++step.operands;
      }
      out.steps.push_back(step);
    }
    std::vector<bool> taken(block.slots.size(), false);
    for (SlotId s = 0; s < static_cast<SlotId>(block.slots.size()); ++s) {
      // In-place groups are chains: the group's name is the slot at its head.
      SlotId head = s;
      for (size_t hops = 0; block.slots[static_cast<size_t>(head)].alias >= 0; ++hops) {
        IG_CHECK(hops <= block.slots.size(), "{}: the in-place slots of block {} form a ring", program.name,
                 id);
        head = block.slots[static_cast<size_t>(head)].alias;
      }
      if (head == s) continue;
      auto from = static_cast<size_t>(block.slots[static_cast<size_t>(s)].alias);
      IG_CHECK(!taken[from], "{}: two slots take over slot {} of block {}", program.name, from, id);
      taken[from] = true;
      checker.check_alias(out, block, s);
      out.lifetimes[static_cast<size_t>(s)].group = head;
      out.lifetimes[static_cast<size_t>(head)].group = head;
    }
    // What one step of a group touches lives as long as the others run.
    for (auto [begin, end] : block.side_by_side) {
      for (LiveRange& life : out.lifetimes) {
        if (life.first > begin && life.first < end) life.first = begin;
        if (life.last >= begin && life.last < end - 1) life.last = end - 1;
      }
      out.groups.push_back({begin, end, code.trials++});
      code.widest = std::max(code.widest, end - begin);
    }
    code.blocks.push_back(std::move(out));
  }

  // What the caller gets: the size of each output, as the slots state it.
  const Block& main = program.blocks[0];
  code.output_bytes.assign(static_cast<size_t>(main.outputs), -1);
  for (const Slot& slot : main.slots)
    if (slot.kind == SlotKind::Output) code.output_bytes[static_cast<size_t>(slot.index)] = slot.bytes;
  for (size_t i = 0; i < code.output_bytes.size(); ++i)
    IG_CHECK(code.output_bytes[i] >= 0, "{}: no slot stands for output {}", program.name, i);
  return code;
}

}  // namespace ig::rt
